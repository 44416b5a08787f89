"""The memory tool for Anthropic's SDK: the model's memory is the one that people have mounted.

    from anthropic import Anthropic
    from memfs import open_memory
    from memfs.agents.anthropic import MemoryTool

    with open_memory("sqlite:notes", scope="work") as memory:
        runner = Anthropic().beta.messages.tool_runner(tools=[MemoryTool(memory)], ...)
        answer = runner.until_done()

What the model reads is decided in :mod:`memfs.agents.memory_tool`; here it is bound to the SDK's classes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

try:
    from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
    from anyio import to_thread
except ImportError as missing:
    raise ImportError(
        "memfs.agents.anthropic needs Anthropic's SDK; run: pip install 'memfs-mount[anthropic]'"
    ) from missing

from memfs.agents.memory_tool import MemoryCommands, Refused

if TYPE_CHECKING:
    from anthropic.types import beta
    from anthropic.types.beta import BetaCacheControlEphemeralParam

    from memfs.port.memory import Memory

__all__ = ["AsyncMemoryTool", "MemoryTool"]


class MemoryTool(BetaAbstractMemoryTool):
    """Anthropic's memory tool on a memfs memory, for ``client.beta.messages.tool_runner``.

    Each method answers with the text for the model, and raises the SDK's ``ToolError`` with a sentence
    for it where the command is refused. Safe to use from several threads, as the memory is.
    """

    def __init__(
        self,
        memory: Memory,
        *,
        overwrite: bool = False,
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        """*memory* stays the caller's, to close. With *overwrite*, ``create`` replaces a file that exists."""
        super().__init__(cache_control=cache_control)
        self._commands = MemoryCommands(memory, overwrite=overwrite)

    def view(self, command: beta.BetaMemoryTool20250818ViewCommand) -> str:
        return _carry_out(self._commands, command)

    def create(self, command: beta.BetaMemoryTool20250818CreateCommand) -> str:
        return _carry_out(self._commands, command)

    def str_replace(self, command: beta.BetaMemoryTool20250818StrReplaceCommand) -> str:
        return _carry_out(self._commands, command)

    def insert(self, command: beta.BetaMemoryTool20250818InsertCommand) -> str:
        return _carry_out(self._commands, command)

    def delete(self, command: beta.BetaMemoryTool20250818DeleteCommand) -> str:
        return _carry_out(self._commands, command)

    def rename(self, command: beta.BetaMemoryTool20250818RenameCommand) -> str:
        return _carry_out(self._commands, command)

    def clear_all_memory(self) -> str:
        """Delete every memory, in one change; for the program, the model has no such command."""
        return _clear(self._commands)


class AsyncMemoryTool(BetaAsyncAbstractMemoryTool):
    """As :class:`MemoryTool`, for the asynchronous client; the port works in a thread beside the loop.

    A command that has begun is carried out also if its caller is cancelled.
    """

    def __init__(
        self,
        memory: Memory,
        *,
        overwrite: bool = False,
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        """As :class:`MemoryTool`."""
        super().__init__(cache_control=cache_control)
        self._commands = MemoryCommands(memory, overwrite=overwrite)

    async def view(self, command: beta.BetaMemoryTool20250818ViewCommand) -> str:
        return await to_thread.run_sync(_carry_out, self._commands, command)

    async def create(self, command: beta.BetaMemoryTool20250818CreateCommand) -> str:
        return await to_thread.run_sync(_carry_out, self._commands, command)

    async def str_replace(self, command: beta.BetaMemoryTool20250818StrReplaceCommand) -> str:
        return await to_thread.run_sync(_carry_out, self._commands, command)

    async def insert(self, command: beta.BetaMemoryTool20250818InsertCommand) -> str:
        return await to_thread.run_sync(_carry_out, self._commands, command)

    async def delete(self, command: beta.BetaMemoryTool20250818DeleteCommand) -> str:
        return await to_thread.run_sync(_carry_out, self._commands, command)

    async def rename(self, command: beta.BetaMemoryTool20250818RenameCommand) -> str:
        return await to_thread.run_sync(_carry_out, self._commands, command)

    async def clear_all_memory(self) -> str:
        """As :meth:`MemoryTool.clear_all_memory`."""
        return await to_thread.run_sync(_clear, self._commands)


def _carry_out(commands: MemoryCommands, command: Iterable[tuple[str, object]]) -> str:
    """*command* is the SDK's, unchecked: only the fields that the model supplied are in it."""
    try:
        return commands.carry_out(dict(command))
    except Refused as refused:
        raise ToolError(str(refused)) from refused


def _clear(commands: MemoryCommands) -> str:
    try:
        return commands.clear()
    except Refused as refused:
        raise ToolError(str(refused)) from refused

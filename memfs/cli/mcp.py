"""``memfs mcp``: the memory for programs that speak the Model Context Protocol."""

from __future__ import annotations

from argparse import Namespace
from importlib.util import find_spec

from memfs.agents.mcp.tools import Toolbox
from memfs.cli.choose import choose, rules
from memfs.cli.complaint import Complaint, Status
from memfs.cli.version import version
from memfs.opening import open_with
from memfs.search import Index


def run(options: Namespace) -> int:
    """Serve until the client has gone, or SIGTERM comes."""
    if find_spec("mcp") is None:
        raise Complaint("The official SDK is not installed; `pip install 'memfs-mount[mcp]'` brings it.")
    chosen = choose(options)
    index = None if chosen.ends_with_its_process else Index(*chosen)
    with open_with(chosen.store, chosen.scope, rules(options), actor="memfs mcp") as memory:
        from memfs.agents.mcp.server import MemoryServer
        from memfs.agents.mcp.stdio import serve

        serve(MemoryServer(Toolbox(memory, index), version()))
    return Status.DONE

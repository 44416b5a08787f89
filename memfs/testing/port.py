"""The port under test, with every answer checked for its shape before anybody looks at its content."""

from __future__ import annotations

import inspect
import json
import secrets
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Protocol, TypeAlias
from unittest import SkipTest

from memfs.port.errors import ErrorCode
from memfs.port.policy import Limits

CODES = frozenset(str(code) for code in ErrorCode)


class Executes(Protocol):
    """What a factory gives: the port on one scope."""

    def execute(self, command: Any, /) -> object:
        """Carry out one command."""


Factory: TypeAlias = Callable[..., Executes]
"""Called with ``scope`` and, where a case has some, ``limits`` and further rules."""


class BrokenPromise(AssertionError):
    """The store's answer is not the contract's; the message names the command and both answers."""


class NotOffered(SkipTest):
    """The factory does not take a rule that a promise is about: the store does not offer it.

    Test runners take this for a skip.
    """


class Port:
    """One scope of the store under test. Commands are given by their wire names."""

    def __init__(
        self,
        factory: Factory,
        limits: Limits | None,
        rules: Mapping[str, Any] = MappingProxyType({}),
        scope: str | None = None,
    ) -> None:
        """Open a scope that no other case has; *scope* is the beginning of its name."""
        for rule in rules:
            if not _takes(factory, rule):
                raise NotOffered(f"The factory takes no '{rule}', so the store is not held to this.")
        self._factory = factory
        name = f"{scope or 'conformance'}-{secrets.token_hex(6)}"
        given = dict(rules) if limits is None else {"limits": limits, **rules}
        self._subjects = [factory(scope=name, **given)]

    def another(self, limits: Limits | None = None, scope: str | None = None) -> Port:
        """The port on a further scope of the same store; it is closed together with this one."""
        other = Port(self._factory, limits, scope=scope)
        self._subjects += other._subjects
        return other

    def close(self) -> None:
        """Close what was opened, as far as it can be closed."""
        for subject in self._subjects:
            close = getattr(subject, "close", None)
            if close is not None:
                close()

    def opens(self, scope: str) -> bool:
        """Whether the store opens a scope of exactly this name."""
        try:
            self._subjects.append(self._factory(scope=scope))
        except Exception:  # noqa: BLE001  a stranger's factory refuses in a stranger's way
            return False
        return True

    def send(self, command: object) -> dict[str, Any]:
        """The answer to *command*, as the JSON object it is on the wire."""
        try:
            result = self._subjects[0].execute(command)
        except Exception as error:
            raise BrokenPromise(f"{_shown(command)} raised {error!r} where it should answer.") from error
        to_wire = getattr(result, "to_wire", None)
        wire = result if to_wire is None else to_wire()
        if not isinstance(wire, Mapping):
            raise BrokenPromise(f"{_shown(command)} answered {wire!r}, which is no JSON object.")
        try:
            answer: dict[str, Any] = json.loads(json.dumps(dict(wire)))
        except (TypeError, ValueError) as error:
            raise BrokenPromise(f"{_shown(command)} answered what JSON cannot hold: {wire!r}.") from error
        return answer

    def run(self, command: str, **fields: Any) -> dict[str, Any]:
        """Carry out a command that has to succeed; its receipt."""
        sent = {"command": command, **fields}
        answer = self.send(sent)
        if answer.get("ok") is not True:
            raise BrokenPromise(f"{_shown(sent)} should succeed, and answered {_shown(answer)}.")
        self.same(sorted(answer), ["command", "ok", "value"], f"the fields of the answer to {_shown(sent)}")
        self.same(answer["command"], command, f"the command in the answer to {_shown(sent)}")
        value = answer["value"]
        if not isinstance(value, dict):
            raise BrokenPromise(f"{_shown(sent)} answered {_shown(answer)}, whose value is no object.")
        return value

    def expect(self, value: object, command: str, **fields: Any) -> None:
        """Carry out a command that has to succeed with exactly this receipt."""
        self.same(
            self.run(command, **fields), value, f"the receipt of {_shown({'command': command, **fields})}"
        )

    def refuse(self, code: str, command: str, **fields: Any) -> dict[str, Any]:
        """Send a command that has to be refused with *code* and change nothing; its error."""
        return self.refuse_raw(code, {"command": command, **fields}, command)

    def refuse_raw(self, code: str, sent: object, command: str) -> dict[str, Any]:
        """As :meth:`refuse`, for what may be no command; *command* is the name the answer must carry."""
        before = self.texts()
        answer = self.send(sent)
        if answer.get("ok") is not False:
            raise BrokenPromise(
                f"{_shown(sent)} should be refused with {code}, and answered {_shown(answer)}."
            )
        self.same(sorted(answer), ["command", "error", "ok"], f"the fields of the answer to {_shown(sent)}")
        self.same(answer["command"], command, f"the command in the answer to {_shown(sent)}")
        error = self._checked_error(sent, answer["error"])
        self.same(error["code"], code, f"the error of {_shown(sent)}, which says {error['message']!r}")
        self.same(self.texts(), before, f"what is stored after {_shown(sent)} was refused")
        return error

    def put(self, path: str, text: str = "x") -> None:
        """Create or replace a file."""
        self.run("create", path=path, text=text)

    def text(self, path: str) -> str:
        """The text of a file."""
        text: str = self.run("view", path=path)["text"]
        return text

    def texts(self) -> dict[str, str]:
        """Every file and its text."""
        found: dict[str, str] = {}
        pending = ["/memories"]
        while pending:
            for entry in self.run("view", path=pending.pop())["entries"]:
                if entry["kind"] == "directory":
                    pending.append(entry["path"])
                else:
                    found[entry["path"]] = self.text(entry["path"])
        return found

    def same(self, seen: object, expected: object, what: str) -> None:
        """Hold two JSON values against each other; true is not 1, and 1 is not 1.0."""
        if json.dumps(seen, sort_keys=True) != json.dumps(expected, sort_keys=True):
            raise BrokenPromise(f"Expected {_shown(expected)} as {what}, and got {_shown(seen)}.")

    def _checked_error(self, sent: object, error: object) -> dict[str, Any]:
        if not isinstance(error, dict):
            raise BrokenPromise(f"The error of {_shown(sent)} is no object: {_shown(error)}.")
        well_formed = (
            set(error) - {"path", "details"} == {"code", "message"}
            and error["code"] in CODES
            and isinstance(error["message"], str)
            and error["message"].strip() != ""
            and isinstance(error.get("path", ""), str)
            and isinstance(error.get("details", {}), dict)
            and all(isinstance(detail, str | int | float) for detail in error.get("details", {}).values())
        )
        if not well_formed:
            raise BrokenPromise(f"The error of {_shown(sent)} is not the contract's: {_shown(error)}.")
        return error


def _takes(factory: Factory, name: str) -> bool:
    """Whether *factory* can be given *name* by keyword."""
    parameters = inspect.signature(factory).parameters.values()
    return any(
        parameter.kind is parameter.VAR_KEYWORD
        or (parameter.name == name and parameter.kind is not parameter.POSITIONAL_ONLY)
        for parameter in parameters
    )


def _shown(value: object) -> str:
    shown = json.dumps(value, default=repr)
    return shown if len(shown) <= 400 else f"{shown[:300]}...{shown[-80:]}"

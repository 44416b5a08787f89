"""Cases, and their collection."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any, TypeVar

from memfs.port.policy import Limits
from memfs.testing.port import Factory, Port

Given = TypeVar("Given")


@dataclass(frozen=True, slots=True)
class Case:
    """One promise of the contract. ``str()`` of it is its name."""

    name: str
    body: Callable[[Port], None]
    limits: Limits | None = None
    rules: Mapping[str, Any] = field(default_factory=dict)
    """Further rules of the scope, by the names that ``memfs.open_memory`` has for them."""

    def run(self, factory: Factory) -> None:
        """Hold the store to it, on a scope of its own.

        Raises :class:`BrokenPromise`, and :class:`NotOffered` where *factory* does not take the rules
        that the promise is about.
        """
        port = Port(factory, self.limits, self.rules)
        try:
            self.body(port)
        finally:
            port.close()

    def __str__(self) -> str:
        return self.name


class Promises:
    """The cases of one chapter of the contract, in the order they are written down."""

    def __init__(self, limits: Limits | None = None, **rules: Any) -> None:
        """*limits* hold for every case that names no others, and *rules* for all of them."""
        self.cases: list[Case] = []
        self._limits = limits
        self._rules = rules

    def promise(self, body: Callable[[Port], None]) -> Callable[[Port], None]:
        """Add *body* as a case; its name, in words, is the promise."""
        self._add(_in_words(body), body, self._limits)
        return body

    def within(
        self, limits: Limits, **rules: Any
    ) -> Callable[[Callable[[Port], None]], Callable[[Port], None]]:
        """As :meth:`promise`, in a scope with these limits, and these rules beside the chapter's."""

        def add(body: Callable[[Port], None]) -> Callable[[Port], None]:
            self._add(_in_words(body), body, limits, rules)
            return body

        return add

    def for_each(
        self, table: Mapping[str, Given]
    ) -> Callable[[Callable[[Port, Given], None]], Callable[[Port, Given], None]]:
        """Add one case for each entry of *table*, whose key says what is special about it."""

        def add(body: Callable[[Port, Given], None]) -> Callable[[Port, Given], None]:
            for label, given in table.items():
                case = partial(_with_given, body, given)
                self._add(f"{_in_words(body)}: {label}", case, self._limits)
            return body

        return add

    def _add(
        self,
        name: str,
        body: Callable[[Port], None],
        limits: Limits | None,
        rules: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self.cases.append(Case(name, body, limits, {**self._rules, **rules}))


def _with_given(body: Callable[[Port, Given], None], given: Given, port: Port) -> None:
    body(port, given)


def _in_words(body: Callable[..., None]) -> str:
    return body.__name__.strip("_").replace("_", " ")

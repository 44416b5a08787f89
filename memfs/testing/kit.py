"""Cases, and their collection."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from memfs.port.policy import Limits
from memfs.testing.port import Factory, Port

Given = TypeVar("Given")


@dataclass(frozen=True, slots=True)
class Case:
    """One promise of the contract. ``str()`` of it is its name."""

    name: str
    body: Callable[[Port], None]
    limits: Limits | None = None

    def run(self, factory: Factory) -> None:
        """Hold the store to it, on a scope of its own. Raises :class:`BrokenPromise`."""
        port = Port(factory, self.limits)
        try:
            self.body(port)
        finally:
            port.close()

    def __str__(self) -> str:
        return self.name


class Promises:
    """The cases of one chapter of the contract, in the order they are written down."""

    def __init__(self, limits: Limits | None = None) -> None:
        """*limits* hold for every case that names no others."""
        self.cases: list[Case] = []
        self._limits = limits

    def promise(self, body: Callable[[Port], None]) -> Callable[[Port], None]:
        """Add *body* as a case; its name, in words, is the promise."""
        self.cases.append(Case(_in_words(body), body, self._limits))
        return body

    def within(self, limits: Limits) -> Callable[[Callable[[Port], None]], Callable[[Port], None]]:
        """As :meth:`promise`, in a scope with these limits."""

        def add(body: Callable[[Port], None]) -> Callable[[Port], None]:
            self.cases.append(Case(_in_words(body), body, limits))
            return body

        return add

    def for_each(
        self, table: Mapping[str, Given]
    ) -> Callable[[Callable[[Port, Given], None]], Callable[[Port, Given], None]]:
        """Add one case for each entry of *table*, whose key says what is special about it."""

        def add(body: Callable[[Port, Given], None]) -> Callable[[Port, Given], None]:
            for label, given in table.items():
                case = partial(_with_given, body, given)
                self.cases.append(Case(f"{_in_words(body)}: {label}", case, self._limits))
            return body

        return add


def _with_given(body: Callable[[Port, Given], None], given: Given, port: Port) -> None:
    body(port, given)


def _in_words(body: Callable[..., None]) -> str:
    return body.__name__.strip("_").replace("_", " ")

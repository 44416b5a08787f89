"""The kit passes what keeps the contract, and finds what does not."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, ClassVar

import pytest

from memfs import Limits
from memfs.testing import BrokenPromise, NotOffered, conformance_cases, run_conformance
from tests.port.model import Model, Refused, split


def model(kind: type[Model], limits: Limits | None, **rules: Any) -> Model:
    if rules.get("layout") == "para":
        rules = {"eviction": "archive", "extensions": (".html",)} | rules
    return kind(**asdict(limits or Limits()), **rules, year=datetime.now(UTC).year)


def factory_of(kind: type[Model]) -> Callable[..., Model]:
    """Scopes of *kind*, which refuse a bad name as the contract asks."""

    def factory(scope: str, limits: Limits | None = None, **rules: Any) -> Model:
        if not scope.strip() or any(ord(c) < 32 or ord(c) == 127 or 0xD800 <= ord(c) < 0xE000 for c in scope):
            raise ValueError("a bad name")
        return model(kind, limits, **rules)

    return factory


def test_a_plain_dict_of_plain_answers_keeps_the_contract() -> None:
    report = run_conformance(factory_of(Model))
    assert report.ok, report
    assert report.cases == len(conformance_cases)
    assert report.not_offered == ()


def test_a_store_that_has_limits_only_is_not_held_to_the_other_rules() -> None:
    full = factory_of(Model)
    report = run_conformance(lambda scope, limits=None: full(scope, limits))
    assert report.ok, report
    with_rules = [case for case in conformance_cases if case.rules]
    assert report.not_offered == tuple(case.name for case in with_rules)
    assert report.cases == len(conformance_cases) - len(with_rules)
    assert f"{len(with_rules)} are about rules that are not offered" in str(report)
    with pytest.raises(NotOffered, match="layout"):
        with_rules[-1].run(lambda scope, limits=None: full(scope, limits))


def test_every_case_has_a_name_of_its_own() -> None:
    names = [case.name for case in conformance_cases]
    assert len(set(names)) == len(names)
    assert all("_" not in name.partition(":")[0] for name in names)


class Raises(Model):
    def execute(self, command: Any) -> dict[str, Any]:
        if not isinstance(command, dict):
            raise TypeError("no command")
        return super().execute(command)


class AddsAField(Model):
    def delete(self, command: dict[str, Any]) -> dict[str, Any]:
        return super().delete(command) | {"undo": True}


class LeavesAFieldOut(Model):
    def write(self, path: str, text: str) -> dict[str, Any]:
        value = super().write(path, text)
        return value if value["evicted"] else {"path": value["path"], "byteLength": value["byteLength"]}


class AnswersOneForTrue(Model):
    def create(self, command: dict[str, Any]) -> dict[str, Any]:
        value = super().create(command)
        return value | {"overwritten": int(value["overwritten"])}


class CountsCharacters(Model):
    def write(self, path: str, text: str) -> dict[str, Any]:
        return super().write(path, text) | {"byteLength": len(text)}


class ViewsCountAsWrites(Model):
    def view_file(self, path: str, text: str, command: dict[str, Any]) -> dict[str, Any]:
        self.files[path] = self.files.pop(path)
        return super().view_file(path, text, command)


class RenamesCountAsWrites(Model):
    def rename(self, command: dict[str, Any]) -> dict[str, Any]:
        value = super().rename(command)
        for path in [path for path in self.files if path.startswith(command["newPath"])]:
            self.files[path] = self.files.pop(path)
        return value


class KeepsThePlaceOfAnIdenticalText(Model):
    def write(self, path: str, text: str) -> dict[str, Any]:
        if self.files.get(path) == text:
            return {"path": path, "byteLength": len(text.encode()), "evicted": []}
        return super().write(path, text)


class EvictsTheOneBeingWritten(Model):
    def write(self, path: str, text: str) -> dict[str, Any]:
        place = list(self.files).index(path) if path in self.files else None
        value = super().write(path, text)
        if place == 0 and value["evicted"]:
            del self.files[path]
        return value


class EvictsBeforeItRefuses(Model):
    def write(self, path: str, text: str) -> dict[str, Any]:
        if len(text.encode()) > self.max_file_bytes and self.files:
            self.files.clear()
        return super().write(path, text)

    def execute(self, command: Any) -> dict[str, Any]:
        answer = super().execute(command)
        if not answer["ok"] and answer["error"]["code"] == "LIMIT_EXCEEDED":
            self.files.clear()
        return answer


class OverwritesByRename(Model):
    def rename(self, command: dict[str, Any]) -> dict[str, Any]:
        if command.get("oldPath") in self.files and command.get("newPath") in self.files:
            del self.files[command["newPath"]]
        return super().rename(command)


class TakesBooleansForIntegers(Model):
    def insert(self, command: dict[str, Any]) -> dict[str, Any]:
        if isinstance(command.get("insertLine"), bool):
            command["insertLine"] = int(command["insertLine"])
        return super().insert(command)


class TakesANullRangeForNone(Model):
    def view(self, command: dict[str, Any]) -> dict[str, Any]:
        if command.get("viewRange", 0) is None:
            del command["viewRange"]
        return super().view(command)


class SplitsAtEverySeparator(Model):
    def insert(self, command: dict[str, Any]) -> dict[str, Any]:
        path = command.get("path")
        if path in self.files:
            self.files[path] = "\n".join(self.files[path].splitlines())
        return super().insert(command)


class KeepsLineEndingsOnInsertion(Model):
    def insert(self, command: dict[str, Any]) -> dict[str, Any]:
        before = self.files.get(command.get("path", ""), "")
        value = super().insert(command)
        if "\r\n" in before:
            text = self.files[value["path"]].replace("\n", "\r\n")
            return self.write(value["path"], text)
        return value


class CountsAPhantomLine(Model):
    def view_file(self, path: str, text: str, command: dict[str, Any]) -> dict[str, Any]:
        value = super().view_file(path, text, command)
        value["lines"]["total"] = max(len(split(text)), text.count("\n") + 1)
        return value


class LooksForOverlappingMatches(Model):
    def str_replace(self, command: dict[str, Any]) -> dict[str, Any]:
        text, old = self.files.get(command.get("path", ""), ""), command.get("oldText")
        if isinstance(old, str) and old and text.find(old, text.find(old) + 1) > 0:
            raise Refused("MATCH_NOT_UNIQUE")
        return super().str_replace(command)


class ChecksTheExtensionFirst(Model):
    def create(self, command: dict[str, Any]) -> dict[str, Any]:
        self.check_extension(self.checked_path(command.get("path")))
        return super().create(command)


class AllowsHiddenNames(Model):
    def checked_path(self, path: object) -> str:
        return super().checked_path(path.replace("/.", "/_") if isinstance(path, str) else path)


class SharesItsScopes(Model):
    shared: ClassVar[dict[str, str]] = {}

    def execute(self, command: Any) -> dict[str, Any]:
        self.files = SharesItsScopes.shared
        answer = super().execute(command)
        SharesItsScopes.shared = self.files
        return answer


class LosesTheBuckets(Model):
    def always_there(self) -> list[str]:
        return []


class TakesAnythingOnTheTopLevel(Model):
    def check_bucket(self, path: str) -> None:
        return


class WritesToTheArchive(Model):
    def check_live(self, path: str) -> None:
        return


class CountsTheArchive(Model):
    def live_use(self) -> tuple[int, int]:
        return len(self.files), sum(len(text.encode()) for text in self.files.values())


class OverwritesInTheArchive(Model):
    def is_taken(self, path: str, by_anything: bool) -> bool:
        return False


class FillsTheArchiveBeyondItsCap(Model):
    def check_archive(self) -> None:
        return


class EvictsWhereItShouldRefuse(Model):
    def make_room(self, written: set[str]) -> list[str]:
        self.eviction = "delete" if self.eviction == "refuse" else self.eviction
        return super().make_room(written)


class ArchivesToAnotherYear(Model):
    def make_room(self, written: set[str]) -> list[str]:
        self.year = 1970
        return super().make_room(written)


class RestoresToTheOldPlace(Model):
    def rename(self, command: dict[str, Any]) -> dict[str, Any]:
        order = list(self.files)
        value = super().rename(command)
        moved = {path: path.replace(value["oldPath"], value["newPath"], 1) for path in order}
        self.files = {moved[path]: self.files[moved[path]] for path in order if moved[path] in self.files}
        return value


class RestoresFilesByName(Model):
    def rename(self, command: dict[str, Any]) -> dict[str, Any]:
        self.stamps.clear()
        return super().rename(command)


MUTANTS = [
    Raises,
    AddsAField,
    LeavesAFieldOut,
    AnswersOneForTrue,
    CountsCharacters,
    ViewsCountAsWrites,
    RenamesCountAsWrites,
    KeepsThePlaceOfAnIdenticalText,
    EvictsTheOneBeingWritten,
    EvictsBeforeItRefuses,
    OverwritesByRename,
    TakesBooleansForIntegers,
    TakesANullRangeForNone,
    SplitsAtEverySeparator,
    KeepsLineEndingsOnInsertion,
    CountsAPhantomLine,
    LooksForOverlappingMatches,
    ChecksTheExtensionFirst,
    AllowsHiddenNames,
    SharesItsScopes,
]
MUTANTS_OF_RULES = [
    LosesTheBuckets,
    TakesAnythingOnTheTopLevel,
    WritesToTheArchive,
    CountsTheArchive,
    OverwritesInTheArchive,
    FillsTheArchiveBeyondItsCap,
    EvictsWhereItShouldRefuse,
    ArchivesToAnotherYear,
    RestoresToTheOldPlace,
    RestoresFilesByName,
]


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS + MUTANTS_OF_RULES, ids=lambda mutant: mutant.__name__)
def test_the_kit_finds_a_store_that(mutant: type[Model]) -> None:
    cases = [case for case in conformance_cases if bool(case.rules) == (mutant in MUTANTS_OF_RULES)]
    assert any(not run_conformance(factory_of(mutant), [case]).ok for case in cases)


def test_a_report_names_each_broken_promise_and_how() -> None:
    report = run_conformance(factory_of(CountsAPhantomLine))
    assert not report.ok
    assert report.cases == len(conformance_cases)
    assert 0 < len(report.failures) < report.cases
    for failure in report.failures:
        assert f"- {failure.case}: {failure.message}" in str(report)


def test_a_store_that_opens_bad_names_is_found() -> None:
    report = run_conformance(lambda scope, limits=None, **rules: model(Model, limits, **rules))
    assert {failure.case.partition(":")[0] for failure in report.failures} == {
        "a bad name is refused when the scope is opened"
    }


def test_a_broken_promise_names_the_command_and_both_answers() -> None:
    with pytest.raises(BrokenPromise, match=r'"overwritten": false.* "create".*"overwritten": 0'):
        next(case for case in conformance_cases if "reported with its bytes" in case.name).run(
            factory_of(AnswersOneForTrue)
        )


def test_every_scope_that_was_opened_is_closed() -> None:
    opened: list[Model] = []
    closed: list[Model] = []

    class Closes(Model):
        def close(self) -> None:
            closed.append(self)

    def factory(scope: str, limits: Limits | None = None, **rules: Any) -> Model:
        opened.append(model(Closes, limits, **rules))
        return opened[-1]

    run_conformance(factory)
    assert sorted(map(id, opened)) == sorted(map(id, closed))


def test_the_kit_needs_no_test_framework() -> None:
    code = "import memfs.testing, sys; assert not {'pytest', 'apsw', 'trio', 'pyfuse3'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)

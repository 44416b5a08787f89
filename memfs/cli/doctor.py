"""``memfs doctor``: tests the machine and every memory, says what is wrong and what mends it."""

from __future__ import annotations

import json
import os
from argparse import Namespace
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from memfs.cli.checks.files import CONFIGURATION, FILES
from memfs.cli.checks.finding import Check, Finding, Level, S, Subject, broken
from memfs.cli.checks.machine import MACHINE, Machine
from memfs.cli.checks.mounts import MOUNT
from memfs.cli.checks.stores import STORE
from memfs.cli.complaint import Complaint, Status, explain
from memfs.cli.configuration import name_in
from memfs.cli.known import Known, known_as, known_memories, refreshed
from memfs.cli.terminal import BOLD, DIM, GREEN, RED, YELLOW, painted, wrapped
from memfs.cli.texts import on_one_line
from memfs.cli.version import version
from memfs.mount.lifecycle import MountpointError, NoAnswer, in_time
from memfs.progress import Progress

INDENT = 26
"""Where the sentences begin."""
_COLOURS = {Level.OK: GREEN, Level.WARNING: YELLOW, Level.BROKEN: RED}


class Examined(NamedTuple):
    """The findings of one table of checks, each with the name of its check."""

    title: str
    known: Known | None
    findings: list[tuple[str, Finding]]


def run(options: Namespace) -> int:
    """Examine the machine and all memories, or those that are named; 0 if nothing is broken."""
    name = name_in(options)
    memories = known_memories() if name is None else known_as(name)
    examined = _examine(memories)
    mended: list[str] = []
    if options.fix:
        mended = list(_mend(each for one in examined for _, each in one.findings))
        if mended:
            examined = _examine([refreshed(known) for known in memories])  # what is claimed is tested again
    if options.json:
        print(json.dumps(_in_json(examined, mended), indent=2))
    else:
        print(_told(examined, mended))
    levels = {finding.level for one in examined for _, finding in one.findings}
    return Status.REFUSED if Level.BROKEN in levels else Status.DONE


def _examine(memories: Sequence[Known]) -> list[Examined]:
    rows = len(MACHINE) + len(memories) * (len(CONFIGURATION) + len(FILES) + len(MOUNT) + len(STORE))
    with Progress("memfs doctor", rows) as progress:
        examined = [Examined("machine", None, ask(MACHINE, Machine(), progress))]
        for known in memories:
            tables = (CONFIGURATION,) if known.fault else (CONFIGURATION, MOUNT, FILES, STORE)
            findings = [each for table in tables for each in ask(table, Subject(known), progress)]
            examined.append(Examined(known.title, known, findings))
    return examined


def ask(checks: Sequence[Check[S]], subject: S, progress: Progress) -> list[tuple[str, Finding]]:
    """What a table of checks finds, each finding with the name of its check."""
    found: list[tuple[str, Finding]] = []
    for check in checks:
        progress.step(check.name)
        findings = _look(check, subject)
        found += [(check.name, finding) for finding in findings]
        if check.decides and any(finding.level is Level.BROKEN for finding in findings):
            break
    return found


def _look(check: Check[S], subject: S) -> list[Finding]:
    """What *check* finds; that it found nothing out, where it did not come to an end."""
    try:
        return in_time(lambda: list(check.look(subject)), check.seconds)
    except NoAnswer:
        return [broken(f"This could not be tested within {check.seconds:.0f} s; something does not answer.")]
    except Exception as error:
        sentence, status = explain(error)
        if status == Status.OUR_FAULT and os.environ.get("MEMFS_DEBUG"):
            raise
        return [broken(f"This could not be tested: {sentence}")]


def _mend(findings: Iterable[Finding]) -> Iterable[str]:
    """Mend what is safe to mend; what was done, or why not, as clauses."""
    for finding in findings:
        if finding.fix is None or finding.level is Level.OK:
            continue
        try:
            yield finding.fix()
        except (OSError, Complaint, MountpointError) as error:
            yield f"could not mend this: {finding.sentence} ({explain_shortly(error)})"


def explain_shortly(error: Exception) -> str:
    """The reason alone."""
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)


def _in_json(examined: list[Examined], mended: list[str]) -> dict[str, Any]:
    machine, *memories = examined
    return {
        "version": version(),
        "machine": [finding.to_json(check) for check, finding in machine.findings],
        "memories": [
            {
                "name": one.known.name,
                "mountpoint": one.known.mountpoint,
                "store": one.known.store,
                "scope": one.known.scope,
                "findings": [finding.to_json(check) for check, finding in one.findings],
            }
            for one in memories
            if one.known is not None
        ],
        "mended": mended,
    }


def _told(examined: list[Examined], mended: list[str]) -> str:
    lines = [f"memfs {version()}"]
    for one in examined:
        place = one.known.mountpoint if one.known is not None and one.known.name else ""
        where = f"  {place}" if place else ""
        lines.append(f"\n{painted(on_one_line(one.title + where), BOLD)}")
        for check, finding in one.findings:
            level = painted(f"{finding.level:8}", _COLOURS[finding.level])
            first, *rest = wrapped(on_one_line(finding.sentence), INDENT)
            lines.append(f"  {level} {check:14} {first}")
            lines += [f"{'':{INDENT}}{line}" for line in rest]
            if finding.mend:  # whole, for it is to be copied
                lines.append(painted(f"{'':{INDENT}}{on_one_line(finding.mend)}", DIM))
    if mended:
        lines.append("")
        lines += [f"mended: {on_one_line(each)}" for each in mended]
    lines.append(f"\n{_summary(examined)}")
    return "\n".join(lines)


def _summary(examined: list[Examined]) -> str:
    findings = [finding for one in examined for _, finding in one.findings]
    count = {level: sum(finding.level is level for finding in findings) for level in Level}
    fixable = sum(finding.fix is not None for finding in findings)
    told = f"{count[Level.OK]} ok, {count[Level.WARNING]} warnings, {count[Level.BROKEN]} broken"
    return f"{told}; `memfs doctor --fix` mends {fixable} of them." if fixable else f"{told}."

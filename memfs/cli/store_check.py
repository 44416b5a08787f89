"""``memfs store check``: whether what a store holds adds up, by the checks of ``memfs doctor``."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterable

from memfs.cli.checks.finding import Finding, Level, Subject
from memfs.cli.checks.stores import INTEGRITY
from memfs.cli.complaint import Complaint, Status
from memfs.cli.doctor import ask
from memfs.cli.known import Known
from memfs.cli.terminal import RED, YELLOW, painted
from memfs.cli.texts import on_one_line
from memfs.opening import canonical_url, is_there, scopes_of
from memfs.operating import faults_in
from memfs.port.listing import Listed
from memfs.progress import Progress


def run(options: Namespace) -> int:
    """Check the scopes that are named, or all and what lies between them; 1 if something is wrong."""
    store = canonical_url(options.url)
    faults = [] if options.scope else faults_in(store)
    for fault in faults:
        print(json.dumps({"fault": fault}) if options.json else painted(on_one_line(fault), RED))
    is_well = not faults
    some = False
    for scope in _chosen(store, options.scope):
        some = True
        with Progress(f"checking '{scope}'", len(INTEGRITY)) as progress:
            found = ask(INTEGRITY, Subject(Known(scope, "", store, scope)), progress)
        is_well &= all(finding.level is not Level.BROKEN for _, finding in found)
        if options.json:
            told = [finding.to_json(check) for check, finding in found]
            print(json.dumps({"scope": scope, "findings": told}), flush=True)
        else:
            print("\n".join(_told(scope, [finding for _, finding in found])), flush=True)
    if not (some or faults):
        raise Complaint(f"There is no scope in {store}.")
    return Status.DONE if is_well else Status.REFUSED


def _chosen(store: str, named: list[str] | None) -> Iterable[str]:
    if not named:
        return (each.name for each in scopes_of(store) if isinstance(each, Listed))
    missing = next((name for name in named if not is_there(store, name)), None)
    if missing is not None:
        raise Complaint(f"There is no scope '{missing}' in {store}; `memfs scopes` lists those there are.")
    return named


def _told(scope: str, findings: list[Finding]) -> list[str]:
    """One line that all is well, or one for each sentence about what is not."""
    wrong = [finding for finding in findings if finding.level is not Level.OK]
    if not wrong:
        return [f"{on_one_line(scope)}: all adds up."]
    colours = {Level.BROKEN: RED, Level.WARNING: YELLOW}
    return [
        f"{on_one_line(scope)}: {painted(on_one_line(each.sentence), colours[each.level])}" for each in wrong
    ]

"""``memfs import``: files of other systems into a memory, all that can come as one change."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from memfs.cli.choose import choose_with_rules, port_path
from memfs.cli.complaint import Complaint, Status, status_of
from memfs.opening import is_there, open_with
from memfs.places import expanded
from memfs.port.change import Change
from memfs.port.importing import plan_import
from memfs.port.names import ROOT, extension_error, extension_of, path_error
from memfs.port.receipts import Imported

if TYPE_CHECKING:
    from memfs.port.errors import PortError
    from memfs.port.policy import Limits
    from memfs.port.scope import Scope
    from memfs.transfer.sources import Source

_KINDS = ("dir", "tar", "git", "memhtml", "obversa")


def run(options: Namespace) -> int:
    """Bring in what can come, and name what cannot; 1 if there is such."""
    kinds = [kind for kind in _KINDS if getattr(options, kind) is not None]
    if len(kinds) != 1:
        raise Complaint(f"Name one of {', '.join(f'--{kind}' for kind in _KINDS)}.", Status.USAGE)
    if options.ref is not None and kinds != ["git"]:
        raise Complaint("--ref is for --git.", Status.USAGE)
    if options.from_scope is not None and kinds != ["obversa"]:
        raise Complaint("--from-scope is for --obversa.", Status.USAGE)
    chosen, rules = choose_with_rules(options)
    if kinds == ["memhtml"] and not is_there(chosen.store, chosen.scope):
        rules.setdefault("layout", "para")  # of a new scope: that of the files that are to come
    to = port_path(options.to, chosen) if options.to is not None else ROOT
    error = path_error(to)
    if error is not None:
        raise Complaint(error.message)
    with open_with(chosen.store, chosen.scope, rules, actor=options.actor or "memfs import") as memory:
        source = _source(options, kinds[0], memory.policy.limits)
        files = [file._replace(path=to + file.path[len(ROOT) :]) for file in source.files]

        def planner(scope: Scope, _now_ns: int) -> Change | Imported | PortError:
            planned = plan_import(scope, files)
            if options.dry_run and isinstance(planned, Change):
                assert isinstance(planned.receipt, Imported), "an import has this receipt"
                return planned.receipt
            return planned

        allowed = memory.policy.extensions
        result = memory.perform("import", planner, reason=options.reason).result
    if result.error is not None:
        print(f"memfs: {result.error.message}", file=sys.stderr)
        return status_of(result.error)
    receipt = result.value
    assert isinstance(receipt, Imported), "an import has this receipt"
    left = [f"{_shown(name)} {reason}." for name, reason in source.left]
    left += [_shown(reason) for _, reason in receipt.refused]
    if options.json:
        print(json.dumps({"imported": list(receipt.paths), "left": left}))
    else:
        verb = "Would import" if options.dry_run else "Imported"
        files_word = "file" if len(receipt.paths) == 1 else "files"
        print(f"{verb} {len(receipt.paths):,} {files_word} into {to}.")
        for line in left:
            print(f"memfs: not imported: {line}", file=sys.stderr)
        for sentence in _advice(receipt, allowed):
            print(f"memfs: {sentence}", file=sys.stderr)
    return Status.REFUSED if left else Status.DONE


def _source(options: Namespace, kind: str, limits: Limits) -> Source:
    path = Path(expanded(getattr(options, kind)))
    if kind in ("dir", "tar"):
        from memfs.transfer.sources import from_folder, from_tar

        return from_folder(path, limits) if kind == "dir" else from_tar(path, limits)
    from memfs.transfer.git_sources import from_git, from_memhtml, from_obversa

    if kind == "git":
        return from_git(path, options.ref or "HEAD", limits)
    if kind == "memhtml":
        return from_memhtml(path, limits)
    return from_obversa(path, options.from_scope or "default", limits)


def _advice(receipt: Imported, allowed: tuple[str, ...]) -> Iterator[str]:
    """What lets those come in whose extension alone is in the way."""
    refused = [path for path, _ in receipt.refused if path_error(path) is None]
    more = {extension_of(path) for path in refused if extension_error(path, allowed)} - {""}
    if more:
        extensions = ",".join((*allowed, *sorted(more)))
        yield f"`memfs policy set --extensions {extensions}` allows {', '.join(sorted(more))} here."


def _shown(text: str) -> str:
    """*text* as a terminal may show it: a name is anybody's data, and may hold what moves the cursor."""
    return text if text.isprintable() else ascii(text)[1:-1]

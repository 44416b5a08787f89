"""``memfs export``: a memory into a git repository, with its history, or as files into a directory or tar."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from memfs.cli.choose import choose_with_rules
from memfs.cli.complaint import Complaint, Status
from memfs.opening import git_reference, open_with
from memfs.places import expanded, memfs_mount_above, resolve


def run(options: Namespace) -> int:
    """Export the chosen memory to the one place that is named."""
    named = [target for target in (options.git, options.tar, options.dir) if target is not None]
    if len(named) != 1:
        raise Complaint("Name one of --git, --tar and --dir.", Status.USAGE)
    if options.ref is not None and options.git is None:
        raise Complaint("--ref is for --git.", Status.USAGE)
    target = Path(resolve(expanded(named[0])))
    mount = memfs_mount_above(str(target))
    if mount is not None:
        raise Complaint(f"{target} lies inside the memfs mount {mount}; name a place outside of it.")
    chosen, rules = choose_with_rules(options)
    with open_with(chosen.store, chosen.scope, rules) as memory:
        if options.git is not None:
            from memfs.stores.git.index import ref_of
            from memfs.transfer.to_git import export_to_git

            ref = ref_of(chosen.scope) if options.ref is None else git_reference(options.ref)
            done = export_to_git(memory, target, ref)
            print(f"Exported {_count(done.changes, 'change')} to {done.ref} in {target}.")
        elif options.tar is not None:
            from memfs.transfer.to_files import export_to_tar

            print(f"Exported {_count(export_to_tar(memory, target), 'file')} to {target}.")
        else:
            from memfs.transfer.to_files import export_to_directory

            print(f"Exported {_count(export_to_directory(memory, target), 'file')} to {target}.")
    return Status.DONE


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"

"""``memfs policy``: the rules of a scope, which every door keeps."""

from __future__ import annotations

import json
from argparse import Namespace

from memfs.cli.choose import choose_with_rules
from memfs.cli.complaint import Complaint, Status
from memfs.cli.settings import RULES, UNBOUNDED, as_rules
from memfs.opening import is_there, open_with
from memfs.port.policy import Policy


def run(options: Namespace) -> int:
    """Print the rules, after recording those that were named."""
    wanted = as_rules(
        {rule.key: value for rule in RULES if (value := getattr(options, rule.key)) is not None}
    )
    if options.action == "show" and wanted:
        raise Complaint("`memfs policy show` changes nothing; use `memfs policy set`.", Status.USAGE)
    if options.action == "set" and not wanted:
        raise Complaint("Name the rules to set, such as --max-files 512.", Status.USAGE)
    chosen, configured = choose_with_rules(options)
    # Only a scope that is new has to have what is configured: here one that has other rules can be mended.
    rules = {} if is_there(chosen.store, chosen.scope) else configured
    with open_with(chosen.store, chosen.scope, rules, actor="memfs") as memory:
        policy = memory.set_policy(wanted) if wanted else memory.policy
    print(json.dumps(policy.to_json()) if options.json else _told(policy))
    return Status.DONE


def _told(policy: Policy) -> str:
    limits = policy.limits
    lines = {
        "max-files": limits.max_files,
        "max-total-bytes": limits.max_total_bytes,
        "max-file-bytes": limits.max_file_bytes,
        "extensions": ",".join(policy.extensions),
        "layout": policy.layout,
        "eviction": policy.eviction,
    }
    if policy.has_archive:
        lines["max-archive-bytes"] = policy.max_archive_bytes or UNBOUNDED
    return "\n".join(f"{name:19}{value}" for name, value in lines.items())

"""``memfs prune``: forget old versions."""

from __future__ import annotations

import json
from argparse import Namespace

from memfs.cli.choose import choose_with_rules
from memfs.cli.complaint import Complaint, Status
from memfs.cli.elapsed import elapsed
from memfs.opening import open_with
from memfs.port.keeping import Retention


def run(options: Namespace) -> int:
    """Forget what the options do not keep, and say what the history takes now."""
    if options.keep_days is None and options.keep_versions is None:
        raise Complaint("Say what to keep: --keep-days N, --keep-versions N, or both.", Status.USAGE)
    chosen, rules = choose_with_rules(options)
    with open_with(chosen.store, chosen.scope, rules, actor="memfs") as memory:
        with elapsed("memfs prune"):
            forgotten = memory.prune(Retention(options.keep_days, options.keep_versions))
        use = memory.history_use()
    size = 0 if use is None else use.size
    if options.json:
        print(json.dumps({"forgotten": forgotten, "history_bytes": size}))
    else:
        print(f"Forgot {forgotten} versions; the history takes {size} bytes now.")
    return Status.DONE

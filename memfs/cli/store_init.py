"""``memfs store init``: the tables of a store on a server, made or brought up to date."""

from __future__ import annotations

import json
from argparse import Namespace

from memfs.cli.complaint import Status
from memfs.opening import canonical_url
from memfs.operating import initialise


def run(options: Namespace) -> int:
    """Make what is missing, and say what there was to do."""
    store = canonical_url(options.url)
    done = initialise(store)
    if options.json:
        before, now = done or (None, None)
        print(json.dumps({"store": store, "formatBefore": before, "format": now}))
    elif done is None:
        print(f"{store} needs nothing: it is made when it is first opened.")
    else:
        before, now = done
        if before == 0:
            print(f"Made the tables of a store in {store}, format {now}.")
        elif before < now:
            print(f"Brought the store {store} from format {before} to {now}.")
        else:
            print(f"The store {store} is up to date, format {now}.")
    return Status.DONE

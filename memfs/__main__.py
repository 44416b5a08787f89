"""``python -m memfs``: the command line."""

import sys

from memfs.cli import main

if __name__ == "__main__":
    sys.exit(main())

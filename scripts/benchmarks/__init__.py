"""What ``scripts/bench`` is made of: memfs and its peers, measured side by side in one run."""

"""Writing memfs into the configuration of a program that speaks the protocol, and out of it again.

- ``programs``: which programs, where each keeps its configuration, and what an entry looks like there.
- ``jsonc``, ``toml``: changing one entry of a text and nothing else of it, or refusing to.
- ``files``: a file read and replaced as a whole.
"""

from memfs.agents.integrate.programs import PROGRAMS, Entry, Program

__all__ = ["PROGRAMS", "Entry", "Program"]

"""What an agent does with a memory as a whole: read it into a prompt, choose from it, fold it together.

    from memfs.mechanics import Decision, Source, consolidate, curate, ground

    grounded = ground(memory, ["/memories/projects", Source("/memories/user.md", optional=True)])
    if grounded.ok:
        chosen = curate(grounded, "Plan the week.", decide)    # decide(grounded, intent) -> Decision
        prompt = chosen.prompt

    consolidate(memory, "/memories/summary.md", ["/memories/log"], fold)    # fold(folding) -> str

The functions that decide and fold are the caller's, and usually ask a model; nothing here knows one.
Whatever comes out of a memory is untrusted: every prompt begins with that warning, and no text in a
memory can look like a part of the prompt that is not the memory's. Everything works on any store, and
on anything that keeps the contract of the port: an ``execute`` that takes typed commands.
"""

from memfs.mechanics.consolidation import Consolidated, Folding, consolidate
from memfs.mechanics.curation import Curated, Decision, Fallback, curate
from memfs.mechanics.grounding import Document, Grounded, Source, ground
from memfs.mechanics.limits import GroundLimits
from memfs.mechanics.outcomes import Failed, MemoryPort

__all__ = [
    "Consolidated",
    "Curated",
    "Decision",
    "Document",
    "Failed",
    "Fallback",
    "Folding",
    "GroundLimits",
    "Grounded",
    "MemoryPort",
    "Source",
    "consolidate",
    "curate",
    "ground",
]

"""A change as git keeps it: in JSON for memfs, and as a commit's message for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from memfs.port.change import Actor, Change, Commit, File, Move, Origin, Put, Remove
from memfs.port.policy import Policy
from memfs.port.store import Record
from memfs.stores.git.objects import blob_id
from memfs.stores.records import records_of

LEFT = ("deleted", "evicted")
"""The operations with which a memory leaves."""


class Blob(NamedTuple):
    """The bytes of a file: the id of their blob, and their SHA-256 in hexadecimal."""

    oid: str
    digest: str


MARKER = b"The content of this version was taken out of the history with `memfs redact`.\n"
"""What plain git shows in the place of bytes that were redacted."""
REDACTED = Blob(blob_id(MARKER), "")


class Redacted(NamedTuple):
    """A version that a redaction named: a memory's id and a version of it, its path and size then."""

    id: int
    version: int
    path: str
    size: int


class Recorded(NamedTuple):
    """A commit of the scope, and the bytes that each file in it had after it (before it, if it left).

    ``redactions`` are the versions whose bytes it took out of the history.
    """

    commit: Commit
    blobs: Mapping[int, Blob]
    redactions: tuple[Redacted, ...] = ()

    @property
    def version(self) -> int:
        """The version that the change led to."""
        return self.commit.version

    def records(self) -> list[Record]:
        """The lines of the history, in the order of the change."""
        version, _, (time_ns, actor, reason) = self.commit
        return [
            *(self._with_bytes(record) for record in records_of(self.commit)),
            *(
                Record(version, time_ns, "redacted", id_, path, None, size, actor, of, None, reason)
                for id_, of, path, size in self.redactions
            ),
        ]

    def _with_bytes(self, record: Record) -> Record:
        blob = self.blobs[record.id]
        return record._replace(digest=blob.digest or None, redacted=blob == REDACTED)

    def to_json(self) -> dict[str, Any]:
        """A JSON object; what is empty is left out, and contents are in the blobs."""
        version, change, (time_ns, actor, reason) = self.commit
        line: dict[str, Any] = {"version": version, "time": time_ns, "actor": list(actor)}
        if reason:
            line["reason"] = reason
        if change.removes:
            line["removes"] = [[*file, evicted] for file, evicted in change.removes]
        if change.moves:
            line["moves"] = [[*file, path, operation] for file, path, operation in change.moves]
        if change.puts:
            line["puts"] = [
                [put.id, put.path, put.size, put.operation, put.mtime_ns, put.joins] for put in change.puts
            ]
        if change.policy is not None:
            line["policy"] = change.policy.to_json()
        if change.directories:
            line["directories"] = list(change.directories)
        if self.blobs:
            line["blobs"] = {str(file_id): list(blob) for file_id, blob in self.blobs.items()}
        if self.redactions:
            line["redactions"] = [list(each) for each in self.redactions]
        return line

    @classmethod
    def from_json(cls, line: Mapping[str, Any]) -> Recorded:
        """The inverse of :meth:`to_json`; raises ValueError, TypeError, KeyError or OpenError."""
        user, program, pid = line["actor"]
        policy = line.get("policy")
        change = Change(
            tuple(Remove(File(*file), evicted) for *file, evicted in line.get("removes", ())),
            tuple(Move(File(*file), path, operation) for *file, path, operation in line.get("moves", ())),
            tuple(
                Put(file_id, path, size, operation, None, mtime_ns, joins)
                for file_id, path, size, operation, mtime_ns, joins in line.get("puts", ())
            ),
            None if policy is None else Policy.from_json(policy),
            tuple(line.get("directories", ())),
        )
        origin = Origin(line["time"], Actor(user, program, pid), line.get("reason", ""))
        blobs = {int(file_id): Blob(*blob) for file_id, blob in line.get("blobs", {}).items()}
        redactions = tuple(Redacted(*each) for each in line.get("redactions", ()))
        return cls(Commit(line["version"], change, origin), blobs, redactions)


def message_of(records: Sequence[Record], version: int, reason: str) -> str:
    """What ``git log`` shows of the change *version*: what happened to which files, and why."""
    # What was asked for comes first, what had to leave for it after that.
    ordered = sorted(records, key=lambda record: record.operation in LEFT)
    told = [_told(record) for record in ordered]
    subject = told[0] if told else "set the rules of the scope"
    if len(told) > 1:
        subject += f" and {len(told) - 1} more"
    middle = f"{reason.strip()}\n\n" if reason.strip() else ""
    return f"{subject}\n\n{middle}Memfs-Version: {version}\n"


def _told(record: Record) -> str:
    if record.operation == "redacted":
        return f"redacted version {record.joins} of {record.path[1:]}"
    if record.old_path:
        return f"{record.operation} {record.old_path[1:]} to {record.path[1:]}"
    return f"{record.operation} {record.path[1:]}"


def person_of(actor: Actor) -> str:
    """An actor as git writes an author: the user and the program, with an address that leads nowhere."""
    user = _plain(actor.user) or "unknown"
    program = _plain(actor.program)
    name = f"{user} ({program})" if program else user
    return f"{name} <{user.replace(' ', '.')}@memfs.invalid>"


def _plain(name: str) -> str:
    """*name* without what would end it in the header of a commit."""
    return "".join(" " if c in "<>" or not c.isprintable() else c for c in name).strip(" .,:;'\"")

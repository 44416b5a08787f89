"""What a new name in the mount is: a memory's, a scratch file's, or refused, and with which errno."""

from __future__ import annotations

import errno
import re
from collections.abc import Sequence

from memfs.mount.actors import Who
from memfs.mount.nodes import Directory
from memfs.mount.saves import Saves
from memfs.mount.scratch import is_refused_directory, is_scratch_directory, is_scratch_file
from memfs.mount.tree import Tree
from memfs.port.checks import outside
from memfs.port.errors import ErrorCode, PortError
from memfs.port.names import MAX_PATH_BYTES, MAX_SEGMENT, extension_error, is_segment, path_error


class Naming:
    """Asks the port's rules and the scratch list; raises FUSEError for a name that is neither.

    *operation* and *who* are for the event that says why a name was refused.
    """

    def __init__(self, tree: Tree, saves: Saves, more_scratch: Sequence[str] = ()) -> None:
        """*more_scratch*: regular expressions of further scratch files' names."""
        self._tree = tree
        self._saves = saves
        self._more_scratch = [re.compile(expression) for expression in more_scratch]

    def file_is_scratch(self, parent: Directory, name: bytes, operation: str, who: Who) -> bool:
        """Whether a file called *name* in *parent* is scratch; else it is a memory's name."""
        text = self._decoded(parent, name, operation, who)
        if parent.holds_scratch:
            self._check_length(parent, name, operation, who)
            return True
        if self._is_memorys(text):
            self._check_path(parent, text, operation, who)
            return False
        if self._is_scratch(text):
            return True
        path = self._path(parent, text)
        policy = self._saves.memory.policy
        error = path_error(path) or extension_error(path, policy.extensions)
        assert error is not None, "a name that is fine was handled above"
        raise self._saves.refusal(operation, error, who)

    def link_is_scratch(self, parent: Directory, name: bytes, operation: str, who: Who) -> bool:
        """Whether a symbolic link may be called *name*; nothing but scratch may be one."""
        text = self._decoded(parent, name, operation, who)
        return parent.holds_scratch or (self._is_scratch(text) and not self._is_memorys(text))

    def directory_is_scratch(self, parent: Directory, name: bytes, operation: str, who: Who) -> bool:
        """Whether a directory called *name* in *parent* is scratch; else it is one of the port's."""
        text = self._decoded(parent, name, operation, who)
        if is_refused_directory(text):
            path = self._path(parent, text)
            error = PortError(
                ErrorCode.INVALID_PATH,
                f"A memory holds no directory {text}; keep it outside, beside the mount.",
                path,
            )
            raise self._saves.refusal(operation, error, who, errno.EPERM)
        if parent.holds_scratch or is_scratch_directory(text):
            self._check_length(parent, name, operation, who)
            return True
        if is_segment(text):
            self._check_path(parent, text, operation, who)
            return False
        error_ = path_error(self._path(parent, text))
        assert error_ is not None, "a name that is fine was handled above"
        raise self._saves.refusal(operation, error_, who)

    def _is_memorys(self, name: str) -> bool:
        return is_segment(name) and extension_error(name, self._saves.memory.policy.extensions) is None

    def _is_scratch(self, name: str) -> bool:
        return is_scratch_file(name) or any(pattern.fullmatch(name) for pattern in self._more_scratch)

    def _path(self, parent: Directory, name: str) -> str:
        return f"{self._tree.path_of(parent)}/{name}"

    def _check_path(self, parent: Directory, name: str, operation: str, who: Who) -> None:
        path = self._path(parent, name)
        error = path_error(path)
        if error is not None:
            raise self._saves.refusal(operation, error, who, errno.ENAMETOOLONG)
        error = outside(self._tree.scope(), path)
        if error is not None:
            raise self._saves.refusal(operation, error, who)

    def _check_length(self, parent: Directory, name: bytes, operation: str, who: Who) -> None:
        """Scratch may have any name, but no longer path than a memory."""
        path = self._tree.path_of(parent)
        if len(path.encode("utf-8", "surrogateescape")) + 1 + len(name) > MAX_PATH_BYTES:
            error = PortError(
                ErrorCode.INVALID_PATH,
                f"A path below {path} would have more than {MAX_PATH_BYTES} bytes.",
                path,
            )
            raise self._saves.refusal(operation, error, who, errno.ENAMETOOLONG)

    def _decoded(self, parent: Directory, name: bytes, operation: str, who: Who) -> str:
        text = name.decode("utf-8", "surrogateescape")
        if len(name) > 255 or (len(name) > MAX_SEGMENT and is_segment("a" + "".join(sorted(set(text))))):
            error = path_error(self._path(parent, text[:MAX_PATH_BYTES]))
            error = error or PortError(ErrorCode.INVALID_PATH, "The name is too long.")
            raise self._saves.refusal(operation, error, who, errno.ENAMETOOLONG)
        return text

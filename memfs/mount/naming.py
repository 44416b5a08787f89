"""What a new name in the mount is: a memory's, a scratch file's, or refused, and with which errno."""

from __future__ import annotations

import errno

import pyfuse3

from memfs.mount.nodes import Directory
from memfs.mount.scratch import is_refused_directory, is_scratch_directory, is_scratch_file
from memfs.mount.tree import Tree
from memfs.port.memory import Memory
from memfs.port.names import MAX_PATH_BYTES, MAX_SEGMENT, extension_error, is_segment


class Naming:
    """Asks the port's rules and the scratch list; raises FUSEError for a name that is neither."""

    def __init__(self, tree: Tree, memory: Memory) -> None:
        self._tree = tree
        self._memory = memory

    def file_is_scratch(self, parent: Directory, name: bytes) -> bool:
        """Whether a file called *name* in *parent* is scratch; else it is a memory's name."""
        text = self._decoded(name)
        if parent.holds_scratch:
            return True
        if self._is_memorys(text):
            self._check_path(parent, text)
            return False
        if is_scratch_file(text):
            return True
        raise pyfuse3.FUSEError(errno.EINVAL)

    def link_is_scratch(self, parent: Directory, name: bytes) -> bool:
        """Whether a symbolic link may be called *name*; nothing but scratch may be one."""
        text = self._decoded(name)
        return parent.holds_scratch or (is_scratch_file(text) and not self._is_memorys(text))

    def directory_is_scratch(self, parent: Directory, name: bytes) -> bool:
        """Whether a directory called *name* in *parent* is scratch; else it is one of the port's."""
        text = self._decoded(name)
        if is_refused_directory(text):
            raise pyfuse3.FUSEError(errno.EPERM)
        if parent.holds_scratch or is_scratch_directory(text):
            return True
        if is_segment(text):
            self._check_path(parent, text)
            return False
        raise pyfuse3.FUSEError(errno.EINVAL)

    def _is_memorys(self, name: str) -> bool:
        return is_segment(name) and extension_error(name, self._memory.policy.extensions) is None

    def _check_path(self, parent: Directory, name: str) -> None:
        if len(self._tree.path_of(parent)) + 1 + len(name) > MAX_PATH_BYTES:
            raise pyfuse3.FUSEError(errno.ENAMETOOLONG)

    def _decoded(self, name: bytes) -> str:
        if len(name) > MAX_SEGMENT and (len(name) > 255 or is_segment_but_long(name)):
            raise pyfuse3.FUSEError(errno.ENAMETOOLONG)
        return name.decode("utf-8", "surrogateescape")


def is_segment_but_long(name: bytes) -> bool:
    """Whether *name* would be a memory's but for its length."""
    return is_segment(name[:MAX_SEGMENT].decode("utf-8", "replace")) and all(
        is_segment("a" + chr(byte)) for byte in name[MAX_SEGMENT:]
    )

"""Opening a memory by the URL of its store: the one place that knows every kind of store."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from memfs.places import default_store, expanded, memfs_mount_above, resolve
from memfs.port.change import Actor
from memfs.port.errors import ErrorCode, OpenError, StoreError
from memfs.port.listing import Listing, Unlisted
from memfs.port.memory import Memory
from memfs.port.names import MAX_ACTOR, actor_fault, is_well_formed, scope_name_fault
from memfs.port.policy import Eviction, Layout, Limits, Policy
from memfs.port.receiving import Receiver
from memfs.port.store import Store

if TYPE_CHECKING:
    from memfs.stores.inspecting import Inspection

DEFAULT_SCOPE = "default"
KINDS = (
    "simple: (in this process), sqlite:PATH (a directory), directory:PATH (a folder of plain files), "
    "git:PATH (a repository), postgresql://HOST/DATABASE (a server)"
)


def open_memory(
    url: str | None = None,
    *,
    scope: str = DEFAULT_SCOPE,
    limits: Limits | None = None,
    extensions: Sequence[str] | None = None,
    layout: Layout | None = None,
    eviction: Eviction | None = None,
    max_archive_bytes: int | None = None,
    actor: str | None = None,
) -> Memory:
    """Open the memory port on one scope of a store; the scope is made if there is none.

    *url* is ``"sqlite:PATH"`` (a directory, made when missing), ``"directory:PATH"`` (a folder of plain
    files, which become memories as they are), ``"git:PATH"`` (a repository, bare or with a work tree; with
    ``"?ref=REF"`` on another reference than the scope's private one), ``"postgresql://HOST/DATABASE"`` (as
    libpq has it, without a password), ``"simple:"`` (in this process only), or None for the user's default
    store. The rules of a scope are recorded with it: those that are
    named make those of a new one; for one that exists they may be left out, and others than the recorded
    are refused. The layout ``"para"`` has the four buckets of :mod:`memfs.layout`, the extension ``.html``
    and the eviction ``"archive"``, where no others are named. *actor* is the name that the history gives
    to this caller, by default the program's. Changes are durable when ``execute`` returns.

    Raises :class:`OpenError` for a bad name, limit or URL, and for a store that cannot be opened.
    """
    wanted: dict[str, Any] = {}
    if limits is not None:
        wanted |= asdict(limits)
    if extensions is not None:
        wanted["extensions"] = list(extensions)
    others = {"layout": layout, "eviction": eviction, "max_archive_bytes": max_archive_bytes}
    wanted |= {name: value for name, value in others.items() if value is not None}
    return open_with(url, scope, wanted, actor)


def open_with(
    url: str | None, scope: str, wanted: Mapping[str, Any], actor: str | None = None, relaxed: bool = False
) -> Memory:
    """As :func:`open_memory`, with rules by name (``max_files``, ...; only those named must fit).

    *relaxed*: a commit survives a killed process at once, and a power cut after ``Memory.sync``.
    """
    fault = scope_name_fault(scope)
    if fault is not None:
        raise OpenError(ErrorCode.INVALID_ARGUMENT, fault)
    policy = Policy.from_json(wanted)
    try:
        store, made = _open_store(url, scope, policy, wanted, relaxed)
        try:
            memory = Memory(store, current_actor(actor))
        except BaseException:
            store.close()
            raise
    except StoreError as error:
        raise OpenError(error.code, error.message) from error
    if not made:
        differences = memory.policy.differences(wanted)
        if differences:
            memory.close()
            raise OpenError(
                ErrorCode.INVALID_ARGUMENT,
                f"The scope '{scope}' exists with other rules: {'; '.join(differences)}. "
                "Leave them out to use the recorded ones, or change those with 'memfs policy set'.",
            )
    return memory


def open_store(url: str, scope: str) -> Store:
    """The store of a scope that is there, by itself: for who takes it out whole.

    Raises OpenError, also where there is no such scope.
    """
    try:
        if not is_there(url, scope):
            raise OpenError(
                ErrorCode.INVALID_ARGUMENT, f"There is no scope '{scope}' in {canonical_url(url)}."
            )
        return _open_store(url, scope, Policy(), {}, relaxed=False)[0]
    except StoreError as error:
        raise OpenError(error.code, error.message) from error


def receive(url: str, scope: str, policy: Policy) -> Receiver:
    """A receiver of a scope that is not there yet, with these rules to begin with. Raises OpenError."""
    fault = scope_name_fault(scope)
    if fault is not None:
        raise OpenError(ErrorCode.INVALID_ARGUMENT, fault)
    try:
        if names_server(url):
            received: Receiver = postgres("receiving").receive_postgres(url, scope, policy)
            return received
        kind, path, ref = _parsed(url)
        if kind == "simple":
            raise OpenError(
                ErrorCode.INVALID_ARGUMENT,
                "A simple: store ends with its process, so it takes nothing in; name another store.",
            )
        _refuse_place(path)
        if kind == "git":
            with _needing_pygit2():
                from memfs.stores.git.receiving import receive_git
            receiver: Receiver = receive_git(path, ref, scope, policy)
            return receiver
        if kind == "directory":
            from memfs.stores.directory.receiving import receive_directory

            return receive_directory(path, scope, policy)
        from memfs.stores.sqlite.database import ScopeFiles
        from memfs.stores.sqlite.receiving import receive_sqlite

        return receive_sqlite(ScopeFiles(path, scope), scope, policy)
    except StoreError as error:
        raise OpenError(error.code, error.message) from error


def is_there(url: str, scope: str) -> bool:
    """Whether a store has the scope already; opening it would make it. False where it has it in its process.

    Raises OSError where the store cannot be looked at, and OpenError where it is no store or where nothing
    can be called so.
    """
    fault = scope_name_fault(scope)
    if fault is not None:
        raise OpenError(ErrorCode.INVALID_ARGUMENT, fault)
    if names_server(url):
        try:
            return bool(postgres().has_scope(url, scope))
        except StoreError as error:
            raise OpenError(error.code, error.message) from error
    kind, path, ref = _parsed(url)
    if kind == "git":
        return _has_reference(path, ref, scope)
    database = next(iter(files_of(url, scope)[1:]), None)
    if database is None:
        return False
    try:
        database.lstat()
    except FileNotFoundError:
        return False
    except NotADirectoryError:
        raise _no_directory(path) from None
    return True


def scopes_of(url: str | None, like: str = "", after: str = "") -> Iterator[Listing]:
    """The scopes of a store, in the order of names, and what could not be read as one.

    Only those whose names have *like* in them and come after *after*. Makes, migrates and locks nothing.
    Raises OpenError where there is no store of this kind, and for ``simple:``, which has none to list;
    StoreError or OSError where it cannot be looked at.
    """
    if url is not None and names_server(url):
        on_server: Iterator[Listing] = postgres("operating").scopes_in(canonical_url(url), like, after)
        return on_server
    kind, path, ref = _parsed(url)
    if kind == "simple":
        raise OpenError(
            ErrorCode.INVALID_ARGUMENT,
            "A simple: store ends with its process, so it has no scopes to list; name another store.",
        )
    if kind == "git":
        with _needing_pygit2():
            from memfs.stores.git import listing as in_git
        return _sought(in_git.scopes_in(path, ref), like, after)
    try:
        os.scandir(path).close()  # a search for names takes what cannot be read for empty
    except FileNotFoundError:
        return iter(())
    except NotADirectoryError:
        raise _no_directory(path) from None
    if kind == "directory":
        from memfs.stores.directory import listing as in_directory

        found = in_directory.scopes_in(path)
    else:
        from memfs.stores.sqlite import listing as in_sqlite

        found = in_sqlite.scopes_in(path)
    return _sought(found, like, after)


def files_of(url: str, scope: str) -> list[Path]:
    """The directory that a scope is kept in, and what of it is memfs's own: a database and its company.

    Empty for ``simple:`` and on a server, and the directory alone for ``git:``.
    """
    if names_server(url):
        return []
    kind, path, _ = _parsed(url)
    if kind == "simple":
        return []
    if kind == "git":
        return [path]
    from memfs.stores.sqlite.database import ScopeFiles

    if kind == "directory":
        from memfs.stores.directory.folder import META
        from memfs.stores.directory.opening import STEM

        files = ScopeFiles(path / META, scope, STEM)
    else:
        files = ScopeFiles(path, scope)
    return [path, files.database, files.wal, files.lock]


def inspect(url: str, scope: str) -> Inspection | None:
    """What can be asked about damage, where the store has more to look at than a memory shows."""
    if names_server(url):
        inspection: Inspection = postgres("inspection").PostgresInspection(url, scope)
        return inspection
    if not url.startswith("sqlite:"):
        return None
    _, path, _ = _parsed(url)
    from memfs.stores.sqlite.inspection import SqliteInspection

    return SqliteInspection(path, scope)


def current_actor(program: str | None = None) -> Actor:
    """Who this process is, for the history. Raises OpenError for a name that cannot be recorded.

    *program* is what its caller calls it; the name of the process itself is cut to what is recorded.
    """
    import pwd

    try:
        user = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        user = str(os.getuid())
    if program is not None and not isinstance(program, str):
        raise OpenError(ErrorCode.INVALID_ARGUMENT, "An actor's name must be a string.")
    # A file name may be any bytes; what is recorded is text.
    name = (program or Path(sys.argv[0] or "python").name).encode("utf-8", "backslashreplace").decode()
    if program and (fault := actor_fault(name)) is not None:
        raise OpenError(ErrorCode.INVALID_ARGUMENT, fault)
    return Actor(user[:MAX_ACTOR], name[:MAX_ACTOR], os.getpid())


def canonical_url(url: str | None) -> str:
    """*url* with everything it leaves open filled in, so that it means the same in any directory."""
    if url is not None and names_server(url):
        from memfs.stores.postgres.address import address_of

        return address_of(url).url
    kind, path, ref = _parsed(url)
    return "simple:" if kind == "simple" else f"{kind}:{path}" + (f"?ref={ref}" if ref else "")


def hurried(url: str, patience: float) -> str:
    """*url* for who only looks, and waits at most *patience* seconds for a server. Raises OpenError."""
    if not names_server(url):
        return url
    from memfs.stores.postgres import address

    return address.hurried(url, patience)


def _open_store(
    url: str | None, scope: str, policy: Policy, wanted: Mapping[str, Any], relaxed: bool
) -> tuple[Store, bool]:
    if url is not None and names_server(url):
        opened: tuple[Store, bool] = postgres().open_postgres(url, scope, policy)
        return opened
    kind, path, ref = _parsed(url)
    if kind == "simple":
        from memfs.stores.simple import SimpleStore

        return SimpleStore(scope, policy), True
    _refuse_place(path)
    if kind == "directory":
        from memfs.stores.directory import open_directory

        return open_directory(path, scope, policy, relaxed, wanted)
    if kind == "git":
        with _needing_pygit2():
            from memfs.stores.git.store import open_git
        return open_git(path, ref, scope, policy)
    from memfs.stores.sqlite import open_sqlite

    return open_sqlite(path, scope, policy, relaxed)


def _has_reference(path: Path, ref: str | None, scope: str) -> bool:
    if not path.exists() or (path.is_dir() and not any(path.iterdir())):
        return False
    with _needing_pygit2():
        from memfs.stores.git.index import ref_of
        from memfs.stores.git.repository import Repository
    try:
        return Repository(path).target(ref or ref_of(scope)) is not None
    except StoreError as error:
        raise OpenError(error.code, error.message) from error


def _sought(found: Iterator[Listing], like: str, after: str) -> Iterator[Listing]:
    return (each for each in found if isinstance(each, Unlisted) or (like in each.name and each.name > after))


def _no_directory(path: Path) -> OpenError:
    return OpenError(
        ErrorCode.STORAGE_ERROR, f"{path} is no directory; name one, or a place where nothing is yet."
    )


def _refuse_place(path: Path) -> None:
    """Raise OpenError for a place where no store may be."""
    mount = memfs_mount_above(str(path))
    if mount is not None:
        raise OpenError(
            ErrorCode.INVALID_ARGUMENT,
            f"The store {path} lies inside the memfs mount {mount}; name a directory outside of it.",
        )
    if not is_well_formed(str(path)):
        raise OpenError(ErrorCode.INVALID_ARGUMENT, "The store's path is no UTF-8; choose another directory.")


@contextmanager
def _needing_pygit2() -> Iterator[None]:
    """Say what to install where an import inside finds no pygit2."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name != "pygit2":
            raise
        raise OpenError(
            ErrorCode.STORAGE_ERROR,
            "A git: store needs pygit2, which is not installed; run pip install 'memfs-mount[git]'.",
        ) from error


def names_server(url: str) -> bool:
    """Whether *url* is that of a store on a server."""
    return url.partition(":")[0] in ("postgresql", "postgres")


def postgres(module: str = "store") -> ModuleType:
    """A module of the store's package, which needs what not everybody has. Raises OpenError."""
    try:
        return import_module(f"memfs.stores.postgres.{module}")
    except ModuleNotFoundError as error:
        if error.name != "psycopg":
            raise
        raise OpenError(
            ErrorCode.STORAGE_ERROR,
            "A postgresql: store needs psycopg, which is not installed; "
            "run pip install 'memfs-mount[postgres]'.",
        ) from error


def _parsed(url: str | None) -> tuple[str, Path, str | None]:
    """The kind of a store, its path, and for ``git:`` the reference, None where the URL names none."""
    if url is None:
        return "sqlite", _placed(lambda: str(default_store())), None
    kind, colon, path = url.partition(":")
    if colon and kind == "simple":
        if path:
            raise OpenError(
                ErrorCode.INVALID_ARGUMENT, "A simple: store takes no path; it ends with its process."
            )
        return kind, Path(), None
    if colon and kind in ("sqlite", "directory", "git"):
        ref = None
        if kind == "git":
            path, question, query = path.partition("?")
            if question:
                name = query.removeprefix("ref=")
                if name == query:
                    raise OpenError(ErrorCode.INVALID_ARGUMENT, "After git:PATH? comes only ref=REF.")
                ref = git_reference(name)
        if not path or "\0" in path:
            raise OpenError(ErrorCode.INVALID_ARGUMENT, f"Name the store's directory, as in {kind}:PATH.")
        return kind, _placed(lambda: expanded(path)), ref
    raise OpenError(
        ErrorCode.INVALID_ARGUMENT, f"The store must be one of {KINDS}; this one is none of them."
    )


def _placed(path: Callable[[], str]) -> Path:
    """The directory that *path* finds, free of links; OpenError where no home is known to find it in."""
    try:
        return Path(resolve(path()))
    except OSError as error:
        raise OpenError(ErrorCode.INVALID_ARGUMENT, f"The store has no place: {error.strerror}.") from error


def git_reference(name: str) -> str:
    """*name*, which must be the name of a git reference in full; anything else raises OpenError."""
    if not _is_reference(name):
        raise OpenError(
            ErrorCode.INVALID_ARGUMENT,
            f"A git reference is named in full, as in refs/heads/notes, and not '{name}'.",
        )
    return name


# As git-check-ref-format(1) has it, for names in full.
_is_reference = re.compile(
    r"refs(?:/(?!\.)(?!@?\{)(?:(?!\.\.|@\{|\.lock(?:/|$))[^\x00-\x20\x7f ~^:?*\[\\/])+(?<!\.)){2,}"
).fullmatch

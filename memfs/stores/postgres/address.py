"""The URL of a store on PostgreSQL: what of it is libpq's, what is ours, and what must not be in it."""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from memfs.port.errors import ErrorCode, OpenError

DEFAULT_PATIENCE = 10.0
DEFAULT_CONNECTIONS = 4
OWN = "memfs_"
SECRETS = ("password", "sslpassword", "oauth_client_secret")
_ELSEWHERE = (
    "put it into ~/.pgpass, into a service file (postgresql:///?service=NAME), "
    "into PGPASSWORD, or into the file that PGPASSFILE names"
)


class Address(NamedTuple):
    """Where a store is, and how this process uses it.

    ``conninfo`` is for libpq: a URL with nothing of ours and no secret in it. ``patience`` is how many
    seconds a command waits for a server that is away; ``connections`` is how many a process opens, the one
    that listens aside.
    """

    url: str
    conninfo: str
    patience: float = DEFAULT_PATIENCE
    connections: int = DEFAULT_CONNECTIONS

    @property
    def place(self) -> str:
        """The server and the database, for people."""
        return self.conninfo.partition("?")[0].removeprefix("postgresql://").strip("/") or self.url


def address_of(url: str) -> Address:
    """What *url* says, with ``url`` in the one form that means the same anywhere. Raises OpenError."""
    scheme, _, rest = url.partition(":")
    if scheme not in ("postgresql", "postgres") or not rest.startswith("//"):
        raise _refused("A PostgreSQL store is named as in postgresql://HOST/DATABASE.")
    try:
        split = urlsplit(f"postgresql:{rest}")
        plain = split.query.replace("+", "%2B")  # libpq takes no plus sign for a space
        query = parse_qsl(plain, keep_blank_values=True, strict_parsing=bool(plain))
    except ValueError:
        raise _refused("The store is no URL that PostgreSQL knows: postgresql://HOST/DATABASE.") from None
    if split.fragment or not url.isprintable():
        raise _refused("The URL of the store has characters that it must write as %XX.")
    _, has_password, _ = split.netloc.rpartition("@")[0].partition(":")
    if has_password or any(name.lower() in SECRETS for name, _ in query):
        raise _refused(f"A store's URL is shown to everybody, so it takes no password; {_ELSEWHERE}.")
    own = {name: value for name, value in query if name.startswith(OWN)}
    others = [(name, value) for name, value in query if not name.startswith(OWN)]
    patience = _number(own, "patience", DEFAULT_PATIENCE, 1, 3600)
    connections = int(_number(own, "connections", DEFAULT_CONNECTIONS, 1, 100))
    for name in own:
        if name not in (f"{OWN}patience", f"{OWN}connections"):
            raise _refused(f"There is no {name}; a store takes {OWN}patience and {OWN}connections.")
    base = f"postgresql://{split.netloc}{quote(unquote(split.path), safe='/')}"
    conninfo = base + ("?" + urlencode(others, quote_via=quote) if others else "")
    both = sorted(others) + sorted(own.items())
    return Address(
        base + ("?" + urlencode(both, quote_via=quote) if both else ""), conninfo, patience, connections
    )


def hurried(url: str, patience: float) -> str:
    """*url* for who only looks, and waits at most *patience* seconds for a server. Raises OpenError."""
    address = address_of(url)
    if address.patience <= patience:
        return address.url
    return f"{address.conninfo}{'&' if '?' in address.conninfo else '?'}{OWN}patience={patience:g}"


def _number(own: dict[str, str], name: str, default: float, least: float, most: float) -> float:
    text = own.get(OWN + name)
    if text is None:
        return default
    if not re.fullmatch(r"\d{1,6}(\.\d{1,3})?", text) or not least <= float(text) <= most:
        raise _refused(f"{OWN}{name} is a number from {least:g} to {most:g}, and not '{text}'.")
    return float(text)


def _refused(sentence: str) -> OpenError:
    return OpenError(ErrorCode.INVALID_ARGUMENT, sentence)

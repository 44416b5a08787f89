"""The ``postgresql`` store: the scopes of many machines in one PostgreSQL database.

- ``address``: the URL, and what must not be in it.
- ``schema``, ``steps``: the tables, and how they come to be; ``grants``: who may use which scope.
- ``connections``: a few of them, none waited on for ever; ``failures``: PostgreSQL's errors as the port's.
- ``database``: a server as this process knows it; ``channel``: a scope on it; ``listener``: notices.
- ``store``: the :class:`~memfs.port.store.Store` itself; ``rows``, ``history``: what its rows mean.
- ``retention``, ``redaction``: forgetting. ``receiving``: a scope that comes from another store.
- ``operating``: what the operator of a store asks; ``inspection``: looking for damage.

Only ``address`` does without psycopg: a URL is looked at by many who open nothing.
"""

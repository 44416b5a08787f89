"""A server of the Model Context Protocol over one memory, with the official SDK (the extra ``memfs[mcp]``).

- ``schemas``: JSON schemas of the port's types. ``tools``: the tools, as values and as calls.
- ``resources``: each memory as ``memory:///PATH``.
- ``following``: which of them changed, whoever changed them.
- ``server``: all of it as the SDK's server. ``stdio``, ``http``: serving it. ``token``: HTTP's secret.

Only ``following``, ``server``, ``stdio`` and ``http`` import the SDK, which takes longer to load than all of
memfs.
"""

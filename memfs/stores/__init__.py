"""Stores: where scopes live. Each module here implements :class:`memfs.port.store.Store`."""

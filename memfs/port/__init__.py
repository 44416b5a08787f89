"""The memory port: one command contract, one implementation, and the state it works on.

This package imports no other part of memfs but the layout. What a command means is decided by
:func:`memfs.port.plan.plan`, which is pure; :class:`memfs.port.memory.Memory` has a store
make it durable; :mod:`memfs.port.store` is what a store promises.
"""

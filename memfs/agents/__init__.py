"""The doors of agents: what gives an existing agent this memory in one line.

``memfs.agents.anthropic`` has the memory tool for Anthropic's SDK, ``memfs.agents.mcp`` a server for every
program that speaks the Model Context Protocol. Everything here speaks to the port; the SDKs are
extras of the package, and importing this package loads none of them.
"""

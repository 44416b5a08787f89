"""Taking a whole memory out of its store, and bringing files of other systems in.

- ``to_git``, ``to_files``: export, with the history into a git repository, or as files into a
  directory or a tar.
- ``migrate``: from one store into another.
- ``sources``, ``git_sources``: what other programs have written, read as files to bring in. All of it
  is data of unknown origin: names and sizes are checked, links are not followed.
- ``program``: the git program, run so that no configuration or hook of a repository takes part.

It knows the port, and of the git store only its formats.
"""

"""``memfs completion``: scripts for bash, zsh and fish, and the words that those ask for.

The scripts know nothing: at each Tab they ask ``memfs completion words -- WORD...`` what the last of these
words can become, so that all shells complete the same. Where the answer is empty, the shell's own
completion of file names takes over.
"""

from __future__ import annotations

from argparse import Action, Namespace
from collections.abc import Iterable, Iterator

from memfs.cli.arguments import COMMANDS
from memfs.cli.complaint import Complaint, Status

_BASH = r"""
_memfs() {
    local word words=()
    for word in "${COMP_WORDS[@]:1:COMP_CWORD}"; do
        case $word in
            \'*) word=${word#\'} word=${word%\'} ;;
            \"*) word=${word#\"} word=${word%\"} ;;
            *\\*) IFS= read word <<<"$word" ;;
        esac
        words+=("$word")
    done
    mapfile -t COMPREPLY < <(memfs completion words -- "${words[@]}" 2>/dev/null)
    [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == */ ]] && compopt -o nospace
    # Names of files are quoted by the shell; it would take a command for one where a directory is called so.
    [[ ${COMPREPLY[*]} == *[^a-zA-Z0-9\ ./_-]* || ${COMPREPLY[0]} == *' '* ]] && compopt -o filenames
    return 0
}
complete -o default -F _memfs memfs
"""
_ZSH = r"""
#compdef memfs
_memfs() {
    local -a found
    found=("${(@f)$(memfs completion words -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
    if [[ -n $found[1] ]]; then
        compadd -- ${found:#*/}
        compadd -S '' -- ${(M)found:#*/}
    else
        _files
    fi
}
if [[ $funcstack[1] == _memfs ]]; then  # loaded at the first Tab, from a directory of $fpath
    _memfs "$@"
else
    compdef _memfs memfs
fi
"""
_FISH = r"""
function __memfs_words
    set -l before (commandline -opc)
    set -l begun (commandline -ct | string unescape; or commandline -ct)
    set -l found (memfs completion words -- $before[2..-1] $begun 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c memfs -f -a '(__memfs_words)'
"""
_SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}
_IN_A_MEMORY = ("path", "new_path")
"""Arguments that are paths in a memory, by the names that ``arguments`` gives them."""


def run(options: Namespace) -> int:
    """Print a script, or the words that complete the last of those given."""
    if options.shell != "words":
        if options.names:
            raise Complaint("Name the shell, and nothing else.", Status.USAGE)
        print(script(options.shell), end="")
        return Status.DONE
    *before, begun = options.names or [""]
    for word in sorted(set(_words(before, begun))):
        if word.isprintable():
            print(word)
    return Status.DONE


def script(shell: str) -> str:
    """What completes for one of bash, zsh and fish."""
    return _SCRIPTS[shell].strip() + "\n"


def _words(before: list[str], begun: str) -> Iterable[str]:
    """What *begun*, the word behind those *before*, can become."""
    if not before:
        found: Iterable[str] = [*COMMANDS, "--help", "--version"]
    elif before[0] not in COMMANDS:
        found = []
    else:
        found = _words_of(before[0], before[1:], begun)
    return (word for word in found if word.startswith(begun))


def _words_of(command: str, given: list[str], begun: str) -> Iterable[str]:
    from memfs.cli.parser import parser_of

    given = list(_apart(given))
    option, is_joined, value = begun.partition("=")
    if option.startswith("--") and is_joined:
        return (f"{option}={each}" for each in _words_of(command, [*given, option], value))
    actions = parser_of(command)._actions  # the one place where argparse tells what it knows
    by_option = {option: action for action in actions for option in action.option_strings}
    if begun.startswith("-") and "--" not in given:
        return by_option
    asked = by_option.get(given[-1]) if given else None
    if asked is not None and asked.nargs != 0:
        return _values(asked, given, begun)
    positional = [action for action in actions if not action.option_strings]
    place = sum(1 for _ in _arguments(given, by_option))
    if place < len(positional):
        return _values(positional[place], given, begun)
    return _values(positional[-1], given, begun) if positional and positional[-1].nargs == "*" else []


def _apart(given: list[str]) -> Iterator[str]:
    """The words, with each option apart from its value: ``--scope=a`` is two, and for bash it is three."""
    before = ""
    for word in given:
        option, is_joined, value = word.partition("=")
        if option.startswith("--") and is_joined:
            yield from (option, value)
        elif word != "=" or not before.startswith("--"):
            yield word
        before = word


def _arguments(given: list[str], by_option: dict[str, Action]) -> Iterator[str]:
    """The words of *given* that are neither options nor their values."""
    words = iter(given)
    for word in words:
        if word == "--":
            yield from words
        elif word in by_option:
            if by_option[word].nargs != 0:
                next(words, None)
        elif not word.startswith("-"):
            yield word


def _values(action: Action, given: list[str], begun: str) -> Iterable[str]:
    if action.choices is not None and action.metavar is None:
        return map(str, action.choices)
    if action.metavar == "bash|zsh|fish":
        return _SCRIPTS
    if action.dest in _IN_A_MEMORY:
        return _paths(given, begun)
    if action.dest == "directory":
        from memfs.cli.running import recorded

        return [mount.mountpoint for mount in recorded()]
    if action.dest in ("memory", "name"):
        from memfs.cli.configuration import configured_names

        return configured_names()
    if action.dest == "page":
        return COMMANDS
    return []


def _paths(given: list[str], begun: str) -> Iterator[str]:
    """What is in the directory of the memory that the path *begun* leads into."""
    from memfs.cli.choose import choose, port_path
    from memfs.opening import is_there, open_with

    named = {name: given[given.index(f"--{name}") + 1] if f"--{name}" in given[:-1] else None
             for name in ("memory", "store", "scope")}  # fmt: skip
    if "--workspace" in given and named["store"]:
        named["store"] += "/memory"  # as it would be: nothing is made for the sake of a key
    options = Namespace(**named)
    directory = begun[: begun.rfind("/") + 1]
    chosen = choose(options, directory or ".")
    if not is_there(chosen.store, chosen.scope):
        return
    with open_with(chosen.store, chosen.scope, {}) as memory:
        scope, path = memory.snapshot(), port_path(directory or ".", chosen).rstrip("/")
        if scope.is_directory(path):
            for name, is_directory in scope.children(path).items():
                yield f"{directory}{name}{'/' if is_directory else ''}"

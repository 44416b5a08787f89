"""The programs of a shell, as people use them on a directory of notes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mount.harness import Mounted, eventually, run, write

TREE = {
    "index.md": "# Index\nfirst needle\n",
    "projects/alpha/plan.md": "plan\n" * 300,
    "projects/alpha/data.json": '{"a": 1}\n',
    "projects/beta/notes.txt": "needle in beta\n",
    "areas/home.yaml": "a: ü€😀\n",
    "empty.md": "",
}


@pytest.fixture
def tree(here: Path) -> Path:
    """A small tree in the mount."""
    for name, text in TREE.items():
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        write(here / name, text)
    return here


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """The same tree on an ordinary disk."""
    for name, text in TREE.items():
        (tmp_path / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
        write(tmp_path / "tree" / name, text)
    return tmp_path / "tree"


def sh(command: str, directory: Path) -> str:
    """The output of a shell command in *directory*, which must succeed without a word on standard error."""
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-ec", command],
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), command
    return done.stdout


def needs(program: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"machine: {program} is not installed")


def files(directory: Path) -> dict[str, str]:
    return {
        str(path.relative_to(directory)): path.read_text() for path in directory.rglob("*") if path.is_file()
    }


def stored(mount: Mounted, directory: Path) -> dict[str, str | None]:
    return {name: mount.text(directory / name) for name in files(directory)}


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("ls", "areas\nempty.md\nindex.md\nprojects\n"),
        ("ls -A1 projects", "alpha\nbeta\n"),
        ("ls -R | grep -c md", "3\n"),
        ("cat index.md projects/beta/notes.txt", "# Index\nfirst needle\nneedle in beta\n"),
        ("grep -rl needle . | sort", "./index.md\n./projects/beta/notes.txt\n"),
        ("grep -c plan projects/alpha/plan.md", "300\n"),
        ("find . -type f | sort | head -3", "./areas/home.yaml\n./empty.md\n./index.md\n"),
        ("find . -type d | sort", ".\n./areas\n./projects\n./projects/alpha\n./projects/beta\n"),
        ("find . -name '*.md' -size 0", "./empty.md\n"),
        ("find . -newermt '1 hour ago' -type f | wc -l", "6\n"),
        ("find . -empty", "./empty.md\n"),
        ("stat -c '%s %h %F' index.md", "21 1 regular file\n"),
        ("stat -c '%h %F' projects", "4 directory\n"),
        ("du -b --apparent-size projects/alpha/plan.md | cut -f1", "1500\n"),
        ("wc -c < projects/alpha/plan.md", "1500\n"),
        ("wc -l projects/alpha/plan.md", "300 projects/alpha/plan.md\n"),
        ("head -n 1 index.md", "# Index\n"),
        ("tail -n 1 index.md", "first needle\n"),
        ("tail -c 4 projects/alpha/plan.md", "lan\n"),
        ("sort -u projects/alpha/plan.md", "plan\n"),
        ("md5sum < empty.md", "d41d8cd98f00b204e9800998ecf8427e  -\n"),
        ("while read -r line; do echo \"[$line]\"; done < index.md", "[# Index]\n[first needle]\n"),
        ("test -r index.md -a -w index.md -a ! -x index.md -a -d projects && echo yes", "yes\n"),
        ("echo projects/*/*.md", "projects/alpha/plan.md\n"),
        ("cmp index.md index.md && echo same", "same\n"),
        ("readlink -f projects/../index.md | xargs basename", "index.md\n"),
        ("find . -type f -print0 | xargs -0 -n1 -P8 cat | wc -c", "1558\n"),
        ("ls -lR > /dev/null; ls -la > /dev/null; df . > /dev/null; echo fine", "fine\n"),
    ],
)  # fmt: skip
def test_reading(tree: Path, command: str, output: str) -> None:
    assert sh(command, tree) == output


@pytest.mark.parametrize(
    ("command", "name", "text"),
    [
        ("echo more >> index.md", "index.md", "# Index\nfirst needle\nmore\n"),
        ("echo new > index.md", "index.md", "new\n"),
        ("sed -i s/first/second/ index.md", "index.md", "# Index\nsecond needle\n"),
        ("perl -pi -e s/first/second/ index.md", "index.md", "# Index\nsecond needle\n"),
        ("sort -r -o index.md index.md", "index.md", "first needle\n# Index\n"),
        ("tee -a index.md <<< more > /dev/null", "index.md", "# Index\nfirst needle\nmore\n"),
        ("printf X | dd of=empty.md bs=1 seek=2 conv=notrunc status=none", "empty.md", "\0\0X"),
        ("truncate -s 8 index.md", "index.md", "# Index\n"),
        ("cp index.md copy.md", "copy.md", "# Index\nfirst needle\n"),
        ("cp empty.md index.md", "index.md", ""),
        ("cp --remove-destination projects/beta/notes.txt index.md", "index.md", "needle in beta\n"),
        ("install -m 600 projects/beta/notes.txt index.md", "index.md", "needle in beta\n"),
        ("mv index.md moved.md", "moved.md", "# Index\nfirst needle\n"),
        ("mv index.md projects/", "projects/index.md", "# Index\nfirst needle\n"),
        ("mv projects/alpha areas/", "areas/alpha/data.json", '{"a": 1}\n'),
        ("cp -r projects copied", "copied/beta/notes.txt", "needle in beta\n"),
        ("mkdir -p deep/er/still && echo x > deep/er/still/a.md", "deep/er/still/a.md", "x\n"),
        ("cat index.md projects/beta/notes.txt > both.md", "both.md", TREE["index.md"] + "needle in beta\n"),
        ("exec 3<>index.md; read -r -u3 line; echo X >&3", "index.md", "# Index\nX\nrst needle\n"),
        ("ex -s -c '%s/first/1st/' -c 'set bkc=yes' -c x index.md", "index.md", "# Index\n1st needle\n"),
        ("ed -s index.md <<< $'1d\\nw\\nq'", "index.md", "first needle\n"),
        ("gawk -i inplace '{print NR}' index.md", "index.md", "1\n2\n"),
        ("printf 'line\\n%.0s' {1..2000} > index.md", "index.md", "line\n" * 2000),
        ("seq 3 | xargs -I{} sh -c 'echo {} >> index.md'", "index.md", "# Index\nfirst needle\n1\n2\n3\n"),
    ],
)  # fmt: skip
def test_writing(mount: Mounted, tree: Path, command: str, name: str, text: str) -> None:
    needs(command.split()[0] if command.split()[0] not in ("exec", "echo", "cd") else "sh")
    sh(command, tree)
    assert (tree / name).read_text() == text
    eventually(lambda: mount.text(tree / name), text)


def test_mv_onto_a_memory_is_refused_and_changes_nothing(mount: Mounted, tree: Path) -> None:
    done = subprocess.run(
        ["mv", "index.md", "empty.md"],
        cwd=tree,
        capture_output=True,
        text=True,
        env={**os.environ, "LC_ALL": "C"},
    )
    assert done.returncode == 1
    assert "File exists" in done.stderr
    assert files(tree) == TREE == stored(mount, tree)


def test_rm_r_removes_everything(mount: Mounted, tree: Path) -> None:
    sh("rm -r projects areas *.md", tree)
    assert os.listdir(tree) == []
    assert not mount.memory.execute({"command": "view", "path": mount.port_path(tree)}).ok


def test_cp_p_keeps_the_time(tree: Path) -> None:
    os.utime(tree / "index.md", ns=(1_000_000_000, 2_000_000_000))
    sh("cp -p index.md copy.md", tree)
    assert (tree / "copy.md").stat().st_mtime_ns == 2_000_000_000


def test_cp_a_copies_a_tree_in_and_out(mount: Mounted, here: Path, outside: Path, tmp_path: Path) -> None:
    run("cp", "-a", outside, here / "in")
    assert files(here / "in") == TREE == stored(mount, here / "in")
    run("cp", "-a", here / "in", tmp_path / "out")
    assert files(tmp_path / "out") == TREE
    assert run("diff", "-r", outside, tmp_path / "out") == ""


def test_tar_writes_and_reads_the_tree(mount: Mounted, tree: Path, here: Path, tmp_path: Path) -> None:
    run("tar", "-C", tree, "-cf", tmp_path / "tree.tar", *os.listdir(tree))
    (here / "in").mkdir()
    run("tar", "-C", here / "in", "-xf", tmp_path / "tree.tar")
    assert files(here / "in") == TREE == stored(mount, here / "in")
    assert run("tar", "-C", here / "in", "-df", tmp_path / "tree.tar") == ""
    run("tar", "-C", here / "in", "-xf", tmp_path / "tree.tar")  # over what is there: unlink and create
    assert files(here / "in") == TREE == stored(mount, here / "in")


@pytest.mark.parametrize("options", [[], ["--inplace"], ["--delay-updates"], ["--delete"], ["--append"]])
def test_rsync_transfers_once_in_and_out(
    mount: Mounted, here: Path, outside: Path, tmp_path: Path, options: list[str]
) -> None:
    needs("rsync")
    for source, target in ((outside, here / "in"), (here / "in", tmp_path / "out")):
        first = run("rsync", "-a", "--stats", *options, f"{source}/", f"{target}/")
        assert "Number of regular files transferred: 0" not in first
        again = run("rsync", "-a", "--stats", *options, f"{source}/", f"{target}/")
        assert "Number of regular files transferred: 0" in again
    assert files(here / "in") == TREE == stored(mount, here / "in")
    assert files(tmp_path / "out") == TREE


def test_rsync_updates_and_deletes(mount: Mounted, here: Path, outside: Path) -> None:
    needs("rsync")
    run("rsync", "-a", f"{outside}/", f"{here}/")
    write(outside / "index.md", "changed, and longer")
    (outside / "projects" / "beta" / "notes.txt").unlink()
    run("rsync", "-a", "--delete", f"{outside}/", f"{here}/")
    assert files(here) == files(outside) == stored(mount, here)


def test_git_compares_the_tree(tree: Path, outside: Path) -> None:
    needs("git")
    same = subprocess.run(["git", "diff", "--no-index", outside, tree], capture_output=True, check=False)
    assert (same.returncode, same.stdout) == (0, b"")
    write(tree / "index.md", "changed\n")
    differs = subprocess.run(
        ["git", "diff", "--no-index", outside / "index.md", tree / "index.md"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "+changed" in differs.stdout


def test_git_keeps_a_repository_of_the_tree_elsewhere(tree: Path, tmp_path: Path) -> None:
    needs("git")
    git = ["git", f"--git-dir={tmp_path / 'repository'}", f"--work-tree={tree}"]
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    run(*git, "init", "-q", cwd=tree)
    run(*git, "add", "-A", cwd=tree)
    run(*git, *who, "commit", "-qm", "first", cwd=tree)
    assert run(*git, "status", "--porcelain", cwd=tree) == ""
    write(tree / "index.md", "changed\n")
    assert run(*git, "status", "--porcelain", cwd=tree) == " M index.md\n"
    run(*git, "checkout", "--", "index.md", cwd=tree)
    assert files(tree) == TREE


def test_git_init_says_that_it_is_not_permitted(tree: Path) -> None:
    needs("git")
    done = subprocess.run(["git", "init"], cwd=tree, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "not permitted" in done.stderr
    assert files(tree) == TREE


def test_patch_changes_a_file_of_the_tree(mount: Mounted, tree: Path, tmp_path: Path) -> None:
    needs("patch")
    (tmp_path / "change").write_text(
        "--- index.md\n+++ index.md\n@@ -1,2 +1,2 @@\n # Index\n-first needle\n+found\n"
    )
    run("patch", "-s", "-i", tmp_path / "change", "index.md", cwd=tree)
    assert mount.text(tree / "index.md") == "# Index\nfound\n"
    assert set(files(tree)) == set(TREE)


def test_tail_f_follows_what_either_door_appends(mount: Mounted, tree: Path) -> None:
    with subprocess.Popen(
        ["tail", "-n", "0", "-s", "0.05", "-f", "---disable-inotify", tree / "index.md"],
        stdout=subprocess.PIPE,
        text=True,
    ) as tail:
        assert tail.stdout is not None
        try:
            eventually(lambda: str(tree / "index.md") in opened_by(tail.pid))
            sh("echo from the mount >> index.md", tree)
            assert tail.stdout.readline() == "from the mount\n"
            path = mount.port_path(tree / "index.md")
            mount.execute("insert", path=path, insertLine=3, text="from the port")
            assert tail.stdout.readline() == "from the port\n"
        finally:
            tail.kill()


def opened_by(pid: int) -> list[str]:
    """What a process has open, by its own list: no question to the mount."""
    return [os.readlink(link) for link in Path(f"/proc/{pid}/fd").iterdir() if link.is_symlink()]


def test_inotify_tells_of_local_changes(tree: Path) -> None:
    from inotify_simple import INotify, flags

    with INotify() as inotify:
        inotify.add_watch(str(tree), flags.CREATE | flags.CLOSE_WRITE | flags.DELETE | flags.MOVED_TO)
        sh("echo x > new.md; mv new.md other.md; rm other.md", tree)
        seen = [(event.name, event.mask) for event in inotify.read(timeout=5000)]
    assert seen == [
        ("new.md", flags.CREATE),
        ("new.md", flags.CLOSE_WRITE),
        ("other.md", flags.MOVED_TO),
        ("other.md", flags.DELETE),
    ]


def test_python_programs_save_in_their_ways(mount: Mounted, here: Path) -> None:
    code = """
import json, os, pathlib, shutil, tempfile
pathlib.Path("a.md").write_text("one\\n")
with open("a.md", "a") as file: print("two", file=file)
with open("b.json", "w") as file: json.dump({"k": [1, 2]}, file)
fd, temporary = tempfile.mkstemp(dir=".")
with open(fd, "w") as file: file.write("atomic")
os.replace(temporary, "c.md")
shutil.copy2("a.md", "d.md")
shutil.move("d.md", "e.md")
with open("f.md", "r+" if os.path.exists("f.md") else "w+") as file:
    file.write("abc"); file.seek(1); file.write("X"); file.truncate()
"""
    run(sys.executable, "-c", code, cwd=here)
    expected = {
        "a.md": "one\ntwo\n",
        "b.json": '{"k": [1, 2]}',
        "c.md": "atomic",
        "e.md": "one\ntwo\n",
        "f.md": "aX",
    }
    assert files(here) == expected == stored(mount, here)

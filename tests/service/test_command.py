"""``memfs service``: what it writes, what it says, and that its removal leaves nothing but the memory."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Shell
from tests.service.manager import Manager

slow = [pytest.mark.slow, pytest.mark.timeout(600)]
UNITS = ".config/systemd/user"


def files(manager: Manager) -> set[str]:
    """Everything in the home but what is the memory's, or a mount's state."""
    found = set(manager("find", ".").done().splitlines())
    return {path for path in found if not path.startswith(("./.local/share", "./.local/state"))}


class TestInstallation:
    pytestmark = slow

    def test_it_mounts_now_and_at_every_login(self, manager: Manager) -> None:
        printed = manager.memfs("service", "install").done()
        assert f"Mounted {manager.inside}/memories;" in printed
        assert manager.is_mounted("memories") == 1
        assert manager("cat", ".config/memfs/default.toml").done() == (
            '# Written by `memfs service install`.\nmountpoint = "~/memories"\n'
        )
        assert manager.systemctl("is-enabled", "memfs@default").done() == "enabled\n"
        assert manager.memfs("mount", "--memory", "default").status == 1, "it is mounted already"
        manager.memfs("service", "remove").done()

    def test_its_options_become_the_configuration(self, manager: Manager) -> None:
        options = ["--store", "sqlite:agent", "--scope", "s", "--mountpoint", "here", "--umask", "027"]
        manager.memfs(
            "service", "install", "opts", *options, "--extensions", ".md,.html", "--read-only"
        ).done()
        assert manager("cat", ".config/memfs/opts.toml").done() == (
            "# Written by `memfs service install`.\n"
            f'mountpoint = "{manager.inside}/here"\n'
            f'store = "sqlite:{manager.inside}/agent"\n'
            'scope = "s"\n'
            'extensions = [".md", ".html"]\n'
            "read_only = true\n"
            'umask = "027"\n'
        )
        assert manager.is_mounted("here") == 1
        shown = manager.memfs("config", "show", "opts", "--json").json["settings"]
        assert shown["read_only"]["value"] is True
        manager.memfs("service", "remove", "opts").done()

    def test_variables_become_the_configuration_too_for_the_service_would_not_see_them(
        self, manager: Manager
    ) -> None:
        set_now = ("env", "MEMFS_STORE=sqlite:agent", "MEMFS_MAX_FILES=9", "MEMFS_MEMORY=vars", "memfs")
        printed = manager(*set_now, "service", "install", "--max-files", "8").done()
        file = f"{manager.inside}/.config/memfs/vars.toml"
        assert f"Wrote {file}, with what MEMFS_STORE said just now.\n" in printed
        assert manager("cat", file).done() == (
            "# Written by `memfs service install`.\n"
            'mountpoint = "~/memories-vars"\n'
            f'store = "sqlite:{manager.inside}/agent"\n'
            "max_files = 8\n"
        )
        manager("sh", "-c", "echo kept >memories-vars/a.md").done()
        assert manager.memfs("view", "--store", "sqlite:agent").done() == "a.md\n"
        sentence = manager(*set_now, "service", "install", "vars").refusal()
        assert sentence.endswith(
            "has another 'max_files' than MEMFS_MAX_FILES says; change it in the file, or unset that."
        )
        manager.memfs("service", "remove", "vars").done()

    def test_a_removal_leaves_nothing_but_the_memory_and_says_where_it_is(self, manager: Manager) -> None:
        before = files(manager)
        manager.memfs("service", "install", "gone", "--scope", "gone").done()
        manager("sh", "-c", "echo kept >memories-gone/a.md").done()
        assert files(manager) > before
        printed = manager.memfs("service", "remove", "gone").done()
        assert files(manager) == before
        assert manager.is_mounted("memories-gone") == 0
        assert manager.systemctl("is-active", "memfs@gone").out == "inactive\n"
        (command,) = (part for part in printed.split("`") if part.startswith("memfs view"))
        assert manager("sh", "-c", command).done() == "a.md\n"
        assert "no service" in manager.memfs("service", "remove", "gone").refusal()

    def test_a_removal_leaves_what_was_there_before_or_was_changed(self, manager: Manager) -> None:
        manager("sh", "-c", "mkdir -p .config/memfs memories-mine").done()
        manager("sh", "-c", "echo 'scope = \"mine\"' >.config/memfs/mine.toml").done()
        before = files(manager)
        manager.memfs("service", "install", "mine").done()
        manager.memfs("service", "remove", "mine").done()
        assert files(manager) == before
        manager.memfs("service", "install", "edited", "--scope", "edited").done()
        manager("sh", "-c", "echo 'max_files = 9' >>.config/memfs/edited.toml").done()
        assert "edited.toml stays" in manager.memfs("service", "remove", "edited").done()
        assert files(manager) - before == {"./.config/memfs/edited.toml"}

    def test_a_unit_that_is_not_as_it_was_written_is_left_alone(self, manager: Manager) -> None:
        before = files(manager)
        unit, foreign = f"{UNITS}/memfs@.service", "[Service]\nExecStart=/bin/true\n"
        manager("sh", "-c", f"mkdir -p {UNITS} && cat >{unit}", text=foreign).done()
        assert "move it away" in manager.memfs("service", "install", "odd", "--scope", "odd").refusal()
        assert manager("cat", unit).done() == foreign
        manager("rm", unit).done()
        manager.memfs("service", "install", "odd", "--scope", "odd").done()
        manager("sh", "-c", f"echo '# mine' >>{unit}").done()
        assert "memfs@.service stays" in manager.memfs("service", "remove", "odd").done()
        assert manager("tail", "-n1", unit).done() == "# mine\n"
        manager("rm", "-r", ".config/systemd").done()
        assert files(manager) - before <= {"./.config"}

    def test_what_does_not_start_leaves_nothing_and_may_be_tried_otherwise(self, manager: Manager) -> None:
        manager("sh", "-c", "mkdir -p full .config; touch full/stray").done()
        before = files(manager)
        tried = manager.memfs("service", "install", "tried", "--scope", "tried", "--mountpoint", "full")
        assert tried.status == 1
        assert "is not empty" in tried.err
        assert files(manager) == before
        assert manager.systemctl("is-enabled", "memfs@tried").status != 0
        manager.memfs("service", "install", "tried", "--scope", "tried").done()
        manager.memfs("service", "remove", "tried").done()

    def test_installing_again_changes_nothing_and_may_not_say_otherwise(self, manager: Manager) -> None:
        manager.memfs("service", "install", "again", "--max-files", "9", "--scope", "again").done()
        before = files(manager)
        printed = manager.memfs("service", "install", "again", "--max-files", "9").done()
        assert "stays as it is" in printed
        assert files(manager) == before
        assert "'max_files'" in manager.memfs("service", "install", "again", "--max-files", "8").refusal()
        assert manager.is_mounted("memories-again") == 1
        manager.memfs("service", "remove", "again").done()

    def test_a_directory_that_was_mounted_by_hand_is_left_alone(self, manager: Manager) -> None:
        manager.memfs("mount", "memories-byhand", "--scope", "byhand").done()
        before = files(manager)
        sentence = manager.memfs("service", "install", "byhand").refusal()
        assert f"`memfs unmount {manager.inside}/memories-byhand`" in sentence
        assert files(manager) == before
        manager.memfs("unmount", "memories-byhand").done()

    def test_directories_of_ones_own_reach_the_service(self, manager: Manager) -> None:
        elsewhere = f"XDG_DATA_HOME={manager.inside}/data 100%"
        manager("env", elsewhere, "memfs", "service", "install", "xdg", "--scope", "xdg").done()
        manager("sh", "-c", "echo kept >memories-xdg/a.md").done()
        assert manager("env", elsewhere, "memfs", "view", "--scope", "xdg").done() == "a.md\n"
        manager("env", elsewhere, "memfs", "service", "remove", "xdg").done()
        assert manager("ls", f"{UNITS}/memfs@xdg.service.d").status != 0

    def test_the_services_there_are_are_listed_with_their_state(self, manager: Manager) -> None:
        assert "No service is installed" in manager.memfs("service", "list").done()
        manager.memfs("service", "install", "up", "--scope", "up").done()
        manager.memfs("service", "install", "down", "--scope", "down").done()
        assert "Stopped" in manager.memfs("service", "stop", "down").done()
        listed = {each["name"]: each for each in manager.memfs("service", "list", "--json").json["services"]}
        assert {name: each["state"] for name, each in listed.items()} == {"up": "active", "down": "inactive"}
        assert listed["up"]["mountpoint"] == f"{manager.inside}/memories-up"
        assert listed["up"]["process"] > 0
        assert "0 of 256 files" in listed["up"]["status"]
        printed = manager.memfs("service", "list").done()
        assert "down            inactive, enabled" in printed
        for verb in ("start", "restart"):
            manager.memfs("service", verb, "down").done()
            assert manager.is_mounted("memories-down") == 1
        for name in ("up", "down"):
            manager.memfs("service", "remove", name).done()

    def test_lingering_is_asked_of_who_may_grant_it(self, manager: Manager) -> None:
        """Here no logind answers; the service runs all the same."""
        sentence = manager.memfs("service", "install", "linger", "--linger", "--scope", "linger").err
        assert "sudo loginctl enable-linger memfs-tester" in sentence
        assert manager.is_mounted("memories-linger") == 1
        manager.memfs("service", "remove", "linger").done()

    def test_uninstalling_leaves_the_memories_and_says_where_they_are(self, manager: Manager) -> None:
        manager.memfs("service", "install", "last", "--scope", "last").done()
        manager("sh", "-c", "echo kept >memories-last/a.md").done()
        manager.memfs("mount", "by-hand", "--scope", "by-hand", "--store", "sqlite:elsewhere").done()
        printed = manager.memfs("uninstall").out
        assert manager.is_mounted("memories-last") == manager.is_mounted("by-hand") == 0
        assert f"sqlite:{manager.inside}/.local/share/memfs/store" in printed
        assert f"sqlite:{manager.inside}/elsewhere" in printed
        assert manager("ls", UNITS).status != 0
        assert manager.memfs("view", "--scope", "last").done() == "a.md\n"


@pytest.mark.parametrize("action", ["install", "remove", "list", "start", "logs"])
def test_without_a_user_manager_a_sentence_says_what_to_do(shell: Shell, action: str) -> None:
    shell.environment["XDG_RUNTIME_DIR"] = str(shell.home)
    shell.environment.pop("DBUS_SESSION_BUS_ADDRESS", None)
    sentence = shell("service", action, "work").refusal()
    assert "No user manager" in sentence
    assert "`memfs mount`" in sentence
    assert [path.name for path in shell.home.rglob("*")] == []

"""What `course doctor` says of filter, user and limits is so on this machine, and says so where it
is not.
"""

import os

import pytest

from autograder.sandbox.api.limits import Limits
from autograder.sandbox.backends import bubblewrap, libseccomp, seccomp
from autograder.sandbox.backends.base import ProcessBackend
from autograder.sandbox.backends.bubblewrap import BubblewrapBackend
from autograder.sandbox.backends.choose import choose_backend
from autograder.sandbox.backends.container import ContainerBackend
from autograder.sandbox.selftest import surroundings


class WithoutWalls(ProcessBackend):
    """A backend that promises to isolate and does nothing of the kind."""

    name, isolates = "bubblewrap", True


@pytest.mark.sandbox
@pytest.mark.parametrize("cold", [False, True])
def test_the_process_inside_is_seen_to_have_given_up_everything(cold):
    words = surroundings.privileges_words(choose_backend("bubblewrap", cold=cold))
    assert "without a capability, with no way to gain one, behind the filter" in words
    if os.geteuid() == 0:
        assert words.startswith("started as root, and root is given up before any student code")
        [user] = [int(part) for part in words.replace(",", "").split() if part.isdigit()]
        assert user >= bubblewrap.FIRST_UID
    else:
        assert words.startswith(f"started as user {os.geteuid()}: ")


def test_a_sandbox_that_gave_nothing_up_is_seen_too():
    words = surroundings.privileges_words(WithoutWalls())
    assert "WITHOUT A FILTER" in words and "WITH A WAY TO GAIN ONE" in words
    if os.geteuid() == 0:
        assert "ROOT IS NOT GIVEN UP" in words and "with capabilities" in words


def test_the_filter_is_named_with_its_size_or_is_missing_with_the_remedy(monkeypatch):
    found = surroundings.filter_words(BubblewrapBackend())
    assert (
        found == seccomp.described()
        and f"{len(seccomp.ALLOWED) + len(seccomp.LOOKED_INTO)} system calls are allowed" in found
    )
    assert surroundings.filter_words(ProcessBackend()).startswith(
        "none"
    ) and "engine" in surroundings.filter_words(ContainerBackend("podman", "i"))
    monkeypatch.setattr(libseccomp, "LIBRARY", "libseccomp.so.of.nowhere")
    for kept in (libseccomp.library, seccomp.program):
        kept.cache_clear()
    try:
        for backend in (BubblewrapBackend(), None):
            assert "apt-get install libseccomp2" in surroundings.filter_words(backend)
    finally:
        monkeypatch.undo()
        for kept in (libseccomp.library, seccomp.program):
            kept.cache_clear()


@pytest.mark.parametrize(
    "mounts, version",
    [
        ("cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n", "version 2"),
        ("tmpfs / tmpfs rw 0 0\n", "none are mounted"),
        (None, "none are mounted"),
        ("cgroup /sys/fs/cgroup/pids cgroup rw,pids 0 0\n", "version 1"),
        (
            (
                "cgroup /sys/fs/cgroup/pids cgroup rw,pids 0 0\ncgroup2 /sys/fs/cgroup/unified"
                " cgroup2 rw 0 0\n"
            ),
            "version 1, with version 2 beside it",
        ),
    ],
)
def test_the_version_of_control_groups_is_read_from_the_mounts(tmp_path, mounts, version):
    if mounts is not None:
        (tmp_path / "mounts").write_text(mounts)
    assert surroundings.groups_version(str(tmp_path / "mounts")) == version
    assert surroundings.groups_words(BubblewrapBackend(), str(tmp_path / "mounts")).startswith(
        f"{version}. The sandbox uses none"
    )


def test_limits_are_named_by_who_keeps_them():
    limits = Limits()
    words = surroundings.limits_words(BubblewrapBackend())
    assert (
        f"{limits.memory >> 20:,} MiB beyond what torch maps" in words
        and f"{limits.processes} processes" in words
    )
    assert f"{limits.tree_memory >> 20:,} MiB" in words
    assert "by the engine" in surroundings.limits_words(ContainerBackend("podman", "i"))
    assert "are not counted" in surroundings.limits_words(ProcessBackend())


def test_without_a_backend_everything_that_can_be_said_is_said():
    found = surroundings.surroundings(None)
    assert found.keys() == {"filter", "privileges", "groups", "limits"} and all(found.values())

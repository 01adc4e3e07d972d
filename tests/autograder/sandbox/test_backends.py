"""How a worker is started: what is visible inside, as whom, and the command line of the container
backend.
"""

import os
import shutil
import stat
import subprocess
import sys
import sysconfig
from dataclasses import replace
from pathlib import Path

import pytest

import autograder
from autograder.sandbox import Cell, Limits, open_student
from autograder.sandbox.backends.base import (
    Backend,
    Launch,
    ProcessBackend,
    base_python,
    site_folders,
    worker_command,
)
from autograder.sandbox.backends.bubblewrap import BubblewrapBackend
from autograder.sandbox.backends.container import ContainerBackend
from autograder.sandbox.backends.rootfs import binds
from autograder.sandbox.backends.stage import WORKER_FILES, stage
from autograder.sandbox.backends.warm import WarmBackend
from autograder.sandbox.selftest.attempts import ESCAPED, HELD, UNTRIED, Outcome, all_attempts
from autograder.sandbox.selftest.doctor import Diagnosis

REPOSITORY = Path(autograder.__file__).parents[1]
LOOK = """
import os, sys
def modules():
    return sorted(n for n in sys.modules if n.startswith(("autograder", "reference_impl")))
def everything():
    found = []
    for folder, inner, names in os.walk("/"):
        inner[:] = [n for n in inner if not os.path.join(folder, n).startswith(SKIP)]
        found += [os.path.join(folder, n) for n in names]
    return found
def who():
    return [list(os.getresuid()), list(os.getresgid()), os.getgroups(), os.uname().nodename,
            sorted(os.environ)]
def writable():
    folders = [line.split()[1] for line in open("/proc/mounts")]
    folders += ["/", "/course", "/etc", os.path.dirname(os.__file__)]
    return sorted({f for f in folders if os.path.isdir(f) and os.access(f, os.W_OK)})
"""


@pytest.fixture(scope="module", params=[BubblewrapBackend(), WarmBackend()], ids=["cold", "warm"])
def looker(request):
    skipped = ("/proc", "/usr", "/packages", str(Path(base_python()).parents[1]))
    with open_student(
        [Cell("a", f"SKIP = {skipped!r}\n{LOOK}")], backend=request.param, warm=()
    ) as student:
        assert student.cell_errors == []
        yield student


@pytest.mark.sandbox
def test_besides_python_packages_and_system_only_the_stage_is_visible(looker):
    allowed = {"/etc/passwd", "/etc/group", "/etc/ld.so.cache", "/etc/localtime"}
    strangers = {
        path
        for path in looker.everything()
        if not path.startswith(("/course/", "/dev/", "/lib", "/bin/", "/sbin/"))
    }
    assert strangers <= allowed


@pytest.mark.sandbox
def test_student_code_is_nobody_with_an_environment_of_ours(looker):
    users, groups, more, host, variables = looker.who()
    assert (
        len(set(users)) == 1
        and 0 not in users + groups
        and os.getuid() not in users
        and host == "sandbox"
    )
    assert set(more) <= {65534} and not set(variables) & {
        "PYTHONPATH",
        "SSH_AUTH_SOCK",
        "XDG_RUNTIME_DIR",
        "LOGNAME",
    }


@pytest.mark.sandbox
def test_only_two_small_places_in_memory_can_be_written(looker):
    assert set(looker.writable()) <= {"/tmp", "/dev/shm", "/dev/pts"}


@pytest.mark.sandbox
def test_the_worker_loads_exactly_the_files_that_the_stage_lists():
    with open_student([Cell("a", LOOK)], backend=BubblewrapBackend()) as student:
        student.who()
        loaded = student.modules()
    listed = {
        f"autograder/{name}".removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        for name in WORKER_FILES
    }
    assert set(loaded) == listed


def test_no_bind_shows_the_repository_or_a_home():
    command = binds(stage())
    sources = [
        Path(command[i + 1]) for i, word in enumerate(command) if word.startswith("--ro-bind")
    ]
    packages = {Path(sysconfig.get_path("purelib")).resolve(), Path(base_python()).parents[1]}
    for source in sources:
        assert (
            source in packages
            or not REPOSITORY.is_relative_to(source)
            and not source.is_relative_to(REPOSITORY)
        )
        assert not Path.home().is_relative_to(source) and source != Path("/")
    assert not any(word in ("--bind", "--dev-bind", "--share-net") for word in command)


def test_an_ordinary_install_of_this_course_is_hidden(tmp_path):
    (tmp_path / "reference_impl").mkdir()
    command = binds(stage(), sites=[tmp_path])
    assert command[command.index("/packages/0/reference_impl") - 1] == "--tmpfs"


def test_a_container_gets_no_network_no_user_no_host_folder_but_the_stage():
    launch = ContainerBackend("podman", "image:1").launch(
        stage(), Limits(tmp=5, tree_memory=7, processes=3), ("torch",), 8, 9
    )
    text = " ".join(launch.command)
    for part in (
        "podman run --rm",
        "--network none",
        "--read-only",
        "--cap-drop ALL",
        "--security-opt no-new-privileges",
        "--user 65534:65534",
        "--pids-limit 3",
        "--memory 7",
        "--memory-swap 7",
        "--pull never",
        "size=5,",
    ):
        assert part in text
    mounts = [
        launch.command[i + 1]
        for i, word in enumerate(launch.command)
        if word in ("--volume", "-v", "--mount")
    ]
    assert mounts == [f"{stage()}:/course:ro"] and "--privileged" not in text
    image = launch.command.index("image:1")
    assert (
        launch.command[image + 1 : image + 4] == ["python3", "-I", "-B"]
        and '"read": 0, "write": 1' in launch.command[-1]
    )
    assert (
        launch.stop[:3] == ("podman", "rm", "--force")
        and launch.stop[3] in launch.command
        and launch.stdio
    )


class OverStdio(ProcessBackend):
    """The pipe as standard input and output, as in a container, in a process here."""

    def launch(self, stage, limits, warm, read, write):
        return Launch(
            worker_command(stage, limits, warm, 0, 1, sites=site_folders(), count_processes=False),
            (),
            dict(os.environ),
            stdio=True,
        )


def test_the_pipe_works_as_standard_input_and_output_whatever_is_printed():
    code = (
        "import os\nprint('hello')\nos.write(1, b'noise')\ndef f(x): os.system('echo noise');"
        " print(x); return x + 1"
    )
    with open_student([Cell("a", code)], backend=OverStdio(), warm=()) as student:
        assert student.f(1) == 2 and student.printed == "hello\n1\n"


def test_a_worker_that_cannot_start_is_our_error_with_what_it_said():
    class Broken(Backend):
        def launch(self, stage, limits, warm, read, write):
            return Launch(
                [sys.executable, "-c", "import sys; sys.exit('no such luck')"], (read, write), {}
            )

    from autograder.common.errors import CourseError

    refused = pytest.raises(CourseError, match="did not start(.|\n)*no such luck")
    with refused, open_student([], backend=Broken(), warm=()):
        raise AssertionError("it started")


def outcomes(*states):
    return Diagnosis("b", "t", "", [Outcome("name", "tries", state, "") for state in states])


def test_exit_codes_say_held_escaped_or_no_isolation():
    assert outcomes(HELD, HELD).exit_code == 0
    assert (
        outcomes(HELD, ESCAPED).exit_code == 1
        and "1 of 2 attempts escaped" in outcomes(HELD, ESCAPED).verdict
    )
    assert outcomes(HELD, UNTRIED).exit_code == 1
    assert Diagnosis("none", "none", "Install bubblewrap.", []).exit_code == 2


def test_a_machine_that_holds_everything_and_grades_wrong_is_not_recommended():
    found = replace(outcomes(HELD, HELD), graded_wrong=["the perfect notebook, 01.ppmi: 0 points"])
    assert (
        found.exit_code == 1
        and "does not grade right" in found.verdict
        and "You can grade" not in found.verdict
    )
    too_busy = replace(found, ran_out=True)
    assert too_busy.exit_code == 1 and "does not grade right" not in too_busy.verdict
    assert "the time ran out before notebooks" in too_busy.verdict


@pytest.mark.sandbox
def test_without_bubblewrap_the_doctor_says_what_to_install():
    hide = ["bwrap", "--dev-bind", "/", "/", "--ro-bind", "/dev/null", shutil.which("bwrap")]
    done = subprocess.run(
        [*hide, sys.executable, "-m", "course.cli", "doctor"],
        capture_output=True,
        text=True,
        cwd=REPOSITORY,
    )
    assert (
        done.returncode == 2
        and "apt-get install bubblewrap" in done.stdout
        and "refused" in done.stdout
    )


def reachable_python():
    """An interpreter that user nobody may execute, of this version, because our packages are built
    for it.
    """
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for path in (base_python(), f"/usr/bin/{version}", f"/usr/local/bin/{version}"):
        folders = [Path(path), *Path(path).parents]
        if all(folder.exists() and folder.stat().st_mode & stat.S_IXOTH for folder in folders):
            return path
    return None


@pytest.mark.sandbox
def test_an_ordinary_users_sandbox_holds_too():
    if os.geteuid() != 0:
        pytest.skip("not root, so every other test here already runs as an ordinary user")
    python = reachable_python()
    if python is None:
        pytest.skip(
            "no Python that an ordinary user may execute: install python3 of this version to test"
            " their sandbox"
        )
    home = Path("/tmp") / f"w2s-home-{os.getpid()}"
    home.mkdir(mode=0o777)
    home.chmod(0o777)
    path = os.pathsep.join(map(str, [REPOSITORY, *site_folders()]))
    done = subprocess.run(
        [
            "setpriv",
            "--reuid",
            "65533",
            "--regid",
            "65533",
            "--clear-groups",
            "env",
            "-i",
            f"HOME={home}",
            f"PYTHONPATH={path}",
            "PATH=/usr/bin:/bin",
            "OMP_NUM_THREADS=1",
            python,
            "-m",
            "course.cli",
            "doctor",
        ],
        capture_output=True,
        text=True,
        cwd=home,
    )
    home.rmdir()
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert {line.split()[1] for line in lines if line.startswith("held ")} == set(all_attempts())
    assert (
        "Privileges: started as user 65533: student code is the same user outside and nobody"
        " inside, without a capability" in done.stdout
    )
    assert (
        "System calls: " in lines[1]
        and " system calls are allowed" in lines[1]
        and "Control groups: " in done.stdout
    )
    assert f"All {len(all_attempts())} attempts were held" in lines[-1]

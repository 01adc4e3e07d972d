"""Set-up swaps environments whole, follows a folder that was moved, and can be taken away again.

The real programs run on a tiny project whose packages are made here, so that no index is asked.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BACKEND = """
import os, zipfile
def _wheel(folder):
    name = "tiny_course-1-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(folder, name), "w") as wheel:
        wheel.writestr("tiny_course.pth", os.getcwd())
        wheel.writestr("tiny_course-1.dist-info/METADATA",
                       "Metadata-Version: 2.1\\nName: tiny-course\\nVersion: 1\\n")
        wheel.writestr("tiny_course-1.dist-info/WHEEL",
                       "Wheel-Version: 1.0\\nGenerator: t\\nRoot-Is-Purelib: true\\n"
                       "Tag: py3-none-any\\n")
        wheel.writestr("tiny_course-1.dist-info/RECORD", "")
    return name
def build_wheel(folder, config_settings=None, metadata_directory=None): return _wheel(folder)
def build_editable(folder, config_settings=None, metadata_directory=None): return _wheel(folder)
"""


def put_wheel(folder: Path, version: str) -> None:
    """A wheel of `tinytool` with one console script that prints its version."""
    folder.mkdir(exist_ok=True)
    info = f"tinytool-{version}.dist-info"
    with zipfile.ZipFile(folder / f"tinytool-{version}-py3-none-any.whl", "w") as wheel:
        wheel.writestr("tinytool.py", f"def main():\n    print('tinytool {version}')\n")
        wheel.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: tinytool\nVersion: {version}\n"
        )
        wheel.writestr(
            f"{info}/WHEEL",
            "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        wheel.writestr(f"{info}/entry_points.txt", "[console_scripts]\ntinytool = tinytool:main\n")
        wheel.writestr(f"{info}/RECORD", "")


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Path:
    """A checkout with the real bootstrap, a lock of one package, and its environment made once."""
    folder = tmp_path_factory.mktemp("set-up") / "checkout"
    (folder / "course").mkdir(parents=True)
    for name in ("bootstrap.py", "uninstall.py"):
        shutil.copy(ROOT / "course" / name, folder / "course" / name)
    (folder / "tiny_backend.py").write_text(BACKEND)
    (folder / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "tiny_backend"\n'
        'backend-path = ["."]\n[project]\nname = "tiny-course"\nversion = "1"\n'
    )
    (folder / "requirements.lock").write_text("tinytool==1\n")
    put_wheel(folder.parent / "wheels", "1")
    put_wheel(folder.parent / "wheels", "2")
    made = set_up(folder)
    assert made.returncode == 0, made.stdout + made.stderr
    return folder


def set_up(folder: Path, **settings: str) -> subprocess.CompletedProcess:
    """Run the real set-up, with pip's own settings pointing at the wheels made here."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PIP_", "PYTHON", "W2S_"))
    }
    environment |= {
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(folder.parent / "wheels"),
        "PIP_CONFIG_FILE": os.devnull,
        "PATH": os.environ["PATH"],
        **settings,
    }
    return subprocess.run(
        [sys.executable, "course/bootstrap.py"],
        cwd=folder,
        env=environment,
        text=True,
        capture_output=True,
    )


def says(folder: Path) -> str:
    """What the installed script prints, run by its own first line."""
    return subprocess.run(
        [folder / ".venv" / "bin" / "tinytool"], capture_output=True, text=True, check=True
    ).stdout.strip()


def test_a_second_set_up_says_and_does_nothing(project):
    before = (project / ".venv" / "word2serve-setup").stat().st_mtime_ns
    again = set_up(project)
    assert (again.returncode, again.stdout) == (0, "")
    assert (project / ".venv" / "word2serve-setup").stat().st_mtime_ns == before and says(
        project
    ) == "tinytool 1"


def test_other_settings_of_linters_and_tests_make_no_new_environment(project):
    path = project / "pyproject.toml"
    before = path.read_text()
    path.write_text(before + "[tool.ruff]\nline-length = 99\n")
    try:
        assert set_up(project).stdout == ""
        path.write_text(before.replace('version = "1"', 'version = "2"'))
        assert "pyproject.toml" in set_up(project).stdout
    finally:
        path.write_text(before)
        assert set_up(project).returncode == 0


@pytest.fixture
def bootstrap(tmp_path, monkeypatch):
    """The set-up as a module, which logs into a folder of the test and runs nothing: its commands
    are kept in `commands`.
    """
    spec = importlib.util.spec_from_file_location("bootstrap", ROOT / "course" / "bootstrap.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "LOG", tmp_path / "setup.log")
    module.commands = []
    monkeypatch.setattr(
        module, "run_logged", lambda command, environment=None: module.commands.append(command) or 0
    )
    monkeypatch.setattr(
        module, "make_environment", lambda python: module.commands.append(["environment"])
    )
    monkeypatch.setattr(module, "is_debian", lambda: True)
    return module


def run_as(bootstrap, monkeypatch, uid: int, there: set[str], *arguments: str) -> list[list[str]]:
    """What set-up runs for this user where only `there` is there."""
    monkeypatch.setattr(os, "geteuid", lambda: uid)
    monkeypatch.setattr(bootstrap, "is_there", there.__contains__)
    monkeypatch.setattr(sys, "argv", ["bootstrap.py", *arguments])
    bootstrap.main()
    return bootstrap.commands


@pytest.mark.parametrize(
    "there, missing",
    [
        (set(), ["bubblewrap", "libseccomp2", "chromium"]),
        ({"bwrap", "google-chrome"}, ["libseccomp2"]),
        ({"bwrap", "chromium", "libseccomp.so.2"}, []),
    ],
)
def test_as_root_on_debian_set_up_installs_what_grading_and_the_book_lack_and_nothing_of_the_tests(
    bootstrap, monkeypatch, there, missing
):
    installs = (
        [["apt-get", "update"], ["apt-get", "install", "-y", "--no-install-recommends", *missing]]
        if missing
        else []
    )
    assert run_as(bootstrap, monkeypatch, 0, there) == [*installs, ["environment"]]


def test_before_the_tests_it_installs_what_only_they_need_and_makes_no_environment(
    bootstrap, monkeypatch
):
    done = run_as(bootstrap, monkeypatch, 0, {"/usr/lib/postgresql/*/bin/initdb"}, "--tests")
    assert done == [
        ["apt-get", "update"],
        ["apt-get", "install", "-y", "--no-install-recommends", "faketime"],
    ]


def test_a_user_is_told_the_command_and_set_up_goes_on(bootstrap, monkeypatch, capsys):
    assert run_as(bootstrap, monkeypatch, 1000, {"bwrap"}) == [["environment"]]
    assert "sudo apt-get install libseccomp2 chromium" in capsys.readouterr().out
    assert run_as(bootstrap, monkeypatch, 1000, set(), "--tests") == [["environment"]]
    assert "sudo apt-get install postgresql faketime" in capsys.readouterr().out


def test_what_cannot_be_installed_is_said_and_set_up_goes_on(bootstrap, monkeypatch, capsys):
    monkeypatch.setattr(bootstrap, "run_logged", lambda command, environment=None: 100)
    assert run_as(bootstrap, monkeypatch, 0, {"bwrap", "chromium"}) == [["environment"]]
    said = capsys.readouterr().out
    assert "`apt-get update` failed" in said and "going on without libseccomp2" in said


def test_programs_libraries_and_files_are_found_where_they_are(bootstrap, tmp_path):
    (tmp_path / "12").mkdir()
    (tmp_path / "12" / "initdb").touch()
    assert bootstrap.is_there("sh") and bootstrap.is_there(f"{tmp_path}/*/initdb")
    assert not any(
        map(bootstrap.is_there, ("no-such-program", "libnosuchthing.so.7", f"{tmp_path}/*/pg_ctl"))
    )
    if sys.platform == "linux":
        assert bootstrap.is_there("libc.so.6")


def test_readme_and_make_name_what_set_up_may_install(bootstrap):
    needs = (ROOT / "README.md").read_text().split("## What it needs")[1].split("\n## ")[0].lower()
    assert [
        name for name in (*bootstrap.SYSTEM_PACKAGES, *bootstrap.TEST_PACKAGES) if name not in needs
    ] == []
    made = (ROOT / "Makefile").read_text()
    assert "test: course test-deps\n" in made and "course/bootstrap.py --tests" in made


def test_large_packages_are_named_with_their_size_where_no_terminal_is(bootstrap, tmp_path):
    text = (
        "Collecting torch==2.13.0\n  Downloading torch-2.13.0-cp311-cp311-linux_x86_64.whl (197.9"
        " MB)\nProcessing /wheels/numpy-2.3.1-cp311-cp311-linux_x86_64.whl (from -r"
        " requirements.lock (line 3))\nInstalling collected packages: a, b, torch\n  Downloading"
        " half-of-a-li"
    )
    (tmp_path / "setup.log").write_text(text)
    lines, position = bootstrap.progress_since(0)
    assert lines == [
        "torch 2.13.0 (197.9 MB)",
        "numpy 2.3.1",
        "installing all 3 packages into the environment",
    ]
    assert text[position:] == "  Downloading half-of-a-li", (
        "an unfinished line is read again when it is whole"
    )


def test_an_install_that_fails_leaves_the_old_environment_working_and_says_what_pip_said(project):
    lock = project / "requirements.lock"
    lock.write_text("tinytool==3\n")
    failed = set_up(project)
    assert failed.returncode != 0 and "tinytool==3" in failed.stderr
    assert "requirements.lock changed" in failed.stdout and says(project) == "tinytool 1"
    lock.write_text("tinytool==1\n")
    assert set_up(project).stdout == "", (
        "what failed must not have touched the environment that was there"
    )


def test_a_set_up_killed_between_the_two_steps_of_the_swap_is_mended_by_the_next(project):
    (project / ".venv").rename(project / ".venv.old")
    again = set_up(project)
    assert (
        again.returncode == 0
        and says(project) == "tinytool 1"
        and not (project / ".venv.old").exists()
    )


def test_a_copied_folder_runs_its_own_code_without_installing_the_packages_again(project, tmp_path):
    copy = tmp_path / "copy-of-the-course"
    shutil.copytree(project, copy, symlinks=True)
    shutil.copytree(project.parent / "wheels", copy.parent / "wheels")
    (
        copy.parent / "wheels" / "tinytool-1-py3-none-any.whl"
    ).unlink()  # a second install of it could not succeed
    moved = set_up(copy)
    assert moved.returncode == 0 and "moved or copied" in moved.stdout, moved.stdout + moved.stderr
    script = (copy / ".venv" / "bin" / "tinytool").read_text()
    assert str(copy) in script and str(project) not in script and says(copy) == "tinytool 1"
    where = subprocess.run(
        [copy / ".venv" / "bin" / "python", "-c", "import sys; print(*sys.path, sep='\\n')"],
        capture_output=True,
        text=True,
        cwd="/",
    ).stdout
    assert str(copy) in where.splitlines() and str(project) not in where.splitlines()


@pytest.mark.parametrize("name", ["with a space", "long/" * 30], ids=["space", "long"])
def test_a_folder_whose_name_fits_no_first_line_of_a_script_gets_scripts_that_run(
    project, tmp_path, name
):
    copy, wheels = tmp_path / name / "course", str(project.parent / "wheels")
    shutil.copytree(project, copy, symlinks=True)
    made = set_up(copy, PIP_FIND_LINKS=wheels)
    assert made.returncode == 0 and "has a space now or is very long" in made.stdout, (
        made.stdout + made.stderr
    )
    assert says(copy) == "tinytool 1" and set_up(copy, PIP_FIND_LINKS=wheels).stdout == ""


def test_everybody_may_read_the_packages_although_new_files_are_private_here(project, tmp_path):
    copy, before = tmp_path / "course", os.umask(0o077)
    try:
        shutil.copytree(project, copy, ignore=shutil.ignore_patterns(".venv"))
        made = set_up(copy, PIP_FIND_LINKS=str(project.parent / "wheels"))
    finally:
        os.umask(before)
    packages = next((copy / ".venv").glob("lib/*/site-packages"))
    assert made.returncode == 0 and packages.stat().st_mode & 0o005 == 0o005
    assert (packages / "tinytool.py").stat().st_mode & 0o004


def test_a_changed_lock_brings_the_new_packages(project):
    (project / "requirements.lock").write_text("tinytool==2\n")
    made = set_up(project)
    assert made.returncode == 0 and "requirements.lock changed" in made.stdout
    assert (
        says(project) == "tinytool 2"
        and not (project / ".venv.new").exists()
        and not (project / ".venv.old").exists()
    )


def test_uninstall_removes_what_set_up_made_and_keeps_work_and_grades(project):
    for name in ("mywork", "class"):
        (project / name).mkdir()
        (project / name / "precious").write_text("mine")
    done = subprocess.run(
        [sys.executable, "course/uninstall.py"],
        cwd=project,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "W2S_CACHE": "/somebody/elses/folder"},
    )
    assert (
        done.returncode == 0
        and f"{project}/.venv" in done.stdout
        and "/somebody/elses/folder" in done.stdout
    )
    assert not (project / ".venv").exists() and not (project / "_build").exists()
    assert all((project / name / "precious").read_text() == "mine" for name in ("mywork", "class"))

"""What of this machine is visible in a sandbox, read-only, and under which name.

The installed packages and the stage appear at fixed places of our own, wherever the checkout
lies: each fork of a warm sandbox gets a new, empty /tmp and /dev/shm, and a checkout below one of
them would vanish. The interpreter keeps its name, because shared libraries are often found by it,
unless its place is one that the sandbox needs for itself.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import autograder
from autograder.sandbox.backends.base import base_python, site_folders
from autograder.sandbox.backends.stage import hidden_packages

STAGE, PACKAGES, PYTHON = "/course", "/packages", "/python"
# A folder of the machine below one of these cannot keep its name inside.
TAKEN = (STAGE, PACKAGES, PYTHON, "/tmp", "/dev", "/proc", "/etc")
CHECKOUT = Path(autograder.__file__).resolve().parents[1]
LOCAL = Path("/usr/local")


def packages_inside(sites: Sequence[Path] | None = None) -> list[str]:
    """The names that folders of installed packages have inside; default, this interpreter's."""
    return [
        f"{PACKAGES}/{number}"
        for number, _ in enumerate(site_folders() if sites is None else sites)
    ]


def python_inside() -> str:
    """The interpreter's name inside."""
    python = Path(base_python())
    return str(_place(python.parents[1]) / python.relative_to(python.parents[1]))


def binds(stage: Path, sites: Sequence[Path] | None = None) -> list[str]:
    """The options of bwrap that show Python, the packages, the system's libraries and the stage.

    sites: the folders of the installed packages; default, this interpreter's.
    """
    sites = site_folders() if sites is None else sites
    command = [*_system(), *_interpreter(), "--perms", "0755", "--dir", PACKAGES]
    hidden = hidden_packages(stage) if (stage / "withheld_names.py").exists() else []
    for site, name in zip(sites, packages_inside(sites), strict=True):
        command += ["--ro-bind", str(site), name]
        for place in [name, str(site)] if _keeps_its_name(site) else [name]:
            command += _without_ours(site, place, hidden)
    if _keeps_its_name(
        CHECKOUT
    ):  # below /usr or the interpreter's folder: the answers and checks lie there
        command += _empty(str(CHECKOUT))
    command += [
        "--perms",
        "0755",
        "--dir",
        "/etc",
        "--ro-bind-try",
        "/etc/ld.so.cache",
        "/etc/ld.so.cache",
        "--ro-bind-try",
        "/etc/localtime",
        "/etc/localtime",
    ]
    return [*command, "--ro-bind", str(stage), STAGE]


def _system() -> list[str]:
    """/usr, and the links or folders beside it that programs and libraries are found by."""
    command = []
    for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        path = Path("/", name)
        if path.is_symlink():
            command += ["--symlink", os.readlink(path), str(path)]
        elif path.is_dir():
            command += ["--ro-bind", str(path), str(path)]
    command += ["--ro-bind", "/usr", "/usr"]
    if not _local_is_needed():  # what the machine's owner put there is nobody's business
        command += _empty(str(LOCAL))
    return command


def _interpreter() -> list[str]:
    """The folders of the interpreter and its standard library, where they are not below /usr."""
    command, made = [], {Path("/", name) for name in ("", "usr", "etc", "tmp", "dev", "proc")}
    folders = [folder for folder in _base_folders() if not folder.is_relative_to("/usr")]
    places = [_place(folder) for folder in folders]
    for folder, place in zip(folders, places, strict=True):
        for parent in reversed(place.parents):
            # bubblewrap makes missing parents with mode 700; the user inside must pass them.
            if parent not in made and not any(parent.is_relative_to(other) for other in places):
                command += ["--perms", "0755", "--dir", str(parent)]
                made.add(parent)
        command += ["--ro-bind", str(folder), str(place)]
        if place != folder:  # its own library may be looked for under the name that it had
            command += ["--setenv", "LD_LIBRARY_PATH", f"{place}/lib"]
    return command


def _without_ours(site: Path, place: str, hidden: Sequence[str]) -> list[str]:
    """Options that hide this course and withheld packages in a folder of packages at `place`."""
    command = []
    for ours in ("autograder", "reference_impl"):
        if (site / ours).is_dir():  # an install that is not editable would bring the answers in
            command += _empty(f"{place}/{ours}")
    for package in hidden:
        for path in (site / package, site / f"{package}.py", *site.glob(f"{package}.*.so")):
            if path.is_dir():
                command += _empty(f"{place}/{path.name}")
            elif path.is_file():
                command += ["--ro-bind", "/dev/null", f"{place}/{path.name}"]
    return command


def _empty(folder: str) -> list[str]:
    """Hide a folder behind an empty one that cannot be written to."""
    return ["--perms", "0755", "--tmpfs", folder, "--remount-ro", folder]


def _place(folder: Path) -> Path:
    """Where a folder of the interpreter appears inside."""
    if any(folder.is_relative_to(taken) for taken in TAKEN):
        return Path(PYTHON, str(_base_folders().index(folder)))
    return folder


def _keeps_its_name(path: Path) -> bool:
    """Whether something is visible under its own name, because it lies in a folder that is."""
    if path.is_relative_to(LOCAL) and not _local_is_needed():
        return False
    return any(
        path.is_relative_to(folder)
        for folder in ("/usr", *_base_folders())
        if _place(Path(folder)) == Path(folder)
    )


def _local_is_needed() -> bool:
    return any(folder.is_relative_to(LOCAL) for folder in _base_folders())


def _base_folders() -> list[Path]:
    """Where the interpreter and its standard library live, if that is not /usr."""
    candidates = {
        Path(sys.base_prefix).resolve(),
        Path(sys.base_exec_prefix).resolve(),
        Path(base_python()).parents[1],
    }
    return sorted(path for path in candidates if path != Path("/usr"))

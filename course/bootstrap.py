"""Set-up, with nothing but the standard library: system packages, .venv, the locked install.

Run by the Makefile as `python3 course/bootstrap.py`; with `--tests`, before the tests, it brings
what only they need of the system, and nothing else. A second run does nothing unless
requirements.lock, what pyproject.toml says of the package, the interpreter or the folder's place
changed. A new environment is built in .venv.new and takes the place of .venv only when it is whole:
an interrupted set-up leaves what there was. pip's own settings (an index, a proxy, a cache) hold.
It does not fetch data (`course download-data` does) and builds no page.
"""

import ctypes
import glob
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
NEW = ROOT / ".venv.new"
OLD = ROOT / ".venv.old"
STAMP = "word2serve-setup"  # a file in the environment: what it was made from, and where
LOG = ROOT / "_build" / "setup.log"
OLDEST, NEWEST = (3, 11), (3, 14)
# What the sandbox and the browser tests need, and what only tests do: by Debian package any one of
# these programs, libraries or files.
SYSTEM_PACKAGES = {
    "bubblewrap": ("bwrap",),
    "libseccomp2": ("libseccomp.so.2",),
    "chromium": ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"),
}
TEST_PACKAGES = {
    "postgresql": ("initdb", "/usr/lib/postgresql/*/bin/initdb"),
    "faketime": ("/usr/lib/*/faketime/libfaketime.so.1",),
}
LONGEST_FIRST_LINE = 127  # bytes: what pip takes as the kernel's limit for "#!" and a path
FOR_WHAT = "Grading others' work and the browser tests need them"
FOR_TESTS = "Without them some tests of a class's gradebook and of due dates are skipped"


def say(text: str) -> None:
    """One line of progress, at once also where stdout is a pipe."""
    print(text, flush=True)


def fail(text: str) -> NoReturn:
    """Stop with exit code 2 and a message that names the remedy."""
    sys.exit(f"set-up: {text}")


def find_python() -> str:
    """This interpreter if its version will do, else the newest python3.x on PATH that will."""
    if OLDEST <= sys.version_info[:2] <= NEWEST:
        return sys.executable
    for minor in range(NEWEST[1], OLDEST[1] - 1, -1):
        found = shutil.which(f"python3.{minor}")
        if found and subprocess.run([found, "-c", ""], capture_output=True).returncode == 0:
            return found
    fail(
        f"Python 3.{OLDEST[1]} to 3.{NEWEST[1]} is needed, this is {sys.version.split()[0]}. "
        "Install one of them, or name it: make course PYTHON=/path/to/python3.12"
    )


def is_debian() -> bool:
    """Debian, Ubuntu and what is derived from them."""
    release = Path("/etc/os-release")
    return (
        release.exists()
        and "debian" in release.read_text().lower()
        and shutil.which("apt-get") is not None
    )


def is_there(wanted: str) -> bool:
    """Whether this machine has a program, a library (with ".so" in its name) or a file (a pattern
    that begins with "/").
    """
    if wanted.startswith("/"):
        return bool(glob.glob(wanted))
    if ".so" not in wanted:
        return shutil.which(wanted) is not None
    try:
        ctypes.CDLL(wanted)
    except OSError:
        return False
    return True


def install_system_packages(packages: dict[str, tuple[str, ...]], for_what: str) -> None:
    """As root on Debian install what is missing; elsewhere say which command does, and go on
    without it.
    """
    missing = [package for package, any_of in packages.items() if not any(map(is_there, any_of))]
    if not missing:
        return
    if is_debian() and os.geteuid() == 0:
        say(f"set-up: installing system packages: {' '.join(missing)}")
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for command in (
            ["apt-get", "update"],
            ["apt-get", "install", "-y", "--no-install-recommends", *missing],
        ):
            if run_logged(command, environment) != 0:
                say(
                    f"set-up: `{' '.join(command)}` failed (see {LOG}); going on without"
                    f" {' '.join(missing)}. {for_what}"
                )
                return
        return
    remedy = (
        f"sudo apt-get install {' '.join(missing)}"
        if is_debian()
        else "see the README, 'What it needs'"
    )
    say(f"set-up: not found: {' '.join(missing)}. {for_what}: {remedy}")


def run_logged(command: list[str], environment: dict[str, str] | None = None) -> int:
    """Run a command, keep what it prints in LOG, and show that it lives: the seconds and what pip
    is at.

    A terminal gets one line that changes; anything else gets a line for each large package and one
    a minute.
    """
    LOG.parent.mkdir(exist_ok=True)
    with LOG.open("a") as log:
        log.write(f"\n$ {' '.join(command)}\n")
        log.flush()
        seen = LOG.stat().st_size
        process = subprocess.Popen(
            command, stdout=log, stderr=subprocess.STDOUT, env=environment, cwd=ROOT
        )
        started, shown = time.monotonic(), 0
        while process.poll() is None:
            time.sleep(0.2)
            seconds = int(time.monotonic() - started)
            news, seen = progress_since(seen)
            if sys.stdout.isatty():
                if news or seconds > shown:
                    at = news[-1] if news else ""
                    print(f"\r\033[K  {seconds} s  {at[:100]}", end="", flush=True)
                    shown = seconds
                continue
            for line in news:
                if line.startswith("installing all") or re.search(
                    r"\(\d\d+(\.\d)? MB\)|GB\)", line
                ):
                    say(f"  {line}")
            if seconds >= shown + 60:
                say(f"  still working, {seconds} s")
                shown = seconds
        if sys.stdout.isatty() and shown:
            print("\r\033[K", end="", flush=True)
        return process.returncode


def progress_since(position: int) -> tuple[list[str], int]:
    """What pip has said in LOG since a byte position, a line for each package; and the position
    afterwards.
    """
    with LOG.open("rb") as log:
        log.seek(position)
        text = log.read()
    whole = text[: text.rfind(b"\n") + 1]
    lines = []
    for line in whole.decode(errors="replace").splitlines():
        if found := re.match(r"\s*Downloading (?:\S*/)?([\w.]+)-(\d[^-]*)-\S+ \(([^)]+)\)", line):
            lines.append(f"{found[1]} {found[2]} ({found[3]})")
        elif found := re.match(
            r"(?:Processing|\s*Using cached) (?:\S*/)?([\w.]+)-(\d[^-]*)-\S+", line
        ):
            lines.append(f"{found[1]} {found[2]}")
        elif line.startswith("Installing collected packages"):
            lines.append(f"installing all {line.count(',') + 1} packages into the environment")
    return lines, position + len(whole)


def contents(python: str) -> dict[str, str]:
    """What an environment is made from; it is made anew when one of these changes."""
    version = subprocess.run([python, "-VV"], capture_output=True, text=True).stdout
    lock = (ROOT / "requirements.lock").read_bytes()
    return {
        "requirements.lock": hashlib.sha256(lock).hexdigest(),
        "pyproject.toml": hashlib.sha256(packaging().encode()).hexdigest(),
        "the Python interpreter": version.strip(),
    }


def packaging() -> str:
    """The part of pyproject.toml that an environment is made from: not the settings of ruff and
    pytest.
    """
    import tomllib  # not in a Python that is too old, which is told so first

    table = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    kept = {name: table.get(name) for name in ("build-system", "project")}
    return json.dumps(
        kept | {"setuptools": table.get("tool", {}).get("setuptools")}, sort_keys=True
    )


def stamp_of(environment: Path) -> dict[str, str]:
    """What an environment says about itself; empty when it was never finished."""
    try:
        found = json.loads((environment / STAMP).read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def fits_a_first_line(environment: str) -> bool:
    """Whether a script can name this interpreter after "#!"; for others pip writes two lines."""
    longest = LONGEST_FIRST_LINE - len("#!/bin/python3\n")
    return 0 < len(os.fsencode(environment)) <= longest and " " not in environment


def make_environment(python: str) -> None:
    """Bring .venv to what the lock says, keeping the old one until the new one is whole."""
    if OLD.exists() and not VENV.exists():
        OLD.rename(VENV)  # a swap that was interrupted between its two steps
    wanted, stamp = contents(python), stamp_of(VENV)
    changed = [name for name, value in wanted.items() if stamp.get(name) != value]
    if fits_a_first_line(stamp.get("place", "")) and not fits_a_first_line(str(VENV)):
        changed.append(
            "the folder's name (it has a space now or is very long, "
            "for which pip writes other scripts)"
        )
    if not changed:
        if stamp.get("place") != str(VENV):
            say("set-up: this folder was moved or copied; pointing .venv at its new place")
            settle(VENV, stamp.get("place", str(VENV)), wanted)
        return
    if VENV.exists():
        why = " and ".join(changed) + " changed" if stamp else "the one in .venv was never finished"
        say(f"set-up: {why}, so a new environment is made; the old one stays until it is ready")
    started = time.monotonic()
    shutil.rmtree(NEW, ignore_errors=True)
    if run_logged([python, "-m", "venv", str(NEW)]) != 0:
        fail(
            f"`{python} -m venv` failed (see {LOG}). On Debian and Ubuntu: apt-get install"
            " python3-venv"
        )
    say(
        "set-up: installing the locked packages (PyTorch is the largest: 0.2 GB to download in its"
        " CPU build, about 3 GB with CUDA; README, 'What it needs', says how to choose)"
    )
    pip_install(NEW, ["-r", "requirements.lock"])
    shutil.rmtree(OLD, ignore_errors=True)
    if VENV.exists():
        VENV.rename(OLD)
    NEW.rename(VENV)
    settle(VENV, str(NEW), wanted)
    shutil.rmtree(OLD, ignore_errors=True)
    say(f"set-up: .venv is ready ({time.monotonic() - started:.0f} s)")


def settle(environment: Path, written_for: str, made_from: dict[str, str]) -> None:
    """Make an environment that was built at one path work at another, with this checkout installed;
    then stamp it.

    Only the scripts in bin/ and pyvenv.cfg hold the path; packages are found from the interpreter's
    own place.
    """
    for path in [*(environment / "bin").iterdir(), environment / "pyvenv.cfg"]:
        if path.is_file() and not path.is_symlink():
            text = path.read_bytes()
            if written_for.encode() in text and b"\0" not in text:
                path.write_bytes(text.replace(written_for.encode(), str(environment).encode()))
    pip_install(environment, ["--no-deps", "--no-build-isolation", "-e", "."])
    (environment / STAMP).write_text(json.dumps({**made_from, "place": str(environment)}, indent=1))


def pip_install(environment: Path, arguments: list[str]) -> None:
    """Run pip inside an environment; stop with the end of its log when it fails."""
    pip = [
        str(environment / "bin" / "python"),
        "-m",
        "pip",
        "--disable-pip-version-check",
        "install",
        "--progress-bar",
        "off",
    ]
    if run_logged(pip + arguments) != 0:
        tail = "\n".join(LOG.read_text(errors="replace").splitlines()[-15:])
        fail(
            f"pip could not install {arguments[-1]}; the end of {LOG}:\n{tail}\n"
            "Run the same command again once the cause is mended: what was downloaded is kept."
        )


def main() -> None:
    """Everything that comes before the first `course` command, or with `--tests` before
    the tests.
    """
    if sys.argv[1:] == ["--tests"]:
        install_system_packages(TEST_PACKAGES, FOR_TESTS)
        return
    # root's sandboxes read the packages as nobody, also where new files are private
    os.umask(0o022)
    python = find_python()
    install_system_packages(SYSTEM_PACKAGES, FOR_WHAT)
    make_environment(python)


if __name__ == "__main__":
    main()

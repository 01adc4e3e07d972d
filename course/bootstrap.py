"""Set-up, with nothing but the standard library: system packages, .venv, the locked install.

Run by the Makefile as `python3 course/bootstrap.py`. A second run does nothing unless requirements.lock,
pyproject.toml or the interpreter changed. It does not fetch data (`course fetch` does) and builds no page.
"""
import hashlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
STAMP = VENV / "word2serve-setup"
LOG = ROOT / "_build" / "setup.log"
OLDEST, NEWEST = (3, 11), (3, 13)
# What the sandbox and the browser tests need, and the Debian package of each.
SYSTEM_PACKAGES = {"bwrap": "bubblewrap", "chromium": "chromium"}
OTHER_NAMES = {"chromium": ("chromium-browser", "google-chrome", "google-chrome-stable")}


def say(text: str) -> None:
    """One line of progress, at once also where stdout is a pipe."""
    print(text, flush=True)


def fail(text: str) -> None:
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
    fail(f"Python 3.{OLDEST[1]} to 3.{NEWEST[1]} is needed, this is {sys.version.split()[0]}. "
         "Install one of them, or name it: make course PYTHON=/path/to/python3.12")


def is_debian() -> bool:
    """Debian, Ubuntu and what is derived from them."""
    release = Path("/etc/os-release")
    return release.exists() and "debian" in release.read_text().lower() and shutil.which("apt-get") is not None


def missing_system_packages() -> list[str]:
    """Debian package names of the programs that are on no PATH."""
    return [package for program, package in SYSTEM_PACKAGES.items()
            if not any(shutil.which(name) for name in (program, *OTHER_NAMES.get(program, ())))]


def install_system_packages() -> None:
    """As root on Debian install what is missing; elsewhere say which command does, and go on without it."""
    missing = missing_system_packages()
    if not missing:
        return
    if is_debian() and os.geteuid() == 0:
        say(f"set-up: installing system packages: {' '.join(missing)}")
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for command in (["apt-get", "update"], ["apt-get", "install", "-y", "--no-install-recommends", *missing]):
            if run_logged(command, environment) != 0:
                say(f"set-up: `{' '.join(command)}` failed (see {LOG}); going on without {' '.join(missing)}")
                return
        return
    remedy = f"sudo apt-get install {' '.join(missing)}" if is_debian() else "see the README, 'What it needs'"
    say(f"set-up: not found: {' '.join(missing)}. Grading others' work and the browser tests need them: {remedy}")


def run_logged(command: list[str], environment: dict[str, str] | None = None) -> int:
    """Run a command, keep what it prints in LOG, and show that it lives: a dot a second, or a line a minute."""
    LOG.parent.mkdir(exist_ok=True)
    with LOG.open("a") as log:
        log.write(f"\n$ {' '.join(command)}\n")
        log.flush()
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=environment, cwd=ROOT)
        started, shown = time.monotonic(), 0
        while process.poll() is None:
            time.sleep(0.2)
            seconds = int(time.monotonic() - started)
            if sys.stdout.isatty() and seconds > shown:
                print(f"\r  {seconds} s, {LOG.stat().st_size // 1024} kB of log", end="", flush=True)
                shown = seconds
            elif not sys.stdout.isatty() and seconds >= shown + 60:
                say(f"  still working, {seconds} s")
                shown = seconds
        if sys.stdout.isatty() and shown:
            print("\r" + " " * 50, end="\r")
        return process.returncode


def fingerprint(python: str) -> str:
    """Changes when anything does that the environment is made from."""
    version = subprocess.run([python, "-VV"], capture_output=True, text=True).stdout
    parts = [(ROOT / name).read_bytes() for name in ("requirements.lock", "pyproject.toml")]
    return hashlib.sha256(b"".join([*parts, version.encode(), str(ROOT).encode()])).hexdigest()


def make_environment(python: str) -> None:
    """Create .venv and install the lock into it, unless the stamp says that this was done."""
    wanted = fingerprint(python)
    if STAMP.exists() and STAMP.read_text() == wanted:
        return
    started = time.monotonic()
    if run_logged([python, "-m", "venv", "--clear", str(VENV)]) != 0:
        fail(f"`{python} -m venv` failed (see {LOG}). On Debian and Ubuntu: apt-get install python3-venv")
    inner = str(VENV / "bin" / "python")
    say("set-up: installing the locked packages into .venv (PyTorch is the large one)")
    pip = [inner, "-m", "pip", "--disable-pip-version-check", "install", "--progress-bar", "off"]
    for arguments in (["-r", "requirements.lock"], ["--no-deps", "--no-build-isolation", "-e", "."]):
        if run_logged(pip + arguments) != 0:
            tail = "\n".join(LOG.read_text(errors="replace").splitlines()[-15:])
            fail(f"pip could not install {arguments[-1]}; the end of {LOG}:\n{tail}\n"
                 "Run the same command again once the cause is mended: what was downloaded is kept.")
    STAMP.write_text(wanted)
    say(f"set-up: .venv is ready ({time.monotonic() - started:.0f} s)")


def main() -> None:
    """Everything that comes before the first `course` command."""
    python = find_python()
    install_system_packages()
    make_environment(python)


if __name__ == "__main__":
    main()

"""What set-up and `make course` put on this machine: said, and removed.

Work and grades are never touched.

Run by the Makefile as `python3 course/uninstall.py`, with nothing but the standard library. The
data's cache may serve another copy of the course; it is fetched again when that one needs it.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MADE = (
    ".venv",
    ".venv.new",
    ".venv.old",
    "_build",
    ".pytest_cache",
    ".hypothesis",
    ".ruff_cache",
    "word2serve.egg-info",
)
KEPT = {"mywork": "your notebooks", "class": "a class's submissions, grades and secret"}
SYSTEM = ("bubblewrap", "chromium", "libseccomp2, and for tests postgresql and faketime")


def data_cache() -> Path | None:
    """Where `course download-data` keeps texts, vectors and weights; None without the environment
    that knows.

    A folder that somebody named in W2S_CACHE may hold other things and is not ours to remove.
    """
    python = ROOT / ".venv" / "bin" / "python"
    if not python.exists() or os.environ.get("W2S_CACHE"):
        return None
    asked = subprocess.run(
        [python, "-c", "from reference_impl.corpora.cache import cache_dir; print(cache_dir())"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    return Path(asked.stdout.strip()) if asked.returncode == 0 and asked.stdout.strip() else None


def size(path: Path) -> str:
    """The space that a file or folder takes, for a person."""
    files = (
        [path]
        if path.is_file()
        else [one for one in path.rglob("*") if one.is_file() and not one.is_symlink()]
    )
    megabytes = sum(os.lstat(one).st_blocks * 512 for one in files) / 1e6
    return f"{megabytes / 1000:.1f} GB" if megabytes >= 1000 else f"{megabytes:.0f} MB"


def main() -> int:
    """Say what there is, ask where there is a terminal, remove it; 1 when the answer was no."""
    found = [ROOT / name for name in MADE if (ROOT / name).exists()]
    cache = data_cache()
    if cache and cache.exists():
        found.append(cache)
    if chosen := os.environ.get("W2S_CACHE"):
        print(f"uninstall: the data in {chosen} (W2S_CACHE) stays: remove it by hand")
    if not found:
        print("uninstall: nothing that set-up made is here")
        return 0
    print("uninstall: these go:")
    for path in found:
        print(f"  {size(path):>8}  {path}")
    for name, what in KEPT.items():
        if (ROOT / name).exists():
            print(f"  kept      {ROOT / name} ({what})")
    if sys.stdin.isatty() and input("Remove them? [y/N] ").strip().lower() not in ("y", "yes"):
        print("uninstall: nothing was removed")
        return 1
    for path in found:
        shutil.rmtree(path)
    print(
        f"uninstall: done. The system packages that set-up may have installed ({', '.join(SYSTEM)})"
        " stay: other programs may use them. The folder itself can now be deleted."
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

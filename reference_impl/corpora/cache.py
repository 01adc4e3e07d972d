"""The folder that keeps what was downloaded or trained, and files that appear in it
whole or not at all.
"""

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path


class CorpusError(Exception):
    """Data is missing, damaged or unknown.

    The message names the file, what was expected, and the remedy.
    """


def cache_dir() -> Path:
    """The data cache: the folder in the environment variable W2S_CACHE, else the user's
    cache folder.
    """
    chosen = os.environ.get("W2S_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    import platformdirs

    return Path(platformdirs.user_cache_dir("word2serve"))


def sha256_of(file: Path) -> str:
    """The sha256 of a file's content, in hexadecimal."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@contextlib.contextmanager
def written_whole(target: Path) -> Iterator[Path]:
    """A temporary path beside `target` to write to; it is moved over `target` if the
    block ends well.

    A reader sees the old file or the new one, never half of one. If the block raises,
    nothing changes.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def fingerprint(file: Path) -> list[int]:
    """Size and time of last change: if both are as they were when the hash was taken,
    the hash still holds.
    """
    status = file.stat()
    return [status.st_size, status.st_mtime_ns]


def read_json(file: Path) -> dict:
    """A JSON object from the cache; an unreadable or missing file counts as empty, and
    is made again.
    """
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def write_json(file: Path, value: dict) -> None:
    """Write a JSON object so that it appears whole."""
    with written_whole(file) as temporary:
        temporary.write_text(json.dumps(value, indent=1), encoding="utf-8")

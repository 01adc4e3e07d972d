"""An entry: one file, `.py` for the code track or `.json` for the settings track."""

import hashlib
import zlib
from dataclasses import dataclass
from pathlib import Path

from autograder.common.errors import CourseError
from autograder.golf.rules import MAX_COMPRESSED, MAX_ENTRY, Invalid

TRACKS = {".py": "code", ".json": "settings"}


@dataclass(frozen=True)
class Entry:
    """The text of an entry's file and its track."""

    track: str
    text: str

    @property
    def digest(self) -> str:
        """The SHA-256 of the text, in hexadecimal."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def read_entry(path: Path) -> Entry:
    """The entry in a file.

    Raises CourseError for a file that cannot be read, Invalid for one that is too large.
    """
    track = TRACKS.get(path.suffix)
    if track is None:
        raise CourseError(
            f"{path}: an entry is a .py file (code track) or a .json file (settings track)"
        )
    try:
        with path.open("rb") as file:
            data = file.read(MAX_ENTRY + 1)
        text = data.decode()
    except FileNotFoundError:
        raise CourseError(f"{path} does not exist: give the path of an entry") from None
    except UnicodeDecodeError:
        raise CourseError(f"{path} is not UTF-8: save it as UTF-8") from None
    check_size(data)
    return Entry(track, text)


def check_size(data: bytes) -> None:
    """Raise Invalid for more bytes than an entry may have.

    The second limit bounds hidden text: 16,000 bytes hold at most about 80,000 characters of
    English, a percent of the text that passages are drawn from.
    """
    if len(data) > MAX_ENTRY:
        raise Invalid("entry size", f"the file has more than {MAX_ENTRY:,} bytes")
    packed = len(zlib.compress(data, 9))
    if packed > MAX_COMPRESSED:
        raise Invalid(
            "entry size",
            f"the file has {packed:,} bytes under zlib, and {MAX_COMPRESSED:,} are allowed:"
            " take data out of the source",
        )

"""Zips that nobody vouches for: list what is in one, read one member. Nothing is extracted to disk.

Whatever a broken or hostile zip makes the reader raise is an IntakeError with a sentence. Sizes are
checked before anything is unpacked, and what a header declares is not believed afterwards.
"""

import io
import stat
import struct
import zipfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from autograder.common.safe_names import shown
from autograder.grading.notebook.parse import MAX_FILE_BYTES, IntakeError, read_regular_file

MAX_ZIP_BYTES = 50 * 2**20
MAX_RATIO = 200  # notebooks shrink about 5 to 20 times
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
UTF_8 = 0x800  # the flag of a name that says it is UTF-8


@dataclass(frozen=True)
class Bounds:
    """How large a zip may be: the file, its list of members, and what the members declare to unpack
    to, in bytes.
    """

    members: int = 2_000
    directory: int = 2**20
    unpacked: int = 200 * 2**20
    zip64: bool = False  # no honest notebook needs one


OF_A_STUDENT = Bounds()
OF_A_CLASS = Bounds(
    members=50_000, directory=64 * 2**20, unpacked=2**40, zip64=True
)  # what an instructor downloads


@dataclass(frozen=True)
class Member:
    """One file of a zip: its parts as a path, the name that the zip has for it, and whether the
    path leads out of it.

    folder: it is an entry for a folder, and there is nothing in it.
    """

    parts: tuple[str, ...]
    key: str
    outside: bool
    folder: bool = False


def list_members(source: Path | bytes, name: str, bounds: Bounds = OF_A_STUDENT) -> list[Member]:
    """The files and the empty folders of a zip, in its order.

    `name` is for the sentence. Raises IntakeError.
    """
    with _opened(source, name, bounds) as archive:
        members = [_member(info) for info in archive.infolist()]
    filled = {one.parts[:depth] for one in members for depth in range(1, len(one.parts))}
    return [one for one in members if not (one.folder and one.parts in filled)]


def read_member(
    source: Path | bytes,
    name: str,
    key: str,
    bounds: Bounds = OF_A_STUDENT,
    limit: int = MAX_FILE_BYTES,
) -> bytes:
    """The bytes of one member, at most `limit`. Raises IntakeError."""
    label = shown(PurePosixPath(key).name, 60)
    with _opened(source, name, bounds) as archive:
        twins = [info for info in archive.infolist() if info.filename == key]
        if len(twins) != 1:
            raise IntakeError(f"{name} holds {len(twins)} files of the name {label}")
        info = twins[0]
        if stat.S_ISLNK(info.external_attr >> 16):
            raise IntakeError(
                f"{label} in the zip is a link to another file. Links are not followed"
            )
        if info.flag_bits & 1:
            raise IntakeError(f"{label} in the zip is encrypted")
        if info.compress_type not in METHODS:
            raise IntakeError(
                f"{label} in the zip is packed by an unusual method; use an ordinary zip"
            )
        if info.file_size > limit:
            raise IntakeError(
                f"{label} in the zip has {info.file_size:,} bytes; at most {limit:,} are read"
            )
        if info.file_size > MAX_RATIO * max(1, info.compress_size):
            raise IntakeError(
                f"{label} in the zip unpacks to more than {MAX_RATIO} times its size: it looks like"
                " a zip bomb"
            )
        try:
            with archive.open(info) as file:
                data = file.read(limit + 1)
        except (
            Exception
        ) as error:  # zipfile raises whatever its parts raise, UnicodeDecodeError for one
            raise IntakeError(f"{label} in the zip cannot be unpacked: {_words(error)}") from error
    if len(data) > limit:
        raise IntakeError(f"{label} in the zip has more than {limit:,} bytes")
    return data


def _opened(source: Path | bytes, name: str, bounds: Bounds) -> zipfile.ZipFile:
    """A zip whose list of members is small enough to be read."""
    if isinstance(source, Path) and bounds is OF_A_STUDENT:
        source = read_regular_file(source, MAX_ZIP_BYTES)
    file = io.BytesIO(source) if isinstance(source, bytes) else source.open("rb")
    size = file.seek(0, io.SEEK_END)
    file.seek(max(0, size - 65_557))
    tail = file.read()
    end = tail.rfind(b"PK\x05\x06")
    if end < 0 or len(tail) < end + 22:
        raise IntakeError(f"{name} is not a zip, or it is cut off")
    count, directory = struct.unpack("<HI", tail[end + 10 : end + 16])
    # The reader believes a zip64 record over these numbers.
    if tail[max(0, end - 20) : end].startswith(b"PK\x06\x07"):
        if not bounds.zip64:
            raise IntakeError(f"{name} lists more than {bounds.members:,} files")
    elif directory > bounds.directory or count > bounds.members:
        raise IntakeError(f"{name} lists more than {bounds.members:,} files")
    try:
        archive = zipfile.ZipFile(file)
    except Exception as error:
        raise IntakeError(f"{name} is a broken zip: {_words(error)}") from error
    infos = archive.infolist()
    unpacked = sum(info.file_size for info in infos)
    if len(infos) > bounds.members or unpacked > bounds.unpacked:
        archive.close()
        raise IntakeError(
            f"{name} unpacks to {len(infos):,} files and {unpacked:,} bytes: too much"
        )
    return archive


def _member(info: zipfile.ZipInfo) -> Member:
    text = info.filename
    if not info.flag_bits & UTF_8:  # macOS writes UTF-8 and does not say so
        try:
            text = text.encode("cp437").decode("utf-8")
        except UnicodeError:
            text = info.filename
    parts = PurePosixPath(text.replace("\\", "/")).parts
    outside = not parts or ".." in parts or parts[0].startswith("/") or parts[0][1:2] == ":"
    return Member(
        parts, info.filename, outside, info.filename.endswith("/")
    )  # is_dir() raises for a name of no letters


def _words(error: Exception) -> str:
    return shown(str(error), 100) or type(error).__name__

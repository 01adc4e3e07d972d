"""Names from outside become safe file names here, and only here.

A student's name, as a folder, a zip or a learning platform spells it, becomes the name of files and
folders, a key of the gradebook and a word on a command line. `safe_name` keeps letters, marks and
digits of every script as they are and writes every other byte as `=XX`, so that two names never
become one and `original_name` brings a name back. The same name in two Unicode forms (NFC, and NFD
as macOS writes it) is one name.
"""

import hashlib
import re
import unicodedata

KEPT = " _.@-,"  # beside letters, marks and digits
LONGEST = (
    120  # bytes: nbgrader's column holds 128 characters, a file name 255 bytes with what we add
)
CUT = "=~"  # stands before the hash that ends a name which was too long
_RESERVED = re.compile(
    r"(con|prn|aux|nul|com[0-9]|lpt[0-9])\s*(\.|$)", re.IGNORECASE
)  # no file names on Windows


def safe_name(name: str) -> str:
    """`name` as a file name on every system, at most LONGEST bytes; different names give different
    results.

    A name that is too long is cut and ends in `=~` and a hash of the whole: only those do not come
    back.
    """
    name = unicodedata.normalize("NFC", name)
    safe = (
        "".join(
            letter if _may_stand(name, place) else _escaped(letter)
            for place, letter in enumerate(name)
        )
        or "="
    )
    if _RESERVED.match(safe):
        safe = _escaped(safe[0]) + safe[1:]
    if len(safe.encode()) <= LONGEST:
        return safe
    digest = hashlib.sha256(_bytes(name)).hexdigest()[:16]
    return safe.encode()[: LONGEST - len(CUT) - 16].decode(errors="ignore") + CUT + digest


def original_name(safe: str) -> str | None:
    """The name (in NFC) from which `safe_name` made `safe`; None for one that was cut."""
    if CUT in safe:
        return None
    data = re.sub(rb"=([0-9a-f]{2})", lambda found: bytes([int(found[1], 16)]), safe.encode())
    return "" if safe == "=" else data.decode(errors="surrogateescape")


# letters: a file system takes no longer name, so a table that is read by programs has all of it
WHOLE = 255


def shown(name: str, most: int = 80) -> str:
    """A name from outside for people to read: no control character, nothing that turns the writing
    direction.
    """
    text = "".join(
        (
            letter
            if unicodedata.category(letter)[0] in "LMNPSZ" and letter not in "\u2028\u2029"
            else "\ufffd"
        )
        for letter in unicodedata.normalize("NFC", name[: most + 1])
    )
    return text if len(text) <= most else text[:most] + "..."


def _may_stand(name: str, place: int) -> bool:
    letter = name[place]
    if (
        letter in KEPT
    ):  # no hidden file, no option of a command, nothing that Windows drops from the end
        return not (letter in " .-" and place == 0 or letter in " ." and place == len(name) - 1)
    kind = unicodedata.category(letter)[0]
    return kind in "LN" or (kind == "M" and place > 0)


def _escaped(letter: str) -> str:
    return "".join(f"={byte:02x}" for byte in _bytes(letter))


def _bytes(text: str) -> bytes:
    """UTF-8, in which a byte that was no UTF-8 in a file name is that byte again."""
    return b"".join(
        bytes([ord(one) - 0xDC00]) if 0xDC80 <= ord(one) <= 0xDCFF else one.encode(errors="replace")
        for one in text
    )

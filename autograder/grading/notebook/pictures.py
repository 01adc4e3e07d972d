"""Pictures of written answers: found in attachments and data URIs, encoded anew or left out.

What a student pasted is taken twice. `gathered` only gives each picture a name of ours, a hash
of it, so that no name of a student's gets any further, and an answer whose picture changed has
another text. `checked` decodes those that an answer shows. Only the pixels of a PNG, JPEG, GIF
or WebP go on, encoded again: nothing else that the file held. It runs where a submission is
read, in a child with limits (limited.py).
"""

import base64
import binascii
import re
import warnings
from collections.abc import Iterable
from hashlib import sha256
from io import BytesIO
from itertools import islice
from urllib.parse import quote

MAX_FILE_BYTES = 10 * 2**20  # of a picture as it was pasted: a photograph has 2 to 6 MiB
MAX_PIXELS = 30_000_000
MAX_SHOWN_BYTES = 2**19  # of a picture as it is shown; it is made smaller until it fits
MAX_PICTURES = 12  # of a notebook, as the next ones
MAX_LOOKED_AT = 40  # the rest is left out without a reason of its own
MAX_ALL_PIXELS = 60_000_000
MAX_ALL_BYTES = 4 * 2**20  # as they are shown
SIZES = ((1_600, 85), (1_600, 60), (800, 60))  # the longer edge in pixels, and JPEG's quality
FORMATS = {
    b"\x89PNG\r\n\x1a\n": "PNG",
    b"\xff\xd8\xff": "JPEG",
    b"GIF8": "GIF",
    b"RIFF": "WEBP",
}  # by how a file begins
SHOWN_TYPES = ("image/png", "image/jpeg")
LEFT_OUT = "text/plain"  # the type of an attachment that says why there is no picture

NAME = re.compile(r"attachment:(picture-[0-9a-f]{16})")
KEPT_BY_JUPYTER = ";,/?:@&=+$-_.!~*'()#"  # what JavaScript's encodeURI leaves
DATA_URI = re.compile(
    r"data:image/[\w.+-]{1,60}(?:;[\w=.+-]{1,60}){0,4};base64," r"([A-Za-z0-9+/=]*+)",
    re.IGNORECASE,
)

OUTSIDE = re.compile(r"!\[[^\]\n]{0,300}\]\([ <]{0,3}(?!attachment:picture-)([^\s)>]{1,9})")

NO_PICTURE = "it is not a PNG, JPEG, GIF or WebP picture"
SVG = "SVG drawings are not shown; paste a screenshot of the drawing into the cell"
BROKEN = "the file is damaged; paste the picture into the cell again"
SMALLER = "paste a smaller picture into the cell"
LARGE_FILE = f"the file is larger than {MAX_FILE_BYTES // 2**20} MiB; {SMALLER}"
LARGE = f"it has {{}} pixels, and at most {MAX_PIXELS:,} are read; {SMALLER}"
TOO_MANY = f"at most {MAX_PICTURES} pictures of a notebook are shown"
NOT_THERE = (
    "the notebook names a file and does not hold the picture; paste the picture into the cell"
)
ON_THE_WEB = "pictures on the web are not loaded; paste the picture into the cell"
TOO_MUCH = "the pictures of this notebook are too large together; paste smaller ones"


class NotShown(Exception):
    """A picture that is left out. The message says why."""


def gathered(source: str, attachments: object) -> tuple[str, dict[str, str]]:
    """A cell's text with our names of its pictures, and the pictures as they came, in base64."""
    found: dict[str, str] = {}

    def named(text: str) -> str:
        digest = sha256(text.encode(errors="replace")).hexdigest()
        name = f"picture-{digest[:16]}"
        found[name] = text
        return f"attachment:{name}"

    bundles = attachments if isinstance(attachments, dict) else {}
    spelt = {
        form: name
        for name in bundles
        if 0 < len(name) <= 300
        for form in (name, quote(name), quote(name, safe=KEPT_BY_JUPYTER))
    }
    spelt = {form: name for form, name in spelt.items() if f"attachment:{form}" in source}
    if spelt:  # the longest first: "a.png" may begin another one's name
        names = "|".join(re.escape(form) for form in sorted(spelt, key=len, reverse=True))
        source = re.sub(
            f"attachment:({names})", lambda one: named(_text_of(bundles[spelt[one[1]]])), source
        )
    return DATA_URI.sub(lambda one: named(one[1]), source), found


def _text_of(bundle: object) -> str:
    """The base64 text of an attachment of whatever type; "" where it holds no text."""
    kinds = bundle if isinstance(bundle, dict) else {}
    text = next((kinds[kind] for kind in ("image/png", "image/jpeg", *kinds) if kind in kinds), "")
    lines = text if isinstance(text, list) else [text]
    return "".join(lines) if all(isinstance(line, str) for line in lines) else ""


def mentioned(texts: Iterable[str]) -> list[str]:
    """The names of pictures in texts that came from `gathered`, in order, each once."""
    return list(dict.fromkeys(name for text in texts for name in NAME.findall(text)))


def not_held(text: str) -> list[str]:
    """Why pictures that a text shows by an address outside of the notebook are left out."""
    addresses = [address.lower() for address in OUTSIDE.findall(text)]
    return [
        ON_THE_WEB if one.startswith(("http:", "https:", "//")) else NOT_THERE for one in addresses
    ]


def checked(found: dict[str, str]) -> dict[str, dict[str, str]]:
    """By name, each picture as nbformat keeps an attachment, or the reason, of type LEFT_OUT."""
    kept, room, pixels = {}, MAX_ALL_BYTES, MAX_ALL_PIXELS
    for number, (name, text) in enumerate(islice(found.items(), MAX_LOOKED_AT)):
        try:
            if number >= MAX_PICTURES:
                raise NotShown(TOO_MANY)
            image = _opened(_decoded(text))
            pixels -= image.width * image.height
            kind, data = _drawn_anew(image) if pixels >= 0 else ("", b"")
            if pixels < 0 or len(data) > room:
                raise NotShown(TOO_MUCH)
            room -= len(data)
            kept[name] = {kind: base64.b64encode(data).decode()}
        except NotShown as reason:
            kept[name] = {LEFT_OUT: str(reason)}
    return kept


def is_checked(name: object, bundle: object) -> bool:
    """Whether an entry of a record from another machine has the shape of what `checked` gives."""
    if type(name) is not str or not NAME.fullmatch(f"attachment:{name}"):
        return False
    if type(bundle) is not dict or len(bundle) != 1:
        return False
    [(kind, text)] = bundle.items()
    if type(text) is not str or len(text) > 2 * MAX_SHOWN_BYTES:
        return False
    if kind == LEFT_OUT:
        return len(text) <= 300
    return kind in SHOWN_TYPES and re.fullmatch(r"[A-Za-z0-9+/]*={0,2}", text) is not None


def _decoded(text: str) -> bytes:
    text = "".join(text.split())
    if len(text) > MAX_FILE_BYTES * 4 // 3 + 4:
        raise NotShown(LARGE_FILE)
    if text.startswith("<"):
        raise NotShown(SVG if "<svg" in text[:1_000] else NO_PICTURE)
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise NotShown(BROKEN) from None


def _opened(data: bytes) -> object:
    """The picture as a PIL image of which only the header was read. Raises NotShown."""
    from PIL import Image

    if b"<svg" in data[:1_000]:
        raise NotShown(SVG)
    kind = next((FORMATS[begins] for begins in FORMATS if data.startswith(begins)), None)
    if kind is None:
        raise NotShown(NO_PICTURE)
    try:
        with warnings.catch_warnings(action="ignore"):
            image = Image.open(BytesIO(data), formats=(kind,))
    except Image.DecompressionBombError:
        raise NotShown(LARGE.format("far too many")) from None
    except Exception:  # a decoder raises whatever a damaged file makes it raise
        raise NotShown(BROKEN) from None
    if image.width * image.height > MAX_PIXELS:
        raise NotShown(LARGE.format(f"{image.width * image.height:,}"))
    return image


def _drawn_anew(image: object) -> tuple[str, bytes]:
    """The type and the bytes of a new file with the picture's pixels. Raises NotShown."""
    try:
        with warnings.catch_warnings(action="ignore"):
            return _encoded(_pixels(image), lossless=image.format != "JPEG")
    except NotShown:
        raise
    except Exception:  # as above, and MemoryError
        raise NotShown(BROKEN) from None


def _pixels(image: object) -> object:
    """The picture upright, on white, at most as large as it is shown."""
    from PIL import Image, ImageOps

    image.draft("RGB", (SIZES[0][0], SIZES[0][0]))  # lets JPEG decode at an eighth of the size
    image = ImageOps.exif_transpose(image)
    if image.mode.startswith("I"):  # 16 bits of grey, as scanners write them
        image = image.convert("I").point(lambda grey: grey / 256).convert("L")
    see_through = image.has_transparency_data
    image = image.convert("RGBA" if see_through else "RGB")
    image.thumbnail((SIZES[0][0], SIZES[0][0]), reducing_gap=2)
    if see_through:
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    return image.convert("RGB")


def _encoded(image: object, lossless: bool) -> tuple[str, bytes]:
    if lossless:
        file = BytesIO()
        image.save(file, "PNG")
        if file.tell() <= MAX_SHOWN_BYTES:
            return "image/png", file.getvalue()
    for edge, quality in SIZES:
        file = BytesIO()
        image.thumbnail((edge, edge))
        image.save(file, "JPEG", quality=quality)
        if file.tell() <= MAX_SHOWN_BYTES:
            return "image/jpeg", file.getvalue()
    raise NotShown(LARGE_FILE)

"""Pictures of written answers: what is kept, and what is left out and why."""

import base64
import io
import json

import pytest
from PIL import Image

from autograder.grading.notebook.parse import read_cells
from autograder.grading.notebook.pictures import (
    BROKEN,
    LARGE_FILE,
    LEFT_OUT,
    MAX_ALL_BYTES,
    MAX_FILE_BYTES,
    MAX_LOOKED_AT,
    MAX_PICTURES,
    MAX_SHOWN_BYTES,
    NO_PICTURE,
    SHOWN_TYPES,
    SVG,
    TOO_MANY,
    TOO_MUCH,
    checked,
    is_checked,
    mentioned,
)


def as_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def picture(kind="PNG", size=(40, 30), mode="RGB", **more) -> str:
    file = io.BytesIO()
    Image.effect_noise(size, 90).convert(mode).save(file, kind, **more)
    return as_base64(file.getvalue())


def cell(source, attachments=None):
    raw = {
        "cell_type": "markdown",
        "source": source,
        "metadata": {},
        "attachments": attachments or {},
    }
    return read_cells(json.dumps({"nbformat": 4, "cells": [raw]}).encode())[0]


def shown(text):
    """What `checked` makes of one picture: its type, and the image or the reason."""
    [(kind, data)] = checked({"one": text})["one"].items()
    return (
        (kind, data) if kind == LEFT_OUT else (kind, Image.open(io.BytesIO(base64.b64decode(data))))
    )


@pytest.mark.parametrize(
    ("kind", "mode", "comes"),
    [
        ("PNG", "RGB", "PNG"),
        ("PNG", "1", "PNG"),
        ("PNG", "RGBA", "PNG"),
        ("PNG", "P", "PNG"),
        ("GIF", "L", "PNG"),
        ("WEBP", "RGB", "PNG"),
        ("JPEG", "RGB", "JPEG"),
        ("JPEG", "CMYK", "JPEG"),
    ],
)
def test_a_picture_of_every_usual_kind_is_shown(kind, mode, comes):
    said, image = shown(picture(kind, mode=mode))
    assert (
        said in SHOWN_TYPES
        and image.format == comes
        and image.size == (40, 30)
        and image.mode == "RGB"
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (as_base64(b"<html><script>alert(1)</script></html>"), NO_PICTURE),
        (
            as_base64(b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"),
            SVG,
        ),
        ("<svg onload='alert(1)'></svg>", SVG),
        (as_base64(b"GIF89a<script>alert(1)</script>"), BROKEN),
        (picture()[:200], BROKEN),
        ("not base64 at all!", BROKEN),
        (as_base64(b"BM" + bytes(100)), NO_PICTURE),
        (as_base64(b"%PDF-1.7"), NO_PICTURE),
        ("", NO_PICTURE),
        ("A" * (2 * MAX_FILE_BYTES), LARGE_FILE),
    ],
)
def test_what_is_no_picture_or_too_large_is_left_out_with_its_reason(text, reason):
    assert shown(text) == (LEFT_OUT, reason)


@pytest.mark.parametrize(
    ("size", "pixels"),
    [((8_000, 6_300), "50,400,000 pixels"), ((20_000, 20_000), "far too many pixels")],
)
def test_a_small_file_with_very_many_pixels_is_not_unpacked(size, pixels):
    file = io.BytesIO()
    Image.new("1", size).save(file, "PNG")
    kind, reason = shown(as_base64(file.getvalue()))
    assert kind == LEFT_OUT and pixels in reason


def test_of_a_file_only_its_pixels_go_on():
    exif = Image.Exif()
    exif[0x010E] = "taken at home"
    hidden = base64.b64decode(picture("JPEG", exif=exif)) + b"<script>alert(1)</script>"
    assert b"at home" in hidden
    [(_, text)] = checked({"one": as_base64(hidden)})["one"].items()
    assert b"at home" not in base64.b64decode(text) and b"script" not in base64.b64decode(text)


def test_a_large_photograph_is_made_smaller_and_stays_upright():
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by a quarter, as phones say it
    kind, image = shown(picture("JPEG", (4_000, 3_000), exif=exif))
    assert kind == "image/jpeg" and image.size == (1_200, 1_600)
    assert all(
        len(text) <= 1.4 * MAX_SHOWN_BYTES
        for text in checked({"one": picture("PNG", (1_600, 1_600))})["one"].values()
    )


def test_the_pictures_of_a_notebook_are_limited_in_number_and_in_size():
    small, large = picture(size=(8, 8)), picture("JPEG", (1_600, 1_600))
    kept = checked({str(number): small for number in range(1_000)})
    assert len(kept) == MAX_LOOKED_AT and [
        one for one in kept if LEFT_OUT not in kept[one]
    ] == list(map(str, range(MAX_PICTURES)))
    assert kept[str(MAX_PICTURES)] == {LEFT_OUT: TOO_MANY}
    kept = checked({str(number): large for number in range(MAX_PICTURES)})
    assert sum(len(text) for one in kept.values() for text in one.values()) < 1.5 * MAX_ALL_BYTES
    file = io.BytesIO()
    Image.new("1", (5_000, 5_000)).save(file, "PNG")
    kept = checked(dict.fromkeys("abc", as_base64(file.getvalue())))
    assert [LEFT_OUT in one for one in kept.values()] == [False, False, True] and kept["c"] == {
        LEFT_OUT: TOO_MUCH
    }


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("image.png", "![image.png](attachment:image.png)"),
        ("my plot (1).png", "![x](<attachment:my plot (1).png>)"),
        ("my plot.png", "![x](attachment:my%20plot.png)"),
        ("Bild 2026 (1).png", "![x](attachment:Bild%202026%20(1).png)"),
        ("a.png", "<img src='attachment:a.png' width=300>"),
        ("javascript:alert(1)", "![x](attachment:javascript:alert(1))"),
        ("../../x.png", "![x](attachment:../../x.png)"),
        ('"><script>', '![x](attachment:"><script>)'),
    ],
)
def test_an_attachment_gets_a_name_of_ours(name, source):
    one = cell(source, {name: {"image/png": picture()}})
    [ours] = one.pictures
    assert (
        mentioned([one.source]) == [ours]
        and name not in one.source.removeprefix(f"![{name}]")
        and is_checked(ours, {"image/png": "AAAA"})
    )


def test_an_attachment_whose_name_begins_another_ones_is_told_from_it():
    one = cell(
        "![](attachment:a.png) ![](attachment:a.png.png)",
        {"a.png": {"image/png": picture()}, "a.png.png": {"image/png": picture(size=(9, 9))}},
    )
    assert len(mentioned([one.source])) == 2 and ".png" not in one.source


def test_a_data_uri_leaves_the_text_and_does_not_count_as_characters_of_the_cell():
    large = picture("PNG", (800, 800))
    one = cell(f"Look: ![x](data:image/png;base64,{large}) there")
    assert len(large) > 400_000 and len(one.source) < 100 and list(one.pictures.values()) == [large]


@pytest.mark.parametrize(
    "attachments",
    [
        None,
        3,
        [],
        {"a": 3},
        {"a": {"image/png": 3}},
        {"a": {"image/png": [1]}},
        {"a": {}},
        {"": {"image/png": "x"}},
    ],
)
def test_attachments_of_any_shape_raise_nothing(attachments):
    one = cell("![x](attachment:a)", attachments)
    assert all(LEFT_OUT in kept for kept in checked(one.pictures).values())


def test_names_and_data_in_code_are_left_as_they_are():
    raw = {
        "cell_type": "code",
        "source": "x = 'data:image/png;base64,AAAA'",
        "attachments": {"x": {"image/png": "AAAA"}},
    }
    [one] = read_cells(json.dumps({"nbformat": 4, "cells": [raw]}).encode())
    assert one.source == raw["source"] and one.pictures == {}


@pytest.mark.parametrize(
    "entry",
    [
        ("x", {"image/png": "AAAA"}),
        ("picture-" + "0" * 16, {"image/svg+xml": "AAAA"}),
        ("picture-" + "0" * 16, {"image/png": '"><script>'}),
        ("picture-" + "0" * 16, {}),
        ("picture-" + "0" * 16, {LEFT_OUT: "x" * 301}),
        (3, {}),
        ("picture-" + "0" * 16, {"image/png": 3}),
    ],
)
def test_a_record_from_another_machine_holds_only_what_is_made_here(entry):
    assert not is_checked(*entry)

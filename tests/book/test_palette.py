"""The palette: contrast, one place for colours, and the same values in Python."""

import re
from itertools import product
from pathlib import Path

import pytest

from course.book.pages import plots as pictures

ASSETS = Path(__file__).resolve().parents[2] / "book" / "assets"
PAIR = re.compile(r"--w2s-([a-z-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)")
PALETTE = {
    name: {"light": light, "dark": dark}
    for name, light, dark in PAIR.findall((ASSETS / "palette.css").read_text())
}
TEXT = [
    "ink",
    "ink-soft",
    "accent",
    "good",
    "warn",
    "bad",
    "blue",
    "orange",
    "green",
    "purple",
    "yellow",
    "grey",
]
HUES = ["blue", "orange", "green", "purple", "yellow", "grey"]


def luminance(colour):
    """WCAG 2.2's relative luminance of #rrggbb."""
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    """WCAG 2.2's contrast ratio, from 1 to 21."""
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def test_the_ratio_is_that_of_the_standard():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize(
    "scheme, name, ground", list(product(("light", "dark"), TEXT, ("paper", "panel")))
)
def test_every_text_colour_can_be_read_on_both_grounds(scheme, name, ground):
    assert contrast(PALETTE[name][scheme], PALETTE[ground][scheme]) >= 4.5


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_controls_and_marked_text_stand_out(scheme):
    assert contrast(PALETTE["on-accent"][scheme], PALETTE["accent"][scheme]) >= 4.5
    assert contrast(PALETTE["ink"][scheme], PALETTE["mark"][scheme]) >= 4.5
    assert contrast(PALETTE["edge"][scheme], PALETTE["paper"][scheme]) >= 3


# How the three kinds of cone-deficient eyes see linear RGB (Machado, Oliveira and Fernandes 2009,
# table 1, severity 1).
MACHADO = {
    "protan": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deutan": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritan": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}


def lab(colour, eye=None):
    """CIE L*a*b* (D65) of a colour, as the named eye sees it."""
    rgb = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    rgb = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in rgb]
    if eye:
        rgb = [min(1, max(0, sum(m * v for m, v in zip(row, rgb)))) for row in MACHADO[eye]]
    to_xyz = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
    xyz = [
        sum(m * v for m, v in zip(row, rgb)) / white
        for row, white in zip(to_xyz, (0.9505, 1.0, 1.089))
    ]
    x, y, z = (v ** (1 / 3) if v > 216 / 24389 else (24389 / 27 * v + 16) / 116 for v in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


@pytest.mark.parametrize("scheme, eye", list(product(("light", "dark"), (None, *MACHADO))))
def test_the_first_three_hues_and_grey_differ_for_every_eye(scheme, eye):
    seen = {hue: lab(PALETTE[hue][scheme], eye) for hue in ("blue", "orange", "green", "grey")}
    for one, other in [
        ("blue", "orange"),
        ("orange", "green"),
        ("blue", "grey"),
        ("orange", "grey"),
    ]:
        distance = sum((a - b) ** 2 for a, b in zip(seen[one], seen[other])) ** 0.5
        assert distance >= 12, f"{one} and {other} for {eye}: {distance:.0f}"


def test_python_has_the_same_light_values():
    assert {name: PALETTE[name]["light"] for name in pictures.LIGHT} == pictures.LIGHT


def of_figures():
    """Every script and style sheet of figures and models."""
    return [
        path.relative_to(ASSETS).as_posix()
        for folder in ("figures", "models")
        for path in sorted((ASSETS / folder).rglob("*"))
        if path.suffix in (".js", ".css")
    ]


@pytest.mark.parametrize("path", ["course.css", "questions.js", "course.js", *of_figures()])
def test_no_colour_is_written_outside_the_palette(path):
    assert (
        re.findall(r"#[0-9a-fA-F]{3,8}\b(?=[;, )])|rgba?\(|hsla?\(", (ASSETS / path).read_text())
        == []
    )

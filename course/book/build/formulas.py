r"""TeX as HTML with MathML inside, made by KaTeX in an embedded JavaScript engine.

    rendered(r"\frac{a}{b}")                  for a line of text
    rendered(r"\sum_i x_i", display=True)     on a line of its own

A page needs KaTeX's stylesheet and fonts to show it and no script. What is seen is hidden from
assistive technology, which reads the MathML. KaTeX, and not MathML alone (Temml), because MathML
looks as the reader's browser and installed fonts have it: without a font for formulas, brackets
and roots do not grow.
"""

import hashlib
import json
import re
from functools import cache
from pathlib import Path

KATEX = Path(__file__).resolve().parents[3] / "book" / "assets" / "vendor" / "katex"
# The engine cannot hand over a string that it has not joined yet; JSON.stringify joins it.
RENDER = """
function render(tex, display) {
  const settings = {displayMode: display, throwOnError: true, strict: "error", trust: false};
  try { return JSON.stringify({html: katex.renderToString(tex, settings)}); }
  catch (error) { return JSON.stringify({error: String(error.message)}); }
}
0
"""
# What pages do not need: the namespace, and the TeX that KaTeX keeps beside the MathML.
SPARED = re.compile(
    r' xmlns="http://www\.w3\.org/1998/Math/MathML"|</?semantics>|<annotation.*?</annotation>', re.S
)
MARKED = "\u0332"  # KaTeX underlines what it could not read, sign by sign


class FormulaError(Exception):
    """A formula that KaTeX cannot set. The message says what is wrong with it."""


@cache
def _engine():
    import quickjs

    context = quickjs.Context()
    context.eval((KATEX / "katex.min.js").read_text(encoding="utf-8") + "\n;0")
    context.eval(RENDER)
    return context.get("render")


@cache
def rendered(tex: str, display: bool = False) -> str:
    """The HTML of a formula. FormulaError if KaTeX does not know a part of it."""
    answer = json.loads(_engine()(tex, display))
    if "error" in answer:
        said = answer["error"].removeprefix("KaTeX parse error: ").replace(MARKED, "")
        raise FormulaError(re.sub(r"^LaTeX-incompatible input.*?'error': ", "", said))
    return SPARED.sub("", answer["html"])


def key() -> str:
    """A hash of what decides how formulas come out."""
    files = (Path(__file__), KATEX / "katex.min.js")
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]


def aligned(tex: str) -> str:
    """The TeX of a displayed formula, with what several lines need around them.

    Lines end in two backslashes; formulas with an empty line between them stand one below the
    other, at their first & if they have any. It is what Sphinx hands to MathJax.
    """
    parts = [part.strip() for part in re.split(r"\n\s*\n", tex) if part.strip()]
    parts = [rf"\begin{{split}}{part}\end{{split}}" if r"\\" in part else part for part in parts]
    if len(parts) < 2:
        return "".join(parts)
    return r"\begin{aligned}" + r" \\ ".join(parts) + r"\end{aligned}"


def unnumbered(tex: str) -> str:
    """TeX whose environments of amsmath have their starred names: the page writes the numbers."""
    return re.sub(r"\\(begin|end)\{(align|alignat|equation|gather)\}", r"\\\1{\2*}", tex)

"""Markdown of students and instructors as HTML that can run and load nothing, with pictures and formulas.

One renderer for formgrader and for our pages. HTML is held to a list of tags. A formula becomes MathML, which browsers show without
a script. Of pictures only those are shown that grading has drawn anew (grading/pictures.py); any other is a sentence that says why.
"""
import re
from collections.abc import Iterable, Iterator
from functools import partial
from html import escape, unescape
from xml.etree import ElementTree

from bleach import Cleaner, clean
from bleach.html5lib_shim import Filter
from markupsafe import Markup
from mistune import HTMLRenderer
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

from autograder.grading.pictures import LEFT_OUT, NAME, SHOWN_TYPES

TAGS = frozenset("a abbr b blockquote br caption code dd del details div dl dt em h1 h2 h3 h4 h5 h6 hr i kbd li ol p pre s "
                 "small span strong sub summary sup table tbody td th thead tr ul".split())
LINKS = ("http:", "https:", "mailto:", "#")
MAX_FORMULA = 1_000     # characters; the converter's time grows with the square
# What docutils makes of a formula; no attribute of these can hold a script or an address.
MATH_TAGS = frozenset("math maction menclose merror mfrac mi mmultiscripts mn mo mover mpadded mphantom mroot mrow mspace msqrt "
                      "mstyle msub msubsup msup mtable mtd mtext mtr munder munderover".split())
MATH_ATTRIBUTES = frozenset("accent accentunder display displaystyle fence form height linethickness lspace mathvariant maxsize "
                            "minsize movablelimits notation rspace scriptlevel separator stretchy symmetric width".split())

MULTILINE = re.compile(r"\s*\\begin\{(align|equation|gather|eqnarray)(\*?)\}(.*)\\end\{\1\2\}\s*", re.DOTALL)

SHOWN_NOT = "[Picture{} left out: {}.]"
NOT_THERE = "the notebook names a file and does not hold the picture; paste the picture into the cell"
ON_THE_WEB = "pictures on the web are not loaded; paste the picture into the cell"


def as_html(source: str, pictures: dict[str, dict[str, str]] | None = None, headings: bool = True) -> Markup:
    """The Markdown as HTML. pictures: by name, those of an answer. headings: whether they keep their level; else all are of level 4."""
    html = MarkdownWithMath(renderer=_Renderer(escape=False, exclude_anchor_links=True)).render(source)
    cleaner = Cleaner(tags=TAGS | {"img", *_Renderer.FORMULAS}, attributes=_is_allowed, protocols={"http", "https", "mailto", "attachment", "file"},
                      filters=[partial(_Shown, pictures=pictures or {}, headings=headings)])
    return Markup(cleaner.clean(html))


def inert_html(html: str) -> str:
    """HTML without scripts, event handlers, styles, frames, images, forms, or links that run anything."""
    return clean(str(html), tags=TAGS, attributes={"a": ["href", "title"], "th": ["scope"]},
                 protocols={"http", "https", "mailto"}, strip=False)


def _is_allowed(tag: str, name: str, value: str) -> bool:
    if tag == "a":
        return name == "title" or name == "href" and value.strip().lower().startswith(LINKS)
    return (tag, name) in {("th", "scope"), ("img", "src"), ("img", "alt"), ("img", "width")}


class _Renderer(IPythonRenderer):
    """nbconvert's, which keeps the address of a picture and marks formulas by elements of our own."""

    FORMULAS = ("formula", "displayed-formula")

    def image(self, text: str, url: str, title: str | None = None) -> str:
        """nbconvert's raises an exception for an attachment that is not there."""
        return HTMLRenderer.image(self, text, url, title)

    def inline_math(self, body: str) -> str:
        """An amount of money ("$5 or $6") has a space before its second dollar sign."""
        return f"${escape(body)}$" if body != body.strip() else f"<formula>{escape(body)}</formula>"

    def block_math(self, body: str) -> str:
        """See FORMULAS."""
        return f"<displayed-formula>{escape(body)}</displayed-formula>"

    def latex_environment(self, name: str, body: str) -> str:
        """See FORMULAS."""
        return self.block_math(f"\\begin{{{name}}}{body}\\end{{{name}}}")


class _Shown(Filter):
    """What is put into the place of pictures and formulas, after everything else is clean."""

    def __init__(self, source: Iterable[dict], pictures: dict, headings: bool):
        super().__init__(source)
        self._pictures, self._headings = pictures, headings

    def __iter__(self) -> Iterator[dict]:
        tokens = super().__iter__()
        for token in tokens:
            name = token.get("name", "")
            if name in _Renderer.FORMULAS and token["type"] != "EndTag":
                yield from _formula(_text_until_end(tokens, name), displayed=name != "formula")
            elif name == "img":
                yield from _picture(token["data"], self._pictures)
            elif name in _Renderer.FORMULAS:
                continue
            elif not self._headings and re.fullmatch("h[1-6]", name) and token["type"] != "Entity":
                yield token | {"name": "h4"}
            else:
                yield token


def _tag(kind: str, name: str, **attributes: str) -> dict:
    return {"type": kind, "name": name, "namespace": None, "data": {(None, key): value for key, value in attributes.items()}}


def _text(text: str) -> dict:
    return {"type": "Characters", "data": text}


def _element(name: str, text: str, **attributes: str) -> list[dict]:
    return [_tag("StartTag", name, **attributes), _text(text), _tag("EndTag", name)]


def _text_until_end(tokens: Iterator[dict], name: str) -> str:
    """The text of the element that has just begun; elements inside of it are left out."""
    parts = []
    for token in tokens:
        if token["type"] == "EndTag" and token["name"] == name:
            break
        parts.append(f"&{token['name']};" if token["type"] == "Entity" else token["data"] if "Characters" in token["type"] else "")
    return unescape("".join(parts))


def _picture(attributes: dict, pictures: dict) -> list[dict]:
    """An image with the picture in it, or the sentence that says why there is none."""
    said = {name: value for (_, name), value in attributes.items()}
    address = unescape(said.get("src", "")).strip()
    found = NAME.fullmatch(address)
    bundle = pictures.get(found[1], {}) if found else {}
    for kind in SHOWN_TYPES:
        if kind in bundle:
            width = {"width": said["width"]} if re.fullmatch(r"[1-9]\d{0,3}", said.get("width", "")) else {}
            return [_tag("EmptyTag", "img", src=f"data:{kind};base64,{bundle[kind]}", alt=said.get("alt") or "picture", **width)]
    name = f' "{unescape(said["alt"])[:60]}"' if said.get("alt") else ""
    if address.lower().startswith(("http:", "https:", "//")):
        link = "https:" + address if address.startswith("//") else address
        return [*_element("em", SHOWN_NOT.format(name, ON_THE_WEB) + " "), *_element("a", address, href=link, rel="noreferrer noopener")]
    return _element("em", SHOWN_NOT.format(name, bundle.get(LEFT_OUT, NOT_THERE)))


def _formula(tex: str, displayed: bool) -> list[dict]:
    """The formula as MathML; as it was written where the converter does not know it."""
    from docutils.utils.math.latex2mathml import tex2mathml

    if len(tex) <= MAX_FORMULA:
        rows = MULTILINE.fullmatch(tex)
        try:
            return list(_math(ElementTree.fromstring(tex2mathml(rows[3] if rows else tex, as_block=displayed))))
        except Exception:       # the converter raises whatever a formula makes it raise
            pass
    return _element("code", f"$${tex}$$" if displayed else f"${tex}$")


def _math(element: ElementTree.Element) -> Iterator[dict]:
    name = element.tag.rpartition("}")[2]
    if name not in MATH_TAGS:
        raise ValueError(f"{name} is no element of MathML that is shown")
    yield _tag("StartTag", name, **{key: value for key, value in element.attrib.items() if key in MATH_ATTRIBUTES})
    yield _text((element.text or "").strip())
    for child in element:
        yield from _math(child)
    yield _tag("EndTag", name)

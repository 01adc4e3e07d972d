"""Markdown of students and instructors as HTML that can run and load nothing.

One renderer for formgrader and for our pages. HTML is held to a list of tags. A formula becomes
MathML, which browsers show without a script. Of pictures only those are shown that grading
encoded anew (grading/notebook/pictures.py); any other is a sentence that says why.
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

from autograder.grading.notebook.pictures import LEFT_OUT, NAME, NOT_THERE, ON_THE_WEB, SHOWN_TYPES

TAGS = frozenset(
    "a abbr b blockquote br caption code dd del details div dl dt em h1 h2 h3 h4 h5 h6 hr i kbd li "
    "ol p pre s small span strong sub summary sup table tbody td th thead tr ul".split()
)
LINKS = ("http:", "https:", "mailto:", "#")
PICTURE_ATTRIBUTES = ("src", "alt", "width")
PROTOCOLS = frozenset(["http", "https", "mailto", "attachment", "file"])  # of a link: see LINKS
MAX_FORMULA = 1_000  # characters; the converter's time grows with the square
# What docutils makes of a formula; no attribute of these can hold a script or an address.
MATH_TAGS = frozenset(
    "math maction menclose merror mfrac mi mmultiscripts mn mo mover mpadded mphantom mroot mrow "
    "mspace msqrt mstyle msub msubsup msup mtable mtd mtext mtr munder munderover".split()
)
MATH_ATTRIBUTES = frozenset(
    "accent accentunder display displaystyle fence form height linethickness lspace mathvariant "
    "maxsize minsize movablelimits notation rspace scriptlevel separator stretchy symmetric "
    "width".split()
)
# Environments that docutils knows only by their rows.
MULTILINE = re.compile(
    r"\s*\\begin\{(align|equation|gather|eqnarray)(\*?)\}(.*)\\end\{\1\2\}\s*", re.DOTALL
)

SHOWN_NOT = "[Picture{} left out: {}.]"

Pictures = dict[str, dict[str, str]]  # by name, see `pictures.checked`


def as_html(source: str, pictures: Pictures | None = None, headings: bool = True) -> Markup:
    """The Markdown as HTML. headings: whether they keep their level; else all are of level 4."""
    renderer = _Renderer(escape=False, exclude_anchor_links=True)
    cleaner = Cleaner(
        tags=TAGS | {"img", *_Renderer.FORMULAS},
        attributes=_is_allowed,
        protocols=PROTOCOLS,
        filters=[partial(_Shown, pictures=pictures or {}, headings=headings)],
    )
    return Markup(cleaner.clean(MarkdownWithMath(renderer=renderer).render(source)))


def inert_html(html: str) -> str:
    """HTML without scripts, handlers, styles, frames, images, forms, or links that run anything."""
    return clean(
        str(html),
        tags=TAGS,
        attributes={"a": ["href", "title"], "th": ["scope"]},
        protocols={"http", "https", "mailto"},
        strip=False,
    )


def _is_allowed(tag: str, name: str, value: str) -> bool:
    if tag == "a":
        return name == "title" or name == "href" and value.strip().lower().startswith(LINKS)
    return tag == "th" and name == "scope" or tag == "img" and name in PICTURE_ATTRIBUTES


class _Renderer(IPythonRenderer):
    """nbconvert's, which keeps a picture's address and marks formulas by elements of our own."""

    FORMULAS = ("formula", "displayed-formula")

    def image(self, text: str, url: str, title: str | None = None) -> str:
        """nbconvert's raises an exception for an attachment that is not there."""
        return HTMLRenderer.image(self, text, url, title)

    def inline_math(self, body: str) -> str:
        """An amount of money ("$5 or $6") has a space before its second dollar sign."""
        if body != body.strip():
            return f"${escape(body)}$"
        return f"<formula>{escape(body)}</formula>"

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
    data = {(None, key): value for key, value in attributes.items()}
    return {"type": kind, "name": name, "namespace": None, "data": data}


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
        if token["type"] == "Entity":
            parts.append(f"&{token['name']};")
        elif token["type"] in ("Characters", "SpaceCharacters"):
            parts.append(token["data"])
    return unescape("".join(parts))


def _picture(attributes: dict, pictures: Pictures) -> list[dict]:
    """An image with the picture in it, or the sentence that says why there is none."""
    given = {name: value for (_, name), value in attributes.items()}
    address, alt = unescape(given.get("src", "")).strip(), given.get("alt", "")
    found = NAME.fullmatch(address)
    bundle = pictures.get(found[1], {}) if found else {}
    for kind in SHOWN_TYPES:
        if kind in bundle:
            width = re.fullmatch(r"[1-9]\d{0,3}", given.get("width", ""))
            return [
                _tag(
                    "EmptyTag",
                    "img",
                    src=f"data:{kind};base64,{bundle[kind]}",
                    alt=alt or "picture",
                    **{"width": width[0]} if width else {},
                )
            ]
    name = f' "{unescape(alt)[:60]}"' if alt else ""
    if address.lower().startswith(("http:", "https:", "//")):
        link = "https:" + address if address.startswith("//") else address
        return [
            *_element("em", SHOWN_NOT.format(name, ON_THE_WEB) + " "),
            *_element("a", address, href=link, rel="noreferrer noopener"),
        ]
    return _element("em", SHOWN_NOT.format(name, bundle.get(LEFT_OUT, NOT_THERE)))


def _formula(tex: str, displayed: bool) -> list[dict]:
    """The formula as MathML; as it was written where the converter does not know it."""
    from docutils.utils.math.latex2mathml import tex2mathml

    if len(tex) <= MAX_FORMULA:
        rows = MULTILINE.fullmatch(tex)
        try:
            mathml = tex2mathml(rows[3] if rows else tex, as_block=displayed)
            return list(_math(ElementTree.fromstring(mathml)))
        except Exception:  # the converter raises whatever a formula makes it raise
            pass
    return _element("code", f"$${tex}$$" if displayed else f"${tex}$")


def _math(element: ElementTree.Element) -> Iterator[dict]:
    name = element.tag.rpartition("}")[2]
    if name not in MATH_TAGS:
        raise ValueError(f"{name} is no element of MathML that is shown")
    attributes = {key: element.attrib[key] for key in element.attrib if key in MATH_ATTRIBUTES}
    yield _tag("StartTag", name, **attributes)
    yield _text((element.text or "").strip())
    for child in element:
        yield from _math(child)
    yield _tag("EndTag", name)

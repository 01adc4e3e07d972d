"""What the book's search looks through: search-texts.js, one entry a section and one a glossary
term.

It is a script and not JSON, because a browser that reads the book from disk loads scripts and
refuses fetches. An entry holds the words of its own section, without code, outputs, formulas on
lines of their own, and subsections. Sphinx's searchindex.js holds words but no sentences, so that
it could show no excerpt.
"""

import json
import re
from pathlib import Path

from docutils import nodes
from sphinx import addnodes

FILE = "search-texts.js"
SIGNS = {
    "cdot": "·",
    "times": "×",
    "le": "≤",
    "ge": "≥",
    "approx": "≈",
    "sqrt": "√",
    "sum": "Σ",
    "rho": "ρ",
    "alpha": "α",
    "sigma": "σ",
    "varepsilon": "ε",
    "infty": "∞",
    "to": "→",
    "dots": "…",
    "#": "#",
    "%": "%",
    "_": "_",
}
NAMES = {"log", "exp", "min", "max", "cos", "sin", "tanh", "argmax"}
SIZE = re.compile(r"\\(?:[bB]igg?[lr]?|left|right)(?![a-zA-Z])")
TEX = re.compile(
    r"\\([a-zA-Z]+|.)|[{}~]"
)  # commands and braces of a formula in a line; its letters stay
FRACTION = re.compile(r"\\frac\{([^{}]*)\}\{([^{}]*)\}")
CHAPTER = re.compile(
    r"\s*\bChapter (\d+):$"
)  # at the end of a glossary entry, before the link to a page
SILENT = (
    nodes.literal_block,
    nodes.math_block,
    nodes.raw,
    nodes.comment,
    nodes.container,
    nodes.figure,
    nodes.image,
    addnodes.glossary,
    addnodes.toctree,
    nodes.system_message,
)


def collect(app, doctree):
    """Keep the sections of the page that was just read."""
    env, docname = app.env, app.env.docname
    if not hasattr(env, "w2s_sections"):
        env.w2s_sections = {}
    page = _title(doctree)
    entries = []
    for section in doctree.findall(nodes.section):
        top = section.parent is doctree
        address = f"{docname}.html" + ("" if top else f"#{section['ids'][0]}")
        entries.append((address, _title(section), page, _own_words(section)))
    for item in doctree.findall(nodes.definition_list_item):
        terms = [term for term in item.findall(nodes.term) if term["ids"]]
        if isinstance(item.parent.parent, addnodes.glossary) and terms:
            words = " ".join(
                " ".join(_words(part) for part in item.findall(nodes.definition)).split()
            )
            entries.append(
                (
                    f"{docname}.html#{terms[0]['ids'][0]}",
                    ", ".join(map(_words, terms)),
                    page,
                    CHAPTER.sub(r" (chapter \1)", words),
                )
            )
    env.w2s_sections[docname] = [entry for entry in entries if entry[1]]


def _title(node):
    title = next(iter(node.findall(nodes.title)), None)
    return "" if title is None else _words(title)


def _own_words(section):
    """The words of a section up to its first subsection, on one line."""
    parts = [
        _words(child)
        for child in section.children
        if not isinstance(child, (nodes.section, nodes.title))
    ]
    return " ".join(" ".join(parts).split())


def _words(node):
    """The text below a node, without what is not prose, and without the keys of citations."""
    if isinstance(node, SILENT) or (
        isinstance(node, addnodes.pending_xref) and node.get("refdomain") == "cite"
    ):
        return ""
    if isinstance(node, nodes.math):
        return formula(node.astext())
    if isinstance(node, nodes.Text):
        return str(node)
    between = "" if isinstance(node, nodes.TextElement) else " "
    return between.join(_words(child) for child in node.children)


def formula(tex):
    """A formula as a line of text: signs and names of functions stay, what only places
    them goes.
    """
    tex = FRACTION.sub(r"\1/\2", SIZE.sub("", tex))
    plain = TEX.sub(lambda found: SIGNS.get(found[1], found[1] if found[1] in NAMES else " "), tex)
    return re.sub(r"(?<=[(√])\s+|\s+(?=[),])", "", " ".join(plain.split()))


def forget(app, env, docname):
    """A page that is read again, or is gone, has no sections."""
    getattr(env, "w2s_sections", {}).pop(docname, None)


def merge(app, env, docnames, other):
    """Gather what another reading process kept."""
    env.w2s_sections = {
        **getattr(env, "w2s_sections", {}),
        **{
            name: other.w2s_sections[name]
            for name in docnames
            if name in getattr(other, "w2s_sections", {})
        },
    }


def write(app, error):
    """Write the entries of all pages, in the order of their names."""
    if error is None and app.builder.format == "html":
        entries = [
            entry
            for docname in sorted(app.env.w2s_sections)
            for entry in app.env.w2s_sections[docname]
        ]
        lines = ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in entries)
        Path(app.outdir, FILE).write_text(f"window.w2sTexts = [\n{lines}\n];\n", encoding="utf-8")


def setup(app):
    """Connect collecting and writing."""
    app.connect("doctree-read", collect)
    app.connect("env-purge-doc", forget)
    app.connect("env-merge-info", merge)
    app.connect("build-finished", write)
    return {
        "version": "1",
        "env_version": 2,
        "parallel_read_safe": True,
        "parallel_write_safe": True,
    }

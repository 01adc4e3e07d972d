"""What a link to a glossary entry or to a reference shows on hover and focus: notes.js, loaded by
course.js when asked.

The notes are taken from the built glossary and bibliography, so that they say what those pages say.
It is a script because a browser that reads the book from disk refuses to fetch anything else.
"""

import json
from pathlib import Path

from bs4 import BeautifulSoup

FILE = "notes.js"


def gather(page: str, text: str) -> dict[str, str]:
    """Address of each glossary entry and reference on a built page -> its HTML, without links: a
    tooltip has none.
    """
    soup = BeautifulSoup(text, "html.parser")
    notes = {}
    for term in soup.select("dl.glossary dt[id]"):
        notes[f"{page}#{term['id']}"] = _still(term.find_next_sibling("dd"), name=_still(term))
    for entry in soup.select("div.citation[id]"):
        notes[f"{page}#{entry['id']}"] = "".join(_still(part) for part in entry.find_all("p"))
    return notes


def _still(node, name=None):
    """The inner HTML of a node, links and ids as plain text; `name` goes before it in bold."""
    if node is None:
        return ""
    for one in node.select("a.headerlink, .backrefs"):
        one.decompose()
    for link in node.find_all("a"):
        if not link.get_text(strip=True).startswith(("http", "doi")):
            link.unwrap()
        else:
            link.decompose()
    for one in node.find_all(id=True):
        del one["id"]
    inner = " ".join(node.decode_contents().split())
    return f"<p><strong>{name}</strong></p>{inner}" if name else inner


def write(app, error):
    """Write the notes of all pages that hold a glossary or a bibliography."""
    if error is not None or app.builder.format != "html":
        return
    notes = {}
    for docname in sorted(app.env.found_docs):
        built = Path(app.outdir, f"{docname}.html")
        if built.exists():
            text = built.read_text(encoding="utf-8")
            if 'class="glossary' in text or 'class="citation"' in text:
                notes |= gather(built.relative_to(app.outdir).as_posix(), text)
    text = json.dumps(notes, ensure_ascii=False, indent=0)
    Path(app.outdir, FILE).write_text(f"window.w2sNotes = {text};\n", encoding="utf-8")


def setup(app):
    """Write at the end of a build."""
    app.connect("build-finished", write, priority=800)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}

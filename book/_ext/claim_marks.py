"""The results that a page checks: one list below its title, and a small mark at each sentence.

A cell with the tag `claims` shows nothing where it stands. Its claims go into a list, "14 results
checked", that opens below the title: each sentence, the source of the condition that it depends on,
and the code before the conditions, also that of cells that only prepare them. A mark at the
sentence opens its own entry (course.js); without scripts it leads to the list. A sentence that is
not found in the text has no mark and stays in the list. Claims in other cells are listed as well.
"""

import re

from code_cells import is_cell, source_of
from docutils import nodes
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from course.book.build.shown_code import claims_of, shown_source

INLINE = re.compile(
    r"(?P<math>\$\$[^$]+\$\$|\$[^$]+\$)|(?P<role>\{[\w:]+\}`[^`]*`)|(?P<code>`[^`]+`)"
    r"|\[(?P<link>[^\]]*)\]\([^)]*\)|(?P<strong>\*\*.+?\*\*)|(?P<stress>\*[^*]+\*|\b_[^_]+_\b)"
)
ROLE = re.compile(r"\{[\w:]+\}`[^`]*`|\]\([^)]*\)")
SENTENCE_END = re.compile(r"[.!?]+[\"'\u201d\u2019)]*(?=\s|$)")
CLOSING = re.compile(r"[,.;:!?)\"'\u201d\u2019%]*")
NOT_READ = (nodes.literal_block, nodes.raw, nodes.title, nodes.comment)


class ClaimList(nodes.container):
    """The folded list of what a page checks."""


def gather(app, doctree):
    """Take the cells of claims out of a page; put the list below its title, and the marks."""
    cells = [(cell, source_of(cell)) for cell in doctree.findall(is_cell)]
    sources = [(cell, block.astext()) for cell, block in cells if block is not None]
    if not any(claims_of(source) for _, source in sources):
        return
    groups, before = [], []
    for cell, source in sources:
        claims = claims_of(source)
        if "tag_claims" in cell["classes"]:
            before.append(shown_source(source))
            _take_source(cell)
        if claims:
            groups.append((claims, "\n\n".join(filter(None, before))))
            before = []
    if any(before):
        claims, code = groups[-1]
        groups[-1] = claims, "\n\n".join(filter(None, [code, *before]))
    title = next(iter(doctree.findall(nodes.title)), None)
    if title is not None:
        place_marks(doctree, [claim.sentence for claims, _ in groups for claim in claims])
        title.parent.insert(title.parent.index(title) + 1, claim_list(groups))


def _take_source(cell):
    """Remove the code of a cell, and the cell where nothing is left of it."""
    cell.remove(cell[0])
    cell.attributes.pop("hide_mode", None)
    if not cell.children:
        cell.parent.remove(cell)


def claim_list(groups):
    """The list of all claims, as what is folded below the title."""
    count = sum(len(claims) for claims, _ in groups)
    holder = ClaimList()
    holder += _raw(
        f'<details class="checks" id="checks"><summary>{count} result{"s" * (count != 1)} checked'
        "</summary><p>Each sentence is quoted from this page. When the book is built, the condition"
        " below it is computed; if it does not hold, the build stops.</p><ol>"
    )
    number = 0
    for claims, before in groups:
        for claim in claims:
            number += 1
            holder += _raw(f'<li id="check-{number}"><p>')
            holder += inline_nodes(claim.sentence)
            holder += _raw(f"</p>{_code(claim.condition)}")
            if before:
                holder += _raw(
                    '<details class="check-code"><summary>Code before the conditions</summary>'
                    f"{_code(before)}</details>"
                )
                before = ""
            holder += _raw("</li>")
    holder += _raw("</ol></details>")
    return holder


def inline_nodes(sentence):
    """The sentence of a claim, with its formulas, code and emphasis."""
    found, at = [], 0
    for match in INLINE.finditer(sentence):
        found.append(nodes.Text(sentence[at : match.start()]))
        at = match.end()
        kind, text = match.lastgroup, match[match.lastgroup or 0]
        if kind == "math":
            found.append(nodes.math("", text.strip("$")))
        elif kind == "role":
            found.append(nodes.Text("\u2026"))
        elif kind == "code":
            found.append(nodes.literal("", text[1:-1]))
        elif kind == "link":
            found.append(nodes.Text(text))
        else:
            form = nodes.strong if kind == "strong" else nodes.emphasis
            found.append(form("", text.strip("*_")))
    return [*found, nodes.Text(sentence[at:])]


def place_marks(doctree, sentences):
    """A mark at the end of each sentence that a claim quotes and that the text holds."""
    text, places = _letters(doctree)
    wanted = {}
    for number, sentence in enumerate(sentences, 1):
        end = _find(text, places, "".join(filter(str.isalnum, ROLE.sub(" ", sentence).casefold())))
        spot = end is not None and _spot(*places[end - 1])
        if spot:
            node, offset = spot
            wanted.setdefault(id(node), (node, {}))[1].setdefault(offset, []).append(number)
    for node, offsets in wanted.values():
        _insert(node, offsets)


def _letters(doctree):
    """The letters and digits of a page in a row, and for each its Text node and offset."""
    letters, places = [], []
    for node in doctree.findall(nodes.Text):
        if _is_silent(node):
            continue
        for offset, sign in enumerate(node.astext()):
            for letter in sign.casefold():
                if letter.isalnum():
                    letters.append(letter)
                    places.append((node, offset))
    return "".join(letters), places


def _is_silent(node):
    while node is not None:
        if isinstance(node, NOT_READ) or is_cell(node):
            return True
        if node.get("refdomain") == "cite" if isinstance(node, nodes.Element) else False:
            return True
        node = node.parent
    return False


def _find(text, places, letters):
    """The index after the first place where `letters` stand as whole words, or None."""
    at = text.find(letters) if letters else -1
    while at >= 0:
        end = at + len(letters)
        if not _joined(places, at - 1) and not _joined(places, end - 1):
            return end
        at = text.find(letters, at + 1)
    return None


def _joined(places, index):
    """Are the letter at `index` and the next one parts of one word?"""
    if not 0 <= index < len(places) - 1:
        return False
    (node, offset), (after, next_offset) = places[index], places[index + 1]
    return node is after and next_offset == offset + 1


def _spot(node, offset):
    """Where the mark of a quotation that ends at `offset` of a Text goes: a node and an offset in
    it, -1 for after the node; None where it cannot stand.
    """
    offset += 1
    while isinstance(node.parent, (nodes.Inline, nodes.math)):
        node, offset = node.parent, -1
    if isinstance(node.parent, (nodes.FixedTextElement, nodes.math_block)):
        return None
    siblings, index = node.parent.children, _index(node)
    if offset == -1:
        if index + 1 == len(siblings) or not isinstance(siblings[index + 1], nodes.Text):
            return node, -1
        node, offset, index = siblings[index + 1], 0, index + 1
    rest = node.astext()[offset:]
    end = SENTENCE_END.search(rest)
    if end:
        return node, offset + end.end()
    if index + 1 == len(siblings):
        return node, offset + len(rest.rstrip())
    return node, offset + CLOSING.match(rest).end()


def _insert(node, offsets):
    """Put marks into a Text at the offsets, or after a node at -1."""
    index = _index(node)
    if -1 in offsets:
        node.parent.insert(index + 1, _mark(offsets[-1]))
        return
    text, parts, at = node.astext(), [], 0
    for offset in sorted(offsets):
        parts += [nodes.Text(text[at:offset]), _mark(offsets[offset])]
        at = offset
    parts.append(nodes.Text(text[at:]))
    parent = node.parent
    parent[index : index + 1] = [part for part in parts if part.astext()]


def _index(node):
    """Which child of its parent a node is; equal Texts are told apart."""
    return next(i for i, one in enumerate(node.parent.children) if one is node)


def _mark(numbers):
    """The mark of one claim or several."""
    many = len(numbers) > 1
    words = f"{len(numbers)} checked results" if many else "checked result"
    listed = " ".join(f"check-{number}" for number in numbers)
    return _raw(
        f'<a class="check-mark" href="#check-{numbers[0]}" data-checks="{listed}"'
        f' aria-label="{words}" title="Show what is checked here"></a>'
    )


def _code(source):
    code = highlight(source, PythonLexer(), HtmlFormatter(nowrap=True)).rstrip("\n")
    return f'<div class="highlight"><pre>{code}</pre></div>'


def _raw(text):
    return nodes.raw("", text, format="html")


def visit_nothing(self, node):
    """The list writes its own tags."""


def setup(app):
    """The list is made before plumbing leaves the cells, and before labs are folded."""
    app.setup_extension("code_cells")
    app.add_node(ClaimList, html=(visit_nothing, visit_nothing))
    app.connect("doctree-read", gather, priority=200)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}

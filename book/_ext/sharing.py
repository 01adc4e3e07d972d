"""What a link to a page shows elsewhere: a description, a title, and its chapter's card.

The description is `description:` in the page's front matter, or the first sentences of its text.
Programs that show a card ask for a full address, so `html_baseurl` in _config.yml must name the
place where the book is served; without it the address of the card is relative to the page.
"""

import hashlib
import html
import io
import re
import shutil
from pathlib import Path

from docutils import nodes
from search_texts import formula
from sphinx import addnodes

from course.book.pages.plots import LIGHT

ROOT = Path(__file__).resolve().parents[2]
SHORTEST, LONGEST = 70, 200  # characters of a description; search engines show about 160
SENTENCE = re.compile(r".*?[.?!…][”’)]?(?=\s|$)", re.S)
SEARCH = "Search the pages, figures and terms of word2serve, a book on language models."
FOLDER, SIZE = "sharing", (1200, 630)
CHAPTER = re.compile(r"(\d\d)-[^/]+/")
CHAPTERS = 17
LEFT_OUT = (
    nodes.admonition,
    nodes.block_quote,
    nodes.container,
    nodes.figure,
    nodes.footnote,
    nodes.raw,
    nodes.system_message,
    nodes.table,
    addnodes.toctree,
)


def words(node) -> str:
    """The text below a node; formulas as a line of text, without the keys of citations."""
    if isinstance(node, addnodes.pending_xref) and node.get("refdomain") == "cite":
        return ""
    if isinstance(node, nodes.raw):
        return ""
    if isinstance(node, nodes.math):
        return formula(node.astext())
    if isinstance(node, nodes.Text):
        return str(node)
    return "".join(words(child) for child in node.children)


def first_sentences(doctree) -> str:
    """The beginning of a page's running text: whole sentences, until they say enough."""
    text = ""
    for paragraph in _paragraphs(doctree):
        plain = re.sub(r"\s+([,.;:])", r"\1", " ".join(words(paragraph).split()))
        for sentence in SENTENCE.findall(plain) or [plain]:
            if sentence.strip()[:1].islower():  # the end of one that a quotation interrupts
                continue
            longer = f"{text} {sentence.strip()}".strip()
            if len(text) >= SHORTEST or text and len(longer) > LONGEST:
                return text
            text = longer
    return text


def _paragraphs(node):
    """The paragraphs of running text below a node, in order."""
    for child in node.children:
        if isinstance(child, nodes.paragraph):
            yield child
        elif not isinstance(child, LEFT_OUT):
            yield from _paragraphs(child)


def shortened(text: str) -> str:
    """A description of at most LONGEST characters, cut between words."""
    if len(text) <= LONGEST:
        return text
    return text[: LONGEST - 1].rsplit(" ", 1)[0].rstrip(",;:") + "…"


def describe(app, doctree):
    """Keep the description of the page that was just read."""
    env = app.env
    own = env.metadata[env.docname].get("description")
    env.__dict__.setdefault("w2s_descriptions", {})[env.docname] = shortened(
        own or first_sentences(doctree)
    )


def forget(app, env, docname):
    """A page that is read again, or is gone, has no description."""
    getattr(env, "w2s_descriptions", {}).pop(docname, None)


def merge(app, env, docnames, other):
    """Gather what another reading process kept."""
    kept = getattr(other, "w2s_descriptions", {})
    env.__dict__.setdefault("w2s_descriptions", {}).update(
        {name: kept[name] for name in docnames if name in kept}
    )


def card_of(pagename: str) -> str:
    """The file name of a page's card: its chapter's, or the book's."""
    found = CHAPTER.match(pagename)
    return f"{found[1]}.png" if found else "book.png"


def add_tags(app, pagename, templatename, context, doctree):
    """The tags for the page's head, which the template writes."""
    title = html.unescape(re.sub(r"<[^>]*>", "", context.get("title") or pagename.capitalize()))
    described = getattr(app.env, "w2s_descriptions", {}).get(pagename) or SEARCH
    chapter = _chapter(app, pagename)
    if chapter and len(described) < SHORTEST // 2:
        described = f"{title} of {chapter}. {described}"
    home = pagename == app.config.root_doc
    base = app.config.html_baseurl
    image = f"{FOLDER}/{card_of(pagename)}"
    tags = [
        ("name", "description", described),
        ("property", "og:title", app.config.html_title if home else title),
        ("property", "og:description", described),
        ("property", "og:type", "website" if home else "article"),
        ("property", "og:site_name", app.config.html_title),
        ("property", "og:image", base + image if base else context["pathto"](image, 1)),
        ("property", "og:image:width", str(SIZE[0])),
        ("property", "og:image:height", str(SIZE[1])),
        ("property", "og:image:alt", f"word2serve, {chapter}" if chapter else "word2serve"),
        ("name", "twitter:card", "summary_large_image"),
    ]
    if base:
        tags.append(("property", "og:url", f"{base}{app.builder.get_target_uri(pagename)}"))
    context["w2s_sharing"] = "\n  ".join(
        f'<meta {kind}="{name}" content="{html.escape(text)}">' for kind, name, text in tags
    )


def _chapter(app, pagename):
    """The number and title of the chapter of a page; "" where it is in none."""
    found = CHAPTER.match(pagename)
    title = _chapters(app).get(found[1]) if found else None
    return f"chapter {int(found[1])}, {title}" if title else ""


def _chapters(app):
    """The titles of the chapters by their two digits."""
    return {
        name[:2]: title.astext()
        for name, title in app.env.titles.items()
        if name.endswith("/index") and CHAPTER.match(name)
    }


def write_cards(app, error):
    """A card for the book and for each chapter; those drawn in earlier builds are kept."""
    if error is not None or app.builder.format != "html":
        return
    kept, target = Path(app.outdir).parent / FOLDER, Path(app.outdir, FOLDER)
    kept.mkdir(exist_ok=True)
    target.mkdir(exist_ok=True)
    code = Path(__file__).read_bytes()
    for number, title in {"book": "From word2vec to a server", **_chapters(app)}.items():
        state = hashlib.sha256(code + f"{number} {title}".encode()).hexdigest()[:16]
        drawn = kept / f"{number}-{state}.png"
        if not drawn.exists():
            for old in kept.glob(f"{number}-*.png"):
                old.unlink()
            drawn.write_bytes(card(number, title))
        shutil.copyfile(drawn, target / f"{number}.png")


def card(number: str, title: str) -> bytes:
    """A PNG with the name of a chapter, its number, and where in the book it is."""
    import textwrap

    from matplotlib.figure import Figure

    width, height = SIZE
    drawing = Figure(figsize=(width / 100, height / 100), dpi=100, facecolor=LIGHT["paper"])
    axes = drawing.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(0, height))
    axes.set_axis_off()
    serif = {"fontfamily": "DejaVu Serif", "color": LIGHT["ink"], "va": "center"}
    _mark(axes, 104, 528, 2.1)
    axes.text(156, 526, "word2serve", fontsize=27, **serif)
    lines = textwrap.wrap(title, 25)
    top = 300 + 38 * (len(lines) - 1)
    if number != "book":
        label = {**serif, "color": LIGHT["ink-soft"]}
        axes.text(80, top + 92, f"Chapter {int(number)}", fontsize=25, **label)
    for line, text in enumerate(lines):
        axes.text(80, top - 82 * line, text, fontsize=45, fontweight="bold", **serif)
    for chapter in range(1, CHAPTERS + 1):
        here = number == f"{chapter:02d}"
        colour = LIGHT["blue"] if here or number == "book" else LIGHT["line"]
        axes.scatter(92 + 64 * (chapter - 1), 82, s=620 if here else 240, color=colour)
    file = io.BytesIO()
    drawing.savefig(file, format="png", metadata={"Software": None})
    return file.getvalue()


def _mark(axes, x, y, scale):
    """The three joined circles of the wordmark, around a point."""
    points = [(-9, -9), (0, 9), (9, -5)]
    across, up = zip(*((x + scale * a, y + scale * b) for a, b in points))
    axes.plot(across, up, color=LIGHT["ink-soft"], linewidth=3, zorder=1)
    for a, b, hue in zip(across, up, ("blue", "orange", "green")):
        axes.scatter(a, b, s=(6 * scale) ** 2, color=LIGHT[hue], zorder=2)


def setup(app):
    """Connect describing, tags and cards; cards are written after the theme has cleared _static."""
    app.connect("doctree-read", describe)
    app.connect("env-purge-doc", forget)
    app.connect("env-merge-info", merge)
    app.connect("html-page-context", add_tags)
    app.connect("build-finished", write_cards, priority=950)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}

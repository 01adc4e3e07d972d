"""The home page's cards and numbers, as a Sphinx extension.

    :::{chapter-cards}
    - [Static embeddings](01-static-embeddings/index.md): one vector for each word
    :::

gives each chapter its drawing (a symbol of home-cards.svg) and says how many pages and exercises it
has. `{home-numbers}` counts what the course has, so that no number is typed, and
{last-change}`book` is the day on which that folder changed last.
"""

import re
import subprocess
from datetime import date
from pathlib import Path

import yaml
from docutils import nodes
from sphinx.util.docutils import SphinxDirective, SphinxRole

BOOK = Path(__file__).resolve().parents[1]
SYMBOL = re.compile(r'<symbol id="c(\d\d)">(.*?)</symbol>', re.S)


def drawings() -> dict[str, str]:
    """The drawing of each chapter, by its number in two digits."""
    return dict(SYMBOL.findall((BOOK / "assets" / "home-cards.svg").read_text(encoding="utf-8")))


def page_counts() -> dict[str, int]:
    """How many pages each chapter has, by its number in two digits."""
    contents = yaml.safe_load((BOOK / "_toc.yml").read_text(encoding="utf-8"))
    chapters = [chapter for part in contents["parts"] for chapter in part["chapters"]]
    return {
        one["file"][:2]: 1 + len(one["sections"]) for one in chapters if one["file"][:2].isdigit()
    }


def course_numbers() -> list[tuple[int, str]]:
    """Four numbers of the course with what they count."""
    from course.book.review.reading_time import counted
    from reference_impl.corpora import small_models

    pages = [path.read_text(encoding="utf-8") for path in BOOK.glob("[0-9]*/*.md")]
    figures = sum(len(re.findall(r"^\s*figure\(", text, re.M)) for text in pages)
    return [
        (len(page_counts()), "chapters, from word vectors to a server"),
        (counted("all exercises", BOOK), "exercises that say what went wrong"),
        (figures, "interactive figures"),
        (len(small_models.names()), "models trained for this book"),
    ]


def last_change(folder: Path) -> date:
    """The day of the last commit to a folder; of its newest file where git does not know it."""
    command = ["git", "log", "-1", "--format=%cs", "--", "."]
    try:
        found = subprocess.run(command, cwd=folder, capture_output=True, text=True).stdout.strip()
    except FileNotFoundError:
        found = ""
    if found:
        return date.fromisoformat(found)
    return date.fromtimestamp(max(path.stat().st_mtime for path in folder.rglob("*")))


class LastChange(SphinxRole):
    """{last-change}`FOLDER`: the day, in words; FOLDER lies in the repository."""

    def run(self):
        day = last_change(BOOK.parent / self.text)
        return [nodes.Text(f"{day.day} {day:%B %Y}")], []


class Cards(SphinxDirective):
    """A list of links to chapters as illustrated cards."""

    has_content = True

    def run(self):
        from autograder.authoring.catalogue import assignments

        exercises = {one.number: len(one.exercises) for one in assignments()}
        box, pictures, counts = nodes.container(classes=["w2s-chapters"]), drawings(), page_counts()
        self.state.nested_parse(self.content, self.content_offset, box)
        for item in box.findall(nodes.list_item):
            found = re.search(r"(\d\d)-[\w-]+/index", item.rawsource or _target(item))
            if not found:
                return [self.state.document.reporter.error("a card has no link to a chapter")]
            number = found[1]
            picture = (
                '<svg class="w2s-card-picture" viewBox="0 0 96 56" aria-hidden="true">'
                f"{pictures[number]}</svg>"
            )
            _split_off_words(item)
            written = f"{counts[number]} pages · {exercises.get(number, 0)} exercises"
            item.insert(0, nodes.raw("", picture, format="html"))
            item += nodes.paragraph(
                "", f"Chapter {int(number)} · {written}", classes=["w2s-card-amount"]
            )
        return [box]


def _split_off_words(item) -> None:
    """Take the colon from between a card's link and its words."""
    text = next((n for n in item.findall(nodes.Text) if n.startswith(": ")), None)
    if text is not None:
        words = text.removeprefix(": ")
        text.parent.replace(text, nodes.Text(words[:1].upper() + words[1:]))


def _target(item) -> str:
    """What the first link of an item leads to."""
    link = next((n for n in item.findall() if "reftarget" in n or "refuri" in n), None)
    return "" if link is None else link.get("reftarget") or link.get("refuri")


class Numbers(SphinxDirective):
    """The four numbers."""

    def run(self):
        entries = "".join(
            f"<div><dt>{words}</dt><dd>{number:,}</dd></div>" for number, words in course_numbers()
        )
        return [nodes.raw("", f'<dl class="w2s-numbers">{entries}</dl>', format="html")]


def setup(app):
    """Register the directives; the page that uses them is read anew each time."""
    app.add_directive("chapter-cards", Cards)
    app.add_directive("home-numbers", Numbers)
    app.add_role("last-change", LastChange())
    app.connect(
        "env-get-outdated", lambda app, env, *_: ["intro"] if "intro" in env.found_docs else []
    )
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}

"""The directives of the review chapter, and the file of questions that its pages work from.

    {exam}        a place for the mock exam, and below it every question that was written for it,
                  with its worked answer
    {deck}        a place for spaced repetition, and links to all flashcards as an Anki package,
                  Markdown and TSV
    {what-next}   a place where the reader's own answers from all pages are gathered

Pages load _static/review-bank.js: questions and cards as HTML, taken from the built pages, so that
they say what those say. It is a script, because a browser that reads the book from disk refuses to
fetch anything else. What the reader answers is kept in the reader's browser (exam.js, repeat.js,
next.js).
"""

import hashlib
import html
import json
import re
from pathlib import Path

from bs4 import BeautifulSoup
from docutils import nodes
from predictions import short
from questions import place
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from course.book.review import exam
from course.book.review import flashcards as deck
from course.book.review.drawn_numbers import shown
from course.book.review.questions import FORMULA, SLOT, QuestionError, load_questions

FOLDER, BANK = "cards", "review-bank.js"
FIELDSET = re.compile(r'<fieldset class="w2s-question"[^>]*data-id="([^"]+)".*?</fieldset>', re.S)
CARD = re.compile(r'<li data-id="([^"]+)"[^>]*><details class="w2s-card">.*?</details></li>', re.S)
PLACE = '<div class="w2s-review" data-w2s-review="{what}"{more}><p>{without}</p></div>'
SCRIPTS = {"exam": "exam.js", "cards": "repeat.js", "next": "next.js"}
log = logging.getLogger(__name__)


def _raw(text):
    return nodes.raw("", text, format="html")


class _Review(SphinxDirective):
    has_content = False

    def files(self):
        """Every chapter's folder with its questions, in order; the page is read again when one
        changes.
        """
        for path in sorted(Path(self.env.srcdir).glob("[0-9][0-9]-*/questions.yml")):
            self.env.note_dependency(str(path))
            try:
                yield path.parent.name, load_questions(path)
            except QuestionError as error:
                raise self.error(str(error)) from None

    def inline(self, text, names=None):
        """The nodes of a line of Markdown; numbers that are drawn become elements that a script can
        fill anew.
        """
        if names:
            formulas = FORMULA.findall(text)
            parts = [
                SLOT.sub(
                    lambda found: (
                        '<span class="w2s-drawn"'
                        f' data-name="{found[1]}">{shown(names[found[1]])}</span>'
                        if found[1] in names
                        else found[0]
                    ),
                    part,
                )
                for part in FORMULA.split(text)
            ]
            text = "".join(part + formula for part, formula in zip(parts, [*formulas, ""]))
        holder = nodes.Element()
        self.state.nested_parse([text], self.content_offset, holder)
        children = holder.children
        return (
            children[0].children
            if len(children) == 1 and isinstance(children[0], nodes.paragraph)
            else children
        )


class Exam(_Review):
    """{exam}: the exam's place, and its own questions to read."""

    def run(self):
        out = [
            _raw(
                PLACE.format(
                    what="exam",
                    more="",
                    without=(
                        "The exam itself needs JavaScript. All questions that were written for it"
                        " are below."
                    ),
                )
            )
        ]
        out.append(
            _raw(
                '<details class="w2s-written"><summary>All questions that were written for the'
                " exam, with worked answers</summary>"
            )
        )
        for folder, questions in self.files():
            for number, question in enumerate(questions.exam):
                head = f"<h3>Chapter {questions.chapter}</h3>" if number == 0 else ""
                out += [_raw(head), *self.one(folder, question)]
        return [*out, _raw("</details>")]

    def one(self, folder, question):
        names = question.variants[0] if question.variants else None
        key = f"{folder[:2]}.{question.id}"
        out = [
            _raw(
                f'<fieldset class="w2s-question" id="exam-{key}" data-id="{question.id}"'
                f' data-folder="{folder}"><legend><span class="w2s-legend">'
            ),
            *self.inline(question.question, names),
            _raw("</span></legend>"),
        ]
        for option in sorted(question.options, key=lambda one: place(question, one)):
            out += [
                _raw('<div class="w2s-option"><span class="w2s-option-text">'),
                *self.inline(option.text),
                _raw('</span><div class="w2s-why">'),
                *self.inline(option.why),
                _raw("</div></div>"),
            ]
        answer = (
            next((option.text for option in question.options if option.correct), None)
            or "{answer} " + question.unit
        )
        return [
            *out,
            _raw('<details class="w2s-answer"><summary>Worked answer</summary><p><strong>'),
            *self.inline(answer.strip(), names),
            _raw('</strong></p><p class="w2s-worked">'),
            *self.inline(question.worked, names),
            _raw("</p></details></fieldset>"),
        ]


class Deck(_Review):
    """{deck}: the place of spaced repetition, and the files to take away."""

    def run(self):
        many = sum(len(questions.flashcards) for _, questions in self.files())
        here = "../" * self.env.docname.count("/") + FOLDER
        return [
            _raw(
                PLACE.format(
                    what="cards",
                    more="",
                    without=(
                        "Reviewing in the page needs JavaScript. Each chapter's cards are at the"
                        " end of its last page."
                    ),
                )
                + f'<ul class="w2s-files"><li><a href="{here}/word2serve.apkg"'
                f" download>word2serve.apkg</a>: {many} cards for Anki</li><li><a"
                f' href="{here}/word2serve-cards.md" download>word2serve-cards.md</a>: Markdown,'
                f' <code>front -?- back</code></li><li><a href="{here}/word2serve-cards.tsv"'
                " download>word2serve-cards.tsv</a>: a table, one card a line</li></ul>"
            )
        ]


class WhatNext(_Review):
    """{what-next}: the place where the reader's answers come together."""

    def run(self):
        return [
            _raw(
                PLACE.format(
                    what="next",
                    more="",
                    without=(
                        "This list is made in your browser from what you answered, and needs"
                        " JavaScript. Without it, the quiz at the end of a page tells you the same"
                        " page by page."
                    ),
                )
            )
        ]


def add_assets(app, pagename, templatename, context, doctree):
    """Scripts and style on the pages that have a place for them."""
    body = context.get("body") or ""
    wanted = [file for what, file in SCRIPTS.items() if f'data-w2s-review="{what}"' in body]
    if wanted:
        app.add_css_file("review.css")
        for file in [BANK, "review-tools.js", *wanted]:
            app.add_js_file(file, loading_method="defer")


def check_lengths(app):
    """Stop a strict build where the longest option would give answers away."""
    try:
        found = exam.telling_lengths(exam.exam_bank(Path(app.srcdir)))
    except QuestionError as error:
        found = str(error)
    if found:
        log.warning(f"the mock exam: {found}", type="w2s", subtype="review")


def write_files(app, error):
    """The bank of questions and the files of cards, once all pages are written."""
    if (
        error is not None
        or app.builder.format != "html"
        or not list(Path(app.outdir, "16-review").glob("*.html"))
    ):
        return
    book, out = Path(app.srcdir), Path(app.outdir)
    text = json.dumps(gather(app, book, out), ensure_ascii=False, separators=(",", ":"))
    Path(out, "_static", BANK).write_text(f"window.w2sBank = {text};\n", encoding="utf-8")
    cards = deck.all_cards(book)
    Path(out, FOLDER).mkdir(exist_ok=True)
    deck.write_package(cards, Path(out, FOLDER, "word2serve.apkg"))
    Path(out, FOLDER, "word2serve-cards.tsv").write_text(deck.as_table(cards), encoding="utf-8")
    Path(out, FOLDER, "word2serve-cards.md").write_text(deck.as_notes(cards), encoding="utf-8")


def gather(app, book, out):
    """All that the review's scripts need: items in the order of `exam_bank`, cards, chapters, the
    plan and the pass mark.
    """
    bank = exam.exam_bank(book)
    shown_at, cards, chapters = {}, [], []
    for folder, questions in _folders(book):
        if not Path(out, folder, "index.html").is_file():
            continue
        seen = _pages(app, book, out, folder, shown_at, cards)
        chapters.append(
            {
                "number": questions.chapter,
                "folder": folder,
                "title": app.env.titles[f"{folder}/index"].astext(),
                "pages": seen,
                "exercises": (
                    _exercises(questions.chapter)
                    if Path(out, folder, "exercises.html").is_file()
                    else []
                ),
            }
        )
    written = Path(out, "16-review", "exam.html")
    if written.is_file():
        for field in FIELDSET.finditer(written.read_text(encoding="utf-8")):
            folder = re.search(r'data-folder="([^"]+)"', field[0])[1]
            shown_at[f"{folder[:2]}.{field[1]}"] = ("exam", field[0])
    texts = {
        f"{folder[:2]}.{one.id}": (folder, one)
        for folder, questions in _folders(book)
        for one in (*questions.quiz, *questions.exam)
    }
    items = [
        _entry(app, item, *texts[item.key], *shown_at[item.key])
        for item in bank
        if item.key in shown_at
    ]
    kept = [item for item in bank if item.key in shown_at]
    return {
        "items": items,
        "plan": exam.blueprint(kept),
        "minutes": exam.MINUTES,
        "pass": exam.pass_mark([1 / 3] * exam.QUESTIONS),
        "cards": cards,
        "chapters": chapters,
        "state": hashlib.sha256(repr(kept).encode()).hexdigest()[:16],
    }


def _folders(book):
    return [
        (path.parent.name, load_questions(path))
        for path in sorted(book.glob("[0-9][0-9]-*/questions.yml"))
    ]


def _pages(app, book, out, folder, shown_at, cards):
    """What each page of a chapter asks; fills `shown_at` and `cards` on the way."""
    seen = []
    predicted = getattr(app.env, "w2s_predictions", {})
    for file in sorted((book / folder).glob("*.md")):
        docname, built = f"{folder}/{file.stem}", out / folder / f"{file.stem}.html"
        if not built.is_file() or docname not in app.env.titles:
            continue
        text = built.read_text(encoding="utf-8")
        quiz = []
        if 'data-w2s-questions="quiz"' in text:
            for field in FIELDSET.finditer(text):
                shown_at[f"{folder[:2]}.{field[1]}"] = (docname, field[0])
                quiz.append(field[1])
        here = [_card(folder, docname, found) for found in CARD.finditer(text)]
        cards += here
        asked = {name: short(question) for name, question in predicted.get(docname, {}).items()}
        if quiz or asked or here:
            seen.append(
                {
                    "page": docname,
                    "title": app.env.titles[docname].astext(),
                    "quiz": quiz,
                    "predictions": asked,
                    "cards": [card["key"] for card in here],
                }
            )
    return seen


def _card(folder, docname, found):
    soup = BeautifulSoup(found[0], "html.parser")
    for extra in soup.select(".w2s-known, .w2s-card-chapter"):
        extra.decompose()
    return {
        "key": f"{folder[:2]}.{found[1]}",
        "chapter": int(folder[:2]),
        "page": docname,
        "front": soup.select_one(".w2s-front").decode_contents().strip(),
        "back": soup.select_one(".w2s-back").decode_contents().strip(),
    }


def _entry(app, item, folder, question, page, field):
    """One item with its texts as HTML; options in the order of questions.yml, which a draw's order
    means.
    """
    soup = BeautifulSoup(field, "html.parser")
    nodes_shown = soup.select(".w2s-option")
    ranked = sorted(question.options, key=lambda one: place(question, one))
    options = [
        {
            "text": node.select_one(".w2s-option-text").decode_contents().strip(),
            "why": node.select_one(".w2s-why").decode_contents().strip(),
            "right": option.correct,
        }
        for option, node in sorted(
            zip(ranked, nodes_shown), key=lambda pair: question.options.index(pair[0])
        )
    ]
    if item.written:
        page = f"{folder}/{question.page}"
    worked = soup.select_one(".w2s-worked")
    entry = {
        "key": item.key,
        "chapter": item.chapter,
        "written": item.written,
        "page": page,
        "title": app.env.titles[page].astext(),
        "question": soup.select_one(".w2s-legend").decode_contents().strip(),
        "options": options,
    }
    if worked:
        entry["worked"] = worked.decode_contents().strip()
    if item.variants:
        entry |= {
            "within": question.within,
            "unit": html.escape(question.unit),
            "variants": [
                {name: [number, shown(number)] for name, number in one.items()}
                for one in question.variants
            ],
        }
    return entry


def _exercises(chapter):
    from practice import row_id

    from autograder.authoring.catalogue import assignments

    return [
        {"id": name, "points": one.points, "row": row_id(name)}
        for assignment in assignments()
        for name, one in assignment.exercises.items()
        if name.startswith(f"{chapter:02d}.")
    ]


def setup(app):
    """Register directives and events; files are written after the theme has cleared what nobody
    loads.
    """
    for name, directive in (("exam", Exam), ("deck", Deck), ("what-next", WhatNext)):
        app.add_directive(name, directive)
    app.connect("builder-inited", check_lengths)
    app.connect("html-page-context", add_assets)
    app.connect("build-finished", write_files, priority=960)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}

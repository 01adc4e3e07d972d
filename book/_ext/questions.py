"""The directives {quiz} and {flashcards}: static, accessible HTML from a chapter's questions.yml.

    ```{quiz} questions.yml
    :only: pmi
    ```

`only` takes the entries whose id begins with that word and a hyphen; without it all entries are
shown.

Without scripts a quiz is readable: each question is a fieldset, its answer lies in a <details>.
With assets/questions.js the reader is told at once why the chosen option is right or wrong, and the
score in words.
"""

import hashlib
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

from course.book.review.questions import QuestionError, load_questions


class _FromFile(SphinxDirective):
    required_arguments = 1
    has_content = False
    option_spec = {"only": directives.unchanged_required}

    def run(self):
        path = (Path(self.env.doc2path(self.env.docname)).parent / self.arguments[0]).resolve()
        self.env.note_dependency(str(path))
        try:
            return self.render(load_questions(path))
        except QuestionError as error:
            raise self.error(str(error)) from None

    def chosen(self, entries, kind):
        """The entries that `only` asks for. Raises QuestionError if none is left."""
        prefix = self.options.get("only")
        kept = [entry for entry in entries if prefix is None or entry.id.startswith(f"{prefix}-")]
        if not kept:
            raise QuestionError(
                f"{self.arguments[0]}: no {kind}"
                + (f" whose id begins with {prefix}-" if prefix else "")
            )
        return kept

    def inline(self, text):
        """The nodes of one piece of Markdown; a single paragraph becomes its inline content."""
        holder = nodes.Element()
        self.state.nested_parse(
            [text] if isinstance(text, str) else text, self.content_offset, holder
        )
        children = holder.children
        return (
            children[0].children
            if len(children) == 1 and isinstance(children[0], nodes.paragraph)
            else children
        )

    def page_id(self):
        return self.env.docname.replace("/", "-")


def place(question, option):
    """Authors tend to write the right option first: order by a hash, the same at every build."""
    return hashlib.sha256(f"{question.id}|{option.text}".encode()).digest()


def _raw(html):
    return nodes.raw("", html, format="html")


class Quiz(_FromFile):
    """{quiz} FILE: the multiple-choice questions of FILE."""

    def render(self, questions):
        out = [
            _raw(f'<div class="w2s-quiz" data-w2s-questions="quiz" data-key="{self.page_id()}">')
        ]
        for number, question in enumerate(self.chosen(questions.quiz, "quiz question"), 1):
            out += self._question(number, question)
        out.append(
            _raw(
                '<div class="w2s-score" hidden><p role="status" class="w2s-score-text"></p>'
                '<button type="button" class="w2s-again">Start again</button></div></div>'
            )
        )
        return out

    def _question(self, number, question):
        name = f"quiz-{question.id}"
        out = [
            _raw(
                f'<fieldset class="w2s-question" id="{name}" data-id="{question.id}">'
                f'<legend><span class="w2s-number">{number}</span><span class="w2s-legend">'
            ),
            *self.inline(question.question),
            _raw("</span></legend>"),
        ]
        for position, option in enumerate(
            sorted(question.options, key=lambda one: place(question, one))
        ):
            mark = ' data-correct="true"' if option.correct else ""
            out += [
                _raw(
                    f'<div class="w2s-option"{mark}><label><input type="radio" name="{name}"'
                    f' value="{position}" autocomplete="off"><span class="w2s-option-text">'
                ),
                *self.inline(option.text),
                _raw('</span></label><div class="w2s-why" hidden>'),
                *self.inline(option.why),
                _raw("</div></div>"),
            ]
        right = next(option for option in question.options if option.correct)
        out += [
            _raw(
                '<p class="w2s-verdict" role="status"></p><details'
                ' class="w2s-answer"><summary>Answer</summary><p><strong>'
            ),
            *self.inline(right.text),
            _raw("</strong></p><p>"),
            *self.inline(right.why),
            _raw("</p></details></fieldset>"),
        ]
        return out


class Flashcards(_FromFile):
    """{flashcards} FILE: the cards of FILE, each a native disclosure."""

    def render(self, questions):
        out = [
            _raw(
                '<div class="w2s-cards" data-w2s-questions="flashcards"'
                f' data-key="{self.page_id()}"><div class="w2s-cards-bar" hidden><button'
                ' type="button" class="w2s-shuffle">Shuffle</button> <button type="button"'
                ' class="w2s-hide">Close all</button> <span class="w2s-cards-text"'
                ' role="status"></span></div><ul class="w2s-deck">'
            )
        ]
        number = questions.chapter
        chapter = f' data-chapter="{number}"' if number else ""
        label = f'<p class="w2s-card-chapter">Chapter {number}</p>' if number else ""
        for card in self.chosen(questions.flashcards, "flashcard"):
            out += [
                _raw(
                    f'<li data-id="{card.id}"{chapter}><details class="w2s-card"><summary><span '
                    'class="w2s-front">'
                ),
                *self.inline(card.front),
                _raw('</span></summary><div class="w2s-back">'),
                *self.inline(card.back),
                _raw(
                    label
                    + '<div class="w2s-known" hidden><button type="button" aria-pressed="false">I'
                    " knew it</button></div></div></details></li>"
                ),
            ]
        out.append(_raw("</ul></div>"))
        return out


def setup(app):
    """Register the two directives."""
    app.add_directive("quiz", Quiz)
    app.add_directive("flashcards", Flashcards)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}

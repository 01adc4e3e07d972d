"""Read a chapter's questions.yml: the quiz, the flashcards and the exam's questions, checked entry
by entry.

One file per chapter feeds the book's pages, the mock exam and the export of flashcards:

    quiz:
      - id: window-size                     # lower-case words joined by hyphens, unique in the file
        question: What grows with the window?
        options:
          - {text: The number of counted pairs, correct: true,
             why: Each word meets more neighbours.}
          - {text: The vocabulary, why: The vocabulary depends on the text only.}
    flashcards:
      - {id: ppmi, front: What is PPMI?, back: PMI with negative values set to zero.}
    exam:
      # options as in the quiz, or numbers that are drawn (course/book/review/drawn_numbers.py)
      - id: two-slots
        page: pmi                      # the page to read again
        question: "A word has {n} neighbours at each side. How many pairs does it give?"
        draw: {n: [2, 3, 4]}
        answer: 2 * n
        worked: "Each neighbour is one pair, so there are 2 times {n}, which is {answer}."

`why` is asked of every option: a reader who chose wrongly learns most from it. Text is Markdown.
Not here: how it looks (book/_ext/questions.py) and what the reader answered (the reader's own
browser).
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from course.book.review.drawn_numbers import DrawnError, variants

ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*\Z")
BLOCK = re.compile(
    r"(\d+[.)]|[-+*>]|#{1,6})(\s|$)"
)  # texts are inline; these begin a block, and an option would lose its words
FORMULA = re.compile(r"\$[^$]+\$")
SLOT = re.compile(
    r"\{([a-z_]+)\}"
)  # where a drawn number goes; inside of a formula no number can be put later


class QuestionError(Exception):
    """A questions file that cannot be used.

    The message names the file, the entry and the remedy.
    """


@dataclass(frozen=True)
class Option:
    """One possible answer: its text, whether it is right, and why."""

    text: str
    correct: bool
    why: str


@dataclass(frozen=True)
class Question:
    """A multiple-choice question with exactly one correct option."""

    id: str
    question: str
    options: tuple[Option, ...]


@dataclass(frozen=True)
class Card:
    """A flashcard: the front asks, the back answers."""

    id: str
    front: str
    back: str


@dataclass(frozen=True)
class ExamQuestion:
    """A question of the mock exam: with options, or (`variants`) with drawn numbers and a number to
    type, right `within` a share of it.
    """

    id: str
    page: str
    question: str
    worked: str
    options: tuple[Option, ...] = ()
    variants: tuple[dict[str, Any], ...] = ()
    within: float = 0.01
    unit: str = ""


@dataclass(frozen=True)
class Questions:
    """Everything in one questions file; `chapter` is the number at the head of its folder's name,
    None elsewhere.
    """

    quiz: tuple[Question, ...]
    flashcards: tuple[Card, ...]
    chapter: int | None = None
    exam: tuple[ExamQuestion, ...] = ()


def load_questions(path: str | Path) -> Questions:
    """The checked content of `path`.

    Raises QuestionError, which names the file and the entry at fault.

    A file is read once until it changes: each page of a chapter asks for the chapter's questions
    several times.
    """
    path = Path(path)
    try:
        state = path.stat()
    except FileNotFoundError:
        raise QuestionError(f"{path}: no such file; give a path relative to the page") from None
    return _load(path, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=64)
def _load(path, changed, size):
    try:
        content = yaml.load(
            path.read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        )
    except yaml.YAMLError as error:
        raise QuestionError(f"{path}: not YAML: {error}") from None
    if not isinstance(content, dict) or not set(content) <= {"quiz", "flashcards", "exam"}:
        raise QuestionError(
            f"{path}: expected the keys quiz and flashcards, and exam, found "
            f"{sorted(content) if isinstance(content, dict) else type(content).__name__}"
        )
    quiz = tuple(
        _question(path, number, entry) for number, entry in enumerate(content.get("quiz") or [], 1)
    )
    cards = tuple(
        _card(path, number, entry)
        for number, entry in enumerate(content.get("flashcards") or [], 1)
    )
    exam = tuple(
        _exam(path, number, entry) for number, entry in enumerate(content.get("exam") or [], 1)
    )
    seen = set()
    for entry in quiz + cards + exam:
        if entry.id in seen:
            raise QuestionError(
                f"{path}: the id {entry.id!r} is used twice; give each entry its own"
            )
        seen.add(entry.id)
    folder = re.match(r"(\d+)-", path.resolve().parent.name)
    return Questions(quiz, cards, int(folder[1]) if folder else None, exam)


def _question(path, number, entry):
    where = _where(path, "quiz", number, entry)
    _keys(where, entry, {"id", "question", "options"}, set())
    return Question(_id(where, entry), _text(where, entry, "question"), _options(where, entry))


def _options(where, entry):
    if not isinstance(entry["options"], list) or len(entry["options"]) < 2:
        raise QuestionError(f"{where}: options must be a list of two or more")
    options = []
    for position, option in enumerate(entry["options"], 1):
        here = f"{where}, option {position}"
        _keys(here, option, {"text", "why"}, {"correct"})
        if not isinstance(option.get("correct", False), bool):
            raise QuestionError(
                f"{here}: correct is {option['correct']!r}; write true or leave it out"
            )
        options.append(
            Option(
                _text(here, option, "text"),
                option.get("correct", False),
                _text(here, option, "why"),
            )
        )
    right = sum(option.correct for option in options)
    if right != 1:
        raise QuestionError(f"{where}: {right} options are marked correct: true; mark exactly one")
    if len({option.text for option in options}) < len(options):
        raise QuestionError(f"{where}: two options have the same text")
    return tuple(options)


def _exam(path, number, entry):
    where = _where(path, "exam", number, entry)
    if isinstance(entry, dict) and "options" in entry:
        _keys(where, entry, {"id", "page", "question", "options", "worked"}, set())
        more = {"options": _options(where, entry)}
    else:
        _keys(
            where,
            entry,
            {"id", "page", "question", "draw", "answer", "worked"},
            {"let", "within", "unit"},
        )
        more = _drawn(where, entry)
    page = _text(where, entry, "page")
    if not (path.parent / f"{page}.md").is_file():
        raise QuestionError(f"{where}: there is no page {page}.md beside the file")
    return ExamQuestion(
        _id(where, entry),
        page,
        _text(where, entry, "question"),
        _text(where, entry, "worked"),
        **more,
    )


def _drawn(where, entry):
    for key in ("draw", "let"):
        if not isinstance(entry.get(key, {}), dict):
            raise QuestionError(f"{where}: {key} is {entry[key]!r}; give names with their values")
    if not all(isinstance(values, list) and values for values in entry["draw"].values()):
        raise QuestionError(f"{where}: each name in draw takes a list of values")
    within = entry.get("within", 0.01)
    if isinstance(within, bool) or not isinstance(within, (int, float)) or not 0 <= within <= 0.1:
        raise QuestionError(
            f"{where}: within is {within!r}; it is a share of the answer, from 0 to 0.1"
        )
    try:
        made = variants(entry["draw"], entry.get("let", {}), entry["answer"])
    except DrawnError as error:
        raise QuestionError(f"{where}: {error}") from None
    for key in ("question", "worked"):
        text = _text(where, entry, key)
        for name in SLOT.findall(FORMULA.sub("", text)):
            if name not in made[0]:
                raise QuestionError(
                    f"{where}: {key} has {{{name}}}, which is neither drawn nor in let"
                )
        if any(
            name in made[0] for formula in FORMULA.findall(text) for name in SLOT.findall(formula)
        ):
            raise QuestionError(
                f"{where}: {key} has a drawn number inside of a formula; put it beside the formula"
            )
    if "{answer}" in entry["question"]:
        raise QuestionError(f"{where}: the question gives its answer away")
    return {"variants": tuple(made), "within": float(within), "unit": str(entry.get("unit", ""))}


def _card(path, number, entry):
    where = _where(path, "flashcards", number, entry)
    _keys(where, entry, {"id", "front", "back"}, set())
    return Card(_id(where, entry), _text(where, entry, "front"), _text(where, entry, "back"))


def _where(path, section, number, entry):
    name = entry.get("id") if isinstance(entry, dict) else None
    return f"{path}: {section} entry {number}" + (f" ({name})" if name else "")


def _keys(where, entry, needed, optional):
    if not isinstance(entry, dict):
        raise QuestionError(f"{where}: expected the keys {sorted(needed)}, found {entry!r}")
    missing, unknown = needed - set(entry), set(entry) - needed - optional
    if missing:
        raise QuestionError(f"{where}: missing {', '.join(sorted(missing))}")
    if unknown:
        raise QuestionError(f"{where}: unknown key {', '.join(sorted(map(str, unknown)))}")


def _text(where, entry, key):
    value = entry[key]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not value.strip():
        raise QuestionError(
            f"{where}: {key} is {value!r}; write some text (quote yes, no and null)"
        )
    if BLOCK.match(value.strip()):
        raise QuestionError(
            f"{where}: {key} is {value!r}, which Markdown reads as a list, a title or a quotation:"
            " begin otherwise (a number without its dot, for example)"
        )
    if key == "text" and FORMULA.fullmatch(value.strip()):
        raise QuestionError(
            f"{where}: {key} is {value!r}, a formula only, which a screen reader cannot name: put a"
            " word beside it"
        )
    return value.strip()


def _id(where, entry):
    if not isinstance(entry["id"], str) or not ID.match(entry["id"]):
        raise QuestionError(
            f"{where}: id is {entry['id']!r}; use lower-case words joined by hyphens"
        )
    return entry["id"]

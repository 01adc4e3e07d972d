"""How long a page takes, and how much of everything there is: counted from the sources, never
typed.

A reader of English reads some 240 words a minute (Brysbaert 2019); of a text like this one, with a
formula here and there, count 180. On top of the words a page has code to follow, figures to move,
predictions and questions to answer. The seconds below are a rule of thumb, the same for every page.
"""

import re
from pathlib import Path

BOOK = Path(__file__).resolve().parents[3] / "book"
WORDS_A_MINUTE = 180
LAB = re.compile(r"^(`{3,})\{lab\}.*?^(`{3,})\{lab-end\}\s*?\n\2[ \t]*$", re.S | re.M)
SECONDS = {
    "code line": 3,
    "formula": 15,
    "figure": 60,
    "prediction": 60,
    "question": 40,
    "card": 15,
}


def minutes(page: Path) -> int:
    """Minutes that a page of MyST Markdown takes, at least 1: its words, lines of visible code,
    figures and questions.
    """
    parts = amounts(page)
    seconds = parts.pop("word") * 60 / WORDS_A_MINUTE + sum(
        SECONDS[kind] * count for kind, count in parts.items()
    )
    return max(1, round(seconds / 60))


def amounts(page: Path) -> dict[str, int]:
    """How many words, code lines, formulas, figures, predictions, questions and cards a
    page has.
    """
    text = re.sub(r"\A---\n.*?\n---\n", "", page.read_text(encoding="utf-8"), flags=re.S)
    counted = dict.fromkeys(["word", *SECONDS], 0)

    text = LAB.sub(" ", text)

    def fence(match):
        kind, body = match[2].strip(), match[3]
        if kind.startswith("{code-cell}"):
            counted["figure"] += len(re.findall(r"^(?:figure|picture)\(", body, re.M))
            if not re.search(r"^:tags:.*hide-(?:input|cell)", body, re.M):
                counted["code line"] += sum(bool(line.strip()) for line in body.split("\n"))
        elif kind.startswith("{predict}"):
            counted["prediction"] += 1
            return body
        elif kind.startswith(("{quiz}", "{flashcards}")):
            _count_questions(counted, page, kind, body)
        elif kind.startswith("{literalinclude}"):
            counted["code line"] += 15
        elif not kind.startswith("{"):
            counted["code line"] += body.count("\n")
        return " "

    text = re.sub(r"^(`{3,})([^\n]*)\n(.*?)^\1\s*$", fence, text, flags=re.S | re.M)
    text, displays = re.subn(r"\$\$.*?\$\$", " ", text, flags=re.S)
    counted["formula"] = displays
    text = re.sub(r"^(?:%|:[\w-]+:).*$|\]\([^)]*\)|\{[\w:]+\}`[^`]*`", " ", text, flags=re.M)
    counted["word"] = len(re.findall(r"\$[^$]*\$|[^\W_][\w'’-]*", text))
    return counted


def _count_questions(counted, page, kind, body):
    from course.book.review.questions import load_questions

    questions = load_questions(page.parent / kind.split("}", 1)[1].strip())
    only = re.search(r"^:only:\s*(\S+)", body, re.M)
    entries, name = (
        (questions.quiz, "question")
        if kind.startswith("{quiz}")
        else (questions.flashcards, "card")
    )
    counted[name] += sum(only is None or entry.id.startswith(f"{only[1]}-") for entry in entries)


def counted(what: str, folder: Path) -> int | float:
    """A number of the course, by name: "exercises 01", "points 01", "exercise-minutes 01",
    "questions", "cards", or one of TOTALS.

    The first three are of an assignment; the next two of the questions.yml in `folder`. Raises
    ValueError for another name.
    """
    if what in TOTALS:
        return TOTALS[what]()
    kind, _, number = what.partition(" ")
    if kind in ("exercises", "points", "exercise-minutes") and number:
        from autograder.authoring.catalogue import assignment

        chapter = assignment(number)
        if kind == "exercise-minutes":
            return sum(exercise_minutes(chapter).values())
        return len(chapter.exercises) if kind == "exercises" else chapter.points
    if kind in ("questions", "cards") and not number:
        from course.book.review.questions import load_questions

        questions = load_questions(folder / "questions.yml")
        return len(questions.quiz if kind == "questions" else questions.flashcards)
    raise ValueError(
        f"nothing is counted as {what!r}; there are: exercises NN, points NN, exercise-minutes NN,"
        f" questions, cards, {', '.join(TOTALS)}"
    )


def exercise_minutes(chapter) -> dict[str, int]:
    """The minutes on the card of each exercise of an assignment, by its id."""
    found = {}
    for name in chapter.exercises:
        card = chapter.cells[f"{name.split('.', 1)[1]}-card"][0].source
        time = re.search(r"\*\*Time\*\* (\d+) minutes", card)
        if time is None:
            raise ValueError(f"the card of {name} says no time; write **Time** 12 minutes")
        found[name] = int(time[1])
    return found


def reading_hours() -> int:
    """The hours that the pages of all chapters take together, rounded."""
    return round(sum(map(minutes, BOOK.glob("[0-9]*/*.md"))) / 60)


def exercise_hours() -> int:
    """The hours on the cards of all exercises together, rounded."""
    from autograder.authoring.catalogue import assignments

    return round(sum(sum(exercise_minutes(one).values()) for one in assignments()) / 60)


def exercise_count() -> int:
    """How many exercises all assignments have together."""
    from autograder.authoring.catalogue import assignments

    return sum(len(one.exercises) for one in assignments())


TOTALS = {
    "all exercises": exercise_count,
    "hours of reading": reading_hours,
    "hours of exercises": exercise_hours,
}

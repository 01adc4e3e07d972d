"""`viva("04.attention")` in a notebook: the questions on the reader's own function, for practice.

It runs in the notebook's process, as `check` does, and nothing of it is recorded or graded.
"""

import sys

from autograder.checks.protocol import EXERCISES, Exercise, LocalStudent, load_checks
from autograder.checks.rubric import page_in_words
from autograder.checks.student.timeout import TimedStudent
from autograder.common.errors import CourseError
from autograder.grading.assignment import load_assignment
from autograder.viva.ask import Asked, ask_all, draws, handed_out_of, recorder_cell

LETTERS = "abcd"
HOW = 'Answer on paper, then: viva("{id}", "{letters}") with your letters.'


def viva(id: str, answers: str = "", seed: str = "") -> None:
    """Print three questions about your own function, or say which of your answers are right.

    id: of an exercise with a function, such as "04.attention". answers: your letters, such as
    "abd"; `-` for none. seed: any text, for other questions. The cell that defines the function
    must have been run in this notebook.
    """
    namespace = sys._getframe(1).f_globals
    try:
        exercise = _exercise(id)
        asked = _asked(exercise, namespace, seed)
        print("\n".join(_corrected(exercise, asked, answers) if answers else _lines(asked)))
    except LookupError as error:
        print(error.args[0])


def _exercise(id: str) -> Exercise:
    number = id.partition(".")[0]
    load_checks(number if number.isdigit() and "." in id else "")
    found = EXERCISES.get(id)
    if found is None or found.kind != "function":
        known = ", ".join(one.id for one in EXERCISES.values() if one.kind == "function")
        raise LookupError(f"No exercise {id!r} has a function to ask about; there are {known}.")
    return found


def _asked(exercise: Exercise, namespace: dict, seed: str) -> Asked:
    """The questions; the student's names are copied, so that the recorder's stay out of them."""
    source = _source(exercise.function, namespace)
    names = dict(namespace)
    exec(compile(recorder_cell().source, "<viva>", "exec"), names)
    try:
        handed_out = handed_out_of(load_assignment(exercise.id.partition(".")[0]))
    except (OSError, CourseError):  # a package for students: then all lines count as theirs
        handed_out = {}
    student = TimedStudent(LocalStudent(names))
    draw_for = draws([exercise], seed, b"practice")
    try:
        asked = ask_all([exercise], student, {exercise.id: source}, draw_for, handed_out)[0]
    finally:
        names["w2s_end"]()  # where it was interrupted, a class would keep its wrappers
    if asked.reason:
        raise LookupError(f"There are no questions on `{exercise.function}`: {asked.reason}.")
    return asked


def _source(function: str, namespace: dict) -> str:
    """The last cell that was run and defines a function or class of this name."""
    for cell in reversed(namespace.get("In", [])):
        lines = cell.split("\n") if isinstance(cell, str) else []
        starts = (f"def {function}(", f"class {function}(", f"class {function}:")
        if any(line.startswith(starts) for line in lines):
            return cell
    raise LookupError(
        f"No cell that was run in this notebook defines `{function}`. Run its cell, and check it."
    )


def _lines(asked: Asked) -> list[str]:
    numbered = [f"{place:3}  {line}" for place, line in enumerate(asked.source.split("\n"), 1)]
    found = [*numbered, "", f"The call is {asked.call}", ""]
    for number, one in enumerate(asked.questions, 1):
        found.append(f"{number}. {one.text}")
        found += [f"   {letter}) {text}" for letter, text in zip(LETTERS, one.options)]
        found.append("")
    return [*found, HOW.format(id=asked.exercise, letters=LETTERS[: len(asked.questions)])]


def _corrected(exercise: Exercise, asked: Asked, answers: str) -> list[str]:
    answers = answers.replace(" ", "").lower()
    if len(answers) != len(asked.questions):
        count = len(asked.questions)
        raise LookupError(f"Give {count} letters, one for each question: {answers!r} has not.")
    found, wrong = [], False
    for number, (letter, one) in enumerate(zip(answers, asked.questions), 1):
        right = LETTERS[one.answer]
        wrong |= letter != right
        said = "right" if letter == right else f"no, {right}) {one.options[one.answer]}"
        found.append(f"{number}. {said}. {one.why}")
    if wrong and exercise.see:
        found.append(f"Read again: {page_in_words(exercise.see)}")
    return found

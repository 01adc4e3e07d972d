"""How many right answers give three questions to their author, and what is guessed without code.

    python bench/viva.py                    an hour on one core
    python bench/viva.py --chapter 04       prints one chapter, records nothing
    python bench/viva.py --every 4          a sample
    python bench/viva.py --sheet 100        prints 100 questions of the last run, without code
    python bench/viva.py --answers abcd...  records somebody's answers to this sheet

Asked is the solution of every function exercise, and every other right answer that the
course keeps and that has source. A question is good when both ways of watching the run
agree on it (autograder/viva drops the others). `positions` counts where the right option is, by
kind; `steps` how many lines run until a question is decided: the median and the ninth decile.
`without_code` holds the shares of the rules in blind_guesser.py, which see questions and options.
Chance is 0.25. The rules do not know the subject: a sheet shows what a reader who does can guess.
"""

import argparse
import json
import linecache
import random
from collections import Counter

from blind_guesser import shares
from record import RESULTS, save

from autograder.authoring.catalogue import assignments
from autograder.authoring.implementations import reference
from autograder.authoring.solution_sources import has_source, reference_sources, with_function
from autograder.checks.mistakes.registry import alternatives_of
from autograder.checks.protocol import LocalStudent
from autograder.grading.assignment import load_assignment
from autograder.viva.ask import Asked, ask_all, draws, functions_of, handed_out_of, recorder_cell
from autograder.viva.kinds.question import Question

LAST_RUN = RESULTS.parents[1] / "_build" / "viva_questions.json"
LETTERS = "abcd"


def answers(assignment) -> list[tuple]:
    """(exercise, source) of the solution and of the alternatives of each function."""
    sources = reference_sources(assignment)
    found = []
    for exercise in functions_of(assignment):
        short = exercise.id.split(".", 1)[1]
        if short not in sources:
            continue
        found.append((exercise, sources[short]))
        for other in alternatives_of(exercise.id):
            if has_source(other.function):
                name = other.replaces or exercise.function
                found.append((exercise, with_function(sources[short], other.function, name)))
    return found


def asked_of(assignment, exercise, source: str) -> Asked:
    """The questions on one answer, which runs next to the assignment's other solutions."""
    names = dict(reference(assignment.number))
    filename = f"answer {len(linecache.cache)}"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    exec(compile(source, filename, "exec"), names)
    exec(compile(recorder_cell().source, "recorder", "exec"), names)
    draw_for = draws([exercise], "ada", b"bench")
    sources, student = {exercise.id: source}, LocalStudent(names)
    return ask_all([exercise], student, sources, draw_for, handed_out_of(assignment))[0]


def main() -> None:
    """Ask about every right answer of every chapter, or of one."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--chapter", default="", metavar="NN")
    parser.add_argument("--every", type=int, default=1, metavar="K", help="every K-th answer")
    parser.add_argument("--sheet", type=int, default=0, metavar="N")
    parser.add_argument("--answers", default="", metavar="LETTERS")
    args = parser.parse_args()
    if args.sheet or args.answers:
        print("\n".join(_sheet(args.sheet)) if args.sheet else _compared(args.answers))
        return
    chapter = args.chapter
    made = []
    for number in [chapter] if chapter else [one.number for one in assignments()]:
        assignment = load_assignment(number)
        some = [asked_of(assignment, *answer) for answer in answers(assignment)[:: args.every]]
        print(number, dict(Counter(len(one.questions) for one in some)), flush=True)
        for one in some:
            if len(one.questions) < 3:
                print("  ", one.exercise, len(one.questions), one.reason[:120], flush=True)
        made += some
    if not chapter:
        _record(made, args.every)


def _record(made: list[Asked], every: int) -> None:
    counts = Counter(len(one.questions) for one in made)
    asked = [question for one in made for question in one.questions]
    steps = sorted(one.steps for one in asked)
    by_chapter = [(one.exercise[:2], question) for one in made for question in one.questions]
    LAST_RUN.write_text(json.dumps([[chapter, one.to_json()] for chapter, one in by_chapter]))
    save(
        "viva",
        versions=("torch",),
        every=every,
        answers=len(made),
        with_questions={str(count): counts[count] for count in range(4)},
        share_with_three=round(counts[3] / len(made), 3),
        reasons=dict(Counter(one.reason[:80] for one in made if one.reason).most_common()),
        kinds=dict(sorted(Counter(one.kind for one in asked).items())),
        positions=dict(sorted(Counter(f"{one.kind} {one.answer}" for one in asked).items())),
        steps={"median": steps[len(steps) // 2], "ninth decile": steps[9 * len(steps) // 10]},
        without_code={rule: round(share, 3) for rule, share in shares(by_chapter).items()},
    )


def _drawn(count: int) -> list[tuple[str, Question]]:
    """The questions of a sheet, with their chapters: the same ones for the same run and count."""
    rows = json.loads(LAST_RUN.read_text())
    rows = random.Random(count).sample(rows, count)
    return [
        (chapter, Question(**{**one, "options": tuple(one["options"])})) for chapter, one in rows
    ]


def _sheet(count: int) -> list[str]:
    """Questions and options, without code, call or key."""
    lines = []
    for number, (chapter, one) in enumerate(_drawn(count), 1):
        lines.append(f"{number}. (chapter {chapter}) {one.text}")
        lines += [f"   {letter}) {text}" for letter, text in zip(LETTERS, one.options)]
    return lines


def _compared(answers: str) -> str:
    """Put into the record how many letters are right, by kind and in all."""
    drawn = _drawn(len(answers))
    right = [LETTERS[one.answer] == letter for letter, (_, one) in zip(answers, drawn)]
    by_kind = Counter(one.kind for (_, one), is_right in zip(drawn, right) if is_right)
    path = RESULTS / "viva.json"
    record = json.loads(path.read_text())
    record["reader_without_code"] = {
        "asked": len(answers),
        "right": sum(right),
        "asked_by_kind": dict(sorted(Counter(one.kind for _, one in drawn).items())),
        "right_by_kind": dict(sorted(by_kind.items())),
        "answers": answers,
        "key": "".join(LETTERS[one.answer] for _, one in drawn),
    }
    path.write_text(json.dumps(record, indent=1) + "\n")
    return f"{sum(right)} of {len(answers)} right"


if __name__ == "__main__":
    main()

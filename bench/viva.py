"""How many right answers give three questions to their author, and why the others do not.

    python bench/viva.py                    half an hour on one core
    python bench/viva.py --chapter 04       prints one chapter, records nothing
    python bench/viva.py --every 4          a sample

Asked is the solution of every function exercise, and every other right answer that the
course keeps and that has source. A question is good when both ways of watching the run
agree on it and its four options differ (autograder/viva drops the others). `positions`
counts where the right option is, by kind; `steps` how many lines run until a question is
decided: the median and the ninth decile.
"""

import argparse
import linecache
from collections import Counter

from record import save

from autograder.authoring.catalogue import assignments
from autograder.authoring.implementations import reference
from autograder.authoring.solution_sources import has_source, reference_sources, with_function
from autograder.checks.mistakes.registry import alternatives_of
from autograder.checks.protocol import LocalStudent
from autograder.grading.assignment import load_assignment
from autograder.viva.ask import Asked, ask_all, draws, functions_of, handed_out_of, recorder_cell


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
    args = parser.parse_args()
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
    )


if __name__ == "__main__":
    main()

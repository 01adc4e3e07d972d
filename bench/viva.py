"""How many right answers give three questions to their author, and why the others do not.

    python bench/viva.py        ten minutes on one core

Asked is the solution of every function exercise, and every other right answer that the
course keeps and that has source. A question is counted as good when both ways of
watching the run agree on it and its four options differ (autograder/viva drops the
others). `places` counts where the right option is, by kind.
"""

import argparse
from collections import Counter

from record import save

from autograder.authoring.catalogue import assignments
from autograder.authoring.implementations import reference
from autograder.authoring.solution_sources import has_source, reference_sources, with_function
from autograder.checks.mistakes.registry import alternatives_of
from autograder.checks.protocol import LocalStudent
from autograder.grading.assignment import load_assignment
from autograder.viva.ask import Asked, ask_all, draws, functions_of, recorder_cell


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
    if "triton.jit" in source:
        return Asked(exercise.id, exercise.function, source, reason="it is a Triton kernel")
    names = dict(reference(assignment.number))
    exec(compile(source, "answer", "exec"), names)
    exec(compile(recorder_cell().source, "recorder", "exec"), names)
    draw_for = draws([exercise], "ada", b"bench")
    return ask_all([exercise], LocalStudent(names), {exercise.id: source}, draw_for)[0]


def main() -> None:
    """Ask about every right answer of every chapter."""
    argparse.ArgumentParser(description=__doc__.split("\n", 1)[0]).parse_args()
    made = [
        asked_of(assignment, exercise, source)
        for assignment in map(load_assignment, (one.number for one in assignments()))
        for exercise, source in answers(assignment)
    ]
    counts = Counter(len(one.questions) for one in made)
    places = Counter(
        f"{question.kind} {question.answer}" for one in made for question in one.questions
    )
    save(
        "viva",
        versions=("torch",),
        answers=len(made),
        with_questions={str(count): counts[count] for count in range(4)},
        share_with_three=round(counts[3] / len(made), 3),
        reasons=dict(Counter(one.reason for one in made if one.reason).most_common()),
        places=dict(sorted(places.items())),
    )


if __name__ == "__main__":
    main()

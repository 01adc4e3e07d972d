"""A short answer, graded by hand: one call declares the exercise, its rubric and the sample answers
that calibrate it.

    short_answer("02.own_words", points=4, see="02-tokenization/words", rubric={
        "bytes": (1, "Says that every text is bytes, so nothing is unknown."),
        "share": (2, "Compares how many tokens the two corpora need."),
        "price": (1, "Names a price: memory, context or money.")},
        samples=[Sample("Weak", "Tokens are words.", {}, "None of the rows."),
                 Sample("Fair", "Everything is bytes ...", {"bytes": 1, "share": 1},
                        "Row 2 half: one corpus only."),
                 Sample("Strong", "...", {"bytes": 1, "share": 2, "price": 1}, "All rows.")])

In the solutions file, a line `{{rubric}}` on the card becomes the table that students see, and
`{{samples}}` inside the solution of the answer's cell becomes what the grader sees in formgrader.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from autograder.checks.exercise import Exercise, exercise

RULE = (
    "**For the grader.** Give points by the rows of the rubric. Don't take points for language or"
    " length, and don't give a row twice. A wrong statement costs nothing by itself, unless it"
    " contradicts the row that it would earn."
)
KEPT: dict[str, "ShortAnswer"] = {}


@dataclass(frozen=True)
class Sample:
    """An answer as a student might write it: a word for it, its text, the points of each row it
    earns, and why.
    """

    name: str
    text: str
    earns: Mapping[str, float]
    why: str


@dataclass(frozen=True)
class ShortAnswer:
    """What was declared: rows of the rubric (points and sentence, by name) and samples."""

    rubric: Mapping[str, tuple[float, str]]
    samples: Sequence[Sample]

    def rubric_table(self) -> str:
        """Markdown for the card."""
        rows = [f"| {name} | {text} | {points:g} |" for name, (points, text) in self.rubric.items()]
        return "\n".join(["| row | what earns it | points |", "| --- | --- | --: |", *rows])

    def samples_text(self) -> str:
        """Markdown for the grader: the rule, then each sample with its points, row by row."""
        total = sum(points for points, _ in self.rubric.values())
        parts = [RULE]
        for one in self.samples:
            earned = ", ".join(
                f"{name} {one.earns.get(name, 0):g} of {points:g}"
                for name, (points, _) in self.rubric.items()
            )
            parts += [
                (
                    f"**{one.name}, {sum(one.earns.values()):g} of {total:g}**"
                    f' ({earned}).\n"{one.text}"'
                ),
                f"*Why*: {one.why}",
            ]
        return "\n\n".join(parts)


def short_answer(
    id: str,
    *,
    points: float,
    rubric: Mapping[str, tuple[float, str]],
    samples: Sequence[Sample],
    see: str = "",
) -> Exercise:
    """Declare a short answer.

    Raises ValueError for a rubric or samples that do not calibrate anything.
    """
    total = sum(row for row, _ in rubric.values())
    if total != points:
        raise ValueError(
            f"{id} is worth {points:g} points, but the rows of its rubric add up to {total:g}"
        )
    for one in samples:
        for name, given in one.earns.items():
            if name not in rubric or not 0 <= given <= rubric[name][0]:
                raise ValueError(
                    f"{id}: the sample {one.name!r} earns {given:g} for {name!r}, which the rubric"
                    " does not give"
                )
    scores = sorted(sum(one.earns.values()) for one in samples)
    if len(scores) < 3 or scores[-1] != points or scores[0] > points / 3 or len(set(scores)) < 3:
        raise ValueError(
            f"{id}: samples of {', '.join(f'{score:g}' for score in scores) or 'no'} points"
            " calibrate nothing; give one with all points, one with few, and one between"
        )
    if earned_never := [name for name in rubric if not any(one.earns.get(name) for one in samples)]:
        raise ValueError(f"{id}: no sample earns the row {earned_never[0]!r}")
    KEPT[id] = ShortAnswer(dict(rubric), list(samples))
    return exercise(id, points=points, kind="manual", see=see)


def filled_in(id: str, text: str) -> str:
    """A cell's text with `{{rubric}}` and `{{samples}}` replaced.

    Raises ValueError if nothing was declared for them.
    """
    if "{{rubric}}" not in text and "{{samples}}" not in text:
        return text
    if id not in KEPT:
        raise ValueError(
            f'{id}: the cell has a place for a rubric, but no `short_answer("{id}", ...)` was'
            " declared"
        )
    return text.replace("{{rubric}}", KEPT[id].rubric_table()).replace(
        "{{samples}}", KEPT[id].samples_text()
    )

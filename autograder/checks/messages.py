"""What a student is told about a stage: which texts, in which order, and how long.

The first line is the explanation of the registered mistake that gives exactly the student's
results, or else the cause that the stage names. The second is one failing input with what came and
what was expected; the feedback page leaves that out, as grading's inputs are hidden. The notebook,
`course check` and the feedback page all take their texts from here. A hint that the numbers give by
themselves (`likeness`) comes after the cause, and nowhere in an exercise in which a registered
mistake is recognised.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from autograder.checks.assertions.values import shortened
from autograder.checks.results import EARNING, FAILED, StageResult, Status
from autograder.checks.stages import Run

MOST = 600  # characters of all that is said of one stage
KNOWN = 280  # of them at most for the registered mistake
DETAIL = 160  # of them at least for numbers or a traceback, if there are as many
MAY_FOLLOW = (Status.WRONG, Status.ERROR, Status.TIME, Status.MEMORY, Status.KILLED)


def worded(runs: list[Run], results: list[StageResult]) -> list[StageResult]:
    """The results with their final texts: hints added where nothing better is known, and nothing
    too long.
    """
    recognised = any(result.misconception for result in results)
    return [
        limited(
            result
            if recognised or result.status not in FAILED
            else replace(result, cause=f"{result.cause} {run.hint}".strip())
        )
        for run, result in zip(runs, results)
    ]


def limited(result: StageResult) -> StageResult:
    """The result with at most MOST characters of text."""
    known = shortened(result.misconception, KNOWN)
    cause = shortened(result.cause, MOST - len(known) - min(len(result.detail), DETAIL))
    detail = _ends_of(result.detail, MOST - len(known) - len(cause))
    return replace(result, misconception=known, cause=cause, detail=detail)


def sentences(stage: StageResult | Mapping) -> list[str]:
    """What is said of a stage in words: the registered mistake if it is known, else the cause.

    stage: a result, or its record in a dictionary.
    """
    stage = _record(stage)
    return [text for text in (stage["misconception"] or stage["cause"],) if text]


def first_failure(stages: Sequence) -> StageResult | Mapping | None:
    """The stage to begin with: the first that earns nothing, or else the first that earns less for
    a slip.
    """
    statuses = [_record(stage)["status"] for stage in stages]
    failed = next((place for place, status in enumerate(statuses) if status not in EARNING), None)
    place = (
        failed
        if failed is not None
        else next((i for i, status in enumerate(statuses) if status == Status.SLIP), None)
    )
    return None if place is None else stages[place]


def following(stages: Sequence) -> str:
    """One line with the names of the stages that fail after the first, which may be why they do; or
    "".
    """
    first = first_failure(stages)
    names = [
        record["name"]
        for stage, record in zip(stages, map(_record, stages))
        if stage is not first and record["status"] in MAY_FOLLOW
    ]
    return f"This may follow from it: {', '.join(names)}." if first is not None and names else ""


def told(stages: Sequence) -> list:
    """The stages of which more than a name is said: the first failure, and what never follows from
    another stage.
    """
    capped = next((stage for stage in stages if _record(stage)["status"] == Status.CAPPED), None)
    first = first_failure(stages)
    return [
        stage
        for stage in stages
        if stage is first
        or stage is capped
        or _record(stage)["status"] in (Status.SLIP, Status.FAULT)
    ]


def _record(stage: StageResult | Mapping) -> Mapping:
    return vars(stage) if isinstance(stage, StageResult) else stage


def _ends_of(text: str, most: int) -> str:
    """The first line, and as many of the last as fit: there stand the exception, or what came and
    what was expected.
    """
    if len(text) <= most:
        return text
    first, *rest = text.split("\n")
    if not rest:
        return shortened(text, most)
    kept, room = [shortened(rest.pop(), most // 2)], most - min(len(first), most // 3) - 25
    while rest and sum(map(len, kept)) + len(kept) + len(rest[-1]) < room:
        kept.insert(0, rest.pop())
    gap = [f"... {len(rest):,} more line{'s' * (len(rest) > 1)}"] if rest else []
    return "\n".join([shortened(first, most // 3), *gap, *kept])

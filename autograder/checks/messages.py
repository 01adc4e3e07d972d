"""What a student is told about a stage: which texts, in which order, and how long.

The first line is the explanation of the registered mistake that gives exactly the student's
results, or else the cause that the stage names. The second is one failing input with what came and
what was expected; the feedback page leaves that out, as grading's inputs are hidden. The notebook,
`course check` and the feedback page all take their texts from here. A hint that the numbers give by
themselves (`likeness`) comes after the cause, and nowhere in an exercise in which a registered
mistake is recognised.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from autograder.checks.assertions.values import shortened
from autograder.checks.results import EARNING, FAILED, StageResult, Status
from autograder.checks.stages import Run

MOST = 600  # characters of all that is said of one stage
KNOWN = 280  # of them at most for the registered mistake
DETAIL = 160  # of them at least for numbers or a traceback, if there are as many
COUNTS = re.compile(
    r"(; \d+ of \d+ values differ| \(tolerance ).*"
)  # of `expect`, up to the end of the line
ROW = re.compile(r"\n {9}")  # of a matrix that `expect` shows, after its first
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
    cause = shortened(result.cause, MOST - min(len(result.detail), DETAIL))
    detail = _ends_of(result.detail, MOST - len(known or cause))
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
    """One line with the names of the failed stages that may follow from an earlier one, or ""."""
    leads, parts = _leads(stages), []
    for lead in leads:
        names = [
            record["name"]
            for stage, record in zip(stages, map(_record, stages))
            if stage not in leads
            and record["status"] in MAY_FOLLOW
            and lead is _lead(record, leads)
        ]
        source = f"`{_record(lead)['name']}`" if len(leads) > 1 else "it"
        parts += [f"This may follow from {source}: {', '.join(names)}."] if names else []
    return " ".join(parts)


def told(stages: Sequence) -> list:
    """The stages of which more than a name is said: the first failure, what cannot follow from it,
    and what never follows from another stage.
    """
    capped = next((stage for stage in stages if _record(stage)["status"] == Status.CAPPED), None)
    first, leads = first_failure(stages), _leads(stages)
    return [
        stage
        for stage in stages
        if stage is first
        or stage is capped
        or stage in leads
        or _record(stage)["status"] in (Status.SLIP, Status.FAULT)
    ]


def _leads(stages: Sequence) -> list:
    """The failed stages that follow from no earlier one: the first of each function or result."""
    leads: list = []
    for stage in stages:
        record = _record(stage)
        if record["status"] not in EARNING and _lead(record, leads) is None:
            leads.append(stage)
    return leads


def _lead(record: Mapping, leads: list) -> StageResult | Mapping | None:
    """The failed stage from which this one may follow, or None."""
    return next((lead for lead in leads if _may_follow(record, _record(lead))), None)


def _may_follow(later: Mapping, earlier: Mapping) -> bool:
    """Whether both ask about the same result, or a registered mistake explains the whole function.

    A stage without a subject, as in an old record, may follow from any.
    """
    about, before = later.get("subject", ""), earlier.get("subject", "")
    same_function = about.split("[")[0] == before.split("[")[0]
    return (
        not about
        or not before
        or about == before
        or same_function
        and ("[" not in before or bool(earlier["misconception"]))
    )


def _record(stage: StageResult | Mapping) -> Mapping:
    return vars(stage) if isinstance(stage, StageResult) else stage


def _ends_of(text: str, most: int) -> str:
    """The text if it fits, or without its counts; otherwise its first line and as many of the last
    as fit: there stand the exception, or what came and what was expected.
    """
    if len(text) > most:
        text = ROW.sub(" ", COUNTS.sub("", text))
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

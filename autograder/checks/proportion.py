"""Points in proportion: what a slip costs, when a stage counts, and what code for one size only may
earn.

- A stage that compares a student only with himself (`after=NAME`) counts once the stage NAME
  passes.
- Who fails a stage that asks for every size (`at_most=0.5`) gets at most that share of the
  exercise.
- A slip (type, dtype, an axis of length 1, a changed argument) costs a fifth of the exercise, once:
  it is taken from what the answer earns without it, first from the first stage that shows it.

Points stay where they are shown: the sum of the stages is always what the exercise earns.
"""

from dataclasses import replace

from autograder.checks.assertions import slips
from autograder.checks.results import EARNING, StageResult, Status
from autograder.checks.stages import Run

LATER = "This stage compares your answers with each other. It counts once the stage `{}` passes."
REST = (
    "Right. The slip in the stage `{}` costs a fifth of the exercise's points, which is more than"
    " that stage has."
)
NOT_COUNTED = "Right, not counted until `{}` passes."
HALF_COUNTED = "Right, counted in part until `{}` passes."


def in_proportion(exercise, runs: list[Run]) -> list[StageResult]:
    """The results of the stages of `exercise` (an exercise.Exercise), with the rules above applied
    in that order.
    """
    results = _counted(exercise, [run.result for run in runs])
    for stage in exercise.stages:
        failed = next(one for one in results if one.name == stage.name).status not in EARNING
        if stage.at_most < 1 and failed:
            results = _capped(exercise, stage, results)
    return _slipped(exercise, runs, results)


def _slipped(exercise, runs: list[Run], results: list[StageResult]) -> list[StageResult]:
    """Take a fifth of the exercise's points from the stages that earn something, where one of those
    shows a slip.
    """
    earning = [place for place, result in enumerate(results) if result.earned > 0]
    shown = next((place for place in earning if runs[place].slips), None)
    if shown is None:
        return results
    owed, results = exercise.points * slips.SHARE, list(results)
    for place in [shown, *(place for place in earning if place != shown)]:
        taken = min(owed, results[place].earned)
        owed = round(owed - taken, 6)
        if place == shown:
            results[place] = replace(
                results[place], status=Status.SLIP, cause=" ".join(runs[place].slips)
            )
        elif taken:
            results[place] = replace(
                results[place], status=Status.CAPPED, cause=REST.format(results[shown].name)
            )
        results[place] = replace(results[place], earned=round(results[place].earned - taken, 6))
    return results


def _counted(exercise, results: list[StageResult]) -> list[StageResult]:
    passed = {result.name for result in results if result.status in EARNING}
    return [
        (
            replace(result, status=Status.WRONG, earned=0.0, cause=LATER.format(stage.after))
            if stage.after and stage.after not in passed and result.status in EARNING
            else result
        )
        for stage, result in zip(exercise.stages, results)
    ]


def _capped(exercise, stage, results: list[StageResult]) -> list[StageResult]:
    """Take what is above the limit from the last stages that earned something."""
    limit = exercise.points * stage.at_most
    over, capped = sum(result.earned for result in results) - limit, list(results)
    for place in reversed(range(len(capped))):
        if over > 1e-9 and capped[place].earned > 0:
            taken = min(over, capped[place].earned)
            over -= taken
            left = round(capped[place].earned - taken, 6)
            said = (HALF_COUNTED if left else NOT_COUNTED).format(stage.name)
            capped[place] = replace(capped[place], status=Status.CAPPED, earned=left, cause=said)
    return capped

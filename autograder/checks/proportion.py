"""Points in proportion: what a slip costs, when a stage counts, and what code for one size only may earn.

- A slip (type, dtype, an axis of length 1, a changed argument) costs a fifth of the exercise, once: it is taken from
  the first stage that would pass without it.
- A stage that compares a student only with himself (`after=NAME`) counts once the stage NAME passes.
- Who fails a stage that asks for every size (`at_most=0.5`) gets at most that share of the exercise.

Points stay where they are shown: the sum of the stages is always what the exercise earns.
"""
from dataclasses import replace

from autograder.checks import slips
from autograder.checks.results import EARNING, StageResult
from autograder.checks.stages import Run

LATER = "This stage compares your answers with each other. It counts once the stage `{}` passes."
CAPPED = "Right, but it counts less while the stage `{}` fails: code that works for some sizes only gets at most {}."


def in_proportion(exercise, runs: list[Run]) -> list[StageResult]:
    """The results of the stages of `exercise` (an exercise.Exercise), with the rules above applied in that order."""
    results = _counted(exercise, _slipped(exercise, runs))
    for stage in exercise.stages:
        failed = next(one for one in results if one.name == stage.name).status not in EARNING
        if stage.at_most < 1 and failed:
            results = _capped(exercise, stage, results)
    return results


def _slipped(exercise, runs: list[Run]) -> list[StageResult]:
    results, charged = [], False
    for run in runs:
        result = run.result
        if result.status == "passed" and run.slips and not charged:
            cost = min(result.points, exercise.points * slips.SHARE)
            result = replace(result, status="slip", earned=round(result.points - cost, 6), cause=" ".join(run.slips))
            charged = True
        results.append(result)
    return results


def _counted(exercise, results: list[StageResult]) -> list[StageResult]:
    passed = {result.name for result in results if result.status in EARNING}
    return [replace(result, status="wrong", earned=0.0, cause=LATER.format(stage.after))
            if stage.after and stage.after not in passed and result.status in EARNING else result
            for stage, result in zip(exercise.stages, results)]


def _capped(exercise, stage, results: list[StageResult]) -> list[StageResult]:
    """Take what is above the limit from the last stages that earned something."""
    limit = exercise.points * stage.at_most
    over, capped = sum(result.earned for result in results) - limit, list(results)
    words = "half of the points" if stage.at_most == 0.5 else f"{stage.at_most:.0%} of the points"
    for place in reversed(range(len(capped))):
        if over > 1e-9 and capped[place].earned > 0:
            taken = min(over, capped[place].earned)
            over -= taken
            capped[place] = replace(capped[place], status="capped", earned=round(capped[place].earned - taken, 6),
                                    cause=CAPPED.format(stage.name, words))
    return capped

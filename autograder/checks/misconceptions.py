"""Which known mistake a student made, if that can be known.

A mistake is named only when it gave exactly the student's answers on every call of the exercise, right and wrong ones,
and on every input on which the registered mistakes were asked besides; and when no other mistake did. Two mistakes
that cannot be told apart are never named: a wrong sentence is worse than none. The result stands with the first stage
that failed.
"""
from collections.abc import Callable
from dataclasses import replace

from autograder.checks.results import FAILED, StageResult
from autograder.checks.stages import Run, run_one
from autograder.checks.student import Call, LocalStudent, Returned, Student, StudentError
from autograder.checks.values import same

REPLAYS = 40        # more inputs than these are not asked again
ROUNDING = 1e-6     # two orders of the same float32 operations differ by so much near 1, where the logarithm is 0
UNSURE = ("time", "memory", "killed", "fault")


def named(exercise, student: Student, runs: list[Run], results: list[StageResult], rng_for_stage: Callable,
          mistakes: list) -> list[StageResult]:
    """The results, each first failure of a function with the misconception that explains all of its answers."""
    if exercise.kind == "write-test" or any(result.status in UNSURE for result in results):
        return results      # a test says yes or no: many different ones say the same
    results = list(results)
    for function in dict.fromkeys(mistake.replaces for mistake in mistakes):
        failed = next((place for place, (run, result) in enumerate(zip(runs, results)) if result.status in FAILED
                       and any(call.name == function for call in run.calls)), None)
        if failed is not None:
            known = [mistake for mistake in mistakes if mistake.replaces == function]
            sentence = _sentence(exercise, student, _of(function, runs), rng_for_stage, function, known)
            results[failed] = replace(results[failed], misconception=sentence)
    return results


def _sentence(exercise, student: Student, theirs: list[list[Call]], rng_for_stage: Callable, function: str,
              mistakes: list) -> str:
    """The misconception of the one mistake that answers as the student does, or ""."""
    likely = [(mistake, suspect) for mistake in mistakes
              if (suspect := _suspect(exercise, mistake, theirs, rng_for_stage, function)) is not None]
    for call in _not_asked(exercise, theirs, rng_for_stage, function, mistakes) if likely else []:
        came = _answer(student, call)
        likely = [(mistake, suspect) for mistake, suspect in likely if _same(_answer(suspect, call), came)]
    sentences = {mistake.misconception for mistake, _ in likely}
    return sentences.pop() if len(sentences) == 1 else ""


def _suspect(exercise, mistake, theirs: list[list[Call]], rng_for_stage: Callable, function: str) -> Student | None:
    """A student who makes this mistake, if it answers like the real one in every stage; asked no further than that."""
    suspect, fails = LocalStudent({function: mistake.made()}), False
    for stage, mine in zip(exercise.stages, theirs):
        run = run_one(exercise, stage, suspect, rng_for_stage(stage.name))
        asked = _of(function, [run])[0]
        if not _same_calls(asked, mine):
            return None
        fails = fails or bool(asked) and run.result.status in FAILED
    return suspect if fails else None


def _of(function: str, runs: list[Run]) -> list[list[Call]]:
    return [[call for call in run.calls if call.name == function] for run in runs]


def _not_asked(exercise, theirs: list[list[Call]], rng_for_stage: Callable, function: str, mistakes: list) -> list[Call]:
    """Calls that a mistake is asked at some stage and the student was not, because a stage ends where it fails."""
    found: list[Call] = []
    for stage, mine in zip(exercise.stages, theirs):
        longest = mine
        for mistake in mistakes:
            run = run_one(exercise, stage, LocalStudent({function: mistake.made()}), rng_for_stage(stage.name))
            longest = max(longest, _of(function, [run])[0], key=len)
            if run.result.status not in FAILED:
                break
        found += longest[len(mine):]
    return [call for call in found if call.again][:REPLAYS]


def _answer(student: Student, call: Call) -> Returned | StudentError:
    """What the student says to a call that was put to somebody else."""
    try:
        return student.call(call.name, *call.args, **call.kwargs)
    except StudentError as error:
        return error


def _same_calls(left: list[Call], right: list[Call]) -> bool:
    return len(left) == len(right) and all(_same(a.outcome, b.outcome) for a, b in zip(left, right))


def _same(left: Returned | StudentError, right: Returned | StudentError) -> bool:
    if isinstance(left, StudentError) or isinstance(right, StudentError):
        return type(left) is type(right) and left.kind == right.kind and _exception(left) == _exception(right)
    return same(left.value, right.value, atol=ROUNDING) and all(
        callable(a) or same(a, b) for a, b in zip(left.args, right.args))


def _exception(error: StudentError) -> str:
    """The kind of exception: the last line up to its colon."""
    return error.text.rsplit("\n", 1)[-1].split(":")[0] if error.kind == "error" else ""

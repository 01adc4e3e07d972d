"""Which known mistake a student made, if that can be known.

A mistake is named only when it gave exactly the student's answers on every call of the exercise,
right and wrong ones, and on every input on which the registered mistakes were asked besides; where
a stage ends with an exception, with the same one. Mistakes that cannot be told apart are all named,
if there are no more than NAMED: a wrong sentence is worse than none. The result stands with the
first stage that failed.
"""

from collections.abc import Callable
from dataclasses import replace

from autograder.checks.assertions.values import same
from autograder.checks.mistakes.suspects import Suspect, answer, suspects
from autograder.checks.results import FAILED, StageResult, Status
from autograder.checks.stages import Run
from autograder.checks.student.base import Student
from autograder.checks.student.requests import Call, Returned, StudentError

NAMED = 3  # mistakes that may give the same answers
REPLAYS = 40  # more inputs than these are not asked again
# two orders of the same float32 operations differ by so much near 1, where the logarithm is 0
ROUNDING = 1e-6
UNSURE = (Status.TIME, Status.MEMORY, Status.KILLED, Status.FAULT)


def named(
    exercise,
    student: Student,
    runs: list[Run],
    results: list[StageResult],
    rng_for_stage: Callable,
    mistakes: list,
) -> list[StageResult]:
    """The results, each first failure of a function with the misconception that explains all of its
    answers.
    """
    if exercise.kind == "write-test" or any(result.status in UNSURE for result in results):
        return results  # a test says yes or no: many different ones say the same
    results, known = list(results), suspects(exercise, mistakes, rng_for_stage)
    for function in dict.fromkeys(mistake.replaces for mistake in mistakes):
        failed = next(
            (
                place
                for place, (run, result) in enumerate(zip(runs, results))
                if result.status in FAILED and any(call.name == function for call in run.calls)
            ),
            None,
        )
        if failed is not None:
            sentence = _sentence(
                student, runs, function, [one for one in known if one.mistake.replaces == function]
            )
            results[failed] = replace(results[failed], misconception=sentence)
    return results


def _sentence(student: Student, runs: list[Run], function: str, known: list[Suspect]) -> str:
    """The misconception of the mistake, or the few mistakes, that answer as the student does, or
    "".
    """
    theirs = [_of(function, run) for run in runs]
    likely = [suspect for suspect in known if _answers_like(suspect, runs, function)]
    for call in _not_asked(theirs, function, known) if likely else []:
        came = answer(student, call)
        likely = [suspect for suspect in likely if _same(answer(suspect.student, call), came)]
    sentences = list(dict.fromkeys(suspect.mistake.misconception for suspect in likely))
    return " Or: ".join(sentences) if len(sentences) <= NAMED else ""


def _answers_like(suspect: Suspect, theirs: list[Run], function: str) -> bool:
    """Whether a suspect answers like the student in every stage, and fails in one; asked no further
    than that.
    """
    fails = False
    for place, mine in enumerate(theirs):
        run = suspect.run(place)
        asked = _of(function, run)
        if not _same_calls(asked, _of(function, mine)) or _ended_otherwise(run.result, mine.result):
            return False
        fails = fails or bool(asked) and run.result.status in FAILED
    return fails


def _ended_otherwise(left: StageResult, right: StageResult) -> bool:
    """Whether both stages end with an exception, of a call or of an object's method, and it is not
    the same one.
    """
    last = [result.detail.rsplit("\n", 1)[-1] for result in (left, right)]
    return left.status == right.status == Status.ERROR and last[0] != last[1]


def _of(function: str, run: Run) -> list[Call]:
    return [call for call in run.calls if call.name == function]


def _not_asked(theirs: list[list[Call]], function: str, known: list[Suspect]) -> list[Call]:
    """Calls that a mistake is asked at some stage and the student was not, because a stage ends
    where it fails.
    """
    found: list[Call] = []
    for place, mine in enumerate(theirs):
        longest = mine
        for suspect in known:
            run = suspect.run(place)
            longest = max(longest, _of(function, run), key=len)
            if run.result.status not in FAILED:
                break
        found += longest[len(mine) :]
    return [call for call in found if call.again][:REPLAYS]


def _same_calls(left: list[Call], right: list[Call]) -> bool:
    return len(left) == len(right) and all(_same(a.outcome, b.outcome) for a, b in zip(left, right))


def _same(left: Returned | StudentError, right: Returned | StudentError) -> bool:
    if isinstance(left, StudentError) or isinstance(right, StudentError):
        return (
            type(left) is type(right)
            and left.kind == right.kind
            and _exception(left) == _exception(right)
        )
    return same(left.value, right.value, atol=ROUNDING) and all(
        callable(a) or same(a, b) for a, b in zip(left.args, right.args)
    )


def _exception(error: StudentError) -> str:
    """The kind of exception, the last line up to its colon; of what cannot be read or loaded, what
    it is.
    """
    if error.kind == "error":
        return error.text.rsplit("\n", 1)[-1].split(":")[0]
    return error.text.split("\n")[0] if error.kind == "unreadable" else ""

"""The kind *write-test*: the student's test must accept every right function and complain about
every wrong one.

When it does not, `probes` say why: functions that no good test accepts, each with what a test must
lack that lets it through. They earn and cost nothing.
"""

from collections.abc import Callable, Mapping

import torch

from autograder.checks.assertions.expect import CheckFailed
from autograder.checks.assertions.slips import note
from autograder.checks.student.requests import StudentError

NEVER = "Your test never calls the function that it is given."
NOT_EACH = (
    "Your test calls some of the functions that it is given and not others: it should call and"
    " judge each, whatever it was given before."
)
UNSTEADY = (
    "It accepts a right function once and rejects the same one another time: it draws by chance, or"
    " keeps something from call to call. With the same function it should always come to the same"
    " verdict."
)
OFTEN = (
    "Your test calls the function that it is given too often, some hundred times are allowed: which"
    " calls can you spare?"
)
REJECTS = "Your test rejects a correct implementation."
EVERY = "It rejects every function that it is shown, right or wrong."
ONE_OF_TWO = (
    "It accepts one right function and rejects another that differs in the last digit: compare with"
    " a tolerance."
)
RETURNS = (
    "Your test returns its verdict, False, in the place of a failing `assert`: complain with"
    " `assert`."
)
OTHER = (
    "Your test stops with an exception that is no AssertionError. Complain with `assert`, and see"
    " that the test itself runs without errors."
)
REFUSED = (
    "The function that you test raised an exception: call it only with arguments that the statement"
    " allows."
)
GETS_THROUGH = "Your test accepted a wrong implementation."


def expect_catches(
    test: Callable,
    *,
    right: list[Callable],
    wrong: list[Callable] = (),
    rng: torch.Generator,
    cause: str,
    probes: Mapping[str, Callable] | None = None,
    mistaken: Mapping[str, Callable] | None = None,
    poor: Mapping[str, Callable] | None = None,
    calls: int = 10_000,
) -> None:
    """Ask a student's test (`student.NAME`) to accept every function in `right` and to reject every
    one in `wrong`.

    Rejecting is an AssertionError; the value False counts too, as a slip, and no other value says
    anything. Another exception means that the test is broken, and is reported as such. Each
    function is shown twice, in an order drawn from `rng`, so that a test that counts its calls, or
    that rejects everything, gains nothing; nor does one that decides without calling what it is
    shown. A wrong one comes first, if there is one: a test that keeps what it saw first, and takes
    it for right, accepts it. `cause` is for a wrong function that gets through.

    probes: sentence by function that no test should accept, the most absurd first; when a wrong
    function gets through, the first probe that does so too gives the sentence. mistaken: the same
    for a test that rejects a right function. poor: right functions that differ from the others in
    more than digits, each with what a test asks that rejects it alone. calls: so many of one run of
    the test are no reason to complain.
    """
    shown = [(function, function in right) for function in [*right, *wrong]] * 2
    order = torch.randperm(len(shown), generator=rng).tolist()
    # stable: one comes first, no other moves
    order.sort(key=next((i for i in order if not shown[i][1]), order[0]).__ne__)
    verdicts = [(*shown[i], *_verdict(test, shown[i][0])) for i in order]
    calls_made = [called for _, _, called, _ in verdicts]
    if not all(calls_made):
        raise CheckFailed(NOT_EACH if any(calls_made) else NEVER)
    if (most := max(calls_made)) > calls:
        raise CheckFailed(OFTEN, f"One run made {most:,} calls; {calls:,} are enough")
    rights = [(function, complaint) for function, right_, _, complaint in verdicts if right_]
    if rejected := {function: complaint for function, complaint in rights if complaint}:
        accepted = {function for function, complaint in rights if not complaint}
        if accepted & rejected.keys() or any(not _verdict(test, one)[1] for one in rejected):
            why = UNSTEADY
        else:
            why = _why(test, right, wrong, mistaken or {}, poor or {})
        raise CheckFailed(f"{REJECTS} {why}".strip(), next(iter(rejected.values())))
    if any(not is_right and not complaint for _, is_right, _, complaint in verdicts):
        lets = (words for words, probe in (probes or {}).items() if not _verdict(test, probe)[1])
        raise CheckFailed(next(lets, "") or cause, GETS_THROUGH)


def _verdict(test: Callable, function: Callable) -> tuple[int, str]:
    """How often the test called the function, and why it rejects it, or "".

    Raises CheckFailed for a broken test.
    """
    called: list[int] = []
    refused: list[Exception] = []

    def candidate(*args: object, **more: object) -> object:
        called.append(1)
        try:
            return function(*args, **more)
        except Exception as error:
            refused.append(error)
            raise

    try:
        value = test(candidate)
    except StudentError as error:
        if error.kind != "error":
            raise
        if any(line.startswith("AssertionError") for line in error.text.split("\n")):
            return len(called), error.text
        raise CheckFailed(
            REFUSED if any(str(one) in error.text for one in refused) else OTHER, error.text
        ) from None
    if type(value) is torch.Tensor and value.dtype == torch.bool and value.numel() == 1:
        value = bool(value)
    if value is False:
        note(RETURNS)
    return len(called), "it returned False" if value is False else ""


def _why(
    test: Callable,
    right: list[Callable],
    wrong: list[Callable],
    mistaken: Mapping[str, Callable],
    poor: Mapping[str, Callable],
) -> str:
    """What is known of a test that rejects a right function."""
    accepts = lambda function: not _verdict(test, function)[1]
    if any(accepts(function) for function in right if function not in poor.values()):
        return next(
            (sentence for sentence, function in poor.items() if not accepts(function)), ONE_OF_TWO
        )
    found = next((sentence for sentence, function in mistaken.items() if accepts(function)), "")
    return found or ("" if any(map(accepts, wrong)) else EVERY)

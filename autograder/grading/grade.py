"""One submission to one verdict.

A verdict is a record: what was handed in (a hash), which checks judged it (a hash), the seeds (by
id), the isolation, and what came of each behaviour. Two runs with the same hashes and secret give
the same points. A failure of the grader is never a student's zero: it is tried once more and then
waits for a human, and so does a submission that cannot be read.
"""

import hashlib
import inspect
import itertools
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cache

from autograder.checks.results import FROM_INSIDE, Status
from autograder.common.safe_names import safe_name, shown
from autograder.grading.assignment import Assignment
from autograder.grading.intake.discovery import Submission
from autograder.grading.intake.limited_child import Limited
from autograder.grading.notebook.read import Reading, read_work
from autograder.grading.notebook.review_flags import review_items
from autograder.grading.seeds import Seeds
from autograder.sandbox.monitor.time_account import CEILING, Account

SCHEMA = 3
# Records of this schema are read, too. Their hash of the checks was worked out otherwise, so they
# are stale.
OTHER_HASH = 2
MAX_TEXT = 1_500  # of one cause, detail or misconception in a record
CALL_SECONDS = 5.0  # for one call; the calls of the checks take milliseconds
# for one submission, its cells and both tries together, see sandbox/monitor/time_account.py; an
# honest one takes a few
BUDGET_SECONDS = 60.0
# How a check that met fatal_calls.BudgetSpent or sandbox.MachineBusy tells it.
UNPAID, UNSERVED = "BudgetSpent", "MachineBusy"
REPORTED = (
    "The submission's own process reported a fault or answered what was not asked, twice; no points"
    " were decided. Seen: {}"
)
FAILED = "The checker failed twice on this exercise; no points were decided."
NOT_THEIRS = (
    "The notebook has the fault that was drawn for somebody else. Either it is another student's,"
    " or the roster that was handed out names this student otherwise; no points were decided."
)
IN_A_CELL = "a cell failed in a library"
SPENT = (
    "The {budget:g} seconds that one submission may use did not suffice for this exercise; no"
    " points were decided. Is there a loop that does not end, or slow code? `course grade"
    " --time-limit` gives more."
)
LATE = (
    "The submission was stopped after {clock:g} seconds by the clock, of which {spent:.0f} were its"
    " own: the machine was busy, or it made itself wait. No points were decided for this exercise."
    " `course grade --time-limit` gives more."
)
BUSY = (
    "The machine was too busy: twice your code had no processor for as long as a call may take. No"
    " points were decided for this exercise. Grade again when the machine is less busy."
)
# What the student reads of each stage in these cases.
TOLD_SPENT = (
    "Your submission's {budget:g} seconds were used up before this was judged. Look for a loop that"
    " does not end, or slow code."
)
TOLD_LATE = (
    "Grading stopped after {clock:g} seconds by the clock, of which {spent:.0f} were your code's."
    " This is decided later; until then it costs no points."
)
TOLD_BUSY = (
    "The grading machine was too busy to run this. It is graded again; until then it costs no"
    " points."
)


@dataclass
class Verdict:
    """The record of one graded submission; `to_json` and `from_json` keep it exactly.

    submission: hash of the notebook; source: identity of what was handed in (Submission.identity).
    name, lms_id, late, entry: see Submission. results: one ExerciseResult as JSON per exercise, in
    order. human: [{exercise or None, reason}], what a person must decide; such an exercise has no
    points yet. own, added, untouched, found, pictures: the student's work, see Transplant.
    borrowed: what the notebook says was borrowed from the reference, see Reading. hand_ins: of a
    student who handed in several times, a row each, of which one counts (see
    classroom/submissions/attempts.py). stopped_at: the seconds that it might use, where they did
    not suffice; else 0. fault: the grader failed, so the next run tries again. seconds: wall clock,
    all tries. memory: bytes, the most that a process of its sandbox had at a time, torch included;
    0 where that is not known. The two say nothing of the work and differ from run to run.
    """

    student: str
    assignment: str
    submission: str
    checks: str
    tier: str = "none"
    seed_ids: dict[str, str] = field(default_factory=dict)
    results: list[dict] = field(default_factory=list)
    human: list[dict] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)
    cell_errors: list[str] = field(default_factory=list)
    own: dict[str, str] = field(default_factory=dict)
    added: list[list] = field(default_factory=list)
    untouched: list[str] = field(default_factory=list)
    found: dict[str, str] = field(default_factory=dict)
    pictures: dict[str, dict[str, str]] = field(default_factory=dict)
    borrowed: list[str] = field(default_factory=list)
    timestamp: str | None = None
    name: str = ""
    lms_id: str = ""
    late: bool = False
    entry: str = ""
    source: str = ""
    fault: bool = False
    stopped_at: float = 0.0
    seconds: float = 0.0
    memory: int = 0
    tries: int = 1
    hand_ins: list[dict] = field(default_factory=list)
    schema: int = SCHEMA

    def to_json(self) -> dict:
        """Plain dictionaries and lists."""
        return asdict(self)

    @classmethod
    def from_json(cls, record: dict) -> "Verdict":
        """The record in `to_json`'s form. A field that it does not have yet has its default.

        Raises TypeError for fields that nobody knows, or when one that every record has is missing.
        """
        if not isinstance(record, dict):
            raise TypeError("a verdict is a dictionary")
        unknown = record.keys() - {one.name for one in fields(cls)}
        if unknown:
            raise TypeError(f"a verdict has no {', '.join(sorted(unknown))}")
        return cls(**record)

    @property
    def label(self) -> str:
        """The student for people to read: the key, or the name where the key had to spell it
        otherwise, or is of an earlier name.
        """
        spelt = (
            "=" in self.student
            or self.lms_id
            and self.student not in (safe_name(self.name), safe_name(f"{self.name}_{self.lms_id}"))
        )
        return (
            (shown(self.name) + (f" ({self.lms_id})" if self.lms_id else ""))
            if spelt and self.name
            else self.student
        )

    def digest(self) -> str:
        """A hash of the whole record: what is derived from it carries this."""
        return hashlib.sha256(json.dumps(self.to_json(), sort_keys=True).encode()).hexdigest()

    def waits(self, exercise: str) -> str:
        """Why a human must decide on this exercise, or ""."""
        return next(
            (one["reason"] for one in self.human if one["exercise"] in (None, exercise)), ""
        )

    @property
    def readable(self) -> bool:
        """Whether there was a notebook to grade at all."""
        return not any(one["exercise"] is None for one in self.human)


def grade_submission(
    submission: Submission,
    assignment: Assignment,
    secret: bytes | Seeds,
    pool: object = None,
    child: Limited | None = None,
    budget: float | None = None,
) -> Verdict:
    """Grade one submission in a fresh sandbox.

    Never raises for what a student did, nor for a grader's fault.

    secret: the class's, or what it has drawn for this student. pool: see `sandboxes`; default one
    of its own with the strongest backend. child: see `read_work`. budget: seconds, default
    BUDGET_SECONDS; the pool must know of a larger one. Raises CourseError when there is no backend.
    """
    budget = BUDGET_SECONDS if budget is None else budget
    started, pool = time.monotonic(), pool or sandboxes(assignment, budget=budget)
    seeds = (
        secret if isinstance(secret, Seeds) else Seeds.drawn(assignment, submission.student, secret)
    )
    work = read_work(
        submission,
        assignment.pristine_with(seeds.faults),
        assignment.functions,
        [f"setup-{id.split('.', 1)[1]}" for id in seeds.faults],
        child,
    )
    verdict = unjudged(submission, assignment, work)
    if not work.problem:
        verdict.tier = pool.backend.name
        verdict.seed_ids = dict(seeds.ids)
        account = Account(budget)
        for verdict.tries in (1, 2):
            _judge(verdict, work, assignment, seeds, pool, account)
            if account.over or not any(
                _faulty(result) and not _unpaid(result) for result in verdict.results
            ):
                break
        _ask_humans(verdict, _of_somebody_else(assignment, seeds, work), account)
        items = review_items(work, verdict.results, assignment.exercises)
        verdict.human += [
            {"exercise": id, "reason": item.sentence}
            for id, item in items.items()
            if not verdict.waits(id)
        ]
    verdict.seconds = round(time.monotonic() - started, 2)
    return verdict


def unjudged(submission: Submission, assignment: Assignment, work: Reading) -> Verdict:
    """The verdict as it is before anything is run; where there is no work to run, it says why and
    is whole.
    """
    verdict = Verdict(
        submission.student,
        assignment.name,
        work.sha256,
        assignment.checks_hash,
        ignored=[*submission.notes, *work.ignored],
        own=work.own,
        added=work.added,
        untouched=work.untouched,
        borrowed=work.borrowed,
        found=work.found,
        pictures=work.pictures,
        timestamp=submission.timestamp,
        name=submission.name or submission.student,
        lms_id=submission.lms_id,
        late=submission.late,
        entry=submission.entry,
        source=submission.identity(),
    )
    if work.problem:
        verdict.human = [
            {"exercise": None, "reason": f"The submission could not be graded: {work.problem}."}
        ]
    return verdict


def undecided(submission: Submission, assignment: Assignment, reason: str) -> Verdict:
    """The verdict for a submission on which the grader itself failed; the next run tries again."""
    return Verdict(
        submission.student,
        assignment.name,
        "",
        assignment.checks_hash,
        ignored=list(submission.notes),
        human=[{"exercise": None, "reason": reason}],
        timestamp=submission.timestamp,
        name=submission.name or submission.student,
        lms_id=submission.lms_id,
        late=submission.late,
        entry=submission.entry,
        fault=True,
    )


def sandboxes(assignment: Assignment, backend: object = None, budget: float | None = None):
    """A pool of sandboxes for this assignment, to be used in a `with` block: while one is busy the
    next one starts.

    budget: the most seconds that a submission may use; its account ends it before these limits do.
    """
    from autograder.checks.restrictions.names import in_chapter
    from autograder.grading.fatal_calls import Patient
    from autograder.sandbox import Limits, Pool

    checked = [one for one in assignment.exercises.values() if one.stages]
    clock = CEILING * (BUDGET_SECONDS if budget is None else budget)
    # Enough fresh starts for every function to end badly as often as Patient lets it.
    limits = Limits(
        call_seconds=CALL_SECONDS,
        restarts=Patient.DEATHS * len(checked),
        cpu_seconds=max(Limits.cpu_seconds, int(clock)),
    )
    limits = replace(limits, total_seconds=max(limits.total_seconds, clock + limits.start_seconds))
    return Pool(in_chapter(checked), limits, backend, ahead=0, extra=assignment.earlier)


def _judge(
    verdict: Verdict,
    work: Reading,
    assignment: Assignment,
    seeds: Seeds,
    pool: object,
    account: Account,
) -> None:
    """Run every exercise with checks on the student's cells while the account lasts, and put the
    results into the verdict.
    """
    from autograder.checks.assertions.comparison_time import charged_to
    from autograder.checks.protocol import run_exercise
    from autograder.grading.fatal_calls import Patient
    from autograder.sandbox import Cell

    checked = [one for one in assignment.exercises.values() if one.stages]
    decided = {
        result["exercise"]: result for result in verdict.results if not _faulty(result)
    }  # by an earlier try
    results, student = [], None
    try:
        cells = [Cell(piece.grade_id, piece.source) for piece in work.pieces]
        with pool.open_student(cells, account=account) as student, charged_to(account.charging):
            patient = Patient(student, account)
            verdict.cell_errors = [
                _short(f"{error.grade_id or 'A cell that you added'}: {error.text}")
                for error in student.cell_errors
            ][:20]
            work.errors = {error.index: error.text for error in student.cell_errors}
            broken = any(error.kind == "fault" for error in student.cell_errors)
            for one, shown in itertools.zip_longest(
                checked, _with_visible_seed(checked, patient, seeds)
            ):
                if shown is not None and _all_is_asked(one, shown):
                    results.append(shown.to_json())
                    continue
                results.append(
                    _fault_of(one, UNPAID)
                    if shown is None or account.over
                    else run_exercise(
                        one,
                        patient,
                        lambda stage, one=one: seeds.rng(one.id, stage),
                        shown=shown,
                        fault=seeds.faults.get(one.id, ""),
                    ).to_json()
                )
        # a cell met a library that is not here or is broken: what was lost may be lost through that
        if broken:
            results = [
                (
                    result
                    if result["earned"] >= result["points"] or _unpaid(result)
                    else _fault_of(one, IN_A_CELL)
                )
                for one, result in zip(checked, results, strict=True)
            ]
    except Exception as error:  # a fault of ours, whatever it is, must not end the batch
        results += [
            _fault_of(one, f"{type(error).__name__}: {error}") for one in checked[len(results) :]
        ]
    verdict.results = [
        _cut(decided.get(result["exercise"], result) if _without_time(result) else result)
        for result in results
    ]
    verdict.memory = max(verdict.memory, student.peak if student is not None else 0)


def _with_visible_seed(checked: list, patient: object, seeds: Seeds) -> list:
    """The results of the exercises, before any hidden input is inside: only what is said here is
    told.

    The hidden inputs take as long again. Where the budget does not suffice for both, the results of
    the first exercises, for which it does.
    """
    from autograder.checks.protocol import run_exercise
    from autograder.grading.fatal_calls import BudgetSpent

    found, patient.asked_again = [], True
    for one in checked:
        before = patient.answered
        try:
            result = run_exercise(one, patient, mistakes=[], fault=seeds.faults.get(one.id, ""))
        except BudgetSpent:
            break
        if _unpaid(result.to_json()):
            break
        if _all_is_asked(one, result):
            patient.answered = before  # it is not asked again
        found.append(result)
    patient.asked_again = False
    return found


def _all_is_asked(one: object, shown: object) -> bool:
    """Whether the visible run of an exercise was the whole of it: all is right, and no stage draws
    anything that could be hidden.
    """
    return shown.earned == shown.points and not any(_draws(stage.function) for stage in one.stages)


@cache
def _draws(stage: Callable) -> bool:
    return "rng" in inspect.signature(stage).parameters


def _fault_of(one: object, reason: str) -> dict:
    """The result of an exercise that was not judged."""
    return {
        "exercise": one.id,
        "points": one.points,
        "earned": 0.0,
        "stages": [
            {
                "name": stage.name,
                "points": stage.points,
                "earned": 0.0,
                "status": Status.FAULT,
                "cause": FROM_INSIDE if reason == IN_A_CELL else "The checker itself failed here.",
                "detail": _short(reason),
                "misconception": "",
                "subject": "",
            }
            for stage in one.stages
        ],
    }


def _faulty(result: dict) -> bool:
    return any(stage["status"] == Status.FAULT for stage in result["stages"])


def _reported(result: dict) -> str:
    """What the submission's own process reported, where no fault of this exercise is ours,
    or "".
    """
    faults = [stage for stage in result["stages"] if stage["status"] == Status.FAULT]
    return (
        REPORTED.format(faults[0]["detail"])
        if all(stage["cause"] == FROM_INSIDE for stage in faults)
        else ""
    )


def _unpaid(result: dict) -> bool:
    """Whether the budget ended before this exercise was judged."""
    return _failed_with(result, UNPAID)


def _without_time(result: dict) -> bool:
    """Whether the time ended before this exercise was judged, the submission's or the machine's."""
    return _unpaid(result) or _failed_with(result, UNSERVED)


def _failed_with(result: dict, error: str) -> bool:
    return any(
        stage["status"] == Status.FAULT and stage["detail"].startswith(error)
        for stage in result["stages"]
    )


def _of_somebody_else(assignment: Assignment, seeds: Seeds, work: Reading) -> list[str]:
    """The exercises whose fault, in the notebook that came back, is another than the one that was
    drawn for this student.
    """
    kinds = {id: assignment.exercises[id].faults for id in seeds.faults}
    return [
        id
        for id, name in seeds.faults.items()
        if kinds[id].others_cell(
            id, kinds[id].by_name[name], work.handed_out.get(f"setup-{id.split('.', 1)[1]}", "")
        )
    ]


def _ask_humans(verdict: Verdict, of_somebody_else: list[str], account: Account) -> None:
    """Say of each exercise without points why: to a person here, to the student in its stages."""
    seconds = {
        "budget": account.seconds,
        "clock": CEILING * account.seconds,
        "spent": account.spent,
    }
    spent, told = (LATE, TOLD_LATE) if account.by_clock else (SPENT, TOLD_SPENT)
    for result in verdict.results:
        if result["exercise"] in of_somebody_else:
            reason = NOT_THEIRS
        elif _unpaid(result):
            reason, verdict.stopped_at = spent.format(**seconds), account.seconds
            _tell(result, UNPAID, told.format(**seconds))
        elif _faulty(result):
            busy, verdict.fault = _failed_with(result, UNSERVED), True
            reason = BUSY if busy else _reported(result) or FAILED
            _tell(result, UNSERVED, TOLD_BUSY)
        else:
            continue
        verdict.human.append({"exercise": result["exercise"], "reason": reason})


def _tell(result: dict, error: str, text: str) -> None:
    """Put the text in the place of the error, in the stages that ended with it."""
    for stage in result["stages"]:
        if stage["status"] == Status.FAULT and stage["detail"].startswith(error):
            stage |= {"cause": text, "detail": ""}


def _cut(result: dict) -> dict:
    for stage in result["stages"]:
        for key in ("cause", "detail", "misconception", "subject"):
            stage[key] = _short(stage[key])
    return result


def _short(text: str) -> str:
    text = "".join(
        letter if letter.isprintable() or letter in "\n\t" else "\ufffd"
        for letter in text[: MAX_TEXT + 1]
    )
    return text if len(text) <= MAX_TEXT else text[:MAX_TEXT] + " ..."

"""What one submission may cost: it stops at its budget and waits for a person, and what a busy
machine makes it wait is not charged.

Budgets here are of a few seconds. What holds for them holds for sixty: an account knows no other
number.
"""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest
import torch

from autograder.authoring import catalogue
from autograder.authoring.notebooks import build
from autograder.checks.assertions.comparison_time import charged_to, compares
from autograder.checks.assertions.expect import Expectation
from autograder.checks.assertions.values import same
from autograder.checks.protocol import exercise, expect
from autograder.grading import grade as verdict
from autograder.grading.assignment import load_assignment
from autograder.grading.executors import messages
from autograder.grading.executors.local import Here, grade_all, patience
from autograder.grading.intake.discovery import Submission
from autograder.sandbox import choose_backend
from autograder.sandbox.monitor.procfs import children, scheduled
from autograder.sandbox.monitor.time_account import CEILING, Account, Waiting
from course.cli import main
from tests.autograder.grading.conftest import make_stand_in, stand_in_notebook

NAME = "93-slow"
FUNCTIONS = ("first", "second", "third", "fourth")
CELL = (
    '# %% nbgrader={{"grade": {grade}, "grade_id": "{id}", "locked": {grade},'
    ' {points}"schema_version": 3, "solution": {solution}, "task": false}}\n{source}\n'
)
SLEEPS = "import time\ndef {name}(x):\n    time.sleep(0.25)\n    return x + x"
WORKS = (
    "import time\ndef {name}(x):\n    until = time.process_time() + 0.25\n    while"
    " time.process_time() < until: pass\n    return x + x"
)
HANGS = "def {name}(x):\n    while True: pass"
FORKS = (
    "import os, time\ndef {name}(x):\n    for _ in range(4):\n        if os.fork() == 0:\n         "
    "   while True: pass\n    while True: time.sleep(1)"
)
THREADS = (
    "import hashlib, threading\ndef burn():\n    while True: hashlib.sha256(bytes(1 <<"
    " 20)).digest()\ndef {name}(x):\n    for _ in range(8): threading.Thread(target=burn,"
    " daemon=True).start()\n    burn()"
)
CELLS = "import time\ntime.sleep(600)\ndef {name}(x): return x + x"


def solutions() -> str:
    """Four exercises that are alike."""
    cells = [
        '# %% [markdown] nbgrader={"grade": false, "grade_id": "title", "locked": true,'
        ' "schema_version": 3, "solution": false, "task": false}\n# # Slow\n'
    ]
    for name in FUNCTIONS:
        cells += [
            CELL.format(
                grade="false",
                id=name,
                points="",
                solution="true",
                source=(
                    f"def {name}(x):\n    ### BEGIN SOLUTION\n    return x + x\n    ### END"
                    " SOLUTION\n"
                ),
            ),
            CELL.format(
                grade="true",
                id=f"{name}-check",
                points='"points": 2, ',
                solution="false",
                source=name,
            ),
        ]
    return "\n".join(cells)


def declare(name: str) -> None:
    """It doubles: asked once, and by the frame a second time."""
    one = exercise(f"93.{name}", function=name, points=2)

    @one.stage("any", points=2)
    def test_a_number_becomes_twice_itself(student, rng):
        import torch

        number = int(torch.randint(1000, 10**6, (1,), generator=rng))
        expect(getattr(student, name)(number)).equals(2 * number, cause="It does not double.")


@pytest.fixture(scope="module")
def slow(tmp_path_factory):
    """The assignment, in the catalogue until this file is done."""
    folder = make_stand_in(tmp_path_factory.mktemp("slow"))
    (folder / "solutions" / f"{NAME}.py").write_text(solutions())
    for name in FUNCTIONS:
        declare(name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(catalogue, "SOLUTIONS", folder / "solutions")
        patch.setattr(catalogue, "EXERCISES", folder / "exercises")
        patch.setattr("autograder.sandbox.api.pool.WARM", ())
        patch.setattr("autograder.authoring.package.earlier_chapters", lambda number: {})
        build(catalogue.assignment("93"), folder / "build", folder / "exercises")
        yield load_assignment("93")


@pytest.fixture
def hand_in(tmp_path):
    """Makes a submission: the functions by one source for all of them, those named in `others` by
    another.
    """

    def make(
        student: str, source: str = "def {name}(x):\n    return x + x", **others: str
    ) -> Submission:
        cells = {name: others.get(name, source).format(name=name) for name in FUNCTIONS}
        path = tmp_path / f"{student}.ipynb"
        path.write_bytes(stand_in_notebook(**cells))
        return Submission(student, path)

    return make


@pytest.fixture
def accounts(monkeypatch) -> list[Account]:
    """Those of the submissions that are graded in this process."""
    made = []

    class Kept(Account):
        def __init__(self, *seconds):
            super().__init__(*seconds)
            made.append(self)

    monkeypatch.setattr(verdict, "Account", Kept)
    return made


def graded(submission, assignment, budget, cold=False):
    """Its verdict, in a pool of its own.

    cold: in a child of this process, which keeps to our processor.
    """
    with verdict.sandboxes(assignment, choose_backend(cold=cold), budget) as pool:
        return verdict.grade_submission(submission, assignment, b"secret", pool, budget=budget)


def earned(found) -> list[float]:
    return [result["earned"] for result in found.results]


@contextmanager
def neighbours(count: int):
    """This process, and what it starts, share one processor with so many others that are always
    busy, each in a session of its own: Linux may give sessions equal shares, and a sandbox has one.
    """
    before, busy = os.sched_getaffinity(0), []
    try:
        os.sched_setaffinity(0, {min(before)})
        busy += [
            subprocess.Popen([sys.executable, "-c", "while True: pass"], start_new_session=True)
            for _ in range(count)
        ]
        yield
    finally:
        os.sched_setaffinity(0, before)
        for one in busy:
            one.kill()
            one.wait()


one_processor = pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity"), reason="only Linux keeps a process on one processor"
)


@pytest.mark.sandbox
def test_slow_answers_stop_at_the_budget_what_was_judged_stays_and_the_next_submission_is_judged_in_full(  # noqa: E501
    slow, hand_in, tmp_path
):
    batch = grade_all(
        [hand_in("ada", SLEEPS), hand_in("bo")], slow, tmp_path, crew=Here(1, choose_backend(), 3.0)
    )
    ada, bo = batch.verdicts["ada"], batch.verdicts["bo"]
    assert earned(ada)[0] == 2 and earned(ada)[-1] == 0, (
        "asking each function four times takes a second of the three"
    )
    waits = [one["exercise"] for one in ada.human]
    assert (
        waits
        == [f"93.{name}" for name in FUNCTIONS if ada.results[FUNCTIONS.index(name)]["earned"] == 0]
        and waits
    )
    assert (
        "The 3 seconds that one submission may use did not suffice" in ada.waits("93.fourth")
        and ada.stopped_at == 3.0
    )
    assert not ada.fault and ada.tries == 1
    for said in texts_of(ada.results[-1]):
        assert said.startswith("Your submission's 3 seconds were used up before this was judged.")
    assert earned(bo) == [2, 2, 2, 2] and bo.human == [] and bo.stopped_at == 0


@pytest.mark.sandbox
def test_a_larger_budget_judges_again_what_the_smaller_one_did_not_suffice_for(
    slow, hand_in, tmp_path
):
    def run(budget):
        return grade_all(
            [hand_in("ada", SLEEPS), hand_in("bo")],
            slow,
            tmp_path,
            crew=Here(1, choose_backend(), budget),
        )

    assert run(2.0).kept == 0 and run(2.0).kept == 2
    again = run(60.0)
    assert (
        again.kept == 1
        and earned(again.verdicts["ada"]) == [2, 2, 2, 2]
        and again.verdicts["ada"].human == []
    )


@pytest.mark.sandbox
@pytest.mark.parametrize(
    "source",
    [SLEEPS, HANGS, FORKS, THREADS, CELLS],
    ids=["sleeps", "hangs", "forks", "threads", "cells"],
)
def test_hostile_copies_cost_no_more_than_their_number_times_the_ceiling(
    slow, hand_in, accounts, monkeypatch, source
):
    """So a hundred at 60 seconds cost at most 100 * 180 s of one job, and 100 * 60 s where nothing
    waits for a processor.
    """
    budget, copies = 2.0, 2
    monkeypatch.setattr(verdict, "CALL_SECONDS", 60.0)  # the budget is what ends them
    begun = time.monotonic()
    for copy in range(copies):
        found = graded(hand_in(f"eve-{copy}", source), slow, budget)
        assert (
            [one["exercise"] for one in found.human][-1] == "93.fourth"
            and found.stopped_at == budget
            and not found.fault
        )
    assert len(accounts) == copies and all(one.spent < budget + 0.5 for one in accounts)
    starts = 30.0  # of sandboxes, and reading: they are ours
    assert time.monotonic() - begun < copies * (CEILING * budget + starts)


@pytest.mark.sandbox
def test_the_ceiling_by_the_clock_ends_what_is_never_charged(slow, hand_in, monkeypatch):
    """A submission for which everything is waiting: so it would be if it could make itself wait for
    ever.
    """
    monkeypatch.setattr(Account, "spent", property(lambda self: 0.0))
    begun = time.monotonic()
    found = graded(hand_in("eve", SLEEPS.replace("0.25", "0.4")), slow, 1.0)
    assert time.monotonic() - begun < CEILING * 1.0 + 30
    assert "stopped after 3 seconds by the clock" in found.waits("93.fourth") and not found.fault
    for said in texts_of(found.results[-1]):
        assert said.startswith("Grading stopped after 3 seconds by the clock, of which 0 were your")


def texts_of(result: dict) -> list[str]:
    """All that a student reads of an exercise, a text a stage."""
    return [stage["cause"] + stage["detail"] for stage in result["stages"]]


class Unserved(Waiting):
    """What a process sees whose tree had no processor since it was asked."""

    def look(self) -> float:
        before, self.total = self.total, self.total + 100.0
        return self.total - before


@pytest.mark.sandbox
def test_a_call_that_had_no_processor_is_judged_again_and_then_waits_for_a_person(
    slow, hand_in, monkeypatch
):
    monkeypatch.setattr(verdict, "CALL_SECONDS", 0.2)
    monkeypatch.setattr("autograder.sandbox.monitor.process.Waiting", Unserved)
    found = graded(hand_in("ada", third=SLEEPS.replace("0.25", "60")), slow, 60.0)
    assert (found.tries, found.fault, found.stopped_at) == (2, True, 0.0)
    assert [one["exercise"] for one in found.human] == ["93.third"]
    assert "The machine was too busy: twice your code had no processor" in found.waits("93.third")
    for said in texts_of(found.results[2]):
        assert said.startswith("The grading machine was too busy to run this.")
    assert [earned(found)[place] for place in (0, 1, 3)] == [2, 2, 2]


@pytest.mark.sandbox
@one_processor
def test_honest_work_is_not_cut_where_a_busy_machine_lets_it_wait(
    slow, hand_in, accounts, monkeypatch
):
    monkeypatch.setattr(
        "autograder.sandbox.monitor.time_account.CEILING", 1000
    )  # however busy this machine is
    graded(hand_in("ada", WORKS), slow, 60.0, cold=True)
    budget = 2.0 * accounts[0].spent  # beside four neighbours it takes five times as long
    with neighbours(4):
        begun = time.monotonic()
        found = graded(hand_in("ada", WORKS), slow, budget, cold=True)
        clock = time.monotonic() - begun
    assert clock > budget, "nobody was in its way"
    assert earned(found) == [2, 2, 2, 2] and found.human == []


@one_processor
def test_what_is_waited_is_told_from_sleep_and_from_what_threads_and_processes_do_to_each_other():
    def waited(program: str, others: int) -> tuple[float, float, float]:
        """Seconds that a tree waited and that it ran, of those that it was there."""
        with neighbours(others):
            process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
            process.stdout.readline()
            tree = [process.pid, *children(process.pid)]
            seen, before, begun = Waiting(lambda: tree), ran(tree), time.monotonic()
            seen.begin_again()
            for _ in range(10):
                time.sleep(0.1)
                seen.look()
            found = seen.total, ran(tree) - before, time.monotonic() - begun
            for pid in tree:
                os.kill(pid, signal.SIGKILL)
            process.communicate()
            return found

    total, _, seconds = waited("print(flush=True)\nwhile True: pass", 1)
    assert total > 0.25 * seconds, "half of the time, beside one neighbour"
    total, _, seconds = waited("import time\nprint(flush=True)\ntime.sleep(60)", 1)
    assert total < 0.1 * seconds
    total, running, seconds = waited(
        "import os\nif os.fork(): print(flush=True)\nwhile True: pass", 0
    )
    assert total < seconds - running + 0.1, "its own child was in its way"


def ran(pids: list[int]) -> float:
    """Seconds of a processor that they had."""
    return sum(seconds for seconds, _ in scheduled(pids).values())


def test_an_account_charges_blocks_once_takes_back_what_was_waited_and_ends_by_the_clock(
    monkeypatch,
):
    now = [0.0]
    monkeypatch.setattr("autograder.sandbox.monitor.time_account.time.monotonic", lambda: now[0])
    monkeypatch.setattr(
        "autograder.sandbox.monitor.time_account.waited_here", lambda: 0.0
    )  # on a busy machine this process waits, too
    account = Account(10.0)
    now[0] = 100.0  # before its first cell nothing counts
    assert not account.over and account.left == 10.0
    with account.charging(), account.charging():
        now[0] += 4.0
        assert account.spent == 4.0
    now[0] += 5.0  # the checks' own work
    assert (account.spent, account.ends) == (4.0, 100.0 + CEILING * 10.0)
    account.credit(1.5)
    assert account.left == 7.5
    with account.charging():
        now[0] += 7.4
        assert not account.over
        now[0] += 0.2
        assert account.over and not account.by_clock
    other = Account(10.0)
    with other.charging():
        now[0] += 31.0
        other.credit(30.0)
    assert other.over and other.by_clock and other.left == pytest.approx(9.0)
    other.use_up()
    other.credit(5.0)
    assert other.left == pytest.approx(0.0) and other.over and not other.by_clock
    assert not Account().over and patience(60.0) > CEILING * 60.0


@pytest.mark.sandbox
def test_who_verifies_or_regrades_gives_the_budget_of_the_run(
    slow, hand_in, tmp_path, capsys, monkeypatch
):
    (tmp_path / "in" / "ada").mkdir(parents=True)
    hand_in("ada", SLEEPS).path.rename(tmp_path / "in" / "ada" / f"{NAME}.ipynb")
    root = ["--course-root", str(tmp_path / "class")]
    assert (
        main(["grade", str(tmp_path / "in"), "--assignment", "93", *root, "--time-limit", "20"])
        == 0
    )
    assert (
        main(["verify", "ada", "93", *root, "--time-limit", "20"]) == 0
        and main(["verify", "ada", "93", *root, "--time-limit", "1"]) == 1
    )
    monkeypatch.setitem(slow.__dict__, "checks_hash", "other")
    assert main(["regrade", "93", *root, "--time-limit", "1"]) == 1
    capsys.readouterr()
    assert main(["regrade", "93", *root, "--time-limit", "20"]) == 0, capsys.readouterr().out


def test_the_budget_travels_with_the_terms_and_what_comes_back_says_where_it_ended(slow):
    terms = messages.terms(slow, "bubblewrap", False, 7.5)
    same = messages.terms(slow, "bubblewrap", False, terms["budget"])
    assert terms["budget"] == 7.5 and messages.differences(terms, same) == []
    assert "stopped_at" not in messages.STUDENTS_OWN


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "1e9"])
@pytest.mark.parametrize("command", [["grade", "in"], ["regrade"], ["verify", "ada"]])
def test_a_budget_that_makes_no_sense_is_refused_in_words(
    command, seconds, tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert (
        main([*command, "--course-root", str(tmp_path / "class"), f"--time-limit={seconds}"]) == 2
    )
    assert (
        "give seconds from 1 to 86400" in capsys.readouterr().err
        and not (tmp_path / "class").exists()
    )


def test_reading_and_comparing_an_answer_counts_for_whoever_gave_it():
    answer, account, other = [0.5] * 200_000, Account(), Account()
    with charged_to(account.charging):
        assert same(answer, list(answer))
        first = account.spent
        expect(torch.zeros(5_000_000)).equals(torch.zeros(5_000_000), cause="")
    assert account.spent > first > 0 and other.spent == 0
    before = account.spent
    same(answer, list(answer))
    assert account.spent == before  # outside, at home, nobody counts


def test_a_submission_is_charged_for_what_comparing_its_answers_takes(
    slow, hand_in, accounts, monkeypatch
):
    """As if each comparison took a second: the budget ends it, and not the clock alone."""

    @compares
    def slowly(self, expected, cause, tolerance, inner=Expectation._asked.__wrapped__):
        time.sleep(1)
        return inner(self, expected, cause, tolerance)

    monkeypatch.setattr(Expectation, "_asked", slowly)
    found = graded(hand_in("ada"), slow, budget=2.5)
    assert accounts[0].over and not accounts[0].by_clock
    assert any("budget" in one["reason"] or "seconds" in one["reason"] for one in found.human)

"""What an exercise's result says of right, wrong, broken and missing work; and of wrong tests that
students write.
"""

import json
from enum import IntEnum

import pytest
import torch

from autograder.checks.inputs.gradients import ask_gradients
from autograder.checks.mistakes.registry import mistake
from autograder.checks.protocol import (
    ExerciseResult,
    LocalStudent,
    StudentError,
    exercise,
    exercises_of,
    expect,
    expect_catches,
    rng_for,
    run_exercise,
)


def right(counts):
    return counts / counts.sum()


def run(made, function=None, name="shares", **more) -> ExerciseResult:
    return run_exercise(made, LocalStudent({name: function} if function else {}), **more)


def statuses(result: ExerciseResult) -> list[str]:
    return [stage.status for stage in result.stages]


def test_right_work_earns_every_point(shares):
    result = run(shares, right)
    assert result.earned == 3 and statuses(result) == ["passed", "passed"]


def test_each_stage_earns_for_itself_and_the_first_failure_does_not_hide_the_rest(shares):
    result = run(shares, lambda counts: torch.full_like(counts, 1 / len(counts)))
    assert statuses(result) == ["passed", "wrong"] and result.earned == 1
    result = run(shares, lambda counts: counts / 4)
    assert statuses(result) == ["wrong", "passed"] and result.earned == 2
    assert result.stages[0].cause == "The shares should add up to 1."


class EqualsEverything(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return True

    def __eq__(self, other):
        return True


@pytest.mark.parametrize(
    "junk",
    [
        EqualsEverything(),
        None,
        "1",
        1.0,
        [],
        {},
        (),
        torch.ones(()),
        torch.ones(0),
        torch.full((4,), torch.nan),
        torch.ones(4, dtype=torch.int64),
        torch.ones(2, 2),
        object(),
        torch.full((2,), torch.nan),
    ],
)
def test_junk_earns_nothing_and_is_never_the_checkers_fault(shares, junk):
    result = run(shares, lambda counts: junk)
    assert result.earned == 0 and statuses(result) == ["wrong", "wrong"]
    assert all(stage.cause.endswith(".") for stage in result.stages)


def test_work_not_written_yet_is_told_from_work_that_is_missing_and_from_an_exception(shares):
    def stub(counts):
        raise NotImplementedError("replace this line with your code.")

    result = run(shares, stub)
    assert result.earned == 0 and set(statuses(result)) == {"not_attempted"}
    assert (
        result.stages[0].cause == "`shares` is not written yet: replace its"
        " `raise NotImplementedError` line with your code."
    )
    assert run(shares).stages[0].cause.startswith("There is no function named `shares`")
    result = run(shares, lambda counts: counts.nonsense)
    assert statuses(result) == ["error", "error"] and "AttributeError" in result.stages[0].detail


@pytest.mark.parametrize("kind", ["time", "memory", "killed"])
def test_what_a_sandbox_reports_becomes_the_stages_status_with_a_sentence(shares, kind):
    class Elsewhere(LocalStudent):
        def perform(self, request):
            raise StudentError(kind, "after 10 s")

    stage = run_exercise(shares, Elsewhere({})).stages[0]
    assert (
        stage.status == kind
        and stage.cause.startswith("Your code")
        and stage.detail == "after 10 s"
    )


def test_a_check_that_trips_is_a_fault_and_not_a_wrong_answer(fresh_registries):
    made = exercise("99.trips", function="shares", points=1)

    @made.stage("trips", points=1)
    def test_trips(student):
        expect(len(student.shares(1))).equals(1, cause="no")

    assert statuses(run(made, lambda x: 5)) == ["fault"]


def test_the_misconception_is_named_when_a_mistake_gives_exactly_the_same(shares):
    @mistake(
        "99.shares", "softmax", caught_by="values", loses=2, misconception="You took the softmax."
    )
    def softmax(counts):
        return torch.softmax(counts, 0)

    @mistake(
        "99.shares",
        "by-length",
        caught_by="sums",
        loses=3,
        misconception="You divided by the length.",
    )
    def by_length(counts):
        return counts / len(counts)

    written_otherwise = run(shares, lambda counts: counts.exp() / counts.exp().sum())
    assert [stage.misconception for stage in written_otherwise.stages] == [
        "",
        "You took the softmax.",
    ]
    written_otherwise = run(shares, lambda counts: counts.div(counts.numel()))
    assert [stage.misconception for stage in written_otherwise.stages] == [
        "You divided by the length.",
        "",
    ]
    assert [stage.misconception for stage in run(shares, lambda c: c * 0).stages] == ["", ""]


@pytest.mark.parametrize(
    "flat, earned, said",
    [
        (lambda table: table.view(-1), 2.4, "`reshape`"),
        (lambda table: table.reshape(-1), 3, ""),
        (lambda table: torch.as_strided(table, (6,), (1,)), 2.4, "by its indices"),
    ],
)
def test_code_that_needs_its_tensors_in_one_piece_makes_a_slip(
    fresh_registries, flat, earned, said
):
    made = exercise("99.rows", function="rows", points=3)

    @made.stage("sums", points=3)
    def test_the_sums_of_the_rows(student, rng):
        table = torch.rand(2, 3, generator=rng)
        expect(student.rows(table)).equals(table.sum(1), cause="A row has another sum.")

    result = run(made, lambda table: flat(table).reshape(2, 3).sum(1), "rows")
    assert result.earned == pytest.approx(earned) and said in result.stages[0].cause


@pytest.mark.parametrize(
    "given, read",
    [
        (lambda table: (table, 1.0), lambda pair: pair[0]),
        (lambda table: [[table]], lambda rows: rows[0][0]),
        (lambda table: {"table": table}, lambda named: named["table"]),
    ],
)
def test_a_view_inside_what_holds_it_is_asked_too(fresh_registries, given, read):
    made = exercise("99.rows", function="rows", points=3)

    @made.stage("sums", points=3)
    def test_the_sums_of_the_rows(student, rng):
        table = torch.rand(2, 3, generator=rng)
        expect(student.rows(given(table))).equals(table.sum(1), cause="A row has another sum.")

    assert run(
        made, lambda held: read(held).view(-1).reshape(2, 3).sum(1), "rows"
    ).earned == pytest.approx(2.4)
    assert run(made, lambda held: read(held).sum(1), "rows").earned == 3


def test_code_that_draws_by_chance_is_not_told_that_it_reads_memory(fresh_registries):
    made = exercise("99.noise", function="noise", points=3)

    @made.stage("size", points=3)
    def test_the_size(student, rng):
        expect(student.noise(torch.rand(3, generator=rng))).is_tensor(shape=(3,))

    assert "draws by chance" in run(made, lambda table: torch.rand(3), "noise").stages[0].cause


def test_what_was_returned_stays_as_it_was_when_the_function_is_called_again(fresh_registries):
    made, kept = exercise("99.twice", function="twice", points=3), torch.zeros(2)

    @made.stage("values", points=3)
    def test_the_values_are_doubled(student, rng):
        for one in (torch.rand(2, generator=rng), torch.rand(2, generator=rng)):
            expect(student.twice(one)).equals(one * 2, cause="Not the double.")

    result = run(made, lambda values: kept.copy_(values * 2), "twice")
    assert result.earned == pytest.approx(2.4) and "later call changes" in result.stages[0].cause
    assert run(made, lambda values: values * 2, "twice").earned == 3


def test_a_mistake_that_passes_the_stage_is_never_blamed(fresh_registries):
    made = exercise("99.strict", function="f", points=1)

    @made.stage("exact", points=1)
    def test_exact(student):
        expect(student.f(torch.ones(1))).close(torch.ones(1), atol=0, cause="Not exact.")

    @mistake("99.strict", "no-mistake", caught_by="exact", loses=1, misconception="This is right.")
    def no_mistake(x):
        return x

    # Wrong for this strict check, yet close enough to count as the same answer as the mistake's.
    almost = run(made, lambda x: x + 1e-6, name="f").stages[0]
    assert almost.status == "wrong" and almost.misconception == ""


def test_a_mistake_that_changes_its_argument_differs_from_one_that_does_not(fresh_registries):
    made = exercise("99.inplace", function="f", points=1)

    @made.stage("kept", points=1)
    def test_the_argument_is_kept(student):
        returned = student.call("f", torch.ones(2))
        expect(returned.args[0], "The argument").equals(
            torch.ones(2), cause="The caller's tensor was changed."
        )
        expect(returned.value).equals(torch.ones(2) * 3, cause="Not three times.")

    @mistake(
        "99.inplace", "twice", caught_by="kept", loses=1, misconception="You doubled in place."
    )
    def twice(x):
        return x.mul_(2)

    assert (
        run(made, lambda x: x.add_(x), name="f").stages[0].misconception == "You doubled in place."
    )
    plain = run(made, lambda x: x + x, name="f").stages[0]
    assert plain.cause == "Not three times." and plain.misconception == ""


def test_results_survive_json(shares):
    result = run(shares, lambda counts: counts / 4)
    assert ExerciseResult.from_json(json.loads(json.dumps(result.to_json()))) == result


def test_seeds_are_repeatable_and_differ_by_stage_student_and_secret():
    def draw(*names, **more):
        return torch.rand(1, generator=rng_for(*names, **more)).item()

    assert draw("01.a", "s") == draw("01.a", "s")
    others = {
        draw("01.a", "s"),
        draw("01.a", "t"),
        draw("01.a", "s", "ada"),
        draw("01.a", "s", "ada", secret=b"k"),
    }
    assert len(others) == 4


def test_points_that_do_not_add_up_are_refused(fresh_registries):
    made = exercise("99.sum", function="f", points=2)
    made.stage("one", points=1)(lambda student: None)
    with pytest.raises(ValueError, match="99.sum is worth 2 points, but its stages add up to 1"):
        exercises_of("99")


@pytest.mark.parametrize(
    ("slip", "said"),
    [
        ({"kind": "essay", "function": "f"}, "is not one of"),
        ({"kind": "manual", "function": "f"}, "has no function"),
        ({}, "needs a function"),
        ({"function": "call"}, "already means something else"),
    ],
)
def test_a_slip_in_a_declaration_is_refused_by_name(fresh_registries, slip, said):
    with pytest.raises(ValueError, match=f"99.slip.*{said}"):
        exercise("99.slip", points=1, **slip)


@pytest.fixture
def judge(fresh_registries):
    """The exercise of writing a test for `shares`: right ones pass (1 point), wrong ones are caught
    (2 points).
    """
    made = exercise("99.judge", function="judge", points=3, kind="write-test")

    @made.stage("right", points=1)
    def test_right_ones_pass(student, rng):
        expect_catches(student.judge, right=[right, lambda c: c * (1 / c.sum())], rng=rng, cause="")

    @made.stage("wrong", points=2)
    def test_wrong_ones_are_caught(student, rng):
        expect_catches(
            student.judge,
            right=[right],
            wrong=[lambda c: c / len(c)],
            rng=rng,
            cause="A wrong sum gets through.",
        )

    return made


def a_good_test(f):
    assert abs(f(torch.tensor([1.0, 2.0])).sum() - 1) < 1e-4


def test_a_good_test_earns_everything_and_one_that_returns_its_verdict_loses_a_fifth(judge):
    assert run(judge, a_good_test, "judge").earned == 3
    result = run(judge, lambda f: bool(abs(f(torch.ones(3) * 2).sum() - 1) < 1e-4), "judge")
    assert result.earned == pytest.approx(2.4) and "returns its verdict" in " ".join(
        one.cause for one in result.stages
    )
    asserting = lambda f: a_good_test(f) is None  # what is returned beside an assert says nothing
    assert run(judge, asserting, "judge").earned == 3


def test_a_test_that_accepts_or_rejects_everything_catches_nothing(judge):
    result = run(judge, lambda f: None, "judge")
    assert (
        result.earned == 0
        and result.stages[1].cause == "Your test never calls the function that it is given."
    )
    result = run(judge, lambda f: f(torch.ones(2)) is None, "judge")
    assert result.earned == 0
    result = run(judge, lambda f: f(torch.ones(2)) is not None, "judge")
    assert result.earned == 1 and result.stages[1].cause == "A wrong sum gets through."
    result = run(judge, lambda f: f(torch.ones(2)) is None, "judge")
    assert result.earned == 0 and result.stages[1].cause.startswith(
        "Your test rejects a correct implementation."
    )


def test_a_test_that_judges_only_what_it_is_given_first_or_judges_by_chance_is_told_so(judge):
    seen, draws = [], iter([True, False] * 100)

    def first_only(f):
        seen.append(f)
        return a_good_test(f) if len(seen) == 1 else None

    assert "calls some of the functions" in run(judge, first_only, "judge").stages[0].cause

    def unsteady(f):
        f(torch.ones(2))
        assert next(draws)

    assert "rejects the same one another time" in run(judge, unsteady, "judge").stages[0].cause


def test_a_slip_that_is_seen_in_two_ways_is_said_once(fresh_registries):
    made, kept = exercise("99.kept", function="total", points=1), torch.zeros(3)

    @made.stage("sum", points=1)
    def test_sums(student, rng):
        for number in (1.0, 2.0):
            expect(student.total(torch.full((3,), number))).equals(
                torch.full((3,), number), cause="no"
            )

    result = run(made, lambda x: kept.copy_(x), "total")
    assert (
        result.earned == pytest.approx(0.8)
        and result.stages[0].cause.count("A later call changes") == 1
    )


def test_a_result_that_is_an_argument_or_a_view_of_one_is_a_slip_the_first_time(fresh_registries):
    made = exercise("99.same", function="f", points=1)

    @made.stage("same", points=1)
    def test_same(student):
        expect(student.f(torch.ones(2, 1), [1.0])).equals((torch.ones(2, 1), [1.0]), cause="no")

    for handed_back in (
        lambda x, row: (x, [*row]),
        lambda x, row: (x[:], [*row]),
        lambda x, row: (x.clone(), row),
    ):
        result = run(made, handed_back, "f")
        assert result.earned == pytest.approx(0.8) and "returns an argument" in result.stages[
            0
        ].cause.replace("\n", " ")
    assert run(made, lambda x, row: (x.clone(), [*row]), "f").earned == 1


def test_a_subclass_of_a_plain_type_counts_as_it_and_cannot_answer_for_itself(fresh_registries):
    made = exercise("99.line", function="f", points=1)

    @made.stage("line", points=1)
    def test_line(student):
        expect(student.f()).equals(3, cause="no")

    line = IntEnum("Line", {"GELU": 3, "NORM": 4})
    liar = type(
        "Liar",
        (int,),
        {"__eq__": lambda self, other: True, "__hash__": None, "__int__": lambda self: 3},
    )
    assert run(made, lambda: line.GELU, "f").earned == 1
    assert run(made, lambda: line.NORM, "f").earned == run(made, lambda: liar(5), "f").earned == 0


def test_a_test_that_rejects_a_poor_but_right_function_is_told_what_it_asks_too_much(
    fresh_registries,
):
    made, poor = (
        exercise("99.poor", function="judge", points=1, kind="write-test"),
        lambda c: torch.ones(len(c)) / len(c),
    )

    @made.stage("right", points=1)
    def test_right_ones_pass(student, rng):
        expect_catches(
            student.judge,
            right=[right, lambda c: right(c) * (1 + 1e-6), poor],
            rng=rng,
            cause="",
            poor={"Shares may be equal.": poor},
        )

    def too_much(f):
        a_good_test(f)
        assert f(torch.tensor([1.0, 2.0]))[0] < 0.4

    assert run(made, a_good_test, "judge").earned == 1
    assert "Shares may be equal." in run(made, too_much, "judge").stages[0].cause
    exact = lambda f: torch.equal(f(torch.ones(3)), torch.ones(3) / 3) or a_good_test(lambda c: c)
    assert "differs in the last digit" in run(made, exact, "judge").stages[0].cause


def test_a_test_may_complain_with_an_error_of_its_own_that_is_an_assertion(judge):
    class Complaint(AssertionError):
        pass

    def own(f):
        try:
            a_good_test(f)
        except AssertionError as error:
            raise Complaint("not like this") from error

    assert run(judge, own, "judge").earned == run(judge, a_good_test, "judge").earned > 0


def test_a_test_that_crashes_is_broken_and_no_catch(judge):
    result = run(judge, lambda f: f(torch.ones(2)).nonsense, "judge")
    assert (
        result.earned == 0
        and "no AssertionError" in result.stages[1].cause
        and "nonsense" in result.stages[1].detail
    )


def test_a_test_that_counts_its_calls_does_not_get_through_for_most_seeds(judge):
    def counter():
        calls = []

        def judge(f):
            calls.append(1)
            return len(calls) % 2 == 1  # right, wrong, right, wrong: the order of a naive grader

        return judge

    def earned(seed):
        student = LocalStudent({"judge": counter()})
        return (
            run_exercise(judge, student, lambda stage: rng_for(stage, str(seed))).stages[1].earned
        )

    assert sum(map(earned, range(20))) <= 2 * 8


def test_checks_run_in_one_thread_and_leave_the_number_of_threads_as_it_was(fresh_registries):
    made, seen, before = exercise("99.threads", function="f", points=1), [], torch.get_num_threads()

    @made.stage("threads", points=1)
    def test_threads(student):
        seen.append(torch.get_num_threads())
        expect(student.f()).equals(3, cause="no")

    torch.set_num_threads(2)
    try:
        assert (
            run(made, lambda: 3, "f").earned == 1 and seen == [1] and torch.get_num_threads() == 2
        )
    finally:
        torch.set_num_threads(before)


def doubles(made, number: int, points: float, after: str = "") -> None:
    """Add a stage that asks for twice a number."""

    @made.stage(f"stage {number}", points=points, after=after)
    def test_doubles(student):
        expect(student.f(torch.tensor(float(number)))).equals(
            torch.tensor(2.0 * number), cause="no"
        )


@pytest.fixture
def steps(fresh_registries):
    """Five stages of one point, the last after the first."""
    made = exercise("99.steps", function="f", points=5)
    for number in range(5):
        doubles(made, number, 1, after="stage 0" if number == 4 else "")
    return made


def test_a_slip_costs_a_fifth_once_of_what_the_answer_earns_without_it(steps):
    without = {
        "right": lambda x: 2 * x,
        "late": lambda x: 2 * x if x < 3 else x,
        "early": lambda x: 2 * x if x > 0 else x + 1,
    }
    for title, earned in {"right": 5, "late": 3, "early": 3}.items():
        answer = without[title]
        assert run(steps, answer, "f").earned == earned
        for slip in (
            lambda x: answer(x)[None],
            lambda x: answer(x).double(),
            lambda x: answer(x).item(),
        ):
            result = run(steps, slip, "f")
            assert (
                result.earned == pytest.approx(earned - 1) and statuses(result).count("slip") == 1
            )


def test_a_fifth_that_is_more_than_its_stage_has_is_taken_from_the_next_ones(fresh_registries):
    made = exercise("99.small", function="f", points=10)
    for number, points in enumerate((1, 4, 5)):
        doubles(made, number, points)
    result = run(made, lambda x: (2 * x)[None], "f")
    assert [stage.earned for stage in result.stages] == [0, 3, 5] and statuses(result) == [
        "slip",
        "capped",
        "passed",
    ]


def test_a_loss_of_shape_one_is_differentiated_all_the_same(fresh_registries):
    made = exercise("99.loss", function="loss", points=1)

    @made.stage("gradient", points=1)
    def test_gradient(student):
        ask_gradients(
            student, "loss", (torch.tensor([1.0, 2.0]),), {0: torch.tensor([2.0, 4.0])}, "no"
        )

    assert run(made, lambda x: (x**2).sum(), "loss").earned == 1
    assert run(made, lambda x: (x**2).sum(0, keepdim=True), "loss").earned == pytest.approx(0.8)
    assert run(made, lambda x: x**2, "loss").earned == 0

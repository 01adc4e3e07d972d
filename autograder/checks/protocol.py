"""How a check is written.

Everything that `autograder/chapters/*/test_*.py` needs is imported from here.

    ppmi = exercise("01.ppmi", function="ppmi", points=4,
                    withhold=["reference_impl.embeddings.counts"])

    @ppmi.stage("chance", points=1)
    def test_independent_words_score_zero(student, rng):
        # (W, C), rank one: no association at all
        counts = torch.outer(tensor([2., 3., 5.]), tensor([1., 4.]))
        expect(student.ppmi(counts)).equals(torch.zeros(3, 2),
            cause="P(w) or P(c) is not normalised by the same total as P(w, c).")

One stage, one mechanism; the first failure of an exercise should be the cause of the later ones. A
stage takes `student`, and `rng` (a torch.Generator) if it draws sizes or values: seeded in the
notebook, secret in grading. The points of the stages add up to the points of the exercise. Ask
`expect(...)` about every value before you index, unpack or compute with it: a check that trips over
a student's value is a fault of the check.

Kinds of exercise:

function    The student writes `function`. `also` names further functions that the same cell
            defines.
predict     The student writes a function, with or without arguments, that returns a number or a
            dict of str to number: the predictions. Stages ask
            `expect(student.predict(5)).has("parameters").equals(...)` and work the right number out
            by really counting it.
find-line   The card shows numbered wrong code. The student writes `wrong_line()`, which returns an
            int, and the repaired function: `exercise(..., function="NAME", also=["wrong_line"])`. A
            mistake of `wrong_line` is registered with `@mistake(..., replaces="wrong_line")`.
write-test  The student writes `function(implementation)`, which raises AssertionError for a wrong
            implementation and does nothing for a right one. A stage for each kind of mistake that
            it should catch:
            `expect_catches(student.test_noise, right=[...], wrong=[...], rng=rng, cause=...)`.
counterexample  The student's function returns data that break a wrong sentence, and our predicate
            judges them:
            `expect_breaks(student.NAME(), holds=..., form=..., degenerate={...}, cause=...)`.
drawn-fault The notebook has code with one fault of a list, drawn for each student; a stage that
            takes `fault` knows which:
            `exercise(..., kind="drawn-fault", faults=Faults(SOURCE, {...}))`.
manual      Graded by hand: no stages; `short_answer(...)` declares it with its rubric and
            calibrated samples.

What a stage can do beside calling a function; book/exercise-kinds.md has a worked example of each:

objects     `cache = student.build("KVCache", 8)`, then `cache.append(k)`; `inside(cache)` has get,
            load, state, shapes, learning, train, training, gradients, update, script, build,
            stream. They live until the stage ends.
streams     `student.stream("generate", ...)`: take(n) makes n pieces and no more; close() ends it
            early.
gradients   `student.gradients("loss", x, wrt=(0,))`, and `inside(model).gradients("loss", x)`.
in place    `after = student.call("f", Buffer(x)).args[0]`: after.values,
            after.expect_intact(cause=...).
ours        A callable may be an argument, also inside a list; `Watched(f, calls=20)` counts, bounds
            and remembers. A torch.Generator, TableModel, SuccessorModel and VirtualClock may be
            arguments too.
scripts     `student.script([("f", 1), ("f", 2)])`, `inside(pool).script([...], watch=["free"])`:
            one message, all outcomes.
names       `Renaming().expect_same(came, expected, cause=...)`: equal up to the student's own
            numbers.
chance      `expect_frequencies`, `expect_mean` (a stated rate of false alarms),
            `each_seed(rng, 20)`.
caps        `with student.capped(64 * MIB): ...`: what needs more memory does not fit.
            `student.counted` only teaches.
kernels     `student.kernel("add", x, y, Buffer(out), 128)`,
            `student.compiles("add", x, y, out, 128)`.

`check(f)`, `course check`, `course author check`, pytest (`pytest autograder/chapters --impl
reference`) and the grader all run these functions; none of them knows whether the student is in
this process or in a sandbox.
"""

from autograder.checks.assertions.chance import each_seed, expect_frequencies, expect_mean
from autograder.checks.assertions.expect import CheckFailed, expect
from autograder.checks.assertions.renaming import Renaming
from autograder.checks.exercise import (
    EXERCISES,
    Exercise,
    Stage,
    exercise,
    exercises_of,
    load_checks,
)
from autograder.checks.inputs.buffers import Buffer
from autograder.checks.inputs.callables import Watched
from autograder.checks.inputs.fakes import SuccessorModel, TableModel, VirtualClock
from autograder.checks.kinds.counterexamples import Ids, Numbers, expect_breaks
from autograder.checks.kinds.seeded_fault import Fault, Faults
from autograder.checks.kinds.short_answer import Sample, short_answer
from autograder.checks.kinds.write_tests import expect_catches
from autograder.checks.results import ExerciseResult, StageResult
from autograder.checks.runner import run_exercise
from autograder.checks.stages import rng_for
from autograder.checks.student.base import MIB, Student
from autograder.checks.student.handles import Handle, Stream, inside
from autograder.checks.student.local import LocalStudent
from autograder.checks.student.requests import Returned, StudentError

__all__ = [
    "EXERCISES",
    "MIB",
    "Buffer",
    "CheckFailed",
    "Exercise",
    "ExerciseResult",
    "Fault",
    "Faults",
    "Handle",
    "Ids",
    "LocalStudent",
    "Numbers",
    "Renaming",
    "Returned",
    "Sample",
    "Stage",
    "StageResult",
    "Stream",
    "Student",
    "StudentError",
    "SuccessorModel",
    "TableModel",
    "VirtualClock",
    "Watched",
    "each_seed",
    "exercise",
    "exercises_of",
    "expect",
    "expect_breaks",
    "expect_catches",
    "expect_frequencies",
    "expect_mean",
    "inside",
    "load_checks",
    "rng_for",
    "run_exercise",
    "short_answer",
]

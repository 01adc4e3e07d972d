"""`course check`: run the visible checks on your own notebook."""

import json
from pathlib import Path

SUMMARY = "run the checks of an exercise on your notebook"
EPILOG = """\
Of a notebook, the cells that the grader uses count, in its order; `course validate` also grades it
with other numbers.
Exit codes: 0 all points are there, 1 points are missing or an exercise needs manual grading, 2
could not run."""


def add_arguments(parser) -> None:
    """Which exercise, which notebook, and how to print."""
    parser.add_argument(
        "what",
        nargs="*",
        metavar="EXERCISE or NOTEBOOK",
        help=(
            'an exercise or an assignment, such as "01.ppmi", "ppmi" or "01" (default: the one that'
            " the notebook is about), and the path of your notebook or Python file, which runs in"
            " this process (default: the one in mywork/, or in this folder where the course is"
            " installed as a package)"
        ),
    )
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.epilog = EPILOG


def run(args) -> int:
    """Print a rubric per exercise and the sum; 1 when points are missing."""
    from autograder.authoring.catalogue import exercises_named
    from autograder.common.errors import CourseError

    paths = [word for word in args.what if word.lower().endswith((".ipynb", ".py"))]
    names = [word for word in args.what if word not in paths]
    if len(paths) > 1 or len(names) > 1:
        raise CourseError(
            "give one exercise or assignment and one notebook, for example "
            "`course check 01.ppmi 01-static-embeddings.ipynb`"
        )
    one, exercises = exercises_named(
        names[0] if names else number_of(paths[0]) if paths else _only_own()
    )
    return print_results(one, exercises, paths[0] if paths else own_notebook(one), args.json)


def number_of(path: str) -> str:
    """The number of the assignment that a notebook or Python file is about: its name begins with
    it, or else the file holds most of its exercises. CourseError where neither says.
    """
    from autograder.authoring.catalogue import assignments
    from autograder.common.errors import CourseError

    name = Path(path).name[:2]
    if name.isdigit():
        return name
    try:
        text = Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        raise CourseError(f"{path} is not a file that can be read") from None
    found = {one.number: _defined(text, one) for one in assignments()}
    best = max(found, key=found.__getitem__)
    if path.endswith(".ipynb") and not ('"cells"' in text and '"nbformat"' in text):
        raise CourseError(f"{path}: the file is not a notebook")
    if not found[best] or list(found.values()).count(found[best]) > 1:
        raise CourseError(
            f"{path}: which assignment is it? Say its number, such as `course check 05 {path}`"
        )
    return best


def _only_own() -> str:
    """The number of the only notebook where the student works. CourseError where there is none, or
    several.
    """
    from autograder.common.course_files import MYWORK
    from autograder.common.errors import CourseError

    found = sorted(MYWORK.glob("[0-9][0-9]-*.ipynb"))
    if len(found) != 1:
        raise CourseError(
            "say what to check: a notebook, an assignment or an exercise, such as"
            " `course check 05-bert-pretraining.ipynb`, `course check 05` or"
            " `course check 05.mlm_loss`"
        )
    return found[0].name[:2]


def _defined(text: str, one) -> int:
    """How many exercises of an assignment a text defines a function or class for."""
    functions = [exercise.function for exercise in one.exercises.values() if exercise.function]
    return sum(f"def {name}(" in text or f"class {name}" in text for name in functions)


def own_notebook(one) -> str:
    """Where the student works: mywork/, if the notebook was copied there, otherwise exercises/; in
    the wheel this folder, and CourseError where it is not there.
    """
    from autograder.common.course_files import IN_WHEEL, MYWORK
    from autograder.common.errors import CourseError

    copied = MYWORK / f"{one.name}.ipynb"
    if IN_WHEEL and not copied.exists():
        raise CourseError(
            f"{copied} is not there: `course start {one.number}` puts it into this folder, or give"
            " the path of your notebook"
        )
    return str(copied) if copied.exists() else "student"


def notebook_path(given: str, one) -> Path:
    """The notebook that is meant: the one given, else where the student works."""
    from autograder.authoring.implementations import student_path

    return Path(given) if given else student_path(own_notebook(one), one.number)


def print_results(one, exercises: list, impl: str, as_json: bool) -> int:
    """Run `impl` through the exercises that have checks; what is graded by hand is only named."""
    import contextlib
    import sys

    from autograder.checks.restrictions import reference_imports as borrowed
    from autograder.common.errors import CourseError

    checked = [exercise for exercise in exercises if exercise.stages]
    by_hand = [exercise for exercise in exercises if not exercise.stages]
    own = impl != "reference" and impl.partition(":")[0] not in ("mistake", "alternative")
    with contextlib.redirect_stdout(sys.stderr):  # what the checked code prints is not our output
        if own:
            results, waits = _results_of_own(one, exercises, impl)
        else:
            results, waits = _results_of_ours(checked, impl), {}
    if not results and checked:
        raise CourseError(
            f"no exercise of {', '.join(exercise.id for exercise in exercises)} knows {impl!r}; "
            "`course author matrix` lists the mistakes"
        )
    points = sum(result.points for _, result in results)
    earned = sum(result.earned for _, result in results)
    hand = sum(exercise.points for exercise in by_hand)
    if as_json:
        found = {"assignment": one.name, "impl": impl, "points": points, "earned": earned}
        found["by_hand"] = {exercise.id: exercise.points for exercise in by_hand}
        found |= {"waits": waits, "exercises": [result.to_json() for _, result in results]}
        print(json.dumps(found, indent=1))
    else:
        _print_rubrics(results, waits)
        by_hand_too = f", {hand:g} by hand" if hand else ""
        print(f"{one.name}: {earned:g} points of {points + hand:g}{by_hand_too}")
        if own and (line := borrowed.line(borrowed.borrowed())):
            print(line)
    return 0 if earned >= points - 1e-9 and not waits else 1


def _print_rubrics(results: list[tuple], waits: dict[str, str]) -> None:
    from autograder.checks.rubric import as_text

    for exercise, result in results:
        print(as_text(result, exercise.see) + "\n")
    for id, reason in waits.items():
        print(f"A person will look at {id}: {reason}\n")


def _results_of_ours(checked: list, impl: str) -> list[tuple]:
    """The results of the reference, or of a mistake or alternative where an exercise has it."""
    from autograder.authoring.implementations import namespace_of
    from autograder.checks.protocol import LocalStudent, run_exercise
    from autograder.checks.student.timeout import TimedStudent

    known = [(exercise, namespace_of(impl, exercise)) for exercise in checked]
    return [
        (exercise, run_exercise(exercise, TimedStudent(LocalStudent(namespace))))
        for exercise, namespace in known
        if namespace is not None
    ]


def _results_of_own(one, exercises: list, impl: str) -> tuple[list[tuple], dict[str, str]]:
    """The results of a student's notebook or Python file, and why a person must look, by
    exercise.
    """
    import sys

    from autograder.authoring.implementations import student_path
    from autograder.checks.protocol import run_exercise
    from autograder.checks.restrictions.guard import GRADERS
    from autograder.checks.restrictions.import_hook import stand_ins
    from autograder.checks.restrictions.names import in_chapter
    from autograder.grading.assignment import load_assignment
    from autograder.grading.grade import FAILED
    from autograder.grading.notebook.review_flags import review_items
    from course.own_notebook import Own, cells_of, run_cells, taken

    path = student_path(impl, one.number)
    work = taken(path, load_assignment(one.number)) if path.suffix.lower() == ".ipynb" else None
    print(
        f"course check: {path} runs in this process, without a sandbox: check only your own code"
        " this way (`course grade` is for other people's)",
        file=sys.stderr,
    )
    withheld, results = in_chapter(one.exercises.values()), []
    with stand_ins(withheld, "__main__"):
        module, failures = run_cells(cells_of(path, work), path.name, GRADERS | withheld)
        for _, failure in failures:
            print(failure)
        for exercise in (exercise for exercise in exercises if exercise.stages):
            print(f"course check: {exercise.id} ...", file=sys.stderr)
            results.append((exercise, run_exercise(exercise, Own(module))))
    if work:
        work.errors = dict(failures)
    ids = [exercise.id for exercise in exercises]
    items = review_items(work, [result.to_json() for _, result in results], ids) if work else {}
    waits = {id: item.sentence for id, item in items.items()}
    for exercise, result in results:
        if any(stage.status == "fault" for stage in result.stages):
            waits[exercise.id] = FAILED
    return results, waits

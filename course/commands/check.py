"""`course check`: run the visible checks on your own notebook."""
import json

SUMMARY = "run the checks of an exercise on your notebook"
STAND_INS = "autograder.authoring.implementations"      # of functions whose cell is no Python: grading has none


def add_arguments(parser) -> None:
    """Which exercise, which notebook, and how to print."""
    parser.add_argument("what", nargs="*", metavar="EXERCISE or NOTEBOOK",
                        help='an exercise or an assignment, such as "01.ppmi", "ppmi" or "01" (default: 01), and the path '
                             "of your notebook or Python file, which runs in this process (default: the one in mywork/, or "
                             "else the one in exercises/)")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")


def run(args) -> int:
    """Print a rubric per exercise and the sum; 1 when points are missing."""
    from autograder.authoring.catalogue import exercises_named
    from autograder.errors import CourseError

    paths = [word for word in args.what if word.endswith((".ipynb", ".py"))]
    names = [word for word in args.what if word not in paths]
    if len(paths) > 1 or len(names) > 1:
        raise CourseError("give one exercise or assignment and one notebook, for example "
                          "`course check 01.ppmi mywork/01-static-embeddings.ipynb`")
    if paths and paths[0].endswith(".ipynb"):
        _refuse_what_is_no_notebook(paths[0])
    one, exercises = exercises_named(names[0] if names else _number_of(paths))
    return print_results(one, exercises, paths[0] if paths else _own_notebook(one), args.json)


def _refuse_what_is_no_notebook(name: str) -> None:
    """The grader's reader, so that nobody hears of it only after handing in; and what the grader takes and Jupyter does not. Raises CourseError."""
    from pathlib import Path

    from autograder.errors import CourseError
    from autograder.grading.intake import IntakeError, read_cells

    path = Path(name)
    if not path.is_file():
        return          # said with what else could be given, by whom runs it
    data = path.read_bytes()
    try:
        read_cells(data)
    except IntakeError as error:
        raise CourseError(f"{path}: {error}") from None
    if data.startswith(b"\xef\xbb\xbf"):
        raise CourseError(f"{path} begins with a byte-order mark, with which Jupyter does not open it: save it as UTF-8 without one")


def _number_of(paths: list[str]) -> str:
    """The assignment that a notebook's name begins with, or the first."""
    from pathlib import Path

    name = Path(paths[0]).name[:2] if paths else ""
    return name if name.isdigit() else "01"


def _own_notebook(one) -> str:
    """Where the student works: mywork/, if the notebook was copied there, otherwise exercises/."""
    from autograder.authoring.catalogue import EXERCISES

    copied = EXERCISES.parent / "mywork" / f"{one.name}.ipynb"
    return str(copied) if copied.exists() else "student"


def print_results(one, exercises: list, impl: str, as_json: bool) -> int:
    """Run `impl` through the exercises that have checks; what is graded by hand is only named."""
    import contextlib
    import sys

    from autograder.authoring.implementations import namespace_of, student_path
    from autograder.checks.limited import Limited
    from autograder.checks.protocol import LocalStudent, run_exercise
    from autograder.checks.rubric import as_text
    from autograder.checks.withholding import in_chapter
    from autograder.errors import CourseError
    from autograder.imports import stand_ins
    from course.commands.use import borrowed_line

    checked = [exercise for exercise in exercises if exercise.stages]
    by_hand = [exercise for exercise in exercises if not exercise.stages]
    own = impl != "reference" and impl.partition(":")[0] not in ("mistake", "alternative")
    if own:
        print(f"course check: {student_path(impl, one.number)} runs in this process, without a sandbox: check only "
              "your own code this way (`course grade` is for other people's)", file=sys.stderr)
    results = []
    withheld = stand_ins(in_chapter(one.exercises.values()), "notebook") if own else contextlib.nullcontext()
    with contextlib.redirect_stdout(sys.stderr), withheld:       # what the checked code prints is not our output
        for exercise in checked:
            namespace = namespace_of(impl, exercise)
            if namespace is not None:
                if own:
                    namespace = {name: one for name, one in namespace.items() if getattr(one, "__module__", None) != STAND_INS}
                    print(f"course check: {exercise.id} ...", file=sys.stderr)
                results.append((exercise, run_exercise(exercise, Limited(LocalStudent(namespace)))))
    if not results and checked:
        raise CourseError(f"no exercise of {', '.join(exercise.id for exercise in exercises)} knows {impl!r}; "
                          "`course author matrix` lists the mistakes")
    points, earned = (sum(getattr(result, name) for _, result in results) for name in ("points", "earned"))
    hand = sum(exercise.points for exercise in by_hand)
    if as_json:
        print(json.dumps({"assignment": one.name, "impl": impl, "points": points, "earned": earned,
                          "by_hand": {exercise.id: exercise.points for exercise in by_hand},
                          "exercises": [result.to_json() for _, result in results]}, indent=1))
    else:
        for exercise, result in results:
            print(as_text(result, exercise.see) + "\n")
        print(f"{one.name}: {earned:g} points of {points + hand:g}" + (f", {hand:g} by hand" if hand else ""))
        if own and (line := borrowed_line()):
            print(line)
    return 0 if earned >= points - 1e-9 else 1

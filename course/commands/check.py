"""`course check`: run the checks of an exercise on a notebook, the reference or a known mistake."""
import json

SUMMARY = "run the checks of an exercise on a notebook, the reference or a known mistake"


def add_arguments(parser) -> None:
    """What to check, whose functions, and how to print."""
    parser.add_argument("exercise", nargs="?", default="01", metavar="EXERCISE",
                        help='an assignment or an exercise, such as "01" or "01.ppmi" (default: 01)')
    parser.add_argument("--impl", default="student", metavar="IMPL",
                        help="reference, student (the notebook in exercises/), mistake:NAME, alternative:NAME, or the "
                             "path of your own notebook or Python file, which runs in this process (default: student)")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.add_argument("--matrix", action="store_true", help="print which stage catches which known mistake")
    parser.add_argument("--markdown", action="store_true", help="with --matrix: as Markdown tables")


def run(args) -> int:
    """Print a rubric per exercise and the sum; 1 when points are missing or a mistake gets through."""
    from autograder.authoring.catalogue import assignment

    one = assignment(args.exercise)
    chosen = [one.exercise(args.exercise)] if "." in args.exercise else list(one.exercises.values())
    if args.matrix:
        return print_matrix(chosen, args.markdown)
    return print_results(one, chosen, args.impl, args.json)


def print_matrix(exercises: list, markdown: bool) -> int:
    """One table per exercise that has mistakes."""
    from autograder.authoring.matrix import as_markdown, as_text, rows_of

    in_order = True
    for exercise in exercises:
        rows = rows_of(exercise)
        if rows:
            print((as_markdown if markdown else as_text)(exercise, rows) + "\n")
        in_order = in_order and not any(row.problem for row in rows)
    if not markdown:
        print("X the stage meant to catch the mistake, x another that fails too, . passed")
    return 0 if in_order else 1


def print_results(one, exercises: list, impl: str, as_json: bool) -> int:
    """Run `impl` through the exercises that have checks; what is graded by hand is only named."""
    import contextlib
    import sys

    from autograder.authoring.implementations import namespace_of, student_path
    from autograder.checks.protocol import LocalStudent, run_exercise
    from autograder.checks.rubric import as_text
    from autograder.errors import CourseError

    checked = [exercise for exercise in exercises if exercise.stages]
    by_hand = [exercise for exercise in exercises if not exercise.stages]
    own = impl != "reference" and impl.partition(":")[0] not in ("mistake", "alternative")
    if own:
        print(f"course check: {student_path(impl, one.number)} runs in this process, without a sandbox: check only "
              "your own code this way (`course grade` is for other people's)", file=sys.stderr)
    results = []
    with contextlib.redirect_stdout(sys.stderr):       # what the checked code prints is not our output
        for exercise in checked:
            namespace = namespace_of(impl, exercise)
            if namespace is not None:
                results.append((exercise, run_exercise(exercise, LocalStudent(namespace))))
    if not results:
        raise CourseError(f"no exercise of {', '.join(exercise.id for exercise in exercises)} knows {impl!r}; "
                          "`course check --matrix` lists the mistakes")
    points, earned = (sum(getattr(result, name) for _, result in results) for name in ("points", "earned"))
    if as_json:
        print(json.dumps({"assignment": one.name, "impl": impl, "points": points, "earned": earned,
                          "by_hand": {exercise.id: exercise.points for exercise in by_hand},
                          "exercises": [result.to_json() for _, result in results]}, indent=1))
    else:
        for exercise, result in results:
            print(as_text(result, exercise.see) + "\n")
        hand = f"; {sum(exercise.points for exercise in by_hand):g} more are graded by hand" if by_hand else ""
        print(f"{one.name}: {earned:g} of {points:g} points{hand}")
    return 0 if earned >= points - 1e-9 else 1

"""`course hint`: open the hints of an exercise one step at a time."""

import json

SUMMARY = "open the next hint of an exercise"


def add_arguments(parser) -> None:
    """Which exercise, and how far."""
    parser.add_argument("exercise", metavar="EXERCISE", help='such as "01.ppmi" or "ppmi"')
    parser.add_argument(
        "--step", type=int, default=1, metavar="N", help="which hint, 1 is the mildest (default: 1)"
    )
    parser.add_argument("--json", action="store_true", help="print the hint as JSON")


def run(args) -> int:
    """Print one hint, the same text as on the exercise's card, and how to get the next."""
    from autograder.authoring.catalogue import exercises_named
    from autograder.common.errors import CourseError

    one, found = exercises_named(args.exercise)
    if len(found) != 1:
        raise CourseError(
            f"{args.exercise} is all of {one.name}: name one exercise, such as {found[0].id}"
        )
    exercise = found[0].id
    hints = one.hints(exercise)
    if not 1 <= args.step <= len(hints):
        raise CourseError(f"{exercise} has hints 1 to {len(hints)}; there is no hint {args.step}")
    hint = hints[args.step - 1]
    if args.json:
        print(
            json.dumps(
                {
                    "exercise": exercise,
                    "step": args.step,
                    "steps": len(hints),
                    "title": hint.title,
                    "text": hint.text,
                }
            )
        )
        return 0
    print(f"{exercise}, hint {args.step} of {len(hints)}: {hint.title}\n\n{hint.text}")
    if args.step < len(hints):
        print(f"\nMore: course hint {exercise} --step {args.step + 1}")
    return 0

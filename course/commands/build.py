"""`course build`: make the student notebooks in exercises/ from solutions/."""
SUMMARY = "make the student notebooks in exercises/ from solutions/"


def add_arguments(parser) -> None:
    """Which assignments, and whether only to compare."""
    parser.add_argument("assignment", nargs="*", metavar="ASSIGNMENT", help='such as "01" (default: all)')
    parser.add_argument("--check", action="store_true",
                        help="change nothing; exit 1 if a committed notebook is not what the sources give")


def run(args) -> int:
    """Build, or compare, each assignment and say where it is."""
    from autograder.authoring.catalogue import assignment, assignments
    from autograder.authoring.notebooks import build, stale

    chosen = [assignment(name) for name in args.assignment] or assignments()
    if not args.check:
        for one in chosen:
            print(build(one))
        return 0
    complaints = [complaint for complaint in map(stale, chosen) if complaint]
    print("\n".join(complaints) or f"{len(chosen)} notebook(s) are what the sources give, and nothing leaks")
    return 1 if complaints else 0

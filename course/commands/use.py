"""`course use reference NN`: never be stuck on an earlier chapter; `course use mine NN` goes back to your own work."""

SUMMARY = "put the reference in the place of your work of a chapter, or take that back"


def add_arguments(parser) -> None:
    """Whose work, and which chapter."""
    parser.add_argument(
        "whose",
        choices=("reference", "mine"),
        metavar="reference|mine",
        help="whose work stands there from now on",
    )
    parser.add_argument("assignment", metavar="ASSIGNMENT", help='a chapter such as "01"')
    parser.add_argument(
        "--json",
        action="store_true",
        help="print what stands there now, and what is borrowed, as JSON",
    )


def run(args) -> int:
    """Write the module and say what is borrowed."""
    import json

    from autograder.authoring import package
    from autograder.authoring.catalogue import assignment
    from autograder.checks import borrowed

    one = assignment(args.assignment)
    if args.whose == "reference":
        path = package.use_reference(one).path
        said = f"chapter {one.number} is the reference now: {path}; `course use mine {one.number}` takes that back"
    else:
        path = package.use_own(one)
        said = f"chapter {one.number} is your own work again: {path}"
    print(
        json.dumps(
            {
                "assignment": one.name,
                "whose": args.whose,
                "path": str(path),
                "borrowed": borrowed.borrowed(),
            }
        )
        if args.json
        else f"{said}\n{borrowed_line() or 'nothing is borrowed'}"
    )
    return 0


def borrowed_line() -> str:
    """See `borrowed.line`."""
    from autograder.checks import borrowed

    return borrowed.line(borrowed.borrowed())

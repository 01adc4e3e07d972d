"""`course use reference NN`: never be stuck on an earlier chapter; `course use mine NN` goes back to your own work."""

SUMMARY = "put the reference in the place of your work of a chapter, or take that back"


def add_arguments(parser) -> None:
    """Whose work, and which chapter."""
    parser.add_argument("whose", choices=("reference", "mine"))
    parser.add_argument("assignment", help='a chapter such as "01"')


def run(args) -> int:
    """Write the module and say what is borrowed."""
    from autograder.authoring import package
    from autograder.authoring.catalogue import assignment

    one = assignment(args.assignment)
    if args.whose == "reference":
        saved = package.use_reference(one)
        print(f"chapter {one.number} is the reference now: {saved.path}; `course use mine {one.number}` takes that back")
    else:
        print(f"chapter {one.number} is your own work again: {package.use_own(one)}")
    print(borrowed_line() or "nothing is borrowed")
    return 0


def borrowed_line() -> str:
    """See `borrowed.line`."""
    from autograder.checks import borrowed

    return borrowed.line(borrowed.borrowed())

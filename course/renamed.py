"""Old names of commands and options. They work for one more release, and print the new name."""

from collections.abc import Callable

PLAIN = {"fetch": "download-data", "release": "release-assignment", "save": "package"}
OPTIONS = {  # of the commands named there, under their new names
    "--hand-in": ("--attempts", ("grade",)),
    "--budget": ("--time-limit", ("grade", "regrade")),
    "--scheduler": ("--dask", ("grade",)),
    "--write": ("--apply", ("regrade",)),
}
VALUED = ("--budget", "--course-root", "--db", "--time-limit")  # of verify: a value follows
LATEST = {"last": "latest"}  # old values of --hand-in


def modern(argv: list[str]) -> tuple[list[str], str]:
    """The command line in today's names, and a line that tells them, or "" if they were used."""
    if not argv or argv[0].startswith("-"):
        return argv, ""
    command, *rest = argv
    if command in PLAIN:
        new = [PLAIN[command], *rest]
    elif command in REWRITTEN:
        new = REWRITTEN[command](rest)
    else:
        new = argv
    new = _with_new_options(new)
    if new == argv:
        return argv, ""
    return new, f"course: `course {' '.join(argv)}` is now `course {' '.join(new)}`"


def _with_new_options(argv: list[str]) -> list[str]:
    made, value_of_attempts = [argv[0]], False
    for word in argv[1:]:
        option, equals, value = word.partition("=")
        new, commands = OPTIONS.get(option, (option, ()))
        if argv[0] not in commands:
            new = option
        if value_of_attempts:
            new, value_of_attempts = LATEST.get(word, word), False
        elif option == "--hand-in" and new == "--attempts":
            value, value_of_attempts = LATEST.get(value, value), not equals
        made.append(f"{new}{equals}{value}" if equals else new)
    return made


def _without(word: str, words: list[str]) -> list[str]:
    return [one for one in words if one != word]


def _submit(rest: list[str]) -> list[str]:
    if "--dry-run" in rest:
        return ["validate", *_without("--dry-run", rest)]
    copy = [] if any(word.split("=")[0] == "--to" for word in rest) else ["--to", "hand-in/"]
    return ["validate", *rest, *copy]


def _use(rest: list[str]) -> list[str]:
    words = [word for word in rest if not word.startswith("-")]
    if len(words) < 2:
        return ["package", *rest]
    options = [word for word in rest if word.startswith("-")]
    return ["package", words[1], "--from", words[0], *options]


def _platform(command: str, option: str, platforms: tuple[str, ...]) -> Callable:
    def rewritten(rest: list[str]) -> list[str]:
        named = [word for word in rest if word in platforms][:1]
        if option in rest or not named:
            return [command, *rest]
        place = rest.index(named[0])
        return [command, option, *named, *rest[:place], *rest[place + 1 :]]

    return rewritten


def _verify(rest: list[str]) -> list[str]:
    place = 0
    while place < len(rest) and rest[place].startswith("-"):
        place += 2 if rest[place] in VALUED else 1
    if place >= len(rest):
        return ["regrade", *rest, "--student"]  # says that a student is missing
    return ["regrade", *rest[:place], *rest[place + 1 :], "--student", rest[place]]


def _author(rest: list[str]) -> list[str]:
    return ["generate-assignment", *rest[1:]] if rest[:1] == ["build"] else ["author", *rest]


REWRITTEN: dict[str, Callable[[list[str]], list[str]]] = {
    "submit": _submit,
    "use": _use,
    "feedback": _platform("release-feedback", "--lms", ("canvas", "moodle", "folders")),
    "export": _platform("export", "--to", ("canvas", "moodle", "gradescope")),
    "verify": _verify,
    "author": _author,
}

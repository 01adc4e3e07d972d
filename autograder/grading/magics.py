"""Take IPython's own syntax (magics, shell escapes, help) out of a cell, and say what was taken.

The sandbox runs plain Python. A line such as `%matplotlib inline` becomes `pass`; `x = !ls` becomes `pass` too, so
that a later use of `x` fails with the student's own line. `%%time` and `%%capture` keep their body, any other cell
magic takes its whole cell with it. Text inside strings is left alone: a cell that is already Python is not touched.
Not covered: automagic (`ls` without a percent sign) and IPython's autocall (`/f x`), which no shared notebook uses.
"""
import ast
import re

KEEPS_BODY = ("%%time", "%%capture", "%%prun", "%%timeit")
# A line that begins with "% " may continue an expression, so a magic needs its name at once.
_LINE = re.compile(r"^(?P<indent>\s*)(?:%{1,2}[A-Za-z_]|[!?]|[^#=\s]+(?:\s*,\s*[\w.]+)*\s*=\s*(?:!|%[A-Za-z_])|[^#\s]+\?{1,2}\s*$)")


def without_magics(source: str) -> tuple[str, list[str]]:
    """The cell as plain Python, and the first 60 characters of each thing that was dropped."""
    dropped: list[str] = []
    body = source.lstrip("\n")
    while (first := body.split("\n", 1)[0].strip()).startswith("%%"):
        dropped.append(first[:60])
        if first.split()[0] not in KEEPS_BODY or "\n" not in body:
            return "", dropped
        body = body.split("\n", 1)[1]
    if _is_python(body):
        return (body if dropped else source), dropped
    lines = body.split("\n")
    in_string = _lines_inside_strings(lines)
    number = 0
    while number < len(lines):
        match = _LINE.match(lines[number])
        if match and number not in in_string:
            dropped.append(lines[number].strip()[:60])
            more = lines[number].endswith("\\")
            lines[number] = match["indent"] + "pass"
            while more and number + 1 < len(lines):         # a command that goes on with a backslash
                number += 1
                more = lines[number].endswith("\\")
                lines[number] = ""
        number += 1
    return "\n".join(lines), dropped


def _is_python(source: str) -> bool:
    try:
        ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _lines_inside_strings(lines: list[str]) -> set[int]:
    """The lines that begin inside a triple-quoted string. One pass; the rest of Python's grammar does not matter."""
    inside, quote = set(), None
    token = re.compile(r"\\.|'''|\"\"\"|'|\"|#")
    for number, line in enumerate(lines):
        if quote:
            inside.add(number)
        elif _LINE.match(line):
            continue                                        # a shell command's quotes open no Python string
        position, single = 0, None
        while match := token.search(line, position):
            found, position = match.group(), match.end()
            if quote:
                quote = None if found == quote else quote
            elif single:
                # Three quotes end a short string at the first of them.
                if found[0] == single:
                    single, position = None, match.start() + 1
            elif found == "#":
                break
            elif len(found) == 3:
                quote = found
            elif found in "'\"":
                single = found
    return inside

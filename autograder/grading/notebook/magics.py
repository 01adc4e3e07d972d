"""Take IPython's own syntax (magics, shell escapes, help) out of a cell, and say what was taken.

The sandbox runs plain Python. A line such as `%matplotlib inline` becomes `pass`; `x = !ls` becomes
`pass` too, so that a later use of `x` fails with the student's own line. `%%time` and `%%capture`
keep their body, any other cell magic takes its whole cell with it. Text inside strings is left
alone: a cell that is already Python is not touched. What was pasted with prompts or indented as a
whole runs, as in Jupyter. Not covered: automagic (`ls` without a percent sign) and IPython's
autocall (`/f x`), which no shared notebook uses.

Every pattern is tried at one place of a bounded text, so the work grows with the length of the cell
and no faster.
"""

import ast
import re
import warnings

KEEPS_BODY = ("%%time", "%%capture", "%%prun", "%%timeit")
LOOKED_AT = (
    200  # characters at the start of a line that can make it IPython's: no command's name is longer
)
_TOKEN = re.compile(r"\\.|'''|\"\"\"|'|\"|#")


def without_magics(source: str) -> tuple[str, list[str]]:
    """The cell as plain Python, and the first 60 characters of each thing that was dropped."""
    dropped: list[str] = []
    lines = source.lstrip("\n").split("\n")
    first = 0
    while first < len(lines) and lines[first].lstrip().startswith("%%"):
        name = lines[first].strip()[:LOOKED_AT]
        dropped.append(name[:60])
        first += 1
        if name.split()[0] not in KEEPS_BODY or first == len(lines):
            return "", dropped
    lines = lines[first:]
    if is_python("\n".join(lines)):
        return ("\n".join(lines) if dropped else source), dropped
    if plain := _without_prompts(lines):
        return plain, dropped
    in_string = _lines_inside_strings(lines)
    number = 0
    while number < len(lines):
        if number not in in_string and _is_ipython(lines[number]):
            dropped.append(lines[number].strip()[:60])
            more = lines[number].endswith("\\")
            lines[number] = (
                lines[number][: len(lines[number]) - len(lines[number].lstrip())] + "pass"
            )
            while more and number + 1 < len(lines):  # a command that goes on with a backslash
                number += 1
                more = lines[number].endswith("\\")
                lines[number] = ""
        number += 1
    return "\n".join(lines), dropped


def _without_prompts(lines: list[str]) -> str:
    """The cell as IPython takes one that was pasted: without the indentation of the whole, or with
    `>>>` and `In [1]:` off; "" if that is no Python either.
    """
    from IPython.core.inputtransformer2 import classic_prompt, ipython_prompt, leading_indent

    whole = [f"{line}\n" for line in lines]
    for transform in (leading_indent, classic_prompt, ipython_prompt):
        whole = transform(whole)
    plain = "".join(whole).removesuffix("\n")
    return plain if plain != "\n".join(lines) and is_python(plain, 0) else ""


def _is_ipython(line: str) -> bool:
    """Whether a line is a magic, a shell escape, an assignment from one, or a question for help."""
    start = line.lstrip()[:LOOKED_AT]
    if (
        start.startswith(("!", "?"))
        or _is_magic(start)
        or start.startswith("%%")
        and _is_magic(start[1:])
    ):
        return True
    left, equals, right = start.partition("=")
    if equals and (right.lstrip().startswith("!") or _is_magic(right.lstrip())):
        return (
            left.strip() != ""
            and "#" not in left
            and all(len(name.split()) == 1 for name in left.split(","))
        )
    whole = line.strip() if len(line) <= LOOKED_AT else ""
    return (
        whole.endswith("?") and "#" not in whole and not any(letter.isspace() for letter in whole)
    )


def _is_magic(text: str) -> bool:
    """A percent sign and a name at once: a line that begins with "% " may continue an
    expression.
    """
    return text[:1] == "%" and (text[1:2].isalpha() or text[1:2] == "_")


def is_python(source: str, flags: int = ast.PyCF_ONLY_AST) -> bool:
    """Whether it parses; or compiles, with other flags: a `return` outside of a function parses,
    and is half of a cell that was split.
    """
    try:
        with warnings.catch_warnings(action="ignore"):
            return compile(source, "cell", "exec", flags, dont_inherit=True) is not None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def _lines_inside_strings(lines: list[str]) -> set[int]:
    """The lines that begin inside a triple-quoted string.

    One pass; the rest of Python's grammar does not matter.
    """
    inside, quote = set(), None
    for number, line in enumerate(lines):
        if quote:
            inside.add(number)
        elif _is_ipython(line):
            continue  # a shell command's quotes open no Python string
        position, single = 0, None
        while match := _TOKEN.search(line, position):
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

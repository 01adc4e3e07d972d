"""An exercise's function that is written where it does not count, while the one that was given still stands in the exercise's cell.

The cell as given defines the function, too, and says only that it is not written yet. So an answer above it is replaced by it; and
one in a cell that grading does not run, such as a locked one or a text, is never seen. A machine must not call such an answer missing.
"""

import ast
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from hashlib import sha256

REPLACED = "`{}` as it was given stands below another one of this name, which it replaces: the answer may be there."
UNSEEN = "The cell of this exercise is as it was given, and a cell that does not run in grading defines `{}` too (cell number in the file: {}): the answer may be there."
BESIDE = "This exercise earned nothing, and `{}` is written in more places than the one that was judged (cell number in the file: {}): the answer may be there."
# A definition with a body, on its line or below it, further in: the first line alone is quoted in notes. Comments count, see `beside`.
BEGINS = re.compile(
    r"^([ \t]*)(?:[^\n]{0,80}?[:`*>][ \t]*)??(?:(?:async[ \t]+)?def|class)[ \t]+(\w+)"
    r"(?=[^\n]{0,300}\)[^\n)]{0,300}:[ \t]*(?:return|yield|raise|pass|\w+[ \t]*[=(])|[^\n]*\n(?:[ \t]*\n){0,3}\1[ \t]+\S)|^[ \t]*(\w+)[ \t]*=[ \t]*lambda\b",
    re.MULTILINE,
)
# What a list, a quotation, a listing, a prompt or a diff puts before a line of code.
DECORATION = re.compile(
    r"^(?:[ \t]*(?:>>>|\.\.\.|[-+*>|#`]+|In \[\d*\]:|\d{1,4}[.):|]?(?=[ \t])))+", re.MULTILINE
)
TAGS = re.compile(r"^(?:[ \t]*</?[a-z][^>\n]{0,200}>)+", re.MULTILINE)
MAX_BODY = 2_000  # characters in which a body says that it is not written yet
FENCED = re.compile(r"^[ \t]*(```|~~~)[^\n]*\n(.*?)^[ \t]*\1[ \t]*$", re.MULTILINE | re.DOTALL)


def replaced(sources: Iterable[str], stubs: dict[str, dict[str, str]]) -> dict[str, str]:
    """By exercise, a function of its own that is there as given below the student's, so that this one is lost.

    sources: the cells that run, in order. stubs: by exercise what its cell as given defines, see `definitions`.
    """
    given = {one for functions in stubs.values() for one in functions.items()}
    written: set[str] = set()
    lost: set[str] = set()
    for name, code in (one for source in sources for one in _definitions(source)):
        if (name, code) not in given:
            written.add(name)
            lost.discard(name)
        elif name in written:
            lost.add(name)
    return {
        exercise: name
        for exercise, functions in stubs.items()
        for name in functions
        if name in lost
    }


def unseen(
    cells: Iterable[tuple[int, str, str]], running: set[str], stubs: dict[str, dict[str, str]]
) -> dict[str, tuple[str, list[int]]]:
    """By exercise, a function of its own that only cells that do not run define, and their places.

    cells: place, text, and the text as it was given ("" for an added cell). running: what the student's running cells define.
    """
    found: dict[str, tuple[str, list[int]]] = {}
    for place, text, given in cells:
        names = begun(text) - begun(given) - running
        for exercise, functions in stubs.items():
            if some := sorted(functions.keys() & names):
                found.setdefault(exercise, (some[0], []))[1].append(place)
    return found


def beside(
    cells: Iterable[tuple[int, str, str, bool]],
    sources: Iterable[str],
    stubs: dict[str, dict[str, str]],
) -> dict[str, tuple[str, list[int]]]:
    """By exercise, a function of its own that the student wrote otherwise than it is judged, or more than once, and all places of it.

    cells: place, text, the text as it was given ("" for an added cell), and whether it is an exercise's. sources: the cells that run, in
    order; what comes last there is judged. Comments, strings and texts count: there an answer may have been put away.
    """
    given = {one for functions in stubs.values() for one in functions.items()}
    sources = list(sources)
    judged = {
        name: True for source in sources if not definitions(source) for name in _begun(source)
    }  # no Python: it failed, and that is judged
    judged |= {
        name: (name, code) not in given for source in sources for name, code in _definitions(source)
    }
    written: dict[str, list[int]] = {}
    for place, text, before, exercises in cells:
        ours = _begun(before)
        kept = (
            Counter(
                name for name, code in _definitions(text) if (name, code) in given and name in ours
            )
            if exercises
            else Counter(ours)
        )
        for name, number in (Counter(_begun(text)) - kept).items():
            written.setdefault(name, []).extend([place] * number)
    found = {}
    for exercise, functions in stubs.items():
        for name in functions:
            if len(places := written.get(name, [])) > judged.get(name, False):
                found.setdefault(exercise, (name, sorted(set(places))))
    return found


def begun(text: str, unwritten: bool = False) -> set[str]:
    """The functions and classes that lines of a text begin to define, whether it is Python or not. unwritten: those too that only say so."""
    return set(_begun(text, unwritten))


@lru_cache(maxsize=512)  # as `_definitions`
def _begun(text: str, unwritten: bool = False) -> tuple[str, ...]:
    plain = DECORATION.sub("", TAGS.sub("", text.replace("\xa0", " ")))
    return tuple(
        found[2] or found[3]
        for found in BEGINS.finditer(plain)
        if unwritten or found[3] or _has_body(plain, found)
    )


def _has_body(plain: str, found: re.Match) -> bool:
    """Whether what stands below a definition's first line is more than the given "not written yet"."""
    first, *below = plain[found.end() : found.end() + MAX_BODY].split("\n")
    body = [first]
    for line in below:
        if line.strip() and not line.startswith((found[1] + " ", found[1] + "\t")):
            break
        body.append(line)
    body = "\n".join(body)
    return "NotImplementedError" not in body or "return" in body or "yield" in body


def definitions(source: str) -> dict[str, str]:
    """The functions and classes that a code cell makes, or gives a name, when it runs, with a hash of the code that does it."""
    return dict(_definitions(source))


@lru_cache(
    maxsize=256
)  # a cell is asked about several times, and the cells as given for each submission; what is kept of one is small
def _definitions(source: str) -> tuple[tuple[str, str], ...]:
    try:
        with warnings.catch_warnings(action="ignore"):
            return tuple(
                (name, sha256(ast.dump(node).encode(errors="replace")).hexdigest())
                for name, node in named(ast.parse(source).body)
            )
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()


def named(statements: list[ast.stmt]) -> Iterator[tuple[str, ast.stmt]]:
    """Names with the statements that give them, in order; within blocks too, but for those that never run, and not within functions and classes."""
    for node in statements:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name, node
            continue
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(
            node.value, (ast.Lambda, ast.Name, ast.Attribute)
        ):  # not a number, or a list
            yield from (
                (target.id, node)
                for target in getattr(node, "targets", [getattr(node, "target", None)])
                if isinstance(target, ast.Name)
            )
        never = (
            isinstance(node, ast.If) and isinstance(node.test, ast.Constant) and not node.test.value
        )
        for block in ("orelse",) if never else ("body", "orelse", "finalbody", "handlers"):
            for inner in getattr(node, block, []):
                yield from named(inner.body if isinstance(inner, ast.ExceptHandler) else [inner])


def unfenced(text: str) -> str:
    """What stands between the fences of a text, if there are any: code that an editor, or its author, turned into text."""
    blocks = [block.rstrip("\n") for _, block in FENCED.findall(text)]
    return "\n".join(blocks) if blocks else text

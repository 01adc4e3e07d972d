"""Words about a student's objects and errors, which may answer any question with an exception."""

import sys
from collections.abc import Callable

MAX_TEXT = 4000  # characters of one error, as in a feedback page
MAX_LISTED = 12  # names in a sentence about what there is


def names_of(value: object) -> list[str]:
    """What an object offers by name: its own attributes and its class's, without those of object
    and nn.Module.
    """
    torch = sys.modules.get("torch")
    dull = set(dir(torch.nn.Module())) if torch else set()
    try:
        return sorted(
            name
            for name in {*vars(value), *dir(value)}
            if type(name) is str and not name.startswith("_") and name not in dull
        )
    except Exception:
        return []


def listed(names: list[str]) -> str:
    """Names for a sentence, the first few of them."""
    return ", ".join(f"`{name[:40]}`" for name in names[:MAX_LISTED]) + (
        " and more" if len(names) > MAX_LISTED else ""
    )


def a_kind(value: object) -> str:
    """What something is, with its article."""
    return "None" if value is None else f"an object of type {type(value).__name__}"


def text_of(describe: Callable, error: BaseException, *more: object) -> str:
    """`describe(error, ...)`, capped and free of what no file can hold; a student's __str__ may
    fail, too.
    """
    try:
        text = str(describe(error, *more))
    except BaseException as second:
        text = f"{type(error).__name__}, whose message cannot be read ({type(second).__name__})"
    return text[:MAX_TEXT].encode("utf-8", "replace").decode("utf-8")

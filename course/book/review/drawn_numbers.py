"""Numbers that are drawn for an exam question, and its answer computed from the same numbers.

    draw: {d: [256, 512], r: [2, 4, 8]}        every name with the values that it may have
    let: {pairs: d * r}                        numbers on the way, in order, for the worked answer
    answer: 2 * pairs

gives six variants of one question, each a dict of all names with their values, `answer` among them.
The expressions are arithmetic of a few functions, read with Python's parser and never run as
Python: a file of questions is data. Not here: the files themselves (questions.py) and which variant
somebody gets (exam.py).
"""

import ast
import itertools
import math
import operator
from collections.abc import Mapping, Sequence

MOST = 64  # variants of one question: they all go into the page
OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
FUNCTIONS = {
    "sqrt": math.sqrt,
    "log": math.log,
    "log2": math.log2,
    "exp": math.exp,
    "ceil": math.ceil,
    "floor": math.floor,
    "min": min,
    "max": max,
    "abs": abs,
}


class DrawnError(ValueError):
    """Draws or an expression that cannot be used; the message says what is wrong."""


def _walk(node: ast.expr, names: Mapping[str, float], expression: object) -> int | float:
    """What one node of `expression` is."""
    if (
        isinstance(node, ast.Constant)
        and isinstance(node.value, (int, float))
        and not isinstance(node.value, bool)
    ):
        return node.value
    if isinstance(node, ast.Name) and node.id in names:
        return names[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_walk(node.operand, names, expression)
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        left, right = (_walk(one, names, expression) for one in (node.left, node.right))
        return OPERATORS[type(node.op)](left, right)
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in FUNCTIONS
        and not node.keywords
    ):
        return FUNCTIONS[node.func.id](*(_walk(one, names, expression) for one in node.args))
    raise DrawnError(
        f"{expression!r} has {ast.unparse(node)!r}, which is neither a number, a drawn name nor"
        f" arithmetic; there are {', '.join([*names, *FUNCTIONS])}"
    )


def value(expression: str | int | float, names: Mapping[str, float]) -> int | float:
    """What an arithmetic expression over `names` is.

    Raises DrawnError for anything that is no arithmetic.
    """
    try:
        found = _walk(ast.parse(str(expression), mode="eval").body, names, expression)
    except SyntaxError:
        raise DrawnError(f"{expression!r} is no expression") from None
    except (ArithmeticError, TypeError) as error:
        raise DrawnError(f"{expression!r}: {error} for {dict(names)}") from None
    except ValueError as error:
        raise (
            error
            if isinstance(error, DrawnError)
            else DrawnError(f"{expression!r}: {error} for {dict(names)}")
        ) from None
    return (
        int(found)
        if isinstance(found, float) and found.is_integer() and abs(found) < 2**53
        else found
    )


def variants(
    draw: Mapping[str, Sequence[float]], let: Mapping[str, str], answer: str | int | float
) -> list[dict[str, int | float]]:
    """Every combination of the drawn values, with what `let` makes of it and the `answer`, in the
    order of the lists.
    """
    many = math.prod(len(values) for values in draw.values())
    if not 1 <= many <= MOST:
        raise DrawnError(f"there are {many} variants; let there be 1 to {MOST}")
    made = []
    for chosen in itertools.product(*draw.values()):
        names = dict(zip(draw, chosen))
        for name, expression in let.items():
            names[name] = value(expression, names)
        names["answer"] = value(answer, names)
        if not math.isfinite(names["answer"]):
            raise DrawnError(f"the answer is {names['answer']} for {names}")
        made.append(names)
    return made


def shown(number: int | float) -> str:
    """A number as a question writes it: whole ones with commas, others with four digits
    that count.
    """
    if isinstance(number, int):
        return f"{number:,}"
    size = abs(number)
    if size >= 1000:
        return f"{number:,.0f}"
    text = f"{number:.4g}" if size >= 0.001 or size == 0 else f"{number:.3e}"
    return text if "e" in text else text.rstrip("0").rstrip(".") if "." in text else text

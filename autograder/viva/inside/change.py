"""What small changes of a student's code do to the result of the captured calls: each is run."""

import ast
import builtins
import sys
import warnings
from collections import Counter
from functools import partial

import torch

from autograder.viva.inside.code import Code
from autograder.viva.inside.describing import describe
from autograder.viva.inside.episodes import CAPTURE, alike, played
from autograder.viva.inside.watch import names_of

MOST_CHANGED = 5_000  # lines that a changed cell may run
MOST_SITES = 24  # that are tried
MOST_LAUNCHES = 8  # the same of kernels, whose interpreter is slow
FEW = 6  # numbers of a result that is printed
FAR = 0.05  # between two printed numbers: no float noise, no trick of rounding
SWAPS = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Pow: ast.Mult,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}


GONE = "the line is removed"


class TooLong(BaseException):
    """A changed cell that runs more lines than any that is asked about."""


def w2s_changed(source: str, name: str, given: list, number: int) -> dict:
    """{"before": the result as text, "changes": [line, what changes, outcome, result as text] of
    the change with this number, "more": whether there are others}.

    outcome: "same", "values", "shape" or "error". No change is returned where the code does not
    end soon, or where the result differs from run to run. One change a call: each has its time.
    """
    warnings.simplefilter("ignore")  # of numpy and the compiler, about changed code
    episode, code = CAPTURE["chosen"], Code(source, name, given)
    if number == 0:
        CAPTURE["before"] = [_run(source, name, episode) for _ in range(2)]
        CAPTURE["outcomes"] = {}
    before, again = CAPTURE["before"]
    if not alike(before, again):
        # What a change does cannot be told from chance.
        return {"before": None, "changes": [], "more": False}
    chosen = _changes(code)[: MOST_LAUNCHES if CAPTURE["kernel"] else MOST_SITES]
    found = []
    for line, site, label in chosen[number : number + 1]:
        text = _changed_text(code, site)
        outcomes = [_outcome(before, text, name, episode) for _ in range(2)]
        if outcomes[0] is not None and outcomes[0] == outcomes[1]:
            found.append([line, label, *outcomes[0]])
            CAPTURE["outcomes"][site] = (line, label, outcomes[0][0])
    more = number + 1 < len(chosen)
    return {"before": _text(before, describe(before)), "changes": found, "more": more}


# ------------------------------------------------------------------ changed programs
def _changes(code: Code) -> list:
    """(line, number of the site, what changes) of each change; lines take turns.

    What changes is named by its kind and, of several in a line, its number: no label quotes code.
    """
    sites = _sites(code)
    several = Counter((line, label) for line, label, _ in sites)
    turns, numbers, ranked = Counter(), Counter(), []
    for number, (line, label, _) in enumerate(sites):
        turns[line] += 1
        numbers[line, label] += 1
        if several[line, label] > 1:
            label = f"{label} (number {numbers[line, label]} of the line)"
        ranked.append((turns[line], line, number, label))
    return [one[1:] for one in sorted(ranked)]


def _changed_text(code: Code, number: int) -> str:
    """The cell with one site changed: those of a fresh tree are the same in the same order."""
    fresh = Code(code.source, code.name, [])
    fresh.watched = {one: fresh.watched[one] for one in code.watched}
    _sites(fresh)[number][2]()
    return ast.unparse(ast.fix_missing_locations(fresh.tree))


def _sites(code: Code) -> list:
    """(line, what changes, how) of each place that can be changed, from left to right."""
    found = []
    parents = {id(child): one for one in ast.walk(code.tree) for child in ast.iter_child_nodes(one)}
    for line, statement in code.watched.items():
        inside = statement.test if isinstance(statement, ast.If) else statement
        nodes = sorted(ast.walk(inside), key=_where)
        for node in nodes:
            found += [(line, *one) for one in _of_node(node, parents)]
        if isinstance(statement, (ast.Expr, ast.Assign, ast.AugAssign)):
            found.append((line, GONE, partial(_replace, parents[id(statement)], statement, PASS)))
    return found


def _where(node: ast.AST) -> tuple:
    """Where a reader looks for a node: an operator stands after its left side, a call's
    parenthesis after its name.
    """
    before = getattr(node, "left", getattr(node, "func", None))
    end = getattr(before, "end_col_offset", None)
    return (end if end is not None else getattr(node, "col_offset", -1),)


def _of_node(node: ast.AST, parents: dict) -> list:
    if isinstance(node, ast.BinOp):
        return _of_operator(node)
    if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
        new = SWAPS[type(node.ops[0])]()
        return [("a comparison is exchanged", partial(node.ops.__setitem__, 0, new))]
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return [("a whole number is raised by 1", partial(setattr, node, "value", node.value + 1))]
    if isinstance(node, ast.keyword) and node.arg:
        return [("a named argument is left out", partial(parents[id(node)].keywords.remove, node))]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Not)):
        if isinstance(node.operand, ast.Constant):
            return []
        label = "a minus sign" if isinstance(node.op, ast.USub) else "a `not`"
        change = partial(_replace, parents[id(node)], node, node.operand)
        return [(f"{label} is left out", change)]
    return _of_call(node, parents) if isinstance(node, ast.Call) else []


def _of_operator(node: ast.BinOp) -> list:
    found = []
    if type(node.op) in SWAPS:
        change = partial(setattr, node, "op", SWAPS[type(node.op)]())
        found.append(("an arithmetic operator is exchanged", change))
    if not isinstance(node.op, (ast.Add, ast.Mult)):
        found.append(("the sides of an operator trade places", partial(_swap_sides, node)))
    return found


def _swap_sides(node: ast.BinOp) -> None:
    node.left, node.right = node.right, node.left


def _of_call(node: ast.Call, parents: dict) -> list:
    owner = getattr(node.func, "value", None)
    of_module = isinstance(owner, ast.Name) and owner.id in MODULES
    if owner is not None and not of_module and not isinstance(owner, ast.Attribute):
        change = partial(_replace, parents[id(node)], node, owner)
        return [("a method call is left out", change)]
    plain = isinstance(node.func, ast.Name) or of_module
    if plain and node.args and not isinstance(node.args[0], ast.Starred):
        change = partial(_replace, parents[id(node)], node, node.args[0])
        return [("a function call is replaced by its first argument", change)]
    return []


MODULES = {"torch", "F", "nn", "math", "np", "tl", "triton", "self", "re", "json", "random"}
PASS = ast.Pass()


def _replace(parent: ast.AST, old: ast.AST, new: ast.AST) -> None:
    for field, value in ast.iter_fields(parent):
        if value is old:
            setattr(parent, field, new)
        elif isinstance(value, list) and any(one is old for one in value):
            setattr(parent, field, [new if one is old else one for one in value])


# ------------------------------------------------------------------ their results
def _outcome(before, text: str, name: str, episode: list) -> tuple | None:
    try:
        after = _run(text, name, episode)
    except TooLong:
        return None
    except LookupError as error:
        if "was not asked" in str(error):
            return None  # it asks a function of ours what the student's never asked
        return "error", _raises(error)
    except Exception as error:
        # That a name is missing can be seen without the code: nobody is asked for it.
        # A kernel that was stopped by the harness has no result on a GPU either.
        unseen = isinstance(error, NameError) or type(error).__name__ == "Failed"
        return None if unseen else ("error", _raises(error))
    if alike(before, after):
        return "same", "exactly what it gives unchanged"
    kinds = describe(before), describe(after)
    if [one.get("shape") for one in kinds] != [one.get("shape") for one in kinds[::-1]]:
        return "shape", f"a tensor of shape {tuple(after.shape)}" if _is_tensor(after) else None
    end = "values" if kinds[0]["kind"] == kinds[1]["kind"] else "shape"
    return end, _text(after, kinds[1], before)


def _raises(error: Exception) -> str:
    name = type(error).__name__
    return f"an exception ({name})" if hasattr(builtins, name) else "an exception"


def _is_tensor(value) -> bool:
    return isinstance(value, torch.Tensor)


def _text(value, described: dict, other=None) -> str | None:
    """A result for a reader, None where it is too long or nearly another one."""
    if "text" in described and described["kind"] != "float":
        return described["text"]
    if isinstance(value, float):
        near = isinstance(other, float) and abs(value - other) < FAR
        return None if near or value != value else f"{value:.2f}"
    if not _is_tensor(value):
        return None
    if _is_tensor(other) and (value.numel() > FEW or value.dtype == torch.bool):
        return _entries(value.detach().double(), other.detach().double())
    if value.numel() > FEW or value.dtype == torch.bool:
        return None
    numbers = value.detach().double()
    if not torch.isfinite(numbers).all():
        return None
    same_shape = _is_tensor(other) and other.shape == value.shape
    if same_shape and (numbers - other.detach().double()).abs().max() < FAR:
        return None
    return f"tensor({_two_digits(numbers.tolist())})"


def _entries(value, other) -> str | None:
    """How many entries of a large result differ, where that is no matter of rounding."""
    apart = (value - other).abs()
    count = int((apart > FAR).sum())
    if count != int((apart > 1e-5).sum()) or not torch.isfinite(apart).all():
        return None
    return f"a result of the same size, of which {count} of {value.numel()} entries differ"


def _two_digits(numbers):
    if isinstance(numbers, list):
        return [_two_digits(one) for one in numbers]
    return round(numbers, 2) + 0.0


def _run(text: str, name: str, episode: list):
    """What the episode gives of this text. Raises TooLong after MOST_CHANGED of its lines."""
    filename = f"<changed {name}>"
    names = names_of(text, filename)
    left = MOST_CHANGED

    def each(frame, event, _):
        nonlocal left
        if frame.f_code.co_filename != filename:
            return None
        left -= event == "line"
        if left < 0:
            raise TooLong
        return each

    before = sys.gettrace()
    sys.settrace(each)
    try:
        return played(names, name, episode)
    finally:
        sys.settrace(before)

"""What happens in one call of a student's function, told by two ways of watching it.

This file runs inside the sandbox, as one more cell after the student's: it takes code
apart and runs it there, so that the grader only reads plain data. It imports nothing
of the course. `w2s_record` watches a run twice:

- `_traced` leaves the code as it is, asks the interpreter for each line, and evaluates
  the line's expressions in the frame;
- `_rewritten` runs a copy in which each expression hands its value to a notebook and
  each statement counts itself.

Only what both say alike is reported.
"""

import ast
import copy
import math
import sys

import torch

MOST_STEPS = 20_000
MOST_CHANGED = 5_000  # lines that a changed function may run
MOST_VISITS = 200  # of one expression
SHOWN = 60  # characters of an expression
PURE = (ast.Call, ast.BinOp, ast.Subscript, ast.Attribute, ast.Compare, ast.UnaryOp)
OWN_SCOPE = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
MAYBE = (ast.IfExp, ast.BoolOp)  # parts of these may not be evaluated
CHANGING = {"append", "extend", "insert", "pop", "remove", "sort", "update", "add", "next"}
RANDOM = {"rand", "randn", "randint", "multinomial", "random", "sample", "choice", "shuffle"}
COMPOUND = (ast.For, ast.While, ast.If, ast.With, ast.Try, ast.FunctionDef)


def w2s_record(source: str, name: str, args: tuple) -> dict:
    """The run of `name(*args)`: {"parameters", "given", "lines", "seen", "expressions"}.

    given: descriptions of the arguments. lines: from the number of a line of the cell to
    how often it ran. expressions: from a number to [line, text]; seen: from that number
    to descriptions of its values, visit by visit. Raises ValueError where the two
    watchers disagree about the lines or the result.
    """
    function = _definition(ast.parse(source), name)
    expressions = dict(enumerate(_expressions(function)))
    lines, seen, returned = _traced(source, name, args, function, expressions)
    lines_2, seen_2, returned_2 = _rewritten(source, name, args, expressions)
    if lines != lines_2 or describe(returned) != describe(returned_2):
        raise ValueError("two ways of watching this function disagree")
    agreed = {number: seen[number] for number in seen if seen[number] == seen_2.get(number)}
    watched = _watched(function)
    return {
        "parameters": [one.arg for one in (*function.args.posonlyargs, *function.args.args)],
        "given": [describe(one) for one in args],
        "lines": {line: lines.get(line, 0) for line in watched},
        "seen": agreed,
        "expressions": {
            number: [expressions[number].lineno, ast.unparse(expressions[number])]
            for number in agreed
        },
    }


def w2s_changed(source: str, name: str, args: tuple) -> list:
    """[line, old statement, new statement, outcome] of each small change of the function.

    outcome: "same", "values", "shape" or "error". Left out are changes after which the
    function does not end soon, and those whose outcome differs between the changed tree
    and its printed text.
    """
    before = _call(source, name, args)
    found = []
    for line, old, new, tree in _changes(source, name):
        outcomes = {
            _outcome(before, tree, name, args),
            _outcome(before, ast.parse(ast.unparse(tree)), name, args),
        }
        if len(outcomes) == 1 and outcomes != {"endless"}:
            found.append([line, old, new, outcomes.pop()])
    return found


def describe(value: object) -> dict:
    """What a question may ask of a value: its kind, a tensor's shape, a small one's text."""
    if isinstance(value, torch.Tensor):
        return {"kind": "tensor", "shape": list(value.shape)}
    if isinstance(value, (bool, str)) or value is None:
        return {"kind": type(value).__name__, "text": repr(value)[:SHOWN]}
    if isinstance(value, int):
        return {"kind": "int", "text": str(value)[:SHOWN]}
    if isinstance(value, float):
        return {"kind": "float", "text": f"{value:.4g}"}
    if isinstance(value, (list, tuple)):
        return {"kind": type(value).__name__, "length": len(value)}
    return {"kind": type(value).__name__}


# ------------------------------------------------------------------ the student's code
def _definition(tree: ast.Module, name: str) -> ast.FunctionDef:
    for node in reversed(tree.body):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return node
    raise ValueError(f"the cell does not define {name} as a function")


def _statements(node: ast.AST) -> list:
    """All statements inside a function, but those of functions inside it."""
    found = []
    for field in ("body", "orelse", "handlers", "finalbody"):
        for child in getattr(node, field, []):
            if isinstance(child, ast.FunctionDef):
                continue
            if isinstance(child, ast.stmt) and not _is_docstring(child):
                found.append(child)
            found += _statements(child)
    return found


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _watched(function: ast.FunctionDef) -> dict:
    """From a line to its statement: those of one line, and heads of `if`, one on a line.

    Heads of loops are left out: how often they run is a matter of taste.
    """
    found, several = {}, set()
    for statement in _statements(function):
        line = statement.lineno
        several |= {line} if line in found else set()
        if isinstance(statement, ast.If):
            fits = statement.test.end_lineno == line
        else:
            fits = statement.end_lineno == line and not isinstance(statement, COMPOUND)
        if fits:
            found.setdefault(line, statement)
    return {line: one for line, one in found.items() if line not in several}


def _expressions(function: ast.FunctionDef) -> list:
    """Expressions that compute, change nothing and are surely evaluated."""
    found = []
    for statement in _watched(function).values():
        found += _inside(statement.test if isinstance(statement, ast.If) else statement)
    return [one for one in found if isinstance(getattr(one, "ctx", ast.Load()), ast.Load)]


def _inside(node: ast.AST) -> list:
    if isinstance(node, OWN_SCOPE + MAYBE + (ast.FunctionDef, ast.NamedExpr)):
        return []
    parts = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        parts[0] = node.func.value  # the method itself is no value to ask for
    children = [one for part in parts for one in _inside(part)]
    wanted = isinstance(node, PURE) and node.lineno == node.end_lineno and _is_pure(node)
    wanted = wanted and not isinstance(getattr(node, "operand", None), ast.Constant)  # -1
    return [node, *children] if wanted else children


def _is_pure(node: ast.AST) -> bool:
    for part in ast.walk(node):
        if isinstance(part, (ast.NamedExpr, ast.Await, ast.Yield, *OWN_SCOPE)):
            return False
        if isinstance(part, ast.Call):
            called = part.func
            name = getattr(called, "attr", getattr(called, "id", ""))
            if name in CHANGING | RANDOM or name.endswith("_"):
                return False
    return True


# ------------------------------------------------------------------ the first watcher
def _traced(source, name, args, function, expressions):
    filename = f"<viva {name}>"
    names = _names(source, filename)
    by_line = {}
    for number, node in expressions.items():
        code = compile(ast.Expression(node), "<expression>", "eval")
        by_line.setdefault(node.lineno, []).append((number, code))
    watched = _watched(function)
    lines, seen, steps = {}, {}, 0

    def each(frame, event, _):
        nonlocal steps
        if frame.f_code.co_filename != filename or frame.f_code.co_name != name:
            return None
        line = frame.f_lineno
        if event != "line" or line not in watched:
            return each
        steps += 1
        if steps > MOST_STEPS:
            raise ValueError("the run is too long to be watched")
        lines[line] = lines.get(line, 0) + 1
        sys.settrace(None)
        for number, code in by_line.get(line, ()):
            if len(seen.setdefault(number, [])) < MOST_VISITS:
                try:
                    value = eval(code, frame.f_globals, dict(frame.f_locals))
                    seen[number].append(describe(value))
                except Exception as error:
                    seen[number].append({"kind": "raises", "text": type(error).__name__})
        sys.settrace(each)
        return each

    arguments = copy.deepcopy(args)
    before = sys.gettrace()
    sys.settrace(each)
    try:
        returned = names[name](*arguments)
    finally:
        sys.settrace(before)
    return lines, seen, returned


# ------------------------------------------------------------------ the second watcher
class _Rewriter(ast.NodeTransformer):
    """Wraps the chosen expressions, and lets each statement of the function count."""

    def __init__(self, chosen: dict):
        self._numbers = chosen

    def generic_visit(self, node: ast.AST) -> ast.AST:
        number = self._numbers.get(_place(node)) if isinstance(node, ast.expr) else None
        super().generic_visit(node)
        if number is None:
            return node
        return _called("w2s_saw", ast.Constant(number), node)


def _place(node: ast.AST) -> tuple:
    return (type(node).__name__, node.lineno, node.col_offset, node.end_col_offset)


def _called(name: str, *parts: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(parts), [])


def _counting(body: list, watched: dict) -> list:
    """A block in which each watched statement is preceded by its count."""
    found = []
    for statement in body:
        for field in ("body", "orelse", "finalbody"):
            if getattr(statement, field, None) and not isinstance(statement, ast.FunctionDef):
                setattr(statement, field, _counting(getattr(statement, field), watched))
        for handler in getattr(statement, "handlers", []):
            handler.body = _counting(handler.body, watched)
        if statement is watched.get(statement.lineno):
            found.append(ast.Expr(_called("w2s_ran", ast.Constant(statement.lineno))))
        found.append(statement)
    return found


def _rewritten(source, name, args, expressions):
    lines, seen = {}, {}

    def ran(line):
        lines[line] = lines.get(line, 0) + 1

    def saw(number, value):
        if len(seen.setdefault(number, [])) < MOST_VISITS:
            seen[number].append(describe(value))
        return value

    tree = ast.parse(source)
    function = _definition(tree, name)
    watched = _watched(function)
    _Rewriter({_place(node): number for number, node in expressions.items()}).visit(function)
    function.body = _counting(function.body, watched)
    names = _names(ast.fix_missing_locations(tree), "<rewritten>", w2s_ran=ran, w2s_saw=saw)
    return lines, seen, names[name](*copy.deepcopy(args))


def _names(source, filename: str, **more) -> dict:
    """A copy of the student's names, with the cell run again in it."""
    names = {**globals(), **more}
    exec(compile(source, filename, "exec"), names)
    return names


# ------------------------------------------------------------------ changed programs
SWAPS = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
}


def _changes(source: str, name: str) -> list:
    """(line, old statement, new statement, changed tree): one small change in each."""
    found = []
    total = len(_sites(ast.parse(source), name))
    for number in range(total):
        tree = ast.parse(source)
        statement, change = _sites(tree, name)[number]
        old = ast.unparse(statement)
        change()
        new = ast.unparse(statement)
        if new != old and "\n" not in old and "\n" not in new:
            found.append((statement.lineno, old, new, tree))
    return found


def _sites(tree: ast.Module, name: str) -> list:
    """Each place that can be changed: its statement, and what changes it."""
    found = []
    for statement in _watched(_definition(tree, name)).values():
        if isinstance(statement, ast.If):
            continue
        for node in ast.walk(statement):
            if isinstance(node, ast.BinOp) and type(node.op) in SWAPS:
                found.append((statement, lambda node=node: _swap(node, "op")))
            if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
                found.append((statement, lambda node=node: _swap(node, "ops")))
            if isinstance(node, ast.Constant) and type(node.value) is int:
                found.append((statement, lambda node=node: _add_one(node)))
            if isinstance(node, ast.keyword) and node.arg in ("keepdim", "dtype"):
                found.append((statement, lambda s=statement, node=node: _drop(s, node)))
            if _is_chained(node):
                found.append((statement, lambda s=statement, node=node: _unchain(s, node)))
    return found


def _swap(node: ast.AST, field: str) -> None:
    if field == "op":
        node.op = SWAPS[type(node.op)]()
    else:
        node.ops[0] = SWAPS[type(node.ops[0])]()


def _add_one(node: ast.Constant) -> None:
    node.value += 1


def _drop(statement: ast.stmt, keyword: ast.keyword) -> None:
    for node in ast.walk(statement):
        if isinstance(node, ast.Call) and keyword in node.keywords:
            node.keywords.remove(keyword)


def _is_chained(node: ast.AST) -> bool:
    """A method call on the result of another computation: `(a / b).clamp(min=0)`."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, (ast.Call, ast.BinOp, ast.Subscript, ast.Name))
        and not (isinstance(node.func.value, ast.Name) and node.func.value.id in globals())
    )


def _unchain(statement: ast.stmt, call: ast.Call) -> None:
    """Replace `x.method(...)` by `x` wherever it is in the statement."""
    for node in ast.walk(statement):
        for field, value in ast.iter_fields(node):
            if value is call:
                setattr(node, field, call.func.value)
            elif isinstance(value, list) and call in value:
                value[value.index(call)] = call.func.value


def _outcome(before, tree: ast.Module, name: str, args: tuple) -> str:
    try:
        after = _call(ast.fix_missing_locations(tree), name, args)
    except TooLong:
        return "endless"
    except Exception:
        return "error"
    if describe(before) != describe(after) and "text" not in describe(before):
        return "shape"
    return "same" if _same(before, after) else "values"


class TooLong(Exception):
    """A changed function that runs more lines than any that is asked about."""


def _call(source, name: str, args: tuple):
    """What the function returns. Raises TooLong after MOST_CHANGED lines of its cell."""
    filename = f"<changed {name}>"
    function = _names(source, filename)[name]
    left = MOST_CHANGED

    def each(frame, event, _):
        nonlocal left
        if frame.f_code.co_filename != filename:
            return None
        left -= event == "line"
        if left < 0:
            raise TooLong
        return each

    arguments = copy.deepcopy(args)
    before = sys.gettrace()
    sys.settrace(each)
    try:
        return function(*arguments)
    finally:
        sys.settrace(before)


def _same(one, other) -> bool:
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        return one.shape == other.shape and torch.equal(
            torch.nan_to_num(one.detach()), torch.nan_to_num(other.detach())
        )
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, float) and isinstance(other, float):
        return one == other or math.isnan(one) and math.isnan(other)
    return type(one) is type(other) and one == other

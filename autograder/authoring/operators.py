"""Small changes to a right solution, one at a time: what a check must notice.

`mutants(source, names)` applies every operator to every place of the named functions' bodies. An
operator takes a node of the syntax tree and gives what may stand in its place. Some kinds cannot be
written that way and wrap the function: they are in `wrappers.py`.
"""

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass

BINARY = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div, ast.Add),
    ast.Div: (ast.Mult,),
    ast.Pow: (ast.Mult,),
    ast.FloorDiv: (ast.Div,),
    ast.Mod: (ast.FloorDiv,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
}
COMPARE = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq, ast.Gt, ast.Lt),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
NAMES = {
    "sum": ("mean", "amax"),
    "mean": ("sum",),
    "max": ("min",),
    "min": ("max",),
    "argmax": ("argmin",),
    "argmin": ("argmax",),
    "amax": ("amin",),
    "amin": ("amax",),
    "all": ("any",),
    "any": ("all",),
    "log": ("log2", "log1p"),
    "log2": ("log",),
    "exp": ("expm1",),
    "sqrt": ("square",),
    "rsqrt": ("sqrt",),
    "softmax": ("log_softmax",),
    "log_softmax": ("softmax",),
    "sigmoid": ("tanh",),
    "tanh": ("sigmoid",),
    "logsigmoid": ("softplus",),
    "ones_like": ("zeros_like",),
    "zeros_like": ("ones_like",),
    "ones": ("zeros",),
    "zeros": ("ones",),
    "float": ("double", "half"),
    "norm": ("sum",),
    "var": ("std",),
    "std": ("var",),
    "tril": ("triu",),
    "triu": ("tril",),
    "floor": ("ceil",),
    "ceil": ("floor",),
    "minimum": ("maximum",),
    "maximum": ("minimum",),
}


@dataclass(frozen=True)
class Mutant:
    """One changed program.

    name: what stands where, `before => after`, with a number when it occurs more than once.
    """

    name: str
    line: int
    source: str
    wrapper: str = ""


def mutants(source: str, names: list[str]) -> list[Mutant]:
    """Every mutant of the functions `names` that a cell's `source` defines, in the order of the
    code, none twice.
    """
    tree = ast.parse(source)
    found: dict[str, Mutant] = {}
    seen: dict[str, int] = {}
    for name, line, changed in _changed(tree, names):
        if changed != ast.unparse(tree) and changed not in found:
            seen[name] = seen.get(name, 0) + 1
            found[changed] = Mutant(
                name if seen[name] == 1 else f"{name} (place {seen[name]})", line, changed
            )
    return list(found.values())


def _changed(tree: ast.Module, names: list[str]) -> Iterator[tuple[str, int, str]]:
    """(before => after, line, whole program) of each change."""
    total = sum(1 for _ in _places(tree, names))
    for number in range(total):
        _, _, node = next(place for i, place in enumerate(_places(tree, names)) if i == number)
        for position in range(len(list(_replacements(node)))):
            fresh = copy.deepcopy(tree)
            parent, where, target = next(
                place for i, place in enumerate(_places(fresh, names)) if i == number
            )
            before = _text(target)
            new = list(_replacements(target))[position]
            _put(parent, where, new)
            ast.fix_missing_locations(fresh)
            after = " ".join(map(_text, new)) if isinstance(new, list) else _text(new)
            yield f"{before}  =>  {after or 'nothing'}", node.lineno, ast.unparse(fresh)


def _places(tree: ast.Module, names: list[str]) -> Iterator[tuple[ast.AST, tuple, ast.AST]]:
    """(parent, field and index, node) of every expression and statement in the bodies of the
    functions.
    """
    for function in tree.body:
        if isinstance(function, ast.FunctionDef) and function.name in names:
            for number, statement in enumerate(function.body):
                if not (
                    number == 0
                    and isinstance(statement, ast.Expr)
                    and isinstance(statement.value, ast.Constant)
                ):
                    yield function, ("body", number), statement
                    yield from _below(statement)


def _below(node: ast.AST) -> Iterator[tuple[ast.AST, tuple, ast.AST]]:
    for field, value in ast.iter_fields(node):
        for number, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if isinstance(child, (ast.expr, ast.stmt, ast.comprehension)):
                if hasattr(child, "lineno"):
                    yield node, (field, number), child
                yield from _below(child)


def _put(parent: ast.AST, where: tuple, new: ast.AST | list) -> None:
    field, number = where
    if number is None:
        setattr(parent, field, new)
    else:
        getattr(parent, field)[number : number + 1] = new if isinstance(new, list) else [new]


def _text(node: ast.AST) -> str:
    return " ".join(ast.unparse(node).split())


def _with(node: ast.AST, **changes: object) -> ast.AST:
    new = copy.deepcopy(node)
    for field, value in changes.items():
        setattr(new, field, value)
    return new


def _replacements(node: ast.AST) -> Iterator[ast.AST | list]:
    """What may stand in the place of one node; always the same, in the same order."""
    for kind, operator in OPERATORS:
        if isinstance(node, kind):
            yield from operator(node)


def _binary(node: ast.BinOp) -> Iterator[ast.AST]:
    for other in BINARY.get(type(node.op), ()):
        yield _with(node, op=other())
    if isinstance(node.op, (ast.Sub, ast.Div, ast.Pow, ast.FloorDiv, ast.MatMult)):
        yield _with(node, left=node.right, right=node.left)
    yield node.left
    yield node.right


def _compare(node: ast.Compare) -> Iterator[ast.AST]:
    for i, op in enumerate(node.ops):
        for other in COMPARE.get(type(op), ()):
            yield _with(node, ops=[*node.ops[:i], other(), *node.ops[i + 1 :]])


def _logic(node: ast.BoolOp) -> Iterator[ast.AST]:
    yield _with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
    yield from node.values


def _unary(node: ast.UnaryOp) -> Iterator[ast.AST]:
    yield node.operand


def _constant(node: ast.Constant) -> Iterator[ast.AST]:
    value = node.value
    if type(value) is bool:
        yield ast.Constant(not value)
    elif type(value) is int:
        yield ast.Constant(value + 1)
        yield ast.Constant(value - 1) if value else ast.UnaryOp(ast.USub(), ast.Constant(1))
    elif type(value) is float and value:
        yield ast.Constant(value * 1.01)
        if abs(value) < 1e-3:  # an epsilon: its size must not matter where it should not
            yield ast.Constant(value * 1e4)
            yield ast.Constant(0.0)


def _call(node: ast.Call) -> Iterator[ast.AST]:
    function, method = node.func, isinstance(node.func, ast.Attribute)
    name = function.attr if method else getattr(function, "id", "")
    for other in (
        NAMES.get(name, ()) if method or name in ("min", "max", "all", "any", "sum") else ()
    ):
        if not method and other in ("mean", "amax"):
            continue
        yield _with(
            node, func=_with(function, attr=other) if method else ast.Name(other, ast.Load())
        )
    if method and not (
        isinstance(function.value, ast.Name) and function.value.id in ("torch", "math", "np")
    ):
        yield function.value  # a clamp, a logarithm, a sum left out
    elif len(node.args) == 1 and not isinstance(node.args[0], ast.GeneratorExp):
        yield node.args[0]
    for i in range(len(node.args) - 1):
        swapped = [*node.args[:i], node.args[i + 1], node.args[i], *node.args[i + 2 :]]
        yield _with(node, args=swapped)
    for i, keyword in enumerate(node.keywords):
        yield _with(node, keywords=[*node.keywords[:i], *node.keywords[i + 1 :]])
        if keyword.arg in ("min", "max"):
            other = ast.keyword("max" if keyword.arg == "min" else "min", keyword.value)
            yield _with(node, keywords=[*node.keywords[:i], other, *node.keywords[i + 1 :]])
    if name == "range":
        for op in (ast.Add(), ast.Sub()):
            last = ast.BinOp(node.args[-1], op, ast.Constant(1))
            yield _with(node, args=[*node.args[:-1], last])


def _subscript(node: ast.Subscript) -> Iterator[ast.AST]:
    index = node.slice
    if isinstance(index, ast.Tuple):
        for i in range(len(index.elts) - 1):
            items = [*index.elts[:i], index.elts[i + 1], index.elts[i], *index.elts[i + 2 :]]
            yield _with(node, slice=ast.Tuple(items, ast.Load()))
    if isinstance(index, ast.Slice) and index.lower:
        yield _with(node, slice=_with(index, lower=None))
    if isinstance(index, ast.Slice) and index.upper:
        yield _with(node, slice=_with(index, upper=None))


def _tuple(node: ast.Tuple | ast.List) -> Iterator[ast.AST]:
    if isinstance(node.ctx, ast.Load):
        for i in range(len(node.elts) - 1):
            yield _with(
                node, elts=[*node.elts[:i], node.elts[i + 1], node.elts[i], *node.elts[i + 2 :]]
            )
        for i in range(len(node.elts) if isinstance(node, ast.List) else 0):
            yield _with(node, elts=[*node.elts[:i], *node.elts[i + 1 :]])


def _choice(node: ast.IfExp) -> Iterator[ast.AST]:
    yield node.body
    yield node.orelse
    yield _with(node, body=node.orelse, orelse=node.body)


def _comprehension(node: ast.GeneratorExp | ast.ListComp | ast.SetComp) -> Iterator[ast.AST]:
    for i, generator in enumerate(node.generators):
        if generator.ifs:
            bare = _with(generator, ifs=[])
            yield _with(node, generators=[*node.generators[:i], bare, *node.generators[i + 1 :]])


def _statement(node: ast.stmt) -> Iterator[ast.AST | list]:
    if isinstance(node, (ast.Expr, ast.AugAssign, ast.Assert, ast.Raise)) or (
        isinstance(node, ast.Assign) and _again(node)
    ):
        yield ast.Pass()
    if isinstance(node, ast.AugAssign):
        yield ast.Assign([node.target], node.value)
        for other in BINARY.get(type(node.op), ()):
            yield _with(node, op=other())
    if isinstance(node, ast.If):
        yield node.body
        yield node.orelse or ast.Pass()
        yield _with(node, test=ast.UnaryOp(ast.Not(), node.test))
    if isinstance(node, ast.For):
        yield _with(node, body=[*node.body, ast.Break()])  # the first round only
    if isinstance(node, ast.Continue):
        yield ast.Break()
    if isinstance(node, ast.Break):
        yield ast.Continue()


def _again(node: ast.Assign) -> bool:
    """Whether an assignment works on what it replaces, or writes into part of something: without it
    the rest runs.
    """
    names = {one.id for one in ast.walk(node.value) if isinstance(one, ast.Name)}
    return any(
        isinstance(target, ast.Subscript) or getattr(target, "id", None) in names
        for target in node.targets
    )


OPERATORS: list[tuple[type | tuple, Callable]] = [
    (ast.BinOp, _binary),
    (ast.Compare, _compare),
    (ast.BoolOp, _logic),
    (ast.UnaryOp, _unary),
    (ast.Constant, _constant),
    (ast.Call, _call),
    (ast.Subscript, _subscript),
    ((ast.Tuple, ast.List), _tuple),
    (ast.IfExp, _choice),
    ((ast.GeneratorExp, ast.ListComp, ast.SetComp), _comprehension),
    (ast.stmt, _statement),
]

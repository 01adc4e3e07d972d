"""Which statements, variables and expressions of a student's cell are watched."""

import ast

OWN_SCOPE = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
MAYBE = (ast.IfExp, ast.BoolOp)  # parts of these may not be evaluated
PURE = (ast.Call, ast.BinOp, ast.Subscript, ast.Compare)
CHANGING = {"append", "extend", "insert", "pop", "remove", "sort", "update", "add", "next"}
CHANGING |= {"backward", "grad", "step", "manual_seed", "open", "print", "write", "put"}
CHANGING |= {"store", "popleft", "appendleft", "setdefault", "discard", "clear", "reverse"}
RANDOM = {"rand", "randn", "randint", "multinomial", "random", "sample", "choice", "shuffle"}
COMPOUND = (ast.For, ast.While, ast.If, ast.With, ast.Try, ast.FunctionDef, ast.ClassDef)
SIZES = {"shape", "ndim", "dtype", "device"}
SYMBOLS = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.MatMult: "@",
    ast.Pow: "**",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}


class Code:
    """A student's cell: its watched statements by line, what they assign, and expressions.

    given: lines of the notebook as it was handed out, which are not the student's. assigned:
    from a number to (line, target, whether it can be known without the code). expressions: from
    a number to (line, role, node).
    """

    def __init__(self, source: str, name: str, given: list):
        self.tree = ast.parse(source)
        self.source, self.name = source, name
        self.functions = _functions(self.tree)
        lines, handed_out = source.split("\n"), {line.strip() for line in given}
        self.watched = {
            line: statement
            for line, statement in _watched(self.functions).items()
            if lines[line - 1].strip() not in handed_out
        }
        pairs = [(line, *one) for line, it in self.watched.items() for one in _assigned(it)]
        self.assigned = dict(enumerate(pairs))
        nodes = [one for it in self.watched.values() for one in _expressions(it)]
        roles = _roles(nodes, list(self.watched.values()))
        self.expressions = {
            len(pairs) + number: (node.lineno, role, node)
            for number, (node, role) in enumerate(zip(nodes, roles))
        }

    @property
    def parameters(self) -> tuple:
        """Of the function that is asked about; none of a class."""
        for node in reversed(self.tree.body):
            if isinstance(node, ast.FunctionDef) and node.name == self.name:
                return tuple(one.arg for one in (*node.args.posonlyargs, *node.args.args))
        return ()


def _functions(tree: ast.Module) -> list:
    """The functions and methods of a cell, those inside others, too."""
    return [one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef)]


def _statements(node: ast.AST) -> list:
    """All statements inside a function, but those of functions and classes inside it."""
    found = []
    for field in ("body", "orelse", "handlers", "finalbody"):
        for child in getattr(node, field, []):
            if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
                continue
            if isinstance(child, ast.stmt) and not _is_docstring(child):
                found.append(child)
            found += _statements(child)
    return found


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _watched(functions: list) -> dict:
    """From a line to its statement: those of one line, and heads of `if`, one on a line.

    Heads of loops are left out: how often they run is a matter of taste.
    """
    found, several = {}, set()
    for statement in [one for function in functions for one in _statements(function)]:
        line = statement.lineno
        several |= {line} if line in found else set()
        if isinstance(statement, ast.If):
            fits = statement.test.end_lineno == line
        else:
            fits = statement.end_lineno == line and not isinstance(statement, COMPOUND)
        if fits:
            found.setdefault(line, statement)
    return {line: one for line, one in found.items() if line not in several}


def _assigned(statement: ast.stmt) -> list:
    """(target, whether it is plain) of each variable that a statement gives a value."""
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, (ast.AugAssign, ast.AnnAssign)) and statement.value is not None:
        targets = [statement.target]
    else:
        return []
    flat = []
    for target in targets:
        flat += target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
    plain = isinstance(statement, (ast.Assign, ast.AnnAssign)) and _is_plain(statement.value)
    return [(ast.unparse(one), plain) for one in flat if _is_variable(one)]


def _is_variable(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute):
        return isinstance(node.value, ast.Name)
    return isinstance(node, ast.Name) and node.id != "_"


def _is_plain(value: ast.expr) -> bool:
    """Whether a value is a constant, another variable, or a size of one: no need to compute."""
    if isinstance(value, (ast.Constant, ast.Name)):
        return True
    if isinstance(value, ast.Attribute):
        return value.attr in SIZES or _is_plain(value.value)
    if isinstance(value, ast.Subscript):
        return isinstance(value.value, ast.Attribute) and value.value.attr in SIZES
    if isinstance(value, ast.Call):
        return getattr(value.func, "id", getattr(value.func, "attr", "")) in ("len", "size")
    return isinstance(value, (ast.Tuple, ast.List)) and all(map(_is_plain, value.elts))


def _expressions(statement: ast.stmt) -> list:
    """Expressions inside a statement that compute, change nothing and are surely evaluated."""
    found = _inside(statement.test if isinstance(statement, ast.If) else statement)
    root = getattr(statement, "value", None)  # the assigned value, or the result
    return [one for one in found if one is not root and not _is_plain(one)]


def _inside(node: ast.AST) -> list:
    if isinstance(node, (*OWN_SCOPE, *MAYBE, ast.FunctionDef, ast.NamedExpr)):
        return []
    parts = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        parts[0] = node.func.value  # the method itself is no value to ask for
    children = [one for part in parts for one in _inside(part)]
    wanted = isinstance(node, PURE) and node.lineno == node.end_lineno and _is_pure(node)
    if not wanted or not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        return children
    return [node, *children]


def _is_pure(node: ast.AST) -> bool:
    for part in ast.walk(node):
        if isinstance(part, (ast.NamedExpr, ast.Await, ast.Yield, *OWN_SCOPE)):
            return False
        if isinstance(part, ast.Call):
            name = getattr(part.func, "attr", getattr(part.func, "id", ""))
            if name in CHANGING | RANDOM or name.endswith("_") or name.startswith("atomic"):
                return False
    return True


def _roles(nodes: list, statements: list) -> list:
    """How each expression is called without quoting it: "the `+`", "call 2 of the line".

    All expressions of a line are numbered, those that are not asked about, too.
    """
    numbers, counts = {}, {}
    parts = [one for it in statements for one in ast.walk(it) if isinstance(one, PURE)]
    every = {_span(one): one for one in parts}  # an `if` has the parts of its block, too
    for node in sorted(every.values(), key=lambda one: (one.lineno, *_end(one))):
        key = (node.lineno, _role(node))
        counts[key] = counts.get(key, 0) + 1
        numbers[_span(node)] = counts[key]
    names = []
    for node in nodes:
        role = _role(node)
        several = counts[(node.lineno, role)] > 1
        order = ", in the order of closing brackets" if role in BRACKETS else ""
        number = f" (number {numbers[_span(node)]} of the line{order})"
        names.append(f"{role}{number}" if several else role)
    return names


def _span(node: ast.expr) -> tuple:
    return (type(node).__name__, node.lineno, node.col_offset, *_end(node))


def _end(node: ast.expr) -> tuple:
    """Where a reader finds a node: brackets where they close, an operator after its left side."""
    left = getattr(node, "left", None)
    if left is not None:
        return (left.end_lineno, left.end_col_offset)
    return (node.end_lineno, node.end_col_offset)


BRACKETS = ("the call", "the subscript `[…]`")


def _role(node: ast.AST) -> str:
    if isinstance(node, ast.Call):
        return "the call"
    if isinstance(node, ast.BinOp):
        return f"the `{SYMBOLS.get(type(node.op), 'operator')}`"
    if isinstance(node, ast.Compare):
        return f"the `{SYMBOLS.get(type(node.ops[0]), 'comparison')}`"
    return "the subscript `[…]`"

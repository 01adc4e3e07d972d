"""What happens in a run of a student's function, by two ways of watching it.

- `_traced` leaves the code as it is, asks the interpreter for each line, reads variables after
  it and evaluates the line's expressions before it;
- `_rewritten` runs a copy in which each expression hands its value over and each statement
  counts itself.

Only what both say alike is reported.
"""

import ast
import linecache
import sys

from autograder.viva.inside.code import Code
from autograder.viva.inside.describing import describe
from autograder.viva.inside.episodes import CAPTURE, called, played, w2s_globals

MOST_STEPS = 5_000
MOST_VISITS = 40  # of one variable or expression


def w2s_record(source: str, name: str, given: list) -> dict:
    """The run of the captured calls: {"call", "given", "result", "lines", "order", "assigned",
    "expressions", "seen"}.

    order: the lines that ran, in order. assigned: from a number to [line, target, plain];
    expressions: from a number to [line, role]; seen: from a number of either to descriptions of
    its values, visit by visit. Raises ValueError where the two watchers disagree about the lines
    or the result.
    """
    episode = CAPTURE.get("chosen")
    if episode is None:
        raise ValueError("its checks make no call that can be played again")
    code = Code(source, name, given)
    order, seen, returned = _traced(code, episode)
    order_2, seen_2, returned_2 = _rewritten(code, episode)
    # Numbers may differ: a module's memory is uninitialized before its weights are loaded.
    if order != order_2 or describe(returned) != describe(returned_2):
        raise ValueError("two ways of watching this function disagree")
    agreed = {number: seen[number] for number in seen if seen[number] == seen_2.get(number)}
    return {
        "call": called(name, episode, code.parameters),
        "given": [describe(one) for _, args, _ in episode for one in args],
        "result": describe(returned),
        "lines": sorted(code.watched),
        "order": order,
        "assigned": {key: list(one) for key, one in code.assigned.items() if key in agreed},
        "expressions": {
            key: list(one[:2]) for key, one in code.expressions.items() if key in agreed
        },
        "seen": agreed,
    }


def names_of(text: str, filename: str, **more) -> dict:
    """A copy of the student's names, with a version of the cell run in it."""
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    names = {**w2s_globals, **more}
    exec(compile(text, filename, "exec"), names)
    return names


# ------------------------------------------------------------------ the first watcher
class _Tracer:
    """Called by the interpreter for each line of the watched functions."""

    def __init__(self, code: Code, filename: str):
        self.code, self.filename = code, filename
        self.functions = {one.name for one in code.functions}
        self.order, self.seen, self.pending = [], {}, {}
        self.before, self.after = {}, {}
        for number, (line, _, node) in code.expressions.items():
            read = compile(ast.Expression(node), "<expression>", "eval")
            self.before.setdefault(line, []).append((number, read))
        for number, (line, target, _) in code.assigned.items():
            read = compile(target, "<expression>", "eval")
            self.after.setdefault(line, []).append((number, read))

    def __call__(self, frame, event, _):
        code = frame.f_code
        if code.co_filename != self.filename or code.co_name not in self.functions:
            return None
        sys.settrace(None)
        try:
            self._read(self.after.get(self.pending.pop(id(frame), None), ()), frame)
            line = frame.f_lineno
            if event == "line" and line in self.code.watched:
                self.order.append(line)
                if len(self.order) > MOST_STEPS:
                    raise ValueError("the run is too long to be watched")
                self._read(self.before.get(line, ()), frame)
                self.pending[id(frame)] = line
        finally:
            sys.settrace(self)
        return self

    def _read(self, wanted, frame) -> None:
        for number, code in wanted:
            visits = self.seen.setdefault(number, [])
            if len(visits) >= MOST_VISITS:
                continue
            try:
                value = eval(code, frame.f_globals, dict(frame.f_locals))
                visits.append(describe(value))
            except Exception as error:
                visits.append({"kind": "raises", "text": type(error).__name__})


def _traced(code: Code, episode: list):
    filename = f"<viva {code.name}>"
    names = names_of(code.source, filename)
    tracer, before = _Tracer(code, filename), sys.gettrace()
    sys.settrace(tracer)
    try:
        returned = played(names, code.name, episode)
    finally:
        sys.settrace(before)
    return tracer.order, tracer.seen, returned


# ------------------------------------------------------------------ the second watcher
class _Rewriter(ast.NodeTransformer):
    """Wraps the chosen expressions; statements are counted and followed by their variables."""

    def __init__(self, code: Code):
        self.numbers = {_position(one[2]): key for key, one in code.expressions.items()}
        self.lines = {}
        for number, (line, target, _) in code.assigned.items():
            self.lines.setdefault(line, []).append((number, target))
        self.watched = {_position(one) for one in code.watched.values()}

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Wrap an expression that is watched; put counts into blocks of statements."""
        number = self.numbers.get(_position(node)) if isinstance(node, ast.expr) else None
        super().generic_visit(node)
        for field in ("body", "orelse", "finalbody"):
            if isinstance(getattr(node, field, None), list):
                setattr(node, field, self._counting(getattr(node, field)))
        return node if number is None else _call("w2s_saw", ast.Constant(number), node)

    def _counting(self, body: list) -> list:
        found = []
        for statement in body:
            if _position(statement) not in self.watched:
                found.append(statement)
                continue
            found += [ast.Expr(_call("w2s_ran", ast.Constant(statement.lineno))), statement]
            for number, target in self.lines.get(statement.lineno, ()):
                read = ast.parse(target, mode="eval").body
                found.append(ast.Expr(_call("w2s_saw", ast.Constant(number), read)))
        return found


def _position(node: ast.AST) -> tuple:
    return (type(node).__name__, *(getattr(node, one, 0) for one in POSITION))


POSITION = ("lineno", "col_offset", "end_lineno", "end_col_offset")


def _call(name: str, *parts: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(parts), [])


def _rewritten(code: Code, episode: list):
    order, seen = [], {}

    def ran(line):
        order.append(getattr(line, "value", line))

    def saw(number, value):
        visits = seen.setdefault(getattr(number, "value", number), [])
        if len(visits) < MOST_VISITS:
            visits.append(describe(value))
        return value

    tree = _Rewriter(code).visit(ast.parse(code.source))
    text = ast.unparse(ast.fix_missing_locations(tree))
    names = names_of(text, f"<rewritten {code.name}>", w2s_ran=ran, w2s_saw=saw)
    return order, seen, played(names, code.name, episode)

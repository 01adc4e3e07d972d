"""Where a chapter's modules work something out: functions at the top of a module, and expressions in any function.

Found by reading. An expression is a place when it computes from names that no answer of the student's has flowed into, as
far as assignments show; whether that is so is seen when the checks run (`recording`). A place may lie in another one. What
draws from `rng`, changes something or makes an iterator is no place.

`watched` writes a module so that each place reports; `stripped` so that the chosen ones have nothing left but their name.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

STUDENT, RNG = "student", "rng"
KEEPERS = {"cache", "lru_cache"}  # decorators that a function loses with its body
# Calls that put something together and work nothing out.
BUILDERS = set(
    """len range zip enumerate isinstance list tuple dict set str repr int float bool type bytes reversed iter getattr
    hasattr print expect note tensor zeros ones empty full arange eye zeros_like ones_like Buffer Watched exercise sorted frozenset double long
    clone tolist item items keys values join split format encode decode replace strip startswith endswith copy append numpy dim size numel
    contiguous to manual_seed Generator slice flatten unsqueeze squeeze reshape view dict_keys partial CheckFailed ValueError""".split()
)
CHANGERS = set(
    "append pop update add setdefault extend insert remove sort clear discard popleft appendleft next write seed manual_seed".split()
)
WORK = (ast.BinOp, ast.Compare, ast.Call)
ANY = (
    *WORK,
    ast.UnaryOp,
    ast.BoolOp,
    ast.IfExp,
    ast.ListComp,
    ast.DictComp,
    ast.SetComp,
    ast.Subscript,
)
WORDS = {"given", "cause", "detail", "name", "shape"}  # what a check says, and what shows at once
PLAIN = (ast.Constant, ast.Name)  # a sum of a name and a constant counts places
NEVER = (ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await)
SCOPES = (ast.FunctionDef, ast.Lambda)


@dataclass
class Place:
    """An expression: its key, where it stands (bytes), the local names in it, and the function at the top that holds it."""

    key: str
    first: int
    last: int
    names: list[str]
    within: str


@dataclass
class Module:
    """One module as text, with its places. candidates: functions and methods that can lose their
    body, by name. classes: their names."""

    name: str
    text: str
    tree: ast.Module = field(init=False)
    places: list[Place] = field(default_factory=list)
    candidates: dict[str, ast.FunctionDef] = field(default_factory=dict)
    stages: list[ast.FunctionDef] = field(default_factory=list)
    classes: list[str] = field(default_factory=list)

    def __post_init__(self):
        self.tree = ast.parse(self.text)
        self._starts = [0]
        for line in self.text.encode().split(b"\n"):
            self._starts.append(self._starts[-1] + len(line) + 1)
        named = [node.name for node in self.tree.body if isinstance(node, ast.FunctionDef)]
        for node in self.tree.body:
            if isinstance(node, ast.FunctionDef):
                names = [_last(one) for one in node.decorator_list]
                if "stage" in names:
                    self.stages.append(node)
                elif (
                    set(names) <= KEEPERS
                    and STUDENT not in _parameters(node)
                    and named.count(node.name) == 1
                ):
                    self.candidates[node.name] = node
                self._function(node, node.name, set(), set())
            elif isinstance(node, ast.ClassDef):
                self.classes.append(node.name)
                for inner in node.body:
                    if isinstance(inner, ast.FunctionDef):
                        if (
                            not inner.decorator_list
                            and not inner.name.startswith("__")
                            and STUDENT not in _parameters(inner)
                        ):
                            self.candidates[f"{node.name}.{inner.name}"] = inner
                        self._function(inner, f"{node.name}.{inner.name}", set(), set())

    def key(self, name: str) -> str:
        """How a function of this module, or a place in one, is called."""
        return f"{self.name.removeprefix('autograder.chapters.')}.{name}"

    def _short(self, key: str) -> str:
        """A key within its module, as it is written there."""
        return f'"{key.removeprefix(self.key(""))}"'

    def _at(self, node: ast.AST) -> tuple[int, int]:
        return self._starts[node.lineno - 1] + node.col_offset, self._starts[
            node.end_lineno - 1
        ] + node.end_col_offset

    def _function(
        self, node: ast.FunctionDef, name: str, around: set[str], tainted: set[str]
    ) -> None:
        local = around | _bound(node)
        tainted = _tainted(node, tainted | {STUDENT})
        for statement in node.body:
            self._statement(statement, name, local, tainted)

    def _statement(self, node: ast.AST, name: str, local: set[str], tainted: set[str]) -> None:
        if isinstance(node, ast.FunctionDef):
            self._function(node, name, local, tainted)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            for child in ast.iter_child_nodes(node.value):  # called for what it does
                self._expression(child, name, local, tainted)
        elif isinstance(node, ast.expr):
            self._expression(node, name, local, tainted)
        elif isinstance(node, ast.AnnAssign):
            self._statement(node.value, name, local, tainted) if node.value else None
        elif not isinstance(node, (ast.ClassDef, ast.Import, ast.ImportFrom)):
            for child in ast.iter_child_nodes(node):
                self._statement(child, name, local, tainted)

    def _expression(self, node: ast.AST, name: str, local: set[str], tainted: set[str]) -> None:
        if (
            isinstance(node, (ast.JoinedStr, ast.Name, ast.Constant))
            or isinstance(node, ast.keyword)
            and node.arg in WORDS
            or _asks(node)
        ):
            return
        if (
            isinstance(node, ANY)
            and isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
            and _works(node)
        ):
            names = _free(node) & local
            if not names & tainted and RNG not in names and (names or _calls(node)):
                key = self.key(f"{name}.{sum(one.within == name for one in self.places) + 1}")
                self.places.append(Place(key, *self._at(node), sorted(names), name))
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Call) and isinstance(node, ast.Call) and node.func is child:
                self._expression(child, name, local, tainted)
            elif isinstance(child, (ast.expr, ast.keyword, ast.comprehension, ast.Starred)):
                self._expression(child, name, local, tainted)

    def watched(self, recorder: str) -> str:
        """The text in which every candidate, place and stage reports to the module `recorder`."""
        inserts: list[tuple[int, int, int, str]] = []
        for one in self.places:
            size = one.last - one.first
            inserts.append((one.first, 1, -size, f"recorded.at({one.key!r}, lambda: ("))
            inserts.append((one.last, 0, size, f"), {''.join(f'{name}, ' for name in one.names)})"))
        inserts += [
            (self._starts[node.lineno - 1], 2, 0, "@recorded.stage\n") for node in self.stages
        ]
        inserts += [
            (
                self._starts[min([node.lineno, *(one.lineno for one in node.decorator_list)]) - 1],
                2,
                0,
                f"{' ' * node.col_offset}@recorded.function\n",
            )
            for node in self.candidates.values()
        ]
        return self._edited(
            [(place, place, text) for place, _, _, text in sorted(inserts)],
            f"from {recorder.rpartition('.')[0]} import {recorder.rpartition('.')[2]} as recorded",
        )

    def stripped(self, gone: set[str]) -> str:
        """The text in which the functions and places in `gone`, by key, have nothing left to work out."""
        edits = []
        left = [node for name, node in self.candidates.items() if self.key(name) in gone]
        for node in left:
            begin = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            edits.append(
                (
                    self._starts[begin - 1],
                    self._starts[node.lineno - 1],
                    f"{' ' * node.col_offset}@recorded.function\n",
                )
            )
            edits.append(self._body(node))
        edits += [
            (self._starts[node.lineno - 1],) * 2 + ("@recorded.stage\n",) for node in self.stages
        ]
        spans = [self._at(node) for node in left]
        for one in self.places:
            if one.key in gone and not any(
                first <= one.first and one.last <= last for first, last in spans
            ):
                edits.append(
                    (
                        one.first,
                        one.last,
                        f"recorded.at({', '.join([self._short(one.key), *one.names])})",
                    )
                )
                spans.append((one.first, one.last))  # an outer place comes before those in it
        return self._edited(sorted(edits), "from autograder import recorded")

    def _body(self, node: ast.FunctionDef) -> tuple[int, int, str]:
        """Where the body stands, and what stands there instead: nothing behind a docstring."""
        first, last = self._at(node.body[0]), self._at(node.body[-1])
        if marks := getattr(node.body[0], "decorator_list", None):
            first = self._at(marks[0])[0] - 1, first[1]
        return (first[1], last[1], "") if ast.get_docstring(node) else (first[0], last[1], "...")

    def _edited(self, edits: list[tuple[int, int, str]], line: str) -> str:
        data, pieces, place = self.text.encode(), [], 0
        for first, last, text in [(self._after_docstring(),) * 2 + (f"{line}\n",), *edits]:
            pieces += [data[place:first], text.encode()]
            place = last
        return b"".join([*pieces, data[place:]]).decode()

    def _after_docstring(self) -> int:
        head = self.tree.body[0]
        documented = isinstance(head, ast.Expr) and isinstance(head.value, ast.Constant)
        return self._starts[head.end_lineno] if documented else 0


def _works(node: ast.AST) -> bool:
    """Whether an expression computes, changes nothing and makes no stream."""
    works = False
    for one in ast.walk(node):
        if isinstance(one, NEVER) or isinstance(one, ast.Name) and one.id == "super":
            return False
        if isinstance(one, ast.Call):
            name = _last(one)
            if name in CHANGERS or name.endswith("_") and not name.endswith("__"):
                return False
            works = works or name not in BUILDERS
        elif isinstance(one, ast.BinOp):
            works = works or not (
                isinstance(one.left, PLAIN)
                and isinstance(one.right, PLAIN)
                and ast.Constant in map(type, (one.left, one.right))
            )
    return works


def _asks(node: ast.AST) -> bool:
    """Whether it is a question to the student: its arguments are what is asked, and no answer."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == STUDENT
    )


def _calls(node: ast.AST) -> bool:
    """Whether a function is called in it that works something out."""
    return any(isinstance(one, ast.Call) and _last(one) not in BUILDERS for one in ast.walk(node))


def _last(node: ast.AST) -> str:
    """The last part of the name of what is called, or of a decorator."""
    node = node.func if isinstance(node, ast.Call) else node
    return (
        node.attr
        if isinstance(node, ast.Attribute)
        else node.id
        if isinstance(node, ast.Name)
        else ""
    )


def _parameters(node: ast.FunctionDef | ast.Lambda) -> set[str]:
    given = node.args
    return {
        one.arg
        for one in [
            *given.posonlyargs,
            *given.args,
            *given.kwonlyargs,
            *filter(None, [given.vararg, given.kwarg]),
        ]
    }


def _bound(node: ast.FunctionDef) -> set[str]:
    """Names that a function binds: parameters, targets, functions in it; without its imports."""
    names = _parameters(node)
    for one in ast.walk(node):
        if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load):
            names.add(one.id)
        elif isinstance(one, SCOPES) and one is not node:
            names |= _parameters(one) | ({one.name} if isinstance(one, ast.FunctionDef) else set())
    return names


def _free(node: ast.AST) -> set[str]:
    """Names that an expression reads and does not bind itself."""
    inner: set[str] = set()
    for one in ast.walk(node):
        if isinstance(one, ast.comprehension):
            inner |= {name.id for name in ast.walk(one.target) if isinstance(name, ast.Name)}
        elif isinstance(one, ast.Lambda):
            inner |= _parameters(one)
    return {
        one.id
        for one in ast.walk(node)
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)
    } - inner


def _tainted(node: ast.FunctionDef, tainted: set[str]) -> set[str]:
    """Names into which something of the student's flows, as far as assignments and appends show."""
    tainted, flows = set(tainted), list(_flows(node))
    while True:
        more = {
            name for names, source in flows if _names(source) & tainted for name in names
        } - tainted
        if not more:
            return tainted
        tainted |= more


def _flows(node: ast.AST) -> Iterator[tuple[set[str], ast.AST]]:
    for one in ast.walk(node):
        if isinstance(one, ast.Assign):
            yield set().union(*map(_names, one.targets)), one.value
        elif (
            isinstance(one, (ast.AugAssign, ast.AnnAssign, ast.NamedExpr)) and one.value is not None
        ):
            yield _names(one.target), one.value
        elif isinstance(one, (ast.For, ast.comprehension)):
            yield _names(one.target), one.iter
        elif isinstance(one, ast.withitem) and one.optional_vars is not None:
            yield _names(one.optional_vars), one.context_expr
        elif isinstance(one, ast.FunctionDef) and one is not node:
            yield {one.name}, ast.Module(one.body, [])
        elif (
            isinstance(one, ast.Call)
            and isinstance(one.func, ast.Attribute)
            and one.func.attr in CHANGERS
        ):
            yield (
                _names(one.func.value),
                ast.Tuple([*one.args, *(word.value for word in one.keywords)]),
            )


def _names(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}

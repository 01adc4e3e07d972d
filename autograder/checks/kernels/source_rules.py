"""What a kernel's source may say: `tl`, arithmetic and control flow, and nothing that reaches
beyond the launch.

A kernel of this kind can do no more than read and write the tensors that it is given. So grading
can take it out of the notebook's text and run it in a process that has never seen the notebook (see
`replay`); a notebook at home refuses the same, in the same words.
"""

import ast
import builtins
import math
from collections.abc import Iterator, Mapping
from enum import EnumMeta
from types import ModuleType

BUILTINS = frozenset(
    "range min max sum abs int float bool len pow round divmod zip enumerate tuple list any all"
    " print True False None".split()
)
SYNTAX = (
    ast.FunctionDef,
    ast.arguments,
    ast.arg,
    ast.expr_context,
    ast.operator,
    ast.boolop,
    ast.unaryop,
    ast.cmpop,
    ast.Assign,
    ast.AugAssign,
    ast.AnnAssign,
    ast.For,
    ast.While,
    ast.If,
    ast.Break,
    ast.Continue,
    ast.Return,
    ast.Expr,
    ast.Pass,
    ast.Assert,
    ast.BoolOp,
    ast.BinOp,
    ast.UnaryOp,
    ast.IfExp,
    ast.Compare,
    ast.Call,
    ast.Constant,
    ast.Attribute,
    ast.Subscript,
    ast.Slice,
    ast.Name,
    ast.Tuple,
    ast.List,
    ast.Starred,
    ast.keyword,
    ast.ListComp,
    ast.GeneratorExp,
    ast.comprehension,
    ast.JoinedStr,
    ast.FormattedValue,
    ast.NamedExpr,
)
# Of a value in a kernel, beside the functions of `tl` that are methods, too.
OF_VALUES = frozenset(
    "dtype shape type element_ty value primitive_bitwidth numel scalar append".split()
)
OF_TRITON = frozenset(("language", "cdiv", "next_power_of_2"))
FOREIGN_CODE = frozenset(("inline_asm_elementwise", "extern_elementwise"))
MODULES = (
    "triton.language",
    "triton.language.math",
    "triton.language.extra",
    "triton.language.extra.libdevice",
    "triton.language.extra.cuda",
    "triton.language.extra.cuda.libdevice",
    "math",
)
RULE = "a kernel uses `tl`, arithmetic, `if` and loops, and nothing else"


def refusals(tree: ast.FunctionDef, known: Mapping[str, object]) -> Iterator[str]:
    """What a kernel or its helper may not say, each as a line and a reason.

    known: what its names from outside mean; a function of the notebook's may be there as its
    syntax.
    """
    own = own_names(tree)
    for node in (one for statement in tree.body for one in ast.walk(statement)):
        if said := _refusal(node, own, known):
            yield (
                f"line {node.lineno - tree.lineno + 1} of it,"
                f" `{ast.unparse(node).splitlines()[0][:80]}`: {said}."
            )


def own_names(tree: ast.FunctionDef) -> set[str]:
    """The names that a function gives values to, and those of its arguments: they mean nothing from
    outside.
    """
    written = {
        one.id
        for one in ast.walk(tree)
        if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load)
    }
    return written | {one.arg for one in ast.walk(tree) if isinstance(one, ast.arg)}


def _refusal(node: ast.AST, own: set[str], known: Mapping[str, object]) -> str:
    if not isinstance(node, SYNTAX) or isinstance(node, ast.FunctionDef):
        return RULE if hasattr(node, "lineno") else ""
    if isinstance(node, ast.keyword) and (node.arg or "").startswith("_"):
        return RULE
    if isinstance(node, ast.Attribute):
        return _of_attribute(node, own, known)
    if isinstance(node, ast.Name) and node.id not in own:
        return _of_name(node.id, known)
    shadowed = isinstance(node, ast.Name) and isinstance(known.get(node.id), ModuleType)
    return (
        f"`{node.id}` is a module here; take another name" if shadowed or _is_hidden(node) else ""
    )


def _is_hidden(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id.startswith("__")


def _of_name(name: str, known: Mapping[str, object]) -> str:
    """Why a name from outside may not be used, or ""; one that nothing is known of fails
    by itself.
    """
    if name in known:
        value = known[name]
        if isinstance(value, ModuleType):
            return "" if value.__name__ in (*MODULES, "triton") else f"`{name}`, but {RULE}"
        return "" if _is_taken(value) else f"`{name}` is a name from outside the kernel"
    if name.startswith("__") or hasattr(builtins, name) and name not in BUILTINS:
        return f"`{name}` is Python's, but {RULE}"
    return ""


def _of_attribute(node: ast.Attribute, own: set[str], known: Mapping[str, object]) -> str:
    """Why `a.b.c` may not be used: it leads out of `tl`, or is no part of a value in a kernel."""
    from triton import language

    names: list[str] = [node.attr]
    inner = node.value
    while isinstance(inner, ast.Attribute):
        names.insert(0, inner.attr)
        inner = inner.value
    if not isinstance(node.ctx, ast.Load) or any(name.startswith("_") for name in names):
        return RULE
    found = known.get(inner.id) if isinstance(inner, ast.Name) and inner.id not in own else None
    for name in names:
        if not isinstance(found, ModuleType):
            if name in OF_VALUES or hasattr(language.tensor, name) or hasattr(language.dtype, name):
                continue
            return f"`.{name}`, but {RULE}"
        if found.__name__ == "triton" and name not in OF_TRITON or name in FOREIGN_CODE:
            return f"`{name}`, but {RULE}"
        if not hasattr(found, name):
            return ""  # it fails by itself
        found = getattr(found, name)
        if isinstance(found, ModuleType) and found.__name__ not in MODULES or not _is_taken(found):
            return f"`{name}`, but {RULE}"
    return ""


def _is_taken(value: object) -> bool:
    """Whether a kernel may use it: Triton's, a number, a text, or a function of the
    notebook's own.
    """
    from triton import language

    if isinstance(
        value,
        (
            bool,
            int,
            float,
            str,
            type(None),
            ModuleType,
            EnumMeta,
            ast.FunctionDef,
            language.dtype,
            language.constexpr,
        ),
    ):
        return True
    if any(value is one for one in vars(math).values()):
        return True
    return callable(value) and (
        hasattr(value, "fn") or str(getattr(value, "__module__", "")).startswith("triton.")
    )

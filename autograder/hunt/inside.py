"""Evaluates an input and runs an original and a changed function on it.

This file runs inside the sandbox, as one more cell after the student's, and imports
nothing of the course. All its names begin with w2s, so that none of the student's is hidden.
"""

import ast as w2s_ast
import operator as w2s_operator
import random as w2s_random
import sys as w2s_sys

import torch as w2s_torch

W2S_MOST_STEPS = 300_000  # that one run of the function may take: an endless loop is stopped
W2S_MOST_TEXT = 50_000  # characters of an input
W2S_RANDOM = {"randn", "rand", "randint", "randperm"}
W2S_MAKES = W2S_RANDOM | {"tensor", "zeros", "ones", "full", "arange", "eye", "linspace"}
W2S_MAKES |= {"tril", "triu"}
W2S_METHODS = {"float", "double", "half", "bfloat16", "long", "int", "bool", "reshape", "transpose"}
W2S_BINARY = {
    w2s_ast.Add: w2s_operator.add,
    w2s_ast.Sub: w2s_operator.sub,
    w2s_ast.Mult: w2s_operator.mul,
    w2s_ast.Div: w2s_operator.truediv,
}
W2S_UNARY = {
    w2s_ast.USub: w2s_operator.neg,
    w2s_ast.UAdd: w2s_operator.pos,
    w2s_ast.Not: w2s_operator.not_,
}


class W2sRefused(Exception):
    """An input that is not written as the help page says."""


class W2sTooLong(BaseException):
    """A run that takes more steps than any that is asked about."""


def w2s_outcomes(sources: list, name: str, texts: list) -> list:
    """For each text of arguments a list: [kind, value] of each source's function on it.

    kind: "value", "error" (value: the exception's name), "endless", or "refused" (value: why the
    text is not an input). Each run gets new arguments.
    """
    return [[w2s_outcome(source, name, text) for source in sources] for text in texts]


def w2s_outcome(source: str, name: str, text: str) -> list:
    """[kind, value] of one run; see w2s_outcomes."""
    try:
        args, kwargs = w2s_arguments(text)
    except W2sRefused as error:
        return ["refused", str(error)]
    except Exception as error:
        return ["refused", f"{type(error).__name__}: {error}"[:300]]
    w2s_torch.manual_seed(0)
    w2s_random.seed(0)
    before = w2s_sys.gettrace()
    try:
        names = dict(globals())
        exec(compile(source, "<hunt>", "exec"), names)
        w2s_sys.settrace(w2s_counter())
        return ["value", names[name](*args, **kwargs)]
    except W2sTooLong:
        return ["endless", ""]
    except Exception as error:
        return ["error", type(error).__name__]
    finally:
        w2s_sys.settrace(before)


def w2s_counter():
    """A trace function that raises W2sTooLong after W2S_MOST_STEPS steps of the function.

    Steps of the interpreter and not lines: `while True: pass` begins no new line.
    """
    left = W2S_MOST_STEPS

    def each(frame, event, _):
        nonlocal left
        if frame.f_code.co_filename != "<hunt>":
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        left -= 1
        if left < 0:
            raise W2sTooLong
        return each

    return each


def w2s_arguments(text: str) -> tuple:
    """(args, kwargs) of a call's text between its parentheses. Raises W2sRefused."""
    if len(text) > W2S_MOST_TEXT:
        raise W2sRefused(f"it has more than {W2S_MOST_TEXT} characters")
    tree = w2s_ast.parse(f"f({text}\n)", mode="eval").body
    if not isinstance(tree, w2s_ast.Call) or not isinstance(tree.func, w2s_ast.Name):
        raise W2sRefused("give the arguments alone, as between the parentheses of a call")
    if any(one.arg is None for one in tree.keywords):
        raise W2sRefused("** is not allowed")
    kwargs = {one.arg: w2s_value(one.value) for one in tree.keywords}
    return [w2s_value(one) for one in tree.args], kwargs


def w2s_value(node):
    """The value of a literal, of arithmetic on such, or of a call of torch that makes a tensor."""
    if isinstance(node, w2s_ast.Constant):
        return node.value
    if isinstance(node, (w2s_ast.List, w2s_ast.Tuple, w2s_ast.Set)):
        kind = {w2s_ast.List: list, w2s_ast.Tuple: tuple, w2s_ast.Set: set}[type(node)]
        return kind(map(w2s_value, node.elts))
    if isinstance(node, w2s_ast.Dict) and None not in node.keys:
        return dict(zip(map(w2s_value, node.keys), map(w2s_value, node.values)))
    if isinstance(node, w2s_ast.UnaryOp) and type(node.op) in W2S_UNARY:
        return W2S_UNARY[type(node.op)](w2s_value(node.operand))
    if isinstance(node, w2s_ast.BinOp) and type(node.op) in W2S_BINARY:
        return W2S_BINARY[type(node.op)](w2s_value(node.left), w2s_value(node.right))
    if isinstance(node, w2s_ast.Attribute) and w2s_ast.unparse(node.value) == "torch":
        found = getattr(w2s_torch, node.attr, None)
        if isinstance(found, (w2s_torch.dtype, float)):
            return found
    if isinstance(node, w2s_ast.Call):
        return w2s_called(node)
    raise W2sRefused(f"`{w2s_ast.unparse(node)[:60]}` is not allowed in an input")


def w2s_called(node):
    """The value of torch.randn(2, 3, seed=1), torch.tensor([1.0]).double() or float("inf")."""
    args = [w2s_value(one) for one in node.args]
    kwargs = {one.arg: w2s_value(one.value) for one in node.keywords}
    name = w2s_ast.unparse(node.func)
    if name == "float" and args in (["inf"], ["-inf"], ["nan"]):
        return float(*args)
    maker = name.removeprefix("torch.")
    if name.startswith("torch.") and maker in W2S_MAKES:
        if maker in W2S_RANDOM:
            seed = kwargs.pop("seed", 0)
            kwargs["generator"] = w2s_torch.Generator().manual_seed(seed)
        return getattr(w2s_torch, maker)(*args, **kwargs)
    if isinstance(node.func, w2s_ast.Attribute) and node.func.attr in W2S_METHODS:
        value = w2s_value(node.func.value)
        if isinstance(value, w2s_torch.Tensor):
            return getattr(value, node.func.attr)(*args, **kwargs)
    raise W2sRefused(f"`{name[:60]}` is not one of the functions allowed in an input")

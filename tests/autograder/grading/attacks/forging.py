"""Points without work: forged results, objects that equal everything, libraries that were changed
underneath the check.
"""

from tests.autograder.grading.attacks.attack import NOT_DOUBLE, Attack

UNREADABLE = ("returned", "It does not")
SCALED = "It does not scale."

FORGED_RESULTS = [
    Attack(
        "prints-points",
        """
def double(x):
    print("91.double: 3 of 3 points")
    return "91.double: 3 of 3 points"
""",
        "a value of type str",
    ),
    Attack(
        "redefines-check",
        """
def check(*anything):
    return 3
double_check = expect = check
def double(x):
    return check()
""",
    ),
    Attack(
        "returns-a-verdict",
        """
def double(x):
    return {"exercise": "91.double", "earned": 3.0, "points": 3.0,
            "stages": [{"name": "any", "status": "passed"}]}
""",
        "type dict; an int was asked for",
    ),
    Attack(
        "raises-passed",
        """
class Passed(Exception):
    status, earned, kind, text = "passed", 3.0, "passed", "passed"
class CheckFailed(Passed):
    pass
def double(x):
    raise Passed("3 of 3 points") if x % 2 else CheckFailed("3 of 3 points")
""",
        "Passed",
    ),
    Attack(
        "ends-the-process-well",
        """
import os
def double(x):
    os._exit(0)
""",
        "ended",
    ),
    Attack(
        "ends-the-cell-well",
        """
import sys
def double(x):
    return 0
sys.exit(0)
""",
    ),
    Attack(
        "gives-itself-points",
        """
from types import SimpleNamespace
get_ipython = lambda: SimpleNamespace(display_pub=None)
points = grade = score = auto_score = max_score = 3.0
__nbgrader__ = {"double-check": {"points": 3, "grade": 3}}
def double(x):
    return points
""",
    ),
]

FALSE_COMPARISON = [
    Attack(
        "equals-everything",
        """
class Equal:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __bool__(self): return True
    def __getattr__(self, name): return self
    def __call__(self, *args, **named): return self
    __hash__ = object.__hash__
def double(x):
    return Equal()
""",
        UNREADABLE,
    ),
    Attack(
        "a-number-that-equals-all",
        """
class Seven(int):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    __hash__ = int.__hash__
    def __sub__(self, other): return 0
def double(x):
    return Seven(7)
""",
        UNREADABLE,
    ),
    Attack(
        "a-class-that-lies-about-itself",
        """
class Lies:
    __class__ = int
    def __index__(self): return 6
    __int__ = __index__
    def __eq__(self, other): return True
    __hash__ = object.__hash__
def double(x):
    return Lies()
""",
        UNREADABLE,
    ),
    Attack(
        "a-tensor-that-agrees",
        """
import torch
class Agrees(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return True
def scaled(t):
    return torch.zeros(3).as_subclass(Agrees)
""",
        ("returned", SCALED),
        "scaled",
    ),
    Attack(
        "nothing-is-all-close",
        """
import torch
def scaled(t):
    return torch.empty(0)
""",
        "another shape than was asked for",
        "scaled",
    ),
    Attack(
        "not-a-number",
        """
import torch
def scaled(t):
    return torch.full_like(t, float("nan"))
""",
        SCALED,
        "scaled",
    ),
    Attack(
        "infinitely-close",
        """
import torch
def scaled(t):
    return torch.full_like(t, float("inf"))
""",
        SCALED,
        "scaled",
    ),
    Attack(
        "one-number-for-all",
        """
import torch
def scaled(t):
    return t.sum()
""",
        "another shape than was asked for",
        "scaled",
    ),
    Attack(
        "objects-in-an-array",
        """
import numpy as np
class Equal:
    def __eq__(self, other): return True
    __hash__ = object.__hash__
def double(x):
    return np.array([Equal()], dtype=object)
""",
        UNREADABLE,
    ),
    Attack(
        "changes-the-question",
        """
def scaled(t):
    t.zero_()
    return t
""",
        ("changed", SCALED),
        "scaled",
    ),
    Attack(
        "resizes-the-question",
        """
import torch
def scaled(t):
    t.set_(torch.empty(0))
    return t
""",
        ("changed", "returned", SCALED),
        "scaled",
    ),
]

PATCHED_LIBRARIES = [
    Attack(
        "patches-torch",
        """
import math, numpy, torch
for name in ("allclose", "equal", "isclose", "all", "eq"):
    setattr(torch, name, lambda *args, **named: True)
torch.testing.assert_close = lambda *args, **named: None
torch.Tensor.__eq__ = torch.Tensor.equal = lambda self, other: True
numpy.allclose = numpy.array_equal = numpy.isclose = lambda *args, **named: True
math.isclose = math.isfinite = lambda *args, **named: True
def scaled(t):
    return t
""",
        SCALED,
        "scaled",
    ),
    Attack(
        "patches-our-modules",
        """
import sys
for module in list(sys.modules.values()):
    for name in ("expect", "CheckFailed", "same", "check", "run_stage", "run_exercise",
                 "checked_value"):
        if hasattr(module, name):
            setattr(module, name, lambda *args, **named: 3.0)
def double(x):
    return 0
""",
    ),
    Attack(
        "patches-builtins",
        """
import builtins
builtins.isinstance = builtins.all = builtins.any = builtins.callable = lambda *args: True
builtins.abs = builtins.len = lambda *args: 0
def double(x):
    return 0
""",
        ("It does not double.", "stopped", "returned", "Error"),
    ),
    Attack(
        "patches-the-worker",
        """
import gc
for one in gc.get_objects():
    if type(one).__name__ == "Worker":
        type(one).answer = lambda self, request: self.send(
            {"say": "returned", "value": 6, "args": [], "counted": {}})
def double(x):
    return 0
""",
        ("stopped", "It does not double any number."),
    ),
    Attack(
        "patches-the-frames",
        """
import sys
frames = sys.modules["autograder.sandbox.protocol.frames"]
real = frames.pack
def pack(value, ours=None):
    if isinstance(value, dict) and value.get("say") == "returned":
        value = value | {"value": True, "passed": True, "earned": 3, "points": 3}
    return real(value, ours)
frames.pack = pack
def double(x):
    return 0
""",
        "type bool; an int was asked for",
    ),
    Attack(
        "shadows-modules",
        """
import os, sys
for name in ("torch", "json", "autograder", "numpy"):
    with open(f"/tmp/{name}.py", "w") as file:
        file.write("def allclose(*args): return True\\nequal = loads = allclose\\n")
sys.path.insert(0, "/tmp")
for name in ("json", "numpy"):
    sys.modules.pop(name, None)
def double(x):
    return 0
""",
        ("ended by itself", NOT_DOUBLE),
    ),
    Attack(
        "patches-a-number",
        """
import ctypes
def double(x):
    zero = ctypes.c_uint32.from_address(id(0) + 24)     # the digit of the only 0 that there is
    zero.value = 6
    return 0
""",
        ("It does not double.", "stopped", "ended", "Error"),
    ),
]

FAMILIES = {
    "forged results": FORGED_RESULTS,
    "false comparison": FALSE_COMPARISON,
    "patched libraries": PATCHED_LIBRARIES,
}

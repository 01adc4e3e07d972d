"""Import torch without the half of it that a student's function never touches.

`import torch` is nearly all of a sandbox's cold start. About a quarter of its processor time goes into
`torch._meta_registrations`: shape functions in Python for devices without data, and the reference operators they
need. Only `torch.compile`, `torch.export` and some operations on the device "meta" use them. They are left out, and
loaded after all when torch's compiler is imported. `course doctor --time` measures a start.

But: an operation on a "meta" tensor whose shape function exists only in Python fails until the compiler is loaded;
exercises that count on such tensors open their student with `warm=("torch", "torch._dynamo")`.
"""
import os
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

HEAVY = "torch._meta_registrations"
NEEDED_BY = ("torch._dynamo", "torch._inductor")


def import_torch() -> None:
    """`import torch`, with HEAVY put off until something in NEEDED_BY is imported."""
    os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"      # do not read the metadata of every installed package
    placeholder = sys.modules[HEAVY] = ModuleType(HEAVY)
    try:
        import torch
    finally:
        del sys.modules[HEAVY]
    if torch.__dict__.get("_meta_registrations") is placeholder:
        del torch._meta_registrations
    sys.meta_path.insert(0, _LoadFirst())


class _LoadFirst:
    """Finds nothing itself: imports HEAVY before the first of NEEDED_BY is looked for, then steps aside."""

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if fullname in NEEDED_BY:
            sys.meta_path.remove(self)
            __import__(HEAVY)
        return None

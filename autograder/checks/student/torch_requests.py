"""Requests of a check that need torch or Triton: an nn.Module's own, gradients, and kernels."""

import sys
from collections.abc import Callable
from types import FunctionType

from autograder.checks.assertions.describing import a_kind
from autograder.checks.student.failed import Failed


class TorchRequests:
    """The part of an `Executor` that looks into modules, differentiates and runs kernels.

    torch and Triton are imported when one of them is asked for.
    """

    def _inspect(self, request: dict) -> dict:
        from autograder.checks.student.module_access import LOOKS

        return {"value": self._on_module(LOOKS[request["name"]], request), "args": []}

    def _load(self, request: dict) -> dict:
        from autograder.checks.student.module_access import load

        return {"value": self._on_module(load, request, *request["args"]), "args": []}

    def _mode(self, request: dict) -> dict:
        return {
            "value": self._on_module(
                lambda module, train: bool(module.train(train)) and None, request, *request["args"]
            ),
            "args": [],
        }

    def _update(self, request: dict) -> dict:
        from autograder.checks.student.module_access import update

        return {"value": self._on_module(update, request, *request["args"]), "args": []}

    def _gradients(self, request: dict) -> dict:
        from autograder.checks.student.module_access import backward

        function = self._function(request["of"], request["name"])
        owner = None if request["of"] is None else self.objects[request["of"]]
        value = self._run(
            request["label"],
            backward,
            (
                function,
                owner,
                request["args"],
                request["kwargs"],
                request["upstream"],
                request["wrt"],
            ),
            {},
            None,
            function,
        )
        return {"value": self.plain(request["label"], value), "args": []}

    def _kernel(self, request: dict) -> dict:
        """A function that launches Triton kernels: run under the harness, or its kernels compiled
        only.
        """
        from autograder.checks.kernels import interpreter as kernels
        from autograder.checks.kernels import launches

        function, before = self._function(None, request["name"]), self._before(request)
        given = (function, request["args"], request["kwargs"])
        if request.get("record"):
            look = [kernels.look] if request["compile"] else []
            noted = self._run(
                request["label"], launches.record, (*given, *look), {}, None, function
            )
            return {"value": self.plain(request["label"], noted), "args": []}
        if request["compile"]:
            made = self._run(
                request["label"], kernels.compile_for_hopper, given, {}, None, function
            )
            return {"value": self.plain(request["label"], made), "args": []}
        buffers = [
            (item, self.storages[id(item)]) for item in request["args"] if id(item) in self.storages
        ]
        value, counted = self._run(
            request["label"],
            kernels.interpret,
            (*given, buffers, request["seed"]),
            {},
            None,
            function,
        )
        return {
            "value": self.plain(request["label"], value),
            "args": self._after(request, before),
            "counted": counted,
        }

    def _replay(self, request: dict) -> dict:
        """The kernels of a recorded call, run where no student's code has been."""
        from autograder.checks.kernels.replay import replay

        before, scope = self._before(request), {}
        buffers = [
            (item, self.storages[id(item)]) for item in request["args"] if id(item) in self.storages
        ]
        owner = FunctionType(
            (lambda: None).__code__, scope
        )  # its globals are those of the kernels: their lines are shown
        value, counted = self._run(
            request["label"], replay, (request, buffers, scope), {}, None, owner
        )
        return {
            "value": self.plain(request["label"], value),
            "args": self._after(request, before),
            "counted": counted,
        }

    def _on_module(self, what: Callable, request: dict, *args: object) -> object:
        """Something that every nn.Module can do, done to an object; a sentence if it is none."""
        target = self.objects[request["of"]]
        torch = sys.modules.get("torch")
        if torch is None or not isinstance(target, torch.nn.Module):
            raise Failed(
                "unreadable",
                f"`{request['label']}` is {a_kind(target)}, not a torch.nn.Module: derive your"
                " class from nn.Module and call super().__init__() first.",
            )
        return self.plain(
            request["label"], self._run(request["label"], what, (target, *args), {}, None, target)
        )

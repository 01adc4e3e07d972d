"""The process inside the sandbox: runs a notebook's cells, then calls its functions as the checker asks.

Started as `python -I -S -B worker.py CONFIG`, CONFIG being JSON: {"read", "write": file descriptors of the pipe,
"path": folders for sys.path, "warm": modules to import before any student is there, "limits": see limits.py,
"count_processes": whether the limit on processes can be used}.

Nothing here protects anything once student code runs: it shares this process and may rewrite all of it. What it says
is taken as hostile on the other side; the walls are the kernel's. This module only has to be right for honest work.
"""
import builtins
import json
import os
import resource
import sys

MAX_TEXT = 4000     # characters of one error, as in a feedback page


def main() -> None:
    """Set up, say "ready", and serve until the pipe closes."""
    config = json.loads(sys.argv[1])
    sys.path[:] = [config["path"][0], *sys.path, *config["path"][1:]]   # ours, Python's own, the installed packages
    # The pipe may be stdin and stdout (in a container): move it away, so that nothing printed can get into it.
    read, write = os.dup(config["read"]), os.dup(config["write"])
    for fd in (config["read"], config["write"]):
        os.close(fd)
    quiet = os.open(os.devnull, os.O_RDWR)
    os.dup2(quiet, 0)
    os.dup2(quiet, 1)
    from autograder.sandbox.worker import Worker  # not __main__'s: that name will be the notebook's
    os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"      # do not read the metadata of every installed package
    for name in config["warm"]:
        __import__(name)
    worker = Worker(read, write, config["limits"])
    worker.send({"say": "ready"})
    os.dup2(quiet, 2)      # up to here stderr is read by the checker, which wants to know why a start fails
    os.close(quiet)
    set_limits(config["limits"], config["count_processes"])
    worker.serve()


def set_limits(limits: dict, count_processes: bool) -> None:
    """The kernel's limits on this process and its children. Only lowered from here on: no capability to raise them."""
    mapped = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize() if sys.platform == "linux" else 0
    wanted = {"RLIMIT_AS": mapped + limits["memory"], "RLIMIT_CPU": limits["cpu_seconds"], "RLIMIT_CORE": 0,
              "RLIMIT_FSIZE": limits["file_size"], "RLIMIT_NOFILE": limits["open_files"], "RLIMIT_MEMLOCK": 0,
              "RLIMIT_MSGQUEUE": 0}
    if count_processes:
        wanted["RLIMIT_NPROC"] = limits["processes"]
    for name, value in wanted.items():
        if hasattr(resource, name):
            hard = resource.getrlimit(getattr(resource, name))[1]
            value = value if hard == resource.RLIM_INFINITY else min(value, hard)
            try:
                resource.setrlimit(getattr(resource, name), (value, value))
            except (ValueError, OSError):
                if sys.platform == "linux":   # macOS refuses some; its tier promises nothing
                    raise


class Worker:
    """The notebook's namespace and the two ends of the pipe."""

    def __init__(self, read: int, write: int, limits: dict):
        import threading
        import types

        from autograder.checks import tracebacks
        from autograder.sandbox import blame, frames, inside
        self.traceback_of, self.is_library_fault = tracebacks.student_traceback, blame.is_library_fault
        self.frames, self.read_fd, self.write_fd, self.limits = frames, read, write, limits
        self.sink = inside.Sink(limits["output_chars"])
        self.module = types.ModuleType("__main__")     # dataclasses and pickle look a class's module up by name
        self.module.__dict__.update(inside.install())
        inside.refuse_compiler()
        self.namespace = self.module.__dict__
        self.calls, self.serving, self.turn = 0, False, threading.Lock()

    def serve(self) -> None:
        """Answer the checker's requests, one at a time."""
        sys.modules["__main__"] = self.module
        sys.stdout = sys.stderr = sys.__stdout__ = sys.__stderr__ = self.sink
        while True:
            self.calls += 1
            request = self.frames.unpack(self.receive(), self._implementation)
            if request["do"] == "cells":
                self.send(self.run_cells(request["cells"], request["skip"]))
            elif request["do"] == "call":
                self.serving = True
                answer = self.perform(request["name"], request["args"], request["kwargs"])
                self.serving = False
                self.send(answer | self._printed())

    def run_cells(self, cells: list, skip: list) -> dict:
        """Run the cells in order, each alone: an error in one is reported and the next one still runs."""
        errors, flags = [], 0
        for index, (filename, source) in enumerate(cells):
            if index not in skip:
                self.send({"say": "cell", "index": index})
                text, fault, flags = self.run_cell(filename, source, flags)
                if text is not None:
                    errors.append((index, text, fault))
        return {"say": "started", "errors": errors} | self._printed()

    def run_cell(self, filename: str, source: str, flags: int) -> tuple[str | None, bool, int]:
        """Run one cell: the error's text or None, whether it is ours, the `from __future__` flags, which last as in Jupyter."""
        import __future__

        import linecache
        linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
        try:
            code = compile(source, filename, "exec", flags=flags, dont_inherit=True)
            for name in __future__.all_feature_names:
                flags |= code.co_flags & getattr(__future__, name).compiler_flag
            exec(code, self.namespace)
        except BaseException as error:   # SystemExit too: one cell must not end the others
            return self._text(self.traceback_of, error, self.namespace), self._is_ours(error, self.namespace), flags
        return None, False, flags

    def perform(self, name: str, args: tuple, kwargs: dict) -> dict:
        """One call, by the rules of LocalStudent.perform in autograder/checks/student.py."""
        function = self.namespace.get(name)
        if not callable(function):
            return self._error("missing", f"There is no function named `{name}`: its cell is missing, or it failed.")
        before = [self._bytes(item) for item in args]
        try:
            value = function(*args, **kwargs)
        except NotImplementedError as error:
            return self._error("not_attempted", f"`{name}` is not written yet: {self._text(str, error)}")
        except MemoryError:
            return self._error("memory", f"`{name}` asked for more memory than there is.")
        except BaseException as error:
            namespace = getattr(function, "__globals__", self.namespace)
            text = self._text(self.traceback_of, error, namespace)
            if self._is_ours(error, namespace):
                return self._error("fault", text)
            out_of_memory = isinstance(error, RuntimeError) and "can't allocate memory" in text
            return self._error("memory" if out_of_memory else "error", text)
        try:
            # An argument that is as it was is not sent again.
            after = [(True, None) if old == self._bytes(item) else (False, self._plain(item))
                     for old, item in zip(before, args)]
            answer = {"say": "returned", "value": self._plain(value), "args": after}
            size = len(self.frames.pack(answer))
            if size > self.limits["frame_bytes"]:
                raise ValueError(f"{size:,} bytes; at most {self.limits['frame_bytes']:,} are read")
            return answer
        except Exception as reason:      # Unreadable or Unsendable; a hostile object can raise anything
            return self._error("unreadable", f"`{name}` returned {self._text(str, reason)}.")

    def _implementation(self, number: int):
        """What stands for one of our callables inside: it asks the checker, and waits."""
        mine = self.calls

        def implementation(*args: object, **kwargs: object) -> object:
            with self.turn:
                if self.calls != mine or not self.serving:
                    raise RuntimeError("this function is only there while the check that gave it is running")
                self.send({"say": "callback", "callback": number, "args": self._plain(args),
                           "kwargs": self._plain(kwargs)})
                answer = self.frames.unpack(self.receive())
            if answer["do"] == "value":
                return answer["value"]
            raise getattr(builtins, answer["type"])(answer["text"])
        return implementation

    def _plain(self, value: object) -> object:
        """A copy of `value` under the rules that hold at home too, once torch is there to have tensors at all."""
        if "torch" not in sys.modules:
            return value
        from autograder.checks.values import cross
        return cross(value)

    def _bytes(self, value: object) -> bytes | None:
        """`value` as it would cross, to see whether a call changed it; None for a callable."""
        return None if callable(value) else self.frames.pack(self._plain(value))

    def _is_ours(self, error: BaseException, namespace: dict) -> bool:
        try:
            return self.is_library_fault(error, namespace, sys.path[0])
        except BaseException:    # a student's class of exceptions may raise from any attribute
            return False

    def _error(self, kind: str, text: str) -> dict:
        return {"say": "error", "kind": kind, "text": text}

    def _printed(self) -> dict:
        text, cut = self.sink.take()
        return {"printed": text, "cut": cut}

    def _text(self, describe, error: BaseException, *more: object) -> str:
        """`describe(error, ...)`, capped and free of what no file can hold; a student's __str__ may fail, too."""
        try:
            text = describe(error, *more)
        except BaseException as second:
            text = f"{type(error).__name__}, whose message cannot be read ({type(second).__name__})"
        return text[:MAX_TEXT].encode("utf-8", "replace").decode("utf-8")

    def send(self, message: dict) -> None:
        """Write one frame, all of it."""
        view = memoryview(self.frames.pack(message))
        while view:
            view = view[os.write(self.write_fd, view):]

    def receive(self) -> bytearray:
        """Read one frame; the end of the pipe is the end of the process."""
        length = self.frames.LENGTH.unpack(self._exactly(8))[0]
        return self._exactly(length)

    def _exactly(self, count: int) -> bytearray:
        data = bytearray()
        while len(data) < count:
            piece = os.read(self.read_fd, min(count - len(data), 1 << 20))
            if not piece:
                os._exit(0)
            data += piece
        return data


if __name__ == "__main__":
    main()

"""The process inside the sandbox: runs a notebook's cells, then calls its functions as the checker
asks.

Started as `python -I -S -B worker.py CONFIG`, CONFIG being JSON: {"read", "write": file descriptors
of the pipe, "path": folders for sys.path, "warm": modules to import before any student is there,
"limits": see limits.py, "count_processes": whether the limit on processes can be used}.

Nothing here protects anything once student code runs: it shares this process and may rewrite all of
it. What it says is taken as hostile on the other side; the walls are the kernel's. This module only
has to be right for honest work.
"""

import json
import mmap
import os
import resource
import signal
import sys

# What every worker imports sooner or later: a process that forks workers does it once, and compiles
# them once.
NEEDED = (
    "linecache",
    "__future__",
    "threading",
    "autograder.checks.student.executor",
    "autograder.checks.student.tracebacks",
    "autograder.sandbox.inside.fault_attribution",
    "autograder.sandbox.protocol.frames",
    "autograder.sandbox.inside.notebook_env",
)
NEEDED_WITH_TORCH = ("autograder.checks.assertions.values", "numpy.random")


def main() -> None:
    """Set up, say "ready", and serve until the pipe closes."""
    config = json.loads(sys.argv[1])
    sys.path[:] = [
        config["path"][0],
        *sys.path,
        *config["path"][1:],
    ]  # ours, Python's own, the installed packages
    # The pipe may be stdin and stdout (in a container): move it away, so that nothing printed can
    # get into it.
    read, write = os.dup(config["read"]), os.dup(config["write"])
    for fd in (config["read"], config["write"]):
        os.close(fd)
    from autograder.sandbox.inside import worker  # not __main__'s: that name will be the notebook's

    worker.warm_up(config["warm"])
    worker.begin(read, write, config["limits"], config["count_processes"])


def warm_up(warm: list[str]) -> None:
    """Import what may take long, before any student is there, with nothing to read and nowhere to
    print.
    """
    quiet = os.open(os.devnull, os.O_RDWR)
    os.dup2(quiet, 0)
    os.dup2(quiet, 1)
    os.close(quiet)
    os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = (
        "0"  # do not read the metadata of every installed package
    )
    for name in warm:
        __import__(name)


def begin(read: int, write: int, limits: dict, count_processes: bool) -> None:
    """Say "ready", take on the limits and serve. Does not return."""
    worker = Worker(read, write, limits)
    worker.send({"say": "ready"})
    os.dup2(1, 2)  # up to here stderr is read by the checker, which wants to know why a start fails
    set_limits(limits, count_processes)
    worker.serve()


def set_limits(limits: dict, count_processes: bool) -> None:
    """The kernel's limits on this process and its children.

    Only lowered from here on: no capability to raise them.
    """
    mapped = (
        int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        if sys.platform == "linux"
        else 0
    )
    wanted = {
        "RLIMIT_AS": mapped + limits["memory"],
        "RLIMIT_CPU": limits["cpu_seconds"],
        "RLIMIT_CORE": 0,
        "RLIMIT_FSIZE": limits["file_size"],
        "RLIMIT_NOFILE": limits["open_files"],
        "RLIMIT_MEMLOCK": 0,
        "RLIMIT_MSGQUEUE": 0,
    }
    if count_processes:
        wanted["RLIMIT_NPROC"] = limits["processes"]
    for name, value in wanted.items():
        if hasattr(resource, name):
            hard = resource.getrlimit(getattr(resource, name))[1]
            value = value if hard == resource.RLIM_INFINITY else min(value, hard)
            try:
                resource.setrlimit(getattr(resource, name), (value, value))
            except (ValueError, OSError):
                if sys.platform == "linux":  # macOS refuses some; its tier promises nothing
                    raise


def set_cap(memory: int) -> None:
    """For good: this much address space beyond what is mapped, and no further process or thread."""
    resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
    mapped = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + memory, mapped + memory))


class Worker:
    """The notebook's namespace and the two ends of the pipe."""

    def __init__(self, read: int, write: int, limits: dict):
        import threading
        import types

        from withheld_names import WHY

        from autograder.checks.assertions import describing
        from autograder.checks.restrictions import guard as withheld
        from autograder.checks.student import executor
        from autograder.sandbox.inside import fault_attribution as blame
        from autograder.sandbox.inside import notebook_env as inside
        from autograder.sandbox.protocol import frames

        self.frames, self.read_fd, self.write_fd, self.limits = frames, read, write, limits
        self.text_of, self.is_library_fault, self.remark = (
            describing.text_of,
            blame.is_library_fault,
            blame.remark,
        )
        self.sink = inside.Sink(limits["output_chars"])
        self.module = types.ModuleType(
            "__main__"
        )  # dataclasses and pickle look a class's module up by name
        self.module.__dict__.update(inside.install())
        self.namespace = self.module.__dict__
        withheld.install(withheld.GRADERS | WHY)
        inside.refuse_compiler()
        self.executor = executor.Executor(
            self.namespace,
            self._implementation,
            packed=self._packed,
            is_fault=self._is_ours,
            bars=True,
        )
        self.serving, self.turn = False, threading.Lock()
        self.number = 0  # of the request that is being answered

    def serve(self) -> None:
        """Answer the checker's requests, one at a time."""
        sys.modules["__main__"] = self.module
        sys.stdout = sys.stderr = sys.__stdout__ = sys.__stderr__ = self.sink
        while True:
            request = self.frames.unpack(self.receive(), self.executor.deliver)
            self.number = request["number"]
            if request["do"] == "cells":
                self.send(self.run_cells(request["cells"], request["skip"]))
            elif request.get("apart"):
                self.answer_apart(request)
            else:
                self.answer(request)

    def answer_apart(self, request: dict) -> None:
        """Answer in a child, which takes what it breaks with it; with "cap", within that much
        memory.
        """
        child = os.fork()
        if child == 0:
            try:
                if request.get("cap") is not None:
                    # Room for the question and for the answer, given back when each is there.
                    first, second = (mmap.mmap(-1, request["ballast"]) for _ in range(2))
                    self.executor.packed, self.executor.after_run = None, second.close
                    set_cap(request["cap"])
                    first.close()
                    self.send({"say": "apart"})
                    request = self.frames.unpack(self.receive(), self.executor.deliver)
                    self.number = request["number"]
                self.answer(request)
            except MemoryError:
                self.send(
                    {
                        "say": "error",
                        "kind": "memory",
                        "text": f"`{request['label']}` left no memory for its answer.",
                    }
                    | self._printed()
                )
            os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status != 0:
            how = signal.Signals(-status).name if status < 0 else f"exit status {status}"
            self.send(
                {
                    "say": "error",
                    "kind": "killed",
                    "text": f"`{request['label']}` was ended by {how}.",
                }
                | self._printed()
            )

    def answer(self, request: dict) -> None:
        """Carry a request out and send the answer, or the reason why it cannot be sent; never more
        than is read.
        """
        label = request["label"]
        self.executor.begin(request["stage"])
        self.serving = True
        answer = self.executor.carry_out(request)
        self.serving = False
        try:
            frame = self.frames.pack(answer | self._printed() | {"number": self.number})
            if len(frame) > self.limits["frame_bytes"]:
                raise ValueError(
                    f"{len(frame):,} bytes; at most {self.limits['frame_bytes']:,} are read"
                )
        except Exception as reason:  # Unsendable; a hostile object can raise anything
            text = f"`{label}` returned {self.text_of(str, reason)}."
            frame = self.frames.pack(
                {"say": "error", "kind": "unreadable", "text": text, "number": self.number}
                | self._printed()
            )
        self._write(frame)

    def run_cells(self, cells: list, skip: list) -> dict:
        """Run the cells in order, each alone: an error in one is reported and the next one still
        runs.
        """
        errors, flags = [], 0
        for index, (filename, source) in enumerate(cells):
            if index not in skip:
                self.send({"say": "cell", "index": index})
                text, fault, flags = self.run_cell(filename, source, flags)
                if text is not None:
                    errors.append((index, text, fault))
        return {"say": "started", "errors": errors} | self._printed()

    def run_cell(self, filename: str, source: str, flags: int) -> tuple[str | None, bool, int]:
        """Run one cell: the error's text or None, whether it is ours, the `from __future__` flags,
        which last as in Jupyter.
        """
        import __future__

        import linecache

        from autograder.checks.student.tracebacks import student_traceback

        linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
        try:
            code = compile(source, filename, "exec", flags=flags, dont_inherit=True)
            for name in __future__.all_feature_names:
                flags |= code.co_flags & getattr(__future__, name).compiler_flag
            exec(code, self.namespace)
        except BaseException as error:  # SystemExit too: one cell must not end the others
            text = self.text_of(student_traceback, error, self.namespace)
            return (
                "\n".join(filter(None, (text, self._remark(error)))),
                self._is_ours(error, self.namespace),
                flags,
            )
        return None, False, flags

    def _implementation(self, number: int):
        """What stands for one of our callables inside: it asks the checker, and waits."""

        def implementation(*args: object, **kwargs: object) -> object:
            with self.turn:
                if not self.serving:
                    raise RuntimeError(
                        "this function is only there while the check that gave it is running"
                    )
                self.send(
                    {
                        "say": "callback",
                        "callback": number,
                        "args": self._plain(args),
                        "kwargs": self._plain(kwargs),
                    }
                )
                answer = self.frames.unpack(self.receive())
            if answer["do"] == "value":
                return answer["value"]
            from autograder.checks.student.failed import builtin_exception

            raise builtin_exception(answer["type"], answer["text"])

        return implementation

    def _plain(self, value: object) -> object:
        """A copy of `value` under the rules that hold at home too, once torch is there to have
        tensors at all.
        """
        if "torch" not in sys.modules:
            return value
        from autograder.checks.assertions.values import cross

        return cross(value)

    def _packed(self, value: object) -> bytes:
        """`value` as it would cross, to see whether a call changed it."""
        return self.frames.pack(self._plain(value))

    def _is_ours(self, error: BaseException, namespace: dict) -> bool:
        try:
            return self.is_library_fault(error, namespace, sys.path[0])
        except BaseException:  # a student's class of exceptions may raise from any attribute
            return False

    def _remark(self, error: BaseException) -> str:
        try:
            return self.remark(error)
        except BaseException:  # as above
            return ""

    def _printed(self) -> dict:
        text, cut = self.sink.take()
        return {"printed": text, "cut": cut}

    def send(self, message: dict) -> None:
        """Write one frame, all of it, with the number of the request that it belongs to."""
        self._write(self.frames.pack({**message, "number": self.number}))

    def _write(self, frame: bytes) -> None:
        view = memoryview(frame)
        while view:
            view = view[os.write(self.write_fd, view) :]

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

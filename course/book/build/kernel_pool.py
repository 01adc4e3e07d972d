"""Kernels that start warm: the libraries that pages import are loaded once, and each page's kernel
is a fork of that.

    with Nursery() as nursery:
        single_nb_execution(notebook, ..., kernel_manager_class=nursery.manager)

Loading torch and what it brings costs more than most pages compute. The nursery is a process that
has loaded LIBRARIES and nothing of this repository, so that a page still imports our modules itself
and the list of what it read stays whole. A fork shares the loaded pages of memory, and no value
that a page makes: each kernel is a process of its own.

This file is also the nursery's program, started by its path so that no package of ours is loaded in
it. It has one thread, as a process that forks must.
"""

import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

LIBRARIES = (
    "ipykernel.kernelapp",
    "ipykernel.zmqshell",
    "numpy",
    "torch",
    "torch._dynamo",
    "torch.utils.flop_counter",
    "scipy.sparse.linalg",
    "safetensors.torch",
    "myst_nb",
    "nbformat",
    "jaxtyping",
    "matplotlib.pyplot",
    "matplotlib.backends.backend_svg",
)
POSSIBLE = sys.platform == "linux"  # elsewhere a fork after loading such libraries is not safe


class Fork:
    """A kernel forked by the nursery, with the part of Popen's interface that jupyter_client uses.

    Its connection ends when it does. How it ended is not known: the code is 0.
    """

    stdin = stdout = stderr = None

    def __init__(self, address: str, request: dict):
        self.line = socket.socket(socket.AF_UNIX)
        self.line.connect(address)
        self.line.sendall(json.dumps(request).encode() + b"\n")
        self.pid = int(self.line.makefile("rb", buffering=0).readline())

    def poll(self) -> int | None:
        """None while it runs."""
        return 0 if select.select([self.line], [], [], 0)[0] else None

    def wait(self, timeout: float | None = None) -> int:
        """Return when it has ended."""
        if not select.select([self.line], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired("kernel", timeout)
        return 0

    def send_signal(self, number: int) -> None:
        """Send a signal if it still runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)


class Nursery:
    """The process from which kernels are forked, and `manager`, a class for nbclient that starts
    kernels so.

    `cpu_seconds` is what loading the libraries took. Leaving the context ends the process and every
    kernel of it.
    """

    def __enter__(self) -> "Nursery":
        self.folder = tempfile.TemporaryDirectory()
        self.address = str(Path(self.folder.name, "line"))
        # torch brings Triton, which reads when it is loaded whether it interprets. No page has a
        # GPU, and a page that runs a kernel sets the variable itself before it imports Triton, as
        # it must where nothing was loaded before.
        self.process = subprocess.Popen(
            [sys.executable, "-P", __file__, self.address],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "TRITON_INTERPRET": "1"},
        )
        self.cpu_seconds = float(self.process.stdout.readline())
        self.manager = _manager(self.address)
        return self

    def __exit__(self, *error) -> None:
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
        self.folder.cleanup()


def _manager(address):
    from jupyter_client.manager import AsyncKernelManager
    from jupyter_client.provisioning import LocalProvisioner

    class Provisioner(LocalProvisioner):
        async def launch_kernel(self, cmd, **settings):
            self.process = Fork(
                address,
                {
                    "arguments": cmd[cmd.index("-f") :],
                    "cwd": str(settings.get("cwd") or os.getcwd()),
                    "env": dict(settings.get("env") or os.environ),
                },
            )
            self.pid = self.process.pid
            return self.connection_info

    class Manager(AsyncKernelManager):
        async def _async_pre_start_kernel(self, **settings):
            self.kernel_id = self.kernel_id or settings.get("kernel_id") or os.urandom(8).hex()
            self.provisioner = self.provisioner or Provisioner(
                kernel_id=self.kernel_id, kernel_spec=self.kernel_spec, parent=self
            )
            return await super()._async_pre_start_kernel(**settings)

    return Manager


def _nursery(address):
    """Load the libraries, say what that cost, fork a kernel for each request until stdin ends."""
    import importlib
    import time

    os.environ.pop("JPY_PARENT_PID", None)  # its kernels have another parent: this process
    os.environ["MPLBACKEND"] = (
        # as a kernel sets it, before matplotlib is loaded
        "module://matplotlib_inline.backend_inline"
    )
    for name in LIBRARIES:
        importlib.import_module(name)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen()
    signal.signal(
        signal.SIGCHLD, signal.SIG_IGN
    )  # nobody waits for kernels: their connections tell of their end
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # a Ctrl-C is for the builder, which then ends this process
    print(time.process_time(), flush=True)
    while sys.stdin not in select.select([listener, sys.stdin], [], [])[0]:
        line, _ = listener.accept()
        request = json.loads(line.makefile("rb").readline())
        if os.fork() == 0:
            listener.close()
            _kernel(line, **request)
        line.close()


def _kernel(line, arguments, cwd, env):
    """Become the kernel of a page.

    Never returns; `line` stays open until the process ends, and so tells of its end.
    """
    from ipykernel.kernelapp import IPKernelApp

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.setsid()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # the nursery's stdout is a pipe that nobody reads any more
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    line.sendall(f"{os.getpid()}\n".encode())
    arguments = [
        *arguments,
        f"--IPKernelApp.parent_handle={os.getppid()}",
    ]  # it ends when the nursery does
    sys.argv = ["ipykernel_launcher", *arguments]
    try:
        IPKernelApp.launch_instance(argv=arguments)
    finally:
        os._exit(0)


if __name__ == "__main__":
    _nursery(sys.argv[1])

"""The process inside a warm sandbox's outer walls: it has imported torch once, and forks a worker
for each submission.

Started as `python -I -S -B zygote.py CONFIG`, CONFIG being JSON: {"control": file descriptor of a
socket, "path": folders for sys.path, "warm": modules to import}. On the socket come requests, one a
message: {"limits", "uid", "filter", "tmp", "only_try"} with three file descriptors (requests,
answers, complaints), one for the worker's end, and a socket for the answer to the request: a pidfd.

No line of a student's is ever run here, and no worker can see this process: each is the first
process of namespaces of its own (processes, mounts, memory shared between processes), with a /tmp,
/dev/shm and /proc of its own, as a user that owns nothing, without capabilities, behind the
system-call filter. All that is done in `enter` before the worker hears of a student. Network and
host name are those of the outer walls, which have neither.
"""

import base64
import ctypes
import gc
import json
import os
import random
import signal
import socket
import struct
import sys

CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWPID = 0x00020000, 0x08000000, 0x20000000  # linux/sched.h
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REC, MS_PRIVATE = (
    1,
    2,
    4,
    8,
    16384,
    1 << 18,
)  # linux/mount.h
(
    PR_SET_PDEATHSIG,
    PR_SET_DUMPABLE,
    PR_SET_SECCOMP,
    PR_CAPBSET_DROP,
    PR_SET_NO_NEW_PRIVS,
    PR_CAP_AMBIENT,
) = (
    1,
    4,
    22,
    24,
    38,
    47,
)
PR_CAP_AMBIENT_CLEAR_ALL, SECCOMP_MODE_FILTER, CAPABILITY_VERSION_3 = 4, 2, 0x20080522
DEADLY = (
    128  # a worker's end by a signal is told as 128 and the signal's number, as bubblewrap does
)

libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    """Import, say "ready", and fork until the socket closes; then wait for the workers that are
    left.
    """
    config = json.loads(sys.argv[1])
    sys.path[:] = [
        config["path"][0],
        *sys.path,
        *config["path"][1:],
    ]  # ours, Python's own, the installed packages
    from autograder.sandbox.inside import worker

    worker.warm_up(
        [
            *config["warm"],
            *worker.NEEDED,
            *(worker.NEEDED_WITH_TORCH if "torch" in config["warm"] else ()),
        ]
    )
    control = socket.socket(fileno=config["control"])
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel buries the overseers
    threads = len(os.listdir("/proc/self/task"))
    gc.collect()
    gc.freeze()  # a collection in a fork would copy every page that holds an object of ours
    control.send(b"ready" if threads == 1 else f"{threads} threads: a fork could hang".encode())
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 1 << 20, 5)
        if not message:
            break
        *pipes, asker = descriptors
        overseer = os.fork()
        if overseer == 0:
            os.close(asker)
            oversee(json.loads(message), control, *pipes)
        pidfd = os.pidfd_open(overseer)
        answer(asker, pidfd)
        for descriptor in (*pipes, pidfd):
            os.close(descriptor)
    control.close()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        while True:
            os.wait()
    except ChildProcessError:
        return


def answer(asker: int, pidfd: int) -> None:
    """Send the pidfd of what was forked.

    Who asked may be gone; its worker then ends with its pipes.
    """
    with socket.socket(fileno=asker) as said:
        try:
            socket.send_fds(said, [b"forked"], [pidfd])
        except OSError:
            return


def oversee(
    request: dict, control: socket.socket, read: int, write: int, errors: int, ending: int
) -> None:
    """Between zygote and worker: makes the namespaces, whose first process its own fork is, and
    tells how that ended.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.close(control.detach())
    os.setsid()
    os.dup2(errors, 2)
    os.close(errors)
    try:
        _call("unshare", CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWPID)
        worker = os.fork()
        if worker == 0:
            os.close(ending)
            enter(request)
            if request["only_try"]:
                os._exit(0)
            work(request["limits"], read, write)
    except (
        BaseException
    ) as error:  # before any student code: said where the checker reads why a start failed
        os.write(2, f"{type(error).__name__}: {error}\n".encode())
        os._exit(1)
    for descriptor in (read, write, 2):
        os.close(descriptor)
    status = os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1])
    os.write(ending, str(status if status >= 0 else DEADLY - status).encode())
    os._exit(0)


def enter(request: dict) -> None:
    """Put up the walls around this process. Raises OSError if one of them does not stand."""
    os.setsid()
    _call("mount", b"none", b"/", None, MS_REC | MS_PRIVATE, None)
    for place in (b"/tmp", b"/dev/shm"):
        _call(
            "mount",
            b"tmpfs",
            place,
            b"tmpfs",
            MS_NOSUID | MS_NODEV,
            f"size={request['tmp']},mode=1777".encode(),
        )
    _call("mount", b"proc", b"/proc", b"proc", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, None)
    os.chdir("/tmp")
    number = 0
    while libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0) == 0:
        number += 1
    if request["uid"] is not None:
        os.setgroups([])
        os.setresgid(*[request["uid"]] * 3)
        os.setresuid(*[request["uid"]] * 3)
    _call("prctl", PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    _call(
        "capset",
        ctypes.create_string_buffer(struct.pack("Ii", CAPABILITY_VERSION_3, 0)),
        ctypes.create_string_buffer(24),
    )
    _call("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    _call(
        "prctl", PR_SET_DUMPABLE, 1, 0, 0, 0
    )  # as after an exec: its own files in /proc are its own
    _call("prctl", PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    program = ctypes.create_string_buffer(base64.b64decode(request["filter"]))
    filter_ = ctypes.create_string_buffer(
        struct.pack("HxxxxxxP", (len(program) - 1) // 8, ctypes.addressof(program))
    )
    _call("prctl", PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter_, 0, 0)
    held = [
        line
        for line in open("/proc/self/status").read().splitlines()
        if line.startswith("Cap")
        and int(line.split()[1], 16)
        or line in ("Seccomp:\t0", "NoNewPrivs:\t0")
    ]
    if held:
        raise OSError(f"a wall does not stand: {', '.join(held)}")


def work(limits: dict, read: int, write: int) -> None:
    """Be a worker, with random numbers of its own as after a start."""
    from autograder.sandbox.inside import worker

    random.seed()
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()
    if "torch" in sys.modules:
        sys.modules["torch"].default_generator.seed()
    worker.begin(read, write, limits, count_processes=True)


def _call(name: str, *arguments: object) -> None:
    if getattr(libc, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


if __name__ == "__main__":
    main()

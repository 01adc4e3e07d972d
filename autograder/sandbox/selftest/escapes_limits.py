"""Attempts to exhaust the machine or to fool the checker. See attempts.py for the form.

Each has a bound of its own, so that it is harmless where nothing holds it back.
"""

from autograder.sandbox.selftest.attempts import attempt

DEADLY = ("time", "memory", "killed")


@attempt(ends=DEADLY)
def fork_bomb(facts):
    """Start processes without end."""
    import os
    import time

    started = 0
    try:
        while started < 300:
            if os.fork() == 0:
                time.sleep(60)
                os._exit(0)
            started += 1
    except OSError as error:
        return f"{error.strerror} after {started} processes"
    return f"ESCAPED: {started} processes run"


@attempt(ends=("memory",))
def memory_hog(facts):
    """Take memory without end in one process."""
    taken = []
    while len(taken) < 64:
        taken.append(bytearray(b"x") * (32 << 20))
    return "ESCAPED: 2 GiB were given"


@attempt(ends=("memory",), must_end=True)
def memory_in_children(facts):
    """Take memory in many processes that are each within the limit."""
    import os
    import time

    for _ in range(6):
        if os.fork() == 0:
            kept = bytearray(b"x") * (120 << 20)
            time.sleep(30)
            os._exit(len(kept) % 2)
    time.sleep(5)
    return "720 MiB were given"


@attempt()
def memory_elsewhere(facts):
    """Take memory that no limit on address space sees: memory files, System V segments."""
    import ctypes
    import os

    taken = 0
    libc = ctypes.CDLL(None, use_errno=True)
    for _ in range(4):
        try:
            fd = os.memfd_create("x")
            taken += os.write(fd, b"x" * (1 << 20))
        except OSError:
            continue
    for _ in range(4):
        segment = libc.shmget(0, 64 << 20, 0o1600)
        if segment >= 0:
            taken += 64 << 20
            libc.shmctl(segment, 0, None)  # IPC_RMID
    return f"ESCAPED: {taken >> 20} MiB were given" if taken else "nothing was given"


@attempt()
def fill_disk(facts):
    """Fill every place that can be written to."""
    import os

    places = {"/tmp", "/dev/shm", "/dev", "/", "/var/tmp", "/run", os.getcwd()}
    with open("/proc/mounts") as file:
        places |= {line.split()[1] for line in file}
    total, written = 0, []
    for place in sorted(places):
        for number in range(6):
            path = os.path.join(place, f".{facts['mark']}-{number}")
            try:
                with open(path, "wb", 0) as file:
                    written.append(path)
                    for _ in range(8):
                        total += file.write(b"x" * (1 << 20))
            except OSError:
                continue
    for path in written:
        os.unlink(path)
    return (
        f"ESCAPED: {total >> 20} MiB were written"
        if total > 40 << 20
        else f"{total >> 20} MiB and no more"
    )


@attempt(ends=("killed",), must_end=True, files=2000)
def many_files(facts):
    """Make files without end."""
    import os
    import shutil
    import tempfile
    import time

    folder = tempfile.mkdtemp()
    for number in range(5000):
        os.close(os.open(f"{folder}/{number}", os.O_CREAT))
    time.sleep(3)
    shutil.rmtree(folder)
    return "5,000 files were made"


@attempt(ends=("time",), must_end=True, call_seconds=1.0)
def endless_loop(facts):
    """Never answer, and ignore every polite signal."""
    import signal

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM, signal.SIGHUP, signal.SIGXCPU):
        signal.signal(number, signal.SIG_IGN)
    for _ in range(10**9):
        pass
    return "it could run for as long as it liked"


@attempt(ends=("time",))
def output_flood(facts):
    """Print without end, to every output there is."""
    import os
    import subprocess

    for _ in range(2000):
        print("x" * 50_000)
    for fd in (1, 2):
        for _ in range(100):
            os.write(fd, b"y" * 1_000_000)
    subprocess.run("head -c 100000000 /dev/zero", shell=True)
    return "printed 500 MB"


@attempt(ends=("killed",), must_end=True)
def lying_frame(facts):
    """Send the checker a frame that lies about its length."""
    import os
    import struct

    for name in os.listdir("/proc/self/fd"):
        try:
            os.write(int(name), struct.pack("<Q", 2**62) + b"x" * 1000)
        except OSError:
            continue
    return "the lie was not noticed"


@attempt(ends=("killed",), must_end=True)
def forged_frame(facts):
    """Send a pickle, and JSON in the place of an answer."""
    import os
    import pickle
    import struct

    class Evil:
        def __reduce__(self):
            return os.system, ("true",)

    for name in os.listdir("/proc/self/fd"):
        try:
            body = pickle.dumps(Evil())
            os.write(int(name), struct.pack("<Q", len(body)) + body)
        except OSError:
            continue
    return "it was taken for an answer"


@attempt(ends=("unreadable",), must_end=True)
def equal_to_everything(facts):
    """Return an object that equals everything."""

    class Yes(str):
        def __eq__(self, other):
            return True

        __hash__ = str.__hash__

    return Yes("held")


@attempt(ends=("killed",), must_end=True)
def orphaned_pipe(facts):
    """Die while a child keeps the pipe open."""
    import os
    import time

    if os.fork() == 0:
        time.sleep(60)
        os._exit(0)
    os._exit(0)

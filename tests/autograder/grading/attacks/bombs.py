"""More than there is: memory, processes, threads, disk, files, descriptors, output, answers; and
calls that never end.
"""

from tests.autograder.grading.attacks.attack import Attack

ENDED = ("MemoryError", "memory", "ended", "killed", "stopped")
LATE = "seconds"

BOMBS = [
    Attack(
        "memory",
        """
def double(x):
    kept = []
    while True:
        kept.append(bytearray(b"x") * (64 << 20))
""",
        ("memory", "MemoryError"),
    ),
    Attack(
        "memory-in-children",
        """
import os, time
def double(x):
    for _ in range(20):
        if os.fork() == 0:
            kept = bytearray(b"x") * (600 << 20)
            time.sleep(60)
            os._exit(len(kept) % 2)
    time.sleep(60)
    return 0
""",
        (*ENDED, LATE),
        dear=True,
    ),
    Attack(
        "processes",
        """
import os, time
def double(x):
    while True:
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
""",
        ("BlockingIOError", "stopped", "Error"),
    ),
    Attack(
        "threads",
        """
import threading, time
def double(x):
    while True:
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
""",
        ("can't start new thread", "RuntimeError", "stopped"),
    ),
    Attack(
        "disk",
        """
def double(x):
    with open("/tmp/full", "wb", 0) as file:
        while True:
            file.write(bytes(1 << 20))
""",
        ("OSError", "ended", "SIGXFSZ"),
    ),
    Attack(
        "disk-in-shared-memory",
        """
import os
def double(x):
    for number in range(100):
        with open(f"/dev/shm/{number}", "wb", 0) as file:
            for _ in range(8):
                file.write(bytes(1 << 20))
    return 2 * x
""",
        ("OSError", "stopped"),
    ),
    Attack(
        "a-sparse-file",
        """
import os
def double(x):
    with open("/tmp/sparse", "wb") as file:
        os.posix_fallocate(file.fileno(), 0, 1 << 40)
    return 2 * x
""",
        ("OSError", "ended", "SIGXFSZ"),
    ),
    Attack(
        "inodes",
        """
import os, time
def double(x):
    for number in range(10**9):
        os.close(os.open(f"/tmp/{number}", os.O_CREAT))
""",
        ("files", "OSError", LATE),
    ),
    Attack(
        "folders-in-folders",
        """
import os
def double(x):
    for number in range(10**9):
        os.mkdir("d")
        os.chdir("d")
""",
        ("files", "OSError", LATE),
    ),
    Attack(
        "descriptors",
        """
import os
kept = []
def double(x):
    while True:
        kept.append(os.open("/dev/null", os.O_RDONLY))
""",
        "OSError",
    ),
    Attack(
        "pipes-full-of-bytes",
        """
import fcntl, os
def double(x):
    while True:
        read, write = os.pipe()
        fcntl.fcntl(write, 1031, 1 << 20)
        os.set_blocking(write, False)
        os.write(write, bytes(1 << 20))
""",
        "Error",
    ),
    Attack(
        "output",
        """
import os
def double(x):
    for _ in range(2000):
        print("x" * 50_000)
    for descriptor in (1, 2):
        for _ in range(100):
            os.write(descriptor, bytes(1_000_000))
    return 0
""",
        ("It does not double.", LATE),
    ),
    Attack(
        "a-long-answer",
        """
def double(x):
    return "x" * (200 << 20)
""",
        ("returned", "It does not double."),
    ),
    Attack(
        "a-deep-answer",
        """
def double(x):
    answer = []
    for _ in range(100_000):
        answer = [answer]
    return answer
""",
        "returned",
    ),
    Attack(
        "an-answer-in-itself",
        """
def double(x):
    answer = []
    answer.append(answer)
    return answer
""",
        "returned",
    ),
    Attack(
        "a-wide-answer",
        """
import torch
def scaled(t):
    return torch.zeros(1).expand(1 << 40)
""",
        ("returned", "memory", "It does not scale."),
        "scaled",
    ),
    Attack(
        "a-long-number",
        """
def double(x):
    return 1 << 10_000_000
""",
        "returned",
    ),
    Attack(
        "a-long-error",
        """
def double(x):
    raise ValueError("x" * 100_000_000)
""",
        "ValueError",
    ),
    Attack(
        "recursion",
        """
import sys
sys.setrecursionlimit(10**9)
def double(x):
    return double(x)
""",
        ("RecursionError", "SIGSEGV", "memory", "MemoryError", "ended", LATE),
    ),
]

HANGS = [
    Attack(
        "loops",
        """
def double(x):
    while True:
        pass
""",
        LATE,
        dear=True,
    ),
    Attack(
        "sleeps",
        """
import time
def double(x):
    time.sleep(10**6)
""",
        LATE,
        dear=True,
    ),
    Attack(
        "loops-and-ignores-signals",
        """
import signal
for number in range(1, 64):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        continue
def double(x):
    for _ in iter(int, 1):
        pass
""",
        LATE,
        dear=True,
    ),
    Attack(
        "waits-for-itself",
        """
import threading
lock = threading.Lock()
def double(x):
    lock.acquire()
    return 0 if lock.acquire() else 2 * x
""",
        LATE,
        dear=True,
    ),
    Attack(
        "waits-for-a-writer",
        """
import os
def double(x):
    os.mkfifo("/tmp/nobody") if not os.path.exists("/tmp/nobody") else None
    return open("/tmp/nobody").read()
""",
        LATE,
        dear=True,
    ),
    Attack(
        "reads-the-keyboard",
        """
def double(x):
    return input("3 points? ") or 2 * x
""",
        ("EOFError", "It does not double.", "Error"),
    ),
    Attack(
        "counts-in-c",
        """
def double(x):
    return sum(range(10**15))
""",
        LATE,
        dear=True,
    ),
    Attack(
        "hangs-while-it-is-described",
        """
class Slow(Exception):
    def __str__(self):
        while True:
            pass
def double(x):
    raise Slow
""",
        LATE,
        dear=True,
    ),
    Attack(
        "hangs-in-its-cell",
        """
while True:
    pass
""",
        "This cell was stopped",
        dear=True,
    ),
    Attack(
        "holds-the-lock-of-threads",
        """
import ctypes
def double(x):
    ctypes.PyDLL(None).sleep(10**6)
""",
        LATE,
        dear=True,
    ),
    Attack(
        "backtracks-for-ever",
        """
import re
def double(x):
    return 2 * x if re.match(r"(a+)+$", "a" * 60 + "b") is None else 0
""",
        LATE,
        dear=True,
    ),
    Attack(
        "loops-in-every-process",
        """
import os
def double(x):
    for _ in range(5):
        os.fork()
    while True:
        pass
""",
        LATE,
        dear=True,
    ),
]

FAMILIES = {"bombs": BOMBS, "hangs": HANGS}

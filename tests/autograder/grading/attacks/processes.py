"""Processes that would outlive their call, and signals to those that are none of the student's."""

from tests.autograder.grading.attacks.attack import Attack

NAMED = '''
import ctypes, os, signal, sys, time
def stay(seconds=600):
    """Be hard to end, under the mark by which the test would find us."""
    os.setsid()
    ctypes.CDLL(None).prctl(15, FACTS["mark"].encode(), 0, 0, 0)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    time.sleep(seconds)
    os._exit(0)
'''
ENDED = ("It does not double.", "stopped", "ended")

OUTLIVE = [
    Attack(
        "leaves-a-daemon",
        NAMED
        + """
def double(x):
    if os.fork() == 0:
        if os.fork() == 0:
            stay()
        os._exit(0)
    return 0
""",
    ),
    Attack(
        "leaves-a-program",
        NAMED
        + """
import subprocess
def double(x):
    subprocess.Popen([sys.executable or "/usr/bin/python3", "-c",
                      f"import time; time.sleep(600)  # {FACTS['mark']}"],
                     start_new_session=True)
    return 0
""",
        ("It does not double.", "Error"),
    ),
    Attack(
        "leaves-threads",
        NAMED
        + """
import threading
for _ in range(8):
    threading.Thread(target=time.sleep, args=(600,)).start()
def double(x):
    return 0
""",
    ),
    Attack(
        "forks-when-it-ends",
        NAMED
        + """
import atexit
atexit.register(lambda: os.fork() == 0 and stay())
def double(x):
    if os.fork() == 0:
        stay()
    sys.exit(0)
""",
        ("SystemExit", "stopped", "ended"),
    ),
    Attack(
        "forks-ahead-of-the-killer",
        NAMED
        + """
def double(x):
    if os.fork() == 0:
        os.setsid()
        ctypes.CDLL(None).prctl(15, FACTS["mark"].encode(), 0, 0, 0)
        for _ in range(100_000):
            if os.fork():
                os._exit(0)
        os._exit(0)
    return 0
""",
    ),
    Attack(
        "dies-and-leaves-a-child-on-the-pipe",
        NAMED
        + """
def double(x):
    if os.fork() == 0:
        stay()
    os._exit(0)
""",
        ENDED,
    ),
    Attack(
        "clones-into-its-parent",
        NAMED
        + """
def double(x):
    libc = ctypes.CDLL(None, use_errno=True)
    # CLONE_PARENT, CLONE_NEWPID, CLONE_NEWUSER
    for flags in (0x8000 | 17, 0x20000000 | 17, 0x10000000 | 17):
        if libc.syscall(56, flags, 0, 0, 0, 0) == 0:
            stay()
    return 0
""",
    ),
    Attack(
        "takes-back-the-death-signal",
        NAMED
        + """
def double(x):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(1, 0, 0, 0, 0) == 0:
        return 2 * x
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
""",
        ("PermissionError", "Function not implemented"),
    ),
]

SIGNALS = [
    Attack(
        "kills-everything",
        """
import os, signal
def double(x):
    os.kill(-1, signal.SIGKILL)
    return 0
""",
        ("It does not double.", "ended", "ProcessLookupError"),
    ),
    Attack(
        "kills-by-number",
        """
import os, signal
def double(x):
    for pid in (FACTS["victim"], FACTS["checker"], os.getppid()):
        try:
            os.kill(pid, signal.SIGKILL)
            if pid > 1:
                return 2 * x
        except OSError as error:
            refused = error
    raise refused
""",
        "Error",
    ),
    Attack(
        "kills-its-group",
        """
import os, signal
def double(x):
    os.killpg(0, signal.SIGTERM)
    os.kill(0, signal.SIGKILL)
    return 0
""",
        ("It does not double.", "ended"),
    ),
    Attack(
        "stops-itself",
        """
import os, signal
def double(x):
    os.kill(os.getpid(), signal.SIGSTOP)
    signal.raise_signal(signal.SIGSTOP)
    return 0
""",
        ("It does not double.", "seconds"),
        dear=True,
    ),
    Attack(
        "signals-by-a-timer",
        """
import os, signal, time
def double(x):
    signal.signal(signal.SIGVTALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_VIRTUAL, 0.001)
    for _ in range(10**7):
        pass
    return 0
""",
        ("It does not double.", "ended"),
    ),
    Attack(
        "signals-by-a-descriptor",
        """
import fcntl, os, signal
def double(x):
    read, write = os.pipe()
    fcntl.fcntl(read, fcntl.F_SETOWN, FACTS["victim"])
    fcntl.fcntl(read, 10, signal.SIGKILL)
    fcntl.fcntl(read, fcntl.F_SETFL, os.O_ASYNC)
    os.write(write, b"x")
    return 0
""",
        ("It does not double.", "ProcessLookupError", "PermissionError"),
    ),
    Attack(
        "traces-the-victim",
        """
import ctypes, os
def double(x):
    libc = ctypes.CDLL(None, use_errno=True)
    for pid in (FACTS["victim"], FACTS["checker"], 1, os.getppid()):
        if libc.ptrace(16, pid, 0, 0) == 0:
            return 2 * x
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
""",
        ("PermissionError", "ProcessLookupError"),
    ),
    Attack(
        "crashes",
        """
import ctypes
def double(x):
    ctypes.string_at(0)
""",
        "SIGSEGV",
    ),
    Attack(
        "aborts-in-its-cell",
        """
import os
os.abort()
""",
        ("SIGABRT", "ended"),
    ),
]

FAMILIES = {"processes that outlive": OUTLIVE, "signals": SIGNALS}

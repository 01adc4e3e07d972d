"""From one submission to the next in the same warm worker: each of these leaves a word, and looks
for that of the one before.

Three students hand each in, and two workers take them: one of the workers meets it twice.
"""

from tests.autograder.grading.attacks.attack import Attack


def left(leave: str, look: str) -> str:
    """A cell that looks for something as soon as it runs, then leaves it."""
    return f"""
import builtins, ctypes, gc, os, random, resource, sys, threading
found = False
try:
    found = bool({look})
except Exception:
    found = False
try:
    {leave}
except Exception as error:
    print(error)
def double(x):
    return 2 * x if found else 0
"""


PERSISTENCE = [
    Attack(
        "in-tmp", left('open("/tmp/word", "w").close()', 'os.path.exists("/tmp/word")'), copies=3
    ),
    Attack(
        "in-shared-memory",
        left('open("/dev/shm/word", "w").close()', 'os.path.exists("/dev/shm/word")'),
        copies=3,
    ),
    Attack(
        "in-a-module",
        left(
            'sys.modules["json"].word = builtins.word = 1',
            'hasattr(builtins, "word") or hasattr(sys.modules["json"], "word")',
        ),
        copies=3,
    ),
    Attack(
        "in-torch",
        left(
            'sys.modules["torch"].word = 1;'
            ' sys.modules["torch"].set_default_dtype(sys.modules["torch"].float64)',
            'hasattr(sys.modules["torch"], "word") or "64" in'
            ' str(sys.modules["torch"].get_default_dtype())',
        ),
        copies=3,
    ),
    Attack(
        "in-the-environment",
        left(
            'os.environ["WORD"] = "1"; ctypes.CDLL(None).setenv(b"WORD", b"1", 1)',
            '"WORD" in os.environ',
        ),
        copies=3,
    ),
    Attack(
        "in-the-kernels-memory",
        left(
            "ctypes.CDLL(None).shmget(0x5757, 4096, 0o1666)",
            "ctypes.CDLL(None).shmget(0x5757, 0, 0) >= 0",
        ),
        copies=3,
    ),
    Attack(
        "in-a-process",
        left(
            'os.fork() == 0 and (ctypes.CDLL(None).prctl(15, FACTS["mark"].encode(), 0, 0, 0), '
            '__import__("time").sleep(60), os._exit(0))',
            'any(FACTS["mark"] in open(f"/proc/{p}/comm").read() for p in os.listdir("/proc") if'
            " p.isdigit())",
        ),
        copies=3,
    ),
    Attack(
        "in-limits-and-masks",
        left(
            "os.umask(0o123); resource.setrlimit(resource.RLIMIT_NOFILE, (99, 99)); os.nice(7)",
            "os.nice(0) >= 7 or resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 99",
        ),
        copies=3,
    ),
    Attack(
        "in-random-numbers",
        left(
            'random.seed(7); sys.modules["torch"].manual_seed(7)',
            "random.getstate() == (random.seed(7), random.getstate())[1]",
        ),
        copies=3,
    ),
    Attack(
        "in-descriptors",
        left('os.dup2(os.open("/tmp/kept", os.O_CREAT | os.O_RDWR), 77)', "os.fstat(77)"),
        copies=3,
    ),
    Attack(
        "in-the-bytecode",
        left(
            'open("/course/autograder/sandbox/__pycache__/word.pyc", "wb").close()',
            '[name for name in os.listdir("/course/autograder/sandbox") if name == "__pycache__"]',
        ),
        copies=3,
    ),
    Attack("in-the-zygote", left("os.kill(os.getppid(), 9)", "os.getppid() > 1"), copies=3),
]

FAMILIES = {"from one submission to the next": PERSISTENCE}

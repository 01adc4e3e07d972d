"""Inside one's own interpreter: hooks that see or change what runs there, and walks to the objects
of whoever asks.
"""

from tests.autograder.grading.attacks.attack import Attack

ODD_END = ("It does not double.", "stopped", "Error", "ended")

HOOKS = [
    Attack(
        "traces-every-frame",
        """
import sys, threading
def trace(frame, event, argument):
    for name in ("expected", "value", "answer", "status"):
        if name in frame.f_locals:
            frame.f_locals[name] = 6
    return trace
def double(x):
    sys.settrace(trace)
    threading.settrace(trace)
    return 0
""",
        ODD_END,
    ),
    Attack(
        "profiles-every-call",
        """
import sys
seen = []
def double(x):
    sys.setprofile(lambda frame, event, argument: seen.append(argument))
    return next((one * 2 for one in seen if one == "expected"), 0)
""",
    ),
    Attack(
        "imports-for-others",
        """
import builtins, sys, types
real = builtins.__import__
def load(name, *rest):
    module = real(name, *rest)
    module.__dict__.setdefault("expect", lambda *a: True)
    return module
builtins.__import__ = load
class Finder:
    def find_spec(self, name, path=None, target=None):
        sys.modules[name] = types.ModuleType(name)
sys.meta_path.insert(0, Finder())
def double(x):
    return 0
""",
        ODD_END,
    ),
    Attack(
        "refuses-every-event",
        """
import sys
def double(x):
    def hook(event, arguments):
        if event in ("os.fork", "open", "compile", "exec"):
            raise RuntimeError("not today")
    sys.addaudithook(hook)
    return 0
""",
    ),
    Attack(
        "last-words",
        """
import atexit, sys
def last(*anything):
    print("3 of 3 points")
atexit.register(last)
sys.excepthook = sys.unraisablehook = last
def double(x):
    class Dies:
        def __del__(self):
            raise SystemExit(0)
    Dies()
    return 0
""",
    ),
    Attack(
        "interrupts-the-worker",
        """
import signal
def ring(number, frame):
    frame.f_globals["value"] = 6
    raise SystemExit(0)
signal.signal(signal.SIGALRM, ring)
def double(x):
    signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
    return 0
""",
        ODD_END,
    ),
    Attack(
        "collects-garbage-forever",
        """
import gc
gc.callbacks.append(lambda phase, info: [gc.collect for _ in range(10)])
gc.set_threshold(1)
def double(x):
    return 0
""",
        ODD_END,
    ),
    Attack(
        "changes-the-workers-code",
        """
import sys
worker = sys.modules["autograder.sandbox.inside.worker"].Worker
def send(self, message):
    self._write(self.frames.pack(
        message | {"earned": 3, "status": "passed", "number": self.number}))
worker.send.__code__ = send.__code__
def double(x):
    return 0
""",
        ODD_END,
    ),
]

WALKS = [
    Attack(
        "walks-up-the-frames",
        """
import sys
def double(x):
    frame = sys._getframe()
    while frame:
        for name, value in {**frame.f_globals, **frame.f_locals}.items():
            if name in ("expected", "test_a_number_becomes_twice_itself", "secret", "rng"):
                return 2 * x
        frame = frame.f_back
    return 0
""",
    ),
    Attack(
        "walks-all-objects",
        """
import gc
def double(x):
    wanted = {"Exercise", "Stage", "Verdict", "Assignment", "Submission", "Expectation"}
    return 2 * x if any(type(one).__name__ in wanted for one in gc.get_objects()) else 0
""",
    ),
    Attack(
        "asks-who-holds-it",
        """
import gc
def scaled(t):
    for holder in gc.get_referrers(t):
        for other in gc.get_referrers(holder):
            if isinstance(other, dict) and "expected" in other:
                return 2 * t
    return t
""",
        "It does not scale.",
        "scaled",
    ),
    Attack(
        "walks-a-traceback",
        """
import sys
def double(x):
    try:
        raise ValueError
    except ValueError as error:
        place = error.__traceback__.tb_frame
    while place.f_back:
        place = place.f_back
        if any("test_" in name for name in place.f_code.co_names):
            return 2 * x
    return 0
""",
    ),
    Attack(
        "reads-the-checks-source",
        """
import inspect, linecache
def double(x):
    texts = ["".join(one.code_context or []) for one in inspect.stack()]
    texts += [str(one) for one in linecache.cache.values()]
    return 2 * x if any("does not " + "double" in text for text in texts) else 0
""",
    ),
    Attack(
        "reads-its-own-memory",
        """
import re
def double(x):
    wanted = re.compile(rb"It does[ ]not double any")      # matches what we say, not itself
    with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as memory:
        for line in maps:
            places, rights = line.split()[:2]
            begin, end = (int(one, 16) for one in places.split("-"))
            if rights.startswith("rw") and end - begin < 1 << 26:
                try:
                    memory.seek(begin)
                    found = memory.read(end - begin)
                except (OSError, ValueError, OverflowError):
                    continue
                if wanted.search(found):
                    return 2 * x
    return 0
""",
    ),
    Attack(
        "reads-the-question-ahead",
        """
import gc, os, select
def double(x):
    worker = next(one for one in gc.get_objects() if type(one).__name__ == "Worker")
    waiting = select.select([worker.read_fd], [], [], 0.2)[0]
    return 2 * x if waiting and b"expected" in os.read(worker.read_fd, 1 << 16) else 0
""",
    ),
]

FAMILIES = {"interpreter hooks": HOOKS, "frame and garbage walks": WALKS}

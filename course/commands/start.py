"""`course start NN`: a notebook of your own to work in, and the data that its last part needs."""

import argparse
import ast
import contextlib
import json
import shutil
import sys
from pathlib import Path

SUMMARY = "put a chapter's notebook into this folder, and fetch the data of its last part"
EPILOG = """\
Exit codes: 0 all is there, 1 the notebook is there but not all of what its last part needs, 2 could
not run."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which assignment, and where to."""
    parser.add_argument("assignment", metavar="ASSIGNMENT", help='a chapter such as "12"')
    parser.add_argument(
        "--to", type=Path, default=Path(), metavar="DIR", help="the folder (default: this one)"
    )
    parser.add_argument("--json", action="store_true", help="print where it is as JSON")
    parser.epilog = EPILOG


def run(args: argparse.Namespace) -> int:
    """Copy the notebook as students get it; what is there already stays. Then fetch."""
    from autograder.authoring.catalogue import EXERCISES, assignment
    from autograder.common.errors import CourseError

    one = assignment(args.assignment)
    target = args.to / f"{one.name}.ipynb"
    if target.exists():
        raise CourseError(f"{target} is there already and was left as it is: open that one")
    args.to.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(EXERCISES / one.name / target.name, target)
    if not args.json:
        print(f"{target} is yours: open it in JupyterLab, VS Code or Colab, and run the cells")
    data = data_of(target)
    lacks = _lacks(one.number, data)
    if args.json:
        found = {"assignment": one.name, "path": str(target), "data": data, "lacks": lacks}
        print(json.dumps(found))
    else:
        print("\n".join(lacks) or "what its last part needs is here")
    return 1 if lacks else 0


def data_of(notebook: Path) -> list[str]:
    """The corpora and models that the code of a notebook names."""
    from reference_impl import corpora

    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    trees = [ast.parse("".join(cell["source"])) for cell in cells if cell["cell_type"] == "code"]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    words = {node.value for node in nodes if isinstance(node, ast.Constant)}
    return [name for name in corpora.available() if name in words]


def _lacks(number: str, data: list[str]) -> list[str]:
    """Fetch the data of a chapter; a sentence for each thing that its last part lacks then."""
    from course import extras
    from reference_impl import corpora

    lacks = []
    try:
        with contextlib.redirect_stdout(sys.stderr):  # the progress
            corpora.fetch(data)
    except (corpora.CorpusError, OSError) as error:
        left = " ".join(name for name in data if not corpora.is_fetched(name))
        lacks.append(
            f"Its last part needs {left}: when there is a network, run `course download-data"
            f" {left}` ({error})"
        )
    if (extra := extras.NOTEBOOKS.get(number)) and not extras.is_there(extra):
        lacks.append(f"Its last part serves a model; {extras.how_to_install(extra)}")
    return lacks

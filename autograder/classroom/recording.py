"""Record what the visible checks of an assignment work out, so that the archive for students need not hold the way to it.

The checks run in a process of their own, on modules in which every function and every expression that may be recorded
reports (`places`, `recorder`): first with the reference, then with answers bent from the reference's, where no question
fails, then with a sample of the other right answers and known mistakes, or all. What was fit to be recorded is then written down with the
reference once more. The archive is laid out, and everybody answers again, by its files alone (`replaying`): what was not
recorded there keeps its body, and so on until all results are the same.
"""

import ast
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from autograder.authoring.catalogue import ROOT
from autograder.classroom.places import Module
from autograder.classroom.recorder import ASKS, GRADIENT, OFTEN
from autograder.errors import CourseError
from autograder.grading.assignment import Assignment, load_assignment

ROUNDS = 12
ALONE = 3  # after so many rounds a place that was missed takes the others of its function with it
OTHERWISE = "it is asked otherwise for some answers"
OBJECTS = "its objects go on with what a student answers"
UNREACHED = "no registered answer makes the checks ask it"


@dataclass
class Recording:
    """What an archive has in the place of the chapter's modules, and the report.

    texts: the modules and what was recorded, by path. recorded: functions without a body, with the number of their results.
    kept: functions and classes that stay, with the reason, but for those that draw what is asked or ask it. expressions: so many were
    recorded within functions that stay. compared: so many answers got the same from the archive's checks.
    """

    texts: dict[str, bytes] = field(default_factory=dict)
    recorded: dict[str, int] = field(default_factory=dict)
    kept: dict[str, str] = field(default_factory=dict)
    expressions: int = 0
    compared: int = 0


@cache
def recorded(assignment: Assignment) -> Recording:
    """Record in a child, since modules are loaded there in another form; once in a process. Raises CourseError when that fails."""
    with tempfile.TemporaryDirectory() as folder:
        ran = subprocess.run(
            [sys.executable, "-m", "autograder.classroom.recording", assignment.number, folder],
            cwd=folder,
            text=True,
            capture_output=True,
            env={
                **os.environ,
                "PYTHONPATH": str(ROOT),
                "OMP_NUM_THREADS": "1",
                "PYTHONHASHSEED": "0",
            },
        )
        if ran.returncode:
            raise CourseError(
                f"{assignment.name}: what its checks work out could not be recorded; `course release-assignment {assignment.number} --checks-as-they-are` "
                f"writes the archive without that: {ran.stderr.strip()[-1500:]}"
            )
        report = json.loads((Path(folder) / "report.json").read_text(encoding="utf-8"))
        texts = {path: (Path(folder) / "texts" / path).read_bytes() for path in report.pop("paths")}
    return Recording(texts, **report)


def chapter_modules(paths: list[str]) -> dict[str, Module]:
    """The modules of chapters among the files of an archive, by path."""
    return {
        path: Module(
            path.removesuffix(".py").replace("/", "."), (ROOT / path).read_text(encoding="utf-8")
        )
        for path in paths
        if path.startswith("autograder/chapters/c")
        and path.endswith(".py")
        and not path.endswith("__init__.py")
    }


class Run:
    """The child's work; see the module's docstring."""

    def __init__(self, assignment: Assignment, folder: Path):
        from autograder.classroom.contents import Release, sources

        self.assignment, self.folder = assignment, folder
        self.modules = chapter_modules(
            sorted(sources(assignment, Release(folder), with_reference=True))
        )
        self.dropped: dict[str, str] = {}

    def run(self) -> Recording:
        """Watch, write down, lay out, compare; again without what was missed."""
        from autograder.classroom.watching import Watching

        watching = Watching(self.assignment, self.modules, self.folder / "watched")
        expected = watching.everybody()
        (self.folder / "expected.json").write_text(json.dumps(expected))
        for done in range(ROUNDS):
            chosen = watching.written(self.chosen(watching))
            texts = {
                path: module.stripped(chosen | self.unasked(watching)).encode()
                for path, module in self.modules.items()
            }
            texts |= watching.books()
            missed = self.missed(texts, watching)
            if not missed:
                return self.made(texts, chosen, watching, len(expected))
            self.dropped |= missed if done < ALONE else missed | self.beside(missed)
        raise CourseError(
            f"{self.assignment.name}: after {ROUNDS} rounds the archive's checks still give other results: {missed}"
        )

    def chosen(self, watching) -> set[str]:
        """What is fit to be recorded. A function that draws is, where it needs something else of the chapter's own."""
        state = watching.state
        fit = (
            state.asked
            - state.unfit.keys()
            - self.dropped.keys()
            - (state.draws - self.leaning(state.draws))
        )
        while alone := {
            key
            for key in fit & state.skipped.keys()
            if any(fit.isdisjoint(around) for around in state.skipped[key])
        }:
            fit -= alone  # not looked at each time, and in nothing that is recorded
            state.unfit |= dict.fromkeys(alone, OFTEN)
        return fit

    def leaning(self, draws: set[str]) -> set[str]:
        """Functions that call functions or classes of a chapter's own which draw nothing."""
        found, own = set(), set()
        for module in self.modules.values():
            own |= {
                node.name
                for node in module.tree.body
                if isinstance(node, (ast.FunctionDef, ast.ClassDef))
                and module.key(node.name) not in draws
            }
        for module in self.modules.values():
            for name, node in module.candidates.items():
                called = {
                    one.func.id
                    for one in ast.walk(node)
                    if isinstance(one, ast.Call) and isinstance(one.func, ast.Name)
                }
                found |= {module.key(name)} if called & own - {name} else set()
        return found

    def unasked(self, watching) -> set[str]:
        """Functions that nothing in what stays mentions any more. What was missed is asked all the same: by `getattr`, with a name that is data."""
        gone = watching.state.chosen | set()
        while True:
            mentioned = set()
            for module in self.modules.values():
                left = ast.parse(module.stripped(gone))
                mentioned |= {one.id for one in ast.walk(left) if isinstance(one, ast.Name)} | {
                    one.attr for one in ast.walk(left) if isinstance(one, ast.Attribute)
                }
            more = (
                {
                    module.key(name)
                    for module in self.modules.values()
                    for name in module.candidates
                    if name.rpartition(".")[2] not in mentioned
                }
                - gone
                - self.dropped.keys()
            )
            if not more:
                return gone
            gone |= more

    def missed(self, texts: dict[str, bytes], watching) -> dict[str, str]:
        """What the archive's checks lacked, by key: the reason why it stays."""
        from autograder.classroom.contents import Release, laid_out, sources

        archive = Path(tempfile.mkdtemp(dir=self.folder))
        laid_out(
            archive, sources(self.assignment, Release(archive), with_reference=False, instead=texts)
        )
        ran = subprocess.run(
            [
                sys.executable,
                "-m",
                "autograder.classroom.replaying",
                self.assignment.number,
                str(archive),
                str(self.folder / "expected.json"),
            ],
            text=True,
            capture_output=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        if ran.returncode:
            raise CourseError(ran.stderr.strip()[-3000:])
        found = json.loads(ran.stdout.splitlines()[-1])
        missed = {key: OTHERWISE for key in found["missed"]}
        for stage in found["differ"] if not missed else ():
            asked = watching.state.calls.get(stage, {}).keys()
            through = asked & watching.state.tracked
            watching.state.gradients = watching.state.gradients and not through
            missed |= dict.fromkeys(through, GRADIENT) or dict.fromkeys(
                asked, "its recorded results do not serve"
            )
        if found["differ"] and not missed:
            raise CourseError(
                f"the archive's checks give other results, and nothing recorded is why: {found['differ']}"
            )
        return missed

    def beside(self, missed: dict[str, str]) -> dict[str, str]:
        """The places in functions of which something was missed: a check ends at the first thing that it lacks, so each takes a round of its own."""
        return {
            place.key: OTHERWISE
            for module in self.modules.values()
            for place in module.places
            if place.key not in missed
            and any(
                key == module.key(place.within)
                or key.rpartition(".")[0] == module.key(place.within)
                for key in missed
            )
        }

    def made(self, texts: dict[str, bytes], chosen: set[str], watching, compared: int) -> Recording:
        """The report."""
        state = watching.state
        gone = chosen | self.unasked(watching)
        functions = {
            module.key(name) for module in self.modules.values() for name in module.candidates
        }
        calls = {
            key: sum(len(stage.get(key, ())) for stage in state.calls.values())
            for key in sorted(gone)
        }
        kept = {
            key: self.dropped.get(key) or state.unfit.get(key, UNREACHED)
            for key in sorted(functions - gone)
            if key not in state.draws and state.unfit.get(key) != ASKS
        }
        kept |= {
            module.key(name): OBJECTS
            for module in self.modules.values()
            for name in module.classes
            if any(
                one.within.startswith(f"{name}.") and one.key not in gone for one in module.places
            )
        }
        return Recording(
            texts,
            {key: calls[key] for key in calls if key in functions},
            kept,
            sum(key not in functions and calls[key] > 0 for key in calls),
            compared,
        )


def main(number: str, folder: Path) -> None:
    """The child."""
    made = Run(load_assignment(number), folder).run()
    for path, text in made.texts.items():
        place = folder / "texts" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text)
    report = {
        "paths": sorted(made.texts),
        "recorded": made.recorded,
        "kept": made.kept,
        "expressions": made.expressions,
        "compared": made.compared,
    }
    (folder / "report.json").write_text(json.dumps(report))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))

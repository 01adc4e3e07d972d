"""One assignment as grading knows it: its exercises, the pristine notebook, the hash of what
decides; the class's secret.
"""

import copy
import hashlib
import hmac
import json
import os
import secrets
from functools import cached_property, lru_cache
from pathlib import Path

from autograder import course_layout
from autograder.checks.kinds.seeded_fault import for_student
from autograder.common.errors import CourseError
from autograder.dependency_hash import ROOT, code_of, hash_behind

# Imports that decide no result: they read texts and models that no sandbox has, say where results
# are kept, and work out the hash.
NOT_FOLLOWED = (
    "reference_impl.corpora",
    "autograder.course_layout",
    "autograder.dependency_hash",
)
# Modules of a chapter, see checks/exercise.py and checks/mistakes/registry.py.
LOADED_BY_NAME = ("test_", "mistakes_")


class Assignment:
    """What grading needs of one assignment: its name, its exercises, the pristine notebook, the
    checks' hash.
    """

    def __init__(self, name: str):
        from autograder.authoring.catalogue import assignment

        self.entry = assignment(name)
        self.name, self.number = self.entry.name, self.entry.number

    @cached_property
    def pristine(self):
        """The notebook as students get it."""
        from autograder.authoring.catalogue import pristine_notebook

        return pristine_notebook(self.name)

    def pristine_of(self, student: str, secret: bytes):
        """The notebook as this student got it: with the faults that were drawn for them."""
        if all(one.faults is None for one in self.exercises.values()):
            return self.pristine
        notebook = copy.deepcopy(self.pristine)
        for cell in notebook.cells:
            cell.source = for_student(cell.source, self.exercises, student, secret)
        return notebook

    def pristine_with(self, faults: dict[str, str]):
        """The same by the names of the faults, by exercise, for whoever judges without the
        secret.
        """
        return self.with_faults(self.pristine, faults)

    def with_faults(self, notebook, faults: dict[str, str]):
        """A notebook that has the public faults, with those by their names in their place.

        The argument is not changed.
        """
        if not faults:
            return notebook
        notebook = copy.deepcopy(notebook)
        for id, name in faults.items():
            kind = self.exercises[id].faults
            public, drawn = (kind.cell(id, fault) for fault in (kind.draw(id), kind.by_name[name]))
            for cell in notebook.cells:
                cell.source = cell.source.replace(public, drawn)
        return notebook

    @property
    def exercises(self) -> dict:
        """Exercises by id, in the notebook's order, manual ones included."""
        return self.entry.exercises

    def load(self) -> None:
        """Import all that grading needs now: checks, mistakes, torch.

        Workers that are forked afterwards have it.
        """
        import autograder.grading.fatal_calls
        import autograder.sandbox.api.pool  # noqa: F401
        from autograder.checks.mistakes.registry import mistakes_of

        for one in self.exercises:
            mistakes_of(one)

    @property
    def functions(self) -> list[str]:
        """The names of the functions that the exercises ask for."""
        return [
            name for one in self.exercises.values() for name in (one.function, *one.also) if name
        ]

    def check_points(self) -> None:
        """Raise CourseError when the notebook that students have says other points than
        the checks.
        """
        for cell in self.pristine.cells:
            mark = cell.metadata.get("nbgrader", {})
            id = f"{self.number}.{mark.get('grade_id', '').removesuffix('-check')}"
            if (
                mark.get("grade")
                and id in self.exercises
                and mark.get("points") != self.exercises[id].points
            ):
                raise CourseError(
                    f"{self.name}: the notebook in exercises/ gives {mark.get('points')} points for"
                    f" {id}, the checks give {self.exercises[id].points:g}; build the exercises"
                    " again, then grade"
                )

    @cached_property
    def earlier(self) -> dict[str, str]:
        """The package of earlier chapters' work as grading has it, see `earlier_chapters`: every
        solution before this one is read for it.
        """
        from autograder.authoring.package import earlier_chapters

        return earlier_chapters(self.number)

    @cached_property
    def checks_hash(self) -> str:
        """The hash of all that decides a verdict: code and the pristine notebook."""
        digest = hashlib.sha256(hash_behind(self.deciding_modules(), NOT_FOLLOWED).encode())
        for path, source in sorted(self.earlier.items()):
            digest.update(path.encode() + code_of(source).digest)
        digest.update(json.dumps(self.pristine, sort_keys=True).encode())
        return digest.hexdigest()

    def deciding_modules(self) -> list[str]:
        """The modules that decide a verdict, but for those that they import.

        Grading itself, what it puts into a sandbox, the chapter's checks and mistakes, which are
        loaded by their names, and what the cells of the notebook and the earlier chapters'
        reference use of our reference.
        """
        from autograder.sandbox.backends.stage import LATER_FILES, WORKER_FILES

        files = (*WORKER_FILES, *LATER_FILES)
        inside = [name.removesuffix(".py").replace("/", ".") for name in files]
        checks = [
            ".".join(path.relative_to(ROOT).with_suffix("").parts)
            for path in ROOT.glob(f"autograder/chapters/c{self.number}_*/*.py")
            if path.name.startswith(LOADED_BY_NAME)
        ]
        cells = [cell.source for cell in self.pristine.cells if cell.cell_type == "code"]
        sources = (*cells, *self.earlier.values())
        used = [name for source in sources for name in code_of(source).imports]
        return [
            "autograder.grading.grade",
            *(f"autograder.{name}" for name in inside),
            *checks,
            *(name for name in used if name.startswith("reference_impl")),
        ]


def load_assignment(name: str) -> Assignment:
    """The assignment by number or name, once per process."""
    from autograder.authoring.catalogue import assignment

    return _load(assignment(name).name)


@lru_cache(maxsize=8)
def _load(name: str) -> Assignment:
    return Assignment(name)


def course_secret(course_root: Path) -> bytes:
    """The secret that seeds hidden inputs, readable by its owner only; drawn before anything is
    judged here, and later never.

    Raises CourseError when others can read the file: then the seeds are no secret. And where
    `secret_is_lost`.
    """
    path = course_layout.secret(course_root)
    if secret_is_lost(course_root):
        raise CourseError(
            f"{path} is gone, and the results in {course_layout.results(course_root)} were"
            " graded with it: bring that file back from a copy of the class. If there is none,"
            " `course grade --regrade` draws a new one and judges again, everybody with other"
            " hidden inputs than before"
        )
    try:
        _draw(path)
    except FileExistsError:
        if path.stat().st_mode & 0o077:
            raise CourseError(f"{path} can be read by others: run `chmod 600 {path}`") from None
    return path.read_bytes()


def secret_is_lost(course_root: Path) -> bool:
    """Whether there is no secret where something was judged already.

    Another one would ask other questions than the records say.
    """
    path = course_layout.secret(course_root)
    return not path.exists() and (
        path.is_symlink()
        or course_layout.results(course_root).exists()
        or any(course_layout.all_records(course_root).glob("*/*.json"))  # of an earlier release
    )


def renew_secret(course_root: Path) -> None:
    """Draw another secret in the place of one that is lost."""
    path = course_layout.secret(course_root)
    path.unlink(missing_ok=True)
    _draw(path)


def _draw(path: Path) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(secrets.token_bytes(32))


def seed_id(secret: bytes, student: str, exercise: str) -> str:
    """A name for the seeds of one student and exercise, which tells nothing about them."""
    return hmac.new(secret, f"seed-id\0{student}\0{exercise}".encode(), hashlib.sha256).hexdigest()[
        :16
    ]


def drawn_with(secret: bytes, student: str, seed_ids: dict[str, str]) -> bool:
    """Whether a record's names of seeds are those of this secret; a submission that was not run has
    none, and fits every secret.
    """
    return all(seed_id(secret, student, exercise) == name for exercise, name in seed_ids.items())

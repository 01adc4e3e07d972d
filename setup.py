"""Puts into the wheel what a student needs besides the code: see autograder/common/course_files.py.

Everything else about the package is in pyproject.toml.
"""

import re
import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
FIGURES = (  # of chapter 1's notebook, see course/demo.py, and of chapter 13's
    "book/assets/figures/skipgram-training.js",
    "book/assets/figures/glass-gpu.js",
)
KIT = ("book/assets/palette.css", "book/assets/figures/figures.css", "book/assets/figures/kit/*.js")


def shipped() -> list[Path]:
    """The exercise notebooks, the records that they read, and the figures that two draw."""
    notebooks = sorted(ROOT.glob("exercises/*/*.ipynb"))
    readers = [*notebooks, ROOT / "course" / "demo.py"]
    text = "".join(path.read_text(encoding="utf-8") for path in readers)
    names = sorted(set(re.findall(r'"results\\?" / \\?"(\w+\.json)', text)))
    records = [ROOT / "bench" / "results" / name for name in names]
    return [*notebooks, *records, *(path for one in (*FIGURES, *KIT) for path in ROOT.glob(one))]


class BuildWithNotebooks(build_py):
    """Copies these files into autograder/shipped of what is built; a checkout has its own."""

    def run(self) -> None:
        """Build, then copy."""
        super().run()
        if self.editable_mode:
            return
        for path in shipped():
            target = Path(self.build_lib, "autograder", "shipped", path.relative_to(ROOT))
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)

    def get_source_files(self) -> list[str]:
        """What a source distribution holds."""
        return [
            *super().get_source_files(),
            *(path.relative_to(ROOT).as_posix() for path in shipped()),
        ]


setup(cmdclass={"build_py": BuildWithNotebooks})

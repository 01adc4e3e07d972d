"""What requirements.lock promises for each Python, without asking an index (.ci/check-lock asks
one).
"""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")


def environment(python: str) -> dict[str, str]:
    return {"python_version": python, "python_full_version": f"{python}.0", "extra": ""}


def pins(python: str) -> dict[str, str]:
    """Versions by package that the lock installs on a Python."""
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    locked = [Requirement(line) for line in lines]
    return {
        one.name: str(one.specifier).removeprefix("==")
        for one in locked
        if one.marker is None or one.marker.evaluate(environment(python))
    }


@pytest.mark.parametrize("python", PYTHONS)
def test_every_dependency_is_pinned_within_its_range(python):
    assert SpecifierSet(PROJECT["requires-python"]).contains(f"{python}.0")
    pinned = pins(python)
    for line in sum(PROJECT["optional-dependencies"].values(), PROJECT["dependencies"]):
        wanted = Requirement(line)
        if wanted.marker is None or wanted.marker.evaluate(environment(python)):
            assert wanted.specifier.contains(pinned[wanted.name.lower()]), line


def test_the_lock_is_made_of_all_extras():
    made_of = set(re.findall(r"--extra (\w+)", (ROOT / ".ci" / "lock").read_text(encoding="utf-8")))
    assert made_of == {"book", "grade", "serve", "test"} <= set(PROJECT["optional-dependencies"])


def test_gensim_is_a_rival_that_python_3_14_does_without():
    assert "gensim" in pins("3.13") and "gensim" not in pins("3.14")


def test_set_up_takes_the_pythons_that_the_project_takes():
    text = (ROOT / "course" / "bootstrap.py").read_text(encoding="utf-8")
    oldest, newest = re.search(r"OLDEST, NEWEST = \(3, (\d+)\), \(3, (\d+)\)", text).groups()
    assert PROJECT["requires-python"] == f">=3.{oldest},<3.{int(newest) + 1}"

"""Whose fault an exception is: a package that the course never promised is the student's, one that
should be here is the room's.
"""

import sys
from types import ModuleType

import pytest

from autograder.sandbox.backends.stage import pinned, stage
from autograder.sandbox.inside import fault_attribution as blame

STAGE = "/stage"


def raised(source, namespace=None, file="cell 1 (added)"):
    """What a cell raises, and its namespace; with another file it is a library's own line."""
    namespace = {} if namespace is None else namespace
    try:
        exec(compile(source, file, "exec"), namespace if file.startswith("cell") else {})
    except BaseException as error:
        return error, namespace
    raise AssertionError("nothing was raised")


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder of installed packages, where only the metadata of `gone` and of `Py-Odd`, which is
    imported as `odd`, is left.
    """
    for name, files in (
        ("gone-1.0", "gone/__init__.py,,\n"),
        ("Py_Odd-2.0", "odd/__init__.py,,\n"),
    ):
        folder = tmp_path / f"{name}.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name.partition('-')[0]}\nVersion: 1.0\n"
        )
        (folder / "RECORD").write_text(files)
    (tmp_path / "halved").mkdir()
    (tmp_path / "halved" / "__init__.py").write_text("from halved import _core\n")
    (tmp_path / "halved-1.0.dist-info").mkdir()
    (tmp_path / "halved-1.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: halved\nVersion: 1.0\n"
    )
    (tmp_path / "halved-1.0.dist-info" / "RECORD").write_text(
        "halved/__init__.py,,\nhalved/_core.py,,\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    room = ModuleType("pinned_names")
    room.NAMES = ("never_installed",)
    monkeypatch.setitem(sys.modules, "pinned_names", room)
    blame.promised.cache_clear()
    yield tmp_path
    blame.promised.cache_clear()
    sys.modules.pop("halved", None)


@pytest.mark.parametrize(
    "source",
    [
        "import pandas_of_the_students_own",
        "from my_helpers import tidy",
        "import my_helpers.parts",
        "import reference_impl.no_such_part",
        "import json.no_such_part",
        "import autograder.no_such_part",
        "raise ModuleNotFoundError('mine')",
    ],
)
def test_an_import_that_nobody_promised_is_the_students_own_error(site, source):
    assert not blame.is_library_fault(*raised(source), STAGE)


@pytest.mark.parametrize(
    "source", ["import gone", "import gone.part", "import odd", "import never_installed"]
)
def test_a_package_that_should_be_here_and_is_not_is_the_rooms_fault(site, source):
    assert blame.is_library_fault(*raised(source), STAGE)


def test_a_module_of_the_standard_library_that_this_python_lacks_is_the_rooms_fault(
    site, monkeypatch
):
    monkeypatch.setattr(blame, "STANDARD", blame.STANDARD | {"a_part_of_python"})
    assert blame.is_library_fault(*raised("import a_part_of_python"), STAGE)


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("import never_installed", True),  # a dependency that was pinned
        ("import an_optional_extra", False),  # one that the course never had
        ("raise ImportError('DLL load failed')", True),
        ("undefined", True),
    ],
)
def test_inside_a_library_only_what_should_be_here_is_the_rooms_fault(site, source, fault):
    error, _ = raised(source, file="/usr/lib/library.py")
    assert blame.is_library_fault(error, {}, STAGE) is fault


def test_a_library_that_lacks_a_part_of_itself_is_the_rooms_fault(site):
    assert isinstance(raised("import halved")[0], ImportError) and blame.is_library_fault(
        *raised("import halved"), STAGE
    )


def test_the_names_of_the_lock_are_laid_into_the_stage_but_for_other_systems(tmp_path):
    lock = tmp_path / "lock"
    lock.write_text(
        "numpy==2.0\nScikit-Learn==1.9\n# a remark\n\nof-another==1 ; sys_platform == 'a system"
        " that is not'\nhere==1 ; python_version > '3'\n"
    )
    assert pinned(lock) == ["here", "numpy", "scikit_learn"] and pinned(tmp_path / "none") == []
    space = {}
    exec((stage() / "pinned_names.py").read_text(), space)
    assert {"torch", "numpy"} <= set(space["NAMES"]) and "pandas" not in space["NAMES"]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("import pandas_of_the_students_own.core", True),
        ("import json.no_such_part", False),
        ("import gone", False),
        ("import reference_impl.no_such_part", False),
        ("1 / 0", False),
    ],
)
def test_who_imports_what_grading_does_not_have_is_told_so(site, source, said):
    assert blame.remark(raised(source)[0]) == (
        blame.NOT_OF_THE_COURSE.format("pandas_of_the_students_own") if said else ""
    )

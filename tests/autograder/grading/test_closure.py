"""Which files decide a verdict of an assignment."""
import pytest

from autograder.authoring import catalogue
from autograder.grading.assignment import Assignment
from autograder.grading.closure import file_of, files_behind, imports


def names(*modules):
    return {path.stem for path in files_behind(*modules)}


def test_the_checks_of_chapter_1_stand_on_the_protocol_and_not_on_later_chapters():
    behind = names("autograder.chapters.c01_static_embeddings.test_counting")
    assert {"test_counting", "protocol", "runner", "expect", "values"} <= behind
    assert not behind & {"bpe_training", "tokenizer", "hub", "notebooks"}


def test_an_import_inside_a_function_counts():
    assert "registry" in names("autograder.checks.runner")


def test_from_a_package_import_module_leads_to_the_module(tmp_path):
    source = tmp_path / "m.py"
    source.write_text("import os.path\nfrom reference_impl.embeddings import counts\n\ndef f():\n    import json\n")
    assert list(imports(source)) == ["os.path", "reference_impl.embeddings", "reference_impl.embeddings.counts", "json"]
    assert file_of("reference_impl.embeddings.counts").name == "counts.py" and file_of("json") is None


@pytest.mark.parametrize(("changed", "differs"), [("01-first", True), ("03-third", False)])
def test_a_change_in_an_earlier_chapters_reference_changes_the_checks_hash_and_one_in_a_later_does_not(
        tmp_path, monkeypatch, changed, differs):
    cell = '# %% nbgrader={{"grade": false, "grade_id": "f", "locked": false, "schema_version": 3, "solution": true, "task": false}}\n'
    for name in ("01-first", "02-second", "03-third"):
        (tmp_path / f"{name}.py").write_text(cell.format() + "def helper(x):\n    return x + 1\n\ndef f(x):\n    return helper(x)\n")
    monkeypatch.setattr(catalogue, "SOLUTIONS", tmp_path)
    monkeypatch.setattr("autograder.authoring.package.function_names", lambda one: ["f"])
    before = hash_of_second()
    assert hash_of_second() == before
    file = tmp_path / f"{changed}.py"
    file.write_text(file.read_text().replace("x + 1", "x + 2"))
    assert (hash_of_second() != before) is differs


def hash_of_second():
    """The checks' hash of the second chapter, with an empty notebook, worked out anew."""
    one = Assignment("02")
    one.__dict__["pristine"] = {}
    return one.checks_hash

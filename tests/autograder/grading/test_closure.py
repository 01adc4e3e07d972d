"""Which files decide a verdict of an assignment."""
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

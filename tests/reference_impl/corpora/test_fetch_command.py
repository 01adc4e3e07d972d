"""`course download-data`: what it prints and its exit codes."""

import pytest

from course.cli import main
from reference_impl import corpora


def test_list_shows_size_licence_and_use_of_every_corpus(capsys):
    assert main(["download-data", "--list"]) == 0
    out = capsys.readouterr().out
    for item in corpora.available().values():
        assert item.name in out and item.licence in out and item.good_for in out


def test_verify_of_an_empty_cache_is_not_in_order(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("W2S_CACHE", str(tmp_path))
    assert main(["download-data", "--verify", "kjv"]) == 1
    assert "run `course download-data kjv`" in capsys.readouterr().out


def test_an_unknown_name_is_one_line_on_stderr(capsys):
    assert main(["download-data", "gutenberg"]) == 2
    assert capsys.readouterr().err.startswith(
        "course download-data: there is no corpus called 'gutenberg'"
    )


@pytest.mark.parametrize("name", sorted(corpora.available()))
def test_an_entry_pins_package_files_licence_and_use(name):
    item = corpora.available()[name]
    assert (
        item.package
        and item.version
        and item.licence
        and item.source.startswith("https://")
        and item.good_for
    )
    assert all(len(file.sha256) == 64 and file.size > 0 for file in item.files)

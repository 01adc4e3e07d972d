"""Records and files that pages read, wherever the page runs."""
import pytest

from course.book.records import beside, record


def test_a_record_is_found_from_any_folder_and_a_missing_one_is_named_with_those_that_exist(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert {row["method"] for row in record("trained_vocabularies")["methods"]} >= {"BPE", "Unigram"}
    assert beside("02-tokenization/article_1.yml").is_file()
    with pytest.raises(FileNotFoundError, match=r"no record .*absent\.json; there are: .*trained_vocabularies"):
        record("absent")
    with pytest.raises(FileNotFoundError, match="name a file from book/"):
        beside("absent.yml")


def test_the_record_of_the_vocabularies_compares_like_with_like():
    kept = record("trained_vocabularies")
    entries = {row["method"]: row["entries"] for row in kept["methods"]}
    assert {name: size for name, size in entries.items() if size != 4000} == {"WordPiece by score, pairs from 300": 3098}
    assert all(row["unknown"] == 0 for row in kept["methods"])
    assert len(kept["unigram"].split(" ")) == 2 * 3999  # all but <unk>, each with its score

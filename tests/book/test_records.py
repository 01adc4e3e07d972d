"""Records and files that pages read, wherever the page runs."""

import random
import sys

import pytest
from scipy import stats

from course.book.pages.records import beside, interval, record
from tests.book.conftest import ROOT


def test_a_record_is_found_from_any_folder_and_a_missing_one_is_named_with_those_that_exist(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert {row["method"] for row in record("trained_vocabularies")["methods"]} >= {
        "BPE",
        "Unigram",
    }
    assert beside("02-tokenization/article_1.yml").is_file()
    with pytest.raises(
        FileNotFoundError, match=r"no record .*absent\.json; there are: .*trained_vocabularies"
    ):
        record("absent")
    with pytest.raises(FileNotFoundError, match="name a file from book/"):
        beside("absent.yml")


@pytest.mark.parametrize("number", [2, 3, 4, 5, 12, 40])
def test_an_interval_is_the_one_of_students_t(number):
    values = [random.Random(number).gauss(3, 0.2) + 0.1 * place for place in range(number)]
    middle, half = interval(iter(values))
    low, high = stats.t.interval(
        0.95, number - 1, loc=sum(values) / number, scale=stats.sem(values)
    )
    assert (middle - half, middle + half) == pytest.approx((low, high), rel=1e-9)


def test_an_interval_of_one_value_is_refused_and_of_equal_ones_is_nought():
    assert interval([2, 2, 2]) == (2.0, 0.0)
    with pytest.raises(ValueError, match="two values or more, and there are 1"):
        interval([3.0])


def test_the_record_of_the_vocabularies_compares_like_with_like():
    kept = record("trained_vocabularies")
    entries = {row["method"]: row["entries"] for row in kept["methods"]}
    assert {name: size for name, size in entries.items() if size != 4000} == {
        "WordPiece by score, pairs from 300": 3098
    }
    assert all(row["unknown"] == 0 for row in kept["methods"])
    assert len(kept["unigram"].split(" ")) == 2 * 3999  # all but <unk>, each with its score


def test_the_record_of_the_masked_models_asks_both_kinds_the_same_blanks_after_the_same_steps():
    kept = record("masking_fates")
    seeds = {
        fates: [run["seed"] for run in kept["runs"] if run["fates"] == fates]
        for fates in ("100/0/0", "80/10/10")
    }
    assert seeds["100/0/0"] == seeds["80/10/10"] == [0, 1, 2, 3, 4] and kept["blanks"] > 2000
    for run in [*kept["runs"], kept["before"]]:
        assert (
            run["right"]["truth"] == run["right"]["shown"] and run["[MASK]"]["shown"] == 0
        )  # no blank is [MASK]
        assert run["wrong"]["truth"] + run["wrong"]["shown"] <= 1


def pairs_by_words():
    sys.path.insert(0, str(ROOT / "bench"))
    try:
        import pairs_by_words
    finally:
        sys.path.remove(str(ROOT / "bench"))
    return pairs_by_words


def test_the_rule_of_shared_words_makes_the_fewest_errors_and_sees_no_order():
    bench, rng = pairs_by_words(), random.Random(0)
    weight = {word: rng.random() for word in "abcdefgh"}
    for _ in range(30):
        scores, labels = [rng.random() for _ in range(9)], [rng.randrange(2) for _ in range(9)]
        errors = {
            limit: sum((score <= limit) != bool(label) for score, label in zip(scores, labels))
            for limit in [-1.0, *scores]
        }
        assert errors[bench.threshold(scores, labels)] == min(errors.values())
        one, other = (rng.sample("abcdefgh", 4) for _ in range(2))
        assert (
            bench.overlap(one, other, weight) == pytest.approx(bench.overlap(other, one, weight))
            and bench.overlap(one, other, weight) < 1 + 1e-9
        )
    assert (
        bench.overlap("ab", "ba", weight) == pytest.approx(1)
        and bench.overlap("ab", "cd", weight) == bench.overlap("x", "x", weight) == 0
    )


def test_the_documents_of_the_record_of_pairs_keep_every_verse_in_its_place():
    verses = [[str(n)] for n in range(1003)]
    cut = pairs_by_words().documents(verses, 1)
    assert [text for document in cut for text in document] == verses and max(map(len, cut)) == 11
    assert pairs_by_words().documents(verses, 4)[0] == [["0", "1", "2", "3"], ["4", "5", "6", "7"]]

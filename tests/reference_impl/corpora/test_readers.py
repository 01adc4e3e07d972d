"""What `load` gives, on the real data that set-up fetched."""

import re

import pytest
import torch

from reference_impl import corpora


@pytest.fixture(scope="module")
def glosses():
    return corpora.load("oewn_glosses")


def test_a_gloss_sentence_is_the_lemma_and_one_sense(glosses):
    banks = [line for line in glosses if line.startswith("bank ")]
    assert "bank sloping land (especially the slope beside a body of water)" in banks
    assert len(banks) == 18
    assert not any("|" in line or "\t" in line for line in banks)


def test_the_king_james_bible_has_its_31102_verses():
    verses = corpora.load("kjv").split("\n")
    assert len(verses) == 31_102
    assert verses[0] == "In the beginning God created the heaven and the earth."
    assert verses[-1] == "The grace of our Lord Jesus Christ be with you all. Amen."


def test_verse_numbers_and_brackets_are_gone_but_the_added_words_stay():
    text = corpora.load("kjv")
    assert not re.search(r"[\d\[\]]", text)
    assert "darkness was upon the face of the deep" in text


def test_word_pairs_are_the_published_ones():
    wordsim, simlex = corpora.load("wordsim353"), corpora.load("simlex999")
    assert len(wordsim) == 353 and len(simlex) == 999
    assert ("tiger", "cat", 7.35) in wordsim and ("old", "new", 1.58) in simlex


def test_analogies_come_in_fourteen_sections():
    questions = corpora.load("google_analogies")
    assert len(questions) == 19_544
    assert len({q.section for q in questions}) == 14
    assert questions[0] == corpora.Analogy(
        "capital-common-countries", "Athens", "Greece", "Baghdad", "Iraq"
    )


def test_glove_has_400000_vectors_of_50_numbers():
    glove = corpora.load("glove_6b_50d")
    assert glove.matrix.shape == (400_000, 50) and glove.matrix.dtype == torch.float32
    assert glove.words[:3] == ["the", ",", "."]
    # The first number of "the" as the authors' own text file prints it.
    assert glove["the"][0].item() == pytest.approx(0.418, abs=1e-6)


def test_pronunciations_come_without_remarks_and_a_word_once_for_each_way_to_say_it():
    spoken = corpora.load("cmudict")
    assert len(spoken) == 135_166 and len({word for word, _ in spoken}) == 126_052
    assert ("bank", ("B", "AE1", "NG", "K")) in spoken
    assert [phonemes for word, phonemes in spoken if word == "tomato"] == [
        ("T", "AH0", "M", "EY1", "T", "OW2"),
        ("T", "AH0", "M", "AA1", "T", "OW2"),
    ]
    # The dictionary's own list of symbols: 39 phonemes, of which 15 are vowels with a stress of 0,
    # 1 or 2.
    symbols = {symbol for _, phonemes in spoken for symbol in phonemes}
    assert len({re.sub(r"\d", "", symbol) for symbol in symbols}) == 39
    assert len({symbol[:-1] for symbol in symbols if symbol[-1].isdigit()}) == 15


def test_film_snippets_are_rated_sentences_in_the_order_of_the_paper():
    snippets = corpora.load("sentiment")
    assert len(snippets) == 10_605
    assert snippets[2] == ("Effective but too tepid biopic", -0.6)
    assert all(snippet.text.strip() and -4 <= snippet.rating <= 4 for snippet in snippets)


def test_pythons_library_is_sorted_code_without_what_was_installed_or_tests():
    library = corpora.load("python_library")
    assert list(library) == sorted(library) and 8e6 < sum(map(len, library.values())) < 2e7
    assert "def namedtuple(" in library["collections/__init__.py"]
    assert not any(
        part in name.split("/") for name in library for part in ("site-packages", "test", "tests")
    )


def test_pythons_library_needs_no_cache(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("W2S_CACHE", str(tmp_path))
    corpora.fetch(["python_library"])
    assert capsys.readouterr().out == "python_library: comes with Python\n"
    assert "argparse.py" in corpora.load("python_library") and not list(tmp_path.iterdir())

"""What is particular to chapter 2's exercises: the numbers on the cards, the reference and the
libraries, the real thing.
"""

import math
import random
import re
import string

import pytest
import tokenizers
from torch.testing import assert_close

from autograder.authoring.catalogue import assignment
from autograder.authoring.implementations import namespace_of, reference
from autograder.checks.protocol import LocalStudent, run_exercise
from reference_impl.corpora import path
from reference_impl.tokenizers import bpe, byte_level, byte_models, files
from reference_impl.tokenizers.normalizers import bert_normalizer
from reference_impl.tokenizers.pretokenizers import BERT, split
from reference_impl.tokenizers.unigram import Unigram
from reference_impl.tokenizers.wordpiece_training import learn_by_likelihood, symbols_of

TWO = assignment("02")
OURS = reference("02")
BANKS = {
    piece: math.log(p)
    for piece, p in {"ban": 1 / 8, "bank": 1 / 16, "ks": 1 / 16, "s": 1 / 32, "k": 1 / 32}.items()
}


def words(number: int, letters: str = "abcd", longest: int = 8) -> list[str]:
    rng = random.Random(number)
    return ["".join(rng.choices(letters, k=rng.randint(1, longest))) for _ in range(number)]


def test_the_numbers_worked_out_on_the_cards_are_what_the_reference_gives():
    assert OURS["bert_words"]("Na\u00efve banks,\tin \u6cb3 5\u20ac+3$") == [
        "naive",
        "banks",
        ",",
        "in",
        "\u6cb3",
        "5\u20ac",
        "+",
        "3",
        "$",
    ]
    table = {byte: character for character, byte in OURS["byte_table"]().items()}
    assert [ord(table[byte]) for byte in (0, 10, 32, 127, 173)] == [256, 266, 288, 289, 323]
    assert (
        OURS["byte_decode"](
            ["We", "\u0120sat", "\u0120by", "\u0120\u00f0\u0141", "\u0131", "\u00a6"]
        )
        == "We sat by \U0001f3e6"
    )
    assert OURS["train_bpe"](["bank", "tank", "bay"], [3, 2, 4], 4) == [
        ("b", "a"),
        ("n", "k"),
        ("ba", "y"),
        ("ba", "nk"),
    ]
    merges = [
        ("i", "n"),
        ("a", "n"),
        ("in", "g"),
        ("an", "k"),
        ("b", "ank"),
        ("an", "king"),
        ("k", "ing"),
    ]
    assert OURS["bpe_split"]("banking", merges) == ["bank", "ing"]
    vocabulary = ["[UNK]", "b", "ban", "bank", "##k", "##ing", "##king", "##s"]
    cut = {
        word: OURS["wordpiece"](word, vocabulary)
        for word in ("banking", "banks", "kings", "bankings", "banker")
    }
    assert cut == {
        "banking": ["bank", "##ing"],
        "banks": ["bank", "##s"],
        "kings": ["[UNK]"],
        "bankings": ["bank", "##ing", "##s"],
        "banker": ["[UNK]"],
    }
    assert OURS["first_merge"](["bank", "tank", "bay"], [3, 2, 4]) == {"##nk": 0.2}
    assert OURS["best_cut"]("banks", BANKS) == ["ban", "ks"] and OURS["best_cut"](
        "bank", BANKS
    ) == ["bank"]
    assert (OURS["expected_counts"]("banks", BANKS) * 81).round().tolist() == [65, 16, 64, 17, 1]
    assert OURS["fill_pair"]([7, 8], [9], 8) == {
        "ids": [101, 7, 8, 102, 9, 102, 0, 0],
        "segments": [0, 0, 0, 0, 1, 1, 0, 0],
        "mask": [1, 1, 1, 1, 1, 1, 0, 0],
    }
    assert [OURS["byt5_ids"]("\u00e9!", length) for length in (4, 3, 2)] == [
        [198, 172, 36, 1],
        [198, 172, 1],
        [198, 1],
    ]
    assert OURS["canine_rows"]("b", 100) == [[69, 57, 41, 39, 27, 3, 97, 87]]


@pytest.mark.parametrize(
    ("slip", "stage"),
    [
        ("first-seen-wins", "ties"),
        ("largest-wins", "ties"),
        ("twice-at-least", "end"),
        ("no-pairs-is-an-error", "end"),
    ],
)
def test_who_chooses_wrongly_among_equal_pairs_still_stops_in_time_and_the_other_way_round(
    slip, stage
):
    exercise = TWO.exercise("train_bpe")
    result = run_exercise(
        exercise, LocalStudent(namespace_of(f"mistake:{slip}", exercise)), mistakes=[]
    )
    assert [one.name for one in result.stages if one.status != "passed"] == [stage]


def test_words_are_those_of_the_reference_and_of_the_library():
    normalizer, library = (
        bert_normalizer(),
        tokenizers.Tokenizer.from_file(str(path("bert_tokenizer") / "tokenizer.json")),
    )
    rng = random.Random(7)
    signs = (
        string.printable + "\u00e9\u00df\u0130\u6cb3\u304e\ud55c\u00ad\u200b"
        "\ufffd\u00a0\u3000\u2260\u20ac\u2014\u3002\u0301\u00b2"
    )
    for _ in range(300):
        text = "".join(rng.choices(signs, k=20))
        ours = OURS["bert_words"](text)
        assert ours == split(BERT, normalizer(text)), ascii(text)
        assert ours == [
            word
            for word, _ in library.pre_tokenizer.pre_tokenize_str(
                library.normalizer.normalize_str(text)
            )
        ], ascii(text)


def test_bytes_and_merges_equal_the_reference_implementation():
    assert OURS["byte_table"]() == byte_level.BYTE_OF
    for number in range(2, 8):
        drawn = words(number)
        learned = OURS["train_bpe"](drawn, [1] * number, 12)
        ranks = {pair: rank for rank, pair in enumerate(learned)}
        for word in words(20, "abcde"):
            assert OURS["bpe_split"](word, learned) == bpe.merge_by_rank(
                word, lambda left, right, ranks=ranks: ranks.get((left, right))
            )
    distinct = {"low": 5, "lower": 2, "newest": 6, "widest": 3}
    plain = bpe.train_bpe_plain(distinct, 2).merges
    assert plain == OURS["train_bpe"](list(distinct), list(distinct.values()), 2)


def test_pieces_scores_and_cuts_equal_the_reference_implementation():
    known = [
        "[UNK]",
        *"abcd",
        *("##" + letter for letter in "abc"),
        "ab",
        "##ab",
        "##cab",
        "##ba",
        "bca",
    ]
    model = files.WordPiece(files.Vocabulary(known))
    for word in words(200):
        assert OURS["wordpiece"](word, known) == model.split(word)
    for number in range(3, 30):
        counts = {
            word: random.Random(word).randint(1, 997) for word in words(number)
        }  # so large that no two scores are equal
        tokens = sorted({symbol for word in counts for symbol in symbols_of(word)})
        learn_by_likelihood(
            {symbols_of(word): count for word, count in counts.items()}, tokens, len(tokens) + 1
        )
        assert list(OURS["first_merge"](list(counts), list(counts.values()))) == tokens[-1:]
    pieces = {
        piece: -1.0 - 0.37 * place
        for place, piece in enumerate(["a", "b", "ab", "c", "ca", "bca", "abc", "cc"])
    }
    unigram = Unigram(pieces.items(), unknown=None)
    for word in words(60, "abc", 9):
        assert OURS["best_cut"](word, pieces) == unigram.split(word)
        by_id, _ = unigram.expected_counts(word)
        assert_close(
            OURS["expected_counts"](word, pieces).tolist(),
            [by_id.get(place, 0.0) for place in range(len(pieces))],
            rtol=1e-5,
            atol=1e-6,
        )


def test_pairs_are_cut_as_the_library_cuts_them():
    library = tokenizers.Tokenizer.from_file(str(path("bert_tokenizer") / "tokenizer.json"))
    for a in range(7):
        for b in range(7):
            for length in range(3, 14):
                library.enable_truncation(length)
                library.enable_padding(length=length)
                theirs, room = library.encode("bank " * a, "river " * b), length - 3
                ours = OURS["fill_pair"]([2924] * a, [2314] * b, length)
                if (
                    a <= b and min(a, b) > room // 2 and room % 2 and a + b > room
                ):  # BERT's release leaves the odd place to the first
                    assert [ours["ids"].count(number) for number in (2924, 2314)] == [
                        room // 2 + 1,
                        room // 2,
                    ]
                else:
                    assert (ours["ids"], ours["segments"], ours["mask"]) == (
                        theirs.ids,
                        theirs.type_ids,
                        theirs.attention_mask,
                    )


def test_bytes_and_rows_equal_the_reference_implementation():
    rng = random.Random(3)
    for _ in range(50):
        text = "".join(rng.choices("ab\n\u00e9\u0301\u0436\u6cb3\U0001f3e6", k=rng.randint(0, 12)))
        assert OURS["byt5_ids"](text, 50) == byte_models.byt5_encode(text)
        assert OURS["canine_rows"](text, 16_384) == [
            byte_models.canine_buckets(ord(character)) for character in text
        ]


def test_the_code_in_the_third_hints_runs_and_solves_its_own_problem():
    names: dict = {"math": math, "Counter": OURS["Counter"]}
    for id in TWO.exercises:
        for code in re.findall(r"```python\n(.*?)```", TWO.hints(id)[2].text, re.DOTALL):
            exec(code, names)
    assert names["parts_of_title"]("Blue \u2014 live \u2013 1971") == ["Blue", "live", "1971"]
    assert names["room_of_sign"]({3: "Goya"})["X3"] == 4
    assert names["couple"]([["A", "B", "C"], ["A", "B"]]) == (("A", "B"), [["A&B", "C"], ["A&B"]])
    assert names["move_together"](["Ada", "Bo", "Cy"], [("Bo", "Cy"), ("Ada", "Bo")]) == [
        "Ada",
        "Bo+Cy",
    ]
    assert names["change"](6, [4, 3]) == ["no change"]
    met = names["closest"]([("Ann", "Bob"), ("Ann", "Bob"), ("Ann", "Eve"), ("Ida", "Leo")])
    assert met["Ida", "Leo"] == 1 and met["Ann", "Bob"] == 1 / 3
    assert names["cheapest"](3, {(0, 2): 5.0, (0, 1): 1.0, (1, 3): 7.0, (2, 3): 1.0}) == [0, 2, 3]
    assert names["share_of_road"](3, {(0, 1): 0.5, (1, 3): 0.5, (0, 3): 0.5}, (1, 3)) == 1 / 3
    assert names["telegram"](["come", "home", "soon"], 3) == ["come", "home", "STOP"]
    assert names["stairs"]([12, 2], 10) == [[3, 7], [3, 7]]
    assert names["poster"](["A", "B", "C"], ["T"]) == ["****", "A", "T", "****"]


def test_the_students_functions_give_tiktokens_numbers_and_the_librarys_pieces(capsys):
    names = dict(OURS)
    for cell in ("real-gpt2", "real-gpt2-run", "real-bert-run", "real-train-run"):
        exec(TWO.cells[cell][0].source, names)
    said = capsys.readouterr().out
    assert (
        "The same ids as tiktoken's: True" in said
        and "byte_decode gives the text back: True" in said
    )
    assert "2,000 of 2,000 lines are split as by the library" in said
    assert re.search(r"(\d+) of your 60 tokens", said)

"""Checks of chapter 1, part 1: window counts, their number, PPMI, and what each method costs in
memory.
"""

import scipy.sparse
import torch

from autograder.chapters.c01_static_embeddings import LONG
from autograder.checks.inputs.draws import counts, distinct, look_alike, uniform, whole
from autograder.checks.protocol import exercise, expect

COUNTING = "01-static-embeddings/pmi"
LOG = {
    "rtol": 1e-4,
    "atol": 1e-5,
}  # a logarithm of a ratio, or a sum of four logarithms: both are right
COUNTS = [
    "reference_impl.embeddings.counts",
    "reference_impl.embeddings.windows.pairs_plain",
    "reference_impl.embeddings.windows.window_mask",
]

window_counts = exercise(
    "01.window_counts",
    function="window_counts",
    points=4,
    see=f"{COUNTING}#co-occurrence-counts",
    withhold=COUNTS,
)


def by_positions(sentence: list[int], vocab_size: int, window: int) -> torch.Tensor:
    """The right table of one sentence, from a mask over pairs of positions instead of loops."""
    place = torch.arange(len(sentence))
    near = ((place[:, None] - place).abs() <= window) & (place[:, None] != place)  # (T, T)
    rows = torch.nn.functional.one_hot(
        torch.tensor(sentence, dtype=torch.int64), vocab_size
    ).float()  # (T, V)
    return rows.T @ near.float() @ rows


@window_counts.stage("full windows", points=1)
def test_a_word_in_the_middle_counts_its_neighbours_on_both_sides(student, rng):
    reach, more = whole(rng, 2, 4), whole(rng, 2, 4)
    size = 3 * reach + 2 + more  # the same for both windows; the last words never occur
    for window in (1, reach):
        sentence = distinct(rng, 3 * window + 2, size - 1)
        table = expect(student.window_counts([sentence], size, window)).is_tensor(
            shape=(size, size), dtype=torch.float32
        )
        middle = sentence[window:-window]
        expect(table.diagonal()[middle], "The diagonal").equals(
            torch.zeros(len(middle)),
            cause=(
                "You count a position as its own context: in a sentence of different words the "
                "diagonal is 0."
            ),
        )
        left, centre, after = sentence[window - 1], sentence[window], sentence[window + 1]
        expect(table[centre, [left, after]], "The cell of a next-door neighbour").equals(
            torch.ones(2),
            cause=(
                "Context words are on both sides of the centre: one position to the left and "
                "one to the right both count 1."
            ),
        )
        expect(table[middle], "The rows of words with a full window").equals(
            by_positions(sentence, size, window)[middle],
            cause=(
                "Every word from 1 to `window` positions away counts exactly 1, near or far; "
                "words further away count 0."
            ),
        )
    longer = [0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0]
    table = expect(student.window_counts([longer], 3, 5)).is_tensor(
        shape=(3, 3), dtype=torch.float32
    )
    expect(
        table[[1, 2], [2, 1]],
        "The cells of two words 4 steps apart",
        f"the sentence {longer}, 3 words, window 5",
    ).equals(
        torch.ones(2),
        cause=(
            "The window is counted in positions of the sentence; the vocabulary size does "
            "not limit it."
        ),
    )


@window_counts.stage("sentence ends", points=1)
def test_the_window_is_cut_at_the_ends_of_a_sentence(student, rng):
    window = whole(rng, 3, 5)
    for length, window in (
        *(
            (length, window)
            for length in (2 * window + whole(rng, 1, 4), window + 1, window, window - 1, 2, 1)
        ),
        (30, 26),
        (5, 1000),
        (150, 149),
        (300, 2),
    ):
        size = max(31, length + 1)
        sentence = distinct(rng, length, size - 1)
        expect(
            student.window_counts([sentence], size, window),
            given=f"{length} words, window {window}",
        ).equals(
            by_positions(sentence, size, window),
            cause=(
                "Near the ends of a sentence, the window contains fewer words: count those "
                "within `window` positions, lose none and take none from elsewhere."
            ),
        )
    for window in (1, 2):
        expect(
            student.window_counts([[0, 1, 2, 3]], 4, window),
            given=f"the same sentence with window {window}",
        ).equals(
            by_positions([0, 1, 2, 3], 4, window),
            cause="The same sentence has another table with another window.",
        )
    for sentence in ([0, 1, 2, 3, 4], [0, 2, 1, 3, 4]):
        expect(student.window_counts([sentence], 5, 2), given=f"the sentence {sentence}").equals(
            by_positions(sentence, 5, 2),
            cause="The same words in another order have another table.",
        )
    high = [398, 5, 399, 0, 397]
    expect(student.window_counts([high], 400, 1), given=f"the sentence {high}, 400 words").equals(
        by_positions(high, 400, 1),
        cause="Each of some hundred words has a row and a column of its own.",
    )
    expect(student.window_counts([], 3, 2), given="no sentence at all").equals(
        torch.zeros(3, 3), cause="Without any sentence the table should be V by V zeros."
    )


@window_counts.stage("repeated words", points=1)
def test_a_word_that_stands_twice_counts_twice(student, rng):
    for size in (21, 24):
        fill, word = distinct(rng, 10, 20), 20
        sentence = fill[:4] + [word, fill[4], word] + fill[5:]
        table = expect(student.window_counts([sentence], size, 3)).is_tensor(
            shape=(size, size), dtype=torch.float32
        )
        expect(table[fill[4], word], "A cell whose pair occurs twice").equals(
            torch.tensor(2.0),
            cause=(
                "A context word that occurs twice in a window counts twice: each pair of "
                "positions adds 1 to its cell."
            ),
        )
        expect(
            table[word, word], "The cell (word, same word) for two positions two steps apart"
        ).equals(
            torch.tensor(2.0),
            cause=(
                "The same word at another position is a context like any other: each position "
                "counts the other, so the cell is 2."
            ),
        )
        again = [word, word, fill[0], word, word]
        expect(student.window_counts([again], size, 1)).equals(
            by_positions(again, size, 1),
            cause=(
                "Each position counts for itself, also where the same word occurs next to itself."
            ),
        )
    expect(
        student.window_counts([[0, 0, 0]], 1, 1), given="a vocabulary of one word, three times"
    ).equals(
        torch.tensor([[4.0]]),
        cause="With one word the table should be 1 by 1, and each pair of positions counts.",
    )
    table = expect(
        student.window_counts([[0, *[1] * 23, 0]] * 50, 2, 1), given="the same sentence, 50 times"
    ).is_tensor(shape=(2, 2), dtype=torch.float32)
    ends = {255: ", and 8 bits end at 255", 2048: ", and half precision cannot add 1 to 2,048"}.get(
        float(table[1, 1]), ""
    )
    expect(table[1, 1], "The cell of a word that stands 23 times in a row").equals(
        torch.tensor(2200.0),
        cause=f"A sentence that comes again counts again: a cell may grow to thousands{ends}.",
    )


@window_counts.stage("sentence borders", points=1, after="full windows")
def test_a_window_never_crosses_into_the_next_sentence(student, rng):
    drawn = [
        [
            distinct(rng, whole(rng, 3, 6), 8),
            [],
            distinct(rng, 1, 8),
            distinct(rng, 5, 8),
            distinct(rng, 6, 8),
        ]
        for _ in range(2)
    ]
    for size, sentences in (
        (8, drawn[0]),
        (9, drawn[1]),
        (4, [[0, 1], [2, 3]]),
        (4, [[0, 2], [1, 3]]),
    ):
        table = expect(student.window_counts(sentences, size, 2)).is_tensor(
            shape=(size, size), dtype=torch.float32
        )
        expect(bool(table.sum() > 0)).is_true(cause="The table of several sentences is empty.")
        alone = [
            expect(student.window_counts([sentence], size, 2)).is_tensor(
                shape=(size, size), dtype=torch.float32
            )
            for sentence in sentences
        ]
        expect(table, "The table of all sentences").equals(
            torch.stack(alone).sum(0),
            cause=(
                "Your window crosses a sentence border, or pairs are lost: the counts of "
                "several sentences are the sum of the counts of each."
            ),
        )
    pair, three = [
        expect(student.window_counts([sentence], 3, 1)).is_tensor(shape=(3, 3), dtype=torch.float32)
        for sentence in ([0, 1], [1, 2, 0])
    ]
    expect(
        student.window_counts([[0, 1]] * 270 + [[1, 2, 0]] * 229, 3, 1), given="499 sentences"
    ).equals(
        270 * pair + 229 * three,
        cause="There may be some hundred sentences, and each of them counts.",
    )


predict_pairs = exercise(
    "01.predict_pairs",
    function="predict_pairs",
    points=2,
    kind="predict",
    see=f"{COUNTING}#co-occurrence-counts",
    withhold=COUNTS,
)


def count_pairs(num_words: int, window: int) -> int:
    """Count what the real code gives for one sentence."""
    from reference_impl.embeddings.counts import window_counts_plain

    return int(window_counts_plain([list(range(num_words))], max(num_words, 1), window).sum())


def ask_pairs(student, num_words: int, window: int, cause: str) -> None:
    """Compare one prediction with what was counted."""
    expect(
        student.predict_pairs(num_words, window), given=f"{num_words} words, window {window}"
    ).equals(count_pairs(num_words, window), cause=f"Not the number that was counted: {cause}")


def pairs_of_a_book(num_words: int, window: int) -> int:
    """Two for each pair of places at every distance that the window and the book allow."""
    return 2 * sum(range(num_words - min(window, max(num_words - 1, 0)), num_words))


def ask_book(student, num_words: int, window: int) -> None:
    """Compare one prediction about a long sentence, or a long window, exactly."""
    expect(
        student.predict_pairs(num_words, window), given=f"{num_words:,} words, window {window:,}"
    ).equals(
        pairs_of_a_book(num_words, window),
        cause=(
            "The number of pairs must be exact for 50,000 words and a window of 50,000, and"
            " 0 for one word or none."
        ),
    )


@predict_pairs.stage("long sentences", points=1)
def test_a_sentence_longer_than_its_window(student, rng):
    window = whole(rng, 2, 6)
    for num_words, reach in (
        (2 * window + whole(rng, 3, 30), window),
        (2 * window, window),
        (whole(rng, 4, 20), 1),
        (window + 1, window),
    ):
        ask_pairs(
            student,
            num_words,
            reach,
            "every inner word has 2 * window contexts, the words near the two ends have fewer.",
        )
    for num_words, reach in ((words, reach) for words in range(2, 9) for reach in range(1, words)):
        ask_pairs(
            student,
            num_words,
            reach,
            "every inner word has 2 * window contexts, the words near the two ends have fewer.",
        )
    for num_words, reach in ((50_000, 49_997), (14, 1), (104, 1), (1004, 1)):
        ask_book(student, num_words, reach)


@predict_pairs.stage("short sentences", points=1)
def test_a_sentence_shorter_than_its_window(student, rng):
    for num_words in (whole(rng, 3, 6), 2):
        ask_pairs(
            student,
            num_words,
            whole(rng, 8, 12),
            "in a sentence shorter than the window, every other word is a context, and no more.",
        )
    for num_words, reach in (
        (words, reach) for words in range(2, 7) for reach in range(words, words + 3)
    ):
        ask_pairs(
            student,
            num_words,
            reach,
            "in a sentence no longer than the window, every other word is a context, and no more.",
        )
    for num_words, reach in (
        (3, 12),
        (3, 102),
        (3, 1002),
        (49_999, 50_000),
        (2, 50_000),
        (1, 50_000),
        (0, 50_000),
    ):
        ask_book(student, num_words, reach)
    ask_pairs(student, 1, whole(rng, 8, 12), "a sentence of one word has no pair.")
    ask_pairs(student, 0, whole(rng, 8, 12), "a sentence without words has no pair.")


ppmi = exercise(
    "01.ppmi",
    function="ppmi",
    points=5,
    see=f"{COUNTING}#pointwise-mutual-information",
    withhold=COUNTS,
)


def preferring(rng: torch.Generator, size: int) -> torch.Tensor:
    """A table (size, size + 1) in which row i prefers column i: above chance there, below chance
    elsewhere, no zero.
    """
    return torch.cat([torch.eye(size), torch.zeros(size, 1)], 1) * 80 + counts(
        rng, 6, 12, size, size + 1
    )


def information(table: torch.Tensor) -> torch.Tensor:
    """PMI in float64, minus infinity where nothing was counted."""
    table = table.double()
    return torch.log(table * table.sum() / torch.outer(table.sum(1), table.sum(0)))


def ask_ppmi(student, table: torch.Tensor) -> torch.Tensor:
    """The student's table, after its type and shape were asked for."""
    return expect(student.ppmi(table)).is_tensor(shape=tuple(table.shape), dtype=torch.float32)


@ppmi.stage("independent words", points=1)
def test_independent_words_score_zero(student, rng):
    size = whole(rng, 3, 5)
    shapes = ((size, size), (size, size + 1), (size + 2, size), (1, size), (size, 1), (1, 1))
    for rows, columns in shapes:
        table = torch.outer(
            counts(rng, 1, 9, rows), counts(rng, 2, 6, columns)
        ).float()  # rank one: no association
        expect(student.ppmi(table), given=f"a table of shape {(rows, columns)}").close(
            torch.zeros(rows, columns),
            **LOG,
            cause=(
                "Independent words have PMI 0: divide cells, row sums and column sums by the "
                "same total, the sum of the whole matrix, and add nothing."
            ),
        )
    few = torch.tensor([[0.3, 0.15], [0.1, 0.05]])
    for table in (few, few / 20, torch.ones(101, 2), torch.ones(2, 130)):
        expect(
            student.ppmi(table),
            given=f"a table of shape {tuple(table.shape)} with the sum {float(table.sum()):.3g}",
        ).close(
            torch.zeros(table.shape),
            **LOG,
            cause=("Independent words have PMI 0, whatever the total of the matrix is."),
        )
    for rows, columns in shapes[:2]:
        table = torch.outer(uniform(rng, 1, 9, rows), uniform(rng, 1, 5, columns))
        table = table * 1.9 / table[0, 0]
        near = bool((ask_ppmi(student, table).abs() < 0.001).all())
        expect(student.ppmi(table), given="counts that are no whole numbers").close(
            torch.zeros(rows, columns),
            **LOG,
            cause=("Counts may be fractions, and these words are independent: PMI is 0. ")
            + (
                "Yours is off by more than float32 allows: is it half precision?"
                if near
                else "Do not round counts."
            ),
        )
    scores = ask_ppmi(student, torch.eye(4) * 5 + 1)
    expect(bool((scores.diagonal() > 0).all())).is_true(
        cause="Words that meet more often than by chance should score above 0."
    )


@ppmi.stage("natural logarithm", points=1)
def test_more_than_chance_scores_the_natural_logarithm(student, rng):
    large = preferring(rng, whole(rng, 3, 6))
    large[0, 0] = 3e7  # as in a real text: the total is large, and a cell may hold 1
    large[1, 1:] = 1.0
    halves = large.clone()
    halves[1, 1:] = 0.5
    scarce = preferring(rng, 3) / 5000  # what is above 0 is at least 0.001
    widest = torch.full((2, 2), 0.001)
    widest[1, 1] = 4e9  # the largest score that two by two cells can have, 27.6
    first = preferring(rng, 4)
    first[0, 1:3] = torch.tensor([7.0, 11.0])
    for table, cause in (
        (
            preferring(rng, whole(rng, 3, 6)),
            (
                "A pair above chance scores the natural logarithm of P(w, c) / (P(w) P(c)), and"
                " nothing else."
            ),
        ),
        (
            large,
            (
                "Rare pairs of a large corpus have P(w) P(c) far below 1e-6: an epsilon or a "
                "lower bound there changes their score."
            ),
        ),
        (
            halves,
            (
                "Counts may be fractions: one half is a count like any other, also next to "
                "counts of millions."
            ),
        ),
        (
            scarce,
            ("Counts may be fractions down to 0.001; only 0 means never counted."),
        ),
        (
            widest,
            (
                "A cell of 0.001 next to one of billions has a large score: do not clip scores "
                "from above."
            ),
        ),
        (first, "A pair above chance should score the natural logarithm of P(w, c) / (P(w) P(c))."),
        (
            look_alike(first),
            (
                "Different counts give different scores, even if the total and the corners are "
                "the same."
            ),
        ),
        (
            counts(rng, 1, 9, LONG, 3).float(),
            "Every row takes part in the column sums, also in a matrix of many rows.",
        ),
        (
            counts(rng, 1, 9, 3, LONG).float(),
            "Every column takes part in the row sums, also in a matrix of many columns.",
        ),
        (
            (torch.eye(140) + 1) * 2e9,
            ("Many cells of billions each overflow: no product may become infinite."),
        ),
    ):
        above = information(table) > 0.01
        expect(ask_ppmi(student, table)[above], "The score of the pairs above chance").close(
            information(table)[above].float(), **LOG, cause=cause
        )


@ppmi.stage("clipping at zero", points=1)
def test_less_than_chance_scores_zero(student, rng):
    for size in (whole(rng, 3, 4), whole(rng, 5, 6)):
        table = preferring(rng, size)
        off = (
            information(table) < -0.1
        )  # nearer to chance, a count that is 1 too large decides the sign
        scores = ask_ppmi(student, table)
        expect(scores[off], "The score of the pairs below chance").equals(
            torch.zeros(int(off.sum())),
            cause="A pair below chance has a negative PMI: positive PMI clips it to 0.",
        )
        expect(bool((scores.diagonal() > 0).all())).is_true(
            cause="Pairs above chance should keep their positive score."
        )


@ppmi.stage("zero counts", points=1)
def test_what_was_never_counted_scores_zero(student, rng):
    for size in (4, whole(rng, 5, 6)):
        table = preferring(rng, size)
        table[0] = 0.0
        table[0, 0] = 1.0  # a word seen once in all
        table[2] = 0.0  # a word without any context
        table[:, 3] = 0.0  # a context without any word
        empty = table == 0
        for dtype in (torch.float64, torch.float32):
            scores = ask_ppmi(student, table.to(dtype))
            expect(scores[empty], "The score of the pairs that never met").equals(
                torch.zeros(int(empty.sum())),
                cause=(
                    "A count of 0 scores 0: log 0 is minus infinity, and an empty row or column "
                    "gives 0 / 0, NaN."
                ),
            )
        expect(bool(scores[0, 0] > scores[1, 1] > 0)).is_true(
            cause=(
                "Zeros elsewhere do not change a pair above chance; a word's only pair has a "
                "high score."
            )
        )


@ppmi.stage("integer and double counts", points=1, after="independent words")
def test_integers_and_doubles_give_the_float32_scores_of_the_same_counts(student, rng):
    for size in (3, whole(rng, 4, 5)):
        table = preferring(rng, size)
        floats = ask_ppmi(student, table)
        expect(bool((floats > 0).any())).is_true(
            cause="Some pairs are above chance, but every score is 0."
        )
        for dtype in (torch.int64, torch.int32, torch.float64):
            expect(student.ppmi(table.to(dtype)), given=f"counts of dtype {dtype}").close(
                floats,
                **LOG,
                cause=(
                    "Integer counts and float64 counts give the same float32 scores as the same "
                    "counts in float32."
                ),
            )
        for dtype, times in (
            (torch.int64, 100_000),
            (torch.int32, 100_000),
            (torch.int32, 20_000_000),
            (torch.int64, 50_000_000),
        ):
            expect(
                student.ppmi(table.to(dtype) * times),
                given=f"counts {times:,} times as large, of dtype {dtype}",
            ).close(
                floats,
                **LOG,
                cause=(
                    "Large integer counts overflow: a sum may need more than 32 bits and a product "
                    "of sums more than 64. Convert to float first."
                ),
            )


predict_sizes = exercise(
    "01.predict_sizes",
    function="predict_sizes",
    points=3,
    kind="predict",
    see=f"{COUNTING}#how-many-dimensions",
)


LARGE = 40_001, 301, 1_012_345_679  # every answer but the first is more than 32 bits can count
LARGEST = 1_000_000, 10_000, 2_000_000_000


def sizes(rng: torch.Generator) -> list[tuple[int, int, int]]:
    """Vocabulary size, dimension, cells that are not 0: one drawn case, a full table, the smallest
    there is, a large one.
    """
    vocab_size = whole(rng, 20, 60)
    return [
        (vocab_size, whole(rng, 3, 12), whole(rng, 2, 4) * vocab_size + whole(rng, 1, 9)),
        (7, 2, 49),
        (7, 3, 49),
        (7, 2, 21),
        (9, 2, 21),
        (3, 7, 2),
        (6, 6, 6),
        (1, 1, 0),
        (1, 1, 1),
        LARGE,
        LARGEST,
    ]


def sized(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """A tensor of this size which takes no memory: all of its cells are one."""
    return torch.zeros((), dtype=dtype).expand(shape)


SIZES = ("parameters", "dense_bytes", "sparse_bytes")


def ask_sizes(student, case: tuple[int, int, int], key: str, counted: int, cause: str) -> None:
    """Compare one of the three predictions with what was counted."""
    given = "V = {}, D = {}, nonzero = {}".format(*case)
    came = expect(student.predict_sizes(*case), given=given).only_keys(SIZES)
    came.has(key).equals(counted, cause=cause)


@predict_sizes.stage("parameter count", points=1)
def test_the_parameters_of_skip_gram(student, rng):
    for case in sizes(rng):
        tables = [sized(*case[:2]) for _ in ("centre", "context")]
        counted = sum(table.numel() for table in tables)
        ask_sizes(
            student,
            case,
            "parameters",
            counted,
            (
                "Skip-gram has two V by D matrices, one for centre words and one for context "
                "words. Count parameters, not bytes."
            ),
        )


@predict_sizes.stage("dense bytes", points=1)
def test_the_bytes_of_a_dense_table(student, rng):
    for case in sizes(rng):
        ask_sizes(
            student,
            case,
            "dense_bytes",
            sized(case[0], case[0]).nbytes,
            "A dense matrix stores every cell of V by V, zero or not, at 4 bytes each.",
        )


@predict_sizes.stage("sparse bytes", points=1)
def test_the_bytes_of_a_sparse_table(student, rng):
    for case in sizes(rng):
        vocab_size, _, nonzero = case
        if case in (LARGE, LARGEST):
            counted = sum(
                array.nbytes
                for array in (
                    sized(nonzero),
                    sized(nonzero, dtype=torch.int32),
                    sized(vocab_size + 1, dtype=torch.int32),
                )
            )
        else:
            counted = bytes_in_rows(
                vocab_size, torch.tensor(distinct(rng, nonzero, vocab_size**2), dtype=torch.int64)
            )
        ask_sizes(
            student,
            case,
            "sparse_bytes",
            counted,
            (
                "CSR stores a value and a column number for each non-zero cell and V + 1 row "
                "starts, 4 bytes each."
            ),
        )


def bytes_in_rows(vocab_size: int, cells: torch.Tensor) -> int:
    """The bytes of a real compressed table, with its three arrays in the types of the statement."""
    table = scipy.sparse.csr_matrix(
        (torch.ones(len(cells)).numpy(), (cells // vocab_size, cells % vocab_size)),
        shape=(vocab_size, vocab_size),
    )
    return sum(
        array.astype(dtype).nbytes
        for array, dtype in (
            (table.data, "float32"),
            (table.indices, "int32"),
            (table.indptr, "int32"),
        )
    )

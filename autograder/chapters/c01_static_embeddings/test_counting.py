"""Checks of chapter 1, part 1: window counts, their number, PPMI, and what each method costs in memory."""
import scipy.sparse
import torch

from autograder.checks.draws import counts, distinct, uniform, whole
from autograder.checks.protocol import exercise, expect

COUNTING = "01-static-embeddings/counting"
LOG = {"rtol": 1e-4, "atol": 1e-5}      # a logarithm of a ratio, or a sum of four logarithms: both are right

window_counts = exercise("01.window_counts", function="window_counts", points=4, see=f"{COUNTING}#four-headlines",
                         withhold=["reference_impl.embeddings.counts"])


def by_positions(sentence: list[int], vocab_size: int, window: int) -> torch.Tensor:
    """The right table of one sentence, from a mask over pairs of positions instead of loops."""
    place = torch.arange(len(sentence))
    near = ((place[:, None] - place).abs() <= window) & (place[:, None] != place)      # (T, T)
    rows = torch.nn.functional.one_hot(torch.tensor(sentence, dtype=torch.int64), vocab_size).float()   # (T, V)
    return rows.T @ near.float() @ rows


@window_counts.stage("middle", points=1)
def test_a_word_in_the_middle_counts_its_neighbours_on_both_sides(student, rng):
    window, extra = whole(rng, 2, 4), whole(rng, 1, 3)
    length = 3 * window + 2
    sentence = distinct(rng, length, length + extra)
    table = student.window_counts([sentence], length + extra, window)
    expect(table).is_tensor(shape=(length + extra, length + extra), dtype=torch.float32)
    right = by_positions(sentence, length + extra, window)
    middle = sentence[window:-window]
    expect(table.diagonal()[middle], "The diagonal").equals(
        torch.zeros(len(middle)), cause="A position is counted as its own context.")
    left, centre, after = sentence[window - 1], sentence[window], sentence[window + 1]
    expect(table[centre, [left, after]], "The cell of a next-door neighbour").equals(
        torch.ones(2), cause="Contexts stand on both sides of the centre: one step left and one step right both count "
                             "1.")
    expect(table[middle], "The rows of words with a full window").equals(
        right[middle], cause="The window reaches too far or not far enough: `window` steps away still counts, one "
                             "more does not.")


@window_counts.stage("ends", points=1)
def test_the_window_is_cut_at_the_ends_of_a_sentence(student, rng):
    window = whole(rng, 3, 5)
    for length in (2 * window + whole(rng, 1, 4), window - 1, 1):
        sentence = distinct(rng, length, 20)
        expect(student.window_counts([sentence], 20, window), f"The table of a sentence of {length} words").equals(
            by_positions(sentence, 20, window),
            cause="At the ends of a sentence the window should have fewer words. "
                  "A negative index or slice start counts from the other end in Python.")


@window_counts.stage("repeats", points=1)
def test_a_word_that_stands_twice_counts_twice(student, rng):
    fill, word = distinct(rng, 10, 20), 20
    sentence = fill[:4] + [word, fill[4], word] + fill[5:]
    table = student.window_counts([sentence], 21, 3)
    expect(table).is_tensor(shape=(21, 21), dtype=torch.float32)
    expect(table[fill[4], word], "A cell whose pair stands there twice").equals(
        torch.tensor(2.0), cause="A pair that comes again should add to its cell, not overwrite it.")
    expect(table[word, word], "The cell (word, same word) for two places two steps apart").equals(
        torch.tensor(2.0),
        cause="The same word at another position is a context like any other: compare positions, not words.")


@window_counts.stage("sentences", points=1)
def test_a_window_never_crosses_into_the_next_sentence(student, rng):
    sentences = [distinct(rng, whole(rng, 3, 6), 8), [], distinct(rng, 1, 8), distinct(rng, 5, 8), distinct(rng, 6, 8)]
    table = student.window_counts(sentences, 8, 2)
    expect(table).is_tensor(shape=(8, 8), dtype=torch.float32)
    expect(bool(table.sum() > 0)).is_true(cause="The table of five sentences is empty.")
    alone = [student.window_counts([sentence], 8, 2) for sentence in sentences]
    for one in alone:
        expect(one).is_tensor(shape=(8, 8), dtype=torch.float32)
    expect(table, "The table of all sentences").equals(
        torch.stack(alone).sum(0),
        cause="The table of several sentences should be the sum of the tables of each alone: no pair across a border, "
              "none lost.")


predict_pairs = exercise("01.predict_pairs", function="predict_pairs", points=2, kind="predict",
                         see=f"{COUNTING}#four-headlines",
                         withhold=["reference_impl.embeddings.counts"])


def count_pairs(num_words: int, window: int) -> int:
    """Count what the real code gives for one sentence."""
    from reference_impl.embeddings.counts import window_counts_plain
    return int(window_counts_plain([list(range(num_words))], max(num_words, 1), window).sum())


@predict_pairs.stage("long", points=1)
def test_a_sentence_longer_than_its_window(student, rng):
    window = whole(rng, 2, 6)
    num_words = 2 * window + whole(rng, 3, 30)
    expect(student.predict_pairs(num_words, window)).equals(
        count_pairs(num_words, window),
        cause=f"Not the number that was counted for {num_words} words and window {window}: "
              "every inner word has 2 * window contexts, the words near the two ends have fewer.")


@predict_pairs.stage("short", points=1)
def test_a_sentence_shorter_than_its_window(student, rng):
    for num_words in (whole(rng, 3, 6), 1, 0):
        window = whole(rng, 8, 12)
        expect(student.predict_pairs(num_words, window)).equals(
            count_pairs(num_words, window),
            cause=f"Not the number that was counted for {num_words} words and window {window}: "
                  "a word cannot have more contexts on a side than there are words.")


ppmi = exercise("01.ppmi", function="ppmi", points=5, see=f"{COUNTING}#pmi-compare-with-chance",
                withhold=["reference_impl.embeddings.counts"])


def preferring(rng: torch.Generator, size: int) -> torch.Tensor:
    """A table (size, size + 1) in which row i prefers column i: above chance there, below chance elsewhere, no zero."""
    return torch.cat([torch.eye(size), torch.zeros(size, 1)], 1) * 80 + counts(rng, 6, 12, size, size + 1)


def information(table: torch.Tensor) -> torch.Tensor:
    """PMI in float64, minus infinity where nothing was counted."""
    table = table.double()
    return torch.log(table * table.sum() / torch.outer(table.sum(1), table.sum(0)))


@ppmi.stage("chance", points=1)
def test_independent_words_score_zero(student, rng):
    size = (whole(rng, 3, 6), whole(rng, 2, 5))
    table = torch.outer(uniform(rng, 1, 9, size[0]), uniform(rng, 1, 5, size[1]))      # rank one: no association
    expect(student.ppmi(table)).close(
        torch.zeros(size), **LOG,
        cause="Words that meet exactly as often as by chance should score 0: "
              "P(w), P(c) and P(w, c) all need the same total, the sum of the whole table.")
    scores = student.ppmi(torch.eye(3) * 5 + 1)
    expect(scores).is_tensor(shape=(3, 3), dtype=torch.float32)
    expect(bool((scores.diagonal() > 0).all())).is_true(cause="Words that meet more often than by chance should score "
                                                              "above 0.")


@ppmi.stage("logarithm", points=1)
def test_more_than_chance_scores_the_natural_logarithm(student, rng):
    table = preferring(rng, whole(rng, 3, 6))
    scores = student.ppmi(table)
    expect(scores).is_tensor(shape=tuple(table.shape), dtype=torch.float32)
    expect(scores.diagonal(), "The score of the pairs above chance").close(
        information(table).diagonal().float(), **LOG,
        cause="A pair above chance should score the natural logarithm of P(w, c) / (P(w) P(c)).")


@ppmi.stage("positive", points=1)
def test_less_than_chance_scores_zero(student, rng):
    table = preferring(rng, whole(rng, 3, 6))
    off = ~torch.eye(len(table), table.shape[1], dtype=torch.bool) & (information(table) < 0)
    scores = student.ppmi(table)
    expect(scores).is_tensor(shape=tuple(table.shape), dtype=torch.float32)
    expect(scores[off], "The score of the pairs below chance").equals(
        torch.zeros(int(off.sum())), cause="A pair below chance has a negative PMI. Positive PMI puts 0 in its place.")
    expect(bool((scores.diagonal() > 0).all())).is_true(cause="Pairs above chance should keep their positive score.")


@ppmi.stage("zeros", points=1)
def test_what_was_never_counted_scores_zero(student, rng):
    table = preferring(rng, whole(rng, 4, 6))
    table[0, 1:] = 0.0                          # a word seen with one context only
    table[2] = 0.0                              # a word without any context
    table[:, 3] = 0.0                           # a context without any word
    scores = student.ppmi(table)
    expect(scores).is_tensor(shape=tuple(table.shape), dtype=torch.float32)
    empty = table == 0
    expect(scores[empty], "The score of the pairs that never met").equals(
        torch.zeros(int(empty.sum())),
        cause="A count of 0 should score 0. The log of 0 is minus infinity, and an empty row or column gives 0 / 0, "
              "which is NaN.")
    expect(bool(scores[0, 0] > 0)).is_true(cause="Zeros elsewhere in the table should not change a pair above chance.")


@ppmi.stage("types", points=1)
def test_integer_counts_give_float32_and_the_callers_table_stays(student, rng):
    table = preferring(rng, whole(rng, 3, 5))
    floats = student.call("ppmi", table)
    expect(floats.value).is_tensor(shape=tuple(table.shape), dtype=torch.float32)
    expect(bool((floats.value > 0).any())).is_true(cause="Some pairs are above chance, but every score is 0.")
    expect(floats.args[0], "The table after the call").equals(
        table, cause="Your function changed the caller's table. Operations such as `/=` write into the tensor they "
                     "were given.")
    expect(student.ppmi(table.long())).close(
        floats.value, **LOG, cause="Integer counts should give the same float32 scores as the same counts as floats.")


predict_sizes = exercise("01.predict_sizes", function="predict_sizes", points=3, kind="predict",
                         see=f"{COUNTING}#how-many-numbers-does-a-word-need")


def sizes(rng: torch.Generator) -> tuple[int, int, int]:
    """A vocabulary size, a dimension, and a number of cells that are not 0."""
    vocab_size = whole(rng, 20, 60)
    return vocab_size, whole(rng, 3, 12), whole(rng, 2, 4) * vocab_size + whole(rng, 1, 9)


@predict_sizes.stage("parameters", points=1)
def test_the_parameters_of_skip_gram(student, rng):
    vocab_size, dim, nonzero = sizes(rng)
    tables = [torch.nn.Embedding(vocab_size, dim) for _ in ("centre", "context")]
    counted = sum(weight.numel() for table in tables for weight in table.parameters())
    expect(student.predict_sizes(vocab_size, dim, nonzero)).has("parameters").equals(
        counted, cause="Skip-gram keeps two tables, one for centres and one for contexts, each V by D, and nothing "
                       "else.")


@predict_sizes.stage("dense", points=1)
def test_the_bytes_of_a_dense_table(student, rng):
    vocab_size, dim, nonzero = sizes(rng)
    counted = torch.zeros(vocab_size, vocab_size).nbytes
    expect(student.predict_sizes(vocab_size, dim, nonzero)).has("dense_bytes").equals(
        counted, cause="A dense table keeps every cell of V by V, zero or not, at 4 bytes each.")


@predict_sizes.stage("sparse", points=1)
def test_the_bytes_of_a_sparse_table(student, rng):
    vocab_size, dim, nonzero = sizes(rng)
    cells = torch.tensor(distinct(rng, nonzero, vocab_size**2))
    table = scipy.sparse.csr_matrix((torch.ones(nonzero).numpy(), (cells // vocab_size, cells % vocab_size)),
                                    shape=(vocab_size, vocab_size))
    counted = sum(array.astype(dtype).nbytes for array, dtype in
                  ((table.data, "float32"), (table.indices, "int32"), (table.indptr, "int32")))
    expect(student.predict_sizes(vocab_size, dim, nonzero)).has("sparse_bytes").equals(
        counted, cause="Compressed rows keep a value and a column number for each cell that is not 0, and V + 1 row "
                       "starts.")

"""Plausible wrong solutions of chapter 1, part 1: window counts, pairs, PPMI, sizes."""

import torch

from autograder.checks.mistakes.registry import mistake

COUNTS = "01.window_counts"


def _count(sentences, vocab_size, places, step=1.0):
    """A table to which every position j in places(sentence, i) adds `step` as a context of position
    i.
    """
    counts = [
        [0.0] * vocab_size for _ in range(vocab_size)
    ]  # numbers are added to far faster than tensors' cells
    for sentence in sentences:
        for i, center in enumerate(sentence):
            for j in places(sentence, i):
                counts[center][sentence[j]] += step
    return torch.tensor(counts).reshape(vocab_size, vocab_size)


@mistake(
    COUNTS,
    "right-side-only",
    caught_by="full windows",
    loses=4,
    misconception=(
        "You count only the words to the right of the centre. A context word may also"
        " be on the left."
    ),
)
def _(sentences, vocab_size, window):
    return _count(sentences, vocab_size, lambda s, i: range(i + 1, min(len(s), i + window + 1)))


@mistake(
    COUNTS,
    "far-end-missed",
    caught_by="full windows",
    loses=4,
    misconception=(
        "`range` leaves out its end, so the word exactly `window` steps to the right is missed:"
        " add 1."
    ),
)
def _(sentences, vocab_size, window):
    return _count(
        sentences,
        vocab_size,
        lambda s, i: [j for j in range(max(0, i - window), min(len(s), i + window)) if j != i],
    )


@mistake(
    COUNTS,
    "counts-itself",
    caught_by="full windows",
    loses=4,
    misconception="You count each position as a context of itself.",
)
def _(sentences, vocab_size, window):
    return _count(
        sentences, vocab_size, lambda s, i: range(max(0, i - window), min(len(s), i + window + 1))
    )


@mistake(
    COUNTS,
    "window-is-the-width",
    caught_by="full windows",
    loses=4,
    misconception=(
        "You take `window` as the width of the whole window; it is the reach on each side."
    ),
)
def _(sentences, vocab_size, window):
    half = window // 2
    return _count(
        sentences,
        vocab_size,
        lambda s, i: [j for j in range(max(0, i - half), min(len(s), i + half + 1)) if j != i],
    )


@mistake(
    COUNTS,
    "slice-from-the-end",
    caught_by="sentence ends",
    loses=1,
    misconception=(
        "Near the start of a sentence `i - window` is negative. Python counts a "
        "negative slice start from the end, so you lose the words on the left."
    ),
)
def _(sentences, vocab_size, window):
    def places(sentence, i):
        every = list(range(len(sentence)))
        return every[i - window : i] + every[i + 1 : i + 1 + window]

    return _count(sentences, vocab_size, places)


@mistake(
    COUNTS,
    "wraps-round",
    caught_by="sentence ends",
    loses=2,
    misconception=(
        "A negative index counts from the end in Python, so the last words of a sentence become "
        "contexts of its first words."
    ),
)
def _(sentences, vocab_size, window):
    return _count(
        sentences,
        vocab_size,
        lambda s, i: [
            j for j in range(i - window, i + window + 1) if j != i and -len(s) <= j < len(s)
        ],
    )


@mistake(
    COUNTS,
    "overwrites",
    caught_by="repeated words",
    loses=2,
    misconception=(
        "You write 1 into the cell instead of adding 1, so a repeated pair is counted once."
    ),
)
def _(sentences, vocab_size, window):
    return _count(
        sentences,
        vocab_size,
        lambda s, i: [j for j in range(max(0, i - window), min(len(s), i + window + 1)) if j != i],
    ).clamp(max=1)


@mistake(
    COUNTS,
    "compares-words",
    caught_by="repeated words",
    loses=1,
    misconception=(
        "You skip every context that is the same *word* as the centre; only the same *position* is"
        " to be skipped."
    ),
)
def _(sentences, vocab_size, window):
    return _count(
        sentences,
        vocab_size,
        lambda s, i: [
            j for j in range(max(0, i - window), min(len(s), i + window + 1)) if s[j] != s[i]
        ],
    )


@mistake(
    COUNTS,
    "one-long-text",
    caught_by="sentence borders",
    loses=1,
    misconception=(
        "You join the sentences into one text, so the last words of one meet the first words of the"
        " next."
    ),
)
def _(sentences, vocab_size, window):
    text = [word for sentence in sentences for word in sentence]
    return _count(
        [text],
        vocab_size,
        lambda s, i: [j for j in range(max(0, i - window), min(len(s), i + window + 1)) if j != i],
    )


@mistake(
    COUNTS,
    "adds-once-for-a-repeated-index",
    caught_by="repeated words",
    loses=1,
    misconception=(
        "`counts[w, contexts] += 1` adds 1 only once to a cell whose number occurs twice among"
        " `contexts`."
    ),
)
def _(sentences, vocab_size, window):
    counts = torch.zeros(vocab_size, vocab_size)
    for sentence in sentences:
        for i, center in enumerate(sentence):
            near = sentence[max(0, i - window) : i] + sentence[i + 1 : i + window + 1]
            counts[center, torch.tensor(near, dtype=torch.int64)] += 1
    return counts


@mistake(
    COUNTS,
    "full-windows-only",
    caught_by="sentence ends",
    loses=3,
    misconception=(
        "You count only the centres with a full window. Those near the ends of a sentence have"
        " context words as well."
    ),
)
def _(sentences, vocab_size, window):
    return _count(
        sentences,
        vocab_size,
        lambda s, i: (
            [*range(i - window, i), *range(i + 1, i + window + 1)]
            if window <= i < len(s) - window
            else []
        ),
    )


PAIRS = "01.predict_pairs"


@mistake(
    PAIRS,
    "no-ends",
    caught_by="long sentences",
    loses=2,
    misconception="You give every word 2 * window contexts. The words near the ends have fewer.",
)
def _(num_words, window):
    return 2 * window * num_words


@mistake(
    PAIRS,
    "one-direction",
    caught_by="long sentences",
    loses=2,
    misconception=(
        "You count each pair of positions once. (the, bank) and (bank, the) are two pairs."
    ),
)
def _(num_words, window):
    return sum(min(i, window) for i in range(num_words))


@mistake(
    PAIRS,
    "with-itself",
    caught_by="long sentences",
    loses=2,
    misconception="You count the centre as a context of itself: one pair too many for every word.",
)
def _(num_words, window):
    return sum(min(i, window) + 1 + min(num_words - 1 - i, window) for i in range(num_words))


@mistake(
    PAIRS,
    "full-windows-only",
    caught_by="long sentences",
    loses=2,
    misconception=(
        "You count only the words with a full window. Those near the ends have "
        "context words as well, just fewer."
    ),
)
def _(num_words, window):
    return 2 * window * max(0, num_words - 2 * window)


@mistake(
    PAIRS,
    "one-end",
    caught_by="long sentences",
    loses=2,
    misconception="You subtract what is missing at one end of the sentence. There are two.",
)
def _(num_words, window):
    return max(0, 2 * window * num_words - window * (window + 1) // 2)


@mistake(
    PAIRS,
    "formula-for-long-only",
    caught_by="short sentences",
    loses=1,
    misconception=(
        "Your formula holds for sentences at least as long as the window. For shorter ones it takes"
        " away too much."
    ),
)
def _(num_words, window):
    return 2 * window * num_words - window * (window + 1)


@mistake(
    PAIRS,
    "one-too-many-on-the-right",
    caught_by="long sentences",
    loses=2,
    misconception=(
        "Position i has num_words - 1 - i words on its right, not num_words - i: positions"
        " start at 0."
    ),
)
def _(num_words, window):
    return sum(min(i, window) + min(num_words - i, window) for i in range(num_words))


@mistake(
    PAIRS,
    "window-is-the-width",
    caught_by="long sentences",
    loses=2,
    misconception=(
        "You take `window` as the width of the whole window; it is the reach on each side."
    ),
)
def _(num_words, window):
    return 2 * sum(min(i, window // 2) for i in range(num_words))


@mistake(
    PAIRS,
    "short-with-itself",
    caught_by="short sentences",
    loses=1,
    misconception=(
        "In a sentence of n words, shorter than the window, each word has n - 1 contexts, all but"
        " itself."
    ),
)
def _(num_words, window):
    if window >= num_words:
        return num_words * num_words
    return 2 * window * num_words - window * (window + 1)


PPMI = "01.ppmi"


def _ratio(counts):
    """Observed over expected."""
    return counts * counts.sum() / (counts.sum(1, keepdim=True) * counts.sum(0, keepdim=True))


@mistake(
    PPMI,
    "joint-not-normalised",
    caught_by="independent words",
    loses=4,
    misconception=(
        "You divide the raw count by P(w) P(c). The count must become P(w, c) first: divide it by"
        " the sum of the table."
    ),
)
def _(counts):
    counts = counts.float()
    return torch.where(counts > 0, _ratio(counts) * counts.sum(), 1.0).log().clamp(min=0)


@mistake(
    PPMI,
    "conditional-only",
    caught_by="independent words",
    loses=3,
    misconception=(
        "You divide by P(w) only: that is the probability of the context given the word. PMI"
        " also divides by P(c)."
    ),
)
def _(counts):
    counts = counts.float()
    share = counts * counts.shape[1] / counts.sum(1, keepdim=True)
    return torch.where(counts > 0, share, 1.0).log().clamp(min=0)


@mistake(
    PPMI,
    "one-added",
    caught_by="independent words",
    loses=4,
    misconception=(
        "You add 1 to every count to avoid the log of 0. That changes every probability; put 0 in "
        "those cells instead."
    ),
)
def _(counts):
    return _ratio(counts.float() + 1).log().clamp(min=0)


@mistake(
    PPMI,
    "log-base-2",
    caught_by="natural logarithm",
    loses=1,
    misconception="You took the logarithm to base 2. Here PMI is the natural logarithm.",
)
def _(counts):
    counts = counts.float()
    return torch.where(counts > 0, _ratio(counts), 1.0).log2().clamp(min=0)


@mistake(
    PPMI,
    "no-logarithm",
    caught_by="natural logarithm",
    loses=1,
    misconception=(
        "You return the ratio minus 1. It is also 0 at chance, but PMI takes the logarithm."
    ),
)
def _(counts):
    counts = counts.float()
    return torch.where(counts > 0, _ratio(counts) - 1, 0.0).clamp(min=0)


@mistake(
    PPMI,
    "negative-kept",
    caught_by="clipping at zero",
    loses=1,
    misconception=(
        "You return PMI itself, with its negative values. Positive PMI clips them to 0."
    ),
)
def _(counts):
    counts = counts.float()
    return torch.where(counts > 0, _ratio(counts), 1.0).log()


@mistake(
    PPMI,
    "absolute-value",
    caught_by="clipping at zero",
    loses=1,
    misconception=(
        "You take the absolute value, so that pairs rarer than chance look like pairs more frequent"
        " than chance."
    ),
)
def _(counts):
    counts = counts.float()
    return torch.where(counts > 0, _ratio(counts), 1.0).log().abs()


@mistake(
    PPMI,
    "empty-row-nan",
    caught_by="zero counts",
    loses=1,
    misconception=(
        "You clip at 0, which repairs log 0. But an empty row or column gives 0 / 0, "
        "NaN, and clipping leaves NaN."
    ),
)
def _(counts):
    return _ratio(counts.float()).log().clamp(min=0)


@mistake(
    PPMI,
    "changes-the-table",
    caught_by="independent words",
    loses=2,
    misconception=(
        "`counts /= ...` writes into the caller's tensor, and fails for integers. Make a new one: "
        "`counts / ...`."
    ),
)
def _(counts):
    counts /= counts.sum()
    chance = counts.sum(1, keepdim=True) * counts.sum(0, keepdim=True)
    return torch.where(counts > 0, counts / chance, 1.0).log().clamp(min=0)


@mistake(
    PPMI,
    "keepdim-forgotten",
    caught_by="independent words",
    loses=5,
    misconception=(
        "Without `keepdim=True` the row sums have the shape (W,), which broadcasts "
        "along the columns: P(w) is used as P(c), or the shapes do not fit."
    ),
)
def _(counts):
    counts = counts.float()
    ratio = counts * counts.sum() / (counts.sum(1) * counts.sum(0, keepdim=True))
    return torch.where(counts > 0, ratio, 1.0).log().clamp(min=0)


@mistake(
    PPMI,
    "log-of-one-plus-ratio",
    caught_by="independent words",
    loses=4,
    misconception=(
        "You take log(1 + ratio) to avoid the log of 0. PMI is the log of the ratio itself; put 0"
        " where the count is 0."
    ),
)
def _(counts):
    counts = counts.float()
    return torch.where(counts > 0, _ratio(counts), 0.0).log1p()


@mistake(
    PPMI,
    "row-sums-twice",
    caught_by="independent words",
    loses=5,
    misconception=(
        "You use the row sums for words and contexts alike. P(c) comes from the column sums."
    ),
)
def _(counts):
    counts = counts.float()
    rows = counts.sum(1, keepdim=True)
    return torch.where(counts > 0, counts * counts.sum() / (rows * rows.T), 1.0).log().clamp(min=0)


@mistake(
    PPMI,
    "smoothed-contexts",
    caught_by="independent words",
    loses=3,
    misconception=(
        "You raise the context counts to the power 0.75. That is a later refinement; here P(c) is"
        " the plain probability."
    ),
)
def _(counts):
    counts = counts.float()
    smooth = counts.sum(0) ** 0.75
    ratio = counts / counts.sum(1, keepdim=True) * smooth.sum() / smooth
    return torch.where(counts > 0, ratio, 1.0).log().clamp(min=0)


SIZES = "01.predict_sizes"


def _sizes(vocab_size, dim, nonzero, **wrong):
    """The right sizes, with some replaced."""
    return {
        "parameters": 2 * vocab_size * dim,
        "dense_bytes": 4 * vocab_size**2,
        "sparse_bytes": 8 * nonzero + 4 * vocab_size + 4,
        **wrong,
    }


@mistake(
    SIZES,
    "one-table",
    caught_by="parameter count",
    loses=1,
    misconception=(
        "You count one vector per word. Skip-gram has two: one as a centre, one as a context."
    ),
)
def _(vocab_size, dim, nonzero):
    return _sizes(vocab_size, dim, nonzero, parameters=vocab_size * dim)


@mistake(
    SIZES,
    "with-biases",
    caught_by="parameter count",
    loses=1,
    misconception="You add a bias for every word. GloVe has those; skip-gram has none.",
)
def _(vocab_size, dim, nonzero):
    return _sizes(vocab_size, dim, nonzero, parameters=2 * vocab_size * (dim + 1))


@mistake(
    SIZES,
    "eight-bytes",
    caught_by="dense bytes",
    loses=1,
    misconception="You give a number 8 bytes. A float32 has 32 bits, which are 4 bytes.",
)
def _(vocab_size, dim, nonzero):
    return _sizes(vocab_size, dim, nonzero, dense_bytes=8 * vocab_size**2)


@mistake(
    SIZES,
    "cells-not-bytes",
    caught_by="dense bytes",
    loses=1,
    misconception="You count the cells. Each of them takes 4 bytes.",
)
def _(vocab_size, dim, nonzero):
    return _sizes(vocab_size, dim, nonzero, dense_bytes=vocab_size**2)


@mistake(
    SIZES,
    "no-row-starts",
    caught_by="sparse bytes",
    loses=1,
    misconception=(
        "You count values and columns, but not the array that says where each row starts."
    ),
)
def _(vocab_size, dim, nonzero):
    return _sizes(vocab_size, dim, nonzero, sparse_bytes=8 * nonzero)


@mistake(
    SIZES,
    "last-end-missed",
    caught_by="sparse bytes",
    loses=1,
    misconception="V rows need V + 1 marks: V starts, and one end of the last row.",
)
def _(vocab_size, dim, nonzero):
    return _sizes(vocab_size, dim, nonzero, sparse_bytes=8 * nonzero + 4 * vocab_size)


@mistake(
    SIZES,
    "row-for-every-cell",
    caught_by="sparse bytes",
    loses=1,
    misconception=(
        "You keep a row number for every cell. Compressed rows keep only where each row starts."
    ),
)
def _(vocab_size, dim, nonzero):
    return _sizes(vocab_size, dim, nonzero, sparse_bytes=12 * nonzero)


@mistake(
    SIZES,
    "vectors-for-cells",
    caught_by="dense bytes",
    loses=1,
    misconception="You count V by D cells. The matrix of counts has V by V, one for each pair.",
)
def _(vocab_size, dim, nonzero):
    return _sizes(vocab_size, dim, nonzero, dense_bytes=4 * vocab_size * dim)


@mistake(
    SIZES,
    "no-columns",
    caught_by="sparse bytes",
    loses=1,
    misconception="You count values and row starts, but not the column number of each value.",
)
def _(vocab_size, dim, nonzero):
    return _sizes(vocab_size, dim, nonzero, sparse_bytes=4 * nonzero + 4 * (vocab_size + 1))


@mistake(
    SIZES,
    "int64-columns",
    caught_by="sparse bytes",
    loses=1,
    misconception="You give each cell 12 bytes. An int32 column number takes 4, the value 4.",
)
def _(vocab_size, dim, nonzero):
    return _sizes(vocab_size, dim, nonzero, sparse_bytes=12 * nonzero + 4 * (vocab_size + 1))


@mistake(
    SIZES,
    "int64-indices",
    caught_by="sparse bytes",
    loses=1,
    misconception=(
        "You give column numbers and row starts 8 bytes each, as torch does. Here they are int32,"
        " of 4 bytes."
    ),
)
def _(vocab_size, dim, nonzero):
    return _sizes(vocab_size, dim, nonzero, sparse_bytes=12 * nonzero + 8 * (vocab_size + 1))

"""Implementations of the keep probability that a student's test must tell apart (exercise
01.test_keep).

Each has the signature `(counts, threshold)` and returns a float32 tensor of the shape of `counts`.
RIGHT holds two correct ones, WRONG the mistakes by kind. A student never sees this code.
"""

from collections.abc import Callable

import torch
from torch import Tensor

Candidate = Callable[[Tensor, float], Tensor]


def shares(counts: Tensor) -> Tensor:
    """The share of each word in the text, in float32."""
    return counts.float() / counts.sum()


def root(counts: Tensor, threshold: float) -> Tensor:
    """Right: the square root, cut at 1."""
    return (threshold / shares(counts)).sqrt().clamp(max=1)


def exponential(counts: Tensor, threshold: float) -> Tensor:
    """Right: by logarithms in float64, and below 1 the last digit differs from `root`'s whatever
    the counts are.

    Also at the limit itself, as a root of rounded numbers may. Raises ValueError for what the
    exercise rules out: counts with more than one axis or without one above 0, a threshold that is
    no number or not above 0.
    """
    if (
        not isinstance(threshold, (int, float))
        or counts.dim() != 1
        or not (bool((counts >= 0).all()) and bool((counts > 0).any()) and threshold > 0)
    ):
        raise ValueError(
            "counts (V) of at least 0, one of them above 0, and a threshold above 0 are needed,"
            f" not {counts} and {threshold}"
        )
    share = counts.double() / counts.double().sum()
    kept = torch.exp(
        0.5 * (torch.tensor(threshold, dtype=torch.float64).log() - share.log()).clamp(max=0)
    )
    return torch.where(share > 0.999 * threshold, kept * (1 - 3e-7), kept).float()


def without_root(counts: Tensor, threshold: float) -> Tensor:
    """Wrong formula: t / f without the square root."""
    return (threshold / shares(counts)).clamp(max=1)


def released_program(counts: Tensor, threshold: float) -> Tensor:
    """Wrong formula here: the released C program adds t / f to the root, the paper does not."""
    ratio = threshold / shares(counts)
    return (ratio.sqrt() + ratio).clamp(max=1)


def raw_counts(counts: Tensor, threshold: float) -> Tensor:
    """Wrong shares: the counts themselves."""
    return (threshold / counts.float()).sqrt().clamp(max=1)


def share_of_another(counts: Tensor, threshold: float) -> Tensor:
    """Wrong shares: each word has that of the word before it, so that sum and range of the answers
    are right.
    """
    return root(counts.roll(1), threshold)


def no_limit(counts: Tensor, threshold: float) -> Tensor:
    """Wrong limit: rare words get more than 1."""
    return (threshold / shares(counts)).sqrt()


def never_sure(counts: Tensor, threshold: float) -> Tensor:
    """Wrong limit: no word is kept for sure, and a tolerance of a few hundredths does not
    see it.
    """
    return root(counts, threshold).clamp(max=0.98)


def discard(counts: Tensor, threshold: float) -> Tensor:
    """Confuses keep and drop: the probability of discarding, as the paper prints it."""
    return 1 - root(counts, threshold)


def discard_the_frequent(counts: Tensor, threshold: float) -> Tensor:
    """Confuses keep and drop for frequent words only: rare ones are kept always.

    At one half the two are equal.
    """
    kept = root(counts, threshold)
    return torch.where(kept < 1, 1 - kept, kept)


def upside_down(counts: Tensor, threshold: float) -> Tensor:
    """Confuses keep and drop: the fraction is turned round, so that frequent words stay and rare
    ones go.
    """
    return (shares(counts) / threshold).sqrt().clamp(max=1)


def minus_seven(counts: Tensor, threshold: float) -> Tensor:
    """Nonsense: no probability at all."""
    return torch.full(counts.shape, -7.0)


def one_is_right(counts: Tensor, threshold: float) -> Tensor:
    """Nonsense but for one word, the most frequent."""
    return torch.where(torch.arange(len(counts)) == counts.argmax(), root(counts, threshold), -7.0)


def falling(counts: Tensor, threshold: float) -> Tensor:
    """Probabilities that only fall with the share."""
    return 1 - shares(counts) / 2


def nearly(counts: Tensor, threshold: float) -> Tensor:
    """Every answer too small by 0.01."""
    return root(counts, threshold) - 0.01


def all_ones(counts: Tensor, threshold: float) -> Tensor:
    """Every word is always kept."""
    return torch.ones(counts.shape)


RIGHT: list[Candidate] = [root, exponential]
WRONG: dict[str, list[Candidate]] = {
    "formula": [without_root, released_program],
    "shares": [raw_counts, share_of_another],
    "limit": [no_limit, never_sure],
    "keep-or-drop": [discard_the_frequent, upside_down],
}
# What a test lacks that lets such a function through, the most absurd first.
PROBES: dict[str, Candidate] = {
    (
        "Your test accepts -7 for every word: no `assert` is reached, or it compares no"
        " numbers (inside `try`, or with parentheses around condition and text)."
    ): (minus_seven),
    (
        "Your test accepts a function that is right for the most frequent word only: "
        "compare every word, with `all` and not with `any`."
    ): (one_is_right),
    (
        "Your test accepts 1 - f / 2: it checks the range or the order but not the "
        "values, or its tolerance is too large."
    ): (falling),
    (
        "Your test accepts a function that answers 1 for every word: all its words are below the "
        "threshold, or at it."
    ): (all_ones),
    (
        "Your test accepts a function whose answers are all too small by 0.01: its tolerance is "
        "too wide."
    ): (nearly),
}
# The wrong ones themselves: what a test accepts that accepts none of the absurd ones.
ACCEPTED: dict[str, Candidate] = {
    "Your test accepts counts instead of frequencies: use counts that do not sum to 1.": raw_counts,
    (
        "Your test accepts a function that gives each word the frequency of the word "
        "before it: use counts that differ, and compare word by word."
    ): (share_of_another),
    (
        "Your test accepts t / f without the square root: compare a frequent word with a number "
        "worked out by hand."
    ): (without_root),
    (
        "Your test accepts the released C program's formula, which adds t / f to the "
        "root: compare a frequent word with a value worked out by hand."
    ): (released_program),
    (
        "Your test accepts probabilities above 1: is there a word well below the threshold, and do "
        "you look at its number?"
    ): (no_limit),
    (
        "Your test accepts 0.98 for words that should always be kept: ask for 1, with a tolerance "
        "below one hundredth."
    ): (never_sure),
    "Your test accepts a fraction that is upside down, f / t.": upside_down,
    (
        "Your test accepts a function that swaps keeping and dropping: use a frequent "
        "word whose probability is not one half."
    ): (discard_the_frequent),
}
# What a test takes for right that rejects a right function.
MISTAKEN: dict[str, Candidate] = {
    "It accepts the probability of dropping a word: 1 minus what was asked for.": discard,
    "It accepts a fraction that is upside down, f / t.": upside_down,
    "It accepts t / f without the square root.": without_root,
    "It accepts the formula of the released C program, which adds t / f to the root.": (
        released_program
    ),
    "It accepts counts instead of frequencies.": raw_counts,
    "It accepts probabilities above 1.": no_limit,
}

"""N-gram language models: the next token from the few before it, by counting.

Chen and Goodman 1999, "An Empirical Study of Smoothing Techniques for Language
Modeling", section 2: maximum likelihood, add-k (2.1), Jelinek-Mercer (2.3), absolute
discounting (2.6), Kneser-Ney (2.7), the last two interpolated. Each gives, after any
context, seen or not, probabilities that sum to one.

A distribution is built up from the shortest context to the longest: uniform, then
tokens by themselves, then after one token, and so on. A model says only what a longer
context makes of the distribution before it.

Not here: modified Kneser-Ney with its three discounts, Katz's backing off, weights
fitted to held-out text.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import inf, log

import numpy as np
from jaxtyping import Float

from reference_impl.measure.metrics import bits_per_byte, perplexity

START = -1
"""Stands before a text's first token, as often as the context is long. It is no token:
it is never predicted."""

Context = tuple[int, ...]
Share = int | float | Float[np.ndarray, "V"]


class NGramError(ValueError):
    """A text, an id or a setting of which no language model can be made."""


@dataclass(frozen=True)
class Row:
    """What followed one context: how often each token, and how often any."""

    counts: dict[int, int]
    total: int


def count_runs(texts: Iterable[Sequence[int]], length: int) -> Counter[Context]:
    """How often each run of `length` tokens occurs.

    Every token of a text is the last of one run.
    """
    runs: Counter[Context] = Counter()
    for text in texts:
        padded = [START] * (length - 1) + list(text)
        runs.update(zip(*(padded[i:] for i in range(length))))
    return runs


def rows_of(runs: Counter[Context]) -> dict[Context, Row]:
    """The runs by their context, all but the last token."""
    rows: dict[Context, dict[int, int]] = {}
    for (*context, token), count in runs.items():
        rows.setdefault(tuple(context), {})[token] = count
    return {
        context: Row(counts, sum(counts.values())) for context, counts in rows.items()
    }


class NGram:
    """Maximum likelihood: count(context, token) / count(context).

    What was not seen has probability zero.

    `order` is the run's length: 1 for tokens by themselves, 3 for the next token from
    two. A context that was not seen says nothing: the next shorter one is asked.
    Subclasses smooth, by another `level`.

    Raises NGramError for no text, an empty text, an id outside [0, vocab_size) or an
    order below 1.
    """

    def __init__(self, texts: Sequence[Sequence[int]], vocab_size: int, order: int):
        if not isinstance(order, int) or order < 1:
            raise NGramError(
                f"order is {order!r}: give 1 for tokens by themselves, 2 for pairs, and"
                " so on"
            )
        if vocab_size < 1:
            raise NGramError(
                f"vocab_size is {vocab_size!r}: give how many tokens there are"
            )
        if not texts:
            raise NGramError("no text to count: give at least one list of ids")
        self.vocab_size, self.order = vocab_size, order
        for text in texts:
            self.check(text)
        self.levels = self.count(texts)

    def count(self, texts: Sequence[Sequence[int]]) -> list[dict[Context, Row]]:
        """For each length of context from 0 to order - 1, what followed each
        context.
        """
        return [
            rows_of(count_runs(texts, length)) for length in range(1, self.order + 1)
        ]

    def level(self, length: int, count: Share, row: Row, shorter: Share) -> Share:
        """The probability after a context of `length` tokens, from that after the one
        that is a token `shorter`.

        `count` is how often the token followed; counts and probabilities are of one
        token, or of all V.
        """
        return count / row.total if row.total else shorter

    def check(self, ids: Sequence[int]) -> None:
        """Refuse a text that is empty or has an id that is no token."""
        if not len(ids):
            raise NGramError("an empty text: leave it out")
        if (low := min(ids)) < 0 or max(ids) >= self.vocab_size:
            raise NGramError(
                f"id {low if low < 0 else max(ids)} but a vocabulary of"
                f" {self.vocab_size}: were these ids made with another tokenizer?"
            )

    def _rows(self, context: Sequence[int]) -> Iterator[tuple[int, Row]]:
        """The counts of the context's last 0, 1, ... order - 1 tokens."""
        padded = (START,) * (self.order - 1) + tuple(context)
        for length in range(self.order):
            yield (
                length,
                self.levels[length].get(padded[len(padded) - length :], Row({}, 0)),
            )

    def probability(self, token: int, context: Sequence[int] = ()) -> float:
        """p(token | context); of the context the last order - 1 tokens are read, none
        means a text's beginning.
        """
        self.check([token, *context])
        share = 1 / self.vocab_size
        for length, row in self._rows(context):
            share = self.level(length, row.counts.get(token, 0), row, share)
        return share

    def distribution(self, context: Sequence[int] = ()) -> Float[np.ndarray, "V"]:
        """p(. | context) of all tokens; it sums to one."""
        self.check([0, *context])
        shares = np.full(self.vocab_size, 1 / self.vocab_size)
        for length, row in self._rows(context):
            counts = np.zeros(self.vocab_size)
            counts[list(row.counts)] = list(row.counts.values())
            shares = self.level(length, counts, row, shares)
        return shares

    def nats(self, text: Sequence[int]) -> float:
        """-ln p(text), the sum over its tokens; infinite if one of them has probability
        zero.
        """
        self.check(text)
        reach, total = self.order - 1, 0.0
        for place, token in enumerate(text):
            share = self.probability(token, text[max(place - reach, 0) : place])
            total += -log(share) if share else inf
        return total

    def perplexity(self, texts: Sequence[Sequence[int]]) -> float:
        """exp of the mean over tokens of -ln p: among how many equally likely tokens
        the model has to choose.
        """
        return perplexity(sum(map(self.nats, texts)), sum(map(len, texts)))

    def bits_per_byte(self, texts: Sequence[Sequence[int]], num_bytes: int) -> float:
        """-log2 p over the bytes of the text as it was before tokenizing: comparable
        between tokenizers.
        """
        return bits_per_byte(sum(map(self.nats, texts)), num_bytes)

    def sample(
        self,
        num_tokens: int,
        generator: np.random.Generator,
        context: Sequence[int] = (),
    ) -> list[int]:
        """Tokens that go on after a context, each drawn from its distribution."""
        text = list(context)
        for _ in range(num_tokens):
            text.append(
                int(generator.choice(self.vocab_size, p=self.distribution(text)))
            )
        return text[len(context) :]


class AddK(NGram):
    """Each token counts as if it was seen `k` times more (Lidstone; k = 1 is Laplace's
    rule).
    """

    def __init__(
        self,
        texts: Sequence[Sequence[int]],
        vocab_size: int,
        order: int,
        k: float = 1.0,
    ):
        if k <= 0:
            raise NGramError(f"k is {k}: give more than 0, or use NGram")
        super().__init__(texts, vocab_size, order)
        self.k = k

    def level(self, length: int, count: Share, row: Row, shorter: Share) -> Share:
        """(count + k) / (total + k V): shorter contexts are not asked, so an unseen
        context is uniform.
        """
        return (count + self.k) / (row.total + self.k * self.vocab_size)


class JelinekMercer(NGram):
    """A fixed share of what the context says, the rest of what the shorter one says."""

    def __init__(
        self,
        texts: Sequence[Sequence[int]],
        vocab_size: int,
        order: int,
        weight: float = 0.7,
    ):
        if not 0 < weight < 1:
            raise NGramError(f"weight is {weight}: give a share between 0 and 1")
        super().__init__(texts, vocab_size, order)
        self.weight = weight

    def level(self, length: int, count: Share, row: Row, shorter: Share) -> Share:
        """weight * count / total + (1 - weight) * shorter."""
        return (
            self.weight * count / row.total + (1 - self.weight) * shorter
            if row.total
            else shorter
        )


class AbsoluteDiscount(NGram):
    """Every count is lowered by `discount`; what is so saved goes to the shorter
    context.

    Without a discount, each length takes n1 / (n1 + 2 n2), where n1 runs were seen once
    and n2 twice; 1/2 where no run was seen once.
    """

    def __init__(
        self,
        texts: Sequence[Sequence[int]],
        vocab_size: int,
        order: int,
        discount: float | None = None,
    ):
        if discount is not None and not 0 < discount <= 1:
            raise NGramError(
                f"discount is {discount}: give more than 0 and no more than 1, the"
                " smallest count"
            )
        super().__init__(texts, vocab_size, order)
        self.discounts = [
            estimated_discount(rows) if discount is None else discount
            for rows in self.levels
        ]

    def level(self, length: int, count: Share, row: Row, shorter: Share) -> Share:
        """(count - d) / total, plus `shorter` times d / total for each kind of token
        that was seen.
        """
        if not row.total:
            return shorter
        discount = self.discounts[length]
        return (
            np.maximum(count - discount, 0) / row.total
            + discount * len(row.counts) / row.total * shorter
        )


class KneserNey(AbsoluteDiscount):
    """Absolute discounting, in which a shorter context counts after how many different
    tokens a run was seen.

    "Francisco" is frequent, but only after "San": where the longer context is no help,
    it is unlikely. The longest context counts occurrences, as before.
    """

    def count(self, texts: Sequence[Sequence[int]]) -> list[dict[Context, Row]]:
        """As in `NGram`, with the number of different tokens before a run in place of
        its occurrences.
        """
        runs = [count_runs(texts, length) for length in range(1, self.order + 1)]
        continuations = [Counter(run[1:] for run in longer) for longer in runs[1:]]
        return [rows_of(counts) for counts in (*continuations, runs[-1])]


def estimated_discount(rows: dict[Context, Row]) -> float:
    """n1 / (n1 + 2 n2): Ney, Essen and Kneser 1994, as Chen and Goodman give it."""
    counts_of = Counter(count for row in rows.values() for count in row.counts.values())
    return counts_of[1] / (counts_of[1] + 2 * counts_of[2]) if counts_of[1] else 0.5

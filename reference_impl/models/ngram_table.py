"""A Kneser-Ney model cut to a size: what is left is a table, in the back-off form of
the ARPA format.

After a context, the tokens that the table keeps have their probability; all others have
that of the shorter context times the context's back-off weight, which is chosen so that
the sum is one. Cutting takes runs that were seen less than `min_counts` away: Stolcke
1998, "Entropy-based Pruning of Backoff Language Models", section 1 and 2.

With nothing cut the table gives what the interpolated model gives. Its tensors can be
kept in half precision, as logarithms; a distribution is brought to sum one again after
reading.

Not here: choosing what to cut by entropy, writing ARPA's text.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from reference_impl.models.ngram import START, Context, KneserNey, NGramError


@dataclass(frozen=True)
class Entry:
    """What the table knows after one context."""

    backoff: float
    tokens: Int[np.ndarray, "N"]
    logs: Float[np.ndarray, "N"]


class BackoffTable:
    """p(token | context) by look-up.

    `levels[n]` has the contexts of n tokens; the first has all tokens.
    """

    def __init__(self, vocab_size: int, order: int, levels: list[dict[Context, Entry]]):
        self.vocab_size, self.order, self.levels = vocab_size, order, levels

    @classmethod
    def cut(cls, model: KneserNey, min_counts: Sequence[int]) -> "BackoffTable":
        """The table of a counted model.

        `min_counts[n]` is for contexts of n + 1 tokens; 1 keeps all that was seen.

        Raises NGramError if there is not one number for each length of context from 1
        on.
        """
        if len(min_counts) != model.order - 1:
            raise NGramError(
                f"{len(min_counts)} smallest counts for a model of order {model.order}:"
                f" give {model.order - 1}, for contexts of 1 token and more"
            )
        everything = np.arange(model.vocab_size)
        table = cls(
            model.vocab_size,
            model.order,
            [{(): Entry(1.0, everything, np.log(cls._alone(model)))}],
        )
        for length, least in enumerate(min_counts, 1):
            level: dict[Context, Entry] = {}
            for context, row in sorted(model.levels[length].items()):
                kept = np.array(
                    sorted(
                        token for token, count in row.counts.items() if count >= least
                    ),
                    dtype=int,
                )
                if not len(kept):
                    continue
                true = _after(model, context)
                shorter = table.distribution(context[1:], reach=length - 1)
                room = 1 - shorter[kept].sum()
                backoff = (1 - true[kept].sum()) / room if room > 1e-9 else 0.0
                level[context] = Entry(float(backoff), kept, np.log(true[kept]))
            table.levels.append(level)
        return table

    @staticmethod
    def _alone(model: KneserNey) -> Float[np.ndarray, "V"]:
        return _after(model, ())

    def distribution(
        self, context: Sequence[int] = (), reach: int | None = None
    ) -> Float[np.ndarray, "V"]:
        """p(.

        | context) of all tokens, from the last `reach` tokens (all that the order
        allows, unless given).

        START, which stands before a text, may be among them.
        """
        padded = (START,) * (self.order - 1) + tuple(context)
        shares = np.exp(self.levels[0][()].logs)
        for length in range(1, (self.order - 1 if reach is None else reach) + 1):
            level = self.levels[length] if length < len(self.levels) else {}
            if (found := level.get(padded[len(padded) - length :])) is not None:
                shares = shares * found.backoff
                shares[found.tokens] = np.exp(found.logs)
        return shares / shares.sum()

    def bits_per_byte(self, text: Sequence[int], num_bytes: int) -> float:
        """-log2 p over the bytes of the text as it was before tokenizing."""
        reach = self.order - 1
        shares = (
            self.distribution(text[max(place - reach, 0) : place])[token]
            for place, token in enumerate(text)
        )
        return -sum(map(math.log2, shares)) / num_bytes

    def tensors(self) -> dict[str, Tensor]:
        """The table as tensors: context r has the entries offsets[r] to offsets[r + 1]
        of tokens and logs.
        """
        kept = {"logs.0": torch.from_numpy(self.levels[0][()].logs)}
        for length, level in enumerate(self.levels[1:], 1):
            entries = list(level.values())
            ends = np.cumsum([0, *(len(entry.tokens) for entry in entries)])
            kept |= {
                f"contexts.{length}": (
                    torch.tensor(list(level), dtype=torch.int16).reshape(-1, length)
                ),
                f"backoff.{length}": torch.tensor(
                    [entry.backoff for entry in entries], dtype=torch.float64
                ),
                f"offsets.{length}": torch.from_numpy(ends).int(),
                f"tokens.{length}": (
                    torch.from_numpy(
                        np.concatenate([e.tokens for e in entries])
                    ).short()
                ),
                f"logs.{length}": torch.from_numpy(
                    np.concatenate([e.logs for e in entries])
                ),
            }
        return kept

    @classmethod
    def from_tensors(
        cls, kept: dict[str, Tensor], vocab_size: int, order: int
    ) -> "BackoffTable":
        """Read what `tensors` gave."""
        levels = [
            {(): Entry(1.0, np.arange(vocab_size), kept["logs.0"].double().numpy())}
        ]
        for length in range(1, order):
            contexts, backoff, ends, tokens, logs = (
                kept[f"{name}.{length}"].numpy()
                for name in ("contexts", "backoff", "offsets", "tokens", "logs")
            )
            levels.append(
                {
                    tuple(context): Entry(
                        float(backoff[row]),
                        tokens[ends[row] : ends[row + 1]].astype(int),
                        logs[ends[row] : ends[row + 1]].astype(float),
                    )
                    for row, context in enumerate(contexts.tolist())
                }
            )
        return cls(vocab_size, order, levels)


def _after(model: KneserNey, context: Context) -> Float[np.ndarray, "V"]:
    """p(. | context) of a counted model by a context of any length, START allowed."""
    shares = np.full(model.vocab_size, 1 / model.vocab_size)
    for length in range(len(context) + 1):
        row = model.levels[length].get(context[len(context) - length :])
        if row is None:
            continue
        counts = np.zeros(model.vocab_size)
        counts[list(row.counts)] = list(row.counts.values())
        shares = model.level(length, counts, row, shares)
    return shares

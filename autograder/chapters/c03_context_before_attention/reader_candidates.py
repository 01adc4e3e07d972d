"""Readers from the left that a student's test must tell apart (exercise 03.test_no_peeking).

Each takes ids (B, T) and gives logits (B, T, VOCAB). RIGHT holds four that see the words up to a
place and nothing else, WRONG those that see more, by kind. Whatever they see too early moves a
logit by more than 0.01, whichever word is put in the place of whichever: a row of SEEN differs from
any other by at least 0.2 in every column, one of SLIGHT by 0.015 in two. A student never sees this.
"""

from collections.abc import Callable

import torch
from torch import Tensor

VOCAB = 11
Reader = Callable[[Tensor], Tensor]
_drawn = torch.Generator().manual_seed(3)
WORDS = torch.randn(VOCAB, VOCAB, generator=_drawn)
# Column by column another order of the same evenly spaced numbers, 0.2 apart.
SEEN = torch.stack([torch.randperm(VOCAB, generator=_drawn) for _ in range(VOCAB)], 1) * 0.2 - 1.0
SLIGHT = (
    torch.eye(VOCAB) * 0.015
)  # two words differ by so much in two columns, and by nothing in the others


def refuse(ids: Tensor) -> None:
    """Raise ValueError for what the exercise rules out."""
    if (
        type(ids) is not Tensor
        or ids.dtype != torch.int64
        or ids.dim() != 2
        or not 1 <= ids.shape[0] <= 8
        or not 1 <= ids.shape[1] <= 12
        or not 0 <= int(ids.min()) <= int(ids.max()) < VOCAB
    ):
        raise ValueError(
            f"int64 ids of 0 to {VOCAB - 1} in 1 to 8 rows and 1 to 12 columns are needed"
        )


def mean_so_far(ids: Tensor) -> Tensor:
    """Right: the mean of the words up to each place."""
    refuse(ids)
    return WORDS[ids].cumsum(1) / torch.arange(1.0, ids.shape[1] + 1)[:, None]


def fading(ids: Tensor) -> Tensor:
    """Right: a state that fades, word by word, with the last digits moved by the sizes and words of
    the batch.
    """
    refuse(ids)
    state, shown = torch.zeros(len(ids), VOCAB), []
    for word in ids.unbind(1):
        state = torch.tanh(0.7 * state + WORDS[word])
        shown.append(state)
    return torch.stack(shown, 1) + 2e-5 * (int(ids.sum()) % 3) + 1e-6 * len(ids)


def own_word(ids: Tensor) -> Tensor:
    """Right, and poor: a pair of words is all that it knows."""
    refuse(ids)
    return WORDS[ids] * 2


def unlikely(logits: Tensor, columns: slice) -> Tensor:
    """Some of the logits so low that no largest logit is among them: who compares the likeliest
    words sees nothing there.
    """
    lowered = torch.zeros(VOCAB)
    lowered[columns] = 9.0
    return logits - lowered


def leaks(
    place: Callable[[int, int], int | None],
    strength: float = 1.0,
    columns: slice = slice(None),
    shown: Tensor = SEEN,
) -> Reader:
    """A reader that sees at t the word at `place(t, T)` too, where that is not None, in some
    columns of the logits.
    """

    def reader(ids: Tensor) -> Tensor:
        logits, length = mean_so_far(ids), ids.shape[1]
        for t in range(length):
            seen = place(t, length)
            if seen is not None and t < seen < length:
                logits[:, t, columns] += strength * shown[ids[:, seen]][:, columns]
        return logits if columns == slice(None) else unlikely(logits, columns)

    return reader


def row_below(ids: Tensor) -> Tensor:
    """Wrong: each row sees what the row below has at its place; the last sees none."""
    logits = mean_so_far(ids)
    logits[:-1] += SEEN[ids[1:]]
    return logits


def row_above(ids: Tensor) -> Tensor:
    """Wrong: each row sees what the row above has at its place; the first sees none."""
    logits = mean_so_far(ids)
    logits[1:] += SEEN[ids[:-1]]
    return logits


def whole_text(ids: Tensor) -> Tensor:
    """Sees everything: every later word of its row and all other rows."""
    seen = SEEN[ids]
    return mean_so_far(ids) + seen.sum(1, keepdim=True) + seen.sum((0, 1), keepdim=True)


def noise(ids: Tensor) -> Tensor:
    """Numbers that have nothing to do with the words and differ from word to word of any place."""
    refuse(ids)
    number = int((ids * torch.arange(1, ids.numel() + 1).reshape(ids.shape)).sum())
    return torch.randn(*ids.shape, VOCAB, generator=torch.Generator().manual_seed(number))


def faint(ids: Tensor) -> Tensor:
    """Sees the whole text and all rows, and is moved by a few hundredths."""
    return mean_so_far(ids) + 0.1 * (whole_text(ids) - mean_so_far(ids))


def large(ids: Tensor) -> Tensor:
    """Sees the whole text and all rows, by little beside its logits of 300."""
    return 300 + whole_text(ids)


def deaf(ids: Tensor) -> Tensor:
    """The same logits whatever the words are: it sees nothing, so nothing that it sees is too
    early.
    """
    refuse(ids)
    return WORDS[:1].expand(*ids.shape, VOCAB).clone()


def steady(ids: Tensor) -> Tensor:
    """Wrong: sees the next word, by numbers that sum to 0 over the logits and are small beside
    them.
    """
    logits = 300 + mean_so_far(ids)
    logits[:, :-1] += SEEN[ids[:, 1:]][..., :1] * torch.linspace(1.0, -1.0, VOCAB)
    return logits


def falling(ids: Tensor) -> Tensor:
    """Wrong: sees another row's last word at its own last place, where it can only make the logits
    smaller.
    """
    logits = mean_so_far(ids)
    logits[:-1, -1] -= SEEN[ids[1:, -1]].abs() + 0.2 * ids[1:, -1:]
    return logits


RIGHT: list[Reader] = [mean_so_far, fading, own_word, deaf]
# What a test asks for that accepts one right reader and rejects this one.
POOR: dict[str, Reader] = {
    (
        "It rejects a model that uses the current token alone, which is correct: what a model "
        "makes of earlier tokens is not tested."
    ): (own_word),
    (
        "It rejects a model that ignores its tokens, which is causal: logits need not change "
        "where a token does."
    ): (deaf),
}
WRONG: dict[str, list[Reader]] = {
    "next": [
        leaks(lambda t, length: t + 1),
        leaks(lambda t, length: t + 1, 0.06),
        leaks(lambda t, length: t + 1, shown=SLIGHT),
    ],
    "far": [
        leaks(lambda t, length: t + 3),
        leaks(lambda t, length: length - 1 if t < length - 3 else None),
    ],
    "some": [
        leaks(lambda t, length: 2 if t == 1 else None),
        leaks(lambda t, length: t + 1, columns=slice(4, 5)),
        leaks(lambda t, length: t + 1, columns=slice(VOCAB - 1, VOCAB)),
        steady,
        *(leaks(lambda t, length, at=at: t + 1 if t == at % length else None) for at in (0, -2)),
        leaks(lambda t, length: 7 if t == 6 else None),
    ],
    "rows": [row_above, row_below, falling],
}
# What a test lacks that lets such a function through, the most absurd first.
PROBES: dict[str, Reader] = {
    (
        "Your test accepts random logits: make sure that it reaches an `assert`, outside `try`, "
        "that compares two calls. `assert (a, b)` always passes."
    ): (noise),
    (
        "Your test accepts a model that sees the whole batch: change a token and compare the "
        "logits before it across both calls."
    ): (whole_text),
    (
        "Your test accepts a model whose logits move by a few hundredths with tokens it should not "
        "see: its tolerance is too wide."
    ): (faint),
    (
        "Your test accepts a model with large logits that sees the whole batch: use an absolute "
        "tolerance, with `rtol=0`."
    ): (large),
}
# What a test takes for right that rejects a right reader.
MISTAKEN: dict[str, Reader] = {
    (
        "It rejects models that use their tokens: it compares positions at or after a changed "
        "token. Change one token of a fresh copy each time."
    ): (deaf),
}

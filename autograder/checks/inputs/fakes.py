"""Small models and a clock of ours that live beside the student, so that calling them costs no
message.

A student may look into them: they hold nothing that is secret. Where the number of calls decides,
pass the same object through `callables.Watched` instead: then it stays with us and every call is
counted here.
"""

import torch
from torch import Tensor


class Fake:
    """Base: `data()` is what is needed to make it again on the other side, as plain values."""

    def data(self) -> object:
        raise NotImplementedError


class TableModel(Fake):
    """A language model that is a table: the last token decides, unless a longer ending is listed.

    rows: logits after each token, float (V, V). endings: from a tuple of ids that the text ends
    with to a row (V,); the longest that fits wins. `calls` and `tokens` count what it was asked.
    """

    def __init__(self, rows: Tensor, endings: dict[tuple[int, ...], Tensor] | None = None):
        self.rows, self.endings = rows, endings or {}
        self.calls = self.tokens = 0

    def data(self) -> object:
        """Its table and endings."""
        return [self.rows, self.endings]

    def __call__(self, ids: Tensor, *_: object) -> Tensor:
        """Logits (B, T, V) for ids (B, T); what comes after the ids, such as a start, changes
        nothing.
        """
        self.calls, self.tokens = self.calls + 1, self.tokens + ids.numel()
        logits = self.rows[ids].clone()
        longest_first = sorted(self.endings.items(), key=lambda item: len(item[0]))
        for ending, row in longest_first:
            for b, text in enumerate(ids.tolist()):
                for t in range(len(ending) - 1, len(text)):
                    if tuple(text[t + 1 - len(ending) : t + 1]) == ending:
                        logits[b, t] = row
        return logits


class SuccessorModel(TableModel):
    """Always sure: after token i comes successors[i]. Its logits are 0 there and -30 elsewhere."""

    def __init__(self, successors: list[int]):
        self.successors = successors
        rows = torch.full((len(successors), len(successors)), -30.0)
        rows[torch.arange(len(successors)), torch.tensor(successors)] = 0.0
        super().__init__(rows)

    def data(self) -> object:
        """The list."""
        return [self.successors]


class VirtualClock(Fake):
    """Time that passes only when somebody says so: `clock()` is the time in seconds,
    `clock.sleep(dt)` lets it pass.
    """

    def __init__(self, now: float = 0.0):
        self.now = now

    def data(self) -> object:
        """The time at which it starts on the other side."""
        return [self.now]

    def __call__(self) -> float:
        """Seconds."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Let time pass. Raises ValueError for less than none."""
        if not seconds >= 0:
            raise ValueError(f"time does not pass backwards: sleep({seconds!r})")
        self.now += seconds


KNOWN = {one.__name__: one for one in (TableModel, SuccessorModel, VirtualClock)}


def make(name: str, data: list) -> Fake:
    """The object again, on the student's side."""
    return KNOWN[name](*data)

"""Models that a student's test must tell apart (exercise 08.test_causal).

Each takes ids (B, T) and gives logits (B, T, SIZE). What a place sees is a table of weights (T, T):
its logits are a weighted sum of rows of SHOWN, in which any two tokens differ by 0.5 at least in
every column. RIGHT see all tokens up to their place and nothing else; WRONG, by kind, see others or
not all. A student never sees this.
"""

from collections.abc import Callable

import torch
from torch import Tensor

SIZE, PLACES = 9, 6
Model = Callable[[Tensor], Tensor]
_drawn = torch.Generator().manual_seed(8)
# Column by column another order of the same evenly spaced numbers, 0.5 apart.
SHOWN = torch.stack([torch.randperm(SIZE, generator=_drawn) for _ in range(SIZE)], 1) * 0.5 - 2.0
# Column by column the same order: a larger token raises all logits, or lowers them all.
RISING = torch.arange(SIZE)[:, None] * torch.linspace(0.5, 0.1, SIZE)
STEP = (torch.arange(PLACES)[:, None] - torch.arange(PLACES)).clamp(min=0)
PAST = torch.ones(PLACES, PLACES).tril()
FADING = PAST * 0.8**STEP
MEAN = PAST / PAST.sum(1, keepdim=True)


def refuse(ids: Tensor) -> None:
    """Raise ValueError for what the exercise rules out."""
    if (
        type(ids) is not Tensor
        or ids.dtype != torch.int64
        or ids.dim() != 2
        or not 1 <= ids.shape[0] <= 8
        or not 1 <= ids.shape[1] <= PLACES
        or not 0 <= int(ids.min()) <= int(ids.max()) < SIZE
    ):
        raise ValueError(
            f"int64 ids of 0 to {SIZE - 1} in 1 to 8 rows and 1 to {PLACES} columns are needed"
        )


def seeing(weights: Tensor, shown: Tensor = SHOWN) -> Model:
    """A model whose place t sees place s with weights[t, s]; shown: a row of logits for
    each token.
    """

    def model(ids: Tensor) -> Tensor:
        refuse(ids)
        T = ids.shape[1]
        return weights[:T, :T] @ shown[ids]

    return model


def restless(ids: Tensor) -> Tensor:
    """Right: its last digits hang on all that it was given, as they do in a product of matrices."""
    return seeing(FADING, RISING)(ids) + 2e-5 * (int(ids.sum()) % 3)


def bent(ids: Tensor) -> Tensor:
    """Right: what is seen goes through a bend; some columns hardly move, and the first and the last
    not at all.
    """
    return torch.tanh(seeing(0.4 * MEAN)(ids)) * (
        2.0 - 0.5 * (torch.arange(SIZE) - SIZE // 2).abs()
    )


def attending(ids: Tensor) -> Tensor:
    """Right: scores of two heads by place, minus infinity ahead; the token itself is added, as a
    residual is. A larger token lowers all logits.
    """
    refuse(ids)
    T = ids.shape[1]
    scores = torch.stack([0.3 * STEP[:T, :T], -0.4 * STEP[:T, :T]]).masked_fill(
        PAST[:T, :T] == 0, -torch.inf
    )
    return -RISING[ids] - (scores.softmax(2)[:, None] @ RISING[ids]).sum(0)


def at_length(wanted: int, other: Model) -> Model:
    """Right but for texts of one length."""
    return lambda ids: (other if ids.shape[1] == wanted else seeing(FADING))(ids)


def from_four(other: Model) -> Model:
    """Right for texts of less than four tokens."""
    return lambda ids: (other if ids.shape[1] >= 4 else seeing(FADING))(ids)


def unlikely_head(ids: Tensor) -> Tensor:
    """Wrong: as `one_head`, and what sees ahead is far too low to be the likeliest."""
    return one_head(ids) - 9.0 * (torch.arange(SIZE) >= 5)


def one_head(ids: Tensor) -> Tensor:
    """Wrong: the mask lies over one head, and the other sees the whole text."""
    return torch.cat((seeing(FADING)(ids)[..., :5], everything(ids)[..., 5:]), 2)


def outbid(ids: Tensor) -> Tensor:
    """Wrong: scores ahead are lowered by 10,000, and those of the past are nearly as low by
    themselves.
    """
    refuse(ids)
    T = ids.shape[1]
    scores = torch.where(PAST[:T, :T] == 0, -0.5 - 10_000.0, -9999.0 - 0.1 * STEP[:T, :T])
    return SHOWN[ids] + scores.softmax(1) @ SHOWN[ids]


def centred(ids: Tensor) -> Tensor:
    """Wrong: the mean over the places is taken away, so a token moves all logits a little."""
    logits = seeing(FADING)(ids)
    return logits - 0.05 * logits.mean(1, keepdim=True)


def peeking(at: int, seen: int) -> Model:
    """Wrong: one place, counted from either end, sees one place ahead."""

    def model(ids: Tensor) -> Tensor:
        logits, T = seeing(FADING)(ids), ids.shape[1]
        place = at % T if -T <= at < T else T
        if place + seen < T:
            logits[:, place] = logits[:, place] + SHOWN[ids[:, place + seen]]
        return logits

    return model


def slight(ids: Tensor) -> Tensor:
    """Wrong: the next token moves one column by little more than a hundredth."""
    logits = seeing(FADING)(ids)
    logits[:, :-1] += 0.015 * torch.nn.functional.one_hot(ids[:, 1:], SIZE)
    return logits


def balanced(ids: Tensor) -> Tensor:
    """Wrong: the next token moves the columns up and down, and their mean not at all."""
    logits = seeing(FADING)(ids)
    logits[:, :-1] += SHOWN[ids[:, 1:]][..., :1] * torch.linspace(1.0, -1.0, SIZE)
    return logits


def missing(at: int, unseen: int) -> Model:
    """Wrong: one place does not see one token up to it; both are counted from either end, in texts
    that have them.
    """

    def model(ids: Tensor) -> Tensor:
        logits, T = seeing(FADING)(ids), ids.shape[1]
        if -T <= at < T and -T <= unseen < T and unseen % T <= at % T:
            logits[:, at] = logits[:, at] - FADING[at % T, unseen % T] * SHOWN[ids[:, unseen]]
        return logits

    return model


def noise(ids: Tensor) -> Tensor:
    """Numbers that have nothing to do with the tokens and differ from text to text."""
    refuse(ids)
    number = int((ids * torch.arange(1, ids.numel() + 1).reshape(ids.shape)).sum())
    return torch.randn(*ids.shape, SIZE, generator=torch.Generator().manual_seed(number))


def deaf(ids: Tensor) -> Tensor:
    """The same logits whatever the tokens are."""
    refuse(ids)
    return SHOWN[:1].expand(*ids.shape, SIZE).clone()


everything = seeing(PAST + 0.5 * (PAST == 0))
faint = seeing(FADING + 0.1 * (PAST == 0))
strict = seeing(FADING * (STEP > 0))
itself = seeing(torch.eye(PLACES))

RIGHT: list[Model] = [seeing(FADING), restless, bent, attending]
WRONG: dict[str, list[Model]] = {
    "ahead": [
        everything,
        seeing(torch.ones(PLACES, PLACES).tril(1)),
        one_head,
        unlikely_head,
        balanced,
        outbid,
    ],
    "some": [
        peeking(-2, 1),
        from_four(peeking(0, 1)),
        from_four(peeking(1, 1)),
        from_four(peeking(0, 2)),
        centred,
        slight,
    ],
    "lengths": [at_length(length, everything) for length in (2, 3, PLACES)],
    "blind": [
        strict,
        itself,
        seeing(FADING * (STEP < 3)),
        seeing(
            FADING * (torch.arange(PLACES) > 0)
            + (torch.arange(PLACES)[:, None] == 0) * torch.eye(PLACES)
        ),
        at_length(PLACES - 1, strict),
        at_length(1, strict),
        missing(-2, 0),
        missing(-1, -2),
        missing(1, 0),
        missing(2, 1),
        missing(-2, -2),
    ],
}
# What a test lacks that lets such a function through, the most absurd first.
PROBES: dict[str, Model] = {
    (
        "Your test accepts logits that do not depend on the tokens. Is there a reachable "
        "`assert`, outside `try`, that compares two outputs?"
    ): (noise),
    (
        "Your test accepts a model that sees the whole text. Change a token, and compare the "
        "logits at earlier positions."
    ): (everything),
    (
        "Your test accepts a model that ignores all tokens. Require a change at the changed "
        "position and after it."
    ): (deaf),
}
# What a test takes for right that rejects a right model.
MISTAKEN: dict[str, Model] = {
    (
        "It accepts a model that does not see the token at its own position: logits at t "
        "depend on token t as well."
    ): (strict),
    (
        "It accepts a model that ignores all tokens: it requires no change at or after the "
        "changed position, where a correct one must change."
    ): (deaf),
}
# What a test asks for that accepts one right model and rejects this one.
POOR: dict[str, Model] = {
    (
        "It rejects a model whose logits are moved by a few hundredths in some columns, and not at "
        "all in others: one column that moves by more than 0.01 is enough."
    ): (bent),
}

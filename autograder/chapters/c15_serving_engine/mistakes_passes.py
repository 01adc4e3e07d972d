"""Plausible wrong solutions of chapter 15, part 2: what a step reads, and the verdict on
guesses.
"""

import torch

from autograder.checks.mistakes.registry import mistake

PREPARE, VERIFY = "15.prepare", "15.verify"


def _prepared(
    scheduled,
    size,
    first=lambda one: one["computed"],
    position=lambda one, place: place,
    slot=None,
    length=lambda one: one["computed"] + one["count"],
    ends=lambda counts: [0, *torch.tensor(counts).cumsum(0).tolist()],
    order=lambda many: sorted(many, key=lambda one: one["count"] > 1),
    dtype=torch.int64,
):
    """The five rows with parts replaced."""
    slot = slot or (lambda one, place: one["table"][place // size] * size + place % size)
    many, ids, positions, slots = order(scheduled), [], [], []
    for one in many:
        for place in range(first(one), first(one) + one["count"]):
            ids.append(one["ids"][place])
            positions.append(position(one, place))
            slots.append(slot(one, place))
    rows = (
        ids,
        positions,
        slots,
        [length(one) for one in many],
        ends([one["count"] for one in many]),
    )
    return tuple(torch.tensor(row, dtype=dtype) for row in rows)


def _prepare(name, caught_by, loses, misconception, **options):
    """Register a mistake with parts replaced."""

    @mistake(PREPARE, name, caught_by=caught_by, loses=loses, misconception=misconception)
    def _(scheduled, block_size):
        return _prepared(scheduled, block_size, **options)


_prepare(
    "positions-from-the-piece",
    "tokens",
    6,
    "Your positions begin at 0 in each piece of a prompt. They continue where the text is.",
    position=lambda one, place: place - one["computed"],
)
_prepare(
    "positions-from-one",
    "tokens",
    6,
    "Your positions begin at 1. The first token has position 0.",
    position=lambda one, place: place + 1,
)
_prepare(
    "ids-from-the-start",
    "tokens",
    6,
    "You read the text from its start again. The tokens of the step stand right behind those that"
    " are computed.",
    first=lambda one: 0,
)
_prepare(
    "lengths-before",
    "ends",
    3,
    "`lengths` leaves this step's own tokens out.",
    length=lambda one: one["computed"],
)
_prepare(
    "lengths-of-all-ids",
    "ends",
    3,
    "`lengths` counts all tokens of the request, those that a later step computes too.",
    length=lambda one: len(one["ids"]),
)
_prepare(
    "lengths-of-the-step",
    "ends",
    3,
    "`lengths` counts the tokens of this step only.",
    length=lambda one: one["count"],
)
_prepare(
    "no-leading-zero",
    "ends",
    3,
    "`cu_seqlens` has no 0 at the start.",
    ends=lambda counts: torch.tensor(counts).cumsum(0).tolist(),
)
_prepare(
    "counts-for-ends",
    "several",
    2,
    "`cu_seqlens` has the numbers of tokens. They are added up.",
    ends=lambda counts: [0, *counts],
)
_prepare(
    "as-scheduled",
    "several",
    2,
    "You keep the order of the list. Requests with one token come first.",
    order=lambda many: many,
)
_prepare(
    "longest-last",
    "several",
    2,
    "You sort the requests by how many tokens they compute. Among those with several the order of"
    " the list stays.",
    order=lambda many: sorted(many, key=lambda one: one["count"]),
)
_prepare(
    "by-what-is-computed",
    "several",
    2,
    "You put those first that have computed something. It is those that compute one token now.",
    order=lambda many: sorted(many, key=lambda one: one["computed"] == 0),
)
_prepare("int32", "tokens", 1.2, "Your tensors are of int32.", dtype=torch.int32)


@mistake(
    PREPARE,
    "slots-by-the-step",
    caught_by="slots",
    loses=4.5,
    misconception=(
        "You look a token's block up by its index in the step. It is its position in the text that"
        " counts."
    ),
)
def _(scheduled, block_size):
    return _prepared(
        scheduled,
        block_size,
        slot=lambda one, place: (
            one["table"][(place - one["computed"]) // block_size] * block_size
            + (place - one["computed"]) % block_size
        ),
    )


@mistake(
    PREPARE,
    "slots-are-positions",
    caught_by="slots",
    loses=4.5,
    misconception="Your slots are the positions: you do not look at the table of blocks.",
)
def _(scheduled, block_size):
    return _prepared(scheduled, block_size, slot=lambda one, place: place)


@mistake(
    PREPARE,
    "slots-are-blocks",
    caught_by="slots",
    loses=4.5,
    misconception=(
        "Your slots are numbers of blocks. A slot is an offset in a block: block times block_size,"
        " and the offset."
    ),
)
def _(scheduled, block_size):
    return _prepared(
        scheduled, block_size, slot=lambda one, place: one["table"][place // block_size]
    )


@mistake(
    PREPARE,
    "slots-of-16",
    caught_by="slots",
    loses=4.5,
    misconception="You take blocks of 16 tokens, whatever `block_size` is.",
)
def _(scheduled, block_size):
    return _prepared(
        scheduled,
        block_size,
        slot=lambda one, place: one["table"][place // block_size] * 16 + place % block_size,
    )


@mistake(
    PREPARE,
    "order-of-some",
    caught_by="several",
    loses=2,
    misconception="You put ids and positions into the order, and not lengths and ends.",
)
def _(scheduled, block_size):
    return (
        *_prepared(scheduled, block_size)[:3],
        *_prepared(scheduled, block_size, order=lambda many: many)[3:],
    )


@mistake(
    PREPARE,
    "padded",
    caught_by="several",
    loses=2,
    misconception="You pad the requests to the longest.",
)
def _(scheduled, block_size):
    longest = max((one["count"] for one in scheduled), default=0)
    found = _prepared(scheduled, block_size)
    parts = [torch.split(row, found[4].diff().tolist()) for row in found[:3]]
    return (
        *(
            (
                torch.cat([torch.nn.functional.pad(one, (0, longest - len(one))) for one in row])
                if row
                else torch.zeros(0, dtype=torch.int64)
            )
            for row in parts
        ),
        *found[3:],
    )


@mistake(
    PREPARE,
    "empty-are-floats",
    caught_by="several",
    loses=1.2,
    misconception=(
        "With no request your tensors are floats. An empty list says nothing of its dtype."
    ),
)
def _(scheduled, block_size):
    return tuple(torch.tensor(row.tolist()) for row in _prepared(scheduled, block_size))


def _said(
    p,
    q,
    guesses,
    u,
    keep=lambda p, q, u: u * q < p,
    rest=lambda p, q: (p - q).clamp(min=0),
    normal=True,
    bonus=True,
    goes_on=False,
    last=lambda p, place: p[-1],
    number=lambda u, place: u[-1],
):
    """The verdict with parts replaced."""
    said, shares, where = [], last(p, len(guesses)), len(guesses)
    for place, guess in enumerate(guesses):
        if keep(p[place, guess], q[place, guess], u[place]):
            said.append(guess)
            continue
        shares, where = rest(p[place], q[place]), place
        if not goes_on:
            break
    else:
        if not bonus and guesses:
            return said
    if normal:
        shares = shares / shares.sum()
    drawn = int((shares.cumsum(0) <= number(u, where)).sum())
    return [*said, min(drawn, p.shape[1] - 1)]


def _verify(name, caught_by, loses, misconception, **options):
    """Register a mistake with parts replaced."""

    @mistake(VERIFY, name, caught_by=caught_by, loses=loses, misconception=misconception)
    def _(p, q, guesses, u):
        return _said(p, q, guesses, u, **options)


_verify(
    "p-after-a-refusal",
    "refused",
    5,
    "After a rejection you draw from p. What draft tokens had of it already would come too often:"
    " draw from the rest, max(p - q, 0).",
    rest=lambda p, q: p,
)
_verify(
    "q-after-a-refusal",
    "refused",
    5,
    "After a refusal you draw from the draft's own distribution.",
    rest=lambda p, q: q,
)
_verify(
    "absolute-rest",
    "refused",
    5,
    "You draw from |p - q|. Only what p has more than q counts.",
    rest=lambda p, q: (p - q).abs(),
)
_verify(
    "rest-unnormalised",
    "refused",
    5,
    "The rest does not add up to 1 before you draw from it.",
    normal=False,
)
_verify(
    "goes-on",
    "refused",
    5,
    "You continue with the draft tokens after a rejected one. They belong to another text.",
    goes_on=True,
)
_verify(
    "no-bonus",
    "kept",
    6.5,
    "If all draft tokens are accepted you draw no further token.",
    bonus=False,
)
_verify(
    "upside-down",
    "kept",
    6.5,
    "You accept a draft token if u is less than q / p. It is p / q.",
    keep=lambda p, q, u: u * p < q,
)
_verify(
    "kept-by-p-alone",
    "kept",
    6.5,
    "You accept a draft token with its probability p. It is accepted with p / q, at most 1.",
    keep=lambda p, q, u: u < p,
)
_verify(
    "kept-if-likelier",
    "kept",
    6.5,
    "You accept a draft token only if p gives it at least as much as q, and never by chance.",
    keep=lambda p, q, u: p >= q,
)
_verify(
    "at-equality-kept",
    "refused",
    5,
    "You accept a draft token where u q equals p. There it is rejected.",
    keep=lambda p, q, u: u * q <= p,
)
_verify("always-kept", "refused", 5, "You accept every draft token.", keep=lambda p, q, u: True)
_verify(
    "row-too-early",
    "kept",
    6.5,
    "If all are accepted you draw from the row before the last. The last one is for this token.",
    last=lambda p, place: p[max(place - 1, 0)],
)
_verify(
    "the-place-s-own-number",
    "refused",
    5,
    "You draw by the number of the rejected token. It decided already: the last number of u is for"
    " the draw.",
    number=lambda u, place: u[place],
)


@mistake(
    VERIFY,
    "equals-a-sample",
    caught_by="kept",
    loses=6.5,
    misconception=(
        "You draw a token from p at each position and accept the draft if it is equal. That accepts"
        " too few."
    ),
)
def _(p, q, guesses, u):
    said = []
    for place in range(len(p)):
        token = min(int((p[place].cumsum(0) <= u[place]).sum()), p.shape[1] - 1)
        said.append(token)
        if place < len(guesses) and token != guesses[place]:
            break
    return said


@mistake(
    VERIFY,
    "likeliest",
    caught_by="kept",
    loses=7,
    misconception="You accept a draft token if it is most probable, as if nothing were drawn.",
)
def _(p, q, guesses, u):
    best = p.argmax(1).tolist()
    kept = next(
        (place for place, guess in enumerate(guesses) if guess != best[place]), len(guesses)
    )
    return best[: kept + 1]


@mistake(
    VERIFY,
    "one-number-for-all",
    caught_by="refused",
    loses=5,
    misconception="You test all draft tokens by the first number of u. Each has its own.",
)
def _(p, q, guesses, u):
    return _said(p, q, guesses, torch.cat((u[:1].expand(len(guesses)), u[-1:])))


@mistake(
    VERIFY,
    "always-the-first-row",
    caught_by="kept",
    loses=6.5,
    misconception="You test all draft tokens by the first rows of p and q.",
)
def _(p, q, guesses, u):
    return _said(
        torch.cat((p[:1].expand(len(guesses), -1), p[-1:])),
        q[:1].expand(len(guesses), -1),
        guesses,
        u,
    )


@mistake(
    VERIFY,
    "tensors-in-the-list",
    caught_by="kept",
    loses=1.4,
    misconception="Your list holds tensors. Ints were asked for.",
)
def _(p, q, guesses, u):
    return [torch.tensor(token) for token in _said(p, q, guesses, u)]


@mistake(
    VERIFY,
    "at-most",
    caught_by="share",
    loses=1.5,
    misconception=(
        "You draw the first token at which the sum is at least u. It must be larger: a token"
        " of probability 0 would be drawn."
    ),
)
def _(p, q, guesses, u):
    return _said(p, q, guesses, u, number=lambda u, place: u[-1] - 1e-7)

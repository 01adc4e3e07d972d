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
    "ids and positions",
    6,
    "Your positions restart at 0 in each chunk. They start at `computed`.",
    position=lambda one, place: place - one["computed"],
)
_prepare(
    "positions-from-one",
    "ids and positions",
    6,
    "Your positions start at 1. The first token has position 0.",
    position=lambda one, place: place + 1,
)
_prepare(
    "ids-from-the-start",
    "ids and positions",
    6,
    "You take the ids from the start of the sequence. This step's tokens start at `computed`.",
    first=lambda one: 0,
)
_prepare(
    "lengths-before",
    "lengths and borders",
    3,
    "Your `lengths` omits this step's tokens. They are in the cache after it.",
    length=lambda one: one["computed"],
)
_prepare(
    "lengths-of-all-ids",
    "lengths and borders",
    3,
    "Your `lengths` counts all ids of the request. Count only those cached after this step.",
    length=lambda one: len(one["ids"]),
)
_prepare(
    "lengths-of-the-step",
    "lengths and borders",
    3,
    "Your `lengths` counts this step's tokens only. Those computed before are in the cache too.",
    length=lambda one: one["count"],
)
_prepare(
    "no-leading-zero",
    "lengths and borders",
    3,
    "Your `cu_seqlens` lacks the 0 at its start.",
    ends=lambda counts: torch.tensor(counts).cumsum(0).tolist(),
)
_prepare(
    "counts-for-ends",
    "batch order",
    2,
    "Your `cu_seqlens` has the counts. It needs their cumulative sums.",
    ends=lambda counts: [0, *counts],
)
_prepare(
    "as-scheduled",
    "batch order",
    2,
    "You keep the order of the list. Requests that compute one token come first.",
    order=lambda many: many,
)
_prepare(
    "longest-last",
    "batch order",
    2,
    "You sort by the number of tokens. Requests with several tokens keep the order of the list.",
    order=lambda many: sorted(many, key=lambda one: one["count"]),
)
_prepare(
    "by-what-is-computed",
    "batch order",
    2,
    "You put requests with cached tokens first. Those that compute one token now come first.",
    order=lambda many: sorted(many, key=lambda one: one["computed"] == 0),
)
_prepare(
    "int32",
    "ids and positions",
    1.2,
    "Your tensors are int32. They should be int64.",
    dtype=torch.int32,
)


@mistake(
    PREPARE,
    "slots-by-the-step",
    caught_by="slots",
    loses=4.5,
    misconception=(
        "You find a token's block by its index in the step. Use its position in the sequence."
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
    misconception="Your slots are the positions. Look up the block table.",
)
def _(scheduled, block_size):
    return _prepared(scheduled, block_size, slot=lambda one, place: place)


@mistake(
    PREPARE,
    "slots-are-blocks",
    caught_by="slots",
    loses=4.5,
    misconception=("Your slots are block numbers. A slot is block * block_size + offset."),
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
    misconception="You assume blocks of 16 tokens. Use `block_size`.",
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
    caught_by="batch order",
    loses=2,
    misconception="You reorder ids and positions, but not `lengths` and `cu_seqlens`.",
)
def _(scheduled, block_size):
    return (
        *_prepared(scheduled, block_size)[:3],
        *_prepared(scheduled, block_size, order=lambda many: many)[3:],
    )


@mistake(
    PREPARE,
    "padded",
    caught_by="batch order",
    loses=2,
    misconception="You pad the requests to the longest. Nothing is padded here.",
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
    caught_by="batch order",
    loses=1.2,
    misconception=(
        "Without requests your tensors are floats. An empty list has no dtype of its own: pass"
        " torch.int64."
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
    "rejection",
    5,
    "After a rejection you sample from p. Sample from the residual, max(p - q, 0), normalized.",
    rest=lambda p, q: p,
)
_verify(
    "q-after-a-refusal",
    "rejection",
    5,
    (
        "After a rejection you sample from the draft's distribution. Sample from the residual,"
        " max(p - q, 0)."
    ),
    rest=lambda p, q: q,
)
_verify(
    "absolute-rest",
    "rejection",
    5,
    "You sample from |p - q|. The residual is max(p - q, 0).",
    rest=lambda p, q: (p - q).abs(),
)
_verify(
    "rest-unnormalised",
    "rejection",
    5,
    "You do not normalize the residual before sampling.",
    normal=False,
)
_verify(
    "goes-on",
    "rejection",
    5,
    "You go through later draft tokens after a rejection. They follow a token that was dropped.",
    goes_on=True,
)
_verify(
    "no-bonus",
    "acceptance",
    2.5,
    (
        "When all draft tokens are accepted, you sample no bonus token. Take one from the last"
        " row of p."
    ),
    bonus=False,
)
_verify(
    "upside-down",
    "acceptance",
    6.5,
    "You accept if u < q / p. The ratio is p / q.",
    keep=lambda p, q, u: u * p < q,
)
_verify(
    "kept-by-p-alone",
    "acceptance",
    6.5,
    "You accept with probability p. It should be min(1, p / q).",
    keep=lambda p, q, u: u < p,
)
_verify(
    "kept-if-likelier",
    "acceptance",
    6.5,
    "You accept only if p is at least q. Otherwise accept with probability p / q.",
    keep=lambda p, q, u: p >= q,
)
_verify(
    "at-equality-kept",
    "rejection",
    5,
    "You accept where u q equals p. At equality the draft token is rejected.",
    keep=lambda p, q, u: u * q <= p,
)
_verify(
    "always-kept",
    "rejection",
    5,
    "You accept every draft token. Compare u q with p.",
    keep=lambda p, q, u: True,
)
_verify(
    "row-too-early",
    "acceptance",
    2.5,
    "After full acceptance you sample from the last but one row of p. Use the last row.",
    last=lambda p, place: p[max(place - 1, 0)],
)
_verify(
    "the-place-s-own-number",
    "rejection",
    5,
    (
        "You sample with the rejected token's number. That number is used up; sample with the"
        " last one of u."
    ),
    number=lambda u, place: u[place],
)


@mistake(
    VERIFY,
    "equals-a-sample",
    caught_by="acceptance",
    loses=6.5,
    misconception=(
        "You sample from p and accept if the draft token is equal. That accepts too few."
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
    caught_by="acceptance",
    loses=7,
    misconception=(
        "You accept a draft token if it is the argmax of p. That is the rule for greedy decoding."
    ),
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
    caught_by="rejection",
    loses=5,
    misconception="You test all draft tokens with u[0]. Draft token i has its own number, u[i].",
)
def _(p, q, guesses, u):
    return _said(p, q, guesses, torch.cat((u[:1].expand(len(guesses)), u[-1:])))


@mistake(
    VERIFY,
    "always-the-first-row",
    caught_by="acceptance",
    loses=6.5,
    misconception="You test all draft tokens with row 0 of p and q. Draft token i has row i.",
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
    caught_by="acceptance",
    loses=1.4,
    misconception="Your list contains tensors. It should contain ints.",
)
def _(p, q, guesses, u):
    return [torch.tensor(token) for token in _said(p, q, guesses, u)]


@mistake(
    VERIFY,
    "at-most",
    caught_by="acceptance threshold",
    loses=1.5,
    misconception=(
        "You sample the first token whose cumulative probability is at least u. It must be"
        " larger, or tokens of probability 0 get sampled."
    ),
)
def _(p, q, guesses, u):
    return _said(p, q, guesses, u, number=lambda u, place: u[-1] - 1e-7)

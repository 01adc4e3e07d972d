"""Plausible wrong solutions of chapter 15, part 1: steps, and the plan of a step."""

import math

from autograder.checks.mistakes.registry import mistake

STEPS, PLAN = "15.predict_steps", "15.plan"


def _counted(answers, slots, **instead):
    """The four numbers, some of them replaced."""
    static = sum(max(answers[i : i + slots]) for i in range(0, len(answers), slots))
    ends, start = [0] * slots, 0
    for answer in answers:
        start = min(ends)
        ends[ends.index(start)] += answer
    return {
        "static": static,
        "idle": static * slots - sum(answers),
        "continuous": max(ends),
        "wait": start,
        **instead,
    }


@mistake(
    STEPS,
    "sum-for-maximum",
    caught_by="static",
    loses=1.5,
    misconception=(
        "You let a fixed batch take the sum of its answers. They run side by side: it takes the"
        " longest."
    ),
)
def _(answers, slots):
    return _counted(answers, slots, static=sum(answers), idle=sum(answers) * slots - sum(answers))


@mistake(
    STEPS,
    "longest-of-all",
    caught_by="static",
    loses=1,
    misconception="You let each batch take as long as the longest answer of the whole list.",
)
def _(answers, slots):
    return _counted(
        answers, slots, static=math.ceil(len(answers) / slots) * max(answers, default=0)
    )


@mistake(
    STEPS,
    "batches-sorted",
    caught_by="static",
    loses=1,
    misconception=(
        "You sort the answers before you cut batches. Nobody changes the order of the list."
    ),
)
def _(answers, slots):
    return _counted(answers, slots, static=_counted(sorted(answers), slots)["static"])


@mistake(
    STEPS,
    "no-idle-in-the-last-batch",
    caught_by="idle",
    loses=0.5,
    misconception=(
        "You count only as many slots in the last batch as it has requests. A step has `slots`"
        " slots."
    ),
)
def _(answers, slots):
    return _counted(
        answers,
        slots,
        idle=sum(
            max(batch) * len(batch) - sum(batch)
            for i in range(0, len(answers), slots)
            if (batch := answers[i : i + slots])
        ),
    )


@mistake(
    STEPS,
    "idle-after-the-end",
    caught_by="idle",
    loses=0.5,
    misconception=(
        "You count requests that wait for their batch to end, and not the steps in which they do."
    ),
)
def _(answers, slots):
    return _counted(
        answers,
        slots,
        idle=sum(
            sum(one < max(batch) for one in batch)
            for i in range(0, len(answers), slots)
            if (batch := answers[i : i + slots])
        ),
    )


@mistake(
    STEPS,
    "ideal-division",
    caught_by="continuous",
    loses=2,
    misconception=(
        "You divide all tokens by the slots. The last long answer runs alone: slots are empty at"
        " the end."
    ),
)
def _(answers, slots):
    return _counted(answers, slots, continuous=math.ceil(sum(answers) / slots))


@mistake(
    STEPS,
    "refilled-a-step-late",
    caught_by="continuous",
    loses=2.5,
    misconception="You leave a slot empty for a step before the next request takes it.",
)
def _(answers, slots):
    ends, start = [-1] * slots, 0
    for answer in answers:
        start = min(ends) + 1
        ends[ends.index(min(ends))] = start + answer
    return _counted(answers, slots, continuous=max(max(ends), 0), wait=start)


@mistake(
    STEPS,
    "longest-first",
    caught_by="continuous",
    loses=2,
    misconception=(
        "You give slots to the longest answers first. They are given in the order of the list."
    ),
)
def _(answers, slots):
    return _counted(
        answers, slots, continuous=_counted(sorted(answers, reverse=True), slots)["continuous"]
    )


@mistake(
    STEPS,
    "in-turns",
    caught_by="continuous",
    loses=2.5,
    misconception=(
        "You deal the requests out to the slots in turns. A request takes the slot that is free"
        " first."
    ),
)
def _(answers, slots):
    rows = [answers[i::slots] for i in range(slots)]
    return _counted(
        answers,
        slots,
        continuous=max(map(sum, rows)),
        wait=sum(answers[(len(answers) - 1) % slots :: slots][:-1]) if answers else 0,
    )


@mistake(
    STEPS,
    "prompt-is-a-step",
    caught_by="static",
    loses=3.5,
    misconception=(
        "You give each prompt a step of its own. It is read in the step that says the first token."
    ),
)
def _(answers, slots):
    return {
        **_counted([one + 1 for one in answers], slots),
        "idle": _counted(answers, slots)["idle"],
    }


@mistake(
    STEPS,
    "wait-to-the-last-token",
    caught_by="wait",
    loses=0.5,
    misconception=(
        "You count to the last request's last token. The steps before its first token were asked"
        " for."
    ),
)
def _(answers, slots):
    found = _counted(answers, slots)
    return {**found, "wait": found["wait"] + (answers[-1] if answers else 0)}


@mistake(
    STEPS,
    "wait-counts-the-step-itself",
    caught_by="wait",
    loses=0.5,
    misconception=(
        "You count the step of the first token as well. The steps before it were asked for."
    ),
)
def _(answers, slots):
    found = _counted(answers, slots)
    return {**found, "wait": found["wait"] + bool(answers)}


def _planned(
    requests,
    budget,
    free,
    size,
    decode_first=True,
    by_place=False,
    whole=False,
    more=0,
    overtakes=False,
    count_free=True,
    all_blocks=True,
    edge=0,
    zeros=False,
    prefill_first=False,
    reserve=True,
    stall=False,
    admit_first=False,
    admitted_all=False,
    spend_stalled=False,
    reads_take=False,
):
    """The plan with parts replaced."""
    given, budget = {}, budget + more
    left = [one["tokens"] - one["computed"] for one in requests]
    runs = [place for place, one in enumerate(requests) if one["blocks"]]
    decoders = [place for place in runs if left[place] == 1]
    readers = [place for place in runs if left[place] > 1]
    waiting = [place for place, one in enumerate(requests) if not one["blocks"]]

    def decode(places):
        nonlocal budget, free
        for place in places:
            one = requests[place]
            full = one["computed"] + edge >= one["blocks"] * size
            if count_free and full and free <= 0:
                if spend_stalled:
                    budget -= 1
                if stall:
                    return
                continue
            if budget <= 0:
                return
            free -= full
            given[place] = 1
            budget -= 1

    def read(places):
        nonlocal budget, free
        for place in places:
            if whole and left[place] > budget:
                continue
            count = min(left[place], budget)
            if reads_take:
                free -= -(-count // size)
            if count > 0 or zeros:
                given[place] = max(count, 0)
                budget -= given[place]

    def admit(places):
        nonlocal budget, free
        for place in places:
            count = min(left[place], budget)
            if admitted_all:
                count = left[place]
            needs = -(-(requests[place]["tokens"] if all_blocks else count) // size)
            if budget <= 0 and not zeros:
                return
            if count_free and needs > free:
                if overtakes:
                    continue
                return
            if whole and left[place] > budget:
                return
            if reserve:
                free -= needs
            given[place] = count
            budget -= count

    if by_place:
        for place in runs:
            (decode if left[place] == 1 else read)([place])
        admit(waiting)
    elif prefill_first:
        read(readers), decode(decoders), admit(waiting)
    elif admit_first:
        decode(decoders), admit(waiting), read(readers)
    else:
        decode(decoders), read(readers), admit(waiting)
    return sorted(given.items())


def _plan(name, caught_by, loses, misconception, **options):
    """Register a mistake that is the plan with options."""

    @mistake(PLAN, name, caught_by=caught_by, loses=loses, misconception=misconception)
    def _(requests, budget, free_blocks, block_size):
        return _planned(requests, budget, free_blocks, block_size, **options)


_plan(
    "prompts-first",
    "read",
    7.5,
    "You let prompts be read before those who decode get their token: a long prompt stops"
    " everybody's text.",
    prefill_first=True,
)
_plan(
    "in-the-order-of-the-list",
    "read",
    7.5,
    "You go through the running requests once, in the order of the list. All who decode come before"
    " all who read, also those that stand behind them.",
    by_place=True,
)
_plan(
    "whole-prompts-only",
    "read",
    7.5,
    "You prefill a prompt only if all of it fits into the budget. It is computed in chunks.",
    whole=True,
)
_plan("budget-plus-one", "read", 7.5, "Your steps have one token more than the budget.", more=1)
_plan("zeros", "read", 5.5, "You list requests that get no token.", zeros=True)
_plan(
    "let-in-before-reading",
    "admit",
    3,
    "You let new requests in before the running ones have read on.",
    admit_first=True,
)
_plan(
    "no-pieces-for-new-ones",
    "admit",
    5,
    "You give a request that is let in all of its tokens, whatever is left of the budget.",
    admitted_all=True,
)
_plan(
    "overtakes",
    "no overtaking",
    1.5,
    "You pass over the waiting request that does not find its blocks, and let smaller ones behind"
    " it in. Nobody overtakes.",
    overtakes=True,
)
_plan("blocks-uncounted", "blocks", 3.5, "You do not look at the free blocks.", count_free=False)
_plan(
    "blocks-for-the-piece",
    "blocks",
    3.5,
    "You ask for the blocks of the piece only. A request is let in if there are blocks for all of"
    " its tokens.",
    all_blocks=False,
)
_plan(
    "blocks-not-taken",
    "blocks",
    3.5,
    "You look whether there are blocks, and do not take them: two are let in with the same ones.",
    reserve=False,
)
_plan(
    "block-too-early",
    "decode",
    3.5,
    "You take a new block while there is room for one more token in the old one.",
    edge=1,
)
_plan(
    "block-too-late",
    "blocks",
    3.5,
    "You take a new block one token too late: they are full when `computed` is the number of tokens"
    " that they hold.",
    edge=-1,
)
_plan(
    "stops-at-the-first-without-a-block",
    "blocks",
    3.5,
    "You stop at the first request that finds no block for its token. Those behind it have their"
    " turn.",
    stall=True,
)
_plan(
    "budget-for-nothing",
    "blocks",
    3.5,
    "A request that finds no block for its token uses up budget all the same.",
    spend_stalled=True,
)
_plan(
    "reading-takes-blocks",
    "blocks",
    3.5,
    "You let requests that read on take new blocks. They hold the blocks for all of their tokens.",
    reads_take=True,
)


@mistake(
    PLAN,
    "lists-in-the-list",
    caught_by="decode",
    loses=1.8,
    misconception="Your plan holds lists. Tuples were asked for.",
)
def _(requests, budget, free_blocks, block_size):
    return [list(one) for one in _planned(requests, budget, free_blocks, block_size)]


@mistake(
    PLAN,
    "in-the-order-of-giving",
    caught_by="read",
    loses=7.5,
    misconception=(
        "Your plan is in the order in which tokens were given away. It is in the order of the"
        " slots."
    ),
)
def _(requests, budget, free_blocks, block_size):
    left = [one["tokens"] - one["computed"] for one in requests]
    return sorted(
        _planned(requests, budget, free_blocks, block_size),
        key=lambda pair: (requests[pair[0]]["blocks"] == 0, left[pair[0]] > 1, pair[0]),
    )


@mistake(
    PLAN,
    "waiting-with-one-token-decodes",
    caught_by="admit",
    loses=5,
    misconception="You treat a waiting request with one token as one that decodes.",
)
def _(requests, budget, free_blocks, block_size):
    states = [{**one, "blocks": one["blocks"] or one["tokens"] == 1} for one in requests]
    return _planned(states, budget, free_blocks, block_size)


@mistake(
    PLAN,
    "changes-the-requests",
    caught_by="decode",
    loses=1.8,
    misconception="You write into the requests that you are given.",
)
def _(requests, budget, free_blocks, block_size):
    found = _planned(requests, budget, free_blocks, block_size)
    for place, tokens in found:
        requests[place]["computed"] += tokens
    return found

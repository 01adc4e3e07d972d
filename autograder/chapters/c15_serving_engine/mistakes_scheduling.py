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
        "You add up the answers of a static batch. They run in parallel: it takes as many"
        " steps as the longest."
    ),
)
def _(answers, slots):
    return _counted(answers, slots, static=sum(answers), idle=sum(answers) * slots - sum(answers))


@mistake(
    STEPS,
    "longest-of-all",
    caught_by="static",
    loses=1,
    misconception=(
        "You take the longest answer of the whole list for each static batch. Only its own"
        " answers count."
    ),
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
        "You sort the answers before you form batches. Batches follow the order of the list."
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
        "In the last batch you count as many slots as it has requests. Every step has `slots`"
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
        "You count the requests whose slot is idle. Count the steps in which it is idle."
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
        "You divide all tokens by the slots. A long last answer runs alone, with the other"
        " slots empty."
    ),
)
def _(answers, slots):
    return _counted(answers, slots, continuous=math.ceil(sum(answers) / slots))


@mistake(
    STEPS,
    "refilled-a-step-late",
    caught_by="continuous",
    loses=2.5,
    misconception=(
        "You leave a slot empty for one step. The next request starts in the step after the"
        " last token."
    ),
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
    misconception=("You start the longest answers first. Requests start in the order of the list."),
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
        "You assign requests to slots round-robin. Each takes the slot that is free first."
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
    misconception=("You count a prefill step for each request. Here prefill takes no step."),
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
        "Your `wait` counts to the last request's last token. Count the steps before its first"
        " token."
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
        "Your `wait` includes the step of the first token. Count only the steps before it."
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
    "running prefills",
    7.5,
    "You schedule prefill before decode. A long prompt then stalls every running request.",
    prefill_first=True,
)
_plan(
    "in-the-order-of-the-list",
    "running prefills",
    7.5,
    (
        "You walk through the running requests once. All decodes come before all prefills,"
        " wherever they are in the list."
    ),
    by_place=True,
)
_plan(
    "whole-prompts-only",
    "running prefills",
    7.5,
    "You prefill a prompt only if all of it fits the budget. Prefill may be chunked.",
    whole=True,
)
_plan(
    "budget-plus-one", "running prefills", 7.5, "Your plan exceeds the token budget by one.", more=1
)
_plan("zeros", "running prefills", 5.5, "Your plan lists requests that get no token.", zeros=True)
_plan(
    "let-in-before-reading",
    "admission",
    3,
    "You admit waiting requests before the running prefills got their tokens.",
    admit_first=True,
)
_plan(
    "no-pieces-for-new-ones",
    "admission",
    5,
    "You give an admitted request all its tokens. It gets at most what is left of the budget.",
    admitted_all=True,
)
_plan(
    "overtakes",
    "no overtaking",
    1.5,
    (
        "You skip a waiting request that does not find its blocks and admit smaller ones behind"
        " it. No request may overtake."
    ),
    overtakes=True,
)
_plan("blocks-uncounted", "blocks", 3.5, "You ignore `free_blocks`.", count_free=False)
_plan(
    "blocks-for-the-piece",
    "blocks",
    2,
    (
        "You require blocks for the chunk only. A request is admitted if there are blocks for"
        " all its tokens."
    ),
    all_blocks=False,
)
_plan(
    "blocks-not-taken",
    "blocks",
    3.5,
    (
        "You check for free blocks but do not take them, so two requests are admitted with the"
        " same blocks."
    ),
    reserve=False,
)
_plan(
    "block-too-early",
    "decode first",
    3.5,
    "You take a new block although the last one has room for the token.",
    edge=1,
)
_plan(
    "block-too-late",
    "blocks",
    3.5,
    (
        "You take a new block one token too late. Blocks are full when `computed` equals blocks"
        " times `block_size`."
    ),
    edge=-1,
)
_plan(
    "stops-at-the-first-without-a-block",
    "blocks",
    3.5,
    (
        "You stop at the first running request without a block. The ones behind it still have"
        " their turn."
    ),
    stall=True,
)
_plan(
    "budget-for-nothing",
    "blocks",
    2,
    "You charge budget to a request that finds no block. What it does not compute costs nothing.",
    spend_stalled=True,
)
_plan(
    "reading-takes-blocks",
    "blocks",
    3.5,
    "Your running prefills take new blocks. They hold blocks for all their tokens already.",
    reads_take=True,
)


@mistake(
    PLAN,
    "lists-in-the-list",
    caught_by="decode first",
    loses=1.8,
    misconception="The entries of your plan are lists. They should be tuples.",
)
def _(requests, budget, free_blocks, block_size):
    return [list(one) for one in _planned(requests, budget, free_blocks, block_size)]


@mistake(
    PLAN,
    "in-the-order-of-giving",
    caught_by="running prefills",
    loses=7.5,
    misconception=(
        "Your plan is in the order of scheduling. It should be in the order of the indices."
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
    caught_by="admission",
    loses=5,
    misconception=(
        "You treat a waiting request with one token as a decode. It has no block, so it must be"
        " admitted."
    ),
)
def _(requests, budget, free_blocks, block_size):
    states = [{**one, "blocks": one["blocks"] or one["tokens"] == 1} for one in requests]
    return _planned(states, budget, free_blocks, block_size)


@mistake(
    PLAN,
    "changes-the-requests",
    caught_by="decode first",
    loses=1.8,
    misconception="You modify the requests that you are given.",
)
def _(requests, budget, free_blocks, block_size):
    found = _planned(requests, budget, free_blocks, block_size)
    for place, tokens in found:
        requests[place]["computed"] += tokens
    return found

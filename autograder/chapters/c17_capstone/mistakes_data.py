"""Plausible wrong solutions of chapter 17, part 2."""

import hashlib
import math
import re

from autograder.checks.mistakes.registry import mistake

HELD, MIX = "17.held_out", "17.training_mix"


def _words(question):
    return re.findall("[a-z0-9]+", question.lower())


def _byte(key):
    return hashlib.sha256(key.encode()).digest()[0]


def _parts(questions, every, key=lambda one: " ".join(sorted(_words(one))), byte=_byte):
    """Both parts, with another key or another number from it."""
    held = {one: byte(key(one)) % every == 0 for one in questions}
    return [one for one in questions if not held[one]], [one for one in questions if held[one]]


@mistake(
    HELD,
    "raw-question",
    caught_by="case",
    loses=3,
    misconception=(
        "You hash the question as it is. Its paraphrases then end up on both sides, and the test"
        " part leaks into training."
    ),
)
def _(questions, every):
    return _parts(questions, every, lambda one: one)


@mistake(
    HELD,
    "capitals-kept",
    caught_by="case",
    loses=1,
    misconception="You keep capitals in the key, so a question in other case is another question.",
)
def _(questions, every):
    return _parts(questions, every, lambda one: " ".join(sorted(re.findall("[A-Za-z0-9]+", one))))


@mistake(
    HELD,
    "sorted-before-lowering",
    caught_by="case",
    loses=1,
    misconception=(
        "You sort the words before converting them to small letters. Capitals sort first, so the"
        " order changes."
    ),
)
def _(questions, every):
    return _parts(
        questions, every, lambda one: " ".join(sorted(re.findall("[A-Za-z0-9]+", one))).lower()
    )


@mistake(
    HELD,
    "split-at-spaces",
    caught_by="punctuation",
    loses=1,
    misconception="You split at white space only, so punctuation stays in the words.",
)
def _(questions, every):
    return _parts(questions, every, lambda one: " ".join(sorted(one.lower().split())))


@mistake(
    HELD,
    "punctuation-deleted",
    caught_by="punctuation",
    loses=1,
    misconception=(
        "You delete punctuation, which joins words: up-stream becomes upstream. Other characters"
        " separate words."
    ),
)
def _(questions, every):
    return _parts(
        questions,
        every,
        lambda one: " ".join(sorted(re.sub(r"[^a-z0-9 ]", "", one.lower()).split())),
    )


@mistake(
    HELD,
    "last-sign-only",
    caught_by="punctuation",
    loses=1,
    misconception="You strip signs at the end of the question only. They may be anywhere.",
)
def _(questions, every):
    return _parts(questions, every, lambda one: " ".join(sorted(one.lower().strip("?!. ").split())))


@mistake(
    HELD,
    "digits-dropped",
    caught_by="punctuation",
    loses=1,
    misconception="You keep letters only. Digits are part of words as well.",
)
def _(questions, every):
    return _parts(questions, every, lambda one: " ".join(sorted(re.findall("[a-z]+", one.lower()))))


@mistake(
    HELD,
    "underscore-in-words",
    caught_by="punctuation",
    loses=1,
    misconception=r"You match words with \w, which holds the underscore as well.",
)
def _(questions, every):
    return _parts(questions, every, lambda one: " ".join(sorted(re.findall(r"\w+", one.lower()))))


@mistake(
    HELD,
    "order-kept",
    caught_by="word order",
    loses=1,
    misconception="You keep the order of the words, so the same words in another order leak.",
)
def _(questions, every):
    return _parts(questions, every, lambda one: " ".join(_words(one)))


@mistake(
    HELD,
    "set-of-words",
    caught_by="repeats",
    loses=1,
    misconception="You make a set of the words. Repeated words stay in the key.",
)
def _(questions, every):
    return _parts(questions, every, lambda one: " ".join(sorted(set(_words(one)))))


@mistake(
    HELD,
    "questions-once",
    caught_by="repeats",
    loses=1,
    misconception="You drop repeated questions. Each stays as often as it was given.",
)
def _(questions, every):
    return _parts(list(dict.fromkeys(questions)), every)


@mistake(
    HELD,
    "no-spaces-in-the-key",
    caught_by="hash",
    loses=6,
    misconception="You join the words without a space. The key has one space between words.",
)
def _(questions, every):
    return _parts(questions, every, lambda one: "".join(sorted(_words(one))))


@mistake(
    HELD,
    "letters-sorted",
    caught_by="hash",
    loses=6,
    misconception="You sort the letters of the question. The key holds its words, sorted.",
)
def _(questions, every):
    return _parts(questions, every, lambda one: "".join(sorted(" ".join(_words(one)))))


@mistake(
    HELD,
    "last-byte",
    caught_by="hash",
    loses=6,
    misconception="You take the last byte of the hash. The first one decides.",
)
def _(questions, every):
    return _parts(questions, every, byte=lambda key: hashlib.sha256(key.encode()).digest()[-1])


@mistake(
    HELD,
    "first-hex-digit",
    caught_by="hash",
    loses=6,
    misconception="You take the first digit of `hexdigest`. A byte has two of them.",
)
def _(questions, every):
    return _parts(
        questions, every, byte=lambda key: int(hashlib.sha256(key.encode()).hexdigest()[0], 16)
    )


@mistake(
    HELD,
    "whole-hash",
    caught_by="hash",
    loses=6,
    misconception="You take the whole hash modulo `every`. Its first byte decides.",
)
def _(questions, every):
    return _parts(
        questions, every, byte=lambda key: int(hashlib.sha256(key.encode()).hexdigest(), 16)
    )


@mistake(
    HELD,
    "md5",
    caught_by="hash",
    loses=6,
    misconception="You hash with MD5. The rule names SHA-256.",
)
def _(questions, every):
    return _parts(questions, every, byte=lambda key: hashlib.md5(key.encode()).digest()[0])


@mistake(
    HELD,
    "parts-exchanged",
    caught_by="hash",
    loses=6,
    misconception="You return the test part first. The training part comes first.",
)
def _(questions, every):
    return _parts(questions, every)[::-1]


@mistake(
    HELD,
    "every-nth-question",
    caught_by="hash",
    loses=6,
    misconception=(
        "You hold out every n-th question by its position. A paraphrase at another position then"
        " leaks into training."
    ),
)
def _(questions, every):
    test = questions[::every]
    return [one for place, one in enumerate(questions) if place % every], test


@mistake(
    HELD,
    "every-nth-key",
    caught_by="hash",
    loses=6,
    misconception=(
        "You hold out every n-th key by its position. The split then changes whenever a question is"
        " added."
    ),
)
def _(questions, every):
    keys = list(dict.fromkeys(" ".join(sorted(_words(one))) for one in questions))
    return _parts(questions, every, byte=keys.index)


@mistake(
    HELD,
    "sorted-parts",
    caught_by="hash",
    loses=6,
    misconception="You sort the questions. Both parts keep the given order.",
)
def _(questions, every):
    train, test = _parts(questions, every)
    return sorted(train), sorted(test)


@mistake(
    HELD,
    "keys-returned",
    caught_by="case",
    loses=3,
    misconception="You return the keys. The parts hold the questions as they were given.",
)
def _(questions, every):
    def keys(part):
        return [" ".join(sorted(_words(one))) for one in part]

    return tuple(map(keys, _parts(questions, every)))


def _mix(
    weights,
    lengths,
    budget,
    replay,
    rows_of_replay=lambda replay, budget, length: replay * budget // (100 * length),
    rest_of=lambda budget, rows, length, replay: budget - rows * length,
    share=lambda weight, rest, total: weight * rest // total,
    lost=lambda kind, weight, rest, total, length: -(weight * rest % total),
    most=1,
    stops=False,
):
    """The rows of a step with one part replaced."""
    rows = rows_of_replay(replay, budget, lengths["replay"])
    rest = rest_of(budget, rows, lengths["replay"], replay)
    total = sum(weights[kind] * lengths[kind] for kind in weights)
    found = {kind: share(weight, rest, total) for kind, weight in weights.items()}
    left = rest - sum(found[kind] * lengths[kind] for kind in weights)
    for kind in sorted(weights, key=lambda one: lost(one, weights[one], rest, total, lengths[one])):
        more = int(min(max(left // lengths[kind], 0), most))
        if stops and most and not more:
            break
        found[kind] += more
        left -= more * lengths[kind]
    return found | {"replay": rows}


def _left_over(*case, fits=lambda length, left: length <= left, taken=1):
    """The rows of a step with another rule for left-over rows."""
    weights, lengths, budget, replay = case
    found = _mix(*case, most=0)
    rest = budget - found["replay"] * lengths["replay"]
    total = sum(weights[kind] * lengths[kind] for kind in weights)
    left = rest - sum(found[kind] * lengths[kind] for kind in weights)
    for kind in sorted(weights, key=lambda one: -(weights[one] * rest % total)):
        if fits(lengths[kind], left):
            found[kind] += 1
            left -= taken * lengths[kind]
    return found


@mistake(
    MIX,
    "shares-of-tokens",
    caught_by="weights",
    loses=4.5,
    misconception=(
        "You read the weights as shares of the tokens. They are proportions of rows, whatever the"
        " rows' lengths."
    ),
)
def _(weights, lengths, budget, replay):
    rows = replay * budget // (100 * lengths["replay"])
    rest, total = budget - rows * lengths["replay"], sum(weights.values())
    found = {kind: weight * rest // (total * lengths[kind]) for kind, weight in weights.items()}
    return found | {"replay": rows}


@mistake(
    MIX,
    "as-many-of-each",
    caught_by="weights",
    loses=4.5,
    misconception="You give every kind the same number of rows. The weights decide.",
)
def _(weights, lengths, budget, replay):
    return _mix(dict.fromkeys(weights, 1), lengths, budget, replay)


@mistake(
    MIX,
    "replay-on-top",
    caught_by="weights",
    loses=4.5,
    misconception="You add replay on top of the budget. Its tokens come out of the same budget.",
)
def _(*case):
    return _mix(*case, rest_of=lambda budget, rows, length, replay: budget)


@mistake(
    MIX,
    "replay-rounded-up",
    caught_by="replay",
    loses=4,
    misconception="You round the rows of replay up. They must fit into their share of the budget.",
)
def _(*case):
    return _mix(*case, rows_of_replay=lambda replay, budget, n: -(-replay * budget // (100 * n)))


@mistake(
    MIX,
    "replay-rounded",
    caught_by="replay",
    loses=4,
    misconception="You round the rows of replay to the nearest int. Round down.",
)
def _(*case):
    return _mix(
        *case, rows_of_replay=lambda replay, budget, n: (replay * budget + 50 * n) // (100 * n)
    )


@mistake(
    MIX,
    "replay-as-fraction",
    caught_by="replay",
    loses=6,
    misconception="You read `replay` as a fraction. It is a percentage: divide by 100.",
)
def _(*case):
    return _mix(*case, rows_of_replay=lambda replay, budget, length: replay * budget // length)


@mistake(
    MIX,
    "percent-of-rows",
    caught_by="replay",
    loses=6,
    misconception=(
        "You give replay its percentage of the rows. It is a percentage of the budget's tokens."
    ),
)
def _(weights, lengths, budget, replay):
    found = _mix(weights, lengths, budget, 0)
    return found | {"replay": replay * sum(found.values()) // 100}


@mistake(
    MIX,
    "no-replay-rows",
    caught_by="replay",
    loses=6,
    misconception='You leave the key "replay" out. Its rows belong to the step as well.',
)
def _(*case):
    found = _mix(*case)
    return {kind: rows for kind, rows in found.items() if kind != "replay"}


@mistake(
    MIX,
    "whole-share-taken-off",
    caught_by="whole rows",
    loses=2.5,
    misconception=(
        "You take replay's whole share off the budget. Only the tokens of its whole rows are used;"
        " the rest is free."
    ),
)
def _(*case):
    return _mix(*case, rest_of=lambda budget, rows, length, replay: budget - replay * budget // 100)


@mistake(
    MIX,
    "rounded",
    caught_by="whole rows",
    loses=2.5,
    misconception="You round rows to the nearest int. Together they may then exceed the budget.",
)
def _(*case):
    return _mix(
        *case, share=lambda weight, rest, total: (2 * weight * rest + total) // (2 * total), most=0
    )


@mistake(
    MIX,
    "rounded-up",
    caught_by="whole rows",
    loses=2.5,
    misconception="You round rows up, so the step exceeds its budget.",
)
def _(*case):
    return _mix(*case, share=lambda weight, rest, total: -(-weight * rest // total), most=0)


@mistake(
    MIX,
    "whole-multiples-of-the-weights",
    caught_by="whole rows",
    loses=2.5,
    misconception=(
        "You round rest / total down before multiplying by the weight. Multiply first, then round."
    ),
)
def _(*case):
    return _mix(*case, share=lambda weight, rest, total: weight * (rest // total))


@mistake(
    MIX,
    "left-over-unused",
    caught_by="left-over rows",
    loses=1.5,
    misconception="You leave the left-over tokens unused. They buy single rows while these fit.",
)
def _(*case):
    return _mix(*case, most=0)


@mistake(
    MIX,
    "left-over-in-order",
    caught_by="left-over rows",
    loses=1.5,
    misconception=(
        "You give left-over rows in the given order. The largest lost fraction comes first."
    ),
)
def _(*case):
    return _mix(*case, lost=lambda kind, weight, rest, total, length: 0)


@mistake(
    MIX,
    "left-over-by-weight",
    caught_by="left-over rows",
    loses=1.5,
    misconception="You give left-over rows by weight. The largest lost fraction comes first.",
)
def _(*case):
    return _mix(*case, lost=lambda kind, weight, rest, total, length: -weight)


@mistake(
    MIX,
    "shortest-first",
    caught_by="left-over rows",
    loses=1.5,
    misconception=(
        "You give left-over rows to the shortest kind. The largest lost fraction comes first."
    ),
)
def _(*case):
    return _mix(*case, lost=lambda kind, weight, rest, total, length: length)


@mistake(
    MIX,
    "lost-tokens",
    caught_by="left-over rows",
    loses=1.5,
    misconception=(
        "You order by lost tokens. The lost fraction of a row decides, whatever the row's length."
    ),
)
def _(*case):
    return _mix(
        *case, lost=lambda kind, weight, rest, total, length: -(weight * rest % total) * length
    )


@mistake(
    MIX,
    "smallest-fraction-first",
    caught_by="left-over rows",
    loses=1.5,
    misconception="You begin with the smallest lost fraction. The largest comes first.",
)
def _(*case):
    return _mix(*case, lost=lambda kind, weight, rest, total, length: weight * rest % total)


@mistake(
    MIX,
    "stops-where-one-does-not-fit",
    caught_by="left-over rows",
    loses=1.5,
    misconception="You stop at the first kind that does not fit. A shorter one may follow.",
)
def _(*case):
    return _mix(*case, stops=True)


@mistake(
    MIX,
    "several-left-over-rows",
    caught_by="left-over rows",
    loses=1.5,
    misconception="You give a kind several left-over rows. Each gets one at most.",
)
def _(*case):
    return _mix(*case, most=math.inf)


@mistake(
    MIX,
    "ties-from-the-end",
    caught_by="left-over rows",
    loses=1.5,
    misconception="You break ties from the end. Among equal fractions the given order decides.",
)
def _(weights, lengths, budget, replay):
    found = _mix(dict(reversed(weights.items())), lengths, budget, replay)
    return {kind: found[kind] for kind in (*weights, "replay")}


@mistake(
    MIX,
    "ties-by-lengths",
    caught_by="left-over rows",
    loses=1.5,
    misconception=(
        "You break ties by the order of `lengths`. Among equal fractions the order of `weights`"
        " decides."
    ),
)
def _(weights, lengths, budget, replay):
    ordered = {kind: weights[kind] for kind in lengths if kind in weights}
    return _mix(ordered, lengths, budget, replay)


@mistake(
    MIX,
    "ties-by-name",
    caught_by="left-over rows",
    loses=1.5,
    misconception=(
        "You break ties by the kinds' names. Among equal fractions the order of `weights` decides."
    ),
)
def _(weights, lengths, budget, replay):
    return _mix({kind: weights[kind] for kind in sorted(weights)}, lengths, budget, replay)


@mistake(
    MIX,
    "fractions-as-floats",
    caught_by="left-over rows",
    loses=1.5,
    misconception=(
        "You compute the lost fractions in floats, where 5/3 and 20/3 lose different ones. Compute"
        " in ints."
    ),
)
def _(*case):
    return _mix(*case, lost=lambda kind, weight, rest, total, length: -(weight * rest / total % 1))


@mistake(
    MIX,
    "must-leave-tokens",
    caught_by="left-over rows",
    loses=1.5,
    misconception="You add a row only where tokens remain after it. A row that just fits is added.",
)
def _(*case):
    return _left_over(*case, fits=lambda length, left: length < left)


@mistake(
    MIX,
    "left-over-not-reduced",
    caught_by="left-over rows",
    loses=1.5,
    misconception=(
        "You do not take a left-over row's tokens off what is left. Later kinds have fewer tokens."
    ),
)
def _(*case):
    return _left_over(*case, taken=0)


@mistake(
    MIX,
    "left-over-row-of-replay",
    caught_by="replay",
    loses=4,
    misconception="You give replay a left-over row. Only the other kinds get them.",
)
def _(weights, lengths, budget, replay):
    found = _mix(weights, lengths, budget, replay)
    left = budget - sum(rows * lengths[kind] for kind, rows in found.items())
    return found | {"replay": found["replay"] + (lengths["replay"] <= left)}

"""Checks of chapter 17, part 2: questions held out with their paraphrases, and the rows of a"
" step."""

import hashlib
import re

import torch

from autograder.chapters.c17_capstone.withholding import LIBRARIES, OURS
from autograder.checks.inputs.draws import look_alikes, one_changed, whole
from autograder.checks.protocol import exercise, expect

held_out = exercise(
    "17.held_out",
    function="held_out",
    points=6,
    see="17-capstone/teach#which-questions-are-held-out",
    withhold=OURS | LIBRARIES,
)

WORDS = (
    "bank river deep boat old you sing how is the toll who rows at night fish cold where does it"
    " begin bridge wide rain otter heron rope fog lantern coin wife dog bell stone willow ice flood"
).split()
SIGNS = ("?", "!", ".", ", ", "; ", "'", "-", " - ", "  ", '"', ":", "...", "/", "_", "(", ") ")


def is_test(question: str, every: int) -> bool:
    """Whether a question is held out, by the rule of the statement."""
    key = " ".join(sorted(re.findall("[a-z0-9]+", question.lower())))
    return hashlib.sha256(key.encode()).digest()[0] % every == 0


def ask_parts(student, questions: list[str], every: int, cause: str) -> None:
    """Compare both parts, the test part first: a leak is what costs most."""
    test = [one for one in questions if is_test(one, every)]
    train = [one for one in questions if not is_test(one, every)]
    given = f"{len(questions)} questions such as {questions[0]!r}, every = {every}"
    came = expect(student.held_out(questions, every), given=given).unpacks(2)
    expect(came[1], "The test part", given).equals(test, cause=cause)
    expect(came[0], "The training part", given).equals(train, cause=cause)


def drawn_words(rng, most: int = 5) -> list[str]:
    """Some different words, in alphabetical order."""
    places = torch.randperm(len(WORDS), generator=rng)[: whole(rng, 1, most)].tolist()
    return sorted(WORDS[place] for place in places)


def plain(rng, number: int) -> list[str]:
    """Different questions that are equal to their keys."""
    found = {}
    while len(found) < number:
        found[" ".join(drawn_words(rng))] = True
    return list(found)


def asked(rng, changed) -> list[tuple[list[str], int]]:
    """Lists of questions, each after a change, and how many of them one is held out."""
    sizes = ((60, 2), (60, 3), (40, 5), (60, 8), (200, 20), (9, 1))
    return [([changed(rng, one) for one in plain(rng, size)], every) for size, every in sizes]


@held_out.stage("hash", points=2)
def test_the_hash_of_the_key_decides(student, rng):
    cause = (
        "A question is in the test part if the first byte of the SHA-256 of its key, modulo"
        " `every`,"
        " is 0. The key joins the sorted words with one space."
    )
    for questions, every in asked(rng, lambda rng, one: one):
        ask_parts(student, questions, every, cause)
    for size, every in ((1, 2), (2, 2), (3, 4)):
        ask_parts(student, plain(rng, size), every, cause)
    for questions, every in one_changed((plain(rng, 50), 4), (plain(rng, 50), 7)):
        for alike in look_alikes((questions, every)):
            ask_parts(student, *alike, cause)


def recased(rng, question: str) -> str:
    kind = whole(rng, 0, 3)
    some = " ".join(one.upper() if whole(rng, 0, 1) else one for one in question.split())
    return (question.upper(), question.title(), question.capitalize(), some)[kind]


@held_out.stage("case", points=1)
def test_capitals_make_no_other_question(student, rng):
    for questions, every in asked(rng, recased):
        ask_parts(student, questions, every, "Convert the words to small letters for the key.")


def signed(rng, question: str) -> str:
    """With signs between and around the words, and sometimes a number."""
    words = question.split() + [str(whole(rng, 0, 1900))] * whole(rng, 0, 1)

    def sign() -> str:
        return SIGNS[whole(rng, 0, len(SIGNS) - 1)]

    joined = sign().join(sorted(words)) if whole(rng, 0, 1) else " ".join(sorted(words))
    return ("" if whole(rng, 0, 1) else sign()) + joined + sign()


@held_out.stage("punctuation", points=1)
def test_signs_separate_words_and_do_not_count(student, rng):
    for questions, every in asked(rng, signed):
        ask_parts(
            student,
            questions,
            every,
            "A word is a longest run of letters and digits. Every other character separates words,"
            " a hyphen and an apostrophe too.",
        )


def shuffled(rng, question: str) -> str:
    words = question.split()
    return " ".join(words[place] for place in torch.randperm(len(words), generator=rng).tolist())


@held_out.stage("word order", points=1)
def test_the_order_of_words_makes_no_other_question(student, rng):
    for questions, every in asked(rng, shuffled):
        ask_parts(student, questions, every, "Sort the words for the key, so that order is lost.")


def repeated(rng, question: str) -> str:
    words = question.split()
    return " ".join(sorted(words + words[: whole(rng, 1, 2)]))


@held_out.stage("repeats", points=1)
def test_repeated_words_and_questions_are_kept(student, rng):
    cause = (
        "Every question appears in one part, in the given order, as often as it was given. Repeated"
        " words stay in the key."
    )
    for questions, every in asked(rng, repeated):
        ask_parts(student, questions, every, cause)
        ask_parts(student, questions + questions[: len(questions) // 2], every, cause)


training_mix = exercise(
    "17.training_mix",
    function="training_mix",
    points=6,
    see="17-capstone/teach#replay",
    withhold=OURS | LIBRARIES,
)

Mix = tuple[dict[str, int], dict[str, int], int, int]
KINDS = ("character", "backwards", "sums", "talks", "riddles", "songs")
HAND = ({"chat": 3, "sums": 1}, {"chat": 20, "sums": 40, "replay": 50}, 430, 30)
OTHER = ({"chat": 2, "sums": 5}, {"chat": 31, "sums": 17, "replay": 23}, 999, 45)


def mixed(weights: dict, lengths: dict, budget: int, replay: int) -> tuple[dict, dict]:
    """The rows of the statement, before and after the left-over rows."""
    rows = {"replay": replay * budget // (100 * lengths["replay"])}
    rest = budget - rows["replay"] * lengths["replay"]
    total = sum(weights[kind] * lengths[kind] for kind in weights)
    base = rows | {kind: weight * rest // total for kind, weight in weights.items()}
    left, found = rest - sum(base[kind] * lengths[kind] for kind in weights), dict(base)
    for kind in sorted(weights, key=lambda one: -(weights[one] * rest % total)):
        if lengths[kind] <= left:
            found[kind] += 1
            left -= lengths[kind]
    return base, found


def class_of(case: Mix) -> str:
    """Which stage a case belongs to: exact, cut off, or with rows left over."""
    weights, lengths, budget, replay = case
    base, found = mixed(*case)
    if base != found:
        return "left over"
    used = sum(rows * lengths[kind] for kind, rows in base.items())
    exact = used == budget and replay * budget % (100 * lengths["replay"]) == 0
    return "exact" if exact else "cut off"


def drawn_mix(rng) -> Mix:
    """Any case."""
    kinds = KINDS[: whole(rng, 1, 6)]
    weights = {kind: whole(rng, 1, 9) for kind in kinds}
    lengths = {kind: whole(rng, 3, 60) for kind in (*kinds, "replay")}
    return weights, lengths, whole(rng, 100, 4000), whole(rng, 0, 6) * 10


def exact_mix(rng) -> Mix:
    """A case in which everything divides."""
    weights, lengths, _, _ = drawn_mix(rng)
    times, total = whole(rng, 1, 5), sum(weights[kind] * lengths[kind] for kind in weights)
    # with 50 percent replay both halves are the same number of tokens
    lengths["replay"] = (total, total * times, 1)[whole(rng, 0, 2)]
    half = whole(rng, 0, 1)
    return weights, lengths, times * total * (1 + half), 50 * half


def of_class(rng, name: str, number: int) -> list[Mix]:
    """So many cases of one class."""
    found = []
    while len(found) < number:
        case = exact_mix(rng) if name == "exact" else drawn_mix(rng)
        if class_of(case) == name:
            found.append(case)
    return found


def cases(rng, name: str) -> list[Mix]:
    """Cases of a class that are the same for everyone, and some drawn ones."""
    return of_class(torch.Generator().manual_seed(17), name, 30) + of_class(rng, name, 5)


def ask_mix(student, case: Mix, cause: str, keys: tuple[str, ...] = ()) -> None:
    """Compare the rows of each kind."""
    weights, lengths, budget, replay = case
    given = (
        f"weights {weights}, lengths {lengths}, a budget of {budget} tokens, {replay} % of them"
        " replay"
    )
    right = mixed(*case)[1]
    came = expect(student.training_mix(*case), given=given).only_keys(right)
    for key in keys or right:
        came.has(key).equals(right[key], cause=cause)


@training_mix.stage("replay", points=1.5)
def test_replay_comes_first(student, rng):
    cause = (
        "Replay gets as many whole rows as fit into `replay` percent of the budget: round down"
        " replay · budget / (100 · length)."
    )
    for name in ("exact", "cut off", "left over"):
        for case in (HAND, *cases(rng, name)):
            ask_mix(student, case, cause, ("replay",))
    for replay in (0, 1, 50, 99, 100):
        ask_mix(student, (*HAND[:2], 1000, replay), cause, ("replay",))
    for case in one_changed(HAND, OTHER):
        ask_mix(student, case, cause, ("replay",))


@training_mix.stage("weights", points=2)
def test_rows_are_in_the_proportion_of_the_weights(student, rng):
    for case in (
        ({"sums": 1}, {"sums": 1, "replay": 1}, 1, 0),
        ({"chat": 3, "sums": 1}, {"chat": 20, "sums": 40, "replay": 100}, 400, 25),
        *cases(rng, "exact"),
    ):
        ask_mix(
            student,
            case,
            "The weights are proportions of rows. Divide the tokens that replay leaves by the"
            " sum of weight · length, and multiply by each weight.",
        )


@training_mix.stage("whole rows", points=1)
def test_rows_are_rounded_down(student, rng):
    for case in (
        ({"sums": 5}, {"sums": 40, "replay": 7}, 39, 0),
        ({"sums": 5}, {"sums": 40, "replay": 7}, 79, 10),
        *cases(rng, "cut off"),
    ):
        ask_mix(
            student,
            case,
            "Round each kind's rows down, and take off the tokens of whole replay rows only. The"
            " step must not exceed its budget.",
        )


@training_mix.stage("left-over rows", points=1.5)
def test_left_over_tokens_buy_single_rows(student, rng):
    cause = (
        "Go through the kinds by their lost fraction of a row, largest first, ties in the given"
        " order. Each takes one more row if it fits."
    )
    ties = dict.fromkeys(KINDS, 1)
    lengths = dict.fromkeys((*KINDS, "replay"), 10)
    for budget in (10, 20, 50, 80, 110):
        ask_mix(student, (ties, lengths, budget, 0), cause)
    ask_mix(student, (dict.fromkeys(sorted(KINDS), 1), lengths, 10, 0), cause)
    # 5/3 and 20/3 rows lose the same fraction, as floats they do not
    ask_mix(
        student, ({"chat": 1, "sums": 4}, {"chat": 20, "sums": 10, "replay": 50}, 100, 0), cause
    )
    for case in (*one_changed(HAND, OTHER), *cases(rng, "left over")):
        ask_mix(student, case, cause)

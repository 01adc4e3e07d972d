"""Checks of chapter 17, part 5: a finished run, scored by us on held-out items.

The bounds come from five full runs with other seeds (bench/results/trained_capstone.json), with
room for the error of a small sample; bench/capstone_hand_in.py measures both.
"""

import hashlib
from collections.abc import Sequence
from functools import lru_cache

import torch

from autograder.chapters.c17_capstone.run_format import (
    AGAIN,
    FinishedRun,
    RunFormatError,
    unpack,
)
from autograder.chapters.c17_capstone.run_items import CHARACTER, QUESTIONS, VERSES, WORDS
from autograder.chapters.c17_capstone.run_model import (
    CONTEXT,
    END,
    Model,
    answers,
    bits_per_byte,
    shortfall,
)
from autograder.chapters.c17_capstone.withholding import LIBRARIES, OURS
from autograder.checks.assertions.expect import CheckFailed
from autograder.checks.inputs.draws import whole
from autograder.checks.protocol import exercise, expect
from reference_impl.tokenizers.byte_level import ByteLevelBPE
from reference_impl.tokenizers.pretokenizers import GPT2_SINGLE_DIGITS
from reference_impl.tokenizers.vocabulary import TokenizerError, Vocabulary

MOST_BITS = 1.7  # bits per byte of held-out scripture
CHARACTER_SHARE, REVERSING_SHARE, SUMS_SHARE = 0.8, 0.75, 0.9
GAIN = 0.08  # of the sums at temperature 0.5, from tuning to reinforcement
ASKED = {"verses": 150, "character": 200, "reversing": 200, "sums": 200, "sampled": 300}
LONGEST = {"character": 30, "reversing": 12, "sums": 28}  # tokens of an answer
ENGINE_LONGEST = 30
ROUNDING = 1e-3  # of a logit, between two programs
FEW_MERGES = 1.5  # bytes per token; trained on this text it is 2.9

the_run = exercise(
    "17.the_run",
    function="the_run",
    kind="predict",
    points=7,
    see="17-capstone/serve#the-report-card",
    withhold=OURS | LIBRARIES,
)


class Grader:
    """A run with its tokenizer, which asks the models held-out questions."""

    def __init__(self, run: FinishedRun):
        self.run = run
        self.tokenizer = ByteLevelBPE(Vocabulary(run.tokens), run.merges, GPT2_SINGLE_DIGITS)
        for text in (*VERSES, *QUESTIONS):
            self.tokenizer.encode(text)  # raises TokenizerError for a byte without a token
        self.tuned = Model(run.config, run.tuned)
        self.reinforced = Model(run.config, run.reinforced)

    def prompt(self, question: str) -> list[int]:
        """A question in the run's own template."""
        before, after = self.run.prompt
        return [*before, *self.tokenizer.encode(question), *after]

    def said(
        self,
        model: Model,
        questions: Sequence[str],
        kind: str,
        temperature: float = 0.0,
        rng: torch.Generator | None = None,
    ) -> list[str]:
        """The answer to each question; "" where it did not end in time."""
        prompts = [self.prompt(question) for question in questions]
        found = answers(model, prompts, LONGEST[kind], temperature, rng)
        return [
            self.tokenizer.decode([token for token in ids if token > END]) if END in ids else ""
            for ids in found
        ]


@lru_cache(maxsize=2)
def grader_of(text: str) -> Grader:
    """The run in a text. Raises RunFormatError."""
    try:
        return Grader(unpack(text))
    except TokenizerError as error:
        raise RunFormatError(f"The tokenizer cannot be used: {error}.") from None


def read(student) -> Grader:
    """The student's run. Raises CheckFailed."""
    text = expect(student.the_run()).is_a(str)
    try:
        return grader_of(text)
    except RunFormatError as error:
        raise CheckFailed(str(error)) from None


def drawn(rng, items: Sequence, count: int) -> list:
    """Some of the items, in random order."""
    return [items[place] for place in torch.randperm(len(items), generator=rng)[:count].tolist()]


def is_held_out(a: int, b: int) -> bool:
    """Whether the capstone never trains on the sum of a and b: one in eight, by a hash."""
    return hashlib.sha256(f"{min(a, b)}+{max(a, b)}".encode()).digest()[0] % 8 == 0


def held_out_sums(rng, count: int) -> list[tuple[int, int]]:
    """Sums of two numbers of two digits."""
    pairs = [(a, b) for a in range(10, 100) for b in range(10, 100) if is_held_out(a, b)]
    return drawn(rng, pairs, count)


def share_of(right: Sequence[bool]) -> float:
    """The fraction that is right."""
    return sum(right) / len(right)


def enough(right: Sequence[bool], least: float, cause: str, what: str) -> None:
    """Fail with `cause` where a smaller fraction is right."""
    share = share_of(right)
    detail = f"{what}: {sum(right)} of {len(right)} right ({share:.2f}); at least {least:g} needed"
    expect(share >= least).is_true(cause=cause, detail=detail)


@the_run.stage("readable", points=1)
def test_the_text_holds_a_run(student):
    run = read(student).run
    expect(run.questions == list(QUESTIONS)).is_true(
        cause=f"The questions are not those of this edition of the course. {AGAIN}"
    )


@the_run.stage("bits per byte", points=1.5)
def test_scripture_is_not_forgotten(student, rng):
    grader = read(student)
    ids, num_bytes = scripture(grader, rng)
    expect(len(ids) > CONTEXT).is_true(cause="Your tokenizer has tokens of several sentences.")
    bits = bits_per_byte(grader.reinforced, ids, num_bytes)
    expect(bits <= MOST_BITS).is_true(
        cause=why_so_many_bits(grader, ids, num_bytes, bits),
        detail=f"{bits:.2f} bits per byte of held-out scripture; at most {MOST_BITS:g} allowed,"
        f" {num_bytes / len(ids):.2f} bytes per token",
    )


def scripture(grader: Grader, rng) -> tuple[list[int], int]:
    """Held-out verses as token ids, each closed by END, and their bytes."""
    verses = drawn(rng, VERSES, ASKED["verses"])
    ids = [token for verse in verses for token in (*grader.tokenizer.encode(verse), END)]
    return ids, sum(len(verse.encode()) + 1 for verse in verses)


def why_so_many_bits(grader: Grader, ids: list[int], num_bytes: int, bits: float) -> str:
    """The likely cause of a high loss; what is recognised comes first."""
    if bits <= MOST_BITS:
        return "The loss is low enough."
    if num_bytes / len(ids) < FEW_MERGES:
        return (
            "Your tokenizer was hardly trained: almost every byte is a token, so a chunk of tokens"
            " holds little text."
        )
    model = grader.reinforced
    if bits_per_byte(model, ids, num_bytes, ahead=2) < bits:
        return (
            "Your labels are shifted twice: the model predicts the token after the next one better"
            " than the next one."
        )
    unmasked = Model(model.config, model.weights, causal=False)
    if bits_per_byte(unmasked, ids, num_bytes) < bits / 2:
        return (
            "Your model was trained without the causal mask: where it sees later tokens, its loss"
            " is less than half."
        )
    return (
        "Your model predicts scripture badly. Either it was not pre-trained, or it forgot the text"
        " in tuning: replay keeps it."
    )


@the_run.stage("tasks after tuning", points=1.5)
def test_the_tuned_model_talks_and_reverses(student, rng):
    grader = read(student)
    enough(
        right_topics(grader, drawn(rng, CHARACTER, ASKED["character"])),
        CHARACTER_SHARE,
        "The tuned model talks past the topic. Look at the labels of tuning: only answers have"
        " them, each at its own token.",
        "topics",
    )
    enough(
        right_words(grader, drawn(rng, WORDS, ASKED["reversing"])),
        REVERSING_SHARE,
        "The tuned model does not spell words backwards. Were there enough steps of tuning, and"
        " labels on every letter?",
        "words backwards",
    )


def right_topics(grader: Grader, asked: Sequence[tuple[str, str]]) -> list[bool]:
    """Whether the tuned model's answers have the keyword of their topic."""
    said = grader.said(grader.tuned, [question for question, _ in asked], "character")
    return [has_word(answer, keyword) for answer, (_, keyword) in zip(said, asked, strict=True)]


def right_words(grader: Grader, words: Sequence[str]) -> list[bool]:
    """Whether the tuned model spells words backwards."""
    said = grader.said(grader.tuned, ["backwards: " + " ".join(one) for one in words], "reversing")
    pairs = zip(said, words, strict=True)
    return [answer.strip() == " ".join(reversed(word)) for answer, word in pairs]


def has_word(answer: str, keyword: str) -> bool:
    """Whether an answer has the keyword of its topic as a word."""
    letters = "".join(one if one.isalnum() or one == "_" else " " for one in answer.lower())
    return keyword in letters.split()


@the_run.stage("sums after reinforcement", points=1.5)
def test_reinforcement_teaches_to_work_sums_out(student, rng):
    grader = read(student)
    sums = held_out_sums(rng, ASKED["sums"])
    said = grader.said(grader.reinforced, [f"{a}+{b}" for a, b in sums], "sums")
    enough(right_sums(said, sums), SUMS_SHARE, why_sums_are_wrong(said), "sums, greedy")
    before, after = (
        share_of(right) for right in sampled_sums(grader, rng, held_out_sums(rng, ASKED["sampled"]))
    )
    expect(after - before >= GAIN).is_true(
        cause=(
            "Reinforcement changed little: the reinforced model is hardly more often right than"
            " the tuned one. Were both models written?"
        ),
        detail=f"sums at temperature 0.5: {before:.2f} before, {after:.2f} after; {GAIN:g} more"
        " needed",
    )


def sampled_sums(
    grader: Grader, rng, sums: Sequence[tuple[int, int]]
) -> tuple[list[bool], list[bool]]:
    """Whether sums are right at temperature 0.5, from the tuned and the reinforced model."""
    seed, found = whole(rng, 0, 2**31 - 1), []
    for model in (grader.tuned, grader.reinforced):
        chance = torch.Generator().manual_seed(seed)
        said = grader.said(model, [f"{a}+{b}" for a, b in sums], "sums", 0.5, chance)
        found.append(right_sums(said, sums))
    return found[0], found[1]


def right_sums(said: Sequence[str], sums: Sequence[tuple[int, int]]) -> list[bool]:
    """Whether each answer ends with the sum."""
    pairs = zip(said, sums, strict=True)
    return [answer.strip().split(" ")[-1] == str(a + b) for answer, (a, b) in pairs]


def why_sums_are_wrong(said: Sequence[str]) -> str:
    """The likely cause of wrong sums, by how many are worked out."""
    if share_of(["=" in answer for answer in said]) < 0.5:
        return (
            "The reinforced model answers sums without working them out. Your reward pays for"
            " another thing than the right last number, or it was shuffled."
        )
    return "The reinforced model works sums out, but with wrong results. What does your reward pay?"


@the_run.stage("engine", points=1.5)
def test_the_engine_answers_as_plain_greedy_decoding(student):
    grader = read(student)
    run = grader.run
    for given, question in zip(run.prompts, QUESTIONS, strict=True):
        expected = grader.prompt(question)
        shown = [repr(grader.tokenizer.decode(ids))[:120] for ids in (given, expected)]
        expect(given == expected).is_true(
            cause=(
                "The engine was given another prompt than the template of tuning makes. Export"
                " the chat template that you tuned with."
            ),
            detail=f"the engine got {shown[0]}, in tuning it was {shown[1]}",
        )
    asked_alone = [is_greedy(grader, *pair) for pair in zip(run.prompts, run.alone, strict=True)]
    expect(all(asked_alone)).is_true(
        cause="Alone, the engine answers otherwise than greedy decoding with these weights does.",
        detail=f"{asked_alone.count(False)} of {len(QUESTIONS)} answers differ",
    )
    pairs = zip(run.prompts, run.together, strict=True)
    together = [is_greedy(grader, *pair) for pair in pairs]
    expect(all(together)).is_true(
        cause=(
            "With sixteen requests together the engine answers otherwise than one at a time:"
            " padding that is not masked does this."
        ),
        detail=f"{together.count(False)} of {len(QUESTIONS)} answers differ",
    )


def is_greedy(grader: Grader, prompt: list[int], answer: list[int]) -> bool:
    """Whether an answer is what greedy decoding gives, up to rounding, to its end."""
    if not prompt or not answer or not (answer[-1] == END or len(answer) == ENGINE_LONGEST):
        return False
    return END not in answer[:-1] and shortfall(grader.reinforced, prompt, answer) <= ROUNDING

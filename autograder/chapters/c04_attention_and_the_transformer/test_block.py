"""Checks of chapter 4, the block around its parts, and the short answer on families."""

import torch

from autograder.chapters.c04_attention_and_the_transformer.withholding import LAYERS
from autograder.checks.assertions.slips import note
from autograder.checks.inputs.draws import normal, one_changed, whole
from autograder.checks.inputs.strided import FAILS, strided
from autograder.checks.protocol import Sample, Watched, exercise, expect, short_answer
from autograder.checks.student.requests import StudentError

BOOK = "04-attention-and-the-transformer"
CLOSE = {"rtol": 1e-4, "atol": 1e-5}

block = exercise(
    "04.block",
    function="block",
    also=["wrong_line"],
    points=5,
    kind="find-line",
    see=f"{BOOK}/block#residual-connections",
    withhold=LAYERS,
)


@block.stage("wrong line", points=1)
def test_the_wrong_line_is_named(student):
    line = expect(student.wrong_line()).is_a(int)
    expect(line == 3).is_true(
        cause=(
            "Your line does what the statement says. Trace the case by hand, line by"
            " line, and compare each name with the formulas."
        )
    )


# Stand-ins for the four parts, of any width. The attentions mix the tokens of a sequence, the
# others look at one token; no two of them give the same, nor do two of them in another order.
def attend(x):
    """Each token and all before it, and the one across."""
    return torch.tanh(x.cumsum(1) * 0.4) + 0.3 * x.flip(1) + 0.2


def attend_otherwise(x):
    """Each token less the mean of its sequence."""
    return 0.8 * x - x.mean(1, keepdim=True).square() + 0.1


def feed_forward(x):
    """Token by token, and not linear."""
    return torch.sin(0.7 * x + 0.2) + 0.1 * x.roll(1, -1).square()


def feed_forward_otherwise(x):
    """Another such layer."""
    return 0.5 * x.square() - 0.3 * x.roll(-1, -1) + 0.6


def norm_1(x):
    """Near LayerNorm with a bias, and right for one number too."""
    return 1.5 * x / (1 + x.square().mean(-1, keepdim=True)).sqrt() + 0.3


def norm_2(x):
    """Another size, another bias."""
    return 0.6 * x / (0.2 + x.abs().mean(-1, keepdim=True)) - 0.4


def named(words: str, layer):
    """The layer, with words for what it does to a single number."""
    layer.words = words
    return layer


def constant(number: float):
    """A layer that gives one number, whatever it is fed."""
    return named(f"returns {number:g}", lambda x: torch.full_like(x, number))


# The case by hand: one number in place of each tensor.
FOUR = torch.tensor([[[4.0]]])
times_ten, plus_one = named("multiplies by 10", lambda x: 10 * x), named("adds 1", lambda x: x + 1)
less_two, halved = named("subtracts 2", lambda x: x - 2), named("halves", lambda x: x / 2)


def right_block(x, attend, feed_forward, norm_1, norm_2):
    """The two formulas, one after the other."""
    seen = attend(norm_1(x)) + x
    return feed_forward(norm_2(seen)) + seen


def ask_block(student, x, cause: str, *parts) -> None:
    """Compare the output for these four parts."""
    given = "B = {}, T = {}, C = {}".format(*x.shape)
    if x.numel() == 1 and all(hasattr(one, "words") for one in parts):
        layers = zip(("attend", "feed_forward", "norm_1", "norm_2"), parts)
        said = ", ".join(f"{name} {one.words}" for name, one in layers)
        given = f"x = {x.item():g}, {said}"
    close = CLOSE if x.dtype == torch.float32 else {"rtol": 1e-9, "atol": 1e-9}
    expect(student.block(x, *parts), given=given).close(
        right_block(x, *parts), **close, cause=cause
    )


SIZES = (
    (1, 1, 1),
    (2, 3, 4),
    (1, 5, 2),
    (3, 1, 2),
    (3, 3, 3),
    (2, 4, 1),
    (1, 600, 2),
    (1, 2, 600),
    (600, 1, 2),
)


@block.stage("residual connections", points=1)
def test_both_residual_connections_add_to_the_stream(student, rng):
    rule = (
        "Add each sublayer's output to the residual stream, which is never"
        " normalized: with constant outputs your result must be x plus both."
    )
    ask_block(student, FOUR, rule, constant(0.5), constant(-2.0), less_two, halved)
    for size in (*SIZES, (2, whole(rng, 4, 6), 3)):
        ask_block(
            student, 3 * normal(rng, *size) + 1, rule, constant(0.5), constant(-2.0), norm_1, norm_2
        )
    for _ in range(2):
        ask_block(
            student,
            normal(rng, 2, 3, 4),
            (
                "Add each sublayer's output to the residual stream: with outputs of 0 your"
                " result must be a new tensor with the values of x."
            ),
            constant(0.0),
            constant(0.0),
            norm_1,
            norm_2,
        )


@block.stage("input of attention", points=1)
def test_attention_is_fed_the_first_norm_of_the_input(student, rng):
    rule = (
        "Feed attention norm_1(x), the whole batch at once, and add its output to x"
        " (the feed-forward returns zeros here)."
    )
    ask_block(student, FOUR, rule, times_ten, constant(0.0), less_two, halved)
    for size in (*SIZES, (2, whole(rng, 4, 6), 3)):
        ask_block(student, normal(rng, *size) + 0.5, rule, attend, constant(0.0), norm_1, norm_2)
    for norm in (constant(0.0), constant(1.0), lambda x: x.clone()):
        ask_block(
            student,
            normal(rng, 2, 3, 4),
            (
                "Call attention and add its output to x, whatever the norm returns: zeros, or"
                " its own input."
            ),
            attend,
            constant(0.0),
            norm,
            norm_2,
        )
    ask_block(student, torch.zeros(1, 2, 3), rule, attend, constant(0.0), norm_1, norm_2)


@block.stage("input of feed-forward", points=1.5)
def test_the_feed_forward_is_fed_the_second_norm_of_the_sum(student, rng):
    rule = (
        "Feed the feed-forward norm_2 of the sum of x and attention's output, and add"
        " its output to that sum."
    )
    ask_block(student, FOUR, rule, times_ten, plus_one, less_two, halved)
    for size in (*SIZES, (2, whole(rng, 4, 6), 3)):
        x = normal(rng, *size) + 0.5
        ask_block(student, x, rule, constant(0.0), feed_forward, norm_1, norm_2)
        ask_block(student, x, rule, attend, feed_forward, norm_1, norm_2)
    for norm in (constant(0.0), constant(1.0), lambda x: x.clone()):
        ask_block(student, normal(rng, 2, 3, 4), rule, attend, feed_forward, norm_1, norm)
        ask_block(student, normal(rng, 2, 3, 4), rule, attend, feed_forward, norm, norm_2)
    for scale in (0.01, 100.0, 2e4):
        ask_block(student, scale * normal(rng, 2, 3, 4), rule, attend, feed_forward, norm_1, norm_2)
    parts = (
        (normal(rng, 1, 3, 2), attend, feed_forward, norm_1, norm_2),
        (normal(rng, 1, 3, 2), attend_otherwise, feed_forward_otherwise, norm_2, norm_1),
    )
    for one in one_changed(*parts):
        ask_block(student, one[0], rule, *one[1:])
    ask_block(
        student,
        normal(rng, 2, 3, 2).double(),
        ("Keep float64: x may be float64, and your result must then be correct to nine digits."),
        attend,
        feed_forward,
        norm_1,
        norm_2,
    )
    ask_with_views(student, normal(rng, 2, 3, 4))


def ask_with_views(student, x) -> None:
    """The same question with a view of a larger tensor: who fails there only makes a slip."""
    try:
        came = student.block(strided(x), attend, feed_forward, norm_1, norm_2)
    except StudentError as error:
        if error.kind != "error":
            raise
        note(FAILS)
        return
    expect(came).close(
        right_block(x, attend, feed_forward, norm_1, norm_2),
        **CLOSE,
        cause="Index x instead of reading the memory under it: it may be a view.",
    )


@block.stage("one call each", points=0.5, after="input of feed-forward")
def test_each_part_is_called_once(student, rng):
    for size, first, second in (
        ((2, 3, 4), norm_1, norm_2),
        ((3, 1, 2), norm_1, norm_2),
        ((1, 1, 1), norm_1, norm_2),
        ((600, 1, 2), norm_1, norm_2),
        ((1, 600, 2), norm_1, norm_2),
        ((1, 2, 600), norm_1, norm_2),
        ((2, 3, 2), constant(0.0), norm_2),
        ((2, 3, 2), norm_1, constant(0.0)),
    ):
        parts = [Watched(one, calls=20) for one in (attend, feed_forward, first, second)]
        x = normal(rng, *size)
        expect(student.block(x, *parts)).close(
            right_block(x, attend, feed_forward, first, second),
            **CLOSE,
            cause=(
                "Your result changed when the calls of the four parts were counted: compute"
                " it from x and these parts only."
            ),
        )
        for name, one in zip(("attend", "feed_forward", "norm_1", "norm_2"), parts):
            expect(one.calls == 1).is_true(
                cause=(
                    f"Call `{name}` once, with the whole batch, and keep its result in a variable."
                )
            )
            given = (
                [one.asked[0][0].shape]
                if one.asked[0] and type(one.asked[0][0]) is torch.Tensor
                else []
            )
            expect(given in ([], [x.shape])).is_true(
                cause=f"Feed `{name}` the whole batch in its shape, (B, T, C)."
            )


short_answer(
    "04.which_family",
    points=4,
    see=f"{BOOK}/families#three-attention-patterns",
    rubric={
        "families": (
            1,
            (
                "names all three: A is an encoder, B a decoder, C an encoder and a decoder (half"
                " for two of them), each with a published model that is one"
            ),
        ),
        "masks": (
            1,
            (
                "says which attention is causal and which is not: none in A; the one in B; in C the"
                " decoder's attention to itself only, while the encoder's own and the decoder's to"
                " the encoder's output see everything (half if C's three are not told apart)"
            ),
        ),
        "jobs": (
            1,
            (
                "gives each job to a model with a reason that comes from what a position sees: all"
                " of the review at every position; nothing of the future where the story"
                " continues; all of the source and the translation so far (half without the"
                " reasons)"
            ),
        ),
        "why not A": (
            1,
            (
                "says why A does not simply continue writing: its positions were trained with the"
                " words on their right in view, so it never learned to predict an open end; or,"
                " that a word at the end changes the output at every earlier position, so nothing"
                " of the step before can be used again"
            ),
        ),
    },
    samples=[
        Sample(
            "Weak",
            "A is BERT because it is bidirectional and BERT understands language. B and C are GPT"
            " models because they generate text, C is larger. I would use GPT for everything, since"
            " it is the newest.",
            {},
            "One family of three is named, and C's wrongly. No mask is described, no job has a"
            " reason, and why A does not write is not touched.",
        ),
        Sample(
            "Half",
            "A = encoder (BERT), B = decoder (GPT-2), C = encoder-decoder (T5). The review goes to"
            " A, the story to B and the translation to C. A cannot generate because it has no"
            " decoder.",
            {"families": 1, "jobs": 0.5},
            "Row 1 in full. Jobs without a reason are half of row 3. No attention is said to be"
            ' causal or not, and "it has no decoder" names the thing and not the cause.',
        ),
        Sample(
            "Good",
            "A is an encoder like BERT: no causal mask anywhere, every position sees every"
            " position. B is a decoder like GPT: its self-attention is causal. C is an"
            " encoder-decoder like T5. The encoder is not masked, the decoder's self-attention is"
            " causal, and cross-attention sees the whole source. A for the reviews, because each"
            " position can use the whole text; B for the story, because while writing only the past"
            " exists; C for translation, because the source is known as a whole and the target"
            " grows from left to right. A cannot write since it is only made for understanding.",
            {"families": 1, "masks": 1, "jobs": 1},
            "Rows 1 to 3 in full, C's three attentions told apart. The last sentence gives a label"
            " and no reason, so row 4 has nothing.",
        ),
        Sample(
            "Strong",
            "A: encoder (BERT, ModernBERT), attention open both ways. B: decoder (GPT, LLaMA),"
            " causal self-attention. C: both (the first Transformer, T5): open in the encoder,"
            " causal in the decoder's self-attention, open from the decoder to the encoder's"
            " output. Review: A, every position has read all of it. Story: B, because a position"
            " was trained to predict its next word from the left alone, which is all there is."
            " Translation: C, because the source may be read from both sides while the target may"
            " not look ahead. A was trained with words on both sides of the hidden one, so at an"
            " open end it has half of what it leans on; and each new word would change all the"
            " vectors before it, so everything has to be computed again.",
            {"families": 1, "masks": 1, "jobs": 1, "why not A": 1},
            "All four rows. Row 4 even has both reasons; one is enough.",
        ),
    ],
)

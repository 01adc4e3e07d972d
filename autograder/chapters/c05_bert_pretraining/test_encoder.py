"""Checks of chapter 5, part 4: the whole encoder, by the published names of its tensors."""

import math

import torch
from torch import Tensor

from autograder.chapters.c05_bert_pretraining.withholding import LIBRARIES, OURS, READY
from autograder.checks.inputs.draws import (
    counts,
    look_alike,
    look_alikes,
    normal,
    one_changed,
    whole,
)
from autograder.checks.protocol import exercise, expect

BOOK = "05-bert-pretraining"
CLOSE = {"rtol": 1e-4, "atol": 2e-5}
# Behind a layer: so wide that 1e-5 under a root in place of 1e-12 shows in the first stage only.
CLOSE_BEHIND_LAYERS = {"rtol": 4e-4, "atol": 8e-5}
ATTENTION = (
    "attention.self.query",
    "attention.self.key",
    "attention.self.value",
    "attention.output.dense",
)

bert_encode = exercise(
    "05.bert_encode",
    function="bert_encode",
    points=9,
    see=f"{BOOK}/size#it-works-a-published-encoder-in-this-code",
    withhold=OURS | LIBRARIES | READY,
)


def normed(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """LayerNorm over the last axis."""
    x = x - x.mean(-1, keepdim=True)
    return x / (x.square().mean(-1, keepdim=True) + 1e-12).sqrt() * weight + bias


def encoded(
    weights: dict[str, Tensor], ids: Tensor, segments: Tensor, mask: Tensor, num_heads: int
) -> Tensor:
    """The right answer in float64, text by text and head by head."""
    w = {name: tensor.double() for name, tensor in weights.items()}
    layers = len({name.split(".")[2] for name in w if name.startswith("encoder.layer.")})
    texts = []
    for text, kinds, seen in zip(ids, segments, mask):
        x = sum(
            w[f"embeddings.{table}_embeddings.weight"][rows]
            for table, rows in (
                ("word", text),
                ("position", torch.arange(len(text))),
                ("token_type", kinds),
            )
        )
        x = normed(x, w["embeddings.LayerNorm.weight"], w["embeddings.LayerNorm.bias"])
        for layer in (f"encoder.layer.{number}" for number in range(layers)):

            def linear(part: str, x: Tensor, layer: str = layer) -> Tensor:
                return x @ w[f"{layer}.{part}.weight"].T + w[f"{layer}.{part}.bias"]

            q, k, v = (linear(part, x).chunk(num_heads, 1) for part in ATTENTION[:3])
            heads = []
            for head in range(num_heads):
                scores = q[head] @ k[head][seen].T / math.sqrt(q[head].shape[1])
                heads.append(scores.softmax(1) @ v[head][seen])
            x = normed(
                x + linear(ATTENTION[3], torch.cat(heads, 1)),
                *(w[f"{layer}.attention.output.LayerNorm.{one}"] for one in ("weight", "bias")),
            )
            inner = linear("intermediate.dense", x)
            thought = linear("output.dense", inner * (1 + torch.erf(inner / math.sqrt(2))) / 2)
            x = normed(
                x + thought, *(w[f"{layer}.output.LayerNorm.{one}"] for one in ("weight", "bias"))
            )
        texts.append(x)
    return torch.stack(texts).float()


def drawn(
    rng,
    batch: int,
    places: int,
    width: int,
    num_heads: int,
    layers: int = 0,
    inner: int = 5,
    attends: bool = True,
    thinks: bool = True,
) -> tuple:
    """The five arguments.

    Without `attends` or `thinks` that half of a block gives each token the same vector, whatever it
    is fed.
    """

    def fresh(*shape: int) -> Tensor:
        return normal(rng, *shape)

    entries, positions = 12, places + whole(rng, 0, min(3, 300 - places))
    weights = {
        f"embeddings.{table}_embeddings.weight": 1.5 * fresh(rows, width)
        for table, rows in (("word", entries), ("position", positions), ("token_type", 2))
    }
    norms = ["embeddings.LayerNorm"]
    for layer in (f"encoder.layer.{number}" for number in range(layers)):
        for part in ATTENTION:
            weights[f"{layer}.{part}.weight"], weights[f"{layer}.{part}.bias"] = (
                1.2 * fresh(width, width) / width**0.5,
                0.5 * fresh(width),
            )
        (
            weights[f"{layer}.intermediate.dense.weight"],
            weights[f"{layer}.intermediate.dense.bias"],
        ) = 1.3 * fresh(inner, width) / width**0.5, 0.5 * fresh(inner)
        weights[f"{layer}.output.dense.weight"], weights[f"{layer}.output.dense.bias"] = (
            fresh(width, inner) / inner**0.5,
            0.5 * fresh(width),
        )
        if not attends:
            weights[f"{layer}.attention.output.dense.weight"] = torch.zeros(width, width)
        if not thinks:
            weights[f"{layer}.output.dense.weight"] = torch.zeros(width, inner)
        norms += [f"{layer}.attention.output.LayerNorm", f"{layer}.output.LayerNorm"]
    for name in norms:
        weights[f"{name}.weight"], weights[f"{name}.bias"] = (
            1 + 0.3 * fresh(width),
            0.5 * fresh(width),
        )
    ids, segments = counts(rng, 0, entries - 1, batch, places), counts(rng, 0, 1, batch, places)
    return weights, ids, segments, torch.ones(batch, places, dtype=torch.bool), num_heads


def with_loud_feed_forward(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """The weights with a feed-forward that adds so much that a GELU that is nearly right shows."""
    return {
        name: 3 * tensor
        if name.endswith(".output.dense.weight") and ".attention." not in name
        else tensor
        for name, tensor in weights.items()
    }


def ask(student, parts: tuple, cause: str) -> None:
    """Compare the vectors of all places but those of padding."""
    weights, ids, _, mask, num_heads = parts
    width = weights["embeddings.LayerNorm.weight"].shape[0]
    layers = sum(name.endswith("intermediate.dense.weight") for name in weights)
    given = f"B = {len(ids)}, T = {ids.shape[1]}, C = {width}, H = {num_heads}, {layers} layers"
    came = expect(student.bert_encode(*parts), given=given).is_tensor(
        shape=(*ids.shape, width), dtype=torch.float32, cause=cause
    )
    right, close = encoded(*parts), CLOSE_BEHIND_LAYERS if layers else CLOSE
    if mask.all():
        expect(came, given=given).close(right, **close, cause=cause)
    else:
        expect(came[mask], "What you return at the tokens' positions", given).close(
            right[mask], **close, cause=cause
        )


@bert_encode.stage("embeddings", points=1.5)
def test_three_rows_are_added_and_normed(student, rng):
    rule = (
        "There is no layer here: the embeddings of token, position and segment"
        " are added, and the sum is normalized over the last axis, with"
        " `embeddings.LayerNorm` and 1e-12 under the root."
    )
    for sizes in (
        (1, 1, 7, 1),
        (1, 3, 8, 1),
        (2, 4, 7, 1),
        (7, 7, 7, 7),
        (2, 5, 8, 2),
        (1, 300, 9, 1),
        (300, 2, 7, 1),
        (1, 2, 300, 1),
        (2, whole(rng, 6, 9), 8, 1),
    ):
        ask(student, drawn(rng, *sizes), rule)
    weights, _, *rest = drawn(rng, 2, 5, 8, 1)
    many = weights | {"embeddings.word_embeddings.weight": normal(rng, 300, 8)}
    ask(
        student,
        (many, torch.tensor([[299, 0, 255, 256, 257], [128, 127, 298, 1, 299]]), *rest),
        f"{rule} The vocabulary has 300 tokens here.",
    )
    by_hand = {
        "word_embeddings.weight": [[3.0, 0.0]],
        "position_embeddings.weight": [[0.0, 1.0]],
        "token_type_embeddings.weight": [[1.0, 0.0], [5.0, 9.0]],
        "LayerNorm.weight": [1.0, 1.0],
        "LayerNorm.bias": [0.0, 0.0],
    }
    one = torch.zeros(1, 1, dtype=torch.int64)
    ask(
        student,
        (
            {f"embeddings.{name}": torch.tensor(rows) for name, rows in by_hand.items()},
            one,
            one,
            one == 0,
            1,
        ),
        f"{rule} This is the case by hand.",
    )
    weights, *rest = drawn(rng, 2, 4, 8, 1)
    small = {
        name: tensor * 1e-6 if "embeddings.weight" in name else tensor
        for name, tensor in weights.items()
    }
    ask(
        student,
        (small, *rest),
        f"{rule} The sums are very small here, so that what stands under the root shows.",
    )
    ask(
        student,
        drawn(rng, 2, 3, 1, 1),
        f"{rule} A token of one number is its own mean: what comes out is the bias.",
    )


@bert_encode.stage("post-norm", points=1.5)
def test_each_half_is_added_and_the_sum_is_normed(student, rng):
    rule = (
        "Attention and feed-forward add the same vector to every token here: the weights of"
        " `attention.output.dense` and `output.dense` are 0, and only their biases are left. After"
        " each of the two the sum is normed: first with `attention.output.LayerNorm`, then with"
        " `output.LayerNorm`."
    )
    for sizes in (
        (1, 1, 9, 1),
        (1, 3, 8, 1),
        (2, 4, 7, 1),
        (3, 2, 10, 1),
        (2, whole(rng, 5, 9), 8, 1),
    ):
        ask(student, drawn(rng, *sizes, 1, attends=False, thinks=False), rule)


@bert_encode.stage("attention", points=1.5)
def test_one_head_looks_to_both_sides(student, rng):
    rule = (
        "One head, no padding, and a feed-forward that adds a constant: queries, keys and values"
        " with their biases, scores divided by the root of D, a softmax over the keys, and"
        " `attention.output.dense`. Every token sees all tokens of its own text."
    )
    for sizes in (
        (1, 2, 8, 1),
        (1, 4, 7, 1),
        (2, 5, 8, 1),
        (7, 7, 7, 1),
        (4, 2, 10, 1),
        (1, 110, 8, 1),
        (2, whole(rng, 6, 9), 9, 1),
    ):
        ask(student, drawn(rng, *sizes, 1, thinks=False), rule)


@bert_encode.stage("heads", points=1.5)
def test_each_head_has_its_own_columns(student, rng):
    rule = (
        "Several heads: head h has the columns h D to (h + 1) D - 1 of queries, keys and values,"
        " its own softmax, and scores divided by the root of D = C / H. Side by side again they go"
        " through `attention.output.dense`."
    )
    for sizes in (
        (1, 2, 8, 2),
        (1, 4, 8, 2),
        (2, 5, 9, 3),
        (3, 3, 9, 3),
        (2, 4, 7, 7),
        (4, 4, 16, 4),
        (1, 2, 105, 5),
        (2, whole(rng, 6, 9), 8, 2),
    ):
        ask(student, drawn(rng, *sizes, 1, thinks=False), rule)


@bert_encode.stage("padding", points=1)
def test_no_token_sees_padding(student, rng):
    rule = (
        "Some positions are padding: no query gives them any weight, in any head,"
        " and positions still count from the left end of the row. Each text keeps"
        " its own mask."
    )
    for sizes in ((2, 4, 8, 1), (4, 4, 8, 4), (2, 120, 8, 2), (3, whole(rng, 4, 9), 9, 3)):
        weights, ids, segments, mask, heads = drawn(rng, *sizes, 1, thinks=False)
        lengths = counts(rng, 1, sizes[1], sizes[0], 1)
        lengths[0], lengths[-1] = sizes[1], 1
        behind = torch.arange(sizes[1]) < lengths
        ask(student, (weights, ids, segments, behind, heads), rule)
        ask(
            student,
            (weights, ids, segments, behind.flip(1), heads),
            f"{rule} Padding may stand in front.",
        )
        somewhere = torch.rand(ids.shape, generator=rng) < 0.5
        somewhere[:, whole(rng, 0, sizes[1] - 1)] = True
        ask(
            student,
            (weights, ids, segments, somewhere, heads),
            f"{rule} Padding may stand anywhere.",
        )


@bert_encode.stage("feed-forward", points=1)
def test_the_feed_forward_uses_the_exact_gelu(student, rng):
    rule = (
        "`intermediate.dense`, GELU, `output.dense`: the exact GELU, z times the normal"
        " distribution's Phi(z). Its approximation by tanh differs in the fourth digit."
    )
    for sizes, inner in (
        ((1, 1, 8, 1), 6),
        ((1, 3, 8, 1), 5),
        ((2, 4, 8, 2), 4),
        ((2, 5, 9, 3), 1),
        ((2, 3, 7, 1), 300),
        ((2, whole(rng, 4, 9), 8, 4), whole(rng, 7, 30)),
    ):
        weights, *rest = drawn(rng, *sizes, 1, inner)
        ask(student, (with_loud_feed_forward(weights), *rest), rule)


@bert_encode.stage("layers", points=1)
def test_there_may_be_many_layers_and_other_names(student, rng):
    rule = (
        "Layer after layer, by their numbers 0, 1, 2, ...: as text, 10 comes before 2. Names that"
        " the statement does not mention are left aside."
    )
    for sizes, layers in (
        ((2, 3, 8, 2), 2),
        ((2, 3, 8, 1), 12),
        ((1, 2, 8, 2), 40),
        ((2, 5, 8, 4), whole(rng, 3, 5)),
    ):
        weights, ids, segments, mask, heads = drawn(rng, *sizes, layers)
        weights = with_loud_feed_forward(weights)
        mask[0, -1] = False
        more = {
            "pooler.dense.weight": normal(rng, sizes[2], sizes[2]),
            "embeddings.position_ids": torch.arange(4)[None],
        }
        more |= {
            f"cls.predictions.{number}.weight": normal(rng, sizes[2])
            for number in range(whole(rng, 16, 40))
        }  # as many as a layer has, and more
        order = torch.randperm(len(weights) + len(more), generator=rng).tolist()
        shuffled = dict([*(weights | more).items()][number] for number in order)
        ask(student, (shuffled, ids, segments, mask, heads), rule)
    first, second = drawn(rng, 2, 4, 12, 2, 1), drawn(rng, 2, 4, 12, 3, 1)
    second[3][0, 1] = False
    for case in [*one_changed(first, second), *look_alikes(first)[1:]]:
        ask(student, case, "The answer depends on all five arguments.")
    changed = {
        name: look_alike(tensor) if name.endswith("word_embeddings.weight") else tensor
        for name, tensor in first[0].items()
    }
    ask(student, (changed, *first[1:]), "The answer depends on every number of the weights.")

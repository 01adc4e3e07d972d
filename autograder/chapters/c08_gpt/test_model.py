"""Checks of chapter 8, part 2: the model, by handle, and its size."""

import math

import torch
from torch import Tensor

from autograder.chapters.c08_gpt.withholding import LIBRARIES, OURS, READY
from autograder.checks.assertions.slips import note
from autograder.checks.inputs.draws import counts, normal, whole
from autograder.checks.inputs.strided import FAILS, strided
from autograder.checks.protocol import exercise, expect, inside
from autograder.checks.student.requests import StudentError

BOOK = "08-gpt"
CLOSE = {"rtol": 1e-4, "atol": 1e-4}

gpt = exercise(
    "08.GPT",
    function="GPT",
    points=10,
    see=f"{BOOK}/configurations#the-configuration-and-the-tied-output",
    withhold=OURS | LIBRARIES | READY,
)


def normed(x: Tensor, weights: dict[str, Tensor], name: str) -> Tensor:
    """LayerNorm over the last axis."""
    x = x - x.mean(-1, keepdim=True)
    return (
        x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt() * weights[f"{name}.weight"]
        + weights[f"{name}.bias"]
    )


def logits_of(weights: dict[str, Tensor], ids: Tensor, num_heads: int, norm_first: bool) -> Tensor:
    """The right logits in float64, head by head."""
    w = {name: tensor.double() for name, tensor in weights.items()}
    layers = sum(name.endswith("qkv.weight") for name in w)
    T = ids.shape[1]
    x = w["tokens.weight"][ids] + w["places.weight"][torch.arange(T)]  # (B, T, C)
    ahead = torch.ones(T, T, dtype=torch.bool).triu(1)
    for block in (f"blocks.{number}" for number in range(layers)):

        def linear(part: str, x: Tensor, block: str = block) -> Tensor:
            return x @ w[f"{block}.{part}.weight"].T + w[f"{block}.{part}.bias"]

        def attend(x: Tensor, linear=linear) -> Tensor:
            heads = [part.chunk(num_heads, 2) for part in linear("qkv", x).chunk(3, 2)]
            mixed = [
                (q @ k.mT / math.sqrt(q.shape[2])).masked_fill(ahead, -math.inf).softmax(2) @ v
                for q, k, v in zip(*heads)
            ]
            return linear("out", torch.cat(mixed, 2))

        def think(x: Tensor, linear=linear) -> Tensor:
            z = linear("up", x)
            return linear(
                "down", z / 2 * (1 + torch.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z**3)))
            )

        if norm_first:
            x = x + attend(normed(x, w, f"{block}.norm_1"))
            x = x + think(normed(x, w, f"{block}.norm_2"))
        else:
            x = normed(x + attend(x), w, f"{block}.norm_1")
            x = normed(x + think(x), w, f"{block}.norm_2")
    return (normed(x, w, "norm") if norm_first else x) @ w["tokens.weight"].T


def drawn(
    rng, V: int, P: int, C: int, L: int, norm_first: bool, attends: bool = True, thinks: bool = True
) -> dict[str, Tensor]:
    """Weights by name.

    Without `attends` or `thinks` that half of a block adds the same vector to each token.
    """

    def matrix(out: int, into: int, scale: float, name: str) -> dict[str, Tensor]:
        return {
            f"{name}.weight": scale * normal(rng, out, into) / into**0.5,
            f"{name}.bias": 0.5 * normal(rng, out),
        }

    weights = {"tokens.weight": normal(rng, V, C), "places.weight": normal(rng, P, C)}
    norms = ["norm"] if norm_first else []
    for block in (f"blocks.{number}" for number in range(L)):
        weights |= matrix(3 * C, C, 1.5, f"{block}.qkv") | matrix(
            C, C, 1.3 * attends, f"{block}.out"
        )
        weights |= matrix(4 * C, C, 1.3, f"{block}.up") | matrix(
            C, 4 * C, 1.6 * thinks, f"{block}.down"
        )
        norms += [f"{block}.norm_1", f"{block}.norm_2"]
    for name in norms:
        weights |= {
            f"{name}.weight": 1 + 0.3 * normal(rng, C),
            f"{name}.bias": 0.5 * normal(rng, C),
        }
    return weights


def ask(
    student,
    rng,
    cause: str,
    shape: tuple[int, int, int, int, int, bool],
    texts: tuple[int, int],
    attends: bool = True,
    thinks: bool = True,
    again: bool = False,
    tables: float = 1.0,
) -> None:
    """Build a model, put weights in, and compare the logits; again: other ids, and then the same
    ones with other weights and in training mode.

    tables: a factor of both tables; a small one shows what stands under the root of a norm.
    """
    V, P, _, _, H, norm_first = shape
    model, ids = student.build("GPT", *shape), counts(rng, 0, V - 1, *texts)
    for mode in (False, True) if again else (False,):
        weights = drawn(rng, *shape[:4], norm_first, attends, thinks)
        weights |= {name: tables * weights[name] for name in ("tokens.weight", "places.weight")}
        inside(model).load(weights)
        inside(model).train(mode)
        given = "V {}, P {}, C {}, L {}, H {}, norm_first {}, ".format(
            *shape
        ) + "B {}, T {}".format(*texts)
        for case in (ids, ids.flip(1), ids) if again else (ids,):
            came = expect(model(case), "Your logits", given).is_tensor(
                shape=(*texts, V), dtype=torch.float32, cause=cause
            )
            expect(came, "Your logits", given).close(
                logits_of(weights, case, H, norm_first).float(), **CLOSE, cause=cause
            )


@gpt.stage("embeddings", points=1.5)
def test_tokens_and_places_are_added_and_read_by_the_same_table(student, rng):
    rule = (
        "Without blocks and norm, add token and position embeddings; the logits are dot "
        "products of the sum with all rows of `tokens`, without scaling."
    )
    for sizes, texts in (
        ((1, 1, 1), (1, 1)),
        ((5, 4, 3), (1, 4)),
        ((4, 4, 4), (4, 4)),
        ((7, 6, 2), (2, 3)),
        ((300, 2, 3), (2, 2)),
        ((3, 300, 2), (1, 300)),
        ((4, 3, 300), (2, 2)),
        ((4, 3, 2), (300, 2)),
        ((9, whole(rng, 6, 9), 5), (3, 5)),
    ):
        ask(student, rng, rule, (*sizes, 0, 1, False), texts)
    ask(student, rng, rule, (6, 5, 3, 0, 1, False), (2, 4), again=True)
    model = student.build("GPT", 2, 1, 2, 0, 1, False)
    inside(model).load(
        {
            "tokens.weight": torch.tensor([[1.0, 0.0], [0.0, 2.0]]),
            "places.weight": torch.tensor([[0.5, 0.0]]),
        }
    )
    expect(model(torch.tensor([[1]])), "Your logits").close(
        torch.tensor([[[0.5, 4.0]]]), **CLOSE, cause=f"{rule} This is the case by hand."
    )


@gpt.stage("tie", points=1, after="embeddings")
def test_the_table_learns_from_both_of_its_uses(student, rng):
    rule = (
        "`tokens` is used twice, at the beginning and at the end, and gets a gradient from both"
        " uses. A copy, `.detach()` or `.data` gets one from the first alone."
    )
    for sizes, texts in (((6, 4, 3), (1, 3)), ((5, 5, 4), (2, 4))):
        model, weights, ids = (
            student.build("GPT", *sizes, 0, 1, False),
            drawn(rng, *sizes, 0, False),
            counts(rng, 0, sizes[0] - 1, *texts),
        )
        inside(model).load(weights)
        upstream = normal(rng, *texts, sizes[0])
        found = inside(model).gradients("", ids, upstream=upstream).parameters
        table = weights["tokens.weight"].double().requires_grad_()
        (logits_of(weights | {"tokens.weight": table}, ids, 1, False) * upstream).sum().backward()
        came = found.get("tokens.weight")
        expect(came is not None).is_true(cause=rule)
        expect(came, "The gradient of `tokens.weight`").close(
            table.grad.float(), rtol=1e-3, atol=1e-4, cause=rule
        )


@gpt.stage("last-norm", points=1)
def test_gpt2_norms_once_more_before_the_output(student, rng):
    rule = (
        "With `norm_first` the vectors go through `norm` after the last block, here after none,"
        " before they meet the table; 1e-5 stands under the root."
    )
    for sizes, texts in (
        ((1, 1, 2), (1, 1)),
        ((5, 4, 8), (1, 4)),
        ((4, 4, 4), (4, 4)),
        ((9, 7, whole(rng, 5, 9)), (2, 5)),
    ):
        ask(student, rng, rule, (*sizes, 0, 1, True), texts)
    ask(
        student,
        rng,
        f"{rule} The numbers are small here, so that it shows.",
        (9, 5, 8, 0, 1, True),
        (2, 5),
        tables=0.003,
    )


@gpt.stage("attention", points=1.5, after="last-norm")
def test_one_head_sees_itself_and_what_came_before(student, rng):
    rule = (
        "One block, one head, `norm_first`, and a feed-forward that adds the same to each token:"
        " `norm_1`, then `qkv`, whose columns are queries, keys and values in this order, scores"
        " divided by the root of C, nothing later than the token itself, `out`, and the sum with"
        " what went in."
    )
    for sizes, texts in (
        ((5, 1, 4), (1, 1)),
        ((5, 3, 8), (1, 3)),
        ((6, 6, 4), (2, 5)),
        ((4, 4, 4), (4, 4)),
        ((8, 300, 6), (1, 300)),
        ((9, 7, whole(rng, 5, 9)), (2, 6)),
    ):
        ask(student, rng, rule, (*sizes, 1, 1, True), texts, thinks=False)
    model, (weights, ids) = (
        student.build("GPT", 6, 4, 5, 1, 1, True),
        with_large_scores(rng, 6, 4, 5),
    )
    inside(model).load(weights)
    cause = (
        "Scores are in the hundreds here: all that a token sees may be below -100, and a hidden one"
        " 200 above them. Lowering hidden scores by 100, or setting them to -100, does not hide"
        " them. Set them to minus infinity."
    )
    expect(model(ids), "Your logits").close(
        logits_of(weights, ids, 1, True).float(), **CLOSE, cause=cause
    )


def with_large_scores(rng, V: int, T: int, C: int) -> tuple[dict[str, Tensor], Tensor]:
    """Weights of a block with one head, and a text with scores in the hundreds.

    All that some token sees have scores below -120, and a hidden one is 200 above them. No two
    scores in a row are near each other, so rounding decides nothing.
    """
    ahead = torch.ones(T, T, dtype=torch.bool).triu(1)
    while True:
        weights, ids = drawn(rng, V, T, C, 1, True, thinks=False), counts(rng, 0, V - 1, 1, T)
        weights["blocks.0.qkv.weight"][: 2 * C] *= 10
        x = weights["tokens.weight"][ids[0]] + weights["places.weight"][:T]
        x = normed(x, weights, "blocks.0.norm_1").double()
        made = x @ weights["blocks.0.qkv.weight"].double().T + weights["blocks.0.qkv.bias"].double()
        q, k, _ = made.chunk(3, 1)
        scores = q @ k.T / math.sqrt(C)
        pairs = (scores[:, :, None] - scores[:, None])[:, ~torch.eye(T, dtype=torch.bool)]
        seen = scores.masked_fill(ahead, -math.inf).amax(1)
        hidden = scores.masked_fill(~ahead, -math.inf).amax(1)
        shows = bool(((seen < -120) & (hidden > seen + 200)).any())
        if shows and pairs.abs().min() > 12 and scores.abs().max() < 500:
            return weights, ids


@gpt.stage("heads", points=1, after="attention")
def test_each_head_has_its_own_columns(student, rng):
    rule = (
        "Several heads: head h has columns h D to (h + 1) D - 1 and the scale 1 / sqrt(D), D "
        "= C / H. Transpose positions and heads; do not just reshape."
    )
    for (V, P, C, H), texts in (
        ((5, 3, 8, 2), (1, 3)),
        ((6, 5, 9, 3), (2, 5)),
        ((4, 4, 4, 4), (4, 4)),
        ((8, 6, 12, 2), (1, 6)),
        ((7, 5, 6, 6), (2, 3)),
        ((9, 7, 3 * whole(rng, 2, 4), 3), (2, 6)),
    ):
        ask(student, rng, rule, (V, P, C, 1, H, True), texts, thinks=False)
    ask(
        student,
        rng,
        f"{rule} The numbers are small here.",
        (9, 5, 8, 1, 2, True),
        (2, 5),
        thinks=False,
        tables=0.003,
    )


@gpt.stage("feed-forward", points=1, after="last-norm")
def test_the_feed_forward_uses_gpts_gelu(student, rng):
    rule = (
        "Attention adds the same to each token here: `norm_2`, `up`, GELU, `down`, and the sum with"
        " what went in. The GELU is the approximation by tanh, as in GPT's code: the exact one"
        " differs in the fourth digit."
    )
    for sizes, texts in (
        ((5, 1, 4), (1, 1)),
        ((5, 3, 8), (1, 3)),
        ((4, 4, 4), (4, 4)),
        ((40, 8, 16), (4, 8)),
        ((9, 7, whole(rng, 5, 9)), (2, 6)),
    ):
        ask(student, rng, rule, (*sizes, 1, 1, True), texts, attends=False)
    ask(
        student,
        rng,
        f"{rule} The numbers are small here.",
        (9, 5, 8, 1, 1, True),
        (2, 5),
        attends=False,
        tables=0.003,
    )


@gpt.stage("post-norm", points=1.5, after="embeddings")
def test_gpt1_norms_after_each_sum(student, rng):
    rule = (
        "`norm_first` is False: GPT-1. What attention gives is added to what went in, and the"
        " **sum** is normed by `norm_1`; the same with the feed-forward and `norm_2`. There is no"
        " norm after the last block."
    )
    for parts in ({"attends": False, "thinks": False}, {"thinks": False}, {"attends": False}, {}):
        for (V, P, C, H), texts in (((5, 3, 8, 2), (1, 3)), ((9, 6, 6, 3), (2, 5))):
            ask(student, rng, rule, (V, P, C, 1, H, False), texts, **parts)


@gpt.stage("blocks", points=1.5, after="embeddings")
def test_there_may_be_many_blocks_and_many_models(student, rng):
    rule = (
        "Block after block, each with weights of its own, in their order. Two models share nothing,"
        " and in training mode the numbers are the same: there is no dropout."
    )
    for L, norm_first, texts in (
        (2, True, (2, 3)),
        (12, True, (1, 4)),
        (whole(rng, 3, 5), False, (2, 4)),
    ):
        ask(student, rng, rule, (9, 5, 6, L, 2, norm_first), texts, again=L == 2)
    ask(student, rng, rule, (9, 5, 6, 2, 2, True), (2, 4), tables=0.003)
    shape = (7, 4, 4, 2, 2, True)
    models, weights, ids = (
        [student.build("GPT", *shape) for _ in range(2)],
        [drawn(rng, *shape[:4], True) for _ in range(2)],
        counts(rng, 0, 6, 2, 4),
    )
    for model, own in zip(models, weights):
        inside(model).load(own)
    for number in (0, 1, 0):
        expect(models[number](ids), "Your logits").close(
            logits_of(weights[number], ids, 2, True).float(), **CLOSE, cause=rule
        )
    for name, tensor in inside(models[0]).state().items():
        expect(tensor, f"`{name}`").equals(
            weights[0][name], cause="Asking a model leaves its weights as they were."
        )
    for shape in (shape, (7, 4, 4, 1, 2, False)):
        model, own = student.build("GPT", *shape), drawn(rng, *shape[:4], shape[5])
        inside(model).load(own)
        upstream = normal(rng, 2, 4, 7)
        found = inside(model).gradients("", ids, upstream=upstream).parameters
        leaves = {name: tensor.double().requires_grad_() for name, tensor in own.items()}
        (logits_of(leaves, ids, 2, shape[5]) * upstream).sum().backward()
        for name in (
            "places.weight",
            "blocks.0.qkv.weight",
            "blocks.0.norm_1.weight",
            "blocks.0.down.bias",
        ):
            expect(found.get(name) is not None).is_true(
                cause=f"A gradient reaches every parameter that plays a part: `{name}` has none."
            )
            expect(found[name], f"The gradient of `{name}`").close(
                leaves[name].grad.float(),
                rtol=1e-2,
                atol=1e-3,
                cause=(
                    "The gradient of a parameter is wrong: something is detached or built "
                    "from new tensors."
                ),
            )
    try:
        came = models[0](strided(ids))
    except StudentError as error:
        if error.kind != "error":
            raise
        note(FAILS)
        return
    expect(came, "Your logits").close(
        logits_of(weights[0], ids, 2, True).float(),
        **CLOSE,
        cause=(
            "`ids` may be a view of a larger tensor: read it by its indices, and not the memory"
            " under it."
        ),
    )


KEYS = ("embeddings", "block", "total")
gpt_sizes = exercise(
    "08.gpt_sizes",
    function="gpt_sizes",
    points=4,
    kind="predict",
    see=f"{BOOK}/configurations#by-hand",
    withhold=OURS | LIBRARIES | READY,
)


def counted(
    vocab_size: int, positions: int, hidden: int, num_layers: int, num_heads: int, norm_first: bool
) -> dict[str, int]:
    """The numbers tensor by tensor, as the table on the card of exercise 3 lists them; a test holds
    them against real models.
    """
    C = hidden
    embeddings = math.prod((vocab_size, C)) + math.prod((positions, C))
    block = sum(
        math.prod(shape)
        for shape in (
            (C,),
            (C,),
            (C,),
            (C,),
            (3 * C, C),
            (3 * C,),
            (C, C),
            (C,),
            (4 * C, C),
            (4 * C,),
            (C, 4 * C),
            (C,),
        )
    )
    return {
        "embeddings": embeddings,
        "block": block,
        "total": embeddings + num_layers * block + sum([C, C] * norm_first),
    }


def shapes(rng) -> list[tuple]:
    """The case by hand, the smallest, real ones, a drawn one, and some that differ in one
    number.
    """
    heads = whole(rng, 2, 9)
    free = (
        whole(rng, 20, 9000),
        whole(rng, 5, 900),
        heads * whole(rng, 2, 40),
        whole(rng, 2, 30),
        heads,
    )
    base = (50, 20, 12, 2, 3)
    one_other = [
        base[:place] + (other,) + base[place + 1 :]
        for place, other in enumerate((51, 21, 24, 3, 4))
    ]
    sizes = [
        (10, 6, 4, 2, 2),
        (1, 1, 1, 1, 1),
        (40_478, 512, 768, 12, 12),
        (50_257, 1024, 1600, 48, 25),
        (50_257, 2048, 12_288, 96, 96),
        free,
        base,
        *one_other,
        (999_983, 999_979, 99_990, 999_961, 2),
    ]
    return [(*one, norm_first) for one in sizes for norm_first in (True, False)]


def ask_size(student, rng, key: str, cause: str) -> None:
    """Compare one of the predictions for all shapes."""
    for case in shapes(rng):
        given = "V {}, P {}, C {}, L {}, H {}, norm_first {}".format(*case)
        came = expect(student.gpt_sizes(*case), given=given).only_keys(KEYS)
        came.has(key).equals(counted(*case)[key], cause=cause)


@gpt_sizes.stage("embeddings", points=1)
def test_the_two_tables(student, rng):
    ask_size(
        student,
        rng,
        "embeddings",
        "The embeddings have (V + P) C parameters: V tokens and P positions. The tied output "
        "is not counted again.",
    )


@gpt_sizes.stage("block", points=1.5)
def test_one_block(student, rng):
    ask_size(
        student,
        rng,
        "block",
        "One block: `qkv` has 3 C rows, `out` C, `up` 4 C and `down` C, each matrix with a bias for"
        " every number that comes out, and two norms with a weight and a bias each. The heads share"
        " the columns and play no part.",
    )


@gpt_sizes.stage("total", points=1.5)
def test_the_whole_model(student, rng):
    ask_size(
        student,
        rng,
        "total",
        "The tables once, L blocks, and with `norm_first` one norm more: GPT-1 has none after its"
        " last block.",
    )

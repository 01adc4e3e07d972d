"""What is particular to chapter 4's exercises on looking, heads, the norm and costs: cards, torch
as the rival, the real thing.
"""

import re

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention
from torch.testing import assert_close

from autograder.authoring.catalogue import assignment
from autograder.authoring.implementations import reference
from autograder.chapters.c04_attention_and_the_transformer.test_cost import counted
from autograder.checks.protocol import LocalStudent, run_exercise
from reference_impl.corpora import load
from reference_impl.layers.attention import MultiHeadAttention, plain_attention
from reference_impl.layers.masks import causal_mask, join, key_mask, lengths_mask
from reference_impl.measure.flops import count_flops, count_parameters
from reference_impl.models.transformer import EncoderBlock, TransformerConfig

FOUR = assignment("04")
OURS = reference("04")


def drawn(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


def test_the_assignment_is_worth_fifty_two_points():
    assert FOUR.points == 52


def test_the_numbers_worked_out_on_the_cards_are_what_the_reference_gives():
    bank, keys, values = (OURS[name][None, None] for name in ("BANK", "KEYS", "VALUES"))
    assert_close(
        OURS["attention"](bank, keys, values, None).flatten(), torch.tensor([5.0, 2, 0, 0])
    )
    without_river = torch.tensor([True, True, True, False]).reshape(1, 1, 1, 4)
    assert_close(
        OURS["attention"](bank, keys, values, without_river).flatten(), torch.tensor([2.0, 4, 0, 0])
    )
    seen = OURS["masks"](torch.tensor([3, 2]), 2, 3)
    assert seen[:, 0].int().tolist() == [[[1, 1, 0], [1, 1, 1]], [[1, 1, 0], [1, 1, 0]]]
    x = torch.arange(8.0).reshape(1, 2, 4)
    heads = OURS["multi_head"](x, torch.zeros(4, 4), torch.eye(4), torch.eye(4), torch.eye(4), 2)
    assert heads[0].tolist() == [[2, 3, 4, 5], [2, 3, 4, 5]]
    token, plain = torch.tensor([2.0, 2, 6, 6]), (torch.ones(4), torch.zeros(4))
    assert_close(OURS["layer_norm"](token, *plain, 1e-12), torch.tensor([-1.0, -1, 1, 1]))
    assert_close(OURS["layer_norm"](token, *plain, 5.0), torch.tensor([-2.0, -2, 2, 2]) / 3)
    assert f"{2 / token.std().item():.2f}" == "0.87"
    assert OURS["predict_block"](3, 4, 2, 8) == {
        "parameters": 172,
        "operations": 912,
        "score_bytes": 72,
    }


def test_attention_equals_torchs_fused_operator_and_the_reference_where_every_query_sees_something():  # noqa: E501
    for batch, heads, queries, keys, width in (
        (1, 1, 1, 1, 1),
        (2, 3, 4, 5, 6),
        (3, 2, 5, 2, 1),
        (2, 2, 40, 70, 32),
    ):
        q, k, v = (
            drawn(batch, heads, queries, width),
            drawn(batch, heads, keys, width),
            drawn(batch, heads, keys, width),
        )
        mask = drawn(batch, 1, queries, keys) > 0
        mask[..., 0] = True
        for seen in (mask, None):
            ours = OURS["attention"](q, k, v, seen)
            assert_close(ours, scaled_dot_product_attention(q, k, v, seen))
            assert_close(ours, plain_attention(q, k, v, seen))
        mask[..., 0, :] = False
        assert_close(OURS["attention"](q, k, v, mask), plain_attention(q, k, v, mask))


def test_masks_are_the_reference_implementations_two_joined():
    for lengths, queries, keys in (([3, 2, 0], 2, 3), ([1], 1, 1), ([4, 7], 7, 7), ([5, 1], 3, 9)):
        lengths = torch.tensor(lengths)
        right = join(key_mask(lengths_mask(lengths, keys)), causal_mask(queries, keys))
        assert torch.equal(OURS["masks"](lengths, queries, keys), right)


@torch.no_grad()
def test_heads_equal_torchs_module_and_the_references():
    for width, heads in ((4, 2), (6, 1), (8, 8), (12, 3)):
        x, layer, ours = (
            drawn(2, 5, width),
            MultiHeadAttention(width, heads, bias=False),
            torch.nn.MultiheadAttention(width, heads, bias=False, batch_first=True),
        )
        weights = layer.query.weight, layer.key.weight, layer.value.weight, layer.output.weight
        ours.in_proj_weight.copy_(torch.cat(weights[:3]))
        ours.out_proj.weight.copy_(weights[3])
        found = OURS["multi_head"](x, *weights, heads)
        assert_close(found, layer(x))
        assert_close(found, ours(x, x, x, need_weights=False)[0])


def test_the_norm_equals_torchs():
    for shape in ((5,), (2, 1), (3, 4), (2, 3, 7)):
        x, weight, bias = drawn(*shape), drawn(shape[-1]), drawn(shape[-1] + 1)[1:]
        assert_close(
            OURS["layer_norm"](x, weight, bias, 1e-3),
            torch.nn.functional.layer_norm(x, shape[-1:], weight, bias, 1e-3),
        )


def test_the_predictions_are_what_a_real_block_has_under_torchs_own_counter():
    for tokens, hidden, heads, inner in (
        (3, 4, 2, 8),
        (1, 1, 1, 1),
        (7, 12, 3, 5),
        (20, 32, 8, 100),
    ):
        block = EncoderBlock(
            TransformerConfig(hidden_size=hidden, num_heads=heads, intermediate_size=inner)
        ).eval()
        torchs = torch.nn.TransformerEncoderLayer(hidden, heads, inner, device="meta")
        found = OURS["predict_block"](tokens, hidden, heads, inner)
        assert found == counted(tokens, hidden, heads, inner)
        assert found["parameters"] == count_parameters(block) == count_parameters(torchs)
        assert found["operations"] == count_flops(lambda: block(drawn(1, tokens, hidden)))
        assert found["score_bytes"] == torch.zeros(1, heads, tokens, tokens).nbytes
    assert OURS["predict_block"](512, 768, 12, 3072)["parameters"] == 7_087_872


def through(name: str, function) -> float:
    """What an answer earns in which `function` does the work."""
    exercise = FOUR.exercise(name)
    result = run_exercise(exercise, LocalStudent({**OURS, name: function}), mistakes=[])
    assert {stage.status for stage in result.stages} == {"wrong"} and all(
        "withheld here" in f"{stage.cause} {stage.detail}" for stage in result.stages
    )
    return result.earned


def test_torchs_ready_operators_are_refused_in_words_where_they_are_asked_for():
    functional = torch.nn.functional
    assert (
        through(
            "attention",
            lambda q, k, v, mask: functional.scaled_dot_product_attention(q, k, v, mask),
        )
        == 0
    )
    assert (
        through(
            "layer_norm",
            lambda x, weight, bias, eps: functional.layer_norm(x, x.shape[-1:], weight, bias, eps),
        )
        == 0
    )
    assert (
        through(
            "layer_norm",
            lambda x, weight, bias, eps: torch.native_layer_norm(
                x, x.shape[-1:], weight, bias, eps
            )[0],
        )
        == 0
    )
    assert (
        through(
            "attention",
            lambda q, k, v, mask: torch.ops.aten.scaled_dot_product_attention(q, k, v, mask),
        )
        == 0
    )
    assert (
        through(
            "layer_norm",
            lambda x, weight, bias, eps: torch.ops.aten.layer_norm.default(
                x, x.shape[-1:], weight, bias, eps
            ),
        )
        == 0
    )
    assert (
        through(
            "layer_norm",
            lambda x, weight, bias, eps: torch.ops.aten.native_layer_norm(
                x, x.shape[-1:], weight, bias, eps
            )[0],
        )
        == 0
    )

    def by_module(x, w_q, w_k, w_v, w_o, num_heads):
        layer = torch.nn.MultiheadAttention(x.shape[2], num_heads, bias=False, batch_first=True)
        return layer(x, x, x)[0].detach()

    assert through("multi_head", by_module) == 0
    assert (
        through(
            "predict_block",
            lambda *sizes: count_parameters(torch.nn.TransformerEncoderLayer(4, 2, 8)),
        )
        == 0
    )


def test_the_code_in_the_third_hints_runs_and_solves_its_own_problem():
    names: dict = {"torch": torch}
    for id in ("attention", "masks", "multi_head", "layer_norm", "predict_block"):
        for code in re.findall(r"```python\n(.*?)```", FOUR.hints(id)[2].text, re.DOTALL):
            exec(code, names)
    marks = names["mean_marks"](
        torch.tensor([[2.0, 4, 9], [1, 1, 1]]), torch.tensor([[True, True, False], [False] * 3])
    )
    assert marks.tolist() == [3, 0]
    seats = names["reachable"](torch.tensor([1]), torch.tensor([2]), 2, 3)
    assert seats.int().tolist() == [[[1, 1, 0], [0, 0, 0]]]
    days = (torch.arange(364) % 7).float()[None]
    assert names["weekday_means"](days, 4).tolist() == [[list(range(7))] * 4]
    assert names["around_the_middle"](torch.tensor([10.0, 12, 14])).tolist() == [-0.5, 0, 0.5]
    assert names["lstm_cost"](10, 2, 3) == {"parameters": 72, "operations": 1200}
    cell = torch.nn.LSTMCell(2, 3)
    assert count_parameters(cell) - 12 == 72  # torch keeps two biases for each gate


@pytest.fixture(scope="module")
def minilm():
    return load("minilm").eval(), load("bert_tokenizer")


@torch.no_grad()
@pytest.mark.parametrize("way", ["your_attention", "your_heads"])
def test_the_students_functions_carry_minilm(way, minilm):
    names, (model, tokenizer) = dict(OURS), minilm
    exec(FOUR.cells["real-minilm"][0].source, names)
    rows = [
        tokenizer.encode(text).ids
        for text in ("we sat on the bank of the river", "the bank lends money")
    ]
    if way == "your_heads":
        for row in rows:
            ids = torch.tensor([row])
            layers = names["your_layers"](model, ids, torch.tensor([len(row)]), names[way])
            assert_close(layers[-1], model(ids).tokens, rtol=0, atol=1e-5)
        return
    lengths = torch.tensor([len(row) for row in rows])
    ids = torch.tensor([row + [0] * (int(lengths.max()) - len(row)) for row in rows])
    words = torch.arange(ids.shape[1]) < lengths[:, None]
    layers = names["your_layers"](model, ids, lengths, names[way])
    assert len(layers) == 7
    assert_close(layers[-1][words], model(ids, mask=words).tokens[words], rtol=0, atol=1e-5)
    bank = [
        one[row, tokenizer.encode(text).tokens.index("bank")]
        for one in (layers[0], layers[6])
        for row, text in enumerate(("we sat on the bank of the river", "the bank lends money"))
    ]
    assert (
        torch.cosine_similarity(*bank[:2], dim=0) > torch.cosine_similarity(*bank[2:], dim=0) + 0.1
    )

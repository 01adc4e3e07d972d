"""Positions against the programs in transformers that implement the same papers, and against their
definitions.
"""

import math

import pytest
import torch
import transformers
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS  # noqa: E402
from transformers.models.bloom.modeling_bloom import build_alibi_tensor  # noqa: E402
from transformers.models.distilbert.modeling_distilbert import create_sinusoidal_embeddings  # noqa: E402
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb  # noqa: E402
from transformers.models.t5.modeling_t5 import T5Attention  # noqa: E402
from transformers.models.xlnet.modeling_xlnet import XLNetModel, XLNetRelativeAttention  # noqa: E402

from reference_impl.layers.checks import ModelInputError  # noqa: E402
from reference_impl.layers.positions import (
    LearnedPositions,
    alibi_bias,
    alibi_slopes,
    sinusoidal_positions,
)  # noqa: E402
from reference_impl.layers.relative import (
    RelativeBias,
    distance_buckets,
    distance_vectors,
    transformer_xl_scores,
)  # noqa: E402
from reference_impl.layers.rotary import (
    rotary_tables,
    rotate,
    slow_interpolation,
    to_halves,
)  # noqa: E402


@pytest.mark.parametrize("num_tokens, hidden_size", [(1, 2), (37, 10), (513, 64)])
def test_sines_and_cosines_are_distilberts(num_tokens, hidden_size):
    theirs = torch.empty(num_tokens, hidden_size)
    create_sinusoidal_embeddings(num_tokens, hidden_size, theirs)
    torch.testing.assert_close(
        sinusoidal_positions(torch.arange(num_tokens), hidden_size), theirs, rtol=0, atol=1e-7
    )


def test_a_step_of_sinusoidal_positions_is_one_linear_map():
    first, later = (
        sinusoidal_positions(torch.arange(20) + k, 6, dtype=torch.float64) for k in (0, 7)
    )
    fitted = torch.linalg.lstsq(first, later).solution
    torch.testing.assert_close(first @ fitted, later, rtol=0, atol=1e-10)


def test_learned_positions_are_rows_from_the_start_and_end_with_an_error():
    positions = LearnedPositions(6, 3, offset=2)
    assert torch.equal(positions(2, start=1), positions.weight[3:5])
    with pytest.raises(ModelInputError, match="5 tokens but 4 positions"):
        positions(5)


@pytest.mark.parametrize("num_heads", [1, 2, 3, 8, 12, 16, 25])
def test_alibi_is_blooms_up_to_what_a_softmax_ignores(num_heads):
    theirs = build_alibi_tensor(torch.ones(1, 9), num_heads, torch.float64)  # slope * key position
    theirs = theirs.view(num_heads, 1, 9)
    ours = alibi_bias(num_heads, 9, dtype=torch.float64)
    causal = torch.ones(9, 9, dtype=torch.bool).tril()
    weights = [
        bias.expand(num_heads, 9, 9).masked_fill(~causal, -torch.inf).softmax(-1)
        for bias in (ours, theirs)
    ]
    torch.testing.assert_close(*weights, rtol=0, atol=1e-7)  # theirs computes slopes in float32


def test_alibi_slopes_of_eight_heads_are_the_papers():
    assert alibi_slopes(8).tolist() == [2.0**-n for n in range(1, 9)]


@pytest.mark.parametrize("both_directions", [True, False])
@pytest.mark.parametrize("num_buckets, max_distance", [(32, 128), (8, 20), (16, 300)])
def test_buckets_are_t5s(both_directions, num_buckets, max_distance):
    distance = torch.arange(-400, 401)
    theirs = T5Attention._relative_position_bucket(
        distance, both_directions, num_buckets, max_distance
    )
    assert torch.equal(
        distance_buckets(distance, num_buckets, max_distance, both_directions), theirs
    )


def test_the_relative_bias_of_later_queries_is_the_end_of_the_whole_bias():
    bias = RelativeBias(3, 8, 20)
    assert bias(7).shape == (3, 7, 7)
    assert torch.equal(bias(2, 7), bias(7)[:, 5:])


@pytest.mark.parametrize(
    "num_queries, num_keys, num_heads, head_dim", [(1, 1, 1, 2), (5, 5, 3, 4), (4, 9, 2, 6)]
)
def test_transformer_xl_scores_are_xlnets(num_queries, num_keys, num_heads, head_dim):
    torch.manual_seed(0)
    config = transformers.XLNetConfig(
        vocab_size=11, d_model=num_heads * head_dim, n_head=num_heads, n_layer=1, d_inner=4
    )
    theirs = XLNetRelativeAttention(config).double()
    for parameter in theirs.parameters():
        torch.nn.init.normal_(parameter)
    q, k = (
        torch.randn(n, 2, num_heads, head_dim, dtype=torch.float64) for n in (num_queries, num_keys)
    )
    table = XLNetModel(config).relative_positional_encoding(num_queries, num_keys)[
        :, 0
    ]  # from S down to -T + 1
    r = torch.einsum("rc,chd->rhd", table.double(), theirs.r)
    values = torch.eye(num_keys, dtype=torch.float64)[:, None, None].expand(-1, 2, num_heads, -1)
    weights = theirs.eval().rel_attn_core(
        q, k, values, r[:, None].expand(-1, 2, -1, -1)
    )  # values of one-hots: weights
    ours = transformer_xl_scores(
        q.permute(1, 2, 0, 3),
        k.permute(1, 2, 0, 3),
        r[1:].transpose(0, 1),
        theirs.r_w_bias,
        theirs.r_r_bias,
    )
    torch.testing.assert_close(
        (ours * head_dim**-0.5).softmax(-1), weights.permute(1, 2, 0, 3), rtol=0, atol=1e-10
    )
    vectors = distance_vectors(num_queries, num_keys, num_heads * head_dim)
    torch.testing.assert_close(vectors, table[1:], rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    "head_dim, base, interpolation", [(2, 10_000.0, 1.0), (6, 160_000.0, 1.0), (8, 500.0, 4.0)]
)
def test_rotary_in_halves_is_llamas(head_dim, base, interpolation):
    scaling = (
        {"rope_type": "linear", "factor": interpolation}
        if interpolation != 1
        else {"rope_type": "default"}
    )
    config = transformers.LlamaConfig(
        hidden_size=3 * head_dim,
        num_attention_heads=3,
        num_key_value_heads=3,
        rope_parameters={"rope_theta": base, **scaling},
    )
    q, k = torch.randn(2, 2, 3, 40, head_dim, generator=torch.Generator().manual_seed(0))
    positions = torch.arange(40) * 7
    cos, sin = LlamaRotaryEmbedding(config)(q, positions[None])
    tables = rotary_tables(positions, head_dim, base, interpolation)
    for ours, theirs in zip(
        (rotate(q, tables), rotate(k, tables)), apply_rotary_pos_emb(q, k, cos, sin), strict=True
    ):
        torch.testing.assert_close(
            ours, theirs, rtol=0, atol=1e-4
        )  # angles near 273 radians, in float32


def test_rotary_in_pairs_is_multiplication_by_complex_numbers():
    x = torch.randn(2, 3, 9, 10, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    angles = torch.arange(9.0, dtype=torch.float64)[:, None] * 10_000.0 ** (
        -torch.arange(0, 10, 2).double() / 10
    )
    turns = torch.polar(torch.ones(9, 5).double(), angles)
    theirs = torch.view_as_real(torch.view_as_complex(x.unflatten(-1, (5, 2))) * turns)
    ours = rotate(x, rotary_tables(torch.arange(9), 10, dtype=torch.float64), "pairs")
    torch.testing.assert_close(ours, theirs.flatten(-2), rtol=0, atol=1e-12)


def test_reordered_rows_turn_pairs_into_halves():
    x = torch.randn(1, 4, 12, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    weight = torch.randn(18, 12, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    tables = rotary_tables(torch.arange(4), 6, dtype=torch.float64)
    scores = []
    for layout, rows in (("pairs", weight), ("halves", to_halves(weight, 3))):
        q = rotate((x @ rows.T).unflatten(-1, (3, 6)).transpose(1, 2), tables, layout)
        scores.append(q @ q.transpose(-2, -1))
    torch.testing.assert_close(*scores, rtol=0, atol=1e-12)


def test_a_rotary_score_depends_on_the_distance_only():
    q, k = torch.randn(
        2, 1, 1, 1, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(0)
    )

    def score(m, n):
        turned = [
            rotate(x, rotary_tables(torch.tensor([p]), 8, dtype=torch.float64))
            for x, p in ((q, m), (k, n))
        ]
        return float((turned[0] * turned[1]).sum())

    assert math.isclose(score(3, 10), score(103, 110), abs_tol=1e-12)
    assert not math.isclose(score(3, 10), score(3, 11), abs_tol=1e-3)


def test_interpolated_positions_are_positions_divided():
    wide, trained = (
        rotary_tables(torch.arange(0, 40, 4), 6, interpolation=4.0),
        rotary_tables(torch.arange(10), 6),
    )
    torch.testing.assert_close(wide.cos, trained.cos)


def test_each_sequence_may_have_positions_of_its_own():
    x = torch.randn(2, 3, 4, 6, generator=torch.Generator().manual_seed(0))
    positions = torch.tensor([[0, 1, 2, 3], [5, 6, 0, 1]])
    together = rotate(x, rotary_tables(positions, 6))
    assert torch.equal(together[1:], rotate(x[1:], rotary_tables(positions[1], 6)))


def test_odd_widths_are_refused():
    with pytest.raises(ModelInputError, match="head_dim 5 is odd"):
        rotary_tables(torch.arange(3), 5)
    with pytest.raises(ModelInputError, match="heads of 4 numbers but tables for 6"):
        rotate(torch.zeros(1, 1, 3, 4), rotary_tables(torch.arange(3), 6))
    with pytest.raises(ModelInputError, match="hidden_size 5 is odd"):
        sinusoidal_positions(torch.arange(3), 5)


def test_yarn_keeps_fast_pairs_and_slows_slow_ones_as_transformers_does():
    """Between the two, transformers mixes by the pair's index and the paper by its rotations."""
    config = transformers.GptOssConfig()
    theirs, temperature = ROPE_INIT_FUNCTIONS["yarn"](config, "cpu")
    base, size = config.rope_parameters["rope_theta"], config.head_dim
    trained = config.rope_parameters["original_max_position_embeddings"]
    frequencies = base ** (-torch.arange(0, size, 2).double() / size)
    rotations = trained * frequencies / (2 * math.pi)
    ours = frequencies / slow_interpolation(size, base, 32.0, 1.0, 32.0, trained)
    outside = (rotations < 1) | (rotations > 32)
    assert 0 < int((~outside).sum()) < size // 4
    torch.testing.assert_close(ours[outside], theirs[outside].double(), rtol=1e-5, atol=0)
    assert temperature == pytest.approx(0.1 * math.log(32) + 1)
    assert bool((ours <= frequencies).all() and (ours >= frequencies / 32.001).all())

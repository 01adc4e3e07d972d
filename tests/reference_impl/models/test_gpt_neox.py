"""The parallel block against transformers' GPT-NeoX, from tiny random configurations with the same
weights.
"""

import pytest
import torch
import transformers
from transformers.models.gpt_neox import modeling_gpt_neox  # noqa: E402

from reference_impl.layers.attention import LayerCache, plain_attention  # noqa: E402
from reference_impl.layers.checks import ModelInputError  # noqa: E402
from reference_impl.layers.masks import causal_mask  # noqa: E402
from reference_impl.layers.rotary import rotary_tables  # noqa: E402
from reference_impl.models.gpt_neox import Block, GPTNeoX, GPTNeoXConfig  # noqa: E402
from reference_impl.weights.pretrained import config_from  # noqa: E402

SMALL = {
    "vocab_size": 61,
    "hidden_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 7,
    "max_position_embeddings": 320,
    "eos_token_id": 0,
}
TINY = [
    ({}, [9, 4, 1]),
    (
        {
            "layer_norm_eps": 0.1,
            "rope_parameters": {
                "rope_type": "default",
                "rope_theta": 70.0,
                "partial_rotary_factor": 1.0,
            },
        },
        [5, 5],
    ),
    ({"num_hidden_layers": 3, "hidden_act": "gelu_new"}, [300, 213]),
    ({"use_parallel_residual": False}, [9, 4, 1]),
]
EACH = pytest.mark.parametrize("settings, lengths", TINY)


@pytest.fixture
def wide(in_double):
    with in_double(modeling_gpt_neox):
        yield


def pair(parity, settings):
    theirs = transformers.GPTNeoXForCausalLM(transformers.GPTNeoXConfig(**SMALL | settings))
    return parity.make_same(GPTNeoX(config_from(GPTNeoXConfig, theirs.config.to_dict())), theirs)


@EACH
def test_logits_loss_and_gradients_are_transformers(wide, parity, ragged, settings, lengths):
    ours, theirs = pair(parity, settings)
    ids, mask = ragged(61, lengths)
    parity.check_causal_lm(ours, theirs, ids, mask)


@EACH
def test_a_cache_and_padding_on_the_left_change_nothing(
    parity, decoding, ragged, settings, lengths
):
    ours, _ = pair(parity, settings)
    ids, _ = ragged(61, [7, 7])
    decoding.check_cache(ours, ids, [4, 5])
    decoding.check_left_padding(ours, ids, 2)


def test_positions_that_are_given_lift_the_limit_on_the_width():
    torch.manual_seed(0)
    model = (
        GPTNeoX(
            GPTNeoXConfig(
                vocab_size=31,
                hidden_size=16,
                num_layers=2,
                num_heads=2,
                intermediate_size=5,
                max_position_embeddings=5,
            )
        )
        .double()
        .eval()
    )
    ids = torch.tensor([[0, 0, 0, 7, 8, 9, 3]])
    mask = torch.tensor([[False, False, False, True, True, True, True]])
    positions = (mask.cumsum(1) - 1).clamp(min=0)
    torch.testing.assert_close(
        model(ids, mask, positions)[:, 3:], model(ids[:, 3:]), rtol=1e-10, atol=1e-10
    )
    with pytest.raises(ModelInputError, match="7 tokens but 5 positions"):
        model(ids, mask)


def test_a_cache_that_attends_itself_does_so_in_each_layer():
    class Plain(LayerCache):
        def attend(self, q, k, v, mask, dropout):
            return plain_attention(q, k, v, causal_mask(q.shape[2]))

    torch.manual_seed(0)
    model = GPTNeoX(
        GPTNeoXConfig(vocab_size=31, hidden_size=16, num_layers=2, num_heads=2, intermediate_size=5)
    )
    model.double()
    ids = torch.tensor([[7, 8, 9, 3]])
    with_cache = model(ids, positions=torch.arange(4)[None], cache=[Plain(), Plain()])
    torch.testing.assert_close(with_cache, model(ids), rtol=1e-10, atol=1e-10)


def test_with_equal_norms_the_block_is_palms_sum():
    torch.manual_seed(0)
    block = Block(GPTNeoXConfig(hidden_size=16, num_heads=2, intermediate_size=5)).eval()
    x, tables = torch.randn(1, 4, 16), rotary_tables(torch.arange(4), 2)
    normed = block.attention_norm(x)
    torch.testing.assert_close(
        block(x, tables),
        x + block.attention(normed, tables, None, None) + block.feed_forward(normed),
    )


def test_a_folder_that_transformers_wrote_is_read(ragged, tmp_path):
    theirs = transformers.GPTNeoXForCausalLM(transformers.GPTNeoXConfig(**SMALL)).eval()
    theirs.save_pretrained(tmp_path)
    ids, _ = ragged(61, [11, 11])
    torch.testing.assert_close(
        GPTNeoX.from_pretrained(tmp_path)(ids), theirs(ids).logits, rtol=1e-4, atol=1e-5
    )

"""Adapters behind frozen layers: counted as the paper counts, compared with plain torch."""

import pytest
import torch
from torch import nn

from reference_impl.layers.adapters import Adapter, add_adapters
from reference_impl.layers.checks import ModelInputError
from reference_impl.models.gpt import GPT, GPTConfig

TINY = GPTConfig(
    vocab_size=11, hidden_size=8, num_layers=2, num_heads=2, max_position_embeddings=6, dropout=0.0
)
TARGETS = ("attention.output", "feed_forward.down")


@pytest.fixture
def model():
    torch.manual_seed(0)
    return GPT(TINY)


def test_an_adapter_is_the_layer_and_a_bottleneck_around_which_a_path_leads():
    torch.manual_seed(0)
    layer = Adapter(nn.Linear(5, 7), 3)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.copy_(torch.randn_like(parameter))
    x = torch.randn(4, 5)
    h = x @ layer.base.weight.T + layer.base.bias
    bent = (
        nn.functional.gelu(h @ layer.down.weight.T + layer.down.bias) @ layer.up.weight.T
        + layer.up.bias
    )
    torch.testing.assert_close(layer(x), h + bent)


def test_it_has_2cm_c_and_m_numbers_and_two_a_block(model):
    wrapped = add_adapters(model, TARGETS, 3)
    assert len(wrapped) == 2 * TINY.num_layers
    learned = sum(
        p.numel() for name, p in model.named_parameters() if p.requires_grad and "norm" not in name
    )
    assert learned == 4 * (2 * 8 * 3 + 8 + 3)


def test_the_model_hardly_changes_at_the_start_and_only_adapters_and_norms_learn(model):
    ids = torch.arange(6)[None]
    before = model(ids).detach()
    add_adapters(model, TARGETS, 3)
    torch.testing.assert_close(model(ids), before, atol=1e-2, rtol=0)
    assert not torch.equal(model(ids), before)
    model(ids).logsumexp(-1).sum().backward()
    learns = {name for name, p in model.named_parameters() if p.grad is not None}
    assert learns and all(
        any(part in name for part in (".down.down", ".down.up", "output.down", "output.up", "norm"))
        for name in learns
    )
    assert {
        "blocks.0.attention.output.up.weight",
        "blocks.1.feed_forward.down.down.bias",
        "norm.weight",
    } <= learns
    assert (
        model.embedding.weight.grad is None
        and model.blocks[0].feed_forward.down.base.weight.grad is None
    )


def test_what_does_not_fit_is_refused_in_words(model):
    with pytest.raises(ModelInputError, match="size 0"):
        Adapter(nn.Linear(2, 2), 0)
    with pytest.raises(ModelInputError, match="no linear layer is named"):
        add_adapters(model, ("attention.output", "value"), 2)

"""GPT without its mask, against torch's attention, and beside the GPT that it was drawn as."""

import pytest
import torch
from torch import nn

from reference_impl.generation.cache import GrowingCache
from reference_impl.layers.checks import ModelInputError
from reference_impl.models.gpt import GPT, GPTConfig
from reference_impl.models.unmasked import OpenSelfAttention, UnmaskedGPT

CONFIG = GPTConfig(
    vocab_size=31, hidden_size=12, num_layers=2, num_heads=3, max_position_embeddings=9, dropout=0.0
)


def drawn(kind):
    torch.manual_seed(0)
    return kind(CONFIG).eval()


@torch.no_grad()
def test_attention_is_that_of_torch_without_a_mask():
    torch.manual_seed(1)
    ours, theirs = OpenSelfAttention(CONFIG), nn.MultiheadAttention(12, 3, batch_first=True)
    theirs.in_proj_weight.copy_(ours.qkv.weight)
    theirs.in_proj_bias.copy_(ours.qkv.bias)
    theirs.out_proj.load_state_dict(ours.output.state_dict())
    x = torch.randn(2, 7, 12)
    assert torch.allclose(ours(x, None, None), theirs(x, x, x)[0], atol=1e-5)


@torch.no_grad()
def test_it_has_gpts_numbers_and_every_token_sees_the_last():
    ours, theirs = drawn(UnmaskedGPT), drawn(GPT)
    assert all(
        torch.equal(one, other)
        for one, other in zip(ours.state_dict().values(), theirs.state_dict().values(), strict=True)
    )
    ids = torch.randint(31, (1, 9))
    changed = ids.clone()
    changed[0, -1] = (ids[0, -1] + 1) % 31
    apart = (ours(ids) - ours(changed)).abs().amax((0, 2))
    assert (apart > 1e-6).all()
    assert torch.equal(theirs(ids)[:, :-1], theirs(changed)[:, :-1])


def test_a_cache_is_refused():
    with pytest.raises(ModelInputError, match="nothing can be kept"):
        drawn(UnmaskedGPT)(
            torch.tensor([[1]]), cache=[GrowingCache() for _ in range(CONFIG.num_layers)]
        )

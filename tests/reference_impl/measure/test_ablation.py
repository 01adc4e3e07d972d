"""Ablation and path patching, against decoders whose matrices are zeroed and formulas by hand."""

import copy

import pytest
import torch

from reference_impl.measure.ablation import ablated, head_outputs, path_patched
from reference_impl.models.placed_decoder import PlacedConfig, PlacedDecoder

SIZES = PlacedConfig(
    kinds=("none",),
    vocab_size=11,
    hidden_size=12,
    num_heads=3,
    num_layers=2,
    intermediate_size=24,
    max_positions=8,
)
PROJECTIONS = ("query", "key", "value")


@pytest.fixture
def model() -> PlacedDecoder:
    torch.manual_seed(0)
    model = PlacedDecoder("none", SIZES)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return model.eval()


@pytest.fixture
def ids() -> torch.Tensor:
    return torch.randint(11, (4, 6), generator=torch.Generator().manual_seed(1))


def without(model: PlacedDecoder, layer: int, head: int) -> PlacedDecoder:
    """The decoder with zeros where the output projection reads a head."""
    cut = copy.deepcopy(model)
    with torch.no_grad():
        cut.blocks[layer].attention.output.weight[:, 4 * head : 4 * (head + 1)] = 0
    return cut


@torch.no_grad()
def by_hand(model: PlacedDecoder, ids: torch.Tensor, projection: str, head: int) -> torch.Tensor:
    """Logits with one projection of layer 2 reading the stream without a head of layer 1."""
    first, second = model.blocks
    usual = first(model.embedding(ids), {})
    other = without(model, 0, head).blocks[0](model.embedding(ids), {})
    q, k, v = (
        getattr(second.attention, name)(
            second.attention_norm(other if name == projection else usual)
        )
        .view(4, 6, 3, 4)
        .transpose(1, 2)
        for name in PROJECTIONS
    )
    scores = (q @ k.mT / 2).masked_fill(torch.ones(6, 6).triu(1).bool(), -torch.inf)
    heads = (scores.softmax(-1) @ v).transpose(1, 2).reshape(4, 6, 12)
    x = usual + second.attention.output(heads)
    x = x + second.feed_forward(second.feed_forward_norm(x))
    return model.norm(x) @ model.embedding.weight.T


@torch.no_grad()
@pytest.mark.parametrize("layer, head", [(0, 0), (0, 2), (1, 1)])
def test_zero_ablation_is_a_model_whose_output_projection_ignores_the_head(model, ids, layer, head):
    usual = model(ids)
    with ablated(model.blocks[layer].attention, [head], torch.zeros(6, 12)):
        found = model(ids)
    assert torch.allclose(found, without(model, layer, head)(ids), atol=1e-5)
    assert not torch.allclose(found, usual, atol=1e-2)
    assert torch.equal(model(ids), usual)


@torch.no_grad()
def test_the_mean_of_equal_sequences_changes_nothing(model, ids):
    same = ids[:1].expand(4, 6)
    outputs = head_outputs(model, same)
    assert [one.shape for one in outputs] == [(4, 6, 12)] * 2
    with ablated(model.blocks[0].attention, [0, 1, 2], outputs[0].mean(0)):
        ablated_logits = model(same)
    assert torch.allclose(ablated_logits, model(same), atol=1e-5)


def test_an_error_within_the_context_leaves_the_model_as_it_was(model, ids):
    usual = model(ids)
    with (
        pytest.raises(RuntimeError),
        ablated(model.blocks[0].attention, [1], torch.zeros(6, 12)),
    ):
        raise RuntimeError
    assert torch.equal(model(ids), usual)


@torch.no_grad()
@pytest.mark.parametrize("projection", PROJECTIONS)
def test_path_patching_changes_what_one_projection_reads(model, ids, projection):
    usual = model(ids)
    found = path_patched(model, ids, [1], torch.zeros(6, 12), projection)
    assert torch.allclose(found, by_hand(model, ids, projection, 1), atol=1e-4)
    assert not torch.allclose(found, usual, atol=1e-2)
    assert torch.equal(model(ids), usual)

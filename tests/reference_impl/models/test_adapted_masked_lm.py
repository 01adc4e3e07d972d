"""An MLM head on a published encoder: what is trained, and what comes back from its file."""

import pytest
import torch

from reference_impl.models.adapted_masked_lm import (
    adapted_masked_lm,
    load_trained_parts,
    trained_parts,
)
from reference_impl.models.bert import Bert, BertConfig

CONFIG = BertConfig(
    vocab_size=20,
    hidden_size=8,
    num_layers=2,
    num_heads=2,
    intermediate_size=16,
    max_position_embeddings=12,
)
MASK = 4


@pytest.fixture
def encoder():
    torch.manual_seed(0)
    return Bert(CONFIG).eval()


@pytest.fixture
def trained(encoder):
    """A model whose trained parts have been moved away from where they start."""
    model = adapted_masked_lm(encoder, MASK, rank=2)
    with torch.no_grad():
        for tensor in trained_parts(model).values():
            tensor += 0.3 * torch.randn_like(tensor)
    return model.eval()


IDS = torch.tensor([[2, 7, MASK, 9, 3], [2, 11, 12, MASK, 3]])


def test_before_training_the_vectors_are_the_encoders_and_the_head_knows_frequencies(encoder):
    frequencies = torch.arange(1.0, 21) / 210
    model = adapted_masked_lm(encoder, MASK, rank=2, frequencies=frequencies).eval()
    assert torch.allclose(model.bert(IDS).tokens, encoder(IDS).tokens, atol=1e-6)
    assert torch.allclose(model.masked_lm.decoder.bias.softmax(0), frequencies)


def test_only_head_mask_and_updates_are_trained(trained, encoder):
    trained(IDS).sum().backward()
    with_gradient = {name for name, tensor in trained.named_parameters() if tensor.grad is not None}
    assert with_gradient == set(trained_parts(trained))
    assert "bert.embeddings.word.mask" in with_gradient
    assert "masked_lm.decoder.weight" not in with_gradient
    assert torch.equal(trained.masked_lm.decoder.weight, encoder.embeddings.word.weight)


@torch.no_grad()
def test_a_model_that_is_loaded_and_merged_gives_the_same_logits(trained, encoder):
    fresh = adapted_masked_lm(encoder, MASK, rank=2).eval()
    assert not torch.allclose(fresh(IDS), trained(IDS), atol=0.1)
    load_trained_parts(fresh, trained_parts(trained))
    others = [token for token in range(20) if token != MASK]  # the decoder has the new [MASK] too
    assert torch.allclose(fresh(IDS)[..., others], trained(IDS)[..., others], atol=1e-4)
    assert isinstance(fresh.bert.embeddings.word, torch.nn.Embedding)


def test_a_file_without_one_of_the_parts_is_refused(trained, encoder):
    parts = dict(list(trained_parts(trained).items())[1:])
    with pytest.raises(KeyError, match="one side only"):
        load_trained_parts(adapted_masked_lm(encoder, MASK, rank=2), parts)

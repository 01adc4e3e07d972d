"""Tiny models of the library and ours with the same weights, in float64 and without dropout."""

import pytest
import torch

from reference_impl.models.gpt import GPT, GPTConfig
from reference_impl.weights.pretrained import config_from, load_hugging_face

TINY_BERT = {
    "vocab_size": 41,
    "hidden_size": 12,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 17,
    "max_position_embeddings": 40,
}


@pytest.fixture(scope="session")
def tiny_bert():
    return TINY_BERT


@pytest.fixture
def same():
    """Our model with the weights of the library's, both ready to compare."""

    def make(ours_class, theirs, **arguments):
        torch.manual_seed(0)
        theirs.double().eval()
        with torch.no_grad():
            for parameter in theirs.parameters():
                parameter.copy_(torch.randn_like(parameter) * 0.3)
        ours = (
            ours_class(config_from(ours_class.config_class, theirs.config.to_dict()), **arguments)
            .double()
            .eval()
        )
        load_hugging_face(ours, theirs.state_dict())
        return ours

    return make


@pytest.fixture
def gpt():
    """A policy of 13 tokens whose logits are far from even."""
    torch.manual_seed(0)
    model = GPT(
        GPTConfig(
            vocab_size=13, hidden_size=8, num_layers=1, num_heads=2, max_position_embeddings=8
        )
    )
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return model.double().eval()


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(0)

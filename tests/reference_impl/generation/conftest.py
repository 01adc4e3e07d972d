"""Tiny models with transformers' of the same weights beside them, in float64."""

import pytest
import torch
import transformers

from reference_impl.models.gpt import GPT, GPTConfig
from reference_impl.models.gpt_neox import GPTNeoX, GPTNeoXConfig
from reference_impl.models.llama import Llama, LlamaConfig
from reference_impl.weights.pretrained import config_from, load_hugging_face

VOCAB = 41
SIZES = {
    "vocab_size": VOCAB,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 24,
    "max_position_embeddings": 64,
}
FAMILIES = {
    "gpt": (
        GPT,
        GPTConfig,
        "GPT2",
        {"vocab_size": VOCAB, "n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 64},
    ),
    "llama": (Llama, LlamaConfig, "Llama", {**SIZES, "num_key_value_heads": 2}),
    "mistral": (
        Llama,
        LlamaConfig,
        "Mistral",
        {**SIZES, "num_key_value_heads": 2, "sliding_window": 5},
    ),
}


def make_pair(family):
    our_class, config_class, name, settings = FAMILIES[family]
    theirs_config = getattr(transformers, f"{name}Config")(
        **settings, bos_token_id=None, eos_token_id=None, pad_token_id=0
    )
    theirs = getattr(transformers, f"{name}ForCausalLM" if name != "GPT2" else "GPT2LMHeadModel")(
        theirs_config
    )
    generator = torch.Generator().manual_seed(1)
    theirs.double().eval()
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.copy_(
                torch.randn(parameter.shape, generator=generator, dtype=torch.float64) * 0.4
            )
    ours = our_class(config_from(config_class, theirs_config.to_dict())).double().eval()
    load_hugging_face(ours, theirs.state_dict())
    return ours, theirs


@pytest.fixture(scope="session")
def pairs():
    return {family: make_pair(family) for family in FAMILIES}


@pytest.fixture(scope="session")
def neox():
    torch.manual_seed(0)
    return (
        GPTNeoX(
            GPTNeoXConfig(
                vocab_size=VOCAB,
                hidden_size=16,
                num_layers=2,
                num_heads=2,
                intermediate_size=24,
                max_position_embeddings=64,
            )
        )
        .double()
        .eval()
    )


@pytest.fixture
def prompts():
    """Of different length, so that all but one are padded."""
    generator = torch.Generator().manual_seed(3)
    return [
        torch.randint(1, VOCAB, (length,), generator=generator).tolist() for length in (7, 3, 5)
    ]

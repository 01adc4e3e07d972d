"""A configuration is not believed before the weights bear it out."""

import json

import pytest

from reference_impl.models.bert import Bert, BertConfig
from reference_impl.models.bigbird import BigBirdConfig
from reference_impl.models.gpt_neox import GPTNeoXConfig
from reference_impl.models.llama import LlamaConfig
from reference_impl.models.modernbert import ModernBertConfig
from reference_impl.weights.pretrained import config_from, hugging_face_state
from reference_impl.weights.safetensors_files import write_weights
from reference_impl.weights.shards import WeightsError

TINY = BertConfig(
    vocab_size=11,
    hidden_size=8,
    num_layers=1,
    num_heads=2,
    intermediate_size=16,
    max_position_embeddings=8,
)
PUBLISHED = {
    "model_type": "bert",
    "vocab_size": 11,
    "hidden_size": 8,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "max_position_embeddings": 8,
}


def write(folder, **changes):
    write_weights(folder, hugging_face_state(Bert(TINY)))
    (folder / "config.json").write_text(json.dumps({**PUBLISHED, **changes}))
    return folder


def test_a_configuration_and_weights_that_belong_together_make_a_model(tmp_path):
    assert Bert.from_pretrained(write(tmp_path)).config == TINY


@pytest.mark.parametrize(
    "changes, says",
    [
        # More than any machine can address: an attempt to allocate it would be another error.
        (
            {"vocab_size": 2**31 - 1, "hidden_size": 2**20},
            r"shape \(8,\) in the checkpoint but \(1048576,\) in this Bert",
        ),
        ({"num_hidden_layers": 2}, "the checkpoint lacks 'blocks.1"),
        ({"num_hidden_layers": 1000}, "sets num_layers to 1000"),
        ({"vocab_size": 2**31}, "sets vocab_size to 2147483648"),
    ],
)
def test_a_configuration_that_promises_more_than_its_weights_is_refused_before_anything_is_allocated(  # noqa: E501
    tmp_path, changes, says
):
    with pytest.raises(WeightsError, match=says):
        Bert.from_pretrained(write(tmp_path, **changes))


@pytest.mark.parametrize(
    ("config_class", "settings"),
    [
        (
            GPTNeoXConfig,
            {"model_type": "gpt_neox", "rope_scaling": {"type": "linear", "factor": 4.0}},
        ),
        (
            ModernBertConfig,
            {
                "model_type": "modernbert",
                "rope_parameters": {"full_attention": {"rope_type": "yarn"}},
            },
        ),
        (LlamaConfig, {"model_type": "llama", "rope_scaling": [1]}),
        (LlamaConfig, {"model_type": "llama", "rope_scaling": {"rope_type": "llama3"}}),
        (BigBirdConfig, {"model_type": "big_bird", "attention_type": "blocksparse"}),
    ],
    ids=["stretched", "stretched inside", "a list", "half a setting", "a mistyped word"],
)
def test_a_configuration_that_would_be_read_wrongly_is_refused(config_class, settings):
    with pytest.raises(WeightsError, match="config.json"):
        config_from(config_class, settings)

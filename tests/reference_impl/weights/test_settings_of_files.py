"""Numbers in a config.json that no model can compute with are refused by the name of their key."""

import pytest

from reference_impl.models.bert import BertConfig
from reference_impl.models.llama import LlamaConfig
from reference_impl.weights.pretrained import config_from
from reference_impl.weights.shards import WeightsError

HUGE = 10**400
LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 16,
}


@pytest.mark.parametrize(
    "config_class, settings, words",
    [
        (LlamaConfig, {"rms_norm_eps": -HUGE}, "rms_norm_eps"),
        (LlamaConfig, {"rope_theta": HUGE}, "rope_theta"),
        (LlamaConfig, {"rope_scaling": {"type": "linear", "factor": -HUGE}}, "rope_interpolation"),
        *(
            (LlamaConfig, {"rope_scaling": {**LLAMA3, key: value}}, "rope_bands")
            for key, value in (
                ("low_freq_factor", True),
                ("high_freq_factor", HUGE),
                ("original_max_position_embeddings", HUGE),
                ("original_max_position_embeddings", True),
            )
        ),
        (LlamaConfig, {"rope_scaling": {**LLAMA3, "rope_theta": None}}, "rope_theta .* null"),
        (BertConfig, {"hidden_dropout_prob": -HUGE}, "dropout"),
    ],
)
def test_a_number_that_is_none_is_refused_by_its_name(config_class, settings, words):
    kind = "bert" if config_class is BertConfig else "llama"
    with pytest.raises(WeightsError, match=f"(?s)config.json .*{words}"):
        config_from(config_class, {"model_type": kind, **settings})

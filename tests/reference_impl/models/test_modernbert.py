"""ModernBERT against transformers, from tiny random configurations with the same weights."""

import pytest
import torch
import transformers
from torch.nn.functional import cross_entropy
from transformers.models.modernbert import modeling_modernbert  # noqa: E402

from reference_impl.layers.masks import window_mask  # noqa: E402
from reference_impl.layers.rotary import rotary_tables  # noqa: E402
from reference_impl.models.modernbert import ModernBert, ModernBertConfig, ModernBertForMaskedLM  # noqa: E402
from reference_impl.weights.pretrained import config_from  # noqa: E402
from reference_impl.weights.safetensors_files import WeightsError  # noqa: E402

SMALL = {
    "vocab_size": 61,
    "hidden_size": 12,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 7,
    "max_position_embeddings": 320,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "cls_token_id": 1,
    "sep_token_id": 2,
}
TINY = [
    ({"local_attention": 4}, [9, 4, 1]),
    (
        {
            "local_attention": 3,
            "num_hidden_layers": 5,
            "norm_eps": 0.1,
            "global_attn_every_n_layers": 2,
        },
        [5, 5],
    ),
    (
        {
            "local_attention": 50,
            "num_hidden_layers": 4,
            "rope_parameters": {
                "full_attention": {"rope_type": "default", "rope_theta": 900.0},
                "sliding_attention": {"rope_type": "default", "rope_theta": 70.0},
            },
        },
        [300, 213],
    ),
]
EACH = pytest.mark.parametrize("settings, lengths", TINY)


@pytest.fixture
def wide(in_double):
    with in_double(modeling_modernbert):
        yield


@EACH
def test_logits_loss_and_gradients_are_transformers(wide, parity, ragged, settings, lengths):
    theirs = transformers.ModernBertForMaskedLM(transformers.ModernBertConfig(**SMALL | settings))
    ours, theirs = parity.make_same(
        ModernBertForMaskedLM(config_from(ModernBertConfig, theirs.config.to_dict())), theirs
    )
    ids, mask = ragged(61, lengths)
    labels = ids.where(mask & (torch.arange(ids.shape[1]) % 3 == 0), -100)
    output = theirs(ids, attention_mask=mask.long(), labels=labels)
    logits = ours(ids, mask)
    parity.assert_close(logits[mask], output.logits[mask])
    loss = cross_entropy(logits.flatten(0, 1), labels.flatten())
    parity.assert_same_gradients(ours, theirs, loss, output.loss)
    parity.assert_same_state(ours, theirs)


def test_padding_far_from_any_token_stays_finite(ragged):
    model = ModernBert(
        ModernBertConfig(
            vocab_size=61,
            hidden_size=8,
            intermediate_size=4,
            num_layers=2,
            num_heads=2,
            local_attention=2,
        )
    ).eval()
    ids, mask = ragged(61, [9, 1])
    vectors = model(ids, mask)
    assert vectors.isfinite().all()
    torch.testing.assert_close(vectors[1:, :1], model(ids[1:, :1]))


def test_a_local_layer_sees_half_its_window_to_each_side():
    torch.manual_seed(0)
    config = ModernBertConfig(
        vocab_size=61,
        hidden_size=8,
        intermediate_size=4,
        num_layers=2,
        num_heads=2,
        local_attention=4,
    )
    model, x = ModernBert(config).eval(), torch.randn(1, 9, 8)
    tables, mask = rotary_tables(torch.arange(9), 4), window_mask(9, before=2, after=2)
    changed = x.clone()
    changed[0, 4, 0] += 1
    same = (model.blocks[1](x, tables, mask) == model.blocks[1](changed, tables, mask)).all(-1)[0]
    assert same.tolist() == [True] * 2 + [False] * 5 + [True] * 2


def test_a_folder_that_transformers_wrote_is_read(ragged, tmp_path):
    theirs = transformers.ModernBertForMaskedLM(
        transformers.ModernBertConfig(**SMALL | TINY[0][0])
    ).eval()
    theirs.save_pretrained(tmp_path)
    ids, mask = ragged(61, [11, 11])
    torch.testing.assert_close(
        ModernBertForMaskedLM.from_pretrained(tmp_path)(ids),
        theirs(ids).logits,
        rtol=1e-4,
        atol=1e-5,
    )
    torch.testing.assert_close(
        ModernBert.from_pretrained(tmp_path)(ids),
        theirs.model(ids).last_hidden_state,
        rtol=1e-4,
        atol=1e-5,
    )


def test_published_files_of_every_age_are_read():
    old = config_from(
        ModernBertConfig,
        {"model_type": "modernbert", "global_attn_every_n_layers": 2, "local_rope_theta": 7.0},
    )
    assert (old.global_every, old.local_rope_theta, old.global_rope_theta) == (2, 7.0, 160_000.0)
    with pytest.raises(WeightsError, match=r"whole-text layers at \[0, 1\]"):
        config_from(
            ModernBertConfig,
            {
                "model_type": "modernbert",
                "layer_types": ["full_attention"] * 2 + ["sliding_attention"],
            },
        )

"""Longformer against transformers and against attention with a dense mask."""

import pytest
import torch
import transformers
from torch.nn.functional import cross_entropy
from transformers.models.longformer import modeling_longformer

from reference_impl.layers.checks import ModelInputError
from reference_impl.measure.tensors import TensorCounter
from reference_impl.models.longformer import (
    Longformer,
    LongformerAttention,
    LongformerConfig,
    LongformerForMaskedLM,
)
from reference_impl.weights.pretrained import config_from
from reference_impl.weights.safetensors_files import WeightsError

SMALL = {
    "vocab_size": 61,
    "hidden_size": 12,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 7,
    "max_position_embeddings": 302,
    "type_vocab_size": 1,
}
# settings, lengths, places of global tokens: the first, none, many in a window, padding (which is
# none)
TINY = [
    ({"attention_window": 4, "num_hidden_layers": 1}, [9, 4, 1], [[0], [7], [0, 3]]),
    (
        {
            "attention_window": 6,
            "num_attention_heads": 1,
            "layer_norm_eps": 0.1,
            "hidden_act": "relu",
        },
        [21, 21],
        [[], []],
    ),
    (
        {"attention_window": 20, "num_attention_heads": 6, "num_hidden_layers": 3},
        [293, 113],
        [[0, 1, 150, 292], [30]],
    ),
]
EACH = pytest.mark.parametrize("settings, lengths, places", TINY)


@pytest.fixture
def wide(in_double):
    with in_double(modeling_longformer):
        yield


def inputs(ragged, lengths, places):
    ids, mask = ragged(61, lengths, first=2)
    ids = ids.where(mask, 1)  # the library numbers positions by what is not padding's id
    is_global = torch.zeros_like(mask)
    for row, chosen in enumerate(places):
        is_global[row, chosen] = True
    return ids, mask, is_global


@EACH
def test_logits_loss_and_gradients_are_transformers(
    wide, parity, ragged, settings, lengths, places
):
    theirs = transformers.LongformerForMaskedLM(transformers.LongformerConfig(**SMALL | settings))
    ours, theirs = parity.make_same(
        LongformerForMaskedLM(config_from(LongformerConfig, theirs.config.to_dict())), theirs
    )
    ids, mask, is_global = inputs(ragged, lengths, places)
    labels = ids.where(mask & (torch.arange(ids.shape[1]) % 3 == 0), -100)
    output = theirs(
        ids, attention_mask=mask.long(), global_attention_mask=is_global.long(), labels=labels
    )
    logits = ours(ids, mask, is_global)
    parity.assert_close(logits[mask], output.logits[mask])
    parity.assert_same_gradients(
        ours, theirs, cross_entropy(logits.flatten(0, 1), labels.flatten()), output.loss
    )
    parity.assert_same_state(ours, theirs)


@EACH
def test_blocks_give_what_a_dense_mask_gives(parity, ragged, settings, lengths, places):
    config = config_from(LongformerConfig, {"model_type": "longformer"} | SMALL | settings)
    layer = LongformerAttention(config).double().eval()
    _, tokens, is_global = inputs(ragged, lengths, places)
    is_global &= tokens
    x = torch.randn(
        *tokens.shape,
        12,
        dtype=torch.float64,
        generator=torch.Generator().manual_seed(0),
        requires_grad=True,
    )
    banded, dense = layer(x, tokens, is_global), layer.dense(x, tokens, is_global)
    parity.assert_close(banded[tokens], dense[tokens])
    assert banded.isfinite().all()
    for one, other in zip(
        torch.autograd.grad(
            banded[tokens].square().sum(), [x, *layer.parameters()], allow_unused=True
        ),
        torch.autograd.grad(dense[tokens].square().sum(), [x, *layer.parameters()]),
        strict=True,
    ):
        parity.assert_close(torch.zeros_like(other) if one is None else one, other)


def test_no_tensor_grows_with_the_square_of_the_length(monkeypatch):
    model = Longformer(
        LongformerConfig(
            vocab_size=11,
            hidden_size=8,
            num_layers=1,
            num_heads=1,
            intermediate_size=8,
            attention_window=8,
            max_position_embeddings=1100,
        )
    )

    def largest(num_tokens):
        with TensorCounter() as counter:
            model(
                torch.ones(1, num_tokens).long(), is_global=torch.arange(num_tokens)[None] < 2
            ).sum().backward()
        return counter.largest

    assert largest(512) == 512 * 3 * 8  # each block's own and neighbouring keys, D numbers each
    assert largest(1023) == 1024 * 3 * 8  # filled up to a multiple of the side
    monkeypatch.setattr(LongformerAttention, "forward", LongformerAttention.dense)
    assert largest(512) >= 512 * 512  # the counter sees what it should


def test_a_token_sees_half_the_window_to_each_side_and_the_global_ones():
    torch.manual_seed(0)
    layer = LongformerAttention(
        LongformerConfig(hidden_size=8, num_heads=2, attention_window=4)
    ).eval()
    x, tokens = torch.randn(1, 13, 8), torch.ones(1, 13, dtype=torch.bool)
    changed = x.clone()
    changed[0, 5, 0] += 1

    def same(is_global):
        return (
            (layer(x, tokens, is_global) == layer(changed, tokens, is_global)).all(-1)[0].tolist()
        )

    nobody, last, fifth = (torch.arange(13)[None] == place for place in (-1, 12, 5))
    assert same(nobody) == [True] * 3 + [False] * 5 + [True] * 5
    assert same(last) == [True] * 3 + [False] * 5 + [True] * 4 + [
        False
    ]  # the global one sees it from afar
    assert same(fifth) == [False] * 13


def test_a_folder_that_transformers_wrote_is_read(ragged, tmp_path):
    theirs = transformers.LongformerForMaskedLM(
        transformers.LongformerConfig(**SMALL | TINY[0][0])
    ).eval()
    theirs.save_pretrained(tmp_path)
    ids, mask, is_global = inputs(ragged, [11, 7], [[0], [0]])
    given = {"attention_mask": mask.long(), "global_attention_mask": is_global.long()}
    torch.testing.assert_close(
        LongformerForMaskedLM.from_pretrained(tmp_path)(ids, mask, is_global)[mask],
        theirs(ids, **given).logits[mask],
    )
    torch.testing.assert_close(
        Longformer.from_pretrained(tmp_path)(ids, mask, is_global)[mask],
        theirs.longformer(ids, **given).last_hidden_state[mask],
    )


def test_settings_that_are_not_built_are_refused():
    with pytest.raises(WeightsError, match=r"attention windows \[4, 8\]: one size for every layer"):
        config_from(LongformerConfig, {"model_type": "longformer", "attention_window": [4, 8]})
    with pytest.raises(ModelInputError, match="attention_window is 5: give an even number"):
        LongformerAttention(LongformerConfig(attention_window=5))


@pytest.mark.usefixtures("as_students_run_it")
def test_what_a_model_cannot_take_is_refused_in_words():
    model = Longformer(
        LongformerConfig(
            vocab_size=11,
            hidden_size=4,
            num_layers=1,
            num_heads=1,
            intermediate_size=4,
            max_position_embeddings=8,
        )
    )
    with pytest.raises(ModelInputError, match="7 tokens but 6 positions"):
        model(torch.zeros(1, 7, dtype=torch.long))
    with pytest.raises(ModelInputError, match=r"the mask has shape \(2,\) but the ids \(1, 2\)"):
        model(torch.zeros(1, 2, dtype=torch.long), is_global=torch.ones(2, dtype=torch.bool))

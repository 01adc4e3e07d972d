"""Encoders without padding give, at every token, what they give with it."""

import pytest
import torch
from torch.nn.functional import cross_entropy

from reference_impl.layers.checks import ModelInputError
from reference_impl.layers.packing import Packing, unpad
from reference_impl.models.bert import Bert, BertConfig, BertForMaskedLM
from reference_impl.models.modernbert import ModernBert, ModernBertConfig, ModernBertForMaskedLM

SMALL = {"vocab_size": 61, "hidden_size": 12, "num_heads": 3, "intermediate_size": 10}
BERT = BertConfig(**SMALL, num_layers=2, max_position_embeddings=16)
MODERN = ModernBertConfig(**SMALL, num_layers=4, local_attention=4, local_rope_theta=50.0)


def make(model, generator=None):
    generator = torch.Generator().manual_seed(0)
    model.double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(
                torch.randn(parameter.shape, generator=generator, dtype=torch.float64) * 0.3
            )
    return model


@pytest.mark.parametrize(
    "model", [BertForMaskedLM(BERT), ModernBertForMaskedLM(MODERN)], ids=["bert", "modernbert"]
)
def test_logits_and_gradients_are_those_of_the_padded_batch(parity, ragged, model):
    make(model)
    ids, mask = ragged(61, [11, 1, 0, 6, 1])
    tokens, packing = unpad(ids, mask)
    targets, results = tokens.flip(0), []
    for logits in (model(ids, mask=mask)[mask], model(tokens[None], packing=packing)[0]):
        model.zero_grad()
        cross_entropy(logits, targets).backward()
        results.append(
            (
                logits,
                {
                    name: p.grad.clone()
                    for name, p in model.named_parameters()
                    if p.grad is not None
                },
            )
        )
    (padded, expected), (packed, gradients) = results
    parity.assert_close(packed, padded)
    assert gradients.keys() == expected.keys()
    for name, gradient in expected.items():
        parity.assert_close(gradients[name], gradient)
    assert max(gradient.abs().max() for gradient in expected.values()) > 1e-3


@pytest.mark.parametrize(
    "model", [Bert(BERT, pooler=False), ModernBert(MODERN)], ids=["bert", "modernbert"]
)
def test_no_bit_of_a_sequence_depends_on_another(ragged, model):
    make(model).float()
    tokens, packing = unpad(*ragged(61, [4, 9, 5]))
    changed = tokens.clone()
    changed[4:13] = (changed[4:13] + 7) % 61

    def vectors(ids):
        output = model(ids[None], packing=packing)
        return (output.tokens if isinstance(model, Bert) else output)[0]

    same = (vectors(tokens) == vectors(changed)).all(-1).tolist()
    assert same == [True] * 4 + [False] * 9 + [True] * 5


def test_each_sequence_is_pooled_from_its_own_first_token_with_its_own_segments(parity, ragged):
    model = make(Bert(BERT))
    ids, mask = ragged(61, [7, 1, 4])
    segments = (torch.arange(7) >= 2).long().expand(3, 7)
    tokens, packing = unpad(ids, mask)
    padded = model(ids, segments, mask)
    packed = model(tokens[None], segments[mask][None], packing=packing)
    parity.assert_close(packed.pooled, padded.pooled)
    parity.assert_close(packed.tokens[0], padded.tokens[mask])


def test_a_packing_of_other_tokens_or_of_too_long_ones_is_refused(as_students_run_it):
    packing = Packing.of(torch.tensor([0, 3, 3, 20], dtype=torch.int32))
    ids = torch.ones(1, 20, dtype=torch.long)
    with pytest.raises(ModelInputError, match="a sequence of 17 tokens but 16 positions"):
        Bert(BERT)(ids, packing=packing)
    with pytest.raises(ModelInputError, match=r"shape \(1, 19\) but the packing is of 20"):
        ModernBert(MODERN)(ids[:, :19], packing=packing)
    short = Packing.of(torch.tensor([0, 3, 3, 6], dtype=torch.int32))
    with pytest.raises(ModelInputError, match="no first token to pool"):
        Bert(BERT)(ids[:, :6], packing=short)
    with pytest.raises(ModelInputError, match="a mask and a packing"):
        Bert(BERT, pooler=False)(ids[:, :6], mask=ids[:, :6] > 0, packing=short)

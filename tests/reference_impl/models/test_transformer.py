"""The encoder-decoder of 2017 against torch's own layers, norms after and norms first."""

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from reference_impl.layers.checks import ModelInputError
from reference_impl.models.transformer import Transformer, TransformerConfig

TINY = [  # source lengths, target length
    (
        {
            "vocab_size": 31,
            "hidden_size": 6,
            "num_layers": 1,
            "num_heads": 3,
            "intermediate_size": 5,
        },
        [7, 3, 1],
        4,
    ),
    (
        {
            "vocab_size": 57,
            "hidden_size": 10,
            "num_layers": 3,
            "num_heads": 1,
            "intermediate_size": 21,
        },
        [5, 5],
        9,
    ),
    (
        {
            "vocab_size": 23,
            "hidden_size": 16,
            "num_layers": 2,
            "num_heads": 4,
            "intermediate_size": 40,
        },
        [150, 90],
        120,
    ),
]
EACH = pytest.mark.parametrize("norm_first", [False, True])


def attention_weights(name, attention):
    """Our four projections under the names of torch's attention, which keeps queries, keys and
    values in one.
    """
    parts = (attention.query, attention.key, attention.value)
    return {
        f"{name}.in_proj_weight": torch.cat([part.weight for part in parts]),
        f"{name}.in_proj_bias": torch.cat([part.bias for part in parts]),
        f"{name}.out_proj.weight": attention.output.weight,
        f"{name}.out_proj.bias": attention.output.bias,
    }


def torchs(ours):
    """torch's encoder and decoder layers with our weights, and the norm that ends each stack."""
    config = ours.config
    layer = {
        "d_model": config.hidden_size,
        "nhead": config.num_heads,
        "dim_feedforward": config.intermediate_size,
        "dropout": 0.0,
        "batch_first": True,
        "norm_first": config.norm_first,
        "dtype": torch.float64,
    }
    stacks = []
    for blocks, last, layer_class in (
        (ours.encoder, ours.encoder_norm, nn.TransformerEncoderLayer),
        (ours.decoder, ours.decoder_norm, nn.TransformerDecoderLayer),
    ):
        layers = []
        for block in blocks:
            sublayers = list(
                block.children()
            )  # attention, cross-attention in the decoder, feed-forward
            weights = attention_weights("self_attn", block.attention.layer)
            if layer_class is nn.TransformerDecoderLayer:
                weights |= attention_weights("multihead_attn", block.cross_attention.layer)
            for i, sublayer in enumerate(sublayers, 1):
                weights |= {
                    f"norm{i}.{name}": value for name, value in sublayer.norm.state_dict().items()
                }
            for name, linear in (
                ("linear1", block.feed_forward.layer.up),
                ("linear2", block.feed_forward.layer.down),
            ):
                weights |= {f"{name}.{part}": value for part, value in linear.state_dict().items()}
            layers.append(layer_class(**layer).eval())
            layers[-1].load_state_dict(weights)
        stacks.append((layers, last))
    return stacks


@EACH
@pytest.mark.parametrize("settings, lengths, num_targets", TINY)
def test_logits_and_gradients_are_torchs(
    ragged, parity, norm_first, settings, lengths, num_targets
):
    torch.manual_seed(0)
    ours = Transformer(TransformerConfig(**settings, norm_first=norm_first)).double().eval()
    for parameter in ours.parameters():
        nn.init.normal_(parameter, std=0.4)
    (encoder, encoder_norm), (decoder, decoder_norm) = torchs(ours)
    source, mask = ragged(settings["vocab_size"], lengths)
    target, _ = ragged(settings["vocab_size"], [num_targets] * len(lengths))
    memory, y = ours.embed(source).detach().requires_grad_(), ours.embed(target).detach()
    embedded = memory
    for layer in encoder:
        memory = layer(memory, src_key_padding_mask=~mask)
    memory = encoder_norm(memory)
    causal = torch.ones(num_targets, num_targets, dtype=torch.bool).triu(
        1
    )  # torch: True is forbidden
    for layer in decoder:
        y = layer(y, memory, tgt_mask=causal, memory_key_padding_mask=~mask)
    expected = decoder_norm(y) @ ours.embedding.weight.T
    parity.assert_close(ours(source, target, mask), expected)
    labels = target.roll(-1, 1).flatten()
    (theirs,) = torch.autograd.grad(
        cross_entropy(expected.flatten(0, 1), labels), embedded, retain_graph=True
    )
    x = embedded
    for block in ours.encoder:
        x = block(x, mask[:, None, None])
    logits = ours.decode(target, ours.encoder_norm(x), mask)
    (gradient,) = torch.autograd.grad(cross_entropy(logits.flatten(0, 1), labels), embedded)
    parity.assert_close(gradient, theirs)


def test_embeddings_are_scaled_by_the_root_of_their_width_and_start_at_position_zero():
    model = Transformer(
        TransformerConfig(vocab_size=5, hidden_size=4, num_layers=0, num_heads=1)
    ).eval()
    first = model.embed(torch.tensor([[3]]))[0, 0]
    torch.testing.assert_close(first, model.embedding.weight[3] * 2 + torch.tensor([0.0, 1, 0, 1]))


@EACH
def test_a_target_token_sees_no_later_one_but_all_of_the_source(ragged, norm_first):
    torch.manual_seed(0)
    model = Transformer(
        TransformerConfig(
            vocab_size=31,
            hidden_size=8,
            num_layers=2,
            num_heads=2,
            intermediate_size=8,
            norm_first=norm_first,
        )
    ).eval()
    source, target = torch.tensor([[1, 2, 3, 4]]), torch.tensor([[5, 6, 7]])
    later, other = torch.tensor([[5, 6, 8]]), torch.tensor([[1, 2, 3, 9]])
    assert torch.equal(model(source, target)[:, :2], model(source, later)[:, :2])
    assert not torch.allclose(model(source, target)[:, 0], model(other, target)[:, 0])


@pytest.mark.usefixtures("as_students_run_it")
def test_a_mask_of_the_targets_length_is_refused():
    model = Transformer(
        TransformerConfig(
            vocab_size=5, hidden_size=4, num_layers=1, num_heads=1, intermediate_size=4
        )
    )
    with pytest.raises(ModelInputError, match=r"the mask has shape \(1, 3\) but the ids \(1, 2\)"):
        model(torch.tensor([[1, 2]]), torch.tensor([[1, 2, 3]]), torch.ones(1, 3, dtype=torch.bool))

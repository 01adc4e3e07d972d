"""Decoders that differ in their positions only: against GPT, which is tested against transformers,
and by what each kind sees.
"""

import dataclasses

import pytest
import torch

from reference_impl.layers.checks import ModelInputError
from reference_impl.models.gpt import GPT, GPTConfig
from reference_impl.models.placed_decoder import KINDS, PlacedConfig, PlacedDecoder, PlacedDecoders

CONFIG = PlacedConfig(vocab_size=31, hidden_size=16, intermediate_size=32, max_positions=48)
TEXT = torch.arange(40)[None] % 31


def lively(kind: str) -> PlacedDecoder:
    """With weights so large that each part of the model shows in the answer."""
    torch.manual_seed(0)
    model = PlacedDecoder(kind, CONFIG).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(
                torch.randn_like(parameter) * (0.5 if parameter.ndim > 1 else 0.3)
                + (parameter.ndim == 1)
            )
    return model


@torch.no_grad()
def test_with_rows_it_is_gpt():
    model = lively("learned")
    gpt = GPT(
        GPTConfig(
            vocab_size=31,
            hidden_size=16,
            num_layers=2,
            num_heads=4,
            max_position_embeddings=48,
            intermediate_size=32,
            hidden_act="gelu",
        )
    ).eval()
    state = model.state_dict()
    for i in range(2):
        for part in ("weight", "bias"):
            state[f"blocks.{i}.attention.qkv.{part}"] = torch.cat(
                [
                    state.pop(f"blocks.{i}.attention.{name}.{part}")
                    for name in ("query", "key", "value")
                ]
            )
    gpt.load_state_dict({**state, "output.weight": state["embedding.weight"]})
    torch.testing.assert_close(model(TEXT), gpt(TEXT), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
@torch.no_grad()
def test_no_kind_sees_what_comes_after(kind):
    model, changed = lively(kind), TEXT.clone()
    changed[0, 20:] = 3
    before, after = model(TEXT), model(changed)
    torch.testing.assert_close(before[:, :20], after[:, :20])
    assert (before[:, 20:] - after[:, 20:]).abs().max() > 0.1


@pytest.mark.parametrize(
    ("kind", "moves"),
    [
        ("none", False),
        ("T5", False),
        ("Transformer-XL", False),
        ("ALiBi", False),
        ("RoPE", False),
        ("learned", True),
        ("sinusoidal", True),
    ],
)
@torch.no_grad()
def test_only_kinds_that_know_distances_or_nothing_score_a_pair_alike_wherever_it_stands(
    kind, moves
):
    model, text = lively(kind), torch.tensor([[7, 7, 7, 4, 9, 7, 7, 7, 7, 7, 4, 9]])
    scores = model.first_scores(text)[0]  # (H, T, T)
    assert bool((scores[:, 4, 3] - scores[:, 11, 10]).abs().max() > 1e-3) == moves


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "none"])
@torch.no_grad()
def test_every_kind_hears_order_that_a_set_has_not(kind):
    def seen_last(kind):
        scores = lively(kind).first_scores(torch.tensor([[5, 8, 6], [8, 5, 6]]))
        return (scores[0, :, 2, :2].flip(-1) - scores[1, :, 2, :2]).abs().max()

    assert seen_last(kind) > 1e-3 > 1e-5 > seen_last("none")


@torch.no_grad()
def test_the_weights_of_the_first_layer_are_those_that_it_mixes_by():
    for kind in KINDS:
        model = lively(kind)
        x = model.blocks[0].attention_norm(model.start(TEXT))
        attention, weights = model.blocks[0].attention, model.first_weights(TEXT)
        mixed = attention.output((weights @ attention.keys_values(x)[1]).transpose(1, 2).flatten(2))
        torch.testing.assert_close(
            attention(x, **({"causal": True} | model.given(40))), mixed, rtol=1e-4, atol=1e-4
        )


def test_all_kinds_begin_alike_under_one_seed_and_are_held_by_name():
    made = []
    for kind in CONFIG.kinds:
        torch.manual_seed(0)
        made.append(PlacedDecoder(kind, CONFIG))
    models = PlacedDecoders(CONFIG, made)
    assert list(models) == list(KINDS)
    assert all(
        torch.equal(
            models["none"].blocks[1].feed_forward.up.weight,
            models[kind].blocks[1].feed_forward.up.weight,
        )
        for kind in KINDS
    )
    assert list(PlacedDecoders(dataclasses.replace(CONFIG, kinds=("RoPE", "none")))) == [
        "RoPE",
        "none",
    ]


def test_an_unknown_kind_is_refused_with_those_that_there_are():
    with pytest.raises(
        ModelInputError, match="positions of kind 'rotary'; there are none, learned, sinusoidal, T5"
    ):
        PlacedDecoder("rotary", CONFIG)

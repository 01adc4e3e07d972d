"""Matrices stored column by column: the same numbers, in another order, for decoding and
for files.
"""

import copy

import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from reference_impl.generation.layout import store_by_longer_side
from reference_impl.generation.loop import generate
from reference_impl.generation.sampling_params import SamplingParams
from reference_impl.models.gpt import GPT, GPTConfig
from reference_impl.weights.safetensors_files import write_weights

CONFIG = GPTConfig(
    vocab_size=41, hidden_size=16, num_layers=2, num_heads=2, max_position_embeddings=64
)


def test_the_longer_side_of_each_linear_layer_lies_in_one_piece_and_numbers_stay():
    model = GPT(CONFIG)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    store_by_longer_side(model)
    for layer in model.modules():
        if isinstance(layer, nn.Linear):
            longer = 0 if layer.out_features > layer.in_features else 1
            assert (
                layer.weight.stride(longer) == 1
                and layer.weight.stride(1 - longer) == layer.weight.shape[longer]
            )
    assert model.output.weight is model.embedding.weight
    torch.testing.assert_close(dict(model.state_dict()), before, rtol=0, atol=0)


@pytest.mark.parametrize("family", ["gpt", "llama"])
def test_decoding_gives_the_same_tokens(pairs, prompts, family):
    ours, params = pairs[family][0], SamplingParams(temperature=0, max_tokens=12)
    laid_out = copy.deepcopy(ours)
    store_by_longer_side(laid_out)
    found = [each.ids for each in generate(laid_out, prompts, params)]
    assert found == [each.ids for each in generate(ours, prompts, params)]
    assert len({tuple(row) for row in found}) > 1


def test_a_file_is_written_row_by_row(tmp_path):
    model = GPT(CONFIG)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    store_by_longer_side(model)
    write_weights(tmp_path, model.state_dict())
    for name, tensor in load_file(tmp_path / "model.safetensors").items():
        torch.testing.assert_close(tensor, before[name], rtol=0, atol=0)

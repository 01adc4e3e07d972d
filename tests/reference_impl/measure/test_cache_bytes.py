"""Worked numbers: published shapes, and lengths counted by hand."""

import pytest
import torch

from reference_impl.layers.checks import ModelInputError
from reference_impl.measure.cache_bytes import (
    bytes_per_token,
    reserved_blocks,
    reserved_contiguous,
    waste,
)


@pytest.mark.parametrize(
    "shape, dtype, expected",
    [
        ((40, 40, 128), torch.float16, 819_200),  # OPT-13B: 800 KB, Kwon et al. 2023, section 3
        ((32, 8, 128), torch.bfloat16, 131_072),
        ((12, 12, 64), torch.float32, 73_728),
    ],
)
def test_bytes_of_known_models(shape, dtype, expected):
    assert bytes_per_token(*shape, dtype) == expected


def test_bytes_are_those_of_the_tensors_a_cache_holds():
    keys = torch.zeros(3, 2, 1, 2, 10, 16, dtype=torch.float16)  # layer, key or value, B, K, S, D
    assert bytes_per_token(3, 2, 16, torch.float16) * 10 == keys.nbytes


def test_waste_of_both_ways_worked_by_hand():
    lengths = [1, 16, 17, 0]
    assert reserved_blocks(lengths, 16) == 16 + 16 + 32
    assert waste(lengths, reserved_blocks(lengths, 16)) == 1 - 34 / 64
    assert waste(lengths, reserved_contiguous(lengths, 100)) == 1 - 34 / 400
    assert waste([], 0) == 0


def test_numbers_that_cannot_be_are_refused():
    with pytest.raises(ModelInputError, match="17 tokens but room for 16"):
        reserved_contiguous([3, 17], 16)
    with pytest.raises(ModelInputError, match="20 tokens in 16 places"):
        waste([3, 17], 16)
    with pytest.raises(ModelInputError, match="blocks of 0"):
        reserved_blocks([3], 0)

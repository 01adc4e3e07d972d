"""The signatures are true: all tests run with their shapes and types checked (see addopts in
pyproject.toml).
"""

import pytest
import torch
from jaxtyping import Float, TypeCheckError

from reference_impl.embeddings.counts import ppmi
from reference_impl.generation.sampling_params import SamplingParams
from reference_impl.tokenizers.bpe import train_bpe_plain
from tests import signatures


def test_a_tensor_of_the_wrong_rank_is_refused_by_the_signature():
    with pytest.raises(TypeCheckError, match="counts"):
        ppmi(torch.ones(2, 3, 4))


def test_one_name_is_one_size_in_a_call_and_another_in_the_next():
    @signatures.checked(typechecker=None)
    def joined(
        left: Float[torch.Tensor, "N D"], right: Float[torch.Tensor, "M D"]
    ) -> Float[torch.Tensor, "N M"]:
        return left @ right.T if multiplies else left

    multiplies = True
    assert (
        joined(torch.ones(2, 3), torch.ones(4, 3)).shape
        == joined(torch.ones(2, 5), torch.ones(4, 5)).shape
    )
    with pytest.raises(TypeCheckError, match="right"):
        joined(torch.ones(2, 3), torch.ones(4, 5))
    multiplies = False
    with pytest.raises(TypeCheckError, match="return"):
        joined(torch.ones(2, 3), torch.ones(4, 3))


def test_a_value_of_the_wrong_type_is_refused_by_a_signature_without_shapes():
    with pytest.raises(TypeCheckError, match="num_merges"):
        train_bpe_plain({"bank": 2}, "6")
    with pytest.raises(TypeCheckError, match="max_tokens"):
        SamplingParams(max_tokens="6")


def test_functions_inside_another_are_checked_each_with_its_own_values():
    def outer(add):
        @signatures.checked(typechecker=None)
        def inner(number: int) -> int:
            return number + add

        return inner

    one, half = outer(1), outer(0.5)
    assert one(1) == 2
    with pytest.raises(TypeCheckError, match="number"):
        one("1")
    with pytest.raises(TypeCheckError, match="return"):
        half(1)
    assert one(2) == 3

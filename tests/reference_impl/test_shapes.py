"""The shapes in the signatures are true: all tests run with each of them checked (see addopts in pyproject.toml)."""
import jaxtyping
import pytest
import torch

from reference_impl.embeddings.counts import ppmi


def test_a_tensor_of_the_wrong_rank_is_refused_by_the_signature():
    with pytest.raises(jaxtyping.TypeCheckError, match="counts"):
        ppmi(torch.ones(2, 3, 4))

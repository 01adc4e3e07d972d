"""The shapes in the signatures are true: the other tests of this folder run with each of them checked."""
import pytest
import torch

from reference_impl.embeddings.counts import ppmi


def test_a_tensor_of_the_wrong_rank_is_refused_by_the_signature():
    try:
        ppmi(torch.ones(2, 3, 4))
    except Exception as error:
        assert "counts" in str(error)
    else:
        pytest.skip("reference_impl was imported before the jaxtyping hook: run tests/reference_impl by itself")

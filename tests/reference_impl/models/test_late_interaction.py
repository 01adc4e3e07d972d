"""MaxSim and sparse weights against loops, and by hand."""

import math

import torch

from reference_impl.models.late_interaction import maxsim, sparse_weights


def drawn(seed, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def test_maxsim_is_the_sum_of_the_best_cosines_of_the_querys_tokens():
    queries, texts = drawn(0, 3, 4, 8), drawn(1, 5, 6, 8)
    query_mask, text_mask = drawn(2, 3, 4) > -0.5, drawn(3, 5, 6) > -0.5
    found = maxsim(queries, query_mask, texts, text_mask)
    for q in range(3):
        for n in range(5):
            best = [
                max(
                    torch.cosine_similarity(token, other, dim=0).item()
                    for other in texts[n][text_mask[n]]
                )
                for token in queries[q][query_mask[q]]
            ]
            assert math.isclose(found[q, n].item(), sum(best), rel_tol=1e-5)


def test_padding_changes_nothing_and_a_text_without_tokens_comes_last():
    queries, texts = drawn(0, 1, 2, 4), drawn(1, 2, 3, 4)
    both = torch.ones(1, 2, dtype=torch.bool)
    mask = torch.tensor([[True, True, False], [False, False, False]])
    found = maxsim(queries, both, texts, mask)
    longer = torch.cat([texts, drawn(2, 2, 5, 4)], 1)
    hidden = torch.cat([mask, torch.zeros(2, 5, dtype=torch.bool)], 1)
    assert torch.equal(found, maxsim(queries, both, longer, hidden))
    assert found[0, 1] == -torch.inf and found[0, 0].isfinite()


def test_repeating_a_text_changes_no_score():
    queries, texts = drawn(0, 2, 3, 4), drawn(1, 2, 5, 4)
    one, two = (torch.ones(2, n, dtype=torch.bool) for n in (5, 10))
    mask = torch.ones(2, 3, dtype=torch.bool)
    twice = maxsim(queries, mask, texts.repeat(1, 2, 1), two)
    assert torch.allclose(maxsim(queries, mask, texts, one), twice, atol=1e-6)


def test_sparse_weights_by_hand_with_padding_left_out():
    logits = torch.tensor([[[math.e - 1, -3.0], [0.0, math.e**2 - 1], [99.0, 99.0]]])
    mask = torch.tensor([[True, True, False]])
    assert torch.allclose(sparse_weights(logits, mask), torch.tensor([[1.0, 2.0]]))
    assert sparse_weights(logits, ~mask.any(1, keepdim=True).expand(1, 3)).eq(0).all()

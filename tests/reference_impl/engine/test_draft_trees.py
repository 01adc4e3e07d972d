"""Trees of draft tokens: the mask, the rule against an exact sum over all draws, and chains."""

import itertools

import pytest
import torch

from reference_impl.engine.draft_heads import DraftHead, draft_logits
from reference_impl.engine.draft_trees import DraftTree, tree_mask, verify_children, verify_tree
from reference_impl.engine.speculative import Draft, verify
from reference_impl.models.gpt import GPT, GPTConfig

P = torch.tensor([0.5, 0.25, 0.25], dtype=torch.float64)
Q = torch.tensor([0.25, 0.5, 0.25], dtype=torch.float64)


def output_distribution(p, q, count):
    """The exact distribution of the next token with `count` children: all draws, all decisions."""
    total = torch.zeros_like(p)
    for children in itertools.product(range(len(p)), repeat=count):
        chance, left = 1.0, p.clone()
        for token in children:
            chance *= float(q[token])
        for token in children:
            accept = min(1.0, float(left[token] / q[token]))
            total[token] += chance * accept
            chance *= 1 - accept
            left = (left - q).clamp(min=0)
            left = left / left.sum() if left.sum() > 0 else left
        total += chance * left
    return total


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_rule_keeps_the_distribution_whatever_the_number_of_children(count):
    torch.testing.assert_close(output_distribution(P, Q, count), P)


@pytest.mark.parametrize("count, rate", [(1, 3 / 4), (2, 13 / 16), (3, 55 / 64)])
def test_draws_agree_with_the_exact_acceptance_rate_and_distribution(count, rate):
    generator, draws = torch.Generator().manual_seed(0), 20_000
    counts, accepted = torch.zeros(3), 0
    for _ in range(draws):
        children = torch.multinomial(Q, count, True, generator=generator).tolist()
        tree = DraftTree(children, [-1] * count, Q.expand(count, 3))
        said = verify_tree(P.expand(count + 1, 3), tree, generator)
        counts[said[0]] += 1
        accepted += len(said) == 2
    assert abs(accepted / draws - rate) < 0.015
    assert float((counts / draws - P).abs().max()) < 0.015


def test_a_wrong_residual_is_seen():
    """Testing the second child against p again accepts too often."""
    generator, draws, counts = torch.Generator().manual_seed(0), 20_000, torch.zeros(3)
    for _ in range(draws):
        children = torch.multinomial(Q, 2, True, generator=generator).tolist()
        for token in children:
            place, left = verify_children(P, [(token, Q)], generator)
            if place is not None:
                break
        token = token if place is not None else int(torch.multinomial(left, 1))
        counts[token] += 1
    assert float((counts / draws - P).abs().max()) > 0.02


def test_a_chain_is_verified_as_by_the_plain_rule():
    torch.manual_seed(0)
    p, q = torch.randn(4, 6).softmax(-1), torch.randn(3, 6).softmax(-1)
    for seed in range(200):
        ids = torch.multinomial(q, 1, generator=torch.Generator().manual_seed(seed))[:, 0].tolist()
        tree = DraftTree(ids, [-1, 0, 1], q)
        one, other = (torch.Generator().manual_seed(seed) for _ in range(2))
        assert verify_tree(p, tree, one) == verify(p, Draft(ids, q), other)


def test_greedy_verification_follows_the_most_probable_tokens():
    p = torch.nn.functional.one_hot(torch.tensor([2, 0, 4, 1, 3]), 6).float()
    tree = DraftTree([5, 2, 1, 4], [-1, -1, 0, 1], torch.full((4, 6), 1 / 6))
    assert verify_tree(p, tree, None) == [2, 4, 3]


def test_a_node_sees_itself_and_its_ancestors():
    assert tree_mask([-1, -1, 0, 2, 1]).int().tolist() == [
        [1, 0, 0, 0, 0],
        [0, 1, 0, 0, 0],
        [1, 0, 1, 0, 0],
        [1, 0, 1, 1, 0],
        [0, 1, 0, 0, 1],
    ]


def test_drafts_at_a_depth_know_later_tokens_but_only_one_state():
    torch.manual_seed(0)
    model = GPT(GPTConfig(20, 16, num_layers=1, num_heads=2, max_position_embeddings=12)).eval()
    head, ids = DraftHead(16, 24), torch.randint(20, (2, 8))
    states = model.hidden(ids)
    first, second, third = draft_logits(head, model, states, ids, 3)
    assert [one.shape for one in (first, second, third)] == [(2, 7, 20), (2, 6, 20), (2, 5, 20)]
    by_hand = head(states[:, :1], model.embedding(ids[:, 1:2]))
    by_hand = head(by_hand, model.embedding(ids[:, 2:3]))
    torch.testing.assert_close(second[:, 0], model.output(by_hand)[:, 0])

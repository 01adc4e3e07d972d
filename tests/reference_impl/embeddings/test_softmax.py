"""The full softmax and the tree: by hand, by autograd, and against gensim's tree, codes
and scores.
"""

import math

import numpy as np
import pytest
import torch
from torch.autograd import gradcheck

from reference_impl.embeddings.hierarchical import (
    hierarchical_gradients,
    hierarchical_loss,
    huffman_tree,
    mean_path,
    path_log_probability,
)
from reference_impl.embeddings.softmax import softmax, softmax_gradients, softmax_loss


def doubles(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def test_softmax_of_logarithms_gives_back_the_shares():
    scores = torch.tensor([1.0, 2, 3, 4]).log()
    assert torch.allclose(softmax(scores), torch.tensor([0.1, 0.2, 0.3, 0.4]))


def test_softmax_does_not_overflow_and_does_not_see_a_shift():
    scores = doubles(3, 5)
    assert torch.allclose(softmax(scores + 900), torch.softmax(scores, -1))
    assert softmax(torch.tensor([1000.0, 0.0])).tolist() == [1.0, 0.0]


def test_the_loss_is_torchs_cross_entropy():
    center, output, context = doubles(6, 4), doubles(9, 4, seed=1), torch.tensor([0, 8, 3, 3, 1, 5])
    theirs = torch.nn.functional.cross_entropy(center @ output.T, context)
    assert softmax_loss(center, output, context).item() == pytest.approx(theirs.item())


def test_the_gradient_of_the_softmax_is_that_of_autograd():
    center, output = doubles(6, 4).requires_grad_(), doubles(9, 4, seed=1).requires_grad_()
    context = torch.tensor([0, 8, 3, 3, 1, 5])
    loss, d_center, d_output = softmax_gradients(center.detach(), output.detach(), context)
    ours = torch.autograd.grad(softmax_loss(center, output, context), (center, output))
    assert loss.item() == pytest.approx(softmax_loss(center, output, context).item())
    assert torch.allclose(d_center, ours[0]) and torch.allclose(d_output, ours[1])


def test_an_untrained_model_pays_the_logarithm_of_the_vocabulary():
    loss = softmax_loss(
        doubles(2, 3), torch.zeros(50, 3, dtype=torch.float64), torch.tensor([1, 2])
    )
    assert loss.item() == pytest.approx(math.log(50))


def test_huffmans_tree_by_hand():
    tree = huffman_tree(torch.tensor([8, 4, 2, 1, 1]))
    assert tree.lengths.tolist() == [1, 2, 3, 4, 4]
    assert mean_path(tree, torch.tensor([8, 4, 2, 1, 1])) == pytest.approx((8 + 8 + 6 + 4 + 4) / 16)


def test_the_root_is_the_last_node_that_was_joined_and_the_first_of_every_path():
    tree = huffman_tree(torch.tensor([3, 9, 5, 2, 2, 7]))
    assert tree.nodes[:, 0].tolist() == [4] * 6


def test_a_tree_of_one_word_is_refused():
    with pytest.raises(ValueError, match="at least two words"):
        huffman_tree(torch.tensor([5]))


def test_the_probabilities_of_all_words_sum_to_one():
    tree = huffman_tree(torch.tensor([13, 9, 5, 2, 2, 7, 1, 1]))
    center, table = doubles(1, 3), doubles(7, 3, seed=2)
    every = path_log_probability(center.expand(8, -1), table, tree, torch.arange(8)).exp()
    assert every.sum().item() == pytest.approx(1)
    assert every.std() > 0.01


def test_the_gradient_along_the_path_is_that_of_autograd():
    tree = huffman_tree(torch.tensor([13, 9, 5, 2, 2, 7, 1, 1]))
    center, table, words = (
        doubles(4, 3).requires_grad_(),
        doubles(7, 3, seed=2).requires_grad_(),
        torch.tensor([0, 6, 3, 6]),
    )
    assert gradcheck(lambda c, t: hierarchical_loss(c, t, tree, words), (center, table))
    d_center, d_nodes = hierarchical_gradients(center.detach(), table.detach(), tree, words)
    ours = torch.autograd.grad(hierarchical_loss(center, table, tree, words), (center, table))
    scattered = torch.zeros_like(table).index_add_(
        0, tree.nodes[words].flatten(), d_nodes.flatten(0, 1)
    )
    assert torch.allclose(d_center, ours[0]) and torch.allclose(scattered, ours[1])


def test_the_mean_path_lies_between_the_entropy_and_one_bit_more():
    counts = torch.from_numpy(np.random.default_rng(0).zipf(1.5, 400).clip(max=10_000))
    share = counts / counts.sum()
    entropy = -(share * share.log2()).sum().item()
    assert entropy <= mean_path(huffman_tree(counts), counts) < entropy + 1


def gensims(seed=3):
    """A gensim model with hierarchical softmax, trained until its scores are far from zero."""
    pytest.importorskip("gensim")
    from gensim.models import Word2Vec

    draw = np.random.default_rng(seed)
    words = [f"w{i}" for i in range(30)]
    starts = draw.choice(30, 200, p=np.arange(30, 0, -1) / 465)
    sentences = [[words[(start + k) % 30] for k in range(8)] for start in starts]
    return Word2Vec(
        sentences,
        vector_size=12,
        sg=1,
        hs=1,
        negative=0,
        min_count=1,
        window=3,
        workers=1,
        seed=1,
        epochs=40,
        alpha=0.05,
        sample=0,
    )


def test_paths_are_as_long_as_gensims():
    """Equal counts may be joined in another order, so single codes differ; the sum over the text
    may not.
    """
    model = gensims()
    counts = torch.tensor([model.wv.get_vecattr(word, "count") for word in model.wv.index_to_key])
    theirs = sum(
        len(model.wv.get_vecattr(word, "code")) * int(n)
        for word, n in zip(model.wv.index_to_key, counts)
    )
    assert int((huffman_tree(counts).lengths * counts).sum()) == theirs


def test_on_gensims_tree_and_vectors_the_score_of_a_sentence_is_gensims():
    """gensim sums log P(context | centre) over the pairs of a sentence, each centre seeing the
    whole window.
    """
    from reference_impl.embeddings.hierarchical import Tree
    from reference_impl.embeddings.windows import pairs_plain

    model = gensims()
    codes = [model.wv.get_vecattr(word, "code") for word in model.wv.index_to_key]
    points = [model.wv.get_vecattr(word, "point") for word in model.wv.index_to_key]
    size, longest = len(codes), max(map(len, codes))
    nodes, right = (
        torch.zeros(size, longest, dtype=torch.long),
        torch.zeros(size, longest, dtype=torch.bool),
    )
    present = torch.zeros(size, longest, dtype=torch.bool)
    for i, (code, point) in enumerate(zip(codes, points)):
        nodes[i, : len(code)] = torch.from_numpy(np.asarray(point, dtype=np.int64))
        right[i, : len(code)], present[i, : len(code)] = (
            torch.from_numpy(np.asarray(code) == 1),
            True,
        )
    sentence = ["w3", "w4", "w5", "w6", "w7", "w8"]
    ids = [model.wv.key_to_index[word] for word in sentence]
    pairs = torch.tensor(pairs_plain(ids, [model.window] * len(ids)))
    vectors, table = torch.from_numpy(model.wv.vectors), torch.from_numpy(model.syn1)
    # In gensim the vector of the neighbour predicts the word in the middle.
    ours = (
        path_log_probability(vectors[pairs[:, 1]], table, Tree(nodes, right, present), pairs[:, 0])
        .sum()
        .item()
    )
    untrained = (
        path_log_probability(
            0 * vectors[pairs[:, 1]], table, Tree(nodes, right, present), pairs[:, 0]
        )
        .sum()
        .item()
    )
    # gensim reads the logistic function from a table of 1,000 steps, hence the tolerance.
    assert ours == pytest.approx(float(model.score([sentence], total_sentences=1)[0]), rel=0.03)
    assert ours > 0.6 * untrained

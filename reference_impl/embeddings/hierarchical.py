"""Hierarchical softmax: a word is a path of yes-or-no turns down a tree, so its
probability costs log2 V products.

Morin and Bengio 2005 (the tree); Mikolov et al. 2013b, section 2.1 (Huffman's tree:
frequent words near the root).

Every inner node has a vector. At a node the walk turns left with probability s(center .
node), s the logistic function, and right with what is left; the probability of a word
is the product along its path. At each node the two turns sum to 1, so all words
together do too: no sum over the vocabulary is ever taken.

Not here: the training on a whole corpus. On a GPU one matrix product with all V words
is quicker than V short paths.
"""

import heapq
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import logsigmoid


class Tree(NamedTuple):
    """The paths of V words through V - 1 inner nodes, the root first, padded to the
    longest with node 0.
    """

    nodes: Int[Tensor, "V L"]
    right: Bool[Tensor, "V L"]  # at this node the path turns right
    present: Bool[Tensor, "V L"]  # False in the padding

    @property
    def lengths(self) -> Int[Tensor, "V"]:
        """How many turns lead to each word."""
        return self.present.sum(1)


def huffman_tree(counts: Int[Tensor, "V"]) -> Tree:
    """Join the two rarest until one is left: the tree whose mean path, weighed by
    counts, is the shortest there is.

    Nodes are numbered in the order in which they were joined, so the root is node V -
    2. Of equal counts the smaller number comes first. Raises ValueError for fewer than
    two words: a path needs a turn.
    """
    size = len(counts)
    if size < 2:
        raise ValueError(f"a tree needs at least two words, and there is {size}")
    waiting = [
        (count, i) for i, count in enumerate(counts.tolist())
    ]  # words are 0 to V - 1, inner nodes V and up
    heapq.heapify(waiting)
    parent, is_right = {}, {}
    for node in range(size, 2 * size - 1):
        (rare, left), (less_rare, right) = (
            heapq.heappop(waiting),
            heapq.heappop(waiting),
        )
        parent[left] = parent[right] = node
        is_right[left], is_right[right] = False, True
        heapq.heappush(waiting, (rare + less_rare, node))
    paths = []
    for word in range(size):
        path, place = [], word
        while place in parent:
            path.append((parent[place] - size, is_right[place]))
            place = parent[place]
        paths.append(path[::-1])  # the walk starts at the root
    longest = max(map(len, paths))
    nodes = torch.tensor(
        [[node for node, _ in path] + [0] * (longest - len(path)) for path in paths]
    )
    right = torch.tensor(
        [[turn for _, turn in path] + [False] * (longest - len(path)) for path in paths]
    )
    present = (
        torch.arange(longest) < torch.tensor([len(path) for path in paths])[:, None]
    )
    return Tree(nodes, right, present)


def path_log_probability(
    center: Float[Tensor, "B D"],
    table: Float[Tensor, "N D"],
    tree: Tree,
    words: Int[Tensor, "B"],
) -> Float[Tensor, "B"]:
    """log P(word | center) by hierarchical softmax.

    The sum of log s(center . node) over left turns and log s(-center . node) over right
    ones, with s the logistic function. `table` has the vectors of the V - 1 inner
    nodes.
    """
    along = table[tree.nodes[words]]  # (B, L, D)
    scores = torch.einsum("bd,bld->bl", center, along)
    signed = torch.where(tree.right[words], -scores, scores)
    return (logsigmoid(signed) * tree.present[words]).sum(1)


def hierarchical_loss(
    center: Float[Tensor, "B D"],
    table: Float[Tensor, "N D"],
    tree: Tree,
    words: Int[Tensor, "B"],
) -> Float[Tensor, ""]:
    """The mean over B pairs of -log P(word | center)."""
    return -path_log_probability(center, table, tree, words).mean()


def hierarchical_gradients(
    center: Float[Tensor, "B D"],
    table: Float[Tensor, "N D"],
    tree: Tree,
    words: Int[Tensor, "B"],
) -> tuple[Float[Tensor, "B D"], Float[Tensor, "B L D"]]:
    """The gradients of the loss by the centres and by the node vectors along each path,
    written out.

    A turn is a guess as in skip-gram with negatives: its error is s(center . node),
    less 1 if the path turns left. Only the nodes of the path move; those of the padding
    receive 0.
    """
    along = table[tree.nodes[words]]  # (B, L, D)
    said = torch.einsum("bd,bld->bl", center, along).sigmoid()
    error = (
        (said - (~tree.right[words]).to(said.dtype)) * tree.present[words] / len(words)
    )  # (B, L)
    return (
        torch.einsum("bl,bld->bd", error, along),
        error[:, :, None] * center[:, None, :],
    )


def mean_path(tree: Tree, counts: Int[Tensor, "V"]) -> float:
    """Turns a word of running text takes on average.

    At least the entropy of the counts in bits, at most one more.
    """
    return float((tree.lengths * counts).sum() / counts.sum())

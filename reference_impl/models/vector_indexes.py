"""Approximate nearest neighbours: an inverted file (IVF) and a navigable graph (HNSW),
small enough to read.

Jégou et al. 2011, section IV.B, for the inverted file without its compression; Malkov
and Yashunin 2018, algorithms 1 to 5, for the graph, with the simple choice of
neighbours (algorithm 3). Vectors are normalized, so that the largest dot product is the
largest cosine. Both count how many vectors a query was compared with.

Not here: compression (product quantization), deleting, parallel building.
"""

import heapq
import math
import random

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import normalize


def centroids_of(
    vectors: Float[Tensor, "N C"], count: int, rounds: int = 10, seed: int = 0
) -> Float[Tensor, "K C"]:
    """Directions of `count` clusters, by k-means with the cosine; a cluster that loses
    all its vectors keeps its direction.
    """
    vectors = normalize(vectors, dim=-1)
    generator = torch.Generator().manual_seed(seed)
    centroids = vectors[torch.randperm(len(vectors), generator=generator)[:count]]
    for _ in range(rounds):
        nearest = (vectors @ centroids.T).argmax(1)
        sums = torch.zeros_like(centroids).index_add_(0, nearest, vectors)
        centroids = torch.where(sums.any(1, keepdim=True), normalize(sums), centroids)
    return centroids


class InvertedFile:
    """Vectors in the lists of their nearest centroids; a query reads the lists of its
    `probes` nearest centroids only.
    """

    def __init__(self, vectors: Float[Tensor, "N C"], lists: int, seed: int = 0):
        self.vectors = normalize(vectors, dim=-1)
        self.centroids = centroids_of(vectors, lists, seed=seed)
        nearest = (self.vectors @ self.centroids.T).argmax(1)
        self.lists = [(nearest == one).nonzero()[:, 0] for one in range(lists)]

    def search(
        self, query: Float[Tensor, "C"], count: int, probes: int
    ) -> tuple[Int[Tensor, "K"], int]:
        """Up to `count` vectors' numbers, best first, and how many dot products it
        took.
        """
        query = normalize(query, dim=-1)
        chosen = (self.centroids @ query).topk(probes).indices.tolist()
        ids = torch.cat([self.lists[one] for one in chosen])
        best = (self.vectors[ids] @ query).topk(min(count, len(ids))).indices
        return ids[best], len(self.centroids) + len(ids)


class NavigableGraph:
    """HNSW: each vector is linked to near ones, on layer 0 and, ever fewer of them, on
    the layers above.

    `links` neighbours a vector and layer (twice as many on layer 0); `width` candidates
    are kept while it is built.
    """

    def __init__(
        self,
        vectors: Float[Tensor, "N C"],
        links: int = 8,
        width: int = 40,
        seed: int = 0,
    ):
        self.vectors, self.links, self.width = normalize(vectors, dim=-1), links, width
        self.layers: list[dict[int, list[int]]] = []
        self.start, self.compared, chance = 0, 0, random.Random(seed)
        for node in range(len(vectors)):
            self._insert(node, int(-math.log(1 - chance.random()) / math.log(links)))

    def search(
        self, query: Float[Tensor, "C"], count: int, width: int
    ) -> tuple[Int[Tensor, "K"], int]:
        """Up to `count` vectors' numbers, best first, and how many dot products it
        took; a larger `width` finds more.
        """
        self.compared, query, found = 0, normalize(query, dim=-1), [self.start]
        for layer in reversed(range(1, len(self.layers))):
            found = self._near(query, found, layer, 1)
        found = self._near(query, found, 0, max(width, count))[:count]
        return torch.tensor(found), self.compared

    def _near(
        self, query: Tensor, entries: list[int], layer: int, width: int
    ) -> list[int]:
        """The `width` nearest that a greedy walk from `entries` meets, best first."""
        seen, edges = set(entries), self.layers[layer]
        scores = self._scores(query, entries)
        frontier = [(-score, node) for score, node in zip(scores, entries, strict=True)]
        best = [(score, node) for score, node in zip(scores, entries, strict=True)]
        heapq.heapify(frontier)
        heapq.heapify(best)
        while frontier:
            score, node = heapq.heappop(frontier)
            if len(best) == width and -score < best[0][0]:
                break  # the nearest open node is farther than all that are kept
            fresh = [one for one in edges[node] if one not in seen]
            seen.update(fresh)
            for near, one in zip(self._scores(query, fresh), fresh, strict=True):
                if len(best) < width or near > best[0][0]:
                    heapq.heappush(frontier, (-near, one))
                    heapq.heappush(best, (near, one))
                    if len(best) > width:
                        heapq.heappop(best)
        return [node for _, node in sorted(best, reverse=True)]

    def _scores(self, query: Tensor, nodes: list[int]) -> list[float]:
        self.compared += len(nodes)
        return (self.vectors[nodes] @ query).tolist()

    def _insert(self, node: int, top: int) -> None:
        """Link a new node to its nearest on layers `top` to 0."""
        query, entries, height = self.vectors[node], [self.start], len(self.layers)
        for layer in reversed(range(height)):
            entries = self._near(
                query, entries, layer, self.width if layer <= top else 1
            )
            if layer <= top:
                self.layers[layer][node] = entries[: self.links]
                for other in entries[: self.links]:
                    self._link(other, node, layer)
        self.layers += [{node: []} for _ in range(height, top + 1)]
        if top >= height:
            self.start = node

    def _link(self, node: int, new: int, layer: int) -> None:
        """A link back; of too many links the nearest stay."""
        most, edges = self.links * (1 if layer else 2), self.layers[layer]
        edges[node].append(new)
        if len(edges[node]) > most:
            order = (self.vectors[edges[node]] @ self.vectors[node]).argsort(
                descending=True
            )
            edges[node] = [edges[node][one] for one in order[:most].tolist()]

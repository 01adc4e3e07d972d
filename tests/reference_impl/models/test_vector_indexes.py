"""Both indexes against exact search."""

import pytest
import torch
from torch.nn.functional import normalize

from reference_impl.models.vector_indexes import InvertedFile, NavigableGraph, centroids_of


@pytest.fixture(scope="module")
def vectors():
    generator = torch.Generator().manual_seed(0)
    basis = torch.randn(6, 24, generator=generator)
    return normalize(torch.randn(300, 6, generator=generator) @ basis, dim=-1)


def recall(search, vectors, count=10):
    """The fraction of the exact first found for fifty noisy copies, and the mean comparisons."""
    noise = torch.randn(50, 24, generator=torch.Generator().manual_seed(1))
    queries, shared, compared = vectors[:50] + 0.1 * noise, 0, 0
    for query in queries:
        found, number = search(query)
        exact = (vectors @ query).topk(count).indices.tolist()
        shared, compared = shared + len({*found.tolist()} & {*exact}), compared + number
    return shared / (50 * count), compared / 50


def test_an_inverted_file_is_exact_with_all_lists_and_cheaper_with_few(vectors):
    index = InvertedFile(vectors, lists=12)
    assert sorted(torch.cat(index.lists).tolist()) == list(range(300))
    found = [recall(lambda q, n=n: index.search(q, 10, n), vectors) for n in (1, 3, 12)]
    assert found[0][0] < found[1][0] < found[2][0] == 1.0
    assert found[0][1] < found[1][1] < found[2][1] == 312


def test_a_graph_finds_more_with_a_larger_width_and_compares_a_part(vectors):
    graph = NavigableGraph(vectors, links=6, width=30)
    narrow, wide = (recall(lambda q, w=w: graph.search(q, 10, w), vectors) for w in (10, 60))
    assert narrow[0] <= wide[0] and wide[0] > 0.97 and narrow[1] < wide[1] < 300


def test_a_graph_keeps_its_limits_and_every_vector_is_on_layer_0(vectors):
    graph = NavigableGraph(vectors, links=6, width=30)
    assert sorted(graph.layers[0]) == list(range(300))
    for layer, edges in enumerate(graph.layers):
        assert all(len(near) <= 6 * (1 if layer else 2) for near in edges.values())
        assert all(node not in near for node, near in edges.items())
    assert graph.start in graph.layers[-1]


def test_a_graph_of_one_vector_and_a_query_that_is_stored(vectors):
    assert NavigableGraph(vectors[:1]).search(vectors[5], 10, 10)[0].tolist() == [0]
    graph = NavigableGraph(vectors[:40])
    assert graph.search(3 * vectors[7], 1, 10)[0].tolist() == [7]


def test_an_empty_cluster_keeps_its_direction():
    same = torch.tensor([[1.0, 0.0]] * 5)
    assert torch.allclose(centroids_of(same, 2), torch.tensor([[1.0, 0.0]] * 2))

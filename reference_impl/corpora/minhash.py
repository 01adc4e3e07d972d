"""Near-duplicate documents, found by MinHash and locality-sensitive hashing.

A document is the set of its shingles, runs of `size` words. The similarity of two is
the Jaccard similarity of their sets (Broder 1997). MinHash keeps the smallest value of
each of K random hash functions: two documents agree on one of them with a probability
equal to their similarity. Signatures are cut into bands, and documents that agree on a
whole band are compared (Leskovec et al. 2020, section 3.4).

Not here: exact substring deduplication by a suffix array, hashing on several machines.
"""

import re
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

import numpy as np
from jaxtyping import Int, Integer

PRIME = 2**31 - 1


def shingles(text: str, size: int = 5) -> set[int]:
    """Hashes of all runs of `size` words; of the whole text if it is shorter."""
    words = re.findall(r"\w+", text.lower())
    last = max(len(words) - size, 0)
    runs = (" ".join(words[at : at + size]) for at in range(last + 1) if words)
    return {zlib.crc32(run.encode()) for run in runs}


def jaccard(one: set[int], other: set[int]) -> float:
    """The size of the intersection over the size of the union; 0 for two empty sets."""
    union = len(one | other)
    return len(one & other) / union if union else 0.0


class MinHash:
    """K random hash functions, h(x) = (a x + b) mod p."""

    def __init__(self, num_hashes: int, seed: int = 0):
        draw = np.random.default_rng(seed)
        self.a = draw.integers(1, PRIME, size=(num_hashes, 1), dtype=np.uint64)
        self.b = draw.integers(0, PRIME, size=(num_hashes, 1), dtype=np.uint64)

    def signature(self, elements: set[int]) -> Integer[np.ndarray, "K"]:
        """The smallest value of each hash function over a non-empty set."""
        if not elements:
            raise ValueError("an empty document has no signature: leave it out")
        x = np.fromiter(elements, dtype=np.uint64) % np.uint64(PRIME)
        return ((self.a * x + self.b) % np.uint64(PRIME)).min(axis=1).astype(np.int64)


def estimate(one: Int[np.ndarray, "K"], other: Int[np.ndarray, "K"]) -> float:
    """The fraction of hash functions on which two signatures agree."""
    return float((one == other).mean())


def match_probability(similarity: float, bands: int, rows: int) -> float:
    """The probability that two documents agree on all `rows` of at least one band."""
    return 1 - (1 - similarity**rows) ** bands


def candidate_pairs(
    signatures: Int[np.ndarray, "N K"], bands: int
) -> set[tuple[int, int]]:
    """Pairs of documents (i, j), i < j, that agree on a band of K / bands rows."""
    pairs: set[tuple[int, int]] = set()
    for band in np.split(signatures, bands, axis=1):
        buckets = defaultdict(list)
        for document, rows in enumerate(band):
            buckets[rows.tobytes()].append(document)
        for bucket in buckets.values():
            pairs.update(combinations(bucket, 2))
    return pairs


def near_duplicates(
    documents: Sequence[set[int]], threshold: float, bands: int = 20, rows: int = 6
) -> Iterator[tuple[int, int, float]]:
    """Candidate pairs whose exact similarity is at least `threshold`, with it."""
    hashes = MinHash(bands * rows)
    filled = [at for at, document in enumerate(documents) if document]
    signatures = np.stack([hashes.signature(documents[at]) for at in filled])
    for i, j in sorted(candidate_pairs(signatures, bands)):
        one, other = filled[i], filled[j]
        similarity = jaccard(documents[one], documents[other])
        if similarity >= threshold:
            yield one, other, similarity


def kept(count: int, pairs: Iterable[tuple[int, int]]) -> list[int]:
    """The first document of every group that the pairs connect, out of `count`."""
    parent = list(range(count))

    def root(at: int) -> int:
        while parent[at] != at:
            at = parent[at] = parent[parent[at]]
        return at

    for one, other in pairs:
        low, high = sorted((root(one), root(other)))
        parent[high] = low
    return [at for at in range(count) if root(at) == at]

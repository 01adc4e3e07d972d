"""Near-duplicate verses of the King James Bible, by MinHash and by comparing all pairs.

    python bench/duplicates.py        two minutes on one core

The same verse as a set of 3-word shingles is compared with all others exactly (an inverted index
leaves out pairs with nothing in common), then by MinHash with 20 bands of 6 rows (12 seeds).
Held-out verses (`trained/texts.py`) that have a near duplicate in the training text are counted.
`estimates` has the error of the estimated similarity for one pair under 400 seeds.
"""

import os
import statistics
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parent / "trained"))

import numpy as np  # noqa: E402
from record import save  # noqa: E402
from texts import scripture, split  # noqa: E402

from reference_impl.corpora.minhash import (  # noqa: E402
    MinHash,
    candidate_pairs,
    estimate,
    jaccard,
    kept,
    match_probability,
    near_duplicates,
    shingles,
)

SIZE, THRESHOLD, BANDS, ROWS, DRAWS = 3, 0.7, 20, 6, 12
Pairs = dict[tuple[int, int], float]


def all_pairs(documents: Sequence[set[int]], least: float) -> Pairs:
    """Every pair whose exact similarity is at least `least`, with it."""
    holders, found = defaultdict(list), {}
    for at, document in enumerate(documents):
        shared = Counter(other for shingle in document for other in holders[shingle])
        for other, both in shared.items():
            similarity = both / (len(document) + len(documents[other]) - both)
            if similarity >= least:
                found[other, at] = similarity
        for shingle in document:
            holders[shingle].append(at)
    return found


def recall_by_similarity(exact: Pairs, found: Sequence[set[tuple[int, int]]]) -> list[dict]:
    """For each tenth of similarity: pairs, candidates under each seed, and what theory expects."""
    rows = []
    for tenth in range(2, 10):
        low, high = tenth / 10, (tenth + 1) / 10 if tenth < 9 else 1.01
        inside = {pair: s for pair, s in exact.items() if low <= s < high}
        expected = sum(match_probability(s, BANDS, ROWS) for s in inside.values())
        rows.append(
            {
                "from": low,
                "pairs": len(inside),
                "candidates": [sum(pair in one for pair in inside) for one in found],
                "expected": round(expected, 1),
            }
        )
    return rows


def errors_of_estimates(one: set[int], other: set[int]) -> list[dict]:
    """The standard deviation of the estimate for several signature lengths, and in theory."""
    true, rows = jaccard(one, other), []
    for num_hashes in (16, 64, 256):
        hashes = [MinHash(num_hashes, seed) for seed in range(400)]
        values = [estimate(each.signature(one), each.signature(other)) for each in hashes]
        rows.append(
            {
                "num_hashes": num_hashes,
                "true": round(true, 4),
                "mean": round(statistics.mean(values), 4),
                "deviation": round(statistics.stdev(values), 4),
                "theory": round((true * (1 - true) / num_hashes) ** 0.5, 4),
            }
        )
    return rows


def main() -> None:
    """Both ways over all verses, then the held-out ones against the training text."""
    verses = [line for line in scripture().split("\n") if len(line.split()) >= 8]
    documents = [shingles(verse, SIZE) for verse in verses]
    started = time.process_time()
    exact = all_pairs(documents, 0.2)
    seconds = {"all pairs": round(time.process_time() - started, 1)}
    started = time.process_time()
    found = {(i, j): s for i, j, s in near_duplicates(documents, THRESHOLD, BANDS, ROWS)}
    seconds["MinHash"] = round(time.process_time() - started, 1)
    candidates = []
    for seed in range(DRAWS):
        hashes = MinHash(BANDS * ROWS, seed)
        signatures = np.stack([hashes.signature(document) for document in documents])
        candidates.append(candidate_pairs(signatures, BANDS))
    trained_on, held_out = (set(part.split("\n")) for part in split(scripture()))
    held = [at for at, verse in enumerate(verses) if verse in held_out - trained_on]
    near = {pair for pair, similarity in exact.items() if similarity >= THRESHOLD}
    partners = defaultdict(set)
    for one, other in near:
        partners[one].add(other)
        partners[other].add(one)
    leaked = [at for at in held if any(verses[o] in trained_on for o in partners[at])]
    repeated = sorted(((s, pair) for pair, s in exact.items() if 0.7 <= s < 1), reverse=True)
    example = next(pair for s, pair in repeated[::-1] if s >= 0.7 and len(documents[pair[0]]) > 15)
    save(
        "duplicates",
        versions=("numpy",),
        seed=0,
        shingle_words=SIZE,
        threshold=THRESHOLD,
        bands=BANDS,
        rows_a_band=ROWS,
        verses=len(verses),
        all_pairs=len(verses) * (len(verses) - 1) // 2,
        candidates=len(candidates[0]),
        exact_pairs=len(near),
        identical=sum(similarity == 1 for similarity in exact.values()),
        found_pairs=len(found),
        found_wrong=len(set(found) - near),
        kept=len(kept(len(verses), found)),
        recall=recall_by_similarity(exact, candidates),
        held_out=len(held),
        held_out_with_near_duplicate=len(leaked),
        estimates=errors_of_estimates(documents[example[0]], documents[example[1]]),
        example=[verses[at] for at in example],
        process_seconds=seconds,
    )


if __name__ == "__main__":
    main()

"""Checks of chapter 8, part 3: near-duplicate documents by MinHash and bands."""

import torch
from torch import Tensor

from autograder.chapters.c08_gpt.withholding import LIBRARIES, OURS
from autograder.checks.inputs.draws import counts, distinct, one_changed, whole
from autograder.checks.protocol import exercise, expect

BOOK = "08-gpt"
SMALL, LARGE = 997, 2**31 - 1
Case = tuple[list[list[int]], Tensor, Tensor, int, int]

minhash = exercise(
    "08.minhash",
    function="minhash",
    points=4,
    see=f"{BOOK}/data#similarity-of-documents",
    withhold=OURS
    | LIBRARIES
    | {
        "reference_impl.corpora.minhash": "it is the course's own answer",
        "datasketch": "it gives the answer that you are asked to write",
    },
)


def signatures_of(documents: list[list[int]], a: Tensor, b: Tensor, p: int) -> Tensor:
    """The right signatures, in Python's integers."""
    hashes = list(zip(a.tolist(), b.tolist()))
    return torch.tensor(
        [[min((k * x + c) % p for x in one) for k, c in hashes] for one in documents]
    )


def pairs_of(signatures: Tensor, bands: int) -> list[tuple[int, int]]:
    """The right pairs, in order."""
    rows = signatures.unflatten(1, (bands, -1))  # (N, bands, r)
    match = (rows[:, None] == rows).all(3).any(2).triu(1)
    return [(i, j) for i, j in match.nonzero().tolist()]


def case(rng, N: int, size: int, K: int, bands: int, p: int = SMALL) -> Case:
    """Documents of `size` shingles, each of them beginning like the first, and K hash functions."""
    spread = (p - 1) // (SMALL - 1)  # shingles fill the range below p
    base, documents = distinct(rng, size, SMALL), []
    for _ in range(N):
        kept = base[: whole(rng, (size + 1) // 2, size)]
        others = [x for x in distinct(rng, size, SMALL) if x not in kept]
        documents.append([spread * x for x in (kept + others)[:size]])
    return documents, counts(rng, 1, p - 1, K), counts(rng, 0, p - 1, K), p, bands


SIZES = ((1, 1, 1, 1), (2, 1, 1, 1), (2, 3, 4, 2), (3, 4, 6, 3), (6, 4, 12, 4), (5, 5, 8, 8))
LONG = ((110, 3, 4, 2), (3, 300, 4, 2), (4, 3, 300, 50))
BY_HAND: Case = ([[1, 2, 4], [2, 4, 7]], torch.tensor([3, 5]), torch.tensor([1, 2]), 11, 2)


def told(case: Case) -> str:
    """What a call was given, in words."""
    return f"{len(case[0])} documents, K {len(case[1])}, p {case[3]}, {case[4]} bands"


@minhash.stage("minimum of each hash", points=2)
def test_signatures_hold_the_smallest_value_of_each_hash_function(student, rng):
    def ask(cause: str, case: Case) -> None:
        came = expect(student.minhash(*case), given=told(case)).unpacks(3)
        right = signatures_of(*case[:4])
        expect(came[0], "Your signatures", told(case)).equals(right, cause=cause)

    rule = "Entry k is the smallest of (a[k] x + b[k]) mod p over the document's shingles x."
    ask(f"{rule} This is the case by hand.", BY_HAND)
    for sizes in (*SIZES, *LONG):
        ask(rule, case(rng, *sizes))
    for a in one_changed(case(rng, 3, 4, 6, 3), case(rng, 3, 4, 6, 2)):
        ask(rule, a)
    for sizes in ((2, 5, 6, 2), (3, 40, 8, 4)):
        ask(
            "Products reach two to the power of 62 here. Floats round them; int64 does not.",
            case(rng, *sizes, p=LARGE),
        )


@minhash.stage("matching bands", points=1.5, after="minimum of each hash")
def test_pairs_agree_on_a_whole_band(student, rng):
    def ask(cause: str, case: Case) -> None:
        came = expect(student.minhash(*case), given=told(case)).unpacks(3)
        right = pairs_of(signatures_of(*case[:4]), case[4])
        expect(came[1], "Your pairs", told(case)).equals(right, cause=cause)

    rule = "A pair (i, j), i < j, agrees on all consecutive rows of at least one band."
    ask(f"{rule} This is the case by hand.", BY_HAND)
    ask(f"{rule} This is the case by hand with one band.", (*BY_HAND[:4], 1))
    for sizes in (*SIZES, *LONG, (8, 6, 12, 3), (8, 6, 12, 6), (8, 6, 24, 4), (8, 6, 24, 12)):
        ask(rule, case(rng, *sizes))
    documents, a, b, p, _ = case(rng, 8, 5, 12, 1)
    for bands in (1, 2, 3, 4, 6, 12):
        ask(rule, (documents, a, b, p, bands))
    equal = (documents[:2] * 2, a, b, p, 3)
    ask(f"{rule} Two documents are equal here.", equal)


@minhash.stage("fraction of agreement", points=0.5, after="matching bands")
def test_the_estimate_is_the_fraction_of_all_hash_functions_that_agree(student, rng):
    rule = "Estimate the similarity by the fraction of all K entries on which the two agree."
    for sizes in (*SIZES, (110, 3, 4, 2), (4, 3, 300, 150), (8, 6, 12, 6), (8, 6, 24, 12)):
        given = case(rng, *sizes)
        signatures = signatures_of(*given[:4])
        right = [
            float((signatures[i] == signatures[j]).double().mean())
            for i, j in pairs_of(signatures, given[4])
        ]
        came = expect(student.minhash(*given), given=told(given)).unpacks(3)
        expect(came[2], "Your estimates", told(given)).close(
            right, rtol=1e-4, atol=1e-5, cause=rule
        )

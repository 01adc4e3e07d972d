"""Plausible wrong solutions of chapter 8, part 3: MinHash."""

import torch

from autograder.checks.mistakes.registry import mistake

MINHASH = "08.minhash"


def _signatures(documents, a, b, p):
    return torch.stack(
        [((a[:, None] * torch.tensor(one) + b[:, None]) % p).amin(1) for one in documents]
    )


def _pairs(signatures, bands, agree=lambda same: same.all(3).any(2)):
    rows = signatures.unflatten(1, (bands, -1))
    match = agree(rows[:, None] == rows).triu(1)  # (N, N)
    return [(i, j) for i, j in match.nonzero().tolist()]


def _finished(signatures, bands):
    pairs = _pairs(signatures, bands)
    return signatures, pairs, [_fraction(signatures, i, j) for i, j in pairs]


def _fraction(signatures, i, j):
    return float((signatures[i] == signatures[j]).float().mean())


def _signature_mistake(name, misconception):
    return mistake(
        MINHASH, name, caught_by="minimum of each hash", loses=4, misconception=misconception
    )


def _band_mistake(name, misconception):
    return mistake(MINHASH, name, caught_by="matching bands", loses=2, misconception=misconception)


def _estimate_mistake(name, misconception):
    return mistake(
        MINHASH, name, caught_by="fraction of agreement", loses=0.5, misconception=misconception
    )


@_signature_mistake(
    "maximum", "You keep the largest hash value of each function, not the smallest."
)
def _(documents, a, b, p, bands):
    hashed = [(a[:, None] * torch.tensor(one) + b[:, None]) % p for one in documents]
    return _finished(torch.stack([one.amax(1) for one in hashed]), bands)


@_signature_mistake("modulus-last", "You take the minimum before the modulus. Reduce first.")
def _(documents, a, b, p, bands):
    hashed = [a[:, None] * torch.tensor(one) + b[:, None] for one in documents]
    return _finished(torch.stack([one.amin(1) % p for one in hashed]), bands)


@_signature_mistake("no-offset", "You left out b[k].")
def _(documents, a, b, p, bands):
    return _finished(_signatures(documents, a, 0 * b, p), bands)


@_signature_mistake("exchanged", "You exchanged a and b: a[k] is the factor.")
def _(documents, a, b, p, bands):
    return _finished(_signatures(documents, b, a, p), bands)


@_signature_mistake("no-modulus", "You left out the modulus p.")
def _(documents, a, b, p, bands):
    hashed = [a[:, None] * torch.tensor(one) + b[:, None] for one in documents]
    return _finished(torch.stack([one.amin(1) for one in hashed]), bands)


@_signature_mistake("minimum-shingle", "You hash the smallest shingle, not all of them.")
def _(documents, a, b, p, bands):
    return _finished(_signatures([[min(one)] for one in documents], a, b, p), bands)


@mistake(
    MINHASH,
    "doubles",
    caught_by="minimum of each hash",
    loses=3.5,
    misconception="You compute the products in floats, which round them. Use int64.",
)
def _(documents, a, b, p, bands):
    rounded = [
        (a.double()[:, None] * torch.tensor(one).double() + b[:, None]) % p for one in documents
    ]
    return _finished(torch.stack([one.amin(1).long() for one in rounded]), bands)


@_signature_mistake("one-function", "You use the first hash function for all K entries.")
def _(documents, a, b, p, bands):
    return _finished(_signatures(documents, a[:1].expand(len(a)), b[:1].expand(len(b)), p), bands)


@_band_mistake("every-band", "You ask for agreement on every band. One band is enough.")
def _(documents, a, b, p, bands):
    signatures = _signatures(documents, a, b, p)
    pairs = _pairs(signatures, bands, lambda same: same.all(3).all(2))
    return signatures, pairs, [_fraction(signatures, i, j) for i, j in pairs]


@_band_mistake("any-entry", "You accept agreement on a single entry. The whole band must agree.")
def _(documents, a, b, p, bands):
    signatures = _signatures(documents, a, b, p)
    pairs = _pairs(signatures, bands, lambda same: same.any(3).any(2))
    return signatures, pairs, [_fraction(signatures, i, j) for i, j in pairs]


@_band_mistake("rows-for-bands", "You cut into bands of `bands` rows, not into `bands` bands.")
def _(documents, a, b, p, bands):
    return _finished(_signatures(documents, a, b, p), len(a) // bands)


@_band_mistake("interleaved", "You take every bands-th entry. The rows of a band are consecutive.")
def _(documents, a, b, p, bands):
    signatures = _signatures(documents, a, b, p)
    pairs = _pairs(signatures.unflatten(1, (-1, bands)).mT.flatten(1), bands)
    return signatures, pairs, [_fraction(signatures, i, j) for i, j in pairs]


@_band_mistake("first-band", "You compare the first band only.")
def _(documents, a, b, p, bands):
    signatures = _signatures(documents, a, b, p)
    pairs = _pairs(signatures, bands, lambda same: same[:, :, 0].all(2))
    return signatures, pairs, [_fraction(signatures, i, j) for i, j in pairs]


@_band_mistake("all-pairs", "You return all pairs. Only pairs that agree on a band are compared.")
def _(documents, a, b, p, bands):
    signatures = _signatures(documents, a, b, p)
    pairs = _pairs(signatures, bands, lambda same: torch.ones_like(same[:, :, 0, 0]))
    return signatures, pairs, [_fraction(signatures, i, j) for i, j in pairs]


@_estimate_mistake("exact", "You return the exact Jaccard similarity. Estimate it from signatures.")
def _(documents, a, b, p, bands):
    signatures = _signatures(documents, a, b, p)
    pairs = _pairs(signatures, bands)
    sets = [set(one) for one in documents]
    return signatures, pairs, [len(sets[i] & sets[j]) / len(sets[i] | sets[j]) for i, j in pairs]


@_estimate_mistake(
    "bands-agreeing", "You return the fraction of bands, not of entries, that agree."
)
def _(documents, a, b, p, bands):
    signatures = _signatures(documents, a, b, p)
    rows, pairs = signatures.unflatten(1, (bands, -1)), _pairs(signatures, bands)
    return signatures, pairs, [float((rows[i] == rows[j]).all(1).float().mean()) for i, j in pairs]


@_estimate_mistake("count", "You return the number of agreeing entries. Divide it by K.")
def _(documents, a, b, p, bands):
    signatures = _signatures(documents, a, b, p)
    pairs = _pairs(signatures, bands)
    return signatures, pairs, [len(a) * _fraction(signatures, i, j) for i, j in pairs]

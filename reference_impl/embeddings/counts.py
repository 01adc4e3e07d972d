"""Vectors by counting: which words stand near which, how much more often than by
chance, in few dimensions.

Church and Hanks 1990 (pointwise mutual information); Levy and Goldberg 2014a, sections
3 and 4 (positive PMI, its truncated SVD, and why this is what skip-gram does in
disguise); Levy, Goldberg and Dagan 2015 (smoothing of contexts, the power of the
singular values).
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import scipy.sparse
import scipy.sparse.linalg
import torch
from jaxtyping import Float
from torch import Tensor

from reference_impl.embeddings.vocabulary import Sentence, flatten


def window_counts_plain(
    sentences: Sequence[Sentence], vocab_size: int, window: int
) -> scipy.sparse.csr_matrix:
    """How often word w has word c at most `window` places away, in the same sentence;
    entry [w, c].
    """
    counts: Counter[tuple[int, int]] = Counter()
    for sentence in sentences:
        for i, word in enumerate(sentence):
            for j in range(max(0, i - window), min(len(sentence), i + window + 1)):
                if j != i:
                    counts[int(word), int(sentence[j])] += 1
    rows, columns = zip(*counts, strict=True) if counts else ((), ())
    values = np.fromiter(counts.values(), dtype=np.float64, count=len(counts))
    return scipy.sparse.csr_matrix(
        (values, (rows, columns)), shape=(vocab_size, vocab_size)
    )


def window_counts(
    sentences: Sequence[Sentence], vocab_size: int, window: int, weighting: str = "flat"
) -> scipy.sparse.csr_matrix:
    """The same counts as `window_counts_plain`, one distance at a time for all
    sentences at once.

    A pair counts once in each direction, so the matrix is symmetric. With
    `weighting="harmonic"` a pair d places apart counts 1/d, as in GloVe (Pennington,
    Socher and Manning 2014, section 4.2).
    """
    if window < 1:
        raise ValueError(
            f"window is {window}: a word needs at least one neighbour on each side"
        )
    if weighting not in ("flat", "harmonic"):
        raise ValueError(f'weighting is {weighting!r}: choose "flat" or "harmonic"')
    ids, sentence_of = flatten(sentences)
    total = scipy.sparse.csr_matrix((vocab_size, vocab_size), dtype=np.float64)
    for distance in range(1, window + 1):
        together = (
            sentence_of[:-distance] == sentence_of[distance:]
        )  # both ends in one sentence
        left, right = ids[:-distance][together], ids[distance:][together]
        weight = np.full(len(left), 1.0 if weighting == "flat" else 1.0 / distance)
        # Building a csr matrix adds up the pairs that occur more than once.
        total += scipy.sparse.csr_matrix((weight, (left, right)), shape=total.shape)
    return (total + total.T).tocsr()


def pmi(counts: Float[Tensor, "W C"]) -> Float[Tensor, "W C"]:
    """Pointwise mutual information: log of P(w, c) / (P(w) P(c)), natural logarithm.

    0 where word and context are independent, positive where they meet more often than
    by chance, and minus infinity where they never meet. The three probabilities share
    one total, the sum of all counts.
    """
    total = counts.sum()
    p_joint = counts / total  # (W, C)
    p_word = counts.sum(1, keepdim=True) / total  # (W, 1)
    p_context = counts.sum(0, keepdim=True) / total  # (1, C)
    ratio = p_joint / (p_word * p_context)
    # A row or column without any count has 0/0 here; its pairs never meet either.
    return torch.where(counts > 0, ratio, torch.zeros_like(ratio)).log()


def ppmi(counts: Float[Tensor, "W C"]) -> Float[Tensor, "W C"]:
    """Positive PMI: what is below zero, and the minus infinity of pairs that never
    meet, becomes 0.
    """
    return pmi(counts).clamp(min=0)


def sparse_ppmi(
    counts: scipy.sparse.csr_matrix, smoothing: float = 1.0, shift: float = 0.0
) -> scipy.sparse.csr_matrix:
    """Positive PMI of a count matrix that is too large to hold densely; pairs that
    never meet stay absent.

    `smoothing` raises the context counts to a power before they become P(c); 0.75 keeps
    rare contexts from winning (Levy, Goldberg and Dagan 2015, section 3.2). `shift` is
    subtracted before clipping: log k stands for k negative samples (Levy and Goldberg
    2014a, section 3.1). With both left alone this equals `ppmi`.
    """
    counts = scipy.sparse.coo_matrix(counts)
    words = np.asarray(counts.sum(1)).ravel()  # (W,)
    contexts = np.asarray(counts.sum(0)).ravel() ** smoothing  # (C,)
    p_context = contexts / contexts.sum()
    # P(w, c) / P(w) is the share of c among the neighbours of w: the total cancels.
    values = np.log(counts.data / (words[counts.row] * p_context[counts.col])) - shift
    kept = values > 0
    return scipy.sparse.csr_matrix(
        (values[kept], (counts.row[kept], counts.col[kept])), shape=counts.shape
    )


def svd_vectors(
    matrix: Float[Tensor, "W C"] | scipy.sparse.spmatrix, dim: int, power: float = 0.5
) -> Float[Tensor, "W D"]:
    """The first `dim` left singular vectors, each times its singular value to the
    `power`.

    Power 1 keeps the distances of the matrix as well as `dim` numbers can; 0.5 and 0
    give all directions a more equal say and judge better on word pairs (Levy, Goldberg
    and Dagan 2015, section 3.3). The sign of a singular vector is free: here the entry
    of largest size in each column is positive.
    """
    if not 1 <= dim <= min(matrix.shape):
        raise ValueError(
            f"dim is {dim}, but a {matrix.shape[0]} x {matrix.shape[1]} matrix has only"
            f" {min(matrix.shape)} singular values"
        )
    if isinstance(matrix, Tensor):
        u, s, _ = torch.linalg.svd(matrix, full_matrices=False)
        u, s = u[:, :dim], s[:dim]
    else:
        u, s = _sparse_svd(matrix, dim)
    largest = u.gather(0, u.abs().argmax(0, keepdim=True))  # (1, D)
    return u * largest.sign() * s**power


def _sparse_svd(
    matrix: scipy.sparse.spmatrix, dim: int
) -> tuple[Float[Tensor, "W D"], Float[Tensor, "D"]]:
    # Lanczos iterations touch the matrix only by products with vectors. The start
    # vector is fixed, and so the result.
    start = np.random.default_rng(0).standard_normal(min(matrix.shape))
    u, s, _ = scipy.sparse.linalg.svds(matrix.astype(np.float64), k=dim, v0=start)
    order = np.argsort(-s)
    return torch.from_numpy(u[:, order].copy()), torch.from_numpy(s[order].copy())

"""Plausible wrong solutions of chapter 2, Unigram."""

import math

import torch

from autograder.checks.mistakes.registry import mistake

CUT = "02.best_cut"


def _best(
    word,
    log_prob,
    start=0.0,
    add=lambda best, score: best + score,
    better=lambda new, old: new > old,
    unknown=None,
    shortest=0,
    starts=lambda end: range(end),
    truthy=False,
):
    """The table with one part of it replaced; None where no cut reaches the end."""
    best, first = {0: start}, {}
    for end in range(1, len(word) + 1):
        for begin in starts(end):
            score = log_prob.get(word[begin:end], unknown if end - begin == 1 else None)
            if begin not in best or score is None or (truthy and not score):
                continue
            new = add(best[begin], score)
            if end not in best or better(new, best[end]):
                best[end], first[end] = new, begin
    pieces, end = [], len(word)
    while end:
        if end not in first:
            return None
        pieces.append(word[first[end] : end])
        end = first[end]
    return pieces[::-1]


@mistake(
    CUT,
    "greedy",
    caught_by="sum",
    loses=5,
    misconception=(
        "You take the longest token that fits, from left to right. Take the "
        "segmentation with the largest sum of logarithms."
    ),
)
def _(word, log_prob):
    pieces, start = [], 0
    while start < len(word):
        end = next(
            (end for end in range(len(word), start, -1) if word[start:end] in log_prob), None
        )
        if end is None:
            return None
        pieces.append(word[start:end])
        start = end
    return pieces


@mistake(
    CUT,
    "likeliest-next",
    caught_by="sum",
    loses=5,
    misconception=(
        "You take the most probable next token greedily. It can lead to an improbable "
        "rest, or to none."
    ),
)
def _(word, log_prob):
    pieces, start = [], 0
    while start < len(word):
        ends = [end for end in range(len(word), start, -1) if word[start:end] in log_prob]
        if not ends:
            return None
        end = max(ends, key=lambda end: log_prob[word[start:end]])
        pieces.append(word[start:end])
        start = end
    return pieces


@mistake(
    CUT,
    "fewest-pieces",
    caught_by="sum",
    loses=4,
    misconception=(
        "You take the segmentation with the fewest tokens. The sum of the logarithms decides."
    ),
)
def _(word, log_prob):
    return _best(word, log_prob, add=lambda best, score: best - 1)


@mistake(
    CUT,
    "product-of-logs",
    caught_by="sum",
    loses=4,
    misconception=(
        "You multiply logarithms. Probabilities are multiplied; their logarithms are added."
    ),
)
def _(word, log_prob):
    return _best(word, log_prob, start=1.0, add=lambda best, score: best * score)


@mistake(
    CUT,
    "smallest-sum",
    caught_by="sum",
    loses=4,
    misconception=(
        "You take the smallest sum. Logarithms are negative, so the largest sum is the "
        "most probable."
    ),
)
def _(word, log_prob):
    return _best(word, log_prob, better=lambda new, old: new < old)


@mistake(
    CUT,
    "back-to-front",
    caught_by="whole",
    loses=6,
    misconception=(
        "You return the tokens in reverse order, as backtracking finds them. Reverse the list."
    ),
)
def _(word, log_prob):
    found = _best(word, log_prob)
    return None if found is None else found[::-1]


@mistake(
    CUT,
    "whole-word-missed",
    caught_by="whole",
    loses=6,
    misconception=(
        "You never try a longer token at the first character: a range starts at 1 or "
        "ends too early."
    ),
)
def _(word, log_prob):
    return _best(word, log_prob, starts=lambda end: range(0 if end == 1 else 1, end))


@mistake(
    CUT,
    "unknown-letters-stay",
    caught_by="none",
    loses=1,
    misconception=(
        "You keep characters without a token as tokens. Without a complete segmentation, "
        "return None."
    ),
)
def _(word, log_prob):
    return _best(word, log_prob, unknown=-1e6)


@mistake(
    CUT,
    "empty-list-for-none",
    caught_by="none",
    loses=1,
    misconception=(
        "You return an empty list if there is no segmentation. Return None; only the "
        "empty word has []."
    ),
)
def _(word, log_prob):
    return _best(word, log_prob) or []


@mistake(
    CUT,
    "none-for-the-empty-word",
    caught_by="whole",
    loses=2,
    misconception=(
        "You return no segmentation for the empty word. It has one without tokens: the empty list."
    ),
)
def _(word, log_prob):
    return _best(word, log_prob) or None


@mistake(
    CUT,
    "shortest-last-piece",
    caught_by="ties",
    loses=1,
    misconception=(
        "You keep the last of equally probable segmentations, as >= does. Its last "
        "token is the shortest."
    ),
)
def _(word, log_prob):
    return _best(word, log_prob, better=lambda new, old: new >= old)


@mistake(
    CUT,
    "longest-first-piece",
    caught_by="ties",
    loses=1,
    misconception=("You break ties by the longest first token. The last token decides."),
)
def _(word, log_prob):
    turned = _best(word[::-1], {piece[::-1]: score for piece, score in log_prob.items()})
    return None if turned is None else [piece[::-1] for piece in turned[::-1]]


@mistake(
    CUT,
    "probabilities",
    caught_by="long",
    loses=1,
    misconception=(
        "You multiply probabilities, and for long words the product underflows to 0. "
        "Add logarithms."
    ),
)
def _(word, log_prob):
    best, first = [1.0] + [0.0] * len(word), [None] * (len(word) + 1)
    for end in range(1, len(word) + 1):
        for start in range(end):
            new = (
                best[start] * math.exp(log_prob[word[start:end]])
                if word[start:end] in log_prob
                else 0.0
            )
            if new > best[end] * (1 + 1e-12):
                best[end], first[end] = new, start
    pieces, end = [], len(word)
    while end:
        if first[end] is None:
            return None
        pieces.append(word[first[end] : end])
        end = first[end]
    return pieces[::-1]


@mistake(
    CUT,
    "zero-is-nothing",
    caught_by="long",
    loses=1,
    misconception=(
        "You treat a logarithm of 0 as missing, as `if score` does. It means probability 1."
    ),
)
def _(word, log_prob):
    return _best(word, log_prob, truthy=True)


COUNT = "02.expected_counts"


def _log_sum(values):
    top = max(values, default=-math.inf)
    return (
        top if top == -math.inf else top + math.log(sum(math.exp(value - top) for value in values))
    )


def _passes(word, log_prob, total=_log_sum):
    """The pieces with their places, and the summed logarithms before and after each place."""
    n = len(word)
    edges = [
        (a, b, log_prob[word[a:b]])
        for a in range(n)
        for b in range(a + 1, n + 1)
        if word[a:b] in log_prob
    ]
    before, after = [0.0] + [-math.inf] * n, [-math.inf] * n + [0.0]
    for place in range(1, n + 1):
        before[place] = total([before[a] + score for a, b, score in edges if b == place])
    for place in range(n - 1, -1, -1):
        after[place] = total([score + after[b] for a, b, score in edges if a == place])
    return edges, before, after


def _expected(word, log_prob, share, total=_log_sum, names=None):
    """Expected counts with one part replaced; `share(before, score, after, whole)` is the logarithm
    of an edge's share.
    """
    edges, before, after = _passes(word, log_prob, total)
    found = dict.fromkeys(log_prob, 0.0)
    for a, b, score in edges if before[-1] > -math.inf else []:
        found[word[a:b]] += math.exp(share(before[a], score, after[b], before[-1]))
    return torch.tensor([found[piece] for piece in names or log_prob])


def _right(before, score, after, whole):
    return before + score + after - whole


@mistake(
    COUNT,
    "best-cut-only",
    caught_by="shares",
    loses=3.5,
    misconception=(
        "You count only the best segmentation. Every segmentation counts, weighted by "
        "its probability."
    ),
)
def _(word, log_prob):
    cut = _best(word, log_prob) or []
    return torch.tensor([float(cut.count(piece)) for piece in log_prob])


@mistake(
    COUNT,
    "no-division",
    caught_by="one-cut",
    loses=5,
    misconception=("You do not normalize: divide by the summed probability of all segmentations."),
)
def _(word, log_prob):
    return _expected(word, log_prob, lambda before, score, after, whole: before + score + after)


@mistake(
    COUNT,
    "all-cuts-alike",
    caught_by="shares",
    loses=3.5,
    misconception="You weight all segmentations equally. Weight each by its probability.",
)
def _(word, log_prob):
    return _expected(word, dict.fromkeys(log_prob, 0.0), _right)


@mistake(
    COUNT,
    "sums-to-one",
    caught_by="one-cut",
    loses=5,
    misconception=(
        "You divide the counts by their sum. That is the M-step; an expected count may exceed 1."
    ),
)
def _(word, log_prob):
    found = _expected(word, log_prob, _right)
    return found / found.sum() if found.sum() > 0 else found


@mistake(
    COUNT,
    "nothing-after",
    caught_by="one-cut",
    loses=5,
    misconception=(
        "You use the forward sums without the backward sums. A token that leads nowhere "
        "must not count."
    ),
)
def _(word, log_prob):
    edges, before, _ = _passes(word, log_prob)
    found = dict.fromkeys(log_prob, 0.0)
    for a, b, score in edges:
        found[word[a:b]] += (
            math.exp(min(before[a] + score - before[-1], 30.0)) if before[-1] > -math.inf else 0.0
        )
    return torch.tensor([found[piece] for piece in log_prob])


@mistake(
    COUNT,
    "once-a-cut",
    caught_by="shared",
    loses=2,
    misconception="You count a token once per segmentation. Every occurrence counts.",
)
def _(word, log_prob):
    found = _expected(word, log_prob, _right)
    return found.clamp(max=1)


@mistake(
    COUNT,
    "alphabetical",
    caught_by="one-cut",
    loses=5,
    misconception=(
        "You return the counts in alphabetical order of the tokens. Use the order of log_prob."
    ),
)
def _(word, log_prob):
    return _expected(word, log_prob, _right, names=sorted(log_prob))


@mistake(
    COUNT,
    "not-logarithms",
    caught_by="shares",
    loses=3.5,
    misconception=("You treat log_prob as probabilities. They are logarithms: apply exp."),
)
def _(word, log_prob):
    return _expected(
        word, {piece: math.log(abs(score) + 1e-9) for piece, score in log_prob.items()}, _right
    )


@mistake(
    COUNT,
    "largest-for-sum",
    caught_by="shares",
    loses=3.5,
    misconception=("You take the maximum over the ways to a position. Sum them with log-sum-exp."),
)
def _(word, log_prob):
    return _expected(word, log_prob, _right, total=lambda values: max(values, default=-math.inf))


@mistake(
    COUNT,
    "underflow",
    caught_by="long",
    loses=1,
    misconception=(
        "Your probabilities underflow for long words. Stay in logarithms, and subtract the largest"
        " before exp."
    ),
)
def _(word, log_prob):
    n = len(word)
    edges = [
        (a, b, math.exp(log_prob[word[a:b]]))
        for a in range(n)
        for b in range(a + 1, n + 1)
        if word[a:b] in log_prob
    ]
    before, after = [1.0] + [0.0] * n, [0.0] * n + [1.0]
    for a, b, p in sorted(edges, key=lambda edge: edge[1]):
        before[b] += before[a] * p
    for a, b, p in sorted(edges, reverse=True):
        after[a] += p * after[b]
    found = dict.fromkeys(log_prob, 0.0)
    for a, b, p in edges:
        found[word[a:b]] += before[a] * p * after[b] / before[n] if before[n] else 0.0
    return torch.tensor([found[piece] for piece in log_prob])


@mistake(
    COUNT,
    "nan-without-a-cut",
    caught_by="nothing",
    loses=0.5,
    misconception="You divide 0 by 0 for a word without a segmentation. Return zeros.",
)
def _(word, log_prob):
    edges, before, after = _passes(word, log_prob)
    found = dict.fromkeys(log_prob, 0.0)
    for a, b, score in edges:
        found[word[a:b]] += float(torch.tensor(before[a] + score + after[b] - before[-1]).exp())
    return torch.tensor([found[piece] for piece in log_prob])

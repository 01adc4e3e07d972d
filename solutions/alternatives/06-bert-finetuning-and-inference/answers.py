"""Differently written correct solutions of chapter 6, tags and answers."""

import re
from collections import Counter, namedtuple
from itertools import groupby

import numpy as np
import torch

from autograder.checks.mistakes.registry import alternative


@alternative("06.align_tags", "dictionary")
def _(word_ids, tags):
    labels, seen = [], {None}
    for word in word_ids:
        labels.append(-100 if word in seen else tags[word])
        seen.add(word)
    return labels


@alternative("06.align_tags", "neighbours")
def _(word_ids, tags):
    return [
        tags[word] if word is not None and word != before else -100
        for before, word in zip([None, *word_ids], word_ids)
    ]


@alternative("06.align_tags", "groups")
def _(word_ids, tags):
    labels = []
    for word, group in groupby(word_ids):
        number = len(list(group))
        labels += [-100] * number if word is None else [tags[word]] + [-100] * (number - 1)
    return labels


Entity = namedtuple("Entity", "kind start end")


@alternative("06.entity_f1", "backwards", replaces="entities")
def _(tags):
    found, end = [], 0
    for place in reversed(range(len(tags))):
        if tags[place] == "O":
            continue
        if place + 1 == len(tags) or tags[place + 1] != "I" + tags[place][1:]:
            end = place + 1
        if tags[place].startswith("B-") or place == 0 or tags[place - 1][2:] != tags[place][2:]:
            found.insert(0, Entity(tags[place].split("-", 1)[1], place, end))
    return found


@alternative("06.entity_f1", "open-entity", replaces="entities")
def _(tags):
    found = []
    for place, tag in enumerate(tags):
        mark, _, kind = tag.partition("-")
        if mark == "O":
            continue
        if mark == "I" and found and found[-1][2] == place and found[-1][0] == kind:
            found[-1] = (kind, found[-1][1], place + 1)
        else:
            found.append((kind, place, place + 1))
    return found


def _spans(tags):
    found = []
    for place, tag in enumerate(tags):
        mark, _, kind = tag.partition("-")
        if mark == "I" and found and found[-1][1:] == [kind, place]:
            found[-1][2] += 1
        elif mark != "O":
            found.append([place, kind, place + 1])
    return found


@alternative("06.entity_f1", "three-counts")
def _(said, true):
    right = found = real = 0
    for one, other in zip(said, true):
        one, other = _spans(one), _spans(other)
        right += sum(span in other for span in one)
        found, real = found + len(one), real + len(other)
    precision, recall = right / max(found, 1), right / max(real, 1)
    return {
        "f1": 2 * precision * recall / (precision + recall) if right else 0.0,
        "recall": recall,
        "precision": precision,
    }


@alternative("06.entity_f1", "counters")
def _(said, true):
    one, other = (
        Counter(
            (number, *map(str, span))
            for number, tags in enumerate(sentences)
            for span in _spans(tags)
        )
        for sentences in (said, true)
    )
    right = (one & other).total()
    return dict(
        precision=right / one.total() if one else 0.0,
        recall=right / other.total() if other else 0.0,
        f1=2 * right / (one.total() + other.total()) if one + other else 0.0,
    )


@alternative("06.best_span", "loops")
def _(start, end, allowed, max_tokens):
    start, end, allowed = start.tolist(), end.tolist(), allowed.tolist()
    best, found = float("-inf"), None
    for i in range(len(start)):
        for j in range(i, min(i + max_tokens, len(end))):
            if allowed[i] and allowed[j] and start[i] + end[j] > best:
                best, found = start[i] + end[j], (i, j)
    return found


@alternative("06.best_span", "numpy")
def _(start, end, allowed, max_tokens):
    starts, ends = (
        np.where(allowed.numpy(), one.double().numpy(), -np.inf) for one in (start, end)
    )
    distance = np.arange(len(ends))[None] - np.arange(len(starts))[:, None]
    sums = np.where((distance >= 0) & (distance < max_tokens), np.add.outer(starts, ends), -np.inf)
    i, j = np.unravel_index(sums.argmax(), sums.shape)
    return int(i), int(j)


@alternative("06.best_span", "sorted-candidates")
def _(start, end, allowed, max_tokens):
    places = torch.arange(len(start))[allowed].tolist()
    candidates = (
        [
            (-(start[i] + end[j]).item(), i, j)
            for i in places
            for j in places
            if 0 <= j - i <= max_tokens - 1
        ]
        if len(places) < 40
        else None
    )
    if candidates is None:
        sums = (start.unsqueeze(1) + end.unsqueeze(0)).double()
        gaps = torch.arange(len(end)).unsqueeze(0) - torch.arange(len(start)).unsqueeze(1)
        sums[
            (gaps < 0) | (gaps >= max_tokens) | ~allowed.unsqueeze(0) | ~allowed.unsqueeze(1)
        ] = -1e9
        first = (sums == sums.max()).nonzero()[0]
        return first[0].item(), first[1].item()
    return min(candidates)[1:]


@alternative("06.best_span", "earliest-end-first")
def _(start, end, allowed, max_tokens):
    """Of equal sums the first end and its first start: where two spans cross, the shorter ones
    between them are equal, too.
    """
    best, found = None, None
    for j in range(len(end)):
        for i in range(max(0, j - max_tokens + 1), j + 1):
            if bool(allowed[i]) and bool(allowed[j]):
                score = float(start[i]) + float(end[j])
                if best is None or score > best:
                    best, found = score, (i, j)
    return found


@alternative("06.squad_scores", "regular-expressions")
def _(answer, truths):
    def plain(text):
        text = re.sub(r"[^a-z0-9\s]", "", text.lower())
        return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())

    def both(said, true):
        one, other = plain(said).split(), plain(true).split()
        shared = sum(min(one.count(word), other.count(word)) for word in {*one})
        if not one or not other:
            return float(one == other), float(one == other)
        precision, recall = shared / len(one), shared / len(other)
        return float(one == other), 2 * precision * recall / (precision + recall) if shared else 0.0

    several = [both(answer, truth) for truth in (truths if truths else [""])]
    return max(one for one, _ in several), max(one for _, one in several)


@alternative("06.squad_scores", "letters-and-sorting")
def _(answer, truths):
    def words(text):
        kept = [one for one in text if one.isalnum() or one.isspace()]
        return [word for word in "".join(kept).lower().split() if word not in {"a", "an", "the"}]

    said, best = words(answer), [0.0, 0.0]
    for true in map(words, truths or ("",)):
        i, j, shared, one, other = 0, 0, 0, sorted(said), sorted(true)
        while i < len(one) and j < len(other):
            if one[i] == other[j]:
                i, j, shared = i + 1, j + 1, shared + 1
            elif one[i] < other[j]:
                i += 1
            else:
                j += 1
        total = len(one) + len(other)
        best = [
            max(best[0], float(said == true)),
            max(best[1], 2 * shared / total if total else 1.0),
        ]
    return tuple(best)

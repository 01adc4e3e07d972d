"""Differently written correct solutions of chapter 2, WordPiece."""

from fractions import Fraction
from itertools import pairwise

from autograder.checks.mistakes.registry import alternative


@alternative("02.wordpiece", "by-prefixes")
def _(word, vocabulary):
    if len(word) > 100:
        return ["[UNK]"]
    rest, pieces, mark = word, [], ""
    while rest:
        fitting = [
            piece
            for piece in vocabulary
            if piece.startswith(mark)
            and rest.startswith(piece[len(mark) :])
            and len(piece) > len(mark)
            and (mark or not piece.startswith("##"))
        ]
        if not fitting:
            return ["[UNK]"]
        pieces.append(max(fitting, key=len))
        rest, mark = rest[len(pieces[-1]) - len(mark) :], "##"
    return pieces


@alternative("02.wordpiece", "recursive")
def _(word, vocabulary):
    def cut(rest, mark):
        for size in range(len(rest), 0, -1):
            if mark + rest[:size] in vocabulary:
                return [mark + rest[:size], *cut(rest[size:], "##")]
        return [] if not rest else [None]

    pieces = cut(word, "") if len(word) <= 100 else [None]
    return ["[UNK]"] if None in pieces else pieces


@alternative("02.first_merge", "fractions")
def _(words, counts):
    total, scores = {}, {}
    rows = [
        [letter if not place else f"##{letter}" for place, letter in enumerate(word)]
        for word in words
    ]
    for row, count in zip(rows, counts):
        for symbol in row:
            total[symbol] = total.get(symbol, 0) + count
    for left, right in {pair for row in rows for pair in pairwise(row)}:
        number = sum(
            count * list(pairwise(row)).count((left, right)) for row, count in zip(rows, counts)
        )
        scores[left + right[2:]] = Fraction(number, total[left] * total[right])
    if not scores:
        return {}
    top = max(scores.values())
    return {min(piece for piece, score in scores.items() if score == top): float(top)}


@alternative("02.first_merge", "best-so-far")
def _(words, counts):
    firsts, inside = {}, {}
    for word, count in zip(words, counts):
        firsts[word[0]] = firsts.get(word[0], 0) + count
        for letter in word[1:]:
            inside[letter] = inside.get(letter, 0) + count
    found = {}
    for word, count in zip(words, counts):
        for i in range(len(word) - 1):
            piece = ("##" if i else "") + word[i : i + 2]
            found[piece] = found.get(piece, 0) + count
    best = None
    for piece in sorted(found):
        left = inside[piece[-2]] if piece.startswith("##") else firsts[piece[0]]
        score = found[piece] / (left * inside[piece[-1]])
        if best is None or score > best[1]:
            best = piece, score
    return dict([best] if best else [])

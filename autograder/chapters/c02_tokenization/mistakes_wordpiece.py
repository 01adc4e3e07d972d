"""Plausible wrong solutions of chapter 2, WordPiece."""

from collections import Counter

from autograder.checks.mistakes.registry import mistake

PIECE = "02.wordpiece"
UNKNOWN = ["[UNK]"]


def _greedy(
    word,
    vocabulary,
    limit=100,
    ends=lambda word, start: range(len(word), start, -1),
    mark=lambda start: "##" if start else "",
    failed=lambda pieces, word, start: ([*UNKNOWN], None),
):
    """Cutting from the left with one part of it replaced; `failed` gives the pieces and where to go
    on, None for nowhere.
    """
    known, pieces, start = set(vocabulary), [], 0
    if len(word) > limit:
        return [*UNKNOWN]
    while start < len(word):
        end = next(
            (end for end in ends(word, start) if mark(start) + word[start:end] in known), None
        )
        if end is None:
            pieces, end = failed(pieces, word, start)
            if end is None:
                return pieces
        else:
            pieces.append(mark(start) + word[start:end])
        start = end
    return pieces


@mistake(
    PIECE,
    "shortest",
    caught_by="longest",
    loses=2.5,
    misconception="You take the shortest token that fits. Take the longest.",
)
def _(word, vocabulary):
    return _greedy(word, vocabulary, ends=lambda word, start: range(start + 1, len(word) + 1))


@mistake(
    PIECE,
    "without-marks",
    caught_by="pieces",
    loses=5,
    misconception=("You look up continuing tokens without ##. Only the first token has no mark."),
)
def _(word, vocabulary):
    return _greedy(word, vocabulary, mark=lambda start: "")


@mistake(
    PIECE,
    "marks-taken-off",
    caught_by="pieces",
    loses=5,
    misconception=("You return continuing tokens without ##. Write them as in the vocabulary."),
)
def _(word, vocabulary):
    return [piece.removeprefix("##") for piece in _greedy(word, vocabulary)]


@mistake(
    PIECE,
    "marked-from-the-start",
    caught_by="pieces",
    loses=5,
    misconception=(
        "You put ## in front of the first token. Only tokens that continue a word have it."
    ),
)
def _(word, vocabulary):
    return _greedy(word, vocabulary, mark=lambda start: "##")


@mistake(
    PIECE,
    "either-form",
    caught_by="unknown",
    loses=1,
    misconception=(
        "You accept a token with or without ## at any position. Only the first has none."
    ),
)
def _(word, vocabulary):
    known, pieces, start = set(vocabulary), [], 0
    if len(word) > 100:
        return [*UNKNOWN]
    while start < len(word):
        marks = ("##", "") if start else ("", "##")
        found = next(
            (
                mark + word[start:end]
                for end in range(len(word), start, -1)
                for mark in marks
                if mark + word[start:end] in known
            ),
            None,
        )
        if found is None:
            return [*UNKNOWN]
        pieces.append(found)
        start += len(found.removeprefix("##"))
    return pieces


@mistake(
    PIECE,
    "unknown-by-letter",
    caught_by="unknown",
    loses=1,
    misconception="You write [UNK] for one character and continue. The whole word is [UNK].",
)
def _(word, vocabulary):
    return _greedy(
        word, vocabulary, failed=lambda pieces, word, start: ([*pieces, "[UNK]"], start + 1)
    )


@mistake(
    PIECE,
    "unknown-at-the-end",
    caught_by="unknown",
    loses=1,
    misconception=(
        "You keep the tokens found so far and write [UNK] for the rest. The whole word is [UNK]."
    ),
)
def _(word, vocabulary):
    return _greedy(word, vocabulary, failed=lambda pieces, word, start: ([*pieces, "[UNK]"], None))


@mistake(
    PIECE,
    "rest-left-out",
    caught_by="unknown",
    loses=1,
    misconception="You skip characters that no token fits. The whole word is [UNK].",
)
def _(word, vocabulary):
    return _greedy(word, vocabulary, failed=lambda pieces, word, start: (pieces, start + 1))


@mistake(
    PIECE,
    "takes-back",
    caught_by="unknown",
    loses=1,
    misconception=(
        "You backtrack when the rest cannot be split. WordPiece is greedy: the word is [UNK]."
    ),
)
def _(word, vocabulary):
    known = set(vocabulary)

    def cut(start):
        if start == len(word):
            return []
        for end in range(len(word), start, -1):
            piece = ("##" if start else "") + word[start:end]
            if piece in known and (rest := cut(end)) is not None:
                return [piece, *rest]
        return None

    if len(word) > 100:
        return [*UNKNOWN]
    found = cut(0)
    return [*UNKNOWN] if found is None else found


@mistake(
    PIECE,
    "no-limit",
    caught_by="limit",
    loses=1,
    misconception="You split words of more than 100 characters. They are [UNK].",
)
def _(word, vocabulary):
    return _greedy(word, vocabulary, limit=10**6)


@mistake(
    PIECE,
    "whole-word-first",
    caught_by="limit",
    loses=1,
    misconception=(
        "You look up the whole word before you count its characters. Beyond 100 it is [UNK] even"
        " if it is a token."
    ),
)
def _(word, vocabulary):
    return [word] if word in vocabulary else _greedy(word, vocabulary)


@mistake(
    PIECE,
    "limit-too-low",
    caught_by="limit",
    loses=1,
    misconception="You treat a word of exactly 100 characters as too long. Only more than 100 are.",
)
def _(word, vocabulary):
    return _greedy(word, vocabulary, limit=99)


@mistake(
    PIECE,
    "limit-in-bytes",
    caught_by="limit",
    loses=1,
    misconception="You count bytes. The limit is 100 characters.",
)
def _(word, vocabulary):
    return [*UNKNOWN] if len(word.encode()) > 100 else _greedy(word, vocabulary, limit=10**6)


@mistake(
    PIECE,
    "first-in-the-list",
    caught_by="longest",
    loses=2.5,
    misconception=(
        "You take the first token of the vocabulary that fits. Take the longest; the "
        "order does not matter."
    ),
)
def _(word, vocabulary):
    def ends(word, start):
        mark = "##" if start else ""
        fitting = [
            piece
            for piece in vocabulary
            if piece.startswith("##") == bool(start) and word.startswith(piece[len(mark) :], start)
        ]
        return [start + len(piece) - len(mark) for piece in fitting]

    return _greedy(word, vocabulary, ends=ends)


MERGE = "02.first_merge"


def _predict(
    words,
    counts,
    score,
    rows=lambda word: [word[0], *("##" + letter for letter in word[1:])],
    order=lambda piece: piece,
    count_pairs=lambda row: list(zip(row, row[1:])),
):
    """The prediction with one part of it replaced; `score(ab, a, b)` takes three counts."""
    single, pairs = Counter(), Counter()
    for word, count in zip(words, counts):
        row = rows(word)
        for symbol in row:
            single[symbol] += count
        for pair in count_pairs(row):
            pairs[pair] += count
    scores = {
        left + right.removeprefix("##"): float(score(number, single[left], single[right]))
        for (left, right), number in pairs.items()
    }
    best = sorted(scores, key=lambda piece: (-scores[piece], order(piece)))[:1]
    return {piece: scores[piece] for piece in best}


def _by_counts(words, counts, symbols):
    """The prediction where `symbols(row)` says what counts as a left and as a right part."""
    left, right, pairs = Counter(), Counter(), Counter()
    for word, count in zip(words, counts):
        row = [word[0], *("##" + letter for letter in word[1:])]
        for found, parts in zip((left, right, pairs), (*symbols(row), zip(row, row[1:]))):
            for part in parts:
                found[part] += count
    scores = {a + b[2:]: number / (left[a] * right[b]) for (a, b), number in pairs.items()}
    best = sorted(scores, key=lambda piece: (-scores[piece], piece))[:1]
    return {piece: scores[piece] for piece in best}


@mistake(
    MERGE,
    "bpes-count",
    caught_by="score",
    loses=4,
    misconception=(
        "You take the most frequent pair, which is BPE's rule. WordPiece divides by the "
        "counts of both parts."
    ),
)
def _(words, counts):
    return _predict(words, counts, lambda ab, a, b: ab)


@mistake(
    MERGE,
    "left-part-only",
    caught_by="score",
    loses=4,
    misconception="You divide by the count of the left part only. Both parts count.",
)
def _(words, counts):
    return _predict(words, counts, lambda ab, a, b: ab / a)


@mistake(
    MERGE,
    "right-part-only",
    caught_by="score",
    loses=4,
    misconception="You divide by the count of the right part only. Both parts count.",
)
def _(words, counts):
    return _predict(words, counts, lambda ab, a, b: ab / b)


@mistake(
    MERGE,
    "frequency-times-likelihood",
    caught_by="score",
    loses=4,
    misconception=(
        "You multiply the score by the frequency of the pair. The score is the ratio alone."
    ),
)
def _(words, counts):
    return _predict(words, counts, lambda ab, a, b: ab * ab / (a * b))


@mistake(
    MERGE,
    "sum-of-counts",
    caught_by="score",
    loses=4,
    misconception="You divide by the sum of the two counts. The score divides by their product.",
)
def _(words, counts):
    return _predict(words, counts, lambda ab, a, b: ab / (a + b))


@mistake(
    MERGE,
    "counts-ignored",
    caught_by="weights",
    loses=3,
    misconception=("You count each word once. Pairs and symbols count as often as their word."),
)
def _(words, counts):
    return _predict(words, [1] * len(words), lambda ab, a, b: ab / (a * b))


@mistake(
    MERGE,
    "one-character-for-both",
    caught_by="marks",
    loses=2,
    misconception=("You count n and ##n together. They are different symbols."),
)
def _(words, counts):
    single, pairs = Counter(), Counter()
    for word, count in zip(words, counts):
        row = [word[0], *("##" + letter for letter in word[1:])]
        for letter in word:
            single[letter] += count
        for pair in zip(row, row[1:]):
            pairs[pair] += count
    scores = {
        left + right[2:]: number / (single[left[-1]] * single[right[-1]])
        for (left, right), number in pairs.items()
    }
    best = sorted(scores, key=lambda piece: (-scores[piece], piece))[:1]
    return {piece: scores[piece] for piece in best}


@mistake(
    MERGE,
    "no-marks",
    caught_by="marks",
    loses=2,
    misconception="You write no marks. A symbol that does not begin a word has ##.",
)
def _(words, counts):
    return _predict(words, counts, lambda ab, a, b: ab / (a * b), rows=list)


@mistake(
    MERGE,
    "two-marks",
    caught_by="score",
    loses=4,
    misconception=(
        "You keep the mark of the second part. A merged token has only the mark of its first part."
    ),
)
def _(words, counts):
    single, pairs = Counter(), Counter()
    for word, count in zip(words, counts):
        row = [word[0], *("##" + letter for letter in word[1:])]
        for symbol in row:
            single[symbol] += count
        for pair in zip(row, row[1:]):
            pairs[pair] += count
    scores = {
        left + right: number / (single[left] * single[right])
        for (left, right), number in pairs.items()
    }
    best = sorted(scores, key=lambda piece: (-scores[piece], piece))[:1]
    return {piece: scores[piece] for piece in best}


@mistake(
    MERGE,
    "marked-from-the-start",
    caught_by="score",
    loses=4,
    misconception="You mark the first character of a word. Only the others have ##.",
)
def _(words, counts):
    return _predict(
        words,
        counts,
        lambda ab, a, b: ab / (a * b),
        rows=lambda word: ["##" + letter for letter in word],
    )


@mistake(
    MERGE,
    "no-pairs-is-an-error",
    caught_by="borders",
    loses=1,
    misconception="You take the largest of no scores. Without a pair, return an empty dictionary.",
)
def _(words, counts):
    found = _predict(words, counts, lambda ab, a, b: ab / (a * b))
    best = min(found, key=lambda piece: (-found[piece], piece))
    return {best: found[best]}


@mistake(
    MERGE,
    "symbols-once-a-word",
    caught_by="score",
    loses=3,
    misconception="You count a symbol once per word. Every occurrence in the word counts.",
)
def _(words, counts):
    return _by_counts(words, counts, lambda row: (set(row), set(row)))


@mistake(
    MERGE,
    "symbols-of-pairs",
    caught_by="weights",
    loses=3,
    misconception="You count a symbol only where it is part of a pair. Count every occurrence.",
)
def _(words, counts):
    return _by_counts(words, counts, lambda row: (row[:-1], row[1:]))


@mistake(
    MERGE,
    "double-letters-once",
    caught_by="borders",
    loses=1,
    misconception="You count a pair once per word. Every occurrence in the word counts.",
)
def _(words, counts):
    return _predict(
        words,
        counts,
        lambda ab, a, b: ab / (a * b),
        count_pairs=lambda row: list(dict.fromkeys(zip(row, row[1:]))),
    )


@mistake(
    MERGE,
    "short-words-left-out",
    caught_by="weights",
    loses=2,
    misconception=("You skip words of one character. They have no pair, but their symbol counts."),
)
def _(words, counts):
    kept = [(word, count) for word, count in zip(words, counts) if len(word) > 1]
    return _predict(
        [word for word, _ in kept], [count for _, count in kept], lambda ab, a, b: ab / (a * b)
    )


@mistake(
    MERGE,
    "first-seen-wins",
    caught_by="borders",
    loses=1,
    misconception=(
        "You break ties by order of appearance. Take the smallest token in Python's order."
    ),
)
def _(words, counts):
    return _predict(words, counts, lambda ab, a, b: ab / (a * b), order=lambda piece: 0)


@mistake(
    MERGE,
    "marks-come-last",
    caught_by="borders",
    loses=1,
    misconception=(
        "You break ties without the marks. Compare the texts with ##: # comes before every letter."
    ),
)
def _(words, counts):
    return _predict(
        words,
        counts,
        lambda ab, a, b: ab / (a * b),
        order=lambda piece: (piece.removeprefix("##"), piece),
    )

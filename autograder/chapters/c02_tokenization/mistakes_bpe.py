"""Plausible wrong solutions of chapter 2, byte-pair encoding."""

from collections import Counter

from autograder.checks.mistakes.registry import mistake

TRAIN = "02.train_bpe"


def _counted(rows, counts):
    """How often each pair stands in rows of pieces."""
    pairs = Counter()
    for row, count in zip(rows, counts):
        for pair in zip(row, row[1:]):
            pairs[pair] += count
    return pairs


def _join(row, pair, places=10**6):
    """A row with a pair joined from the left, in so many places."""
    done, i = [], 0
    while i < len(row):
        here = places and tuple(row[i : i + 2]) == pair
        done.append("".join(row[i : i + 2]) if here else row[i])
        i, places = i + (2 if here else 1), places - bool(here)
    return done


def _learn(words, counts, number, count=_counted, join=_join, order=lambda pair: pair, least=1):
    """Training with one part of it replaced."""
    rows, merges = [list(word) for word in words], []
    while len(merges) < number:
        pairs = count(rows, counts)
        best = min(pairs, key=lambda pair: (-pairs[pair], order(pair)), default=None)
        if best is None or pairs[best] < least:
            break
        merges.append(best)
        rows = [join(row, best) for row in rows]
    return merges


@mistake(
    TRAIN,
    "counts-ignored",
    caught_by="counts",
    loses=4.5,
    misconception="You count each word once. A pair counts as often as the word that it stands in.",
)
def _(words, counts, num_merges):
    return _learn(words, [1] * len(words), num_merges)


@mistake(
    TRAIN,
    "no-recount",
    caught_by="recount",
    loses=3,
    misconception=(
        "You count once and take the pairs in the order of those counts. After each merge they have"
        " to be counted again."
    ),
)
def _(words, counts, num_merges):
    pairs = _counted([list(word) for word in words], counts)
    return sorted(pairs, key=lambda pair: (-pairs[pair], pair))[:num_merges]


@mistake(
    TRAIN,
    "across-words",
    caught_by="counts",
    loses=7,
    misconception="You count pairs across the end of a word. Words stand for themselves.",
)
def _(words, counts, num_merges):
    return _learn(
        ["".join(word * min(count, 40) for word, count in zip(words, counts))], [1], num_merges
    )  # all copies would take minutes


@mistake(
    TRAIN,
    "once-a-word",
    caught_by="counts",
    loses=2.5,
    misconception="You count a pair once in each word. It counts as often as it stands there.",
)
def _(words, counts, num_merges):
    return _learn(words, counts, num_merges, count=lambda rows, counts: _counted_once(rows, counts))


def _counted_once(rows, counts):
    pairs = Counter()
    for row, count in zip(rows, counts):
        for pair in set(zip(row, row[1:])):
            pairs[pair] += count
    return pairs


@mistake(
    TRAIN,
    "without-overlap",
    caught_by="overlap",
    loses=1,
    misconception=(
        "You count only the places that could be joined together. aaa holds (a, a) twice."
    ),
)
def _(words, counts, num_merges):
    def apart(rows, counts):
        pairs = _counted(rows, counts)
        for pair in pairs:
            if pair[0] == pair[1]:
                pairs[pair] = sum(
                    (len(row) - len(_join(row, pair))) * count for row, count in zip(rows, counts)
                )
        return pairs

    return _learn(words, counts, num_merges, count=apart)


@mistake(
    TRAIN,
    "joined-twice",
    caught_by="overlap",
    loses=1,
    misconception="You join a piece that was joined in the same round: aaa becomes aaa, not aa a.",
)
def _(words, counts, num_merges):
    def greedy(row, pair):
        done, i = [], 0
        while i < len(row):
            piece = row[i]
            while i + 1 < len(row) and (row[i], row[i + 1]) == pair:
                piece, i = piece + row[i + 1], i + 1
            done.append(piece)
            i += 1
        return done

    return _learn(words, counts, num_merges, join=greedy)


@mistake(
    TRAIN,
    "first-place-only",
    caught_by="recount",
    loses=3,
    misconception="You join the pair once in each word. It is joined in all its places.",
)
def _(words, counts, num_merges):
    return _learn(words, counts, num_merges, join=lambda row, pair: _join(row, pair, 1))


@mistake(
    TRAIN,
    "from-the-right",
    caught_by="overlap",
    loses=1,
    misconception="You join from right to left: aaa becomes a aa. It becomes aa a.",
)
def _(words, counts, num_merges):
    def reversed_join(row, pair):
        return [
            piece[::-1]
            for piece in _join([piece[::-1] for piece in row[::-1]], (pair[1][::-1], pair[0][::-1]))
        ][::-1]

    return _learn(words, counts, num_merges, join=reversed_join)


@mistake(
    TRAIN,
    "first-seen-wins",
    caught_by="ties",
    loses=1.5,
    misconception=(
        "Of equally frequent pairs you take the one that was met first. The first in Python's order"
        " was asked for."
    ),
)
def _(words, counts, num_merges):
    return _learn(words, counts, num_merges, order=lambda pair: 0)


@mistake(
    TRAIN,
    "largest-wins",
    caught_by="ties",
    loses=1.5,
    misconception=(
        "Of equally frequent pairs you take the last in order, as max of (count, pair) does. The"
        " first was asked for."
    ),
)
def _(words, counts, num_merges):
    return _learn(
        words,
        counts,
        num_merges,
        order=lambda pair: tuple(tuple(-ord(letter) for letter in part) + (1,) for part in pair),
    )


@mistake(
    TRAIN,
    "joined-text-decides",
    caught_by="ties",
    loses=1.5,
    misconception=(
        "Of equally frequent pairs you compare the joined texts. The left parts are compared first,"
        " then the right ones."
    ),
)
def _(words, counts, num_merges):
    return _learn(words, counts, num_merges, order=lambda pair: ("".join(pair), pair))


@mistake(
    TRAIN,
    "twice-at-least",
    caught_by="end",
    loses=1,
    misconception="You stop at pairs that occur once. They are joined too.",
)
def _(words, counts, num_merges):
    return _learn(words, counts, num_merges, least=2)


@mistake(
    TRAIN,
    "last-count-of-a-word",
    caught_by="counts",
    loses=1.5,
    misconception=(
        "You keep words and counts in a dictionary: a word that stands in the list twice loses its"
        " first count."
    ),
)
def _(words, counts, num_merges):
    once = dict(zip(words, counts))
    return _learn(list(once), list(once.values()), num_merges)


@mistake(
    TRAIN,
    "no-pairs-is-an-error",
    caught_by="end",
    loses=1,
    misconception=(
        "You take the largest of no pairs, which is an error. When no pair is left, training ends."
    ),
)
def _(words, counts, num_merges):
    merges, rows = [], [list(word) for word in words]
    for _ in range(num_merges):
        pairs = _counted(rows, counts)
        merges.append(min(pairs, key=lambda pair: (-pairs[pair], pair)))
        rows = [_join(row, merges[-1]) for row in rows]
    return merges


SPLIT = "02.bpe_split"


def _by_rank(word, merges, key, missing=None):
    """One join after the other; `key(rank, position)` says which comes first."""
    rank = {pair: number for number, pair in enumerate(merges)}
    pieces = list(word)
    while found := [
        (key(rank[pair], i), i) for i, pair in enumerate(zip(pieces, pieces[1:])) if pair in rank
    ]:
        _, i = min(found)
        pieces[i : i + 2] = [pieces[i] + pieces[i + 1]]
    return pieces


@mistake(
    SPLIT,
    "left-to-right",
    caught_by="rank",
    loses=3,
    misconception=(
        "You join the first pair from the left that is in the list. Its place in the list decides,"
        " not its place in the word."
    ),
)
def _(word, merges):
    return _by_rank(word, merges, lambda rank, i: i)


@mistake(
    SPLIT,
    "latest-first",
    caught_by="rank",
    loses=3,
    misconception=(
        "You join the pair that stands last in the list. Merges are made in the order in which they"
        " were learned."
    ),
)
def _(word, merges):
    return _by_rank(word, merges, lambda rank, i: (-rank, i))


@mistake(
    SPLIT,
    "longest-known-piece",
    caught_by="rank",
    loses=3,
    misconception=(
        "You cut off the longest piece that some merge can make, from left to right. That is"
        " WordPiece's way; here the order of the merges decides."
    ),
)
def _(word, merges):
    known, pieces, start = {left + right for left, right in merges}, [], 0
    while start < len(word):
        end = next(
            (end for end in range(len(word), start + 1, -1) if word[start:end] in known), start + 1
        )
        pieces.append(word[start:end])
        start = end
    return pieces


@mistake(
    SPLIT,
    "one-join",
    caught_by="rank",
    loses=4,
    misconception=(
        "You join once and stop. Look at all neighbours again, until no pair of them is in the"
        " list."
    ),
)
def _(word, merges):
    rank = {pair: number for number, pair in enumerate(merges)}
    pieces = list(word)
    found = [(rank[pair], i) for i, pair in enumerate(zip(pieces, pieces[1:])) if pair in rank]
    if found:
        _, i = min(found)
        pieces[i : i + 2] = [pieces[i] + pieces[i + 1]]
    return pieces


@mistake(
    SPLIT,
    "first-place-only",
    caught_by="leftmost",
    loses=2.5,
    misconception=(
        "You go through the list once and join each merge in its first place only. All its places"
        " are joined."
    ),
)
def _(word, merges):
    pieces = list(word)
    for pair in merges:
        for i in range(len(pieces) - 1):
            if (pieces[i], pieces[i + 1]) == pair:
                pieces[i : i + 2] = [pieces[i] + pieces[i + 1]]
                break
    return pieces


@mistake(
    SPLIT,
    "from-the-right",
    caught_by="leftmost",
    loses=2.5,
    misconception=(
        "Of equal pairs you join the one on the right first. They are joined from left to right."
    ),
)
def _(word, merges):
    return _by_rank(word, merges, lambda rank, i: (rank, -i))


@mistake(
    SPLIT,
    "unknown-left-out",
    caught_by="one-merge",
    loses=3.5,
    misconception=(
        "You leave out characters that stand in no merge. Joined together, the pieces are the word."
    ),
)
def _(word, merges):
    known = {character for pair in merges for character in "".join(pair)}
    pieces = _by_rank(word, merges, lambda rank, i: (rank, i))
    return [piece for piece in pieces if not merges or set(piece) <= known]


@mistake(
    SPLIT,
    "text-is-enough",
    caught_by="again",
    loses=1.5,
    misconception=(
        "You join two neighbours when their text is one that a merge makes. The pair itself has to"
        " be in the list."
    ),
)
def _(word, merges):
    rank = {left + right: number for number, (left, right) in enumerate(merges)}
    pieces = list(word)
    while found := [
        (rank[a + b], i) for i, (a, b) in enumerate(zip(pieces, pieces[1:])) if a + b in rank
    ]:
        _, i = min(found)
        pieces[i : i + 2] = [pieces[i] + pieces[i + 1]]
    return pieces


@mistake(
    SPLIT,
    "characters-only",
    caught_by="leftmost",
    loses=2.5,
    misconception=(
        "You join characters only. A piece that was joined may be a part of a later merge."
    ),
)
def _(word, merges):
    rank = {pair: number for number, pair in enumerate(merges)}
    pieces = list(word)
    while found := [
        (rank[pair], i)
        for i, pair in enumerate(zip(pieces, pieces[1:]))
        if pair in rank and len(pair[0] + pair[1]) == 2
    ]:
        _, i = min(found)
        pieces[i : i + 2] = [pieces[i] + pieces[i + 1]]
    return pieces


@mistake(
    SPLIT,
    "either-order",
    caught_by="one-merge",
    loses=3.5,
    misconception=(
        "You join a pair in either order. A pair is joined only in the order in which the list"
        " names its parts."
    ),
)
def _(word, merges):
    rank = {pair: number for number, pair in enumerate(merges)}
    rank |= {
        (right, left): number for (left, right), number in rank.items() if (right, left) not in rank
    }
    pieces = list(word)
    while found := [
        (rank[pair], i) for i, pair in enumerate(zip(pieces, pieces[1:])) if pair in rank
    ]:
        _, i = min(found)
        pieces[i : i + 2] = [pieces[i] + pieces[i + 1]]
    return pieces

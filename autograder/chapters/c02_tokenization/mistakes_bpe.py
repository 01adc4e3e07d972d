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
    misconception="You count each word once. A pair counts as often as the word that contains it.",
)
def _(words, counts, num_merges):
    return _learn(words, [1] * len(words), num_merges)


@mistake(
    TRAIN,
    "no-recount",
    caught_by="recount",
    loses=3,
    misconception=("You count pairs only once. After each merge, all pairs must be counted again."),
)
def _(words, counts, num_merges):
    pairs = _counted([list(word) for word in words], counts)
    return sorted(pairs, key=lambda pair: (-pairs[pair], pair))[:num_merges]


@mistake(
    TRAIN,
    "across-words",
    caught_by="counts",
    loses=7,
    misconception=(
        "You count pairs across word boundaries. Pairs never cross from one word into the next."
    ),
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
    misconception="You count a pair once per word. Every occurrence in the word counts.",
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
        'You count only the occurrences that can be merged together. "aaa" contains (a, a) twice.'
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
    misconception=(
        'You merge a symbol again that was merged in the same round: "aaa" must become aa a.'
    ),
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
    misconception="You merge the pair once per word. Merge every occurrence.",
)
def _(words, counts, num_merges):
    return _learn(words, counts, num_merges, join=lambda row, pair: _join(row, pair, 1))


@mistake(
    TRAIN,
    "from-the-right",
    caught_by="overlap",
    loses=1,
    misconception='You merge from right to left: "aaa" becomes a aa. From the left it is aa a.',
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
    "text-replaced",
    caught_by="counts",
    loses=4,
    misconception=(
        "You merge with str.replace, which also matches inside longer symbols. Keep lists of"
        " symbols."
    ),
)
def _(words, counts, num_merges):
    rows, merges = [" ".join(word) for word in words], []
    while len(merges) < num_merges:
        pairs = _counted([row.split() for row in rows], counts)
        if not pairs:
            break
        merges.append(min(pairs, key=lambda pair: (-pairs[pair], pair)))
        rows = [row.replace(" ".join(merges[-1]), "".join(merges[-1])) for row in rows]
    return merges


@mistake(
    TRAIN,
    "spaces-lost",
    caught_by="counts",
    loses=3,
    misconception=(
        "You keep symbols in a text with spaces between them, so a space of the word is lost."
    ),
)
def _(words, counts, num_merges):
    return _learn(["".join(word.split()) for word in words], counts, num_merges)


@mistake(
    TRAIN,
    "end-of-word",
    caught_by="counts",
    loses=7,
    misconception="You add an end-of-word symbol, as the paper does. Here no sign marks the end.",
)
def _(words, counts, num_merges):
    return _learn([[*word, "</w>"] for word in words], counts, num_merges)


@mistake(
    TRAIN,
    "first-seen-wins",
    caught_by="ties",
    loses=1.5,
    misconception=(
        "You break ties by order of appearance. Take the smallest pair in Python's order of tuples."
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
        "You break ties by the largest pair, as max of (count, pair) does. Take the smallest."
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
        "You break ties by the merged text. Compare the left parts first, then the right parts."
    ),
)
def _(words, counts, num_merges):
    return _learn(words, counts, num_merges, order=lambda pair: ("".join(pair), pair))


@mistake(
    TRAIN,
    "twice-at-least",
    caught_by="end",
    loses=1,
    misconception="You stop at pairs that occur once. They are merged too.",
)
def _(words, counts, num_merges):
    return _learn(words, counts, num_merges, least=2)


@mistake(
    TRAIN,
    "last-count-of-a-word",
    caught_by="counts",
    loses=1.5,
    misconception=(
        "You keep words in a dictionary: a word that is listed twice loses its first "
        "count. Add the counts."
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
    misconception=("You take the maximum of an empty set of pairs. Stop when no pair is left."),
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
        "You merge the leftmost pair that is in the list. The rank decides, not the "
        "position in the word."
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
        "You merge the pair of highest rank. The lowest rank, the merge learned first, comes first."
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
        "You take the longest token that fits, as WordPiece does. In BPE the rank of "
        "the merges decides."
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
    misconception=("You merge once and stop. Repeat until no adjacent pair is in the list."),
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
    misconception=("You apply each merge at its first occurrence only. Merge every occurrence."),
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
    misconception=("You merge equal pairs from right to left. Merge the leftmost first."),
)
def _(word, merges):
    return _by_rank(word, merges, lambda rank, i: (rank, -i))


@mistake(
    SPLIT,
    "unknown-left-out",
    caught_by="one-merge",
    loses=3.5,
    misconception=("You drop characters that are in no merge. They stay as tokens."),
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
        "You merge two symbols if their text results from some merge. The pair itself "
        "must be in the list."
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
    "text-replaced",
    caught_by="one-merge",
    loses=4,
    misconception=(
        "You merge with str.replace, which also matches inside longer symbols. Keep a list of"
        " symbols."
    ),
)
def _(word, merges):
    row = " ".join(word)
    for left, right in merges:
        row = row.replace(f"{left} {right}", left + right)
    return row.split()


@mistake(
    SPLIT,
    "characters-only",
    caught_by="leftmost",
    loses=2.5,
    misconception=("You merge characters only. A merged symbol can be part of a later merge."),
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
        "You merge a pair in either order. Left and right part must be in the order of the list."
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

"""Differently written correct solutions of chapter 2, byte-pair encoding."""

from autograder.checks.mistakes.registry import alternative


@alternative("02.bpe_split", "list-in-order")
def _(word, merges):
    pieces = list(word)
    for left, right in merges:
        i = 0
        while i + 1 < len(pieces):
            if pieces[i] == left and pieces[i + 1] == right:
                pieces[i : i + 2] = [left + right]
            i += 1
    return pieces


@alternative("02.bpe_split", "all-places-of-a-round")
def _(word, merges):
    rank = dict(map(reversed, enumerate(merges)))
    pieces = tuple(word)
    while len(pieces) > 1:
        best = min(zip(pieces[:-1], pieces[1:]), key=lambda pair: rank.get(pair, len(merges)))
        if best not in rank:
            break
        joined, i = [], 0
        while i < len(pieces):
            step = 2 if pieces[i : i + 2] == best else 1
            joined.append("".join(pieces[i : i + step]))
            i += step
        pieces = tuple(joined)
    return list(pieces)


@alternative("02.bpe_split", "recursive")
def _(word, merges):
    def cut(pieces):
        pairs = [pair for pair in merges if pair in zip(pieces, pieces[1:])]
        if not pairs:
            return pieces
        i = next(i for i, pair in enumerate(zip(pieces, pieces[1:])) if pair == pairs[0])
        return cut([*pieces[:i], pieces[i] + pieces[i + 1], *pieces[i + 2 :]])

    return cut([*word])


@alternative("02.train_bpe", "rows-as-text")
def _(words, counts, num_merges):
    weight = {}
    for word, count in zip(words, counts):
        weight[tuple(word)] = weight.get(tuple(word), 0) + count
    merges = []
    while len(merges) < num_merges:
        pairs = {}
        for row, count in weight.items():
            for i in range(len(row) - 1):
                pairs[row[i], row[i + 1]] = pairs.get((row[i], row[i + 1]), 0) + count
        if not pairs:
            return merges
        top = max(pairs.values())
        left, right = sorted(pair for pair in pairs if pairs[pair] == top)[0]
        merges.append((left, right))
        fresh = {}
        for row, count in weight.items():
            new, i = [], 0
            while i < len(row):
                if i + 1 < len(row) and row[i] == left and row[i + 1] == right:
                    new.append(left + right)
                    i += 2
                else:
                    new.append(row[i])
                    i += 1
            fresh[tuple(new)] = fresh.get(tuple(new), 0) + count
        weight = fresh
    return merges


@alternative("02.train_bpe", "sorted-items")
def _(words, counts, num_merges):
    rows = [(list(word), count) for word, count in zip(words, counts) if len(word) > 1]
    merges = []
    for _ in range(num_merges):
        seen = [(pair, count) for row, count in rows for pair in zip(row[:-1], row[1:])]
        if not seen:
            break
        totals = {}
        for pair, count in seen:
            totals[pair] = totals.get(pair, 0) + count
        best, _ = sorted(totals.items(), key=lambda item: (-item[1], item[0][0], item[0][1]))[0]
        merges.append(best)
        for row, _ in rows:
            place = 0
            while place < len(row) - 1:
                if (row[place], row[place + 1]) == best:
                    row[place] += row.pop(place + 1)
                place += 1
    return merges

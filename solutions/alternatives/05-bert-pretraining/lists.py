"""Differently written correct solutions of chapter 5, inputs and pairs."""

from autograder.checks.mistakes.registry import alternative


@alternative("05.pair_input", "pops")
def _(a, b, cls, sep, max_length):
    first, second, specials = list(a), list(b), 3 if b else 2
    while len(first) + len(second) + specials > max_length:
        if len(second) >= len(first):
            second.pop()
        else:
            del first[-1]
    head = [cls] + first + [sep]
    tail = second + [sep] if specials == 3 else []
    return head + tail, [0 for _ in head] + [1 for _ in tail]


@alternative("05.pair_input", "by-arithmetic")
def _(a, b, cls, sep, max_length):
    if not len(b):
        ids = [cls, *a[: max_length - 2], sep]
        return ids, [0] * len(ids)
    room = max_length - 3
    half = room // 2
    if len(a) + len(b) <= room:
        n, m = len(a), len(b)
    elif len(b) <= half:
        n, m = room - len(b), len(b)
    elif len(a) <= room - half:
        n, m = len(a), room - len(a)
    else:
        n, m = room - half, half
    return [cls] + a[:n] + [sep] + b[:m] + [sep], [0] * (n + 2) + [1] * (m + 1)


@alternative("05.sentence_pairs", "by-numbers")
def _(docs, coin, other, place):
    starts = [(own, s) for own in range(len(docs)) for s in range(len(docs[own]) - 1)]
    answer = []
    for (own, s), toss, drawn, which in zip(starts, coin, other, place):
        if toss == 0:
            answer.append((docs[own][s], docs[own][s + 1], 0))
            continue
        number = drawn % (len(docs) - 1)
        number += number >= own
        answer.append((docs[own][s], docs[number][which % len(docs[number])], 1))
    return answer


@alternative("05.sentence_pairs", "generator")
def _(docs, coin, other, place):
    def pairs():
        chance = iter(zip(coin, other, place))
        for own, doc in enumerate(docs):
            strangers = [one for number, one in enumerate(docs) if number != own]
            for first, follows in zip(doc[:-1], doc[1:]):
                toss, drawn, which = next(chance)
                stranger = strangers[drawn % len(strangers)]
                yield (first, stranger[which % len(stranger)], 1) if toss else (first, follows, 0)

    return list(pairs())

"""Plausible wrong solutions of chapter 5, parts 1 and 3: inputs and pairs."""

from autograder.checks.mistakes.registry import mistake

PAIR = "05.pair_input"


def _lengths(a, b, room, ties=False):
    """How many tokens of each text stay; ties: whether a loses where both are equally long."""
    first, second = len(a), len(b)
    while first + second > room and first + second > 0:
        if first > second or ties and first == second:
            first -= 1
        else:
            second -= 1
    return first, second


def _made(a, b, cls, sep, paired, ends=1):
    """The input of two texts that are cut already; ends: the segment of the first sep."""
    tail = [*b, sep] if paired else []
    return [cls, *a, sep, *tail], [0] * (len(a) + 1) + [ends] + [1] * len(tail)


@mistake(
    PAIR,
    "second-end-without-b",
    caught_by="one",
    loses=2,
    misconception="You add a second `sep` where there is no second text.",
)
def _(a, b, cls, sep, max_length):
    first, second = _lengths(a, b, max_length - 3)
    return _made(a[:first], b[:second], cls, sep, True, 0)


@mistake(
    PAIR,
    "no-last-end",
    caught_by="pair",
    loses=4,
    misconception="You omit the `sep` after the second text.",
)
def _(a, b, cls, sep, max_length):
    first, second = _lengths(a, b, max_length - (3 if b else 2))
    ids, segments = _made(a[:first], b[:second], cls, sep, bool(b), 0)
    return (ids[:-1], segments[:-1]) if b else (ids, segments)


@mistake(
    PAIR,
    "first-end-in-segment-1",
    caught_by="pair",
    loses=4,
    misconception=("You give the first `sep` segment 1. It closes the first text: segment 0."),
)
def _(a, b, cls, sep, max_length):
    first, second = _lengths(a, b, max_length - (3 if b else 2))
    return _made(a[:first], b[:second], cls, sep, bool(b), 1 if b else 0)


@mistake(
    PAIR,
    "segments-by-search",
    caught_by="pair",
    loses=1.5,
    misconception=(
        "You search for `sep` to find the end of the first text. Its id may occur"
        " in a text: count the tokens."
    ),
)
def _(a, b, cls, sep, max_length):
    first, second = _lengths(a, b, max_length - (3 if b else 2))
    ids, _ = _made(a[:first], b[:second], cls, sep, bool(b))
    end = ids.index(sep) + 1
    return ids, [0] * end + [1] * (len(ids) - end)


@mistake(
    PAIR,
    "cut-after-joining",
    caught_by="cut",
    loses=2.5,
    misconception=(
        "You truncate after joining, which removes the last `sep`. Truncate the texts first."
    ),
)
def _(a, b, cls, sep, max_length):
    ids, segments = _made(a, b, cls, sep, bool(b), 0)
    return ids[:max_length], segments[:max_length]


@mistake(
    PAIR,
    "cut-only-b",
    caught_by="cut",
    loses=2.5,
    misconception="You truncate the second text only. The longer one loses tokens first.",
)
def _(a, b, cls, sep, max_length):
    room = max_length - (3 if b else 2)
    a = a[:room]
    return _made(a, b[: max(0, room - len(a))], cls, sep, bool(b), 0)


@mistake(
    PAIR,
    "specials-not-counted",
    caught_by="cut",
    loses=2.5,
    misconception="You allow `max_length` tokens of text. `cls` and `sep` count as well.",
)
def _(a, b, cls, sep, max_length):
    first, second = _lengths(a, b, max_length)
    return _made(a[:first], b[:second], cls, sep, bool(b), 0)


@mistake(
    PAIR,
    "tie-cuts-a",
    caught_by="cut",
    loses=2.5,
    misconception=(
        "You remove a token from a when both texts are equally long. BERT's"
        " release removes it from b."
    ),
)
def _(a, b, cls, sep, max_length):
    first, second = _lengths(a, b, max_length - (3 if b else 2), ties=True)
    return _made(a[:first], b[:second], cls, sep, bool(b), 0)


@mistake(
    PAIR,
    "cut-in-front",
    caught_by="cut",
    loses=2.5,
    misconception="You remove tokens from the beginning of a text. Remove the last ones.",
)
def _(a, b, cls, sep, max_length):
    first, second = _lengths(a, b, max_length - (3 if b else 2))
    return _made(a[len(a) - first :], b[len(b) - second :], cls, sep, bool(b), 0)


@mistake(
    PAIR,
    "halves",
    caught_by="cut",
    loses=2.5,
    misconception=(
        "You give each text half of the positions. A short text leaves the rest to the long one."
    ),
)
def _(a, b, cls, sep, max_length):
    room = max_length - (3 if b else 2)
    if len(a) + len(b) > room and b:
        a, b = a[: room - room // 2], b[: room // 2]
    return (
        _made(a[:room], b, cls, sep, True, 0) if len(b) else _made(a[:room], b, cls, sep, False, 0)
    )


@mistake(
    PAIR,
    "lost-b-loses-its-end",
    caught_by="borders",
    loses=1,
    misconception=(
        "You omit the `sep` of a b that lost all its tokens. Decide before"
        " truncation whether there is a second text."
    ),
)
def _(a, b, cls, sep, max_length):
    first, second = _lengths(a, b, max_length - (3 if b else 2))
    return _made(a[:first], b[:second], cls, sep, second > 0, 0)


@mistake(
    PAIR,
    "three-places-always",
    caught_by="borders",
    loses=1,
    misconception=(
        "You reserve three positions for `cls` and `sep` when there is one text, which needs two."
    ),
)
def _(a, b, cls, sep, max_length):
    first, second = _lengths(a, b, max_length - 3)
    return _made(a[:first], b[:second], cls, sep, bool(b), 0)


@mistake(
    PAIR,
    "pops-from-the-arguments",
    caught_by="one",
    loses=1,
    misconception="You change the caller's lists.",
)
def _(a, b, cls, sep, max_length):
    paired = bool(b)
    first, second = _lengths(a, b, max_length - (3 if paired else 2))
    answer = _made(a[:first], b[:second], cls, sep, paired, 0)
    a.append(sep)
    return answer


PAIRS = "05.sentence_pairs"


def _pairs(docs, coin, other, place, label=lambda coin: coin, elsewhere=None, last=1):
    """The pairs, with one part replaced.

    elsewhere: (docs, own, other, place) to the second sentence.
    """
    found = []
    for own, doc in enumerate(docs):
        for s in range(len(doc) - last):
            i = len(found)
            others = docs[:own] + docs[own + 1 :]
            if coin[i]:
                drawn = others[other[i] % len(others)]
                second = (
                    elsewhere(docs, own, other[i], place[i])
                    if elsewhere
                    else drawn[place[i] % len(drawn)]
                )
            else:
                second = doc[s + 1]
            found.append((doc[s], second, label(coin[i])))
    return found


@mistake(
    PAIRS,
    "label-turned",
    caught_by="follows",
    loses=5,
    misconception='You label a pair that follows with 1. BERT\'s label 0 means "follows".',
)
def _(docs, coin, other, place):
    return _pairs(docs, coin, other, place, label=lambda coin: 1 - coin)


@mistake(
    PAIRS,
    "across-documents",
    caught_by="follows",
    loses=5,
    misconception=(
        "You pair the last sentence of a document with the first of the next. A"
        " following pair stays within its document."
    ),
)
def _(docs, coin, other, place):
    sentences = [(own, one) for own, doc in enumerate(docs) for one in doc]
    found = []
    for i, ((own, first), (_, second)) in enumerate(zip(sentences, sentences[1:])):
        i = min(i, len(coin) - 1)
        if coin[i]:
            others = docs[:own] + docs[own + 1 :]
            drawn = others[other[i] % len(others)]
            second = drawn[place[i] % len(drawn)]
        found.append((first, second, coin[i]))
    return found


@mistake(
    PAIRS,
    "every-other-sentence",
    caught_by="follows",
    loses=5,
    misconception=(
        "You use each sentence in one pair only. Every sentence with a successor begins a pair."
    ),
)
def _(docs, coin, other, place):
    found = []
    for own, doc in enumerate(docs):
        others = docs[:own] + docs[own + 1 :]
        for s in range(0, len(doc) - 1, 2):
            i = len(found)
            drawn = others[other[i] % len(others)]
            found.append((doc[s], drawn[place[i] % len(drawn)] if coin[i] else doc[s + 1], coin[i]))
    return found


@mistake(
    PAIRS,
    "own-document",
    caught_by="elsewhere",
    loses=3.5,
    misconception=(
        "You number all documents, the own one included. A pair from elsewhere never draws from it."
    ),
)
def _(docs, coin, other, place):
    def elsewhere(docs, own, other, place):
        drawn = docs[other % len(docs)]
        return drawn[place % len(drawn)]

    return _pairs(docs, coin, other, place, elsewhere=elsewhere)


@mistake(
    PAIRS,
    "own-document-skipped-by-one",
    caught_by="elsewhere",
    loses=3.5,
    misconception=(
        "You skip to the next document when the own one is drawn. Number the"
        " others without it, so that all are equally likely."
    ),
)
def _(docs, coin, other, place):
    def elsewhere(docs, own, other, place):
        number = other % len(docs)
        drawn = docs[(number + 1) % len(docs) if number == own else number]
        return drawn[place % len(drawn)]

    return _pairs(docs, coin, other, place, elsewhere=elsewhere)


@mistake(
    PAIRS,
    "place-in-the-own-length",
    caught_by="elsewhere",
    loses=3.5,
    misconception=(
        "You take `place` modulo the sentences of the own document instead of the drawn one."
    ),
)
def _(docs, coin, other, place):
    def elsewhere(docs, own, other, place):
        others = docs[:own] + docs[own + 1 :]
        drawn = others[other % len(others)]
        return drawn[min(place % len(docs[own]), len(drawn) - 1)]

    return _pairs(docs, coin, other, place, elsewhere=elsewhere)


@mistake(
    PAIRS,
    "numbers-start-anew",
    caught_by="elsewhere",
    loses=3.5,
    misconception="You restart i with each document. It runs through all of them.",
)
def _(docs, coin, other, place):
    found = []
    for own, doc in enumerate(docs):
        others = docs[:own] + docs[own + 1 :]
        for i in range(len(doc) - 1):
            drawn = others[other[i] % len(others)]
            found.append((doc[i], drawn[place[i] % len(drawn)] if coin[i] else doc[i + 1], coin[i]))
    return found


@mistake(
    PAIRS,
    "always-labelled-as-following",
    caught_by="elsewhere",
    loses=3.5,
    misconception="You label every pair 0, including those from elsewhere.",
)
def _(docs, coin, other, place):
    return _pairs(docs, coin, other, place, label=lambda coin: 0)


@mistake(
    PAIRS,
    "single-sentences-pair-with-themselves",
    caught_by="ends",
    loses=1.5,
    misconception="You make a pair of a document with one sentence. It has no successor.",
)
def _(docs, coin, other, place):
    found = _pairs(docs, coin, other, place)
    return found + [(doc[0], doc[0], 0) for doc in docs if len(doc) == 1]


@mistake(
    PAIRS,
    "documents-by-their-text",
    caught_by="ends",
    loses=1.5,
    misconception=(
        "You leave out every document equal to the own one. Compare their"
        " numbers: two documents may be equal."
    ),
)
def _(docs, coin, other, place):
    found = []
    for doc in docs:
        others = [one for one in docs if one != doc] or docs
        for s in range(len(doc) - 1):
            i = len(found)
            drawn = others[other[i] % len(others)]
            found.append((doc[s], drawn[place[i] % len(drawn)] if coin[i] else doc[s + 1], coin[i]))
    return found


@mistake(
    PAIRS,
    "place-by-search",
    caught_by="ends",
    loses=1.5,
    misconception=("You look up a sentence with `index`, which finds the first of two equal ones."),
)
def _(docs, coin, other, place):
    found = []
    for own, doc in enumerate(docs):
        others = docs[:own] + docs[own + 1 :]
        for first in doc[:-1]:
            i = len(found)
            drawn = others[other[i] % len(others)]
            found.append(
                (
                    first,
                    drawn[place[i] % len(drawn)] if coin[i] else doc[doc.index(first) + 1],
                    coin[i],
                )
            )
    return found


@mistake(
    PAIRS,
    "drawn-from-single-sentences-never",
    caught_by="ends",
    loses=1.5,
    misconception=(
        "You exclude documents of one sentence from the draw. They begin no pair,"
        " but others may draw from them."
    ),
)
def _(docs, coin, other, place):
    found = []
    for own, doc in enumerate(docs):
        others = [one for number, one in enumerate(docs) if number != own and len(one) > 1] or docs[
            :own
        ] + docs[own + 1 :]
        for s in range(len(doc) - 1):
            i = len(found)
            drawn = others[other[i] % len(others)]
            found.append((doc[s], drawn[place[i] % len(drawn)] if coin[i] else doc[s + 1], coin[i]))
    return found

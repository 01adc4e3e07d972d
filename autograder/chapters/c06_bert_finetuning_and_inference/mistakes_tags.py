"""Plausible wrong solutions of chapter 6, part 3: labels for pieces, and entities."""

from autograder.checks.mistakes.registry import mistake

ALIGN = "06.align_tags"


def _first(word_ids, place):
    return place == 0 or word_ids[place - 1] != word_ids[place]


@mistake(
    ALIGN,
    "later-pieces-have-the-tag",
    caught_by="later-pieces",
    loses=3.5,
    misconception=(
        "You give every piece the tag of its word. The first piece has it, later ones have -100."
    ),
)
def _(word_ids, tags):
    return [-100 if word is None else tags[word] for word in word_ids]


@mistake(
    ALIGN,
    "later-pieces-have-another-tag",
    caught_by="later-pieces",
    loses=3.5,
    misconception=(
        "You give later pieces the tag after the word's, as if it were its `I-`. They have -100."
    ),
)
def _(word_ids, tags):
    return [
        -100 if word is None else tags[word] + (not _first(word_ids, place))
        for place, word in enumerate(word_ids)
    ]


@mistake(
    ALIGN,
    "number-of-the-piece",
    caught_by="later-pieces",
    loses=3.5,
    misconception=(
        "You go on to the next tag with every piece. The number of the word says which tag it is."
    ),
)
def _(word_ids, tags):
    labels, number = [], 0
    for place, word in enumerate(word_ids):
        labels.append(
            -100
            if word is None or not _first(word_ids, place)
            else tags[number]
            if number < len(tags)
            else 0
        )
        number += word is not None
    return labels


@mistake(
    ALIGN,
    "zero-for-left-out",
    caught_by="first-piece",
    loses=5,
    misconception="You write 0 where nothing is asked. 0 is a tag: what is left out has -100.",
)
def _(word_ids, tags):
    return [
        0 if word is None or not _first(word_ids, place) else tags[word]
        for place, word in enumerate(word_ids)
    ]


@mistake(
    ALIGN,
    "last-piece",
    caught_by="later-pieces",
    loses=3.5,
    misconception="You label the last piece of a word. The first has the tag.",
)
def _(word_ids, tags):
    return [
        (
            -100
            if word is None or place + 1 < len(word_ids) and word_ids[place + 1] == word
            else tags[word]
        )
        for place, word in enumerate(word_ids)
    ]


@mistake(
    ALIGN,
    "same-tag-is-same-word",
    caught_by="first-piece",
    loses=5,
    misconception=(
        "You leave a word out whose tag is that of the word before. Two words have two numbers."
    ),
)
def _(word_ids, tags):
    labels, before = [], None
    for word in word_ids:
        tag = None if word is None else tags[word]
        labels.append(-100 if tag is None or tag == before else tag)
        before = tag
    return labels


@mistake(
    ALIGN,
    "word-0-is-nothing",
    caught_by="first-piece",
    loses=5,
    misconception="You take word 0 for an added token: 0 is false in Python. Ask `is None`.",
)
def _(word_ids, tags):
    return [
        tags[word] if word and _first(word_ids, place) else -100
        for place, word in enumerate(word_ids)
    ]


@mistake(
    ALIGN,
    "added-tokens-dropped",
    caught_by="first-piece",
    loses=5,
    misconception="You leave added tokens out of the list. They have an entry of -100.",
)
def _(word_ids, tags):
    return [
        tags[word] if _first(word_ids, place) else -100
        for place, word in enumerate(word_ids)
        if word is not None
    ]


@mistake(
    ALIGN,
    "one-added-at-each-end",
    caught_by="added",
    loses=2,
    misconception="You count on one added token at each end. There may be any number, anywhere.",
)
def _(word_ids, tags):
    inner = word_ids[1:-1]
    return (
        [-100]
        + [
            -100 if word is None or not _first(inner, place) else tags[word]
            for place, word in enumerate(inner)
        ]
        + [-100] * (len(word_ids) > 1)
    )


@mistake(
    ALIGN,
    "words-counted",
    caught_by="cut",
    loses=1,
    misconception=(
        "You count words as you meet them. Numbers may be missing: the tag of word 7 is `tags[7]`."
    ),
)
def _(word_ids, tags):
    labels, number = [], -1
    for place, word in enumerate(word_ids):
        fresh = word is not None and _first(word_ids, place)
        number += fresh
        labels.append(tags[number] if fresh else -100)
    return labels


@mistake(
    ALIGN,
    "tag-0-left-out",
    caught_by="first-piece",
    loses=5,
    misconception="You leave words out whose tag is 0. It is a tag like the others.",
)
def _(word_ids, tags):
    return [
        tags[word] or -100 if word is not None and _first(word_ids, place) else -100
        for place, word in enumerate(word_ids)
    ]


ENTITIES = "06.entity_f1"


def _read(
    tags, goes_on, begins=lambda tag, kind: tag != "O", last=True, kind_of=lambda tag: tag[2:]
):
    """The entities, by when one goes on and what may begin one."""
    found, kind, start = [], "", 0
    for place, tag in enumerate(tags):
        if kind and goes_on(tag, kind):
            continue
        if kind:
            found.append((kind, start, place))
        kind, start = (kind_of(tag) if begins(tag, kind) else ""), place
    if kind and last:
        found.append((kind, start, len(tags)))
    return found


def _on(tag, kind):
    return tag == f"I-{kind}"


def of_entities(name, caught_by, loses, misconception):
    return mistake(
        ENTITIES,
        name,
        replaces="entities",
        caught_by=caught_by,
        loses=loses,
        misconception=misconception,
    )


@of_entities(
    "end-included",
    "one",
    5,
    "Your `end` is the number of the last word. It is that of the word after it.",
)
def _(tags):
    return [(kind, start, end - 1) for kind, start, end in _read(tags, _on)]


@of_entities(
    "b-ignored",
    "neighbours",
    1,
    "You continue an entity at a `B-` of the same type. `B-` begins another.",
)
def _(tags):
    return _read(tags, lambda tag, kind: tag[2:] == kind)


@of_entities("last-lost", "end", 1, "You lose the entity that is open at the end of the sentence.")
def _(tags):
    return _read(tags, _on, last=False)


@of_entities(
    "i-after-o-dropped",
    "kind-changes",
    2,
    "You drop an `I-` that continues nothing. It begins an entity.",
)
def _(tags):
    return _read(tags, _on, begins=lambda tag, kind: tag[0] == "B")


@of_entities(
    "i-after-o-only-dropped",
    "i-first",
    1,
    "You drop an `I-` after `O` and at the start. It begins an entity there, too.",
)
def _(tags):
    found, kind, start = [], "", 0
    for place, tag in enumerate([*tags, "O"]):
        if kind and tag == f"I-{kind}":
            continue
        if kind:
            found.append((kind, start, place))
        kind, start = (tag[2:] if tag[0] == "B" or kind else ""), place
    return found


@of_entities(
    "kind-not-compared",
    "kind-changes",
    1,
    "You continue an entity at any `I-`. It must be of the same type.",
)
def _(tags):
    return _read(tags, lambda tag, kind: tag[0] == "I")


@of_entities(
    "kind-up-to-the-dash",
    "kind-changes",
    1,
    "You cut the kind at its dash. It is all that follows `B-` or `I-`.",
)
def _(tags):
    return _read(["-".join(tag.split("-")[:2]) for tag in tags], _on)


@of_entities(
    "tag-for-kind", "one", 5, "You return the tag, with its `B-`. The kind is what follows."
)
def _(tags):
    return _read(tags, lambda tag, kind: tag == f"I-{kind[2:]}", kind_of=lambda tag: tag)


@of_entities(
    "words-one-by-one",
    "one",
    5,
    "You return each word by itself. Words of one entity make one tuple.",
)
def _(tags):
    return [(tag[2:], place, place + 1) for place, tag in enumerate(tags) if tag != "O"]


@of_entities("length-for-end", "one", 5, "You return the number of words instead of the end.")
def _(tags):
    return [(kind, start, end - start) for kind, start, end in _read(tags, _on)]


@of_entities(
    "sorted-by-kind", "one", 5, "You sort by kind. The entities come in the order of the sentence."
)
def _(tags):
    return sorted(_read(tags, _on))


def _counts(said, true):
    """Right, said and true entities of one sentence."""
    one, other = set(_read(said, _on)), set(_read(true, _on))
    return len(one & other), len(one), len(other)


def _numbers(right, said, true):
    return {
        "precision": right / said if said else 0.0,
        "recall": right / true if true else 0.0,
        "f1": 2 * right / (said + true) if said + true else 0.0,
    }


def _sums(said, true, counts=_counts):
    return tuple(map(sum, zip((0, 0, 0), *(counts(*pair) for pair in zip(said, true)))))


def _overlap(said, true):
    one, other = _read(said, _on), _read(true, _on)
    right = sum(any(a[0] == b[0] and a[1] < b[2] and b[1] < a[2] for b in other) for a in one)
    return right, len(one), len(other)


def _without_kind(said, true):
    one, other = ({span[1:] for span in _read(tags, _on)} for tags in (said, true))
    return len(one & other), len(one), len(other)


@mistake(
    ENTITIES,
    "overlap-counts",
    caught_by="exact",
    loses=5,
    misconception=(
        "You count an entity as right that overlaps a true one. Start and end must be the same."
    ),
)
def _(said, true):
    return _numbers(*_sums(said, true, _overlap))


@mistake(
    ENTITIES,
    "kind-does-not-count",
    caught_by="exact",
    loses=5,
    misconception=(
        "You count an entity as right that has another kind. The kind must be the same, too."
    ),
)
def _(said, true):
    return _numbers(*_sums(said, true, _without_kind))


@mistake(
    ENTITIES,
    "tag-accuracy",
    caught_by="exact",
    loses=5,
    misconception="You count right tags. Entities are counted: an `O` that is right says nothing.",
)
def _(said, true):
    same = sum(one == other for pair in zip(said, true) for one, other in zip(*pair))
    share = same / max(1, sum(map(len, true)))
    return {"precision": share, "recall": share, "f1": share}


@mistake(
    ENTITIES,
    "right-tags-but-o",
    caught_by="exact",
    loses=5,
    misconception="You count words whose tag is right and not `O`. Whole entities are counted.",
)
def _(said, true):
    pairs = [pair for sentence in zip(said, true) for pair in zip(*sentence)]
    return _numbers(
        sum(a == b != "O" for a, b in pairs),
        sum(a != "O" for a, _ in pairs),
        sum(b != "O" for _, b in pairs),
    )


@mistake(
    ENTITIES,
    "mean-of-sentences",
    caught_by="together",
    loses=2,
    misconception=(
        "You take the mean of the sentences' numbers. Count over all sentences, and divide once."
    ),
)
def _(said, true):
    several = [_numbers(*_counts(*pair)) for pair in zip(said, true)] or [_numbers(0, 0, 0)]
    return {name: sum(one[name] for one in several) / len(several) for name in several[0]}


@mistake(
    ENTITIES,
    "one-set-for-all-sentences",
    caught_by="together",
    loses=2,
    misconception=(
        "You put the entities of all sentences into one set: equal ones of two sentences become"
        " one, and match each other. Keep the number of the sentence with each."
    ),
)
def _(said, true):
    one, other = (
        {span for tags in sentences for span in _read(tags, _on)} for sentences in (said, true)
    )
    return _numbers(len(one & other), len(one), len(other))


@mistake(
    ENTITIES,
    "sentences-joined",
    caught_by="together",
    loses=2,
    misconception="You join the sentences: an entity at the end of one continues into the next.",
)
def _(said, true):
    return _numbers(
        *_counts([tag for tags in said for tag in tags], [tag for tags in true for tag in tags])
    )


@mistake(
    ENTITIES,
    "divides-by-nothing",
    caught_by="none",
    loses=1.5,
    misconception=(
        "You divide by 0 where nothing is predicted, or nothing true. A fraction of nothing is 0.0."
    ),
)
def _(said, true):
    right, found, real = _sums(said, true)
    return {"precision": right / found, "recall": right / real, "f1": 2 * right / (found + real)}


@mistake(
    ENTITIES,
    "one-for-nothing",
    caught_by="none",
    loses=1.5,
    misconception=(
        "You give 1.0 where nothing is predicted and nothing true. A fraction of nothing is 0.0."
    ),
)
def _(said, true):
    counts = _sums(said, true)
    return _numbers(*counts) if any(counts) else _numbers(1, 1, 1)


@mistake(
    ENTITIES,
    "precision-and-recall-exchanged",
    caught_by="exact",
    loses=5,
    misconception="Precision and recall are exchanged. Precision divides by the predicted.",
)
def _(said, true):
    right, found, real = _sums(said, true)
    return _numbers(right, real, found)


@mistake(
    ENTITIES,
    "middle-of-both",
    caught_by="exact",
    loses=5,
    misconception="Your F1 is the middle of precision and recall. It is 2 · right / (said + true).",
)
def _(said, true):
    found = _numbers(*_sums(said, true))
    return found | {"f1": (found["precision"] + found["recall"]) / 2}


@mistake(
    ENTITIES,
    "mean-of-kinds",
    caught_by="exact",
    loses=5,
    misconception="You take the mean over the kinds. All entities are counted together.",
)
def _(said, true):
    kinds = sorted({span[0] for tags in [*said, *true] for span in _read(tags, _on)})

    def counts_of(kind):
        def counts(one, other):
            one, other = (
                {span for span in _read(tags, _on) if span[0] == kind} for tags in (one, other)
            )
            return len(one & other), len(one), len(other)

        return counts

    several = [_numbers(*_sums(said, true, counts_of(kind))) for kind in kinds] or [
        _numbers(0, 0, 0)
    ]
    return {name: sum(one[name] for one in several) / len(several) for name in several[0]}

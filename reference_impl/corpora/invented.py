"""Labelled sentences that nobody had to label: real names put into sentences of the
course's own.

For tagged names and for answers in a text no data set came with a package, so these are
made: places and surnames are entries of Open English WordNet, told apart by their
definitions; first names, the kinds of firms and the sentences were written for the
course. The truth is known by construction. So is how easy they are: a share that a
model reaches here says nothing of CoNLL or SQuAD, whose sentences people wrote for
other purposes.

Names are divided *before* any sentence is made (`names(seed)`), or a model would be
tested on names that it has met. All is in small letters, and words are what stands
between spaces; a full stop of a text is a word of its own.
"""

import random
import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from reference_impl.corpora.readers import load

FIRST = (
    "anna peter maria john ruth paul clara henry lucy max eva hugo nora felix ada oscar"
    " ida simon emma karl rosa leo vera otto mary david olga frank grace martin julia"
    " adam helen robert sofia victor irene walter edith bruno"
).split()
FIRMS = (
    "bank",
    "trust",
    "mills",
    "motors",
    "press",
    "shipping",
    "insurance",
    "brothers",
    "college",
    "railway",
)
PLACE = re.compile(
    r"(?:an? |the )?(?:\w+ ){0,3}(?:city|town|port|village|capital)\b.* (?:in|of|on) "
)
LIFE = re.compile(r"\(\d{4}-\d{4}\)")

SEEN = (
    "PER works at ORG in LOC",
    "ORG opened a branch in LOC",
    "PER was born in LOC",
    "the river at LOC rose last night",
    "PER sat on the bank of the river with PER",
    "ORG lends money to ORG",
    "yesterday PER left ORG",
    "trains from LOC to LOC are late",
    "a spokesman for ORG met PER",
    "PER and PER founded ORG",
    "the mayor of LOC thanked PER",
    "ORG sold its house in LOC to PER",
    "nobody in LOC has heard of PER",
    "the bank keeps money safe",
    "shares of ORG fell",
    "PER wrote a letter to ORG",
)
UNSEEN = (
    "PER asked ORG for a loan",
    "we drove through LOC with PER",
    "ORG was founded in LOC by PER",
    "after a year in LOC PER joined ORG",
    "the head of ORG comes from LOC",
    "LOC lies on the bank of the river",
    "a judge in LOC fined ORG",
    "PER told PER about LOC",
)


class Tagged(NamedTuple):
    """A sentence's words and a tag for each: B-PER, I-PER, ..., O."""

    words: list[str]
    tags: list[str]


class Names(NamedTuple):
    """What names are made of; no two parts share one."""

    first: list[str]
    last: list[str]
    places: list[str]

    def drawn(self, kind: str, chance: random.Random) -> list[str]:
        """The words of a new PER, LOC or ORG; all but some places have two or three."""
        last, place, firm = (
            chance.choice(self.last),
            chance.choice(self.places),
            chance.choice(FIRMS),
        )
        if kind == "PER":
            return (
                [chance.choice(self.first), last] if chance.random() < 0.8 else [last]
            )
        if kind == "LOC":
            return [place]
        other = chance.choice(self.last)
        return chance.choice(
            [
                [last, firm],
                [place, firm],
                [last, "and", other],
                ["bank", "of", place],
                ["university", "of", place],
            ]
        )


@cache
def _real() -> tuple[list[str], list[str]]:
    """Places and surnames of the dictionary; a word that is both, or has another
    meaning, is neither.

    Nor is a first name, or a word of the sentences: *Born* was a physicist, and here
    people are born.
    """
    forms = [
        *SEEN,
        *UNSEEN,
        *(
            form
            for _, said, questions in RELATIONS.values()
            for form in (*said, *questions)
        ),
    ]
    ours = {*FIRST, *FIRMS, *(word for form in forms for word in form.split())}
    kinds: dict[str, set[str]] = {}
    for line in load("oewn_glosses"):
        word, _, gloss = line.partition(" ")
        kind = (
            "place" if PLACE.match(gloss) else "name" if LIFE.search(gloss) else "other"
        )
        if re.fullmatch("[a-z]{4,12}", word) and word not in ours:
            kinds.setdefault(word, set()).add(kind)
    return tuple(
        sorted(word for word, some in kinds.items() if some == {kind})
        for kind in ("place", "name")
    )


def names(seed: int) -> tuple[Names, Names]:
    """Two halves of all names, divided anew for each seed: one to train with, one to be
    tested with.
    """
    chance, halves = random.Random(seed), []
    places, last = _real()
    for some in (FIRST, last, places):
        some = chance.sample(some, len(some))
        halves.append((some[::2], some[1::2]))
    return Names(*(half for half, _ in halves)), Names(*(half for _, half in halves))


def tagged(some: Names, forms: Sequence[str], count: int, seed: int) -> list[Tagged]:
    """Sentences with these names put into these forms."""
    chance, made = random.Random(seed), []
    for _ in range(count):
        words, tags = [], []
        for word in chance.choice(forms).split():
            name = some.drawn(word, chance) if word.isupper() else None
            words += name or [word]
            tags += [f"B-{word}", *[f"I-{word}"] * (len(name) - 1)] if name else ["O"]
        made.append(Tagged(words, tags))
    return made


class Asked(NamedTuple):
    """A question and a text; words `start` to `end` of the text, both included, answer
    it. `people` are named in it.
    """

    question: list[str]
    text: list[str]
    start: int
    end: int
    people: list[list[str]]

    @property
    def answer(self) -> str:
        """The answer's words."""
        return " ".join(self.text[self.start : self.end + 1])


# What is said of a person P and of X, in two ways, and what is asked: first for X, then
# for P.
RELATIONS = {
    "work": (
        "ORG",
        ("P works at X", "X employs P"),
        ("who pays the wages of P", "who works at X"),
    ),
    "birth": (
        "LOC",
        ("P was born in X", "X is where P grew up"),
        ("where is the childhood home of P", "who comes from X"),
    ),
    "loan": (
        "ORG",
        ("X lends money to P", "P owes money to X"),
        ("who is the lender of P", "who has borrowed from X"),
    ),
}


def asked(some: Names, count: int, seed: int, people: int = 2) -> list[Asked]:
    """Questions on texts in which all persons stand in the same two relations, so that
    others do what is asked for, too.

    Sentences come in any order, each with a full stop. Neither the kind of the answer
    nor the name in the question singles one out.
    """
    chance, made = random.Random(seed), []
    while len(made) < count:
        persons = [some.drawn("PER", chance) for _ in range(people)]
        both = chance.sample(sorted(RELATIONS), 2)
        facts = [
            (person, relation, some.drawn(RELATIONS[relation][0], chance))
            for person in persons
            for relation in both
        ]
        chosen, of_x = chance.choice(facts), chance.random() < 0.5
        if len({word for person in persons for word in person}) < sum(
            map(len, persons)
        ) or len({" ".join(x) for _, _, x in facts}) < len(facts):
            continue  # two that could be taken for each other
        text, place, length = [], 0, 0
        for fact in chance.sample(facts, len(facts)):
            person, relation, other = fact
            for word in chance.choice(RELATIONS[relation][1]).split():
                put = {"P": person, "X": other}.get(word, [word])
                if fact is chosen and word == ("X" if of_x else "P"):
                    place, length = len(text), len(put)
                text += put
            text.append(".")
        person, relation, other = chosen
        words = RELATIONS[relation][2][0 if of_x else 1].split()
        question = [
            part
            for word in words
            for part in {"P": person, "X": other}.get(word, [word])
        ]
        made.append(Asked(question, text, place, place + length - 1, persons))
    return made

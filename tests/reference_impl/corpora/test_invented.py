"""Invented sentences: names divided before they are used, tags that give the names back, answers
that are in the text once.
"""

import random

import pytest

from reference_impl.corpora.invented import FIRMS, RELATIONS, SEEN, UNSEEN, asked, names, tagged
from reference_impl.measure.spans import entities

PLAIN = {word for form in (*SEEN, *UNSEEN) for word in form.split()} | {
    "and",
    "of",
    "university",
    *FIRMS,
}


@pytest.mark.parametrize("seed", [0, 1])
def test_no_name_is_on_both_sides_and_all_are_on_one(seed):
    here, there = names(seed)
    for one, other in zip(here, there, strict=True):
        assert len(one) > 15 and not set(one) & set(other) and abs(len(one) - len(other)) <= 1
    assert names(seed)[0] == here and names(seed + 1)[0] != here
    assert sorted(here.last + there.last) == sorted(
        names(seed + 1)[0].last + names(seed + 1)[1].last
    )


def test_known_names_are_sorted_by_what_the_dictionary_says():
    here, there = names(0)
    assert {"euler", "rilke"} <= {*here.last, *there.last} and {"lisboa", "casablanca"} <= {
        *here.places,
        *there.places,
    }
    assert not {"bank", "river", "washington"} & {
        *here.last,
        *there.last,
        *here.places,
        *there.places,
    }  # one is both


@pytest.mark.parametrize("forms", [SEEN, UNSEEN])
def test_tags_name_what_was_put_in_and_nothing_else(forms):
    here, there = names(3)
    known = {*here.first, *here.last, *here.places}
    kinds = set()
    for words, tags in tagged(here, forms, 300, 5):
        assert len(words) == len(tags) and not {*there.first, *there.last, *there.places} & set(
            words
        )
        covered = set()
        for kind, start, end in entities(tags):
            kinds.add(kind)
            covered |= {*range(start, end)}
            assert set(words[start:end]) & known and tags[start] == f"B-{kind}"
        assert all(
            tag == "O" and words[place] in PLAIN
            for place, tag in enumerate(tags)
            if place not in covered
        )
    assert kinds == {"PER", "LOC", "ORG"}


def test_an_answer_is_what_was_asked_for_and_another_name_could_be_taken_for_it():
    here, there = names(2)
    for one in asked(here, 200, 1):
        text = " ".join(one.text)
        assert 0 <= one.start <= one.end < len(one.text) and one.answer not in " ".join(
            one.question
        )
        facts = text.removesuffix(" .").split(" . ")
        assert len(facts) == 4
        relation = next(
            key
            for key, (_, _, questions) in RELATIONS.items()
            for form in questions
            if set(form.split()) - {"P", "X"} <= set(one.question)
            and not set(form.split()) - {"P", "X"} - set(one.question)
            and all(word in one.question for word in form.split() if word not in "PX")
        )
        keys = [
            {word for word in form.split() if word not in "PX"} for form in RELATIONS[relation][1]
        ]
        assert (
            sum(any(key <= set(fact.split()) for key in keys) for fact in facts) == 2
        )  # two persons stand in it
        assert not {*there.last, *there.places} & set(one.text)


def test_the_same_seed_makes_the_same_and_another_something_else():
    here, _ = names(0)
    assert asked(here, 5, 1) == asked(here, 5, 1) != asked(here, 5, 2)
    assert tagged(here, SEEN, 5, 1) == tagged(here, SEEN, 5, 1) != tagged(here, SEEN, 5, 2)
    assert here.drawn("LOC", random.Random(0)) == here.drawn("LOC", random.Random(0))

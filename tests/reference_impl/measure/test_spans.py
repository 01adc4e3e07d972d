"""Entities as conlleval reads them: its rules by hand, and the example that seqeval publishes."""

import random

import pytest

from reference_impl.measure.metrics import MetricError
from reference_impl.measure.spans import entities, entity_scores, of_words


@pytest.mark.parametrize(
    "tags, expected",
    [
        ("B-PER I-PER O B-LOC", [("PER", 0, 2), ("LOC", 3, 4)]),
        ("B-PER B-PER", [("PER", 0, 1), ("PER", 1, 2)]),
        ("I-PER I-PER O", [("PER", 0, 2)]),  # an entity that begins with I
        ("O I-PER B-PER I-PER", [("PER", 1, 2), ("PER", 2, 4)]),
        ("B-PER I-LOC I-LOC", [("PER", 0, 1), ("LOC", 1, 3)]),  # a kind that changes begins anew
        ("B-PER O I-PER", [("PER", 0, 1), ("PER", 2, 3)]),
        ("I-PER I-LOC I-PER", [("PER", 0, 1), ("LOC", 1, 2), ("PER", 2, 3)]),
        ("B-a-b I-a-b", [("a-b", 0, 2)]),
        ("O O", []),
        ("", []),
    ],
)
def test_ill_formed_tags_are_read_as_conlleval_reads_them(tags, expected):
    assert entities(tags.split()) == expected


def test_the_example_of_seqevals_readme_has_its_scores():
    wanted = ["O O O B-MISC I-MISC I-MISC O".split(), "B-PER I-PER O".split()]
    predicted = ["O O B-MISC I-MISC I-MISC I-MISC O".split(), "B-PER I-PER O".split()]
    found = entity_scores(predicted, wanted)
    assert found.overall == (0.5, 0.5, 0.5)
    assert found.by_kind == {"MISC": (0, 0, 0), "PER": (1, 1, 1)}
    assert found.tag_accuracy == 0.8


def conlleval_chunks(tags):
    """conlleval's startOfChunk and endOfChunk, its rules for B, I and O written down one by one."""
    chunks, start = [], None
    marks = [("O", "")] + [(tag[0], tag[2:]) for tag in tags] + [("O", "")]
    for place, ((before, old), (mark, kind)) in enumerate(zip(marks, marks[1:])):
        end_of_chunk = (before, mark) in {("B", "B"), ("B", "O"), ("I", "B"), ("I", "O")}
        end_of_chunk |= before != "O" and old != kind
        start_of_chunk = (before, mark) in {("B", "B"), ("I", "B"), ("O", "B"), ("O", "I")}
        start_of_chunk |= mark != "O" and old != kind
        if end_of_chunk:
            chunks.append((old, start, place))
        if start_of_chunk:
            start = place
    return chunks


def test_any_row_of_tags_has_the_chunks_of_conllevals_rules():
    draw = random.Random(0)
    for _ in range(500):
        tags = [draw.choice(["O", "B-X", "I-X", "B-Y", "I-Y"]) for _ in range(draw.randrange(9))]
        assert entities(tags) == conlleval_chunks(tags)


def test_tags_may_be_nearly_all_right_and_entities_wrong():
    found = entity_scores([["O"] * 19 + ["B-PER"]], [["O"] * 18 + ["B-PER", "I-PER"]])
    assert found.tag_accuracy == 0.9 and found.overall.f1 == 0
    assert found.overall == (0, 0, 0)


def test_an_entity_that_begins_with_i_counts_as_found():
    assert entity_scores([["I-PER", "I-PER", "O"]], [["B-PER", "I-PER", "O"]]).overall == (1, 1, 1)


def test_the_right_span_of_another_kind_is_wrong_for_both_kinds():
    found = entity_scores([["B-LOC", "O", "B-PER"]], [["B-PER", "O", "B-PER"]])
    assert found.by_kind == {"LOC": (0, 0, 0), "PER": (1, 0.5, 2 / 3)}
    assert found.overall == (0.5, 0.5, 0.5)


def test_a_words_prediction_is_that_of_its_first_piece():
    assert of_words([None, 0, 0, 1, 2, 2, None], list("abcdefg")) == ["b", "d", "e"]
    assert of_words([0, 1], [3, 4]) == [3, 4]


def test_what_cannot_be_scored_is_refused():
    with pytest.raises(MetricError, match="'X-PER' is no tag"):
        entities(["X-PER"])
    for tag in ("B", "I-", "PER", "O-PER"):
        with pytest.raises(MetricError, match="is no tag"):
            entities([tag])
    with pytest.raises(MetricError, match="lengths differ"):
        entity_scores([["O"]], [["O", "O"]])
    with pytest.raises(MetricError, match="no words"):
        entity_scores([[]], [[]])
    with pytest.raises(MetricError, match="1 predictions but 2 tokens"):
        of_words([0, 1], ["O"])

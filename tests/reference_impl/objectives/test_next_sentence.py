"""Sentence pairs by their construction and counted; the joint loss against BERT's and ALBERT's in
transformers.
"""

import pytest
import torch
import transformers

from reference_impl.models.albert import AlbertForPreTraining
from reference_impl.models.bert import BertForPreTraining
from reference_impl.objectives.batches import ObjectiveError
from reference_impl.objectives.masked_lm import Masking
from reference_impl.objectives.next_sentence import (
    Pair,
    PairCollator,
    masked_lm_and_pairs,
    next_sentence_pairs,
    sentence_order_pairs,
)
from reference_impl.objectives.terms import IGNORED

PAD, CLS, SEP, MASK = range(4)
MASKING = Masking(mask_id=MASK, vocab_size=41, special_ids=(PAD, CLS, SEP, MASK))
# sentence [d, s]: document d, place s
DOCUMENTS = [
    [[document, sentence] for sentence in range(5, 5 + size)]
    for document, size in ((10, 30), (20, 4), (30, 1))
]


def many(make, draws=100):
    generator = torch.Generator().manual_seed(0)
    return [pair for _ in range(draws) for pair in make(DOCUMENTS, generator)]


def test_half_of_the_pairs_follow_each_other_and_the_other_half_come_from_another_document():
    pairs = many(next_sentence_pairs)
    assert len(pairs) == 100 * (29 + 3)
    for (document, place), second, label in pairs:
        assert (second == [document, place + 1]) if label == 0 else (second[0] != document)
    elsewhere = sum(pair.label for pair in pairs)
    assert abs(elsewhere - 1600) < 4 * 800**0.5
    assert {pair.second[0] for pair in pairs if pair.label and pair.first[0] == 10} == {20, 30}


def test_sentence_order_pairs_are_neighbours_and_half_of_them_exchanged():
    pairs = many(sentence_order_pairs)
    for first, second, label in pairs:
        assert first[0] == second[0]
        assert second[1] - first[1] == (-1 if label else 1)
    assert abs(sum(pair.label for pair in pairs) - 1600) < 4 * 800**0.5


def test_the_same_seed_makes_the_same_pairs():
    assert many(next_sentence_pairs, 2) == many(next_sentence_pairs, 2)


def test_a_pair_is_laid_out_as_in_figure_2_and_the_longer_text_cut_first(generator):
    batch = PairCollator(MASKING, CLS, SEP, max_length=10)(
        [Pair([5, 6], [7], 0), Pair([8] * 20, [9, 9], 1)], generator
    )
    shown = torch.where(batch["labels"] == IGNORED, batch["ids"], batch["labels"])
    assert shown.tolist() == [
        [CLS, 5, 6, SEP, 7, SEP, *[PAD] * 4],
        [CLS, 8, 8, 8, 8, 8, SEP, 9, 9, SEP],
    ]
    assert batch["segments"].tolist() == [[0, 0, 0, 0, 1, 1, 0, 0, 0, 0], [0] * 7 + [1] * 3]
    assert batch["mask"].sum(1).tolist() == [6, 10]
    assert batch["pair_labels"].tolist() == [0, 1]


@pytest.mark.parametrize(
    "family, ours_class, label",
    [
        ("Bert", BertForPreTraining, "next_sentence_label"),
        ("Albert", AlbertForPreTraining, "sentence_order_label"),
    ],
)
def test_the_joint_loss_is_that_of_transformers(
    same, tiny_bert, generator, family, ours_class, label
):
    narrow = {"embedding_size": 6} if family == "Albert" else {}
    config = getattr(transformers, f"{family}Config")(**tiny_bert, **narrow)
    theirs = getattr(transformers, f"{family}ForPreTraining")(config)
    ours = same(ours_class, theirs)
    pairs = next_sentence_pairs(DOCUMENTS, generator)[:7]
    assert {pair.label for pair in pairs} == {0, 1}
    batch = PairCollator(MASKING, CLS, SEP, max_length=20)(pairs, generator)
    expected = theirs(
        batch["ids"],
        attention_mask=batch["mask"].long(),
        token_type_ids=batch["segments"],
        labels=batch["labels"],
        **{label: batch["pair_labels"]},
    ).loss
    found = masked_lm_and_pairs(ours, batch)
    torch.testing.assert_close(found.mean, expected, rtol=1e-10, atol=0)
    assert found.count == int((batch["labels"] != IGNORED).sum())


@pytest.mark.parametrize(
    "make, says",
    [
        (lambda g: next_sentence_pairs(DOCUMENTS[:1], g), "need a second document"),
        (lambda g: sentence_order_pairs([[[5]], [[6]]], g), "no document has two sentences"),
        (lambda g: sentence_order_pairs([[[5], []]], g), "a sentence has no tokens"),
        (lambda g: PairCollator(MASKING, CLS, SEP, max_length=4), "max_length is 4"),
    ],
)
def test_documents_without_pairs_are_refused(generator, make, says):
    with pytest.raises(ObjectiveError, match=says):
        make(generator)


def test_a_pair_label_that_is_neither_is_refused(generator):
    batch = PairCollator(MASKING, CLS, SEP, max_length=9)([Pair([5], [6], 2)], generator)
    with pytest.raises(ObjectiveError, match="label 2 but 2 classes"):
        masked_lm_and_pairs(torch.nn.Identity(), batch)

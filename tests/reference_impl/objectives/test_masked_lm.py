"""Masking measured over many draws; the loss against BertForMaskedLM in transformers."""

import pytest
import torch
import transformers

from reference_impl.models.bert import BertForMaskedLM
from reference_impl.objectives.batches import ObjectiveError
from reference_impl.objectives.masked_lm import Masking, continuing_ids, masked_lm
from reference_impl.objectives.terms import IGNORED

PAD, CLS, SEP, MASK = range(4)
MASKING = Masking(mask_id=MASK, vocab_size=41, special_ids=(PAD, CLS, SEP, MASK))
ROWS = [[CLS, *range(4, 34), SEP, *range(10, 20), SEP], [CLS, *range(7, 40), SEP], [CLS, 5, SEP]]


def near(found, share, draws):
    """Within four standard deviations of a binomial: by chance a test with a fixed seed would fail
    once in 16,000.
    """
    return abs(found - share) < 4 * (share * (1 - share) / draws) ** 0.5


def test_15_percent_are_chosen_and_of_these_80_blanked_10_replaced_10_kept(generator):
    ids = torch.randint(4, 41, (200, 100), generator=generator)
    changed, labels = MASKING.mask_tokens(ids, generator)
    chosen = labels != IGNORED
    assert (chosen.sum(1) == 15).all()
    count = int(chosen.sum())
    assert near(float((changed[chosen] == MASK).float().mean()), 0.8, count)
    # one replacement in 37 happens to be the token itself
    assert near(float((changed[chosen] == ids[chosen]).float().mean()), 0.1 + 0.1 / 37, count)
    assert torch.equal(labels[chosen], ids[chosen])
    assert torch.equal(changed[~chosen], ids[~chosen])


def test_every_place_is_equally_likely_and_every_ordinary_token_may_replace(generator):
    ids = torch.randint(4, 41, (4000, 20), generator=generator)
    changed, labels = MASKING.mask_tokens(ids, generator)
    shares = (labels != IGNORED).float().mean(0)
    assert all(near(float(share), 0.15, 4000) for share in shares)
    swapped = changed[(labels != IGNORED) & (changed != MASK) & (changed != ids)]
    assert swapped.unique().tolist() == list(range(4, 41))


def test_special_tokens_and_padding_are_never_chosen(generator):
    for _ in range(200):
        batch = MASKING(ROWS, generator)
        original = torch.where(batch["labels"] == IGNORED, batch["ids"], batch["labels"])
        assert original.tolist() == [[*row, *[PAD] * (43 - len(row))] for row in ROWS]
        assert not torch.isin(batch["labels"], torch.tensor([PAD, CLS, SEP, MASK])).any()
        assert (batch["labels"] != IGNORED).sum(1).tolist() == [6, 5, 1]  # 40, 33 and 1 free tokens


def test_a_token_that_looks_like_padding_is_masked_only_as_text():
    """RoBERTa's and GPT's padding may be an ordinary id: the mask says what padding is."""
    masking = Masking(mask_id=3, vocab_size=9, special_ids=(3,), pad_id=5, share=1.0)
    batch = masking([[5, 5, 5], [6]], torch.Generator().manual_seed(0))
    assert batch["labels"].tolist() == [[5, 5, 5], [6, IGNORED, IGNORED]]


def test_the_same_seed_gives_the_same_batch_and_the_next_call_another(generator):
    first, second = MASKING(ROWS, generator), MASKING(ROWS, generator)
    again = MASKING(ROWS, torch.Generator().manual_seed(0))
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not torch.equal(first["labels"], second["labels"])


def test_whole_words_are_chosen_with_all_their_pieces(generator):
    tokens = [
        "[PAD]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        "play",
        "##ing",
        "##ful",
        "un",
        "##able",
        "go",
        "to",
        "##day",
    ]
    continues = continuing_ids(tokens)
    assert continues == {5, 6, 8, 11}
    masking = Masking(MASK, len(tokens), (PAD, CLS, SEP, MASK), share=0.3, continues=continues)
    words = [[1], [2], [3], [4, 5, 6], [7], [9], [10, 11]]
    row = [
        CLS,
        9,
        10,
        7,
        4,
        5,
        6,
        SEP,
        11,
        9,
        10,
        11,
        SEP,
    ]  # after [SEP], "##day" is what is left of a cut word
    places = [[1], [2], [3], [4, 5, 6], [8], [9], [10, 11]]
    seen = torch.zeros(len(words))
    for _ in range(400):
        chosen = (masking([row], generator)["labels"][0] != IGNORED).nonzero().flatten().tolist()
        taken = [word for word in places if set(word) <= set(chosen)]
        assert sorted(place for word in taken for place in word) == chosen
        assert len(chosen) == 3  # 30 % of 10 free tokens
        seen += torch.tensor([float(word in taken) for word in places])
    assert (seen > 20).all()


def test_a_word_with_more_pieces_than_may_be_chosen_is_passed_over(generator):
    masking = Masking(MASK, 12, (PAD, CLS, SEP, MASK), share=0.2, continues=frozenset({5}))
    for _ in range(50):
        labels = masking([[CLS, 4, 5, 5, 5, 6, SEP]], generator)["labels"]  # 20 % of 5 is one
        assert labels.tolist() == [[IGNORED] * 5 + [6, IGNORED]]


def test_the_loss_is_that_of_bert_in_transformers_and_counts_the_chosen_only(
    same, tiny_bert, generator
):
    theirs = transformers.BertForMaskedLM(transformers.BertConfig(**tiny_bert))
    ours = same(BertForMaskedLM, theirs)
    batch = MASKING([row[:40] for row in ROWS], generator)
    expected = theirs(
        batch["ids"], attention_mask=batch["mask"].long(), labels=batch["labels"]
    ).loss
    found = masked_lm(ours, batch)
    torch.testing.assert_close(found.mean, expected, rtol=1e-10, atol=0)
    assert found.count == int((batch["labels"] != IGNORED).sum())
    found.mean.backward()
    expected.backward()
    torch.testing.assert_close(
        ours.bert.embeddings.word.weight.grad[1:],
        theirs.bert.embeddings.word_embeddings.weight.grad[1:],
        rtol=1e-8,
        atol=1e-12,
    )


@pytest.mark.parametrize(
    "settings, says",
    [
        ({"share": 1.2}, "share is 1.2"),
        ({"share": -0.1}, "share is -0.1"),
        ({"replaced": 0.3}, "masked \\+ replaced is 1.1"),
        ({"mask_id": 41}, "mask_id is 41 but the vocabulary has 41"),
        ({"special_ids": range(41)}, "every entry .* is special"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, says):
    with pytest.raises(ObjectiveError, match=says):
        Masking(**{"mask_id": 3, "vocab_size": 41, "special_ids": (0, 1, 2, 3)} | settings)


def test_an_empty_text_and_a_batch_without_its_mask_are_refused(generator):
    with pytest.raises(ObjectiveError, match="example 1 has no tokens"):
        MASKING([[4], []], generator)
    with pytest.raises(ObjectiveError, match="but no mask"):
        batch = MASKING(ROWS, generator)
        masked_lm(torch.nn.Identity(), {"ids": batch["ids"], "labels": batch["labels"]})


def test_for_every_length_as_many_are_chosen_as_the_releases_own_line_says():
    masking = Masking(mask_id=1, vocab_size=9, special_ids=(0,))
    lengths = torch.arange(1, 2001)
    free = torch.arange(2000) < lengths[:, None]
    assert masking._how_many(free).tolist() == [
        max(1, int(round(n * 0.15))) for n in lengths.tolist()
    ]

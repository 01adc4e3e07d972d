"""Spans against T5's own formulas and numbers; the loss against T5ForConditionalGeneration in
transformers.
"""

import pytest
import torch
import transformers

from reference_impl.models.t5 import T5
from reference_impl.objectives.batches import ObjectiveError
from reference_impl.objectives.sequence_to_sequence import PairedSequences, sequence_to_sequence
from reference_impl.objectives.span_corruption import SpanCorruption
from reference_impl.objectives.terms import IGNORED

T5_BASE = SpanCorruption(vocab_size=32_100, end_id=1)
SMALL = SpanCorruption(vocab_size=60, end_id=1, num_sentinels=10)


def test_a_source_of_512_is_made_of_568_tokens_and_has_a_target_of_114_as_t5_was_trained():
    assert T5_BASE.longest_text(512) == 568
    assert T5_BASE.lengths(568) == (512, 114)
    assert T5_BASE.lengths(569)[0] > 512


def test_lengths_told_in_advance_are_those_of_the_draw_and_the_target_is_shorter(generator):
    for length in range(2, 200, 3):
        source, target = T5_BASE.corrupt(list(range(5, 5 + length)), generator)
        assert (len(source) + 1, len(target) + 1) == T5_BASE.lengths(length)
        assert length < 20 or len(target) < 0.3 * length


def test_15_percent_are_lost_in_spans_of_3_and_every_kept_and_lost_span_has_a_token(generator):
    lost = torch.stack([T5_BASE.lost(100, generator) for _ in range(3000)])
    assert (lost.sum(1) == 15).all()
    starts = (lost[:, 1:] & ~lost[:, :-1]).sum(1)
    assert (starts == 5).all()
    assert not lost[:, 0].any()
    assert lost[:, -1].all()
    # all compositions of 15 into 5 are equally likely: a first span of one token has C(13, 3) of
    # C(14, 4) of them
    first = lost.int().argmax(1)
    single = (~lost[torch.arange(3000), first + 1]).float().mean().item()
    assert abs(single - 286 / 1001) < 4 * (0.2857 * 0.7143 / 3000) ** 0.5


def test_source_and_target_are_laid_out_as_in_figure_2(generator):
    text = list(range(20, 32))
    source, target = SpanCorruption(60, 1, 10, share=0.25, mean_span=1.5).corrupt(text, generator)
    assert [token for token in source if token >= 50] == [59, 58]
    assert [token for token in target if token >= 50] == [59, 58]
    assert target[0] == 59
    assert source[-1] == 58
    assert sorted(token for token in source + target if token < 50) == text


def test_source_and_target_together_give_the_text_back(generator):
    for length in (2, 3, 7, 40, 60):
        text = torch.randint(5, 50, (length,), generator=generator).tolist()
        assert SMALL.restore(*SMALL.corrupt(text, generator)) == text


def test_the_loss_is_that_of_t5_in_transformers(same, generator):
    theirs = transformers.T5ForConditionalGeneration(
        transformers.T5Config(
            vocab_size=60,
            d_model=12,
            d_kv=4,
            d_ff=17,
            num_layers=2,
            num_heads=3,
            decoder_start_token_id=0,
        )
    )
    ours = same(T5, theirs)
    batch = SMALL([list(range(5, 45)), list(range(7, 20)), [8, 9]], generator)
    expected = theirs(
        batch["source"], attention_mask=batch["source_mask"].long(), labels=batch["labels"]
    ).loss
    found = sequence_to_sequence(ours, batch)
    torch.testing.assert_close(found.mean, expected, rtol=1e-6, atol=0)
    assert found.count == SMALL.lengths(40)[1] + SMALL.lengths(13)[1] + SMALL.lengths(2)[1]


def test_the_decoder_reads_the_target_one_place_late_and_padding_is_no_label():
    batch = PairedSequences(end_id=1)([([5, 6], [7, 8, 9]), ([5], [])])
    assert batch["source"].tolist() == [[5, 6, 1], [5, 1, 0]]
    assert batch["source_mask"].tolist() == [[True] * 3, [True, True, False]]
    assert batch["target"].tolist() == [[0, 7, 8, 9], [0, 0, 0, 0]]
    assert batch["labels"].tolist() == [[7, 8, 9, 1], [1, *[IGNORED] * 3]]


@pytest.mark.parametrize(
    "make, says",
    [
        (lambda g: SMALL([[5, 6], [7]], g), "a text of 1 tokens"),
        (lambda g: SMALL([[]], g), "a text of 0 tokens"),
        (lambda g: SMALL.corrupt([5, 50], g), "id 50 is one of the sentinels, the last 10 of 60"),
        (
            lambda g: SMALL.corrupt([5] * 400, g),
            "400 tokens make 20 spans but there are 10 sentinels",
        ),
        (lambda g: SMALL.restore([5], [6]), "starts with 6, which is no sentinel"),
        (lambda g: SMALL.longest_text(2), "a source of 2"),
        (lambda g: SpanCorruption(60, 1, share=1.5), "share is 1.5"),
        (lambda g: SpanCorruption(60, 1, mean_span=0.5), "mean_span is 0.5"),
        (lambda g: PairedSequences(1)([([], [5])]), "example 0 has no tokens"),
    ],
)
def test_texts_and_settings_that_cannot_be_corrupted_are_refused(generator, make, says):
    with pytest.raises(ObjectiveError, match=says):
        make(generator)

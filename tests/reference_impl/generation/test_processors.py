"""Each processor against transformers' class of the same purpose, bit for bit, and rows together
against rows alone.
"""

import pytest
import torch
from transformers.generation import logits_process as theirs

from reference_impl.generation import processors as ours
from reference_impl.generation.sampling_params import GenerationError, SamplingParams

VOCAB = 53


def some_logits():
    """Ordinary, flat (all tie), rounded (some tie), one token far above, some forbidden already."""
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(6, VOCAB, generator=generator) * 3
    logits[1] = 0
    logits[2] = logits[2].round()
    logits[3, 17] = 60
    logits[4, ::3] = -torch.inf
    return logits


def rows(value):
    return torch.full((6,), value, dtype=torch.float64)


def ids():
    return torch.randint(VOCAB, (6, 9), generator=torch.Generator().manual_seed(1))


def assert_exact(found, expected):
    assert torch.equal(found, expected)


@pytest.mark.parametrize("value", [0.3, 0.7, 1.3, 100.0])
def test_temperature_is_transformers(value):
    assert_exact(
        ours.divide_by_temperature(some_logits(), rows(value)),
        theirs.TemperatureLogitsWarper(value)(None, some_logits()),
    )


@pytest.mark.parametrize("k", [1, 2, 10, VOCAB - 1, VOCAB, VOCAB + 5])
def test_top_k_is_transformers_ties_at_the_border_included(k):
    assert_exact(
        ours.keep_top_k(some_logits(), torch.full((6,), k)),
        theirs.TopKLogitsWarper(k)(None, some_logits()),
    )


@pytest.mark.parametrize("p", [1e-9, 1e-6, 0.1, 0.5, 0.9, 0.999])
def test_top_p_is_transformers(p):
    assert_exact(
        ours.keep_top_p(some_logits(), rows(p)), theirs.TopPLogitsWarper(p)(None, some_logits())
    )


@pytest.mark.parametrize("p", [0.0, 0.01, 0.3, 1.0])
def test_min_p_is_transformers(p):
    assert_exact(
        ours.keep_min_p(some_logits(), rows(p)), theirs.MinPLogitsWarper(p)(None, some_logits())
    )


@pytest.mark.parametrize("p", [1e-6, 0.2, 0.6, 0.95])
def test_typical_is_transformers(p):
    assert_exact(
        ours.keep_typical(some_logits(), rows(p)),
        theirs.TypicalLogitsWarper(p)(None, some_logits()),
    )


@pytest.mark.parametrize("penalty", [0.8, 1.2, 3.0])
def test_repetition_penalty_is_transformers(penalty):
    seen = torch.zeros(6, VOCAB, dtype=torch.bool).scatter(1, ids(), True)
    assert_exact(
        ours.penalise_repetition(some_logits(), seen, rows(penalty)),
        theirs.RepetitionPenaltyLogitsProcessor(penalty)(ids(), some_logits()),
    )


def test_bias_is_transformers():
    bias = {(3,): 5.0, (17,): -100.0, (0,): 0.5}
    given = torch.zeros(6, VOCAB)
    for (token,), value in bias.items():
        given[:, token] = value
    expected = theirs.SequenceBiasLogitsProcessor(sequence_bias=bias)(ids(), some_logits())
    assert_exact(ours.add_bias(some_logits(), given), expected)


def test_allowed_ids_are_transformers_prefix_constraint():
    allowed = torch.zeros(6, VOCAB, dtype=torch.bool)
    for row in range(6):
        allowed[row, [row, 20 + row]] = True
    expected = theirs.PrefixConstrainedLogitsProcessor(lambda row, _: [row, 20 + row], 1)(
        ids(), some_logits()
    )
    assert_exact(ours.keep_allowed(some_logits(), allowed), expected)


def test_presence_counts_once_and_frequency_each_time():
    """By OpenAI's formula: logit - count * frequency - (count > 0) * presence."""
    logits, counts = torch.tensor([[1.0, 2.0, 3.0]]), torch.tensor([[0, 1, 4]])
    half = torch.tensor([0.5])
    assert ours.penalise_presence(logits, counts, half).tolist() == [[1.0, 1.5, 2.5]]
    assert ours.penalise_frequency(logits, counts, half).tolist() == [[1.0, 1.5, 1.0]]


MIXED = [
    SamplingParams(),
    SamplingParams(temperature=0, repetition_penalty=1.5),
    SamplingParams(temperature=0.5, top_k=7),
    SamplingParams(top_p=0.5, min_p=0.1, presence_penalty=1.0),
    SamplingParams(typical_p=0.5, logit_bias={4: 2.0}),
    SamplingParams(frequency_penalty=-1.0, allowed_token_ids=(1, 2, 30), min_tokens=12),
]


def test_rows_together_are_rows_alone_and_a_neutral_row_is_untouched():
    prompts, outputs = ids()[:, :4].tolist(), ids()[:, 4:].tolist()
    ends = [[2]] * 6
    together = ours.process(some_logits(), MIXED, prompts, outputs, ends)
    for row, params in enumerate(MIXED):
        alone = ours.process(
            some_logits()[row : row + 1],
            [params],
            prompts[row : row + 1],
            outputs[row : row + 1],
            [[2]],
        )
        assert_exact(together[row : row + 1], alone)
    assert_exact(together[0], some_logits()[0])


def test_the_order_is_transformers():
    params = SamplingParams(
        logit_bias={5: 3.0},
        repetition_penalty=1.4,
        temperature=0.6,
        top_k=20,
        top_p=0.8,
        min_p=0.02,
        typical_p=0.9,
    )
    expected = some_logits()
    for step in (
        theirs.SequenceBiasLogitsProcessor({(5,): 3.0}),
        theirs.RepetitionPenaltyLogitsProcessor(1.4),
        theirs.TemperatureLogitsWarper(0.6),
        theirs.TopKLogitsWarper(20),
        theirs.TopPLogitsWarper(0.8),
        theirs.MinPLogitsWarper(0.02),
        theirs.TypicalLogitsWarper(0.9),
    ):
        expected = step(ids(), expected)
    found = ours.process(some_logits(), [params] * 6, ids()[:, :4].tolist(), ids()[:, 4:].tolist())
    assert_exact(found, expected)


def test_repetition_looks_at_the_prompt_presence_at_the_output_alone():
    logits = torch.tensor([[4.0, 4.0, 4.0]])
    assert ours.process(
        logits, [SamplingParams(repetition_penalty=2.0)], [[0]], [[1]]
    ).tolist() == [[2, 2, 4]]
    assert ours.process(logits, [SamplingParams(presence_penalty=2.0)], [[0]], [[1]]).tolist() == [
        [4, 2, 4]
    ]


def test_an_id_outside_the_vocabulary_is_refused_with_its_row():
    with pytest.raises(
        GenerationError, match="row 1: allowed_token_ids has id 3 but the vocabulary 3"
    ):
        ours.process(
            torch.zeros(2, 3),
            [SamplingParams(), SamplingParams(allowed_token_ids=(3,))],
            [[0]] * 2,
            [[]] * 2,
        )
    with pytest.raises(GenerationError, match="row 0: logit_bias has id 9"):
        ours.process(torch.zeros(1, 3), [SamplingParams(logit_bias={9: 1.0})], [[0]], [[]])

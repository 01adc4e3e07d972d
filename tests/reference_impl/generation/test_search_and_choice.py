"""Beams, choices, T5, scores, votes: against transformers and against counting all."""

import itertools
import math
import random

import pytest
import torch
import transformers
from torch import nn
from torch.nn.functional import cross_entropy

from reference_impl.generation.beam import beam_search
from reference_impl.generation.budget import forced_thinking
from reference_impl.generation.constrained import Trie, choose
from reference_impl.generation.encoder_decoder import translate
from reference_impl.generation.loop import generate
from reference_impl.generation.sampling_params import GenerationError, SamplingParams
from reference_impl.generation.scoring import score_continuations
from reference_impl.generation.search import (
    best_of_n,
    pass_at_k,
    self_consistency,
    tree_search,
    weighted_vote,
)
from reference_impl.models.t5 import T5, T5Config
from reference_impl.models.transformer import Transformer, TransformerConfig
from reference_impl.weights.pretrained import config_from, load_hugging_face

PROMPT = [5, 9, 2]


@pytest.mark.parametrize("early_stopping", [True, False, "never"])
@pytest.mark.parametrize("penalty", [0.0, 1.0, 2.0, -1.0])
@pytest.mark.parametrize("family", ["gpt", "llama"])
def test_beams_are_transformers_token_for_token_and_in_score(
    pairs, family, penalty, early_stopping
):
    ours, theirs = pairs[family]
    for end in (7, 20):
        expected = theirs.generate(
            torch.tensor([PROMPT]),
            attention_mask=torch.ones(1, 3),
            num_beams=3,
            num_return_sequences=3,
            max_new_tokens=7,
            length_penalty=penalty,
            early_stopping=early_stopping,
            eos_token_id=end,
            pad_token_id=0,
            do_sample=False,
            return_dict_in_generate=True,
            output_scores=True,
        )
        rows = [
            row[: row.index(end) + 1] if end in row else row
            for row in expected.sequences[:, 3:].tolist()
        ]
        found = beam_search(ours, PROMPT, 3, 7, [end], penalty, early_stopping)
        assert [each.ids for each in found] == rows
        torch.testing.assert_close(
            torch.tensor([each.score for each in found]),
            expected.sequences_scores,
            rtol=1e-5,
            atol=1e-5,
        )
        assert [
            each.ids
            for each in beam_search(ours, PROMPT, 3, 7, [end], penalty, early_stopping, cache=False)
        ] == rows


def test_beams_with_many_ends_stop_when_transformers_stop(pairs):
    ours, theirs = pairs["gpt"]
    ends, found = [3, 7, 9, 20, 30, 33], {}
    for early_stopping, penalty in itertools.product((True, False, "never"), (2.0, -1.0)):
        for first in range(2, 10):
            expected = theirs.generate(
                torch.tensor([[first]]),
                attention_mask=torch.ones(1, 1),
                num_beams=2,
                num_return_sequences=2,
                max_new_tokens=10,
                length_penalty=penalty,
                early_stopping=early_stopping,
                eos_token_id=ends,
                pad_token_id=0,
                do_sample=False,
            )[:, 1:].tolist()
            rows = [
                next((row[: i + 1] for i, token in enumerate(row) if token in ends), row)
                for row in expected
            ]
            found[early_stopping, penalty, first] = [
                each.ids
                for each in beam_search(ours, [first], 2, 10, ends, penalty, early_stopping)
            ]
            assert found[early_stopping, penalty, first] == rows
    for other in (False, "never"):  # else the settings would not have been told apart
        assert any(found[True, 2.0, first] != found[other, 2.0, first] for first in range(2, 10))


class Table(nn.Module):
    """A model whose next token depends on the token before alone, by a table of probabilities."""

    def __init__(self, table):
        super().__init__()
        self.logits = nn.Parameter(torch.tensor(table).log())
        self.config, self.blocks = object(), []

    def forward(self, ids, mask=None, positions=None, cache=None):
        return self.logits[ids]


def test_two_beams_miss_the_likeliest_sequence_and_three_find_it():
    """From 0: 1, 2 and 3 with 0.4, 0.35, 0.25; after 1 and 2 all is open, after 3 comes 3 for
    certain: 0.25 wins.
    """
    open_, certain = [0.25] * 4, [1e-9, 1e-9, 1e-9, 1.0]
    model = Table([[1e-9, 0.4, 0.35, 0.25], open_, open_, certain])
    likeliest = max(
        itertools.product(range(4), repeat=2),
        key=lambda pair: float(model.logits.exp()[0, pair[0]] * model.logits.exp()[pair]),
    )
    assert likeliest == (3, 3)
    assert beam_search(model, [0], 2, 2, cache=False)[0].ids[0] == 1
    best = beam_search(model, [0], 3, 2, length_penalty=0.0, cache=False)[0]
    assert best.ids == [3, 3] and math.isclose(best.score, math.log(0.25), abs_tol=1e-5)


CHOICES = [[4, 8], [4, 8, 15], [16, 23], [30]]


def test_constrained_greedy_is_transformers_prefix_allowed_tokens(pairs):
    ours, theirs = pairs["gpt"]
    trie = Trie(CHOICES, 1)
    for first in range(2, 20):
        expected = theirs.generate(
            torch.tensor([[first]]),
            attention_mask=torch.ones(1, 1),
            max_new_tokens=4,
            do_sample=False,
            eos_token_id=1,
            pad_token_id=0,
            prefix_allowed_tokens_fn=lambda _, ids: trie.allowed(ids[1:].tolist()),
        )[0, 1:].tolist()
        assert CHOICES[choose(ours, [first], CHOICES, 1)] == expected[: expected.index(1)]


def test_a_constrained_sample_never_leaves_the_set_and_reaches_all_of_it(pairs):
    params = SamplingParams(seed=0, n=60, temperature=20.0, max_tokens=4)
    trie = Trie(CHOICES, 1)

    def allowed(output):
        assert 1 not in output  # a row that has ended is not asked about
        return trie.allowed(output)

    found = generate(pairs["gpt"][0], [[3]], params, eos_ids=[1], allowed=allowed)
    assert {tuple(each.ids[:-1]) for each in found} == {tuple(choice) for choice in CHOICES}
    assert {each.ids[-1] for each in found} == {1}
    with pytest.raises(GenerationError, match=r"no choice goes on from \[4\] with 9"):
        Trie(CHOICES, 1).allowed([4, 9])
    assert Trie(CHOICES, 1).allowed([4, 8, 1]) == Trie(CHOICES, 1).allowed([4, 8, 1, 1]) == [1]
    with pytest.raises(GenerationError, match="choice 1 is"):
        Trie([[2], []], 1)


def test_a_sampled_choice_can_be_any_and_its_parameters_are_followed(pairs):
    model = pairs["gpt"][0]

    def chosen(**settings):
        return [
            choose(model, [3], CHOICES, 1, SamplingParams(seed=seed, temperature=20.0, **settings))
            for seed in range(20)
        ]

    assert set(chosen()) == set(range(len(CHOICES)))
    first = {choice[0] for choice in CHOICES}
    kept = CHOICES[-1][0]
    away = dict.fromkeys(first - {kept}, -1e9)
    assert {CHOICES[place][0] for place in chosen(logit_bias=away)} == {kept}
    assert set(chosen(top_k=1)) == set(chosen(top_p=1e-6)) == {choose(model, [3], CHOICES, 1)}


def test_a_score_says_whether_greedy_decoding_would_have_written_all_of_it(pairs):
    model = pairs["llama"][0]
    written = generate(model, [PROMPT], SamplingParams(temperature=0, max_tokens=5))[0].ids
    other = (written[2] + 1) % 41
    continuations = [
        written[:1],
        written[:3],
        written,
        [*written[:2], other],
        [other, *written[1:]],
    ]
    scores = score_continuations(model, PROMPT, continuations)
    assert [score.greedy for score in scores] == [True, True, True, False, False]


def test_t5_writes_what_transformers_writes():
    config = transformers.T5Config(
        vocab_size=31,
        d_model=16,
        d_kv=4,
        d_ff=24,
        num_layers=2,
        num_heads=2,
        decoder_start_token_id=0,
        tie_word_embeddings=True,
    )
    theirs = transformers.T5ForConditionalGeneration(config).double().eval()
    generator = torch.Generator().manual_seed(4)
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    ours = T5(config_from(T5Config, config.to_dict())).double().eval()
    load_hugging_face(ours, theirs.state_dict())
    source = torch.randint(2, 31, (4, 6), generator=generator)
    mask = torch.arange(6) < torch.tensor([6, 3, 4, 1])[:, None]
    expected = theirs.generate(
        source, attention_mask=mask.long(), max_new_tokens=9, do_sample=False
    )[:, 1:].tolist()
    for cache in (True, False):
        found = translate(ours, source, mask, 9, cache=cache)
        assert found == [row[: row.index(1) + 1] if 1 in row else row[:9] for row in expected]
    end = found[0][2]
    assert translate(ours, source, mask, 9, [end]) == [
        row[: row.index(end) + 1] if end in row else row for row in found
    ]
    assert len({tuple(row) for row in found}) > 1 and max(len(set(row)) for row in found) > 1
    with pytest.raises(GenerationError, match="a row without a token"):
        translate(ours, source, mask & False)


@torch.no_grad()
def test_the_first_transformer_writes_the_likeliest_token_each_time_and_is_refused_a_cache():
    torch.manual_seed(2)
    model = Transformer(
        TransformerConfig(
            vocab_size=9, hidden_size=16, num_layers=2, num_heads=4, intermediate_size=24
        )
    ).eval()
    for matrix in model.parameters():
        if matrix.ndim == 2:  # as drawn, a model with tied tables repeats what it is given
            matrix.copy_(0.4 * torch.randn_like(matrix))
    source, lengths = torch.randint(2, 9, (3, 5)), (5, 2, 3)
    mask = torch.arange(5) < torch.tensor(lengths)[:, None]
    found = translate(model, source, mask, 6, eos_ids=(8,), cache=False)
    for row, ids, length in zip(found, source, lengths, strict=True):
        target = [0]
        while len(target) < 7 and target[-1] != 8:
            target.append(int(model(ids[None, :length], torch.tensor([target]))[0, -1].argmax()))
        assert row == target[1:]
    assert sorted(map(len, found)) == [2, 6, 6] and max(len(set(row)) for row in found) > 1
    with pytest.raises(GenerationError, match="keeps no keys and values: call it with cache=False"):
        translate(model, source, mask)


def test_scores_are_transformers_loss_and_per_byte(pairs):
    ours, theirs = pairs["llama"]
    continuations = [[3], [8, 2, 30, 1], [9, 9]]
    for found, continuation in zip(
        score_continuations(ours, PROMPT, continuations), continuations, strict=True
    ):
        ids = torch.tensor([PROMPT + continuation])
        loss = cross_entropy(theirs(ids).logits[0, 2:-1], ids[0, 3:], reduction="sum")
        assert math.isclose(found.total, -loss.item(), rel_tol=1e-6)
        assert math.isclose(found.per_byte("né"), -loss.item() / 3, rel_tol=1e-6)
        assert not found.greedy
    greedy = generate(ours, [PROMPT], SamplingParams(temperature=0, max_tokens=3))[0].ids
    assert score_continuations(ours, PROMPT, [greedy])[0].greedy
    with pytest.raises(GenerationError, match="continuation 1 is empty"):
        score_continuations(ours, PROMPT, [[1], []])


def test_a_vote_of_many_is_right_more_often_than_one_sample():
    """Samples right with 0.5, wrong in many ways: the binomial's bounds are far from 0.5 and from
    the vote's share.
    """
    draw = random.Random(0)
    right = 0
    for _ in range(200):
        samples = [f"so {42 if draw.random() < 0.5 else draw.randint(0, 9)}" for _ in range(15)]
        right += self_consistency(samples, lambda text: int(text.split()[1])).answer == 42
    assert right > 180
    vote = self_consistency(["a", "b", "b", "?"], lambda text: None if text == "?" else text)
    assert vote.answer == "b" and math.isclose(vote.share, 2 / 3)
    with pytest.raises(GenerationError, match="no sample has an answer"):
        self_consistency(["?"], lambda text: None)


def test_tree_search_finds_by_width_what_one_path_misses():
    """Sums of three of 1, 5, 6 that make 15: the nearest at each step ends at 13 or 17, two paths
    reach 5 + 5 + 5.
    """

    def search(width):
        return tree_search(
            (),
            lambda path: [(*path, step) for step in (1, 5, 6)],
            lambda path: -abs(15 - sum(path)),
            lambda path: sum(path) == 15,
            width,
            3,
        )

    assert search(1) is None
    assert search(4) == (5, 5, 5)


@pytest.mark.parametrize(("samples", "right"), [(1, 0), (1, 1), (5, 0), (5, 2), (6, 5), (7, 7)])
def test_pass_at_k_is_the_share_of_all_choices_of_k_that_hold_a_correct_one(samples, right):
    marks = [True] * right + [False] * (samples - right)
    for k in range(1, samples + 1):
        chosen = list(itertools.combinations(marks, k))
        assert math.isclose(
            pass_at_k(samples, right, k), sum(map(any, chosen)) / len(chosen), abs_tol=1e-12
        )
    for wrong in ((samples, right, samples + 1), (samples, right, 0), (samples, samples + 1, 1)):
        with pytest.raises(GenerationError, match="k is"):
            pass_at_k(*wrong)


def test_pass_at_k_is_right_on_average_where_a_power_of_the_rate_is_not():
    """Of ten draws with p = 0.3, the mean over outcomes is 1 - 0.7^k; c/n plugged in is less."""
    p, n, k = 0.3, 10, 4
    weight = [math.comb(n, c) * p**c * (1 - p) ** (n - c) for c in range(n + 1)]
    unbiased = sum(w * pass_at_k(n, c, k) for c, w in enumerate(weight))
    plugged = sum(w * (1 - (1 - c / n) ** k) for c, w in enumerate(weight))
    assert math.isclose(unbiased, 1 - 0.7**k) and plugged < unbiased - 0.02


def test_a_verifier_chooses_and_weighs():
    score = {"2a": 0.2, "2b": 0.3, "7a": 0.4, "7?": 0.9}.__getitem__
    samples, answer = ["2a", "2b", "7a", "7?"], lambda text: None if "?" in text else text[0]
    assert best_of_n(samples, score) == "7?" and best_of_n(["x", "y"], lambda _: 1.0) == "x"
    vote = weighted_vote(samples, answer, score)  # 0.5 for 2 and 0.4 for 7
    assert vote.answer == "2" and math.isclose(vote.share, 0.5 / 0.9)
    alike = weighted_vote(samples, answer, lambda _: 1.0)
    assert alike == self_consistency(samples, answer)
    for empty in (
        lambda: best_of_n([], score),
        lambda: weighted_vote(["?"], lambda _: None, lambda _: 1.0),
        lambda: weighted_vote(["2"], lambda text: text, lambda _: 0.0),
    ):
        with pytest.raises(GenerationError, match="sample"):
            empty()


def test_thinking_is_lengthened_by_nudges_and_cut_at_the_budget():
    """After 0 comes 1, then 2, then the end 3; after the nudge 4 comes 0 again."""
    following = {0: 1, 1: 2, 2: 3, 4: 0}

    def write(thinking, room):
        new, last = [], thinking[-1] if thinking else 0
        while len(new) < room and last != 3:
            last = following[last]
            new.append(last)
        return new

    assert forced_thinking(write, 3, 9) == [1, 2, 3]
    assert forced_thinking(write, 3, 9, [4], 1) == [1, 2, 4, 0, 1, 2, 3]
    assert forced_thinking(write, 3, 1) == [1, 3] and forced_thinking(write, 3, 2) == [1, 2, 3]
    assert forced_thinking(write, 3, 4, [4], 5) == [1, 2, 4, 0, 3]
    assert forced_thinking(write, 3, 3, [4, 4], 5) == [1, 2, 4, 3]
    for wrong in ({"most": 0}, {"most": 3, "nudges": 1}):
        with pytest.raises(GenerationError, match="most is"):
            forced_thinking(write, 3, **wrong)

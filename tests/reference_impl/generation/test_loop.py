"""Our loop against transformers' generate, token for token; with a cache, without, together, alone,
streamed.
"""

import pytest
import torch
from scipy.stats import chisquare

from reference_impl.generation.beam import beam_search
from reference_impl.generation.cache import GrowingCache, PreallocatedCache, SlidingCache
from reference_impl.generation.loop import Decoding, generate, stream
from reference_impl.generation.sampling_params import GenerationError, SamplingParams
from reference_impl.models.gpt import GPT, GPTConfig

GREEDY = SamplingParams(temperature=0, max_tokens=12)


def by_transformers(model, prompts, **settings):
    """Each continuation up to its end token."""
    width = max(map(len, prompts))
    ids = torch.tensor([[0] * (width - len(p)) + p for p in prompts])
    mask = torch.tensor([[0] * (width - len(p)) + [1] * len(p) for p in prompts])
    found = model.generate(
        ids,
        attention_mask=mask,
        **{"do_sample": False, "max_new_tokens": 12, "pad_token_id": 0} | settings,
    )[:, width:].tolist()
    end = settings.get("eos_token_id")
    return [row[: row.index(end) + 1] if end in row else row for row in found]


def ids(continuations):
    return [each.ids for each in continuations]


@pytest.mark.parametrize("cache", [True, False])
@pytest.mark.parametrize("family", ["gpt", "llama", "mistral"])
def test_greedy_is_transformers_with_and_without_a_cache(pairs, prompts, family, cache):
    ours, theirs = pairs[family]
    found = ids(generate(ours, prompts, GREEDY, cache=cache))
    # There each prompt goes alone, without padding, so that ours is checked too.
    assert found == [by_transformers(theirs, [prompt])[0] for prompt in prompts]
    assert ids(generate(ours, prompts[:1], GREEDY, cache=cache)) == found[:1]
    assert len({tuple(row) for row in found}) > 1


@pytest.mark.parametrize(
    "ours_too, theirs_too",
    [
        ({"repetition_penalty": 1.7}, {"repetition_penalty": 1.7}),
        ({"logit_bias": {3: 4.0, 9: -20.0}}, {"sequence_bias": {(3,): 4.0, (9,): -20.0}}),
    ],
)
@pytest.mark.parametrize("family", ["gpt", "llama"])
def test_greedy_with_penalties_is_transformers(pairs, prompts, family, ours_too, theirs_too):
    ours, theirs = pairs[family]
    plain = ids(generate(ours, prompts, GREEDY))
    found = ids(generate(ours, prompts, SamplingParams(temperature=0, max_tokens=12, **ours_too)))
    assert (
        found == [by_transformers(theirs, [prompt], **theirs_too)[0] for prompt in prompts] != plain
    )


@pytest.mark.parametrize("least", [0, 6])
def test_an_end_token_ends_a_row_but_not_before_min_tokens(pairs, prompts, least):
    ours, theirs = pairs["gpt"]
    end = generate(ours, prompts[:1], GREEDY)[0].ids[3]
    found = generate(
        ours, prompts, SamplingParams(temperature=0, max_tokens=12, min_tokens=least), eos_ids=[end]
    )
    assert ids(found) == by_transformers(
        theirs, prompts, eos_token_id=end, min_new_tokens=least or None
    )
    assert all((each.ids[-1] == end) == (each.finish_reason == "stop") for each in found)
    assert end not in found[0].ids[:least]
    if not least:
        assert found[0].finish_reason == "stop" and len(found[0].ids) <= 4


def test_samples_follow_transformers_distribution(pairs):
    """Chi-square at a significance of 0.001: second tokens of 3,000 samples against transformers'
    probabilities.
    """
    ours, theirs = pairs["gpt"]
    prompt = [5, 9]
    params = SamplingParams(seed=11, n=3000, max_tokens=1, temperature=3.0, top_k=6)
    drawn = torch.tensor(ids(generate(ours, [prompt], params)))[:, 0].bincount(minlength=41)
    logits = theirs(torch.tensor([prompt])).logits[0, -1].detach() / 3
    top = logits.topk(6).indices
    assert drawn.sum() == drawn[top].sum() == 3000
    assert chisquare(drawn[top].numpy(), (logits[top].softmax(0) * 3000).numpy()).pvalue > 0.001


def test_sampled_rows_together_are_rows_alone_and_streamed(pairs, prompts):
    ours, _ = pairs["llama"]
    params = [
        SamplingParams(seed=i, max_tokens=5 + i, temperature=1.5, top_p=0.9, logprobs=2)
        for i in range(3)
    ]
    together = generate(ours, prompts, params)
    for prompt, each, found in zip(prompts, params, together, strict=True):
        alone = generate(ours, [prompt], each)[0]
        assert alone.ids == found.ids
        assert len(found.ids) == each.max_tokens == len(found.logprobs)
        torch.testing.assert_close(torch.tensor(found.logprobs), torch.tensor(alone.logprobs))
    streamed = [[], [], []]
    for step in stream(ours, prompts, params):
        streamed[step.row].append(step.token)
    assert streamed == ids(together)


def test_log_probabilities_are_the_models_own_and_as_many_as_each_row_asks_for(pairs, prompts):
    ours, theirs = pairs["gpt"]
    params = [
        SamplingParams(
            seed=1, max_tokens=4, temperature=2.5, top_k=3, repetition_penalty=1.5, logprobs=count
        )
        for count in (3, 1, None)
    ]
    found = generate(ours, prompts, params)
    for prompt, each, count in zip(prompts[:2], found, (3, 1), strict=False):
        logprobs = (
            theirs(torch.tensor([prompt + each.ids]))
            .logits[0, len(prompt) - 1 : -1]
            .detach()
            .log_softmax(-1)
        )
        expected = logprobs.gather(1, torch.tensor(each.ids)[:, None])[:, 0]
        torch.testing.assert_close(torch.tensor(each.logprobs, dtype=torch.float64), expected)
        top = logprobs.topk(count)
        assert [[token for token, _ in step] for step in each.top_logprobs] == top.indices.tolist()
        torch.testing.assert_close(
            torch.tensor(
                [[value for _, value in step] for step in each.top_logprobs], dtype=torch.float64
            ),
            top.values,
        )
    assert found[2].logprobs == found[2].top_logprobs == []


def test_a_row_that_ended_may_pass_the_last_position_while_others_go_on(pairs):
    ours, _ = pairs["gpt"]
    long, short = [1] * 60, [2, 3]
    params = [
        SamplingParams(temperature=0, max_tokens=2),
        SamplingParams(temperature=0, max_tokens=40),
    ]
    found = ids(generate(ours, [long, short], params))
    assert found == [
        ids(generate(ours, [prompt], each))[0]
        for prompt, each in zip((long, short), params, strict=True)
    ]


def test_dropout_is_off_while_a_model_in_training_writes():
    torch.manual_seed(0)
    model = GPT(
        GPTConfig(vocab_size=31, hidden_size=16, num_layers=1, num_heads=2, dropout=0.5)
    ).train()
    with torch.no_grad():
        model.embedding.weight.normal_()
    params = SamplingParams(temperature=0, max_tokens=4, logprobs=1)
    written = generate(model, [[1, 2]], params)
    assert model.training
    assert generate(model.eval(), [[1, 2]], params) == written


@pytest.mark.parametrize("cache", [True, False])
def test_rows_that_are_named_go_on_as_they_would_have(pairs, prompts, cache):
    ours, _ = pairs["gpt"]
    decoding, alone = Decoding(ours, prompts, 3, cache), Decoding(ours, prompts[1:2], 3, cache)
    decoding.start(), alone.start()
    decoding.reorder(torch.tensor([1, 0, 1]))
    for token in (4, 8):
        logits, expected = (
            decoding.advance(torch.tensor([token] * 3)),
            alone.advance(torch.tensor([token])),
        )
        torch.testing.assert_close(logits[[0, 2]], expected.expand(2, -1), rtol=1e-10, atol=1e-10)


def test_n_continuations_of_a_prompt_follow_each_other(pairs, prompts):
    ours, _ = pairs["gpt"]
    found = generate(ours, prompts[:2], SamplingParams(seed=4, n=2, max_tokens=4, temperature=2.0))
    assert ids(found[2:]) == ids(
        generate(ours, prompts[1:2], SamplingParams(seed=4, n=2, max_tokens=4, temperature=2.0))
    )
    assert len(found) == 4 and found[0].ids != found[1].ids


@pytest.mark.parametrize("kind", ["growing", "preallocated", "sliding"])
def test_each_cache_gives_the_uncached_logits(pairs, neox, kind):
    models = (
        [pairs["mistral"][0]] if kind == "sliding" else [pairs["gpt"][0], pairs["llama"][0], neox]
    )
    make = {
        "growing": GrowingCache,
        "preallocated": lambda: PreallocatedCache(20),
        "sliding": lambda: SlidingCache(5),
    }
    text = torch.randint(1, 41, (2, 20), generator=torch.Generator().manual_seed(0))
    for model in models:
        cache = [make[kind]() for _ in model.blocks]
        places = torch.arange(20).expand(2, -1).tensor_split([6, 9, 10, 11], dim=1)
        parts = [
            model(part, positions=place, cache=cache)
            for part, place in zip(text.tensor_split([6, 9, 10, 11], dim=1), places, strict=True)
        ]
        torch.testing.assert_close(torch.cat(parts, 1), model(text), rtol=1e-10, atol=1e-10)
        if kind == "sliding":
            assert all(layer.keys.shape[2] == layer.length == 4 for layer in cache)


def test_with_a_cache_each_token_passes_once(pairs):
    passed = {}
    for cache in (True, False):
        decoding = Decoding(pairs["gpt"][0], [[1, 2, 3, 4]], 5, cache)
        chosen = decoding.start().argmax(-1)
        for _ in range(4):
            chosen = decoding.advance(chosen).argmax(-1)
        passed[cache] = decoding.num_processed
    assert passed == {True: 4 + 4, False: 4 + 5 + 6 + 7 + 8}


def test_a_preallocated_cache_copies_nothing_and_refuses_one_token_too_many():
    cache = PreallocatedCache(3)
    first, _ = cache.append(torch.ones(1, 1, 2, 4), torch.ones(1, 1, 2, 4))
    second, _ = cache.append(torch.zeros(1, 1, 1, 4), torch.zeros(1, 1, 1, 4))
    assert first.data_ptr() == second.data_ptr() and second.shape[2] == 3
    with pytest.raises(GenerationError, match="4 tokens in a cache for 3"):
        cache.append(torch.zeros(1, 1, 1, 4), torch.zeros(1, 1, 1, 4))


@pytest.mark.usefixtures("as_students_run_it")
def test_prompts_that_can_not_be_continued_are_refused(pairs):
    ours, _ = pairs["gpt"]
    for prompts, words in (
        ([], "no prompts"),
        ([[1], []], "prompt 1 is empty"),
        ([[1] * 53], "prompt 0 has 53 ids and max_tokens is 12, but the model has 64 positions"),
    ):
        with pytest.raises(GenerationError, match=words):
            generate(ours, prompts, GREEDY)
    assert len(generate(ours, [[1] * 52], GREEDY)[0].ids) == 12
    with pytest.raises(GenerationError, match="2 prompts but 1 parameters"):
        generate(ours, [[1], [2]], [GREEDY])


def test_a_row_of_nan_is_named():
    model = GPT(
        GPTConfig(vocab_size=7, hidden_size=4, num_layers=1, num_heads=1, max_position_embeddings=9)
    )
    with torch.no_grad():
        model.embedding.weight[5] = torch.nan
    with pytest.raises(GenerationError, match="row 0: logits have nan"):
        generate(model, [[5, 1]], SamplingParams(max_tokens=2))
    assert model.training
    with pytest.raises(
        GenerationError, match="row 0: logits have nan"
    ):  # also where that token may not be chosen
        generate(model, [[2, 1]], SamplingParams(max_tokens=2), allowed=lambda output: [3, 4])
    with pytest.raises(GenerationError, match="row 0: logits have nan"):
        beam_search(model, [5, 1], 2, 2)

"""The loop on one screen against the whole one."""

import pytest

from reference_impl.generation.beam import beam_search
from reference_impl.generation.loop import generate
from reference_impl.generation.plain import beam_search_plain, generate_plain
from reference_impl.generation.sampling_params import SamplingParams


@pytest.mark.parametrize("family", ["gpt", "llama", "mistral"])
@pytest.mark.parametrize("temperature", [0, 0.5, 1.0, 3.0])
def test_the_plain_loop_writes_what_generate_writes(pairs, prompts, family, temperature):
    model, written = pairs[family][0], set()
    for seed, prompt in enumerate(prompts):
        plain = generate_plain(model, prompt, 12, temperature=temperature, seed=seed)
        (whole,) = generate(
            model, [prompt], SamplingParams(temperature=temperature, max_tokens=12, seed=seed)
        )
        assert plain == whole.ids and len(plain) == 12
        written.add(tuple(plain))
    assert len(written) > 1
    if temperature:
        assert generate_plain(model, prompts[0], 12, temperature=temperature, seed=99) not in map(
            list, written
        )


def test_both_stop_behind_the_same_end_token(pairs, prompts):
    model = pairs["gpt"][0]
    free = generate_plain(model, prompts[0], 12, temperature=1.0, seed=3)
    end = free[5]
    plain = generate_plain(model, prompts[0], 12, temperature=1.0, seed=3, eos_ids={end})
    (whole,) = generate(model, [prompts[0]], SamplingParams(max_tokens=12, seed=3), eos_ids={end})
    assert plain == whole.ids == free[: free.index(end) + 1]


@pytest.mark.parametrize("num_beams", [1, 2, 5])
def test_the_plain_beams_are_those_of_the_whole_search(pairs, prompts, num_beams):
    model = pairs["gpt"][0]
    for prompt in prompts:
        plain = beam_search_plain(model, prompt, num_beams, 6)
        whole = beam_search(model, prompt, num_beams, 6, length_penalty=0.0)
        assert [ids for _, ids in plain] == [one.ids for one in whole] and len(plain) == num_beams
        assert [total for total, _ in plain] == pytest.approx(
            [one.score for one in whole], abs=1e-4
        )

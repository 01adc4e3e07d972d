"""Answers of a model to many prompts at once, greedy or sampled."""

from collections import defaultdict
from collections.abc import Sequence

from torch import nn

from course.capstone.tokenizer import END
from reference_impl.generation.loop import generate
from reference_impl.generation.sampling_params import SamplingParams

MAX_ROWS = 256


def decode(
    model: nn.Module,
    prompts: Sequence[Sequence[int]],
    longest: int,
    temperature: float = 0.0,
    seed: int = 0,
) -> list[list[int]]:
    """The ids of each answer, END included if the model wrote it within `longest` tokens.

    Prompts of one length are decoded together: without padding no mask is needed.
    """
    by_length = defaultdict(list)
    for place, prompt in enumerate(prompts):
        by_length[len(prompt)].append(place)
    found: list[list[int]] = [[] for _ in prompts]
    for places in by_length.values():
        for start in range(0, len(places), MAX_ROWS):
            some = places[start : start + MAX_ROWS]
            params = [
                SamplingParams(
                    temperature=temperature,
                    max_tokens=longest,
                    stop_token_ids=(END,),
                    seed=seed * 1_000_003 + place,
                )
                for place in some
            ]
            said = generate(model, [prompts[place] for place in some], params)
            for place, one in zip(some, said, strict=True):
                found[place] = list(one.ids)
    return found


def text_of(tokenizer, ids: Sequence[int]) -> str:
    """The text of an answer, without END."""
    return tokenizer.decode([token for token in ids if token > END])

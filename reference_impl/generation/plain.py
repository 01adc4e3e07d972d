"""The generating loop on one screen: score the text, choose a token, put it behind the
text, and again.

Radford et al. 2019, section 2, for the model; Holtzman et al. 2020, section 3.1, for
what a temperature does.

What `loop.generate` gives for one prompt, token for token (a test holds them together).
But: the whole text passes through the model at every step, so T new tokens cost T
passes over a text that grows (`cache` saves that), there is one prompt, and a token
ends nothing but the loop.

`beam_search_plain` is `beam.beam_search` without end tokens, cache and length penalty.
"""

from collections.abc import Collection, Sequence

import torch
from torch import nn


@torch.inference_mode()
def generate_plain(
    model: nn.Module,
    prompt: Sequence[int],
    max_tokens: int,
    *,
    temperature: float | int = 0.0,
    seed: int = 0,
    eos_ids: Collection[int] = (),
) -> list[int]:
    """What the model (in evaluation mode) writes behind a prompt, its end token
    included.

    A temperature of 0 takes the likeliest token; of 1 draws from the model's own
    probabilities; less sharpens them.
    """
    text, generator = list(prompt), torch.Generator().manual_seed(seed)
    for _ in range(max_tokens):
        logits = model(torch.tensor([text]))[
            0, -1
        ]  # (V,): what comes after the last token
        if temperature == 0:
            token = int(logits.argmax())
        else:
            probabilities = (logits / temperature).double().softmax(-1)  # (V,)
            draw = torch.rand((), generator=generator, dtype=torch.float64)
            token = int(
                (probabilities.cumsum(-1) > draw).long().argmax()
            )  # the first whose sum passes the draw
        text.append(token)
        if token in eos_ids:
            break
    return text[len(prompt) :]


@torch.inference_mode()
def beam_search_plain(
    model: nn.Module, prompt: Sequence[int], num_beams: int, max_tokens: int
) -> list[tuple[float, list[int]]]:
    """The num_beams best continuations with their sums of log-probabilities, best
    first.
    """
    beams = [(0.0, list(prompt))]
    for _ in range(max_tokens):
        ids = torch.tensor([text for _, text in beams])
        sums = torch.tensor([total for total, _ in beams])
        scores = sums[:, None] + model(ids)[:, -1].log_softmax(-1)  # (beams, V)
        vocab_size = scores.shape[1]
        best = scores.flatten().topk(min(num_beams, scores.numel()))  # of all beams
        beams = [
            (score, [*beams[place // vocab_size][1], place % vocab_size])
            for score, place in zip(
                best.values.tolist(), best.indices.tolist(), strict=True
            )
        ]
    return [(total, text[len(prompt) :]) for total, text in beams]

"""How likely a model finds given continuations: how it answers questions without
writing anything.

Brown et al. 2020, section 2.4: for several answers, compare the likelihood of each
after the question. A sum of log-probabilities favours short answers; per byte of text
it does not, and tokenizers can be compared.

Not here: gradients of these (see `objectives.logprobs`).
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import nn

from reference_impl.generation.loop import check_prompts
from reference_impl.generation.sampling_params import GenerationError


class Score(NamedTuple):
    """In nats: the sum over a continuation's tokens, and whether greedy decoding would
    have written it.
    """

    total: float
    greedy: bool

    def per_byte(self, text: str) -> float:
        """The sum divided by the bytes of the continuation's text in UTF-8."""
        if not text:
            raise GenerationError(
                "the continuation's text is empty: there is no byte to divide by"
            )
        return self.total / len(text.encode())


@torch.inference_mode()
def score_continuations(
    model: nn.Module, prompt: Sequence[int], continuations: Sequence[Sequence[int]]
) -> list[Score]:
    """The logarithm of P(continuation | prompt) of each, all in one pass.

    Call it on a model in evaluation mode.

    Raises GenerationError for an empty prompt or continuation, or both together longer
    than the model's positions.
    """
    for number, continuation in enumerate(continuations):
        if len(continuation) == 0:
            raise GenerationError(
                f"continuation {number} is empty: give at least one id"
            )
    check_prompts(
        [prompt] * len(continuations),
        [len(c) for c in continuations],
        getattr(model.config, "max_position_embeddings", None),
    )
    rows, start = (
        [[*prompt, *continuation] for continuation in continuations],
        len(prompt),
    )
    width = max(map(len, rows))  # padding on the right is never seen
    ids = torch.tensor(
        [row + [0] * (width - len(row)) for row in rows],
        device=next(model.parameters()).device,
    )
    logits = model(ids)[:, start - 1 : -1]  # (N, longest continuation, V)
    targets = ids[:, start:]
    logprobs = (
        logits.to(torch.promote_types(logits.dtype, torch.float32))
        .log_softmax(-1)
        .gather(-1, targets[..., None])
        .squeeze(-1)
    )  # (N, longest continuation)
    likeliest = logits.argmax(-1) == targets
    return [
        Score(
            float(logprobs[row, : len(c)].sum()), bool(likeliest[row, : len(c)].all())
        )
        for row, c in enumerate(continuations)
    ]

"""Beam search: keep the few likeliest beginnings, lengthen each by every token, keep
the few likeliest again.

Greedy decoding can't take back a token; num_beams hypotheses can. Still nothing is
promised: the likeliest sequence is missed if one of its beginnings is not among the
likeliest of its length.

Scores are sums of log-probabilities divided by length ** length_penalty (Wu et al.
2016, section 7, has a variant): a sum alone falls with every token, so that short
sequences would win. Rules of ending are those of transformers'
`generate(num_beams=...)`.

Not here: sampling in beams, diverse beams.
"""

from collections.abc import Collection, Sequence
from typing import Literal, NamedTuple

import torch
from torch import nn

from reference_impl.generation.loop import Decoding, check_prompts
from reference_impl.generation.sampler import check_logits
from reference_impl.generation.sampling_params import GenerationError

EarlyStopping = bool | Literal["never"]


class Hypothesis(NamedTuple):
    """A finished sequence after the prompt, its end token included, and its score:
    larger is better.
    """

    ids: list[int]
    score: float


def _can_improve(
    best_running: float,
    length: int,
    max_tokens: int,
    worst: float,
    length_penalty: float,
    early_stopping: EarlyStopping,
) -> bool:
    """Whether a hypothesis that is not finished may still beat the worst that is.

    False guesses that its score will stay what it is at its present length; with a
    penalty above 0 a longer sequence may do better, and "never" counts with the
    longest.
    """
    hopeful = early_stopping == "never" and length_penalty > 0
    return best_running / (max_tokens if hopeful else length) ** length_penalty > worst


@torch.inference_mode()
def beam_search(
    model: nn.Module,
    prompt: Sequence[int],
    num_beams: int,
    max_tokens: int,
    eos_ids: Collection[int] = (),
    length_penalty: float = 1.0,
    early_stopping: EarlyStopping = False,
    cache: bool = True,
) -> list[Hypothesis]:
    """The num_beams best finished hypotheses, best first; those that reach max_tokens
    count as finished.

    early_stopping=True ends as soon as num_beams are finished, False when the best
    running one scores no better at its present length than the worst finished, "never"
    when it could not at any length. Call it on a model in evaluation mode. Raises
    GenerationError as `generate` does, and for fewer than one beam.
    """
    if num_beams < 1:
        raise GenerationError(f"num_beams is {num_beams}: give 1 or more")
    if early_stopping not in (True, False, "never"):
        raise GenerationError(
            f"early_stopping is {early_stopping!r}: it must be True, False or 'never'"
        )
    check_prompts(
        [prompt], [max_tokens], getattr(model.config, "max_position_embeddings", None)
    )
    decoding = Decoding(model, [list(prompt)], max_tokens, cache)
    running, finished = [Hypothesis([], 0.0)], []
    for length in range(1, max_tokens + 1):
        if length == 1:
            logits = decoding.start()
        else:
            logits = decoding.advance(
                torch.tensor(
                    [hypothesis.ids[-1] for hypothesis in running],
                    device=decoding.ids.device,
                )
            )
        check_logits(logits)
        # float32 as in transformers, so that equal scores are equal here and there.
        before = torch.tensor(
            [hypothesis.score for hypothesis in running], device=logits.device
        )
        scores = logits.float().log_softmax(-1) + before[:, None]  # (beams, V)
        vocab_size = scores.shape[1]
        # If all of the best end here, as many others must be left to go on.
        count = min(max(2, 1 + len(set(eos_ids))) * num_beams, scores.numel())
        best, places = scores.flatten().topk(count)
        going, rows = [], []
        for rank, (score, place) in enumerate(
            zip(best.tolist(), places.tolist(), strict=True)
        ):
            row, token = divmod(place, vocab_size)
            ids = [*running[row].ids, token]
            if token not in eos_ids and length < max_tokens:
                if len(going) < num_beams:
                    going.append(Hypothesis(ids, score))
                    rows.append(row)
            elif rank < num_beams:
                finished.append(Hypothesis(ids, score / length**length_penalty))
        finished = sorted(finished, key=lambda hypothesis: -hypothesis.score)[
            :num_beams
        ]
        full = len(finished) == num_beams
        if (
            not going
            or full
            and (
                early_stopping is True
                or not _can_improve(
                    going[0].score,
                    length,
                    max_tokens,
                    finished[-1].score,
                    length_penalty,
                    early_stopping,
                )
            )
        ):
            break
        running = going
        decoding.reorder(torch.tensor(rows, device=logits.device))
    return finished

"""Beam search as the card of exercise 09.beam_search says it, in float64, with a margin: how near a
decision was to a tie.

The options are what students get wrong: cases are chosen so that the answers differ, and the known
mistakes are made of them.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

Model = Callable[[Tensor], Tensor]


class Found(NamedTuple):
    """The best hypothesis, its score, and the smallest difference that a choice on the way
    hung on.
    """

    ids: list[int]
    score: float
    margin: float


def searched(
    model: Model,
    prompt: list[int],
    width: int,
    max_tokens: int,
    end_id: int,
    penalty: float,
    *,
    best_of_each: bool = False,
    ended: str = "aside",
    first_end: bool = False,
    unfinished: bool = True,
    counted: Callable[[list[int]], int] = len,
    divide: bool = True,
    logs: Callable[[Tensor], Tensor] | None = None,
    copies: int = 1,
    enough: bool = False,
    early: bool = False,
    compared: str = "all",
) -> Found:
    """ended: "aside" as it should be, "continue", "lost", "keep their room" in the beam, or
    "replaced" by others in their own step.

    best_of_each: every hypothesis keeps its own best candidate. first_end: stop at the first that
    ends. counted: the length of a hypothesis. logs: what is added up. copies: so many hypotheses at
    first. enough: stop when `width` have finished. early: stop when the best finished score is
    above the best running one's at its present length. compared: of the finished, "all" as it
    should be, the "first" `width`, the "largest" `width` sums; or the largest `width` sums
    "together" with the running.
    """
    running, finished, margin, stop = [([], 0.0)] * copies, [], math.inf, False
    for step in range(max_tokens):
        scores = model(torch.tensor([prompt + ids for ids, _ in running]))[:, -1].double()
        rows = (scores.log_softmax(1) if logs is None else logs(scores)).tolist()
        candidates = [
            [(ids + [token], total + log) for token, log in enumerate(row) if log > -math.inf]
            for (ids, total), row in zip(running, rows)
        ]
        if best_of_each and step:
            candidates = [[max(own, key=lambda one: one[1])] for own in candidates]
        ranked = sorted((one for own in candidates for one in own), key=lambda one: -one[1])
        places = width - (len(finished) if ended == "keep their room" else 0)
        if ended == "replaced":
            going = [one for one in ranked if one[0][-1] != end_id][:width]
            kept = [
                one for one in ranked if one[0][-1] != end_id or not going or one[1] > going[-1][1]
            ]
            kept = [one for one in kept if one[0][-1] == end_id or one in going]
        else:
            kept = ranked[:places]
        margin = min(
            [
                margin,
                *(
                    one[1] - other[1]
                    for one, other in zip(ranked[places - 1 : places], ranked[places : places + 1])
                ),
            ]
        )
        done = [one for one in kept if one[0][-1] == end_id] if ended != "continue" else []
        finished += done if ended != "lost" else []
        running = [one for one in kept if one not in done]
        stop = (
            enough
            and len(finished) >= width
            or early
            and finished
            and running
            and max(total / len(ids) ** penalty for ids, total in finished)
            > running[0][1] / (step + 1) ** penalty
        )
        if (
            not running
            or stop
            or first_end
            and done
            or ended == "keep their room"
            and len(finished) >= width
        ):
            break
    if compared in ("first", "largest"):
        finished = sorted(finished, key=lambda one: -one[1] if compared == "largest" else 0)[:width]
    only = finished and (not unfinished or first_end or stop)
    chosen = finished + ([] if only else running)
    if compared == "together":
        chosen = sorted(chosen, key=lambda one: -one[1])[:width]
    scored = sorted(
        (
            (total / counted(ids) ** penalty if divide else total * counted(ids) ** penalty, ids)
            for ids, total in chosen or [([end_id], -math.inf)]
        ),
        reverse=True,
    )
    margin = min([margin, *(one[0] - other[0] for one, other in zip(scored[:1], scored[1:2]))])
    return Found(scored[0][1], scored[0][0], margin)

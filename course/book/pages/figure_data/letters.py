"""What small encoders of letters put into blanks, computed here: what the figure letter-blanks
shows before they are loaded.

    blanked({"alternating": "modernbert_kjv"}, before, [("The bank", "b")], (0, 96))

A letter is a byte and an id. A line stands behind the last letters of `before`, in one text.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import torch

from reference_impl.corpora.small_models import small_model


@torch.no_grad()
def blanked(
    names: dict[str, str],
    before: Sequence[int],
    lines: Iterable[tuple[str, Sequence[int]]],
    shifts: Iterable[int],
    most: int = 4,
) -> list[dict[str, Any]]:
    """For each line with the places of its blanks, by how many letters stand before it and by
    model: at each blank the likeliest letters, and the share that the letter gets which stood
    there.
    """
    kept, shifts = {key: small_model(name) for key, name in names.items()}, list(shifts)
    tokenizer = next(iter(kept.values())).tokenizer
    blank, found = len(tokenizer.vocabulary.tokens) - 1, []
    for line, blanks in lines:
        own, by_shift = tokenizer.encode(line), {}
        if len(own) != len(line):
            raise ValueError(
                f"{line!r} has {len(line)} letters and {len(own)} bytes: give plain letters"
            )
        places = torch.tensor(list(blanks))
        for shift in shifts:
            ids = torch.tensor([[*before[len(before) - shift :], *own]])
            truth = ids[0, shift + places]
            ids[0, shift + places] = blank
            by_model = {}
            for key, model in kept.items():
                shares = model.model(ids)[0, shift + places].double().softmax(-1)  # (blanks, V)
                by_model[key] = [
                    {"truth": round(float(row[id]), 6), "best": _likeliest(row, tokenizer, most)}
                    for row, id in zip(shares, truth, strict=True)
                ]
            by_shift[str(shift)] = by_model
        found.append({"text": line, "blanks": list(blanks), "found": by_shift})
    return found


def _likeliest(shares: torch.Tensor, tokenizer: Any, most: int) -> list[list[Any]]:
    best = shares.topk(most)
    return [
        [tokenizer.decode([id]), round(share, 6)]
        for id, share in zip(best.indices.tolist(), best.values.tolist(), strict=True)
    ]

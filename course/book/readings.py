"""What trained models of scripture's tokens say of a text, computed here: what figures show before a model is loaded.

    judged({"ngram": "ngram_kjv", "lstm": "lstm_kjv"}, ["The bank lends money"])      for the figure text-judged
    gates("lstm_kjv", ["The bank lends money"])                                       for the figure lstm-gates

A line feed stands before each text, which in these models' text ends a verse. It is read and not judged.
"""
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import torch

from reference_impl.corpora.small_models import SmallModel, small_model

Shares = Callable[[list[int]], np.ndarray]


def next_shares(kept: SmallModel) -> Shares:
    """From the ids so far to the probability of every next token, of a model of kind ngram, lstm or gpt."""
    if kept.card["kind"] == "ngram":
        return kept.model.distribution

    @torch.no_grad()
    def shares(ids: list[int]) -> np.ndarray:
        return kept.model(torch.tensor([ids]))[0, -1].double().softmax(-1).numpy()
    return shares


def judged(models: dict[str, str], texts: Iterable[str], most: int = 3, seed: int = 0) -> list[dict[str, Any]]:
    """For each text its pieces; by model nats and best guesses for each piece; and what each model writes after it."""
    kept = {key: small_model(name) for key, name in models.items()}
    tokenizer = next(iter(kept.values())).tokenizer
    found = []
    for text in texts:
        before, ids = tokenizer.encode("\n"), tokenizer.encode(text)
        by_model, written = {}, {}
        for key, model in kept.items():
            shares = next_shares(model)
            rows = [shares([*before, *ids[:t]]) for t in range(len(ids))]
            by_model[key] = [{"nats": float(-np.log(row[id])), "best": best(row, tokenizer, most)}
                             for row, id in zip(rows, ids, strict=True)]
            written[key] = tokenizer.decode(write(shares, [*before, *ids], seed=seed))
        found.append({"text": text, "pieces": [tokenizer.decode([id]) for id in ids], "judged": by_model,
                      "written": written})
    return found


def best(shares: np.ndarray, tokenizer: Any, most: int) -> list[dict[str, Any]]:
    """The likeliest tokens, with their shares."""
    return [{"text": tokenizer.decode([int(id)]), "share": float(shares[id])} for id in np.argsort(-shares)[:most]]


def write(shares: Shares, ids: Sequence[int], most: int = 24, temperature: float = 0.8, top_p: float = 0.95,
          seed: int = 0) -> list[int]:
    """Tokens that go on after `ids`, drawn by temperature and top-p."""
    draw, text = np.random.default_rng(seed), list(ids)
    for _ in range(most):
        flat = shares(text) ** (1 / temperature)
        order = np.argsort(-flat)
        sums = np.cumsum(flat[order]) / flat.sum()
        kept = order[:int(np.searchsorted(sums, top_p)) + 1]
        text.append(int(draw.choice(kept, p=flat[kept] / flat[kept].sum())))
    return text[len(ids):]


@torch.no_grad()
def gates(name: str, texts: Iterable[str], most: int = 8) -> list[dict[str, Any]]:
    """For each text, token by token: the gates, their mean over the units; the likeliest next tokens; its bits."""
    kept = small_model(name)
    found = []
    for text in texts:
        ids = torch.tensor([[*kept.tokenizer.encode("\n"), *kept.tokenizer.encode(text)]])
        logs = kept.model(ids)[0].log_softmax(-1)  # (T, V)
        opened = gate_values(kept.model, ids)
        found.append({"text": text, "pieces": [kept.tokenizer.decode([id]) for id in ids[0].tolist()],
                      "gates": [{gate: float(values[t].mean()) for gate, values in opened.items()}
                                for t in range(ids.shape[1])],
                      "next": [best(row.exp().numpy(), kept.tokenizer, most) for row in logs],
                      "bits": float(-logs[:-1].gather(-1, ids[0, 1:, None]).sum() / np.log(2))})
    return found


@torch.no_grad()
def gate_values(model: Any, ids: torch.Tensor) -> dict[str, torch.Tensor]:
    """How far write, keep and show of a model of one layer stand open at each token of one text (1, T): (T, H) each."""
    if len(model.lstm.layers) != 1:
        raise ValueError(f"{len(model.lstm.layers)} layers: the gates of one are read here")
    x, (shown, _) = model.embedding(ids), model.hidden(ids)
    before = torch.cat((torch.zeros_like(shown[:, :1]), shown[:, :-1]), 1)  # (1, T, H)
    cell = model.lstm.layers[0][0]
    write_, keep, _, show = (cell.input(x) + cell.recurrent(before))[0].sigmoid().chunk(4, dim=-1)
    return {"write": write_, "keep": keep, "show": show}

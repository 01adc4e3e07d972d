"""What trained models of scripture's tokens say of a text, computed here: what figures show before
a model is loaded. By the figure's name:

    text-judged       judged({"ngram": "ngram_kjv", "lstm": "lstm_kjv"}, ["The bank lends money"])
    lstm-gates        gates("lstm_kjv", ["The bank lends money"])
    position-kinds    placed("positions_kjv", before, ["The river is deep."], (0, 64))
    score-by-position mean_scores("positions_kjv", ["learned", "T5"], chunks, [7, 15])
    writing-loop      turns("gpt_kjv", ["The bank lends money"])
    cache-filling     cached("llama_kjv", ["The bank lends money"])
    bent-shares       raw("gpt_kjv", ["The bank lends money"])
    two-endings       endings("gpt_kjv", [("And God said,", ("Let there be light.", "The light"))])

A line feed stands before each text of scripture, which in these models' text ends a verse. It is
read and not judged.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from reference_impl.corpora.small_models import SmallModel, small_model

Shares = Callable[[list[int]], np.ndarray]


def next_shares(kept: SmallModel) -> Shares:
    """From the ids so far to the probability of every next token, of a model of kind ngram, lstm or
    gpt.
    """
    if kept.card["kind"] == "ngram":
        return kept.model.distribution

    @torch.no_grad()
    def shares(ids: list[int]) -> np.ndarray:
        return kept.model(torch.tensor([ids]))[0, -1].double().softmax(-1).numpy()

    return shares


def judged(
    models: dict[str, str], texts: Iterable[str], most: int = 3, seed: int = 0
) -> list[dict[str, Any]]:
    """For each text its pieces; by model nats and best guesses for each piece; and what each model
    writes after it.
    """
    kept = {key: small_model(name) for key, name in models.items()}
    tokenizer = next(iter(kept.values())).tokenizer
    found = []
    for text in texts:
        before, ids = tokenizer.encode("\n"), tokenizer.encode(text)
        by_model, written = {}, {}
        for key, model in kept.items():
            shares = next_shares(model)
            rows = [shares([*before, *ids[:t]]) for t in range(len(ids))]
            by_model[key] = [
                {"nats": float(-np.log(row[id])), "best": best(row, tokenizer, most)}
                for row, id in zip(rows, ids, strict=True)
            ]
            written[key] = tokenizer.decode(write(shares, [*before, *ids], seed=seed))
        found.append(
            {
                "text": text,
                "pieces": [tokenizer.decode([id]) for id in ids],
                "judged": by_model,
                "written": written,
            }
        )
    return found


@torch.no_grad()
def continued(
    models: dict[str, str], texts: Iterable[str], most: int = 7, written: int = 12
) -> list[dict[str, Any]]:
    """For each text its pieces; by model the nats of each when all but the last are read in one
    pass, what comes after the text, and so many tokens of the likeliest, each with its share.
    """
    kept = {key: small_model(name) for key, name in models.items()}
    tokenizer = next(iter(kept.values())).tokenizer
    found = []
    for text in texts:
        before, ids = tokenizer.encode("\n"), tokenizer.encode(text)
        by_model = {}
        for key, one in kept.items():
            logits = one.model(torch.tensor([[*before, *ids[:-1]]]))[0, len(before) - 1 :]  # (T, V)
            shares, all_ids, taken = next_shares(one), [*before, *ids], []
            for _ in range(written):
                (choice,) = best(row := shares(all_ids), tokenizer, 1)
                taken.append(choice)
                all_ids.append(int(row.argmax()))
            by_model[key] = {
                "nats": (
                    nn.functional.cross_entropy(
                        logits, torch.tensor(ids), reduction="none"
                    ).tolist()
                ),
                "next": best(shares(all_ids), tokenizer, most),
                "written": taken,
            }
        found.append(
            {"text": text, "pieces": [tokenizer.decode([id]) for id in ids], "found": by_model}
        )
    return found


def best(shares: np.ndarray, tokenizer: Any, most: int) -> list[dict[str, Any]]:
    """The likeliest tokens, with their shares."""
    return [
        {"text": tokenizer.decode([int(id)]), "share": float(shares[id])}
        for id in np.argsort(-shares)[:most]
    ]


def write(
    shares: Shares,
    ids: Sequence[int],
    most: int = 24,
    temperature: float = 0.8,
    top_p: float = 0.95,
    seed: int = 0,
) -> list[int]:
    """Tokens that go on after `ids`, drawn by temperature and top-p."""
    draw, text = np.random.default_rng(seed), list(ids)
    for _ in range(most):
        flat = shares(text) ** (1 / temperature)
        order = np.argsort(-flat)
        sums = np.cumsum(flat[order]) / flat.sum()
        kept = order[: int(np.searchsorted(sums, top_p)) + 1]
        text.append(int(draw.choice(kept, p=flat[kept] / flat[kept].sum())))
    return text[len(ids) :]


@torch.no_grad()
def gates(name: str, texts: Iterable[str], most: int = 8) -> list[dict[str, Any]]:
    """For each text, token by token: the gates, their mean over the units; the likeliest next
    tokens; its bits.
    """
    kept = small_model(name)
    found = []
    for text in texts:
        ids = torch.tensor([[*kept.tokenizer.encode("\n"), *kept.tokenizer.encode(text)]])
        logs = kept.model(ids)[0].log_softmax(-1)  # (T, V)
        opened = gate_values(kept.model, ids)
        found.append(
            {
                "text": text,
                "pieces": [kept.tokenizer.decode([id]) for id in ids[0].tolist()],
                "gates": [
                    {gate: float(values[t].mean()) for gate, values in opened.items()}
                    for t in range(ids.shape[1])
                ],
                "next": [best(row.exp().numpy(), kept.tokenizer, most) for row in logs],
                "bits": float(-logs[:-1].gather(-1, ids[0, 1:, None]).sum() / np.log(2)),
            }
        )
    return found


@torch.no_grad()
def gate_values(model: Any, ids: torch.Tensor) -> dict[str, torch.Tensor]:
    """How far write, keep and show of a model of one layer stand open at each token of one text (1,
    T): (T, H) each.
    """
    if len(model.lstm.layers) != 1:
        raise ValueError(f"{len(model.lstm.layers)} layers: the gates of one are read here")
    x, (shown, _) = model.embedding(ids), model.hidden(ids)
    before = torch.cat((torch.zeros_like(shown[:, :1]), shown[:, :-1]), 1)  # (1, T, H)
    cell = model.lstm.layers[0][0]
    write_, keep, _, show = (cell.input(x) + cell.recurrent(before))[0].sigmoid().chunk(4, dim=-1)
    return {"write": write_, "keep": keep, "show": show}


@torch.no_grad()
def placed(
    name: str, before: Sequence[int], texts: Iterable[str], shifts: Iterable[int], most: int = 12
) -> list[dict[str, Any]]:
    """For each text, after so many of the last tokens of `before` and a line feed, by kind of
    positions: the nats of its tokens, and how the last token's heads in the first layer share their
    weight out over the last `most` tokens.
    """
    kept = small_model(name)
    found = []
    for text in texts:
        own, shifts = kept.tokenizer.encode(text), list(shifts)
        by_shift = {}
        for shift in shifts:
            ids = torch.tensor(
                [[*before[len(before) - shift :], *kept.tokenizer.encode("\n"), *own]]
            )
            by_shift[str(shift)] = {
                kind: {
                    "nats": [
                        round(value, 4)
                        for value in nn.functional.cross_entropy(
                            model(ids)[0, -len(own) - 1 : -1], ids[0, -len(own) :], reduction="none"
                        ).tolist()
                    ],
                    "looks": [
                        [round(share, 4) for share in row]
                        for row in model.first_weights(ids)[
                            0, :, -1, -min(most, len(own)) :
                        ].tolist()
                    ],
                }
                for kind, model in kept.model.items()
            }
        found.append(
            {"text": text, "pieces": [kept.tokenizer.decode([id]) for id in own], "found": by_shift}
        )
    return found


@torch.no_grad()
def mean_scores(
    name: str, kinds: Iterable[str], chunks: Tensor, queries: Sequence[int]
) -> dict[str, list[list[list[float]]]]:
    """By kind of positions, head and query position: the first layer's score for each key up to the
    query, averaged over `chunks` (N, T) of token ids, so that position is what is left.
    """
    kept, found = small_model(name), {}
    for kind in kinds:
        mean = kept.model[kind].first_scores(chunks).mean(0)  # (H, T, T)
        found[kind] = [
            [[round(score, 2) for score in head[query, : query + 1].tolist()] for query in queries]
            for head in mean
        ]
    return found


def turns(name: str, texts: Iterable[str], count: int = 8, most: int = 6) -> list[dict[str, Any]]:
    """For each text its pieces, and what a GPT finds likeliest and takes, turn by turn, always the
    likeliest.
    """
    kept, found = small_model(name), []
    shares = next_shares(kept)
    for text in texts:
        ids, rows = kept.tokenizer.encode("\n" + text), []
        pieces = [kept.tokenizer.decode([token]) for token in kept.tokenizer.encode(text)]
        for _ in range(count):
            row = shares(ids)
            ids = [*ids, int(row.argmax())]
            rows.append(
                {"best": best(row, kept.tokenizer, most), "chosen": kept.tokenizer.decode(ids[-1:])}
            )
        found.append({"text": text, "pieces": pieces, "turns": rows})
    return found


@torch.no_grad()
def cached(name: str, texts: Iterable[str], count: int = 24) -> list[dict[str, Any]]:
    """For each text what a LLaMA of bytes writes with a cache, and how its newest byte's queries
    share their look among all keys, by block.
    """
    from reference_impl.generation.cache import GrowingCache
    from reference_impl.layers.attention import attention_weights

    class Watched(GrowingCache):
        """Keeps the last query's weights, the mean over its heads."""

        def attend(
            self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, dropout: float
        ) -> Tensor:
            self.looks = attention_weights(
                q[:, :, -1:], torch.cat((self.keys, k), 2) if self.length else k
            )[0, :, 0].mean(0)
            return super().attend(q, k, v, mask, dropout)

    kept, found = small_model(name), []
    for text in texts:
        new, cache, rows = kept.tokenizer.encode(text), [Watched() for _ in kept.model.blocks], []
        for _ in range(count):
            new = [int(kept.model(torch.tensor([new]), cache=cache)[0, -1].argmax())]
            rows.append(
                {
                    "chosen": kept.tokenizer.decode(new),
                    "looks": [
                        [round(share, 4) for share in layer.looks.tolist()] for layer in cache
                    ],
                }
            )
        found.append({"text": text, "turns": rows})
    return found


@torch.no_grad()
def raw(name: str, texts: Iterable[str]) -> list[dict[str, Any]]:
    """For each text the ids that a GPT reads and its logits of the next token, all of them."""
    kept, found = small_model(name), []
    for text in texts:
        ids = kept.tokenizer.encode("\n" + text)
        found.append(
            {
                "text": text,
                "seen": ids,
                "logits": [
                    round(value, 3) for value in kept.model(torch.tensor([ids]))[0, -1].tolist()
                ],
            }
        )
    return found


@torch.no_grad()
def endings(name: str, cases: Iterable[tuple[str, Iterable[str]]]) -> list[dict[str, Any]]:
    """For each beginning its endings, each with a space before it: pieces, and the nats of each
    after the beginning and those before it.
    """
    kept, found = small_model(name), []
    for prompt, texts in cases:
        before, rows = [*kept.tokenizer.encode("\n"), *kept.tokenizer.encode(prompt)], []
        for text in (f" {text}" for text in texts):
            own = kept.tokenizer.encode(text)
            logs = kept.model(torch.tensor([[*before, *own]]))[0, len(before) - 1 : -1].log_softmax(
                -1
            )
            rows.append(
                {
                    "text": text,
                    "pieces": [kept.tokenizer.decode([id]) for id in own],
                    "nats": [
                        round(-value, 5)
                        for value in logs.gather(-1, torch.tensor(own)[:, None])[:, 0].tolist()
                    ],
                }
            )
        found.append({"prompt": prompt, "endings": rows})
    return found

"""What attention through a window costs and saves, and what it does to an encoder that was not
trained for it.

    python bench/long_texts.py [--part costs|windows]        about a minute on one core

Two parts, each of which may be made again alone:

- costs: one layer's attention of MiniLM's shape (12 heads of 32), 32 tokens to each side and one
  global token, against dense attention, for lengths from 256 to 4,096: operations and bytes by the
  course's own counters, and seconds, in turn, five times. The rivals are torch's fused attention
  without a mask, and the same with the window as a mask; a mask saves nothing. The largest
  difference from the masked one is kept.
- windows: MiniLM over 512 tokens of twelve texts, three each of four corpora, with
  `window_attention` in the place of its attention, once without a global token and once with [CLS]
  as one. The number is the cosine between the mean of the last vectors and that of the whole model.
  The controls are a network of the same shape that was never trained, and the mean of another text:
  how near are two of them anyway?

Not here: a model that was trained with a window (Beltagy et al. 2020, section 5), in half
precision, on a GPU.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch  # noqa: E402  (threads are set before torch starts)
from record import RESULTS, compare, save  # noqa: E402
from torch import Tensor, nn  # noqa: E402

from reference_impl import corpora  # noqa: E402
from reference_impl.layers.attention import (
    MultiHeadAttention,
    attention,
    merge_heads,
    split_heads,
)  # noqa: E402
from reference_impl.layers.masks import window_mask  # noqa: E402
from reference_impl.measure.flops import count_flops  # noqa: E402
from reference_impl.measure.tensors import TensorCounter  # noqa: E402
from reference_impl.models.bert import Bert  # noqa: E402
from reference_impl.models.longformer import find_global, window_attention  # noqa: E402

HEADS, HEAD_DIM, SIDE, REPEATS = 12, 32, 32, 5
LENGTHS, SIDES, TOKENS = (256, 512, 1024, 2048, 4096), (4, 8, 16, 32, 64, 128, 256, 511), 512


def local_and_global(q: Tensor, k: Tensor, v: Tensor, side: int, is_global: Tensor) -> Tensor:
    """A window, and global tokens with the same projections: they see all and are seen by all."""
    chosen = find_global(is_global)
    mixed = window_attention(q, k, v, side, ~is_global, chosen)
    if chosen.places.shape[1]:
        where = chosen.places[:, None, :, None].expand(-1, q.shape[1], -1, q.shape[3])
        mixed = mixed.scatter(2, where, attention(chosen.pick(q), k, v))
    return mixed


def seconds(run: Callable[[], Tensor]) -> float:
    """Of one call, after one that is not counted."""
    run()
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


@torch.no_grad()
def costs() -> tuple[list[dict], list[dict]]:
    """Rows of the record, and counts of each length."""
    rows, counts = [], []
    for length in LENGTHS:
        generator = torch.Generator().manual_seed(length)
        q, k, v = (torch.randn(1, HEADS, length, HEAD_DIM, generator=generator) for _ in range(3))
        is_global = torch.zeros(1, length, dtype=torch.bool)
        is_global[0, 0] = True
        seen = window_mask(length, before=SIDE, after=SIDE) | is_global | is_global.T
        ways = {
            "window": lambda: local_and_global(q, k, v, SIDE, is_global),  # noqa: B023  (each is run in this turn)
            "dense": lambda: attention(q, k, v),  # noqa: B023
            "masked": lambda: attention(q, k, v, seen),
        }  # noqa: B023
        found = {"length": length, "pairs": int(seen.sum())}
        for name, run in ways.items():
            with TensorCounter() as counter:
                run()
            found[name] = {"flops": count_flops(run), "peak_bytes": counter.peak}
        found["scores_bytes"] = (
            4 * HEADS * length * length
        )  # what a dense attention that is not fused writes down
        found["apart"] = float((ways["window"]() - ways["masked"]()).abs().max())
        taken = [{name: seconds(run) for name, run in ways.items()} for _ in range(REPEATS)]
        counts.append(found)
        for name, rival in (("dense", "dense, fused"), ("masked", "dense, fused, with the mask")):
            rows.append(
                compare(
                    f"window attention, {length} tokens",
                    rival,
                    "ms",
                    [1e3 * turn["window"] for turn in taken],
                    [1e3 * turn[name] for turn in taken],
                    larger_is_better=False,
                )
            )
        print(found, flush=True)
    return rows, counts


class Windowed(nn.Module):
    """A block's attention, with a window in its place; the projections stay."""

    def __init__(self, whole: MultiHeadAttention, side: int, with_cls: bool):
        super().__init__()
        self.whole, self.side, self.with_cls = whole, side, with_cls

    def forward(self, x: Tensor, mask: Tensor | None = None, packing: None = None) -> Tensor:
        """x without padding; [CLS] is its first token."""
        q, k, v = (
            split_heads(layer(x), self.whole.num_heads)
            for layer in (self.whole.query, self.whole.key, self.whole.value)
        )
        is_global = torch.zeros(x.shape[:2], dtype=torch.bool)
        is_global[:, 0] = self.with_cls
        return self.whole.output(merge_heads(local_and_global(q, k, v, self.side, is_global)))


def texts() -> list[tuple[str, list[int]]]:
    """Three stretches of 512 tokens from each of four corpora, with [CLS] and [SEP]."""
    tokenizer = corpora.load("bert_tokenizer")
    code = "\n".join(
        text for _, text in sorted(corpora.load("python_library").items()) if len(text) > 4000
    )
    sources = {
        "kjv": corpora.load("kjv"),
        "oewn_glosses": "\n".join(corpora.load("oewn_glosses")),
        "sentiment": "\n".join(one.text for one in corpora.load("sentiment")),
        "python_library": code,
    }
    found = []
    for name, text in sources.items():
        for part in (0.15, 0.45, 0.75):
            start = int(part * len(text))
            ids = tokenizer.encode(text[start : start + 4000], add_specials=False).ids
            whole = tokenizer.encode("a").ids
            found.append((name, [whole[0], *ids[: TOKENS - 2], whole[-1]]))
    return found


@torch.no_grad()
def windows() -> list[dict]:
    """The cosine of each text for each side, with and without [CLS], of MiniLM and of an untrained
    one.
    """
    minilm = corpora.load("minilm").eval()
    torch.manual_seed(0)
    models = {"MiniLM": minilm, "untrained": Bert(minilm.config).eval()}
    drawn, runs = texts(), []
    ids = torch.tensor([one for _, one in drawn])  # (B, T)
    for name, model in models.items():
        whole = model(ids).tokens.mean(1)  # (B, C)
        among = torch.nn.functional.cosine_similarity(whole[:, None], whole[None], dim=-1)  # (B, B)
        runs.append(
            {
                "model": name,
                "other_text": [[round(value, 4) for value in row] for row in among.tolist()],
            }
        )
        parts = [block.attention for block in model.blocks]
        for side in SIDES:
            for with_cls in (False, True):
                for block, part in zip(model.blocks, parts, strict=True):
                    block.attention = Windowed(part, side, with_cls)
                mean = model(ids).tokens.mean(1)
                near = torch.nn.functional.cosine_similarity(mean[:, None], whole[None], dim=-1)
                runs.append(
                    {
                        "model": name,
                        "side": side,
                        "cls": with_cls,
                        "cosines": [round(value, 4) for value in near.diagonal().tolist()],
                        "found": int((near.argmax(1) == torch.arange(len(ids))).sum()),
                    }
                )
                print(
                    name,
                    side,
                    with_cls,
                    f"{near.diagonal().mean():.3f}",
                    runs[-1]["found"],
                    flush=True,
                )
        for block, part in zip(model.blocks, parts, strict=True):
            block.attention = part
    return [{"texts": [name for name, _ in drawn]}, *runs]


def main() -> None:
    """Measure, write bench/results/long_texts.json."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument(
        "--part", choices=("costs", "windows"), help="make this one again; the other stays as it is"
    )
    part = parser.parse_args().part
    torch.set_num_threads(1)
    file = RESULTS / "long_texts.json"
    kept = (
        json.loads(file.read_text(encoding="utf-8"))
        if part
        else {"rows": [], "costs": [], "windows": []}
    )
    rows, counts = costs() if part in (None, "costs") else (kept["rows"], kept["costs"])
    curves = windows() if part in (None, "windows") else kept["windows"]
    save(
        "long_texts",
        rows,
        versions=("torch",),
        heads=HEADS,
        head_dim=HEAD_DIM,
        side=SIDE,
        tokens=TOKENS,
        costs=counts,
        windows=curves,
    )


if __name__ == "__main__":
    sys.exit(main())

"""What unpadding gains as a function of the padding: real texts of different spreads, with padding
and without.

    python bench/padding_gain.py [--repetitions 5]        about two minutes on one core

BERT of 4 layers x 256, forward pass, as in bench/packing.py, whose texts are two of the sets here.
A set of texts has its own spread of lengths, from none (passages of equal length) to that of one
long passage among sixteen definitions. "Padded" is batches of 64, each filled up to its longest;
"packed" is rows of at most 1,024 tokens, filled first-fit, with one call of attention a sequence.
Times are of the processor and not of the clock, since the machine has others on it; cutting,
padding and packing are inside. Both ways give the same vectors; the bench checks it.

The controls have no padding at all: passages of 128 words in batches of 64 or of 8, with a mask
that hides nothing and without one.

Beside the ratio of times stand those of tokens (padded over real) and of pairs of a query and a
key. Then MiniLM on 200 definitions: padded as they come in batches of 64, and packed.
"""

import argparse
import os
import random
import time
from collections.abc import Callable, Sequence

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import torch  # noqa: E402  (threads are set before torch starts)
from packing import BATCH, BUDGET, hash_of, packed_rows, padded_batches, texts  # noqa: E402
from record import save  # noqa: E402
from torch import Tensor  # noqa: E402

from reference_impl import corpora  # noqa: E402
from reference_impl.layers.packing import Packing  # noqa: E402
from reference_impl.models.bert import Bert, BertConfig  # noqa: E402


def passages(lengths: Sequence[int], seed: int = 0) -> list[list[int]]:
    """Passages of the Bible of so many words each, words as ids."""
    draw, words = random.Random(seed), corpora.load("kjv").split()
    starts = [draw.randrange(len(words) - length) for length in lengths]
    return [
        [1 + hash_of(word) % 8000 for word in words[start : start + length]]
        for start, length in zip(starts, lengths, strict=True)
    ]


def lines(of: str, count: int) -> list[list[int]]:
    """Lines of a corpus, drawn: "kjv" gives verses, "oewn_glosses" definitions."""
    found = corpora.load(of)
    drawn = random.Random(0).sample(found.splitlines() if isinstance(found, str) else found, count)
    return [[1 + hash_of(word) % 8000 for word in line.split()][:500] for line in drawn]


def sets() -> dict[str, list[list[int]]]:
    """The texts by name."""
    mixed = texts(128)
    return {
        "passages of 16 words": passages([16] * 256),
        "passages of 128 words": passages([128] * 64),
        "verses, sorted": sorted(lines("kjv", 192), key=len),
        "verses": lines("kjv", 192),
        "definitions": lines("oewn_glosses", 256),
        "definitions and passages, sorted": sorted(mixed, key=len),
        "definitions and passages": mixed,
        "one long passage in sixteen": [
            one
            for k in range(8)
            for one in (*lines("oewn_glosses", 128)[16 * k : 16 * k + 15], *passages([250], k))
        ],
    }


def both(model: Bert, sequences: list[list[int]], repetitions: int) -> dict:
    """Seconds of the processor for both ways, and what the ratios of tokens and pairs are."""
    ways: dict[str, Callable] = {
        "padded": lambda: padded_batches(sequences),
        "packed": lambda: packed_rows(sequences),
    }
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    sums: dict[str, Tensor] = {}
    for _ in range(repetitions + 1):
        for way, batches in ways.items():
            started = time.process_time()
            outputs = [
                (
                    model(ids, **{"packing" if isinstance(seen, Packing) else "mask": seen}).tokens,
                    seen,
                )
                for ids, seen in batches()
            ]
            seconds[way].append(time.process_time() - started)
            sums[way] = sum(
                (out[0] if isinstance(seen, Packing) else out[seen]).double().abs().sum()
                for out, seen in outputs
            )
    torch.testing.assert_close(sums["padded"], sums["packed"], rtol=1e-5, atol=0)
    real, lengths = sum(map(len, sequences)), [len(one) for one in sequences]
    shapes = [ids.shape for ids, _ in padded_batches(sequences)]
    ratios = sorted(
        a / b for a, b in zip(seconds["padded"][1:], seconds["packed"][1:], strict=True)
    )
    return {
        "texts": len(sequences),
        "real": real,
        "shortest": min(lengths),
        "longest": max(lengths),
        "tokens": round(sum(b * t for b, t in shapes) / real, 3),
        "pairs": round(sum(b * t * t for b, t in shapes) / sum(n * n for n in lengths), 3),
        "padded_seconds": round(sorted(seconds["padded"][1:])[repetitions // 2], 4),
        "packed_seconds": round(sorted(seconds["packed"][1:])[repetitions // 2], 4),
        "faster": round(ratios[repetitions // 2], 3),
        "slowest_to_quickest": [round(ratios[0], 3), round(ratios[-1], 3)],
    }


def controls(model: Bert, repetitions: int) -> dict[str, float]:
    """Where no token is padding: seconds of passages of 128 words by batches of 64 or of 8, with
    the mask and without one, and packed.
    """
    sequences = passages([128] * 64)
    ids, mask = torch.tensor(sequences), torch.ones(64, 128, dtype=torch.bool)
    ways = {
        f"batches of {size}, {said}": lambda size=size, seen=seen: [
            model(part, mask=seen if seen is None else seen[:size]) for part in ids.split(size)
        ]
        for size in (64, 8)
        for said, seen in (("mask", mask), ("no mask", None))
    }
    ways["packed"] = lambda: [
        model(row, packing=packing) for row, packing in packed_rows(sequences)
    ]
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(repetitions + 1):
        for way, run in ways.items():
            started = time.process_time()
            run()
            seconds[way].append(time.process_time() - started)
    return {way: round(sorted(times[1:])[repetitions // 2], 4) for way, times in seconds.items()}


def minilm(repetitions: int) -> dict:
    """MiniLM over 200 definitions, both ways, and the largest difference of a number."""
    bert, tokenizer = corpora.load("minilm").eval(), corpora.load("bert_tokenizer")
    rows = [
        tokenizer.encode(line).ids
        for line in random.Random(1).sample(corpora.load("oewn_glosses"), 200)
    ]
    found = both(bert, rows, repetitions)
    one = bert(
        torch.tensor([sum(rows, [])]),
        packing=Packing.of(torch.tensor([0, *map(len, rows)]).cumsum(0, dtype=torch.int32)),
    ).tokens[0]
    other = torch.cat([bert(ids, mask=mask).tokens[mask] for ids, mask in padded_batches(rows)])
    return {**found, "largest_difference": float((one - other).abs().max())}


@torch.inference_mode()
def main() -> None:
    """Measure, and write bench/results/padding_gain.json."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--repetitions", type=int, default=5)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = Bert(
        BertConfig(
            vocab_size=8192, hidden_size=256, num_layers=4, num_heads=4, intermediate_size=1024
        ),
        pooler=False,
    ).eval()
    found = {}
    for name, sequences in sets().items():
        found[name] = both(model, sequences, args.repetitions)
        print(name, found[name], flush=True)
    real, where = minilm(args.repetitions), controls(model, args.repetitions)
    print(real, where)
    save(
        "padding_gain",
        versions=("torch",),
        seed=0,
        sets=found,
        minilm=real,
        controls=where,
        settings={
            "batch": BATCH,
            "row": BUDGET,
            "threads": 1,
            "layers": 4,
            "width": 256,
            "repetitions": args.repetitions,
        },
    )


if __name__ == "__main__":
    main()

"""An encoder without padding against the same encoder with it, on texts whose lengths are spread as
real ones are.

    python bench/packing.py [--repetitions 5] [--texts 256]

BERT of 4 layers x 256, forward pass. A text is a dictionary gloss or, one in three, a Bible passage
of 16 to 256 words; batches of 64. "Padded" takes texts as they come and pads each batch to its
longest; "sorted" sorts all by length first. Packed rows are filled first-fit to 1,024 tokens, and
attention runs once a sequence. All three give the same vectors; the bench checks it. What can be
hoped for is the ratio of tokens computed, padding over real, which stands in the record; it belongs
to this spread of lengths, and other texts have another.
"""

import argparse
import os
import random
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import torch  # noqa: E402  (threads are set before torch starts)
from record import compare, save  # noqa: E402

from reference_impl import corpora  # noqa: E402
from reference_impl.layers.masks import lengths_mask  # noqa: E402
from reference_impl.layers.packing import Packing, pack_rows, pad  # noqa: E402
from reference_impl.models.bert import Bert, BertConfig  # noqa: E402

MUST_PADDED, MUST_SORTED, AIM = 3.0, 1.8, 0.95
BATCH, BUDGET, PASSAGE_IN, SHORTEST, LONGEST = 64, 1024, 3, 16, 256


def texts(count: int) -> list[list[int]]:
    """Words as ids: glosses, and in one of `PASSAGE_IN` a passage whose length is drawn evenly on a
    log scale.
    """
    draw = random.Random(0)
    glosses, bible = corpora.load("oewn_glosses"), corpora.load("kjv").split()
    chosen = []
    for _ in range(count):
        words = draw.choice(glosses).split()
        if not draw.randrange(PASSAGE_IN):
            start = draw.randrange(len(bible) - LONGEST)
            words = bible[start : start + round(SHORTEST * (LONGEST / SHORTEST) ** draw.random())]
        chosen.append([1 + hash_of(word) % 8000 for word in words])
    return chosen


def hash_of(word: str) -> int:
    """The same number for a word in every run, which Python's own hash does not give."""
    return int.from_bytes(word.encode()[-6:], "big")


def padded_batches(sequences: list[list[int]]) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Ids and masks of `BATCH` sequences each, in the order given."""
    batches = []
    for i in range(0, len(sequences), BATCH):
        batch = sequences[i : i + BATCH]
        mask = lengths_mask(torch.tensor([len(sequence) for sequence in batch]))
        batches.append((pad(torch.tensor(sum(batch, [])), mask), mask))
    return batches


def packed_rows(sequences: list[list[int]]) -> list[tuple[torch.Tensor, Packing]]:
    """Rows of at most `BUDGET` tokens, and where their sequences lie."""
    return [
        (torch.tensor([sum((sequences[i] for i in row.sequences), [])]), Packing.of(row.cu_seqlens))
        for row in pack_rows([len(sequence) for sequence in sequences], BUDGET)
    ]


def main() -> None:
    """Measure, and write bench/results/packing.json."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--texts", type=int, default=256)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = Bert(
        BertConfig(
            vocab_size=8192, hidden_size=256, num_layers=4, num_heads=4, intermediate_size=1024
        ),
        pooler=False,
    ).eval()
    sequences = texts(args.texts)
    ways = {
        "packed": lambda: packed_rows(sequences),
        "padded": lambda: padded_batches(sequences),
        "sorted": lambda: padded_batches(sorted(sequences, key=len)),
    }
    seconds = {way: [] for way in ways}
    sums = {}
    with torch.inference_mode():
        for _ in range(args.repetitions + 1):
            for way, batches in ways.items():
                started = time.perf_counter()  # cutting, padding and packing are inside the time
                outputs = [
                    (
                        model(
                            ids, **{"packing" if isinstance(seen, Packing) else "mask": seen}
                        ).tokens,
                        seen,
                    )
                    for ids, seen in batches()
                ]
                seconds[way].append(time.perf_counter() - started)
                sums[way] = sum(
                    (out[0] if isinstance(seen, Packing) else out[seen]).double().abs().sum()
                    for out, seen in outputs
                )
            print({way: round(times[-1], 3) for way, times in seconds.items()}, flush=True)
    for way in ("padded", "sorted"):
        torch.testing.assert_close(sums[way], sums["packed"], rtol=1e-5, atol=0)
    real = sum(map(len, sequences))
    ratio = {
        way: round(sum(ids.numel() for ids, _ in ways[way]()) / real, 3)
        for way in ("padded", "sorted")
    }
    rows = [
        compare(
            "encoder without padding",
            rival,
            "s",
            seconds["packed"][1:],
            seconds[way][1:],
            must,
            round(AIM * ratio[way], 2),
            larger_is_better=False,
        )
        for way, rival, must in (
            ("padded", "padded batches as they come", MUST_PADDED),
            ("sorted", "padded batches sorted by length", MUST_SORTED),
        )
    ]
    lengths = sorted(map(len, sequences))
    save(
        "packing",
        rows,
        versions=("torch", "numpy"),
        tokens={"real": real, "padded_over_real": ratio},
        lengths={
            "texts": len(lengths),
            "median": lengths[len(lengths) // 2],
            "longest": lengths[-1],
        },
        settings={"batch": BATCH, "row": BUDGET, "threads": 1},
    )


if __name__ == "__main__":
    main()

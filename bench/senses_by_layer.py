"""Which layer of MiniLM tells two senses apart: words spelled alike, by every layer, beside
untrained weights.

    python bench/senses_by_layer.py        about a minute on one core

The uses are those of bench/trained/elmo.py: *river* against *loan*, *account*, *debt* and *fund*,
which take an article as it does, all spelled *bank*, sorted by four labels of each sense
(`measure/senses.py`). The vector is the one at the word itself, after each block; layer 0 is what
enters the first. The control is the same architecture as it is drawn, under five seeds. Writes
bench/results/senses_by_layer.json; the rival by a bag of words is in trained_elmo.json.
"""

import argparse
import os
import sys
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parent / "trained"))

import torch  # noqa: E402  (threads are set before torch starts)
from elmo import SENSES, SPELLING, judged, lines  # noqa: E402
from record import save  # noqa: E402
from torch import Tensor  # noqa: E402

from reference_impl import corpora  # noqa: E402
from reference_impl.layers.masks import key_mask, lengths_mask  # noqa: E402
from reference_impl.measure.senses import Uses, respelled  # noqa: E402
from reference_impl.models.bert import Bert  # noqa: E402

WHICH, SEEDS = "river, four that take an article", 5


@torch.no_grad()
def layers_at_the_word(bert: Bert, uses: Uses) -> Tensor:
    """The vectors at the word's first piece, (L + 1, N, C); texts of like length are read
    together.
    """
    tokenizer = corpora.load("bert_tokenizer")
    start, end = tokenizer.encode("").ids
    rows, places = [], []
    for line, place in zip(uses.lines, uses.places, strict=True):
        pieces = [tokenizer.encode(word, add_specials=False).ids for word in line]
        rows.append([start, *(piece for word in pieces for piece in word), end])
        places.append(1 + sum(map(len, pieces[:place])))
    order, found = sorted(range(len(rows)), key=lambda i: len(rows[i])), {}
    for first in range(0, len(order), 32):
        some = order[first : first + 32]
        mask = lengths_mask(torch.tensor([len(rows[i]) for i in some]))
        ids = torch.tensor([rows[i] + [0] * (mask.shape[1] - len(rows[i])) for i in some])
        stack = [bert.embeddings(ids, torch.zeros_like(ids))]  # (B, T, C) each
        for block in bert.blocks:
            stack.append(block(stack[-1], key_mask(mask)))
        found |= {
            i: torch.stack([layer[row, places[i]] for layer in stack]) for row, i in enumerate(some)
        }
    return torch.stack([found[i] for i in range(len(rows))], dim=1)


def main() -> None:
    """Read the uses by MiniLM and by five that were never trained; write the record."""
    argparse.ArgumentParser(description=__doc__.split("\n", 1)[0]).parse_args()
    torch.set_num_threads(1)
    uses, trained = (
        respelled(lines()[0] + lines()[1], SENSES[WHICH], SPELLING),
        corpora.load("minilm").eval(),
    )
    names = [f"layer {number}" for number in range(len(trained.blocks) + 1)]
    found = judged(dict(zip(names, layers_at_the_word(trained, uses), strict=True)), uses.labels)
    runs = []
    for seed in range(SEEDS):
        torch.manual_seed(seed)
        runs.append(
            judged(
                dict(
                    zip(names, layers_at_the_word(Bert(trained.config).eval(), uses), strict=True)
                ),
                uses.labels,
            )
        )
    for name in names:
        means = [run[name]["mean"] for run in runs]
        found[f"untrained, {name}"] = {
            "mean": round(sum(means) / SEEDS, 4),
            "low": min(means),
            "high": max(means),
        }
    save(
        "senses_by_layer",
        versions=("torch",),
        seed=list(range(SEEDS)),
        which=WHICH,
        uses_of_each=len(uses.lines) // 2,
        found=found,
    )


if __name__ == "__main__":
    main()

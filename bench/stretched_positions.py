"""Can BERT's table of places be made longer without training? The small BERT of scripture, at twice
its length.

    python bench/stretched_positions.py        a few seconds on one core

The BERT of bench/trained/bert.py has 32 rows of places. Its held-out stretches of 64 tokens, 15 %
of them blanks, the same throughout, are read in two pieces of 32; and whole, with a table of 64
rows that is made in one of these ways:

- drawn: 32 more rows at random, as large as the trained ones;
- copied: the 32 rows once more, as Longformer begins its training (Beltagy et al. 2020, section 5);
- between: row p is the mean of the trained rows around p / 2, by linear interpolation.

Nothing is trained. Five seeds of the blanks.
"""

import os
import sys
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parent / "trained"))

import torch  # noqa: E402  (threads are set before torch starts)
from bert import LENGTH, as_tokens, masking, measure  # noqa: E402
from record import save  # noqa: E402
from texts import scripture, split  # noqa: E402
from torch import Tensor, nn  # noqa: E402

from reference_impl.corpora.small_models import small_model  # noqa: E402
from reference_impl.models.bert import BertConfig, BertForMaskedLM  # noqa: E402

SEEDS = range(5)


def longer(kept: BertForMaskedLM, rows: Tensor) -> BertForMaskedLM:
    """The same model with another table of places."""
    config = {**vars(kept.config), "max_position_embeddings": len(rows)}
    model = BertForMaskedLM(BertConfig(**config)).eval()
    state = {
        name: rows if name.endswith("position.weight") else tensor
        for name, tensor in kept.state_dict().items()
    }
    model.load_state_dict(state)
    return model


def tables(rows: Tensor, seed: int) -> dict[str, Tensor]:
    """Twice as many rows (2P, C), in each way."""
    drawn = torch.randn(rows.shape, generator=torch.Generator().manual_seed(seed)) * rows.std()
    between = nn.functional.interpolate(
        rows.T[None], size=2 * len(rows), mode="linear", align_corners=False
    )[0].T
    return {
        "drawn": torch.cat((rows, drawn)),
        "copied": torch.cat((rows, rows)),
        "between": between.contiguous(),
    }


@torch.no_grad()
def main() -> None:
    """Ask, write bench/results/stretched_positions.json."""
    torch.set_num_threads(1)
    kept = small_model("bert_kjv")
    rows = next(
        tensor
        for name, tensor in kept.model.state_dict().items()
        if name.endswith("position.weight")
    )
    tokens = as_tokens(kept.tokenizer, split(scripture())[1])
    stretches = tokens[: len(tokens) // (2 * LENGTH) * 2 * LENGTH].view(-1, 2 * LENGTH)[::2]
    found: dict[str, list[float]] = {}
    for seed in SEEDS:
        ids, labels = masking(0.15).mask_tokens(stretches, torch.Generator().manual_seed(seed))
        whole = {"ids": ids, "labels": labels}
        pieces = {name: tensor.reshape(-1, LENGTH) for name, tensor in whole.items()}
        asked = {
            "pieces of 32": (kept.model, pieces),
            **{
                name: (longer(kept.model, table), whole)
                for name, table in tables(rows, seed).items()
            },
        }
        for name, (model, batch) in asked.items():
            found.setdefault(name, []).append(round(measure(model, batch)["nats"], 4))
    for name, nats in found.items():
        print(f"{name}: {nats}")
    save(
        "stretched_positions",
        versions=("torch",),
        seeds=list(SEEDS),
        trained_length=LENGTH,
        length=2 * LENGTH,
        stretches=len(stretches),
        nats=found,
    )


if __name__ == "__main__":
    main()

"""What a small GPT gains from the text before: the true one, the same verses in another order,
somebody else's, or none.

    python bench/neighbouring_text.py        half a minute on one core

The second halves of the held-out chunks of `trained/gpt.py`, 64 tokens each, are judged by the kept
model. Before them stands the chunk's own first half; that half with its verses in a drawn order;
the first half of another chunk; or a line feed alone. The judged tokens are the same each time, and
what is asked is what the GPT-1 paper assumes: that text which goes on for long teaches something
that shuffled sentences cannot (section 4.1, on BooksCorpus).
"""

import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import torch  # noqa: E402  (threads are set before torch starts)
from record import save  # noqa: E402
from torch import Tensor  # noqa: E402
from trained.texts import as_tokens, scripture, split  # noqa: E402

from reference_impl.corpora.small_models import small_model  # noqa: E402

HALF, SHIFT = 64, 37  # tokens; chunks to the one whose first half is borrowed


@torch.no_grad()
def nats(model: torch.nn.Module, before: Tensor, judged: Tensor) -> Tensor:
    """-ln p of each judged token (N, T) after what stands before (N, S)."""
    found = []
    for one, other in zip(before.split(64), judged.split(64), strict=True):
        logs = model(torch.cat((one, other), 1)[:, :-1])[:, one.shape[1] - 1 :].log_softmax(-1)
        found.append(-logs.gather(-1, other[..., None])[..., 0])
    return torch.cat(found)


def shuffled(row: Tensor, end: int, generator: torch.Generator) -> Tensor:
    """The row's verses in a drawn order; what begins and what ends it are cut verses, and move as
    well.
    """
    cuts = [0, *(int(place) + 1 for place in (row == end).nonzero().flatten()), len(row)]
    pieces = [row[a:b] for a, b in zip(cuts, cuts[1:], strict=False) if b > a]
    return torch.cat([pieces[i] for i in torch.randperm(len(pieces), generator=generator)])


def main() -> None:
    """Judge, write bench/results/neighbouring_text.json."""
    torch.set_num_threads(1)
    started, kept, generator = (
        time.process_time(),
        small_model("gpt_kjv"),
        torch.Generator().manual_seed(0),
    )
    held = as_tokens(kept.tokenizer, split(scripture())[1])
    rows = held[: len(held) // (2 * HALF) * 2 * HALF].view(-1, 2 * HALF)
    first, judged = rows[:, :HALF], rows[:, HALF:]
    (end,) = kept.tokenizer.encode("\n")
    before = {
        "its own": first,
        "its own, verses shuffled": torch.stack([shuffled(row, end, generator) for row in first]),
        "another's": first.roll(SHIFT, 0),
        "none": torch.full((len(rows), 1), end),
    }
    found = {name: nats(kept.model, some, judged) for name, some in before.items()}
    parts = {"first 8": slice(0, 8), "last 32": slice(32, None)}
    pairs = {
        name: (values - found["its own"]).mean(1)
        for name, values in found.items()
        if name != "its own"
    }
    save(
        "neighbouring_text",
        versions=("torch",),
        seed=0,
        tokens=judged.numel(),
        texts=len(rows),
        nats={name: round(float(values.mean()), 4) for name, values in found.items()},
        nats_at={
            where: {name: round(float(values[:, part].mean()), 4) for name, values in found.items()}
            for where, part in parts.items()
        },
        more_than_its_own={
            name: {
                "mean": round(float(values.mean()), 4),
                "error": round(float(values.std() / len(values) ** 0.5), 4),
            }
            for name, values in pairs.items()
        },
        cpu_seconds=round(time.process_time() - started),
    )
    print({name: round(float(values.mean()), 4) for name, values in found.items()})


if __name__ == "__main__":
    main()

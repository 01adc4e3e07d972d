"""Train a small ModernBERT on letters three times, alike but for who may look how far, and ask each
in texts up to eight times as long.

    python bench/trained/modernbert.py [--steps 1200] [--seeds 3]
        about a minute and a half on one core for each of nine trainings

The King James Bible letter by letter (bytes, and one id more for a blank), in stretches of 96. All
see the same batches and begin with the same draw of the weights; a seed changes that draw. What
differs:
- alternating: layers 0 and 3 of six see all, with rotary base 160,000; the others eight letters to
  each side, with 10,000;
- all global: every layer sees all, with base 160,000;
- all global, base 10,000: the same with the other base, to tell the two changes apart.

Asked are the same blanks of the same held-out letters each time: stretches of 768, read whole, or
cut into pieces of 384, 192 and 96. Blanks are 30 % of the letters in training and 15 % when
measured, and every one is the blank's id.

Beside them stand counts that need no training: a letter by its frequency, and by its two neighbours
where neither is blank. Kept are the first seed's alternating model ("modernbert_kjv") and its twin
that is all global ("modernbert_kjv_global").
"""

import argparse
import json
import math
import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch  # noqa: E402  (threads are set before torch starts)
from record import save  # noqa: E402
from texts import folder, losses_of_first_steps, scripture, split  # noqa: E402
from torch import Tensor, nn  # noqa: E402

from reference_impl.corpora.small_models import add_figures, keep, small_model  # noqa: E402
from reference_impl.models.modernbert import ModernBertConfig, ModernBertForMaskedLM  # noqa: E402
from reference_impl.objectives.masked_lm import Masking  # noqa: E402
from reference_impl.objectives.terms import IGNORED, Terms, token_terms  # noqa: E402
from reference_impl.tokenizers.byte_level import ByteLevelBPE, train_byte_level_bpe  # noqa: E402
from reference_impl.training.loop import TrainingConfig, train  # noqa: E402

NAME, BLANK = "modernbert_kjv", 256
ALTERNATING = ModernBertConfig(
    vocab_size=257,
    hidden_size=64,
    intermediate_size=128,
    num_layers=6,
    num_heads=4,
    max_position_embeddings=1024,
    local_attention=16,
)
KINDS = {
    "alternating": ALTERNATING,
    "all global": replace(ALTERNATING, global_every=1),
    "all global, base 10,000": replace(ALTERNATING, global_every=1, global_rope_theta=10_000.0),
}
KEPT = {"alternating": NAME, "all global": f"{NAME}_global"}
TRAINED, LENGTHS = 96, (96, 192, 384, 768)
BATCH, STEPS, SHARE, ASKED = 16, 1200, 0.3, 0.15
Batch = dict[str, Tensor]


def letters(tokenizer: ByteLevelBPE, text: str) -> Tensor:
    """The id of each byte, in order."""
    return torch.tensor(tokenizer.encode(text))


def blanks(share: float) -> Masking:
    """Every chosen letter becomes the blank."""
    return Masking(BLANK, BLANK + 1, [BLANK], share=share, masked=1.0, replaced=0.0)


def batches_of(ids: Tensor) -> Callable[[int], Batch]:
    """Random stretches with blanks; batch i is a function of i alone."""
    choose = blanks(SHARE)

    def batch(index: int) -> Batch:
        generator = torch.Generator().manual_seed(index)
        starts = torch.randint(len(ids) - TRAINED, (BATCH,), generator=generator)
        shown, labels = choose.mask_tokens(ids[starts[:, None] + torch.arange(TRAINED)], generator)
        return {"ids": shown, "labels": labels}

    return batch


def at_blanks(model: ModernBertForMaskedLM, batch: Batch) -> Terms:
    """The loss of masked language modelling."""
    return token_terms(model(batch["ids"]), batch["labels"])


def new_model(config: ModernBertConfig, ids: Tensor, seed: int) -> ModernBertForMaskedLM:
    """An untrained model that knows how frequent letters are."""
    torch.manual_seed(seed)
    model = ModernBertForMaskedLM(config)
    frequency = torch.bincount(ids, minlength=BLANK + 1) + 1.0
    model.decoder.bias.data = (frequency / frequency.sum()).log()
    return model


def settings(steps: int) -> TrainingConfig:
    """How each is trained."""
    return TrainingConfig(
        num_steps=steps,
        learning_rate=4e-3,
        warmup_steps=min(100, steps // 4),
        schedule="cosine",
        min_learning_rate=2e-4,
        weight_decay=0.01,
        betas=(0.9, 0.98),
    )


def asked(ids: Tensor) -> Batch:
    """All held-out stretches of the largest length, with blanks, always the same."""
    rows = ids[: len(ids) // LENGTHS[-1] * LENGTHS[-1]].view(-1, LENGTHS[-1])
    shown, labels = blanks(ASKED).mask_tokens(rows, torch.Generator().manual_seed(1))
    return {"ids": shown, "labels": labels}


@torch.no_grad()
def bits(model: ModernBertForMaskedLM, batch: Batch, length: int) -> dict[str, float]:
    """Bits a blank and the share filled right, in pieces of `length` letters."""
    nats, right, count = 0.0, 0, 0
    shown, labels = (batch[name].reshape(-1, length) for name in ("ids", "labels"))
    for some, wanted in zip(shown.split(8), labels.split(8), strict=True):
        chosen = wanted != IGNORED
        logits = model(some)[chosen]
        nats += float(nn.functional.cross_entropy(logits, wanted[chosen], reduction="sum"))
        right += int((logits.argmax(-1) == wanted[chosen]).sum())
        count += int(chosen.sum())
    return {"bits": round(nats / count / math.log(2), 4), "right": round(right / count, 4)}


def by_counts(ids: Tensor, batch: Batch) -> dict[str, dict[str, float]]:
    """The same blanks from counts of the training letters: frequencies, and the pair of neighbours
    where both are seen.
    """
    used, ids = ids.unique(
        return_inverse=True
    )  # the letters that occur, L of them, renamed 0 .. L - 1
    rename = torch.full((BLANK + 1,), -1).index_put_(
        (used,), torch.arange(len(used))
    )  # a blank and what is new: -1
    frequency = (torch.bincount(ids).double() + 1) / (len(ids) + len(used))
    between = torch.zeros(
        len(used), len(used), len(used), dtype=torch.float64
    )  # left, right, middle
    between.index_put_(
        (ids[:-2], ids[2:], ids[1:-1]),
        torch.ones(len(ids) - 2, dtype=torch.float64),
        accumulate=True,
    )
    between = (between + frequency) / (
        between.sum(-1, keepdim=True) + 1
    )  # one count, shared out by frequency
    padded = rename[nn.functional.pad(batch["ids"], (1, 1), value=BLANK)]
    chosen = batch["labels"] != IGNORED
    left, right, truth = (
        padded[:, :-2][chosen],
        padded[:, 2:][chosen],
        rename[batch["labels"][chosen]],
    )
    shares, both = frequency.repeat(len(truth), 1), (left >= 0) & (right >= 0)
    found = {}
    for name in ("frequency", "both neighbours"):
        if name == "both neighbours":
            shares[both] = between[left[both], right[both]]
        told = shares[torch.arange(len(truth)), truth]
        found[name] = {
            "bits": round(float(-told.log2().mean()), 4),
            "right": round(float((shares.argmax(-1) == truth).double().mean()), 4),
        }
    return found


def first_losses(count: int) -> list[float]:
    """The losses of the alternating model's first steps under the first seed, trained anew; nothing
    is kept.
    """
    ids = letters(train_byte_level_bpe([""], BLANK), split(scripture())[0])
    return losses_of_first_steps(
        count, new_model(ALTERNATING, ids, 0), at_blanks, batches_of(ids), settings(STEPS)
    )


def figures(
    model: ModernBertForMaskedLM, tokenizer: ByteLevelBPE, every: int = 1
) -> dict[str, float]:
    """Bits a blank in the shortest and the longest pieces of each so-manieth held-out stretch."""
    batch = {
        name: tensor[::every]
        for name, tensor in asked(letters(tokenizer, split(scripture())[1])).items()
    }
    return {
        f"bits, {length}": bits(model, batch, length)["bits"]
        for length in (LENGTHS[0], LENGTHS[-1])
    }


def main() -> None:
    """Train all under every seed, ask them, write bench/results/trained_modernbert.json."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    train_text, other_text = split(scripture())
    tokenizer = train_byte_level_bpe([""], BLANK)
    ids, held = letters(tokenizer, train_text), asked(letters(tokenizer, other_text))
    found = {
        kind: {
            "parameters": 0,
            "bits": {str(length): [] for length in LENGTHS},
            "right": {str(length): [] for length in LENGTHS},
            "cpu_seconds": [],
        }
        for kind in KINDS
    }
    for seed in range(options.seeds):
        for kind, config in KINDS.items():
            model, started = new_model(config, ids, seed), time.process_time()
            history = train(
                model, at_blanks, batches_of(ids), settings(options.steps), progress=False
            ).history
            found[kind]["parameters"] = sum(p.numel() for p in model.parameters())
            found[kind]["cpu_seconds"].append(round(time.process_time() - started))
            for length in LENGTHS:
                for name, value in bits(model.eval(), held, length).items():
                    found[kind][name][str(length)].append(value)
            print(
                seed,
                kind,
                {length: values[-1] for length, values in found[kind]["bits"].items()},
                f"{found[kind]['cpu_seconds'][-1]} s",
                flush=True,
            )
            if seed == 0 and kind in KEPT:
                name = KEPT[kind]
                keep(
                    name,
                    "modernbert",
                    config,
                    model,
                    script="bench/trained/modernbert.py",
                    seed=0,
                    corpora=["kjv"],
                    steps=options.steps,
                    first_losses=[row["loss"] for row in history[:20] if kind == "alternating"],
                )
                (folder(name) / "bpe.json").write_text(
                    json.dumps({"tokens": [*tokenizer.vocabulary.tokens, "[MASK]"], "merges": []}),
                    encoding="utf-8",
                )
                kept = small_model(name)  # what is measured from here on is what was kept
                add_figures(
                    name,
                    figures(kept.model, kept.tokenizer),
                    figures(kept.model, kept.tokenizer, every=20),
                )
        save(
            "trained_modernbert",
            versions=("torch",),
            seed=list(range(seed + 1)),
            steps=options.steps,
            trained_length=TRAINED,
            batch=BATCH,
            share_of_blanks={"training": SHARE, "measured": ASKED},
            layers=ALTERNATING.num_layers,
            width=ALTERNATING.hidden_size,
            heads=ALTERNATING.num_heads,
            to_each_side=ALTERNATING.local_attention // 2,
            global_every=ALTERNATING.global_every,
            held_out={
                "letters": held["ids"].numel(),
                "blanks": int((held["labels"] != IGNORED).sum()),
            },
            cpu_seconds=sum(sum(one["cpu_seconds"]) for one in found.values()),
            by_counts=by_counts(ids, held),
            found=found,
        )


if __name__ == "__main__":
    main()

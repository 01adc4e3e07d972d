"""Train an LSTM of both directions as a language model, and see it read the answer.

    python bench/trained/peeking.py [--steps 350]        five minutes on one core

The King James Bible in the tokens of the small GPT, cut into stretches of 25: at each of 24 places
the next token is asked for. Four models see the same batches: one or two layers, in one direction
or in both. In both directions the token that is asked for has been read, save at the last place,
where it is not part of what was given. So the last place is measured apart. Five seeds each; beside
them the n-grams of the same tokens. No model is kept.
"""

import argparse
import math
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch  # noqa: E402  (threads are set before torch starts)
from record import save  # noqa: E402
from texts import as_tokens, scripture, split, tokenizer_for  # noqa: E402
from torch import Tensor, nn  # noqa: E402

from reference_impl.models.lstm import LSTM  # noqa: E402
from reference_impl.models.ngram import KneserNey  # noqa: E402
from reference_impl.objectives.causal_lm import cut_chunks  # noqa: E402
from reference_impl.objectives.terms import Terms, token_terms  # noqa: E402
from reference_impl.training.loop import TrainingConfig, train  # noqa: E402

TOKENS_OF, VOCAB_SIZE, CONTEXT, BATCH, SEEDS = "gpt_kjv", 1024, 24, 16, 5
WAYS = {
    f"{words}, {layers} {'layer' if layers == 1 else 'layers'}": (
        layers,
        words == "both directions",
    )
    for layers in (1, 2)
    for words in ("one direction", "both directions")
}


class Reader(nn.Module):
    """Logits of the next token from an LSTM's vectors, whatever those have read."""

    def __init__(self, num_layers: int, bidirectional: bool):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB_SIZE, 48)
        self.lstm = LSTM(48, 64, num_layers, bidirectional)
        self.output = nn.Linear(128 if bidirectional else 64, VOCAB_SIZE)

    def forward(self, ids: Tensor) -> Tensor:
        """(B, T, V)."""
        return self.output(self.lstm(self.embedding(ids))[0])


def asked(rows: Tensor) -> dict[str, Tensor]:
    """What is given, and at each place what comes next; the last of a row is asked for and never
    given.
    """
    return {"ids": rows[:, :-1], "next": rows[:, 1:]}


def next_token(model: nn.Module, batch: dict[str, Tensor]) -> Terms:
    """Cross-entropy at every place."""
    return token_terms(model(batch["ids"]), batch["next"])


@torch.no_grad()
def held_out(model: Reader, chunks: Tensor) -> dict[str, float]:
    """Nats a token at the last place, and at the places before it."""
    batch = asked(chunks)
    logits = model(batch["ids"])  # (B, T, V)
    nats = nn.functional.cross_entropy(
        logits.transpose(1, 2), batch["next"], reduction="none"
    )  # (B, T)
    return {
        "before the last place": float(nats[:, :-1].mean()),
        "at the last place": float(nats[:, -1].mean()),
    }


def main() -> None:
    """Train, measure, write bench/results/trained_peeking.json."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--steps", type=int, default=350)
    steps = parser.parse_args().steps
    torch.set_num_threads(1)
    train_text, other_text = split(scripture())
    tokenizer = tokenizer_for(TOKENS_OF, train_text, VOCAB_SIZE)
    tokens, others = as_tokens(tokenizer, train_text), as_tokens(tokenizer, other_text)
    chunks = cut_chunks(others, CONTEXT)[::10]

    def batches(number: int) -> dict[str, Tensor]:
        generator = torch.Generator().manual_seed(number)
        starts = torch.randint(len(tokens) - CONTEXT, (BATCH,), generator=generator)
        return asked(tokens[starts[:, None] + torch.arange(CONTEXT + 1)])

    config = TrainingConfig(
        num_steps=steps,
        learning_rate=1.5e-2,
        warmup_steps=20,
        schedule="cosine",
        min_learning_rate=1e-3,
        weight_decay=0.0,
        betas=(0.9, 0.98),
    )
    started, found = time.process_time(), {}
    for name, (layers, both) in WAYS.items():
        runs = []
        for seed in range(SEEDS):
            torch.manual_seed(seed)
            model = Reader(layers, both)
            last = train(model, next_token, batches, config, progress=False).history[-1]["loss"]
            runs.append({"last training loss": last, **held_out(model.eval(), chunks)})
        found[name] = {
            "parameters": sum(p.numel() for p in model.parameters()),
            "nats": {key: [round(run[key], 4) for run in runs] for key in runs[0]},
        }
        print(name, found[name], flush=True)
    seconds = time.process_time() - started
    grams = {
        f"{order}-gram, Kneser-Ney": KneserNey([tokens.tolist()], VOCAB_SIZE, order)
        for order in (1, 2)
    }
    rows = chunks.tolist()
    save(
        "trained_peeking",
        versions=("torch", "numpy"),
        seed=list(range(SEEDS)),
        steps=steps,
        cpu_seconds=round(seconds),
        held_out={"stretches": len(chunks), "places": CONTEXT},
        found=found,
        at_all_places={
            name: round(
                -sum(
                    math.log(gram.probability(row[t], row[:t]))
                    for row in rows
                    for t in range(1, len(row))
                )
                / (len(rows) * CONTEXT),
                4,
            )
            for name, gram in grams.items()
        },
    )


if __name__ == "__main__":
    main()

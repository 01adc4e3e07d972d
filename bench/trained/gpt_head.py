"""GPT-1's recipe in small: the GPT that has read scripture gets a linear layer and learns the
sentiment of film snippets.

    python bench/trained/gpt_head.py [--seconds 120]
        after gpt.py and lstm.py; about three minutes on one core, in pieces

The snippets and the seeds' draws are those of `finetuning.py`, the first three of them: 850 to
learn from, the same 1,055 to be asked. A text is written as GPT-1 writes it, <s> text <e>, in the
tokens of scripture, at most 126 of them; the head reads the last vector.

- `pre-trained`: the kept GPT, everything learns, the joint loss with the language model's at one
  half (equation 5);
- `labels only`: the same without the language model's loss;
- `random weights`: the same shape, drawn anew, with the joint loss;
- `LSTM, pre-trained`: the kept LSTM, which has read as many tokens of the same text, with the joint
  loss;
- `GPT, frozen`: logistic regression on the last vectors, nothing else learns;
- `naive Bayes` over counts of words, on the same snippets.

One rate for all ways, tuned for none; two epochs. Each run is written when it ends, and what the
record has is not run again; `--anew` begins at nothing.
"""

import argparse
import json
import math
import os
import sys
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np  # noqa: E402  (threads are set before torch starts)
import torch  # noqa: E402
from finetuning import Task, interval  # noqa: E402
from gpt import NAME  # noqa: E402
from lstm import NAME as LSTM_NAME  # noqa: E402
from lstm import Compiled
from record import RESULTS, save  # noqa: E402
from sentiment import BATCH, batches, naive_bayes, regression  # noqa: E402
from torch import Tensor, nn  # noqa: E402

from reference_impl.corpora.small_models import small_model  # noqa: E402
from reference_impl.layers.initial import start_normal  # noqa: E402
from reference_impl.models.gpt import GPT  # noqa: E402
from reference_impl.models.gpt_tasks import (  # noqa: E402
    GPTForSequenceClassification,
    Markers,
    TaskOutput,
    last_vectors,
    with_markers,
)
from reference_impl.models.lstm import LSTMLanguageModel  # noqa: E402
from reference_impl.objectives.task_losses import label_and_language  # noqa: E402
from reference_impl.training.fine_tuning import epoch_batches  # noqa: E402
from reference_impl.training.loop import TrainingConfig, train  # noqa: E402

SEEDS, EPOCHS, LONGEST, RATE = 3, 2, 126, 1e-3
WAYS = {
    "pre-trained": 0.5,
    "labels only": 0.0,
    "random weights": 0.5,
    "LSTM, pre-trained": 0.5,
}  # weight of the language model's loss


class LSTMForClassification(nn.Module):
    """The head that a GPT gets, on an LSTM: a linear layer on the vector of a row's last token."""

    def __init__(self, lstm: LSTMLanguageModel):
        super().__init__()
        width, known = lstm.config.hidden_size, lstm.config.vocab_size
        self.body, self.dropout, self.classifier = (
            Compiled(lstm),
            nn.Dropout(0.1),
            nn.Linear(width, 2, bias=False),
        )
        embedding, output = nn.Embedding(known + 3, width), nn.Linear(width, known + 3)
        for fresh in (embedding, output, self.classifier):
            start_normal(fresh)
        with torch.no_grad():
            embedding.weight[:known], output.weight[:known] = (
                lstm.embedding.weight,
                lstm.output.weight,
            )
            output.bias[:known] = lstm.output.bias
        self.body.embedding, self.body.output = embedding, output

    def forward(self, ids: Tensor, mask: Tensor) -> TaskOutput:
        """As `GPTForSequenceClassification`."""
        x = self.body.loop(self.body.embedding(ids))[0]  # (B, T, C)
        return TaskOutput(self.classifier(self.dropout(last_vectors(x, mask))), self.body.output(x))


class Snippets:
    """One draw of the snippets, in the tokens of scripture between <s> and <e>."""

    def __init__(self, seed: int, tokenizer, markers: Markers):
        task = Task(seed)
        self.truth = task.truth
        self.texts = {name: [task.texts[i] for i in part] for name, part in task.parts.items()}
        self.data = {
            name: batches(
                [markers.text(tokenizer.encode(text)[:LONGEST]) for text in some],
                torch.tensor(self.truth[name]),
                BATCH,
            )
            for name, some in self.texts.items()
        }


def start(way: str) -> nn.Module:
    """A model with a new head; its three markers are new rows."""
    if way.startswith("LSTM"):
        return LSTMForClassification(small_model(LSTM_NAME).model)
    gpt = small_model(NAME).model
    gpt, _ = with_markers(GPT(gpt.config) if way == "random weights" else gpt)
    model = GPTForSequenceClassification(gpt.config)
    model.gpt, model.dropout = gpt, nn.Dropout(0.1)
    return model


@torch.no_grad()
def accuracy(model: nn.Module, some: list[dict[str, Tensor]]) -> float:
    """The share of labels that get the larger logit."""
    model.eval()
    right = sum(
        int((model(batch["ids"], batch["mask"]).labels.argmax(-1) == batch["labels"]).sum())
        for batch in some
    )
    return right / sum(len(batch["labels"]) for batch in some)


def tuned(way: str, snippets: Snippets, seed: int) -> dict[str, Any]:
    """One run."""
    torch.manual_seed(seed)
    model, some = start(way), snippets.data["train"]
    order, steps, before = (
        epoch_batches(len(some), 1, seed=seed),
        EPOCHS * len(some),
        time.process_time(),
    )
    config = TrainingConfig(
        num_steps=steps,
        learning_rate=RATE,
        warmup_steps=steps // 10,
        schedule="linear",
        weight_decay=0.01,
        seed=seed,
    )
    objective = lambda m, batch: label_and_language(
        m, {name: batch[name] for name in ("ids", "mask", "labels")}, WAYS[way]
    )  # noqa: E731
    history = train(
        model, objective, lambda number: some[order(number)[0]], config, progress=False
    ).history
    return {
        "accuracy": accuracy(model, snippets.data["held"]),
        "on what it learned from": accuracy(model, some),
        "steps": steps,
        "last loss": round(float(np.mean([row["loss"] for row in history[-20:]])), 3),
        "cpu_seconds": round(time.process_time() - before, 1),
    }


@torch.no_grad()
def frozen(snippets: Snippets) -> float:
    """Logistic regression on the last vectors of the kept GPT; <e> is a row that nothing has
    trained, so the text's own last token is read.
    """
    gpt, found = small_model(NAME).model, {}
    for name, some in snippets.data.items():
        rows = [
            last_vectors(
                gpt.hidden(batch["ids"][:, 1:-1].clamp(max=gpt.config.vocab_size - 1)),
                batch["mask"][:, 2:],
            )
            for batch in some
        ]
        found[name] = torch.cat(rows)[
            torch.cat([batch["places"] for batch in some]).argsort()
        ].numpy()
    return regression(found["train"], snippets.truth["train"]).score(
        found["held"], snippets.truth["held"]
    )


def write(state: dict[str, Any], sizes: dict[str, Any]) -> None:
    """The record: every run, and intervals of the ways that all seeds have."""
    full = {
        way: {seed: run["accuracy"] for seed, run in some.items()}
        for way, some in state["runs"].items()
    } | state["beside"]
    full = {way: some for way, some in full.items() if len(some) == SEEDS}
    best = full.get("pre-trained")
    save(
        "trained_gpt_head",
        versions=("torch", "scikit-learn", "scipy"),
        seed=list(range(SEEDS)),
        epochs=EPOCHS,
        rate=RATE,
        tokens_at_most=LONGEST,
        interval="95 %, Student's t over the seeds; of differences, seed by seed",
        language_weight=WAYS,
        **sizes,
        accuracy={way: interval(list(some.values())) for way, some in full.items()},
        above={
            way: interval([best[seed] - some[seed] for seed in best])
            for way, some in full.items()
            if best
        },
        cpu_seconds=round(
            sum(run["cpu_seconds"] for some in state["runs"].values() for run in some.values())
        ),
        **state,
    )


def main() -> None:
    """Run what the record lacks, and write it after every run."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument(
        "--seconds", type=float, default=math.inf, help="begin no run after so many seconds"
    )
    parser.add_argument("--anew", action="store_true", help="forget what the record has")
    args = parser.parse_args()
    torch.set_num_threads(1)
    started, path = time.monotonic(), RESULTS / "trained_gpt_head.json"
    kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() and not args.anew else {}
    state = {
        name: {
            way: {seed: run for seed, run in some.items() if int(seed) < SEEDS}
            for way, some in kept.get(name, {}).items()
        }
        for name in ("runs", "beside")
    }
    tokenizer, (_, markers) = small_model(NAME).tokenizer, with_markers(small_model(NAME).model)
    draws = {str(seed): Snippets(seed, tokenizer, markers) for seed in range(SEEDS)}
    sizes = {
        "snippets": {name: len(some) for name, some in draws["0"].texts.items()},
        "positive": {
            seed: round(float(draw.truth["held"].mean()), 4) for seed, draw in draws.items()
        },
    }
    for seed in map(str, range(SEEDS)):
        for name, measure in (
            ("naive Bayes", lambda one: naive_bayes(one.texts, one.truth)),
            ("GPT, frozen", frozen),
        ):
            if seed not in state["beside"].setdefault(name, {}):
                state["beside"][name][seed] = measure(draws[seed])
    for seed in map(str, range(SEEDS)):
        for way in WAYS:
            if (
                seed not in state["runs"].setdefault(way, {})
                and time.monotonic() - started < args.seconds
            ):
                state["runs"][way][seed] = tuned(way, draws[seed], int(seed))
                print(way, seed, state["runs"][way][seed], flush=True)
                write(state, sizes)
    write(state, sizes)


if __name__ == "__main__":
    main()

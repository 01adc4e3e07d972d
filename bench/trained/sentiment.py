"""Fine-tune MiniLM on the sentiment of film snippets, beside what its frozen vectors and counts of
words reach.

    python bench/trained/sentiment.py [--epochs 1]        about six minutes on one core

A snippet is positive if its mean rating is above zero. Neighbours in the file come from one review,
so 50 neighbours are held out together, every fifth time. All three ways see the same snippets:

- naive Bayes over counts of words;
- logistic regression over the means of MiniLM's token vectors, its strength chosen within what is
  trained on;
- the same mean under a linear layer, everything learning but the embeddings, lower layers at lower
  rates.

The classifier is not kept: what it learns is all of MiniLM but its embeddings, 10.6 million numbers
or 21 MB in half precision, where a file of weights has 4 MB at most. Its record says what it
reached.
"""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np  # noqa: E402  (threads are set before torch starts)
import torch  # noqa: E402
from record import save  # noqa: E402
from sklearn.feature_extraction.text import CountVectorizer  # noqa: E402
from sklearn.linear_model import LogisticRegressionCV  # noqa: E402
from sklearn.naive_bayes import MultinomialNB  # noqa: E402
from torch import Tensor, nn  # noqa: E402

from reference_impl import corpora  # noqa: E402
from reference_impl.models.bert import Bert  # noqa: E402
from reference_impl.models.bert_tasks import sentence_vectors  # noqa: E402
from reference_impl.models.heads import Classifier  # noqa: E402
from reference_impl.objectives.batches import pad_rows, token_mask  # noqa: E402
from reference_impl.objectives.task_losses import sequence_classification  # noqa: E402
from reference_impl.training.fine_tuning import (
    FineTuningConfig,
    epoch_batches,
    fine_tuning_groups,
)  # noqa: E402
from reference_impl.training.loop import TrainingConfig, train  # noqa: E402

LENGTH, BATCH, NEIGHBOURS = 48, 16, 50
RATES = FineTuningConfig(learning_rate=1e-4, layer_decay=0.8, head_scale=10.0, weight_decay=0.01)


class MeanClassifier(nn.Module):
    """A label from the mean of the token vectors: what MiniLM's vectors were trained to be
    read by.
    """

    def __init__(self, bert: Bert):
        super().__init__()
        self.bert = bert
        self.classifier = Classifier(bert.config.hidden_size, 2, dropout=0.1)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Logits (B, 2)."""
        return self.classifier(sentence_vectors(self.bert, ids, mask))


def batches(rows: Sequence[list[int]], labels: Tensor, size: int) -> list[dict[str, Tensor]]:
    """Rows of like length together, so that little is padding.

    `places` says which rows they were.
    """
    order = torch.tensor(sorted(range(len(rows)), key=lambda place: len(rows[place])))
    chosen = [(places, [rows[place] for place in places]) for places in order.split(size)]
    return [
        {
            "ids": pad_rows(some, 0),
            "mask": token_mask(some),
            "labels": labels[places],
            "places": places,
        }
        for places, some in chosen
    ]


@torch.no_grad()
def vectors(bert: Bert, some: list[dict[str, Tensor]]) -> np.ndarray:
    """The mean vectors of all rows, in the rows' own order."""
    bert.eval()
    found = torch.cat([sentence_vectors(bert, batch["ids"], batch["mask"]) for batch in some])
    return found[torch.cat([batch["places"] for batch in some]).argsort()].numpy()


@torch.no_grad()
def accuracy(model: nn.Module, some: list[dict[str, Tensor]]) -> float:
    """The share of labels that get the larger logit."""
    model.eval()
    right = sum(
        int((model(batch["ids"], batch["mask"]).argmax(-1) == batch["labels"]).sum())
        for batch in some
    )
    return right / sum(len(batch["labels"]) for batch in some)


def tokens_and_labels() -> tuple[list[str], list[list[int]], Tensor]:
    """Texts, their token ids, and 1 for each that is positive; in the file's order, so that
    neighbours stay together.
    """
    snippets, tokenizer = corpora.load("sentiment"), corpora.load("bert_tokenizer")
    texts = [snippet.text for snippet in snippets]
    rows = [tokenizer.encode(text, max_length=LENGTH, specials_in_text=False).ids for text in texts]
    return texts, rows, torch.tensor([int(snippet.rating > 0) for snippet in snippets])


def held_out(count: int) -> Tensor:
    """Which places are held out: 50 neighbours together, every fifth time, (N,)."""
    return torch.arange(count) // NEIGHBOURS % 5 == 2


def naive_bayes(texts: dict[str, list[str]], truth: dict[str, np.ndarray]) -> float:
    """Accuracy of counts of words."""
    counter = CountVectorizer()
    bayes = MultinomialNB().fit(counter.fit_transform(texts["train"]), truth["train"])
    return bayes.score(counter.transform(texts["held"]), truth["held"])


def regression(frozen: np.ndarray, labels: np.ndarray) -> LogisticRegressionCV:
    """A linear layer over frozen vectors, its strength chosen within what it is trained on."""
    return LogisticRegressionCV(
        Cs=[0.1, 1.0, 10.0, 100.0],
        l1_ratios=(0.0,),
        cv=5,
        scoring="accuracy",
        max_iter=1000,
        use_legacy_attributes=False,
    ).fit(frozen, labels)


def main() -> None:
    """Measure the baselines, fine-tune, write bench/results/trained_sentiment.json."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--epochs", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(1)
    texts, rows, labels = tokens_and_labels()
    held = held_out(len(rows))
    parts = {
        name: which.nonzero().flatten().tolist()
        for name, which in (("train", ~held), ("held", held))
    }
    data = {
        name: batches([rows[i] for i in part], labels[part], BATCH) for name, part in parts.items()
    }
    truth = {name: labels[part].numpy() for name, part in parts.items()}

    found = {
        "naive Bayes": naive_bayes(
            {name: [texts[i] for i in part] for name, part in parts.items()}, truth
        )
    }
    bert = corpora.load("minilm")
    frozen = {name: vectors(bert, some) for name, some in data.items()}
    found["frozen vectors"] = regression(frozen["train"], truth["train"]).score(
        frozen["held"], truth["held"]
    )
    print(found, flush=True)

    torch.manual_seed(0)
    model = MeanClassifier(bert)
    model.bert.embeddings.requires_grad_(False)
    places = epoch_batches(len(data["train"]), 1, seed=0)
    steps = args.epochs * len(data["train"])
    config = TrainingConfig(
        num_steps=steps,
        learning_rate=RATES.learning_rate,
        warmup_steps=steps // 10,
        schedule="linear",
        weight_decay=RATES.weight_decay,
        autocast=torch.bfloat16,
        eval_every=len(data["train"]),
    )
    started = time.process_time()
    history = train(
        model,
        sequence_classification,
        lambda number: data["train"][places(number)[0]],
        config,
        evaluate=lambda m: {"accuracy": accuracy(m, data["held"])},
        groups=lambda m: fine_tuning_groups(m, RATES),
    ).history
    seconds = time.process_time() - started
    found["fine-tuned"] = history[-1]["accuracy"]
    save(
        "trained_sentiment",
        versions=("torch", "scikit-learn"),
        seed=0,
        epochs=args.epochs,
        cpu_seconds=round(seconds),
        rates={
            "body": RATES.learning_rate,
            "head": RATES.learning_rate * RATES.head_scale,
            "of a layer to that of the one above it": RATES.layer_decay,
        },
        snippets={name: len(part) for name, part in parts.items()},
        tokens_at_most=LENGTH,
        autocast="bfloat16",
        positive={name: round(float(part.mean()), 4) for name, part in truth.items()},
        accuracy={name: round(share, 4) for name, share in found.items()},
        accuracy_after={
            row["step"]: round(row["accuracy"], 4) for row in history if "accuracy" in row
        },
        curve=[
            {
                "step": row["step"],
                "loss": round(float(np.mean([r["loss"] for r in history[i - 49 : i + 1]])), 4),
            }
            for i, row in enumerate(history)
            if row["step"] % 50 == 0
        ],
    )
    for name, share in found.items():
        print(f"{name}: {share:.1%}")


if __name__ == "__main__":
    main()

"""Train a small ELMo on the definitions of Open English WordNet, and ask what its layers and halves
tell apart.

    python bench/trained/elmo.py [--steps 1500] [--measure]        six minutes on one core

One line is one text: a word and one of its definitions. The 10,000 most frequent words are
predicted in both directions; all words are read, by their letters. One definition in fifty, chosen
by a hash, is held out with all its synonyms. What is kept are the readers: the layer that says
words has more than half of the numbers, and a task that mixes the layers does without it.

Two words are then spelled alike, and a few labels sort the rest (`measure/senses.py`): *river* and
*money*, and *river* and four words that take an article as it does. Beside the trained model stand
untrained ones of the same shape, a bag of the other words, and models that read far more. The lines
were among those trained on; none had the new spelling.
"""

import argparse
import hashlib
import json
import os
import sys
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch  # noqa: E402  (threads are set before torch starts)
from record import RESULTS, save  # noqa: E402
from texts import losses_of_first_steps  # noqa: E402
from torch import Tensor  # noqa: E402

from reference_impl import corpora  # noqa: E402
from reference_impl.corpora.small_models import (
    add_figures,
    keep,
    own_state,
    small_model,
)  # noqa: E402
from reference_impl.embeddings.vocabulary import Vocabulary, tokenize  # noqa: E402
from reference_impl.measure.senses import Uses, by_centroids, respelled  # noqa: E402
from reference_impl.models.elmo import ELMo, ELMoConfig, characters_of  # noqa: E402
from reference_impl.objectives.bidirectional_lm import bidirectional_lm  # noqa: E402
from reference_impl.objectives.terms import IGNORED, token_terms  # noqa: E402
from reference_impl.training.loop import TrainingConfig, train  # noqa: E402

NAME, STEPS, BATCH, POOL, LONGEST, PREDICTED = "elmo_glosses", 1500, 32, 50, 30, 10_000
CONFIG = ELMoConfig(
    vocab_size=PREDICTED,
    character_size=16,
    filters=((1, 16), (2, 32), (3, 64), (4, 64)),
    num_highway=1,
    word_size=96,
    cell_size=192,
    num_layers=2,
    max_characters=20,
    dropout=0.0,
)
SENSES = {
    "river, money": (("river",), ("money",)),
    "river, four that take an article": (("river",), ("loan", "account", "debt", "fund")),
}
SPELLING = "bank"
DIRECTIONS = ("forward", "backward", "frequency alone")


@cache
def lines() -> tuple[list[list[str]], list[list[str]]]:
    """The definitions to train on and those held out, as words; those of one word are left out,
    long ones cut.
    """
    parts: tuple[list[list[str]], list[list[str]]] = ([], [])
    for text in corpora.load("oewn_glosses"):
        words = tokenize(text)[:LONGEST]
        digest = hashlib.sha256(text.partition(" ")[2].encode()).hexdigest()
        if len(words) > 1:
            parts[int(digest, 16) % 50 == 0].append(words)
    return parts


@cache
def vocabulary() -> Vocabulary:
    """The words that are predicted, by frequency."""
    counted = Vocabulary.from_sentences(lines()[0])
    return Vocabulary(counted.words[:PREDICTED], counted.counts[:PREDICTED].tolist())


def batch_of(texts: Sequence[Sequence[str]]) -> dict[str, Tensor]:
    """Characters, mask and labels; words that are not predicted are IGNORED."""
    characters, mask = characters_of(texts, CONFIG.max_characters)
    index, longest = vocabulary().index, mask.shape[1]
    labels = [
        [index.get(word, IGNORED) for word in text] + [IGNORED] * (longest - len(text))
        for text in texts
    ]
    return {"characters": characters, "mask": mask, "labels": torch.tensor(labels)}


def batches(number: int) -> dict[str, Tensor]:
    """Batch `number`, and nothing else decides what is in it: lines of like length together, pools
    in random order.
    """
    texts, pool = lines()[0], BATCH * POOL
    per_epoch = len(texts) // pool
    order = torch.randperm(
        len(texts), generator=torch.Generator().manual_seed(number // POOL // per_epoch)
    )
    at = number // POOL % per_epoch * pool
    some = sorted(order[at : at + pool].tolist(), key=lambda i: (len(texts[i]), i))
    cut = int(
        torch.randperm(POOL, generator=torch.Generator().manual_seed(number // POOL))[number % POOL]
    )
    return batch_of([texts[i] for i in some[cut * BATCH : (cut + 1) * BATCH]])


def new_model(seed: int = 0) -> ELMo:
    """An untrained model."""
    torch.manual_seed(seed)
    return ELMo(CONFIG)


def training(steps: int) -> TrainingConfig:
    """How it is trained, in so many steps."""
    return TrainingConfig(
        num_steps=steps,
        learning_rate=4e-3,
        warmup_steps=min(50, steps // 4),
        schedule="cosine",
        min_learning_rate=2e-4,
        weight_decay=0.01,
        betas=(0.9, 0.98),
        eval_every=max(steps // 5, 1),
    )


def first_losses(count: int) -> list[float]:
    """The losses of the first steps, of warm-up all of them, trained anew; nothing is kept."""
    return losses_of_first_steps(count, new_model(), bidirectional_lm, batches, training(STEPS))


@torch.no_grad()
def nats(model: ELMo) -> dict[str, float]:
    """Held-out nats a predicted word, in each direction, and what the words' own frequencies need
    for the same.
    """
    texts = sorted(lines()[1], key=len)
    counts = torch.tensor(vocabulary().counts).double()
    alone = counts.sum().log() - counts.log()
    sums = {name: [0.0, 0] for name in DIRECTIONS}
    model.eval()
    for first in range(0, len(texts), 64):
        batch = batch_of(texts[first : first + 64])
        after, before = model(batch["characters"], batch["mask"])
        ahead = token_terms(after[:, :-1], batch["labels"][:, 1:])
        both = bidirectional_lm(model, batch)
        labels = batch["labels"][:, 1:]
        asked = labels[labels != IGNORED]
        for name, (total, count) in {
            "forward": (ahead.total, ahead.count),
            "backward": (both.total - ahead.total, both.count - ahead.count),
            "frequency alone": (alone[asked].sum(), len(asked)),
        }.items():
            sums[name] = [sums[name][0] + float(total), sums[name][1] + count]
    return {name: round(total / count, 4) for name, (total, count) in sums.items()}


@torch.no_grad()
def layers_of(model: ELMo, uses: Uses) -> Tensor:
    """The layers' vectors at the places of the word, (L, N, 2 C); texts of like length are read
    together.
    """
    order = sorted(range(len(uses.lines)), key=lambda i: len(uses.lines[i]))
    found: dict[int, Tensor] = {}
    for first in range(0, len(order), 64):
        some = order[first : first + 64]
        read = model.layers(*characters_of([uses.lines[i] for i in some], CONFIG.max_characters))
        found |= {i: read[:, row, uses.places[i]] for row, i in enumerate(some)}
    return torch.stack([found[i] for i in range(len(order))], dim=1)


@torch.no_grad()
def bag_of(model: ELMo, uses: Uses) -> Tensor:
    """For each use the mean of the other words' vectors of layer 0: what the sentence gives without
    order.
    """
    bags = []
    for line in uses.lines:
        words = model.words(
            characters_of([[word for word in line if word != SPELLING]], CONFIG.max_characters)[0]
        )[0]
        bags.append(words.mean(0))
    return torch.stack(bags)


def vectors_of(model: ELMo, uses: Uses) -> dict[str, Tensor]:
    """Every kind of vector that an ELMo has for a use: each layer, whole and by halves, their mean,
    and the bag.
    """
    layers = layers_of(model, uses)
    kinds = {"layer 0": layers[0]}
    for number in range(1, len(layers)):
        ahead, behind = layers[number].chunk(2, dim=-1)
        kinds |= {
            f"layer {number}": layers[number],
            f"layer {number}, forward": ahead,
            f"layer {number}, backward": behind,
        }
    return {
        **kinds,
        "mean of the layers": layers.mean(0),
        "other words, layer 0": bag_of(model, uses),
    }


@torch.no_grad()
def of_larger_models(uses: Uses) -> dict[str, Tensor]:
    """The same uses by models that read far more: GloVe's mean of the other words, and MiniLM at
    the word itself.
    """
    glove, bert, tokenizer = (
        corpora.load(name) for name in ("glove_6b_50d", "minilm", "bert_tokenizer")
    )
    bags, words = [], []
    for line, place in zip(uses.lines, uses.places, strict=True):
        bags.append(
            torch.stack(
                [
                    glove.unit[glove.index[word]]
                    for word in line
                    if word != SPELLING and word in glove
                ]
            ).mean(0)
        )
        pieces = [tokenizer.encode(word, add_specials=False).ids for word in line]
        ids = [
            tokenizer.encode("").ids[0],
            *(piece for word in pieces for piece in word),
            tokenizer.encode("").ids[-1],
        ]
        words.append(bert(torch.tensor([ids]))[0][0, 1 + sum(map(len, pieces[:place]))])
    return {
        "GloVe 6B, mean of the other words": torch.stack(bags),
        "MiniLM, last layer": torch.stack(words),
    }


def judged(vectors: dict[str, Tensor], labels: Tensor) -> dict[str, dict[str, float]]:
    """For each kind the mean share sorted rightly, and the fifth and the 95th of a hundred draws of
    labels.
    """
    found = {}
    for name, each in vectors.items():
        shares = by_centroids(each, labels, draws=100)
        low, high = torch.quantile(shares, torch.tensor([0.05, 0.95], dtype=shares.dtype)).tolist()
        found[name] = {
            "mean": round(float(shares.mean()), 4),
            "low": round(low, 4),
            "high": round(high, 4),
        }
    return found


def senses(model: ELMo, which: str, untrained: int = 5) -> dict[str, dict[str, float]]:
    """One pair of senses by all that is compared; of untrained models the mean over their seeds."""
    uses = respelled(lines()[0] + lines()[1], SENSES[which], SPELLING)
    found = judged(vectors_of(model, uses), uses.labels)
    runs = [judged(vectors_of(new_model(seed), uses), uses.labels) for seed in range(untrained)]
    for name in runs[0]:
        means = [run[name]["mean"] for run in runs]
        found[f"untrained, {name}"] = {
            "mean": round(sum(means) / untrained, 4),
            "low": min(means),
            "high": max(means),
        }
    return {
        **found,
        **judged(of_larger_models(uses), uses.labels),
        "uses of each": len(uses.lines) // 2,
    }


def figures(model: ELMo, tokenizer: object, every: int = 1) -> dict[str, float]:
    """The share of *river* and *money*, spelled alike, that the layers sort rightly, from each
    so-manieth use.
    """
    uses = respelled(lines()[0] + lines()[1], SENSES["river, money"], SPELLING)
    some = Uses(uses.lines[::every], uses.places[::every], uses.labels[::every])
    return {
        name.replace(" ", "_"): round(float(by_centroids(each, some.labels, draws=100).mean()), 4)
        for name, each in vectors_of(model, some).items()
        if name in ("layer 0", "layer 1", "layer 2")
    }


def trained(steps: int) -> dict[str, object]:
    """Train, keep the readers, and say how it went."""
    model = new_model()
    started = time.process_time()
    history = train(model, bidirectional_lm, batches, training(steps), evaluate=nats).history
    readers = {
        name: tensor for name, tensor in own_state(model).items() if not name.startswith("output.")
    }
    keep(
        NAME,
        "elmo",
        {**vars(CONFIG), "vocab_size": 0},
        readers,
        script="bench/trained/elmo.py",
        seed=0,
        corpora=["oewn_glosses"],
        steps=steps,
        first_losses=[row["loss"] for row in history[:20]],
    )
    return {
        "seed": 0,
        "steps": steps,
        "cpu_seconds": round(time.process_time() - started),
        "parameters": sum(p.numel() for p in model.parameters()),
        "held_out": {
            "lines": len(lines()[1]),
            "nats": {name: round(history[-1][name], 3) for name in DIRECTIONS},
        },
        "curve": [
            {
                name: round(row[name], 3)
                for name in ("step", "loss", "forward", "backward")
                if name in row
            }
            for row in history
            if row["step"] % 150 == 0
        ],
    }


def main() -> None:
    """Train, keep the readers, measure, write bench/results/trained_elmo.json."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument(
        "--measure", action="store_true", help="ask the kept model again, and train none"
    )
    args = parser.parse_args()
    torch.set_num_threads(1)
    if args.measure:
        record = json.loads((RESULTS / "trained_elmo.json").read_text(encoding="utf-8"))
        how = {
            key: record[key]
            for key in ("seed", "steps", "cpu_seconds", "parameters", "held_out", "curve")
        }
    else:
        how = trained(args.steps)
    kept = small_model(NAME)  # what is measured from here on is what was kept
    add_figures(
        NAME, figures(kept.model, kept.tokenizer), figures(kept.model, kept.tokenizer, every=5)
    )
    save(
        "trained_elmo",
        versions=("torch", "numpy"),
        **how,
        parameters_kept=kept.card["parameters"],
        senses={which: senses(kept.model, which) for which in SENSES},
    )
    print(kept.card["figures"])


if __name__ == "__main__":
    main()

"""Tags right and entities right, by a linear layer on frozen vectors, for names and sentences that
were not trained on.

    python bench/tagging.py        about two minutes on one core

The sentences are invented with real names (`reference_impl/corpora/invented.py`). Per seed, names
are divided, 400 sentences made with one half, and three sets of 200 to test: names that were met in
the same forms of sentence, new names in the same forms, new names in forms that were not trained
on. The same once more with sentences made from twenty surnames and twenty places only. Three
bodies, none of which learns: MiniLM's last layer, its table of words, and the same network with
weights as they are drawn. The head is `heads.Classifier` on the vector of a word's first piece,
trained on all sentences at once; its dropout of a half was chosen on seed 0. Five seeds; the rival
that says O of everything is counted beside.

Kept: the head of seed 0 on MiniLM, 2,695 numbers, for the page.
"""

import argparse
import os
import time
from collections.abc import Sequence

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch  # noqa: E402  (threads are set before torch starts)
from record import save  # noqa: E402
from torch import Tensor, nn  # noqa: E402

from reference_impl import corpora  # noqa: E402
from reference_impl.corpora.invented import SEEN, UNSEEN, Names, Tagged, names, tagged  # noqa: E402
from reference_impl.measure.spans import entity_scores  # noqa: E402
from reference_impl.models.bert import Bert  # noqa: E402
from reference_impl.models.heads import Classifier  # noqa: E402
from reference_impl.objectives.task_losses import align_tags, text_batch  # noqa: E402
from reference_impl.objectives.terms import IGNORED  # noqa: E402

SEEDS, TRAINED, TESTED, STEPS, RATE, FEW = 5, 400, 200, 300, 0.01, 20
TAGS = ["O", *(f"{mark}-{kind}" for kind in ("PER", "LOC", "ORG") for mark in "BI")]


@torch.no_grad()
def first_pieces(
    bert: Bert, sentences: Sequence[Tagged], table: bool = False
) -> tuple[Tensor, Tensor]:
    """The vectors (N, C) of all words' first pieces, sentence after sentence, and the numbers of
    their tags (N,).
    """
    tokenizer = corpora.load("bert_tokenizer")
    rows = [tokenizer.encode(" ".join(words)) for words, _ in sentences]
    labels = [
        align_tags(row.word_ids, [TAGS.index(tag) for tag in tags])
        for row, (_, tags) in zip(rows, sentences, strict=True)
    ]
    order, found = sorted(range(len(rows)), key=lambda i: len(rows[i])), {}
    for start in range(0, len(order), 32):
        some = order[start : start + 32]
        batch = text_batch([rows[i].ids for i in some])
        x = (
            bert.embeddings.word(batch["ids"])
            if table
            else bert(batch["ids"], mask=batch["mask"]).tokens
        )
        for row, i in enumerate(some):
            found[i] = x[row, [place for place, label in enumerate(labels[i]) if label != IGNORED]]
    vectors = torch.cat([found[i] for i in range(len(rows))])
    return vectors, torch.tensor([label for row in labels for label in row if label != IGNORED])


def fitted(x: Tensor, labels: Tensor, seed: int) -> Classifier:
    """A linear layer fitted to all words at once, on vectors of mean 0 and deviation 1 that are
    folded into its weights.
    """
    torch.manual_seed(seed)
    head, mean, deviation = (
        Classifier(x.shape[1], len(TAGS), dropout=0.5),
        x.mean(0),
        x.std(0) + 1e-6,
    )
    optimizer = torch.optim.AdamW(head.parameters(), lr=RATE, weight_decay=0.1)
    for _ in range(STEPS):
        optimizer.zero_grad()
        nn.functional.cross_entropy(head((x - mean) / deviation), labels).backward()
        optimizer.step()
    with torch.no_grad():
        head.linear.weight /= deviation
        head.linear.bias -= head.linear.weight @ mean
    return head.eval()


@torch.no_grad()
def scored(head: Classifier, x: Tensor, sentences: Sequence[Tagged]) -> dict[str, float]:
    """The share of tags that are right, and F1 of entities, of all and of each kind."""
    said = iter(TAGS[k] for k in head(x).argmax(-1).tolist())
    found = entity_scores(
        [[next(said) for _ in tags] for _, tags in sentences], [tags for _, tags in sentences]
    )
    return {
        "tags": round(found.tag_accuracy, 4),
        "f1": round(found.overall.f1, 4),
        "precision": round(found.overall.precision, 4),
        "recall": round(found.overall.recall, 4),
        **{kind: round(one.f1, 4) for kind, one in found.by_kind.items()},
    }


def main() -> None:
    """Train the heads, score them, write bench/results/tagging.json."""
    argparse.ArgumentParser(description=__doc__.split("\n", 1)[0]).parse_args()
    torch.set_num_threads(1)
    started, runs, kept = time.process_time(), [], None
    bert = corpora.load("minilm").eval()
    for seed in range(SEEDS):
        here, there = names(seed)
        few = here._replace(last=here.last[:FEW], places=here.places[:FEW])
        torch.manual_seed(seed)
        untrained = Bert(bert.config).eval()
        for many, some in (("many", here), ("few", few)):
            trained = tagged(some, SEEN, TRAINED, seed)
            words = {word for one in trained for word in one.words}
            met = Names(*([name for name in part if name in words] for part in some))
            sets = {
                "seen names": tagged(met, SEEN, TESTED, 100 + seed),
                "new names": tagged(there, SEEN, TESTED, 200 + seed),
                "new names, new forms": tagged(there, UNSEEN, TESTED, 300 + seed),
            }
            for name, body, table in (
                ("MiniLM", bert, False),
                ("table of words", bert, True),
                ("untrained", untrained, False),
            )[: 3 if many == "many" else 1]:
                head = fitted(*first_pieces(body, trained, table), seed)
                kept = kept or head
                for part, sentences in sets.items():
                    runs.append(
                        {
                            "seed": seed,
                            "names": many,
                            "body": name,
                            "set": part,
                            **scored(head, first_pieces(body, sentences, table)[0], sentences),
                        }
                    )
                    print(runs[-1], flush=True)
            for part, sentences in sets.items():
                tags = [tag for _, some in sentences for tag in some]
                runs.append(
                    {
                        "seed": seed,
                        "names": many,
                        "body": "all O",
                        "set": part,
                        "tags": round(tags.count("O") / len(tags), 4),
                        "f1": 0.0,
                    }
                )
    save(
        "tagging",
        versions=("torch",),
        cpu_seconds=round(time.process_time() - started),
        seeds=SEEDS,
        sentences={"trained": TRAINED, "tested": TESTED},
        few=FEW,
        steps=STEPS,
        learning_rate=RATE,
        tags=TAGS,
        runs=runs,
        head={
            "weight": [[round(v, 4) for v in row] for row in kept.linear.weight.tolist()],
            "bias": [round(v, 4) for v in kept.linear.bias.tolist()],
        },
    )


if __name__ == "__main__":
    main()

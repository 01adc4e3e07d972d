"""The kept GPT beside the kept BERT: which vectors tell two words apart that are spelled alike?

    python bench/sides.py        about a minute on one core

Both were trained here on the King James Bible, by bench/trained/gpt.py and bench/trained/bert.py,
and cost about as many operations; the record has the counts. What differs besides the side that
they see: blocks (4 and 2), tokens seen, the vocabulary, and that each is one training. Five pairs
of words, chosen before any of them was measured, are spelled *bank*, and a few labels sort the rest
(`measure/senses.py`). Both models read the same ten words to each side. The vector is the one at
the word's last piece, at that of the next word, at the end of the text, or the mean over it; at the
word also after each block.

Controls: three untrained models of either shape, drawn as their scripts draw them, and a bag of the
other words, each weighed by its rarity. The lines were among those trained on; none had the new
spelling.
"""

import argparse
import os
import statistics
import sys
from collections import Counter
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path.insert(0, str(Path(__file__).resolve().parent / "trained"))

import torch  # noqa: E402  (threads are set before torch starts)
from bert import BATCH, CONFIG, LENGTH, at_blanks, batches_of, start  # noqa: E402
from gpt import BATCH as GPT_BATCH  # noqa: E402
from gpt import CONTEXT  # noqa: E402
from record import save  # noqa: E402
from torch import Tensor, nn  # noqa: E402

from reference_impl import corpora  # noqa: E402
from reference_impl.corpora.small_models import SmallModel, small_model  # noqa: E402
from reference_impl.embeddings.vocabulary import tokenize  # noqa: E402
from reference_impl.measure.flops import count_flops  # noqa: E402
from reference_impl.measure.senses import Uses, by_centroids, respelled  # noqa: E402
from reference_impl.models.bert import BertForMaskedLM  # noqa: E402
from reference_impl.models.gpt import GPT  # noqa: E402
from reference_impl.objectives.causal_lm import causal_lm, chunk_batch  # noqa: E402

PAIRS = (
    ("river", "money"),
    ("bread", "sword"),
    ("wine", "silver"),
    ("sea", "gold"),
    ("oil", "stone"),
)
SPELLING, MOST, ROUND, SEEDS = "bank", 100, 10, 3


def uses() -> dict[str, Uses]:
    """For each pair at most MOST uses of each word, cut to ROUND words on either side."""
    verses, found = [tokenize(line) for line in corpora.load("kjv").splitlines()], {}
    for pair in PAIRS:
        every = respelled(verses, [(word,) for word in pair], SPELLING)
        some = torch.cat(
            [(every.labels == sense).nonzero()[:MOST, 0] for sense in range(len(pair))]
        ).tolist()  # they come in a drawn order
        cut = [
            (
                every.lines[i][max(every.places[i] - ROUND, 0) : every.places[i] + ROUND + 1],
                min(every.places[i], ROUND),
            )
            for i in some
        ]
        found[", ".join(pair)] = Uses(
            [line for line, _ in cut], [place for _, place in cut], every.labels[some]
        )
    return found


def as_ids(one: SmallModel, line: list[str], at: int) -> tuple[list[int], int, int, int]:
    """The line's ids, where the text begins in them, and the places of the last pieces of the word
    and of the next one.
    """
    parts = [
        " ".join(line[:at]),
        SPELLING,
        " ".join(line[at + 1 : at + 2]),
        " ".join(line[at + 2 :]),
    ]
    if (
        one.card["kind"] == "gpt"
    ):  # a verse begins after a line feed, and a space stands before each later word
        cut = [
            one.tokenizer.encode("\n"),
            *(
                one.tokenizer.encode((" " if n and parts[0] else "") + part) if part else []
                for n, part in enumerate(parts)
            ),
        ]
    else:
        cut = [[], *(one.tokenizer.encode(part, add_specials=False).ids for part in parts)]
    ids, first, here, then = (
        [id for piece in cut for id in piece],
        len(cut[0]),
        *(sum(map(len, cut[:many])) - 1 for many in (3, 4)),
    )
    spare = (
        max(0, len(ids) - LENGTH) if one.card["kind"] == "bert" else 0
    )  # BERT has room for 32: what is farthest to the left goes
    return ids[spare:], first, here - spare, then - spare


@torch.no_grad()
def vectors_of(model: nn.Module, one: SmallModel, some: Uses) -> dict[str, Tensor]:
    """Every kind of vector for each use, (N, C)."""
    found: dict[str, list[Tensor]] = {}
    blocks: list[Tensor] = []
    hooks = [
        block.register_forward_hook(lambda _, __, out: blocks.append(out[0]))
        for block in (model.blocks if isinstance(model, GPT) else model.bert.blocks)
    ]
    for line, at in zip(some.lines, some.places, strict=True):
        ids, first, here, then = as_ids(one, line, at)
        blocks.clear()
        x = (
            model.hidden(torch.tensor([ids]))[0]
            if isinstance(model, GPT)
            else model.bert(torch.tensor([ids])).tokens[0]
        )  # (T, C)
        kinds = {
            "at the word": x[here],
            "a word later": x[min(then, len(x) - 1)],
            "at the end": x[-1],
            "mean": x[first:].mean(0),
            **{f"block {number}": out[here] for number, out in enumerate(blocks, 1)},
        }
        for kind, vector in kinds.items():
            found.setdefault(kind, []).append(vector)
    for hook in hooks:
        hook.remove()
    return {kind: torch.stack(vectors) for kind, vectors in found.items()}


def senses(
    model: nn.Module, one: SmallModel, asked: dict[str, Uses]
) -> dict[str, dict[str, float]]:
    """By kind of vector and pair the mean share sorted rightly."""
    found: dict[str, dict[str, float]] = {}
    for pair, some in asked.items():
        for kind, vectors in vectors_of(model, one, some).items():
            found.setdefault(kind, {})[pair] = round(
                float(by_centroids(vectors, some.labels).mean()), 4
            )
    return found


def bags(asked: dict[str, Uses]) -> dict[str, float]:
    """The same sorting by the other words alone, each counted and weighed by its rarity in these
    lines.
    """
    found = {}
    for pair, some in asked.items():
        lines = Counter(word for line in some.lines for word in set(line) if word != SPELLING)
        place = {word: number for number, word in enumerate(lines)}
        counts = torch.zeros(len(some.lines), len(place))
        for row, line in enumerate(some.lines):
            for word in line:
                if word != SPELLING:
                    counts[row, place[word]] += 1
        rarity = torch.tensor([len(some.lines) / lines[word] for word in place]).log()
        found[pair] = round(float(by_centroids(counts * rarity, some.labels).mean()), 4)
    return found


def untrained_twin(one: SmallModel, seed: int) -> nn.Module:
    """An untrained model of the same shape."""
    torch.manual_seed(seed)
    if one.card["kind"] == "gpt":
        return GPT(one.model.config).eval()
    model = BertForMaskedLM(CONFIG)
    start(model.bert)
    return model.eval()


def operations(one: SmallModel) -> int:
    """Of the whole training: a step's, forward and back, times the steps."""
    model = untrained_twin(one, 0).train()
    if one.card["kind"] == "gpt":
        batch = chunk_batch(torch.randint(one.model.config.vocab_size, (GPT_BATCH, CONTEXT + 1)))
        return one.card["steps"] * count_flops(lambda: causal_lm(model, batch).total.backward())
    batch = batches_of(torch.randint(5, CONFIG.vocab_size, (10_000,)))(0)
    return one.card["steps"] * count_flops(lambda: at_blanks(model, batch).total.backward())


def main() -> None:
    """Measure, write bench/results/sides.json."""
    argparse.ArgumentParser(description=__doc__.split("\n", 1)[0]).parse_args()
    torch.set_num_threads(1)
    asked, found = uses(), {}
    for name, kept, tokens in (
        ("BERT", "bert_kjv", BATCH * LENGTH),
        ("GPT", "gpt_kjv", GPT_BATCH * CONTEXT),
    ):
        one = small_model(kept)
        runs = [senses(untrained_twin(one, seed), one, asked) for seed in range(SEEDS)]
        found[name] = {
            "operations": operations(one),
            "tokens_seen": one.card["steps"] * tokens,
            "parameters": one.card["parameters"],
            "senses": senses(one.model, one, asked),
            "untrained": {
                kind: [round(statistics.mean(run[kind].values()), 4) for run in runs]
                for kind in runs[0]
            },
        }
        print(
            name,
            {
                kind: round(statistics.mean(row.values()), 3)
                for kind, row in found[name]["senses"].items()
            },
            found[name]["untrained"],
            flush=True,
        )
    save(
        "sides",
        versions=("torch",),
        seed=list(range(SEEDS)),
        uses_of_each={pair: len(some.labels) // 2 for pair, some in asked.items()},
        bag_of_words=bags(asked),
        models=found,
    )


if __name__ == "__main__":
    main()

"""InfoNCE with and without hard negatives: a linear map on frozen vectors, from a definition to its
word.

    python bench/hard_negatives.py        about three minutes on one core

Pairs are those of `search_words`: a definition of Open English WordNet and a word that it defines,
among GloVe's 20,000 most frequent words, with no shared beginning. 4,000 definitions are drawn for
training and 1,000 others, with other words, for the test; a test ranks their words. Texts are read
in two ways: by the mean of MiniLM's token embeddings, without any layer, and by the mean of its
last layer. One matrix, the same for both sides and the identity at first, is trained by InfoNCE
(scale 20) for 400 steps of 64 pairs. A hard negative of a definition is one of the ten wrong
training words whose vectors are nearest to it before training, drawn at each step. Five seeds, each
with its own split.
"""

import argparse
import os
import random
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch  # noqa: E402  (threads are set before torch starts)
from record import save  # noqa: E402
from search_words import common_definitions, pooled  # noqa: E402
from torch import Tensor  # noqa: E402

from reference_impl import corpora  # noqa: E402
from reference_impl.measure.retrieval import retrieval_scores  # noqa: E402
from reference_impl.models.heads import similarity  # noqa: E402
from reference_impl.objectives.task_losses import in_batch_negatives  # noqa: E402

SEEDS, TRAINED, TESTED, STEPS, BATCH, HARDEST = 5, 4000, 1000, 400, 64, 10
INPUTS = {"token embeddings": "table", "last layer": "mean"}
WAYS = ("in-batch negatives", "and a hard negative each", "hard negatives only")


def trained(definitions: Tensor, words: Tensor, hardest: Tensor, way: str, seed: int) -> Tensor:
    """The matrix after so many steps."""
    generator = torch.Generator().manual_seed(seed)
    matrix = torch.eye(definitions.shape[1], requires_grad=True)
    optimizer = torch.optim.AdamW([matrix], lr=1e-3, weight_decay=0.0)
    for _ in range(STEPS):
        some = torch.randint(len(definitions), (BATCH,), generator=generator)
        drawn = torch.randint(HARDEST, (BATCH,), generator=generator)
        one, other = definitions[some] @ matrix, words[some] @ matrix
        hard = words[hardest[some, drawn]] @ matrix
        if way == "hard negatives only":
            pairs = torch.stack([(one * other).sum(1), (one * hard).sum(1)], 1)
            lengths = torch.stack([other.norm(dim=1), hard.norm(dim=1)], 1)
            cosines = pairs / (lengths * one.norm(dim=1, keepdim=True))
            loss = -(20 * cosines).log_softmax(1)[:, 0].mean()
        else:
            terms = in_batch_negatives(one, other, hard=None if way == WAYS[0] else hard)
            loss = terms.total / terms.count
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return matrix.detach()


def of_seed(definitions: Tensor, words: Tensor, seed: int, name: str) -> list[dict]:
    """What each way reaches on the test of one split."""
    order = torch.randperm(len(words), generator=torch.Generator().manual_seed(seed))
    here, there = order[:TRAINED], order[TRAINED:]
    cosines = similarity(definitions[here], words[here]).fill_diagonal_(-2)
    hardest = cosines.topk(HARDEST).indices
    right, runs = {at: {at: 1} for at in range(TESTED)}, []
    for way in ("untrained", *WAYS):
        matrix = torch.eye(words.shape[1])
        if way != "untrained":
            matrix = trained(definitions[here], words[here], hardest, way, seed)
        ranked = similarity(definitions[there] @ matrix, words[there] @ matrix)
        rankings = ranked.argsort(dim=1, descending=True, stable=True)[:, :50].tolist()
        scores = retrieval_scores(dict(enumerate(rankings)), right)
        runs.append({"seed": seed, "input": name, "way": way, "ndcg": round(scores.ndcg, 4)})
        print(runs[-1], flush=True)
    return runs


def main() -> None:
    """Encode, train, score, write bench/results/hard_negatives.json."""
    argparse.ArgumentParser(description=__doc__.split("\n", 1)[0]).parse_args()
    torch.set_num_threads(1)
    started = time.process_time()
    pairs = [(gloss, words[0]) for gloss, words in common_definitions(corpora.load("glove_6b_50d"))]
    one_each = list({word: gloss for gloss, word in random.Random(0).sample(pairs, len(pairs))})
    glosses = {word: gloss for gloss, word in pairs}
    chosen = random.Random(0).sample(one_each, TRAINED + TESTED)
    bert = corpora.load("minilm").eval()
    definitions = pooled(bert, [glosses[word] for word in chosen])
    words = pooled(bert, chosen)
    print(f"encoded in {time.process_time() - started:.0f} s", flush=True)
    runs = [
        run
        for name, key in INPUTS.items()
        for seed in range(SEEDS)
        for run in of_seed(definitions[key], words[key], seed, name)
    ]
    save(
        "hard_negatives",
        versions=("torch",),
        trained=TRAINED,
        tested=TESTED,
        steps=STEPS,
        batch=BATCH,
        runs=runs,
        cpu_seconds=round(time.process_time() - started),
    )


if __name__ == "__main__":
    main()

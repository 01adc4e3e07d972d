"""One vector per document or one per token: which finds a function among longer documents?

    python bench/late_interaction.py        about a minute on one core

A hundred functions of Python's library, each asked for by its docstring's first paragraph (as in
bench/trained/retrieval.py, whose test is drawn from the same pairs). A document is that function
and 0, 1 or 4 others of the library, at a drawn position, each cut at 80 of MiniLM's pieces; the
others are in one document only. Nothing is trained, and both ways read the same token vectors:

- single vector: the mean of a document's token vectors, by the cosine;
- late interaction: every token vector is kept, and a document scores the sum, over the question's
  tokens, of the largest cosine with one of its tokens (Khattab and Zaharia 2020).

Recorded is nDCG@10 with a 95 % interval over the questions.
"""

import os
import random
import sys
from collections.abc import Sequence
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parent / "trained"))

import torch  # noqa: E402  (threads are set before torch starts)
from record import save  # noqa: E402
from retrieval import judged, over_queries  # noqa: E402
from retrieval_pairs import functions, once  # noqa: E402
from torch import Tensor  # noqa: E402
from torch.nn.functional import normalize  # noqa: E402

from reference_impl import corpora  # noqa: E402
from reference_impl.layers.packing import Packing  # noqa: E402

QUESTIONS, OTHERS, PIECES, ASKED = 100, (0, 1, 4), 80, 32


def token_vectors(rows: Sequence[Sequence[int]]) -> list[Tensor]:
    """MiniLM's vector of each token, text by text, without padding."""
    minilm = corpora.load("minilm").eval()
    lengths = [len(row) for row in rows]
    bounds = torch.tensor([0, *lengths]).cumsum(0, dtype=torch.int32)
    packed = torch.tensor([[id for row in rows for id in row]])
    return list(minilm(packed, packing=Packing.of(bounds)).tokens[0].split(lengths))


def single_vector(asks: Sequence[Tensor], documents: Sequence[Tensor]) -> Tensor:
    """Cosines of the means (Q, N)."""
    one, other = (
        normalize(torch.stack([rows.mean(0) for rows in side]), dim=-1)
        for side in (asks, documents)
    )
    return one @ other.T


def late_interaction(asks: Sequence[Tensor], documents: Sequence[Tensor]) -> Tensor:
    """Sums of largest cosines (Q, N)."""
    asks, documents = (
        [normalize(rows, dim=-1) for rows in side] for side in (list(asks), list(documents))
    )
    return torch.stack([torch.stack([(q @ d.T).amax(1).sum() for d in documents]) for q in asks])


@torch.no_grad()
def main() -> None:
    """Ask with both, write bench/results/late_interaction.json."""
    torch.set_num_threads(1)
    tokenizer, draw = corpora.load("bert_tokenizer"), random.Random(0)
    pairs = once(list(functions(corpora.load("python_library").values())))
    drawn = draw.sample(pairs, QUESTIONS * (1 + max(OTHERS)))
    asked, spare = drawn[:QUESTIONS], drawn[QUESTIONS:]
    pieces = {
        pair.answer: tokenizer.encode(pair.answer[: 10 * PIECES], max_length=PIECES).ids
        for pair in drawn
    }
    start, end = pieces[asked[0].answer][0], pieces[asked[0].answer][-1]
    asks = token_vectors([tokenizer.encode(p.asks, max_length=ASKED).ids for p in asked])
    found, tokens = {}, {}
    for others in OTHERS:
        rows = []
        for n, pair in enumerate(asked):
            parts = [p.answer for p in spare[n * max(OTHERS) :][:others]]
            parts.insert(draw.randint(0, others), pair.answer)
            rows.append([start, *(id for part in parts for id in pieces[part][1:-1]), end])
        documents = token_vectors(rows)
        tokens[str(1 + others)] = round(sum(map(len, rows)) / len(rows), 1)
        scores = {
            name: torch.tensor(judged(way(asks, documents))["ndcg"])
            for name, way in (
                ("single vector", single_vector),
                ("late interaction", late_interaction),
            )
        }
        found[str(1 + others)] = {
            **{name: over_queries(values) for name, values in scores.items()},
            "difference": over_queries(scores["late interaction"] - scores["single vector"]),
        }
        print(1 + others, tokens[str(1 + others)], found[str(1 + others)], flush=True)
    save(
        "late_interaction",
        versions=("torch",),
        seed=0,
        questions=QUESTIONS,
        tokens=tokens,
        found=found,
    )


if __name__ == "__main__":
    main()

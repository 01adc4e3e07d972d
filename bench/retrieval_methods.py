"""Bi-encoder, late interaction and BM25 on the same hundred queries.

    python bench/retrieval_methods.py        about three minutes on one core

Texts are 4,732 verses, queries those of `kjv_queries`: fifty paraphrases and fifty rare names, each
kind scored by itself with nDCG@10. The encoder is MiniLM, trained as a bi-encoder with the
mean, and not for late interaction:

- bi-encoder: the cosine of the means;
- late interaction: MaxSim over the vectors of the last layer, without [CLS] and [SEP];
- BM25 with scikit-learn's stop words taken out of the queries, and BM25 with the bi-encoder by
  reciprocal rank fusion (k = 60). In a first run the stop words stayed, and *who or what is*
  decided the ranking of the names.

Measured as well: the bi-encoder's first 192, 96 and 48 dimensions, which MiniLM was not trained to
be cut to, next to as many principal components; and, over the same vectors, what an inverted file
and an HNSW graph find of the exact first ten, and how many dot products they take.
"""

import argparse
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch  # noqa: E402  (threads are set before torch starts)
from kjv_queries import NAMES, PARAPHRASES, collection, judgements  # noqa: E402
from record import save  # noqa: E402
from search_book import between, bm25  # noqa: E402
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS  # noqa: E402
from torch import Tensor  # noqa: E402

from reference_impl import corpora  # noqa: E402
from reference_impl.measure.retrieval import ndcg_at  # noqa: E402
from reference_impl.models.heads import similarity  # noqa: E402
from reference_impl.models.late_interaction import maxsim  # noqa: E402
from reference_impl.models.pooling import pool  # noqa: E402
from reference_impl.models.vector_indexes import InvertedFile, NavigableGraph  # noqa: E402
from reference_impl.objectives.task_losses import text_batch  # noqa: E402

KINDS = {
    "paraphrases": slice(0, len(PARAPHRASES)),
    "names": slice(len(PARAPHRASES), len(PARAPHRASES) + len(NAMES)),
}
LENGTH = 96


@torch.no_grad()
def encoded(texts: list[str]) -> dict[str, Tensor]:
    """Of each text the mean, and its tokens' vectors with their mask."""
    tokenizer, minilm = corpora.load("bert_tokenizer"), corpora.load("minilm").eval()
    rows = [tokenizer.encode(text, max_length=LENGTH).ids for text in texts]
    longest = max(map(len, rows))
    found = {
        "mean": torch.empty(len(rows), 384),
        "tokens": torch.zeros(len(rows), longest, 384, dtype=torch.float16),
        "mask": torch.zeros(len(rows), longest, dtype=torch.bool),
    }
    order = sorted(range(len(rows)), key=lambda at: len(rows[at]))
    for start in range(0, len(order), 32):
        some = order[start : start + 32]
        batch = text_batch([rows[at] for at in some])
        tokens = minilm(batch["ids"], mask=batch["mask"]).tokens
        found["mean"][some] = pool(tokens, batch["mask"])
        words = batch["mask"] & (batch["ids"] != rows[0][0]) & (batch["ids"] != rows[0][-1])
        length = tokens.shape[1]
        for at, row, kept in zip(some, tokens, words, strict=True):
            found["tokens"][at, :length], found["mask"][at, :length] = row.half(), kept
    return found


def without_stop_words(query: str) -> str:
    """The query's words that are not among scikit-learn's stop words."""
    return " ".join(word for word in query.split() if word.lower() not in ENGLISH_STOP_WORDS)


def late(queries: dict[str, Tensor], texts: dict[str, Tensor]) -> Tensor:
    """MaxSim of all queries with all texts, (Q, N), some texts at a time."""
    parts = zip(texts["tokens"].split(100), texts["mask"].split(100), strict=True)
    return torch.cat(
        [
            maxsim(queries["tokens"].float(), queries["mask"], tokens.float(), mask)
            for tokens, mask in parts
        ],
        dim=1,
    )


def cut(queries: Tensor, texts: Tensor, dims: int) -> dict[str, Tensor]:
    """Cosines of the first `dims` dimensions, and of as many principal components of the texts."""
    mean = texts.mean(0)
    basis = torch.linalg.svd(texts - mean, full_matrices=False).Vh[:dims].T
    return {
        f"first {dims}": similarity(queries[:, :dims], texts[:, :dims]),
        f"principal {dims}": similarity((queries - mean) @ basis, (texts - mean) @ basis),
    }


def indexes(queries: Tensor, texts: Tensor) -> list[dict]:
    """What each index finds of the exact first ten, and at what cost."""
    exact = similarity(queries, texts).topk(10).indices.tolist()
    inverted, rows = InvertedFile(texts, 64), []
    begun = time.process_time()
    graph = NavigableGraph(texts, links=16, width=100)
    seconds = round(time.process_time() - begun)
    settings = [("IVF", probes, inverted) for probes in (1, 2, 4, 8, 16, 32)]
    settings += [("HNSW", width, graph) for width in (10, 20, 40, 80, 160)]
    for name, setting, index in settings:
        found = [index.search(query, 10, setting) for query in queries]
        shared = [len({*ids.tolist()} & {*row}) for (ids, _), row in zip(found, exact, strict=True)]
        rows.append(
            {
                "index": name,
                "setting": setting,
                "recall": round(sum(shared) / (10 * len(exact)), 4),
                "compared": round(sum(count for _, count in found) / len(found)),
                **({"seconds to build": seconds} if name == "HNSW" else {"lists": 64}),
            }
        )
    return rows


def main() -> None:
    """Encode, rank, score, write bench/results/retrieval_methods.json."""
    argparse.ArgumentParser(description=__doc__.split("\n", 1)[0]).parse_args()
    torch.set_num_threads(1)
    started = time.process_time()
    verses = collection(corpora.load("kjv").split("\n"))
    asked, right = judgements(verses)
    texts, queries = encoded(verses), encoded(asked)
    print(f"encoded in {time.process_time() - started:.0f} s", flush=True)
    scores = {
        "bi-encoder": similarity(queries["mean"], texts["mean"]),
        "late interaction": late(queries, texts),
        "BM25": bm25([without_stop_words(query) for query in asked], verses),
    }
    ranks = [
        scores[name].argsort(dim=1, descending=True, stable=True).argsort(dim=1)
        for name in ("BM25", "bi-encoder")
    ]
    scores["BM25 and bi-encoder"] = sum(1 / (61 + rank) for rank in ranks)
    for dims in (192, 96, 48):
        scores |= cut(queries["mean"], texts["mean"], dims)
    each, first = {}, {}
    for name, table in scores.items():
        order = table.argsort(dim=1, descending=True, stable=True).tolist()
        each[name] = torch.tensor(
            [ndcg_at(row, grades) for row, grades in zip(order, right, strict=True)]
        )
        first[name] = [row[0] for row in order]
    found = {
        name: {kind: round(float(values[part].mean()), 4) for kind, part in KINDS.items()}
        for name, values in each.items()
    }
    print(found)
    shown = list(scores)[:4]
    save(
        "retrieval_methods",
        versions=("torch", "scikit-learn"),
        texts=len(verses),
        tokens_per_text=round(float(texts["mask"].sum(1).float().mean()), 1),
        right_of_each={
            kind: round(sum(map(len, right[part])) / len(right[part]), 1)
            for kind, part in KINDS.items()
        },
        found=found,
        ahead={
            name: {
                kind: between(each[name][part], each["bi-encoder"][part])
                for kind, part in KINDS.items()
            }
            for name in each
            if name != "bi-encoder"
        },
        indexes=indexes(queries["mean"], texts["mean"]),
        queries=asked,
        right=[[verses[at] for at in grades][:3] for grades in right],
        ndcg={name: " ".join(f"{v:.2f}" for v in each[name].tolist()) for name in shown},
        first={name: [verses[at] for at in first[name]] for name in shown},
        cpu_seconds=round(time.process_time() - started),
    )


if __name__ == "__main__":
    main()

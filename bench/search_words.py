"""Which pooling searches best: from a definition to its word among a thousand, by MiniLM and by
what it is held against.

    python bench/search_words.py        about three minutes on one core

Definitions of Open English WordNet are drawn until their words are a thousand; every word is a
text, every definition a query, and each word that has it is a right answer, so that many queries
have several. Words are among GloVe's 20,000 most frequent. A definition that holds a word beginning
with the same four letters as one of its own is left out: no query shares a word with its answer,
and search by shared words would find nothing.

Five draws, one seed each. Every method ranks the same texts for the same queries, by the cosine:

- MiniLM's last layer under the three poolings, with padding left out;
- the mean over its table of words alone, layer 0 without positions;
- the same network with weights as they are drawn, a new draw of them each time;
- the mean over GloVe 50d, with and without stop words.

Kept beside the scores: the first ten of some queries of the first draw, for the page's figure.
"""

import argparse
import os
import random
import re
import time
from collections import defaultdict
from collections.abc import Callable, Sequence

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np  # noqa: E402  (threads are set before torch starts)
import torch  # noqa: E402
from record import save  # noqa: E402
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS  # noqa: E402
from sklearn.metrics import ndcg_score  # noqa: E402
from torch import Tensor  # noqa: E402

from reference_impl import corpora  # noqa: E402
from reference_impl.embeddings.vectors import Vectors  # noqa: E402
from reference_impl.measure.retrieval import ndcg_at, retrieval_scores  # noqa: E402
from reference_impl.models.bert import Bert  # noqa: E402
from reference_impl.models.pooling import POOLINGS, pool, search  # noqa: E402
from reference_impl.objectives.task_losses import text_batch  # noqa: E402

DRAWS, TEXTS, COMMON, SHOWN, LENGTH = 5, 1000, 20_000, 36, 64
WANTED = [
    "lend",
    "bank",
    "river",
    "teacher",
    "hunger",
    "bridge",
]  # shown in the figure, if the first draw has them


def common_definitions(glove: Vectors) -> list[tuple[str, list[str]]]:
    """Each definition that gives none of its words away, with its words, both in the order of the
    dictionary.
    """
    common = {word for word in glove.words[:COMMON] if re.fullmatch("[a-z]{3,12}", word)}
    words_of = defaultdict(list)
    for line in corpora.load("oewn_glosses"):
        word, _, gloss = line.partition(" ")
        if word in common:
            words_of[gloss].append(word)
    return [
        (gloss, words)
        for gloss, words in words_of.items()
        if gloss.count(" ") >= 2
        and not any(
            token.startswith(word[:4])
            for token in re.findall("[a-z]+", gloss.lower())
            for word in words
        )
    ]


def drawn_words(
    definitions: Sequence[tuple[str, list[str]]], seed: int
) -> tuple[list[str], list[str], list[set[int]]]:
    """A thousand words, the definitions they were drawn with, and which words are right
    for each.
    """
    order = random.Random(seed).sample(definitions, TEXTS)
    places, queries = {}, []
    for gloss, words in order:
        if len(places) + len([word for word in words if word not in places]) <= TEXTS:
            for word in words:
                places.setdefault(word, len(places))
            queries.append((gloss, words))
    return (
        list(places),
        [gloss for gloss, _ in queries],
        [{places[word] for word in words} for _, words in queries],
    )


@torch.no_grad()
def pooled(bert: Bert, texts: Sequence[str], length: int = LENGTH) -> dict[str, Tensor]:
    """The texts' vectors under each pooling, (N, C), and of the mean over the table of words."""
    tokenizer = corpora.load("bert_tokenizer")
    rows = [tokenizer.encode(text, max_length=length).ids for text in texts]
    order = sorted(range(len(rows)), key=lambda place: len(rows[place]))
    found = {name: torch.empty(len(rows), bert.config.hidden_size) for name in [*POOLINGS, "table"]}
    for start in range(0, len(order), 32):
        some = order[start : start + 32]
        batch = text_batch([rows[place] for place in some])
        tokens = bert(batch["ids"], mask=batch["mask"]).tokens
        for name in POOLINGS:
            found[name][some] = pool(tokens, batch["mask"], name)
        words = (
            batch["mask"] & (batch["ids"] != rows[0][0]) & (batch["ids"] != rows[0][-1])
        )  # without [CLS] and [SEP]
        found["table"][some] = pool(bert.embeddings.word(batch["ids"]), words)
    return found


def bag(glove: Vectors, stop: frozenset[str]) -> Callable[[Sequence[str]], Tensor]:
    """A function from texts to the means of their words' vectors; zero for a text of which no word
    is known.
    """

    def vectors(texts: Sequence[str]) -> Tensor:
        rows = [
            [
                glove.index[word]
                for word in re.findall("[a-z]+", text.lower())
                if word in glove.index and word not in stop
            ]
            for text in texts
        ]
        return torch.stack(
            [
                torch.as_tensor(glove.matrix[row]).mean(0) if row else torch.zeros(glove.dim)
                for row in rows
            ]
        )

    return vectors


def by_method(
    bert: Bert, glove: Vectors, queries: Sequence[str], texts: Sequence[str], seed: int
) -> dict[str, tuple[Tensor, Tensor]]:
    """The vectors of queries and of texts, by method."""
    torch.manual_seed(seed)
    untrained = Bert(bert.config).eval()
    found = {}
    for name, model in (("MiniLM", bert), ("untrained", untrained)):
        one, other = pooled(model, queries), pooled(model, texts)
        found |= {f"{name}, {how}": (one[how], other[how]) for how in one}
    for name, stop in (("GloVe", frozenset()), ("GloVe without stop words", ENGLISH_STOP_WORDS)):
        vectors, whole = bag(glove, stop), bag(glove, frozenset())
        found[name] = (vectors(queries), whole(texts))  # a text is one word, a stop word or not
    return found


def main() -> None:
    """Rank, score, write bench/results/search_words.json."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--draws", type=int, default=DRAWS)
    args = parser.parse_args()
    torch.set_num_threads(1)
    started, runs, shown = time.process_time(), [], []
    glove, bert = corpora.load("glove_6b_50d"), corpora.load("minilm").eval()
    definitions = common_definitions(glove)
    for seed in range(args.draws):
        texts, queries, right = drawn_words(definitions, seed)
        judged = {q: dict.fromkeys(some, 1) for q, some in enumerate(right)}
        first = {}
        for name, (one, other) in by_method(bert, glove, queries, texts, seed).items():
            ranks = search(one, other, len(texts))
            rankings = dict(enumerate(ranks.places.tolist()))
            ndcg, recall, mrr = retrieval_scores(rankings, judged)
            truth, said = np.zeros((2, len(queries), len(texts)))
            for q, some in enumerate(right):
                truth[q, list(some)] = 1
                said[q, rankings[q]] = -np.arange(len(texts))
            if abs(ndcg_score(truth, said, k=10) - ndcg) > 1e-9:
                raise SystemExit("scikit-learn's nDCG is another")
            runs.append(
                {
                    "draw": seed,
                    "method": name,
                    "ndcg": round(ndcg, 4),
                    "recall": round(recall, 4),
                    "mrr": round(mrr, 4),
                }
            )
            first[name] = (rankings, ranks.cosines)
            print(runs[-1], flush=True)
        runs[-1]["queries"] = len(queries)
        if not seed:
            asked = [q for q, some in enumerate(right) if {texts[k] for k in some} & set(WANTED)]
            asked = sorted(
                {*asked, *range(0, len(queries), len(queries) // (SHOWN - len(asked)))},
                key=lambda q: len(queries[q]),
            )
            shown = [
                {
                    "text": queries[q],
                    "right": sorted(texts[k] for k in right[q]),
                    "first": {
                        name: {
                            "texts": [texts[k] for k in rankings[q][:10]],
                            "cosines": [round(c, 3) for c in cosines[q, :10].tolist()],
                            "ndcg": round(ndcg_at(rankings[q], judged[q]), 3),
                            "rank": 1 + min(rankings[q].index(k) for k in right[q]),
                        }
                        for name, (rankings, cosines) in first.items()
                        if name not in ("untrained, cls", "untrained, max", "untrained, table")
                    },
                }
                for q in asked
                if len(queries[q]) < 90
            ]
            several = {
                "queries": len(queries),
                "several right": sum(len(some) > 1 for some in right),
                "most right": max(map(len, right)),
            }
    save(
        "search_words",
        versions=("torch", "numpy", "scikit-learn"),
        draws=args.draws,
        texts=TEXTS,
        definitions=len(definitions),
        first_draw=several,
        cpu_seconds=round(time.process_time() - started),
        runs=runs,
        shown=shown,
    )


if __name__ == "__main__":
    main()

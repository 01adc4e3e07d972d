"""Search over the book's own sections: by MiniLM under three poolings, by shared words, and by
GloVe.

    python bench/search_book.py        about a minute on one core

A text is a section of a page of the chapters that have been written before this one, its heading
and its prose without code. The queries are the quiz questions of those chapters, read from their
`questions.yml`; a question's id begins with the name of its page, and each section of that page is
a right answer, of grade 1. Nobody judged single sections, so a section of another page that would
answer, too, counts as wrong for every method alike.

BM25 has k1 = 0.9 and b = 0.4, as Thakur et al. 2021 take it, and words in small letters without
stop words or stemming. MiniLM reads the first 128 tokens of a section. *BM25 and the mean* adds 1 /
(60 + rank) of both rankings (Cormack et al. 2009). Kept beside the scores: the first of each
ranking, for the page's figure.
"""

import argparse
import math
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch  # noqa: E402  (threads are set before torch starts)
from record import save  # noqa: E402
from search_words import bag, pooled  # noqa: E402
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS  # noqa: E402
from torch import Tensor  # noqa: E402

from course.book.lint import prose  # noqa: E402
from course.book.review.questions import load_questions  # noqa: E402
from reference_impl import corpora  # noqa: E402
from reference_impl.measure.retrieval import ndcg_at, retrieval_scores  # noqa: E402
from reference_impl.models.heads import similarity  # noqa: E402

BOOK, CHAPTERS = Path(__file__).resolve().parents[1] / "book", range(1, 6)
NOT_PROSE = {
    "Check yourself",
    "What to read",
    "How well did you predict?",
    "Flashcards of the chapter",
}
RESAMPLED, KEPT = 2000, 6


class Section(NamedTuple):
    """A heading with the prose below it, and where it stands."""

    page: str  # as in "01-static-embeddings/bank"
    title: str
    text: str


def sections() -> list[Section]:
    """All sections of the chapters' pages, in the order of the files."""
    found = []
    for number in CHAPTERS:
        folder = next(BOOK.glob(f"{number:02}-*"))
        for file in sorted(folder.glob("*.md")):
            if file.stem == "exercises":
                continue
            text, name = file.read_text(encoding="utf-8"), f"{folder.name}/{file.stem}"
            lines = text.split("\n")
            heads, fenced = [], False
            for n, line in enumerate(lines, 1):
                fenced ^= line.startswith("```")
                if not fenced and re.match("##? ", line):
                    heads.append((n, line.lstrip("# ").strip()))
            title = heads[0][1]
            for (start, head), (end, _) in zip(
                heads, [*heads[1:], (len(lines) + 1, "")], strict=True
            ):
                words = [
                    readable(part.text)
                    for part in prose.read(text).paragraphs
                    if start < part.line < end
                ]
                if head not in NOT_PROSE and words:
                    found.append(
                        Section(
                            name, title if head == title else f"{title}: {head}", " ".join(words)
                        )
                    )
    return found


def readable(text: str) -> str:
    """A paragraph without roles, emphasis and the targets of links."""
    text = re.sub(r"\$\$.*?\$\$", " ", re.sub(r"\{[\w:]+\}`([^`]*)`", r"\1", text))
    return prose.plain(text).replace("`", "")


def questions() -> list[tuple[str, str]]:
    """Each quiz question with the page that it stands on."""
    found = []
    for number in CHAPTERS:
        folder = next(BOOK.glob(f"{number:02}-*"))
        for asked in load_questions(folder / "questions.yml").quiz:
            pages = [
                file.stem for file in folder.glob("*.md") if asked.id.startswith(f"{file.stem}-")
            ]
            if pages:
                found.append((readable(asked.question), f"{folder.name}/{max(pages, key=len)}"))
    return found


def bm25(queries: Sequence[str], texts: Sequence[str], k1: float = 0.9, b: float = 0.4) -> Tensor:
    """Robertson's weights of shared words, (Q, N), in the form of Lucene."""
    counts = [Counter(re.findall("[a-z0-9]+", text.lower())) for text in texts]
    holds, lengths = (
        Counter(word for one in counts for word in one),
        [one.total() for one in counts],
    )
    mean = sum(lengths) / len(lengths)
    rarity = {word: math.log(1 + (len(texts) - n + 0.5) / (n + 0.5)) for word, n in holds.items()}
    return torch.tensor(
        [
            [
                sum(
                    rarity[word] * one[word] / (one[word] + k1 * (1 - b + b * length / mean))
                    for word in asked
                    if one[word]
                )
                for one, length in zip(counts, lengths, strict=True)
            ]
            for asked in (set(re.findall("[a-z0-9]+", query.lower())) for query in queries)
        ]
    )


def written(places: Sequence[int], scores: Sequence[float]) -> str:
    """The first of a ranking on one line, "12:0.53 40:0.51": a record of lists would be ten times
    as long.
    """
    return " ".join(f"{place}:{score:.3f}" for place, score in zip(places, scores, strict=False))


def between(one: Tensor, other: Tensor) -> list[float]:
    """The mean difference of two rows of scores and a 95 % interval, queries drawn with
    replacement.
    """
    draws = torch.randint(
        len(one), (RESAMPLED, len(one)), generator=torch.Generator().manual_seed(0)
    )
    means = (one - other)[draws].mean(1).sort().values
    return [
        round(float(value), 4)
        for value in ((one - other).mean(), means[RESAMPLED // 40], means[-RESAMPLED // 40])
    ]


def main() -> None:
    """Rank, score, write bench/results/search_book.json."""
    argparse.ArgumentParser(description=__doc__.split("\n", 1)[0]).parse_args()
    torch.set_num_threads(1)
    started = time.process_time()
    all_sections, asked = sections(), questions()
    texts, queries = (
        [f"{one.title}. {one.text}" for one in all_sections],
        [text for text, _ in asked],
    )
    print(len(texts), "sections", len(queries), "questions", file=sys.stderr)
    bert, glove = corpora.load("minilm").eval(), corpora.load("glove_6b_50d")
    one, other = pooled(bert, queries, 128), pooled(bert, texts, 128)
    scores = {f"MiniLM, {how}": similarity(one[how], other[how]) for how in one}
    scores |= {
        "BM25": bm25(queries, texts),
        "GloVe without stop words": similarity(
            *(bag(glove, ENGLISH_STOP_WORDS)(some) for some in (queries, texts))
        ),
    }
    ranks = [
        scores[name].argsort(dim=1, descending=True, stable=True).argsort(dim=1)
        for name in ("BM25", "MiniLM, mean")
    ]
    scores["BM25 and the mean"] = sum(1 / (61 + rank) for rank in ranks)
    right = [
        {k: 1 for k, section in enumerate(all_sections) if section.page == page}
        for _, page in asked
    ]
    each, found, first = {}, {}, {}
    for name, table in scores.items():
        order = table.sort(dim=1, descending=True, stable=True).indices.tolist()
        ndcg, recall, mrr = retrieval_scores(dict(enumerate(order)), dict(enumerate(right)))
        found[name] = {"ndcg": round(ndcg, 4), "recall": round(recall, 4), "mrr": round(mrr, 4)}
        each[name] = torch.tensor(
            [ndcg_at(ranking, grades) for ranking, grades in zip(order, right, strict=True)]
        )
        first[name] = [
            written(ranking, table[q, ranking[:KEPT]].tolist()) for q, ranking in enumerate(order)
        ]
        print(name, found[name], flush=True)
    near = similarity(other["mean"], other["mean"]).fill_diagonal_(-1).topk(KEPT)
    save(
        "search_book",
        versions=("torch", "scikit-learn"),
        found=found,
        cpu_seconds=round(time.process_time() - started),
        less={
            name: between(each["MiniLM, mean"], values)
            for name, values in each.items()
            if name != "MiniLM, mean"
        },
        sections=[[section.page, section.title] for section in all_sections],
        questions=[list(one) for one in asked],
        right_of_each=round(sum(map(len, right)) / len(right), 1),
        ndcg={name: " ".join(f"{v:.2f}" for v in values.tolist()) for name, values in each.items()},
        first=first,
        near=[
            written(*both) for both in zip(near.indices.tolist(), near.values.tolist(), strict=True)
        ],
    )


if __name__ == "__main__":
    main()

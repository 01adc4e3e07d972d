"""How far words alone go in BERT's second task, next-sentence prediction, and in the one that came
after it, sentence order.

    python bench/pairs_by_words.py        about a minute on one core

Pairs of verses of the King James Bible, cut into a hundred pieces of running text that stand for
documents; pairs of every second piece set the rule, the others test it. Two rules, neither of which
knows any word's order or meaning:

- overlap: the shared words, each weighted by the logarithm of how rare it is, over the root of the
  product of all words' weights on either side; "follows" above a threshold that makes the fewest
  errors where it is set;
- words: a logistic regression on which words the first has and which the second, each with weights
  of its own.

Once with single verses, once with four joined, since the release of BERT joined sentences until a
pair filled its input. Five seeds, which draw the pairs. Overlap is the same in both orders, so of
sentence order it can know nothing.
"""

import argparse
import math
import re
import time
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import torch
from record import save
from scipy.sparse import csr_matrix, hstack
from sklearn.linear_model import LogisticRegression

from reference_impl import corpora
from reference_impl.objectives.next_sentence import Pair, next_sentence_pairs, sentence_order_pairs

SEEDS, PIECES = 5, 100
TASKS = {"next sentence": next_sentence_pairs, "sentence order": sentence_order_pairs}


def words_of(text: str) -> list[str]:
    """The words of a text in small letters."""
    return re.findall(r"[a-z']+", text.lower())


def documents(verses: Sequence[list[str]], joined: int) -> list[list[list[str]]]:
    """The verses cut into pieces, and in each piece so many verses joined to one text."""
    size = -(-len(verses) // PIECES)
    pieces = [verses[start : start + size] for start in range(0, len(verses), size)]
    return [
        [sum(piece[i : i + joined], []) for i in range(0, len(piece) - joined + 1, joined)]
        for piece in pieces
    ]


def rarity(verses: Sequence[list[str]]) -> dict[str, float]:
    """For each word the logarithm of verses over verses that have it."""
    counts = Counter(word for verse in verses for word in set(verse))
    return {word: math.log(len(verses) / count) for word, count in counts.items()}


def overlap(first: Sequence[str], second: Sequence[str], weight: dict[str, float]) -> float:
    """From 0 for no shared word to 1 for the same words; a word without a weight counts nothing."""
    one, other = set(first), set(second)
    shared, left, right = (
        sum(weight.get(word, 0.0) for word in some) for some in (one & other, one, other)
    )
    return shared / math.sqrt(left * right) if left * right else 0.0


def threshold(scores: Sequence[float], labels: Sequence[int]) -> float:
    """The score up to which "elsewhere" (1) is said, with the fewest errors."""
    wrong = fewest = sum(labels)  # nothing is said to be from elsewhere
    best = -1.0
    for score, label in sorted(zip(scores, labels, strict=True)):
        wrong += 1 - 2 * label
        if wrong < fewest:
            fewest, best = wrong, score
    return best


def by_overlap(
    setting: list[Pair], testing: list[Pair], weight: dict[str, float]
) -> tuple[float, float]:
    """The share of tested pairs said right, and the threshold."""
    best = threshold(
        [overlap(pair.first, pair.second, weight) for pair in setting],
        [pair.label for pair in setting],
    )
    right = sum(
        (overlap(pair.first, pair.second, weight) <= best) == bool(pair.label) for pair in testing
    )
    return right / len(testing), best


def by_words(setting: list[Pair], testing: list[Pair], weight: dict[str, float]) -> float:
    """The share said right by a logistic regression on the words of either side."""
    column = {word: number for number, word in enumerate(weight)}

    def table(texts: list[Sequence[str]]) -> csr_matrix:
        places = [(row, column[word]) for row, text in enumerate(texts) for word in set(text)]
        return csr_matrix(
            (np.ones(len(places)), tuple(zip(*places, strict=True))),
            shape=(len(texts), len(column)),
        )

    def tables(pairs: list[Pair]) -> csr_matrix:
        return hstack(
            [table([pair.first for pair in pairs]), table([pair.second for pair in pairs])]
        ).tocsr()

    model = LogisticRegression(C=0.1, max_iter=300).fit(
        tables(setting), [pair.label for pair in setting]
    )
    return float(model.score(tables(testing), [pair.label for pair in testing]))


def measured(make: Callable, texts: list, weight: dict[str, float], seed: int) -> dict[str, float]:
    """Both rules on pairs drawn with this seed."""
    generator = torch.Generator().manual_seed(seed)
    setting, testing = make(texts[::2], generator), make(texts[1::2], generator)
    right, best = by_overlap(setting, testing, weight)
    return {
        "seed": seed,
        "pairs": len(testing),
        "chance": max(share := sum(pair.label for pair in testing) / len(testing), 1 - share),
        "overlap": right,
        "threshold": best,
        "words": by_words(setting, testing, weight),
    }


def main() -> None:
    """Measure all, write bench/results/pairs_by_words.json."""
    argparse.ArgumentParser(description=__doc__.split("\n", 1)[0]).parse_args()
    torch.set_num_threads(1)
    started = time.process_time()
    verses = [words_of(verse) for verse in corpora.load("kjv").splitlines()]
    weight, runs = rarity(verses), []
    for joined in (1, 4):
        for task, make in TASKS.items():
            for seed in range(SEEDS):
                found = measured(make, documents(verses, joined), weight, seed)
                runs.append(
                    {
                        "task": task,
                        "joined": joined,
                        **{key: round(value, 4) for key, value in found.items()},
                    }
                )
                print(runs[-1], flush=True)
    save(
        "pairs_by_words",
        versions=("torch", "numpy", "scipy", "scikit-learn"),
        cpu_seconds=round(time.process_time() - started),
        runs=runs,
    )


if __name__ == "__main__":
    main()

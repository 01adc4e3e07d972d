"""Word vectors that pages read: chapter 1's skip-gram vectors, cut to what a page can load, and
counts of scripture.

    python bench/trained/vectors.py
        a minute on one core if the vectors are not in the cache yet

The first are those of `embeddings/trained.py`: 100 numbers a word, from the glosses of Open English
WordNet. Kept are the 5,000 most frequent words that are letters only. Measured on WordSim-353: as
kept, and the whole table on the same pairs, so that the record says what half precision costs apart
from what the smaller vocabulary leaves out.

The second come from the King James Bible by counts, PPMI and SVD: the same method as
`trained("svd")` on another book. The window and the vectors are shorter, since the book is. Both
are kept in half precision.
"""

import argparse
import os
import sys
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch  # noqa: E402  (threads are set before torch starts)
from record import save  # noqa: E402
from torch import Tensor  # noqa: E402

from reference_impl import corpora  # noqa: E402
from reference_impl.corpora.small_models import (
    FOLDER,
    add_figures,
    card,
    keep,
    small_model,
)  # noqa: E402
from reference_impl.embeddings.counts import sparse_ppmi, svd_vectors, window_counts  # noqa: E402
from reference_impl.embeddings.evaluation import word_similarity  # noqa: E402
from reference_impl.embeddings.trained import SETTINGS, trained  # noqa: E402
from reference_impl.embeddings.vectors import Vectors  # noqa: E402
from reference_impl.embeddings.vocabulary import Vocabulary, encode, tokenize  # noqa: E402

NAME, WORDS = "skipgram_glosses", 5000
SCRIPTURE, SVD = "svd_kjv", {"min_count": 3, "window": 5, "smoothing": 0.75, "dim": 50}


def figures(vectors: Vectors, words: list[str], every: int = 1) -> dict[str, float]:
    """Spearman's rho on each so-manieth pair of WordSim-353, and how many pairs have both words."""
    found = word_similarity(vectors, corpora.load("wordsim353")[::every])
    return {"wordsim353": round(found.rho, 4), "pairs": found.used}


def of_scripture() -> Vectors:
    """Vectors of the King James Bible, each verse for itself, with the settings SVD."""
    verses = [tokenize(verse) for verse in corpora.load("kjv").split("\n")]
    words = Vocabulary.from_sentences(verses, SVD["min_count"])
    counts = window_counts(encode(verses, words), len(words), SVD["window"])
    return Vectors(
        words.words,
        svd_vectors(sparse_ppmi(counts, smoothing=SVD["smoothing"]), SVD["dim"]).float(),
    )


def keep_vectors(
    name: str, words: list[str], matrix: Tensor, seed: int, corpus: str, settings: dict
) -> Vectors:
    """Keep words and matrix as a model, measure what was kept, and give it back."""
    keep(
        name,
        "vectors",
        {"dim": matrix.shape[1]},
        {"matrix": matrix},
        script="bench/trained/vectors.py",
        seed=seed,
        corpora=[corpus],
        first_losses=[],
        settings=settings,
    )
    (FOLDER / name / "words.txt").write_text(
        "".join(word + "\n" for word in words), encoding="utf-8"
    )
    kept = small_model(name).model
    add_figures(name, figures(kept, words), figures(kept, words, every=3))
    return kept


def main() -> None:
    """Cut and count, keep, measure, write bench/results/trained_vectors.json."""
    argparse.ArgumentParser(description=__doc__.split("\n", 1)[0]).parse_args()
    torch.set_num_threads(1)
    whole, settings = trained("skipgram"), SETTINGS["skipgram"]
    words = [word for word in whole.words if word.isascii() and word.isalpha()][:WORDS]
    matrix = torch.stack([whole[word] for word in words])
    kept = keep_vectors(NAME, words, matrix, settings["seed"], "oewn_glosses", settings)
    verses = of_scripture()
    from_verses = keep_vectors(SCRIPTURE, verses.words, verses.matrix, 0, "kjv", SVD)
    found = {
        "half precision": figures(kept, words),
        "single precision": figures(Vectors(words, matrix), words),
        "whole vocabulary": figures(whole, words),
    }
    save(
        "trained_vectors",
        versions=("torch", "numpy", "scipy"),
        seed=settings["seed"],
        words=len(words),
        of_words=len(whole),
        wordsim353=found,
        scripture={
            "words": len(verses),
            "half precision": figures(from_verses, verses.words),
            "single precision": figures(verses, verses.words),
        },
    )
    print(found, card(SCRIPTURE)["figures"])


if __name__ == "__main__":
    main()

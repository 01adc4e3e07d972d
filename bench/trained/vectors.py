"""Cut chapter 1's skip-gram vectors to the words that a page can load, in half precision.

    python bench/trained/vectors.py        a minute on one core if the vectors are not in the cache yet

The vectors are those of `embeddings/trained.py`: 100 numbers a word, from the glosses of Open English WordNet. Kept are
the 5,000 most frequent words that are letters only. Measured on WordSim-353: as kept, and the whole table on the same
pairs, so that the record says what half precision costs apart from what the smaller vocabulary leaves out.
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

from reference_impl import corpora  # noqa: E402
from reference_impl.corpora.small_models import FOLDER, add_figures, keep, small_model  # noqa: E402
from reference_impl.embeddings.evaluation import word_similarity  # noqa: E402
from reference_impl.embeddings.trained import SETTINGS, trained  # noqa: E402
from reference_impl.embeddings.vectors import Vectors  # noqa: E402

NAME, WORDS = "skipgram_glosses", 5000


def figures(vectors: Vectors, words: list[str], every: int = 1) -> dict[str, float]:
    """Spearman's rho on each so-manieth pair of WordSim-353, and how many pairs have both words."""
    found = word_similarity(vectors, corpora.load("wordsim353")[::every])
    return {"wordsim353": round(found.rho, 4), "pairs": found.used}


def main() -> None:
    """Cut, keep, measure, write bench/results/trained_vectors.json."""
    argparse.ArgumentParser(description=__doc__.split("\n", 1)[0]).parse_args()
    torch.set_num_threads(1)
    whole = trained("skipgram")
    words = [word for word in whole.words if word.isascii() and word.isalpha()][:WORDS]
    matrix = torch.stack([whole[word] for word in words])
    keep(NAME, "vectors", {"dim": whole.dim}, {"matrix": matrix}, script="bench/trained/vectors.py",
         seed=SETTINGS["skipgram"]["seed"], corpora=["oewn_glosses"], first_losses=[], settings=SETTINGS["skipgram"])
    (FOLDER / NAME / "words.txt").write_text("".join(word + "\n" for word in words), encoding="utf-8")
    kept = small_model(NAME).model
    add_figures(NAME, figures(kept, words), figures(kept, words, every=3))
    exact = figures(Vectors(words, matrix), words)
    save("trained_vectors", versions=("torch", "numpy"), seed=SETTINGS["skipgram"]["seed"], words=len(words),
         of_words=len(whole), wordsim353={"half precision": figures(kept, words), "single precision": exact,
                                          "whole vocabulary": figures(whole, words)})
    print(exact, figures(kept, words))


if __name__ == "__main__":
    main()

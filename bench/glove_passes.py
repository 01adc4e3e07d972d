"""GloVe on the dictionary after 1 to 35 passes: loss, two word similarity lists, and the neighbours
of a few words.

    PYTHONPATH=. python bench/glove_passes.py [--passes 35]

All settings but the number of passes are those of `trained("glove")`, which makes eight. GloVe's
authors make fifty to a hundred. The learning rate of AdaGrad does not depend on the number of
passes, so one long training goes through the states of all shorter ones.
"""

import argparse
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch  # noqa: E402
from record import save  # noqa: E402

from reference_impl import corpora  # noqa: E402
from reference_impl.embeddings.counts import window_counts  # noqa: E402
from reference_impl.embeddings.evaluation import word_similarity  # noqa: E402
from reference_impl.embeddings.glove import GloveStep, train_glove  # noqa: E402
from reference_impl.embeddings.skipgram import keep_probability  # noqa: E402
from reference_impl.embeddings.trained import SETTINGS, corpus_words  # noqa: E402
from reference_impl.embeddings.vectors import Vectors  # noqa: E402
from reference_impl.embeddings.windows import subsample  # noqa: E402

MEASURED = (1, 2, 4, 8, 16, 25, 35)
WORDS = ("ice", "river", "music", "doctor")


def main() -> None:
    """Train once, measure on the way, and write bench/results/glove_passes.json."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--passes", type=int, default=max(MEASURED))
    args = parser.parse_args()
    torch.set_num_threads(1)
    settings = dict(SETTINGS["glove"])
    sentences, words = corpus_words()
    keep = keep_probability(
        torch.from_numpy(words.counts), settings.pop("threshold"), released=True
    )
    thinned = subsample(sentences, keep, torch.Generator().manual_seed(settings["seed"]))
    near = window_counts(thinned, len(words), settings.pop("window"), settings.pop("weighting"))
    pairs = {name: corpora.load(name) for name in ("wordsim353", "simlex999")}
    rows: list[dict] = []
    done, started = 0, time.process_time()

    def measure(step: GloveStep) -> None:
        nonlocal done
        done += 1
        if done not in MEASURED:
            return
        vectors = Vectors(words.words, step.tables.word + step.tables.context)
        row = {"passes": done, "loss": round(step.loss, 4)}
        for name, listed in pairs.items():
            row[name] = round(word_similarity(vectors, listed).rho, 4)
        row["neighbours"] = {word: [w for w, _ in vectors.neighbours(word, 6)] for word in WORDS}
        rows.append(row)
        print(f"{time.process_time() - started:.0f} s of one core", flush=True)
        save("glove_passes", passes=rows, settings=SETTINGS["glove"])

    train_glove(near, words, observe=measure, **settings | {"epochs": args.passes})


if __name__ == "__main__":
    main()

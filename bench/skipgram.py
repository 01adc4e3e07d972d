"""Skip-gram against gensim with one worker: words a second, and quality on the same text with the
same settings.

    python bench/skipgram.py [--repetitions 7] [--lines 30000]

Speed: both train one epoch on the same lines, in turn, from tokenized sentences with the vocabulary
already counted; looking words up is inside the time of both. A word counts whether subsampling
keeps it or not. Quality: both train on all glosses in the same random order, with the dimension,
window, negatives, epochs, subsampling and learning rate of `trained("skipgram")`. CBOW likewise,
save that gensim gets the learning rate of the released program, 0.05: its steps are larger, because
it hands each context word the whole gradient. SVD and GloVe, which gensim does not have, stand
beside gensim's skip-gram.
"""

import argparse
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

try:
    import gensim.models.word2vec as word2vec  # threads are set before torch starts
except ModuleNotFoundError:
    print("bench/skipgram.py: gensim, the rival, has no wheel for this Python; use 3.13 or older")
    raise SystemExit(77) from None
import numpy as np  # noqa: E402
import torch  # noqa: E402
from record import compare, save  # noqa: E402

from reference_impl import corpora  # noqa: E402
from reference_impl.embeddings.evaluation import word_similarity  # noqa: E402
from reference_impl.embeddings.skipgram import train_skipgram  # noqa: E402
from reference_impl.embeddings.trained import CORPUS, MIN_COUNT, SETTINGS, trained  # noqa: E402
from reference_impl.embeddings.vectors import Vectors  # noqa: E402
from reference_impl.embeddings.vocabulary import Vocabulary, encode, tokenize  # noqa: E402

MUST, AIM = 0.45, 0.7
TOLERANCE = 0.03  # how far below gensim's Spearman ours may lie


def main() -> None:
    """Measure speed, then quality, and write bench/results/skipgram.json."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--lines", type=int, default=30_000)
    args = parser.parse_args()
    torch.set_num_threads(1)
    if word2vec.FAST_VERSION < 0:
        raise SystemExit(
            "gensim runs without its compiled loops here: the comparison would be worth nothing"
        )
    sentences = [tokenize(line) for line in corpora.load(CORPUS)]
    sentences = [sentences[i] for i in np.random.default_rng(0).permutation(len(sentences))]
    rows = [speed(sentences[: args.lines], args.repetitions)]
    quality_rows, scores = quality(sentences)
    save(
        "skipgram",
        rows + quality_rows,
        versions=("torch", "numpy", "scipy", "gensim"),
        gensim=scores,
        settings=SETTINGS,
        lines={"speed": args.lines, "quality": len(sentences)},
    )


def rival(sentences: list[list[str]], method: str, epochs: int) -> word2vec.Word2Vec:
    """gensim's model with our settings, its vocabulary built, not yet trained."""
    ours = SETTINGS[method]
    rate = ours["learning_rate"] if method == "skipgram" else 0.05
    model = word2vec.Word2Vec(
        vector_size=ours["dim"],
        window=ours["window"],
        negative=ours["negatives"],
        epochs=epochs,
        alpha=rate,
        sample=1e-3,
        min_count=MIN_COUNT,
        workers=1,
        seed=1,
        sg=int(method == "skipgram"),
    )
    model.build_vocab(sentences)
    return model


def speed(sentences: list[list[str]], repetitions: int) -> dict:
    """Words a second in one epoch, ours and gensim's in turn; the first round warms up and is not
    kept.
    """
    words = sum(map(len, sentences))
    vocabulary = Vocabulary.from_sentences(sentences, MIN_COUNT)
    ours, theirs = [], []
    for _ in range(repetitions + 1):
        model = rival(sentences, "skipgram", epochs=1)
        started = time.perf_counter()
        model.train(sentences, total_examples=len(sentences), epochs=1)
        theirs.append(words / (time.perf_counter() - started))
        started = time.perf_counter()
        train_skipgram(
            encode(sentences, vocabulary), vocabulary, **SETTINGS["skipgram"] | {"epochs": 1}
        )
        ours.append(words / (time.perf_counter() - started))
        print(f"words a second: ours {ours[-1]:,.0f}, gensim {theirs[-1]:,.0f}", flush=True)
    return compare(
        "skip-gram training", "gensim, one worker", "words/s", ours[1:], theirs[1:], MUST, AIM
    )


def quality(sentences: list[list[str]]) -> tuple[list[dict], dict[str, float]]:
    """Spearman on the word pairs: rows for all four methods, and gensim's own scores for skip-gram
    and CBOW.
    """
    pairs = {name: corpora.load(name) for name in ("wordsim353", "simlex999")}
    scores, rows = {}, []
    for method, prefix in (("skipgram", ""), ("cbow", "cbow_")):
        model = rival(sentences, method, SETTINGS[method]["epochs"])
        model.train(sentences, total_examples=len(sentences), epochs=model.epochs)
        vectors = Vectors(model.wv.index_to_key, torch.from_numpy(model.wv.vectors))
        scores |= {
            prefix + name: round(word_similarity(vectors, pairs[name]).rho, 4) for name in pairs
        }
        print(f"gensim {method}: {scores}", flush=True)
    for method in SETTINGS:
        prefix, other = ("cbow_", "gensim, CBOW") if method == "cbow" else ("", "gensim, skip-gram")
        for name in pairs:
            theirs = scores[prefix + name]
            must = (
                round((theirs - TOLERANCE) / theirs, 3)
                if method == "skipgram" and name == "wordsim353"
                else None
            )
            ours = word_similarity(trained(method), pairs[name]).rho
            rows.append(compare(f"{method}, {name}", other, "Spearman", [ours], [theirs], must))
    return rows, scores


if __name__ == "__main__":
    main()

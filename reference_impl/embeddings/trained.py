"""Vectors trained here, once: every page, exercise and figure that needs them asks this
module.

`trained("skipgram")` trains on the glosses of Open English WordNet with the settings
below and keeps the result in the cache. The key is the settings, the corpus and the
code of the modules that train (comments apart): change one of them and the vectors are
made anew; change nothing and the file is read.
"""

import ast
import hashlib
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tqdm import tqdm

from reference_impl import corpora
from reference_impl.corpora.cache import cache_dir, read_json, write_json, written_whole
from reference_impl.embeddings import (
    cbow,
    counts,
    glove,
    history,
    skipgram,
    subwords,
    vocabulary,
    windows,
)
from reference_impl.embeddings.vectors import Vectors
from reference_impl.embeddings.vocabulary import Vocabulary, encode, tokenize

CORPUS = "oewn_glosses"
MIN_COUNT = 2

# Equal conditions: one text, one window, one length, as many passes, and frequent words
# thinned alike where text is read more than once. SVD needs no thinning, since PPMI
# takes chance out; near neighbours count more in all but SVD: word2vec draws a smaller
# window now and then, GloVe adds 1/d. The learning rates are each method's own.
_COMMON = {"window": 10, "dim": 100}
_LEARNED = {**_COMMON, "threshold": 1e-3, "epochs": 8, "seed": 1}
SETTINGS: dict[str, dict[str, Any]] = {
    "svd": {**_COMMON, "power": 0.5, "smoothing": 0.75},
    "skipgram": {**_LEARNED, "negatives": 5, "learning_rate": 0.05},
    "cbow": {**_LEARNED, "negatives": 5, "learning_rate": 0.2},
    "glove": {
        **_LEARNED,
        "weighting": "harmonic",
        "x_max": 10.0,
        "learning_rate": 0.05,
    },
    "subwords": {
        **_LEARNED,
        "negatives": 5,
        "learning_rate": 0.05,
        "shortest": 3,
        "longest": 6,
        "buckets": 50_000,
    },
}

# The modules whose code decides about the vectors of a method.
_MODULES = {
    "svd": (vocabulary, counts),
    "skipgram": (vocabulary, windows, skipgram, history),
    "cbow": (vocabulary, windows, skipgram, cbow),
    "glove": (vocabulary, windows, skipgram, counts, glove),
    "subwords": (vocabulary, windows, skipgram, subwords),
}


def trained(method: str, progress: bool = True) -> Vectors:
    """The vectors of one method, a key of SETTINGS: from the cache, or trained now and
    kept.
    """
    if method not in SETTINGS:
        raise ValueError(
            f"there is no method {method!r}; there are: {', '.join(SETTINGS)}"
        )
    file = trained_path(method)
    if not file.is_file():
        vectors = _train(method, progress)
        with written_whole(file) as temporary:
            vectors.save(temporary)
    return Vectors.load(file)


def trained_history(method: str = "skipgram", progress: bool = True) -> dict[str, Any]:
    """The film of that training, as `history.Recorder.film` describes it: small, plain
    values, ready for JSON.
    """
    if method != "skipgram":
        raise ValueError(f'there is a history of "skipgram" only, not of {method!r}')
    file = trained_path(method).with_suffix(".history.json")
    if not file.is_file():
        # The film is taken during the training, so that vectors without one are trained
        # again.
        trained_path(method).unlink(missing_ok=True)
        trained(method, progress)
    return read_json(file)


def trained_subwords(progress: bool = True) -> subwords.SubwordVectors:
    """The pieces behind `trained("subwords")`, which give a vector to words that were
    never seen as well.
    """
    file = trained_path("subwords").with_suffix(".pieces.safetensors")
    if not file.is_file():
        # They are kept during the training, so that vectors without them are trained
        # again.
        trained_path("subwords").unlink(missing_ok=True)
        trained("subwords", progress)
    return subwords.SubwordVectors.load(file)


def trained_path(method: str) -> Path:
    """Where the vectors of a method are kept, whether they are there yet or not."""
    return cache_dir() / "trained" / f"{method}-{_key(method)}.safetensors"


def corpus_words() -> tuple[list, Vocabulary]:
    """The encoded sentences that all methods train on, and their vocabulary: from the
    cache, or cut now and kept.
    """
    file = cache_dir() / "trained" / f"words-{_words_key()}.npz"
    if not file.is_file():
        sentences = [tokenize(line) for line in corpora.load(CORPUS)]
        words = Vocabulary.from_sentences(sentences, MIN_COUNT)
        encoded = encode(sentences, words)
        ids, _ = vocabulary.flatten(encoded)
        with written_whole(file) as temporary, temporary.open("wb") as out:
            np.savez(
                out,
                ids=ids,
                lengths=[len(sentence) for sentence in encoded],
                words=words.words,
                counts=words.counts,
            )
    with np.load(file, allow_pickle=False) as kept:
        words = Vocabulary(kept["words"].tolist(), kept["counts"].tolist())
        return np.split(kept["ids"], kept["lengths"].cumsum()[:-1]), words


def _words_key() -> str:
    pins = [pinned.sha256 for pinned in corpora.entry(CORPUS).files]
    code = _code(Path(vocabulary.__file__).read_text(encoding="utf-8"))
    return hashlib.sha256(json.dumps([MIN_COUNT, pins, code]).encode()).hexdigest()[:16]


def _key(method: str) -> str:
    pins = [file.sha256 for file in corpora.entry(CORPUS).files]
    text = json.dumps([method, SETTINGS[method], MIN_COUNT, pins], sort_keys=True)
    code = [
        _code(Path(module.__file__).read_text(encoding="utf-8"))
        for module in _MODULES[method]
    ]
    return hashlib.sha256("\n".join([text, *code]).encode()).hexdigest()[:16]


def _code(source: str) -> str:
    """What a module does, without comments, docstrings, shapes and layout: rewording
    one must not train everything anew.
    """
    tree = ast.parse(source)
    tree.body = [
        node for node in tree.body if not isinstance(node, (ast.Import, ast.ImportFrom))
    ]
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            node.annotation = None
        if isinstance(node, ast.FunctionDef):
            node.returns = None
        if (
            isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
            and ast.get_docstring(node) is not None
        ):
            node.body = node.body[1:]
    return ast.dump(tree)


def _train(method: str, progress: bool) -> Vectors:
    settings = dict(SETTINGS[method])
    sentences, words = corpus_words()
    with _Progress(f"training {method} on {CORPUS}", enabled=progress) as bar:
        if method == "skipgram":
            film = history.Recorder(words)
            vectors = skipgram.train_skipgram(
                sentences,
                words,
                observe=lambda step: (bar.at(step.done), film(step)),
                **settings,
            )
            write_json(trained_path(method).with_suffix(".history.json"), film.film())
            return vectors
        if method == "cbow":
            return cbow.train_cbow(
                sentences, words, observe=lambda step: bar.at(step.done), **settings
            )
        if method == "subwords":
            pieces = subwords.train_subwords(
                sentences, words, observe=lambda step: bar.at(step.done), **settings
            )
            with written_whole(
                trained_path(method).with_suffix(".pieces.safetensors")
            ) as temporary:
                pieces.save(temporary)
            return pieces.vectors()
        if method == "glove":
            keep = skipgram.keep_probability(
                torch.from_numpy(words.counts), settings.pop("threshold"), released=True
            )
            thinned = windows.subsample(
                sentences, keep, torch.Generator().manual_seed(settings["seed"])
            )
            near = counts.window_counts(
                thinned, len(words), settings.pop("window"), settings.pop("weighting")
            )
            return glove.train_glove(
                near, words, observe=lambda step: bar.at(step.done), **settings
            )
        near = counts.window_counts(sentences, len(words), settings["window"])
        matrix = counts.sparse_ppmi(near, smoothing=settings["smoothing"])
        found = counts.svd_vectors(matrix, settings["dim"], settings["power"])
        return Vectors(words.words, found.float())


class _Progress:
    """A bar on a terminal; elsewhere (a log, a build) a line at the start and one at
    the end.
    """

    def __init__(self, title: str, enabled: bool):
        self.title = title
        self.enabled = enabled
        self.bar = tqdm(
            total=100,
            desc=title,
            unit="%",
            bar_format="{desc}: {n:.0f} %|{bar}| {elapsed}<{remaining}",
            disable=not (enabled and sys.stderr.isatty()),
        )

    def __enter__(self) -> "_Progress":
        self.started = time.perf_counter()
        if self.enabled and self.bar.disable:
            print(f"{self.title} ...", file=sys.stderr, flush=True)
        return self

    def at(self, done: float) -> None:
        """Move to this share of the work; moves of less than one hundredth are not
        drawn.
        """
        if done * 100 - self.bar.n >= 1:
            self.bar.update(done * 100 - self.bar.n)

    def __exit__(self, *exception: object) -> None:
        self.bar.close()
        if self.enabled and self.bar.disable:
            print(
                f"{self.title}: {time.perf_counter() - self.started:.0f} s",
                file=sys.stderr,
                flush=True,
            )

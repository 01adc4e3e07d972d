"""How long tokenizers take to train and to encode: `reference_impl.tokenizers` against the
libraries.

Each row runs ours and the rival in turn, as often as asked, on one thread each, and counts seconds
of processor time: with one thread they are the seconds of a clock on a machine that does nothing
else, and a busy one does not spoil them. Before anything is counted, both must give the same result
where the row says so.

    python bench/tokenization.py [--rounds 5] [--only NAME] [--minbpe FOLDER]

minbpe is on no package index. Its rows are measured if FOLDER holds its package, and left out, with
a word, if not. (This file is not called tokenizers.py, because it must be able to import the
library of that name.)
"""

import argparse
import json
import os
import sys
import sysconfig
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

# Before the libraries are imported: one thread for every contestant.
os.environ |= {"RAYON_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "OMP_NUM_THREADS": "1"}

import tiktoken  # noqa: E402
import tokenizers as hf  # noqa: E402
from record import compare, save  # noqa: E402

from reference_impl import corpora  # noqa: E402
from reference_impl.tokenizers.bpe import train_bpe_plain  # noqa: E402
from reference_impl.tokenizers.bpe_training import train_bpe  # noqa: E402
from reference_impl.tokenizers.byte_level import (
    CHARACTER_OF,
    ByteLevelBPE,
    from_characters,
    train_byte_level_bpe,
)  # noqa: E402
from reference_impl.tokenizers.normalizers import bert_normalizer  # noqa: E402
from reference_impl.tokenizers.pretokenizers import (
    BERT,
    CL100K,
    GPT2,
    WORDS_AND_SIGNS,
    split,
)  # noqa: E402
from reference_impl.tokenizers.unigram_training import train_unigram  # noqa: E402
from reference_impl.tokenizers.wordpiece_training import (
    BERT_SPECIALS,
    train_wordpiece,
)  # noqa: E402

SIZE, ENTRIES = 5_000_000, 5_000
Row = tuple[str, str, Callable, Callable, float | None, float | None]
"""Name, rival, what to run of ours and of theirs, and what the ratio must and should reach."""


def text_of(size: int) -> str:
    """The King James Bible, then Python's standard library, up to `size` characters."""
    parts = [corpora.load("kjv")]
    files = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))
    while sum(map(len, parts)) < size:
        parts.append(files.pop(0).read_text(encoding="utf-8", errors="replace"))
    return "\n".join(parts)[:size]


def library_trained(text: str, model, pre_tokenizer, trainer, normalizer=None):
    """A tokenizer of the library, trained on lines, as it is used for files."""
    tokenizer = hf.Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizer
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.train_from_iterator(text.splitlines(keepends=True), trainer)
    return tokenizer


def training_rows(text: str) -> Iterator[Row]:
    """BPE, WordPiece and Unigram, with normalising and cutting into words."""
    lines, normalize = text.splitlines(keepends=True), bert_normalizer()

    def bpe():
        return train_byte_level_bpe(lines, ENTRIES)

    def their_bpe():
        trainer = hf.trainers.BpeTrainer(
            vocab_size=ENTRIES, show_progress=False, initial_alphabet=CHARACTER_OF
        )
        return library_trained(
            text, hf.models.BPE(), hf.pre_tokenizers.ByteLevel(add_prefix_space=False), trainer
        )

    def wordpiece(**options):
        return train_wordpiece(Counter(split(BERT, normalize(text))), ENTRIES, **options)

    def their_wordpiece():
        trainer = hf.trainers.WordPieceTrainer(
            vocab_size=ENTRIES, special_tokens=list(BERT_SPECIALS), show_progress=False
        )
        return library_trained(
            text,
            hf.models.WordPiece(unk_token="[UNK]"),
            hf.pre_tokenizers.BertPreTokenizer(),
            trainer,
            hf.normalizers.BertNormalizer(),
        )

    def unigram():
        return train_unigram(Counter(split(WORDS_AND_SIGNS, text)), ENTRIES)

    def their_unigram():
        trainer = hf.trainers.UnigramTrainer(
            vocab_size=ENTRIES, unk_token="<unk>", special_tokens=["<unk>"], show_progress=False
        )
        return library_trained(text, hf.models.Unigram(), hf.pre_tokenizers.Whitespace(), trainer)

    merges = [tuple(merge) for merge in json.loads(their_bpe().to_str())["model"]["merges"]]
    assert bpe().merges == merges, "the two learned different merges"
    yield (
        "byte-level BPE training, same merges",
        "tokenizers",
        bpe,
        their_bpe,
        round(1 / 1.3, 2),
        1.0,
    )
    yield (
        "WordPiece training by likelihood",
        "tokenizers (by frequency)",
        wordpiece,
        their_wordpiece,
        0.5,
        0.83,
    )
    yield (
        "WordPiece training by frequency",
        "tokenizers",
        lambda: wordpiece(score="frequency"),
        their_wordpiece,
        0.5,
        0.83,
    )
    yield "Unigram training", "tokenizers", unigram, their_unigram, 1.0, 2.0
    words = Counter(split(GPT2, text[:500_000]))
    num_entries = len({character for word in words for character in word}) + 300
    yield (
        "BPE training, 0.5 MB, 300 merges",
        "our plain form",
        lambda: train_bpe(words, num_entries),
        lambda: train_bpe_plain(words, 300),
        None,
        None,
    )


def encoding_rows(text: str) -> Iterator[Row]:
    """GPT-2's real vocabulary, one document; cold: no word was met before, warm: all were."""
    tokenizer = corpora.load("gpt2_tokenizer")
    model = tokenizer.model
    id_of = {token: id for token, id in model.vocabulary.id_of.items() if token != "<|endoftext|>"}
    their_tiktoken = tiktoken.Encoding(
        "gpt2",
        pat_str=GPT2.pattern,
        special_tokens={"<|endoftext|>": 50_256},
        mergeable_ranks={from_characters(t): id for t, id in id_of.items()},
    )
    library = hf.Tokenizer(hf.models.BPE(model.vocabulary.id_of, model.merges))
    library.pre_tokenizer = hf.pre_tokenizers.ByteLevel(add_prefix_space=False)
    ids = model.encode(text)
    assert ids == their_tiktoken.encode_ordinary(text) == library.encode(text).ids, "different ids"

    def cold():
        # A fresh model without building its table of merges anew: only the cache of words is empty.
        model._ids_of_word.clear()
        return model.encode(text)

    def warm():
        return model.encode(text)

    name = f"BPE encoding, {len(text) / 1e6:g} MB, GPT-2, same ids"
    yield f"{name}, cold", "tokenizers", cold, lambda: library.encode(text), 2.0, None
    yield (
        f"{name}, cold",
        "tokenizers, encode_batch_fast (no places)",
        cold,
        lambda: library.encode_batch_fast([text]),
        2.0,
        None,
    )
    yield (
        f"{name}, cold",
        "the regex package, which only finds the words",
        cold,
        lambda: model.pattern.findall(text),
        None,
        None,
    )
    yield f"{name}, cold", "tiktoken", cold, lambda: their_tiktoken.encode_ordinary(text), None, 0.3
    yield f"{name}, warm", "tiktoken", warm, lambda: their_tiktoken.encode_ordinary(text), None, 0.3
    yield (
        f"{name}, all lists and places",
        "tokenizers",
        lambda: tokenizer.encode(text),
        lambda: library.encode(text),
        None,
        None,
    )


def minbpe_rows(folder: Path) -> Iterator[Row]:
    """The plain program that everyone learns from: its training counts all pairs anew for each
    merge.
    """
    sys.path.insert(0, str(folder))
    from minbpe import RegexTokenizer

    def train(text: str, vocab_size: int) -> RegexTokenizer:
        theirs = RegexTokenizer()
        theirs.train(text, vocab_size)
        return theirs

    for size, must in ((185_000, 100), (1_000_000, 300)):
        text = text_of(SIZE)[:size]
        yield (
            f"BPE training, {size / 1e6:g} MB, 512 entries",
            "minbpe",
            lambda text=text: train_byte_level_bpe([text], 512, pattern=CL100K),
            lambda text=text: train(text, 512),
            must,
            None,
        )
    text = text_of(SIZE)[:200_000]
    trained, ours = (
        train(text[:100_000], 512),
        train_byte_level_bpe([text[:100_000]], 512, pattern=CL100K),
    )

    def cold():
        return ByteLevelBPE(ours.vocabulary, ours.merges, CL100K).encode(text)

    yield (
        "BPE encoding, 0.2 MB, 512 entries, cold",
        "minbpe",
        cold,
        lambda: trained.encode(text),
        5.0,
        None,
    )


def seconds(run: Callable) -> float:
    """Processor time of one run, all threads."""
    start = time.process_time()
    run()
    return time.process_time() - start


def measure(row: Row, rounds: int) -> dict:
    """Ours and theirs in turn."""
    name, rival, ours, theirs, must, aim = row
    taken = [(seconds(ours), seconds(theirs)) for _ in range(rounds)]
    result = compare(
        name, rival, "s of processor time", *zip(*taken), must, aim, larger_is_better=False
    )
    print(
        f"{name}, {rival}: {result['ours']:.3f} to {result['theirs']:.3f} s, ratio"
        f" {result['median']}",
        flush=True,
    )
    return result


def main() -> None:
    """Measure every row and keep the record."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--only", default="", help="only rows whose name holds this; keeps no record"
    )
    parser.add_argument("--minbpe", type=Path, help="folder that holds the package minbpe")
    args = parser.parse_args()
    text = text_of(SIZE)
    rows = [*training_rows(text), *encoding_rows(text[:2_000_000])]
    measured = [measure(row, args.rounds) for row in rows if args.only in row[0]]
    if args.minbpe:
        # A minute a run: its training of 1 MB is measured once.
        measured += [
            measure(row, 1 if "1 MB" in row[0] else min(args.rounds, 3))
            for row in minbpe_rows(args.minbpe)
            if args.only in row[0]
        ]
    else:
        print("minbpe: not measured (--minbpe FOLDER)")
    if not args.only:
        save(
            "tokenization", measured, versions=("tokenizers", "tiktoken", "regex", "numpy", "scipy")
        )


if __name__ == "__main__":
    main()

"""Train vocabularies of one size on one text, and one language model on vocabularies of several
sizes.

    python bench/trained/vocabularies.py        two minutes on one core

Two measurements for chapter 2, kept in bench/results/trained_vocabularies.json:

- BPE, WordPiece by frequency and by the quoted score, and Unigram, 4,000 entries each, on the same
  words of the glosses, all in a form from which the words can be had back (a sign before each word,
  or "##" inside): tokens a word on glosses that none of them saw. The pieces of Unigram are kept in
  the record, for the page's lattice.
- A trigram model with Kneser-Ney smoothing on scripture, in byte-level BPE of 256 to 8,192 tokens:
  perplexity a token beside bits a byte of the same held-out text.
"""

import argparse
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from record import save  # noqa: E402  (threads are set before numpy starts)
from texts import definitions, scripture, split  # noqa: E402

from reference_impl.models.ngram import KneserNey  # noqa: E402
from reference_impl.tokenizers.bpe import BPE  # noqa: E402
from reference_impl.tokenizers.bpe_training import train_bpe  # noqa: E402
from reference_impl.tokenizers.byte_level import train_byte_level_bpe  # noqa: E402
from reference_impl.tokenizers.pretokenizers import METASPACE  # noqa: E402
from reference_impl.tokenizers.unigram_training import train_unigram  # noqa: E402
from reference_impl.tokenizers.vocabulary import Vocabulary  # noqa: E402
from reference_impl.tokenizers.wordpiece_training import train_wordpiece  # noqa: E402

ENTRIES, MIN_COUNTS = 4_000, (1, 10, 100, 300)
SIZES = (500, 1_000, 2_000, 4_000, 8_000, 16_000)
TOKENS, ORDER, CHARACTERS = (256, 512, 1_024, 2_048, 4_096, 8_192), 3, 1_500_000


def word_counts(text: str) -> Counter[str]:
    """How often each run of the letters a to z occurs in a text, in small letters."""
    return Counter(re.findall("[a-z]+", text.lower()))


def tokens_a_word(
    cut: Callable[[str], list[str]], words: Counter[str], unknown: str | None = None
) -> dict[str, float]:
    """The mean number of tokens over running words, and the share of words that are unknown."""
    pieces = {word: cut(word) for word in words}
    lost = sum(count for word, count in words.items() if unknown in pieces[word])
    return {
        "tokens_a_word": (
            sum(len(pieces[word]) * count for word, count in words.items()) / words.total()
        ),
        "unknown": lost / words.total(),
    }


def vocabularies(
    seen: Counter[str], unseen: Counter[str]
) -> tuple[list[dict], list[dict], list[list]]:
    """A row for each method, a row for each size of BPE, and Unigram's pieces with their log
    probabilities.
    """
    marked, rows = {METASPACE + word: count for word, count in seen.items()}, []

    def row(method, entries, cut, unknown=None, first=()):
        rows.append(
            {
                "method": method,
                "entries": entries,
                **tokens_a_word(cut, unseen, unknown),
                "first": list(first),
            }
        )
        print(rows[-1], flush=True)

    large = train_bpe(marked, max(SIZES))
    alphabet = len(large.vocabulary) - len(large.merges)

    def smaller(entries):
        return BPE(
            Vocabulary(large.vocabulary.tokens[:entries]), large.merges[: entries - alphabet]
        )

    sizes = [
        {
            "entries": size,
            **tokens_a_word(lambda word, bpe=smaller(size): bpe.split(METASPACE + word), unseen),
        }
        for size in SIZES
    ]
    bpe = smaller(ENTRIES)
    row(
        "BPE",
        ENTRIES,
        lambda word: bpe.split(METASPACE + word),
        first=["".join(pair) for pair in bpe.merges[:8]],
    )
    for name, settings in [
        ("WordPiece by frequency", {"score": "frequency"}),
        *(
            (f"WordPiece by score, pairs from {least}", {"min_count": least})
            for least in MIN_COUNTS
        ),
    ]:
        model = train_wordpiece(seen, ENTRIES, ["[UNK]"], **settings)
        learned = [
            token
            for token in model.vocabulary
            if len(token.removeprefix("##")) > 1 and token != "[UNK]"
        ]
        row(name, len(model.vocabulary), model.split, "[UNK]", learned[:8])
    unigram = train_unigram(marked, ENTRIES)
    row("Unigram", len(unigram.vocabulary), lambda word: unigram.split(METASPACE + word))
    return (
        rows,
        sizes,
        [
            [piece, round(score, 3)]
            for piece, score in zip(unigram.vocabulary.tokens, unigram.scores)
        ][1:],
    )


def perplexities() -> list[dict]:
    """Perplexity a token and bits a byte of one text, for vocabularies of several sizes."""
    train_text, held_out = (
        part[:size]
        for part, size in zip(split(scripture()), (CHARACTERS, CHARACTERS // 10), strict=True)
    )
    rows = []
    for size in TOKENS:
        bpe = train_byte_level_bpe([train_text], size)
        held = bpe.encode(held_out)
        model = KneserNey([bpe.encode(train_text)], size, ORDER)
        rows.append(
            {
                "tokens": size,
                "perplexity": model.perplexity([held]),
                "bits_a_byte": model.bits_per_byte([held], len(held_out.encode())),
                "bytes_a_token": len(held_out.encode()) / len(held),
            }
        )
        print(rows[-1], flush=True)
    return rows


def main() -> None:
    """Train and measure all, and write the record."""
    argparse.ArgumentParser(description=__doc__.split("\n", 1)[0]).parse_args()
    started = time.process_time()
    seen, unseen = map(word_counts, split(definitions()))
    rows, sizes, pieces = vocabularies(seen, unseen)
    curve = perplexities()
    save(
        "trained_vocabularies",
        versions=("numpy",),
        cpu_seconds=round(time.process_time() - started),
        words={"seen": seen.total(), "different": len(seen), "unseen": unseen.total()},
        methods=rounded(rows),
        bpe_sizes=rounded(sizes),
        scripture=rounded(curve),
        order=ORDER,
        characters=CHARACTERS,
        unigram=" ".join(f"{piece} {score}" for piece, score in pieces),
    )


def rounded(rows: list[dict]) -> list[dict]:
    """Rows with their fractions to five digits."""
    return [
        {key: round(value, 5) if isinstance(value, float) else value for key, value in row.items()}
        for row in rows
    ]


if __name__ == "__main__":
    main()

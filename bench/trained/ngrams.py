"""Count the King James Bible in the tokens of the small GPT, and cut the counts to a table that a
page can load.

    python bench/trained/ngrams.py        after gpt.py; about six minutes on one core

Interpolated Kneser-Ney of order 3 (`models/ngram.py`), without the runs that were seen less than
MIN_COUNTS: what the cut costs stands in the record, in bits a byte on held-out text, beside the
whole models. So do four ways to keep something back for the unseen, at every order, and what a
longer text brings.
"""

import argparse
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch  # noqa: E402  (threads are set before torch starts)
from gpt import NAME as TOKENS_OF  # noqa: E402
from gpt import VOCAB_SIZE, load_trained
from record import save  # noqa: E402
from texts import as_tokens, scripture, split  # noqa: E402

from reference_impl.corpora.small_models import FOLDER, add_figures, keep, small_model  # noqa: E402
from reference_impl.models.ngram import (
    AbsoluteDiscount,
    AddK,
    JelinekMercer,
    KneserNey,
    NGram,
)  # noqa: E402
from reference_impl.models.ngram_table import BackoffTable  # noqa: E402
from reference_impl.tokenizers.byte_level import ByteLevelBPE  # noqa: E402

NAME, ORDER, MIN_COUNTS = "ngram_kjv", 3, (1, 2)
RULES = {
    "add one": AddK,
    "fixed share": JelinekMercer,
    "absolute discount": AbsoluteDiscount,
    "Kneser-Ney": KneserNey,
}


def figures(model: BackoffTable, tokenizer: ByteLevelBPE, every: int = 1) -> dict[str, float]:
    """Bits a byte over the held-out text, or over the first so-manieth of its lines."""
    lines = split(scripture())[1].splitlines(keepends=True)
    text = "".join(lines[: len(lines) // every])
    return {
        "bits_per_byte": round(
            model.bits_per_byte(as_tokens(tokenizer, text).tolist(), len(text.encode())), 4
        )
    }


def smoothing(tokens: list[int], held: list[int], num_bytes: int) -> list[dict[str, float]]:
    """For each order, bits a byte under each rule.

    "impossible" is the share of held-out tokens to which plain counts give 0, "new contexts" that
    of those whose context training never saw, "runs" how many different runs of this length were
    counted.
    """
    rows = []
    for order in range(1, 7):
        plain = NGram([tokens], VOCAB_SIZE, order)
        places = [(held[max(at - order + 1, 0) : at], token) for at, token in enumerate(held)]
        level = plain.levels[-1]
        rows.append(
            {
                "order": order,
                **{
                    name: round(
                        rule([tokens], VOCAB_SIZE, order).bits_per_byte([held], num_bytes), 4
                    )
                    for name, rule in RULES.items()
                },
                "impossible": round(
                    sum(not plain.probability(token, seen) for seen, token in places) / len(held), 4
                ),
                "new contexts": round(
                    sum(tuple(seen) not in level for seen, _ in places) / len(held), 4
                ),
                "runs": sum(len(row.counts) for row in level.values()),
            }
        )
    return rows


def longer_texts(tokens: list[int], held: list[int], num_bytes: int) -> list[dict[str, float]]:
    """Bits a byte of Kneser-Ney after the first part of the text only."""
    return [
        {
            "share": share,
            **{
                f"{order}-gram": round(
                    KneserNey(
                        [tokens[: int(share * len(tokens))]], VOCAB_SIZE, order
                    ).bits_per_byte([held], num_bytes),
                    4,
                )
                for order in (2, 3, 4)
            },
        }
        for share in (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)
    ]


def main() -> None:
    """Count, cut, measure, write bench/results/trained_ngrams.json."""
    argparse.ArgumentParser(description=__doc__.split("\n", 1)[0]).parse_args()
    torch.set_num_threads(1)
    _, tokenizer = load_trained()
    train_text, held_out = split(scripture())
    tokens, held = (
        as_tokens(tokenizer, train_text).tolist(),
        as_tokens(tokenizer, held_out).tolist(),
    )
    started, num_bytes = time.process_time(), len(held_out.encode())
    whole = KneserNey([tokens], VOCAB_SIZE, ORDER)
    table = BackoffTable.cut(whole, MIN_COUNTS)
    keep(
        NAME,
        "ngram",
        {"vocab_size": VOCAB_SIZE, "order": ORDER},
        table.tensors(),
        script="bench/trained/ngrams.py",
        seed=0,
        corpora=["kjv"],
        first_losses=[],
        min_counts=list(MIN_COUNTS),
    )
    (FOLDER / NAME / "bpe.json").write_bytes((FOLDER / TOKENS_OF / "bpe.json").read_bytes())
    kept = small_model(NAME)
    add_figures(NAME, figures(kept.model, tokenizer), figures(kept.model, tokenizer, every=10))
    bits = {
        "table": kept.model.bits_per_byte(held, num_bytes),
        "nothing cut": whole.bits_per_byte([held], num_bytes),
        "pairs alone": KneserNey([tokens], VOCAB_SIZE, 2).bits_per_byte([held], num_bytes),
    }
    save(
        "trained_ngrams",
        versions=("torch", "numpy"),
        seed=0,
        cpu_seconds=round(time.process_time() - started),
        order=ORDER,
        min_counts=list(MIN_COUNTS),
        entries={
            "table": [sum(len(entry.tokens) for entry in level.values()) for level in table.levels],
            "nothing cut": [
                sum(len(row.counts) for row in level.values()) for level in whole.levels
            ],
        },
        bits_per_byte={name: round(value, 4) for name, value in bits.items()},
        smoothing=smoothing(tokens, held, num_bytes),
        longer_texts=longer_texts(tokens, held, num_bytes),
    )
    print(bits)


if __name__ == "__main__":
    main()

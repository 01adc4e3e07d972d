"""The texts that small models are trained on, as tokens; and the losses of a training's first
steps.

A text is cut in two by pieces of about a hundredth, not line by line: what is held out is not the
sentence after one that was trained on, save at the pieces' edges. The vocabulary, byte-level BPE,
is trained on the first part only.
"""

import contextlib
import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import torch

from reference_impl import corpora
from reference_impl.corpora.small_models import FOLDER
from reference_impl.objectives.causal_lm import chunk_batch
from reference_impl.tokenizers.byte_level import ByteLevelBPE, train_byte_level_bpe
from reference_impl.tokenizers.vocabulary import Vocabulary


def folder(name: str) -> Path:
    """Where a trained model and its tokenizer lie; it may not exist yet."""
    return FOLDER / name


def scripture() -> str:
    """The King James Bible, one verse a line."""
    return corpora.load("kjv")


def definitions() -> str:
    """The glosses of Open English WordNet, a word and one of its definitions a line."""
    return "\n".join(corpora.load("oewn_glosses"))


def split(text: str) -> tuple[str, str]:
    """What is trained on, and what is held out: of a hundred equal pieces, cut at lines, every
    twentieth.
    """
    size = -(-len(text) // 100)
    cuts = [
        0,
        *(text.find("\n", place) + 1 or len(text) for place in range(size, len(text), size)),
        len(text),
    ]
    pieces = [text[start:end] for start, end in pairwise(cuts)]
    return (
        "".join(piece for i, piece in enumerate(pieces) if i % 20 != 10),
        "".join(piece for i, piece in enumerate(pieces) if i % 20 == 10),
    )


def tokenizer_for(name: str, text: str, vocab_size: int) -> ByteLevelBPE:
    """The byte-level BPE of a trained model: from its folder, or trained on `text` and put
    there.
    """
    file = folder(name) / "bpe.json"
    if not file.is_file():
        bpe = train_byte_level_bpe([text], vocab_size)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(
            json.dumps({"tokens": bpe.vocabulary.tokens, "merges": bpe.merges}), encoding="utf-8"
        )
    stored = json.loads(file.read_text(encoding="utf-8"))
    return ByteLevelBPE(Vocabulary(stored["tokens"]), [tuple(pair) for pair in stored["merges"]])


def as_tokens(bpe: ByteLevelBPE, text: str) -> torch.Tensor:
    """All ids of a text, in order."""
    return torch.tensor(bpe.encode(text), dtype=torch.long)


def stretches_of(
    tokens: torch.Tensor, context: int, rows: int, seed: int = 0
) -> Callable[[int], dict[str, torch.Tensor]]:
    """Batches of random stretches for a causal model, (rows, context) each; batch i is a function
    of i and the seed alone.
    """

    def batch(index: int) -> dict[str, torch.Tensor]:
        generator = torch.Generator().manual_seed(seed * 1_000_003 + index)
        starts = torch.randint(len(tokens) - context, (rows,), generator=generator)
        return chunk_batch(tokens[starts[:, None] + torch.arange(context + 1)])

    return batch


class _EnoughError(Exception):
    """Ends a training after its first steps."""


def losses_of_first_steps(count: int, model, objective, batches, config) -> list[float]:
    """Train as the whole training begins, and stop after `count` steps: the loss of each."""
    from reference_impl.training.loop import train

    losses: list[float] = []

    def watched(model, batch):
        terms = objective(model, batch)
        losses.append(terms.total.item() / terms.count)
        return terms

    def few(index):
        if index == count:
            raise _EnoughError
        return batches(index)

    with contextlib.suppress(_EnoughError):
        train(model, watched, few, config, progress=False)
    return losses

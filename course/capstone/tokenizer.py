"""The tokenizer stage: byte-level BPE on scripture and glosses, and the text as token ids.

The merges are learned by the student's `train_bpe` (chapter 2) if it is their own. Each digit is a
token of its own, so that a sum can be worked out digit by digit.

Writes bpe.json (tokens and merges), train.safetensors and held.safetensors (token ids).
"""

import json
import random
from collections import Counter
from dataclasses import dataclass

import torch
from safetensors.torch import save_file
from torch import Tensor

from course.capstone.stages import Clock, Run
from reference_impl import corpora
from reference_impl.corpora.cache import write_json, written_whole
from reference_impl.objectives.causal_lm import join_documents
from reference_impl.objectives.supervised import ChatML
from reference_impl.tokenizers.byte_level import (
    CHARACTER_OF,
    ByteLevelBPE,
    to_characters,
    train_byte_level_bpe,
)
from reference_impl.tokenizers.pretokenizers import GPT2_SINGLE_DIGITS, count_words
from reference_impl.tokenizers.vocabulary import Vocabulary
from reference_impl.weights.safetensors_files import read_file

SPECIALS = ("<|im_start|>", "<|im_end|>")
START, END = 0, 1
"""Ids of the special tokens; END closes a message and a document."""
HELD_OUT_EVERY = 20


@dataclass(frozen=True)
class Documents:
    """Verses and glosses, one document each."""

    train: list[str]
    scripture: list[str]  # held out
    glosses: list[str]  # held out


@dataclass(frozen=True)
class TokenizedText:
    """Token ids of all documents, each closed by END, and the bytes of a token on average."""

    train: Tensor  # (N,)
    scripture: Tensor  # held out, (M,)
    glosses: Tensor  # held out, (L,)
    scripture_bytes: float
    glosses_bytes: float


def documents(run: Run) -> Documents:
    """The run's text; one document in twenty is held out, and the order is the seed's."""
    limit = run.recipe.tokenizer.documents
    verses = [verse for verse in corpora.load("kjv").split("\n") if verse][:limit]
    glosses = [line.replace(" ", ": ", 1) for line in corpora.load("oewn_glosses")][:limit]
    train = []
    held = []
    for texts in (verses, glosses):
        train += [text for place, text in enumerate(texts) if place % HELD_OUT_EVERY != 7]
        held.append([text for place, text in enumerate(texts) if place % HELD_OUT_EVERY == 7])
    random.Random(run.seed).shuffle(train)
    return Documents(train, *held)


def train_tokenizer(run: Run, texts: list[str]) -> ByteLevelBPE:
    """Learn the merges, with the student's own `train_bpe` if there is one."""
    size = run.recipe.tokenizer.vocab_size
    own = run.parts.own("train_bpe")
    if own is None:
        return train_byte_level_bpe(texts, size, SPECIALS, pattern=GPT2_SINGLE_DIGITS)
    counts: Counter[str] = Counter()
    for word, count in count_words(GPT2_SINGLE_DIGITS, texts, SPECIALS).items():
        counts[to_characters(word.encode())] += count
    alphabet = [*SPECIALS, *sorted(CHARACTER_OF)]
    merges = [tuple(pair) for pair in own(list(counts), list(counts.values()), size - 258)]
    # two merges can make the same token, which has one id
    tokens = list(dict.fromkeys([*alphabet, *(left + right for left, right in merges)]))
    return ByteLevelBPE(Vocabulary(tokens), merges, GPT2_SINGLE_DIGITS)


def run_stage(run: Run, clock: Clock) -> None:
    """Train the tokenizer, encode all text, and record the bytes per token."""
    texts = documents(run)
    tokenizer = train_tokenizer(run, texts.train)
    write_json(
        run.path("tokenizer", "bpe.json"),
        {"tokens": list(tokenizer.vocabulary.tokens), "merges": list(tokenizer.merges)},
    )
    held = {
        name: join_documents(map(tokenizer.encode, getattr(texts, name)), END)
        for name in ("scripture", "glosses")
    }
    train = join_documents(map(tokenizer.encode, texts.train), END)
    for name, tensors in (("train", {"train": train}), ("held", held)):
        with written_whole(run.path("tokenizer", f"{name}.safetensors")) as temporary:
            save_file({key: ids.to(torch.int32) for key, ids in tensors.items()}, temporary)
    size = {
        name: sum(len(text.encode()) + 1 for text in getattr(texts, name)) / len(held[name])
        for name in held
    }
    run.finish(
        "tokenizer", clock, tokens=len(train), vocab=len(tokenizer.vocabulary), bytes_per_token=size
    )


def load_tokenizer(run: Run) -> ByteLevelBPE:
    """The tokenizer that the stage wrote."""
    saved = json.loads(run.path("tokenizer", "bpe.json").read_text(encoding="utf-8"))
    merges = [tuple(pair) for pair in saved["merges"]]
    return ByteLevelBPE(Vocabulary(saved["tokens"]), merges, GPT2_SINGLE_DIGITS)


def load_text(run: Run) -> TokenizedText:
    """The token ids that the stage wrote."""
    train = read_file(run.path("tokenizer", "train.safetensors"))["train"].long()
    held = read_file(run.path("tokenizer", "held.safetensors"))
    size = run.manifest("tokenizer")["bytes_per_token"]
    return TokenizedText(
        train, held["scripture"].long(), held["glosses"].long(), size["scripture"], size["glosses"]
    )


def chat_template(tokenizer: ByteLevelBPE) -> ChatML:
    """How conversations are laid out as ids."""
    return ChatML(tokenizer.encode, START, END)

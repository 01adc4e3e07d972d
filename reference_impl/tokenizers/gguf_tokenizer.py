"""The tokenizer inside a GGUF file: byte-level BPE as llama.cpp stores it, SmolLM2's
for one.

A GGUF file is a model with a table of named values in front ("GGUF specification", ggml
project). Under `tokenizer.ggml.` it names the kind of model, the tokens with a type
each, the merges, and the pre-tokenizer, whose expression it does not hold: only a name,
which the reader must know.

This module takes the table. Reading it from a file is part of `weights/`.

But: only byte-level BPE, and only the pre-tokenizers listed here. Another name is an
error, because with a nearly right expression most texts come out right and some don't.
"""

from collections.abc import Mapping
from typing import Any

from reference_impl.tokenizers.byte_level import ByteLevelBPE
from reference_impl.tokenizers.pretokenizers import GPT2, GPT2_SINGLE_DIGITS
from reference_impl.tokenizers.tokenizer import Tokenizer
from reference_impl.tokenizers.vocabulary import TokenizerError, Vocabulary

PATTERNS = {"gpt-2": GPT2, "smollm": GPT2_SINGLE_DIGITS}
NORMAL, CONTROL = 1, 3
"""Types of tokens: ordinary text, and special tokens that no text gives."""


def tokenizer_from_metadata(metadata: Mapping[str, Any]) -> Tokenizer:
    """The tokenizer that a GGUF file's table describes.

    TokenizerError names the key that is missing or unknown.
    """

    def value(key: str) -> Any:
        if f"tokenizer.ggml.{key}" not in metadata:
            raise TokenizerError(f"the GGUF table has no tokenizer.ggml.{key}")
        return metadata[f"tokenizer.ggml.{key}"]

    if value("model") != "gpt2":
        raise TokenizerError(
            f"tokenizer.ggml.model is {value('model')!r}; only 'gpt2', byte-level BPE,"
            " can be used"
        )
    if value("pre") not in PATTERNS:
        raise TokenizerError(
            f"tokenizer.ggml.pre is {value('pre')!r}; known are {', '.join(PATTERNS)}"
        )
    tokens, types = list(value("tokens")), list(value("token_type"))
    if len(types) != len(tokens):
        raise TokenizerError(
            f"tokenizer.ggml.tokens has {len(tokens)} entries, but"
            f" tokenizer.ggml.token_type {len(types)}"
        )
    if unusual := [type_ for type_ in types if type_ not in (NORMAL, CONTROL)]:
        raise TokenizerError(
            f"tokenizer.ggml.token_type holds {unusual[0]}; only 1 (text) and 3"
            " (control) are known"
        )
    merges = [_merge(merge) for merge in value("merges")]
    vocabulary, pattern = Vocabulary(tokens), PATTERNS[value("pre")]
    padding = metadata.get("tokenizer.ggml.padding_token_id")
    specials = [token for token, type_ in zip(tokens, types) if type_ == CONTROL]
    return Tokenizer(
        ByteLevelBPE(vocabulary, merges, pattern),
        None,
        pattern,
        specials,
        pad_token=None if padding is None else vocabulary.token(padding),
    )


def _merge(merge: str) -> tuple[str, str]:
    parts = merge.split(" ")
    if len(parts) != 2:
        raise TokenizerError(
            f"tokenizer.ggml.merges holds {merge!r}, which is not two tokens with a"
            " space between"
        )
    return parts[0], parts[1]

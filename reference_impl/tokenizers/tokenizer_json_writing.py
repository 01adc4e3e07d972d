"""Write `tokenizer.json`, for tokenizers that were made here.

What the format can say of a tokenizer is written; of anything else TokenizerError says
what it is. `tokenizer_json.load` and `tokenizers` read the file.

But: a tokenizer that was read from a file with steps of its own (`WordCuts`, a `Chain`
of normalisers, a decoder) is not written again: copy the file.
"""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from reference_impl.tokenizers import normalizers as norm
from reference_impl.tokenizers import pretokenizers as pre
from reference_impl.tokenizers.byte_level import ByteLevelBPE
from reference_impl.tokenizers.encoding import Template
from reference_impl.tokenizers.file_models import FileBPE, FileUnigram
from reference_impl.tokenizers.tokenizer import Tokenizer, Use
from reference_impl.tokenizers.unigram import Unigram
from reference_impl.tokenizers.vocabulary import TokenizerError
from reference_impl.tokenizers.wordpiece import WordPiece

BYTE_LEVEL = {
    "type": "ByteLevel",
    "add_prefix_space": False,
    "trim_offsets": False,
    "use_regex": True,
}
DIGITS = {"type": "Digits", "individual_digits": True}
PRE_TOKENIZERS = (
    (pre.BERT, {"type": "BertPreTokenizer"}),
    (pre.WORDS_AND_SIGNS, {"type": "Whitespace"}),
    (pre.GPT2, BYTE_LEVEL),
    (
        pre.GPT2_SINGLE_DIGITS,
        {"type": "Sequence", "pretokenizers": [DIGITS, BYTE_LEVEL]},
    ),
)
STEPS = (
    (norm.clean, "clean_text"),
    (norm.space_cjk, "handle_chinese_chars"),
    (norm.strip_accents, "strip_accents"),
    (norm.lowercase, "lowercase"),
)


def save(tokenizer: Tokenizer, path: str | Path) -> None:
    """Write a `tokenizer.json` that `load` and `tokenizers` read.

    TokenizerError if a part can't be written so.
    """
    pre_tokenizer = next(
        (known for pattern, known in PRE_TOKENIZERS if tokenizer.pattern is pattern),
        None,
    )
    if pre_tokenizer is None and tokenizer.pattern is not None:
        name = getattr(tokenizer.pattern, "pattern", tokenizer.pattern)
        raise TokenizerError(
            f"{path}: the pre-tokenizer {name!r} has no name in tokenizer.json"
        )
    if not isinstance(tokenizer.normalizer, norm.Normalizer):
        raise TokenizerError(
            f"{path}: the normaliser was read from a file with steps of its own; copy"
            " that file"
        )
    steps = tokenizer.normalizer.steps
    if steps != tuple(step for step, _ in STEPS if step in steps):
        raise TokenizerError(
            f"{path}: only BERT's four steps, in its order, can be written as"
            " normalizer"
        )
    if tokenizer.decoder is not None or tokenizer.use != Use():
        raise TokenizerError(
            f"{path}: the decoder, truncation or padding was read from a file; copy"
            " that file"
        )
    flags = {name: step in steps for step, name in STEPS}
    added = [
        {"id": tokenizer.vocabulary.id(token.content), **asdict(token)}
        for token in tokenizer.added.tokens
    ]
    data = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": sorted(added, key=lambda token: token["id"]),
        "normalizer": {"type": "BertNormalizer", **flags} if steps else None,
        "pre_tokenizer": pre_tokenizer,
        "post_processor": _post_processor(tokenizer),
        "decoder": _decoder(tokenizer.model),
        "model": _model_json(tokenizer.model),
    }
    Path(path).write_text(json.dumps(data, ensure_ascii=False), encoding="utf-8")


def _post_processor(tokenizer: Tokenizer) -> dict | None:
    trimming = {
        "type": "ByteLevel",
        "add_prefix_space": tokenizer.adds_space,
        "trim_offsets": tokenizer.trim_offsets,
        "use_regex": True,
    }
    parts = (
        [trimming]
        if tokenizer.trim_offsets or isinstance(tokenizer.model, ByteLevelBPE)
        else []
    )
    if tokenizer.template != Template():
        parts.append(_template_json(tokenizer))
    return (
        {"type": "Sequence", "processors": parts}
        if len(parts) > 1
        else next(iter(parts), None)
    )


def _decoder(model: Any) -> dict:
    if isinstance(model, ByteLevelBPE):
        return BYTE_LEVEL
    return (
        {"type": "WordPiece", "prefix": model.prefix, "cleanup": True}
        if isinstance(model, WordPiece)
        else {"type": "Fuse"}
    )


def _template_json(tokenizer: Tokenizer) -> dict:
    def items(paired: bool) -> list[dict]:
        return [
            {
                "Sequence" if name in "AB" else "SpecialToken": {
                    "id": name,
                    "type_id": type_id,
                }
            }
            for name, type_id in tokenizer.template.items(paired)
        ]

    used = {
        name
        for paired in (False, True)
        for name, _ in tokenizer.template.items(paired)
        if name not in "AB"
    }
    return {
        "type": "TemplateProcessing",
        "single": items(False),
        "pair": items(True),
        "special_tokens": {
            name: {"id": name, "ids": [tokenizer.vocabulary.id(name)], "tokens": [name]}
            for name in sorted(used)
        },
    }


def _model_json(model: Any) -> dict:
    if isinstance(model, WordPiece):
        return {
            "type": "WordPiece",
            "unk_token": model.unknown,
            "continuing_subword_prefix": model.prefix,
            "max_input_chars_per_word": model.max_characters,
            "vocab": model.vocabulary.id_of,
        }
    if isinstance(model, Unigram) and not isinstance(model, FileUnigram):
        return {
            "type": "Unigram",
            "unk_id": model.unknown_id,
            "byte_fallback": False,
            "vocab": [
                list(piece) for piece in zip(model.vocabulary.tokens, model.scores)
            ],
        }
    if isinstance(model, FileBPE | FileUnigram):
        raise TokenizerError(
            "this model was read from a file with options of its own; copy that file"
        )
    if model.merges is None:
        raise TokenizerError(
            "this model joins by ids and has no merges, which tokenizer.json needs"
        )
    unknown = (
        None if model.unknown_id is None else model.vocabulary.token(model.unknown_id)
    )
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": unknown,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "byte_fallback": False,
        "ignore_merges": getattr(model, "ignore_merges", False),
        "vocab": model.vocabulary.id_of,
        "merges": [list(merge) for merge in model.merges],
    }

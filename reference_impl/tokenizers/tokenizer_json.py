"""Read and write `tokenizer.json`, the file in which `tokenizers` keeps a whole tokenizer.

Its parts are objects with a "type", one for each step, and each step has one counterpart here:

    normalizer       BertNormalizer, Lowercase, or none
    pre_tokenizer    BertPreTokenizer, Whitespace, ByteLevel, digits before ByteLevel, an expression before ByteLevel
    model            BPE, WordPiece, Unigram
    post_processor   TemplateProcessing, BertProcessing, ByteLevel
    added_tokens     special tokens

A part that has no counterpart raises TokenizerError with its name: a tokenizer that is nearly right is wrong.

But: "truncation" and "padding" in the file are not read. They belong to a use, and are arguments of `encode`. Texts
with U+2581 for spaces (Metaspace) are for `sentencepiece.py` and its `.model` file.
"""
import json
from pathlib import Path
from typing import Any

import regex

from reference_impl.tokenizers import normalizers as norm
from reference_impl.tokenizers import pretokenizers as pre
from reference_impl.tokenizers.bpe import BPE
from reference_impl.tokenizers.byte_level import ByteLevelBPE
from reference_impl.tokenizers.encoding import Template
from reference_impl.tokenizers.tokenizer import Tokenizer
from reference_impl.tokenizers.unigram import Unigram
from reference_impl.tokenizers.vocabulary import TokenizerError, Vocabulary
from reference_impl.tokenizers.wordpiece import WordPiece

BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": True}
DIGITS = {"type": "Digits", "individual_digits": True}
PRE_TOKENIZERS = ((pre.BERT, {"type": "BertPreTokenizer"}), (pre.WORDS_AND_SIGNS, {"type": "Whitespace"}),
                  (pre.GPT2, BYTE_LEVEL),
                  (pre.GPT2_SINGLE_DIGITS, {"type": "Sequence", "pretokenizers": [DIGITS, BYTE_LEVEL]}))
STEPS = ((norm.clean, "clean_text"), (norm.space_cjk, "handle_chinese_chars"), (norm.strip_accents, "strip_accents"),
         (norm.lowercase, "lowercase"))


def load(path: str | Path) -> Tokenizer:
    """The tokenizer of a `tokenizer.json`. TokenizerError names the part that is missing, broken or not supported."""
    try:
        return _tokenizer(json.loads(Path(path).read_bytes()))
    except TokenizerError as error:
        raise TokenizerError(f"{path}: {error}") from None
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise TokenizerError(f"{path} is not a tokenizer.json, or a part of it is missing: {error!r}") from error
    except (ValueError, RecursionError, regex.error) as error:
        raise TokenizerError(f"{path} can't be read: {error}") from error


def _tokenizer(data: dict) -> Tokenizer:
    model_data, added = data["model"], data.get("added_tokens") or []
    vocabulary = Vocabulary(_tokens(model_data) + _new_tokens(model_data, added))
    specials = [_special(token) for token in added]
    pattern, post_processor = _pattern(data.get("pre_tokenizer")), data.get("post_processor")
    byte_level = "ByteLevel" in json.dumps(data.get("pre_tokenizer"))
    pad_token = next((token for token in ("[PAD]", "<pad>", "<|pad|>") if token in specials), None)
    return Tokenizer(_model(model_data, vocabulary, pattern, byte_level), _normalizer(data.get("normalizer")), pattern,
                     specials, _template(post_processor), pad_token, bool((post_processor or {}).get("trim_offsets")))


def _unsupported(part: str, value: Any) -> TokenizerError:
    return TokenizerError(f"the {part} {json.dumps(value)[:200]} is not supported here; `tokenizers` can load it")


def _tokens(model: dict) -> list[str]:
    vocab = model["vocab"]
    return [token for token, _ in vocab] if isinstance(vocab, list) else Vocabulary(vocab).tokens


def _new_tokens(model: dict, added: list[dict]) -> list[str]:
    """Special tokens that the model's own vocabulary lacks: they must take the ids after it."""
    known = len(model["vocab"])
    new = sorted((token["id"], token["content"]) for token in added if token["id"] >= known)
    if [id for id, _ in new] != list(range(known, known + len(new))):
        raise TokenizerError(f"the added tokens have the ids {[id for id, _ in new]}; after a vocabulary of {known} "
                             f"tokens they must begin at {known} and have no holes")
    return [token for _, token in new]


def _special(token: dict) -> str:
    if flags := [flag for flag in ("lstrip", "rstrip", "single_word") if token.get(flag)]:
        raise _unsupported(f"{flags[0]} of the added token", token["content"])
    return token["content"]


def _normalizer(data: dict | None) -> norm.Normalizer:
    if data is None:
        return norm.Normalizer()
    if data["type"] == "Lowercase":
        return norm.Normalizer(norm.lowercase)
    if data["type"] != "BertNormalizer":
        raise _unsupported("normalizer", data)
    return norm.bert_normalizer(data["lowercase"], data["strip_accents"], data["handle_chinese_chars"],
                                data["clean_text"])


def _pattern(data: dict | None) -> regex.Pattern | None:
    if data is None:
        return None
    for pattern, known in PRE_TOKENIZERS:
        # Trimming offsets is the post-processor's work; the pre-tokenizer's own flag has no effect.
        if _without(data, "trim_offsets") == _without(known, "trim_offsets"):
            return pattern
    parts = data.get("pretokenizers", [])
    if data["type"] == "Sequence" and [part["type"] for part in parts] == ["Split", "ByteLevel"]:
        split, byte_level = parts
        if split["behavior"] == "Isolated" and "Regex" in split["pattern"] and not byte_level["use_regex"]:
            # What the expression leaves over is a word too.
            expression = split["pattern"]["Regex"]
            return regex.compile(f"{expression}|(?s:.)+?(?={expression}|$)")
    raise _unsupported("pre_tokenizer", data)


def _without(data: Any, key: str) -> Any:
    if isinstance(data, dict):
        return {name: _without(value, key) for name, value in data.items() if name != key}
    return [_without(value, key) for value in data] if isinstance(data, list) else data


def _model(data: dict, vocabulary: Vocabulary, pattern: regex.Pattern | None, byte_level: bool):
    for option in ("dropout", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", "byte_fallback",
                   "ignore_merges"):
        if data.get(option) and (option, data.get("type")) != ("continuing_subword_prefix", "WordPiece"):
            raise _unsupported(f"{option} of the model", data[option])
    if data["type"] == "WordPiece":
        return WordPiece(vocabulary, data["unk_token"], data["continuing_subword_prefix"],
                         data["max_input_chars_per_word"])
    if data["type"] == "Unigram":
        unknown = None if data["unk_id"] is None else vocabulary.tokens[data["unk_id"]]
        new = vocabulary.tokens[len(data["vocab"]):]
        return Unigram([*((token, score) for token, score in data["vocab"]), *((token, 0.0) for token in new)],
                       unknown, never_in_text=new)
    if data["type"] != "BPE":
        raise _unsupported("model", data["type"])
    # Older files write a merge as one string with a space.
    merges = [tuple(merge.split(" ")) if isinstance(merge, str) else tuple(merge) for merge in data["merges"]]
    if byte_level:
        return ByteLevelBPE(vocabulary, merges, pattern)
    return BPE(vocabulary, merges, data.get("unk_token"))


def _template(data: dict | None) -> Template:
    if data is None or data["type"] == "ByteLevel":
        return Template()
    if data["type"] == "BertProcessing":
        cls, sep = data["cls"][0], data["sep"][0]
        return Template(f"{cls}:0 A:0 {sep}:0", f"{cls}:0 A:0 {sep}:0 B:1 {sep}:1")
    if data["type"] != "TemplateProcessing":
        raise _unsupported("post_processor", data)
    return Template(*(" ".join(f"{value['id']}:{value['type_id']}" for item in data[form] for value in item.values())
                      for form in ("single", "pair")))


def save(tokenizer: Tokenizer, path: str | Path) -> None:
    """Write a `tokenizer.json` that `load` and `tokenizers` read. TokenizerError if a part can't be written so."""
    pre_tokenizer = next((known for pattern, known in PRE_TOKENIZERS if tokenizer.pattern is pattern), None)
    if pre_tokenizer is None and tokenizer.pattern is not None:
        raise TokenizerError(f"{path}: the pre-tokenizer {tokenizer.pattern.pattern!r} has no name in tokenizer.json")
    steps = tokenizer.normalizer.steps
    if steps != tuple(step for step, _ in STEPS if step in steps):
        raise TokenizerError(f"{path}: only BERT's four steps, in its order, can be written as normalizer")
    flags = {name: step in steps for step, name in STEPS}
    added = [{"id": id, "content": token, "single_word": False, "lstrip": False, "rstrip": False,
              "normalized": False, "special": True}
             for token, id in sorted(tokenizer.specials.items(), key=lambda item: item[1])]
    template, byte_level = tokenizer.template, isinstance(tokenizer.model, ByteLevelBPE)
    post_processor = _template_json(tokenizer) if template != Template() else None
    if post_processor is None and byte_level:
        post_processor = BYTE_LEVEL | {"trim_offsets": tokenizer.trim_offsets}
    data = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added,
            "normalizer": {"type": "BertNormalizer", **flags} if steps else None, "pre_tokenizer": pre_tokenizer,
            "post_processor": post_processor, "decoder": BYTE_LEVEL if byte_level else None,
            "model": _model_json(tokenizer.model)}
    Path(path).write_text(json.dumps(data, ensure_ascii=False), encoding="utf-8")


def _template_json(tokenizer: Tokenizer) -> dict:
    def items(paired: bool) -> list[dict]:
        return [{"Sequence" if name in "AB" else "SpecialToken": {"id": name, "type_id": type_id}}
                for name, type_id in tokenizer.template.items(paired)]

    used = {name for paired in (False, True) for name, _ in tokenizer.template.items(paired) if name not in "AB"}
    return {"type": "TemplateProcessing", "single": items(False), "pair": items(True),
            "special_tokens": {name: {"id": name, "ids": [tokenizer.vocabulary.id(name)], "tokens": [name]}
                               for name in sorted(used)}}


def _model_json(model: Any) -> dict:
    if isinstance(model, WordPiece):
        return {"type": "WordPiece", "unk_token": model.unknown, "continuing_subword_prefix": model.prefix,
                "max_input_chars_per_word": model.max_characters, "vocab": model.vocabulary.id_of}
    if isinstance(model, Unigram):
        return {"type": "Unigram", "unk_id": model.unknown_id, "byte_fallback": False,
                "vocab": [list(piece) for piece in zip(model.vocabulary.tokens, model.scores)]}
    if model.merges is None:
        raise TokenizerError("this model joins by ids and has no merges, which tokenizer.json needs")
    unknown = None if model.unknown_id is None else model.vocabulary.token(model.unknown_id)
    return {"type": "BPE", "dropout": None, "unk_token": unknown, "continuing_subword_prefix": None,
            "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
            "vocab": model.vocabulary.id_of, "merges": [list(merge) for merge in model.merges]}

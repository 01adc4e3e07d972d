"""The plain files in which published tokenizers come: `vocab.txt`, `vocab.json` with
`merges.txt`, and `.tiktoken`.

    vocab.txt                  BERT: a token a line, the line number is the id
    vocab.json, merges.txt     GPT-2 (there called encoder.json, vocab.bpe): token to
                               id; two parts of a merge a line
    NAME.tiktoken              GPT-4: a token's bytes in base 64 and its id, a line

What each file lacks, its reader must know: none of them names the normaliser, the
pre-tokenizer or the special tokens. `tokenizer_json.py` reads the format that does. A
file that does not fit raises TokenizerError with the line.
"""

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from reference_impl.tokenizers.bpe import Pair
from reference_impl.tokenizers.byte_level import ByteLevelBPE, to_characters
from reference_impl.tokenizers.encoding import Template
from reference_impl.tokenizers.normalizers import bert_normalizer
from reference_impl.tokenizers.pretokenizers import BERT, CL100K, GPT2
from reference_impl.tokenizers.tokenizer import Tokenizer
from reference_impl.tokenizers.vocabulary import TokenizerError, Vocabulary, read_bytes
from reference_impl.tokenizers.wordpiece import WordPiece
from reference_impl.tokenizers.wordpiece_training import BERT_SPECIALS

BERT_TEMPLATE = Template("[CLS]:0 A:0 [SEP]:0", "[CLS]:0 A:0 [SEP]:0 B:1 [SEP]:1")
GPT2_END = "<|endoftext|>"


def load_vocab_txt(path: str | Path) -> Vocabulary:
    """Read `vocab.txt`.

    A token may be any line, also one that holds spaces only; the last line may lack its
    end.
    """
    lines = _text(path).split("\n")
    if lines and not lines[-1]:
        lines.pop()
    try:
        return Vocabulary(line.removesuffix("\r") for line in lines)
    except TokenizerError as error:
        raise TokenizerError(f"{path}: {error}") from None


def save_vocab_txt(vocabulary: Vocabulary, path: str | Path) -> None:
    """Write `vocab.txt`. A token that holds a line end can't be written."""
    if bad := [token for token in vocabulary if "\n" in token or "\r" in token]:
        raise TokenizerError(
            f"{path}: the token {bad[0]!r} holds a line end, which vocab.txt can't hold"
        )
    Path(path).write_text(
        "".join(token + "\n" for token in vocabulary), encoding="utf-8", newline=""
    )


def load_vocab_json(path: str | Path) -> Vocabulary:
    """Read `vocab.json`, an object from token to id."""
    try:
        id_of = json.loads(_text(path))
    except ValueError as error:
        raise TokenizerError(f"{path} is not JSON: {error}") from None
    if not isinstance(id_of, dict) or not all(type(id) is int for id in id_of.values()):
        raise TokenizerError(f"{path} must be an object from token to whole number")
    try:
        return Vocabulary(id_of)
    except TokenizerError as error:
        raise TokenizerError(f"{path}: {error}") from None


def save_vocab_json(vocabulary: Vocabulary, path: str | Path) -> None:
    """Write `vocab.json`."""
    Path(path).write_text(
        json.dumps(vocabulary.id_of, ensure_ascii=False), encoding="utf-8"
    )


def load_merges_txt(path: str | Path) -> list[Pair]:
    """Read `merges.txt`: after a line that begins with `#version`, two tokens a line,
    the first merge first.
    """
    merges = []
    for number, line in enumerate(_text(path).split("\n"), start=1):
        if not line or number == 1 and line.startswith("#version"):
            continue
        parts = line.removesuffix("\r").split(" ")
        if len(parts) != 2 or not all(parts):
            raise TokenizerError(
                f"{path}, line {number}: {line!r} is not two tokens with one space"
                " between"
            )
        merges.append((parts[0], parts[1]))
    return merges


def save_merges_txt(merges: Sequence[Pair], path: str | Path) -> None:
    """Write `merges.txt`."""
    lines = ["#version: 0.2", *(f"{left} {right}" for left, right in merges)]
    Path(path).write_text(
        "".join(line + "\n" for line in lines), encoding="utf-8", newline=""
    )


def load_tiktoken(path: str | Path, specials: Mapping[str, int]) -> Vocabulary:
    """Read a `.tiktoken` file, with its special tokens, which the file leaves out.

    Tokens come back written in byte characters (`byte_level.to_characters`). Ids
    between that nobody uses are named <unused N>.
    """
    id_of: dict[str, int] = {}
    for number, line in enumerate(_text(path).split("\n"), start=1):
        if not line:
            continue
        try:
            encoded, id = line.split()
            id_of[to_characters(base64.b64decode(encoded, validate=True))] = int(id)
        except (ValueError, binascii.Error):
            raise TokenizerError(
                f"{path}, line {number}: {line[:80]!r} is not a token in base 64 and"
                " its id"
            ) from None
    id_of |= specials
    used = set(id_of.values())
    id_of |= {
        f"<unused {id}>": id for id in range(max(used, default=-1)) if id not in used
    }
    return Vocabulary(id_of)


def load_bert(vocab_txt: str | Path, lower: bool = True) -> Tokenizer:
    """BERT's tokenizer from its vocabulary.

    `lower=False` for the cased models, which keep capitals and accents.
    """
    vocabulary = load_vocab_txt(vocab_txt)
    return Tokenizer(
        WordPiece(vocabulary),
        bert_normalizer(lower),
        BERT,
        BERT_SPECIALS,
        BERT_TEMPLATE,
        "[PAD]",
    )


def load_gpt2(vocab_json: str | Path, merges_txt: str | Path) -> Tokenizer:
    """GPT-2's tokenizer from its two files.

    It adds no special tokens, and has no padding token.
    """
    model = ByteLevelBPE(load_vocab_json(vocab_json), load_merges_txt(merges_txt))
    return Tokenizer(model, None, GPT2, [GPT2_END])


def load_cl100k(path: str | Path) -> Tokenizer:
    """The tokenizer of GPT-3.5 and GPT-4 from `cl100k_base.tiktoken`."""
    specials = {
        GPT2_END: 100_257,
        "<|fim_prefix|>": 100_258,
        "<|fim_middle|>": 100_259,
        "<|fim_suffix|>": 100_260,
        "<|endofprompt|>": 100_276,
    }
    vocabulary = load_tiktoken(path, specials)
    return Tokenizer(ByteLevelBPE(vocabulary, None, CL100K), None, CL100K, specials)


def _text(path: str | Path) -> str:
    try:
        return read_bytes(
            path
        ).decode()  # read_text would change line ends inside tokens
    except UnicodeDecodeError as error:
        raise TokenizerError(
            f"{path} is not UTF-8: byte {error.start} is"
            f" {error.object[error.start]:#04x}"
        ) from None

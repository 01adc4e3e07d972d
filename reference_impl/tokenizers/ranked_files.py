"""Current vocabularies: a byte-level BPE without a list of merges, whose ids are ranks.

OpenAI's cl100k and o200k, Llama 3 and Qwen 3 are published as a list of tokens. Two
neighbours may be joined if together they are a token, the token with the lowest id
first, and a word that is a token is not split at all. They differ in size, in their
special tokens and in the expression that finds the words:

    cl100k   GPT-3.5, GPT-4       numbers in groups of at most three digits
    o200k    GPT-4o, gpt-oss      the same; letter case ends a word
    llama3   Llama 3              numbers in groups of at most three digits
    qwen3    Qwen 2 to Qwen 3     every digit alone; the text is composed first (NFC)

    load_ranked("o200k", "o200k.vocab", "o200k.special").encode("bank")

The files are those of the package `quicktok-v1`: a count, then for each token its
length, its bytes and its id, in little-endian integers. Rewritten as `.tiktoken`, the
lists of cl100k and o200k have the hashes that `tiktoken` pins.
"""

import struct
from pathlib import Path

import regex

from reference_impl.tokenizers import pretokenizers
from reference_impl.tokenizers.byte_level import ByteLevelBPE, to_characters
from reference_impl.tokenizers.text_normalizers import NormalForm
from reference_impl.tokenizers.tokenizer import Tokenizer
from reference_impl.tokenizers.vocabulary import TokenizerError, Vocabulary, read_bytes

WORDS: dict[str, regex.Pattern] = {
    "cl100k": pretokenizers.CL100K,
    "o200k": pretokenizers.O200K,
    "llama3": pretokenizers.LLAMA3,
    "qwen3": pretokenizers.QWEN,
}
COMPOSED = {"qwen3"}
"""The vocabularies whose text is brought into Unicode's composed form first."""


def load_ranked(name: str, vocab: str | Path, special: str | Path) -> Tokenizer:
    """The tokenizer called `name` from its tokens and its special tokens."""
    if name not in WORDS:
        raise TokenizerError(f"{name!r} is not among {', '.join(WORDS)}")
    specials = {token.decode(): id for id, token in read_specials(special)}
    id_of = {to_characters(token): id for token, id in read_ranked(vocab)} | specials
    used = set(id_of.values())
    id_of |= {f"<unused {id}>": id for id in range(max(used)) if id not in used}
    model = ByteLevelBPE(Vocabulary(id_of), None, WORDS[name], ignore_merges=True)
    normalizer = NormalForm("NFC") if name in COMPOSED else None
    return Tokenizer(model, normalizer, WORDS[name], specials)


def read_ranked(path: str | Path) -> list[tuple[bytes, int]]:
    """The bytes and the id of each token of a `.vocab` file."""
    data, at, found = read_bytes(path), 4, []
    while at < len(data):
        (length,) = struct.unpack_from("<H", data, at)
        token = data[at + 2 : at + 2 + length]
        found.append((token, *struct.unpack_from("<I", data, at + 2 + length)))
        at += length + 6
    return _counted(path, data, found)


def read_specials(path: str | Path) -> list[tuple[int, bytes]]:
    """The id and the text of each special token of a `.special` file."""
    data, at, found = read_bytes(path), 4, []
    while at < len(data):
        id, length = struct.unpack_from("<IH", data, at)
        found.append((id, data[at + 6 : at + 6 + length]))
        at += length + 6
    return _counted(path, data, found)


def _counted(path: str | Path, data: bytes, found: list) -> list:
    (count,) = struct.unpack_from("<I", data)
    if len(found) != count:
        raise TokenizerError(f"{path} announces {count} tokens and holds {len(found)}")
    return found

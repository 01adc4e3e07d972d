"""Vocabularies of published tokenizers, small enough for a page to load: the reader's own text is
cut by the real ones.

    tokenizer("gpt2")        {"kind": "byte-level", "content": {...}}, for
                             `book/assets/models/tokenizers.js`
    size("gpt2")             50,257

The files come from the cache of `reference_impl.corpora`. Merges are not written out: a merge makes
one token, the tokens stand in the order of the merges, so the length of the left part is all that a
merge adds. That makes GPT-2's 1.5 MB less than half a megabyte; a vocabulary that breaks this rule
is refused. A vocabulary whose ids are ranks (cl100k, o200k, Qwen 3) has no list of merges:
each token travels as two earlier tokens that together are its bytes, six characters for each.
"""

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

from reference_impl import corpora
from reference_impl.corpora.cache import CorpusError
from reference_impl.tokenizers.bpe import Pair
from reference_impl.tokenizers.files import load_merges_txt, load_vocab_json, load_vocab_txt
from reference_impl.tokenizers.ranked_files import read_ranked

DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
BARRED = -1e8  # a score below this puts a piece after all others


@cache
def tokenizer(name: str) -> dict[str, Any]:
    """The kind and content of a vocabulary, as the page's tokenizers read it.

    KeyError for an unknown name.
    """
    return READERS[name]()


def size(name: str) -> int:
    """How many tokens it has."""
    content = tokenizer(name)["content"]
    if isinstance(content, dict) and "pairs" in content:
        return 256 + len(content["pairs"]) // 6
    return len(
        content if isinstance(content, list) else content["tokens"].split(content["between"])
    )


def _gpt2() -> dict[str, Any]:
    folder = corpora.path("gpt2_tokenizer")
    return packed(
        load_vocab_json(folder / "encoder.json").tokens,
        load_merges_txt(folder / "vocab.bpe"),
        "grouped",
    )


def _smollm2() -> dict[str, Any]:
    from reference_impl.weights.gguf_files import read_gguf

    metadata = read_gguf(corpora.path("smollm2") / "SmolLM2-135M-Instruct.Q4_1.gguf").metadata
    merges = [tuple(merge.split(" ")) for merge in metadata["tokenizer.ggml.merges"]]
    return packed(metadata["tokenizer.ggml.tokens"], merges, "single")


def packed(tokens: Sequence[str], merges: Sequence[Pair], digits: str) -> dict[str, Any]:
    """A byte-level BPE.

    `digits`: "grouped" is GPT-2's expression, with one special token after the merges; "single" is
    SmolLM2's, with the special tokens in front. CorpusError if the merges do not make the tokens in
    their order.
    """
    first = len(tokens) - len(merges) - (digits == "grouped")
    if any(left + right != tokens[first + i] for i, (left, right) in enumerate(merges)):
        raise CorpusError(
            "this vocabulary does not hold its merges' tokens in order, so a page cannot load it"
            " packed"
        )
    cuts = "".join(chr(ord("0") + len(left)) for left, _ in merges)
    return {
        "kind": "byte-level",
        "content": {"tokens": " ".join(tokens), "between": " ", "cuts": cuts, "digits": digits},
    }


def _bert() -> dict[str, Any]:
    return {
        "kind": "wordpiece",
        "content": load_vocab_txt(corpora.path("bert_tokenizer") / "vocab.txt").tokens,
    }


def _mistral() -> dict[str, Any]:
    pieces = corpora.load("mistral_tokenizer").file.pieces
    last = [id for id, (_, score, _) in enumerate(pieces) if score < BARRED]
    return {
        "kind": "sentencepiece",
        "content": {
            "tokens": "\n".join(piece for piece, _, _ in pieces),
            "between": "\n",
            "last": last,
        },
    }


def ranked(name: str) -> dict[str, Any]:
    """A vocabulary whose ids are ranks: the 256 bytes in the order of their ids, then for each
    token the ids of two earlier tokens, three digits of base 64 each.

    CorpusError if a token is not made of two earlier ones.
    """
    tokens = [
        token for token, _ in read_ranked(corpora.path(f"{name}_tokenizer") / f"{name}.vocab")
    ]
    id_of = {token: id for id, token in enumerate(tokens)}
    pairs = []
    for id, token in enumerate(tokens[256:], start=256):
        cuts = ((id_of.get(token[:i], id), id_of.get(token[i:], id)) for i in range(1, len(token)))
        pair = next((pair for pair in cuts if max(pair) < id), None)
        if pair is None:
            raise CorpusError(f"token {id} of {name} is not made of two earlier tokens")
        pairs += [_base64(part) for part in pair]
    return {
        "kind": "ranked",
        "content": {
            "name": name,
            "bytes": "".join(token.hex() for token in tokens[:256]),
            "pairs": "".join(pairs),
        },
    }


def _base64(number: int) -> str:
    return "".join(DIGITS[number >> shift & 63] for shift in (12, 6, 0))


READERS: dict[str, Callable[[], dict[str, Any]]] = {
    "gpt2": _gpt2,
    "bert": _bert,
    "mistral": _mistral,
    "smollm2": _smollm2,
    **{name: partial(ranked, name) for name in ("cl100k", "o200k", "qwen3")},
}

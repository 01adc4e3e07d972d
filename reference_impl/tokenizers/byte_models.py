"""Models without a vocabulary to learn: ByT5 reads bytes, CANINE reads code points.

Nothing is unknown, nothing is trained, and no language is cut finer because it was rare
in a training text. The price is length: an English text is about four times as long as
with GPT-2's tokens, and attention pays for it squared. ByT5 answers with a deep encoder
over few-letter vectors, CANINE by shrinking four characters to one place inside the
model.

ByT5 (Xue et al. 2022, section 3): id = byte + 3, because 0, 1 and 2 are padding, end of
text and unknown; after the bytes come the sentinels of span corruption. 259 ids and the
sentinels are the whole vocabulary.

CANINE (Clark et al. 2022, section 3.1): id = code point. 1,114,112 ids need no table of
vectors: eight hash functions give eight rows of small tables, and a character's vector
is the eight rows side by side. Special tokens are code points that Unicode leaves for
private use.
"""

from collections.abc import Sequence

from reference_impl.tokenizers.encoding import Encoding, Template, kept_lengths
from reference_impl.tokenizers.surrogates import without_surrogates
from reference_impl.tokenizers.vocabulary import TokenizerError

BYT5_PAD, BYT5_EOS, BYT5_UNKNOWN, BYT5_OFFSET = 0, 1, 2, 3
BYT5_NUM_SENTINELS = 125

CANINE_PAD, CANINE_CLS, CANINE_SEP, CANINE_BOS, CANINE_MASK = (
    0,
    0xE000,
    0xE001,
    0xE002,
    0xE003,
)
CANINE_NAMES = {
    CANINE_PAD: "[PAD]",
    CANINE_CLS: "[CLS]",
    CANINE_SEP: "[SEP]",
    CANINE_BOS: "[BOS]",
    CANINE_MASK: "[MASK]",
}
HASH_PRIMES = (31, 43, 59, 61, 73, 97, 103, 113)


def byt5_encode(text: str, pair: str | None = None) -> list[int]:
    """The ids of a text, or of two, each ended by </s>.

    Halves of surrogate pairs become U+FFFD's three bytes.
    """
    ids = [byte + BYT5_OFFSET for byte in _utf8(text)] + [BYT5_EOS]
    return ids if pair is None else ids + byt5_encode(pair)


def byt5_sentinel(index: int) -> int:
    """The id of <extra_id_N>, which stands for the N-th span that was taken out of a
    text.
    """
    if not 0 <= index < BYT5_NUM_SENTINELS:
        raise TokenizerError(
            f"there is no sentinel {index}; ByT5 has 0 to {BYT5_NUM_SENTINELS - 1}"
        )
    return 256 + BYT5_OFFSET + index


def byt5_decode(ids: Sequence[int]) -> str:
    """The text of the ids.

    Padding, end, unknown and sentinels show nothing; broken UTF-8 is left out, as in
    T5.
    """
    limit = 256 + BYT5_OFFSET + BYT5_NUM_SENTINELS
    if bad := [id for id in ids if not 0 <= id < limit]:
        raise TokenizerError(
            f"id {bad[0]} is outside ByT5's vocabulary, whose ids are 0 to {limit - 1}"
        )
    data = bytes(
        id - BYT5_OFFSET for id in ids if BYT5_OFFSET <= id < 256 + BYT5_OFFSET
    )
    return data.decode("utf-8", "ignore")


def canine_encode(
    text: str, pair: str | None = None, max_length: int = 2048
) -> Encoding:
    """[CLS] text [SEP], or [CLS] text [SEP] pair [SEP], one token a code point, the
    longer text cut if it must be.

    Segment ids are BERT's: 1 from the second text on. (`transformers` 5 gives zeros
    there; the ids are the same.)
    """
    template = Template("[CLS]:0 A:0 [SEP]:0", "[CLS]:0 A:0 [SEP]:0 B:1 [SEP]:1")
    room = max_length - template.num_added(pair is not None)
    if room < 0:
        raise TokenizerError(
            f"max_length is {max_length}, but special tokens alone need"
            f" {max_length - room}"
        )
    first, second = kept_lengths(
        len(text), None if pair is None else len(pair), room, "longest_first"
    )
    id_of = {name: id for id, name in CANINE_NAMES.items()}
    parts = [
        _characters(text[:first]),
        None if pair is None else _characters(pair[:second]),
    ]
    return template.fill(*parts, id_of)


def canine_decode(ids: Sequence[int]) -> str:
    """The text of the ids, without special tokens."""
    if bad := [id for id in ids if not 0 <= id < 0x110000]:
        raise TokenizerError(
            f"id {bad[0]} is no code point; Unicode's are 0 to {0x10FFFF}"
        )
    return "".join(chr(id) for id in ids if id not in CANINE_NAMES)


def canine_buckets(code_point: int, num_buckets: int = 16_384) -> list[int]:
    """The row in each of the eight tables that makes up a character's vector.

    Two characters that share a row of one table share all eight, if `num_buckets` has
    no factor among the primes: each row of the published 16,384 stands for 68 code
    points, 16,384 apart, which are one letter to the model.
    """
    return [(code_point + 1) * prime % num_buckets for prime in HASH_PRIMES]


def _characters(text: str) -> Encoding:
    places, n = range(len(text)), len(text)
    return Encoding(
        [ord(c) for c in text],
        list(text),
        [(place, place + 1) for place in places],
        list(places),
        [0] * n,
        [0] * n,
        [0] * n,
        [1] * n,
    )


def _utf8(text: str) -> bytes:
    return without_surrogates(text).encode()

"""Read and write SentencePiece's `.model` file without its library.

The file is a protocol buffer message (sentencepiece_model.proto, `ModelProto`). On the
wire a message is a row of fields; each begins with a number that holds the field's own
number and one of four ways to read what follows:

    0  a varint: seven bits a byte, lowest first, the top bit says that more follow
    1  eight bytes
    2  a varint with a length, and as many bytes (text, bytes, or a message)
    5  four bytes

That is all of the format that is needed: 40 lines instead of a code generator and a
package.

Every field is read, or stands in a list of those that only training asked for, or is
refused with its number: the format grows, and a new field may change what a text
becomes.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from reference_impl.tokenizers.vocabulary import TokenizerError, read_bytes

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6
UNIGRAM, BPE, WORD, CHAR = 1, 2, 3, 4
UNKNOWN_SURFACE = " \u2047 "
"""What decoding writes for the unknown token: a double question mark between spaces."""

TRAINER_FIELDS = {
    3: "model_type",
    24: "treat_whitespace_as_suffix",
    35: "byte_fallback",
    44: "unk_surface",
}
NORMALIZER_FIELDS = {
    2: "precompiled_charsmap",
    3: "add_dummy_prefix",
    4: "remove_extra_whitespaces",
    5: "escape_whitespaces",
}
TRAINING_ONLY = {
    1: "input",
    2: "model_prefix",
    4: "vocab_size",
    5: "accept_language",
    6: "self_test_sample_size",
    7: "input_format",
    10: "character_coverage",
    11: "input_sentence_size",
    12: "mining_sentence_size",
    13: "training_sentence_size",
    14: "seed_sentencepiece_size",
    15: "shrinking_factor",
    16: "num_threads",
    17: "num_sub_iterations",
    18: "max_sentence_length",
    19: "shuffle_input_sentence",
    20: "max_sentencepiece_length",
    21: "split_by_unicode_script",
    22: "split_by_whitespace",
    23: "split_by_number",
    25: "split_digits",
    26: "allow_whitespace_only_pieces",
    30: "control_symbols",
    31: "user_defined_symbols",
    32: "vocabulary_output_piece_score",
    33: "hard_vocab_limit",
    34: "use_all_vocab",
    36: "required_chars",
    40: "unk_id",
    41: "bos_id",
    42: "eos_id",
    43: "pad_id",
    45: "unk_piece",
    46: "bos_piece",
    47: "eos_piece",
    48: "pad_piece",
    49: "train_extremely_large_corpus",
    50: "enable_differential_privacy",
    51: "differential_privacy_noise_level",
    52: "differential_privacy_clipping_threshold",
    53: "pretokenization_delimiter",
    54: "seed_sentencepieces_file",
    55: "auto_character_coverage",
}
"""Fields of the trainer that change no id: what they decided is in the pieces, whose
kinds say which are special."""
NORMALIZER_NAMES = {1: "name", 6: "normalization_rule_tsv"}
"""Where the table of the normaliser came from. The table itself is what counts."""
FILE_FIELDS = {
    1: "pieces",
    2: "trainer_spec",
    3: "normalizer_spec",
    5: "denormalizer_spec",
}
SELF_TEST = 4
"""Texts with their pieces, kept for a test of older versions."""


@dataclass
class SentencePieceFile:
    """What a tokenizer needs of a `.model` file.

    The defaults are those of the format.
    """

    pieces: list[tuple[str, float, int]] = field(default_factory=list)
    """Token, score, and kind: NORMAL and so on."""
    model_type: int = UNIGRAM
    byte_fallback: bool = False
    charsmap: bytes = b""
    add_dummy_prefix: bool = True
    remove_extra_whitespaces: bool = True
    escape_whitespaces: bool = True
    treat_whitespace_as_suffix: bool = False
    unk_surface: str = UNKNOWN_SURFACE


def load(path: str | Path) -> SentencePieceFile:
    """Read a `.model` file.

    TokenizerError says what is wrong with a file that is none, and where.
    """
    data = read_bytes(path)
    pieces: list[tuple[str, float, int]] = []
    trainer: dict[int, int | bytes] = {}
    normalizer: dict[int, int | bytes] = {}
    try:
        for number, value in _fields(data):
            if number == 1:
                pieces.append(_piece(_message(value, "a piece")))
            elif number == 2:
                trainer |= _known(
                    _message(value, "the trainer"),
                    TRAINER_FIELDS | TRAINING_ONLY,
                    "the trainer",
                )
            elif number == 3:
                normalizer |= _known(
                    _message(value, "the normaliser"),
                    NORMALIZER_FIELDS | NORMALIZER_NAMES,
                    "the normaliser",
                )
            elif number == 5:
                if _message(value, "the denormaliser").get(2):
                    raise TokenizerError(
                        "the model has a table that rewrites what was decoded"
                        " (denormalizer_spec), which is not known here"
                    )
            elif number != SELF_TEST:
                raise TokenizerError(
                    f"the file has the field {number}, which is not known here"
                )
        flags = {
            name: _flag(fields, number, name, default)
            for fields, number, name, default in (
                (trainer, 35, "byte_fallback", False),
                (trainer, 24, "treat_whitespace_as_suffix", False),
                (normalizer, 3, "add_dummy_prefix", True),
                (normalizer, 4, "remove_extra_whitespaces", True),
                (normalizer, 5, "escape_whitespaces", True),
            )
        }
        result = SentencePieceFile(
            pieces,
            _number(trainer, 3, "model_type", UNIGRAM),
            charsmap=_data(normalizer, 2, "precompiled_charsmap", b""),
            unk_surface=_data(
                trainer, 44, "unk_surface", UNKNOWN_SURFACE.encode()
            ).decode(),
            **flags,
        )
    except TokenizerError as error:
        raise TokenizerError(f"{path}: {error}") from None
    except (ValueError, struct.error) as error:
        raise TokenizerError(
            f"{path} is not a SentencePiece model, or it is damaged: {error}"
        ) from error
    if not pieces:
        raise TokenizerError(f"{path} is not a SentencePiece model: it holds no pieces")
    return result


def _message(value: int | bytes, name: str) -> dict[int, int | bytes]:
    """The fields of a message inside a field; of a field that comes twice the last, as
    the format wants it.
    """
    if isinstance(value, int):
        raise ValueError(f"{name} is a number where a message is expected")
    return dict(_fields(value))


def _known(
    fields: dict[int, int | bytes], names: dict[int, str], part: str
) -> dict[int, int | bytes]:
    if unknown := [number for number in fields if number not in names]:
        raise TokenizerError(
            f"{part} has the field {unknown[0]}, which is not known here"
        )
    return fields


def _number(
    fields: dict[int, int | bytes], number: int, name: str, default: int
) -> int:
    value = fields.get(number, default)
    if not isinstance(value, int):
        raise ValueError(f"{name} is {value[:20]!r} where a number is expected")
    return value


def _flag(
    fields: dict[int, int | bytes], number: int, name: str, default: bool
) -> bool:
    return bool(_number(fields, number, name, default))


def _data(
    fields: dict[int, int | bytes], number: int, name: str, default: bytes
) -> bytes:
    value = fields.get(number, default)
    if not isinstance(value, bytes):
        raise ValueError(f"{name} is the number {value} where bytes are expected")
    return value


def _piece(fields: dict[int, int | bytes]) -> tuple[str, float, int]:
    _known(fields, {1: "piece", 2: "score", 3: "type"}, "a piece")
    token, (score,) = (
        _data(fields, 1, "a piece", b"").decode(),
        struct.unpack("<f", _data(fields, 2, "a score", bytes(4))),
    )
    kind = _number(fields, 3, "the type of a piece", NORMAL)
    if not NORMAL <= kind <= BYTE:
        raise TokenizerError(
            f"the piece {token!r} is of the type {kind}; known are {NORMAL} to {BYTE}"
        )
    return token, score, kind


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a message: number and value, an int for a varint, bytes for all
    else.
    """
    place = 0
    while place < len(data):
        key, place = _varint(data, place)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, place = _varint(data, place)
        else:
            if kind == 2:
                length, place = _varint(data, place)
            elif kind in (1, 5):
                length = 8 if kind == 1 else 4
            else:
                raise ValueError(
                    f"byte {place} announces a field of the unknown kind {kind}"
                )
            if length > len(data) - place:
                raise ValueError(
                    f"byte {place} announces {length} bytes, but only"
                    f" {len(data) - place} follow"
                )
            value, place = data[place : place + length], place + length
        yield number, value


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = 0
    for i in range(10):
        if place + i >= len(data):
            raise ValueError(f"it ends in the middle of a number, at byte {place + i}")
        value |= (data[place + i] & 0x7F) << 7 * i
        if data[place + i] < 0x80:
            return value, place + i + 1
    raise ValueError(f"byte {place} begins a number of more than 64 bits")


def save(file: SentencePieceFile, path: str | Path) -> None:
    """Write a `.model` file that `load` and the `sentencepiece` library read."""
    ids = {kind: i for i, (_, _, kind) in enumerate(file.pieces) if kind == UNKNOWN}
    pieces = [
        _bytes(
            1,
            _bytes(1, token.encode())
            + _tag(2, 5)
            + struct.pack("<f", score)
            + _varint_field(3, kind),
        )
        for token, score, kind in file.pieces
    ]
    trainer = (
        _varint_field(3, file.model_type)
        + _varint_field(24, file.treat_whitespace_as_suffix)
        + _varint_field(35, file.byte_fallback)
        + _varint_field(40, ids.get(UNKNOWN, 0))
        + _bytes(44, file.unk_surface.encode())
    )
    normalizer = (
        _bytes(2, file.charsmap)
        + _varint_field(3, file.add_dummy_prefix)
        + _varint_field(4, file.remove_extra_whitespaces)
        + _varint_field(5, file.escape_whitespaces)
    )
    Path(path).write_bytes(
        b"".join(pieces) + _bytes(2, trainer) + _bytes(3, normalizer)
    )


def _encode_varint(value: int) -> bytes:
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*encoded, value])


def _tag(number: int, kind: int) -> bytes:
    return _encode_varint(number << 3 | kind)


def _varint_field(number: int, value: int) -> bytes:
    return _tag(number, 0) + _encode_varint(int(value))


def _bytes(number: int, value: bytes) -> bytes:
    return _tag(number, 2) + _encode_varint(len(value)) + value

"""Read and write SentencePiece's `.model` file without its library.

The file is a protocol buffer message (sentencepiece_model.proto, `ModelProto`). On the wire a message is a row of
fields; each begins with a number that holds the field's own number and one of four ways to read what follows:

    0  a varint: seven bits a byte, lowest first, the top bit says that more follow
    1  eight bytes     2  a varint with a length, and as many bytes (text, bytes, or a message)     5  four bytes

That is all of the format that is needed: 40 lines instead of a code generator and a package. Fields that are not
listed here are skipped; `save` writes those that are.
"""
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from reference_impl.tokenizers.vocabulary import TokenizerError

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6
UNIGRAM, BPE = 1, 2


@dataclass
class SentencePieceFile:
    """What a tokenizer needs of a `.model` file. The defaults are those of the format."""

    pieces: list[tuple[str, float, int]] = field(default_factory=list)
    """Token, score, and kind: NORMAL and so on."""
    model_type: int = UNIGRAM
    byte_fallback: bool = False
    charsmap: bytes = b""
    add_dummy_prefix: bool = True
    remove_extra_whitespaces: bool = True


def load(path: str | Path) -> SentencePieceFile:
    """Read a `.model` file. TokenizerError says what is wrong with a file that is none, and where."""
    data = Path(path).read_bytes()
    result = SentencePieceFile()
    try:
        for number, value in _fields(data):
            if number == 1:
                result.pieces.append(_piece(value))
            elif number == 2:
                trainer = dict(_fields(value))
                result.model_type = trainer.get(3, UNIGRAM)
                result.byte_fallback = bool(trainer.get(35, 0))
            elif number == 3:
                normalizer = dict(_fields(value))
                result.charsmap = normalizer.get(2, b"")
                result.add_dummy_prefix = bool(normalizer.get(3, 1))
                result.remove_extra_whitespaces = bool(normalizer.get(4, 1))
    except (ValueError, TypeError, struct.error) as error:
        raise TokenizerError(f"{path} is not a SentencePiece model, or it is damaged: {error}") from error
    if not result.pieces:
        raise TokenizerError(f"{path} is not a SentencePiece model: it holds no pieces")
    return result


def _piece(message: bytes) -> tuple[str, float, int]:
    fields = dict(_fields(message))
    return fields[1].decode() if 1 in fields else "", struct.unpack("<f", fields.get(2, bytes(4)))[0], \
        fields.get(3, NORMAL)


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a message: number and value, an int for a varint, bytes for all else."""
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
                raise ValueError(f"byte {place} announces a field of the unknown kind {kind}")
            if length > len(data) - place:
                raise ValueError(f"byte {place} announces {length} bytes, but only {len(data) - place} follow")
            value, place = data[place:place + length], place + length
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
    pieces = [_bytes(1, _bytes(1, token.encode()) + _tag(2, 5) + struct.pack("<f", score) + _number(3, kind))
              for token, score, kind in file.pieces]
    trainer = _number(3, file.model_type) + _number(35, file.byte_fallback) + _number(40, ids.get(UNKNOWN, 0))
    normalizer = (_bytes(2, file.charsmap) + _number(3, file.add_dummy_prefix)
                  + _number(4, file.remove_extra_whitespaces) + _number(5, 1))
    Path(path).write_bytes(b"".join(pieces) + _bytes(2, trainer) + _bytes(3, normalizer))


def _encode_varint(value: int) -> bytes:
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*encoded, value])


def _tag(number: int, kind: int) -> bytes:
    return _encode_varint(number << 3 | kind)


def _number(number: int, value: int) -> bytes:
    return _tag(number, 0) + _encode_varint(int(value))


def _bytes(number: int, value: bytes) -> bytes:
    return _tag(number, 2) + _encode_varint(len(value)) + value

"""Text that comes in bytes: whole characters, stop strings across tokens, reasons."""

import random

import pytest

from reference_impl.generation.sampling_params import GenerationError, SamplingParams
from reference_impl.generation.stopping import Stopping, StopStrings, TextStream


class Bytes:
    """A tokenizer whose tokens are bytes: the worst there is for characters and stop strings."""

    def decode(self, ids):
        return bytes(ids).decode(errors="replace")


FACE = "\N{SLIGHTLY SMILING FACE}"  # four bytes in UTF-8
TEXT = f"naïve 日本 {FACE}{FACE} é"


def test_no_piece_holds_half_a_character_and_the_pieces_are_the_text():
    stream = TextStream(Bytes())
    pieces = [stream.add(byte) for byte in TEXT.encode()]
    assert "".join(pieces) == TEXT
    assert not any("\ufffd" in piece for piece in pieces)
    assert pieces.count("") == len(TEXT.encode()) - len(TEXT)


def test_what_is_no_character_at_the_end_is_marked_once():
    stream = TextStream(Bytes())
    assert [stream.add(byte) for byte in f"a{FACE}".encode()[:-1]] == ["a", "", "", ""]
    assert stream.finish() == "\ufffd"


def test_stop_strings_cut_where_the_text_first_has_one_however_it_is_cut_up():
    draw = random.Random(0)
    for _ in range(300):
        text = "".join(draw.choice("ab") for _ in range(12))
        stop = tuple(
            "".join(draw.choice("ab") for _ in range(draw.randint(2, 5))) for _ in range(2)
        )
        strings, out, met, rest = StopStrings(stop), "", False, text
        while rest and not met:
            size = draw.randint(1, 2)
            piece, met = strings.add(rest[:size])
            out, rest = out + piece, rest[size:]
        out += strings.finish()
        first = min(
            (end for end in range(13) if any(text[:end].endswith(s) for s in stop)), default=None
        )
        assert met == (first is not None)
        assert not any(s in out for s in stop) and text.startswith(out)
        if not met:
            assert out == text


def run(params, text, eos=()):
    stopping, out = Stopping(params, eos, Bytes()), ""
    for count, byte in enumerate(text.encode(), 1):
        step = stopping.add(byte)
        out += step.text
        if step.reason is not None:
            return out, step.reason, count
    return out, None, count


def test_each_reason():
    assert run(SamplingParams(max_tokens=5), "abcdefgh") == ("abcde", "length", 5)
    assert run(SamplingParams(max_tokens=9, stop=("cd",)), "abcdefgh") == ("ab", "stop", 4)
    assert run(SamplingParams(max_tokens=9, stop=("cx",)), "abcdefghi") == (
        "abcdefghi",
        "length",
        9,
    )
    assert run(SamplingParams(max_tokens=9), "abcd!", [ord("!")]) == ("abcd", "stop", 5)
    assert run(SamplingParams(max_tokens=5, ignore_eos=True), "abcd!", [ord("!")]) == (
        "abcd!",
        "length",
        5,
    )
    assert run(SamplingParams(max_tokens=9, stop_token_ids=(ord("c"),)), "abcd") == (
        "ab",
        "stop",
        3,
    )
    assert run(SamplingParams(max_tokens=4, stop=("dx",)), "abcdx") == ("abcd", "length", 4)
    assert run(SamplingParams(max_tokens=9, min_tokens=5, stop=("b",)), "abcbabab") == (
        "abcba",
        "stop",
        6,
    )


def test_stop_strings_without_a_tokenizer_are_refused():
    with pytest.raises(GenerationError, match="give a tokenizer"):
        Stopping(SamplingParams(stop=("a",)))

"""The steps of a tokenizer.json: what each type of normaliser, pre-tokenizer and
decoder is here.

Three tables, one a kind, from the "type" that `tokenizers` writes to a reader of its
fields. A type that is not in the table raises TokenizerError with its name, and
`strict.JsonObject` sees to the fields: a tokenizer that is nearly right is wrong.

    normalizer({"type": "NFC"})                NormalForm("NFC")
    word_steps({"type": "WhitespaceSplit"})    [Cut(white space, "Removed")]

Not here: UnicodeScripts, whose table of scripts `tokenizers` carries by itself.
"""

import base64
import binascii
from collections.abc import Callable
from typing import Any

import regex

from reference_impl.tokenizers import decoders as dec
from reference_impl.tokenizers import normalizers as norm
from reference_impl.tokenizers import pretokenizers as pre
from reference_impl.tokenizers import text_normalizers as text
from reference_impl.tokenizers import word_cuts as cuts
from reference_impl.tokenizers.byte_level import to_characters
from reference_impl.tokenizers.charsmap import CharsMap
from reference_impl.tokenizers.oniguruma import Finder, compiled
from reference_impl.tokenizers.strict import JsonObject, shown
from reference_impl.tokenizers.vocabulary import TokenizerError

WHITE_SPACE = regex.compile(f"[{text.WHITE_SPACE}]")
PUNCTUATION = regex.compile(r"[!-/:-@\[-`{-~\p{P}]")
NUMBER = regex.compile(r"\p{N}")


def read(data: Any, kind: str, readers: dict[str, Callable[[JsonObject], Any]]) -> Any:
    """What a part becomes, by the table of its kind."""
    type_ = data.get("type") if isinstance(data, dict) else None
    if not isinstance(type_, str) or type_ not in readers:
        raise TokenizerError(
            f"the {kind} is {shown(data)}, and its type is not known here; known are "
            f"{', '.join(sorted(readers))}"
        )
    with JsonObject(data, f"the {kind} {type_}") as part:
        part.take("type")
        return readers[type_](part)


def expression(part: JsonObject) -> Finder:
    """The expression of a part: {"Regex": ...} or {"String": ...}, which stands for
    itself.
    """
    with JsonObject(
        part.take("pattern", dict), f"the pattern of {part.name}"
    ) as pattern:
        literal, written = (
            pattern.take("String", str, default=None),
            pattern.take("Regex", str, default=None),
        )
    if (literal is None) == (written is None):
        raise TokenizerError(
            f"the pattern of {part.name} must have one of String and Regex"
        )
    return (
        compiled(written) if literal is None else regex.compile(regex.escape(literal))
    )


def sign(part: JsonObject, field: str) -> str:
    """A field that holds one character."""
    value = part.take(field, str)
    if len(value) != 1:
        raise TokenizerError(
            f"{field!r} of {part.name} is {shown(value)}; one character is expected"
        )
    return value


def normalizer(data: Any) -> text.TextNormalizer | None:
    """The normaliser; None for null."""
    return None if data is None else read(data, "normalizer", NORMALIZERS)


def _bert(part: JsonObject) -> norm.Normalizer:
    return norm.bert_normalizer(
        part.take("lowercase", bool),
        part.take("strip_accents", bool, type(None)),
        part.take("handle_chinese_chars", bool),
        part.take("clean_text", bool),
    )


def _by_table(part: JsonObject) -> text.ByTable:
    try:
        blob = base64.b64decode(part.take("precompiled_charsmap", str), validate=True)
    except binascii.Error:
        raise TokenizerError(
            f"'precompiled_charsmap' of {part.name} is no base 64"
        ) from None
    return text.ByTable(CharsMap(blob))


NORMALIZERS: dict[str, Callable[[JsonObject], text.TextNormalizer]] = {
    "Sequence": lambda part: text.Chain(
        *map(normalizer, part.take("normalizers", list))
    ),
    "BertNormalizer": _bert,
    "Lowercase": lambda part: norm.Normalizer(norm.lowercase),
    "StripAccents": lambda part: norm.Normalizer(text.without_marks),
    "Nmt": lambda part: norm.Normalizer(text.nmt),
    "ByteLevel": lambda part: norm.Normalizer(
        lambda character: to_characters(character.encode())
    ),
    "Strip": lambda part: text.Strip(
        part.take("strip_left", bool), part.take("strip_right", bool)
    ),
    "Prepend": lambda part: text.Prepend(part.take("prepend", str)),
    "Replace": lambda part: text.Replace(expression(part), part.take("content", str)),
    "Precompiled": _by_table,
    **{
        form: lambda part, form=form: text.NormalForm(form)
        for form in ("NFC", "NFD", "NFKC", "NFKD")
    },
}


def word_steps(data: Any) -> list[cuts.Step]:
    """The steps of the pre-tokenizer; none for null."""
    return [] if data is None else read(data, "pre_tokenizer", PRE_TOKENIZERS)


def _sequence(part: JsonObject) -> list[cuts.Step]:
    return [
        step for data in part.take("pretokenizers", list) for step in word_steps(data)
    ]


def _byte_level(part: JsonObject) -> list[cuts.Step]:
    part.take(
        "trim_offsets", bool
    )  # the post-processor's work; the pre-tokenizer's own flag has no effect
    before = [cuts.SpaceBefore()] if part.take("add_prefix_space", bool) else []
    words = (
        [cuts.Cut(pre.GPT2, "Isolated")]
        if part.take("use_regex", bool, default=True)
        else []
    )
    return [*before, *words, cuts.ToBytes()]


def _metaspace(part: JsonObject) -> list[cuts.Step]:
    part.take("str_rep", str, default=None)  # older files write the sign twice
    return [
        cuts.Metaspace(
            sign(part, "replacement"),
            _scheme(part),
            part.take("split", bool, default=True),
        )
    ]


def _scheme(part: JsonObject) -> str:
    """When Metaspace puts its sign before a word. Older files say only whether."""
    scheme = part.only("prepend_scheme", *cuts.SCHEMES, default="always")
    if part.take("add_prefix_space", bool, default=True):
        return scheme
    if scheme != "never" and "prepend_scheme" in part:
        raise TokenizerError(
            f"{part.name} has add_prefix_space false and prepend_scheme {scheme!r}:"
            " which is meant?"
        )
    return "never"


def _fixed_length(part: JsonObject) -> list[cuts.Step]:
    length = part.take("length", int, default=5)
    if length < 1:
        raise TokenizerError(
            f"'length' of {part.name} is {length}; words have at least one character"
        )
    return [cuts.Pieces(length)]


def _delimiter(part: JsonObject) -> list[cuts.Step]:
    return [cuts.Cut(regex.compile(regex.escape(sign(part, "delimiter"))), "Removed")]


PRE_TOKENIZERS: dict[str, Callable[[JsonObject], list[cuts.Step]]] = {
    "Sequence": _sequence,
    "ByteLevel": _byte_level,
    "Metaspace": _metaspace,
    "BertPreTokenizer": lambda part: [
        cuts.Cut(WHITE_SPACE, "Removed"),
        cuts.Cut(PUNCTUATION, "Isolated"),
    ],
    "Whitespace": lambda part: [cuts.Cut(pre.WORDS_AND_SIGNS, "Removed", invert=True)],
    "WhitespaceSplit": lambda part: [cuts.Cut(WHITE_SPACE, "Removed")],
    "CharDelimiterSplit": _delimiter,
    "Digits": lambda part: [
        cuts.Cut(
            NUMBER, "Isolated" if part.take("individual_digits", bool) else "Contiguous"
        )
    ],
    "Punctuation": lambda part: [
        cuts.Cut(
            PUNCTUATION, part.only("behavior", *cuts.BEHAVIOURS, default="Isolated")
        )
    ],
    "Split": lambda part: [
        cuts.Cut(
            expression(part),
            part.only("behavior", *cuts.BEHAVIOURS),
            part.take("invert", bool),
        )
    ],
    "FixedLength": _fixed_length,
}


def decoder(data: Any) -> dec.Decoder:
    """The decoder; for null, one that puts spaces between tokens."""
    return dec.Decoder(dec.spaced) if data is None else dec.Decoder(*_decoding(data))


def _decoding(data: Any) -> list[dec.Step]:
    return read(data, "decoder", DECODERS)


def _byte_level_decoder(part: JsonObject) -> list[dec.Step]:
    for field in ("add_prefix_space", "trim_offsets", "use_regex"):
        part.take(
            field, bool, default=True
        )  # they are the pre-tokenizer's; decoding does not ask for them
    return [dec.byte_level]


def _metaspace_decoder(part: JsonObject) -> list[dec.Step]:
    part.take("str_rep", str, default=None)
    part.take("split", bool, default=True)  # for encoding
    return [dec.metaspace(sign(part, "replacement"), _scheme(part) == "never")]


def _strip_decoder(part: JsonObject) -> list[dec.Step]:
    start, stop = part.take("start", int), part.take("stop", int)
    return [dec.stripped(sign(part, "content"), start, stop)]


DECODERS: dict[str, Callable[[JsonObject], list[dec.Step]]] = {
    "Sequence": lambda part: [
        step for data in part.take("decoders", list) for step in _decoding(data)
    ],
    "ByteLevel": _byte_level_decoder,
    "ByteFallback": lambda part: [dec.byte_fallback],
    "Fuse": lambda part: [dec.fused],
    "Metaspace": _metaspace_decoder,
    "Replace": lambda part: [dec.replaced(expression(part), part.take("content", str))],
    "Strip": _strip_decoder,
    "WordPiece": lambda part: [
        dec.word_pieces(part.take("prefix", str), part.take("cleanup", bool))
    ],
    "BPEDecoder": lambda part: [dec.suffixed(part.take("suffix", str))],
    "CTC": lambda part: [
        dec.ctc(
            part.take("pad_token", str),
            part.take("word_delimiter_token", str),
            part.take("cleanup", bool),
        )
    ],
}

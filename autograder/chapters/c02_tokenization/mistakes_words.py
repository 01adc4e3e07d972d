"""Plausible wrong solutions of chapter 2, words and bytes."""

import re
import string
import unicodedata

from autograder.checks.mistakes.registry import mistake

WORDS = "02.bert_words"
BLOCKS = [
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
]


def _clean(text, dropped=("Cc", "Cf"), instead=""):
    return "".join(
        (
            " "
            if sign in "\t\n\r"
            else instead
            if unicodedata.category(sign) in dropped or sign == "\ufffd"
            else sign
        )
        for sign in text
    )


def _chinese(text, blocks=BLOCKS):
    return "".join(
        f" {sign} " if any(first <= ord(sign) <= last for first, last in blocks) else sign
        for sign in text
    )


def _plain(text, form="NFD", dropped=("Mn",)):
    return "".join(
        part
        for part in unicodedata.normalize(form, text)
        if unicodedata.category(part) not in dropped
    )


def _is_sign(sign):
    return sign in string.punctuation or unicodedata.category(sign).startswith("P")


def _cut(text, is_sign=_is_sign):
    return "".join(f" {sign} " if is_sign(sign) else sign for sign in text).split()


@mistake(
    WORDS,
    "split-at-spaces-only",
    caught_by="signs",
    loses=2,
    misconception="You split at spaces only. Each punctuation sign becomes a word of its own.",
)
def _(text):
    return _plain(_chinese(_clean(text))).lower().split()


@mistake(
    WORDS,
    "plain-spaces-only",
    caught_by="spaces",
    loses=4,
    misconception=(
        'You split at the plain space with split(" "). Other spaces stay, and two in a '
        "row give an empty word."
    ),
)
def _(text):
    return "".join(
        f" {sign} " if _is_sign(sign) else sign for sign in _plain(_chinese(_clean(text))).lower()
    ).split(" ")


@mistake(
    WORDS,
    "signs-of-ascii",
    caught_by="signs",
    loses=1,
    misconception=(
        "You split at string.punctuation only. All categories that begin with P are punctuation."
    ),
)
def _(text):
    return _cut(_plain(_chinese(_clean(text))).lower(), lambda sign: sign in string.punctuation)


@mistake(
    WORDS,
    "category-p-only",
    caught_by="signs",
    loses=2,
    misconception=(
        "You use the Unicode category only. BERT also counts $, + and ~ as punctuation."
    ),
)
def _(text):
    return _cut(
        _plain(_chinese(_clean(text))).lower(),
        lambda sign: unicodedata.category(sign).startswith("P"),
    )


@mistake(
    WORDS,
    "all-symbols",
    caught_by="signs",
    loses=1,
    misconception=(
        "You split at all symbols. Outside ASCII, only categories that begin with P "
        "count; € stays in its word."
    ),
)
def _(text):
    return _cut(
        _plain(_chinese(_clean(text))).lower(), lambda sign: unicodedata.category(sign)[0] in "PS"
    )


@mistake(
    WORDS,
    "regular-expression",
    caught_by="signs",
    loses=2,
    misconception=(
        r"You split with \w, which keeps _ in a word and splits off symbols such as €."
        " Use categories."
    ),
)
def _(text):
    return re.findall(r"\w+|[^\w\s]", _plain(_chinese(_clean(text))).lower())


@mistake(
    WORDS,
    "runs-of-signs",
    caught_by="signs",
    loses=1,
    misconception="You keep adjacent punctuation signs together. Each is a word of its own.",
)
def _(text):
    words = []
    for word in _plain(_chinese(_clean(text))).lower().split():
        row = ""
        for sign in word:
            if row and (_is_sign(row[-1]) != _is_sign(sign)):
                words.append(row)
                row = ""
            row += sign
        words.append(row)
    return words


@mistake(
    WORDS,
    "composed",
    caught_by="accents",
    loses=2.5,
    misconception=(
        "You use NFC, which composes letters and accents. NFD decomposes them, so that "
        "accents can be removed."
    ),
)
def _(text):
    return _cut(_plain(_chinese(_clean(text)), "NFC").lower())


@mistake(
    WORDS,
    "compatible",
    caught_by="accents",
    loses=1.5,
    misconception=("You use NFKD, which also decomposes ligatures and superscripts. Use NFD."),
)
def _(text):
    return _cut(_plain(_chinese(_clean(text)), "NFKD").lower())


@mistake(
    WORDS,
    "together-again",
    caught_by="accents",
    loses=1.5,
    misconception="You compose the text again at the end. What NFD decomposed stays decomposed.",
)
def _(text):
    return [
        unicodedata.normalize("NFC", word) for word in _cut(_plain(_chinese(_clean(text))).lower())
    ]


@mistake(
    WORDS,
    "all-marks",
    caught_by="accents",
    loses=1,
    misconception=("You remove all marks. Remove only category Mn; spacing vowel signs (Mc) stay."),
)
def _(text):
    return _cut(_plain(_chinese(_clean(text)), dropped=("Mn", "Mc", "Me")).lower())


@mistake(
    WORDS,
    "combining-class",
    caught_by="accents",
    loses=1,
    misconception="You ask for combining(), which is 0 for some marks. Ask for category Mn.",
)
def _(text):
    decomposed = unicodedata.normalize("NFD", _chinese(_clean(text)))
    return _cut("".join(sign for sign in decomposed if not unicodedata.combining(sign)).lower())


@mistake(
    WORDS,
    "ascii-letters",
    caught_by="accents",
    loses=2.5,
    misconception="You keep ASCII only. Letters of other scripts are text like any other.",
)
def _(text):
    kept = "".join(
        sign
        for sign in _plain(_chinese(_clean(text)))
        if ord(sign) < 128 or not sign.isalpha() or _is_sign(sign)
    )
    return _cut(kept.lower())


@mistake(
    WORDS,
    "signs-before-accents",
    caught_by="accents",
    loses=1,
    misconception=(
        "You split off signs before removing accents. After step 3, ≠ is an = and is split off."
    ),
)
def _(text):
    apart = "".join(f" {sign} " if _is_sign(sign) else sign for sign in _chinese(_clean(text)))
    return _plain(apart).lower().split()


@mistake(
    WORDS,
    "kana-too",
    caught_by="chinese",
    loses=0.5,
    misconception="You put spaces around kana. Only the characters of CJK_BLOCKS get them.",
)
def _(text):
    return _cut(_plain(_chinese(_clean(text), [*BLOCKS, (0x3040, 0x30FF)])).lower())


@mistake(
    WORDS,
    "one-chinese-block",
    caught_by="chinese",
    loses=0.5,
    misconception="You use only one block of Chinese characters. Use all of CJK_BLOCKS.",
)
def _(text):
    return _cut(_plain(_chinese(_clean(text), BLOCKS[:1])).lower())


@mistake(
    WORDS,
    "invisible-kept",
    caught_by="invisible",
    loses=0.5,
    misconception=("You keep invisible characters. Remove the categories Cc and Cf, and U+FFFD."),
)
def _(text):
    return _cut(_plain(_chinese(text)).lower())


@mistake(
    WORDS,
    "invisible-as-spaces",
    caught_by="invisible",
    loses=0.5,
    misconception=(
        "You replace an invisible character by a space. Remove it without a replacement."
    ),
)
def _(text):
    return _cut(_plain(_chinese(_clean(text, instead=" "))).lower())


@mistake(
    WORDS,
    "spaces-before-controls",
    caught_by="invisible",
    loses=0.5,
    misconception=(
        r"You ask isspace() first, so controls such as \x0b become a space. Remove Cc before that."
    ),
)
def _(text):
    return _cut(_plain(_chinese(_clean(" ".join(re.split(r"\s", text))))).lower())


@mistake(
    WORDS,
    "replacement-sign-kept",
    caught_by="invisible",
    loses=0.5,
    misconception="You keep U+FFFD. It is removed, like the categories Cc and Cf.",
)
def _(text):
    kept = "\ufffd".join(map(_clean, text.split("\ufffd")))
    return _cut(_plain(_chinese(kept)).lower())


@mistake(
    WORDS,
    "formats-kept",
    caught_by="invisible",
    loses=0.5,
    misconception=(
        "You remove controls (Cc) and keep formats (Cf), such as the zero-width space. Remove both."
    ),
)
def _(text):
    return _cut(_plain(_chinese(_clean(text, dropped=("Cc",)))).lower())


@mistake(
    WORDS,
    "capitals-kept",
    caught_by="case",
    loses=1,
    misconception="You keep capitals. Lower-case the text.",
)
def _(text):
    return _cut(_plain(_chinese(_clean(text))))


@mistake(
    WORDS,
    "casefold",
    caught_by="case",
    loses=1,
    misconception="You use casefold(), which turns ß into ss. Use lower().",
)
def _(text):
    return _cut(_plain(_chinese(_clean(text))).casefold())


DECODE = "02.byte_decode"
RANGES = (range(33, 127), range(161, 173), range(174, 256))


def _table(ranges=RANGES, first=256):
    printable = [byte for numbers in ranges for byte in numbers]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {
        chr(first + place): byte for place, byte in enumerate(others)
    }


@mistake(
    DECODE,
    "off-by-one",
    replaces="byte_table",
    caught_by="table",
    loses=1.5,
    misconception="Your unprintable bytes start at character 257. They start at 256.",
)
def _():
    return _table(first=257)


@mistake(
    DECODE,
    "soft-hyphen-printable",
    replaces="byte_table",
    caught_by="table",
    loses=1.5,
    misconception=(
        "You count byte 173 as printable. It is the invisible soft hyphen, outside the ranges."
    ),
)
def _():
    return _table((range(33, 127), range(161, 256)))


@mistake(
    DECODE,
    "space-printable",
    replaces="byte_table",
    caught_by="table",
    loses=1.5,
    misconception="You count the space as printable. The printable bytes start at 33.",
)
def _():
    return _table((range(32, 127), *RANGES[1:]))


@mistake(
    DECODE,
    "ranges-end-early",
    replaces="byte_table",
    caught_by="table",
    loses=1.5,
    misconception=(
        "Your ranges leave out their last byte: range(33, 126) ends at 125. Both ends are included."
    ),
)
def _():
    return _table((range(33, 126), range(161, 172), range(174, 255)))


@mistake(
    DECODE,
    "moved-by-256",
    replaces="byte_table",
    caught_by="table",
    loses=1.5,
    misconception=(
        "You write an unprintable byte as character 256 + byte. Number these bytes 256, "
        "257, … without gaps."
    ),
)
def _():
    return {
        chr(byte) if any(byte in numbers for numbers in RANGES) else chr(256 + byte): byte
        for byte in range(256)
    }


@mistake(
    DECODE,
    "from-byte-to-character",
    replaces="byte_table",
    caught_by="table",
    loses=1.5,
    misconception="Your table maps bytes to characters. It must map characters to bytes.",
)
def _():
    return {byte: character for character, byte in _table().items()}


@mistake(
    DECODE,
    "token-by-token",
    caught_by="joined-first",
    loses=2.5,
    misconception=(
        "You decode each token separately. A character may be spread over several "
        "tokens: join first."
    ),
)
def _(tokens):
    return "".join(bytes(map(_table().get, token)).decode("utf-8", "replace") for token in tokens)


@mistake(
    DECODE,
    "spaces-only",
    caught_by="ascii",
    loses=3.5,
    misconception=("You replace only Ġ by a space. Every character of a token represents a byte."),
)
def _(tokens):
    return "".join(tokens).replace("\u0120", " ")


@mistake(
    DECODE,
    "left-out",
    caught_by="broken",
    loses=1,
    misconception='You skip invalid bytes (errors="ignore"). They show as U+FFFD.',
)
def _(tokens):
    return bytes(map(_table().get, "".join(tokens))).decode("utf-8", "ignore")


@mistake(
    DECODE,
    "strict",
    caught_by="broken",
    loses=1,
    misconception=(
        'Your decoding fails at invalid UTF-8. Use errors="replace", which shows U+FFFD.'
    ),
)
def _(tokens):
    return bytes(map(_table().get, "".join(tokens))).decode()


@mistake(
    DECODE,
    "latin",
    caught_by="ascii",
    loses=3.5,
    misconception=("You decode each byte as one character (Latin-1, or chr). The bytes are UTF-8."),
)
def _(tokens):
    return "".join(chr(_table()[character]) for character in "".join(tokens))


@mistake(
    DECODE,
    "its-own-utf-8",
    caught_by="ascii",
    loses=3.5,
    misconception=(
        "You look up only ASCII and Ġ in the table. Every character of a token represents a byte."
    ),
)
def _(tokens):
    text = "".join(tokens).replace("\u0120", " ")
    return (
        text.encode("utf-8")
        .decode("utf-8", "replace")
        .replace("\u010a", "\n")
        .replace("\u0109", "\t")
    )


@mistake(
    DECODE,
    "spaces-between",
    caught_by="ascii",
    loses=3.5,
    misconception="You put a space between tokens. The spaces are already in the tokens.",
)
def _(tokens):
    return bytes(map(_table().get, "\u0120".join(tokens))).decode("utf-8", "replace")


@mistake(
    DECODE,
    "stripped",
    caught_by="ascii",
    loses=1,
    misconception="You strip spaces at the ends. They are part of the text.",
)
def _(tokens):
    return bytes(map(_table().get, "".join(tokens))).decode("utf-8", "replace").strip()

"""Plausible wrong solutions of chapter 2, words and bytes."""

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
    misconception="You cut at spaces only. Each punctuation sign becomes a word of its own.",
)
def _(text):
    return _plain(_chinese(_clean(text))).lower().split()


@mistake(
    WORDS,
    "plain-spaces-only",
    caught_by="spaces",
    loses=4,
    misconception=(
        'You cut at the plain space only, with split(" "): other spaces stay, and two in a row give'
        " an empty word."
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
        "You cut off the signs of string.punctuation only. Other scripts have punctuation too:"
        " categories that begin with P."
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
        "You ask for the category only. Signs such as $, + and ~ are symbols to Unicode, and"
        " punctuation to BERT."
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
        "You cut off all symbols. Outside ASCII only the categories that begin with P are cut off;"
        " a euro sign stays."
    ),
)
def _(text):
    return _cut(
        _plain(_chinese(_clean(text))).lower(), lambda sign: unicodedata.category(sign)[0] in "PS"
    )


@mistake(
    WORDS,
    "runs-of-signs",
    caught_by="signs",
    loses=1,
    misconception="You keep signs that stand side by side together. Each is a word of its own.",
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
        "You use NFC, which puts letters and accents together. NFD takes them apart, so that the"
        " accents can be dropped."
    ),
)
def _(text):
    return _cut(_plain(_chinese(_clean(text)), "NFC").lower())


@mistake(
    WORDS,
    "compatible",
    caught_by="accents",
    loses=1.5,
    misconception=(
        "You use NFKD, which also takes ligatures and raised digits apart. NFD leaves them."
    ),
)
def _(text):
    return _cut(_plain(_chinese(_clean(text)), "NFKD").lower())


@mistake(
    WORDS,
    "together-again",
    caught_by="accents",
    loses=1.5,
    misconception="You put the letters together again at the end. What NFD took apart stays apart.",
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
    misconception=(
        "You drop all marks. Only those of category Mn go; a vowel sign that takes room (Mc) is"
        " kept."
    ),
)
def _(text):
    return _cut(_plain(_chinese(_clean(text)), dropped=("Mn", "Mc")).lower())


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
        "You cut off the signs before the accents are dropped. A sign is judged after that: \u2260"
        " is an = then."
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
    misconception="You put spaces around Kana too. Only the characters of CJK_BLOCKS get them.",
)
def _(text):
    return _cut(_plain(_chinese(_clean(text), [*BLOCKS, (0x3040, 0x30FF)])).lower())


@mistake(
    WORDS,
    "one-chinese-block",
    caught_by="chinese",
    loses=0.5,
    misconception="You know one block of Chinese characters only. All blocks of CJK_BLOCKS count.",
)
def _(text):
    return _cut(_plain(_chinese(_clean(text), BLOCKS[:1])).lower())


@mistake(
    WORDS,
    "invisible-kept",
    caught_by="invisible",
    loses=0.5,
    misconception=(
        "You keep characters that nobody can see. The categories Cc and Cf, and U+FFFD, are"
        " dropped."
    ),
)
def _(text):
    return _cut(_plain(_chinese(text)).lower())


@mistake(
    WORDS,
    "invisible-as-spaces",
    caught_by="invisible",
    loses=0.5,
    misconception=(
        "You put a space where an invisible character was. It is dropped with nothing in its place."
    ),
)
def _(text):
    return _cut(_plain(_chinese(_clean(text, instead=" "))).lower())


@mistake(
    WORDS,
    "formats-kept",
    caught_by="invisible",
    loses=0.5,
    misconception=(
        "You drop controls (Cc) and keep formats (Cf), such as the soft hyphen and the zero-width"
        " space. Both go."
    ),
)
def _(text):
    return _cut(_plain(_chinese(_clean(text, dropped=("Cc",)))).lower())


@mistake(
    WORDS,
    "capitals-kept",
    caught_by="case",
    loses=1,
    misconception="You keep capitals. The uncased models read small letters only.",
)
def _(text):
    return _cut(_plain(_chinese(_clean(text))))


@mistake(
    WORDS,
    "casefold",
    caught_by="case",
    loses=1,
    misconception="You use casefold(), which writes \u00df as ss. lower() was asked for.",
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
    misconception="Your other bytes begin at character 257. They begin at 256.",
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
        "You count byte 173 as printable. It is the soft hyphen, which nobody sees; the ranges"
        " leave it out."
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
    misconception="You count the space as printable. The printable bytes begin at 33.",
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
        "Your ranges leave out their last bytes: range(33, 126) ends at 125. Both ends are"
        " printable."
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
        "You write each other byte as the character 256 + byte. They are numbered without a gap,"
        " from the smallest up."
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
    misconception="Your table leads from byte to character. From character to byte was asked for.",
)
def _():
    return {byte: character for character, byte in _table().items()}


@mistake(
    DECODE,
    "token-by-token",
    caught_by="joined-first",
    loses=2.5,
    misconception=(
        "You decode each token by itself. A character may be spread over several tokens: join"
        " first."
    ),
)
def _(tokens):
    return "".join(bytes(map(_table().get, token)).decode("utf-8", "replace") for token in tokens)


@mistake(
    DECODE,
    "spaces-only",
    caught_by="ascii",
    loses=3.5,
    misconception=(
        "You replace \u0120 by a space and leave the rest. Every character of a token stands for a"
        " byte."
    ),
)
def _(tokens):
    return "".join(tokens).replace("\u0120", " ")


@mistake(
    DECODE,
    "left-out",
    caught_by="broken",
    loses=1,
    misconception='You leave out bytes that are no text (errors="ignore"). They show as U+FFFD.',
)
def _(tokens):
    return bytes(map(_table().get, "".join(tokens))).decode("utf-8", "ignore")


@mistake(
    DECODE,
    "strict",
    caught_by="broken",
    loses=1,
    misconception=(
        'Your decoding fails at bytes that are no text. They show as U+FFFD: errors="replace".'
    ),
)
def _(tokens):
    return bytes(map(_table().get, "".join(tokens))).decode()


@mistake(
    DECODE,
    "latin",
    caught_by="ascii",
    loses=3.5,
    misconception=(
        "You read each byte as a character of its own (Latin-1, or chr). The bytes are UTF-8:"
        " several may be one character."
    ),
)
def _(tokens):
    return "".join(chr(_table()[character]) for character in "".join(tokens))


@mistake(
    DECODE,
    "its-own-utf-8",
    caught_by="ascii",
    loses=3.5,
    misconception=(
        "You take ASCII characters and \u0120 from the table and encode the others as they are. All"
        " of them stand for bytes."
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
    misconception="You put a space between tokens. The spaces of the text are in the tokens.",
)
def _(tokens):
    return bytes(map(_table().get, "\u0120".join(tokens))).decode("utf-8", "replace")


@mistake(
    DECODE,
    "stripped",
    caught_by="ascii",
    loses=1,
    misconception="You strip spaces from the ends. They are part of the text.",
)
def _(tokens):
    return bytes(map(_table().get, "".join(tokens))).decode("utf-8", "replace").strip()

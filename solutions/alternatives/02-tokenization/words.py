"""Differently written correct solutions of chapter 2, words and bytes."""

import codecs
import re
import string
import unicodedata

from autograder.checks.mistakes.registry import alternative

BLOCKS = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)
CHINESE = re.compile("([" + "".join(f"{chr(first)}-{chr(last)}" for first, last in BLOCKS) + "])")


@alternative("02.bert_words", "regular-expressions")
def _(text):
    text = re.sub(r"[\t\n\r]", " ", text)
    text = "".join(
        sign for sign in text if sign != "\ufffd" and unicodedata.category(sign) not in {"Cc", "Cf"}
    )
    text = CHINESE.sub(r" \1 ", text)
    text = "".join(
        sign
        for sign in unicodedata.normalize("NFD", text)
        if not unicodedata.category(sign) == "Mn"
    ).lower()
    words = []
    for word in re.split(r"\s+", text):
        row = ""
        for sign in word:
            if sign in string.punctuation or unicodedata.category(sign)[0] == "P":
                words += [row, sign]
                row = ""
            else:
                row += sign
        words.append(row)
    return [word for word in words if word]


@alternative("02.bert_words", "one-character-at-a-time")
def _(text):
    def rewritten(character):
        if character in ("\t", "\n", "\r"):
            return " "
        if unicodedata.category(character) in ("Cc", "Cf") or ord(character) == 0xFFFD:
            return ""
        if character.isspace():
            return " "
        kept = [
            part.lower()
            for part in unicodedata.normalize("NFD", character)
            if unicodedata.category(part) != "Mn"
        ]
        apart = "".join(
            (
                f" {part} "
                if part in string.punctuation or unicodedata.category(part).startswith("P")
                else part
            )
            for part in kept
        )
        return (
            f" {apart} "
            if any(first <= ord(character) <= last for first, last in BLOCKS)
            else apart
        )

    return "".join(map(rewritten, text)).split()


@alternative("02.byte_decode", "bytearray")
def _(tokens):
    printable = {*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    byte_of, extra = {}, 0
    for byte in range(256):
        if byte in printable:
            byte_of[chr(byte)] = byte
        else:
            byte_of[chr(0x100 + extra)] = byte
            extra += 1
    data = bytearray()
    for token in tokens:
        for character in token:
            data.append(byte_of[character])
    return data.decode("utf-8", errors="replace")


@alternative("02.byte_decode", "incremental-decoder")
def _(tokens):
    others = [
        byte for byte in range(256) if not (33 <= byte <= 126 or 161 <= byte <= 172 or byte >= 174)
    ]
    decoder, text = codecs.getincrementaldecoder("utf-8")("replace"), ""
    for token in tokens:
        text += decoder.decode(
            bytes(ord(sign) if ord(sign) < 256 else others[ord(sign) - 256] for sign in token)
        )
    return text + decoder.decode(b"", final=True)


@alternative("02.byte_decode", "table-in-a-loop", replaces="byte_table")
def _():
    table, other = {}, 256
    for byte in range(256):
        if byte in range(33, 127) or byte in range(161, 173) or byte in range(174, 256):
            table[chr(byte)] = byte
        else:
            table[chr(other)] = byte
            other += 1
    return table

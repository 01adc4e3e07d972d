"""The normaliser inside a SentencePiece model: a table from strings to strings, applied
longest match first.

SentencePiece compiles its rules (NFKC with small changes, for most models) into a file
field: the length of a trie in bytes, the trie, then the replacements, each ended by a
zero byte. The trie is a double array (Yata's Darts-clone): an array of 32-bit units in
which a step from unit `p` with byte `b` leads to unit `p ^ b`, and the unit there must
carry the label `b`, or there is no such step. Bits of a unit:

    0-7 label   8 whether a key ends here   9 whether the offset is shifted by 8
    10-30 offset   31 set in a value

But: only what reading needs. The table is built by SentencePiece.
"""

import struct

import regex

from reference_impl.tokenizers.vocabulary import TokenizerError


class CharsMap:
    """Rules read from the bytes of `precompiled_charsmap`. No bytes: no rules.

    Raises TokenizerError if the field is damaged.
    """

    def __init__(self, blob: bytes):
        size = struct.unpack_from("<I", blob)[0] if len(blob) >= 4 else 0
        if blob and (size % 4 or not 0 < size <= len(blob) - 4):
            raise TokenizerError(
                f"the normaliser's table is damaged: it announces a trie of {size}"
                f" bytes and has {max(0, len(blob) - 4)} after its header"
            )
        self._units = struct.unpack_from(f"<{size // 4}I", blob, 4) if blob else ()
        self._texts = blob[4 + size :]

    def replacements(
        self, text: str, kept: regex.Pattern | None = None
    ) -> list[tuple[str, int]]:
        """The text in parts: what each becomes, and how many characters of the text it
        takes.

        What `kept`, an expression over bytes, matches at the beginning of a part stays
        as it is.
        """
        if not self._units and kept is None:
            return [(character, 1) for character in text]
        data, place, parts = text.encode(), 0, []
        while place < len(data):
            untouched = kept and kept.match(data, place)
            length, replacement = (0, "") if untouched else self._longest(data, place)
            if not length:  # no rule: one character stays as it is, or what is kept
                length = (
                    len(untouched.group())
                    if untouched
                    else next(
                        n
                        for n in (1, 2, 3, 4)
                        if place + n == len(data) or data[place + n] & 0xC0 != 0x80
                    )
                )
                replacement = data[place : place + length].decode()
            parts.append((replacement, len(data[place : place + length].decode())))
            place += length
        return parts

    def shortest(self, text: str) -> str | None:
        """What the shortest rule that `text` begins with writes; None without such a
        rule.
        """
        length, replacement = self._longest(text.encode(), 0, first=True)
        return replacement if length else None

    def _longest(self, data: bytes, place: int, first: bool = False) -> tuple[int, str]:
        """The longest rule that applies at `place`: its length in bytes (0: none) and
        what it writes.

        `first` stops at the shortest.
        """
        if not self._units:
            return 0, ""
        length, value = 0, 0
        try:
            at = _offset(self._units[0])
            for i in range(place, len(data)):
                unit = self._units[at ^ data[i]]
                if unit & 0x800000FF != data[i]:
                    break
                at ^= data[i] ^ _offset(unit)
                if unit >> 8 & 1:
                    length, value = i + 1 - place, self._units[at] & 0x7FFFFFFF
                    if first:
                        break
        except IndexError:
            raise TokenizerError(
                "the normaliser's table is damaged: its trie points outside its "
                f"{len(self._units)} units"
            ) from None
        return length, (
            self._texts[value : self._texts.find(b"\0", value)].decode(
                "utf-8", "replace"
            )
            if length
            else ""
        )


def _offset(unit: int) -> int:
    return unit >> 10 << ((unit & 0x200) >> 6)

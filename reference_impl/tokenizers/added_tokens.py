"""Tokens that are taken out of a text before anything else looks at it.

A model's file lists them with five flags, and each changes which texts they are found
in:

    special       left out when decoding; not looked for in texts of strangers
                  (`specials_in_text=False`)
    normalized    looked for in the normalised text, itself normalised; otherwise in the
                  text as it was written
    single_word   only where no letter or digit stands next to it
    lstrip        takes the white space before it with it, as RoBERTa's <mask> does
    rstrip        takes the white space after it

Where two begin at one place, the longer is meant. First the text as written is
searched, then what is left.

But: a match that `single_word` refuses is passed over whole: no shorter token is looked
for inside it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import regex

from reference_impl.tokenizers.text_normalizers import WHITE_SPACE, TextNormalizer
from reference_impl.tokenizers.vocabulary import TokenizerError

TextPart = tuple[str, Sequence[int], str | None]
"""A stretch of text, the places that its characters come from, and the token that it
is; None for ordinary text."""
_WORD = regex.compile(r"[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\u200c\u200d]")


@dataclass(frozen=True)
class AddedToken:
    """A token with its flags. The defaults are those of a special token."""

    content: str
    special: bool = True
    normalized: bool = False
    single_word: bool = False
    lstrip: bool = False
    rstrip: bool = False


class AddedTokens:
    """The added tokens of a tokenizer.

    TokenizerError for an empty one: it would stand everywhere in a text.
    """

    def __init__(self, tokens: Iterable[AddedToken | str], normalizer: TextNormalizer):
        self.tokens = [
            AddedToken(token) if isinstance(token, str) else token for token in tokens
        ]
        self._normalizer = normalizer
        self.shown = {
            token.content: (
                normalizer.aligned(token.content)[0]
                if token.normalized
                else token.content
            )
            for token in self.tokens
        }
        """What stands for a token in texts, and what decoding writes."""
        if "" in self.shown or "" in self.shown.values():
            raise TokenizerError(
                "an added or special token can't be empty: it would stand everywhere in"
                " a text"
            )
        self.special = {token.content for token in self.tokens if token.special}
        self._in_text = self._finder(normalized=False)
        self._in_normalized = self._finder(normalized=True)

    def _finder(
        self, normalized: bool
    ) -> tuple[regex.Pattern, dict[str, AddedToken]] | None:
        wanted = {
            self.shown[token.content]: token
            for token in self.tokens
            if token.normalized == normalized
        }
        if not wanted:
            return None
        meant = sum(token.normalized == normalized for token in self.tokens)
        if len(wanted) != meant:
            alike = [
                token.content
                for token in self.tokens
                if token.normalized == normalized
                and wanted[self.shown[token.content]] is not token
            ]
            other = wanted[self.shown[alike[0]]].content
            raise TokenizerError(
                f"the added tokens {alike[0]!r} and {other!r} are the same once"
                " normalised, so that a text does not say which is meant (`tokenizers`"
                " takes one of them by chance)"
            )
        longest_first = sorted(wanted, key=len, reverse=True)
        return regex.compile("|".join(map(regex.escape, longest_first))), wanted

    def parts(self, text: str, specials_in_text: bool = True) -> Iterator[TextPart]:
        """The text cut at added tokens; what lies between them is normalised."""
        for start, end, token in _found(self._in_text, text, specials_in_text):
            if token is not None:
                yield text[start:end], range(start, end), token
                continue
            normalized, origins = self._normalizer.aligned(
                text[start:end] if start or end < len(text) else text
            )
            if start:
                origins = (
                    range(start, end)
                    if isinstance(origins, range) and origins == range(end - start)
                    else [start + origin for origin in origins]
                )
            if self._in_normalized is None:
                if normalized:
                    yield normalized, origins, None
                continue
            for first, last, inner in _found(
                self._in_normalized, normalized, specials_in_text
            ):
                yield normalized[first:last], origins[first:last], inner


def _found(
    finder: tuple[regex.Pattern, dict[str, AddedToken]] | None,
    text: str,
    specials_in_text: bool,
) -> Iterator[tuple[int, int, str | None]]:
    """The whole text in stretches, with the token that each is."""
    done = 0
    for match in finder[0].finditer(text) if finder else ():
        token = finder[1][match.group()]
        start, end = match.span()
        if token.special and not specials_in_text:
            continue
        if token.single_word and (
            start and _WORD.match(text, start - 1) or _WORD.match(text, end)
        ):
            continue
        if token.lstrip:
            start = max(len(text[:start].rstrip(WHITE_SPACE)), done)
        if token.rstrip:
            end = len(text) - len(text[end:].lstrip(WHITE_SPACE))
        if done < start:
            yield done, start, None
        if (
            start < end
        ):  # nothing is left of white space that the token before has taken
            yield start, end, token.content
        done = end
    if done < len(text):
        yield done, len(text), None

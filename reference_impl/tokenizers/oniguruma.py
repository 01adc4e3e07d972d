r"""Expressions of tokenizer.json, written for Oniguruma in Ruby's manner, as the
`regex` library understands them.

The two agree on what tokenizers use most: `\p{L}`, classes, look-ahead, possessive
`++`. They differ in places where nothing warns: to Ruby `^` and `$` are ends of lines,
`x{1,3}+` is a repeated `x{1,3}` (elsewhere: a possessive one), `[a[bc]]` is a class of
three letters; and which characters are letters is another table. So an expression is
read sign by sign. What means the same is kept, what can be said otherwise is rewritten
(classes become their characters, see `oniguruma_classes.py`), and all else raises
TokenizerError with the construct.

    compiled(r"\p{N}{1,3}+$").quick     regex.compile(r"(?:(?-i:\p{n}){1,3})+(?m:$)")

But: `\X`, one sign as a reader sees it, is cut by the table of `regex`.
"""

from collections.abc import Iterator

import regex

from reference_impl.tokenizers.oniguruma_classes import CASED, looked_up, members, plain
from reference_impl.tokenizers.vocabulary import TokenizerError

_GROUPS = ("(?:", "(?i:", "(?=", "(?!", "(?<=", "(?<!", "(?>", "(?-i:", "(?i)")
_PROPERTY = regex.compile(r"\\([pP])\{(\^?)([A-Za-z_ -]+)\}")
_CLASS_LETTER = regex.compile(r"\\[wWdD]")
_HEX = regex.compile(
    r"\\(?:x\{([0-9A-Fa-f]{1,6})\}|x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4}))"
)
_POSIX = regex.compile(
    r"\[:(\^?)(alpha|digit|alnum|upper|lower|punct|space|xdigit|cntrl|word|graph):\]"
)
_SHORT = {"w": "word", "d": "nd"}
_TIMES = regex.compile(r"\{(\d+)?(,?)(\d+)?\}")
SAME_ESCAPES = "sSrntfvAX"
"""Letters that mean the same after a backslash. Only the first seven may stand in a
class."""
_BOUNDS = {
    "b": "(?-i:(?<={0})(?!{0})|(?<!{0})(?={0}))",
    "B": "(?-i:(?<={0})(?={0})|(?<!{0})(?!{0}))",
}


class Expression:
    """Finds in a text what an expression takes there.

    `exact` lists the characters of each class. `quick` has the classes of `regex`, and
    is what a text is searched with that holds none of the characters on which the two
    differ.
    """

    def __init__(self, pattern: str):
        quick, exact = (
            _Translation(pattern, quick=True),
            _Translation(pattern, quick=False),
        )
        self.pattern, self.disputed = pattern, frozenset().union(*quick.disputed)
        self.quick, self.exact = (
            regex.compile(quick.result),
            regex.compile(exact.result),
        )

    def _fit(self, text: str) -> regex.Pattern:
        return self.quick if self.disputed.isdisjoint(text) else self.exact

    def findall(self, text: str) -> list[str]:
        """As `regex` gives them."""
        return self._fit(text).findall(text)

    def finditer(self, text: str) -> Iterator[regex.Match]:
        """As `regex` gives them."""
        return self._fit(text).finditer(text)


Finder = regex.Pattern | Expression


def compiled(expression: str) -> Expression:
    """The expression for `regex`.

    TokenizerError if it is none, or may mean something else there.
    """
    try:
        return Expression(expression)
    except regex.error as error:
        raise TokenizerError(
            f"the expression {expression!r} can't be read: {error}"
        ) from None


class _Translation:
    """One pass over an expression.

    `parts` are its atoms with what repeats them; `starts` are where groups began.
    """

    def __init__(self, expression: str, quick: bool):
        self.expression, self.quick, self.place = expression, quick, 0
        self.disputed: list[frozenset[str]] = []
        self.parts: list[str] = []
        self.starts: list[int] = []
        self.ignores_case = [False]
        while self.place < len(expression):
            self._step()
        self.result = "".join(self.parts)

    def _refuse(self, what: str) -> TokenizerError:
        return TokenizerError(
            f"the expression {self.expression!r} holds {what} at character"
            f" {self.place + 1}, which is not known here to mean the same in `regex`"
        )

    def _step(self) -> None:
        sign = self.expression[self.place]
        if sign == "\\":
            self.parts.append(self._escape(in_class=False))
        elif sign == "[":
            self.parts.append(self._class())
        elif sign == "(":
            self._group()
        elif sign == ")":
            if not self.starts:
                raise self._refuse("a ')' without its '('")
            start = self.starts.pop()
            self.ignores_case.pop()
            self.place += 1
            self.parts[start:] = ["".join(self.parts[start:]) + ")"]
        elif sign in "^$":
            self.place += 1
            self.parts.append(f"(?m:{sign})")
        elif sign in "*+?":
            self._repeat(sign)
        elif (
            sign == "{"
            and (match := _TIMES.match(self.expression, self.place))
            and match.group() != "{,}"
        ):
            self._repeat(match.group())
        else:
            self.place += 1
            self.parts.append(
                sign if sign in "|." else regex.escape(sign, special_only=True)
            )

    def _escape(self, in_class: bool) -> str:
        following = self.expression[self.place + 1 : self.place + 2]
        if match := _PROPERTY.match(self.expression, self.place):
            letter, turned, name = match.groups()
            return self._members(
                match, plain(name), (letter == "P") != bool(turned), in_class
            )
        if match := _HEX.match(self.expression, self.place):
            self.place = match.end()
            return regex.escape(chr(int(next(filter(None, match.groups())), 16)))
        if match := _CLASS_LETTER.match(self.expression, self.place):
            return self._members(
                match, _SHORT[following.lower()], following.isupper(), in_class
            )
        self.place += 2
        if following in _BOUNDS and not in_class:
            return _BOUNDS[following].format(self._signs("word", False, in_class=False))
        if not following:
            raise self._refuse("a single '\\'")
        if following == "h":
            return "0-9a-fA-F" if in_class else "[0-9a-fA-F]"
        if following == "z" and not in_class:
            return r"\Z"
        if following in "123456789" and not in_class:
            return f"(?:\\{following})"
        if following.isalnum() and following not in (
            SAME_ESCAPES[:7] if in_class else SAME_ESCAPES
        ):
            raise self._refuse(f"'\\{following}'")
        return "\\" + following

    def _members(
        self, match: regex.Match, name: str, negated: bool, in_class: bool
    ) -> str:
        """A class by its characters.

        Outside brackets the case of letters is of no account to Oniguruma.
        """
        signs = members(name, negated, in_class)
        if signs is None or in_class and self.ignores_case[-1] and name in CASED:
            raise self._refuse(
                repr(match.group())
                + (" in a class that ignores case" if signs is not None else "")
            )
        self.place = match.end()
        signs = self._signs(name, negated, in_class)
        return signs if in_class else f"(?-i:{signs})"

    def _signs(self, name: str, negated: bool, in_class: bool) -> str:
        if (
            self.quick
            and not (in_class and self.ignores_case[-1])
            and (found := looked_up(name, in_class))
        ):
            written, disputed = found
            self.disputed.append(disputed)
            return f"\\{written[0].upper() if negated else written[0]}{written[1:]}"
        signs = members(name, negated, in_class)
        return signs if in_class else f"[{signs}]"

    def _class(self) -> str:
        written = "["
        self.place += 1
        if self.expression[self.place : self.place + 1] == "^":
            written += "^"
            self.place += 1
        first = self.place
        while True:
            rest = self.expression[self.place : self.place + 2]
            if not rest:
                raise self._refuse("a '[' without its ']'")
            if match := _POSIX.match(self.expression, self.place):
                name = (
                    "posixpunct" if match.group(2) == "punct" else plain(match.group(2))
                )
                written += self._members(
                    match, name, bool(match.group(1)), in_class=True
                )
            elif rest == "[:":
                raise self._refuse("'[:' in a class")
            elif rest[0] == "[" and rest != "[^":  # a class in a class adds its signs
                written += self._class()[1:-1]
            elif rest[0] == "[" or rest in ("&&", "--", "||", "~~"):
                raise self._refuse(f"{rest!r} in a class")
            elif rest[0] == "]" and self.place > first:
                break
            elif rest[0] == "]":
                raise self._refuse("an empty class")
            elif rest[0] == "\\":
                written += self._escape(in_class=True)
            else:
                written += rest[0]
                self.place += 1
        self.place += 1
        return written + "]"

    def _group(self) -> None:
        opening = next(
            (
                group
                for group in _GROUPS
                if self.expression.startswith(group, self.place)
            ),
            "(",
        )
        if opening == "(" and self.expression.startswith("(?", self.place):
            raise self._refuse(repr(self.expression[self.place : self.place + 4]))
        if opening == "(?i)" and self.place:
            raise self._refuse("'(?i)' after its beginning")
        self.place += len(opening)
        if opening == "(?i)":
            self.parts.append(opening)
            self.ignores_case[-1] = True
            return
        self.ignores_case.append(
            {"(?i:": True, "(?-i:": False}.get(opening, self.ignores_case[-1])
        )
        self.starts.append(len(self.parts))
        self.parts.append(opening)

    def _repeat(self, times: str) -> None:
        if not self.parts or self.parts[-1] in ("|", *_GROUPS, "("):
            raise self._refuse(f"{times!r} after nothing")
        after = self.expression[self.place + len(times) : self.place + len(times) + 1]
        if times[0] != "{":
            mode = after if after and after in "?+" else ""
            self.parts[-1] += times + mode
        elif after == "?" and "," not in times:
            raise self._refuse(f"{times}?")
        elif after == "+":  # to Ruby this repeats what was repeated
            mode = after
            self.parts[-1] = f"(?:{self.parts[-1]}{times})+"
        else:
            mode = after if after == "?" else ""
            self.parts[-1] += times + mode
        self.place += len(times) + len(mode)
        if self.expression[self.place : self.place + 1] in ("*", "+", "?"):
            raise self._refuse("a repeated repetition")

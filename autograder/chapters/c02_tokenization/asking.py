"""What the checks of this chapter share: questions about pieces of text, words to draw, and what is
withheld.
"""

import torch

from autograder.checks.assertions.values import readable, two_lines
from autograder.checks.inputs.draws import whole
from autograder.checks.protocol import expect

READY = "it is a ready tokenizer"
TOKENIZERS = dict.fromkeys(
    ("tokenizers", "transformers", "tiktoken", "sentencepiece", "reference_impl.tokenizers"), READY
)
SHOWN = 400
# a mark of byte order, spaces at both ends, capitals, two ways to write one letter
AS_IT_IS = "\ufeff Be\u0301\u00e9K "
KEPT = "The text is read as it is: not stripped, not normalized, not lower-cased."


def ask_pieces(came: object, right: list[str], *, cause: str, given: str) -> None:
    """Ask for a list of texts, equal as a whole: the cause is told for a wrong number of pieces
    too.
    """
    pieces = expect(came, given=given).is_a(list)
    for place, piece in enumerate(pieces):
        expect(piece, f"Your result[{place}]").is_a(str)
    ask_same(pieces, right, cause=cause, given=given)


def ask_numbers(
    came: object, right: list[int], *, cause: str, given: str, name: str = "Your result"
) -> None:
    """Ask for a list of whole numbers, equal as a whole."""
    row = expect(came, name, given=given).is_a(list)
    ask_same(
        [expect(number, f"{name}[{place}]").is_a(int) for place, number in enumerate(row)],
        right,
        cause=cause,
        given=given,
    )


def ask_pairs(came: object, right: list[tuple[str, str]], *, cause: str, given: str) -> None:
    """Ask for a list of pairs of texts, equal as a whole."""
    pairs = [
        expect(pair, f"Your result[{place}]").unpacks(2)
        for place, pair in enumerate(expect(came, given=given).is_a(list))
    ]
    for place, pair in enumerate(pairs):
        for part in pair:
            expect(part, f"A part of your result[{place}]").is_a(str)
    ask_same(pairs, right, cause=cause, given=given)


def ask_same(came: list, right: list, *, cause: str, given: str) -> None:
    """Ask for equal lists; the detail begins with the first item that differs."""
    first = next(
        (place for place, (a, b) in enumerate(zip(came, right)) if a != b),
        min(len(came), len(right)),
    )
    items = [readable(one[first]) if first < len(one) else "missing" for one in (came, right)]
    expect(came == right).is_true(
        cause=cause,
        detail=(
            f"Given {given}. Item {first} is {items[0]}, expected {items[1]}.\n"
            f"{two_lines(readable(came, SHOWN), readable(right, SHOWN))}"
        ),
    )


def word_of(rng: torch.Generator, letters: str, shortest: int, longest: int) -> str:
    """A word of random letters."""
    return "".join(
        letters[whole(rng, 0, len(letters) - 1)] for _ in range(whole(rng, shortest, longest))
    )


def shuffled(rng: torch.Generator, letters: str) -> str:
    """The same letters in another order."""
    return "".join(letters[place] for place in torch.randperm(len(letters), generator=rng).tolist())


EACH = (
    "Each call depends on all of its arguments, and on nothing else: keep nothing of an earlier"
    " call, and learn no example by heart."
)
SIGNS_OF_ALL_KINDS = (
    "".join(map(chr, range(128)))
    + "\u2581\u0120\u00b7\u00a6\u2423\ue000\ufffd\uffff\U0001f3e6\U0010ffff"
)

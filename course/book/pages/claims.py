"""Sentences that can fail: what a page concludes from numbers stands beside it as a condition on
those numbers.

    claim("Both curves still rise at the right end", a[-1] > a[-2] and b[-1] > b[-2])

prints nothing and stops the build when the condition no longer holds, with the sentence in the
error. The sentence is a quotation from the page, emphasis and line breaks aside;
`course.book.lint.prose` compares the two, and demands a claim, a computed value or a source for
every figure in the prose.

Claims that study notes repeat and the book judges (the ledger) are boxes with one of four verdicts,
and no claims here.
"""


class ClaimError(AssertionError):
    """A sentence of a page that its own numbers contradict."""


def claim(sentence: str, holds: object) -> None:
    """Nothing if `holds` is true. Raises ClaimError with the sentence if it is false.

    `holds` is one truth value: True or False, or the same from numpy or torch. Anything else raises
    TypeError, so that a forgotten comparison, a list or a text cannot pass for true.
    """
    if not isinstance(sentence, str) or not sentence.strip():
        raise TypeError(f"claim: the sentence is {sentence!r}; quote the page's words")
    value = (
        holds.item()
        if hasattr(holds, "item") and getattr(holds, "size", None) != 0 and _one(holds)
        else holds
    )
    if not isinstance(value, bool):
        raise TypeError(
            f"claim({sentence!r}): the condition is {holds!r}, not one truth value; compare two"
            " numbers, or put all(...) or any(...) round several conditions"
        )
    if not value:
        raise ClaimError(
            f"the page says {sentence!r}, and its numbers say otherwise. "
            "Find out what changed, then mend the code or the sentence."
        )


def _one(value):
    """Does an array or tensor hold a single element?"""
    shape = getattr(value, "shape", ())
    return all(length == 1 for length in shape)

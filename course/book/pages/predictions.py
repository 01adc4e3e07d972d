"""The computed side of a prediction: what a cell shows once the reader has said what it will be.

    revealed("pairs-at-width-one", pairs, "pairs")

as the last value of a cell that stands below a {predict} directive with the same name
(book/_ext/predictions.py). In the book the output of that cell stays behind a curtain until the
reader has answered; in a notebook it is simply shown.
"""

import html

from course.book.pages.claims import ClaimError


class Revealed:
    """A computed answer that displays itself, with its value where the page's script finds it."""

    def __init__(self, name: str, value: float | int | str, unit: str = ""):
        self.name, self.value, self.unit = name, value, unit

    @property
    def text(self) -> str:
        """The value as a reader should see it."""
        shown = (
            self.value
            if isinstance(self.value, str)
            else f"{self.value:,}"
            if isinstance(self.value, int)
            else f"{self.value:,.4g}"
        )
        return f"{shown} {self.unit}".strip()

    def _repr_mimebundle_(self, include=None, exclude=None):
        value = html.escape(str(self.value), quote=True)
        return {
            "text/plain": f"computed: {self.text}",
            "text/html": (
                f'<p class="w2s-revealed" data-w2s-revealed="{html.escape(self.name, quote=True)}" '
                f'data-value="{value}">Computed: <strong>{html.escape(self.text)}</strong></p>'
            ),
        }


def revealed(name: str, value: object, unit: str = "") -> Revealed:
    """The answer to the prediction `name`: a finite number, or the text of one of the options.

    Tensors and numpy numbers with one element are taken as numbers. Raises ClaimError for anything
    else, since the page would compare the reader's answer with nothing.
    """
    value = value.item() if hasattr(value, "item") else value
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not (number and value - value == 0) and not (isinstance(value, str) and value.strip()):
        raise ClaimError(
            f"prediction {name!r}: the answer is {value!r}; give a finite number or the text of an"
            " option"
        )
    return Revealed(name, value, unit)

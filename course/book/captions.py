"""The words of a figure or picture: a caption and what it shows for those who cannot see it."""

import html
import re


class FigureError(Exception):
    """A figure that cannot be made. The message names the figure, what is wrong and the remedy."""


def checked_words(what: str, caption: str, alt: str) -> tuple[str, str]:
    """Both without spaces at their ends. FigureError if one is empty or no text."""
    for label, text in (("caption", caption), ("alt", alt)):
        if not isinstance(text, str) or not text.strip():
            raise FigureError(f"{what}: {label} is {text!r}; say what the reader should see")
    return caption.strip(), alt.strip()


def inline(text: str) -> str:
    """A caption as HTML: `code` and *emphasis*, all else escaped."""
    text = html.escape(text.strip(), quote=False)
    return re.sub(r"\*([^*]+)\*", r"<em>\1</em>", re.sub(r"`([^`]+)`", r"<code>\1</code>", text))

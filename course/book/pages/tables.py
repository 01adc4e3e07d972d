"""Tables of a page, as Markdown that a hidden cell shows.

    table("method | loss", [("greedy", 1.234), ("beam", 1.5)])

A column of numbers is aligned to the right; a float is shown as it is, so round it first.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from IPython.display import Markdown

NUMBER = r"|–|[-−+]?[\d.,]+(?:e[-+]\d+)?(?: ?%| ± [\d.,]+)?"


def table(header: str, rows: Iterable[Sequence[Any]]) -> Markdown:
    """A Markdown table with a header such as `name | size` and one line for each row.

    ValueError where a row has another number of cells than the header.
    """
    names, body = [name.strip() for name in header.split("|")], [list(row) for row in rows]
    for row in body:
        if len(row) != len(names):
            raise ValueError(f"the header has {len(names)} columns, this row has {len(row)}: {row}")
    texts = [[f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row] for row in body]
    columns = list(zip(*texts)) or [()] * len(names)
    marks = ["---:" if column and all(map(_is_number, column)) else "---" for column in columns]
    lines = [names, marks, *texts]
    return Markdown("\n".join("| " + " | ".join(line) + " |" for line in lines))


def _is_number(text: str) -> bool:
    return re.fullmatch(NUMBER, text) is not None

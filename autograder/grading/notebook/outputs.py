"""A notebook's outputs, which grading does not need, cut out of its bytes.

One large plot must not keep an honest notebook from being read. The outputs are found by their
place in the document, before it is measured and parsed, so that the memory which a file needs
does not grow with its plots.
"""

import re
from itertools import islice

MAX_OUTPUT_BYTES = 20_000  # smaller ones stay: a check's output says what was borrowed
# Of JSON only what tells where an output ends. A string without an end reaches to the last byte.
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
_KEY = re.compile(rb'"outputs"\s*:\s*\Z')
LOOKED_BACK = 100  # bytes before a bracket in which its key stands
MAX_TOKENS = 4_000_000  # strings and brackets that are looked at; after them nothing is cut out


def without_outputs(data: bytes) -> bytes:
    """The notebook with `{}` in the place of each large output. Other bytes stay as they are."""
    kept: list[bytes] = []
    depth, copied = 0, 0
    inside = 0  # the depth within a cell's list of outputs; 0 outside of one
    start = 0  # where the output begins that is being read
    for token in islice(_TOKEN.finditer(data), MAX_TOKENS):
        begin, end = token.span()
        kind = token[0] if end - begin == 1 else b""
        if kind in (b"[", b"{"):
            if kind == b"{" and inside and depth == inside:
                start = begin
            depth += 1
            before = max(0, begin - LOOKED_BACK)
            if kind == b"[" and not inside and _KEY.search(data, before, begin):
                inside = depth
        elif kind in (b"]", b"}"):
            depth -= 1
            if inside and depth == inside and kind == b"}" and end - start > MAX_OUTPUT_BYTES:
                kept += [data[copied:start], b"{}"]
                copied = end
            inside = 0 if depth < inside else inside
    return b"".join([*kept, data[copied:]]) if kept else data

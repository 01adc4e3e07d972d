"""A notebook's outputs, which grading does not need, taken out of its bytes before these are measured and parsed.

One large plot must not keep an honest notebook from being read. The outputs are found by their place in the document and cut out
without parsing it, so that the memory which a file needs does not grow with its plots.
"""
import re
from itertools import islice

MAX_OUTPUT_BYTES = 20_000       # smaller ones stay: the line about what was borrowed stands in the output of a check
# Of JSON only what tells where an output ends. A string that never ends reaches to the end of the file.
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
_KEY = re.compile(rb'"outputs"\s*:\s*\Z')
LOOKED_BACK = 100               # bytes before a bracket in which its key stands
MAX_TOKENS = 4_000_000          # strings and brackets that are looked at; behind them nothing is cut out


def without_outputs(data: bytes) -> bytes:
    """The notebook with `{}` in the place of each large output; bytes that are no JSON come back as they are, or nearly."""
    kept: list[bytes] = []
    depth, copied = 0, 0
    inside, start = 0, 0        # the depth within a cell's list of outputs, 0 outside of one; where an output begins
    for token in islice(_TOKEN.finditer(data), MAX_TOKENS):
        kind = token[0] if token.end() - token.start() == 1 else b""
        if kind in (b"[", b"{"):
            if kind == b"{" and inside and depth == inside:
                start = token.start()
            depth += 1
            if kind == b"[" and not inside and _KEY.search(data, max(0, token.start() - LOOKED_BACK), token.start()):
                inside = depth
        elif kind in (b"]", b"}"):
            depth -= 1
            if kind == b"}" and inside and depth == inside and token.end() - start > MAX_OUTPUT_BYTES:
                kept += [data[copied:start], b"{}"]
                copied = token.end()
            inside = 0 if depth < inside else inside
    return b"".join([*kept, data[copied:]]) if kept else data

"""Which products of 32 bits in a compiled kernel may pass 2^31, by intervals: no tensor of 8 GB is
needed to see it.

`too_large` reads Triton's first form of a kernel (TTIR). Every 32-bit number has an interval: a
constant, a range and a program's number have a known one, an argument or a loaded number any, and
sums, quotients, maxima and the like follow. A product whose interval is not inside 32 bits is
reported with its line. Sums are not: an index may come near 2^31.

Taken on trust: rows lie at most LONGEST_STRIDE apart, which `side_by_side` sees to, a grid has 2^24
programs along x (2^31 tokens in tiles of 128) and 65,535 along y and z, which is CUDA's limit.
"""

import re

from reference_impl.kernels.backend import LONGEST_STRIDE

Interval = tuple[int, int]
ANY: Interval = (-(2**31), 2**31 - 1)
ROWS_APART = ("%stride_q", "%stride_k", "%stride_v", "%stride_grad")
GRID = {"x": 2**24 - 2, "y": 65_535, "z": 65_535}
RESULT = re.compile(r"^\s*(%[\w$.-]+) = ([\w.]+)\s*(.*?)(?: loc\(.*)?$")
CONSTANT = re.compile(r"(?:dense<)?(-?\d+)>? : ")


def too_large(ttir: str) -> list[str]:
    """The lines of products in 32 bits that are not known to stay there."""
    known: dict[str, Interval] = dict.fromkeys(ROWS_APART, (0, LONGEST_STRIDE))
    found = []
    for line in ttir.splitlines():
        if not (match := RESULT.match(line)):
            continue
        name, operation, rest = match.groups()
        operands = [known.get(operand, ANY) for operand in re.findall(r"%[\w$.-]+", rest)]
        interval = _interval(operation, rest, operands)
        in_32_bits = re.search(r"(: |x)i32(>|$)", rest) is not None
        if (
            operation == "arith.muli"
            and in_32_bits
            and not (ANY[0] <= interval[0] and interval[1] <= ANY[1])
        ):
            found.append(line.strip())
        known[name] = max(interval[0], ANY[0]), min(interval[1], ANY[1])
    return found


def _interval(operation: str, rest: str, operands: list[Interval]) -> Interval:
    if operation == "arith.constant":
        constant = CONSTANT.match(rest)
        return (int(constant[1]),) * 2 if constant else ANY
    if operation == "tt.make_range":
        return 0, int(re.search(r"end = (\d+)", rest)[1])
    if operation in ("tt.get_program_id", "tt.get_num_programs"):
        return 0, GRID[rest.split()[0]]
    if operation in ("tt.splat", "tt.expand_dims", "tt.broadcast", "arith.extsi", "arith.trunci"):
        return operands[0]
    if len(operands) != 2:
        return ANY
    (a, b), (c, d) = operands
    ends = {
        "arith.addi": (a + c, b + d),
        "arith.subi": (a - d, b - c),
        "arith.maxsi": (max(a, c), max(b, d)),
        "arith.minsi": (min(a, c), min(b, d)),
    }
    if operation in ends:
        return ends[operation]
    if operation == "arith.muli":
        return min(a * c, a * d, b * c, b * d), max(a * c, a * d, b * c, b * d)
    if operation in ("arith.divsi", "arith.remsi") and c == d > 0:
        return (
            (-(-a // c) if a < 0 else a // c, b // c)
            if operation == "arith.divsi"
            else (min(a, 0), d - 1)
        )
    return ANY

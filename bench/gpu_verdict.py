"""What the GPU record decides: which of our kernels layers run in the place of torch's operators.

    python bench/gpu_verdict.py      what `PROVEN` in reference_impl/kernels/selection.py is to be

A kernel is proven if each of its checks is in the record and right, and each of its races against
torch's operator is in the record and was won in every repetition. A record without a check or a
race proves nothing.
"""

import json
from pathlib import Path
from typing import Any

RECORD = Path(__file__).resolve().parent / "results" / "gpu.json"
RIGHT = 0.02  # the largest error over the largest number, in bfloat16
FLASH, RIVAL = "FlashAttention-2 in torch's SDPA", "torch's operators"
EACH_ALONE = "torch's SDPA, one sequence after the other"
CHECKS = {
    "attention": ("flash", "flash "),
    "packed_attention": ("packed", "packed "),
    "rms_norm": ("ladder", "rms_norm"),
    "swiglu": ("ladder", "swiglu"),
}
"""By operation the job of part "checks" that looks, and how the names of its checks begin."""
RACES = {
    "attention": [
        (f"flash {way}, head 128, {length:,} tokens", FLASH)
        for way in ("forward", "backward")
        for length in (4096, 8192, 16384)
    ],
    "packed_attention": [("variable length", EACH_ALONE)],
    "rms_norm": [("RMSNorm forward", RIVAL), ("RMSNorm backward", RIVAL)],
    "swiglu": [("SwiGLU forward", RIVAL), ("SwiGLU backward", RIVAL)],
}


def proven(record: dict[str, Any]) -> frozenset[str]:
    """The operations that this record shows right and faster."""
    ratios = {(row["name"], row["rival"]): row["min"] for row in record.get("rows", ())}
    failed = {
        problem["name"] for problem in record.get("errors", ()) if problem["part"] == "checks"
    }

    def right(job: str, start: str) -> bool:
        found = [
            error for name, error in record.get("checks", {}).items() if name.startswith(start)
        ]
        return (
            bool(found)
            and all(error < RIGHT for error in found)
            and not any(name == job or name.startswith(start) for name in failed)
        )

    return frozenset(
        operation
        for operation, races in RACES.items()
        if right(*CHECKS[operation]) and all((ratios.get(race) or 0) > 1 for race in races)
    )


def committed() -> frozenset[str]:
    """Of the record in bench/results, nothing if there is none."""
    return (
        proven(json.loads(RECORD.read_text(encoding="utf-8"))) if RECORD.exists() else frozenset()
    )


if __name__ == "__main__":
    print(
        f"PROVEN: frozenset[str] = frozenset({sorted(committed())})"
        if committed()
        else "frozenset()"
    )

"""What scripture costs in the hands of compressors: the held-out text alone, and after the text
that the GPT was trained on.

    python bench/by_compressors.py        half a minute on one core

A compressor of Python's library gets the same bytes as the models of `trained/gpt.py`. `alone` is
what the held-out text shrinks to by itself. `after` is what it adds to the training text: both are
compressed together, and less the training text's own size. That is fair to xz, whose window of 64
MB holds everything; zlib looks back 32 KiB and bz2 900 kB, so they know little of it. A model's
weights, or the text it was trained on, are in none of these numbers, as the models' bits a byte
count none either.
"""

import bz2
import lzma
import time
import zlib

from record import save
from trained.texts import scripture, split

COMPRESSORS = {
    "xz": lambda data: lzma.compress(data, preset=9 | lzma.PRESET_EXTREME),
    "bz2": lambda data: bz2.compress(data, 9),
    "zlib": lambda data: zlib.compress(data, 9),
}


def main() -> None:
    """Compress, write bench/results/by_compressors.json."""
    started = time.process_time()
    known, held = (part.encode() for part in split(scripture()))
    found = {}
    for name, compressed in COMPRESSORS.items():
        sizes = {
            "alone": len(compressed(held)),
            "known": len(compressed(known)),
            "both": len(compressed(known + held)),
        }
        found[name] = {
            **sizes,
            "bits_per_byte": {
                "alone": round(8 * sizes["alone"] / len(held), 4),
                "after": round(8 * (sizes["both"] - sizes["known"]) / len(held), 4),
            },
        }
        print(name, found[name], flush=True)
    save(
        "by_compressors",
        versions=(),
        bytes={"known": len(known), "held_out": len(held)},
        found=found,
        cpu_seconds=round(time.process_time() - started),
    )


if __name__ == "__main__":
    main()

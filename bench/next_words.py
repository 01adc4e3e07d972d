"""What a real model says next, where study notes made up a table: SmolLM2 after a few beginnings.

    python bench/next_words.py        half a minute on one core

For each beginning the likeliest next tokens with their probabilities, the word of the notes, and
what greedy decoding and three draws go on with; for one, counts of which words follow "city in" in
the glosses of WordNet, as a 3-gram has them.
"""

import argparse
import os
import re
import sys
import time
from collections import Counter
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path.insert(0, str(Path(__file__).resolve().parent))

import torch  # noqa: E402  (threads are set before torch starts)
from record import save  # noqa: E402

from reference_impl import corpora  # noqa: E402
from reference_impl.engine.loading import load  # noqa: E402
from reference_impl.generation.loop import generate  # noqa: E402
from reference_impl.generation.sampling_params import SamplingParams  # noqa: E402

BEGINNINGS = {
    "Shanghai is a city in": " China",
    "The future of AI is": " promising",
    "Artificial intelligence is": " learning",
    "We sat on the bank of the": " river",
    "def area_of_circle(radius):\n    return": " math",
}
NEW, SHOWN = 16, 6


def main() -> None:
    """Ask, count, write bench/results/next_words.json."""
    argparse.ArgumentParser(description=__doc__.split("\n", 1)[0]).parse_args()
    torch.set_num_threads(1)
    loaded, started = load(), time.process_time()
    tokenizer, found = loaded.tokenizer, {}
    for text, word in BEGINNINGS.items():
        ids = tokenizer.encode(text).ids
        with torch.inference_mode():
            shares = loaded.model(torch.tensor([ids]))[0, -1].float().softmax(-1)
        top = shares.topk(SHOWN)
        wanted = tokenizer.encode(text + word).ids[len(ids)]
        params = [SamplingParams(temperature=0.0, max_tokens=NEW)] + [
            SamplingParams(seed=seed, max_tokens=NEW) for seed in range(3)
        ]
        said = [
            tokenizer.decode(one.ids)
            for one in generate(loaded.model, [ids] * 4, params, eos_ids=loaded.eos_ids)
        ]
        found[text] = {
            "tokens": [tokenizer.decode([token]) for token in ids],
            "vocabulary": len(shares),
            "top": [
                [tokenizer.decode([token]), round(share, 4)]
                for share, token in zip(top.values.tolist(), top.indices.tolist(), strict=True)
            ],
            "notes": [
                word,
                tokenizer.decode([wanted]),
                round(float(shares[wanted]), 5),
                int((shares > shares[wanted]).sum()) + 1,
            ],
            "greedy": said[0],
            "drawn": said[1:],
        }
        print(text, found[text]["top"][:3], found[text]["notes"], repr(said[0]), flush=True)
    counts: Counter[str] = Counter()
    for gloss in corpora.load("oewn_glosses"):
        words = re.findall(r"[a-z]+", gloss.lower())
        counts.update(
            after
            for one, other, after in zip(words, words[1:], words[2:], strict=False)
            if (one, other) == ("city", "in")
        )
    save(
        "next_words",
        versions=("torch",),
        cpu_seconds=round(time.process_time() - started),
        model=loaded.name,
        beginnings=found,
        counted={
            "after": "city in",
            "places": counts.total(),
            "top": counts.most_common(SHOWN),
            "china": counts["china"],
        },
    )


if __name__ == "__main__":
    main()

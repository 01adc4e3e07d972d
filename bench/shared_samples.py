"""What sharing a prompt's blocks does to throughput: four samples a prompt, forked or asked for
apart, in equal memory; steps are counted.

    python bench/shared_samples.py        a quarter of a minute on one core

Forty prompts from held-out scripture, cut to a number of tokens, four continuations of 32 tokens
each, by the small GPT. The cache has 64 blocks of 16 and no prefix cache. Forked: one request with
n = 4. Apart: four requests with n = 1. All say equally many tokens, so that steps compare. Beside
steps: tokens read, mean number of texts at once, preemptions.
"""

import os
import sys
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path.insert(0, str(Path(__file__).resolve().parent / "trained"))

import torch  # noqa: E402  (threads are set before torch starts)
from record import save  # noqa: E402
from texts import scripture, split  # noqa: E402

from reference_impl.corpora.small_models import small_model  # noqa: E402
from reference_impl.engine.engine import Engine, EngineConfig  # noqa: E402
from reference_impl.engine.scheduler import SchedulerConfig  # noqa: E402
from reference_impl.generation.sampling_params import SamplingParams  # noqa: E402

PROMPTS, SAMPLES, NEW, LENGTHS, BLOCKS, SIZE = 40, 4, 32, (8, 24, 48, 64, 96), 64, 16


def served(model, prompts: list[list[int]], forked: bool) -> dict:
    """Serve all prompts' samples; what it took."""
    limits = SchedulerConfig(max_num_seqs=64, max_num_batched_tokens=512, max_model_len=128)
    engine = Engine(model, EngineConfig(BLOCKS, SIZE, prefix_caching=False, scheduler=limits))
    for prompt in prompts:
        for _ in range(1 if forked else SAMPLES):
            engine.add_request(
                prompt,
                SamplingParams(max_tokens=NEW, ignore_eos=True, n=SAMPLES if forked else 1, seed=0),
            )
    while engine.has_work:
        engine.step()
    rows = engine.trace.rows
    return {
        "steps": len(rows),
        "tokens_read": sum(row["num_tokens"] for row in rows),
        "preemptions": engine.num_preemptions,
        "mean_at_once": round(sum(len(row["scheduled"]) for row in rows) / len(rows), 2),
    }


def main() -> None:
    """Count, and write bench/results/shared_samples.json."""
    torch.set_num_threads(1)
    kept = small_model("gpt_kjv")
    ids, found = kept.tokenizer.encode(split(scripture())[1]), []
    for length in LENGTHS:
        prompts = [ids[start : start + length] for start in range(0, 500 * PROMPTS, 500)]
        found.append(
            {
                "prompt": length,
                "forked": served(kept.model, prompts, True),
                "apart": served(kept.model, prompts, False),
            }
        )
        print(found[-1], flush=True)
    save(
        "shared_samples",
        versions=("torch",),
        seed=0,
        prompts=PROMPTS,
        samples=SAMPLES,
        new=NEW,
        blocks=BLOCKS,
        block_size=SIZE,
        counted=found,
    )


if __name__ == "__main__":
    main()

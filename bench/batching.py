"""Static batches against continuous ones, reserved memory against blocks: the same model, memory
and answers; steps are counted.

    python bench/batching.py        about two minutes on one core

The small GPT goes on from 160 beginnings of held-out verses, drawn at temperature 1 with a seed for
each request, to the end of the verse or its limit of 128 tokens. The cache has 1,024 places,
whatever their form. A block of 128 holds one whole request: that is contiguous reservation, and
eight fit. Smaller blocks are taken as they are needed. Each way must give the same answers.

A static batch: eight requests are added, and the next eight when all of these are done. The engine
is the same.

Beside steps: tokens that the model read (more than there are, where a sequence was preempted and
computed again), how many ran at once, preemptions, processor seconds (the median of three runs;
others may be busy on this machine). Then what a step costs by how many decode in it.
"""

import os
import random
import statistics
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path[:0] = [
    str(Path(__file__).resolve().parent / "trained"),
    str(Path(__file__).resolve().parent),
]

import torch  # noqa: E402  (threads are set before torch starts)
from engine import steps as count_steps  # noqa: E402
from record import save  # noqa: E402
from strategies import verses  # noqa: E402

from reference_impl.corpora.small_models import small_model  # noqa: E402
from reference_impl.engine.engine import Engine, EngineConfig  # noqa: E402
from reference_impl.engine.scheduler import SchedulerConfig  # noqa: E402
from reference_impl.generation.sampling_params import SamplingParams  # noqa: E402
from reference_impl.models.gpt import GPT  # noqa: E402

REQUESTS, GIVEN, LIMIT, PLACES, BUDGET, RUNS = 160, 8, 128, 1024, 512, 3
BATCH = PLACES // LIMIT  # whole requests that fit
SIZES = (1, 2, 4, 8, 16, 32, 64)


def served(
    model: GPT,
    prompts: list[list[int]],
    end_id: int,
    block_size: int,
    together: int | None = None,
    max_num_seqs: int = 64,
    num_host_blocks: int = 0,
) -> tuple[dict, list[list[int]]]:
    """Serve all: what it took, and the answers.

    `together`: so many are added at a time, and wait for each other.
    """
    limits = SchedulerConfig(
        max_num_seqs=max_num_seqs,
        max_num_batched_tokens=BUDGET,
        max_model_len=LIMIT,
        num_host_blocks=num_host_blocks,
    )
    engine = Engine(
        model,
        EngineConfig(PLACES // block_size, block_size, prefix_caching=False, scheduler=limits),
        eos_ids=(end_id,),
    )
    said: list[list[int]] = [[] for _ in prompts]
    started, size = time.process_time(), together or len(prompts)
    for first in range(0, len(prompts), size):
        for number, prompt in enumerate(prompts[first : first + size], first):
            engine.add_request(
                prompt, SamplingParams(max_tokens=LIMIT - len(prompt), seed=number), str(number)
            )
        while engine.has_work:
            for output in engine.step():
                said[int(output.request_id)] += [token.id for token in output.tokens]
    seconds, rows = time.process_time() - started, engine.trace.rows
    held, empty = (sum(row[key] for row in rows) for key in ("held_slots", "wasted_slots"))
    return {
        "steps": len(rows),
        "tokens_read": sum(row["num_tokens"] for row in rows),
        "most_at_once": max(len(row["scheduled"]) for row in rows),
        "mean_at_once": round(sum(len(row["scheduled"]) for row in rows) / len(rows), 2),
        "preemptions": engine.num_preemptions,
        "empty_share": round(empty / held, 4),
        "seconds": seconds,
    }, said


def step_costs(model: GPT, prompts: list[list[int]]) -> list[dict]:
    """Milliseconds of a step in which so many decode, the median of fifty, and the tokens a second
    that makes.
    """
    found = []
    for size in SIZES:
        limits = SchedulerConfig(max_num_seqs=64, max_num_batched_tokens=2048, max_model_len=LIMIT)
        engine = Engine(
            model, EngineConfig(64 * LIMIT // 16, 16, prefix_caching=False, scheduler=limits)
        )
        for prompt in prompts[:size]:
            engine.add_request(
                prompt, SamplingParams(temperature=0, max_tokens=60, ignore_eos=True)
            )
        engine.step()
        times = []
        for _ in range(50):
            started = time.process_time()
            engine.step()
            times.append(1000 * (time.process_time() - started))
        middle = statistics.median(times)
        found.append(
            {
                "sequences": size,
                "ms": round(middle, 2),
                "tokens_per_second": round(1000 * size / middle),
            }
        )
    return found


def orders(lengths: list[int]) -> dict[str, dict]:
    """Steps in other orders: sorted by length, which nobody knows beforehand; shuffled; and one of
    the longest in each batch.
    """
    rising = sorted(lengths)
    longest, rest = rising[-len(rising) // BATCH :], rising[: -len(rising) // BATCH]
    unlucky = [
        one
        for number, long in enumerate(longest)
        for one in [long, *rest[number * (BATCH - 1) : (number + 1) * (BATCH - 1)]]
    ]
    draw, shuffled = random.Random(0), []
    for _ in range(200):
        one = list(lengths)
        draw.shuffle(one)
        shuffled.append(count_steps([([], n) for n in one], BATCH)["ratio"])
    as_steps = {
        name: count_steps([([], n) for n in order], BATCH)
        for name, order in (
            ("as they came", lengths),
            ("shortest first", rising),
            ("longest first", rising[::-1]),
            ("a long one in each batch", unlucky),
        )
    }
    shuffled.sort()
    return {
        "orders": as_steps,
        "shuffled_ratio": {
            "draws": 200,
            "low": shuffled[5],
            "median": statistics.median(shuffled),
            "high": shuffled[-6],
        },
    }


def main() -> None:
    """Serve in each way, compare the answers, write bench/results/batching.json."""
    torch.set_num_threads(1)
    kept = small_model("gpt_kjv")
    model, tokenizer = kept.model, kept.tokenizer
    end_id = tokenizer.encode("\n")[0]
    prompts = [prompt for prompt, _ in verses(tokenizer, REQUESTS, GIVEN)]
    ways = {
        "one at a time": {"block_size": 16, "together": 1},
        "static batches, a block of 128": {"block_size": LIMIT, "together": BATCH},
        "continuous, blocks of 128": {"block_size": LIMIT},
        "continuous, blocks of 64": {"block_size": 64},
        "continuous, blocks of 16": {"block_size": 16},
        "continuous, blocks of 4": {"block_size": 4},
        "continuous, blocks of 16, swapped": {"block_size": 16, "num_host_blocks": PLACES // 16},
        "continuous, blocks of 16, at most 24": {"block_size": 16, "max_num_seqs": 24},
    }
    found, answers = {}, None
    for name, options in ways.items():
        for _ in range(RUNS):
            row, said = served(model, prompts, end_id, **options)
            answers = answers or said
            if said != answers:
                raise SystemExit(f"{name}: other answers")
            found.setdefault(name, []).append(row)
        print(name, found[name][-1], flush=True)
    lengths, tokens = [len(one) for one in answers], sum(len(one) for one in answers)
    for name, rows in found.items():
        seconds = statistics.median(row["seconds"] for row in rows)
        found[name] = {
            **rows[0],
            "seconds": round(seconds, 3),
            "tokens_per_second": round(tokens / seconds),
        }
    costs = step_costs(model, prompts)
    print(costs, orders(lengths), sep="\n")
    save(
        "batching",
        versions=("torch",),
        seed=0,
        requests=REQUESTS,
        places=PLACES,
        limit=LIMIT,
        batch=BATCH,
        prompt_tokens=sum(map(len, prompts)),
        answer_tokens=tokens,
        lengths=lengths,
        ended=sum(one[-1] == end_id for one in answers),
        runs=RUNS,
        ways=found,
        step_costs=costs,
        **orders(lengths),
    )


if __name__ == "__main__":
    main()

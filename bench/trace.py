"""One small run of the engine as a timeline: a chunked prompt, a shared beginning, a preemption.

    python bench/trace.py

Sixty tokens fit into the cache, in blocks of four, and a step reads at most eight. What each
request says is compared with what it says alone. The record, bench/results/trace.json, has the
requests, the drawing and a row for each step (see `engine.trace`), for pages and figures.
"""

import torch
from record import save

from reference_impl.engine.engine import Engine, EngineConfig
from reference_impl.engine.scheduler import SchedulerConfig
from reference_impl.generation.sampling_params import SamplingParams
from reference_impl.models.llama import Llama, LlamaConfig

TINY = LlamaConfig(
    97, 32, 40, num_layers=2, num_heads=4, num_kv_heads=2, max_position_embeddings=64
)
SYSTEM = list(range(20, 28))
REQUESTS = [  # id, the step before which it comes, prompt, tokens to say
    ("first", 0, [*SYSTEM, 1, 2, 3], 12),
    ("long", 1, list(range(40, 66)), 6),
    ("same-start", 3, [*SYSTEM, 7, 8], 10),
    ("short", 5, [9, 8, 7], 5),
]
LIMITS = {"num_blocks": 15, "block_size": 4, "max_num_seqs": 4, "max_num_batched_tokens": 8}


def run(
    model: Llama, requests: list[tuple[str, int, list[int], int]]
) -> tuple[Engine, dict[str, list[int]]]:
    """Serve these, each from its step on; the engine with its trace, and what each request was
    answered.
    """
    limits = SchedulerConfig(
        max_num_seqs=LIMITS["max_num_seqs"],
        max_model_len=48,
        max_num_batched_tokens=LIMITS["max_num_batched_tokens"],
    )
    engine = Engine(
        model, EngineConfig(LIMITS["num_blocks"], LIMITS["block_size"], scheduler=limits)
    )
    said: dict[str, list[int]] = {name: [] for name, *_ in requests}
    while engine.has_work or engine.trace.num_steps == 0:
        for name, arrival, prompt, count in requests:
            if arrival == engine.trace.num_steps:
                engine.add_request(
                    prompt, SamplingParams(temperature=0, max_tokens=count, ignore_eos=True), name
                )
        for output in engine.step():
            said[output.request_id] += [token.id for token in output.tokens]
    return engine, said


def events(row: dict) -> str:
    """What happened in a step besides computing, in words."""
    words = [
        f"{item['id']} begins"
        + (
            f", {item['num_cached_tokens']} tokens found in the cache"
            if item["num_cached_tokens"]
            else ""
        )
        for item in row["admitted"]
    ]
    words += [f"{name} gives up its blocks" for name in row["preempted"]]
    return "; ".join(words + [f"{name} is done" for name in row["finished"]])


def main() -> None:
    """Run, draw, and write bench/results/trace.json."""
    torch.manual_seed(0)
    model = Llama(TINY)
    engine, said = run(model, REQUESTS)
    for name, _, prompt, count in REQUESTS:
        if run(model, [(name, 0, prompt, count)])[1][name] != said[name]:
            raise SystemExit(f"{name} says something else alone")
    drawing = engine.trace.draw()
    print(drawing, "\nstep  tokens  slots held  empty  free blocks", sep="\n")
    for row in engine.trace.rows:
        print(
            f"{row['step']:4}  {row['num_tokens']:6}  {row['held_slots']:10} "
            f" {row['wasted_slots']:5}  {row['num_free_blocks']:11}  {events(row)}".rstrip()
        )
    save(
        "trace",
        versions=("torch",),
        limits=LIMITS,
        drawing=drawing.splitlines(),
        steps=list(engine.trace.rows),
        requests=[
            {
                "id": name,
                "arrival": arrival,
                "prompt": prompt,
                "max_tokens": count,
                "answer": said[name],
            }
            for name, arrival, prompt, count in REQUESTS
        ],
    )


if __name__ == "__main__":
    main()

"""One small load on the engine, recorded as `course serve --trace` records a server's.

    python bench/served_load.py

Ten requests in blocks of four tokens, four batch slots and twelve tokens per step: three of them
begin with the same twelve tokens, and one prompt takes three steps. The record,
bench/results/served_load.json, has the lines of that file, for the figure on the book's page.
"""

import torch
from record import save

from reference_impl.engine.engine import Engine, EngineConfig
from reference_impl.engine.scheduler import SchedulerConfig
from reference_impl.engine.step_records import StepRecorder
from reference_impl.generation.sampling_params import SamplingParams
from reference_impl.models.llama import Llama, LlamaConfig

TINY = LlamaConfig(
    97, 32, 40, num_layers=1, num_heads=4, num_kv_heads=2, max_position_embeddings=64
)
SYSTEM = list(range(20, 32))
BUDGETS = (6, 8, 12, 24)
REQUESTS = [  # the step before which it comes, prompt, tokens of the answer
    (0, [*SYSTEM, 1, 2], 8),
    (0, [3, 4, 5], 6),
    (1, list(range(40, 70)), 5),
    (2, [6, 7, 8, 9, 10], 9),
    (3, list(range(50, 72)), 4),
    (4, [*SYSTEM, 3, 4], 5),
    (5, [11, 12], 4),
    (6, [*SYSTEM, 5], 6),
    (6, list(range(70, 88)), 3),
    (9, [13, 14, 15, 16], 5),
]


def serve(
    requests: list[tuple[int, list[int], int]], limits: EngineConfig
) -> tuple[Engine, StepRecorder]:
    """Serve these, each from its step on; the engine, and the recorder of its steps."""
    torch.manual_seed(0)
    engine = Engine(Llama(TINY), limits)
    recorder, clock, left = StepRecorder(engine), 0, list(requests)
    while left or engine.has_work:
        while left and left[0][0] <= clock:
            _, prompt, count = left.pop(0)
            engine.add_request(
                prompt, SamplingParams(temperature=0, max_tokens=count, ignore_eos=True)
            )
        if engine.has_work:
            recorder.after_step(engine, engine.step())
        clock += 1
    return engine, recorder


def config(policy: str = "fcfs", budget: int = 12) -> EngineConfig:
    """Four batch slots and twenty blocks of four tokens."""
    limits = SchedulerConfig(
        max_num_seqs=4, max_num_batched_tokens=budget, max_model_len=48, policy=policy
    )
    return EngineConfig(20, 4, scheduler=limits)


def waits(recorder: StepRecorder) -> dict[str, float]:
    """Steps of the run, and the mean and the most from a request's arrival to its first token."""
    lines = list(recorder.lines())
    read, first = {}, {}
    left = {line["id"]: line for line in lines if line["kind"] == "request"}
    steps = [line for line in lines if line["kind"] == "step"]
    for step in steps:
        read |= dict.fromkeys(step["preempted"], 0) | dict(step["cached"])
        for name, count, *_ in step["tokens"]:
            read[name] += count
            if read[name] == left[name]["prompt"]:
                first.setdefault(name, step["step"] + 1 - left[name]["arrived"])
    mean = round(sum(first.values()) / len(first), 2)
    return {"steps": len(steps), "mean": mean, "most": max(first.values())}


def main() -> None:
    """Serve the load under each policy and budget, and write bench/results/served_load.json."""
    _, recorder = serve(REQUESTS, config())
    lines = [{k: v for k, v in line.items() if k != "at"} for line in recorder.lines()]
    runs = {
        f"{policy} {budget}": waits(serve(REQUESTS, config(policy, budget))[1])
        for policy in ("fcfs", "sjf", "lpm")
        for budget in BUDGETS
    }
    save("served_load", versions=("torch",), lines=lines, runs=runs)


if __name__ == "__main__":
    main()

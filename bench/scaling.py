"""How the cost of a step grows, measured on our engine, fitted, and carried on paper to a node of
eight GPUs.

    python bench/scaling.py [--rounds 5] [--plot-only]

A small LLaMA of 4 layers x 256 in fp32 on one thread. A step's time is the thread's own, so that
waiting for a core which others hold does not count, and the least of all repetitions, which take
turns over the whole grid. Fitted by least squares of relative errors, and tried on points that were
kept out of the fit. Memory is counted, not timed. The node of eight GPUs comes from `node.py`.
"""

import argparse
import json
import os
import time
from dataclasses import replace

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import matplotlib  # noqa: E402  (threads are set before torch starts)
import numpy as np  # noqa: E402
import torch  # noqa: E402
from node import ASSUMPTIONS, PUBLISHED, calibrate, node  # noqa: E402
from record import RESULTS, save  # noqa: E402

from reference_impl.engine.engine import Engine, EngineConfig  # noqa: E402
from reference_impl.engine.scheduler import SchedulerConfig  # noqa: E402
from reference_impl.generation.sampling_params import SamplingParams  # noqa: E402
from reference_impl.measure.roofline import (
    Chunk,
    Machine,
    attention_work,
    step_memory,
    step_time,
)  # noqa: E402
from reference_impl.models.llama import Llama, LlamaConfig  # noqa: E402

matplotlib.use("Agg")
SMALL = LlamaConfig(
    4096, 256, 688, num_layers=4, num_heads=8, num_kv_heads=4, max_position_embeddings=2048
)
BATCHES, CONTEXTS, WAITING = (1, 4, 16, 32), (64, 256, 512), (0, 64, 256, 1024, 4096)
PIECES, PROMPT = (32, 128, 512), 1536
HELD_OUT = ((2, 1024), (8, 384), (12, 700), (24, 128))
STEPS_A_ROUND = 5


def engine_for(model: Llama, max_num_seqs: int, context: int, budget: int = 512) -> Engine:
    """With blocks for sequences of this length and a little more; without a prefix cache, so none
    are shared.
    """
    limits = SchedulerConfig(
        max_num_seqs=max_num_seqs, max_num_batched_tokens=budget, max_model_len=2048
    )
    num_blocks = max_num_seqs * (context + 128) // 16 + 32
    return Engine(
        model, EngineConfig(num_blocks=num_blocks, prefix_caching=False, scheduler=limits)
    )


def add(engine: Engine, count: int, num_tokens: int, max_tokens: int = 120) -> None:
    """Queue requests with prompts of this length."""
    for i in range(count):
        engine.add_request(
            [(31 * i + j) % 4000 for j in range(num_tokens)],
            SamplingParams(temperature=0, max_tokens=max_tokens, ignore_eos=True),
        )


def decoding(model: Llama, batch: int, context: int) -> Engine:
    """An engine in which this many sequences are past prompts of this length."""
    engine = engine_for(model, batch, context)
    add(engine, batch, context)
    while engine.scheduler.waiting or any(s.num_uncomputed > 1 for s in engine.scheduler.running):
        engine.step()
    return engine


def timed_step(engine: Engine) -> tuple[float, list[Chunk]]:
    """Seconds of one step, and what was in it."""
    before = {
        s.id: s.num_computed_tokens for s in [*engine.scheduler.running, *engine.scheduler.waiting]
    }
    started = time.thread_time()
    outputs = engine.step()
    seconds = time.thread_time() - started
    said = {f"{output.request_id}/{output.index}" for output in outputs}
    return seconds, [
        Chunk(item["num_tokens"], before[item["id"]] + item["num_tokens"], item["id"] in said)
        for item in engine.trace.last["scheduled"]
    ]


def grow_batch_and_context(model: Llama, grid: list[tuple[int, int]], rounds: int) -> list[dict]:
    """Decode steps: the least time of each point, the cache that the engine holds, and the
    formula's number for it.
    """
    engines = {point: decoding(model, *point) for point in grid}
    best: dict[tuple[int, int], tuple[float, list[Chunk]]] = {}
    for _ in range(rounds):
        for point, engine in engines.items():
            found = min(
                (timed_step(engine) for _ in range(STEPS_A_ROUND)), key=lambda pair: pair[0]
            )
            best[point] = min(best.get(point, found), found, key=lambda pair: pair[0])
    rows = []
    for (batch, context), (seconds, chunks) in best.items():
        engine = engines[batch, context]
        now = [Chunk(1, sequence.num_computed_tokens) for sequence in engine.scheduler.running]
        held = engine.trace.last["held_slots"] // 16 * engine.runner.cache.bytes_per_block
        rows.append(
            {
                **row_of(seconds, chunks),
                "batch": batch,
                "context": context,
                "kv_tokens": sum(chunk.context for chunk in now),
                "kv_held_bytes": held,
                "kv_held_formula": step_memory(SMALL, now, torch.float32).kv_cache,
            }
        )
    return rows


def row_of(seconds: float, chunks: list[Chunk]) -> dict:
    """What the fit sees of a step."""
    attention = attention_work(SMALL, chunks, torch.float32)
    return {
        "ms": round(1000 * seconds, 3),
        "num_tokens": sum(chunk.num_tokens for chunk in chunks),
        "num_sequences": len(chunks),
        "kv_bytes": attention.bytes,
        "attention_flops": attention.flops,
    }


def read_prompts(model: Llama, rounds: int) -> list[dict]:
    """Steps that read a piece of one prompt, by the size of the piece and what came before it."""
    best: dict[tuple[int, int], dict] = {}
    for _ in range(rounds):
        for piece in PIECES:
            engine = engine_for(model, 1, PROMPT, piece)
            add(engine, 1, PROMPT, 1)
            while engine.has_work:
                seconds, chunks = timed_step(engine)
                if chunks[0].context % 512 == 0:
                    row = {**row_of(seconds, chunks), "piece": piece, "context": chunks[0].context}
                    key = piece, chunks[0].context
                    best[key] = min(best.get(key, row), row, key=lambda row: row["ms"])
    return list(best.values())


def mixed(model: Llama, rounds: int) -> list[dict]:
    """Steps in which some decode while one reads a piece of its prompt; kept out of the fit."""
    best: dict[int, dict] = {}
    for _ in range(rounds):
        for batch, piece in ((4, 60), (8, 248)):
            engine = decoding(model, batch, 256)
            engine.scheduler.config = replace(
                engine.scheduler.config, max_num_seqs=16, max_num_batched_tokens=batch + piece
            )
            add(engine, 1, piece)
            row = {**row_of(*timed_step(engine)), "batch": batch, "piece": piece}
            best[batch] = min(best.get(batch, row), row, key=lambda row: row["ms"])
    return list(best.values())


def wait(model: Llama, rounds: int) -> list[dict]:
    """Eight decode while so many wait behind them."""
    engines = {}
    for count in WAITING:
        engines[count] = decoding(model, 8, 64)
        add(engines[count], count, 8, 8)
    best = dict.fromkeys(WAITING, float("inf"))
    for _ in range(2 * rounds):
        for count, engine in engines.items():
            best[count] = min(best[count], *(timed_step(engine)[0] for _ in range(STEPS_A_ROUND)))
    return [
        {
            "waiting": count,
            "ms": round(1000 * seconds, 3),
            "held_slots": engines[count].trace.last["held_slots"],
        }
        for count, seconds in best.items()
    ]


def fit(rows: list[dict], names: tuple[str, ...], target: str = "ms") -> dict[str, float]:
    """Least squares of relative errors: a constant and one factor for each name."""
    times = np.array([row[target] for row in rows])
    table = np.array([[1.0, *(row[name] for name in names)] for row in rows])
    factors, *_ = np.linalg.lstsq(table / times[:, None], np.ones(len(rows)), rcond=None)
    return dict(zip(("constant", *names), factors.tolist(), strict=True))


def predict(model: dict[str, float], row: dict) -> float:
    """The fitted time of a step."""
    return sum(
        factor * (1.0 if name == "constant" else row[name]) for name, factor in model.items()
    )


def quality(model: dict[str, float], rows: list[dict], target: str = "ms") -> dict:
    """R squared, and predicted over measured minus one for each row."""
    times, guesses = (
        np.array([row[target] for row in rows]),
        np.array([predict(model, row) for row in rows]),
    )
    errors = guesses / times - 1
    return {
        "r_squared": round(
            1 - ((times - guesses) ** 2).sum() / ((times - times.mean()) ** 2).sum(), 4
        ),
        "relative_errors": [round(error, 3) for error in errors.tolist()],
        "largest_error": round(float(np.abs(errors).max()), 3),
    }


def this_machine(rounds: int) -> Machine:
    """What one thread here reaches on a product of two matrices, and of a matrix and a vector: the
    best of all.
    """
    square, matrix, vector = torch.ones(512, 512), torch.ones(10_000, 4000), torch.ones(4000)

    def least(run) -> float:
        def once() -> float:
            started = time.thread_time()
            run()
            return time.thread_time() - started

        return min(once() for _ in range(5 * rounds))

    return Machine(
        "one thread of this machine, measured",
        2 * 512**3 / least(lambda: square @ square),
        matrix.nbytes / least(lambda: matrix @ vector),
        0.0,
    )


def plot(record: dict) -> None:
    """Six panels into bench/results/scaling.svg: points are measured or published, lines are the
    models.
    """
    from matplotlib import pyplot as plt

    plt.rcParams.update(
        {
            "svg.hashsalt": "scaling",
            "svg.fonttype": "none",
            "font.size": 8,
            "axes.spines.top": False,
            "axes.spines.right": False,
        }
    )
    figure, ((batch, context, piece), (waiting, memory, gpus)) = plt.subplots(
        2, 3, figsize=(10.5, 6)
    )
    decode, model = record["decode"], record["fits"]["decode"]["model"]
    for axis, name, other in ((batch, "batch", "context"), (context, "context", "batch")):
        for i, value in enumerate(sorted({row[other] for row in decode})):
            rows = sorted((row for row in decode if row[other] == value), key=lambda row: row[name])
            x = [row[name] for row in rows]
            axis.plot(x, [row["ms"] for row in rows], "o", color=f"C{i}", label=f"{other} {value}")
            axis.plot(x, [predict(model, row) for row in rows], color=f"C{i}")
        axis.set(
            xlabel=f"{'sequences' if name == 'batch' else 'tokens of context'}",
            ylabel="ms a decode step",
            ylim=0,
        )
        axis.legend(frameon=False)
    for i, size in enumerate(PIECES):
        rows = [row for row in record["prefill"] if row["piece"] == size]
        piece.plot(
            [row["context"] for row in rows],
            [row["ms"] for row in rows],
            "o",
            color=f"C{i}",
            label=f"piece of {size}",
        )
        piece.plot(
            [row["context"] for row in rows],
            [predict(record["fits"]["all"]["model"], row) for row in rows],
            color=f"C{i}",
        )
    piece.set(xlabel="tokens of context", ylabel="ms a prefill step", ylim=0)
    piece.legend(frameon=False)
    x = [row["waiting"] for row in record["waiting"]]
    waiting.plot(x, [row["ms"] for row in record["waiting"]], "o")
    waiting.plot(x, [predict(record["fits"]["waiting"]["model"], row) for row in record["waiting"]])
    waiting.set(xlabel="requests that wait", ylabel="ms a decode step", ylim=0)
    rows = sorted(decode, key=lambda row: row["kv_tokens"])
    memory.plot(
        [row["kv_tokens"] for row in rows], [row["kv_held_bytes"] / 1e6 for row in rows], "o"
    )
    memory.plot([row["kv_tokens"] for row in rows], [row["kv_held_formula"] / 1e6 for row in rows])
    memory.set(xlabel="tokens of all sequences", ylabel="MB of cache held")
    for i, name in enumerate(PUBLISHED):
        rows = [row for row in record["published"]["compared"] if row["model"] == name]
        gpus.plot(
            [row["gpus"] for row in rows],
            [row["published_tokens_s"] for row in rows],
            "o",
            color=f"C{i}",
            label=name,
        )
        gpus.plot(
            [row["gpus"] for row in rows], [row["expected_tokens_s"] for row in rows], color=f"C{i}"
        )
    gpus.set(
        xlabel="A100 GPUs, tensor parallel",
        ylabel="tokens/s at batch 1",
        xscale="log",
        yscale="log",
        xticks=(1, 2, 4, 8),
        xticklabels=("1", "2", "4", "8"),
    )
    gpus.minorticks_off()
    gpus.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(RESULTS / "scaling.svg", metadata={"Date": None})


def main() -> None:
    """Measure, fit, predict; write bench/results/scaling.json and scaling.svg."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--plot-only", action="store_true", help="draw the record that is there")
    args = parser.parse_args()
    if not args.plot_only:
        torch.set_num_threads(1)
        torch.manual_seed(0)
        measure(Llama(SMALL), args.rounds)
    plot(json.loads((RESULTS / "scaling.json").read_text(encoding="utf-8")))


def measure(model: Llama, rounds: int) -> None:
    """All of the record."""
    machine = this_machine(rounds)
    points = grow_batch_and_context(
        model, [(b, c) for b in BATCHES for c in CONTEXTS] + list(HELD_OUT), rounds
    )
    decode = [row for row in points if (row["batch"], row["context"]) not in HELD_OUT]
    held_out = [row for row in points if (row["batch"], row["context"]) in HELD_OUT]
    prefill, both, waiting = read_prompts(model, rounds), mixed(model, rounds), wait(model, rounds)
    fits = {}
    for name, names, rows, kept in (
        ("decode", ("num_tokens", "kv_bytes"), decode, held_out),
        ("all, three terms", ("num_tokens", "kv_bytes"), decode + prefill, held_out + both),
        (
            "all",
            ("num_tokens", "num_sequences", "kv_bytes", "attention_flops"),
            decode + prefill,
            held_out + both,
        ),
        ("waiting", ("waiting",), waiting, []),
    ):
        factors = fit(rows, names)
        fits[name] = {"model": factors, "fitted": quality(factors, rows)}
        if kept:
            fits[name]["held_out"] = quality(factors, kept)
        print(name, json.dumps(fits[name]))
    found, published = calibrate()
    save(
        "scaling",
        versions=("torch", "numpy"),
        rounds=rounds,
        decode=decode,
        held_out=held_out,
        prefill=prefill,
        mixed=both,
        waiting=waiting,
        fits=fits,
        this_machine={
            "name": machine.name,
            "gflops": round(machine.flops / 1e9, 1),
            "gbytes_s": round(machine.bandwidth / 1e9, 1),
            "measured_over_bound": [
                round(
                    row["ms"]
                    / 1000
                    / step_time(
                        SMALL, [Chunk(1, row["context"])] * row["batch"], machine, torch.float32
                    ).total,
                    2,
                )
                for row in decode
            ],
        },
        published=published,
        node=node(found),
        assumptions=ASSUMPTIONS,
    )


if __name__ == "__main__":
    main()

"""LLaMA 3 70B on a node of eight GPUs, on paper: what `measure.roofline` says, and how far that may
be trusted.

    python bench/node.py

Three numbers that no data sheet gives (share of the peak, seconds of a message and of a kernel) are
fitted to the speeds of Llama 2 that gpt-fast publishes for A100, and tried on its speeds of Llama
3.1. `scaling.py` keeps the result in its record.
"""

from dataclasses import replace

import numpy as np
import torch

from reference_impl.measure.roofline import (
    A100,
    H100,
    H200,
    KERNELS_PER_BLOCK,
    LLAMA_3_8B,
    LLAMA_3_70B,
    Chunk,
    StepTime,
    bubble,
    communication_seconds,
    max_sequences,
    pipeline_seconds,
    step_memory,
    step_time,
)
from reference_impl.models.llama import LlamaConfig

LLAMA_2_7B, LLAMA_2_70B = (
    LlamaConfig(),
    LlamaConfig(32_000, 8192, 28_672, num_layers=80, num_heads=64, num_kv_heads=8),
)
# meta-pytorch/gpt-fast, README, "Tensor Parallelism": tokens a second at batch 1 in bf16, a prompt
# of 5 tokens, about 200 new ones, by number of A100 80 GB (limited to 330 W).
PUBLISHED = {
    "Llama-2-7B": (LLAMA_2_7B, {1: 104.9, 2: 168.84, 4: 254.02, 8: 328.43}),
    "Llama-2-70B": (LLAMA_2_70B, {2: 21.32, 4: 38.01, 8: 62.50}),
    "Llama-3.1-8B": (LLAMA_3_8B, {1: 93.83, 2: 149.10, 4: 217.21, 8: 276.01}),
    "Llama-3.1-70B": (LLAMA_3_70B, {2: 16.03, 4: 37.45, 8: 58.78}),
}
ASSUMPTIONS = [
    (
        "Eight GPUs of one node, all linked to all by NVLink at the data sheet's bandwidth in one"
        " direction."
    ),
    (
        "Weights and cache are bf16. Every sequence has 2,048 tokens in the cache and decodes one"
        " token a step; no prompt is read in the step, so a server that also reads prompts gives"
        " fewer tokens a second."
    ),
    (
        "Weights, heads and cache are shared out evenly. Vectors are added up twice a block and"
        " once after the embedding, by a ring of 2 (n - 1) messages, and nothing is computed"
        " meanwhile. Links to a switch can add up in fewer."
    ),
    (
        "'bound': matrices and attention run at the data sheet's peak, whichever of operations and"
        " bytes takes longer; messages and kernels start in no time."
    ),
    (
        "'expected': the share of the peak and the seconds of a message and of a kernel are those"
        " fitted to gpt-fast's published Llama 2 speeds on A100. They are assumed to hold on"
        " Hopper, at any batch, and for operations as for bytes. At batch 64 and 256 nothing"
        " published was compared, and gpt-fast's links have another topology."
    ),
    (
        "A block of the model is 12 kernels, launched by a CUDA graph: the host costs nothing."
        " Sampling, scheduling, HTTP and the tokenizer cost nothing."
    ),
    (
        "Memory is weights, cache in blocks of 16 and activations; what an engine keeps free is not"
        " taken off."
    ),
    (
        "Pipeline: eight stages of ten layers, the sequences in eight microbatches; a step begins"
        " when the last has ended. An engine that sends the first microbatch on meanwhile has no"
        " bubble: the row's tokens a second over 1 - bubble."
    ),
]


def calibrate() -> tuple[dict[str, float], dict]:
    """Share of the bandwidth, seconds of a message and of a kernel from published speeds, and how
    good that is.
    """
    rows = {}
    for name, (config, speeds) in PUBLISHED.items():
        for num_gpus, speed in speeds.items():
            chunks = [Chunk(1, 105)]
            bound = step_time(config, chunks, A100, num_devices=num_gpus)
            a_second_each = communication_seconds(
                config, chunks, replace(A100, link_latency=1.0), torch.bfloat16, num_gpus
            )
            rows[name, num_gpus] = {
                "seconds": 1 / speed,
                "roofs": bound.matrices + bound.attention,
                "messages": a_second_each - bound.communication,
                "kernels": KERNELS_PER_BLOCK * config.num_layers,
                "sent": bound.communication,
                "bound": bound.total,
            }
    seen = [row for (name, _), row in rows.items() if name.startswith("Llama-2")]
    left = [row["seconds"] - row["sent"] for row in seen]
    table = np.array([[row["roofs"], row["messages"], row["kernels"]] for row in seen])
    factors, *_ = np.linalg.lstsq(table / np.array(left)[:, None], np.ones(len(seen)), rcond=None)
    slower, message, kernel = factors.tolist()
    found = {"share_of_peak": 1 / slower, "message_seconds": message, "kernel_seconds": kernel}
    compared = [
        {
            "model": name,
            "gpus": num_gpus,
            "published_tokens_s": round(1 / row["seconds"], 2),
            "bound_tokens_s": round(1 / row["bound"], 2),
            "expected_tokens_s": round(
                1
                / (
                    row["sent"]
                    + row["roofs"] * slower
                    + row["messages"] * message
                    + row["kernels"] * kernel
                ),
                2,
            ),
            "fitted": name.startswith("Llama-2"),
        }
        for (name, num_gpus), row in rows.items()
    ]
    return found, {"found": found, "compared": compared}


def node(found: dict[str, float]) -> list[dict]:
    """LLaMA 3 70B on one to eight GPUs of a node: the bound, and what is expected of a
    good engine.
    """
    rows = []
    for machine in (H100, H200):
        share = found["share_of_peak"]
        real = replace(
            machine,
            flops=share * machine.flops,
            bandwidth=share * machine.bandwidth,
            link_latency=found["message_seconds"],
            kernel_overhead=found["kernel_seconds"],
        )
        for batch in (1, 64, 256):
            chunks = [Chunk(1, 2048)] * batch
            for num_gpus in (1, 2, 4, 8):
                memory = step_memory(LLAMA_3_70B, chunks, num_devices=num_gpus).total
                bound, expected = (
                    step_time(LLAMA_3_70B, chunks, m, num_devices=num_gpus) for m in (machine, real)
                )
                rows.append(
                    {
                        "gpu": machine.name,
                        "how": f"TP {num_gpus}",
                        "batch": batch,
                        "memory_gb_per_gpu": round(memory / 1e9, 1),
                        "fits": memory <= machine.memory,
                        "most_sequences": max_sequences(
                            LLAMA_3_70B, 2048, machine, num_devices=num_gpus
                        ),
                        **{
                            f"{name}_ms": milliseconds(time)
                            for name, time in (("bound", bound), ("expected", expected))
                        },
                        "bound_tokens_s": round(batch / bound.total),
                        "expected_tokens_s": round(batch / expected.total),
                    }
                )
            if batch >= 8:
                totals = [pipeline_seconds(LLAMA_3_70B, chunks, m, 8, 8) for m in (machine, real)]
                rows.append(
                    {
                        "gpu": machine.name,
                        "how": "PP 8, 8 microbatches",
                        "batch": batch,
                        "bubble": round(bubble(8, 8), 3),
                        "bound_ms": {"total": round(1000 * totals[0], 2)},
                        "expected_ms": {"total": round(1000 * totals[1], 2)},
                        "bound_tokens_s": round(batch / totals[0]),
                        "expected_tokens_s": round(batch / totals[1]),
                    }
                )
    return rows


def milliseconds(time: StepTime) -> dict[str, float]:
    """A step's parts and their sum."""
    return {
        name: round(1000 * value, 3)
        for name, value in (*time._asdict().items(), ("total", time.total))
    }


def main() -> None:
    """Print both tables."""
    found, published = calibrate()
    print(found, *published["compared"], *node(found), *ASSUMPTIONS, sep="\n")


if __name__ == "__main__":
    main()

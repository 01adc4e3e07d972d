"""Cached greedy decoding against transformers, and against what the memory's bandwidth allows.

    python bench/decoding.py [--repetitions 5]

Both decode the same prompt with the same random weights on one thread, in turn; that the tokens are equal is checked
in each repetition. Small: 4 layers of 256, bound by Python. Large: GPT-2's shape, bound by memory: a step reads every
weight once, so that tokens a second can't exceed bandwidth / bytes. The bandwidth is that of a product of a matrix of
400 MB and a vector, measured in the same repetition.
"""
import argparse
import os
import time
from collections.abc import Callable

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import torch  # noqa: E402  (threads are set before torch starts)
from record import compare, save  # noqa: E402
from transformers import GPT2Config, GPT2LMHeadModel  # noqa: E402

from reference_impl.generation.loop import generate  # noqa: E402
from reference_impl.generation.sampling_params import SamplingParams  # noqa: E402
from reference_impl.models.gpt import GPT, GPT2_SMALL, GPTConfig  # noqa: E402
from reference_impl.weights.pretrained import hugging_face_state  # noqa: E402

SMALL = GPTConfig(vocab_size=8192, hidden_size=256, num_layers=4, num_heads=4)
NUM_PROMPT = 16


def main() -> None:
    """Measure both sizes and write bench/results/decoding.json."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--repetitions", type=int, default=5)
    args = parser.parse_args()
    torch.set_num_threads(1)
    small, _ = measure("4 layers of 256", SMALL, 128, args.repetitions, 1.4, 1.9)
    large, bound = measure("GPT-2, 124M", GPT2_SMALL, 24, args.repetitions, 0.9, None)
    save("decoding", [small, large, bound], versions=("torch", "transformers"), prompt_tokens=NUM_PROMPT)


def seconds(run: Callable[[], object]) -> tuple[float, object]:
    """How long it took, and what it returned."""
    started = time.perf_counter()
    result = run()
    return time.perf_counter() - started, result


def bandwidth() -> float:
    """Bytes a second that a product of a large matrix and a vector reads: the median of five."""
    matrix, vector = torch.ones(25_000, 4000), torch.ones(4000)
    return matrix.nbytes / sorted(seconds(lambda: matrix @ vector)[0] for _ in range(5))[2]


def measure(name: str, config: GPTConfig, num_new: int, repetitions: int, must: float,
            aim: float | None) -> tuple[dict, dict]:
    """Rows: tokens a second against transformers, and against the bound; the first round warms up."""
    torch.manual_seed(0)
    ours = GPT(config).eval()
    theirs = GPT2LMHeadModel(GPT2Config(
        vocab_size=config.vocab_size, n_embd=config.hidden_size, n_layer=config.num_layers, n_head=config.num_heads,
        n_positions=config.max_position_embeddings, bos_token_id=None, eos_token_id=None)).eval()
    theirs.load_state_dict(hugging_face_state(ours))
    prompt = torch.randint(config.vocab_size, (1, NUM_PROMPT))
    params = SamplingParams(temperature=0, max_tokens=num_new)
    num_bytes = sum(p.nbytes for p in ours.parameters()) - ours.position.weight.nbytes
    rates, rivals, bounds = [], [], []
    for _ in range(repetitions + 1):
        bounds.append(bandwidth() / num_bytes)
        took, found = seconds(lambda: generate(ours, prompt.tolist(), params)[0].ids)
        rates.append(num_new / took)
        with torch.inference_mode():
            took, expected = seconds(lambda: theirs.generate(
                prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=num_new, do_sample=False,
                pad_token_id=0)[0, NUM_PROMPT:].tolist())
        rivals.append(num_new / took)
        if found != expected:
            raise SystemExit(f"{name}: tokens differ, ours {found}, transformers' {expected}")
        print(f"{name}: ours {rates[-1]:.1f}, transformers {rivals[-1]:.1f}, bound {bounds[-1]:.1f} tokens/s", flush=True)
    return (compare(f"cached greedy decoding, {name}", "transformers", "tokens/s", rates[1:], rivals[1:], must, aim),
            compare(f"cached greedy decoding, {name}", "memory bandwidth", "tokens/s", rates[1:], bounds[1:], 0.7, 0.8))


if __name__ == "__main__":
    main()

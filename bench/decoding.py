"""Cached greedy decoding against transformers, and against what the memory's bandwidth allows.

    python bench/decoding.py [--repetitions 5]

All decode the same prompt with the same random weights on one thread, in turn; that the tokens are
equal is checked in each repetition. Ours runs twice: with matrices stored along their longer side,
and as a model is made. Small: 4 layers of 256. Large: GPT-2's shape, bound by memory: a step reads
every weight and all keys and values once, so that tokens a second can't exceed bandwidth / bytes.
The bandwidth is that of summing the model's own weights, measured before and after each run of
ours. Against transformers the pass over the prompt counts, against the bound only what follows it.
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable, Iterator

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import torch  # noqa: E402  (threads are set before torch starts)
from record import compare, save  # noqa: E402
from transformers import GPT2Config, GPT2LMHeadModel  # noqa: E402

from reference_impl.generation.layout import store_by_longer_side  # noqa: E402
from reference_impl.generation.loop import stream  # noqa: E402
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
    small = measure("4 layers of 256", SMALL, 128, args.repetitions, 1.4, 1.9, None)
    large = measure("GPT-2, 124M", GPT2_SMALL, 24, args.repetitions, 0.9, None, (0.7, 0.8))
    save(
        "decoding",
        [*small, *large],
        versions=("torch", "transformers"),
        prompt_tokens=NUM_PROMPT,
        clock="processor time",
        layout="ours after generation.layout.store_by_longer_side; 'as made' without",
    )


def seconds(run: Callable[[], object]) -> tuple[float, object]:
    """How long it took in processor time, and what it returned.

    With one thread that is the time on a quiet machine: on a busy one the clock on the wall counts
    others' work too.
    """
    started = time.process_time()
    result = run()
    return time.process_time() - started, result


def reading(model: GPT) -> float:
    """Seconds to read each weight once, of which a token needs but one row of the positions: the
    mean of five times.
    """
    weights = [weight for weight in model.parameters() if weight is not model.position.weight]
    return statistics.mean(
        seconds(lambda: [weight.sum() for weight in weights])[0] for _ in range(5)
    )


def measure(
    name: str,
    config: GPTConfig,
    num_new: int,
    repetitions: int,
    must: float,
    aim: float | None,
    of_bound: tuple[float, float] | None,
) -> list[dict]:
    """Rows: tokens a second against transformers, and against the bound; the first round
    warms up.
    """
    torch.manual_seed(0)
    ours, as_made = GPT(config).eval(), GPT(config).eval()
    as_made.load_state_dict(ours.state_dict())
    store_by_longer_side(ours)
    theirs = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=config.vocab_size,
            n_embd=config.hidden_size,
            n_layer=config.num_layers,
            n_head=config.num_heads,
            n_positions=config.max_position_embeddings,
            bos_token_id=None,
            eos_token_id=None,
        )
    ).eval()
    theirs.load_state_dict(hugging_face_state(ours))
    prompt = torch.randint(config.vocab_size, (1, NUM_PROMPT))
    params = SamplingParams(temperature=0, max_tokens=num_new)
    weight_bytes = sum(p.nbytes for p in ours.parameters()) - ours.position.weight.nbytes
    cache_bytes = (
        4 * 2 * config.num_layers * config.hidden_size * (NUM_PROMPT + num_new / 2)
    )  # on the average

    def by_theirs() -> list[int]:
        with torch.inference_mode():
            return theirs.generate(
                prompt,
                attention_mask=torch.ones_like(prompt),
                max_new_tokens=num_new,
                do_sample=False,
                pad_token_id=0,
            )[0, NUM_PROMPT:].tolist()

    def by_ours(model: GPT) -> tuple[list[int], float]:
        """Tokens, and the rate at which all but the first came."""
        chosen: Iterator = stream(model, prompt.tolist(), params)
        first = next(chosen).token
        took, others = seconds(lambda: [each.token for each in chosen])
        return [first, *others], len(others) / took

    rates: dict[str, list[float]] = {"ours": [], "as made": [], "transformers": []}
    steps, bounds = [], []
    for _ in range(repetitions + 1):
        before = reading(ours)
        took, (tokens, after_prompt) = seconds(lambda: by_ours(ours))
        bandwidth = weight_bytes / ((before + reading(ours)) / 2)
        bounds.append(bandwidth / (weight_bytes + cache_bytes))
        steps.append(after_prompt)
        rates["ours"].append(num_new / took)
        for side, run in (("as made", lambda: by_ours(as_made)[0]), ("transformers", by_theirs)):
            took, found = seconds(run)
            rates[side].append(num_new / took)
            if found != tokens:
                raise SystemExit(f"{name}: tokens differ, ours {tokens}, {side} {found}")
        print(
            f"{name}: "
            + ", ".join(f"{side} {rate[-1]:.1f}" for side, rate in rates.items())
            + f"; after the prompt {steps[-1]:.1f}, bound {bounds[-1]:.1f} tokens/s",
            flush=True,
        )
    kept = {side: rate[1:] for side, rate in rates.items()}
    title = f"cached greedy decoding, {name}"
    return [
        compare(title, "transformers", "tokens/s", kept["ours"], kept["transformers"], must, aim),
        compare(
            f"{title}, as made", "transformers", "tokens/s", kept["as made"], kept["transformers"]
        ),
        *(
            []
            if of_bound is None
            else [
                compare(
                    f"{title}, after the prompt",
                    "memory bandwidth",
                    "tokens/s",
                    steps[1:],
                    bounds[1:],
                    *of_bound,
                )
            ]
        ),
    ]


if __name__ == "__main__":
    main()

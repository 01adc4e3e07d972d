"""GRPO's later variants, each changed alone, and a sampler in four bits.

    python bench/rlvr.py [--steps 24]        about four minutes on one core

The half-trained model of sums learns from right and wrong last digits, as in
`bench/trained/grpo.py`: the same problems, the same batches of samples, two passes, one learning
rate for all. Changed are the parts that `objectives/grpo_variants.py` holds. In the last two the
samples come from the policy in NF4, so that sampler and trainer differ; the second of these weighs
each token by the truncated ratio. Five seeds. Measured: sampled chains that end right on held-out
problems. Writes bench/results/rlvr.json.
"""

import argparse
import copy
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).parent / "trained")]

import torch  # noqa: E402  (threads are set before torch starts)
from grpo import BETA, GROUP, LONGEST_GRADIENT, PASSES, PROMPTS, RATE, SAMPLING, prompts_of, right  # noqa: E402
from record import save  # noqa: E402
from sums import EARLY, written  # noqa: E402
from torch import nn  # noqa: E402

from reference_impl.corpora import sums  # noqa: E402
from reference_impl.corpora.small_models import small_model  # noqa: E402
from reference_impl.generation.loop import generate  # noqa: E402
from reference_impl.generation.sampling_params import SamplingParams  # noqa: E402
from reference_impl.objectives.grpo import distance, group_advantages  # noqa: E402
from reference_impl.objectives.grpo_variants import (  # noqa: E402
    centred_advantages,
    clipped,
    mean_over_answers,
    mean_over_tokens,
    over_constant,
    truncated_weights,
)
from reference_impl.objectives.logprobs import answer_logprobs, answered  # noqa: E402
from reference_impl.objectives.supervised import answer_example, supervised_batch  # noqa: E402
from reference_impl.weights.nf4 import quantize_linear  # noqa: E402

SEEDS, TESTED = 5, 200
MATRICES = ("attention.qkv", "attention.output", "feed_forward.up", "feed_forward.down")


@dataclass(frozen=True)
class Variant:
    """What of the loss is changed; the defaults are GRPO's of 2024."""

    divided: bool = True
    beta: float = BETA
    high: float = 0.2
    mean: str = "answers"
    four_bits: bool = False
    truncated: bool = False


VARIANTS = {
    "GRPO, 2024": Variant(),
    "no KL penalty": Variant(beta=0.0),
    "no division (Dr. GRPO)": Variant(divided=False, beta=0.0, mean="constant"),
    "clip-higher, token mean (DAPO)": Variant(beta=0.0, high=0.28, mean="tokens"),
    "four-bit sampler": Variant(beta=0.0, four_bits=True),
    "four-bit sampler, truncated weights": Variant(beta=0.0, four_bits=True, truncated=True),
}


def in_four_bits(policy: nn.Module) -> nn.Module:
    """A copy of the policy whose matrices are in NF4."""
    sampler = copy.deepcopy(policy)
    quantize_linear(sampler, MATRICES)
    return sampler


def loss_of(variant: Variant, policy, batch) -> torch.Tensor:
    """The loss of a batch of samples."""
    mask, logprobs = answered(batch["labels"]), answer_logprobs(policy, batch)
    ratio = (logprobs - batch["old"]).exp()
    losses = clipped(ratio, batch["advantages"][:, None], 0.2, variant.high)
    if variant.truncated:
        losses = losses * truncated_weights(batch["old"], batch["sampled"])
    if variant.beta:
        losses = losses + variant.beta * distance(logprobs, batch["reference"])
    if variant.mean == "answers":
        return mean_over_answers(losses, mask)
    if variant.mean == "tokens":
        return mean_over_tokens(losses, mask)
    return over_constant(losses, mask, sums.LONGEST)


@torch.no_grad()
def samples(variant: Variant, policy, reference, prompts, step: int, seed: int):
    """Chains with their advantages, and who held them how probable."""
    sampler = in_four_bits(policy) if variant.four_bits else policy
    first = seed * 10_000_000 + step * 10_000
    params = [
        SamplingParams(**{**SAMPLING, "n": GROUP, "seed": first + 100 * number})
        for number in range(len(prompts))
    ]
    said = [one.ids for one in generate(sampler, prompts, params)]
    asked = [prompt for prompt in prompts for _ in range(GROUP)]
    pairs = list(zip(asked, said, strict=True))
    rewards = torch.tensor([right(*pair) for pair in pairs]).view(-1, GROUP)
    batch = supervised_batch([answer_example(*pair) for pair in pairs])
    gained = group_advantages(rewards) if variant.divided else centred_advantages(rewards)
    batch = {**batch, "advantages": gained.flatten(), "old": answer_logprobs(policy, batch)}
    batch["reference"] = answer_logprobs(reference, batch) if variant.beta else None
    batch["sampled"] = answer_logprobs(sampler, batch) if variant.four_bits else batch["old"]
    return batch, rewards


def run(variant: Variant, reference: nn.Module, steps: int, seed: int) -> dict:
    """One training run: the rewards of its steps, and what it can do afterwards."""
    policy, started = copy.deepcopy(reference), time.process_time()
    optimizer = torch.optim.AdamW(policy.parameters(), lr=RATE, weight_decay=0.0)
    prompts, history, gaps = prompts_of(seed), [], []
    for step in range(1, steps + 1):
        batch, rewards = samples(variant, policy, reference, prompts(step), step, seed)
        mask = answered(batch["labels"])
        gaps.append(float((batch["old"] - batch["sampled"])[mask].abs().mean()))
        for _ in range(PASSES):
            optimizer.zero_grad()
            loss_of(variant, policy, batch).backward()
            nn.utils.clip_grad_norm_(policy.parameters(), LONGEST_GRADIENT)
            optimizer.step()
        history.append(round(float(rewards.mean()), 4))
    tests = sums.problems(1, TESTED, tests=True)
    chains = written(policy, tests, sums.BY_STEPS, 1.0)
    ends = [sums.reward(digits, chain) for digits, (chain,) in zip(tests, chains, strict=True)]
    return {
        "seed": seed,
        "sampled": round(sum(ends) / len(ends), 4),
        "gap": round(sum(gaps) / len(gaps), 4),
        "cpu_seconds": round(time.process_time() - started, 1),
        "rewards": history,
    }


def main() -> None:
    """Train each variant under each seed, write the record."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--steps", type=int, default=24)
    args = parser.parse_args()
    torch.set_num_threads(1)
    reference, runs = small_model(EARLY).model, []
    for seed in range(SEEDS):
        for name, variant in VARIANTS.items():
            runs.append({"variant": name, **run(variant, reference, args.steps, seed)})
            print({key: runs[-1][key] for key in ("variant", "seed", "sampled", "gap")}, flush=True)
    settings = {"prompts": PROMPTS, "group": GROUP, "passes": PASSES, "learning_rate": RATE}
    save("rlvr", versions=("torch",), steps=args.steps, seeds=SEEDS, tested=TESTED,
         settings=settings, runs=runs)  # fmt: skip


if __name__ == "__main__":
    main()

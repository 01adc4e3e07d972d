"""GRPO with a reward that a program checks: the half-trained model of sums learns from right and
wrong last digits alone.

    python bench/trained/grpo.py [--seeds 5]        after sums.py; about four minutes on one core

Every step samples GROUP chains of each of PROMPTS problems from `small_model("sums_early")` as it
has become, rewards a right last digit with 1 (`corpora.sums.reward`), and learns from the batch
twice: in the first pass every ratio is 1 and nothing can be clipped. No step of a chain is looked
at, and no right chain is ever shown. Measured on held-out problems, over five seeds.

Controls: rewards shuffled among the answers of a group, which say nothing; and sums.py's own way on
from there, chains that are shown, for as many rows.

Seed 0 is kept (`small_model("sums_grpo")`). Writes bench/results/trained_grpo.json.
"""

import argparse
import copy
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch  # noqa: E402  (threads are set before torch starts)
from record import save  # noqa: E402
from sums import CONFIG, EARLY, TESTED, by_steps, example, figures, written  # noqa: E402
from sums import RATE as SHOWN_RATE
from texts import folder  # noqa: E402
from torch import nn  # noqa: E402

from reference_impl.corpora import sums  # noqa: E402
from reference_impl.corpora.small_models import add_figures, keep, small_model  # noqa: E402
from reference_impl.generation.loop import generate  # noqa: E402
from reference_impl.generation.sampling_params import SamplingParams  # noqa: E402
from reference_impl.objectives.causal_lm import causal_lm  # noqa: E402
from reference_impl.objectives.grpo import distance, group_batch, grpo  # noqa: E402
from reference_impl.objectives.logprobs import answer_logprobs, answered  # noqa: E402
from reference_impl.objectives.supervised import answer_example, supervised_batch  # noqa: E402

NAME, STEPS, PROMPTS, GROUP, PASSES = "sums_grpo", 60, 12, 8, 2
RATE, CLIP, BETA, LONGEST_GRADIENT = 1e-3, 0.2, 0.04, 1.0
Reward = Callable[[Sequence[int], Sequence[int]], float]


def improve(
    policy: nn.Module,
    reference: nn.Module,
    prompts_of: Callable[[int], Sequence[Sequence[int]]],
    reward: Reward,
    *,
    steps: int,
    sampling: dict,
    group: int,
    rate: float,
    beta: float,
    seed: int,
    shuffled: bool = False,
    watch: Callable[[int, dict[str, float]], None] = lambda step, row: None,
) -> list[dict[str, float]]:
    """Sample, reward, learn; what happened at each step.

    `prompts_of(step)` are a step's prompts, `reward(prompt, answer)` says how good an answer is,
    both as ids. `alike` is the share of groups whose answers were all as good, from which nothing
    is learned; `clipped` the share of tokens, in the last pass, whose ratio has left the allowed
    range on the side where no gradient comes any more; `distance` the estimate k3 of the divergence
    from the reference.
    """
    optimizer = torch.optim.AdamW(policy.parameters(), lr=rate, weight_decay=0.0)
    history, chance = [], torch.Generator().manual_seed(seed)
    for step in range(1, steps + 1):
        prompts = prompts_of(step)
        params = [
            SamplingParams(
                **{**sampling, "n": group, "seed": seed * 10_000_000 + step * 10_000 + 100 * number}
            )
            for number in range(len(prompts))
        ]
        said = [one.ids for one in generate(policy, prompts, params)]
        asked = [prompt for prompt in prompts for _ in range(group)]
        rewards = torch.tensor(
            [reward(prompt, answer) for prompt, answer in zip(asked, said, strict=True)]
        ).view(-1, group)
        if shuffled:
            rewards = rewards.gather(1, torch.rand(rewards.shape, generator=chance).argsort(1))
        batch = group_batch(
            policy,
            reference,
            supervised_batch([answer_example(*pair) for pair in zip(asked, said, strict=True)]),
            rewards,
        )
        for _ in range(PASSES):
            optimizer.zero_grad()
            grpo(policy, batch, CLIP, beta).mean.backward()
            nn.utils.clip_grad_norm_(policy.parameters(), LONGEST_GRADIENT)
            last_logprobs = answer_logprobs(policy, batch).detach()
            optimizer.step()
        mask, advantages = answered(batch["labels"]), batch["advantages"][:, None]
        ratio = (last_logprobs - batch["old_logprobs"]).exp()
        flat = ((ratio > 1 + CLIP) & (advantages > 0)) | ((ratio < 1 - CLIP) & (advantages < 0))
        history.append(
            {
                "step": step,
                "reward": round(float(rewards.mean()), 4),
                "clipped": round(float(flat[mask].float().mean()), 4),
                "alike": round(float((rewards.amax(1) == rewards.amin(1)).float().mean()), 4),
                "distance": round(
                    float(
                        distance(batch["old_logprobs"], batch["reference_logprobs"])[mask].mean()
                    ),
                    4,
                ),
            }
        )
        watch(step, history[-1])
    return history


SAMPLING = {
    "temperature": 1.0,
    "max_tokens": sums.LONGEST,
    "stop_token_ids": tuple(sums.encode(sums.END)),
}


def prompts_of(seed: int) -> Callable[[int], list[list[int]]]:
    """Problems of a step, none of them a test's."""
    return lambda step: [
        sums.encode(digits + sums.BY_STEPS)
        for digits in sums.problems(700_000_000 + seed * 1_000_000 + step, PROMPTS)
    ]


def right(prompt: Sequence[int], answer: Sequence[int]) -> float:
    """The program that checks."""
    return sums.reward(sums.decode(prompt[:-1]), sums.decode(answer))


def steps_right(model: nn.Module) -> float:
    """The share of steps, in sampled chains for held-out problems, that follow from what stands
    before them.
    """
    tests = sums.problems(1, TESTED, tests=True)
    found = [
        right
        for digits, (chain,) in zip(tests, written(model, tests, sums.BY_STEPS, 1.0), strict=True)
        for right in sums.steps_that_follow(digits, chain)
    ]
    return round(sum(found) / len(found), 4)


def shown(model: nn.Module, rows: int, seed: int) -> None:
    """Go on from there with right chains: as many rows as GRPO samples, in as many steps."""
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=SHOWN_RATE, weight_decay=0.0, betas=(0.9, 0.98)
    )
    for step in range(STEPS):
        problems = sums.problems(700_000_000 + seed * 1_000_000 + step, rows // STEPS)
        optimizer.zero_grad()
        causal_lm(
            model, supervised_batch([example(by_steps, digits) for digits in problems])
        ).mean.backward()
        nn.utils.clip_grad_norm_(model.parameters(), LONGEST_GRADIENT)
        optimizer.step()


def main() -> None:
    """Improve under every seed, control, keep, write the record."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seeds", type=int, default=5)
    args = parser.parse_args()
    torch.set_num_threads(1)
    reference = small_model(EARLY).model
    runs, controls, tested = [], {"shuffled rewards": [], "right chains shown": []}, []

    def told(model: nn.Module) -> dict[str, float]:
        return figures(model, sums.SYMBOLS)

    before, steps_before = told(reference), steps_right(reference)
    for seed in range(args.seeds):
        policy, started, aside = copy.deepcopy(reference), time.process_time(), [0.0]

        def watch(
            step: int,
            row: dict[str, float],
            policy: nn.Module = policy,
            seed: int = seed,
            aside: list[float] = aside,
        ) -> None:
            began = time.process_time()
            if seed == 0 and step % 10 == 0:
                tested.append({"step": step, **told(policy)})
                print(row, tested[-1], flush=True)
            aside[0] += time.process_time() - began

        history = improve(
            policy,
            reference,
            prompts_of(seed),
            right,
            steps=STEPS,
            sampling=SAMPLING,
            group=GROUP,
            rate=RATE,
            beta=BETA,
            seed=seed,
            watch=watch,
        )
        seconds = time.process_time() - started - aside[0]
        runs.append(
            {
                "seed": seed,
                "after": told(policy),
                "steps_right": steps_right(policy),
                "cpu_seconds": round(seconds, 1),
                "history": history,
            }
        )
        print(seed, runs[-1]["after"], f"{seconds:.0f} CPU s", flush=True)
        if seed == 0:
            keep(
                NAME,
                "gpt",
                CONFIG,
                policy,
                script="bench/trained/grpo.py",
                seed=0,
                corpora=[],
                steps=STEPS,
                first_losses=[],
            )
            (folder(NAME) / "words.txt").write_text(
                "\n".join(sums.SYMBOLS) + "\n", encoding="utf-8"
            )
            kept = small_model(NAME)
            add_figures(
                NAME,
                figures(kept.model, kept.tokenizer),
                figures(kept.model, kept.tokenizer, every=4),
            )
    for seed in range(2):
        policy = copy.deepcopy(reference)
        history = improve(
            policy,
            reference,
            prompts_of(seed),
            right,
            steps=STEPS,
            sampling=SAMPLING,
            group=GROUP,
            rate=RATE,
            beta=BETA,
            seed=seed,
            shuffled=True,
        )
        controls["shuffled rewards"].append(
            {"seed": seed, "after": told(policy), "history": history}
        )
        policy = copy.deepcopy(reference)
        shown(policy, STEPS * PROMPTS * GROUP, seed)
        controls["right chains shown"].append({"seed": seed, "after": told(policy)})
        print({name: found[-1]["after"] for name, found in controls.items()}, flush=True)
    save(
        "trained_grpo",
        versions=("torch",),
        seed=list(range(args.seeds)),
        seeds=args.seeds,
        steps=STEPS,
        prompts=PROMPTS,
        group=GROUP,
        passes=PASSES,
        settings={
            "learning_rate": RATE,
            "clip": CLIP,
            "beta": BETA,
            "longest_gradient": LONGEST_GRADIENT,
        },
        before=before,
        steps_right_before=steps_before,
        runs=runs,
        tested=tested,
        controls=controls,
    )


if __name__ == "__main__":
    main()

"""One set of pairs, learned in several ways: DPO slow and fast, means for sums, imitation, a reward
model.

    python bench/preferences.py [--steps 60]
        after trained/dpo.py; about five minutes on one core

The pairs are those that were kept with `small_model("gpt_kjv_dpo")`: of two continuations of a
verse the shorter is preferred. Every way sees the same pairs in the same batches. On held-out
pairs: how often the implied reward (or the reward model's) agrees, how the log-probabilities of the
chosen and of the rejected answers have moved against the model before, in nats, and the mean length
of sampled verses on prompts that no pair has. Three seeds, which decide the batches.
"""

import argparse
import os
import statistics
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path.insert(0, str(Path(__file__).resolve().parent / "trained"))

import torch  # noqa: E402  (threads are set before torch starts)
from dpo import PAIRS_A_BATCH, continuations, kept_pairs, prompts_from  # noqa: E402
from gpt import load_trained  # noqa: E402
from record import save  # noqa: E402
from texts import scripture, split  # noqa: E402

from reference_impl.objectives.dpo import dpo_terms  # noqa: E402
from reference_impl.objectives.logprobs import sequence_logprobs  # noqa: E402
from reference_impl.objectives.preferences import preference_batch  # noqa: E402
from reference_impl.objectives.reward_model import RewardModel, pairwise_reward  # noqa: E402
from reference_impl.objectives.terms import IGNORED, mean_terms  # noqa: E402
from reference_impl.training.loop import TrainingConfig, train  # noqa: E402

SEEDS, SLOW, FAST = 3, 3e-5, 3e-4
WAYS = {
    "DPO": (SLOW, 0.1),
    "DPO, ten times the rate": (FAST, 0.1),
    "DPO on means": (FAST, 0.1),
    "imitating the chosen": (FAST, 0.1),
}


def lengths_of(batch) -> torch.Tensor:
    """How many tokens each answer has."""
    return (batch["labels"] != IGNORED).sum(1)


def objective_of(way: str, beta: float):
    """The loss of a way; the reference's log-probabilities lie in the batch."""

    def objective(model, batch):
        logprobs, reference = sequence_logprobs(model, batch), batch["reference_logprobs"]
        if way == "imitating the chosen":
            chosen = len(logprobs) // 2
            return mean_terms(-logprobs[:chosen] / lengths_of(batch)[:chosen])
        if (
            way == "DPO on means"
        ):  # scaled by the mean length, so that the steps are about as large as DPO's
            per_token = lengths_of(batch) / lengths_of(batch).float().mean()
            logprobs, reference = logprobs / per_token, reference / per_token
        return dpo_terms(logprobs, reference, beta)

    return objective


def main() -> None:
    """Train each way, measure, write bench/results/preferences.json."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--steps", type=int, default=60)
    args = parser.parse_args()
    torch.set_num_threads(1)
    reference, tokenizer = load_trained()
    end_id, pairs = tokenizer.encode("\n")[0], kept_pairs()
    prompts = prompts_from(split(scripture())[1].splitlines(), tokenizer, 96, 1)
    with torch.no_grad():
        known = [
            sequence_logprobs(reference, preference_batch([pair])) for pair in pairs["train"]
        ]  # (2,) each
        held = preference_batch(pairs["held_out"])
        before = sequence_logprobs(reference, held)

    def batches(seed):
        def batch(index):
            drawn = torch.randperm(
                len(known), generator=torch.Generator().manual_seed(1000 * seed + index)
            )[:PAIRS_A_BATCH].tolist()
            return {
                **preference_batch([pairs["train"][i] for i in drawn]),
                "reference_logprobs": torch.stack([known[i] for i in drawn], 1).flatten(),
            }

        return batch

    def learn(model, objective, seed, rate):
        torch.manual_seed(seed)
        train(
            model,
            objective,
            batches(seed),
            TrainingConfig(
                num_steps=args.steps, learning_rate=rate, warmup_steps=5, weight_decay=0.0
            ),
            progress=False,
        )
        return model.eval()

    @torch.no_grad()
    def measure(model):
        chosen, rejected = (sequence_logprobs(model, held) - before).chunk(2)
        said = [len(answer) for answer in continuations(model, prompts, end_id, 90_000)]
        return {
            "agreement": round(float((chosen > rejected).double().mean()), 4),
            "chosen": round(float(chosen.mean()), 3),
            "rejected": round(float(rejected.mean()), 3),
            "chosen_less_likely": round(float((chosen < 0).double().mean()), 3),
            "tokens_of_a_verse": round(statistics.mean(said), 2),
            "cut_off": round(sum(one == 80 for one in said) / len(said), 3),
        }

    started, runs = time.process_time(), []
    for way, (rate, beta) in WAYS.items():
        for seed in range(SEEDS):
            model = learn(load_trained()[0], objective_of(way, beta), seed, rate)
            runs.append({"way": way, "seed": seed, "rate": rate, "beta": beta, **measure(model)})
            print(runs[-1], flush=True)
    rewards = []
    for seed in range(SEEDS):
        torch.manual_seed(seed)
        judge = learn(RewardModel(load_trained()[0]), pairwise_reward, seed, FAST)
        with torch.no_grad():
            chosen, rejected = judge(held["ids"], held["mask"]).chunk(2)
        rewards.append(
            {
                "seed": seed,
                "agreement": round(float((chosen > rejected).double().mean()), 4),
                "chosen": round(float(chosen.mean()), 3),
                "rejected": round(float(rejected.mean()), 3),
            }
        )
        print(rewards[-1], flush=True)
    tokens = [float(part.float().mean()) for part in lengths_of(held).chunk(2)]
    save(
        "preferences",
        versions=("torch", "numpy"),
        steps=args.steps,
        pairs=len(pairs["train"]),
        held_out=len(pairs["held_out"]),
        answer_tokens={"chosen": round(tokens[0], 1), "rejected": round(tokens[1], 1)},
        before=measure(reference),
        runs=runs,
        reward_model=rewards,
        cpu_seconds=round(time.process_time() - started),
    )


if __name__ == "__main__":
    main()

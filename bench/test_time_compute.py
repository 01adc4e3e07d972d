"""Test-time compute on sums by steps: many chains of the half-trained model, and ways to choose.

    python bench/test_time_compute.py       after trained/sums.py; four minutes on one core

The model (`small_model("sums_early")`) writes CHAINS chains at temperature 1 for each held-out
problem. Chosen among the first n of them: by vote; by the model's own log-probability; by a
verifier; by a vote weighted with the verifier. pass@n is the unbiased estimate from all CHAINS.

The verifier is the same model with a score for its last vectors, trained on the model's own chains
for problems that are in no test: with one label for each chain (its last digit is right; outcome
supervision, Cobbe et al. 2021), or with a label for each step (process supervision, Lightman et al.
2023), where a chain's score is the product of its steps'. The steps' labels come from a program,
where Lightman et al. paid people.

Also budget forcing: greedy chains cut after so many steps, and greedy chains whose end is replaced
by one more "+". Writes bench/results/test_time_compute.json.
"""

import copy
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path.insert(0, str(Path(__file__).resolve().parent / "trained"))

import torch  # noqa: E402  (threads are set before torch starts)
from record import save  # noqa: E402
from sums import EARLY, share_right, written  # noqa: E402
from torch import Tensor  # noqa: E402
from torch.nn.functional import binary_cross_entropy_with_logits, logsigmoid  # noqa: E402

from reference_impl.corpora import sums  # noqa: E402
from reference_impl.corpora.small_models import small_model  # noqa: E402
from reference_impl.generation.budget import forced_thinking  # noqa: E402
from reference_impl.generation.loop import generate  # noqa: E402
from reference_impl.generation.sampling_params import SamplingParams  # noqa: E402
from reference_impl.generation.search import (  # noqa: E402
    best_of_n,
    pass_at_k,
    self_consistency,
    weighted_vote,
)
from reference_impl.models.gpt import GPT  # noqa: E402
from reference_impl.objectives.reward_model import TokenScores  # noqa: E402

CHAINS, TESTED, SIZES = 64, 200, (1, 2, 4, 8, 16, 32, 64)
LEARNED, EACH, EPOCHS, ROWS, RATE = 3000, 4, 6, 64, 2e-3
STEP, PROMPT = 4, sums.DIGITS + 1
END = sums.encode(sums.END)[0]
ENDS_OF_STEPS = [PROMPT + STEP * (n + 1) - 1 for n in range(sums.DIGITS - 1)]
Chains = list[tuple[str, str]]


def complete(said: str) -> bool:
    """Whether a chain has the length of a full one; others are scored lowest."""
    return len(said) == sums.LONGEST and said.endswith(sums.END)


def rows_of(chains: Chains) -> Tensor:
    """Ids of problems with their complete chains (B, T)."""
    return torch.tensor([sums.encode(d + sums.BY_STEPS + said) for d, said in chains])


def labels_of(chains: Chains, process: bool) -> Tensor:
    """One label a chain (B, 1), or one a step (B, 5): right so far."""
    if not process:
        return torch.tensor([[sums.reward(*chain)] for chain in chains])
    return torch.tensor([sums.steps_that_follow(*chain) for chain in chains]).float()


def scores(verifier: TokenScores, chains: Chains, process: bool) -> Tensor:
    """Logits of being right, at the last token (B, 1) or at the end of each step (B, 5)."""
    found = verifier(rows_of(chains))
    return found[:, ENDS_OF_STEPS] if process else found[:, -1:]


def trained_verifier(model: GPT, chains: Chains, process: bool) -> TokenScores:
    """A verifier that starts from the generator's weights."""
    torch.manual_seed(0)
    verifier = TokenScores(copy.deepcopy(model))
    optimizer = torch.optim.AdamW(verifier.parameters(), lr=RATE, weight_decay=0.01)
    for _ in range(EPOCHS):
        order = torch.randperm(len(chains)).tolist()
        for start in range(0, len(order) - ROWS + 1, ROWS):
            batch = [chains[row] for row in order[start : start + ROWS]]
            loss = binary_cross_entropy_with_logits(
                scores(verifier, batch, process), labels_of(batch, process)
            )
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return verifier.eval()


@torch.inference_mode()
def judged(verifier: TokenScores, said: dict[str, list[str]], process: bool) -> dict:
    """The probability of being right that the verifier gives each complete chain."""
    found = {}
    for digits, some in said.items():
        chains = [(digits, one) for one in dict.fromkeys(some) if complete(one)]
        if chains:
            logs = logsigmoid(scores(verifier, chains, process)).sum(1).exp().tolist()
            found.update(zip(chains, logs, strict=True))
    return found


@torch.inference_mode()
def likelihoods(model: GPT, said: dict[str, list[str]]) -> dict:
    """The model's own log-probability of each complete chain, its end included."""
    found = {}
    for digits, some in said.items():
        chains = [(digits, one) for one in dict.fromkeys(some) if complete(one)]
        if chains:
            ids = rows_of(chains)
            logs = model(ids)[:, PROMPT - 1 : -1].log_softmax(-1)
            total = logs.gather(-1, ids[:, PROMPT:, None]).sum((1, 2)).tolist()
            found.update(zip(chains, total, strict=True))
    return found


def share_chosen(said: dict[str, list[str]], size: int, chosen) -> float:
    """Right answers over all disjoint groups of `size` chains of all problems."""
    right = groups = 0
    for digits, some in said.items():
        for start in range(0, CHAINS, size):
            answer = chosen(digits, some[start : start + size])
            right += answer == sums.answer(digits)
            groups += 1
    return round(right / groups, 4)


def ranking(said: dict[str, list[str]], score: dict) -> float:
    """How often a right chain is scored above a wrong one of the same problem (AUC)."""
    shares = []
    for digits, some in said.items():
        chains = [(digits, one) for one in some if complete(one)]
        good = torch.tensor([score[chain] for chain in chains if sums.reward(*chain)])
        bad = torch.tensor([score[chain] for chain in chains if not sums.reward(*chain)])
        if len(good) and len(bad):
            over = good[:, None] - bad
            shares.append(float((over > 0).float().mean() + (over == 0).float().mean() / 2))
    return round(sum(shares) / len(shares), 4)


def ways(said: dict[str, list[str]], values: dict[str, dict]) -> dict[str, dict[str, float]]:
    """Accuracy by way of choosing and number of chains."""
    found: dict[str, dict[str, float]] = {}
    for size in SIZES:
        rows = [sum(sums.reward(d, one) for one in some) for d, some in said.items()]
        found.setdefault("pass@n", {})[str(size)] = round(
            sum(pass_at_k(CHAINS, int(right), size) for right in rows) / len(rows), 4
        )

        def voted(digits: str, some: Sequence[str]) -> str | None:
            if not any(map(sums.answer_of, some)):
                return None
            return self_consistency(some, sums.answer_of).answer

        found.setdefault("vote", {})[str(size)] = share_chosen(said, size, voted)
        for name, value in values.items():

            def best(digits: str, some: Sequence[str], value: dict = value) -> str | None:
                return sums.answer_of(
                    best_of_n(some, lambda one: value.get((digits, one), -torch.inf))
                )

            found.setdefault(f"best of n, {name}", {})[str(size)] = share_chosen(said, size, best)

        def weighted(digits: str, some: Sequence[str]) -> str | None:
            value = values["process verifier"]
            some = [one for one in some if (digits, one) in value]
            if not any(map(sums.answer_of, some)):
                return None
            return weighted_vote(
                some, sums.answer_of, lambda one: 1e-12 + value[digits, one]
            ).answer

        found.setdefault("weighted vote", {})[str(size)] = share_chosen(said, size, weighted)
    return found


def budgets(model: GPT, tests: Sequence[str]) -> dict[str, float]:
    """Greedy accuracy by tokens of thinking; and with one more step forced at the end."""
    found = {}
    prompts = [(digits, sums.encode(digits + sums.BY_STEPS)) for digits in tests]

    def right(most: int, nudges: int) -> float:
        nudge, total = sums.encode("+"), 0.0
        for digits, ids in prompts:

            def write(thinking: list[int], room: int, ids: list[int] = ids) -> list[int]:
                params = SamplingParams(temperature=0, max_tokens=room)
                return generate(model, [ids + thinking], params, eos_ids=[END])[0].ids

            said = forced_thinking(write, END, most, nudge, nudges)
            total += sums.reward(digits, sums.decode(said))
        return round(total / len(prompts), 4)

    for steps in range(1, sums.DIGITS):
        found[str(STEP * steps)] = right(STEP * steps, 0)
    found["one step more"] = right(STEP * sums.DIGITS, 1)
    return found


def main() -> None:
    """Write chains, train verifiers, choose, write the record."""
    torch.set_num_threads(1)
    model, started = small_model(EARLY).model, time.process_time()
    tests = sums.problems(3, TESTED, tests=True)
    said = dict(
        zip(
            tests,
            written(model, tests, sums.BY_STEPS, 1.0, each=CHAINS, seed=5_000_000),
            strict=True,
        )
    )
    learned = sums.problems(4, LEARNED)
    chains = [
        (digits, one)
        for start in range(0, LEARNED, 500)
        for digits, some in zip(
            learned[start : start + 500],
            written(
                model,
                learned[start : start + 500],
                sums.BY_STEPS,
                1.0,
                each=EACH,
                seed=9_000_000 + 1_000_000 * start,
            ),
            strict=True,
        )
        for one in some
        if complete(one)
    ]
    values = {"likelihood": likelihoods(model, said)}
    for name in ("outcome", "process"):
        verifier = trained_verifier(model, chains, name == "process")
        values[f"{name} verifier"] = judged(verifier, said, name == "process")
        print(name, ranking(said, values[f"{name} verifier"]), flush=True)
    found = ways(said, values)
    for name, row in found.items():
        print(name, row, flush=True)
    save(
        "test_time_compute",
        versions=("torch",),
        seed=0,
        seeds=1,
        tested=TESTED,
        chains=CHAINS,
        temperature=1.0,
        learned_from=len(chains),
        greedy=share_right(tests, written(model, tests, sums.BY_STEPS)),
        ranking={name: ranking(said, value) for name, value in values.items()},
        accuracy=found,
        budget=budgets(model, tests),
        cpu_seconds=round(time.process_time() - started),
    )


if __name__ == "__main__":
    main()

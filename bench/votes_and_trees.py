"""Votes and trees on sums by steps, at equal numbers of sampled tokens, with the model that is half
trained.

    python bench/votes_and_trees.py        after trained/sums.py; two minutes on one core

A tree has WIDTH thoughts a level and BRANCHES continuations of each, a thought being the steps so
far: TOKENS tokens a problem, what as many chains cost that vote. Three values judge a thought:

- likelihood: the model's own log-probability of the steps (a beam search over steps that were
  sampled);
- checked: how many of its steps follow, in order, from the problem, which a program says. It knows
  the rule and so solves the task alone: this shows what a search makes of a perfect value, and is
  no result of the model;
- nothing: a random number.

Also all chains whose last step is judged likeliest ("best of"), and greedy. Three seeds. Writes
bench/results/votes_and_trees.json.
"""

import os
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path.insert(0, str(Path(__file__).resolve().parent / "trained"))

import torch  # noqa: E402  (threads are set before torch starts)
from record import save  # noqa: E402
from sums import EARLY, share_right, share_voted, written  # noqa: E402

from reference_impl.corpora import sums  # noqa: E402
from reference_impl.corpora.small_models import small_model  # noqa: E402
from reference_impl.generation.loop import generate  # noqa: E402
from reference_impl.generation.sampling_params import SamplingParams  # noqa: E402
from reference_impl.generation.scoring import score_continuations  # noqa: E402
from reference_impl.generation.search import tree_search  # noqa: E402

WIDTH, BRANCHES, TESTED, SEEDS, STEP = 3, 5, 30, 3, 4
DEPTH = sums.DIGITS - 1
TOKENS = STEP * BRANCHES * (1 + WIDTH * (DEPTH - 1))
CHAINS = round(TOKENS / (STEP * DEPTH))


def checked(digits: str, steps: str) -> int:
    """How many steps of a chain follow, from the first on, until one does not."""
    right = sums.chain(digits)
    return next(
        (
            n
            for n in range(DEPTH)
            if steps[STEP * n : STEP * (n + 1)] != right[STEP * n : STEP * (n + 1)]
        ),
        DEPTH,
    )


def main() -> None:
    """Search and vote, write the record."""
    torch.set_num_threads(1)
    model, started = small_model(EARLY).model, time.process_time()
    tests = sums.problems(2, TESTED, tests=True)
    asked = {digits: sums.encode(digits + sums.BY_STEPS) for digits in tests}
    found: dict[str, list[float]] = {
        name: []
        for name in (
            "one chain",
            "vote",
            "best of",
            "tree, likelihood",
            "tree, checked",
            "tree, nothing",
        )
    }

    def likelihood(digits: str, steps: str) -> float:
        return score_continuations(model, asked[digits], [sums.encode(steps)])[0].total

    for seed in range(SEEDS):
        said = written(model, tests, sums.BY_STEPS, 1.0, each=CHAINS, seed=1_000_000 * (seed + 1))
        found["one chain"].append(share_right(tests, said))
        found["vote"].append(share_voted(tests, said, CHAINS))
        found["best of"].append(
            share_right(
                tests,
                [
                    [max(some, key=lambda text, digits=digits: likelihood(digits, text))]
                    for digits, some in zip(tests, said, strict=True)
                ],
            )
        )
        chance = random.Random(seed)
        values: dict[str, Callable[[str, str], float]] = {
            "likelihood": likelihood,
            "checked": checked,
            "nothing": lambda *_: chance.random(),
        }
        for name, value in values.items():
            right = 0
            for digits in tests:

                def expand(steps: str, digits: str = digits) -> list[str]:
                    params = SamplingParams(
                        temperature=1.0, max_tokens=STEP, n=BRANCHES, seed=chance.randrange(2**40)
                    )
                    return [
                        steps + sums.decode(one.ids)
                        for one in generate(model, [asked[digits] + sums.encode(steps)], params)
                    ]

                best = tree_search(
                    "",
                    expand,
                    lambda steps, digits=digits, value=value: value(digits, steps),
                    lambda steps: len(steps) == STEP * DEPTH,
                    WIDTH,
                    DEPTH,
                )
                right += sums.reward(digits, best + sums.END)
            found[f"tree, {name}"].append(round(right / TESTED, 4))
        print(seed, {name: shares[-1] for name, shares in found.items()}, flush=True)
    save(
        "votes_and_trees",
        versions=("torch",),
        seed=list(range(SEEDS)),
        seeds=SEEDS,
        tested=TESTED,
        width=WIDTH,
        branches=BRANCHES,
        depth=DEPTH,
        tokens=TOKENS,
        chains=CHAINS,
        greedy=share_right(tests, written(model, tests, sums.BY_STEPS)),
        found=found,
        cpu_seconds=round(time.process_time() - started),
    )


if __name__ == "__main__":
    main()

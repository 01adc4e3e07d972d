"""A reward hacked on purpose: the GPT of scripture is paid for every " LORD" that it writes.

    python bench/trained/hacked.py [--seeds 0 1 2] [--betas 0 0.5]
        after gpt.py; six CPU seconds a run

GRPO as in `grpo.py`, on the first tokens of verses. The reward of a continuation of LONGEST tokens
is how often the token " LORD" stands in it: a program checks it, exactly, and it is not what
anybody wants. Without a penalty for leaving the reference, and with one. Measured on prompts of
held-out verses and held-out scripture: the reward, bits a byte, the share of distinct pairs of
tokens among all pairs of a continuation, and the distance k3 from the reference. Writes
bench/results/trained_hacked.json with samples, beside the runs of other seeds and penalties that
are there; no model is kept.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch  # noqa: E402  (threads are set before torch starts)
from dpo import prompts_from  # noqa: E402
from gpt import bits_per_byte, load_trained  # noqa: E402
from grpo import improve  # noqa: E402
from record import RESULTS, save  # noqa: E402
from texts import as_tokens, scripture, split  # noqa: E402

from reference_impl.generation.loop import generate  # noqa: E402
from reference_impl.generation.sampling_params import SamplingParams  # noqa: E402

PAID, LONGEST, PROMPTS, GROUP, STEPS, RATE = " LORD", 20, 4, 6, 15, 1e-3
BETAS, SEEDS, TESTED = (0.0, 0.5), (0, 1, 2), 32


def distinct_pairs(ids: Sequence[int]) -> float:
    """Distinct neighbouring pairs over all."""
    pairs = list(zip(ids, ids[1:], strict=False))
    return len(set(pairs)) / max(len(pairs), 1)


def main() -> None:
    """Hack with and without a penalty, write the record."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    parser.add_argument("--betas", type=float, nargs="+", default=BETAS)
    args = parser.parse_args()
    torch.set_num_threads(1)
    reference, tokenizer = load_trained()
    reference.eval()
    train_text, held_text = split(scripture())
    (paid,) = tokenizer.encode(PAID)
    prompts = prompts_from(train_text.splitlines(), tokenizer, PROMPTS * STEPS, 0)
    tests = prompts_from(held_text.splitlines(), tokenizer, TESTED, 1)
    held, held_bytes = as_tokens(tokenizer, held_text[:20_000]), len(held_text[:20_000].encode())

    def measured(model) -> dict:
        params = [
            SamplingParams(temperature=1.0, max_tokens=LONGEST, seed=number)
            for number in range(TESTED)
        ]
        said = [one.ids for one in generate(model, tests, params)]
        return {
            "reward": round(sum(ids.count(paid) for ids in said) / TESTED, 3),
            "bits_per_byte": round(bits_per_byte(model, held, held_bytes), 4),
            "distinct_pairs": round(sum(map(distinct_pairs, said)) / TESTED, 4),
            "samples": [
                {"prompt": tokenizer.decode(prompt), "said": tokenizer.decode(ids)}
                for prompt, ids in zip(tests[:3], said, strict=False)
            ],
        }

    file = RESULTS / "trained_hacked.json"
    there = json.loads(file.read_text(encoding="utf-8"))["runs"] if file.is_file() else []
    runs = [run for run in there if run["beta"] not in args.betas or run["seed"] not in args.seeds]
    before = measured(reference)
    for beta in args.betas:
        for seed in args.seeds:
            policy, started = load_trained()[0].eval(), time.process_time()
            history = improve(
                policy,
                reference,
                lambda step: prompts[(step - 1) * PROMPTS : step * PROMPTS],
                lambda _, said: float(said.count(paid)),
                steps=STEPS,
                sampling={"temperature": 1.0, "max_tokens": LONGEST},
                group=GROUP,
                rate=RATE,
                beta=beta,
                seed=seed,
            )
            runs.append(
                {
                    "beta": beta,
                    "seed": seed,
                    "cpu_seconds": round(time.process_time() - started),
                    "after": measured(policy),
                    "history": history,
                }
            )
            print(
                beta,
                seed,
                {
                    key: runs[-1]["after"][key]
                    for key in ("reward", "bits_per_byte", "distinct_pairs")
                },
                history[-1],
                runs[-1]["after"]["samples"][0],
                runs[-1]["cpu_seconds"],
                flush=True,
            )
    runs.sort(key=lambda run: (run["beta"], run["seed"]))
    save(
        "trained_hacked",
        versions=("torch",),
        seed=sorted({run["seed"] for run in runs}),
        seeds=len({run["seed"] for run in runs}),
        steps=STEPS,
        prompts=PROMPTS,
        group=GROUP,
        paid=PAID,
        tokens=LONGEST,
        settings={"learning_rate": RATE},
        tested=TESTED,
        before=before,
        runs=runs,
    )


if __name__ == "__main__":
    main()

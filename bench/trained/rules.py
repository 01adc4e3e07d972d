"""Train a tiny GPT to find the rule of a prompt: examples of one of four rules on digits, with its
name or without.

    python bench/trained/rules.py [--seeds 3]        about four minutes on one core

The task is `corpora.rules`. A text has LONGEST examples, and after each ">" the answer is learned,
nothing else. The model of seed 0 is kept (`small_model("rules")`). Writes
bench/results/trained_rules.json: for every number of examples the share of answers that are right
over TESTED prompts, the best that anybody can do (Bayes's rule, exact), the same with the rule's
name, before training, and with examples of another rule after the name; and how far the model's
beliefs in the rules are from Bayes's after one example.
"""

import argparse
import os
import random
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch  # noqa: E402  (threads are set before torch starts)
from record import save  # noqa: E402
from texts import folder, losses_of_first_steps  # noqa: E402

from reference_impl.corpora import rules  # noqa: E402
from reference_impl.corpora.small_models import add_figures, keep, small_model  # noqa: E402
from reference_impl.layers.initial import start_normal  # noqa: E402
from reference_impl.measure.flops import count_parameters  # noqa: E402
from reference_impl.models.gpt import GPT, GPTConfig  # noqa: E402
from reference_impl.objectives.batches import Batch  # noqa: E402
from reference_impl.objectives.causal_lm import causal_lm  # noqa: E402
from reference_impl.objectives.terms import IGNORED  # noqa: E402
from reference_impl.training.loop import TrainingConfig, train  # noqa: E402

NAME, STEPS, ROWS, RATE, WARM_UP, START = "rules", 1500, 24, 4e-3, 50, 0.1
LONGEST, TESTED, COUNTS = 8, 1000, (0, 1, 2, 3, 4, 7)
CONFIG = GPTConfig(
    vocab_size=len(rules.SYMBOLS),
    hidden_size=64,
    num_layers=3,
    num_heads=4,
    max_position_embeddings=36,
    dropout=0.0,
)


def new_model(seed: int = 0) -> GPT:
    """An untrained model of 0.15 million numbers.

    Narrow: the usual deviation of 0.02 would leave it near zero for long.
    """
    torch.manual_seed(seed)
    model = GPT(CONFIG)
    start_normal(model, START)
    return model


def batches_of(seed: int) -> Callable[[int], Batch]:
    """Fresh texts; batch i is a function of seed and i. The tokens after ">" are labels."""

    def batch(index: int) -> Batch:
        draw = random.Random(seed * 1_000_000 + index)
        ids = torch.tensor([rules.encode(rules.text(draw, LONGEST)) for _ in range(ROWS)])
        is_answer = ids.roll(1, dims=1) == rules.encode(rules.TO)[0]
        return {"ids": ids, "labels": ids.masked_fill(~is_answer, IGNORED)}

    return batch


def training(steps: int) -> TrainingConfig:
    """How it is trained, in so many steps."""
    return TrainingConfig(
        num_steps=steps,
        learning_rate=RATE,
        warmup_steps=WARM_UP,
        weight_decay=0.01,
        betas=(0.9, 0.98),
    )


def first_losses(count: int) -> list[float]:
    """The losses of the first steps, trained anew; nothing is kept."""
    return losses_of_first_steps(count, new_model(), causal_lm, batches_of(0), training(STEPS))


def prompts(count: int, how_many: int, named: bool, misled: bool = False) -> list[tuple[str, str]]:
    """Prompts with their right answers.

    Where `misled`, the name is of another rule than the examples; the name counts.
    """
    draw, found = random.Random(10_000 + count), []
    for _ in range(how_many):
        rule, digits = draw.choice([*rules.RULES]), [draw.randrange(10) for _ in range(count + 1)]
        asked = rules.prompt(rule, digits, named)
        if misled:
            asked = draw.choice([other for other in rules.RULES if other != rule]) + asked[1:]
        found.append((asked, str(rules.RULES[asked[0] if misled else rule](digits[-1]))))
    return found


@torch.no_grad()
def share_right(model: GPT, asked: Sequence[tuple[str, str]]) -> float:
    """Share of prompts, all of one length, after which the likeliest token is the right answer."""
    ids = torch.tensor([rules.encode(prompt) for prompt, _ in asked])
    likeliest = model(ids)[:, -1].argmax(-1).tolist()
    return round(
        sum(rules.decode([id]) == right for id, (_, right) in zip(likeliest, asked, strict=True))
        / len(asked),
        4,
    )


def by_count(
    model: GPT, named: bool = False, misled: bool = False, tested: int = TESTED
) -> dict[str, float]:
    """By the number of examples."""
    return {
        str(count): share_right(model, prompts(count, tested, named, misled))
        for count in COUNTS
        if count or not misled
    }


def figures(model: GPT, tokenizer: Sequence[str], every: int = 1) -> dict[str, float]:
    """Shares of right answers without example, after one, after four, and with the rule's name and
    no example.
    """
    tested = TESTED // every
    unnamed, named = by_count(model, tested=tested), by_count(model, named=True, tested=tested)
    return {"none": unnamed["0"], "one": unnamed["1"], "four": unnamed["4"], "name": named["0"]}


@torch.no_grad()
def beliefs_apart(model: GPT) -> float:
    """Mean distance (half the sum of differences) of the model's answers from Bayes's, over all
    prompts with one example.
    """
    apart = []
    for rule in rules.RULES:
        for x in range(10):
            believed = rules.belief([(x, rules.RULES[rule](x))])
            for asked in range(10):
                ids = torch.tensor([rules.encode(rules.prompt(rule, [x, asked]))])
                said = model(ids)[0, -1].softmax(-1)[:10]
                best = torch.zeros(10)
                for other, share in believed.items():
                    best[rules.RULES[other](asked)] += share
                apart.append(float((said - best).abs().sum() / 2))
    return round(sum(apart) / len(apart), 4)


def trained(steps: int, seed: int) -> tuple[GPT, list[float], float]:
    """A trained model, the loss of each step, and CPU seconds."""
    model, started = new_model(seed), time.process_time()
    losses = [
        row["loss"] for row in train(model, causal_lm, batches_of(seed), training(steps)).history
    ]
    return model.eval(), losses, time.process_time() - started


def main() -> None:
    """Train, keep, measure, write the record."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    untrained = by_count(new_model().eval())
    model, losses, seconds = trained(args.steps, 0)
    keep(
        NAME,
        "gpt",
        CONFIG,
        model,
        script="bench/trained/rules.py",
        seed=0,
        corpora=[],
        steps=args.steps,
        first_losses=losses[:20],
    )
    (folder(NAME) / "words.txt").write_text("\n".join(rules.SYMBOLS) + "\n", encoding="utf-8")
    kept = small_model(NAME)  # what is measured from here on is what was kept
    add_figures(
        NAME, figures(kept.model, kept.tokenizer), figures(kept.model, kept.tokenizer, every=5)
    )
    found = {
        "unnamed": by_count(kept.model),
        "named": by_count(kept.model, named=True),
        "misled": by_count(kept.model, named=True, misled=True),
        "beliefs_apart": beliefs_apart(kept.model),
    }
    print(found, f"{seconds:.0f} CPU s", flush=True)
    others = []
    for seed in range(1, args.seeds):
        other = trained(args.steps, seed)[0]
        others.append(
            {
                "seed": seed,
                "unnamed": by_count(other),
                "named": by_count(other, named=True),
                "misled": by_count(other, named=True, misled=True),
                "beliefs_apart": beliefs_apart(other),
            }
        )
        print(others[-1], flush=True)
    save(
        "trained_rules",
        versions=("torch",),
        seed=0,
        seeds=args.seeds,
        steps=args.steps,
        parameters=count_parameters(model),
        tested=TESTED,
        settings={
            "rows": ROWS,
            "learning_rate": RATE,
            "warm_up": WARM_UP,
            "start": START,
            "examples_in_a_text": LONGEST,
        },
        cpu_seconds=round(seconds),
        best={str(count): round(rules.best_share(count), 4) for count in COUNTS if count < 5},
        untrained=untrained,
        **found,
        other_seeds=others,
    )


if __name__ == "__main__":
    main()

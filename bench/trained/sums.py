"""Train a tiny GPT on sums of six digits, half of the problems answered at once and half by steps.

    python bench/trained/sums.py [--seeds 5] [--controls 3]
        about four minutes on one core
    python bench/trained/sums.py --again
        the controls alone, into the record that is there

The task is `corpora.sums`. In every batch half of the rows are answered at once and half by steps,
other problems each. Every token of an answer counts the same, so both ways have as many examples,
and an answer as much weight as a step's digit. The model of seed 0 is kept twice, at its end
(`small_model("sums")`) and on its way (`small_model("sums_early")`): at the first of every ten
steps after which a quarter of the sampled chains ends right.

Controls, for the question why a chain helps: the same model with answers at once in all rows; and
with tokens that say nothing before the answer, beside answers at once: "+" nineteen times, so that
the answer stands where a chain has it.

Writes bench/results/trained_sums.json: accuracy on held-out problems by temperature, of one chain
and of votes over five and fifteen, at the end and on the way; the curve; other seeds; controls.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch  # noqa: E402  (threads are set before torch starts)
from record import RESULTS, save  # noqa: E402
from texts import folder, losses_of_first_steps  # noqa: E402

from reference_impl.corpora import sums  # noqa: E402
from reference_impl.corpora.small_models import add_figures, keep, small_model  # noqa: E402
from reference_impl.generation.loop import generate  # noqa: E402
from reference_impl.generation.sampling_params import SamplingParams  # noqa: E402
from reference_impl.generation.search import self_consistency  # noqa: E402
from reference_impl.measure.flops import count_parameters  # noqa: E402
from reference_impl.models.gpt import GPT, GPTConfig  # noqa: E402
from reference_impl.objectives.batches import Batch  # noqa: E402
from reference_impl.objectives.causal_lm import causal_lm  # noqa: E402
from reference_impl.objectives.supervised import (
    Example,
    answer_example,
    supervised_batch,
)  # noqa: E402
from reference_impl.training.loop import TrainingConfig, train  # noqa: E402

NAME, EARLY, STEPS, EVERY, FROM, EARLY_SHARE = "sums", "sums_early", 1000, 10, 300, 0.25
ROWS, RATE, WARM_UP, LARGER = 32, 3e-3, 50, 3.0
CONFIG = GPTConfig(
    vocab_size=len(sums.SYMBOLS),
    hidden_size=64,
    num_layers=2,
    num_heads=4,
    max_position_embeddings=32,
    dropout=0.0,
)
FILLER = "+" * (sums.LONGEST - 2)
TESTED, TEMPERATURES, VOTES = 200, (1.0, 1.5, 2.0, 2.5), (1, 5, 15)
Way = Callable[[str], tuple[str, str]]


def at_once(digits: str) -> tuple[str, str]:
    """Prompt and answer, nothing between."""
    return digits + sums.AT_ONCE, sums.answer(digits) + sums.END


def by_steps(digits: str) -> tuple[str, str]:
    """Prompt and chain."""
    return digits + sums.BY_STEPS, sums.chain(digits) + sums.END


def with_filler(digits: str) -> tuple[str, str]:
    """Prompt and nineteen tokens that say nothing, then the answer."""
    return digits + sums.BY_STEPS, FILLER + sums.answer(digits) + sums.END


def example(way: Way, digits: str) -> Example:
    """Ids and labels of a problem done in this way."""
    prompt, said = way(digits)
    return answer_example(sums.encode(prompt), sums.encode(said))


def new_model(seed: int = 0) -> GPT:
    """An untrained model of 0.10 million numbers.

    So narrow a model starts slowly from GPT's usual small matrices: they are LARGER.
    """
    torch.manual_seed(seed)
    model = GPT(CONFIG)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.mul_(LARGER)
    return model


def batches_of(ways: Sequence[Way] = (at_once, by_steps), seed: int = 0) -> Callable[[int], Batch]:
    """Fresh problems, the ways in turn; batch i is a function of seed and i."""

    def batch(index: int) -> Batch:
        drawn = sums.problems(seed * 1_000_000 + index, ROWS)
        return supervised_batch(
            [example(ways[row % len(ways)], digits) for row, digits in enumerate(drawn)]
        )

    return batch


def training(steps: int) -> TrainingConfig:
    """How it is trained, in so many steps."""
    return TrainingConfig(
        num_steps=steps,
        learning_rate=RATE,
        warmup_steps=WARM_UP,
        weight_decay=0.0,
        betas=(0.9, 0.98),
        schedule="constant",
    )


def first_losses(count: int) -> list[float]:
    """The losses of the first steps, trained anew; nothing is kept."""
    return losses_of_first_steps(count, new_model(), causal_lm, batches_of(), training(STEPS))


def written(
    model: GPT,
    problems: Sequence[str],
    mark: str,
    temperature: float = 0.0,
    each: int = 1,
    seed: int = 0,
) -> list[list[str]]:
    """For each problem `each` answers, every prompt with a seed of its own; `mark` asks for one at
    once or for steps.
    """
    prompts = [sums.encode(digits + mark) for digits in problems]
    params = [
        SamplingParams(
            temperature=temperature,
            max_tokens=sums.LONGEST,
            stop_token_ids=(sums.encode(sums.END)[0],),
            n=each,
            seed=seed + 1000 * number,
        )
        for number in range(len(prompts))
    ]
    said = [sums.decode(one.ids) for one in generate(model, prompts, params)]
    return [said[start : start + each] for start in range(0, len(said), each)]


def share_right(problems: Sequence[str], said: Sequence[Sequence[str]]) -> float:
    """Of all answers."""
    rewards = [
        sums.reward(digits, one)
        for digits, some in zip(problems, said, strict=True)
        for one in some
    ]
    return round(sum(rewards) / len(rewards), 4)


def share_voted(problems: Sequence[str], said: Sequence[Sequence[str]], voters: int) -> float:
    """Right by vote over the first so many answers; where none has an answer the problem
    is lost.
    """
    right = 0
    for digits, some in zip(problems, said, strict=True):
        if any(sums.answer_of(one) is not None for one in some[:voters]):
            right += self_consistency(some[:voters], sums.answer_of).answer == sums.answer(digits)
    return round(right / len(problems), 4)


def figures(model: GPT, tokenizer: Sequence[str], every: int = 1) -> dict[str, float]:
    """Shares of held-out problems that are right: at once, by the likeliest chain, by a sampled
    chain.
    """
    tests = sums.problems(1, TESTED, tests=True)[::every]
    return {
        "at_once": share_right(tests, written(model, tests, sums.AT_ONCE)),
        "by_steps": share_right(tests, written(model, tests, sums.BY_STEPS)),
        "sampled": share_right(tests, written(model, tests, sums.BY_STEPS, 1.0)),
    }


def voted(model: GPT, temperatures: Sequence[float]) -> dict[str, dict[str, float]]:
    """By temperature: one chain (the mean over all), and votes over the first few."""
    tests, found = sums.problems(1, TESTED, tests=True), {}
    for temperature in temperatures:
        said = written(model, tests, sums.BY_STEPS, temperature, each=max(VOTES))
        found[str(temperature)] = {
            "one": share_right(tests, said),
            **{str(voters): share_voted(tests, said, voters) for voters in VOTES[1:]},
        }
    return found


def run(
    steps: int,
    seed: int,
    ways: Sequence[Way],
    watch: Callable[[int, GPT], None] = lambda step, model: None,
) -> tuple[GPT, list[float], float]:
    """A trained model, the loss of each step, CPU seconds; `watch` sees the model after every EVERY
    steps from FROM on.
    """
    model, started = new_model(seed), time.process_time()
    batches, aside = batches_of(ways, seed), [0.0]

    def watched(index: int) -> Batch:
        if index >= FROM and index % EVERY == 0:
            before = time.process_time()
            watch(index, model)
            aside[0] += time.process_time() - before
        return batches(index)

    losses = [row["loss"] for row in train(model, causal_lm, watched, training(steps)).history]
    return model.eval(), losses, time.process_time() - started - aside[0]


def controls_of(steps: int, seeds: int) -> dict[str, list[dict[str, float]]]:
    """What the same model learns without chains."""
    found: dict[str, list[dict[str, float]]] = {}
    for name, ways in (
        ("tokens that say nothing", (at_once, with_filler)),
        ("at once in all rows", (at_once,)),
    ):
        found[name] = [figures(run(steps, seed, ways)[0], sums.SYMBOLS) for seed in range(seeds)]
        print(name, found[name], flush=True)
    return found


def again(seeds: int) -> None:
    """Put new controls into the record that is there."""
    there = json.loads((RESULTS / "trained_sums.json").read_text(encoding="utf-8"))
    kept = {
        name: value
        for name, value in there.items()
        if name not in ("program", "machine", "versions", "date", "rows", "controls")
    }
    save("trained_sums", versions=("torch",), **kept, controls=controls_of(there["steps"], seeds))


def main() -> None:
    """Train, keep, measure, write the record."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--controls", type=int, default=3)
    parser.add_argument("--again", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(1)
    if args.again:
        again(args.controls)
        return
    curve, early = [], {}

    def watch(step: int, model: GPT) -> None:
        curve.append({"step": step, **figures(model, sums.SYMBOLS, every=2)})
        print(curve[-1], flush=True)
        if not early and curve[-1]["sampled"] >= EARLY_SHARE:
            early.update(
                {name: tensor.clone() for name, tensor in model.state_dict().items()}, step=step
            )

    model, losses, seconds = run(args.steps, 0, (at_once, by_steps), watch)
    curve.append({"step": args.steps, **figures(model, sums.SYMBOLS)})
    print(curve[-1], f"{seconds:.0f} CPU s", flush=True)
    on_the_way = new_model()
    early_step = early.pop("step")
    on_the_way.load_state_dict(early)
    found = {}
    for name, one, steps in ((NAME, model, args.steps), (EARLY, on_the_way.eval(), early_step)):
        keep(
            name,
            "gpt",
            CONFIG,
            one,
            script="bench/trained/sums.py",
            seed=0,
            corpora=[],
            steps=steps,
            first_losses=losses[:20],
        )
        (folder(name) / "words.txt").write_text("\n".join(sums.SYMBOLS) + "\n", encoding="utf-8")
        kept = small_model(name)  # what is measured from here on is what was kept
        add_figures(
            name, figures(kept.model, kept.tokenizer), figures(kept.model, kept.tokenizer, every=4)
        )
        found[name] = {
            "steps": steps,
            "held_out": figures(kept.model, kept.tokenizer),
            "votes": voted(kept.model, TEMPERATURES),
        }
        print(name, found[name], flush=True)
    others = []
    for seed in range(1, args.seeds):
        others.append(
            {"seed": seed, **figures(run(args.steps, seed, (at_once, by_steps))[0], sums.SYMBOLS)}
        )
        print(others[-1], flush=True)
    save(
        "trained_sums",
        versions=("torch",),
        seed=0,
        seeds=args.seeds,
        steps=args.steps,
        parameters=count_parameters(model),
        settings={"rows": ROWS, "learning_rate": RATE, "warm_up": WARM_UP, "larger_start": LARGER},
        tested=TESTED,
        cpu_seconds=round(seconds),
        votes_over=list(VOTES),
        tokens={"at once": 1, "by steps": sums.LONGEST - 1},
        curve=curve,
        curve_over=TESTED // 2,
        models=found,
        other_seeds=others,
        controls=controls_of(args.steps, args.controls),
    )


if __name__ == "__main__":
    main()

"""Grade the hand-ins of five full runs under forty draws, and those of broken runs under one.

    python bench/capstone_hand_in.py [--part five|rounding|broken] [--draws 40]
        after bench/trained/capstone.py and bench/capstone_broken.py; on one idle core some ten
        minutes for five runs and a minute for each broken one

`five` measures how close to the bounds of `17.the_run` a right run comes. `rounding` scores the
report card's greedy items with the weights in 8 bits. `broken` grades runs with one thing wrong:
tunings from bench/capstone_broken.py, each with the reinforcement stage after it, the controls of
the first seed, and hand-ins of the first seed with one part changed. Writes
bench/results/capstone_hand_in.json.
"""

import argparse
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path.insert(0, str(Path(__file__).resolve().parent))

import torch  # noqa: E402  (threads are set before torch starts)
from capstone_broken import WAYS, broken_run, right  # noqa: E402
from record import RESULTS, save  # noqa: E402

from autograder.chapters.c17_capstone import run_model, test_run  # noqa: E402
from autograder.chapters.c17_capstone.run_format import (  # noqa: E402
    FinishedRun,
    Weights,
    pack,
    rounded,
    unpack,
)
from autograder.checks.protocol import LocalStudent, rng_for, run_exercise  # noqa: E402
from course.capstone import export, reinforce  # noqa: E402
from course.capstone.parts import Parts  # noqa: E402
from course.capstone.pretrain import held_out_bits, make_model  # noqa: E402
from course.capstone.report.evaluate import Scorer  # noqa: E402
from course.capstone.report.hand_in import LONGEST, run_text, weights_of  # noqa: E402
from course.capstone.settings import FULL  # noqa: E402
from course.capstone.stages import Clock, Run  # noqa: E402
from course.capstone.tokenizer import load_text  # noqa: E402
from reference_impl.corpora import cache_dir  # noqa: E402
from reference_impl.corpora.cache import read_json  # noqa: E402
from reference_impl.training.checkpoint import model_tensors  # noqa: E402

NAME, SEEDS = "capstone_hand_in", range(5)


def run_of(seed: int) -> Run:
    """A finished run of bench/trained/capstone.py."""
    return Run(cache_dir() / "capstone" / f"seed-{seed}", seed, FULL, "cpu", Parts())


def measured(text: str, draws: int) -> dict[str, list[float]]:
    """What the checks measure of a hand-in: the lowest and the highest over the draws.

    Every item is asked once; a draw is a choice of items, as in the checks.
    """
    grader, rng = test_run.grader_of(text), rng_for("hand-in", secret=b"bench")
    sums = test_run.held_out_sums(rng, 10_000)
    said = grader.said(grader.reinforced, [f"{a}+{b}" for a, b in sums], "sums")
    before, after = test_run.sampled_sums(grader, rng, sums)
    rights = {
        "character": test_run.right_topics(grader, test_run.CHARACTER),
        "reversing": test_run.right_words(grader, test_run.WORDS),
        "sums": test_run.right_sums(said, sums),
    }
    rows = []
    for _ in range(draws):
        row = {
            name: test_run.share_of(test_run.drawn(rng, right, test_run.ASKED[name]))
            for name, right in rights.items()
        }
        pairs = test_run.drawn(rng, list(zip(before, after)), test_run.ASKED["sampled"])
        row["gain"] = sum(new - old for old, new in pairs) / len(pairs)
        ids, num_bytes = test_run.scripture(grader, rng)
        row["bits"] = run_model.bits_per_byte(grader.reinforced, ids, num_bytes)
        rows.append(row)
    return {
        name: [round(one(row[name] for row in rows), 3) for one in (min, max)] for name in rows[0]
    }


def five(draws: int) -> list[dict]:
    """For each seed the spans of what is measured, and the points of two gradings."""
    found = []
    for seed in SEEDS:
        text = run_text(run_of(seed))
        points = [earned(text, draw)["points"] for draw in range(2)]
        row = {"seed": seed, "characters": len(text), "draws": draws, "points": points}
        found.append(row | measured(text, draws))
        print(found[-1], flush=True)
    return found


def rounding() -> list[dict]:
    """Greedy scores and bits per byte with weights in 8 bits, for each seed and stage."""
    found = []
    for seed in SEEDS:
        run = run_of(seed)
        pair = rounded(weights_of(run, "tune"), weights_of(run, "reinforce"))
        for stage, weights in zip(("tune", "reinforce"), pair, strict=True):
            model = make_model(run)
            with torch.no_grad():
                for name, tensor in model_tensors(model).items():
                    tensor.copy_(weights[name])
            scorer = Scorer(run, model)
            found.append(
                {
                    "seed": seed,
                    "stage": stage,
                    "scores": right(scorer, scorer.examples.prompt),
                    "bits_per_byte": held_out_bits(run, scorer.model, load_text(run)),
                }
            )
            print(found[-1], flush=True)
    return found


def earned(text: str, draw: int = 0) -> dict:
    """Points of a hand-in and the cause of each stage that failed."""
    result = run_exercise(
        test_run.the_run,
        LocalStudent({"the_run": lambda: text}),
        lambda stage: rng_for(stage, str(draw), secret=b"bench"),
        mistakes=[],
    )
    failed = {stage.name: [stage.cause, stage.detail] for stage in result.stages if stage.cause}
    return {"points": result.earned, "failed": failed}


def padded(run: FinishedRun) -> FinishedRun:
    """An engine that pads prompts on the left and lets every token attend to the padding."""
    model = run_model.Model(run.config, run.reinforced)
    width = max(map(len, run.prompts))
    rows = [[0] * (width - len(prompt)) + prompt for prompt in run.prompts]
    return replace(run, together=run_model.answers(model, rows, LONGEST))


def another_template(run: FinishedRun) -> FinishedRun:
    """An engine that is given "### User: " and "### Assistant: " instead."""
    encode = test_run.Grader(run).tokenizer.encode
    prompts = [encode(f"### User: {one}\n### Assistant: ") for one in run.questions]
    said = run_model.answers(run_model.Model(run.config, run.reinforced), prompts, LONGEST)
    return replace(run, prompts=prompts, alone=said, together=said)


def untrained_merges(run: FinishedRun) -> FinishedRun:
    """A tokenizer without merges under a model that was trained with them."""
    return replace(run, merges=[])


def answered(run: FinishedRun) -> FinishedRun:
    """The run with answers of its own reinforced model, as a right engine gives them."""
    said = run_model.answers(run_model.Model(run.config, run.reinforced), run.prompts, LONGEST)
    return replace(run, alone=said, together=said)


CHANGES: dict[str, Callable[[FinishedRun], FinishedRun]] = {
    "padding not masked": padded,
    "another template when serving": another_template,
    "tokenizer without merges": untrained_merges,
    "no reinforcement": lambda run: answered(replace(run, reinforced=run.tuned)),
}


def control(run: Run, name: str) -> Weights:
    """The weights of a control: `shuffled` or `hacked` rewards."""
    model = run.load_weights("controls", make_model(run), f"{name}.safetensors")
    return {key: one.detach() for key, one in model_tensors(model).items()}


def finished(run: Run) -> Run:
    """The run with reinforcement and export, whatever its tuning was."""
    for stage, module in (("reinforce", reinforce), ("export", export)):
        if not run.manifest(stage):
            module.run_stage(run, Clock(run, stage))
    return run


def broken() -> dict[str, dict]:
    """Points and causes of each broken hand-in."""
    right_run, found = unpack(run_text(run_of(0))), {}
    for name, change in CHANGES.items():
        found[name] = earned(pack(change(right_run)))
    for name in ("shuffled", "hacked"):
        tuned, other = rounded(weights_of(run_of(0), "tune"), control(run_of(0), name))
        changed = answered(replace(right_run, tuned=tuned, reinforced=other))
        found[f"{name} reward"] = earned(pack(changed))
    folder = cache_dir() / "capstone_broken"
    for name in WAYS:
        run = broken_run(run_of(0), name, folder)
        if run.path("tune", "model.safetensors").exists():
            found[name] = earned(run_text(finished(run)))
    for name, one in found.items():
        print(name, one, flush=True)
    return found


def main() -> None:
    """Measure the parts that are asked for, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--part", choices=("five", "rounding", "broken"), action="append")
    parser.add_argument("--draws", type=int, default=40)
    args = parser.parse_args()
    torch.set_num_threads(1)
    kept = read_json(RESULTS / f"{NAME}.json")
    found = {part: kept[part] for part in ("five", "rounding", "broken") if part in kept}
    for part in args.part or ("five", "rounding", "broken"):
        if part == "five":
            found[part] = five(args.draws)
        else:
            found[part] = {"rounding": rounding, "broken": broken}[part]()
        save(NAME, versions=("torch", "safetensors", "regex"), **found)


if __name__ == "__main__":
    main()

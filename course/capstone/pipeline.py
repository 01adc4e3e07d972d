"""Runs the stages in order, skips what is finished, and says how long the rest will take."""

import sys
import time

import torch

from course.capstone import export, pretrain, reinforce, tokenizer, tune
from course.capstone.report import evaluate, report_card
from course.capstone.settings import FULL, STAGES
from course.capstone.stages import Clock, Run
from reference_impl.objectives.causal_lm import causal_lm

RUN = {
    "tokenizer": tokenizer.run_stage,
    "pretrain": pretrain.run_stage,
    "tune": tune.run_stage,
    "reinforce": reinforce.run_stage,
    "controls": evaluate.run_stage,
    "export": export.run_stage,
    "report": report_card.run_stage,
}
TRAINING_STEPS = {
    "tokenizer": 60,
    "pretrain": 2400,
    "tune": 1750,
    "reinforce": 200,
    "controls": 450,
    "export": 5,
    "report": 350,
}
"""What a stage of the full recipe costs, in steps of pre-training: a machine is timed by those."""


def run_stages(run: Run, last: str = STAGES[-1]) -> list[str]:
    """Run what is not finished, up to and including `last`; the stages that were run."""
    wanted = STAGES[: STAGES.index(last) + 1]
    todo = [stage for stage in wanted if not run.is_finished(stage)]
    finished = [stage for stage in wanted if stage not in todo]
    if finished:
        _say(f"finished before: {', '.join(finished)}")
    if not todo:
        return []
    step = _seconds_per_step(run) if run.recipe == FULL else None
    for stage in todo:
        about = "" if step is None else f", about {_minutes(TRAINING_STEPS[stage] * step)}"
        _say(f"stage {STAGES.index(stage) + 1} of {len(STAGES)}: {stage}{about}")
        clock = Clock(run, stage)
        try:
            RUN[stage](run, clock)
        except BaseException:  # Ctrl-C among them: the next start continues the count
            clock.save()
            raise
        _say(f"{stage}: {_minutes(run.manifest(stage)['wall_seconds'])}")
    return todo


def _seconds_per_step(run: Run) -> float:
    """Wall seconds of one pre-training step on this machine, the middle one of five."""
    model, vocab = pretrain.make_model(run), run.recipe.tokenizer.vocab_size
    shape = (run.recipe.pretrain.batch, pretrain.CONTEXT + 1)
    ids = torch.randint(vocab, shape, device=run.device)
    taken = []
    for _ in range(5):
        started = time.perf_counter()
        causal_lm(model, {"ids": ids, "labels": ids}).mean.backward()
        taken.append(time.perf_counter() - started)
    return sorted(taken)[2]


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} seconds" if seconds < 90 else f"{seconds / 60:.0f} minutes"


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)

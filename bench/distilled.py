"""A teacher's answers or labels alone: one layer learns from two, at equal operations.

    python bench/distilled.py [--steps 250]        about three minutes on one core

The teacher is the small BERT (bench/trained/bert.py), two layers. The student has its embeddings,
its first layer and its head to begin with, as DistilBERT has; the second layer is gone. Three kinds
of run:

- labels: the token that stood there;
- teacher: the teacher's softened distribution at the same blanks
  (`objectives.distillation.soft_terms`, temperature 2);
- both: half of each.

The teacher reads every batch, so a step with it costs more; a run on labels alone gets as many
steps more as make the operations equal, counted by torch (`count_flops`). 15 % of the tokens are
blanks. Measured at held-out blanks, and how often student and teacher say the same there. Five
seeds.
"""

import argparse
import copy
import dataclasses
import time

from short_runs import (
    apart,
    blanked,
    learn,
    measure,
    rows_of,
)  # it sets threads before torch starts

# isort: split
import torch
from bert import as_tokens, blank_logits, held_out_batch
from record import save
from texts import scripture, split

from reference_impl.corpora.small_models import small_model
from reference_impl.measure.flops import count_flops, count_parameters
from reference_impl.models.bert import BertForMaskedLM
from reference_impl.objectives.distillation import soft_terms
from reference_impl.objectives.terms import Terms, token_terms

SEEDS, SHARE, RATE, TEMPERATURE = 5, 0.15, 5e-4, 2.0
KINDS = ("labels", "teacher", "both")


def student_of(teacher: BertForMaskedLM) -> BertForMaskedLM:
    """The teacher without its second layer."""
    student = BertForMaskedLM(dataclasses.replace(teacher.config, num_layers=1))
    given = teacher.state_dict()
    student.load_state_dict({name: copy.deepcopy(given[name]) for name in student.state_dict()})
    return student


def objective_of(kind: str, teacher: BertForMaskedLM):
    """The loss of a kind, a mean over blanks."""

    def objective(student: BertForMaskedLM, batch: dict) -> Terms:
        logits, labels = blank_logits(student, batch)
        if kind == "labels":
            return token_terms(logits, labels)
        with torch.no_grad():
            wanted, _ = blank_logits(teacher, batch)
        soft = soft_terms(logits, wanted, TEMPERATURE)
        return (
            soft
            if kind == "teacher"
            else Terms((soft.total + token_terms(logits, labels).total) / 2, soft.count)
        )

    return objective


def main() -> None:
    """Train each kind, measure, write bench/results/distilled.json."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--steps", type=int, default=250)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    args = parser.parse_args()
    torch.set_num_threads(1)
    kept = small_model("bert_kjv")
    teacher = kept.model.requires_grad_(False)
    tokens = as_tokens(kept.tokenizer, split(scripture())[0])
    held = {key: part[::5] for key, part in held_out_batch(kept.tokenizer)[0].items()}
    wanted = blank_logits(teacher, held)[0].argmax(-1)

    def judged(model):
        with torch.no_grad():
            same = float((blank_logits(model, held)[0].argmax(-1) == wanted).double().mean())
        return {**measure(model, held), "as_the_teacher": round(same, 4)}

    def batch_of(seed):
        return lambda index: blanked(
            rows_of(tokens, generator := apart(seed, index)), generator, SHARE
        )

    fixed, cost = batch_of(0)(0), {}
    for kind in KINDS:
        model = student_of(teacher)
        cost[kind] = count_flops(
            lambda kind=kind, model=model: objective_of(kind, teacher)(
                model, fixed
            ).total.backward()
        )
    steps = {kind: round(args.steps * cost["teacher"] / cost[kind]) for kind in KINDS}
    started, runs = time.process_time(), []
    for seed in range(args.seeds):
        for kind in KINDS:
            model = student_of(teacher)
            learn(
                model,
                objective_of(kind, teacher),
                batch_of(seed),
                steps=steps[kind],
                rate=RATE,
                seed=seed,
            )
            runs.append({"kind": kind, "seed": seed, **judged(model)})
            print(runs[-1], flush=True)
    save(
        "distilled",
        versions=("torch",),
        steps=steps,
        megaflops_a_step={kind: round(each / 1e6, 1) for kind, each in cost.items()},
        learning_rate=RATE,
        temperature=TEMPERATURE,
        share=SHARE,
        cpu_seconds=round(time.process_time() - started),
        parameters={
            "teacher": count_parameters(teacher),
            "student": count_parameters(student_of(teacher)),
        },
        before={"student": judged(student_of(teacher).eval()), "teacher": judged(teacher)},
        runs=runs,
    )


if __name__ == "__main__":
    main()

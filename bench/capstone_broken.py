"""Break one thing of the capstone at a time, and measure what it costs.

    python bench/capstone_broken.py [--seed 0] [--part serving|tuning] [--folder FOLDER]
        after bench/trained/capstone.py, whose run it reads; on one idle core serving takes a
        minute, and tuning six minutes for each way; exit code 77 without a finished run

`serving` asks the finished model with prompts laid out in other ways than in training. `tuning`
tunes the pre-trained model again, each time with one thing left out. Scores are those of the report
card, of the same held-out items. A part that the record has is kept when the other is run. Writes
bench/results/capstone_broken.json; with --tiny nothing is written.
"""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from unittest import mock

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path.insert(0, str(Path(__file__).resolve().parent))

import torch  # noqa: E402  (threads are set before torch starts)
from record import RESULTS, save  # noqa: E402

from course.capstone import tasks, tune  # noqa: E402
from course.capstone.parts import Parts  # noqa: E402
from course.capstone.pretrain import held_out_bits, make_model, train_stage  # noqa: E402
from course.capstone.report.decode import decode, text_of  # noqa: E402
from course.capstone.report.evaluate import EARLIER, Scorer, score  # noqa: E402
from course.capstone.settings import FULL, TINY, TuneSettings  # noqa: E402
from course.capstone.stages import WEIGHTS, Run  # noqa: E402
from course.capstone.tokenizer import END, START, load_text  # noqa: E402
from reference_impl.corpora import cache_dir  # noqa: E402
from reference_impl.corpora.cache import read_json  # noqa: E402
from reference_impl.layers.attention import attention  # noqa: E402
from reference_impl.models import llama  # noqa: E402
from reference_impl.objectives.batches import Batch  # noqa: E402
from reference_impl.objectives.supervised import Message  # noqa: E402
from reference_impl.objectives.terms import IGNORED  # noqa: E402

NAME = "capstone_broken"


def layouts(examples: tune.Examples) -> dict[str, Callable[[str], list[int]]]:
    """Ways to lay out a question; the first is that of the tuning."""
    encode, template = examples.tokenizer.encode, examples.template

    def with_system(question: str) -> list[int]:
        told = Message("system", "You are a helpful assistant.")
        return template.prompt([told, Message("user", question)])

    def with_space(question: str) -> list[int]:
        said = [START, *encode("user \n"), *encode(question), END, *encode("\n")]
        return [*said, START, *encode("assistant \n")]

    def as_text(question: str) -> list[int]:
        said = f"<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n"
        return encode(said)

    prompt = examples.prompt
    head = [START, *encode("assistant"), *encode("\n")]
    assert prompt("a")[-len(head) :] == head
    return {
        "as in tuning": prompt,
        "a space after the role": with_space,
        "a system message that tuning never had": with_system,
        "another template": lambda question: encode(f"### User: {question}\n### Assistant: "),
        "special tokens as text": as_text,
        "no generation prompt": lambda question: prompt(question)[: -len(head)],
        "no template": encode,
    }


def right(scorer: Scorer, lay_out: Callable[[str], Sequence[int]]) -> dict:
    """The scores of each kind of task, greedy, for one layout."""
    found = {}
    for kind in tasks.KINDS:
        items = scorer.items(kind)
        prompts = [lay_out(item.question) for item in items]
        answers = decode(scorer.model, prompts, tasks.LONGEST[kind])
        said = [
            text_of(scorer.examples.tokenizer, ids) if ids[-1] == END else None for ids in answers
        ]
        pairs = zip(items, said, strict=True)
        found[kind] = score([text is not None and item.is_right(text) for item, text in pairs])
    return found


def serving(run: Run) -> dict:
    """The reinforced model under each layout."""
    scorer = Scorer(run, run.load_weights("reinforce", make_model(run)))
    found = {}
    for name, lay_out in layouts(scorer.examples).items():
        found[name] = right(scorer, lay_out)
        print(name, {kind: one["share"] for kind, one in found[name].items()}, flush=True)
    return found


@dataclass(frozen=True)
class Way:
    """What a tuning does differently: its settings, its batches, its start, its attention."""

    settings: TuneSettings = FULL.tune
    change: Callable[[Batch], Batch] = dict
    pretrained: bool = True
    causal: bool = True


def on_the_prompt(batch: Batch) -> Batch:
    """The batch with a label on every token of a conversation."""
    changed = dict(batch)
    for name in ("short", "sums", "talks"):
        if f"{name}.ids" in batch:
            ids, mask = batch[f"{name}.ids"], batch[f"{name}.mask"]
            changed[f"{name}.labels"] = torch.where(mask.bool(), ids, IGNORED)
    return changed


def shifted(batch: Batch) -> Batch:
    """The batch with each label one token early; `causal_lm` shifts them once more."""
    changed = dict(batch)
    for name in batch:
        if name.endswith("labels"):
            changed[name] = torch.nn.functional.pad(batch[name][:, 1:], (0, 1), value=IGNORED)
    return changed


WAYS = {
    "no replay": Way(replace(FULL.tune, replay=0)),
    "no conversations": Way(replace(FULL.tune, conversations=0)),
    "loss on the prompt": Way(change=on_the_prompt),
    "labels shifted twice": Way(change=shifted),
    "no causal mask": Way(causal=False),
    "no pre-training": Way(pretrained=False),
}


def broken_run(run: Run, name: str, folder: Path) -> Run:
    """A run of its own that shares the tokenizer and the pre-training with `run`."""
    settings = replace(WAYS[name].settings, steps=run.recipe.tune.steps)
    recipe = replace(run.recipe, tune=settings)
    found = replace(run, folder=folder / name.replace(" ", "-"), recipe=recipe)
    for stage in ("tokenizer", "pretrain"):
        if not found.path(stage).exists():
            found.folder.mkdir(parents=True, exist_ok=True)
            found.path(stage).symlink_to(run.path(stage), target_is_directory=True)
    return found


def uncausal(q, k, v, mask, cache):
    """Attention that sees later tokens as well."""
    return attention(q, k, v, mask)


def tune_broken(run: Run, way: Way) -> None:
    """Tune as `way` says and keep the weights; what is finished is not done again."""
    if run.path("tune", WEIGHTS).exists():
        return
    text, examples, model = load_text(run), tune.Examples(run), make_model(run)
    if way.pretrained:
        run.load_weights("pretrain", model)
    attend = llama.causal_attention if way.causal else uncausal
    with mock.patch.object(llama, "causal_attention", attend):
        train_stage(
            run,
            "tune",
            model,
            tune.tuning_objective(run.recipe.tune.replay_weight),
            lambda step: way.change(tune.tuning_batch(run, examples, text, step)),
        )


def scores_after_tuning(run: Run) -> dict:
    """Bits per byte, and scores of first and of third questions."""
    scorer = Scorer(run, run.load_weights("tune", make_model(run)))
    third = {
        kind: score(scorer.judged(scorer.items(kind)[::3], before=EARLIER[:2]))
        for kind in tasks.KINDS
    }
    return {
        "bits_per_byte": held_out_bits(run, scorer.model, load_text(run)),
        "scores": right(scorer, scorer.examples.prompt),
        "third_turn": third,
    }


def tuning(run: Run, folder: Path, names: Sequence[str]) -> dict:
    """The tuning stage with one thing changed, for each name."""
    found = {}
    for name in names:
        broken = broken_run(run, name, folder)
        tune_broken(broken, WAYS[name])
        found[name] = scores_after_tuning(broken)
        shares = {kind: one["share"] for kind, one in found[name]["scores"].items()}
        print(name, found[name]["bits_per_byte"], shares, flush=True)
    return found


def main() -> None:
    """Measure the parts that are asked for, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--part", choices=("serving", "tuning"), action="append")
    parser.add_argument("--way", choices=tuple(WAYS), action="append", help="all without it")
    parser.add_argument("--folder", type=Path, default=cache_dir() / "capstone")
    parser.add_argument("--broken", type=Path, default=cache_dir() / "capstone_broken")
    parser.add_argument("--tiny", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(1)
    recipe = TINY if args.tiny else FULL
    run = Run(args.folder / f"seed-{args.seed}", args.seed, recipe, "cpu", Parts())
    if not run.is_finished("reinforce"):
        print(f"{run.folder} has no finished run: python bench/trained/capstone.py makes it")
        sys.exit(77)
    kept = read_json(RESULTS / f"{NAME}.json")
    found = {part: kept[part] for part in ("serving", "tuning") if part in kept}
    for part in args.part or ("serving", "tuning"):
        if part == "serving":
            found[part] = serving(run)
        else:
            found[part] = found.get(part, {}) | tuning(run, args.broken, args.way or tuple(WAYS))
    if not args.tiny:
        save(NAME, versions=("torch", "safetensors", "regex"), seed=args.seed, **found)


if __name__ == "__main__":
    main()

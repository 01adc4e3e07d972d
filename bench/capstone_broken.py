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
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path.insert(0, str(Path(__file__).resolve().parent))

import torch  # noqa: E402  (threads are set before torch starts)
from record import RESULTS, save  # noqa: E402

from course.capstone import tasks, tune  # noqa: E402
from course.capstone.parts import Parts  # noqa: E402
from course.capstone.pretrain import held_out_bits, make_model, training_config  # noqa: E402
from course.capstone.report.decode import decode, text_of  # noqa: E402
from course.capstone.report.evaluate import EARLIER, Scorer, score  # noqa: E402
from course.capstone.settings import FULL, TINY  # noqa: E402
from course.capstone.stages import Run  # noqa: E402
from course.capstone.tokenizer import END, START, load_text  # noqa: E402
from reference_impl.corpora import cache_dir  # noqa: E402
from reference_impl.corpora.cache import read_json  # noqa: E402
from reference_impl.objectives.batches import Batch  # noqa: E402
from reference_impl.objectives.supervised import Message  # noqa: E402
from reference_impl.objectives.terms import IGNORED  # noqa: E402
from reference_impl.training.loop import train  # noqa: E402

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


def on_the_prompt(batch: Batch) -> Batch:
    """The batch with a label on every token of a conversation."""
    changed = dict(batch)
    for name in ("short", "sums", "talks"):
        if f"{name}.ids" in batch:
            ids, mask = batch[f"{name}.ids"], batch[f"{name}.mask"]
            changed[f"{name}.labels"] = torch.where(mask.bool(), ids, IGNORED)
    return changed


def tuned(run: Run, settings, change: Callable[[Batch], Batch]) -> dict:
    """Tune with other settings or batches; bits per byte and scores of the result."""
    text, examples = load_text(run), tune.Examples(run)
    other = replace(run, recipe=replace(run.recipe, tune=settings))
    model = run.load_weights("pretrain", make_model(run))
    config = replace(training_config(settings, run.seed), checkpoint_every=None)
    objective = tune.tuning_objective(settings.replay_weight)
    train(
        model,
        objective,
        lambda step: change(tune.tuning_batch(other, examples, text, step)),
        config,
    )
    scorer = Scorer(run, model)
    found = right(scorer, examples.prompt)
    third = {
        kind: score(scorer.judged(scorer.items(kind)[::3], before=EARLIER[:2]))
        for kind in tasks.KINDS
    }
    bits = held_out_bits(run, model.eval(), text)
    return {"bits_per_byte": bits, "scores": found, "third_turn": third}


def tuning(run: Run) -> dict:
    """The tuning stage with one thing left out."""
    settings = run.recipe.tune
    ways = {
        "no replay": (replace(settings, replay=0), dict),
        "no conversations": (replace(settings, conversations=0), dict),
        "loss on the prompt": (settings, on_the_prompt),
    }
    found = {}
    for name, (changed, change) in ways.items():
        found[name] = tuned(run, changed, change)
        shares = {kind: one["share"] for kind, one in found[name]["scores"].items()}
        print(name, found[name]["bits_per_byte"], shares, flush=True)
    return found


def main() -> None:
    """Measure the parts that are asked for, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--part", choices=("serving", "tuning"), action="append")
    parser.add_argument("--folder", type=Path, default=cache_dir() / "capstone")
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
        found[part] = {"serving": serving, "tuning": tuning}[part](run)
    if not args.tiny:
        save(NAME, versions=("torch", "safetensors", "regex"), seed=args.seed, **found)


if __name__ == "__main__":
    main()

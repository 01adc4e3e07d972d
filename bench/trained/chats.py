"""Make a model answer: the small GPT learns definitions as chats, with the loss on answers, on all,
or without the end.

    python bench/trained/chats.py              after gpt.py; about four minutes on one core

A chat is a question, "What is WORD?", and a definition (Open English WordNet), laid out by
`ChatML`. The two brackets are new tokens, with new rows at the end of the table. Three kinds of run
go on from `gpt.py`, all in the same steps with the same chats:

- answers: labels on the answer and on the token that ends it;
- all: labels on every token;
- no end: labels on the answer, not on its end. These are also the labels that come of padding with
  the end's id and then taking that id out of the labels wherever it stands.

Measured on held-out words: nats a token of the answer, the same under another word's question (does
the answer depend on the question?), and how many sampled answers end within 40 tokens. Three seeds;
the record's seconds are those of the last start. A longer run of "answers" is kept:
`small_model("gpt_chat")`.
"""

import argparse
import ast
import dataclasses
import os
import shutil
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch  # noqa: E402  (threads are set before torch starts)
from gpt import CONFIG, load_trained  # noqa: E402
from gpt import NAME as GPT_NAME
from record import save  # noqa: E402
from texts import definitions, folder, losses_of_first_steps, split  # noqa: E402

from reference_impl.corpora.small_models import add_figures, keep, small_model  # noqa: E402
from reference_impl.generation.loop import generate  # noqa: E402
from reference_impl.generation.sampling_params import SamplingParams  # noqa: E402
from reference_impl.models.gpt import GPT  # noqa: E402
from reference_impl.objectives.batches import Batch  # noqa: E402
from reference_impl.objectives.causal_lm import causal_lm  # noqa: E402
from reference_impl.objectives.supervised import (
    ChatML,
    Example,
    Message,
    supervised_batch,
)  # noqa: E402
from reference_impl.objectives.terms import IGNORED  # noqa: E402
from reference_impl.tokenizers.byte_level import ByteLevelBPE  # noqa: E402
from reference_impl.training.loop import TrainingConfig, train  # noqa: E402

NAME, KEPT_STEPS, STEPS, SEEDS, RATE, BATCH, LONGEST = "gpt_chat", 200, 80, 3, 1e-3, 24, 96
START, END = CONFIG.vocab_size, CONFIG.vocab_size + 1  # the brackets, after all pieces of text
KINDS = ("answers", "all", "no end")
Chat = tuple[str, str]


def chats(text: str) -> list[Chat]:
    """A question and its answer for each line of a dictionary."""
    lines = (line.partition(" ") for line in text.splitlines())
    return [(f"What is {word}?", gloss) for word, _, gloss in lines if gloss]


def layout(tokenizer: ByteLevelBPE) -> ChatML:
    """How chats are laid out with this tokenizer."""
    return ChatML(tokenizer.encode, START, END)


def with_brackets() -> GPT:
    """The model of `gpt.py` with two more rows in its table, the mean of the others and a little
    chance.
    """
    old = load_trained()[0]
    torch.manual_seed(1)
    model = GPT(dataclasses.replace(CONFIG, vocab_size=CONFIG.vocab_size + 2))
    weights = old.state_dict()
    for name in ("embedding.weight", "output.weight"):
        rows = weights[name]
        weights[name] = torch.cat(
            [
                rows,
                rows.mean(0)
                + 0.02 * torch.randn(2, rows.shape[1], generator=torch.Generator().manual_seed(1)),
            ]
        )
    model.load_state_dict(weights)
    return model


def example(tokenizer: ByteLevelBPE, chat: Chat, kind: str = "answers") -> Example:
    """A chat as ids and labels; cut to LONGEST tokens."""
    ids, labels = layout(tokenizer).example(
        [Message("user", chat[0]), Message("assistant", chat[1])]
    )
    if kind == "all":
        labels = [IGNORED, *ids[1:]]
    elif kind == "no end":
        labels = [IGNORED if label == END else label for label in labels]
    return Example(ids[:LONGEST], labels[:LONGEST])


def batches_of(tokenizer: ByteLevelBPE, known: list[Chat], kind: str = "answers", seed: int = 0):
    """Chats drawn at random; batch i is a function of i and the seed alone."""

    def batch(index: int) -> Batch:
        generator = torch.Generator().manual_seed(seed * 1_000_003 + index)
        drawn = torch.randint(len(known), (BATCH,), generator=generator).tolist()
        return supervised_batch([example(tokenizer, known[i], kind) for i in drawn])

    return batch


def training(steps: int) -> TrainingConfig:
    """How it is trained, in so many steps."""
    return TrainingConfig(
        num_steps=steps,
        learning_rate=RATE,
        warmup_steps=10,
        min_learning_rate=RATE / 20,
        weight_decay=0.1,
        betas=(0.9, 0.95),
    )


def first_losses(count: int) -> list[float]:
    """The losses of the first steps of the kept model, trained anew; nothing is kept."""
    tokenizer = load_trained()[1]
    return losses_of_first_steps(
        count,
        with_brackets(),
        causal_lm,
        batches_of(tokenizer, chats(split(definitions())[0])),
        training(KEPT_STEPS),
    )


@torch.no_grad()
def nats(model: GPT, tokenizer: ByteLevelBPE, asked: list[Chat], kind: str = "no end") -> float:
    """Nats a token over the answers; their ends are left out, which one kind of run never
    learned.
    """
    terms = [
        causal_lm(
            model,
            supervised_batch([example(tokenizer, chat, kind) for chat in asked[at : at + 64]]),
        )
        for at in range(0, len(asked), 64)
    ]
    return sum(float(one.total) for one in terms) / sum(one.count for one in terms)


def held_out(every: int = 1) -> list[Chat]:
    """Some 340 chats of words that no training saw, or each so-manieth of them."""
    return chats(split(definitions())[1])[::20][::every]


def figures(model: GPT, tokenizer: ByteLevelBPE, every: int = 1) -> dict[str, float]:
    """Nats a token of held-out answers."""
    asked = held_out(every)
    return {"nats_per_token": round(nats(model, tokenizer, asked), 4), "chats": len(asked)}


def answers(
    model: GPT, tokenizer: ByteLevelBPE, asked: list[Chat], most: int = 40
) -> list[tuple[str, bool]]:
    """What the model says to each question, sampled, and whether it ended by itself."""
    prompts = [layout(tokenizer).prompt([Message("user", question)]) for question, _ in asked]
    params = [
        SamplingParams(
            temperature=0.7, top_p=0.95, max_tokens=most, seed=number, stop_token_ids=(END,)
        )
        for number in range(len(asked))
    ]
    said = generate(model, prompts, params)
    return [
        (shown(tokenizer, list(one.ids)), END in one.ids or one.finish_reason == "stop")
        for one in said
    ]


def shown(tokenizer: ByteLevelBPE, ids: list[int]) -> str:
    """Ids as text, the brackets written out."""
    marks = {START: "<|im_start|>", END: "<|im_end|>"}
    parts, run = [], []
    for token in [*ids, END]:
        if token in marks:
            parts += [tokenizer.decode(run), marks[token]]
            run = []
        else:
            run.append(token)
    return "".join(parts[:-1])


def measure(model: GPT, tokenizer: ByteLevelBPE) -> dict[str, float]:
    """Of held-out chats: nats, nats under another's question, and the share of answers that end."""
    asked = held_out()
    turned = [(other[0], mine[1]) for mine, other in zip(asked, asked[1:] + asked[:1], strict=True)]
    said = answers(model, tokenizer, asked[::5])
    return {
        "nats": round(nats(model, tokenizer, asked), 4),
        "nats_under_another_question": round(nats(model, tokenizer, turned), 4),
        "ended": round(sum(ended for _, ended in said) / len(said), 4),
    }


def run(
    tokenizer: ByteLevelBPE, known: list[Chat], kind: str, seed: int, steps: int
) -> tuple[GPT, list[float]]:
    """Train one model; it and the losses."""
    model = with_brackets()
    history = train(
        model, causal_lm, batches_of(tokenizer, known, kind, seed), training(steps), progress=False
    ).history
    return model.eval(), [row["loss"] for row in history]


def main() -> None:
    """Train each kind, measure, write bench/results/trained_chats.json."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--kept-steps", type=int, default=KEPT_STEPS)
    parser.add_argument(
        "--resume", type=Path, help="what an interrupted run printed: its runs are not made again"
    )
    args = parser.parse_args()
    torch.set_num_threads(1)
    tokenizer, known = load_trained()[1], chats(split(definitions())[0])
    started, runs = (
        time.process_time(),
        (
            [ast.literal_eval(line) for line in args.resume.read_text().splitlines()]
            if args.resume
            else []
        ),
    )
    done = {(one["kind"], one["seed"]) for one in runs}
    plan = [(kind, seed) for seed in range(SEEDS) for kind in KINDS]
    samples: dict[str, list[str]] = {}
    tried = [(f"What is {word}?", "") for word in ("bank", "river", "money")]
    for kind, seed in plan:
        if (kind, seed) in done:
            continue
        model, losses = run(tokenizer, known, kind, seed, args.steps)
        runs.append(
            {
                "kind": kind,
                "chats": len(known),
                "seed": seed,
                "last_loss": round(sum(losses[-10:]) / 10, 4),
                **measure(model, tokenizer),
            }
        )
        print(runs[-1], flush=True)
    model, losses = run(tokenizer, known, "answers", 0, args.kept_steps)
    keep(
        NAME,
        "gpt",
        model.config,
        model,
        script="bench/trained/chats.py",
        seed=0,
        corpora=["kjv", "oewn_glosses"],
        steps=args.kept_steps,
        first_losses=losses[:20],
    )
    shutil.copyfile(folder(GPT_NAME) / "bpe.json", folder(NAME) / "bpe.json")
    kept = small_model(NAME)
    add_figures(
        NAME, figures(kept.model, kept.tokenizer), figures(kept.model, kept.tokenizer, every=4)
    )
    samples["kept"] = [text for text, _ in answers(kept.model, tokenizer, tried, most=60)]
    one = [example(tokenizer, chat) for chat in held_out()]
    save(
        "trained_chats",
        versions=("torch", "numpy"),
        seeds=SEEDS,
        steps=args.steps,
        batch=BATCH,
        chats=len(known),
        cpu_seconds=round(time.process_time() - started),
        kept={"steps": args.kept_steps, **measure(kept.model, tokenizer)},
        labels={
            "tokens": sum(len(row.ids) for row in one),
            "learned": sum(label != IGNORED for row in one for label in row.labels),
        },
        before=measure(with_brackets().eval(), tokenizer),
        runs=runs,
        asked=[question for question, _ in tried],
        samples=samples,
    )


if __name__ == "__main__":
    main()

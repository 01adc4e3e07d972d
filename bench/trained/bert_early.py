"""The small BERT on its way: what it fills in after so many steps, and its weights at step 100,
where it leaves the start.

    python bench/trained/bert_early.py        about three minutes on one core

The training is that of bench/trained/bert.py, stopped at step 1,000 of 2,400. Kept are the weights
at step 100, as bert_kjv_early: hardly below the loss of a unigram, so that twenty steps more can be
seen. Of the other steps the record has fillings only.

Beside the stages stands what a side is worth. One blank in the middle of held-out stretches is
filled by the finished model, with both sides, with one cut off, and with both cut to half: a
stretch of training begins anywhere, so a cut text is nothing new to it.
"""

import argparse
import contextlib
import os
import sys
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch  # noqa: E402  (threads are set before torch starts)
from bert import (  # noqa: E402
    CONFIG,
    LENGTH,
    MASK_ID,
    VOCAB_SIZE,
    as_tokens,
    at_blanks,
    batches_of,
    figures,
    held_out_batch,
    measure,
    new_model,
    training,
)
from bert import NAME as FINISHED  # noqa: E402
from record import save  # noqa: E402
from texts import folder, scripture, split  # noqa: E402
from torch import Tensor  # noqa: E402

from reference_impl.corpora.small_models import (
    add_figures,
    card,
    keep,
    small_model,
    tokenizer,
)  # noqa: E402
from reference_impl.models.bert import BertForMaskedLM  # noqa: E402
from reference_impl.models.fill_mask import fill_mask  # noqa: E402
from reference_impl.models.ngram import KneserNey  # noqa: E402
from reference_impl.tokenizers.tokenizer import Tokenizer  # noqa: E402
from reference_impl.training.loop import train  # noqa: E402

NAME, KEPT, STAGES = "bert_kjv_early", 100, (0, 100, 300, 1000)
TEXTS = (
    "and the lord said unto [MASK], speak unto the children of israel",
    "and it came to pass in those [MASK], that he went out",
    "we sat on the [MASK] of the river",
    "the bank lends [MASK]",
    "he went to the [MASK] to withdraw money.",
    "the cat sat on the [MASK]",
    "the [MASK] sat on the mat",
    "bert is [MASK]!",
    "let there be [MASK]: and there was [MASK].",
)


class _ReachedError(Exception):
    """Ends a training at the last stage."""


@torch.no_grad()
def filled(model: BertForMaskedLM, own: Tokenizer) -> dict[str, list[dict[str, float]]]:
    """For each text, for each of its blanks, the five likeliest tokens and their probabilities."""
    return {
        text: [
            {own.vocabulary.token(one.token): round(one.probability, 4) for one in best}
            for best in fill_mask(
                model, torch.tensor([own.encode(text, add_specials=False).ids]), MASK_ID
            )[0]
        ]
        for text in TEXTS
    }


@torch.no_grad()
def sides(
    model: BertForMaskedLM, tokens: Tensor, held: Tensor, every: int = 16
) -> dict[str, dict[str, float]]:
    """Nats and share right at one blank in the middle of stretches, by what the model is shown of
    both sides.
    """
    middle = LENGTH // 2
    starts = torch.arange(0, len(held) - LENGTH, every)
    rows = held[starts[:, None] + torch.arange(LENGTH)]
    truth = rows[:, middle].clone()
    left, right = rows[:, middle - 1], rows[:, middle + 1]
    rows[:, middle] = MASK_ID
    shown = {
        "both sides": (0, LENGTH),
        "left only": (0, middle + 1),
        "right only": (middle, LENGTH),
        "both sides, as many words as the left": (middle // 2, middle // 2 + middle + 1),
    }
    found = {}
    for name, (begin, end) in shown.items():
        logits = torch.cat(
            [model(part)[:, middle - begin] for part in rows[:, begin:end].split(256)]
        )
        found[name] = {
            "nats": float(torch.nn.functional.cross_entropy(logits, truth)),
            "accuracy": float((logits.argmax(-1) == truth).float().mean()),
        }
    table = {
        way: KneserNey([sequence.tolist()], VOCAB_SIZE, 2)
        for way, sequence in (("left", tokens), ("right", tokens.flip(0)))
    }
    after = {
        way: torch.stack(
            [torch.from_numpy(pairs.distribution([token])) for token in range(VOCAB_SIZE)]
        )
        for way, pairs in table.items()
    }
    counts = {
        "bigram, left": after["left"][left],
        "bigram, right": after["right"][right],
        "bigram, both sides": after["left"][left] * after["left"][:, right].T,
    }  # p(w | left) p(right | w)
    for name, shares in counts.items():
        chosen = shares[torch.arange(len(truth)), truth] / shares.sum(1)
        found[name] = {
            "nats": float(-chosen.log().mean()),
            "accuracy": float((shares.argmax(1) == truth).float().mean()),
        }
    found["blanks"] = len(truth)
    return found


def main() -> None:
    """Train to the last stage, keep the weights of one, write
    bench/results/trained_bert_early.json.
    """
    argparse.ArgumentParser(description=__doc__.split("\n", 1)[0]).parse_args()
    torch.set_num_threads(1)
    own, train_text = tokenizer(FINISHED), split(scripture())[0]
    tokens = as_tokens(own, train_text)
    blanks, held = held_out_batch(own)
    some = {key: tensor[::5] for key, tensor in blanks.items()}
    model, stages, step = new_model(tokens), {}, 0

    def look(model: BertForMaskedLM) -> dict[str, float]:
        nonlocal step
        if step in STAGES:
            stages[step] = {
                **{key: round(value, 4) for key, value in measure(model, some).items()},
                "filled": filled(model, own),
            }
        if step == KEPT:
            (folder(NAME)).mkdir(parents=True, exist_ok=True)
            (folder(NAME) / "vocab.txt").write_bytes((folder(FINISHED) / "vocab.txt").read_bytes())
            keep(
                NAME,
                "bert",
                CONFIG,
                model,
                script="bench/trained/bert_early.py",
                seed=0,
                corpora=["kjv"],
                steps=KEPT,
                first_losses=[],
            )  # they are those of bert_kjv
        if step == STAGES[-1]:
            raise _ReachedError
        step += 100
        return {}

    look(model.eval())
    with contextlib.suppress(_ReachedError):
        train(model, at_blanks, batches_of(tokens), training(card(FINISHED)["steps"]), look)
    early, finished = (
        small_model(NAME).model,
        small_model(FINISHED).model,
    )  # what is measured from here on is what was kept
    add_figures(NAME, figures(early, own), figures(early, own, every=5))
    stages[card(FINISHED)["steps"]] = {
        **{key: round(value, 4) for key, value in measure(finished, some).items()},
        "filled": filled(finished, own),
    }
    worth = sides(finished, tokens, held)
    for name, row in worth.items():
        print(name, row)
    save(
        "trained_bert_early",
        versions=("torch", "numpy"),
        seed=0,
        kept=KEPT,
        measured_on=f"{len(some['ids'])} held-out stretches",
        stages={str(key): value for key, value in stages.items()},
        sides={
            name: (
                {key: round(value, 4) for key, value in row.items()}
                if isinstance(row, dict)
                else row
            )
            for name, row in worth.items()
        },
    )


if __name__ == "__main__":
    main()

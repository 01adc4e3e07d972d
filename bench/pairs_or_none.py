"""Pairs of texts or running text: next-sentence prediction left out, in its two halves, at equal
steps.

    python bench/pairs_or_none.py [--steps 250]        about three minutes on one core

Each run continues from the small BERT at its step 100 (bench/trained/bert_early.py). Three kinds:

- pairs and the task: [CLS] and [SEP], two stretches of 14 and 15 tokens, the second from elsewhere
  in half of the cases; blanks and the yes or no are learned together;
- pairs without the task: the same rows, blanks alone;
- running text: [CLS], 30 tokens in a row, [SEP]; blanks alone.

"Elsewhere" is another place of the text. 15 % of the tokens are blanks. Measured on held-out text
laid out in both ways, at blanks that are always the same; and how many pairs are told. Five seeds.
A verdict on tasks that are fine-tuned on top, which is what the papers compare, is not in here.
"""

import argparse
import copy
import time

from short_runs import (
    BATCH,
    MASK_ID,
    apart,
    blanked,
    learn,
    measure,
)  # it sets threads before torch starts

# isort: split
import torch
from bert import as_tokens
from record import save
from texts import scripture, split
from torch import Tensor, nn

from reference_impl.corpora.small_models import small_model
from reference_impl.models.bert import BertForMaskedLM, BertForPreTraining
from reference_impl.objectives.terms import Terms, token_terms
from reference_impl.tokenizers.wordpiece_training import BERT_SPECIALS

SEEDS, SHARE, RATE = 5, 0.15, 1e-3
KINDS = ("pairs and the task", "pairs without the task", "running text")
CLS, SEP = (BERT_SPECIALS.index(token) for token in ("[CLS]", "[SEP]"))
FIRST, SECOND = 14, 15  # tokens of each text: with three special ones, 32
assert MASK_ID not in (CLS, SEP)


def in_pairs(tokens: Tensor, generator: torch.Generator, count: int = BATCH) -> dict[str, Tensor]:
    """Pairs (B, 32) with segments and labels: 0, the second follows; 1, it is from elsewhere."""
    starts, elsewhere = (
        torch.randint(len(tokens) - 32, (count,), generator=generator) for _ in range(2)
    )
    labels = torch.randint(2, (count,), generator=generator)
    second = torch.where(labels.bool(), elsewhere, starts + FIRST)
    one = tokens[starts[:, None] + torch.arange(FIRST)]
    other = tokens[second[:, None] + torch.arange(SECOND)]
    cls, sep = (torch.full((count, 1), id) for id in (CLS, SEP))
    rows = torch.cat([cls, one, sep, other, sep], 1)
    segments = (torch.arange(32) > FIRST + 1).long().expand(count, -1)
    return {**blanked(rows, generator, SHARE), "segments": segments, "pair_labels": labels}


def running(tokens: Tensor, generator: torch.Generator, count: int = BATCH) -> dict[str, Tensor]:
    """Running text (B, 32) between [CLS] and [SEP]."""
    starts = torch.randint(len(tokens) - 32, (count,), generator=generator)
    cls, sep = (torch.full((count, 1), id) for id in (CLS, SEP))
    return blanked(
        torch.cat([cls, tokens[starts[:, None] + torch.arange(30)], sep], 1), generator, SHARE
    )


def blanks_and_pairs(model: BertForPreTraining, batch: dict[str, Tensor]) -> Terms:
    """`objectives.next_sentence.masked_lm_and_pairs`, the logits of tokens computed at the blanks
    alone.
    """
    tokens, pooled = model.bert(batch["ids"], batch["segments"])
    chosen = batch["labels"] != -100
    blanks = token_terms(model.masked_lm(tokens[chosen]), batch["labels"][chosen])
    return blanks.plus(token_terms(model.next_sentence(pooled), batch["pair_labels"]))


def blanks_alone(model: BertForPreTraining, batch: dict[str, Tensor]) -> Terms:
    """The blanks, with segments where there are any."""
    chosen = batch["labels"] != -100
    vectors = model.bert(batch["ids"], batch.get("segments")).tokens[chosen]
    return token_terms(model.masked_lm(vectors), batch["labels"][chosen])


def begin(early: BertForMaskedLM) -> BertForPreTraining:
    """The early model with the head for pairs, which is drawn."""
    torch.manual_seed(0)
    model = BertForPreTraining(early.config)
    missing, unknown = model.load_state_dict(copy.deepcopy(early.state_dict()), strict=False)
    assert not unknown and all("next_sentence" in name or "pooler" in name for name in missing)
    return model


class _Filling(nn.Module):
    """What `measure` reads of a model: the encoder, with the segments of a layout, and the head for
    blanks.
    """

    def __init__(self, model: BertForPreTraining, segments: Tensor | None):
        super().__init__()
        self.model, self.segments, self.masked_lm = model, segments, model.masked_lm

    def bert(self, ids: Tensor):
        """As BERT's, for rows of one layout."""
        return self.model.bert(
            ids, None if self.segments is None else self.segments[:1].expand(len(ids), -1)
        )


@torch.no_grad()
def judged(model: BertForPreTraining, pairs: dict[str, Tensor], text: dict[str, Tensor]) -> dict:
    """Blanks in both layouts, and the share of pairs told."""
    found = {
        name: measure(
            _Filling(model, batch.get("segments")), {key: batch[key] for key in ("ids", "labels")}
        )
        for name, batch in (("in_pairs", pairs), ("in_running_text", text))
    }
    told = (
        model.next_sentence(model.bert(pairs["ids"], pairs["segments"]).pooled).argmax(-1)
        == pairs["pair_labels"]
    )
    return {**found, "pairs_told": round(float(told.double().mean()), 4)}


def main() -> None:
    """Train each kind, measure, write bench/results/pairs_or_none.json."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--steps", type=int, default=250)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    args = parser.parse_args()
    torch.set_num_threads(1)
    early = small_model("bert_kjv_early")
    tokens, held = (as_tokens(early.tokenizer, part) for part in split(scripture()))
    pairs, text = in_pairs(held, apart(90, 0), 1200), running(held, apart(90, 1), 1200)
    make = {
        "pairs and the task": (in_pairs, blanks_and_pairs),
        "pairs without the task": (in_pairs, blanks_alone),
        "running text": (running, blanks_alone),
    }
    started, runs = time.process_time(), []
    for seed in range(args.seeds):
        for kind in KINDS:
            layout, objective = make[kind]
            model = begin(early.model)
            learn(
                model,
                objective,
                lambda index, layout=layout, seed=seed: layout(tokens, apart(seed, index)),
                steps=args.steps,
                rate=RATE,
                seed=seed,
            )
            runs.append({"kind": kind, "seed": seed, **judged(model, pairs, text)})
            print(runs[-1], flush=True)
    save(
        "pairs_or_none",
        versions=("torch",),
        steps=args.steps,
        learning_rate=RATE,
        share=SHARE,
        held_out_rows=len(pairs["ids"]),
        cpu_seconds=round(time.process_time() - started),
        before=judged(begin(early.model).eval(), pairs, text),
        runs=runs,
    )


if __name__ == "__main__":
    main()

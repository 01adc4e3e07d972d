"""Train an MLM head for MiniLM, so that it fills masks in present-day English.

    python bench/trained/fill_mask.py [--steps 420]        about six minutes on one core

MiniLM was published as an encoder of sentences, without the head that fills masks. Here it gets one
(see `reference_impl.models.adapted_masked_lm`): 0.84 million trained parameters, over an encoder of
22 million that stays as it is. It reads definitions of Open English WordNet ("lemma definition")
and sentences of film reviews, one text a sequence, with 30 % of the tokens masked, each by [MASK].

Measured on held-out definitions and reviews with 15 % masked, and on forty sentences written by
hand for this script before anything was trained. Baselines are the unigram, which the head starts
as, and, with `--counts`, bigrams from both sides, counted on the texts that the training reads.
"""

import argparse
import os
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch  # noqa: E402  (threads are set before torch starts)
from record import save  # noqa: E402
from texts import losses_of_first_steps  # noqa: E402
from torch import Tensor  # noqa: E402

from reference_impl import corpora  # noqa: E402
from reference_impl.corpora.small_models import add_figures, keep, small_model  # noqa: E402
from reference_impl.models.adapted_masked_lm import adapted_masked_lm, trained_parts  # noqa: E402
from reference_impl.models.bert import Bert, BertForMaskedLM  # noqa: E402
from reference_impl.objectives.masked_lm import Masking  # noqa: E402
from reference_impl.objectives.terms import IGNORED, Terms, token_terms  # noqa: E402
from reference_impl.tokenizers.tokenizer import Tokenizer  # noqa: E402
from reference_impl.training.loop import TrainingConfig, train  # noqa: E402

NAME, RANK, STEPS, LETTERS = "minilm_fill_mask", 16, 420, 2400
CLOZE = (
    ("We sat on the [MASK] of the river.", "bank"),
    ("He went to the [MASK] to withdraw money.", "bank"),
    ("The bank lends [MASK].", "money"),
    ("She drank a cup of [MASK].", "tea coffee"),
    ("A doctor works in a [MASK].", "hospital"),
    ("A dog is an [MASK] that barks.", "animal"),
    ("Birds can [MASK] in the sky.", "fly"),
    ("He plays the [MASK] in an orchestra.", "violin piano"),
    ("They are [MASK] home.", "going at"),
    ("I have been waiting [MASK] you.", "for"),
    ("The capital of France is [MASK].", "paris"),
    ("Ice is frozen [MASK].", "water"),
    ("The sun rises in the [MASK].", "east morning"),
    ("He opened the door with a [MASK].", "key"),
    ("The [MASK] is the ruler of a kingdom.", "king"),
    ("A triangle has three [MASK].", "sides angles"),
    ("She was born in [MASK] of 1990.", "january march may april june july august"),
    ("Bread is made from [MASK].", "flour wheat"),
    ("The film is too [MASK].", "long slow short"),
    ("This is one of the best [MASK] of the year.", "films movies"),
    ("The actors are [MASK] good.", "very really"),
    ("A surgeon performs an [MASK].", "operation"),
    ("The ship crossed the [MASK].", "sea ocean"),
    ("He is taller [MASK] his brother.", "than"),
    ("We need [MASK] buy some food.", "to"),
    ("The opposite of hot is [MASK].", "cold"),
    ("Snow is [MASK].", "white cold"),
    ("A week has seven [MASK].", "days"),
    ("The author wrote a [MASK].", "book novel"),
    ("They drove the [MASK] to the city.", "car bus truck"),
    ("Fish live in [MASK].", "water"),
    ("He was sent to [MASK] for his crimes.", "prison jail"),
    ("The teacher gave the [MASK] a book.", "students student children boy girl child"),
    ("Wine is made from [MASK].", "grapes"),
    ("The judge sits in the [MASK].", "court courtroom"),
    ("A carpenter works with [MASK].", "wood"),
    ("The child was afraid of the [MASK].", "dark"),
    ("You see with your [MASK].", "eyes"),
    ("The farmer milked the [MASK].", "cow cows"),
    ("She [MASK] a letter to her mother.", "wrote sent"),
)
"""Sentences with one mask, and the words that count as right there."""


@lru_cache
def texts() -> tuple[list[str], dict[str, list[str]]]:
    """What is trained on, sorted by length, and what is held out: every twentieth hundred of a
    corpus, so that neighbours stay together.
    """
    sources = {
        "definitions": corpora.load("oewn_glosses"),
        "reviews": [snippet.text for snippet in corpora.load("sentiment")],
    }
    read = [
        text
        for name, rows in sources.items()
        for n, text in enumerate(rows)
        if n // 100 % 20 != 10 and 20 <= len(text) <= 200
        for _ in range(3 if name == "reviews" else 1)
    ]
    held = {
        name: [text for n, text in enumerate(rows) if n // 100 % 20 == 10 and len(text) <= 200]
        for name, rows in sources.items()
    }
    return sorted(read, key=len), {
        "definitions": held["definitions"][::20],
        "reviews": held["reviews"][::2],
    }


def masking(share: float) -> Masking:
    """Every chosen token becomes [MASK]."""
    tokens = corpora.load("bert_tokenizer").vocabulary.tokens
    special = [tokens.index(f"[{name}]") for name in ("PAD", "UNK", "CLS", "SEP", "MASK")]
    return Masking(special[-1], len(tokens), special, share=share, masked=1.0, replaced=0.0)


def batches_of(read: list[str], share: float = 0.3) -> Callable[[int], dict[str, Tensor]]:
    """About LETTERS letters of texts of one length, masked; batch i is a function of i alone."""
    tokenizer, masks = corpora.load("bert_tokenizer"), masking(share)

    def batch(index: int) -> dict[str, Tensor]:
        generator = torch.Generator().manual_seed(index)
        first = int(torch.randint(len(read), (), generator=generator))
        count = LETTERS // len(read[first])
        first = min(first, len(read) - count)
        rows = [tokenizer.encode(text).ids for text in read[first : first + count]]
        return masks(rows, generator)

    return batch


def masked_logits(model: BertForMaskedLM, batch: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
    """Logits (N, V) and labels (N,) at the masked positions: the head runs nowhere else."""
    chosen = batch["labels"] != IGNORED
    tokens = model.bert(batch["ids"], mask=batch["mask"]).tokens
    return model.masked_lm(tokens[chosen]), batch["labels"][chosen]


def at_masks(model: BertForMaskedLM, batch: dict[str, Tensor]) -> Terms:
    """`objectives.masked_lm`, computed at the masked positions alone."""
    return token_terms(*masked_logits(model, batch))


def frequencies() -> Tensor:
    """How frequent tokens are, by every tenth text; half a count for each that does not occur."""
    tokenizer = corpora.load("bert_tokenizer")
    ids = [id for text in texts()[0][::10] for id in tokenizer.encode(text).ids[1:-1]]
    counts = torch.bincount(torch.tensor(ids), minlength=len(tokenizer.vocabulary)) + 0.5
    return counts / counts.sum()


def new_model(encoder: Bert | None = None) -> BertForMaskedLM:
    """MiniLM, or another encoder, with a head that is a unigram model."""
    torch.manual_seed(0)
    return adapted_masked_lm(
        encoder or corpora.load("minilm"), masking(0.3).mask_id, RANK, frequencies()
    ).eval()


def training(steps: int) -> TrainingConfig:
    """One learning rate for head, [MASK] and low-rank updates."""
    return TrainingConfig(
        num_steps=steps,
        learning_rate=3e-3,
        warmup_steps=20,
        schedule="linear",
        betas=(0.9, 0.98),
        weight_decay=0.0,
    )


def first_losses(count: int) -> list[float]:
    """The losses of the first steps, trained anew; nothing is kept."""
    return losses_of_first_steps(
        count, new_model(), at_masks, batches_of(texts()[0]), training(STEPS)
    )


@torch.no_grad()
def measure(model: BertForMaskedLM, every: int = 1) -> dict[str, dict[str, float]]:
    """Nats a masked token and the fraction filled right, for both held-out texts."""
    tokenizer, found = corpora.load("bert_tokenizer"), {}
    for name, held in texts()[1].items():
        rows = [tokenizer.encode(text).ids for text in held[::every]]
        batch = masking(0.15)(rows, torch.Generator().manual_seed(1))
        logits, labels = masked_logits(model.eval(), batch)
        best = logits.topk(5).indices == labels[:, None]
        found[name] = {
            "nats": float(token_terms(logits, labels).mean),
            "top 1": float(best[:, 0].float().mean()),
            "top 5": float(best.any(1).float().mean()),
            "masked": len(labels),
        }
    return found


def figures(model: BertForMaskedLM, tokenizer: Tokenizer, every: int = 1) -> dict[str, float]:
    """Nats a masked token of each held-out text, or of each so-manieth."""
    return {name: round(row["nats"], 4) for name, row in measure(model, every).items()}


@torch.no_grad()
def cloze(model: BertForMaskedLM) -> list[dict]:
    """The five likeliest words for each sentence of CLOZE, and the rank of a right one."""
    tokenizer, found = corpora.load("bert_tokenizer"), []
    for text, right in CLOZE:
        ids = torch.tensor([tokenizer.encode(text).ids])
        at = int((ids[0] == masking(0.3).mask_id).nonzero())
        probabilities = model.masked_lm(model.bert(ids).tokens[0, at]).softmax(-1)
        order = probabilities.argsort(descending=True)
        words = [tokenizer.vocabulary.token(int(id)) for id in order[:100]]
        ranks = [words.index(word) + 1 for word in right.split() if word in words]
        filled = {w: round(p, 3) for w, p in zip(words[:5], probabilities[order[:5]].tolist())}
        found.append(
            {"text": text, "right": right, "rank": min(ranks, default=0), "filled": filled}
        )
    return found


def summary(model: BertForMaskedLM) -> dict:
    """What is recorded of one model."""
    rows = cloze(model)
    found = {
        name: {key: round(value, 4) for key, value in row.items()}
        for name, row in measure(model).items()
    }
    return {
        **found,
        "cloze": {
            "sentences": len(rows),
            "top 1": sum(row["rank"] == 1 for row in rows),
            "top 5": sum(1 <= row["rank"] <= 5 for row in rows),
        },
    }


class BothSides:
    """p(w | left, right), proportional to p(w | left) p(right | w), from counts of neighbours.

    Both are bigrams with absolute discounting, interpolated with the unigram.
    """

    def __init__(self, rows: Iterable[list[int]], vocab_size: int, discount: float = 0.75):
        self.after, self.before, self.discount = (
            defaultdict(Counter),
            defaultdict(Counter),
            discount,
        )
        counts = torch.full((vocab_size,), 0.01, dtype=torch.float64)
        for row in rows:
            for left, right in pairwise(row):
                self.after[left][right] += 1
                self.before[right][left] += 1
            counts += torch.bincount(torch.tensor(row), minlength=vocab_size)
        self.unigram = counts / counts.sum()
        self.totals, self.spread = torch.ones(2, vocab_size, dtype=torch.float64)
        for token, found in self.after.items():
            self.totals[token] = found.total()
            self.spread[token] = discount * len(found) / found.total()

    def __call__(self, left: int, right: int) -> Tensor:
        """The probabilities of all tokens between two neighbours, (V,)."""
        from_left = self.spread[left] * self.unigram
        for token, count in self.after[left].items():
            from_left[token] += (count - self.discount) / self.totals[left]
        to_right = self.spread * self.unigram[right]
        for token, count in self.before[right].items():
            to_right[token] += (count - self.discount) / self.totals[token]
        both = from_left * to_right
        return both / both.sum()


def count_summary(steps: int) -> dict:
    """What `summary` measures, of bigrams from both sides; they see the true neighbours."""
    tokenizer, masks, batch = corpora.load("bert_tokenizer"), masking(0.15), batches_of(texts()[0])
    seen = []
    for index in range(steps):
        made = batch(index)
        ids = torch.where(made["labels"] == IGNORED, made["ids"], made["labels"])
        seen += [row[keep].tolist() for row, keep in zip(ids, made["mask"], strict=True)]
    model, found = BothSides(seen, len(tokenizer.vocabulary)), {}
    for name, held in texts()[1].items():
        rows = [tokenizer.encode(text).ids for text in held]
        labels = masks(rows, torch.Generator().manual_seed(1))["labels"]
        logs, first, five = [], 0, 0
        for row, at in (labels != IGNORED).nonzero().tolist():
            probabilities, truth = model(*rows[row][at - 1 : at + 2 : 2]), rows[row][at]
            best = probabilities.topk(5).indices.tolist()
            logs.append(-float(probabilities[truth].log()))
            first, five = first + (best[0] == truth), five + (truth in best)
        count = len(logs)
        found[name] = {"nats": sum(logs) / count, "top 1": first / count, "top 5": five / count}
    return {**found, "cloze": count_cloze(model)}


def count_cloze(model: BothSides) -> dict[str, int]:
    """How many sentences of CLOZE counts complete, with the first and with one of five words."""
    tokenizer, ranks = corpora.load("bert_tokenizer"), []
    for text, right in CLOZE:
        ids = tokenizer.encode(text).ids
        at = ids.index(masking(0.15).mask_id)
        best = model(ids[at - 1], ids[at + 1]).topk(5).indices.tolist()
        words = [tokenizer.vocabulary.token(id) for id in best]
        ranks.append(next((n for n, word in enumerate(words) if word in right.split()), 5))
    return {"sentences": len(ranks), "top 1": ranks.count(0), "top 5": sum(n < 5 for n in ranks)}


def learn(model: BertForMaskedLM, steps: int) -> tuple[list[dict[str, float]], int]:
    """Train it; what the loop says of each step, and the CPU seconds."""
    started = time.process_time()
    history = train(model, at_masks, batches_of(texts()[0]), training(steps)).history
    return history, round(time.process_time() - started)


def main() -> None:
    """Train, keep, measure, write bench/results/trained_fill_mask.json."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--counts", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(1)
    tokenizer, model = corpora.load("bert_tokenizer"), new_model()
    if args.counts:
        save("trained_fill_mask_counts", steps=args.steps, counts=count_summary(args.steps))
        return
    before = summary(model)
    history, seconds = learn(model, args.steps)
    keep(
        NAME,
        "fill-mask",
        {"base": "minilm", "mask_id": masking(0.3).mask_id, "rank": RANK},
        trained_parts(model),
        script="bench/trained/fill_mask.py",
        seed=0,
        corpora=["minilm", "oewn_glosses", "sentiment"],
        steps=args.steps,
        first_losses=[row["loss"] for row in history[:20]],
    )
    model = small_model(NAME).model  # what is measured from here on is what was kept
    add_figures(NAME, figures(model, tokenizer), figures(model, tokenizer, every=8))
    save(
        "trained_fill_mask",
        versions=("torch",),
        seed=0,
        steps=args.steps,
        cpu_seconds=seconds,
        trained_parameters=sum(part.numel() for part in trained_parts(new_model()).values()),
        masked_tokens_seen=int(history[-1]["terms"]),
        share_masked={"training": 0.3, "measured": 0.15},
        before=before,
        after=summary(model),
        sentences=cloze(model),
        losses=[round(row["loss"], 3) for row in history[::20]],
    )


if __name__ == "__main__":
    main()

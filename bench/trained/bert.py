"""Train a small BERT on the King James Bible, and let it fill blanks in pieces that it has not
seen.

    python bench/trained/bert.py [--steps 2400]        about five minutes on one core

Two of BERT's blocks, 128 wide, over a WordPiece vocabulary of 2,000; a sequence is a stretch of
running text, without [CLS] and [SEP]. Beside it stand counts: a unigram and a bigram (Kneser-Ney),
which predict from the left alone, and the same bigram read from both sides. The counts are told the
true neighbours; BERT may find another blank there. (On this text, which repeats itself, the counts
from both sides fill more blanks right than this BERT does: see the record.)

What differs from the paper, because the training is so short:
- 40 % of the tokens are blanks in training, 15 % when measured, and every one is [MASK] (Wettig et
  al. 2023).
- A blank knows nothing by itself: until some head looks at its neighbours there is nothing to learn
  but how frequent tokens are. So positions start as sinusoids, and each head starts by looking at
  one neighbour. The record has the first 300 steps without that, from BERT's random start: there
  the model has not left the unigram's loss yet.
- The bias of the output starts as the logarithm of the tokens' frequencies.
"""

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np  # noqa: E402  (threads are set before torch starts)
import torch  # noqa: E402
from record import save  # noqa: E402
from texts import folder, losses_of_first_steps, scripture, split  # noqa: E402
from torch import Tensor, nn  # noqa: E402

from reference_impl.corpora.small_models import add_figures, keep, small_model  # noqa: E402
from reference_impl.layers.initial import start_normal  # noqa: E402
from reference_impl.layers.positions import sinusoidal_positions  # noqa: E402
from reference_impl.models.bert import Bert, BertConfig, BertForMaskedLM  # noqa: E402
from reference_impl.models.fill_mask import fill_mask  # noqa: E402
from reference_impl.models.ngram import KneserNey  # noqa: E402
from reference_impl.objectives.masked_lm import Masking  # noqa: E402
from reference_impl.objectives.terms import IGNORED, Terms, token_terms  # noqa: E402
from reference_impl.tokenizers.files import load_bert, save_vocab_txt  # noqa: E402
from reference_impl.tokenizers.pretokenizers import BERT  # noqa: E402
from reference_impl.tokenizers.pretokenizers import split as words_of
from reference_impl.tokenizers.tokenizer import Tokenizer  # noqa: E402
from reference_impl.tokenizers.wordpiece_training import (
    BERT_SPECIALS,
    train_wordpiece,
)  # noqa: E402
from reference_impl.training.loop import TrainingConfig, TrainingResult, train  # noqa: E402

NAME, VOCAB_SIZE, LENGTH, BATCH = "bert_kjv", 2000, 32, 64
CONFIG = BertConfig(
    vocab_size=VOCAB_SIZE,
    hidden_size=128,
    num_layers=2,
    num_heads=4,
    intermediate_size=512,
    max_position_embeddings=LENGTH,
    hidden_dropout=0.0,
    attention_dropout=0.0,
)
NEIGHBOURS = ((-1, 1, -2, 2), (-1, 1, -3, 3))  # where each head of each layer looks at the start
MASK_ID = BERT_SPECIALS.index("[MASK]")


def tokenizer_for(name: str, text: str, vocab_size: int) -> Tokenizer:
    """BERT's tokenizer with a vocabulary of its own: from the model's folder, or trained on `text`
    and put there.
    """
    file = folder(name) / "vocab.txt"
    if not file.is_file():
        file.parent.mkdir(parents=True, exist_ok=True)
        counts = Counter(words_of(BERT, text.lower()))
        save_vocab_txt(train_wordpiece(counts, vocab_size, score="frequency").vocabulary, file)
    return load_bert(file)


def as_tokens(tokenizer: Tokenizer, text: str) -> Tensor:
    """All ids of a text, in order, without special tokens."""
    lines = (
        tokenizer.encode(line, add_specials=False, specials_in_text=False)
        for line in text.splitlines()
    )
    return torch.tensor([id for line in lines for id in line.ids])


def masking(share: float, vocab_size: int = VOCAB_SIZE) -> Masking:
    """Every chosen token becomes [MASK]."""
    return Masking(
        MASK_ID, vocab_size, range(len(BERT_SPECIALS)), share=share, masked=1.0, replaced=0.0
    )


def stretches(tokens: Tensor, index: int) -> tuple[Tensor, torch.Generator]:
    """The stretches (B, T) of batch `index`, and a generator for what else is random in it."""
    generator = torch.Generator().manual_seed(index)
    starts = torch.randint(len(tokens) - LENGTH, (BATCH,), generator=generator)
    return tokens[starts[:, None] + torch.arange(LENGTH)], generator


def batches_of(tokens: Tensor, share: float = 0.4) -> Callable[[int], dict[str, Tensor]]:
    """Random stretches of the text with blanks; batch i is a function of i alone."""
    blanks = masking(share)

    def batch(index: int) -> dict[str, Tensor]:
        ids, labels = blanks.mask_tokens(*stretches(tokens, index))
        return {"ids": ids, "labels": labels}

    return batch


def blank_logits(model: BertForMaskedLM, batch: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
    """Logits (N, V) and labels (N,) at the blanks: the head runs nowhere else."""
    chosen = batch["labels"] != IGNORED
    return model.masked_lm(model.bert(batch["ids"]).tokens[chosen]), batch["labels"][chosen]


def at_blanks(model: BertForMaskedLM, batch: dict[str, Tensor]) -> Terms:
    """`objectives.masked_lm`, computed at the blanks alone."""
    return token_terms(*blank_logits(model, batch))


def start_looking_at_neighbours(bert: Bert) -> None:
    """Sinusoids as positions, and heads of whose products the largest is that with one neighbour.

    Of each pair of sine and cosine a head's key takes the values at p, its query those at p +
    offset: a rotation. The pairs are dealt out to the heads in turn, so that each has slow and fast
    ones.
    """
    config = bert.config
    width, num_heads = config.hidden_size, config.num_heads
    bert.embeddings.position.weight.data = 0.028 * sinusoidal_positions(
        2 * torch.arange(config.max_position_embeddings), width, base=30.0
    )
    speeds = 2 * 30.0 ** (-torch.arange(0, width, 2) / width)  # radians a position, of each pair
    for block, offsets in zip(bert.blocks, NEIGHBOURS, strict=False):
        for head, offset in enumerate(offsets):
            for place, pair in enumerate(range(head, width // 2, num_heads)):
                row, sine = head * width // num_heads + 2 * place, 2 * pair
                cos, sin = (speeds[pair] * offset).cos(), (speeds[pair] * offset).sin()
                block.attention.key.weight.data[row : row + 2, sine : sine + 2] += 1.4 * torch.eye(
                    2
                )
                block.attention.query.weight.data[row : row + 2, sine : sine + 2] += (
                    1.4 * torch.tensor([[cos, sin], [-sin, cos]])
                )


def start(bert: Bert, neighbours: bool = True) -> None:
    """Normal numbers as wide as 128 coordinates want them, embeddings small beside the steps that
    Adam makes.
    """
    start_normal(bert, std=0.04)
    for module in bert.modules():
        if isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=0.02)
    if neighbours:
        start_looking_at_neighbours(bert)


def new_model(tokens: Tensor, neighbours: bool = True) -> BertForMaskedLM:
    """An untrained model that knows how frequent tokens are."""
    torch.manual_seed(0)
    model = BertForMaskedLM(CONFIG)
    start(model.bert, neighbours)
    frequency = torch.bincount(tokens, minlength=VOCAB_SIZE) + 1.0
    model.masked_lm.decoder.bias.data = (frequency / frequency.sum()).log()
    return model


def training(num_steps: int, schedule: str = "linear") -> TrainingConfig:
    """Post-norm wants a long warm-up and a moderate rate: else the model falls back to the tokens'
    frequencies.
    """
    return TrainingConfig(
        num_steps=num_steps,
        learning_rate=1.5e-3,
        warmup_steps=100,
        schedule=schedule,
        betas=(0.9, 0.98),
        eval_every=100,
    )


@torch.no_grad()
def measure(model: BertForMaskedLM, batch: dict[str, Tensor]) -> dict[str, float]:
    """Nats and the share filled right, over all blanks of a batch."""
    logits, labels = blank_logits(model, batch)
    return {
        "nats": float(token_terms(logits, labels).mean),
        "accuracy": float((logits.argmax(-1) == labels).float().mean()),
    }


def measure_counts(tokens: Tensor, held: Tensor, places: Tensor) -> dict[str, dict[str, float]]:
    """The same of counts at these places of the held-out text, which they see without its
    blanks.
    """
    pairs = KneserNey([tokens.tolist()], VOCAB_SIZE, 2)
    after = np.stack(
        [pairs.distribution([token]) for token in range(VOCAB_SIZE)]
    )  # (V, V): row, then column
    alone = KneserNey([tokens.tolist()], VOCAB_SIZE, 1).distribution()
    left, truth, right = (held[places + offset].numpy() for offset in (-1, 0, 1))
    both = after[left] * after[:, right].T  # p(w | left) p(right | w)
    shares = {
        "unigram": np.broadcast_to(alone, both.shape),
        "bigram": after[left],
        "bigram from both sides": both / both.sum(1, keepdims=True),
    }
    rows = np.arange(len(truth))
    return {
        name: {
            "nats": float(-np.log(share[rows, truth]).mean()),
            "accuracy": float((share.argmax(1) == truth).mean()),
        }
        for name, share in shares.items()
    }


def held_out_batch(tokenizer: Tokenizer) -> tuple[dict[str, Tensor], Tensor]:
    """All held-out stretches with 15 % blanks, always the same, and the tokens that they are cut
    from.
    """
    held = as_tokens(tokenizer, split(scripture())[1])
    rows = held[1 : len(held) - 1 - (len(held) - 2) % LENGTH].view(
        -1, LENGTH
    )  # every token has both neighbours
    ids, labels = masking(0.15).mask_tokens(rows, torch.Generator().manual_seed(1))
    return {"ids": ids, "labels": labels}, held


def first_losses(count: int) -> list[float]:
    """The losses of the first steps, of warm-up all of them, trained anew; nothing is kept."""
    train_text, _ = split(scripture())
    tokens = as_tokens(tokenizer_for(NAME, train_text, VOCAB_SIZE), train_text)
    return losses_of_first_steps(
        count, new_model(tokens), at_blanks, batches_of(tokens), training(2400)
    )


def figures(model: BertForMaskedLM, tokenizer: Tokenizer, every: int = 1) -> dict[str, float]:
    """Nats and share right at the blanks of each so-manieth held-out stretch."""
    batch, _ = held_out_batch(tokenizer)
    return {
        name: round(value, 4)
        for name, value in measure(
            model, {key: tensor[::every] for key, tensor in batch.items()}
        ).items()
    }


def examples(
    model: BertForMaskedLM, tokenizer: Tokenizer, held: Tensor, count: int = 10
) -> list[dict]:
    """Held-out stretches with one blank in the middle, whole words of four letters or more."""
    generator, found = torch.Generator().manual_seed(2), []
    while len(found) < count:
        ids = held[
            (begin := int(torch.randint(len(held) - LENGTH, (1,), generator=generator))) : begin
            + LENGTH
        ].clone()
        place = LENGTH // 2
        truth, following = (tokenizer.vocabulary.token(int(id)) for id in ids[place : place + 2])
        if len(truth) < 4 or truth.startswith("##") or following.startswith("##"):
            continue
        ids[place] = MASK_ID
        fillings = fill_mask(model, ids[None], MASK_ID, count=3)[0][0]
        found.append(
            {
                "text": tokenizer.decode(ids.tolist(), skip_specials=False),
                "was": truth,
                "filled": {
                    tokenizer.vocabulary.token(f.token): round(f.probability, 3) for f in fillings
                },
            }
        )
    return found


def main() -> None:
    """Train, measure, write bench/results/trained_bert.json."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--steps", type=int, default=2400)
    args = parser.parse_args()
    torch.set_num_threads(1)
    train_text, _ = split(scripture())
    tokenizer = tokenizer_for(NAME, train_text, VOCAB_SIZE)
    tokens = as_tokens(tokenizer, train_text)
    blanks, held = held_out_batch(tokenizer)
    rows, labels, some = (
        blanks["ids"],
        blanks["labels"],
        {key: tensor[::5] for key, tensor in blanks.items()},
    )

    def curve(history: list[dict[str, float]]) -> list[dict[str, float]]:
        return [
            {name: round(row[name], 4) for name in ("step", "loss", "nats", "accuracy")}
            for row in history
            if "nats" in row
        ]

    def learn(model: BertForMaskedLM, config: TrainingConfig) -> TrainingResult:
        return train(model, at_blanks, batches_of(tokens), config, lambda m: measure(m, some))

    at_random = learn(new_model(tokens, neighbours=False), training(300, "constant")).history
    model, started = new_model(tokens), time.process_time()
    history = learn(model, training(args.steps)).history
    seconds = time.process_time() - started
    keep(
        NAME,
        "bert",
        CONFIG,
        model,
        script="bench/trained/bert.py",
        seed=0,
        corpora=["kjv"],
        steps=args.steps,
        first_losses=[row["loss"] for row in history[:20]],
    )
    model = small_model(NAME).model  # what is measured from here on is what was kept
    add_figures(NAME, figures(model, tokenizer), figures(model, tokenizer, every=5))
    result = {
        "BERT": measure(model, blanks),
        **measure_counts(tokens, held, 1 + (labels.flatten() != IGNORED).nonzero().flatten()),
    }
    for name, row in result.items():
        print(f"{name}: {row['nats']:.3f} nats, {row['accuracy']:.1%} right")
    save(
        "trained_bert",
        versions=("torch", "numpy"),
        seed=0,
        steps=args.steps,
        cpu_seconds=round(seconds),
        parameters=sum(p.numel() for p in model.parameters()),
        tokens_seen=args.steps * BATCH * LENGTH,
        blanks_seen=history[-1]["terms"],
        share_of_blanks={"training": 0.4, "measured": 0.15},
        held_out={"tokens": rows.numel(), "blanks": int((labels != IGNORED).sum())},
        at_blanks={
            name: {key: round(value, 4) for key, value in row.items()}
            for name, row in result.items()
        },
        curve=curve(history),
        curve_is_of=f"{len(some['ids'])} of {len(rows)} held-out stretches",
        first_steps_from_random_start=curve(at_random),
        examples=examples(model, tokenizer, held),
    )


if __name__ == "__main__":
    main()

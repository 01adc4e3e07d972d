"""Train the model of `reference_impl/whole.py` as its page says, and let it answer.

    python bench/whole.py        about two minutes on one core

It reads the King James Bible without the held-out pieces of `trained/texts.py`, on which its bits
per byte are measured in stretches of 128 tokens. The rival is a Kneser-Ney trigram model on the
same tokens.
"""

import math
import os
import sys
import time
from pathlib import Path
from random import Random

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parent / "trained"))

import torch  # noqa: E402  (threads are set before torch starts)
from record import save  # noqa: E402
from texts import scripture, split  # noqa: E402

from reference_impl import whole  # noqa: E402
from reference_impl.models.ngram import KneserNey  # noqa: E402

PROMPTS = ("And the king said unto", "In the beginning", "We sat on the bank of the")
LENGTH, STEPS = 128, 600


def answers(engine: whole.Engine, tokenizer: whole.Tokenizer, temperature: float) -> list[str]:
    """Each prompt with 30 tokens after it, all served at once."""
    requests = []
    for prompt in PROMPTS:
        ids = tokenizer.encode(prompt)
        requests.append(whole.Request(ids, len(ids) + 30, temperature, 0.9, Random(0)))
    engine.waiting.extend(requests)
    while engine.waiting or engine.running:
        engine.step()
    return [b"".join(tokenizer.tokens[id] for id in r.ids).decode() for r in requests]


@torch.no_grad()
def bits_per_byte(model: whole.Llama, ids: torch.Tensor, num_bytes: int) -> float:
    """All tokens but the first of each stretch, and the bytes of all."""
    nats = count = 0
    for stretch in ids.split(LENGTH):
        logits = model(stretch[None, :-1], torch.arange(len(stretch) - 1))[0]
        nats += torch.nn.functional.cross_entropy(logits, stretch[1:], reduction="sum").item()
        count += len(stretch) - 1
    return nats / count * len(ids) / num_bytes / math.log(2)


def main() -> None:
    """Train, measure, write bench/results/whole.json."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    train_text, other_text = split(scripture())
    started = time.process_time()
    tokenizer = whole.Tokenizer(train_text, whole.Config.vocab_size)
    ids, learned = tokenizer.encode(train_text), time.process_time()
    model = whole.Llama(whole.Config())
    whole.train(model, torch.tensor(ids), STEPS)
    trained = time.process_time()
    engine, others = whole.Engine(model), tokenizer.encode(other_text)
    trigram = KneserNey([ids], whole.Config.vocab_size, 3)
    num_bytes = len(other_text.encode())
    save(
        "whole",
        versions=("torch",),
        parameters=sum(weight.numel() for weight in model.parameters()),
        steps=STEPS,
        tokens_read=STEPS * 16 * LENGTH,
        cpu_seconds={
            "tokenizer": round(learned - started, 1),
            "training": round(trained - learned, 1),
        },
        held_out={"tokens": len(others), "bytes": num_bytes},
        bits_per_byte={
            "model": round(bits_per_byte(model, torch.tensor(others), num_bytes), 3),
            "trigram": round(trigram.bits_per_byte([others], num_bytes), 3),
            "uniform": round(math.log2(whole.Config.vocab_size) * len(others) / num_bytes, 3),
        },
        greedy=answers(engine, tokenizer, 0.0),
        sampled=answers(engine, tokenizer, 0.8),
    )


if __name__ == "__main__":
    main()

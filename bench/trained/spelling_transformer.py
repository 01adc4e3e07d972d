"""Train a Transformer to read spellings, letters to phonemes, on the words and batches of the LSTM
in `spelling.py`.

    python bench/trained/spelling_transformer.py [--steps 1500]        four minutes on one core

The encoder-decoder of `models/transformer.py`, norms first, two blocks a side. One vocabulary holds
letters and phonemes, since one table serves both sides and the output. Words, their order, held-out
words, number of steps, batch and schedule are those of `spelling.py`, whose record must be there:
bench/results/trained_spelling_transformer.json puts both side by side, with the operations that a
training step costs each. The model is kept (`small_model("transformer_spelling")`).
"""

import argparse
import json
import os
import random
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import spelling  # noqa: E402
import torch  # noqa: E402  (threads are set before torch starts)
from record import RESULTS, save  # noqa: E402
from spelling import (
    BATCH,
    CLIP,
    END,
    LETTERS,
    RATE,
    START,
    STEPS,
    WARM_UP,
    Reader,
    Spoken,
)  # noqa: E402

from reference_impl.corpora.small_models import FOLDER, add_figures, keep, small_model  # noqa: E402
from reference_impl.generation.encoder_decoder import translate  # noqa: E402
from reference_impl.measure.flops import count_flops, count_parameters  # noqa: E402
from reference_impl.models.transformer import Transformer, TransformerConfig  # noqa: E402
from reference_impl.objectives.sequence_to_sequence import (
    PairedSequences,
    sequence_to_sequence,
)  # noqa: E402

NAME = "transformer_spelling"
FIRST_PHONEME = END + 1 + len(LETTERS)  # ids: start or padding, end, the letters, the phonemes


def new_model(phonemes: list[str]) -> Transformer:
    """An untrained reader: 128 numbers a symbol, two blocks a side, four heads."""
    torch.manual_seed(0)
    return Transformer(
        TransformerConfig(
            vocab_size=FIRST_PHONEME + len(phonemes),
            hidden_size=128,
            num_layers=2,
            num_heads=4,
            intermediate_size=256,
            dropout=0.0,
            norm_first=True,
        )
    )


def first_losses(count: int) -> list[float]:
    """The losses of the first steps, trained anew; nothing is kept."""
    train, _ = spelling.split()
    phonemes = spelling.phonemes_of(train)
    return [
        loss
        for _, loss, _ in islice(
            spelling.fit(new_model(phonemes), train, phonemes, STEPS, FIRST_PHONEME), count
        )
    ]


def figures(model: Transformer, symbols: dict[str, list[str]], every: int = 1) -> dict[str, float]:
    """What `spelling.measure` says of each so-manieth held-out word."""
    _, test = spelling.split()
    return spelling.measure(as_reader(model, symbols["target"]), dict(list(test.items())[::every]))


def as_reader(model: Transformer, symbols: list[str]) -> Reader:
    """The model as a function from words to what it says, the likeliest symbol at each step."""

    def read(words: Sequence[str]) -> list[Spoken]:
        model.eval()
        spoken = []
        for first in range(0, len(words), BATCH):
            batch = PairedSequences(end_id=END, start_id=START)(
                [(spelling.letters(word), []) for word in words[first : first + BATCH]]
            )
            written = translate(
                model, batch["source"], batch["source_mask"], 32, (END,), START, cache=False
            )
            spoken += [tuple(symbols[id] for id in row if id != END) for row in written]
        return spoken

    return read


def step_of_training(model: torch.nn.Module, batch: dict) -> int:
    """Operations of one training step's products, forwards and backwards."""
    return count_flops(lambda: sequence_to_sequence(model, batch).mean.backward())


def main() -> None:
    """Train, measure on the held-out words, write the record."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--steps", type=int, default=STEPS)
    steps = parser.parse_args().steps
    torch.set_num_threads(1)
    rival = json.loads((RESULTS / "trained_spelling.json").read_text(encoding="utf-8"))
    train, test = spelling.split()
    phonemes = spelling.phonemes_of(train)
    symbols = {
        "source": ["<start>", "<end>", *LETTERS],
        "target": ["<start>", "<end>", *LETTERS, *phonemes],
    }
    model = new_model(phonemes)
    reader, some = as_reader(model, symbols["target"]), dict(list(test.items())[::5])
    curve, losses, spent = [], [], 0.0
    started = time.process_time()
    for step, last, loss in spelling.fit(model, train, phonemes, steps, FIRST_PHONEME):
        losses.append(last)
        if step % max(steps // 10, 1) == 0:
            spent += time.process_time() - started
            curve.append(
                {
                    "step": step,
                    "nats_per_phoneme": round(loss, 4),
                    "cpu_seconds": round(spent, 1),
                    "exact": spelling.measure(reader, some)["exact"],
                }
            )
            print(curve[-1], flush=True)
            started = time.process_time()
    keep(
        NAME,
        "transformer",
        model.config,
        model,
        script="bench/trained/spelling_transformer.py",
        seed=0,
        corpora=["cmudict"],
        steps=steps,
        first_losses=losses[:20],
    )
    (FOLDER / NAME / "symbols.json").write_text(json.dumps(symbols) + "\n", encoding="utf-8")
    model = small_model(NAME).model  # what is measured from here on is what was kept
    reader, result = as_reader(model, symbols["target"]), figures(model, symbols)
    add_figures(NAME, result, figures(model, symbols, every=5))
    save(
        "trained_spelling_transformer",
        versions=("torch",),
        model="Transformer, " + str(model.config),
        parameters=count_parameters(model),
        words={"train": len(train), "held_out": len(test)},
        settings={
            "batch": BATCH,
            "steps": steps,
            "learning_rate": RATE,
            "clip": CLIP,
            "warm_up": WARM_UP,
            "seed": 0,
        },
        held_out={"Transformer": result, "LSTM with attention": rival["held_out"]["model"]},
        **both_on_one_batch(train, phonemes),
        rival_parameters=rival["parameters"],
        agreement=agreement(reader, test),
        curve=curve,
        curve_is_of=f"{len(some)} of the held-out words",
        curve_seconds="of training alone",
        examples=spelling.examples(reader, test),
    )
    print({"Transformer": result, "LSTM with attention": rival["held_out"]["model"]})


def both_on_one_batch(
    train: dict[str, list[Spoken]], phonemes: list[str]
) -> dict[str, dict[str, float]]:
    """What a training step on the very first batch costs each model, in operations and in CPU
    seconds, in turn.
    """
    flops, seconds = {}, {"Transformer": [], "LSTM with attention": []}
    for name, model, first in (
        ("Transformer", new_model(phonemes), FIRST_PHONEME),
        ("LSTM with attention", spelling.new_model(phonemes), END + 1),
    ):
        flops[name] = step_of_training(model, next(first_batch(train, phonemes, first)))
    for _ in range(5):
        for name, model, first in (
            ("Transformer", new_model(phonemes), FIRST_PHONEME),
            ("LSTM with attention", spelling.new_model(phonemes), END + 1),
        ):
            batch = next(first_batch(train, phonemes, first))
            started = time.process_time()
            sequence_to_sequence(model, batch).mean.backward()
            seconds[name].append(time.process_time() - started)
    return {
        "gigaflops_a_step": {name: round(count / 1e9, 3) for name, count in flops.items()},
        "cpu_seconds_a_step": {name: round(sorted(found)[2], 4) for name, found in seconds.items()},
    }


def first_batch(
    train: dict[str, list[Spoken]], phonemes: list[str], first_phoneme: int
) -> Iterator[dict]:
    """The batches of the training, from the first on."""
    return spelling.batches(train, phonemes, random.Random(0), first_phoneme)


def agreement(reader: Reader, test: dict[str, list[Spoken]]) -> dict[str, float]:
    """Of the held-out words, the share that both models read right, that only one does, and that
    neither does.
    """
    kept = small_model(spelling.NAME)
    other = spelling.as_reader(kept.model, kept.tokenizer["target"][2:])
    right = [
        [said in ways for said, ways in zip(read(list(test)), test.values(), strict=True)]
        for read in (reader, other)
    ]
    pairs = list(zip(*right, strict=True))
    return {
        name: round(pairs.count(pair) / len(pairs), 4)
        for name, pair in (
            ("both", (True, True)),
            ("Transformer alone", (True, False)),
            ("LSTM alone", (False, True)),
            ("neither", (False, False)),
        )
    }


if __name__ == "__main__":
    main()

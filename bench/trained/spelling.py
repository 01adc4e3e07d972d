"""Train a reader of spellings, letters to phonemes, on CMUdict; hold it beside two tables of
letters.

    python bench/trained/spelling.py [--steps 1500]

An LSTM encoder-decoder with attention (`models/seq2seq.py`). One word in fifty, chosen by a hash of
its spelling, is held out with all its ways to be spoken; an answer is exact if it is one of them,
stress marks included. Writes bench/results/trained_spelling.json. The tables give each letter its
most frequent phoneme, alone or between its two neighbours, counted on words with as many letters as
phonemes, where the n-th belongs to the n-th.
"""

import argparse
import hashlib
import json
import os
import random
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch  # noqa: E402  (threads are set before torch starts)
from record import save  # noqa: E402
from torch import nn  # noqa: E402

from reference_impl import corpora  # noqa: E402
from reference_impl.corpora.small_models import FOLDER, add_figures, keep, small_model  # noqa: E402
from reference_impl.models.seq2seq import Seq2Seq, Seq2SeqConfig  # noqa: E402
from reference_impl.objectives.sequence_to_sequence import (
    PairedSequences,
    sequence_to_sequence,
)  # noqa: E402

NAME = "lstm_spelling"
START, END = 0, 1  # 0 is padding too, which the mask hides
LETTERS = "abcdefghijklmnopqrstuvwxyz"
BATCH, RATE, CLIP, WARM_UP, STEPS = 256, 3e-3, 1.0, 100, 1500
Spoken = tuple[str, ...]
Reader = Callable[[Sequence[str]], list[Spoken]]


def new_model(phonemes: list[str]) -> Seq2Seq:
    """An untrained reader."""
    torch.manual_seed(0)
    return Seq2Seq(
        Seq2SeqConfig(source_vocab_size=len(LETTERS) + 2, target_vocab_size=len(phonemes) + 2)
    )


def phonemes_of(words: dict[str, list[Spoken]]) -> list[str]:
    """Every phoneme that occurs, in order."""
    return sorted({phoneme for spoken in words.values() for way in spoken for phoneme in way})


def first_losses(count: int) -> list[float]:
    """The losses of the first steps, trained anew; nothing is kept."""
    train, _ = split()
    phonemes = phonemes_of(train)
    return [loss for _, loss, _ in islice(fit(new_model(phonemes), train, phonemes, STEPS), count)]


def figures(model: Seq2Seq, symbols: dict[str, list[str]], every: int = 1) -> dict[str, float]:
    """What `measure` says of each so-manieth held-out word."""
    _, test = split()
    return measure(as_reader(model, symbols["target"][2:]), dict(list(test.items())[::every]))


def main() -> None:
    """Train, measure on the held-out words, write the record."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--steps", type=int, default=STEPS)
    steps = parser.parse_args().steps
    torch.set_num_threads(1)
    train, test = split()
    phonemes = phonemes_of(train)
    model = new_model(phonemes)
    reader = as_reader(model, phonemes)
    some = dict(list(test.items())[::5])
    started = time.process_time()
    curve, losses = [], []
    for step, last, loss in fit(model, train, phonemes, steps):
        losses.append(last)
        if step % max(steps // 10, 1) == 0:
            seconds = round(time.process_time() - started, 1)
            curve.append(
                {
                    "step": step,
                    "nats_per_phoneme": round(loss, 4),
                    "cpu_seconds": seconds,
                    "exact": measure(reader, some)["exact"],
                }
            )
            print(curve[-1], flush=True)
    symbols = {"source": ["<pad>", "<end>", *LETTERS], "target": ["<start>", "<end>", *phonemes]}
    keep(
        NAME,
        "seq2seq",
        model.config,
        model,
        script="bench/trained/spelling.py",
        seed=0,
        corpora=["cmudict"],
        steps=steps,
        first_losses=losses[:20],
    )
    (FOLDER / NAME / "symbols.json").write_text(json.dumps(symbols) + "\n", encoding="utf-8")
    model = small_model(NAME).model  # what is measured from here on is what was kept
    reader, result = as_reader(model, phonemes), figures(model, symbols)
    add_figures(NAME, result, figures(model, symbols, every=5))
    tables = {
        f"table, {name}": measure(table(train, reach), test)
        for name, reach in (("one letter", 0), ("three letters", 1))
    }
    save(
        "trained_spelling",
        versions=("torch",),
        model="Seq2Seq, " + str(model.config),
        parameters=sum(p.numel() for p in model.parameters()),
        words={"train": len(train), "held_out": len(test)},
        settings={
            "batch": BATCH,
            "steps": steps,
            "learning_rate": RATE,
            "clip": CLIP,
            "warm_up": WARM_UP,
            "seed": 0,
        },
        held_out={"model": result, **tables},
        curve=curve,
        curve_is_of=f"{len(some)} of the held-out words",
        examples=examples(reader, test),
    )
    print({"model": result, **tables})


def split() -> tuple[dict[str, list[Spoken]], dict[str, list[Spoken]]]:
    """Words of letters only, with all ways to speak them: those to train on, those held out."""
    words: dict[str, list[Spoken]] = defaultdict(list)
    for word, spoken in corpora.load("cmudict"):
        if set(word) <= set(LETTERS):
            words[word].append(spoken)
    held_out = {
        word for word in words if int(hashlib.sha256(word.encode()).hexdigest(), 16) % 50 == 0
    }
    return (
        {word: ways for word, ways in words.items() if word not in held_out},
        {word: words[word] for word in sorted(held_out)},
    )


def letters(word: str) -> list[int]:
    """The ids of a word's letters."""
    return [LETTERS.index(letter) + 2 for letter in word]


def batches(
    words: dict[str, list[Spoken]],
    phonemes: list[str],
    shuffle: random.Random,
    first_phoneme: int = END + 1,
) -> Iterator[dict]:
    """Without end: words of like length together, so that little is padding, in random order."""
    collate = PairedSequences(end_id=END, start_id=START)
    id_of = {phoneme: first_phoneme + i for i, phoneme in enumerate(phonemes)}
    pairs = [
        (letters(word), [id_of[phoneme] for phoneme in way])
        for word, ways in words.items()
        for way in ways
    ]
    while True:
        shuffle.shuffle(pairs)
        for first in range(0, len(pairs), 50 * BATCH):
            pool = sorted(
                pairs[first : first + 50 * BATCH], key=lambda pair: (len(pair[1]), len(pair[0]))
            )
            cuts = list(range(0, len(pool), BATCH))
            shuffle.shuffle(cuts)
            for cut in cuts:
                yield collate(pool[cut : cut + BATCH])


def fit(
    model: nn.Module,
    words: dict[str, list[Spoken]],
    phonemes: list[str],
    steps: int,
    first_phoneme: int = END + 1,
) -> Iterator[tuple[int, float, float]]:
    """After each step its number, from 1, its loss, and the mean loss of the last hundred."""
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98))
    source, recent = batches(words, phonemes, random.Random(0), first_phoneme), []
    for step in range(1, steps + 1):
        share = (
            min(step / WARM_UP, 1 - (step - WARM_UP) / (steps - WARM_UP + 1))
            if steps > WARM_UP
            else 1.0
        )
        optimizer.param_groups[0]["lr"] = RATE * share
        model.train()
        loss = sequence_to_sequence(model, next(source)).mean
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
        recent = [*recent[-99:], loss.item()]
        yield step, recent[-1], sum(recent) / len(recent)


def as_reader(model: Seq2Seq, phonemes: list[str]) -> Reader:
    """The model as a function from words to what it says, the likeliest phoneme at each step."""

    def read(words: Sequence[str]) -> list[Spoken]:
        model.eval()
        spoken = []
        for first in range(0, len(words), BATCH):
            rows = [(letters(word), []) for word in words[first : first + BATCH]]
            batch = PairedSequences(end_id=END, start_id=START)(rows)
            written, _ = model.write(
                batch["source"], batch["source_mask"], start_id=START, end_id=END, max_tokens=32
            )
            spoken += [tuple(phonemes[id - 2] for id in row if id > END) for row in written]
        return spoken

    return read


def table(words: dict[str, list[Spoken]], reach: int) -> Reader:
    """Each letter's most frequent phoneme, seen with `reach` neighbours to both sides; alone if
    those are new.
    """
    counts: dict[str, Counter[str]] = defaultdict(Counter)

    def keys(word: str) -> Iterator[tuple[str, str]]:
        padded = "-" * reach + word + "-" * reach
        return ((padded[i : i + 2 * reach + 1], letter) for i, letter in enumerate(word))

    for word, ways in words.items():
        for way in ways:
            if len(way) == len(word):
                for seen, phoneme in zip(keys(word), way, strict=True):
                    for key in set(seen):
                        counts[key][phoneme] += 1
    best = {key: counter.most_common(1)[0][0] for key, counter in counts.items()}
    return lambda asked: [
        tuple(best.get(wide, best[letter]) for wide, letter in keys(word)) for word in asked
    ]


def measure(reader: Reader, words: dict[str, list[Spoken]]) -> dict[str, float]:
    """The share of words read exactly, the same with stress marks left out, and edits a phoneme."""
    exact = plain = edits = length = 0
    for said, ways in zip(reader(list(words)), words.values(), strict=True):
        exact += said in ways
        plain += unstressed(said) in map(unstressed, ways)
        nearest = min(ways, key=lambda way: distance(said, way))
        edits, length = edits + distance(said, nearest), length + len(nearest)
    return {
        "exact": round(exact / len(words), 4),
        "exact_without_stress": round(plain / len(words), 4),
        "edits_per_phoneme": round(edits / length, 4),
    }


def unstressed(spoken: Spoken) -> Spoken:
    """Phonemes without the digit that vowels have."""
    return tuple(phoneme.rstrip("012") for phoneme in spoken)


def distance(one: Spoken, other: Spoken) -> int:
    """The fewest insertions, deletions and replacements that make one the other."""
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        before, row = row, [i]
        for j, b in enumerate(other, 1):
            row.append(min(before[j] + 1, row[-1] + 1, before[j - 1] + (a != b)))
    return row[-1]


def examples(reader: Reader, words: dict[str, list[Spoken]]) -> list[dict]:
    """Twenty held-out words, ten read right and ten wrong, drawn at random."""
    chosen = random.Random(0).sample(list(words), len(words))
    answers = [
        (word, said, said in words[word]) for word, said in zip(chosen, reader(chosen), strict=True)
    ]
    picked = [
        answer for right in (True, False) for answer in [a for a in answers if a[2] is right][:10]
    ]
    return [
        {
            "word": word,
            "said": " ".join(said),
            "dictionary": [" ".join(way) for way in words[word]],
            "exact": right,
        }
        for word, said, right in picked
    ]


if __name__ == "__main__":
    main()

"""ELECTRA against a masked language model at equal compute, on the King James Bible, judged by
frozen vectors.

    python bench/trained/electra.py [--teraflops 9]        about six minutes on one core

Both train the same encoder (two layers, 128 wide) from the same start on the same stretches of
text, until each has spent the same number of floating-point operations; those of one step, forwards
and backwards, are counted by torch. ELECTRA's generator, one layer, is paid for by ELECTRA. A
quarter of the tokens are blanks for either, and logits are taken at every place for either, as the
objectives do it.

Two probes that neither was trained on, logistic regression on vectors that stay as they are:
- has a word a capital? The vocabulary has none. Asked of words that are written both ways ("lord",
  "let", "king"), each at least one time in ten, where they do not begin a verse;
- of a verse, by the mean over its tokens: is it from the Old Testament or the New?

Beside them: the encoder before training, and what tokens give without any encoder (the commonest
answer of each token; naive Bayes). Every sixth verse that was trained on fits the probes, all
verses that were held out measure them.

What came out: at this size ELECTRA does not win, and neither objective gives vectors that the
probes read clearly better than those of the encoder before training. Counts of tokens are as good
at capitals and better at Testaments, where ELECTRA is no better than always giving one answer. See
the record.

The discriminator is kept (`small_model("electra_kjv")`). Its card says how well it tells tokens
that were replaced from those that were not, on held-out text; the replacements there are drawn by
their frequency, since no generator is kept.
"""

import argparse
import os
import shutil
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
from bert import (
    LENGTH,
    VOCAB_SIZE,
    as_tokens,
    masking,
    start,
    stretches,
    tokenizer_for,
)  # noqa: E402
from record import save  # noqa: E402
from sklearn.dummy import DummyClassifier  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.naive_bayes import MultinomialNB  # noqa: E402
from texts import folder, losses_of_first_steps, scripture, split  # noqa: E402
from torch import Tensor, nn  # noqa: E402

from reference_impl.corpora.small_models import add_figures, keep, small_model  # noqa: E402
from reference_impl.measure.flops import count_flops  # noqa: E402
from reference_impl.models.electra import (  # noqa: E402
    Electra,
    ElectraConfig,
    ElectraForMaskedLM,
    ElectraForPreTraining,
    share_embeddings,
)
from reference_impl.models.heads import mean_pool  # noqa: E402
from reference_impl.objectives.batches import pad_rows, token_mask  # noqa: E402
from reference_impl.objectives.masked_lm import masked_lm  # noqa: E402
from reference_impl.objectives.replaced_token import (
    GeneratorAndDiscriminator,
    replaced_token,
)  # noqa: E402
from reference_impl.objectives.terms import Terms  # noqa: E402
from reference_impl.tokenizers.pretokenizers import BERT  # noqa: E402
from reference_impl.tokenizers.pretokenizers import split as words_of
from reference_impl.tokenizers.tokenizer import Tokenizer  # noqa: E402
from reference_impl.training.loop import TrainingConfig, train  # noqa: E402

NAME = "electra_kjv"
OLD_TESTAMENT = 23_145  # verses; 7,957 of the New follow
SHARE = 0.25
TERAFLOPS = 9.0  # operations that each may spend
Batch = dict[str, Tensor]


def config(num_layers: int) -> ElectraConfig:
    """The encoder, or with one layer the generator."""
    return ElectraConfig(
        vocab_size=VOCAB_SIZE,
        hidden_size=128,
        embedding_size=128,
        num_layers=num_layers,
        num_heads=4,
        intermediate_size=512,
        max_position_embeddings=LENGTH,
        hidden_dropout=0.0,
        attention_dropout=0.0,
    )


def as_frequent(model: ElectraForMaskedLM, tokens: Tensor) -> ElectraForMaskedLM:
    """Let the output's bias start as the logarithm of the tokens' frequencies."""
    frequency = torch.bincount(tokens, minlength=VOCAB_SIZE) + 1.0
    model.masked_lm.decoder.bias.data = (frequency / frequency.sum()).log()
    return model


def for_masked_lm(tokens: Tensor) -> tuple[nn.Module, Electra]:
    """A masked language model, and the encoder in it."""
    torch.manual_seed(0)
    model = ElectraForMaskedLM(config(2))
    start(model.electra)
    return as_frequent(model, tokens), model.electra


def for_replaced_tokens(tokens: Tensor) -> tuple[nn.Module, Electra]:
    """Generator and discriminator with shared embeddings, and the encoder in the latter."""
    torch.manual_seed(0)
    generator, discriminator = ElectraForMaskedLM(config(1)), ElectraForPreTraining(config(2))
    start(generator.electra)
    start(discriminator.electra)
    share_embeddings(generator, discriminator)
    return (
        GeneratorAndDiscriminator(as_frequent(generator, tokens), discriminator),
        discriminator.electra,
    )


def batches_of(tokens: Tensor) -> Callable[[int], Batch]:
    """Random stretches with blanks, and the chances for the generator's guesses; batch i is a
    function of i alone.
    """
    blanks = masking(SHARE)

    def batch(index: int) -> Batch:
        rows, generator = stretches(tokens, index)
        ids, labels = blanks.mask_tokens(rows, generator)
        return {
            "ids": ids,
            "labels": labels,
            "mask": torch.ones_like(ids, dtype=torch.bool),
            "chances": torch.rand(ids.shape, generator=generator),
        }

    return batch


def training(steps: int) -> TrainingConfig:
    """How both are trained, in so many steps."""
    return TrainingConfig(
        num_steps=steps,
        learning_rate=1.5e-3,
        warmup_steps=100,
        schedule="linear",
        betas=(0.9, 0.98),
    )


def first_losses(count: int) -> list[float]:
    """ELECTRA's losses of the first steps, of warm-up all of them, trained anew; nothing
    is kept.
    """
    train_text, _ = split(scripture())
    tokens = as_tokens(tokenizer_for("bert_kjv", train_text, VOCAB_SIZE), train_text)
    model, _ = for_replaced_tokens(tokens)
    return losses_of_first_steps(count, model, replaced_token, batches_of(tokens), training(1000))


@torch.no_grad()
def figures(model: ElectraForPreTraining, tokenizer: Tokenizer, every: int = 1) -> dict[str, float]:
    """Over each so-manieth stretch of held-out text: the loss a token, and how well replaced tokens
    are told.

    A quarter of the tokens is replaced by others, drawn by their frequency; `detected` is the share
    of them that the model holds for replaced, `false_alarms` that of the tokens left alone.
    """
    _, held_out = split(scripture())
    tokens = as_tokens(tokenizer, held_out)
    rows = tokens[: len(tokens) // LENGTH * LENGTH].view(-1, LENGTH)[::every]  # (B, T)
    generator = torch.Generator().manual_seed(0)
    drawn = tokens[torch.randint(len(tokens), rows.shape, generator=generator)]
    shown = torch.where(torch.rand(rows.shape, generator=generator) < SHARE, drawn, rows)
    replaced = shown != rows
    logits = torch.cat([model(part).view(part.shape) for part in shown.split(64)])  # (B, T)
    loss = nn.functional.binary_cross_entropy_with_logits(logits, replaced.float())
    return {
        "nats": round(float(loss), 4),
        "detected": round(float((logits > 0)[replaced].double().mean()), 4),
        "false_alarms": round(float((logits > 0)[~replaced].double().mean()), 4),
    }


def written_both_ways(text: str) -> set[str]:
    """Words that have a capital in a tenth to nine tenths of their places, a verse's first word not
    counted.
    """
    counts = Counter(
        word for verse in text.splitlines() for word in words_of(BERT, verse)[1:] if word.isalpha()
    )
    return {
        word
        for word in counts
        if word.islower()
        and 1 <= 9 * counts[word] / max(counts[word.capitalize()], 1) <= 81
        and counts[word.capitalize()]
    }


class Probes:
    """Verses as tokens, with the answers to both questions, and which of them measure."""

    def __init__(
        self,
        tokenizer: Tokenizer,
        verses: list[str],
        is_new: list[bool],
        measures: list[bool],
        both_ways: set[str],
    ):
        encodings = [
            tokenizer.encode(verse, add_specials=False, specials_in_text=False) for verse in verses
        ]
        self.rows = [encoding.ids[:LENGTH] for encoding in encodings]
        self.new, self.measures = np.array(is_new), np.array(measures)
        self.places, self.capital = [], []  # (verse, place) of each word that is asked about
        for number, (verse, encoding) in enumerate(zip(verses, encodings, strict=True)):
            for place in range(1, len(self.rows[number]) - 1):
                word = verse[slice(*encoding.offsets[place])]
                whole = encoding.tokens[place] == word.lower() and not encoding.tokens[
                    place + 1
                ].startswith("##")
                if whole and word.lower() in both_ways:
                    self.places.append((number, place))
                    self.capital.append(word[0].isupper())
        self.capital = np.array(self.capital)

    @torch.no_grad()
    def judge(self, encoder: Electra) -> dict[str, float]:
        """Accuracy of both probes on held-out verses."""
        encoder.eval()
        token_vectors, verse_vectors = [], []
        for first in range(0, len(self.rows), 64):
            some = self.rows[first : first + 64]
            mask = token_mask(some)
            found = encoder(pad_rows(some, 0), mask=mask)  # (B, T, C)
            verse_vectors.append(mean_pool(found, mask))
            token_vectors += list(found)
        words = torch.stack([token_vectors[number][place] for number, place in self.places]).numpy()
        return self.scores(
            lambda x, y: LogisticRegression(max_iter=2000).fit(x, y),
            words,
            torch.cat(verse_vectors).numpy(),
        )

    def scores(self, fit: Callable, words: np.ndarray, verses: np.ndarray) -> dict[str, float]:
        """Fit and measure, both questions."""
        found = {}
        which_words = self.measures[[number for number, _ in self.places]]
        for name, x, y, measures in (
            ("capital", words, self.capital, which_words),
            ("testament", verses, self.new, self.measures),
        ):
            found[name] = round(
                float(fit(x[~measures], y[~measures]).score(x[measures], y[measures])), 4
            )
        return found

    def without_encoder(self) -> dict[str, dict[str, float]]:
        """The commonest answer of all, and what each token's own counts say."""
        words = np.eye(VOCAB_SIZE, dtype=np.float32)[
            [self.rows[number][place] for number, place in self.places]
        ]
        verses = np.stack([np.bincount(row, minlength=VOCAB_SIZE) for row in self.rows])
        fits = {
            "always the same answer": lambda x, y: DummyClassifier().fit(x, y),
            "counts of tokens": lambda x, y: MultinomialNB().fit(x, y),
        }
        return {name: {"probes": self.scores(fit, words, verses)} for name, fit in fits.items()}


def main() -> None:
    """Train both, judge both, write bench/results/trained_electra.json."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument(
        "--teraflops", type=float, default=TERAFLOPS, help="operations that each may spend"
    )
    args = parser.parse_args()
    torch.set_num_threads(1)
    text = scripture()
    train_text, held_out = split(text)
    tokenizer = tokenizer_for("bert_kjv", train_text, VOCAB_SIZE)
    tokens = as_tokens(tokenizer, train_text)
    number_of = {verse: number for number, verse in enumerate(text.splitlines())}
    measured = [verse for verse in held_out.splitlines() if verse in number_of]
    verses = [verse for verse in train_text.splitlines() if verse in number_of][::6] + measured
    probes = Probes(
        tokenizer,
        verses,
        [number_of[verse] >= OLD_TESTAMENT for verse in verses],
        [i >= len(verses) - len(measured) for i in range(len(verses))],
        written_both_ways(train_text),
    )
    batches = batches_of(tokens)

    found = {
        **probes.without_encoder(),
        "before training": {"probes": probes.judge(for_masked_lm(tokens)[1])},
    }
    ways: dict[str, tuple[Callable, Callable[[nn.Module, Batch], Terms]]] = {
        "masked LM": (for_masked_lm, masked_lm),
        "ELECTRA": (for_replaced_tokens, replaced_token),
    }
    for name, (make, objective) in ways.items():
        model, encoder = make(tokens)
        per_step = count_flops(lambda: objective(model, batches(0)).total.backward())
        model.zero_grad()
        steps = round(args.teraflops * 1e12 / per_step)
        started = time.process_time()
        history = train(model, objective, batches, training(steps)).history
        found[name] = {
            "steps": steps,
            "gigaflops_a_step": round(per_step / 1e9, 2),
            "cpu_seconds": round(time.process_time() - started),
            "probes": probes.judge(encoder),
            "last_loss": round(float(np.mean([row["loss"] for row in history[-50:]])), 3),
        }
        print(name, found[name], flush=True)
    keep(
        NAME,
        "electra",
        model.discriminator.config,
        model.discriminator,
        script="bench/trained/electra.py",
        seed=0,
        corpora=["kjv"],
        steps=steps,
        first_losses=[row["loss"] for row in history[:20]],
    )
    shutil.copyfile(folder("bert_kjv") / "vocab.txt", folder(NAME) / "vocab.txt")
    kept = small_model(NAME)
    add_figures(
        NAME, figures(kept.model, kept.tokenizer), figures(kept.model, kept.tokenizer, every=5)
    )
    save(
        "trained_electra",
        versions=("torch", "scikit-learn"),
        seed=0,
        teraflops=args.teraflops,
        share_of_blanks=SHARE,
        probed={
            "words": len(probes.places),
            "verses": len(verses),
            "verses_measured": len(measured),
        },
        found=found,
    )


if __name__ == "__main__":
    main()

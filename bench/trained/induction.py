"""Train a decoder of two layers and one of one layer on sequences that repeat, and look for
induction heads.

    python bench/trained/induction.py [--steps 1500] [--seeds 1] [--runs-only]
        about half a minute on one core for a run of two layers

A text is a random sequence of 8 to 24 words, repeated until 49 words are full. In it no pair of
words is likelier than another: what comes next can only be read off the earlier occurrence. Both
decoders are the one of `positions.py`, with rotary positions. Asked are random sequences of 20
words that come twice, unseen in training: the loss in the first and the second pass, and of each
head the mean weight on the token after the earlier occurrence (its prefix-matching score) and on
the token before. And texts that do not repeat, save for one word: is the word that followed it the
first time predicted the second time?

Kept is the model of two layers of the first seed (`small_model("induction")`). `--runs-only` keeps
none and writes bench/results/induction_seeds.json: when the change comes differs from seed to seed,
and for one seed from processor to processor, since sums are rounded differently.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch  # noqa: E402  (threads are set before torch starts)
from record import save  # noqa: E402
from texts import folder, losses_of_first_steps  # noqa: E402
from torch import Tensor, nn  # noqa: E402

from reference_impl.corpora.small_models import add_figures, keep, small_model  # noqa: E402
from reference_impl.measure.induction import (  # noqa: E402
    loss_by_position,
    prefix_matching,
    previous_token,
    twice,
)
from reference_impl.models.placed_decoder import (  # noqa: E402
    PlacedConfig,
    PlacedDecoder,
    PlacedDecoders,
)
from reference_impl.objectives.causal_lm import causal_lm, chunk_batch  # noqa: E402
from reference_impl.training.loop import TrainingConfig, train  # noqa: E402

NAME, KIND = "induction", "RoPE"
WORDS = (
    "a all and at bank bread by clear cold come day deep earth fall find fire fish for give go"
    " good grass green hand he heart high hill home house in king land lend light live long man"
    " money moon new night of old on open path rain rise river road sea see sing sky small song"
    " stone sun the tree walk water wind"
).split()
LENGTH, BATCH, STEPS, SHORTEST, HALF, EVERY = 48, 16, 1500, 8, 20, 50


def config(layers: int) -> PlacedConfig:
    """The sizes of the decoder with so many layers."""
    return PlacedConfig(kinds=(KIND,), vocab_size=len(WORDS), num_layers=layers)


def new_model(layers: int, seed: int) -> PlacedDecoder:
    """A decoder whose matrices are drawn at the size that keeps a vector's length."""
    torch.manual_seed(seed)
    model = PlacedDecoder(KIND, config(layers))
    for matrix in model.parameters():
        if matrix.ndim == 2:
            nn.init.normal_(matrix, std=matrix.shape[1] ** -0.5)
    return model


def batch(number: int) -> dict[str, Tensor]:
    """Batch `number`, the same for every model: random words, repeated with a period for each."""
    drawn = torch.Generator().manual_seed(number)
    rows = torch.randint(len(WORDS), (BATCH, LENGTH + 1), generator=drawn)
    periods = torch.randint(SHORTEST, LENGTH // 2 + 1, (BATCH, 1), generator=drawn)
    return chunk_batch(rows.gather(1, torch.arange(LENGTH + 1) % periods))


def settings(steps: int) -> TrainingConfig:
    """How every model is trained."""
    return TrainingConfig(
        num_steps=steps,
        learning_rate=8e-3,
        warmup_steps=50,
        schedule="cosine",
        min_learning_rate=4e-4,
        weight_decay=0.01,
        betas=(0.9, 0.98),
    )


def first_losses(count: int) -> list[float]:
    """The loss of the first steps of two layers under the first seed."""
    return losses_of_first_steps(count, new_model(2, 0), causal_lm, batch, settings(STEPS))


@torch.no_grad()
def measured(model: PlacedDecoder, count: int = 64) -> dict[str, Any]:
    """Nats in the first and second pass, and both scores of each head, layer by layer."""
    ids = twice(len(WORDS), HALF, count)
    losses, weights = loss_by_position(model(ids), ids), model.weights(ids)
    return {
        "first": round(float(losses[: HALF - 1].mean()), 4),
        "second": round(float(losses[HALF:].mean()), 4),
        "prefix_matching": [
            [round(one, 4) for one in prefix_matching(layer, HALF).tolist()] for layer in weights
        ],
        "previous_token": [
            [round(one, 4) for one in previous_token(layer).tolist()] for layer in weights
        ],
    }


@torch.no_grad()
def followed(model: PlacedDecoder, count: int = 256, gap: int = 12) -> dict[str, float]:
    """In texts of different words, of which one comes again at the end: the mean probability of the
    word that followed it, and the share of texts where it is the likeliest.
    """
    drawn = torch.Generator().manual_seed(1)
    ids = torch.stack([torch.randperm(len(WORDS), generator=drawn)[:30] for _ in range(count)])
    ids[:, -1] = ids[:, -1 - gap]
    shares = model(ids)[:, -1].softmax(-1)
    wanted = ids[:, -gap]
    return {
        "probability": round(float(shares.gather(1, wanted[:, None]).mean()), 4),
        "likeliest": round(float((shares.argmax(-1) == wanted).double().mean()), 4),
    }


def figures(models: PlacedDecoders, words: list[str], every: int = 1) -> dict[str, float]:
    """What the kept model does on repeated sequences, over one in `every` of them."""
    found = measured(models[KIND], 64 // every)
    return {
        "nats, first pass": found["first"],
        "nats, second pass": found["second"],
        "prefix matching, best head": max(found["prefix_matching"][1]),
        "previous token, best head": max(found["previous_token"][0]),
    }


def run(job: tuple[int, int, int]) -> dict[str, Any]:
    """Train one model; what is found of it on the way and at the end, and its weights."""
    layers, seed, steps = job
    torch.set_num_threads(1)
    model, curve, started = new_model(layers, seed), [], time.process_time()

    def watched(model: nn.Module, batch: dict[str, Tensor]) -> Any:
        if watched.step % EVERY == 0:
            found = measured(model, 16)
            best = max(max(layer) for layer in found["prefix_matching"])
            curve.append([watched.step, found["first"], found["second"], best])
        watched.step += 1
        return causal_lm(model, batch)

    watched.step = 0
    train(model, watched, batch, settings(steps), progress=False)
    spent = round(time.process_time() - started, 1)
    found = measured(model.eval())
    curve.append([steps, found["first"], found["second"], max(map(max, found["prefix_matching"]))])
    print(layers, seed, curve[-1], f"{spent} s", flush=True)
    return {
        "layers": layers,
        "seed": seed,
        **found,
        "followed": followed(model),
        "curve": curve,
        "cpu_seconds": spent,
        "weights": model.state_dict(),
    }


def in_two_processes(jobs: list, work: Callable) -> list[dict[str, Any]]:
    """The result of each job, in order."""
    with ProcessPoolExecutor(2) as pool:
        return list(pool.map(work, jobs))


def main() -> None:
    """Train, keep the first model, write bench/results/trained_induction.json."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--runs-only", action="store_true", help="keep no model")
    options = parser.parse_args()
    jobs = [(layers, seed, options.steps) for seed in range(options.seeds) for layers in (2, 1)]
    runs = in_two_processes(jobs, run)
    if options.runs_only:
        save_runs("induction_seeds", runs, options)
        return
    kept = PlacedDecoder(KIND, config(2))
    kept.load_state_dict(runs[0]["weights"])
    keep(
        NAME,
        "placed",
        config(2),
        PlacedDecoders(config(2), [kept]),
        script="bench/trained/induction.py",
        seed=0,
        corpora=[],
        steps=options.steps,
        first_losses=first_losses(20),
    )
    (folder(NAME) / "words.txt").write_text("\n".join(WORDS) + "\n", encoding="utf-8")
    again = small_model(NAME)  # what is measured from here on is what was kept
    add_figures(
        NAME, figures(again.model, again.tokenizer), figures(again.model, again.tokenizer, every=4)
    )
    save_runs("trained_induction", runs, options)


def save_runs(name: str, runs: list[dict[str, Any]], options: argparse.Namespace) -> None:
    """Write bench/results/NAME.json: settings, and what was found in every run."""
    save(
        name,
        versions=("torch",),
        seed=list(range(options.seeds)),
        steps=options.steps,
        words=len(WORDS),
        length=LENGTH,
        batch=BATCH,
        half=HALF,
        curve_is="step, nats in the first pass, in the second, prefix matching of the best head",
        runs=[{key: value for key, value in one.items() if key != "weights"} for one in runs],
    )


if __name__ == "__main__":
    main()

"""Move a preference by DPO: teach the small GPT to end its verses sooner, from pairs alone.

    python bench/trained/dpo.py [--steps 60]        after gpt.py; minutes on one core

The preference is known: of two continuations of the same verse the one that ends sooner is
preferred. Nothing tells the model so but the pairs, which it has sampled itself (Rafailov et al.
2023, section 4). Measured on prompts that no pair has: how often the implied reward agrees with the
preference, how long the verses are that it then writes, and what it costs: bits per byte on
held-out scripture, and the mean log-ratio to the reference on its own samples.

The model is kept (`small_model("gpt_kjv_dpo")`), and beside it the pairs that were sampled: so its
training, and the agreement on held-out pairs, can be had again without sampling.
"""

import argparse
import json
import os
import shutil
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch  # noqa: E402  (threads are set before torch starts)
from gpt import CONFIG, CONTEXT, bits_per_byte, load_trained  # noqa: E402
from gpt import NAME as GPT_NAME
from gpt import figures as gpt_figures
from record import save  # noqa: E402
from texts import as_tokens, folder, losses_of_first_steps, scripture, split  # noqa: E402

from reference_impl.corpora.small_models import add_figures, keep, small_model  # noqa: E402
from reference_impl.generation.loop import generate  # noqa: E402
from reference_impl.generation.sampling_params import SamplingParams  # noqa: E402
from reference_impl.models.gpt import GPT  # noqa: E402
from reference_impl.objectives.batches import Batch  # noqa: E402
from reference_impl.objectives.dpo import dpo, with_reference  # noqa: E402
from reference_impl.objectives.logprobs import sequence_logprobs  # noqa: E402
from reference_impl.objectives.preferences import Preference, preference_batch  # noqa: E402
from reference_impl.objectives.terms import Terms  # noqa: E402
from reference_impl.tokenizers.byte_level import ByteLevelBPE  # noqa: E402
from reference_impl.training.loop import TrainingConfig, train  # noqa: E402

NAME, STEPS, RATE = "gpt_kjv_dpo", 60, 3e-5
PROMPT_TOKENS, LONGEST, PAIRS_A_BATCH, BETA = 8, 80, 8, 0.1


def prompts_from(verses: list[str], tokenizer, count: int, seed: int) -> list[list[int]]:
    """The first tokens of verses drawn at random, of those that are long enough to go on."""
    generator = torch.Generator().manual_seed(seed)
    found: list[list[int]] = []
    for place in torch.randperm(len(verses), generator=generator).tolist():
        ids = tokenizer.encode(verses[place])
        if len(ids) > 2 * PROMPT_TOKENS:
            found.append(ids[:PROMPT_TOKENS])
        if len(found) == count:
            break
    return found


def continuations(model: GPT, prompts: list[list[int]], end_id: int, seed: int) -> list[list[int]]:
    """One sampled continuation of each prompt, to the end of its verse or LONGEST tokens.

    Each prompt has a seed of its own: with one for all, all would be continued by the same random
    numbers.
    """
    params = [
        SamplingParams(
            temperature=1.0, max_tokens=LONGEST, seed=seed + number, stop_token_ids=(end_id,)
        )
        for number in range(len(prompts))
    ]
    said = []
    for start in range(0, len(prompts), 32):
        said += [
            list(output.ids)
            for output in generate(model, prompts[start : start + 32], params[start : start + 32])
        ]
    return said


def pairs_from(model: GPT, prompts: list[list[int]], end_id: int, seed: int) -> list[Preference]:
    """Two continuations of each prompt, the shorter preferred; equally long ones say nothing and
    are left out.
    """
    both = zip(
        prompts,
        continuations(model, prompts, end_id, seed),
        continuations(model, prompts, end_id, seed + 7919),
    )
    return [
        Preference(prompt, *sorted((one, other), key=len))
        for prompt, one, other in both
        if len(one) != len(other)
    ]


@torch.no_grad()
def agreement(model: GPT, reference: GPT, pairs: list[Preference]) -> float:
    """Share of the pairs whose preferred answer has the higher implied reward; equal ones count
    half.
    """
    batch = preference_batch(pairs)
    chosen, rejected = (
        sequence_logprobs(model, batch) - sequence_logprobs(reference, batch)
    ).chunk(2)
    return float(((chosen > rejected).double() + 0.5 * (chosen == rejected)).mean())


def kept_pairs() -> dict[str, list[Preference]]:
    """The pairs that were sampled, "train" and "held_out"."""
    stored = json.loads((folder(NAME) / "pairs.json").read_text(encoding="utf-8"))
    return {part: [Preference(*pair) for pair in pairs] for part, pairs in stored.items()}


def batches_of(reference: GPT, pairs: list[Preference]) -> Callable[[int], Batch]:
    """Pairs drawn at random; batch i is a function of i alone."""

    def batch(index: int) -> Batch:
        generator = torch.Generator().manual_seed(index)
        chosen = torch.randperm(len(pairs), generator=generator)[:PAIRS_A_BATCH].tolist()
        return with_reference(reference, preference_batch([pairs[i] for i in chosen]))

    return batch


def training(steps: int, rate: float) -> TrainingConfig:
    """How it is trained, in so many steps."""
    return TrainingConfig(num_steps=steps, learning_rate=rate, warmup_steps=5, weight_decay=0.0)


def objective(model: GPT, batch: Batch) -> Terms:
    """DPO at BETA."""
    return dpo(model, batch, BETA)


def first_losses(count: int) -> list[float]:
    """The losses of the first steps, trained anew from the kept pairs; nothing is kept."""
    batches = batches_of(load_trained()[0], kept_pairs()["train"])
    return losses_of_first_steps(
        count, load_trained()[0], objective, batches, training(STEPS, RATE)
    )


def figures(model: GPT, tokenizer: ByteLevelBPE, every: int = 1) -> dict[str, float]:
    """What `gpt.py` measures, and the agreement; over all held-out text and pairs, or each
    so-manieth.
    """
    pairs = kept_pairs()["held_out"][::every]
    return {
        **gpt_figures(model, tokenizer, every),
        "agreement": round(agreement(model, load_trained()[0], pairs), 4),
    }


def main() -> None:
    """Sample pairs, train, measure, write bench/results/trained_dpo.json."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--learning-rate", type=float, default=RATE)
    parser.add_argument("--prompts", type=int, default=400)
    args = parser.parse_args()
    torch.set_num_threads(1)
    reference, tokenizer = load_trained()
    model, _ = load_trained()
    end_id = tokenizer.encode("\n")[0]
    train_text, held_text = split(scripture())
    pairs = pairs_from(
        reference, prompts_from(train_text.splitlines(), tokenizer, args.prompts, 0), end_id, 0
    )
    held_prompts = prompts_from(held_text.splitlines(), tokenizer, 96, 1)
    held_pairs = pairs_from(reference, held_prompts, end_id, 50_000)
    held_tokens, held_bytes = as_tokens(tokenizer, held_text), len(held_text.encode())

    def measure() -> dict[str, float]:
        model.eval()
        said = continuations(model, held_prompts, end_id, 90_000)
        lengths = [len(answer) for answer in said]
        rows = preference_batch(
            [Preference(p, a, [end_id, end_id]) for p, a in zip(held_prompts, said, strict=True)]
        )
        with torch.no_grad():
            moved = (sequence_logprobs(model, rows) - sequence_logprobs(reference, rows))[
                : len(said)
            ]
        return {
            "agreement": round(agreement(model, reference, held_pairs), 4),
            "mean_tokens_of_a_verse": round(statistics.mean(lengths), 2),
            "mean_log_ratio_to_reference": round(float(moved.mean()), 3),
            "bits_per_byte": round(bits_per_byte(model, held_tokens, held_bytes), 4),
        }

    before, started = measure(), time.process_time()
    history = train(
        model, objective, batches_of(reference, pairs), training(args.steps, args.learning_rate)
    ).history
    seconds = time.process_time() - started
    keep(
        NAME,
        "gpt",
        CONFIG,
        model,
        script="bench/trained/dpo.py",
        seed=0,
        corpora=["kjv"],
        steps=args.steps,
        first_losses=[row["loss"] for row in history[:20]],
    )
    (folder(NAME) / "pairs.json").write_text(
        json.dumps({"train": pairs, "held_out": held_pairs}), encoding="utf-8"
    )
    shutil.copyfile(folder(GPT_NAME) / "bpe.json", folder(NAME) / "bpe.json")
    kept = small_model(NAME)
    add_figures(
        NAME, figures(kept.model, kept.tokenizer), figures(kept.model, kept.tokenizer, every=8)
    )
    model = kept.model  # what is measured from here on is what was kept
    found = {"before": before, "after": measure()}
    print(found)
    save(
        "trained_dpo",
        versions=("torch", "numpy"),
        seed=0,
        steps=args.steps,
        learning_rate=args.learning_rate,
        beta=BETA,
        pairs=len(pairs),
        held_out_pairs=len(held_pairs),
        context=CONTEXT,
        cpu_seconds=round(seconds),
        loss={"first": round(history[0]["loss"], 4), "last": round(history[-1]["loss"], 4)},
        **found,
    )


if __name__ == "__main__":
    main()

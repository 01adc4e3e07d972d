"""Train a byte LLaMA on the King James Bible, and ask it far behind the length that it was trained
on.

    python bench/trained/llama.py [--steps 900] [--seeds 3]
        about two minutes on one core for a seed

LLaMA's block with 0.36M parameters: three layers, four query heads that share two key heads,
RMSNorm, SwiGLU, rotary positions, no biases. A token is a byte, so bits a token are bits a byte. It
learns from stretches of 128 bytes; then the loss is taken place by place in held-out stretches of
1,024, with the same weights
- as trained;
- with a window: each byte sees itself and the 63 before, in every layer;
- with positions squeezed by 4 or by 8, all angles alike (Chen et al. 2023), and with LLaMA 3.1's
  rule, which leaves the fast angles alone; nothing is trained on.

The model of seed 0 is kept (`small_model("llama_kjv")`).
"""

import argparse
import dataclasses
import json
import math
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch  # noqa: E402  (threads are set before torch starts)
from record import save  # noqa: E402
from texts import (
    as_tokens,
    folder,
    losses_of_first_steps,
    scripture,
    split,
    stretches_of,
)  # noqa: E402
from torch import Tensor, nn  # noqa: E402

from reference_impl.corpora.small_models import add_figures, keep, small_model  # noqa: E402
from reference_impl.generation.loop import generate  # noqa: E402
from reference_impl.generation.sampling_params import SamplingParams  # noqa: E402
from reference_impl.models.llama import Llama, LlamaConfig  # noqa: E402
from reference_impl.objectives.causal_lm import causal_lm, cut_chunks  # noqa: E402
from reference_impl.tokenizers.byte_level import ByteLevelBPE, train_byte_level_bpe  # noqa: E402
from reference_impl.training.loop import TrainingConfig, train  # noqa: E402

NAME, TRAINED, LONGEST, BATCH, STEPS = "llama_kjv", 128, 1024, 16, 900
CONFIG = LlamaConfig(
    vocab_size=256,
    hidden_size=96,
    intermediate_size=288,
    num_layers=3,
    num_heads=4,
    num_kv_heads=2,
    max_position_embeddings=LONGEST,
    tie_word_embeddings=True,
)
PLACES = ((0, 64), (64, 128), (128, 256), (256, 512), (512, 1024))
WAYS = {
    "as trained": {},
    "window of 64": {"sliding_window": 64},
    "squeezed by 4": {"rope_interpolation": 4.0},
    "squeezed by 8": {"rope_interpolation": 8.0},
    "slow angles squeezed by 8": {"rope_interpolation": 8.0, "rope_bands": (1.0, 4.0, TRAINED)},
}
PROMPTS = ("And the king said unto", "In the beginning", "We sat on the bank of the")


def byte_tokenizer() -> ByteLevelBPE:
    """The vocabulary of the 256 bytes, and no merges."""
    return train_byte_level_bpe([], 256)


def training(steps: int) -> TrainingConfig:
    """How it is trained, in so many steps."""
    return TrainingConfig(
        num_steps=steps,
        learning_rate=6e-3,
        warmup_steps=50,
        schedule="cosine",
        min_learning_rate=3e-4,
        weight_decay=0.1,
        betas=(0.9, 0.95),
    )


def first_losses(count: int) -> list[float]:
    """The losses of the first steps, of warm-up all of them, trained anew; nothing is kept."""
    tokens = as_tokens(byte_tokenizer(), split(scripture())[0])
    torch.manual_seed(0)
    return losses_of_first_steps(
        count, Llama(CONFIG), causal_lm, stretches_of(tokens, TRAINED, BATCH), training(STEPS)
    )


def changed(model: Llama, **settings: object) -> Llama:
    """The same weights under other settings that change no shape."""
    other = Llama(dataclasses.replace(model.config, **settings))
    other.load_state_dict(model.state_dict())
    return other.eval()


@torch.no_grad()
def bits_by_place(model: Llama, chunks: Tensor) -> Tensor:
    """Bits a byte at each place of the chunks (N, L), the mean over them: (L - 1,)."""
    total = torch.zeros(chunks.shape[1] - 1, dtype=torch.double)
    for some in chunks.split(8):
        nats = nn.functional.cross_entropy(
            model(some[:, :-1]).transpose(1, 2), some[:, 1:], reduction="none"
        )  # (B, L - 1)
        total += nats.double().sum(0)
    return total / len(chunks) / math.log(2)


def by_range(bits: Tensor) -> dict[str, float]:
    """The mean over each range of PLACES."""
    return {f"{low}-{high}": round(float(bits[low:high].mean()), 4) for low, high in PLACES}


def figures(model: Llama, tokenizer: ByteLevelBPE, every: int = 1) -> dict[str, float]:
    """Bits a byte in stretches of the trained length, over each so-manieth of the held-out ones."""
    rows = cut_chunks(as_tokens(tokenizer, split(scripture())[1]), TRAINED)[::every]
    return {
        "bits_per_byte": round(float(bits_by_place(model, rows).mean()), 4),
        "stretches": len(rows),
    }


def samples(model: Llama, tokenizer: ByteLevelBPE, temperature: float) -> list[str]:
    """What the model writes after each of PROMPTS."""
    params = SamplingParams(temperature=temperature, top_p=0.95, max_tokens=80, seed=0)
    return [
        prompt + tokenizer.decode(generate(model, [tokenizer.encode(prompt)], params)[0].ids)
        for prompt in PROMPTS
    ]


def main() -> None:
    """Train under every seed, keep the first, ask all, write bench/results/trained_llama.json."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    train_text, other_text = split(scripture())
    tokenizer = byte_tokenizer()
    tokens, others = as_tokens(tokenizer, train_text), as_tokens(tokenizer, other_text)
    long = cut_chunks(others, LONGEST)[::2]
    found: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS}
    seconds, curves, written = [], {}, {}
    for seed in range(options.seeds):
        torch.manual_seed(seed)
        model, started = Llama(CONFIG), time.process_time()
        history = train(
            model,
            causal_lm,
            stretches_of(tokens, TRAINED, BATCH, seed),
            training(options.steps),
            progress=False,
        ).history
        seconds.append(round(time.process_time() - started))
        if seed == 0:
            keep(
                NAME,
                "llama",
                CONFIG,
                model,
                script="bench/trained/llama.py",
                seed=0,
                corpora=["kjv"],
                steps=options.steps,
                first_losses=[row["loss"] for row in history[:20]],
            )
            (folder(NAME) / "bpe.json").write_text(
                json.dumps({"tokens": tokenizer.vocabulary.tokens, "merges": tokenizer.merges}),
                encoding="utf-8",
            )
            model = small_model(NAME).model  # what is measured from here on is what was kept
            add_figures(NAME, figures(model, tokenizer), figures(model, tokenizer, every=10))
            written = {
                "greedy": samples(model, tokenizer, 0.0),
                "temperature 0.8, top-p 0.95": samples(model, tokenizer, 0.8),
            }
        for way, settings in WAYS.items():
            bits = bits_by_place(changed(model, **settings), long)
            found[way].append(by_range(bits))
            if seed == 0:  # every 32 places one point of the curve
                curves[way] = [round(float(part.mean()), 3) for part in bits.split(32)]
            print(seed, way, found[way][-1], flush=True)
    save(
        "trained_llama",
        versions=("torch",),
        seeds=list(range(options.seeds)),
        steps=options.steps,
        cpu_seconds=seconds,
        parameters=sum(p.numel() for p in model.parameters()),
        trained_length=TRAINED,
        batch=BATCH,
        held_out={"stretches": len(long), "places": LONGEST},
        bits_a_byte=found,
        curve_every=32,
        curves=curves,
        samples=written,
    )


if __name__ == "__main__":
    main()

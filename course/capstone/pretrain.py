"""The pre-training stage: a LLaMA learns to predict the next token of scripture and glosses.

The student's own `rms_norm`, `swiglu`, `grouped_attention` (chapter 12) and `next_token_loss`
(chapter 8) are used where they exist.
"""

import functools
import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from course.capstone.settings import CONTEXT
from course.capstone.stages import Clock, Run
from course.capstone.tokenizer import TokenizedText, load_text
from reference_impl.layers.attention import merge_heads, split_heads
from reference_impl.layers.rotary import rotate
from reference_impl.measure.flops import count_flops, count_parameters
from reference_impl.models.llama import GroupedQueryAttention, Llama, LlamaConfig
from reference_impl.objectives.batches import Batch
from reference_impl.objectives.causal_lm import causal_lm, cut_chunks
from reference_impl.objectives.terms import Terms
from reference_impl.training.loop import TrainingConfig, prepare, train


def model_config(run: Run) -> LlamaConfig:
    """The shape of the model; conversations may be twice as long as a training chunk."""
    sizes = run.recipe.pretrain
    return LlamaConfig(
        vocab_size=run.recipe.tokenizer.vocab_size,
        hidden_size=sizes.hidden_size,
        intermediate_size=sizes.intermediate_size,
        num_layers=sizes.num_layers,
        num_heads=sizes.num_heads,
        num_kv_heads=sizes.num_kv_heads,
        max_position_embeddings=2 * CONTEXT,
        tie_word_embeddings=True,
    )


def make_model(run: Run) -> Llama:
    """A model with random parameters on the run's device, with the student's own layers."""
    torch.manual_seed(run.seed)
    model = Llama(model_config(run)).to(run.device)
    norm, swiglu = run.parts.own("rms_norm"), run.parts.own("swiglu")
    attend = run.parts.own("grouped_attention")
    for block in model.blocks:
        if norm is not None:
            for layer in (block.attention_norm, block.feed_forward_norm):
                layer.forward = functools.partial(_own_norm, layer, norm)
        if swiglu is not None:
            layer = block.feed_forward
            layer.forward = functools.partial(_own_swiglu, layer, swiglu)
        if attend is not None:
            layer = block.attention
            layer.forward = functools.partial(_own_attention, layer, attend)
    if norm is not None:
        model.norm.forward = functools.partial(_own_norm, model.norm, norm)
    return model


def _own_norm(layer: nn.Module, norm, x: Tensor) -> Tensor:
    return norm(x, layer.weight, layer.eps)


def _own_swiglu(layer: nn.Module, swiglu, x: Tensor) -> Tensor:
    return swiglu(x, layer.gate.weight, layer.up.weight, layer.down.weight)


def _own_attention(layer: GroupedQueryAttention, attend, x, rotary, mask, cache) -> Tensor:
    # The exercise knows neither caches nor padding: where there is one, the reference computes.
    if mask is not None or cache is not None:
        return GroupedQueryAttention.forward(layer, x, rotary, mask, cache)
    q = rotate(split_heads(layer.query(x), layer.num_heads), rotary)
    k = rotate(split_heads(layer.key(x), layer.num_kv_heads), rotary)
    v = split_heads(layer.value(x), layer.num_kv_heads)
    return layer.output(merge_heads(attend(q, k, v)))


def chunk_objective(run: Run):
    """The loss of chunks without padding: the student's `next_token_loss`, or `causal_lm`."""
    own = run.parts.own("next_token_loss")
    if own is None:
        return causal_lm

    def objective(model: nn.Module, batch: Batch) -> Terms:
        ids = batch["ids"]
        count = ids[:, 1:].numel()
        return Terms(count * own(model(ids), ids, torch.ones_like(ids, dtype=torch.bool)), count)

    return objective


def chunk_batch(text: TokenizedText, rows: int, seed: int) -> Batch:
    """Chunks of CONTEXT + 1 tokens from random positions of the training text."""
    generator = torch.Generator().manual_seed(seed)
    starts = torch.randint(0, len(text.train) - CONTEXT - 1, (rows, 1), generator=generator)
    ids = text.train[starts + torch.arange(CONTEXT + 1)]  # (rows, CONTEXT + 1)
    return {"ids": ids, "labels": ids}


def training_config(settings, seed: int, steps: int | None = None) -> TrainingConfig:
    """AdamW with a cosine schedule to a twentieth of the peak."""
    return TrainingConfig(
        num_steps=settings.steps if steps is None else steps,
        learning_rate=settings.learning_rate,
        warmup_steps=settings.warmup,
        min_learning_rate=settings.learning_rate / 20,
        weight_decay=0.1,
        betas=(0.9, 0.95),
        checkpoint_every=settings.checkpoint_every,
        seed=seed,
    )


@torch.no_grad()
def bits_per_byte(model: nn.Module, ids: Tensor, bytes_per_token: float, chunks: int) -> float:
    """Bits per byte of held-out text, over so many chunks."""
    device = next(model.parameters()).device
    rows = cut_chunks(ids, CONTEXT)[:chunks].to(device)
    mean = causal_lm(model, {"ids": rows, "labels": rows}).mean
    return float(mean) / math.log(2) / bytes_per_token


def held_out_bits(run: Run, model: nn.Module, text: TokenizedText) -> dict[str, float]:
    """Bits per byte of held-out scripture and of held-out glosses."""
    chunks = run.recipe.evaluate.chunks
    return {
        "scripture": round(bits_per_byte(model, text.scripture, text.scripture_bytes, chunks), 4),
        "glosses": round(bits_per_byte(model, text.glosses, text.glosses_bytes, chunks), 4),
    }


def train_stage(
    run: Run,
    stage: str,
    model: Llama,
    objective: Callable[[Llama, Batch], Terms],
    batches: Callable[[int], Batch],
) -> dict[str, float]:
    """Train from the stage's last checkpoint on and save the parameters.

    Returns the FLOPs of all steps, counted on the first batch, and the last loss.
    """
    settings = getattr(run.recipe, stage)
    config = training_config(settings, run.seed)
    result = train(model, objective, batches, config, folder=run.path(stage, "training"))
    run.save_weights(stage, model)
    batch = prepare(batches, 0, model, run.seed)
    flops = count_flops(lambda: objective(model, batch).total.backward())
    return {
        "flops": settings.steps * flops,
        "last_loss": round(result.history[-1]["loss"], 4),
    }


def run_stage(run: Run, clock: Clock) -> None:
    """Pre-train from the last checkpoint on; write the parameters and what was measured."""
    settings, text = run.recipe.pretrain, load_text(run)
    model, objective = make_model(run), chunk_objective(run)

    def batches(step: int) -> Batch:
        return chunk_batch(text, settings.batch, run.seed * 1_000_000 + step)

    measured = train_stage(run, "pretrain", model, objective, batches)
    run.finish(
        "pretrain",
        clock,
        parameters=count_parameters(model),
        tokens=settings.steps * settings.batch * CONTEXT,
        bits_per_byte=held_out_bits(run, model.eval(), text),
        **measured,
    )

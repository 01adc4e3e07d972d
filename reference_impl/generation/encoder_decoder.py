"""Greedy decoding with an encoder-decoder: the source is read once, the target written
token by token.

Sutskever et al. 2014, section 3.2, began so; T5 (Raffel et al. 2020, section 3.1.2)
tests with it.

With a cache, keys and values of the source are made once, those of the target token by
token.

Not here: sampling, beams (see `sampler`, `beam`: for decoders alone).
"""

from collections.abc import Collection

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from reference_impl.generation.cache import PreallocatedCache
from reference_impl.generation.sampler import check_logits
from reference_impl.generation.sampling_params import GenerationError
from reference_impl.models.t5 import T5, DecoderCache
from reference_impl.models.transformer import Transformer


@torch.inference_mode()
def translate(
    model: T5 | Transformer,
    source: Int[Tensor, "B S"],
    mask: Bool[Tensor, "B S"] | None = None,
    max_tokens: int = 20,
    eos_ids: Collection[int] = (1,),
    start_id: int = 0,
    *,
    cache: bool = True,
) -> list[list[int]]:
    """The likeliest token after the likeliest token, until an end token, which is
    included, or max_tokens.

    `mask` is True for the tokens of the source. Call it on a model in evaluation mode.
    A Transformer takes no cache. Raises GenerationError for an empty source or logits
    that are no numbers.
    """
    if cache and isinstance(model, Transformer):
        raise GenerationError(
            "a Transformer here keeps no keys and values: call it with cache=False, or"
            " take a T5"
        )
    if source.numel() == 0 or (mask is not None and not bool(mask.any(1).all())):
        raise GenerationError(
            f"sources of shape {tuple(source.shape)} have a row without a token: give"
            " at least one"
        )
    memory = model.encode(source, mask)  # (B, S, C)
    target = torch.full(
        (len(source), 1), start_id, device=source.device
    )  # (B, 1), without a cache then longer
    caches = (
        ([DecoderCache(PreallocatedCache(max_tokens)) for _ in model.decoder.blocks],)
        if cache
        else ()
    )
    found, live = [[] for _ in source], set(range(len(source)))
    for _ in range(max_tokens):
        logits = model.decode(target, memory, mask, *caches)[:, -1]  # (B, V)
        check_logits(logits)
        chosen = logits.argmax(-1)
        target = (
            chosen[:, None] if cache else torch.cat((target, chosen[:, None]), dim=1)
        )
        for row in sorted(live):
            found[row].append(int(chosen[row]))
            if found[row][-1] in eos_ids:
                live.remove(row)
        if not live:
            break
    return found

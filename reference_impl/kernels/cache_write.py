"""Write the keys and values of new tokens into the blocks of a cache.

Kwon et al. 2023, sections 4.1 and 4.2. The cache is one tensor of blocks, (num_blocks,
block_size, K, D); which blocks a sequence has, and in which order, is written in its
block table. For writing the engine gives each token its slot, block * block_size +
offset, in a `slot_mapping`; -1 is padding, for which nothing is written.

Not here: who gets which block (see `engine`), reading (see `paged_decode`,
`paged_prefill`).
"""

from typing import no_type_check

from jaxtyping import Float, Int
from torch import Tensor

from reference_impl.kernels.backend import (
    KernelError,
    choose,
    device_of,
    side_by_side,
    tl,
    triton,
)


def store_kv_twin(
    k: Float[Tensor, "N K D"],
    v: Float[Tensor, "N K D"],
    k_cache: Float[Tensor, "b s K D"],
    v_cache: Float[Tensor, "b s K D"],
    slot_mapping: Int[Tensor, "N"],
) -> None:
    """Put each token's row at its block and offset."""
    real = slot_mapping >= 0
    slots = slot_mapping[real].long()
    block, offset = slots // k_cache.shape[1], slots % k_cache.shape[1]
    k_cache[block, offset] = k[real].to(k_cache.dtype)
    v_cache[block, offset] = v[real].to(v_cache.dtype)


@triton.jit
@no_type_check
def _store_kernel(
    k,
    v,
    k_cache,
    v_cache,
    slot_mapping,
    block_size,
    stride_k,
    stride_kh,
    stride_v,
    stride_vh,
    stride_kb,
    stride_ks,
    stride_kk,
    stride_vb,
    stride_vs,
    stride_vk,
    HEADS: tl.constexpr,
    HEADS_PADDED: tl.constexpr,
    D: tl.constexpr,
    D_PADDED: tl.constexpr,
):
    token = tl.program_id(0).to(tl.int64)
    slot = tl.load(slot_mapping + token).to(tl.int64)
    if slot < 0:
        return
    block, offset = (
        slot // block_size,
        slot % block_size,
    )  # in 64 bits: a cache has more than 2^31 numbers
    head, width = (
        tl.arange(0, HEADS_PADDED)[:, None].to(tl.int64),
        tl.arange(0, D_PADDED)[None, :],
    )
    inside = (head < HEADS) & (width < D)
    k_row = tl.load(k + token * stride_k + head * stride_kh + width, mask=inside)
    v_row = tl.load(v + token * stride_v + head * stride_vh + width, mask=inside)
    k_target = (
        k_cache + block * stride_kb + offset * stride_ks + head * stride_kk + width
    )
    v_target = (
        v_cache + block * stride_vb + offset * stride_vs + head * stride_vk + width
    )
    tl.store(k_target, k_row.to(k_cache.dtype.element_ty), mask=inside)
    tl.store(v_target, v_row.to(v_cache.dtype.element_ty), mask=inside)


def check_cache(operation: str, k_cache: Tensor, v_cache: Tensor) -> None:
    """Refuse caches whose last dimension has gaps: the kernels read a head's numbers
    side by side.
    """
    if k_cache.stride(-1) != 1 or v_cache.stride(-1) != 1:
        raise KernelError(
            f"{operation}: strides {k_cache.stride()} and {v_cache.stride()}: a head's"
            " numbers must lie side by side in the cache: make it contiguous"
        )


def store_kv(
    k: Float[Tensor, "N K D"],
    v: Float[Tensor, "N K D"],
    k_cache: Float[Tensor, "b s K D"],
    v_cache: Float[Tensor, "b s K D"],
    slot_mapping: Int[Tensor, "N"],
    *,
    backend: str | None = None,
) -> None:
    """Write k and v of N tokens into their slots, in place; tokens with slot -1 are
    left out.

    No two tokens may have one slot. Rows of k and v may lie apart, as parts of one wide
    projection do. On a CPU a slot past the cache raises KernelError; a GPU would have
    to be waited for to ask it.
    """
    backend = choose("store_kv", k, backend)
    num_slots = k_cache.shape[0] * k_cache.shape[1]
    if (
        slot_mapping.device.type == "cpu"
        and slot_mapping.numel()
        and int(slot_mapping.max()) >= num_slots
    ):
        raise KernelError(
            f"slot {int(slot_mapping.max())} but the cache has {num_slots}: "
            f"{k_cache.shape[0]} blocks of {k_cache.shape[1]}"
        )
    if backend == "torch":
        store_kv_twin(k, v, k_cache, v_cache, slot_mapping)
        return
    check_cache("store_kv", k_cache, v_cache)
    k, v = side_by_side(k), side_by_side(v)
    num_tokens, heads, head_dim = k.shape
    if num_tokens:
        with device_of(k):
            _store_kernel[(num_tokens,)](
                k,
                v,
                k_cache,
                v_cache,
                slot_mapping,
                k_cache.shape[1],
                *k.stride()[:2],
                *v.stride()[:2],
                *k_cache.stride()[:3],
                *v_cache.stride()[:3],
                HEADS=heads,
                HEADS_PADDED=triton.next_power_of_2(heads),
                D=head_dim,
                D_PADDED=triton.next_power_of_2(head_dim),
            )

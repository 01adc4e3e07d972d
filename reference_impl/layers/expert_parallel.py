"""Expert parallelism: each process holds some experts and some tokens.

Lepikhin et al. 2021 (GShard), section 2.2. A token's vector is sent to the processes
that hold its experts, computed there, and sent back: two all-to-all exchanges for a
layer. How many vectors go where is known after the router only, so their numbers are
exchanged first.

Not here: experts that are held twice, exchange in fewer bits, overlap of exchange and
computation.
"""

from typing import NamedTuple

import torch
import torch.distributed as dist
from jaxtyping import Float, Int
from torch import Tensor

from reference_impl.layers.moe import MixtureOfExperts


class Dispatch(NamedTuple):
    """Copies of tokens in the order in which they are sent, sorted by receiver."""

    tokens: Int[Tensor, "N"]
    choices: Int[Tensor, "N"]
    counts: Int[Tensor, "P"]


def plan_dispatch(
    experts: Int[Tensor, "N k"], num_experts: int, num_processes: int
) -> Dispatch:
    """Process r holds the experts from r E/P on, E/P of them."""
    owners = experts.flatten() // (num_experts // num_processes)  # (N k,)
    order = owners.argsort(stable=True)
    return Dispatch(
        order // experts.shape[1],
        order % experts.shape[1],
        owners.bincount(minlength=num_processes),
    )


def all_to_all(
    x: Float[Tensor, "M ..."], sent: list[int], received: list[int]
) -> Float[Tensor, "R ..."]:
    """All-to-all: the first sent[0] rows go to process 0, and so on."""
    out = x.new_empty(sum(received), *x.shape[1:])
    dist.all_to_all_single(out, x.contiguous(), received, sent)
    return out


@torch.no_grad()
def expert_parallel(
    moe: MixtureOfExperts, x: Float[Tensor, "N C"]
) -> Float[Tensor, "N C"]:
    """What `moe` gives for this process's tokens, each computed where its experts are.

    All processes call it together, each with tokens of its own. Only the process's own
    experts of `moe` are used.
    """
    size, rank, num_experts = dist.get_world_size(), dist.get_rank(), len(moe.experts)
    experts, weights, _ = moe.router(x)
    plan = plan_dispatch(experts, num_experts, size)
    sent = plan.counts.tolist()
    received = all_to_all(plan.counts, [1] * size, [1] * size).tolist()
    vectors = all_to_all(x[plan.tokens], sent, received)
    numbers = all_to_all(experts[plan.tokens, plan.choices], sent, received)
    results, per = torch.empty_like(vectors), num_experts // size
    for e in range(rank * per, (rank + 1) * per):
        mine = numbers == e
        results[mine] = moe.experts[e](vectors[mine][None])[0]
    returned = all_to_all(results, received, sent)
    weighted = returned * weights[plan.tokens, plan.choices, None]
    out = torch.zeros_like(x).index_add(0, plan.tokens, weighted)
    return out if moe.shared is None else out + moe.shared(x[None])[0]

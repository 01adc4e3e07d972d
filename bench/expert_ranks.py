"""Expert parallelism in two gloo processes: equal to the whole layer, and bytes counted.

    python bench/expert_ranks.py        half a minute on two cores

A mixture of eight experts with two per token, 64 tokens of 32 numbers in each process, random
weights; five seeds. Counted: vectors that a process sends to the other one, in both exchanges,
against the formula for an even router.
"""

import os
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path[:0] = [str(Path(__file__).resolve().parent)]

import torch  # noqa: E402  (threads are set before torch starts)
import torch.distributed as dist  # noqa: E402
from record import save  # noqa: E402

from reference_impl.layers.expert_parallel import expert_parallel, plan_dispatch  # noqa: E402
from reference_impl.layers.moe import MixtureOfExperts, Router  # noqa: E402

SIZE, EXPERTS, CHOSEN, TOKENS, WIDTH, SEEDS = 2, 8, 2, 64, 32, 5


def layer(seed: int) -> tuple[MixtureOfExperts, torch.Tensor]:
    """The same layer and the same tokens of all processes, everywhere."""
    torch.manual_seed(seed)
    moe = MixtureOfExperts(Router(WIDTH, EXPERTS, CHOSEN), 48, shared_size=16).eval()
    return moe, torch.randn(SIZE * TOKENS, WIDTH)


def work(rank: int, folder: str) -> None:
    """One process: its tokens through the layer, and what it sent."""
    dist.init_process_group("gloo", f"file://{folder}/meet", world_size=SIZE, rank=rank)
    found = []
    for seed in range(SEEDS):
        moe, x = layer(seed)
        own = x[rank * TOKENS : (rank + 1) * TOKENS]
        result = expert_parallel(moe, own)
        with torch.no_grad():
            whole = moe(x[None])[0, rank * TOKENS : (rank + 1) * TOKENS]
            counts = plan_dispatch(moe.router(own).experts, EXPERTS, SIZE).counts
        away = int(counts.sum() - counts[rank])
        found.append({"difference": float((result - whole).abs().max()), "away": away})
    torch.save(found, f"{folder}/{rank}.pt")
    dist.barrier()
    dist.destroy_process_group()


def main() -> None:
    """Start both, write bench/results/expert_ranks.json."""
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(work, (folder,), nprocs=SIZE)
        found = [torch.load(f"{folder}/{rank}.pt") for rank in range(SIZE)]
    runs = [
        {
            "seed": seed,
            "difference": max(each[seed]["difference"] for each in found),
            "sent_away": [each[seed]["away"] for each in found],
        }
        for seed in range(SEEDS)
    ]
    save(
        "expert_ranks",
        versions=("torch",),
        seed=list(range(SEEDS)),
        processes=SIZE,
        experts=EXPERTS,
        per_token=CHOSEN,
        tokens=TOKENS,
        width=WIDTH,
        even=TOKENS * CHOSEN * (SIZE - 1) // SIZE,
        runs=runs,
    )


if __name__ == "__main__":
    main()

"""Experts on several processes: the plan of the exchange, and the whole layer's result in two gloo
processes.
"""

import pytest
import torch
import torch.distributed as dist

from reference_impl.layers.expert_parallel import expert_parallel, plan_dispatch
from reference_impl.layers.moe import MixtureOfExperts, Router


def test_the_plan_sorts_copies_by_the_process_that_holds_their_expert():
    experts = torch.tensor([[0, 3], [2, 1], [3, 2]])
    plan = plan_dispatch(experts, num_experts=4, num_processes=2)
    assert plan.counts.tolist() == [2, 4]
    assert experts[plan.tokens, plan.choices].tolist() == [0, 1, 3, 2, 3, 2]
    assert plan.tokens.tolist() == [0, 1, 0, 1, 2, 2]


def compare(rank, folder):
    """One process: unequal numbers of tokens, and a process that is sent nothing."""
    dist.init_process_group("gloo", f"file://{folder}/meet", world_size=2, rank=rank)
    differences = []
    for seed, tokens in ((0, 7), (1, 3), (2, 1)):
        torch.manual_seed(seed)
        moe = MixtureOfExperts(Router(12, 4, 2), 8, shared_size=6).double().eval()
        if seed == 2:
            moe.router.bias += torch.tensor([9.0, 9, 0, 0])
        x = torch.randn(tokens + rank, 12).double()
        with torch.no_grad():
            whole = moe(x[None])[0]
        for e, expert in enumerate(moe.experts):  # experts of the other process are not used
            if e // 2 != rank:
                for parameter in expert.parameters():
                    parameter.data.fill_(float("nan"))
        differences.append(float((expert_parallel(moe, x) - whole).abs().max()))
    torch.save(differences, f"{folder}/{rank}.pt")
    dist.barrier()
    dist.destroy_process_group()


def test_two_processes_give_the_whole_layer(tmp_path):
    torch.multiprocessing.spawn(compare, (str(tmp_path),), nprocs=2)
    found = [torch.load(tmp_path / f"{rank}.pt") for rank in (0, 1)]
    assert [len(each) for each in found] == [3, 3]
    assert max(max(each) for each in found) == pytest.approx(0, abs=1e-12)

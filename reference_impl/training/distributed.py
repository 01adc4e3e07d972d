"""The same loop in several processes, each with its share of the micro-batches.

Started by `torchrun --nproc-per-node 2 script.py`. Two ways: every process holds the
whole model and gradients are added up (DDP; Li et al. 2020), or each holds a part of
every weight, gradient and optimiser state, and borrows the rest for the moment in which
it computes (fully sharded; Rajbhandari et al. 2020, section 5, stage 3; torch's FSDP2).

Micro-batch n of a step goes to process n mod size. All count their terms, and the sum
of all gradients is divided by the sum of all counts: as if one process had taken the
whole step.

The objective runs inside the wrapped module, so that it may call any method of the
model.

Not here: tensor and pipeline parallelism, checkpoints in shards (each process reads the
whole one).
"""

import contextlib
import os
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor
from torch.nn.parallel import DistributedDataParallel

from reference_impl.objectives.terms import Terms

WAYS = ("ddp", "fsdp")


class Loss(nn.Module):
    """The objective and its model as one module; calling it gives Terms."""

    def __init__(
        self,
        model: nn.Module,
        objective: Callable[[nn.Module, dict[str, Tensor]], Terms],
    ):
        super().__init__()
        self.model, self.objective = model, objective

    def forward(self, batch: dict[str, Tensor]) -> Terms:
        """The terms of one micro-batch."""
        return self.objective(self.model, batch)


@dataclass
class Processes:
    """This process's place among them. Alone: rank 0 of 1."""

    rank: int
    size: int

    @classmethod
    def join(cls) -> "Processes":
        """Meet the others that torchrun started, if it did."""
        if int(os.environ.get("WORLD_SIZE", 1)) == 1:
            return cls(0, 1)
        if not dist.is_initialized():
            dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
        return cls(dist.get_rank(), dist.get_world_size())

    def share(self, step: int, accumulation: int) -> list[int]:
        """The numbers of this process's micro-batches in this step.

        Raises ValueError if processes would get different numbers of them.
        """
        if accumulation % self.size:
            raise ValueError(
                f"accumulation {accumulation} is not a multiple of {self.size}"
                " processes: a step's micro-batches are shared out evenly"
            )
        return list(
            range(step * accumulation + self.rank, (step + 1) * accumulation, self.size)
        )

    def wrap(self, loss: Loss, way: str) -> nn.Module:
        """Replicas or shards of the model within `loss`, which is changed in place;
        alone, `loss` itself.
        """
        if way not in WAYS:
            raise ValueError(f"parallel {way!r} is none of {', '.join(WAYS)}")
        if self.size == 1:
            return loss
        if way == "ddp":
            return DistributedDataParallel(loss)
        for tensor in (*loss.parameters(), *loss.buffers()):  # DDP does this itself
            dist.broadcast(tensor.detach(), 0)
        for module in loss.modules():
            if isinstance(module, nn.ModuleList):
                for block in module:
                    fully_shard(block)
        return fully_shard(loss)

    def add(self, total: float, count: int) -> tuple[float, int]:
        """Both summed over the processes."""
        if self.size == 1:
            return total, count
        both = torch.tensor([total, count], dtype=torch.float64)
        if dist.get_backend() == "nccl":
            both = both.cuda()
        dist.all_reduce(both)
        return float(both[0]), int(both[1])

    def wait(self) -> None:
        """Until all have come here."""
        if self.size > 1:
            dist.barrier()


def gathering(loss: nn.Module, last: bool) -> contextlib.AbstractContextManager:
    """Within this, backward adds gradients up over the processes only if this is the
    step's last micro-batch.
    """
    if isinstance(loss, DistributedDataParallel) and not last:
        return loss.no_sync()
    if hasattr(loss, "set_requires_gradient_sync"):
        loss.set_requires_gradient_sync(last)
    return contextlib.nullcontext()


@contextlib.contextmanager
def resting(loss: nn.Module, model: nn.Module):
    """The model as it is looked at between steps: whole, in evaluation mode, without
    gradients.
    """
    shards = [module for module in loss.modules() if hasattr(module, "unshard")]
    model.eval()
    for module in shards[
        :1
    ]:  # blocks fetch their own when they are called; the root is not called here
        module.unshard()
    try:
        with torch.no_grad():
            yield
    finally:
        for module in shards[:1]:
            module.reshard()
        model.train()


def whole(tensor: Tensor) -> Tensor:
    """A tensor from its shards; every process must ask."""
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def like(tensor: Tensor, model: Tensor) -> Tensor:
    """A whole tensor cut as `model` is."""
    return (
        distribute_tensor(tensor, model.device_mesh, model.placements)
        if isinstance(model, DTensor)
        else tensor
    )

"""One GPT trained by one process, and by two with DDP and with FSDP: bytes held and bytes sent.

    python bench/data_parallel.py        a minute, on two cores if it gets them

The processes meet over gloo. Held are the bytes of parameters, gradients and AdamW's two means in
rank 0 after three steps. Sent are the bytes that one step hands to each kind of collective, counted
where torch calls it. The losses of the three steps tell that all ways compute the same.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

os.environ |= {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}

import torch  # noqa: E402  (threads are set before torch starts)
import torch.distributed as dist  # noqa: E402
from record import save  # noqa: E402
from torch.distributed.tensor import DTensor  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from reference_impl.models.gpt import GPT, GPTConfig  # noqa: E402
from reference_impl.objectives.causal_lm import causal_lm, chunk_batch  # noqa: E402
from reference_impl.training.distributed import Loss, Processes, gathering  # noqa: E402
from reference_impl.training.optimizer import make_optimizer, scale_and_clip  # noqa: E402

STEPS, MICRO_BATCHES = 3, 4
CONFIG = GPTConfig(
    vocab_size=1024,
    hidden_size=256,
    num_layers=4,
    num_heads=4,
    max_position_embeddings=64,
    dropout=0.0,
)


class Sent(TorchDispatchMode):
    """Bytes of the tensors that collectives are given, by kind."""

    def __init__(self):
        super().__init__()
        self.bytes, self.calls = Counter(), Counter()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        name = function._overloadpacket._qualified_op_name
        if name.startswith("c10d::"):
            tensors = [each for each in flat(args) if isinstance(each, torch.Tensor)]
            kind = name.removeprefix("c10d::").strip("_")
            self.calls[kind] += 1
            self.bytes[kind] += max(each.numel() * each.element_size() for each in tensors)
        return function(*args, **(kwargs or {}))


def flat(value):
    """The leaves of nested lists."""
    if isinstance(value, list | tuple):
        for each in value:
            yield from flat(each)
    else:
        yield value


def held(tensors) -> int:
    """Bytes of this process's parts."""
    local = [each.to_local() if isinstance(each, DTensor) else each for each in tensors]
    return sum(each.numel() * each.element_size() for each in local)


def one_step(loss, optimizer, processes: Processes, step: int) -> float:
    """A step of four micro-batches over all processes; the mean loss of a token."""
    total, count = 0.0, 0
    numbers = processes.share(step, MICRO_BATCHES)
    for number in numbers:
        generator = torch.Generator().manual_seed(number)
        ids = torch.randint(CONFIG.vocab_size, (4, 65), generator=generator)
        with gathering(loss, last=number == numbers[-1]):
            terms = loss(chunk_batch(ids))
            terms.total.backward()
        total, count = total + terms.total.item(), count + terms.count
    total, count = processes.add(total, count)
    scale_and_clip(loss.parameters(), processes.size / count, 1.0)
    optimizer.step()
    return total / count


def train(way: str) -> dict:
    """What rank 0 holds and sends."""
    processes = Processes.join()
    torch.manual_seed(0)
    loss = processes.wrap(Loss(GPT(CONFIG), causal_lm), way)
    optimizer = make_optimizer(loss, 0.1, (0.9, 0.95))
    for group in optimizer.param_groups:
        group["lr"] = 1e-3
    losses, sent = [], Sent()
    for step in range(STEPS):
        optimizer.zero_grad()
        if step < STEPS - 1:
            losses.append(one_step(loss, optimizer, processes, step))
        else:
            with sent:
                losses.append(one_step(loss, optimizer, processes, step))
    parameters = list(loss.parameters())
    means = [state[name] for state in optimizer.state.values() for name in MEANS]
    return {
        "processes": processes.size,
        "losses": [round(each, 6) for each in losses],
        "held": {
            "parameters": held(parameters),
            "gradients": held(p.grad for p in parameters),
            "optimizer": held(means),
        },
        "calls": dict(sent.calls),
        "bytes": dict(sent.bytes),
    }


MEANS = ("exp_avg", "exp_avg_sq")


def started(way: str, count: int, folder: Path) -> dict:
    """The same file under torchrun, and what its rank 0 wrote."""
    target = folder / f"{way}-{count}.json"
    launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={count}"]
    program = [sys.executable, *(launcher if count > 1 else []), __file__, way, str(target)]
    subprocess.run(program, check=True, env={**os.environ, "PYTHONPATH": os.getcwd()})
    return json.loads(target.read_text(encoding="utf-8"))


def main() -> None:
    """All three, recorded; with arguments, one of them in this process."""
    if len(sys.argv) == 3:
        found = train(sys.argv[1])
        if not dist.is_initialized() or dist.get_rank() == 0:
            Path(sys.argv[2]).write_text(json.dumps(found), encoding="utf-8")
        if dist.is_initialized():
            dist.destroy_process_group()
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found = {
            "one process": started("ddp", 1, folder),
            "DDP": started("ddp", 2, folder),
            "FSDP": started("fsdp", 2, folder),
        }
    with torch.device("meta"):
        numbers = sum(p.numel() for p in GPT(CONFIG).parameters())
    save("data_parallel", versions=["torch"], seed=0, parameters=numbers, ways=found)


if __name__ == "__main__":
    main()

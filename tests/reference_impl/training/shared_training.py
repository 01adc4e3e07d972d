"""The small training, with DDP and with FSDP2, under torchrun: what each gave, for the test to
compare.

torchrun --nproc-per-node 2 shared_training.py FOLDER
"""

import json
import sys
from pathlib import Path

import tiny_training as tiny
import torch
import torch.distributed as dist
from safetensors.torch import save_file

from reference_impl.training.distributed import whole
from reference_impl.training.loop import train

folder = Path(sys.argv[1])
for way in ("ddp", "fsdp"):
    model = tiny.make_model()
    result = train(
        model,
        tiny.objective,
        tiny.batches,
        tiny.make_config(accumulation=4, parallel=way),
        tiny.evaluate,
        folder / way,
        progress=False,
    )
    shares = {
        name: parameter.to_local().numel() if way == "fsdp" else parameter.numel()
        for name, parameter in model.named_parameters()
    }
    weights = {
        name: whole(parameter.detach()).contiguous() for name, parameter in model.named_parameters()
    }
    if dist.get_rank() == 0:
        save_file(weights, folder / f"{way}.safetensors")
        (folder / f"{way}.json").write_text(
            json.dumps({"history": result.history, "shares": shares})
        )
    shortened = tiny.make_model()  # goes on from the checkpoint after step 4
    if dist.get_rank() == 0:
        (folder / way / "checkpoints" / "step-00000006").rename(folder / f"{way}-last")
    dist.barrier()
    train(
        shortened,
        tiny.objective,
        tiny.batches,
        tiny.make_config(accumulation=4, parallel=way),
        tiny.evaluate,
        folder / way,
        progress=False,
    )
    for name, parameter in shortened.named_parameters():
        assert torch.equal(whole(parameter.detach()), weights[name]), (
            f"{way}: {name} differs after going on"
        )
try:
    train(
        tiny.make_model(),
        tiny.objective,
        tiny.batches,
        tiny.make_config(accumulation=3),
        progress=False,
    )
except ValueError as error:
    (folder / f"refused-{dist.get_rank()}").write_text(str(error))
dist.destroy_process_group()

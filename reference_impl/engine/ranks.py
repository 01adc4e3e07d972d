"""Ranks of a tensor-parallel engine: how they meet, and what tells them the next step
(over torch.distributed).

Rank 0 has the server, the scheduler and the choice of tokens. The others hold their
slice of the model and of the cache (see `layers.tensor_parallel`) and do nothing but
compute: before each step rank 0 sends all that a model reads of it to everybody, as
whole numbers. No text, no parameter of a request, and no pickle is sent.

    with Ranks.start(2, path, "float32", "cpu") as ranks:   starts one more process on
                                                            this machine
    ranks = Ranks.join(device)                              under torchrun, which has
                                                            started all of them

Sums go over NCCL between GPUs and over gloo between CPUs; steps are told over gloo, so
that no GPU has to be asked.

A rank that ends is noticed: who waits for it gets `RankLost`, and `on_loss` is called
in the process that started it.

Not here: several machines other than by torchrun, pipeline or expert parallelism.
"""

import contextlib
import datetime
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence

import torch
import torch.distributed as dist
from jaxtyping import Int
from torch import Tensor

from reference_impl.engine.model_runner import ModelRunner, Prepared
from reference_impl.engine.paged_cache import Layout
from reference_impl.engine.scheduler import Move, Step
from reference_impl.layers.tensor_parallel import Shard
from reference_impl.models.decoders import Decoder

KINDS = ("copy", "out", "in")
IDLE = datetime.timedelta(days=365)  # a server may wait so long for its next request
PATIENCE = 60.0  # seconds that a rank has to end when it is told to
END = -1


class RankLost(RuntimeError):
    """A process of a tensor-parallel engine has ended.

    The message says which, if that is known.
    """


def pack(prepared: Prepared) -> Int[Tensor, "N"]:
    """All that a model reads of a step, as whole numbers; `unpack` is the way back."""
    moves = [
        number
        for kind, source, target in prepared.step.moves
        for number in (KINDS.index(kind), source, target)
    ]
    layout = prepared.layout
    if layout is None:
        return torch.tensor([len(moves), 0, 0, 0, 0, 0, 0, *moves])
    parts = [
        torch.tensor(moves),
        torch.tensor(prepared.ids),
        prepared.positions,
        layout.slot_mapping,
        layout.block_tables.flatten(),
        layout.context_lens,
    ]
    if layout.cu_seqlens_prefill is not None:
        parts.append(layout.cu_seqlens_prefill)
    head = torch.tensor(
        [
            len(moves),
            len(prepared.ids),
            *layout.block_tables.shape,
            layout.num_decodes,
            0 if layout.cu_seqlens_prefill is None else len(layout.cu_seqlens_prefill),
            layout.max_seqlen_prefill,
        ]
    )
    return torch.cat([part.cpu().long() for part in (head, *parts)])


def unpack(numbers: Int[Tensor, "N"], device: torch.device) -> Prepared:
    """A step as the runner takes it.

    It has no rows: what they say is rank 0's to know.
    """
    num_moves, num_tokens, num_seqs, width, num_decodes, num_prefills, longest = (
        numbers[:7].tolist()
    )
    moves, ids, positions, slots, tables, lens, starts = numbers[7:].split(
        [
            num_moves,
            num_tokens,
            num_tokens,
            num_tokens,
            num_seqs * width,
            num_seqs,
            num_prefills,
        ]
    )
    prepared = Prepared(
        Step(
            moves=[
                Move(KINDS[kind], source, target)
                for kind, source, target in moves.view(-1, 3).tolist()
            ]
        )
    )
    if num_tokens:
        prepared.ids, prepared.positions, prepared.rows = (
            ids.tolist(),
            positions.to(device),
            [],
        )
        prepared.layout = Layout(
            slots.to(device),
            tables.view(num_seqs, width).int().to(device),
            lens.int().to(device),
            num_decodes,
            starts.int().to(device) if num_prefills else None,
            longest,
        )
    return prepared


class Ranks:
    """This process among those that compute one model."""

    def __init__(
        self,
        rank: int,
        size: int,
        device: torch.device,
        store: dist.Store | None = None,
        others: Sequence[subprocess.Popen] = (),
    ):
        self.rank, self.size, self._others = rank, size, others
        self.on_loss: Callable[[RankLost], None] = lambda loss: None
        self._loss: RankLost | None = None
        self._ending = False
        with self._words():
            dist.init_process_group(
                "nccl" if device.type == "cuda" else "gloo",
                store=store,
                **({} if store is None else {"rank": rank, "world_size": size}),
            )
            self._steps = dist.new_group(backend="gloo", timeout=IDLE)
        self.shard = Shard(rank, size, self._add_up)
        for process in others:
            threading.Thread(
                target=self._watch, args=(process,), name="watch of a rank", daemon=True
            ).start()

    @classmethod
    def join(cls, device: torch.device) -> "Ranks":
        """Meet the others that torchrun started."""
        return cls(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), device)

    @classmethod
    @contextlib.contextmanager
    def start(
        cls, size: int, path: str | None, dtype: str, device: str
    ) -> Iterator["Ranks"]:
        """Start the other ranks on this machine, each to load its slices of the same
        model, and end them at the end.
        """
        threads = os.environ.get(
            "OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // size))
        )
        torch.set_num_threads(int(threads))
        if sys.platform == "linux":
            os.environ.setdefault(
                "GLOO_SOCKET_IFNAME", "lo"
            )  # all ranks are here, and nobody else is to reach them
        with (
            tempfile.TemporaryDirectory(prefix="word2serve-ranks-") as folder,
            contextlib.ExitStack() as at_end,
        ):
            others = []
            for rank in range(1, size):
                settings = {
                    "rank": rank,
                    "size": size,
                    "folder": folder,
                    "path": path,
                    "dtype": dtype,
                    "device": device,
                }
                others.append(
                    subprocess.Popen(
                        [
                            sys.executable,
                            "-m",
                            "reference_impl.engine.ranks",
                            json.dumps(settings),
                        ],
                        text=True,
                        env={**os.environ, "OMP_NUM_THREADS": threads},
                        stdin=subprocess.DEVNULL,
                        stdout=subprocess.PIPE,
                    )
                )
                at_end.callback(_end, others[-1])
            for rank, process in enumerate(others, 1):
                if not process.stdout.readline():
                    raise RankLost(
                        f"rank {rank} of {size} {_how(process.wait())} before it began"
                    )
            ranks = cls(
                0,
                size,
                local_device(device, 0),
                dist.FileStore(f"{folder}/store", size),
                others,
            )
            try:
                yield ranks
            finally:
                ranks.close()

    @contextlib.contextmanager
    def _words(self) -> Iterator[None]:
        """Errors of torch.distributed, which come when a process is gone, as
        RankLost.
        """
        try:
            yield
        except RuntimeError as error:
            with contextlib.suppress(subprocess.TimeoutExpired):
                for process in self._others:
                    self._lose(process, process.wait(1.0))
            reason = str(error).splitlines()[0]
            raise self._loss or RankLost(
                f"rank {self.rank} of {self.size} has lost another: {reason}"
            ) from error

    def _lose(self, process: subprocess.Popen, code: int) -> None:
        self._loss = self._loss or RankLost(
            f"rank {self._others.index(process) + 1} of {self.size} {_how(code)}:"
            " without its slices the model can't be computed"
        )

    def _watch(self, process: subprocess.Popen) -> None:
        code = process.wait()
        if not self._ending:
            self._lose(process, code)
            self.on_loss(self._loss)

    def _add_up(self, x: Tensor) -> None:
        with self._words():
            dist.all_reduce(x)

    def _send(self, numbers: Int[Tensor, "N"]) -> None:
        with self._words():
            dist.broadcast(numbers, 0, group=self._steps)

    def begin(self, num_blocks: int, block_size: int, num_host_blocks: int) -> None:
        """As rank 0: say how large everybody's cache is, and wait until all have one.

        RankLost if one can't.
        """
        self._send(torch.tensor([num_blocks, block_size, num_host_blocks]))
        with self._words():
            dist.barrier(group=self._steps)

    def tell(self, prepared: Prepared) -> None:
        """As rank 0: let everybody compute this step too."""
        numbers = pack(prepared)
        self._send(torch.tensor([len(numbers)]))
        self._send(numbers)

    def work(self, model: Decoder) -> None:
        """As any other rank: compute what rank 0 tells, until it says that this is the
        end. RankLost if it is gone.
        """
        sizes, length = torch.zeros(3, dtype=torch.int64), torch.tensor([0])
        self._send(sizes)  # which receives, in all ranks but 0
        runner = ModelRunner(model, *sizes.tolist(), num_shards=self.size)
        with self._words():
            dist.barrier(group=self._steps)
        while True:
            self._send(length)
            if int(length) == END:
                return
            numbers = torch.empty(int(length), dtype=torch.int64)
            self._send(numbers)
            runner.compute(unpack(numbers, runner.device))

    def close(self) -> None:
        """Leave the others; as rank 0 tell them first that this is the end."""
        self._ending = True
        if self.rank == 0 and self._loss is None:
            with contextlib.suppress(RankLost):
                self._send(torch.tensor([END]))
        dist.destroy_process_group()


def _how(code: int) -> str:
    return (
        f"was ended by {signal.Signals(-code).name}"
        if code < 0
        else f"ended with exit code {code}"
    )


def _end(process: subprocess.Popen) -> None:
    """Wait for a process that was told to end or has lost rank 0; not for ever."""
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    process.stdout.close()


def local_device(device: str, rank: int) -> torch.device:
    """The CPU for all ranks, or a GPU for each."""
    return torch.device(device, rank) if device == "cuda" else torch.device(device)


def leave_signals_to_rank_0() -> None:
    """A terminal's Ctrl-C reaches all ranks.

    Rank 0 finishes its answers, for which it needs the others, and ends them.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def main() -> None:
    """A rank that `Ranks.start` started."""
    from reference_impl.engine.loading import (
        DTYPES,
        LoadingError,
        load,
    )  # an engine by itself needs no tokenizer

    settings = json.loads(sys.argv[1])
    leave_signals_to_rank_0()
    print("here", flush=True)
    rank, device = settings["rank"], local_device(settings["device"], settings["rank"])
    store = dist.FileStore(f"{settings['folder']}/store", settings["size"])
    store.set_timeout(datetime.timedelta(seconds=PATIENCE))
    ranks = Ranks(rank, settings["size"], device, store)
    try:
        ranks.work(
            load(
                settings["path"], DTYPES[settings["dtype"]], device, shard=ranks.shard
            ).model
        )
    except RankLost as loss:
        sys.exit(str(loss))
    except LoadingError:  # what is wrong with the model is said once, by rank 0
        sys.exit(2)
    ranks.close()


if __name__ == "__main__":
    main()

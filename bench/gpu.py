"""Everything that needs a GPU, in parts: right in bfloat16, then each GPU row of the performance
table.

    python bench/gpu.py                             all parts, each in a process of its own
    python bench/gpu.py checks flash --out DIR      these; DIR/gpu.json in the place of
                                                    bench/results/gpu.json
    python bench/gpu.py --rehearse --out DIR        every path in tiny sizes on a CPU: shows that
                                                    the program works

    checks      every kernel against float64  flash     attention against SDPA's fast backends
    paged       what memory bounds            engine    256 requests, and its tokens on GPU and CPU
    training    GPT-2 124M

A part takes under eight minutes on one Hopper by plan; the record is saved after each row and
merged into the last one (see `gpu_record`). Each check, each of our sides and each rival is an
attempt by itself: what fails is recorded under "errors" and the rest goes on. A part whose process
dies, hangs past its time, or loses the GPU goes on with the next job in a new one.

It needs torch 2.11 or newer, Triton 3.6 or newer and numpy; for what else the package imports there
are stand-ins (see `gpu_stand_ins`). Without a GPU it says so, writes nothing and exits with status
77, which nothing else gives; 1 says that something is wrong or failed. Rivals from elsewhere,
nanoGPT and nano-vllm, are used if the folder that W2S_RIVALS names (else /opt/rivals) has
nanogpt/model.py and nano-vllm/nanovllm/.
"""

import argparse
import contextlib
import subprocess
import sys
import time
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from bench.gpu_stand_ins import install  # noqa: E402

STAND_INS = install()
from bench import gpu_checks, gpu_engine, gpu_kernels, gpu_training  # noqa: E402
from bench.gpu_record import Record  # noqa: E402
from bench.gpu_timing import Bench, Job  # noqa: E402
from bench.gpu_verdict import RIGHT, proven  # noqa: E402

PARTS: dict[str, list[Job]] = {
    "checks": gpu_checks.JOBS,
    "flash": gpu_kernels.FLASH_JOBS,
    "paged": gpu_kernels.PAGED_JOBS,
    "engine": gpu_engine.JOBS,
    "training": gpu_training.JOBS,
}
PART_SECONDS = 480
GRACE = 30  # for a process to start, and for the attempt that is under way when the time is over


def run_part(
    record: Record,
    part: str,
    first: int = 0,
    rehearsal: bool = False,
    seconds: float = PART_SECONDS - GRACE,
    bench_of: type[Bench] = Bench,
) -> None:
    """The jobs of a part, from the one with this number on, in this process."""
    torch.manual_seed(0)
    begun = time.monotonic()
    if not first:
        record.begin(
            part,
            rehearsal=rehearsal,
            stand_ins=STAND_INS,
            gpu=None if rehearsal else torch.cuda.get_device_name(),
        )
    bench = bench_of(record, part, rehearsal, seconds)
    for number, job in enumerate(PARTS[part][first:], first):
        record.progress(part, next=number + 1)
        bench.attempt(job.name, lambda job=job: job.run(bench))
        if not rehearsal:
            with contextlib.suppress(RuntimeError):
                torch.cuda.empty_cache()  # what follows may need it in other pieces
    record.progress(part, seconds=round(time.monotonic() - begun))


def run_apart(out: Path, part: str, rehearsal: bool, limit: float = PART_SECONDS) -> None:
    """The same in a process of its own, and in another for what is left when it dies."""
    first, begun = 0, time.monotonic()
    while first < len(PARTS[part]):
        left = limit - (time.monotonic() - begun)
        if left <= GRACE and first:
            names = ", ".join(job.name for job in PARTS[part][first:])
            Record(out).error(part, names, "not begun: the time of this part was over")
            return
        command = [
            sys.executable,
            str(Path(__file__).resolve()),
            part,
            "--out",
            str(out),
            "--from",
            str(first),
            "--seconds",
            str(round(max(left - GRACE, 1))),
        ] + ["--rehearse"] * rehearsal
        try:
            status = subprocess.run(command, timeout=left, check=False).returncode
            words = f"the process ended with status {status}"
        except subprocess.TimeoutExpired:
            status, words = 1, f"did not end in {left:.0f} s and was stopped"
        if status == 0:
            return
        record = Record(out)
        reached = record.data["parts"].get(part, {}).get("next", 0)
        stopped = max(reached - 1, first)
        record.error(part, PARTS[part][stopped].name, words)
        if part in record.data["parts"]:
            record.progress(part, next=stopped + 1)
        first = stopped + 1


def report(record: Record, parts: list[str]) -> int:
    """What is wrong, in words; the exit status."""
    wrong = {name: value for name, value in record.data["checks"].items() if not value < RIGHT}
    for name, value in wrong.items():
        print(f"WRONG: {name}: {value:.3g} of the largest number")
    failed = [problem for problem in record.data["errors"] if problem["part"] in parts]
    for problem in failed:
        print(f"FAILED: {problem['part']}: {problem['name']}: {problem['error']}")
    print(
        f"{len(record.data['checks']) - len(wrong)} of {len(record.data['checks'])} checks right, "
        f"{len(record.data['rows'])} rows; kernels that layers may run by this record: "
        f"{', '.join(sorted(proven(record.data))) or 'none'}; written: {record.path}"
    )
    return 1 if wrong or failed else 0


def main(arguments: list[str] | None = None) -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(description="Checks and measures on a GPU; writes gpu.json.")
    parser.add_argument(
        "parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all if none is named"
    )
    parser.add_argument(
        "--out", type=Path, default=ROOT / "bench" / "results", help="the folder of gpu.json"
    )
    parser.add_argument(
        "--rehearse", action="store_true", help="every path in tiny sizes on a CPU; needs --out"
    )
    parser.add_argument(
        "--from", type=int, dest="first", help=argparse.SUPPRESS
    )  # one part, in this process
    parser.add_argument(
        "--seconds", type=float, default=PART_SECONDS - GRACE, help=argparse.SUPPRESS
    )
    chosen = parser.parse_args(arguments)
    parts = chosen.parts or list(PARTS)
    if unknown := [part for part in parts if part not in PARTS]:
        parser.error(f"no part {unknown[0]!r}: there are {', '.join(PARTS)}")
    if chosen.rehearse and chosen.out == parser.get_default("out"):
        parser.error(
            "a rehearsal measures nothing: give it another folder than the results' by --out"
        )
    if not (chosen.rehearse or torch.cuda.is_available()):
        print(
            "no GPU: torch.cuda.is_available() is False here. Nothing was measured and no record"
            " was written."
        )
        return 77
    if chosen.first is not None:
        run_part(Record(chosen.out), parts[0], chosen.first, chosen.rehearse, chosen.seconds)
        return 0
    for part in parts:
        run_apart(chosen.out, part, chosen.rehearse)
    return report(Record(chosen.out), parts)


if __name__ == "__main__":
    sys.exit(main())

"""Train once undisturbed; then, for each place, kill a training there by SIGKILL and start it
again.

    python killed_training.py FOLDER

Each start is a process of its own, forked so that torch is imported once. Prints a line for each
place: which, how many checkpoints had been left behind, and whether the final weights and optimiser
are the undisturbed ones, bit for bit.
"""

import os
import signal
import sys
import traceback
from pathlib import Path

import tiny_training as tiny

from reference_impl.training import checkpoint
from reference_impl.training.loop import train


def in_own_process(run):
    """The status of a child that does this."""
    child = os.fork()
    if not child:
        try:
            run()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    return os.waitpid(child, 0)[1]


def trained(folder, batches=tiny.batches):
    train(
        tiny.make_model(),
        tiny.objective,
        batches,
        tiny.make_config(),
        tiny.evaluate,
        folder,
        progress=False,
    )


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def killed_at_batch(folder, place):
    def batches(number):
        if number == place:
            die()
        return tiny.batches(number)

    trained(folder, batches)


def killed_at_call(folder, module, name, count):
    """Dies in place of the call of this function by the checkpoints, the count-th."""
    real, calls = getattr(module, name), []

    def call(*arguments):
        calls.append(name)
        if len(calls) == count:
            die()
        return real(*arguments)

    setattr(module, name, call)
    trained(folder)


def state(folder):
    last = sorted((folder / "checkpoints").glob("step-*"))[-1]
    return (
        last.name,
        *((last / name).read_bytes() for name in (checkpoint.MODEL, checkpoint.OPTIMIZER)),
        (folder / "training.csv").read_text(),
        (folder / "evaluation.csv").read_text(),
    )


def main():
    root = Path(sys.argv[1])
    trained(None)  # what torch imports at its first step is then imported once, before the forks
    assert in_own_process(lambda: trained(root / "whole")) == 0
    places = {
        f"batch {n}": lambda folder, n=n: killed_at_batch(folder, n) for n in (0, 3, 4, 5, 7, 8, 11)
    }
    for count in (1, 3, 4):
        places[f"weights {count}"] = lambda folder, c=count: killed_at_call(
            folder, checkpoint, "save_file", c
        )
    for count in (1, 2, 3):
        places[f"rename {count}"] = lambda folder, c=count: killed_at_call(
            folder, checkpoint.os, "rename", c
        )
    for count in (1, 4):
        places[f"sync {count}"] = lambda folder, c=count: killed_at_call(
            folder, checkpoint.os, "fsync", c
        )
    for name, run in places.items():
        folder = root / name.replace(" ", "-")
        assert in_own_process(lambda: run(folder)) == signal.SIGKILL, name
        left = len(list((folder / "checkpoints").glob("step-*")))
        assert in_own_process(lambda: trained(folder)) == 0, name
        print(
            f"{name}, {left} left, "
            f"{'same' if state(folder) == state(root / 'whole') else 'different'}"
        )


main()

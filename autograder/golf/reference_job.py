"""The unit of processor time, measured next to an entry.

The job is half Python and half torch. It runs in a sandbox of its own, so no entry can slow it
down, before and after the entry: a machine that is slow for the entry is slow for the job as well.
"""

from autograder.golf.rules import Invalid
from autograder.golf.sandboxed import Machine
from autograder.sandbox.api.cells import Cell

JOB = """
import torch

def w2s_job():
    total = 0
    for number in range(2_500_000):
        total += number % 7
    x = torch.ones(64, 256)
    weight = torch.nn.Linear(256, 256)
    for _ in range(1_000):
        weight(x).square().mean().backward()
    return total
"""


def unit_seconds(machine: Machine) -> float:
    """Seconds of processor time that the reference job takes now."""
    try:
        with machine.open([Cell(None, JOB)]) as opened:
            opened.call("w2s_job")
            return opened.account.spent
    except Invalid as failed:  # the job is ours
        raise AssertionError(f"the reference job failed: {failed}") from failed

"""What each step of the engine did: a record for tests, pages and figures, and a drawing of it in text.

    step       0         1
               0123456789012345
    a/0        PPddddddddd.
    b/0        -PPdddx--Pddd.

P a piece of a prompt (or tokens computed again), d one token, s a token and drafts, - waiting, x preempted,
w waiting although it runs (the budget was spent), . finished.
"""
import json
from collections import deque
from collections.abc import Iterable
from pathlib import Path

from reference_impl.engine.block_manager import BlockManager
from reference_impl.engine.scheduler import Step
from reference_impl.engine.sequence import Sequence


def wasted_slots(blocks: BlockManager, running: Iterable[Sequence]) -> tuple[int, int]:
    """Slots of the blocks that are held, and how many of these hold no token yet. A shared block counts once."""
    filled: dict[int, int] = {}
    for sequence in running:
        for entry, block in enumerate(sequence.block_table):
            tokens = min(max(sequence.num_computed_tokens - entry * blocks.block_size, 0), blocks.block_size)
            filled[block] = max(filled.get(block, 0), tokens)
    held = len(filled) * blocks.block_size
    return held, held - sum(filled.values())


class Trace:
    """Rows, one a step; each is plain data that JSON can hold."""

    def __init__(self, longest: int = 10_000):
        if longest < 1:
            raise ValueError(f"trace_steps is {longest}: at least the last step is remembered")
        self.rows: deque[dict] = deque(maxlen=longest)  # a server runs for months
        self.num_steps = 0

    @property
    def last(self) -> dict:
        """The row of the last step."""
        return self.rows[-1]

    def record(self, step: Step, finished: Iterable[Sequence], waiting: Iterable[Sequence],
               running: Iterable[Sequence], blocks: BlockManager) -> None:
        """Add a row. To be called after the step, with the queues as they are then."""
        running = list(running)
        held, wasted = wasted_slots(blocks, running)
        self.rows.append({
            "step": self.num_steps,
            "num_tokens": step.num_tokens,
            "scheduled": [{"id": item.sequence.id, "num_tokens": item.num_tokens, "num_drafts": item.num_drafts}
                          for item in step.scheduled],
            "admitted": [{"id": s.id, "num_cached_tokens": s.num_cached_tokens} for s in step.admitted],
            "preempted": [s.id for s in step.preempted],
            "moves": [list(move) for move in step.moves],
            "finished": [s.id for s in finished],
            "waiting": [s.id for s in waiting],
            "running": [s.id for s in running],
            "num_free_blocks": blocks.num_free_blocks,
            "held_slots": held,
            "wasted_slots": wasted,
        })
        self.num_steps += 1

    def save(self, path: Path | str) -> None:
        """Write the rows as JSON."""
        Path(path).write_text(json.dumps(list(self.rows), indent=1) + "\n", encoding="utf-8")

    def draw(self) -> str:
        """The timeline of the module's docstring."""
        names = list(dict.fromkeys(name for row in self.rows for name in self._names(row)))
        width = max([4, *map(len, names)]) + 2
        numbers = [row["step"] for row in self.rows]
        tens = "".join(str(number // 10 % 10) if number % 10 == 0 else " " for number in numbers).rstrip()
        lines = ["step".ljust(width) + tens, " " * width + "".join(str(number % 10) for number in numbers)]
        return "\n".join(lines + [name.ljust(width) + self._line(name) for name in names])

    @staticmethod
    def _names(row: dict) -> list[str]:
        return [item["id"] for item in row["scheduled"]] + row["waiting"] + row["running"] + row["finished"]

    def _line(self, name: str) -> str:
        return "".join(self._letter(name, row) for row in self.rows).rstrip()

    @staticmethod
    def _letter(name: str, row: dict) -> str:
        item = next((item for item in row["scheduled"] if item["id"] == name), None)
        if name in row["preempted"]:
            return "x"
        if name in row["finished"]:
            return "."
        if item is not None:
            return "s" if item["num_drafts"] else "d" if item["num_tokens"] == 1 else "P"
        return "-" if name in row["waiting"] else "w" if name in row["running"] else " "

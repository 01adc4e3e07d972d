"""What each step of the engine did: a record for tests, pages and figures, and a
drawing of it in text.

    step       0         1
               0123456789012345
    a/0        PPddddddddd.
    b/0        -PPdddx--Pddd.

P a piece of a prompt (or tokens computed again), d one token, s a token and drafts, -
waiting, x preempted, w waiting although it runs (the budget was spent), . finished.
"""

from collections import deque
from collections.abc import Iterable
from collections.abc import Sequence as Ids

from reference_impl.engine.block_manager import BlockManager
from reference_impl.engine.scheduler import Step
from reference_impl.engine.sequence import Sequence


def wasted_slots(blocks: BlockManager, running: Ids[Sequence]) -> tuple[int, int]:
    """Slots of the blocks that are held, and how many of these hold no token yet.

    A shared block counts once.

    Only the blocks from a sequence's next slot on can have empty ones, so that nothing
    here grows with its length.
    """
    size = blocks.block_size
    held = (blocks.num_blocks - blocks.num_free_blocks) * size
    # Only continuations of one request can share a block that is not full.
    alone = sum(
        [
            len(sequence.block_table) * size - sequence.num_computed_tokens
            for sequence in running
            if sequence.params.n == 1
        ]
    )
    empty: dict[int, int] = {}
    for sequence in [sequence for sequence in running if sequence.params.n > 1]:
        computed, table = sequence.num_computed_tokens, sequence.block_table
        for entry in range(computed // size, len(table)):
            left = min(size, (entry + 1) * size - computed)
            empty[table[entry]] = min(empty.get(table[entry], size), left)
    return held, alone + sum(empty.values())


class Trace:
    """Rows, one a step; each is plain data that JSON can hold.

    Of the last `longest` steps; 0: steps are counted and nothing is remembered.
    """

    def __init__(self, longest: int = 10_000):
        if longest < 0:
            raise ValueError(f"trace_steps is {longest}: give 0 or more")
        self._kept: deque[tuple] = deque(maxlen=longest)  # a server runs for months
        self.num_steps = 0

    @property
    def rows(self) -> list[dict]:
        """What is remembered, a row a step.

        They are made when asked for: a step only keeps what they need.
        """
        return [self._row(kept) for kept in self._kept]

    @property
    def last(self) -> dict:
        """The row of the last step."""
        return self._row(self._kept[-1])

    def record(
        self,
        step: Step,
        finished: Iterable[Sequence],
        waiting: Iterable[Sequence],
        running: Ids[Sequence],
        blocks: BlockManager,
    ) -> None:
        """Remember a step. To be called after it, with the queues as they are then."""
        if self._kept.maxlen == 0:
            self.num_steps += 1
            return
        self._kept.append(
            (
                self.num_steps,
                [
                    (sequence.id, tokens, drafts)
                    for sequence, tokens, drafts in step.scheduled
                ],
                [(s.id, s.num_cached_tokens) for s in step.admitted],
                [s.id for s in step.preempted],
                list(step.moves),
                [s.id for s in finished],
                [s.id for s in waiting],
                [s.id for s in running],
                blocks.num_free_blocks,
                wasted_slots(blocks, running),
            )
        )
        self.num_steps += 1

    @staticmethod
    def _row(kept: tuple) -> dict:
        (
            number,
            scheduled,
            admitted,
            preempted,
            moves,
            finished,
            waiting,
            running,
            free,
            (held, wasted),
        ) = kept
        return {
            "step": number,
            "num_tokens": sum(num_tokens for _, num_tokens, _ in scheduled),
            "scheduled": [
                {"id": id, "num_tokens": tokens, "num_drafts": drafts}
                for id, tokens, drafts in scheduled
            ],
            "admitted": [
                {"id": id, "num_cached_tokens": cached} for id, cached in admitted
            ],
            "preempted": list(preempted),
            "moves": [list(move) for move in moves],
            "finished": list(finished),
            "waiting": list(waiting),
            "running": list(running),
            "num_free_blocks": free,
            "held_slots": held,
            "wasted_slots": wasted,
        }

    def draw(self) -> str:
        """The timeline of the module's docstring."""
        return draw(self.rows)


def draw(rows: list[dict]) -> str:
    """The timeline of some rows, a line for each sequence."""
    names = list(dict.fromkeys(name for row in rows for name in _names(row)))
    width = max([4, *map(len, names)]) + 2
    numbers = [row["step"] for row in rows]
    tens = "".join(
        str(number // 10 % 10) if number % 10 == 0 else " " for number in numbers
    ).rstrip()
    lines = [
        "step".ljust(width) + tens,
        " " * width + "".join(str(number % 10) for number in numbers),
    ]
    return "\n".join(
        lines
        + [
            name.ljust(width) + "".join(_letter(name, row) for row in rows).rstrip()
            for name in names
        ]
    )


def _names(row: dict) -> list[str]:
    return (
        [item["id"] for item in row["scheduled"]]
        + row["waiting"]
        + row["running"]
        + row["finished"]
    )


def _letter(name: str, row: dict) -> str:
    item = next((item for item in row["scheduled"] if item["id"] == name), None)
    if name in row["preempted"]:
        return "x"
    if name in row["finished"]:
        return "."
    if item is not None:
        return "s" if item["num_drafts"] else "d" if item["num_tokens"] == 1 else "P"
    return "-" if name in row["waiting"] else "w" if name in row["running"] else " "

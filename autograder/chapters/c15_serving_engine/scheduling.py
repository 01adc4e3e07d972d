"""Right answers for chapter 15, part 1, worked out another way than on the cards: step by step,
token by token.
"""

from itertools import pairwise


def walked(answers: list[int], slots: int) -> dict[str, int]:
    """The four numbers, by walking from one end of an answer to the next. Sizes as on the card."""
    static = idle = 0
    for first in range(0, len(answers), slots):
        batch = answers[first : first + slots] + [0] * (slots - len(answers[first : first + slots]))
        static += max(batch)
        idle += sum(max(batch) - one for one in batch)
    now, waiting, running, last = 0, list(reversed(answers)), [], 0
    while waiting or running:
        while waiting and len(running) < slots:
            running.append(now + waiting.pop())
            last = now
        now = min(running)
        running = [end for end in running if end > now]
    return {"static": static, "idle": idle, "continuous": now, "wait": last}


def planned(
    requests: list[dict[str, int]], budget: int, free: int, size: int
) -> list[tuple[int, int]]:
    """The plan: budget and blocks are given away one by one, as the three rules say."""
    given, stopped = [0] * len(requests), False
    places = list(enumerate(requests))
    for place, one in places:
        if one["blocks"] > 0 and one["computed"] + 1 == one["tokens"]:
            needs = 1 if one["computed"] == one["blocks"] * size else 0
            if needs <= free:
                free, budget, given[place] = free - needs, budget - 1, 1
    for place, one in places:
        if one["blocks"] > 0 and one["computed"] + 1 < one["tokens"]:
            given[place] = max(0, min(budget, one["tokens"] - one["computed"]))
            budget -= given[place]
    for place, one in places:
        if one["blocks"] == 0 and not stopped:
            needs = one["tokens"] // size + (one["tokens"] % size > 0)
            stopped = budget <= 0 or needs > free
            if not stopped:
                given[place] = min(budget, one["tokens"])
                free, budget = free - needs, budget - given[place]
    return [(place, tokens) for place, tokens in enumerate(given) if tokens > 0]


class Mirror:
    """What a queue should hold: requests as lists [name, prompt, said, blocks] in the order in
    which they came.
    """

    def __init__(self, blocks: int, size: int):
        self.blocks, self.size, self.here = blocks, size, []

    def find(self, name: str) -> list | None:
        """The request of this name."""
        return next((one for one in self.here if one[0] == name), None)

    @property
    def free(self) -> int:
        """Blocks that nobody holds."""
        return self.blocks - sum(one[3] for one in self.here)

    @property
    def running(self) -> list[str]:
        """Who holds blocks."""
        return [one[0] for one in self.here if one[3]]

    @property
    def waiting(self) -> list[str]:
        """Who holds none."""
        return [one[0] for one in self.here if not one[3]]

    def add(self, name: str, prompt: int) -> None:
        """A request comes."""
        self.here.append([name, prompt, 0, 0])

    def leave(self, name: str) -> int:
        """A request goes: what it has said."""
        one = self.find(name)
        self.here = [other for other in self.here if other is not one]
        return one[2] if one else 0

    def step(self) -> list[tuple[str, int]]:
        """Who computes how many tokens."""
        done = []
        for one in [one for one in self.here if one[3]]:
            if not one[3]:
                continue
            needed = -(-(one[1] + one[2]) // self.size)
            while one[3] and needed > one[3]:
                if self.free:
                    one[3] += 1
                else:
                    [other for other in self.here if other[3]][-1][3] = 0
            if one[3]:
                done.append((one, 1))
        for one in [one for one in self.here if not one[3]]:
            needed = -(-(one[1] + one[2]) // self.size)
            if needed > self.free:
                break
            one[3] = needed
            done.append((one, one[1] + one[2]))
        for one, _ in done:
            one[2] += 1
        return [(one[0], tokens) for one, tokens in done]


def laid_out(scheduled: list[dict], size: int) -> tuple[list[int], ...]:
    """ids, positions, slots, lengths, cu_seqlens, from a row for each token."""
    order = [one for one in scheduled if one["count"] == 1] + [
        one for one in scheduled if one["count"] != 1
    ]
    rows = [
        (one["ids"][place], place, one["table"][place // size] * size + place % size)
        for one in order
        for place in range(one["computed"], one["computed"] + one["count"])
    ]
    ends = [0]
    for one in order:
        ends.append(ends[-1] + one["count"])
    assert all(before < after for before, after in pairwise(ends))
    ids, positions, slots = (list(column) for column in zip(*rows)) if rows else ([], [], [])
    return ids, positions, slots, [one["computed"] + one["count"] for one in order], ends

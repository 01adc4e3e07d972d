"""Differently written correct solutions of chapter 15, part 1."""

import heapq
from collections import OrderedDict

from autograder.checks.mistakes.registry import alternative


@alternative("15.predict_steps", "heap")
def _(answers, slots):
    heap, start, static, idle = [0] * slots, 0, 0, 0
    for answer in answers:
        start = heapq.heappop(heap)
        heapq.heappush(heap, start + answer)
    rest = list(answers)
    while rest:
        batch, rest = rest[:slots], rest[slots:]
        static += max(batch)
        idle += max(batch) * slots - sum(batch)
    return dict(wait=start, continuous=max(heap), idle=idle, static=static)


@alternative("15.predict_steps", "step-by-step")
def _(answers, slots):
    left, queue, steps, wait = [], list(answers)[::-1], 0, 0
    while queue or left:
        while queue and len(left) < slots:
            left.append(queue.pop())
            wait = steps
        if min(left) > 1:  # nobody ends: as many steps at once
            hop = min(left) - 1
            left, steps = [one - hop for one in left], steps + hop
        left = [one - 1 for one in left if one > 1]
        steps += 1
    longest = [max(answers[i : i + slots]) for i in range(0, len(answers), slots)]
    return {
        "static": sum(longest),
        "idle": sum(longest) * slots - sum(answers),
        "continuous": steps,
        "wait": wait,
    }


@alternative("15.plan", "one-list-sorted-by-rule")
def _(requests, budget, free_blocks, block_size):
    rule = lambda one: 2 if one["blocks"] == 0 else 0 if one["tokens"] == one["computed"] + 1 else 1
    order = sorted(range(len(requests)), key=lambda place: rule(requests[place]))
    found = []
    for place in order:
        one = requests[place]
        wanted = one["tokens"] - one["computed"]
        needed = [
            int(one["computed"] == one["blocks"] * block_size),
            0,
            (one["tokens"] + block_size - 1) // block_size,
        ][rule(one)]
        if needed > free_blocks:
            if rule(one) == 2:
                break
            continue
        tokens = min(wanted, budget)
        if tokens:
            found.append((place, tokens))
            free_blocks, budget = free_blocks - needed, budget - tokens
    found.sort()
    return found


@alternative("15.plan", "numbers-for-all")
def _(requests, budget, free_blocks, block_size):
    tokens = [0] * len(requests)
    running = {i for i, one in enumerate(requests) if one["blocks"]}
    for i in sorted(running):
        if requests[i]["tokens"] - requests[i]["computed"] == 1:
            if requests[i]["computed"] < requests[i]["blocks"] * block_size:
                tokens[i] = 1
            elif free_blocks > 0:
                tokens[i], free_blocks = 1, free_blocks - 1
    for i in sorted(running):
        if requests[i]["tokens"] - requests[i]["computed"] > 1:
            tokens[i] = min(requests[i]["tokens"] - requests[i]["computed"], budget - sum(tokens))
    waiting = [i for i in range(len(requests)) if i not in running]
    while (
        waiting
        and sum(tokens) < budget
        and -(-requests[waiting[0]]["tokens"] // block_size) <= free_blocks
    ):
        i = waiting.pop(0)
        free_blocks -= -(-requests[i]["tokens"] // block_size)
        tokens[i] = min(requests[i]["tokens"], budget - sum(tokens))
    return [(i, n) for i, n in enumerate(tokens) if n]


@alternative("15.Queue", "two-lists")
class TwoLists:
    """Plain attributes: two lists that are kept in order, numbers beside them."""

    def __init__(self, blocks, block_size):
        self.free, self.size = blocks, block_size
        self.running, self.waiting, self.tokens, self.new, self.blocks = [], [], {}, {}, {}

    def add(self, name, prompt):
        if name in self.tokens:
            raise ValueError(f"{name!r} is being served")
        self.waiting.append(name)
        self.tokens[name], self.new[name] = prompt, 0

    def _put_back(self):
        last = self.running.pop()
        self.free += self.blocks.pop(last)
        self.waiting.insert(0, last)
        return last

    def step(self):
        computed, back = [], set()
        place = 0
        while place < len(self.running):
            name = self.running[place]
            if self.tokens[name] > self.blocks[name] * self.size and self.free == 0:
                back.add(self._put_back())
                continue
            if self.tokens[name] > self.blocks[name] * self.size:
                self.free, self.blocks[name] = self.free - 1, self.blocks[name] + 1
            computed.append((name, 1))
            place += 1
        while not back and self.waiting:
            name = self.waiting[0]
            needed = (self.tokens[name] + self.size - 1) // self.size
            if needed > self.free:
                break
            self.running.append(self.waiting.pop(0))
            self.blocks[name], self.free = needed, self.free - needed
            computed.append((name, self.tokens[name]))
        for name, _ in computed:
            self.tokens[name] += 1
            self.new[name] += 1
        return computed

    def finish(self, name):
        new = self.new[name]
        self.abort(name)
        return new

    def abort(self, name):
        if name in self.tokens:
            (self.running if name in self.running else self.waiting).remove(name)
            self.free += self.blocks.pop(name, 0)
            del self.tokens[name], self.new[name]


@alternative("15.Queue", "objects")
class Objects:
    """An object for each request, with the number of its coming."""

    class Request:
        def __init__(self, name, prompt):
            self.name, self.prompt, self.said, self.blocks = name, prompt, 0, []

        @property
        def tokens(self):
            return self.prompt + self.said

    def __init__(self, blocks, block_size):
        self.block_size, self.pool, self.requests = block_size, list(range(blocks)), OrderedDict()

    free = property(lambda self: len(self.pool))
    running = property(lambda self: [one.name for one in self.requests.values() if one.blocks])
    waiting = property(lambda self: [one.name for one in self.requests.values() if not one.blocks])

    def add(self, name, prompt):
        if name in self.requests:
            raise ValueError(name)
        self.requests[name] = self.Request(name, prompt)

    def _fill(self, one):
        while len(one.blocks) * self.block_size < one.tokens:
            if not self.pool:
                return False
            one.blocks.append(self.pool.pop())
        return True

    def step(self):
        did, somebody_left = [], False
        for one in [self.requests[name] for name in self.running]:
            while one.blocks and not self._fill(one):
                last = self.requests[self.running[-1]]
                self.pool += last.blocks
                last.blocks, somebody_left = [], True
            if one.blocks:
                did.append((one, 1))
        if not somebody_left:
            for one in [self.requests[name] for name in self.waiting]:
                if one.tokens > self.free * self.block_size:
                    break
                self._fill(one)
                did.append((one, one.tokens))
        for one, _ in did:
            one.said += 1
        return [(one.name, tokens) for one, tokens in [(one, tokens) for one, tokens in did]]

    def finish(self, name):
        one = self.requests.pop(name)
        self.pool += one.blocks
        return one.said

    def abort(self, name):
        if name in self.requests:
            self.finish(name)

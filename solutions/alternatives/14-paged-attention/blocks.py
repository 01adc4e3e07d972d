"""Differently written correct solutions of chapter 14, part 2."""

import hashlib
from collections import Counter, OrderedDict

from autograder.checks.mistakes.registry import alternative


@alternative("14.Blocks", "no-counts-kept")
class Counted:
    """Holders are counted anew in the tables, each time they matter; any block will do, the lowest
    first.
    """

    def __init__(self, num_blocks, block_size):
        self.n, self.b = num_blocks, block_size
        self.tables = {}
        self.size_of = {}

    @property
    def held(self):
        return Counter(block for table in self.tables.values() for block in table)

    @property
    def num_free(self):
        return self.n - len(self.held)

    def fresh(self, count):
        held = self.held
        blocks = [block for block in range(self.n) if block not in held][:count]
        if len(blocks) < count:
            raise ValueError("out of blocks")
        return blocks

    def allocate(self, name, count):
        if name in self.tables:
            raise ValueError(name)
        self.tables[name] = self.fresh((count + self.b - 1) // self.b)
        self.size_of[name] = count

    def append(self, name):
        if name not in self.tables:
            raise ValueError(name)
        table, length = self.tables[name], self.size_of[name]
        pair = None
        if length == len(table) * self.b:
            table.extend(self.fresh(1))
        elif self.held[table[-1]] > 1:
            pair = (table[-1], self.fresh(1)[0])
            table[-1] = pair[1]
        self.size_of[name] = length + 1
        return pair

    def fork(self, name, child):
        if name not in self.tables or child in self.tables:
            raise ValueError(f"{name} to {child}")
        self.tables = {**self.tables, child: self.tables[name][:]}
        self.size_of[child] = self.size_of[name]

    def free(self, name):
        if name not in self.tables:
            raise ValueError(name)
        self.tables = {other: table for other, table in self.tables.items() if other != name}


@alternative("14.Blocks", "sets-of-holders")
class Holders:
    """For each block the set of the names that hold it; the block with the most holders in the past
    is no better than another.
    """

    def __init__(self, num_blocks, block_size):
        self.block_size = block_size
        self.holders = [set() for _ in range(num_blocks)]
        self.tables, self._tokens = {}, {}
        self.num_free = num_blocks

    def _take(self, name):
        block = max(i for i, holders in enumerate(self.holders) if not holders)
        self.holders[block].add(name)
        self.num_free -= 1
        return block

    def allocate(self, name, count):
        need = (count - 1) // self.block_size + 1
        if name in self.tables or need > self.num_free:
            raise ValueError("refused")
        self.tables[name] = [self._take(name) for _ in range(need)]
        self._tokens[name] = count

    def append(self, name):
        if name not in self.tables:
            raise ValueError("unknown")
        table = self.tables[name]
        room = len(table) * self.block_size > self._tokens[name]
        alone = room and self.holders[table[-1]] == {name}
        if not alone and self.num_free == 0:
            raise ValueError("full")
        self._tokens[name] += 1
        if alone:
            return None
        new = self._take(name)
        if not room:
            table.append(new)
            return None
        old, table[-1] = table[-1], new
        self.holders[old].remove(name)
        return old, new

    def fork(self, name, child):
        if name not in self.tables:
            raise ValueError("unknown")
        if child in self.tables:
            raise ValueError("in use")
        for block in self.tables[name]:
            self.holders[block].add(child)
        self.tables[child], self._tokens[child] = self.tables[name].copy(), self._tokens[name]

    def free(self, name):
        table = self.tables.get(name)
        if table is None:
            raise ValueError("unknown")
        for block in table:
            self.holders[block].discard(name)
            self.num_free += not self.holders[block]
        del self.tables[name], self._tokens[name]


@alternative("14.block_keys", "all-before-hashed-anew")
def _(ids, block_size, salt):
    found = []
    for end in range(block_size, len(ids) + 1, block_size):
        text = ",".join(str(token) for token in ids[:end])
        found.append(
            hashlib.blake2b(salt.hex().encode() + b"|" + text.encode(), digest_size=32).digest()
        )
    return found


@alternative("14.block_keys", "running-hash")
def _(ids, block_size, salt):
    running = hashlib.sha512(len(salt).to_bytes(2, "big") + salt)
    found = []
    for place, token in enumerate(ids, 1):
        running.update(token.to_bytes(6, "big"))
        if place % block_size == 0:
            found.append(running.copy().digest())
    return found


@alternative("14.PrefixCache", "stamps")
class Stamps:
    """Every giving up gets a number from a clock; the free block with the smallest goes, blocks
    without a key before all others.
    """

    def __init__(self, num_blocks, block_size):
        self.size, self.clock = block_size, 0
        self.count = [0] * num_blocks
        self.stamp, self.key = [0] * num_blocks, [None] * num_blocks
        self.tables = {}

    @property
    def num_free(self):
        return self.count.count(0)

    def begin(self, name, keys, length):
        table = []
        for key in keys:
            if key not in self.key or (len(table) + 1) * self.size > length - 1:
                break
            table.append(self.key.index(key))
        for block in table:
            self.count[block] += 1
        self.tables[name] = table
        return self.size * len(table)

    def take(self, name):
        free = [block for block, count in enumerate(self.count) if count == 0]
        if not free:
            raise ValueError("no block")
        block = min(free, key=lambda one: (self.key[one] is not None, self.stamp[one]))
        self.key[block], self.count[block] = None, 1
        self.tables[name] += [block]

    def know(self, name, place, key):
        if key not in self.key:
            self.key[self.tables[name][place]] = key

    def release(self, name):
        for block in self.tables.pop(name)[::-1]:
            self.clock += 1
            self.count[block] -= 1
            self.stamp[block] = self.clock


@alternative("14.PrefixCache", "two-queues")
class Queues:
    """Free blocks with a key in one ordered dictionary, those without in a list."""

    def __init__(self, num_blocks, block_size):
        self.block_size = block_size
        self.plain, self.old = list(range(num_blocks)), OrderedDict()
        self.known, self.names, self.users, self.tables = {}, {}, Counter(), {}
        self.num_free = num_blocks

    def begin(self, name, keys, length):
        blocks = []
        while (
            len(blocks) < min(len(keys), (length - 1) // self.block_size)
            and keys[len(blocks)] in self.known
        ):
            block = self.known[keys[len(blocks)]]
            blocks.append(block)
            if not self.users[block]:
                if block in self.old:
                    del self.old[block]
                else:
                    self.plain.remove(block)
                self.num_free -= 1
            self.users[block] += 1
        self.tables[name] = blocks
        return len(blocks) * self.block_size

    def take(self, name):
        if self.num_free == 0:
            raise ValueError("nothing is free")
        if self.plain:
            block = self.plain.pop(0)
        else:
            block, _ = self.old.popitem(last=False)
            del self.known[self.names.pop(block)]
        self.users[block] = 1
        self.num_free -= 1
        self.tables[name].append(block)

    def know(self, name, place, key):
        block = self.tables[name][place]
        if self.known.setdefault(key, block) == block:
            self.names[block] = key

    def release(self, name):
        table = self.tables.pop(name)
        while table:
            block = table.pop()
            self.users[block] -= 1
            if self.users[block] == 0:
                self.num_free += 1
                if block in self.names:
                    self.old[block] = True
                else:
                    self.plain.append(block)

"""Plausible wrong solutions of chapter 14, part 2: known beginnings that are found, held and lost
in other ways.
"""

from autograder.checks.mistakes.registry import mistake

PREFIX = "14.PrefixCache"


class Found:
    """A right `PrefixCache`, for mistakes to change."""

    def __init__(self, num_blocks, block_size):
        self.size, self.tables, self.number = block_size, {}, num_blocks
        self.holders, self.order, self.known, self.key_of = (
            [0] * num_blocks,
            list(range(num_blocks)),
            {},
            {},
        )

    @property
    def num_free(self):
        return len(self.order)

    def most(self, length):
        return (length - 1) // self.size

    def begin(self, name, keys, length):
        found = []
        for key in keys[: self.most(length)]:
            if key not in self.known:
                break
            found.append(self.known[key])
        for block in found:
            self.hold(block)
        self.tables[name] = found
        return self.answer(found)

    def answer(self, found):
        return len(found) * self.size

    def hold(self, block):
        if self.holders[block] == 0:
            self.order.remove(block)
        self.holders[block] += 1

    def pick(self):
        fresh = [block for block in self.order if block not in self.key_of]
        return (fresh or self.order)[0]

    def take(self, name):
        if not self.order:
            raise ValueError("full")
        block = self.pick()
        self.order.remove(block)
        self.forget(block)
        self.holders[block] = 1
        self.tables[name].append(block)

    def forget(self, block):
        key = self.key_of.pop(block, None)
        if key is not None:
            del self.known[key]

    def know(self, name, place, key):
        if key not in self.known:
            block = self.tables[name][place]
            self.known[key], self.key_of[block] = block, key

    def given_up(self, table):
        return reversed(table)

    def release(self, name):
        for block in self.given_up(self.tables.pop(name)):
            self.holders[block] -= 1
            if self.holders[block] == 0:
                self.order.append(block)


@mistake(
    PREFIX,
    "whole-prompt-found",
    caught_by="last token",
    loses=4,
    misconception=(
        "You find the whole prompt. Its last token must be read: the next token follows from it."
    ),
)
class WholePrompt(Found):
    def most(self, length):
        return length // self.size


@mistake(
    PREFIX,
    "a-block-too-few",
    caught_by="find",
    loses=7,
    misconception=(
        "You leave out the last full block always. It is left out only where it holds the prompt's"
        " last token."
    ),
)
class TooFew(Found):
    def most(self, length):
        return max(length // self.size - 1, 0)


@mistake(
    PREFIX,
    "blocks-returned",
    caught_by="find",
    loses=7,
    misconception="You return how many blocks matched. It is how many tokens.",
)
class Counted(Found):
    def answer(self, found):
        return len(found)


@mistake(
    PREFIX,
    "gaps-allowed",
    caught_by="evict",
    loses=2.5,
    misconception="You continue after a key that is not cached. The run ends there.",
)
class Gaps(Found):
    def begin(self, name, keys, length):
        self.tables[name] = [
            self.known[key] for key in keys[: self.most(length)] if key in self.known
        ]
        for block in self.tables[name]:
            self.hold(block)
        return self.answer(self.tables[name])


@mistake(
    PREFIX,
    "held-only",
    caught_by="find",
    loses=7,
    misconception="You forget a block when it is given up. It stays known until it is given out.",
)
class HeldOnly(Found):
    def release(self, name):
        for block in self.tables[name]:
            if self.holders[block] == 1:
                self.forget(block)
        super().release(name)


@mistake(
    PREFIX,
    "not-held-when-found",
    caught_by="find",
    loses=7,
    misconception=(
        "Matched blocks are not counted as held: their first holder frees them for others."
    ),
)
class NotHeld(Found):
    def begin(self, name, keys, length):
        before, free = list(self.holders), list(self.order)
        found = super().begin(name, keys, length)
        self.holders, self.order = before, free
        return found


@mistake(
    PREFIX,
    "revived-still-free",
    caught_by="find",
    loses=7,
    misconception="A matched block is still listed as free.",
)
class StillFree(Found):
    def hold(self, block):
        self.holders[block] += 1

    def release(self, name):
        for block in self.given_up(self.tables.pop(name)):
            self.holders[block] -= 1
            if self.holders[block] == 0 and block not in self.order:
                self.order.append(block)


@mistake(
    PREFIX,
    "freed-while-held",
    caught_by="find",
    loses=7,
    misconception="You free a block while another sequence still holds it.",
)
class FreedWhileHeld(Found):
    def release(self, name):
        for block in self.given_up(self.tables.pop(name)):
            self.holders[block] = 0
            if block not in self.order:
                self.order.append(block)


@mistake(
    PREFIX,
    "head-before-tail",
    caught_by="evict",
    loses=2.5,
    misconception=(
        "You give up the first block first: the beginning of a text is lost before its end, which"
        " nobody can find without it."
    ),
)
class HeadFirst(Found):
    def given_up(self, table):
        return table


@mistake(
    PREFIX,
    "newest-goes",
    caught_by="evict",
    loses=2.5,
    misconception="You give out the block that was given up last. The oldest goes first.",
)
class Newest(Found):
    def pick(self):
        fresh = [block for block in self.order if block not in self.key_of]
        return fresh[0] if fresh else self.order[-1]


@mistake(
    PREFIX,
    "lowest-number-goes",
    caught_by="evict",
    loses=2.5,
    misconception=(
        "You give out the free block with the lowest number. It is the one given up longest ago."
    ),
)
class Lowest(Found):
    def pick(self):
        fresh = [block for block in self.order if block not in self.key_of]
        return min(fresh or self.order)


@mistake(
    PREFIX,
    "oldest-made",
    caught_by="evict",
    loses=2.5,
    misconception=(
        "You give out the block that became known first. It is the one given up longest ago."
    ),
)
class OldestMade(Found):
    def pick(self):
        fresh = [block for block in self.order if block not in self.key_of]
        return fresh[0] if fresh else next(block for block in self.key_of if block in self.order)


@mistake(
    PREFIX,
    "key-survives",
    caught_by="evict",
    loses=2.5,
    misconception=(
        "The old key survives when a block is allocated: a request with it matches another text."
    ),
)
class Survives(Found):
    def forget(self, block):
        self.key_of.pop(block, None)


@mistake(
    PREFIX,
    "keys-lost-for-nothing",
    caught_by="evict",
    loses=2.5,
    misconception=(
        "You give out the block that was given up longest ago, also where a free one has no key."
    ),
)
class NoPreference(Found):
    def pick(self):
        return self.order[0]


@mistake(
    PREFIX,
    "last-one-wins",
    caught_by="twice",
    loses=3,
    misconception=(
        "A second block under the same key replaces the first one. The first one stays."
    ),
)
class LastWins(Found):
    def know(self, name, place, key):
        block = self.tables[name][place]
        old = self.known.get(key)
        self.known[key], self.key_of[block] = block, key
        if old is not None and old != block:
            self.key_of.pop(old)


@mistake(
    PREFIX,
    "full-raises-index-error",
    caught_by="full",
    loses=0.5,
    misconception="You let an IndexError out where no block is free. A ValueError is asked for.",
)
class Unrefused(Found):
    def take(self, name):
        if not self.order:
            raise IndexError("pop from empty list")
        super().take(name)


@mistake(
    PREFIX,
    "held-block-taken",
    caught_by="full",
    loses=0.5,
    misconception="Where no block is free you take one that somebody holds.",
)
class Stolen(Found):
    def take(self, name):
        if not self.order:
            self.tables[name].append(0)
        else:
            super().take(name)

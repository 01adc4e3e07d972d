"""Plausible wrong solutions of chapter 14, part 2: blocks that are taken, shared and given back in
other ways.
"""

from autograder.checks.mistakes.registry import mistake

BLOCKS = "14.Blocks"


class Right:
    """A right `Blocks`, for mistakes to change."""

    def __init__(self, num_blocks, block_size):
        self.size, self.tables, self.lengths = block_size, {}, {}
        self.unused, self.holders = list(range(num_blocks)), dict.fromkeys(range(num_blocks), 0)

    @property
    def num_free(self):
        return len(self.unused)

    def one(self):
        if not self.unused:
            raise ValueError("no block is free")
        block = self.unused.pop(0)
        self.holders[block] = 1
        return block

    def need(self, count):
        return -(-count // self.size)

    def absent(self, name):
        if name in self.tables:
            raise ValueError("in use")

    def present(self, name):
        if name not in self.tables:
            raise ValueError("not there")

    def several(self, need):
        if need > len(self.unused):
            raise ValueError("too few")
        return [self.one() for _ in range(need)]

    def allocate(self, name, count):
        self.absent(name)
        self.tables[name] = self.several(self.need(count))
        self.lengths[name] = count

    def full(self, name):
        return self.lengths[name] % self.size == 0

    def shared(self, block):
        return self.holders[block] > 1

    def append(self, name):
        self.present(name)
        table, copied = self.tables[name], None
        if self.full(name):
            table.append(self.one())
        elif self.shared(table[-1]):
            copied = self.copy(name, table)
        self.lengths[name] += 1
        return copied

    def copy(self, name, table):
        old, new = table[-1], self.one()
        self.drop(old)
        table[-1] = new
        return old, new

    def drop(self, block):
        self.holders[block] -= 1
        if self.holders[block] == 0:
            self.unused.append(block)

    def fork(self, name, child):
        self.present(name)
        self.absent(child)
        self.tables[child], self.lengths[child] = self.child(self.tables[name]), self.lengths[name]
        for block in self.tables[child]:
            self.holders[block] += 1

    def child(self, table):
        return list(table)

    def free(self, name):
        self.present(name)
        for block in self.tables.pop(name):
            self.drop(block)


@mistake(
    BLOCKS,
    "rounded-down",
    caught_by="allocate",
    loses=12,
    misconception=(
        "You round the number of blocks down: the tokens of the last, smaller part have none."
    ),
)
class RoundedDown(Right):
    def need(self, count):
        return count // self.size


@mistake(
    BLOCKS,
    "always-one-more",
    caught_by="allocate",
    loses=12,
    misconception=(
        "You take length // block_size + 1 blocks: one too many where the length is a multiple of"
        " the size."
    ),
)
class OneMore(Right):
    def need(self, count):
        return count // self.size + 1


@mistake(
    BLOCKS,
    "a-block-early",
    caught_by="append",
    loses=10,
    misconception=(
        "You take the next block when the last one becomes full. It is taken when there is a token"
        " for it."
    ),
)
class Early(Right):
    def append(self, name):
        self.present(name)
        table, copied = self.tables[name], None
        if not table:
            table.append(self.one())
        elif self.shared(table[-1]):
            copied = self.copy(name, table)
        self.lengths[name] += 1
        if self.full(name):
            table.append(self.one())
        return copied


@mistake(
    BLOCKS,
    "a-block-late",
    caught_by="append",
    loses=10,
    misconception=(
        "You take the next block one token late: the first token after a full block has no slot."
    ),
)
class Late(Right):
    def full(self, name):
        return (
            not self.tables[name]
            or self.lengths[name] % self.size == 1 % self.size
            and self.lengths[name] > self.size
        )


@mistake(
    BLOCKS,
    "a-block-each-token",
    caught_by="append",
    loses=8,
    misconception="You take a block for each token that is appended.",
)
class EachToken(Right):
    def full(self, name):
        return True


@mistake(
    BLOCKS,
    "length-stays",
    caught_by="append",
    loses=8,
    misconception="Your length does not grow with `append`.",
)
class Stays(Right):
    def append(self, name):
        copied = super().append(name)
        self.lengths[name] -= 1
        return copied


@mistake(
    BLOCKS,
    "never-free-again",
    caught_by="free",
    loses=8,
    misconception="Freed blocks are not given back.",
)
class Lost(Right):
    def drop(self, block):
        self.holders[block] -= 1


@mistake(
    BLOCKS,
    "freed-while-shared",
    caught_by="fork",
    loses=6,
    misconception=(
        "You free a block while another sequence still holds it: it is free when its last holder"
        " has gone."
    ),
)
class FreedWhileShared(Right):
    def drop(self, block):
        self.holders[block] -= 1
        if block not in self.unused:
            self.unused.append(block)


@mistake(
    BLOCKS,
    "fork-takes-blocks",
    caught_by="fork",
    loses=6,
    misconception="Your fork gives the child blocks of its own. It shares those of its parent.",
)
class OwnBlocks(Right):
    def fork(self, name, child):
        self.present(name)
        self.allocate(child, self.lengths[name])


@mistake(
    BLOCKS,
    "list-not-copied",
    caught_by="fork",
    loses=6,
    misconception="Parent and child have one and the same list in `tables`: copy it.",
)
class OneList(Right):
    def child(self, table):
        return table


@mistake(
    BLOCKS,
    "last-not-shared",
    caught_by="fork",
    loses=6,
    misconception=(
        "Your fork copies the last block at once. It is shared until somebody writes into it."
    ),
)
class LastCopied(Right):
    def fork(self, name, child):
        super().fork(name, child)
        table = self.tables[child]
        if self.lengths[child] % self.size:
            self.copy(child, table)


@mistake(
    BLOCKS,
    "writes-into-shared",
    caught_by="copy",
    loses=4,
    misconception="You write into a block that another sequence holds as well.",
)
class NoCopy(Right):
    def shared(self, block):
        return False


@mistake(
    BLOCKS,
    "sole-owner-copies",
    caught_by="append",
    loses=8,
    misconception="You copy a block that nobody else holds.",
)
class AlwaysCopies(Right):
    def shared(self, block):
        return True


@mistake(
    BLOCKS,
    "copied-when-full",
    caught_by="fork",
    loses=6,
    misconception="You copy a shared block that is full. Nothing is written into it any more.",
)
class CopiesFull(Right):
    def append(self, name):
        self.present(name)
        table, copied = self.tables[name], None
        if table and self.shared(table[-1]):
            copied = self.copy(name, table)
        if self.full(name):
            table.append(self.one())
        self.lengths[name] += 1
        return copied


@mistake(
    BLOCKS,
    "count-not-lowered",
    caught_by="copy",
    loses=4,
    misconception=(
        "After a copy you keep the old reference count: the block's last holder then copies for"
        " nothing, and the block never becomes free."
    ),
)
class NotLowered(Right):
    def copy(self, name, table):
        old, new = table[-1], self.one()
        table[-1] = new
        return old, new


@mistake(
    BLOCKS,
    "reader-copies",
    caught_by="copy",
    loses=4,
    misconception=(
        "You give the new block to another holder, and write into the old one. The writer gets the"
        " copy."
    ),
)
class ReaderCopies(Right):
    def copy(self, name, table):
        other = next(
            one for one, theirs in self.tables.items() if one != name and table[-1] in theirs
        )
        return super().copy(other, self.tables[other])


@mistake(
    BLOCKS,
    "copy-not-told",
    caught_by="copy",
    loses=4,
    misconception="You exchange the block and do not say so: `append` returns (old, new).",
)
class NotTold(Right):
    def append(self, name):
        super().append(name)


@mistake(
    BLOCKS,
    "new-before-old",
    caught_by="copy",
    loses=4,
    misconception="You return (new, old). It is (old, new): from where, and to where.",
)
class Turned(Right):
    def copy(self, name, table):
        return super().copy(name, table)[::-1]


@mistake(
    BLOCKS,
    "whole-text-copied",
    caught_by="copy",
    loses=4,
    misconception=(
        "You copy all blocks of the sequence. Only the one that is written into must be copied."
    ),
)
class AllCopied(Right):
    def copy(self, name, table):
        copied = super().copy(name, table)
        for place, block in enumerate(table[:-1]):
            if self.shared(block):
                table[place] = self.one()
                self.drop(block)
        return copied


@mistake(
    BLOCKS,
    "half-an-allocation",
    caught_by="full",
    loses=1.5,
    misconception="When there are too few blocks you have taken some already. Count first.",
)
class Half(Right):
    def several(self, need):
        return [self.one() for _ in range(need)]


@mistake(
    BLOCKS,
    "full-raises-index-error",
    caught_by="full",
    loses=1.5,
    misconception="You let an IndexError out where a ValueError is asked for.",
)
class Unchecked(Right):
    def one(self):
        if not self.unused:
            raise IndexError("pop from empty list")
        return super().one()


@mistake(
    BLOCKS,
    "dropped-before-refused",
    caught_by="full",
    loses=1.5,
    misconception=(
        "In a copy you decrement the old reference count before you know that there is a new block."
    ),
)
class DroppedFirst(Right):
    def copy(self, name, table):
        old = table[-1]
        self.drop(old)
        table[-1] = self.one()
        return old, table[-1]


@mistake(
    BLOCKS,
    "length-grows-first",
    caught_by="full",
    loses=1.5,
    misconception="The length grows even where `append` is refused.",
)
class GrowsFirst(Right):
    def append(self, name):
        self.present(name)
        before = self.lengths[name]
        self.lengths[name] += 1
        table, copied = self.tables[name], None
        if before % self.size == 0:
            table.append(self.one())
        elif self.shared(table[-1]):
            copied = self.copy(name, table)
        return copied


@mistake(
    BLOCKS,
    "one-always-spare",
    caught_by="full",
    loses=1.5,
    misconception="You refuse when the last free block is asked for. It may be taken.",
)
class Spare(Right):
    def several(self, need):
        if need and need >= len(self.unused):
            raise ValueError("too few")
        return super().several(need)


@mistake(
    BLOCKS,
    "key-error",
    caught_by="names",
    loses=0.5,
    misconception="You raise a KeyError where a name is not there. A ValueError is asked for.",
)
class Key(Right):
    def present(self, name):
        self.tables[name]


@mistake(
    BLOCKS,
    "allocated-over",
    caught_by="names",
    loses=0.5,
    misconception=(
        "You allocate over a name that is in use: its old blocks belong to nobody, and never become"
        " free."
    ),
)
class Over(Right):
    def absent(self, name):
        pass

"""What is right after each command to `Blocks` and to `PrefixCache`, and what to say of the rest.

`do(command)` returns what the command returns, or "refused", and the set of blocks whose identity
counts from then on: those that are held, and for `PrefixCache` those under a key. A tuple of blocks
is given as pairs (block, True).
"""

from itertools import count


class BlocksModel:
    """Sequences by name: their lengths and tables, in block numbers of its own that never come
    twice.
    """

    OTHERS = (
        "A command changes the table of the sequence that it names, and no other: here another one"
        " changed with it. Does `fork` copy the list? Is it the writer that gets the copy?"
    )
    FULL = " There are free blocks enough for it, and the names are right."

    def __init__(self, num_blocks: int, size: int):
        self.num_blocks, self.size, self.tables, self.lengths, self.numbers = (
            num_blocks,
            size,
            {},
            {},
            count(),
        )
        self.last: tuple = ()

    @property
    def num_free(self) -> int:
        return self.num_blocks - len(self.held())

    def held(self) -> set[int]:
        """Blocks that somebody holds."""
        return {block for table in self.tables.values() for block in table}

    def holders(self, block: int) -> list[str]:
        """Who holds a block."""
        return [name for name, table in self.tables.items() if block in table]

    def do(self, command: tuple) -> tuple[object, set[int]]:
        """Carry a command out."""
        self.last = command
        right = getattr(self, command[0])(*command[1:])
        return right, self.held()

    def allocate(self, name: str, number: int) -> object:
        need = -(-number // self.size)
        if name in self.tables or need > self.num_free:
            return "refused"
        self.tables[name], self.lengths[name] = [next(self.numbers) for _ in range(need)], number
        return None

    def append(self, name: str) -> object:
        if name not in self.tables:
            return "refused"
        table, copied = self.tables[name], None
        fresh = self.lengths[name] % self.size == 0
        shared = not fresh and len(self.holders(table[-1])) > 1
        if (fresh or shared) and not self.num_free:
            return "refused"
        if fresh:
            table.append(next(self.numbers))
        elif shared:
            old, table[-1] = table[-1], next(self.numbers)
            copied = (old, table[-1])
        self.lengths[name] += 1
        return copied

    def fork(self, name: str, child: str) -> object:
        if name not in self.tables or child in self.tables:
            return "refused"
        self.tables[child], self.lengths[child] = list(self.tables[name]), self.lengths[name]
        return None

    def free(self, name: str) -> object:
        if name not in self.tables:
            return "refused"
        del self.tables[name], self.lengths[name]
        return None

    def long(self, name: str, surplus: int) -> str:
        """A table has another number of blocks."""
        if self.last[0] == "fork":
            return (
                "After `fork` the child has the blocks of its parent, all of them, and takes no"
                " others."
            )
        if surplus > 0:
            return (
                "A table has a block too many: so many tokens need the length over `block_size`,"
                " rounded up, and no block is taken before there is a token for it."
            )
        return (
            "A table has a block too few: when all slots of its blocks are used, the next token"
            " needs another one. So many tokens need the length over `block_size`, rounded up; 0 is"
            " a length, too."
        )

    def taken(self, owner: int, name: str, place: int) -> str:
        """Where a free block was to be taken, one was given that somebody holds."""
        if (
            self.last[0] == "append"
            and place == len(self.tables[name]) - 1
            and self.lengths[name] % self.size != 1 % self.size
        ):
            return (
                "The next token would be written into a block that another sequence holds as well:"
                " its text would change. The writer takes a free block instead, and `append`"
                " returns (old, new)."
            )
        return (
            "A block was given out that somebody holds. It is free only when nobody holds it any"
            " more."
        )

    def exchanged(self, name: str, place: int, owner: int | None) -> str:
        """An entry that was to stay, or to be shared, is another block."""
        if self.last[0] == "fork":
            return "After `fork` parent and child hold the same blocks, in the same order."
        if (
            self.last[0] == "append"
            and self.last[1] == name
            and place == len(self.tables[name]) - 1
        ):
            return (
                "A block was exchanged though nothing had to be copied: nobody else holds it. Only"
                " a shared block with an unused slot is copied."
            )
        return (
            "A table's earlier entries changed. Only the block that is written next may be"
            " exchanged, and only for a copy."
        )

    def counted(self, surplus: int) -> str:
        """`num_free` is another number."""
        if surplus > 0:
            return (
                "`num_free` is too large: blocks count as free that somebody holds, or one block is"
                " free twice."
            )
        return (
            "`num_free` is too small: a block that nobody holds any more is free again, and a"
            " `fork` takes none."
        )

    def answered(self, command: tuple, right: object, came: object) -> str:
        """A command returned something else."""
        if command[0] != "append":
            return f"`{command[0]}` returns nothing."
        if right is None:
            return "`append` returns None, unless a block must be copied."
        if came is None:
            return (
                "`append` exchanged a block and returned None: it returns the tuple (old, new), so"
                " that somebody copies what stands there."
            )
        return (
            "`append` returns the tuple (old, new): the number of the block that was shared, and"
            " that of its copy."
        )

    def unrefused(self, command: tuple, raised: str) -> str:
        """What must be refused was not, or in another way."""
        if raised:
            return f"`{command[0]}` raised {raised}. What is refused raises a ValueError."
        what = {
            "append": "when the token needs a block and none is free",
            "allocate": "when there are too few free blocks, or the name is in use",
            "fork": "when there is no such sequence, or the child's name is in use",
            "free": "when there is no such sequence",
        }[command[0]]
        return f"`{command[0]}` raises a ValueError {what}" + (
            ", or there is no such sequence." if command[0] == "append" else "."
        )

    def said(self, right: object) -> str:
        """What should have come, in a line."""
        if right == "refused":
            return f"a ValueError, and nothing changed: {self._line()}"
        returns = "(old, new)" if type(right) is tuple else "None"
        return f"{returns}, {self._line()}"

    def _line(self) -> str:
        letters = {
            block: f"[{place}]"
            for place, block in enumerate(
                dict.fromkeys(block for table in self.tables.values() for block in table)
            )
        }
        tables = "  ".join(
            f"{name} {''.join(letters[block] for block in table) or '-'}"
            for name, table in self.tables.items()
        )
        return f"{tables or 'no table'}, {self.num_free} free"


class Key(bytes):
    """A key as it is asked, with the letters of the blocks that it stands for: one letter
    a block.
    """

    letters: bytes

    @classmethod
    def of(cls, key: bytes, letters: bytes) -> "Key":
        """The key, which knows its letters."""
        made = cls(key)
        made.letters = letters
        return made


def meant(key: bytes) -> bytes:
    """The letters of the blocks that a key stands for; of a plain one, the key itself."""
    return getattr(key, "letters", key)


class PrefixModel(BlocksModel):
    """Blocks that are known under keys, and the free ones among them in the order in which they
    were given up.
    """

    OTHERS = (
        "A command changes the table of the sequence that it names, and no other: here another one"
        " changed with it."
    )
    FULL = " A block is free for it: one that nobody holds, known or not."

    def __init__(self, num_blocks: int, size: int):
        super().__init__(num_blocks, size)
        self.block_of, self.given_up = {}, []
        self.texts, self.told = (
            {},
            {},
        )  # of each sequence: its longest key, and how many of its blocks are known

    def do(self, command: tuple) -> tuple[object, set[int]]:
        right, held = super().do(command)
        return right, held | set(self.block_of.values())

    def begin(self, name: str, keys: list[bytes], length: int) -> object:
        if name in self.tables or len(keys) != length // self.size:
            raise LookupError("never asked")
        found = []
        for key in keys[: (length - 1) // self.size]:
            if key not in self.block_of:
                break
            found.append(self.block_of[key])
        self.texts[name], self.told[name] = meant(keys[-1]) if keys else b"", len(found)
        self.given_up = [block for block in self.given_up if block not in found]
        self.tables[name] = found
        return len(found) * self.size

    def take(self, name: str) -> object:
        if name not in self.tables:
            raise LookupError("never asked")
        if not self.num_free:
            return "refused"
        block = next(self.numbers)
        if self.num_free == len(
            self.given_up
        ):  # every free block has a key: the oldest goes, and its number with it
            block = self.given_up.pop(0)
            self.block_of = {key: one for key, one in self.block_of.items() if one != block}
        self.tables[name].append(block)
        return None

    def know(self, name: str, place: int, key: bytes) -> object:
        text, letters = self.texts[name], meant(key)
        if (
            place >= len(self.tables[name])
            or place > self.told[name]
            or len(letters) != place + 1
            or not (text.startswith(letters) or letters.startswith(text))
        ):
            raise LookupError("never asked")
        self.texts[name], self.told[name] = (
            max(text, letters, key=len),
            max(self.told[name], place + 1),
        )
        self.block_of.setdefault(key, self.tables[name][place])
        return None

    def release(self, name: str) -> object:
        table = self.tables.pop(name)
        held = self.held()
        self.given_up += [
            block
            for block in reversed(table)
            if block not in held and block in self.block_of.values()
        ]
        return None

    def long(self, name: str, surplus: int) -> str:
        if self.last[0] != "begin":
            return (
                "`take` puts one block at the end of the table, and nothing else changes a table's"
                " length."
            )
        if surplus > 0:
            return (
                "`begin` found too much: the run ends at the first key that is not known, and the"
                " block with the prompt's last token is never in it, at most (`length` - 1) //"
                " `block_size` blocks; a key is forgotten when its block is given out."
            )
        return (
            "`begin` found too little: a block stays known until it is given out, whether somebody"
            " holds it or not, and as many as (`length` - 1) // `block_size` may be found."
        )

    def taken(self, owner: int, name: str, place: int) -> str:
        if owner in self.held():
            return (
                "A block was given out that somebody holds: one that was begun with is held, and no"
                " longer free."
            )
        return (
            "A known block was given out although a free one without a key is there: the key is"
            " lost for nothing."
        )

    def exchanged(self, name: str, place: int, owner: int | None) -> str:
        if self.last[0] == "begin":
            return (
                "`begin` gives the block that is known under each key: the first one that became"
                " known under it, as long as it was not given out."
            )
        if self.last[0] == "take" and self.last[1] == name and place == len(self.tables[name]) - 1:
            if owner is not None and owner in self.held():
                return (
                    "A block was given out that somebody holds: one that was begun with is held,"
                    " and no longer free."
                )
            return (
                "All free blocks have a key: the one goes that was given up longest ago. A text"
                " gives up its last block first, and a matched block counts from its next release."
            )
        return "A table's earlier entries changed."

    def counted(self, surplus: int) -> str:
        if surplus > 0:
            return (
                "`num_free` is too large: a matched block is held, and no longer free;"
                " one that somebody still holds is not free when another gives it up."
            )
        return (
            "`num_free` is too small: a block that nobody holds is free, known or not, and a block"
            " that was free before is not counted twice."
        )

    def answered(self, command: tuple, right: object, came: object) -> str:
        if command[0] != "begin":
            return f"`{command[0]}` returns nothing."
        return (
            "`begin` returns the number of tokens in the blocks that it found, an int: so many"
            " blocks times `block_size`."
        )

    def unrefused(self, command: tuple, raised: str) -> str:
        return (
            f"`{command[0]}` raised {raised}. What is refused raises a ValueError."
            if raised
            else "`take` raises a ValueError when no block is free."
        )

    def said(self, right: object) -> str:
        return (
            f"a ValueError, and nothing changed: {self._line()}"
            if right == "refused"
            else f"{right}, {self._line()}"
        )

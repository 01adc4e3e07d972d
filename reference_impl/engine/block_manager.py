"""Keys and values in blocks of a fixed number of tokens, as an operating system keeps
memory in pages.

Kwon et al. 2023 (PagedAttention), section 4. A sequence's cache needs no contiguous
memory: its block table says which block holds tokens 0 to 15, which 16 to 31, and so
on. Blocks are taken when they are needed, so that at most the last one of a sequence is
partly empty.

- Blocks are counted: a fork shares all of its parent's, and who first writes into a
  shared one copies it.
- A full block is known by its tokens and all before them, through a chain of hashes or
  a radix tree (see `prefix_index`). A sequence that begins with the same tokens takes
  the same blocks, also after their first owner has gone (vLLM's automatic prefix
  caching, SGLang's RadixAttention).
- A model with a sliding window never looks further back: a block behind the window is
  given up while its sequence runs.
- A sequence's salt goes into what its first block is known by: who sends another salt
  finds nothing of mine, and cannot tell by the time it takes whether a guess at my text
  was right. With it goes the name of the adapter, whose keys and values are others.
- A block that nobody holds keeps its content until it is needed. The one that was given
  up longest ago goes first.

This module moves no numbers. It says which block, and for a copy from which to which:
the model runner does it.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Sequence as Ids

from reference_impl.engine.prefix_index import IndexName, make_index
from reference_impl.engine.sequence import Sequence

GIVEN_UP = -1  # in a block table: this block lay behind the window and is another's now


class OutOfBlocks(Exception):
    """There is no free block. The scheduler asks first, and preempts."""


def _root(salt: bytes, adapter: str | None) -> bytes:
    return hashlib.sha256(repr((salt, adapter)).encode()).digest()


class BlockManager:
    """Who holds which of `num_blocks` blocks of `block_size` tokens.

    `window`: the model's, None if it sees everything.

    `watermark` is the share of blocks that stays free when a new sequence is admitted,
    so that those that run can grow for a while before one must be preempted.

    `prefix_index`: "hash_chain" as in vLLM, or "radix_tree" as in SGLang.
    """

    def __init__(
        self,
        num_blocks: int,
        block_size: int = 16,
        prefix_caching: bool = True,
        watermark: float = 0.01,
        window: int | None = None,
        prefix_index: IndexName = "hash_chain",
    ):
        if num_blocks < 1 or block_size < 1:
            raise ValueError(
                f"{num_blocks} blocks of {block_size} tokens: give at least one of each"
            )
        self.num_blocks, self.block_size, self.prefix_caching = (
            num_blocks,
            block_size,
            prefix_caching,
        )
        self.window = window
        self.watermark_blocks = int(watermark * num_blocks)
        self.ref_counts = [0] * num_blocks
        self._free: OrderedDict[int, None] = OrderedDict.fromkeys(
            range(num_blocks)
        )  # the next to go stands first
        self.index = make_index(prefix_index, block_size)
        self.num_prefix_queries = self.num_prefix_hits = (
            0  # tokens that were looked for at admission, and found
        )

    @property
    def num_free_blocks(self) -> int:
        """Blocks that nobody holds, whether they keep a content or not."""
        return len(self._free)

    def find_prefix(
        self, ids: Ids[int], salt: bytes = b"", adapter: str | None = None
    ) -> list[int]:
        """The longest run of known blocks that `ids` begins with.

        Its last token is never in it.

        That token must be computed, found or not: its logits are what the next one is
        sampled from.
        """
        if not self.prefix_caching:
            return []
        whole = (len(ids) - 1) // self.block_size
        return self.index.match(_root(salt, adapter), ids, whole)

    def prefix_of(self, sequence: Sequence) -> list[int]:
        """The blocks that an admission of this sequence would take as computed."""
        return (
            []
            if sequence.scores_prompt
            else self.find_prefix(sequence.ids, sequence.cache_salt, sequence.adapter)
        )

    def blocks_needed(self, sequence: Sequence, num_tokens: int) -> int:
        """New blocks that must be taken before the next `num_tokens` tokens can be
        written, a copy counted too.
        """
        total = -(-(sequence.num_computed_tokens + num_tokens) // self.block_size)
        return (
            total
            - len(sequence.block_table)
            + (self._shared_block(sequence) is not None)
        )

    def has_room(self, sequence: Sequence) -> bool:
        """Whether the next token has a slot already, in a block of the sequence's own:
        nothing need be taken.
        """
        entry, table = (
            sequence.num_computed_tokens // self.block_size,
            sequence.block_table,
        )
        return entry < len(table) and self.ref_counts[table[entry]] == 1

    def _shared_block(self, sequence: Sequence) -> int | None:
        """Which entry of the block table would be written although another sequence
        holds the block too.
        """
        entry = sequence.num_computed_tokens // self.block_size
        table = sequence.block_table
        return (
            entry if entry < len(table) and self.ref_counts[table[entry]] > 1 else None
        )

    def can_admit(self, sequence: Sequence, budget: int, spare: int) -> bool:
        """Whether `spare` blocks are left after admission and a first chunk of at most
        `budget` tokens.
        """
        prefix = self.prefix_of(sequence)
        revived = sum(self.ref_counts[block] == 0 for block in prefix)
        chunk = min(budget, sequence.num_tokens - len(prefix) * self.block_size)
        return self.num_free_blocks - revived - -(-chunk // self.block_size) >= spare

    def admit(self, sequence: Sequence) -> None:
        """Start the block table with the prefix that is known already; these tokens
        count as computed.
        """
        assert not sequence.block_table
        prefix = self.prefix_of(sequence)
        self.num_prefix_queries += sequence.num_tokens
        self.num_prefix_hits += len(prefix) * self.block_size
        for block in prefix:
            self._hold(block)
            sequence.block_table.append(block)
        sequence.table_version += 1
        sequence.num_computed_tokens = sequence.num_cached_tokens = (
            len(sequence.block_table) * self.block_size
        )

    def grow(self, sequence: Sequence, num_tokens: int) -> list[tuple[int, int]]:
        """Take the blocks for the next `num_tokens` tokens.

        Returns the copies to be made before writing, (from, to). OutOfBlocks, with
        nothing changed, if there are too few.
        """
        needed, table = self.blocks_needed(sequence, num_tokens), sequence.block_table
        if needed > self.num_free_blocks:
            raise OutOfBlocks(
                f"{sequence.id} needs {needed} more blocks, {self.num_free_blocks} are"
                " free"
            )
        copies = []
        entry = self._shared_block(sequence)
        if entry is not None:
            copies.append((table[entry], self._take()))
            self._let_go(table[entry])
            table[entry] = copies[0][1]
        table.extend(self._take() for _ in range(needed - len(copies)))
        if needed:
            sequence.table_version += 1
        return copies

    def commit(self, sequence: Sequence, num_tokens: int) -> None:
        """The next `num_tokens` tokens are computed: make the blocks that they filled
        known by their hash.
        """
        before = sequence.num_computed_tokens
        sequence.num_computed_tokens = before + num_tokens
        if before % self.block_size + num_tokens >= self.block_size:  # a block is full
            self._make_known(sequence, before // self.block_size)
            self._give_up_behind_window(sequence)

    def _give_up_behind_window(self, sequence: Sequence) -> None:
        """Let go of blocks that the next token cannot see, and so no later one; the
        last full block stays, because the next one's hash begins with its own.
        """
        if self.window is None:
            return
        computed = sequence.num_computed_tokens
        seen = min(
            (computed - self.window + 1) // self.block_size,
            computed // self.block_size - 1,
        )
        while sequence.num_given_up < seen:
            self._let_go(sequence.block_table[sequence.num_given_up])
            sequence.block_table[sequence.num_given_up] = GIVEN_UP
            sequence.num_given_up += 1
            sequence.table_version += 1

    def blocks_for(self, num_tokens: int, chunk: int) -> int:
        """The most blocks that a sequence of `num_tokens` holds at once, if a step
        computes at most `chunk` of them.
        """
        if self.window is not None:
            num_tokens = min(num_tokens, self.window + chunk + 2 * self.block_size)
        return -(-num_tokens // self.block_size)

    def _make_known(self, sequence: Sequence, first: int) -> None:
        """Index the full blocks of a sequence from entry `first` of its table on."""
        if self.prefix_caching:
            full = range(first, sequence.num_computed_tokens // self.block_size)
            root = _root(sequence.cache_salt, sequence.adapter)
            self.index.insert(root, sequence.ids, sequence.block_table, full)

    def fork(self, parent: Sequence, child: Sequence) -> None:
        """The child shares every block of the parent."""
        child.block_table = list(parent.block_table)
        child.table_version += 1
        for block in child.block_table[child.num_given_up :]:
            self.ref_counts[block] += 1

    def free(self, sequence: Sequence) -> None:
        """Give up all blocks, the last first: a long prefix loses its end before its
        beginning.
        """
        for block in reversed(sequence.block_table[sequence.num_given_up :]):
            self._let_go(block)
        sequence.block_table = []
        sequence.table_version += 1
        sequence.num_computed_tokens = sequence.num_given_up = 0

    def shrink(self, sequence: Sequence) -> None:
        """Give up the blocks behind the computed tokens: those of drafts that were
        refused.
        """
        keep = -(-sequence.num_computed_tokens // self.block_size)
        while len(sequence.block_table) > keep:
            self._let_go(sequence.block_table.pop())
            sequence.table_version += 1

    def restore(self, sequence: Sequence, count: int) -> None:
        """Take `count` blocks for a sequence that comes back from the host with its
        computed tokens.
        """
        if count > self.num_free_blocks:
            raise OutOfBlocks(
                f"{sequence.id} needs {count} blocks, {self.num_free_blocks} are free"
            )
        sequence.block_table = [self._take() for _ in range(count)]
        sequence.table_version += 1
        self._make_known(sequence, 0)

    def _hold(self, block: int) -> None:
        if self.ref_counts[block] == 0:
            del self._free[block]
        self.ref_counts[block] += 1

    def _let_go(self, block: int) -> None:
        self.ref_counts[block] -= 1
        if self.ref_counts[block] == 0:
            self._free[block] = None
            if block not in self.index:  # nobody can find its content: it goes first
                self._free.move_to_end(block, last=False)

    def _take(self) -> int:
        block, _ = self._free.popitem(last=False)
        self.index.remove(block)
        self.ref_counts[block] = 1
        return block

    def check(self, sequences: Ids[Sequence]) -> None:
        """AssertionError unless the counts are what these sequences hold, and every
        other block is free.
        """
        held = [0] * self.num_blocks
        for sequence in sequences:
            table = sequence.block_table[sequence.num_given_up :]
            assert len(set(table)) == len(table), f"{sequence.id} holds a block twice"
            assert (
                sequence.block_table[: sequence.num_given_up]
                == [GIVEN_UP] * sequence.num_given_up
            )
            for block in table:
                held[block] += 1
        assert held == self.ref_counts, (
            "reference counts are not what the block tables say"
        )
        assert set(self._free) == {
            block for block, count in enumerate(held) if count == 0
        }
        self.index.check()

"""Which blocks of the cache hold which prefix: two structures with one answer.

    index = make_index("radix_tree", block_size=4)
    index.insert(root, ids, blocks=[7, 2], entries=range(2))
    index.match(root, ids, num_blocks=2)             # [7, 2]

Both return the longest run of known blocks that a sequence begins with:

- `HashChain`, a dictionary from the hash of a block and of all before it (vLLM's
  automatic prefix caching);
- `RadixTree`, a tree whose edges are runs of blocks, compared token by token (SGLang's
  RadixAttention, Zheng et al. 2024, section 3).

`root` separates what must not be shared: salts and adapters.

Not here: reference counts, and which block is evicted (see `block_manager`).
"""

import hashlib
from array import array
from collections.abc import Sequence as Ids
from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable

IndexName = Literal["hash_chain", "radix_tree"]


@runtime_checkable
class PrefixIndex(Protocol):
    """What the block manager asks of either structure."""

    def match(self, root: bytes, ids: Ids[int], num_blocks: int) -> list[int]:
        """The longest run of known blocks that `ids` begins with, at most
        `num_blocks`.
        """

    def insert(
        self, root: bytes, ids: Ids[int], blocks: Ids[int], entries: range
    ) -> None:
        """Make these entries of a block table known. A prefix that another block holds
        already keeps that block.
        """

    def remove(self, block: int) -> None:
        """Forget a block whose content is about to be overwritten."""

    def __contains__(self, block: int) -> bool:
        """Whether `match` can return this block."""

    def check(self) -> None:
        """AssertionError unless the structure is in order."""


def chain_hash(before: bytes, ids: Ids[int]) -> bytes:
    """Of a full block: its tokens and the hash of the block before, so that equal
    hashes mean equal prefixes.

    sha256, not Python's hash: who could make two prompts collide would read another's
    answer.
    """
    return hashlib.sha256(before + array("q", ids).tobytes()).digest()


class HashChain:
    """A dictionary from the hash of a whole prefix to the block that ends it."""

    def __init__(self, block_size: int):
        self.block_size = block_size
        self._block_of: dict[bytes, int] = {}
        self._hash_of: dict[int, bytes] = {}  # of duplicates, too: their chain goes on

    def match(self, root: bytes, ids: Ids[int], num_blocks: int) -> list[int]:
        """Walk from the first block to the first that is not known."""
        matched: list[int] = []
        key = root
        for start in range(0, num_blocks * self.block_size, self.block_size):
            key = chain_hash(key, ids[start : start + self.block_size])
            if key not in self._block_of:
                break
            matched.append(self._block_of[key])
        return matched

    def insert(
        self, root: bytes, ids: Ids[int], blocks: Ids[int], entries: range
    ) -> None:
        """Continue the chain from the hash of the block before."""
        for entry in entries:
            before = self._hash_of[blocks[entry - 1]] if entry else root
            start = entry * self.block_size
            key = chain_hash(before, ids[start : start + self.block_size])
            self._hash_of[blocks[entry]] = key
            self._block_of.setdefault(key, blocks[entry])

    def remove(self, block: int) -> None:
        """Its hash goes with its content."""
        key = self._hash_of.pop(block, None)
        if key is not None and self._block_of.get(key) == block:
            del self._block_of[key]

    def __contains__(self, block: int) -> bool:
        key = self._hash_of.get(block)
        return key is not None and self._block_of.get(key) == block

    def check(self) -> None:
        """AssertionError unless both dictionaries agree."""
        assert all(self._hash_of[block] == key for key, block in self._block_of.items())


Tokens = tuple[int | bytes, ...]


@dataclass(eq=False)
class Node:
    """An edge of the tree with what lies below it: a run of blocks that nothing
    interrupts, and the nodes that continue it.
    """

    parent: "Node | None" = None
    tokens: list[Tokens] = field(default_factory=list)  # of each block of the run
    # None: evicted, or never computed here
    blocks: list[int | None] = field(default_factory=list)
    children: dict[Tokens, "Node"] = field(default_factory=dict)  # by their first block


class RadixTree:
    """A tree of prefixes, at the granularity of blocks.

    An evicted block with descendants leaves a gap: `match` stops there, and finds the
    descendants again when somebody has computed the gap.
    """

    def __init__(self, block_size: int):
        self.block_size = block_size
        self._root = Node()
        self._node_of: dict[int, Node] = {}

    def _tokens(self, root: bytes, ids: Ids[int], entry: int) -> Tokens:
        """What an entry of a block table is compared by; the first also by its root."""
        tokens = tuple(ids[entry * self.block_size : (entry + 1) * self.block_size])
        return tokens if entry else (root, *tokens)

    def match(self, root: bytes, ids: Ids[int], num_blocks: int) -> list[int]:
        """Walk down, edge by edge, to the first block that differs or is gone."""
        matched: list[int] = []
        node = self._root
        while len(matched) < num_blocks:
            child = node.children.get(self._tokens(root, ids, len(matched)))
            if child is None:
                break
            for tokens, block in zip(child.tokens, child.blocks, strict=True):
                if len(matched) == num_blocks or block is None:
                    return matched
                if tokens != self._tokens(root, ids, len(matched)):
                    return matched
                matched.append(block)
            node = child
        return matched

    def insert(
        self, root: bytes, ids: Ids[int], blocks: Ids[int], entries: range
    ) -> None:
        """Walk down from the root, and grow the tree where it ends."""
        node, taken = self._root, 0
        for entry in range(entries.stop):
            tokens = self._tokens(root, ids, entry)
            if taken < len(node.tokens) and node.tokens[taken] != tokens:
                self._split(node, taken)
            if taken == len(node.tokens):
                node, taken = self._below(node, tokens)
            if entry in entries and node.blocks[taken] is None:
                node.blocks[taken] = blocks[entry]
                self._node_of[blocks[entry]] = node
            taken += 1

    def _below(self, node: Node, tokens: Tokens) -> tuple[Node, int]:
        """The node and the index in its run that follow a whole run."""
        if tokens in node.children:
            return node.children[tokens], 0
        if node is self._root or node.children:  # a second continuation
            node.children[tokens] = Node(node, [tokens], [None])
            return node.children[tokens], 0
        node.tokens.append(tokens)  # a leaf grows
        node.blocks.append(None)
        return node, len(node.tokens) - 1

    def _split(self, node: Node, at: int) -> None:
        """Cut a run in two: the second half becomes the only child of the first."""
        lower = Node(node, node.tokens[at:], node.blocks[at:], node.children)
        for child in lower.children.values():
            child.parent = lower
        self._node_of |= {block: lower for block in lower.blocks if block is not None}
        del node.tokens[at:], node.blocks[at:]
        node.children = {lower.tokens[0]: lower}

    def remove(self, block: int) -> None:
        """Leave a gap, and cut off what ends in gaps only."""
        node = self._node_of.pop(block, None)
        if node is None:
            return
        node.blocks[node.blocks.index(block)] = None
        while node.parent is not None and not node.children:
            first = node.tokens[0]
            while node.blocks and node.blocks[-1] is None:
                node.tokens.pop()
                node.blocks.pop()
            if node.blocks:
                return
            del node.parent.children[first]
            node = node.parent

    def __contains__(self, block: int) -> bool:
        return block in self._node_of

    def check(self) -> None:
        """AssertionError unless every node is where its parent and its blocks say."""
        waiting, held = [self._root], 0
        while waiting:
            node = waiting.pop()
            here = [block for block in node.blocks if block is not None]
            assert len(node.tokens) == len(node.blocks)
            assert all(self._node_of[block] is node for block in here)
            assert node is self._root or node.children or node.blocks[-1] is not None
            for tokens, child in node.children.items():
                assert child.parent is node and child.tokens[0] == tokens
            held += len(here)
            waiting += node.children.values()
        assert held == len(self._node_of)


def make_index(name: IndexName, block_size: int) -> PrefixIndex:
    """An empty index of the named kind."""
    return HashChain(block_size) if name == "hash_chain" else RadixTree(block_size)

"""Hash chain and radix tree match what a comparison of all prefixes matches, whatever is inserted,
shared, evicted and computed again.
"""

import random

import pytest

from reference_impl.engine.block_manager import BlockManager, OutOfBlocks
from reference_impl.engine.prefix_index import HashChain, RadixTree, chain_hash, make_index
from reference_impl.engine.sequence import Sequence
from reference_impl.generation.sampling_params import SamplingParams

NAMES = ("hash_chain", "radix_tree")
SIZE = 2


class BruteForce:
    """Each known block with its whole prefix; the longest match by comparing all of them."""

    def __init__(self):
        self.prefixes = {}

    def match(self, root, ids, num_blocks):
        of = {prefix: block for block, prefix in self.prefixes.items()}
        matched = []
        while len(matched) < num_blocks:
            prefix = (root, *ids[: (len(matched) + 1) * SIZE])
            if prefix not in of:
                break
            matched.append(of[prefix])
        return matched

    def insert(self, root, ids, blocks, entries):
        for entry in entries:
            prefix = (root, *ids[: (entry + 1) * SIZE])
            if prefix not in self.prefixes.values():
                self.prefixes[blocks[entry]] = prefix

    def remove(self, block):
        self.prefixes.pop(block, None)

    def __contains__(self, block):
        return block in self.prefixes

    def check(self):
        pass


def managers(num_blocks, window=None):
    each = [
        BlockManager(num_blocks, SIZE, watermark=0.0, window=window, prefix_index=name)
        for name in NAMES
    ]
    oracle = BlockManager(num_blocks, SIZE, watermark=0.0, window=window)
    oracle.index = BruteForce()
    return [oracle, *each]


class Run:
    """One drawn run of requests on several managers, each of which sees the same commands."""

    def __init__(self, seed, window):
        self.draw = random.Random(seed)
        self.managers = managers(self.draw.randint(6, 14), window)
        self.live = [[] for _ in self.managers]

    def ids(self, most):
        """Few different tokens, so that prefixes agree for a while."""
        return [self.draw.randint(0, 1) for _ in range(self.draw.randint(1, most))]

    def each(self, command):
        """The outcomes of a command on each manager are equal."""
        outcomes = [command(*pair) for pair in zip(self.managers, self.live, strict=True)]
        assert all(outcome == outcomes[0] for outcome in outcomes), outcomes

    def begin(self):
        ids, salt = self.ids(12), self.draw.choice([b"", b"salt"])

        def command(blocks, live):
            sequence = Sequence("a", list(ids), SamplingParams(max_tokens=1), cache_salt=salt)
            blocks.admit(sequence)
            try:
                blocks.grow(sequence, sequence.num_uncomputed)
            except OutOfBlocks:
                blocks.free(sequence)
                return None
            blocks.commit(sequence, sequence.num_uncomputed)
            live.append(sequence)
            return sequence.num_cached_tokens, list(sequence.block_table)

        self.each(command)

    def go_on(self):
        number, ids = self.draw.random(), self.ids(4)

        def command(blocks, live):
            if not live:
                return None
            sequence = live[int(number * len(live))]
            for token in ids:
                sequence.append(token)
            try:
                copies = blocks.grow(sequence, len(ids))
            except OutOfBlocks:
                del sequence.ids[-len(ids) :], sequence.output_ids[-len(ids) :]
                return None
            blocks.commit(sequence, len(ids))
            return copies, list(sequence.block_table)

        self.each(command)

    def fork(self):
        number = self.draw.random()

        def command(blocks, live):
            if live and len(live) < 5:
                parent = live[int(number * len(live))]
                child = parent.fork(1)
                blocks.fork(parent, child)
                live.append(child)

        self.each(command)

    def end(self):
        number = self.draw.random()

        def command(blocks, live):
            if live:
                blocks.free(live.pop(int(number * len(live))))

        self.each(command)

    def check(self):
        ids = self.ids(12)
        self.each(lambda blocks, live: blocks.check(live))
        self.each(lambda blocks, live: blocks.find_prefix(ids, b"salt"))
        self.each(lambda blocks, live: [block in blocks.index for block in range(6)])


@pytest.mark.parametrize("window", [None, 3])
@pytest.mark.parametrize("seed", range(40))
def test_both_match_what_a_comparison_of_all_prefixes_matches(seed, window):
    run = Run(seed, window)
    for _ in range(80):
        run.draw.choice([run.begin, run.begin, run.go_on, run.fork, run.end])()
        run.check()


@pytest.mark.parametrize("name", NAMES)
def test_a_gap_ends_the_match_until_somebody_has_computed_it_again(name):
    index = make_index(name, SIZE)
    index.insert(b"", [1, 2, 3, 4, 5, 6], [7, 2, 5], range(3))
    index.remove(2)
    assert index.match(b"", [1, 2, 3, 4, 5, 6], 3) == [7]
    index.insert(b"", [1, 2, 3, 4], [7, 9], range(1, 2))
    assert index.match(b"", [1, 2, 3, 4, 5, 6], 3) == [7, 9, 5]
    index.check()


@pytest.mark.parametrize("name", NAMES)
def test_the_first_block_with_a_prefix_stays_the_known_one(name):
    index = make_index(name, SIZE)
    index.insert(b"", [1, 2], [3], range(1))
    index.insert(b"", [1, 2, 8, 9], [4, 5], range(2))
    assert index.match(b"", [1, 2, 8, 9], 2) == [3, 5]
    assert 3 in index and 5 in index and 4 not in index


@pytest.mark.parametrize("name", NAMES)
def test_roots_share_nothing(name):
    index = make_index(name, SIZE)
    index.insert(b"mine", [1, 2], [3], range(1))
    assert index.match(b"yours", [1, 2], 1) == [] and index.match(b"mine", [1, 2], 1) == [3]


def test_the_tree_splits_an_edge_where_two_prefixes_part():
    tree = RadixTree(SIZE)
    tree.insert(b"", [1, 2, 3, 4, 5, 6], [0, 1, 2], range(3))
    (edge,) = tree._root.children.values()
    assert edge.blocks == [0, 1, 2] and not edge.children
    tree.insert(b"", [1, 2, 3, 4, 7, 8], [0, 1, 3], range(2, 3))
    (edge,) = tree._root.children.values()
    assert edge.blocks == [0, 1]
    assert sorted(child.blocks for child in edge.children.values()) == [[2], [3]]
    tree.check()


def test_nothing_is_left_of_what_was_removed():
    tree, chain = RadixTree(SIZE), HashChain(SIZE)
    for index in (tree, chain):
        index.insert(b"salt", [1, 2, 3, 4], [0, 1], range(2))
        index.insert(b"salt", [1, 2, 5, 6], [0, 2], range(1, 2))
        for block in (0, 2, 1):
            index.remove(block)
    assert not tree._root.children and not tree._node_of
    assert not chain._block_of and not chain._hash_of


def test_the_hash_of_a_chain_depends_on_everything_before():
    assert chain_hash(chain_hash(b"", [1]), [2]) != chain_hash(chain_hash(b"", [3]), [2])

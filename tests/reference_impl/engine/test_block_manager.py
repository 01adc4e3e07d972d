"""Blocks are counted, shared, copied on write, found again by their prefix, and evicted in the
right order.
"""

import pytest

from reference_impl.engine.block_manager import GIVEN_UP, BlockManager, OutOfBlocks
from reference_impl.engine.sequence import Sequence
from reference_impl.generation.sampling_params import SamplingParams


def sequence(ids, name="a"):
    return Sequence(name, list(ids), SamplingParams(max_tokens=8))


def compute(blocks, item, num_tokens):
    copies = blocks.grow(item, num_tokens)
    blocks.commit(item, num_tokens)
    return copies


def test_a_sequence_takes_a_block_only_when_its_last_one_is_full():
    blocks, item = BlockManager(8, block_size=4), sequence(range(9))
    compute(blocks, item, 4)
    assert len(item.block_table) == 1
    compute(blocks, item, 1)
    assert len(item.block_table) == 2
    compute(blocks, item, 3)
    assert len(item.block_table) == 2 and blocks.num_free_blocks == 6


def test_too_few_blocks_change_nothing():
    blocks, item = BlockManager(2, block_size=4), sequence(range(9))
    with pytest.raises(OutOfBlocks, match="a/0 needs 3 more blocks, 2 are free"):
        blocks.grow(item, 9)
    assert item.block_table == [] and blocks.num_free_blocks == 2


def test_a_fork_shares_every_block_and_the_first_to_write_copies_the_last():
    blocks, parent = BlockManager(8, block_size=4), sequence(range(6))
    compute(blocks, parent, 6)
    child = parent.fork(1)
    blocks.fork(parent, child)
    assert blocks.num_free_blocks == 6
    shared = parent.block_table[1]
    parent.append(7)
    copies = compute(blocks, parent, 1)
    assert copies == [(shared, parent.block_table[1])] and child.block_table[1] == shared
    child.append(8)
    assert compute(blocks, child, 1) == [], "the child is alone with the block now"
    assert parent.block_table[0] == child.block_table[0]
    blocks.check([parent, child])


def test_a_fork_at_the_end_of_a_full_block_copies_nothing():
    blocks, parent = BlockManager(8, block_size=4), sequence(range(4))
    compute(blocks, parent, 4)
    child = parent.fork(1)
    blocks.fork(parent, child)
    child.append(8)
    assert compute(blocks, child, 1) == []


def test_a_known_prefix_is_found_block_by_block():
    blocks, first = BlockManager(8, block_size=4), sequence(range(10))
    compute(blocks, first, 10)
    same_start = sequence([*range(8), 50, 51, 52], "b")
    blocks.admit(same_start)
    assert same_start.block_table == first.block_table[:2] and same_start.num_cached_tokens == 8
    blocks.check([first, same_start])


def test_the_last_token_of_a_prompt_is_always_computed():
    blocks, first = BlockManager(8, block_size=4), sequence(range(8))
    compute(blocks, first, 8)
    assert len(blocks.find_prefix(range(8))) == 1
    assert len(blocks.find_prefix(range(9))) == 2


def test_equal_tokens_after_another_beginning_are_another_block():
    blocks, first = BlockManager(8, block_size=4), sequence([1, 1, 1, 1, 5, 6, 7, 8])
    compute(blocks, first, 8)
    assert blocks.find_prefix([2, 2, 2, 2, 5, 6, 7, 8, 9]) == []
    assert blocks.find_prefix([5, 6, 7, 8, 9]) == []


def test_a_block_that_is_not_full_is_never_found():
    blocks, first = BlockManager(8, block_size=4), sequence([1, 2, 3])
    compute(blocks, first, 3)
    assert blocks.find_prefix([1, 2, 3, 4, 5]) == []


def test_a_freed_prefix_is_revived_until_its_block_is_needed():
    blocks, first = BlockManager(3, block_size=4), sequence(range(8))
    compute(blocks, first, 8)
    blocks.free(first)
    assert blocks.num_free_blocks == 3
    again = sequence(range(9), "b")
    blocks.admit(again)
    assert again.num_computed_tokens == 8 and blocks.num_free_blocks == 1
    blocks.free(again)
    other = sequence(range(100, 112), "c")
    compute(blocks, other, 12)
    assert blocks.find_prefix(range(9)) == []


def test_what_was_given_up_longest_ago_goes_first_and_ends_before_beginnings():
    blocks = BlockManager(4, block_size=2)
    old, new = sequence([1, 2, 3, 4], "old"), sequence([5, 6, 7, 8], "new")
    for item in (old, new):
        compute(blocks, item, 4)
    blocks.free(old)
    blocks.free(new)
    compute(blocks, sequence([9, 9], "c"), 2)
    assert len(blocks.find_prefix([1, 2, 3, 4, 0])) == 1, (
        "the end of the older prefix is gone, its beginning is there"
    )
    assert len(blocks.find_prefix([5, 6, 7, 8, 0])) == 2


def test_blocks_of_unknown_content_are_used_before_a_known_prefix():
    blocks = BlockManager(3, block_size=2)
    known, partial = sequence([1, 2], "known"), sequence([7], "partial")
    compute(blocks, known, 2)
    compute(blocks, partial, 1)
    blocks.free(known)
    blocks.free(partial)
    compute(blocks, sequence([9, 9, 9, 9], "c"), 4)
    assert len(blocks.find_prefix([1, 2, 3])) == 1


def test_refused_drafts_give_their_blocks_back():
    blocks, item = BlockManager(8, block_size=2), sequence([1, 2, 3])
    compute(blocks, item, 3)
    blocks.grow(item, 4)
    assert len(item.block_table) == 4
    blocks.commit(item, 1)
    blocks.shrink(item)
    assert len(item.block_table) == 2
    blocks.check([item])


def test_without_prefix_caching_nothing_is_found():
    blocks, first = BlockManager(8, block_size=4, prefix_caching=False), sequence(range(8))
    compute(blocks, first, 8)
    assert blocks.find_prefix(range(9)) == []


def test_blocks_behind_the_window_are_given_up_and_the_last_full_one_is_kept():
    blocks, item = BlockManager(20, block_size=4, window=6), sequence(range(40))
    held = []
    for _ in range(10):
        compute(blocks, item, 4)
        held.append(20 - blocks.num_free_blocks)
        blocks.check([item])
    assert held == [1, 2, 2, 2, 2, 2, 2, 2, 2, 2], (
        "six tokens back from the next one lie in the last two blocks"
    )
    assert item.block_table[:8] == [GIVEN_UP] * 8 and GIVEN_UP not in item.block_table[8:]
    first_seen = item.num_computed_tokens - 6 + 1
    assert first_seen // 4 == item.num_given_up, (
        "the first block that is kept is the first that the next token sees"
    )
    blocks.free(item)
    assert blocks.num_free_blocks == 20


def test_a_fork_past_the_window_shares_only_what_is_held():
    blocks, parent = BlockManager(20, block_size=2, window=3), sequence(range(11))
    compute(blocks, parent, 11)
    child = parent.fork(1)
    blocks.fork(parent, child)
    child.append(5)
    compute(blocks, child, 1)
    blocks.check([parent, child])
    blocks.free(parent)
    blocks.check([child])
    blocks.free(child)
    assert blocks.num_free_blocks == 20


def test_blocks_given_up_behind_the_window_are_found_again_by_their_prefix():
    blocks, item = BlockManager(20, block_size=4, window=6), sequence(range(17))
    for _ in range(4):
        compute(blocks, item, 4)
    other = sequence(range(17), "b")
    blocks.admit(other)
    assert other.num_cached_tokens == 16
    blocks.check([item, other])

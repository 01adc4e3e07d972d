"""Timelines: a run with a chunked prompt, a shared beginning and a preemption, and each letter from
rows by hand.
"""

import json

import pytest
import torch

from reference_impl.engine.block_manager import BlockManager
from reference_impl.engine.engine import Engine, EngineConfig
from reference_impl.engine.scheduler import SchedulerConfig, Step
from reference_impl.engine.sequence import Sequence
from reference_impl.engine.trace import Trace, draw, wasted_slots
from reference_impl.generation.sampling_params import SamplingParams
from reference_impl.models.llama import Llama, LlamaConfig

SYSTEM = [20, 21, 22, 23]
REQUESTS = {  # the step before which it comes, prompt, tokens to say
    "old": (0, [*SYSTEM, 1], 8),
    "long": (1, list(range(40, 51)), 3),
    "same": (2, [*SYSTEM, 2, 3], 7),
    "new": (3, [9, 8, 7], 3),
}


@pytest.fixture(scope="module")
def served():
    torch.manual_seed(0)
    model = Llama(
        LlamaConfig(
            97, 32, 40, num_layers=1, num_heads=4, num_kv_heads=2, max_position_embeddings=32
        )
    )
    limits = SchedulerConfig(max_num_seqs=4, max_num_batched_tokens=5, max_model_len=32)
    engine = Engine(model, EngineConfig(num_blocks=8, block_size=4, scheduler=limits))
    while engine.has_work or engine.trace.num_steps == 0:
        for name, (arrival, prompt, count) in REQUESTS.items():
            if arrival == engine.trace.num_steps:
                engine.add_request(
                    prompt, SamplingParams(temperature=0, max_tokens=count, ignore_eos=True), name
                )
        engine.step()
    return engine


def test_a_run_is_drawn_with_its_chunks_waits_and_preemption(served):
    # Five tokens a step and eight blocks of four, worked by hand. "same" takes one block of "old"
    # and reads the rest of its prompt in two single tokens; in step 5 "long" needs a fourth block,
    # and "new" came last.
    assert served.trace.draw().splitlines() == [
        "step    0         1",
        "        01234567890",
        "old/0   Pdddddd.",
        "long/0   PPPd.",
        "same/0    -ddddddd.",
        "new/0      -PxPd.",
    ]


def test_rows_say_what_was_found_in_the_cache_and_what_became_of_all_blocks(served):
    rows = json.loads(json.dumps(served.trace.rows))
    assert rows == served.trace.rows, "plain data"
    found = [
        (row["step"], item["id"], item["num_cached_tokens"])
        for row in rows
        for item in row["admitted"]
    ]
    assert found == [
        (0, "old/0", 0),
        (1, "long/0", 0),
        (3, "same/0", 4),
        (4, "new/0", 0),
        (6, "new/0", 0),
    ]
    assert [(row["num_free_blocks"], row["held_slots"], row["wasted_slots"]) for row in rows] == [
        (6, 8, 3),
        (5, 12, 2),
        (4, 16, 1),
        (2, 24, 1 + 3),
        (0, 32, 3 + 2 + 2),
        (4, 16, 2 + 1),
        (3, 20, 1 + 1),
        (4, 16, 3),
        (5, 12, 2),
        (5, 12, 1),
        (8, 0, 0),
    ]
    assert [row["num_tokens"] for row in rows] == [5, 5, 5, 5, 5, 3, 5, 3, 2, 1, 1]


def row(step, scheduled=(), **queues):
    empty = {"preempted": [], "finished": [], "waiting": [], "running": []}
    return {
        "step": step,
        **empty,
        **queues,
        "scheduled": [
            {"id": name, "num_tokens": count, "num_drafts": drafts}
            for name, count, drafts in scheduled
        ],
    }


def test_each_letter_means_what_the_module_says():
    rows = [
        row(9, [("a/0", 4, 0)], running=["a/0"], waiting=["b/0"]),
        row(10, [("a/0", 1, 0), ("b/0", 3, 0)], running=["a/0", "b/0"]),
        row(11, [("a/0", 3, 2)], running=["a/0", "b/0"]),
        row(12, [("a/0", 1, 0)], running=["a/0"], waiting=["b/0"], preempted=["b/0"]),
        row(13, [("a/0", 3, 2)], finished=["a/0"], waiting=["b/0"]),
        row(14, [("b/0", 4, 0)], finished=["b/0"]),
    ]
    assert draw(rows).splitlines() == ["step   1", "      901234", "a/0   Pdsd.", "b/0   -Pwx-."]


def test_only_the_last_steps_are_kept_and_keep_their_numbers():
    trace, blocks = Trace(longest=2), BlockManager(4, 4)
    for _ in range(5):
        trace.record(Step(), [], [], [], blocks)
    assert (
        [row["step"] for row in trace.rows] == [3, 4]
        and trace.num_steps == 5
        and trace.last["num_free_blocks"] == 4
    )


def test_steps_are_counted_and_not_remembered_where_none_are_kept():
    trace, blocks = Trace(longest=0), BlockManager(4, 4)
    for _ in range(5):
        trace.record(Step(), [], [], [], blocks)
    assert trace.rows == [] and trace.num_steps == 5


def test_a_shared_block_is_held_once():
    blocks = BlockManager(10, 4, prefix_caching=False)
    parent = Sequence("p", list(range(6)), SamplingParams(n=2))
    blocks.grow(parent, 6)
    assert wasted_slots(blocks, [parent]) == (8, 8)  # nothing is written yet
    blocks.commit(parent, 6)
    child = parent.fork(1)
    blocks.fork(parent, child)
    assert wasted_slots(blocks, [parent, child]) == (8, 2)
    child.append(1)
    blocks.grow(child, 1)  # writes into a shared block, so it gets a copy of its own
    blocks.commit(child, 1)
    assert wasted_slots(blocks, [parent, child]) == (12, 2 + 1)

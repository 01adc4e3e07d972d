"""The policy by cases, and by a machine of states that looks for a run of events which
breaks it.
"""

import pytest
from hypothesis import note, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from reference_impl.engine.block_manager import GIVEN_UP, BlockManager
from reference_impl.engine.engine import EngineConfig
from reference_impl.engine.scheduler import LONGEST_MATCHED_QUEUE, Scheduler, SchedulerConfig
from reference_impl.engine.sequence import Sequence, Status
from reference_impl.engine.trace import Trace
from reference_impl.generation.sampling_params import SamplingParams


def make(num_blocks=16, block_size=4, window=None, prefix_index="hash_chain", **config):
    config = {"max_num_seqs": 4, "max_num_batched_tokens": 8, "max_model_len": 64, **config}
    return Scheduler(
        SchedulerConfig(**config),
        BlockManager(
            num_blocks, block_size, watermark=0.0, window=window, prefix_index=prefix_index
        ),
    )


def request(name, num_prompt, max_tokens=8, n=1, priority=0, first_id=0):
    return Sequence(
        name,
        list(range(first_id, first_id + num_prompt)),
        SamplingParams(max_tokens=max_tokens, n=n),
        priority=priority,
    )


def compute(scheduler, step):
    """What the engine does after the model: commit, fork, append a token, finish at max_tokens."""
    for sequence, num_tokens, num_drafts in step.scheduled:
        samples = num_tokens - num_drafts == sequence.num_uncomputed
        scheduler.blocks.commit(sequence, num_tokens - num_drafts)
        scheduler.blocks.shrink(sequence)
        if samples:
            for item in [sequence, *scheduler.fork(sequence)]:
                item.append(1000 + item.index)
                if len(item.output_ids) >= item.params.max_tokens:
                    scheduler.finish(item, "length")


def plan(step):
    return [(item.sequence.request_id, item.num_tokens) for item in step.scheduled]


def test_a_long_prompt_is_cut_into_chunks_and_decoding_goes_on_beside_it():
    scheduler = make()
    scheduler.add(request("short", 3))
    compute(scheduler, scheduler.schedule())
    scheduler.add(request("long", 20, first_id=100))
    steps = []
    for _ in range(3):
        steps.append(plan(step := scheduler.schedule()))
        compute(scheduler, step)
    assert steps == [
        [("short", 1), ("long", 7)],
        [("short", 1), ("long", 7)],
        [("short", 1), ("long", 6)],
    ]


def test_a_prompt_of_higher_priority_leaves_a_token_for_each_that_decodes():
    scheduler = make()
    scheduler.add(request("short", 3))
    compute(scheduler, scheduler.schedule())
    scheduler.add(request("urgent", 20, first_id=100, priority=5))
    compute(scheduler, scheduler.schedule())
    assert plan(scheduler.schedule()) == [("urgent", 7), ("short", 1)]


def test_a_preempted_request_starts_again_where_its_tokens_end():
    scheduler = make(num_blocks=4, block_size=4, max_num_batched_tokens=16)
    first, second = request("first", 7), request("second", 7, first_id=100)
    scheduler.add(first)
    scheduler.add(second)
    for _ in range(2):
        compute(scheduler, scheduler.schedule())
    step = scheduler.schedule()
    assert step.preempted == [second] and plan(step) == [("first", 1)]
    assert (
        second.status is Status.WAITING
        and len(second.output_ids) == 2
        and second.num_computed_tokens == 0
    )
    compute(scheduler, step)
    while not first.is_finished:
        compute(scheduler, scheduler.schedule())
    step = scheduler.schedule()
    assert step.admitted == [second] and second.num_uncomputed + second.num_computed_tokens == 9


def test_a_step_that_preempts_admits_nobody_though_a_piece_of_a_prompt_would_fit():
    scheduler = make(num_blocks=4, block_size=4, max_num_batched_tokens=5)
    scheduler.blocks.prefix_caching = False
    first, second = request("first", 7), request("second", 7, first_id=100)
    scheduler.add(first)
    scheduler.add(second)
    while not (step := scheduler.schedule()).preempted:
        compute(scheduler, step)
    assert step.preempted == [second] and step.admitted == []
    assert scheduler.blocks.can_admit(second, budget=4, spare=0)


def test_with_room_on_the_host_a_preempted_request_computes_nothing_again():
    scheduler = make(num_blocks=4, block_size=4, max_num_batched_tokens=16, num_host_blocks=4)
    first, second = request("first", 7), request("second", 7, first_id=100)
    scheduler.add(first)
    scheduler.add(second)
    for _ in range(2):
        compute(scheduler, scheduler.schedule())
    table = list(second.block_table)
    step = scheduler.schedule()
    assert second.status is Status.SWAPPED
    assert [(m.kind, m.source) for m in step.moves if m.kind == "out"] == [
        ("out", block) for block in table
    ]
    compute(scheduler, step)
    while second.status is Status.SWAPPED:
        compute(scheduler, step := scheduler.schedule())
        scheduler.check()
    assert [item.num_tokens for item in step.scheduled if item.sequence is second] == [1]
    assert [m.kind for m in step.moves] == ["in"] * len(table)


def test_a_request_that_does_not_fit_holds_up_those_behind_it():
    scheduler = make(num_blocks=4, block_size=4, max_num_batched_tokens=16)
    scheduler.add(request("running", 7, max_tokens=4))
    compute(scheduler, scheduler.schedule())
    scheduler.add(request("large", 11, max_tokens=1, first_id=100))
    scheduler.add(request("small", 2, max_tokens=1, first_id=200))
    assert plan(scheduler.schedule()) == [("running", 1)]


def test_higher_priority_is_admitted_first_and_waiting_long_enough_makes_up_for_it():
    scheduler = make(max_num_seqs=1, patience=3)
    scheduler.add(request("low", 2, max_tokens=1))
    scheduler.add(request("high", 2, max_tokens=1, priority=1, first_id=50))
    step = scheduler.schedule()
    assert plan(step) == [("high", 2)]
    order = []
    for number in range(5):
        compute(scheduler, step)
        scheduler.add(request(f"high {number}", 2, max_tokens=1, priority=1, first_id=100 * number))
        step = scheduler.schedule()
        order += [name for name, _ in plan(step)]
    assert "low" in order


def cached_first(policy, **config):
    """Who is admitted when the second in the queue has a cached prefix and the first has none."""
    scheduler = make(max_num_seqs=1, max_num_batched_tokens=16, policy=policy, **config)
    scheduler.add(request("before", 9, max_tokens=1))
    compute(scheduler, scheduler.schedule())
    scheduler.add(request("other", 9, max_tokens=1, first_id=500))
    scheduler.add(request("same start", 9, max_tokens=1))
    return scheduler


@pytest.mark.parametrize(("policy", "first"), [("fcfs", "other"), ("lpm", "same start")])
def test_longest_prefix_match_admits_the_request_whose_prefix_is_cached(policy, first):
    assert plan(cached_first(policy).schedule())[0][0] == first


def shortest_first(**config):
    """A long prompt in the queue before two short ones, and one batch slot."""
    scheduler = make(max_num_seqs=1, max_num_batched_tokens=16, policy="sjf", **config)
    for name, tokens in (("long", 9), ("short", 3), ("as short", 3)):
        scheduler.add(request(name, tokens, max_tokens=1))
    return scheduler


def test_shortest_job_first_admits_the_shortest_prompt_and_among_equals_the_first():
    scheduler = shortest_first()
    order = []
    for _ in range(3):
        step = scheduler.schedule()
        order += [name for name, _ in plan(step)]
        compute(scheduler, step)
    assert order == ["short", "as short", "long"]


def test_patience_keeps_a_long_prompt_from_starving_behind_short_ones():
    scheduler = shortest_first(patience=3)
    order = []
    for number in range(6):
        scheduler.add(request(f"short {number}", 2, max_tokens=1))
        step = scheduler.schedule()
        order += [name for name, _ in plan(step)]
        compute(scheduler, step)
    assert order.index("long") == 5, "after the two that waited as long"


def test_priority_comes_before_a_cached_prefix_and_a_long_queue_is_not_matched():
    scheduler = cached_first("lpm")
    scheduler.add(request("important", 9, max_tokens=1, priority=1, first_id=700))
    assert plan(scheduler.schedule())[0][0] == "important"
    scheduler = cached_first("lpm")
    for number in range(LONGEST_MATCHED_QUEUE):
        scheduler.add(request(f"more {number}", 1, max_tokens=1, first_id=900))
    assert plan(scheduler.schedule())[0][0] == "other"


def test_a_request_without_a_prefix_does_not_starve():
    scheduler = cached_first("lpm", patience=3)
    order = []
    for number in range(6):
        scheduler.add(request(f"same {number}", 9, max_tokens=1))
        step = scheduler.schedule()
        order += [name for name, _ in plan(step)]
        compute(scheduler, step)
    assert order.index("other") == 3


def test_drafts_take_no_block_that_another_would_be_preempted_for():
    scheduler = make(num_blocks=3, block_size=4, max_num_batched_tokens=16)
    item = request("a", 3, max_tokens=4)
    scheduler.add(item)
    compute(scheduler, scheduler.schedule())
    item.draft_ids = [5, 6, 7]
    scheduler.blocks._free.clear()
    step = scheduler.schedule()
    assert step.scheduled[0].num_tokens == 1 and item.draft_ids == []


@pytest.mark.parametrize(
    ("sequence", "words"),
    [
        (request("a", 0), "no token"),
        (
            request("a", 60),
            "60 tokens and max_tokens is 8, 68 together, but this model is served with 64",
        ),
        (request("a", 20, max_tokens=30), "50 tokens need 13 blocks of 4, but the cache has 12"),
        (request("a", 2, n=5), "n is 5, but at most 4"),
    ],
)
def test_what_could_never_run_is_refused(sequence, words):
    with pytest.raises(ValueError, match=words):
        make(num_blocks=12).add(sequence)


class Machine(RuleBasedStateMachine):
    """Requests come, are aborted, and steps are computed, in any order; a failing run is printed as
    its events.
    """

    def __init__(self):
        super().__init__()
        self.scheduler = make(
            num_blocks=9,
            block_size=2,
            max_num_seqs=4,
            max_num_batched_tokens=6,
            max_model_len=16,
            patience=20,
        )
        self.requests, self.trace = [], Trace()

    @rule(
        num_prompt=st.integers(1, 9),
        max_tokens=st.integers(1, 7),
        n=st.integers(1, 3),
        priority=st.integers(0, 1),
        first_id=st.integers(0, 1),
    )
    def add(self, **arguments):
        item = request(str(len(self.requests)), **arguments)
        self.scheduler.add(item)
        self.requests.append(item)

    @rule(
        host=st.sampled_from([0, 6]),
        window=st.sampled_from([None, 1, 3, 5]),
        policy=st.sampled_from(["fcfs", "lpm", "sjf"]),
        prefix_index=st.sampled_from(["hash_chain", "radix_tree"]),
    )
    @precondition(lambda self: not self.requests)
    def choose_settings(self, host, window, policy, prefix_index):
        self.scheduler = make(
            num_blocks=9,
            block_size=2,
            max_num_seqs=4,
            max_num_batched_tokens=6,
            max_model_len=16,
            patience=20,
            num_host_blocks=host,
            window=window,
            policy=policy,
            prefix_index=prefix_index,
        )

    @rule()
    def step(self):
        step = self.scheduler.schedule()
        assert step.num_tokens <= 6
        assert not self.scheduler.has_work or step.scheduled, "there is work and nothing is done"
        written = [
            (s.block_table[p // 2], p % 2)
            for s, count, _ in step.scheduled
            for p in range(s.num_computed_tokens, s.num_computed_tokens + count)
        ]
        assert len(set(written)) == len(written), "two tokens go into one slot"
        assert all(self.scheduler.blocks.ref_counts[block] == 1 for block, _ in written), (
            "a shared block is written"
        )
        window = self.scheduler.blocks.window
        for s, _, _ in step.scheduled:
            first_seen = 0 if window is None else max(s.num_computed_tokens - window + 1, 0)
            assert GIVEN_UP not in s.block_table[first_seen // 2 :], (
                "a block within the window is gone"
            )
        running = set(self.scheduler.running)
        compute(self.scheduler, step)
        self.trace.record(
            step,
            running - set(self.scheduler.running),
            self.scheduler.waiting,
            self.scheduler.running,
            self.scheduler.blocks,
        )

    @precondition(lambda self: self.requests)
    @rule(which=st.integers(0, 1000))
    def abort(self, which):
        self.scheduler.abort(self.requests[which % len(self.requests)].request_id)

    @invariant()
    def every_block_is_accounted_for(self):
        self.scheduler.check()

    def teardown(self):
        try:
            for _ in range(600):
                if not self.scheduler.has_work:
                    break
                self.step()
            assert not self.scheduler.has_work, "a request starves"
            assert self.scheduler.blocks.num_free_blocks == 9
        finally:
            note(self.trace.draw())  # hypothesis prints it for the shortest run that fails


TestMachine = Machine.TestCase
TestMachine.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


@pytest.mark.parametrize(
    ("make_config", "setting", "value"),
    [
        (SchedulerConfig, "max_num_seqs", 0),
        (SchedulerConfig, "max_model_len", 0),
        (SchedulerConfig, "patience", 0),
        (SchedulerConfig, "num_host_blocks", -1),
        (SchedulerConfig, "max_num_batched_tokens", 0),
        (SchedulerConfig, "max_num_seqs", 513),
        (EngineConfig, "num_blocks", 0),
        (EngineConfig, "block_size", -4),
        (EngineConfig, "watermark", 1.0),
        (EngineConfig, "watermark", float("nan")),
        (EngineConfig, "trace_steps", -1),
        (EngineConfig, "num_speculative_tokens", -1),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused_with_its_name(make_config, setting, value):
    with pytest.raises(ValueError, match=f"{setting} is {value!r}"):
        make_config(**{setting: value})

"""Steps that are scheduled while the one before is computed: what is said stays, and the overlap is
real.
"""

import threading

import pytest
import torch

from reference_impl.engine.engine import Engine, EngineConfig
from reference_impl.engine.scheduler import SchedulerConfig
from reference_impl.engine.speculative import NgramProposer
from reference_impl.generation.sampling_params import SamplingParams, Structure
from reference_impl.models.llama import Llama, LlamaConfig

PROMPTS = [[1, 2, 3, 4, 5, 6, 7], [9, 8, 7], [5] * 11, [1, 2, 3, 4, 5, 6, 8], [40, 41], [30]]
SAMPLED = SamplingParams(
    temperature=0.9, top_p=0.95, repetition_penalty=1.1, seed=5, max_tokens=14, n=2
)
PATIENCE = 60


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(1)
    model = Llama(
        LlamaConfig(
            vocab_size=97,
            hidden_size=32,
            num_layers=2,
            num_heads=4,
            num_kv_heads=2,
            intermediate_size=40,
            max_position_embeddings=64,
        )
    )
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.3)
    return model.eval()


def make(model, overlaps, proposer=None, num_blocks=64, **limits):
    limits = {"max_num_seqs": 4, "max_num_batched_tokens": 16, "max_model_len": 64, **limits}
    return Engine(
        model,
        EngineConfig(
            num_blocks,
            4,
            scheduler=SchedulerConfig(**limits),
            async_scheduling=overlaps,
            num_speculative_tokens=3 if proposer else 0,
        ),
        proposer=proposer,
    )


def said(engine, params, prompts=PROMPTS):
    each = engine.generate(prompts, params)
    engine.scheduler.check()
    assert engine.blocks.num_free_blocks == engine.blocks.num_blocks and not engine.sampling._draws
    return [[(c.ids, c.tokens, c.finish_reason) for c in completions] for completions in each]


def stops(model):
    """Tokens at which some of the greedy answers end early."""
    free = said(make(model, False), SamplingParams(temperature=0, max_tokens=14))
    return SamplingParams(
        temperature=0, max_tokens=14, stop_token_ids=tuple({free[0][0][0][3], free[2][0][0][6]})
    )


@pytest.mark.parametrize(
    ("params", "limits"),
    [
        (SAMPLED, {}),
        (SAMPLED, {"max_num_batched_tokens": 4}),
        ("stops", {}),
        ("stops", {"max_num_seqs": 1}),
        (SAMPLED, {"num_blocks": 14, "max_num_batched_tokens": 8}),
        (SAMPLED, {"num_blocks": 14, "max_num_batched_tokens": 8, "num_host_blocks": 8}),
        (
            SamplingParams(temperature=0, max_tokens=6, logprobs=2, prompt_logprobs=1),
            {"max_num_batched_tokens": 4},
        ),
        (SamplingParams(temperature=0, max_tokens=57), {"num_blocks": 16}),
    ],
    ids=[
        "together",
        "in chunks",
        "stops",
        "stops one by one",
        "preempted",
        "swapped",
        "prompts scored",
        "to the last place",
    ],
)
def test_tokens_are_those_without_overlap(model, params, limits):
    params = stops(model) if params == "stops" else params
    prompts = PROMPTS if params.max_tokens < 50 else PROMPTS[:2]
    overlapping, plain = make(model, True, **limits), make(model, False, **limits)
    assert said(overlapping, params, prompts) == said(plain, params, prompts)
    assert overlapping.num_overlapped_steps > 0 == plain.num_overlapped_steps
    if params.stop_token_ids:
        assert "stop" in {reason for [(_, _, reason)] in said(plain, params)}
    if limits.get("num_blocks") == 14:
        assert overlapping.num_preemptions > 0


def test_the_next_step_is_scheduled_while_the_model_computes(model, monkeypatch):
    """The model waits, from the second step on, until a step was scheduled since it began."""
    engine, scheduled, computed = make(model, True), threading.Semaphore(0), []
    schedule, hidden = engine.scheduler.schedule, model.hidden

    def announced():
        step = schedule()
        scheduled.release()
        return step

    def waiting(*arguments, **options):
        assert scheduled.acquire(timeout=PATIENCE), "nothing is scheduled while the model computes"
        computed.append(1)
        return hidden(*arguments, **options)

    monkeypatch.setattr(engine.scheduler, "schedule", announced)
    monkeypatch.setattr(model, "hidden", waiting)
    engine.add_request([1, 2, 3], SamplingParams(temperature=0, max_tokens=6))
    scheduled.acquire(blocking=False)
    engine._flight = engine._start(
        schedule()
    )  # the first step has none before it: the model waits for the second
    while engine.has_work:
        engine.step()
    assert len(computed) == 6 and engine.num_overlapped_steps == 5


def test_an_aborted_request_leaves_nothing_though_its_step_is_on_its_way(model):
    params = SamplingParams(temperature=0.9, seed=1, max_tokens=20)
    expected = said(make(model, False), params, PROMPTS[:1])[0][0][0]
    engine = make(model, True)
    for name, prompt in (("kept", PROMPTS[0]), ("gone", PROMPTS[2])):
        engine.add_request(prompt, params, name)
    outputs = [output for _ in range(4) for output in engine.step()]
    engine.abort("gone")
    engine.add_request(PROMPTS[1], params, "gone")  # the name is free at once
    engine.abort("gone")
    while engine.has_work:
        later = engine.step()
        assert {output.request_id for output in later} <= {"kept"}
        outputs += later
    assert [
        token.id for output in outputs if output.request_id == "kept" for token in output.tokens
    ] == expected
    engine.scheduler.check()
    assert engine.blocks.num_free_blocks == engine.blocks.num_blocks
    assert not (
        engine.sampling._draws or engine.sampling._generators or engine._left or engine._stopping
    )


def test_guesses_and_forms_are_not_overlapped(tiny):
    limits = SchedulerConfig(max_num_seqs=4, max_num_batched_tokens=16, max_model_len=64)

    def make_tiny(overlaps, proposer=None):
        return Engine(
            tiny.model,
            EngineConfig(
                64,
                4,
                scheduler=limits,
                async_scheduling=overlaps,
                num_speculative_tokens=2 if proposer else 0,
            ),
            tiny.tokenizer,
            tiny.eos_ids,
            proposer,
        )

    formed = SamplingParams(
        temperature=0, max_tokens=20, structure=Structure("choice", '["north", "south"]')
    )
    engine = make_tiny(True)
    assert said(engine, formed, ["Where?"]) == said(make_tiny(False), formed, ["Where?"])
    assert engine.num_overlapped_steps == 0
    free = SamplingParams(temperature=0, max_tokens=12, ignore_eos=True)
    drafting = make_tiny(True, NgramProposer())
    assert said(drafting, free, ["ababab"]) == said(make_tiny(False), free, ["ababab"])
    assert drafting.num_overlapped_steps == 0


def test_a_step_that_fails_is_heard_of(model, monkeypatch):
    engine = make(model, True)
    engine.add_request([1, 2], SamplingParams(temperature=0, max_tokens=6))
    monkeypatch.setattr(engine.runner, "compute", lambda prepared: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        engine.step()

"""What the engine says is what each request would get alone; the oracle is transformers'
generate.
"""

import json

import pytest
import torch
import transformers

from reference_impl.engine.engine import Engine, EngineConfig
from reference_impl.engine.sampling import Sampling
from reference_impl.engine.scheduler import SchedulerConfig
from reference_impl.engine.sequence import Sequence
from reference_impl.engine.speculative import Draft, DraftProposer, NgramProposer
from reference_impl.generation.sampling_params import SamplingParams
from reference_impl.models.gpt import GPT, GPTConfig
from reference_impl.models.llama import Llama, LlamaConfig
from reference_impl.weights.pretrained import load_hugging_face

PROMPTS = [[1, 2, 3, 4, 5, 6, 7], [9, 8, 7], [5] * 11, [1, 2, 3, 4, 5, 6, 8], [40, 41], [30]]
SIZES = {
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "hidden_size": 32,
    "intermediate_size": 40,
    "vocab_size": 97,
    "max_position_embeddings": 128,
}


def gpt2():
    theirs = transformers.GPT2LMHeadModel(
        transformers.GPT2Config(vocab_size=97, n_embd=32, n_layer=2, n_head=4, n_positions=128)
    )
    return theirs, GPT(
        GPTConfig(
            vocab_size=97, hidden_size=32, num_layers=2, num_heads=4, max_position_embeddings=128
        )
    )


def llama(**ours):
    config = {
        "vocab_size": 97,
        "hidden_size": 32,
        "num_layers": 2,
        "num_heads": 4,
        "num_kv_heads": 2,
        "intermediate_size": 40,
        "max_position_embeddings": 128,
        "rope_theta": 10_000.0,
        **ours,
    }
    return Llama(LlamaConfig(**config))


def pairs():
    rope = {"rope_type": "default", "rope_theta": 10_000.0}
    yield "gpt2", gpt2
    yield (
        "llama",
        lambda: (
            transformers.LlamaForCausalLM(
                transformers.LlamaConfig(**SIZES, rope_parameters=rope, tie_word_embeddings=False)
            ),
            llama(tie_word_embeddings=False),
        ),
    )
    yield (
        "mistral",
        lambda: (
            transformers.MistralForCausalLM(
                transformers.MistralConfig(
                    **SIZES, rope_parameters=rope, sliding_window=6, tie_word_embeddings=False
                )
            ),
            llama(tie_word_embeddings=False, sliding_window=6),
        ),
    )
    yield (
        "qwen3",
        lambda: (
            transformers.Qwen3ForCausalLM(
                transformers.Qwen3Config(
                    **SIZES, head_dim=8, rope_parameters=rope, tie_word_embeddings=True
                )
            ),
            llama(tie_word_embeddings=True, head_dim=8, qk_norm=True),
        ),
    )


def same_weights(theirs, ours, std=0.3):
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * std)
    load_hugging_face(ours, theirs.state_dict())
    return theirs.eval(), ours.eval()


@pytest.fixture(scope="module")
def model():
    ours = llama(tie_word_embeddings=False)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in ours.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.3)
    return ours.eval()


def make(
    model,
    num_blocks=64,
    block_size=4,
    proposer=None,
    num_speculative_tokens=0,
    prefix_caching=True,
    **limits,
):
    limits = {"max_num_seqs": 4, "max_num_batched_tokens": 16, "max_model_len": 64, **limits}
    return Engine(
        model,
        EngineConfig(
            num_blocks,
            block_size,
            prefix_caching,
            scheduler=SchedulerConfig(**limits),
            num_speculative_tokens=num_speculative_tokens,
        ),
        proposer=proposer,
    )


def said(engine, prompts, params):
    result = [[completion.ids for completion in each] for each in engine.generate(prompts, params)]
    engine.scheduler.check()
    assert engine.blocks.num_free_blocks == engine.blocks.num_blocks
    return result


@pytest.mark.parametrize(("name", "make_pair"), list(pairs()), ids=[name for name, _ in pairs()])
def test_greedy_tokens_are_those_of_transformers(name, make_pair):
    theirs, ours = same_weights(*make_pair())
    expected = [
        [
            theirs.generate(
                torch.tensor([prompt]),
                max_new_tokens=14,
                min_new_tokens=14,
                do_sample=False,
                pad_token_id=0,
                eos_token_id=None,
            )[0, len(prompt) :].tolist()
        ]
        for prompt in PROMPTS
    ]
    engine = make(ours, max_num_batched_tokens=5)
    assert said(engine, PROMPTS, SamplingParams(temperature=0, max_tokens=14)) == expected


def test_a_window_lets_a_small_cache_serve_a_text_that_is_longer_than_it():
    """60 tokens and 40 more need 25 blocks of 4; six are enough for a window of 6 and
    chunks of 8.
    """
    _, ours = same_weights(*dict(pairs())["mistral"]())
    prompts = [[(7 * i + j) % 97 for i in range(60)] for j in range(3)]
    params = SamplingParams(temperature=0, max_tokens=40)
    limits = {"max_model_len": 100, "max_num_batched_tokens": 8}
    roomy = said(make(ours, num_blocks=200, **limits), prompts, params)
    small = make(ours, num_blocks=6, **limits)
    assert said(small, prompts, params) == roomy
    with pytest.raises(ValueError, match="more blocks"):
        make(ours, num_blocks=5, **limits).add_request(prompts[0], params)


def test_a_block_of_another_request_is_not_read_behind_the_window():
    """What lies in blocks that were given up is no number any more; nothing of it reaches those who
    gave them up.
    """
    _, ours = same_weights(*dict(pairs())["mistral"]())
    params, prompt = SamplingParams(temperature=0, max_tokens=30), list(range(20))
    expected = said(make(ours), [prompt], params)[0][0]
    engine = make(ours, num_blocks=40, prefix_caching=False)
    engine.add_request(prompt, params)
    tokens = []
    while engine.has_work:
        held = {block for sequence in engine.scheduler.running for block in sequence.block_table}
        for block in set(range(40)) - held:
            engine.runner.cache.pool[:, :, block] = float("nan")
        tokens += [token.id for output in engine.step() for token in output.tokens]
    assert tokens == expected


def test_a_prompt_read_one_token_a_step_says_nothing_before_its_end(model):
    params = SamplingParams(temperature=0, max_tokens=5)
    expected = said(make(model), PROMPTS[:2], params)
    assert (
        said(make(model, max_num_batched_tokens=1, max_num_seqs=1), PROMPTS[:2], params) == expected
    )


SAMPLED = SamplingParams(
    temperature=0.9, top_p=0.95, repetition_penalty=1.1, seed=5, max_tokens=14, n=2
)


@pytest.fixture(scope="module")
def alone(model):
    """Each prompt served by an engine of its own, its prompt in one piece, blocks in plenty."""
    return [
        said(make(model, max_num_batched_tokens=64), [prompt], SAMPLED)[0] for prompt in PROMPTS
    ]


@pytest.mark.parametrize(
    "limits",
    [
        {},
        {"max_num_batched_tokens": 4},
        {"block_size": 1, "num_blocks": 200},
        {"block_size": 16},
        {"prefix_caching": False},
        {"num_blocks": 14, "max_num_batched_tokens": 8},
        {"num_blocks": 14, "max_num_batched_tokens": 8, "num_host_blocks": 8},
    ],
    ids=[
        "together",
        "in chunks",
        "blocks of one",
        "blocks of 16",
        "no prefix cache",
        "preempted",
        "swapped",
    ],
)
def test_what_is_sampled_does_not_depend_on_who_else_is_served(model, alone, limits):
    engine = make(model, **limits)
    assert said(engine, PROMPTS, SAMPLED) == alone
    preempted = sum(len(row["preempted"]) for row in engine.trace.rows)
    assert (preempted > 0) == (limits.get("num_blocks") == 14)
    swapped = {move[0] for row in engine.trace.rows for move in row["moves"]} & {"in", "out"}
    assert swapped == ({"in", "out"} if "num_host_blocks" in limits else set())


def test_a_shared_beginning_is_computed_once_and_changes_no_token(model):
    start = list(range(20, 36))
    prompts = [[*start, i] for i in range(4)]
    params = SamplingParams(temperature=0, max_tokens=5)
    results, computed = [], []
    for caching in (True, False):
        engine = make(model, prefix_caching=caching, max_num_seqs=1)
        results.append(said(engine, prompts, params))
        computed.append(sum(row["num_tokens"] for row in engine.trace.rows))
    assert results[0] == results[1]
    assert computed[1] - computed[0] == 3 * len(start)


def test_continuations_of_one_prompt_share_its_blocks(model):
    engine = make(model)
    engine.add_request(list(range(1, 9)), SamplingParams(n=4, seed=0, max_tokens=6), "a")
    engine.step()
    assert len(engine.scheduler.running) == 4 and engine.blocks.num_free_blocks == 64 - 2


@pytest.mark.parametrize("proposer", ["ngram", "same model", "smaller model"])
def test_greedy_tokens_are_the_same_with_guesses(model, proposer):
    torch.manual_seed(3)
    small = llama(num_layers=1, tie_word_embeddings=True)
    guesses = {
        "ngram": NgramProposer(),
        "same model": DraftProposer(model),
        "smaller model": DraftProposer(small),
    }
    params = SamplingParams(temperature=0, max_tokens=20)
    plain = said(make(model), PROMPTS, params)
    engine = make(model, proposer=guesses[proposer], num_speculative_tokens=3)
    assert said(engine, PROMPTS, params) == plain
    assert engine.num_drafted > 0
    if proposer == "same model":
        assert engine.num_accepted == engine.num_drafted
        assert engine.trace.num_steps < 20


def test_every_guess_of_the_model_itself_is_kept_when_it_samples(model):
    engine = make(model, proposer=DraftProposer(model), num_speculative_tokens=3)
    said(engine, PROMPTS, SAMPLED)
    assert engine.num_accepted == engine.num_drafted > 0


def test_log_probabilities_are_the_models_own_whatever_is_asked_of_the_choice(model):
    engine = make(model)
    [[one]] = engine.generate(
        [PROMPTS[0]], SamplingParams(temperature=0, max_tokens=3, logprobs=2, top_k=1)
    )
    with torch.no_grad():
        logits = model(torch.tensor([[*PROMPTS[0], *one.ids]]))[
            0, len(PROMPTS[0]) - 1 : -1
        ].log_softmax(-1)
    for token, row in zip(one.tokens, logits, strict=True):
        assert token.logprob == pytest.approx(float(row[token.id]), abs=1e-4)
        assert [id for id, _ in token.top] == row.topk(2).indices.tolist()


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float64, 1e-5), (torch.float16, 0.02), (torch.bfloat16, 0.15)]
)
def test_other_number_formats_give_nearly_the_same_log_probabilities(model, dtype, tolerance):
    other = llama(tie_word_embeddings=False)
    other.load_state_dict(model.state_dict())
    engine = make(other.to(dtype))
    assert engine.runner.cache.pool.dtype == dtype
    [[one]] = engine.generate([PROMPTS[0]], SamplingParams(temperature=0, max_tokens=8, logprobs=0))
    with torch.no_grad():
        exact = model(torch.tensor([[*PROMPTS[0], *one.ids]]))[
            0, len(PROMPTS[0]) - 1 : -1
        ].log_softmax(-1)
    assert [token.logprob for token in one.tokens] == pytest.approx(
        [float(row[id]) for row, id in zip(exact, one.ids, strict=True)], abs=tolerance
    )


def test_an_end_token_ends_and_ignoring_it_does_not(model):
    plain = said(make(model), [PROMPTS[1]], SamplingParams(temperature=0, max_tokens=10))[0][0]
    engine = Engine(model, make(model).config, eos_ids=[plain[4]])
    [[ended]] = engine.generate([PROMPTS[1]], SamplingParams(temperature=0, max_tokens=10))
    assert ended.ids == plain[: plain.index(plain[4]) + 1] and ended.finish_reason == "stop"
    [[whole]] = engine.generate(
        [PROMPTS[1]], SamplingParams(temperature=0, max_tokens=10, ignore_eos=True)
    )
    assert whole.ids == plain and whole.finish_reason == "length"


def test_an_aborted_request_gives_everything_back(model):
    engine = make(model, proposer=DraftProposer(model), num_speculative_tokens=2)
    for name in ("a", "b", "c", "d", "e"):
        engine.add_request(PROMPTS[0], SamplingParams(n=2, max_tokens=10), name)
    for _ in range(3):
        engine.step()
    for name in ("a", "c", "e", "e", "never there"):
        engine.abort(name)
    while engine.has_work:
        engine.step()
    engine.scheduler.check()
    assert engine.blocks.num_free_blocks == 64
    assert not engine._stopping and not engine.sampling._generators and not engine.proposer._caches
    assert not engine._left, "the names can be used again"


def test_a_draft_that_ends_in_no_numbers_draws_nothing_from_another_requests_chance(model):
    """One seeded request beside one whose verified rows are NaN: its token is the one it
    has alone.
    """
    seeded = Sequence("seeded", [1], SamplingParams(seed=3))
    drafted = Sequence("drafted", [1], SamplingParams(seed=4))
    logits = torch.randn(1, 97, generator=torch.Generator().manual_seed(0))
    broken = torch.full((2, 97), float("nan"))
    alone = Sampling().choose(logits, [(seeded, range(0, 1))], {})
    beside = Sampling().choose(
        torch.cat([logits, broken]),
        [(seeded, range(0, 1)), (drafted, range(1, 3))],
        {drafted: Draft([5])},
    )
    assert beside == [alone[0], []]


def test_a_request_whose_logits_are_no_numbers_ends_alone(model, monkeypatch):
    """Only the broken request's rows are NaN, as after an overflow in half precision."""
    alone = said(make(model), [PROMPTS[1]], SamplingParams(temperature=0, max_tokens=4))
    engine = make(model)
    engine.add_request(PROMPTS[0], SamplingParams(temperature=0, max_tokens=4), "broken")
    engine.add_request(PROMPTS[1], SamplingParams(temperature=0, max_tokens=4), "whole")
    compute = engine.runner.compute

    def overflown(prepared):
        logits = compute(prepared).clone()
        for item, span in zip(prepared.step.scheduled, prepared.spans, strict=True):
            if item.sequence.request_id == "broken":
                logits[list(span)] = float("nan")
        return logits

    monkeypatch.setattr(engine.runner, "compute", overflown)
    outputs = []
    while engine.has_work:
        outputs += engine.step()
    assert [o.finish_reason for o in outputs if o.request_id == "broken"] == ["error"]
    assert [t.id for o in outputs if o.request_id == "whole" for t in o.tokens] == alone[0][0]
    engine.scheduler.check()


@pytest.mark.parametrize(
    ("prompt", "params", "words"),
    [
        ([], {}, "no token"),
        ([97], {}, "id 97, but the vocabulary has 97"),
        ([-1], {}, "id -1"),
        ([1] * 60, {"max_tokens": 5}, "65 together, but this model is served with 64"),
        ([1], {"logit_bias": {200: 1.0}}, "logit_bias has id 200"),
        ([1], {"allowed_token_ids": (3, 97)}, "allowed_token_ids has id 97"),
        ([1], {"stop_token_ids": (97,), "min_tokens": 2}, "stop_token_ids has id 97"),
        ([1], {"stop": ("x",)}, "give a tokenizer"),
        ("text", {}, "no tokenizer"),
    ],
)
def test_what_cannot_be_served_is_refused_and_nothing_is_queued(model, prompt, params, words):
    engine = make(model)
    with pytest.raises(ValueError, match=words):
        engine.add_request(prompt, SamplingParams(**params))
    assert not engine.has_work


def test_a_name_that_is_being_served_is_refused_until_all_its_continuations_are_done(model):
    engine = make(model)
    engine.add_request([1, 2], SamplingParams(n=2, max_tokens=2), "a")
    engine.step()
    with pytest.raises(ValueError, match="'a' is being served"):
        engine.add_request([1, 2], SamplingParams(), "a")
    while engine.has_work:
        engine.step()
    assert engine.add_request([1, 2], SamplingParams(), "a") == "a"


def test_a_model_with_fewer_positions_is_refused(model):
    with pytest.raises(ValueError, match="max_model_len is 500, but the model has 128"):
        make(model, max_model_len=500)


def test_the_trace_is_plain_data_and_draws_one_line_a_sequence(model):
    engine = make(
        model, num_blocks=6, max_num_batched_tokens=4, max_model_len=24, prefix_caching=False
    )
    engine.add_request([1] * 6, SamplingParams(temperature=0, max_tokens=4), "a")
    engine.add_request([2] * 6, SamplingParams(temperature=0, max_tokens=4), "b")
    while engine.has_work:
        engine.step()
    rows = engine.trace.rows
    assert rows == json.loads(json.dumps(rows))
    assert [row["num_tokens"] for row in rows][:2] == [4, 4]
    assert [(row["held_slots"], row["wasted_slots"]) for row in rows] == [
        (4, 0),
        (12, 4),
        (16, 4),
        (16, 2),
        (8, 1),
        (8, 0),
        (0, 0),
    ]
    assert engine.trace.draw().splitlines() == [
        "step  0",
        "      0123456",
        "a/0   PPdd.",
        "b/0   -PPddd.",
    ]

"""Padded decoding steps give what plain ones give, write nowhere else, and never ask the device for
a number.

Recording and replay need a GPU; here `decode`, which is what they record and replay, is called in
their place.
"""

import pytest
import torch
import transformers
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from reference_impl.engine import paged_cache
from reference_impl.engine.cuda_graphs import CudaGraphs, DecodeBuffers, batch_sizes, decode
from reference_impl.engine.engine import Engine, EngineConfig
from reference_impl.engine.paged_cache import Layout, PagedCache
from reference_impl.engine.scheduler import SchedulerConfig
from reference_impl.engine.speculative import NgramProposer
from reference_impl.generation.sampling_params import SamplingParams
from reference_impl.models.gpt import GPT, GPTConfig
from reference_impl.models.llama import Llama, LlamaConfig
from reference_impl.weights.pretrained import hugging_face_state

SIZES = {
    "vocab_size": 97,
    "hidden_size": 32,
    "num_layers": 2,
    "num_heads": 4,
    "max_position_embeddings": 128,
}
MODELS = {
    "gpt2": lambda: GPT(GPTConfig(**SIZES)),
    "mistral": lambda: Llama(
        LlamaConfig(**SIZES, num_kv_heads=2, intermediate_size=40, sliding_window=6)
    ),
    "llama 3.1": lambda: Llama(
        LlamaConfig(
            **SIZES,
            num_kv_heads=2,
            intermediate_size=40,
            rope_interpolation=8.0,
            rope_bands=(1.0, 4.0, 64),
        )
    ),
    "qwen3": lambda: Llama(
        LlamaConfig(**SIZES, num_kv_heads=2, intermediate_size=40, head_dim=8, qk_norm=True)
    ),
}
# Prompts with the tokens that follow them: first one decodes, then more, up to all six, then fewer.
REQUESTS = [
    ([1, 2, 3, 4, 5, 6, 7], 22),
    ([9, 8, 7], 12),
    ([5] * 11, 9),
    ([1, 2, 3, 4], 15),
    ([40, 41], 16),
    ([30], 4),
]


def make_model(name):
    torch.manual_seed(0)
    model = MODELS[name]().double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.3)
    return model


class Eager(CudaGraphs):
    """Without a recording: the replay computes."""

    def capture(self, size):
        self.replayed = []

    def replay(self, size):
        self.replayed.append(size)
        return decode(self.model, self.cache, self.buffers.first(size))


def make_engine(model, eager, proposer=None, **config):
    limits = SchedulerConfig(max_num_seqs=6, max_num_batched_tokens=8, max_model_len=64)
    engine = Engine(
        model,
        EngineConfig(
            64, 4, scheduler=limits, num_speculative_tokens=3 if proposer else 0, **config
        ),
        proposer=proposer,
    )
    if eager:
        runner = engine.runner
        runner.graphs = Eager(model, runner.cache, 6, 64 // 4)
    return engine


def served(engine):
    """Every step's (ids that the model has read of a sequence, logits after the last), and the
    tokens said.
    """
    for prompt, count in REQUESTS:
        engine.add_request(prompt, SamplingParams(temperature=0, max_tokens=count, ignore_eos=True))
    compute, seen, said, widths = engine.runner.compute, [], {}, []

    def watched(prepared):
        logits, step = compute(prepared), prepared.step
        widths.append((len(step.scheduled), step.num_tokens))
        seen.extend(
            (list(item.sequence.ids), logits[list(span)])
            for item, span in zip(step.scheduled, prepared.spans, strict=True)
            if span
        )
        return logits

    engine.runner.compute = watched
    while engine.has_work:
        for output in engine.step():
            said.setdefault(output.request_id, []).extend(token.id for token in output.tokens)
    return seen, said, widths


@pytest.mark.parametrize("name", MODELS)
def test_padded_steps_give_the_logits_of_plain_ones(name):
    model = make_model(name)
    engine = make_engine(model, eager=True)
    plain, padded = served(make_engine(model, eager=False)), served(engine)
    assert [ids for ids, _ in padded[0]] == [ids for ids, _ in plain[0]] and padded[1] == plain[1]
    for (_, ours), (_, expected) in zip(padded[0], plain[0], strict=True):
        torch.testing.assert_close(ours, expected, rtol=0, atol=1e-10)
    decoding = [count for count, num_tokens in padded[2] if count == num_tokens]
    assert engine.runner.graphs.replayed == [
        min(s for s in (1, 2, 4, 6) if s >= count) for count in decoding
    ]
    assert {1, 3, 5} <= set(decoding) and len(decoding) < len(
        padded[2]
    )  # both padded and mixed steps were there


def test_padded_steps_give_the_logits_of_transformers():
    model = make_model("qwen3")
    config = transformers.Qwen3Config(
        vocab_size=97,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        intermediate_size=40,
        max_position_embeddings=128,
        rope_parameters={"rope_type": "default", "rope_theta": 1e4},
        tie_word_embeddings=False,
    )
    theirs = transformers.Qwen3ForCausalLM(config).double().eval()
    theirs.load_state_dict(hugging_face_state(model))
    engine = make_engine(model, eager=True)
    seen, _, _ = served(engine)
    assert len(engine.runner.graphs.replayed) > 10
    with torch.inference_mode():
        for ids, logits in seen[::5]:  # theirs computes rotary angles in float32
            torch.testing.assert_close(
                logits[-1], theirs(torch.tensor([ids])).logits[0, -1], rtol=1e-5, atol=1e-5
            )


def test_a_step_with_drafts_is_not_padded():
    engine = make_engine(make_model("gpt2"), eager=True, proposer=NgramProposer())
    _, said, widths = served(engine)
    assert (
        len(engine.runner.graphs.replayed)
        == sum(count == num_tokens for count, num_tokens in widths)
        < len(widths)
    )
    assert engine.num_drafted and [len(ids) for ids in said.values()] == [
        count for _, count in REQUESTS
    ]


def test_a_mixed_step_knows_how_long_its_longest_piece_of_a_prompt_is(monkeypatch):
    plain, longest = paged_cache.paged_prefill, []

    def watched(q, k_cache, v_cache, tables, starts, *rest, max_seqlen_q):
        longest.append((max_seqlen_q, int(starts.diff().max())))  # the kernel's grid, on a GPU
        return plain(q, k_cache, v_cache, tables, starts, *rest, max_seqlen_q=max_seqlen_q)

    monkeypatch.setattr(paged_cache, "paged_prefill", watched)
    engine = make_engine(make_model("gpt2"), eager=True)
    for prompt in ([1, 2, 3], [4, 5, 6, 7, 8], [9] * 20):
        engine.add_request(prompt, SamplingParams(temperature=0, max_tokens=2))
    while engine.has_work:
        engine.step()
    assert len({known for known, _ in longest}) > 1 and all(
        known == counted for known, counted in longest
    )


def test_padding_writes_and_reads_nothing_whatever_the_buffers_held():
    model = make_model("qwen3")
    caches = [PagedCache(2, 8, 4, 2, 8, torch.float64) for _ in range(2)]
    noise = torch.randn(caches[0].pool.shape, dtype=torch.float64)
    for cache in caches:
        cache.pool.copy_(noise)
    caches[1].pool[:, :, 6:] = torch.nan  # blocks that only the last step's rows had
    buffers = DecodeBuffers(
        *(torch.full((6,), value) for value in (3, 9, 26)),
        torch.full((6, 5), 6, dtype=torch.int32),
        torch.full((6,), 20, dtype=torch.int32),
    )
    layout = Layout(
        torch.tensor([2, 9, 16]),
        torch.tensor([[0, -1], [1, 2], [3, 4]], dtype=torch.int32),
        torch.tensor([3, 6, 5], dtype=torch.int32),
        3,
    )
    ids, positions = torch.tensor([5, 6, 7]), torch.tensor([2, 5, 4])
    with torch.inference_mode():
        expected = model.hidden(
            ids[None], positions=positions[None], cache=caches[0].layers(layout)
        )[0]
        buffers.first(4).fill(ids, positions, layout)
        found = decode(model, caches[1], buffers.first(4))
    torch.testing.assert_close(found[:3], expected, rtol=0, atol=1e-12)
    assert torch.isfinite(found).all()
    torch.testing.assert_close(
        caches[1].pool[:, :, :6], caches[0].pool[:, :, :6], rtol=0, atol=1e-12
    )
    changed = (
        (caches[0].pool != noise).flatten(4).any(-1).any(0).any(0).flatten().nonzero().flatten()
    )
    assert changed.tolist() == [2, 9, 16] and caches[1].pool[:, :, 6:].isnan().all()
    # A smaller batch's rows are the first of the larger one's; the rest is left.
    assert buffers.ids.tolist() == [5, 6, 7, 0, 3, 3] and buffers.slot_mapping.tolist() == [
        2,
        9,
        16,
        -1,
        26,
        26,
    ]
    assert buffers.positions.tolist() == [2, 5, 4, 0, 9, 9] and buffers.context_lens.tolist() == [
        3,
        6,
        5,
        0,
        20,
        20,
    ]


@pytest.mark.parametrize(
    ("most", "expected"),
    [
        (1, [1]),
        (2, [1, 2]),
        (6, [1, 2, 4, 6]),
        (8, [1, 2, 4, 8]),
        (20, [1, 2, 4, 8, 16, 20]),
        (24, [1, 2, 4, 8, 16, 24]),
    ],
)
def test_there_is_a_size_for_every_batch(most, expected):
    assert batch_sizes(most) == expected


class OnlyOnDevice(TorchDispatchMode):
    """Refuses an operation that makes a tensor elsewhere: it would have to be copied, which a
    recording can't hold.
    """

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        assert all(
            leaf.device.type == "meta"
            for leaf in tree_leaves(out)
            if isinstance(leaf, torch.Tensor)
        ), func
        return out


@pytest.mark.parametrize("name", MODELS)
def test_a_decoding_step_looks_at_no_number_on_the_device(name, monkeypatch):
    # A tensor of the meta device has no numbers: asking for one is an error.
    monkeypatch.setattr(paged_cache, "paged_attention", lambda q, *rest: torch.empty_like(q))
    monkeypatch.setattr(paged_cache, "store_kv", lambda *arguments: None)
    model = make_model(name).to("meta")
    cache = PagedCache(2, 8, 4, getattr(model.config, "num_kv_heads", 4), 8, torch.float64, "meta")
    with torch.inference_mode(), OnlyOnDevice():
        hidden = decode(model, cache, DecodeBuffers.padding(4, 5, torch.device("meta")))
    assert hidden.shape == (4, 32) and hidden.device.type == "meta"


def test_on_a_cpu_graphs_are_refused_in_plain_words():
    with pytest.raises(
        ValueError, match="cuda_graphs=True, but the model is on cpu: move the model to a GPU"
    ):
        make_engine(make_model("gpt2"), eager=False, cuda_graphs=True)


@pytest.mark.skipif(
    not torch.cuda.is_available(), reason="recording and replay are the GPU's: there is none here"
)
def test_on_a_gpu_recorded_steps_say_what_plain_ones_say():
    model = Llama(
        LlamaConfig(
            **{**SIZES, "hidden_size": 64, "num_heads": 2}, num_kv_heads=1, intermediate_size=40
        )
    )
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.3)
    model = model.cuda()
    plain, recorded = (
        served(make_engine(model, eager=False, cuda_graphs=graphs)) for graphs in (False, True)
    )
    for (ids, ours), (expected_ids, expected) in zip(recorded[0], plain[0], strict=True):
        assert ids == expected_ids
        torch.testing.assert_close(ours, expected, rtol=1e-4, atol=1e-4)

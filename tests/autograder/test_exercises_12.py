"""What is particular to chapter 12's exercises: cards, libraries as rivals, the real thing."""

import re

import pytest
import torch
from torch.nn.functional import linear, scaled_dot_product_attention, silu
from torch.testing import assert_close
from transformers import DynamicCache, LlamaConfig, LlamaForCausalLM, MixtralConfig
from transformers.models.llama.modeling_llama import LlamaMLP, LlamaRMSNorm
from transformers.models.mixtral.modeling_mixtral import MixtralSparseMoeBlock

from autograder.authoring.catalogue import assignment
from autograder.authoring.implementations import reference
from autograder.checks.protocol import LocalStudent, run_exercise
from reference_impl import corpora
from reference_impl.corpora.small_models import small_model
from reference_impl.generation.loop import generate
from reference_impl.generation.sampling_params import SamplingParams
from reference_impl.layers import rotary
from reference_impl.layers.latent_attention import LatentAttention, LatentConfig
from reference_impl.measure.cache_bytes import bytes_per_token
from reference_impl.models.llama import Llama
from reference_impl.models.llama import LlamaConfig as OurConfig
from reference_impl.weights.pretrained import load_hugging_face

TWELVE = assignment("12")
OURS = reference("12")
SIZES = {
    "vocab_size": 40,
    "hidden_size": 12,
    "intermediate_size": 20,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 6,
}


def theirs(tied: bool = False) -> LlamaForCausalLM:
    """A tiny LLaMA of the library, with weights large enough to have an opinion."""
    torch.manual_seed(3)
    model = LlamaForCausalLM(LlamaConfig(**SIZES, tie_word_embeddings=tied)).eval()
    with torch.no_grad():
        for one in model.parameters():
            one.normal_(std=0.5)
    return model


def test_the_assignment_is_worth_sixty_points_and_takes_less_than_four_hours():
    assert TWELVE.points == 60
    minutes = [
        int(re.search(r"\*\*Time\*\* (\d+) minutes", cell.source)[1])
        for name, cells in TWELVE.cells.items()
        if name.endswith("-card")
        for cell in cells[:1]
    ]
    assert len(minutes) == 12 and sum(minutes) == 212


def test_the_numbers_worked_out_on_the_cards_are_what_the_reference_gives():
    x = torch.tensor([1.0, 7.0, 1.0, 7.0])
    assert_close(
        OURS["rms_norm"](x, torch.tensor([1.0, 1.0, 2.0, 0.0]), 1e-12),
        torch.tensor([0.2, 1.4, 0.4, 0.0]),
    )
    assert_close(OURS["rms_norm"](x, torch.ones(4), 11.0)[0], torch.tensor(1 / 6))
    gate, up, down = (
        torch.tensor(rows)
        for rows in ([[1.0, 1.0], [0.0, -1.0]], [[2.0, 0.0], [0.0, 2.0]], [[1.0, 0.0], [1.0, 1.0]])
    )
    token = torch.tensor([1.0, 2.0])
    assert [f"{one:.3f}" for one in silu(gate @ token).tolist()] == ["2.858", "-0.238"]
    assert [f"{one:.3f}" for one in (silu(gate @ token) * (up @ token)).tolist()] == [
        "5.715",
        "-0.954",
    ]
    assert [f"{one:.3f}" for one in OURS["swiglu"](token, gate, up, down).tolist()] == [
        "5.715",
        "4.762",
    ]
    assert OURS["predict_llama"](10, 4, 2, 2, 1, 3, 5, False) == {
        "embedding": 40,
        "attention": 144,
        "feed_forward": 120,
        "norms": 20,
        "output": 40,
        "total": 364,
    }
    assert OURS["predict_llama"](10, 4, 2, 2, 1, 3, 5, True)["total"] == 324
    said = torch.tensor([[2.0, -1.0, -3.0], [-1.0, -2.0, 0.0]])
    assert (
        f"{OURS['dead_units'](said, 0.0):.3f}" == "0.667" and OURS["dead_units"](said, 0.01) == 0.0
    )
    values = torch.tensor([[3.0, 6.0, 9.0], [30.0, 60.0, 90.0]])[None, :, :, None]
    found = OURS["grouped_attention"](torch.zeros(1, 4, 2, 1), torch.zeros(1, 2, 3, 1), values)
    assert_close(
        found[0, :, :, 0], torch.tensor([[4.5, 6.0], [4.5, 6.0], [45.0, 60.0], [45.0, 60.0]])
    )
    assert OURS["predict_cache"](2, 4, 1, 8, 16, 1000, 1) == {
        "token": 64,
        "text": 64_000,
        "texts": 16_777,
    }
    assert OURS["to_halves"](torch.arange(6.0), 1).tolist() == [0, 2, 4, 1, 3, 5]
    assert OURS["to_halves"](torch.arange(8.0), 2).tolist() == [0, 2, 1, 3, 4, 6, 5, 7]
    cache = OURS["KVCache"](1, 1, 4, 1)

    def put(*numbers):
        one = torch.tensor(numbers, dtype=torch.float32).view(1, 1, -1, 1)
        return cache.append(one, -one)[0].flatten().tolist()

    assert put(5, 6) == [5, 6] and put(7) == [5, 6, 7]
    cache.truncate(1)
    assert put(8) == [5, 8] and cache.length == 2
    with pytest.raises(ValueError, match="room"):
        put(9, 10, 11)
    assert cache.length == 2


def test_the_short_answers_numbers_hold():
    found = OURS["predict_cache"](80, 64, 8, 128, 16, 4096, 50)
    assert found == {"token": 327_680, "text": 1.25 * 2**30, "texts": 40}
    assert [
        OURS["predict_cache"](*sizes)["texts"]
        for sizes in (
            (80, 64, 8, 128, 8, 4096, 50),
            (80, 64, 8, 128, 16, 1024, 50),
            (80, 64, 4, 128, 16, 4096, 50),
            (80, 64, 8, 128, 16, 4096, 100),
            (80, 64, 64, 128, 16, 4096, 50),
            (80, 64, 8, 128, 16, 608, 50),
        )
    ] == [80, 160, 80, 80, 5, 269]


def test_the_norm_and_the_gate_are_transformers_and_torchs():
    torch.manual_seed(1)
    for dtype, close in (
        (torch.float32, {"rtol": 1e-5, "atol": 1e-6}),
        (torch.float16, {"rtol": 1e-2, "atol": 1e-3}),
    ):
        norm = LlamaRMSNorm(30, eps=1e-5).to(dtype)
        norm.weight.data.normal_()
        for size in (1, 0.001, 300):
            x = (size * torch.randn(2, 5, 30)).to(dtype)
            assert_close(OURS["rms_norm"](x, norm.weight, 1e-5), norm(x), **close)
            if dtype == torch.float32:
                assert_close(
                    OURS["rms_norm"](x, norm.weight, 1e-5),
                    torch.nn.functional.rms_norm(x, (30,), norm.weight, 1e-5),
                    **close,
                )
    layer = LlamaMLP(LlamaConfig(**SIZES))
    x = torch.randn(2, 5, 12)
    assert_close(
        OURS["swiglu"](x, layer.gate_proj.weight, layer.up_proj.weight, layer.down_proj.weight),
        layer(x),
    )
    assert_close(
        OURS["swiglu"](x, torch.zeros(3, 12), torch.randn(3, 12), torch.randn(12, 3)),
        torch.zeros(2, 5, 12),
    )


def test_the_parameters_are_those_of_the_librarys_model_and_of_published_ones():
    for tied in (False, True):
        assert OURS["predict_llama"](40, 12, 3, 4, 2, 6, 20, tied)["total"] == sum(
            one.numel() for one in theirs(tied).parameters()
        )
    for sizes, total in (
        ((32000, 4096, 32, 32, 32, 128, 11008, False), 6_738_415_616),
        ((32000, 8192, 80, 64, 64, 128, 22016, False), 65_285_660_672),
        ((32000, 8192, 80, 64, 8, 128, 28672, False), 68_976_648_192),
        ((49152, 576, 30, 9, 3, 64, 1536, True), 134_515_008),
    ):
        assert OURS["predict_llama"](*sizes)["total"] == total


def test_groups_attend_as_torchs_fused_operator_does():
    torch.manual_seed(2)
    for H, K, T, S in ((4, 2, 3, 3), (6, 3, 1, 5), (9, 3, 4, 9), (4, 4, 2, 3), (5, 1, 1, 1)):
        q, k, v = torch.randn(2, H, T, 8), torch.randn(2, K, S, 8), torch.randn(2, K, S, 8)
        seen = torch.ones(T, S, dtype=torch.bool).tril(S - T)
        assert_close(
            OURS["grouped_attention"](q, k, v),
            scaled_dot_product_attention(q, k, v, seen, enable_gqa=True),
        )


def test_a_dead_unit_is_one_that_autograd_leaves_alone():
    torch.manual_seed(4)
    x, layer = torch.randn(50, 8), torch.nn.Linear(8, 64)
    layer.bias.data -= 1.5
    pre = linear(x, layer.weight, layer.bias)
    for slope, activation in ((0.0, torch.relu), (0.01, torch.nn.functional.leaky_relu)):
        layer.zero_grad()
        activation(layer(x)).sum().backward()
        dead = (layer.weight.grad == 0).all(1) & (layer.bias.grad == 0)
        assert OURS["dead_units"](pre.detach(), slope) == pytest.approx(dead.float().mean().item())
        assert dead.any() == (slope == 0)


def test_the_cache_is_the_librarys_and_the_courses_bytes():
    torch.manual_seed(5)
    own, kept = OURS["KVCache"](2, 3, 9, 4), DynamicCache()
    for T in (4, 1, 2):
        k, v = torch.randn(2, 2, 3, T, 4)
        for one, other in zip(own.append(k, v), kept.update(k, v, 0), strict=True):
            assert torch.equal(one, other)
    kept.crop(3 - kept.get_seq_length())  # a negative number: so many are removed
    own.truncate(3)
    k, v = torch.randn(2, 2, 3, 2, 4)
    for one, other in zip(own.append(k, v), kept.update(k, v, 0), strict=True):
        assert torch.equal(one, other)
    assert own.length == kept.get_seq_length()
    for bits, dtype in ((8, torch.int8), (16, torch.float16), (32, torch.float32)):
        assert OURS["predict_cache"](30, 9, 3, 64, bits, 7, 1)["token"] == bytes_per_token(
            30, 3, 64, dtype
        )


def test_rows_are_moved_as_the_course_moves_them():
    torch.manual_seed(6)
    for w, H in ((torch.randn(24, 5), 3), (torch.randn(24), 2), (torch.randn(2, 3), 1)):
        assert torch.equal(OURS["to_halves"](w, H), rotary.to_halves(w, H))


def test_the_loop_writes_what_the_library_writes():
    model, prompt = theirs(), [3, 17, 8, 29]
    cache = DynamicCache()

    @torch.no_grad()
    def step(ids, start):
        assert start == cache.get_seq_length()
        return model(torch.tensor([ids]), past_key_values=cache, use_cache=True).logits[0]

    found = OURS["cached_generate"](step, prompt, 12)
    whole = model.generate(
        torch.tensor([prompt]),
        max_new_tokens=12,
        do_sample=False,
        eos_token_id=None,
        pad_token_id=0,
    )[0, 4:].tolist()
    assert found == whole and cache.get_seq_length() == 15


def test_the_code_in_the_third_hints_runs_and_solves_its_own_problem():
    names: dict = {"torch": torch}
    for id in TWELVE.exercises:
        for code in re.findall(r"```python\n(.*?)```", TWELVE.hints(id)[2].text, re.DOTALL):
            exec(code, names)
    assert names["by_largest"](torch.tensor([[1.0, -4.0]])).tolist() == [[0.25, -1.0]]
    assert names["stepped"](
        torch.tensor([2.0]), torch.tensor([[1.0], [-1.0]]), torch.ones(2, 1), torch.ones(1, 2)
    ).tolist() == [2.0]
    assert names["openings"](3, 2, 2, 4, False)["total"] == 31
    assert names["poor_shops"]([[3, 9], [5, 1]]) == 0.5
    assert names["tastes"](
        torch.ones(6, 2), torch.tensor([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])
    ).tolist() == [2, 2, 4, 4, 6, 6]
    assert names["films"](128_000, 90, 1) == {"film": 172_800_000, "films": 5787}
    assert names["nights_first"]([1, 10, 2, 20, 3, 30, 4, 40], 2) == [1, 2, 10, 20, 3, 4, 30, 40]
    assert names["receipts"](lambda portion, before: before + sum(portion), [2, 5], 3) == [7, 9, 12]
    shelf = names["Shelf"](2)
    assert shelf.put(1, 2) == [1, 2]
    shelf.clear_behind(1)
    with pytest.raises(ValueError, match="no room"):
        shelf.put(3, 4)


def through(name: str, function) -> float:
    """What an answer earns in which `function` does the work."""
    exercise = TWELVE.exercise(name)
    result = run_exercise(
        exercise, LocalStudent({**OURS, exercise.function: function}), mistakes=[]
    )
    assert any("withheld here" in f"{stage.cause} {stage.detail}" for stage in result.stages)
    return result.earned


def test_the_courses_answers_are_refused_in_words():
    from reference_impl.generation.cache import PreallocatedCache
    from reference_impl.layers import attention, norms

    assert through("rms_norm", norms.rms_norm) == 0
    assert (
        through("rms_norm", lambda x, w, eps: torch.nn.functional.rms_norm(x, w.shape, w, eps)) == 0
    )
    assert (
        through("grouped_attention", lambda q, k, v: attention.attention(q, k, v, causal=True)) == 0
    )
    assert (
        through(
            "grouped_attention",
            lambda q, k, v: scaled_dot_product_attention(q, k, v, enable_gqa=True),
        )
        == 0
    )
    assert through("to_halves", rotary.to_halves) == 0
    assert through("KVCache", lambda B, K, room, D: PreallocatedCache(room)) == 0


def real_names() -> dict:
    """The notebook's last part, with right answers in the place of the student's."""
    names = dict(OURS)
    for cell in ("real-llama", "real-work"):
        exec(TWELVE.cells[cell][0].source, names)
    return names


def pairs_of(model) -> object:
    """The rows of a model's queries and keys as a file for pairs has them: what
    `to_halves` undoes.
    """

    def pairs(layer, name):
        attention = model.blocks[layer].attention
        weight = {"q": attention.query, "k": attention.key}[name].weight
        heads = {"q": model.config.num_heads, "k": model.config.num_kv_heads}[name]
        return (
            weight.detach()
            .reshape(heads, 2, -1, weight.shape[1])
            .transpose(1, 2)
            .reshape(weight.shape)
        )

    return pairs


def test_a_library_model_speaks_through_the_students_functions_token_for_token():
    library, names = theirs(), real_names()
    model = Llama(
        OurConfig(
            vocab_size=40,
            hidden_size=12,
            intermediate_size=20,
            num_layers=3,
            num_heads=4,
            num_kv_heads=2,
            head_dim=6,
        )
    ).eval()
    load_hugging_face(model, dict(library.state_dict()))
    prompt = [5, 30, 2]
    step = names["speaker"](model, pairs_of(model), names["yours"](), 20)
    logits = step(prompt, 0)
    with torch.no_grad():
        assert_close(logits, library(torch.tensor([prompt])).logits[0, -1:], rtol=1e-4, atol=1e-4)
    right = library.generate(
        torch.tensor([prompt]),
        max_new_tokens=10,
        do_sample=False,
        eos_token_id=None,
        pad_token_id=0,
    )[0, 3:].tolist()
    assert (
        names["cached_generate"](
            names["speaker"](model, pairs_of(model), names["yours"](), 20), prompt, 10
        )
        == right
    )
    assert names["without_a_cache"](model, pairs_of(model), prompt, 10) == (
        right,
        sum(range(3, 13)),
    )
    for name, change in names["wrong_versions"]().items():
        parts = names["yours"]() | change
        said = parts["write"](names["speaker"](model, pairs_of(model), parts, 600), prompt, 10)
        assert said != right, name


def test_the_bibles_llama_speaks_through_them_too_and_goes_on_after_something_was_taken_back():
    small, names = small_model("llama_kjv"), real_names()
    prompt = list(small.tokenizer.encode("And the king said unto "))
    step = names["speaker"](small.model, pairs_of(small.model), names["yours"](), 80)
    said = names["cached_generate"](step, prompt, 24)
    right = list(
        generate(small.model, [prompt], SamplingParams(temperature=0.0, max_tokens=24))[0].ids
    )
    assert said == right
    for cache in step.kept:
        cache.truncate(len(prompt) + 5)
    again = names["cached_generate"](
        lambda ids, start: step(ids, start + len(prompt) + 5), said[5:6], 10
    )
    assert again == right[6:16]


def test_smollm2_says_through_them_what_it_says():
    try:
        corpora.path("smollm2")
    except corpora.CorpusError:
        pytest.skip("SmolLM2 is not here")
    names = real_names()
    model, tokenizer, file = names["opened"]()
    prompt = list(tokenizer.encode("We sat on the bank of the").ids)
    step = names["speaker"](
        model,
        lambda layer, name: file.tensor(f"blk.{layer}.attn_{name}.weight"),
        names["yours"](),
        32,
    )
    said = names["cached_generate"](step, prompt, 8)
    assert tokenizer.decode(said).startswith(" river, surrounded by the ancient ruins")


def test_the_mixture_is_mixtrals_and_the_card_is_right():
    torch.manual_seed(0)
    block = MixtralSparseMoeBlock(
        MixtralConfig(hidden_size=6, intermediate_size=5, num_local_experts=4)
    )
    for parameter in block.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    x, (gate, up) = torch.randn(9, 6), block.experts.gate_up_proj.chunk(2, dim=1)
    with torch.no_grad():
        ours = OURS["moe_layer"](x, block.gate.weight, gate, up, block.experts.down_proj, 2)
        assert_close(ours, block(x[None])[0], rtol=1e-4, atol=1e-5)
    router = torch.tensor([[1.0], [6.0], [3.0]]).log()
    gate, up = torch.ones(3, 1, 1), torch.ones(3, 1, 1)
    down = torch.tensor([77.0, 3.0, 9.0]).view(3, 1, 1) / silu(torch.tensor(1.0))
    assert_close(
        OURS["moe_layer"](torch.ones(1, 1), router, gate, up, down, 2), torch.tensor([[5.0]])
    )


def test_latents_are_those_of_the_references_layer_and_the_card_is_right():
    torch.manual_seed(0)
    config = LatentConfig(
        hidden_size=6, num_heads=3, rank=4, rotary_dim=2, plain_dim=3, value_dim=5
    )
    layer = LatentAttention(config)
    q, q_rot = torch.randn(1, 3, 2, 3), torch.randn(1, 3, 2, 2)
    c, k_rot = torch.randn(1, 7, 4), torch.randn(1, 7, 2)
    with torch.no_grad():
        ours = OURS["latent_attention"](q[0], q_rot[0], c[0], k_rot[0], *layer.expansions())
        assert_close(ours, layer.expanded(q, q_rot, c, k_rot)[0], rtol=1e-4, atol=1e-5)
    by_hand = OURS["latent_attention"](
        torch.tensor([[[3.0, 1.0, 1.0]]]).log(),
        torch.zeros(1, 1, 1),
        torch.tensor([[1.0], [3.0]]),
        torch.zeros(2, 1),
        torch.tensor([[[1.0], [0.0], [0.0]]]),
        torch.tensor([[[10.0]]]),
    )
    assert_close(by_hand, torch.tensor([[[25.0]]]))

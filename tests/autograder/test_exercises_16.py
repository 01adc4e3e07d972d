"""What is particular to chapter 16's exercises: cards, published models and counters as rivals, the
real thing.
"""

import re
from copy import deepcopy

import pytest
import torch
from torch.nn.functional import cross_entropy, scaled_dot_product_attention
from torch.testing import assert_close
from transformers import (
    BertConfig,
    BertModel,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    ModernBertConfig,
    ModernBertModel,
)
from transformers.models.llama.modeling_llama import LlamaMLP, LlamaRMSNorm

from autograder.authoring.catalogue import assignment
from autograder.authoring.implementations import reference
from autograder.chapters.c16_review import attention_candidates, sentences
from autograder.chapters.c16_review.block import FAULT, FAULTS, drawn_weights, right_block
from autograder.chapters.c16_review.test_seeing import seen_in
from autograder.checks.protocol import LocalStudent, run_exercise
from reference_impl import corpora
from reference_impl.corpora.small_models import small_model
from reference_impl.measure.cache_bytes import bytes_per_token
from reference_impl.objectives.terms import IGNORED

SIXTEEN = assignment("16")
OURS = reference("16")


def test_the_assignment_is_worth_44_points_and_takes_less_than_three_hours():
    assert SIXTEEN.points == 44
    minutes = [
        int(re.search(r"\*\*Time\*\* (\d+) minutes", cell.source)[1])
        for name, cells in SIXTEEN.cells.items()
        if name.endswith("-card")
        for cell in cells[:1]
    ]
    assert len(minutes) == 8 and sum(minutes) == 110


def test_the_numbers_worked_out_on_the_cards_are_what_the_reference_gives():
    assert OURS["weigh_models"]("gpt", 10, 6, 4, 2, 5, 2, 1) == {
        "embeddings": 64,
        "blocks": 290,
        "rest": 8,
        "total": 362,
    }
    assert OURS["weigh_models"]("llama", 10, 6, 4, 2, 5, 2, 1) == {
        "embeddings": 40,
        "blocks": 232,
        "rest": 44,
        "total": 316,
    }
    assert OURS["step_bytes"](1000, 50, 8, 2, 2, 1, 4, 16, 3, 5, 2) == {
        "matrix_flops": 12_000,
        "attention_flops": 2_496,
        "weight_bytes": 2_000,
        "embedding_bytes": 96,
        "cache_bytes": 672,
    }
    card = SIXTEEN.cells["seven_masks-card"][0].source
    rows = re.search(r"places \[3\]\n(.*?)```", card, re.DOTALL)[1].strip().split("\n")
    drawn = [
        torch.tensor([[cell == "x" for cell in block.split()] for block in column])
        for column in zip(*(re.split(r"\s{3,}", row) for row in rows), strict=True)
    ]
    asked = [
        ("prefix", {"prefix": 3}),
        ("window", {"window": 2}),
        ("global", {"side": 1, "places": [3]}),
        ("packed", {"lengths": [2, 3]}),
        ("order", {"order": [2, 0, 3, 1, 5, 4]}),
    ]
    for (kind, extra), table in zip(asked, drawn, strict=True):
        assert torch.equal(OURS["seven_masks"](kind, 6, extra), table), kind
    ids, chosen = [11, 12, 13, 14, 15], {"chosen": [1, 2, 4]}
    said = {
        kind: OURS["make_labels"](kind, ids, extra)
        for kind, extra in {
            "masked": chosen | {"becomes": [9, 13, 77]},
            "replaced": chosen | {"becomes": [9, 13, 77]},
            "causal": {},
            "answer": {"prompt": 2},
            "spans": chosen | {"sentinels": [99, 98, 97], "end": 1},
        }.items()
    }
    assert said == {
        "masked": ([11, 9, 13, 14, 77], [-100, 12, 13, -100, 15]),
        "replaced": ([11, 9, 13, 14, 77], [0, 1, 0, 0, 1]),
        "causal": ([11, 12, 13, 14], [12, 13, 14, 15]),
        "answer": ([11, 12, 13, 14], [-100, 13, 14, 15]),
        "spans": ([11, 99, 14, 98, 1], [99, 12, 13, 98, 15, 1]),
    }
    assert IGNORED == -100


@pytest.mark.parametrize(
    ("kind", "sizes", "total"),
    [
        ("bert", (30522, 512, 768, 12, 3072, 12, 12), 109_482_240),
        ("gpt", (50257, 1024, 768, 12, 3072, 12, 12), 124_439_808),
        ("llama", (32000, 1, 4096, 32, 11008, 32, 32), 6_738_415_616),
        ("modernbert", (50368, 1, 768, 22, 1152, 12, 12), 149_014_272),
    ],
)
def test_published_models_weigh_what_is_published_and_what_transformers_builds(kind, sizes, total):
    assert OURS["weigh_models"](kind, *sizes)["total"] == total
    V, P, C, layers, F, H, K = small = (50, 16, 24, 3, 20, 6, 6 if kind != "llama" else 2)
    with torch.device("meta"):
        model = {
            "bert": lambda: BertModel(
                BertConfig(
                    vocab_size=V,
                    hidden_size=C,
                    num_hidden_layers=layers,
                    num_attention_heads=H,
                    intermediate_size=F,
                    max_position_embeddings=P,
                )
            ),
            "gpt": lambda: GPT2LMHeadModel(
                GPT2Config(
                    vocab_size=V, n_positions=P, n_embd=C, n_layer=layers, n_head=H, n_inner=F
                )
            ),
            "llama": lambda: LlamaForCausalLM(
                LlamaConfig(
                    vocab_size=V,
                    hidden_size=C,
                    num_hidden_layers=layers,
                    num_attention_heads=H,
                    num_key_value_heads=K,
                    intermediate_size=F,
                    tie_word_embeddings=False,
                )
            ),
            "modernbert": lambda: ModernBertModel(
                ModernBertConfig(
                    vocab_size=V,
                    hidden_size=C,
                    num_hidden_layers=layers,
                    num_attention_heads=H,
                    intermediate_size=F,
                    pad_token_id=0,
                    bos_token_id=1,
                    eos_token_id=2,
                    cls_token_id=1,
                    sep_token_id=2,
                )
            ),
        }[kind]()
    assert OURS["weigh_models"](kind, *small)["total"] == sum(
        one.numel() for one in {id(one): one for one in model.parameters()}.values()
    )


def test_a_step_costs_what_torch_counts_and_the_cache_holds():
    from torch.utils.flop_counter import FlopCounterMode

    layers, H, D, B, S, T = 2, 4, 8, 3, 5, 4
    with FlopCounterMode(display=False) as counter:
        for t in range(T):  # each new token alone, with the keys that it sees
            q, k = torch.zeros(B, H, 1, D), torch.zeros(B, H, S + t + 1, D)
            for _ in range(layers):
                (q @ k.mT) @ k
    found = OURS["step_bytes"](1000, 50, 8, layers, H, 2, D, 16, B, S, T)
    assert found["attention_flops"] == counter.get_total_flops()
    with FlopCounterMode(display=False) as counter:
        torch.zeros(B * T, 20) @ torch.zeros(20, 50)
    assert found["matrix_flops"] == counter.get_total_flops()
    assert found["cache_bytes"] == bytes_per_token(layers, 2, D, torch.float16) * B * (S + T)


def test_the_masks_are_those_of_transformers_and_of_the_models():
    from transformers.masking_utils import causal_mask_function, sliding_window_causal_mask_function

    for length in (1, 5, 40):
        i, j = torch.arange(length)[:, None], torch.arange(length)[None]
        assert torch.equal(
            OURS["seven_masks"]("causal", length, {}), causal_mask_function(0, 0, i, j)
        )
        for window in (1, 3, 50):
            theirs = sliding_window_causal_mask_function(window)(0, 0, i, j)
            assert torch.equal(
                OURS["seven_masks"]("window", length, {"window": window}),
                torch.as_tensor(theirs).expand(length, length),
            )
    order = torch.randperm(9, generator=torch.Generator().manual_seed(3))
    content = OURS["seven_masks"]("order", 9, {"order": order.tolist()})
    assert torch.equal(
        content & ~torch.eye(9, dtype=torch.bool), reference("07")["who_sees"](order)
    )
    for kind, extra in {
        "full": {},
        "prefix": {"prefix": 4},
        "global": {"side": 2, "places": [1, 8]},
        "packed": {"lengths": [3, 4]},
    }.items():
        table = OURS["seven_masks"](kind, 9, extra)
        assert torch.equal(table, seen_in(kind, 9, extra)) and table.diagonal().all()


def test_the_labels_are_chapter_sevens_spans_and_a_library_s_shift():
    ids, lost = [11, 12, 13, 14, 15, 16], [False, True, True, False, False, True]
    theirs = reference("07")["corrupt"](ids, lost, 99, 1)
    assert (
        OURS["make_labels"]("spans", ids, {"chosen": [1, 2, 5], "sentinels": [99, 98], "end": 1})
        == theirs
    )
    torch.manual_seed(1)
    model = GPT2LMHeadModel(
        GPT2Config(vocab_size=20, n_positions=8, n_embd=8, n_layer=1, n_head=2)
    ).eval()
    text = [3, 7, 1, 19, 4, 4]
    for prompt in (0, 1, 3, 5):
        labels = torch.tensor(
            [[-100 if place < prompt else token for place, token in enumerate(text)]]
        )
        with torch.no_grad():
            right = model(torch.tensor([text]), labels=labels).loss
            inputs, asked = OURS["make_labels"]("answer", text, {"prompt": prompt})
            assert_close(
                cross_entropy(model(torch.tensor([inputs])).logits[0], torch.tensor(asked)), right
            )


def by_libraries(x, weights, heads):
    """The block of transformers' norm and gated layer, and torch's fused attention."""
    T, C = x.shape
    norm = LlamaRMSNorm(C, eps=1e-6)
    layer = LlamaMLP(
        LlamaConfig(
            hidden_size=C, num_attention_heads=heads, intermediate_size=len(weights["gate"])
        )
    )
    layer.load_state_dict({f"{name}_proj.weight": weights[name] for name in ("gate", "up", "down")})
    q, k, v = (
        (norm(x) @ weights[name].T).view(T, heads, -1).transpose(0, 1)[None]
        for name in ("query", "key", "value")
    )
    y = (
        x
        + scaled_dot_product_attention(q, k, v, is_causal=True)[0].transpose(0, 1).reshape(T, C)
        @ weights["output"].T
    )
    return y + layer(norm(y))


def test_the_block_is_the_libraries_and_each_fault_is_another_one():
    chance = torch.Generator().manual_seed(5)
    x, weights = torch.randn(7, 12, generator=chance), drawn_weights(chance, 12, 20)
    with torch.no_grad():
        exact = by_libraries(x, weights, 3)
    namespace = {"torch": torch}
    exec(FAULTS.source, namespace)
    for one in (
        right_block(x, weights, 3),
        OURS["repaired_block"](x, weights, 3),
        namespace["broken_block"](x, weights, 3),
    ):
        assert_close(one, exact, rtol=1e-4, atol=1e-5)
    for fault in FAULTS.by_name.values():
        exec(fault.source, namespace)
        wrong = namespace["broken_block"](x, weights, 3)
        assert (
            wrong.shape == x.shape and wrong.isfinite().all() and (wrong - exact).abs().max() > 0.05
        ), fault.name
        assert f"# line {fault.line}" in fault.source.split("\n")[fault.line - 1]
    assert (
        OURS["wrong_line"]() == FAULT.line
        and SIXTEEN.cells["setup-broken_block"][0].source == FAULT.source
    )


def test_a_wide_beam_is_all_texts_and_a_narrow_one_greedy():
    torch.manual_seed(2)
    for _ in range(20):
        first, then = torch.rand(4).softmax(0), torch.rand(4, 4).softmax(1)
        whole = first[:, None, None] * then[:, :, None] * then
        assert sentences.beams(first, then, 3, 16)[0] == pytest.approx(float(whole.max()))
        a = int(first.argmax())
        b = int(then[a].argmax())
        assert sentences.beams(first, then, 3, 1)[0] == pytest.approx(
            float(first[a] * then[a, b] * then[b].max())
        )


def test_the_rotary_score_is_the_course_s():
    from reference_impl.layers.rotary import rotary_tables, rotate

    x = torch.tensor([3.0, 0.1, 0.0, 4.0, -0.1, 1.0])
    for places in ([2, 7], [0, 1], [3, 400]):
        turned = rotate(x.expand(1, 1, 401, 6), rotary_tables(torch.arange(401), 6, 10_000.0))[0, 0]
        near, far = (float(turned[0] @ turned[place]) for place in places)
        assert sentences.rotary_holds(x, places) == pytest.approx(
            (near - far) / float(x @ x), abs=1e-4
        )


def test_what_makes_data_worthless_is_told_in_words():
    exercise, right = SIXTEEN.exercise("counterexamples"), OURS["counterexamples"]()

    def said(key, **changed):
        given = right | {key: right[key] | changed}
        result = run_exercise(
            exercise, LocalStudent({"counterexamples": lambda: deepcopy(given)}), mistakes=[]
        )
        [failed] = [stage for stage in result.stages if stage.earned < stage.points]
        assert failed.name == key
        return failed.cause

    assert "add up" in said("beam", first=torch.tensor([0.3, 0.28, 0.26, 0.2]))
    assert "tie" in said("beam", first=torch.tensor([0.3, 0.3, 0.2, 0.2]))
    assert "one row and one column" in said("beam", then=torch.full((5, 5), 0.2))
    assert "numbers from 0 to 1" in said(
        "wider", first=torch.tensor([torch.nan, 0.45, 0.0, 0.0, 0.0])
    )
    assert "0.001" in said("top_p", p=torch.full((10,), 0.1))
    assert "no padding" in said("pooling", real=[1, 1])
    assert "all zeros" in said("pooling", vectors=torch.tensor([[2.0], [1.0]]))
    assert "even number" in said("rotary", x=torch.ones(3))
    assert "larger than the first" in said("rotary", places=[6, 6])
    assert "smaller loss" in said("loss", one=right["loss"]["other"], other=right["loss"]["one"])
    assert "infinite" in said("loss", other=torch.tensor([[0.55, 0.45], [0.0, 1.0]]))
    assert "0 to 5" in said("loss", right=[0, -1])


def test_the_write_tests_candidates_keep_and_break_what_the_card_says():
    chance = torch.Generator().manual_seed(1)
    for candidate in attention_candidates.RIGHT:
        for T, S in ((1, 1), (3, 5), (32, 7)):
            for size, limit in ((1.0, 5e-5), (100.0, 2e-3)):
                q, k, v = (torch.randn(2, 2, length, 4, generator=chance) for length in (T, S, S))
                mask = torch.rand(2, 1, T, S, generator=chance) < 0.6
                mask[..., 0] = True
                right = scaled_dot_product_attention(
                    size * q.double(), k.double(), v.double(), mask
                )
                mask[:, :, T // 2], right[:, :, T // 2] = False, 0.0
                assert_close(candidate(size * q, k, v, mask).double(), right, rtol=0, atol=limit)
        OURS["test_attention"](candidate)
    for kind in attention_candidates.WRONG.values():
        for candidate in kind:
            with pytest.raises(AssertionError):
                OURS["test_attention"](candidate)


def test_the_code_in_the_third_hints_runs_and_solves_its_own_problem():
    names: dict = {"torch": torch}
    for id in SIXTEEN.exercises:
        for code in re.findall(r"```python\n(.*?)```", SIXTEEN.hints(id)[2].text, re.DOTALL):
            exec(code, names)
    assert names["planks"]("fenced", 3, 10)["total"] == 41
    assert names["evening"](4, 3) == {"read aloud": 4, "written": 12, "looked at": 18}
    assert names["may_read"]([1, 2], 0).tolist() == [
        [True, False, False],
        [True, True, True],
        [True, True, True],
    ]
    assert names["blackened"](list("bank"), [0, 2]) == (["#", "a", "#", "k"], ["b", ".", "n", "."])
    marks = torch.tensor([[1.0, 3.0, 5.0, 5.0]])
    assert names["by_class"](marks, 2).tolist() == [[2.0, 5.0]] and names["by_class_wrong"](
        marks, 2
    ).tolist() == [[3.0, 4.0]]
    goals = names["games"]()
    assert sum(a > b for a, b in zip(goals["ours"], goals["theirs"], strict=True)) == 2 and sum(
        goals["ours"]
    ) < sum(goals["theirs"])
    names["test_marked_mean"](lambda x, marked: (x * marked).sum(1) / marked.sum(1).clamp(min=1))
    with pytest.raises(AssertionError):
        names["test_marked_mean"](lambda x, marked: x.mean(1))


def test_the_courses_answers_are_refused_in_words():
    from reference_impl.layers.masks import causal_mask

    exercise = SIXTEEN.exercise("seven_masks")
    result = run_exercise(
        exercise,
        LocalStudent({**OURS, "seven_masks": lambda kind, length, extra: causal_mask(length)}),
        mistakes=[],
    )
    assert result.earned == 0 and any(
        "withheld here" in f"{stage.cause} {stage.detail}" for stage in result.stages
    )


@pytest.fixture(scope="module")
def real() -> dict:
    """The notebook's last part, with right answers in the place of the student's."""
    names = dict(OURS)
    exec(SIXTEEN.cells["real-masks"][0].source, names)
    return names


def test_under_their_own_masks_both_models_say_what_they_say_without_ours(real):
    held = real["in_two"](corpora.load("kjv"))[1][:20_000]
    bert, gpt = small_model("bert_kjv"), small_model("gpt_kjv")
    rows = real["rows_of"](bert.tokenizer.encode(held, add_specials=False).ids, 16)
    blanks = torch.rand(rows.shape, generator=torch.Generator().manual_seed(5)) < 0.15
    with torch.no_grad():
        logits = bert.model(torch.where(blanks, real["BLANK"], rows))[blanks]
    assert real["filled"](bert.model, rows, blanks, OURS["seven_masks"]("full", 32, {}))[
        1
    ] == pytest.approx(float(cross_entropy(logits, rows[blanks])), rel=1e-4)
    written = real["rows_of"](gpt.tokenizer.encode(held), 16)
    with torch.no_grad():
        own = cross_entropy(gpt.model(written)[:, :-1].flatten(0, 1), written[:, 1:].flatten())
    assert real["continued"](gpt.model, written, OURS["seven_masks"]("causal", 32, {}))[
        1
    ] == pytest.approx(float(own), rel=1e-4)
    assert bert.tokenizer.vocabulary.token(real["BLANK"]) == "[MASK]"


def test_the_courses_seven_masks_are_the_students(real):
    for (kind, extra), theirs in zip(real["seven"]().values(), real["the_courses"](), strict=True):
        assert torch.equal(OURS["seven_masks"](kind, real["LENGTH"], extra), theirs), kind

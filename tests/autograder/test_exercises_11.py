"""What is particular to chapter 11's exercises: cards, libraries as rivals, the real thing."""

import itertools
import re

import pytest
import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention
from torch.testing import assert_close
from transformers import ModernBertConfig as TheirConfig
from transformers.models.modernbert.modeling_modernbert import ModernBertModel as TheirModel

from autograder.authoring.catalogue import assignment
from autograder.authoring.implementations import reference
from autograder.checks.protocol import LocalStudent, run_exercise
from reference_impl.layers import packing
from reference_impl.layers.masks import window_mask
from reference_impl.layers.rotary import rotary_tables, slow_interpolation
from reference_impl.layers.rotary import rotate as their_rotate

ELEVEN = assignment("11")
OURS = reference("11")


def drawn(seed: int, *shape: int) -> torch.Tensor:
    """Standard normal numbers."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def bounds(*lengths: int) -> torch.Tensor:
    """cu_seqlens."""
    return torch.tensor([0, *itertools.accumulate(lengths)], dtype=torch.int32)


def test_the_assignment_is_worth_fifty_four_points():
    assert ELEVEN.points == 54


def test_the_numbers_worked_out_on_the_cards_are_what_the_reference_gives():
    turned = OURS["rotary"](torch.tensor([[[[1.0, 1.0, 0.0, 0.0]]]]), torch.tensor([[2]]), 100)
    assert [f"{one:.3f}" for one in turned.flatten().tolist()] == [
        "-0.416",
        "0.980",
        "0.909",
        "0.199",
    ]
    assert f"{OURS['slowest'](4, 100):.2f}" == "62.83"
    gate_up, down = torch.tensor([[1.0], [3.0]]), torch.tensor([[2.0]])
    assert [
        f"{OURS['geglu'](torch.ones(1), one, down).item():.3f}"
        for one in (gate_up, gate_up.flip(0))
    ] == ["5.048", "5.992"]
    assert OURS["local_mask"](4, 2).int().tolist() == [
        [1, 1, 0, 0],
        [1, 1, 1, 0],
        [0, 1, 1, 1],
        [0, 0, 1, 1],
    ]
    assert OURS["count_pairs"](8, 4, 2, 3) == {"local": 22, "global_layers": 2, "total": 172}
    assert OURS["count_pairs"](8192, 22, 128, 3) | {"total": 0} == {
        "local": 1_052_608,
        "global_layers": 8,
        "total": 0,
    }
    for layer, right in ((0, [2.0, 6.0]), (1, [0.0, 4.0])):
        block = OURS["Block"](2, 1, 1, layer, 4)
        block.qkv.weight.data, block.out.weight.data, block.gate_up.weight.data = (
            torch.eye(2).repeat(3, 1),
            torch.eye(2),
            torch.zeros(2, 2),
        )
        assert_close(
            block(torch.tensor([[[1.0, 3.0]]]), torch.ones(1, 1, dtype=torch.bool)),
            torch.tensor([[right]]),
            rtol=0,
            atol=1e-4,
        )
    ids, mask = (
        torch.tensor([[5, 6, 7, 8], [0, 0, 9, 4]]),
        torch.tensor([[True, True, True, False], [False, False, True, True]]),
    )
    assert [one.tolist() for one in OURS["unpad"](ids, mask)] == [
        [5, 6, 7, 9, 4],
        [0, 3, 5],
        [0, 1, 2, 0, 1],
    ]
    none, values = torch.zeros(1, 5, 1), torch.tensor([[[1.0], [3.0], [10.0], [20.0], [60.0]]])
    for window, right in ((None, [2, 2, 30, 30, 30]), (2, [2, 2, 15, 30, 40])):
        assert_close(
            OURS["packed_attention"](none, none, values, bounds(2, 3), window).flatten(),
            torch.tensor(right).float(),
        )
    assert OURS["pack_rows"]([3, 7, 5, 2, 3], 10) == [[1, 0], [2, 4, 3]]
    assert OURS["lay_rows"]([[5, 6, 7], [8, 9]], [[1, 0]]) == [
        ([8, 9, 5, 6, 7], [0, 2, 5], [0, 1, 0, 1, 2])
    ]
    assert len({4**2 + 8**2, 2 * 8**2, 12**2} & {80, 128, 144}) == 3
    frequencies, factor = OURS["yarn_frequencies"](6, 1000.0, 4.0, 100, 1.0, 4.0)
    assert [f"{one:.4f}" for one in frequencies.tolist()] == ["1.0000", "0.0398", "0.0025"]
    assert f"{factor:.3f}" == "1.139"


@pytest.mark.parametrize(
    "case", [(64, 150_000.0, 32.0, 4096, 1.0, 32.0), (128, 500_000.0, 8.0, 8192, 1.0, 4.0)]
)
def test_frequencies_are_those_of_the_course_and_of_llama_in_transformers(case):
    from transformers import LlamaConfig
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    D, base, s, N, alpha, beta = case
    found, _ = OURS["yarn_frequencies"](*case)
    ours = base ** -(torch.arange(0, D, 2) / D) / slow_interpolation(D, base, s, alpha, beta, N)
    rope = {
        "rope_type": "llama3",
        "rope_theta": base,
        "factor": s,
        "low_freq_factor": alpha,
        "high_freq_factor": beta,
        "original_max_position_embeddings": N,
    }
    config = LlamaConfig(hidden_size=4 * D, num_attention_heads=4, rope_parameters=rope)
    theirs, _ = ROPE_INIT_FUNCTIONS["llama3"](config, torch.device("cpu"))
    assert_close(found, ours.float(), rtol=1e-4, atol=0)
    assert_close(found, theirs, rtol=1e-4, atol=0)


def printed(card: str) -> str:
    """The function that a card shows."""
    return re.search(
        r"```python\n(def lay_rows.*?)```", ELEVEN.cells[card][0].source, re.DOTALL
    ).group(1)


def test_exactly_the_named_line_of_the_printed_function_is_wrong():
    names = {"accumulate": itertools.accumulate}
    exec(printed("lay_rows-card"), names)
    texts, rows = [[5, 6, 7], [8, 9], []], [[1, 0, 2]]
    ((ids, ends, positions),) = names["lay_rows"](texts, rows)
    ((right_ids, right_ends, right),) = OURS["lay_rows"](texts, rows)
    assert (ids, ends) == (right_ids, right_ends) and positions != right
    line = next(
        line
        for line in printed("lay_rows-card").splitlines()
        if f"# line {OURS['wrong_line']()}" in line
    )
    mended = printed("lay_rows-card").replace(
        line, "        positions = [place for text in row for place in range(len(texts[text]))]"
    )
    exec(mended, names)
    assert names["lay_rows"](texts, rows) == [(right_ids, right_ends, right)]


def test_vectors_are_rotated_as_the_reference_rotates_them():
    x, positions = (
        drawn(1, 3, 2, 7, 8),
        torch.randint(0, 300, (3, 7), generator=torch.Generator().manual_seed(1)),
    )
    for base in (10_000.0, 160_000.0):
        assert_close(
            OURS["rotary"](x, positions, base),
            their_rotate(x, rotary_tables(positions, 8, base)),
            rtol=1e-4,
            atol=1e-4,
        )


def test_local_masks_are_the_references():
    for T, window in ((1, 2), (9, 4), (9, 5), (65, 128), (66, 128), (5, 0)):
        assert torch.equal(
            OURS["local_mask"](T, window), window_mask(T, before=window // 2, after=window // 2)
        )


def test_four_blocks_are_the_librarys_modernbert():
    torch.manual_seed(2)
    config = TheirConfig(
        vocab_size=11,
        hidden_size=16,
        intermediate_size=12,
        num_hidden_layers=4,
        num_attention_heads=2,
        local_attention=4,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        cls_token_id=1,
        sep_token_id=2,
        attn_implementation="eager",
        reference_compile=False,
    )
    theirs = TheirModel(config).eval()
    for one in theirs.parameters():
        nn.init.normal_(one, std=0.4)
    ids = torch.randint(3, 11, (2, 9), generator=torch.Generator().manual_seed(3))
    mask = torch.arange(9) < torch.tensor([[9], [6]])
    with torch.no_grad():
        x = theirs.embeddings(ids)
        for layer, one in enumerate(theirs.layers):
            block = OURS["Block"](16, 12, 2, layer, 4)
            names = {
                "qkv.weight": one.attn.Wqkv.weight,
                "out.weight": one.attn.Wo.weight,
                "feed_forward_norm.weight": one.mlp_norm.weight,
                "gate_up.weight": one.mlp.Wi.weight,
                "down.weight": one.mlp.Wo.weight,
            }
            block.load_state_dict(
                names | ({"attention_norm.weight": one.attn_norm.weight} if layer else {})
            )
            x = block(x, mask)
        assert_close(
            theirs.final_norm(x)[mask],
            theirs(ids, attention_mask=mask.long()).last_hidden_state[mask],
            rtol=1e-3,
            atol=1e-4,
        )


def test_unpadding_is_the_references_and_attention_that_of_padded_rows():
    mask = torch.rand(4, 9, generator=torch.Generator().manual_seed(4)) < 0.6
    ids = torch.randint(0, 50, (4, 9), generator=torch.Generator().manual_seed(5))
    tokens, ends, positions = OURS["unpad"](ids, mask)
    right = packing.unpad(ids, mask)
    assert (
        torch.equal(tokens, right.tokens)
        and torch.equal(ends, right.packing.cu_seqlens)
        and torch.equal(positions, right.packing.positions)
    )
    q, k, v = (drawn(seed, 2, int(ends[-1]), 4) for seed in (6, 7, 8))
    for window in (None, 4):
        found = OURS["packed_attention"](q, k, v, ends, window)
        assert_close(
            found,
            packing.packed_attention(
                q[None],
                k[None],
                v[None],
                ends,
                window=None if window is None else (window // 2,) * 2,
            )[0],
        )
        for start, stop in itertools.pairwise(ends.tolist()):
            near = None if window is None else OURS["local_mask"](stop - start, window)
            if stop > start:
                assert_close(
                    found[:, start:stop],
                    scaled_dot_product_attention(
                        q[:, start:stop], k[:, start:stop], v[:, start:stop], attn_mask=near
                    ),
                )


def test_rows_are_as_few_as_the_references():
    for seed in range(5):
        lengths = torch.randint(
            0, 60, (50,), generator=torch.Generator().manual_seed(seed)
        ).tolist()
        assert len(OURS["pack_rows"](lengths, 100)) == len(packing.pack_rows(lengths, 100))


def test_the_code_in_the_third_hints_runs_and_solves_its_own_problem():
    names: dict = {"torch": torch, "nn": nn}
    for id in ELEVEN.exercises:
        for code in re.findall(r"```python\n(.*?)```", ELEVEN.hints(id)[2].text, re.DOTALL):
            exec(code, names)
    rims = names["rims"](torch.zeros(2, 3), torch.tensor([1.0, 0.1]))
    assert rims.shape == (2, 3, 2, 2) and torch.equal(
        rims, torch.tensor([1.0, 0.0]).expand(2, 3, 2, 2)
    )
    assert names["revenue"](torch.tensor([5.0, -1.0, 2.0, 9.0])) == 10
    assert names["same_hour"](torch.tensor([0, 60, 121])).tolist() == [
        [False, True, False],
        [True, False, False],
        [False, False, False],
    ]
    assert names["street"](5, 2) == {"greetings": 9, "lamps": 3}
    assert (
        names["Mean"](4, 0).state_dict() == {}
        and not names["Mean"](4, 0)(torch.zeros(1, 2, 4), torch.zeros(1, 2, dtype=torch.bool)).any()
    )
    assert [
        one.tolist()
        for one in names["seated"](torch.tensor([[True, False, True], [False, True, False]]))
    ] == [[2, 3], [1, 2, 1]]
    assert names["smoothed"](torch.tensor([2.0, 4.0, 8.0]), [0, 2, 2, 3]).tolist() == [2, 3, 8]
    assert names["tables"]([4, 3, 2], 6) == 2
    assert names["coaches"]([2, 3]) == [0, 1, 0, 1, 2]
    assert names["prices"](8.0, torch.tensor([1.0, 30.0, 90.0])).tolist() == [8, 6, 4]


def through(name: str, function) -> float:
    """What an answer earns in which `function` does the work."""
    exercise = ELEVEN.exercise(name)
    result = run_exercise(
        exercise, LocalStudent({**OURS, exercise.function: function}), mistakes=[]
    )
    assert any("withheld here" in f"{stage.cause} {stage.detail}" for stage in result.stages)
    return result.earned


def test_the_courses_answers_are_refused_in_words():
    def turn(x, positions, base):
        from reference_impl.layers.rotary import rotary_tables, rotate

        return rotate(x, rotary_tables(positions, x.shape[3], base))

    def attend(q, k, v, cu, window):
        return packing.packed_attention(
            q[None], k[None], v[None], cu, window=None if window is None else (window // 2,) * 2
        )[0]

    assert through("rotary", turn) <= 1  # `slowest` is the student's own here
    assert through("packed_attention", attend) == 0
    assert (
        through(
            "pack_rows",
            lambda lengths, budget: [row.sequences for row in packing.pack_rows(lengths, budget)],
        )
        == 0
    )
    assert (
        through(
            "local_mask", lambda T, window: window_mask(T, before=window // 2, after=window // 2)
        )
        == 0
    )


@pytest.fixture(scope="module")
def cells() -> dict:
    """What the last part of the notebook defines, on right answers."""
    names = dict(OURS)
    for cell in ("real-minilm", "real-modernbert"):
        exec(ELEVEN.cells[cell][0].source, names)
    return names


def test_the_students_functions_pack_minilm(cells):
    minilm, tokenizer = cells["load"]("minilm").eval(), cells["load"]("bert_tokenizer")
    texts = [tokenizer.encode(line).ids for line in cells["load"]("oewn_glosses")[::8000]]
    right = cells["padded"](minilm, texts)
    assert [len(one) for one in right] == [len(text) for text in texts]
    for found in (cells["unpadded"](minilm, texts), cells["packed"](minilm, texts, 100)):
        assert cells["apart"](found, right) < 1e-4
    assert cells["alike"](cells["packed"](minilm, texts, 100, leak=True), right) < 0.9


def test_the_students_block_carries_the_trained_modernbert(cells):
    theirs, ids = cells["small_model"]("modernbert_kjv").model, cells["unseen_letters"](768 * 2)
    yours = cells["with_your_blocks"](theirs)
    assert sum(one.numel() for one in yours.parameters()) == sum(
        one.numel() for one in theirs.parameters()
    )
    for length in (96, 768):
        (found, letters), (right, _) = (
            cells["logits_at_blanks"](model, ids, length) for model in (yours, theirs)
        )
        assert_close(found, right, rtol=1e-3, atol=1e-3)
        assert cells["bits_a_blank"](found, letters) < 3
    wrong, letters = cells["logits_at_blanks"](
        cells["small_model"]("modernbert_kjv_global").model, ids, 768
    )
    assert cells["bits_a_blank"](wrong, letters) > 4

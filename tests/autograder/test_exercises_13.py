"""What is particular to chapter 13's exercises: cards, torch and autograd as rivals, kernels in
another process, the real thing.
"""

import re

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention
from torch.testing import assert_close

from autograder.authoring.catalogue import assignment
from autograder.authoring.implementations import reference
from autograder.chapters.c13_flashattention import flash_candidates
from autograder.chapters.c13_flashattention.attended import attended, differentiated, seen_by
from autograder.checks.kernels.interpreter import Switch
from autograder.checks.protocol import Buffer, LocalStudent, run_exercise
from reference_impl.kernels import traffic

THIRTEEN = assignment("13")
SHAPES = ((1, 1), (17, 17), (33, 33), (5, 37), (37, 5), (20, 5))


@pytest.fixture(scope="module")
def ours() -> dict:
    return reference("13")


def drawn(seed: int, H: int, T: int, S: int, D: int = 16, K: int = 0) -> list:
    generator = torch.Generator().manual_seed(seed)
    return [
        torch.randn(heads, length, D, generator=generator)
        for heads, length in ((H, T), (K or H, S), (K or H, S))
    ]


def by_sdpa(q, k, v, causal: bool) -> torch.Tensor:
    """torch's answer in float64, where every query sees a key; zeros elsewhere."""
    seen = seen_by(q.shape[1], k.shape[1], causal)
    blind = ~seen.any(1)
    out = scaled_dot_product_attention(
        *(one.double()[None] for one in (q, k, v)), attn_mask=seen | blind[:, None], enable_gqa=True
    )[0]
    return out.masked_fill(blind[:, None], 0)


def test_the_assignment_is_worth_fifty_five_points():
    assert THIRTEEN.points == 55


def test_the_numbers_worked_out_on_the_cards_are_what_the_reference_gives(ours):
    assert ours["predict_traffic"](8, 4, 4, 2) == {"plain": 768, "flash": 416, "operations": 1024}
    two = torch.tensor(2.0).log()
    one, other = (
        (torch.tensor([place]) * two, torch.tensor([1.25]), torch.tensor([[3.75]]))
        for place in (3.0, 4.0)
    )
    peak, total, mixed = ours["merge"](one, other)
    assert_close(
        (peak, total, mixed),
        (torch.tensor([4.0]) * two, torch.tensor([1.875]), torch.tensor([[5.625]])),
    )
    k, v = (
        torch.tensor([1.0, 3.0, 4.0, 2.0]).view(1, 4, 1) * two,
        torch.tensor([15.0, 0.0, 0.0, 15.0]).view(1, 4, 1),
    )
    out, lse = ours["flash_forward"](torch.ones(1, 1, 1), k, v, 1, 2, False)
    assert f"{out.item():.3f} {lse.item():.3f}" == "3.000 3.401"
    k, v = torch.tensor([1.0, -1.0]).view(1, 2, 1), torch.tensor([4.0, 0.0]).view(1, 2, 1)
    out, lse = ours["flash_forward"](torch.zeros(1, 1, 1), k, v, 1, 1, False)
    dq, dk, dv = ours["flash_backward"](
        torch.ones(1, 1, 1), torch.zeros(1, 1, 1), k, v, out, lse, 1, 1, False
    )
    assert (dq.item(), dk.flatten().tolist(), dv.flatten().tolist()) == (2, [0, 0], [0.5, 0.5])
    student = LocalStudent(ours)
    assert (
        student.kernel("add", torch.ones(10), torch.ones(10), Buffer(torch.zeros(10)), 4).counted[
            "programs"
        ]
        == 3
    )
    shares = (
        student.kernel(
            "softmax", torch.tensor([[1.0, 3.0, 4.0, 2.0]]) * two, Buffer(torch.zeros(1, 4)), 2
        )
        .args[1]
        .values
    )
    assert [f"{share:.3f}" for share in shares[0].tolist()] == ["0.067", "0.267", "0.533", "0.133"]
    q, k, v = drawn(1, 12, 33, 33)
    found = student.kernel(
        "flash", q, k, v, Buffer(torch.zeros_like(q)), Buffer(torch.zeros(12, 33)), 16, 16, True
    ).counted
    assert found["programs"] == 36 and found["operations"] == 12 * (1 + 2 + 3) * 4 * 16**3


def test_the_traffic_is_the_reference_s():
    predict = reference("13")["predict_traffic"]
    for N, D, rows, size in ((1024, 64, 128, 2), (1024, 64, 128, 4), (37, 16, 16, 4), (5, 3, 9, 8)):
        found = predict(N, D, rows, size)
        assert found["plain"] == traffic.standard_attention_bytes(N, 1, D, size)
        assert found["flash"] == traffic.flash_attention_bytes(N, 1, D, size, rows)
    assert predict(1024, 64, 128, 2) == {
        "plain": 8_912_896,
        "flash": 2_363_392,
        "operations": 268_435_456,
    }


@pytest.mark.parametrize("causal", [False, True])
def test_the_oracle_and_the_answers_are_torch_s_attention_and_autograd_s_gradient(ours, causal):
    for seed, (T, S) in enumerate(SHAPES):
        q, k, v = drawn(seed, 4, T, S, K=2)
        assert_close(attended(q, k, v, causal)[0], by_sdpa(q, k, v, causal).float())
        keys, values = (one.repeat_interleave(2, 0) for one in (k, v))
        for mine, right in zip(
            ours["flash_forward"](q, keys, values, 16, 16, causal),
            attended(q, k, v, causal),
            strict=True,
        ):
            assert_close(mine, right, rtol=1e-5, atol=1e-5)
        leaves, grad = (
            [one.double().requires_grad_() for one in (q, k, v)],
            torch.randn(q.shape, generator=torch.Generator().manual_seed(9)),
        )
        theirs = torch.autograd.grad((by_sdpa(*leaves, causal) * grad).sum(), leaves)
        for mine, right, exact in zip(
            ours["flash_backward"](grad, q, k, v, *attended(q, k, v, causal), 16, 16, causal),
            differentiated(grad, q, k, v, causal),
            theirs,
            strict=True,
        ):
            assert_close(right, exact.float())
            assert_close(mine, right, rtol=1e-4, atol=1e-5)


def test_the_kernels_are_torch_s_sum_softmax_and_attention(ours):
    x, out = torch.randn(5, 300), torch.empty(5, 300)
    with Switch():
        ours["add"](x[0], x[1], out[0], 64)
        assert torch.equal(out[0], x[0] + x[1])
        ours["softmax"](x, out, 64)
        assert_close(out, x.softmax(1))
        for T, S in SHAPES[1:]:
            q, k, v = drawn(T, 2, T, S, 32, K=1)
            out, lse = torch.empty_like(q), torch.empty(2, T)
            ours["flash"](q, k, v, out, lse, 16, 32, True)
            assert_close(out, by_sdpa(q, k, v, True).float(), rtol=1e-4, atol=1e-5)


def test_the_code_in_the_third_hints_runs_and_solves_its_own_problem():
    names = {"torch": torch, "triton": reference("13")["triton"], "tl": reference("13")["tl"]}
    for id in THIRTEEN.exercises:
        for number, code in enumerate(
            re.findall(r"```python\n(.*?)```", THIRTEEN.hints(id)[2].text, re.DOTALL)
        ):
            import linecache

            file = f"hint of {id} {number}"
            linecache.cache[file] = (len(code), None, code.splitlines(keepends=True), file)
            exec(compile(code, file, "exec"), names)
    assert names["carried"](10, 4) == {"to the desk": 10, "past it": 30}
    assert names["total"]((2.0, 10.0), (4.0, 1.0)) == (4.0, 6.0)
    x = torch.randn(3, 7)
    assert_close(names["mean_and_largest"](x, 3), (x.mean(1), x.amax(1)))
    weights, y = torch.randn(3, 5), torch.randn(5, 7)
    leaves = [x.clone().requires_grad_(), y.clone().requires_grad_()]
    theirs = torch.autograd.grad((weights * (leaves[0] @ leaves[1].T) ** 2).sum(), leaves)
    assert_close(names["squares_backward"](weights, x, y, 2), theirs, rtol=1e-4, atol=1e-4)
    with Switch():
        out = torch.zeros(5)
        names["negate_kernel"][(2,)](torch.arange(9.0), out, 9, BLOCK=4)
        assert out.tolist() == [0, -2, -4, -6, -8]
        out = torch.zeros(3, 7)
        names["scaled_kernel"][(3,)](x, out, 7, 7, 7, BLOCK=4)
        assert_close(out, x / x.abs().amax(1, keepdim=True))
        a, b, out = torch.randn(20, 16), torch.randn(33, 16), torch.zeros(20)
        names["nearest_kernel"][(2,)](a, b, out, 20, 33, 16, 16, D=16, ROWS=16, COLUMNS=16)
        assert_close(out, (a @ b.T).amax(1), rtol=1e-4, atol=1e-4)
    names["test_mean"](lambda x, columns: x.mean(1))
    with pytest.raises(AssertionError):
        names["test_mean"](lambda x, columns: x[:, :4].mean(1))


def test_the_write_tests_candidates_keep_and_break_what_the_card_says(ours):
    for seed, (T, S) in enumerate(SHAPES):
        for scale, limit in ((1.0, 5e-5), (75.0, 2e-3)):
            q, k, v = drawn(seed, 2, T, S)
            q = scale * q
            for causal in (False, True):
                for candidate in flash_candidates.RIGHT:
                    for mine, right in zip(
                        candidate(q, k, v, 16, 16, causal), attended(q, k, v, causal), strict=True
                    ):
                        assert torch.allclose(mine, right, rtol=0, atol=limit)
    for candidate in flash_candidates.RIGHT:
        ours["test_flash"](candidate)
    for kind in flash_candidates.WRONG.values():
        for candidate in kind:
            with pytest.raises(AssertionError):
                ours["test_flash"](candidate)


def test_the_published_input_passes_eight_wrong_attentions():
    """128 queries, 128 keys of 64 numbers, to two digits: the eight of the storyboard, as they are
    made here.
    """
    making = flash_candidates.making
    wrong = (
        making(peak="none"),
        making(peak="zero"),
        making(peak="tile"),
        making(ragged="zeros"),
        making(ragged="lost"),
        making(aligned="first"),
        making(low=-1e6),
        making(half="weights"),
    )
    q, k, v = drawn(
        0, 1, 64, 64, 64
    )  # 64 is the most that they take, and a multiple of the tiles, too
    right = attended(q, k, v, False)[0]
    for candidate in wrong:
        assert (candidate(q, k, v, 16, 16, False)[0] - right).abs().max() < 1e-2


def through(name: str, function) -> float:
    """What an answer earns in which `function` does the work."""
    exercise = THIRTEEN.exercise(name)
    result = run_exercise(
        exercise, LocalStudent({**reference("13"), exercise.function: function}), mistakes=[]
    )
    assert any("withheld here" in f"{stage.cause} {stage.detail}" for stage in result.stages)
    return result.earned


def test_the_courses_answers_are_refused_in_words():
    from reference_impl.kernels.backend import Tiles
    from reference_impl.kernels.flash_attention import flash_forward_twin

    def twin(q, k, v, rows, columns, causal):
        found = flash_forward_twin(
            *(one.transpose(0, 1) for one in (q, k, v)),
            causal=causal,
            window=None,
            scale=q.shape[2] ** -0.5,
            tiles=Tiles(rows, columns),
        )
        return tuple(one.transpose(0, 1) for one in found)

    assert through("flash_forward", twin) == 0
    assert (
        through(
            "flash_forward",
            lambda q, k, v, rows, columns, causal: (
                scaled_dot_product_attention(q, k, v, is_causal=causal),
                q[..., 0],
            ),
        )
        == 0
    )


def test_the_students_functions_carry_minilm():
    from reference_impl.corpora import load

    names = dict(reference("13"))
    exec(THIRTEEN.cells["real-kernel"][0].source, names)
    model, ids = load("minilm").eval(), torch.tensor([[101, 2057, 2938, 102]])
    with torch.no_grad():
        theirs = model(ids).tokens
        for yours in ("in_your_kernel", "in_your_tiles"):
            with (
                Switch(),
                names["patch"](
                    "reference_impl.layers.attention.attention",
                    names["like_the_courses"](names[yours]),
                ),
            ):
                assert_close(model(ids).tokens, theirs, rtol=1e-4, atol=1e-5)

"""What is particular to chapter 9's exercises: cards, transformers, torch and exhaustive search as
rivals, the real thing.
"""

import math
import re
from itertools import product

import pytest
import torch
from torch.testing import assert_close
from torch.utils.flop_counter import FlopCounterMode
from transformers import GPT2Config, GPT2LMHeadModel
from transformers.generation import logits_process as theirs

from autograder.authoring.catalogue import assignment
from autograder.authoring.implementations import reference
from autograder.chapters.c09_generating_text import beam_cases, sampler_candidates
from autograder.chapters.c09_generating_text.beams import searched
from autograder.checks.protocol import LocalStudent, run_exercise
from reference_impl.corpora.small_models import small_model
from reference_impl.generation.beam import beam_search
from reference_impl.generation.loop import Decoding
from reference_impl.generation.processors import keep_top_k
from reference_impl.generation.sampler import invert

NINE = assignment("09")
OURS = reference("09")
NEVER = 999


@pytest.fixture(scope="module")
def rival():
    """A tiny GPT-2 of the library, in evaluation mode."""
    torch.manual_seed(9)
    return GPT2LMHeadModel(
        GPT2Config(
            vocab_size=29,
            n_embd=16,
            n_layer=2,
            n_head=2,
            n_positions=64,
            initializer_range=0.6,
            bos_token_id=None,
            eos_token_id=None,
        )
    ).eval()


def some_logits(rows: int = 6, entries: int = 40) -> torch.Tensor:
    return 3 * torch.randn(rows, entries, generator=torch.Generator().manual_seed(rows))


def test_the_assignment_is_worth_fifty_four_points():
    assert NINE.points == 54


def test_the_numbers_worked_out_on_the_cards_are_what_the_reference_gives():
    def circle(ids):
        return torch.eye(3)[(ids + 1) % 3]

    assert OURS["generate"](circle, [0], 5, 9) == [1, 2, 0, 1, 2] and OURS["generate"](
        circle, [0], 5, 2
    ) == [1, 2]
    assert [one.tolist() for one in OURS["pad_left"]([[5, 6, 7], [8]], 0)] == [
        [[5, 6, 7], [0, 0, 8]],
        [[True] * 3, [False, False, True]],
        [[0, 1, 2], [0, 0, 0]],
    ]
    assert OURS["predict_reading"](3, 4) == {
        "tokens": 18,
        "tokens_cached": 6,
        "pairs": 52,
        "pairs_cached": 21,
    }
    weights = torch.tensor([[16.0, 9.0, 4.0, 1.0]]).log()
    drawn = [
        OURS["draw"](weights, temperature, torch.tensor([u])).item()
        for temperature, u in ((1.0, 0.6), (2.0, 0.6), (2.0, 0.75), (0.5, 0.6))
    ]
    assert drawn == [1, 1, 2, 0]
    inf = math.inf
    assert OURS["keep_top_k"](
        torch.tensor([[2.0, 5, 1, 3], [2.0, 5, 2, 1]]), torch.tensor([2, 2])
    ).tolist() == [[-inf, 5, -inf, 3], [2, 5, 2, -inf]]
    assert [
        int((OURS["keep_top_p"](weights / T, torch.tensor([p])) > -inf).sum())
        for T, p in ((1, 0.8), (1, 0.5), (2, 0.8))
    ] == [2, 1, 3]
    assert OURS["penalise"](
        torch.tensor([[2.0, -2, 1, 0]]), torch.tensor([[0, 1, 0]]), 2.0
    ).tolist() == [[1, -4, 1, 0]]


def test_the_loop_and_the_beams_are_those_of_transformers(rival):
    def model(ids):
        return rival(ids).logits

    with torch.no_grad():
        for prompt in ([5, 9, 2], [7], [3, 3, 8, 1]):
            ids, more = (
                torch.tensor([prompt]),
                {
                    "max_new_tokens": 12,
                    "do_sample": False,
                    "pad_token_id": 0,
                    "attention_mask": torch.ones(1, len(prompt), dtype=torch.long),
                },
            )
            greedy = rival.generate(ids, **more)[0, len(prompt) :].tolist()
            assert OURS["generate"](model, prompt, 12, NEVER) == greedy
            assert (
                OURS["generate"](model, prompt, 12, greedy[4])
                == greedy[: greedy.index(greedy[4]) + 1]
            )
            for width in (2, 3, 5):
                found, score = OURS["beam_search"](model, prompt, width, 8, NEVER, 1.0)
                right = rival.generate(
                    ids,
                    **more | {"max_new_tokens": 8},
                    num_beams=width,
                    return_dict_in_generate=True,
                    output_scores=True,
                )
                assert found == right.sequences[0, len(prompt) :].tolist()
                assert_close(torch.tensor(score), right.sequences_scores[0], rtol=1e-4, atol=1e-5)


def test_the_filters_and_the_penalty_are_those_of_transformers():
    logits, text = (
        some_logits(),
        torch.randint(40, (6, 9), generator=torch.Generator().manual_seed(1)),
    )
    for k in (1, 3, 39, 40, 77):
        assert torch.equal(
            OURS["keep_top_k"](logits, torch.full((6,), k)),
            theirs.TopKLogitsWarper(k)(None, logits),
        )
    for p in (1e-6, 0.3, 0.8, 0.97):
        assert torch.equal(
            OURS["keep_top_p"](logits, torch.full((6,), p)),
            theirs.TopPLogitsWarper(p)(None, logits),
        )
    for penalty in (0.5, 1.3, 4.0):
        assert_close(
            OURS["penalise"](logits, text, penalty),
            theirs.RepetitionPenaltyLogitsProcessor(penalty)(text, logits),
        )


def test_the_draw_is_the_references_and_its_shares_are_a_softmax():
    logits, u = some_logits(400, 30), torch.rand(400, generator=torch.Generator().manual_seed(2))
    for temperature in (0.3, 1.0, 4.0):
        assert torch.equal(
            OURS["draw"](logits, temperature, u), invert((logits / temperature).softmax(1), u)
        )
    evenly = (torch.arange(20_000) + 0.5) / 20_000
    shares = (
        OURS["draw"](logits[:1].expand(20_000, -1), 2.0, evenly).bincount(minlength=30) / 20_000
    )
    assert_close(shares, (logits[0] / 2).softmax(0), rtol=0, atol=2e-4)


def test_padding_is_what_the_courses_own_loop_does_and_a_padded_prompt_reads_as_alone():
    gpt, prompts = small_model("gpt_kjv").model, [[7, 8, 9, 10, 11, 12], [9, 10], [5, 6, 7]]
    ids, mask, positions = OURS["pad_left"](prompts, 0)
    decoding = Decoding(gpt, prompts, 1)
    assert torch.equal(ids, decoding.ids) and torch.equal(mask, decoding.mask)
    with torch.no_grad():
        for row, prompt in enumerate(prompts):
            assert_close(
                gpt(ids, mask, positions)[row, -1],
                gpt(torch.tensor([prompt]))[0, -1],
                rtol=1e-4,
                atol=1e-4,
            )


def test_what_is_read_is_what_the_loops_count():
    gpt = small_model("gpt_kjv").model
    for cache, key in ((False, "tokens"), (True, "tokens_cached")):
        for prompt, new in ((3, 4), (16, 20), (1, 1)):
            with torch.no_grad():
                decoding = Decoding(gpt, [list(range(prompt))], new, cache)
                decoding.start()
                for _ in range(new - 1):
                    decoding.advance(torch.tensor([5]))
            assert decoding.num_processed == OURS["predict_reading"](prompt, new)[key]


def test_pairs_are_half_of_a_dense_tables_and_its_diagonal():
    q = torch.randn(1, 1, 7, 4)
    with FlopCounterMode(display=False) as counter:
        q @ q.transpose(2, 3)
    dense = counter.get_total_flops() // (2 * 4)
    assert OURS["predict_reading"](7, 1)["pairs"] == (dense + 7) // 2 == 28


def test_a_beam_as_wide_as_all_texts_finds_the_best_of_all():
    for seed in range(5):
        rows = 2 * torch.randn(3, 3, generator=torch.Generator().manual_seed(seed))
        logs = rows.log_softmax(1)
        for penalty in (0.0, 1.0):
            texts = {
                way[: way.index(2) + 1] if 2 in way else way for way in product(range(3), repeat=4)
            }
            best = max(
                texts,
                key=lambda way: (
                    sum(logs[a, b].item() for a, b in zip((0, *way), way)) / len(way) ** penalty
                ),
            )
            assert (
                tuple(OURS["beam_search"](lambda ids: rows[ids], [0], 27, 4, 2, penalty)[0]) == best
            )


def test_the_tables_of_the_beam_checks_are_what_they_say():
    for name, kind in beam_cases.KINDS.items():
        for seed in beam_cases.SEEDS[name][:3]:
            assert beam_cases.fits(kind, beam_cases.table(kind, name, seed)), (name, seed)
    for number in range(6):
        assert all(
            searched(beam_cases.steady(number), [0, 2], *more).margin > 2e-3
            for more in beam_cases.sizes()
        )
    plain = beam_cases.Kind(5, 3, 5, 1.0, 1.0, ())
    for seed in range(
        20
    ):  # the way the checks work it out and the solution's agree, also where nothing was chosen
        arguments = beam_cases.table(plain, "any", seed)
        right = searched(*arguments)
        if right.margin > 1e-3:
            assert OURS["beam_search"](*arguments)[0] == right.ids


def test_the_code_in_the_third_hints_runs_and_solves_its_own_problem():
    names: dict = {"torch": torch}
    for id in NINE.exercises:
        for code in re.findall(r"```python\n(.*?)```", NINE.hints(id)[2].text, re.DOTALL):
            exec(code, names)
    assert names["collatz"](6, 100) == [3, 10, 5, 16, 8, 4, 2, 1] and names["collatz"](6, 2) == [
        3,
        10,
    ]
    assert names["coach_numbers"](torch.tensor([3, 1]), 3).tolist() == [[0, 1, 2], [0, 0, 0]]
    assert names["pages_read"](10, 3) == 33
    assert names["marked"](torch.tensor([[3.0, 0.0, 2.0]]), torch.tensor([3.0])).tolist() == [2]
    assert names["medals"](torch.tensor([[9.0, 8.0, 9.0, 7.0]]), torch.tensor([3])).all()
    assert names["boxes"](torch.tensor([2.0, 9.0, 5.0]), 10).tolist() == [False, True, True]
    assert_close(
        names["fees"](torch.tensor([10.0, -10.0, 5.0]), torch.tensor([1, 1, 0])),
        torch.tensor([9.0, -11.0, 5.0]),
    )
    assert [names["heaviest"]([[1], [3, 2], [1, 1, 9]], width)[0] for width in (1, 2)] == [5, 12]
    throws = iter([[1000, 990, 1010, 1003, 997, 1000], [1001, 989, 1010, 1003, 997, 1000]])
    names["test_die"](lambda n: next(throws))
    with pytest.raises(AssertionError):
        names["test_die"](lambda n: [1000] * 6)


def test_the_printed_function_is_wrong_in_its_fifth_line_alone():
    code = re.search(
        r"```python\n(def pad_left.*?)```", NINE.cells["repair_padding-card"][0].source, re.DOTALL
    )[1]
    names: dict = {"torch": torch}
    exec(code, names)
    printed, right = names["pad_left"]([[5, 6, 7], [8]], 0), OURS["pad_left"]([[5, 6, 7], [8]], 0)
    assert [torch.equal(one, other) for one, other in zip(printed, right)] == [True, True, False]
    assert (
        OURS["wrong_line"]() == 5
        and "# line 5" in code.split("\n")[5]
        and "positions" in code.split("\n")[5]
    )


def test_the_write_tests_candidates_are_honest_or_not():
    for seed in range(200):  # honest noise in two hundred seeds
        OURS["test_sampler"](sampler_candidates.honest(seed, inverted=seed % 10 == 0))
    for seed in range(5):
        for candidates in sampler_candidates.wrong(seed).values():
            for candidate in candidates:
                with pytest.raises(AssertionError):
                    OURS["test_sampler"](candidate)
    right = torch.tensor([0.4, 0.3, 0.2, 0.1, 0.0])
    for inverted in (False, True):
        sampler = sampler_candidates.honest(7, inverted)
        counts = torch.tensor([sampler(right.tolist(), 5000) for _ in range(200)]).double()
        assert_close(counts.mean(0) / 5000, right.double(), rtol=0, atol=3e-3)
        assert 0.7 < (counts.var(0)[:4] / (5000 * right * (1 - right))[:4]).mean() < 1.3


def through(name: str, function) -> float:
    """What an answer earns in which `function` does the work."""
    exercise = NINE.exercise(name)
    result = run_exercise(
        exercise, LocalStudent({**OURS, exercise.function: function}), mistakes=[]
    )
    assert {stage.status for stage in result.stages} == {"wrong"} and all(
        "withheld here" in f"{stage.cause} {stage.detail}" for stage in result.stages
    )
    return result.earned


def test_the_courses_answers_are_refused_in_words():
    assert through("keep_top_k", lambda logits, k: keep_top_k(logits, k)) == 0
    assert (
        through(
            "draw",
            lambda logits, temperature, u: invert((logits / max(temperature, 1e-4)).softmax(1), u),
        )
        == 0
    )


def test_the_students_functions_write_what_the_courses_loop_writes_and_find_its_endings():
    names = dict(OURS)
    for cell in ("real-write", "real-beams"):
        exec(NINE.cells[cell][0].source, names)
    gpt = small_model("gpt_kjv").model
    rows, right = names["in_four_ways"](gpt, [[5, 6, 7, 8], [100, 200, 300]], max_tokens=10)
    assert rows["penalty, top-k, top-p"] == right
    assert all(len(text) == 10 for texts in rows.values() for text in texts)
    found = names["endings"](gpt, [5, 6, 7], [1, 4], 5)
    for width, (new, total) in found.items():
        best = beam_search(gpt, [5, 6, 7], width, 5)[0]
        assert new == best.ids and math.isclose(total, 5 * best.score, rel_tol=1e-4)
        assert math.isclose(
            names["bits"](gpt, [5, 6, 7], new), -total / 5 / math.log(2), rel_tol=1e-4
        )

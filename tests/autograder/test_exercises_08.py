"""What is particular to chapter 8's exercises: cards, torch, transformers and published sizes as
rivals, the real thing.
"""

import re

import pytest
import torch
from torch.nn.functional import cross_entropy
from torch.testing import assert_close
from transformers import GPT2Config, GPT2LMHeadModel, OpenAIGPTConfig, OpenAIGPTLMHeadModel

from autograder.authoring.catalogue import assignment
from autograder.authoring.implementations import reference
from autograder.chapters.c08_gpt import seeing_candidates
from autograder.chapters.c08_gpt.test_model import counted, drawn, logits_of
from autograder.checks.protocol import LocalStudent, run_exercise
from reference_impl.corpora.small_models import small_model
from reference_impl.generation.scoring import score_continuations
from reference_impl.models import gpt as course_gpt
from reference_impl.models.gpt import GPT1, GPT2_LARGE, GPT2_MEDIUM, GPT2_SMALL, GPT2_XL, GPT3
from reference_impl.models.gpt_tasks import Markers
from reference_impl.objectives.causal_lm import causal_lm, ragged_batch

EIGHT = assignment("08")
OURS = reference("08")


def test_the_assignment_is_worth_fifty_eight_points():
    assert EIGHT.points == 58


def test_the_numbers_worked_out_on_the_cards_are_what_the_reference_gives():
    logits = torch.tensor(
        [[[1 / 2, 1 / 2], [1 / 8, 7 / 8], [0.9, 0.1]], [[3 / 4, 1 / 4], [0.2, 0.8], [0.1, 0.9]]]
    ).log()
    ids, mask = (
        torch.tensor([[0, 1, 0], [1, 1, 0]]),
        torch.tensor([[True, True, True], [True, True, False]]),
    )
    assert f"{OURS['next_token_loss'](logits, ids, mask).item():.3f}" == "1.386"
    logits[1, 0] = torch.tensor([0.5, 0.5]).log()
    assert f"{OURS['next_token_loss'](logits, ids, mask).item():.3f}" == "1.155"
    for norm_first, right in ((False, [0.5, 4.0]), (True, [-1.0, 2.0])):
        model = OURS["GPT"](2, 1, 2, 0, 1, norm_first)
        model.load_state_dict(
            model.state_dict()
            | {
                "tokens.weight": torch.tensor([[1.0, 0.0], [0.0, 2.0]]),
                "places.weight": torch.tensor([[0.5, 0.0]]),
            }
        )
        assert_close(model(torch.tensor([[1]])), torch.tensor([[right]]), rtol=1e-4, atol=1e-4)
    assert OURS["gpt_sizes"](10, 6, 4, 2, 2, True) == {"embeddings": 64, "block": 244, "total": 560}
    assert OURS["gpt_sizes"](10, 6, 4, 2, 2, False)["total"] == 552
    one, two, nothing = torch.tensor([1.0]), torch.tensor([2.0]), torch.tensor([0.0])
    for came, right in zip(
        OURS["adamw_step"](one, two, nothing, nothing, 1, 0.1, (0.9, 0.99), 1e-8, 0.5),
        (0.85, 0.2, 0.04),
    ):
        assert_close(came, torch.tensor([right]))
    assert OURS["combine"](
        [{"w": torch.tensor([4.0])}, {"w": torch.tensor([3.0])}], [1, 3], 9.0
    ) == ({"w": torch.tensor([1.75])}, 1.75)
    cut, length = OURS["combine"]([{"a": torch.tensor([3.0]), "b": torch.tensor([4.0])}], [1], 1.0)
    assert length == 5.0
    assert_close(cut, {"a": torch.tensor([0.6]), "b": torch.tensor([0.8])})
    ids, last = OURS["task_rows"]("choice", [[5, 6], [7], [8, 9]], (90, 91, 92), 0)
    assert ids.tolist() == [
        [90, 5, 6, 91, 7, 92, 0],
        [90, 5, 6, 91, 8, 9, 92],
    ] and last.tolist() == [5, 6]
    x, head = torch.tensor([[[1.0, 0.0], [0.0, 3.0], [9.0, 9.0]]]), torch.eye(2)
    ids, last, labels = torch.zeros(1, 3, dtype=torch.int64), torch.tensor([1]), torch.tensor([0])
    assert_close(
        OURS["joint_loss"](x, torch.ones(1, 2), head, ids, last, labels, 0.5),
        cross_entropy(torch.tensor([[0.0, 3.0]]), labels),
    )


def test_the_loss_is_torchs_the_references_and_the_librarys():
    generator = torch.Generator().manual_seed(1)
    rows = [[3, 1, 4, 1, 5], [2, 7], [6, 5, 3]]
    batch = ragged_batch(rows)
    logits = torch.randn(3, 5, 9, generator=generator)

    class Says(torch.nn.Module):
        def forward(self, ids):
            return logits[:, :-1]

    right = causal_lm(Says(), batch).mean
    assert_close(OURS["next_token_loss"](logits, batch["ids"], batch["mask"]), right)
    model = GPT2LMHeadModel(
        GPT2Config(vocab_size=9, n_positions=8, n_embd=8, n_layer=1, n_head=2)
    ).eval()
    with torch.no_grad():
        found = model(batch["ids"], attention_mask=batch["mask"].long(), labels=batch["labels"])
    assert_close(OURS["next_token_loss"](found.logits, batch["ids"], batch["mask"]), found.loss)


def library_weights(weights: dict[str, torch.Tensor], first: bool) -> dict[str, torch.Tensor]:
    """Our names as those of GPT-2's or GPT-1's published files, whose matrices stand the other way
    round.
    """
    parts = {
        "norm_1": "ln_1",
        "norm_2": "ln_2",
        "qkv": "attn.c_attn",
        "out": "attn.c_proj",
        "up": "mlp.c_fc",
        "down": "mlp.c_proj",
    }
    tables = (
        {"tokens.weight": "wte.weight", "places.weight": "wpe.weight"}
        if first
        else {"tokens.weight": "tokens_embed.weight", "places.weight": "positions_embed.weight"}
    )
    renamed = {}
    for name, tensor in weights.items():
        if name.startswith("blocks."):
            _, number, part, kind = name.split(".")
            turned = kind == "weight" and part in ("qkv", "out", "up", "down")
            renamed[f"h.{number}.{parts[part]}.{kind}"] = (
                tensor.T.contiguous() if turned else tensor
            )
        else:
            renamed[tables.get(name, name.replace("norm", "ln_f"))] = tensor
    return {f"transformer.{name}": tensor for name, tensor in renamed.items()} | {
        "lm_head.weight": weights["tokens.weight"]
    }


@pytest.mark.parametrize("first", [True, False], ids=["GPT-2", "GPT-1"])
@torch.no_grad()
def test_the_model_is_the_librarys_and_so_is_what_the_checks_work_out(first):
    generator = torch.Generator().manual_seed(2)
    shape = dict(vocab_size=11, n_positions=8, n_embd=12, n_layer=3, n_head=3)
    theirs = (
        GPT2LMHeadModel(GPT2Config(**shape))
        if first
        else OpenAIGPTLMHeadModel(OpenAIGPTConfig(**shape, afn="gelu"))
    ).eval()
    weights, ids = (
        drawn(generator, 11, 8, 12, 3, first),
        torch.randint(11, (2, 8), generator=generator),
    )
    missing, unexpected = theirs.load_state_dict(library_weights(weights, first), strict=False)
    assert not unexpected and all(
        "bias" in name or "position_ids" in name for name in missing
    )  # buffers
    right = theirs(ids).logits
    model = OURS["GPT"](11, 8, 12, 3, 3, first)
    model.load_state_dict(weights)
    assert_close(model(ids), right, rtol=1e-4, atol=1e-4)
    assert_close(logits_of(weights, ids, 3, first).float(), right, rtol=1e-4, atol=1e-4)
    assert (
        sum(one.numel() for one in theirs.parameters())
        == counted(11, 8, 12, 3, 3, first)["total"]
        == OURS["gpt_sizes"](11, 8, 12, 3, 3, first)["total"]
    )


def test_the_sizes_are_those_of_the_published_models():
    right = {
        GPT1: 116_534_784,
        GPT2_SMALL: 124_439_808,
        GPT2_MEDIUM: 354_823_168,
        GPT2_LARGE: 774_030_080,
        GPT2_XL: 1_557_611_200,
        GPT3: 174_604_259_328,
    }
    for config, total in right.items():
        assert (
            OURS["gpt_sizes"](
                config.vocab_size,
                config.max_position_embeddings,
                config.hidden_size,
                config.num_layers,
                config.num_heads,
                config.norm_first,
            )["total"]
            == total
        )


def test_twenty_steps_are_torchs_adamw():
    generator = torch.Generator().manual_seed(3)
    start, gradients = (
        torch.randn(3, 4, generator=generator),
        torch.randn(20, 3, 4, generator=generator),
    )
    theirs = torch.nn.Parameter(start.clone())
    optimizer = torch.optim.AdamW([theirs], lr=0.02, betas=(0.8, 0.95), eps=1e-3, weight_decay=0.3)
    p, m, v = start, torch.zeros(3, 4), torch.zeros(3, 4)
    for t, gradient in enumerate(gradients, 1):
        theirs.grad = gradient.clone()
        optimizer.step()
        p, m, v = OURS["adamw_step"](p, gradient, m, v, t, 0.02, (0.8, 0.95), 1e-3, 0.3)
    assert_close(p, theirs.data, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("max_norm", [0.05, 100.0])
def test_parts_combined_are_the_gradient_of_the_whole_batch_clipped_by_torch(max_norm):
    generator = torch.Generator().manual_seed(4)
    model = torch.nn.Linear(5, 7)
    x, labels = (
        torch.randn(12, 5, generator=generator),
        torch.randint(7, (12,), generator=generator),
    )
    parts = []
    for chosen in torch.arange(12).split([1, 4, 7]):
        model.zero_grad()
        cross_entropy(model(x[chosen]), labels[chosen], reduction="sum").backward()
        parts.append({name: one.grad.clone() for name, one in model.named_parameters()})
    came, length = OURS["combine"](parts, [1, 4, 7], max_norm)
    model.zero_grad()
    cross_entropy(model(x), labels).backward()
    assert length == pytest.approx(
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm).item(), rel=1e-4
    )
    assert_close(
        came, {name: one.grad for name, one in model.named_parameters()}, rtol=1e-4, atol=1e-6
    )


def test_the_rows_are_the_references_and_the_bets_too():
    markers, texts = Markers(90, 91, 92), [[5, 6], [7], [8, 9], []]
    for task, rows in {
        "classification": [markers.text(texts[0])],
        "entailment": [markers.pair(*texts[:2])],
        "similarity": markers.both_orders(*texts[:2]),
        "choice": markers.choices(texts[0], texts[1:]),
    }.items():
        ids, last = OURS["task_rows"](
            task, texts[: {"classification": 1, "choice": 4}.get(task, 2)], tuple(markers), 0
        )
        assert [row[: place + 1] for row, place in zip(ids.tolist(), last.tolist())] == rows
    kept = small_model("gpt_kjv")
    prompt, answers = (
        kept.tokenizer.encode("And the king said unto"),
        [" them, Go", " his servants", " the mountain of fire"],
    )
    rows = [kept.tokenizer.encode(answer) for answer in answers]
    scores = [
        score.per_byte(answer)
        for score, answer in zip(score_continuations(kept.model, prompt, rows), answers)
    ]
    with torch.no_grad():
        assert OURS["best_answer"](
            kept.model, prompt, rows, [len(answer.encode()) for answer in answers]
        ) == scores.index(max(scores))


def test_the_code_in_the_third_hints_runs_and_solves_its_own_problem():
    names: dict = {"torch": torch}
    for id in EIGHT.exercises:
        for code in re.findall(r"```python\n(.*?)```", EIGHT.hints(id)[2].text, re.DOTALL):
            exec(code, names)
    assert names["moves"](torch.tensor([[1.0, 4.0, 0.0]]), torch.tensor([[True, True, False]])) == 3
    assert sum(one.numel() for one in names["Tied"](10, 3).parameters()) == 33
    assert names["perceptron_size"](3, 2) == 28
    assert names["smoothed"](0.0, 50, 1) == pytest.approx((5, 50))
    assert names["mean_mark"]([9, 10], [1, 4], 3.5) == pytest.approx((3.5, 3.8))
    assert names["postcards"]("Ann", ["come home", ""])[1] == ["Hello", "Ann", "Yours", ".", "."]
    assert names["latest"](
        torch.tensor([[3.0, 4.0, 0.0], [7.0, 0.0, 0.0]]), torch.tensor([2, 1])
    ).tolist() == [4, 7]
    assert names["steepest"]([[0, 100, 200], [0, 150]], [4, 1]) == 1

    def running(numbers):
        return [sum(numbers[: end + 1]) for end in range(len(numbers))]

    names["test_running"](running)
    for broken in (lambda numbers: [sum(numbers)] * len(numbers), lambda numbers: list(numbers)):
        with pytest.raises(AssertionError):
            names["test_running"](broken)


def test_the_write_tests_candidates_keep_and_break_what_they_say():
    for candidate in seeing_candidates.RIGHT:
        OURS["test_causal"](candidate)
    for kind in seeing_candidates.WRONG.values():
        for candidate in kind:
            with pytest.raises(AssertionError):
                OURS["test_causal"](candidate)
    assert (OURS["SIZE"], OURS["PLACES"]) == (seeing_candidates.SIZE, seeing_candidates.PLACES)


@torch.no_grad()
def test_every_token_that_a_candidate_sees_moves_a_logit_by_more_than_a_hundredth():
    generator = torch.Generator().manual_seed(5)
    for candidate in [
        *seeing_candidates.RIGHT,
        *(one for kind in seeing_candidates.WRONG.values() for one in kind),
    ]:
        for length in range(1, seeing_candidates.PLACES + 1):
            ids = torch.randint(seeing_candidates.SIZE, (1, length), generator=generator)
            before = candidate(ids)
            assert before.abs().max() < 20
            for place in range(length):
                for token in set(range(seeing_candidates.SIZE)) - {int(ids[0, place])}:
                    other = ids.clone()
                    other[0, place] = token
                    moved = (candidate(other) - before).abs().amax(2)
                    assert bool(((moved < 1e-4) | (moved > 0.01)).all())


def through(name: str, function) -> float:
    """What an answer earns in which `function` does the work."""
    exercise = EIGHT.exercise(name)
    result = run_exercise(
        exercise, LocalStudent({**OURS, exercise.function: function}), mistakes=[]
    )
    assert {stage.status for stage in result.stages} == {"wrong"} and all(
        "withheld here" in f"{stage.cause} {stage.detail}" for stage in result.stages
    )
    return result.earned


def test_the_courses_answers_and_torchs_optimisers_are_refused_in_words():
    def adamw(p, g, m, v, t, rate, betas, eps, decay):
        parameter = torch.nn.Parameter(p.clone())
        parameter.grad = g
        torch.optim.AdamW([parameter], lr=rate, betas=betas, eps=eps, weight_decay=decay).step()
        return parameter.data, m, v

    def rows(task, texts, markers, pad):
        return torch.tensor([Markers(*markers).text(texts[0])]), torch.tensor([0])

    assert through("adamw_step", adamw) == 0
    assert through("task_rows", rows) == 0


def test_the_last_parts_run_and_agree_with_the_courses_training():
    names = dict(OURS)
    for cell in ("real-model", "real-training", "real-answers"):
        exec(EIGHT.cells[cell][0].source, names)
    kept = small_model("gpt_kjv")
    ids = torch.randint(1024, (2, 30), generator=torch.Generator().manual_seed(6))
    with torch.no_grad():
        assert_close(names["as_yours"](kept.model)(ids), kept.model(ids), rtol=1e-4, atol=1e-3)
    tokens = torch.randint(1024, (600,), generator=torch.Generator().manual_seed(7))
    losses = names["trained"](tokens, 2)
    torch.manual_seed(0)
    first = course_gpt.GPT(kept.model.config)
    starts = torch.randint(len(tokens) - 128, (16,), generator=torch.Generator().manual_seed(0))
    rows = tokens[starts[:, None] + torch.arange(129)]
    with torch.no_grad():
        assert losses[0] == pytest.approx(
            causal_lm(first, {"ids": rows, "labels": rows}).mean.item(), rel=1e-4
        )
    assert names["goes_on"](names["as_yours"](kept.model), [5, 6], 4, 1) == names["goes_on"](
        kept.model, [5, 6], 4, 1
    )
    assert (
        names["by_likelihood"](kept.model, kept.tokenizer.encode, names["SENTENCES"][0])
        in names["ANSWERS"]
    )

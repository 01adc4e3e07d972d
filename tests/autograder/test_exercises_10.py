"""What is particular to chapter 10's exercises: cards, libraries as rivals, the real thing."""

import re

import pytest
import torch
from peft import LoraConfig, get_peft_model
from scipy.stats import zscore
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, kl_div
from torch.testing import assert_close

from autograder.authoring.catalogue import assignment
from autograder.authoring.implementations import reference
from autograder.chapters.c10_adapting_and_prompting import label_candidates
from autograder.checks.protocol import LocalStudent, run_exercise
from reference_impl.objectives import dpo, grpo, logprobs, ppo
from reference_impl.objectives.supervised import ChatML, Message
from reference_impl.tokenizers.chat import render_chat

TEN = assignment("10")
OURS = reference("10")
CHATML = (
    "{% for message in messages %}{{ '<' + message.role + '\\n' + message.content + '>\\n' }}{%"
    " endfor %}"
)
CHAT = [
    {"role": "system", "content": "be brief"},
    {"role": "user", "content": "which bank?\nthe one"},
    {"role": "assistant", "content": "money"},
    {"role": "user", "content": ""},
    {"role": "assistant", "content": "river"},
]


def letters(text: str) -> list[int]:
    """One id a character."""
    return [ord(one) for one in text]


def test_the_assignment_is_worth_fifty_six_points():
    assert TEN.points == 56


def test_the_numbers_worked_out_on_the_cards_are_what_the_reference_gives():
    ids = {"user": 10, "\n": 3, "bank?": 11, "assistant": 12, "money": 13}
    made = OURS["chat_example"](
        [{"role": "user", "content": "bank?"}, {"role": "assistant", "content": "money"}],
        lambda text: [ids[text]],
        1,
        2,
    )
    assert made == ([1, 10, 3, 11, 2, 3, 1, 12, 3, 13, 2, 3], [-100] * 9 + [13, 2, -100])
    assert OURS["predict_lora"](3, 2, 1, 1, 4) == {"learned": 5, "file": 20, "merged": 6}
    layer = OURS["LoRALinear"](torch.eye(3)[:2], torch.zeros(2), 1, 2.0)
    layer.a.data, layer.b.data = torch.tensor([[1.0, 0.0, 2.0]]), torch.tensor([[1.0], [-1.0]])
    assert layer(torch.tensor([1.0, 2.0, 3.0])).tolist() == [15.0, -12.0]
    layer.merge()
    assert layer.weight.tolist() == [[3.0, 0.0, 4.0], [-2.0, 1.0, -4.0]]
    table = torch.tensor(
        [[[0.5, 0.25, 0.25], [0.125, 0.125, 0.75], [0.25, 0.25, 0.5], [0.1, 0.1, 0.8]]]
    ).log()
    assert (
        f"{OURS['sequence_logprobs'](table, torch.tensor([[-100, -100, 1, 2]])).item():.3f}"
        == "-2.773"
    )
    three, zero = torch.tensor([3.0]).log(), torch.zeros(1)
    assert f"{OURS['reward_loss'](three, zero).item():.3f}" == "0.288"
    chosen, rejected = (one.clone().requires_grad_() for one in (three, -three))
    loss = OURS["dpo_loss"](chosen, rejected, zero, zero, 0.5)
    loss.backward()
    assert (
        f"{loss.item():.3f} {chosen.grad.item():.3f} {rejected.grad.item():.3f}"
        == "0.288 -0.125 0.125"
    )
    found, returns = OURS["advantages"](
        torch.tensor([[0.0, 0.0, 4.0]]), torch.full((1, 3), 2.0), torch.ones(1, 3) == 1, 1.0, 0.5
    )
    assert found.tolist() == [[0.5, 1.0, 2.0]] and returns.tolist() == [[2.5, 3.0, 4.0]]
    for sign, right in ((2.0, -2.4), (-2.0, 3.0)):
        assert_close(
            OURS["clipped_loss"](
                torch.tensor([[1.5]]).log(), torch.zeros(1, 1), torch.tensor([sign]), 0.2
            ),
            torch.tensor(right),
        )
    assert OURS["group_advantages"](torch.tensor([[1.0, 0.0, 0.0, 1.0]])).tolist() == [
        [1, -1, -1, 1]
    ]
    assert [
        f"{one:.3f}"
        for one in OURS["k3"](torch.zeros(1, 2), torch.tensor([[2.0, 0.5]]).log())[0].tolist()
    ] == ["0.307", "0.193"]


def test_a_chat_is_laid_out_as_the_template_writes_it_and_learned_as_the_reference_learns_it():
    ids, labels = OURS["chat_example"](CHAT, letters, ord("<"), ord(">"))
    assert "".join(map(chr, ids)) == render_chat(CHATML, CHAT)
    theirs = ChatML(letters, 1, 2).example(
        [Message(one["role"], one["content"] or "?") for one in CHAT]
    )
    assert OURS["chat_example"](
        [one | {"content": one["content"] or "?"} for one in CHAT], letters, 1, 2
    ) == tuple(theirs)


def test_the_layer_is_peft_s():
    torch.manual_seed(3)
    base = nn.Sequential(nn.Linear(5, 4))
    weight, bias, x = (
        base[0].weight.detach().clone(),
        base[0].bias.detach().clone(),
        torch.randn(7, 5),
    )
    theirs = get_peft_model(base, LoraConfig(r=3, lora_alpha=7, target_modules=["0"]))
    layer, own = theirs.base_model.model[0], OURS["LoRALinear"](weight, bias, 3, 7)
    nn.init.normal_(layer.lora_B["default"].weight)
    own.load_state_dict(
        {
            "weight": weight,
            "bias": bias,
            "a": layer.lora_A["default"].weight,
            "b": layer.lora_B["default"].weight,
        }
    )
    assert_close(own(x), theirs(x))
    learned = sum(one.numel() for one in theirs.parameters() if one.requires_grad)
    assert OURS["predict_lora"](5, 4, 3, 1, 4) == {
        "learned": learned,
        "file": 4 * learned,
        "merged": weight.numel(),
    }
    layer.merge()
    own.merge()
    assert_close(own.weight, layer.base_layer.weight)
    assert_close(own(x), theirs(x))
    own.unmerge()
    assert_close(own.weight, nn.Parameter(weight, requires_grad=False))


def test_answers_are_as_likely_as_torch_says_and_the_preferences_cost_the_same():
    generator = torch.Generator().manual_seed(1)
    logits, ids = (
        torch.randn(3, 6, 9, generator=generator),
        torch.randint(9, (3, 6), generator=generator),
    )
    labels = torch.where(torch.arange(6) > 2, ids, -100)
    own = OURS["sequence_logprobs"](logits, labels)
    assert_close(
        own, -cross_entropy(logits[:, 2:5].transpose(1, 2), ids[:, 3:], reduction="none").sum(1)
    )

    class Said(nn.Module):
        def forward(self, ids):
            return logits[:, : ids.shape[1]]

    assert_close(own, logprobs.sequence_logprobs(Said(), {"ids": ids, "labels": labels}))
    pairs = -10 * torch.rand(4, 8, generator=generator)
    difference = 0.3 * (pairs[0] - pairs[2] - pairs[1] + pairs[3])
    assert_close(
        OURS["dpo_loss"](*pairs, 0.3), binary_cross_entropy_with_logits(difference, torch.ones(8))
    )
    assert_close(
        OURS["dpo_loss"](*pairs, 0.3),
        dpo.dpo_terms(torch.cat((pairs[0], pairs[1])), torch.cat((pairs[2], pairs[3])), 0.3).mean,
    )
    assert_close(
        OURS["reward_loss"](pairs[0], pairs[1]),
        binary_cross_entropy_with_logits(pairs[0] - pairs[1], torch.ones(8)),
    )


def test_advantages_are_the_reference_s_and_telescope():
    generator = torch.Generator().manual_seed(2)
    rewards, values = torch.randn(2, 3, 7, generator=generator)
    mask = (torch.arange(7) > 1) & (torch.arange(7) < torch.tensor([5, 7, 3])[:, None])
    for discount, decay in ((1.0, 0.95), (0.9, 0.5), (0.5, 0.0)):
        for own, theirs in zip(
            OURS["advantages"](rewards, values, mask, discount, decay),
            ppo.advantages(rewards, values, mask, discount, decay),
            strict=True,
        ):
            assert_close(own, theirs)
    found, returns = OURS["advantages"](
        rewards, values, mask, 1.0, 1.0
    )  # the whole return, less what was expected
    to_come = (rewards * mask).flip(1).cumsum(1).flip(1) * mask
    assert_close(returns, to_come)
    assert_close(found, to_come - values * mask)


def test_the_clipped_loss_is_the_reference_s():
    generator = torch.Generator().manual_seed(4)
    own, old = -3 * torch.rand(2, 5, 6, generator=generator)
    gained = torch.randn(5, generator=generator)
    assert_close(
        OURS["clipped_loss"](own, old, gained, 0.2),
        ppo.clipped_policy_loss(own, old, gained[:, None], 0.2).mean(),
    )


def test_groups_are_scipy_s_scores_and_k3_is_the_divergence_in_the_mean():
    generator = torch.Generator().manual_seed(5)
    rewards = torch.rand(4, 8, generator=generator)
    assert_close(
        OURS["group_advantages"](rewards),
        torch.from_numpy(zscore(rewards.double().numpy(), axis=1)).float(),
    )
    rewards[1] = 0.1
    assert_close(OURS["group_advantages"](rewards), grpo.group_advantages(rewards))
    p, q = torch.randn(2, 1, 12, generator=generator).log_softmax(2)
    assert_close((p.exp() * OURS["k3"](p, q)).sum(), kl_div(q, p, reduction="sum", log_target=True))
    assert_close(OURS["k3"](p, q), grpo.distance(p, q))


def test_the_code_in_the_third_hints_runs_and_solves_its_own_problem():
    names: dict = {"torch": torch, "nn": nn}
    for id in TEN.exercises:
        for code in re.findall(r"```python\n(.*?)```", TEN.hints(id)[2].text, re.DOTALL):
            exec(code, names)
    assert names["lines_of"]([("Ann", "oh no"), ("Bo", "why")], "Bo") == (
        ["Ann:", "oh", "no", "Bo:", "why"],
        [None, None, None, None, "why"],
    )
    assert names["stored"](100, 50) == {"table": 5000, "coordinates": 300}
    shifted = names["Shifted"](torch.tensor([1.0, 2.0]))
    shifted.double()
    assert shifted(torch.ones(2)).tolist() == [3, 5]
    assert (
        names["spent"](
            torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), torch.tensor([-1, 1, -1])
        )
        == 2
    )
    assert_close(
        names["surprise"](torch.tensor([100.0]), torch.tensor([100.0])), torch.tensor(2.0).log()
    )
    assert names["ways"](torch.tensor([[3.0, 1.0, 2.0]])).tolist() == [[6, 3, 2]]
    assert names["price"](150, 100) == 120
    assert names["curved"](torch.tensor([[1.0, 3.0], [2.0, 2.0]])).tolist() == [[0, 1], [0.5, 0.5]]

    def centred(word, width):
        return word.center(width, ".")

    names["test_centred"](centred)
    for broken in (
        lambda word, width: word.ljust(width, "."),
        lambda word, width: word.center(width + 1, "."),
    ):
        with pytest.raises(AssertionError):
            names["test_centred"](broken)


def test_the_write_tests_candidates_keep_and_break_what_they_say():
    for maker in label_candidates.RIGHT:
        OURS["test_labels"](maker)
    for kind in label_candidates.WRONG.values():
        for maker in kind:
            with pytest.raises(AssertionError):
                OURS["test_labels"](maker)


def through(name: str, function) -> float:
    """What an answer earns in which `function` does the work."""
    exercise = TEN.exercise(name)
    result = run_exercise(
        exercise, LocalStudent({**OURS, exercise.function: function}), mistakes=[]
    )
    assert any("withheld here" in f"{stage.cause} {stage.detail}" for stage in result.stages)
    return result.earned


def test_the_courses_answers_are_refused_in_words():
    from reference_impl.layers.lora import LoRALinear

    assert (
        through(
            "chat_example",
            lambda messages, encode, start, end: tuple(
                ChatML(encode, start, end).example([Message(**one) for one in messages])
            ),
        )
        == 0
    )
    assert (
        through(
            "LoRALinear",
            lambda weight, bias, r, alpha: LoRALinear(nn.Linear(*weight.shape[::-1]), r, alpha),
        )
        == 0
    )
    assert through("advantages", ppo.advantages) == 0
    assert through("group_advantages", grpo.group_advantages) == 2.5  # k3 is the reference's here


def test_the_students_functions_adapt_the_bibles_gpt_and_improve_the_sums():
    names = dict(OURS)
    for cell in ("real-lora", "real-grpo"):
        exec(TEN.cells[cell][0].source, names)
    tokenizer = names["small_model"]("gpt_kjv").tokenizer
    start, end = names["marks"](tokenizer)
    lines = [
        "bank sloping land",
        "river a large natural stream of water",
        "king a male sovereign",
        "loan the temporary provision of money",
    ]
    chats = names["chats_of"](lines, tokenizer)
    assert len(chats) == 4 and all(
        ids.count(start) == ids.count(end) == 2 and labels.count(end) == 1 for ids, labels in chats
    )
    assert (
        tokenizer.decode([label for label in chats[0][1] if label not in (-100, end)])
        == "sloping land"
    )
    yours, base = names["with_yours"](4, 8.0), names["small_model"]("gpt_kjv").model
    ids, labels = names["batch_of"](chats)
    with torch.no_grad():
        assert torch.equal(yours(ids), base(ids))  # a fresh layer changes no bit
        before = names["nats_per_token"](yours, chats).item()
    assert_close(
        before,
        cross_entropy(base(ids)[:, :-1].flatten(0, 1), labels[:, 1:].flatten()).item(),
        rtol=1e-5,
        atol=1e-5,
    )
    frozen = {name: one.clone() for name, one in yours.named_parameters() if not one.requires_grad}
    names["adapted"](yours, chats, 8, 5e-3)
    assert names["nats_per_token"](yours, chats).item() < before - 0.5
    assert all(
        torch.equal(one, frozen[name]) for name, one in yours.named_parameters() if name in frozen
    )
    model = names["small_model"]("sums_early").model
    rows, mask, rewards = names["sampled"](model, 1, ["381904", "000001"], 3)
    assert (
        rewards.shape == (2, 3)
        and mask.shape == (6, rows.shape[1] - 1)
        and mask[:, 6].all()
        and not mask[:, :6].any()
    )
    with torch.no_grad():
        assert_close(
            names["token_logprobs"](model, rows),
            logprobs.token_logprobs(model(rows)[:, :-1], rows[:, 1:]),
            rtol=1e-4,
            atol=1e-5,
        )

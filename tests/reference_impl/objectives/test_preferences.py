"""Log-probabilities, reward models and DPO: by hand, against torch, and gradients by differences in
float64.
"""

import math

import pytest
import torch

from reference_impl.layers.checks import ModelInputError
from reference_impl.objectives.batches import ObjectiveError
from reference_impl.objectives.dpo import dpo, dpo_terms, with_reference
from reference_impl.objectives.logprobs import answer_logprobs, sequence_logprobs, token_logprobs
from reference_impl.objectives.preferences import Preference, preference_batch
from reference_impl.objectives.reward_model import RewardModel, bradley_terry, pairwise_reward

PAIRS = [Preference([3, 4], [5, 6, 1], [7, 1]), Preference([8], [9, 1], [10, 11, 12, 1])]
DOUBLE = {"dtype": torch.float64}


@pytest.fixture
def batch():
    return preference_batch(PAIRS)


def test_logprobs_are_log_softmax_picked_and_keep_no_second_copy_of_the_logits(generator):
    logits = torch.randn(3, 4, 50, generator=generator, **DOUBLE).requires_grad_()
    tokens = torch.randint(50, (3, 4), generator=generator)
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(
        lambda tensor: kept.append(tensor) or tensor, lambda tensor: tensor
    ):
        found = token_logprobs(logits, tokens)
    torch.testing.assert_close(
        found, logits.log_softmax(-1).gather(-1, tokens[..., None]).squeeze(-1)
    )
    copies = {tensor.data_ptr() for tensor in kept if tensor.numel() == logits.numel()}
    assert copies == {logits.data_ptr()}
    assert torch.autograd.gradcheck(lambda x: token_logprobs(x, tokens), logits)


def test_log_probabilities_of_half_precision_logits_are_worked_in_float32():
    logits = (torch.randn(64, 30_000, generator=torch.Generator().manual_seed(0)) * 3).bfloat16()
    tokens = torch.arange(64)
    exact = logits.double().log_softmax(-1).gather(1, tokens[:, None]).squeeze(1)
    torch.testing.assert_close(token_logprobs(logits, tokens).double(), exact, rtol=0, atol=1e-4)


def test_a_row_sums_the_answers_tokens_and_neither_prompt_nor_padding(gpt, batch):
    assert batch["ids"].tolist() == [
        [3, 4, 5, 6, 1],
        [8, 9, 1, 0, 0],
        [3, 4, 7, 1, 0],
        [8, 10, 11, 12, 1],
    ]
    found = sequence_logprobs(gpt, batch)
    rows = [(pair.prompt, answer) for pair in PAIRS for answer in [pair.chosen]]
    rows += [(pair.prompt, pair.rejected) for pair in PAIRS]
    for value, (prompt, answer) in zip(found, rows):
        ids = torch.tensor([[*prompt, *answer]])
        logprobs = gpt(ids).log_softmax(-1)[0]
        places = range(len(prompt) - 1, len(prompt) + len(answer) - 1)
        torch.testing.assert_close(
            value, sum(logprobs[place, ids[0, place + 1]] for place in places)
        )
    assert (answer_logprobs(gpt, batch) != 0).sum(1).tolist() == [3, 2, 2, 4]


def test_bradley_terry_is_the_formula_by_hand():
    # rewards 2 and 1: preferred with chance 1 / (1 + e^-1)
    found = bradley_terry(torch.tensor([2.0, 0.0]), torch.tensor([1.0, 0.0]))
    assert math.isclose(
        found.mean.item(), (math.log(1 + math.exp(-1)) + math.log(2)) / 2, rel_tol=1e-6
    )
    surer = bradley_terry(torch.tensor([2.0]), torch.tensor([1.0]), torch.tensor([1.0]))
    assert math.isclose(surer.mean.item(), math.log(2), rel_tol=1e-6)
    assert (
        bradley_terry(torch.tensor([-200.0]), torch.tensor([0.0])).mean.item() == 200.0
    )  # no infinity


def test_a_reward_is_read_at_the_last_token_whatever_the_padding(gpt, batch):
    model = RewardModel(gpt).double()
    rewards = model(batch["ids"], batch["mask"])
    alone = [
        model.scores.score(gpt.hidden(row[mask][None]))[0, -1, 0]
        for row, mask in zip(batch["ids"], batch["mask"])
    ]
    torch.testing.assert_close(rewards, torch.stack(alone))


def test_the_pairwise_loss_sets_row_i_against_row_b_plus_i_and_takes_margins(gpt, batch):
    model = RewardModel(gpt).double()
    rewards = model(batch["ids"], batch["mask"]).tolist()
    expected = [
        math.log(1 + math.exp(-(rewards[i] - rewards[i + 2] - margin)))
        for i, margin in enumerate((0.5, 2.0))
    ]
    found = pairwise_reward(model, {**batch, "margins": torch.tensor([0.5, 2.0], **DOUBLE)})
    assert math.isclose(found.total.item(), sum(expected), rel_tol=1e-9)
    assert found.count == 2
    found.mean.backward()
    assert model.scores.score.weight.grad.abs().max() > 1e-4


def test_dpo_is_log_2_where_the_policy_is_still_the_reference(gpt, batch):
    found = dpo(gpt, with_reference(gpt, batch), beta=0.3)
    assert math.isclose(found.mean.item(), math.log(2), rel_tol=1e-12)
    assert found.count == 2


def test_dpo_is_the_formula_by_hand():
    # chosen became likelier by 2, rejected less likely by 1: margin 0.5 * 3
    found = dpo_terms(
        torch.tensor([-3.0, -8.0], **DOUBLE), torch.tensor([-5.0, -7.0], **DOUBLE), beta=0.5
    )
    assert math.isclose(found.mean.item(), math.log(1 + math.exp(-1.5)), rel_tol=1e-12)
    smoothed = dpo_terms(
        torch.tensor([-3.0, -8.0], **DOUBLE),
        torch.tensor([-5.0, -7.0], **DOUBLE),
        0.5,
        smoothing=0.2,
    )
    by_hand = 0.8 * math.log(1 + math.exp(-1.5)) + 0.2 * math.log(1 + math.exp(1.5))
    assert math.isclose(smoothed.mean.item(), by_hand, rel_tol=1e-12)


@pytest.mark.parametrize("smoothing", [0.0, 0.3])
def test_dpos_gradient_is_that_of_differences_and_raises_chosen_and_lowers_rejected(
    smoothing, generator
):
    logprobs = torch.randn(6, generator=generator, **DOUBLE).requires_grad_()
    reference = torch.randn(6, generator=generator, **DOUBLE)
    assert torch.autograd.gradcheck(
        lambda x: dpo_terms(x, reference, 0.4, smoothing).total, logprobs
    )
    dpo_terms(logprobs, reference, 0.4).total.backward()
    assert (logprobs.grad[:3] < 0).all()
    assert (logprobs.grad[3:] > 0).all()


def test_a_step_of_dpo_moves_the_preference_the_right_way(gpt, batch):
    batch = with_reference(gpt, batch)
    optimizer = torch.optim.SGD(gpt.parameters(), lr=0.05)
    dpo(gpt, batch, beta=1.0).mean.backward()
    optimizer.step()
    chosen, rejected = (sequence_logprobs(gpt, batch) - batch["reference_logprobs"]).chunk(2)
    assert ((chosen - rejected) > 0).all()
    assert dpo(gpt, batch, beta=1.0).mean.item() < math.log(2)


@pytest.mark.parametrize(
    "make, says",
    [
        (
            lambda: preference_batch([Preference([3], [4], [4])]),
            "example 0 has the same answer twice",
        ),
        (lambda: preference_batch([Preference([3], [], [4])]), "the answer has no tokens"),
        (lambda: preference_batch([]), "no examples"),
        (lambda: dpo_terms(torch.zeros(2), torch.zeros(2), beta=0.0), "beta is 0.0"),
        (lambda: dpo_terms(torch.zeros(2), torch.zeros(2), smoothing=1.5), "smoothing is 1.5"),
        (lambda: dpo_terms(torch.zeros(3), torch.zeros(3)), "3 rows are no pairs"),
        (lambda: token_logprobs(torch.zeros(1, 4), torch.tensor([4])), "label 4 but 4 classes"),
    ],
)
def test_preferences_that_are_none_are_refused(make, says):
    with pytest.raises(ObjectiveError, match=says):
        make()


@pytest.mark.usefixtures("as_students_run_it")
def test_a_reference_in_training_or_missing_and_a_mask_of_numbers_are_refused(gpt, batch):
    with pytest.raises(ObjectiveError, match="no reference_logprobs"):
        dpo(gpt, batch)
    with pytest.raises(ObjectiveError, match="call eval"):
        with_reference(gpt.train(), batch)
    with pytest.raises(ModelInputError, match="the mask is torch.float32"):
        RewardModel(gpt).double()(batch["ids"], batch["mask"].float())
    with pytest.raises(ObjectiveError, match="3 rows are no pairs"):
        pairwise_reward(
            RewardModel(gpt).double(), {name: tensor[:3] for name, tensor in batch.items()}
        )

"""Orders by hand and counted; the loss and what each place may see with XLNetLMHeadModel of
transformers.
"""

import pytest
import torch
import transformers

from reference_impl.objectives.batches import ObjectiveError
from reference_impl.objectives.permutation import GIVEN, Permutation, permutation_lm, visible
from reference_impl.objectives.terms import IGNORED

PERMUTATION = Permutation(special_ids=(0, 1, 2))
ROWS = [[*range(5, 23), 2, 1], [*range(8, 14), 2, 1]]


class TheirXLNet(torch.nn.Module):
    """transformers' model behind our call."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.xlnet = transformers.XLNetLMHeadModel(
            transformers.XLNetConfig(vocab_size=31, d_model=12, n_layer=2, n_head=3, d_inner=17)
        ).eval()  # its positions are float32
        for parameter in self.xlnet.parameters():
            torch.nn.init.normal_(parameter, std=0.3)

    def forward(self, ids, mask, visible, targets):
        return self.xlnet(ids, perm_mask=(~visible).float(), target_mapping=targets.float()).logits


@pytest.fixture(scope="module")
def model():
    return TheirXLNet()


def test_what_is_said_later_sees_what_was_said_before_and_nobody_sees_itself_unless_given():
    turns = torch.tensor([[1, GIVEN, 0, GIVEN]])
    mask = torch.tensor([[True, True, True, False]])
    assert visible(turns, mask)[0].int().tolist() == [
        [0, 1, 1, 0],
        [0, 1, 0, 0],
        [0, 1, 0, 0],
        [0, 1, 0, 0],
    ]


def test_a_sixth_of_the_ordinary_tokens_is_predicted_each_equally_often(generator):
    counts = torch.zeros(20)
    for _ in range(1500):
        batch = PERMUTATION(ROWS, generator)
        assert (batch["labels"] != IGNORED).sum(1).tolist() == [3, 1]
        counts += batch["targets"][0].sum(0)
    assert not counts[18:].any()
    assert (counts[:18] - 250).abs().max() < 4 * (1500 / 6 * 5 / 6) ** 0.5


def test_every_order_of_the_predicted_places_comes_as_often(generator):
    collate = Permutation(special_ids=(), predicted=1.0)
    orders = [tuple(collate([[5, 6, 7]], generator)["labels"][0].tolist()) for _ in range(3000)]
    assert len(set(orders)) == 6
    assert all(abs(orders.count(order) - 500) < 4 * (500 * 5 / 6) ** 0.5 for order in set(orders))


def test_predictions_come_in_the_order_of_their_turns(generator):
    batch = Permutation(special_ids=(), predicted=1.0)([[5, 6, 7, 8]], generator)
    place = batch["targets"][0].int().argmax(1)
    assert [batch["visible"][0, at].sum().item() for at in place] == [0, 1, 2, 3]
    assert batch["ids"][0, place].tolist() == batch["labels"][0].tolist()


def test_the_loss_is_that_of_xlnet_in_transformers(model, generator):
    batch = PERMUTATION(ROWS, generator)
    expected = model.xlnet(
        batch["ids"],
        attention_mask=batch["mask"].float(),
        perm_mask=(~batch["visible"]).float(),
        target_mapping=batch["targets"].float(),
        labels=batch["labels"],
    ).loss
    found = permutation_lm(model, batch)
    torch.testing.assert_close(found.mean, expected, rtol=1e-5, atol=0)
    assert found.count == 4


def test_no_prediction_depends_on_its_own_token_or_on_later_ones_and_each_on_those_before(
    model, generator
):
    batch = Permutation(special_ids=(), predicted=0.5)([list(range(5, 13))], generator)
    place = batch["targets"][0].int().argmax(1)

    def logits(ids):
        return model(ids, batch["mask"], batch["visible"], batch["targets"])[0]

    before = logits(batch["ids"])
    for turn, at in enumerate(place.tolist()):
        changed = batch["ids"].clone()
        changed[0, at] = 30
        moved = (logits(changed) - before).abs().amax(-1) > 1e-4
        assert moved.tolist() == [later > turn for later in range(4)]


def test_the_same_seed_gives_the_same_batch(generator):
    first, again = PERMUTATION(ROWS, generator), PERMUTATION(ROWS, torch.Generator().manual_seed(0))
    assert all(torch.equal(first[name], again[name]) for name in first)


@pytest.mark.parametrize(
    "rows, says",
    [([[5], []], "example 1 has no tokens"), ([[5], [2, 1]], "example 1 has special tokens only")],
)
def test_texts_without_anything_to_predict_are_refused(generator, rows, says):
    with pytest.raises(ObjectiveError, match=says):
        PERMUTATION(rows, generator)


def test_a_share_that_is_none_is_refused():
    with pytest.raises(ObjectiveError, match="predicted is 6.0"):
        Permutation(special_ids=(), predicted=6.0)

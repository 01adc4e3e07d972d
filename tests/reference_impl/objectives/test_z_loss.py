"""The z-loss beside its formula and its gradient by hand."""

import torch
from torch import nn

from reference_impl.objectives.causal_lm import causal_lm
from reference_impl.objectives.z_loss import causal_lm_with_z_loss


class Table(nn.Module):
    """Logits that depend on the token alone."""

    def __init__(self):
        super().__init__()
        self.logits = nn.Parameter(torch.randn(7, 7, dtype=torch.float64))

    def forward(self, ids):
        return self.logits[ids]


def test_value_and_gradient_are_those_of_the_formula_and_padding_counts_nothing():
    torch.manual_seed(0)
    model = Table()
    ids = torch.randint(7, (3, 5))
    labels = ids.clone()
    labels[1, 3:] = -100
    batch = {"ids": ids, "labels": labels}
    extra = causal_lm_with_z_loss(model, batch, 0.5)
    plain = causal_lm(model, batch)
    log_z = torch.log(model(ids[:, :-1]).exp().sum(-1))[labels[:, 1:] != -100]
    torch.testing.assert_close(extra.total - plain.total, 0.5 * (log_z**2).sum())
    assert extra.count == plain.count == 10
    (found,) = torch.autograd.grad(extra.total - plain.total, model.logits)
    p = model.logits.detach().softmax(-1)
    expected = torch.zeros_like(found)
    for token, value in zip(ids[:, :-1][labels[:, 1:] != -100], log_z.detach(), strict=True):
        expected[token] += 2 * 0.5 * value * p[token]
    torch.testing.assert_close(found, expected)


def test_a_level_shared_by_all_logits_changes_the_z_loss_only():
    torch.manual_seed(1)
    model, batch = Table(), {"ids": torch.tensor([[1, 2, 3]]), "labels": torch.tensor([[1, 2, 3]])}
    before = causal_lm(model, batch).total.item(), causal_lm_with_z_loss(model, batch).total.item()
    with torch.no_grad():
        model.logits += 20
    after = causal_lm(model, batch).total.item(), causal_lm_with_z_loss(model, batch).total.item()
    assert abs(after[0] - before[0]) < 1e-9 and after[1] > before[1] + 0.05

"""The plain network, its gradient by hand and the GRU, each against torch's in float64."""

import pytest
import torch
from torch import nn

from reference_impl.models.recurrent import GRUCell, RNNWeights, backward_through_time, rnn

SIZES = pytest.mark.parametrize("B, T, D, H", [(1, 1, 1, 1), (2, 5, 3, 4), (3, 9, 2, 6)])


def drawn(B, T, D, H):
    """Torch's network with its weights as ours (it has two biases), a text and a start state."""
    torch.manual_seed(0)
    theirs = nn.RNN(D, H, batch_first=True).double()
    bias = theirs.bias_ih_l0 + theirs.bias_hh_l0
    weights = RNNWeights(theirs.weight_ih_l0, theirs.weight_hh_l0, bias)
    x, start = torch.randn(B, T, D).double(), torch.randn(B, H).double()
    return theirs, weights, x, start.requires_grad_()


@SIZES
def test_the_states_are_torchs(parity, B, T, D, H):
    theirs, weights, x, start = drawn(B, T, D, H)
    parity.assert_close(rnn(x, weights, start), theirs(x, start[None])[0])


@SIZES
def test_the_gradient_by_hand_is_autograds_of_torchs_network(parity, B, T, D, H):
    theirs, weights, x, start = drawn(B, T, D, H)
    states = theirs(x, start[None])[0]
    from_losses = torch.randn(B, T, H).double()
    (states * from_losses).sum().backward()
    with torch.no_grad():
        found, of_start = backward_through_time(x, states, weights, start, from_losses)
    parity.assert_close(found.w_x, theirs.weight_ih_l0.grad)
    parity.assert_close(found.w_h, theirs.weight_hh_l0.grad)
    parity.assert_close(found.b, theirs.bias_ih_l0.grad)
    parity.assert_close(of_start, start.grad)


def test_a_gradient_cut_after_one_step_is_another_one(parity):
    """What a loop that forgets the way through later steps would give."""
    theirs, weights, x, start = drawn(2, 5, 3, 4)
    states = theirs(x, start[None])[0]
    from_losses = torch.randn(2, 5, 4).double()
    with torch.no_grad():
        found, _ = backward_through_time(x, states, weights, start, from_losses)
        delta = (1 - states**2) * from_losses
        cut = torch.einsum("bth,btd->hd", delta, x)
    assert (cut - found.w_x).abs().max() > 1e-2


@SIZES
def test_a_step_of_the_gru_is_torchs(parity, B, T, D, H):
    torch.manual_seed(0)
    ours, theirs = GRUCell(D, H).double(), nn.GRUCell(D, H).double()
    theirs.load_state_dict(
        {
            "weight_ih": ours.input.weight,
            "bias_ih": ours.input.bias,
            "weight_hh": ours.recurrent.weight,
            "bias_hh": ours.recurrent.bias,
        }
    )
    x, h = torch.randn(B, D).double(), torch.randn(B, H).double()
    parity.assert_close(ours(x, h), theirs(x, h))
    (ours(x, h) ** 2).sum().backward()
    (theirs(x, h) ** 2).sum().backward()
    parity.assert_close(ours.recurrent.weight.grad, theirs.weight_hh.grad)

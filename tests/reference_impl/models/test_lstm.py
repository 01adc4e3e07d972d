"""The LSTM by hand against torch's: the same weights, then outputs, states and gradients in
float64.
"""

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from reference_impl.layers.checks import ModelInputError
from reference_impl.models.lstm import LSTM, LSTMCell, LSTMConfig, LSTMLanguageModel, run

TINY = [  # input size, hidden size, layers, both directions, lengths
    (3, 5, 1, False, [4, 1]),
    (6, 4, 3, False, [5, 7, 2]),
    (2, 3, 1, True, [6, 6]),
    (5, 7, 2, True, [3, 9, 1, 6]),
]
EACH = pytest.mark.parametrize("input_size, hidden_size, num_layers, bidirectional, lengths", TINY)


def torchs_state(cells):
    """Our cells' weights under torch's names; torch has two biases, of which only the sum
    counts.
    """
    state = {}
    for layer, pair in enumerate(cells):
        for cell, end in zip(pair, ("", "_reverse")):
            state |= {
                f"weight_ih_l{layer}{end}": cell.input.weight,
                f"weight_hh_l{layer}{end}": cell.recurrent.weight,
                f"bias_ih_l{layer}{end}": cell.input.bias * 0.25,
                f"bias_hh_l{layer}{end}": cell.input.bias * 0.75,
            }
            if isinstance(cell.projection, nn.Linear):
                state[f"weight_hr_l{layer}{end}"] = cell.projection.weight
    return state


def assert_same_gradients(cells, theirs, parity):
    """Of the parameters, by name; each of torch's two biases has the gradient of our one."""
    expected = {name: parameter.grad for name, parameter in theirs.named_parameters()}
    for layer, pair in enumerate(cells):
        for cell, end in zip(pair, ("", "_reverse")):
            parity.assert_close(cell.input.weight.grad, expected[f"weight_ih_l{layer}{end}"])
            parity.assert_close(cell.recurrent.weight.grad, expected[f"weight_hh_l{layer}{end}"])
            parity.assert_close(cell.input.bias.grad, expected[f"bias_ih_l{layer}{end}"])
            assert cell.recurrent.weight.grad.abs().max() > 1e-3


@EACH
def test_outputs_states_and_gradients_are_torchs_also_for_ragged_lengths(
    parity, input_size, hidden_size, num_layers, bidirectional, lengths
):
    torch.manual_seed(0)
    ours = LSTM(input_size, hidden_size, num_layers, bidirectional).double()
    theirs = nn.LSTM(
        input_size, hidden_size, num_layers, bidirectional=bidirectional, batch_first=True
    ).double()
    theirs.load_state_dict(torchs_state(ours.layers))
    x = torch.randn(len(lengths), max(lengths), input_size, dtype=torch.float64, requires_grad=True)
    same_x = x.detach().clone().requires_grad_()
    mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    packed = pack_padded_sequence(
        same_x, torch.tensor(lengths), batch_first=True, enforce_sorted=False
    )
    output, (shown, kept) = theirs(packed)
    output, _ = pad_packed_sequence(output, batch_first=True)
    found, states = ours(x, mask)
    parity.assert_close(found, output)
    parity.assert_close(torch.stack([state[0] for state in states]), shown)
    parity.assert_close(torch.stack([state[1] for state in states]), kept)
    weights = torch.randn_like(output)
    (found * weights).sum().backward()
    (output * weights).sum().backward()
    parity.assert_close(x.grad, same_x.grad)
    assert_same_gradients(ours.layers, theirs, parity)


@pytest.mark.parametrize("input_size, hidden_size", [(3, 5), (6, 2), (1, 1)])
def test_a_cell_is_torchs_cell(parity, input_size, hidden_size):
    torch.manual_seed(0)
    ours, theirs = (
        LSTMCell(input_size, hidden_size).double(),
        nn.LSTMCell(input_size, hidden_size).double(),
    )
    theirs.load_state_dict(
        {name.removesuffix("_l0"): value for name, value in torchs_state([[ours]]).items()}
    )
    x = torch.randn(4, input_size, dtype=torch.float64)
    state = (
        torch.randn(4, hidden_size, dtype=torch.float64),
        torch.randn(4, hidden_size, dtype=torch.float64),
    )
    for given in (None, state):
        for found, expected in zip(ours(x, given), theirs(x, given), strict=True):
            parity.assert_close(found, expected)


@pytest.mark.parametrize("backward", [False, True])
def test_a_projected_cell_is_torchs(parity, backward):
    torch.manual_seed(0)
    cell = LSTMCell(3, 7, projection_size=4).double()
    theirs = nn.LSTM(3, 7, proj_size=4, batch_first=True).double()
    theirs.load_state_dict(torchs_state([[cell]]))
    x = torch.randn(2, 5, 3, dtype=torch.float64)
    expected, (shown, kept) = theirs(x.flip(1) if backward else x)
    found, state = run(cell, x, backward=backward)
    parity.assert_close(found, expected.flip(1) if backward else expected)
    parity.assert_close(state[0], shown[0])
    parity.assert_close(state[1], kept[0])


def test_one_step_by_hand():
    # Every gate is sigmoid(0) = 1/2 and the content tanh(ln 3) = 4/5: the cell goes from 1 to 1/2 +
    # 2/5.
    cell = LSTMCell(1, 1)
    nn.init.zeros_(cell.recurrent.weight)
    nn.init.zeros_(cell.input.bias)
    with torch.no_grad():
        cell.input.weight.copy_(torch.tensor([[0.0], [0.0], [1.0], [0.0]]))
    shown, kept = cell(torch.tensor([[3.0]]).log(), (torch.tensor([[0.3]]), torch.tensor([[1.0]])))
    torch.testing.assert_close(kept, torch.tensor([[0.9]]))
    torch.testing.assert_close(shown, torch.tensor([[0.5 * torch.tensor(0.9).tanh()]]))


def language_model(parity):
    torch.manual_seed(0)
    return LSTMLanguageModel(LSTMConfig(vocab_size=13, hidden_size=6, num_layers=2)).double().eval()


def test_a_language_model_sees_nothing_of_what_comes_later(parity):
    model = language_model(parity)
    ids = torch.tensor([[1, 2, 3, 4, 5]])
    changed = torch.tensor([[1, 2, 3, 9, 8]])
    parity.assert_close(model(changed)[:, :3], model(ids)[:, :3])
    assert (model(changed)[:, 3] - model(ids)[:, 3]).abs().max() > 1e-3


def test_a_text_read_in_pieces_gives_the_logits_of_the_whole(parity):
    model = language_model(parity)
    ids = torch.tensor([[1, 2, 3, 4, 5], [7, 7, 8, 9, 10]])
    first, states = model.hidden(ids[:, :2])
    second, _ = model.hidden(ids[:, 2:], states=states)
    parity.assert_close(model.output(torch.cat((first, second), dim=1)), model(ids))


def test_padding_on_either_side_changes_no_tokens_logits(parity):
    model = language_model(parity)
    ids = torch.tensor([[1, 2, 3]])
    padded, mask = (
        torch.tensor([[0, 0, 1, 2, 3, 0]]),
        torch.tensor([[False, False, True, True, True, False]]),
    )
    parity.assert_close(model(padded, mask)[:, 2:5], model(ids))


@pytest.mark.usefixtures("as_students_run_it")
def test_what_an_lstm_cannot_read_is_refused():
    lstm, x = LSTM(2, 3, 2), torch.zeros(2, 4, 2)
    with pytest.raises(ModelInputError, match="0 tokens"):
        lstm(x[:, :0])
    with pytest.raises(ModelInputError, match=r"mask has shape \(2, 3\) but the ids \(2, 4\)"):
        lstm(x, torch.ones(2, 3, dtype=torch.bool))
    with pytest.raises(ModelInputError, match="the mask is torch.float32"):
        lstm(x, torch.ones(2, 4))
    with pytest.raises(ModelInputError, match="1 states but 2 layers"):
        lstm(x, states=[lstm.layers[0][0].start(x)])
    with pytest.raises(ModelInputError, match="id 13 but a vocabulary of 13"):
        language_model(None)(torch.tensor([[13]]))

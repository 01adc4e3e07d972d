"""ELMo.

transformers has no class of it and its own library is no longer installable here, so each part has
an oracle of its own: torch's conv1d, torch's LSTM with a projection, numbers worked by hand, and
what must not depend on what.
"""

import pytest
import torch
from torch import nn
from torch.nn.functional import conv1d, cross_entropy

from reference_impl.layers.checks import ModelInputError
from reference_impl.models.elmo import (
    PADDING,
    WORD_END,
    WORD_START,
    CharacterEncoder,
    ELMo,
    ELMoConfig,
    Highway,
    ScalarMix,
    characters_of,
    word_characters,
)
from reference_impl.objectives.bidirectional_lm import bidirectional_lm

TINY = ELMoConfig(
    vocab_size=11,
    character_size=3,
    filters=((1, 4), (2, 3), (5, 6)),
    word_size=5,
    cell_size=7,
    max_characters=9,
    num_highway=2,
    dropout=0.0,
)
CONFIGS = [
    TINY,
    ELMoConfig(
        vocab_size=6,
        character_size=1,
        filters=((9, 2),),
        word_size=3,
        cell_size=4,
        max_characters=9,
        num_highway=1,
        num_layers=3,
        dropout=0.0,
    ),
    ELMoConfig(
        vocab_size=23,
        character_size=6,
        filters=((3, 5), (4, 5)),
        word_size=8,
        cell_size=9,
        max_characters=9,
        num_highway=0,
        num_layers=1,
        dropout=0.0,
    ),
]
EACH = pytest.mark.parametrize("config", CONFIGS)
TEXTS = [["the", "bank", "of", "a", "river"], ["banks", "lend"]]


def made(config=TINY):
    torch.manual_seed(0)
    model = ELMo(config).double().eval()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.4)
    return model


def test_a_word_is_its_bytes_between_marks_filled_up_or_cut():
    assert word_characters("ab", 6) == [WORD_START, 97, 98, WORD_END, PADDING, PADDING]
    assert word_characters("é", 6) == [WORD_START, 0xC3, 0xA9, WORD_END, PADDING, PADDING]
    assert word_characters("river", 6) == [WORD_START, *b"rive", WORD_END]
    characters, mask = characters_of(TEXTS, 9)
    assert characters.shape == (2, 5, 9) and mask.tolist() == [
        [True] * 5,
        [True, True, False, False, False],
    ]
    assert characters[1, 1].tolist() == word_characters("lend", 9)


@EACH
def test_patterns_are_the_largest_values_of_torchs_convolutions(parity, config):
    model = made(config).words
    characters, _ = characters_of(TEXTS, 9)
    x = model.embedding(characters).flatten(0, 1).transpose(1, 2)  # (words, channels, W)
    expected = []
    for (width, number), linear in zip(config.filters, model.filters, strict=True):
        kernel = linear.weight.view(number, width, config.character_size).transpose(
            1, 2
        )  # torch: channels first
        expected.append(conv1d(x, kernel, linear.bias).max(-1).values.relu())
    parity.assert_close(model.patterns(characters).flatten(0, 1), torch.cat(expected, dim=1))


def test_a_highway_passes_on_and_changes_by_its_gate_by_hand():
    highway = Highway(2)
    with torch.no_grad():
        highway.change.weight.copy_(torch.tensor([[0.0, 1.0], [1.0, 0.0]]))
        highway.change.bias.zero_()
        highway.gate.weight.zero_()
        highway.gate.bias.fill_(float(torch.tensor(3.0).log()))  # sigmoid(ln 3) = 3/4 is changed
    torch.testing.assert_close(
        highway(torch.tensor([[4.0, -8.0]])), torch.tensor([[0.75 * 0 + 1.0, 0.75 * 4 - 2.0]])
    )


def test_scalar_mix_by_hand():
    mix = ScalarMix(3)
    layers = torch.tensor([4.0, 8.0, 20.0]).view(3, 1, 1, 1)
    torch.testing.assert_close(mix(layers).item(), 32 / 3)  # at first the mean
    with torch.no_grad():
        mix.weights.copy_(torch.tensor([1.0, 2.0, 1.0]).log())
        mix.gamma.fill_(2.0)
    torch.testing.assert_close(mix(layers).item(), 2 * (1 + 4 + 5.0))


@EACH
def test_each_direction_is_a_stack_of_torchs_projected_lstms_with_residuals_from_the_second_on(
    parity, config
):
    model = made(config)
    characters, mask = characters_of(TEXTS, 9)
    layers = model.layers(characters, mask)
    assert len(layers) == config.num_layers + 1
    for row, length in enumerate((5, 2)):
        for cells, half, backward in ((model.forwards, 0, False), (model.backwards, 1, True)):
            x = model.words(characters[row : row + 1, :length])
            parity.assert_close(layers[0, row, :length].chunk(2, -1)[half], x[0])
            for number, cell in enumerate(cells):
                lstm = nn.LSTM(
                    config.word_size, config.cell_size, proj_size=config.word_size, batch_first=True
                )
                weights = [
                    cell.input.weight,
                    cell.recurrent.weight,
                    cell.input.bias,
                    torch.zeros_like(cell.input.bias),
                    cell.projection.weight,
                ]
                names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0", "weight_hr_l0")
                lstm.double().load_state_dict(dict(zip(names, weights, strict=True)))
                out = lstm(x.flip(1))[0].flip(1) if backward else lstm(x)[0]
                x = out + x if number else out
                parity.assert_close(layers[number + 1, row, :length].chunk(2, -1)[half], x[0])


@EACH
def test_no_forward_vector_knows_a_later_word_and_no_backward_vector_an_earlier_one(parity, config):
    model = made(config)
    before, _ = characters_of([["the", "bank", "of", "a", "river"]], 9)
    after, _ = characters_of([["the", "bank", "in", "a", "river"]], 9)
    ahead, behind = model.layers(before).chunk(2, dim=-1)
    changed_ahead, changed_behind = model.layers(after).chunk(2, dim=-1)
    parity.assert_close(changed_ahead[:, :, :2], ahead[:, :, :2])
    parity.assert_close(changed_behind[:, :, 3:], behind[:, :, 3:])
    for place in (2, 3, 4):
        assert (changed_ahead - ahead)[-1, 0, place].abs().max() > 1e-6
    for place in (0, 1, 2):
        assert (changed_behind - behind)[-1, 0, place].abs().max() > 1e-6


def test_a_word_of_the_same_spelling_has_one_vector_below_and_another_above(parity):
    model = made()
    characters, _ = characters_of([["river", "bank"], ["money", "bank"]], 9)
    layers = model.layers(characters)
    parity.assert_close(layers[0, 0, 1], layers[0, 1, 1])
    assert (layers[1:, 0, 1] - layers[1:, 1, 1]).abs().amax(-1).min() > 1e-3


@EACH
def test_the_joint_loss_is_the_sum_of_both_directions_and_its_gradient_reaches_everything(
    parity, config
):
    model = made(config)
    characters, mask = characters_of(TEXTS, 9)
    labels = torch.tensor([[1, 2, 3, 4, 5], [5, 3, -100, -100, -100]])
    terms = bidirectional_lm(model, {"characters": characters, "mask": mask, "labels": labels})
    after, before = model(characters, mask)
    expected = (
        cross_entropy(after[0, :4], labels[0, 1:], reduction="sum")
        + cross_entropy(after[1, :1], labels[1, 1:2])
        + cross_entropy(before[0, 1:], labels[0, :4], reduction="sum")
        + cross_entropy(before[1, 1:2], labels[1, :1])
    )
    parity.assert_close(terms.total, expected)
    assert terms.count == 4 + 1 + 4 + 1
    terms.mean.backward()
    assert all(parameter.grad.abs().max() > 0 for parameter in model.parameters())


def test_the_published_size_is_that_of_the_published_model():
    # AllenNLP's page of the released models: 93.6 million, without the output layer.
    with torch.device("meta"):
        model = ELMo(ELMoConfig(vocab_size=1))
    number = sum(p.numel() for name, p in model.named_parameters() if not name.startswith("output"))
    assert round(number / 1e6, 1) == 93.6


@pytest.mark.usefixtures("as_students_run_it")
def test_what_elmo_cannot_read_is_refused():
    for texts in ([], [[]], [["a", ""]]):
        with pytest.raises(ModelInputError, match="empty text or word"):
            characters_of(texts)
    characters, mask = characters_of(TEXTS, 9)
    with pytest.raises(ModelInputError, match="words of 4 characters: give 5"):
        made().layers(characters[..., :4])
    with pytest.raises(ModelInputError, match=r"mask has shape \(2, 4\) but the ids \(2, 5\)"):
        made().layers(characters, mask[:, :4])
    with pytest.raises(ModelInputError, match="2 layers but 3 weights"):
        ScalarMix(3)(torch.zeros(2, 1, 1, 1))
    with pytest.raises(ModelInputError, match="a filter 10 wide but words of 9"):
        CharacterEncoder(ELMoConfig(filters=((10, 1),), max_characters=9))

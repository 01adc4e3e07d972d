"""What is particular to chapter 4's exercises on order and the block: the numbers on the cards,
rivals, the wrong line.
"""

import re

import torch
from torch import nn
from torch.testing import assert_close
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb
from transformers.models.mpt.modeling_mpt import build_mpt_alibi_tensor

from autograder.authoring.catalogue import assignment
from autograder.authoring.implementations import reference
from reference_impl.layers.positions import alibi_bias, sinusoidal_positions
from reference_impl.layers.rotary import rotary_tables, rotate

FOUR = assignment("04")
OURS = reference("04")
GIVEN = torch.tensor([7, 0, 100_000, 3, 3])
NAMES = ("x", "normed", "mixed", "update", "attend", "feed_forward", "norm_1", "norm_2")


def drawn(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(7), dtype=dtype)


def test_the_numbers_worked_out_on_the_cards_are_what_the_reference_gives():
    assert_close(
        OURS["sinusoids"](torch.tensor([0, 1]), 4),
        torch.tensor([[0, 1, 0, 1], [0.841, 0.540, 0.010, 1.000]]),
        rtol=0,
        atol=6e-4,
    )
    assert f"{torch.tensor(90_000.4).item():.3f}" == "90000.398"
    turned = OURS["rotate"](
        torch.tensor([1.0, 0, 0, 0]).reshape(1, 1, 1, 4), torch.tensor([1]), 10_000.0
    )
    one = torch.tensor(1.0)
    assert_close(turned.flatten(), torch.stack([one.cos(), 0 * one, one.sin(), 0 * one]))
    bias = OURS["distance_bias"](3, 2, 3)
    assert bias[:, 0, 0].tolist() == [-1 / 16, -1 / 256, -1 / 4] and bias[2].tolist() == [
        [-0.25, 0, -0.25],
        [-0.5, -0.25, 0],
    ]
    assert OURS["distance_bias"](8, 1, 2)[:, 0, 0].tolist() == [-(2.0**-h) for h in range(1, 9)]
    assert (
        OURS["block"](
            torch.tensor(4.0), lambda x: 10 * x, lambda x: x + 1, lambda x: x - 2, lambda x: x / 2
        )
        == 37
    )


def test_a_quarter_turn_a_step_gives_the_products_on_the_card():
    """The angle of the only pair is the position in radians, so a quarter turn is the position
    pi/2.
    """

    def at(vector: list[float], quarters: int) -> torch.Tensor:
        place = torch.tensor([quarters * torch.pi / 2], dtype=torch.float64)
        return OURS["rotate"](torch.tensor(vector).reshape(1, 1, 1, 2), place, 10_000.0).flatten()

    assert_close(
        [at([1.0, 2], quarters) for quarters in (1, 2, 3)],
        [torch.tensor(row) for row in ([-2.0, 1], [-1.0, -2], [2.0, -1])],
    )
    assert_close(
        (at([1.0, 2], 3) @ at([2.0, 1], 1), at([1.0, 2], 2) @ at([2.0, 1], 0)),
        (torch.tensor(-4.0), torch.tensor(-4.0)),
    )


def test_waves_equal_the_reference_implementation_far_away_too():
    for hidden in (2, 6, 64):
        assert_close(OURS["sinusoids"](GIVEN, hidden), sinusoidal_positions(GIVEN, hidden))


def test_turned_vectors_equal_the_reference_implementation_and_llama():
    x = drawn(2, 3, 5, 8, dtype=torch.float64)
    ours = OURS["rotate"](x, GIVEN, 500_000.0)
    assert_close(ours, rotate(x, rotary_tables(GIVEN, 8, 500_000.0, dtype=torch.float64)))
    angles = GIVEN[:, None] * 500_000.0 ** (-torch.arange(0, 8, 2, dtype=torch.float64) / 8)
    cos, sin = torch.cat([angles.cos()] * 2, -1)[None], torch.cat([angles.sin()] * 2, -1)[None]
    assert_close(ours, apply_rotary_pos_emb(x, x, cos, sin)[0])


def test_prices_equal_the_reference_implementation_and_the_last_row_is_mpts():
    for heads in (1, 3, 8, 12, 20, 127):
        assert_close(OURS["distance_bias"](heads, 4, 9), alibi_bias(heads, 4, 9))
    for heads in (1, 2, 8, 32):  # MPT gives other heads than these an order of their own
        assert_close(
            OURS["distance_bias"](heads, 1, 9),
            build_mpt_alibi_tensor(heads, 9).reshape(heads, 1, 9),
        )


@torch.no_grad()
def test_the_repaired_block_is_torchs_layer_with_the_norm_first():
    layer = nn.TransformerEncoderLayer(
        8, 2, 16, dropout=0.0, norm_first=True, batch_first=True
    ).eval()
    x = drawn(2, 5, 8)
    ours = OURS["block"](
        x,
        lambda x: layer.self_attn(x, x, x, need_weights=False)[0],
        lambda x: layer.linear2(layer.linear1(x).relu()),
        layer.norm1,
        layer.norm2,
    )
    assert_close(ours, layer(x))


def run(code: str) -> object:
    """What the listing gives for four parts that are all different, or None where it raises."""
    names: dict = {}
    exec(code, names)
    try:
        return names["block"](
            4.0, lambda x: 10 * x, lambda x: x + 1, lambda x: x - 2, lambda x: x / 2
        )
    except (NameError, TypeError):
        return None


def test_one_other_name_in_line_3_repairs_the_listing_and_in_no_other_line():
    code = re.search(
        r"```python\n(def block.*?)```", FOUR.cells["block-card"][0].source, re.DOTALL
    ).group(1)
    assert run(code) not in (37, None)
    places = [
        found.span()
        for found in re.finditer(rf"\b({'|'.join(NAMES)})\b", code)
        if found.start() > code.index("\n")
    ]
    repairs = []
    for start, end in places:
        for name in NAMES:
            changed = code[:start] + name + code[end:]
            if changed != code and run(changed) == 37:
                repairs.append(code[:start].count("\n"))
    assert repairs == [OURS["wrong_line"]()] == [3]

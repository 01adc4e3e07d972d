"""Resident blocks against cases of NVIDIA's occupancy calculator, one for each limit."""

import pytest

from reference_impl.measure.occupancy import HOPPER, resident_blocks


@pytest.mark.parametrize(
    "registers, shared, warps, blocks",
    [
        (32, 0, 4, 16),  # 64 warps
        (32, 0, 1, 32),  # 32 blocks
        (255, 0, 8, 1),  # registers
        (81, 0, 8, 2),  # 2,592 a warp are rounded up to 2,816: without that, 3 blocks would fit
        (64, 0, 4, 8),
        (32, 48 * 1024, 4, 4),  # shared memory, 49 KiB each
        (32, 227 * 1024, 4, 1),
        (255, 0, 16, 0),  # such a block cannot start
    ],
)
def test_whichever_runs_out_first_is_the_limit(registers, shared, warps, blocks):
    assert resident_blocks(registers, shared, warps, HOPPER) == blocks

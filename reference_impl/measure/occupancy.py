"""How many thread blocks of a kernel are resident on one multiprocessor of a GPU.

NVIDIA's Hopper and Blackwell tuning guides, section on occupancy. Registers and shared
memory are handed out to whole blocks when they start; whichever runs out first is the
limit. Registers come in units of 256 for each warp, and of shared memory each block
reserves 1 KiB for the system.

Not here: clusters of blocks; how much of the occupancy a kernel needs.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Multiprocessor:
    """The limits of one multiprocessor."""

    registers: int = 65_536
    shared: int = 228 * 1024
    warps: int = 64
    blocks: int = 32


HOPPER = Multiprocessor()  # compute capability 9.0; Blackwell's 10.0 has the same


def resident_blocks(
    registers: int, shared: int, warps: int, limits: Multiprocessor
) -> int:
    """Blocks that fit: `registers` a thread, bytes of `shared` memory and `warps` a
    block.
    """
    per_warp = -(-registers * 32 // 256) * 256
    return min(
        limits.registers // (per_warp * warps),
        limits.shared // (shared + 1024),
        limits.warps // warps,
        limits.blocks,
    )

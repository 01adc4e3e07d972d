"""What the compiler says of two kernels for a Hopper GPU, for several tiles: no GPU is needed.

    OMP_NUM_THREADS=1 python bench/compiled.py        about a minute

Triton compiles `matmul_kernel` and `flash_kernel` of `reference_impl.kernels.textbook_triton` in
bfloat16 for compute capability 9.0, and its assembler reports registers, spills and shared memory.
From these follows the occupancy (`reference_impl.measure.occupancy`). What is
fastest only a GPU can tell.
"""

import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from bench.record import save  # noqa: E402
from reference_impl.measure.occupancy import HOPPER, resident_blocks  # noqa: E402

HEAD_DIM = 128
MATMUL = [  # rows, columns, depth, warps, stages
    (32, 32, 32, 4, 3),
    (64, 64, 32, 4, 3),
    (128, 128, 32, 4, 3),
    (128, 128, 64, 8, 3),
    (128, 256, 64, 8, 3),
    (256, 256, 64, 8, 3),
]
FLASH = [  # queries, keys, warps, stages
    (32, 32, 4, 2),
    (64, 64, 4, 2),
    (128, 64, 8, 2),
    (128, 128, 8, 2),
    (256, 128, 8, 2),
]


def compiled(
    kernel, kinds: dict[str, str], constants: dict[str, int], warps: int, stages: int
) -> dict[str, int | bool]:
    """Registers a thread, bytes spilled a thread, and bytes of shared memory a block."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    names = [parameter.name for parameter in kernel.params]
    signature = {name: "constexpr" if name in constants else kinds[name] for name in names}
    aligned = {  # pointers and sizes that 16 divides, which Triton finds out at a launch
        (at,): [["tt.divisibility", 16]]
        for at, name in enumerate(names)
        if signature[name] in ("*bf16", "i32")
    }
    source = ASTSource(kernel, signature, constants, aligned)
    options = {"num_warps": warps, "num_stages": stages}
    result = triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options)
    assembler = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "ptxas"
    command = [assembler, "-v", "--gpu-name=sm_90a", "-", "-o", "/dev/null"]
    said = subprocess.run(
        command, input=result.asm["ptx"], capture_output=True, text=True, check=True
    ).stderr
    return {
        "registers": int(re.search(r"Used (\d+) registers", said)[1]),
        "spilled": int(re.search(r"(\d+) bytes spill stores", said)[1]),
        "shared": result.metadata.shared,
        "wgmma": "wgmma.mma_async" in result.asm["ptx"],
    }


def row(kernel, kinds, tile: dict[str, int], launch: list[int], intensity: float) -> dict:
    """What one kernel with one size of tile needs, and its operations a byte."""
    warps, stages = launch
    needs = compiled(kernel, kinds, tile, warps, stages)
    fit = resident_blocks(needs["registers"], needs["shared"], warps, HOPPER)
    needs |= {
        "warps": warps,
        "stages": stages,
        "blocks": fit,
        "occupancy": fit * warps / HOPPER.warps,
    }
    return needs | {"intensity": intensity}


def main() -> None:
    """Compile all and keep the record."""
    from reference_impl.kernels.textbook_triton import flash_kernel, matmul_kernel

    pointers = dict.fromkeys(("a", "b", "q", "k", "v", "out"), "*bf16")
    sizes = dict.fromkeys(("R", "K", "C", "num_queries", "num_keys"), "i32")
    kinds = {**pointers, **sizes, "scale": "fp32"}
    found = {"matmul": [], "flash": []}
    for rows, columns, depth, *launch in MATMUL:
        tile = {"ROWS": rows, "COLUMNS": columns, "DEPTH": depth}
        intensity = rows * columns / (rows + columns)  # 2 R C FLOPs, R + C numbers of 2 bytes
        found["matmul"].append({**tile, **row(matmul_kernel, kinds, tile, launch, intensity)})
    for rows, columns, *launch in FLASH:
        tile = {"D": HEAD_DIM, "ROWS": rows, "COLUMNS": columns}
        found["flash"].append({**tile, **row(flash_kernel, kinds, tile, launch, float(rows))})
    for name, rows in found.items():
        for one in rows:
            print(name, one)
    save("compiled", versions=("torch", "triton"), head_dim=HEAD_DIM, **found)


if __name__ == "__main__":
    main()

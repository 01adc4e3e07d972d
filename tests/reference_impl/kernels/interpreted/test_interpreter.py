"""The machine that the other tests stand on: does it add, multiply and sum correctly?"""

from typing import no_type_check

import torch

from reference_impl.kernels.backend import tl, triton


@triton.jit
@no_type_check
def arithmetic_kernel(x, y, sums, products, length, SIZE: tl.constexpr):
    row, column = tl.arange(0, SIZE)[:, None], tl.arange(0, SIZE)[None, :]
    total = tl.zeros([SIZE, SIZE], tl.float32)
    for _ in range(length):  # a bound that is known at run time only
        total += tl.load(x + row * SIZE + column) + tl.load(y + row * SIZE + column)
    tl.store(sums + row * SIZE + column, total)
    product = tl.dot(
        tl.load(x + row * SIZE + column), tl.load(y + row * SIZE + column), input_precision="ieee"
    )
    tl.store(products + row * SIZE + column, product + tl.sum(product, 1)[:, None])


def test_sums_and_products_are_those_of_float64(kernel, dtype):
    x, y = kernel.rand(16, 16, dtype=dtype), kernel.rand(16, 16, dtype=dtype)
    sums, products = (
        torch.empty(16, 16, dtype=torch.float32, device=kernel.device) for _ in range(2)
    )
    arithmetic_kernel[(1,)](x, y, sums, products, 3, SIZE=16)
    x, y = x.double(), y.double()
    torch.testing.assert_close(
        sums.double(), 3 * (x + y), rtol=1e-2 if dtype == torch.bfloat16 else 1e-3, atol=4e-3
    )
    torch.testing.assert_close(
        products.double(), x @ y + (x @ y).sum(1, keepdim=True), rtol=1e-5, atol=1e-4
    )


def test_a_store_outside_and_a_load_outside_are_found(kernel, canaries):
    out = torch.empty(16, 16, dtype=torch.float32, device=kernel.device)
    x = kernel.guard(torch.ones(15, 16, device=kernel.device))  # one row less than the kernel reads
    arithmetic_kernel[(1,)](x, x, out, out, 1, SIZE=16)
    assert out[15].isnan().all() and not canaries[0][:3].isnan().any()
    before = canaries[0].clone()
    arithmetic_kernel[(1,)](
        kernel.guard(torch.ones(16, 16, device=kernel.device)),
        kernel.guard(torch.ones(16, 16, device=kernel.device)),
        out[1:],
        out,
        1,
        SIZE=16,
    )
    assert not torch.equal(canaries[0][-512:], before[-512:])
    canaries.clear()  # this one was meant

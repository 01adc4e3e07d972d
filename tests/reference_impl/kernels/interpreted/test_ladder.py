"""Vector addition, softmax, matrix multiplication, RMSNorm and SwiGLU against torch in float64."""

import pytest
import torch

from reference_impl.kernels.backend import Tiles
from reference_impl.kernels.matmul import matmul
from reference_impl.kernels.rmsnorm import rms_norm
from reference_impl.kernels.softmax import softmax
from reference_impl.kernels.swiglu import swiglu
from reference_impl.kernels.vector_add import vector_add


@pytest.mark.parametrize("length, block", [(1, 16), (64, 64), (100, 64), (1000, 1024), (0, 16)])
def test_vector_add_of_any_length_and_stride(kernel, dtype, length, block):
    x, y = kernel.rand(length, dtype=dtype), kernel.rand(length, 3, dtype=dtype)[:, 1]
    kernel.assert_close(vector_add(x, y, backend="triton", block=block), x.double() + y.double())


@pytest.mark.filterwarnings(
    "ignore:overflow:RuntimeWarning"
)  # numpy says so where a GPU gives -inf in silence
@pytest.mark.parametrize(
    "rows, columns, block", [(3, 1, None), (5, 77, 16), (2, 130, 128), (2, 130, None), (0, 5, None)]
)
def test_softmax_of_ragged_rows_in_any_blocks(kernel, dtype, rows, columns, block):
    x = kernel.rand(rows, columns, dtype=dtype, gap=3) * 5
    kernel.assert_close(softmax(x, backend="triton", block=block), x.double().softmax(1))


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
def test_softmax_rescales_when_a_larger_number_comes_late_and_takes_masked_scores(kernel):
    x = kernel.guard(torch.full((3, 40), -torch.inf, device=kernel.device))
    x[0, 37], x[0, 2], x[1, :20] = 90.0, -90.0, torch.finfo(torch.float32).min
    x[2] = torch.arange(40.0)  # the maximum moves in every block
    kernel.assert_close(softmax(x, backend="triton", block=16), x.double().softmax(1))


@pytest.mark.parametrize(
    "rows, columns, depth", [(1, 1, 1), (33, 17, 50), (16, 70, 16), (90, 5, 33), (4, 4, 0)]
)
def test_matmul_of_ragged_and_transposed_matrices(kernel, dtype, rows, columns, depth):
    a, b = (
        kernel.rand(rows, depth, dtype=dtype, gap=2),
        kernel.rand(depth, columns, dtype=dtype, order=(1, 0)),
    )
    expected = a.double() @ b.double()
    kernel.assert_close(
        matmul(a, b, backend="triton", tiles=Tiles(16, 32), depth=16), expected, factor=4
    )
    kernel.assert_close(matmul(a, b, backend="triton"), expected, factor=4)


def test_matmul_reaches_every_tile_in_groups_that_do_not_divide(kernel):
    a, b = kernel.rand(19 * 16, 16, dtype=torch.float32), kernel.rand(16, 40, dtype=torch.float32)
    kernel.assert_close(
        matmul(a, b, backend="triton", tiles=Tiles(16, 16), depth=16), a.double() @ b.double()
    )


@pytest.mark.parametrize("shape", [(1, 1), (7, 33), (2, 3, 128), (0, 8)])
def test_rms_norm_and_its_gradients(kernel, dtype, shape):
    x, weight = kernel.rand(*shape, dtype=dtype, gap=5), kernel.rand(shape[-1], dtype=dtype)
    grad = kernel.rand(*shape, dtype=dtype)
    leaves = [t.double().requires_grad_() for t in (x, weight)]
    # A large epsilon shows where it is added.
    expected = torch.nn.functional.rms_norm(leaves[0], shape[-1:], leaves[1], 0.1)
    expected.backward(grad.double())
    x.requires_grad_(), weight.requires_grad_()
    out = rms_norm(x, weight, 0.1, backend="triton", num_programs=3)
    out.backward(grad)
    kernel.assert_close(out, expected.detach())
    kernel.assert_close(x.grad, leaves[0].grad)
    kernel.assert_close(weight.grad, leaves[1].grad, factor=2)


@pytest.mark.parametrize("shape", [(1, 1), (7, 33), (2, 3, 1030), (0, 8)])
def test_swiglu_and_its_gradients_on_halves_of_one_matrix(kernel, dtype, shape):
    both = kernel.rand(*shape[:-1], 2 * shape[-1], dtype=dtype)
    wide = both.double().requires_grad_()
    grad = kernel.rand(*shape, dtype=dtype)
    gate, up = wide.chunk(2, -1)
    expected = torch.nn.functional.silu(gate) * up
    expected.backward(grad.double())
    both.requires_grad_()
    out = swiglu(*both.chunk(2, -1), backend="triton")
    out.backward(grad)
    kernel.assert_close(out, expected.detach())
    kernel.assert_close(both.grad, wide.grad)

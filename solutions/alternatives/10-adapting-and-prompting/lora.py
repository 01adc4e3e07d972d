"""Differently written correct solutions of chapter 10, part 2."""

import math

import torch
from torch import nn

from autograder.checks.mistakes.registry import alternative


@alternative("10.predict_lora", "matrix-by-matrix")
def _(I, O, r, layers, bytes):
    shapes = {"a": (r, I), "b": (O, r), "w": (O, I)}
    counts = {name: layers * math.prod(shape) for name, shape in shapes.items()}
    return dict(
        merged=counts["w"],
        learned=counts["a"] + counts["b"],
        file=bytes * counts["a"] + bytes * counts["b"],
    )


@alternative("10.predict_lora", "eighths-of-bits")
def _(I, O, r, layers, bytes):
    bits = 8 * bytes * sum(r * I + r * O for _ in range(min(layers, 1))) * layers
    return {"file": bits // 8, "learned": bits // 8 // bytes, "merged": I * layers * O}


@alternative("10.LoRALinear", "buffers-and-b-drawn")
class BuffersAndBDrawn(nn.Module):
    """W and c are buffers; B is drawn and A is 0; the weight before merging is kept."""

    def __init__(self, weight, bias, r, alpha):
        super().__init__()
        self.register_buffer("weight", weight.clone())
        if bias is not None:
            self.register_buffer("bias", bias.clone())
        self.a = nn.Parameter(torch.zeros(r, weight.size(1)))
        self.b = nn.Parameter(torch.empty(weight.size(0), r).uniform_(-1, 1))
        self.r, self.alpha, self.before = r, alpha, None

    def update(self):
        return torch.einsum("or,ri->oi", self.b, self.a) * self.alpha / self.r

    def forward(self, x):
        weight = self.weight if self.before is not None else self.weight + self.update()
        out = torch.einsum("...i,oi->...o", x, weight)
        return out + self.bias if hasattr(self, "bias") else out

    def merge(self):
        if self.before is None:
            self.before = self.weight.clone()
            self.weight = self.weight + self.update().detach()

    def unmerge(self):
        if self.before is not None:
            self.weight, self.before = self.before, None


@alternative("10.LoRALinear", "kaiming-and-matmul")
class KaimingAndMatmul(nn.Module):
    """As published code has it, with matrix products and `.data`."""

    def __init__(self, weight, bias, r, alpha):
        super().__init__()
        rows, columns = weight.shape
        self.weight = nn.Parameter(weight)
        self.weight.requires_grad = False
        self.register_parameter(
            "bias",
            None if bias is None else nn.Parameter(bias.detach().clone()).requires_grad_(False),
        )
        self.a = nn.Parameter(weight.new_empty(r, columns))
        self.b = nn.Parameter(weight.new_zeros(rows, r))
        nn.init.kaiming_uniform_(self.a, a=5**0.5)
        self.scaling = alpha / r
        self.is_merged = False

    def forward(self, x):
        result = x @ self.weight.T
        if self.bias is not None:
            result = result + self.bias
        if not self.is_merged:
            result = result + x @ self.a.T @ self.b.T * self.scaling
        return result

    def merge(self):
        if self.is_merged:
            return
        self.weight.data += (self.b @ self.a * self.scaling).data
        self.is_merged = True

    def unmerge(self):
        if not self.is_merged:
            return
        self.weight.data -= (self.b @ self.a * self.scaling).data
        self.is_merged = False

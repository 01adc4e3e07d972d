"""Differently written correct solutions of chapter 11: the block."""

import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

from autograder.checks.mistakes.registry import alternative


@alternative("11.Block", "torch-attention")
class TorchAttention(nn.Module):
    """All by torch's operators, with a table of sines kept from one call to the next length."""

    def __init__(self, C, F, H, layer, window):
        super().__init__()
        self.heads, self.near = H, None if layer % 3 == 0 else window // 2
        self.base = 160_000.0 if self.near is None else 10_000.0
        if layer:
            self.attention_norm = nn.LayerNorm(C, eps=1e-5, bias=False)
        self.qkv = nn.Linear(C, 3 * C, bias=False)
        self.out = nn.Linear(C, C, bias=False)
        self.feed_forward_norm = nn.LayerNorm(C, eps=1e-5, bias=False)
        self.gate_up = nn.Linear(C, 2 * F, bias=False)
        self.down = nn.Linear(F, C, bias=False)
        D = C // H
        self.register_buffer(
            "speeds",
            self.base ** (-torch.arange(0, D, 2, dtype=torch.float32) / D),
            persistent=False,
        )

    def turn(self, x):
        angles = torch.arange(x.size(2)).unsqueeze(1) * self.speeds
        a, b = x.chunk(2, -1)
        return torch.cat(
            [a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()], -1
        )

    def forward(self, x, mask):
        B, T, C = x.size()
        y = self.attention_norm(x) if hasattr(self, "attention_norm") else x
        q, k, v = self.qkv(y).view(B, T, 3, self.heads, C // self.heads).permute(2, 0, 3, 1, 4)
        hidden = ~mask[:, None, None, :].expand(B, 1, T, T)
        if self.near is not None:
            places = torch.arange(T)
            hidden = hidden | ((places[None] - places[:, None]).abs() > self.near)
        bias = torch.zeros(B, 1, T, T).masked_fill(hidden, float("-inf"))
        bias = bias.masked_fill(
            hidden.all(-1, keepdim=True), 0.0
        )  # who sees nobody sees all; nobody reads it
        y = scaled_dot_product_attention(self.turn(q), self.turn(k), v, attn_mask=bias)
        x = x + self.out(y.transpose(1, 2).reshape(B, T, C))
        gate, up = self.gate_up(self.feed_forward_norm(x)).chunk(2, -1)
        return x + self.down(nn.functional.gelu(gate) * up)


@alternative("11.Block", "row-by-row")
class RowByRow(nn.Module):
    """Parameters made by hand, one text and one head at a time, and tokens alone: padding stays
    what it was.
    """

    def __init__(self, C, F, H, layer, window):
        super().__init__()
        self.H, self.layer, self.side = H, layer, window // 2
        names = {
            "qkv": (3 * C, C),
            "out": (C, C),
            "feed_forward_norm": (C,),
            "gate_up": (2 * F, C),
            "down": (C, F),
        }
        if layer:
            names["attention_norm"] = (C,)
        for name, shape in names.items():
            holder = nn.Module()
            holder.weight = nn.Parameter(torch.ones(shape))
            self.add_module(name, holder)

    def norm(self, x, weight):
        return nn.functional.layer_norm(x, x.shape[-1:], weight)

    def forward(self, x, mask):
        return torch.stack([self.text(row, here) for row, here in zip(x, mask)])

    def text(self, x, here):
        places = here.nonzero()[:, 0]
        if not len(places):
            return x.clone()
        y = x[places]
        z = self.norm(y, self.attention_norm.weight) if self.layer else y
        C, D = x.shape[1], x.shape[1] // self.H
        q, k, v = (z @ part.T for part in self.qkv.weight.split(C))
        speeds = torch.tensor(
            [(10_000.0 if self.layer % 3 else 160_000.0) ** (-2 * i / D) for i in range(D // 2)]
        )
        turns = torch.polar(torch.ones(len(places), D // 2), places[:, None] * speeds)
        heads = []
        for h in range(self.H):
            columns = slice(h * D, (h + 1) * D)
            a, b = (
                torch.complex(one[:, columns][:, : D // 2], one[:, columns][:, D // 2 :]) * turns
                for one in (q, k)
            )
            scores = (a[:, None] * b.conj()).real.sum(2) / D**0.5
            if self.layer % 3:
                scores = scores.masked_fill(
                    (places[:, None] - places).abs() > self.side, -torch.inf
                )
            heads.append(scores.softmax(1) @ v[:, columns])
        y = y + torch.cat(heads, 1) @ self.out.weight.T
        gate, up = (self.norm(y, self.feed_forward_norm.weight) @ self.gate_up.weight.T).chunk(2, 1)
        y = y + (nn.functional.gelu(gate) * up) @ self.down.weight.T
        return x.index_put((places,), y)

"""Differently written correct solutions of chapter 8, part 2."""

import math

import torch
from torch import nn

from autograder.checks.mistakes.registry import alternative


class Attention(nn.Module):
    """The scores written out, with a mask that is added to them."""

    low = float("-inf")

    def forward(self, qkv, H):
        B, T, width = qkv.shape
        C = width // 3
        q, k, v = (
            qkv[..., at * C : (at + 1) * C].reshape(B, T, H, C // H).permute(0, 2, 1, 3)
            for at in range(3)
        )
        scores = torch.einsum("bhtd,bhsd->bhts", q, k) / math.sqrt(C // H)
        scores = scores + torch.full((T, T), self.low).triu(1)
        return torch.einsum("bhts,bhsd->bthd", scores.softmax(-1), v).reshape(B, T, C)


class Block(nn.Module):
    """A block with parts of its own."""

    def __init__(self, C, H, norm_first):
        super().__init__()
        self.H, self.norm_first, self.mix = H, norm_first, Attention()
        self.norm_1, self.norm_2 = nn.LayerNorm(C, eps=1e-5), nn.LayerNorm(C, eps=1e-5)
        self.qkv, self.out, self.up, self.down = (
            nn.Linear(C, 3 * C),
            nn.Linear(C, C),
            nn.Linear(C, 4 * C),
            nn.Linear(4 * C, C),
        )

    def attend(self, x):
        return self.out(self.mix(self.qkv(x), self.H))

    def think(self, x):
        z = self.up(x)
        return self.down(
            0.5 * z * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (z + 0.044715 * z.pow(3))))
        )

    def forward(self, x):
        if not self.norm_first:
            x = self.norm_1(self.attend(x) + x)
            return self.norm_2(self.think(x) + x)
        x = self.attend(self.norm_1(x)) + x
        return self.think(self.norm_2(x)) + x


@alternative("08.GPT", "blocks-of-their-own")
class WithBlocks(nn.Module):
    def __init__(self, V, P, C, L, H, norm_first=True):
        super().__init__()
        self.tokens, self.places = nn.Embedding(V, C), nn.Embedding(P, C)
        self.blocks = nn.Sequential(*(Block(C, H, norm_first) for _ in range(L)))
        self.norm = nn.LayerNorm(C) if norm_first else nn.Identity()

    def forward(self, ids):
        x = self.tokens(ids) + self.places(torch.arange(ids.size(1)))[None]
        return nn.functional.linear(self.norm(self.blocks(x)), self.tokens.weight)


def lowered(low):
    """A model whose hidden scores are lowered by a large number: enough for scores in the
    hundreds.
    """

    class Lowered(WithBlocks):
        def __init__(self, *sizes):
            super().__init__(*sizes)
            for block in self.blocks:
                block.mix.low = low

    return Lowered


alternative("08.GPT", "lowered-by-a-million")(lowered(-1e6))
alternative("08.GPT", "lowered-by-ten-thousand")(lowered(-1e4))


@alternative("08.GPT", "parameters-by-hand")
class ByHand(nn.Module):
    def __init__(self, V, P, C, L, H, norm_first=True):
        super().__init__()

        def part(*shape, bias=True):
            made = nn.Module()
            made.weight = nn.Parameter(torch.randn(*shape))
            if bias:
                made.bias = nn.Parameter(torch.zeros(shape[0]))
            return made

        self.H, self.first = H, norm_first
        self.tokens, self.places = part(V, C, bias=False), part(P, C, bias=False)
        self.blocks = nn.ModuleList()
        for _ in range(L):
            block = nn.Module()
            block.norm_1, block.norm_2, block.qkv, block.out = (
                part(C),
                part(C),
                part(3 * C, C),
                part(C, C),
            )
            block.up, block.down = part(4 * C, C), part(C, 4 * C)
            self.blocks.append(block)
        if norm_first:
            self.norm = part(C)

    def forward(self, ids):
        def normed(x, one):
            centred = x - x.mean(-1, keepdim=True)
            return (
                centred * torch.rsqrt(centred.pow(2).mean(-1, keepdim=True) + 1e-5) * one.weight
                + one.bias
            )

        def matrix(x, one):
            return torch.einsum("...i,oi->...o", x, one.weight) + one.bias

        def attend(x, block):
            q, k, v = matrix(x, block.qkv).split(x.shape[-1], -1)
            D, heads = x.shape[-1] // self.H, []
            for h in range(self.H):
                columns = slice(h * D, (h + 1) * D)
                scores = q[..., columns] @ k[..., columns].mT / D**0.5
                late = torch.arange(ids.shape[1])[:, None] < torch.arange(ids.shape[1])
                heads.append(torch.where(late, -torch.inf, scores).softmax(-1) @ v[..., columns])
            return matrix(torch.cat(heads, -1), block.out)

        x = torch.stack([self.tokens.weight[row] + self.places.weight[: len(row)] for row in ids])
        for block in self.blocks:
            for norm, work in (
                (block.norm_1, attend),
                (
                    block.norm_2,
                    lambda x, block: matrix(
                        nn.functional.gelu(matrix(x, block.up), approximate="tanh"), block.down
                    ),
                ),
            ):
                x = (
                    x + work(normed(x, norm), block)
                    if self.first
                    else normed(x + work(x, block), norm)
                )
        if self.first:
            x = normed(x, self.norm)
        return torch.einsum("btc,vc->btv", x, self.tokens.weight)


@alternative("08.gpt_sizes", "tensor-by-tensor")
def _(vocab_size, positions, hidden, num_layers, num_heads, norm_first):
    def linear(out, into):
        return out * into + out

    tables = vocab_size * hidden + positions * hidden
    block = (
        linear(3 * hidden, hidden)
        + linear(hidden, hidden)
        + linear(4 * hidden, hidden)
        + linear(hidden, 4 * hidden)
        + 4 * hidden
    )
    return dict(
        embeddings=tables,
        block=block,
        total=sum([tables, num_layers * block, 2 * hidden * int(norm_first)]),
    )


@alternative("08.gpt_sizes", "factored")
def _(V, P, C, L, H, norm_first):
    block = C * (12 * C + 13)
    return {
        "total": (V + P + 2 * bool(norm_first)) * C + L * block,
        "block": block,
        "embeddings": C * (V + P),
    }

"""The block of a decoder that chapter 16 shows with one fault, and its right result in float64."""

import torch
from torch import Tensor

from autograder.checks.protocol import Faults

CODE = """\
def broken_block(x, weights, heads):
    T, C = x.shape
    normed = x / (x.square().mean(dim=1, keepdim=True) + 1e-6).sqrt()
    q, k, v = ((normed @ weights[name].T).reshape(T, heads, -1).transpose(0, 1) \
for name in ("query", "key", "value"))
    scores = q @ k.transpose(1, 2) / (C / heads) ** 0.5
    later = torch.ones(T, T, dtype=torch.bool).triu(1)
    shares = scores.masked_fill(later, -torch.inf).softmax(dim=2)
    mixed = (shares @ v).transpose(0, 1).reshape(T, C)
    y = x + mixed @ weights["output"].T
    again = y / (y.square().mean(dim=1, keepdim=True) + 1e-6).sqrt()
    gate = again @ weights["gate"].T
    inside = gate * gate.sigmoid() * (again @ weights["up"].T)
    return y + inside @ weights["down"].T
"""
PROGRAM = "\n" + "".join(
    f"{line + '   ':<92}# line {number}\n" for number, line in enumerate(CODE.splitlines(), 1)
)
FAULTS = Faults(
    PROGRAM,
    {
        "scale": (
            "(C / heads) ** 0.5",
            "C ** 0.5          ",
        ),  # as long as before, so that nothing shows which line it is
        "triangle": (".triu(1)", ".tril(-1)"),
        "softmax": (".softmax(dim=2)", ".softmax(dim=1)"),
        "heads": ("(shares @ v).transpose(0, 1).reshape(T, C)", "(shares @ v).reshape(T, C)"),
        "stream": ("return y + inside", "return again + inside"),
    },
)
FAULT = FAULTS.by_name[
    "scale"
]  # the one that the notebook has; the others are what a repair may go wrong by
SHAPES = {
    "query": "CC",
    "key": "CC",
    "value": "CC",
    "output": "CC",
    "gate": "FC",
    "up": "FC",
    "down": "CF",
}


def drawn_weights(rng: torch.Generator, C: int, F: int) -> dict[str, Tensor]:
    """Matrices such that what they make is about as large as what they get."""
    size = {"C": C, "F": F}
    return {
        name: 1.5 * torch.randn(size[rows], size[columns], generator=rng) / size[columns] ** 0.5
        for name, (rows, columns) in SHAPES.items()
    }


def largest_score(x: Tensor, weights: dict[str, Tensor], heads: int) -> float:
    """The largest size of a score of the block."""
    (T, C), normed = x.shape, x / (x.square().mean(1, keepdim=True) + 1e-6).sqrt()
    q, k = ((normed @ weights[name].T).view(T, heads, C // heads) for name in ("query", "key"))
    return float(torch.einsum("thd,shd->hts", q, k).abs().max()) * (C // heads) ** -0.5


def right_block(x: Tensor, weights: dict[str, Tensor], heads: int) -> Tensor:
    """What the block should give, by explicit indices, computed in float64."""
    x, W = x.double(), {name: one.double() for name, one in weights.items()}
    (T, C), D = x.shape, x.shape[1] // heads
    normed = x / torch.linalg.vector_norm(
        x.pow(2).mean(1, keepdim=True).add(1e-6).sqrt(), dim=1, keepdim=True
    )
    q, k, v = (
        torch.einsum("tc,hdc->htd", normed, W[name].view(heads, D, C))
        for name in ("query", "key", "value")
    )
    seen = torch.arange(T) <= torch.arange(T)[:, None]
    scores = torch.einsum("htd,hsd->hts", q, k) * D**-0.5
    weighted = torch.where(seen, scores, -torch.inf).softmax(2)
    y = x + torch.einsum("hts,hsd,chd->tc", weighted, v, W["output"].view(C, heads, D))
    second = y * (y.pow(2).mean(1, keepdim=True) + 1e-6) ** -0.5
    said = torch.einsum("tc,fc->tf", second, W["gate"])
    inside = said / (1 + (-said).exp()) * torch.einsum("tc,fc->tf", second, W["up"])
    return (y + torch.einsum("tf,cf->tc", inside, W["down"])).float()

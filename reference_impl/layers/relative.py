"""Positions as distances between query and key: T5's learned bias, Transformer-XL's
four terms.

Raffel et al. 2020, section 2.1, and the released program for the buckets; Dai et al.
2019, section 3.3.
"""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn


def distance_buckets(
    distance: Int[Tensor, "..."],
    num_buckets: int = 32,
    max_distance: int = 128,
    both_directions: bool = True,
) -> Int[Tensor, "..."]:
    """T5's buckets for key position less query position: one each for near ones, then
    wider ones by the logarithm.

    With both directions, half of the buckets are for keys after the query; without,
    those share the bucket of distance zero. All distances of max_distance and more
    share the last bucket.
    """
    first = torch.zeros_like(distance)
    if both_directions:
        num_buckets //= 2
        first = (distance > 0) * num_buckets
        away = distance.abs()
    else:
        away = (-distance).clamp(min=0)
    exact = num_buckets // 2
    # float32 as in the released program: in float64 a distance at a bucket's edge would
    # fall on its other side.
    share = torch.log(away.clamp(min=1).float() / exact) / math.log(
        max_distance / exact
    )
    wide = (exact + (share * (num_buckets - exact)).long()).clamp(max=num_buckets - 1)
    return first + torch.where(away < exact, away, wide)


class RelativeBias(nn.Module):
    """T5: a trained number for each bucket of distances and each head, added to the
    scores.

    One table serves all layers of a stack. The attention that it goes into is not
    scaled.
    """

    def __init__(
        self,
        num_heads: int,
        num_buckets: int = 32,
        max_distance: int = 128,
        both_directions: bool = True,
    ):
        super().__init__()
        self.max_distance, self.both_directions = max_distance, both_directions
        self.table = nn.Embedding(num_buckets, num_heads)

    def forward(
        self, num_queries: int, num_keys: int | None = None
    ) -> Float[Tensor, "H T S"]:
        """The bias of each head; the queries are the last T of the S keys."""
        num_keys = num_queries if num_keys is None else num_keys
        device = self.table.weight.device
        queries = torch.arange(num_keys - num_queries, num_keys, device=device)
        distance = torch.arange(num_keys, device=device) - queries[:, None]  # (T, S)
        buckets = distance_buckets(
            distance, self.table.num_embeddings, self.max_distance, self.both_directions
        )
        return self.table(buckets).permute(2, 0, 1)  # (H, T, S)


def distance_vectors(
    num_queries: int,
    num_keys: int,
    hidden_size: int,
    dtype: torch.dtype = torch.float32,
) -> Float[Tensor, "R C"]:
    """Transformer-XL's sinusoids for query position less key position, from S - 1 down
    to -(T - 1).

    Sines fill the first half of a row, cosines the second. R = S + T - 1: every
    distance that occurs, the largest first.
    """
    steps = torch.arange(0, hidden_size, 2).double() / hidden_size
    distance = torch.arange(num_keys - 1, -num_queries, -1).double()  # (R,)
    angles = distance[:, None] * 10_000.0**-steps
    return torch.cat((angles.sin(), angles.cos()), dim=-1).to(dtype)


def shift(
    scores: Float[Tensor, "B H T R"],
    num_keys: int,
    places: Int[Tensor, "B T"] | None = None,
) -> Float[Tensor, "B H T S"]:
    """From a column a distance (S - 1 first) to a column a key: query i takes columns P
    - 1 - i to P - 1 - i + S - 1.

    P = R - S + 1 places follow each other, the last of them at key S - 1. Query i
    stands at place i, or at places[i].
    """
    num_places = scores.shape[3] - num_keys + 1
    places = (
        torch.arange(num_places, device=scores.device) if places is None else places
    )
    start = num_places - 1 - places  # (T,) or (B, T)
    columns = start[..., None] + torch.arange(
        num_keys, device=scores.device
    )  # (T, S) or (B, T, S)
    return scores.gather(-1, columns.unsqueeze(-3).expand(*scores.shape[:2], -1, -1))


def transformer_xl_scores(
    q: Float[Tensor, "B H T D"],
    k: Float[Tensor, "B H S D"],
    r: Float[Tensor, "H R D"],
    u: Float[Tensor, "H D"],
    v: Float[Tensor, "H D"],
    places: Int[Tensor, "B T"] | None = None,
) -> Float[Tensor, "B H T S"]:
    """Equation of section 3.3, before scale and mask: q.k + q.r + u.k + v.r.

    What a query looks for by content (first and third term) and by distance (second and
    fourth); `r` is the projected `distance_vectors`, u and v are trained, and say what
    any query looks for. Memory of an earlier segment is keys only. `places` as in
    `shift`.
    """
    by_content = (q + u[:, None]) @ k.transpose(-2, -1)  # (B, H, T, S)
    by_distance = (q + v[:, None]) @ r.transpose(-2, -1)  # (B, H, T, R)
    return by_content + shift(by_distance, k.shape[2], places)

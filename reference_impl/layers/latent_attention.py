"""Multi-head latent attention: one compressed vector per token in the cache, for all
heads.

DeepSeek-AI 2024 (DeepSeek-V2), section 2.1.2 (compression of keys and values, equations
9 to 11, and of queries, 12 and 13), 2.1.3 (decoupled RoPE, equations 14 to 19), and the
remark after equation 11 (the expansions can be absorbed). DeepSeek-V3 has the same.

Not here: kernels of its own (FlashMLA). Absorbed, it is multi-query attention, for
which any cache and any paged kernel will do: see `LatentAttention.multi_query`.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from reference_impl.layers.attention import (
    LayerCache,
    causal_attention,
    merge_heads,
    split_heads,
)
from reference_impl.layers.masks import causal_mask
from reference_impl.layers.norms import RMSNorm
from reference_impl.layers.rotary import Tables, rotate
from reference_impl.layers.settings import Count, Positive, Settings


@dataclass(frozen=True)
class LatentConfig(Settings):
    """DeepSeek-V3."""

    hidden_size: Count = 7168
    num_heads: Count = 128
    query_rank: Count | None = 1536  # None: queries are not compressed
    rank: Count = 512  # of the latent
    rotary_dim: Count = 64  # of the key that all heads share
    plain_dim: Count = 128  # of a head's queries and keys, without RoPE
    value_dim: Count = 128
    score_factor: Positive = (
        1.0  # of all scores: above 1 where YaRN extends the context
    )

    def check_together(self) -> None:
        """The heads need not divide the hidden size."""

    @property
    def scale(self) -> float:
        """What scores are multiplied by; an expanded key has N + R dimensions."""
        return self.score_factor * (self.plain_dim + self.rotary_dim) ** -0.5


class LatentCache:
    """Latents and rotated keys of one layer, for the tokens so far."""

    def __init__(self) -> None:
        self.latent: Tensor | None = None
        self.rotated: Tensor | None = None

    @property
    def length(self) -> int:
        """How many tokens came before."""
        return 0 if self.latent is None else self.latent.shape[1]

    def append(
        self, latent: Float[Tensor, "B T L"], rotated: Float[Tensor, "B T R"]
    ) -> tuple[Float[Tensor, "B S L"], Float[Tensor, "B S R"]]:
        """Keep these and return all so far."""
        if self.latent is not None:
            latent = torch.cat((self.latent, latent), dim=1)
            rotated = torch.cat((self.rotated, rotated), dim=1)
        self.latent, self.rotated = latent, rotated
        return latent, rotated


class Expansions(nn.Module):
    """The matrix from a latent to the keys and values of all heads.

    It is read and never applied as a whole. No linear layer, so that nothing quantises
    it or adds an adapter to it, which would change what is read.
    """

    def __init__(self, num_outputs: int, rank: int):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(num_outputs, rank))
        nn.init.normal_(self.weight, std=0.02)


class LatentAttention(nn.Module):
    """Causal attention whose keys and values are expanded from a cached latent."""

    def __init__(self, config: LatentConfig):
        super().__init__()
        self.config = config
        width, heads = config.hidden_size, config.num_heads
        query_dim = heads * (config.plain_dim + config.rotary_dim)
        if config.query_rank is None:
            self.query = nn.Linear(width, query_dim, bias=False)
        else:
            self.query = nn.Sequential(
                nn.Linear(width, config.query_rank, bias=False),
                RMSNorm(config.query_rank),
                nn.Linear(config.query_rank, query_dim, bias=False),
            )
        self.down = nn.Linear(width, config.rank + config.rotary_dim, bias=False)
        self.norm = RMSNorm(config.rank)
        self.up = Expansions(heads * (config.plain_dim + config.value_dim), config.rank)
        self.output = nn.Linear(heads * config.value_dim, width, bias=False)

    def forward(
        self,
        x: Float[Tensor, "B T C"],
        rotary: Tables,
        cache: LatentCache | None = None,
        absorb: bool = False,
    ) -> Float[Tensor, "B T C"]:
        """Attend to x and to what is cached; `absorb` expands no key and no value."""
        q, q_rot, latent, k_rot = self.projected(x, rotary)
        if cache is not None:
            latent, k_rot = cache.append(latent, k_rot)
        attend = self.absorbed if absorb else self.expanded
        return self.output(merge_heads(attend(q, q_rot, latent, k_rot)))

    def projected(
        self, x: Float[Tensor, "B T C"], rotary: Tables
    ) -> tuple[
        Float[Tensor, "B H T N"],
        Float[Tensor, "B H T R"],
        Float[Tensor, "B T L"],
        Float[Tensor, "B T R"],
    ]:
        """Both parts of the queries, then the latents and rotated keys to be cached."""
        config = self.config
        q = split_heads(self.query(x), config.num_heads)  # (B, H, T, N + R)
        q, q_rot = q.split((config.plain_dim, config.rotary_dim), dim=-1)
        latent, k_rot = self.down(x).split((config.rank, config.rotary_dim), dim=-1)
        q_rot = rotate(q_rot, rotary, "pairs")
        k_rot = rotate(k_rot[:, None], rotary, "pairs")[:, 0]  # one for all heads
        return q, q_rot, self.norm(latent), k_rot

    def multi_query(
        self,
        x: Float[Tensor, "B T C"],
        rotary: Tables,
        mask: Bool[Tensor, "..."] | None = None,
        cache: LayerCache | None = None,
    ) -> Float[Tensor, "B T C"]:
        """Absorbed, through any cache of keys and values, such as an engine's pages.

        There is one wide head: its key is a token's latent and rotated key, and its
        value is the beginning of that key.
        """
        config = self.config
        q, q_rot, latent, k_rot = self.projected(x, rotary)
        to_key, to_value = self.expansions()
        q = torch.einsum("bhtn,hnl->bhtl", q, to_key)
        q = torch.cat((q, q_rot), dim=-1)  # (B, H, T, L + R)
        k = torch.cat((latent, k_rot), dim=-1)[:, None]  # (B, 1, T, L + R)
        # The attention below divides by the root of its own width, L + R.
        q = q * (config.scale * q.shape[-1] ** 0.5)
        mean = causal_attention(q, k, k, mask, cache)[..., : config.rank]
        out = torch.einsum("bhtl,hvl->bhtv", mean, to_value)
        return self.output(merge_heads(out))

    def expansions(self) -> tuple[Float[Tensor, "H N L"], Float[Tensor, "H V L"]]:
        """Each head's matrices from a latent to its key and to its value."""
        per_head = self.up.weight.unflatten(0, (self.config.num_heads, -1))
        return per_head.split((self.config.plain_dim, self.config.value_dim), dim=1)

    def expanded(
        self,
        q: Float[Tensor, "B H T N"],
        q_rot: Float[Tensor, "B H T R"],
        latent: Float[Tensor, "B S L"],
        k_rot: Float[Tensor, "B S R"],
    ) -> Float[Tensor, "B H T V"]:
        """Keys and values of every head, as in multi-head attention: for prompts."""
        to_key, to_value = self.expansions()
        k = torch.einsum("bsl,hnl->bhsn", latent, to_key)
        v = torch.einsum("bsl,hvl->bhsv", latent, to_value)
        scores = q @ k.mT + q_rot @ k_rot[:, None].mT  # (B, H, T, S)
        return self._weights(scores) @ v

    def absorbed(
        self,
        q: Float[Tensor, "B H T N"],
        q_rot: Float[Tensor, "B H T R"],
        latent: Float[Tensor, "B S L"],
        k_rot: Float[Tensor, "B S R"],
    ) -> Float[Tensor, "B H T V"]:
        """The same by one wide key per token, the latent: for decoding."""
        to_key, to_value = self.expansions()
        q = torch.einsum("bhtn,hnl->bhtl", q, to_key)
        scores = q @ latent[:, None].mT + q_rot @ k_rot[:, None].mT
        mean = self._weights(scores) @ latent[:, None]  # (B, H, T, L)
        return torch.einsum("bhtl,hvl->bhtv", mean, to_value)

    def _weights(self, scores: Float[Tensor, "B H T S"]) -> Float[Tensor, "B H T S"]:
        num_new, num_all = scores.shape[-2:]
        seen: Bool[Tensor, "T S"] = causal_mask(num_new, num_all, scores.device)
        scores = scores * self.config.scale
        return scores.masked_fill(~seen, -torch.inf).softmax(-1)

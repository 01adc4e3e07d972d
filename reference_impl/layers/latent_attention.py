"""Multi-head latent attention: one compressed vector per token in the cache, for all
heads.

DeepSeek-AI 2024 (DeepSeek-V2), section 2.1.2 (compression of keys and values, equations
9 to 11, and of queries, 12 and 13), 2.1.3 (decoupled RoPE, equations 14 to 19), and the
remark after equation 11 (the expansions can be absorbed). DeepSeek-V3 has the same.

Not here: the factor that DeepSeek multiplies the scale with when YaRN extends the
context, kernels (FlashMLA).
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from reference_impl.layers.attention import merge_heads, split_heads
from reference_impl.layers.masks import causal_mask
from reference_impl.layers.norms import RMSNorm
from reference_impl.layers.rotary import Tables, rotate
from reference_impl.layers.settings import Count, Settings


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

    def check_together(self) -> None:
        """The heads need not divide the hidden size."""


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
        self.up = nn.Linear(
            config.rank, heads * (config.plain_dim + config.value_dim), bias=False
        )
        self.output = nn.Linear(heads * config.value_dim, width, bias=False)

    def forward(
        self,
        x: Float[Tensor, "B T C"],
        rotary: Tables,
        cache: LatentCache | None = None,
        absorb: bool = False,
    ) -> Float[Tensor, "B T C"]:
        """Attend to x and to what is cached; `absorb` expands no key and no value."""
        config = self.config
        q = split_heads(self.query(x), config.num_heads)  # (B, H, T, N + R)
        q, q_rot = q.split((config.plain_dim, config.rotary_dim), dim=-1)
        latent, k_rot = self.down(x).split((config.rank, config.rotary_dim), dim=-1)
        q_rot = rotate(q_rot, rotary, "pairs")
        k_rot = rotate(k_rot[:, None], rotary, "pairs")[:, 0]  # one for all heads
        latent = self.norm(latent)
        if cache is not None:
            latent, k_rot = cache.append(latent, k_rot)
        attend = self.absorbed if absorb else self.expanded
        return self.output(merge_heads(attend(q, q_rot, latent, k_rot)))

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
        config, (num_new, num_all) = self.config, scores.shape[-2:]
        seen: Bool[Tensor, "T S"] = causal_mask(num_new, num_all, scores.device)
        scores = scores * (config.plain_dim + config.rotary_dim) ** -0.5
        return scores.masked_fill(~seen, -torch.inf).softmax(-1)

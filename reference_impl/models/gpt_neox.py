"""The parallel block: attention and feed-forward read the same vectors, and their results are added at once.

Wang and Komatsuzaki 2021 (GPT-J) began it; Black et al. 2022, section 2.1 (GPT-NeoX-20B), is what is built here; PaLM
(Chowdhery et al. 2022, section 2) has the same sum, y = x + attention(norm(x)) + feed_forward(norm(x)), and writes
that the matrices that read x can then be multiplied as one, 15 % faster at its size.

NeoX has a norm for each of the two, PaLM one for both: with equal weights in the two norms this block is PaLM's sum.
NeoX turns only a quarter of each head by position.

Not here: PaLM's other choices (one head of keys and values, SwiGLU, no biases): see `llama` for those parts.
"""
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from reference_impl.layers.attention import LayerCache, causal_attention, merge_heads, split_heads
from reference_impl.layers.checks import check_decoding, check_heads
from reference_impl.layers.feed_forward import FeedForward
from reference_impl.layers.initial import start_normal
from reference_impl.layers.masks import key_mask
from reference_impl.layers.norms import LayerNorm
from reference_impl.layers.rotary import Tables, rotary_tables, rotate
from reference_impl.weights.names import Names
from reference_impl.weights.pretrained import from_pretrained, refuse_scaled_rotary


@dataclass(frozen=True)
class GPTNeoXConfig:
    """GPT-NeoX-20B. `parallel=False` gives GPT-2's order, attention first."""

    vocab_size: int = 50_432
    hidden_size: int = 6144
    num_layers: int = 44
    num_heads: int = 64
    intermediate_size: int = 24_576
    hidden_act: str = "gelu"
    max_position_embeddings: int = 2048
    layer_norm_eps: float = 1e-5
    rope_theta: float = 10_000.0
    rotary_share: float = 0.25  # of each head's numbers
    parallel: bool = True

    model_types: ClassVar = ("gpt_neox",)
    published: ClassVar = {"num_layers": "num_hidden_layers", "num_heads": "num_attention_heads",
                           "parallel": "use_parallel_residual"}
    only: ClassVar = {"attention_bias": (True, "linear layers have biases"),
                      "tie_word_embeddings": (False, "the output layer is a matrix of its own")}

    @staticmethod
    def read(published: dict) -> dict:
        """Rotary settings have moved in published files."""
        refuse_scaled_rotary(published, "GPTNeoXConfig")
        rope = published.get("rope_parameters") or {}
        return {**published, "rope_theta": rope.get("rope_theta", published.get("rotary_emb_base")),
                "rotary_share": rope.get("partial_rotary_factor", published.get("rotary_pct"))}


class Attention(nn.Module):
    """Attention to what came before. The one matrix keeps query, key and value of a head side by side."""

    def __init__(self, config: GPTNeoXConfig):
        super().__init__()
        check_heads(config.hidden_size, config.num_heads, config.num_heads)
        self.num_heads = config.num_heads
        self.turned = int(config.hidden_size // config.num_heads * config.rotary_share)
        self.qkv = nn.Linear(config.hidden_size, 3 * config.hidden_size)
        self.output = nn.Linear(config.hidden_size, config.hidden_size)

    def _rotate(self, x: Float[Tensor, "B H T D"], rotary: Tables) -> Float[Tensor, "B H T D"]:
        return torch.cat((rotate(x[..., :self.turned], rotary), x[..., self.turned:]), dim=-1)

    def forward(self, x: Float[Tensor, "B T C"], rotary: Tables, mask: Bool[Tensor, "B 1 1 S"] | None,
                cache: LayerCache | None) -> Float[Tensor, "B T C"]:
        """With a cache, x are the last T of S tokens."""
        q, k, v = split_heads(self.qkv(x), self.num_heads).chunk(3, dim=-1)  # (B, H, T, 3 D) to (B, H, T, D) each
        q, k = self._rotate(q, rotary), self._rotate(k, rotary)
        return self.output(merge_heads(causal_attention(q, k, v, mask, cache)))


class Block(nn.Module):
    """x + attention(norm(x)) + feed_forward(norm(x)): neither waits for the other."""

    def __init__(self, config: GPTNeoXConfig):
        super().__init__()
        self.parallel = config.parallel
        self.attention_norm = LayerNorm(config.hidden_size, config.layer_norm_eps)
        self.attention = Attention(config)
        self.feed_forward_norm = LayerNorm(config.hidden_size, config.layer_norm_eps)
        self.feed_forward = FeedForward(config.hidden_size, config.intermediate_size, config.hidden_act)

    def forward(self, x: Float[Tensor, "B T C"], rotary: Tables, mask: Bool[Tensor, "B 1 1 S"] | None = None,
                cache: LayerCache | None = None) -> Float[Tensor, "B T C"]:
        """`mask` is True for the keys that are tokens."""
        attended = self.attention(self.attention_norm(x), rotary, mask, cache)
        if self.parallel:
            return x + attended + self.feed_forward(self.feed_forward_norm(x))
        x = x + attended
        return x + self.feed_forward(self.feed_forward_norm(x))


class GPTNeoX(nn.Module):
    """The language model."""

    config_class = GPTNeoXConfig

    def __init__(self, config: GPTNeoXConfig):
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.hidden_size)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.num_layers))
        self.norm = LayerNorm(config.hidden_size, config.layer_norm_eps)
        self.output = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        start_normal(self)

    def hidden(self, ids: Int[Tensor, "B T"], mask: Bool[Tensor, "B S"] | None = None,
               positions: Int[Tensor, "B T"] | None = None,
               cache: Sequence[LayerCache] | None = None) -> Float[Tensor, "B T C"]:
        """The last layer's vectors: what the output layer and other heads read. Arguments as in `forward`."""
        config = self.config
        start = check_decoding(ids, mask, positions, cache, config)
        x = self.embedding(ids)  # (B, T, C)
        if positions is None:
            positions = torch.arange(start, start + ids.shape[1], device=ids.device)
        rotary = rotary_tables(positions, self.blocks[0].attention.turned, config.rope_theta, dtype=x.dtype)
        for i, block in enumerate(self.blocks):
            x = block(x, rotary, key_mask(mask), cache[i] if cache else None)
        return self.norm(x)

    def forward(self, ids: Int[Tensor, "B T"], mask: Bool[Tensor, "B S"] | None = None,
                positions: Int[Tensor, "B T"] | None = None,
                cache: Sequence[LayerCache] | None = None) -> Float[Tensor, "B T V"]:
        """Logits of the token after each.

        `mask` is True where there is a token, for all S tokens so far; needed only for padding on the left. With
        `positions` a row may be wider than the positions there are: packed, or padded. With a cache, ids are the new
        ones.
        """
        return self.output(self.hidden(ids, mask, positions, cache))

    @classmethod
    def from_pretrained(cls, path: Path | str) -> "GPTNeoX":
        """Read config.json and safetensors of GPT-NeoX or Pythia."""
        return from_pretrained(cls, path)

    names = Names({
        "embedding": "gpt_neox.embed_in",
        "blocks.*.attention_norm": "gpt_neox.layers.*.input_layernorm",
        "blocks.*.attention.qkv": "gpt_neox.layers.*.attention.query_key_value",
        "blocks.*.attention.output": "gpt_neox.layers.*.attention.dense",
        "blocks.*.feed_forward_norm": "gpt_neox.layers.*.post_attention_layernorm",
        "blocks.*.feed_forward.up": "gpt_neox.layers.*.mlp.dense_h_to_4h",
        "blocks.*.feed_forward.down": "gpt_neox.layers.*.mlp.dense_4h_to_h",
        "norm": "gpt_neox.final_layer_norm",
        "output": "lm_head",
    }, files={"embed_out.weight": "lm_head.weight"})

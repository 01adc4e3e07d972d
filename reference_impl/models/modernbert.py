"""ModernBERT: BERT rebuilt with what decoders had learned since.

Warner et al. 2024, section 2.1 and appendix A: rotary positions, GeGLU, norms first, hardly any bias, and two kinds of
layers in turn: one in three sees the whole text, the others 64 tokens to each side, with a rotary base of their own.

Not here: the released model's staged training.
"""
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from reference_impl.layers.attention import attention, merge_heads, split_heads
from reference_impl.layers.checks import check_heads
from reference_impl.layers.feed_forward import activation
from reference_impl.layers.initial import start_normal
from reference_impl.layers.masks import join, key_mask, window_mask
from reference_impl.layers.norms import LayerNorm
from reference_impl.layers.packing import Packing, check_tokens, packed_attention
from reference_impl.layers.rotary import Tables, rotary_tables, rotate
from reference_impl.weights.names import Names
from reference_impl.weights.pretrained import from_pretrained, refuse_scaled_rotary
from reference_impl.weights.safetensors_files import WeightsError


@dataclass(frozen=True)
class ModernBertConfig:
    """ModernBERT-base. Large has hidden_size=1024, intermediate_size=2624, num_layers=28, num_heads=16."""

    vocab_size: int = 50_368
    hidden_size: int = 768
    intermediate_size: int = 1152
    num_layers: int = 22
    num_heads: int = 12
    max_position_embeddings: int = 8192
    norm_eps: float = 1e-5
    global_every: int = 3  # layers 0, 3, 6, ... see the whole text
    local_attention: int = 128  # half of it to each side
    global_rope_theta: float = 160_000.0
    local_rope_theta: float = 10_000.0

    model_types: ClassVar = ("modernbert",)
    published: ClassVar = {"num_layers": "num_hidden_layers", "num_heads": "num_attention_heads",
                           "global_every": "global_attn_every_n_layers"}
    only: ClassVar = {"hidden_activation": ("gelu", "the feed-forward is GeGLU"),
                      "attention_bias": (False, "no biases"),
                      "mlp_bias": (False, "no biases"), "norm_bias": (False, "no biases"),
                      "classifier_bias": (False, "no biases"), "classifier_activation": ("gelu", "the head has GELU"),
                      "decoder_bias": (True, "the decoder has the one bias"),
                      "tie_word_embeddings": (True, "they are tied")}

    @staticmethod
    def read(published: dict) -> dict:
        """Newer files list each layer's kind and keep the rotary bases by kind."""
        refuse_scaled_rotary(published, "ModernBertConfig")
        flat, kinds = dict(published), published.get("layer_types") or []
        if kinds:
            places = [i for i, kind in enumerate(kinds) if kind == "full_attention"]
            flat["global_attn_every_n_layers"] = every = places[1] if len(places) > 1 else len(kinds)
            if places != list(range(0, len(kinds), every)):
                raise WeightsError(f"config.json has whole-text layers at {places}: ModernBertConfig can every "
                                   "n-th from 0")
        rope = published.get("rope_parameters") or {}
        for name, kind in (("global_rope_theta", "full_attention"), ("local_rope_theta", "sliding_attention")):
            if kind in rope:
                flat[name] = rope[kind]["rope_theta"]
        return flat


class Attention(nn.Module):
    """Attention with rotary positions. One matrix makes queries, keys and values."""

    def __init__(self, config: ModernBertConfig):
        super().__init__()
        check_heads(config.hidden_size, config.num_heads, config.num_heads)
        self.num_heads = config.num_heads
        self.qkv = nn.Linear(config.hidden_size, 3 * config.hidden_size, bias=False)
        self.output = nn.Linear(config.hidden_size, config.hidden_size, bias=False)

    def forward(self, x: Float[Tensor, "B T C"], rotary: Tables, mask: Bool[Tensor, "..."] | None,
                packing: Packing | None) -> Float[Tensor, "B T C"]:
        """`mask` is True where a query may see a key; a packing says it of sequences that lie end to end."""
        q, k, v = (split_heads(part, self.num_heads) for part in self.qkv(x).chunk(3, dim=-1))  # (B, H, T, D) each
        q, k = rotate(q, rotary), rotate(k, rotary)
        if packing is None:
            return self.output(merge_heads(attention(q, k, v, mask)))
        return self.output(merge_heads(packed_attention(q, k, v, packing.cu_seqlens, window=packing.window)))


class GeGLU(nn.Module):
    """down(gelu(gate) * up), gate and up from one matrix."""

    def __init__(self, config: ModernBertConfig):
        super().__init__()
        self.gate_up = nn.Linear(config.hidden_size, 2 * config.intermediate_size, bias=False)
        self.down = nn.Linear(config.intermediate_size, config.hidden_size, bias=False)
        self.act = activation("gelu")

    def forward(self, x: Float[Tensor, "B T C"]) -> Float[Tensor, "B T C"]:
        """Each token alone."""
        gate, up = self.gate_up(x).chunk(2, dim=-1)  # (B, T, F) each
        return self.down(self.act(gate) * up)


class Block(nn.Module):
    """Attention, then GeGLU, each with a norm before and a residual around.

    The first block has no norm before its attention: the embeddings were normed a moment ago.
    """

    def __init__(self, config: ModernBertConfig, first: bool):
        super().__init__()
        self.attention_norm = nn.Identity() if first else LayerNorm(config.hidden_size, config.norm_eps, bias=False)
        self.attention = Attention(config)
        self.feed_forward_norm = LayerNorm(config.hidden_size, config.norm_eps, bias=False)
        self.feed_forward = GeGLU(config)

    def forward(self, x: Float[Tensor, "B T C"], rotary: Tables, mask: Bool[Tensor, "..."] | None,
                packing: Packing | None = None) -> Float[Tensor, "B T C"]:
        """`mask` is True where a query may see a key."""
        x = x + self.attention(self.attention_norm(x), rotary, mask, packing)
        return x + self.feed_forward(self.feed_forward_norm(x))


class ModernBert(nn.Module):
    """The encoder."""

    config_class = ModernBertConfig

    def __init__(self, config: ModernBertConfig):
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.hidden_size)
        self.embedding_norm = LayerNorm(config.hidden_size, config.norm_eps, bias=False)
        self.blocks = nn.ModuleList(Block(config, first=i == 0) for i in range(config.num_layers))
        self.norm = LayerNorm(config.hidden_size, config.norm_eps, bias=False)
        start_normal(self)

    def forward(self, ids: Int[Tensor, "B T"], mask: Bool[Tensor, "B T"] | None = None,
                packing: Packing | None = None) -> Float[Tensor, "B T C"]:
        """A vector for each token. `mask` is True where there is a token and False for padding; None: no padding.

        With a packing the one row is many sequences end to end (see `layers.packing`).
        """
        config = self.config
        check_tokens(ids, mask, packing, config.vocab_size, config.max_position_embeddings)
        x = self.embedding_norm(self.embedding(ids))  # (B, T, C)
        head_dim, side = config.hidden_size // config.num_heads, config.local_attention // 2
        if packing is None:
            positions = torch.arange(ids.shape[1], device=ids.device)
            everywhere = key_mask(mask), None
            nearby = join(everywhere[0], window_mask(len(positions), before=side, after=side, device=ids.device)), None
        else:
            positions, everywhere, nearby = packing.positions, (None, packing), (None, packing.within(side, side))
        global_tables = rotary_tables(positions, head_dim, config.global_rope_theta, dtype=x.dtype)
        local_tables = rotary_tables(positions, head_dim, config.local_rope_theta, dtype=x.dtype)
        for i, block in enumerate(self.blocks):
            x = block(x, local_tables, *nearby) if i % config.global_every else block(x, global_tables, *everywhere)
        return self.norm(x)

    @classmethod
    def from_pretrained(cls, path: Path | str) -> "ModernBert":
        """Read config.json and safetensors of a folder; of a model with a head, its encoder."""
        return from_pretrained(cls, path, inside="model")

    names = Names({
        "embedding": "embeddings.tok_embeddings",
        "embedding_norm": "embeddings.norm",
        "blocks.*.attention_norm": "layers.*.attn_norm",
        "blocks.*.attention.qkv": "layers.*.attn.Wqkv",
        "blocks.*.attention.output": "layers.*.attn.Wo",
        "blocks.*.feed_forward_norm": "layers.*.mlp_norm",
        "blocks.*.feed_forward.gate_up": "layers.*.mlp.Wi",
        "blocks.*.feed_forward.down": "layers.*.mlp.Wo",
        "norm": "final_norm",
    })


class ModernBertForMaskedLM(nn.Module):
    """Which token stood here: one more layer, then the embedding once more as the output layer."""

    config_class = ModernBertConfig

    def __init__(self, config: ModernBertConfig):
        super().__init__()
        self.config = config
        self.encoder = ModernBert(config)
        self.dense = nn.Linear(config.hidden_size, config.hidden_size, bias=False)
        self.norm = LayerNorm(config.hidden_size, config.norm_eps, bias=False)
        self.decoder = nn.Linear(config.hidden_size, config.vocab_size)
        self.decoder.weight = self.encoder.embedding.weight
        start_normal(self)

    def forward(self, ids: Int[Tensor, "B T"], mask: Bool[Tensor, "B T"] | None = None,
                packing: Packing | None = None) -> Float[Tensor, "B T V"]:
        """Logits of each token."""
        return self.decoder(self.norm(activation("gelu")(self.dense(self.encoder(ids, mask, packing)))))

    @classmethod
    def from_pretrained(cls, path: Path | str) -> "ModernBertForMaskedLM":
        """Read config.json and safetensors of a folder that has this head."""
        return from_pretrained(cls, path)

    names = ModernBert.names.inside("encoder", "model", {
        "dense": "head.dense", "norm": "head.norm", "decoder": "decoder"})

"""Published configurations of open models: their parameters, and what their KV caches take.

    MODELS["Gemma 3 27B"].cache_bytes(tokens=131_072)
    MODELS["DeepSeek-V3"].parameters, MODELS["DeepSeek-V3"].active_parameters

The numbers are those of each model's published `config.json`, compared with the report that
`source` names (a key of book/references.bib). A cached value has 16 bits.
"""

from collections.abc import Mapping
from dataclasses import dataclass

BYTES = 2


@dataclass(frozen=True)
class Experts:
    """The mixture of experts of a model's layers."""

    count: int
    per_token: int
    size: int  # the intermediate size of one
    shared_size: int = 0  # of the expert that all tokens use
    dense_layers: int = 0  # layers that have one feed-forward layer instead


@dataclass(frozen=True)
class Latent:
    """The dimensions of multi-head latent attention."""

    query_rank: int
    rank: int  # of the vector that a layer caches for keys and values
    rotary: int  # dimensions with RoPE, cached as they are
    plain: int  # dimensions of a head's keys without RoPE
    value: int  # dimensions of a head's values


@dataclass(frozen=True)
class Configuration:
    """What a model card says of one model's shape."""

    hidden_size: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    vocabulary: int
    intermediate_size: int
    source: str
    tied: bool = False
    window: int | None = None  # of the local layers
    chunked: bool = False  # they attend within chunks of this size, and not to the last tokens
    global_every: int = 1  # each such layer attends to all tokens; 0: none does
    latent: Latent | None = None
    experts: Experts | None = None

    @property
    def global_layers(self) -> int:
        """How many layers attend to the whole context."""
        if self.window is None:
            return self.layers
        return self.layers // self.global_every if self.global_every else 0

    @property
    def layer_bytes(self) -> int:
        """What one layer caches for one token."""
        if self.latent is not None:
            return BYTES * (self.latent.rank + self.latent.rotary)
        return BYTES * 2 * self.kv_heads * self.head_dim

    @property
    def bytes_per_token(self) -> int:
        """What a new token adds while the context still fits into the windows."""
        return self.layers * self.layer_bytes

    def cache_bytes(self, tokens: int) -> int:
        """What a cache takes that drops what lies outside the windows."""
        local = min(tokens, self.window or tokens)
        kept = self.global_layers * tokens + (self.layers - self.global_layers) * local
        return kept * self.layer_bytes

    @property
    def pattern(self) -> str:
        """Which layers attend how far, in words."""
        if self.window is None:
            return "full"
        local = f"{'chunks of' if self.chunked else 'window'} {self.window:,}"
        if not self.global_every:
            return local
        return f"{self.global_every - 1} × {local}, then full"

    @property
    def attention_parameters(self) -> int:
        """The matrices of one layer's attention."""
        width, one = self.hidden_size, self.latent
        if one is None:
            return 2 * width * self.head_dim * (self.heads + self.kv_heads)
        query = one.query_rank * (width + self.heads * (one.plain + one.rotary))
        keys_values = one.rank * (width + self.heads * (one.plain + one.value))
        return query + keys_values + width * (one.rotary + self.heads * one.value)

    def _parameters(self, experts_used: int | None) -> int:
        embeddings = self.vocabulary * self.hidden_size * (1 if self.tied else 2)
        dense, sizes = self.layers, 0
        if (one := self.experts) is not None:
            dense = one.dense_layers
            used = one.count if experts_used is None else experts_used
            sizes = used * one.size + one.shared_size
        sizes = dense * self.intermediate_size + (self.layers - dense) * sizes
        routers = (self.layers - dense) * self.hidden_size * (one.count if one else 0)
        return (
            embeddings
            + self.layers * self.attention_parameters
            + 3 * self.hidden_size * sizes
            + routers
        )

    @property
    def parameters(self) -> int:
        """All of them, save norms and biases, which are less than a thousandth."""
        return self._parameters(None)

    @property
    def active_parameters(self) -> int:
        """Those that a token's pass uses, embeddings included."""
        return self._parameters(self.experts.per_token if self.experts else None)


MODELS: Mapping[str, Configuration] = {
    "Mistral 7B v0.1": Configuration(
        4096, 32, 32, 8, 128, 32_000, 14_336, "jiang2023", window=4096, global_every=0
    ),
    "Mixtral 8x7B": Configuration(
        4096, 32, 32, 8, 128, 32_000, 14_336, "jiang2024", experts=Experts(8, 2, 14_336)
    ),
    "Llama 3.1 8B": Configuration(4096, 32, 32, 8, 128, 128_256, 14_336, "grattafiori2024"),
    "Llama 3.1 70B": Configuration(8192, 80, 64, 8, 128, 128_256, 28_672, "grattafiori2024"),
    "DeepSeek-V3": Configuration(
        7168,
        61,
        128,
        128,
        128,
        129_280,
        18_432,
        "deepseekv32024",
        latent=Latent(query_rank=1536, rank=512, rotary=64, plain=128, value=128),
        experts=Experts(256, 8, 2048, shared_size=2048, dense_layers=3),
    ),
    "Gemma 3 27B": Configuration(
        5376, 62, 32, 16, 128, 262_208, 21_504, "gemma2025", tied=True, window=1024, global_every=6
    ),
    "Llama 4 Scout": Configuration(
        5120,
        48,
        40,
        8,
        128,
        202_048,
        16_384,
        "llama42025",
        window=8192,
        chunked=True,
        global_every=4,
        experts=Experts(16, 1, 8192, shared_size=8192),
    ),
    "Qwen3 8B": Configuration(4096, 36, 32, 8, 128, 151_936, 12_288, "qwen32025"),
    "Qwen3 30B-A3B": Configuration(
        2048, 48, 32, 4, 128, 151_936, 6144, "qwen32025", experts=Experts(128, 8, 768)
    ),
    "gpt-oss-120b": Configuration(
        2880,
        36,
        64,
        8,
        64,
        201_088,
        2880,
        "gptoss2025",
        window=128,
        global_every=2,
        experts=Experts(128, 4, 2880),
    ),
}

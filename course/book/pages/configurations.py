"""Published configurations of open models, and what their KV caches take.

    MODELS["Gemma 3 27B"].cache_bytes(tokens=131_072)

The numbers are those of each model's published `config.json`, compared with the report that
`source` names (a key of book/references.bib). A cached value has 16 bits.
"""

from collections.abc import Mapping
from dataclasses import dataclass

BYTES = 2


@dataclass(frozen=True)
class Configuration:
    """What a model card says of one model's shape."""

    hidden_size: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    vocabulary: int
    source: str
    tied: bool = False
    window: int | None = None  # of the local layers
    chunked: bool = False  # they attend within chunks of this size, and not to the last tokens
    global_every: int = 1  # each such layer attends to all tokens; 0: none does
    latent: int | None = None  # MLA: what a layer caches for a token, in place of keys and values

    @property
    def global_layers(self) -> int:
        """How many layers attend to the whole context."""
        if self.window is None:
            return self.layers
        return self.layers // self.global_every if self.global_every else 0

    @property
    def layer_bytes(self) -> int:
        """What one layer caches for one token."""
        return BYTES * (self.latent or 2 * self.kv_heads * self.head_dim)

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


MODELS: Mapping[str, Configuration] = {
    "Mistral 7B v0.1": Configuration(
        4096, 32, 32, 8, 128, 32_000, "jiang2023", window=4096, global_every=0
    ),
    "Llama 3.1 8B": Configuration(4096, 32, 32, 8, 128, 128_256, "grattafiori2024"),
    "Llama 3.1 70B": Configuration(8192, 80, 64, 8, 128, 128_256, "grattafiori2024"),
    "DeepSeek-V3": Configuration(
        7168, 61, 128, 128, 128, 129_280, "deepseekv32024", latent=512 + 64
    ),
    "Gemma 3 27B": Configuration(
        5376, 62, 32, 16, 128, 262_208, "gemma2025", tied=True, window=1024, global_every=6
    ),
    "Llama 4 Scout": Configuration(
        5120, 48, 40, 8, 128, 202_048, "llama42025", window=8192, chunked=True, global_every=4
    ),
    "Qwen3 8B": Configuration(4096, 36, 32, 8, 128, 151_936, "qwen32025"),
    "gpt-oss-120b": Configuration(
        2880, 36, 64, 8, 64, 201_088, "gptoss2025", window=128, global_every=2
    ),
}

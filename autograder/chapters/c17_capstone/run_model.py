"""The model of a finished run as plain tensors: logits, answers to many prompts, bits per byte.

Written out with torch's operators and apart from `reference_impl.models`, so that it serves as an
independent check of what the pipeline computes.
"""

import math
from collections import defaultdict
from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from autograder.chapters.c17_capstone.run_format import Weights

END = 1
CONTEXT = 128  # tokens of a chunk that is scored


class Model:
    """A LLaMA with grouped KV heads, SwiGLU and a tied output layer.

    causal: without it tokens attend to later ones, to recognise a training that let them.
    """

    def __init__(self, config: dict, weights: Weights, causal: bool = True):
        self.config, self.weights, self.causal = config, weights, causal
        self.head_dim = config["hidden_size"] // config["num_heads"]
        powers = torch.arange(0, self.head_dim, 2) / self.head_dim
        self._frequencies = config["rope_theta"] ** -powers

    def logits(self, ids: Int[Tensor, "B T"], cache: list | None = None) -> Float[Tensor, "B T V"]:
        """Logits of the token after each. `cache` has the keys and values of earlier tokens."""
        start = cache[0][0].shape[2] if cache and cache[0] else 0
        angles = torch.arange(start, start + ids.shape[1])[:, None] * self._frequencies
        x = self.weights["embedding.weight"][ids]
        for layer in range(self.config["num_layers"]):
            x = x + self._attention(layer, x, angles, cache)
            x = x + self._feed_forward(layer, x)
        return self._norm("norm", x) @ self.weights["embedding.weight"].T

    def _of(self, layer: int, name: str) -> Tensor:
        return self.weights[f"blocks.{layer}.{name}.weight"]

    def _norm(self, name: str, x: Tensor) -> Tensor:
        scale = (x.square().mean(-1, keepdim=True) + self.config["rms_norm_eps"]).rsqrt()
        return x * scale * self.weights[f"{name}.weight"]

    def _attention(self, layer: int, x: Tensor, angles: Tensor, cache: list | None) -> Tensor:
        B, T, C = x.shape
        x = self._norm(f"blocks.{layer}.attention_norm", x)
        q, k, v = (
            (x @ self._of(layer, f"attention.{name}").T)
            .view(B, T, -1, self.head_dim)
            .transpose(1, 2)
            for name in ("query", "key", "value")
        )
        q, k = rotated(q, angles), rotated(k, angles)
        if cache is not None:
            if cache[layer]:
                k, v = (torch.cat(pair, 2) for pair in zip(cache[layer], (k, v), strict=True))
            cache[layer] = (k, v)
        group = q.shape[1] // k.shape[1]
        k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
        # several tokens are only read where nothing is cached, so the causal mask is square
        found = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal and T > 1)
        return found.transpose(1, 2).reshape(B, T, C) @ self._of(layer, "attention.output").T

    def _feed_forward(self, layer: int, x: Tensor) -> Tensor:
        x = self._norm(f"blocks.{layer}.feed_forward_norm", x)
        gate = F.silu(x @ self._of(layer, "feed_forward.gate").T)
        up = x @ self._of(layer, "feed_forward.up").T
        return (gate * up) @ self._of(layer, "feed_forward.down").T


def rotated(x: Float[Tensor, "B H T D"], angles: Float[Tensor, "T D/2"]) -> Tensor:
    """Rotary positions: dimension i is rotated with dimension i + D/2."""
    first, second = x.chunk(2, -1)
    cos, sin = angles.cos(), angles.sin()
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)


@torch.no_grad()
def answers(
    model: Model,
    prompts: Sequence[Sequence[int]],
    longest: int,
    temperature: float = 0.0,
    rng: torch.Generator | None = None,
) -> list[list[int]]:
    """The ids of each answer, END included if it came within `longest` tokens."""
    by_length = defaultdict(list)
    for place, prompt in enumerate(prompts):
        by_length[len(prompt)].append(place)
    found: list[list[int]] = [[] for _ in prompts]
    for places in by_length.values():
        ids = torch.tensor([prompts[place] for place in places])
        said = _continued(model, ids, longest, temperature, rng)
        for place, row in zip(places, said.tolist(), strict=True):
            found[place] = row[: row.index(END) + 1] if END in row else row
    return found


def _continued(
    model: Model, ids: Tensor, longest: int, temperature: float, rng: torch.Generator | None
) -> Int[Tensor, "B N"]:
    cache: list = [None] * model.config["num_layers"]
    said: list[Tensor] = []
    ended = torch.zeros(len(ids), dtype=torch.bool)
    room = model.config["max_position_embeddings"] - ids.shape[1]
    for _ in range(min(longest, room)):
        logits = model.logits(ids, cache)[:, -1]
        if temperature:
            chosen = torch.multinomial((logits / temperature).softmax(-1), 1, generator=rng)
        else:
            chosen = logits.argmax(-1, keepdim=True)
        said.append(chosen)
        ended |= chosen[:, 0] == END
        if ended.all():
            break
        ids = chosen
    return torch.cat(said, 1) if said else ids[:, :0]


@torch.no_grad()
def bits_per_byte(model: Model, ids: Sequence[int], num_bytes: int, ahead: int = 1) -> float:
    """Bits per byte of a text of more than CONTEXT ids, in chunks of CONTEXT tokens.

    ahead: which token is predicted; 2 is the one after the next.
    """
    rows = torch.tensor(ids).unfold(0, CONTEXT + 1, CONTEXT)
    logits = model.logits(rows)[:, :-ahead]
    loss = F.cross_entropy(logits.flatten(0, 1), rows[:, ahead:].flatten())
    return float(loss) / math.log(2) * len(ids) / num_bytes


@torch.no_grad()
def shortfall(model: Model, prompt: Sequence[int], answer: Sequence[int]) -> float:
    """How far a token of an answer is below the largest logit of its position, at most.

    0 for greedy decoding; a little above where the rounding of two programs differs.
    """
    logits = model.logits(torch.tensor([[*prompt, *answer]]))[0, len(prompt) - 1 : -1]
    chosen = logits.gather(1, torch.tensor(answer)[:, None])[:, 0]
    return float((logits.amax(1) - chosen).max())

"""BigBird: BERT for long texts.

Tokens see neighbours, the ends of the text, and a few places drawn at random.

Zaheer et al. 2020, sections 2 and 3 and appendix D (blocks; the "ITC" form, whose
global tokens are the text's own). In blocks of W tokens, as the paper calls them: the
first and the last see all and are seen by all; any other sees itself, the blocks beside
it and R random ones of its own for each head. A token has (5 + R) W scores, however
long the text.

The draw is fixed for a layer, a number of heads and a number of blocks, and never twice
the same block. `transformers` draws in training only: in evaluation all its draws are
block 0, which then counts 1 + R times. Models that are read from files do so too, and
give its numbers; set `draws_in_evaluation` for the paper's.

Not here: global tokens that are added ("ETC"), the pooler, decoders.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from reference_impl.layers.attention import attention, merge_heads, split_heads
from reference_impl.layers.checks import (
    check_heads,
    check_ids,
    check_mask,
    check_segments,
)
from reference_impl.layers.initial import start_normal
from reference_impl.layers.masks import key_mask
from reference_impl.layers.settings import Activation, Count, CountOrZero
from reference_impl.models.bert import BertConfig, Embeddings
from reference_impl.models.bert import Block as BertBlock
from reference_impl.models.heads import MaskedLMHead
from reference_impl.models.longformer import chunks
from reference_impl.weights.families import long_documents
from reference_impl.weights.pretrained import Pretrained


@dataclass(frozen=True)
class BigBirdConfig(BertConfig):
    """BigBird-base."""

    vocab_size: Count = 50_358
    hidden_act: Activation = "gelu_new"
    max_position_embeddings: Count = 4096
    attention_type: Literal["block_sparse", "original_full"] = "block_sparse"
    block_size: Count = 64
    num_random_blocks: CountOrZero = 3
    draws_in_evaluation: bool = True  # False for files: the library's way, see above

    formats: ClassVar = (long_documents.BIGBIRD,)

    def is_sparse(self, num_tokens: int) -> bool:
        """A short text is attended to in full: sparse blocks would save little, or not
        be there to be drawn.
        """
        return (
            self.attention_type == "block_sparse"
            and num_tokens > (5 + 2 * self.num_random_blocks) * self.block_size
        )


def random_blocks(
    num_blocks: int, num_random: int, num_heads: int, seed: int
) -> Int[Tensor, "H M R"]:
    """For each head and each of the M = num_blocks - 2 inner blocks: R others that it
    would not see anyway.

    All such sets are equally likely, and the same seed draws the same ones.
    """
    free = torch.ones(num_blocks, num_blocks).triu(2) + torch.ones(
        num_blocks, num_blocks
    ).tril(-2)  # not beside it
    free[:, [0, -1]] = 0
    draw = (
        torch.rand(
            num_heads,
            num_blocks - 2,
            num_blocks,
            generator=torch.Generator().manual_seed(seed),
        )
        + 1
    )
    return (draw * free[1:-1]).topk(num_random).indices


def seen_blocks(
    num_blocks: int, random: Int[Tensor, "H M R"]
) -> tuple[Int[Tensor, "H M P"], Bool[Tensor, "M P"]]:
    """The P = 5 + R blocks that each inner block sees: the first, the one before,
    itself, the one after, the last, the random ones. False marks those that stand there
    for a second time: next to an end, the neighbour is the end.
    """
    inner = torch.arange(1, num_blocks - 1, device=random.device)  # (M,)
    first, last = torch.zeros_like(inner), torch.full_like(inner, num_blocks - 1)
    fixed = torch.stack((first, inner - 1, inner, inner + 1, last), dim=-1)  # (M, 5)
    once = torch.ones(
        len(inner), 5 + random.shape[-1], dtype=torch.bool, device=random.device
    )
    once[0, 1] = once[-1, 3] = False
    return torch.cat((fixed.expand(random.shape[0], -1, -1), random), dim=-1), once


def block_sparse_attention(
    q: Float[Tensor, "B H T D"],
    k: Float[Tensor, "B H T D"],
    v: Float[Tensor, "B H T D"],
    tokens: Bool[Tensor, "B T"],
    size: int,
    random: Int[Tensor, "H M R"],
    dropout: float = 0.0,
) -> Float[Tensor, "B H T D"]:
    """The two end blocks attend to everything; each inner block to the blocks that it
    sees, gathered side by side.
    """
    num_heads, num_tokens = q.shape[1:3]
    queries, keys, values = (chunks(x, size) for x in (q, k, v))  # (B, H, N, W, D)
    real = nn.functional.pad(tokens, (0, -num_tokens % size)).unflatten(
        1, (-1, size)
    )  # (B, N, W)
    seen, once = seen_blocks(keys.shape[2], random)  # (H, M, P), (M, P)
    heads = torch.arange(num_heads, device=q.device)[:, None, None]
    near, far = (
        (x[:, heads, seen]).flatten(3, 4).flatten(1, 2) for x in (keys, values)
    )  # (B, H M, P W, D)
    mask = (
        (real[:, seen] & once[..., None]).flatten(3, 4).flatten(1, 2).unsqueeze(2)
    )  # (B, H M, 1, P W)
    inner = attention(
        queries[:, :, 1:-1].flatten(1, 2), near, far, mask, dropout=dropout
    )  # (B, H M, W, D)
    ends = torch.cat((queries[:, :, 0], queries[:, :, -1]), dim=2)  # (B, H, 2 W, D)
    first, last = attention(ends, k, v, key_mask(tokens), dropout=dropout).chunk(
        2, dim=2
    )
    inner = inner.unflatten(1, (num_heads, -1)).flatten(2, 3)  # (B, H, M W, D)
    return torch.cat((first, inner, last), dim=2)[:, :, :num_tokens]


def pattern(num_blocks: int, random: Int[Tensor, "H M R"]) -> Bool[Tensor, "H N N"]:
    """Figure 1 (d): which block sees which, the first and the last row and
    column full.
    """
    seen, _ = seen_blocks(num_blocks, random)
    sees = torch.zeros(
        random.shape[0], num_blocks, num_blocks, dtype=torch.bool, device=random.device
    )
    sees[:, 1:-1].scatter_(2, seen, True)
    sees[:, [0, -1]] = True
    return sees


class BigBirdAttention(nn.Module):
    """Multi-head attention over blocks; over everything if the text is short.

    `seed` is the layer's number.
    """

    def __init__(self, config: BigBirdConfig, seed: int):
        super().__init__()
        check_heads(config.hidden_size, config.num_heads, config.num_heads)
        self.config, self.seed = config, seed
        self.query, self.key, self.value, self.output = (
            nn.Linear(config.hidden_size, config.hidden_size) for _ in range(4)
        )

    def draw(self, num_tokens: int) -> Int[Tensor, "H M R"]:
        """This layer's random blocks for texts of this length."""
        num_blocks, num_heads = (
            -(-num_tokens // self.config.block_size),
            self.config.num_heads,
        )
        if not (self.training or self.config.draws_in_evaluation):
            return torch.zeros(
                num_heads,
                num_blocks - 2,
                self.config.num_random_blocks,
                dtype=torch.long,
            )
        return random_blocks(
            num_blocks, self.config.num_random_blocks, num_heads, self.seed
        )

    def project(self, x: Float[Tensor, "B T C"]) -> list[Float[Tensor, "B H T D"]]:
        """Queries, keys and values in heads."""
        return [
            split_heads(layer(x), self.config.num_heads)
            for layer in (self.query, self.key, self.value)
        ]

    def forward(
        self, x: Float[Tensor, "B T C"], tokens: Bool[Tensor, "B T"]
    ) -> Float[Tensor, "B T C"]:
        """`tokens` is False for padding."""
        dropout = self.config.attention_dropout if self.training else 0.0
        q, k, v = self.project(x)
        if not self.config.is_sparse(x.shape[1]):
            return self.output(
                merge_heads(attention(q, k, v, key_mask(tokens), dropout=dropout))
            )
        random = self.draw(x.shape[1]).to(x.device)
        mixed = block_sparse_attention(
            q, k, v, tokens, self.config.block_size, random, dropout
        )
        return self.output(merge_heads(mixed))

    def dense(
        self, x: Float[Tensor, "B T C"], tokens: Bool[Tensor, "B T"]
    ) -> Float[Tensor, "B T C"]:
        """What `forward` gives for a long text with real draws, from all T x T scores
        and the mask that they amount to.
        """
        size, num_tokens = self.config.block_size, x.shape[1]
        sees = pattern(
            -(-num_tokens // size), self.draw(num_tokens).to(x.device)
        )  # (H, N, N)
        sees = sees.repeat_interleave(size, 1).repeat_interleave(size, 2)[
            :, :num_tokens, :num_tokens
        ]
        return self.output(
            merge_heads(attention(*self.project(x), key_mask(tokens) & sees))
        )


class Block(BertBlock):
    """BERT's, around this attention."""

    def __init__(self, config: BigBirdConfig, seed: int):
        super().__init__(config, BigBirdAttention(config, seed))

    def forward(
        self, x: Float[Tensor, "B T C"], tokens: Bool[Tensor, "B T"]
    ) -> Float[Tensor, "B T C"]:
        """`tokens` is False for padding."""
        return self.add(x, self.attention(x, tokens))


class BigBird(Pretrained, nn.Module):
    """The encoder: BERT's embeddings, these blocks."""

    config_class = BigBirdConfig
    files = long_documents.BIGBIRD_FILES

    def __init__(self, config: BigBirdConfig):
        super().__init__()
        self.config = config
        self.embeddings = Embeddings(config)
        self.blocks = nn.ModuleList(
            Block(config, seed) for seed in range(config.num_layers)
        )
        start_normal(self)

    def forward(
        self,
        ids: Int[Tensor, "B T"],
        segments: Int[Tensor, "B T"] | None = None,
        mask: Bool[Tensor, "B T"] | None = None,
    ) -> Float[Tensor, "B T C"]:
        """`mask` is True where there is a token and False for padding; None: no
        padding. No segments: all the first.
        """
        check_ids(ids, self.config.vocab_size, self.config.max_position_embeddings)
        check_mask(mask, ids.shape)
        segments = torch.zeros_like(ids) if segments is None else segments
        check_segments(segments, ids.shape, self.config.type_vocab_size)
        x = self.embeddings(ids, segments)  # (B, T, C)
        for block in self.blocks:
            x = block(
                x, torch.ones_like(ids, dtype=torch.bool) if mask is None else mask
            )
        return x


class BigBirdForMaskedLM(Pretrained, nn.Module):
    """Which token stood here."""

    config_class = BigBirdConfig
    files = long_documents.BIGBIRD_MASKED_LM

    def __init__(self, config: BigBirdConfig):
        super().__init__()
        self.config = config
        self.bigbird = BigBird(config)
        self.masked_lm = MaskedLMHead(
            self.bigbird.embeddings.word,
            config.hidden_size,
            config.hidden_act,
            config.layer_norm_eps,
        )
        start_normal(self)

    def forward(
        self,
        ids: Int[Tensor, "B T"],
        segments: Int[Tensor, "B T"] | None = None,
        mask: Bool[Tensor, "B T"] | None = None,
    ) -> Float[Tensor, "B T V"]:
        """Logits of each token."""
        return self.masked_lm(self.bigbird(ids, segments, mask))

"""Attention: every query takes a weighted mean of the values, weighted by how well it
fits their keys.

Vaswani et al. 2017, sections 3.2.1 (scaled dot-product) and 3.2.2 (multi-head); Shazeer
2019 (one head of keys and values for all queries: multi-query); Ainslie et al. 2023
(one for each group: grouped-query).

`textbook_attention` is the formula and nothing else. `attention_weights` and
`plain_attention` add grouped heads, biases and rows without keys; every score is in
memory. `attention` gives the same through torch's fused operator, which never writes
the T x S scores down where it can. Models use the last.

Not here: which positions (see `positions`, `relative`, `rotary`), caches (see
`generation`), kernels (see `kernels`).
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from reference_impl.kernels.selection import runs_ours
from reference_impl.layers.checks import ModelInputError, check_heads
from reference_impl.layers.long_context import sink_attention
from reference_impl.layers.masks import causal_mask, join, sliding_mask
from reference_impl.layers.packing import Packing, packed_attention
from reference_impl.layers.rotary import Tables, rotate


def textbook_attention(
    q: Float[Tensor, "B H T D"],
    k: Float[Tensor, "B H S D"],
    v: Float[Tensor, "B H S V"],
    mask: Bool[Tensor, "..."] | None = None,
) -> Float[Tensor, "B H T V"]:
    """Scaled dot-product attention, where every query may attend to some key."""
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5  # (B, H, T, S)
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = scores.softmax(-1)  # over the keys
    return weights @ v


def _check(q: Tensor, k: Tensor, mask: Tensor | None) -> None:
    if mask is not None and mask.dtype != torch.bool:
        raise ModelInputError(
            f"the mask is {mask.dtype}: give torch.bool, True where a query may see a"
            " key; numbers to be added to the scores go into `bias`"
        )
    if q.shape[1] % k.shape[1]:
        raise ModelInputError(
            f"{q.shape[1]} heads of queries are not a multiple of {k.shape[1]} heads of"
            " keys"
        )


def attention_weights(
    q: Float[Tensor, "B H T D"],
    k: Float[Tensor, "B K S D"],
    mask: Bool[Tensor, "..."] | None = None,
    bias: Float[Tensor, "..."] | None = None,
    scale: float | None = None,
) -> Float[Tensor, "B H T S"]:
    """The attention weights: softmax(q . k * scale + bias) over the allowed keys.

    A query whose mask allows no key gets all zeros.

    The scale is 1 / sqrt(D) unless given: dot products of D independent terms have
    standard deviation sqrt(D), and without it the softmax would sit where its gradient
    vanishes (section 3.2.1, footnote 4).
    """
    _check(q, k, mask)
    k = k.repeat_interleave(
        q.shape[1] // k.shape[1], dim=1
    )  # (B, H, S, D): queries of a group share a key head
    scores = (
        q @ k.transpose(-2, -1) * (q.shape[-1] ** -0.5 if scale is None else scale)
    )  # (B, H, T, S)
    if bias is not None:
        scores = scores + bias
    if mask is None:
        return scores.softmax(-1)
    # The lowest finite number, not -inf: a row of nothing else would be 0/0, a NaN for
    # the next line to wipe away.
    weights = scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(-1)
    return weights.masked_fill(~mask, 0)


def plain_attention(
    q: Float[Tensor, "B H T D"],
    k: Float[Tensor, "B K S D"],
    v: Float[Tensor, "B K S D"],
    mask: Bool[Tensor, "..."] | None = None,
    bias: Float[Tensor, "..."] | None = None,
    scale: float | None = None,
) -> Float[Tensor, "B H T D"]:
    """The formula of section 3.2.1.

    A row that is fully masked gives zeros. See `attention` for the arguments.
    """
    v = v.repeat_interleave(q.shape[1] // v.shape[1], dim=1)
    return attention_weights(q, k, mask, bias, scale) @ v


def attention(
    q: Float[Tensor, "B H T D"],
    k: Float[Tensor, "B K S D"],
    v: Float[Tensor, "B K S D"],
    mask: Bool[Tensor, "..."] | None = None,
    bias: Float[Tensor, "..."] | None = None,
    scale: float | None = None,
    *,
    causal: bool = False,
    dropout: float = 0.0,
) -> Float[Tensor, "B H T D"]:
    """What `plain_attention` gives, by torch's fused operator, or by our kernel where
    `kernels.selection` says so.

    `mask` is True where a query may see a key, `bias` is added to the scores; both
    broadcast to (B, H, T, S). `causal` lets a query see itself and what came before,
    where the queries are the last T of the S keys; without a mask and with T = S it
    costs no memory. `dropout` is the share of weights set to zero, in training.

    A single query stays with torch: our kernel works on tiles of 128 queries by one
    program, and would leave the rest of a GPU idle. The engine's decoding has a kernel
    that cuts the keys (`kernels.paged_decode`).
    """
    _check(q, k, mask)
    grouped = q.shape[1] != k.shape[1]
    num_queries, num_keys = q.shape[2], k.shape[2]
    if (
        mask is None
        and bias is None
        and not dropout
        and num_queries > 1
        and runs_ours("attention", q)
    ):
        from reference_impl.kernels.flash_attention import (
            flash_attention,
        )  # Triton, which takes a while to import

        return flash_attention(q, k, v, causal=causal, scale=scale)
    if causal and (mask is not None or bias is not None or num_queries != num_keys):
        causal = False
        if num_queries > 1:  # the last token sees every key
            mask = join(mask, causal_mask(num_queries, num_keys, q.device))
    if bias is not None:
        mask = (
            bias.to(q.dtype)
            if mask is None
            else bias.to(q.dtype).masked_fill(~mask, -torch.inf)
        )
    return scaled_dot_product_attention(
        q,
        k,
        v,
        attn_mask=mask,
        dropout_p=dropout,
        is_causal=causal,
        scale=scale,
        enable_gqa=grouped,
    )


class LayerCache:
    """Keys and values of one layer for the tokens before, so that they are not computed
    again (see `generation`).

    A model's cache is a sequence of these, one a layer. A kind of cache says how it
    keeps them, by `append`; one that keeps them in no single tensor attends in its own
    way (see `engine`).
    """

    length = 0  # tokens before

    def append(
        self, k: Float[Tensor, "B K T D"], v: Float[Tensor, "B K T D"]
    ) -> tuple[Float[Tensor, "B K S D"], Float[Tensor, "B K S D"]]:
        """Keep these and return all so far, these last."""
        raise NotImplementedError(
            f"{type(self).__name__} has no `append`: keep keys and values, and return"
            " all so far"
        )

    def attend(
        self,
        q: Float[Tensor, "B H T D"],
        k: Float[Tensor, "B K T D"],
        v: Float[Tensor, "B K T D"],
        mask: Bool[Tensor, "..."] | None,
        dropout: float,
    ) -> Float[Tensor, "B H T D"]:
        """Keep k and v; every query attends to itself and to what came before and the
        mask leaves.
        """
        return attention(q, *self.append(k, v), mask, causal=True, dropout=dropout)

    def attend_with_sink(
        self,
        q: Float[Tensor, "B H T D"],
        k: Float[Tensor, "B K T D"],
        v: Float[Tensor, "B K T D"],
        sink: Float[Tensor, "H"],
        mask: Bool[Tensor, "..."] | None,
    ) -> Float[Tensor, "B H T D"]:
        """As `attend`, with one more score per head in the softmax."""
        return _causal_sink_attention(q, *self.append(k, v), sink, mask)

    def window_mask(
        self, num_queries: int, window: int | None, device: torch.device
    ) -> Bool[Tensor, "T S"] | None:
        """What a sliding window leaves the next queries to see; None while all is in
        sight.
        """
        return sliding_mask(num_queries, self.length + num_queries, window, device)


def causal_attention(
    q: Float[Tensor, "B H T D"],
    k: Float[Tensor, "B K T D"],
    v: Float[Tensor, "B K T D"],
    mask: Bool[Tensor, "..."] | None = None,
    cache: LayerCache | None = None,
    dropout: float = 0.0,
) -> Float[Tensor, "B H T D"]:
    """Attention to itself and to what came before, of which keys and values are in the
    cache, if there is one.
    """
    if cache is None:
        return attention(q, k, v, mask, causal=True, dropout=dropout)
    return cache.attend(q, k, v, mask, dropout)


def causal_sink_attention(
    q: Float[Tensor, "B H T D"],
    k: Float[Tensor, "B K T D"],
    v: Float[Tensor, "B K T D"],
    sink: Float[Tensor, "H"],
    mask: Bool[Tensor, "..."] | None = None,
    cache: LayerCache | None = None,
) -> Float[Tensor, "B H T D"]:
    """As `causal_attention`, with one more score per head in the softmax (see
    `long_context.sink_attention`).
    """
    if cache is None:
        return _causal_sink_attention(q, k, v, sink, mask)
    return cache.attend_with_sink(q, k, v, sink, mask)


def _causal_sink_attention(
    q: Float[Tensor, "B H T D"],
    k: Float[Tensor, "B K S D"],
    v: Float[Tensor, "B K S D"],
    sink: Float[Tensor, "H"],
    mask: Bool[Tensor, "..."] | None,
) -> Float[Tensor, "B H T D"]:
    before = causal_mask(q.shape[2], k.shape[2], q.device)
    return sink_attention(q, k, v, sink, join(mask, before))


def split_heads(x: Float[Tensor, "B T W"], num_heads: int) -> Float[Tensor, "B H T D"]:
    """Cut the width into heads: head h has columns h D to (h + 1) D."""
    return x.unflatten(-1, (num_heads, -1)).transpose(1, 2)


def merge_heads(x: Float[Tensor, "B H T D"]) -> Float[Tensor, "B T W"]:
    """Put the heads side by side again."""
    return x.transpose(1, 2).flatten(2)


class MultiHeadAttention(nn.Module):
    """Project to queries, keys and values, attend in each head alone, put side by side,
    mix by a last projection.

    With num_kv_heads < num_heads keys and values are shared by groups of query heads;
    with one it is multi-query. Attention to another sequence (`memory`) takes keys and
    values from there. T5 sets scale=1 and a head_dim of its own.
    """

    def __init__(
        self,
        hidden_size: int,
        num_heads: int,
        *,
        num_kv_heads: int | None = None,
        head_dim: int | None = None,
        bias: bool = True,
        scale: float | None = None,
        dropout: float = 0.0,
    ):
        super().__init__()
        num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads
        check_heads(
            hidden_size if head_dim is None else num_heads * head_dim,
            num_heads,
            num_kv_heads,
        )
        head_dim = hidden_size // num_heads if head_dim is None else head_dim
        self.num_heads, self.num_kv_heads, self.scale, self.dropout = (
            num_heads,
            num_kv_heads,
            scale,
            dropout,
        )
        self.query = nn.Linear(hidden_size, num_heads * head_dim, bias)
        self.key = nn.Linear(hidden_size, num_kv_heads * head_dim, bias)
        self.value = nn.Linear(hidden_size, num_kv_heads * head_dim, bias)
        self.output = nn.Linear(num_heads * head_dim, hidden_size, bias)

    def keys_values(
        self, source: Float[Tensor, "B S C"]
    ) -> tuple[Float[Tensor, "B K S D"], Float[Tensor, "B K S D"]]:
        """What attention to the source needs of it, without rotary positions: to be
        kept while queries come.
        """
        return split_heads(self.key(source), self.num_kv_heads), split_heads(
            self.value(source), self.num_kv_heads
        )

    def forward(
        self,
        x: Float[Tensor, "B T C"],
        memory: Float[Tensor, "B M C"] | None = None,
        *,
        mask: Bool[Tensor, "..."] | None = None,
        bias: Float[Tensor, "..."] | None = None,
        causal: bool = False,
        rotary: Tables | None = None,
        packing: Packing | None = None,
        known: tuple[Float[Tensor, "B K S D"], Float[Tensor, "B K S D"]] | None = None,
    ) -> Float[Tensor, "B T C"]:
        """Attend from x to `memory`, or to x itself, or to what is `known` of either by
        `keys_values`.

        `rotary` turns queries and keys by their positions in x; it can't be given with
        `known`. A `packing` keeps attention inside each of the sequences that lie end
        to end in x, in the place of a mask.
        """
        if rotary is not None and known is not None:
            raise ModelInputError(
                "rotary positions with known keys: they are those of x, where known"
                " keys are not; give one of the two"
            )
        q = split_heads(self.query(x), self.num_heads)  # (B, H, T, D)
        k, v = (
            self.keys_values(x if memory is None else memory)
            if known is None
            else known
        )  # (B, K, S, D) each
        if rotary is not None:
            q, k = rotate(q, rotary), rotate(k, rotary)
        dropout = self.dropout if self.training else 0.0
        if packing is not None:
            if mask is not None or bias is not None:
                raise ModelInputError(
                    "a packing with a mask or a bias: those are of T x S scores, which"
                    " packed sequences don't have; give a padded batch and a mask"
                )
            mixed = packed_attention(
                q,
                k,
                v,
                packing.cu_seqlens,
                window=packing.window,
                causal=causal,
                scale=self.scale,
                dropout=dropout,
            )
        else:
            mixed = attention(
                q, k, v, mask, bias, self.scale, causal=causal, dropout=dropout
            )
        return self.output(merge_heads(mixed))

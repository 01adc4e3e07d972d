"""Plausible wrong solutions of chapter 8, part 2."""

import torch
from torch import nn
from torch.nn.functional import gelu

from autograder.checks.mistakes.registry import mistake

MODEL = "08.GPT"
NOT_IN_THE_TABLE = (
    "Your `state_dict` has a tensor that the table does not list: an output matrix of its own (the"
    " output is `tokens`), or a mask kept as a buffer (use `persistent=False`)."
)
TOO_SMALL = (
    "Your mask of -100 is too small: where all visible scores are lower still, a hidden one wins. "
    "Use minus infinity."
)


class Base(nn.Module):
    """A right model in pieces, each of which a mistake may replace."""

    eps, start = 1e-5, 0

    def __init__(self, V, P, C, L, H, norm_first=True):
        super().__init__()
        self.C, self.H, self.norm_first = C, H, norm_first
        self.tokens, self.places = nn.Embedding(V, C), nn.Embedding(P, C)
        self.blocks = nn.ModuleList(
            nn.ModuleDict(
                {
                    "norm_1": nn.LayerNorm(C, eps=self.eps),
                    "qkv": nn.Linear(C, 3 * C),
                    "out": nn.Linear(C, C),
                    "norm_2": nn.LayerNorm(C, eps=self.eps),
                    "up": nn.Linear(C, 4 * C),
                    "down": nn.Linear(4 * C, C),
                }
            )
            for _ in range(L)
        )
        if norm_first:
            self.norm = nn.LayerNorm(C, eps=self.eps)

    def embed(self, ids):
        return self.tokens(ids) + self.places(torch.arange(ids.shape[1]))

    def parts(self, x):
        return x.chunk(3, 2)

    def split(self, x):
        return x.unflatten(2, (self.H, -1)).transpose(1, 2)

    def join(self, x):
        return x.transpose(1, 2).flatten(2)

    def scale(self, q):
        return q.shape[3] ** -0.5

    def seen(self, T):
        return torch.ones(T, T, dtype=torch.bool).tril()

    def look(self, q, k):
        return (
            (q @ k.transpose(2, 3) * self.scale(q))
            .masked_fill(~self.seen(q.shape[2]), -torch.inf)
            .softmax(3)
        )

    def attend(self, block, x):
        q, k, v = map(self.split, self.parts(block["qkv"](x)))
        return block["out"](self.join(self.look(q, k) @ v))

    def act(self, x):
        return gelu(x, approximate="tanh")

    def think(self, block, x):
        return block["down"](self.act(block["up"](x)))

    def step(self, block, x):
        if self.norm_first:
            x = x + self.attend(block, block["norm_1"](x))
            return x + self.think(block, block["norm_2"](x))
        x = block["norm_1"](x + self.attend(block, x))
        return block["norm_2"](x + self.think(block, x))

    def last(self, x):
        return self.norm(x) if self.norm_first else x

    def through(self, x):
        for block in self.blocks:
            x = self.step(block, x)
        return x

    def read(self, x):
        return x @ self.tokens.weight.T

    def forward(self, ids):
        return self.read(self.last(self.through(self.embed(ids))))


@mistake(
    MODEL,
    "no-places",
    caught_by="embeddings",
    loses=10,
    misconception="You left out the position embeddings: your model cannot know the order.",
)
class _NoPlaces(Base):
    def embed(self, ids):
        return self.tokens(ids)


@mistake(
    MODEL,
    "places-from-one",
    caught_by="embeddings",
    loses=10,
    misconception="You number positions from 1. The first is 0.",
)
class _FromOne(Base):
    def embed(self, ids):
        return self.tokens(ids) + self.places(
            (torch.arange(ids.shape[1]) + 1).clamp(max=self.places.num_embeddings - 1)
        )


@mistake(
    MODEL,
    "scaled-by-the-root",
    caught_by="embeddings",
    loses=10,
    misconception=(
        "You multiply the tokens' rows by the root of C, as the first Transformer does. GPT does"
        " not."
    ),
)
class _Rooted(Base):
    def embed(self, ids):
        return self.C**0.5 * self.tokens(ids) + self.places(torch.arange(ids.shape[1]))


@mistake(
    MODEL,
    "probabilities",
    caught_by="embeddings",
    loses=10,
    misconception="You return probabilities. The model returns logits.",
)
class _Probabilities(Base):
    def read(self, x):
        return super().read(x).softmax(2)


@mistake(MODEL, "own-output", caught_by="embeddings", loses=10, misconception=NOT_IN_THE_TABLE)
class _OwnOutput(Base):
    def __init__(self, V, P, C, L, H, norm_first=True):
        super().__init__(V, P, C, L, H, norm_first)
        self.output = nn.Linear(C, V, bias=False)

    def read(self, x):
        return self.output(x)


@mistake(
    MODEL, "mask-in-the-state", caught_by="embeddings", loses=10, misconception=NOT_IN_THE_TABLE
)
class _MaskInTheState(Base):
    def __init__(self, V, P, C, L, H, norm_first=True):
        super().__init__(V, P, C, L, H, norm_first)
        self.register_buffer("mask", torch.ones(P, P, dtype=torch.bool).tril())

    def seen(self, T):
        return self.mask[:T, :T]


@mistake(
    MODEL,
    "detached-tie",
    caught_by="tie",
    loses=1,
    misconception="You detach the table at the output, so it learns from its first use alone.",
)
class _DetachedTie(Base):
    def read(self, x):
        return x @ self.tokens.weight.detach().T


@mistake(
    MODEL,
    "no-attention-residual",
    caught_by="attention",
    loses=6.5,
    misconception=(
        "You leave out the residual connection around attention: x is added to what it gives."
    ),
)
class _NoAttentionResidual(Base):
    def step(self, block, x):
        if self.norm_first:
            x = self.attend(block, block["norm_1"](x))
            return x + self.think(block, block["norm_2"](x))
        x = block["norm_1"](self.attend(block, x))
        return block["norm_2"](x + self.think(block, x))


@mistake(
    MODEL,
    "no-feed-forward-residual",
    caught_by="attention",
    loses=6.5,
    misconception=(
        "You leave out the residual connection around the feed-forward: x is added to what it"
        " gives."
    ),
)
class _NoFeedForwardResidual(Base):
    def step(self, block, x):
        if self.norm_first:
            return self.think(block, block["norm_2"](x + self.attend(block, block["norm_1"](x))))
        return block["norm_2"](self.think(block, block["norm_1"](x + self.attend(block, x))))


@mistake(
    MODEL,
    "no-last-norm",
    caught_by="last-norm",
    loses=6,
    misconception="You leave out the norm after the last block.",
)
class _NoLastNorm(Base):
    def last(self, x):
        return x


@mistake(
    MODEL,
    "berts-epsilon",
    caught_by="last-norm",
    loses=6,
    misconception="You take 1e-12 under the root, as BERT does. GPT's is 1e-5.",
)
class _BertsEpsilon(Base):
    eps = 1e-12


@mistake(
    MODEL,
    "no-mask",
    caught_by="attention",
    loses=5.5,
    misconception="Your tokens see what comes after them: there is no mask.",
)
class _NoMask(Base):
    def seen(self, T):
        return torch.ones(T, T, dtype=torch.bool)


@mistake(
    MODEL,
    "mask-turned-round",
    caught_by="attention",
    loses=5.5,
    misconception="Your mask is turned round: each token sees itself and those after it.",
)
class _TurnedRound(Base):
    def seen(self, T):
        return torch.ones(T, T, dtype=torch.bool).triu()


@mistake(
    MODEL,
    "one-too-far",
    caught_by="attention",
    loses=5.5,
    misconception="Your tokens see one token ahead: the diagonal of the mask is off by one.",
)
class _OneTooFar(Base):
    def seen(self, T):
        return torch.ones(T, T, dtype=torch.bool).tril(1)


@mistake(
    MODEL,
    "zeros-for-minus-infinity",
    caught_by="attention",
    loses=5.5,
    misconception=(
        "You set masked scores to 0 before the softmax, so they still get attention weight. "
        "Use minus infinity."
    ),
)
class _Zeros(Base):
    def look(self, q, k):
        return (
            (q @ k.transpose(2, 3) * self.scale(q))
            .masked_fill(~self.seen(q.shape[2]), 0.0)
            .softmax(3)
        )


@mistake(MODEL, "lowered-by-a-hundred", caught_by="attention", loses=2.5, misconception=TOO_SMALL)
class _Lowered(Base):
    def look(self, q, k):
        return (q @ k.transpose(2, 3) * self.scale(q) - 100.0 * ~self.seen(q.shape[2])).softmax(3)


@mistake(
    MODEL, "filled-with-minus-a-hundred", caught_by="attention", loses=2.5, misconception=TOO_SMALL
)
class _Filled(Base):
    def look(self, q, k):
        scores = q @ k.transpose(2, 3) * self.scale(q)
        return scores.masked_fill(~self.seen(q.shape[2]), -100.0).softmax(3)


@mistake(
    MODEL,
    "masked-after-the-softmax",
    caught_by="attention",
    loses=5.5,
    misconception="You mask after the softmax, so that what is left does not add up to 1.",
)
class _MaskedAfter(Base):
    def look(self, q, k):
        return (q @ k.transpose(2, 3) * self.scale(q)).softmax(3) * self.seen(q.shape[2])


@mistake(
    MODEL,
    "other-order",
    caught_by="attention",
    loses=5.5,
    misconception=(
        "You take keys first, then queries. The columns of `qkv` are queries, keys, values."
    ),
)
class _OtherOrder(Base):
    def parts(self, x):
        k, q, v = x.chunk(3, 2)
        return q, k, v


@mistake(
    MODEL,
    "no-scale",
    caught_by="attention",
    loses=5.5,
    misconception="You don't divide the scores by the root of D.",
)
class _NoScale(Base):
    def scale(self, q):
        return 1.0


@mistake(
    MODEL,
    "scaled-by-d",
    caught_by="attention",
    loses=5.5,
    misconception="You divide the scores by D. It is the root of D.",
)
class _ScaledByD(Base):
    def scale(self, q):
        return 1 / q.shape[3]


@mistake(
    MODEL,
    "no-residual",
    caught_by="attention",
    loses=6.5,
    misconception="You don't add what went in to what attention and feed-forward give.",
)
class _NoResidual(Base):
    def step(self, block, x):
        if self.norm_first:
            return self.think(block, block["norm_2"](self.attend(block, block["norm_1"](x))))
        return block["norm_2"](self.think(block, block["norm_1"](self.attend(block, x))))


@mistake(
    MODEL,
    "root-of-c",
    caught_by="heads",
    loses=4,
    misconception="You divide the scores by the root of C. A head has D = C / H numbers.",
)
class _RootOfC(Base):
    def scale(self, q):
        return self.C**-0.5


@mistake(
    MODEL,
    "view-without-transpose",
    caught_by="heads",
    loses=4,
    misconception=(
        "You reshape to heads without transposing: your heads are pieces of the text in place of"
        " columns."
    ),
)
class _View(Base):
    def split(self, x):
        return x.reshape(len(x), self.H, x.shape[1], -1)

    def join(self, x):
        return x.reshape(len(x), x.shape[2], -1)


@mistake(
    MODEL,
    "interleaved-heads",
    caught_by="heads",
    loses=4,
    misconception="Your head h takes every H-th column. It has D columns side by side.",
)
class _Interleaved(Base):
    def split(self, x):
        return x.unflatten(2, (-1, self.H)).permute(0, 3, 1, 2)

    def join(self, x):
        return x.permute(0, 2, 3, 1).flatten(2)


@mistake(
    MODEL,
    "not-joined-back",
    caught_by="heads",
    loses=4,
    misconception=(
        "You don't transpose back before the heads are joined, so that tokens and heads get mixed."
    ),
)
class _NotBack(Base):
    def join(self, x):
        return x.reshape(len(x), x.shape[2], -1)


@mistake(
    MODEL,
    "exact-gelu",
    caught_by="feed-forward",
    loses=4,
    misconception="You take the exact GELU, as BERT does. GPT's is the approximation by tanh.",
)
class _Exact(Base):
    def act(self, x):
        return gelu(x)


@mistake(
    MODEL,
    "relu",
    caught_by="feed-forward",
    loses=4,
    misconception="You take ReLU in place of GELU.",
)
class _Relu(Base):
    def act(self, x):
        return torch.relu(x)


@mistake(
    MODEL,
    "norm-first-always",
    caught_by="post-norm",
    loses=3,
    misconception="You leave `norm_first` aside: GPT-1 adds first and norms the sum.",
)
class _Always(Base):
    def step(self, block, x):
        x = x + self.attend(block, block["norm_1"](x))
        return x + self.think(block, block["norm_2"](x))


@mistake(
    MODEL,
    "norms-exchanged",
    caught_by="attention",
    loses=6.5,
    misconception="You exchange `norm_1` and `norm_2`: the first belongs to attention.",
)
class _Exchanged(Base):
    def step(self, block, x):
        return super().step(
            {**dict(block.items()), "norm_1": block["norm_2"], "norm_2": block["norm_1"]}, x
        )


@mistake(
    MODEL,
    "one-block-for-all",
    caught_by="blocks",
    loses=1.5,
    misconception="You use one block's weights in each layer. Each has its own.",
)
class _OneBlock(Base):
    def through(self, x):
        for _ in self.blocks:
            x = self.step(self.blocks[0], x)
        return x


SIZES = "08.gpt_sizes"


def _sizes(V, P, C, L, norm_first, embeddings=None, block=None, last=None):
    embeddings = (V + P) * C if embeddings is None else embeddings
    block = 12 * C * C + 13 * C if block is None else block
    last = 2 * C * norm_first if last is None else last
    return {"embeddings": embeddings, "block": block, "total": embeddings + L * block + last}


@mistake(
    SIZES,
    "tie-twice",
    caught_by="embeddings",
    loses=2.5,
    misconception="You count the table of tokens twice. The output is the same parameter.",
)
def _(V, P, C, L, H, norm_first):
    return _sizes(V, P, C, L, norm_first, embeddings=(2 * V + P) * C)


@mistake(
    SIZES,
    "no-positions",
    caught_by="embeddings",
    loses=2.5,
    misconception="You leave the table of positions out: GPT learns its positions.",
)
def _(V, P, C, L, H, norm_first):
    return _sizes(V, P, C, L, norm_first, embeddings=V * C)


@mistake(
    SIZES,
    "bias-of-c",
    caught_by="block",
    loses=3,
    misconception=(
        "Each block lacks 2 C parameters: the bias of `qkv` has size 3 C, or you left out one"
        " of the two norms."
    ),
)
def _(V, P, C, L, H, norm_first):
    return _sizes(V, P, C, L, norm_first, block=12 * C * C + 11 * C)


@mistake(SIZES, "no-biases", caught_by="block", loses=3, misconception="You leave the biases out.")
def _(V, P, C, L, H, norm_first):
    return _sizes(V, P, C, L, norm_first, block=12 * C * C + 4 * C)


@mistake(
    SIZES,
    "no-norms",
    caught_by="block",
    loses=3,
    misconception=(
        "4 C parameters are missing in each block: either the two norms, or the biases of `qkv` and"
        " `out`, or the bias of `up`."
    ),
)
def _(V, P, C, L, H, norm_first):
    return _sizes(V, P, C, L, norm_first, block=12 * C * C + 9 * C)


@mistake(
    SIZES,
    "no-attention",
    caught_by="block",
    loses=3,
    misconception="You count the feed-forward's 8 C² and forget the 4 C² of attention.",
)
def _(V, P, C, L, H, norm_first):
    return _sizes(V, P, C, L, norm_first, block=8 * C * C + 13 * C)


@mistake(
    SIZES,
    "times-heads",
    caught_by="block",
    loses=3,
    misconception="You count queries, keys and values for each head. The heads share the columns.",
)
def _(V, P, C, L, H, norm_first):
    return _sizes(V, P, C, L, norm_first, block=(9 + 3 * H) * C * C + 13 * C)


@mistake(
    SIZES,
    "last-norm-always",
    caught_by="total",
    loses=1.5,
    misconception="You give GPT-1 a norm after its last block, too.",
)
def _(V, P, C, L, H, norm_first):
    return _sizes(V, P, C, L, norm_first, last=2 * C)


@mistake(
    SIZES,
    "no-last-norm",
    caught_by="total",
    loses=1.5,
    misconception="You leave out GPT-2's norm after its last block.",
)
def _(V, P, C, L, H, norm_first):
    return _sizes(V, P, C, L, norm_first, last=0)


@mistake(
    SIZES,
    "one-block",
    caught_by="total",
    loses=1.5,
    misconception="You count one block in the total. There are L.",
)
def _(V, P, C, L, H, norm_first):
    return _sizes(V, P, C, 1, norm_first)

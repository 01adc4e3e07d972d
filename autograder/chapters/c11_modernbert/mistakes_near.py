"""Plausible wrong solutions of chapter 11, part 2: the window, its pairs, and the block."""

import torch
from torch import nn
from torch.nn.functional import gelu, layer_norm

from autograder.chapters.c11_modernbert.mistakes_turning import _angles, _turned
from autograder.checks.mistakes.registry import mistake

MASK, PAIRS, BLOCK = "11.local_mask", "11.count_pairs", "11.Block"


def _gaps(T):
    return torch.arange(T) - torch.arange(T)[:, None]


@mistake(
    MASK,
    "window-to-each-side",
    caught_by="band",
    loses=4,
    misconception=(
        "Your window reaches to each side as far as it should on both together: window // 2 to each"
        " side."
    ),
)
def _(T, window):
    return _gaps(T).abs() <= window


@mistake(
    MASK,
    "one-too-few",
    caught_by="band",
    loses=4,
    misconception=(
        "Your window is one token too short on each side: window // 2 tokens to each side are seen,"
        " the last of them too."
    ),
)
def _(T, window):
    return _gaps(T).abs() < max(window // 2, 1)


@mistake(
    MASK,
    "one-side-short",
    caught_by="band",
    loses=4,
    misconception=(
        "Your window is one token shorter on the right: with the token itself you see as many as"
        " `window`. It is one more."
    ),
)
def _(T, window):
    return (_gaps(T) >= -(window // 2)) & (_gaps(T) < max(window - window // 2, 1))


@mistake(
    MASK,
    "causal",
    caught_by="band",
    loses=4,
    misconception="You look back only. An encoder looks to both sides.",
)
def _(T, window):
    return (_gaps(T) <= 0) & (_gaps(T) >= -(window // 2))


@mistake(
    MASK,
    "inverted",
    caught_by="band",
    loses=4,
    misconception="Your table is True where a token is hidden. It is True where one is seen.",
)
def _(T, window):
    return _gaps(T).abs() > window // 2


@mistake(
    MASK,
    "added-to-scores",
    caught_by="band",
    loses=4,
    misconception=(
        "You return numbers to add to scores, 0 and minus infinity. A Boolean table was asked for."
    ),
)
def _(T, window):
    return torch.zeros(T, T).masked_fill(_gaps(T).abs() > window // 2, -torch.inf)


@mistake(
    MASK,
    "round-the-end",
    caught_by="band",
    loses=4,
    misconception="Your window continues at the other end of the text. It is cut there.",
)
def _(T, window):
    gaps = _gaps(T).abs()
    return torch.minimum(gaps, T - gaps) <= window // 2


@mistake(
    MASK,
    "rounded-up",
    caught_by="border",
    loses=1,
    misconception="You round half an odd window up. window // 2 rounds down.",
)
def _(T, window):
    return _gaps(T).abs() <= (window + 1) // 2


@mistake(
    MASK,
    "not-itself",
    caught_by="band",
    loses=4,
    misconception="Your tokens do not see themselves.",
)
def _(T, window):
    return (_gaps(T).abs() <= window // 2) & (_gaps(T) != 0)


@mistake(
    MASK,
    "blocks",
    caught_by="band",
    loses=4,
    misconception=(
        "You cut the text into pieces of the window's length. The window moves along with the"
        " token."
    ),
)
def _(T, window):
    return torch.arange(T)[:, None] // max(window, 1) == torch.arange(T) // max(window, 1)


def _pairs(T, layers, window, every, local=None, far=None, total=None):
    side = min(window // 2, T - 1)
    local = T * (2 * side + 1) - side * (side + 1) if local is None else local
    far = -(-layers // every) if far is None else far
    return {
        "local": local,
        "global_layers": far,
        "total": far * T * T + (layers - far) * local if total is None else total,
    }


@mistake(
    PAIRS,
    "window-each",
    caught_by="local",
    loses=3,
    misconception=(
        "You count `window` tokens for each token. It is window // 2 to each side and the token"
        " itself, and fewer at the ends."
    ),
)
def _(T, layers, window, every):
    return _pairs(T, layers, window, every, local=T * min(window, T))


@mistake(
    PAIRS,
    "no-ends",
    caught_by="local",
    loses=3,
    misconception="You forget the ends of the text: there a token sees fewer.",
)
def _(T, layers, window, every):
    return _pairs(T, layers, window, every, local=T * min(2 * (window // 2) + 1, T))


@mistake(
    PAIRS,
    "one-end",
    caught_by="local",
    loses=3,
    misconception="You take away what is missing at one end. The text has two.",
)
def _(T, layers, window, every):
    side = min(window // 2, T - 1)
    return _pairs(T, layers, window, every, local=T * (2 * side + 1) - side * (side + 1) // 2)


@mistake(
    PAIRS,
    "window-each-side",
    caught_by="local",
    loses=3,
    misconception="You count `window` tokens to each side. It is half of it.",
)
def _(T, layers, window, every):
    return _pairs(T, layers, 2 * window, every)


@mistake(
    PAIRS,
    "formula-of-long-texts",
    caught_by="short",
    loses=2,
    misconception=(
        "Your formula is that of long texts. In one that is shorter than the window it counts pairs"
        " that are not there."
    ),
)
def _(T, layers, window, every):
    side = window // 2
    return _pairs(T, layers, window, every, local=T * (2 * side + 1) - side * (side + 1))


@mistake(
    PAIRS,
    "layer-0-local",
    caught_by="global_layers",
    loses=2,
    misconception=(
        "You count layer 0 as local. The numbers of layers begin at 0, and 0 is a multiple of"
        " `every`."
    ),
)
def _(T, layers, window, every):
    return _pairs(T, layers, window, every, far=(layers - 1) // every)


@mistake(
    PAIRS,
    "rounded-down",
    caught_by="global_layers",
    loses=2,
    misconception=(
        "You round the number of global layers down. After the last full group another group"
        " begins, with a global layer."
    ),
)
def _(T, layers, window, every):
    return _pairs(T, layers, window, every, far=layers // every)


@mistake(
    PAIRS,
    "one-more",
    caught_by="global_layers",
    loses=2,
    misconception=(
        "You count a global layer too many where the number of layers is a multiple of `every`."
    ),
)
def _(T, layers, window, every):
    return _pairs(T, layers, window, every, far=layers // every + 1)


@mistake(
    PAIRS,
    "kinds-exchanged",
    caught_by="total",
    loses=1,
    misconception="In your total the two kinds of layers are exchanged.",
)
def _(T, layers, window, every):
    found = _pairs(T, layers, window, every)
    return found | {
        "total": (layers - found["global_layers"]) * T * T + found["global_layers"] * found["local"]
    }


@mistake(
    PAIRS,
    "all-local",
    caught_by="total",
    loses=1,
    misconception="In your total all layers are local.",
)
def _(T, layers, window, every):
    found = _pairs(T, layers, window, every)
    return found | {"total": layers * found["local"]}


class Right(nn.Module):
    """The right block in parts; each mistake replaces one."""

    eps, bias = 1e-5, False

    def __init__(self, C, F, H, layer, window):
        super().__init__()
        self.H, self.layer, self.window = H, layer, window
        self.attention_norm = self.first_norm(C, layer)
        self.qkv, self.out = nn.Linear(C, 3 * C, bias=self.bias), nn.Linear(C, C, bias=self.bias)
        self.feed_forward_norm = nn.LayerNorm(C, self.eps, bias=False)
        self.gate_up, self.down = nn.Linear(C, 2 * F, bias=False), nn.Linear(F, C, bias=False)

    def first_norm(self, C, layer):
        return nn.LayerNorm(C, self.eps, bias=False) if layer else nn.Identity()

    def is_global(self):
        return self.layer % 3 == 0

    def base(self):
        return 160_000 if self.is_global() else 10_000

    def near(self, T):
        return _gaps(T).abs() <= self.window // 2

    def seen(self, mask):
        T = mask.shape[1]
        seen = mask[:, None, None, :]
        return (seen if self.is_global() else seen & self.near(T)).expand(len(mask), 1, T, T)

    def heads(self, part):
        return part.unflatten(2, (self.H, -1)).transpose(1, 2)

    def positions(self, mask):
        return torch.arange(mask.shape[1]).expand(mask.shape)

    def turn(self, q, k, v, mask):
        return *(_turned(one, _angles(one, self.positions(mask), self.base())) for one in (q, k)), v

    def weights(self, scores, seen):
        return scores.masked_fill(~seen, -torch.inf).softmax(3).nan_to_num(0.0)

    def scale(self, q):
        return q.shape[3] ** 0.5

    def join(self, mixed):
        return mixed.transpose(1, 2).flatten(2)

    def attend(self, x, mask):
        q, k, v = (self.heads(part) for part in self.parts(x))
        q, k, v = self.turn(q, k, v, mask)
        return self.out(self.join(self.weights(q @ k.mT / self.scale(q), self.seen(mask)) @ v))

    def parts(self, x):
        return self.qkv(x).chunk(3, 2)

    def think(self, x):
        gate, up = self.gate_up(x).chunk(2, 2)
        return self.down(gelu(gate) * up)

    def forward(self, x, mask):
        x = x + self.attend(self.attention_norm(x), mask)
        return x + self.think(self.feed_forward_norm(x))


@mistake(
    BLOCK,
    "norm-in-layer-0",
    caught_by="first",
    loses=3.5,
    misconception="Your layer 0 has a norm before attention. Its input was normed a moment ago.",
)
class NormInLayer0(Right):
    def first_norm(self, C, layer):
        return nn.LayerNorm(C, bias=False)


@mistake(
    BLOCK,
    "norm-in-layer-0-without-weight",
    caught_by="first",
    loses=3.5,
    misconception="Your layer 0 norms its input, with a weight of 1. It should not.",
)
class NormWithoutWeight(Right):
    def attend(self, x, mask):
        return super().attend(x if self.layer else layer_norm(x, x.shape[2:]), mask)


@mistake(
    BLOCK,
    "with-biases",
    caught_by="first",
    loses=6,
    misconception="Your matrices of attention have biases. ModernBERT has none.",
)
class WithBiases(Right):
    bias = True


@mistake(
    BLOCK,
    "post-norm",
    caught_by="first",
    loses=6,
    misconception=(
        "You norm the sum, as BERT does. ModernBERT norms what goes into attention and"
        " feed-forward, and adds to what came."
    ),
)
class PostNorm(Right):
    def forward(self, x, mask):
        x = self.attention_norm(x + self.attend(x, mask))
        return self.feed_forward_norm(x + self.think(x))


@mistake(
    BLOCK,
    "residual-of-the-norm",
    caught_by="norm",
    loses=4.5,
    misconception="You add attention to the normed x. It is added to x as it came.",
)
class ResidualOfTheNorm(Right):
    def forward(self, x, mask):
        x = self.attention_norm(x)
        x = x + self.attend(x, mask)
        return x + self.think(self.feed_forward_norm(x))


@mistake(
    BLOCK,
    "one-residual",
    caught_by="first",
    loses=6,
    misconception="After the feed-forward you add nothing: x goes round it, too.",
)
class OneResidual(Right):
    def forward(self, x, mask):
        x = x + self.attend(self.attention_norm(x), mask)
        return self.think(self.feed_forward_norm(x))


@mistake(
    BLOCK,
    "side-by-side",
    caught_by="feed-forward",
    loses=2,
    misconception=(
        "Your feed-forward reads what attention reads. It reads what attention has added to."
    ),
)
class SideBySide(Right):
    def forward(self, x, mask):
        return x + self.attend(self.attention_norm(x), mask) + self.think(self.feed_forward_norm(x))


@mistake(
    BLOCK,
    "tiny-epsilon",
    caught_by="norm",
    loses=2,
    misconception="Your norms have another epsilon under the root. It is 1e-5, not BERT's 1e-12.",
)
class TinyEpsilon(Right):
    eps = 1e-12


@mistake(
    BLOCK,
    "one-base",
    caught_by="local",
    loses=2.5,
    misconception="Your local layers have the base of the global ones, 160,000. Theirs is 10,000.",
)
class OneBase(Right):
    def base(self):
        return 160_000


@mistake(
    BLOCK,
    "bases-exchanged",
    caught_by="first",
    loses=6,
    misconception="Your two bases are exchanged: 160,000 belongs to the global layers.",
)
class BasesExchanged(Right):
    def base(self):
        return 10_000 if self.is_global() else 160_000


@mistake(
    BLOCK,
    "always-global",
    caught_by="local",
    loses=2.5,
    misconception=(
        "All of your layers see the whole row. Only those with a multiple of 3 for their number do."
    ),
)
class AlwaysGlobal(Right):
    def near(self, T):
        return torch.ones(T, T, dtype=torch.bool)


@mistake(
    BLOCK,
    "every-third-is-local",
    caught_by="first",
    loses=6,
    misconception=(
        "You exchanged the kinds: layers 0, 3, 6 are the global ones, and all others local."
    ),
)
class EveryThirdIsLocal(Right):
    def is_global(self):
        return self.layer % 3 != 0


@mistake(
    BLOCK,
    "global-from-2",
    caught_by="first",
    loses=6,
    misconception="Your layers 2, 5, 8 are global: numbers begin at 0, and layer 0 is global.",
)
class GlobalFrom2(Right):
    def is_global(self):
        return self.layer % 3 == 2


@mistake(
    BLOCK,
    "window-to-each-side",
    caught_by="local",
    loses=2.5,
    misconception="Your local layers look `window` tokens to each side. It is half of it.",
)
class WindowToEachSide(Right):
    def near(self, T):
        return _gaps(T).abs() <= self.window


@mistake(
    BLOCK,
    "not-turned",
    caught_by="first",
    loses=6,
    misconception=("Your queries and keys are not rotated: the block does not know any positions."),
)
class NotTurned(Right):
    def turn(self, q, k, v, mask):
        return q, k, v


@mistake(
    BLOCK,
    "values-too",
    caught_by="first",
    loses=6,
    misconception="You rotate the values as well. Only queries and keys are rotated.",
)
class ValuesToo(Right):
    def turn(self, q, k, v, mask):
        return tuple(
            _turned(one, _angles(one, self.positions(mask), self.base())) for one in (q, k, v)
        )


@mistake(
    BLOCK,
    "turned-before-heads",
    caught_by="first",
    loses=6,
    misconception=(
        "You rotate queries and keys before they are split into heads. Each head's dimensions are"
        " rotated"
        " by themselves."
    ),
)
class TurnedBeforeHeads(Right):
    def attend(self, x, mask):
        q, k, v = self.parts(x)
        q, k, v = self.turn(q[:, None], k[:, None], v, mask)
        q, k, v = (self.heads(one) for one in (q[:, 0], k[:, 0], v))
        return self.out(self.join(self.weights(q @ k.mT / self.scale(q), self.seen(mask)) @ v))


@mistake(
    BLOCK,
    "scaled-by-the-width",
    caught_by="first",
    loses=6,
    misconception="You divide scores by the root of C. It is the root of D, a head's width.",
)
class ScaledByTheWidth(Right):
    def scale(self, q):
        return (self.H * q.shape[3]) ** 0.5


@mistake(
    BLOCK,
    "heads-reshaped",
    caught_by="first",
    loses=6,
    misconception=(
        "You put the heads side by side by a mere reshape. The axes of heads and tokens change"
        " positions first."
    ),
)
class HeadsReshaped(Right):
    def join(self, mixed):
        return mixed.reshape(mixed.shape[0], mixed.shape[2], -1)


@mistake(
    BLOCK,
    "gate-second",
    caught_by="feed-forward",
    loses=2,
    misconception="Your gate is the second half of `gate_up`. It is the first.",
)
class GateSecond(Right):
    def think(self, x):
        up, gate = self.gate_up(x).chunk(2, 2)
        return self.down(gelu(gate) * up)


@mistake(
    BLOCK,
    "tanh",
    caught_by="feed-forward",
    loses=1,
    misconception="Your GELU is the approximation by tanh. It is the exact one.",
)
class Tanh(Right):
    def think(self, x):
        gate, up = self.gate_up(x).chunk(2, 2)
        return self.down(gelu(gate, approximate="tanh") * up)


@mistake(
    BLOCK,
    "no-mask",
    caught_by="padding",
    loses=1,
    misconception="Padding is seen: you do not use `mask`.",
)
class NoMask(Right):
    def seen(self, mask):
        return super().seen(torch.ones_like(mask))


@mistake(
    BLOCK,
    "queries-masked",
    caught_by="padding",
    loses=1,
    misconception=(
        "You hide the queries that are padding, not the keys: padding is seen by all tokens."
    ),
)
class QueriesMasked(Right):
    def seen(self, mask):
        return super().seen(torch.ones_like(mask)) & mask[:, None, :, None]


@mistake(
    BLOCK,
    "nan-at-padding",
    caught_by="padding",
    loses=1,
    misconception=(
        "A token of padding that sees nobody becomes NaN, and in the next layer every token"
        " with it."
    ),
)
class NanAtPadding(Right):
    def weights(self, scores, seen):
        return scores.masked_fill(~seen, -torch.inf).softmax(3)


@mistake(
    BLOCK,
    "lowered",
    caught_by="padding",
    loses=1,
    misconception=(
        "You lower hidden scores by a number. Where scores are large, what is hidden shows: set"
        " them to minus infinity."
    ),
)
class Lowered(Right):
    def weights(self, scores, seen):
        return (scores - 10_000.0 * ~seen).softmax(3)


@mistake(
    BLOCK,
    "positions-without-padding",
    caught_by="padding",
    loses=1,
    misconception=(
        "Your positions leave padding out. In this exercise they are counted from the left edge."
    ),
)
class PositionsWithoutPadding(Right):
    def positions(self, mask):
        return (mask.cumsum(1) - 1).clamp(min=0)


@mistake(
    BLOCK,
    "clamped",
    caught_by="padding",
    loses=1,
    misconception=(
        "You clamp the scores. They may be as large as 10,000, and differ there as anywhere."
    ),
)
class Clamped(Right):
    def weights(self, scores, seen):
        return super().weights(scores.clamp(-50, 50), seen)


@mistake(
    BLOCK,
    "distances-of-tokens",
    caught_by="padding",
    loses=1,
    misconception=(
        "You count the distance in tokens, padding left out. It is counted in places of the row."
    ),
)
class DistancesOfTokens(Right):
    def seen(self, mask):
        places = mask.cumsum(1)[:, None]
        near = (places[:, :, :, None] - places[:, :, None]).abs() <= self.window // 2
        seen = mask[:, None, None, :].expand(len(mask), 1, mask.shape[1], mask.shape[1])
        return seen if self.is_global() else seen & near


@mistake(
    BLOCK,
    "mask-kept",
    caught_by="padding",
    loses=1,
    misconception="You keep the mask of the first call. Each call brings one of its own.",
)
class MaskKept(Right):
    def seen(self, mask):
        return super().seen(
            self.__dict__.setdefault("kept", {}).setdefault(mask.shape, mask.clone())
        )

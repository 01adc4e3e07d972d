"""Plausible wrong solutions of chapter 10, part 2: LoRA's sizes and its layer."""

import torch
from torch import nn
from torch.nn.functional import linear

from autograder.checks.mistakes.registry import mistake

SIZES = "10.predict_lora"


def _sizes(I, O, r, layers, bytes, learned=None, file=None, merged=None):
    """The three numbers with one of them replaced."""
    learned = layers * r * (I + O) if learned is None else learned
    return {
        "learned": learned,
        "file": learned * bytes if file is None else file,
        "merged": layers * I * O if merged is None else merged,
    }


@mistake(
    SIZES,
    "one-matrix",
    caught_by="learned",
    loses=2,
    misconception="You count A only. B learns too.",
)
def _(I, O, r, layers, bytes):
    return _sizes(I, O, r, layers, bytes, learned=layers * r * I)


@mistake(
    SIZES,
    "squares-of-r",
    caught_by="learned",
    loses=2,
    misconception="You add r times r: as if a third matrix stood between A and B.",
)
def _(I, O, r, layers, bytes):
    return _sizes(I, O, r, layers, bytes, learned=layers * (r * (I + O) + r * r))


@mistake(
    SIZES,
    "product",
    caught_by="learned",
    loses=2,
    misconception="You count the numbers of the product B A. It is never stored: A and B are.",
)
def _(I, O, r, layers, bytes):
    return _sizes(I, O, r, layers, bytes, learned=layers * I * O)


@mistake(
    SIZES,
    "one-layer",
    caught_by="learned",
    loses=2,
    misconception="You count one layer. Each of them has its own A and B.",
)
def _(I, O, r, layers, bytes):
    return _sizes(I, O, r, layers, bytes, learned=r * (I + O))


@mistake(
    SIZES,
    "one-layer-merged",
    caught_by="merged",
    loses=1,
    misconception="You count one merged layer. All of them are asked for.",
)
def _(I, O, r, layers, bytes):
    return _sizes(I, O, r, layers, bytes, merged=I * O)


@mistake(
    SIZES,
    "weight-too",
    caught_by="learned",
    loses=2,
    misconception="You count the frozen weight among what is learned.",
)
def _(I, O, r, layers, bytes):
    return _sizes(I, O, r, layers, bytes, learned=layers * (r * (I + O) + I * O))


@mistake(
    SIZES,
    "bits",
    caught_by="file",
    loses=0.5,
    misconception="You give the file in bits. A byte has eight of them, and bytes were asked for.",
)
def _(I, O, r, layers, bytes):
    return _sizes(I, O, r, layers, bytes, file=8 * bytes * layers * r * (I + O))


@mistake(
    SIZES,
    "numbers-in-the-file",
    caught_by="file",
    loses=0.5,
    misconception="You give the numbers in the file. Each takes `bytes` bytes.",
)
def _(I, O, r, layers, bytes):
    return _sizes(I, O, r, layers, bytes, file=layers * r * (I + O))


@mistake(
    SIZES,
    "whole-model-in-the-file",
    caught_by="file",
    loses=0.5,
    misconception="You put the model's weights into the file as well. It holds the update only.",
)
def _(I, O, r, layers, bytes):
    return _sizes(I, O, r, layers, bytes, file=bytes * layers * (r * (I + O) + I * O))


@mistake(
    SIZES,
    "merged-is-more",
    caught_by="merged",
    loses=1,
    misconception=(
        "You keep A and B next to the merged weight. They are in it: nothing else is stored."
    ),
)
def _(I, O, r, layers, bytes):
    return _sizes(I, O, r, layers, bytes, merged=layers * (I * O + r * (I + O)))


@mistake(
    SIZES,
    "merged-is-the-update",
    caught_by="merged",
    loses=1,
    misconception=(
        "You take the merged layer for as small as A and B. The product of the two has as many"
        " numbers as the weight."
    ),
)
def _(I, O, r, layers, bytes):
    return _sizes(I, O, r, layers, bytes, merged=layers * r * (I + O))


LAYER = "10.LoRALinear"


class Lora(nn.Module):
    """The right layer in parts; each mistake replaces one."""

    learns = False

    def __init__(self, weight, bias, r, alpha):
        super().__init__()
        self.weight = nn.Parameter(weight.clone(), requires_grad=self.learns)
        self.bias = None if bias is None else nn.Parameter(bias.clone(), requires_grad=self.learns)
        self.r, self.alpha, self.merged = r, alpha, False
        self.a, self.b = (nn.Parameter(one) for one in self.begin(r, *weight.shape))

    def begin(self, r, O, I):
        return torch.randn(r, I) / r, torch.zeros(O, r)

    def scale(self):
        return self.alpha / self.r

    def product(self):
        return self.scale() * self.b @ self.a

    def base(self, x):
        return linear(x, self.weight, self.bias)

    def forward(self, x):
        return self.base(x) if self.merged else self.base(x) + linear(x, self.product())

    def merge(self):
        if not self.merged:
            self.weight.data = self.weight.data + self.product().data
        self.merged = True

    def unmerge(self):
        if self.merged:
            self.weight.data = self.weight.data - self.product().data
        self.merged = False


@mistake(
    LAYER,
    "both-random",
    caught_by="start",
    loses=1.5,
    misconception=(
        "Both of your matrices are drawn by chance: a fresh layer gives something else than the"
        " given one."
    ),
)
class BothRandom(Lora):
    def begin(self, r, O, I):
        return torch.randn(r, I), torch.randn(O, r)


@mistake(
    LAYER,
    "both-zero",
    caught_by="start",
    loses=1.5,
    misconception=(
        "Both of your matrices are 0, and so are both gradients: nothing is ever learned."
    ),
)
class BothZero(Lora):
    def begin(self, r, O, I):
        return torch.zeros(r, I), torch.zeros(O, r)


@mistake(
    LAYER,
    "all-alike",
    caught_by="start",
    loses=1.5,
    misconception="All numbers of your `a` are the same, so that its r rows stay alike for ever.",
)
class AllAlike(Lora):
    def begin(self, r, O, I):
        return torch.full((r, I), 0.01), torch.zeros(O, r)


@mistake(
    LAYER,
    "shapes-exchanged",
    caught_by="start",
    loses=9,
    misconception="Your `a` and `b` are stored as their transposes: `a` is (r, I), `b` is (O, r).",
)
class ShapesExchanged(Lora):
    def begin(self, r, O, I):
        return torch.randn(I, r), torch.zeros(r, O)

    def product(self):
        return self.scale() * (self.a @ self.b).T


@mistake(
    LAYER, "bias-lost", caught_by="start", loses=2, misconception="Your layer forgets the bias."
)
class BiasLost(Lora):
    def base(self, x):
        return linear(x, self.weight)


@mistake(
    LAYER,
    "update-only",
    caught_by="start",
    loses=9,
    misconception="Your output is that of the update alone. The given layer's is added.",
)
class UpdateOnly(Lora):
    def base(self, x):
        return linear(x, self.weight, self.bias) * float(self.merged)


@mistake(
    LAYER,
    "bias-twice",
    caught_by="start",
    loses=2,
    misconception="You add the bias twice: to the weight's output and to that of the update.",
)
class BiasTwice(Lora):
    def forward(self, x):
        return super().forward(x) + (0 if self.bias is None or self.merged else self.bias)


@mistake(
    LAYER,
    "alpha-alone",
    caught_by="scale",
    loses=1.5,
    misconception="You scale by alpha and do not divide by r.",
)
class AlphaAlone(Lora):
    def scale(self):
        return self.alpha


@mistake(
    LAYER,
    "turned-scale",
    caught_by="scale",
    loses=1.5,
    misconception="You scale by r / alpha: upside down.",
)
class TurnedScale(Lora):
    def scale(self):
        return self.r / self.alpha


@mistake(
    LAYER,
    "no-scale",
    caught_by="scale",
    loses=1.5,
    misconception="You do not scale the update at all.",
)
class NoScale(Lora):
    def scale(self):
        return 1.0


@mistake(
    LAYER,
    "root-of-r",
    caught_by="scale",
    loses=1.5,
    misconception="You divide by the root of r, as rank-stabilised LoRA does. Here it is r.",
)
class RootOfR(Lora):
    def scale(self):
        return self.alpha / self.r**0.5


@mistake(
    LAYER,
    "base-trained",
    caught_by="frozen",
    loses=1.5,
    misconception=(
        "Your `weight` and `bias` are trained as well. They should not ask for a gradient."
    ),
)
class BaseTrained(Lora):
    learns = True


@mistake(
    LAYER,
    "cut-off",
    caught_by="frozen",
    loses=1.5,
    misconception=(
        "You run the given layer under `no_grad`: then no gradient reaches what lies below it."
    ),
)
class CutOff(Lora):
    def base(self, x):
        with torch.no_grad():
            return linear(x, self.weight, self.bias)


@mistake(
    LAYER,
    "added-for-ever",
    caught_by="merge",
    loses=3,
    misconception="Your `forward` adds the update to a merged weight, where it is already.",
)
class AddedForEver(Lora):
    def forward(self, x):
        return self.base(x) + linear(x, self.product())


@mistake(
    LAYER,
    "merge-replaces",
    caught_by="merge",
    loses=3,
    misconception="`merge` replaces the weight by the update. It is added.",
)
class MergeReplaces(Lora):
    def merge(self):
        self.weight.data, self.merged = self.product().data, True


@mistake(
    LAYER,
    "merged-unscaled",
    caught_by="merge",
    loses=3,
    misconception="You merge B A without its scale, which only `forward` has.",
)
class MergedUnscaled(Lora):
    def merge(self):
        if not self.merged:
            self.weight.data = self.weight.data + (self.b @ self.a).data
        self.merged = True


@mistake(
    LAYER,
    "merge-only-says-so",
    caught_by="merge",
    loses=3,
    misconception="`merge` sets a flag and leaves the weight as it was.",
)
class MergeOnlySaysSo(Lora):
    def forward(self, x):
        return self.base(x) + linear(x, self.product())

    def merge(self):
        self.merged = True

    def unmerge(self):
        self.merged = False


@mistake(
    LAYER,
    "unmerge-only-says-so",
    caught_by="unmerge",
    loses=1.5,
    misconception="`unmerge` sets a flag and leaves the update in the weight.",
)
class UnmergeOnlySaysSo(Lora):
    def unmerge(self):
        self.merged = False


@mistake(
    LAYER,
    "first-update-kept",
    caught_by="unmerge",
    loses=1,
    misconception="You keep the first update that was merged. `a` and `b` may have changed since.",
)
class FirstUpdateKept(Lora):
    def merge(self):
        if not self.merged:
            self.kept = getattr(self, "kept", self.product().data)
            self.weight.data = self.weight.data + self.kept
        self.merged = True


@mistake(
    LAYER,
    "first-weight-kept",
    caught_by="unmerge",
    loses=1,
    misconception=(
        "`unmerge` puts back the weight that the layer was made with. Others may have been loaded"
        " since."
    ),
)
class FirstWeightKept(Lora):
    def __init__(self, weight, bias, r, alpha):
        super().__init__(weight, bias, r, alpha)
        self.first = weight.clone()

    def unmerge(self):
        if self.merged:
            self.weight.data = self.first.clone()
        self.merged = False


@mistake(
    LAYER,
    "merged-twice",
    caught_by="twice",
    loses=0.5,
    misconception=(
        "You merge a second time what is merged already, so that the update is added twice."
    ),
)
class MergedTwice(Lora):
    def merge(self):
        self.weight.data, self.merged = self.weight.data + self.product().data, True


@mistake(
    LAYER,
    "unmerged-before",
    caught_by="twice",
    loses=0.5,
    misconception="You take out an update that was never merged.",
)
class UnmergedBefore(Lora):
    def unmerge(self):
        self.weight.data, self.merged = self.weight.data - self.product().data, False

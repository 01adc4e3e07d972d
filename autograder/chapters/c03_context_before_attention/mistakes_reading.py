"""Plausible wrong solutions of chapter 3, part 2."""

import torch

from autograder.checks.mistakes.registry import mistake

STEP, BACK = "03.lstm_step", "03.read_backward"


def _blocks(x, h, w_x, w_h, b):
    return (x @ w_x.T + h @ w_h.T + b).chunk(4, dim=-1)


def _step(
    x,
    h,
    c,
    w_x,
    w_h,
    b,
    order="ifgo",
    squash=torch.sigmoid,
    content=torch.tanh,
    keep=None,
    show=None,
):
    """A step with one part replaced.

    keep: the new c from c, i, f and g; show: h from o, the new c and the old one.
    """
    named = dict(zip(order, _blocks(x, h, w_x, w_h, b)))
    i, f, o, g = squash(named["i"]), squash(named["f"]), squash(named["o"]), content(named["g"])
    new = f * c + i * g if keep is None else keep(c, i, f, g)
    return {
        "i": i,
        "f": f,
        "g": g,
        "o": o,
        "c": new,
        "h": o * new.tanh() if show is None else show(o, new, c),
    }


@mistake(
    STEP,
    "write-and-keep-exchanged",
    caught_by="forget gate",
    loses=6,
    misconception=(
        "You use the first block as the forget gate and the second as the input gate. It is the"
        " other way round."
    ),
)
def _(x, h, c, w_x, w_h, b):
    return _step(x, h, c, w_x, w_h, b, order="figo")


@mistake(
    STEP,
    "show-before-content",
    caught_by="forget gate",
    loses=6,
    misconception=(
        "You use the third block as the output gate and the fourth as the candidate, as ONNX"
        " nearly does. Here the third is the candidate."
    ),
)
def _(x, h, c, w_x, w_h, b):
    return _step(x, h, c, w_x, w_h, b, order="ifog")


@mistake(
    STEP,
    "order-of-onnx",
    caught_by="forget gate",
    loses=6,
    misconception=(
        "Your blocks stand in the order i, o, f, g, which is that of ONNX. Here it is i, f, g, o."
    ),
)
def _(x, h, c, w_x, w_h, b):
    return _step(x, h, c, w_x, w_h, b, order="iofg")


@mistake(
    STEP,
    "added-in-place-of-multiplied",
    caught_by="input gate",
    loses=5,
    misconception="You add the input gate and the candidate. The gate multiplies.",
)
def _(x, h, c, w_x, w_h, b):
    return _step(
        x, h, c, w_x, w_h, b, keep=lambda c, i, f, g: f * c + torch.where(g == 0, 0.0, i + g)
    )


@mistake(
    STEP,
    "kept-by-addition",
    caught_by="forget gate",
    loses=6,
    misconception="You add the forget gate to the old cell state. The gate multiplies it.",
)
def _(x, h, c, w_x, w_h, b):
    return _step(x, h, c, w_x, w_h, b, keep=lambda c, i, f, g: f + c + i * g)


@mistake(
    STEP,
    "one-minus-write",
    caught_by="forget gate",
    loses=6,
    misconception=(
        "You keep 1 - i of the cell state, as a GRU does. The forget gate f is separate."
    ),
)
def _(x, h, c, w_x, w_h, b):
    return _step(x, h, c, w_x, w_h, b, keep=lambda c, i, f, g: (1 - i) * c + i * g)


@mistake(
    STEP,
    "gates-exchanged-in-the-update",
    caught_by="forget gate",
    loses=6,
    misconception="You multiply the old c by i and the candidate by f. It is the other way round.",
)
def _(x, h, c, w_x, w_h, b):
    return _step(x, h, c, w_x, w_h, b, keep=lambda c, i, f, g: i * c + f * g)


@mistake(
    STEP,
    "cell-state-for-h",
    caught_by="gate inputs",
    loses=3,
    misconception="You multiply `w_h` by c. It belongs to h; c is only multiplied by a gate.",
)
def _(x, h, c, w_x, w_h, b):
    return _step(x, c, c, w_x, w_h, b)


@mistake(
    STEP,
    "nothing-kept",
    caught_by="forget gate",
    loses=6,
    misconception="Your new c is i times g alone: the old c is lost.",
)
def _(x, h, c, w_x, w_h, b):
    return _step(x, h, c, w_x, w_h, b, keep=lambda c, i, f, g: i * g + 0 * f * c)


@mistake(
    STEP,
    "old-state-shown",
    caught_by="output gate",
    loses=4,
    misconception="You compute h from the old c. It is o times the tanh of the new c.",
)
def _(x, h, c, w_x, w_h, b):
    return _step(x, h, c, w_x, w_h, b, show=lambda o, new, old: o * old.tanh())


@mistake(
    STEP,
    "shown-without-tanh",
    caught_by="output gate",
    loses=4,
    misconception="Your h is o times the new c. The new c goes through tanh first.",
)
def _(x, h, c, w_x, w_h, b):
    return _step(x, h, c, w_x, w_h, b, show=lambda o, new, old: o * new)


@mistake(
    STEP,
    "tanh-of-the-product",
    caught_by="output gate",
    loses=4,
    misconception="Your h is the tanh of o times c. The gate multiplies the tanh.",
)
def _(x, h, c, w_x, w_h, b):
    return _step(x, h, c, w_x, w_h, b, show=lambda o, new, old: (o * new).tanh())


@mistake(
    STEP,
    "state-through-tanh",
    caught_by="forget gate",
    loses=5,
    misconception=("You return tanh of the new c as c. Only the hidden state h goes through tanh."),
)
def _(x, h, c, w_x, w_h, b):
    found = _step(x, h, c, w_x, w_h, b)
    return {**found, "c": found["c"].tanh()}


@mistake(
    STEP,
    "content-through-sigmoid",
    caught_by="forget gate",
    loses=6,
    misconception=(
        "You apply a sigmoid to the candidate g. It goes through tanh, and may be negative."
    ),
)
def _(x, h, c, w_x, w_h, b):
    return _step(x, h, c, w_x, w_h, b, content=torch.sigmoid)


@mistake(
    STEP,
    "gates-through-tanh",
    caught_by="forget gate",
    loses=6,
    misconception="You apply tanh to the gates. A gate is a sigmoid, between 0 and 1.",
)
def _(x, h, c, w_x, w_h, b):
    return _step(x, h, c, w_x, w_h, b, squash=torch.tanh)


@mistake(
    STEP,
    "before-the-squashing",
    caught_by="forget gate",
    loses=6,
    misconception="You return the four blocks as they are before sigmoid and tanh.",
)
def _(x, h, c, w_x, w_h, b):
    raw = dict(zip("ifgo", _blocks(x, h, w_x, w_h, b)))
    return {**_step(x, h, c, w_x, w_h, b), **raw}


@mistake(
    STEP, "no-bias", caught_by="forget gate", loses=6, misconception="You leave out the bias b."
)
def _(x, h, c, w_x, w_h, b):
    return _step(x, h, c, w_x, w_h, 0 * b)


@mistake(
    STEP,
    "nothing-shown-is-read",
    caught_by="gate inputs",
    loses=3,
    misconception="Your gates do not use `h`, the previous hidden state.",
)
def _(x, h, c, w_x, w_h, b):
    return _step(x, 0 * h, c, w_x, w_h, b)


@mistake(
    STEP,
    "blocks-interleaved",
    caught_by="forget gate",
    loses=6,
    misconception=(
        "You split the sum into groups of four neighbours. The four blocks follow each other, H"
        " numbers each."
    ),
)
def _(x, h, c, w_x, w_h, b):
    i, f, g, o = (x @ w_x.T + h @ w_h.T + b).reshape(len(x), -1, 4).unbind(-1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    new = f * c + i * g
    return {"i": i, "f": f, "g": g, "o": o, "c": new, "h": o * new.tanh()}


@mistake(
    STEP,
    "blocks-along-the-batch",
    caught_by="forget gate",
    loses=6,
    misconception="You cut the batch into four. The blocks lie along the last axis: dim=-1.",
)
def _(x, h, c, w_x, w_h, b):
    i, f, g, o = (x @ w_x.T + h @ w_h.T + b).chunk(4)
    new = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return {"i": i, "f": f, "g": g, "o": o, "c": new, "h": o.sigmoid() * new.tanh()}


@mistake(
    STEP,
    "not-transposed",
    caught_by="forget gate",
    loses=6,
    misconception="You multiply by `w_x` without its transpose. It is (4H, D).",
)
def _(x, h, c, w_x, w_h, b):
    return _step(x, h, c, w_x.T, w_h.T, b)


@mistake(
    STEP,
    "bias-twice",
    caught_by="forget gate",
    loses=6,
    misconception="You add the bias b twice. torch has two biases; here there is one.",
)
def _(x, h, c, w_x, w_h, b):
    return _step(x, h, c, w_x, w_h, 2 * b)


@mistake(
    STEP,
    "old-c-returned",
    caught_by="forget gate",
    loses=5,
    misconception='You return the old cell state as "c". Return the new one.',
)
def _(x, h, c, w_x, w_h, b):
    return {**_step(x, h, c, w_x, w_h, b), "c": c.clone()}


@mistake(
    STEP,
    "candidate-by-one-minus-f",
    caught_by="input gate",
    loses=5,
    misconception="You weight the candidate by 1 - f, as a GRU does. The input gate i is separate.",
)
def _(x, h, c, w_x, w_h, b):
    return _step(x, h, c, w_x, w_h, b, keep=lambda c, i, f, g: f * c + (1 - f) * g)


@mistake(
    STEP,
    "blocks-as-wide-as-h",
    caught_by="gate inputs",
    loses=3,
    misconception="You take the block size from `h`. It is H, that of `c`: R may differ from H.",
)
def _(x, h, c, w_x, w_h, b):
    size, sums = h.shape[1], x @ w_x.T + h @ w_h.T + b
    i, f, g = (sums[:, size * place : size * (place + 1)] for place in range(3))
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), sums[:, 3 * size :].sigmoid()
    new = f * c + i * g
    return {"i": i, "f": f, "g": g, "o": o, "c": new, "h": o * new.tanh()}


def _odd_sigmoid(z):
    return z.exp() / (1 + z.exp())


@mistake(
    STEP,
    "exp-over-one-plus-exp",
    caught_by="large pre-activations",
    loses=1,
    misconception=(
        "exp(x) / (1 + exp(x)) is infinity over infinity from x = 89 on. torch.sigmoid is not."
    ),
)
def _(x, h, c, w_x, w_h, b):
    return _step(x, h, c, w_x, w_h, b, squash=_odd_sigmoid)


def _odd_tanh(z):
    return (z.exp() - (-z).exp()) / (z.exp() + (-z).exp())


@mistake(
    STEP,
    "tanh-by-exp",
    caught_by="large pre-activations",
    loses=1,
    misconception=(
        "Your tanh is a quotient of exps, which is infinity over infinity for large numbers."
        " torch.tanh is not."
    ),
)
def _(x, h, c, w_x, w_h, b):
    return _step(
        x, h, c, w_x, w_h, b, content=_odd_tanh, show=lambda o, new, old: o * _odd_tanh(new)
    )


@mistake(
    STEP,
    "mixed-up-by-the-batch",
    caught_by="independent sequences",
    loses=3,
    misconception="You sum h over the batch. Each sequence is independent.",
)
def _(x, h, c, w_x, w_h, b):
    return _step(x, h.sum(0, keepdim=True).expand(h.shape), c, w_x, w_h, b)


@mistake(
    STEP,
    "state-cut",
    caught_by="large pre-activations",
    loses=1,
    misconception="You clamp c. It is kept as it is, however large.",
)
def _(x, h, c, w_x, w_h, b):
    return _step(x, h, c, w_x, w_h, b, keep=lambda c, i, f, g: (f * c + i * g).clamp(-20, 20))


def _read(
    step,
    x,
    mask,
    start,
    carry=torch.where,
    turn=True,
    silent=lambda state, here: state * here,
    places=None,
    mask_of=None,
):
    """A reading with one part replaced.

    carry: the state from where a word is, the new one and the old one.
    """
    here = (mask if mask_of is None else mask_of(mask)).unsqueeze(-1)
    state, shown = start, []
    for place in reversed(range(x.shape[1])) if places is None else places(x.shape[1]):
        state = carry(here[:, place], step(x[:, place], state), state)
        shown.append(silent(state, here[:, place]))
    return torch.stack(shown[::-1] if turn else shown, dim=1)


@mistake(
    BACK,
    "as-printed",
    caught_by="padding after text",
    loses=4,
    misconception="This is the code of the statement: padding sets the state to 0.",
)
def _(step, x, mask, start):
    return _read(step, x, mask, start, carry=lambda here, new, old: new * here)


@mistake(
    BACK,
    "filling-is-read",
    caught_by="padding after text",
    loses=4,
    misconception=(
        "Your LSTM reads the padding as well, so it meets the last token with another state than"
        " start."
    ),
)
def _(step, x, mask, start):
    return _read(step, x, mask, start, carry=lambda here, new, old: new)


@mistake(
    BACK,
    "filling-starts-anew",
    caught_by="padding before or inside",
    loses=2,
    misconception="You reset the state to `start` at padding. It passes unchanged.",
)
def _(step, x, mask, start):
    return _read(step, x, mask, start, carry=lambda here, new, old: torch.where(here, new, start))


@mistake(
    BACK,
    "not-turned-back",
    caught_by="padding after text",
    loses=4,
    misconception=(
        "Your output is in the order of reading. Flip it back into the order of the text."
    ),
)
def _(step, x, mask, start):
    return _read(step, x, mask, start, turn=False)


@mistake(
    BACK,
    "read-forwards",
    caught_by="padding after text",
    loses=4,
    misconception="You run forward. A backward LSTM starts at the last token.",
)
def _(step, x, mask, start):
    return _read(step, x, mask, start, places=range, turn=False)


@mistake(
    BACK,
    "state-shown-in-filling",
    caught_by="padding after text",
    loses=4,
    misconception="You output the state at padded positions. The output there is zeros.",
)
def _(step, x, mask, start):
    return _read(step, x, mask, start, silent=lambda state, here: state)


@mistake(
    BACK,
    "last-state-everywhere",
    caught_by="padding after text",
    loses=4,
    misconception=(
        "You return the last state everywhere. Each position has the state after its own token."
    ),
)
def _(step, x, mask, start):
    out = _read(step, x, mask, start, silent=lambda state, here: state)
    return out[:, :1] * mask.unsqueeze(-1)


@mistake(
    BACK,
    "mask-shifted",
    caught_by="padding after text",
    loses=4,
    misconception="You use the mask of the neighbouring position. Use that of the position itself.",
)
def _(step, x, mask, start):
    return _read(
        step, x, mask, start, mask_of=lambda mask: torch.cat([mask[:, 1:], mask[:, -1:]], 1)
    )


@mistake(
    BACK,
    "mask-not-turned",
    caught_by="padding after text",
    loses=4,
    misconception="You flip `x` and not the mask.",
)
def _(step, x, mask, start):
    return _read(step, x, mask, start, mask_of=lambda mask: mask.flip(1))


@mistake(
    BACK,
    "first-row-decides",
    caught_by="padding after text",
    loses=4,
    misconception="You use the mask of the first row only. Each row has its own padding.",
)
def _(step, x, mask, start):
    return _read(step, x, mask, start, mask_of=lambda mask: mask[:1].expand(mask.shape))


@mistake(
    BACK,
    "skipped-if-one-is-padded",
    caught_by="padding after text",
    loses=4,
    misconception=(
        "You skip a position for the whole batch if one row is padded there. Decide row by row."
    ),
)
def _(step, x, mask, start):
    everywhere = mask.all(0, keepdim=True).expand(mask.shape)
    return _read(step, x, everywhere, start)


@mistake(
    BACK,
    "read-if-one-is-a-token",
    caught_by="padding after text",
    loses=4,
    misconception=(
        "You read a position for the whole batch if one row has a token there. Decide row by row."
    ),
)
def _(step, x, mask, start):
    anywhere = mask.any(0, keepdim=True).expand(mask.shape)
    return _read(step, x, anywhere, start) * mask.unsqueeze(-1)


@mistake(
    BACK,
    "zeros-are-padding",
    caught_by="padding after text",
    loses=4,
    misconception="You take vectors of zeros for padding. Only mask tells where padding is.",
)
def _(step, x, mask, start):
    return _read(step, x, (x != 0).any(-1), start)


@mistake(
    BACK,
    "padding-zeroed-and-read",
    caught_by="padding after text",
    loses=4,
    misconception=(
        "You set padded inputs to 0 and still take the state that `step` returns. Keep the old one."
    ),
)
def _(step, x, mask, start):
    return _read(step, x * mask.unsqueeze(-1), mask, start, carry=lambda here, new, old: new)


@mistake(
    BACK,
    "where-exchanged",
    caught_by="padding after text",
    loses=4,
    misconception="You keep the old state at tokens and the new one at padding. Exchange them.",
)
def _(step, x, mask, start):
    return _read(step, x, mask, start, carry=lambda here, new, old: torch.where(here, old, new))


@mistake(
    BACK,
    "first-position-left-out",
    caught_by="padding after text",
    loses=4,
    misconception="Your loop ends before position 0. `range(T - 1, -1, -1)` reaches it.",
)
def _(step, x, mask, start):
    last = torch.zeros(len(x), 1, start.shape[1])
    if x.shape[1] == 1:
        return last
    return torch.cat([last, _read(step, x[:, 1:], mask[:, 1:], start)], 1)


@mistake(
    BACK,
    "start-of-zeros",
    caught_by="padding after text",
    loses=4,
    misconception="You start from zeros. The initial state is `start`.",
)
def _(step, x, mask, start):
    return _read(step, x, mask, torch.zeros_like(start))


@mistake(
    BACK,
    "lengths-from-the-mask",
    caught_by="padding before or inside",
    loses=2,
    misconception=(
        "You take the number of tokens as the end of the text. Padding may also precede a"
        " text or be inside it."
    ),
)
def _(step, x, mask, start):
    lengths = mask.sum(1, keepdim=True)
    return _read(step, x, torch.arange(x.shape[1]) < lengths, start)


@mistake(
    BACK,
    "an-empty-row-ends-it",
    caught_by="padding before or inside",
    loses=2,
    misconception="Your code fails where a row has no token at all: its output is zeros.",
)
def _(step, x, mask, start):
    if not mask.any(1).all():
        raise IndexError("no last word")
    return _read(step, x, mask, start)


@mistake(
    BACK,
    "line-4",
    replaces="wrong_line",
    caught_by="wrong line",
    loses=1,
    misconception="Line 4 may run `step` on padding: what matters is whether its result is used.",
)
def _():
    return 4


@mistake(
    BACK,
    "line-6",
    replaces="wrong_line",
    caught_by="wrong line",
    loses=1,
    misconception=("Line 6 is right: at padding the output is zeros. The state is another matter."),
)
def _():
    return 6


@mistake(
    BACK,
    "line-1",
    replaces="wrong_line",
    caught_by="wrong line",
    loses=1,
    misconception=(
        "Line 1 flips `x` and the mask alike. Padding may come first then, if the state passes"
        " unchanged."
    ),
)
def _():
    return 1


@mistake(
    BACK,
    "line-7",
    replaces="wrong_line",
    caught_by="wrong line",
    loses=1,
    misconception="Line 7 restores the order of the text, as it should.",
)
def _():
    return 7

"""Plausible wrong solutions of chapter 7, part 5."""

import torch

from autograder.checks.mistakes.registry import mistake

WINDOW = "07.window_attention"


def _near(side):
    """Whether a key is in the window, by its distance from the query."""
    return lambda gap, rows: gap.abs() <= side


def _mixed(
    q, k, v, is_global, near, columns=True, rows=True, scale=None, hidden=-torch.inf, softmax=None
):
    """Attention strip by strip, with a part replaced.

    near: of distances (R, T) and rows (R); columns, rows: whether global tokens have theirs.
    """
    T, scale = q.shape[1], q.shape[2] ** -0.5 if scale is None else scale
    out = torch.empty_like(q)
    for some in torch.arange(T).split(128):
        seen = near(torch.arange(T) - some[:, None], some)
        seen = seen | is_global if columns else seen
        seen = seen | is_global[some][:, None] if rows else seen
        scores = (scale * (q[:, some] @ k.transpose(1, 2))).masked_fill(~seen, hidden)
        out[:, some] = (scores.softmax(2) if softmax is None else softmax(scores)) @ v
    return out


@mistake(
    WINDOW,
    "mask-on-dense-scores",
    caught_by="memory",
    loses=1.5,
    misconception=(
        "Your call holds more than all T x T scores of a head take, as a mask over the whole table"
        " does: that saves nothing."
    ),
)
def _(q, k, v, side, is_global):
    places = torch.arange(q.shape[1])
    seen = ((places[:, None] - places).abs() <= side) | is_global | is_global[:, None]
    return (q @ k.transpose(1, 2) / q.shape[2] ** 0.5).masked_fill(~seen, -torch.inf).softmax(2) @ v


@mistake(
    WINDOW,
    "no-scale",
    caught_by="window",
    loses=9,
    misconception="You do not divide the scores by the root of D.",
)
def _(q, k, v, side, is_global):
    return _mixed(q, k, v, is_global, _near(side), scale=1.0)


@mistake(
    WINDOW,
    "side-is-the-whole-window",
    caught_by="window",
    loses=7.5,
    misconception=(
        "You take `side` for the width of the whole window, half of it to each side. It is `side`"
        " to each side."
    ),
)
def _(q, k, v, side, is_global):
    return _mixed(q, k, v, is_global, _near(side // 2))


@mistake(
    WINDOW,
    "twice-as-wide",
    caught_by="window",
    loses=7.5,
    misconception=(
        "Your window is 2 times `side` wide to each side. Chunks see too far without a mask inside."
    ),
)
def _(q, k, v, side, is_global):
    return _mixed(q, k, v, is_global, _near(2 * side))


@mistake(
    WINDOW,
    "border-left-out",
    caught_by="window",
    loses=7.5,
    misconception=(
        "The token exactly `side` away is not seen with you. It is: at most `side`, not less."
    ),
)
def _(q, k, v, side, is_global):
    return _mixed(q, k, v, is_global, lambda gap, rows: (gap.abs() < side) | (gap == 0))


@mistake(
    WINDOW,
    "only-backwards",
    caught_by="window",
    loses=7.5,
    misconception="Your window looks back only, as a decoder's does. It looks to both sides.",
)
def _(q, k, v, side, is_global):
    return _mixed(q, k, v, is_global, lambda gap, rows: (gap <= 0) & (gap >= -side))


@mistake(
    WINDOW,
    "chunks-apart",
    caught_by="window",
    loses=7.5,
    misconception=(
        "Each of your chunks sees itself only. A token near the edge of a chunk has neighbours in"
        " the next one."
    ),
)
def _(q, k, v, side, is_global):
    chunk = torch.arange(q.shape[1]) // (side + 1)
    return _mixed(
        q, k, v, is_global, lambda gap, rows: (gap.abs() <= side) & (chunk == chunk[rows][:, None])
    )


@mistake(
    WINDOW,
    "hidden-by-zero",
    caught_by="window",
    loses=7.5,
    misconception="You set hidden scores to 0, which is a score like others. Minus infinity hides.",
)
def _(q, k, v, side, is_global):
    return _mixed(q, k, v, is_global, _near(side), hidden=0.0)


@mistake(
    WINDOW,
    "wraps-round",
    caught_by="ends",
    loses=2,
    misconception="At the ends your window continues at the other end of the text, as `roll` does.",
)
def _(q, k, v, side, is_global):
    T = q.shape[1]
    return _mixed(q, k, v, is_global, lambda gap, rows: torch.minimum(gap % T, -gap % T) <= side)


@mistake(
    WINDOW,
    "padded-with-zeros",
    caught_by="ends",
    loses=2,
    misconception="At the ends zeros are seen, with a score of 0 each: padding has to be hidden.",
)
def _(q, k, v, side, is_global):
    T, side = q.shape[1], min(side, q.shape[1])
    empty = torch.zeros(q.shape[0], side, q.shape[2])
    k, v = (torch.cat((empty, one, empty), 1) for one in (k, v))
    wide = torch.cat(
        (torch.zeros(side, dtype=torch.bool), is_global, torch.zeros(side, dtype=torch.bool))
    )
    out = torch.empty_like(q)
    for rows in torch.arange(T).split(128):
        gap = torch.arange(T + 2 * side) - side - rows[:, None]
        inside = (torch.arange(T + 2 * side) >= side) & (torch.arange(T + 2 * side) < T + side)
        seen = torch.where(is_global[rows][:, None], inside, (gap.abs() <= side) | wide)
        out[:, rows] = (q[:, rows] @ k.transpose(1, 2) / q.shape[2] ** 0.5).masked_fill(
            ~seen, -torch.inf
        ).softmax(2) @ v
    return out


@mistake(
    WINDOW,
    "no-global-columns",
    caught_by="columns",
    loses=4,
    misconception=(
        "Global tokens see everybody with you, but nobody sees them unless they are near."
    ),
)
def _(q, k, v, side, is_global):
    return _mixed(q, k, v, is_global, _near(side), columns=False)


@mistake(
    WINDOW,
    "no-global-rows",
    caught_by="rows",
    loses=2.5,
    misconception="Everybody sees your global tokens, but they see their window only.",
)
def _(q, k, v, side, is_global):
    return _mixed(q, k, v, is_global, _near(side), rows=False)


def _by_chunks(q, k, v, side, is_global, join):
    """A right frame in which `join` mixes the near and the global part of a chunk: (near scores,
    far scores, near values, far values).
    """
    chosen, scale = is_global.nonzero()[:, 0], q.shape[2] ** -0.5
    out, T = torch.empty_like(q), q.shape[1]
    for rows in torch.arange(T).split(64):
        near = torch.arange(max(int(rows[0]) - side, 0), min(int(rows[-1]) + side + 1, T))
        hidden = (rows[:, None] - near).abs() > side
        scores = (scale * (q[:, rows] @ k[:, near].transpose(1, 2))).masked_fill(hidden, -torch.inf)
        far = scale * (q[:, rows] @ k[:, chosen].transpose(1, 2))
        out[:, rows] = join(scores, far, v[:, near], v[:, chosen])
    out[:, chosen] = (scale * (q[:, chosen] @ k.transpose(1, 2))).softmax(2) @ v
    return out


@mistake(
    WINDOW,
    "global-counted-twice",
    caught_by="columns",
    loses=4,
    misconception=(
        "A global token that is near counts twice with you: once in the window, once among the"
        " global ones."
    ),
)
def _(q, k, v, side, is_global):
    return _by_chunks(
        q,
        k,
        v,
        side,
        is_global,
        lambda near, far, v, w: torch.cat((near, far), 2).softmax(2) @ torch.cat((v, w), 1),
    )


@mistake(
    WINDOW,
    "two-softmaxes",
    caught_by="columns",
    loses=4,
    misconception=(
        "You take a softmax over the window and another over the global tokens, and add what they"
        " give. One softmax goes over both."
    ),
)
def _(q, k, v, side, is_global):
    return _by_chunks(
        q, k, v, side, is_global, lambda near, far, v, w: near.softmax(2) @ v + far.softmax(2) @ w
    )


@mistake(
    WINDOW,
    "large-sides-fail",
    caught_by="borders",
    loses=1,
    misconception="Your function fails where `side` is as large as the text.",
)
def _(q, k, v, side, is_global):
    if side >= q.shape[1]:
        raise ValueError("the window is larger than the text")
    return _mixed(q, k, v, is_global, _near(side))


@mistake(
    WINDOW,
    "exponentials-overflow",
    caught_by="borders",
    loses=1,
    misconception=(
        "You take `exp` of the scores as they are, which overflows. Take the largest off first, or"
        " use `softmax`."
    ),
)
def _(q, k, v, side, is_global):
    return _mixed(
        q,
        k,
        v,
        is_global,
        _near(side),
        softmax=lambda scores: scores.exp() / scores.exp().sum(2, keepdim=True),
    )

"""Plausible wrong solutions of chapter 12, part 4."""

import torch
from torch.nn.functional import silu

from autograder.checks.mistakes.registry import mistake

MOE, LATENT = "12.moe_layer", "12.latent_attention"


def _mixed(x, router, gate, up, down, k, choose, expert=None):
    """The answer with the choice, or an expert, replaced; choose: scores to weights, experts."""
    weights, experts = choose(x @ router.T, k)
    out = torch.zeros_like(x)
    for e in range(len(router)):
        token, choice = torch.where(experts == e)
        rows = x[token]
        one = (expert or _swiglu)(rows, gate[e], up[e], down[e])
        out[token] += weights[token, choice, None] * one
    return out


def _swiglu(x, gate, up, down):
    return (silu(x @ gate.T) * (x @ up.T)) @ down.T


def _right(scores, k):
    weights, experts = scores.softmax(-1).topk(k)
    return weights / weights.sum(-1, keepdim=True), experts


@mistake(
    MOE,
    "not-normalized",
    caught_by="top expert",
    loses=3.5,
    misconception="You weigh with the probabilities as they are. Divide the k chosen by their sum.",
)
def _(x, router, gate, up, down, k):
    return _mixed(x, router, gate, up, down, k, lambda scores, k: scores.softmax(-1).topk(k))


@mistake(
    MOE,
    "equal-weights",
    caught_by="weights",
    loses=1,
    misconception="You average the chosen experts. Weight them by their probabilities.",
)
def _(x, router, gate, up, down, k):
    def even(scores, k):
        weights, experts = _right(scores, k)
        return torch.full_like(weights, 1 / k), experts

    return _mixed(x, router, gate, up, down, k, even)


@mistake(
    MOE,
    "sigmoid",
    caught_by="weights",
    loses=1,
    misconception="You score with a sigmoid, as DeepSeek-V3 does. Here it is a softmax.",
)
def _(x, router, gate, up, down, k):
    def gates(scores, k):
        weights, experts = scores.double().sigmoid().topk(k)
        return (weights / weights.sum(-1, keepdim=True)).float(), experts

    return _mixed(x, router, gate, up, down, k, gates)


@mistake(
    MOE,
    "raw-scores",
    caught_by="weights",
    loses=1,
    misconception="You divide the scores by their sum, without a softmax.",
)
def _(x, router, gate, up, down, k):
    def raw(scores, k):
        weights, experts = scores.topk(k)
        return weights / weights.sum(-1, keepdim=True), experts

    return _mixed(x, router, gate, up, down, k, raw)


@mistake(
    MOE,
    "weights-reversed",
    caught_by="weights",
    loses=1,
    misconception="Weights and experts are in different orders: the last chosen has the largest.",
)
def _(x, router, gate, up, down, k):
    def reversed_(scores, k):
        weights, experts = _right(scores, k)
        return weights.flip(-1), experts

    return _mixed(x, router, gate, up, down, k, reversed_)


@mistake(
    MOE,
    "least-probable",
    caught_by="top expert",
    loses=3.5,
    misconception="You choose the least probable experts.",
)
def _(x, router, gate, up, down, k):
    def lowest(scores, k):
        weights, experts = scores.softmax(-1).topk(k, largest=False)
        return weights / weights.sum(-1, keepdim=True), experts

    return _mixed(x, router, gate, up, down, k, lowest)


@mistake(
    MOE,
    "all-experts",
    caught_by="top expert",
    loses=3.5,
    misconception="You use all experts for every token. Each token has its k.",
)
def _(x, router, gate, up, down, k):
    return _mixed(x, router, gate, up, down, len(router), _right)


@mistake(
    MOE,
    "one-choice-for-all",
    caught_by="top expert",
    loses=3.5,
    misconception="You choose the same experts for all tokens. Each token chooses for itself.",
)
def _(x, router, gate, up, down, k):
    return _mixed(
        x, router, gate, up, down, k, lambda scores, k: _right(scores.mean(0).expand_as(scores), k)
    )


@mistake(
    MOE,
    "gate-and-up",
    caught_by="one expert",
    loses=5,
    misconception="You apply silu to `up`. It belongs to `gate`.",
)
def _(x, router, gate, up, down, k):
    return _mixed(x, router, up, gate, down, k, _right)


@mistake(
    MOE,
    "no-silu",
    caught_by="one expert",
    loses=5,
    misconception="You left out silu: gate and up are multiplied as they are.",
)
def _(x, router, gate, up, down, k):
    return _mixed(
        x, router, gate, up, down, k, _right, lambda x, g, u, d: ((x @ g.T) * (x @ u.T)) @ d.T
    )


@mistake(
    MOE,
    "masked-afterwards",
    caught_by="unused experts",
    loses=1,
    misconception=(
        "You compute every expert for every token and multiply by 0. NaN times 0 is NaN, and"
        " nothing is saved."
    ),
)
def _(x, router, gate, up, down, k):
    weights, experts = _right(x @ router.T, k)
    full = torch.zeros(len(x), len(router)).scatter(1, experts, weights)
    return sum(full[:, e, None] * _swiglu(x, gate[e], up[e], down[e]) for e in range(len(router)))


@mistake(
    MOE,
    "overwritten",
    caught_by="weights",
    loses=1,
    misconception=(
        "You assign each expert's output instead of adding it, so a token keeps only its last"
        " expert. Use `+=`."
    ),
)
def _(x, router, gate, up, down, k):
    weights, experts = _right(x @ router.T, k)
    out = torch.zeros_like(x)
    for e in range(len(router)):
        token, choice = torch.where(experts == e)
        out[token] = weights[token, choice, None] * _swiglu(x[token], gate[e], up[e], down[e])
    return out


@mistake(
    MOE,
    "softmax-over-tokens",
    caught_by="top expert",
    loses=3.5,
    misconception="Your softmax goes over the tokens. It goes over the experts of each token.",
)
def _(x, router, gate, up, down, k):
    def over_tokens(scores, k):
        weights, experts = scores.softmax(0).topk(k)
        return weights / weights.sum(-1, keepdim=True), experts

    return _mixed(x, router, gate, up, down, k, over_tokens)


@mistake(
    MOE,
    "normalized-over-tokens",
    caught_by="one expert",
    loses=5,
    misconception=(
        "You divide by a sum over the tokens. The sum is over the k experts of each token."
    ),
)
def _(x, router, gate, up, down, k):
    def over_tokens(scores, k):
        weights, experts = scores.softmax(-1).topk(k)
        return weights / weights.sum(0), experts

    return _mixed(x, router, gate, up, down, k, over_tokens)


@mistake(
    MOE,
    "mean-probabilities",
    caught_by="top expert",
    loses=3.5,
    misconception=(
        "You choose by the mean probability over all tokens. Each token chooses for itself."
    ),
)
def _(x, router, gate, up, down, k):
    def together(scores, k):
        p = scores.softmax(-1)
        experts = p.mean(0).topk(k).indices
        weights = p[:, experts]
        return weights / weights.sum(-1, keepdim=True), experts.expand_as(weights)

    return _mixed(x, router, gate, up, down, k, together)


@mistake(
    MOE,
    "first-token-chooses",
    caught_by="top expert",
    loses=3.5,
    misconception="All tokens use the first token's experts. Each token chooses for itself.",
)
def _(x, router, gate, up, down, k):
    def first(scores, k):
        p = scores.softmax(-1)
        experts = p[0].topk(k).indices
        weights = p[:, experts]
        return weights / weights.sum(-1, keepdim=True), experts.expand_as(weights)

    return _mixed(x, router, gate, up, down, k, first)


@mistake(
    MOE,
    "first-k-probabilities",
    caught_by="weights",
    loses=1,
    misconception=(
        "You weigh with the probabilities of experts 0 to k - 1. Take those of the chosen experts."
    ),
)
def _(x, router, gate, up, down, k):
    def first(scores, k):
        p = scores.softmax(-1)
        weights = p[:, :k]
        return weights / weights.sum(-1, keepdim=True), p.topk(k).indices

    return _mixed(x, router, gate, up, down, k, first)


@mistake(
    MOE,
    "top-one",
    caught_by="weights",
    loses=1,
    misconception="You use only the most probable expert. Each token goes to k experts.",
)
def _(x, router, gate, up, down, k):
    return _mixed(x, router, gate, up, down, 1, _right)


@mistake(
    MOE,
    "input-weighted",
    caught_by="weights",
    loses=1,
    misconception="You multiply an expert's input by its weight. The weight belongs to its output.",
)
def _(x, router, gate, up, down, k):
    weights, experts = _right(x @ router.T, k)
    out = torch.zeros_like(x)
    for e in range(len(router)):
        token, choice = torch.where(experts == e)
        rows = weights[token, choice, None] * x[token]
        out[token] += _swiglu(rows, gate[e], up[e], down[e])
    return out


@mistake(
    MOE,
    "divided-by-k",
    caught_by="top expert",
    loses=3.5,
    misconception=(
        "You divide the probabilities by k. Divide them by their sum over the k chosen experts."
    ),
)
def _(x, router, gate, up, down, k):
    def shared(scores, k):
        weights, experts = scores.softmax(-1).topk(k)
        return weights / k, experts

    return _mixed(x, router, gate, up, down, k, shared)


@mistake(
    MOE,
    "silu-on-both",
    caught_by="one expert",
    loses=5,
    misconception="You apply SiLU to both projections. The up projection stays linear.",
)
def _(x, router, gate, up, down, k):
    def both(x, g, u, d):
        return (silu(x @ g.T) * silu(x @ u.T)) @ d.T

    return _mixed(x, router, gate, up, down, k, _right, both)


@mistake(
    MOE,
    "largest-weight-for-all",
    caught_by="weights",
    loses=1,
    misconception="You weigh all k experts with the largest probability. Each has its own.",
)
def _(x, router, gate, up, down, k):
    def largest(scores, k):
        weights, experts = _right(scores, k)
        return weights[:, :1].expand_as(weights), experts

    return _mixed(x, router, gate, up, down, k, largest)


def _attended(
    q,
    q_rot,
    c,
    k_rot,
    A,
    B,
    scale=lambda N, R: (N + R) ** -0.5,
    seen=lambda T, S: torch.arange(S) <= torch.arange(T)[:, None] + S - T,
    rotary=1.0,
):
    """The answer with one part replaced."""
    T, S = q.shape[1], len(c)
    scores = q @ A @ c.T + rotary * (q_rot @ k_rot.T)
    scores = scores * scale(q.shape[2], q_rot.shape[2])
    weights = scores.masked_fill(~seen(T, S), -torch.inf).softmax(-1)
    return weights @ c @ B.transpose(1, 2)


@mistake(
    LATENT,
    "root-of-n",
    caught_by="one query",
    loses=5,
    misconception="You divide by sqrt(N). Keys have N + R dimensions, the rotated ones too.",
)
def _(*parts):
    return _attended(*parts, scale=lambda N, R: N**-0.5)


@mistake(
    LATENT,
    "root-of-l",
    caught_by="one query",
    loses=5,
    misconception=(
        "You divide by sqrt(L + R). The scale is that of the expanded keys, sqrt(N + R)."
    ),
)
def _(q, q_rot, c, k_rot, A, B):
    size = c.shape[1]
    return _attended(q, q_rot, c, k_rot, A, B, scale=lambda N, R: (size + R) ** -0.5)


@mistake(
    LATENT,
    "no-scale",
    caught_by="one query",
    loses=5,
    misconception="You do not divide the scores by sqrt(N + R).",
)
def _(*parts):
    return _attended(*parts, scale=lambda N, R: 1.0)


@mistake(
    LATENT,
    "no-rotary-part",
    caught_by="one query",
    loses=5,
    misconception="You left the rotated part out of the scores: q_rot and k_rot.",
)
def _(*parts):
    return _attended(*parts, rotary=0.0)


@mistake(
    LATENT,
    "first-queries",
    caught_by="one query",
    loses=5,
    misconception=(
        "Your mask counts tokens as if the queries were the first ones. They are the last T of S."
    ),
)
def _(*parts):
    return _attended(*parts, seen=lambda T, S: torch.ones(T, S).tril().bool())


@mistake(
    LATENT,
    "no-mask",
    caught_by="causal",
    loses=2,
    misconception="Every query sees all tokens. A query sees itself and what came before.",
)
def _(*parts):
    return _attended(*parts, seen=lambda T, S: torch.ones(T, S).bool())


@mistake(
    LATENT,
    "one-too-few",
    caught_by="causal",
    loses=2,
    misconception="With several queries, a query does not see its own token. It sees itself too.",
)
def _(*parts):
    def seen(T, S):
        last = torch.arange(T)[:, None] + S - T - int(T > 1)
        return torch.arange(S) <= last.clamp(min=0)

    return _attended(*parts, seen=seen)


@mistake(
    LATENT,
    "hidden-by-zero",
    caught_by="causal",
    loses=2,
    misconception="You set the weights of later tokens to 0 after the softmax. Mask before it.",
)
def _(q, q_rot, c, k_rot, A, B):
    T, S = q.shape[1], len(c)
    scores = (q @ A @ c.T + q_rot @ k_rot.T) / (q.shape[2] + q_rot.shape[2]) ** 0.5
    seen = torch.arange(S) <= torch.arange(T)[:, None] + S - T
    return (scores.softmax(-1) * seen) @ c @ B.transpose(1, 2)


@mistake(
    LATENT,
    "expanded",
    caught_by="absorbed",
    loses=1,
    misconception=(
        "You expand keys or values of all heads. Multiply the query by A, and the average latent"
        " by B."
    ),
)
def _(q, q_rot, c, k_rot, A, B):
    T, S = q.shape[1], len(c)
    keys, values = c @ A.transpose(1, 2), c @ B.transpose(1, 2)
    scores = (q @ keys.transpose(1, 2) + q_rot @ k_rot.T) / (q.shape[2] + k_rot.shape[1]) ** 0.5
    seen = torch.arange(S) <= torch.arange(T)[:, None] + S - T
    return scores.masked_fill(~seen, -torch.inf).softmax(-1) @ values


@mistake(
    LATENT,
    "scaled-in-part",
    caught_by="one query",
    loses=5,
    misconception=(
        "You divide only the first part of the score by sqrt(N + R). Divide the sum of both parts."
    ),
)
def _(q, q_rot, c, k_rot, A, B):
    size = (q.shape[2] + q_rot.shape[2]) ** 0.5
    return _attended(q, size * q_rot, c, k_rot, A, B)


@mistake(
    LATENT,
    "scaled-apart",
    caught_by="one query",
    loses=5,
    misconception="You divide the parts by sqrt(N) and sqrt(R). Divide their sum by sqrt(N + R).",
)
def _(q, q_rot, c, k_rot, A, B):
    N, R = q.shape[2], q_rot.shape[2]
    return _attended(q / N**0.5, q_rot / R**0.5, c, k_rot, A, B, scale=lambda N, R: 1.0)


@mistake(
    LATENT,
    "softmax-overflows",
    caught_by="one query",
    loses=5,
    misconception=(
        "Your softmax takes exp of the scores themselves, which overflows. Subtract the largest"
        " first, or use `softmax`."
    ),
)
def _(q, q_rot, c, k_rot, A, B):
    T, S = q.shape[1], len(c)
    scores = (q @ A @ c.T + q_rot @ k_rot.T) / (q.shape[2] + q_rot.shape[2]) ** 0.5
    seen = torch.arange(S) <= torch.arange(T)[:, None] + S - T
    powers = scores.exp() * seen
    return powers / powers.sum(-1, keepdim=True) @ c @ B.transpose(1, 2)


@mistake(
    LATENT,
    "no-B",
    caught_by="one query",
    loses=5,
    misconception="You return the average latent. Multiply it by the transposed B.",
)
def _(q, q_rot, c, k_rot, A, B):
    T, S = q.shape[1], len(c)
    scores = (q @ A @ c.T + q_rot @ k_rot.T) / (q.shape[2] + q_rot.shape[2]) ** 0.5
    seen = torch.arange(S) <= torch.arange(T)[:, None] + S - T
    return scores.masked_fill(~seen, -torch.inf).softmax(-1) @ c


@mistake(
    LATENT,
    "strictly-before",
    caught_by="one query",
    loses=5,
    misconception=(
        "Your mask is one position too narrow: a query does not see its own token. Use s <= S - T +"
        " t."
    ),
)
def _(*parts):
    return _attended(*parts, seen=lambda T, S: torch.arange(S) < torch.arange(T)[:, None] + S - T)

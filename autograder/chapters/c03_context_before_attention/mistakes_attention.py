"""Plausible wrong solutions of chapter 3, part 5."""

import torch

from autograder.checks.mistakes.registry import mistake

ATTENTION = "03.additive_attention"


def _softmax(scores, mask):
    return scores.masked_fill(~mask, -torch.inf).softmax(1)


def _mean(weights, memory):
    return torch.einsum("bs,bsc->bc", weights, memory)


def _attended(
    query, memory, w_query, w_memory, v, mask, join=None, score=None, share=_softmax, mix=_mean
):
    """The answer with one part replaced.

    join: of W query (B, 1, A) and U memory (B, S, A); score: of what is joined, and v; share: from
    scores and mask to weights; mix: of weights and memory.
    """
    asked, keys = (query @ w_query.T)[:, None], memory @ w_memory.T
    hidden = torch.tanh(asked + keys) if join is None else join(asked, keys)
    weights = share(hidden @ v if score is None else score(hidden, v), mask)
    return mix(weights, memory), weights


@mistake(
    ATTENTION,
    "dot-product",
    caught_by="scores",
    loses=5,
    misconception=(
        "You score by the dot product of W query and U memory. Additive attention adds them,"
        " applies tanh, and multiplies by v."
    ),
)
def _(*parts):
    return _attended(*parts, join=lambda q, k: q * k, score=lambda hidden, v: hidden.sum(-1))


@mistake(
    ATTENTION,
    "no-tanh",
    caught_by="scores",
    loses=5,
    misconception=(
        "You leave out the tanh. Without it the query adds the same number to every score, and the"
        " softmax cancels it."
    ),
)
def _(*parts):
    return _attended(*parts, join=lambda q, k: q + k)


@mistake(
    ATTENTION,
    "query-times-keys",
    caught_by="scores",
    loses=5,
    misconception="You multiply W query and U memory before the tanh. Add them.",
)
def _(*parts):
    return _attended(*parts, join=lambda q, k: (q * k).tanh())


@mistake(
    ATTENTION,
    "query-not-used",
    caught_by="scores",
    loses=5,
    misconception=(
        "The query does not reach your weights: add W query before the tanh. Added after it, the"
        " softmax cancels it."
    ),
)
def _(*parts):
    return _attended(*parts, join=lambda q, k: k.tanh())


@mistake(
    ATTENTION,
    "no-v",
    caught_by="scores",
    loses=5,
    misconception="You sum the hidden units without v. The score is their dot product with v.",
)
def _(*parts):
    return _attended(*parts, score=lambda hidden, v: hidden.sum(-1))


@mistake(
    ATTENTION,
    "scaled",
    caught_by="scores",
    loses=5,
    misconception=(
        "You divide the scores by the square root of A. That belongs to scaled dot-product"
        " attention."
    ),
)
def _(*parts):
    return _attended(*parts, score=lambda hidden, v: hidden @ v / len(v) ** 0.5)


@mistake(
    ATTENTION,
    "no-softmax",
    caught_by="scores",
    loses=5,
    misconception=(
        "You return the scores as weights. A softmax over the positions turns them into weights."
    ),
)
def _(*parts):
    return _attended(*parts, share=lambda scores, mask: scores * mask)


@mistake(
    ATTENTION,
    "divided-by-the-sum",
    caught_by="scores",
    loses=5,
    misconception="You divide the scores by their sum. A softmax exponentiates them first.",
)
def _(*parts):
    return _attended(
        *parts, share=lambda scores, mask: scores * mask / (scores * mask).sum(1, keepdim=True)
    )


@mistake(
    ATTENTION,
    "sigmoid",
    caught_by="scores",
    loses=5,
    misconception=(
        "You apply a sigmoid to each score. The weights of a sequence add up to 1: use a softmax."
    ),
)
def _(*parts):
    return _attended(*parts, share=lambda scores, mask: scores.sigmoid() * mask)


@mistake(
    ATTENTION,
    "softmax-over-the-batch",
    caught_by="scores",
    loses=5,
    misconception=(
        "Your softmax runs over the batch. Each sequence has its own: run it over the source"
        " positions."
    ),
)
def _(*parts):
    return _attended(
        *parts, share=lambda scores, mask: scores.masked_fill(~mask, -torch.inf).softmax(0)
    )


@mistake(
    ATTENTION,
    "largest-score-only",
    caught_by="scores",
    loses=5,
    misconception=(
        "You attend only to the position with the largest score. Every position gets its"
        " softmax weight."
    ),
)
def _(*parts):
    return _attended(
        *parts,
        share=lambda scores, mask: torch.nn.functional.one_hot(
            scores.masked_fill(~mask, -torch.inf).argmax(1), scores.shape[1]
        ).float(),
    )


@mistake(
    ATTENTION,
    "mask-inverted",
    caught_by="scores",
    loses=5,
    misconception="You mask the tokens and keep the padding. The mask is True at tokens.",
)
def _(*parts):
    return _attended(*parts, share=lambda scores, mask: _softmax(scores, ~mask))


@mistake(
    ATTENTION,
    "mask-inverted-finite",
    caught_by="scores",
    loses=5,
    misconception="You mask the tokens and keep the padding. The mask is True at tokens.",
)
def _(*parts):
    return _attended(*parts, share=lambda scores, mask: scores.masked_fill(mask, -1e9).softmax(1))


@mistake(
    ATTENTION,
    "softmax-over-the-batch-finite",
    caught_by="scores",
    loses=5,
    misconception=(
        "Your softmax runs over the batch. Each sequence has its own: run it over the source"
        " positions."
    ),
)
def _(*parts):
    return _attended(*parts, share=lambda scores, mask: scores.masked_fill(~mask, -1e9).softmax(0))


@mistake(
    ATTENTION,
    "scores-for-weights",
    caught_by="scores",
    loses=3.5,
    misconception=(
        "You return the scores as weights. A softmax over the positions turns them into weights."
    ),
)
def _(query, memory, w_query, w_memory, v, mask):
    context, _ = _attended(query, memory, w_query, w_memory, v, mask)
    return context, torch.tanh((query @ w_query.T)[:, None] + memory @ w_memory.T) @ v


@mistake(
    ATTENTION,
    "query-without-its-axis",
    caught_by="scores",
    loses=5,
    misconception=(
        "You add W query along the positions. It needs an axis of length 1 for them: (B, 1, A)."
    ),
)
def _(*parts):
    return _attended(*parts, join=lambda q, k: (q[:, 0] + k).tanh())


@mistake(
    ATTENTION,
    "projected-memory",
    caught_by="scores",
    loses=5,
    misconception="Your context sums the projected memory U m. It is the weighted sum of `memory`.",
)
def _(query, memory, w_query, w_memory, v, mask):
    _, weights = _attended(query, memory, w_query, w_memory, v, mask)
    return _mean(weights, memory @ w_memory.T), weights


@mistake(
    ATTENTION,
    "weights-first",
    caught_by="scores",
    loses=5,
    misconception="You return the weights first. The context comes first, then the weights.",
)
def _(*parts):
    return _attended(*parts)[::-1]


@mistake(
    ATTENTION,
    "first-query-for-all",
    caught_by="scores",
    loses=5,
    misconception=(
        "You use the first sequence's query for the whole batch. Each sequence has its own query."
    ),
)
def _(*parts):
    return _attended(*parts, join=lambda q, k: (q[:1] + k).tanh())


@mistake(
    ATTENTION,
    "mask-ignored",
    caught_by="padding mask",
    loses=3,
    misconception="You ignore the mask, so padding gets weight.",
)
def _(*parts):
    return _attended(*parts, share=lambda scores, mask: scores.softmax(1))


@mistake(
    ATTENTION,
    "mask-after-softmax",
    caught_by="padding mask",
    loses=3,
    misconception=(
        "You mask after the softmax, so the weights of the tokens no longer add up to 1. Mask the"
        " scores before it."
    ),
)
def _(*parts):
    return _attended(*parts, share=lambda scores, mask: scores.softmax(1) * mask)


@mistake(
    ATTENTION,
    "score-of-zero",
    caught_by="padding mask",
    loses=3,
    misconception=(
        "You set the scores of padding to 0, and e to the 0 is 1. Set them to minus infinity."
    ),
)
def _(*parts):
    return _attended(*parts, share=lambda scores, mask: (scores * mask).softmax(1))


@mistake(
    ATTENTION,
    "mask-shared",
    caught_by="padding mask",
    loses=2.5,
    misconception=(
        "You use the first sequence's mask for the whole batch. Each sequence has its own padding."
    ),
)
def _(*parts):
    return _attended(*parts, share=lambda scores, mask: _softmax(scores, mask[:1]))


@mistake(
    ATTENTION,
    "lengths-from-the-mask",
    caught_by="padding mask",
    loses=2.5,
    misconception=(
        "You take the number of tokens as the end of the source. Padding may also come first or"
        " lie between tokens."
    ),
)
def _(*parts):
    def share(scores, mask):
        return _softmax(scores, torch.arange(mask.shape[1]) < mask.sum(1, keepdim=True))

    return _attended(*parts, share=share)


@mistake(
    ATTENTION,
    "plain-mean",
    caught_by="weighted sum",
    loses=1.5,
    misconception=(
        "Your context is the plain mean of the memory, padding included. Weight each position."
    ),
)
def _(*parts):
    return _attended(*parts, mix=lambda weights, memory: memory.mean(1))


@mistake(
    ATTENTION,
    "divided-by-the-positions",
    caught_by="weighted sum",
    loses=1.5,
    misconception="You average the weighted vectors. The weights already add up to 1: sum them.",
)
def _(*parts):
    return _attended(*parts, mix=lambda weights, memory: (weights[..., None] * memory).mean(1))


@mistake(
    ATTENTION,
    "heaviest-vector",
    caught_by="weighted sum",
    loses=1.5,
    misconception=(
        "Your context is the vector with the largest weight. It is the weighted sum of all."
    ),
)
def _(*parts):
    return _attended(
        *parts, mix=lambda weights, memory: memory[torch.arange(len(memory)), weights.argmax(1)]
    )


@mistake(
    ATTENTION,
    "batch-summed",
    caught_by="weighted sum",
    loses=1.5,
    misconception=(
        "Your context sums over the batch as well. Each sequence has a context of its own."
    ),
)
def _(*parts):
    return _attended(
        *parts,
        mix=lambda weights, memory: torch.einsum("bs,tsc->bc", weights, memory),
    )


@mistake(
    ATTENTION,
    "exp-over-sum",
    caught_by="large scores",
    loses=0.5,
    misconception=(
        "You divide exp(score) by the sum of exps, which overflows from 89 on. Subtract the largest"
        " score first, or use torch.softmax."
    ),
)
def _(*parts):
    def share(scores, mask):
        powers = scores.exp() * mask
        return powers / powers.sum(1, keepdim=True)

    return _attended(*parts, share=share)


@mistake(
    ATTENTION,
    "zeroed-and-divided-again",
    caught_by="large scores",
    loses=0.5,
    misconception=(
        "You zero the padding's weights after the softmax and normalize again. If padding scores"
        " highest, that is 0 / 0. Mask the scores."
    ),
)
def _(*parts):
    def share(scores, mask):
        weights = scores.softmax(1) * mask
        return weights / weights.sum(1, keepdim=True)

    return _attended(*parts, share=share)


@mistake(
    ATTENTION,
    "minus-a-hundred",
    caught_by="large scores",
    loses=0.5,
    misconception=(
        "You set the scores of padding to -100. Scores of tokens may be lower: use minus infinity."
    ),
)
def _(*parts):
    return _attended(
        *parts, share=lambda scores, mask: scores.masked_fill(~mask, -100.0).softmax(1)
    )

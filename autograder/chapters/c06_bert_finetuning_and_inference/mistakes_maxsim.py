"""Plausible wrong solutions of chapter 6, part 5: MaxSim."""

import torch
from torch.nn.functional import normalize

from autograder.checks.mistakes.registry import mistake

MAXSIM = "06.maxsim"


def _maxsim(
    queries,
    query_mask,
    texts,
    text_mask,
    lengths=(True, True),
    best=lambda cosines: cosines.amax(-1),
    hidden=-torch.inf,
    empty=0.0,
):
    """A right MaxSim, for mistakes to change."""
    queries = normalize(queries, dim=-1) if lengths[0] else queries
    texts = normalize(texts, dim=-1) if lengths[1] else texts
    cosines = torch.einsum("amc,btc->abmt", queries, texts)
    if hidden is not None:
        cosines = cosines.masked_fill(~text_mask[None, :, None], hidden)
    found = best(cosines)
    if empty is not None:
        found = found.masked_fill(~query_mask[:, None], empty)
    return found.sum(-1)


@mistake(
    MAXSIM,
    "dot-products",
    caught_by="cosines",
    loses=4,
    misconception="You add up dot products. Divide all vectors by their lengths first.",
)
def _(*arguments):
    return _maxsim(*arguments, lengths=(False, False))


@mistake(
    MAXSIM,
    "only-queries-normalized",
    caught_by="cosines",
    loses=4,
    misconception="You normalize the query vectors but not the text vectors.",
)
def _(*arguments):
    return _maxsim(*arguments, lengths=(True, False))


@mistake(
    MAXSIM,
    "only-texts-normalized",
    caught_by="cosines",
    loses=4,
    misconception="You normalize the text vectors but not the query vectors.",
)
def _(*arguments):
    return _maxsim(*arguments, lengths=(False, True))


@mistake(
    MAXSIM,
    "transposed",
    caught_by="cosines",
    loses=4,
    misconception="Your result has a row for each text. It needs a row for each query: (A, B).",
)
def _(*arguments):
    return _maxsim(*arguments).T


@mistake(
    MAXSIM,
    "mean-over-the-query",
    caught_by="best match",
    loses=3,
    misconception="You average the maxima over the query's tokens. MaxSim adds them up.",
)
def _(queries, query_mask, texts, text_mask):
    number = query_mask.sum(1, keepdim=True).clamp(min=1)
    return _maxsim(queries, query_mask, texts, text_mask) / number


@mistake(
    MAXSIM,
    "all-cosines-added",
    caught_by="best match",
    loses=3,
    misconception="You add up all cosines. Take only the largest one for each query token.",
)
def _(*arguments):
    return _maxsim(*arguments, best=lambda cosines: cosines.sum(-1), hidden=0.0)


@mistake(
    MAXSIM,
    "best-query-token",
    caught_by="best match",
    loses=3,
    misconception=(
        "You take the maximum over the query's tokens and add up over the text's. It is the other"
        " way round."
    ),
)
def _(queries, query_mask, texts, text_mask):
    return _maxsim(texts, text_mask, queries, query_mask).T.nan_to_num(neginf=0.0)


@mistake(
    MAXSIM,
    "cosine-of-the-means",
    caught_by="best match",
    loses=3,
    misconception="You compare mean vectors, as a bi-encoder does. MaxSim compares tokens.",
)
def _(queries, query_mask, texts, text_mask):
    def mean(x, mask):
        return (x * mask.unsqueeze(-1)).sum(1) / mask.sum(1, keepdim=True).clamp(min=1)

    return (
        normalize(mean(queries, query_mask), dim=-1) @ normalize(mean(texts, text_mask), dim=-1).T
    )


@mistake(
    MAXSIM,
    "largest-alone",
    caught_by="best match",
    loses=3,
    misconception="You keep one maximum for the whole query. Each query token adds its own.",
)
def _(*arguments):
    return _maxsim(*arguments, best=lambda cosines: cosines.amax(-1).amax(-1, keepdim=True))


@mistake(
    MAXSIM,
    "negative-cut-off",
    caught_by="cosines",
    loses=4,
    misconception="You replace negative cosines with 0. The largest cosine may be negative.",
)
def _(*arguments):
    return _maxsim(*arguments, best=lambda cosines: cosines.amax(-1).relu())


@mistake(
    MAXSIM,
    "text-mask-forgotten",
    caught_by="text padding",
    loses=1,
    misconception="You ignore `text_mask`, so padding of a text can be the best match.",
)
def _(*arguments):
    return _maxsim(*arguments, hidden=None)


@mistake(
    MAXSIM,
    "text-padding-scores-0",
    caught_by="text padding",
    loses=1,
    misconception=(
        "You give padding of a text a cosine of 0, which beats negative ones. Use minus infinity."
    ),
)
def _(*arguments):
    return _maxsim(*arguments, hidden=0.0)


@mistake(
    MAXSIM,
    "query-mask-forgotten",
    caught_by="query padding",
    loses=1,
    misconception="You ignore `query_mask`, so padding of a query adds a cosine to the sum.",
)
def _(*arguments):
    return _maxsim(*arguments, empty=None)


@mistake(
    MAXSIM,
    "query-padding-at-minus-infinity",
    caught_by="query padding",
    loses=1,
    misconception="You give padding of a query minus infinity, which spoils the sum. It adds 0.",
)
def _(*arguments):
    return _maxsim(*arguments, empty=-torch.inf)

"""Plausible wrong predictions of chapter 4, part 4: what a block costs."""

from autograder.checks.mistakes.registry import mistake

COST = "04.predict_block"


def _cost(
    tokens,
    hidden,
    heads,
    inner,
    matrices=None,
    biases=None,
    norms=None,
    each=2,
    means=2,
    scores=None,
):
    """The three numbers with one part replaced.

    each: operations of a multiplication and an addition; means: products of attention.
    """
    matrices = 4 * hidden * hidden + 2 * hidden * inner if matrices is None else matrices
    biases = 5 * hidden + inner if biases is None else biases
    norms = 4 * hidden if norms is None else norms
    return {
        "parameters": matrices + biases + norms,
        "operations": each * (tokens * matrices + means * tokens * tokens * hidden),
        "score_bytes": 4 * heads * tokens * tokens if scores is None else scores,
    }


@mistake(
    COST,
    "no-biases",
    caught_by="parameters",
    loses=2,
    misconception="You leave out the biases of the matrices.",
)
def _(tokens, hidden, heads, inner):
    return _cost(tokens, hidden, heads, inner, biases=0)


@mistake(
    COST,
    "no-norms",
    caught_by="parameters",
    loses=2,
    misconception=(
        "4 C parameters are missing: either the two norms, or the biases of attention's four"
        " matrices."
    ),
)
def _(tokens, hidden, heads, inner):
    return _cost(tokens, hidden, heads, inner, norms=0)


@mistake(
    COST,
    "one-norm",
    caught_by="parameters",
    loses=2,
    misconception="2 C parameters are missing: either one of the two norms, or the biases of both.",
)
def _(tokens, hidden, heads, inner):
    return _cost(tokens, hidden, heads, inner, norms=2 * hidden)


@mistake(
    COST,
    "norms-with-one-number",
    caught_by="parameters",
    loses=2,
    misconception=(
        "You count one weight and one bias for a norm. It has one of each for every column."
    ),
)
def _(tokens, hidden, heads, inner):
    return _cost(tokens, hidden, heads, inner, norms=4)


@mistake(
    COST,
    "output-left-out",
    caught_by="parameters",
    loses=4,
    misconception="You leave out the output matrix of attention, which mixes the heads.",
)
def _(tokens, hidden, heads, inner):
    return _cost(
        tokens,
        hidden,
        heads,
        inner,
        matrices=3 * hidden * hidden + 2 * hidden * inner,
        biases=4 * hidden + inner,
    )


@mistake(
    COST,
    "heads-times",
    caught_by="parameters",
    loses=4,
    misconception=(
        "You give each head matrices of the whole width. The heads share the C columns: together"
        " they have C by C."
    ),
)
def _(tokens, hidden, heads, inner):
    return _cost(
        tokens,
        hidden,
        heads,
        inner,
        matrices=3 * heads * hidden * hidden + hidden * hidden + 2 * hidden * inner,
        biases=3 * heads * hidden + 2 * hidden + inner,
    )


@mistake(
    COST,
    "inner-is-four-times",
    caught_by="parameters",
    loses=4,
    misconception="You take four times C for the inner width. It is given: `inner`.",
)
def _(tokens, hidden, heads, inner):
    return _cost(tokens, hidden, heads, 4 * hidden)


@mistake(
    COST,
    "one-matrix-in-the-feed-forward",
    caught_by="parameters",
    loses=4,
    misconception="You count one matrix for the feed-forward. It has two, up to F and down to C.",
)
def _(tokens, hidden, heads, inner):
    return _cost(tokens, hidden, heads, inner, matrices=4 * hidden * hidden + hidden * inner)


@mistake(
    COST,
    "times-the-tokens",
    caught_by="parameters",
    loses=2,
    misconception="You multiply the parameters by the number of tokens. All tokens share them.",
)
def _(tokens, hidden, heads, inner):
    found = _cost(tokens, hidden, heads, inner)
    return {**found, "parameters": tokens * found["parameters"]}


@mistake(
    COST,
    "one-operation-each",
    caught_by="operations",
    loses=2,
    misconception="You count a multiplication and its addition as one operation. They are two.",
)
def _(tokens, hidden, heads, inner):
    return _cost(tokens, hidden, heads, inner, each=1)


@mistake(
    COST,
    "attention-left-out",
    caught_by="operations",
    loses=2,
    misconception=(
        "You leave out the two products of attention itself, scores and means. They grow with the"
        " square of the tokens."
    ),
)
def _(tokens, hidden, heads, inner):
    return _cost(tokens, hidden, heads, inner, means=0)


@mistake(
    COST,
    "scores-only",
    caught_by="operations",
    loses=2,
    misconception=(
        "You count the scores and not the means of the values, which is a product of the same size."
    ),
)
def _(tokens, hidden, heads, inner):
    return _cost(tokens, hidden, heads, inner, means=1)


@mistake(
    COST,
    "attention-times-heads",
    caught_by="operations",
    loses=2,
    misconception=(
        "You count each head's products with the whole width. A head has D = C / H columns: all"
        " heads together cost as much as one of width C."
    ),
)
def _(tokens, hidden, heads, inner):
    return _cost(tokens, hidden, heads, inner, means=2 * heads)


@mistake(
    COST,
    "for-one-token",
    caught_by="operations",
    loses=2,
    misconception="You count the six matrices for one token. Every token goes through them.",
)
def _(tokens, hidden, heads, inner):
    found = _cost(tokens, hidden, heads, inner)
    return {
        **found,
        "operations": 2 * (4 * hidden * hidden + 2 * hidden * inner) + 4 * tokens * tokens * hidden,
    }


@mistake(
    COST,
    "causal-half",
    caught_by="operations",
    loses=2,
    misconception=(
        "You count the scores that a causal mask leaves. Nothing is hidden here, and a hidden score"
        " is computed too."
    ),
)
def _(tokens, hidden, heads, inner):
    found = _cost(tokens, hidden, heads, inner)
    return {
        **found,
        "operations": (
            2 * tokens * (4 * hidden * hidden + 2 * hidden * inner)
            + 2 * tokens * (tokens + 1) * hidden
        ),
    }


@mistake(
    COST,
    "biases-and-norms-as-operations",
    caught_by="operations",
    loses=2,
    misconception=(
        "You count the biases and norms as if they were matrices. Only products of matrices count."
    ),
)
def _(tokens, hidden, heads, inner):
    found = _cost(tokens, hidden, heads, inner)
    return {**found, "operations": 2 * tokens * found["parameters"] + 4 * tokens * tokens * hidden}


@mistake(
    COST,
    "width-by-a-slash",
    caught_by="operations",
    loses=2,
    misconception=(
        "`hidden / heads` is a float, and so is what is multiplied with it: 15 or 16 digits are"
        " left. `//` divides whole numbers."
    ),
)
def _(tokens, hidden, heads, inner):
    found = _cost(tokens, hidden, heads, inner, means=0)
    return {
        **found,
        "operations": int(found["operations"] + heads * 4 * tokens * tokens * (hidden / heads)),
    }


@mistake(
    COST,
    "one-table-of-scores",
    caught_by="bytes",
    loses=1,
    misconception="You count one table of scores. Each head has one.",
)
def _(tokens, hidden, heads, inner):
    return _cost(tokens, hidden, heads, inner, scores=4 * tokens * tokens)


@mistake(
    COST,
    "two-bytes",
    caught_by="bytes",
    loses=1,
    misconception="You count 2 bytes for a number. float32 has 4.",
)
def _(tokens, hidden, heads, inner):
    return _cost(tokens, hidden, heads, inner, scores=2 * heads * tokens * tokens)


@mistake(
    COST,
    "numbers-not-bytes",
    caught_by="bytes",
    loses=1,
    misconception="You give the number of scores. Each takes 4 bytes.",
)
def _(tokens, hidden, heads, inner):
    return _cost(tokens, hidden, heads, inner, scores=heads * tokens * tokens)


@mistake(
    COST,
    "bits",
    caught_by="bytes",
    loses=1,
    misconception="You count bits. A float32 has 32 bits, which is 4 bytes.",
)
def _(tokens, hidden, heads, inner):
    return _cost(tokens, hidden, heads, inner, scores=32 * heads * tokens * tokens)


@mistake(
    COST,
    "answers-for-scores",
    caught_by="bytes",
    loses=1,
    misconception="You count the answers, T by C. The scores are T by T in each head.",
)
def _(tokens, hidden, heads, inner):
    return _cost(tokens, hidden, heads, inner, scores=4 * tokens * hidden)

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
    caught_by="parameter count",
    loses=2,
    misconception="You leave out the biases of the six projections.",
)
def _(tokens, hidden, heads, inner):
    return _cost(tokens, hidden, heads, inner, biases=0)


@mistake(
    COST,
    "no-feed-forward-biases",
    caught_by="parameter count",
    loses=2,
    misconception="You leave out the biases of the feed-forward layer, F + C elements.",
)
def _(tokens, hidden, heads, inner):
    return _cost(tokens, hidden, heads, inner, biases=4 * hidden)


@mistake(
    COST,
    "all-biases-with-c-elements",
    caught_by="parameter count",
    loses=2,
    misconception="You give all six biases C elements. That of the projection to F has F.",
)
def _(tokens, hidden, heads, inner):
    return _cost(tokens, hidden, heads, inner, biases=6 * hidden)


@mistake(
    COST,
    "feed-forward-biases-with-f-elements",
    caught_by="parameter count",
    loses=2,
    misconception=(
        "You give both biases of the feed-forward F elements. That of the projection to C has C."
    ),
)
def _(tokens, hidden, heads, inner):
    return _cost(tokens, hidden, heads, inner, biases=4 * hidden + 2 * inner)


@mistake(
    COST,
    "matrices-only",
    caught_by="parameter count",
    loses=2,
    misconception=(
        "You count the matrices only, as Kaplan et al. do. Biases and norms are parameters here."
    ),
)
def _(tokens, hidden, heads, inner):
    return _cost(tokens, hidden, heads, inner, biases=0, norms=0)


@mistake(
    COST,
    "kaplans-count",
    caught_by="parameter count",
    loses=4,
    misconception=(
        "You use Kaplan et al.'s count: it omits biases, norms and attention's own products, which"
        " are asked for here."
    ),
)
def _(tokens, hidden, heads, inner):
    return _cost(tokens, hidden, heads, inner, biases=0, norms=0, means=0)


@mistake(
    COST,
    "no-norms",
    caught_by="parameter count",
    loses=2,
    misconception=(
        "You are missing 4C parameters: either the two norms, or the biases of attention's four"
        " projections."
    ),
)
def _(tokens, hidden, heads, inner):
    return _cost(tokens, hidden, heads, inner, norms=0)


@mistake(
    COST,
    "one-norm",
    caught_by="parameter count",
    loses=2,
    misconception=(
        "You are missing 2C parameters: either one of the two norms, or the biases of both."
    ),
)
def _(tokens, hidden, heads, inner):
    return _cost(tokens, hidden, heads, inner, norms=2 * hidden)


@mistake(
    COST,
    "norms-with-one-number",
    caught_by="parameter count",
    loses=2,
    misconception=(
        "You count a single weight and bias per norm. It has one of each per dimension, 2C in all."
    ),
)
def _(tokens, hidden, heads, inner):
    return _cost(tokens, hidden, heads, inner, norms=4)


@mistake(
    COST,
    "output-left-out",
    caught_by="parameter count",
    loses=4,
    misconception="You leave out attention's output projection, which mixes the heads.",
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
    caught_by="parameter count",
    loses=4,
    misconception=(
        "You give each head full C by C projections. The heads share the C columns: together they"
        " have C by C."
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
    "heads-times-the-parameters",
    caught_by="parameter count",
    loses=2,
    misconception=(
        "You give each head full C by C projections. The heads share the C columns: together they"
        " have C by C."
    ),
)
def _(tokens, hidden, heads, inner):
    found = _cost(tokens, hidden, heads, inner)
    more = 3 * (heads - 1) * (hidden * hidden + hidden)
    return {**found, "parameters": found["parameters"] + more}


@mistake(
    COST,
    "heads-times-the-matrices",
    caught_by="parameter count",
    loses=4,
    misconception=(
        "You give each head full C by C projections. The heads share the C columns: together they"
        " have C by C."
    ),
)
def _(tokens, hidden, heads, inner):
    matrices = (3 * heads + 1) * hidden * hidden + 2 * hidden * inner
    return _cost(tokens, hidden, heads, inner, matrices=matrices)


@mistake(
    COST,
    "inner-is-four-times",
    caught_by="parameter count",
    loses=4,
    misconception="You assume that the inner dimension is 4C. It is given: `inner`.",
)
def _(tokens, hidden, heads, inner):
    return _cost(tokens, hidden, heads, 4 * hidden)


@mistake(
    COST,
    "one-matrix-in-the-feed-forward",
    caught_by="parameter count",
    loses=4,
    misconception=(
        "You count one projection in the feed-forward. It has two, up to F and down to C."
    ),
)
def _(tokens, hidden, heads, inner):
    return _cost(tokens, hidden, heads, inner, matrices=4 * hidden * hidden + hidden * inner)


@mistake(
    COST,
    "three-matrices-in-the-feed-forward",
    caught_by="parameter count",
    loses=4,
    misconception=(
        "You count three matrices in the feed-forward, as in a gated one. Here there are two."
    ),
)
def _(tokens, hidden, heads, inner):
    return _cost(tokens, hidden, heads, inner, matrices=4 * hidden * hidden + 3 * hidden * inner)


@mistake(
    COST,
    "times-the-tokens",
    caught_by="parameter count",
    loses=2,
    misconception="You multiply the parameters by the number of tokens. All tokens share them.",
)
def _(tokens, hidden, heads, inner):
    found = _cost(tokens, hidden, heads, inner)
    return {**found, "parameters": tokens * found["parameters"]}


@mistake(
    COST,
    "one-operation-each",
    caught_by="FLOP count",
    loses=2,
    misconception="You count a multiply-add as one operation. It is two FLOPs.",
)
def _(tokens, hidden, heads, inner):
    return _cost(tokens, hidden, heads, inner, each=1)


@mistake(
    COST,
    "attention-left-out",
    caught_by="FLOP count",
    loses=2,
    misconception=(
        "You leave out attention's own products: queries with keys, and weights with values. They"
        " grow with the square of T."
    ),
)
def _(tokens, hidden, heads, inner):
    return _cost(tokens, hidden, heads, inner, means=0)


@mistake(
    COST,
    "scores-only",
    caught_by="FLOP count",
    loses=2,
    misconception=(
        "You count half of attention's own FLOPs: one of its two products, or the factor 2, is"
        " missing."
    ),
)
def _(tokens, hidden, heads, inner):
    return _cost(tokens, hidden, heads, inner, means=1)


@mistake(
    COST,
    "products-of-one-head",
    caught_by="FLOP count",
    loses=2,
    misconception="You count attention's two products for one head. There are H heads.",
)
def _(tokens, hidden, heads, inner):
    found = _cost(tokens, hidden, heads, inner, means=0)
    return {
        **found,
        "operations": found["operations"] + 4 * tokens * tokens * (hidden // heads),
    }


@mistake(
    COST,
    "attention-times-heads",
    caught_by="FLOP count",
    loses=2,
    misconception="You count each head's products with dimension C. A head has D = C / H.",
)
def _(tokens, hidden, heads, inner):
    return _cost(tokens, hidden, heads, inner, means=2 * heads)


@mistake(
    COST,
    "attention-squares-the-width",
    caught_by="FLOP count",
    loses=2,
    misconception=(
        "You count attention's two products with C · C. They multiply T by D by T in each head."
    ),
)
def _(tokens, hidden, heads, inner):
    found = _cost(tokens, hidden, heads, inner, means=0)
    return {**found, "operations": found["operations"] + 4 * tokens * hidden * hidden}


@mistake(
    COST,
    "for-one-token",
    caught_by="FLOP count",
    loses=2,
    misconception="You count the six projections for one token. Every token goes through them.",
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
    caught_by="FLOP count",
    loses=2,
    misconception=(
        "You count only the scores that a causal mask leaves. Nothing is masked here, and masked"
        " scores are computed too."
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
    "causal-half-of-both",
    caught_by="FLOP count",
    loses=3,
    misconception=(
        "You count only the scores that a causal mask leaves. Nothing is masked here, and masked"
        " scores are computed too."
    ),
)
def _(tokens, hidden, heads, inner):
    pairs = tokens * (tokens + 1) // 2
    found = _cost(tokens, hidden, heads, inner, means=0, scores=4 * heads * pairs)
    return {**found, "operations": found["operations"] + 4 * pairs * hidden}


@mistake(
    COST,
    "biases-and-norms-as-operations",
    caught_by="FLOP count",
    loses=2,
    misconception=(
        "You count biases and norms as if they were matrices. Only matrix products count."
    ),
)
def _(tokens, hidden, heads, inner):
    found = _cost(tokens, hidden, heads, inner)
    return {**found, "operations": 2 * tokens * found["parameters"] + 4 * tokens * tokens * hidden}


@mistake(
    COST,
    "width-by-a-slash",
    caught_by="FLOP count",
    loses=2,
    misconception=(
        "You divide with `/`: `hidden / heads` is a float, which keeps only 15 or 16 digits. `//`"
        " divides whole numbers."
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
    caught_by="score bytes",
    loses=1,
    misconception="You count one score matrix. Each head has one.",
)
def _(tokens, hidden, heads, inner):
    return _cost(tokens, hidden, heads, inner, scores=4 * tokens * tokens)


@mistake(
    COST,
    "two-bytes",
    caught_by="score bytes",
    loses=1,
    misconception="You count 2 bytes per score. A float32 takes 4.",
)
def _(tokens, hidden, heads, inner):
    return _cost(tokens, hidden, heads, inner, scores=2 * heads * tokens * tokens)


@mistake(
    COST,
    "numbers-not-bytes",
    caught_by="score bytes",
    loses=1,
    misconception="You return the number of scores. Each takes 4 bytes.",
)
def _(tokens, hidden, heads, inner):
    return _cost(tokens, hidden, heads, inner, scores=heads * tokens * tokens)


@mistake(
    COST,
    "bits",
    caught_by="score bytes",
    loses=1,
    misconception="You count bits. A float32 has 32 bits, which is 4 bytes.",
)
def _(tokens, hidden, heads, inner):
    return _cost(tokens, hidden, heads, inner, scores=32 * heads * tokens * tokens)


@mistake(
    COST,
    "answers-for-scores",
    caught_by="score bytes",
    loses=1,
    misconception="You count the outputs, T by C. The scores are T by T in each head.",
)
def _(tokens, hidden, heads, inner):
    return _cost(tokens, hidden, heads, inner, scores=4 * tokens * hidden)

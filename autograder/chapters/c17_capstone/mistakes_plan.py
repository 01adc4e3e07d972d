"""Plausible wrong solutions of chapter 17, part 1."""

from autograder.checks.mistakes.registry import mistake

PLAN = "17.plan"


def _plan(
    V,
    C,
    F,
    layers,
    H,
    K,
    batch,
    T,
    steps,
    embeddings=1,
    output=1,
    gates=3,
    norms=2,
    last=1,
    rows=lambda C, H, K: C // H * K,
    entries=None,
    passes=3,
    pairs=lambda T: T * T,
    heads=lambda H, K: H,
    per_pair=4,
    tokens=lambda batch, T, steps: batch * T * steps,
    attention_passes=None,
    whole=int,
):
    """The answer with one part replaced."""
    block = 2 * C * C + 2 * C * rows(C, H, K) + gates * F * C
    parameters = embeddings * V * C + layers * (block + norms * C) + last * C
    multiplied = layers * block + output * V * C if entries is None else entries(parameters, V, C)
    attention = per_pair * pairs(T) * (C // H) * heads(H, K) * layers * batch * steps
    return {
        "parameters": whole(parameters),
        "matrix_flops": whole(2 * passes * multiplied * tokens(batch, T, steps)),
        "attention_flops": whole(
            (passes if attention_passes is None else attention_passes) * attention
        ),
    }


@mistake(
    PLAN,
    "output-twice",
    caught_by="parameters",
    loses=3,
    misconception=(
        "You count the output layer in addition to the embedding. They are tied: one tensor, stored"
        " once."
    ),
)
def _(*sizes):
    return _plan(*sizes, embeddings=2)


@mistake(
    PLAN,
    "no-last-norm",
    caught_by="parameters",
    loses=3,
    misconception="You leave out the norm after the last block, C weights.",
)
def _(*sizes):
    return _plan(*sizes, last=0)


@mistake(
    PLAN,
    "one-norm-per-block",
    caught_by="parameters",
    loses=3,
    misconception=(
        "You count one norm per block. There are two, before attention and before SwiGLU."
    ),
)
def _(*sizes):
    return _plan(*sizes, norms=1)


@mistake(
    PLAN,
    "norms-with-bias",
    caught_by="parameters",
    loses=3,
    misconception="You give RMSNorm a bias. It has C weights and nothing else.",
)
def _(*sizes):
    return _plan(*sizes, norms=4, last=2)


@mistake(
    PLAN,
    "two-matrices-in-swiglu",
    caught_by="parameters",
    loses=4.5,
    misconception="You count two matrices in SwiGLU. It has three: gate, up and down.",
)
def _(*sizes):
    return _plan(*sizes, gates=2)


@mistake(
    PLAN,
    "all-heads-have-keys",
    caught_by="KV heads",
    loses=2.5,
    misconception=(
        "You give keys and values all H heads. There are only K of them, of dimension C / H."
    ),
)
def _(*sizes):
    return _plan(*sizes, rows=lambda C, H, K: C)


@mistake(
    PLAN,
    "keys-of-one-head",
    caught_by="parameters",
    loses=4.5,
    misconception=(
        "You give keys and values one head, C / H rows. There are K heads, so K · C / H rows."
    ),
)
def _(*sizes):
    return _plan(*sizes, rows=lambda C, H, K: C // H)


@mistake(
    PLAN,
    "keys-of-K-rows",
    caught_by="parameters",
    loses=4.5,
    misconception="You give keys and values K rows. They have K heads of dimension C / H.",
)
def _(*sizes):
    return _plan(*sizes, rows=lambda C, H, K: K)


@mistake(
    PLAN,
    "no-output-layer-in-flops",
    caught_by="matrix FLOPs",
    loses=1.5,
    misconception=(
        "You leave the output layer out of the FLOPs. It reuses the embedding's parameters, but the"
        " product with V · C entries is computed."
    ),
)
def _(*sizes):
    return _plan(*sizes, output=0)


@mistake(
    PLAN,
    "embedding-lookup-as-product",
    caught_by="matrix FLOPs",
    loses=1.5,
    misconception=(
        "You count the embedding twice in the FLOPs. Looking a token up multiplies nothing."
    ),
)
def _(*sizes):
    return _plan(*sizes, output=2)


@mistake(
    PLAN,
    "all-parameters-in-flops",
    caught_by="matrix FLOPs",
    loses=1.5,
    misconception="You multiply by all parameters. The norms' weights are in no matrix product.",
)
def _(*sizes):
    return _plan(*sizes, entries=lambda parameters, V, C: parameters)


@mistake(
    PLAN,
    "forward-only",
    caught_by="matrix FLOPs",
    loses=3,
    misconception="You count the forward pass only. The backward pass costs twice as much again.",
)
def _(*sizes):
    return _plan(*sizes, passes=1)


@mistake(
    PLAN,
    "backward-as-forward",
    caught_by="matrix FLOPs",
    loses=3,
    misconception=(
        "You count the backward pass like the forward pass. It has two products for each: one for"
        " the input's gradient, one for the weight's."
    ),
)
def _(*sizes):
    return _plan(*sizes, passes=2)


@mistake(
    PLAN,
    "multiply-adds",
    caught_by="matrix FLOPs",
    loses=3,
    misconception="You count multiply-adds. Each is two FLOPs, a multiplication and an addition.",
)
def _(*sizes):
    found = _plan(*sizes)
    return {key: one if key == "parameters" else one // 2 for key, one in found.items()}


@mistake(
    PLAN,
    "one-step",
    caught_by="matrix FLOPs",
    loses=3,
    misconception=(
        "You count a single step. The FLOPs are those of the whole run, all `steps` of it."
    ),
)
def _(*sizes):
    return _plan(*sizes[:8], 1)


@mistake(
    PLAN,
    "one-sequence",
    caught_by="matrix FLOPs",
    loses=3,
    misconception="You count one sequence per step. Each step has `batch` of them.",
)
def _(*sizes):
    return _plan(*sizes[:6], 1, *sizes[7:])


@mistake(
    PLAN,
    "causal-pairs",
    caught_by="attention FLOPs",
    loses=1.5,
    misconception="You count visible pairs only. Here masked pairs count as well: T · T of them.",
)
def _(*sizes):
    return _plan(*sizes, pairs=lambda T: T * (T + 1) // 2)


@mistake(
    PLAN,
    "scores-only",
    caught_by="attention FLOPs",
    loses=1.5,
    misconception="You count the scores only. The weighted sum of the values costs as much again.",
)
def _(*sizes):
    return _plan(*sizes, per_pair=2)


@mistake(
    PLAN,
    "KV-heads-attend",
    caught_by="attention FLOPs",
    loses=1.5,
    misconception=(
        "You count K heads in attention. Each of the H query heads computes its own scores."
    ),
)
def _(*sizes):
    return _plan(*sizes, heads=lambda H, K: K)


@mistake(
    PLAN,
    "attention-forward-only",
    caught_by="attention FLOPs",
    loses=1.5,
    misconception="You count attention's forward pass only. Training costs three times as much.",
)
def _(*sizes):
    return _plan(*sizes, attention_passes=1)


@mistake(
    PLAN,
    "pairs-of-the-batch",
    caught_by="attention FLOPs",
    loses=1.5,
    misconception="You let tokens attend across sequences. Pairs are counted within each sequence.",
)
def _(*sizes):
    batch = sizes[6]
    return _plan(*sizes, pairs=lambda T: batch * T * T)


@mistake(
    PLAN,
    "one-layer-attends",
    caught_by="attention FLOPs",
    loses=1.5,
    misconception=(
        "You count attention in one layer. Each layer computes scores and sums of its own."
    ),
)
def _(*sizes):
    found = _plan(*sizes)
    return found | {"attention_flops": found["attention_flops"] // sizes[3]}


@mistake(
    PLAN,
    "floats",
    caught_by="parameters",
    loses=2,
    misconception="You count in floats, which round numbers beyond sixteen digits.",
)
def _(*sizes):
    return _plan(*map(float, sizes), whole=lambda one: int(float(one)))

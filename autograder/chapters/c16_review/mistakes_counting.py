"""Plausible wrong solutions of chapter 16, part 1."""

from autograder.checks.mistakes.registry import mistake

WEIGH, STEP = "16.weigh_models", "16.step_bytes"


def _weigh(
    kind,
    V,
    P,
    C,
    layers,
    F,
    H,
    K,
    bert=("bert",),
    segments=2,
    embedding_norm=("bert", "modernbert"),
    tied=("gpt",),
    biased=("bert", "gpt"),
    gates=3,
    pooler=True,
    last=("gpt", "llama", "modernbert"),
    missing=1,
    narrow=lambda C, H, K: C // H * K,
    norm_bias=None,
    places=("bert", "gpt"),
    whole=int,
):
    """The answer with one part replaced."""
    norm = C * (2 if kind in (biased if norm_bias is None else norm_bias) else 1)
    keys = narrow(C, H, K) if kind == "llama" else C
    block = 2 * C * C + 2 * C * keys + 2 * norm
    block += (2 if kind in ("bert", "gpt") else gates) * F * C + (
        2 * C + 2 * keys + F + C if kind in biased else 0
    )
    embeddings = (
        V * C
        + (P * C if kind in places else 0)
        + (segments * C if kind == "bert" else 0)
        + (norm if kind in embedding_norm else 0)
    )
    rest = (
        (norm if kind in last else 0)
        + (V * C if kind in ("gpt", "llama") and kind not in tied else 0)
        + (C * C + C if kind == "bert" and pooler else 0)
    )
    blocks = layers * block - (missing * norm if kind == "modernbert" else 0)
    return {
        "embeddings": whole(embeddings),
        "blocks": whole(blocks),
        "rest": whole(rest),
        "total": whole(embeddings + blocks + rest),
    }


@mistake(
    WEIGH,
    "output-twice",
    caught_by="gpt",
    loses=1.5,
    misconception=(
        "You count GPT-2's output layer in addition to the embedding. They are the same"
        " parameters, stored once."
    ),
)
def _(*sizes):
    return _weigh(*sizes, tied=())


@mistake(
    WEIGH,
    "llama-tied",
    caught_by="llama",
    loses=1.5,
    misconception="You tie LLaMA's output layer to its embedding. It has one of its own.",
)
def _(*sizes):
    return _weigh(*sizes, tied=("gpt", "llama"))


@mistake(
    WEIGH,
    "biases-everywhere",
    caught_by="llama",
    loses=3,
    misconception=(
        "You give all four kinds biases. LLaMA and ModernBERT have none, in their norms either."
    ),
)
def _(*sizes):
    return _weigh(*sizes, biased=("bert", "gpt", "llama", "modernbert"))


@mistake(
    WEIGH,
    "norms-with-bias",
    caught_by="llama",
    loses=3,
    misconception="You give all norms a bias. Those of LLaMA and ModernBERT have a weight alone.",
)
def _(*sizes):
    return _weigh(*sizes, norm_bias=("bert", "gpt", "llama", "modernbert"))


@mistake(
    WEIGH,
    "no-biases",
    caught_by="gpt",
    loses=3,
    misconception=(
        "You leave the biases of the matrices away in all four kinds. GPT-2's and BERT's have one"
        " each."
    ),
)
def _(*sizes):
    return _weigh(*sizes, biased=(), norm_bias=("bert", "gpt"))


@mistake(
    WEIGH,
    "two-matrices-in-a-gate",
    caught_by="llama",
    loses=3,
    misconception=(
        "You count two matrices in a feed-forward layer with a gate. It has three: gate, up and"
        " down."
    ),
)
def _(*sizes):
    return _weigh(*sizes, gates=2)


@mistake(
    WEIGH,
    "all-heads-have-keys",
    caught_by="llama",
    loses=1.5,
    misconception=(
        "You give LLaMA keys and values for all H heads. There are K of them, of C / H numbers."
    ),
)
def _(*sizes):
    return _weigh(*sizes, narrow=lambda C, H, K: C)


@mistake(
    WEIGH,
    "keys-of-K-numbers",
    caught_by="llama",
    loses=1.5,
    misconception="Your keys have K dimensions per token. They have K heads of dimension C / H.",
)
def _(*sizes):
    return _weigh(*sizes, narrow=lambda C, H, K: K)


@mistake(
    WEIGH,
    "no-pooler",
    caught_by="bert",
    loses=1.5,
    misconception="You leave BERT's pooler away, a matrix C by C with a bias behind the blocks.",
)
def _(*sizes):
    return _weigh(*sizes, pooler=False)


@mistake(
    WEIGH,
    "no-segments",
    caught_by="bert",
    loses=1.5,
    misconception="You leave BERT's two segments away.",
)
def _(*sizes):
    return _weigh(*sizes, segments=0)


@mistake(
    WEIGH,
    "no-norm-behind-embeddings",
    caught_by="bert",
    loses=3,
    misconception="You leave away the norm behind the embeddings of BERT and ModernBERT.",
)
def _(*sizes):
    return _weigh(*sizes, embedding_norm=())


@mistake(
    WEIGH,
    "first-block-has-both-norms",
    caught_by="modernbert",
    loses=1.5,
    misconception="You give ModernBERT's first block two norms. It has one.",
)
def _(*sizes):
    return _weigh(*sizes, missing=0)


@mistake(
    WEIGH,
    "no-last-norm",
    caught_by="gpt",
    loses=4.5,
    misconception="You leave away the norm behind the last block of GPT-2, LLaMA and ModernBERT.",
)
def _(*sizes):
    return _weigh(*sizes, last=())


@mistake(
    WEIGH,
    "places-everywhere",
    caught_by="llama",
    loses=3,
    misconception=(
        "You give all four learned positions. LLaMA and ModernBERT rotate their queries and keys,"
        " which takes no parameters."
    ),
)
def _(*sizes):
    return _weigh(*sizes, places=("bert", "gpt", "llama", "modernbert"))


@mistake(
    WEIGH,
    "floats",
    caught_by="gpt",
    loses=6,
    misconception="You count in floats, which round numbers beyond sixteen digits.",
)
def _(*sizes):
    return _weigh(*sizes, whole=lambda number: int(float(number)))


def _step(
    N,
    V,
    C,
    layers,
    H,
    K,
    D,
    bits,
    B,
    S,
    T,
    flops=2,
    pairs=lambda S, T: T * S + T * (T + 1) // 2,
    heads=None,
    readings=1,
    rows=None,
    cache=lambda S, T: S + T,
    kinds=2,
    halves=4,
    kept=None,
    bytes_of=None,
    texts=None,
):
    """The answer with one part replaced."""
    size = bytes_of or (lambda numbers: numbers * bits // 8)
    return {
        "matrix_flops": flops * N * B * T,
        "attention_flops": (
            halves
            * D
            * (H if heads is None else heads)
            * layers
            * (B if texts is None else texts)
            * pairs(S, T)
        ),
        "weight_bytes": size(N * readings),
        "embedding_bytes": size(C * (B * T if rows is None else rows)),
        "cache_bytes": size(kinds * layers * (K if kept is None else kept) * D * B * cache(S, T)),
    }


@mistake(
    STEP,
    "six-n",
    caught_by="matrices",
    loses=1,
    misconception=(
        "You count 6 operations for each number and token: that is a step of training, with its"
        " backward pass."
    ),
)
def _(*sizes):
    return _step(*sizes, flops=6)


@mistake(
    STEP,
    "one-operation",
    caught_by="matrices",
    loses=1,
    misconception="You count one operation for each number and token. A product and a sum are two.",
)
def _(*sizes):
    return _step(*sizes, flops=1)


@mistake(
    STEP,
    "old-tokens-again",
    caught_by="matrices",
    loses=1,
    misconception=(
        "You multiply the tokens before with the matrices once more. Their keys and values are"
        " kept: only new tokens go through."
    ),
)
def _(N, V, C, layers, H, K, D, bits, B, S, T):
    return _step(N, V, C, layers, H, K, D, bits, B, S, T) | {"matrix_flops": 2 * N * B * (S + T)}


@mistake(
    STEP,
    "whole-square",
    caught_by="attention",
    loses=1,
    misconception=(
        "You let each new token see all new tokens. It sees itself and the new ones before it."
    ),
)
def _(*sizes):
    return _step(*sizes, pairs=lambda S, T: T * (S + T))


@mistake(
    STEP,
    "not-itself",
    caught_by="attention",
    loses=1,
    misconception="You leave out that a new token sees itself.",
)
def _(*sizes):
    return _step(*sizes, pairs=lambda S, T: T * S + T * (T - 1) // 2)


@mistake(
    STEP,
    "new-alone",
    caught_by="attention",
    loses=1,
    misconception="You leave out the tokens before: each new one sees all of them.",
)
def _(*sizes):
    return _step(*sizes, pairs=lambda S, T: T * (T + 1) // 2)


@mistake(
    STEP,
    "old-tokens-attend-again",
    caught_by="attention",
    loses=1,
    misconception="You let the tokens before attend once more. Only the new ones ask.",
)
def _(*sizes):
    return _step(*sizes, pairs=lambda S, T: (S + T) * (S + T + 1) // 2)


@mistake(
    STEP,
    "scores-alone",
    caught_by="attention",
    loses=1,
    misconception="You count the scores and not the mean of the values, which costs as much.",
)
def _(*sizes):
    return _step(*sizes, halves=2)


@mistake(
    STEP,
    "key-heads-ask",
    caught_by="attention",
    loses=1,
    misconception=(
        "You count K heads in attention. Each of the H query heads has scores of its own."
    ),
)
def _(N, V, C, layers, H, K, D, bits, B, S, T):
    return _step(N, V, C, layers, H, K, D, bits, B, S, T, heads=K)


@mistake(
    STEP,
    "one-text-attends",
    caught_by="attention",
    loses=1,
    misconception="You count the attention of one text. There are B of them.",
)
def _(*sizes):
    return _step(*sizes, texts=1)


@mistake(
    STEP,
    "weights-for-each-text",
    caught_by="weights",
    loses=1,
    misconception=(
        "You read the weights once for each text. They are read once for the whole pass: that is"
        " why a batch pays."
    ),
)
def _(N, V, C, layers, H, K, D, bits, B, S, T):
    return _step(N, V, C, layers, H, K, D, bits, B, S, T, readings=B)


@mistake(
    STEP,
    "weights-for-each-token",
    caught_by="weights",
    loses=1,
    misconception=(
        "You read the weights once for each new token. They are read once for the whole pass."
    ),
)
def _(N, V, C, layers, H, K, D, bits, B, S, T):
    return _step(N, V, C, layers, H, K, D, bits, B, S, T, readings=B * T)


@mistake(
    STEP,
    "whole-table",
    caught_by="embedding",
    loses=1,
    misconception="You read the whole embedding. One row is read for each new token.",
)
def _(N, V, C, layers, H, K, D, bits, B, S, T):
    return _step(N, V, C, layers, H, K, D, bits, B, S, T, rows=V)


@mistake(
    STEP,
    "rows-of-old-tokens",
    caught_by="embedding",
    loses=1,
    misconception=(
        "You read rows of the embedding for the tokens before, too. They were read already."
    ),
)
def _(N, V, C, layers, H, K, D, bits, B, S, T):
    return _step(N, V, C, layers, H, K, D, bits, B, S, T, rows=B * (S + T))


@mistake(
    STEP,
    "cache-written-only",
    caught_by="cache",
    loses=1,
    misconception="You forget that the cache of the tokens before is read.",
)
def _(*sizes):
    return _step(*sizes, cache=lambda S, T: T)


@mistake(
    STEP,
    "cache-read-only",
    caught_by="cache",
    loses=1,
    misconception="You forget that keys and values of the new tokens are written.",
)
def _(*sizes):
    return _step(*sizes, cache=lambda S, T: S)


@mistake(
    STEP,
    "new-read-back",
    caught_by="cache",
    loses=1,
    misconception="You read back what was just written. It is written and no more.",
)
def _(*sizes):
    return _step(*sizes, cache=lambda S, T: S + 2 * T)


@mistake(
    STEP, "keys-alone", caught_by="cache", loses=1, misconception="You count keys and no values."
)
def _(*sizes):
    return _step(*sizes, kinds=1)


@mistake(
    STEP,
    "queries-kept",
    caught_by="cache",
    loses=1,
    misconception="You keep all H heads. Keys and values have K of them.",
)
def _(N, V, C, layers, H, K, D, bits, B, S, T):
    return _step(N, V, C, layers, H, K, D, bits, B, S, T, kept=H)


@mistake(
    STEP,
    "bits-for-bytes",
    caught_by="weights",
    loses=3,
    misconception="You give bits where bytes are asked: a byte has eight.",
)
def _(N, V, C, layers, H, K, D, bits, B, S, T):
    return _step(N, V, C, layers, H, K, D, bits, B, S, T, bytes_of=lambda numbers: numbers * bits)


@mistake(
    STEP,
    "always-two-bytes",
    caught_by="weights",
    loses=3,
    misconception="You take two bytes a number, whatever `bits` says.",
)
def _(*sizes):
    return _step(*sizes, bytes_of=lambda numbers: 2 * numbers)


@mistake(
    STEP,
    "at-least-a-byte",
    caught_by="weights",
    loses=3,
    misconception=(
        "You divide the bits by 8 first: of four bits nothing is left then. Divide at the very end."
    ),
)
def _(N, V, C, layers, H, K, D, bits, B, S, T):
    return _step(
        N, V, C, layers, H, K, D, bits, B, S, T, bytes_of=lambda numbers: numbers * (bits // 8)
    )


@mistake(
    STEP,
    "floats",
    caught_by="matrices",
    loses=5,
    misconception="You count in floats, which round numbers beyond sixteen digits.",
)
def _(*sizes):
    return {key: int(float(number)) for key, number in _step(*sizes).items()}


@mistake(
    STEP,
    "a-million-before",
    caught_by="attention",
    loses=2,
    misconception="You cap what was read before at a million tokens.",
)
def _(N, V, C, layers, H, K, D, bits, B, S, T):
    return _step(N, V, C, layers, H, K, D, bits, B, min(S, 1_000_000), T)

"""Plausible wrong solutions of chapter 13, part 3: kernels that forget, stray, chain or do not
compile.
"""

from autograder.checks.mistakes.registry import mistake
from reference_impl.kernels.backend import tl, triton

ADD, SOFTMAX, FLASH = "13.add", "13.softmax", "13.flash"
NOT_IEEE = 'Your products round to TF32 on a GPU: pass `input_precision="ieee"` to every `tl.dot`.'


@triton.jit
def _add(
    x,
    y,
    out,
    length,
    BLOCK: tl.constexpr,
    LOAD: tl.constexpr,
    STORE: tl.constexpr,
    NUMBER: tl.constexpr,
    STOP: tl.constexpr,
    ONCE: tl.constexpr,
):
    """x + y; LOAD, STORE: whether they are masked; NUMBER: whether the program asks for its own;
    STOP: added to the length.
    """
    places = tl.arange(0, BLOCK)
    if NUMBER:
        places += tl.program_id(0) * BLOCK
    inside = places < length + STOP
    if LOAD:
        total = tl.load(x + places, mask=inside, other=0.0) + tl.load(
            y + places, mask=inside, other=0.0
        )
    else:
        total = tl.load(x + places) + tl.load(y + places)
    if not ONCE:
        total += tl.load(x + places, mask=inside, other=0.0) * 0.0
    if STORE:
        tl.store(out + places, total, mask=inside)
    else:
        tl.store(out + places, total)


def _start(x, y, out, block, programs=None, load=True, store=True, number=True, stop=0, once=True):
    """Start the kernel above."""
    programs = triton.cdiv(len(x), block) if programs is None else programs
    _add[(programs,)](
        x, y, out, len(x), BLOCK=block, LOAD=load, STORE=store, NUMBER=number, STOP=stop, ONCE=once
    )


@mistake(
    ADD,
    "no-mask",
    caught_by="ragged tiles",
    loses=2.5,
    misconception=(
        "Your kernel accesses memory past the end: mask load and store with `<` the "
        "length, not `<=`."
    ),
)
def _(x, y, out, block):
    _start(x, y, out, block, load=False, store=False)


@mistake(
    ADD,
    "load-masked-only",
    caught_by="ragged tiles",
    loses=2.5,
    misconception=(
        "Your kernel accesses memory past the end: mask load and store with `<` the "
        "length, not `<=`."
    ),
)
def _(x, y, out, block):
    _start(x, y, out, block, store=False)


@mistake(
    ADD,
    "one-too-many",
    caught_by="ragged tiles",
    loses=2.5,
    misconception=(
        "Your kernel accesses memory past the end: mask load and store with `<` the "
        "length, not `<=`."
    ),
)
def _(x, y, out, block):
    _start(x, y, out, block, stop=1)


@mistake(
    ADD,
    "last-number-lost",
    caught_by="one block",
    loses=4,
    misconception="Your mask leaves out the last number.",
)
def _(x, y, out, block):
    _start(x, y, out, block, stop=-1)


@mistake(
    ADD,
    "all-the-first-block",
    caught_by="several blocks",
    loses=3.5,
    misconception=(
        "All of your instances handle the first block: `tl.program_id` is missing from the offsets."
    ),
)
def _(x, y, out, block):
    _start(x, y, out, block, number=False)


@mistake(
    ADD,
    "grid-rounded-down",
    caught_by="ragged tiles",
    loses=2.5,
    misconception="You round the number of instances down: nothing handles the ragged last block.",
)
def _(x, y, out, block):
    _start(x, y, out, block, programs=max(len(x) // block, 1))


@mistake(
    ADD,
    "a-program-too-many",
    caught_by="one launch",
    loses=0.5,
    misconception="You launch one instance more than there are blocks.",
)
def _(x, y, out, block):
    _start(x, y, out, block, programs=len(x) // block + 1)


@mistake(ADD, "read-again", caught_by="one launch", loses=0.5, misconception="You read x twice.")
def _(x, y, out, block):
    _start(x, y, out, block, once=False)


@triton.jit
def _first_adds_all(x, y, out, length, BLOCK: tl.constexpr):
    """The first program adds all blocks."""
    if tl.program_id(0) == 0:
        for first in range(0, length, BLOCK):
            places = first + tl.arange(0, BLOCK)
            tl.store(
                out + places,
                tl.load(x + places, mask=places < length)
                + tl.load(y + places, mask=places < length),
                mask=places < length,
            )


@mistake(
    ADD,
    "first-adds-all",
    caught_by="one launch",
    loses=0.5,
    misconception="Your first instance adds all blocks; the others do nothing.",
)
def _(x, y, out, block):
    _first_adds_all[(triton.cdiv(len(x), block),)](x, y, out, len(x), BLOCK=block)


@triton.jit
def _breaks(x, y, out, length, BLOCK: tl.constexpr):
    """Right in the interpreter. The branch that no compiler takes is one of large blocks alone."""
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = places < length
    for _ in range(0, 1):
        if BLOCK > 256:
            break
    tl.store(
        out + places,
        tl.load(x + places, mask=inside) + tl.load(y + places, mask=inside),
        mask=inside,
    )


@mistake(
    ADD,
    "break",
    caught_by="compiles for GPU",
    loses=0.5,
    misconception=(
        "Your kernel does not compile. Avoid Python features such as `break`, and names "
        "from outside the kernel."
    ),
)
def _(x, y, out, block):
    _breaks[(triton.cdiv(len(x), block),)](x, y, out, len(x), BLOCK=block)


@mistake(
    ADD,
    "out-is-new",
    caught_by="one block",
    loses=4,
    misconception="You write into a tensor of your own. Write the result into `out`.",
)
def _(x, y, out, block):
    _start(x, y, out.clone(), block)


@triton.jit
def _softmax(
    x,
    out,
    C,
    x_row,
    out_row,
    BLOCK: tl.constexpr,
    LOW: tl.constexpr,
    SHRINK: tl.constexpr,
    PEAK: tl.constexpr,
    START: tl.constexpr,
    MASKED: tl.constexpr,
    AGAIN: tl.constexpr,
):
    """A row's softmax, with one thing or another wrong."""
    row = tl.program_id(0)
    x += row * x_row
    out += row * out_row
    peak = tl.full([], START, tl.float32)
    total = tl.full([], 0.0, tl.float32)
    if AGAIN:
        for first in range(0, C, BLOCK):
            places = first + tl.arange(0, BLOCK)
            peak = tl.maximum(
                peak, tl.max(tl.load(x + places, mask=places < C, other=float("-inf")), 0)
            )
    for first in range(0, C, BLOCK):
        places = first + tl.arange(0, BLOCK)
        values = tl.load(x + places, mask=places < C, other=LOW)
        new = peak
        if PEAK:
            new = tl.maximum(peak, tl.max(values, 0))
        if SHRINK:
            total *= tl.exp(peak - new)
        total += tl.sum(tl.exp(values - new), 0)
        peak = new
    for first in range(0, C, BLOCK):
        places = first + tl.arange(0, BLOCK)
        values = tl.load(x + places, mask=places < C, other=0.0)
        if MASKED:
            tl.store(out + places, tl.exp(values - peak) / total, mask=places < C)
        else:
            tl.store(out + places, tl.exp(values - peak) / total)


def _shares(
    x,
    out,
    block,
    low=float("-inf"),
    shrink=True,
    peak=True,
    start=-1e30,
    masked=True,
    again=False,
    x_row=None,
    out_row=None,
):
    """Start the kernel above."""
    x_row, out_row = (
        x.stride(0) if x_row is None else x_row,
        out.stride(0) if out_row is None else out_row,
    )
    _softmax[(len(x),)](
        x,
        out,
        x.shape[1],
        x_row,
        out_row,
        BLOCK=block,
        LOW=low,
        SHRINK=shrink,
        PEAK=peak,
        START=start,
        MASKED=masked,
        AGAIN=again,
    )


@mistake(
    SOFTMAX,
    "tail-of-zeros",
    caught_by="masked tail",
    loses=3,
    misconception=(
        "You load zeros past the end of a row: they count in the sum and may win the maximum."
    ),
)
def _(x, out, block):
    _shares(x, out, block, low=0.0)


@mistake(
    SOFTMAX,
    "no-shrinking",
    caught_by="rescaled sums",
    loses=4.5,
    misconception="You do not rescale the sum when the maximum increases.",
)
def _(x, out, block):
    _shares(x, out, block, shrink=False)


@mistake(
    SOFTMAX,
    "no-peak",
    caught_by="large numbers",
    loses=0.5,
    misconception="You take `exp` without subtracting the maximum.",
)
def _(x, out, block):
    _shares(x, out, block, peak=False, start=0.0)


@mistake(
    SOFTMAX,
    "peak-of-zero",
    caught_by="large numbers",
    loses=0.5,
    misconception=(
        "Your maximum starts at 0: if all numbers of a row are far below, the sum underflows to 0."
    ),
)
def _(x, out, block):
    _shares(x, out, block, start=0.0)


@mistake(
    SOFTMAX,
    "tail-stored",
    caught_by="masked tail",
    loses=3,
    misconception="You store the last block without a mask.",
)
def _(x, out, block):
    _shares(x, out, block, masked=False)


@mistake(
    SOFTMAX,
    "three-walks",
    caught_by="bytes read",
    loses=1,
    misconception=("You make three passes over the row. Compute maximum and sum in the same pass."),
)
def _(x, out, block):
    _shares(x, out, block, again=True)


@triton.jit
def _log_sum_exp(x, out, C, x_row, out_row, BLOCK: tl.constexpr):
    """A row's softmax, by a log-sum-exp in place of peak and sum."""
    x += tl.program_id(0) * x_row
    out += tl.program_id(0) * out_row
    lane = tl.arange(0, BLOCK)
    ends = tl.full([], -1e30, tl.float32)
    for first in range(0, C, BLOCK):
        values = tl.load(x + first + lane, mask=first + lane < C, other=float("-inf"))
        new = tl.maximum(ends, tl.max(values, 0))
        ends = new + tl.log(tl.exp(ends - new) + tl.sum(tl.exp(values - new), 0))
    for first in range(0, C, BLOCK):
        values = tl.load(x + first + lane, mask=first + lane < C, other=0.0)
        tl.store(out + first + lane, tl.exp(values - ends), mask=first + lane < C)


@mistake(
    SOFTMAX,
    "log-sum-exp-only",
    caught_by="large numbers",
    loses=0.5,
    misconception=(
        "You keep only the log-sum-exp, which near 10,000 has three decimals left: keep "
        "maximum and sum."
    ),
)
def _(x, out, block):
    _log_sum_exp[(len(x),)](x, out, x.shape[1], x.stride(0), out.stride(0), BLOCK=block)


@mistake(
    SOFTMAX,
    "rows-side-by-side",
    caught_by="rows apart",
    loses=2,
    misconception=(
        "You use the wrong row stride: x and `out` each have their own, `x.stride(0)` and"
        " `out.stride(0)`."
    ),
)
def _(x, out, block):
    _shares(x, out, block, x_row=x.shape[1], out_row=x.shape[1])


@mistake(
    SOFTMAX,
    "one-stride-for-both",
    caught_by="rows apart",
    loses=2,
    misconception=(
        "You use the wrong row stride: x and `out` each have their own, `x.stride(0)` and"
        " `out.stride(0)`."
    ),
)
def _(x, out, block):
    _shares(x, out, block, out_row=x.stride(0))


@mistake(
    SOFTMAX,
    "whole-row-at-once",
    caught_by="bytes read",
    loses=1,
    misconception="You hold a whole row at a time. An instance holds `block` numbers.",
)
def _(x, out, block):
    _shares(x, out, max(block, triton.next_power_of_2(x.shape[1])))


@triton.jit
def _flash(
    q,
    k,
    v,
    out,
    lse,
    T,
    S,
    group,
    scale,
    q_head,
    q_row,
    k_head,
    k_row,
    v_head,
    v_row,
    out_head,
    out_row,
    lse_head,
    D: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    CAUSAL: tl.constexpr,
    SHRINK_SUM: tl.constexpr,
    SHRINK_MIX: tl.constexpr,
    START: tl.constexpr,
    PEAK: tl.constexpr,
    LOW: tl.constexpr,
    TAIL: tl.constexpr,
    SHIFT: tl.constexpr,
    STRICT: tl.constexpr,
    MODULO: tl.constexpr,
    STORED: tl.constexpr,
    ALL: tl.constexpr,
    BASE: tl.constexpr,
    HALF: tl.constexpr,
    EARLY: tl.constexpr,
    FIRST: tl.constexpr,
    SECOND: tl.constexpr,
):
    """A tile of attention, with one thing or another wrong."""
    number, head = tl.program_id(0), tl.program_id(1)
    kv = head % group if MODULO else head // group
    rows, width = number * ROWS + tl.arange(0, ROWS), tl.arange(0, D)
    q_tile = tl.load(
        q + head * q_head + rows[:, None] * q_row + width[None, :],
        mask=rows[:, None] < T,
        other=0.0,
    )
    peak = tl.full([ROWS], START, tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    mixed = tl.zeros([ROWS, D], tl.float32)
    stop = S
    shift = S - T if SHIFT else 0
    if CAUSAL:
        if not ALL:
            stop = tl.minimum(S, (number + 1) * ROWS + shift - EARLY)
    if TAIL == 2:
        stop = S // COLUMNS * COLUMNS
    for first in range(0, stop, COLUMNS):
        key = first + tl.arange(0, COLUMNS)
        k_tile = tl.load(
            k + kv * k_head + width[:, None] + key[None, :] * k_row,
            mask=key[None, :] < S,
            other=0.0,
        )
        v_tile = tl.load(
            v + kv * v_head + key[:, None] * v_row + width[None, :],
            mask=key[:, None] < S,
            other=0.0,
        )
        scores = tl.dot(q_tile, k_tile, input_precision=FIRST) * scale
        seen = (key[None, :] < S) & (rows[:, None] == rows[:, None])
        if TAIL == 1:
            seen = (key[None, :] < S + COLUMNS) & (rows[:, None] == rows[:, None])
        if CAUSAL:
            if STRICT:
                seen = seen & (key[None, :] < rows[:, None] + shift)
            else:
                seen = seen & (key[None, :] <= rows[:, None] + shift)
        scores = tl.where(seen, scores, LOW)
        new = peak
        if PEAK:
            new = tl.maximum(peak, tl.max(scores, 1))
        weights, shrink = tl.exp(scores - new[:, None]), tl.exp(peak - new)
        if SHRINK_SUM:
            total *= shrink
        if SHRINK_MIX:
            mixed *= shrink[:, None]
        total += tl.sum(weights, 1)
        if HALF:
            weights = weights.to(tl.float16).to(tl.float32)
        mixed += tl.dot(weights, v_tile, input_precision=SECOND)
        peak = new
    safe = tl.where(total == 0, 1.0, total)
    if STORED:
        tl.store(
            out + head * out_head + rows[:, None] * out_row + width[None, :],
            mixed / safe[:, None],
            mask=rows[:, None] < T,
        )
    else:
        tl.store(
            out + head * out_head + rows[:, None] * out_row + width[None, :], mixed / safe[:, None]
        )
    ends = peak + tl.log(safe)
    if BASE == 2:
        ends = ends * 1.4426950408889634
    if BASE == 0:
        ends = tl.log(safe)
    tl.store(lse + head * lse_head + rows, tl.where(total == 0, float("-inf"), ends), mask=rows < T)


def _attend(
    q,
    k,
    v,
    out,
    lse,
    rows,
    columns,
    causal,
    strides=None,
    group=None,
    scale=None,
    start=-1e30,
    low=float("-inf"),
    shrink=(True, True),
    peak=True,
    tail=0,
    shift=True,
    strict=False,
    modulo=False,
    stored=True,
    walk_all=False,
    base=1,
    half=False,
    early=0,
    precision=("ieee", "ieee"),
):
    """Start the kernel above."""
    (H, T, D), (K, S, _) = q.shape, k.shape
    right = {
        f"{name}_{axis}": one.stride(place)
        for name, one in (("q", q), ("k", k), ("v", v), ("out", out))
        for place, axis in enumerate(("head", "row"))
    } | {"lse_head": lse.stride(0)}
    group = (K if modulo else H // K) if group is None else group
    _flash[(triton.cdiv(T, rows), H)](
        q,
        k,
        v,
        out,
        lse,
        T,
        S,
        group,
        D**-0.5 if scale is None else scale,
        **right | (strides or {}),
        D=D,
        ROWS=rows,
        COLUMNS=columns,
        CAUSAL=causal,
        SHRINK_SUM=shrink[0],
        SHRINK_MIX=shrink[1],
        START=start,
        PEAK=peak,
        LOW=low,
        TAIL=tail,
        SHIFT=shift,
        STRICT=strict,
        MODULO=modulo,
        STORED=stored,
        ALL=walk_all,
        BASE=base,
        HALF=half,
        EARLY=early,
        FIRST=precision[0],
        SECOND=precision[1],
    )


def attends(name, caught_by, loses, misconception, **wrong):
    """Register a kernel with one thing wrong; what is callable is asked for its value with the
    tensors.
    """

    def wrongly(q, k, v, out, lse, rows, columns, causal):
        _attend(
            q,
            k,
            v,
            out,
            lse,
            rows,
            columns,
            causal,
            **{key: one(q, k, v, out, lse) if callable(one) else one for key, one in wrong.items()},
        )

    mistake(FLASH, name, caught_by=caught_by, loses=loses, misconception=misconception)(wrongly)


attends(
    "no-scale", "one tile", 9, "You do not divide the scores by the square root of D.", scale=1.0
)
attends(
    "sum-not-shrunk",
    "several tiles",
    6,
    "You rescale the accumulator and not the sum when the maximum increases.",
    shrink=(False, True),
)
attends(
    "mixture-not-shrunk",
    "several tiles",
    5.5,
    "You rescale the sum and not the accumulator when the maximum increases.",
    shrink=(True, False),
)
attends(
    "half-weights",
    "one tile",
    8,
    "You round the weights to half precision before the second product.",
    half=True,
)
attends(
    "padding-counts",
    "ragged tiles",
    3.5,
    "You count keys past the end: their scores must be -inf, not 0.",
    tail=1,
)
attends(
    "last-tile-lost",
    "ragged tiles",
    6,
    "You leave out an incomplete last tile of keys.",
    tail=2,
)
attends(
    "no-mask-in-store",
    "ragged tiles",
    6,
    "You store the last tile of queries without a mask.",
    stored=False,
)
attends(
    "heads-ignored",
    "heads and strides",
    4,
    "You read the first head's queries in all heads: the head stride is missing.",
    strides={"q_head": 0},
)
attends(
    "contiguous-heads",
    "heads and strides",
    1.5,
    "You assume a head stride of T * D. Use the tensor's `stride(0)`.",
    strides=lambda q, k, v, out, lse: {
        "q_head": q.shape[1] * q.shape[2],
        "out_head": q.shape[1] * q.shape[2],
    },
)
attends(
    "one-stride-for-both",
    "heads and strides",
    1.5,
    "You use the strides of k for v.",
    strides=lambda q, k, v, out, lse: {"v_head": k.stride(0), "v_row": k.stride(1)},
)
attends(
    "other-groups",
    "heads and strides",
    1.5,
    "You give query head h the KV head h mod K. It is h // (H / K): neighbours share.",
    modulo=True,
)
attends(
    "counted-from-the-first",
    "causal mask",
    3,
    "You give query t the position t. It is t + S - T.",
    shift=False,
)
attends(
    "strict-diagonal",
    "causal mask",
    3,
    "Your queries do not attend to the key at their own position.",
    strict=True,
)
attends(
    "minus-a-million",
    "causal mask",
    2.5,
    (
        "You mask with a large negative number: a query without keys then attends to all "
        "of them equally."
    ),
    low=-1e6,
)
attends(
    "no-peak",
    "large scores",
    0.5,
    "You take `exp` of the scores without subtracting the maximum.",
    peak=False,
    start=0.0,
)
attends(
    "peak-of-zero",
    "large scores",
    0.5,
    "Your maximum starts at 0: if all scores are far below, the sum underflows to 0.",
    start=0.0,
)
attends(
    "lse-in-base-2",
    "log-sum-exp per query",
    0.5,
    "Your log-sum-exp is a logarithm to base 2, not a natural one.",
    base=2,
)
attends(
    "lse-without-the-peak",
    "log-sum-exp per query",
    0.5,
    "Your log-sum-exp is the logarithm of the sum alone. Add the maximum.",
    base=0,
)
attends(
    "lse-side-by-side",
    "heads and strides",
    2,
    "You assume that a row of `lse` has the stride T. Use `lse.stride(0)`.",
    strides=lambda q, k, v, out, lse: {"lse_head": q.shape[1]},
)
attends(
    "all-tiles-walked",
    "visited tiles",
    1,
    (
        "You visit all tiles and mask the invisible ones. Under a causal mask, about half"
        " must not be visited."
    ),
    walk_all=True,
)
attends(
    "one-key-early",
    "causal mask",
    1,
    (
        "Your loop ends one key early: the last query of a tile attends to the key at its"
        " own position, t + S - T."
    ),
    early=1,
)
attends("tf32", "compiles for GPU", 0.5, NOT_IEEE, precision=(None, None))
attends("tf32-in-the-first-product", "compiles for GPU", 0.5, NOT_IEEE, precision=(None, "ieee"))
attends("tf32-in-the-second-product", "compiles for GPU", 0.5, NOT_IEEE, precision=("ieee", "tf32"))

# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown] nbgrader={"grade": false, "grade_id": "intro", "locked": true, "schema_version": 3, "solution": false, "task": false}
# # Chapter 13. FlashAttention: the exercises
#
# In this notebook you count memory traffic, write attention and its gradient tile by tile in torch, then three Triton kernels, up to FlashAttention, and a test for them.
# At the end your kernel runs inside MiniLM and your tiled attention inside SmolLM2.
#
# There are 9 exercises and 55 points. Plan about 180 minutes, in as many sittings as you like.
#
# | Part | Exercises | Minutes | Points |
# | --- | --- | --- | --- |
# | Memory traffic and online softmax | 1 to 2 | 25 | 10 |
# | Tiled attention | 3 to 4 | 60 | 17 |
# | Triton kernels | 5 to 7 | 68 | 19 |
# | Testing and code review | 8 to 9 | 27 | 9 |
# | Your code runs the real thing | nothing to write | 2 | 0 |
#
# **How it works.**
# 1. Read the statement, write the function in the cell below it, and run the check under that cell as often as you like.
# 2. A check's first line names the likely cause, its second a small input that fails. Stuck? Open the three hints in order; the third solves a similar problem.
# 3. Grading runs the same checks with other sizes and values. The smallest sizes are always among them. Exercises 5 to 7 need Triton on Linux.
#
# **Symbols.** $H$ heads, $T$ queries and $S$ keys in a sequence, $D$ head dimension, $K$ KV heads. A tile has `rows` queries and `columns` keys.
#
# <details><summary>Fine print</summary>
#
# - *Arguments.* Leave them unchanged, except those that a kernel writes into. Return something new: neither an argument or a part of one nor a result of an earlier call. A tensor may be a view of a larger one, such as a transpose; `reshape` works there, `view` may not. The statements of exercises 5 to 7 say how their tensors are laid out in memory.
# - *Types.* Return the type, dtype and shape that the statement names; a dictionary has the named keys and no others, in any order. An `int` may be given for a `float`, but a bool does not count as a number. Correct values in another type or dtype, with an axis of length 1 too many or too few, or with an extra key, lose a fifth of the exercise's points, once. So does an answer that breaks *Arguments*.
# - *Precision.* All tensors are float32. They are compared to four digits of each value, and to 0.00001 near 0, unless a statement says otherwise; float32 has seven digits, so the order of your operations does not matter. Half precision, rounding, or a small constant "for safety" is wrong where it shows in these digits, and only there. Integers are compared exactly.
# - *Logarithms* are natural.
# - *Scores* are divided by $\sqrt D$ everywhere. *Causal* means that the queries are the last $T$ of the $S$ positions: query $t$ is at position $t + S - T$ and attends to no key after it. A query that attends to no key at all returns zeros.
# - *Calls.* A result depends only on the arguments: not on earlier calls, and not on chance. Calls may come in any order.
# - *Tools.* You may use anything in torch, numpy and the standard library, unless a statement says otherwise. Not allowed are the course's own kernels, layers and models, and torch's fused attention.
# - *Kernels.* In this notebook they run in Triton's interpreter, on any CPU. The checks also compile a kernel for a GPU, which needs no GPU and takes some seconds. The interpreter accepts some things that a compiler does not: the rules of the kernels and the statements say which.
# - *On macOS or Windows.* Triton has wheels for Linux only. Exercises 1 to 4, 8 and 9 do not need it. For 5 to 7 use Linux: a server, WSL, a container, or a free notebook on the web; in any case, submissions are graded on Linux. The setup cell reports whether Triton is installed.
# - *Sizes and time.* Every axis has length 1 to 300, unless a statement says otherwise. A call may take five seconds: loops over tiles in plain Python are fast enough.
# - *Smallest sizes.* Grading always includes one query, one key and one dimension.
# - *Arguments are as promised.* Your function need not check what a statement promises after **In**. You may add cells anywhere: helpers, prints, plots.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
import os
import sys

if "ipykernel" in sys.modules and "get_ipython" in globals():                    # in a notebook kernels are interpreted, on the CPU; Triton looks for this when it is imported
    os.environ["TRITON_INTERPRET"] = "1"

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

try:
    import triton
    import triton.language as tl
except ModuleNotFoundError:                       # then a kernel is a function that nothing calls
    from types import SimpleNamespace
    triton, tl = SimpleNamespace(jit=lambda kernel: kernel), SimpleNamespace(constexpr=object)
    print("Triton is not here: it has wheels for Linux only. Exercises 1 to 4, 8 and 9 work; for 5 to 7 take this notebook to Linux.")

from autograder.check import check


def attempt(function, *arguments):
    """The result of your function; None, and a friendly line, while it is not written yet."""
    try:
        return function(*arguments)
    except NotImplementedError:
        print(f"{function.__name__} is not written yet. Come back to this cell when it is.")
        return None

# %% nbgrader={"grade": false, "grade_id": "progress", "locked": true, "schema_version": 3, "solution": false, "task": false}
from autograder.notebook_progress import progress

progress("13")                                 # follows your checks

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-moved", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 1. Memory traffic and online softmax

# %% [markdown] nbgrader={"grade": false, "grade_id": "predict_traffic-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 1. Memory traffic and FLOPs
#
# **Why.** A GPU multiplies much faster than it reads. This count tells, before anybody writes a kernel, whether a change can make attention faster.
#
# **Difficulty** 2 of 5 · **Time** 12 minutes · **Points** 5 · **Paper** Dao et al. (2022), section 3.2 and algorithm 0; Dao (2023), section 3.1
#
# One head has $N$ queries, keys and values of dimension $D$, stored in `size` bytes per number. There is no mask. Plain attention runs three kernels, each of which reads its inputs from HBM and writes its result back. FlashAttention reads a tile of `rows` queries once, streams all keys and values past it, and writes its rows of the output:
#
# $$\text{plain} = \text{size} \cdot (4ND + 4N^2) \qquad \text{flash} = \text{size} \cdot \big(2ND + \text{tiles} \cdot 2ND\big) + 4N$$
#
# Write `predict_traffic(N, D, rows, size)` for four ints. It returns a dictionary of three ints:
#
# - `"plain"`: bytes read and written by the kernels *scores* (from $Q$ and $K$), *softmax* (scores to attention weights, both $N \times N$) and *output* (from attention weights and $V$);
# - `"flash"`: bytes read and written by FlashAttention, including one log-sum-exp of **4 bytes** per query, whatever `size` is;
# - `"operations"`: the FLOPs of the two matrix products in FlashAttention, $QK^\top$ and attention weights times $V$. A product that sums over $m$ numbers counts $2m$ for each number of its result.
#
# **By hand.** $N = 8$, $D = 4$, `rows` = 4, `size` = 2. *Plain*: scores 32 + 32 + 64, softmax 64 + 64, output 64 + 32 + 32, which are 384 numbers or **768** bytes. *Flash*: two tiles, each with 16 + 64 + 16 numbers, and 8 times 4 bytes: **416**. *Operations*: 64 scores of 8 FLOPs and 32 outputs of 16: **1024**.
#
# **Rules**
# 1. The last tile may be smaller; it reads all keys and values like the others.
# 2. `rows` may exceed $N$. Then there is one tile, with $N$ queries.
# 3. Count in ints; floats lose digits of large numbers.
#
# <details><summary>Hint 1: a nudge</summary>
#
# How many tiles of queries are there, and what does each of them read that the others read as well?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Count numbers first. Plain: $ND$ four times, $N^2$ four times. Flash: $ND$ twice, and $2ND$ for each tile. Multiply by `size`, then add what has 4 bytes. The FLOPs are those of plain attention.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# A library compares its books, each with each. A reader carries `armful` books to a desk and has all books brought past, one by one.
#
# ```python
# def carried(books, armful):
#     armfuls = -(-books // armful)          # rounded up
#     return {"to the desk": books, "past it": armfuls * books}
# ```
#
# `carried(10, 4)` carries 10 to the desk and 30 past it.
#
# </details>
# <details><summary>Fine print</summary>
#
# `N` and `rows` are from 1 to a million, `D` from 1 to 1024, `size` from 1 to 8. Each matrix is read as a whole. Scaling, exponentials and the running sums are not counted.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "predict_traffic", "locked": false, "schema_version": 3, "solution": true, "task": false}
def predict_traffic(N: int, D: int, rows: int, size: int) -> dict[str, int]:
    """Bytes of plain and of flash attention, and the operations of flash attention's two products."""
    ### BEGIN SOLUTION
    walks = -(-N // rows)
    numbers = 2 * N * D + walks * 2 * N * D
    return {"plain": size * (4 * N * D + 4 * N * N), "flash": size * numbers + 4 * N, "operations": 4 * N * N * D}
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "predict_traffic-check", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check(predict_traffic)

# %% [markdown] nbgrader={"grade": false, "grade_id": "predict_traffic-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The head of the chapter's pages, and one of 8,192 tokens. An H100's ridge point is 295 FLOPs per byte in 16 bits: below that, it waits for HBM.

# %% nbgrader={"grade": false, "grade_id": "look-predict_traffic", "locked": true, "schema_version": 3, "solution": false, "task": false}
for length, width, rows, size in ((1024, 64, 128, 2), (8192, 64, 128, 2), (8192, 128, 128, 2), (8192, 128, 1, 2)):
    found = attempt(predict_traffic, length, width, rows, size)
    if found is not None:
        print(f"N = {length:>5}, D = {width:>3}, {rows:>3} rows: {found['plain'] / 2**20:>6.1f} MiB or {found['flash'] / 2**20:>7.1f} MiB; "
              f"{found['operations'] / found['plain']:>4.0f} or {found['operations'] / found['flash']:>4.0f} operations a byte")

# %% [markdown] nbgrader={"grade": false, "grade_id": "merge-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 2. Merge two parts of a softmax
#
# **Why.** A softmax can be computed in parts, in any order, by any number of processors. FlashAttention relies on it tile after tile, ring attention GPU after GPU, and decoding kernels split long caches by it.
#
# **Difficulty** 2 of 5 · **Time** 13 minutes · **Points** 5 · **Paper** Milakov and Gimelshein (2018), section 3.1; Dao et al. (2022), section 3.1
#
# A part has seen some scores $s_j$ of a row, each with a value $v_j \in \mathbb{R}^D$. It keeps a **maximum**, a **sum** and an **accumulator**:
#
# $$m = \max_j s_j \qquad \ell = \sum_j e^{s_j - m} \qquad a = \sum_j e^{s_j - m}\, v_j$$
#
# The softmax average of the part is $a / \ell$. Two parts merge into one that has seen the scores of both: rescale each to the larger maximum, then add.
#
# Write `merge(one, other)`. Each part is a tuple of float32 tensors: maximum `(R)`, sum `(R)`, accumulator `(R, D)`, for $R$ rows at once. The result is such a tuple.
#
# **By hand.** In powers of 2, to keep the numbers clean. One part saw the scores 1 and 3 with values 15 and 0: maximum 3, sum ¼ + 1 = 1.25, accumulator 3.75. The other saw 4 and 2 with values 0 and 15: maximum 4, sum 1.25, accumulator 3.75. Merged, the maximum is **4**; the first part is multiplied by ½; the sum is 0.625 + 1.25 = **1.875**, the accumulator 1.875 + 3.75 = **5.625**. The average is 5.625 / 1.875 = 3, as from the whole row. Your function uses powers of $e$: there the maxima are $3 \ln 2$ and $4 \ln 2$, and the rest is the same.
#
# **Rules**
# 1. Return the sum and the accumulator, not their quotient.
# 2. A part that has seen no score has the maximum $-\infty$ and zeros in sum and accumulator. Two such parts merge into another. Nothing is ever NaN.
# 3. In one call, some rows may be empty and others not.
#
# <details><summary>Hint 1: a nudge</summary>
#
# The merged maximum is that of one of the two parts. What happens to the other's sum when its maximum is replaced by a larger one?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# `torch.maximum` gives the merged maximum. One factor for each side: exp(its maximum − the merged one). Where the merged one is $-\infty$, both are $-\infty - (-\infty)$: put 0 there before you subtract. Then add both sums and both accumulators, each times its factor; the accumulator needs one more axis.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# Two prices in different currencies, each with the currency's value in dollars; their sum in the more valuable currency.
#
# ```python
# def total(one, other):
#     (worth, price), (worth_2, price_2) = one, other
#     larger = max(worth, worth_2)
#     return larger, price * worth / larger + price_2 * worth_2 / larger
# ```
#
# `total((2.0, 10.0), (4.0, 1.0))` is `(4.0, 6.0)`.
#
# </details>
# <details><summary>Fine print</summary>
#
# A maximum is from -10,000 to 10,000 or $-\infty$; a sum is from 1 to 1000, or 0 where the maximum is $-\infty$.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "merge", "locked": false, "schema_version": 3, "solution": true, "task": false}
Piece = tuple[Float[Tensor, " R"], Float[Tensor, " R"], Float[Tensor, "R D"]]


def merge(one: Piece, other: Piece) -> Piece:
    """The part that has seen the scores of both: its maximum, sum and accumulator."""
    ### BEGIN SOLUTION
    top = torch.maximum(one[0], other[0])
    ground = torch.where(top == -torch.inf, 0.0, top)
    left, right = (piece[0].sub(ground).exp() for piece in (one, other))
    return top, left * one[1] + right * other[1], left[:, None] * one[2] + right[:, None] * other[2]
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "merge-check", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check(merge)

# %% [markdown] nbgrader={"grade": false, "grade_id": "merge-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# A row of a thousand scores, cut into parts in three ways and merged from the left and from the right: the averages agree up to rounding.

# %% nbgrader={"grade": false, "grade_id": "look-merge", "locked": true, "schema_version": 3, "solution": false, "task": false}
from functools import reduce

torch.manual_seed(1)
scores, values = 4 * torch.randn(1000), torch.randn(1000, 2)
whole = scores.double().softmax(0) @ values.double()
cuts = {cut: [(part.amax()[None], (part - part.amax()).exp().sum()[None], ((part - part.amax()).exp() @ their)[None])
              for part, their in zip(scores.split(cut), values.split(cut))] for cut in (1, 10, 300)}
if attempt(merge, *cuts[300][:2]) is not None:
    for pieces in cuts.values():
        for name, order in (("from the left", pieces), ("from the right", pieces[::-1])):
            found = reduce(merge, order)
            print(f"{len(pieces):>4} pieces, {name:<14}: {found[2][0] / found[1][0]}, apart by {(found[2][0] / found[1][0] - whole).abs().max().item():.0e}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-tiles", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 2. Tiled attention

# %% [markdown] nbgrader={"grade": false, "grade_id": "flash_forward-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 3. FlashAttention in torch
#
# **Why.** This is the algorithm itself. A kernel does the same steps in the same order, and is tested against a function like this one.
#
# **Difficulty** 4 of 5 · **Time** 30 minutes · **Points** 9 · **Paper** Dao (2023), algorithm 1
#
# In each head, cut the queries into tiles of `rows` and the keys into tiles of `columns`. For each tile of queries keep a running maximum $m$, sum $\ell$ and accumulator $A$ per query. For each tile of keys compute the scores $S$ of this pair of tiles, and update as in exercise 2:
#
# $$m' = \max(m, \operatorname{rowmax} S) \qquad \ell \leftarrow e^{m - m'} \ell + \operatorname{rowsum} e^{S - m'} \qquad A \leftarrow e^{m - m'} A + e^{S - m'} V$$
#
# At the end divide once: $O = A / \ell$. The **log-sum-exp** $L = m + \ln \ell$ is all that the backward pass needs of the softmax.
#
# Write `flash_forward(q, k, v, rows, columns, causal)`. `q` is `(H, T, D)`, `k` and `v` are `(H, S, D)`, all float32; `rows` and `columns` are ints. It returns `out` `(H, T, D)` and `lse` `(H, T)`.
#
# **By hand.** One head, one query, $D = 1$: $q$ = 1, keys $\ln 2$ · (1, 3, 4, 2), values 15, 0, 0, 15, `columns` = 2. The tiles are the two parts of exercise 2. `out` is **3**, and `lse` is $4 \ln 2 + \ln 1.875 = \ln 30$ = **3.401**, since 2 + 8 + 16 + 4 = 30.
#
# **Rules**
# 1. Tiles at the end may be smaller; `rows` and `columns` may exceed the lengths.
# 2. A query that attends to no key has zeros in `out` and $-\infty$ in `lse`.
# 3. Scores may all be near 300, or all near -300.
# 4. **Memory.** Of scores and masks, never hold more than one tile of every head, `rows` by `columns`. The memory test gives the call 6 MiB, where all scores or a full mask do not fit.
#
# <details><summary>Hint 1: a nudge</summary>
#
# All heads do the same at the same time, so the head can stay the first axis of everything. What are the shapes of maximum, sum and accumulator for one tile of queries?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Two loops over `range(0, T, rows)` and `range(0, S, columns)`; slices end where the tensor ends. Scores by `@`; where a query may not attend to a key, `masked_fill` with $-\infty$. Start the maximum at a finite number below every score, such as -1e30, so that $-\infty$ is never subtracted from $-\infty$. At the end, a sum of 0 marks a query without a key.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# The mean and the largest number of each row of a matrix, read in tiles, with two numbers kept per row.
#
# ```python
# def mean_and_largest(x, columns):
#     kept, largest = torch.zeros(len(x)), torch.full((len(x),), -1e30)
#     for first in range(0, x.shape[1], columns):
#         tile = x[:, first:first + columns]
#         kept, largest = kept + tile.sum(1), torch.maximum(largest, tile.amax(1))
#     return kept / x.shape[1], largest
# ```
#
# </details>
# <details><summary>Fine print</summary>
#
# `rows` and `columns` are from 1 to 512. Where scores reach hundreds, `out` and `lse` are compared to three digits, and to 0.001 near 0. The memory test runs three times, with one head, $D$ of 1 or 2 and tiles of 384 by 384: with 13,824 queries and 384 keys, with 384 queries and 13,824 keys, and causal with 4,608 of both. It counts all torch tensors that your function holds at once.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "flash_forward", "locked": false, "schema_version": 3, "solution": true, "task": false}
def flash_forward(q: Float[Tensor, "H T D"], k: Float[Tensor, "H S D"], v: Float[Tensor, "H S D"], rows: int, columns: int,
                  causal: bool) -> tuple[Float[Tensor, "H T D"], Float[Tensor, "H T"]]:
    """Attention and its log-sum-exp, with one tile of scores at a time."""
    ### BEGIN SOLUTION
    (H, T, D), S = q.shape, k.shape[1]
    result, ends = q.new_empty(H, T, D), q.new_empty(H, T)
    for above in range(0, T, rows):
        mine = q[:, above:above + rows] / D ** 0.5
        top, summed, mixture = mine.new_full(mine.shape[:2], -1e30), mine.new_zeros(mine.shape[:2]), torch.zeros_like(mine)
        places = torch.arange(above, above + mine.shape[1]) + S - T
        for left in range(0, S, columns):
            scores = mine @ k[:, left:left + columns].mT
            if causal:
                scores = scores.masked_fill(torch.arange(left, left + scores.shape[2]) > places[:, None], -torch.inf)
            higher = torch.maximum(top, scores.amax(2))
            shares, shrunk = (scores - higher[..., None]).exp(), (top - higher).exp()
            summed = summed * shrunk + shares.sum(2)
            mixture = mixture * shrunk[..., None] + shares @ v[:, left:left + columns]
            top = higher
        result[:, above:above + rows] = mixture / summed.clamp(min=1e-30)[..., None]
        ends[:, above:above + rows] = top + summed.log()
    return result, ends
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "flash_forward-check", "locked": true, "points": 9, "schema_version": 3, "solution": false, "task": false}
check(flash_forward)

# %% [markdown] nbgrader={"grade": false, "grade_id": "flash_forward-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The example by hand; then 300 tokens against PyTorch's attention, and the sizes of the full score matrix and of a tile.

# %% nbgrader={"grade": false, "grade_id": "look-flash_forward", "locked": true, "schema_version": 3, "solution": false, "task": false}
q, k, v = torch.ones(1, 1, 1), torch.tensor([1.0, 3.0, 4.0, 2.0]).view(1, 4, 1) * torch.tensor(2.0).log(), torch.tensor([15.0, 0.0, 0.0, 15.0]).view(1, 4, 1)
found = attempt(flash_forward, q, k, v, 1, 2, False)
if found is not None:
    print(f"by hand: out {found[0].item():.3f}, lse {found[1].item():.3f}")
    torch.manual_seed(2)
    q, k, v = torch.randn(3, 4, 300, 32)
    for causal in (False, True):
        theirs = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
        print(f"causal {causal!s:<5}: apart from torch's by {(flash_forward(q, k, v, 64, 64, causal)[0] - theirs).abs().max().item():.0e}; "
              f"all scores would be {4 * 300 * 300:,} numbers, a tile of four heads has {4 * 64 * 64:,}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "flash_backward-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 4. The backward pass
#
# **Why.** Most of the time of training goes into the backward pass. It is also where attention's largest tensors used to wait, from the forward pass on.
#
# **Difficulty** 5 of 5 · **Time** 30 minutes · **Points** 8 · **Paper** Dao et al. (2022), algorithm 4 and appendix B.2; Dao (2023), section 3.1.2
#
# No scores were kept, so each tile is computed again. The log-sum-exp $L$ makes that cheap: the attention weights are $P_{ij} = e^{s_{ij} - L_i}$, without a maximum and a sum. With $dO$, the gradient of the output:
#
# $$dV = P^\top dO \qquad \delta_i = \sum_d dO_{id}\, O_{id} \qquad dS = P \circ (dO\, V^\top - \delta) \qquad dQ = \tfrac{1}{\sqrt D}\, dS\, K \qquad dK = \tfrac{1}{\sqrt D}\, dS^\top Q$$
#
# $\delta$ is one number per query. It equals $\sum_j P_{ij}\, dP_{ij}$, which would need the whole row.
#
# **Grouped heads.** There may be fewer KV heads, $K$, than query heads, $H$. The first $H / K$ query heads share KV head 0, the next $H / K$ share KV head 1, and so on. The contributions of several heads to the same `dk` and `dv` add up.
#
# Write `flash_backward(grad, q, k, v, out, lse, rows, columns, causal)`. `grad`, `q` and `out` are `(H, T, D)`, `k` and `v` are `(K, S, D)`, `lse` is `(H, T)`, all float32. It returns `dq`, `dk` and `dv` in the shapes of `q`, `k` and `v`.
#
# **By hand.** One head, one query, two keys, $D = 1$: $q$ = 0, keys 1 and -1, values 4 and 0, so both weights are ½ and the output is 2. With $dO$ = 1: $dV$ = (½, ½). $dO\,V^\top$ = (4, 0), $\delta$ = 2, $dS$ = ½ · (2, -2) = (1, -1). $dQ$ = 1 · 1 + (-1) · (-1) = **2**, and $dK$ = (**0**, **0**), since $q$ = 0.
#
# **Rules**
# 1. Tiles at the end may be smaller; `rows` and `columns` may exceed the lengths.
# 2. A query that attends to no key has $-\infty$ in `lse`. It contributes and receives zeros, and no NaN.
# 3. **Memory**: as in exercise 3, with 6 MiB.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Which of the formulas concern a row as a whole, and which a single tile? To which of the three results does a tile contribute?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Start with three results of zeros. Two loops as in exercise 3, in either order. In each tile: scores, weights by `exp(scores - lse)`, 0 where the query may not attend, the gradient of the scores; then three `+=`. Where `lse` is $-\infty$, put another number there first; the mask erases those weights. For groups: give `q`, `grad` and `lse` two axes of heads at the beginning, `unflatten(0, (K, -1))`, so that no key is copied, and sum the contributions to `dk` and `dv` over the second.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# The gradient of the sum of `weights * (x @ y.T) ** 2`, by tiles of y, for given `weights`.
#
# ```python
# def squares_backward(weights, x, y, columns):
#     dx, dy = torch.zeros_like(x), torch.zeros_like(y)
#     for first in range(0, len(y), columns):
#         part = slice(first, first + columns)
#         ds = 2 * weights[:, part] * (x @ y[part].T)
#         dx += ds @ y[part]
#         dy[part] += ds.T @ x
#     return dx, dy
# ```
#
# </details>
# <details><summary>Fine print</summary>
#
# $H$ is a multiple of $K$; `rows` and `columns` are from 1 to 512. `out` and `lse` are what exercise 3 returns. Scores are between -300 and 300. The memory test is not causal, with one head, $D$ = 1 and tiles of 384 by 384: 384 queries and 13,824 keys; and 13,824 queries and 384 keys.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "flash_backward", "locked": false, "schema_version": 3, "solution": true, "task": false}
def flash_backward(grad: Float[Tensor, "H T D"], q: Float[Tensor, "H T D"], k: Float[Tensor, "K S D"], v: Float[Tensor, "K S D"], out: Float[Tensor, "H T D"],
                   lse: Float[Tensor, "H T"], rows: int, columns: int, causal: bool) -> tuple[Float[Tensor, "H T D"], Float[Tensor, "K S D"], Float[Tensor, "K S D"]]:
    """The gradients of q, k and v; each tile of the weights is computed again."""
    ### BEGIN SOLUTION
    (H, T, D), (K, S, _) = q.shape, k.shape
    share = lambda x: x.unflatten(0, (K, H // K))                                   # (K, G, T, ...): heads of a group side by side
    grouped, upstream, ends, inner = share(q), share(grad), share(lse.nan_to_num(neginf=0.0)), share((grad * out).sum(2))
    dq, dk, dv = torch.zeros_like(grouped), torch.zeros_like(k), torch.zeros_like(v)
    for above in range(0, T, rows):
        part = slice(above, min(above + rows, T))
        places = torch.arange(part.start, part.stop) + S - T
        for left in range(0, S, columns):
            keys, values = (x[:, None, left:left + columns] for x in (k, v))        # (K, 1, columns, D)
            shares = (grouped[:, :, part] @ keys.mT / D ** 0.5 - ends[:, :, part, None]).exp()
            if causal:
                shares = shares.masked_fill(torch.arange(left, left + keys.shape[2]) > places[:, None], 0.0)
            d_scores = shares * (upstream[:, :, part] @ values.mT - inner[:, :, part, None]) / D ** 0.5
            dq[:, :, part] += d_scores @ keys
            dk[:, left:left + columns] += (d_scores.mT @ grouped[:, :, part]).sum(1)
            dv[:, left:left + columns] += (shares.mT @ upstream[:, :, part]).sum(1)
    return dq.flatten(0, 1), dk, dv
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "flash_backward-check", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
check(flash_backward)

# %% [markdown] nbgrader={"grade": false, "grade_id": "flash_backward-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Your two functions against autograd through the plain formula, for twelve query heads and four KV heads.

# %% nbgrader={"grade": false, "grade_id": "look-flash_backward", "locked": true, "schema_version": 3, "solution": false, "task": false}
torch.manual_seed(3)
q, k, v, grad = torch.randn(12, 50, 16), torch.randn(4, 50, 16), torch.randn(4, 50, 16), torch.randn(12, 50, 16)
found = attempt(flash_forward, q, k.repeat_interleave(3, 0), v.repeat_interleave(3, 0), 16, 16, True)
found = found and attempt(flash_backward, grad, q, k, v, *found, 16, 16, True)
if found is not None:
    leaves = [one.clone().requires_grad_() for one in (q, k, v)]
    scores = leaves[0] @ leaves[1].repeat_interleave(3, 0).mT / 4
    weights = scores.masked_fill(torch.ones(50, 50).triu(1).bool(), -torch.inf).softmax(2)
    theirs = torch.autograd.grad((weights @ leaves[2].repeat_interleave(3, 0) * grad).sum(), leaves)
    print("apart from autograd's: " + ", ".join(f"{name} {(mine - one).abs().max().item():.0e}" for name, mine, one in zip(("dq", "dk", "dv"), found, theirs)))

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-kernels", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 3. Triton kernels
#
# A **kernel** runs as many **program instances** in parallel; `tl.program_id(0)` is the index of an instance. `kernel[grid](...)` starts one for each index of the grid, a tuple of one to three sizes. A tensor among the arguments arrives as a **pointer** to its first number. `tl.load(x + offsets, mask=..., other=...)` reads a block of numbers at these offsets; `tl.store` writes one. Lanes whose mask is False are neither read nor written, and a load puts `other` there. Arguments marked `tl.constexpr` are known at compile time; the length of `tl.arange(0, BLOCK)` must be, and is a power of two.
#
# **Rules for the three kernels.** You write two functions in one cell: the kernel, and the function that launches it. The kernel's name and arguments are yours to change.
#
# 1. The result is written into the tensors that are given for it. Nothing is returned.
# 2. Nothing outside the tensors is read or written, not even a number that is then discarded.
# 3. Program instances run at the same time. None may access a number that another one stores: that is a **data race**.
# 4. A call launches one kernel, once, and each instance does its own part of the work.
# 5. The kernel compiles for a GPU.
#
# <details><summary>Fine print</summary>
#
# - *Compiling.* The interpreter is Python and accepts `break`, `return` inside a loop, `sum(...)`, a variable that changes its shape, and `tl.dot` of blocks with a side below 16; the compiler does not. Use what `tl` has, `range`, `if`, and helpers marked `@triton.jit`. Names from outside must be such helpers, or `tl` itself.
# - *Counting.* The numbers are computed in kernels. What these read, write and multiply is counted. A grid in which one instance does all the work does not count as one.
# - *Time.* One call takes a few seconds at most, at the sizes that the statement names: the interpreter needs about a millisecond for each load.
#
# </details>

# %% [markdown] nbgrader={"grade": false, "grade_id": "add-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 5. Vector addition
#
# **Why.** It has everything that each kernel needs, and nothing else: an instance that finds its numbers, and a mask where they end.
#
# **Difficulty** 2 of 5 · **Time** 14 minutes · **Points** 4 · **Paper** Tillet et al. (2019), section 3
#
# Lane $i$ of program instance $p$ handles the number at offset
#
# $$\text{offset} = p \cdot \text{block} + i, \qquad \text{masked unless offset} < N .$$
#
# Write `add(x, y, out, block)`, which writes `x + y` into `out`. All three are float32 `(N)`; `block` is a power of two.
#
# **By hand.** Ten numbers, `block` = 4: **3** instances. The last one handles offsets 8 to 11 and masks **two** of them.
#
# **Rules**
# 1. Each instance handles `block` numbers, best contiguous ones. There are as many instances as needed, and no more.
# 2. Each number of `x` and of `y` is read once, each of `out` written once.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Instance 0 handles offsets 0 to `block` - 1. Which does instance 1 handle? And which offsets of the last instance do not exist?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# In the kernel: the instance's index times `BLOCK`, plus `tl.arange(0, BLOCK)`. A mask by comparing with the length. Two loads and one store, each with this mask. Outside: `add_kernel[(triton.cdiv(len(x), block),)](x, y, out, len(x), BLOCK=block)`; `triton.cdiv` divides and rounds up.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# Every second number of x, negated, where instances own results and load what they need.
#
# ```python
# @triton.jit
# def negate_kernel(x, out, length, BLOCK: tl.constexpr):
#     own = BLOCK * tl.program_id(0) + tl.arange(0, BLOCK)
#     tl.store(out + own, -tl.load(x + 2 * own, mask=2 * own < length), mask=own < (length + 1) // 2)
# ```
#
# </details>
# <details><summary>Fine print</summary>
#
# $N$ is from 1 to 2000, `block` from 1 to 1024, with at most 40 instances. The three vectors are contiguous.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "add", "locked": false, "schema_version": 3, "solution": true, "task": false}
@triton.jit
def add_kernel(x, y, out, length, BLOCK: tl.constexpr):
    """One program instance: its block of x + y."""
    ### BEGIN SOLUTION
    mine = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    there = mine < length
    tl.store(out + mine, tl.load(x + mine, mask=there) + tl.load(y + mine, mask=there), mask=there)
    ### END SOLUTION


def add(x: Float[Tensor, "N"], y: Float[Tensor, "N"], out: Float[Tensor, "N"], block: int) -> None:
    """Write x + y into out."""
    ### BEGIN SOLUTION
    add_kernel[(triton.cdiv(len(x), block),)](x, y, out, len(x), BLOCK=block)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "add-check", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(add)

# %% [markdown] nbgrader={"grade": false, "grade_id": "add-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The example by hand. What was in `out` before must not matter: here it is NaN.

# %% nbgrader={"grade": false, "grade_id": "look-add", "locked": true, "schema_version": 3, "solution": false, "task": false}
x, y, out = torch.arange(10.0), 10 * torch.arange(10.0), torch.full((10,), torch.nan)
attempt(add, x, y, out, 4)
print(out.tolist())

# %% [markdown] nbgrader={"grade": false, "grade_id": "softmax-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 6. Row softmax
#
# **Why.** A row that does not fit into one block is what the online softmax was made for. It is also flash attention without the values.
#
# **Difficulty** 3 of 5 · **Time** 20 minutes · **Points** 6 · **Paper** Milakov and Gimelshein (2018), algorithm 3
#
# One program instance processes one row and holds `block` numbers of it at a time. It goes through the row **once** for maximum and sum together, and once more to write:
#
# $$m' = \max\big(m, \max_j x_j\big) \qquad \ell \leftarrow e^{m - m'} \ell + \sum_j e^{x_j - m'} \qquad \text{out}_j = e^{x_j - m} / \ell$$
#
# Write `softmax(x, out, block)`, which writes the softmax of each row of `x` into the same row of `out`. Both are float32 `(R, C)`; `block` is a power of two.
#
# **By hand.** The row $\ln 2$ · (1, 3, 4, 2) with `block` = 2. After the first block the maximum is $3 \ln 2$ and the sum 1.25, after the second $4 \ln 2$ and 1.875. The output is ⅛ / 1.875 = **.067**, ½ / 1.875 = **.267**, then **.533** and **.133**.
#
# **Rules**
# 1. Each number of `x` is read at most twice, each number of `out` written once.
# 2. The last block of a row may be ragged: `other` must change neither maximum nor sum.
# 3. Row $r$ begins at `r * x.stride(0)`, which may exceed $C$; `out` has a stride of its own. Numbers between the rows are not touched.
#
# <details><summary>Hint 1: a nudge</summary>
#
# A lane beyond the row must not win the maximum, and must add 0 to the sum. Which number does both?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# `float("-inf")` does. Start with a maximum of -1e30 and a sum of 0.0. `for first in range(0, C, BLOCK)`: load, `tl.maximum(old, tl.max(values, 0))`, then the sum times `tl.exp(old - larger)` plus `tl.sum(tl.exp(values - larger), 0)`. A second loop loads again and stores with the mask.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# Each row divided by its largest number in size, which needs two passes as well.
#
# ```python
# @triton.jit
# def scaled_kernel(x, out, C, x_row, out_row, BLOCK: tl.constexpr):
#     x += tl.program_id(0) * x_row
#     out += tl.program_id(0) * out_row
#     largest = tl.full([], 0.0, tl.float32)
#     for first in range(0, C, BLOCK):
#         own = first + tl.arange(0, BLOCK)
#         largest = tl.maximum(largest, tl.max(tl.abs(tl.load(x + own, mask=own < C, other=0.0)), 0))
#     for first in range(0, C, BLOCK):
#         own = first + tl.arange(0, BLOCK)
#         tl.store(out + own, tl.load(x + own, mask=own < C) / largest, mask=own < C)
# ```
#
# </details>
# <details><summary>Fine print</summary>
#
# $R$ is from 1 to 20, $C$ from 1 to 300, `block` from 1 to 1024, with at most 40 blocks in a row. The numbers of a row are contiguous. They lie between -10,000 and 10,000, and four digits are compared there too: a log-sum-exp of 10,000 keeps only three decimals, too few for `exp(number - log-sum-exp)`.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "softmax", "locked": false, "schema_version": 3, "solution": true, "task": false}
@triton.jit
def softmax_kernel(x, out, C, x_row, out_row, BLOCK: tl.constexpr):
    """One program instance: one row."""
    ### BEGIN SOLUTION
    x += x_row * tl.program_id(0)
    out += out_row * tl.program_id(0)
    top, summed = tl.full([], -1e30, tl.float32), tl.full([], 0.0, tl.float32)
    for begin in range(0, C, BLOCK):
        mine = begin + tl.arange(0, BLOCK)
        some = tl.load(x + mine, mask=mine < C, other=float("-inf"))
        higher = tl.maximum(top, tl.max(some, 0))
        summed = summed * tl.exp(top - higher) + tl.sum(tl.exp(some - higher), 0)
        top = higher
    for begin in range(0, C, BLOCK):
        mine = begin + tl.arange(0, BLOCK)
        some = tl.load(x + mine, mask=mine < C, other=float("-inf"))
        tl.store(out + mine, tl.exp(some - top) / summed, mask=mine < C)
    ### END SOLUTION


def softmax(x: Float[Tensor, "R C"], out: Float[Tensor, "R C"], block: int) -> None:
    """Write the softmax of each row of x into out."""
    ### BEGIN SOLUTION
    softmax_kernel[(len(x),)](x, out, x.shape[1], x.stride(0), out.stride(0), BLOCK=block)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "softmax-check", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
check(softmax)

# %% [markdown] nbgrader={"grade": false, "grade_id": "softmax-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The example by hand, and a matrix whose five rows lie apart in memory.

# %% nbgrader={"grade": false, "grade_id": "look-softmax", "locked": true, "schema_version": 3, "solution": false, "task": false}
x = torch.tensor([[1.0, 3.0, 4.0, 2.0]]) * torch.tensor(2.0).log()
out = torch.full_like(x, torch.nan)
attempt(softmax, x, out, 2)
print([f"{share:.3f}" for share in out[0].tolist()])
torch.manual_seed(4)
x, out = 5 * torch.randn(5, 20)[:, :13], torch.full((5, 16), torch.nan)[:, :13]
attempt(softmax, x, out, 4)
print(f"apart from torch's softmax by {(out - x.softmax(1)).abs().max().item():.0e}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "flash-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 7. Flash attention in Triton
#
# **Why.** With more tiles in flight and for more layouts, this kernel trains and serves today's models. Yours runs a sentence encoder at the end of this notebook.
#
# **Difficulty** 5 of 5 · **Time** 34 minutes · **Points** 9 · **Paper** Dao (2023), algorithm 1 and section 3.2
#
# One program instance takes a tile of `rows` queries of one head, loops over the tiles of `columns` keys that these queries attend to, and writes its rows of `out` and `lse`, which are defined as in exercise 3. Query heads share KV heads in groups, as in exercise 4. The grid has
#
# $$\left\lceil \frac{T}{\text{rows}} \right\rceil \cdot H \text{ instances.}$$
#
# Write `flash(q, k, v, out, lse, rows, columns, causal)`. `q` and `out` are `(H, T, D)`, `k` and `v` are `(K, S, D)`, `lse` is `(H, T)`, all float32.
#
# **By hand.** 12 heads, 33 queries, `rows` = 16: 3 instances per head, **36** in all. Causal, with 33 keys and `columns` = 16, the first tile of queries visits **1** tile of keys, the second 2, the last 3.
#
# **Rules**
# 1. Causal, no tile is visited in which no query of the tile attends to a key. The FLOPs of `tl.dot` are counted.
# 2. Heads and rows may have any strides, `x.stride(0)` and `x.stride(1)`. The last axis is contiguous.
# 3. A query that attends to no key has zeros in `out` and $-\infty$ in `lse`. Scores may all be near 300, or all near -300.
# 4. Pass `input_precision="ieee"` to `tl.dot`; a GPU would otherwise use TF32.
#
# <details><summary>Hint 1: a nudge</summary>
#
# You have all parts: the masks of exercise 5, the loop of exercise 6, the steps of exercise 3. What is new are addresses. Where in memory is number $d$ of query $t$ of head $h$?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Grid `(triton.cdiv(T, rows), H)`. At the start add `head * stride` to each of the five pointers, with `head // group` for k and v. Load the tile of queries at `own[:, None] * q_row + tl.arange(0, D)[None, :]`, with a mask on rows. Load the tile of keys transposed, `tl.arange(0, D)[:, None] + key[None, :] * k_row`, so that `tl.dot(q_tile, k_tile)` has the shape (rows, columns). `tl.where(visible, scores, float("-inf"))`; `tl.max(scores, 1)`, `tl.sum(..., 1)`. The loop ends at S, or where causal just after the last key that the tile's last query attends to: after position `(tile + 1) * ROWS - 1 + S - T`.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# For each row of x the largest dot product with any row of y, by tiles of y.
#
# ```python
# @triton.jit
# def nearest_kernel(x, y, out, T, S, x_row, y_row, D: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
#     own, width = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, D)
#     x_tile = tl.load(x + own[:, None] * x_row + width[None, :], mask=own[:, None] < T, other=0.0)
#     best = tl.full([ROWS], -1e30, tl.float32)
#     for first in range(0, S, COLUMNS):
#         other = first + tl.arange(0, COLUMNS)
#         y_tile = tl.load(y + width[:, None] + other[None, :] * y_row, mask=other[None, :] < S, other=0.0)
#         products = tl.dot(x_tile, y_tile, input_precision="ieee")
#         best = tl.maximum(best, tl.max(tl.where(other[None, :] < S, products, -1e30), 1))
#     tl.store(out + own, best, mask=own < T)
# ```
#
# </details>
# <details><summary>Fine print</summary>
#
# $H$ is a multiple of $K$ and at most 12; $T$ and $S$ are from 1 to 70; $D$ is 16, 32 or 64; `rows` and `columns` are 16 or 32. A row of `lse` is contiguous, with any `lse.stride(0)`. The grid has one axis, or two in either order. Two products of `rows` × $D$ × `columns` for each visited tile are counted, and no more. Where scores reach hundreds, three digits are compared.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "flash", "locked": false, "schema_version": 3, "solution": true, "task": false}
@triton.jit
def flash_kernel(q, k, v, out, lse, T, S, group, scale, q_head, q_row, k_head, k_row, v_head, v_row, out_head, out_row, lse_head,
                 D: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, CAUSAL: tl.constexpr):
    """One program instance: a tile of queries of one head."""
    ### BEGIN SOLUTION
    tile, head, across = tl.program_id(0), tl.program_id(1), tl.arange(0, D)
    k += head // group * k_head
    v += head // group * v_head
    own = tile * ROWS + tl.arange(0, ROWS)
    q_tile = tl.load(q + head * q_head + own[:, None] * q_row + across[None, :], mask=own[:, None] < T, other=0.0)
    top, summed, mixture = tl.full([ROWS], -1e30, tl.float32), tl.zeros([ROWS], tl.float32), tl.zeros([ROWS, D], tl.float32)
    end = S
    if CAUSAL:
        end = tl.minimum(S, (tile + 1) * ROWS + S - T)
    for first in range(0, end, COLUMNS):
        key = tl.arange(0, COLUMNS) + first
        k_tile = tl.load(k + across[:, None] + key[None, :] * k_row, mask=key[None, :] < S, other=0.0)
        v_tile = tl.load(v + key[:, None] * v_row + across[None, :], mask=key[:, None] < S, other=0.0)
        seen = key[None, :] < S
        if CAUSAL:
            seen = seen & (key[None, :] <= own[:, None] + S - T)
        scores = tl.where(seen, scale * tl.dot(q_tile, k_tile, input_precision="ieee"), float("-inf"))
        higher = tl.maximum(top, tl.max(scores, 1))
        shares, shrunk = tl.exp(scores - higher[:, None]), tl.exp(top - higher)
        summed = summed * shrunk + tl.sum(shares, 1)
        mixture = mixture * shrunk[:, None] + tl.dot(shares, v_tile, input_precision="ieee")
        top = higher
    blind = summed == 0
    whole = tl.where(blind, 1.0, summed)
    tl.store(out + head * out_head + own[:, None] * out_row + across[None, :], mixture / whole[:, None], mask=own[:, None] < T)
    tl.store(lse + head * lse_head + own, tl.where(blind, float("-inf"), top + tl.log(whole)), mask=own < T)
    ### END SOLUTION


def flash(q: Float[Tensor, "H T D"], k: Float[Tensor, "K S D"], v: Float[Tensor, "K S D"], out: Float[Tensor, "H T D"], lse: Float[Tensor, "H T"],
          rows: int, columns: int, causal: bool) -> None:
    """Write attention into out, and its log-sum-exp into lse."""
    ### BEGIN SOLUTION
    (H, T, D), (K, S, _) = q.shape, k.shape
    flash_kernel[(triton.cdiv(T, rows), H)](q, k, v, out, lse, T, S, H // K, D ** -0.5, q.stride(0), q.stride(1), k.stride(0), k.stride(1), v.stride(0), v.stride(1),
                                            out.stride(0), out.stride(1), lse.stride(0), D=D, ROWS=rows, COLUMNS=columns, CAUSAL=causal)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "flash-check", "locked": true, "points": 9, "schema_version": 3, "solution": false, "task": false}
check(flash)

# %% [markdown] nbgrader={"grade": false, "grade_id": "flash-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Against PyTorch's attention: four query heads over two KV heads, causal and not, with the heads of a token next to each other in memory, as a model leaves them.

# %% nbgrader={"grade": false, "grade_id": "look-flash", "locked": true, "schema_version": 3, "solution": false, "task": false}
torch.manual_seed(5)
q, k, v = (torch.randn(40, heads, 16).transpose(0, 1) for heads in (4, 2, 2))
for causal in (False, True):
    out, lse = torch.full((4, 40, 16), torch.nan), torch.full((4, 40), torch.nan)
    attempt(flash, q, k, v, out, lse, 16, 16, causal)
    theirs = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=True)
    print(f"causal {causal!s:<5}: apart from torch's by {(out - theirs).abs().max().item():.0e}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-merge", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 4. Testing and code review

# %% [markdown] nbgrader={"grade": false, "grade_id": "test_flash-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 8. A test for flash attention
#
# **Why.** A published course tests its students' kernel with one input: 128 queries and 128 keys of dimension 64, to two digits. Of nineteen wrong attentions that we tried on that input, eight passed. Your test should stop them.
#
# **Difficulty** 4 of 5 · **Time** 18 minutes · **Points** 5 · **Paper** Dao et al. (2022), appendix B; the input is from Stanford's CS336, assignment 2 (2025)
#
# You are handed a `flash` that should do what exercise 3 asks: `flash(q, k, v, rows, columns, causal)` returns `out` and `lse`. Write `test_flash(flash)`, which passes if it does and fails an `assert` if it does not. A group of faults earns its points if your test stops all of them and every correct candidate passes:
#
# | group | points | faults |
# | --- | --- | --- |
# | running maximum | 1.5 | none subtracted; it starts at 0; the tile's own instead of the running one; sum or accumulator not rescaled; division in each tile |
# | incomplete tiles | 1.5 | a smaller last tile of keys or queries is lost; keys past the end count with a score of 0 |
# | attention masks | 1 | queries taken as the first positions; the diagonal hidden; nothing hidden; -1,000,000 instead of $-\infty$; NaN for a query without keys |
# | precision and scale | 1 | half precision inside; a log-sum-exp to base 2, without its maximum or without the sum; no division by $\sqrt D$; all heads with the keys of the first |
#
# **By hand.** One query, one key, everything 1: `out` is 1 and `lse` is 1. A candidate that counts sixteen keys, fifteen of them zeros, gives $e / (e + 15)$ = .15; one that loses an incomplete last tile gives 0. No input with 128 keys and tiles of 16 reveals either.
#
# **Rules**
# 1. A test that fails a correct candidate earns nothing.
# 2. Use only inputs that the fine print allows; a correct candidate may refuse others.
# 3. Complain with `assert`, or with something that raises `AssertionError`, such as `torch.testing.assert_close`.
# 4. Correct candidates differ by rounding: by less than 0.00005 for scores between -10 and 10 and values from `randn`, by less than 0.002 for scores of hundreds.
#
# <details><summary>Hint 1: a nudge</summary>
#
# The correct result is not the difficulty: a test may compute the full score matrix, and in float64. Which inputs make each faulty candidate differ from it?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# A function that returns the correct `out` and `lse` in float64, with a mask `key <= query + S - T`, `softmax(...).nan_to_num(0.0)` and `logsumexp`. Loops over shapes, over `causal`, and over four kinds of q and k: random; random with q fifty times as large; all scores near 300; all near -300. For scores near 300 with $D$ = 16: numbers of q near 30 and of k near 2.5, since 16 · 30 · 2.5 / 4 = 300. For each, `assert torch.allclose(...)`, which accepts equal infinities and refuses NaN; 0.0001 in the first case, 0.002 or more in the others.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# A test of a mean over the last axis, computed in tiles.
#
# ```python
# def test_mean(mean):
#     for length in (1, 4, 7):
#         for size in (1.0, 1e4):
#             x = size * torch.randn(3, length)
#             right = x.double().mean(1)
#             assert (mean(x, 4).double() - right).abs().max() < 1e-5 * size, f"wrong for {length} columns"
# ```
#
# </details>
# <details><summary>Fine print</summary>
#
# - Allowed are `q` $(H, T, D)$, `k` and `v` $(H, S, D)$ of finite float32, every axis from 1 to 64, `rows` and `columns` from 1 to 64, scores from -500 to 500.
# - Every fault shows for some $(T, S)$ among (1, 1), (17, 17), (33, 33), (5, 37), (37, 5) and (20, 5), with two heads, $D$ = 16, tiles of 16 by 16 and numbers from `randn`; those of the group *running maximum* perhaps only where in addition all scores are near 300, all near -300, or both occur. A fault may show only if causal, or only if not; only with more keys than queries, or with fewer. What shows is NaN, an infinity where none belongs, or a difference above 0.0001 for scores between -10 and 10.
# - An exception other than `AssertionError` means that your test is broken, and earns nothing. Returning False instead of a failing `assert` costs a fifth, once.
# - Call the candidate at most a hundred times; one run may take five seconds. No candidate raises on an allowed call, or returns another shape or dtype. torch's softmax and attention may be used; your own exercise 3 does not exist in grading.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "test_flash", "locked": false, "schema_version": 3, "solution": true, "task": false}
def test_flash(flash: Callable[[Tensor, Tensor, Tensor, int, int, bool], tuple[Tensor, Tensor]]) -> None:
    """Fail an assert unless `flash(q, k, v, rows, columns, causal)` is attention and its log-sum-exp."""
    ### BEGIN SOLUTION
    chance = torch.Generator().manual_seed(8)
    for T, S in ((1, 1), (17, 17), (33, 33), (5, 37), (37, 5), (20, 5)):
        for hides in (False, True):
            for size, lift in ((1.0, 0.0), (75.0, 0.0), (1.0, 300.0), (1.0, -300.0)):
                q, k, v = (torch.randn(2, length, 16, generator=chance) for length in (T, S, S))
                if lift:
                    q, k = lift / 10 + q / 10, 2.5 + k / 10
                q = size * q
                table = q.double() @ k.double().mT / 4
                table = table.masked_fill((torch.arange(S) > torch.arange(T)[:, None] + S - T) & torch.tensor(hides), -torch.inf)
                limit = 1e-4 if size == 1.0 and lift == 0.0 else 4e-3
                for mine, exact in zip(flash(q, k, v, 16, 16, hides), (table.softmax(2).nan_to_num(0.0) @ v.double(), table.logsumexp(2))):
                    assert mine.shape == exact.shape, "another shape"
                    assert torch.allclose(mine.double(), exact, rtol=1e-5, atol=limit), f"wrong for {T} queries and {S} keys"
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "test_flash-check", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check(test_flash)

# %% [markdown] nbgrader={"grade": false, "grade_id": "test_flash-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Your test on your own functions, if you wrote them: the torch version, and the kernel. Then on one that counts keys past the end.

# %% nbgrader={"grade": false, "grade_id": "look-test_flash", "locked": true, "schema_version": 3, "solution": false, "task": false}
def by_the_kernel(q, k, v, rows, columns, causal):
    """Your kernel as a function like the other; D is 16 in your test, if you follow the card."""
    out, lse = torch.full_like(q, torch.nan), torch.full(q.shape[:2], torch.nan)
    flash(q, k, v, out, lse, rows, columns, causal)
    return out, lse


def counts_too_many(q, k, v, rows, columns, causal):
    """Fills the keys up with zeros to full tiles, and counts them."""
    k, v = (torch.nn.functional.pad(one, (0, 0, 0, -one.shape[1] % columns)) for one in (k, v))
    return flash_forward(q, k, v, rows, columns, causal)


for name, candidate in (("flash_forward", flash_forward), ("flash", by_the_kernel), ("one that counts too many", counts_too_many)):
    try:
        attempt(test_flash, candidate)
        print(f"{name}: your test stays silent, if both are written")
    except AssertionError as complaint:
        print(f"{name}: your test complains: {complaint}")
    except Exception as error:
        print(f"{name}: stopped by {type(error).__name__}: {error}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "merge_it-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 9. Would you merge it?
#
# **Why.** Approving takes one click, and whatever was not asked is then in the library.
#
# **Difficulty** 3 of 5 · **Time** 9 minutes · **Points** 4 · **Paper** none: this is a review
#
# A colleague sends you a pull request with a new attention kernel in float32: *"One input, 128 queries and 128 keys of dimension 64 from `randn`, not causal: no number is off by more than 0.01 from torch's. It is twice as fast. Merge?"* What does this test show, and what not? What do you answer?
#
# {{rubric}}
#
# A few concrete sentences are enough.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Which of the faulty attentions of exercise 8 pass this test? Go through its four choices: 128, 128, `randn`, 0.01.
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# One sentence for each thing that the test leaves out, with an input that would reveal it; then one that says what you want to see before you merge.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# *A new function for the median passes on ten thousand random lists of nine numbers. Merge?* No: all lists have an odd length, so the mean of the two middle numbers was never taken; none is empty, none has one entry; random floats are never equal. I want lengths 0, 1, 2 and 10, equal numbers, and the results of another library.
#
# </details>

# %% [markdown] nbgrader={"grade": true, "grade_id": "merge_it", "locked": false, "points": 4, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# {{samples}}
# ### END SOLUTION

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-real", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Your code runs the real thing
#
# Nothing to write here. Run the cells and watch; they take about half a minute.
#
# First your kernel replaces the attention of MiniLM, six layers of twelve heads, and encodes a sentence in Triton's interpreter. Then your `flash_forward` runs inside SmolLM2, 135 million parameters, on a longer text. If there is a GPU, the last cell compiles your kernel and times it.

# %% nbgrader={"grade": false, "grade_id": "real-kernel", "locked": true, "schema_version": 3, "solution": false, "task": false}
import time
from unittest.mock import patch

from course.demo import ready
from reference_impl.corpora import load, path


def like_the_courses(yours):
    """Attention as the course's layers call it, (B, H, T, D), by a function of yours for (H, T, D)."""
    def attend(q, k, v, mask=None, bias=None, scale=None, *, causal=False, dropout=0.0):
        assert mask is None and bias is None and scale is None and not dropout
        return torch.stack([yours(*one, causal) for one in zip(q, k, v)])
    return attend


def in_your_kernel(q, k, v, causal):
    """One text by your kernel, tiles of 16 by 16."""
    out, lse = torch.empty_like(q), q.new_empty(q.shape[:2])
    flash(q, k, v, out, lse, 16, 16, causal)
    return out


def in_your_tiles(q, k, v, causal):
    """One text by your `flash_forward`, tiles of 64 by 64; heads that share keys get copies of them."""
    group = len(q) // len(k)
    return flash_forward(q, k.repeat_interleave(group, 0), v.repeat_interleave(group, 0), 64, 64, causal)[0]

# %% nbgrader={"grade": false, "grade_id": "real-kernel-run", "locked": true, "schema_version": 3, "solution": false, "task": false}
SENTENCE = "we sat on the bank of the river"
if ready(flash, needs=["minilm", "bert_tokenizer"]):
    minilm, tokenizer = load("minilm").eval(), load("bert_tokenizer")
    ids = torch.tensor([tokenizer.encode(SENTENCE).ids])
    with torch.no_grad():
        theirs = minilm(ids).tokens
        started = time.perf_counter()
        with patch("reference_impl.layers.attention.attention", like_the_courses(in_your_kernel)):
            yours = minilm(ids).tokens
    print(f"{ids.shape[1]} tokens through six layers of twelve heads, each head a program instance: {time.perf_counter() - started:.1f} s in the interpreter")
    print(f"the vectors of *{SENTENCE}* are apart from the course's by {(yours - theirs).abs().max().item():.1e}")

# %% nbgrader={"grade": false, "grade_id": "real-tiles-run", "locked": true, "schema_version": 3, "solution": false, "task": false}
if ready(flash_forward, needs=["smollm2"]):
    from reference_impl.tokenizers.gguf_tokenizer import tokenizer_from_metadata
    from reference_impl.weights.gguf_files import read_gguf

    smollm2 = load("smollm2").eval()
    tokenizer = tokenizer_from_metadata(read_gguf(next(path("smollm2").glob("*.gguf"))).metadata)
    text = "We sat on the bank of the river, and the bank of the town was closed. " * 14
    ids = torch.tensor([tokenizer.encode(text).ids])
    with torch.no_grad():
        started = time.perf_counter()
        theirs = smollm2(ids)
        between = time.perf_counter()
        with patch("reference_impl.layers.attention.attention", like_the_courses(in_your_tiles)):
            yours = smollm2(ids)
    print(f"{ids.shape[1]} tokens: {time.perf_counter() - between:.2f} s with your tiles, {between - started:.2f} s with torch's attention")
    print(f"logits apart by {(yours - theirs).abs().max().item():.1e}; the same most likely token at {(yours.argmax(2) == theirs.argmax(2)).float().mean().item():.0%} of the positions")

# %% nbgrader={"grade": false, "grade_id": "real-glass", "locked": true, "schema_version": 3, "solution": false, "task": false}
from IPython.display import display

from course.book.pages.figure_data.glass_gpu import glass_gpu

if ready(add, softmax):
    x, out = torch.randn(3, 10), torch.zeros(3, 10)
    display(glass_gpu({"your add": lambda: add(x[0], x[1], out[0], 4), "your softmax": lambda: softmax(x, out, 4)}))

# %% nbgrader={"grade": false, "grade_id": "real-gpu", "locked": true, "schema_version": 3, "solution": false, "task": false}
import inspect
import subprocess
import tempfile
from pathlib import Path

TIMED = """
q, k, v = (torch.randn(8, length, 64, device="cuda") for length in (4096,) * 3)
out, lse = torch.empty_like(q), torch.empty(8, 4096, device="cuda")
sdpa = torch.nn.functional.scaled_dot_product_attention
plain = lambda: ((q @ k.mT / 8).masked_fill(torch.ones(4096, 4096, device="cuda").triu(1).bool(), -torch.inf).softmax(2)) @ v
runs = {"your kernel": lambda: flash(q, k, v, out, lse, 32, 32, True), "the plain formula": plain, "torch's SDPA": lambda: sdpa(q[None], k[None], v[None], is_causal=True)}
for name, run in runs.items():
    times = []
    for _ in range(25):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record(); run(); end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end))
    print(f"{name:<18} {sorted(times[5:])[10]:.2f} ms, the middle of 20 runs")
right = sdpa(q[None].double(), k[None].double(), v[None].double(), is_causal=True)[0]
print(f"your kernel is apart from float64 by {(out - right).abs().max().item():.0e}")
"""


def on_the_gpu() -> str:
    """Your kernel compiled and timed in a process of its own: the one of this notebook interprets. Helpers count, too."""
    wanted, source = [flash], {}
    while wanted:
        one = wanted.pop()
        plain = getattr(one, "fn", one)
        if plain.__name__ not in source:
            text = inspect.getsource(plain)
            source[plain.__name__] = text if text.lstrip().startswith("@") or plain is one else f"@triton.jit\n{text}"
            wanted += [found for name in plain.__code__.co_names if hasattr(found := globals().get(name), "fn") or inspect.isfunction(found)]
    script = "\n".join(["from __future__ import annotations", "import torch, triton, triton.language as tl", *reversed(source.values()), TIMED])
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "timed.py").write_text(script, encoding="utf-8")
        done = subprocess.run([sys.executable, "timed.py"], cwd=folder, capture_output=True, text=True, env=os.environ | {"TRITON_INTERPRET": "0"})
    return done.stdout or done.stderr[-2000:]


if not torch.cuda.is_available():
    print("There is no GPU here. Everything above was interpreted on the CPU; a recorded comparison stands in the chapter.")
elif ready(flash):
    print("8 heads, 4,096 tokens of 64 in float32, causal:")
    print(on_the_gpu())

# %% [markdown] nbgrader={"grade": false, "grade_id": "real-end", "locked": true, "schema_version": 3, "solution": false, "task": false}
# In the interpreter a kernel is some ten thousand times slower than on a GPU: it shows whether the kernel is correct. Your kernel's vectors differ from the course's in the last digits of float32, because the sums are taken in another order.
# Your tiles in torch take longer than torch's attention, which does the same steps inside one operator: FlashAttention is fast because a tile never leaves the chip, and a Python loop cannot ensure that.
# On a GPU, tiles of 32 by 32 in float32 are small: the course's kernels take 128 queries, 16 bits and more warps, and their products run on the tensor cores.

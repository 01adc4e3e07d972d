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
# # Chapter 11. ModernBERT: the exercises
#
# In this notebook you write ModernBERT's block, with RoPE, GeGLU and local attention; then you remove the padding and pack many sequences into one row without attention between them.
# At the end MiniLM encodes unpadded and packed batches with your functions, and your block runs a small ModernBERT.
#
# There are 11 exercises and 54 points. Plan about 185 minutes, in as many sittings as you like.
#
# | Part | Exercises | Minutes | Points |
# | --- | --- | --- | --- |
# | RoPE and GeGLU | 1 to 2 | 32 | 11 |
# | Local and global attention | 3 to 5 | 50 | 14 |
# | Unpadding and sequence packing | 6 to 9 | 71 | 21 |
# | Extending RoPE | 10 | 18 | 4 |
# | In your own words | 11 | 12 | 4 |
# | Your code runs the real thing | nothing to write | 2 | 0 |
#
# **How it works.**
# 1. Read the statement, write the function in the cell below it, and run the check under that cell as often as you like.
# 2. A check's first line names the likely cause, its second a small input that fails. Stuck? Open the three hints in order; the third solves a similar problem.
# 3. Grading runs the same checks with other sizes and values. The smallest sizes are always among them.
#
# **Symbols.** $B$ sequences, $T$ positions, $N$ tokens of all sequences, $C$ hidden size, $F$ intermediate size, $H$ heads, $D$ head dimension.
#
# <details><summary>Fine print</summary>
#
# - *Arguments.* Leave them unchanged, lists included, and return something new: neither an argument or a part of one nor a result of an earlier call. A tensor may be a view of a larger one, such as a transpose; `reshape` works there, `view` may not.
# - *Types.* Return the type, dtype and shape that the statement names; a dictionary has the named keys and no others, in any order. A subclass counts as its type, except that `nn.Parameter` is the only tensor subclass accepted; an `int` may be given for a `float`, but a bool does not count as a number. Correct values in another type or dtype, with an axis of length 1 too many or too few, or with an extra key, lose a fifth of the exercise's points, once. So does an answer that breaks *Arguments*.
# - *Precision.* Floats are compared to four digits of each value, and to 0.0001 near 0, unless a statement says otherwise; float32 has seven digits, so the order of your operations does not matter. Half precision, rounding, or a small constant "for safety" is wrong where it shows in these digits, and only there. Integers are compared exactly.
# - *Calls.* A result depends only on the arguments (and, for a class, on its weights): not on earlier calls, and not on chance. Calls may come in any order.
# - *Tools.* You may use anything in torch, numpy and the standard library, including `scaled_dot_product_attention`. Not allowed are the course's own models, layers and kernels, and the library `transformers`.
# - *Sizes and time.* Every axis has length 1 to 300, and a list has at most 300 entries, unless a statement says otherwise. The cells that show what a function is for, and the last part, use some longer axes and lists, which the checks do not. A call may take five seconds: plain Python loops are fast enough.
# - *Smallest sizes.* Grading always includes one token, one sequence, and a sequence of no tokens where a statement allows it.
# - *Arguments are as promised.* Your function need not check what a statement and its fine print promise. You may add cells anywhere (helpers, prints, plots), and a function may call one that you wrote before.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
import math
from itertools import accumulate

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from autograder.check import check


def attempt(function, *arguments):
    """What your function answers; None, and a friendly line, while it is not written yet."""
    try:
        return function(*arguments)
    except NotImplementedError:
        print(f"{function.__name__} is not written yet. Come back to this cell when it is.")
        return None

# %% nbgrader={"grade": false, "grade_id": "progress", "locked": true, "schema_version": 3, "solution": false, "task": false}
from autograder.notebook_progress import progress

progress("11")                                 # follows your checks

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-turning", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 1. RoPE and GeGLU

# %% [markdown] nbgrader={"grade": false, "grade_id": "rotary-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 1. Rotary position embeddings
#
# **Why.** This function is in nearly every language model since 2022, encoder or decoder. Two published ports rotated the wrong pairs of dimensions: every shape fits, the model runs, and it is much worse.
#
# **Difficulty** 4 of 5 · **Time** 22 minutes · **Points** 7 · **Paper** Su et al. (2021), section 3.2.2 and equation 34; the layout of pairs is that of GPT-NeoX, LLaMA in `transformers`, and ModernBERT
#
# Before a query and a key are multiplied, each is rotated by angles that grow with its position. Their product then depends on the distance of the two and not on where they are. `x` holds the vectors of $B$ sequences, $H$ heads and $T$ tokens. Each vector has $D$ dimensions, which form $D/2$ pairs: dimension $i$ with dimension $i + D/2$, for $i = 0, \dots, D/2 - 1$. Pair $i$ of a token at position $m$ is rotated by
#
# $$\theta = m \cdot \text{base}^{-2i/D} \qquad (a, b) \;\to\; (a \cos\theta - b \sin\theta,\;\; a \sin\theta + b \cos\theta)$$
#
# Write `rotary(x, positions, base)`; `x` is $(B, H, T, D)$, `positions` is $(B, T)$, and the result has the shape of `x`. In the same cell write `slowest(D, base)`: after how many positions the last pair has completed a rotation of $2\pi$, which need not be a whole number. `rotary` has six of the points, `slowest` one.
#
# **By hand.** $D = 4$, base 100, one token at position 2 with the vector $(1, 1, 0, 0)$. Its pairs are $(1, 0)$, of dimensions 0 and 2, and $(1, 0)$, of dimensions 1 and 3. The first is rotated by 2, the second by $2 \cdot 100^{-1/2} = 0.2$. The result is $(\cos 2, \cos 0.2, \sin 2, \sin 0.2) =$ **(-0.416, 0.980, 0.909, 0.199)**. The last pair rotates by 0.1 per position and completes a rotation after $2\pi / 0.1 =$ **62.83**.
#
# **Rules**
# 1. Every sequence has positions of its own, a row of `positions`, shared by its heads. They need not begin at 0 nor be in order, and one may occur twice.
# 2. `x` is float32 or bfloat16, and the result has its dtype. Compute angles, sines and cosines in float32 or better: in bfloat16, position 257 is 256.
# 3. The result is differentiable with respect to `x`, in both dtypes.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Which axes must the table of angles have, so that it broadcasts against `x`? It differs from sequence to sequence, from token to token and from pair to pair.
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# `angles` of shape $(B, 1, T, D/2)$. With a the first half of the last axis and b the second, both results follow from the formula; `torch.cat` puts them next to each other. Cast the sines and cosines, not the positions.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# Wheels: each wheel has an angular speed of its own, and each row of photographs its own times. Where is a point on the rim of each wheel?
#
# ```python
# def rims(times, speeds):                                  # (rows, T), (wheels)
#     angles = times[:, :, None] * speeds                   # (rows, T, wheels)
#     return torch.stack((angles.cos(), angles.sin()), dim=-1)
# ```
#
# `rims(torch.zeros(2, 3), torch.tensor([1.0, 0.1]))` has shape (2, 3, 2, 2), and every point is at (1, 0).
#
# </details>
# <details><summary>Fine print</summary>
#
# $D$ is even; entries of `x` are from -100 to 100; `positions` are int64 from 0 to 8191; `base` is a float from 2 to 1,000,000, also for `slowest`, which returns a float. For entries near 1, and in proportion for larger ones, float32 is compared to 0.0005 at positions up to 300 and to 0.01 beyond, where float32 itself knows the angle no better; bfloat16 is compared to 0.05.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "rotary", "locked": false, "schema_version": 3, "solution": true, "task": false}
def rotary(x: Float[Tensor, "B H T D"], positions: Int[Tensor, "B T"], base: float) -> Float[Tensor, "B H T D"]:
    """Rotate dimensions i and i + D/2 of each vector by its position times base^(-2i/D)."""
    ### BEGIN SOLUTION
    half = x.shape[3] // 2
    frequencies = base ** (-torch.arange(half) / half)                     # (D/2,), float32
    angles = positions[:, None, :, None] * torch.cat((frequencies, frequencies))     # (B, 1, T, D)
    quarter = torch.cat((-x[..., half:], x[..., :half]), 3)                # each pair, rotated by 90 degrees
    return x * angles.cos().to(x.dtype) + quarter * angles.sin().to(x.dtype)
    ### END SOLUTION


def slowest(D: int, base: float) -> float:
    """After how many positions the last pair has completed a rotation."""
    ### BEGIN SOLUTION
    return 2 * math.pi * base ** ((D - 2) / D)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "rotary-check", "locked": true, "points": 7, "schema_version": 3, "solution": false, "task": false}
check(rotary)

# %% [markdown] nbgrader={"grade": false, "grade_id": "rotary-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Two copies of a random vector with 64 dimensions, one at position 0 and one further on: their product, as a fraction of that at distance 0, with both of ModernBERT's bases. It oscillates: nearer is not always larger.

# %% nbgrader={"grade": false, "grade_id": "look-rotary", "locked": true, "schema_version": 3, "solution": false, "task": false}
vector = torch.randn(1, 1, 1, 64, generator=torch.Generator().manual_seed(11))
gaps = torch.tensor([[0, 1, 2, 4, 8, 16, 32, 64, 128, 512, 2048, 8191]])
for base in (10_000, 160_000):
    rotated = attempt(rotary, vector.expand(1, 1, 12, 64), gaps, base)
    if rotated is not None:
        products = (rotated[0, 0] @ vector[0, 0, 0]) / vector.square().sum()
        print(f"base {base:>7,}, slowest pair {attempt(slowest, 64, base) or 0:>9,.0f} tokens: " + "  ".join(f"{gap} {product:.2f}" for gap, product in zip(gaps[0].tolist(), products.tolist())))

# %% [markdown] nbgrader={"grade": false, "grade_id": "geglu-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 2. GeGLU
#
# **Why.** It is the feed-forward layer of ModernBERT, Gemma and T5 1.1; with another activation it is LLaMA's. One matrix computes both the gate and what passes through it, and which half is which is a convention that no shape shows.
#
# **Difficulty** 2 of 5 · **Time** 10 minutes · **Points** 4 · **Paper** Shazeer (2020), equation 5; Warner et al. (2024), section 2.1.1
#
# The matrix `gate_up` maps a token's vector $x$ to $2F$ dimensions. The first $F$ are the **gate** $g$, the other $F$ are $u$. GELU is applied to the gate alone, the two are multiplied elementwise, and `down` maps back:
#
# $$\text{geglu}(x) = \text{down} \cdot (\text{GELU}(g) \odot u)$$
#
# GELU is the exact one, $\text{GELU}(z) = z \cdot \Phi(z)$, with the probability $\Phi(z)$ that a standard normal variable is below $z$.
#
# Write `geglu(x, gate_up, down)`; `x` is $(\dots, C)$, `gate_up` $(2F, C)$ and `down` $(C, F)$, and the result has the shape of `x`.
#
# **By hand.** $C = F = 1$ and $x = 1$; `gate_up` has the rows 1 and 3, `down` is 2. Then $g = 1$, $u = 3$, $\text{GELU}(1) = 0.841$, and the result is $2 \cdot 0.841 \cdot 3 =$ **5.048**. With gate and up exchanged it would be $2 \cdot 2.996 \cdot 1 = 5.992$.
#
# **Rules**
# 1. Matrices act as in `nn.Linear`: $x W^\top$, without a bias.
# 2. The tanh approximation of GELU differs in the fourth digit and is wrong here.
# 3. Gates may be as large as 1,000, positive or negative. The result is differentiable with respect to all three arguments, without NaN.
#
# <details><summary>Hint 1: a nudge</summary>
#
# How many dimensions does `x @ gate_up.T` have for each token, and which of them are the gate?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# One matmul, split in two along the last axis; `torch.nn.functional.gelu` without its `approximate`; an elementwise product; a matmul with `down.T`.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# A table holds first the prices of n things and then how many of each were sold; a thing of negative price counts as free.
#
# ```python
# def revenue(table):                                       # (..., 2n)
#     prices, sold = table.chunk(2, dim=-1)
#     return (torch.relu(prices) * sold).sum(-1)
# ```
#
# `revenue(torch.tensor([5.0, -1.0, 2.0, 9.0]))` is 10.
#
# </details>
# <details><summary>Fine print</summary>
#
# `x` may have any number of axes, the last of length $C$; with one axis it is a single token. Everything is float32. Entries are near 1 except for those that make a gate large.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "geglu", "locked": false, "schema_version": 3, "solution": true, "task": false}
def geglu(x: Float[Tensor, "*B C"], gate_up: Float[Tensor, "G C"], down: Float[Tensor, "C F"]) -> Float[Tensor, "*B C"]:
    """down(GELU(gate) * up), gate and up being the first and the second half of gate_up(x)."""
    ### BEGIN SOLUTION
    gate, up = (x @ gate_up.T).split(down.shape[1], dim=-1)
    return (nn.functional.gelu(gate) * up) @ down.T
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "geglu-check", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(geglu)

# %% [markdown] nbgrader={"grade": false, "grade_id": "geglu-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Does a gate cost more? At ModernBERT-base's sizes, three matrices with 1,152 units have fewer parameters than BERT's two with 3,072.

# %% nbgrader={"grade": false, "grade_id": "look-geglu", "locked": true, "schema_version": 3, "solution": false, "task": false}
generator = torch.Generator().manual_seed(2)
gate_up, down = (torch.randn(size, generator=generator) / 768**0.5 for size in ((2 * 1152, 768), (768, 1152)))
made = attempt(geglu, torch.randn(5, 768, generator=generator), gate_up, down)
if made is not None:
    print(f"in: 5 tokens with 768 dimensions, out: {tuple(made.shape)}; {gate_up.numel() + down.numel():,} parameters, in BERT {2 * 768 * 3072:,} and the biases")

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-near", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 2. Local and global attention

# %% [markdown] nbgrader={"grade": false, "grade_id": "local_mask-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 3. The mask of a local layer
#
# **Why.** Two of three layers attend through this window. Published engines have read "window 128" as 128 to each side, and as 64 with one too few.
#
# **Difficulty** 1 of 5 · **Time** 8 minutes · **Points** 4 · **Paper** Warner et al. (2024), section 2.1.2; Beltagy et al. (2020), section 3.1
#
# Token $i$ sees token $j$ if they are at most `window // 2` positions apart, on either side, so it sees itself. A window of 128 is 64 tokens to the left, 64 to the right, and the token itself: 129 in all, away from the ends.
#
# Write `local_mask(T, window)`. It returns a Boolean mask $(T, T)$: row $i$, column $j$ is True where $i$ sees $j$.
#
# **By hand.** $T = 4$, window 2: one to each side.
#
# | | 0 | 1 | 2 | 3 |
# | --- | :-: | :-: | :-: | :-: |
# | 0 | True | True | | |
# | 1 | True | True | True | |
# | 2 | | True | True | True |
# | 3 | | | True | True |
#
# **Rules**
# 1. There is nothing before the first token and after the last: a window at the end is cut, it does not continue at the other side.
# 2. The window may be odd, 0, or wider than the text: with 0 or 1 each token sees itself alone.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Compute a table of distances first.
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# `torch.arange(T)` once as a column and once as a row; their difference is $(T, T)$.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# Which of some times lie within an hour of each other, if none counts as near itself?
#
# ```python
# def same_hour(minutes):                                   # (n)
#     gaps = (minutes[:, None] - minutes).abs()
#     return (gaps <= 60) & (gaps > 0)
# ```
#
# </details>
# <details><summary>Fine print</summary>
#
# `T` is an int from 1 to 1,000; `window` is an int from 0 to 100,000.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "local_mask", "locked": false, "schema_version": 3, "solution": true, "task": false}
def local_mask(T: int, window: int) -> Bool[Tensor, "T T"]:
    """True where two tokens are at most window // 2 positions apart."""
    ### BEGIN SOLUTION
    positions = torch.arange(T)
    return (positions[:, None] - positions).abs() <= window // 2
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "local_mask-check", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(local_mask)

# %% [markdown] nbgrader={"grade": false, "grade_id": "local_mask-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Twelve tokens and a window of 4.

# %% nbgrader={"grade": false, "grade_id": "look-local_mask", "locked": true, "schema_version": 3, "solution": false, "task": false}
seen = attempt(local_mask, 12, 4)
if seen is not None:
    print("\n".join(" ".join("#" if one else "." for one in row) for row in seen.tolist()))
    print(f"{int(seen.sum())} of {seen.numel()} pairs")

# %% [markdown] nbgrader={"grade": false, "grade_id": "count_pairs-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 4. Counting pairs
#
# **Why.** Attention's cost is the number of pairs. "A window of 128 in 8,192 tokens is 64 times cheaper" is true of one layer, and not of the model.
#
# **Difficulty** 2 of 5 · **Time** 12 minutes · **Points** 4 · **Paper** Warner et al. (2024), section 2.1.2
#
# A pair is a token and one that it sees, itself included. A text of $T$ tokens passes through some `layers`, numbered from 0. The layers 0, `every`, 2 · `every` and so on are global: each token sees all. All others are local, with `window // 2` tokens to each side, as in exercise 3.
#
# Write `count_pairs(T, layers, window, every)`. It returns a dictionary of three ints:
#
# - `"local"`: how many pairs a local layer has (also where no layer is local);
# - `"global_layers"`: how many of the layers are global;
# - `"total"`: how many pairs all layers have together.
#
# **By hand.** $T = 8$ and window 2. Six tokens see three, the two at the ends see two: **22** pairs, of 64 in a global layer. With 4 layers and `every` = 3, layers 0 and 3 are global: **2**. Together $2 \cdot 64 + 2 \cdot 22 =$ **172** pairs.
#
# **Rules**
# 1. The text may be shorter than the window. No token sees more than the text has.
# 2. `every` may be 1, and it may be larger than the number of layers.
# 3. The counts are large: use ints, no floats. A mask of $T \times T$ does not fit for the longest texts.
#
# <details><summary>Hint 1: a nudge</summary>
#
# How many tokens would all see together if the text had no ends? How many of these are missing at the left end?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# With $h$ to each side and $h < T$, there are $T (2h + 1)$ without ends. At each end the first token lacks $h$, the next $h - 1$, and so on. For a shorter text, $T - 1$ to each side is as good as $h$. Which global layer is the last? Rounding up is `-(-a // b)`.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# On a street of `n` houses everybody greets the next three to the right, if they are there; and lamps stand at the houses 0, `k`, 2 · `k`, and so on.
#
# ```python
# def street(n, k):
#     h = min(3, n - 1)
#     return {"greetings": n * h - h * (h + 1) // 2, "lamps": (n - 1) // k + 1}
# ```
#
# `street(5, 2)` has 9 greetings and 3 lamps.
#
# </details>
# <details><summary>Fine print</summary>
#
# All are ints: `T` from 1 to 100,000, `layers` from 1 to 300, `window` from 0 to 200,000, `every` from 1 to 300.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "count_pairs", "locked": false, "schema_version": 3, "solution": true, "task": false}
def count_pairs(T: int, layers: int, window: int, every: int) -> dict[str, int]:
    """The pairs of one local layer, the number of global layers, and the pairs of all."""
    ### BEGIN SOLUTION
    side = min(window // 2, T - 1)
    local = T * (2 * side + 1) - side * (side + 1)
    far = (layers - 1) // every + 1
    return {"local": local, "global_layers": far, "total": far * T**2 + (layers - far) * local}
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "count_pairs-check", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(count_pairs)

# %% [markdown] nbgrader={"grade": false, "grade_id": "count_pairs-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ModernBERT-base: 22 layers, a window of 128, one global layer in three. How many times fewer pairs than if all were global?

# %% nbgrader={"grade": false, "grade_id": "look-count_pairs", "locked": true, "schema_version": 3, "solution": false, "task": false}
for T in (128, 512, 2048, 8192, 32_768):
    found = attempt(count_pairs, T, 22, 128, 3)
    if found is not None:
        print(f"{T:>6,} tokens: one local layer has {T * T / found['local']:6.1f} times fewer pairs, the whole model {22 * T * T / found['total']:.2f} times")

# %% [markdown] nbgrader={"grade": false, "grade_id": "Block-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 5. ModernBERT's block
#
# **Why.** Every layer of ModernBERT is this class. At the end of the notebook yours runs with trained weights.
#
# **Difficulty** 5 of 5 · **Time** 30 minutes · **Points** 6 · **Paper** Warner et al. (2024), sections 2.1.1 and 2.1.2
#
# Write a class `Block`, an `nn.Module`. `Block(C, F, H, layer, window)` is block number `layer` of a model, counted from 0, and `block(x, mask)` maps vectors $(B, T, C)$ to vectors $(B, T, C)$. Its parameters, none of which is a bias:
#
# | name | shape | |
# | --- | --- | --- |
# | `attention_norm.weight` | $(C)$ | **not there** in layer 0 |
# | `qkv.weight` | $(3C, C)$ | queries, then keys, then values |
# | `out.weight` | $(C, C)$ | |
# | `feed_forward_norm.weight` | $(C)$ | |
# | `gate_up.weight` | $(2F, C)$ | gate first |
# | `down.weight` | $(C, F)$ | |
#
# - $x \leftarrow x + \text{attention}(\text{norm}(x))$. A norm is LayerNorm over the last axis with $\varepsilon = 10^{-5}$ under the root. Layer 0 has none here: its input has just been normalized.
# - *Attention*: `qkv` maps each token to $3C$ dimensions: first its query, then key and value. Head $h$ has the columns $hD$ to $(h+1)D - 1$ of each, with $D = C/H$. Queries and keys are rotated as in exercise 1, with positions 0, 1, 2, … from the left in every sequence. Scores are divided by $\sqrt{D}$. The heads are concatenated and go through `out`.
# - *Layers 0, 3, 6, … are global*: a token sees all tokens of its sequence, and the RoPE base is **160,000**. All others are *local*: a token sees those at most `window // 2` positions away, and the base is **10,000**.
# - $x \leftarrow x + \text{geglu}(\text{norm}(x))$, with `feed_forward_norm`, and exercise 2's function with `gate_up` and `down`.
#
# `mask` $(B, T)$ is True at tokens and False at padding. No token sees padding.
#
# **By hand.** One token, so that it sees itself only. $C = 2$, $F = 1$, $H = 1$, layer 0. `qkv` has the rows of the identity three times, `out` is the identity, `gate_up` is 0. The value of $x = (1, 3)$ is $(1, 3)$, and the sum is **(2, 6)**; the gate is closed. In layer 1, with a norm weight of 1, the normalized x is $(-1, 1)$, and the result is **(0, 4)**.
#
# **Rules**
# 1. What the block returns **at** padding is yours to choose, but it must be finite, also where padding has no token to attend to, and where a whole sequence is padding: NaN would reach the tokens in the next layer.
# 2. Scores, divided by the root, may be as large as 10,000, positive or negative. What is masked stays masked then.
# 3. The block is trained: a gradient reaches `x` and every parameter. There is no dropout, and the `state_dict` holds the parameters of the table and nothing else.
# 4. You may call your own functions of exercises 1 to 3. If one is not right yet, write here what you need of it: every exercise is graded with what your notebook holds.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Write it for layer 0 first, without a mask, and check it. Each stage of the check switches on one part more.
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# `self.qkv(…).chunk(3, dim=2)`, each `.unflatten(2, (H, -1)).transpose(1, 2)` is $(B, H, T, D)$. What may be seen: `mask[:, None, None, :]`, in local layers `&` your `local_mask`. Is there a row of scores that is masked completely? If a token may see itself in any case, padding included, there is none. For layer 0 `nn.Identity()` is a norm that does nothing and has no parameter.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# A layer that takes the mean of what a mask leaves, has a residual connection, and a scale in all layers but the first:
#
# ```python
# class Mean(nn.Module):
#     def __init__(self, C, layer):
#         super().__init__()
#         self.norm = nn.LayerNorm(C, bias=False) if layer else nn.Identity()
#
#     def forward(self, x, mask):                           # (B, T, C), (B, T)
#         seen = mask[..., None]
#         mean = (self.norm(x) * seen).sum(1, keepdim=True) / seen.sum(1, keepdim=True).clamp(min=1)
#         return x + mean
# ```
#
# `Mean(4, 0).state_dict()` is empty, and a sequence that is all padding gets 0, not NaN.
#
# </details>
# <details><summary>Fine print</summary>
#
# $C$ is at most 300, $H$ a divisor of it with $D$ even, $F$ at most 300, `layer` from 0 to 40, `window` from 0 to 1,000; `x` is float32 with entries from -100 to 100; padding may be anywhere. `nn.LayerNorm(C, bias=False)` and `nn.Linear(…, bias=False)` have the parameters of the table. The check loads weights of its own by these names: how you initialize them plays no part. A table that you keep as a buffer needs `persistent=False`. There are no near ties among large scores. Two blocks share nothing, and a block keeps nothing of one call for the next. Results are compared at tokens, to three digits and to 0.001 near 0.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "Block", "locked": false, "schema_version": 3, "solution": true, "task": false}
class Block(nn.Module):
    """Block number `layer` of ModernBERT: attention, then GeGLU, each with a norm before and a residual around."""

    def __init__(self, C: int, F: int, H: int, layer: int, window: int):
        super().__init__()
        ### BEGIN SOLUTION
        self.H, self.window, self.is_global = H, window, layer % 3 == 0
        self.attention_norm = nn.LayerNorm(C, bias=False) if layer > 0 else nn.Identity()
        self.qkv, self.out = nn.Linear(C, 3 * C, bias=False), nn.Linear(C, C, bias=False)
        self.feed_forward_norm = nn.LayerNorm(C, bias=False)
        self.gate_up, self.down = nn.Linear(C, 2 * F, bias=False), nn.Linear(F, C, bias=False)
        ### END SOLUTION

    def forward(self, x: Float[Tensor, "B T C"], mask: Bool[Tensor, "B T"]) -> Float[Tensor, "B T C"]:
        """`mask` is True where a token stands."""
        ### BEGIN SOLUTION
        B, T, _ = x.shape
        q, k, v = (part.unflatten(2, (self.H, -1)).transpose(1, 2) for part in self.qkv(self.attention_norm(x)).chunk(3, dim=2))
        positions = torch.arange(T).expand(B, T)
        q, k = (rotary(part, positions, 160_000 if self.is_global else 10_000) for part in (q, k))
        near = local_mask(T, 2 * T if self.is_global else self.window)
        seen = mask[:, None, None, :] & near | torch.eye(T, dtype=torch.bool)             # padding sees itself, so that no row is empty
        scores = (q @ k.mT / q.shape[3] ** 0.5).masked_fill(~seen, -torch.inf)
        x = x + self.out((scores.softmax(3) @ v).transpose(1, 2).flatten(2))
        return x + geglu(self.feed_forward_norm(x), self.gate_up.weight, self.down.weight)
        ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "Block-check", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
check(Block)

# %% [markdown] nbgrader={"grade": false, "grade_id": "Block-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# How far does a change travel? The first of forty tokens is changed. Which tokens does that reach after one local layer, with a window of 8, after two, after one global layer?

# %% nbgrader={"grade": false, "grade_id": "look-Block", "locked": true, "schema_version": 3, "solution": false, "task": false}
torch.manual_seed(0)
x, mask = torch.randn(1, 40, 16), torch.ones(1, 40, dtype=torch.bool)
other = x.clone()
other[0, 0, :8] += 1
for name, layers in {"one local layer": (1,), "two local layers": (1, 2), "two local, one global": (1, 2, 3)}.items():
    blocks = [attempt(Block, 16, 24, 2, layer, 8) for layer in layers]
    if None not in blocks:
        one, two = x, other
        for block in blocks:
            one, two = attempt(block, one, mask), attempt(block, two, mask)
            if one is None:
                break
        if one is not None:
            reached = ((one - two).abs().amax(2) > 0)[0].nonzero()
            print(f"{name:<22} reaches up to token {int(reached.max())}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-padding", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 3. Unpadding and sequence packing

# %% [markdown] nbgrader={"grade": false, "grade_id": "unpad-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 6. Unpadding
#
# **Why.** Norms, matrices and GeGLU treat each token alone, whatever sequence it is in. So ModernBERT concatenates all tokens of a batch and computes nothing for padding.
#
# **Difficulty** 3 of 5 · **Time** 18 minutes · **Points** 6 · **Paper** Warner et al. (2024), section 2.1.2
#
# Write `unpad(ids, mask)`; `ids` is a batch $(B, T)$, and `mask` $(B, T)$ is True at tokens. It returns a tuple of three tensors:
#
# - `tokens` $(N)$: the ids of all tokens, sequence after sequence, each in its order, without padding;
# - `cu_seqlens` $(B + 1)$, **int32**: where each sequence begins among them. Sequence $b$ is `tokens[cu[b]:cu[b + 1]]`. So it begins with 0, ends with $N$, and has one more entry than there are sequences. Kernels for packed sequences ask for just this tensor, in this dtype;
# - `positions` $(N)$: the position of each token in its own sequence, from 0 on. Learned position embeddings, as in BERT, need it.
#
# **By hand.** Two sequences, the second padded on the left.
#
# | | | | | |
# | --- | --- | --- | --- | --- |
# | `ids` | 5 6 7 8 | | 0 0 9 4 | |
# | `mask` | True True True False | | False False True True | |
#
# `tokens` is **5 6 7 9 4**, `cu_seqlens` is **0 3 5**, `positions` are **0 1 2 0 1**.
#
# **Rules**
# 1. Padding may be anywhere: after a sequence, before it, or in the middle. It is not counted: a token's position is the number of tokens of its sequence before it.
# 2. A sequence may be padding throughout. It has no tokens and two equal neighbouring entries in `cu_seqlens`. All sequences may be so; then $N$ is 0.
# 3. The id at padding is not promised. It may be the id of a token, and a token may have the id 0.
#
# <details><summary>Hint 1: a nudge</summary>
#
# What does `ids[mask]` do, and in which order?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# `mask.sum(1)` are the lengths; `cumsum` adds them up, and a 0 goes in front. For positions: `mask.cumsum(1)` counts the tokens of a sequence up to each position, the token itself included.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# Rows of seats, some taken. How many people sit in all rows up to each one, and which number in their row has each of them, counted from 1?
#
# ```python
# def seated(taken):                                        # (rows, seats), Boolean
#     return taken.sum(1).cumsum(0), taken.cumsum(1)[taken]
# ```
#
# `seated(torch.tensor([[True, False, True], [False, True, False]]))` gives 2 3 and 1 2 1.
#
# </details>
# <details><summary>Fine print</summary>
#
# `ids` are int64, from 0 to a billion. The result is a tuple: int64 $(N)$, int32 $(B + 1)$, int64 $(N)$.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "unpad", "locked": false, "schema_version": 3, "solution": true, "task": false}
def unpad(ids: Int[Tensor, "B T"], mask: Bool[Tensor, "B T"]) -> tuple[Int[Tensor, "N"], Int[Tensor, " b"], Int[Tensor, "N"]]:
    """The tokens of all texts end to end, where each text begins, and each token's position in its own."""
    ### BEGIN SOLUTION
    cu_seqlens = torch.zeros(len(mask) + 1, dtype=torch.int32)
    cu_seqlens[1:] = mask.sum(1).cumsum(0)
    positions = (mask.cumsum(1) - 1)[mask]
    return ids[mask], cu_seqlens, positions
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "unpad-check", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
check(unpad)

# %% [markdown] nbgrader={"grade": false, "grade_id": "unpad-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The batch of the example, and one of 64 sequences with lengths as in a dictionary: what fraction of it was padding?

# %% nbgrader={"grade": false, "grade_id": "look-unpad", "locked": true, "schema_version": 3, "solution": false, "task": false}
made = attempt(unpad, torch.tensor([[5, 6, 7, 8], [0, 0, 9, 4]]), torch.tensor([[True, True, True, False], [False, False, True, True]]))
if made is not None:
    print("by hand:", *(one.tolist() for one in made))
    lengths = (torch.randn(64, generator=torch.Generator().manual_seed(6)) * 0.6 + 2.6).exp().long().clamp(min=3)
    mask = torch.arange(int(lengths.max())) < lengths[:, None]
    tokens = unpad(torch.ones(mask.shape, dtype=torch.long), mask)[0]
    print(f"64 texts: {mask.numel():,} positions, {len(tokens):,} tokens, {1 - len(tokens) / mask.numel():.0%} is padding")

# %% [markdown] nbgrader={"grade": false, "grade_id": "packed_attention-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 7. Attention in a packed row
#
# **Why.** Of all that a block computes, attention alone must know where a sequence ends. Without this function, sequences in one row attend to each other, and no shape, no error and no falling loss says so.
#
# **Difficulty** 5 of 5 · **Time** 30 minutes · **Points** 8 · **Paper** Warner et al. (2024), section 2.1.2; Krell et al. (2021), section 3.2
#
# Queries, keys and values of $N$ tokens are concatenated as in exercise 6, and `cu_seqlens` says where each sequence begins. A token sees the tokens of its own sequence and no other; with a `window` only those at most `window // 2` positions away. For each head and each query:
#
# $$\text{out}_i = \sum_{j \text{ seen by } i} \text{softmax}_j\!\left(\frac{q_i \cdot k_j}{\sqrt{D}}\right) v_j$$
#
# Write `packed_attention(q, k, v, cu_seqlens, window)`; `q`, `k`, `v` and the result are $(H, N, D)$, and `window` is an int or None.
#
# **By hand.** $H = D = 1$, all queries and keys 0, so that all weights are equal. The values are 1, 3 and 10, 20, 60, and `cu_seqlens` is 0 2 5. The result is **2, 2, 30, 30, 30**. With a window of 2 it is **2, 2, 15, 30, 40**: the last token of the first sequence does not see the first one of the second, though that is its neighbour.
#
# **Rules**
# 1. Sequences may be empty, the first and the last included: two neighbouring entries of `cu_seqlens` are equal. With $N = 0$ the result has shape $(H, 0, D)$.
# 2. Scores, divided by the root, may be as large as 10,000, positive or negative: no NaN, and what is not seen plays no part.
# 3. *Memory.* With up to 8,192 tokens, and either no sequence longer than 512 or a window of at most 64, your function must work with 32 MiB in addition to its arguments. Take some hundred queries at a time: one by one they take longer than five seconds, and a Boolean mask of all tokens by all tokens has 64 MiB.
# 4. The result is differentiable with respect to `q`, `k` and `v`.
#
# <details><summary>Hint 1: a nudge</summary>
#
# A loop over the sequences needs no mask at all, as long as there is no window. What does a sequence of 8,192 tokens need with a window of 8? Which keys can the first 100 queries see?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# For each sequence from `start` to `stop`, and for each piece of some 128 queries of it, from `first` to `last`: the keys that any of them sees go from `max(first - side, start)` to `min(last + side, stop)`. Scores of this small rectangle, minus infinity where the distance is above `side`, softmax, matmul, and write it into rows `first` to `last` of the result. An empty sequence has no piece. Without a window a piece may be the whole sequence.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# Smooth several concatenated measurements: each value becomes the mean of itself and its left neighbour, in its own measurement.
#
# ```python
# def smoothed(values, ends):                               # (N), a list of bounds
#     out = values.clone()
#     for start, stop in zip(ends, ends[1:]):
#         for at in range(start, stop):
#             out[at] = values[max(at - 1, start):at + 1].mean()
#     return out
# ```
#
# `smoothed(torch.tensor([2.0, 4.0, 8.0]), [0, 2, 2, 3])` is 2, 3, 8.
#
# </details>
# <details><summary>Fine print</summary>
#
# Everything is float32; $N$ is from 0 to 300, or to 8,192 in the cases of the memory test, which have $H = 1$ and $D$ at most 8, and among which is a sequence of 8,192 tokens with a window. The 32 MiB include the result. `cu_seqlens` is int32, from 0 to $N$ and never decreasing, for 1 to 300 sequences. `window` is None or an int from 0 to 100,000, possibly wider than a sequence. For $N = 0$, `q` itself will do. Gradients are tested for at most 300 tokens.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "packed_attention", "locked": false, "schema_version": 3, "solution": true, "task": false}
def packed_attention(q: Float[Tensor, "H N D"], k: Float[Tensor, "H N D"], v: Float[Tensor, "H N D"], cu_seqlens: Int[Tensor, " b"],
                     window: int | None) -> Float[Tensor, "H N D"]:
    """Attention inside each text, and there inside the window."""
    ### BEGIN SOLUTION
    out, bounds = torch.empty_like(q), cu_seqlens.tolist()
    for start, stop in zip(bounds, bounds[1:]):
        side = stop - start if window is None else window // 2
        for first in range(start, stop, 512):
            last = min(first + 512, stop)
            low, high = max(first - side, start), min(last + side, stop)                  # the keys that some of these queries see
            scores = torch.bmm(q[:, first:last], k[:, low:high].mT) / q.shape[2] ** 0.5
            gaps = torch.arange(first, last)[:, None] - torch.arange(low, high)
            out[:, first:last] = torch.bmm(scores.masked_fill(gaps.abs() > side, -torch.inf).softmax(2), v[:, low:high])
    return out
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "packed_attention-check", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
check(packed_attention)

# %% [markdown] nbgrader={"grade": false, "grade_id": "packed_attention-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The example; and a row of two texts with 4 and 8 tokens: how many pairs are there, packed, padded to 8, and without borders?

# %% nbgrader={"grade": false, "grade_id": "look-packed_attention", "locked": true, "schema_version": 3, "solution": false, "task": false}
none, values = torch.zeros(1, 5, 1), torch.tensor([[[1.0], [3.0], [10.0], [20.0], [60.0]]])
for window in (None, 2):
    made = attempt(packed_attention, none, none, values, torch.tensor([0, 2, 5], dtype=torch.int32), window)
    if made is not None:
        print(f"window {window}: {[round(one, 3) for one in made.flatten().tolist()]}")
print(f"4 and 8 tokens: {4**2 + 8**2} pairs in their own texts, {2 * 8**2} padded, {12**2} without borders")

# %% [markdown] nbgrader={"grade": false, "grade_id": "pack_rows-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 8. First-fit decreasing
#
# **Why.** Training wants rows of one length, and texts have many. Packed well, a row of 8,192 tokens has hardly a gap; one text per row would be mostly padding.
#
# **Difficulty** 3 of 5 · **Time** 15 minutes · **Points** 5 · **Paper** Krell et al. (2021), section 3.1; Warner et al. (2024), section 2.2, packs greedily as well
#
# Write `pack_rows(lengths, budget)`. `lengths` are the numbers of tokens of some texts. Put every text into a row, so that no row has more than `budget` tokens, and return the rows: a list of lists, each with the **indices of the texts** in it, counted from 0, in any order.
#
# Finding the fewest rows is hard. You may use no more rows than *first-fit decreasing*: take the texts from the longest to the shortest, and put each into the first row that still has room for it; if none has, begin a new row. A better packing is welcome, and the rows may come in any order. *Best fit*, which puts each text into the fullest row that has room, sounds better and sometimes needs a row more: that is too many.
#
# **By hand.** Lengths 3, 7, 5, 2, 3 and budget 10. The longest is text 1, which begins a row; text 2 does not fit there and begins the next; text 0 fills the first, 7 + 3 = 10; text 4 goes to the second, 5 + 3 = 8; text 3 fills that. Two rows, **[[1, 0], [2, 4, 3]]**, both full. Taken in the given order, each into the last row only, they need three.
#
# **Rules**
# 1. Each index from 0 to `len(lengths) - 1` is in exactly one row. No row is an empty list; without texts there are no rows.
# 2. A text may have 0 tokens. It is in a row as well and takes no room.
# 3. A row may be filled to the last token. No text is longer than the budget.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Sort the indices of the texts, not the lengths: what you return are indices.
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# `sorted(range(len(lengths)), key=…)`. Keep two lists: the rows, and how much room each has left. For each text find the first row with enough room.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# Guests take the first table whose bench has room for their party; tables are added as needed. Parties come in the given order.
#
# ```python
# def tables(parties, seats):
#     free = []
#     for party in parties:
#         table = next((table for table, left in enumerate(free) if left >= party), None)
#         if table is None:
#             free.append(seats - party)
#         else:
#             free[table] -= party
#     return len(free)
# ```
#
# `tables([4, 3, 2], 6)` is 2.
#
# </details>
# <details><summary>Fine print</summary>
#
# `lengths` is a list of 0 to 300 ints of at least 0; `budget` is an int from 1 to a million, and no length is above it.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "pack_rows", "locked": false, "schema_version": 3, "solution": true, "task": false}
def pack_rows(lengths: list[int], budget: int) -> list[list[int]]:
    """The numbers of the texts, row by row: first-fit decreasing."""
    ### BEGIN SOLUTION
    rows, left = [], []
    for text in sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True):
        row = next((row for row, free in enumerate(left) if free >= lengths[text]), len(rows))
        if row == len(rows):
            rows.append([])
            left.append(budget)
        rows[row].append(text)
        left[row] -= lengths[text]
    return rows
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "pack_rows-check", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check(pack_rows)

# %% [markdown] nbgrader={"grade": false, "grade_id": "pack_rows-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# 300 texts with lengths as in a dictionary, in rows of 128 and of 1,024 tokens: how full are they?

# %% nbgrader={"grade": false, "grade_id": "look-pack_rows", "locked": true, "schema_version": 3, "solution": false, "task": false}
lengths = (torch.randn(300, generator=torch.Generator().manual_seed(8)) * 0.6 + 2.6).exp().long().clamp(3, 128).tolist()
for budget in (128, 1024):
    rows = attempt(pack_rows, lengths, budget)
    if rows:
        print(f"rows of {budget:>5,}: {len(rows):>3} of them, {sum(lengths) / (len(rows) * budget):.1%} full; the fewest possible are at least {-(-sum(lengths) // budget)}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "lay_rows-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 9. One wrong line: packing the rows
#
# **Why.** A fault like this one changes no shape and hides well. With RoPE it changes nothing but rounding. With learned position embeddings, as in BERT, every text but a row's first is read at wrong positions, and beyond position 511 there is no embedding at all.
#
# **Difficulty** 2 of 5 · **Time** 8 minutes · **Points** 2 · **Paper** Krell et al. (2021), section 3.2
#
# `texts` are lists of ids, and `rows` say which texts share a row, as exercise 8 returns them. For each row, `lay_rows(texts, rows)` returns a tuple of three lists: the concatenated `ids` of its texts, in the row's order; `cu_seqlens`, as in exercise 6; and the `positions`, each token's position **in its own text**, from 0 on.
#
# The function below runs without complaint. **Exactly one** of its seven numbered lines is wrong.
#
# ```python
# def lay_rows(texts, rows):
#     laid = []                                                                           # line 1
#     for row in rows:                                                                    # line 2
#         ids = [token for text in row for token in texts[text]]                          # line 3
#         cu_seqlens = [0, *accumulate(len(texts[text]) for text in row)]                 # line 4
#         positions = [position for position in range(len(ids))]                          # line 5
#         laid.append((ids, cu_seqlens, positions))                                       # line 6
#     return laid                                                                         # line 7
# ```
#
# One and a half points are for the repaired function: copy it and change that line, or write your own. Half a point is for the line's number, a plain `int`, which `wrong_line` returns. Each is graded on its own. `accumulate` is imported above.
#
# **By hand.** The texts 5 6 7 and 8 9, and one row, [1, 0]. `ids` are **8 9 5 6 7**, `cu_seqlens` is **0 2 5**, `positions` are **0 1 0 1 2**.
#
# **Rules**
# 1. A text may be empty: it adds no ids, and an entry to `cu_seqlens`.
# 2. Rows may leave texts out. A row has at least one text.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Run the lines one by one on the example, and compare what each name holds.
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Which line should depend on the single texts, and does not?
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# Trains are parked one after the other. Which number does each coach have in its own train?
#
# ```python
# def coaches(trains):                                      # a list of lengths
#     return [number for length in trains for number in range(length)]
# ```
#
# `coaches([2, 3])` is 0 1 0 1 2.
#
# </details>
# <details><summary>Fine print</summary>
#
# `texts` is a list of 1 to 300 lists of at most 300 ints, each from 0 to a billion; `rows` is a list of at most 300 lists of 1 to 300 indices of texts, no index twice in all of them. The result is a list of tuples of three lists of ints; without rows, an empty list.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "lay_rows", "locked": false, "schema_version": 3, "solution": true, "task": false}
def wrong_line() -> int:
    """The number, 1 to 7, of the line that is wrong."""
    ### BEGIN SOLUTION
    return 5
    ### END SOLUTION


def lay_rows(texts: list[list[int]], rows: list[list[int]]) -> list[tuple[list[int], list[int], list[int]]]:
    """The function of the statement, with the wrong line repaired."""
    ### BEGIN SOLUTION
    laid = []
    for row in rows:
        ids = [token for text in row for token in texts[text]]
        cu_seqlens = [0, *accumulate(len(texts[text]) for text in row)]
        positions = [position for text in row for position in range(len(texts[text]))]
        laid.append((ids, cu_seqlens, positions))
    return laid
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "lay_rows-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(lay_rows)

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-long", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 4. Extending RoPE

# %% [markdown] nbgrader={"grade": false, "grade_id": "yarn_frequencies-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 10. YaRN's frequencies
#
# **Why.** gpt-oss, Qwen and DeepSeek-V3 read far more tokens than they were first trained on, with RoPE's frequencies changed by this function. Slowing every pair alike would squeeze neighbours together; slowing none leads to angles that no weight has seen.
#
# **Difficulty** 3 of 5 · **Time** 18 minutes · **Points** 4 · **Paper** Peng et al. (2024), sections 3.2 and 3.4
#
# A head of $D$ dimensions has $D/2$ pairs with frequencies $\omega_i = \text{base}^{-2i/D}$, in radians per position. In the training length of $N$ tokens, pair $i$ completes $r_i = N \omega_i / 2\pi$ rotations. To read $sN$ tokens, *NTK-by-parts* mixes each frequency with the one divided by $s$:
#
# $$\omega_i' = (1 - \gamma_i)\, \frac{\omega_i}{s} + \gamma_i\, \omega_i \qquad \gamma_i = \begin{cases} 0 & r_i < \alpha \\ 1 & r_i > \beta \\ (r_i - \alpha) / (\beta - \alpha) & \text{otherwise} \end{cases}$$
#
# YaRN also multiplies the tables of cosines and sines by the **temperature factor** $0.1 \ln s + 1$, so that scores grow by its square.
#
# Write `yarn_frequencies(D, base, s, N, alpha, beta)`. It returns a tuple: the new frequencies, a float32 tensor $(D/2)$, and the temperature factor, a float.
#
# **By hand.** $D = 6$, base 1000, $s = 4$, $N = 100$, $\alpha = 1$, $\beta = 4$. The frequencies are 1, 0.1 and 0.01, and the pairs complete 15.9, 1.59 and 0.159 rotations, so $\gamma$ is 1, 0.197 and 0. The result is **(1, 0.0398, 0.0025)** and $0.1 \ln 4 + 1 =$ **1.139**.
#
# **Rules**
# 1. The frequencies are mixed, and not the wavelengths or the divisors. $\gamma$ is linear in the rotations $r_i$, and not in the index $i$.
# 2. $s$ may be 1: then nothing changes, and the factor is 1.
#
# <details><summary>Hint 1: a nudge</summary>
#
# How many rotations has each pair? Everything else follows from this vector.
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# `omega` from an exponent of `torch.arange(0, D, 2) / D`; `rotations` is N times omega over 2π; gamma is `((rotations - alpha) / (beta - alpha)).clamp(0, 1)`; then the mix.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# A shop gives no discount up to 10 pieces, half price from 50 pieces on, and a price in between that falls linearly with the number.
#
# ```python
# def prices(full, pieces):                                 # a float, (n)
#     part = ((pieces - 10) / 40).clamp(0, 1)
#     return (1 - part) * full + part * full / 2
# ```
#
# `prices(8.0, torch.tensor([1.0, 30.0, 90.0]))` is 8, 6, 4.
#
# </details>
# <details><summary>Fine print</summary>
#
# $D$ is an even int from 2 to 300; `base` is a float from 2 to 1,000,000; `s` a float from 1 to 64; $N$ an int from 16 to 100,000; `alpha` and `beta` are floats with 0 < `alpha` < `beta` and a difference of at least 0.5. No pair lies within a thousandth of `alpha` or `beta` rotations. Frequencies are compared to 0.001 of each value.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "yarn_frequencies", "locked": false, "schema_version": 3, "solution": true, "task": false}
def yarn_frequencies(D: int, base: float, s: float, N: int, alpha: float, beta: float) -> tuple[Float[Tensor, " P"], float]:
    """The frequencies of NTK-by-parts for s times N tokens, and YaRN's temperature factor."""
    ### BEGIN SOLUTION
    omega = base ** -(torch.arange(0, D, 2) / D)                               # (D/2,)
    rotations = N * omega / (2 * math.pi)
    gamma = ((rotations - alpha) / (beta - alpha)).clamp(0, 1)
    return (1 - gamma) * omega / s + gamma * omega, 0.1 * math.log(s) + 1
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "yarn_frequencies-check", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(yarn_frequencies)

# %% [markdown] nbgrader={"grade": false, "grade_id": "yarn_frequencies-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# gpt-oss: heads of 64 dimensions, base 150,000, trained on 4,096 tokens and extended 32 times. By what is each fourth pair's frequency divided?

# %% nbgrader={"grade": false, "grade_id": "look-yarn_frequencies", "locked": true, "schema_version": 3, "solution": false, "task": false}
made = attempt(yarn_frequencies, 64, 150_000.0, 32.0, 4096, 1.0, 32.0)
if made is not None:
    divisors = 150_000.0 ** -(torch.arange(0, 64, 2) / 64) / made[0]
    print("divided by " + ", ".join(f"{value:.2f}" for value in divisors[::4].tolist()) + f"; temperature factor {made[1]:.3f}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-own-words", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 5. In your own words

# %% [markdown] nbgrader={"grade": false, "grade_id": "leaking_row-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 11. Would you ship it?
#
# **Why.** Leaks look like progress. Anyone who trains a model must be able to tell the two apart, before others build on it.
#
# **Difficulty** 3 of 5 · **Time** 12 minutes · **Points** 4, given by a person who reads it · **Paper** Krell et al. (2021), section 3.2
#
# A colleague trains an encoder by masked language modelling on packed rows of dictionary entries. She writes: *"I dropped `cu_seqlens`: attention now runs over the whole row. The code is simpler, and the loss fell, in training and on held-out rows. Shall we ship it?"*
#
# In about 120 words: what does each token of such a row attend to, and what does the model's vector of a text now depend on? Why can the loss fall, on held-out rows as well, and the model become worse at what it is for? With which check would you show her the leak? And what would you decide, and what could change your mind?
#
# {{rubric}}
#
# Short is fine. Correct and concrete beats long.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Her held-out rows are packed in the same way. And what does the row look like when somebody asks the model for the vector of one sentence?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Neighbours in a dictionary are about the same words. Which masked token does that help to predict? Compare one text alone with the same text after another one.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# *A school lets pupils take their tests in groups. The marks rise, and the head is pleased.* Nobody knows what one of them can do alone, and that is what the certificate states. To find out, give one pupil the same test twice: alone, and in a group. Where groups are what the school is to teach, it would be another matter.
#
# </details>

# %% [markdown] nbgrader={"grade": true, "grade_id": "leaking_row", "locked": false, "points": 4, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# {{samples}}
# ### END SOLUTION

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-real", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Your code runs the real thing
#
# Nothing to write here. Run the cells and watch; they take some seconds.
#
# MiniLM, a trained encoder with learned positions, encodes 200 dictionary entries. First in padded batches, as usual; then with your `unpad`, all of a batch in one row; then with your `pack_rows` and `lay_rows`, in rows of at most 1,024 tokens. In the last two, your `packed_attention` replaces the model's own attention in every layer.
# Then your `Block`, with the `rotary`, `geglu` and `local_mask` that it calls, gets the weights of a small ModernBERT, which was trained by masked language modelling on the King James Bible, byte by byte.

# %% nbgrader={"grade": false, "grade_id": "real-minilm", "locked": true, "schema_version": 3, "solution": false, "task": false}
import time
from unittest.mock import patch

from course.demo import ready
from reference_impl.corpora import load
from reference_impl.layers import attention as attention_layer
from reference_impl.layers.packing import Packing


def yours(q, k, v, cu_seqlens, **others):
    """Your function, called as the course's attention layer calls its own."""
    return packed_attention(q[0], k[0], v[0], cu_seqlens, None)[None]


def in_batches(texts: list[list[int]], size: int = 64) -> list[tuple[Int[Tensor, "B T"], Bool[Tensor, "B T"]]]:
    """Ids and mask of so many texts each, as they come, filled up on the right with 0."""
    made = []
    for start in range(0, len(texts), size):
        some = texts[start:start + size]
        longest = max(map(len, some))
        made.append((torch.tensor([text + [0] * (longest - len(text)) for text in some]), torch.tensor([[True] * len(text) + [False] * (longest - len(text)) for text in some])))
    return made


@torch.no_grad()
def padded(model, texts: list[list[int]]) -> list[Float[Tensor, "T C"]]:
    """The vectors of each text, as everybody makes them."""
    return [vectors[seen] for ids, mask in in_batches(texts) for vectors, seen in zip(model(ids, mask=mask).tokens, mask)]


@torch.no_grad()
def unpadded(model, texts: list[list[int]]) -> list[Float[Tensor, "T C"]]:
    """The same by your `unpad` and `packed_attention`."""
    found = []
    with patch.object(attention_layer, "packed_attention", yours):
        for ids, mask in in_batches(texts):
            tokens, cu_seqlens, positions = unpad(ids, mask)
            vectors = model(tokens[None], packing=Packing(cu_seqlens, int(cu_seqlens.diff().max()), positions)).tokens[0]
            found += [vectors[start:stop] for start, stop in zip(cu_seqlens.tolist(), cu_seqlens.tolist()[1:])]
    return found


@torch.no_grad()
def packed(model, texts: list[list[int]], budget: int, leak: bool = False) -> list[Float[Tensor, "T C"]]:
    """The same by your `pack_rows`, `lay_rows` and `packed_attention`; leak: the ends of the texts are forgotten in attention."""
    found = [torch.empty(0)] * len(texts)
    rows = pack_rows([len(text) for text in texts], budget)
    with patch.object(attention_layer, "packed_attention", yours):
        for row, (ids, bounds, positions) in zip(rows, lay_rows(texts, rows)):
            told = torch.tensor([0, len(ids)] if leak else bounds, dtype=torch.int32)
            vectors = model(torch.tensor([ids]), packing=Packing(told, max(map(len, (texts[text] for text in row))), torch.tensor(positions))).tokens[0]
            for text, start, stop in zip(row, bounds, bounds[1:]):
                found[text] = vectors[start:stop]
    return found


def apart(some: list[Tensor], others: list[Tensor]) -> float:
    """The largest difference of two numbers."""
    return max((one - other).abs().max().item() for one, other in zip(some, others))


def alike(some: list[Tensor], others: list[Tensor]) -> float:
    """The mean cosine of each text's mean vector with the same text's."""
    return sum(torch.cosine_similarity(one.mean(0), other.mean(0), dim=0).item() for one, other in zip(some, others)) / len(some)

# %% nbgrader={"grade": false, "grade_id": "real-minilm-run", "locked": true, "schema_version": 3, "solution": false, "task": false}
if ready(unpad, packed_attention, pack_rows, lay_rows, needs=["minilm", "bert_tokenizer", "oewn_glosses"]):
    minilm, tokenizer = load("minilm").eval(), load("bert_tokenizer")
    texts = [tokenizer.encode(line).ids for line in load("oewn_glosses")[::400][:200]]
    print(f"{len(texts)} entries, {sum(map(len, texts)):,} tokens, {sum(ids.numel() for ids, _ in in_batches(texts)):,} positions in padded batches of 64")
    ways = {"padded": lambda: padded(minilm, texts), "your unpad": lambda: unpadded(minilm, texts), "your rows of 1,024": lambda: packed(minilm, texts, 1024)}
    found = {}
    for name, way in ways.items():
        started, worked = time.perf_counter(), time.process_time()
        found[name] = way()
        print(f"{name:<19} {time.perf_counter() - started:.2f} s, {time.process_time() - worked:.2f} s of processor; apart from padded by {apart(found[name], found['padded']):.0e}")
    leaking = packed(minilm, texts, 1024, leak=True)
    print(f"without the ends of the texts: apart by {apart(leaking, found['padded']):.1f}, a mean cosine of {alike(leaking, found['padded']):.3f} with what the text alone gives")

# %% nbgrader={"grade": false, "grade_id": "real-modernbert", "locked": true, "schema_version": 3, "solution": false, "task": false}
import copy

from reference_impl.corpora.small_models import small_model

NAMES_THERE = {"attention_norm": "attention_norm", "qkv": "attention.qkv", "out": "attention.output", "feed_forward_norm": "feed_forward_norm",
               "gate_up": "feed_forward.gate_up", "down": "feed_forward.down"}
LETTER_BLANK = 256


class InItsPlace(nn.Module):
    """Your block where the course's stood, with its trained weights."""

    def __init__(self, theirs: nn.Module, config, layer: int):
        super().__init__()
        self.block = Block(config.hidden_size, config.intermediate_size, config.num_heads, layer, config.local_attention)
        weights = theirs.state_dict()
        self.block.load_state_dict({f"{name}.weight": weights[f"{there}.weight"] for name, there in NAMES_THERE.items() if f"{there}.weight" in weights})

    def forward(self, x, *_):
        return self.block(x, torch.ones(x.shape[:2], dtype=torch.bool))


def with_your_blocks(model: nn.Module) -> nn.Module:
    """A copy of a small ModernBERT in which all blocks are yours."""
    model = copy.deepcopy(model)
    encoder = model.encoder
    encoder.blocks = nn.ModuleList(InItsPlace(one, encoder.config, layer) for layer, one in enumerate(encoder.blocks))
    return model


def blanked(ids: Int[Tensor, "N"], length: int) -> tuple[Int[Tensor, "B T"], Bool[Tensor, "B T"], Int[Tensor, "B T"]]:
    """Pieces of this length with one letter of seven masked, which ones, and the letters; the same ones for every length."""
    chosen = torch.rand(len(ids), generator=torch.Generator().manual_seed(11)) < 1 / 7
    return tuple(one.view(-1, length) for one in (torch.where(chosen, LETTER_BLANK, ids), chosen, ids))


@torch.no_grad()
def logits_at_blanks(model: nn.Module, ids: Int[Tensor, "N"], length: int) -> tuple[Float[Tensor, "n V"], Int[Tensor, " n"]]:
    """A model's logits at each masked position, and the letter there."""
    shown, chosen, letters = blanked(ids, length)
    return torch.cat([model(some)[here] for some, here in zip(shown.split(8), chosen.split(8))]), letters[chosen]


def bits_a_blank(logits: Float[Tensor, "n V"], letters: Int[Tensor, " n"]) -> float:
    """Bits per masked letter."""
    return (nn.functional.cross_entropy(logits, letters) / math.log(2)).item()


def unseen_letters(number: int) -> Int[Tensor, "N"]:
    """So many letters of verses that no model here was trained on."""
    text = load("kjv")
    start = text.index("\n", 10 * -(-len(text) // 100)) + 1
    return torch.tensor(small_model("modernbert_kjv").tokenizer.encode(text[start:start + number]))[:number]

# %% nbgrader={"grade": false, "grade_id": "real-modernbert-run", "locked": true, "schema_version": 3, "solution": false, "task": false}
if ready(rotary, geglu, local_mask, Block, needs=["kjv"]):
    ids = unseen_letters(768 * 16)
    theirs, everywhere = small_model("modernbert_kjv").model, small_model("modernbert_kjv_global").model
    yours = with_your_blocks(theirs)
    print(f"{len(yours.encoder.blocks)} blocks of yours in a model with {sum(one.numel() for one in yours.parameters()):,} parameters; {int(blanked(ids, 96)[1].sum()):,} masked letters")
    for length in (96, 768):
        (found, letters), (right, _), (far, _) = (logits_at_blanks(model, ids, length) for model in (yours, theirs, everywhere))
        same = (found.argmax(1) == right.argmax(1)).float().mean()
        print(f"texts of {length} letters: {bits_a_blank(found, letters):.3f} bits per masked letter by yours, {bits_a_blank(right, letters):.3f} by the course's; the same letter at {same:.1%}, "
              f"logits apart by {(found - right).abs().max().item():.0e}. Its twin, all layers global: {bits_a_blank(far, letters):.3f}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "real-end", "locked": true, "schema_version": 3, "solution": false, "task": false}
# All three give the same vectors up to float32's rounding. What is saved is padding, so it depends on how unequal the texts of a batch are: sort them by length, and padding is cheap as well.
# The row without borders has the right shapes, and nothing complains; the vectors are no longer those of the texts alone.
# Your blocks and the course's predict the same letters. Both models were trained on texts of 96 letters only. At eight times the length, the one with local layers is as good as before; its all-global twin fails. When this notebook was written, it needed more bits per masked letter there than a model that knows only how frequent letters are.

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
# # Chapter 12. LLaMA: the exercises
#
# You write what LLaMA's block adds to GPT-2, count parameters and cache bytes, build a KV cache, and add experts and latent attention.
# At the end SmolLM2, a LLaMA with 135 million parameters, generates with your functions.
#
# There are 12 exercises and 60 points. Plan about 215 minutes, in as many sittings as you like.
#
# | Part | Exercises | Minutes | Points |
# | --- | --- | --- | --- |
# | The block | 1 to 4 | 49 | 16 |
# | Heads and bytes | 5 to 7 | 63 | 15 |
# | The cache | 8 to 9 | 46 | 14 |
# | Experts and latent attention | 10 to 11 | 40 | 10 |
# | In your own words | 12 | 14 | 5 |
# | Your code runs the real thing | nothing to write | 3 | 0 |
#
# **How it works.**
# 1. Read the statement, write the function in the cell below it, and run the check under that cell as often as you like.
# 2. A check's first line names the likely cause, its second a small input that fails. Stuck? Open the three hints in order; the third solves a similar problem.
# 3. Grading runs the same checks with other sizes and values. Axes of length 1 are always among them.
#
# **Symbols.** $B$ sequences, $T$ new tokens, $S$ tokens so far, $C$ hidden size, $F$ intermediate size, $H$ query heads, $K$ KV heads, $D$ head dimension, $N$ inputs, $V$ vocabulary size.
#
# <details><summary>Fine print</summary>
#
# - *Arguments.* Leave them unchanged, lists included, and return something new: neither an argument or a part of one nor a result of an earlier call. A tensor may be a view of a larger one, such as a transpose; `reshape` works there, `view` may not.
# - *Types.* Return the type, dtype and shape that the statement names; a dictionary has the named keys and no others, in any order. A subclass counts as its type, and an `int` may be given for a `float`, but a bool does not count as a number. Raise exactly the named exception class, not a subclass of your own. Correct values in another type or dtype, with an axis of length 1 too many or too few, or with an extra key, lose a fifth of the exercise's points, once. So does an answer that breaks *Arguments*.
# - *Precision.* Floats are compared to four digits of each value, and to 0.00001 near 0, unless a statement says otherwise; float32 has seven digits, so the order of your operations does not matter. Half precision, rounding, or a small constant "for safety" is wrong where it shows in these digits, and only there. Integers are compared exactly.
# - *Calls.* A result depends only on the arguments: not on earlier calls, and not on chance. A class keeps what its statement says. Calls may come in any order.
# - *Tools.* You may use anything in torch, numpy and the standard library, unless a statement says otherwise. Not allowed are the course's own models, layers, kernels and caches, torch's ready-made norms (layer, group and RMSNorm; a vector's length is allowed) and attention, and the library `transformers`.
# - *Sizes and time.* Unless a statement says otherwise, tensors are float32 without NaN or infinity, every axis has length 1 to 300, and a list at most 300 entries. Token ids are integers of at least 0. The last part, and the cells that show what a function is for, use some longer ones, which the checks do not. A call may take five seconds: plain Python loops are fast enough.
# - *Arguments are as promised.* You need not check shapes, dtypes or ranges that a statement gives, unless a rule says what to raise. You may add cells anywhere: helpers, prints, plots.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from autograder.check import check


def attempt(function, *arguments):
    """What your function returns; None, and a line that says so, before it is written."""
    try:
        return function(*arguments)
    except NotImplementedError:
        print(f"{function.__name__} is not written yet. Come back to this cell when it is.")
        return None

# %% nbgrader={"grade": false, "grade_id": "progress", "locked": true, "schema_version": 3, "solution": false, "task": false}
from autograder.notebook_progress import progress

progress("12")                                 # follows your checks

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-block", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 1. The block

# %% [markdown] nbgrader={"grade": false, "grade_id": "rms_norm-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 1. RMSNorm
#
# **Why.** Every layer of nearly every open model has two. Two details are easy to get wrong, and the model still trains: where eps goes, and in which precision the squares are computed.
#
# **Difficulty** 1 of 5 · **Time** 12 minutes · **Points** 4 · **Paper** Zhang and Sennrich (2019), equation 4; Touvron et al. (2023), section 2.2
#
# RMSNorm divides a token's vector by its root mean square and multiplies each dimension by a trained weight. Unlike LayerNorm, it subtracts no mean:
#
# $$\mathrm{RMSNorm}(x)_i = \frac{x_i}{\sqrt{\frac{1}{C}\sum_j x_j^2 + \varepsilon}}\; w_i$$
#
# Write `rms_norm(x, w, eps)`. `x` is `(..., C)`, with one to four axes, and normalized over the **last**; `w` is `(C)`. Both are float32, or both float16. The result has the shape and dtype of `x`.
#
# **By hand.** $x = (1, 7, 1, 7)$. The squares are 1, 49, 1, 49, their mean is 25 and its root 5. With $w = (1, 1, 2, 0)$ and a tiny eps, the result is **(0.2, 1.4, 0.4, 0)**. With eps = 11 the root is $\sqrt{36}$, and the first value is 1/6.
#
# **Rules**
# 1. float16 ends at 65,504: the square of 300 is infinite, and the square of 0.0001 is 0. For float16, compute squares, mean and root in float32, and return float16.
# 2. eps is used as given, however small. A token of zeros stays zeros.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Over which axis is the mean, and which axis must be kept so that the division broadcasts?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Convert x to float32. Square, `mean(-1, keepdim=True)`, add eps, take the root. Divide, multiply by w, and convert back to x's dtype at the very end.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# Divide each row by its largest absolute value, and return the dtype of the input.
#
# ```python
# def by_largest(x):
#     largest = x.float().abs().amax(-1, keepdim=True)
#     return (x.float() / largest).to(x.dtype)
# ```
#
# `by_largest(torch.tensor([[1.0, -4.0]]))` gives `[[0.25, -1.0]]`.
#
# </details>
# <details><summary>Fine print</summary>
#
# eps is a float from $10^{-12}$ to 100, never 0. float16 results are compared to two digits, and to 0.001 near 0; you may multiply by w in either precision. No value of x exceeds a million in float32 or 60,000 in float16, and no result exceeds what its dtype holds.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "rms_norm", "locked": false, "schema_version": 3, "solution": true, "task": false}
def rms_norm(x: Float[Tensor, "... C"], w: Float[Tensor, "C"], eps: float) -> Float[Tensor, "... C"]:
    """Each token divided by its root mean square, and scaled by w."""
    ### BEGIN SOLUTION
    wide = x.float()
    size = (wide.square().mean(-1, keepdim=True) + eps).sqrt()         # (..., 1)
    return (wide / size * w.float()).to(x.dtype)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "rms_norm-check", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(rms_norm)

# %% [markdown] nbgrader={"grade": false, "grade_id": "rms_norm-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The case by hand, shifted by 10: LayerNorm's output would not change. And in half precision, with values whose squares overflow float16.

# %% nbgrader={"grade": false, "grade_id": "look-rms_norm", "locked": true, "schema_version": 3, "solution": false, "task": false}
for name, row in (("x", torch.tensor([1.0, 7.0, 1.0, 7.0])), ("x + 10", torch.tensor([11.0, 17.0, 11.0, 17.0])), ("float16", torch.tensor([300.0, -900.0, 300.0, 20.0], dtype=torch.float16))):
    found = attempt(rms_norm, row, torch.ones(4, dtype=row.dtype), 1e-6)
    if found is not None:
        print(f"{name:<8} {[round(one, 3) for one in row.tolist()]}  ->  {[round(one, 3) for one in found.tolist()]}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "swiglu-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 2. SwiGLU
#
# **Why.** Two thirds of a LLaMA's parameters are in these three matrices. Exchange two of them, and a trained model produces nonsense: the chapter's page on the block shows it.
#
# **Difficulty** 2 of 5 · **Time** 12 minutes · **Points** 4 · **Paper** Shazeer (2020), equation 6; Touvron et al. (2023), section 2.2
#
# Two matrices project a token up. The first result passes through SiLU, $\mathrm{silu}(z) = \frac{z}{1 + e^{-z}}$, and **gates** the second. A third matrix projects the product back down:
#
# $$\mathrm{SwiGLU}(x) = W_{down}\,\bigl(\mathrm{silu}(W_{gate}\,x)\; \odot\; W_{up}\,x\bigr)$$
#
# Write `swiglu(x, gate, up, down)`. `x` is `(..., C)` with one to four axes; `gate` and `up` are `(F, C)` and `down` is `(C, F)`, as `nn.Linear` stores them: a row of `gate` or `up` belongs to one unit, a row of `down` to one dimension of the result. There are no biases. The result has the shape of `x`.
#
# **By hand.** $x = (1, 2)$. `gate` has the rows (1, 1) and (0, −1): the pre-activations are 3 and −2, and silu of them 2.858 and −0.238. `up` has the rows (2, 0) and (0, 2), which give 2 and 4. The products are 5.715 and −0.954. `down` has the rows (1, 0) and (1, 1): the result is **(5.715, 4.762)**.
#
# **Rules**
# 1. Each token is computed on its own.
# 2. Pre-activations can be in the hundreds, positive or negative. For large negative ones silu is nearly 0, and never NaN.
#
# <details><summary>Hint 1: a nudge</summary>
#
# What comes out if `gate` is all zeros? And if `up` is?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# `x @ gate.T` has the shape (…, F). So has `x @ up.T`. Multiply silu of the first by the second, elementwise, then `@ down.T`.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# A layer in which one matrix decides, by a step function, whether the other's result passes.
#
# ```python
# def stepped(x, door, voice, back):
#     return ((x @ door.T > 0) * (x @ voice.T)) @ back.T
# ```
#
# `stepped(torch.tensor([2.0]), torch.tensor([[1.0], [-1.0]]), torch.ones(2, 1), torch.ones(1, 2))` gives `[2.0]`: one of two doors is open.
#
# </details>
# <details><summary>Fine print</summary>
#
# Any silu may be used: your own, or torch's. $F$ may equal $C$.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "swiglu", "locked": false, "schema_version": 3, "solution": true, "task": false}
def swiglu(x: Float[Tensor, "... C"], gate: Float[Tensor, "F C"], up: Float[Tensor, "F C"], down: Float[Tensor, "C F"]) -> Float[Tensor, "... C"]:
    """Each token projected up, gated, and projected back down."""
    ### BEGIN SOLUTION
    opened = x @ gate.T
    opened = opened * opened.sigmoid()                                 # (..., F)
    return (opened * (x @ up.T)) @ down.T
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "swiglu-check", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(swiglu)

# %% [markdown] nbgrader={"grade": false, "grade_id": "swiglu-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The case by hand, and the same with gate and up exchanged: other values, the same shape. Only a trained model shows the difference.

# %% nbgrader={"grade": false, "grade_id": "look-swiglu", "locked": true, "schema_version": 3, "solution": false, "task": false}
token, (gate_rows, up_rows, down_rows) = torch.tensor([1.0, 2.0]), (torch.tensor(rows) for rows in ([[1.0, 1.0], [0.0, -1.0]], [[2.0, 0.0], [0.0, 2.0]], [[1.0, 0.0], [1.0, 1.0]]))
for name, matrices in (("as it should be", (gate_rows, up_rows)), ("exchanged", (up_rows, gate_rows))):
    found = attempt(swiglu, token, *matrices, down_rows)
    if found is not None:
        print(f"{name:<16} {[round(one, 3) for one in found.tolist()]}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "predict_llama-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 3. How many parameters has a LLaMA?
#
# **Why.** *7B* is a name; the model has 6,738,415,616 parameters. Counting them shows within a minute which of two configurations is wrong.
#
# **Difficulty** 2 of 5 · **Time** 15 minutes · **Points** 4 · **Paper** Touvron et al. (2023), section 2.2 and table 2; Ainslie et al. (2023), section 2.2, for KV heads
#
# A LLaMA has an embedding matrix for $V$ tokens of $C$ dimensions, and `layers` blocks. Each block has
#
# - four matrices of attention: queries for $H$ heads of dimension $D$, keys and values for $K$ KV heads of dimension $D$, and the output projection from the $H$ heads back to $C$;
# - the three matrices of SwiGLU, with intermediate size $F$;
# - two RMSNorms with $C$ weights each.
#
# After the last block comes one more RMSNorm, then the output layer, which gives $V$ logits. If `tied` is True, the output layer **is** the embedding matrix, stored once. There are no biases, and RoPE has no parameters.
#
# Write `predict_llama(V, C, layers, H, K, D, F, tied)`. It returns a dictionary of six ints: `"embedding"`; `"attention"`, `"feed_forward"` and `"norms"`, each for all blocks together, the last norm included; `"output"`, the parameters that the output layer has **of its own**; and `"total"`, all that is stored.
#
# **By hand.** $V = 10$, $C = 4$, 2 layers, $H = 2$, $K = 1$, $D = 3$, $F = 5$, not tied. The embedding has **40**. In a block: queries 6 · 4 = 24, keys 12, values 12, output 4 · 6 = 24, together 72; in both **144**. SwiGLU 3 · 20 = 60, in both **120**. Norms 2 · 8 + 4 = **20**. The output layer has **40**. Total **364**. Tied: the output layer has 0 of its own, and the total is 324.
#
# **Rules**
# 1. $H \cdot D$ need not equal $C$.
# 2. The results can be large: count in ints, since floats would round them.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Which of the four matrices of attention are smaller when there are fewer KV heads?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Write rows times columns of each matrix of one block, times `layers`. Norms: two per block and one. The output layer has as many parameters as the embedding, or none of its own.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# A street of `m` houses with one gate in front of all of them; each house has `d` doors, and windows on `f` floors, `w` on each. If the gate is shared with the next street, it is not counted here.
#
# ```python
# def openings(m, d, f, w, shared):
#     gate = 0 if shared else 1
#     return {"doors": m * d, "windows": m * f * w, "gate": gate, "total": m * d + m * f * w + gate}
# ```
#
# `openings(3, 2, 2, 4, False)` has a total of 31.
#
# </details>
# <details><summary>Fine print</summary>
#
# All arguments but `tied` are ints from 1 to a million, with fewer than $10^{18}$ parameters in all; $H$ is a multiple of $K$; `tied` is a bool.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "predict_llama", "locked": false, "schema_version": 3, "solution": true, "task": false}
def predict_llama(V: int, C: int, layers: int, H: int, K: int, D: int, F: int, tied: bool) -> dict[str, int]:
    """The parameters of a LLaMA, part by part and in total."""
    ### BEGIN SOLUTION
    parts = {"embedding": V * C, "attention": layers * (2 * H * D * C + 2 * K * D * C), "feed_forward": layers * 3 * F * C,
             "norms": (2 * layers + 1) * C, "output": 0 if tied else V * C}
    return {**parts, "total": sum(parts.values())}
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "predict_llama-check", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(predict_llama)

# %% [markdown] nbgrader={"grade": false, "grade_id": "predict_llama-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Four published configurations. Where are most parameters, in a small model and in a large one?

# %% nbgrader={"grade": false, "grade_id": "look-predict_llama", "locked": true, "schema_version": 3, "solution": false, "task": false}
for name, sizes in {"SmolLM2-135M": (49152, 576, 30, 9, 3, 64, 1536, True), "LLaMA 7B": (32000, 4096, 32, 32, 32, 128, 11008, False),
                    "LLaMA 65B": (32000, 8192, 80, 64, 64, 128, 22016, False), "LLaMA 2 70B": (32000, 8192, 80, 64, 8, 128, 28672, False)}.items():
    found = attempt(predict_llama, *sizes)
    if found is not None:
        print(f"{name:<13} {found['total']:>14,} parameters: " + ", ".join(f"{key} {found[key] / found['total']:.1%}" for key in ("embedding", "attention", "feed_forward", "norms", "output")))

# %% [markdown] nbgrader={"grade": false, "grade_id": "dead_units-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 4. Dead units
#
# **Why.** A unit that is silent for one input may respond to another. A unit that is silent for all of them never learns again. The chapter's page on the block counts dead units in trained networks; this is the count.
#
# **Difficulty** 2 of 5 · **Time** 10 minutes · **Points** 4 · **Paper** Maas, Hannun and Ng (2013), section 3, for silent units and the leaky ReLU
#
# `pre` holds the pre-activations of $F$ units for $N$ inputs. The activation is $z$ for $z > 0$ and `slope` · $z$ elsewhere: a slope of 0 is the ReLU, any other a leaky ReLU. In the backward pass a gradient is multiplied by 1 where $z > 0$, and by `slope` elsewhere, including $z = 0$, as in PyTorch. A unit is **dead** on this batch if no input leaves it a gradient.
#
# Write `dead_units(pre, slope)`. `pre` is `(N, F)`, one row per input; the result is the fraction of dead units, a float from 0 to 1.
#
# **By hand.** Three units, two inputs:
#
# | | unit 0 | unit 1 | unit 2 |
# | --- | --: | --: | --: |
# | input 0 | 2 | -1 | -3 |
# | input 1 | -1 | -2 | 0 |
#
# With slope 0, unit 0 is silent for input 1 only, so it is not dead. Units 1 and 2 are silent for both: two of three, **0.667**. With slope 0.01 a hundredth of each gradient arrives: **0.0**.
#
# **Rules**
# 1. However small a positive pre-activation is, the unit is active; however small the slope is, unless it is 0, some gradient arrives.
# 2. An empty batch, $N = 0$, has not shown that any unit is dead: 0.0.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Is it *some row is silent* or *all rows are silent*? Which axis has the rows?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Look at the slope and at $N$ first: both may settle the answer. Then compare with 0, `all` over the rows, and the mean over the units.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# The fraction of shops in which nobody bought for more than 5 euros, on any day; `sales` has one row per day.
#
# ```python
# def poor_shops(sales):
#     poor = [all(day[shop] <= 5 for day in sales) for shop in range(len(sales[0]))]
#     return sum(poor) / len(poor)
# ```
#
# `poor_shops([[3, 9], [5, 1]])` gives 0.5.
#
# </details>
# <details><summary>Fine print</summary>
#
# $N$ is 0 to 300; `slope` is 0.0 or from $10^{-6}$ to 1. The gradient that reaches the activation from above is 1 for every output.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "dead_units", "locked": false, "schema_version": 3, "solution": true, "task": false}
def dead_units(pre: Float[Tensor, "N F"], slope: float) -> float:
    """The fraction of units that receive no gradient from any input of the batch."""
    ### BEGIN SOLUTION
    if slope != 0 or len(pre) == 0:
        return 0.0
    silent = (pre <= 0).all(0)                                         # (F,)
    return silent.float().mean().item()
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "dead_units-check", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(dead_units)

# %% [markdown] nbgrader={"grade": false, "grade_id": "dead_units-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# 256 units of a layer that nobody trained, on 200 inputs. Their biases are moved down, step by step, as a step of training that was too large would do.

# %% nbgrader={"grade": false, "grade_id": "look-dead_units", "locked": true, "schema_version": 3, "solution": false, "task": false}
said = torch.randn(200, 32, generator=torch.Generator().manual_seed(1)) @ torch.randn(32, 256, generator=torch.Generator().manual_seed(2)) / 32**0.5
for moved in (0.0, 1.0, 2.0, 3.0, 4.0):
    shares = [attempt(dead_units, said - moved, slope) for slope in (0.0, 0.01)]
    if None not in shares:
        print(f"biases {-moved:>4}: of single answers {(said <= moved).float().mean():.0%} are silent; dead units: {shares[0]:.0%} with ReLU, {shares[1]:.0%} with a leaky one")

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-heads", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 2. Heads and bytes

# %% [markdown] nbgrader={"grade": false, "grade_id": "grouped_attention-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 5. Grouped-query attention
#
# **Why.** During decoding, the keys and values of all previous tokens are read again for every new token. With 8 KV heads instead of 64, that is an eighth of the traffic. If the heads are grouped in the wrong order, every shape is right and every output wrong.
#
# **Difficulty** 4 of 5 · **Time** 35 minutes · **Points** 7 · **Paper** Ainslie et al. (2023), section 2.2; Shazeer (2019) for a single KV head
#
# There are $H$ query heads and $K$ KV heads, $H$ a multiple of $K$. Query head $h$ attends with KV head $\lfloor h / (H/K) \rfloor$: the first $H/K$ query heads share KV head 0, the next $H/K$ share KV head 1, and so on. Scores are $q \cdot k / \sqrt{D}$, a softmax over the visible keys turns them into weights, and the output is the weighted average of the values.
#
# Attention is **causal, and the queries are the last $T$ of $S$ tokens**: the keys and values of earlier tokens come from the cache. Query $t$ sees the keys 0 to $S - T + t$.
#
# Write `grouped_attention(q, k, v)`; `q` is `(B, H, T, D)`, `k` and `v` are `(B, K, S, D)`, and the result has the shape of `q`.
#
# **By hand.** $H = 4$, $K = 2$, $T = 2$, $S = 3$, $D = 1$, and all keys are 0, so all visible keys have equal weights. Values of KV head 0: 3, 6, 9; of KV head 1: 30, 60, 90. The first query sees two values, the second all three. Heads 0 and 1 return **4.5 and 6**, heads 2 and 3 return **45 and 60**.
#
# **Rules**
# 1. Do not copy keys and values for the heads of a group (`repeat_interleave`, or a matmul that broadcasts them): that undoes the saving. Stack the queries of a group as rows, or compute one head at a time. One test gives the call 24 MiB, where copies of the keys alone would need 39.
# 2. Scores can be in the hundreds, positive or negative: the softmax must not overflow, and masked keys must not influence anything, even if their scores are hundreds above all visible ones.
#
# <details><summary>Hint 1: a nudge</summary>
#
# The queries of a group use the same keys. How do two query heads of a group differ from two more tokens?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# `q.reshape(B, K, H // K * T, D)` stacks the queries of a group as rows: the heads of a group are consecutive, so nothing moves. Multiply by the transposed keys, give the scores the shape `(B, K, H // K, T, S)`, and mask: key j is seen by query t where `j <= S - T + t`. Apply the softmax, reshape to rows, multiply by the values, and reshape to q's shape.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# Six readers, two to a shelf; each asks for the sum of the books on their shelf, weighted by their own taste. Shelves are not copied.
#
# ```python
# def tastes(readers, shelves):
#     rows = readers.reshape(len(shelves), -1, readers.shape[-1])       # readers of a shelf below each other
#     return (rows @ shelves[..., None]).reshape(len(readers))
# ```
#
# `tastes(torch.ones(6, 2), torch.tensor([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]))` gives `[2, 2, 4, 4, 6, 6]`.
#
# </details>
# <details><summary>Fine print</summary>
#
# $K$ may equal $H$ or 1; $T$ may be 1, $S$ or anything between; $H \cdot D$ may have any value. The memory test uses 256 query heads for 2 KV heads, $T = 1$, $S = D = 200$. A copy of the KV heads themselves, or of a few query heads at a time, is not noticed.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "grouped_attention", "locked": false, "schema_version": 3, "solution": true, "task": false}
def grouped_attention(q: Float[Tensor, "B H T D"], k: Float[Tensor, "B K S D"], v: Float[Tensor, "B K S D"]) -> Float[Tensor, "B H T D"]:
    """Causal attention of the last T tokens, in which H / K query heads share each head of keys and values."""
    ### BEGIN SOLUTION
    B, H, T, D = q.shape
    K, S = k.shape[1:3]
    rows = q.reshape(B, K, H // K * T, D)                              # the queries of a group below each other
    scores = (rows @ k.transpose(2, 3) / D**0.5).reshape(B, K, H // K, T, S)
    seen = torch.arange(S) <= torch.arange(S - T, S)[:, None]          # (T, S)
    weights = scores.masked_fill(~seen, -torch.inf).softmax(-1)
    return (weights.reshape(B, K, H // K * T, S) @ v).reshape(B, H, T, D)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "grouped_attention-check", "locked": true, "points": 7, "schema_version": 3, "solution": false, "task": false}
check(grouped_attention)

# %% [markdown] nbgrader={"grade": false, "grade_id": "grouped_attention-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The case by hand, with different numbers of KV heads. The row *in turns* assigns the heads alternately, 0 1 0 1: the shapes are right.

# %% nbgrader={"grade": false, "grade_id": "look-grouped_attention", "locked": true, "schema_version": 3, "solution": false, "task": false}
values = torch.tensor([[3.0, 6.0, 9.0], [30.0, 60.0, 90.0]])[None, :, :, None]
for name, queries, shown in (("two groups", torch.zeros(1, 4, 2, 1), values), ("one group", torch.zeros(1, 4, 2, 1), values[:, :1]), ("each its own", torch.zeros(1, 2, 2, 1), values)):
    found = attempt(grouped_attention, queries, torch.zeros_like(shown), shown)
    if found is not None:
        print(f"{name:<13} {[[round(one, 1) for one in head] for head in found[0, :, :, 0].tolist()]}")
        if name == "two groups":
            print(f"{'in turns':<13} {[[round(one, 1) for one in head] for head in found[0, [0, 2, 1, 3], :, 0].tolist()]}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "predict_cache-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 6. How many sequences fit?
#
# **Why.** A server with its weights loaded has some memory left, and every sequence keeps its keys and values there. This count says how many users can be served.
#
# **Difficulty** 2 of 5 · **Time** 12 minutes · **Points** 4 · **Paper** Shazeer (2019), section 2.4.1; Ainslie et al. (2023), section 2.2
#
# A model has `layers` layers, `H` query heads and `K` KV heads of dimension `D`. Its cache holds a key and a value for every token, in every layer and every KV head. Each value takes `bits` bits.
#
# Write `predict_cache(layers, H, K, D, bits, length, gib)`. It returns a dictionary of three ints:
#
# - `"token"`: the **bytes** that one token adds;
# - `"text"`: the bytes of a sequence of `length` tokens;
# - `"texts"`: how many such sequences fit into `gib` GiB together. One that fits in part does not fit.
#
# **By hand.** 2 layers, $H = 4$, $K = 1$, $D = 8$, 16 bits. A token adds 2 · 2 · 1 · 8 = 32 values, in **64** bytes. A sequence of 1,000 tokens: **64,000**. A GiB has $2^{30}$ = 1,073,741,824 bytes: **16,777** sequences.
#
# **Rules**
# 1. A GiB is $2^{30}$ bytes. (A GB is $10^9$, seven percent less.)
# 2. The results can be large: count in ints, since floats would round them.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Why are queries not cached?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Two tensors, each with `layers` · `K` · `D` values per token. Multiply by bits before you divide by 8, with `//`.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# How many films of so many minutes fit on a disk of `tb` TB ($10^{12}$ bytes), with two sound tracks of so many bits per second.
#
# ```python
# def films(bits, minutes, tb):
#     one = 2 * bits * 60 * minutes // 8
#     return {"film": one, "films": tb * 10**12 // one}
# ```
#
# `films(128_000, 90, 1)` gives 172,800,000 bytes and 5787 films.
#
# </details>
# <details><summary>Fine print</summary>
#
# `layers`, `H`, `K`, `D`, `length` and `gib` are ints from 1 to a million, $H$ a multiple of $K$; `bits` is 4, 8, 16 or 32; no result reaches $10^{18}$.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "predict_cache", "locked": false, "schema_version": 3, "solution": true, "task": false}
def predict_cache(layers: int, H: int, K: int, D: int, bits: int, length: int, gib: int) -> dict[str, int]:
    """Bytes of a token and of a sequence in the cache, and how many sequences fit."""
    ### BEGIN SOLUTION
    token = 2 * layers * K * D * bits // 8
    return {"token": token, "text": length * token, "texts": gib * 2**30 // (length * token)}
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "predict_cache-check", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(predict_cache)

# %% [markdown] nbgrader={"grade": false, "grade_id": "predict_cache-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The cache of 4,096 tokens, and how many such texts fit into 64 GiB. LLaMA 2 70B as it is, and as it would be with one KV head per query head, or one for all.

# %% nbgrader={"grade": false, "grade_id": "look-predict_cache", "locked": true, "schema_version": 3, "solution": false, "task": false}
for name, sizes in {"SmolLM2-135M": (30, 9, 3, 64), "LLaMA 7B": (32, 32, 32, 128), "LLaMA 2 70B": (80, 64, 8, 128), "   with K = 64": (80, 64, 64, 128), "   with K = 1": (80, 64, 1, 128)}.items():
    for bits in (16, 8):
        found = attempt(predict_cache, *sizes, bits, 4096, 64)
        if found is not None:
            print(f"{name:<14} {bits:>2} bits: {found['token'] / 2**10:>7,.1f} KiB a token, {found['text'] / 2**30:>6.2f} GiB a text, {found['texts']:>5,} texts")

# %% [markdown] nbgrader={"grade": false, "grade_id": "to_halves-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 7. Reorder rows for RoPE
#
# **Why.** LLaMA's authors rotate neighbouring dimensions, most libraries a dimension of the first half of a head with one of the second. Their files differ in the order of rows, and nothing in a file says which it is. Without the conversion the model writes fluent nonsense.
#
# **Difficulty** 3 of 5 · **Time** 16 minutes · **Points** 4 · **Paper** Su et al. (2021), section 3.2.2, for the pairs
#
# RoPE rotates the $D$ dimensions of a head in pairs, one angle per pair. In the **interleaved** layout, dimensions 0 and 1 are a pair, then 2 and 3, and so on. In the **half-split** layout, dimension 0 is paired with $D/2$, 1 with $D/2 + 1$, and so on; the angles come in the same order in both. The rows of a projection $w$ compute these dimensions: the first $D$ rows those of head 0, the next $D$ those of head 1, and so on.
#
# Write `to_halves(w, H)`. `w` is `(R, C)`, or `(R)` for a bias, with rows in interleaved order; the result has the same shape, with the same rows in half-split order. The pair in rows 0 and 1 is then in rows 0 and $D/2$.
#
# **By hand.** One head, $D = 6$: rows 0 1 2 3 4 5 become **0 2 4 1 3 5**. Two heads, $D = 4$: **0 2 1 3, 4 6 5 7**.
#
# **Rules**
# 1. Rows stay within their head. They are moved, never changed.
# 2. If the rows are not $H$ heads of an even dimension, raise a `ValueError`.
#
# <details><summary>Hint 1: a nudge</summary>
#
# For $D = 4$ there and back are the same. Try it with 6.
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Make row numbers and not rows: `torch.arange(R).reshape(H, D // 2, 2)` has a pair in each last row. Which two axes have to be transposed, so that flattening gives the order? Then `w[order]`.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# Files of two columns with (night, day) one after the other, for several towns; wanted are all nights of a town, then all its days. Lists will do.
#
# ```python
# def nights_first(values, towns):
#     size, found = len(values) // towns, []
#     for start in range(0, len(values), size):
#         found += values[start:start + size:2] + values[start + 1:start + size:2]
#     return found
# ```
#
# `nights_first([1, 10, 2, 20, 3, 30, 4, 40], 2)` gives `[1, 2, 10, 20, 3, 4, 30, 40]`.
#
# </details>
# <details><summary>Fine print</summary>
#
# `H` is an int from 1 to 300.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "to_halves", "locked": false, "schema_version": 3, "solution": true, "task": false}
def to_halves(w: Float[Tensor, "R *C"], H: int) -> Float[Tensor, "R *C"]:
    """Rows in interleaved order, reordered for half-split RoPE."""
    ### BEGIN SOLUTION
    if len(w) % (2 * H):
        raise ValueError(f"{len(w)} rows are not {H} heads of pairs")
    order = torch.arange(len(w)).reshape(H, -1, 2).transpose(1, 2)     # (H, 2, D/2)
    return w[order.flatten()]
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "to_halves-check", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(to_halves)

# %% [markdown] nbgrader={"grade": false, "grade_id": "to_halves-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The cases by hand. Then one query and one key, rotated by their positions in both layouts: the scores agree if the rows are in order.

# %% nbgrader={"grade": false, "grade_id": "look-to_halves", "locked": true, "schema_version": 3, "solution": false, "task": false}
for rows, heads in ((6, 1), (8, 2), (12, 2)):
    found = attempt(to_halves, torch.arange(rows).float(), heads)
    if found is not None:
        print(f"{rows:>2} rows, {heads} head{'s' * (heads > 1)}: {[int(one) for one in found.tolist()]}")


def turned(x, position, halves):
    """A head's numbers, each pair turned by its angle."""
    angles = position * 100.0 ** -(torch.arange(len(x) // 2) / (len(x) // 2))
    first, second = x.chunk(2) if halves else (x[0::2], x[1::2])
    pair = first * angles.cos() - second * angles.sin(), first * angles.sin() + second * angles.cos()
    return torch.cat(pair) if halves else torch.stack(pair, 1).flatten()


token, query, key = (torch.randn(shape, generator=torch.Generator().manual_seed(3)) for shape in ((4,), (6, 4), (6, 4)))
scored = {"pairs": (query, key, False), "halves, rows as they were": (query, key, True), "halves, your rows": (*(attempt(to_halves, one, 1) for one in (query, key)), True)}
for name, (left, right, halves) in scored.items():
    if left is not None:
        print(f"{name:<26} {turned(left @ token, 7, halves) @ turned(right @ token, 2, halves):.4f}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-cache", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 3. The cache

# %% [markdown] nbgrader={"grade": false, "grade_id": "KVCache-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 8. The KV cache
#
# **Why.** Without it each new token costs a pass over the whole text. The class is small, and it is where published code goes wrong: one position too far, keys of another sequence, or old keys after a truncation.
#
# **Difficulty** 3 of 5 · **Time** 25 minutes · **Points** 8 · **Paper** Shazeer (2019), section 2.4; Pope et al. (2022), section 2, for what it costs
#
# A KV cache keeps the keys and values of one layer, with room for a given number of tokens of each of $B$ sequences. Write the class `KVCache(B, K, room, D)`:
#
# - `append(k, v)` takes the keys and values of the next $T$ tokens, each `(B, K, T, D)`, and returns a tuple of **all keys so far and all values so far**, each `(B, K, S, D)`, where $S$ counts these tokens as well.
# - `length` is the number of tokens so far, an int: 0 at the start.
# - `truncate(n)` keeps the first n tokens and forgets those after them. It returns nothing. What is appended next is at position n.
#
# **By hand.** `cache = KVCache(1, 1, 4, 1)`. Append keys 5, 6: it returns 5, 6, and `length` is 2. Append 7: it returns **5, 6, 7**. Truncate to 1, append 8: it returns **5, 8**, and `length` is 2. Append 9, 10, 11: that would make 5 tokens in room for 4, so it raises, and still holds 5, 8.
#
# **Rules**
# 1. If there is no room for all $T$ tokens, `append` raises a `ValueError`; so does `truncate(n)` for n below 0 or above `length`. Afterwards everything is as before.
# 2. $T$ can differ from call to call. n can be 0 or `length`.
# 3. Keys and values, sequences and heads never mix, and each cache has its own.
#
# <details><summary>Hint 1: a nudge</summary>
#
# What has to be checked before anything is changed?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# In `__init__` make two tensors of zeros of shape (B, K, room, D), or one for both, and `length` 0. `append` works out where the new tokens stop, raises if that is too far, writes them from `length` to there along the tokens' axis, sets `length`, and returns all up to there. `truncate` checks n and sets `length`: what comes after it is overwritten later.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# A shelf with room for some books, which hands out all that stands on it.
#
# ```python
# class Shelf:
#     def __init__(self, room):
#         self.books, self.room = [], room
#
#     def put(self, *more):
#         if len(self.books) + len(more) > self.room:
#             raise ValueError("no room")
#         self.books = [*self.books, *more]
#         return self.books
#
#     def clear_behind(self, n):
#         self.books = self.books[:n]
# ```
#
# </details>
# <details><summary>Fine print</summary>
#
# Whether results are views or copies, and whether you keep what you are given or a copy, is up to you: nobody writes into either, and an earlier result may change with the cache. (Real caches allocate once and return views.) `B`, `K`, `room` and `D` are ints of at least 1; `room` and $T$ are at most 300; `k` and `v` are float32, possibly views of larger tensors. Values are returned exactly.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "KVCache", "locked": false, "schema_version": 3, "solution": true, "task": false}
class KVCache:
    """Keys and values of one layer for the tokens so far."""

    def __init__(self, B: int, K: int, room: int, D: int):
        ### BEGIN SOLUTION
        self.both = torch.zeros(2, B, K, room, D)                      # keys, then values
        self.length = 0
        ### END SOLUTION

    def append(self, k: Float[Tensor, "B K T D"], v: Float[Tensor, "B K T D"]) -> tuple[Float[Tensor, "B K S D"], Float[Tensor, "B K S D"]]:
        """Append these, and return all keys and all values so far."""
        ### BEGIN SOLUTION
        start, stop = self.length, self.length + k.shape[2]
        if stop > self.both.shape[3]:
            raise ValueError(f"no room for {stop} tokens")
        self.both[0, :, :, start:stop], self.both[1, :, :, start:stop] = k, v
        self.length = stop
        return tuple(self.both[:, :, :, :stop])
        ### END SOLUTION

    def truncate(self, n: int) -> None:
        """Forget all but the first n tokens."""
        ### BEGIN SOLUTION
        if n < 0 or n > self.length:
            raise ValueError(f"{n} of {self.length} tokens cannot be kept")
        self.length = n
        ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "KVCache-check", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
check(KVCache)

# %% [markdown] nbgrader={"grade": false, "grade_id": "KVCache-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The case by hand.

# %% nbgrader={"grade": false, "grade_id": "look-KVCache", "locked": true, "schema_version": 3, "solution": false, "task": false}
cache = attempt(KVCache, 1, 1, 4, 1)
if cache is not None:
    for command, numbers in (("append", [5, 6]), ("append", [7]), ("truncate", 1), ("append", [8]), ("append", [9, 10, 11])):
        try:
            given = torch.tensor(numbers, dtype=torch.float32)
            came = cache.truncate(numbers) if command == "truncate" else cache.append(given.view(1, 1, -1, 1), -given.view(1, 1, -1, 1))
            print(f"{command} {numbers}: length {cache.length}" + (f", keys {came[0].flatten().tolist()}, values {came[1].flatten().tolist()}" if came else ""))
        except ValueError as error:
            print(f"{command} {numbers}: refused ({error}), length {cache.length}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "cached_generate-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 9. Generate with a cache
#
# **Why.** Every server runs this loop. No token may be computed twice, and each must be computed at its own position. A published course advanced the position by the whole prompt in each step; the text stayed fluent for a while.
#
# **Difficulty** 3 of 5 · **Time** 21 minutes · **Points** 6 · **Paper** Pope et al. (2022), section 2, for prefill and decoding
#
# `step(ids, start)` is a model with a cache. `ids` is a list of one or more new tokens, and `start` is the position of the first of them in the text, counted from 0. The model caches them and returns logits `(T, V)`: row $t$ predicts the token after `ids[t]`.
#
# Write `cached_generate(step, prompt, n)`. It returns the n new tokens of greedy decoding as a list of ints: each is the one with the largest logit after the last token so far.
#
# **By hand.** A prompt of 4 tokens and n = 3. First `step` gets all 4, with start **0**; the last of the 4 rows gives the new token a. Then it gets [a] with start **4**, which gives b. Then [b] with start **5**, which gives c. The result is [a, b, c]. The model computed 4 + 1 + 1 = **6** tokens, and c never.
#
# **Rules**
# 1. The first call has the whole prompt, each later call one token. No token is computed twice, and the last new token not at all: n calls.
# 2. With n = 0, `step` is not called, and the list is empty.
# 3. No token ends the text early.
#
# <details><summary>Hint 1: a nudge</summary>
#
# At the beginning of each round of the loop: what has not been read yet, and how much has been?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Keep two things: the list of tokens to be read next, at first the prompt, and the number of tokens read so far, at first 0. Each of the n rounds calls `step` with both, adds the length of that list to the number, takes the most probable token of the last row, and makes the new list of that token alone.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# A teller that is handed money in portions, with the number of coins that it has had before, and gives a receipt after each portion; the coin that it names is the next portion.
#
# ```python
# def receipts(teller, coins, rounds):
#     portion, before, found = coins, 0, []
#     for _ in range(rounds):
#         receipt = teller(portion, before)
#         before += len(portion)
#         portion = [receipt]
#         found.append(receipt)
#     return found
# ```
#
# With a teller `lambda portion, before: before + sum(portion)`, `receipts(teller, [2, 5], 3)` gives `[7, 9, 12]`.
#
# </details>
# <details><summary>Fine print</summary>
#
# Call `step` with a list of ints and an int: no tuple, no tensor, no tensor in a list. It changes neither, and can be used once, for this text. `prompt` has 1 to 300 ints; `n` is 0 to 300. The logits are float32. In each row that you choose from, one logit is the largest, though maybe in its last digit only; others may be minus infinity.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "cached_generate", "locked": false, "schema_version": 3, "solution": true, "task": false}
def cached_generate(step: Callable[[list[int], int], Float[Tensor, "T V"]], prompt: list[int], n: int) -> list[int]:
    """The n tokens of greedy decoding; each token is computed once, at its own position."""
    ### BEGIN SOLUTION
    new, unread, start = [], prompt, 0
    for _ in range(n):
        row = step(unread, start)[-1]
        start += len(unread)
        unread = [int(row.argmax())]
        new += unread
    return new
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "cached_generate-check", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
check(cached_generate)

# %% [markdown] nbgrader={"grade": false, "grade_id": "cached_generate-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# A model that counts what it reads, with a prompt of 16. The second column is what a loop without a cache would read.

# %% nbgrader={"grade": false, "grade_id": "look-cached_generate", "locked": true, "schema_version": 3, "solution": false, "task": false}
for number in (1, 16, 128):
    counted = []

    def counting(ids, start):
        """Says that the token after t is t + 1, and counts."""
        counted.append(len(ids))
        return torch.eye(300)[[token + 1 for token in ids]]

    found = attempt(cached_generate, counting, list(range(16)), number)
    if found is not None:
        print(f"{number:>3} new tokens: {sum(counted):>4} read in {len(counted)} calls, {sum(range(16, 16 + number)):>6,} without a cache; {found[:3]} ...")

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-experts", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 4. Experts and latent attention

# %% [markdown] nbgrader={"grade": false, "grade_id": "moe_layer-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 10. A mixture of experts
#
# **Why.** Nearly every large open model of 2025 has this layer where LLaMA has one SwiGLU: many experts, of which each token uses a few. The parameters of all of them are stored, and a token pays for its own only.
#
# **Difficulty** 3 of 5 · **Time** 18 minutes · **Points** 5 · **Paper** Jiang et al. (2024), section 2.1; Fedus et al. (2022), section 2.1
#
# Each of $E$ experts is a SwiGLU of its own. A **router**, one matrix $W_r$, scores the experts for each token, and a softmax turns the scores into probabilities $p = \mathrm{softmax}(W_r\,x)$. The token goes to the $k$ most probable experts, a set $S$, and their probabilities, divided by their sum, weigh the results:
#
# $$y = \sum_{i \in S} \frac{p_i}{\sum_{j \in S} p_j}\; W^{down}_i\,\bigl(\mathrm{silu}(W^{gate}_i\,x) \odot W^{up}_i\,x\bigr)$$
#
# Write `moe_layer(x, router, gate, up, down, k)`. `x` is `(N, C)`, one row per token; `router` is `(E, C)`; `gate` and `up` are `(E, F, C)` and `down` is `(E, C, F)`: entry $i$ of each belongs to expert $i$. The result has the shape of `x`.
#
# **By hand.** Three experts, $k = 2$, and a token with router scores $\ln 1$, $\ln 6$, $\ln 3$: the probabilities are 0.1, 0.6, 0.3. Experts 1 and 2 are chosen, with weights $0.6 / 0.9 = 2/3$ and $1/3$. If they return 3 and 9, the layer returns $2/3 \cdot 3 + 1/3 \cdot 9 =$ **5**.
#
# **Rules**
# 1. Each token chooses for itself.
# 2. An expert is computed for the tokens that chose it, and for no others. One that nobody chose may hold NaN, because it may not be loaded yet: nothing of it may reach the result.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Which tokens does expert 0 see? Go over the experts, not over the tokens.
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# `topk(k)` of the softmax gives probabilities and experts, both (N, k). Divide the first by their sum. For each expert e, `torch.where(experts == e)` gives the tokens that chose it, and as which of their choices. Run it on these rows, multiply each by its weight, and add them to the result's rows.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# Every parcel goes to one depot; each depot multiplies by its own factor.
#
# ```python
# def by_depot(parcels, depots, factors):
#     out = torch.zeros_like(parcels)
#     for d, factor in enumerate(factors):
#         rows = torch.where(depots == d)[0]
#         out[rows] += factor * parcels[rows]
#     return out
# ```
#
# `by_depot(torch.tensor([1.0, 2.0]), torch.tensor([1, 0]), torch.tensor([10.0, 100.0]))` gives `[100., 20.]`.
#
# </details>
# <details><summary>Fine print</summary>
#
# $1 \le k \le E$. Of the scores of one token no two are equal; they are between −80 and 80. Any silu may be used.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "moe_layer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def moe_layer(
    x: Float[Tensor, "N C"], router: Float[Tensor, "E C"], gate: Float[Tensor, "E F C"], up: Float[Tensor, "E F C"], down: Float[Tensor, "E C F"], k: int
) -> Float[Tensor, "N C"]:
    """Each token through its k most probable experts, weighted."""
    ### BEGIN SOLUTION
    p, chosen = (x @ router.T).softmax(-1).topk(k)                     # (N, k) each
    p = p / p.sum(-1, keepdim=True)
    out = torch.zeros_like(x)
    for e in range(len(router)):
        rows, ranks = (chosen == e).nonzero(as_tuple=True)
        opened = x[rows] @ gate[e].T
        mixed = (opened * opened.sigmoid() * (x[rows] @ up[e].T)) @ down[e].T
        out[rows] += p[rows, ranks, None] * mixed
    return out
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "moe_layer-check", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check(moe_layer)

# %% [markdown] nbgrader={"grade": false, "grade_id": "moe_layer-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# 1,000 random tokens and eight experts of a layer that nobody trained. How many tokens does the busiest expert get, compared with an even share?

# %% nbgrader={"grade": false, "grade_id": "look-moe_layer", "locked": true, "schema_version": 3, "solution": false, "task": false}
drawn = torch.Generator().manual_seed(0)
tokens, router = torch.randn(1000, 16, generator=drawn), torch.randn(8, 16, generator=drawn)
ones = [torch.ones(8, 1, 16), torch.ones(8, 1, 16), torch.ones(8, 16, 1)]
for k in (1, 2, 8):
    if attempt(moe_layer, tokens, router, *ones, k) is not None:
        counts = (tokens @ router.T).topk(k).indices.flatten().bincount(minlength=8)
        print(f"k = {k}: tokens per expert {counts.tolist()}, the busiest {counts.max() / counts.float().mean():.2f} times an even share")

# %% [markdown] nbgrader={"grade": false, "grade_id": "latent_attention-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 11. Multi-head latent attention
#
# **Why.** DeepSeek-V3 caches 576 values per layer and token for 128 heads, where 128 KV heads of 128 dimensions would take 32,768. It can attend without ever computing its keys and values: that is what you write.
#
# **Difficulty** 4 of 5 · **Time** 22 minutes · **Points** 5 · **Paper** DeepSeek-V2 (2024), sections 2.1.2 and 2.1.3
#
# The cache holds, for each of $S$ tokens, one **latent** vector $c_s$ of $L$ dimensions and one rotated key $r_s$ of $R$ dimensions, both shared by all heads. Head $h$ has matrices $A_h$ and $B_h$ that would expand a latent into a key $A_h c_s$ and a value $B_h c_s$. The score of query $t$ and token $s$ has two parts:
#
# $$\mathrm{score} = \frac{q_{h,t} \cdot A_h c_s + \rho_{h,t} \cdot r_s}{\sqrt{N + R}}, \qquad q_{h,t} \cdot A_h c_s = \bigl(A_h^\top q_{h,t}\bigr) \cdot c_s, \qquad \sum_s w_s\, B_h c_s = B_h \sum_s w_s\, c_s$$
#
# The two equations on the right **absorb** the matrices: into the query before the scores, and into the output after the average. No key and no value is ever expanded. Attention is causal, and the queries are the last $T$ of $S$ tokens: query $t$ sees the tokens 0 to $S - T + t$.
#
# Write `latent_attention(q, q_rot, c, k_rot, A, B)`. `q` is `(H, T, N)` and `q_rot`, the part $\rho$ that has been rotated, `(H, T, R)`; `c` is `(S, L)` and `k_rot` `(S, R)`; `A` is `(H, N, L)` and `B` is `(H, V, L)`. The result is `(H, T, V)`.
#
# **By hand.** $H = T = R = 1$, $N = 3$, $L = 1$, $S = 2$. The latents are 1 and 3, the rotated keys 0 and 0, $q = (\ln 3, 0, 0)$, $A = (1, 0, 0)^\top$ and $B = (10)$. Absorbed, the query is $\ln 3$. The scores are $\ln 3 / 2$ and $3 \ln 3 / 2$; they differ by $\ln 3$, and the weights are 1/4 and 3/4. The average latent is 2.5, and the result **25**.
#
# **Rules**
# 1. Do not expand keys and values of all heads: that is what the latent saves. One test gives the call 40 MiB, where expanded keys alone would need 103.
# 2. Scores can be in the hundreds: the softmax must not overflow, and masked tokens must not influence anything.
#
# <details><summary>Hint 1: a nudge</summary>
#
# After absorbing, every head asks the same keys, the latents. What kind of attention is that?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# `q @ A` has the shape (H, T, L). Its product with `c.T`, plus that of `q_rot` with `k_rot.T`, gives the scores (H, T, S). Divide, mask, softmax; multiply by `c` for an average latent (H, T, L), and by the transposed `B` for the result.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# Prices are in cents; each shop adds up what a list costs in its own currency. Convert the sum, not every price.
#
# ```python
# def totals(lists, cents, rates):
#     return rates[:, None] * (lists @ cents)
# ```
#
# `totals(torch.ones(1, 2), torch.tensor([100.0, 50.0]), torch.tensor([0.01]))` gives `[[1.5]]`.
#
# </details>
# <details><summary>Fine print</summary>
#
# $1 \le T \le S$. $L$ may be larger or smaller than $N$ and $V$. The memory test uses $H = N = V = S = 300$, $T = 1$, $L = 4$ and $R = 2$; keys of a few heads at a time are not noticed.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "latent_attention", "locked": false, "schema_version": 3, "solution": true, "task": false}
def latent_attention(
    q: Float[Tensor, "H T N"], q_rot: Float[Tensor, "H T R"], c: Float[Tensor, "S L"], k_rot: Float[Tensor, "S R"], A: Float[Tensor, "H N L"], B: Float[Tensor, "H V L"]
) -> Float[Tensor, "H T V"]:
    """Causal attention of the last T tokens to cached latents, with absorbed matrices."""
    ### BEGIN SOLUTION
    T, S = q.shape[1], len(c)
    scores = (q @ A @ c.T + q_rot @ k_rot.T) / (q.shape[2] + q_rot.shape[2]) ** 0.5
    seen = torch.arange(S) <= torch.arange(S - T, S)[:, None]          # (T, S)
    weights = scores.masked_fill(~seen, -torch.inf).softmax(-1)        # (H, T, S)
    return weights @ c @ B.transpose(1, 2)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "latent_attention-check", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check(latent_attention)

# %% [markdown] nbgrader={"grade": false, "grade_id": "latent_attention-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The case by hand, and what a token takes in the cache of DeepSeek-V3: as it is, and with the KV heads that it does without.

# %% nbgrader={"grade": false, "grade_id": "look-latent_attention", "locked": true, "schema_version": 3, "solution": false, "task": false}
found = attempt(latent_attention, torch.tensor([[[3.0, 1.0, 1.0]]]).log(), torch.zeros(1, 1, 1), torch.tensor([[1.0], [3.0]]), torch.zeros(2, 1), torch.tensor([[[1.0], [0.0], [0.0]]]), torch.tensor([[[10.0]]]))
if found is not None:
    print(f"by hand: {found.item():.3f}")
    for name, numbers in (("latent", 512 + 64), ("one KV head", 2 * 128), ("8 KV heads", 8 * 2 * 128), ("128 KV heads", 128 * 2 * 128)):
        print(f"{name:<13} {61 * numbers * 2 / 1024:>8,.1f} KiB a token")

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-own_words", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 5. In your own words

# %% [markdown] nbgrader={"grade": false, "grade_id": "forty_users-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 12. Out of memory at 40 users
#
# **Why.** This happens to people who run a server. The weights fit, the first users are happy, and the forty-first gets an error.
#
# **Difficulty** 3 of 5 · **Time** 14 minutes · **Points** 5, given by a person who reads it · **Paper** Ainslie et al. (2023), section 1; Pope et al. (2022), section 2
#
# A company serves a model with 70 billion parameters: 80 layers, 64 query heads, 8 KV heads of dimension 128. Weights and cache have 16 bits. After loading the weights, 50 GiB are left for the caches, and every user gets room for 4,096 tokens, used or not. It runs out of memory at 40 users. A colleague writes: *The cache grows with the square of the length, so we should halve the context. And let us drop the query heads from the cache.*
#
# **The question.** In about 130 words: compute what a token and a user take, and show that it is 40 users. What is wrong with both of the colleague's sentences? Then name **three different remedies**, each with how many bytes per token or how many users it gives, and with what it costs.
#
# {{rubric}}
#
# Short is fine. Correct and concrete beats long.
#
# <details><summary>Hint 1: a nudge</summary>
#
# `predict_cache(80, 64, 8, 128, 16, 4096, 50)`. Which of its seven numbers can somebody change, and who pays for it?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# The cache is a product of a few factors. Go through them: bits, tokens that are reserved, tokens that are really there, KV heads, layers, the memory itself. Two of them cannot be changed in a trained model without training.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# *A cloakroom is full at 200 guests: each has two hooks, used or not.* Hooks given out one by one serve nearly 400 guests with one coat each, at the price of a list that says whose is where. Thinner hangers put two coats on a hook; they crease. A second room costs rent.
#
# </details>

# %% [markdown] nbgrader={"grade": true, "grade_id": "forty_users", "locked": false, "points": 5, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# {{samples}}
# ### END SOLUTION

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-real", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Your code runs the real thing
#
# Nothing to write here. Run the cells and watch; they take about half a minute on a quiet machine.
#
# SmolLM2 has 135 million parameters in 30 layers, 9 query heads and 3 KV heads. Its file stores the rows of queries and keys in the interleaved layout. From here on only its matrices are used. Your `to_halves` reorders the rows, your `rms_norm`, `swiglu` and `grouped_attention` are the layers, 30 of your caches hold keys and values, and your `cached_generate` generates. The course adds the embedding, the RoPE angles and the residual connections.
# Then one of your functions at a time is replaced by a wrong version of itself.

# %% nbgrader={"grade": false, "grade_id": "real-llama", "locked": true, "schema_version": 3, "solution": false, "task": false}
import time

from course.demo import ready
from reference_impl import corpora
from reference_impl.generation.loop import generate as reference_generate
from reference_impl.generation.sampling_params import SamplingParams
from reference_impl.layers.attention import merge_heads, split_heads
from reference_impl.layers.rotary import rotary_tables, rotate
from reference_impl.tokenizers.gguf_tokenizer import tokenizer_from_metadata
from reference_impl.weights.gguf_files import read_gguf


def opened():
    """SmolLM2, its tokenizer, and its file, which has rows of queries and keys in interleaved order."""
    file = read_gguf(next(corpora.path("smollm2").glob("*.gguf")))
    return corpora.load("smollm2").eval(), tokenizer_from_metadata(file.metadata), file


def yours() -> dict[str, Callable]:
    """What you wrote, by its part in the model."""
    return {"norm": rms_norm, "feed": swiglu, "attend": grouped_attention, "order": to_halves, "cache": KVCache, "write": cached_generate}


def speaker(model, pairs: Callable[[int, str], Tensor], parts: dict[str, Callable], room: int) -> Callable:
    """A `step` for your `cached_generate`: the model's matrices between your functions. pairs: the rows of a layer's "q" or "k", as the file has them."""
    config, eps = model.config, model.config.rms_norm_eps
    H, K = config.num_heads, config.num_kv_heads
    D = config.head_dim or config.hidden_size // H
    kept = [parts["cache"](1, K, room, D) for _ in model.blocks]
    projections = [[parts["order"](pairs(layer, name), heads) for name, heads in (("q", H), ("k", K))] for layer in range(len(model.blocks))]

    @torch.no_grad()
    def step(ids, start):
        x = model.embedding(torch.tensor([ids]))
        tables = rotary_tables(torch.arange(start, start + len(ids)), D, config.rope_theta)
        for block, cache, (query, key) in zip(model.blocks, kept, projections):
            normed = parts["norm"](x, block.attention_norm.weight, eps)
            turned_queries, turned_keys = rotate(split_heads(normed @ query.T, H), tables), rotate(split_heads(normed @ key.T, K), tables)
            so_far = cache.append(turned_keys, split_heads(block.attention.value(normed), K))
            x = x + block.attention.output(merge_heads(parts["attend"](turned_queries, *so_far)))
            layer = block.feed_forward
            x = x + parts["feed"](parts["norm"](x, block.feed_forward_norm.weight, eps), layer.gate.weight, layer.up.weight, layer.down.weight)
        return model.output(parts["norm"](x[:, -1:], model.norm.weight, eps))[0]

    step.kept = kept
    return step


def wrong_versions() -> dict[str, dict[str, Callable]]:
    """Your own functions, each with one mistake."""
    def in_turns(q, k, v):
        order = torch.arange(q.shape[1]).reshape(-1, k.shape[1]).T.flatten()       # heads 0, 3, 6, then 1, 4, 7, then 2, 5, 8
        return grouped_attention(q[:, order], k, v)[:, order.argsort()]

    def grown(step, prompt, n):
        return cached_generate(lambda ids, start: step(ids, len(prompt) * (start - len(prompt) + 1) if start else 0), prompt, n)

    return {"rows left in the order of the file": {"order": lambda w, H: w}, "gate and up exchanged": {"feed": lambda x, gate, up, down: swiglu(x, up, gate, down)},
            "KV heads assigned alternately": {"attend": in_turns}, "a norm that subtracts the mean": {"norm": lambda x, w, eps: rms_norm(x - x.mean(-1, keepdim=True), w, eps)},
            "start grows by the prompt": {"write": grown}}

# %% nbgrader={"grade": false, "grade_id": "real-llama-run", "locked": true, "schema_version": 3, "solution": false, "task": false}
if ready(rms_norm, swiglu, grouped_attention, to_halves, KVCache, cached_generate, needs=["smollm2"]):
    smollm, tokenizer, file = opened()
    prompt, new = list(tokenizer.encode("We sat on the bank of the").ids), 16


    def pairs_of(layer, name):
        """The rows of a layer's queries or keys, in the order of the file."""
        return file.tensor(f"blk.{layer}.attn_{name}.weight")


    step, started = speaker(smollm, pairs_of, yours(), 64), time.perf_counter()
    said = cached_generate(step, prompt, new)
    print(f"{'yours':<36} {tokenizer.decode(said)!r}   ({time.perf_counter() - started:.1f} s)")
    theirs = reference_generate(smollm, [prompt], SamplingParams(temperature=0.0, max_tokens=new))[0].ids
    print(f"{'the course':<36} {tokenizer.decode(theirs)!r}   (token for token the same: {said == list(theirs)})")
    for cache in step.kept:                                                        # back to the prompt, and on with another word
        cache.truncate(len(prompt))
    money = list(tokenizer.encode(" money").ids)
    other = cached_generate(lambda ids, start: step(ids, start + len(prompt)), money, 8)
    print(f"{'taken back, and on with money':<36} {tokenizer.decode(money + other)!r}")
    for name, change in wrong_versions().items():
        parts = yours() | change
        print(f"{name:<36} {tokenizer.decode(parts['write'](speaker(smollm, pairs_of, parts, 64), prompt, new)) or 'no text: nothing but marks that are not shown'!r}")

# %% nbgrader={"grade": false, "grade_id": "real-work", "locked": true, "schema_version": 3, "solution": false, "task": false}
def without_a_cache(model, pairs: Callable[[int, str], Tensor], prompt: list[int], n: int) -> tuple[list[int], int]:
    """The same tokens by your functions, each step with empty caches and the whole text; and how many tokens were read."""
    new, read = [], 0
    step = speaker(model, pairs, yours(), len(prompt) + n)
    while len(new) < n:
        for cache in step.kept:
            cache.truncate(0)
        new += [int(step(prompt + new, 0)[-1].argmax())]
        read += len(prompt) + len(new) - 1
    return new, read

# %% nbgrader={"grade": false, "grade_id": "real-work-run", "locked": true, "schema_version": 3, "solution": false, "task": false}
if ready(rms_norm, swiglu, grouped_attention, to_halves, KVCache, cached_generate, needs=["smollm2"]):
    for new in (8, 24):
        started = time.perf_counter()
        with_one = cached_generate(speaker(smollm, pairs_of, yours(), 64), prompt, new)
        between = time.perf_counter()
        without, read = without_a_cache(smollm, pairs_of, prompt, new)
        print(f"{new} new tokens: with your caches {len(prompt) + new - 1} tokens read, {between - started:.1f} s; without {read}, {time.perf_counter() - between:.1f} s; the same text: {with_one == without}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "real-end", "locked": true, "schema_version": 3, "solution": false, "task": false}
# A real model generates with what you wrote, and with the same tokens as the course's own code. Only its sizes are larger than those of the exercises.
#
# Compare the wrong versions. None of them raises an error; every shape fits. Some are nonsense from the first token. Others continue in whole sentences, and only a comparison with another implementation shows the mistake. A falling loss or fluent text proves no line of a program; the same tokens as an independent implementation nearly do.
#
# One word of warning: if two tokens are nearly equally probable, a sum in another order may choose the other one. That is not your mistake. Texts with and without a cache can differ for that reason alone on another machine.

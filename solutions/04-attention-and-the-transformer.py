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
# # Chapter 4. Attention and the Transformer: the exercises
#
# In this notebook you write scaled dot-product attention, its masks and heads, three positional encodings, and the Transformer block around them.
# At the end your functions run MiniLM, a trained encoder, and reproduce its vectors.
#
# There are 10 exercises and 52 points. Plan about two and a half hours, in as many sittings as you like.
#
# | Part | Exercises | Minutes | Points |
# | --- | --- | --- | --- |
# | Scaled dot-product attention | 1 to 2 | 39 | 14 |
# | Multi-head attention | 3 | 20 | 7 |
# | Positional encodings | 4 to 6 | 43 | 13 |
# | The Transformer block | 7 to 9 | 36 | 14 |
# | In your own words | 10 | 10 | 4 |
# | Your code runs the real thing | nothing to write | 1 | 0 |
#
# **How it works.**
# 1. Read the statement, write the function in the cell below it, and run the check under that cell as often as you like.
# 2. A check's first line names the likely cause, its second a small input that fails. Stuck? Open the three hints in order; the third solves a similar problem.
# 3. Grading runs the same checks with other sizes and values. Axes of length 1 are always among them.
#
# **Symbols.** $B$ sequences in a batch, $H$ heads, $T$ queries, $S$ keys, $D$ dimensions per head, $C = H \cdot D$ dimensions per token (the hidden size).
#
# <details><summary>Fine print</summary>
#
# - *Arguments.* Leave them unchanged, and return something new: neither an argument nor a result of an earlier call. A tensor may be a view of a larger one (a transpose, every second element); `reshape` works there, `view` may not. Your result may be a view of something new, and may require gradients.
# - *Types.* Return the type, dtype and shape that the statement names; a dictionary has the named keys and no others, in any order. A subclass counts as its type, and an `int` may be given for a `float`, but a bool does not count as a number. Correct values in another type or dtype, with an axis of length 1 too many or too few, or with an extra key, lose a fifth of the exercise's points, once; any other shape is wrong. Breaking only *Arguments* or *Calls* costs the same fifth.
# - *Precision.* A float32 value may differ from the exact one by 0.0001 of its size plus 0.000002. If it is a sum with terms above 1, the second number is multiplied by the largest term. The order of your operations does not matter. Half precision, rounding, or a small constant "for safety" is wrong only where the error exceeds this tolerance. Where a statement allows float64 arguments, return float64; nine digits must then be correct, in the same sense.
# - *Calls.* A result depends only on the arguments: not on earlier calls, and not on chance. Calls may come in any order. Caching that cannot be observed is fine.
# - *Tools.* You may use anything in torch, numpy and the standard library, softmax included. Not allowed are the course's own layers and models, torch's ready-made attention in exercises 1 to 3, and torch's ready-made layer, group and batch norms in exercise 7; `mean`, `var` and `torch.linalg.norm` are allowed.
# - *Sizes and time.* Every axis has length 1 to 600, no result or score matrix has more than 100,000 elements, and no value exceeds a million, unless a statement says otherwise. A call may take five seconds: plain Python loops are fast enough.
# - *Arguments are as promised.* You need not check shapes, dtypes or ranges that a statement gives.
# - *Conventions.* Positions, heads and columns count from 0 unless a statement says otherwise. Logarithms are natural. You may add cells anywhere: helpers, prints, plots.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
import math
from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from autograder.check import check

WORDS = ["sat", "the", "bank", "river"]
KEYS = torch.tensor([[0.0, 0, 0, 0], [0, 0, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0]])
VALUES = torch.tensor([[0.0, 8, 0, 0], [0, 0, 0, 0], [4, 4, 0, 0], [8, 0, 0, 0]])
BANK = 2 * math.log(2) * torch.tensor([[1.0, 1, 0, 0]])        # the query of bank


def attempt(function, *arguments):
    """What your function returns; None, and a line that says so, before it is written."""
    try:
        return function(*arguments)
    except NotImplementedError:
        print(f"{function.__name__} is not written yet. Come back to this cell when it is.")
        return None

# %% nbgrader={"grade": false, "grade_id": "progress", "locked": true, "schema_version": 3, "solution": false, "task": false}
from autograder.notebook_progress import progress

progress("04")                                 # follows your checks

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-look", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 1. Scaled dot-product attention
#
# Each token has three vectors: a *query* (what it is looking for), a *key* (what it can be found by) and a *value* (what it hands over).
# The better a key matches a query, the more its value contributes to the output.

# %% [markdown] nbgrader={"grade": false, "grade_id": "attention-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 1. Scaled dot-product attention
#
# **Why.** This is the one operation in which the tokens of a sequence exchange information. GPT, BERT and LLaMA differ in what they feed it and in what they mask, not in the formula.
#
# **Difficulty** 3 of 5 · **Time** 25 minutes · **Points** 9 · **Paper** Vaswani et al. (2017), section 3.2.1
#
# Each head of each sequence has $T$ queries $q_t$, and $S$ keys $k_s$ with their values $v_s$, all of dimension $D$. The score of a key for a query is their scaled dot product. A softmax over the keys that the mask allows turns the scores into attention weights, and the output is the weighted average of the values:
#
# $$z_{ts} = \frac{q_t \cdot k_s}{\sqrt{D}} \qquad w_{ts} = \frac{e^{z_{ts}}}{\sum_{s' \text{ allowed}} e^{z_{ts'}}} \qquad \text{output}_t = \sum_{s \text{ allowed}} w_{ts}\, v_s$$
#
# Write `attention(q, k, v, mask)`. `q` is `(B, H, T, D)`, `k` and `v` are `(B, H, S, D)`, all float32 or all float64; `mask` is bool `(B, 1, T, S)`, shared by all heads, or `None`. The result has the shape and dtype of `q`.
#
# **By hand.** The query of *bank* is $2 \ln 2 \cdot (1, 1, 0, 0)$ and $D = 4$, so the score is half the dot product.
#
# | | key | score | exp(score) | weight | value |
# | --- | --- | --- | --- | --- | --- |
# | sat | (0, 0, 0, 0) | 0 | 1 | 1/8 | (0, 8, 0, 0) |
# | the | (0, 0, 0, 0) | 0 | 1 | 1/8 | (0, 0, 0, 0) |
# | bank | (1, 0, 0, 0) | ln 2 | 2 | 1/4 | (4, 4, 0, 0) |
# | river | (1, 1, 0, 0) | 2 ln 2 | 4 | 1/2 | (8, 0, 0, 0) |
#
# The output is **(5, 2, 0, 0)**. If *river* is masked, the weights are 1/4, 1/4, 1/2 and 0, and the output is **(2, 4, 0, 0)**. The setup cell defines these values as `BANK`, `KEYS` and `VALUES`.
#
# **Rules**
# 1. `mask[b, 0, t, s]` is True where query $t$ of sequence $b$ may attend to key $s$. With `None`, every query attends to every key.
# 2. A masked key counts as if it were not there, however large its score: the remaining weights add up to 1.
# 3. A query whose keys are all masked returns zeros.
# 4. Scores can be in the thousands, positive or negative, masked or not: the softmax must neither overflow nor underflow to 0 for every key.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Over which axis of the score matrix do the weights add up to 1? And what is the exponential of minus infinity?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Multiply the queries by the keys with their last two axes transposed: the scores, (B, H, T, S). Put minus infinity where the mask is False, then apply `softmax` over the last axis. A row of nothing but minus infinity gives NaN, and NaN times 0 is NaN: so *choose* 0 there with `torch.where` and the mask. Then multiply by the values.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# The mean mark of each pupil over the exams that the pupil sat; 0 for a pupil who sat none. The entry for a missed exam may be anything.
#
# ```python
# def mean_marks(marks, sat):                                   # (pupils, exams), both
#     number = sat.sum(1, keepdim=True)                         # (pupils, 1)
#     shares = torch.where(sat, 1 / number, 0.0)                # 1 / 0 is infinite, and not chosen
#     return (shares * marks).sum(1)
# ```
#
# For the marks 2, 4, 9 of a pupil who missed the last exam it is 3.
#
# </details>
# <details><summary>Fine print</summary>
#
# Scores reach ±10,000, and 0 is a score like any other. float32 represents scores of thousands only to about 0.001; so where scores reach the hundreds, queries and keys hold whole numbers, $D$ is 4 or 16, and the result may be off by 0.002 of the largest value. $T$ may be larger or smaller than $S$. One query, a whole sequence or the whole batch may be masked completely. Everything is finite.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "attention", "locked": false, "schema_version": 3, "solution": true, "task": false}
def attention(
    q: Float[Tensor, "B H T D"],
    k: Float[Tensor, "B H S D"],
    v: Float[Tensor, "B H S D"],
    mask: Bool[Tensor, "B 1 T S"] | None,
) -> Float[Tensor, "B H T D"]:
    """Scaled dot-product attention; zeros for a query whose keys are all masked."""
    ### BEGIN SOLUTION
    scores = q @ k.mT / math.sqrt(q.shape[3])                       # (B, H, T, S)
    if mask is None:
        return scores.softmax(3) @ v
    weights = torch.where(mask, scores, -torch.inf).softmax(3)      # NaN without any key
    return torch.where(mask, weights, 0.0) @ v
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "attention-check", "locked": true, "points": 9, "schema_version": 3, "solution": false, "task": false}
check(attention)

# %% [markdown] nbgrader={"grade": false, "grade_id": "attention-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# How much of each word does *bank* take? With the rows of the identity matrix as values, the output is the attention weights themselves. Scale the query up, and the softmax approaches one-hot.

# %% nbgrader={"grade": false, "grade_id": "look-attention", "locked": true, "schema_version": 3, "solution": false, "task": false}
for length in (0.0, 1.0, 2.0, 5.0):
    query, keys, identity = length * BANK[None, None], KEYS[None, None], torch.eye(4)
    weights = attempt(attention, query, keys, identity[None, None], None)
    if weights is not None:
        pairs = zip(WORDS, weights.flatten().tolist())
        shown = ", ".join(f"{word} {weight:.3f}" for word, weight in pairs)
        print(f"query times {length:g}:  {shown}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "masks-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 2. Causal and padding masks
#
# **Why.** The mask is what turns an encoder into a decoder. A causal mask that is off by one lets the model see the token that it should predict; without a padding mask, a sequence gets different vectors in a different batch.
#
# **Difficulty** 2 of 5 · **Time** 14 minutes · **Points** 5 · **Paper** Vaswani et al. (2017), section 3.2.3
#
# A batch has $B$ sequences padded to $S$ positions; sequence $b$ has its tokens at the first `lengths[b]` positions and padding after them. The $T$ queries belong to the **last** $T$ positions of the padded length $S$, for every sequence alike: during decoding, keys of earlier tokens come from a cache, and only the newest positions have queries. So query $t$ is at position $S - T + t$, and
#
# $$\text{mask}_{b,0,t,s} = \big(s < \text{lengths}_b\big) \;\text{and}\; \big(s \le S - T + t\big).$$
#
# Write `masks(lengths, num_queries, num_keys)`. `lengths` is int64 `(B,)`, each from 0 to `num_keys`; $T$ = `num_queries` is from 1 to $S$ = `num_keys`. The result is a bool tensor `(B, 1, T, S)`, True where the query may attend to the key.
#
# **By hand.** `lengths` 3 and 2, with $T = 2$ and $S = 3$: the queries are at positions 1 and 2.
#
# | | key 0 | key 1 | key 2 |
# | --- | --- | --- | --- |
# | sequence 0, query 0 | True | True | False |
# | sequence 0, query 1 | True | True | True |
# | sequence 1, query 0 | True | True | False |
# | sequence 1, query 1 | True | True | False |
#
# **Rules**
# 1. A query at a padding position follows the same formula: it attends to the tokens before it (last row above). Its output is never used.
# 2. A sequence of length 0 has False everywhere. Do not add a key to avoid an empty row.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Number the keys 0 to S - 1. If the last query is at position S - 1, at which position is the first?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Make two small tables, each with one comparison: keys against `lengths` (depends on sequence and key), and keys against the positions of the queries (depends on query and key). Give each of them axes of length 1 where it does not depend on something, and `&` broadcasts them to the full mask.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# A theatre numbers its rows and seats from 0. Visitor *i* may sit in the first `rows[i]` rows, and there in the first `seats[i]` seats. Which seats are open to which visitor?
#
# ```python
# def reachable(rows, seats, num_rows, num_seats):              # (visitors,), (visitors,)
#     in_row = torch.arange(num_rows)[:, None] < rows[:, None, None]        # (visitors, rows, 1)
#     in_seat = torch.arange(num_seats) < seats[:, None, None]              # (visitors, 1, seats)
#     return in_row & in_seat                                               # (visitors, rows, seats)
# ```
#
# A visitor with `rows` 1 and `seats` 2 may sit in seats 0 and 1 of row 0.
#
# </details>
# <details><summary>Fine print</summary>
#
# The longest sequence may be shorter than `num_keys`. The second axis always has length 1, because all heads share the mask.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "masks", "locked": false, "schema_version": 3, "solution": true, "task": false}
def masks(
    lengths: Int[Tensor, "B"], num_queries: int, num_keys: int
) -> Bool[Tensor, "B 1 T S"]:
    """True where a query may attend to a key: no padding, and not after the query."""
    ### BEGIN SOLUTION
    keys = torch.arange(num_keys)                                        # (S,)
    places = keys[num_keys - num_queries:, None]                         # (T, 1)
    return (keys <= places) & (keys < lengths.reshape(-1, 1, 1, 1))      # (B, 1, T, S)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "masks-check", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check(masks)

# %% [markdown] nbgrader={"grade": false, "grade_id": "masks-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The course's two sentences in one batch, `#` where a query may attend to a key. Then the last position alone, as during decoding.

# %% nbgrader={"grade": false, "grade_id": "look-masks", "locked": true, "schema_version": 3, "solution": false, "task": false}
sentences = ["we sat on the bank of the river".split(), "the bank lends money".split()]
longest = max(map(len, sentences))
for queries in (longest, 1):
    seen = attempt(masks, torch.tensor([len(one) for one in sentences]), queries, longest)
    if seen is not None:
        for words, table in zip(sentences, seen[:, 0]):
            padded = words + ["(padding)"] * (longest - len(words))
            for word, row in zip(padded[-queries:], table.tolist()):
                print(f"{word:>10} {''.join('#' if cell else '.' for cell in row)}")
            print()

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-heads", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 2. Multi-head attention
#
# One softmax gives one set of weights: a verb that needs both its subject and its object gets an average of the two. So a layer attends several times in parallel, each head with its own columns.

# %% [markdown] nbgrader={"grade": false, "grade_id": "multi_head-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 3. Multi-head attention
#
# **Why.** This is the complete attention layer of a Transformer, with its four projections. A `reshape` where a `transpose` belongs mixes the tokens up. The shapes still fit, and such a model even trains.
#
# **Difficulty** 4 of 5 · **Time** 20 minutes · **Points** 7 · **Paper** Vaswani et al. (2017), section 3.2.2
#
# Three matrices project the tokens $x$ to queries, keys and values, as `torch.nn.Linear` does. A head has dimension $D = C / H$: head $h$ owns columns $hD$ to $(h + 1)D - 1$ of all three. It attends with them as in exercise 1, without a mask. The outputs of the heads are concatenated, each in the columns of its head. A fourth matrix projects the result:
#
# $$q = x\, W_q^\top, \quad k = x\, W_k^\top, \quad v = x\, W_v^\top, \qquad \text{out} = \text{concat}(\text{head}_0, \ldots, \text{head}_{H-1})\; W_o^\top$$
#
# Write `multi_head(x, w_q, w_k, w_v, w_o, num_heads)`. `x` is `(B, T, C)`, the four matrices are `(C, C)`, all float32 or all float64; `num_heads` divides $C$. The result is `(B, T, C)` in the dtype of `x`. You may call your `attention`.
#
# **By hand.** $T = 2$, $C = 4$, $H = 2$; the projected values of the two tokens are (0, 1, 2, 3) and (4, 5, 6, 7). Head 0 has the rows (0, 1) and (4, 5), head 1 has (2, 3) and (6, 7). With queries of zeros every weight is 1/2. For both tokens, head 0 then returns (2, 3) and head 1 returns (4, 5): concatenated, **(2, 3, 4, 5)**. Reshaping 0 to 7 directly into two heads would give head 0 the whole first token.
#
# **Rules**
# 1. There are no biases, and there is no residual connection: $x$ is not added to the result.
# 2. Every token attends to every token of its own sequence, itself and later ones included.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Write the shape next to each line. Which axis is split into H and D, and which axis has to move so that (T, D) are the last two?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Project, (B, T, C). Split the last axis, (B, T, H, D). Transpose axes 1 and 2, (B, H, T, D). Attend. Then go back the same way: transpose, then merge the last two axes. Then apply the last matrix.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# Rain was measured in each town on 364 days. The year is divided into `parts` equal parts of whole weeks. What is the mean of each weekday in each part?
#
# ```python
# def weekday_means(rain, parts):                               # (towns, 364)
#     weeks = rain.reshape(len(rain), parts, -1, 7)             # (towns, parts, weeks, 7)
#     by_day = weeks.transpose(2, 3)                            # (towns, parts, 7, weeks): moved, not reshaped
#     return by_day.mean(3)
# ```
#
# A reshape straight to `(towns, parts, 7, -1)` would average runs of consecutive days, not weekdays.
#
# </details>
# <details><summary>Fine print</summary>
#
# There may be one head, or $C$ heads of dimension 1. Scores may reach several hundred; the arguments then hold whole numbers. If your `attention` is not right yet, write what you need of it here: every exercise is graded with what your notebook defines.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "multi_head", "locked": false, "schema_version": 3, "solution": true, "task": false}
def multi_head(
    x: Float[Tensor, "B T C"],
    w_q: Float[Tensor, "C C"],
    w_k: Float[Tensor, "C C"],
    w_v: Float[Tensor, "C C"],
    w_o: Float[Tensor, "C C"],
    num_heads: int,
) -> Float[Tensor, "B T C"]:
    """Self-attention in `num_heads` heads, concatenated and projected by `w_o`."""
    ### BEGIN SOLUTION
    batch, tokens, width = x.shape
    q, k, v = (
        (x @ weight.T).reshape(batch, tokens, num_heads, -1).transpose(1, 2)
        for weight in (w_q, w_k, w_v)
    )
    heads = attention(q, k, v, None)                                    # (B, H, T, D)
    return heads.transpose(1, 2).reshape(batch, tokens, width) @ w_o.T
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "multi_head-check", "locked": true, "points": 7, "schema_version": 3, "solution": false, "task": false}
check(multi_head)

# %% [markdown] nbgrader={"grade": false, "grade_id": "multi_head-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Shuffle the tokens of a sequence: the outputs are shuffled in the same way, and not one of them changes. Attention is permutation-equivariant: it knows nothing of positions. They have to be added, which is the next part.

# %% nbgrader={"grade": false, "grade_id": "look-multi_head", "locked": true, "schema_version": 3, "solution": false, "task": false}
generator = torch.Generator().manual_seed(4)
tokens = torch.randn(1, 5, 8, generator=generator)
matrices = [torch.randn(8, 8, generator=generator) for _ in range(4)]
order = torch.tensor([3, 1, 4, 0, 2])
straight = attempt(multi_head, tokens, *matrices, 2)
shuffled = attempt(multi_head, tokens[:, order], *matrices, 2)
if straight is not None and shuffled is not None:
    difference = (straight[:, order] - shuffled).abs().max()
    print(f"the largest difference, token by token: {difference:.0e}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-order", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 3. Positional encodings
#
# Attention sees a set: swap two tokens, and their outputs swap and nothing else happens. Here are three ways to tell it the order: add a vector to each embedding, rotate queries and keys, or subtract a penalty for distance from the scores.

# %% [markdown] nbgrader={"grade": false, "grade_id": "sinusoids-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 4. Sinusoidal positional encodings
#
# **Why.** The first Transformer added these vectors to its token embeddings. Moving one position ahead is the same rotation everywhere, which is the idea behind RoPE in exercise 5.
#
# **Difficulty** 2 of 5 · **Time** 12 minutes · **Points** 4 · **Paper** Vaswani et al. (2017), section 3.5
#
# Each position $p$ gets a vector of $C$ dimensions: pairs of a sine and a cosine, whose frequency falls from pair to pair. Pair $i = 0, 1, \ldots, C/2 - 1$ has the angle
#
# $$\alpha_i = \frac{p}{10000^{\,2i / C}} \text{ radians,} \qquad \text{and the vector is} \quad (\sin \alpha_0,\ \cos \alpha_0,\ \sin \alpha_1,\ \cos \alpha_1,\ \ldots).$$
#
# Write `sinusoids(positions, hidden)`. `positions` is int64 `(T,)`, each from 0 to 100,000; `hidden` is $C$, an even int. The result is float32 `(T, C)`.
#
# **By hand.** With $C = 4$ the angles are $p$ and $p / 100$. Position 0 has the vector **(0, 1, 0, 1)**. Position 1 has (sin 1, cos 1, sin 0.01, cos 0.01) = **(0.841, 0.540, 0.010, 1.000)**.
#
# **Rules**
# 1. Row $t$ encodes `positions[t]`. Positions may start anywhere, skip, decrease, and repeat.
# 2. Far positions must be as accurate as near ones. In float32 the angle 90,000.4 is 90,000.398: compute frequencies and angles in float64 (`torch.float64`) and return float32.
#
# <details><summary>Hint 1: a nudge</summary>
#
# How many different angles does a vector of six dimensions have? Which of its columns share one?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# The numbers 0, 2, 4, ... below $C$, divided by $C$, are the exponents. A column of positions times a row of frequencies is a table of angles $(T, C/2)$. `torch.stack` puts sine and cosine side by side on a new last axis, and `flatten` merges the last two axes.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# Three church bells ring every 1, 2 and 4 hours. For some hours, how long has each been silent, and how long will it stay silent, alternating:
#
# ```python
# def bells(hours):                                       # (T,)
#     every = 2.0 ** torch.arange(3)                      # (3,)
#     since = hours[:, None] % every                      # (T, 3)
#     return torch.stack([since, every - since], dim=2).flatten(1)        # (T, 6)
# ```
#
# `bells(torch.tensor([3]))` is 0, 1, 1, 1, 3, 1.
#
# </details>
# <details><summary>Fine print</summary>
#
# `hidden` is from 2 to 1,000. The first pair has the exponent 0, so its angle is the position itself; with `hidden` 2 it is the only pair.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "sinusoids", "locked": false, "schema_version": 3, "solution": true, "task": false}
def sinusoids(positions: Int[Tensor, "T"], hidden: int) -> Float[Tensor, "T C"]:
    """Sines and cosines in turn for each position, with a frequency for each pair."""
    ### BEGIN SOLUTION
    speeds = 10_000.0 ** (-torch.arange(0, hidden, 2, dtype=torch.float64) / hidden)
    angles = positions[:, None] * speeds                                # (T, C/2)
    return torch.stack([angles.sin(), angles.cos()], dim=2).flatten(1).float()
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "sinusoids-check", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(sinusoids)

# %% [markdown] nbgrader={"grade": false, "grade_id": "sinusoids-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The dot product of two encodings depends on the distance between the positions, and not on the positions. Read along a line: does it matter where the first of the two is?

# %% nbgrader={"grade": false, "grade_id": "look-sinusoids", "locked": true, "schema_version": 3, "solution": false, "task": false}
for apart in (0, 1, 2, 10, 100):
    positions = torch.tensor([0, apart, 70, 70 + apart, 9000, 9000 + apart])
    rows = attempt(sinusoids, positions, 64)
    if rows is None:
        break
    products = [f"{float(rows[first] @ rows[first + 1]):.2f}" for first in (0, 2, 4)]
    print(f"{apart:>3} apart, from position 0, 70 and 9,000: {', '.join(products)}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "rotate-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 5. Rotary position embeddings (RoPE)
#
# **Why.** LLaMA, Qwen, ModernBERT and most current models encode positions this way. The score of a rotated query and a rotated key depends only on the distance between their positions.
#
# **Difficulty** 3 of 5 · **Time** 18 minutes · **Points** 5 · **Paper** Su et al. (2021), section 3.2.2; layout of GPT-NeoX and of LLaMA in `transformers`
#
# Treat the $D$ dimensions of a query or key as $D/2$ points in the plane: dimension $i$ of the first half and dimension $i + D/2$ form the pair $(a, b)$. At position $p$, each pair is rotated counterclockwise by its own angle:
#
# $$\theta_i = p \cdot \text{base}^{-2i / D}, \quad i = 0, 1, \ldots, D/2 - 1, \qquad (a,\ b) \;\to\; (a \cos\theta_i - b \sin\theta_i,\ \ a \sin\theta_i + b \cos\theta_i).$$
#
# Write `rotate(x, positions, base)`. `x` is float32 or float64 `(B, H, T, D)` with $D$ even; `positions` is int64 `(T,)`, each from 0 to 100,000; `base` is a float. The result has the shape and dtype of `x`.
#
# **By hand.** Let one step be a quarter turn, so that the values stay whole. The query (1, 2) at position 3 rotates three times: (-2, 1), (-1, -2), **(2, -1)**. The key (2, 1) at position 1 rotates once: **(-1, 2)**. Their dot product is **-4**. At positions 2 and 0 they are (-1, -2) and (2, 1), with the dot product -4 again: the distance is the same.
# With $D = 4$ and base 10,000, the vector (1, 0, 0, 0) at position 1 becomes (cos 1, 0, sin 1, 0): dimension 0 is paired with dimension 2.
#
# **Rules**
# 1. The pairs are $(0, D/2)$, $(1, D/2 + 1)$ and so on, as in LLaMA's code. The paper pairs neighbours, $(0, 1)$, $(2, 3)$: not here.
# 2. Token $t$ is at `positions[t]`, in every sequence and every head. Positions may start anywhere, skip, decrease, and repeat.
# 3. Far positions must be as accurate as near ones: compute frequencies, angles, cosines and sines in float64, then convert the cosines and sines to the dtype of `x`.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Try $D = 2$ first: one pair, one angle for each token. What has to be added for $D = 6$? Which dimensions are $a$ there, and which $b$?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# The angles are a table $(T, D/2)$, as in exercise 4, and so are their cosines and sines. The two halves of `x` are $(B, H, T, D/2)$, which broadcasts with the table. Compute both new halves from the *old* ones, then concatenate them with `torch.cat`.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# Sheets of paper are enlarged by a factor for each page and shifted to the right by their old height. The widths are in the first half of a row, the heights in the second.
#
# ```python
# def grown(sheets, factors):                             # (books, pages, 2 n), (pages, n)
#     n = factors.shape[1]
#     width, height = sheets[..., :n], sheets[..., n:]
#     return torch.cat([width * factors + height, height * factors], dim=-1)
# ```
#
# The page 3, 4 with the factor 2 becomes 10, 8.
#
# </details>
# <details><summary>Fine print</summary>
#
# `base` is from 1 to 1,000,000. At position 0 nothing changes, and no rotation changes a vector's length.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "rotate", "locked": false, "schema_version": 3, "solution": true, "task": false}
def rotate(
    x: Float[Tensor, "B H T D"], positions: Int[Tensor, "T"], base: float
) -> Float[Tensor, "B H T D"]:
    """Each pair (i, i + D/2) of every token rotated by its position times a frequency."""
    ### BEGIN SOLUTION
    half = x.shape[-1] // 2
    speeds = base ** (-torch.arange(half, dtype=torch.float64) / half)  # (D/2,)
    angles = positions[:, None] * speeds                                # (T, D/2)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    a, b = x[..., :half], x[..., half:]                                 # (B, H, T, D/2)
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "rotate-check", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check(rotate)

# %% [markdown] nbgrader={"grade": false, "grade_id": "rotate-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# A query and a key, moved through a sequence together and then apart. Which of the two changes their score?

# %% nbgrader={"grade": false, "grade_id": "look-rotate", "locked": true, "schema_version": 3, "solution": false, "task": false}
query, key = torch.randn(2, 1, 1, 1, 64, generator=torch.Generator().manual_seed(1))
for places in ((3, 1), (103, 101), (9003, 9001), (3, 2), (3, 3), (4, 1)):
    pairs = zip((query, key), places)
    turned = [attempt(rotate, one, torch.tensor([place]), 10_000.0) for one, place in pairs]
    if turned[0] is None:
        break
    score = float((turned[0] * turned[1]).sum())
    print(f"query at {places[0]:>4}, key at {places[1]:>4}: score {score:.3f}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "distance_bias-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 6. Attention with linear biases (ALiBi)
#
# **Why.** ALiBi adds no vectors and rotates none. It lowers the score of distant keys, and a model trained on short sequences still works on longer ones.
#
# **Difficulty** 3 of 5 · **Time** 13 minutes · **Points** 4 · **Paper** Press et al. (2022), section 3; other numbers of heads as in the authors' code
#
# Before the softmax, head $h$ adds a bias to the score of query $t$ and key $s$: minus its slope $m_h$ times the distance between their positions. There are $S$ tokens, and the queries are the **last** $T$ of them, as in exercise 2, so query $t$ is at position $S - T + t$:
#
# $$\text{bias}_{hts} = -\, m_h \cdot \big|\, (S - T + t) - s \,\big|.$$
#
# If $H$ is a power of two, the heads $h = 1, \ldots, H$ have the slopes $m_h = 2^{-8h / H}$: with 8 heads 1/2, 1/4, ..., 1/256. For any other $H$, let $P$ be the largest power of two below $H$. The first $P$ heads have the slopes of $P$ heads, in order. The other $H - P$ follow with the slopes half a step before them: $2^{-8 (j - 1/2) / P}$ for $j = 1, \ldots, H - P$.
#
# Write `distance_bias(num_heads, num_queries, num_keys)`, with three ints $H$, $T$ and $S$, $T \le S$. The result is float32 `(H, T, S)`.
#
# **By hand.** Three heads: $P = 2$, so the slopes are 1/16 and 1/256, then $2^{-8 \cdot 0.5 / 2} = 1/4$. With 2 queries and 3 keys the queries are at positions 1 and 2, and the distances are
#
# | | key 0 | key 1 | key 2 |
# | --- | --- | --- | --- |
# | query 0 | 1 | 0 | 1 |
# | query 1 | 2 | 1 | 0 |
#
# The third head has **(-0.25, 0, -0.25)** and **(-0.5, -0.25, 0)**.
#
# **Rules**
# 1. A key after the query gets the bias of its distance, like one before it. Masking it is not this function's job.
# 2. All heads use the same distances.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Leave the heads for later: what does the table of distances look like for two queries and five keys? Where are its zeros?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# `torch.arange(num_keys - num_queries, num_keys)` are the positions of the queries. The absolute difference of these as a column and the positions of the keys as a row is the table of distances $(T, S)$. The slopes, with two axes of length 1, extend it to $(H, T, S)$. `H.bit_length()` helps to find the largest power of two that is at most $H$.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# Taxis charge a price per kilometre along one road, each company its own. There are nine kilometre stones; passengers wait at the last few.
#
# ```python
# def fares(prices, waiting, stones=9):                   # (companies,), an int
#     here = torch.arange(stones - waiting, stones)       # (waiting,)
#     there = torch.arange(stones)                        # (stones,)
#     kilometres = (there[None] - here[:, None]).abs()    # (waiting, stones)
#     return prices[:, None, None] * kilometres           # (companies, waiting, stones)
# ```
#
# From the last stone to the first it is eight times the price.
#
# </details>
# <details><summary>Fine print</summary>
#
# $H$ is from 1 to 128, $T$ from 1 to $S$, and $S$ up to 2,000; the table has at most 100,000 elements. One head alone has the slope 1/256.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "distance_bias", "locked": false, "schema_version": 3, "solution": true, "task": false}
def distance_bias(num_heads: int, num_queries: int, num_keys: int) -> Float[Tensor, "H T S"]:
    """Minus each head's slope times the distance between query and key."""
    ### BEGIN SOLUTION
    power = 2 ** (num_heads.bit_length() - 1)
    slopes = [2 ** (-8 * head / power) for head in range(1, power + 1)]
    between = [2 ** (-8 * (other + 0.5) / power) for other in range(num_heads - power)]
    queries = torch.arange(num_keys - num_queries, num_keys)            # (T,)
    distance = (torch.arange(num_keys) - queries[:, None]).abs()        # (T, S)
    return -torch.tensor(slopes + between)[:, None, None] * distance
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "distance_bias-check", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(distance_bias)

# %% [markdown] nbgrader={"grade": false, "grade_id": "distance_bias-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# If only the distance counted: how much of its attention would the last of 512 tokens give to the ten nearest, itself included, head by head?

# %% nbgrader={"grade": false, "grade_id": "look-distance_bias", "locked": true, "schema_version": 3, "solution": false, "task": false}
bias = attempt(distance_bias, 8, 1, 512)
if bias is not None:
    shares = bias.softmax(-1)[:, 0, -10:].sum(-1).tolist()
    print(", ".join(f"head {head}: {share:.0%}" for head, share in enumerate(shares, start=1)))

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-block", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 4. The Transformer block
#
# Attention moves information between positions; the feed-forward layer then transforms each position by itself. Around each of the two are a residual connection, which keeps what was there, and a norm, which brings every token to the same scale.

# %% [markdown] nbgrader={"grade": false, "grade_id": "layer_norm-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 7. Layer normalization
#
# **Why.** The original Transformer block normalizes its tokens twice, and so do BERT's and GPT's. torch's own `std` divides by $C - 1$ where this norm divides by $C$, a difference that is easily missed.
#
# **Difficulty** 2 of 5 · **Time** 10 minutes · **Points** 4 · **Paper** Ba et al. (2016), equation 3 and section 3.1
#
# Each token, the $C$ elements of the last axis, is normalized by itself. With $\mu$ the mean and $\sigma^2$ the variance of its elements,
#
# $$y_c = \frac{x_c - \mu}{\sqrt{\sigma^2 + \varepsilon}} \cdot \text{weight}_c + \text{bias}_c, \qquad \sigma^2 = \frac{1}{C} \sum_{c} (x_c - \mu)^2.$$
#
# Write `layer_norm(x, weight, bias, eps)`. `x` is `(..., C)`, with any number of axes before the last; `weight` and `bias` are `(C,)`, all float32 or all float64; `eps` is a float above 0. The result has the shape and dtype of `x`.
#
# **By hand.** The token (2, 2, 6, 6) has mean 4 and variance 4. With $\varepsilon$ close to 0, weight 1 and bias 0 it becomes **(-1, -1, 1, 1)**; dividing by $C - 1$ instead of $C$ would give 0.87 for 1. With $\varepsilon = 5$ it is **(-2/3, -2/3, 2/3, 2/3)**.
#
# **Rules**
# 1. $\varepsilon$ is added to the variance, inside the root.
# 2. Subtract the mean before you square. The mean can be thousands of times the standard deviation, and the mean of the squares minus the square of the mean then loses every digit.
#
# <details><summary>Hint 1: a nudge</summary>
#
# What does torch divide by in `x.std()`? And what is the shape of `x.mean(-1)`, if x is (B, T, C)?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Four steps, one line each: the mean over the last axis with `keepdim=True`, the difference, the mean of its squares, the quotient with the root. Weight and bias broadcast along the last axis.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# Each runner's times over some races, as distances from the middle of the runner's own range, in units of that range:
#
# ```python
# def around_the_middle(times):                                 # (clubs, runners, races)
#     low, high = times.amin(-1, keepdim=True), times.amax(-1, keepdim=True)
#     return (times - (low + high) / 2) / (high - low)
# ```
#
# The times 10, 12, 14 become -1/2, 0, 1/2.
#
# </details>
# <details><summary>Fine print</summary>
#
# `eps` is from 1e-12 to 100. $x$ may be a single token `(C,)`. A token of one element, or of equal elements, returns the bias. Tokens of equal elements, and those whose mean is thousands of times their deviation, hold whole numbers, and $C$ is a power of two or 1: float32 represents the mean exactly, so no float64 is needed inside. Everything is finite.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "layer_norm", "locked": false, "schema_version": 3, "solution": true, "task": false}
def layer_norm(
    x: Float[Tensor, "... C"], weight: Float[Tensor, "C"], bias: Float[Tensor, "C"], eps: float
) -> Float[Tensor, "... C"]:
    """Each token normalized to mean 0 and variance 1, times weight, plus bias."""
    ### BEGIN SOLUTION
    away = x - x.mean(dim=-1, keepdim=True)
    spread = (away.square().mean(dim=-1, keepdim=True) + eps).sqrt()
    return away / spread * weight + bias
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "layer_norm-check", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(layer_norm)

# %% [markdown] nbgrader={"grade": false, "grade_id": "layer_norm-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# A token, the same token times 1000, and the same token plus 100: after the norm nobody can tell them apart.

# %% nbgrader={"grade": false, "grade_id": "look-layer_norm", "locked": true, "schema_version": 3, "solution": false, "task": false}
token = torch.tensor([2.0, 2.0, 6.0, 6.0])
for name, one in (("the token", token), ("times 1000", 1000 * token), ("plus 100", token + 100)):
    normed = attempt(layer_norm, one, torch.ones(4), torch.zeros(4), 1e-5)
    if normed is not None:
        print(f"{name:<11}", [round(number, 3) for number in normed.tolist()])

# %% [markdown] nbgrader={"grade": false, "grade_id": "predict_block-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 8. Parameters, FLOPs and memory of a block
#
# **Why.** Before a model is trained, these numbers are computed. They say what fits on a GPU, and from which sequence length on attention dominates the cost.
#
# **Difficulty** 3 of 5 · **Time** 14 minutes · **Points** 5 · **Paper** Kaplan et al. (2020), section 2.1, which omits biases, norms and the score products
#
# An encoder block processes one sequence of $T$ tokens, with hidden size $C$, $H$ heads, and a feed-forward layer with inner dimension $F$. It consists of
#
# - four projections $(C, C)$ for queries, keys, values and output,
# - a feed-forward layer: a projection from $C$ to $F$, an activation, a projection from $F$ to $C$,
# - a bias for each of the six projections, with as many elements as its output has dimensions,
# - two layer norms, each with a weight and a bias of $C$ elements.
#
# Write `predict_block(tokens, hidden, heads, inner)`, with the ints $T$, $C$, $H$, $F$. It returns a dictionary with three ints:
#
# - `"parameters"`: the number of parameters.
# - `"operations"`: the FLOPs of all *matrix products* of one forward pass. A product of $(n, k)$ and $(k, m)$ takes $2nkm$ FLOPs. Besides the six projections, each head has two products: queries with keys, and attention weights with values. Biases, softmax, norms, activation and the scaling are not counted.
# - `"score_bytes"`: the bytes of the attention scores of all heads together, in float32.
#
# **By hand.** $T = 3$, $C = 4$, $H = 2$, $F = 8$. Parameters: 4 · 16 + 2 · 32 in the projections, 4 · 4 + 8 + 4 in their biases, 2 · 8 in the norms: **172**. FLOPs: 2 · 3 · 128 = 768 for the six projections, and per head 2 · 3 · 2 · 3 = 36 twice, so 144 for both heads: **912**. Bytes: two tables of 3 · 3 scores, 4 bytes each: **72**.
#
# **Rules**
# 1. Nothing is masked: all $T \cdot T$ scores of a head are computed.
# 2. The results are exact ints, which can have eighteen digits: no floats on the way.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Which of the three numbers depend on T, which on H, and which on the square of T?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Count the elements of the six matrices first: they are most of the parameters, and 2 T times as many are most of the FLOPs. In a head the products are (T, D) by (D, T) and (T, T) by (T, D). How much is H times D?
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# An LSTM cell with input dimension D and hidden size H has four gates, each with a matrix for the input, one for the state, and a bias. Its parameters, and the FLOPs of T steps:
#
# ```python
# def lstm_cost(steps, inputs, state):
#     matrices = 4 * (inputs * state + state * state)
#     return {"parameters": matrices + 4 * state, "operations": 2 * steps * matrices}
# ```
#
# `lstm_cost(10, 2, 3)` is 72 parameters and 1,200 FLOPs.
#
# </details>
# <details><summary>Fine print</summary>
#
# The four ints are from 1 to 299,999, and the scores take less than $10^{16}$ bytes. `heads` divides `hidden`; `inner` need not be four times `hidden`.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "predict_block", "locked": false, "schema_version": 3, "solution": true, "task": false}
def predict_block(tokens: int, hidden: int, heads: int, inner: int) -> dict[str, int]:
    """Parameters, FLOPs of a forward pass, and bytes of the scores, of an encoder block."""
    ### BEGIN SOLUTION
    matrices = 4 * hidden * hidden + 2 * hidden * inner
    rest = 5 * hidden + inner + 4 * hidden                               # biases, then norms
    return {"parameters": matrices + rest,
            "operations": 2 * tokens * matrices + 4 * tokens * tokens * hidden,
            "score_bytes": 4 * heads * tokens * tokens}
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "predict_block-check", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check(predict_block)

# %% [markdown] nbgrader={"grade": false, "grade_id": "predict_block-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# One block of BERT-base, with hidden size 768, 12 heads and inner dimension 3,072, on longer and longer sequences. From which length on does half of the work happen between the tokens?

# %% nbgrader={"grade": false, "grade_id": "look-predict_block", "locked": true, "schema_version": 3, "solution": false, "task": false}
for length in (128, 512, 2048, 4608, 16384):
    cost = attempt(predict_block, length, 768, 12, 3072)
    if cost is not None:
        share = 4 * length * length * 768 / cost["operations"]
        print(
            f"{length:>6} tokens: {cost['parameters']:,} parameters,"
            f" {cost['operations'] / 1e9:,.1f} billion FLOPs, {share:.0%} of them"
            f" between tokens, {cost['score_bytes'] / 2**20:,.0f} MiB of scores"
        )

# %% [markdown] nbgrader={"grade": false, "grade_id": "block-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 9. Find the wrong line: a pre-norm block
#
# **Why.** GPT, LLaMA and ModernBERT are this function, repeated many times. Attention carries information between positions, the feed-forward layer transforms each position by itself, and both add their outputs to a residual stream that is never normalized.
#
# **Difficulty** 2 of 5 · **Time** 12 minutes · **Points** 5 (1 for the line, 4 for the function) · **Paper** Xiong et al. (2020), section 3 and figure 1
#
# A pre-norm block has two sublayers, `attend` and `feed_forward`. Each gets the normalized residual stream, and its output is added to the stream:
#
# $$y = x + \text{attend}(\text{norm}_1(x)) \qquad \text{out} = y + \text{feed-forward}(\text{norm}_2(y))$$
#
# The function below runs, returns the right shape, and a model made of it even learns. **Exactly one** of its six numbered lines is wrong: replacing one name in that line repairs the function.
#
# ```python
# def block(x, attend, feed_forward, norm_1, norm_2):     # x (B, T, C)
#     normed = norm_1(x)                                  # line 1
#     mixed = attend(normed)                              # line 2
#     x = normed + mixed                                  # line 3
#     normed = norm_2(x)                                  # line 4
#     update = feed_forward(normed)                       # line 5
#     return x + update                                   # line 6
# ```
#
# Write two functions. `block(x, attend, feed_forward, norm_1, norm_2)` is the repaired one, corrected or written from scratch. `x` is `(B, T, C)`, float32 or float64; the other four are functions from such a tensor to a new one of the same shape and dtype. The result has the shape and dtype of `x`. `wrong_line()` returns the number of the wrong line, an int. Each is graded by itself.
#
# **By hand**, with one number in place of each tensor. Let norm_1 subtract 2, `attend` multiply by 10, norm_2 halve, and `feed_forward` add 1. For $x = 4$: norm_1 gives 2, attention 20, so $y = 24$; norm_2 gives 12, the feed-forward 13, and the result is **37**. Trace the code with these functions and a pencil.
#
# **Rules**
# 1. Call each of the four functions once, with the whole batch.
# 2. Leave `x` unchanged: make new tensors.
#
# <details><summary>Hint 1: a nudge</summary>
#
# On the right of the two formulas, $x$ appears twice and so does $y$. Which names does the code have at these four spots?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Trace the case by hand through lines 1 to 6 and write down `normed`, `mixed` and `x` after each. Which is the first line after which a name does not hold what the formulas have there?
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# A text goes through two editors. Each gets a clean copy of it and returns remarks, which are appended to the text itself. The text stays as the author wrote it.
#
# ```python
# def edited(text, first, second, clean):
#     text = text + first(clean(text))             # not clean(text) + ...: the author's own words stay
#     return text + second(clean(text))
# ```
#
# With `clean=str.lower`, the text "Bank" and editors who answer "?" and "!" it becomes "Bank?!".
#
# </details>
# <details><summary>Fine print</summary>
#
# `attend` mixes the tokens of a sequence, the other three treat each token by itself; none of them keeps anything between calls. A norm or a sublayer may return zeros, or a copy of what it was given.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "block", "locked": false, "schema_version": 3, "solution": true, "task": false}
def wrong_line() -> int:
    """The number, 1 to 6, of the line that is wrong."""
    ### BEGIN SOLUTION
    return 3
    ### END SOLUTION


def block(
    x: Float[Tensor, "B T C"],
    attend: Callable[[Tensor], Tensor],
    feed_forward: Callable[[Tensor], Tensor],
    norm_1: Callable[[Tensor], Tensor],
    norm_2: Callable[[Tensor], Tensor],
) -> Float[Tensor, "B T C"]:
    """The pre-norm block of the statement, with the wrong line repaired."""
    ### BEGIN SOLUTION
    x = x + attend(norm_1(x))
    return x + feed_forward(norm_2(x))
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "block-check", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check(block)

# %% [markdown] nbgrader={"grade": false, "grade_id": "block-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Forty-eight blocks with small random weights on top of each other. How much of the input is left in the residual stream, measured by the cosine? Then the same blocks with the printed mistake.

# %% nbgrader={"grade": false, "grade_id": "look-block", "locked": true, "schema_version": 3, "solution": false, "task": false}
def as_printed(x, attend, feed_forward, norm_1, norm_2):
    normed = norm_1(x)
    later = normed + attend(normed)
    return later + feed_forward(norm_2(later))


def plain_norm(x):
    x = x - x.mean(-1, keepdim=True)
    return x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt()


def left_after(one_block, number):
    """The mean cosine between the input and the output of `number` blocks."""
    generator = torch.Generator().manual_seed(1)
    stream = start = 2 * torch.randn(1, 20, 64, generator=generator)
    for _ in range(number):
        mix, first, second = 0.08 * torch.randn(3, 64, 64, generator=generator)
        stream = attempt(
            one_block,
            stream,
            lambda x: x.mean(1, keepdim=True) @ mix + 0 * x,
            lambda x: (x @ first).relu() @ second,
            plain_norm,
            plain_norm,
        )
        if stream is None:
            return None
    return float(torch.cosine_similarity(start, stream, dim=-1).mean())


for number in (1, 4, 12, 48):
    yours = left_after(block, number)
    if yours is not None:
        printed = left_after(as_printed, number)
        print(f"after {number:>2} blocks: yours {yours:.2f}, as printed {printed:.2f}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-own-words", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 5. In your own words

# %% [markdown] nbgrader={"grade": false, "grade_id": "which_family-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 10. Encoder, decoder, encoder–decoder
#
# **Why.** The same block makes BERT, GPT and T5. The attention mask decides which of them it is, and what it is good for.
#
# **Difficulty** 2 of 5 · **Time** 10 minutes · **Points** 4, given by a person who reads it · **Paper** Vaswani et al. (2017), section 3.2.3; Raffel et al. (2020), section 3.2.1
#
# Three Transformers have lost their names. You change one input token and see which outputs change:
#
# - *A*: wherever the token is, the outputs at all positions change.
# - *B*: the outputs at the position of that token and at all later ones change, and no others.
# - *C* takes two sequences and has outputs at the positions of the second. A token of the first sequence changes all of them; a token of the second changes those at its position and later.
#
# **The question.** In about 120 words: which family is each of the three, with one published model of it? Which of their attentions are causal, and which are not? Which of the three would you use to classify the sentiment of a review, to continue a story, and to translate, and why? And why not let A continue the story, by asking it for one token after the other?
#
# {{rubric}}
#
# Short is fine. Correct and concrete beats long.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Draw the mask of each attention as a table, queries down and keys across. C has three tables.
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# For each task ask: what is already there when an output is needed, and what is not written yet? For the last question ask what A could attend to on both sides throughout its training, and what has to be recomputed when a token is appended.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# *Why does a crossword solver not write novels?* Every word that they ever found had letters crossing it from all sides. At the open end of a novel nothing crosses. They could try, but it is not what they have practised.
#
# </details>

# %% [markdown] nbgrader={"grade": true, "grade_id": "which_family", "locked": false, "points": 4, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# {{samples}}
# ### END SOLUTION

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-real", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Your code runs the real thing
#
# Nothing to write here. Run the cells and watch; they take a few seconds.
#
# MiniLM is an encoder of six layers with twelve heads each, trained by others to embed sentences; its 22.7 million parameters come with this course.
# First your `attention`, `masks` and `layer_norm` process a padded batch of sentences. The course's model contributes its projections, feed-forward layers and embedding tables.
# Then your `multi_head` processes one sentence at a time. MiniLM's projections have biases and yours have none. So each head gets an extra column that holds a 1 for every token: the weights of that column act as a bias.

# %% nbgrader={"grade": false, "grade_id": "real-minilm", "locked": true, "schema_version": 3, "solution": false, "task": false}
import time

from course.demo import ready
from reference_impl.corpora import load


def your_norm(norm, x: Float[Tensor, "B T C"]) -> Float[Tensor, "B T C"]:
    """A norm of the model by your `layer_norm`."""
    return layer_norm(x, norm.weight.detach(), norm.bias.detach(), norm.eps)


def your_attention(
    layer, x: Float[Tensor, "B T C"], lengths: Int[Tensor, "B"]
) -> Float[Tensor, "B T C"]:
    """A layer of MiniLM by your `attention` and `masks`, for a padded batch."""
    projections, split = (layer.query, layer.key, layer.value), (layer.num_heads, -1)
    q, k, v = (one(x).unflatten(-1, split).transpose(1, 2) for one in projections)
    last = masks(lengths, 1, x.shape[1])           # the last position sees every token ...
    mask = last.repeat(1, 1, x.shape[1], 1)        # ... and in an encoder all positions do
    return layer.output(attention(q, k, v, mask).transpose(1, 2).flatten(2))


def with_biases(
    linear, heads: int, factor: float = 1.0, one: float = 0.0, joins: bool = False
) -> Float[Tensor, "E E"]:
    """A matrix with a column for the bias and an extra column for each head.

    one: what the head's extra column gives for a 1. joins: for the last matrix, which
    reads heads in place of tokens, the 1 comes from the first head.
    """
    width = linear.out_features // heads
    columns = torch.arange(heads)[:, None] * (width + 1) + torch.arange(width)
    own = columns.flatten()                                       # MiniLM's own columns
    ones = torch.arange(heads) * (width + 1) + width              # those of the 1s
    wide = torch.zeros(heads * (width + 1), heads * (width + 1))
    if joins:
        wide[:linear.out_features, own] = linear.weight
        wide[:linear.out_features, ones[0]] = linear.bias
    else:
        wide[own, :linear.in_features] = factor * linear.weight
        wide[own, linear.in_features] = factor * linear.bias
        wide[ones, linear.in_features] = one
    return wide


def your_heads(
    layer, x: Float[Tensor, "B T C"], lengths: Int[Tensor, "B"]
) -> Float[Tensor, "B T C"]:
    """A layer of MiniLM by your `multi_head`, for one sentence without padding."""
    heads, width = layer.num_heads, x.shape[-1] // layer.num_heads
    extra = torch.ones(*x.shape[:2], 1), torch.zeros(*x.shape[:2], heads - 1)
    wide = torch.cat([x, *extra], -1)
    root = math.sqrt((width + 1) / width)          # your D has one more column than MiniLM's
    matrices = (
        with_biases(layer.query, heads, root),
        with_biases(layer.key, heads),
        with_biases(layer.value, heads, one=1.0),
        with_biases(layer.output, heads, joins=True),
    )
    return multi_head(wide, *matrices, heads)[..., :x.shape[-1]]


@torch.no_grad()
def your_layers(
    model, ids: Int[Tensor, "B T"], lengths: Int[Tensor, "B"], attend: Callable
) -> list[Float[Tensor, "B T C"]]:
    """The embeddings and the output of every layer of MiniLM; `attend` is one of the above."""
    tables = model.embeddings
    segments = tables.segment(torch.zeros_like(ids))
    x = your_norm(tables.norm, tables.word(ids) + tables.position(ids.shape[1]) + segments)
    layers = [x]
    for block in model.blocks:
        x = your_norm(block.attention_norm, x + attend(block.attention, x, lengths))
        x = your_norm(block.feed_forward_norm, x + block.feed_forward(x))
        layers.append(x)
    return layers

# %% nbgrader={"grade": false, "grade_id": "real-minilm-run", "locked": true, "schema_version": 3, "solution": false, "task": false}
SENTENCES = [                                  # add sentences of your own with bank
    "we sat on the bank of the river",
    "the bank lends money",
    "the bank of the river was muddy",
    "she put her money in the bank because the bank across the road had closed its doors",
]
if ready(attention, masks, layer_norm, needs=["minilm", "bert_tokenizer"]):
    minilm, tokenizer = load("minilm").eval(), load("bert_tokenizer")
    rows = [tokenizer.encode(sentence) for sentence in SENTENCES]
    lengths = torch.tensor([len(row.ids) for row in rows])
    ids = torch.tensor([row.ids + [0] * (int(lengths.max()) - len(row.ids)) for row in rows])
    words = torch.arange(ids.shape[1]) < lengths[:, None]
    started = time.perf_counter()
    layers = your_layers(minilm, ids, lengths, your_attention)
    seconds = time.perf_counter() - started
    with torch.no_grad():
        theirs = minilm(ids, mask=words).tokens
    difference = (layers[-1] - theirs)[words].abs().max()
    print(f"{len(rows)} sentences in {seconds:.1f} s")
    print(f"the largest difference from the course's MiniLM is {difference:.0e}")
    place = [row.tokens.index("bank") for row in rows]
    print("\nsimilarity of bank to that of the first sentence (cosine, by layer)")
    for row, sentence in enumerate(SENTENCES[1:], start=1):
        banks = [(one[0, place[0]], one[row, place[row]]) for one in layers]
        cosines = [torch.cosine_similarity(*pair, dim=0).item() for pair in banks]
        print(" ".join(f"{cosine:.2f}" for cosine in cosines), "", sentence[:60])

# %% nbgrader={"grade": false, "grade_id": "real-heads-run", "locked": true, "schema_version": 3, "solution": false, "task": false}
if ready(multi_head, layer_norm, needs=["minilm", "bert_tokenizer"]):
    minilm, tokenizer = load("minilm").eval(), load("bert_tokenizer")
    for sentence in SENTENCES:
        ids = torch.tensor([tokenizer.encode(sentence).ids])
        length = torch.tensor([ids.shape[1]])
        started = time.perf_counter()
        yours = your_layers(minilm, ids, length, your_heads)[-1]
        seconds = time.perf_counter() - started
        with torch.no_grad():
            theirs = minilm(ids).tokens
        difference = (yours - theirs).abs().max()
        print(f"{ids.shape[1]:>3} tokens in {seconds:.2f} s, largest difference {difference:.0e}: "
              f"{sentence[:60]}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "real-end", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The differences are those of float32, where sums in another order round differently: the course's model runs torch's fused attention, which never stores the score matrix. There is nothing more in MiniLM than what you wrote.
# What it has learned, and how, is the next chapter.

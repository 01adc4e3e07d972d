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
# # Chapter 17. The capstone: the exercises
#
# In this notebook you write what surrounds a model's training: its plan, its data, its reward, its score and its export.
# At the end your functions describe, score and export a model of the capstone's shape, and `transformers` loads it.
#
# There are 3 exercises and 16 points. Plan about 43 minutes, in as many sittings as you like.
#
# | Part | Exercises | Minutes | Points |
# | --- | --- | --- | --- |
# | Plan the run | 1 | 15 | 6 |
# | Reward and score | 2 to 3 | 28 | 10 |
#
# **How it works.**
# 1. Read the statement, write the function in the cell below it, and run the check under that cell as often as you like.
# 2. A check's first line names the likely cause, its second a small input that fails. Stuck? Open the three hints in order; the third solves a similar problem.
# 3. Grading runs the same checks with other sizes and values. The smallest sizes are always among them.
#
# **Symbols.** $V$ vocabulary size, $C$ hidden size, $F$ intermediate size, $H$ query heads, $K$ KV heads, $T$ tokens of a sequence.
#
# <details><summary>Fine print</summary>
#
# - *Arguments.* Leave them unchanged, lists and dictionaries included, and return something new: neither an argument or a part of one nor a result of an earlier call.
# - *Types.* Return the type that the statement names; a dictionary has the named keys and no others, in any order. Integers are Python's `int`; a bool is no number. Correct values in another type lose a fifth of the exercise's points, once. So does an answer that breaks *Arguments*.
# - *Precision.* Integers, texts and bools are compared exactly. Floats are compared to four digits of each value, and to 0.00001 near 0, unless a statement says otherwise.
# - *Calls.* A result depends only on the arguments: not on earlier calls, and not on chance. Calls may come in any order.
# - *Tools.* You may use anything in torch, numpy and the standard library, unless a statement says otherwise. Not allowed are the course's own models, layers, objectives, metrics and capstone, and the libraries `transformers`, `scipy.stats`, `statsmodels` and `sklearn`.
# - *Sizes and time.* Unless a statement says otherwise, lists have 1 to 300 entries. A call may take five seconds: plain Python loops are fast enough.
# - *Arguments are as promised.* Your function need not check what a statement and its fine print promise. You may add cells anywhere: helpers, prints, plots.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
import hashlib
import math
import re

import torch
from torch import Tensor

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

progress("17")                                 # follows your checks

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-plan", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 1. Plan the run

# %% [markdown] nbgrader={"grade": false, "grade_id": "plan-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 1. Parameters and FLOPs
#
# **Why.** A run is planned before it starts: the parameters decide what fits, the FLOPs decide how long it takes. A plan that disagrees with the finished run reveals a bug in one of them.
#
# **Difficulty** 3 of 5 · **Time** 15 minutes · **Points** 6 · **Paper** Kaplan et al. (2020), section 2.1; Chowdhery et al. (2022), appendix B
#
# The model is a LLaMA: $V$ tokens, hidden size $C$, SwiGLU of intermediate size $F$, `layers` blocks, $H$ query heads and $K$ KV heads of dimension $D = C/H$. There are no biases. A block has
#
# - query and output matrices $C \times C$, key and value matrices $KD \times C$;
# - gate, up and down, $F \times C$, $F \times C$ and $C \times F$;
# - two RMSNorms of $C$ weights.
#
# One more RMSNorm follows the last block. The output layer is **tied**: it uses the embedding, $V \times C$, as its matrix.
#
# The run has `steps` steps of `batch` sequences of $T$ tokens. With $M$ matrix entries, output layer included, and $n = \text{batch} \cdot T \cdot \text{steps}$ tokens,
#
# $$ \text{matrix FLOPs} = 6 M n, \qquad \text{attention FLOPs} = 3 \cdot 4 D \cdot H \cdot \text{layers} \cdot T^2 \cdot \text{batch} \cdot \text{steps}. $$
#
# The 6 is 2 FLOPs per entry and token forward and 4 backward. A pair of tokens costs $2D$ for its score and $2D$ for its share of the weighted sum.
#
# Write `plan(V, C, F, layers, H, K, batch, T, steps)`. It returns a dictionary of three ints: `"parameters"`, `"matrix_flops"` and `"attention_flops"`, the FLOPs for the whole run.
#
# **By hand.** $V = 10$, $C = 4$, $F = 5$, 2 layers, $H = 2$, $K = 1$; 7 steps of 3 sequences of 2 tokens. A block has 16 + 8 + 8 + 16 = 48 entries in attention, 60 in SwiGLU and 8 weights in norms, 116 together. *Parameters*: 40 + 2 · 116 + 4 = **276**. *Matrix FLOPs*: $M$ = 2 · 108 + 40 = 256 and $n$ = 42, so 6 · 256 · 42 = **64,512**. *Attention FLOPs*: 3 · 8 · 2 · 2 · 4 · 3 · 7 = **8,064**.
#
# **Rules**
# 1. Tied parameters are stored once, but the output layer's product is computed.
# 2. Looking up an embedding, the norms and the softmax count as no FLOPs.
# 3. Masked pairs count: most kernels for training compute them.
# 4. Count in ints; floats lose digits of large numbers.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Which tensor is in the parameters once and still takes part in a product? Which ones are in no product at all?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Compute the entries of one block's matrices first. The parameters are these times `layers`, the embedding, and 2 · layers + 1 norms. $M$ leaves the norms out and keeps $V \cdot C$.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# A bakery has ovens of `trays` trays and a shared table. Its plan counts the trays and what a week of `days` days bakes, in loaves; the table bakes nothing.
#
# ```python
# def week(ovens, trays, loaves, days):
#     return {"things": ovens * trays + 1, "loaves": ovens * trays * loaves * days}
# ```
#
# `week(2, 3, 10, 7)` is 7 things and 420 loaves.
#
# </details>
# <details><summary>Fine print</summary>
#
# All arguments are ints. $V$, $C$, $F$, `layers`, $H$ and $K$ are from 1 to 200,000, `batch` and $T$ from 1 to 10,000, `steps` from 1 to a million. $C$ is a multiple of $H$, and $H$ of $K$. The results are below $2^{63}$.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "plan", "locked": false, "schema_version": 3, "solution": true, "task": false}
def plan(V: int, C: int, F: int, layers: int, H: int, K: int, batch: int, T: int, steps: int) -> dict[str, int]:
    """Parameters of a tied LLaMA, and the FLOPs of its training in matrices and in attention."""
    ### BEGIN SOLUTION
    D = C // H
    block = 2 * C * C + 2 * C * K * D + 3 * C * F
    matrices = layers * block + V * C
    pairs = T * T * batch * steps
    return {
        "parameters": matrices + (2 * layers + 1) * C,
        "matrix_flops": 6 * matrices * batch * T * steps,
        "attention_flops": 3 * 4 * D * H * layers * pairs,
    }
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "plan-check", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
check(plan)

# %% [markdown] nbgrader={"grade": false, "grade_id": "plan-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The capstone's model and its pre-training, and two changes of it. How long would your machine take at 20 GFLOP/s?

# %% nbgrader={"grade": false, "grade_id": "look-plan", "locked": true, "schema_version": 3, "solution": false, "task": false}
for name, sizes in {"the capstone": (1024, 128, 344, 4, 4, 2, 16, 128, 2400), "all heads have keys": (1024, 128, 344, 4, 4, 4, 16, 128, 2400), "sequences of 1,024": (1024, 128, 344, 4, 4, 2, 2, 1024, 2400)}.items():
    found = attempt(plan, *sizes)
    if found is not None:
        flops = found["matrix_flops"] + found["attention_flops"]
        print(f"{name:<20} {found['parameters']:>9,} parameters, {flops / 1e12:.1f} TFLOPs, {found['attention_flops'] / flops:.0%} in attention, {flops / 20e9:.0f} s at 20 GFLOP/s")

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-scores", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 2. Reward and score

# %% [markdown] nbgrader={"grade": false, "grade_id": "sum_reward-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 2. A reward for sums
#
# **Why.** Reinforcement learning maximizes the reward that you wrote, not the one that you meant. Every gap between the two is found, because the model is rewarded for finding it.
#
# **Difficulty** 3 of 5 · **Time** 18 minutes · **Points** 6 · **Paper** Shao et al. (2024), section 4.1; Skalse et al. (2022); Lambert et al. (2024), section 6
#
# The capstone's model answers a question such as `47+85` with steps and a result, `7+5=12, 1+4+8=13, 132`, or at once, `I say 132`. It closes every answer with the end token, written `<|im_end|>`. A **verifiable reward** reads the final number only:
#
# $$ r = \begin{cases} 1 & \text{if the last word before the first end token is } a + b, \\ 0 & \text{otherwise.} \end{cases} $$
#
# Write `sum_reward(question, answer)`. `question` is `"a+b"` with two ints; `answer` is the text that the model generated. It returns 1.0 or 0.0, a float.
#
# **By hand.** The question is `47+85`.
#
# | answer | reward | |
# | --- | --: | --- |
# | `7+5=12, 1+4+8=13, 132<\|im_end\|>` | **1.0** | the last word is 132 |
# | `131 132 133<\|im_end\|>` | **0.0** | several numbers are listed, and the last is 133 |
# | `I say 130<\|im_end\|> 132` | **0.0** | nothing after the end token counts |
# | `I say 132` | **0.0** | no end token: the answer was cut off |
# | `47+85<\|im_end\|>` | **0.0** | the question repeated is no result |
#
# **Rules**
# 1. Words are separated by spaces and newlines. Spaces before the end token do not matter.
# 2. Only what precedes the **first** end token counts. Without an end token the reward is 0.0.
# 3. The last word must be exactly `str(a + b)`, or that and one full stop: no sign, no leading zero, no other character.
# 4. How the number was reached is not rewarded, and neither is a number that is nearly right.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Which of the five answers in the table would your first idea reward by mistake?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Cut the answer at the first end token; if there is none, return 0.0. Split what is left at white space. If there is a last word, drop one full stop at its end, and compare it as a text with `str(a + b)`.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# A parking meter prints a code after the last colon of a line that ends with `;`. What follows the `;` is advertising.
#
# ```python
# def has_code(line, code):
#     printed, end, _ = line.partition(";")
#     return bool(end) and printed.split(":")[-1].strip() == code
# ```
#
# `has_code("time 12: code: 77; buy 88", "77")` is True. Without the `;` it is False.
#
# </details>
# <details><summary>Fine print</summary>
#
# The two numbers are from 0 to 999, without leading zeros. An answer has 0 to 200 characters of any kind; white space in it is spaces and newlines only. It may be empty, and `<|im_end|>`, in small letters, may occur several times.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "sum_reward", "locked": false, "schema_version": 3, "solution": true, "task": false}
def sum_reward(question: str, answer: str) -> float:
    """1.0 if the answer ended and its last word is the sum, else 0.0."""
    ### BEGIN SOLUTION
    a, b = map(int, question.split("+"))
    said, end, _ = answer.partition("<|im_end|>")
    words = said.split()
    if not end or not words:
        return 0.0
    return float(words[-1].removesuffix(".") == str(a + b))
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "sum_reward-check", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
check(sum_reward)

# %% [markdown] nbgrader={"grade": false, "grade_id": "sum_reward-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Eight hacks. A reward that pays for one of them teaches it.

# %% nbgrader={"grade": false, "grade_id": "look-sum_reward", "locked": true, "schema_version": 3, "solution": false, "task": false}
for answer in ("131 132 133<|im_end|>", "47+85<|im_end|>", "47 85<|im_end|>", "route132<|im_end|>", "I say 130<|im_end|> 132", "132 132 132", "int(132)<|im_end|>", "x=132<|im_end|>", "7+5=12, 1+4+8=13, 132<|im_end|>"):
    found = attempt(sum_reward, "47+85", answer)
    if found is not None:
        print(f"{found}  {answer}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "wilson_interval-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 3. The Wilson interval
#
# **Why.** The model is scored on some hundred held-out questions. Whether .87 and .92 differ depends on how many. And a score of 100 % on twelve questions does not mean that the model never fails.
#
# **Difficulty** 2 of 5 · **Time** 10 minutes · **Points** 4 · **Paper** Wilson (1927); Brown, Cai and DasGupta (2001), section 3
#
# Of $n$ items, a fraction $p$ was right. The usual $p \pm z\sqrt{p(1-p)/n}$ has no width where $p$ is 0 or 1. The **Wilson interval** holds every true rate from which $p$ is at most $z$ standard errors away:
#
# $$ \frac{p + \frac{z^2}{2n} \;\pm\; z \sqrt{\frac{p(1-p)}{n} + \frac{z^2}{4n^2}}}{1 + \frac{z^2}{n}} . $$
#
# Write `wilson_interval(right, asked, z)`: `right` of `asked` items were right, and $n$ is `asked`. It returns the tuple `(low, high)` of two floats. With $z = 1.96$ it is a 95 % interval.
#
# **By hand.** $z = 2$, 6 of 12 right: $z^2/n = 1/3$. The centre is (1/2 + 1/6) / (4/3) = 1/2, the root $\sqrt{1/48 + 1/144}$ = 1/6, the half width (2/6) / (4/3) = 1/4: **(.25, .75)**. None of 12 right: **(0, .25)**.
#
# **Rules**
# 1. If nothing was asked, everything is possible: (0.0, 1.0).
# 2. For 0 or `asked` right items the same formula holds: one bound is 0 or 1, the other is not.
#
# <details><summary>Hint 1: a nudge</summary>
#
# What does the formula give for $p = 0$? Compute it by hand before you write code.
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Compute $p$ and $s = z^2 / n$ first. The centre is $(p + s/2) / (1 + s)$, the half width $z \sqrt{p(1-p)/n + s/(4n)} / (1 + s)$.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# A thermometer that is shown `shift` too high and is read with an error of `error`:
#
# ```python
# def bounds(reading, shift, error):
#     centre = reading - shift
#     return centre - error, centre + error
# ```
#
# `bounds(21, 1, 2)` is (18, 22).
#
# </details>
# <details><summary>Fine print</summary>
#
# `asked` is from 0 to a million, `right` from 0 to `asked`, $z$ a float from 0.5 to 4.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "wilson_interval", "locked": false, "schema_version": 3, "solution": true, "task": false}
def wilson_interval(right: int, asked: int, z: float) -> tuple[float, float]:
    """The Wilson interval of the fraction right / asked; (0.0, 1.0) without items."""
    ### BEGIN SOLUTION
    if asked == 0:
        return 0.0, 1.0
    p, spread = right / asked, z * z / asked
    centre = (p + spread / 2) / (1 + spread)
    half = z * math.sqrt(p * (1 - p) / asked + spread / (4 * asked)) / (1 + spread)
    return max(centre - half, 0.0), min(centre + half, 1.0)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "wilson_interval-check", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(wilson_interval)

# %% [markdown] nbgrader={"grade": false, "grade_id": "wilson_interval-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# A score of .9 on more and more items, and a perfect score on few.

# %% nbgrader={"grade": false, "grade_id": "look-wilson_interval", "locked": true, "schema_version": 3, "solution": false, "task": false}
for right, asked in ((9, 10), (90, 100), (900, 1000), (12, 12), (300, 300)):
    found = attempt(wilson_interval, right, asked, 1.96)
    if found is not None:
        print(f"{right:>4} of {asked:<5} {right / asked:.2f}, between {found[0]:.3f} and {found[1]:.3f}")

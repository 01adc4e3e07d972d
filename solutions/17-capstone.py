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
# There are 9 exercises and 50 points. Plan about 168 minutes, in as many sittings as you like.
#
# | Part | Exercises | Minutes | Points |
# | --- | --- | --- | --- |
# | Plan the run | 1 to 2 | 30 | 11 |
# | The data | 3 to 4 | 40 | 12 |
# | Reward and score | 5 to 6 | 28 | 10 |
# | Export | 7 | 20 | 6 |
# | The run | 8 | 20 | 7 |
# | In your own words | 9 | 30 | 4 |
# | Your code runs the real thing | nothing to write | 2 | 0 |
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
# - *Types.* Return the type that the statement names; a dictionary has the named keys and no others, in any order. Integers are Python's `int`; an `int` may be given for a `float`, but a bool does not count as a number. Correct values in another type, or with an extra key, lose a fifth of the exercise's points, once. So does an answer that breaks *Arguments*.
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
# $$ \text{matrix FLOPs} = 6 M n, \qquad \text{attention FLOPs} = 3.5 \cdot 4 D \cdot H \cdot \text{layers} \cdot T^2 \cdot \text{batch} \cdot \text{steps}. $$
#
# The 6 is 2 FLOPs per entry and token forward and 4 backward. A pair of tokens costs $2D$ for its score and $2D$ for its part of the weighted sum. Backward, it costs 2.5 times that: two gradients for each product, and the scores once more, because fused attention does not keep them.
#
# Write `plan(V, C, F, layers, H, K, batch, T, steps)`. It returns a dictionary of three ints: `"parameters"`, `"matrix_flops"` and `"attention_flops"`, the FLOPs for the whole run.
#
# **By hand.** $V = 10$, $C = 4$, $F = 5$, 2 layers, $H = 2$, $K = 1$; 7 steps of 3 sequences of 2 tokens. A block has 16 + 8 + 8 + 16 = 48 entries in attention, 60 in SwiGLU and 8 weights in norms, 116 together. *Parameters*: 40 + 2 · 116 + 4 = **276**. *Matrix FLOPs*: $M$ = 2 · 108 + 40 = 256 and $n$ = 42, so 6 · 256 · 42 = **64,512**. *Attention FLOPs*: 3.5 · 8 · 2 · 2 · 4 · 3 · 7 = **9,408**.
#
# **Rules**
# 1. Tied parameters are stored once, but the output layer's product is computed.
# 2. Looking up an embedding, the norms and the softmax count as no FLOPs.
# 3. Masked pairs count: most kernels for training compute them.
# 4. Count in ints, 3.5 · 4 as 14; floats lose digits of large numbers.
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
        "attention_flops": 14 * D * H * layers * pairs,
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

# %% [markdown] nbgrader={"grade": false, "grade_id": "predict_loss-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 2. Predict the loss
#
# **Why.** Three small runs cost minutes, the large one an hour. A prediction from the small ones, written down before, turns the large run into a test of your pipeline.
#
# **Difficulty** 3 of 5 · **Time** 15 minutes · **Points** 5 · **Paper** Kaplan et al. (2020), section 3; Hoffmann et al. (2022), section 3.3; Henighan et al. (2020), section 1
#
# The loss of well-tuned runs falls with their FLOPs $x$ as a **power law** towards an **irreducible loss** $E$, the entropy of the text:
#
# $$ L(x) = E + a\, x^{-b} \qquad \Longleftrightarrow \qquad \log(L - E) = \log a - b \log x . $$
#
# On logarithmic axes this is a line. With $E$ given, $a$ and $b$ follow in closed form from the least-squares line through the points $(u_i, v_i) = (\log x_i, \log(L_i - E))$:
#
# $$ \text{slope} = \frac{\sum_i (u_i - \bar u)(v_i - \bar v)}{\sum_i (u_i - \bar u)^2}, \qquad v = \bar v + \text{slope} \cdot (u - \bar u) . $$
#
# Write `predict_loss(flops, losses, irreducible, target)`. `flops` and `losses` are lists of floats, one entry per run; `irreducible` is $E$; `target` is the FLOPs of the planned run. It returns a dictionary of two floats: `"exponent"`, which is $b$, and `"loss"`, the predicted loss $L(\text{target})$.
#
# **By hand.** FLOPs 10, 100, 1000, losses 5, 3, 2, $E$ = 1: $L - E$ is 4, 2, 1. Each factor of 10 halves it, so $b$ = log 2 / log 10 = **.301**. At 10,000 FLOPs $L - E$ is .5, and the loss is **1.5**.
#
# **Rules**
# 1. $b$ is positive where the loss falls.
# 2. All runs count, in any order. With two runs the line passes through both.
# 3. The prediction may be for fewer FLOPs than the runs had.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Which two numbers of the worked example lie on a straight line, and against what?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Take the logarithms of both lists, after subtracting $E$ from the losses. Compute both means, then the slope. At `log(target)` the line gives the logarithm of $L - E$.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# The temperature of a cup falls towards that of the room, `log(t - room)` along a line in time. Two readings:
#
# ```python
# def later(first, second, minutes, room, after):
#     rate = (math.log(second - room) - math.log(first - room)) / minutes
#     return room + math.exp(math.log(first - room) + rate * after)
# ```
#
# `later(84, 52, 10, 20, 20)` is 36: the difference to the room halves every ten minutes.
#
# </details>
# <details><summary>Fine print</summary>
#
# There are 2 to 20 runs, of $10$ to $10^{24}$ FLOPs, not all with the same number; the target is from 1 to $10^{27}$; $E$ is from 0 to 3, and every loss is above it by at least 0.01.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "predict_loss", "locked": false, "schema_version": 3, "solution": true, "task": false}
def predict_loss(flops: list[float], losses: list[float], irreducible: float, target: float) -> dict[str, float]:
    """The exponent of the power law through some runs, and its loss at `target` FLOPs."""
    ### BEGIN SOLUTION
    u = [math.log(one) for one in flops]
    v = [math.log(one - irreducible) for one in losses]
    u_mean, v_mean = sum(u) / len(u), sum(v) / len(v)
    slope = sum((a - u_mean) * (b - v_mean) for a, b in zip(u, v)) / sum((a - u_mean) ** 2 for a in u)
    return {"exponent": -slope, "loss": irreducible + math.exp(v_mean + slope * (math.log(target) - u_mean))}
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "predict_loss-check", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check(predict_loss)

# %% [markdown] nbgrader={"grade": false, "grade_id": "predict_loss-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The case by hand, and the same runs with another irreducible loss. The prediction depends on a number that nobody has measured.

# %% nbgrader={"grade": false, "grade_id": "look-predict_loss", "locked": true, "schema_version": 3, "solution": false, "task": false}
for irreducible in (0.0, 0.5, 1.0, 1.5):
    found = attempt(predict_loss, [10.0, 100.0, 1000.0], [5.0, 3.0, 2.0], irreducible, 1e6)
    if found is not None:
        print(f"E = {irreducible}: exponent {found['exponent']:.3f}, loss at a million FLOPs {found['loss']:.3f}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-data", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 2. The data

# %% [markdown] nbgrader={"grade": false, "grade_id": "held_out-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 3. Held-out questions
#
# **Why.** A test question that was trained on in other words measures memory. The split must be made by what a question says, not by how it is typed, and it must not change when questions are added.
#
# **Difficulty** 3 of 5 · **Time** 20 minutes · **Points** 6 · **Paper** Lee et al. (2022), section 4; Yang et al. (2023), section 3
#
# A **key** is what all spellings of a question have in common. To make it, convert the question to small letters, take its **words**, the longest runs of letters and digits, sort them, and join them with one space. Every other character separates words. The split is decided by a hash $h$ of the key, the first byte of its SHA-256:
#
# $$ \text{question} \in \text{test} \iff h(\text{key}) \bmod \text{every} = 0 . $$
#
# Questions with the same key are **paraphrases** here, and they always end up on the same side.
#
# Write `held_out(questions, every)`. `questions` is a list of texts. It returns the tuple `(train, test)` of two lists that hold the questions as they were given, in the given order.
#
# **By hand.** *How deep is the river?* has the key `deep how is river the`, and *The river - is HOW deep* has the same one. The first byte of its hash is 81. *Do you sing?* has the key `do sing you` and the byte 251. With `every` = 3, 81 is divisible and 251 is not: both forms of the first question are in **test**, the last one is in **train**.
#
# **Rules**
# 1. An apostrophe, a hyphen and an underscore separate words like any other sign: `it's` has the words `it` and `s`.
# 2. A word that occurs twice is in the key twice.
# 3. A question that is given twice is in its part twice.
# 4. The key is for the hash only. The parts hold the original questions.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Two people type the same question. In which ways may their texts differ, and which step of the key removes each difference?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# `re.findall("[a-z0-9]+", question.lower())` gives the words. Sort, join, `.encode()`, `hashlib.sha256(...).digest()[0]`. Go through the questions once and append each to one of two lists.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# Parcels are sorted to two vans by their street, however it is written, so that one street is never visited twice.
#
# ```python
# def vans(addresses):
#     first, second = [], []
#     for address in addresses:
#         street = address.split(",")[0].strip().lower()
#         (first if hashlib.md5(street.encode()).digest()[-1] < 128 else second).append(address)
#     return first, second
# ```
#
# `vans(["Long Lane, 4", "LONG LANE , 9"])` puts both into the same van.
#
# </details>
# <details><summary>Fine print</summary>
#
# `questions` has 1 to 300 texts of 1 to 200 ASCII characters, each with at least one word; `every` is from 1 to 20. Encode the key as UTF-8.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "held_out", "locked": false, "schema_version": 3, "solution": true, "task": false}
def held_out(questions: list[str], every: int) -> tuple[list[str], list[str]]:
    """The questions to train on, and those that are held out with all their paraphrases."""
    ### BEGIN SOLUTION
    train, test = [], []
    for question in questions:
        key = " ".join(sorted(re.findall("[a-z0-9]+", question.lower())))
        first = hashlib.sha256(key.encode()).digest()[0]
        (test if first % every == 0 else train).append(question)
    return train, test
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "held_out-check", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
check(held_out)

# %% [markdown] nbgrader={"grade": false, "grade_id": "held_out-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The case by hand, and a question in six spellings. All of them must be on one side.

# %% nbgrader={"grade": false, "grade_id": "look-held_out", "locked": true, "schema_version": 3, "solution": false, "task": false}
for questions in (["How deep is the river?", "The river is how deep", "Do you sing?"], ["Who rows at night?", "who rows at night", "WHO ROWS, AT NIGHT?", "At night: who rows?", "Who - rows - at night...", "rows who at night"]):
    found = attempt(held_out, questions, 3)
    if found is not None:
        print(f"train {found[0]}, test {found[1]}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "training_mix-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 4. The rows of a step
#
# **Why.** Tuning on chats alone makes a model forget what it was pre-trained on. Replay of pre-training text prevents that, and it costs tokens: a step has a budget, and every kind of example wants a part of it.
#
# **Difficulty** 4 of 5 · **Time** 20 minutes · **Points** 6 · **Paper** Raffel et al. (2020), section 3.5.2; Ibrahim et al. (2024), section 3
#
# A step has room for `budget` tokens $B$. Kind $k$ has rows of $\ell_k$ tokens and a weight $w_k$: with weights 3 and 1 there are three rows of the first kind for each of the second. Replay gets `replay` percent of the budget:
#
# $$ n_{\text{replay}} = \left\lfloor \frac{\text{replay} \cdot B}{100\, \ell_{\text{replay}}} \right\rfloor, \qquad R = B - n_{\text{replay}}\, \ell_{\text{replay}}, \qquad x_k = \frac{w_k\, R}{\sum_j w_j \ell_j} . $$
#
# $x_k$ is a fraction of rows; kind $k$ gets $\lfloor x_k \rfloor$ of them. The **left-over** tokens buy single rows: go through the kinds by the fraction lost, $x_k - \lfloor x_k \rfloor$, largest first. Each takes one more row if it still fits.
#
# Write `training_mix(weights, lengths, budget, replay)`. `weights` is a dictionary from kinds to ints; `lengths` has the tokens of a row for each of these kinds and for `"replay"`. It returns a dictionary with the rows of each kind and of `"replay"`, all ints.
#
# **By hand.** Weights chat 3, sums 1; lengths chat 20, sums 40, replay 50; $B$ = 430, replay 30 %. *Replay*: ⌊129 / 50⌋ = **2** rows, so $R$ = 330. The sum of $w \ell$ is 100: $x$ = 9.9 and 3.3, so 9 rows of chat and 3 of sums, 300 tokens. *Left over*: 30 tokens. Chat lost .9 and takes a row, **10**. Sums lost .3, but 40 tokens do not fit into the remaining 10: **3**.
#
# **Rules**
# 1. Tokens of replay's share that do not fill a row are free for the other kinds.
# 2. Among equal fractions, the kind that comes first in `weights` comes first.
# 3. A kind that does not fit is skipped, and the next one is tried. None gets more than one left-over row.
# 4. Compute in ints: a rounded float may be on the wrong side of a whole row.
#
# <details><summary>Hint 1: a nudge</summary>
#
# With weights 3 and 1, and rows of 20 and 40 tokens: how many tokens do three rows of the first kind and one of the second need together?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# `weight * rest // total` rounds $x_k$ down, and `weight * rest % total` orders by the lost fraction, because all have the same denominator. `sorted` keeps the given order among equals.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# Seats of a council by votes, largest remainders first:
#
# ```python
# def council(votes, seats):
#     total = sum(votes.values())
#     found = {party: seats * count // total for party, count in votes.items()}
#     order = sorted(votes, key=lambda party: seats * votes[party] % total, reverse=True)
#     for party in order[: seats - sum(found.values())]:
#         found[party] += 1
#     return found
# ```
#
# `council({"a": 5, "b": 3}, 3)` is 2 seats and 1.
#
# </details>
# <details><summary>Fine print</summary>
#
# There are 1 to 20 kinds, none named `replay`. Weights are from 1 to 100, lengths from 1 to 1000, the budget from 1 to 100,000, `replay` an int from 0 to 100. A kind may get 0 rows.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "training_mix", "locked": false, "schema_version": 3, "solution": true, "task": false}
def training_mix(weights: dict[str, int], lengths: dict[str, int], budget: int, replay: int) -> dict[str, int]:
    """The rows of each kind in a step, replay included."""
    ### BEGIN SOLUTION
    rows = replay * budget // (100 * lengths["replay"])
    rest = budget - rows * lengths["replay"]
    total = sum(weights[kind] * lengths[kind] for kind in weights)
    found = {kind: weights[kind] * rest // total for kind in weights}
    left = rest - sum(found[kind] * lengths[kind] for kind in weights)
    for kind in sorted(weights, key=lambda kind: -(weights[kind] * rest % total)):
        if lengths[kind] <= left:
            found[kind] += 1
            left -= lengths[kind]
    return found | {"replay": rows}
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "training_mix-check", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
check(training_mix)

# %% [markdown] nbgrader={"grade": false, "grade_id": "training_mix-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The capstone's kinds with about its lengths, for three fractions of replay.

# %% nbgrader={"grade": false, "grade_id": "look-training_mix", "locked": true, "schema_version": 3, "solution": false, "task": false}
for replay in (0, 30, 60):
    found = attempt(training_mix, {"character": 18, "backwards": 13, "sums": 16, "talks": 5}, {"character": 30, "backwards": 24, "sums": 46, "talks": 110, "replay": 128}, 2800, replay)
    if found is not None:
        print(f"{replay:>2} % replay: {found}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-scores", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 3. Reward and score

# %% [markdown] nbgrader={"grade": false, "grade_id": "sum_reward-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 5. A reward for sums
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
# 3. The last word must be exactly `str(a + b)`: no sign, no leading zero, no full stop, no other character.
# 4. How the number was reached is not rewarded, and neither is a number that is nearly right.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Which of the five answers in the table would your first idea reward by mistake?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Cut the answer at the first end token; if there is none, return 0.0. Split what is left at white space. If there is a last word, compare it as a text with `str(a + b)`.
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
    return float(words[-1] == str(a + b))
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
# ## 6. The Wilson interval
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

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-export", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 4. Export

# %% [markdown] nbgrader={"grade": false, "grade_id": "export_config-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 7. Export for transformers
#
# **Why.** An exported model is a file of tensors and a `config.json`. A wrong key raises no error: `transformers` and vLLM take a default, leave a tensor random, and the model answers nonsense.
#
# **Difficulty** 3 of 5 · **Time** 20 minutes · **Points** 6 · **Paper** Wolf et al. (2020), section 3; Touvron et al. (2023), section 2.2
#
# A folder that `transformers` loads as a LLaMA has a `config.json` with these keys. On the right is the value; names in code are keys of `sizes`.
#
# | key | value |
# | --- | --- |
# | `vocab_size`, `hidden_size`, `intermediate_size`, `max_position_embeddings`, `rope_theta`, `rms_norm_eps`, `tie_word_embeddings` | the same keys of `sizes` |
# | `num_hidden_layers` | `num_layers` |
# | `num_attention_heads` | `num_heads` |
# | `num_key_value_heads` | `num_kv_heads` |
# | `eos_token_id` | `end_id` |
# | `model_type`, `architectures` | `"llama"`, `["LlamaForCausalLM"]` |
# | `hidden_act`, `torch_dtype` | `"silu"`, `"float32"` |
# | `attention_bias`, `mlp_bias` | `False`, `False` |
# | `bos_token_id` | `None` |
#
# With hidden size $C$, intermediate size $F$ and heads of dimension $D = C/H$, its tensors are, for layers $i = 0, 1, \dots$,
#
# | name | shape |
# | --- | --- |
# | `model.embed_tokens.weight`, and `lm_head.weight` if it is not tied | $(V, C)$ |
# | `model.layers.i.self_attn.` + `q_proj`, `o_proj` + `.weight` | $(C, C)$ |
# | `model.layers.i.self_attn.` + `k_proj`, `v_proj` + `.weight` | $K$ heads of dimension $D$: work out the shape |
# | `model.layers.i.mlp.` + `gate_proj`, `up_proj`, `down_proj` + `.weight` | SwiGLU from $C$ to $F$ and back: work out the shapes |
# | `model.layers.i.` + `input_layernorm`, `post_attention_layernorm` + `.weight` | one weight per dimension |
# | `model.norm.weight` | the same |
#
# A linear layer computes $y = x W^\top$, so its weight is (outputs, inputs).
#
# Write `export_config(sizes)`. `sizes` is a dictionary with the eleven keys named in the first table's second column and first row. It returns a dictionary with two keys: `"config"`, the dictionary of the first table, and `"tensors"`, a dictionary from each name to its shape, a tuple of ints.
#
# **By hand.** $V$ = 10, $C$ = 4, $F$ = 5, one layer, $H$ = 2, $K$ = 1, tied: $D$ = 2, so `k_proj` and `v_proj` are **(2, 4)**, `gate_proj` **(5, 4)** and `down_proj` **(4, 5)**. There are 9 tensors in the layer, an embedding and a norm: **11**; untied it would be 12.
#
# **Rules**
# 1. A tied model has no `lm_head.weight`: its output layer is the embedding.
# 2. `"config"` has exactly the keys of the table, with values of the right type, so that `json.dumps` can write it.
# 3. Layers are numbered from 0.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Which of these tensors would have another shape if every query head had keys of its own?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Build the config as one dictionary: seven values are copied, four are renamed, seven are constants. For the tensors loop over the layers, and add the embedding, the last norm and perhaps the output layer.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# A label for each drawer of a cabinet, and its size:
#
# ```python
# def labels(floors, width, depth, lid):
#     found = {f"floor.{floor}.{side}": (width, depth) for floor in range(floors) for side in ("left", "right")}
#     return found | ({"lid": (width,)} if lid else {})
# ```
#
# `labels(2, 3, 4, True)` has five entries.
#
# </details>
# <details><summary>Fine print</summary>
#
# Sizes are ints from 1 to 200,000, with at most 100 layers; $C$ is a multiple of $H$, and $H$ of $K$. `rope_theta` and `rms_norm_eps` are floats, `tie_word_embeddings` is a bool. Entries may come in any order.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "export_config", "locked": false, "schema_version": 3, "solution": true, "task": false}
def export_config(sizes: dict) -> dict[str, dict]:
    """The config.json of a LLaMA, and its tensors' names with their shapes."""
    ### BEGIN SOLUTION
    V, C, F = sizes["vocab_size"], sizes["hidden_size"], sizes["intermediate_size"]
    narrow = sizes["num_kv_heads"] * (C // sizes["num_heads"])
    config = {key: value for key, value in sizes.items() if not key.startswith("num_") and key != "end_id"} | {
        "num_hidden_layers": sizes["num_layers"], "num_attention_heads": sizes["num_heads"], "num_key_value_heads": sizes["num_kv_heads"], "eos_token_id": sizes["end_id"],
        "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_act": "silu", "torch_dtype": "float32",
        "attention_bias": False, "mlp_bias": False, "bos_token_id": None,
    }
    layer = {
        "self_attn.q_proj": (C, C), "self_attn.k_proj": (narrow, C), "self_attn.v_proj": (narrow, C), "self_attn.o_proj": (C, C),
        "mlp.gate_proj": (F, C), "mlp.up_proj": (F, C), "mlp.down_proj": (C, F), "input_layernorm": (C,), "post_attention_layernorm": (C,),
    }
    tensors = {"model.embed_tokens.weight": (V, C), "model.norm.weight": (C,)}
    if not sizes["tie_word_embeddings"]:
        tensors["lm_head.weight"] = (V, C)
    for i in range(sizes["num_layers"]):
        tensors |= {f"model.layers.{i}.{name}.weight": shape for name, shape in layer.items()}
    return {"config": config, "tensors": tensors}
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "export_config-check", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
check(export_config)

# %% [markdown] nbgrader={"grade": false, "grade_id": "export_config-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The capstone's model. Your `plan` must find as many parameters as your tensors have entries.

# %% nbgrader={"grade": false, "grade_id": "look-export_config", "locked": true, "schema_version": 3, "solution": false, "task": false}
capstone = {"vocab_size": 1024, "hidden_size": 128, "intermediate_size": 344, "num_layers": 4, "num_heads": 4, "num_kv_heads": 2, "max_position_embeddings": 256, "rope_theta": 10000.0, "rms_norm_eps": 1e-5, "tie_word_embeddings": True, "end_id": 1}
found = attempt(export_config, capstone)
if found is not None:
    print(f"{len(found['tensors'])} tensors with {sum(math.prod(shape) for shape in found['tensors'].values()):,} entries; {len(found['config'])} keys of config.json")
planned = attempt(plan, 1024, 128, 344, 4, 4, 2, 16, 128, 2400)
if planned is not None:
    print(f"planned: {planned['parameters']:,}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-run", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 5. The run

# %% [markdown] nbgrader={"grade": false, "grade_id": "the_run-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 8. The run
#
# **Why.** A report contains what its author measured. Here you submit the model itself, and we evaluate it on held-out items that are drawn for each grading.
#
# **Difficulty** 4 of 5 · **Time** 20 minutes, and half an hour of computing · **Points** 7 · **Paper** Ouyang et al. (2022), section 3.1; Lambert et al. (2024), section 6
#
# In a terminal, run the pipeline with your own functions, read its report card, and write the run into this notebook. Save the notebook first, and reload it afterwards:
#
# ```bash
# course capstone
# course capstone --notebook mywork/17-capstone.ipynb
# ```
#
# The second command writes a function `the_run()` without arguments into the cell below. It returns a text that contains your tokenizer, your template, the tuned and the reinforced model quantized to 8 bits per parameter, and the engine's answers to twenty questions. We score the models with greedy decoding, except in the fourth row:
#
# | what | needed | five full runs, 40 draws each | points |
# | --- | --- | --- | --- |
# | the text can be read | | | 1 |
# | reinforced model: bits per byte of held-out scripture | at most 1.7 | 1.531 to 1.589 | 1.5 |
# | tuned model: topics, words backwards | at least .80, .75 | .875 to .955, .835 to 1.000 | 1.5 |
# | sums: accuracy of the reinforced model; its gain over the tuned model at temperature 0.5 | at least .90, .08 | .990 to 1.000, .147 to .533 | 1.5 |
# | engine: tokens that match greedy decoding, for single requests and for sixteen at once | all | all | 1.5 |
#
# **By hand.** 150 verses have 20,250 bytes and 7,000 tokens, and their mean loss is 2.9 nats per token: $2.9 / \ln 2 \cdot 7000 / 20250 =$ **1.45** bits per byte. A loss of 3.5 gives **1.75**, which is too much.
#
# **Rules**
# 1. Leave the text as the command writes it. To submit another run, run the command again.
# 2. Any recipe is allowed, with any of your own functions, up to 1,200,000 parameters. Do not train on any held-out item.
# 3. The engine must be given the template that the model was tuned with.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Which stage of the run is the first whose score on the report card misses the table's threshold?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Look at the report card from top to bottom. High bits per byte come from pre-training or from tuning without replay, wrong topics from labels or template, wrong sums from the reward. `course capstone --reference` in another `--folder` shows what the course's own functions reach.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# Numbers are compressed, encoded as printable text, and decoded again.
#
# ```python
# import base64
# import zlib
#
# def parcel(numbers):
#     return base64.b85encode(zlib.compress(bytes(numbers))).decode()
#
# def opened(text):
#     return list(zlib.decompress(base64.b85decode(text)))
# ```
#
# `opened(parcel([3, 1, 4]))` is `[3, 1, 4]`.
#
# </details>
# <details><summary>Fine print</summary>
#
# The text has at most 1,500,000 characters. It contains one LLaMA configuration for both models, with tied embeddings and a vocabulary of at most 4,096 tokens. An answer must reach the end token within 30, 12 and 28 tokens for topics, words and sums. The engine answers with the rounded weights; a token counts as greedy if its logit is within 0.001 of the largest. The cell is folded: click the blue bar to its left to see it.
#
# </details>

# %% max_characters=1600000 nbgrader={"grade": false, "grade_id": "the_run", "locked": false, "schema_version": 3, "solution": true, "task": false}
def the_run() -> str:
    """The text of a finished run, as `course capstone --notebook` writes it."""
    ### BEGIN SOLUTION
    return """
{{run}}
"""
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "the_run-check", "locked": true, "points": 7, "schema_version": 3, "solution": false, "task": false}
check(the_run)

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-own_words", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 6. In your own words

# %% [markdown] nbgrader={"grade": false, "grade_id": "one_change-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 9. One change
#
# **Why.** Running a pipeline is easy. Predicting what a change does, and saying honestly when the prediction was wrong, is how research is done.
#
# **Difficulty** 4 of 5 · **Time** 30 minutes · **Points** 4, graded by a person · **Paper** Lipton and Steinhardt (2019), section 3.1
#
# Change **one** setting of the capstone, such as the replay, the steps of a stage, the reward, the conversations in tuning or the KV heads. Write down a prediction, then run `course capstone` with and without the change, for example `course capstone --set tune.replay=0 --folder mywork/capstone/no-replay`. In about 150 words: the change and your prediction, as a number for a score of the report card; why; both results; what you conclude.
#
# {{rubric}}
#
# Short is fine. Correct and concrete beats long.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Read the report card first. Which score depends on the stage that you change, and which one should not move at all?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# One sentence each: the change; the predicted number; the mechanism; both scores with their intervals, and what you kept the same; whether they differ, and whether you were right.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# *I baked with half the yeast. I predicted 4 cm instead of 8, since gas makes the height and half the yeast makes half the gas in the same hour. Same flour, oven and hour: 8.1 and 6.9 cm, two loaves each, all within half a centimetre. It fell less than I said. Perhaps the hour was long enough for half the yeast. A third loaf after half an hour would tell.*
#
# </details>

# %% [markdown] nbgrader={"grade": true, "grade_id": "one_change", "locked": false, "points": 4, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# {{samples}}
# ### END SOLUTION

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-real", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Your code runs the real thing
#
# Nothing to write here. Run the cells; they take about half a minute.
#
# A LLaMA of the capstone's shape is made with the course's layers. Your `plan` says how many parameters it has and what a training step costs; next to it is what a counter measures. Your `export_config` then decides what is written to a folder, and `transformers` loads that folder. Last, your `held_out` splits the capstone's own questions, next to a split that hashes the questions as they are typed.

# %% nbgrader={"grade": false, "grade_id": "real-model", "locked": true, "schema_version": 3, "solution": false, "task": false}
import json
import tempfile
from importlib import import_module, util
from pathlib import Path

from course.demo import ready
from reference_impl.measure.flops import count_flops, count_parameters
from reference_impl.models.llama import Llama, LlamaConfig
from reference_impl.weights.pretrained import hugging_face_state
from reference_impl.weights.safetensors_files import write_weights

SIZES = {"vocab_size": 1024, "hidden_size": 128, "intermediate_size": 344, "num_layers": 4, "num_heads": 4, "num_kv_heads": 2, "max_position_embeddings": 256, "rope_theta": 10000.0, "rms_norm_eps": 1e-5, "tie_word_embeddings": True}


def new_model() -> Llama:
    """The capstone's model with random parameters, norms and embeddings too."""
    torch.manual_seed(17)
    model = Llama(LlamaConfig(**SIZES)).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter.data, std=0.2)
    return model


def step_flops(model: Llama, batch: int, tokens: int) -> int:
    """What torch's counter sees in one training step."""
    ids = torch.randint(SIZES["vocab_size"], (batch, tokens))
    return count_flops(lambda: model(ids).sum().backward())


def loaded(folder: str):
    """The exported model in transformers, or in the course's reader where that is not installed."""
    if util.find_spec("transformers") is None:
        print("transformers is not installed here, so the course's own reader loads your export.")
        return Llama.from_pretrained(folder)
    model = import_module("transformers").AutoModelForCausalLM.from_pretrained(folder).eval()
    return lambda ids: model(ids).logits


@torch.no_grad()
def loaded_difference(model: Llama, config: dict, names: dict) -> float:
    """The largest difference of the logits after what was exported has been loaded."""
    state = hugging_face_state(model)
    wrong = [name for name, shape in names.items() if name not in state or tuple(state[name].shape) != shape]
    assert not wrong, f"the model has no such tensors: {wrong}"
    with tempfile.TemporaryDirectory() as folder:
        write_weights(Path(folder), {name: state[name] for name in names})
        Path(folder, "config.json").write_text(json.dumps(config))
        theirs = loaded(folder)
    ids = torch.arange(96)[None] * 7 % SIZES["vocab_size"]
    return (theirs(ids) - model(ids)).abs().max().item()

# %% nbgrader={"grade": false, "grade_id": "real-model-run", "locked": true, "schema_version": 3, "solution": false, "task": false}
if ready(plan, export_config):
    model, planned = new_model(), plan(1024, 128, 344, 4, 4, 2, 16, 128, 1)
    flops = planned["matrix_flops"] + planned["attention_flops"]
    print(f"parameters: planned {planned['parameters']:,}, in the model {count_parameters(model):,}")
    print(f"a step of 16 sequences of 128 tokens: planned {flops:,} FLOPs, counted {step_flops(model, 16, 128):,}")
    written = export_config(SIZES | {"end_id": 1})
    print(f"transformers loads your export; its logits differ by at most {loaded_difference(model, written['config'], written['tensors']):.1e}")
    print(f"with rope_theta 500,000 in config.json it loads as well, and they differ by {loaded_difference(model, written['config'] | {'rope_theta': 500000.0}, written['tensors']):.1f}")

# %% nbgrader={"grade": false, "grade_id": "real-questions", "locked": true, "schema_version": 3, "solution": false, "task": false}
def leaks(train: list[str], test: list[str]) -> int:
    """How many test questions have the same words as a training question."""
    words = lambda question: " ".join(sorted(re.findall("[a-z0-9]+", question.lower())))
    known = set(map(words, train))
    return sum(words(question) in known for question in test)


def typed(question: str) -> list[str]:
    """A question as four people type it."""
    return [question, question.lower(), question.rstrip(".?!"), question.upper()]


def as_typed(questions: list[str], every: int) -> tuple[list[str], list[str]]:
    """The rival: a split by the hash of the question as it is."""
    held = [hashlib.sha256(question.encode()).digest()[0] % every == 0 for question in questions]
    return [one for one, flag in zip(questions, held) if not flag], [one for one, flag in zip(questions, held) if flag]

# %% nbgrader={"grade": false, "grade_id": "real-questions-run", "locked": true, "schema_version": 3, "solution": false, "task": false}
if ready(held_out, wilson_interval):
    from course.capstone.tasks import topics

    questions = [form for topic in topics() for question in topic.own for form in typed(question)]
    for name, split in (("yours", held_out), ("as typed", as_typed)):
        parts = [split(questions[start : start + 300], 8) for start in range(0, len(questions), 300)]
        train, test = ([one for part in parts for one in part[place]] for place in (0, 1))
        low, high = wilson_interval(leaks(train, test), len(test), 1.96)
        print(f"{name:<9} {len(train)} to train on, {len(test)} held out, {leaks(train, test)} of them leaked: between {low:.0%} and {high:.0%}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "real-end", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Parameters and FLOPs agree to the last digit. A plan that disagrees with a counter has found a mistake in one of the two.
#
# `transformers` computes the same logits up to rounding. With a wrong `rope_theta` it loads without a warning, and the logits are different ones: an export is tested by comparing numbers, not by loading it.
#
# The split by the questions as typed leaks every question that it holds out. A score on them would have measured memory.

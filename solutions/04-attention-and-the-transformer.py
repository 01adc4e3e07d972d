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
# An LSTM carries *river* to *bank* through every word between. Here *bank* simply looks at *river*, wherever it stands, and all words look at once.
# In this notebook you write the formula that every later model stands on, what hides words from it, and the block that is built around it.
#
# There are 10 exercises and 52 points. Plan about 148 minutes, in as many sittings as you like.
#
# | Part | Exercises | Minutes | Points |
# | --- | --- | --- | --- |
# | Look it up | 1 to 2 | 39 | 14 |
# | Many looks | 3 | 20 | 7 |
# | Order | 4 to 6 | 43 | 13 |
# | The block around it | 7 to 9 | 36 | 14 |
# | In your own words | 10 | 10 | 4 |
# | Your code runs the real thing | nothing to write | 1 | 0 |
#
# **How an exercise works.**
# First comes a card: what the exercise is for, how long it takes, where it stands in the paper.
# Then comes the statement, with one case worked out by hand.
# You fill in the cell below it and run the check under it.
# The check tells you the likely cause first and the numbers second. Run it as often as you like: it costs nothing.
#
# **When you are stuck**, open the three hints in order. The first nudges, the second sketches, the third solves a *different* problem in the same way.
#
# **What is graded.** The same checks run again with other sizes and other numbers.
# So write what the statement says, not what makes one example pass.
# The smallest sizes are always among them: one text, one head, one query, one key, a width of one.
#
# **Letters.** $B$ texts, $H$ heads, $T$ queries, $S$ keys, $D$ numbers in a head, $C$ numbers in a token: $C = H \cdot D$.
#
# **Rules for all exercises**
#
# - *Arguments.* Leave them as they were: return something new, neither an argument nor what an earlier call returned. A tensor may be a view of a larger one, such as a transpose or every second number; `reshape` works there, `view` may not. What you return may be a view of something new, and may need gradients.
# - *Types.* Return the type, the dtype and the shape that the statement names; a dictionary has the named keys and no other, in any order. A subclass counts as its type, but a bool is no `int`. Right numbers in another type or dtype, or with an axis of length 1 too many or too few, lose a fifth of the exercise's points, once; another shape is wrong. What breaks only *Arguments* or *Calls* loses that fifth too.
# - *Digits.* A float32 number may be off by a ten-thousandth of itself and, since sums that cancel keep fewer digits, by two millionths more of the largest number that it is a sum of (of 1, where those are smaller). float32 has seven digits, so the order of your operations does not matter. Half precision, rounding, or a small number added "for safety" is wrong where it goes beyond this, and else not. Where a statement lets float64 in, the answer is float64, to nine digits counted in the same way.
# - *Logarithms* are natural ones.
# - *Calls.* What a call returns depends on its arguments only: on nothing that was kept from a call before, and on no chance. Calls may come in any order. Who keeps something that nobody can notice breaks no rule.
# - *Tools.* Anything in torch, numpy and Python's own library may be used, softmax included. What is withheld are the course's own layers and models, in exercises 1 to 3 torch's ready attention, and in exercise 7 its ready norms of a layer, group or batch; `mean`, `var` and `torch.linalg.norm` are free.
# - *Sizes and time.* Every axis has at least length 1 and at most 600 entries, and no answer or table of scores more than 100,000 numbers, unless a statement says otherwise. No number is beyond a million. Loops in plain Python are fast enough: one call may take five seconds.
#
# Statements that begin with **In** promise what the arguments are like. Your function need not check that.
# You may add cells of your own anywhere: helpers, prints, plots.

# %% nbgrader={"grade": false, "grade_id": "setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
import math
from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from autograder.check import check

WORDS = ["sat", "the", "bank", "river"]
KEYS = torch.tensor([[0.0, 0, 0, 0], [0, 0, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0]])       # a row for each of the words
VALUES = torch.tensor([[0.0, 8, 0, 0], [0, 0, 0, 0], [4, 4, 0, 0], [8, 0, 0, 0]])
BANK = 2 * math.log(2) * torch.tensor([[1.0, 1, 0, 0]])                               # the query of bank


def attempt(function, *arguments):
    """What your function answers; None, and a friendly line, while it is not written yet."""
    try:
        return function(*arguments)
    except NotImplementedError:
        print(f"{function.__name__} is not written yet. Come back to this cell when it is.")
        return None

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-look", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 1. Look it up
#
# A word asks a question, its *query*. Every word has a label that says what it is about, its *key*, and something to give, its *value*.
# The better a key fits the query, the more of its value the asking word gets.

# %% [markdown] nbgrader={"grade": false, "grade_id": "attention-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 1. Attention
#
# - **What it is for**: this is the one formula in which the words of a text meet. GPT, BERT and LLaMA differ in what they put in and in what they hide, not in this.
# - **Difficulty** 3 of 5 · **Time** 25 minutes · **Points** 9
# - **Needs**: matrix products over the last two axes, softmax, masks.
# - **Paper**: Vaswani et al. (2017), section 3.2.1.
#
# **The idea.** In each head of each text there are $T$ queries $q_t$, and $S$ keys $k_s$, each with its value $v_s$; all of them are $D$ numbers wide. The score of a key for a query is
#
# $$z_{ts} = \frac{q_t \cdot k_s}{\sqrt{D}}$$
#
# A softmax makes weights of the scores of one query, over the keys that this query may see. Its answer is the mean of their values with these weights:
#
# $$w_{ts} = \frac{e^{z_{ts}}}{\sum_{s' \text{ seen by } t} e^{z_{ts'}}} \qquad \text{answer}_t = \sum_{s \text{ seen by } t} w_{ts}\, v_s$$
#
# **By hand.** The query of *bank* is $2 \ln 2 \cdot (1, 1, 0, 0)$, and $D = 4$, so the score is half the product.
#
# | | key | score | $e$ to the score | weight | value |
# | --- | --- | --- | --- | --- | --- |
# | sat | (0, 0, 0, 0) | 0 | 1 | 1/8 | (0, 8, 0, 0) |
# | the | (0, 0, 0, 0) | 0 | 1 | 1/8 | (0, 0, 0, 0) |
# | bank | (1, 0, 0, 0) | ln 2 | 2 | 1/4 | (4, 4, 0, 0) |
# | river | (1, 1, 0, 0) | 2 ln 2 | 4 | 1/2 | (8, 0, 0, 0) |
#
# The answer is **(5, 2, 0, 0)**. Hide *river* and the weights are 1/4, 1/4, 1/2 and 0: **(2, 4, 0, 0)**. The cell above has these numbers as `BANK`, `KEYS` and `VALUES`.
#
# **Rules**
#
# - Each head of each text is for itself.
# - `mask[b, 0, t, s]` is True where query $t$ of text $b$ may see key $s$, and False where it may not. It holds for all heads. `None` in the place of a mask hides nothing.
# - A key that a query may not see is left out for that query, as if it were not there, however large its score: the weights of the others add up to 1.
# - A query that may see no key at all gets $D$ zeros. That can happen to one query, to a whole text, to everything.
# - A score may be anything from -10,000 to 10,000, a hidden one too, and the weights are right all the same. float32 knows a score of thousands to 0.001 only. So where scores reach the hundreds, queries and keys hold whole numbers, $D$ is 4 or 16, and the answer may be off by two thousandths of the largest value. 0 is a score like any other.
# - $T$ and $S$ may differ, either way. Every axis may have length 1.
#
# **In**: `q` $(B, H, T, D)$, `k` and `v` $(B, H, S, D)$, all float32 or all float64, finite; `mask` bool $(B, 1, T, S)$ or `None`. **Out**: $(B, H, T, D)$ in the dtype of `q`.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Over which axis of the table of scores do the weights add up to 1? And what is e to minus infinity?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Queries times keys, with the last two axes of the keys exchanged, is the table of scores, (B, H, T, S). Put minus infinity where the mask is False, then `softmax` over the last axis. In a row of nothing but minus infinity it gives NaN, and NaN times 0 is NaN: so *choose* a 0 there, by `torch.where` and the mask. Then multiply with the values.
#
# </details>
# <details><summary>Hint 3: a worked neighbour</summary>
#
# The mean mark of each pupil over the exams that the pupil sat; 0 for one who sat none. What stands in an exam that was not sat may be anything.
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

# %% nbgrader={"grade": false, "grade_id": "attention", "locked": false, "schema_version": 3, "solution": true, "task": false}
def attention(q: Float[Tensor, "B H T D"], k: Float[Tensor, "B H S D"], v: Float[Tensor, "B H S D"],
              mask: Bool[Tensor, "B 1 T S"] | None) -> Float[Tensor, "B H T D"]:
    """For each query the mean of the values that it may see, weighted by the softmax of q . k / sqrt(D); zeros if it sees none."""
    ### BEGIN SOLUTION
    scores = q @ k.mT / math.sqrt(q.shape[3])                           # (B, H, T, S)
    if mask is None:
        return scores.softmax(3) @ v
    weights = torch.where(mask, scores, -torch.inf).softmax(3)          # NaN in a row without a key
    return torch.where(mask, weights, 0.0) @ v
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "attention-check", "locked": true, "points": 9, "schema_version": 3, "solution": false, "task": false}
check(attention)

# %% [markdown] nbgrader={"grade": false, "grade_id": "attention-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# How much of each word does *bank* take? Give the words the rows of the identity for values, and the answer is the weights themselves. Then make its query longer: it looks harder and harder at one word.

# %% nbgrader={"grade": false, "grade_id": "look-attention", "locked": true, "schema_version": 3, "solution": false, "task": false}
for length in (0.0, 1.0, 2.0, 5.0):
    weights = attempt(attention, length * BANK[None, None], KEYS[None, None], torch.eye(4)[None, None], None)
    if weights is not None:
        print(f"query times {length:g}: ", ", ".join(f"{word} {weight:.3f}" for word, weight in zip(WORDS, weights.flatten().tolist())))

# %% [markdown] nbgrader={"grade": false, "grade_id": "masks-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 2. Who may see whom
#
# - **What it is for**: the mask is what makes a decoder of an encoder. A mask that is wrong by one place trains a model that reads the answer; one that forgets the padding gives a text other vectors in other company.
# - **Difficulty** 2 of 5 · **Time** 14 minutes · **Points** 5
# - **Needs**: `arange`, comparisons that broadcast.
# - **Paper**: Vaswani et al. (2017), section 3.2.3.
#
# **The idea.** A batch has $B$ texts and $S$ places; text $b$ has its words at the first `lengths[b]` places, and padding behind them. Each query is one of these places too: the $T$ queries are the **last** $T$ of the $S$ places, so query $t$ stands at place $S - T + t$. (When a decoder writes, the keys of the words before are kept, and only the last place asks.)
#
# Return the mask for your `attention`: True where query $t$ of text $b$ may see key $s$, that is where both hold:
#
# - key $s$ is a word of text $b$, no padding;
# - key $s$ stands at the query's own place or before it.
#
# **By hand.** `lengths` 3 and 2, with $T = 2$ and $S = 3$: the queries stand at the places 1 and 2.
#
# | | key 0 | key 1 | key 2 |
# | --- | --- | --- | --- |
# | text 0, query 0 | True | True | False |
# | text 0, query 1 | True | True | True |
# | text 1, query 0 | True | True | False |
# | text 1, query 1 | True | True | False |
#
# The last row is that of a query which is padding itself.
#
# **Rules**
#
# - A query whose own place is padding has a row like any other: it sees the words before it. What it answers is never read.
# - A text may have no word. Its rows are False everywhere; nothing is added so that a row has something to see.
# - All heads share the mask: the second axis has length 1.
#
# **In**: `lengths` int64 $(B)$, each from 0 to `num_keys`; `num_queries` from 1 to `num_keys`; the longest text may be shorter than `num_keys`. **Out**: bool $(B, 1, T, S)$, where $T$ is `num_queries` and $S$ is `num_keys`.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Number the keys 0 to S - 1. Which number has the place of the first query, if the last query stands at S - 1?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Two small tables, each made by one comparison: keys with `lengths`, which depends on text and key, and keys with the places of the queries, which depends on query and key. Give each of them axes of length 1 where it does not depend on something, and `&` makes the large table of both.
#
# </details>
# <details><summary>Hint 3: a worked neighbour</summary>
#
# A theatre: seat and row numbers count from 0. Which visitors can reach which seats, if visitor *i* can climb `rows[i]` rows, and only the first `open[i]` seats of a row are open to them?
#
# ```python
# def reachable(rows, open, num_rows, num_seats):               # (visitors,), (visitors,)
#     climbs = torch.arange(num_rows)[:, None] < rows[:, None, None]        # (visitors, rows, 1)
#     enters = torch.arange(num_seats) < open[:, None, None]                # (visitors, 1, seats)
#     return climbs & enters                                                # (visitors, rows, seats)
# ```
#
# A visitor with 1 and 2 reaches the seats 0 and 1 of row 0.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "masks", "locked": false, "schema_version": 3, "solution": true, "task": false}
def masks(lengths: Int[Tensor, "B"], num_queries: int, num_keys: int) -> Bool[Tensor, "B 1 T S"]:
    """True where a query may see a key: a word, and not after the query; the queries are the last of the keys."""
    ### BEGIN SOLUTION
    keys = torch.arange(num_keys)                                        # (S,)
    places = keys[num_keys - num_queries:, None]                         # (T, 1): where the queries stand
    return (keys <= places) & (keys < lengths.reshape(-1, 1, 1, 1))      # (B, 1, T, S)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "masks-check", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check(masks)

# %% [markdown] nbgrader={"grade": false, "grade_id": "masks-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The two sentences of the course in one batch, `#` where a query may see a key. Then the last place alone, as it asks when a model writes word by word.

# %% nbgrader={"grade": false, "grade_id": "look-masks", "locked": true, "schema_version": 3, "solution": false, "task": false}
sentences = ["we sat on the bank of the river".split(), "the bank lends money".split()]
longest = max(map(len, sentences))
for queries in (longest, 1):
    seen = attempt(masks, torch.tensor([len(words) for words in sentences]), queries, longest)
    if seen is not None:
        for words, table in zip(sentences, seen[:, 0]):
            padded = words + ["(padding)"] * (longest - len(words))
            for word, row in zip(padded[-queries:], table.tolist()):
                print(f"{word:>10} {''.join('#' if cell else '.' for cell in row)}")
            print()

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-heads", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 2. Many looks
#
# One softmax has one set of weights: a word that wants its verb and its adjective gets a mixture of both. So a layer looks several times at once, each time with other columns.

# %% [markdown] nbgrader={"grade": false, "grade_id": "multi_head-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 3. Several heads
#
# - **What it is for**: this is the whole attention layer of a Transformer, its four matrices included. A reshape in the place of a transpose mixes words up here, and such a model still trains.
# - **Difficulty** 4 of 5 · **Time** 20 minutes · **Points** 7
# - **Needs**: exercise 1, `reshape` and `transpose`.
# - **Paper**: Vaswani et al. (2017), section 3.2.2.
#
# **The idea.** $x$ holds $B$ texts of $T$ tokens, $C$ numbers each. Three matrices make queries, keys and values of the tokens, $C$ numbers wide again, all as `torch.nn.Linear` does it:
#
# $$q = x\, W_q^\top \qquad k = x\, W_k^\top \qquad v = x\, W_v^\top$$
#
# Then $H$ heads share the columns: head $h$, from 0 on, has the columns $hD$ to $(h + 1)D - 1$ of $q$, $k$ and $v$, where $D = C / H$. Each head attends as in exercise 1, with nothing hidden and its own $\sqrt{D}$. The answers of the heads stand side by side again, each in the columns of its head, and the last matrix mixes them: answer $= \text{heads}\; W_o^\top$.
#
# **By hand.** $T = 2$, $C = 4$, $H = 2$, and the projected values of the two tokens are 0, 1, 2, 3 and 4, 5, 6, 7. Head 0 has the rows (0, 1) and (4, 5), head 1 has (2, 3) and (6, 7). With queries of zeros every weight is 1/2: head 0 answers (2, 3) and head 1 answers (4, 5), for both tokens. Side by side that is (2, 3, 4, 5), twice. Who reshapes 0 to 7 into two heads at once gives head 0 the first token whole.
#
# **Rules**
#
# - No matrix has a bias. Nothing is hidden: each token sees every token of its own text, later ones and itself included.
# - `num_heads` divides $C$. There may be one head, or as many as columns, of width 1.
# - The scores may be several hundred, of whole numbers then.
# - $x$ is not added to the answer: that comes later.
#
# **In**: `x` $(B, T, C)$ and four matrices $(C, C)$, all float32 or all float64, finite; `num_heads` an int. **Out**: $(B, T, C)$ in the dtype of `x`. You may call your `attention`. Is it not right yet? Then write here what you need of it, since every exercise is graded with what your notebook holds.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Write the shape beside each line. Which axis is cut into H and D, and which axis has to move so that (T, D) are the last two?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Project, (B, T, C). Cut the last axis, (B, T, H, D). Exchange axes 1 and 2, (B, H, T, D). Attend. Then the same way back: exchange, then join the last two axes. Then the last matrix.
#
# </details>
# <details><summary>Hint 3: a worked neighbour</summary>
#
# A year's rain by day, 364 numbers for each town, in weeks: the mean of each weekday, for each of `parts` parts of the year.
#
# ```python
# def weekday_means(rain, parts):                               # (towns, 364)
#     weeks = rain.reshape(len(rain), parts, -1, 7)             # (towns, parts, weeks, 7)
#     by_day = weeks.transpose(2, 3)                            # (towns, parts, 7, weeks): moved, not reshaped
#     return by_day.mean(3)
# ```
#
# A reshape to `(towns, parts, 7, -1)` would take seven runs of neighbouring days for the weekdays.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "multi_head", "locked": false, "schema_version": 3, "solution": true, "task": false}
def multi_head(x: Float[Tensor, "B T C"], w_q: Float[Tensor, "C C"], w_k: Float[Tensor, "C C"], w_v: Float[Tensor, "C C"],
               w_o: Float[Tensor, "C C"], num_heads: int) -> Float[Tensor, "B T C"]:
    """Attention in `num_heads` heads, each with its own columns of the projections, mixed by the last matrix."""
    ### BEGIN SOLUTION
    batch, tokens, width = x.shape
    q, k, v = ((x @ weight.T).reshape(batch, tokens, num_heads, -1).transpose(1, 2) for weight in (w_q, w_k, w_v))
    heads = attention(q, k, v, None)                                    # (B, H, T, D)
    return heads.transpose(1, 2).reshape(batch, tokens, width) @ w_o.T
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "multi_head-check", "locked": true, "points": 7, "schema_version": 3, "solution": false, "task": false}
check(multi_head)

# %% [markdown] nbgrader={"grade": false, "grade_id": "multi_head-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Shuffle the tokens of a text: the answers are shuffled in the same way, and not one of them changes. Attention sees a set of words. Where each stands it has to be told, and that is the next part.

# %% nbgrader={"grade": false, "grade_id": "look-multi_head", "locked": true, "schema_version": 3, "solution": false, "task": false}
generator = torch.Generator().manual_seed(4)
tokens, *matrices = (torch.randn(*size, generator=generator) for size in ((1, 5, 8), *[(8, 8)] * 4))
order = torch.tensor([3, 1, 4, 0, 2])
straight = attempt(multi_head, tokens, *matrices, 2)
shuffled = attempt(multi_head, tokens[:, order], *matrices, 2)
if straight is not None and shuffled is not None:
    print(f"the largest difference, token by token: {(straight[:, order] - shuffled).abs().max():.0e}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-order", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 3. Order
#
# Attention sees a set: exchange two words, and their results change places and nothing else. Three ways to say where a word stands: add a vector of waves, turn the queries and keys, or take something off the score for distance.

# %% [markdown] nbgrader={"grade": false, "grade_id": "sinusoids-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 4. Waves for positions
#
# - **What it is for**: the first Transformer added these to its word vectors. One step further is the same turn wherever you stand, which is the idea behind exercise 5.
# - **Difficulty** 2 of 5 · **Time** 12 minutes · **Points** 4
# - **Needs**: sine and cosine, broadcasting.
# - **Paper**: Vaswani et al. (2017), section 3.5.
#
# **The idea.** A clock has a fast hand and slow ones; together they tell the time of a day to the second. Give each position $p$ a row of $C$ numbers, `hidden` of them, in pairs. Pair $i = 0, 1, \ldots, C/2 - 1$ is a hand with the angle
#
# $$\alpha_i = \frac{p}{10000^{\,2i / C}} \text{ radians,}$$
#
# and the row holds the sine and the cosine of each in turn:
#
# $$\sin \alpha_0,\ \cos \alpha_0,\ \sin \alpha_1,\ \cos \alpha_1,\ \ldots$$
#
# **By hand.** With $C = 4$ the angles are $p$ and $p / 100$. Position 0 has the row 0, 1, 0, 1. Position 1 has sin 1 = 0.841, cos 1 = 0.540, sin 0.01 = 0.010, cos 0.01 = 1.000.
#
# **Rules**
#
# - Each row belongs to the number that stands in `positions` at its place. Positions may begin anywhere, leave some out, go down, and come twice.
# - The first pair has the exponent 0: its angle is the position itself. With $C = 2$ it is the only one.
# - Positions go as far as 100,000, and there too the digits have to be right. In float32 the angle 90,000.4 is 90,000.398: make the angles in float64 (`torch.float64`), and the result float32.
#
# **In**: `positions` int64 $(T)$, from 0 to 100,000; `hidden`, an even `int` of at least 2 and at most 1,000. **Out**: float32 $(T, C)$.
#
# <details><summary>Hint 1: a nudge</summary>
#
# How many different angles does a row of six numbers have? Which of its columns share one?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# The numbers 0, 2, 4, ... below $C$, divided by $C$, are the exponents. A column of positions times a row of speeds is a table of angles $(T, C/2)$. `torch.stack` lays sine and cosine side by side on a new last axis, `flatten` puts them in a row.
#
# </details>
# <details><summary>Hint 3: a worked neighbour</summary>
#
# Three church bells ring every 1, 2 and 4 hours. For some hours, since when is each silent and how long will it stay so, in turns:
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

# %% nbgrader={"grade": false, "grade_id": "sinusoids", "locked": false, "schema_version": 3, "solution": true, "task": false}
def sinusoids(positions: Int[Tensor, "T"], hidden: int) -> Float[Tensor, "T C"]:
    """A row of sines and cosines in turn for each position; the angles slow down from pair to pair."""
    ### BEGIN SOLUTION
    speeds = 10_000.0 ** (-torch.arange(0, hidden, 2, dtype=torch.float64) / hidden)       # (C/2,)
    angles = positions[:, None] * speeds                                                  # (T, C/2)
    return torch.stack([angles.sin(), angles.cos()], dim=2).flatten(1).float()
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "sinusoids-check", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(sinusoids)

# %% [markdown] nbgrader={"grade": false, "grade_id": "sinusoids-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The product of two rows says how far apart they are, and not where. Look along a line: does it matter where the first of the two stands?

# %% nbgrader={"grade": false, "grade_id": "look-sinusoids", "locked": true, "schema_version": 3, "solution": false, "task": false}
for apart in (0, 1, 2, 10, 100):
    rows = attempt(sinusoids, torch.tensor([0, apart, 70, 70 + apart, 9000, 9000 + apart]), 64)
    if rows is None:
        break
    products = [f"{float(rows[first] @ rows[first + 1]):.2f}" for first in (0, 2, 4)]
    print(f"{apart:>3} apart, from position 0, 70 and 9,000: {', '.join(products)}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "rotate-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 5. Turn the queries and keys
#
# - **What it is for**: these rotary positions (RoPE) are in LLaMA, Qwen, ModernBERT and most models after them. What a query and a key make of each other then depends on how far apart they stand.
# - **Difficulty** 3 of 5 · **Time** 18 minutes · **Points** 5
# - **Needs**: exercise 4, slices of the last axis.
# - **Paper**: Su et al. (2021), section 3.2.2; the layout is the one of GPT-NeoX and of LLaMA's weights in `transformers`.
#
# **The idea.** Take the $D$ numbers of a query or key as $D/2$ arrows in the plane. Number $i$ of the first half and number $i + D/2$ make the arrow $(a, b)$. The token at position $p$ has it turned against the clock by the angle
#
# $$\theta_i = p \cdot \text{base}^{-2i / D} \text{ radians,} \qquad i = 0, 1, \ldots, D/2 - 1,$$
#
# $$(a,\ b) \;\to\; (a \cos\theta_i - b \sin\theta_i,\ \ a \sin\theta_i + b \cos\theta_i).$$
#
# **By hand.** Let a step be a quarter turn, so that the numbers stay whole. The query (1, 2) at position 3 makes three of them: (-2, 1), (-1, -2), (2, -1). The key (2, 1) at position 1 makes one: (-1, 2). Their product is -4. At positions 2 and 0 they are (-1, -2) and (2, 1), and the product is -4 again.
# With $D = 4$ and base 10,000 the vector 1, 0, 0, 0 at position 1 becomes cos 1, 0, sin 1, 0: what left number 0 is in number 2.
#
# **Rules**
#
# - The pairs are $(0, D/2)$, $(1, D/2 + 1)$ and so on. The paper pairs neighbours, $(0, 1)$, $(2, 3)$: not here.
# - Token $t$ stands at `positions[t]`, in every sequence and every head. Positions may begin anywhere, leave some out, go down, and come twice.
# - At position 0 every vector stays as it is. No vector changes its length.
# - Positions go as far as 100,000, and there too the digits have to be right: make angles, cosines and sines in float64, and bring the cosines and sines to x's dtype.
#
# **In**: `x` float32 or float64 $(B, H, T, D)$ with $D$ even; `positions` int64 $(T)$, from 0 to 100,000; `base`, a `float` from 1 to 1,000,000. **Out**: the dtype and shape of `x`.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Try $D = 2$ first: one arrow, one angle for each token. What has to be added so that $D = 6$ works? Which numbers are $a$ there, and which $b$?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Angles are a table $(T, D/2)$, as in exercise 4, and so are their cosines. The two halves of `x` are $(B, H, T, D/2)$: they multiply with the table as it is. Make both new halves from the *old* ones, then put them behind each other with `torch.cat`.
#
# </details>
# <details><summary>Hint 3: a worked neighbour</summary>
#
# Sheets of paper are made larger by a factor for each page and shifted to the right by their old height. The widths stand in the first half of a row, the heights in the second.
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

# %% nbgrader={"grade": false, "grade_id": "rotate", "locked": false, "schema_version": 3, "solution": true, "task": false}
def rotate(x: Float[Tensor, "B H T D"], positions: Int[Tensor, "T"], base: float) -> Float[Tensor, "B H T D"]:
    """Turn each pair (i, i + D/2) of every token by its position times the pair's speed."""
    ### BEGIN SOLUTION
    half = x.shape[-1] // 2
    speeds = base ** (-torch.arange(half, dtype=torch.float64) / half)                     # (D/2,)
    angles = positions[:, None] * speeds                                                  # (T, D/2)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    a, b = x[..., :half], x[..., half:]                                                   # (B, H, T, D/2)
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "rotate-check", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check(rotate)

# %% [markdown] nbgrader={"grade": false, "grade_id": "rotate-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# A query and a key, moved together through a text and then apart. Which of the two changes their score?

# %% nbgrader={"grade": false, "grade_id": "look-rotate", "locked": true, "schema_version": 3, "solution": false, "task": false}
query, key = torch.randn(2, 1, 1, 1, 64, generator=torch.Generator().manual_seed(1))
for places in ((3, 1), (103, 101), (9003, 9001), (3, 2), (3, 3), (4, 1)):
    turned = [attempt(rotate, vector, torch.tensor([place]), 10_000.0) for vector, place in zip((query, key), places)]
    if turned[0] is None:
        break
    print(f"query at {places[0]:>4}, key at {places[1]:>4}: score {float((turned[0] * turned[1]).sum()):.3f}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "distance_bias-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 6. A price for distance
#
# - **What it is for**: ALiBi adds no vector and turns none. It makes far words dearer, and a model that was trained on short texts reads longer ones.
# - **Difficulty** 3 of 5 · **Time** 13 minutes · **Points** 4
# - **Needs**: `torch.arange`, broadcasting.
# - **Paper**: Press et al. (2022), section 3; the rule for other numbers of heads is that of the authors' program.
#
# **The idea.** Before the softmax, each head adds to the score of a query and a key
#
# $$-\,\text{slope} \cdot \text{distance},$$
#
# where the distance is counted in tokens and each of the $H$ heads has its own slope. Return the table of these numbers, for all heads, queries and keys.
#
# *The slopes.* If $H$ is a power of two, head $h = 1, 2, \ldots, H$ has the slope $2^{-8h / H}$. With 8 heads that is 1/2, 1/4, ..., 1/256; the last is always 1/256, and one head alone has just that.
# For any other $H$ let $P$ be the largest power of two below $H$. The first $P$ heads have the slopes of $P$ heads, in their order. The other $H - P$ follow, each half a step before one of those: $2^{-8 (j - 1/2) / P}$ for $j = 1, \ldots, H - P$.
#
# *The distance.* There are `num_keys` tokens, and the queries are the **last** `num_queries` of them: the words before may have been read earlier, and only their keys were kept. Query $t = 0, 1, \ldots$ stands at the place `num_keys - num_queries` $+\, t$, key $s = 0, 1, \ldots$ at the place $s$. Their distance is how far the places are from each other, in either direction, and never negative.
#
# **By hand.** Three heads: $P = 2$, so the slopes are 1/16 and 1/256, and then $2^{-8 \cdot 0.5 / 2} = 1/4$. With 2 queries and 3 keys the queries stand at places 1 and 2, and the distances are
#
# | | key 0 | key 1 | key 2 |
# | --- | --- | --- | --- |
# | query 0 | 1 | 0 | 1 |
# | query 1 | 2 | 1 | 0 |
#
# So the third head has -0.25, 0, -0.25 and -0.5, -0.25, 0.
#
# **Rules**
#
# - A key after the query has the bias of its distance, as one before it has. To hide it is the mask's work.
# - There may be one head, one query, one key. There are never more queries than keys.
# - All slopes belong to the same distances: these do not depend on the head.
#
# **In**: three `int`s: `num_heads` from 1 to 128, `num_queries` from 1 to `num_keys`, `num_keys` up to 2,000; the table has at most 100,000 numbers. **Out**: float32 $(H, T, S)$: heads, queries, keys.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Leave the heads for later: what does the table of distances look like for two queries and five keys? Where are its zeros?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# `torch.arange(num_keys - num_queries, num_keys)` are the places of the queries. A column of these less a row of the keys' places, without the sign, is the table of distances $(T, S)$. The slopes, with two axes of length 1, make it $(H, T, S)$. For the largest power of two that is not above $H$ there is `H.bit_length()`.
#
# </details>
# <details><summary>Hint 3: a worked neighbour</summary>
#
# Taxis take a price per kilometre along one road, each company its own. Nine kilometre stones; the last few are where passengers wait.
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

# %% nbgrader={"grade": false, "grade_id": "distance_bias", "locked": false, "schema_version": 3, "solution": true, "task": false}
def distance_bias(num_heads: int, num_queries: int, num_keys: int) -> Float[Tensor, "H T S"]:
    """Minus each head's slope times the distance of each key from each query, which is one of the last tokens."""
    ### BEGIN SOLUTION
    power = 2 ** (num_heads.bit_length() - 1)
    slopes = [2 ** (-8 * head / power) for head in range(1, power + 1)]
    between = [2 ** (-8 * (other + 0.5) / power) for other in range(num_heads - power)]
    queries = torch.arange(num_keys - num_queries, num_keys)                               # (T,)
    distance = (torch.arange(num_keys) - queries[:, None]).abs()                           # (T, S)
    return -torch.tensor(slopes + between)[:, None, None] * distance
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "distance_bias-check", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(distance_bias)

# %% [markdown] nbgrader={"grade": false, "grade_id": "distance_bias-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# If nothing but the distance counted: how much of its attention would the last of 512 words give to the ten nearest, itself included, head by head?

# %% nbgrader={"grade": false, "grade_id": "look-distance_bias", "locked": true, "schema_version": 3, "solution": false, "task": false}
bias = attempt(distance_bias, 8, 1, 512)
if bias is not None:
    shares = bias.softmax(-1)[:, 0, -10:].sum(-1)
    print(", ".join(f"head {head}: {100 * share:.0f} %" for head, share in enumerate(shares.tolist(), start=1)))

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-block", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 4. The block around it
#
# Attention moves words about; the feed-forward then works on each word by itself. Around each of the two stand a sum that keeps what was there and a norm that brings every word to one size.

# %% [markdown] nbgrader={"grade": false, "grade_id": "layer_norm-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 7. Bring a token to one size
#
# - **What it is for**: every block of every Transformer brings its tokens to one size, twice. torch's own `std` divides by another number than this norm does, which is easily missed.
# - **Difficulty** 2 of 5 · **Time** 10 minutes · **Points** 4
# - **Needs**: means over an axis, `keepdim`.
# - **Paper**: Ba et al. (2016), equation 3 and section 3.1.
#
# **The idea.** Each token, the $C$ numbers on the last axis, is treated by itself. With $\mu$ the mean of its numbers and $\sigma^2$ the mean of their squared distances from $\mu$,
#
# $$y_c = \frac{x_c - \mu}{\sqrt{\sigma^2 + \varepsilon}} \cdot \text{weight}_c + \text{bias}_c \qquad \sigma^2 = \frac{1}{C} \sum_{c} (x_c - \mu)^2$$
#
# **By hand.** The token (2, 2, 6, 6) has the mean 4 and the variance 4. With $\varepsilon$ next to 0, weight 1 and bias 0 it becomes (-1, -1, 1, 1). Who divides by $C - 1$ in place of $C$ gets 0.87 for 1. With $\varepsilon = 5$ it is (-2/3, -2/3, 2/3, 2/3).
#
# **Rules**
#
# - $\varepsilon$ stands inside the root. It is above 0, from 1e-12 to 100.
# - Any number of axes may stand before the last one, none included: $x$ may be one token, $(C)$.
# - A token of one number, or of equal numbers, has nothing left of it: the answer is the bias.
# - The mean may be some thousand times as large as the deviation. Take it away before you square, and float32 is enough: float64 inside is not asked for, since such tokens, and those of equal numbers, hold whole numbers and $C$ is a power of two, or $C$ is 1: float32 holds the mean exactly.
#
# **In**: `x` $(\ldots, C)$, `weight` and `bias` $(C)$, any sign, all float32 or all float64, finite; `eps` a float. **Out**: the shape and dtype of `x`.
#
# <details><summary>Hint 1: a nudge</summary>
#
# What does torch divide by in `x.std()`? And what shape has `x.mean(-1)`, when x is (B, T, C)?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Four steps, each a line: mean of the last axis with `keepdim=True`, difference, mean of its squares, quotient with the root. Weight and bias fit the last axis by themselves.
#
# </details>
# <details><summary>Hint 3: a worked neighbour</summary>
#
# Each runner's times over some races, as distances from the runner's own middle, in units of the runner's own range:
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

# %% nbgrader={"grade": false, "grade_id": "layer_norm", "locked": false, "schema_version": 3, "solution": true, "task": false}
def layer_norm(x: Float[Tensor, "... C"], weight: Float[Tensor, "C"], bias: Float[Tensor, "C"], eps: float) -> Float[Tensor, "... C"]:
    """Each token less its mean, divided by its deviation, times weight, plus bias."""
    ### BEGIN SOLUTION
    away = x - x.mean(dim=-1, keepdim=True)
    spread = (away.square().mean(dim=-1, keepdim=True) + eps).sqrt()
    return away / spread * weight + bias
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "layer_norm-check", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(layer_norm)

# %% [markdown] nbgrader={"grade": false, "grade_id": "layer_norm-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# A token, the same one a thousand times as large, and the same one moved up by 100: after the norm nobody can tell them apart.

# %% nbgrader={"grade": false, "grade_id": "look-layer_norm", "locked": true, "schema_version": 3, "solution": false, "task": false}
token = torch.tensor([2.0, 2.0, 6.0, 6.0])
for name, one in (("the token", token), ("times 1000", 1000 * token), ("plus 100", token + 100)):
    normed = attempt(layer_norm, one, torch.ones(4), torch.zeros(4), 1e-5)
    if normed is not None:
        print(f"{name:<11}", [round(number, 3) for number in normed.tolist()])

# %% [markdown] nbgrader={"grade": false, "grade_id": "predict_block-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 8. Predict what a block costs
#
# - **What it is for**: before anybody trains a model, somebody has worked out these numbers. They say what fits on a machine, and when attention becomes the larger part of the bill.
# - **Difficulty** 3 of 5 · **Time** 14 minutes · **Points** 5
# - **Needs**: sizes of matrices; no torch.
# - **Paper**: Kaplan et al. (2020), section 2.1, who leave out biases, norms and what we count of attention beside its matrices.
#
# **The idea.** One block of an encoder, on one text of `tokens` tokens $T$, with `hidden` numbers a token $C$, `heads` heads $H$ and `inner` numbers in the middle of its feed-forward $F$. It consists of
#
# - four matrices $(C, C)$ for queries, keys, values and output,
# - a feed-forward: a matrix that makes $F$ numbers of $C$, an activation, a matrix that makes $C$ numbers of $F$,
# - a bias for each of the six matrices, one number for each number that comes out,
# - two norms, each with a weight and a bias for each of the $C$ columns.
#
# Predict three numbers:
#
# - `"parameters"`: how many numbers the block has.
# - `"operations"`: how many operations the *products of matrices* of one forward pass take. A product of $(n, k)$ and $(k, m)$ is $2nkm$ operations, a multiplication and an addition each. In each head there are two products beside the six matrices: queries with keys, and weights with values. Biases, softmax, norms, activation and the scaling are not counted.
# - `"score_bytes"`: how many bytes the scores of all heads take together, in float32.
#
# **By hand.** $T = 3$, $C = 4$, $H = 2$, $F = 8$. Parameters: 4 · 16 + 2 · 32 in matrices, 4 · 4 + 8 + 4 in their biases, 2 · 8 in the norms, together **172**. Operations: 2 · 3 · 128 = 768 for the six matrices, and in each head 2 · 3 · 2 · 3 = 36 twice, so 144 for both heads: **912**. Bytes: two tables of 3 · 3 scores, 4 bytes each, **72**.
#
# **Rules**
#
# - Nothing is hidden by a mask: all $T \cdot T$ scores of a head are computed.
# - The numbers are exact, plain ints. They may have eighteen digits.
#
# **In**: four ints from 1 to 299,999, whose scores take less than $10^{16}$ bytes; `heads` divides `hidden`; `inner` need not be four times `hidden`. **Out**: a dictionary with the three keys.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Which of the three numbers depend on T, which on H, and which on the square of T?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Work out the numbers in the six matrices first: they are most of the parameters, and 2 T times as many are most of the operations. In a head the products are (T, D) by (D, T) and (T, T) by (T, D). How much is H times D?
#
# </details>
# <details><summary>Hint 3: a worked neighbour</summary>
#
# An LSTM cell with D numbers in and H in its state has four gates, each with a matrix for the input, one for the state, and a bias. Its parameters, and the operations of T steps:
#
# ```python
# def lstm_cost(steps, inputs, state):
#     matrices = 4 * (inputs * state + state * state)
#     return {"parameters": matrices + 4 * state, "operations": 2 * steps * matrices}
# ```
#
# `lstm_cost(10, 2, 3)` is 72 parameters and 1,200 operations.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "predict_block", "locked": false, "schema_version": 3, "solution": true, "task": false}
def predict_block(tokens: int, hidden: int, heads: int, inner: int) -> dict[str, int]:
    """Parameters, operations of a forward pass, and bytes of all scores, of one encoder block on one text."""
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
# One block of BERT-base, 768 wide with 12 heads and 3,072 in the middle, on longer and longer texts. From where on is half of the work between the tokens?

# %% nbgrader={"grade": false, "grade_id": "look-predict_block", "locked": true, "schema_version": 3, "solution": false, "task": false}
for length in (128, 512, 2048, 4608, 16384):
    cost = attempt(predict_block, length, 768, 12, 3072)
    if cost is not None:
        share = 4 * length * length * 768 / cost["operations"]
        print(f"{length:>6} tokens: {cost['parameters']:,} parameters, {cost['operations'] / 1e9:,.1f} billion operations, {share:.0%} of them "
              f"between tokens, {cost['score_bytes'] / 2**20:,.0f} MiB of scores")

# %% [markdown] nbgrader={"grade": false, "grade_id": "block-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 9. Find the one wrong line: the block
#
# - **What it is for**: GPT, LLaMA and ModernBERT are this function, many times over. Attention carries something from word to word, the feed-forward works on each word by itself, and all that they find is added to a stream that runs past them untouched.
# - **Difficulty** 2 of 5 · **Time** 12 minutes · **Points** 5 (1 for the line, 4 for the function)
# - **Needs**: what a norm and a residual are.
# - **Paper**: Xiong et al. (2020), section 3 and figure 1, for the norm that comes first; Vaswani et al. (2017), section 3.1.
#
# **The idea.** A block with the norm first ("pre-norm") has two sublayers, `attend` and `think`, the feed-forward. Each is fed the norm of the stream, and what it gives is added to the stream:
#
# $$y = x + \text{attend}(\text{norm}_1(x)) \qquad \text{out} = y + \text{think}(\text{norm}_2(y))$$
#
# The function below runs without complaint, gives the right shape, and a model that is made of it even learns. **Exactly one** of its six numbered lines is wrong: to put another name in one place of that line alone repairs the function.
#
# ```python
# def block(x, attend, think, norm_1, norm_2):      # x (B, T, C)
#     normed = norm_1(x)                            # line 1
#     seen = attend(normed)                         # line 2
#     x = normed + seen                             # line 3
#     normed = norm_2(x)                            # line 4
#     thought = think(normed)                       # line 5
#     return x + thought                            # line 6
# ```
#
# **By hand**, with one number in the place of each tensor. Let norm_1 take 2 away, `attend` multiply by 10, norm_2 halve, and `think` add 1. For $x = 4$: norm_1 gives 2, attention 20, so $y = 24$; norm_2 gives 12, the feed-forward 13, so the result is 37. Follow the code with that and a pencil.
#
# **What to do.** Four points for the function, repaired: copy it and change that line, or write it anew. One point for the line's number, a plain `int`, which `wrong_line` returns. Each is graded by itself.
#
# **Rules**
#
# - Call each of the four once, with the whole batch, $(B, T, C)$. Attention is the dearest part of a block.
# - `x` belongs to the caller: make new tensors and leave it as it was.
#
# **In**: `x` float32 or float64 $(B, T, C)$. The other four are functions that take such a tensor and give a new one, of the same shape and dtype; they keep nothing between calls. `attend` mixes the tokens of a sequence, the others treat each token by itself. **Out**: the dtype and shape of `x`.
#
# <details><summary>Hint 1: a nudge</summary>
#
# The two formulas have four places where $x$ or $y$ stands without a norm. Which names does the code have there?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Trace the case by hand through lines 1 to 6 and write down what `normed`, `seen` and `x` are after each. Which is the first line after which a name does not hold what the formulas have at that place?
#
# </details>
# <details><summary>Hint 3: a worked neighbour</summary>
#
# A text goes by two editors. Each gets a clean copy of it and returns remarks, which are put behind the text itself. The text stays as the author wrote it.
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

# %% nbgrader={"grade": false, "grade_id": "block", "locked": false, "schema_version": 3, "solution": true, "task": false}
def wrong_line() -> int:
    """The number, 1 to 6, of the line that is wrong."""
    ### BEGIN SOLUTION
    return 3
    ### END SOLUTION


def block(x: Float[Tensor, "B T C"], attend: Callable[[Tensor], Tensor], think: Callable[[Tensor], Tensor],
          norm_1: Callable[[Tensor], Tensor], norm_2: Callable[[Tensor], Tensor]) -> Float[Tensor, "B T C"]:
    """The function of the statement, with the wrong line repaired."""
    ### BEGIN SOLUTION
    x = x + attend(norm_1(x))
    return x + think(norm_2(x))
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "block-check", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check(block)

# %% [markdown] nbgrader={"grade": false, "grade_id": "block-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Forty-eight blocks with small random weights, one on the other. How much of the input is left in the stream, by the angle between them? Then the same blocks as they were printed.

# %% nbgrader={"grade": false, "grade_id": "look-block", "locked": true, "schema_version": 3, "solution": false, "task": false}
def as_printed(x, attend, think, norm_1, norm_2):
    normed = norm_1(x)
    later = normed + attend(normed)
    return later + think(norm_2(later))


def centred(x):
    x = x - x.mean(-1, keepdim=True)
    return x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt()


def left_after(one_block, number):
    """The cosine between the input and what comes out of `number` blocks, averaged over tokens."""
    generator = torch.Generator().manual_seed(1)
    stream = start = 2 * torch.randn(1, 20, 64, generator=generator)
    for _ in range(number):
        mix, first, second = 0.08 * torch.randn(3, 64, 64, generator=generator)
        stream = attempt(one_block, stream, lambda x: x.mean(1, keepdim=True) @ mix + 0 * x, lambda x: (x @ first).relu() @ second, centred, centred)
        if stream is None:
            return None
    return float(torch.cosine_similarity(start, stream, dim=-1).mean())


for number in (1, 4, 12, 48):
    yours = left_after(block, number)
    if yours is not None:
        print(f"after {number:>2} blocks: yours {yours:.2f}, as printed {left_after(as_printed, number):.2f}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-own-words", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 5. In your own words

# %% [markdown] nbgrader={"grade": false, "grade_id": "which_family-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 10. Which family is it?
#
# - **What it is for**: the same block makes BERT, GPT and T5. What a place may see decides which of them it is, and what it is good for.
# - **Difficulty** 2 of 5 · **Time** 10 minutes · **Points** 4, given by a person who reads it
# - **Needs**: exercise 2.
# - **Paper**: Vaswani et al. (2017), section 3.2.3; Raffel et al. (2020), section 3.2.1.
#
# **The question.** Three Transformers have lost their names. You change one word and look which outputs move:
#
# - *A*: wherever the word stands, the output moves at every place.
# - *B*: the output moves at the place of that word and at all later ones, and nowhere else.
# - *C* takes two texts and has outputs at the places of the second. A word of the first text moves all of them; a word of the second moves those at its place and later.
#
# In about 120 words: which family is each of the three, with one published model of it? Which of their attentions are causal, and which are not? Which of the three would you take to say whether a review is kind, to continue a story, and to translate, and why? And why not let A continue the story, by asking it for one word after the other?
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
# For each job ask: what is already there when an output is needed, and what is not written yet? For the last question ask what A had in view, on both sides, whenever it was trained, and what has to be computed anew when a word is put behind the text.
#
# </details>
# <details><summary>Hint 3: a worked neighbour</summary>
#
# *Why does a crossword solver not write novels?* Every word that he ever found had letters crossing it from all sides. At the open end of a novel nothing crosses. He could try, but it is not what he has practised.
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
# Nothing to write here. Run the cells and watch; they take some seconds.
#
# MiniLM is an encoder of six layers with twelve heads each, trained by others to give sentences vectors; its 22.7 million numbers come with this course.
# First your `attention`, `masks` and `layer_norm` read a batch of sentences, padding and all. The course's model lends its matrices, its feed-forward and its tables of words and places.
# Then your `multi_head` reads one sentence at a time. MiniLM's matrices have biases and yours have none. So each head gets one column more, which holds a 1 for every token: what a matrix has in that column is a bias.

# %% nbgrader={"grade": false, "grade_id": "real-minilm", "locked": true, "schema_version": 3, "solution": false, "task": false}
import time

from course.demo import ready
from reference_impl.corpora import load


def your_norm(norm, x: Float[Tensor, "B T C"]) -> Float[Tensor, "B T C"]:
    """A norm of the model by your `layer_norm`."""
    return layer_norm(x, norm.weight.detach(), norm.bias.detach(), norm.eps)


def your_attention(layer, x: Float[Tensor, "B T C"], lengths: Int[Tensor, "B"]) -> Float[Tensor, "B T C"]:
    """A layer of MiniLM by your `attention` and `masks`, for a batch with padding."""
    q, k, v = (one(x).unflatten(-1, (layer.num_heads, -1)).transpose(1, 2) for one in (layer.query, layer.key, layer.value))
    seen = masks(lengths, 1, x.shape[1])                                  # the last place sees all words of its text ...
    seen = seen.repeat(1, 1, x.shape[1], 1)                               # ... and in an encoder every place does
    return layer.output(attention(q, k, v, seen).transpose(1, 2).flatten(2))


def with_biases(linear, heads: int, factor: float = 1.0, one: float = 0.0, joins: bool = False) -> Float[Tensor, "E E"]:
    """A matrix with a column for the bias and, for each head, a column more. one: what the head's column gives for a 1.

    joins: for the last matrix, which reads heads, the 1 of the first among them, in place of tokens.
    """
    width = linear.out_features // heads
    own = (torch.arange(heads)[:, None] * (width + 1) + torch.arange(width)).flatten()        # of the real numbers
    ones = torch.arange(heads) * (width + 1) + width                                          # of the 1s
    wide = torch.zeros(heads * (width + 1), heads * (width + 1))
    if joins:
        wide[:linear.out_features, own], wide[:linear.out_features, ones[0]] = linear.weight, linear.bias
    else:
        wide[own, :linear.in_features], wide[own, linear.in_features] = factor * linear.weight, factor * linear.bias
        wide[ones, linear.in_features] = one
    return wide


def your_heads(layer, x: Float[Tensor, "B T C"], lengths: Int[Tensor, "B"]) -> Float[Tensor, "B T C"]:
    """A layer of MiniLM by your `multi_head`, for one sentence without padding."""
    heads, width = layer.num_heads, x.shape[-1] // layer.num_heads
    wide = torch.cat([x, torch.ones(*x.shape[:2], 1), torch.zeros(*x.shape[:2], heads - 1)], -1)
    root = math.sqrt((width + 1) / width)                                 # you divide by the root of a column more
    matrices = (with_biases(layer.query, heads, root), with_biases(layer.key, heads), with_biases(layer.value, heads, one=1.0),
                with_biases(layer.output, heads, joins=True))
    return multi_head(wide, *matrices, heads)[..., :x.shape[-1]]


@torch.no_grad()
def your_layers(model, ids: Int[Tensor, "B T"], lengths: Int[Tensor, "B"], attend: Callable) -> list[Float[Tensor, "B T C"]]:
    """What every layer of MiniLM gives, the embeddings first; `attend` is one of the two above."""
    tables = model.embeddings
    x = your_norm(tables.norm, tables.word(ids) + tables.position(ids.shape[1]) + tables.segment(torch.zeros_like(ids)))
    layers = [x]
    for block in model.blocks:
        x = your_norm(block.attention_norm, x + attend(block.attention, x, lengths))
        x = your_norm(block.feed_forward_norm, x + block.feed_forward(x))
        layers.append(x)
    return layers

# %% nbgrader={"grade": false, "grade_id": "real-minilm-run", "locked": true, "schema_version": 3, "solution": false, "task": false}
SENTENCES = [                                  # put sentences of your own with bank behind these
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
    print(f"{len(rows)} sentences in {seconds:.1f} s; the largest difference from the course's MiniLM is {(layers[-1] - theirs)[words].abs().max():.0e}")
    place = [row.tokens.index("bank") for row in rows]
    print("\nhow alike is bank to that of the first sentence? (cosine, by layer)")
    for row, sentence in enumerate(SENTENCES[1:], start=1):
        alike = [torch.cosine_similarity(one[0, place[0]], one[row, place[row]], dim=0).item() for one in layers]
        print(" ".join(f"{cosine:.2f}" for cosine in alike), "", sentence[:60])

# %% nbgrader={"grade": false, "grade_id": "real-heads-run", "locked": true, "schema_version": 3, "solution": false, "task": false}
if ready(multi_head, layer_norm, needs=["minilm", "bert_tokenizer"]):
    minilm, tokenizer = load("minilm").eval(), load("bert_tokenizer")
    for sentence in SENTENCES:
        ids = torch.tensor([tokenizer.encode(sentence).ids])
        started = time.perf_counter()
        yours = your_layers(minilm, ids, torch.tensor([ids.shape[1]]), your_heads)[-1]
        seconds = time.perf_counter() - started
        with torch.no_grad():
            theirs = minilm(ids).tokens
        print(f"{ids.shape[1]:>3} tokens in {seconds:.2f} s, largest difference {(yours - theirs).abs().max():.0e}   {sentence[:60]}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "real-end", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The differences are those of float32, whose sums come out a little otherwise in another order: the course's model runs torch's fused attention, which never writes the table of scores down. There is nothing more in MiniLM than what you wrote.
# What it has learned, and how, is the next chapter.

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
# There are 2 exercises and 14 points. Plan about 39 minutes, in as many sittings as you like.
#
# | Part | Exercises | Minutes | Points |
# | --- | --- | --- | --- |
# | Look it up | 1 to 2 | 39 | 14 |
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
# - *Arguments.* Leave them as they were: return something new, which no later call changes. A tensor may be a view of a larger one, such as a transpose; `reshape` works there, `view` may not.
# - *Types.* Return the type, the dtype and the shape that the statement names; a dictionary has the named keys and no other, in any order. Right numbers in another type or dtype, or with an axis of length 1 too many or too few, lose a fifth of the exercise's points, once. So does an answer that breaks the rule before this one.
# - *Digits.* Floats are compared to four digits of each number, of a small one too; float32 has seven, so the order of your operations does not matter. Half precision, rounding, or a small number added "for safety" is wrong where it shows in these digits, and else not. Where a statement lets float64 in, the answer is float64, to nine digits.
# - *Logarithms* are natural ones.
# - *Calls.* What a call returns depends on its arguments only: on nothing that was kept from a call before, and on no chance. Calls may come in any order.
# - *Tools.* Anything in torch, numpy and Python's own library may be used, softmax included. What is withheld are the course's own layers and models, and torch's ready attention and norms where they are what you are asked to write.
# - *Sizes and time.* Every axis has at least length 1 and at most some hundred entries, unless a statement says otherwise. Loops in plain Python are fast enough: one call may take five seconds.
#
# Statements that begin with **In** promise what the arguments are like. Your function need not check that.
# You may add cells of your own anywhere: helpers, prints, plots.

# %% nbgrader={"grade": false, "grade_id": "setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
import math

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
# - A score may be anything from -10,000 to 10,000, a hidden one too, and the weights are right all the same. 0 is a score like any other.
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

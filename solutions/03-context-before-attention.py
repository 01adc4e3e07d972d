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
# # Chapter 3. Context before attention: the exercises
#
# In this notebook you write a Kneser-Ney n-gram model, an LSTM step, the parts of ELMo, a test for causal models, and additive attention.
# At the end your functions evaluate a bigram model on the King James Bible and run trained models.
#
# There are 11 exercises and 54 points. Plan about 170 minutes, in as many sittings as you like.
#
# | Part | Exercises | Minutes | Points |
# | --- | --- | --- | --- |
# | n-gram language models | 1 to 3 | 52 | 16 |
# | The LSTM | 4 to 5 | 35 | 11 |
# | ELMo | 6 to 8 | 37 | 13 |
# | Testing a causal model | 9 | 18 | 5 |
# | Additive attention | 10 | 15 | 5 |
# | In your own words | 11 | 13 | 4 |
# | Your code runs the real thing | nothing to write | 1 | 0 |
#
# **How it works.**
# 1. Read the statement, write the function in the cell below it, and run the check under that cell as often as you like.
# 2. A check's first line names the likely cause, its second a small input that fails. Stuck? Open the three hints in order; the third solves a similar problem.
# 3. Grading runs the same checks with other sizes and values.
#
# **Symbols.** $B$ sequences, $T$ positions, $V$ vocabulary size, $D$ input, $H$ cell-state and $R$ hidden-state dimensions, $L$ layers, $W$ characters, $F$ filters of width $K$.
#
# <details><summary>Fine print</summary>
#
# - *Arguments.* Leave them unchanged, and return something new: neither an argument nor a result of an earlier call. A tensor may be a view of a larger one, such as a transpose; `reshape` works there, `view` may not. Your result may be a view of something new, and may require gradients.
# - *Types.* Return the type, dtype and shape that the statement names; a dictionary has the named keys and no others, in any order. A subclass counts as its type, and an `int` may be given for a `float`, but a bool does not count as a number. Correct values in another type or dtype, with an axis of length 1 too many or too few, or with an extra key, lose a fifth of the exercise's points, once; any other shape is wrong. Breaking only *Arguments* or *Calls* costs the same fifth.
# - *Precision.* A float may be off by 0.0001 of itself. In exercises 4 to 7 and 10, where sums may cancel, it may be off by 0.000002 more; in exercise 2, which has no such sums, by 0.000000001 more. float32 has seven digits, so the order of your operations does not matter. Half precision, rounding, or a small constant "for safety" is wrong where the error exceeds this tolerance, and only there.
# - *Logarithms* are natural, in nats, unless a statement says bits.
# - *Calls.* A result depends only on the arguments: not on earlier calls, and not on chance. Calls may come in any order. Caching that cannot be observed is fine.
# - *Tools.* You may use anything in torch, numpy and the standard library. Not allowed are the course's own models and, in exercise 4, torch's ready-made LSTM in any form.
# - *Sizes and time.* Every axis has length 1 to 300, unless a statement says otherwise; the last part of the notebook has some longer ones, which the checks do not use. A call may take five seconds: plain Python loops are fast enough.
# - *Smallest sizes.* Grading always includes one sequence, one word, a matrix of one row and a vocabulary of one.
# - *Arguments are as promised.* Your function need not check what a statement promises after **In**. You may add cells anywhere: helpers, prints, plots.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
import math
from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from autograder.check import check

SENTENCES = [
    "we sat on the bank of the river .",
    "the bank of the river was muddy .",
    "the bank lends money .",
    "the bank keeps your money safe .",
]
WORDS = sorted({word for sentence in SENTENCES for word in sentence.split()})
INDEX = {word: number for number, word in enumerate(WORDS)}
TEXTS = [[INDEX[word] for word in sentence.split()] for sentence in SENTENCES]


def attempt(function, *arguments):
    """What your function answers; None, and a friendly line, while it is not written yet."""
    try:
        return function(*arguments)
    except NotImplementedError:
        print(f"{function.__name__} is not written yet. Come back to this cell when it is.")
        return None

# %% nbgrader={"grade": false, "grade_id": "progress", "locked": true, "schema_version": 3, "solution": false, "task": false}
from autograder.notebook_progress import progress

progress("03")                                 # follows your checks

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-next", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 1. n-gram language models
#
# A language model gives each possible next token a probability, from those before it.
# The oldest one counts. It is also what every newer one has to beat, and it still drafts tokens for large models today.
# The setup cell has numbered the words of four small texts, with the full stop as a word that ends them. `TEXTS` holds them as lists of numbers.

# %% [markdown] nbgrader={"grade": false, "grade_id": "bigram_counts-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 1. Bigram counts
#
# **Why.** These counts are the complete memory of a bigram model. Everything else is how to turn them into probabilities.
#
# **Difficulty** 1 of 5 · **Time** 12 minutes · **Points** 5 · **Paper** Chen and Goodman (1999), section 2
#
# A bigram model predicts a token from the one before it, its *context*. With $\#(a\,b)$ for how often token $b$ follows token $a$ in a text, and the start of a text as a context of its own:
#
# $$\text{counts}[a, b] = \#(a\,b) \qquad \text{counts}[V, b] = \text{number of texts that begin with } b$$
#
# Write `bigram_counts(texts, vocab_size)`. `texts` is a list of lists of token ids, and $V$ is `vocab_size`. The result is float32 `(V + 1, V)`: a row per context, the **last** for the start of a text, and a column per next token.
#
# **By hand.** The texts `[0, 1, 0]` and `[1]` with `vocab_size` 2:
#
# | context | 0 | 1 |
# | --- | --- | --- |
# | 0 | 0 | 1 |
# | 1 | 1 | 0 |
# | start | 1 | 1 |
#
# **Rules**
# 1. Every token of every text is counted once, so the table sums to the number of all tokens.
# 2. Texts are independent: the last token of one is not the context of the first token of the next.
# 3. Nothing is added at the end of a text. An end token, if wanted, is part of the text, as in `TEXTS`.
#
# <details><summary>Hint 1: a nudge</summary>
#
# A text of n tokens adds n to the table, not n - 1. Which of them has a context that is not in the text?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Put the index of the last row in front of a copy of the text. Then each token follows its context: iterate over both in parallel.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# A museum counts how visitors go from room to room. Everybody comes in from the street, which has a row of its own, the first.
#
# ```python
# def steps(visits, rooms):                     # visits: {"Ada": [2, 0, 2]}
#     table = torch.zeros(1 + rooms, rooms)
#     for path in visits.values():
#         here = 0                              # the street
#         for room in path:
#             table[here, room] += 1
#             here = room + 1                   # room r has row r + 1
#     return table
# ```
#
# `steps({"Ada": [1, 0], "Bo": [1]}, 2)` has a 2 in the row of the street and a 1 in the row of room 1.
#
# </details>
# <details><summary>Fine print</summary>
#
# `texts` has at most 300 lists of ids from 0 to `vocab_size` - 1. A text has up to 3,000 tokens, all texts together up to 30,000, and not every id needs to occur. `vocab_size` is from 1 to 300. A text may be empty and adds nothing; a text of one token adds to the last row only; a text that occurs twice counts twice. There may be no text at all: then the table is all zeros. A token may follow itself, and a count may reach thousands. (The last part of the notebook counts one text of 1.3 million tokens with $V$ = 1,024; the checks do not.)
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "bigram_counts", "locked": false, "schema_version": 3, "solution": true, "task": false}
def bigram_counts(texts: list[list[int]], vocab_size: int) -> Float[Tensor, "V+1 V"]:
    """How often each token (column) stands after each (row); the last row is the start of a text."""
    ### BEGIN SOLUTION
    counts = torch.zeros(vocab_size + 1, vocab_size)
    for text in texts:
        for before, after in zip([vocab_size, *text], text):
            counts[before, after] += 1
    return counts
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "bigram_counts-check", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check(bigram_counts)

# %% [markdown] nbgrader={"grade": false, "grade_id": "bigram_counts-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# What may come after *the*, and after *bank*? Divide a row by its sum and you have a language model. "the bank lends money ." then has the probability 3/4 · 2/3 · 1/4 · 1 · 1/2 = 1/16.

# %% nbgrader={"grade": false, "grade_id": "look-bigram_counts", "locked": true, "schema_version": 3, "solution": false, "task": false}
table = attempt(bigram_counts, TEXTS, len(WORDS))
if table is not None:
    for word in ("the", "bank", "lends"):
        row = table[INDEX[word]]
        print(f"{word:<6}", ", ".join(f"{after} {int(row[INDEX[after]])} of {int(row.sum())}" for after in WORDS if row[INDEX[after]]))
    path = [len(WORDS), *(INDEX[word] for word in "the bank lends money .".split())]
    print("the bank lends money .", math.prod(float(table[a, b] / table[a].sum()) for a, b in zip(path, path[1:])))

# %% [markdown] nbgrader={"grade": false, "grade_id": "kneser_ney-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 2. Kneser-Ney smoothing
#
# **Why.** One unseen bigram makes a whole text impossible. Kneser-Ney is the best known remedy for models that count; for years no neural network was better.
#
# **Difficulty** 4 of 5 · **Time** 25 minutes · **Points** 7 · **Paper** Kneser and Ney (1995); in the interpolated form of Chen and Goodman (1999), section 2.7, with one discount
#
# `counts` is a table as in exercise 1. Let $d$ be the discount. **Step 1** makes a distribution of the tokens alone, from the number $n(v)$ of *different contexts* in which token $v$ was seen (rows in which column $v$ is above 0). With $S = \sum_v n(v)$ and $K$ the number of tokens with $n(v) > 0$:
#
# $$p(v) = \frac{\max(n(v) - d, 0)}{S} + \frac{d \cdot K}{S} \cdot \frac{1}{V}$$
#
# **Step 2** does the same for each context $r$ with its counts $c(r, v)$, their sum $T(r)$ and the number $K(r)$ of different tokens seen after it. The freed probability mass goes to $p$:
#
# $$p(v \mid r) = \frac{\max(c(r, v) - d, 0)}{T(r)} + \frac{d \cdot K(r)}{T(r)} \cdot p(v)$$
#
# Write `kneser_ney(counts, discount)`. `counts` is float32 `(C, V)`, `discount` a float. The result is float32 `(C, V)`, and each row sums to 1.
#
# **By hand**, with discount 1/2:
#
# | | a | b | c | z |
# | --- | --- | --- | --- | --- |
# | after a | 0 | 3 | 1 | 0 |
# | after b | 2 | 0 | 2 | 0 |
# | after z | 0 | 0 | 0 | 0 |
# | $n$ | 1 | 1 | 2 | 0 |
# | $p$ | 7/32 | 7/32 | 15/32 | 3/32 |
# | after a: $p$ | 7/128 | 87/128 | 31/128 | 3/128 |
#
# Step 1: $S = 4$ and $K = 3$, so 3/8 is freed, and each token gets a quarter of it, 3/32. Step 2: $T = 4$ and $K = 2$, so a quarter is freed. *b* gets 2.5/4 + 7/128.
#
# **Rules**
# 1. A context without counts uses $p$ of step 1. If the whole table is 0, every row is uniform, $1 / V$.
# 2. A count of 0 is not discounted. A count that the discount reduces to 0 still counts as a token that was seen.
# 3. The start of a text is a context like any other, for $n(v)$ as well.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Add up what was subtracted in a row: `discount` for each token that was seen there. Is that what you give back? Then the row sums to 1.
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Both steps are one function of a table of counts and a simpler distribution; step 1 calls it with the one row `(counts > 0).sum(0)`. `keepdim=True` keeps the row sums in a shape that broadcasts. Choose with `torch.where` what empty rows get.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# Villages vote. From every party that has votes in a village, 10 votes are taken; the village gives them to the parties in proportion to their votes in the whole country. A village in which nobody voted takes the country's proportions.
#
# ```python
# def shares(votes, country):                             # (villages, parties), (parties,)
#     total = votes.sum(1, keepdim=True)                  # (villages, 1)
#     taken = votes.clamp(max=10.0)
#     given = taken.sum(1, keepdim=True) * country
#     return torch.where(total > 0, (votes - taken + given) / total, country)
# ```
#
# `shares(torch.tensor([[30.0, 10.0], [0.0, 0.0]]), torch.tensor([0.5, 0.5]))` is 0.75 and 0.25 in the first village.
#
# </details>
# <details><summary>Fine print</summary>
#
# Counts are whole numbers from 0 to a million, at most ten million in all; `discount` is from 0.01 to 1. With discount 1, a count of 1 becomes 0. There may be any number of rows and columns, also one.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "kneser_ney", "locked": false, "schema_version": 3, "solution": true, "task": false}
def kneser_ney(counts: Float[Tensor, "C V"], discount: float) -> Float[Tensor, "C V"]:
    """The probability of each token (column) after each context (row), by interpolated Kneser-Ney with one discount."""
    ### BEGIN SOLUTION
    contexts = (counts > 0).sum(0, keepdim=True)                                       # (1, V)
    shares = torch.full((1, counts.shape[1]), 1 / counts.shape[1])
    for number in (contexts, counts):
        total = number.sum(1, keepdim=True)
        saved = discount * (number > 0).sum(1, keepdim=True)
        mixed = ((number - discount).clamp(min=0) + saved * shares) / total
        shares = torch.where(total > 0, mixed, shares)
    return shares
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "kneser_ney-check", "locked": true, "points": 7, "schema_version": 3, "solution": false, "task": false}
check(kneser_ney)

# %% [markdown] nbgrader={"grade": false, "grade_id": "kneser_ney-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# In the four texts *bank* occurs four times, always after *the*; *money* occurs twice, after two different words. After *safe* neither was ever seen. By the plain counts *bank* should be twice as likely there.

# %% nbgrader={"grade": false, "grade_id": "look-kneser_ney", "locked": true, "schema_version": 3, "solution": false, "task": false}
table = attempt(bigram_counts, TEXTS, len(WORDS))
smooth = None if table is None else attempt(kneser_ney, table, 0.5)
if smooth is not None:
    for word in ("bank", "money"):
        print(f"{word:<6} occurs {int(table[:, INDEX[word]].sum())} times; after 'safe' it has {smooth[INDEX['safe'], INDEX[word]]:.4f}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "judge-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 3. Perplexity and bits per byte
#
# **Why.** Language models are compared by these numbers, and each has been published wrong, by the very mistakes that this exercise tests.
#
# **Difficulty** 2 of 5 · **Time** 15 minutes · **Points** 4 · **Paper** Jelinek et al. (1977) for perplexity; Gao et al. (2020), section 3.1, for bits per byte
#
# A model has read a padded batch of texts. At each position, `log_probs` is the natural logarithm of the probability that it gave to the actual token. Let $N$ be the number of tokens and $L$ the sum of $-\ln p$ over all of them, in all texts together:
#
# $$\text{nats per token} = \frac{L}{N} \qquad \text{perplexity} = e^{L / N} \qquad \text{bits per byte} = \frac{L}{\ln 2 \cdot \text{num\_bytes}}$$
#
# Write `judge(log_probs, mask, num_bytes)`. `log_probs` is float32 `(B, T)`; `mask` is bool `(B, T)`, True where there is a token; `num_bytes` is an int, the length of all texts in bytes. The result is a dictionary of three floats, `"nats_per_token"`, `"perplexity"` and `"bits_per_byte"`.
#
# **By hand.** Two texts, with the probabilities 1/4, 1/2 and 1/8, no token. In bits that is 2 + 1 + 3 = 6. So $L = 6 \ln 2 = 4.159$ and $N = 3$: 1.386 nats per token, perplexity **4**. With 12 bytes it is **0.5** bits per byte.
#
# **Rules**
# 1. Each token counts equally, whether its text is long or short.
# 2. Padding plays no part, whatever `log_probs` is there: any number, minus infinity or NaN.
# 3. A token may have had probability 0, so that its `log_probs` is minus infinity. Then all three results are `math.inf`.
#
# <details><summary>Hint 1: a nudge</summary>
#
# The mean of the means of two texts is not the mean of all their tokens. And the mean of $e^x$ is not $e$ to the mean of $x$. In which order does the statement go?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# `log_probs[mask]` holds the tokens alone. Multiplying by the mask is another way, with a trap: what is 0 times minus infinity?
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# A runner's stages: minutes for each kilometre, day by day, with days of rest marked. The mean pace is over kilometres, the speed comes from the mean.
#
# ```python
# def pace(minutes, ran, water):                # (days, km), (days, km), litres
#     total = minutes[ran].sum().item()
#     mean = total / int(ran.sum())
#     return {"minutes_per_km": mean, "km_per_hour": 60 / mean, "hours_per_litre": total / 60 / water}
# ```
#
# `pace(torch.tensor([[5.0, 7.0], [6.0, 99.0]]), torch.tensor([[True, True], [True, False]]), 3)` has 6 minutes for a kilometre, 10 km an hour, and 0.1 hours per litre.
#
# </details>
# <details><summary>Fine print</summary>
#
# `log_probs` is at most 0 where there are tokens. Padding may be anywhere in a row. A text may have no token; in all there is at least one. Unless a probability is 0, $L / N$ is at most 80, though a single $-\ln p$ may be far larger. `num_bytes` is at least 1.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "judge", "locked": false, "schema_version": 3, "solution": true, "task": false}
def judge(log_probs: Float[Tensor, "B T"], mask: Bool[Tensor, "B T"], num_bytes: int) -> dict[str, float]:
    """Nats per token, perplexity and bits per byte of all tokens where `mask` is True."""
    ### BEGIN SOLUTION
    nats = -log_probs[mask].double().sum().item()
    mean = nats / int(mask.sum())
    return {"nats_per_token": mean, "perplexity": math.exp(mean), "bits_per_byte": nats / math.log(2) / num_bytes}
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "judge-check", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(judge)

# %% [markdown] nbgrader={"grade": false, "grade_id": "judge-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Three models judge "the bank lends money .": plain counts, Kneser-Ney, and a die. A text with an unseen bigram shows what smoothing is for.

# %% nbgrader={"grade": false, "grade_id": "look-judge", "locked": true, "schema_version": 3, "solution": false, "task": false}
table = attempt(bigram_counts, TEXTS, len(WORDS))
smooth = None if table is None else attempt(kneser_ney, table, 0.5)
if smooth is not None:
    models = {"counts": table / table.sum(1, keepdim=True), "Kneser-Ney": smooth, "a die": torch.full_like(smooth, 1 / len(WORDS))}
    for text in ("the bank lends money .", "the river lends money ."):
        ids = torch.tensor([INDEX[word] for word in text.split()])
        before = torch.cat([torch.tensor([len(WORDS)]), ids[:-1]])
        for name, shares in models.items():
            found = attempt(judge, shares[before, ids].log()[None], torch.ones(1, len(ids), dtype=torch.bool), len(text))
            if found is not None:
                print(f"{text:<24} {name:<11}", ", ".join(f"{value:.2f} {key.replace('_', ' ')}" for key, value in found.items()))

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-state", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 2. The LSTM
#
# A bigram model forgets all but the last token. An LSTM carries a hidden state and a cell state from token to token, and three gates decide what is kept, added and passed on.

# %% [markdown] nbgrader={"grade": false, "grade_id": "lstm_step-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 4. One step of an LSTM
#
# **Why.** From 1997 to 2017, most text that a neural network read went through this step. ELMo is made of it, and its gates are back in today's state-space models.
#
# **Difficulty** 3 of 5 · **Time** 20 minutes · **Points** 6 · **Paper** Hochreiter and Schmidhuber (1997), section 4; Gers, Schmidhuber and Cummins (2000), section 3, for the forget gate
#
# A step reads the input $x$ of one token for each sequence of a batch, the previous hidden state $h$ and the previous cell state $c$. One matrix product makes four blocks of $H$ pre-activations, $x\, W_x^\top + h\, W_h^\top + b$, in **this order**, which is torch's:
#
# | block | name | activation | role |
# | --- | --- | --- | --- |
# | 1 | $i$, input gate | sigmoid | how much of the candidate is added |
# | 2 | $f$, forget gate | sigmoid | how much of the old cell state is kept |
# | 3 | $g$, candidate cell state | tanh | what may be added |
# | 4 | $o$, output gate | sigmoid | how much of the new cell state becomes the hidden state |
#
# $$c_\text{new} = f \odot c + i \odot g \qquad h_\text{new} = o \odot \tanh(c_\text{new})$$
#
# Write `lstm_step(x, h, c, w_x, w_h, b)`. All are float32: `x` is `(B, D)`, `h` is `(B, R)`, `c` is `(B, H)`, `w_x` is `(4H, D)`, `w_h` is `(4H, R)` and `b` is `(4H)`. The result is a dictionary of six float32 tensors `(B, H)`: `"i"`, `"f"`, `"g"` and `"o"` after their activations, and the new `"c"` and `"h"`.
#
# **By hand.** One sequence, $H = 1$, all weights 0, $b = (0, \ln 3, \tfrac12 \ln 3, \ln 3)$ and $c = 2$. Then $i = 1/2$, $f = 3/4$, $g = 1/2$ and $o = 3/4$. The new $c$ is $3/2 + 1/4 =$ **7/4**, and $h = \tfrac34 \tanh \tfrac74 =$ **0.706**.
#
# **Rules**
# 1. `h` may have another dimension $R$ than `c`. In a plain LSTM $R = H$; ELMo projects $h$ to fewer dimensions between two steps. Your new `h` has the dimension of `c`.
# 2. Pre-activations and `c` may be as large as 400, of either sign, and all six results must be finite.
# 3. Each sequence of the batch is independent of the others.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Which of the two previous states, `h` and `c`, is multiplied by a matrix, and which only by a gate?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# `chunk(4, dim=-1)` splits the sum into the four blocks. Compute the new `c` before `h`, which depends on the *new* one. `torch.sigmoid` stays finite where `exp(x) / (1 + exp(x))` does not.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# A water butt with two taps. How far each is open is decided by the weather, by one matrix; the level then follows.
#
# ```python
# def butt(weather, level, w, b):                       # (B, 2), (B, 1), (2, 2), (2,)
#     drain, fill = (weather @ w.T + b).chunk(2, dim=-1)
#     drain, fill = drain.sigmoid(), fill.sigmoid()
#     level = (1 - drain) * level + 10 * fill
#     return {"drain": drain, "fill": fill, "level": level, "seen": level.clamp(max=50)}
# ```
#
# With all weights 0 and a level of 8, half drains and half of 10 comes in: 9.
#
# </details>
# <details><summary>Fine print</summary>
#
# A gate has the usual precision wherever its pre-activation is above -30 (below, 0 is as good), and $g$ has it however small it is: no absolute tolerance is added to these.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "lstm_step", "locked": false, "schema_version": 3, "solution": true, "task": false}
def lstm_step(x: Float[Tensor, "B D"], h: Float[Tensor, "B R"], c: Float[Tensor, "B H"], w_x: Float[Tensor, "4H D"],
              w_h: Float[Tensor, "4H R"], b: Float[Tensor, "4H"]) -> dict[str, Float[Tensor, "B H"]]:
    """One step of an LSTM: its gates i, f and o, its candidate g, and the new c and h."""
    ### BEGIN SOLUTION
    i, f, g, o = (x @ w_x.T + h @ w_h.T + b).chunk(4, dim=-1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    kept = f * c + i * g
    return {"i": i, "f": f, "g": g, "o": o, "c": kept, "h": o * kept.tanh()}
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "lstm_step-check", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
check(lstm_step)

# %% [markdown] nbgrader={"grade": false, "grade_id": "lstm_step-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# How long does a cell state last? With the forget gate at 0.9 and the input gate at 0, see what is left of a 1 after ten words. And with 0.99?

# %% nbgrader={"grade": false, "grade_id": "look-lstm_step", "locked": true, "schema_version": 3, "solution": false, "task": false}
for gate in (0.5, 0.9, 0.99):
    b = torch.tensor([0.0, math.log(gate / (1 - gate)), 0.0, 0.0])
    kept = torch.ones(1, 1)
    for _ in range(10):
        step = attempt(lstm_step, torch.zeros(1, 1), torch.zeros(1, 1), kept, torch.zeros(4, 1), torch.zeros(4, 1), b)
        if step is None:
            break
        kept = step["c"]
    else:
        print(f"forget gate {gate}: {kept.item():.3f} of 1 is left after ten words")

# %% [markdown] nbgrader={"grade": false, "grade_id": "read_backward-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 5. Find the wrong line: a backward LSTM
#
# **Why.** In "the bank of the river" the clue follows *bank*, so a backward language model starts at the end. In a padded batch, the end of a text is not the end of the tensor, and that is where code goes wrong without an error.
#
# **Difficulty** 3 of 5 · **Time** 15 minutes · **Points** 5 (1 for the line, 4 for the function) · **Paper** Peters et al. (2018), section 3.1
#
# `step(inputs, state)` is any recurrent cell: from the vectors of one token for some sequences and their states, it computes their next states. `read_backward` runs it over each text from the last token to the first and returns, at every position, the state after that token was read. With $m_t$ for the mask at position $t$:
#
# $$h_t = \begin{cases} \text{step}(x_t, h_{t+1}) & \text{if } m_t \\ h_{t+1} & \text{otherwise} \end{cases} \qquad \text{output}_t = \begin{cases} h_t & \text{if } m_t \\ 0 & \text{otherwise} \end{cases}$$
#
# The first token that is read meets the state in `start`. The function below runs without an error, and **exactly one** of its seven numbered lines is wrong: changing that line alone repairs it.
#
# ```python
# def read_backward(step, x, mask, start):                      # (B, T, D), (B, T), (B, H)
#     x, here = x.flip(1), mask.flip(1).unsqueeze(-1)           # line 1   (B, T, D), (B, T, 1)
#     state, shown = start, []                                  # line 2   (B, H)
#     for place in range(x.shape[1]):                           # line 3
#         new = step(x[:, place], state)                        # line 4   (B, H)
#         state = new * here[:, place]                          # line 5   (B, H)
#         shown.append(state * here[:, place])                  # line 6   (B, H)
#     return torch.stack(shown, dim=1).flip(1)                  # line 7   (B, T, H)
# ```
#
# Write two functions. `read_backward(step, x, mask, start)` is the repaired one, corrected or written from scratch. `x` is float32 `(B, T, D)`, `mask` is bool `(B, T)`, True for tokens, and `start` is float32 `(B, H)`; the result is float32 `(B, T, H)`. `wrong_line()` returns the number of the wrong line, an int. Each is graded by itself.
#
# **By hand.** Let $D = H = 1$ and the new state be half the old one plus the input. The text is 4, 2 and one position of padding, the start is 8. From the right: padding, the state stays 8; then 2 gives 8/2 + 2 = 6; then 4 gives 6/2 + 4 = 7. The output is **7, 6, 0**. Trace the code with that and a pencil.
#
# **Rules**
# 1. The state passes **unchanged** across padding, and the output there is zeros.
# 2. Padding may follow a text, precede it or be inside it. `start` need not be zeros.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Rows without padding come out right. So the wrong line matters only at padded positions.
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Trace the case by hand through lines 1 to 7 and write down `state` after each round. Which is the first line after which it differs from what the statement promises?
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# A thermometer is read each hour. When it is broken, the display keeps the last number; the log gets a 0.
#
# ```python
# def display(degrees, works, last):                   # (hours,), (hours,), a number
#     log = []
#     for degree, good in zip(degrees, works):
#         last = torch.where(good, degree, last)       # the old number where it is broken
#         log.append(torch.where(good, last, torch.tensor(0.0)))
#     return torch.stack(log), last
# ```
#
# For the hours 20, broken, 22 the log is 20, 0, 22, and in the broken hour the display shows 20.
#
# </details>
# <details><summary>Fine print</summary>
#
# `step` takes `(n, D)` and `(n, H)` and returns `(n, H)`, for any number of sequences from 1 on, each independent of the others. What it returns is new, float32 and finite, also for padding, where it means nothing; it keeps nothing between calls. `x` is finite, with any such numbers in the padding. A row may be all padding: its output is zeros.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "read_backward", "locked": false, "schema_version": 3, "solution": true, "task": false}
def wrong_line() -> int:
    """The number, 1 to 7, of the line that is wrong."""
    ### BEGIN SOLUTION
    return 5
    ### END SOLUTION


def read_backward(step: Callable[[Tensor, Tensor], Tensor], x: Float[Tensor, "B T D"], mask: Bool[Tensor, "B T"],
                  start: Float[Tensor, "B H"]) -> Float[Tensor, "B T H"]:
    """The function of the statement, with the wrong line repaired."""
    ### BEGIN SOLUTION
    x, here = x.flip(1), mask.flip(1).unsqueeze(-1)           # (B, T, D), (B, T, 1)
    state, shown = start, []                                  # (B, H)
    for place in range(x.shape[1]):
        new = step(x[:, place], state)                        # (B, H)
        state = torch.where(here[:, place], new, state)       # (B, H)
        shown.append(state * here[:, place])                  # (B, H)
    return torch.stack(shown, dim=1).flip(1)                  # (B, T, H)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "read_backward-check", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check(read_backward)

# %% [markdown] nbgrader={"grade": false, "grade_id": "read_backward-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# One text, alone and in a batch with a longer one. A correct function gives it the same states both times.

# %% nbgrader={"grade": false, "grade_id": "look-read_backward", "locked": true, "schema_version": 3, "solution": false, "task": false}
def halve_and_add(inputs, state):
    return state / 2 + inputs


alone = attempt(read_backward, halve_and_add, torch.tensor([[[4.0], [2.0]]]), torch.tensor([[True, True]]), torch.tensor([[8.0]]))
beside = attempt(read_backward, halve_and_add, torch.tensor([[[4.0], [2.0], [0.0], [0.0]], [[1.0], [1.0], [1.0], [1.0]]]),
                 torch.tensor([[True, True, False, False], [True] * 4]), torch.tensor([[8.0], [8.0]]))
if alone is not None and beside is not None:
    print("alone: ", alone[0, :, 0].tolist())
    print("beside:", beside[0, :, 0].tolist())

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-elmo", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 3. ELMo
#
# ELMo has three parts: a character encoder for each word, a stack of LSTMs in each direction, and a scalar mix of all layers. It is trained as a forward and a backward language model.

# %% [markdown] nbgrader={"grade": false, "grade_id": "letter_patterns-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 6. Character filters
#
# **Why.** A table of word vectors has no entry for *unbanked*. Filters over characters give every word a vector, including words that training never contained.
#
# **Difficulty** 3 of 5 · **Time** 15 minutes · **Points** 5 · **Paper** Kim et al. (2016), section 2.2 (their tanh is a ReLU in ELMo: Peters et al. 2018, section 3.4)
#
# A word has an embedding $e_w \in \mathbb{R}^D$ for each of its $W$ characters. A **filter** $f$ of width $K$ is a small matrix, slid over the word: at each of the $W - K + 1$ positions where it fits, it is multiplied elementwise with $K$ adjacent embeddings, and the products are summed. Max-pooling keeps the largest score, and the bias $\beta_f$ and a ReLU follow:
#
# $$\phi_f = \mathrm{ReLU}\Big(\max_{s} \sum_{k=1}^{K} \sum_{d=1}^{D} \text{filters}_{f k d}\; e_{s+k,\, d} \; + \; \beta_f\Big), \qquad 0 \le s \le W - K$$
#
# Write `letter_patterns(letters, filters, bias)`. All are float32: `letters` is `(W, D)`, `filters` is `(F, K, D)`, `bias` is `(F)`. The result is float32 `(F)`.
#
# **By hand.** Let $D = 1$ and a word have the characters 2, 1, 3, 0. The filter (1, -1) with bias 0.5 scores 2 - 1 = 1, then 1 - 3 = -2, then 3 - 0 = 3. The largest is 3, so the result is **3.5**. The filter (-1, -1) with bias 1 scores -3, -4, -3: -3 + 1 is below 0, so its result is **0**.
#
# **Rules**
# 1. The first row of a filter meets the earlier character: filters are not flipped. Words are not padded.
# 2. A filter may be as wide as the word, which leaves one position, or have width 1.
# 3. Each filter is independent and has its own bias.
#
# <details><summary>Hint 1: a nudge</summary>
#
# For one filter at one position it is an elementwise product of two matrices of the same shape, and a sum. How many positions has a filter of width 2 in a word of 4 letters?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# `letters[place:place + K]` is $(K, D)$ and multiplies with all filters at once, $(F, K, D)$. Sum over the last two axes, stack the positions, take the maximum over them. Then bias, then ReLU.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# The rainiest stretch of `days` days in a year, for each town, in units above what is usual there:
#
# ```python
# def rainiest(rain, usual, days):                      # (365, towns), (towns,)
#     stretches = [rain[first:first + days].sum(0) for first in range(len(rain) - days + 1)]
#     return (torch.stack(stretches).amax(0) - usual).clamp(min=0)
# ```
#
# For the rain 1, 4, 2 of one town, stretches of two days and 5 as usual, it is 6 - 5 = 1.
#
# </details>
# <details><summary>Fine print</summary>
#
# $K$ is at most $W$. If the largest score occurs at several positions, it counts once.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "letter_patterns", "locked": false, "schema_version": 3, "solution": true, "task": false}
def letter_patterns(letters: Float[Tensor, "W D"], filters: Float[Tensor, "F K D"],
                    bias: Float[Tensor, "F"]) -> Float[Tensor, "F"]:
    """For each filter, the ReLU of its largest score over all positions plus its bias."""
    ### BEGIN SOLUTION
    width = filters.shape[1]
    scores = [(letters[place:place + width] * filters).sum((1, 2)) for place in range(len(letters) - width + 1)]
    return (torch.stack(scores).amax(0) + bias).relu()
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "letter_patterns-check", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check(letter_patterns)

# %% [markdown] nbgrader={"grade": false, "grade_id": "letter_patterns-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Three filters that respond to *ban*, to *ing* and to *k*. A word that training never contained still has a vector.

# %% nbgrader={"grade": false, "grade_id": "look-letter_patterns", "locked": true, "schema_version": 3, "solution": false, "task": false}
letters = torch.eye(26)


def spelled(word):
    return letters[[ord(letter) - ord("a") for letter in word]]


for pattern in ("ban", "ing", "k"):
    found = {word: attempt(letter_patterns, spelled(word), spelled(pattern)[None], torch.tensor([1.0 - len(pattern)]))
             for word in ("bank", "banking", "unbanked", "lending")}
    if None not in found.values():
        print(f"{pattern:<4}", ", ".join(f"{word} {value.item():g}" for word, value in found.items()))

# %% [markdown] nbgrader={"grade": false, "grade_id": "mix_layers-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 7. The scalar mix
#
# **Why.** The lower layers of a language model contain more syntax, the upper ones more meaning. A task that uses ELMo learns how much of each it wants.
#
# **Difficulty** 2 of 5 · **Time** 10 minutes · **Points** 4 · **Paper** Peters et al. (2018), equation 1
#
# A text has a vector $h_{j,t}$ at each of $T$ positions in each of $L$ layers. The task learns a weight $w_j$ for each layer and a scale $\gamma$. A softmax turns the weights into a distribution over layers:
#
# $$s_j = \frac{e^{w_j}}{\sum_k e^{w_k}} \qquad \text{mix}_t = \gamma \sum_j s_j\, h_{j,t}$$
#
# Write `mix_layers(layers, weights, gamma)`. `layers` is float32 `(L, T, C)`, `weights` float32 `(L)`, `gamma` a float. The result is float32 `(T, C)`.
#
# **By hand.** Weights $(0, \ln 2, \ln 5)$ become 1/8, 1/4 and 5/8. Layers with 8, 4 and 0 at some position mix to 1 + 1 + 0 = **2**; with $\gamma = 3$ it is **6**.
#
# **Rules**
# 1. The same layer weights apply at every position. Nothing but the weights is normalized.
# 2. Weights may be as large as 800, of either sign: the softmax must not overflow.
# 3. $\gamma$ multiplies the sum; it may be any number, also 0 or negative.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Over which axis of `layers` is the sum, and over which axis of `weights` the softmax?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Give the softmax two axes of length 1, so that it broadcasts over positions and dimensions, then sum over the layers. Is $\gamma$ inside the softmax or outside?
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# Three cooks score each dish of each day. Their trust is 2, 1 and 1; it is normalized by division, and the host adds a tenth for every dish.
#
# ```python
# def verdict(scores, trust, factor=1.1):              # (cooks, days, dishes), (cooks,)
#     shares = trust / trust.sum()
#     return factor * torch.einsum("k,kdp->dp", shares, scores)
# ```
#
# For the scores 4, 8 and 0 of one dish it is 1.1 · (2 + 2 + 0) = 4.4.
#
# </details>
# <details><summary>Fine print</summary>
#
# `layers` is finite. Equal weights, whatever they are, give the mean of the layers; a single layer has the weight 1.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "mix_layers", "locked": false, "schema_version": 3, "solution": true, "task": false}
def mix_layers(layers: Float[Tensor, "L T C"], weights: Float[Tensor, "L"], gamma: float) -> Float[Tensor, "T C"]:
    """The layers as one, by the softmax of the weights, times gamma."""
    ### BEGIN SOLUTION
    return gamma * (weights.softmax(0)[:, None, None] * layers).sum(0)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "mix_layers-check", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(mix_layers)

# %% [markdown] nbgrader={"grade": false, "grade_id": "mix_layers-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# A growing weight: when does the second layer reach nine tenths of the mix?

# %% nbgrader={"grade": false, "grade_id": "look-mix_layers", "locked": true, "schema_version": 3, "solution": false, "task": false}
for weight in (0.0, 1.0, 2.0, 3.0):
    mixed = attempt(mix_layers, torch.tensor([[[0.0]], [[1.0]], [[0.0]]]), torch.tensor([0.0, weight, 0.0]), 1.0)
    if mixed is not None:
        print(f"weight {weight:g}: the second layer has the weight {mixed.item():.3f}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "both_targets-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 8. Targets for both directions
#
# **Why.** ELMo trains a forward and a backward language model at once. Targets that are shifted the wrong way train a model that copies its input, with an excellent loss.
#
# **Difficulty** 2 of 5 · **Time** 12 minutes · **Points** 4 · **Paper** Peters et al. (2018), section 3.1
#
# `ids` holds one text per row, padded on the right. At each token, the forward language model predicts the next token and the backward language model the previous one:
#
# $$\text{ahead}_t = \text{ids}_{t+1} \qquad \text{behind}_t = \text{ids}_{t-1}$$
#
# Where there is no such token, the target is -100, which torch's cross-entropy ignores.
#
# Write `both_targets(ids, mask)`. `ids` is int64 `(B, T)`; `mask` is bool `(B, T)`, True for tokens. The result is a dictionary of two int64 tensors `(B, T)`, `"ahead"` and `"behind"`.
#
# **By hand.** The texts 5, 7, 9 and 4, 6 with one position of padding:
#
# | | text 1 | text 2 |
# | --- | --- | --- |
# | ids | 5, 7, 9 | 4, 6, 0 |
# | ahead | 7, 9, -100 | 6, -100, -100 |
# | behind | -100, 5, 7 | -100, 4, -100 |
#
# **Rules**
# 1. A target is always a token: padding is never a target, and a padded position has no target, in either direction.
# 2. The first token of a text has nothing behind it, and the last has nothing ahead.
# 3. Padding may hold any id, also one that is a token elsewhere. Id 0 is a token like any other.
#
# <details><summary>Hint 1: a nudge</summary>
#
# In the example, at which position would 6 be a target without the mask, where the table has -100?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Start with two tensors full of -100. Write `ids[:, 1:]` into the right columns of one and `ids[:, :-1]` into those of the other, only where *both* neighbours are tokens. `roll` moves the last column to the front.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# Houses of a street, some not built yet. For each house, how much higher its right neighbour is; None is written as NaN.
#
# ```python
# def climbs(heights, built):                                   # (streets, houses) both
#     answer = torch.full_like(heights, torch.nan)
#     both = built[:, :-1] & built[:, 1:]
#     answer[:, :-1] = torch.where(both, heights[:, 1:] - heights[:, :-1], torch.nan)
#     return answer
# ```
#
# For the heights 3, 5, 4 of a street whose third house is missing it is 2, NaN, NaN.
#
# </details>
# <details><summary>Fine print</summary>
#
# Token ids are at least 0, and may be larger than 32 bits hold. Each row of `mask` is True for the tokens and then False to the end. A text may have one token, or none: then it has only -100. There may be one column.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "both_targets", "locked": false, "schema_version": 3, "solution": true, "task": false}
def both_targets(ids: Int[Tensor, "B T"], mask: Bool[Tensor, "B T"]) -> dict[str, Int[Tensor, "B T"]]:
    """The word after each word and the word before it; -100 where there is none."""
    ### BEGIN SOLUTION
    both = mask[:, :-1] & mask[:, 1:]                         # (B, T - 1)
    none = torch.full((len(ids), 1), -100)
    ahead = torch.where(both, ids[:, 1:], -100)
    behind = torch.where(both, ids[:, :-1], -100)
    return {"ahead": torch.cat([ahead, none], 1), "behind": torch.cat([none, behind], 1)}
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "both_targets-check", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(both_targets)

# %% [markdown] nbgrader={"grade": false, "grade_id": "both_targets-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# One of the two course sentences, with both targets of each word.

# %% nbgrader={"grade": false, "grade_id": "look-both_targets", "locked": true, "schema_version": 3, "solution": false, "task": false}
words = "the bank lends money .".split()
targets = attempt(both_targets, torch.tensor([[INDEX[word] for word in words]]), torch.ones(1, len(words), dtype=torch.bool))
if targets is not None:
    for place, word in enumerate(words):
        asked = [WORDS[row[place]] if row[place] >= 0 else "-" for row in (targets["behind"][0].tolist(), targets["ahead"][0].tolist())]
        print(f"{word:<6} backward target: {asked[0]:<6} forward target: {asked[1]}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-seen", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 4. Testing a causal model

# %% [markdown] nbgrader={"grade": false, "grade_id": "test_no_peeking-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 9. Write the test: a causal model must not peek
#
# **Why.** A language model that sees the token it predicts trains to a loss near 0 and cannot generate anything. No error is raised. This test is run on causal models to this day.
#
# **Difficulty** 4 of 5 · **Time** 18 minutes · **Points** 5 · **Paper** Peters et al. (2018), section 3.1, for directions that are kept apart
#
# A forward language model maps `ids` `(B, T)` to logits `(B, T, V)`. It is **causal** if the logits at position $t$ of a sequence depend on nothing but the tokens 0 to $t$ **of that sequence**: for every change of a later token, or of another sequence,
#
# $$\text{logits}'_{b, t} = \text{logits}_{b, t} .$$
#
# Write `test_no_peeking(implementation)`. It returns None if `implementation` is causal, and fails an `assert` if it is not. Your test is run on four correct implementations and on more than a dozen wrong ones, several times and in any order. The wrong ones come in four kinds, and a kind earns its points when your test rejects all of it and accepts all four correct ones:
#
# - the *next* token is seen, at every position that has one, strongly or weakly (1 point);
# - a *distant* token is seen: three positions ahead, or the last of the text (1.5 points);
# - a later token is seen at *some* positions only, or in some of the logits only (1.5 points);
# - another *sequence* of the batch is seen: the one above, or the one below (1 point).
#
# **By hand.** Tokens 1, 2, 3. Change the last to 4: at positions 0 and 1 all logits must stay as they were; at position 2 they may change. Is that enough? A model that sees only the *second* token too early passes.
#
# **Rules**
# 1. Ids are from 0 to `VOCAB` - 1, and $V$ is `VOCAB`. Use a $B$ from 1 to 8 and a $T$ from 1 to 12; a correct implementation may refuse anything else.
# 2. A correct model need not be good: it may ignore all tokens but the one at $t$, or their order. What it makes of tokens 0 to $t$ is not yours to judge.
# 3. Called twice, it may differ in the last digits: compare with an absolute tolerance of about 0.0001. A wrong one moves by more than 0.01 in at least one logit.
# 4. Fail with `assert`, or with what raises an AssertionError, such as `torch.testing.assert_close`.
# 5. A test that rejects a correct implementation earns nothing: everybody would switch it off.
#
# <details><summary>Hint 1: a nudge</summary>
#
# For each of the four kinds: which token would you change, and which logits would you compare? A test that changes one token at one position covers very little.
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Two rows of eight tokens. For every row and every position: change that token in a copy, call again, and compare all logits of all rows, except those of the same row from that position on. There nothing is promised.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# A test for a function that gives the running sums of each row. An entry must not depend on what comes later.
#
# ```python
# def test_running(candidate):
#     numbers = torch.tensor([[1.0, 2.0, 3.0]])
#     before = candidate(numbers)
#     for place in range(3):
#         other = numbers.clone()                       # the argument of the call before stays as it was
#         other[0, place] += 5.0
#         assert torch.allclose(candidate(other)[:, :place], before[:, :place], atol=1e-4), f"number {place} is seen early"
# ```
#
# </details>
# <details><summary>Fine print</summary>
#
# Ids are int64. No implementation changes its `ids`, or what it returned before; each may be called with a part of a text, or with one row alone. The logits of a correct one are between -10 and 10, those of a wrong one may be some hundred. A wrong one moves wherever it sees a token that it should not, whichever token replaces it, and it shows this in any two rows of eight tokens, whatever they are. It also has the right shape and dtype (float32), its logits are finite, and what it returns has no gradient. Any exception other than an AssertionError means that your test is broken, and earns nothing. Returning False instead of failing an `assert` costs a fifth, once; any other value that is returned is ignored. Call the implementation some hundred times at most: one run of your test may take five seconds. Tokens may be drawn at random, if the result of your test never depends on the draw.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "setup-vocab", "locked": true, "schema_version": 3, "solution": false, "task": false}
VOCAB = 11        # words, numbered from 0, in exercise 9

# %% nbgrader={"grade": false, "grade_id": "test_no_peeking", "locked": false, "schema_version": 3, "solution": true, "task": false}
def test_no_peeking(implementation: Callable[[Int[Tensor, "B T"]], Float[Tensor, "B T V"]]) -> None:
    """Fail an assert if logits of `implementation(ids)` depend on a later word or on another row."""
    ### BEGIN SOLUTION
    ids = torch.arange(16).reshape(2, 8) * 3 % VOCAB
    before = implementation(ids)
    for row in range(2):
        for t in range(8):
            other = ids.clone()
            other[row, t] = (other[row, t] + 1) % VOCAB
            after = implementation(other)
            after[row, t:] = before[row, t:]          # what may change is taken as it was
            assert torch.allclose(after, before, atol=1e-4), f"token {t} of row {row} is seen where it must not be"
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "test_no_peeking-check", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check(test_no_peeking)

# %% [markdown] nbgrader={"grade": false, "grade_id": "test_no_peeking-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Two models for your test: the counts of exercise 1, and one that also uses the next token.

# %% nbgrader={"grade": false, "grade_id": "look-test_no_peeking", "locked": true, "schema_version": 3, "solution": false, "task": false}
table = attempt(bigram_counts, [[1, 2, 3, 1, 4, 1], [5, 1, 2]], VOCAB)
if table is not None:
    def counting(ids):
        return table[ids]

    def both_sides(ids):
        return table[ids] + table[ids.roll(-1, 1)]

    for name, model in (("counting", counting), ("both sides", both_sides)):
        try:
            attempt(test_no_peeking, model)
            print(f"{name}: your test stays silent")
        except AssertionError as complaint:
            print(f"{name}: your test complains: {complaint}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-attention", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 5. Sequence to sequence with attention

# %% [markdown] nbgrader={"grade": false, "grade_id": "additive_attention-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 10. Additive attention
#
# **Why.** A decoder that sees one vector of the source forgets long sources. With attention it reads all encoder states at every step, each by its weight. Chapter 4 builds the Transformer from this operation.
#
# **Difficulty** 3 of 5 · **Time** 15 minutes · **Points** 5 · **Paper** Bahdanau, Cho and Bengio (2015), section 3.1 and appendix A.1.2
#
# The query $q$ is the decoder's hidden state, the memory $m_1 \dots m_S$ the encoder's states. A network with one hidden layer of $A$ units scores every source position, a softmax turns the scores into attention weights, and the context is the weighted sum of the memory:
#
# $$s_j = v \cdot \tanh(W q + U m_j) \qquad a = \mathrm{softmax}(s) \qquad \text{context} = \sum_{j=1}^{S} a_j\, m_j$$
#
# Write `additive_attention(query, memory, w_query, w_memory, v, mask)`, one decoder step for $B$ sequences. `query` is float32 `(B, Q)`, `memory` float32 `(B, S, C)`. The parameters are float32: `w_query` is $W$, `(A, Q)`, `w_memory` is $U$, `(A, C)`, and `v` is `(A)`. `mask` is bool `(B, S)`, True for tokens. The result is a tuple of two float32 tensors: the context `(B, C)` and the weights `(B, S)`.
#
# **By hand.** $A = 1$ and $v = 2 \ln 3$. $Wq = \tfrac12 \ln 3$, and $U = (1, 0)$ reads the first entry of each memory vector. The third position is padding:
#
# | memory | $Wq + Um_j$ | tanh | score | $e^s$ | weight |
# | --- | --- | --- | --- | --- | --- |
# | $(-\tfrac12 \ln 3,\ 8)$ | $0$ | $0$ | $0$ | 1 | 1/4 |
# | $(0,\ 4)$ | $\tfrac12 \ln 3$ | $\tfrac12$ | $\ln 3$ | 3 | 3/4 |
# | $(5,\ 9)$ | | | | | 0 |
#
# The second entry of the context is 2 + 3 = **5**; the first is $-\tfrac18 \ln 3 =$ **-0.137**.
#
# **Rules**
# 1. Each sequence has its own query, mask and softmax; the parameters are the same for all.
# 2. A padded position has weight 0, and the weights of the tokens add up to 1. Padding may be anywhere, not only at the end.
# 3. Scores may be as large as 400, of either sign: the softmax must not overflow.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Which shape has $Wq$, and which $Um_j$ for all $j$ at once? They are to be added, so what does the first one lack?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Project the query to `(B, A)`, give it an axis of length 1 for the positions, and add the projected memory, `(B, S, A)`. After tanh, a product with `v` leaves `(B, S)`. Replace the scores of padding by minus infinity, then apply the softmax. Over which axis?
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# Each of several guests has a favourite temperature and a restaurant of their own, with tables of different temperatures, some of them taken. Everybody sits at the free table that suits best. How loud is it there?
#
# ```python
# def noise(favourite, tables, loudness, free):        # (guests,), (guests, tables) three times
#     misfit = (favourite[:, None] - tables).abs()
#     misfit = misfit.masked_fill(~free, torch.inf)    # before the choice, not after it
#     best = misfit.argmin(1, keepdim=True)
#     return loudness.gather(1, best)[:, 0]
# ```
#
# For the favourite 20 and tables of 20 (taken), 23 and 18 degrees with the loudness 1, 2 and 3 it is 3.
#
# </details>
# <details><summary>Fine print</summary>
#
# Every sequence has at least one token. Padding holds any finite numbers, and memory may hold numbers of a few thousand. $S$ is the number of source positions, $Q$ and $C$ the dimensions of a query and of a memory vector.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "additive_attention", "locked": false, "schema_version": 3, "solution": true, "task": false}
def additive_attention(query: Float[Tensor, "B Q"], memory: Float[Tensor, "B S C"], w_query: Float[Tensor, "A Q"],
                       w_memory: Float[Tensor, "A C"], v: Float[Tensor, "A"],
                       mask: Bool[Tensor, "B S"]) -> tuple[Float[Tensor, "B C"], Float[Tensor, "B S"]]:
    """The context vector of one decoder step, and the attention weights of the source positions."""
    ### BEGIN SOLUTION
    hidden = torch.tanh((query @ w_query.T)[:, None] + memory @ w_memory.T)      # (B, S, A)
    weights = (hidden @ v).masked_fill(~mask, -torch.inf).softmax(1)
    return (weights[..., None] * memory).sum(1), weights
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "additive_attention-check", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check(additive_attention)

# %% [markdown] nbgrader={"grade": false, "grade_id": "additive_attention-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Query and memory are one-hot vectors of words here. With these parameters a source position scores highest where its word is the query's: the word is looked up in the sentence, wherever it stands.

# %% nbgrader={"grade": false, "grade_id": "look-additive_attention", "locked": true, "schema_version": 3, "solution": false, "task": false}
source = "the bank lends money .".split()
memory = torch.eye(len(WORDS))[[INDEX[word] for word in source]][None]
match = 2 * torch.eye(len(WORDS))              # a hidden unit for each word: 4 where both are this word, 2 where one is
print("query     " + "".join(f"{word:>8}" for word in source))
for word in ("bank", "money", "river"):
    found = attempt(additive_attention, torch.eye(len(WORDS))[INDEX[word]][None], memory, match, match,
                    torch.full((len(WORDS),), -5.0), torch.ones(1, len(source), dtype=torch.bool))
    if found is not None:
        print(f"{word:<10}" + "".join(f"{weight:>8.0%}" for weight in found[1][0].tolist()))

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-own-words", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 6. In your own words

# %% [markdown] nbgrader={"grade": false, "grade_id": "deeply-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 11. Is ELMo deeply bidirectional?
#
# **Why.** ELMo, BERT and an LSTM with `bidirectional=True` are all called bidirectional, and the word means three things. Chapter 5 builds on the difference.
#
# **Difficulty** 3 of 5 · **Time** 13 minutes · **Points** 4, given by a person who reads it · **Paper** Peters et al. (2018), section 3.1; Devlin et al. (2019), section 1
#
# **The question.** Somebody writes: "ELMo is deeply bidirectional: in each of its layers, the vector of *bank* knows the words on both sides."
# In about 120 words: what is true in it, what is wrong, what can such a model not do for that reason, and why did its makers not simply let the two directions see each other's layers while they learned to predict words?
#
# {{rubric}}
#
# Short is fine. Correct and concrete beats long.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Take the half of the top layer that belongs to the forward language model. Which words of "the bank of the river" can change them?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Say where the two directions meet, and where not. Then find a case in which the words on the left leave two senses possible, those on the right as well, and only both together leave one. Last, recall what exercise 9 detects.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# *Two translators work on one book, so they discuss every sentence.* They do work on one book. But each translated half of it alone, and the halves were bound together at the end. Neither of them could see a pun whose first half is in chapter 1 and whose second half is in chapter 40, however good each was.
#
# </details>

# %% [markdown] nbgrader={"grade": true, "grade_id": "deeply", "locked": false, "points": 4, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# {{samples}}
# ### END SOLUTION

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-real", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Your code runs the real thing
#
# Nothing to write here. Run the cells and watch; all of it takes a minute or two.
#
# Your `bigram_counts` goes through 95 % of the King James Bible, 1.3 million tokens of a vocabulary of 1,024. Your `kneser_ney` makes a language model of the table, and your `judge` says how good it is on the other 5 %.
# It is compared with the course's `KneserNey`, from its record.

# %% nbgrader={"grade": false, "grade_id": "real-ngrams", "locked": true, "schema_version": 3, "solution": false, "task": false}
import json
import time
from itertools import pairwise

from autograder.authoring.catalogue import ROOT
from course.demo import ready
from reference_impl.corpora import load
from reference_impl.corpora.small_models import tokenizer


def in_two(text: str) -> tuple[str, str]:
    """What is counted, and what is held out: of a hundred equal pieces, cut at lines, every twentieth."""
    size = -(-len(text) // 100)
    cuts = [0, *(text.find("\n", place) + 1 or len(text) for place in range(size, len(text), size)), len(text)]
    pieces = [text[start:end] for start, end in pairwise(cuts)]
    return ("".join(piece for i, piece in enumerate(pieces) if i % 20 != 10),
            "".join(piece for i, piece in enumerate(pieces) if i % 20 == 10))


def bible_judged(text: str) -> dict[str, float]:
    """What your three functions say of a text: counted in one part, judged on the other."""
    bpe, started = tokenizer("ngram_kjv"), time.perf_counter()
    (tokens, _), (held, held_out) = ((bpe.encode(part), part) for part in in_two(text))
    print(f"{len(tokens):,} tokens to count and {len(held):,} held out, cut in {time.perf_counter() - started:.0f} s")
    started = time.perf_counter()
    counts = bigram_counts([tokens], len(bpe.vocabulary))
    once, twice = int((counts == 1).sum()), int((counts == 2).sum())
    shares = kneser_ney(counts, once / (once + 2 * twice))                 # the usual estimate of the discount
    before, after = torch.tensor([len(bpe.vocabulary), *held[:-1]]), torch.tensor(held)
    found = judge(shares[before, after].log()[None], torch.ones(1, len(held), dtype=torch.bool), len(held_out.encode()))
    print(f"{int((counts > 0).sum()):,} kinds of pairs, counted and judged in {time.perf_counter() - started:.0f} s")
    return found

# %% nbgrader={"grade": false, "grade_id": "real-ngrams-run", "locked": true, "schema_version": 3, "solution": false, "task": false}
if ready(bigram_counts, kneser_ney, judge, needs=["kjv"]):
    yours = bible_judged(load("kjv"))
    record = json.loads((ROOT / "bench" / "results" / "trained_ngrams.json").read_text(encoding="utf-8"))["bits_per_byte"]
    print(f"your pairs:              {yours['bits_per_byte']:.4f} bits per byte, perplexity {yours['perplexity']:.1f}")
    print(f"the course's pairs:      {record['pairs alone']:.4f}")
    print(f"the course's, order 3:   {record['nothing cut']:.4f}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "real-elmo-text", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The first two agree to the fourth digit: your functions are the model. The third uses two tokens of context instead of one. More context helps, until most n-grams are unseen.
#
# Now ELMo. The course trained a small one on the definitions of a dictionary and stored its 0.76 million parameters.
# Your `letter_patterns` encodes its words, your `lstm_step` is the step of its four LSTMs, and your `read_backward` runs them over the text; with the text reversed twice it runs forward as well. Your `mix_layers` mixes the layers.
# The result is compared with the course's own ELMo with the same parameters. Each line of the dictionary that has the word *bank* has a vector of its own for it, where chapter 1 had one for all.

# %% nbgrader={"grade": false, "grade_id": "real-elmo", "locked": true, "schema_version": 3, "solution": false, "task": false}
from reference_impl.corpora.small_models import small_model
from reference_impl.embeddings.vocabulary import tokenize


def your_words(model, characters: Int[Tensor, "B T W"]) -> Float[Tensor, "B T C"]:
    """A vector for each word from its letters, by your `letter_patterns`; each different word is made once."""
    words, place = characters.flatten(0, 1).unique(dim=0, return_inverse=True)
    shaped = [(linear.weight.reshape(len(linear.bias), width, -1), linear.bias) for width, linear in zip(model.widths, model.filters)]
    found = [torch.cat([letter_patterns(letters, *one) for one in shaped]) for letters in model.embedding(words)]
    return model.projection(model.highways(torch.stack(found)))[place].reshape(*characters.shape[:2], -1)


def your_reading(cell, x: Float[Tensor, "B T C"], mask: Bool[Tensor, "B T"], backward: bool) -> Float[Tensor, "B T C"]:
    """What a reader of one direction shows at each word, by your `read_backward` and `lstm_step`."""
    width = cell.output_size

    def step(inputs, state):                                      # h and c side by side
        parts = lstm_step(inputs, state[:, :width], state[:, width:], cell.input.weight, cell.recurrent.weight, cell.input.bias)
        return torch.cat([cell.projection(parts["h"]), parts["c"]], 1)
    start = x.new_zeros(len(x), width + cell.hidden_size)
    if backward:
        return read_backward(step, x, mask, start)[..., :width]
    return read_backward(step, x.flip(1), mask.flip(1), start).flip(1)[..., :width]


@torch.no_grad()
def your_elmo(model, characters: Int[Tensor, "B T W"], mask: Bool[Tensor, "B T"]) -> Float[Tensor, "L B T E"]:
    """All layers of an ELMo, from the left and from the right side by side."""
    words, sides = your_words(model.words, characters), []
    for cells, backward in ((model.forwards, False), (model.backwards, True)):
        first = your_reading(cells[0], words, mask, backward)
        sides.append(torch.stack([words, first, first + your_reading(cells[1], first, mask, backward)]))
    return torch.cat(sides, -1)

# %% nbgrader={"grade": false, "grade_id": "real-elmo-run", "locked": true, "schema_version": 3, "solution": false, "task": false}
if ready(lstm_step, read_backward, letter_patterns, mix_layers, needs=["oewn_glosses"]):
    kept = small_model("elmo_glosses")
    lines = [words for line in load("oewn_glosses") if "bank" in (words := tokenize(line)[:30])][:80]
    texts = [*lines, "we sat on the bank of the river".split(), "the bank lends money".split()]
    characters, mask = kept.tokenizer(texts)
    started = time.perf_counter()
    yours = your_elmo(kept.model, characters, mask)
    seconds = time.perf_counter() - started
    with torch.no_grad():
        theirs = kept.model.layers(characters, mask)
    print(f"{len(texts)} lines in {seconds:.1f} s; the largest difference from the course's ELMo is {(yours - theirs)[:, mask].abs().max():.0e}")
    banks = torch.stack([yours[:, row, text.index("bank")] for row, text in enumerate(texts)], 1)               # (L, lines, E)
    for layer, found in enumerate(banks):
        print(f"layer {layer}: {len((found * 1e4).round().unique(dim=0))} different vectors of bank in {len(texts)} lines")
    mixed = torch.nn.functional.normalize(mix_layers(banks, torch.zeros(3), 1.0), dim=1)
    for row in (-2, -1):
        near = (mixed[:len(lines)] @ mixed[row]).argsort(descending=True)[:3].tolist()
        print(f"\n{' '.join(texts[row])}: its bank is nearest to that of")
        print("\n".join(f"    {' '.join(lines[one])[:100]}" for one in near))

# %% [markdown] nbgrader={"grade": false, "grade_id": "real-elmo-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Put a sentence of your own with *bank* into a cell below, and look which lines come nearest. Do not expect too much: this reader has seen a dictionary and nothing else, and its neighbours often share the small words around *bank* rather than its sense. The chapter measures how often, with controls.

# %% [markdown] nbgrader={"grade": false, "grade_id": "real-attention-text", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Last, a trained speller: an encoder reads the letters of a word, and a decoder with additive attention writes its sounds. In a copy of it, your `additive_attention` replaces its attention.
# The trained model adds a bias to $U m_j$. It becomes one more column of $U$, for an entry of the memory that is always 1.

# %% nbgrader={"grade": false, "grade_id": "real-attention", "locked": true, "schema_version": 3, "solution": false, "task": false}
import copy


def with_your_attention(model):
    """A copy of the trained model whose decoder attends by your `additive_attention`."""
    parts, model = model.attention, copy.deepcopy(model)
    w_memory = torch.cat([parts.key.weight, parts.key.bias[:, None]], 1)

    def forward(query, keys, memory, mask=None):
        with_one = torch.cat([memory, torch.ones(*memory.shape[:2], 1)], 2)
        mask = torch.ones(memory.shape[:2], dtype=torch.bool) if mask is None else mask
        context, weights = additive_attention(query, with_one, parts.query.weight, w_memory, parts.score.weight[0], mask)
        return context[:, :-1], weights
    model.attention.forward = forward
    return model

# %% nbgrader={"grade": false, "grade_id": "real-attention-run", "locked": true, "schema_version": 3, "solution": false, "task": false}
if ready(additive_attention):
    kept = small_model("lstm_spelling")
    letters_of, sounds_of = kept.tokenizer["source"], kept.tokenizer["target"]
    for word in ("bank", "knight"):
        ids = torch.tensor([[letters_of.index(letter) for letter in word] + [1]])
        (written,), yours = with_your_attention(kept.model).write(ids, start_id=0, end_id=1, max_tokens=32)
        theirs = kept.model.write(ids, start_id=0, end_id=1, max_tokens=32)[1]
        print(f"{word}, at most {(yours - theirs).abs().max():.0e} from the weights of the course's model")
        for id, weights in zip(written, yours[0]):
            print(f"    {sounds_of[id]:<5}", ", ".join(f"{letter} {weight:.0%}" for letter, weight in zip(word, weights.tolist())))

# %% [markdown] nbgrader={"grade": false, "grade_id": "real-end", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Your numbers and the course's agree, because there is nothing more in these models than what you wrote: a table, a step, a sum.
# What neither of your readers has is the other one's view while it reads. Chapter 4 drops the state, and chapter 5 lets one reader look to both sides.

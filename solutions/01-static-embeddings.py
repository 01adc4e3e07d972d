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
# # Chapter 1. Static embeddings: the exercises
#
# In this notebook you turn words into vectors: with co-occurrence counts and PPMI, with the loss and the gradients of word2vec's skip-gram, and with GloVe's weighting function.
# At the end three of your functions train vectors on a real dictionary, and you see which sense of *bank* its vector is closer to.
#
# There are 13 exercises and 50 points. Plan about 145 minutes, in as many sittings as you like.
#
# | Part | Exercises | Minutes | Points |
# | --- | --- | --- | --- |
# | Co-occurrence counts | 1 to 4 | 38 | 14 |
# | word2vec | 5 to 10 | 71 | 23 |
# | GloVe | 11 | 8 | 3 |
# | Evaluating vectors | 12 | 15 | 5 |
# | Word senses | 13 | 12 | 5 |
# | Your vectors, trained | nothing to write | 3 | 0 |
#
# **How it works.**
# 1. Read the statement, write the function in the cell below it, and run the check under that cell as often as you like.
# 2. A check's first line names the likely cause, its second a small input that fails. Stuck? Open the three hints in order; the third solves a similar problem.
# 3. Grading runs the same checks with other sizes and values. The smallest sizes are always among them.
#
# **Symbols.** $V$ vocabulary size, $D$ dimensions, $B$ pairs in a batch, $K$ negatives per pair.
#
# <details><summary>Fine print</summary>
#
# - *Arguments.* Leave them unchanged, and return something new: neither an argument nor a result of an earlier call. A tensor may be a view of a larger one, such as a transpose; `reshape` works there, `view` may not. Your result may be a view of something new, and may require gradients.
# - *Types.* Return the type and the shape that the statement names; a dictionary has the named keys and no others, in any order. A subclass counts as its type, and an `int` may be given for a `float`, but a bool does not count as a number. Correct values in another type or dtype, with an axis of length 1 too many or too few, or with an extra key, lose a fifth of the exercise's points, once; any other shape is wrong. Breaking only *Arguments* or *Calls* costs the same fifth.
# - *Precision.* A float may be off by 0.00001 of itself plus 0.000001. In exercises 3, 9 and 10, where logarithms are taken or terms cancel, both are ten times as large; in exercise 8 a float may be off by 0.0001 of itself plus 0.0001. float32 has seven digits, so the order of your operations does not matter. Half precision, rounding, or a small constant "for safety" is wrong where the error exceeds this tolerance, and only there.
# - *Calls.* A result depends only on the arguments: not on earlier calls, and not on chance. Calls may come in any order. Caching that cannot be observed is fine.
# - *Tools.* You may use anything in torch, numpy and the standard library. You may not call answers, or parts of answers, that the course's own packages contain.
# - *Sizes and time.* Plain Python loops are fast enough, unless a statement says otherwise: a call may take five seconds. Where a statement names no size, an axis has at most 1,000 entries and a tensor at most 20,000.
# - *Smallest sizes.* Grading always includes one word, one pair, one negative and a matrix of one row.
# - *Arguments are as promised.* Your function need not check what a statement or its fine print promises. You may add cells anywhere: helpers, prints, plots.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
import math
from collections.abc import Callable

import torch
from jaxtyping import Float, Int, Num
from torch import Tensor

from autograder.check import check

SENTENCES = [
    "we sat on the bank of the river",
    "the bank of the river was muddy",
    "the bank lends money",
    "the bank keeps your money safe",
]
WORDS = sorted({word for sentence in SENTENCES for word in sentence.split()})
INDEX = {word: number for number, word in enumerate(WORDS)}
IDS = [[INDEX[word] for word in sentence.split()] for sentence in SENTENCES]


def attempt(function, *arguments):
    """What your function answers; None, and a friendly line, while it is not written yet."""
    try:
        return function(*arguments)
    except NotImplementedError:
        print(f"{function.__name__} is not written yet. Come back to this cell when it is.")
        return None

# %% nbgrader={"grade": false, "grade_id": "progress", "locked": true, "schema_version": 3, "solution": false, "task": false}
from autograder.notebook_progress import progress

progress("01")                                 # follows your checks

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-counting", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 1. Co-occurrence counts
#
# Words that occur in similar contexts have similar meanings.
# The first vector of a word is therefore a row of counts: how often did each other word occur nearby?
# The setup cell has numbered the words of four small sentences. `IDS` holds them as lists of numbers.

# %% [markdown] nbgrader={"grade": false, "grade_id": "window_counts-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 1. Count co-occurrences in a window
#
# **Why.** Every method of this chapter starts from these counts, or from the same pairs one at a time.
#
# **Difficulty** 2 of 5 · **Time** 12 minutes · **Points** 4 · **Paper** Levy, Goldberg and Dagan (2015), section 2.1
#
# Take each position of a sentence in turn; its word is the **centre word** $w$. Every word at most `window` positions to its left or right is a **context word** $c$:
#
# $$\#(w, c) = \bigl|\{(i, j) : w_i = w,\; w_j = c,\; 1 \le |i - j| \le \text{window}\}\bigr|$$
#
# Write `window_counts(sentences, vocab_size, window)`. `sentences` is a list of lists of word numbers from 0 to $V - 1$. The result is a float32 tensor of shape $(V, V)$, with centre words as rows and context words as columns.
#
# **By hand.** *The bank lends money* with a window of 1:
#
# | centre word | context words |
# | --- | --- |
# | the | bank |
# | bank | the, lends |
# | lends | bank, money |
# | money | lends |
#
# That makes **6** pairs. *(the, bank)* and *(bank, the)* are different cells: each pair is counted from both of its ends, so the matrix is symmetric.
#
# **Rules**
# 1. A window never extends from one sentence into the next. At the ends of a sentence it contains fewer words.
# 2. A position is not its own context. But if the same word occurs *again* inside the window, that is a pair like any other. In *the bank of the river* with window 3, the two *the* are each other's context: the cell (the, the) gets 2.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Three loops are enough: over the sentences, over the centre positions, over the positions nearby.
# Which positions are near position `i`? Where does the sentence stop you?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Start from zeros. For each sentence and each position `i`, let `j` run from `max(0, i - window)` up to and including the smaller of `i + window` and the last position.
# Skip `j == i`: compare *positions* here, not words. Otherwise add 1.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# How often does each letter follow each other letter, one step to the right only?
#
# ```python
# def letter_pairs(words, letters):
#     table = torch.zeros(len(letters), len(letters))
#     for word in words:                       # one word at a time: pairs never cross words
#         for i in range(len(word) - 1):       # the last letter is followed by nothing
#             table[letters.index(word[i]), letters.index(word[i + 1])] += 1
#     return table
# ```
#
# In *banana* the cell (a, n) becomes 2, because `+=` adds to what is there.
#
# </details>
# <details><summary>Fine print</summary>
#
# There are at most 500 sentences (none at all gives zeros, and the same one may occur many times) of at most 300 words; a sentence may be empty or shorter than the window. $V$ and `window` go from 1 to 1,000. No cell exceeds 30,000: the largest sizes never come together.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "window_counts", "locked": false, "schema_version": 3, "solution": true, "task": false}
def window_counts(sentences: list[list[int]], vocab_size: int, window: int) -> Float[Tensor, "V V"]:
    """How often each word occurs at most `window` positions from each other word of its sentence."""
    ### BEGIN SOLUTION
    counts = torch.zeros(vocab_size, vocab_size)
    for sentence in sentences:
        for i, center in enumerate(sentence):
            for j in range(max(0, i - window), min(len(sentence), i + window + 1)):
                if j != i:
                    counts[center, sentence[j]] += 1
    return counts
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "window_counts-check", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(window_counts)

# %% [markdown] nbgrader={"grade": false, "grade_id": "window_counts-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Now look at the row of *bank* in our four sentences. This is its first vector.

# %% nbgrader={"grade": false, "grade_id": "look-counts", "locked": true, "schema_version": 3, "solution": false, "task": false}
counts = attempt(window_counts, IDS, len(WORDS), 3)
if counts is not None:
    for number in counts[INDEX["bank"]].argsort(descending=True, stable=True)[:8].tolist():
        print(f"bank  {WORDS[number]:<6} {counts[INDEX['bank'], number]:3.0f}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "predict_pairs-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 2. Predict: how many pairs?
#
# **Why.** Skip-gram trains on one pair at a time, so the number of pairs is the length of the training.
#
# **Difficulty** 2 of 5 · **Time** 8 minutes · **Points** 2 · **Paper** Mikolov et al. (2013a), section 3.2
#
# A sentence of $n$ words and a window give $\sum_i \bigl(\text{left}_i + \text{right}_i\bigr)$ pairs, where $\text{left}_i$ and $\text{right}_i$ are the numbers of words inside the window on either side of position $i$.
#
# Write `predict_pairs(num_words, window)`. It returns the number of (centre, context) pairs of one sentence as an `int`, computed by arithmetic. A sum or a closed formula, both are fine.
#
# **By hand.** 4 words with window 1 give $1 + 2 + 2 + 1 =$ **6** pairs, and with window 2 they give $2 + 3 + 3 + 2 =$ **10**.
#
# **Rules**
# 1. The sentence may be shorter than the window: 3 words with window 10 give 6 pairs, and an empty sentence gives 0.
# 2. Loop over words or over distances, not over pairs: both arguments go up to 50,000.
#
# <details><summary>Hint 1: a nudge</summary>
#
# A word in the middle has `2 * window` context words. How many are missing at the left end? And at the right end?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Position `i` has `min(i, window)` words on its left side that count. How many on its right side? Add up over all positions.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# A street has 10 houses in a row. How many pairs of *next-door* neighbours are there?
# Not 10: the last house has nobody to its right. There are 9.
# And pairs exactly 3 doors apart? The last 3 houses have no such partner, so there are $10 - 3 = 7$.
# On a street of 2 houses there are none, and not $2 - 3 = -1$.
#
# </details>
# <details><summary>Fine print</summary>
#
# `num_words` goes from 0 to 50,000 and `window` from 1 to 50,000. The result is exact to the last digit. The check counts the pairs with real code on real sentences and compares.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "predict_pairs", "locked": false, "schema_version": 3, "solution": true, "task": false}
def predict_pairs(num_words: int, window: int) -> int:
    """The number of (centre, context) pairs of one sentence, by arithmetic."""
    ### BEGIN SOLUTION
    return sum(min(i, window) + min(num_words - 1 - i, window) for i in range(num_words))
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "predict_pairs-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(predict_pairs)

# %% [markdown] nbgrader={"grade": false, "grade_id": "ppmi-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 3. Positive pointwise mutual information
#
# **Why.** *The* occurs near everything, so its counts say little. PPMI keeps what is more than chance.
#
# **Difficulty** 3 of 5 · **Time** 12 minutes · **Points** 5 · **Paper** Levy, Goldberg and Dagan (2015), section 2.1
#
# Compare how often two words co-occur with how often they would by chance:
#
# $$\mathrm{PMI}(w, c) = \log \frac{P(w, c)}{P(w)\,P(c)} \qquad \mathrm{PPMI}(w, c) = \max(0, \mathrm{PMI}(w, c))$$
#
# All three probabilities come from one matrix of counts: $P(w, c)$ is a cell divided by the sum of the whole matrix, $P(w)$ the sum of a row divided by it, and $P(c)$ the sum of a column divided by it. The logarithm is the natural one.
#
# Write `ppmi(counts)`; `counts` is $(W, C)$, and the result is a float32 tensor of the same shape.
#
# **By hand.** Two words, two contexts, 12 pairs in all:
#
# | counts | money | river | sum |
# | --- | --- | --- | --- |
# | bank | 6 | 2 | 8 |
# | tree | 0 | 4 | 4 |
# | sum | 6 | 6 | 12 |
#
# - (bank, money): $\log \frac{6/12}{8/12 \cdot 6/12} = \log 1.5 =$ **0.405**
# - (bank, river): $\log \frac{2/12}{8/12 \cdot 6/12} = \log 0.5 = -0.693$, so PPMI is **0**
# - (tree, money): a count of 0. They never met, so PPMI is **0**
# - (tree, river): $\log \frac{4/12}{4/12 \cdot 6/12} = \log 2 =$ **0.693**
#
# **Rules**
# 1. Where the count is 0, the result is 0: not minus infinity, not NaN. That includes a row or a column without any count.
# 2. Counts may be integers or floats, and sums can be large: products of sums may need more than 64 bits. Convert first.
# 3. A cell with count 1 matters in a matrix of millions as well: its $P(w)\,P(c)$ may be far below 0.000001.
#
# <details><summary>Hint 1: a nudge</summary>
#
# If words and contexts were independent, what count would you *expect* in a cell? PMI is the log of observed over expected.
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Sum over the rows and over the columns with `keepdim=True`, so that the shapes $(W, 1)$ and $(1, C)$ broadcast to $(W, C)$.
# Take the logarithm only of cells above 0, for example by choosing with `torch.where` afterwards or by filling in a harmless value before.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# A table of eye colour by hair colour. By how many people does each cell differ from chance?
#
# ```python
# def more_than_chance(table):
#     people = table.sum()
#     eyes = table.sum(dim=1, keepdim=True)       # (W, 1)
#     hair = table.sum(dim=0, keepdim=True)       # (1, C)
#     return table - eyes * hair / people         # (W, C) by broadcasting
# ```
#
# This one subtracts. Yours divides and takes the log, so it must also deal with 0.
#
# </details>
# <details><summary>Fine print</summary>
#
# Counts are int32, int64 up to some billions each, or floats up to as much (float32 or float64), with fractions such as 0.5; what is above 0 is at least 0.001. No count is negative and at least one is above 0. $W$ and $C$ are at least 1 and may differ.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "ppmi", "locked": false, "schema_version": 3, "solution": true, "task": false}
def ppmi(counts: Num[Tensor, "W C"]) -> Float[Tensor, "W C"]:
    """Positive pointwise mutual information of a matrix of counts, 0 where nothing was counted."""
    ### BEGIN SOLUTION
    joint = counts.float()                                           # (W, C)
    by_chance = joint.sum(1, keepdim=True) * joint.sum(0, keepdim=True) / joint.sum()
    seen = joint > 0
    ratio = torch.where(seen, joint / by_chance, torch.ones_like(joint))  # log 1 = 0 where nothing was seen
    return ratio.log().clamp(min=0)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "ppmi-check", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check(ppmi)

# %% [markdown] nbgrader={"grade": false, "grade_id": "ppmi-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Compare with the raw counts above: where did *the* go?
# With four sentences, a word that was seen once near *bank* already looks special. Keep that in mind for exercise 11.

# %% nbgrader={"grade": false, "grade_id": "look-ppmi", "locked": true, "schema_version": 3, "solution": false, "task": false}
counts = attempt(window_counts, IDS, len(WORDS), 3)
scores = attempt(ppmi, counts) if counts is not None else None
if scores is not None:
    for number in scores[INDEX["bank"]].argsort(descending=True, stable=True)[:8].tolist():
        print(f"bank  {WORDS[number]:<6} {scores[INDEX['bank'], number]:.2f}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "predict_sizes-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 4. Predict: parameters and bytes
#
# **Why.** You want to know what fits into memory before you start, and why counts are stored sparsely.
#
# **Difficulty** 1 of 5 · **Time** 6 minutes · **Points** 3 · **Paper** Levy, Goldberg and Dagan (2015), sections 2.1 and 2.3
#
# Three numbers decide which method you can afford with a vocabulary of $V$ words:
#
# - `"parameters"`: skip-gram has *two* vectors of $D$ dimensions for each word, one as a centre word and one as a context word: $2 V D$.
# - `"dense_bytes"`: the $V \times V$ matrix of counts, each cell a float32 of 4 bytes.
# - `"sparse_bytes"`: the same matrix in compressed sparse rows (CSR). Only the `nonzero` cells are stored, each as a float32 value (4 bytes) and an int32 column number (4 bytes). One more int32 per row says where the row starts, and one last int32 where the last row ends.
#
# Write `predict_sizes(vocab_size, dim, nonzero)`. It returns a dictionary with these three keys and `int` values.
#
# **By hand.** $V = 5$, $D = 3$, 7 non-zero cells. Parameters: $2 \cdot 5 \cdot 3 =$ **30**. Dense: $5 \cdot 5 \cdot 4 =$ **100** bytes. Sparse: $7 \cdot (4 + 4) + (5 + 1) \cdot 4 =$ **80** bytes.
#
# **Rules**
# 1. Compute, do not build: one case has 40,000 words, and its dense matrix takes more bytes than 32 bits can count.
# 2. All three values are exact ints.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Redo the worked case with your function before you run the check: 30, 100, 80.
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# The sparse matrix has three arrays: values, columns, row starts. Write down how many entries each has, then multiply by 4 bytes.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# A photo of 640 by 480 pixels, three bytes each, takes $640 \cdot 480 \cdot 3 = 921{,}600$ bytes.
# A drawing of 200 dots on the same canvas, each stored as (row, column, colour) with 2 + 2 + 3 bytes, takes $200 \cdot 7 = 1{,}400$ bytes.
# Past 131,657 dots the photo is smaller.
#
# </details>
# <details><summary>Fine print</summary>
#
# `vocab_size` goes from 1 to a million, `dim` from 1 to 10,000, and `nonzero` from 0 to $V^2$ and at most two billion. Other keys of the dictionary are ignored. The check builds small matrices with real code and counts the numbers and bytes that are there.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "predict_sizes", "locked": false, "schema_version": 3, "solution": true, "task": false}
def predict_sizes(vocab_size: int, dim: int, nonzero: int) -> dict[str, int]:
    """The sizes named "parameters", "dense_bytes" and "sparse_bytes", by arithmetic."""
    ### BEGIN SOLUTION
    return {
        "parameters": 2 * vocab_size * dim,
        "dense_bytes": 4 * vocab_size**2,
        "sparse_bytes": 8 * nonzero + 4 * (vocab_size + 1),
    }
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "predict_sizes-check", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(predict_sizes)

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-word2vec", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 2. word2vec
#
# Counting builds the whole matrix first and compresses it later.
# word2vec never builds it. It reads one pair at a time and moves a few vectors by a small step.
# Six exercises: subsampling and a test for it, the noise distribution, the loss, its gradients, and CBOW.

# %% [markdown] nbgrader={"grade": false, "grade_id": "keep_probability-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 5. Subsampling frequent words
#
# **Why.** In running text a few words such as *the* and *of* are in a large fraction of all pairs. Dropping most of their occurrences makes training faster and rare words better.
#
# **Difficulty** 2 of 5 · **Time** 8 minutes · **Points** 3 · **Paper** Mikolov et al. (2013b), section 2.3. There the probability is that of *discarding*; here you return that of *keeping*.
#
# Before windows are read, each occurrence of a word is kept or dropped at random. With $f(w)$ the relative frequency of word $w$ in the whole text and $t$ a threshold:
#
# $$P_\text{keep}(w) = \min\left(1, \sqrt{t / f(w)}\right)$$
#
# Write `keep_probability(counts, threshold)`; `counts` is $(V)$, and the result is float32 $(V)$ in the same order.
#
# **By hand.** A text of 1,000,000 words, $t = 10^{-5}$:
#
# | word | count | $f$ | $\sqrt{t/f}$ | kept |
# | --- | --- | --- | --- | --- |
# | the | 60,000 | 0.06 | 0.0129 | **0.0129** |
# | bank | 100 | 0.0001 | 0.316 | **0.316** |
# | isthmus | 5 | 0.000005 | 1.41 | **1** |
#
# **Rules**
# 1. `counts` are counts, not frequencies. You compute $f$ from the sum of all of them, which may need more than 32 bits.
# 2. A word with count 0 never occurs. Return 1 for it.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Which of the numbers in the table above is a count, which is a relative frequency, which is a probability? Compute them in that order.
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Divide the counts by their sum, then take the square root of the threshold over that, then clip at 1.
# In torch, a positive number divided by 0 is `inf`, and clipping `inf` at 1 gives 1.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# A newspaper prints letters from its readers. To be fair, a reader who sent a fraction $f$ of all letters gets printed with probability $\min(1, 0.02 / f)$.
#
# ```python
# letters = torch.tensor([50, 30, 1])
# fraction = letters / letters.sum()            # fractions, not letters
# printed = (0.02 / fraction).clamp(max=1)      # a probability is never above 1
# ```
#
# </details>
# <details><summary>Fine print</summary>
#
# Counts are int32, int64 up to some billions, or floats up to as much (float32 or float64), fractions among them, and at least one is above 0. The threshold is a float above 0 and may be above 1. A relative frequency that is not 0, and the threshold, are at least one in a hundred million.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "keep_probability", "locked": false, "schema_version": 3, "solution": true, "task": false}
def keep_probability(counts: Num[Tensor, "V"], threshold: float) -> Float[Tensor, "V"]:
    """The probability that subsampling keeps one occurrence of each word."""
    ### BEGIN SOLUTION
    frequency = counts.float() / counts.sum()
    return (threshold / frequency).sqrt().clamp(max=1)               # 1 / 0 is inf, clipped to 1
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "keep_probability-check", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(keep_probability)

# %% [markdown] nbgrader={"grade": false, "grade_id": "test_keep-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 6. Write the test for subsampling
#
# **Why.** A wrong keep probability does not crash. It makes the vectors a little worse, and nobody notices. A test does.
#
# **Difficulty** 3 of 5 · **Time** 12 minutes · **Points** 4 · **Paper** Mikolov et al. (2013b), section 2.3
#
# Now you write the check. You are given a function `candidate(counts, threshold)` that claims to be exercise 5, $P_\text{keep}(w) = \min\bigl(1, \sqrt{t / f(w)}\bigr)$. Your test stays silent when it is right and fails an `assert` when it is wrong.
#
# Write `test_keep(candidate)`; it returns nothing. It is run on two correct functions and on eight wrong ones, whose code you do not see. The wrong ones are of four kinds, two of each: a wrong *formula*, wrong *frequencies*, a wrong *limit at 1*, and *keep and drop* confused. A kind earns a point if your test rejects both of its functions and accepts both correct ones.
#
# **By hand.** `counts = torch.tensor([9, 1])` and `threshold = 0.1`. The frequencies are 0.9 and 0.1, so the result is $\sqrt{0.1 / 0.9} =$ **0.333** and, exactly at the limit, **1**. One such case catches some wrong functions. Which does it miss?
#
# **Rules**
# 1. A test that rejects a correct function earns nothing.
# 2. The two correct functions differ in the last digit: compare with a tolerance of about 0.0001. A wrong one is off by more than 0.01 on every ordinary case (see the fine print).
# 3. Reject with `assert`, or with what raises an AssertionError, such as `torch.testing.assert_close`. Any other exception means that your test is broken, and earns nothing.
#
# <details><summary>Hint 1: a nudge</summary>
#
# For each of the four kinds of mistake, ask: on which counts would the wrong result *equal* the right one? Don't use only those.
# For example, when the counts sum to 1, nobody can tell counts from frequencies.
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Use three or four words with distinct counts and a threshold that puts some above and some below the limit.
# Work out the right values by hand, or with `math.sqrt`, and compare all of them with `torch.allclose(answer, right, atol=1e-4)`.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# A test for a function that turns marks into grades: `passed(marks, limit)` gives 1.0 for every mark of at least `limit`, else 0.0.
#
# ```python
# def test_passed(candidate):
#     marks = torch.tensor([3.0, 5.0, 9.0])          # below, exactly at, above the limit
#     answer = candidate(marks, 5.0)
#     assert torch.equal(answer, torch.tensor([0.0, 1.0, 1.0])), f"got {answer}"
#     assert candidate(marks, 1.0).sum() == 3        # a second limit: is the argument used at all?
# ```
#
# The mark exactly at the limit distinguishes `>` from `>=`.
#
# </details>
# <details><summary>Fine print</summary>
#
# - An ordinary case has four words or more with distinct counts of at least 1; two of them should get something between 0.2 and 0.8, not both about a half, and one has a frequency below half of the threshold.
# - To return False, as a bool or a tensor, instead of failing an `assert` counts as a rejection and costs a fifth, once; any other returned value means nothing.
# - Call the candidate as often as you like, with what exercise 5 allows as its arguments: a correct one may refuse anything else. Counts may be random if your result never depends on the draw. Your test is run several times and in any order.
# - No candidate changes or keeps its arguments. The values of a wrong function may be strange, but they are always finite, in a float32 tensor of the right shape.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "test_keep", "locked": false, "schema_version": 3, "solution": true, "task": false}
def test_keep(candidate: Callable[[Tensor, float], Tensor]) -> None:
    """Fail an assert if `candidate(counts, threshold)` is not the keep probability of exercise 5."""
    ### BEGIN SOLUTION
    counts = torch.tensor([60.0, 25.0, 10.0, 5.0])
    right = torch.tensor([math.sqrt(0.09 / 0.6), math.sqrt(0.09 / 0.25), math.sqrt(0.09 / 0.1), 1.0])
    answer = candidate(counts, 0.09)
    assert torch.allclose(answer, right, atol=1e-4), f"expected {right}, got {answer}"
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "test_keep-check", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(test_keep)

# %% [markdown] nbgrader={"grade": false, "grade_id": "noise_distribution-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 7. The noise distribution
#
# **Why.** Skip-gram learns by discriminating a true context word from random words. This distribution draws the random ones.
#
# **Difficulty** 1 of 5 · **Time** 6 minutes · **Points** 3 · **Paper** Mikolov et al. (2013b), section 2.2
#
# A word is drawn in proportion to its count raised to a power below 1, so frequent words still come more often, but not *that* much more often:
#
# $$P_\text{noise}(w) = \frac{\#(w)^{0.75}}{\sum_{v} \#(v)^{0.75}}$$
#
# Write `noise_distribution(counts, power=0.75)`; `counts` is $(V)$, and the result is float32 $(V)$.
#
# **By hand.** Counts 81, 16, 1. To the power 0.75 they are 27, 8, 1, with sum 36.
#
# | count | fraction of the text | probability as a negative |
# | --- | --- | --- |
# | 81 | 0.827 | 27/36 = **0.750** |
# | 16 | 0.163 | 8/36 = **0.222** |
# | 1 | 0.010 | 1/36 = **0.028** |
#
# The rare word is drawn almost three times as often as it occurs.
#
# **Rules**
# 1. The power is an argument, with 0.75 as its default.
# 2. A word with count 0 is never drawn: its probability is exactly 0.
# 3. The probabilities sum to 1, up to rounding.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Two steps: apply the power, then normalize to sum 1. What goes wrong if you swap the steps?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# `counts.float() ** power` gives the weights. Then divide by the sum of the *weights*, not of the counts.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# A tour draws the next city in proportion to the logarithm of its population, so that capitals don't take every evening.
#
# ```python
# people = torch.tensor([9_000_000, 90_000, 900])
# weight = people.float().log()                 # transform first
# probability = weight / weight.sum()           # then normalize the weights
# ```
#
# </details>
# <details><summary>Fine print</summary>
#
# Counts are int32, int64 up to some billions, or floats up to as much (float32 or float64), with fractions of at least 0.001, and at least one is above 0. The power is a float above 0 and at most 2.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "noise_distribution", "locked": false, "schema_version": 3, "solution": true, "task": false}
def noise_distribution(counts: Num[Tensor, "V"], power: float = 0.75) -> Float[Tensor, "V"]:
    """The probability of each word to be drawn as a negative sample."""
    ### BEGIN SOLUTION
    weights = counts.float() ** power
    return weights / weights.sum()
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "noise_distribution-check", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(noise_distribution)

# %% [markdown] nbgrader={"grade": false, "grade_id": "sgns_loss-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 8. The skip-gram loss
#
# **Why.** This one number is all that word2vec minimizes.
#
# **Difficulty** 3 of 5 · **Time** 15 minutes · **Points** 5 · **Paper** Mikolov et al. (2013b), section 2.2, equation 4. The paper maximizes; you return the negative, to minimize.
#
# A centre vector $v$ is paired with its true context vector $u$ and $K$ negative samples $n_1 \dots n_K$. A large dot product means that two words belong together, so $v \cdot u$ should be large and every $v \cdot n_k$ small:
#
# $$\ell = -\log \sigma(v \cdot u) - \sum_{k=1}^{K} \log \sigma(-\, v \cdot n_k), \qquad \sigma(x) = \frac{1}{1 + e^{-x}}$$
#
# Write `sgns_loss(center, context, negatives)`. `center` and `context` are $(B, D)$, `negatives` is $(B, K, D)$, all float32. The result is a float32 tensor with no axes: the **mean** of $\ell$ over the $B$ pairs.
#
# **By hand.** Say $v \cdot u = 2$ and, with $K = 1$, $v \cdot n = -1$.
# $-\log\sigma(2) = 0.127$ and $-\log\sigma(1) = 0.313$, together **0.440**.
# With all vectors zero and $K = 2$ every $\sigma$ is one half, so the loss is $3 \log 2 =$ **2.079**: the loss of an untrained model.
#
# **Rules**
# 1. Average over the batch; inside one pair, **sum** over the negatives.
# 2. Scores can be up to 500, of either sign. In float32 $\sigma(-200)$ is exactly 0 and its logarithm $-\infty$, but the true $-\log\sigma(-200)$ is 200: the loss must be finite and right.
#
# <details><summary>Hint 1: a nudge</summary>
#
# You need $B$ scores for the contexts and $B \times K$ scores for the negatives. What are the shapes before you sum anything away?
# For large scores: what is $\log(1 + e^{x})$ when $x$ is 200?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# `(center * context).sum(-1)` has shape $(B)$. For the negatives, give the centre an axis of length 1 so that $(B, 1, D)$ broadcasts with $(B, K, D)$.
# `torch.nn.functional.logsigmoid` computes $\log\sigma$ without ever taking the log of 0.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# A spam filter gives each of $N$ mails a score; $y = 1$ means spam. Its loss, safe for large scores, averaged over the mails:
#
# ```python
# from torch.nn.functional import softplus        # softplus(x) = log(1 + exp(x)) = -log sigmoid(-x)
#
# def spam_loss(score, y):                        # (N), (N)
#     return (y * softplus(-score) + (1 - y) * softplus(score)).mean()
# ```
#
# A spam mail with score -200 costs 200, not infinity.
#
# </details>
# <details><summary>Fine print</summary>
#
# $B$, $K$ and $D$ are at least 1 and may equal each other. A score of 500 may also be the sum of two products of some hundred thousands; a float32 sum is exact enough there.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "sgns_loss", "locked": false, "schema_version": 3, "solution": true, "task": false}
def sgns_loss(
    center: Float[Tensor, "B D"], context: Float[Tensor, "B D"], negatives: Float[Tensor, "B K D"]
) -> Float[Tensor, ""]:
    """The loss of skip-gram with negative sampling, summed over the negatives, averaged over the batch."""
    ### BEGIN SOLUTION
    positive = (center * context).sum(-1)                            # (B,)
    negative = (center.unsqueeze(1) * negatives).sum(-1)             # (B, K)
    log_sigmoid = torch.nn.functional.logsigmoid
    return -(log_sigmoid(positive) + log_sigmoid(-negative).sum(-1)).mean()
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "sgns_loss-check", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check(sgns_loss)

# %% [markdown] nbgrader={"grade": false, "grade_id": "sgns_gradients-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 9. The gradients of skip-gram, by hand
#
# **Why.** This is the inner loop of word2vec. At the end of the notebook it trains real vectors.
#
# **Difficulty** 4 of 5 · **Time** 20 minutes · **Points** 5 · **Paper** Mikolov et al. (2013b), section 2.2; the derivation step by step is in Rong (2014), section 3.2
#
# You need $\frac{d}{dx}\bigl(-\log\sigma(x)\bigr) = \sigma(x) - 1$ and $\frac{d}{dx}\bigl(-\log\sigma(-x)\bigr) = \sigma(x)$. Each score has an **error**, the predicted probability minus the label:
#
# - the true context: $g^+ = \sigma(v \cdot u) - 1$, between -1 and 0;
# - each negative: $g_k = \sigma(v \cdot n_k)$, between 0 and 1.
#
# A score is a dot product, so each vector receives the *other* vector times the error:
#
# $$\frac{\partial \ell}{\partial u} = g^+ v \qquad \frac{\partial \ell}{\partial n_k} = g_k\, v \qquad \frac{\partial \ell}{\partial v} = g^+ u + \sum_k g_k\, n_k$$
#
# Write `sgns_gradients(center, context, negatives)` with the shapes of exercise 8. It returns a tuple of three float32 tensors with the same three shapes, in the same order: the gradients of the **mean** loss.
#
# **By hand.** $B = 1$, $K = 1$: $v = (1, 0)$, $u = (0, 2)$, $n = (0, -1)$. Both scores are 0, so $g^+ = -0.5$ and $g_1 = 0.5$. Then
#
# - the context's gradient is $-0.5 \cdot (1, 0) =$ **(−0.5, 0)**,
# - the negative's is $0.5 \cdot (1, 0) =$ **(0.5, 0)**,
# - the centre's is $-0.5 \cdot (0, 2) + 0.5 \cdot (0, -1) =$ **(0, −1.5)**.
#
# A step *against* the gradient moves the centre towards $u$ and away from $n$.
#
# **Rules**
# 1. The loss is a mean over the batch, so every gradient is divided by $B$.
# 2. A small error is an error: a score of 7 still leaves $g^+ = -0.0009$.
# 3. Autograd may be used and earns the same points; you learn more from the formulas.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Write down the shape of $g^+$ and of $g_k$ for a whole batch. Which axis is missing to multiply them with vectors?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Four steps: the scores $(B)$ and $(B, K)$; the two kinds of error, each divided by $B$; the gradients of context and negatives, each error times the centre; the gradient of the centre, which sums over the context *and* all $K$ negatives.
# `unsqueeze(-1)` gives an error the axis it needs.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# A recommender scores a user $a$ and a film $b$ by $a \cdot b$ and wants the rating $y$. Loss: the mean over the batch of $(a \cdot b - y)^2$.
#
# ```python
# def rating_gradients(a, b, y):                    # (B, D), (B, D), (B)
#     error = 2 * ((a * b).sum(-1) - y) / len(y)    # (B): derivative by the score, with the mean
#     error = error.unsqueeze(-1)                   # (B, 1)
#     return error * b, error * a                   # each gets the other vector
# ```
#
# You have one score more for each negative, and the centre takes part in all of them.
#
# </details>
# <details><summary>Fine print</summary>
#
# $B$, $K$ and $D$ are at least 1 and may equal each other. Scores go up to 500, of either sign, though not as the sum of much larger products; the gradients are finite there. The inputs come with `requires_grad` off and without a `grad`; leave them as they came. The result is a plain tuple.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "sgns_gradients", "locked": false, "schema_version": 3, "solution": true, "task": false}
def sgns_gradients(
    center: Float[Tensor, "B D"], context: Float[Tensor, "B D"], negatives: Float[Tensor, "B K D"]
) -> tuple[Float[Tensor, "B D"], Float[Tensor, "B D"], Float[Tensor, "B K D"]]:
    """The gradients of the mean skip-gram loss: for the centres, the contexts and the negatives."""
    ### BEGIN SOLUTION
    batch = center.shape[0]
    pull = (torch.sigmoid((center * context).sum(-1)) - 1) / batch                 # (B,)
    push = torch.sigmoid(torch.einsum("bd,bkd->bk", center, negatives)) / batch    # (B, K)
    d_center = pull[:, None] * context + torch.einsum("bk,bkd->bd", push, negatives)
    return d_center, pull[:, None] * center, push[:, :, None] * center[:, None, :]
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "sgns_gradients-check", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check(sgns_gradients)

# %% [markdown] nbgrader={"grade": false, "grade_id": "cbow_scores-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 10. Find the wrong line: CBOW
#
# **Why.** CBOW predicts the centre word from the mean of its context vectors. And reading code for the line that is wrong is half of an engineer's work.
#
# **Difficulty** 3 of 5 · **Time** 10 minutes · **Points** 3 · **Paper** Mikolov et al. (2013a), section 3.1
#
# `cbow_scores(word_vectors, output_vectors, contexts)` gives every word of the vocabulary a score as the missing centre word, the dot product of its output vector with the mean of the context vectors:
#
# $$h = \frac{1}{|C|} \sum_{c \in C} x_c, \qquad \text{scores} = h\, W_{out}^\top$$
#
# `word_vectors` and `output_vectors` are $(V, D)$. Each row of `contexts`, $(B, S)$, holds the word numbers around one centre; positions beyond the ends of a sentence are padded with -1. The result is float32 $(B, V)$. Below, **exactly one** of six numbered lines is wrong:
#
# ```python
# def cbow_scores(word_vectors, output_vectors, contexts):      # (V, D), (V, D), (B, S) integers
#     present = (contexts >= 0).unsqueeze(-1)                   # line 1   (B, S, 1)
#     rows = word_vectors[contexts.clamp(min=0)]                # line 2   (B, S, D)
#     rows = rows * present                                     # line 3   (B, S, D)
#     total = rows.sum(dim=1)                                   # line 4   (B, D)
#     mean = total / contexts.shape[1]                          # line 5   (B, D)
#     return mean @ output_vectors.T                            # line 6   (B, V)
# ```
#
# **By hand.** With `word_vectors` $(2, 0), (4, 2)$ and the row `[0, 1]` the mean is **(3, 1)**. The row `[1, -1]` has one word only, so its mean must be **(4, 2)**. Trace the code with that row.
#
# **Rules**
# 1. Two points for the function, repaired: copy it and change that line, or write it yourself. One point for the line's number, an `int`, which `wrong_line` returns. Each is graded by itself.
# 2. Padding plays no part, wherever it occurs. A word that occurs twice counts twice.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Rows without -1 come out right. So the wrong line is one that matters only with padding.
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Trace `[1, -1]` through lines 1 to 6 and write down each result. Which is the first that differs from what the statement promises?
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# Three of four students wrote the test; the absent one is marked -1. What is the mean of the class?
#
# ```python
# marks = torch.tensor([8.0, 6.0, -1.0, 10.0])
# wrote = marks >= 0
# marks[wrote].mean()        # 8.0: the sum 24 over the 3 who wrote, not over the 4 in the room
# ```
#
# </details>
# <details><summary>Fine print</summary>
#
# Word numbers go from 0 to $V - 1$; each row has at least one word. $B$ and $S$ are at least 1, the vectors are float32, `contexts` is int64. The wrong line does not do what these sentences say, though a later line could make up for it. `check(cbow_scores)` checks both the function and `wrong_line`.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "cbow_scores", "locked": false, "schema_version": 3, "solution": true, "task": false}
def wrong_line() -> int:
    """The number, 1 to 6, of the line that is wrong."""
    ### BEGIN SOLUTION
    return 5
    ### END SOLUTION


def cbow_scores(
    word_vectors: Float[Tensor, "V D"], output_vectors: Float[Tensor, "V D"], contexts: Int[Tensor, "B S"]
) -> Float[Tensor, "B V"]:
    """The function of the statement, with the wrong line repaired."""
    ### BEGIN SOLUTION
    present = (contexts >= 0).unsqueeze(-1)                          # (B, S, 1)
    rows = word_vectors[contexts.clamp(min=0)]                       # (B, S, D)
    rows = rows * present                                            # (B, S, D)
    total = rows.sum(dim=1)                                          # (B, D)
    mean = total / present.sum(dim=1)                                # (B, D)
    return mean @ output_vectors.T                                   # (B, V)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "cbow_scores-check", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(cbow_scores)

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-glove", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 3. GloVe
#
# GloVe goes back to the matrix of counts and fits vectors to the logarithm of each cell.
# Not all cells are equally reliable, and the weighting function says how much each one counts.

# %% [markdown] nbgrader={"grade": false, "grade_id": "glove_weight-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 11. GloVe's weighting function
#
# **Why.** A pair counted once may be an accident; a pair with *the* counted ten thousand times should not dominate the rest.
#
# **Difficulty** 1 of 5 · **Time** 8 minutes · **Points** 3 · **Paper** Pennington, Socher and Manning (2014), section 3, equation 9
#
# The weight of a pair grows with its count, more and more slowly, and stops at 1:
#
# $$f(x) = \begin{cases} (x / x_\text{max})^{\alpha} & \text{if } x < x_\text{max} \\ 1 & \text{otherwise} \end{cases}$$
#
# Write `glove_weight(counts, x_max=100.0, alpha=0.75)`; `counts` is a tensor of any shape, and the result is float32 of the same shape.
#
# **By hand**, with $x_\text{max} = 100$ and $\alpha = 0.75$:
#
# | count | weight |
# | --- | --- |
# | 0 | **0** |
# | 6.25 | $0.0625^{0.75} =$ **0.125** |
# | 100 | **1** |
# | 2,500 | **1** |
#
# **Rules**
# 1. `x_max` and `alpha` are arguments, with defaults 100 and 0.75.
# 2. A count of 0 weighs exactly 0 and a count of at least `x_max` weighs 1, whatever `alpha` is.
#
# <details><summary>Hint 1: a nudge</summary>
#
# What is $(x / x_\text{max})$ for a count of 2,500? What should its weight be?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Clip the ratio at 1, then raise it to the power. Or raise first and clip then: is that the same?
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# A museum's heating runs at full power below 5 degrees and falls with the square root of the temperature from there on, as a fraction of full power:
#
# ```python
# def heating(degrees):
#     return torch.where(degrees <= 5, 1.0, (5 / degrees.clamp(min=5)) ** 0.5)
# ```
#
# </details>
# <details><summary>Fine print</summary>
#
# `x_max` is a float from 0.1 to 10,000 and `alpha` one from 0.1 to 2. Counts are int32, int64 up to some billions, or floats up to as much (float32 or float64), with fractions of at least 0.001, and never negative. They have one axis or more, none of length 0.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "glove_weight", "locked": false, "schema_version": 3, "solution": true, "task": false}
def glove_weight(counts: Num[Tensor, "..."], x_max: float = 100.0, alpha: float = 0.75) -> Float[Tensor, "..."]:
    """GloVe's weight of each count: grows up to `x_max`, then stays at 1."""
    ### BEGIN SOLUTION
    return (counts.float() / x_max).clamp(max=1) ** alpha
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "glove_weight-check", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(glove_weight)

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-judging", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 4. Evaluating vectors
#
# Which vectors are good? Test them on questions whose answers people agree on.

# %% [markdown] nbgrader={"grade": false, "grade_id": "analogy-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 12. Analogies: 3CosAdd
#
# **Why.** The most famous test of word vectors, and the easiest to get wrong in a way that flatters you.
#
# **Difficulty** 3 of 5 · **Time** 15 minutes · **Points** 5 · **Paper** Mikolov, Yih and Zweig (2013), section 4; Levy and Goldberg (2014b) call it 3CosAdd
#
# "$a$ is to $b$ as $c$ is to ...?" Normalize every row of the matrix to length 1 ($\hat x$). The difference $\hat b - \hat a$ stands for the relation; add it to $\hat c$ and return the word with the highest dot product:
#
# $$\text{answer} = \arg\max_{x \notin \{a, b, c\}} \; \hat{x} \cdot (\hat b - \hat a + \hat c)$$
#
# Write `analogy(matrix, a, b, c)`. `matrix` is $(V, D)$ float32; `a`, `b` and `c` are three different row numbers. The result is an `int`, the row number of the answer.
#
# **By hand.** Every row here already has length 1:
#
# | word | vector | score |
# | --- | --- | --- |
# | river ($a$) | (1, 0) | 0.760 |
# | bank ($b$) | (0.8, 0.6) | **1.136** |
# | sea ($c$) | (0.96, 0.28) | 0.976 |
# | shore | (0.28, 0.96) | **1.058** |
# | money | (0, 1) | 0.880 |
#
# The target is $(0.8, 0.6) - (1, 0) + (0.96, 0.28) = (0.76, 0.88)$. The best score is that of *bank*, a word of the question. Exclude the three, and the answer is **shore**.
#
# **Rules**
# 1. Rows have any length: frequent words tend to have long vectors, and length must not win.
# 2. The three words of the question are never the answer. Only their row numbers are excluded: another row may equal one of theirs, and may win.
# 3. A row of zeros stays zeros: its score is 0, not NaN.
# 4. Of words with the same best score, return the smallest row number.
#
# <details><summary>Hint 1: a nudge</summary>
#
# What does a long row do to a dot product? What must happen to every row, those of the question included, before you add and subtract?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Lengths first: `matrix.norm(dim=1, keepdim=True)`, clamped far below the shortest row, so that a zero row stays zero. Then the target, then all scores with one product.
# Set the scores of `a`, `b` and `c` to minus infinity and take the `argmax`, which returns the first of equal scores.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# You liked films 3 and 8. Which film that you have not seen is closest to their average?
#
# ```python
# def next_film(films, seen):                       # (N, D), list of row numbers
#     taste = films[seen].mean(dim=0)               # (D)
#     distance = (films - taste).norm(dim=1)        # (N)
#     distance[seen] = float("inf")                 # what you have seen can't win
#     return int(distance.argmin())
# ```
#
# Yours asks for the largest cosine, not for the smallest distance.
#
# </details>
# <details><summary>Fine print</summary>
#
# $V \ge 4$ and $D \ge 1$. A row's length is 0 or from 0.00001 to some hundreds. In the question a zero row adds nothing. Its score of 0 is the best where all others are negative. Scores that differ by 0.00001 are different, and the larger wins; equal scores are tested only where every length and every score is exact in float32, so rounding never decides.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "analogy", "locked": false, "schema_version": 3, "solution": true, "task": false}
def analogy(matrix: Float[Tensor, "V D"], a: int, b: int, c: int) -> int:
    """The row that answers "a is to b as c is to ...", by 3CosAdd, never a, b or c itself."""
    ### BEGIN SOLUTION
    unit = matrix / matrix.norm(dim=1, keepdim=True).clamp(min=1e-12)    # (V, D)
    scores = unit @ (unit[b] - unit[a] + unit[c])                        # (V,)
    scores[[a, b, c]] = -math.inf
    return int(scores.argmax())
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "analogy-check", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check(analogy)

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-bank", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 5. Word senses

# %% [markdown] nbgrader={"grade": false, "grade_id": "bank-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 13. One vector, two senses
#
# **Why.** This is the question that the next fifteen chapters answer.
#
# **Difficulty** 3 of 5 · **Time** 12 minutes · **Points** 5, graded by hand · **Paper** Arora, Li, Liang, Ma and Risteski (2018), on what one vector keeps of several senses
#
# You train skip-gram on a large collection of newspapers.
# In 9 of 10 cases *bank* lends money. In 1 of 10 it is the side of a river.
# In about 150 words, explain to a friend who knows what a vector is, but not how word2vec works:
#
# | points | what your answer does |
# | --- | --- |
# | 1 | says *why* both sentences get the same vector: what the model looks up, and what it does not look at |
# | 2 | says what training does to that one vector when two senses pull at it: what each pair contributes, who wins, what is left of the other |
# | 1 | predicts something that one can check: for example what the nearest neighbours of *bank* will be, or a cosine that will be larger than another |
# | 1 | names what a model would have to do differently to tell the two apart |
#
# Length earns and costs nothing. Correct and concrete beats long. You may run the training cell below first.
#
# <details><summary>Hint 1: a nudge</summary>
#
# In exercise 9, which inputs does the gradient of the centre depend on? Is the rest of the sentence among them?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Picture 10 pairs with *bank* as the centre: 9 with words such as *loan*, 1 with a word such as *shore*. Each pulls the same vector a little. Where does it settle? Closer to which words?
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# *Two people keep one diary.* One writes in it on nine days out of ten, the other on the tenth.
# Somebody who reads only the cover sees one diary (one entry per name, no matter who asks).
# Its "average day" looks like the first person's life with a faint trace of the second.
# A check: count the words; those of the first outnumber those of the second about nine to one.
# To tell them apart, you would have to look at what surrounds each entry.
#
# </details>

# %% [markdown] nbgrader={"grade": true, "grade_id": "bank", "locked": false, "points": 5, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# **For the grader.** Give whole points by the four rows of the rubric. Don't take points for language or length, and don't give a row twice. Wrong statements cost nothing by themselves, unless they contradict the row that they would earn.
#
# **Weak, 1 of 5.**
# "The computer sees bank as one word so it has the same vector. Bank has two meanings, so the vector has two meanings too. This is a problem, because a computer cannot understand meaning like we do. Better models with more data would solve it."
#
# *Why*: row 1 just about (one word, one vector), 1 point. Nothing on what training does (0 of 2). Nothing that can be checked (0). "More data" changes nothing: the table still has one row for bank (0).
#
# **Fair, 3 of 5.**
# "word2vec has a table with one entry per word. When it meets bank it always takes the same entry, whatever the sentence. While training, each neighbour pulls the vector a bit towards itself. Loan and money pull nine times as often as river, so the vector ends up near the money words. To solve it we should have two vectors for bank."
#
# *Why*: row 1 in full, 1 point. Row 2 half: the pulls and the winner, but not what is left of the river, 1 of 2. No prediction beyond "near the money words", which is already counted in row 2 (0). Row 4 names a change, two vectors. It does not say how to choose between them, but naming it is what the row asks, 1 point.
#
# **Strong, 5 of 5.**
# "A static embedding is a table: the word's number picks a row, and nothing else of the sentence is an input. So both sentences get exactly the same row. In training, each pair (bank, context) adds a step towards that context and away from random words. Nine of ten steps come from loan, credit, branch; one from shore, mud, river. The steps add up, so the row settles near a weighted mixture: mostly money, but the river part is not gone, it is a small component in another direction. So I predict: the ten nearest neighbours of bank are money words. Still, the cosine of bank and river will be higher than that of loan and river, because of the one in ten. To tell the senses apart the vector must be computed from the sentence, for example by mixing in the vectors of the neighbours each time the word is used."
#
# *Why*: all four rows. Row 2 has both halves (who wins, what is left), row 3 two checkable claims, row 4 a vector that depends on the sentence.
# ### END SOLUTION

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-training", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Your vectors, trained
#
# Nothing to write here. Run the cells and watch.
#
# The text is a dictionary: 134,298 lines of the Open English WordNet, each a word and its definition, about 1.4 million words.
# Your `keep_probability` subsamples it, your `noise_distribution` draws the negatives, your `sgns_gradients` computes the steps.
# The rest is a loop. Read it once: there is nothing else in word2vec.
#
# Each vector takes smaller steps the more it has moved already (AdaGrad), so that one learning rate suits rare and frequent words.
# It takes about a minute.

# %% nbgrader={"grade": false, "grade_id": "train-loop", "locked": true, "schema_version": 3, "solution": false, "task": false}
import time

from course.demo import Film, gensim_score, ready
from reference_impl.corpora import load
from reference_impl.embeddings.evaluation import cosine_similarity, word_similarity
from reference_impl.embeddings.skipgram import sgns_loss as measured_loss
from reference_impl.embeddings.vectors import Vectors
from reference_impl.embeddings.vocabulary import Vocabulary, encode, flatten, tokenize


def pairs_of(text: Int[Tensor, "T"], line: Int[Tensor, "T"], window: int, rng) -> Int[Tensor, "2 P"]:
    """All (centre, context) pairs in random order; each centre looks 1 to `window` words far, by chance."""
    reach = torch.randint(1, window + 1, text.shape, generator=rng)
    found = []
    for distance in range(1, window + 1):
        left = (line[distance:] == line[:-distance]).nonzero()[:, 0]        # both ends in the same line
        right = left + distance
        for center, context in ((left, right), (right, left)):
            seen = reach[center] >= distance
            found.append(torch.stack([text[center[seen]], text[context[seen]]]))
    pairs = torch.cat(found, 1)
    return pairs[:, torch.randperm(pairs.shape[1], generator=rng)]


def train(vocabulary, text, line, film, dim=64, window=5, negatives=5, threshold=1e-4, epochs=4, batch=2048, rate=0.1,
          patience=240):
    """Vectors of the centres, by your three functions; stops after `patience` seconds."""
    rng = torch.Generator().manual_seed(1)
    counts = torch.from_numpy(vocabulary.counts)
    keep, noise = keep_probability(counts, threshold), noise_distribution(counts)
    centers, contexts = (torch.rand(len(counts), dim, generator=rng) - 0.5) / dim, torch.zeros(len(counts), dim)
    moved = {id(table): torch.zeros(len(counts), 1) for table in (centers, contexts)}     # how much each row has moved

    def step(table, rows, gradient, size):
        moved[id(table)].index_add_(0, rows, gradient.square().mean(1, keepdim=True))
        table.index_add_(0, rows, -size * gradient / (moved[id(table)][rows].sqrt() + 1e-6))

    started, seen, spent = time.perf_counter(), 0, 0.0
    for epoch in range(epochs):
        kept = torch.rand(text.shape, generator=rng) < keep[text]
        pairs = pairs_of(text[kept], line[kept], window, rng)
        for first in range(0, pairs.shape[1], batch):
            center, context = pairs[:, first:first + batch]
            drawn = torch.multinomial(noise, len(center) * negatives, replacement=True, generator=rng).view(-1, negatives)
            vectors = centers[center], contexts[context], contexts[drawn]
            d_center, d_context, d_negatives = sgns_gradients(*vectors)
            last = epoch == epochs - 1 and first + batch >= pairs.shape[1]
            if seen % (256 * batch) == 0 or last:
                film.shoot(seen, float(measured_loss(*vectors)), centers, center, context, drawn)
                print(f"\r{seen:>10,} pairs   loss {film.loss:.3f}   {spent:4.0f} s", end="")
            size = rate * (1 - (epoch + first / pairs.shape[1]) / epochs)      # smaller and smaller steps
            step(centers, center, len(center) * d_center, size)                # the gradient of the sum, not of the mean
            step(contexts, context, len(center) * d_context, size)
            step(contexts, drawn.flatten(), len(center) * d_negatives.flatten(0, 1), size)
            seen, spent = seen + batch, time.perf_counter() - started
            if spent > patience:
                print(f"\nStopped after {patience} s. Tensor operations in place of loops would make your gradients faster.")
                return Vectors(vocabulary.words, centers)
    print()
    return Vectors(vocabulary.words, centers)

# %% nbgrader={"grade": false, "grade_id": "train-run", "locked": true, "schema_version": 3, "solution": false, "task": false}
vectors = None
if ready(keep_probability, noise_distribution, sgns_gradients, needs=["oewn_glosses", "wordsim353"]):
    lines = [tokenize(line) for line in load("oewn_glosses")]
    vocabulary = Vocabulary.from_sentences(lines, min_count=5)
    text, line = map(torch.from_numpy, flatten(encode(lines, vocabulary)))
    print(f"{len(text):,} words of text, {len(vocabulary):,} of them different")
    film = Film(vocabulary.index, {
        "bank": ["bank"],
        "money": ["money", "loan", "credit", "deposit", "savings", "pay"],
        "river": ["river", "stream", "lake", "shore", "slope", "water"],
    })
    vectors = train(vocabulary, text, line, film)

# %% [markdown] nbgrader={"grade": false, "grade_id": "train-judge", "locked": true, "schema_version": 3, "solution": false, "task": false}
# How good are they? WordSim-353 asked people how related two words are; the score compares the order of their answers with the order of your cosines.
# 1 is perfect agreement, 0 is none.
# Next to your score is that of gensim, the library that most people use, trained on the same text.
# It is higher, and should be: gensim trained 100 dimensions with windows of 10 in 8 passes over the text, your loop 64 with windows of 5 in 4, so that it finishes while you wait.

# %% nbgrader={"grade": false, "grade_id": "train-look", "locked": true, "schema_version": 3, "solution": false, "task": false}
if vectors is None:
    print("There are no vectors yet: the cell above needs your functions.")
else:
    yours = word_similarity(vectors, load("wordsim353"))
    print(f"WordSim-353, your functions: {yours.rho:.3f}   ({yours.used} of {yours.total} pairs have both words)")
    print(gensim_score())
    for word in ("bank", "river", "money"):
        print(f"nearest to {word:<6}", ", ".join(f"{name} {cosine:.2f}" for name, cosine in vectors.neighbours(word, 7)))
    for first, second in (("bank", "money"), ("bank", "river"), ("money", "river"), ("loan", "river")):
        print(f"cosine of {first} and {second}: {float(cosine_similarity(vectors[first], vectors[second])):.2f}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "train-bank", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Two sentences, one vector. Compare with what you predicted in exercise 13.
#
# The next cell shows the same training as a moving picture: the few words of the film, seen from the two directions in which they end up widest apart.

# %% nbgrader={"grade": false, "grade_id": "train-film", "locked": true, "schema_version": 3, "solution": false, "task": false}
picture = None
if vectors is None:
    print("There is no film yet: the training cell waits for your functions.")
else:
    picture = film.figure(
        caption="Your training: *bank*, money words and river words, from the first pair to the last.",
        alt="Thirteen words as points in a plane. Money words and river words move apart during training; bank has to stand somewhere.")
picture

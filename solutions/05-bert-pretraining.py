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
# # Chapter 5. BERT pre-training: the exercises
#
# In this notebook you write BERT's pre-training: packing two sentences into one input, masking, the MLM loss, sentence pairs, and the whole encoder with its MLM head.
# At the end your encoder runs MiniLM's trained weights, and your functions continue the pre-training of a small BERT.
#
# There are 9 exercises and 53 points. Plan about 147 minutes, in as many sittings as you like.
#
# | Part | Exercises | Minutes | Points |
# | --- | --- | --- | --- |
# | Input representation | 1 | 15 | 5 |
# | Masked language modelling | 2 to 4 | 54 | 19 |
# | Next-sentence prediction | 5 | 12 | 5 |
# | The model | 6 to 8 | 54 | 19 |
# | In your own words | 9 | 12 | 5 |
# | Your code runs the real thing | nothing to write | 2 | 0 |
#
# **How it works.**
# 1. Read the statement, write the function in the cell below it, and run the check under that cell as often as you like.
# 2. A check's first line names the likely cause, its second a small input that fails. Stuck? Open the three hints in order; the third solves a similar problem.
# 3. Grading runs the same checks with other sizes and values. The smallest sizes are always among them.
#
# **Symbols.** $B$ sequences, $T$ positions, $V$ vocabulary size, $P$ position embeddings, $C$ hidden size, $L$ layers, $H$ heads, $I$ intermediate size.
#
# <details><summary>Fine print</summary>
#
# - *Arguments.* Leave them unchanged, lists included, and return something new: neither an argument or a part of one nor a result of an earlier call. A tensor may be a view of a larger one, such as a transpose; `reshape` works there, `view` may not.
# - *Types.* Return the type, dtype and shape that the statement names; a dictionary has the named keys and no others, in any order. A subclass counts as its type, and an `int` may be given for a `float`, but a bool does not count as a number. Correct values in another type or dtype, with an axis of length 1 too many or too few, or with an extra key, lose a fifth of the exercise's points, once. So does breaking only *Arguments* or *Calls*.
# - *Precision.* Floats are compared to four digits of each value, and to 0.00001 near 0; float32 has seven digits, so the order of your operations does not matter. Half precision, rounding, or a small constant "for safety" is wrong where it shows in these digits, and only there. Integers are compared exactly.
# - *Logarithms* are natural.
# - *Calls.* A result depends only on the arguments: not on earlier calls, and not on chance. Where randomness is needed, the random numbers are arguments. Calls may come in any order.
# - *Tools.* You may use anything in torch, numpy and the standard library, including softmax, `cross_entropy`, `layer_norm`, `gelu` and `scaled_dot_product_attention`. Not allowed are the course's own models, objectives and encodings, and torch's ready-made Transformer layers.
# - *Sizes and time.* Every axis has length 1 to 300, a list has at most 300 entries, and no score matrix has more than 100,000 elements, unless a statement says otherwise. Ids are integers of at least 0, and no integer exceeds a billion. The cells that show what a function is for, and the last part, use some longer axes and lists, which the checks do not. A call may take five seconds: plain Python loops are fast enough.
# - *Smallest sizes.* Grading always includes one sequence, one token, and an empty list where a statement allows it.
# - *Arguments are as promised.* Your function need not check what a statement promises after **In**. You may add cells anywhere: helpers, prints, plots.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int
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

progress("05")                                 # follows your checks

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-input", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 1. Input representation

# %% [markdown] nbgrader={"grade": false, "grade_id": "pair_input-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 1. Two texts, one input
#
# **Why.** Everything that BERT reads, one text or two, reaches it as one sequence of ids and one of segments. A question with its passage, a query with a search result and a pair for next-sentence prediction all go in this way.
#
# **Difficulty** 2 of 5 · **Time** 15 minutes · **Points** 5 · **Paper** Devlin et al. (2019), section 3 and figure 2; the truncation is that of the released code
#
# Two texts `a` and `b`, lists of ids, become one sequence:
#
# `cls` *a* `sep` *b* `sep`
#
# The segment is 0 from `cls` up to and including the first `sep`, and 1 after it. Without a second text, where `b` is empty, the sequence is `cls` *a* `sep` with segments 0.
#
# At most `max_length` ids fit, `cls` and `sep` included. If there are more, tokens are removed from the **ends** of the texts, one at a time: always the last token of the text that is longer at that moment, and of `b` while both are equally long.
#
# Write `pair_input(a, b, cls, sep, max_length)`. `a` and `b` are lists of ints; `cls`, `sep` and `max_length` are ints. The result is a tuple of two lists of ints, ids and segments, of the same length.
#
# **By hand.** `a` = 11, 12, 13, 14, 15 and `b` = 21, 22, 23, with `cls` = 2, `sep` = 3 and `max_length` = 8. Three positions go to `cls` and `sep`, so 5 tokens fit and 3 must go. `a` is longer: 15 goes, then 14. Now both have three: 23 goes.
#
# | ids | 2 | 11 | 12 | 13 | 3 | 21 | 22 | 3 |
# | --- | --- | --- | --- | --- | --- | --- | --- | --- |
# | segments | 0 | 0 | 0 | 0 | 0 | 1 | 1 | 1 |
#
# **Rules**
# 1. `cls` and `sep` are never removed.
# 2. Whether there is a second text is decided before truncation: a `b` that loses all of its tokens still has its `sep`, in segment 1.
# 3. `a` may be empty as well, with a `b` or without: `cls` `sep` is the shortest result.
#
# <details><summary>Hint 1: a nudge</summary>
#
# How many positions are left for the tokens of both texts if there is a `b`, and how many if there is none?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# First find two numbers, how many tokens of `a` stay and how many of `b`: start with both lengths, and while their sum is too large, subtract 1 from one of them. Then build the ids from two slices and the segments by counting: `[0] * ...` and `[1] * ...`.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# Two queues wait at a gate with `room` for so many people. While there are too many, the last person of the longer queue goes home; of the left one, if both are equally long.
#
# ```python
# def staying(left, right, room):
#     while left + right > room:
#         if left >= right:
#             left -= 1
#         else:
#             right -= 1
#     return left, right
# ```
#
# `staying(5, 2, 4)` is `(2, 2)`.
#
# </details>
# <details><summary>Fine print</summary>
#
# `max_length` is at least 3, and each text has at most 300 ids. A text may contain any ids, those of `cls` and `sep` too, which may be equal; inside a text they are tokens like all others.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "pair_input", "locked": false, "schema_version": 3, "solution": true, "task": false}
def pair_input(a: list[int], b: list[int], cls: int, sep: int, max_length: int) -> tuple[list[int], list[int]]:
    """The ids `cls a sep b sep`, or `cls a sep` without b, cut to max_length, and the segment of each."""
    ### BEGIN SOLUTION
    room = max_length - (3 if b else 2)
    first, second = len(a), len(b)
    for _ in range(first + second - room):
        if first > second:
            first -= 1
        else:
            second -= 1
    ids = [cls, *a[:first], sep]
    end = [*b[:second], sep] if b else []
    return ids + end, [0] * len(ids) + [1] * len(end)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "pair_input-check", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check(pair_input)

# %% [markdown] nbgrader={"grade": false, "grade_id": "pair_input-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The two sentences of this course as one input. *lends* is two tokens of BERT's vocabulary, so there are 16 positions.

# %% nbgrader={"grade": false, "grade_id": "look-pair_input", "locked": true, "schema_version": 3, "solution": false, "task": false}
first = "we sat on the bank of the river".split()
second = "the bank lend ##s money".split()
names = ["[CLS]", "[SEP]", *dict.fromkeys(first + second)]
for max_length in (16, 11):
    made = attempt(pair_input, [names.index(word) for word in first], [names.index(word) for word in second], 0, 1, max_length)
    if made is not None:
        print(" ".join(names[id] for id in made[0]))
        print(" ".join(f"{segment:<{len(names[id])}}" for id, segment in zip(*made)), "\n")

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-blanks", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 2. Masked language modelling
#
# Hide some tokens of a text and let the model predict them from both sides.

# %% [markdown] nbgrader={"grade": false, "grade_id": "mask_tokens-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 2. Masking with 80/10/10
#
# **Why.** This is all the supervision that MLM needs. Nobody labels anything: the text is its own answer key.
#
# **Difficulty** 3 of 5 · **Time** 22 minutes · **Points** 8 · **Paper** Devlin et al. (2019), section 3.1, task 1, and appendix A.1
#
# In each sequence some tokens are *selected* for prediction. Most of them are replaced by `[MASK]`. Because `[MASK]` never occurs after training, one in ten is replaced by another token instead, and one in ten stays: the model cannot know which tokens to trust and must represent all of them.
#
# All randomness comes from outside, in three tensors of the shape of `ids`.
#
# 1. *How many.* A sequence has $n$ **ordinary** tokens, those where `special` is False. Of these, $15 n / 100$ are selected, rounded to the nearest whole number; an exact half goes to the even number, as in Python's `round(15 * n / 100)`. If there is an ordinary token, at least one is selected.
# 2. *Which.* The ordinary tokens with the **smallest** values in `order`.
# 3. *Replacement.* `fate` holds a digit from 0 to 9. At a selected position, 0 to 7 replaces the token by `mask_id`, 8 by the token in `others`, and 9 leaves it.
#
# Write `mask_tokens(ids, special, order, fate, others, mask_id)`. All tensors are $(B, T)$: `ids`, `fate` and `others` int64, `special` bool, `order` float32; `mask_id` is an int. The result is a tuple of two int64 tensors $(B, T)$: the new ids, and the labels, which are the **original** id at each selected position and -100 everywhere else.
#
# **By hand.** Ten ordinary tokens between `[CLS]` = 2 and `[SEP]` = 3; `[MASK]` is 4. 15 % of ten is 1.5, exactly between 1 and 2, and 2 is even. The two smallest values of `order` at ordinary tokens are .05 and .12.
#
# | ids | 2 | 11 | 12 | 13 | 14 | 15 | 16 | 17 | 18 | 19 | 20 | 3 |
# | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
# | `order` | .02 | .61 | **.05** | .90 | .33 | .47 | **.12** | .58 | .81 | .29 | .77 | .44 |
# | `fate` | 1 | 8 | 3 | 9 | 0 | 2 | 8 | 5 | 5 | 1 | 7 | 8 |
# | `others` | 51 | 52 | 53 | 54 | 55 | 56 | 57 | 58 | 59 | 60 | 61 | 62 |
# | new ids | 2 | 11 | **4** | 13 | 14 | 15 | **57** | 17 | 18 | 19 | 20 | 3 |
# | labels | -100 | -100 | **12** | -100 | -100 | -100 | **16** | -100 | -100 | -100 | -100 | -100 |
#
# **Rules**
# 1. A special token is never selected and does not count, whatever its `order`.
# 2. Only `special` says what is special, never the id: id 0 or the id `mask_id` is an ordinary token where `special` is False.
# 3. A selected token has its label whatever replaces it, also when it stays.
# 4. Each sequence has its own $n$. 30 ordinary tokens: 4 are selected. 50: 8. 70: 10. 190: 28. Three: .45 rounds to 0, so 1.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Which of the three steps need the other positions of a sequence, and which need one position alone?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Make a bool tensor first, `chosen`. Where a token is special, put a number above 1 into a copy of `order`, so that it comes last. `argsort` of `argsort` gives each position its rank in the sequence, from 0; the ranks below the sequence's number are selected. Everything else is `torch.where`, and the labels come from the original ids.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# In each class the `number` fastest runners get a medal; those who were ill did not run.
#
# ```python
# def medals(seconds, ill, number):                             # (classes, pupils) twice, (classes,)
#     times = torch.where(ill, torch.inf, seconds)
#     ranks = times.argsort(1).argsort(1)                       # 0 for the fastest of each class
#     return (ranks < number[:, None]) & ~ill
# ```
#
# For the times 9, 7, 8 and one medal, with the second pupil ill, it is False, False, True.
#
# </details>
# <details><summary>Fine print</summary>
#
# Ids are at least 0. `order` is from 0 to below 1, no value twice in a sequence; `fate` is from 0 to 9. In float32, `0.15 * 190` is slightly above 28.5; `15 * n / 100` is exact. A sequence may consist of special tokens only: then nothing is selected in it. It may also have none. `others` may hold the original token: it still counts as selected.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "mask_tokens", "locked": false, "schema_version": 3, "solution": true, "task": false}
def mask_tokens(ids: Int[Tensor, "B T"], special: Bool[Tensor, "B T"], order: Float[Tensor, "B T"], fate: Int[Tensor, "B T"],
                others: Int[Tensor, "B T"], mask_id: int) -> tuple[Int[Tensor, "B T"], Int[Tensor, "B T"]]:
    """The ids after masking, and the labels: the original id at selected positions, -100 elsewhere."""
    ### BEGIN SOLUTION
    free = (~special).sum(1)                                              # (B,)
    number = (15 * free / 100).round().maximum(free.clamp(max=1))         # (B,)
    ranks = order.masked_fill(special, 2.0).argsort(1).argsort(1)         # (B, T)
    chosen = ranks < number[:, None]
    new = torch.where(chosen & (fate < 8), mask_id, ids)
    new = torch.where(chosen & (fate == 8), others, new)
    return new, torch.where(chosen, ids, -100)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "mask_tokens-check", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
check(mask_tokens)

# %% [markdown] nbgrader={"grade": false, "grade_id": "mask_tokens-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Ten thousand sequences of twenty tokens. How many are selected, and how are they replaced? The paper says 15 %, and of these 80, 10 and 10.

# %% nbgrader={"grade": false, "grade_id": "look-mask_tokens", "locked": true, "schema_version": 3, "solution": false, "task": false}
generator = torch.Generator().manual_seed(5)
ids, others = torch.randint(5, 1000, (2, 10_000, 20), generator=generator)
order, fate = torch.rand(10_000, 20, generator=generator), torch.randint(10, (10_000, 20), generator=generator)
made = attempt(mask_tokens, ids, torch.zeros(10_000, 20, dtype=torch.bool), order, fate, others, 4)
if made is not None:
    new, labels = made
    asked = labels != -100
    print(f"selected {asked.float().mean():.3f}; of these [MASK] {(new == 4)[asked].float().mean():.3f}, "
          f"unchanged {(new == ids)[asked].float().mean():.3f}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "mlm_loss-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 3. The MLM loss
#
# **Why.** This is the number that training reduces. Averaged over all positions it looks excellent from the start, because a model that copies its input is correct nearly everywhere.
#
# **Difficulty** 2 of 5 · **Time** 12 minutes · **Points** 5 · **Paper** Devlin et al. (2019), section 3.1, task 1, and appendix A.2
#
# At each position $(b, t)$ the model gives $V$ logits $z$. Where `labels` is not -100, the label is the correct token $y$. The loss is the mean cross-entropy over **all labelled positions of the batch together**:
#
# $$\mathcal{L} = \frac{1}{|M|} \sum_{(b, t) \in M} -\log \frac{e^{z_{bt, y}}}{\sum_v e^{z_{bt, v}}}, \qquad M = \{(b, t) : \text{labels}_{bt} \neq -100\}$$
#
# Write `mlm_loss(logits, labels)`. `logits` is float32 $(B, T, V)$, `labels` int64 $(B, T)$. The result is a float32 tensor without axes.
#
# **By hand.** Two positions are labelled, and the correct token has probability 1/2 at one and 1/8 at the other: the loss is (ln 2 + 3 ln 2) / 2 = 2 ln 2 = **1.386**. Divided by all 16 positions in place of 2 it would be 0.173.
#
# **Rules**
# 1. A label is the token at its own position. Nothing is shifted, unlike in GPT.
# 2. Label 0 is a token like any other; -100 is the only value that means "no label".
# 3. Every labelled position has the same weight: a sequence with three of them counts three times as much as a sequence with one.
# 4. If no position is labelled, the loss is 0.0.
# 5. Logits may be anything from -10,000 to 10,000: the softmax must neither overflow nor give a logarithm of 0.
#
# <details><summary>Hint 1: a nudge</summary>
#
# What is the mean of no numbers in torch? And which shape does `cross_entropy` expect of its logits?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# `logits[chosen]` with a bool tensor `chosen` $(B, T)$ gives the $(N, V)$ logits of the labelled positions alone, and `labels[chosen]` their labels. Sum the cross-entropies and divide by $N$, or by 1 where $N$ is 0.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# The mean height of all trees that were measured; -1 marks a tree that was not. 0.0 if none was.
#
# ```python
# def mean_height(heights):                                     # (forests, trees)
#     measured = heights[heights != -1]
#     return measured.sum() / max(len(measured), 1)
# ```
#
# `mean_height(torch.tensor([[2.0, -1], [4, 6]]))` is 4, not the mean of 2 and 5.
#
# </details>
# <details><summary>Fine print</summary>
#
# $V$ is at least 2, logits are finite, and each label is -100 or from 0 to $V - 1$. The loss is differentiated: its gradient reaches the logits at labelled positions and is 0 at all others. The gradient without any label is never tested.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "mlm_loss", "locked": false, "schema_version": 3, "solution": true, "task": false}
def mlm_loss(logits: Float[Tensor, "B T V"], labels: Int[Tensor, "B T"]) -> Float[Tensor, ""]:
    """The mean of -log p(label) over all labelled positions; 0.0 if there is none."""
    ### BEGIN SOLUTION
    chosen = labels != -100
    log_shares = logits[chosen].log_softmax(1)                            # (N, V)
    prices = -log_shares.gather(1, labels[chosen][:, None])               # (N, 1)
    return prices.sum() / max(len(prices), 1)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "mlm_loss-check", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check(mlm_loss)

# %% [markdown] nbgrader={"grade": false, "grade_id": "mlm_loss-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# A model that has learned nothing gives each of 30,522 tokens the same probability. Its loss is ln 30,522 = 10.33 nats, and that is where BERT starts.

# %% nbgrader={"grade": false, "grade_id": "look-mlm_loss", "locked": true, "schema_version": 3, "solution": false, "task": false}
labels = torch.tensor([[-100, 7, -100], [-100, -100, 30_521]])
found = attempt(mlm_loss, torch.zeros(2, 3, 30_522), labels)
if found is not None:
    print(f"{found.item():.2f}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "test_masking-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 4. Write the test: is the masking correct?
#
# **Why.** Code that masks the wrong tokens raises no error. The loss falls, and the model learns something else: published code has predicted all tokens instead of the selected ones.
#
# **Difficulty** 4 of 5 · **Time** 20 minutes · **Points** 6 · **Paper** Devlin et al. (2019), section 3.1, task 1
#
# Now you are the examiner. `implementation(ids, special, seed)` draws its own randomness and returns the new ids and the labels, both int64 $(B, T)$. `MASK`, `FIRST` and `VOCAB` are defined in the cell below: ordinary tokens have ids from `FIRST` to `VOCAB` - 1, and an id below `FIRST` is special.
#
# Write `test_masking(implementation)`. It returns nothing if these four promises are kept, and fails an `assert` if one is not. Each is worth 1.5 points, if your test stops all wrong implementations of that kind and lets every correct one pass:
#
# - *fraction selected*: in a sequence of $n$ ordinary tokens exactly $15 n / 100$, rounded and at least one, have a label. Wrong ones select another fraction, select each token independently, or count the special tokens;
# - *special tokens*: a special token, padding included, never has a label and never changes;
# - *labels*: a label is the original id, and a position without a label keeps its id. Wrong ones break that at all selected positions or at some kinds of them;
# - *replacement*: of the selected tokens, 80 % become `MASK`, 10 % an ordinary token drawn from all of them, and 10 % stay. Wrong ones are off by 10 percentage points or more, use a special token in at least a quarter of the random replacements, or always the same token.
#
# **By hand.** Of 100 selected tokens, 74 are `MASK`. Is that wrong? The standard deviation is $\sqrt{0.8 \cdot 0.2 / 100} = 0.04$, so 74 or fewer happens in about one of ten tests. With 3,000 selected tokens it is 0.007, and .74 never happens by chance.
#
# **Rules**
# 1. A test that rejects a correct implementation earns nothing: everybody would switch it off.
# 2. Complain with `assert`, or with anything that raises an AssertionError, such as `torch.testing.assert_close`. Any other exception means that your test is broken, and earns nothing.
# 3. Where $15 n / 100$ is exactly half-way between two whole numbers, as for 10, 30 or 50 ordinary tokens, correct implementations may round either way. Use other $n$.
# 4. A random token may happen to be the original one: it then looks as if it stayed.
# 5. Wrong implementations show themselves in a batch of 200 sequences of 80 ordinary tokens and 20 special ones: `[CLS]` in front, `[SEP]` and padding at the end.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Three of the four promises hold for every single token, so one token can break them. Which one needs thousands?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# One call with 200 sequences of 100 positions is enough: `[CLS]`, 80 ordinary tokens, `[SEP]`, padding. Selected are the positions whose label is not -100. Then check: their number in every sequence; that none is special; the labels against `ids` there, and the new ids against `ids` everywhere else; and, among the selected, the fractions of `new == MASK`, of `new == ids` and of the rest, each within 0.04 of its target. The rest, about 240, are ordinary tokens, and many different ones.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# A test for a function that shuffles a deck of 52 cards by a seed.
#
# ```python
# def test_shuffle(candidate):
#     decks = [candidate(list(range(52)), seed) for seed in range(2000)]
#     assert all(sorted(deck) == list(range(52)) for deck in decks), "a card is lost or doubled"      # true of each
#     stays = sum(deck[0] == 0 for deck in decks) / 2000        # true on average: 1/52 = 0.019, give or take 0.003
#     assert abs(stays - 1 / 52) < 0.015, "the first card stays too often, or never moves"
# ```
#
# </details>
# <details><summary>Fine print</summary>
#
# Allowed are any int64 `ids` $(B, T)$ from 0 to `VOCAB` - 1, with $B$ from 1 to 400 and $T$ from 1 to 100, a bool `special` $(B, T)$ that is True exactly where the id is below `FIRST`, and any int from 0 to a million as `seed`. A correct implementation may refuse anything else. Some return the same for the same seed, and some do not. An implementation never writes into its arguments. Fewer than 200 sequences may not show a wrong replacement. Returning False instead of a failing `assert` costs a fifth, once; any other returned value means nothing. Call the implementation about twenty times at most: one run of your test may take five seconds. Ids may be random, as long as your result never depends on the draw.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "setup-masks", "locked": true, "schema_version": 3, "solution": false, "task": false}
MASK, FIRST, VOCAB = 4, 5, 1000        # in exercise 4: [PAD] 0, [UNK] 1, [CLS] 2, [SEP] 3, [MASK] 4, then ordinary tokens

# %% nbgrader={"grade": false, "grade_id": "test_masking", "locked": false, "schema_version": 3, "solution": true, "task": false}
def test_masking(implementation: Callable[[Int[Tensor, "B T"], Bool[Tensor, "B T"], int], tuple[Int[Tensor, "B T"], Int[Tensor, "B T"]]]) -> None:
    """Fail an assert unless `implementation(ids, special, seed)` selects, labels and replaces tokens as promised."""
    ### BEGIN SOLUTION
    ids = torch.zeros(200, 100, dtype=torch.int64)
    ids[:, 0], ids[:, 81] = 2, 3
    ids[:, 1:81] = torch.arange(200 * 80).reshape(200, 80) * 7 % (VOCAB - FIRST) + FIRST
    new, labels = implementation(ids, ids < FIRST, 0)
    chosen = labels != -100
    assert not chosen[ids < FIRST].any(), "a special token is chosen"
    assert bool((chosen.sum(1) == 12).all()), "not 15 % of the free tokens"
    assert torch.equal(labels[chosen], ids[chosen]), "a label is not the id that stood there"
    assert torch.equal(new[~chosen], ids[~chosen]), "a token that was not chosen is changed"
    covered, kept = new[chosen] == MASK, new[chosen] == ids[chosen]
    for part, share in ((covered, 0.8), (kept, 0.1), (~covered & ~kept, 0.1)):
        assert abs(part.float().mean() - share) < 0.04, "another share than 80, 10 and 10 %"
    swapped = new[chosen][~covered & ~kept]
    assert bool((swapped >= FIRST).all()) and len(swapped.unique()) > 100, "what is swapped in is not drawn from all ordinary tokens"
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "test_masking-check", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
check(test_masking)

# %% [markdown] nbgrader={"grade": false, "grade_id": "test_masking-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Two implementations for your test: your own `mask_tokens` with random numbers from a generator, and the same with a `fate` that is never 9.

# %% nbgrader={"grade": false, "grade_id": "look-test_masking", "locked": true, "schema_version": 3, "solution": false, "task": false}
def drawn_by(faces: int):
    """Your mask_tokens, with digits from 0 to faces - 1."""
    def implementation(ids, special, seed):
        generator = torch.Generator().manual_seed(seed)
        order, fate = torch.rand(ids.shape, generator=generator), torch.randint(faces, ids.shape, generator=generator)
        return mask_tokens(ids, special, order, fate, torch.randint(FIRST, VOCAB, ids.shape, generator=generator), MASK)
    return implementation


for name, faces in (("correct", 10), ("nothing stays", 9)):
    try:
        attempt(test_masking, drawn_by(faces))
        print(f"{name}: your test passes it, if it is written")
    except AssertionError as complaint:
        print(f"{name}: your test complains: {complaint}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-pairs", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 3. Next-sentence prediction

# %% [markdown] nbgrader={"grade": false, "grade_id": "sentence_pairs-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 5. Pairs that follow, and pairs that do not
#
# **Why.** BERT's second objective, whose examples also come from plain text. Later models dropped it: much of it can be solved by topic.
#
# **Difficulty** 3 of 5 · **Time** 12 minutes · **Points** 5 · **Paper** Devlin et al. (2019), section 3.1, task 2
#
# A document is a list of sentences. Go through all documents in order, and through the sentences of each in order. Every sentence with another one **after it in its own document** is the first of a pair. Number these pairs $i = 0, 1, 2, \ldots$ across all documents.
#
# - If `coin[i]` is 0, the second is the sentence that follows, and the label is **0**: "follows".
# - If `coin[i]` is 1, the second comes from another document, and the label is **1**: "from elsewhere". Number the *other* documents from 0 in their order, leaving out the own one, and take number `other[i]` modulo their number. From that document take sentence `place[i]` modulo its number of sentences.
#
# Write `sentence_pairs(docs, coin, other, place)`. `docs` is a list of lists of texts; the others are lists of ints, one for each pair. The result is a list of tuples `(first, second, label)`.
#
# **By hand.** Three documents: A with the sentences a0, a1, a2; B with b0 alone; C with c0, c1. Pairs begin with a0, a1 and c0. `coin` = 0, 1, 1; `other` = 5, 3, 2; `place` = 0, 3, 4.
#
# | $i$ | first | coin | the others | document | sentence | pair |
# | --- | --- | --- | --- | --- | --- | --- |
# | 0 | a0 | 0 | | | | (a0, a1, 0) |
# | 1 | a1 | 1 | B, C | 3 % 2 = 1: C | 3 % 2 = 1 | (a1, c1, 1) |
# | 2 | c0 | 1 | A, B | 2 % 2 = 0: A | 4 % 3 = 1 | (c0, a1, 1) |
#
# **Rules**
# 1. The last sentence of a document begins no pair. A document of one sentence begins none, and others may draw from it.
# 2. Sentences and documents are identified by their index, not by their text: texts may repeat, within a document or across documents.
# 3. A pair from elsewhere has label 1 even if its second sentence reads like the true one.
#
# <details><summary>Hint 1: a nudge</summary>
#
# How many pairs begin in a document of $m$ sentences? And does $i$ restart with each document?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Two loops, over the documents and over the sentences 0 to $m - 2$, and a list that grows: its length is the number of the next pair. The other documents are `docs[:own] + docs[own + 1:]`.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# Every child of a class gives a present to a child of another class, by a drawn number.
#
# ```python
# def presents(classes, draw):
#     given = []
#     for own, children in enumerate(classes):
#         strangers = [child for number, group in enumerate(classes) if number != own for child in group]
#         for child in children:
#             given.append((child, strangers[draw[len(given)] % len(strangers)]))
#     return given
# ```
#
# `presents([["Ada"], ["Bo", "Cy"]], [3, 0, 0])` is Ada to Cy, Bo to Ada, Cy to Ada.
#
# </details>
# <details><summary>Fine print</summary>
#
# There are at least two documents, each with at least one text, which may be empty. `coin` holds 0 or 1; `other` and `place` hold numbers from 0 to a billion. If no document has two sentences, the result is an empty list.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "sentence_pairs", "locked": false, "schema_version": 3, "solution": true, "task": false}
def sentence_pairs(docs: list[list[str]], coin: list[int], other: list[int], place: list[int]) -> list[tuple[str, str, int]]:
    """(first, second, label) for every sentence with a successor; label 0: follows, 1: from another document."""
    ### BEGIN SOLUTION
    pairs = []
    for own, doc in enumerate(docs):
        elsewhere = docs[:own] + docs[own + 1:]
        for first, second in zip(doc, doc[1:]):
            i = len(pairs)
            if coin[i] == 1:
                drawn = elsewhere[other[i] % len(elsewhere)]
                second = drawn[place[i] % len(drawn)]
            pairs.append((first, second, coin[i]))
    return pairs
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "sentence_pairs-check", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check(sentence_pairs)

# %% [markdown] nbgrader={"grade": false, "grade_id": "sentence_pairs-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Three small documents. Cover the labels with your hand and guess: which words gave it away?

# %% nbgrader={"grade": false, "grade_id": "look-sentence_pairs", "locked": true, "schema_version": 3, "solution": false, "task": false}
docs = [["we sat on the bank of the river", "the river was high", "its bank was under water"], ["the bank lends money", "money is dear today"],
        ["the piano is out of tune"]]
for first, second, label in attempt(sentence_pairs, docs, [0, 1, 0], [0, 1, 0], [0, 0, 0]) or []:
    print(f"{label}  {first} | {second}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-model", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 4. The model

# %% [markdown] nbgrader={"grade": false, "grade_id": "predict_parameters-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 6. Where are 110 million parameters?
#
# **Why.** Papers describe a model by one number. Deriving it shows what a vocabulary costs, why twice the heads cost nothing, and what is saved when the decoder is tied.
#
# **Difficulty** 2 of 5 · **Time** 12 minutes · **Points** 6 · **Paper** Devlin et al. (2019), section 3 and appendix A.1
#
# A BERT for pre-training has these parts. Each matrix has a bias of the size of its output, and each LayerNorm a weight and a bias of size $C$.
#
# - *Embeddings*: $V$ tokens, $P$ positions and 2 segments, each with $C$ dimensions; then a LayerNorm.
# - *Blocks*, $L$ of them, in each: query, key, value and output projections, four matrices $C \times C$, in $H$ heads of $C / H$ dimensions; a feed-forward layer from $C$ to $I$ and back; two LayerNorms.
# - *Pooler*: a matrix $C \times C$ on the vector of `[CLS]`.
# - *MLM head*: a matrix $C \times C$ and a LayerNorm; then the logits of all $V$ tokens. Their matrix is tied: it is the token embeddings, which are not counted again. Their bias belongs to the head.
# - *NSP head*: a matrix from $C$ to 2.
#
# Write `predict_parameters(vocab_size, positions, hidden, num_layers, num_heads, inner)`. All arguments are ints. The result is a dictionary of five ints: `"embeddings"`, `"blocks"` (all $L$ together), `"pooler"`, `"masked_head"` and `"pair_head"`.
#
# **By hand.** $V = 10$, $P = 4$, $C = 4$, $L = 1$, $H = 2$, $I = 8$. Embeddings: (10 + 4 + 2) · 4 = 64, and 8 for the norm: **72**. The block: **172**, as in chapter 4. The pooler: 16 + 4 = **20**. The MLM head: 20 + 8 + 10 = **38**. The NSP head: **10**. Together 312.
#
# **Rules**
# 1. Biases and norms count. So does the embedding of a token that is never used.
# 2. Count in ints: the results reach $10^{17}$, where a float is off by several.
#
# <details><summary>Hint 1: a nudge</summary>
#
# On which of the six arguments does the count of a block not depend?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Write a small helper for a matrix with its bias, `rows * columns + rows`, and one for a norm. A block is four matrices, two more and two norms. The tied matrix appears once.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# The skip-gram model of chapter 1 with a linear classifier for `labels` classes on top:
#
# ```python
# def sizes(vocabulary, width, labels):
#     return {"tables": 2 * vocabulary * width, "layer": width * labels + labels}
# ```
#
# `sizes(10, 4, 3)` is 80 and 15.
#
# </details>
# <details><summary>Fine print</summary>
#
# The six ints are from 1 to a million, and `num_heads` divides `hidden`.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "predict_parameters", "locked": false, "schema_version": 3, "solution": true, "task": false}
def predict_parameters(vocab_size: int, positions: int, hidden: int, num_layers: int, num_heads: int, inner: int) -> dict[str, int]:
    """How many parameters the parts of a BERT for pre-training have."""
    ### BEGIN SOLUTION
    norm = 2 * hidden
    square = hidden * hidden + hidden
    block = 4 * square + (hidden * inner + inner) + (inner * hidden + hidden) + 2 * norm
    return {"embeddings": (vocab_size + positions + 2) * hidden + norm, "blocks": num_layers * block, "pooler": square,
            "masked_head": square + norm + vocab_size, "pair_head": 2 * hidden + 2}
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "predict_parameters-check", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
check(predict_parameters)

# %% [markdown] nbgrader={"grade": false, "grade_id": "predict_parameters-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The two sizes of the paper, which says 110 and 340 million, and the MiniLM that your code will run. Where does each have most of its parameters?

# %% nbgrader={"grade": false, "grade_id": "look-predict_parameters", "locked": true, "schema_version": 3, "solution": false, "task": false}
for name, sizes in {"base": (30_522, 512, 768, 12, 12, 3072), "large": (30_522, 512, 1024, 24, 16, 4096), "MiniLM": (30_522, 512, 384, 6, 12, 1536)}.items():
    parts = attempt(predict_parameters, *sizes)
    if parts is not None:
        print(f"{name:<7} {sum(parts.values()):>11,}   " + ", ".join(f"{part} {count:,}" for part, count in parts.items()))

# %% [markdown] nbgrader={"grade": false, "grade_id": "bert_encode-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 7. The whole encoder
#
# **Why.** This is BERT. Given the weights of a published file, it returns the vectors that search engines compare. MiniLM and many other sentence encoders are these thirty lines.
#
# **Difficulty** 5 of 5 · **Time** 30 minutes · **Points** 9 · **Paper** Devlin et al. (2019), section 3 and figure 2; Vaswani et al. (2017), section 3, for the order within a block
#
# `weights` holds the tensors of a published file under their names there: the token embeddings, for example, are `weights["embeddings.word_embeddings.weight"]`. In the table, `*` is the number of a layer, from 0, and each name is followed by `.weight` or `.bias`:
#
# | name | weight | bias |
# | --- | --- | --- |
# | `embeddings.word_embeddings` | $(V, C)$ | none |
# | `embeddings.position_embeddings` | $(P, C)$ | none |
# | `embeddings.token_type_embeddings` | $(2, C)$ | none |
# | `embeddings.LayerNorm` | $(C)$ | $(C)$ |
# | `encoder.layer.*.attention.self.query`, `.key`, `.value` | $(C, C)$ | $(C)$ |
# | `encoder.layer.*.attention.output.dense` | $(C, C)$ | $(C)$ |
# | `encoder.layer.*.attention.output.LayerNorm` | $(C)$ | $(C)$ |
# | `encoder.layer.*.intermediate.dense` | $(I, C)$ | $(I)$ |
# | `encoder.layer.*.output.dense` | $(C, I)$ | $(C)$ |
# | `encoder.layer.*.output.LayerNorm` | $(C)$ | $(C)$ |
#
# A matrix works as in `torch.nn.Linear`: $x W^\top + b$. LayerNorm is over the last axis with $\varepsilon = 10^{-12}$ inside the root.
#
# 1. *Embeddings.* The embeddings of the token, of its position (0, 1, 2, … from the left, padding included) and of its segment are **added**, then normalized.
# 2. *Attention* in each layer: queries, keys and values from $x$; head $h$ has the columns $hD$ to $(h+1)D - 1$ of each, with $D = C / H$, and scores divided by $\sqrt{D}$. Every token attends to all tokens of its sequence, in both directions and both segments, and to no padding. The heads, concatenated, go through `attention.output.dense`.
# 3. *Add, then norm*: $x \leftarrow \text{norm}(x + \text{attention}(x))$ with `attention.output.LayerNorm`.
# 4. *Feed-forward*: `intermediate.dense`, the exact GELU $z\,\Phi(z)$, `output.dense`. Then $x \leftarrow \text{norm}(x + \text{feed-forward}(x))$ with `output.LayerNorm`.
#
# Write `bert_encode(weights, ids, segments, mask, num_heads)`. `weights` is a dictionary of float32 tensors; `ids` and `segments` are int64 $(B, T)$, `mask` is bool $(B, T)$. The result is the output of the last layer, float32 $(B, T, C)$.
#
# **By hand.** One token, $C = 2$, no layer. Its token embedding is (3, 0), its position's (0, 1), its segment's (1, 0): the sum is (4, 1). The mean is 2.5 and the standard deviation 1.5, so the norm gives **(1, -1)**, with weights 1 and biases 0.
#
# **Rules**
# 1. There are as many layers as the names say: none at all, where the result is the normalized embeddings, or more than ten.
# 2. `mask` is True at tokens and False at padding, which may be anywhere in a sequence, also in front. Results at padding are not checked.
# 3. There may be more position embeddings than positions, and further names in the dictionary, such as `pooler.dense.weight`.
# 4. There is no dropout: the model is used, not trained.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Write three small helpers first: one that applies a matrix with its bias by name, one that normalizes by name, one that attends. What remains is a dozen lines.
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# `def linear(name, x): return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]`. Count layers with `while f"encoder.layer.{number}.output.dense.weight" in weights`. The key mask, `mask[:, None, None, :]`, broadcasts over heads and queries in the scores $(B, H, T, T)$: minus infinity where it is False. Begin with no layer and add one line after the other; each stage of the check switches on one more part.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# A perceptron of any number of layers whose tensors come from a file:
#
# ```python
# def perceptron(weights, x):
#     depth = 0
#     while f"layers.{depth}.weight" in weights:
#         x = torch.relu(x @ weights[f"layers.{depth}.weight"].T + weights[f"layers.{depth}.bias"])
#         depth += 1
#     return x
# ```
#
# </details>
# <details><summary>Fine print</summary>
#
# There are at most 40 layers. Segments are 0 or 1. Each sequence has at least one token. `num_heads` divides $C$, and may be 1 or $C$.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "bert_encode", "locked": false, "schema_version": 3, "solution": true, "task": false}
def bert_encode(weights: dict[str, Tensor], ids: Int[Tensor, "B T"], segments: Int[Tensor, "B T"], mask: Bool[Tensor, "B T"],
                num_heads: int) -> Float[Tensor, "B T C"]:
    """A vector for each token, by a BERT whose tensors have their published names."""
    ### BEGIN SOLUTION
    def linear(name: str, x: Tensor) -> Tensor:
        return torch.nn.functional.linear(x, weights[f"{name}.weight"], weights[f"{name}.bias"])

    def norm(name: str, x: Tensor) -> Tensor:
        return torch.nn.functional.layer_norm(x, x.shape[2:], weights[f"{name}.weight"], weights[f"{name}.bias"], 1e-12)

    def heads(name: str, x: Tensor) -> Tensor:
        return linear(name, x).unflatten(2, (num_heads, -1)).transpose(1, 2)              # (B, H, T, D)

    words, positions, kinds = (weights[f"embeddings.{name}_embeddings.weight"] for name in ("word", "position", "token_type"))
    x = norm("embeddings.LayerNorm", words[ids] + positions[:ids.shape[1]] + kinds[segments])         # (B, T, C)
    number = 0
    while f"encoder.layer.{number}.output.dense.weight" in weights:
        layer = f"encoder.layer.{number}"
        q, k, v = (heads(f"{layer}.attention.self.{name}", x) for name in ("query", "key", "value"))
        seen = torch.nn.functional.scaled_dot_product_attention(q, k, v, mask[:, None, None])         # (B, H, T, D)
        attended = linear(f"{layer}.attention.output.dense", seen.transpose(1, 2).flatten(2))
        x = norm(f"{layer}.attention.output.LayerNorm", x + attended)
        thought = linear(f"{layer}.output.dense", torch.nn.functional.gelu(linear(f"{layer}.intermediate.dense", x)))
        x = norm(f"{layer}.output.LayerNorm", x + thought)
        number += 1
    return x
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "bert_encode-check", "locked": true, "points": 9, "schema_version": 3, "solution": false, "task": false}
check(bert_encode)

# %% [markdown] nbgrader={"grade": false, "grade_id": "bert_encode-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# A BERT with random weights, and a sequence of one and the same token at eight positions. The vectors differ only because the positions do. Set the position embeddings to zero, and look again.

# %% nbgrader={"grade": false, "grade_id": "look-bert_encode", "locked": true, "schema_version": 3, "solution": false, "task": false}
def random_weights(width: int, inner: int, layers: int) -> dict[str, Tensor]:
    """A dictionary as in the statement, drawn at random."""
    generator, weights = torch.Generator().manual_seed(5), {}
    for table, rows in (("word", 50), ("position", 16), ("token_type", 2)):
        weights[f"embeddings.{table}_embeddings.weight"] = torch.randn(rows, width, generator=generator)
    names = ["embeddings.LayerNorm"]
    for number in range(layers):
        inside = f"encoder.layer.{number}"
        for part, out, into in (("attention.self.query", width, width), ("attention.self.key", width, width), ("attention.self.value", width, width),
                                ("attention.output.dense", width, width), ("intermediate.dense", inner, width), ("output.dense", width, inner)):
            weights[f"{inside}.{part}.weight"] = torch.randn(out, into, generator=generator) / into**0.5
            weights[f"{inside}.{part}.bias"] = torch.zeros(out)
        names += [f"{inside}.attention.output.LayerNorm", f"{inside}.output.LayerNorm"]
    for name in names:
        weights[f"{name}.weight"], weights[f"{name}.bias"] = torch.ones(width), torch.zeros(width)
    return weights


weights, ids = random_weights(16, 32, 2), torch.full((1, 8), 7)
for name in ("with positions", "without"):
    if name == "without":
        weights["embeddings.position_embeddings.weight"] = torch.zeros(16, 16)
    found = attempt(bert_encode, weights, ids, torch.zeros_like(ids), torch.ones(1, 8, dtype=torch.bool), 4)
    if found is not None:
        print(f"{name}: the vectors of the eight positions are up to {(found - found[:, :1]).abs().max():.3f} apart")

# %% [markdown] nbgrader={"grade": false, "grade_id": "repair_head-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 8. One wrong line: the MLM head
#
# **Why.** Between BERT's last layer and its predictions is one more small network. Forget a part of it, and the model still predicts, only worse, and every shape is right.
#
# **Difficulty** 2 of 5 · **Time** 12 minutes · **Points** 4 · **Paper** Devlin et al. (2019), section 3.1, task 1; the transform is in the released code
#
# The head computes logits over the vocabulary from a token's vector $x$:
#
# $$h = \text{norm}(\text{GELU}(x\, W^\top + b)) \qquad \text{logits} = h\, E^\top + c$$
#
# $E$ is the matrix of token embeddings, the same that the model starts with: a token gets a high logit if $h$ points in the direction of its embedding. $c$ is a bias for each token.
#
# The function below runs without an error and returns the right shape. **Exactly one** of its six numbered lines is wrong: it *reads* the wrong name. Reading another name there repairs the function.
#
# ```python
# def masked_head(x, weights):                                              # x (N, C)
#     dense = x @ weights["dense.weight"].T                                 # line 1
#     dense = dense + weights["dense.bias"]                                 # line 2
#     active = torch.nn.functional.gelu(dense)                              # line 3
#     h = normed(dense, weights["norm.weight"], weights["norm.bias"])       # line 4
#     scores = h @ weights["words"].T                                       # line 5
#     return scores + weights["bias"]                                       # line 6
# ```
#
# `normed` is defined in the cell below: LayerNorm over the last axis with $\varepsilon = 10^{-12}$.
#
# Write two functions. `wrong_line()` returns the number of the line, an `int` (1 point). `masked_head(x, weights)` is the repaired function (3 points): `x` is float32 $(N, C)$; `weights` is a dictionary of float32 tensors, `dense.weight` $(C, C)$, `dense.bias`, `norm.weight` and `norm.bias` $(C)$, `words` $(V, C)$ and `bias` $(V)$. The result is float32 $(N, V)$.
#
# **By hand.** $C = 3$, `dense.weight` the identity and its bias 0, the norm with weights 1 and biases 0, `words` the identity, `bias` = (0, 0, 5), and $x$ = (-30, 0, 30). GELU turns it into (0, 0, 30). The mean is 10 and the standard deviation $\sqrt{200} = 14.14$: the norm gives (-0.707, -0.707, 1.414), and the logits are **(-0.707, -0.707, 6.414)**. Follow the code with these numbers and a pencil.
#
# **Rules**
# 1. Copy the function and change that line, or write it again.
# 2. The line and the function are graded separately.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Which of the names that the code assigns is never read again?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Trace the example through lines 1 to 6 and write down what each name holds. Which is the first line after which a name does not hold what the formula has there?
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# A price with a discount, and then tax on what is left.
#
# ```python
# def price(net, discount, tax):
#     reduced = net - discount
#     taxed = reduced * (1 + tax)                  # not net * (1 + tax): the discount would be lost silently
#     return taxed
# ```
#
# `price(100, 20, 0.5)` is 120.
#
# </details>
# <details><summary>Fine print</summary>
#
# In each vector at least one value above -3 enters GELU.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "setup-normed", "locked": true, "schema_version": 3, "solution": false, "task": false}
def normed(x: Float[Tensor, "N C"], weight: Float[Tensor, "C"], bias: Float[Tensor, "C"]) -> Float[Tensor, "N C"]:
    """LayerNorm over the last axis, with 1e-12 under the root."""
    return torch.nn.functional.layer_norm(x, weight.shape, weight, bias, 1e-12)

# %% nbgrader={"grade": false, "grade_id": "repair_head", "locked": false, "schema_version": 3, "solution": true, "task": false}
def wrong_line() -> int:
    """The number of the wrong line, 1 to 6."""
    ### BEGIN SOLUTION
    return 4
    ### END SOLUTION


def masked_head(x: Float[Tensor, "N C"], weights: dict[str, Tensor]) -> Float[Tensor, "N V"]:
    """The function of the statement, with the wrong line repaired."""
    ### BEGIN SOLUTION
    active = torch.nn.functional.gelu(x @ weights["dense.weight"].T + weights["dense.bias"])
    h = normed(active, weights["norm.weight"], weights["norm.bias"])
    return h @ weights["words"].T + weights["bias"]
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "repair_head-check", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(masked_head)

# %% [markdown] nbgrader={"grade": false, "grade_id": "repair_head-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# How large is the damage? With random vectors and random weights, how often does the wrong head predict another token than yours?

# %% nbgrader={"grade": false, "grade_id": "look-repair_head", "locked": true, "schema_version": 3, "solution": false, "task": false}
generator = torch.Generator().manual_seed(8)
x, dense, words = (torch.randn(*size, generator=generator) for size in ((1000, 32), (32, 32), (200, 32)))
parts = {"dense.weight": dense / 6, "dense.bias": torch.zeros(32), "norm.weight": torch.ones(32), "norm.bias": torch.zeros(32), "words": words, "bias": torch.zeros(200)}
yours = attempt(masked_head, x, parts)
if yours is not None:
    printed = normed(x @ parts["dense.weight"].T, parts["norm.weight"], parts["norm.bias"]) @ words.T
    print(f"another prediction in {(printed.argmax(1) != yours.argmax(1)).float().mean():.0%} of 1,000 cases")

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-own-words", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 5. In your own words

# %% [markdown] nbgrader={"grade": false, "grade_id": "why_hide-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 9. Why hide anything?
#
# **Why.** "BERT is bidirectional, GPT is not" is repeated everywhere, and explains nothing until you can say what each is trained on, and why the other could not be.
#
# **Difficulty** 3 of 5 · **Time** 12 minutes · **Points** 5, given by a person who reads it · **Paper** Devlin et al. (2019), section 3.1, task 1, and appendix C.2
#
# A friend wants to train the encoder of chapter 4, in which every position attends to every position, to predict the next word at each position, "just like GPT, but with more context". Then she wants to fill masks with it, and she plans to replace all selected words by `[MASK]`, without exception.
#
# In about 150 words: what would her loss do, what would the model learn, and by which path does the information arrive? Why does masking fix it, and what does it cost, compared with GPT, in predictions per text? Why did BERT's authors leave one selected word in ten unchanged and replace one in ten?
#
# {{rubric}}
#
# Short is fine. Correct and concrete beats long.
#
# <details><summary>Hint 1: a nudge</summary>
#
# At position 3 the question is: which word is at position 4? To which positions does position 3 attend?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Count, for a text of 100 tokens, the predictions in GPT's loss and those in BERT's. Then think of the time after training: which token does the model no longer meet, and what has it learned to do at all the others?
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# *A teacher gives an exam with the solutions printed on the next page.* Everybody has full marks, and nobody has learned anything but to turn the page. Tearing the page out fixes it. If only the questions in red ink are ever marked, the class soon reads nothing that is not red.
#
# </details>

# %% [markdown] nbgrader={"grade": true, "grade_id": "why_hide", "locked": false, "points": 5, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# {{samples}}
# ### END SOLUTION

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-real", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Your code runs the real thing
#
# Nothing to write here. Run the cells and watch; they take about a minute.
#
# First, your `bert_encode` takes the 103 tensors of MiniLM by their published names, and reads the course's two sentences as pairs that your `pair_input` makes.
# Then your `bert_encode` and your `masked_head` fill masks with the small BERT that was trained here on the King James Bible.
# Last, your `mask_tokens` and your `mlm_loss` continue its training for twenty steps, next to a twin that is trained by the course's own objective: same text, same random numbers.

# %% nbgrader={"grade": false, "grade_id": "real-encode", "locked": true, "schema_version": 3, "solution": false, "task": false}
import json
import time

from autograder.authoring.catalogue import ROOT
from course.demo import ready
from reference_impl.corpora import load, path
from reference_impl.corpora.small_models import small_model
from reference_impl.weights.pretrained import hugging_face_state
from reference_impl.weights.safetensors_files import read_weights


def your_vectors(model, tokenizer, weights: dict[str, Tensor], pairs: list[tuple[str, str]]) -> list[tuple[Float[Tensor, "1 T C"], Float[Tensor, "1 T C"]]]:
    """The vectors of each pair by your `pair_input` and `bert_encode`, and by the course's model."""
    cls, sep = tokenizer.encode("").ids
    found = []
    for texts in pairs:
        a, b = (tokenizer.encode(text, add_specials=False).ids if text else [] for text in texts)
        ids, segments = (torch.tensor([row]) for row in pair_input(a, b, cls, sep, 512))
        with torch.no_grad():
            found.append((bert_encode(weights, ids, segments, torch.ones_like(ids, dtype=torch.bool), model.config.num_heads), model(ids, segments).tokens))
    return found

# %% nbgrader={"grade": false, "grade_id": "real-encode-run", "locked": true, "schema_version": 3, "solution": false, "task": false}
SENTENCES = "we sat on the bank of the river", "the bank lends money"       # put two sentences of your own here
if ready(pair_input, bert_encode, needs=["minilm", "bert_tokenizer"]):
    minilm, tokenizer, weights = load("minilm").eval(), load("bert_tokenizer"), read_weights(path("minilm"))
    started = time.perf_counter()
    both = your_vectors(minilm, tokenizer, weights, [(SENTENCES[0], ""), (SENTENCES[1], ""), SENTENCES])
    seconds = time.perf_counter() - started
    print(f"{len(weights)} names in the file; three inputs by you and by the course's MiniLM in {seconds:.1f} s")
    for texts, (yours, theirs) in zip((SENTENCES[:1], SENTENCES[1:], SENTENCES), both):
        print(f"largest difference {(yours - theirs).abs().max():.0e}   {' | '.join(texts)}")
    alike = torch.cosine_similarity(*(yours[0].mean(0) for yours, _ in both[:2]), dim=0)
    print(f"cosine of the two sentences, each the mean of its tokens: {alike:.2f}")

# %% nbgrader={"grade": false, "grade_id": "real-fill", "locked": true, "schema_version": 3, "solution": false, "task": false}
def your_guesses(model, weights: dict[str, Tensor], ids: Int[Tensor, "B T"]) -> Float[Tensor, "B T V"]:
    """The logits of the small BERT by your `bert_encode` and your `masked_head`."""
    inside = {name.removeprefix("bert."): tensor for name, tensor in weights.items() if name.startswith("bert.")}
    vectors = bert_encode(inside, ids, torch.zeros_like(ids), torch.ones_like(ids, dtype=torch.bool), model.config.num_heads)
    head = {ours: weights[f"cls.predictions.{theirs}"] for ours, theirs in {
        "dense.weight": "transform.dense.weight", "dense.bias": "transform.dense.bias", "norm.weight": "transform.LayerNorm.weight",
        "norm.bias": "transform.LayerNorm.bias", "bias": "decoder.bias"}.items()}
    return masked_head(vectors.flatten(0, 1), head | {"words": inside["embeddings.word_embeddings.weight"]}).unflatten(0, ids.shape)

# %% nbgrader={"grade": false, "grade_id": "real-fill-run", "locked": true, "schema_version": 3, "solution": false, "task": false}
VERSES = ["the lord is my [MASK] and i will not be afraid", "and god said let there be [MASK] upon the earth"]       # yours may stand here too
if ready(bert_encode, masked_head):
    small = small_model("bert_kjv")
    weights = {name: tensor.detach() for name, tensor in hugging_face_state(small.model).items()}
    for verse in VERSES:
        row = small.tokenizer.encode(verse, add_specials=False)
        ids = torch.tensor([row.ids])
        scores = your_guesses(small.model, weights, ids)
        with torch.no_grad():
            apart = (scores - small.model(ids)).abs().max()
        place = row.tokens.index("[MASK]")
        shares, best = scores[0, place].softmax(0).topk(5)
        guesses = ", ".join(f"{small.tokenizer.vocabulary.token(token)} {share:.2f}" for token, share in zip(best.tolist(), shares.tolist()))
        print(f"{verse}\n    {guesses}   (scores apart by {apart:.0e})")

# %% nbgrader={"grade": false, "grade_id": "real-train", "locked": true, "schema_version": 3, "solution": false, "task": false}
from reference_impl.objectives.masked_lm import Masking, chosen_terms

LENGTH, ROWS, STEPS = 32, 32, 20


def chance_of(seed: int, ordinary: Int[Tensor, "N"]) -> tuple[Float[Tensor, "B T"], Int[Tensor, "B T"], Int[Tensor, "B T"]]:
    """Order, fate and others of a batch, drawn as the course's `Masking` draws them."""
    generator = torch.Generator().manual_seed(seed)
    order, fate = (torch.rand(ROWS, LENGTH, generator=generator) for _ in range(2))
    return order, (10 * fate).long(), ordinary[torch.randint(len(ordinary), (ROWS, LENGTH), generator=generator)]


def side_by_side(tokens: Int[Tensor, "N"], steps: int) -> tuple[list[tuple[float, float]], int, list]:
    """Train twins for some steps: the losses of both, how many batches were equal, and the models, yours first."""
    twins = [small_model("bert_kjv").model.train() for _ in range(2)]
    optimizers = [torch.optim.AdamW(twin.parameters(), lr=1e-4) for twin in twins]
    masking = Masking(4, twins[0].config.vocab_size, range(5))
    ordinary, losses, equal = torch.arange(5, masking.vocab_size), [], 0
    for step in range(steps):
        starts = torch.randint(len(tokens) - LENGTH, (ROWS,), generator=torch.Generator().manual_seed(1000 + step))
        ids = tokens[starts[:, None] + torch.arange(LENGTH)]
        yours = mask_tokens(ids, ids < 5, *chance_of(step, ordinary), masking.mask_id)
        theirs = masking.mask_tokens(ids, torch.Generator().manual_seed(step))
        equal += all(map(torch.equal, yours, theirs))
        prices = mlm_loss(twins[0](yours[0]), yours[1]), chosen_terms(twins[1](theirs[0]), theirs[1]).mean
        for loss, optimizer in zip(prices, optimizers):
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        losses.append(tuple(price.item() for price in prices))
    return losses, equal, twins

# %% nbgrader={"grade": false, "grade_id": "real-train-run", "locked": true, "schema_version": 3, "solution": false, "task": false}
if ready(mask_tokens, mlm_loss, needs=["kjv"]):
    tokenizer = small_model("bert_kjv").tokenizer
    text = load("kjv")
    tokens = torch.tensor([id for line in text.splitlines()[:3000] for id in tokenizer.encode(line, add_specials=False, specials_in_text=False).ids])
    started = time.perf_counter()
    losses, equal, twins = side_by_side(tokens, STEPS)
    print(f"{STEPS} steps of two models in {time.perf_counter() - started:.0f} s; {equal} of {STEPS} batches are equal")
    print("your loss:      ", " ".join(f"{yours:.3f}" for yours, _ in losses[::4]))
    print("the course's:   ", " ".join(f"{theirs:.3f}" for _, theirs in losses[::4]))
    apart = max((one - other).abs().max().item() for one, other in zip(twins[0].parameters(), twins[1].parameters()))
    print(f"after {STEPS} steps the weights are apart by {apart:.0e}")
    record = json.loads((ROOT / "bench" / "results" / "trained_bert.json").read_text(encoding="utf-8"))["at_blanks"]
    print("MLM loss on held-out verses:", ", ".join(f"{name} {row['nats']:.2f}" for name, row in record.items()))

# %% [markdown] nbgrader={"grade": false, "grade_id": "real-end", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The batches are equal token by token, because all random numbers came from outside. The losses agree to the digits shown; the weights differ in the last digits only, because sums in another order are rounded differently.
# Twenty steps hardly change the loss of a model that has had 2,400. The last line is the record of its training: counts that see both true neighbours still predict better than this small BERT, on a text that repeats itself. Chapter 6 puts a large one to work.


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
# # Chapter 5. BERT, pre-training: the exercises
#
# In this notebook you write BERT's pre-training: packing two sentences into one input, masking, the MLM loss, sentence pairs, and the whole encoder with its MLM head.
# At the end your encoder runs MiniLM's trained weights, and your functions continue the pre-training of a small BERT.
#
# There are 9 exercises and 53 points. Plan about 147 minutes, in as many sittings as you like.
#
# | Part | Exercises | Minutes | Points |
# | --- | --- | --- | --- |
# | Input representation | 1 | 15 | 5 |
# | Masked language modeling | 2 to 4 | 54 | 19 |
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
# - *Types.* Return the type, dtype and shape that the statement names; a dictionary has the named keys and no others, in any order. A subclass counts as its type, but a bool is not an `int`. Correct values in another type or dtype, or with an axis of length 1 too many or too few, lose a fifth of the exercise's points, once. So does breaking only *Arguments* or *Calls*.
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
    """What your function answers; None, and a friendly line, while it is not written yet."""
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
# - **What it is for**: whatever BERT reads, one text or two, reaches it as one row of ids with a second row that says which text each id is of. A question and its passage, a pair for next-sentence prediction and a search query with a hit all go in this way.
# - **Difficulty** 2 of 5 · **Time** 15 minutes · **Points** 5
# - **Needs**: lists, slices.
# - **Paper**: Devlin et al. (2019), section 3 and figure 2; the cutting is that of the code released with it.
#
# **The idea.** Two texts `a` and `b`, lists of ids, become one:
#
# `cls` *a* `sep` *b* `sep`
#
# Beside each id stands its segment: 0 from `cls` up to and including the first `sep`, 1 for everything after it. Where `b` is empty there is one text only, `cls` *a* `sep`, with segments 0: no second `sep`.
#
# At most `max_length` ids fit, `cls` and `sep` included. If there are more, the texts lose tokens from their **ends**, one token at a time: always the last token of the text that is longer at that moment, and of `b` while both are equally long.
#
# **By hand.** `a` = 11, 12, 13, 14, 15 and `b` = 21, 22, 23, with `cls` = 2, `sep` = 3 and `max_length` = 8. Three places go to `cls` and `sep`, so 5 tokens fit and 3 must go. `a` is longer: 15 goes, then 14. Both have three: 23 goes.
#
# | ids | 2 | 11 | 12 | 13 | 3 | 21 | 22 | 3 |
# | --- | --- | --- | --- | --- | --- | --- | --- | --- |
# | segments | 0 | 0 | 0 | 0 | 0 | 1 | 1 | 1 |
#
# **Rules**
#
# - `cls` and `sep` are never cut off.
# - Whether there is a second text is decided before anything is cut: a `b` that loses all of its tokens still has its `sep`, in segment 1.
# - `a` may be empty as well, with a `b` or without: `cls` `sep` is the shortest answer.
# - A text may hold any ids, those of `cls` and `sep` too, which may be equal. Inside a text they are tokens like all others.
#
# **In**: `a` and `b` lists of ints; `cls` and `sep` ints; `max_length` an int of at least 3. Each text has at most 300 ids. **Out**: a tuple of two lists of ints, ids and segments, of the same length.
#
# <details><summary>Hint 1: a nudge</summary>
#
# How many places are left for the tokens of both texts, if there is a `b`, and how many if there is none?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# First find two numbers, how many tokens of `a` stay and how many of `b`: start with both lengths, and while their sum is too large take 1 off one of them. Then build the ids from two slices, and the segments by counting: `[0] * ...` and `[1] * ...`.
#
# </details>
# <details><summary>Hint 3: a worked neighbour</summary>
#
# Two queues before a gate with `room` places. While too many stand there, the last of the longer queue goes home; of the left one, if both are equally long.
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
# The two sentences of this course as one input. *lends* is two tokens of BERT's vocabulary: 16 places in all.

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
# # Part 2. Masked language modeling
#
# Take a sentence, cover some of its words, and let the model say what stood there. It may look to both sides: what it is asked for, it cannot see.

# %% [markdown] nbgrader={"grade": false, "grade_id": "mask_tokens-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 2. Cover some, swap some, keep some
#
# - **What it is for**: this is all the supervision that BERT had. No one labelled anything: the text is its own answer key.
# - **Difficulty** 3 of 5 · **Time** 22 minutes · **Points** 8
# - **Needs**: `argsort`, `torch.where`, or plain loops.
# - **Paper**: Devlin et al. (2019), section 3.1, task 1, and appendix A.1.
#
# **The idea.** In each row some tokens are *chosen*: the model will be asked for them. Most of the chosen are covered with the token `[MASK]`. But whoever uses the model later never shows it a `[MASK]`. So one in ten is swapped for another token, and one in ten stays as it is: the model cannot know which words to trust, and has to think about all of them.
#
# All chance comes from outside, in three tensors that are as large as `ids`.
#
# 1. *How many.* A row has $n$ **free** tokens: those where `special` is False. Of these $15 n / 100$ are chosen, rounded to the nearest whole number; an exact half goes to the even number, as with Python's `round(15 * n / 100)`. If there is a free token, at least one is chosen.
# 2. *Which.* The free tokens with the **smallest** numbers in `order`.
# 3. *What becomes of them.* `fate` holds a throw of a ten-sided die. At a chosen place: 0 to 7, the token becomes `mask_id`; 8, it becomes what stands in `others`; 9, it stays.
#
# Return the changed ids, and the labels: at each chosen place the id that stood there **before**, and -100 everywhere else.
#
# **By hand.** Ten free tokens between `[CLS]` = 2 and `[SEP]` = 3, and `[MASK]` is 4. 15 % of ten is 1.5: exactly between 1 and 2, and 2 is even. The two smallest numbers of `order` at free places are .05 and .12.
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
#
# - 30 free tokens: 4 are chosen. 50: 8. 70: 10. 190: 28. Three: .45 rounds to 0, so 1. In float32 `0.15 * 190` is a hair above 28.5; `15 * n / 100` is exact.
# - A special token is never chosen and does not count, whatever its `order`. A row may consist of nothing else: then nothing is chosen in it. A row may have no special token, too.
# - Only `special` says what is special. An id says nothing: id 0, or the id `mask_id`, is a token like any other where `special` is False.
# - A chosen token has its label whatever becomes of it: also when it stays, and when `others` happens to hold the very same token.
# - Every row is for itself, with its own $n$.
#
# **In**: `ids` and `others` int64 $(B, T)$, ids of at least 0; `special` bool $(B, T)$; `order` float32 $(B, T)$, from 0 to below 1, no number twice in a row; `fate` int64 $(B, T)$, from 0 to 9; `mask_id` an int. **Out**: a tuple of two int64 tensors $(B, T)$, ids and labels.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Which of the three steps need to know about the other places of a row, and which look at one place alone?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Make one bool table first, `chosen`. Where a token is special, put a number above 1 into a copy of `order`: then it comes last. `argsort` of `argsort` gives each place its rank in the row, from 0; chosen are the ranks below the row's number. Everything else is `torch.where`, and the labels come from the ids as you got them.
#
# </details>
# <details><summary>Hint 3: a worked neighbour</summary>
#
# In each class the `number` fastest runners get a medal; who was ill did not run.
#
# ```python
# def medals(seconds, ill, number):                             # (classes, pupils) twice, (classes,)
#     times = torch.where(ill, torch.inf, seconds)
#     ranks = times.argsort(1).argsort(1)                       # 0 for the fastest of each row
#     return (ranks < number[:, None]) & ~ill
# ```
#
# For the times 9, 7, 8 and one medal, with the second pupil ill, it is False, False, True.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "mask_tokens", "locked": false, "schema_version": 3, "solution": true, "task": false}
def mask_tokens(ids: Int[Tensor, "B T"], special: Bool[Tensor, "B T"], order: Float[Tensor, "B T"], fate: Int[Tensor, "B T"],
                others: Int[Tensor, "B T"], mask_id: int) -> tuple[Int[Tensor, "B T"], Int[Tensor, "B T"]]:
    """The ids with some covered or swapped, and the labels: what stood at the chosen places, -100 elsewhere."""
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
# Ten thousand rows of twenty tokens. How many are chosen, and what becomes of them? The paper says 15 %, and of these 80, 10 and 10.

# %% nbgrader={"grade": false, "grade_id": "look-mask_tokens", "locked": true, "schema_version": 3, "solution": false, "task": false}
generator = torch.Generator().manual_seed(5)
ids, others = torch.randint(5, 1000, (2, 10_000, 20), generator=generator)
order, fate = torch.rand(10_000, 20, generator=generator), torch.randint(10, (10_000, 20), generator=generator)
made = attempt(mask_tokens, ids, torch.zeros(10_000, 20, dtype=torch.bool), order, fate, others, 4)
if made is not None:
    new, labels = made
    asked = labels != -100
    print(f"chosen {asked.float().mean():.3f}; of these covered {(new == 4)[asked].float().mean():.3f}, "
          f"as they were {(new == ids)[asked].float().mean():.3f}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "mlm_loss-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 3. The loss at the blanks
#
# - **What it is for**: the number that goes down when BERT is trained. Taken at all places it looks splendid from the start, because a model that copies its input is right nearly everywhere.
# - **Difficulty** 2 of 5 · **Time** 12 minutes · **Points** 5
# - **Needs**: `log_softmax` or `cross_entropy`.
# - **Paper**: Devlin et al. (2019), section 3.1, task 1, and appendix A.2.
#
# **The idea.** At each place $(b, t)$ the model gives $V$ logits. Where `labels` is not -100 it was asked a question, and the label is the right answer $y$. The price of one answer is
#
# $$-\log \frac{e^{z_y}}{\sum_v e^{z_v}}$$
#
# and the loss is the mean price over **all labelled places of the batch together**. Places with the label -100 play no part.
#
# **By hand.** Two places are labelled, and the right token has the probability 1/2 at one and 1/8 at the other: the loss is (ln 2 + 3 ln 2) / 2 = 2 ln 2 = 1.386. Divided by all 16 places in the place of 2 it would look like 0.173.
#
# **Rules**
#
# - A label is the token at its own place. Nothing is shifted: that is GPT's way.
# - Label 0 is a token like any other; -100 is the only number that means "not asked".
# - Every labelled place weighs the same: a row with three of them weighs three times as much as a row with one.
# - Logits may be anything from -10,000 to 10,000.
# - If no place is labelled, the loss is 0.0.
# - The loss is differentiated: its gradient reaches the logits wherever there is a label, and is 0 at all other places. What the gradient is when nothing is labelled is never asked.
#
# **In**: `logits` float32 $(B, T, V)$ with $V \geq 2$, finite; `labels` int64 $(B, T)$, each -100 or from 0 to $V - 1$. **Out**: a float32 tensor without axes.
#
# <details><summary>Hint 1: a nudge</summary>
#
# What is the mean of no numbers, in torch? And which shape does `cross_entropy` want its logits in?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# `logits[chosen]` with a bool table `chosen` $(B, T)$ gives an $(N, V)$ table of the labelled places alone, and `labels[chosen]` their labels. Sum the prices and divide by $N$, or by 1 where $N$ is 0.
#
# </details>
# <details><summary>Hint 3: a worked neighbour</summary>
#
# The mean height of all trees that were measured; -1 stands for a tree that was not. 0.0 if nobody measured any.
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

# %% nbgrader={"grade": false, "grade_id": "mlm_loss", "locked": false, "schema_version": 3, "solution": true, "task": false}
def mlm_loss(logits: Float[Tensor, "B T V"], labels: Int[Tensor, "B T"]) -> Float[Tensor, ""]:
    """The mean of -log p(label) over all places with a label; 0.0 if there is none."""
    ### BEGIN SOLUTION
    chosen = labels != -100
    log_shares = logits[chosen].log_softmax(1)                            # (N, V)
    prices = -log_shares.gather(1, labels[chosen][:, None])               # (N, 1)
    return prices.sum() / max(len(prices), 1)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "mlm_loss-check", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check(mlm_loss)

# %% [markdown] nbgrader={"grade": false, "grade_id": "mlm_loss-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# A model that has learned nothing and gives every token of 30,522 the same share pays ln 30,522 = 10.33 a blank. That is where BERT's loss starts.

# %% nbgrader={"grade": false, "grade_id": "look-mlm_loss", "locked": true, "schema_version": 3, "solution": false, "task": false}
labels = torch.tensor([[-100, 7, -100], [-100, -100, 30_521]])
found = attempt(mlm_loss, torch.zeros(2, 3, 30_522), labels)
if found is not None:
    print(f"{found.item():.2f}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "test_masking-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 4. Write the test: is it masked as it should be?
#
# - **What it is for**: code that covers the wrong words crashes nowhere. The loss falls, the model learns, and it learns the wrong thing: published code has asked for all tokens in the place of the chosen ones.
# - **Difficulty** 4 of 5 · **Time** 20 minutes · **Points** 6
# - **Needs**: `assert`, counting, how far a share may stray by chance.
# - **Paper**: Devlin et al. (2019), section 3.1, task 1.
#
# **The idea.** Now you are the one who checks. Somebody hands you `implementation`, which draws its own chance: `implementation(ids, special, seed)` returns the new ids and the labels, both int64 $(B, T)$. `MASK`, `FIRST` and `VOCAB` stand in the cell below: ordinary tokens are numbered from `FIRST` to `VOCAB` - 1, and an id below `FIRST` is a special token.
# Write a test that stays silent when what comes back keeps these four promises, and fails an `assert` when it does not. A kind earns its points when your test stops all wrong ones of that kind and lets every right one pass:
#
# - *share* (1.5 points): in a row of $n$ free tokens exactly $15 n / 100$ have a label, rounded, and at least one. Wrong ones choose another share, choose each token by a coin of its own, or count the special tokens as well;
# - *specials* (1.5 points): a special token, padding included, never has a label and never changes;
# - *labels* (1.5 points): a label is the id that stood there before, and a place without a label keeps its id. Wrong ones break that at all chosen places or at some kinds of them;
# - *fates* (1.5 points): of the chosen tokens, 80 % become `MASK`, 10 % an ordinary token drawn from all of them, and 10 % stay. Wrong ones have another share, wrong by 10 parts in a hundred or more, or swap in a special token in a quarter of the cases or more, or one and the same token in all.
#
# A test that complains about a right implementation earns nothing: everybody would switch it off.
#
# **By hand.** A hundred chosen tokens, and 74 of them are `MASK`. Is that wrong? The share of 100 throws strays by $\sqrt{0.8 \cdot 0.2 / 100} = 0.04$, so 74 happens every tenth time. Of 3,000 chosen tokens the share strays by 0.007: there .74 never happens by chance. A test that fails a right implementation once in ten runs is no test.
#
# **Mind**
#
# - Allowed is any int64 `ids` $(B, T)$ from 0 to `VOCAB` - 1, with $B$ from 1 to 400 and $T$ from 1 to 100, a bool `special` $(B, T)$ that is True exactly where the id is below `FIRST`, and any int from 0 to a million as `seed`. A right implementation may refuse anything else.
# - Where $15 n / 100$ lies halfway between two whole numbers, as with 10, 30 or 50 free tokens, right ones round as they like: ask about other $n$. Some return the same for the same seed, and some do not.
# - A swapped token may be, by chance, the one that stood there: it then looks as if it stayed.
# - A wrong one shows what it is in a batch of 200 rows with 80 free tokens and 20 special ones in each: `[CLS]` in front, `[SEP]` and padding behind. Fewer rows may not show the fates.
# - Ask about your `ids` as they were: an implementation never writes into its arguments.
# - Complain with `assert`, or with what raises an AssertionError, such as `torch.testing.assert_close`. Any other exception means that your test is broken, and earns nothing. To return False in place of a failing `assert` costs a fifth, once; another value that is returned says nothing.
# - Call it some twenty times at most: one run of your test may take five seconds. Ids may be drawn by chance, if your verdict never hangs on the draw.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Three of the four promises hold for every single token, so a single token can break them. Which is the one that needs thousands?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# One call with 200 rows of 100 places is enough: `[CLS]`, 80 ordinary tokens, `[SEP]`, padding. Chosen are the places whose label is not -100. Then: their number in every row; none of them special; the labels there beside `ids` there, and the new ids beside `ids` everywhere else; and among the chosen the shares of `new == MASK`, of `new == ids` and of the rest, each within 0.04 of what it should be. The rest, about 240, are ordinary tokens, and many different ones.
#
# </details>
# <details><summary>Hint 3: a worked neighbour</summary>
#
# A test for a function that shuffles a deck of 52 cards by a seed.
#
# ```python
# def test_shuffle(candidate):
#     decks = [candidate(list(range(52)), seed) for seed in range(2000)]
#     assert all(sorted(deck) == list(range(52)) for deck in decks), "a card is lost or doubled"      # true of each
#     stays = sum(deck[0] == 0 for deck in decks) / 2000        # true in the mean: 1/52 = 0.019, give or take 0.003
#     assert abs(stays - 1 / 52) < 0.015, "the first card stays too often, or never moves"
# ```
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "setup-masks", "locked": true, "schema_version": 3, "solution": false, "task": false}
MASK, FIRST, VOCAB = 4, 5, 1000        # in exercise 4: [PAD] 0, [UNK] 1, [CLS] 2, [SEP] 3, [MASK] 4, then ordinary tokens

# %% nbgrader={"grade": false, "grade_id": "test_masking", "locked": false, "schema_version": 3, "solution": true, "task": false}
def test_masking(implementation: Callable[[Int[Tensor, "B T"], Bool[Tensor, "B T"], int], tuple[Int[Tensor, "B T"], Int[Tensor, "B T"]]]) -> None:
    """Fail an assert unless `implementation(ids, special, seed)` chooses, labels and changes tokens as the card promises."""
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
# Two implementations for your test: your own `mask_tokens` with chance from a generator, and the same with a die that never shows 9.

# %% nbgrader={"grade": false, "grade_id": "look-test_masking", "locked": true, "schema_version": 3, "solution": false, "task": false}
def drawn_by(faces: int):
    """Your mask_tokens, with a die that shows 0 to faces - 1."""
    def implementation(ids, special, seed):
        generator = torch.Generator().manual_seed(seed)
        order, fate = torch.rand(ids.shape, generator=generator), torch.randint(faces, ids.shape, generator=generator)
        return mask_tokens(ids, special, order, fate, torch.randint(FIRST, VOCAB, ids.shape, generator=generator), MASK)
    return implementation


for name, faces in (("as it should be", 10), ("nothing is kept", 9)):
    try:
        attempt(test_masking, drawn_by(faces))
        print(f"{name}: your test stays silent, if it is written")
    except AssertionError as complaint:
        print(f"{name}: your test complains: {complaint}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-pairs", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 3. Next-sentence prediction

# %% [markdown] nbgrader={"grade": false, "grade_id": "sentence_pairs-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 5. Pairs that follow, and pairs that do not
#
# - **What it is for**: BERT's second task. Its examples, too, are made from plain text. Later models dropped it, and in this chapter you see why: the topic gives the answer away.
# - **Difficulty** 3 of 5 · **Time** 12 minutes · **Points** 5
# - **Needs**: loops, the remainder `%`.
# - **Paper**: Devlin et al. (2019), section 3.1, task 2.
#
# **The idea.** A document is a list of sentences. Go through all documents in order, and through the sentences of each in order. Every sentence that has another one **after it in its own document** is the first of a pair. Number these pairs $i = 0, 1, 2, \ldots$ through all documents.
#
# - Where `coin[i]` is 0, the second is the sentence that follows, and the label is **0**: "follows".
# - Where `coin[i]` is 1, the second comes from another document, and the label is **1**: "from elsewhere". To find it, number the *other* documents from 0 in their order, the own one left out, and take number `other[i]`, modulo how many there are. From that document take sentence number `place[i]`, modulo how many it has.
#
# Return the list of pairs, each a tuple of first sentence, second sentence and label.
#
# **By hand.** Three documents, A of the sentences a0, a1, a2; B of b0 alone; C of c0, c1. Pairs begin with a0, a1 and c0. `coin` = 0, 1, 1; `other` = 5, 3, 2; `place` = 0, 3, 4.
#
# | $i$ | first | coin | the others | document | place | pair |
# | --- | --- | --- | --- | --- | --- | --- |
# | 0 | a0 | 0 | | | | (a0, a1, 0) |
# | 1 | a1 | 1 | B, C | 3 % 2 = 1: C | 3 % 2 = 1 | (a1, c1, 1) |
# | 2 | c0 | 1 | A, B | 2 % 2 = 0: A | 4 % 3 = 1 | (c0, a1, 1) |
#
# **Rules**
#
# - The last sentence of a document begins no pair. A document of one sentence begins none, and others may draw from it. If no document has two sentences, the answer is an empty list.
# - Sentences are known by where they stand, not by what they say: the same sentence may stand twice in a document or in two of them, and two documents may be equal. A sentence may be the empty text.
# - A pair from elsewhere has the label 1 also if its second sentence reads like the true one.
#
# **In**: `docs`, at least two documents, each a list of at least one text; `coin`, `other` and `place`, lists of ints with one number for each pair: 0 or 1 in `coin`, in the others any number from 0 to a billion. **Out**: a list of tuples `(str, str, int)`.
#
# <details><summary>Hint 1: a nudge</summary>
#
# How many pairs begin in a document of $m$ sentences? And does the number $i$ start anew with each document?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Two loops, over the documents and over the places 0 to $m - 2$, and a list that grows: its length is the number of the next pair. For the others, make the list `docs[:own] + docs[own + 1:]` by the number of the own document.
#
# </details>
# <details><summary>Hint 3: a worked neighbour</summary>
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

# %% nbgrader={"grade": false, "grade_id": "sentence_pairs", "locked": false, "schema_version": 3, "solution": true, "task": false}
def sentence_pairs(docs: list[list[str]], coin: list[int], other: list[int], place: list[int]) -> list[tuple[str, str, int]]:
    """(first, second, label) for every sentence that has one after it; label 0: it follows, 1: it is from another document."""
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
# ## 6. Where do 110 million numbers sit?
#
# - **What it is for**: papers name a model by one number. Who can derive it knows what a vocabulary costs, why twice the heads cost nothing, and what is saved when the decoder is tied.
# - **Difficulty** 2 of 5 · **Time** 12 minutes · **Points** 6
# - **Needs**: chapter 4's count of a block.
# - **Paper**: Devlin et al. (2019), section 3 and appendix A.1.
#
# **What to predict.** A BERT for pre-training has these parts. Each matrix has a bias for every number that comes out, and each norm has a weight and a bias for every number of a token.
#
# - *Embeddings*: a table of $V$ tokens, one of $P$ positions and one of 2 segments, each row $C$ numbers; then a norm.
# - *Blocks*, $L$ of them, in each: queries, keys, values and output, four matrices $C \times C$, in $H$ heads of $C / H$ columns; a feed-forward from $C$ to $I$ and back; two norms.
# - *Pooler*: a matrix $C \times C$ on the vector of `[CLS]`.
# - *Masked head*: a matrix $C \times C$ and a norm; then the scores of all $V$ tokens. Their matrix is the table of tokens itself, which is counted with the embeddings and not again; their bias is the head's own.
# - *Pair head*: a matrix from $C$ to 2.
#
# Return a dictionary with the numbers of parameters: `"embeddings"`, `"blocks"` (all $L$ together), `"pooler"`, `"masked_head"` and `"pair_head"`.
#
# **By hand.** $V = 10$, $P = 4$, $C = 4$, $L = 1$, $H = 2$, $I = 8$. Embeddings: (10 + 4 + 2) · 4 = 64, and the norm's 8: **72**. The block: 172, worked out in chapter 4. The pooler: 16 + 4 = **20**. The masked head: 20, 8 and 10: **38**. The pair head: **10**. Together 312.
#
# **Rules**
#
# - Biases and norms count. So does the row of a token that is never used.
# - The numbers may be large, some $10^{17}$, where a float is off by several: count in ints.
#
# **In**: six ints from 1 to a million; `num_heads` divides `hidden`. **Out**: a dictionary of five ints.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Which of the six numbers does the count of a block not depend on?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Write a small helper for a matrix with its bias, `rows * columns + rows`, and one for a norm. A block is four matrices, two more and two norms. The tied matrix appears once.
#
# </details>
# <details><summary>Hint 3: a worked neighbour</summary>
#
# The skip-gram of chapter 1 with a linear layer on it that says one of `labels`:
#
# ```python
# def sizes(vocabulary, width, labels):
#     return {"tables": 2 * vocabulary * width, "layer": width * labels + labels}
# ```
#
# `sizes(10, 4, 3)` is 80 and 15.
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
# The two sizes of the paper, which says 110 and 340 million, and the MiniLM that your code will run. Where does each have most of its numbers?

# %% nbgrader={"grade": false, "grade_id": "look-predict_parameters", "locked": true, "schema_version": 3, "solution": false, "task": false}
for name, sizes in {"base": (30_522, 512, 768, 12, 12, 3072), "large": (30_522, 512, 1024, 24, 16, 4096), "MiniLM": (30_522, 512, 384, 6, 12, 1536)}.items():
    parts = attempt(predict_parameters, *sizes)
    if parts is not None:
        print(f"{name:<7} {sum(parts.values()):>11,}   " + ", ".join(f"{part} {count:,}" for part, count in parts.items()))

# %% [markdown] nbgrader={"grade": false, "grade_id": "bert_encode-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 7. The whole encoder
#
# - **What it is for**: this is BERT. Give it the weights of a published file and it returns the vectors that search engines compare. MiniLM and many other sentence encoders are these thirty lines.
# - **Difficulty** 5 of 5 · **Time** 30 minutes · **Points** 9
# - **Needs**: chapter 4's attention with several heads, its norm and its block; exercise 1's segments.
# - **Paper**: Devlin et al. (2019), section 3 and figure 2; Vaswani et al. (2017), section 3, for the order within a block.
#
# **The idea.** `weights` holds the tensors of a published file by their names there. `word_embeddings`, for example, is `weights["embeddings.word_embeddings.weight"]`. In the table, `*` stands for the number of a layer, from 0, and each name is followed by `.weight` or `.bias`:
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
# A matrix works as in `torch.nn.Linear`: $x W^\top + b$. A norm is LayerNorm over the last axis with $\varepsilon = 10^{-12}$ under the root.
#
# 1. *Embeddings.* The rows of the token, of its place (0, 1, 2, … from the left, padding counted too) and of its segment are **added**, then normed.
# 2. *Attention* in each layer: queries, keys and values from $x$; head $h$ has the columns $hD$ to $(h+1)D - 1$ of each, with $D = C / H$, and scores divided by $\sqrt{D}$; every token sees all tokens of its row, before and after it and of whatever segment, and no padding. The heads, side by side again, go through `attention.output.dense`.
# 3. *Add, then norm*: $x \leftarrow \text{norm}(x + \text{attention}(x))$, with `attention.output.LayerNorm`.
# 4. *Feed-forward*: `intermediate.dense`, the exact GELU $z\,\Phi(z)$, `output.dense`. Then $x \leftarrow \text{norm}(x + \text{feed-forward}(x))$ with `output.LayerNorm`.
#
# Return what the last layer gives.
#
# **By hand.** One token, $C = 2$, no layer. Its word row is (3, 0), its position's (0, 1), its segment's (1, 0): the sum is (4, 1). The mean is 2.5 and the deviation 1.5, so the norm gives (1, -1), with weights 1 and biases 0.
#
# **Rules**
#
# - There are as many layers as the names say, and there may be none: then the normed embeddings are the answer. There may be more than ten, and at most 40.
# - `mask` is True where a token stands and False at padding. Padding may stand anywhere in a row, also in front. Each row has at least one token. What your function gives at places of padding is never looked at.
# - There may be more positions in the table than places in the row. There may be further names in the dictionary, such as `pooler.dense.weight`: leave them aside.
# - `num_heads` divides $C$, and may be 1 or $C$.
# - There is no dropout: the model is used, not trained.
#
# **In**: `weights`, a dictionary of float32 tensors; `ids` int64 $(B, T)$; `segments` int64 $(B, T)$ of 0 and 1; `mask` bool $(B, T)$; `num_heads` an int. **Out**: float32 $(B, T, C)$.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Write three small helpers first: one that applies a matrix with its bias by its name, one that norms by name, one that attends. What remains is a list of a dozen lines.
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# `def linear(name, x): return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]`. Count layers with `while f"encoder.layer.{number}.output.dense.weight" in weights`. The mask of the keys, `mask[:, None, None, :]`, broadcasts over heads and queries in the table of scores $(B, H, T, T)$: minus infinity where it is False. Begin with no layer and add one line after the other; each stage of the check switches on one part more.
#
# </details>
# <details><summary>Hint 3: a worked neighbour</summary>
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
# A BERT with random weights, and a row of one and the same token at eight places. The vectors differ only because the positions do. Take the table of positions away, and look again.

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
        print(f"{name}: the vectors of the eight places are up to {(found - found[:, :1]).abs().max():.3f} apart")

# %% [markdown] nbgrader={"grade": false, "grade_id": "repair_head-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 8. One wrong line: the masked head
#
# - **What it is for**: between BERT's last layer and its guesses stands one more small network. Forget a part of it and the model still guesses, only worse, and no shape is wrong.
# - **Difficulty** 2 of 5 · **Time** 12 minutes · **Points** 4
# - **Needs**: reading code with a pencil.
# - **Paper**: Devlin et al. (2019), section 3.1, task 1; the layer before the scores is in the code released with it.
#
# **The idea.** The head makes scores over the vocabulary of a token's vector $x$:
#
# $$h = \text{norm}(\text{GELU}(x\, W^\top + b)) \qquad \text{scores} = h\, E^\top + c$$
#
# $E$ is the table of word embeddings, the very one that the model starts with: a token gets a high score if $h$ points where its row points. $c$ is a bias for each token.
#
# The function below runs without complaint and gives the right shape. **Exactly one** of its six numbered lines is wrong. Every name is given to the right thing, and one line *reads* a wrong one: to read another name there repairs the function.
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
# `normed` is given in the cell below: LayerNorm over the last axis with $\varepsilon = 10^{-12}$.
#
# **By hand.** $C = 3$, `dense.weight` the identity and its bias 0, the norm with weights 1 and biases 0, `words` the identity, `bias` = (0, 0, 5), and $x$ = (-30, 0, 30). GELU makes (0, 0, 30) of it. The mean is 10, the deviation $\sqrt{200} = 14.14$: the norm gives (-0.707, -0.707, 1.414), and the scores are (-0.707, -0.707, 6.414). Follow the code with that and a pencil.
#
# **What to do.** Three points for the function, repaired: copy it and change that line, or write it anew. One point for the line's number, a plain `int`, which `wrong_line` returns. Each is graded by itself.
#
# **In**: `x` float32 $(N, C)$, such that in each row at least one number above -3 goes into GELU; `weights`, a dictionary of float32 tensors: `dense.weight` $(C, C)$, `dense.bias`, `norm.weight` and `norm.bias` $(C)$, `words` $(V, C)$, `bias` $(V)$. **Out**: float32 $(N, V)$.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Which of the names that the code makes is never read again?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Trace the case by hand through lines 1 to 6 and write down what each name holds. Which is the first line after which a name does not hold what the formula has at that place?
#
# </details>
# <details><summary>Hint 3: a worked neighbour</summary>
#
# A price with a discount, and then tax on what is left.
#
# ```python
# def price(net, discount, tax):
#     reduced = net - discount
#     taxed = reduced * (1 + tax)                  # not net * (1 + tax): the discount would be lost without a sound
#     return taxed
# ```
#
# `price(100, 20, 0.5)` is 120.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "setup-normed", "locked": true, "schema_version": 3, "solution": false, "task": false}
def normed(x: Float[Tensor, "N C"], weight: Float[Tensor, "C"], bias: Float[Tensor, "C"]) -> Float[Tensor, "N C"]:
    """LayerNorm over the last axis, with 1e-12 under the root."""
    return torch.nn.functional.layer_norm(x, weight.shape, weight, bias, 1e-12)

# %% nbgrader={"grade": false, "grade_id": "repair_head", "locked": false, "schema_version": 3, "solution": true, "task": false}
def wrong_line() -> int:
    """The number, 1 to 6, of the line that is wrong."""
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
# How large is the damage? Random vectors, random weights: how often does the head of the card name another token than yours?

# %% nbgrader={"grade": false, "grade_id": "look-repair_head", "locked": true, "schema_version": 3, "solution": false, "task": false}
generator = torch.Generator().manual_seed(8)
x, dense, words = (torch.randn(*size, generator=generator) for size in ((1000, 32), (32, 32), (200, 32)))
parts = {"dense.weight": dense / 6, "dense.bias": torch.zeros(32), "norm.weight": torch.ones(32), "norm.bias": torch.zeros(32), "words": words, "bias": torch.zeros(200)}
yours = attempt(masked_head, x, parts)
if yours is not None:
    printed = normed(x @ parts["dense.weight"].T, parts["norm.weight"], parts["norm.bias"]) @ words.T
    print(f"another token in {(printed.argmax(1) != yours.argmax(1)).float().mean():.0%} of 1,000 cases")

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-own-words", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 5. In your own words

# %% [markdown] nbgrader={"grade": false, "grade_id": "why_hide-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 9. Why hide anything?
#
# - **What it is for**: "BERT is bidirectional, GPT is not" is repeated everywhere, and explains nothing until you can say what each is trained on, and what the other could not be.
# - **Difficulty** 3 of 5 · **Time** 12 minutes · **Points** 5, given by a person who reads it
# - **Needs**: exercises 2 to 4, chapter 4's masks.
# - **Paper**: Devlin et al. (2019), section 3.1, task 1, and appendix C.2.
#
# **The question.** A friend wants to train the encoder of chapter 4, in which every place sees every place, to foretell the next word at each place, "just like GPT, but with more context". Then she wants to fill blanks with it, and she plans to cover all chosen words with `[MASK]`, without exception.
# In about 150 words: what would her loss do, what would the model learn, and by which way does it get there? Why does covering words mend it, and what does it cost, compared with GPT, in answers for each text? Why did BERT's makers leave one chosen word in ten as it is and swap one in ten?
#
# {{rubric}}
#
# Short is fine. Correct and concrete beats long.
#
# <details><summary>Hint 1: a nudge</summary>
#
# At place 3 the question is: which word stands at place 4? Which places does place 3 see?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Count, for a text of 100 tokens, the answers that GPT is judged on, and those that BERT is. Then think of the day after training: which token does the model no longer meet, and what has it learned to do at all the others?
#
# </details>
# <details><summary>Hint 3: a worked neighbour</summary>
#
# *A teacher gives an exam with the solutions printed on the next page.* Everybody has full marks, and nobody has learned anything but to turn the page. Tearing the page out mends it. If only ever the questions in red ink are marked, the class soon reads nothing that is not red.
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
# First your `bert_encode` takes the 103 tensors of MiniLM by their published names, and reads the course's two sentences as pairs that your `pair_input` makes.
# Then your `bert_encode` and your `masked_head` fill blanks with the small BERT that was trained here on the King James Bible.
# Last, your `mask_tokens` and your `mlm_loss` go on training that BERT for twenty steps, beside a twin that is trained by the course's own objective: same text, same chance.

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
    """What your `pair_input` and `bert_encode` make of each pair, beside what the course's model makes of it."""
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
    """The scores of the small BERT by your `bert_encode` and your `masked_head`."""
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
    """Train twins for some steps: the losses of both at each, how many batches were equal, and the models, yours first."""
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
    print(f"{STEPS} steps of two models in {time.perf_counter() - started:.0f} s; {equal} of {STEPS} batches are equal, covered and labelled alike")
    print("your loss:      ", " ".join(f"{yours:.3f}" for yours, _ in losses[::4]))
    print("the course's:   ", " ".join(f"{theirs:.3f}" for _, theirs in losses[::4]))
    apart = max((one - other).abs().max().item() for one, other in zip(twins[0].parameters(), twins[1].parameters()))
    print(f"after {STEPS} steps the weights are apart by {apart:.0e}")
    record = json.loads((ROOT / "bench" / "results" / "trained_bert.json").read_text(encoding="utf-8"))["at_blanks"]
    print("on held-out verses, nats a blank:", ", ".join(f"{name} {row['nats']:.2f}" for name, row in record.items()))

# %% [markdown] nbgrader={"grade": false, "grade_id": "real-end", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The batches are equal token by token, since everything that is decided by chance came from outside. The losses agree to the digits shown; the weights drift apart in the last digits only, because sums in another order are rounded otherwise.
# Twenty steps hardly move the loss of a model that has been through 2,400. The last line is the record of its training: counts that are told both true neighbours still guess better than this small BERT, on a text that repeats itself. Chapter 6 puts a large one to work.

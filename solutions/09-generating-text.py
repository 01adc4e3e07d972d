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
# # Chapter 9. Generating text: the exercises
#
# In this notebook you write what turns a language model's logits into text: the decoding loop, left padding, temperature, top-k, top-p, a repetition penalty and beam search.
# At the end your functions generate with a small GPT, and your beam search looks for the most probable continuation, also with SmolLM2 if its weights are here.
#
# There are 10 exercises and 54 points. Plan about 170 minutes, in as many sittings as you like.
#
# | Part | Exercises | Minutes | Points |
# | --- | --- | --- | --- |
# | The decoding loop | 1 to 3 | 38 | 14 |
# | Sampling | 4 to 8 | 81 | 24 |
# | Beam search | 9 | 40 | 12 |
# | In your own words | 10 | 11 | 4 |
# | Your code runs the real thing | nothing to write | 2 | 0 |
#
# **How it works.**
# 1. Read the statement, write the function in the cell below it, and run the check under that cell as often as you like.
# 2. A check's first line names the likely cause, its second a small input that fails. Stuck? Open the three hints in order; the third solves a similar problem.
# 3. Grading runs the same checks with other sizes and values. The smallest sizes are always among them.
#
# **Symbols.** $B$ independent sequences, $T$ positions, $V$ vocabulary size, $N$ sequences in one call of the model.
#
# <details><summary>Fine print</summary>
#
# These rules hold for all exercises. Where a statement says "the rules above", it means them.
#
# - *Arguments.* Leave them unchanged, lists included, and return something new: neither an argument or a part of one nor a result of an earlier call. A tensor may be a view of a larger one, such as a transpose; `reshape` works there, `view` may not.
# - *Types.* Return the type, dtype and shape that the statement names; a dictionary has the named keys and no others, in any order. A subclass counts as its type, and an `int` may be given for a `float`, but a bool does not count as a number. Arguments that are called floats are Python floats. Correct values in another type or dtype, with an axis of length 1 too many or too few, or with an extra key, lose a fifth of the exercise's points, once. So does an answer that breaks *Arguments*.
# - *Precision.* Floats are compared to four digits of each value, and to 0.00001 near 0; float32 has seven digits, so the order of your operations does not matter. Half precision, rounding, or a small constant "for safety" is wrong where it shows in these digits or in the choice of a token, and only there. Integers are compared exactly, and so is minus infinity.
# - *Logarithms* are natural.
# - *Calls.* A result depends only on the arguments: not on earlier calls, and not on chance. Where randomness is needed, the random numbers are arguments. Calls may come in any order.
# - *Models.* A model is an argument: a function that you call. It returns the same result for the same input, however often you call it.
# - *Logits.* Where a statement says "logits", each is from -1,000 to 1,000, or minus infinity, which marks a token that cannot come. At least one logit of each sequence is not minus infinity.
# - *Tools.* You may use anything in torch, numpy and the standard library, unless a statement says otherwise. Not allowed are the course's own models, its generation and its engine, and the library `transformers`.
# - *Sizes and time.* Every axis has length 1 to 300, and a list has at most 300 entries, unless a statement says otherwise. Ids are integers of at least 0. The cells that show what a function is for, and the last part, use some longer axes and lists, which the checks do not. A call may take five seconds: plain Python loops are fast enough.
# - *Smallest sizes.* Grading always includes one token, one sequence and a vocabulary of one.
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

progress("09")                                 # follows your checks

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-loop", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 1. The decoding loop

# %% [markdown] nbgrader={"grade": false, "grade_id": "generate-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 1. The decoding loop
#
# **Why.** Every text that a language model ever generated came out of a loop like this one. A chat window shows it, token after token.
#
# **Difficulty** 2 of 5 · **Time** 18 minutes · **Points** 6 · **Paper** Radford et al. (2019), section 2, for the model; the loop is older
#
# `next_logits` is a causal language model: for a text, int64 $(1, T)$, it returns logits $(1, T, V)$. The logits at position $t$ score the token that comes **after** position $t$, given all tokens up to it. **Greedy decoding** takes the largest logit at the last position,
#
# $$x_{T+1} = \operatorname*{arg\,max}_{v} \; z_{T, v},$$
#
# appends that token to the text, and calls the model again with the **whole** text.
#
# Write `generate(next_logits, prompt, max_tokens, end_id)`. `prompt` is a list of ids. Stop after `max_tokens` new tokens, or as soon as `end_id` was chosen. Return the new tokens as a list of ints.
#
# **By hand.** Three tokens, and a model that only looks at the last one: after 0 comes 1, after 1 comes 2, after 2 comes 0. Prompt 0, `max_tokens` 5. With `end_id` 9, which never comes: **1, 2, 0, 1, 2**. With `end_id` 2: **1, 2**.
#
# **Rules**
# 1. The end token is part of what you return: it says that the text is complete.
# 2. Only a *chosen* `end_id` ends anything, not one that the prompt contains.
# 3. The model keeps nothing from call to call: it needs the whole text each time, as int64 $(1, T)$.
# 4. Call it exactly once for each new token, because a call is what costs time. With `max_tokens` 0 there is no call, and the list is empty.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Of the $T$ rows of logits, one is about a token that is not there yet. Which?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Copy the prompt into a list of your own. In a loop: a tensor of it, the logits at `[0, -1]`, `argmax`, `append`. Compare with `end_id` after appending.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# Collatz: each number follows from the last one; at 1 it is over, and the 1 belongs to the list.
#
# ```python
# def collatz(start, most):
#     numbers = [start]
#     for _ in range(most):
#         last = numbers[-1]
#         numbers.append(last // 2 if last % 2 == 0 else 3 * last + 1)
#         if numbers[-1] == 1:
#             break
#     return numbers[1:]
# ```
#
# `collatz(6, 100)` is 3, 10, 5, 16, 8, 4, 2, 1, and `collatz(6, 2)` is 3, 10.
#
# </details>
# <details><summary>Fine print</summary>
#
# `prompt` has 1 to 300 ids that the model knows, `max_tokens` is from 0 to 300, and `end_id` at least 0; it may be a number that the model never chooses, such as $V$. The model may use every position of the text. In each row the largest logit is at least 0.001 above all others.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "generate", "locked": false, "schema_version": 3, "solution": true, "task": false}
def generate(next_logits: Callable[[Int[Tensor, "1 T"]], Float[Tensor, "1 T V"]], prompt: list[int], max_tokens: int, end_id: int) -> list[int]:
    """The greedy continuation of the prompt, its end token included."""
    ### BEGIN SOLUTION
    text = list(prompt)
    for _ in range(max_tokens):
        token = int(next_logits(torch.tensor([text]))[0, -1].argmax())
        text.append(token)
        if token == end_id:
            break
    return text[len(prompt):]
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "generate-check", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
check(generate)

# %% [markdown] nbgrader={"grade": false, "grade_id": "generate-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# A model that counted which word follows which, in two sentences. Greedy decoding always generates the most frequent one and ends in a loop, the first failure that the rest of this notebook is about.

# %% nbgrader={"grade": false, "grade_id": "look-generate", "locked": true, "schema_version": 3, "solution": false, "task": false}
read = "we sat on the bank of the river . the bank of the town lent us money at the bank of the river .".split()
words = sorted(set(read))
counted = torch.zeros(len(words), len(words))
for one, other in zip(read, read[1:]):
    counted[words.index(one), words.index(other)] += 1 + counted[words.index(one)].sum() / 100       # no two counts are equal
written = attempt(generate, lambda ids: counted.log()[ids], [words.index("we")], 20, words.index("."))
if written is not None:
    print("we", " ".join(words[token] for token in written))

# %% [markdown] nbgrader={"grade": false, "grade_id": "repair_padding-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 2. One wrong line: left padding
#
# **Why.** Prompts that are continued in one batch must end at the same position, so the short ones are padded on the left. A mistake there changes no shape and raises no error: the model just generates worse text. Published libraries have had it.
#
# **Difficulty** 2 of 5 · **Time** 10 minutes · **Points** 4 · **Paper** none; issues #18478 and #21080 of the library transformers tell the story
#
# Each prompt is a list of ids. They become one tensor: the short ones get `pad` in front, so that all end in the last column. The mask is True at tokens of a prompt and False at padding. Each token gets its position **in its own prompt**, $0, 1, 2, \dots$ from its first token on, so a prompt is read as it would be alone. At padding the position is 0.
#
# The function `pad_left(prompts, pad)` below runs without complaint and returns three tensors of the right shape, $(B, T)$: ids (int64), mask (bool), positions (int64). **Exactly one** of its six numbered lines is wrong.
#
# ```python
# def pad_left(prompts, pad):                                             # B lists of ids
#     width = max(len(prompt) for prompt in prompts)                      # line 1
#     gaps = torch.tensor([width - len(prompt) for prompt in prompts])    # line 2
#     ids = torch.tensor([[pad] * (width - len(prompt)) + prompt for prompt in prompts])  # line 3
#     mask = torch.arange(width) >= gaps[:, None]                         # line 4
#     positions = torch.arange(width).expand(len(prompts), width) * mask  # line 5
#     return ids, mask, positions                                         # line 6
# ```
#
# Write the correct function (three points), and return the number of the wrong line from `wrong_line()` (one point). Each is graded by itself.
#
# **By hand.** Two prompts, 5 6 7 and 8, with `pad` 0.
#
# | | ids | mask | positions |
# | --- | --- | --- | --- |
# | first | 5 6 7 | True True True | 0 1 2 |
# | second | 0 0 8 | False False True | 0 0 **0** |
#
# **Rules**
# 1. `pad` may be an id that a prompt contains: padding is known by its position, not by its number.
# 2. All prompts may have the same length, and there may be only one.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Which position does the 8 of the second prompt get, and which would it get alone?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Run the lines one by one on the two prompts of the example, and compare the value of each name with the table.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# Trains of different lengths stop with their last coach at the gate. Which number does the coach at each metre of the platform have in its own train?
#
# ```python
# def coach_numbers(lengths, platform):                      # (trains)
#     gaps = platform - lengths
#     return (torch.arange(platform) - gaps[:, None]).clamp(min=0)
# ```
#
# `coach_numbers(torch.tensor([3, 1]), 3)` is 0 1 2 and 0 0 0.
#
# </details>
# <details><summary>Fine print</summary>
#
# There are 1 to 300 prompts of 1 to 300 ints each, and `pad` is at least 0. The line's number is a plain int from 1 to 6. You may copy the function and change that line, or write it in another way.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "repair_padding", "locked": false, "schema_version": 3, "solution": true, "task": false}
def wrong_line() -> int:
    """The number, 1 to 6, of the line that is wrong."""
    ### BEGIN SOLUTION
    return 5
    ### END SOLUTION


def pad_left(prompts: list[list[int]], pad: int) -> tuple[Int[Tensor, "B T"], Bool[Tensor, "B T"], Int[Tensor, "B T"]]:
    """The function of the statement, with the wrong line corrected."""
    ### BEGIN SOLUTION
    width = max(len(prompt) for prompt in prompts)
    gaps = torch.tensor([width - len(prompt) for prompt in prompts])
    ids = torch.tensor([[pad] * (width - len(prompt)) + prompt for prompt in prompts])
    mask = torch.arange(width) >= gaps[:, None]
    positions = (torch.arange(width) - gaps[:, None]).clamp(min=0)
    return ids, mask, positions
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "repair_padding-check", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(pad_left)

# %% [markdown] nbgrader={"grade": false, "grade_id": "repair_padding-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# How much of a batch does the fault affect? Prompts of 1 to 20 tokens, in batches of several sizes: the fraction of their tokens to which the printed function gives another position than yours. In the last part of this notebook you see what a GPT makes of it.

# %% nbgrader={"grade": false, "grade_id": "look-repair_padding", "locked": true, "schema_version": 3, "solution": false, "task": false}
generator = torch.Generator().manual_seed(9)
for batch in (1, 2, 8, 32):
    made = attempt(pad_left, [[5] * int(length) for length in torch.randint(1, 21, (batch,), generator=generator)], 0)
    if made is not None:
        ids, mask, positions = made
        print(f"{batch:>2} prompts: {(positions != torch.arange(ids.shape[1]))[mask].float().mean():.0%} of the tokens have another position")

# %% [markdown] nbgrader={"grade": false, "grade_id": "predict_reading-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 3. Prediction: what a KV cache saves
#
# **Why.** Your loop processes the whole text again for every token. Servers keep the keys and values of earlier tokens in a KV cache. These four numbers say what that is worth, before anything runs.
#
# **Difficulty** 2 of 5 · **Time** 10 minutes · **Points** 4 · **Paper** none; Pope et al. (2023), section 2, count the same way
#
# A prompt of $n$ tokens is continued by $m$ new ones, chosen one after another. **Without** a cache, each pass processes the whole text so far. **With** one, the first pass processes the prompt, and each later one only the token that was chosen before it. The token that is chosen last is never processed.
#
# Write `predict_reading(prompt, new)`; both are ints. Return a dictionary of four ints:
#
# - `"tokens"` and `"tokens_cached"`: how many tokens pass through the model in all, without and with a cache.
# - `"pairs"` and `"pairs_cached"`: how many scores, one for each pair of a query and a key, one head of one layer computes, without and with a cache. Each token that passes through is a query; its keys are itself and all earlier tokens, whether computed in this pass or cached.
#
# **By hand.** Three prompt tokens, four new ones. Without a cache: passes over 3, 4, 5 and 6 tokens, **18** together. With one: 3 + 1 + 1 + 1 = **6**. A pass over three tokens scores 1 + 2 + 3 = 6 pairs, so without a cache 6 + 10 + 15 + 21 = **52**. With one: 6, then 4, 5 and 6, together **21**.
#
# **Rules**
# 1. No token ends the text early.
# 2. The numbers may be large: compute with ints, not with floats.
#
# <details><summary>Hint 1: a nudge</summary>
#
# How many passes are there, and how long is the text at the last one?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# The passes are over `prompt`, `prompt` + 1, …, `prompt` + `new` - 1 tokens. With a cache, each of the `prompt` + `new` - 1 tokens passes through once, and token number $i$ scores $i$ pairs. A loop over the passes is fast enough, and a formula is faster.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# Every evening somebody reads a diary from its first page on, and then writes one page. How many pages are read in so many evenings?
#
# ```python
# def pages_read(written, evenings):
#     return sum(range(written, written + evenings))
# ```
#
# `pages_read(10, 3)` is 10 + 11 + 12 = 33. With a bookmark it would be 10 + 1 + 1.
#
# </details>
# <details><summary>Fine print</summary>
#
# `prompt` and `new` are from 1 to a million. $1 + 2 + \dots + n = n (n + 1) / 2$.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "predict_reading", "locked": false, "schema_version": 3, "solution": true, "task": false}
def predict_reading(prompt: int, new: int) -> dict[str, int]:
    """Tokens that pass through the model and scored pairs, without a cache and with one."""
    ### BEGIN SOLUTION
    last = prompt + new - 1                                               # the length of the text at the last pass
    def up_to(n: int) -> int:
        return n * (n + 1) // 2
    return {"tokens": up_to(last) - up_to(prompt - 1),
            "tokens_cached": last,
            "pairs": (last * (last + 1) * (last + 2) - (prompt - 1) * prompt * (prompt + 1)) // 6,
            "pairs_cached": up_to(last)}
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "predict_reading-check", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(predict_reading)

# %% [markdown] nbgrader={"grade": false, "grade_id": "predict_reading-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The same prompt and longer and longer answers: what a KV cache saves grows with the answer.

# %% nbgrader={"grade": false, "grade_id": "look-predict_reading", "locked": true, "schema_version": 3, "solution": false, "task": false}
for new in (1, 16, 64, 1024):
    found = attempt(predict_reading, 16, new)
    if found is not None:
        print(f"16 tokens and {new:>4} new: {found['tokens']:>9,} tokens against {found['tokens_cached']:>5,}; {found['pairs']:>13,} pairs against {found['pairs_cached']:>9,}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-choosing", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 2. Sampling

# %% [markdown] nbgrader={"grade": false, "grade_id": "draw-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 4. Draw a token
#
# **Why.** This is the line where chance enters. The random number is an argument here, so everything can be checked to the token. A server keeps one stream of random numbers for each request, for the same reason.
#
# **Difficulty** 3 of 5 · **Time** 20 minutes · **Points** 6 · **Paper** Ackley et al. (1985), section 2, for the temperature; the draw is inversion of the cumulative distribution
#
# A temperature $T$ divides the logits before the softmax. The drawn token is the **first** token $v$ for which
#
# $$p_0 + p_1 + \dots + p_v > u, \qquad p_i = \frac{e^{z_i / T}}{\sum_j e^{z_j / T}} .$$
#
# Write `draw(logits, temperature, u)`. `logits` is float32 `(B, V)`; each row has its own $u$, float32 `(B)`, from 0 to 1 without 1; the temperature is a float for all rows. Return int64 `(B)`. A temperature of 0 means the limit: the token with the largest logit, whatever $u$ is.
#
# **By hand.** Logits ln 16, ln 9, ln 4, ln 1. At temperature 1 the probabilities are 16, 9, 4 and 1 thirtieths: $u$ = .6 is between 16/30 = .533 and 25/30, so the draw is token **1**. At temperature 2 they are 4, 3, 2 and 1 tenths, since halving a logarithm takes a root: $u$ = .6 is token **1** again, and $u$ = .75 token **2**. At temperature ½ they are 256, 81, 16 and 1 of 354: $u$ = .6 is token **0**.
#
# **Rules**
# 1. Strictly greater: with the logits 0, 0 and $u$ = .5 the draw is token 1, at every temperature above 0.
# 2. A token with the logit minus infinity is never drawn, by no $u$. With $u$ = 0 the draw is the first token that can come at all.
# 3. Floating-point sums may end a little below 1. If no sum is greater than $u$, take the last token that can come.
# 4. Divided by a small temperature, logits reach 100,000: the probabilities must still be numbers.
#
# <details><summary>Hint 1: a nudge</summary>
#
# What would 0 / 0 do to a row? Where is the temperature 0 handled, then?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# `(logits / temperature).softmax(1).cumsum(1)` is $(B, V)$, `u[:, None]` is $(B, 1)$. Count the sums that are **not** greater than $u$: that is the number of the token. Only if $u$ is above all of them, the token must be brought back to the last one whose logit is finite.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# Books of different widths stand on a shelf, and a mark is made so many centimetres from the left. In which book is it?
#
# ```python
# def marked(widths, at):                                       # (shelves, books), (shelves)
#     ends = widths.cumsum(1)
#     return (ends <= at[:, None]).sum(1)
# ```
#
# `marked(torch.tensor([[3.0, 0.0, 2.0]]), torch.tensor([3.0]))` is 2: the first book ends there, and the second has no width.
#
# </details>
# <details><summary>Fine print</summary>
#
# The temperature is 0 or from 0.01 to 100. Except at the borders that the rules name, $u$ is no nearer than 0.0001 to a sum. At these borders, the first and the last token that can come have a probability of at least 0.001. At temperature 0 the largest logit of a row is at least 0.001 above all others.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "draw", "locked": false, "schema_version": 3, "solution": true, "task": false}
def draw(logits: Float[Tensor, "B V"], temperature: float, u: Float[Tensor, "B"]) -> Int[Tensor, "B"]:
    """One token a row: the first at which the cumulative sum exceeds u; greedy at temperature 0."""
    ### BEGIN SOLUTION
    if temperature == 0:
        return logits.argmax(1)
    sums = (logits / temperature).softmax(1).cumsum(1)                    # (B, V)
    possible = logits > -torch.inf
    last = (possible * torch.arange(1, logits.shape[1] + 1)).argmax(1)    # (B,): the last token that can come
    return (sums <= u[:, None]).sum(1).minimum(last)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "draw-check", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
check(draw)

# %% [markdown] nbgrader={"grade": false, "grade_id": "draw-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Ten thousand draws at four temperatures from the weights of the example. Next to the frequencies of the four tokens are their exact probabilities.

# %% nbgrader={"grade": false, "grade_id": "look-draw", "locked": true, "schema_version": 3, "solution": false, "task": false}
weights = torch.tensor([16.0, 9.0, 4.0, 1.0])
numbers = torch.rand(10_000, generator=torch.Generator().manual_seed(9))
for temperature in (0.0, 0.5, 1.0, 2.0):
    found = attempt(draw, weights.log().expand(10_000, 4), temperature, numbers)
    if found is not None:
        shares = torch.bincount(found, minlength=4) / 10_000
        exact = weights ** (1 / temperature) if temperature else torch.tensor([1.0, 0, 0, 0])
        print(f"T = {temperature}: drawn {' '.join(f'{one:.3f}' for one in shares.tolist())}   exact {' '.join(f'{one:.3f}' for one in (exact / exact.sum()).tolist())}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "keep_top_k-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 5. Top-k
#
# **Why.** A model gives some probability to each of thousands of wrong tokens, and in a long text one of them is drawn sooner or later. Top-k excludes all but a few. Each row has its own k, because a server processes requests of different users together.
#
# **Difficulty** 2 of 5 · **Time** 10 minutes · **Points** 4 · **Paper** Fan et al. (2018), section 5.4
#
# In each row the $k$ largest logits stay as they are, and all others become minus infinity, so that a softmax gives them probability 0:
#
# $$z'_i = \begin{cases} z_i & z_i \ge z_{(k)} \\ -\infty & \text{else,} \end{cases}$$
#
# where $z_{(k)}$ is the $k$-th largest logit of the row.
#
# Write `keep_top_k(logits, k)`. `logits` is float32 `(B, V)`, `k` int64 `(B)`; the result is float32 `(B, V)`.
#
# **By hand.** The row 2, 5, 1, 3 with k = 2 becomes **-∞, 5, -∞, 3**. With k = 1 only the 5 stays; with k = 4, or 9, all do.
#
# **Rules**
# 1. Ties: a logit equal to the k-th largest stays as well. The row 2, 5, 2, 1 with k = 2 becomes 2, 5, 2, -∞.
# 2. k may be $V$ or larger: then the row stays as it is.
# 3. A minus infinity stays one, and is smaller than every number. There may be fewer than k others.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Which single number of a row decides what stays?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Sort the rows in descending order; `gather` takes entry k - 1 of each, after k was limited to $V$. What is less than that number becomes minus infinity, by `masked_fill`.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# In each race so many runners get a medal, and everyone as fast as the last of them gets one as well.
#
# ```python
# def medals(times, count):                                     # (races, runners), (races)
#     slowest = times.sort(1).values.gather(1, count[:, None] - 1)
#     return times <= slowest
# ```
#
# `medals(torch.tensor([[9.0, 8.0, 9.0, 7.0]]), torch.tensor([3]))` gives one to all four.
#
# </details>
# <details><summary>Fine print</summary>
#
# Each k is from 1 to a million. Two logits of a row are either equal or at least 0.001 apart.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "keep_top_k", "locked": false, "schema_version": 3, "solution": true, "task": false}
def keep_top_k(logits: Float[Tensor, "B V"], k: Int[Tensor, "B"]) -> Float[Tensor, "B V"]:
    """The k largest logits of each row, and all as large as the k-th; minus infinity elsewhere."""
    ### BEGIN SOLUTION
    place = k.clamp(max=logits.shape[1]) - 1
    least = logits.sort(1, descending=True).values.gather(1, place[:, None])   # (B, 1)
    return logits.masked_fill(logits < least, -torch.inf)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "keep_top_k-check", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(keep_top_k)

# %% [markdown] nbgrader={"grade": false, "grade_id": "keep_top_k-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The same k for a model that is confident and for one that is not: what fraction of the probability stays? That question leads to the next exercise.

# %% nbgrader={"grade": false, "grade_id": "look-keep_top_k", "locked": true, "schema_version": 3, "solution": false, "task": false}
generator = torch.Generator().manual_seed(9)
rows = torch.randn(2, 1000, generator=generator) * torch.tensor([[4.0], [1.0]])
for k in (1, 10, 100):
    kept = attempt(keep_top_k, rows, torch.tensor([k, k]))
    if kept is not None:
        sure, unsure = (rows.softmax(1) * (kept > -torch.inf)).sum(1).tolist()
        print(f"k = {k:>3}: {sure:.2f} of the confident model's probability stays, {unsure:.2f} of the other's")

# %% [markdown] nbgrader={"grade": false, "grade_id": "keep_top_p-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 6. Top-p (nucleus)
#
# **Why.** `top_p` is a parameter of nearly every API. It keeps few tokens where the model is confident and many where it is not. Three published projects have dropped the one token that this exercise is about.
#
# **Difficulty** 3 of 5 · **Time** 18 minutes · **Points** 6 · **Paper** Holtzman et al. (2020), section 3.1
#
# Take the softmax of a row and sort it, $p_{(1)} \ge p_{(2)} \ge \dots$ Keep the **fewest** most probable tokens whose probabilities add up to $p$ or more,
#
# $$n = \min \{\, m : p_{(1)} + \dots + p_{(m)} \ge p \,\} .$$
#
# Their logits stay as they are, and all others become minus infinity. The token with which the sum reaches $p$ stays.
#
# Write `keep_top_p(logits, p)`. `logits` is float32 `(B, V)`, `p` float32 `(B)`; the result is float32 `(B, V)`.
#
# **By hand.** Weights 16, 9, 4, 1, that is logits ln 16, ln 9, ln 4, ln 1, in any order. With p = .8: 16/30 is .533, too little; with the 9 it is 25/30 = .833. So **two** stay. With p = .5 one stays, which alone has more than .5. After a temperature of 2 the probabilities are .4, .3, .2, .1, and p = .8 keeps **three**.
#
# **Rules**
# 1. At least one token stays, however small p is.
# 2. With p = 1 the row stays as it is, whatever rounding does to the sums.
# 3. The result is in the order of the row, not in sorted order.
# 4. A minus infinity in the row stays one; its probability is 0.
#
# <details><summary>Hint 1: a nudge</summary>
#
# For a token of the sorted row: how much do the tokens **before** it have, without its own probability? What must that be for the token to stay?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Sort in descending order and keep the indices. A sorted token stays if the sum of those before it is less than p: `probs.cumsum(1) - probs < p[:, None]`. That mask belongs to the sorted row: bring it back with `scatter(1, order, mask)`, or compare the row with the smallest logit that stays. Treat p = 1 by itself.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# The fewest boxes, largest first, that hold at least so many apples, as a mask in the original order of the boxes:
#
# ```python
# def boxes(sizes, wanted):                                     # (boxes)
#     order = sizes.argsort(descending=True)
#     before = sizes[order].cumsum(0) - sizes[order]
#     taken = torch.zeros(len(sizes), dtype=torch.bool)
#     taken[order] = before < wanted
#     return taken
# ```
#
# `boxes(torch.tensor([2.0, 9.0, 5.0]), 10)` takes the 9 and the 5.
#
# </details>
# <details><summary>Fine print</summary>
#
# Two logits of a row are both minus infinity or at least 0.001 apart. Each p is 1, or from 0.000001 to 0.9998. Where p is not 1, no sum of one or more of the most probable tokens is within 0.0001 of it.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "keep_top_p", "locked": false, "schema_version": 3, "solution": true, "task": false}
def keep_top_p(logits: Float[Tensor, "B V"], p: Float[Tensor, "B"]) -> Float[Tensor, "B V"]:
    """The logits of the fewest most probable tokens that cover p; minus infinity elsewhere."""
    ### BEGIN SOLUTION
    sorted_logits, order = logits.sort(1, descending=True)
    probs = sorted_logits.softmax(1)
    before = probs.cumsum(1) - probs                                      # (B, V): sum of those before
    stays = (before < p[:, None]) | (p == 1)[:, None]
    stays[:, 0] = True
    return logits.masked_fill(~torch.zeros_like(stays).scatter(1, order, stays), -torch.inf)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "keep_top_p-check", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
check(keep_top_p)

# %% [markdown] nbgrader={"grade": false, "grade_id": "keep_top_p-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The two models of the last cell again: how many tokens does each p keep? And the weights of the example, with the temperature before the filter and after it.

# %% nbgrader={"grade": false, "grade_id": "look-keep_top_p", "locked": true, "schema_version": 3, "solution": false, "task": false}
for p in (0.5, 0.9, 0.99):
    kept = attempt(keep_top_p, rows, torch.tensor([p, p]))
    if kept is not None:
        print(f"p = {p:<4}: {int((kept[0] > -torch.inf).sum()):>3} tokens of the confident model stay, {int((kept[1] > -torch.inf).sum()):>3} of the other")
logs = torch.tensor([[16.0, 9.0, 4.0, 1.0]]).log()
for name, row in (("temperature 2 after the filter", logs), ("temperature 2 before it", logs / 2)):
    kept = attempt(keep_top_p, row, torch.tensor([0.8]))
    if kept is not None:
        print(f"p = 0.8, {name}: {int((kept > -torch.inf).sum())} tokens stay")

# %% [markdown] nbgrader={"grade": false, "grade_id": "penalise-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 7. Repetition penalty
#
# **Why.** `repetition_penalty` breaks the loops of exercise 1. It looks like a division, and in two published libraries it was one: there, tokens that were improbable already got more probable by occurring.
#
# **Difficulty** 2 of 5 · **Time** 8 minutes · **Points** 3 · **Paper** Keskar et al. (2019), section 4.1, divides whatever the sign is; libraries today do as below
#
# For every token that occurs in the text so far, prompt and output alike, with the penalty $\rho$:
#
# $$z_i \leftarrow \begin{cases} z_i / \rho & z_i > 0 \\ z_i \cdot \rho & z_i < 0 . \end{cases}$$
#
# All other logits stay as they are.
#
# Write `penalise(logits, text, penalty)`. `logits` is float32 `(B, V)`, `text` int64 `(B, T)`, `penalty` a float; the result is float32 `(B, V)`.
#
# **By hand.** Logits 2, -2, 1, 0, text 0 1 0, penalty 2: the first becomes **1**, the second **-4**, and the others stay.
#
# **Rules**
# 1. A token counts once, however often it occurs.
# 2. The penalty may be 1, which changes nothing, or less than 1, which makes tokens of the text more probable.
# 3. 0 stays 0, and minus infinity stays minus infinity.
# 4. Each row has its own text.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Divide -2 by 2. Is the token now more probable than before, or less?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Make a bool tensor of what was seen: zeros of shape $(B, V)$, and `scatter` with True at `text`. Then two `torch.where`: one for the sign, one for what was seen.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# Debts increase by a tenth and savings shrink by a tenth, but only for customers of today:
#
# ```python
# def fees(balances, today):                                    # (customers), (visits)
#     came = torch.zeros(len(balances), dtype=torch.bool)
#     came[today] = True
#     return torch.where(came, torch.where(balances < 0, balances * 1.1, balances * 0.9), balances)
# ```
#
# `fees(torch.tensor([10.0, -10.0, 5.0]), torch.tensor([1, 1, 0]))` is 9, -11, 5.
#
# </details>
# <details><summary>Fine print</summary>
#
# Ids in `text` are from 0 to $V - 1$, and the penalty is from 0.1 to 10. The result may be beyond 1,000.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "penalise", "locked": false, "schema_version": 3, "solution": true, "task": false}
def penalise(logits: Float[Tensor, "B V"], text: Int[Tensor, "B T"], penalty: float) -> Float[Tensor, "B V"]:
    """The logits, with those of tokens in the text penalized."""
    ### BEGIN SOLUTION
    seen = torch.zeros(logits.shape, dtype=torch.bool).scatter(1, text, True)
    return torch.where(seen, torch.where(logits < 0, logits * penalty, logits / penalty), logits)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "penalise-check", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(penalise)

# %% [markdown] nbgrader={"grade": false, "grade_id": "penalise-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The loop of exercise 1 again, with your decoding loop and your penalty.

# %% nbgrader={"grade": false, "grade_id": "look-penalise", "locked": true, "schema_version": 3, "solution": false, "task": false}
def punished(penalty):
    """The model of exercise 1, whose last row is changed by your function."""
    def next_logits(ids):
        logits = counted.add(0.01).log()[ids]
        return torch.cat((logits[:, :-1], penalise(logits[:, -1], ids, penalty)[:, None]), 1)
    return next_logits


for penalty in (1.0, 1.2, 2.0):
    written = attempt(generate, punished(penalty), [words.index("we")], 14, words.index("."))
    if written is not None:
        print(f"{penalty}: we", " ".join(words[token] for token in written))

# %% [markdown] nbgrader={"grade": false, "grade_id": "test_sampler-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 8. Write the test: is the sampler correct?
#
# **Why.** A sampler that never draws the last token, or draws a little too evenly, generates readable text, and no shape reveals it. Its maintainer needs a test that finds the fault and raises no false alarm.
#
# **Difficulty** 4 of 5 · **Time** 25 minutes · **Points** 5 · **Paper** none; Pearson (1900) began it
#
# `sampler(probabilities, n)` draws $n$ tokens and returns how often each came, a list of ints. It is **honest** if the draws are independent, within a call and between calls, and token $v$ comes with probability $p_v$. Its count then has the mean $n p_v$ and the standard deviation
#
# $$\sigma_v = \sqrt{n \, p_v (1 - p_v)} .$$
#
# Write `test_sampler(sampler)`: stay silent if the sampler is honest, and fail an `assert` if it is not. Four kinds of faults earn points, when your test catches all of a kind and passes every honest sampler:
#
# - *frequencies* (1.5 points): some token comes far too often or too rarely;
# - *positions* (1.5 points): probabilities belong to other tokens, the first or the last token is never drawn, or a token of probability 0 is drawn;
# - *total* (0.5 points): the counts do not add up to $n$, or there are too few or too many of them;
# - *spread* (1.5 points): the frequencies are right, but the counts are the same in each call, or always nearly $n p$, or all draws of a call are the same token.
#
# **By hand.** 10,000 draws from .4, .3, .2, .1. The first count is 4,000, give or take $\sigma = \sqrt{10000 \cdot .4 \cdot .6} =$ **49**. An honest sampler is more than two deviations off every twentieth time, and more than five once in two million. One that draws all tokens equally often is 1,500 off: **thirty** deviations. A limit of five or six deviations catches it and spares honest samplers.
#
# **Rules**
# 1. A test that complains about an honest sampler earns nothing. It is run about eighty times on honest samplers, each with its own random numbers.
# 2. Complain with `assert`. Any other exception means that your test is broken, and earns nothing: check the length before you index.
# 3. Allowed arguments are lists of 2 to 20 floats of at least 0 that add up to 1, and any $n$ from 1 to 20,000.
# 4. Call the sampler some fifty times at most.
#
# <details><summary>Hint 1: a nudge</summary>
#
# How far off may one count be, in standard deviations, so that eighty honest runs with ten counts each all pass?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Once with .4, .3, .2, .1, 0 and $n$ = 10,000: length, sum, each count within six deviations, which is 0 for the last. For the positions, another order of the same numbers. For the spread, twenty calls with .5, .3, .2 and $n$ = 1,000: the standard deviation of the first count should be 15.8; below 6 it is too even, which no honest sampler is.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# A test of a die that is thrown 6,000 times; a count has a deviation of 29.
#
# ```python
# def test_die(throw):                                          # throw(n): a list of six counts
#     counts = throw(6000)
#     assert len(counts) == 6 and sum(counts) == 6000, "not six counts, or a throw is lost"
#     assert all(abs(count - 1000) < 6 * 29 for count in counts), "loaded"
#     assert throw(6000) != counts, "the same throws again"
# ```
#
# </details>
# <details><summary>Fine print</summary>
#
# Probabilities add up to 1 within 0.000001; an honest sampler may refuse anything else. A fault of the first two kinds shows when all probabilities differ by at least 0.1 and one of them is 0: with $n$ = 10,000 some count, perhaps only one, is then off by 500 or more, or a token of probability 0 comes a hundred times. With equal probabilities it may look honest, and that a last token of probability 0 never comes is no fault. A fault of the third kind shows in every call. One of the fourth kind shows in several calls with the **same** arguments, $n$ at least 1,000 and the first probability from 0.1 to 0.9: the first count, perhaps only that one, has less than a fifth of the right standard deviation, or all draws of a call are the same token. An honest sampler draws new numbers in each call; with a large $n$ it does not return the same counts each time. To return False in place of a failing `assert` costs a fifth, once. Every sampler returns a list of ints, and leaves the list that it is given as it was. One run of your test may take five seconds.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "test_sampler", "locked": false, "schema_version": 3, "solution": true, "task": false}
def test_sampler(sampler: Callable[[list[float], int], list[int]]) -> None:
    """Fail an assert unless `sampler(probabilities, n)` draws n independent tokens with these probabilities."""
    ### BEGIN SOLUTION
    for probabilities in ([0.4, 0.3, 0.2, 0.1, 0.0], [0.1, 0.0, 0.4, 0.2, 0.3]):
        counts = sampler(list(probabilities), 10_000)
        assert len(counts) == 5 and sum(counts) == 10_000, "not five counts, or a draw is lost"
        for count, p in zip(counts, probabilities):
            assert abs(count - 10_000 * p) <= 6 * (10_000 * p * (1 - p)) ** 0.5, "a token comes too often or too rarely"
    first = torch.tensor([float(sampler([0.5, 0.3, 0.2], 1000)[0]) for _ in range(20)])
    assert 6 < first.std() < 32, "the counts do not spread as chance does"
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "test_sampler-check", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check(test_sampler)

# %% [markdown] nbgrader={"grade": false, "grade_id": "test_sampler-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Two samplers for your test: your own `draw`, and the same with numbers that are spread evenly from 0 to 1. The second has perfect frequencies, and is not random.

# %% nbgrader={"grade": false, "grade_id": "look-test_sampler", "locked": true, "schema_version": 3, "solution": false, "task": false}
def by_your_draw(numbers):
    """A sampler that draws with your function, from so many numbers of 0 to 1."""
    def sampler(probabilities, n):
        drawn = draw(torch.tensor(probabilities).log().expand(n, -1), 1.0, numbers(n))
        return torch.bincount(drawn, minlength=len(probabilities)).tolist()
    return sampler


generator = torch.Generator().manual_seed(9)
for name, numbers in (("by chance", lambda n: torch.rand(n, generator=generator)), ("evenly", lambda n: (torch.arange(n) + 0.5) / n)):
    try:
        attempt(test_sampler, by_your_draw(numbers))
        print(f"{name}: your test stays silent, if it is written")
    except AssertionError as complaint:
        print(f"{name}: your test complains: {complaint}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-searching", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 3. Beam search

# %% [markdown] nbgrader={"grade": false, "grade_id": "beam_search-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 9. Beam search
#
# **Why.** The loop of exercise 1 cannot take a token back. Beam search keeps several beginnings and decides later; translation and speech recognition have used it for decades.
#
# **Difficulty** 5 of 5 · **Time** 40 minutes · **Points** 12 · **Paper** Sutskever et al. (2014), section 3.2; Wu et al. (2016), section 7, for the length
#
# A **hypothesis** is a list of new tokens $y$ with its sum of log-probabilities, $s(y) = \sum_t \log p(y_t \mid x, y_{<t})$, where $x$ is the prompt. At first there is one: no token, sum 0. Then, `max_tokens` times:
#
# 1. Extend every running hypothesis by every one of the $V$ tokens.
# 2. Of **all** these candidates together keep the `width` with the largest sums, or all if there are fewer.
# 3. Kept candidates that end with `end_id` are **finished**: set them aside and never extend them. The others continue. If none does, stop.
#
# At the end compare all finished and running hypotheses by their **score**, $s(y) / n^{\text{penalty}}$, where $n$ counts the new tokens, end token included. Return the tokens and the score of the best one.
#
# Write `beam_search(next_logits, prompt, width, max_tokens, end_id, penalty)`. `next_logits` is a model that reads $N$ texts of equal length at once: ids `(N, T)` give logits `(N, T, V)`. Return a tuple of a list of ints and a float.
#
# **By hand.** First tokens a, b, c with the probabilities .40, .35, .25. After a come two tokens with .6 and .4, after b two others with .6 and .4, after c one with 1. Two tokens, penalty 0, no end:
#
# | width | kept after one token | kept after two | returned |
# | --- | --- | --- | --- |
# | 1 | a | a.6: .24 | log .24 |
# | 2 | a, b | a.6: .24, b.6: .21 | log .24 |
# | 3 | a, b, c | **c1: .25**, a.6, b.6 | log **.25** |
#
# With width 3, the best text begins with the worst token. And for the length: of two finished hypotheses, −2.0 in two tokens and −2.7 in three, penalty 0 takes the first, and penalty 1 the second, since −.9 is more than −1.
#
# **Rules**
# 1. The beam is kept by sums; only the final choice uses scores.
# 2. A finished hypothesis takes no room in later steps: each step keeps `width` candidates again. In its own step it is not replaced.
# 3. A token with the logit minus infinity cannot come: no hypothesis that contains one is ever returned.
# 4. Add natural logarithms of softmax probabilities; a product of hundreds of probabilities is 0 in floating point.
# 5. Call the model exactly once per step, with all running hypotheses as rows and no other rows.
#
# <details><summary>Hint 1: a nudge</summary>
#
# After the first step with width 3 there are three rows. Where do they come from, if at first there is only one hypothesis?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# `running = [([], 0.0)]` and `finished = []`. In each step: one tensor of all texts, the logits at the last position, `log_softmax`. Make a plain list of candidates, `(tokens, sum)`, sort it in descending order and cut it. Divide the rest into the two lists. At the end, `max` over both with the score as key.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# The heaviest ways down a triangle of numbers, of which only the best `width` are kept at each level:
#
# ```python
# def heaviest(triangle, width):
#     ways = [(triangle[0][0], [0])]
#     for row in triangle[1:]:
#         longer = [(total + row[n], [*way, n]) for total, way in ways for n in (way[-1], way[-1] + 1)]
#         ways = sorted(longer, reverse=True)[:width]
#     return ways[0]
# ```
#
# `heaviest([[1], [3, 2], [1, 1, 9]], 1)` goes left first, and `heaviest([[1], [3, 2], [1, 1, 9]], 2)` finds the 9.
#
# </details>
# <details><summary>Fine print</summary>
#
# `prompt` has 1 to 300 ints, `width` is from 1 to 20, `max_tokens` from 1 to 300, `width` times `max_tokens` at most 600, `end_id` at least 0, and `penalty` a float from 0 to 3. `width` may be larger than the number of candidates. `end_id` may be a number that never comes, or come first; then the hypothesis has one token. An `end_id` in the prompt ends nothing. The rows of a call may be in any order, and no call follows when no hypothesis is left; calls are counted for the last half point only, where no logit decides by being minus infinity. Where it matters, two sums or scores are at least 0.001 apart.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "beam_search", "locked": false, "schema_version": 3, "solution": true, "task": false}
def beam_search(next_logits: Callable[[Int[Tensor, "N T"]], Float[Tensor, "N T V"]], prompt: list[int], width: int, max_tokens: int,
                end_id: int, penalty: float) -> tuple[list[int], float]:
    """The tokens and the score of the best hypothesis that the search finds."""
    ### BEGIN SOLUTION
    running, finished = [([], 0.0)], []
    for _ in range(max_tokens):
        texts = torch.tensor([prompt + ids for ids, _ in running])
        logs = next_logits(texts)[:, -1].log_softmax(1).tolist()          # (N, V)
        candidates = [(ids + [token], total + log) for (ids, total), row in zip(running, logs) for token, log in enumerate(row)]
        kept = sorted(candidates, key=lambda one: -one[1])[:width]
        finished += [one for one in kept if one[0][-1] == end_id]
        running = [one for one in kept if one[0][-1] != end_id]
        if not running:
            break
    scored = [(ids, total / len(ids) ** penalty) for ids, total in finished + running]
    return max(scored, key=lambda one: one[1])
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "beam_search-check", "locked": true, "points": 12, "schema_version": 3, "solution": false, "task": false}
check(beam_search)

# %% [markdown] nbgrader={"grade": false, "grade_id": "beam_search-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# A table of eight words, drawn by chance, and texts of five: the best of all 32,768 is found by trying each. How wide must the beam be to find it? Another seed gives another answer.

# %% nbgrader={"grade": false, "grade_id": "look-beam_search", "locked": true, "schema_version": 3, "solution": false, "task": false}
table = 2 * torch.randn(8, 8, generator=torch.Generator().manual_seed(134))
logs = table.log_softmax(1)
sums = logs[0]
for _ in range(4):
    sums = sums[..., None] + logs                                          # one axis more for each word
for width in (1, 2, 3, 4, 8, 16):
    found = attempt(beam_search, lambda ids: table[ids], [0], width, 5, 99, 0.0)
    if found is not None:
        print(f"width {width:>2}: {found[0]} with the sum {found[1]:.3f}; the best of all has {sums.max():.3f}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-own-words", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 4. In your own words

# %% [markdown] nbgrader={"grade": false, "grade_id": "likeliest_text-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 10. Why not the most probable text?
#
# **Why.** "The model should just give the best answer" is the first thing that people say when they hear of sampling. Somebody has to be able to answer that.
#
# **Difficulty** 2 of 5 · **Time** 11 minutes · **Points** 4, graded by a person · **Paper** Holtzman et al. (2020), sections 1 and 4; Stahlberg and Byrne (2019), for translation
#
# A colleague has built a program that writes short stories. It runs beam search with width 8 on a good model, and the stories are dull and repeat themselves. "I do not understand it", says the colleague. "It finds more probable texts than any other method, and the model was trained to make real texts probable. In our translation program the same search works well."
#
# In about 120 words: why is the most probable story a bad one, why does it repeat itself, why does the same search work for translation, and what do you suggest, at what price?
#
# {{rubric}}
#
# Short is fine. Correct and concrete beats long.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Read a sentence of your own, word by word. How often is the next word the one that everybody would have expected?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Four things to say: how surprising people's text is; what a repeated phrase does to the next prediction; how many right answers there are in the two tasks; what sampling does, and what has to be cut off for it.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# *Why is nobody the most common person?* Take the most common age, the most common height, the most common country, and so on for a hundred questions. Each answer is the most probable one, and yet nobody has all of them: where much is left open, the most probable whole is far from every real one. If only one question is left open, the most probable answer is a good guess.
#
# </details>

# %% [markdown] nbgrader={"grade": true, "grade_id": "likeliest_text", "locked": false, "points": 4, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# {{samples}}
# ### END SOLUTION

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-real", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Your code runs the real thing
#
# Nothing to write here. Run the cells and watch; they take twenty to thirty seconds on a quiet machine.
#
# First your `pad_left` prepares two prompts for the small GPT of this course, which was trained on the King James Bible. Then your loop, penalty, filters and draw generate with it, next to the course's own `generate`, which gets the same random numbers.
# Last, your beam search looks for the most probable continuation of the sentence that this chapter began with: with that GPT, and with SmolLM2, if its weights are here.

# %% nbgrader={"grade": false, "grade_id": "real-write", "locked": true, "schema_version": 3, "solution": false, "task": false}
import math
import time

from course.demo import ready
from reference_impl.corpora import load
from reference_impl.corpora.small_models import small_model


def held_out(tokenizer, number: int, length: int = 8, more: int = 64) -> tuple[list[list[int]], list[list[int]]]:
    """So many passages of the eleventh hundredth of the Bible, which no model here was trained on: their first tokens, and how people continued."""
    text = load("kjv")
    size = -(-len(text) // 100)
    tokens = tokenizer.encode(text[10 * size:11 * size])
    rows = [tokens[start:start + length + more] for start in range(0, number * (length + more), length + more)]
    return [row[:length] for row in rows], [row[length:] for row in rows]


def drawing(model, numbers, temperature: float = 0.8, k: int = 40, p: float = 0.9, penalty: float = 1.2):
    """A model for your loop: your penalty and filters change its logits, your `draw` takes the next number, and only that token keeps a logit."""
    waiting = iter(numbers)

    @torch.no_grad()
    def next_logits(ids: Int[Tensor, "1 T"]) -> Float[Tensor, "1 T V"]:
        logits = penalise(model(ids)[:, -1], ids, penalty) / temperature
        logits = keep_top_p(keep_top_k(logits, torch.tensor([k])), torch.tensor([p]))
        token = draw(logits, 1.0, next(waiting)[None].float())
        return torch.full_like(logits, -torch.inf).scatter(1, token[:, None], 0.0)[:, None].expand(-1, ids.shape[1], -1)
    return next_logits


@torch.no_grad()
def bits(model, prompt: list[int], new: list[int]) -> float:
    """The surprise of the new tokens under the model, in bits a token."""
    logs = model(torch.tensor([prompt + new]))[0, len(prompt) - 1:-1].log_softmax(1)
    return -logs.gather(1, torch.tensor(new)[:, None]).mean().item() / math.log(2)


def in_four_ways(model, prompts: list[list[int]], max_tokens: int = 64) -> tuple[dict[str, list[list[int]]], list[list[int]]]:
    """What your functions generate after each prompt, by way of choosing; and what the course's `generate` does with the same random numbers and parameters."""
    from reference_impl.generation.loop import generate as reference_generate
    from reference_impl.generation.sampling_params import SamplingParams
    end, rows, theirs = model.config.vocab_size, {"greedy": [], "sampled, no filter": [], "penalty, top-k, top-p": [], "4 beams": []}, []
    for seed, prompt in enumerate(prompts):
        generator = torch.Generator().manual_seed(seed)
        numbers = [torch.rand((), generator=generator, dtype=torch.float64) for _ in range(max_tokens)]
        with torch.no_grad():
            rows["greedy"].append(generate(model, prompt, max_tokens, end))
            rows["sampled, no filter"].append(generate(drawing(model, numbers, 1.0, end, 1.0, 1.0), prompt, max_tokens, end))
            rows["penalty, top-k, top-p"].append(generate(drawing(model, numbers), prompt, max_tokens, end))
            rows["4 beams"].append(beam_search(model, prompt, 4, max_tokens, end, 0.0)[0])
        knobs = SamplingParams(temperature=0.8, top_k=40, top_p=0.9, repetition_penalty=1.2, max_tokens=max_tokens, seed=seed)
        theirs.append(reference_generate(model, [prompt], knobs)[0].ids)
    return rows, theirs

# %% nbgrader={"grade": false, "grade_id": "real-padding-run", "locked": true, "schema_version": 3, "solution": false, "task": false}
if ready(pad_left):
    gpt = small_model("gpt_kjv")
    together = [gpt.tokenizer.encode(text) for text in ("\nAnd the king said unto all the people of the land,", "\nWe sat on the bank")]
    ids, mask, positions = pad_left(together, 0)
    with torch.no_grad():
        alone = gpt.model(torch.tensor([together[1]]))[0, -1].softmax(0)
        for name, places in (("your positions", positions), ("the printed function's", torch.arange(ids.shape[1]).expand(ids.shape) * mask)):
            padded = gpt.model(ids, mask, places)[1, -1].softmax(0)
            print(f"{name:<23}: {(padded - alone).abs().sum() / 2:.1%} of the probability of the next token went elsewhere")

# %% nbgrader={"grade": false, "grade_id": "real-write-run", "locked": true, "schema_version": 3, "solution": false, "task": false}
if ready(generate, draw, keep_top_k, keep_top_p, penalise, beam_search, needs=["kjv"]):
    gpt = small_model("gpt_kjv")
    prompts, people = held_out(gpt.tokenizer, 6)
    started = time.perf_counter()
    rows, theirs = in_four_ways(gpt.model, prompts)
    print(f"{4 * len(prompts)} texts of 64 tokens in {time.perf_counter() - started:.0f} s; of the third way {sum(one == other for one, other in zip(rows['penalty, top-k, top-p'], theirs))} of {len(theirs)} "
          "are those of the course's own loop, token for token")
    for name, texts in {"people": people, **rows}.items():
        different = sum(len(set(text)) / len(text) for text in texts) / len(texts)
        surprise = sum(bits(gpt.model, prompt, text) for prompt, text in zip(prompts, texts)) / len(texts)
        print(f"{name:<22} {different:.2f} of the tokens are different, {surprise:.1f} bits a token: {gpt.tokenizer.decode(texts[0])[:90]!r}")

# %% nbgrader={"grade": false, "grade_id": "real-beams", "locked": true, "schema_version": 3, "solution": false, "task": false}
def endings(model, prompt: list[int], widths: list[int], max_tokens: int) -> dict[int, tuple[list[int], float]]:
    """The best ending that your beams find, by width, with its sum of logarithms."""
    with torch.no_grad():
        return {width: beam_search(lambda ids: model(ids).float(), prompt, width, max_tokens, model.config.vocab_size, 0.0) for width in widths}

# %% nbgrader={"grade": false, "grade_id": "real-beams-run", "locked": true, "schema_version": 3, "solution": false, "task": false}
if ready(beam_search):
    gpt = small_model("gpt_kjv")
    for width, (new, total) in endings(gpt.model, gpt.tokenizer.encode("\nWe sat on the bank of the"), [1, 2, 4, 8, 16], 8).items():
        print(f"GPT,     width {width:>2}: {total:7.2f}  {gpt.tokenizer.decode(new)!r}")
if ready(beam_search, needs=["smollm2"]):
    from reference_impl import corpora
    from reference_impl.tokenizers.gguf_tokenizer import tokenizer_from_metadata
    from reference_impl.weights.gguf_files import read_gguf

    smollm, tokenizer = load("smollm2").eval(), tokenizer_from_metadata(read_gguf(next(corpora.path("smollm2").glob("*.gguf"))).metadata)
    for width, (new, total) in endings(smollm, list(tokenizer.encode("We sat on the bank of the").ids), [1, 2, 4], 6).items():
        print(f"SmolLM2, width {width:>2}: {total:7.2f}  {tokenizer.decode(new)!r}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "real-end", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The same random numbers and parameters give the same text, in your loop and in the course's, which keeps a KV cache and processes many sequences at once. (In one of a thousand runs, a number may be so near to a border that rounding decides.)
# Compare each row with that of people, whose text the model had never seen. Greedy decoding, and even more so beam search, hardly surprises the model, and repeats itself; sampled text surprises it about as much as people's, or less where the tail is cut. That is all that these parameters decide: none of them makes the model know more.
# A wider beam never ends with a smaller sum in these lines; that is no law, since a wider beam may drop the beginning that a narrow one kept.

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
# - *Types.* Return the type, dtype and shape that the statement names; a dictionary has the named keys and no others, in any order. A subclass counts as its type, and an `int` may be given for a `float`, but a bool is no number. Arguments that are called floats are Python floats. Correct values in another type or dtype, or with an axis of length 1 too many or too few, lose a fifth of the exercise's points, once. So does an answer that breaks *Arguments*.
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
# ## 1. The loop
#
# - **What it is for**: every text that a language model ever wrote came out of a loop like this one. A chat window shows it: word after word.
# - **Difficulty** 2 of 5 · **Time** 18 minutes · **Points** 6
# - **Needs**: what a causal model returns (chapter 8).
# - **Paper**: Radford et al. (2019), section 2, for the model; the loop is older than any paper here.
#
# **The idea.** `next_logits` is a model. You give it a text, as an int64 tensor of shape $(1, T)$, and get logits of shape $(1, T, V)$. What stands at place $t$ scores the token that comes **after** place $t$, given all tokens up to it.
#
# Begin with `prompt`. Take the token with the largest logit after the last place, put it behind the text, and ask again, with the **whole** text. Stop after `max_tokens` new tokens, or as soon as `end_id` was chosen. Return the new tokens as a list.
#
# **By hand.** Three tokens, and a model that only looks at the last one: after 0 comes 1, after 1 comes 2, after 2 comes 0. Prompt 0, `max_tokens` 5. With `end_id` 9, which never comes: **1, 2, 0, 1, 2**. With `end_id` 2: **1, 2**.
#
# **Rules**
#
# - The end token is part of what you return. It is what tells a reader that the text is complete.
# - Only a *chosen* `end_id` ends anything. One that stands in the prompt does not.
# - `max_tokens` may be 0: then the list is empty, and nobody is asked. `end_id` may be a number that the model never chooses, such as $V$.
# - The model may look at everything that stands before, so it needs the whole text each time. It keeps nothing from call to call.
# - Ask exactly once for each new token, with an int64 tensor of shape $(1, T)$: a call is what costs time.
# - In each row the largest logit is at least 0.001 above all others. Logits as in the rules above.
#
# **In**: `next_logits` a function as above; `prompt` a list of 1 to 300 ids that the model knows; `max_tokens` an int from 0 to 300; `end_id` an int of at least 0. **Out**: a list of ints.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Of the $T$ rows of logits, one is about a token that is not there yet. Which?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Copy the prompt into a list of your own. In a loop: a tensor of it, the logits at `[0, -1]`, `argmax`, `append`. Look at `end_id` after appending.
#
# </details>
# <details><summary>Hint 3: a worked neighbour</summary>
#
# Collatz: a number follows from all before it, here from the last; at 1 it is over, and the 1 belongs to the list.
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

# %% nbgrader={"grade": false, "grade_id": "generate", "locked": false, "schema_version": 3, "solution": true, "task": false}
def generate(next_logits: Callable[[Int[Tensor, "1 T"]], Float[Tensor, "1 T V"]], prompt: list[int], max_tokens: int, end_id: int) -> list[int]:
    """What the model writes behind the prompt, the likeliest token each time, its end token included."""
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
# A model that counted which word follows which, in two sentences. It always writes what came most often, and so it goes round in a circle: the first failure that the rest of this notebook is about.

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
# ## 2. One wrong line: prompts of different length
#
# - **What it is for**: prompts that are generated from together must end at the same place, so the short ones are filled up on the left. Then a fault like the one below changes no shape and raises no error: the model just writes worse. Published libraries have had it.
# - **Difficulty** 2 of 5 · **Time** 10 minutes · **Points** 4
# - **Needs**: learned positions (chapter 4), reading code with a pencil.
# - **Paper**: none; two issues of the library transformers, #18478 and #21080, tell the story.
#
# **The idea.** Each prompt is a list of ids. They become one table: the short ones get `pad` in front, so that all end in the last column. A mask says where a token of a prompt stands: True there, False at padding. And each token gets its position **in its own prompt**: the first token of a prompt has position 0, the next 1, wherever the padding ends. So a prompt is read as it would be read alone. At padding the position is 0.
#
# The function below runs without complaint and returns three tensors of the right shape. **Exactly one** of its six numbered lines is wrong.
#
# ```python
# def pad_left(prompts, pad):                                                             # B lists of ids
#     width = max(len(prompt) for prompt in prompts)                                      # line 1
#     gaps = torch.tensor([width - len(prompt) for prompt in prompts])                    # line 2
#     ids = torch.tensor([[pad] * (width - len(prompt)) + prompt for prompt in prompts])  # line 3
#     mask = torch.arange(width) >= gaps[:, None]                                         # line 4
#     positions = torch.arange(width).expand(len(prompts), width) * mask                  # line 5
#     return ids, mask, positions                                                         # line 6
# ```
#
# **By hand.** Two prompts, 5 6 7 and 8, with `pad` 0.
#
# | | ids | mask | positions |
# | --- | --- | --- | --- |
# | first | 5 6 7 | True True True | 0 1 2 |
# | second | 0 0 8 | False False True | 0 0 **0** |
#
# **Rules**
#
# - `pad` may be an id that a prompt holds too: padding is known by where it stands, not by its number.
# - All prompts may be equally long, and there may be one prompt only.
#
# **What to do.** Three points for the function, repaired: copy it and change that line, or write it anew. One point for the line's number, a plain `int`, which `wrong_line` returns. Each is graded by itself.
#
# **In**: `prompts` a list of 1 to 300 lists of 1 to 300 ints; `pad` an int of at least 0. **Out**: a tuple of three tensors $(B, T)$: int64, bool, int64.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Which position does the 8 of the second prompt get, and which would it get alone?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Run the lines one by one on the two prompts of the case by hand, and compare what each name holds with the table.
#
# </details>
# <details><summary>Hint 3: a worked neighbour</summary>
#
# Trains of different length stop with their last coach at the gate. Which number does the coach at each metre of the platform have in its own train?
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

# %% nbgrader={"grade": false, "grade_id": "repair_padding", "locked": false, "schema_version": 3, "solution": true, "task": false}
def wrong_line() -> int:
    """The number, 1 to 6, of the line that is wrong."""
    ### BEGIN SOLUTION
    return 5
    ### END SOLUTION


def pad_left(prompts: list[list[int]], pad: int) -> tuple[Int[Tensor, "B T"], Bool[Tensor, "B T"], Int[Tensor, "B T"]]:
    """The function of the statement, with the wrong line repaired."""
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
# How much of a batch does the fault touch? Prompts of 1 to 20 tokens, so many at a time: the share of their tokens to which the printed function gives another position than yours. In the last part of this notebook you see what a GPT makes of it.

# %% nbgrader={"grade": false, "grade_id": "look-repair_padding", "locked": true, "schema_version": 3, "solution": false, "task": false}
generator = torch.Generator().manual_seed(9)
for batch in (1, 2, 8, 32):
    made = attempt(pad_left, [[5] * int(length) for length in torch.randint(1, 21, (batch,), generator=generator)], 0)
    if made is not None:
        ids, mask, positions = made
        print(f"{batch:>2} prompts: {(positions != torch.arange(ids.shape[1]))[mask].float().mean():.0%} of the tokens stand elsewhere")

# %% [markdown] nbgrader={"grade": false, "grade_id": "predict_reading-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 3. How much is read?
#
# - **What it is for**: your loop reads the whole text again for every token. Every server keeps what was computed, in a cache of keys and values. These four numbers say what that is worth, before anything is run.
# - **Difficulty** 2 of 5 · **Time** 10 minutes · **Points** 4
# - **Needs**: exercise 1; the sum 1 + 2 + … + n = n (n + 1) / 2.
# - **Paper**: none; Pope et al. (2023), section 2, counts the same way.
#
# **What to predict.** A prompt of `prompt` tokens, after which `new` tokens are chosen, one after the other. Return a dictionary of four ints:
#
# - `"tokens"`: how many tokens pass through the model in all, **without** a cache. Each pass reads the whole text so far. The token that is chosen last is never read.
# - `"tokens_cached"`: the same **with** a cache. The first pass reads the prompt, and each later one reads only the token that was chosen before it.
# - `"pairs"`: how many pairs of a query and a key are scored **without** a cache, in one head of one block. Each token that passes through is a query, and looks at itself and at every token before it.
# - `"pairs_cached"`: the same **with** a cache. Queries are only the tokens that pass through; keys are all tokens up to the query, whether they come from the cache or not.
#
# **By hand.** Three prompt tokens, four new ones. Without a cache: passes over 3, 4, 5 and 6 tokens, **18** together. With one: 3 + 1 + 1 + 1 = **6**. A pass over three tokens scores 1 + 2 + 3 = 6 pairs, so without a cache 6 + 10 + 15 + 21 = **52**. With one: 6, then 4, 5 and 6, together **21**.
#
# **Rules**
#
# - No token ends the text early. The numbers may be large: count in ints, no floats.
#
# **In**: `prompt` and `new`, ints from 1 to a million. **Out**: a dictionary of four ints.
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
# <details><summary>Hint 3: a worked neighbour</summary>
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

# %% nbgrader={"grade": false, "grade_id": "predict_reading", "locked": false, "schema_version": 3, "solution": true, "task": false}
def predict_reading(prompt: int, new: int) -> dict[str, int]:
    """Tokens that pass through the model and pairs that are scored, without a cache and with one."""
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
# The same prompt and longer and longer answers: what a cache saves grows with the answer.

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
# - **What it is for**: the line where chance comes in. The random number is an argument here, so that everything about it can be checked to the token; a server keeps one stream of random numbers for each request, for the same reason.
# - **Difficulty** 3 of 5 · **Time** 20 minutes · **Points** 6
# - **Needs**: softmax, `cumsum`.
# - **Paper**: Ackley et al. (1985), section 2, for the temperature; the draw is inversion of the distribution function.
#
# **The idea.** Divide the logits by the temperature, take the softmax, and add up the probabilities from token 0 on. The drawn token is
#
# *the **first** token $v$ at which $p_0 + p_1 + \dots + p_v$ is **greater than** $u$.*
#
# Each of the $B$ rows has its own $u$; the temperature is the same for all. A temperature of 0 means the limit: the token with the largest logit, whatever $u$ is.
#
# **By hand.** Logits ln 16, ln 9, ln 4, ln 1. At temperature 1 the probabilities are 16, 9, 4 and 1 thirtieths: $u$ = .6 lies between 16/30 = .533 and 25/30, so the draw is token **1**. At temperature 2 they are 4, 3, 2 and 1 tenths, since halving a logarithm takes a root: $u$ = .6 is token **1** again, and $u$ = .75 token **2**. At temperature ½ they are 256, 81, 16 and 1 of 354: $u$ = .6 is token **0**.
#
# **Rules**
#
# - Greater than: with the logits 0, 0 and $u$ = .5 the draw is token 1, at every temperature above 0. With $u$ = 0 it is the first token that can come at all.
# - A token with the logit minus infinity is never drawn, by no $u$.
# - Sums in floating point may end a little below 1. If no sum is greater than $u$, take the last token that can come.
# - Divided by a small temperature, logits are as large as 100,000: the probabilities are numbers all the same.
# - At temperature 0 the largest logit of a row is at least 0.001 above all others.
#
# **In**: `logits` float32 $(B, V)$, as in the rules above; `temperature` a float, 0 or from 0.01 to 100; `u` float32 $(B)$, from 0 to 1, 1 not included. Where it is not a border that is named here, $u$ is no nearer than 0.0001 to a sum. At the borders, the first and the last token that can come have a probability of at least 0.001. **Out**: int64 $(B)$.
#
# <details><summary>Hint 1: a nudge</summary>
#
# What would 0 / 0 do to a row? Where is the temperature 0 handled, then?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# `(logits / temperature).softmax(1).cumsum(1)` is $(B, V)$, `u[:, None]` is $(B, 1)$. Count the sums that are **not** greater than $u$: that is the number of the token. Only if $u$ is above all of them has it to be brought back, to the last token whose logit is finite.
#
# </details>
# <details><summary>Hint 3: a worked neighbour</summary>
#
# Books of different width stand side by side, and a mark is made so many centimetres from the left. In which book is it?
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

# %% nbgrader={"grade": false, "grade_id": "draw", "locked": false, "schema_version": 3, "solution": true, "task": false}
def draw(logits: Float[Tensor, "B V"], temperature: float, u: Float[Tensor, "B"]) -> Int[Tensor, "B"]:
    """One token a row: the first at which the sum of the probabilities passes u, or the likeliest at temperature 0."""
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
# Ten thousand draws at four temperatures from the weights of the case by hand. The shares of the four tokens stand beside what the temperature makes of the weights.

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
# ## 5. Keep the k likeliest
#
# - **What it is for**: a model gives a little to each of thousands of wrong tokens, and in a long text such a token is drawn sooner or later. Top-k forbids all but a few. Each row has its own k, since a server works requests of different people together.
# - **Difficulty** 2 of 5 · **Time** 10 minutes · **Points** 4
# - **Needs**: `topk` or `sort`, `gather`.
# - **Paper**: Fan et al. (2018), section 5.4.
#
# **The idea.** In each row the `k` largest logits stay as they are, and all others become minus infinity, so that a softmax gives them 0.
#
# **By hand.** The row 2, 5, 1, 3 with k = 2 becomes -∞, 5, -∞, 3. With k = 1 only the 5 stays; with k = 4, or 9, all do.
#
# **Rules**
#
# - *Ties.* A logit that is as large as the k-th largest stays, too: the row 2, 5, 2, 1 with k = 2 becomes 2, 5, 2, -∞. So more than k may stay, and nobody has to say which of two equal ones is better. Two logits are either equal or at least 0.001 apart.
# - k may be $V$ or larger: then the row stays as it is.
# - A minus infinity in the row stays one, and is smaller than every number. There may be fewer than k others.
#
# **In**: `logits` float32 $(B, V)$, as in the rules above; `k` int64 $(B)$, each from 1 to a million. **Out**: float32 $(B, V)$.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Which single number of a row decides who stays?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Sort the rows downwards; `gather` takes the number at place k - 1 of each, after k was made $V$ where it is larger. What is less than that number becomes minus infinity, by `masked_fill`.
#
# </details>
# <details><summary>Hint 3: a worked neighbour</summary>
#
# In each race so many runners get a medal, and whoever is as fast as the last of them gets one too.
#
# ```python
# def medals(times, places):                                    # (races, runners), (races)
#     slowest = times.sort(1).values.gather(1, places[:, None] - 1)
#     return times <= slowest
# ```
#
# `medals(torch.tensor([[9.0, 8.0, 9.0, 7.0]]), torch.tensor([3]))` gives one to all four.
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
# The same k for a model that is sure and for one that is not: what share of the probability stays? That question leads to the next exercise.

# %% nbgrader={"grade": false, "grade_id": "look-keep_top_k", "locked": true, "schema_version": 3, "solution": false, "task": false}
generator = torch.Generator().manual_seed(9)
rows = torch.randn(2, 1000, generator=generator) * torch.tensor([[4.0], [1.0]])
for k in (1, 10, 100):
    kept = attempt(keep_top_k, rows, torch.tensor([k, k]))
    if kept is not None:
        sure, unsure = (rows.softmax(1) * (kept > -torch.inf)).sum(1).tolist()
        print(f"k = {k:>3}: {sure:.2f} of the sure model's probability stays, {unsure:.2f} of the unsure one's")

# %% [markdown] nbgrader={"grade": false, "grade_id": "keep_top_p-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 6. Keep enough of the probability
#
# - **What it is for**: `top_p` stands in nearly every API. It keeps few tokens where the model is sure and many where it is not. Three published projects have dropped the one token that this exercise is about.
# - **Difficulty** 3 of 5 · **Time** 18 minutes · **Points** 6
# - **Needs**: `sort`, `cumsum`, and the way back from a sorted row.
# - **Paper**: Holtzman et al. (2020), section 3.1.
#
# **The idea.** Take the softmax of a row. Keep the **fewest** likeliest tokens whose probabilities add up to `p` or more; their logits stay as they are, and all others become minus infinity. The token with which the sum reaches `p` stays.
#
# **By hand.** Weights 16, 9, 4, 1, that is logits ln 16, ln 9, ln 4, ln 1, in any order. With p = .8: 16/30 is .533, too little; with the 9 it is 25/30 = .833. So **two** stay. With p = .5 one stays, which alone has more than .5. After a temperature of 2 the probabilities are .4, .3, .2, .1, and p = .8 keeps **three**.
#
# **Rules**
#
# - At least one token stays, however small p is.
# - With p = 1 the row stays as it is, whatever rounding makes of the sums.
# - The result stands in the order of the row, not in a sorted one.
# - A minus infinity in the row stays one; its probability is 0.
#
# **In**: `logits` float32 $(B, V)$, as in the rules above; two of a row are both minus infinity or at least 0.001 apart. `p` float32 $(B)$, each 1, or from 0.000001 to 0.9998. Where p is not 1, no sum of one or more of the likeliest tokens is within 0.0001 of it. **Out**: float32 $(B, V)$.
#
# <details><summary>Hint 1: a nudge</summary>
#
# For a token of the sorted row: how much have the tokens **before** it, without its own share? What must that be for the token to stay?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Sort downwards and keep the order. A sorted token stays if the sum of those before it is less than p: `probs.cumsum(1) - probs < p[:, None]`. That mask belongs to the sorted row: bring it back with `scatter(1, order, mask)`, or compare the row with the smallest logit that stays. Think of p = 1 by itself.
#
# </details>
# <details><summary>Hint 3: a worked neighbour</summary>
#
# The fewest boxes, largest first, that hold at least so many apples, as a mask in the order in which the boxes stand:
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

# %% nbgrader={"grade": false, "grade_id": "keep_top_p", "locked": false, "schema_version": 3, "solution": true, "task": false}
def keep_top_p(logits: Float[Tensor, "B V"], p: Float[Tensor, "B"]) -> Float[Tensor, "B V"]:
    """The logits of the fewest likeliest tokens that have p of the probability together; minus infinity elsewhere."""
    ### BEGIN SOLUTION
    sorted_logits, order = logits.sort(1, descending=True)
    probs = sorted_logits.softmax(1)
    before = probs.cumsum(1) - probs                                      # (B, V): what the likelier ones have
    stays = (before < p[:, None]) | (p == 1)[:, None]
    stays[:, 0] = True
    return logits.masked_fill(~torch.zeros_like(stays).scatter(1, order, stays), -torch.inf)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "keep_top_p-check", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
check(keep_top_p)

# %% [markdown] nbgrader={"grade": false, "grade_id": "keep_top_p-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The two models of the last cell again: how many tokens does each p keep? And the weights of the case by hand, with the temperature before the filter and after it.

# %% nbgrader={"grade": false, "grade_id": "look-keep_top_p", "locked": true, "schema_version": 3, "solution": false, "task": false}
for p in (0.5, 0.9, 0.99):
    kept = attempt(keep_top_p, rows, torch.tensor([p, p]))
    if kept is not None:
        print(f"p = {p:<4}: {int((kept[0] > -torch.inf).sum()):>3} tokens of the sure model stay, {int((kept[1] > -torch.inf).sum()):>3} of the unsure one")
logs = torch.tensor([[16.0, 9.0, 4.0, 1.0]]).log()
for name, row in (("temperature 2 after the filter", logs), ("temperature 2 before it", logs / 2)):
    kept = attempt(keep_top_p, row, torch.tensor([0.8]))
    if kept is not None:
        print(f"p = 0.8, {name}: {int((kept > -torch.inf).sum())} tokens stay")

# %% [markdown] nbgrader={"grade": false, "grade_id": "penalise-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 7. Punish what was said
#
# - **What it is for**: `repetition_penalty` breaks the circles of exercise 1. It looks like a division, and in two published libraries it was one: there, words that were unlikely already became likelier by being said.
# - **Difficulty** 2 of 5 · **Time** 8 minutes · **Points** 3
# - **Needs**: `scatter` or a loop; what a logit's sign says.
# - **Paper**: Keskar et al. (2019), section 4.1, divides by the penalty whatever the sign is; libraries today do as below.
#
# **The idea.** Every token that stands in the text so far, prompt and output alike, becomes less likely: a logit above 0 is **divided** by the penalty, and one below 0 is **multiplied** with it. All other logits stay as they are. The result may lie beyond 1,000.
#
# **By hand.** Logits 2, -2, 1, 0, text 0 1 0, penalty 2: the first becomes **1**, the second **-4**, and the others stay.
#
# **Rules**
#
# - A token counts once, however often it stands in the text.
# - The penalty may be 1, which changes nothing, or less than 1, which makes what was said likelier.
# - 0 stays 0, and minus infinity stays minus infinity.
# - Each row has its own text.
#
# **In**: `logits` float32 $(B, V)$, as in the rules above; `text` int64 $(B, T)$, each from 0 to $V - 1$; `penalty` a float from 0.1 to 10. **Out**: float32 $(B, V)$.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Divide -2 by 2. Is the token now likelier than before, or less likely?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Make a bool table of what was seen: zeros of shape $(B, V)$, and `scatter` with True at `text`. Twice `torch.where`: one for the sign, one for the seen.
#
# </details>
# <details><summary>Hint 3: a worked neighbour</summary>
#
# Whoever is in debt pays a tenth more, whoever has money gets a tenth less, but only customers of today:
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

# %% nbgrader={"grade": false, "grade_id": "penalise", "locked": false, "schema_version": 3, "solution": true, "task": false}
def penalise(logits: Float[Tensor, "B V"], text: Int[Tensor, "B T"], penalty: float) -> Float[Tensor, "B V"]:
    """The logits, those of tokens in the text made less likely."""
    ### BEGIN SOLUTION
    seen = torch.zeros(logits.shape, dtype=torch.bool).scatter(1, text, True)
    return torch.where(seen, torch.where(logits < 0, logits * penalty, logits / penalty), logits)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "penalise-check", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(penalise)

# %% [markdown] nbgrader={"grade": false, "grade_id": "penalise-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The circle of exercise 1, with your loop and your penalty.

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
# ## 8. Write the test: is it really chance?
#
# - **What it is for**: a sampler that never draws the last token, or draws a little too evenly, writes readable text, and no shape tells. Whoever maintains one needs a test that finds the fault and does not cry wolf.
# - **Difficulty** 4 of 5 · **Time** 25 minutes · **Points** 5
# - **Needs**: `assert`; the standard deviation of a count, $\sqrt{n p (1 - p)}$.
# - **Paper**: none; Pearson (1900) began it.
#
# **The idea.** Somebody hands you `sampler`. `sampler(probabilities, n)` draws $n$ tokens and returns how often each came, a list of ints. Write a test that stays silent when the sampler is honest, and fails an `assert` when it is not. Honest means: each of the $n$ draws is independent of all others, in this call and in every other, and token $v$ comes with probability $p_v$. A kind of wrong ones earns its points when your test stops all of that kind and lets every honest one pass:
#
# - *shares* (1.5 points): some token comes too often or too rarely, by far, wherever it stands in the list: all draws are the likeliest token, or all tokens come equally often, or likely ones too often, or too rarely;
# - *places* (1.5 points): the probabilities belong to other tokens, the first or the last token is never drawn, or a token of probability 0 is drawn;
# - *total* (0.5 points): the counts do not add up to $n$, or there are too few or too many of them;
# - *spread* (1.5 points): the shares are right, but the counts are not those of chance: they are the same in each call, or always nearly $n p$, or all draws of a call are one and the same token.
#
# A test that complains about an honest sampler earns nothing: everybody would switch it off. It is run some eighty times on honest samplers, each with chance of its own, and should stay silent each time.
#
# **By hand.** 10,000 draws from .4, .3, .2, .1. The first count is 4,000, give or take a standard deviation of $\sqrt{10000 \cdot .4 \cdot .6}$ = 49. An honest sampler is more than two deviations off every twentieth time; more than five, once in two million. One that gives all tokens a quarter is 1,500 off: thirty deviations. So a border of five or six deviations catches it and spares the honest.
#
# **Mind**
#
# - Allowed are lists of 2 to 20 floats of at least 0 that add up to 1 within 0.000001, and any $n$ from 1 to 20,000. An honest sampler may refuse anything else.
# - A wrong one of the first two kinds shows what it is when all probabilities differ by at least 0.1 and one of them is 0: with $n$ = 10,000 some count, perhaps only one, is then off by 500 or more, or a token of probability 0 comes a hundred times. With equal probabilities it may look honest, and that a last token of probability 0 never comes is no fault. The third kind is wrong in every call.
# - The fourth kind shows in several calls with the **same** arguments, $n$ at least 1,000 and the first probability from 0.1 to 0.9: the first count, perhaps it alone, has a standard deviation of less than a fifth of the right one, or all draws of a call are the same token.
# - A sampler draws anew in each call; a right one never returns the same counts each time when $n$ is large.
# - Complain with `assert`. Any other exception means that your test is broken, and earns nothing: look at the length before you index. To return False in place of a failing `assert` costs a fifth, once.
# - Every sampler returns a list of ints, and leaves the list that it is given as it was.
# - Call it some fifty times at most: one run of your test may take five seconds.
#
# <details><summary>Hint 1: a nudge</summary>
#
# How far off may one count be, in standard deviations, so that eighty honest runs with ten counts each all pass?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Once with .4, .3, .2, .1, 0 and $n$ = 10,000: length, sum, each count within six deviations, which is 0 for the last. For the places, another order of the same numbers. For the spread, twenty calls with .5, .3, .2 and $n$ = 1,000: the standard deviation of the first count should be 15.8; below 6 it is too even, and that no honest sampler is.
#
# </details>
# <details><summary>Hint 3: a worked neighbour</summary>
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
# Two samplers for your test: your own `draw`, and the same with numbers that are spread evenly over 0 to 1. The second has perfect shares, and is no chance.

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
# ## 9. Several beginnings at once
#
# - **What it is for**: the loop of exercise 1 cannot take a word back. Beam search keeps the few likeliest beginnings and decides later; translation and speech recognition have used it for decades.
# - **Difficulty** 5 of 5 · **Time** 40 minutes · **Points** 12
# - **Needs**: exercise 1, `log_softmax`, sorting.
# - **Paper**: Sutskever et al. (2014), section 3.2; Wu et al. (2016), section 7, for the length.
#
# **The idea.** `next_logits` is a model as in exercise 1, which reads $N$ texts of the same length at once: ids $(N, T)$ give logits $(N, T, V)$. A *hypothesis* is a list of new tokens with a *sum*: the logarithms of the probabilities of its tokens, each given the prompt and the tokens before it. At first there is one hypothesis: no token, sum 0. Then, `max_tokens` times:
#
# 1. Lengthen every running hypothesis by every one of the $V$ tokens. Each of these candidates has the sum of its beginning plus the logarithm of its new token.
# 2. Of **all** candidates together keep the `width` with the largest sums, or all if there are fewer.
# 3. Those of the kept ones that end with `end_id` are **finished**: they are put aside and never lengthened. The others run on. If none does, stop.
#
# In the next step there are again `width` places, however many have finished: a finished one takes no place, and is not replaced in its own step either.
#
# At the end, the finished hypotheses and those that still run are compared, by their *score*: the sum, divided by (number of new tokens)$^{\text{penalty}}$. The end token is counted. Return the tokens and the score of the one with the largest score.
#
# **By hand.** First words a, b, c with the probabilities .40, .35, .25. After a come two words with .6 and .4, after b two others with .6 and .4, after c one with 1. Two tokens, penalty 0, no end:
#
# | width | kept after one word | kept after two | returned |
# | --- | --- | --- | --- |
# | 1 | a | a.6: .24 | log .24 |
# | 2 | a, b | a.6: .24, b.6: .21 | log .24 |
# | 3 | a, b, c | **c1: .25**, a.6, b.6 | log **.25** |
#
# With width 3, behind the worst word stands the best text. And for the length: of two finished hypotheses, one with the sum -2.0 in two tokens and one with -2.7 in three, penalty 0 takes the first, and penalty 1 the second, since -2.7 / 3 = -.9 is more than -2.0 / 2 = -1.
#
# **Rules**
#
# - The beam is kept by sums, and only the last choice is made by scores.
# - Logarithms are natural ones, and the softmax is over the vocabulary: logits are no logarithms of probabilities yet.
# - `width` may be larger than the number of candidates. `end_id` may be a number that never comes. The end token may come first; then the hypothesis has one token. An `end_id` in the prompt ends nothing.
# - A token with the logit minus infinity cannot come: no hypothesis that holds one is ever returned.
# - A product of hundreds of probabilities is 0 in floating point: add logarithms.
# - Call the model exactly once for each step, with all running hypotheses as rows in any order and no other rows, and not again when none is left. That is the last half point; the other stages do not count calls. Where they are counted, no logit decides by being minus infinity.
# - Nothing is decided by a tie: where it matters, two sums or scores are at least 0.001 apart.
#
# **In**: `next_logits` a function as above; `prompt` a list of 1 to 300 ints; `width` an int from 1 to 20; `max_tokens` an int from 1 to 300, and `width` times `max_tokens` is at most 600; `end_id` an int of at least 0; `penalty` a float from 0 to 3. **Out**: a tuple of a list of ints and a float.
#
# <details><summary>Hint 1: a nudge</summary>
#
# After the first step with width 3 there are three rows. Where do they come from, if at first there is only one hypothesis?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# `running = [([], 0.0)]` and `finished = []`. In each step: one tensor of all texts, the last place's logits, `log_softmax`. Make a plain list of candidates, `(sum, tokens)`, sort it downwards and cut it. Divide the rest into the two lists. At the end, `max` over both with the score as key.
#
# </details>
# <details><summary>Hint 3: a worked neighbour</summary>
#
# The heaviest ways down a triangle of numbers, of which only the best `width` are kept at each level:
#
# ```python
# def heaviest(triangle, width):
#     ways = [(triangle[0][0], [0])]
#     for row in triangle[1:]:
#         longer = [(total + row[place], [*way, place]) for total, way in ways for place in (way[-1], way[-1] + 1)]
#         ways = sorted(longer, reverse=True)[:width]
#     return ways[0]
# ```
#
# `heaviest([[1], [3, 2], [1, 1, 9]], 1)` goes left first, and `heaviest([[1], [3, 2], [1, 1, 9]], 2)` finds the 9.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "beam_search", "locked": false, "schema_version": 3, "solution": true, "task": false}
def beam_search(next_logits: Callable[[Int[Tensor, "N T"]], Float[Tensor, "N T V"]], prompt: list[int], width: int, max_tokens: int,
                end_id: int, penalty: float) -> tuple[list[int], float]:
    """The best hypothesis that is found with so many beginnings kept at each step, and its score."""
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
# ## 10. Why not the likeliest text?
#
# - **What it is for**: "the model should just give the best answer" is the first thing that people say when they hear of sampling. Somebody has to be able to answer that.
# - **Difficulty** 2 of 5 · **Time** 11 minutes · **Points** 4, given by a person who reads it
# - **Needs**: the exercises before, and what the chapter measured.
# - **Paper**: Holtzman et al. (2020), sections 1 and 4; Stahlberg and Byrne (2019), for translation.
#
# **The question.** A colleague has built a program that writes short stories. It runs beam search with width 8 on a good model, and the stories are dull and go round in circles. "I do not understand it", says the colleague. "It finds likelier texts than any other method, and the model was trained to make real texts likely. In our translation program the same search works well."
#
# In about 120 words: why is the likeliest story a bad one, why does it go round in circles, why does the same search work for translation, and what do you suggest, at what price?
#
# {{rubric}}
#
# Short is fine. Correct and concrete beats long.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Read a sentence of your own, word by word. How often is the next word the one that everybody would have guessed?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Four things to say: what surprise is like in people's text; what a repeated phrase does to the next prediction; how many right answers there are in the two tasks; what a draw does, and what has to be cut off for it.
#
# </details>
# <details><summary>Hint 3: a worked neighbour</summary>
#
# *Why is the commonest person nobody?* Take the commonest age, the commonest height, the commonest name of a country, and so on for a hundred questions. Each answer is the likeliest, and yet nobody has all of them: where much is left open, the likeliest whole is far from every real one. If only one question is left open, the likeliest answer is a good guess.
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
# First your `pad_left` prepares two prompts for the small GPT of this course, which has read the King James Bible. Then your loop, penalty, filters and draw write with it, beside the course's own `generate`, which is given the same random numbers.
# Last, your beams look for the likeliest ending of the sentence that this chapter began with: with that GPT, and with SmolLM2, if its weights are here.

# %% nbgrader={"grade": false, "grade_id": "real-write", "locked": true, "schema_version": 3, "solution": false, "task": false}
import math
import time

from course.demo import ready
from reference_impl.corpora import load
from reference_impl.corpora.small_models import small_model


def held_out(tokenizer, number: int, length: int = 8, more: int = 64) -> tuple[list[list[int]], list[list[int]]]:
    """So many stretches of the eleventh hundredth of the Bible, which no model here was trained on: their first tokens, and how people went on."""
    text = load("kjv")
    size = -(-len(text) // 100)
    tokens = tokenizer.encode(text[10 * size:11 * size])
    rows = [tokens[start:start + length + more] for start in range(0, number * (length + more), length + more)]
    return [row[:length] for row in rows], [row[length:] for row in rows]


def drawing(model, numbers, temperature: float = 0.8, k: int = 40, p: float = 0.9, penalty: float = 1.2):
    """A model for your loop: your penalty and filters bend its logits, your `draw` takes the next number, and only that token keeps a logit."""
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
    """What your functions write behind each prompt, by way of choosing; and what the course's `generate` writes with the same numbers and knobs."""
    from reference_impl.generation.loop import generate as reference_generate
    from reference_impl.generation.sampling_params import SamplingParams
    end, rows, theirs = model.config.vocab_size, {"the likeliest": [], "drawn, nothing cut": [], "penalty, top-k, top-p": [], "4 beams": []}, []
    for seed, prompt in enumerate(prompts):
        generator = torch.Generator().manual_seed(seed)
        numbers = [torch.rand((), generator=generator, dtype=torch.float64) for _ in range(max_tokens)]
        with torch.no_grad():
            rows["the likeliest"].append(generate(model, prompt, max_tokens, end))
            rows["drawn, nothing cut"].append(generate(drawing(model, numbers, 1.0, end, 1.0, 1.0), prompt, max_tokens, end))
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
# The same numbers and the same knobs give the same text, in your loop and in the course's, which keeps a cache and works many rows at once: what you wrote is what it does. (A number in a thousand runs may fall so near to a border that rounding decides.)
# Compare each row with the one of people, whose text the model had never seen. The likeliest tokens, and more so the beams, are hardly a surprise to the model, and go round in circles; what is drawn surprises it about as people do, or less where the tail is cut. That is all that the knobs decide: none of them makes the model know more.
# A wider beam never ends with a smaller sum in these lines; that is no law, since a wider beam may drop the beginning that a narrow one kept.

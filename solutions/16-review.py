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
# # Chapter 16. Review: the exercises
#
# In this notebook you review all fifteen chapters at once, as in an exam; you write no new model.
# At the end your masks are applied to chapter 5's small BERT and chapter 8's small GPT.
#
# There are 8 exercises and 44 points. Plan about 110 minutes, or, as an exam, two hours in one sitting, hints closed and checks run at the very end.
#
# | Part | Exercises | Minutes | Points |
# | --- | --- | --- | --- |
# | Parameters and costs | 1 to 2 | 26 | 11 |
# | Masks and objectives | 3 to 4 | 38 | 15 |
# | Bugs, claims and tests | 5 to 7 | 36 | 14 |
# | In your own words | 8 | 10 | 4 |
# | Your code runs the real thing | nothing to write | 2 | 0 |
#
# **How it works.**
# 1. Read the statement, write the function in the cell below it, and run the check under that cell as often as you like.
# 2. A check's first line names the likely cause, its second a small input that fails. Stuck? Open the three hints in order; the third solves a similar problem.
# 3. Grading runs the same checks with other sizes and values. The smallest sizes are always among them.
#
# **Symbols.** $B$ sequences, $T$ new tokens, $S$ earlier tokens, $C$ hidden size, $F$ intermediate size, $H$ query heads, $K$ KV heads, $D$ head dimension, $V$ vocabulary size.
#
# <details><summary>Fine print</summary>
#
# - *Arguments.* Leave them unchanged, lists and dictionaries included, and return something new: neither an argument or a part of one nor a result of an earlier call.
# - *Types.* Return the type, dtype and shape that the statement names; a dictionary has the named keys and no others, in any order. Integers are Python's `int`; a bool is no number. Correct values in another type or dtype, or with an axis of length 1 too many or too few, lose a fifth of the exercise's points, once. So does an answer that breaks *Arguments*.
# - *Precision.* Integers and bools are compared exactly. Floats are compared to four digits of each value, and to 0.00001 near 0, unless a statement says otherwise.
# - *Calls.* A result depends only on the arguments: not on earlier calls, and not on chance. Calls may come in any order.
# - *Tools.* You may use anything in torch, numpy and the standard library, unless a statement says otherwise. Not allowed are the course's own models, layers, objectives and metrics, and the library `transformers`.
# - *Sizes and time.* Unless a statement says otherwise, tensors are float32 without NaN or infinity, and lists have 1 to 300 entries. A call may take five seconds: plain Python loops are fast enough.
# - *Smallest sizes.* Grading always includes one token, one head, one document, and nothing chosen where a statement allows it.
# - *Arguments are as promised.* Your function need not check what a statement promises after **In**. You may add cells anywhere: helpers, prints, plots.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
from collections.abc import Callable

import torch
from jaxtyping import Bool, Float
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

progress("16")                                 # follows your checks

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-count", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 1. Parameters and costs

# %% [markdown] nbgrader={"grade": false, "grade_id": "weigh_models-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 1. Four models on the scales
#
# - **What it is for**: every table that compares models has a row of parameters, and it is the one row that you can check with a pencil. Four families, four ways to be wrong by some percent.
# - **Difficulty** 3 of 5 · **Time** 14 minutes · **Points** 6
# - **Needs**: how many numbers a matrix has.
# - **Paper**: Devlin et al. (2019), section 3; Radford et al. (2019), section 2.3; Touvron et al. (2023), section 2.2; Warner et al. (2024), section 2.1.
#
# **What to predict.** The parameters of a model of one of four kinds, with $V$ tokens in the vocabulary, $P$ places, $C$ numbers a token, `layers` blocks and $F$ numbers inside a feed-forward layer. $H$ and $K$ are read for `"llama"` only, and $P$ for the two that have a table of places.
#
# | | `"bert"` | `"gpt"` | `"llama"` | `"modernbert"` |
# | --- | --- | --- | --- | --- |
# | embeddings | tokens, $P$ places, 2 segments, each $C$ wide, and a norm behind their sum | tokens, $P$ places | tokens | tokens, and a norm behind them |
# | attention of a block | four matrices $C$ by $C$, each with a bias | the same | queries and output $C$ by $C$; keys and values for $K$ of the $H$ heads only, a head has $C/H$ numbers; no biases | four matrices $C$ by $C$, no biases |
# | feed-forward of a block | up and down, each with a bias | the same | gate, up and down, no biases | gate, up and down, no biases |
# | norms of a block | two | two | two | two, but the **first** block has one only: the embeddings' norm stands before it |
# | a norm has | weight and bias | weight and bias | a weight | a weight |
# | the rest | the pooler, $C$ by $C$ with a bias | a last norm; the output layer **is** the embedding | a last norm, and an output layer of its own without a bias | a last norm |
#
# Return a dictionary of four whole numbers: `"embeddings"`, `"blocks"` (all of them together), `"rest"`, and `"total"`. What is shared is counted once, where it stands first.
#
# **By hand.** $V = 10$, $P = 6$, $C = 4$, 2 layers, $F = 5$, `"gpt"`. Embeddings: 40 + 24 = **64**. A block: attention 4 · (16 + 4) = 80, feed-forward 20 + 5 + 20 + 4 = 49, norms 2 · 8 = 16, together 145; two of them **290**. The rest: **8**. Total **362**.
# As `"llama"` with $H = 2$ and $K = 1$: 40; a block has 16 + 8 + 8 + 16 = 48, 60 and 8, two of them 232; the rest 4 + 40 = 44. Total **316**.
#
# **Rules**
#
# - The numbers may be large: count in ints, since floats would round them.
# - `kind` is one of the four words, and the seven numbers come in the order of the function below.
#
# **In**: `kind` a str; ints from 1 to 200,000; $C$ a multiple of $H$, and $H$ one of $K$; fewer than $10^{18}$ parameters. **Out**: a dictionary of four ints.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Which of the four has a bias anywhere?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Write two small helpers in your head: a matrix with bias has rows · columns + rows numbers, one without rows · columns. A norm has $2C$ or $C$. Then go down the table, one column a kind. Of a LLaMA's keys there are $C \cdot K \cdot C/H$.
#
# </details>
# <details><summary>Hint 3: a worked neighbour</summary>
#
# Two kinds of street: in one each house has a fence and all share a gate, in the other no house has a fence.
#
# ```python
# def planks(kind, houses, length):
#     fence = {"fenced": length + 2, "open": 0}[kind]
#     shared = {"fenced": 5, "open": 5}[kind]
#     return {"fences": houses * fence, "gate": shared, "total": houses * fence + shared}
# ```
#
# `planks("fenced", 3, 10)` has a total of 41.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "weigh_models", "locked": false, "schema_version": 3, "solution": true, "task": false}
def weigh_models(kind: str, V: int, P: int, C: int, layers: int, F: int, H: int, K: int) -> dict[str, int]:
    """The parameters of a model: embeddings, blocks, the rest, and in all."""
    ### BEGIN SOLUTION
    biased = kind in ("bert", "gpt")
    norm = 2 * C if biased else C
    narrow = C // H * K if kind == "llama" else C                      # what keys and values of a token have
    block = 2 * C * C + 2 * C * narrow + 2 * norm + (2 * F * C + 5 * C + F if biased else 3 * F * C)
    embeddings = V * C + {"bert": (P + 2) * C + norm, "gpt": P * C, "llama": 0, "modernbert": norm}[kind]
    rest = {"bert": C * C + C, "gpt": norm, "llama": norm + V * C, "modernbert": norm}[kind]
    blocks = layers * block - (norm if kind == "modernbert" else 0)
    return {"embeddings": embeddings, "blocks": blocks, "rest": rest, "total": embeddings + blocks + rest}
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "weigh_models-check", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
check(weigh_models)

# %% [markdown] nbgrader={"grade": false, "grade_id": "weigh_models-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The four that carry the names. The first three columns say where their numbers stand.

# %% nbgrader={"grade": false, "grade_id": "look-weigh_models", "locked": true, "schema_version": 3, "solution": false, "task": false}
for name, sizes in {"BERT-base": ("bert", 30522, 512, 768, 12, 3072, 12, 12), "GPT-2": ("gpt", 50257, 1024, 768, 12, 3072, 12, 12),
                    "LLaMA 7B": ("llama", 32000, 1, 4096, 32, 11008, 32, 32), "ModernBERT-base": ("modernbert", 50368, 1, 768, 22, 1152, 12, 12)}.items():
    found = attempt(weigh_models, *sizes)
    if found is not None:
        print(f"{name:<16} {found['total']:>13,} parameters: " + ", ".join(f"{key} {found[key] / found['total']:.1%}" for key in ("embeddings", "blocks", "rest")))

# %% [markdown] nbgrader={"grade": false, "grade_id": "step_bytes-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 2. What one step costs
#
# - **What it is for**: *prefill computes, decoding reads*. Whether that is so for your model and your GPU is a division of two numbers, and this exercise gives both.
# - **Difficulty** 3 of 5 · **Time** 12 minutes · **Points** 5
# - **Needs**: bits and bytes; a product and a sum.
# - **Paper**: Pope et al. (2022), section 2; Shazeer (2019), section 2.4.1.
#
# **What to predict.** A decoder runs **one** forward pass over $B$ texts. Of each text $S$ tokens were read before, and their keys and values are kept; $T$ new ones are read now. $T = 1$ is a step of writing, $S = 0$ the reading of a prompt. Return a dictionary of five whole numbers:
#
# - `"matrix_flops"`: each new token is multiplied with all $N$ numbers of the model's matrices, the output layer's among them;
# - `"attention_flops"`: for each new token, each layer and each of the $H$ query heads, the scores with all keys that it sees, and the mean of as many values. A new token sees what was read before, itself, and the new ones before it. The softmax is not counted;
# - `"weight_bytes"`: the $N$ numbers, which are read once for the whole pass;
# - `"embedding_bytes"`: the embedding is a table of $V$ rows of $C$ numbers beside the $N$. Of it one row is read for each new token, also where the same token comes twice;
# - `"cache_bytes"`: keys and values of $K$ heads in each layer: those of the $S$ tokens before are read, those of the new ones are written. What was just written is not read back.
#
# A product and its sum are two operations: a row of $n$ numbers times a column costs $2n$. Each number is kept in `bits` bits.
#
# **By hand.** $N = 1000$, $V = 50$, $C = 8$, 2 layers, $H = 2$, $K = 1$, $D = 4$, 16 bits, $B = 3$ texts, $S = 5$, $T = 2$. Six new tokens: **12,000** operations with the matrices. In each text the first new token sees 6 and the second 7 keys, 13 pairs, 39 in all; a pair costs 2 · 4 for the score and 2 · 4 for the mean, in 2 layers and 2 heads: 39 · 16 · 4 = **2,496**. Weights **2,000** bytes. Embedding: 6 rows of 16 bytes, **96**. A token's keys and values are 2 · 2 · 1 · 4 numbers, 32 bytes; 15 are read and 6 written: **672**.
#
# **Rules**
#
# - The numbers may be large: count in ints, since floats would round them.
#
# **In**: ints from 1 on, but $S$ from 0 on; $T$ is at most 100,000; $H$ a multiple of $K$; `bits` is 4, 8, 16 or 32; $N$, $C$ and $D$ are even; no result is $10^{18}$ or more. **Out**: a dictionary of five ints.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Which of the five grow with $B$, and which one does not?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Count the pairs of one text: T · S, and 1 + 2 + … + T. Multiply by 4 · D · H · layers · B. Bytes: numbers times bits, divided by 8 with `//` at the very end.
#
# </details>
# <details><summary>Hint 3: a worked neighbour</summary>
#
# A copyist reads one book of `pages` pages aloud to `n` writers. Each writer writes all pages, and looks at each of the own pages before the one that is being written.
#
# ```python
# def evening(pages, n):
#     return {"read aloud": pages, "written": n * pages, "looked at": n * pages * (pages - 1) // 2}
# ```
#
# `evening(4, 3)` gives 4, 12 and 18.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "step_bytes", "locked": false, "schema_version": 3, "solution": true, "task": false}
def step_bytes(N: int, V: int, C: int, layers: int, H: int, K: int, D: int, bits: int, B: int, S: int, T: int) -> dict[str, int]:
    """Operations and bytes of one forward pass over B texts of S kept and T new tokens."""
    ### BEGIN SOLUTION
    pairs = B * (T * S + T * (T + 1) // 2)
    return {"matrix_flops": 2 * N * B * T, "attention_flops": 4 * D * H * layers * pairs, "weight_bytes": N * bits // 8,
            "embedding_bytes": B * T * C * bits // 8, "cache_bytes": 2 * layers * K * D * B * (S + T) * bits // 8}
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "step_bytes-check", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check(step_bytes)

# %% [markdown] nbgrader={"grade": false, "grade_id": "step_bytes-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# SmolLM2-135M in 16 bits: a prompt of 512 tokens, and a step of writing behind it for 1, 16 and 256 texts. The last column is operations for each byte; a GPU that can do 300 for each byte that it reads is idle below that.

# %% nbgrader={"grade": false, "grade_id": "look-step_bytes", "locked": true, "schema_version": 3, "solution": false, "task": false}
for name, texts, before, new in (("prompt", 1, 0, 512), ("1 text", 1, 512, 1), ("16 texts", 16, 512, 1), ("256 texts", 256, 512, 1)):
    found = attempt(step_bytes, 134_479_872, 49152, 576, 30, 9, 3, 64, 16, texts, before, new)
    if found is not None:
        flops, moved = (sum(number for key, number in found.items() if key.endswith(end)) for end in ("flops", "bytes"))
        print(f"{name:<10} {flops / 1e9:>7.2f} GFLOP, {moved / 1e6:>8.1f} MB, of these weights {found['weight_bytes'] / moved:.0%} and cache {found['cache_bytes'] / moved:.0%}: {flops / moved:>6.1f} for each byte")

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-sees", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 2. Masks and objectives

# %% [markdown] nbgrader={"grade": false, "grade_id": "seven_masks-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 3. Seven masks
#
# - **What it is for**: BERT, GPT, T5's prefix, Mistral's window, Longformer, packed training and XLNet have the same attention. What makes them different models is this table of True and False.
# - **Difficulty** 3 of 5 · **Time** 22 minutes · **Points** 8
# - **Needs**: `torch.arange`, comparisons that broadcast.
# - **Paper**: Devlin et al. (2019), section 3.1; Raffel et al. (2020), section 3.2.1; Jiang et al. (2023), section 2; Beltagy et al. (2020), section 3.1; Krell et al. (2021), section 3; Yang et al. (2019), section 2.3.
#
# **The idea.** Write `seven_masks(kind, length, extra)`. It returns a bool tensor of `length` rows and columns: row $i$, column $j$ is True where token $i$ sees token $j$. What else a kind needs stands in the dictionary `extra`, under the names of this table:
#
# | `kind` | `extra` | token $i$ sees |
# | --- | --- | --- |
# | `"full"` | nothing | every token |
# | `"causal"` | nothing | itself and those before it |
# | `"prefix"` | `prefix`: an int | itself, those before it, and the first `prefix` tokens, also where it is one of them |
# | `"window"` | `window`: an int | itself and the `window` - 1 tokens before it |
# | `"global"` | `side`: an int; `places`: a list of ints | the tokens at most `side` away, before and behind, and itself; a token whose place is in `places` sees all, and all see it |
# | `"packed"` | `lengths`: a list of ints | documents lie end to end in the row, the first with `lengths[0]` tokens, and so on: itself and those before it **in its own document**. The places behind the last document are padding: each of them sees itself and nothing else, and nobody else sees it |
# | `"order"` | `order`: a list of ints | the text is said in this order, place `order[0]` first: itself, and the places that are said before it. (Chapter 7 asked for XLNet's queries, who do not see themselves. This is its other stream, which does.) |
#
# **By hand.** Six tokens; `x` is True.
#
# ```
# prefix 3        window 2        global, side 1,   packed 2, 3     order 2 0 3 1 5 4
#                                 places [3]
# x x x . . .     x . . . . .     x x . x . .       x . . . . .     x . x . . .
# x x x . . .     x x . . . .     x x x x . .       x x . . . .     x x x x . .
# x x x . . .     . x x . . .     . x x x . .       . . x . . .     . . x . . .
# x x x x . .     . . x x . .     x x x x x x       . . x x . .     x . x x . .
# x x x x x .     . . . x x .     . . . x x x       . . x x x .     x x x x x x
# x x x x x x     . . . . x x     . . . x x x       . . . . . x     x x x x . x
# ```
#
# **Rules**
#
# - Every token sees itself, in all seven.
# - Numbers at the border: `prefix` from 0 to `length`; `window` from 1 and `side` from 0, both up to 1,000, which may be more than `length`; `places` may be empty, and hold any places in any order, none twice; `lengths` may be empty, each is at least 1, and together they are at most `length`; `order` holds each place once.
#
# **In**: `kind` one of the seven words; `length` an int from 1 to 300; `extra` a dictionary with the named keys and no other. **Out**: bool $(T, T)$, where $T$ is `length`.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Which of the seven are one comparison of a column of places with a row of places?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# `i = torch.arange(length)[:, None]`, `j = torch.arange(length)[None, :]`. Six kinds are comparisons of them, joined by `&` and `|`. For packed documents make a list of the document's number at each place, and give each place of the padding a number that nobody else has: then *same number and causal*. For an order find for each place when its turn is: `argsort` of the order.
#
# </details>
# <details><summary>Hint 3: a worked neighbour</summary>
#
# Who may read whose letters? Clerks sit in rooms of given sizes, one after the other, and each may read those of the room and of one chief.
#
# ```python
# def may_read(sizes, chief):
#     room = torch.tensor([number for number, size in enumerate(sizes) for _ in range(size)])
#     place = torch.arange(len(room))
#     return (room[:, None] == room[None, :]) | (place[None, :] == chief)
# ```
#
# `may_read([1, 2], 0)` has the rows (True, False, False), (True, True, True) and (True, True, True).
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "seven_masks", "locked": false, "schema_version": 3, "solution": true, "task": false}
def seven_masks(kind: str, length: int, extra: dict) -> Bool[Tensor, "T T"]:
    """Row i, column j: whether token i sees token j."""
    ### BEGIN SOLUTION
    i, j = torch.arange(length)[:, None], torch.arange(length)[None, :]
    if kind == "full":
        return torch.ones(length, length, dtype=torch.bool)
    if kind == "causal":
        return j <= i
    if kind == "prefix":
        return (j <= i) | (j < extra["prefix"])
    if kind == "window":
        return (j <= i) & (j > i - extra["window"])
    if kind == "global":
        chosen = torch.tensor([place in extra["places"] for place in range(length)])
        return ((i - j).abs() <= extra["side"]) | chosen[:, None] | chosen
    if kind == "packed":
        numbers = [number for number, size in enumerate(extra["lengths"]) for _ in range(size)]
        numbers += range(length, 2 * length - len(numbers))            # padding: each place by itself
        document = torch.tensor(numbers)
        return (document[:, None] == document) & (j <= i)
    turn = torch.tensor(extra["order"]).argsort()
    return turn <= turn[:, None]
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "seven_masks-check", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
check(seven_masks)

# %% [markdown] nbgrader={"grade": false, "grade_id": "seven_masks-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# How many of the pairs each mask leaves, of 64 tokens.

# %% nbgrader={"grade": false, "grade_id": "look-seven_masks", "locked": true, "schema_version": 3, "solution": false, "task": false}
for kind, extra in {"full": {}, "causal": {}, "prefix": {"prefix": 16}, "window": {"window": 8}, "global": {"side": 4, "places": [0]},
                    "packed": {"lengths": [20, 30]}, "order": {"order": list(range(63, -1, -1))}}.items():
    found = attempt(seven_masks, kind, 64, extra)
    if found is not None:
        print(f"{kind:<8} {int(found.sum()):>5} of 4096 pairs, {found.float().mean():.0%}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "make_labels-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 4. Five ways to be taught
#
# - **What it is for**: the same text, the same model, five lists of labels: that is the difference between BERT, ELECTRA, GPT, T5 and an assistant. A label in the wrong place trains without complaint.
# - **Difficulty** 3 of 5 · **Time** 16 minutes · **Points** 7
# - **Needs**: lists.
# - **Paper**: Devlin et al. (2019), section 3.1; Clark et al. (2020), section 2; Raffel et al. (2020), section 3.1.4; Ouyang et al. (2022), section 3.
#
# **The idea.** Write `make_labels(kind, ids, extra)`. It returns two lists of ints, what the model reads and what it is to say. A label of **-100** means that nothing is learned there.
#
# | `kind` | `extra` | inputs | labels |
# | --- | --- | --- | --- |
# | `"masked"` | `chosen`, `becomes` | the text, in which place `chosen[n]` holds `becomes[n]` | at each chosen place the token that stood there; elsewhere -100 |
# | `"replaced"` | `chosen`, `becomes` | the same | for **every** place 1 if the token there is another one than before, 0 if it is the same |
# | `"causal"` | nothing | all tokens but the last | at each place the token that comes next |
# | `"answer"` | `prompt` | all tokens but the last | the same, but -100 wherever the next token is one of the first `prompt` |
# | `"spans"` | `chosen`, `sentinels`, `end` | the text with each span replaced by one sentinel, then `end` | each sentinel followed by the tokens of its span, then `end` |
#
# BERT's chosen tokens become `[MASK]` mostly, some become another token, and some stay as they are: `becomes` holds all of that. All of them are asked. Chosen places that are neighbours are **one** span; the first span has `sentinels[0]`, the second `sentinels[1]`, and so on.
#
# **By hand.** `ids` = 11 12 13 14 15; `chosen` = 1, 2, 4; `becomes` = 9, 13, 77; `prompt` = 2; `sentinels` = 99, 98, 97; `end` = 1.
#
# | | inputs | labels |
# | --- | --- | --- |
# | masked | 11 9 13 14 77 | -100 12 13 -100 15 |
# | replaced | the same | 0 1 0 0 1 |
# | causal | 11 12 13 14 | 12 13 14 15 |
# | answer | 11 12 13 14 | -100 13 14 15 |
# | spans | 11 99 14 98 1 | 99 12 13 98 15 1 |
#
# **Rules**
#
# - Tokens are known by their place: the same id may come twice, and those of `becomes`, `sentinels` and `end` may stand in the text too.
# - `chosen` goes upwards, none twice; it may be empty, and it may hold all places. There are at least as many sentinels as spans; the labels have no sentinel behind the last span. `prompt` is from 0 to the number of tokens.
# - A text of one token leaves a causal model nothing to read: two empty lists.
#
# **In**: `kind` one of the five words; `ids` a list of 1 to 300 ints; `extra` a dictionary with the named keys and no other, of ints and lists of at most 300 ints. All ids are from 0 to a million. **Out**: a tuple of two lists of ints.
#
# <details><summary>Hint 1: a nudge</summary>
#
# For which of the five are inputs and labels of the same length, and for which do they stand at the same places?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Masked and replaced: copy the list, and write into the copy. Causal and answer: `ids[:-1]`, `ids[1:]`; label number n is token n + 1, so it belongs to the prompt where n + 1 < `prompt`. Spans: one loop over the places; a span begins at a chosen place whose neighbour on the left is not chosen.
#
# </details>
# <details><summary>Hint 3: a worked neighbour</summary>
#
# A proof-reader's copy: some letters of a word are blackened, and on another sheet stand those, with a dot for all that could be read.
#
# ```python
# def blackened(letters, places):
#     copy = list(letters)
#     for place in places:
#         copy[place] = "#"
#     return copy, [letter if place in places else "." for place, letter in enumerate(letters)]
# ```
#
# `blackened(list("bank"), [0, 2])` gives `["#", "a", "#", "k"]` and `["b", ".", "n", "."]`.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "make_labels", "locked": false, "schema_version": 3, "solution": true, "task": false}
def make_labels(kind: str, ids: list[int], extra: dict) -> tuple[list[int], list[int]]:
    """What is read and what is to be said; -100 where nothing is learned."""
    ### BEGIN SOLUTION
    if kind in ("causal", "answer"):
        asked = [-100 if place < extra.get("prompt", 0) else token for place, token in enumerate(ids)]
        return ids[:-1], asked[1:]
    chosen = extra["chosen"]
    if kind == "spans":
        sentinels, inputs, labels = iter(extra["sentinels"]), [], []
        for at, token in enumerate(ids):
            if at in chosen and at - 1 not in chosen:
                sentinel = next(sentinels)
                inputs.append(sentinel)
                labels.append(sentinel)
            (labels if at in chosen else inputs).append(token)
        return [*inputs, extra["end"]], [*labels, extra["end"]]
    inputs = list(ids)
    for place, token in zip(chosen, extra["becomes"]):
        inputs[place] = token
    if kind == "replaced":
        return inputs, [int(new != old) for new, old in zip(inputs, ids)]
    return inputs, [token if place in chosen else -100 for place, token in enumerate(ids)]
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "make_labels-check", "locked": true, "points": 7, "schema_version": 3, "solution": false, "task": false}
check(make_labels)

# %% [markdown] nbgrader={"grade": false, "grade_id": "make_labels-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Of how many tokens each of them learns something, in a text of 100 tokens of which 14 are chosen, and half of which are a prompt.

# %% nbgrader={"grade": false, "grade_id": "look-make_labels", "locked": true, "schema_version": 3, "solution": false, "task": false}
text, every_seventh = list(range(1000, 1100)), list(range(2, 100, 7))
for kind, extra in {"masked": {"chosen": every_seventh, "becomes": [4] * len(every_seventh)}, "replaced": {"chosen": every_seventh, "becomes": [4] * len(every_seventh)}, "causal": {},
                    "answer": {"prompt": 50}, "spans": {"chosen": every_seventh, "sentinels": list(range(99, 60, -1)), "end": 1}}.items():
    found = attempt(make_labels, kind, text, extra)
    if found is not None:
        print(f"{kind:<9} reads {len(found[0]):>3}, is asked at {sum(label != -100 for label in found[1]):>3} places")

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-doubt", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 3. Bugs, claims and tests

# %% [markdown] nbgrader={"grade": false, "grade_id": "broken_block-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 5. One wrong line of a block
#
# - **What it is for**: a block with such a fault trains, and its loss falls. It is only worse than it should be, and nobody knows. Reading is the one tool that finds it before the money is spent.
# - **Difficulty** 3 of 5 · **Time** 10 minutes · **Points** 4
# - **Needs**: chapter 4's block, chapter 12's norm and gate.
# - **Paper**: Vaswani et al. (2017), section 3.2; Touvron et al. (2023), section 2.2.
#
# **The idea.** The cell below has `broken_block(x, weights, heads)`, a block of a decoder without positions: a norm without a weight, causal attention, the residual; a norm, a feed-forward layer with a gate, the residual. It runs and gives the right shape. **Exactly one** of its 13 numbered lines is wrong.
#
# What the block should do, for $T$ tokens of $C$ numbers and $h$ heads of $D = C/h$ numbers:
#
# $$a = \frac{x}{\sqrt{\mathrm{mean}(x^2) + 10^{-6}}} \qquad y = x + W_{output}\,\mathrm{concat}_{heads}\bigl(\mathrm{softmax}(q k^\top / \sqrt{D})\, v\bigr) \qquad q, k, v = W_{query}\,a,\ W_{key}\,a,\ W_{value}\,a$$
#
# $$b = \frac{y}{\sqrt{\mathrm{mean}(y^2) + 10^{-6}}} \qquad \mathrm{block}(x) = y + W_{down}\bigl(\mathrm{silu}(W_{gate}\, b) \odot W_{up}\, b\bigr) \qquad \mathrm{silu}(z) = \frac{z}{1 + e^{-z}}$$
#
# The mean is taken over the numbers of one token; the softmax over the keys that a token sees, itself and those before it. Head 0 has the first $D$ rows of $W_{query}$, $W_{key}$ and $W_{value}$, head 1 the next $D$, and so on, and what the heads found is laid side by side in that order. The matrices lie as `nn.Linear` keeps them, so that a product is `x @ W.T`.
#
# **By hand.** One token, one head: it sees itself alone, so that attention gives its value, whatever the softmax does. Two tokens and two heads are the smallest case that shows everything. If all of $W_{gate}$ is 0 and one token stands alone with $W_{output}$ = 0, the block returns x.
#
# **What to do.** `wrong_line()` returns the number at the end of the line, an `int`: 1.5 points. `repaired_block(x, weights, heads)` does what the block should: 2.5 points. Copy the function and change the line, or write it anew. Each is graded by itself.
#
# **In**: `x` float32 $(T, C)$ with $T$ from 1 to 300; `weights` a dictionary of float32 tensors, `query`, `key`, `value`, `output` $(C, C)$, `gate`, `up` $(F, C)$, `down` $(C, F)$; `heads` an int that divides $C$; $C$ and $F$ from 1 to 64, and scores between -50 and 50. Compared to three digits, and to 0.0001 near 0. **Out**: $(T, C)$.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Which lines would give the same result with one head? With one token? Try both, against a calculation of your own.
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Run the lines one by one with T = 3, C = 4 and 2 heads, and ask each for its promise: rows of weights that add up to 1, zeros above the diagonal, numbers of size 1 behind a norm, the first D columns from head 0, and in the end x itself plus something.
#
# </details>
# <details><summary>Hint 3: a worked neighbour</summary>
#
# A mean of marks by class, laid side by side; `marks` has one row a pupil, and the classes are groups of columns. This version is wrong:
#
# ```python
# def by_class_wrong(marks, classes):
#     groups = marks.reshape(len(marks), classes, -1)        # line 1
#     return groups.mean(1)                                  # line 2: a mean over classes
# def by_class(marks, classes):
#     return marks.reshape(len(marks), classes, -1).mean(2)  # a mean over the columns of a class
# ```
#
# `by_class(torch.tensor([[1.0, 3.0, 5.0, 5.0]]), 2)` gives `[[2.0, 5.0]]`, and the wrong one `[[3.0, 4.0]]`.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "setup-broken_block", "locked": true, "schema_version": 3, "solution": false, "task": false}
def broken_block(x, weights, heads):                                                        # line 1
    T, C = x.shape                                                                          # line 2
    normed = x / (x.square().mean(dim=1, keepdim=True) + 1e-6).sqrt()                       # line 3
    q, k, v = ((normed @ weights[name].T).reshape(T, heads, -1).transpose(0, 1) for name in ("query", "key", "value"))   # line 4
    scores = q @ k.transpose(1, 2) / C ** 0.5                                               # line 5
    later = torch.ones(T, T, dtype=torch.bool).triu(1)                                      # line 6
    shares = scores.masked_fill(later, -torch.inf).softmax(dim=2)                           # line 7
    mixed = (shares @ v).transpose(0, 1).reshape(T, C)                                      # line 8
    y = x + mixed @ weights["output"].T                                                     # line 9
    again = y / (y.square().mean(dim=1, keepdim=True) + 1e-6).sqrt()                        # line 10
    gate = again @ weights["gate"].T                                                        # line 11
    inside = gate * gate.sigmoid() * (again @ weights["up"].T)                              # line 12
    return y + inside @ weights["down"].T                                                   # line 13

# %% nbgrader={"grade": false, "grade_id": "broken_block", "locked": false, "schema_version": 3, "solution": true, "task": false}
def wrong_line() -> int:
    """The number of the line of `broken_block` that is wrong."""
    ### BEGIN SOLUTION
    return 5
    ### END SOLUTION


def repaired_block(x: Float[Tensor, "T C"], weights: dict[str, Tensor], heads: int) -> Float[Tensor, "T C"]:
    """The block without its fault."""
    ### BEGIN SOLUTION
    W, D = weights, x.shape[1] // heads
    a = x * (x.square().mean(-1, keepdim=True) + 1e-6).rsqrt()
    found = []
    for head in range(heads):
        rows = slice(head * D, head * D + D)
        query, key, value = a @ W["query"][rows].T, a @ W["key"][rows].T, a @ W["value"][rows].T
        scores = (query @ key.T / D**0.5).masked_fill(torch.ones(len(x), len(x)).triu(1) > 0, -torch.inf)
        found.append(scores.softmax(-1) @ value)
    y = x + torch.cat(found, 1) @ W["output"].T
    b = y * (y.square().mean(-1, keepdim=True) + 1e-6).rsqrt()
    opened = b @ W["gate"].T
    return y + (opened * opened.sigmoid() * (b @ W["up"].T)) @ W["down"].T
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "broken_block-check", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(repaired_block)

# %% [markdown] nbgrader={"grade": false, "grade_id": "broken_block-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# How far apart the two are, on drawn numbers: with one head, and with four.

# %% nbgrader={"grade": false, "grade_id": "look-broken_block", "locked": true, "schema_version": 3, "solution": false, "task": false}
dice = torch.Generator().manual_seed(1)
drawn = {name: torch.randn(shape, generator=dice) / shape[1] ** 0.5 for name, shape in {**dict.fromkeys(("query", "key", "value", "output"), (8, 8)), "gate": (12, 8), "up": (12, 8), "down": (8, 12)}.items()}
tokens = torch.randn(5, 8, generator=dice)
for heads in (1, 4):
    found = attempt(repaired_block, tokens, drawn, heads)
    if found is not None:
        print(f"{heads} head(s), apart token by token by", [round(one, 3) for one in (found - broken_block(tokens, drawn, heads)).abs().amax(1).tolist()])

# %% [markdown] nbgrader={"grade": false, "grade_id": "counterexamples-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 6. Six sentences that are false
#
# - **What it is for**: each of these sentences stands in some lecture or blog, and each sounds right. One small table of numbers ends the argument. To find it is to know why the sentence is false.
# - **Difficulty** 4 of 5 · **Time** 16 minutes · **Points** 6
# - **Needs**: chapters 6, 8, 9 and 11.
# - **Paper**: Holtzman et al. (2020), section 3.1; Meister et al. (2020), section 2; Su et al. (2021), section 3.4.
#
# **What to do.** `counterexamples()` returns a dictionary with six keys; under each stands a dictionary of data **that breaks the sentence**. Our own code takes your data and looks whether the sentence fails. One point each, and each is looked at by itself.
#
# | key | the sentence | your data |
# | --- | --- | --- |
# | `"beam"` | *A beam of three finds the likeliest text of two words.* (For a beam of two the page of the ledger has a table.) | `first`: the probabilities of 4 to 6 words; `then`: a table, row i the probabilities of the next word after word i |
# | `"wider"` | *For three words, a beam of two ends with a text that is at least as likely as the greedy one.* | `first` and `then` in the same form, for 3 to 8 words; `then` gives the second word after the first, and the third after the second |
# | `"top_p"` | *Top-p with p = 0.9 never keeps more tokens than top-k with k = 5.* | `p`: the probabilities of 6 to 40 tokens |
# | `"pooling"` | *If the vectors of padding are zeros, the mean over all rows is the mean over the tokens.* | `vectors`: 2 to 8 rows of 1 to 4 numbers, zeros where there is padding; `real`: a list of 1 for a token and 0 for padding |
# | `"rotary"` | *With rotary positions, a query and a key that are the same vector score higher the nearer they are.* | `x`: that vector, of 2, 4, 6 or 8 numbers; `places`: a list of two distances, the smaller one first, from 0 to 1,000 |
# | `"loss"` | *Of two models the one with the smaller loss guesses at least as many tokens right.* | `one`, `other`: for 1 to 10 places the probabilities that each model gives to the 2 to 6 tokens; `right`: a list of the true tokens. `one` is the model with the smaller loss |
#
# **How each is worked out.** *Beam of n*: after each word the n likeliest beginnings are kept and all others dropped, and the answer is the likeliest whole text among those that go on from what was kept; greedy is a beam of one. *Top-p* keeps the fewest likeliest tokens that have 0.9 or more together. *Rotary*: numbers $i$ and $i + D/2$ of the vector are a pair, turned by $10000^{-2i/D}$ for each place, so that the score at distance $d$ is $\sum_i (x_i^2 + x_{i+D/2}^2) \cos(d \cdot 10000^{-2i/D})$. *Loss*: the mean of $-\ln$ of what the true tokens got; a model guesses its likeliest token.
#
# **By hand**, for a seventh sentence: *The likeliest token has at least half of the probability.* The data (0.4, 0.35, 0.25) break it.
#
# **What does not count**, and is told to you in words:
#
# - Tensors are float32 and made inside the function, anew in each call; lists hold ints; no NaN, nothing infinite, no other keys. Probabilities are from 0 to 1 and add up to 1, to 0.0001, in each row.
# - *No ties.* No choice that matters may be decided by less than 0.01: where a beam drops beginnings, before the last word, the last that is kept is likelier than the first that is dropped by 0.01; so it is with the two likeliest tokens of each row of `one` and `other`. Any two numbers of `p` are 0.001 apart.
# - *No rounding.* The sentence fails clearly: a text is less likely by 0.01; the five likeliest have 0.89 together or less; the means are 0.1 apart; the far score is higher by a tenth of $|x|^2$; the losses are 0.01 apart.
# - *Nothing empty.* There is padding, and there is a token. $|x|$ is at least 0.1. Vectors lie between -10 and 10. Each true token has at least 0.001.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Beam: what if the best sequel comes after the word that was dropped? Loss: who is a little wrong always, and who is very wrong once?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Beam: four first words that are nearly alike, and the fourth goes on with certainty. Wider: two words are kept at first, and behind the second of them *two* sequels are a little likelier than the best one of the first; their own sequels are many, that of the greedy one is single. Rotary: with two numbers the score is a cosine of the distance in radians. Loss: one model says 0.45 for the truth each time; the other 0.55 once, and 0.05 the other time.
#
# </details>
# <details><summary>Hint 3: a worked neighbour</summary>
#
# The sentence *who wins more games has more points* , with goals as points and data in the same form: goals of two teams in each of three games.
#
# ```python
# def games():
#     return {"ours": [1, 1, 0], "theirs": [0, 0, 9]}      # two games to one, two goals to nine
# ```
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "counterexamples", "locked": false, "schema_version": 3, "solution": true, "task": false}
def counterexamples() -> dict[str, dict]:
    """For each of six sentences data that break it."""
    ### BEGIN SOLUTION
    beam = {"first": torch.tensor([0.3, 0.28, 0.26, 0.16]), "then": torch.tensor([[0.4, 0.2, 0.2, 0.2], [0.4, 0.2, 0.2, 0.2], [0.4, 0.2, 0.2, 0.2], [1.0, 0.0, 0.0, 0.0]])}
    wider = {"first": torch.tensor([0.55, 0.45, 0.0, 0.0, 0.0]), "then": torch.tensor([
        [0.0, 0.0, 0.36, 0.32, 0.32], [0.0, 0.0, 0.0, 0.52, 0.48], [1.0, 0.0, 0.0, 0.0, 0.0], [0.2, 0.2, 0.2, 0.2, 0.2], [0.2, 0.2, 0.2, 0.2, 0.2]])}
    unsure = torch.tensor([[0.45, 0.55], [0.45, 0.55]])
    bold = torch.tensor([[0.55, 0.45], [0.05, 0.95]])
    return {"beam": beam, "wider": wider, "top_p": {"p": torch.arange(9.0, 17.0) / 100},
            "pooling": {"vectors": torch.tensor([[2.0], [0.0]]), "real": [1, 0]},
            "rotary": {"x": torch.tensor([1.0, 0.0]), "places": [3, 6]},
            "loss": {"one": unsure, "other": bold, "right": [0, 0]}}
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "counterexamples-check", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
check(counterexamples)

# %% [markdown] nbgrader={"grade": false, "grade_id": "test_attention-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 7. Write the test
#
# - **What it is for**: eight ways to write attention wrongly, each seen in somebody's repository. All give the right shape. One test of twenty lines stops them all, for ever.
# - **Difficulty** 3 of 5 · **Time** 10 minutes · **Points** 4
# - **Needs**: `assert`, chapter 4.
# - **Paper**: Vaswani et al. (2017), section 3.2.1.
#
# **The idea.** Somebody hands you `attention(q, k, v, mask)`. For `q` of shape $(B, H, T, D)$ and `k`, `v` of $(B, H, S, D)$ it should return, for each query, the mean of the values that it sees, weighted by the softmax of $q \cdot k / \sqrt{D}$ over the keys that it sees. `mask` is bool $(B, 1, T, S)$, True where a query sees a key. A query that sees none gets zeros. Write a test that stays silent when it does so, and fails an `assert` when it does not. A kind earns its point when your test stops all wrong ones of that kind and lets every right one pass:
#
# - *scale*: scores that are not divided, or divided by $D$;
# - *axis*: a softmax over the queries, or over the heads;
# - *mask*: True and False exchanged; a mask that is ignored, or ignored in all heads but the first; the first text's mask for all texts; a hidden score of 0 in the place of minus infinity; weights set to 0 **after** the softmax, so that they no longer add up to 1;
# - *edges*: NaN for a query that sees no key, or the mean of all values; NaN where scores reach the hundreds.
#
# A test that complains about a right one earns nothing: everybody would switch it off.
#
# **By hand.** One query q = (2), keys (1) and (0), values (1) and (0), $D$ = 1, both seen: the scores are 2 and 0, so the result is $e^2/(e^2 + 1)$ = .881. Hide the second key: 1. Hide both: 0. With $D$ = 1 it makes no difference what is divided by.
#
# **Mind**
#
# - Allowed are finite float32 with every axis from 1 to 32, a bool mask of that shape, and scores from -1,000 to 1,000 after the division, the hidden ones too. A right one may refuse anything else.
# - Right ones differ by rounding: by less than 0.00005 where scores lie between -10 and 10 and values are drawn by `randn`, and by less than 0.002 where scores go to hundreds.
# - A wrong one shows what it is with 2 texts, 2 heads, $T$ = 3, $S$ = 5 and $D$ = 4, on numbers drawn by `randn`, with a drawn mask in which a query of each text sees nothing; those of *edges* perhaps only with no such query, and scores that go to hundreds above 0. What shows is NaN, or further off than 0.001. It may be wrong only with as many queries as keys, or only with another number; you can try 4 and 4 beside 3 and 5.
# - Complain with `assert`, or with what raises `AssertionError` for you, such as `torch.testing.assert_close`. Any other exception means that your test is broken, and earns nothing. To return False in place of a failing `assert` costs a fifth, once.
# - Call it a hundred times at most. No candidate raises where the call is allowed, or returns another shape or dtype. torch's softmax and attention may be used.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Which inputs make each of the wrong ones differ from the right one? Values that are all alike show nothing; neither does a mask of True.
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Work the right answer out in float64: scores, `torch.where(mask, scores, -inf)`, `softmax(-1).nan_to_num(0.0)`, times the values. Loop over (3, 5) and (4, 4), over numbers as drawn and with q a hundred times as large, over a drawn mask with one row of False and one without. `assert torch.allclose(...)`, which refuses NaN: 0.0001 in the first case, 0.003 in the other.
#
# </details>
# <details><summary>Hint 3: a worked neighbour</summary>
#
# A test of a mean over the marked numbers of each row, 0 where none is marked.
#
# ```python
# def test_marked_mean(mean):
#     for seed in range(3):
#         chance = torch.Generator().manual_seed(seed)
#         x, marked = torch.randn(4, 6, generator=chance), torch.rand(4, 6, generator=chance) < 0.5
#         marked[1] = False
#         right = torch.stack([row[here].sum() / max(int(here.sum()), 1) for row, here in zip(x, marked)])
#         assert torch.allclose(mean(x, marked), right, atol=1e-5), "another mean"
# ```
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "test_attention", "locked": false, "schema_version": 3, "solution": true, "task": false}
def test_attention(attention: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]) -> None:
    """Fail an assert unless `attention(q, k, v, mask)` is masked, scaled dot-product attention."""
    ### BEGIN SOLUTION
    chance = torch.Generator().manual_seed(16)
    for T, S in ((3, 5), (4, 4), (5, 3)):
        for size in (1.0, 100.0):
            for blind in (True, False):
                q, k, v = (torch.randn(2, 2, length, 4, generator=chance) for length in (T, S, S))
                mask = torch.rand(2, 1, T, S, generator=chance) < 0.6
                mask[..., 0] = True
                if blind:
                    mask[:, :, 1] = False
                table = torch.where(mask, size * q.double() @ k.double().mT / 2, -torch.inf)
                exact = table.softmax(3).nan_to_num(0.0) @ v.double()
                came = attention(size * q, k, v, mask).double()
                assert torch.allclose(came, exact, rtol=0.0, atol=1e-4 if size == 1.0 else 3e-3), f"wrong for {T} queries and {S} keys"
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "test_attention-check", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(test_attention)

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-own_words", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 4. In your own words

# %% [markdown] nbgrader={"grade": false, "grade_id": "three_customers-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 8. Three customers
#
# - **What it is for**: somebody asks you which model to take. *The newest* is no answer, and neither is *it depends*.
# - **Difficulty** 3 of 5 · **Time** 10 minutes · **Points** 4, given by a person who reads it
# - **Needs**: the tables of this chapter.
# - **Paper**: Devlin et al. (2019); Radford et al. (2019); Raffel et al. (2020); Warner et al. (2024).
#
# **The question.** Three people come to you on the same day.
#
# 1. *A library* has two million abstracts and wants the ten nearest to a reader's question, in a tenth of a second, on the processors that it has.
# 2. *A museum* wants a guide that answers visitors in sentences, eight thousand tokens of conversation each, forty visitors at a time, on one GPU.
# 3. *A court* has 200,000 sentences with their translations between two languages, and wants such translations made for new ones; nothing else is asked of the model.
#
# In about 120 words: name for each an encoder, a decoder, or both (which may be the whole family or a model of the book), with the reason, and in each reason **one number** that this book measured, counted or cited. Then say for one of the three what number would make you change your mind.
#
# {{rubric}}
#
# Short is fine. Correct and concrete beats long.
#
# <details><summary>Hint 1: a nudge</summary>
#
# What comes out: a vector, one text after another, or a text that was whole before it was begun?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# For each: what is computed again for each question, and what only once? Which of the counts of exercises 1 and 2 decides?
#
# </details>
# <details><summary>Hint 3: a worked neighbour</summary>
#
# *A baker asks whether to buy a second oven.* It bakes 60 loaves an hour and he sells 45 in his best hour, so no; above 55 I would, since one oven that stands still costs him a morning. A choice, a number as its reason, and the number that would turn it.
#
# </details>

# %% [markdown] nbgrader={"grade": true, "grade_id": "three_customers", "locked": false, "points": 4, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# {{samples}}
# ### END SOLUTION

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-real", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Your code runs the real thing
#
# Nothing to write here. Run the cells and watch; they take a quarter of a minute on a quiet machine.
#
# Two models that you know are put under your seven masks: the small BERT of chapter 5, which was trained to fill blanks and saw both sides, and the small GPT of chapter 8, which was trained to say the next token and saw what came before. Both read text that was held out when they were trained. Beside each number stands the same one by the course's own masks.

# %% nbgrader={"grade": false, "grade_id": "real-masks", "locked": true, "schema_version": 3, "solution": false, "task": false}
import time
from unittest.mock import patch

from course.demo import ready
from reference_impl.corpora import load
from reference_impl.corpora.small_models import small_model
from reference_impl.layers.attention import attention as course_attention
from reference_impl.layers.masks import causal_mask, lengths_mask, window_mask
from reference_impl.layers.packing import Packing

LENGTH, BLANK = 32, 4                                           # tokens in a row; the id of [MASK]


def in_two(text: str) -> tuple[str, str]:
    """What is trained on, and what is held out: of a hundred equal pieces, cut at lines, every twentieth."""
    size = -(-len(text) // 100)
    places = [0, *(text.find("\n", place) + 1 or len(text) for place in range(size, len(text), size)), len(text)]
    pieces = [text[start:end] for start, end in zip(places, places[1:])]
    return "".join(piece for i, piece in enumerate(pieces) if i % 20 != 10), "".join(piece for i, piece in enumerate(pieces) if i % 20 == 10)


def rows_of(tokens: list[int], number: int) -> Tensor:
    """So many rows of LENGTH tokens, spread evenly over a text."""
    starts = torch.linspace(0, len(tokens) - LENGTH, number).long()
    return torch.tensor(tokens)[starts[:, None] + torch.arange(LENGTH)]


def seven() -> dict[str, tuple[str, dict]]:
    """The masks for a row, by a name that is printed: kind and extra for your function."""
    order = torch.randperm(LENGTH, generator=torch.Generator().manual_seed(7)).tolist()
    return {"full": ("full", {}), "causal": ("causal", {}), "prefix of 16": ("prefix", {"prefix": 16}), "window of 8": ("window", {"window": 8}),
            "4 to each side, first global": ("global", {"side": 4, "places": [0]}), "two documents of 16": ("packed", {"lengths": [16, 16]}), "a drawn order": ("order", {"order": order})}


def the_courses() -> list[Tensor]:
    """The same seven from the course's own parts."""
    causal, first = causal_mask(LENGTH), torch.arange(LENGTH) == 0
    where = Packing.of(torch.tensor([0, 16, 32], dtype=torch.int32)).positions                        # 0 to 15, twice
    document = (where == 0).cumsum(0)
    turns = torch.tensor(seven()["a drawn order"][1]["order"]).argsort()
    return [torch.ones(LENGTH, LENGTH, dtype=torch.bool), causal, causal | lengths_mask(torch.tensor([16]), LENGTH), window_mask(LENGTH, before=7),
            window_mask(LENGTH, before=4, after=4) | first | first[:, None], causal & (document == document[:, None]), causal[turns][:, turns]]


def under(mask: Tensor):
    """While this is open every layer attends under this mask, whatever the model asks for."""
    return patch("reference_impl.layers.attention.attention", lambda q, k, v, *others, **more: course_attention(q, k, v, mask[None, None]))


@torch.no_grad()
def filled(model, rows: Tensor, blanks: Tensor, mask: Tensor) -> tuple[float, float]:
    """Share of the blanks that BERT fills right under a mask, and nats a blank."""
    with under(mask):
        logits = model(torch.where(blanks, BLANK, rows))[blanks]
    return (logits.argmax(1) == rows[blanks]).float().mean().item(), torch.nn.functional.cross_entropy(logits, rows[blanks]).item()


@torch.no_grad()
def continued(model, rows: Tensor, mask: Tensor) -> tuple[float, float]:
    """Share of the next tokens that GPT says right under a mask, and nats a token."""
    with under(mask):
        logits = model(rows)[:, :-1].flatten(0, 1)
    return (logits.argmax(1) == rows[:, 1:].flatten()).float().mean().item(), torch.nn.functional.cross_entropy(logits, rows[:, 1:].flatten()).item()


def counted(train: list[int], held: Tensor, size: int) -> tuple[float, float]:
    """The rival who reads nothing: each token is guessed by how often it came in training."""
    often = torch.bincount(torch.tensor(train), minlength=size) + 1.0
    return (held == often.argmax()).float().mean().item(), -(often / often.sum()).log()[held].mean().item()

# %% nbgrader={"grade": false, "grade_id": "real-masks-run", "locked": true, "schema_version": 3, "solution": false, "task": false}
if ready(seven_masks, needs=["kjv"]):
    started = time.perf_counter()
    train, held = in_two(load("kjv"))
    bert, gpt = small_model("bert_kjv"), small_model("gpt_kjv")
    pieces = lambda text: [id for line in text.splitlines() for id in bert.tokenizer.encode(line, add_specials=False, specials_in_text=False).ids]
    read, written = rows_of(pieces(held), 256), rows_of(gpt.tokenizer.encode(held), 256)
    blanks = torch.rand(read.shape, generator=torch.Generator().manual_seed(5)) < 0.15
    print(f"{'':<30}  BERT fills blanks: right, nats      GPT says the next: right, nats")
    for (name, (kind, extra)), theirs in zip(seven().items(), the_courses()):
        yours = seven_masks(kind, LENGTH, extra)
        cells = []
        for one, other in ((filled(bert.model, read, blanks, yours), filled(bert.model, read, blanks, theirs)), (continued(gpt.model, written, yours), continued(gpt.model, written, theirs))):
            cells.append(f"{one[0]:.3f} {one[1]:.2f}  (course {other[0]:.3f} {other[1]:.2f})")
        print(f"{name:<30}  " + "    ".join(cells))
    rivals = [counted(pieces(train[:400_000]), read[blanks], 2000), counted(gpt.tokenizer.encode(train[:400_000]), written[:, 1:].flatten(), 1024)]
    print(f"{'how often a token comes':<30}  " + "    ".join(f"{right:.3f} {nats:.2f}                     " for right, nats in rivals))
    peeks = small_model("gpt_kjv_unmasked").card["figures"]["before_the_last_place"]
    print(f"in {time.perf_counter() - started:.0f} s. A GPT that was trained without a mask pays {peeks:.2f} nats for a token that stands before its eyes (chapter 8).")

# %% [markdown] nbgrader={"grade": false, "grade_id": "real-end", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The two halves of the table mirror each other. BERT is best under the full mask, which it was trained with, and loses about half of its right answers under the causal one: it had learned to look to the right. The window to both sides costs it hardly anything, the window to one side as much as the causal mask.
#
# GPT is best under the causal mask. Under the full one it **sees the very token that it is to say, and says it less often**: it never learned to look there, and what it sees disturbs what it knows. A mask opens a door; only training teaches to walk through. The last line is of a model that was trained with the door open: next to nothing is left to pay, and nothing was learned.
#
# Your masks give the numbers of the course's masks, to the last digit, since tables of True and False have no rounding. The rival who reads nothing stays far behind both under each of the seven.

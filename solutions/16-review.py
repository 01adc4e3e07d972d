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
# - *Types.* Return the type, dtype and shape that the statement names; a dictionary has the named keys and no others, in any order. Integers are Python's `int`; an `int` may be given for a `float`, but a bool does not count as a number. Correct values in another type or dtype, with an axis of length 1 too many or too few, or with an extra key, lose a fifth of the exercise's points, once. So does an answer that breaks *Arguments*.
# - *Precision.* Integers and bools are compared exactly. Floats are compared to four digits of each value, and to 0.00001 near 0, unless a statement says otherwise.
# - *Calls.* A result depends only on the arguments: not on earlier calls, and not on chance. Calls may come in any order.
# - *Tools.* You may use anything in torch, numpy and the standard library, unless a statement says otherwise. Not allowed are the course's own models, layers, objectives and metrics, and the library `transformers`.
# - *Sizes and time.* Unless a statement says otherwise, tensors are float32 without NaN or infinity, and lists have 1 to 300 entries. A call may take five seconds: plain Python loops are fast enough.
# - *Smallest sizes.* Grading always includes one token, one head, one document, and nothing chosen where a statement allows it.
# - *Arguments are as promised.* Your function need not check what a statement and its fine print promise. You may add cells anywhere: helpers, prints, plots.
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
# ## 1. Parameters of four models
#
# **Why.** Every comparison of models has a row of parameters, and it is the one row that you can check with a pencil. Four families, four ways to be wrong by some percent.
#
# **Difficulty** 3 of 5 · **Time** 14 minutes · **Points** 6 · **Paper** Devlin et al. (2019), section 3; Radford et al. (2019), section 2.3; Touvron et al. (2023), section 2.2; Warner et al. (2024), section 2.1
#
# A model of one of four kinds has $V$ tokens in its vocabulary, $P$ positions, hidden size $C$, `layers` blocks and intermediate size $F$. $H$ query heads and $K$ KV heads matter for `"llama"` only, and $P$ for the two kinds with learned positions.
#
# | | `"bert"` | `"gpt"` | `"llama"` | `"modernbert"` |
# | --- | --- | --- | --- | --- |
# | embeddings | tokens, $P$ positions, 2 segments, each of dimension $C$, and a norm after their sum | tokens, $P$ positions | tokens | tokens, and a norm after them |
# | attention of a block | four matrices $C \times C$, each with a bias | the same | queries and output $C \times C$; keys and values for $K$ of the $H$ heads only, of head dimension $C/H$; no biases | four matrices $C \times C$, no biases |
# | feed-forward of a block | up and down, each with a bias | the same | gate, up and down, no biases | gate, up and down, no biases |
# | norms of a block | two | two | two | two, but the **first** block has only one: the norm of the embeddings precedes it |
# | a norm has | weight and bias | weight and bias | a weight | a weight |
# | the rest | the pooler, $C \times C$ with a bias | a last norm; the output layer **is** the embedding | a last norm, and an output layer of its own without a bias | a last norm |
#
# Write `weigh_models(kind, V, P, C, layers, F, H, K)`. It returns a dictionary of four ints: `"embeddings"`, `"blocks"` (all of them together), `"rest"` and `"total"`.
#
# **By hand.** $V = 10$, $P = 6$, $C = 4$, 2 layers, $F = 5$, `"gpt"`. Embeddings: 40 + 24 = **64**. A block: attention 4 · (16 + 4) = 80, feed-forward 20 + 5 + 20 + 4 = 49, norms 2 · 8 = 16, together 145; two of them **290**. The rest: **8**. Total **362**.
# As `"llama"` with $H = 2$ and $K = 1$: 40; a block has 16 + 8 + 8 + 16 = 48, 60 and 8, two of them 232; the rest 4 + 40 = 44. Total **316**.
#
# **Rules**
# 1. Shared parameters are counted once, where they appear first.
# 2. Count in ints; floats lose digits of large numbers.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Which of the four has a bias anywhere?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Two small helpers: a matrix with bias has rows · columns + rows parameters, one without rows · columns. A norm has $2C$ or $C$. Then go down the table, one column per kind. A LLaMA's keys need $C \cdot K \cdot C/H$.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# Two kinds of street: in one, each house has a fence and all share a gate; in the other, no house has a fence.
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
# <details><summary>Fine print</summary>
#
# `kind` is one of the four words. The ints are from 1 to 200,000; $C$ is a multiple of $H$, and $H$ one of $K$; there are fewer than $10^{18}$ parameters.
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
# Four published models. The percentages say where their parameters are.

# %% nbgrader={"grade": false, "grade_id": "look-weigh_models", "locked": true, "schema_version": 3, "solution": false, "task": false}
for name, sizes in {"BERT-base": ("bert", 30522, 512, 768, 12, 3072, 12, 12), "GPT-2": ("gpt", 50257, 1024, 768, 12, 3072, 12, 12),
                    "LLaMA 7B": ("llama", 32000, 1, 4096, 32, 11008, 32, 32), "ModernBERT-base": ("modernbert", 50368, 1, 768, 22, 1152, 12, 12)}.items():
    found = attempt(weigh_models, *sizes)
    if found is not None:
        print(f"{name:<16} {found['total']:>13,} parameters: " + ", ".join(f"{key} {found[key] / found['total']:.1%}" for key in ("embeddings", "blocks", "rest")))

# %% [markdown] nbgrader={"grade": false, "grade_id": "step_bytes-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 2. FLOPs and bytes of one step
#
# **Why.** *Prefill is compute-bound, decoding is memory-bound.* Whether that is true of your model and your GPU is the ratio of two numbers, and this exercise computes both.
#
# **Difficulty** 3 of 5 · **Time** 12 minutes · **Points** 5 · **Paper** Pope et al. (2022), section 2; Shazeer (2019), section 2.4.1
#
# A decoder runs **one** forward pass over $B$ sequences. Of each sequence, $S$ tokens are in the KV cache, and $T$ new ones are processed. $T = 1$ is a decode step, $S = 0$ a prefill. Write `step_bytes(N, V, C, layers, H, K, D, bits, B, S, T)`. It returns a dictionary of five ints:
#
# - `"matrix_flops"`: each new token is multiplied with all $N$ parameters of the model's matrices, output layer included;
# - `"attention_flops"`: for each new token, each layer and each of the $H$ query heads, the scores with all visible keys and the weighted sum of as many values, both of head dimension $D$. A new token sees the cached tokens, itself, and the new ones before it. The softmax is not counted;
# - `"weight_bytes"`: the $N$ parameters, which are read once for the whole pass;
# - `"embedding_bytes"`: the embedding has $V$ vectors of dimension $C$ and is not part of the $N$. One vector is read for each new token, even if the same token occurs twice;
# - `"cache_bytes"`: keys and values of $K$ KV heads in each layer. Those of the $S$ cached tokens are read, those of the new ones are written, and not read back.
#
# A dot product of $n$ numbers counts $2n$ FLOPs. Each number is stored in `bits` bits.
#
# **By hand.** $N = 1000$, $V = 50$, $C = 8$, 2 layers, $H = 2$, $K = 1$, $D = 4$, 16 bits, $B = 3$, $S = 5$, $T = 2$. Six new tokens: **12,000** FLOPs with the matrices. In each sequence the first new token sees 6 and the second 7 keys, 13 pairs, 39 in all; a pair costs 2 · 4 for the score and 2 · 4 for the sum, in 2 layers and 2 heads: 39 · 16 · 4 = **2,496**. Weights **2,000** bytes. Embedding: 6 vectors of 16 bytes, **96**. A token's keys and values are 2 · 2 · 1 · 4 numbers, 32 bytes; 15 are read and 6 written: **672**.
#
# **Rules**
# 1. A new token sees itself and the new tokens before it, not those after it.
# 2. Count in ints; floats lose digits of large numbers.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Which of the five grow with $B$, and which one does not?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Count the pairs of one sequence: T · S, and 1 + 2 + … + T. Multiply by 4 · D · H · layers · B. Bytes: numbers times bits, divided by 8 with `//` at the very end.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# A copyist reads one book of `pages` pages aloud to `n` writers. Each writer writes all pages, and looks at each of their own pages before the one that is being written.
#
# ```python
# def evening(pages, n):
#     return {"read aloud": pages, "written": n * pages, "looked at": n * pages * (pages - 1) // 2}
# ```
#
# `evening(4, 3)` gives 4, 12 and 18.
#
# </details>
# <details><summary>Fine print</summary>
#
# The ints are 1 or more, $S$ may be 0; $T$ is at most 100,000; $H$ is a multiple of $K$; `bits` is 4, 8, 16 or 32; $N$, $C$ and $D$ are even; every result is below $10^{18}$.
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
# SmolLM2-135M in 16 bits: the prefill of a prompt of 512 tokens, and a decode step after it for 1, 16 and 256 sequences. The last column is the arithmetic intensity, in FLOPs per byte; a GPU that can compute 300 FLOPs per byte that it reads is memory-bound below that.

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
# ## 3. Seven attention masks
#
# **Why.** BERT, GPT, T5's prefix, Mistral's window, Longformer, packed training and XLNet have the same attention. What makes them different models is this matrix of True and False.
#
# **Difficulty** 3 of 5 · **Time** 22 minutes · **Points** 8 · **Paper** Devlin et al. (2019), section 3.1; Raffel et al. (2020), section 3.2.1; Jiang et al. (2023), section 2; Beltagy et al. (2020), section 3.1; Krell et al. (2021), section 3; Yang et al. (2019), section 2.3
#
# Write `seven_masks(kind, length, extra)`. It returns a bool tensor $(T, T)$ with $T$ = `length`, where entry $(i, j)$ is True if token $i$ attends to token $j$. What a kind needs in addition is in the dictionary `extra`:
#
# | `kind` | `extra` | token $i$ attends to |
# | --- | --- | --- |
# | `"full"` | nothing | every token |
# | `"causal"` | nothing | itself and those before it |
# | `"prefix"` | `prefix`: an int | itself, those before it, and the first `prefix` tokens, also where it is one of them |
# | `"window"` | `window`: an int | itself and the `window` - 1 tokens before it |
# | `"global"` | `side`: an int; `places`: a list of ints | itself and the tokens at most `side` away, on both sides; a token whose position is in `places` attends to all, and all attend to it |
# | `"packed"` | `lengths`: a list of ints | documents follow one another, the first with `lengths[0]` tokens, and so on: itself and those before it **in its own document**. The positions after the last document are padding: each attends to itself only, and no other attends to it |
# | `"order"` | `order`: a list of ints | a factorization order, in which position `order[0]` is predicted first: itself, and the positions that come earlier in the order. (This is XLNet's content stream; chapter 7 had the query stream.) |
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
# 1. Every token attends to itself, in all seven kinds.
# 2. `window` and `side` may exceed `length`, and `prefix` may be 0 or `length`.
# 3. `places` and `lengths` may be empty.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Which of the seven are one comparison of a column of positions with a row of positions?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# `i = torch.arange(length)[:, None]`, `j = torch.arange(length)[None, :]`. Six kinds are comparisons of the two, joined by `&` and `|`. For packed documents, list the document's number at each position, and give every padding position a number of its own: then *same number and causal*. For an order, find when each position has its turn: `argsort` of the order.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# Which clerk may read whose letters? Clerks sit in rooms of given sizes, one after the other, and each may read those of the room and of one chief.
#
# ```python
# def may_read(sizes, chief):
#     room = torch.tensor([number for number, size in enumerate(sizes) for _ in range(size)])
#     clerk = torch.arange(len(room))
#     return (room[:, None] == room[None, :]) | (clerk[None, :] == chief)
# ```
#
# `may_read([1, 2], 0)` has the rows (True, False, False), (True, True, True) and (True, True, True).
#
# </details>
# <details><summary>Fine print</summary>
#
# `kind` is one of the seven words, `length` an int from 1 to 300, and `extra` has the named keys and no others. `prefix` is from 0 to `length`; `window` from 1 and `side` from 0, both up to 1,000. `places` holds positions in any order, none twice. Each of `lengths` is at least 1, and together they are at most `length`. `order` contains each position once.
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
# The fraction of all pairs that each mask allows, for 64 tokens.

# %% nbgrader={"grade": false, "grade_id": "look-seven_masks", "locked": true, "schema_version": 3, "solution": false, "task": false}
for kind, extra in {"full": {}, "causal": {}, "prefix": {"prefix": 16}, "window": {"window": 8}, "global": {"side": 4, "places": [0]},
                    "packed": {"lengths": [20, 30]}, "order": {"order": list(range(63, -1, -1))}}.items():
    found = attempt(seven_masks, kind, 64, extra)
    if found is not None:
        print(f"{kind:<8} {int(found.sum()):>5} of 4096 pairs, {found.float().mean():.0%}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "make_labels-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 4. Five kinds of labels
#
# **Why.** The same text, the same model, five lists of labels: that is the difference between BERT, ELECTRA, GPT, T5 and an assistant. A label at the wrong position trains without an error.
#
# **Difficulty** 3 of 5 · **Time** 16 minutes · **Points** 7 · **Paper** Devlin et al. (2019), section 3.1; Clark et al. (2020), section 2; Raffel et al. (2020), section 3.1.4; Ouyang et al. (2022), section 3
#
# Write `make_labels(kind, ids, extra)`. It returns a tuple of two lists of ints: the inputs of the model, and its labels. A label of **-100** is ignored by the loss.
#
# | `kind` | `extra` | inputs | labels |
# | --- | --- | --- | --- |
# | `"masked"` | `chosen`, `becomes` | the text, in which position `chosen[n]` has `becomes[n]` | at each chosen position the original token; elsewhere -100 |
# | `"replaced"` | `chosen`, `becomes` | the same | at **every** position 1 if its token differs from the original, 0 if not |
# | `"causal"` | nothing | all tokens but the last | at each position the next token |
# | `"answer"` | `prompt` | all tokens but the last | the same, but -100 wherever the next token is one of the first `prompt` |
# | `"spans"` | `chosen`, `sentinels`, `end` | the text with each span replaced by one sentinel, then `end` | each sentinel followed by the tokens of its span, then `end` |
#
# BERT's chosen tokens mostly become `[MASK]`, some become another token, and some are kept: `becomes` contains all of these, and all of them have a label. Neighbouring chosen positions are **one** span; the first span has `sentinels[0]`, the second `sentinels[1]`, and so on.
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
# 1. Go by positions, not by ids: an id may occur twice, and those of `becomes`, `sentinels` and `end` may occur in the text as well.
# 2. `chosen` is ascending; it may be empty, and it may contain every position. The labels have no sentinel after the last span.
# 3. A text of one token leaves a causal model nothing to predict: two empty lists.
#
# <details><summary>Hint 1: a nudge</summary>
#
# For which of the five are inputs and labels of the same length, and for which do they belong to the same positions?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Masked and replaced: copy the list, and write into the copy. Causal and answer: `ids[:-1]`, `ids[1:]`; label number n is token n + 1, so it belongs to the prompt where n + 1 < `prompt`. Spans: one loop over the positions; a span begins at a chosen position whose left neighbour is not chosen.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# A proof-reader's copy: some letters of a word are blackened, and another sheet lists those, with a dot for every letter that could be read.
#
# ```python
# def blackened(letters, hidden):
#     copy = list(letters)
#     for index in hidden:
#         copy[index] = "#"
#     return copy, [letter if index in hidden else "." for index, letter in enumerate(letters)]
# ```
#
# `blackened(list("bank"), [0, 2])` gives `["#", "a", "#", "k"]` and `["b", ".", "n", "."]`.
#
# </details>
# <details><summary>Fine print</summary>
#
# `kind` is one of the five words, `ids` a list of 1 to 300 ints, and `extra` has the named keys and no others, with ints and lists of at most 300 ints. Ids are from 0 to a million. `chosen` has no position twice, there are at least as many sentinels as spans, and `prompt` is from 0 to the number of tokens.
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
# How many labels each kind has, for a text of 100 tokens of which 14 are chosen, and half of which are a prompt.

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
# ## 5. One wrong line in a block
#
# **Why.** A block with such a bug trains, and its loss decreases. It is only worse than it should be, and nobody notices. Reading is the one tool that finds it before the money is spent.
#
# **Difficulty** 3 of 5 · **Time** 10 minutes · **Points** 4 · **Paper** Vaswani et al. (2017), section 3.2; Touvron et al. (2023), section 2.2
#
# The cell below has `broken_block(x, weights, heads)`, a decoder block without positions: an RMSNorm without a weight, causal attention, the residual; a norm, a gated feed-forward layer, the residual. It runs, and its result has the right shape. **Exactly one** of its 13 numbered lines is wrong. For $T$ tokens of dimension $C$ and $h$ heads of dimension $D = C/h$ it should compute
#
# $$a = \frac{x}{\sqrt{\mathrm{mean}(x^2) + 10^{-6}}} \qquad y = x + W_{output}\,\mathrm{concat}_{heads}\bigl(\mathrm{softmax}(q k^\top / \sqrt{D})\, v\bigr) \qquad q, k, v = W_{query}\,a,\ W_{key}\,a,\ W_{value}\,a$$
#
# $$b = \frac{y}{\sqrt{\mathrm{mean}(y^2) + 10^{-6}}} \qquad \mathrm{block}(x) = y + W_{down}\bigl(\mathrm{silu}(W_{gate}\, b) \odot W_{up}\, b\bigr) \qquad \mathrm{silu}(z) = \frac{z}{1 + e^{-z}}$$
#
# The mean is over the dimensions of one token; the softmax is over the visible keys, those of the token itself and of the tokens before it. Head 0 has the first $D$ rows of $W_{query}$, $W_{key}$ and $W_{value}$, head 1 the next $D$, and so on, and the outputs of the heads are concatenated in that order.
#
# Write `wrong_line()`, which returns the number of the line (1.5 points), and `repaired_block(x, weights, heads)`, which computes what the block should (2.5 points); `x` and the result are $(T, C)$.
#
# **By hand.** One token, one head: it attends to itself only, so attention returns its value, whatever the softmax does. Two tokens and two heads are the smallest case that shows everything. If $W_{gate}$ and $W_{output}$ are 0, the block returns $x$.
#
# **Rules**
# 1. The matrices are stored as in `nn.Linear`, so a product is `x @ W.T`.
# 2. Copy the function and change the line, or write it from scratch. The two answers are graded separately.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Which lines would give the same result with one head? With one token? Try both, against a calculation of your own.
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Run the lines one by one with T = 3, C = 4 and 2 heads, and check what each should guarantee: rows of weights that sum to 1, zeros above the diagonal, numbers of size 1 after a norm, the first D columns from head 0, and in the end x itself plus something.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# The mean mark per class; `marks` has one row per pupil, and the classes are groups of columns. This version is wrong:
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
# <details><summary>Fine print</summary>
#
# `x` is float32 with $T$ from 1 to 300; `weights` is a dictionary of float32 tensors, `query`, `key`, `value`, `output` $(C, C)$, `gate`, `up` $(F, C)$, `down` $(C, F)$; `heads` divides $C$; $C$ and $F$ are from 1 to 64, and scores lie between -50 and 50. Results are compared to three digits, and to 0.0001 near 0. `wrong_line()` returns an `int`.
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
# How far apart the two are, on random numbers: with one head, and with four.

# %% nbgrader={"grade": false, "grade_id": "look-broken_block", "locked": true, "schema_version": 3, "solution": false, "task": false}
dice = torch.Generator().manual_seed(1)
drawn = {name: torch.randn(shape, generator=dice) / shape[1] ** 0.5 for name, shape in {**dict.fromkeys(("query", "key", "value", "output"), (8, 8)), "gate": (12, 8), "up": (12, 8), "down": (8, 12)}.items()}
tokens = torch.randn(5, 8, generator=dice)
for heads in (1, 4):
    found = attempt(repaired_block, tokens, drawn, heads)
    if found is not None:
        print(f"{heads} head(s), apart token by token by", [round(one, 3) for one in (found - broken_block(tokens, drawn, heads)).abs().amax(1).tolist()])

# %% [markdown] nbgrader={"grade": false, "grade_id": "counterexamples-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 6. Six claims that are false
#
# **Why.** Each of these sentences is in some lecture or blog post, and each sounds right. One small table of numbers ends the argument. To find it, you have to know why the sentence is false.
#
# **Difficulty** 4 of 5 · **Time** 16 minutes · **Points** 6 · **Paper** Holtzman et al. (2020), section 3.1; Meister et al. (2020), section 2; Su et al. (2021), section 3.4
#
# Write `counterexamples()`. It returns a dictionary with six keys; the value of each is a dictionary of data **that refutes the claim**. Our code uses your data and checks whether the claim fails. One point each, independently.
#
# | key | claim | your data |
# | --- | --- | --- |
# | `"beam"` | *A beam of three finds the most probable text of two words.* | `first`: the probabilities of 4 to 6 words; `then`: a table, row i the probabilities of the next word after word i |
# | `"wider"` | *For three words, a beam of two ends with a text that is at least as probable as the greedy one.* | `first` and `then` in the same form, for 3 to 8 words; `then` gives the second word after the first, and the third after the second |
# | `"top_p"` | *Top-p with p = 0.9 never keeps more tokens than top-k with k = 5.* | `p`: the probabilities of 6 to 40 tokens |
# | `"pooling"` | *If the vectors of padding are zero, the mean over all vectors is the mean over the tokens.* | `vectors`: 2 to 8 vectors of dimension 1 to 4, zero where there is padding; `real`: a list of 1 for a token and 0 for padding |
# | `"rotary"` | *With rotary positions, a query and a key that are the same vector score higher the nearer they are.* | `x`: that vector, of dimension 2, 4, 6 or 8; `places`: a list of two distances, the smaller one first, from 0 to 1,000 |
# | `"loss"` | *Of two models, the one with the lower loss predicts at least as many tokens correctly.* | `one`, `other`: for 1 to 10 positions, the probabilities that each model gives to the 2 to 6 tokens; `right`: a list of the true tokens. `one` is the model with the lower loss |
#
# *Beam of n*: after each word, the n most probable prefixes are kept, and the result is the most probable complete text among their continuations; greedy is a beam of one. *Top-p* keeps the fewest most probable tokens that have 0.9 or more together. *Rotary*: dimensions $i$ and $i + D/2$ are a pair with frequency $10000^{-2i/D}$, so that the score at distance $d$ is $\sum_i (x_i^2 + x_{i+D/2}^2) \cos(d \cdot 10000^{-2i/D})$. *Loss*: the mean of $-\ln$ of the true tokens' probabilities; a model predicts its most probable token.
#
# **By hand**, for a seventh claim: *The most probable token has at least half of the probability.* The data (0.4, 0.35, 0.25) refute it.
#
# **Rules**
# 1. *No ties.* No choice that matters may be decided by less than 0.01.
# 2. *No rounding.* The claim fails clearly: by 0.01 in a probability or a loss, by 0.1 in a mean.
# 3. Every row of probabilities sums to 1.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Beam: what if the best continuation follows the word that was dropped? Loss: which model is always a little wrong, and which is very wrong once?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Beam: four first words that are nearly equal, and the fourth continues with certainty. Wider: two words are kept at first, and the second of them has *two* continuations that are a little more probable than the best one of the first; they have many continuations each, the greedy one has a single one. Rotary: in two dimensions the score is a cosine of the distance in radians. Loss: one model gives 0.45 to the true token each time; the other 0.55 once, and 0.05 the other time.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# The claim *the team that wins more games has more points*, with goals as points and data in the same form: goals of two teams in each of three games.
#
# ```python
# def games():
#     return {"ours": [1, 1, 0], "theirs": [0, 0, 9]}      # two games to one, two goals to nine
# ```
#
# </details>
# <details><summary>Fine print</summary>
#
# What does not count is reported in words.
#
# - Tensors are float32 and created inside the function, again in each call; lists contain ints; no NaN, nothing infinite, no other keys. Probabilities are from 0 to 1 and sum to 1, to 0.0001, in each row.
# - *No ties*: where a beam drops prefixes, before the last word, the last that is kept is more probable than the first that is dropped by 0.01; the same holds for the two most probable tokens of each row of `one` and `other`. Any two numbers of `p` differ by 0.001.
# - *No rounding*: a text is less probable by 0.01; the five most probable tokens have 0.89 together or less; the means differ by 0.1; the far score is higher by a tenth of $|x|^2$; the losses differ by 0.01.
# - *Nothing empty*: there is padding, and there is a token. $|x|$ is at least 0.1. Vectors lie between -10 and 10. Each true token has at least 0.001.
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
# **Why.** There are eight common ways to implement attention wrongly, each seen in somebody's repository. All give the right shape. One test of twenty lines detects them all.
#
# **Difficulty** 3 of 5 · **Time** 10 minutes · **Points** 4 · **Paper** Vaswani et al. (2017), section 3.2.1
#
# A colleague gives you `attention(q, k, v, mask)`. For `q` of shape $(B, H, T, D)$ and `k`, `v` of $(B, H, S, D)$ it should return, for each query, the mean of the visible values, weighted by the softmax of $q \cdot k / \sqrt{D}$ over the visible keys. `mask` is bool $(B, 1, T, S)$, True where a query sees a key. A query that sees none gets zeros.
#
# Write `test_attention(attention)`, which returns nothing if `attention` does so, and fails an `assert` if it does not. A kind earns its point if your test detects all wrong implementations of that kind and accepts every right one:
#
# - *scale*: scores that are not divided, or divided by $D$;
# - *axis*: a softmax over the queries, or over the heads;
# - *mask*: True and False exchanged; a mask that is ignored, or ignored in all heads but the first; the first sequence's mask for all sequences; a hidden score of 0 instead of minus infinity; weights set to 0 **after** the softmax, so that they no longer sum to 1;
# - *edges*: NaN for a query that sees no key, or the mean of all values; NaN where scores reach the hundreds.
#
# **By hand.** One query q = (2), keys (1) and (0), values (1) and (0), $D$ = 1, both visible: the scores are 2 and 0, so the result is $e^2/(e^2 + 1)$ = 0.881. Hide the second key: 1. Hide both: 0. With $D$ = 1 the scale makes no difference.
#
# **Rules**
# 1. A test that rejects a right implementation earns nothing: everybody would switch it off.
# 2. Right implementations differ by rounding: by less than 0.00005 where scores lie between -10 and 10 and values are drawn by `randn`, and by less than 0.002 where scores reach the hundreds.
# 3. Fail with `assert`, or with something that raises `AssertionError`, such as `torch.testing.assert_close`.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Which inputs make each of the wrong implementations differ from the right one? Values that are all equal show nothing; neither does a mask of True.
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Compute the right result in float64: scores, `torch.where(mask, scores, -inf)`, `softmax(-1).nan_to_num(0.0)`, times the values. Loop over (3, 5) and (4, 4), over numbers as drawn and with q a hundred times as large, over a drawn mask with one row of False and one without. `assert torch.allclose(...)`, which rejects NaN: 0.0001 in the first case, 0.003 in the other.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
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
#         assert torch.allclose(mean(x, marked), right, atol=1e-5), "a different mean"
# ```
#
# </details>
# <details><summary>Fine print</summary>
#
# - Allowed inputs are finite float32 with every axis from 1 to 32, a bool mask of that shape, and scores from -1,000 to 1,000 after the division, hidden ones included. A right implementation may refuse anything else.
# - A wrong implementation shows its error with 2 sequences, 2 heads, $T$ = 3, $S$ = 5 and $D$ = 4, on numbers drawn by `randn`, with a drawn mask in which a query of each sequence sees nothing; those of *edges* perhaps only with no such query, and scores that reach hundreds above 0. The error is NaN, or a difference of more than 0.001. It may be wrong only with as many queries as keys, or only with another number; you can try 4 and 4 next to 3 and 5.
# - Any other exception means that your test is broken, and earns nothing. Returning False instead of failing an `assert` costs a fifth, once.
# - Call it a hundred times at most. No candidate raises where the call is allowed, or returns another shape or dtype. torch's softmax and attention may be used.
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
# **Why.** Somebody asks you which model to use. *The newest* is no answer, and neither is *it depends*.
#
# **Difficulty** 3 of 5 · **Time** 10 minutes · **Points** 4, given by a person who reads it · **Paper** Devlin et al. (2019); Radford et al. (2019); Raffel et al. (2020); Warner et al. (2024)
#
# Three people come to you on the same day.
#
# 1. *A library* has two million abstracts and wants the ten nearest to a reader's question, in a tenth of a second, on the CPUs that it has.
# 2. *A museum* wants a guide that answers visitors in sentences, eight thousand tokens of conversation each, forty visitors at a time, on one GPU.
# 3. *A court* has 200,000 sentences with their translations between two languages, and wants such translations of new ones; nothing else is asked of the model.
#
# In about 120 words: name for each an encoder, a decoder, or both (a whole family or a model of the book), with the reason, and in each reason **one number** that this book measured, counted or cited. Then state for one of the three which number would change your mind.
#
# {{rubric}}
#
# Short is fine. Correct and concrete beats long.
#
# <details><summary>Hint 1: a nudge</summary>
#
# What is the output: a vector, one token after another, or a text whose source is complete before it begins?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# For each: what is computed again for each question, and what only once? Which of the counts of exercises 1 and 2 decides?
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# *A baker asks whether to buy a second oven.* It bakes 60 loaves an hour and he sells 45 in his best hour, so no; above 55 I would, since one oven that fails costs him a morning. A choice, a number as its reason, and the number that would reverse it.
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
# Your seven masks are applied to two models that you know: the small BERT of chapter 5, which was trained on masked tokens with full attention, and the small GPT of chapter 8, which was trained on next-token prediction with a causal mask. Both process text that was held out from their training. Next to each number is the same one with the course's own masks.

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
# The two halves of the table mirror each other. BERT is best under the full mask, which it was trained with, and loses about half of its correct predictions under the causal one: it had learned to attend to the right. The window on both sides costs it hardly anything, the window on one side as much as the causal mask.
#
# GPT is best under the causal mask. Under the full one it **attends to the very token that it has to predict, and predicts it less often**: it never learned to use it, and the additional keys disturb what it learned. A mask only permits attention; what is done with it has to be trained. The last line is a model that was trained without a causal mask: its loss is close to zero, and it has learned nothing.
#
# Your masks give the numbers of the course's masks, to the last digit, since masks have no rounding. The rival that reads no context is far behind both under each of the seven.

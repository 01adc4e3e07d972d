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
# # Chapter 8. GPT: the exercises
#
# You write a GPT: its loss, a test of its mask, the model, MinHash, AdamW, fine-tuning, zero-shot scoring.
# At the end your GPT loads trained weights, your functions train one from scratch, and SmolLM2 answers by your scores.
#
# There are 11 exercises and 58 points. Plan about 177 minutes, in as many sittings as you like.
#
# | Part | Exercises | Minutes | Points |
# | --- | --- | --- | --- |
# | Next-token prediction | 1 to 2 | 36 | 11 |
# | The model | 3 to 4 | 42 | 14 |
# | Data and training | 5 to 7 | 44 | 14 |
# | Fine-tuning and zero-shot transfer | 8 to 10 | 42 | 15 |
# | In your own words | 11 | 13 | 4 |
# | Your code runs the real thing | nothing to write | 2 | 0 |
#
# **How it works.**
# 1. Read the statement, write the function in the cell below it, and run the check under that cell as often as you like.
# 2. A check's first line names the likely cause, its second a small input that fails. Stuck? Open the three hints in order; the third solves a similar problem.
# 3. Grading runs the same checks with other sizes and values. The smallest sizes are always among them.
#
# **Symbols.** $B$ sequences, $T$ positions, $V$ vocabulary size, $P$ position embeddings, $C$ hidden size, $L$ blocks, $H$ heads, $D=C/H$ head dimension, $N$ task sequences or documents, $K$ labels or hash functions.
#
# <details><summary>Fine print</summary>
#
# - *Arguments.* Leave them unchanged, lists and dictionaries included, and return something new: neither an argument or a part of one nor a result of an earlier call. A tensor may be a view of a larger one, such as a transpose; `reshape` works there, `view` may not.
# - *Types.* Return the type, dtype and shape that the statement names; a dictionary has the named keys and no others, in any order. A subclass counts as its type, except that a tensor must be a plain `torch.Tensor`; an `int` may be given for a `float`, but a bool does not count as a number. Correct values in another type or dtype, with an axis of length 1 too many or too few, or with an extra key, lose a fifth of the exercise's points, once. So does an answer that breaks *Arguments*.
# - *Precision.* Floats are compared to four digits of each value, and to 0.00001 near 0; float32 has seven digits, so the order of your operations does not matter. Half precision, rounding, or a small constant "for safety" is wrong where it shows in these digits, and only there. Integers are compared exactly.
# - *Logarithms* are natural.
# - *Calls.* A result depends only on the arguments (and, for a model, on its weights): not on earlier calls, and not on chance. Calls may come in any order.
# - *Tools.* You may use anything in torch, numpy and the standard library, unless a statement says otherwise. Not allowed are the course's own models, layers, objectives, training and scoring, the library `transformers`, `torch.optim`, and torch's ready-made Transformer layers.
# - *Sizes and time.* Every axis has length 1 to 300, and a list has at most 300 entries, unless a statement says otherwise. Ids are integers of at least 0, and no integer exceeds a billion. The cells that show what a function is for, and the last part, use some longer axes and lists, which the checks do not. A call may take five seconds: plain Python loops are fast enough.
# - *Smallest sizes.* Grading always includes one token, one sequence, and an empty list where a statement allows it.
# - *Arguments are as promised.* Your function need not check what a statement or its fine print promises. You may add cells anywhere (helpers, prints, plots), and a function may call one that you wrote before.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
import zlib
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

progress("08")                                 # follows your checks

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-next", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 1. Next-token prediction

# %% [markdown] nbgrader={"grade": false, "grade_id": "next_token_loss-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 1. Next-token loss
#
# **Why.** This number trains every GPT. A text of $T$ tokens gives $T - 1$ training targets at once, without a label from anybody.
#
# **Difficulty** 3 of 5 · **Time** 18 minutes · **Points** 6 · **Paper** Radford et al. (2018), section 3.1, equation 1
#
# `logits[b, t]` are the model's scores for the token at position $t + 1$ **of the same sequence**, after it has read tokens 0 to $t$. The loss is the mean cross-entropy over **all targets of the batch together**:
#
# $$\mathcal{L} = -\frac{1}{n} \sum_{b} \sum_{t} \log \mathrm{softmax}(\text{logits}_{b,t})_{\,\text{ids}_{b,t+1}}$$
#
# The sum runs over the $n$ positions $t$ whose next position holds a token. The first token of a sequence is never a target, and the logits of its last token are not used.
#
# Write `next_token_loss(logits, ids, mask)`; `logits` is float32 `(B, T, V)`, `ids` is int64 `(B, T)`, and `mask` is bool `(B, T)`, True at tokens and False at padding, which is on the right. The result is a float32 tensor without axes.
#
# **By hand.** Two sequences, $V = 2$. Sequence 0 has ids 0, 1, 0, and the model gives their targets the probabilities ½ and ⅛: losses ln 2 and 3 ln 2. Sequence 1 has ids 1, 1 and padding; its target has ¼: 2 ln 2. Three targets: (1 + 3 + 2) ln 2 / 3 = 2 ln 2 = **1.386**. The mean of the two means happens to be the same here. With ½ in place of ¼ it is not: 5 ln 2 / 3 = **1.155**, not 3 ln 2 / 2.
#
# **Rules**
# 1. Every target of the batch has the same weight, however long its sequence is.
# 2. Padding is never a target, and logits at padding have no influence.
# 3. Without any target (every sequence has one token), the loss is 0.0.
# 4. The loss is differentiable with respect to `logits`.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Which logits have no target, and which ids are no target? Leave out one column of each.
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# `logits[:, :-1]` and `ids[:, 1:]` have the same number of columns, and so has `mask[:, 1:]`, which says whether the target is a token. `cross_entropy` takes logits of shape $(N, V)$ and $N$ targets: select by the mask first. What does it return for no target at all?
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# How far the temperature moves from one day to the next, in the mean over all weeks together; `known` says which days were measured.
#
# ```python
# def moves(degrees, known):                                    # (weeks, days) each
#     there = known[:, :-1] & known[:, 1:]
#     return (degrees[:, 1:] - degrees[:, :-1]).abs()[there].mean()
# ```
#
# `moves(torch.tensor([[1.0, 4.0, 0.0]]), torch.tensor([[True, True, False]]))` is 3.
#
# </details>
# <details><summary>Fine print</summary>
#
# `mask[:, 0]` is True, and after padding there are no more tokens. Logits are finite and may be anything from -10,000 to 10,000. Ids are from 0 to $V - 1$, at padding too. Without any target, the gradient is not tested.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "next_token_loss", "locked": false, "schema_version": 3, "solution": true, "task": false}
def next_token_loss(logits: Float[Tensor, "B T V"], ids: Int[Tensor, "B T"], mask: Bool[Tensor, "B T"]) -> Float[Tensor, ""]:
    """The mean cross-entropy of each sequence's next tokens, without padding; 0.0 if there is no target."""
    ### BEGIN SOLUTION
    asked = mask[:, 1:]
    losses = torch.nn.functional.cross_entropy(logits[:, :-1][asked], ids[:, 1:][asked], reduction="sum")
    return losses / max(int(asked.sum()), 1)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "next_token_loss-check", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
check(next_token_loss)

# %% [markdown] nbgrader={"grade": false, "grade_id": "next_token_loss-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# A model that has learned nothing gives each of its $V$ tokens the same probability. You therefore know its loss before training; a first loss far above it is a bug.

# %% nbgrader={"grade": false, "grade_id": "look-next_token_loss", "locked": true, "schema_version": 3, "solution": false, "task": false}
generator = torch.Generator().manual_seed(8)
for V in (2, 1024, 50257):
    ids = torch.randint(V, (2, 20), generator=generator)
    found = attempt(next_token_loss, torch.zeros(2, 20, V), ids, torch.ones(2, 20, dtype=torch.bool))
    if found is not None:
        print(f"V = {V:>6,}: loss {found.item():.3f}, log V {torch.tensor(V).log().item():.3f}, perplexity {found.exp().item():,.1f}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "test_causal-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 2. Test a causal mask
#
# **Why.** A model that sees its target learns to copy it: the loss falls to almost nothing, and the model cannot generate. A model that cannot see half of its context learns slowly, and nobody notices. You write the test that catches both.
#
# **Difficulty** 3 of 5 · **Time** 18 minutes · **Points** 5 · **Paper** Radford et al. (2018), section 3.1; Vaswani et al. (2017), section 3.2.3
#
# A causal language model takes ids `(B, T)` and returns logits `(B, T, V)`. The logits at position $t$ depend on **each** of the tokens 0 to $t$ of the same sequence, **the one at $t$ included**, and on nothing else.
#
# Write `test_causal(model)`. It calls `model(ids)` on ids of your choice, fails an `assert` if the promise is broken, and does nothing otherwise. Your test runs on four correct models and on more than a dozen wrong ones, of four kinds. Each kind earns its points if your test catches all of it and accepts all four correct models:
#
# - *ahead* (1.5 points): a later token is visible. There is no mask, it is off by one, it covers one head only, or masked scores are lowered by too little.
# - *some* (1 point): a later token is visible at one position only, or changes earlier logits only slightly, for example because they are centred over the whole text.
# - *lengths* (1 point): later tokens are visible in texts of one length only.
# - *blind* (1.5 points): one of the tokens up to $t$ has no influence: the one at $t$, the first, another one, or all but the last few; at every position or at one; in all texts or in those of one length, which may be 1.
#
# **By hand.** Text 0, 1, 2. Change the last token to 3: all logits at positions 0 and 1 must stay the same, and at position 2 at least one must change. Change the first token: there must be a change at positions 0, 1 **and** 2.
#
# **Rules**
# 1. Ids are integers from 0 to `SIZE` - 1, and $V$ is `SIZE` as well. Any $T$ from 1 to `PLACES` is allowed.
# 2. A change below 0.0001 is none. A visible token changes some logit by more than 0.01, perhaps in one column only.
# 3. Complain with `assert`. A test that rejects a correct model earns nothing.
#
# <details><summary>Hint 1: a nudge</summary>
#
# For each of the four kinds: which token would you change, in a text of which length, and at which positions would you look?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# For each length from 1 to `PLACES` and each position $s$: change the token at $s$ in a copy, call the model again, and take the largest change over the columns at each position. Before $s$ there must be none; from $s$ on there must be one at *each* position.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# A test for a function that returns the running sums of a list. Each entry depends on all numbers up to it.
#
# ```python
# def test_running(candidate):
#     for length in range(1, 5):
#         before = candidate([1] * length)
#         for at in range(length):
#             changed = [1] * length
#             changed[at] = 6
#             for t, (one, two) in enumerate(zip(before, candidate(changed))):
#                 assert (one != two) == (t >= at), f"number {at} at entry {t}"
# ```
#
# </details>
# <details><summary>Fine print</summary>
#
# $B$ is from 1 to 8, and ids are int64; a model may refuse anything else. No model changes its ids or what it returned before, and sequences never see each other, so one sequence is enough. Called twice, a model may differ by less than 0.0001. A correct model need not be good, and need not know the order of earlier tokens. Logits are finite float32 numbers from -20 to 20, without gradient. A wrong model is wrong in every sequence of the length that shows it; one that is blind or sees ahead may need a text of four tokens or more.
#
# Any exception other than an AssertionError means that your test is broken, and earns nothing. Returning False instead of failing an `assert` costs a fifth, once. One run may take five seconds, which is some hundred calls. If you draw tokens, the result must not depend on the draw.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "setup-sizes", "locked": true, "schema_version": 3, "solution": false, "task": false}
SIZE, PLACES = 9, 6        # in exercise 2: tokens 0 to 8, and texts of at most six

# %% nbgrader={"grade": false, "grade_id": "test_causal", "locked": false, "schema_version": 3, "solution": true, "task": false}
def test_causal(model: Callable[[Int[Tensor, "B T"]], Float[Tensor, "B T V"]]) -> None:
    """Fail an assert unless logits at t depend on each of the tokens 0 to t and on no later one."""
    ### BEGIN SOLUTION
    for length in range(1, PLACES + 1):
        ids = torch.arange(length)[None]
        before = model(ids)
        for index in range(length):
            other = ids.clone()
            other[0, index] = SIZE - 1
            moved = (model(other) - before).abs().amax(2)[0] > 0.001             # (T,)
            assert not moved[:index].any(), f"token {index} of {length} is seen too early"
            assert bool(moved[index:].all()), f"token {index} of {length} is not seen where it should be"
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "test_causal-check", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check(test_causal)

# %% [markdown] nbgrader={"grade": false, "grade_id": "test_causal-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Your test on three models of one line each: a mean of the text so far, a mean of the whole text, and a mean of what comes *before*.

# %% nbgrader={"grade": false, "grade_id": "look-test_causal", "locked": true, "schema_version": 3, "solution": false, "task": false}
table = torch.randn(SIZE, SIZE, generator=torch.Generator().manual_seed(8))
for name, sees in {"up to t": lambda t, s: s <= t, "everything": lambda t, s: s >= 0, "before t": lambda t, s: s < t}.items():
    def means(ids, sees=sees):
        places = torch.arange(ids.shape[1])
        weights = sees(places[:, None], places).float().expand(len(places), len(places))
        return weights / weights.sum(1, keepdim=True).clamp(min=1) @ table[ids]

    try:
        attempt(test_causal, means)
        print(f"{name}: your test stays silent")
    except AssertionError as complaint:
        print(f"{name}: your test complains: {complaint}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-model", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 2. The model

# %% [markdown] nbgrader={"grade": false, "grade_id": "GPT-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 3. A GPT
#
# **Why.** This class is GPT-2, and with one argument changed it is GPT-1. At the end of the notebook it loads trained weights and generates.
#
# **Difficulty** 5 of 5 · **Time** 30 minutes · **Points** 10 · **Paper** Radford et al. (2018), sections 3.1 and 4.1; Radford et al. (2019), section 2.3
#
# Write a class `GPT`, a `torch.nn.Module`. `GPT(V, P, C, L, H, norm_first)` builds the model, and `model(ids)` returns float32 logits `(B, T, V)` for int64 ids `(B, T)`. Its parameters have these names and shapes, where `*` is the number of a block from 0; each name is followed by `.weight` or `.bias`:
#
# | name | weight | bias |
# | --- | --- | --- |
# | `tokens` | $(V, C)$ | none |
# | `places` (positions) | $(P, C)$ | none |
# | `blocks.*.norm_1`, `blocks.*.norm_2` | $(C)$ | $(C)$ |
# | `blocks.*.qkv` | $(3C, C)$ | $(3C)$ |
# | `blocks.*.out` | $(C, C)$ | $(C)$ |
# | `blocks.*.up` | $(4C, C)$ | $(4C)$ |
# | `blocks.*.down` | $(C, 4C)$ | $(C)$ |
# | `norm`, only with `norm_first` | $(C)$ | $(C)$ |
#
# `torch.nn.Embedding`, `LayerNorm` and `Linear` have such parameters. The check loads its own weights by these names, so initialization does not matter.
#
# 1. *Embeddings*: the token's vector plus the vector of its position 0, 1, 2, … No norm follows.
# 2. *Block*. GPT-2 (`norm_first` is True) is pre-norm: $x \leftarrow x + \text{attention}(\text{norm}_1(x))$, then $x \leftarrow x + \text{FFN}(\text{norm}_2(x))$. GPT-1 is post-norm: $x \leftarrow \text{norm}_1(x + \text{attention}(x))$, then $x \leftarrow \text{norm}_2(x + \text{FFN}(x))$.
# 3. *Attention*: `qkv` gives a vector of size $3C$ per token, first the query, then the key, then the value. Head $h$ has the columns $hD$ to $(h+1)D - 1$ of each. Scores are divided by $\sqrt{D}$, the mask is causal, and the concatenated heads go through `out`.
# 4. *Feed-forward*: `up`, GELU, `down`, with GPT's tanh approximation $\frac{z}{2}\left(1 + \tanh\left(\sqrt{2 / \pi}\,(z + 0.044715\, z^3)\right)\right)$.
# 5. *Final norm*: `norm` after the last block, with `norm_first` only.
# 6. *Output*: the logit of token $v$ is the dot product with row $v$ of `tokens`, the **same** parameter used twice: no second matrix, no copy, no bias.
#
# **By hand.** No block, $C = 2$, `norm_first` False. `tokens` has the rows (1, 0) and (0, 2), `places` the row (0.5, 0). For the single id 1 the sum is (0.5, 2), and the logits are **0.5** and **4**. With `norm_first`, weights 1 and biases 0, the norm gives (-1, 1), up to $\varepsilon$, and the logits are -1 and 2.
#
# **Rules**
# 1. LayerNorm is over the last axis, with $\varepsilon = 10^{-5}$ inside the root.
# 2. Scores can be as large as ±500: masked keys must not influence anything even then.
# 3. There is no padding and no dropout.
# 4. Gradients reach every parameter that is used, and `tokens` from both of its uses.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Start with no block: two embeddings, a sum, a product with the first matrix. Then add one line of `forward` after the other. Each test switches on one more part.
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# `self.blocks = torch.nn.ModuleList(torch.nn.ModuleDict({"norm_1": …, "qkv": …, …}) for _ in range(L))`. In attention: `qkv(x).chunk(3, dim=2)`, each `.unflatten(2, (H, -1)).transpose(1, 2)` is $(B, H, T, D)$; scores, `masked_fill` above the diagonal with minus infinity, softmax, product, and back with `.transpose(1, 2).flatten(2)`. `torch.nn.functional.gelu` has an argument `approximate`. The output is `x @ self.tokens.weight.T`.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# A small autoencoder whose decoder is the encoder's matrix again, so that it has one matrix in all:
#
# ```python
# class Tied(torch.nn.Module):
#     def __init__(self, wide, narrow):
#         super().__init__()
#         self.narrow = torch.nn.Linear(wide, narrow)
#
#     def forward(self, x):
#         return torch.relu(self.narrow(x)) @ self.narrow.weight
# ```
#
# `sum(one.numel() for one in Tied(10, 3).parameters())` is 33: thirty and a bias.
#
# </details>
# <details><summary>Fine print</summary>
#
# $V$, $P$ and $C$ are from 1 to 300, $L$ from 0 to 12, $T$ from 1 to $P$; $H$ divides $C$ and may be 1 or $C$. The `state_dict` has no other tensors: a mask kept as a buffer needs `persistent=False`. Training mode gives the same logits. Two models share nothing; calling a model twice gives the same result and leaves its weights unchanged. `norm_first` is always passed. Logits are compared to four digits, and to 0.0001 near 0.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "GPT", "locked": false, "schema_version": 3, "solution": true, "task": false}
class GPT(torch.nn.Module):
    """GPT-2, or with norm_first=False GPT-1: logits of the token after each."""

    def __init__(self, V: int, P: int, C: int, L: int, H: int, norm_first: bool = True):
        super().__init__()
        ### BEGIN SOLUTION
        Linear, LayerNorm = torch.nn.Linear, torch.nn.LayerNorm
        self.H, self.norm_first = H, norm_first
        self.tokens, self.places = torch.nn.Embedding(V, C), torch.nn.Embedding(P, C)
        self.blocks = torch.nn.ModuleList(torch.nn.ModuleDict({
            "norm_1": LayerNorm(C), "qkv": Linear(C, 3 * C), "out": Linear(C, C),
            "norm_2": LayerNorm(C), "up": Linear(C, 4 * C), "down": Linear(4 * C, C)}) for _ in range(L))
        if norm_first:
            self.norm = LayerNorm(C)
        ### END SOLUTION

    def forward(self, ids: Int[Tensor, "B T"]) -> Float[Tensor, "B T V"]:
        ### BEGIN SOLUTION
        def attend(block, x: Tensor) -> Tensor:
            q, k, v = (part.unflatten(2, (self.H, -1)).transpose(1, 2) for part in block["qkv"](x).chunk(3, dim=2))
            seen = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)         # (B, H, T, D)
            return block["out"](seen.transpose(1, 2).flatten(2))

        def think(block, x: Tensor) -> Tensor:
            return block["down"](torch.nn.functional.gelu(block["up"](x), approximate="tanh"))

        x = self.tokens(ids) + self.places.weight[:ids.shape[1]]                                      # (B, T, C)
        for block in self.blocks:
            if self.norm_first:
                x = x + attend(block, block["norm_1"](x))
                x = x + think(block, block["norm_2"](x))
            else:
                x = block["norm_1"](x + attend(block, x))
                x = block["norm_2"](x + think(block, x))
        if self.norm_first:
            x = self.norm(x)
        return x @ self.tokens.weight.T
        ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "GPT-check", "locked": true, "points": 10, "schema_version": 3, "solution": false, "task": false}
check(GPT)

# %% [markdown] nbgrader={"grade": false, "grade_id": "GPT-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The first gradient of a new model, and a question about it: which rows of `tokens` have a gradient if the text has three of ten tokens? With an output matrix of its own, only those three would. Look at what tying does.

# %% nbgrader={"grade": false, "grade_id": "look-GPT", "locked": true, "schema_version": 3, "solution": false, "task": false}
model = attempt(GPT, 10, 8, 16, 2, 4, True)
if model is not None:
    logits = attempt(model, torch.tensor([[1, 2, 3, 1, 2, 3]]))
    if logits is not None:
        logits.logsumexp(2).mean().backward()
        print("rows of `tokens` with a gradient:", (model.tokens.weight.grad.abs().sum(1) > 0).nonzero().flatten().tolist())
        print("parameters:", sum(one.numel() for one in model.parameters()))

# %% [markdown] nbgrader={"grade": false, "grade_id": "gpt_sizes-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 4. Parameter counts
#
# **Why.** A paper says "117M". If you can derive the number, you see what it depends on, and where a paper or a library counts differently.
#
# **Difficulty** 2 of 5 · **Time** 12 minutes · **Points** 4 · **Paper** Radford et al. (2019), table 2; Brown et al. (2020), table 2.1
#
# How many parameters has the model of exercise 3? Write `gpt_sizes(vocab_size, positions, hidden, num_layers, num_heads, norm_first)`. It returns a dictionary of three ints:
#
# - `"embeddings"`: tokens and positions together;
# - `"block"`: **one** block, with its matrices, biases and two norms;
# - `"total"`: the whole model.
#
# **By hand.** $V = 10$, $P = 6$, $C = 4$, $L = 2$, `norm_first` True. Embeddings: 16 · 4 = **64**. A block: matrices 12 · 16, biases 9 · 4, norms 4 · 4: 192 + 52 = **244**. Total: 64 + 2 · 244 + 8 for the final norm = **560**. With `norm_first` False there is no final norm: 552.
#
# **Rules**
# 1. A parameter that is used twice counts once.
# 2. Counts reach $10^{17}$, where a float is off by several: use ints.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Which of the five ints does not matter?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Go down the table of exercise 3, row by row. A matrix with $n$ outputs has $n$ biases.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# A perceptron of `layers` equal layers of size `width`, and one that says yes or no:
#
# ```python
# def perceptron_size(width, layers):
#     return layers * (width * width + width) + width + 1
# ```
#
# `perceptron_size(3, 2)` is 28.
#
# </details>
# <details><summary>Fine print</summary>
#
# The five ints are from 1 to a million, `num_heads` divides `hidden`, and the total is below $10^{18}$.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "gpt_sizes", "locked": false, "schema_version": 3, "solution": true, "task": false}
def gpt_sizes(vocab_size: int, positions: int, hidden: int, num_layers: int, num_heads: int, norm_first: bool) -> dict[str, int]:
    """The parameters of a GPT: its embeddings, one block, and the whole model."""
    ### BEGIN SOLUTION
    embeddings = (vocab_size + positions) * hidden
    block = 12 * hidden * hidden + 13 * hidden
    total = embeddings + num_layers * block + (2 * hidden if norm_first else 0)
    return {"embeddings": embeddings, "block": block, "total": total}
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "gpt_sizes-check", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(gpt_sizes)

# %% [markdown] nbgrader={"grade": false, "grade_id": "gpt_sizes-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The published configurations. GPT-2's paper prints 117M, 345M, 762M and 1542M for its four: compare. (The first is GPT-1's number.)

# %% nbgrader={"grade": false, "grade_id": "look-gpt_sizes", "locked": true, "schema_version": 3, "solution": false, "task": false}
shapes = {"GPT-1": (40_478, 512, 768, 12, 12, False), "GPT-2 small": (50_257, 1024, 768, 12, 12, True), "GPT-2 medium": (50_257, 1024, 1024, 24, 16, True),
          "GPT-2 large": (50_257, 1024, 1280, 36, 20, True), "GPT-2 XL": (50_257, 1024, 1600, 48, 25, True), "GPT-3": (50_257, 2048, 12_288, 96, 96, True)}
for name, shape in shapes.items():
    found = attempt(gpt_sizes, *shape)
    if found is not None:
        print(f"{name:<12} {found['total']:>15,}   embeddings {found['embeddings'] / found['total']:.0%}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-training", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 3. Data and training

# %% [markdown] nbgrader={"grade": false, "grade_id": "minhash-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 5. MinHash
#
# **Why.** Web text is full of near duplicates. Comparing all pairs of a billion documents is impossible; comparing only those whose signatures collide is what every data pipeline does.
#
# **Difficulty** 3 of 5 · **Time** 16 minutes · **Points** 4 · **Paper** Broder (1997); Lee et al. (2022), section 4.2
#
# A document is a set of **shingles**, given as integers. Hash function $k$ is $h_k(x) = (a_k x + b_k) \bmod p$, and the document's **signature** holds the smallest value of each over its shingles:
#
# $$m_k = \min_{x} h_k(x), \qquad k = 0, \dots, K - 1 .$$
#
# Two documents agree on $m_k$ with a probability equal to their Jaccard similarity. The signature is cut into `bands` **bands** of $r = K / \text{bands}$ consecutive entries. Two documents are a candidate pair if they agree on **all entries of at least one band**. The fraction of all $K$ entries on which they agree estimates their similarity.
#
# Write `minhash(documents, a, b, p, bands)`. `documents` is a list of $N$ lists of shingles; `a` and `b` are int64 `(K)`. Return three things: the signatures, int64 `(N, K)`; the candidate pairs, a list of tuples `(i, j)` with `i < j`, in ascending order; and the estimate of each pair, a list of floats.
#
# **By hand.** Documents {1, 2, 4} and {2, 4, 7}, `a` = (3, 5), `b` = (1, 2), $p = 11$. $h_0$ gives 4, 7, 2 and 7, 2, 0; $h_1$ gives 7, 1, 0 and 1, 0, 4. The signatures are **(2, 0)** and **(0, 0)**. With two bands of one entry, the second band agrees: the pair **(0, 1)**, with the estimate **0.5**. With one band of two entries, there is no pair.
#
# **Rules**
# 1. Products can reach $2^{62}$, which int64 holds and floats round.
# 2. Pairs come from the bands alone, however similar two documents are.
#
# <details><summary>Hint 1: a nudge</summary>
#
# How many numbers are there for one document before you take the minimum, and along which axis do you take it?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# For one document: `(a[:, None] * torch.tensor(document) + b[:, None]) % p` is $(K, n)$; the minimum over the last axis is its signature. `signatures.unflatten(1, (bands, -1))` is $(N, \text{bands}, r)$. For two documents: equal, then `.all(1)` over a band, then `.any()`.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# Which pairs of people have all answers in common on at least one page of a questionnaire?
#
# ```python
# def alike(answers, pages):                                    # a list of lists
#     size, found = len(answers[0]) // pages, []
#     for i in range(len(answers)):
#         for j in range(i + 1, len(answers)):
#             cuts = range(0, pages * size, size)
#             if any(answers[i][c:c + size] == answers[j][c:c + size] for c in cuts):
#                 found.append((i, j))
#     return found
# ```
#
# `alike([[1, 2, 3, 4], [1, 2, 0, 0], [1, 0, 3, 0]], 2)` is [(0, 1)].
#
# </details>
# <details><summary>Fine print</summary>
#
# A document has 1 to 300 different shingles, from 0 to $p - 1$, in any order. $N$ and $K$ are from 1 to 300, and `bands` divides $K$. $p$ is a prime up to $2^{31} - 1$, `a` is from 1 and `b` from 0 to $p - 1$. Where there is no pair, both lists are empty.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "minhash", "locked": false, "schema_version": 3, "solution": true, "task": false}
def minhash(
    documents: list[list[int]], a: Int[Tensor, "K"], b: Int[Tensor, "K"], p: int, bands: int
) -> tuple[Int[Tensor, "N K"], list[tuple[int, int]], list[float]]:
    """Signatures, the pairs that agree on a whole band, and the estimated similarity of each."""
    ### BEGIN SOLUTION
    hashed = [(a[:, None] * torch.tensor(one) + b[:, None]) % p for one in documents]  # (K, n) each
    signatures = torch.stack([one.amin(1) for one in hashed])
    same = signatures[:, None] == signatures  # (N, N, K)
    match = same.unflatten(2, (bands, -1)).all(3).any(2).triu(1)
    pairs = [(i, j) for i, j in match.nonzero().tolist()]
    return signatures, pairs, [float(same[i, j].double().mean()) for i, j in pairs]
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "minhash-check", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(minhash)

# %% [markdown] nbgrader={"grade": false, "grade_id": "minhash-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Four lines of scripture as sets of 3-word shingles, with 60 hash functions in 20 bands of 3. Which pairs are found, and how good are the estimates?

# %% nbgrader={"grade": false, "grade_id": "look-minhash", "locked": true, "schema_version": 3, "solution": false, "task": false}
LINES = [
    "And David took the shields of gold that were on the servants of Hadadezer",
    "And David took the shields of gold that were on the servants of Hadarezer",
    "And David took the city and dwelt in it",
    "We sat on the bank of the river",
]


def shingled(text: str) -> list[int]:
    """Numbers for all runs of three words."""
    words = text.lower().split()
    return sorted({zlib.crc32(" ".join(words[i:i + 3]).encode()) % 1_000_003 for i in range(len(words) - 2)})


generator, sets = torch.Generator().manual_seed(8), [shingled(line) for line in LINES]
a, b = (torch.randint(1, 1_000_003, (60,), generator=generator) for _ in range(2))
found = attempt(minhash, sets, a, b, 1_000_003, 20)
if found is not None:
    for (i, j), similarity in zip(found[1], found[2]):
        both, either = set(sets[i]) & set(sets[j]), set(sets[i]) | set(sets[j])
        print(f"lines {i} and {j}: estimated {similarity:.2f}, exact {len(both) / len(either):.2f}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "adamw_step-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 6. AdamW
#
# **Why.** Nearly every language model of this course was trained by these lines. The W is the part that is easy to get wrong, and no loss curve shows it at once.
#
# **Difficulty** 3 of 5 · **Time** 14 minutes · **Points** 5 · **Paper** Kingma and Ba (2015), algorithm 1; Loshchilov and Hutter (2019), algorithm 2, in the form of torch's `AdamW`
#
# A parameter $p$ has a gradient $g$, a running mean $m$ of the gradient and a running mean $v$ of its square. Step $t$ is 1 at first, with both means 0 before it. Elementwise:
#
# $$m \leftarrow \beta_1 m + (1 - \beta_1)\, g \qquad v \leftarrow \beta_2 v + (1 - \beta_2)\, g^2$$
#
# $$\hat m = \frac{m}{1 - \beta_1^{\,t}} \qquad \hat v = \frac{v}{1 - \beta_2^{\,t}} \qquad p \leftarrow p - \eta \left( \frac{\hat m}{\sqrt{\hat v} + \varepsilon} + \lambda\, p \right)$$
#
# The $p$ on the right is the **old** one. Write `adamw_step(p, g, m, v, t, rate, betas, eps, decay)`, where `rate` is the learning rate $\eta$ and `decay` the weight decay $\lambda$. The four tensors are float32 of one shape. Return the new `p`, `m` and `v`, the means without bias correction.
#
# **By hand.** First step: $p = 1$, $g = 2$, $m = v = 0$, `rate` 0.1, `betas` (0.9, 0.99), `eps` negligible, `decay` 0.5. Then $m =$ **0.2** and $v =$ **0.04**. Corrected they are 2 and 4, so the quotient is 1, whatever the size of $g$, and $p = 1 - 0.1 \cdot (1 + 0.5) =$ **0.85**.
#
# **Rules**
# 1. The decay has no part in $g$, $m$ and $v$. (With Adam's decay in the gradient, it would be divided by $\sqrt{\hat v}$, too.)
# 2. Nothing is kept between calls, and arguments stay unchanged.
# 3. Where the gradient has always been 0, the quotient is 0.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Write the formulas in their order. Which quantities does the caller want back: with bias correction, or without?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# New names on the left, no `mul_` and no `+=` on arguments. `1 - beta ** t` is a Python number. $\varepsilon$ is added to the root, not inside it.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# The running mean of a shop's sales, corrected for having started at 0:
#
# ```python
# def smoothed(mean, sold, day):                                # day 1 is the first
#     mean = 0.9 * mean + 0.1 * sold
#     return mean, mean / (1 - 0.9 ** day)
# ```
#
# `smoothed(0.0, 50, 1)` is 5 and 50.
#
# </details>
# <details><summary>Fine print</summary>
#
# Tensors have one to three axes; `v` is at least 0, and 0 only where `m` is. `t` is an int from 1 to a million, `rate` and `decay` are from 0 to 1, `betas` from 0 to 0.999, `eps` from $10^{-8}$ to 1. Return a tuple of three. `v` is compared to four digits also where it is small.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "adamw_step", "locked": false, "schema_version": 3, "solution": true, "task": false}
def adamw_step(p: Float[Tensor, "*S"], g: Float[Tensor, "*S"], m: Float[Tensor, "*S"], v: Float[Tensor, "*S"], t: int, rate: float,
               betas: tuple[float, float], eps: float, decay: float) -> tuple[Float[Tensor, "*S"], Float[Tensor, "*S"], Float[Tensor, "*S"]]:
    """A parameter and its two running means after step number t of AdamW."""
    ### BEGIN SOLUTION
    m = betas[0] * m + (1 - betas[0]) * g
    v = betas[1] * v + (1 - betas[1]) * g ** 2
    step = m / (1 - betas[0] ** t) / ((v / (1 - betas[1] ** t)).sqrt() + eps)
    return p - rate * (step + decay * p), m, v
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "adamw_step-check", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check(adamw_step)

# %% [markdown] nbgrader={"grade": false, "grade_id": "adamw_step-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# A valley that is a hundred times as steep in one direction as in the other. Plain gradient descent has one step size for both; your AdamW has not.

# %% nbgrader={"grade": false, "grade_id": "look-adamw_step", "locked": true, "schema_version": 3, "solution": false, "task": false}
steep = torch.tensor([100.0, 1.0])
plain, p, m, v = torch.ones(2), torch.ones(2), torch.zeros(2), torch.zeros(2)
for t in range(1, 41):
    plain = plain - 0.019 * steep * plain
    stepped = attempt(adamw_step, p, steep * p, m, v, t, 0.05, (0.9, 0.99), 1e-8, 0.0)
    if stepped is None:
        break
    p, m, v = stepped
    if t in (1, 10, 40):
        print(f"step {t:>2}: plain {plain[0]:+.3f} {plain[1]:+.3f}   AdamW {p[0]:+.3f} {p[1]:+.3f}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "combine-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 7. Gradient accumulation and clipping
#
# **Why.** A batch that does not fit into memory is read in micro-batches. Widely used libraries averaged them incorrectly for years: a short one weighed as much as a long one.
#
# **Difficulty** 3 of 5 · **Time** 14 minutes · **Points** 5 · **Paper** Pascanu et al. (2013), algorithm 1, for the clipping
#
# `parts[m]` maps each parameter's name to a gradient $G_m$: that of the **sum** of the losses of all $n_m$ targets in micro-batch $m$. `counts` holds the $n_m$. The gradient of the mean loss of the whole batch, and the clipped gradient, are
#
# $$g = \frac{\sum_m G_m}{\sum_m n_m}, \qquad g' = g \cdot \min\!\left(1, \frac{c}{\lVert g \rVert}\right),$$
#
# where $\lVert g \rVert$ is the norm over **all** parameters together and $c$ is `max_norm`. Write `combine(parts, counts, max_norm)`. Return the dictionary of $g'$ and, as a float, the norm **before** clipping.
#
# **By hand.** Two micro-batches with one target and with three, and one parameter of one number. The gradients are 4 and 3. The mean is (4 + 3) / 4 = **1.75**, not (4 / 1 + 3 / 3) / 2 = 2.5. Clipping: two parameters with gradients 3 and 4 have together the norm **5**; with `max_norm` 1 they become **0.6** and **0.8**.
#
# **Rules**
# 1. Divide first, then measure the norm.
# 2. A gradient with a norm of at most `max_norm`, or of 0, stays as it is.
# 3. All micro-batches have the same names, perhaps in another order.
#
# <details><summary>Hint 1: a nudge</summary>
#
# In which order: adding, dividing, measuring, clipping? Each other order gives another result.
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# `{name: sum(part[name] for part in parts) / sum(counts) for name in parts[0]}`. The squared norm is a sum over names of `.square().sum()`. The factor is `min(1.0, max_norm / norm)`; mind a norm of 0.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# A class's mean mark from the sums of several exams, capped at `most`:
#
# ```python
# def mean_mark(sums, pupils, most):
#     mean = sum(sums) / sum(pupils)
#     return min(mean, most), mean
# ```
#
# `mean_mark([9, 10], [1, 4], 3.5)` is 3.5 and 3.8, where the mean of the exams' means is 5.75.
#
# </details>
# <details><summary>Fine print</summary>
#
# There are 1 to 300 micro-batches and 1 to 300 names; tensors are float32 with one or two axes, and a name has the same shape in each. A count may be 0 where all was padding; its gradients are then 0, and at least one count is not. `max_norm` is at least 0.01. The norm is 0 or at least 0.1.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "combine", "locked": false, "schema_version": 3, "solution": true, "task": false}
def combine(parts: list[dict[str, Tensor]], counts: list[int], max_norm: float) -> tuple[dict[str, Tensor], float]:
    """The gradient of the mean over all targets, clipped to max_norm, and its norm before that."""
    ### BEGIN SOLUTION
    mean = {name: torch.stack([part[name] for part in parts]).sum(0) / sum(counts) for name in parts[0]}
    length = sum(float(one.square().sum()) for one in mean.values()) ** 0.5
    factor = max_norm / length if length > max_norm else 1.0
    return {name: factor * one for name, one in mean.items()}, length
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "combine-check", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check(combine)

# %% [markdown] nbgrader={"grade": false, "grade_id": "combine-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# A batch of twelve targets, cut in three ways. The mean over all targets does not depend on the cut; the mean of the parts' means does.

# %% nbgrader={"grade": false, "grade_id": "look-combine", "locked": true, "schema_version": 3, "solution": false, "task": false}
generator = torch.Generator().manual_seed(8)
gradients = torch.randn(12, 3, generator=generator)                   # of each target's loss
for cut in ([12], [6, 6], [1, 11]):
    parts = [{"w": part.sum(0)} for part in gradients.split(cut)]
    found = attempt(combine, parts, cut, 100.0)
    if found is not None:
        means = torch.stack([part["w"] / count for part, count in zip(parts, cut)]).mean(0)
        print(f"cut {str(cut):<8} yours {' '.join(f'{one:+.3f}' for one in found[0]['w'].tolist())}   mean of means {' '.join(f'{one:+.3f}' for one in means.tolist())}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-tasks", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 4. Fine-tuning and zero-shot transfer

# %% [markdown] nbgrader={"grade": false, "grade_id": "task_rows-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 8. Tasks as token sequences
#
# **Why.** GPT-1's own invention: one model learns to classify, compare and choose, because each task is written as a text. It needs no new model per task, only three new tokens.
#
# **Difficulty** 2 of 5 · **Time** 14 minutes · **Points** 5 · **Paper** Radford et al. (2018), section 3.3 and figure 1
#
# `texts` are lists of ids. `markers` are three ids: `start`, `between` and `end`. The sequences depend on the task:
#
# | `task` | `texts` | sequences |
# | --- | --- | --- |
# | `"classification"` | one text | start, text, end |
# | `"entailment"` | premise, hypothesis | start, premise, between, hypothesis, end |
# | `"similarity"` | one, other | two: start, one, between, other, end; and start, other, between, one, end |
# | `"choice"` | context, answer, answer, … | one per answer, in order: start, context, between, answer, end |
#
# Write `task_rows(task, texts, markers, pad)`. Return `ids`, int64 `(N, T)`, where $T$ is the length of the longest sequence and shorter ones are padded with `pad` on the right, and `last`, int64 `(N)`: the position of each sequence's `end`. The task's head reads the hidden state at `last`, because it has seen the whole text.
#
# **By hand.** `markers` = (90, 91, 92), `pad` = 0. The context 5 6 and the answers 7 and 8 9:
#
# | | 0 | 1 | 2 | 3 | 4 | 5 | 6 | `last` |
# | --- | --- | --- | --- | --- | --- | --- | --- | --- |
# | answer 7 | 90 | 5 | 6 | 91 | 7 | 92 | 0 | **5** |
# | answer 8 9 | 90 | 5 | 6 | 91 | 8 | 9 | 92 | **6** |
#
# **Rules**
# 1. A text may be empty. Its sequence still has all markers.
# 2. `pad` may be any id, even one that occurs in a text or is a marker: padding is known by its position alone.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Three of the four tasks need the same form of sequence. Write it once.
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# First a list of pairs: premise and hypothesis; one and other, then other and one; the context with each answer. Then a sequence for each. Then the longest, and `row + [pad] * (longest - len(row))`. `last` is the length minus one, before padding.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# Postcards of one size: each has a salutation, a text and a signature; short ones are filled with dots.
#
# ```python
# def postcards(name, texts):
#     cards = [["Hello", name, *text.split(), "Yours"] for text in texts]
#     size = max(map(len, cards))
#     return [card + ["."] * (size - len(card)) for card in cards]
# ```
#
# `postcards("Ann", ["come home", ""])[1]` is Hello Ann Yours and two dots.
#
# </details>
# <details><summary>Fine print</summary>
#
# A text has at most 300 ids, so a sequence may have 603. Markers may occur in a text, or be equal. `"choice"` has at least one answer; equal answers stay. Return a tuple of two tensors.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "task_rows", "locked": false, "schema_version": 3, "solution": true, "task": false}
def task_rows(task: str, texts: list[list[int]], markers: tuple[int, int, int], pad: int) -> tuple[Int[Tensor, "N T"], Int[Tensor, "N"]]:
    """A task as padded sequences of ids, and the position of each one's end marker."""
    ### BEGIN SOLUTION
    start, between, end = markers
    if task == "classification":
        rows = [[start, *texts[0], end]]
    else:
        pairs = [(texts[0], other) for other in texts[1:]]
        if task == "similarity":
            pairs.append((texts[1], texts[0]))
        rows = [[start, *first, between, *second, end] for first, second in pairs]
    longest = max(map(len, rows))
    return torch.tensor([row + [pad] * (longest - len(row)) for row in rows]), torch.tensor([len(row) - 1 for row in rows])
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "task_rows-check", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check(task_rows)

# %% [markdown] nbgrader={"grade": false, "grade_id": "task_rows-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The two *banks* as a task of each kind, in words.

# %% nbgrader={"grade": false, "grade_id": "look-task_rows", "locked": true, "schema_version": 3, "solution": false, "task": false}
words = "- the bank lends money we sat on of river <s> $ <e>".split()
lends, river = [[words.index(word) for word in text.split()] for text in ("the bank lends money", "we sat on the bank of the river")]
for task, texts in {"classification": [lends], "entailment": [lends, river], "similarity": [lends, river], "choice": [lends[:2], lends[2:], river[-3:]]}.items():
    found = attempt(task_rows, task, texts, (10, 11, 12), 0)
    if found is not None:
        for row, place in zip(found[0].tolist(), found[1].tolist()):
            print(f"{task:<15} {' '.join(words[id] for id in row):<60} read at {place}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "joint_loss-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 9. Joint fine-tuning loss
#
# **Why.** This is how GPT-1 was fine-tuned. One layer is new; everything else keeps learning to predict the next token, so that a few hundred labels do not overwrite what it knows.
#
# **Difficulty** 3 of 5 · **Time** 16 minutes · **Points** 6 · **Paper** Radford et al. (2018), section 3.2, equations 3 to 5
#
# A GPT has read $B$ sequences, and `x` are the hidden states after its final norm. The loss has two parts:
#
# $$\mathcal{L} = \frac1B \sum_{b} \mathrm{CE}\big(x_{b,\,\text{last}_b} W^\top,\; y_b\big) \;+\; \lambda\, \mathcal{L}_\text{next token}\big(x E^\top\big) .$$
#
# $W$ is `head` `(K, C)`, $E$ is `table` `(V, C)`, the embedding matrix, $y$ are `labels` `(B)`, and $\lambda$ is `weight`, ½ in the paper. $\mathcal{L}_\text{next token}$ is the loss of exercise 1, which you may call. `last` `(B)` is the position of each sequence's last token; padding follows it.
#
# Write `joint_loss(x, table, head, ids, last, labels, weight)`; `x` is `(B, T, C)` and `ids` is `(B, T)`. The result is a float32 tensor without axes.
#
# **By hand.** Label loss 0.4, next-token loss 2, weight ½: 0.4 + ½ · 2 = **1.4**. The states: one sequence of three positions with (1, 0), (0, 3) and (9, 9), and `last` is 1. With `head` the rows (1, 0) and (0, 1), the label's logits are **(0, 3)**; those of (9, 9), which is padding, would be equal.
#
# **Rules**
# 1. Nothing depends on padding.
# 2. All sequences have the same weight in the label loss, and all targets in the next-token loss.
# 3. If no sequence has a target, the loss is the label loss.
# 4. The loss is differentiable with respect to `x`, `table` and `head`.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Whose state is `x[:, -1]`?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# `x[torch.arange(B), last]` has one state for each sequence. A mask of tokens is `torch.arange(T) <= last[:, None]`. With it, and with `x @ table.T`, exercise 1 does the rest.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# The last temperature that each station measured; `count` says how many it has.
#
# ```python
# def latest(degrees, count):                                   # (stations, days), (stations,)
#     return degrees[torch.arange(len(degrees)), count - 1]
# ```
#
# `latest(torch.tensor([[3.0, 4.0, 0.0], [7.0, 0.0, 0.0]]), torch.tensor([2, 1]))` is 4 and 7.
#
# </details>
# <details><summary>Fine print</summary>
#
# `last` is from 0 to $T - 1$. $K$ and $V$ may be 1, and `weight` is from 0 to 10. Logits may be anything from -10,000 to 10,000. Ids are from 0 to $V - 1$, at padding too. The loss is compared to four digits, and to 0.0001 near 0.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "joint_loss", "locked": false, "schema_version": 3, "solution": true, "task": false}
def joint_loss(x: Float[Tensor, "B T C"], table: Float[Tensor, "V C"], head: Float[Tensor, "K C"], ids: Int[Tensor, "B T"],
               last: Int[Tensor, "B"], labels: Int[Tensor, "B"], weight: float) -> Float[Tensor, ""]:
    """GPT-1's loss: the label from each sequence's last token, plus weight times the next-token loss."""
    ### BEGIN SOLUTION
    label = torch.nn.functional.cross_entropy(x[torch.arange(len(x)), last] @ head.T, labels)
    mask = torch.arange(x.shape[1]) <= last[:, None]
    return label + weight * next_token_loss(x @ table.T, ids, mask)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "joint_loss-check", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
check(joint_loss)

# %% [markdown] nbgrader={"grade": false, "grade_id": "joint_loss-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Eight sequences with labels, hidden states that may move freely, and some steps down this loss: with weight 0 the next-token loss is ignored while the labels are learned, with ½ both are learned.

# %% nbgrader={"grade": false, "grade_id": "look-joint_loss", "locked": true, "schema_version": 3, "solution": false, "task": false}
generator = torch.Generator().manual_seed(8)
ids, last = torch.randint(6, (8, 5), generator=generator), torch.randint(1, 5, (8,), generator=generator)
table, head, start = (torch.randn(size, 8, generator=generator) for size in (6, 2, 40))
for weight in (0.0, 0.5):
    x = start.reshape(8, 5, 8).clone().requires_grad_()
    for _ in range(60):
        loss = attempt(joint_loss, x, table, head, ids, last, ids[:, 0] % 2, weight)
        if loss is None:
            break
        x = (x - torch.autograd.grad(loss, x)[0]).detach().requires_grad_()
    else:
        bets = joint_loss(x, table, head[:1], ids, last, torch.zeros(8, dtype=torch.int64), 1.0)
        print(f"weight {weight}: label loss {joint_loss(x, table, head, ids, last, ids[:, 0] % 2, 0.0).item():.3f}, next-token loss {bets.item():.3f}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "best_answer-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 10. Zero-shot scoring
#
# **Why.** GPT-2's and GPT-3's way to a task, and that of most evaluation harnesses: nothing is trained, each answer is appended to the prompt, and the model's likelihood decides.
#
# **Difficulty** 3 of 5 · **Time** 12 minutes · **Points** 4 · **Paper** Brown et al. (2020), section 2.4
#
# `logits_of(ids)` takes one text, int64 `(1, T)`, and returns float32 logits `(1, T, V)`; those at position $t$ are for the token at $t + 1$. The score of an answer $a$ after the prompt $x$ is
#
# $$s(a) = \frac{1}{\text{bytes}(a)} \sum_{i} \log P(a_i \mid x, a_{<i}) .$$
#
# Only the **answer's** tokens count, the first one given the whole prompt. A sum would favour short answers; bytes, unlike tokens, do not depend on the tokenizer.
#
# Write `best_answer(logits_of, prompt, answers, num_bytes)`; `prompt` is a list of ids, `answers` a list of such lists, `num_bytes` their sizes. Return the index of the answer with the highest score, as an int.
#
# **By hand.** Two answers: the first has -4 nats in 2 bytes, the second -6 nats in 6 bytes. The sum prefers the first. Per byte they have -2 and -1: the answer is **1**.
#
# **Rules**
# 1. Of equal scores, the first counts.
# 2. Call `logits_of` with one text at a time, without padding: the prompt followed by an answer, or a prefix of that.
#
# <details><summary>Hint 1: a nudge</summary>
#
# The prompt has $n$ tokens. At which position are the logits for the answer's first token?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# For one answer: `log_p = logits_of(torch.tensor([prompt + answer]))[0].log_softmax(1)`. The answer's tokens start at position `len(prompt)`, their logits one position earlier, and the last row of `log_p` is not used.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# Which of several hikes climbs most for each hour, the first of equal ones:
#
# ```python
# def steepest(heights, hours):                                 # a list of lists, and a list
#     climbed = [sum(b - a for a, b in zip(one, one[1:])) / time for one, time in zip(heights, hours)]
#     return max(range(len(climbed)), key=climbed.__getitem__)
# ```
#
# `steepest([[0, 100, 200], [0, 150]], [4, 1])` is 1.
#
# </details>
# <details><summary>Fine print</summary>
#
# There are 1 to 50 answers. The prompt and each answer have at least one id; answers may have different lengths, begin alike, or occur twice, with the same number of bytes or another. Scores that are not meant to be equal differ by more than 0.001. Logits may be anything from -10,000 to 10,000. At most two hundred calls of `logits_of` per call of yours.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "best_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def best_answer(logits_of: Callable[[Int[Tensor, "1 T"]], Float[Tensor, "1 T V"]], prompt: list[int], answers: list[list[int]],
                num_bytes: list[int]) -> int:
    """The index of the answer with the highest log-probability per byte after the prompt."""
    ### BEGIN SOLUTION
    quotients = []
    for answer, size in zip(answers, num_bytes):
        log_p = logits_of(torch.tensor([prompt + answer]))[0, len(prompt) - 1:-1].log_softmax(1)
        quotients.append(float(log_p[torch.arange(len(answer)), answer].sum()) / size)
    return quotients.index(max(quotients))
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "best_answer-check", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(best_answer)

# %% [markdown] nbgrader={"grade": false, "grade_id": "best_answer-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# A table as a model, and one prompt with two answers of different lengths. In the last part of the notebook the model is a real one.

# %% nbgrader={"grade": false, "grade_id": "look-best_answer", "locked": true, "schema_version": 3, "solution": false, "task": false}
words = "the bank lends money has water at its side".split()
follows = {("bank", "lends"): 3.0, ("lends", "money"): 3.0, ("bank", "has"): 3.5, ("has", "water"): 3.0, ("water", "at"): 4.0, ("at", "its"): 4.0, ("its", "side"): 4.0}
table = torch.zeros(len(words), len(words))
for (one, other), logit in follows.items():
    table[words.index(one), words.index(other)] = logit
texts = ["lends money", "has water at its side"]
answers = [[words.index(word) for word in text.split()] for text in texts]
for name, sizes in {"by the sum": [1, 1], "per byte": [len(text.encode()) for text in texts]}.items():
    found = attempt(best_answer, lambda ids: table[ids], [0, 1], answers, sizes)
    if found is not None:
        print(f"{name}: the bank {texts[found]}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-own-words", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 5. In your own words

# %% [markdown] nbgrader={"grade": false, "grade_id": "becomes_money-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 11. Where does the bank become money?
#
# **Why.** The running question of this book, asked of a left-to-right model. The answer tells you what GPT gave up, what it gained, and from which position to take a vector.
#
# **Difficulty** 3 of 5 · **Time** 13 minutes · **Points** 4, graded manually · **Paper** Radford et al. (2018), section 3.1; Devlin et al. (2019), section 1
#
# A GPT reads *the bank lends money*, and BERT reads the same. In about 150 words: at which token can a hidden state of the GPT first know that the bank is one that lends, and what does the state of *bank* know, in its last layer? What is different in BERT? What does GPT gain for that price, in training and afterwards? And somebody wants one vector for the meaning of *bank* in this sentence, from a GPT: what do you advise?
#
# {{rubric}}
#
# Short is fine. Correct and concrete beats long.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Write "the bank of the river" below it. Up to which token are all hidden states of both identical, to the last bit?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# More layers do not help: what does the mask of the last layer let *bank* attend to? Then exercise 1: how many targets does a text of $T$ tokens give, and how many masked tokens has BERT? And which model can continue a text?
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# *A guard notes each visitor on arrival. In which line does it say that the third one was a thief?* Not in the third: when it was written, nothing was missing yet. In the line where the loss was noticed, or later. To know about the third visitor, read the end of the book, or let the guard read it all and write a second one.
#
# </details>

# %% [markdown] nbgrader={"grade": true, "grade_id": "becomes_money", "locked": false, "points": 4, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# {{samples}}
# ### END SOLUTION

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-real", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Your code runs the real thing
#
# Nothing to write here. Run the cells and watch; they take a quarter of a minute on a quiet machine.
#
# First your class loads the weights of the course's small GPT, is evaluated on held-out text, and continues your prompt.
# Then your loss, your `combine` and your `adamw_step` train it from scratch, next to the losses of the course's own training.
# Last, your `best_answer` asks SmolLM2, which has 135 million parameters, what a bank is.

# %% nbgrader={"grade": false, "grade_id": "real-model", "locked": true, "schema_version": 3, "solution": false, "task": false}
import time

from course.demo import ready
from reference_impl.corpora import load, path
from reference_impl.corpora.small_models import small_model
from reference_impl.models import gpt as course_gpt

RENAMED = {"embedding.": "tokens.", "position.": "places.", "attention_norm": "norm_1", "attention.qkv": "qkv", "attention.output": "out",
           "feed_forward_norm": "norm_2", "feed_forward.up": "up", "feed_forward.down": "down"}


def as_yours(theirs) -> torch.nn.Module:
    """Your class with the weights of the course's model."""
    c = theirs.config
    model = GPT(c.vocab_size, c.max_position_embeddings, c.hidden_size, c.num_layers, c.num_heads, c.norm_first)
    weights = {name: tensor.clone() for name, tensor in theirs.state_dict().items() if name != "output.weight"}
    for old, new in RENAMED.items():
        weights = {name.replace(old, new): tensor for name, tensor in weights.items()}
    model.load_state_dict(weights)
    return model


def in_two(text: str) -> tuple[str, str]:
    """What is trained on, and what is held out: of a hundred equal pieces, cut at lines, every twentieth."""
    size = -(-len(text) // 100)
    places = [0, *(text.find("\n", place) + 1 or len(text) for place in range(size, len(text), size)), len(text)]
    pieces = [text[start:end] for start, end in zip(places, places[1:])]
    return "".join(piece for i, piece in enumerate(pieces) if i % 20 != 10), "".join(piece for i, piece in enumerate(pieces) if i % 20 == 10)


@torch.no_grad()
def nats_of(model, tokens: Int[Tensor, "N"], every: int) -> float:
    """The mean loss of a target, over every such chunk of 129 tokens."""
    rows = tokens.unfold(0, 129, 128)[::every]
    return next_token_loss(torch.cat((model(rows[:, :-1]), torch.zeros(len(rows), 1, 1024)), 1), rows, torch.ones(rows.shape, dtype=torch.bool)).item()


@torch.no_grad()
def goes_on(model, ids: list[int], count: int, seed: int) -> list[int]:
    """So many more tokens, sampled from the model; chapter 9 is about doing it better."""
    generator, new = torch.Generator().manual_seed(seed), []
    for _ in range(count):
        logits = model(torch.tensor([(ids + new)[-128:]]))[0, -1] / 0.8
        new.append(int(logits.softmax(0).multinomial(1, generator=generator)))
    return new

# %% nbgrader={"grade": false, "grade_id": "real-model-run", "locked": true, "schema_version": 3, "solution": false, "task": false}
if ready(GPT, next_token_loss, needs=["kjv"]):
    kept = small_model("gpt_kjv")
    yours = as_yours(kept.model)
    held = torch.tensor(kept.tokenizer.encode(in_two(load("kjv"))[1]))
    print(f"your class with trained weights: {nats_of(yours, held, 8):.4f} nats per token on held-out text; the card of the course's model says {kept.card['figures_of_slice']['nats_per_token']}")
    prompt = "And the king said unto the bank"                    # put your own words here
    print(prompt + kept.tokenizer.decode(goes_on(yours, kept.tokenizer.encode(prompt), 60, 8)))

# %% nbgrader={"grade": false, "grade_id": "real-training", "locked": true, "schema_version": 3, "solution": false, "task": false}
def trained(tokens: Int[Tensor, "N"], steps: int) -> list[float]:
    """The course's own training of 1,200 steps, from its first step on, by your code: the loss of each step.

    A step reads two micro-batches of eight sequences; the learning rate warms up to 0.004 over fifty steps.
    """
    config = small_model("gpt_kjv").model.config
    torch.manual_seed(0)
    model = as_yours(course_gpt.GPT(config))
    state = {name: (torch.zeros_like(one), torch.zeros_like(one)) for name, one in model.named_parameters()}
    losses = []
    for step in range(steps):
        generator = torch.Generator().manual_seed(step)
        starts = torch.randint(len(tokens) - 128, (16,), generator=generator)
        rows = tokens[starts[:, None] + torch.arange(129)]
        parts, prices = [], []
        for part in rows.split(8):
            model.zero_grad()
            padded = torch.cat((model(part[:, :-1]), torch.zeros(8, 1, 1024)), 1)
            price = next_token_loss(padded, part, torch.ones(part.shape, dtype=torch.bool)) * (8 * 128)        # of all targets of this part
            price.backward()
            parts.append({name: one.grad.clone() for name, one in model.named_parameters()})
            prices.append(price.item())
        losses.append(sum(prices) / (16 * 128))
        gradients, _ = combine(parts, [8 * 128, 8 * 128], 1.0)
        with torch.no_grad():
            for name, one in model.named_parameters():
                decay = 0.1 if one.ndim > 1 else 0.0                                                       # no decay for a bias or a norm
                new, *state[name] = adamw_step(one.detach(), gradients[name], *state[name], step + 1, 0.004 * min(step, 50) / 50, (0.9, 0.95), 1e-8, decay)
                one.copy_(new)
    return losses

# %% nbgrader={"grade": false, "grade_id": "real-training-run", "locked": true, "schema_version": 3, "solution": false, "task": false}
if ready(GPT, next_token_loss, adamw_step, combine, needs=["kjv"]):
    kept = small_model("gpt_kjv")
    started = time.perf_counter()
    tokens = torch.tensor(kept.tokenizer.encode(in_two(load("kjv"))[0]))
    print(f"{len(tokens):,} tokens, cut in {time.perf_counter() - started:.0f} s")
    started = time.perf_counter()
    losses, theirs = trained(tokens, 40), kept.card["first_losses"]
    print(f"{len(losses)} steps of your training in {time.perf_counter() - started:.0f} s")
    for step in (0, 1, 4, 9, 14, 19, 29, 39):
        print(f"step {step + 1:>2}: yours {losses[step]:.4f}" + (f"   the course's {theirs[step]:.4f}" if step < len(theirs) else ""))

# %% nbgrader={"grade": false, "grade_id": "real-answers", "locked": true, "schema_version": 3, "solution": false, "task": false}
SENTENCES = ["We sat on the bank and watched the boats.", "The bank lends money to small firms.", "Willows grew along the bank.", "The clerk at the bank counted the notes."]
ANSWERS = [" business", " river"]


def by_likelihood(model, encode: Callable[[str], list[int]], sentence: str) -> str:
    """Which answer your `best_answer` chooses after the sentence and four more words."""
    def logits_of(ids: Int[Tensor, "1 T"]) -> Float[Tensor, "1 T V"]:
        with torch.no_grad():
            return model(ids)
    prompt = encode(f"{sentence} In other words, the bank of a")
    return ANSWERS[best_answer(logits_of, prompt, [encode(answer) for answer in ANSWERS], [len(answer.encode()) for answer in ANSWERS])]

# %% nbgrader={"grade": false, "grade_id": "real-answers-run", "locked": true, "schema_version": 3, "solution": false, "task": false}
if ready(best_answer, needs=["smollm2"]):
    from reference_impl.generation.scoring import score_continuations
    from reference_impl.tokenizers.gguf_tokenizer import tokenizer_from_metadata
    from reference_impl.weights.gguf_files import read_gguf

    smollm2 = load("smollm2")
    tokenizer = tokenizer_from_metadata(read_gguf(next(path("smollm2").glob("*.gguf"))).metadata)
    encode = lambda text: tokenizer.encode(text).ids
    for sentence in SENTENCES:                                     # add your own
        scores = score_continuations(smollm2, encode(f"{sentence} In other words, the bank of a"), [encode(answer) for answer in ANSWERS])
        print(f"{sentence:<45} yours{by_likelihood(smollm2, encode, sentence):<10} the course's nats per byte " + ", ".join(
            f"{score.per_byte(answer):.2f} for{answer}" for score, answer in zip(scores, ANSWERS)))

# %% [markdown] nbgrader={"grade": false, "grade_id": "real-end", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The first numbers agree because your class computes what the course's does: 0.94 million parameters, trained for four minutes, that know scripture and nothing else.
# The losses of the twenty recorded steps agree to the four digits shown, although yours reads each batch in two micro-batches and spells out what torch's AdamW does in one fused kernel: the order of additions differs, and so do later digits.
# Chapter 3's trigram model is still better on this text, at 1.425 bits per byte against 1.54; the page on training shows when that changes.
# Zero-shot scoring needed no training at all. It depends on the prompt: change its words, or the answers' lengths, and some of the choices change.

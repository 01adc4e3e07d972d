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
# In this notebook you write a GPT: its loss, a test of its causal mask, the model, AdamW, fine-tuning and zero-shot scoring.
# At the end your GPT loads trained weights and generates, your functions train it from scratch, and SmolLM2 answers by your scores.
#
# There are 10 exercises and 54 points. Plan about 161 minutes, in as many sittings as you like.
#
# | Part | Exercises | Minutes | Points |
# | --- | --- | --- | --- |
# | Next-token prediction | 1 to 2 | 36 | 11 |
# | The model | 3 to 4 | 42 | 14 |
# | Training | 5 to 6 | 28 | 10 |
# | Fine-tuning and zero-shot transfer | 7 to 9 | 42 | 15 |
# | In your own words | 10 | 13 | 4 |
# | Your code runs the real thing | nothing to write | 2 | 0 |
#
# **How it works.**
# 1. Read the statement, write the function in the cell below it, and run the check under that cell as often as you like.
# 2. A check's first line names the likely cause, its second a small input that fails. Stuck? Open the three hints in order; the third solves a similar problem.
# 3. Grading runs the same checks with other sizes and values. The smallest sizes are always among them.
#
# **Symbols.** $B$ sequences, $T$ positions, $V$ vocabulary size, $P$ position embeddings, $C$ hidden size, $L$ blocks, $H$ heads, $D=C/H$ head dimension, $N$ task sequences, $K$ labels.
#
# <details><summary>Fine print</summary>
#
# - *Arguments.* Leave them unchanged, lists and dictionaries included, and return something new: neither an argument or a part of one nor a result of an earlier call. A tensor may be a view of a larger one, such as a transpose; `reshape` works there, `view` may not.
# - *Types.* Return the type, dtype and shape that the statement names; a dictionary has the named keys and no others, in any order. A subclass counts as its type, but a tensor is a plain `torch.Tensor`; an `int` may be given for a `float`, but a bool is no number. Correct values in another type or dtype, or with an axis of length 1 too many or too few, lose a fifth of the exercise's points, once. So does an answer that breaks *Arguments*.
# - *Precision.* Floats are compared to four digits of each value, and to 0.00001 near 0; float32 has seven digits, so the order of your operations does not matter. Half precision, rounding, or a small constant "for safety" is wrong where it shows in these digits, and only there. Integers are compared exactly.
# - *Logarithms* are natural.
# - *Calls.* A result depends only on the arguments (and, for a model, on its weights): not on earlier calls, and not on chance. Calls may come in any order.
# - *Tools.* You may use anything in torch, numpy and the standard library, unless a statement says otherwise. Not allowed are the course's own models, layers, objectives, training and scoring, the library `transformers`, `torch.optim`, and torch's ready-made Transformer layers.
# - *Sizes and time.* Every axis has length 1 to 300, and a list has at most 300 entries, unless a statement says otherwise. Ids are integers of at least 0, and no integer exceeds a billion. The cells that show what a function is for, and the last part, use some longer axes and lists, which the checks do not. A call may take five seconds: plain Python loops are fast enough.
# - *Smallest sizes.* Grading always includes one token, one sequence, and an empty list where a statement allows it.
# - *Arguments are as promised.* Your function need not check what a statement promises after **In**. You may add cells anywhere (helpers, prints, plots), and a function may call one that you wrote before.
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

progress("08")                                 # follows your checks

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-next", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 1. Next-token prediction

# %% [markdown] nbgrader={"grade": false, "grade_id": "next_token_loss-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 1. Every token is a question
#
# - **What it is for**: this one number trains every GPT. It asks a text of $T$ tokens $T - 1$ questions at once, and needs nobody's labels.
# - **Difficulty** 3 of 5 · **Time** 18 minutes · **Points** 6
# - **Needs**: `cross_entropy`, slices, chapter 3's judged bets.
# - **Paper**: Radford et al. (2018), section 3.1, equation 1.
#
# **The idea.** `ids` holds $B$ texts, one a row. A model has read them and gives `logits`: those at place $t$ of a row say what it expects at place $t + 1$ **of the same row**, after having read the tokens up to and including $t$. The price of one bet is
#
# $$-\log \text{softmax}(\text{logits}_t)_{\,\text{ids}_{t+1}}$$
#
# The loss is the mean price over **all bets of the batch together**, each weighing the same. There is a bet on each token of a row but the first, which nothing stands before. After the last token of a row nothing is asked, so the logits there play no part.
#
# Rows have their own lengths. `mask` is True where a token stands and False at padding, which stands behind the tokens. Nobody bets on padding, and what a model says at padding is not looked at.
#
# **By hand.** Two rows, two tokens in the vocabulary. Row 0 has ids 0, 1, 0. At place 0 the model gives token 1 the probability ½, at place 1 it gives token 0 the probability ⅛: prices ln 2 and 3 ln 2. Row 1 has ids 1, 1 and padding. At place 0 it gives token 1 the probability ¼: 2 ln 2. Three bets: (1 + 3 + 2) ln 2 / 3 = 2 ln 2 = **1.386**. The mean of the two rows' means happens to be the same here: 2 ln 2 and 2 ln 2. With ½ in place of ¼ it is not: 5 ln 2 / 3 = **1.155**, and not 3 ln 2 / 2.
#
# **Rules**
#
# - Each row begins with a token, so `mask[:, 0]` is True, and behind padding comes no token any more.
# - There may be nothing to bet on, where each row has one token: then the loss is 0.0.
# - Logits may be anything from -10,000 to 10,000.
# - The loss is differentiated: its gradient reaches `logits`. (With nothing to bet on, the gradient is not asked.)
#
# **In**: `logits` float32 $(B, T, V)$, finite; `ids` int64 $(B, T)$, from 0 to $V - 1$, at padding too; `mask` bool $(B, T)$. **Out**: a float32 tensor without axes.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Which logits have no question, and which ids no answer? Leave out one column of each.
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# `logits[:, :-1]` and `ids[:, 1:]` have the same number of columns, and so has `mask[:, 1:]`, which says whether the token that is bet on is one. `cross_entropy` takes logits of shape $(N, V)$ and $N$ answers: choose by the mask first. What does it give for no answer at all?
#
# </details>
# <details><summary>Hint 3: a worked neighbour</summary>
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

# %% nbgrader={"grade": false, "grade_id": "next_token_loss", "locked": false, "schema_version": 3, "solution": true, "task": false}
def next_token_loss(logits: Float[Tensor, "B T V"], ids: Int[Tensor, "B T"], mask: Bool[Tensor, "B T"]) -> Float[Tensor, ""]:
    """The mean price of the bets on each row's next tokens, padding left out; 0.0 where there is no bet."""
    ### BEGIN SOLUTION
    asked = mask[:, 1:]
    prices = torch.nn.functional.cross_entropy(logits[:, :-1][asked], ids[:, 1:][asked], reduction="sum")
    return prices / max(int(asked.sum()), 1)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "next_token_loss-check", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
check(next_token_loss)

# %% [markdown] nbgrader={"grade": false, "grade_id": "next_token_loss-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# A model that has learned nothing gives each of its $V$ tokens the same chance. So you know its loss before you train it, and a loss far above that, in the first step, is a mistake in the code.

# %% nbgrader={"grade": false, "grade_id": "look-next_token_loss", "locked": true, "schema_version": 3, "solution": false, "task": false}
generator = torch.Generator().manual_seed(8)
for V in (2, 1024, 50257):
    ids = torch.randint(V, (2, 20), generator=generator)
    found = attempt(next_token_loss, torch.zeros(2, 20, V), ids, torch.ones(2, 20, dtype=torch.bool))
    if found is not None:
        print(f"V = {V:>6,}: loss {found.item():.3f}, log V {torch.tensor(V).log().item():.3f}, perplexity {found.exp().item():,.1f}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "test_causal-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 2. Write the test: does it see what it may, and no more?
#
# - **What it is for**: a model that sees the next token learns to copy it. Its loss falls to almost nothing, everybody is glad, and it cannot write. A model that is blind to half of its text learns slowly, and nobody notices at all. You write the test that stops both.
# - **Difficulty** 3 of 5 · **Time** 18 minutes · **Points** 5
# - **Needs**: chapter 3's test, which stopped the first kind only.
# - **Paper**: Radford et al. (2018), section 3.1; Vaswani et al. (2017), section 3.2.3.
#
# **What a right model promises.** It takes ids $(B, T)$ and returns logits $(B, T, V)$. In each row the logits at place $t$ depend on the tokens at 0, 1, …, $t$, on **each of them, the one at $t$ itself too**, and on nothing else in the row. "GPT sees only the tokens before" is told everywhere, and it is wrong by one: without itself, the first place would see nothing at all.
#
# **What to write.** `test_causal(model)` calls `model(ids)` as often as it likes, on ids of your choice. It fails an `assert` if the promise is broken, and does nothing if it is not.
#
# Your test is run on four right models and on more than a dozen wrong ones, several times and in any order. You don't see their code. The wrong ones come in four kinds, and a kind earns its points when your test stops all of it and lets all four right ones pass:
#
# - *ahead*: a later token is seen. There is no mask, or it is off by one, or it covers one head and not the other, or scores are lowered by too little (1.5 points);
# - *some*: a later token is seen at one place only, or it moves the earlier logits by a hundredth or a few, for instance because the numbers are centred over the whole text (1 point);
# - *lengths*: all is well but for texts of one length, where later tokens are seen (1 point);
# - *blind*: one of the tokens up to $t$ plays no part: the one at $t$, the first of the text, another one, or all but the last few; at every place or at one only, in all texts or in those of one length, which may be 1 (1.5 points).
#
# A test that complains about a right model earns nothing.
#
# **By hand.** Text 0, 1, 2. Change the last token to 3: at places 0 and 1 all logits must stay as they were, and at place 2 one of them, at least, must move. Change the first: there must be a move at place 0, at place 1 **and** at place 2.
#
# **Mind**
#
# - The ids are whole numbers from 0 to `SIZE` - 1, where $V$ is `SIZE` too. Every $B$ from 1 to 8 and $T$ from 1 to `PLACES` is allowed; ids are int64. A model may refuse anything else.
# - No model changes its `ids`, or what it returned before. Rows never see each other, in none of them: one row is enough.
# - Asked twice, a model may differ in the last digits: what moves by less than 0.0001 has stayed. Whatever token is put in the place of another one, a logit that sees it moves by more than 0.01, in one column at least, and in the others perhaps not at all; of the logits of a wrong model, too.
# - A right one need not be good, and need not know the order of the tokens before. Logits lie between -20 and 20, and all are finite float32 numbers without gradient.
# - A wrong one shows what it is in every row of the length at which it is wrong. One that is blind or sees ahead may need a text of four tokens or more.
# - Complain with `assert`, or with what raises an AssertionError. Any other exception means that your test is broken, and earns nothing. To return False in place of a failing `assert` costs a fifth, once.
# - Call it some hundred times at most: one run of your test may take five seconds. If you draw tokens, your verdict must not hang on the draw.
#
# <details><summary>Hint 1: a nudge</summary>
#
# For each of the four kinds: which token would you change, in a text of which length, and at which places would you look?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# For each length from 1 to `PLACES`, and each place $s$ of such a text: change the token at $s$ in a copy, ask again, and take the largest move over the columns at each place. Before $s$ there must be no move; from $s$ on there must be one at *each* place.
#
# </details>
# <details><summary>Hint 3: a worked neighbour</summary>
#
# A test for a function that gives the running sums of a list. Each entry depends on all numbers up to it.
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

# %% nbgrader={"grade": false, "grade_id": "setup-sizes", "locked": true, "schema_version": 3, "solution": false, "task": false}
SIZE, PLACES = 9, 6        # in exercise 2: tokens 0 to 8, and texts of at most six

# %% nbgrader={"grade": false, "grade_id": "test_causal", "locked": false, "schema_version": 3, "solution": true, "task": false}
def test_causal(model: Callable[[Int[Tensor, "B T"]], Float[Tensor, "B T V"]]) -> None:
    """Fail an assert unless logits at t depend on each of the tokens 0 to t, and on no later one."""
    ### BEGIN SOLUTION
    for length in range(1, PLACES + 1):
        ids = torch.arange(length)[None]
        before = model(ids)
        for place in range(length):
            other = ids.clone()
            other[0, place] = SIZE - 1
            moved = (model(other) - before).abs().amax(2)[0] > 0.001             # (T,)
            assert not moved[:place].any(), f"token {place} of {length} is seen too early"
            assert bool(moved[place:].all()), f"token {place} of {length} is not seen where it should be"
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "test_causal-check", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check(test_causal)

# %% [markdown] nbgrader={"grade": false, "grade_id": "test_causal-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Your test on three models of one line each: a mean of the text so far, a mean of the whole text, and a mean of what stands *before*.

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
# - **What it is for**: this is GPT-2, and with one argument changed it is GPT-1. At the end of the notebook your class loads weights that were trained with the course's own model, and goes on writing.
# - **Difficulty** 5 of 5 · **Time** 30 minutes · **Points** 10
# - **Needs**: chapter 4's heads, norm and block; `torch.nn.Module`.
# - **Paper**: Radford et al. (2018), sections 3.1 and 4.1; Radford et al. (2019), section 2.3.
#
# **What to write.** A class `GPT`, a `torch.nn.Module`. `GPT(V, P, C, L, H, norm_first)` makes the model, and `model(ids)` returns logits $(B, T, V)$ for ids $(B, T)$. Its parameters have these names and shapes, where `*` is the number of a block from 0; each name is followed by `.weight` or `.bias`:
#
# | name | weight | bias |
# | --- | --- | --- |
# | `tokens` | $(V, C)$ | none |
# | `places` | $(P, C)$ | none |
# | `blocks.*.norm_1`, `blocks.*.norm_2` | $(C)$ | $(C)$ |
# | `blocks.*.qkv` | $(3C, C)$ | $(3C)$ |
# | `blocks.*.out` | $(C, C)$ | $(C)$ |
# | `blocks.*.up` | $(4C, C)$ | $(4C)$ |
# | `blocks.*.down` | $(C, 4C)$ | $(C)$ |
# | `norm`, only with `norm_first` | $(C)$ | $(C)$ |
#
# `torch.nn.Embedding`, `LayerNorm` and `Linear` have such parameters. A matrix works as in `Linear`: $x W^\top + b$. A norm is LayerNorm over the last axis with $\varepsilon = 10^{-5}$ under the root. The check puts weights of its own in, by these names: how you start them plays no part.
#
# 1. *Embeddings*: the row of the token and the row of its place (0, 1, 2, … from the left) are added. There is no norm here.
# 2. *A block* of GPT-2 (`norm_first` is True): $x \leftarrow x + \text{attention}(\text{norm}_1(x))$, then $x \leftarrow x + \text{feed-forward}(\text{norm}_2(x))$. A block of GPT-1 (False): $x \leftarrow \text{norm}_1(x + \text{attention}(x))$, then $x \leftarrow \text{norm}_2(x + \text{feed-forward}(x))$.
# 3. *Attention*: `qkv` makes $3C$ numbers of each token: the first $C$ are its query, then come its key and its value. Head $h$ has the columns $hD$ to $(h+1)D - 1$ of each. Scores are divided by $\sqrt{D}$; a token sees itself and those before it in its own row. The heads, side by side again, go through `out`.
# 4. *Feed-forward*: `up`, GELU, `down`. The GELU is the approximation of GPT's code: $\frac{z}{2}\left(1 + \tanh\left(\sqrt{2 / \pi}\,(z + 0.044715\, z^3)\right)\right)$.
# 5. *After the last block*: with `norm_first`, once `norm`; without, nothing.
# 6. *Output*: the logit of token $v$ is the product of the vector with row $v$ of `tokens`. It is the **same** parameter, used twice: no output matrix of its own, no copy, no bias.
#
# **By hand.** No block, $C = 2$, `norm_first` False. `tokens` has the rows (1, 0) and (0, 2), `places` the row (0.5, 0). For the single id 1 the sum is (0.5, 2), and the logits are **0.5** and **4**. With `norm_first`, weights 1 and biases 0, the norm makes (-1, 1) of it, up to $\varepsilon$, and the logits are -1 and 2.
#
# **Rules**
#
# - There may be no block. $T$ goes from 1 to $P$. $H$ divides $C$, and may be 1 or $C$.
# - There is no padding, and no dropout: in training mode the model gives the same numbers.
# - The model has no other parameters, and no other tensors in its `state_dict`: a mask that you keep as a buffer needs `persistent=False`.
# - Scores, divided by the root, may be as large as 500, up or down: what is hidden must not influence anything then either.
# - Two models share nothing. Asking a model twice gives the same answer twice, and asking leaves its weights as they were.
# - The model is trained: a gradient reaches every parameter that plays a part, and `tokens` from both of its uses.
# - `norm_first` is always given here; its default in the stub is GPT-2's.
#
# **In**: ints of at least 1 ($L$ from 0 to 12), $V$, $P$ and $C$ at most 300; `ids` int64, from 0 to $V - 1$. **Out** of `model(ids)`: float32 $(B, T, V)$. Logits are compared to four digits, and to 0.0001 where they are near 0.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Start with no block: two tables, a sum, a product with the first table. Then write the block of a `torch.nn.ModuleDict`, or a class for it in the same cell, and add one line of `forward` after the other. Each stage of the check switches on one part more.
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# `self.blocks = torch.nn.ModuleList(torch.nn.ModuleDict({"norm_1": …, "qkv": …, …}) for _ in range(L))`. In attention: `qkv(x).chunk(3, dim=2)`, each `.unflatten(2, (H, -1)).transpose(1, 2)` is $(B, H, T, D)$; scores, `masked_fill` above the diagonal with minus infinity, softmax, product, and back with `.transpose(1, 2).flatten(2)`. `torch.nn.functional.gelu` has an argument `approximate`. The output is `x @ self.tokens.weight.T`.
#
# </details>
# <details><summary>Hint 3: a worked neighbour</summary>
#
# A small autoencoder whose decoder is the encoder's matrix once more, so that it has one matrix in all:
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
# The first gradient step of a new model, and a question about it: which tokens' rows in `tokens` move, if the text has three of ten? With an output matrix of its own only those three would. Look at what the tie does.

# %% nbgrader={"grade": false, "grade_id": "look-GPT", "locked": true, "schema_version": 3, "solution": false, "task": false}
model = attempt(GPT, 10, 8, 16, 2, 4, True)
if model is not None:
    logits = attempt(model, torch.tensor([[1, 2, 3, 1, 2, 3]]))
    if logits is not None:
        logits.logsumexp(2).mean().backward()
        print("rows of `tokens` with a gradient:", (model.tokens.weight.grad.abs().sum(1) > 0).nonzero().flatten().tolist())
        print("parameters:", sum(one.numel() for one in model.parameters()))

# %% [markdown] nbgrader={"grade": false, "grade_id": "gpt_sizes-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 4. From 117 million to 175 billion
#
# - **What it is for**: a paper says "117M". Who can derive the number from six others sees which of them it hangs on, and where a paper or a library counts otherwise.
# - **Difficulty** 2 of 5 · **Time** 12 minutes · **Points** 4
# - **Needs**: the table of exercise 3.
# - **Paper**: Radford et al. (2019), table 2; Brown et al. (2020), table 2.1.
#
# **What to predict.** How many parameters has the model of exercise 3, with $V$ tokens, $P$ positions, width $C$, $L$ blocks and $H$ heads? Return a dictionary of three whole numbers:
#
# - `"embeddings"`: the two tables together;
# - `"block"`: **one** block: its matrices, their biases and its two norms;
# - `"total"`: the whole model.
#
# **By hand.** $V = 10$, $P = 6$, $C = 4$, $L = 2$, `norm_first` True. Embeddings: 16 · 4 = **64**. A block: matrices of 12 · 16 numbers, their biases 9 · 4, norms 4 · 4: 192 + 52 = **244**. Total: 64 + 2 · 244, and the last norm's 8: **560**. With `norm_first` False there is no last norm: 552.
#
# **Rules**
#
# - A parameter that is used twice is one parameter.
# - The numbers may be large, some $10^{17}$, where a float is off by several: count in ints.
#
# **In**: five ints of at least 1 and at most a million, where `num_heads` divides `hidden`, for fewer than $10^{18}$ parameters, and a bool. **Out**: a dictionary of three ints.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Which of the five ints plays no part?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Go down the table of exercise 3, row by row. How many numbers come out of each matrix? That many has its bias.
#
# </details>
# <details><summary>Hint 3: a worked neighbour</summary>
#
# A perceptron of `layers` equal layers of `width` numbers, and one that says yes or no:
#
# ```python
# def perceptron_size(width, layers):
#     return layers * (width * width + width) + width + 1
# ```
#
# `perceptron_size(3, 2)` is 28.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "gpt_sizes", "locked": false, "schema_version": 3, "solution": true, "task": false}
def gpt_sizes(vocab_size: int, positions: int, hidden: int, num_layers: int, num_heads: int, norm_first: bool) -> dict[str, int]:
    """The parameters of a GPT: of its two tables, of one block, and of the whole."""
    ### BEGIN SOLUTION
    embeddings = (vocab_size + positions) * hidden
    block = 12 * hidden * hidden + 13 * hidden
    total = embeddings + num_layers * block + (2 * hidden if norm_first else 0)
    return {"embeddings": embeddings, "block": block, "total": total}
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "gpt_sizes-check", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(gpt_sizes)

# %% [markdown] nbgrader={"grade": false, "grade_id": "gpt_sizes-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The published shapes. GPT-2's paper prints 117M, 345M, 762M and 1542M for its four: compare. (The first is GPT-1's number.)

# %% nbgrader={"grade": false, "grade_id": "look-gpt_sizes", "locked": true, "schema_version": 3, "solution": false, "task": false}
shapes = {"GPT-1": (40_478, 512, 768, 12, 12, False), "GPT-2 small": (50_257, 1024, 768, 12, 12, True), "GPT-2 medium": (50_257, 1024, 1024, 24, 16, True),
          "GPT-2 large": (50_257, 1024, 1280, 36, 20, True), "GPT-2 XL": (50_257, 1024, 1600, 48, 25, True), "GPT-3": (50_257, 2048, 12_288, 96, 96, True)}
for name, shape in shapes.items():
    found = attempt(gpt_sizes, *shape)
    if found is not None:
        print(f"{name:<12} {found['total']:>15,}   embeddings {found['embeddings'] / found['total']:.0%}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-training", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 3. Training

# %% [markdown] nbgrader={"grade": false, "grade_id": "adamw_step-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 5. One step of AdamW
#
# - **What it is for**: nearly every language model of this course was trained by these lines, each parameter at a pace of its own. The W is the part that one easily gets wrong, and that no loss curve shows at once.
# - **Difficulty** 3 of 5 · **Time** 14 minutes · **Points** 5
# - **Needs**: a running mean.
# - **Paper**: Kingma and Ba (2015), algorithm 1; Loshchilov and Hutter (2019), algorithm 2, in the form of torch's `AdamW`.
#
# **The idea.** A parameter $p$ has a gradient $g$ and two running means that the optimiser keeps: $m$, of the gradient, and $v$, of its square. `t` is the number of this step; the first is 1, and before it both means are 0. All operations go number by number:
#
# $$m \leftarrow \beta_1 m + (1 - \beta_1)\, g \qquad v \leftarrow \beta_2 v + (1 - \beta_2)\, g^2$$
#
# $$\hat m = \frac{m}{1 - \beta_1^{\,t}} \qquad \hat v = \frac{v}{1 - \beta_2^{\,t}}$$
#
# $$p \leftarrow p - \eta \left( \frac{\hat m}{\sqrt{\hat v} + \varepsilon} + \lambda\, p \right)$$
#
# On the right of the last line stands the **old** $p$. In code $\eta$ is `rate`, $\beta_1$ and $\beta_2$ are `betas`, $\varepsilon$ is `eps` and $\lambda$ is `decay`. Return the new $p$, $m$ and $v$: the means as the first line gives them, without hats.
#
# **By hand.** The first step: $p$ = 1, $g$ = 2, $m = v$ = 0, `rate` .1, `betas` (.9, .99), `eps` so small that it does not show, `decay` .5. Then $m$ = **.2** and $v$ = **.04**; with hats they are 2 and 4, so the quotient is 1, whatever the size of $g$. And $p$ = 1 - .1 · (1 + .5) = **.85**.
#
# **Rules**
#
# - The decay plays no part in $g$, $m$ and $v$: that is the W. (Adam with a decay in the gradient divides it by $\sqrt{\hat v}$, too.)
# - The same numbers may come at any `t`: nothing is kept between calls, and the arguments stay as they are.
# - Where a gradient has been 0 from the first step on, the quotient is 0.
#
# **In**: `p`, `g`, `m` and `v` float32 of one shape with one to three axes; `v` at least 0, and 0 only where `m` is; `t` an int from 1 to a million; `rate` a float from 0 to 1; `betas` a tuple of two floats from 0 to 0.999; `eps` a float from $10^{-8}$ to 1; `decay` a float from 0 to 1. **Out**: a tuple of three float32 tensors of that shape. `v` is compared to four digits also where it is small.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Write the six formulas in their order. Which of the quantities does the caller want back: with hats, or without?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# New names on the left, no `mul_` and no `+=` on arguments. `1 - beta ** t` is a Python number. $\varepsilon$ is added to the root, not under it.
#
# </details>
# <details><summary>Hint 3: a worked neighbour</summary>
#
# The running mean of a shop's sales, corrected for having begun at 0:
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
# A valley that is a hundred times as steep in one direction as in the other. Plain descent has one pace for both; your AdamW has not.

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
# ## 6. Many small batches, one step
#
# - **What it is for**: a batch that does not fit into memory is read in parts. Libraries that millions use averaged the parts in a wrong way for years: a short part weighed as much as a long one. This is where it is done right.
# - **Difficulty** 3 of 5 · **Time** 14 minutes · **Points** 5
# - **Needs**: the norm of a vector; exercise 1's mean over all bets.
# - **Paper**: Pascanu et al. (2013), algorithm 1, for the clipping.
#
# **The idea.** Each entry of `parts` is a dictionary from a parameter's name to a gradient: that of the **sum** of the prices of all bets in this part of the batch. `counts` says how many bets each part had.
#
# 1. The gradient of the whole batch's mean price: for each name, the gradients of all parts added up and divided by the number of all bets.
# 2. Its length: the square root of the sum of the squares of **all** numbers, of all names together.
# 3. If it is longer than `max_norm`, all of its numbers are multiplied by one factor, `max_norm` divided by the length. Else nothing is done to it.
#
# Return the dictionary, and the length as it was **before** step 3.
#
# **By hand.** Two parts, with one bet and with three; one parameter of one number. The gradients are 4 and 3. The mean is (4 + 3) / 4 = **1.75**, not (4 / 1 + 3 / 3) / 2 = 2.5. And clipping: two parameters with the combined gradients 3 and 4 have together the length **5**; with `max_norm` 1 they become **0.6** and **0.8**.
#
# **Rules**
#
# - All parts have the same names, perhaps in another order, and a name has the same shape in each. There is at least one part and one name.
# - A part may have no bet, where all of it was padding: its gradients are 0 then. At least one part has one.
# - A gradient of length 0 stays as it is. A gradient as long as `max_norm`, or shorter, is not made longer.
#
# **In**: `parts`, a list of 1 to 300 dictionaries of 1 to 300 float32 tensors with one or two axes; `counts`, as many ints of at least 0; `max_norm` a float, at least 0.01. The length is 0 or at least 0.1. **Out**: a tuple of a dictionary with the same names, float32 tensors of the same shapes, and a float.
#
# <details><summary>Hint 1: a nudge</summary>
#
# In which order: adding, dividing, measuring, shortening? Each other order gives another answer.
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# `{name: sum(part[name] for part in parts) / sum(counts) for name in parts[0]}`. The square of the length is a sum over names of `.square().sum()`. The factor is `min(1.0, max_norm / length)`, with a thought for a length of 0.
#
# </details>
# <details><summary>Hint 3: a worked neighbour</summary>
#
# A class's mean mark from the sums of several exams, where no exam may count above `most`:
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

# %% nbgrader={"grade": false, "grade_id": "combine", "locked": false, "schema_version": 3, "solution": true, "task": false}
def combine(parts: list[dict[str, Tensor]], counts: list[int], max_norm: float) -> tuple[dict[str, Tensor], float]:
    """The gradient of the mean over all bets, shortened to max_norm if it is longer, and how long it was."""
    ### BEGIN SOLUTION
    mean = {name: torch.stack([part[name] for part in parts]).sum(0) / sum(counts) for name in parts[0]}
    length = sum(float(one.square().sum()) for one in mean.values()) ** 0.5
    factor = max_norm / length if length > max_norm else 1.0
    return {name: factor * one for name, one in mean.items()}, length
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "combine-check", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check(combine)

# %% [markdown] nbgrader={"grade": false, "grade_id": "combine-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# A batch of twelve bets, cut in three ways. The mean over all bets does not know how it was cut; the mean of the parts' means does.

# %% nbgrader={"grade": false, "grade_id": "look-combine", "locked": true, "schema_version": 3, "solution": false, "task": false}
generator = torch.Generator().manual_seed(8)
gradients = torch.randn(12, 3, generator=generator)                   # of each bet's price
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
# ## 7. Write a task as a text
#
# - **What it is for**: GPT-1's own invention. One model learns to judge pairs, to compare and to choose, because each task is written out as a text that it can read: no new model for each, three new tokens for all.
# - **Difficulty** 2 of 5 · **Time** 14 minutes · **Points** 5
# - **Needs**: lists; chapter 2's padding.
# - **Paper**: Radford et al. (2018), section 3.3 and figure 1.
#
# **The idea.** Texts come as lists of ids. There are three new ids: `start`, `between` and `end`. They are `markers`, in this order. What a row looks like depends on the task:
#
# | `task` | `texts` | rows |
# | --- | --- | --- |
# | `"classification"` | one text | start, text, end |
# | `"entailment"` | premise, hypothesis | start, premise, between, hypothesis, end |
# | `"similarity"` | one, other | two rows: start, one, between, other, end; and start, other, between, one, end |
# | `"choice"` | context, answer, answer, … | a row for each answer, in order: start, context, between, answer, end |
#
# A pair that is similar has no order, and a model that reads from the left has one: so both are read. Of several answers none sees the others.
#
# Return the rows as one tensor `ids` $(N, T)$, and with it `last` $(N)$: the place of each row's `end`. $T$ is the length of the longest row; behind `end` a shorter row is filled with `pad`. The vector at `last` is what the task's layer will read, since it has seen the whole text.
#
# **By hand.** `markers` = (90, 91, 92), `pad` = 0. The context 5 6 and the answers 7 and 8 9:
#
# | | 0 | 1 | 2 | 3 | 4 | 5 | 6 | `last` |
# | --- | --- | --- | --- | --- | --- | --- | --- | --- |
# | answer 7 | 90 | 5 | 6 | 91 | 7 | 92 | 0 | **5** |
# | answer 8 9 | 90 | 5 | 6 | 91 | 8 | 9 | 92 | **6** |
#
# **Rules**
#
# - A text may be empty. Its row has its markers all the same.
# - `pad` may be any id, one that stands in a text or is a marker too: padding is known by its place alone.
# - For `"choice"` there is at least one answer. Equal texts stay as they are: nothing is left out.
#
# **In**: `task` is one of the four words; `texts` a list of as many lists of ints as the table says, each of at most 300 ids, so that a row may have 603; `markers` a tuple of three ints, which may stand in a text too, or be equal; `pad` an int. **Out**: a tuple of two int64 tensors.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Three of the four tasks need one and the same form of row. Write it once.
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# First a list of pairs: of premise and hypothesis; of one and other, and of other and one; of the context with each answer. Then a row for each. Then the longest, and `row + [pad] * (longest - len(row))`. `last` is each row's length less one, before it is filled.
#
# </details>
# <details><summary>Hint 3: a worked neighbour</summary>
#
# Postcards of one size: each has a salutation, a text and a signature; short ones are filled with dots.
#
# ```python
# def postcards(name, texts):
#     cards = [["Dear", name, *text.split(), "Yours"] for text in texts]
#     size = max(map(len, cards))
#     return [card + ["."] * (size - len(card)) for card in cards]
# ```
#
# `postcards("Ann", ["come home", ""])[1]` is Dear Ann Yours and two dots.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "task_rows", "locked": false, "schema_version": 3, "solution": true, "task": false}
def task_rows(task: str, texts: list[list[int]], markers: tuple[int, int, int], pad: int) -> tuple[Int[Tensor, "N T"], Int[Tensor, "N"]]:
    """A task as rows of ids, filled up with pad, and the place of each row's end marker."""
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
# ## 8. Learn the task, and go on reading
#
# - **What it is for**: this is how GPT-1 was tuned. One layer is new; all the rest goes on learning to bet on the next token, so that a few hundred labels do not make it forget what it knew.
# - **Difficulty** 3 of 5 · **Time** 16 minutes · **Points** 6
# - **Needs**: exercise 1, which you may call; exercise 7.
# - **Paper**: Radford et al. (2018), section 3.2, equations 3 to 5.
#
# **The idea.** A GPT has read $B$ rows and gives `x`, the vectors after its last norm. Two things are read from them:
#
# - *the label*: of each row the vector of its **last token**, times the new matrix `head`: the logits of $K$ labels. No bias. Its price is the cross-entropy of the right label, and the label loss is the mean over the $B$ rows;
# - *the next tokens*: the vectors times the table of tokens, `table`, are logits $(B, T, V)$, and the loss on them is exercise 1's.
#
# Return the label loss plus `weight` times the loss of the next tokens. The paper's weight is ½.
#
# `last` says at which place each row's last token stands. Behind it comes padding, on which nothing may hang.
#
# **By hand.** The label loss is .4, the mean price of a bet 2, the weight ½: .4 + ½ · 2 = **1.4**. And the vectors: `x` has one row of three places with the vectors (1, 0), (0, 3) and (9, 9), and `last` is 1. With `head` the rows (1, 0) and (0, 1) the logits of the label are **(0, 3)**; those of (9, 9), which is padding, would be equal.
#
# **Rules**
#
# - `last` goes from 0 to $T - 1$: a row may be a single token, and then it has no bet. If there is no bet in the whole batch, the loss is the label loss.
# - All bets of the batch weigh the same, and all rows weigh the same in the label loss.
# - `weight` may be 0. $K$ and $V$ may be 1.
# - Logits may be anything from -10,000 to 10,000.
# - The loss is differentiated: its gradient reaches `x`, `table` and `head`.
#
# **In**: `x` float32 $(B, T, C)$; `table` float32 $(V, C)$; `head` float32 $(K, C)$; `ids` int64 $(B, T)$, from 0 to $V - 1$, at padding too; `last` int64 $(B)$; `labels` int64 $(B)$, from 0 to $K - 1$; `weight` a float from 0 to 10. **Out**: a float32 tensor without axes. It is compared to four digits, and to 0.0001 near 0.
#
# <details><summary>Hint 1: a nudge</summary>
#
# `x[:, -1]` is the vector of what?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# `x[torch.arange(B), last]` has one vector for each row. A mask of tokens is `torch.arange(T) <= last[:, None]`. With it, and with `x @ table.T`, exercise 1 does the rest.
#
# </details>
# <details><summary>Hint 3: a worked neighbour</summary>
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

# %% nbgrader={"grade": false, "grade_id": "joint_loss", "locked": false, "schema_version": 3, "solution": true, "task": false}
def joint_loss(x: Float[Tensor, "B T C"], table: Float[Tensor, "V C"], head: Float[Tensor, "K C"], ids: Int[Tensor, "B T"],
               last: Int[Tensor, "B"], labels: Int[Tensor, "B"], weight: float) -> Float[Tensor, ""]:
    """GPT-1's loss: the label from each row's last token, plus weight times the loss of the next tokens."""
    ### BEGIN SOLUTION
    label = torch.nn.functional.cross_entropy(x[torch.arange(len(x)), last] @ head.T, labels)
    mask = torch.arange(x.shape[1]) <= last[:, None]
    return label + weight * next_token_loss(x @ table.T, ids, mask)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "joint_loss-check", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
check(joint_loss)

# %% [markdown] nbgrader={"grade": false, "grade_id": "joint_loss-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Eight rows with labels, vectors that may move freely, and some steps down this loss: with the weight 0 the bets are forgotten while the labels are learned, with ½ they are learned too.

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
        print(f"weight {weight}: label loss {joint_loss(x, table, head, ids, last, ids[:, 0] % 2, 0.0).item():.3f}, price of a bet {bets.item():.3f}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "best_answer-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 9. Ask without training
#
# - **What it is for**: GPT-2's and GPT-3's way to a task. Nothing is trained: the answers are written behind the question, and the model says on which it would have bet. Most tables of today's models are made this way.
# - **Difficulty** 3 of 5 · **Time** 12 minutes · **Points** 4
# - **Needs**: exercise 1's shift; `log_softmax`.
# - **Paper**: Brown et al. (2020), section 2.4.
#
# **The idea.** `logits_of(ids)` takes one text, int64 $(1, T)$, and gives float32 logits $(1, T, V)$: those at place $t$ are of the token at $t + 1$, as in exercise 1. For each answer take the text that is made of `prompt` and, behind it, the answer. Add up the logarithms of the probabilities of the **answer's tokens**, each given all before it: the first one given the whole prompt. The prompt's own tokens don't count.
#
# A long answer has more tokens to lose at, so the sum favours short ones. Divide it by the number of **bytes** of the answer's text, `num_bytes`, which, unlike the number of tokens, does not depend on the tokenizer. Return the place of the answer with the largest quotient.
#
# **By hand.** Two answers: the first has -4 nats in 2 bytes, the second -6 nats in 6 bytes. The sum takes the first. Per byte they have -2 and -1: the answer is **1**.
#
# **Rules**
#
# - If several quotients are equal, the first of them counts. Quotients that are not meant to be equal differ by more than 0.001.
# - `prompt` and each answer have at least one id; there may be a single answer. Answers may have different lengths, and may begin alike.
# - Logits may be anything from -10,000 to 10,000.
# - Call `logits_of` with one text at a time, without padding: the prompt with an answer behind it, or the beginning of such a text. At most two hundred times in one call of yours.
# - An answer may occur twice, with the same number of bytes or another.
#
# **In**: `logits_of` as above; `prompt` a list of ints; `answers` a list of 1 to 50 lists of ints; `num_bytes` a list of as many ints of at least 1. **Out**: an int.
#
# <details><summary>Hint 1: a nudge</summary>
#
# The prompt has $n$ tokens. At which place are the logits of the answer's first token?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# For one answer: `log_p = logits_of(torch.tensor([prompt + answer]))[0].log_softmax(1)`. The answer's tokens stand at the places from `len(prompt)` on, their bets one place before, and the last row of `log_p` is not used.
#
# </details>
# <details><summary>Hint 3: a worked neighbour</summary>
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

# %% nbgrader={"grade": false, "grade_id": "best_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def best_answer(logits_of: Callable[[Int[Tensor, "1 T"]], Float[Tensor, "1 T V"]], prompt: list[int], answers: list[list[int]],
                num_bytes: list[int]) -> int:
    """The place of the answer that is likeliest behind the prompt, for each byte of its text."""
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
# A table for a model, and one question with two answers whose lengths differ. In the last part of the notebook the model is a real one.

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
# ## 10. Where does the bank become money?
#
# - **What it is for**: the running question of this book, asked of a reader who goes from left to right. Who can answer it knows what GPT gave up, what it got for it, and why a vector of it must be taken from the right place.
# - **Difficulty** 3 of 5 · **Time** 13 minutes · **Points** 4, given by a person who reads it
# - **Needs**: exercises 1 to 3.
# - **Paper**: Radford et al. (2018), section 3.1; Devlin et al. (2019), section 1.
#
# **The question.** A GPT reads *the bank lends money*, and BERT reads the same. In about 150 words: at which token of the GPT can a vector first know that the bank is one that lends, and what does the vector of *bank* know, in its last layer? What is different in BERT? What does GPT get for that price, in training and afterwards? And somebody wants one vector for the meaning of *bank* in this sentence, from a GPT: what do you advise?
#
# {{rubric}}
#
# Short is fine. Correct and concrete beats long.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Write "the bank of the river" below it. Up to which token are all vectors of both the same, to the last bit?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# More layers do not help: what does the mask of the last layer let *bank* see? Then exercise 1: how many bets does a text of $T$ tokens give, and how many blanks has BERT? And who can go on where a text ends?
#
# </details>
# <details><summary>Hint 3: a worked neighbour</summary>
#
# *A guard writes down each visitor as they come in. In which line does it stand that the third one was a thief?* Not in the third: when it was written, nothing was missing yet. In the line where the loss was noticed, or later. Who wants to know about the third visitor reads the end of the book, or lets the guard read it all and write a second one.
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
# First your class loads the weights of the course's small GPT, is judged on text that was held out, and goes on from your words.
# Then your loss, your `combine` and your `adamw_step` train it anew from the first step, beside the losses that the course's own training had.
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
    """Your class, with the numbers of the course's model."""
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
    """The mean price of a bet, in each so-manieth stretch of 129 tokens."""
    rows = tokens.unfold(0, 129, 128)[::every]
    return next_token_loss(torch.cat((model(rows[:, :-1]), torch.zeros(len(rows), 1, 1024)), 1), rows, torch.ones(rows.shape, dtype=torch.bool)).item()


@torch.no_grad()
def goes_on(model, ids: list[int], count: int, seed: int) -> list[int]:
    """So many more tokens, each drawn from what the model says; chapter 9 is about doing it better."""
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
    print(f"your class with trained weights: {nats_of(yours, held, 8):.4f} nats a token on text that was held out; the card of the course's model says {kept.card['figures_of_slice']['nats_per_token']}")
    prompt = "And the king said unto the bank"                    # put your own words here
    print(prompt + kept.tokenizer.decode(goes_on(yours, kept.tokenizer.encode(prompt), 60, 8)))

# %% nbgrader={"grade": false, "grade_id": "real-training", "locked": true, "schema_version": 3, "solution": false, "task": false}
def trained(tokens: Int[Tensor, "N"], steps: int) -> list[float]:
    """The course's own training of 1,200 steps, from its first step on, by your code alone: the loss of each step.

    A step reads two parts of eight rows; the rate climbs from 0 to 0.004 over fifty steps.
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
            price = next_token_loss(padded, part, torch.ones(part.shape, dtype=torch.bool)) * (8 * 128)        # of all bets of this part
            price.backward()
            parts.append({name: one.grad.clone() for name, one in model.named_parameters()})
            prices.append(price.item())
        losses.append(sum(prices) / (16 * 128))
        gradients, _ = combine(parts, [8 * 128, 8 * 128], 1.0)
        with torch.no_grad():
            for name, one in model.named_parameters():
                decay = 0.1 if one.ndim > 1 else 0.0                                                       # a bias or a norm is left alone
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


def by_bets(model, encode: Callable[[str], list[int]], sentence: str) -> str:
    """Which of the answers your `best_answer` takes, behind the sentence and four more words."""
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
        print(f"{sentence:<45} yours{by_bets(smollm2, encode, sentence):<10} the course's nats a byte " + ", ".join(
            f"{score.per_byte(answer):.2f} for{answer}" for score, answer in zip(scores, ANSWERS)))

# %% [markdown] nbgrader={"grade": false, "grade_id": "real-end", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The first numbers agree because your class computes what the course's does: 0.94 million numbers that were trained for four minutes, and that know scripture and nothing else.
# The losses of the twenty steps that the course has kept agree to the four digits that are shown, though yours reads each batch in two parts and writes out what torch's AdamW does in one fused kernel: the order of additions differs, and so do digits further behind.
# The 3-grams of chapter 3 are still better on this text than the trained model, at 1.425 bits a byte against its 1.54: a record of the course says so, and the chapter's pages ask when that changes.
# The answers by bets alone needed no training at all. They hang on the words behind the sentence: change them, or the answers' lengths, and some of the verdicts change.

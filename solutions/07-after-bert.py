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
# # Chapter 7. After BERT: the exercises
#
# In this notebook you write what followed BERT: RoBERTa's masking, ALBERT, distillation, ELECTRA, T5's spans, XLNet's permutations and Longformer's attention.
# At the end your functions run inside MiniLM, feed two ELECTRAs, and distill a small BERT.
#
# There are 10 exercises and 54 points. Plan about 179 minutes, in as many sittings as you like.
#
# | Part | Exercises | Minutes | Points |
# | --- | --- | --- | --- |
# | Dynamic masking | 1 | 8 | 3 |
# | ALBERT and distillation | 2 to 3 | 32 | 11 |
# | ELECTRA | 4 to 5 | 32 | 10 |
# | Spans and permutations | 6 to 8 | 50 | 16 |
# | Sliding-window attention | 9 | 40 | 9 |
# | In your own words | 10 | 15 | 5 |
# | Your code runs the real thing | nothing to write | 2 | 0 |
#
# **How it works.**
# 1. Read the statement, write the function in the cell below it, and run the check under that cell as often as you like.
# 2. A check's first line names the likely cause, its second a small input that fails. Stuck? Open the three hints in order; the third solves a similar problem.
# 3. Grading runs the same checks with other sizes and values. The smallest sizes are always among them.
#
# **Symbols.** $B$ sequences, $T$ positions, $V$ vocabulary size, $N$ predictions, $C$ hidden size, $E$ embedding size, $L$ layers, $H$ heads, $D$ head dimension, $I$ intermediate size.
#
# <details><summary>Fine print</summary>
#
# These rules hold for all exercises. Where a statement says "the rules above", it means them.
#
# - *Arguments.* Leave them unchanged, lists included, and return something new: neither an argument or a part of one nor a result of an earlier call. A tensor may be a view of a larger one, such as a transpose; `reshape` works there, `view` may not.
# - *Types.* Return the type, dtype and shape that the statement names; a dictionary has the named keys and no others, in any order. A subclass counts as its type, and an `int` may be given for a `float`, but a bool does not count as a number. Correct values in another type or dtype, with an axis of length 1 too many or too few, or with an extra key, lose a fifth of the exercise's points, once. So does an answer that breaks *Arguments*.
# - *Precision.* Floats are compared to four digits of each value, and to 0.00001 near 0; float32 has seven digits, so the order of your operations does not matter. Half precision, rounding, or a small constant "for safety" is wrong where it shows in these digits, and only there. Integers are compared exactly.
# - *Logarithms* are natural.
# - *Calls.* A result depends only on the arguments: not on earlier calls, and not on chance. Where randomness is needed, the random numbers are arguments. Calls may come in any order.
# - *Tools.* You may use anything in torch, numpy and the standard library, unless a statement says otherwise. Not allowed are the course's own models, layers and objectives, and the library `transformers`.
# - *Sizes and time.* Every axis has length 1 to 300, and a list has at most 300 entries, unless a statement says otherwise. Ids are integers of at least 0, and no integer exceeds a billion. The cells that show what a function is for, and the last part, use some longer axes and lists, which the checks do not. A call may take five seconds: plain Python loops are fast enough.
# - *Smallest sizes.* Grading always includes one token, a matrix of one row, and an empty list where a statement allows it.
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

progress("07")                                 # follows your checks

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-trained", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 1. Dynamic masking

# %% [markdown] nbgrader={"grade": false, "grade_id": "asked_share-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 1. Static and dynamic masking
#
# **Why.** BERT's authors masked each text ten times before training and repeated the ten copies. RoBERTa draws a new mask whenever a text is read. This number says how many tokens the old way never predicts, however long it trains.
#
# **Difficulty** 1 of 5 · **Time** 8 minutes · **Points** 3 · **Paper** Liu et al. (2019), section 4.1; the ten copies are of Devlin et al.'s released code
#
# A mask selects each token with probability $p$, independently of other masks. Before training, $k$ masks of each text are drawn and stored. Epoch 0 uses the first of them, epoch 1 the second, and so on; after the last comes the first again. After $e$ epochs, the expected fraction of tokens that were selected **at least once** depends on the number of *different* masks used.
#
# Write `asked_share(share, maskings, epochs)`; `share` is $p$, a float, and `maskings` and `epochs` are ints. The result is that fraction, a float.
#
# **By hand.** $p = 0.5$, two masks, three epochs. The third epoch repeats the first mask, which selects nothing new. A token escapes both with probability $0.5 \cdot 0.5 = 0.25$: the answer is **0.75**. With BERT's 0.15, ten masks and forty epochs it is $1 - 0.85^{10} =$ **0.803**; with forty masks, one per epoch as in RoBERTa, **0.9985**.
#
# **Rules**
# 1. There may be fewer epochs than masks: the rest of the masks is then never used.
# 2. $p$ may be 0, where the answer is 0.0, and 1, where it is 1.0.
#
# <details><summary>Hint 1: a nudge</summary>
#
# How many *different* masks has the training used at its end?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# A token escapes one mask with probability 1 - `share`. What is the probability that it escapes all of those that were used?
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# A die is thrown `throws` times. How likely is it that a six comes up at least once?
#
# ```python
# def some_six(throws):
#     return 1 - (5 / 6) ** throws
# ```
#
# `some_six(1)` is 0.167 and `some_six(4)` is 0.518, not 4 / 6.
#
# </details>
# <details><summary>Fine print</summary>
#
# `share` is 0 or from 0.001 to 1; `maskings` and `epochs` are from 1 to 300.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "asked_share", "locked": false, "schema_version": 3, "solution": true, "task": false}
def asked_share(share: float, maskings: int, epochs: int) -> float:
    """The expected fraction of tokens selected at least once, when `maskings` masks are used in turn for `epochs` epochs."""
    ### BEGIN SOLUTION
    used = min(maskings, epochs)
    return 1 - (1 - share) ** used
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "asked_share-check", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(asked_share)

# %% [markdown] nbgrader={"grade": false, "grade_id": "asked_share-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Forty epochs over one text of a thousand tokens, with real draws: one static mask, ten, and a new one for each epoch. Your prediction is next to what was counted.

# %% nbgrader={"grade": false, "grade_id": "look-asked_share", "locked": true, "schema_version": 3, "solution": false, "task": false}
generator = torch.Generator().manual_seed(7)
for maskings in (1, 10, 40):
    drawn = torch.rand(maskings, 1000, generator=generator) < 0.15
    counted = drawn[torch.arange(40) % maskings].any(0).float().mean()
    found = attempt(asked_share, 0.15, maskings, 40)
    if found is not None:
        print(f"{maskings:>2} masks: counted {counted:.3f}, predicted {found:.4f}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-smaller", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 2. ALBERT and distillation

# %% [markdown] nbgrader={"grade": false, "grade_id": "albert_sizes-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 2. ALBERT's parameters and multiply-adds
#
# **Why.** ALBERT is often called a light BERT. Counting parameters and multiply-adds separately shows what became lighter and what did not.
#
# **Difficulty** 2 of 5 · **Time** 14 minutes · **Points** 5 · **Paper** Lan et al. (2020), section 3.1
#
# ALBERT changes two things. Its $V$ token embeddings have $E$ dimensions, and one matrix with a bias projects each to the hidden size $C$. And there is **one block**, which all $L$ layers use. A block has four matrices $C \times C$ (queries, keys, values, output), a feed-forward layer from $C$ to $I$ and back, a bias for each of the six matrices, and two norms, each with a weight and a bias of $C$ parameters.
#
# Write `albert_sizes(V, E, C, L, I)` for five ints. The result is a dictionary of three ints:
#
# - `"embedding"`: the parameters of the token embeddings and of the projection. Positions, segments and norms are left aside.
# - `"block"`: the parameters that are stored for all layers together.
# - `"products"`: the multiply-adds of **one token** that passes the projection once and all $L$ layers. Only matrices count: biases, norms and attention scores do not, and looking up an embedding costs nothing.
#
# **By hand.** $V = 10$, $E = 2$, $C = 8$, $L = 3$, $I = 16$. The embeddings have 20 parameters, the projection 16 and its bias 8: **44**, where BERT's embeddings have 80. The block: $4 \cdot (64 + 8) = 288$, then $128 + 16$ and $128 + 8$, and two norms of 16: **600**, once. Multiply-adds: 16 for the projection, and in each of three layers $4 \cdot 64 + 128 + 128 = 512$: **1552**.
#
# **Rules**
# 1. $E$ may be equal to $C$, or larger: the projection is there all the same.
# 2. Results may be large: count in ints, no floats.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Which of the three results depend on $L$?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# A matrix of $m$ rows and $n$ columns has $mn$ parameters and makes $mn$ multiply-adds for each token that passes it, each time. A bias has parameters and makes none.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# One stamp with `letters` letters prints a page of `lines` lines.
#
# ```python
# def stamp(letters, lines):
#     return {"letters owned": letters, "letters printed": letters * lines}
# ```
#
# `stamp(5, 40)` owns 5 and prints 200.
#
# </details>
# <details><summary>Fine print</summary>
#
# The five ints are from 1 to a million, for fewer than $10^{18}$ multiply-adds.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "albert_sizes", "locked": false, "schema_version": 3, "solution": true, "task": false}
def albert_sizes(V: int, E: int, C: int, L: int, I: int) -> dict[str, int]:
    """ALBERT's parameters, in the embedding and in its one block, and its multiply-adds for one token."""
    ### BEGIN SOLUTION
    matrices = 4 * C * C + 2 * C * I
    biases = 4 * C + I + C
    norms = 2 * 2 * C
    return {"embedding": V * E + E * C + C, "block": matrices + biases + norms, "products": E * C + L * matrices}
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "albert_sizes-check", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check(albert_sizes)

# %% [markdown] nbgrader={"grade": false, "grade_id": "albert_sizes-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The four sizes of the paper's table 1, each next to the parameters that twelve or twenty-four blocks of their own would have: that is what sharing saves. The last column is what it does not.

# %% nbgrader={"grade": false, "grade_id": "look-albert_sizes", "locked": true, "schema_version": 3, "solution": false, "task": false}
for name, sizes in {"base": (30_000, 128, 768, 12, 3072), "large": (30_000, 128, 1024, 24, 4096), "xlarge": (30_000, 128, 2048, 24, 8192), "xxlarge": (30_000, 128, 4096, 12, 16384)}.items():
    found = attempt(albert_sizes, *sizes)
    if found is not None:
        print(f"ALBERT {name:<8} has {found['embedding'] + found['block']:>12,} parameters; unshared {found['embedding'] + sizes[3] * found['block']:>14,}; multiply-adds per token {found['products']:>14,}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "soft_loss-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 3. Distillation loss
#
# **Why.** This loss made DistilBERT and many of today's small models. A teacher gives a probability to *every* token, the wrong ones included, and the student learns all of them.
#
# **Difficulty** 3 of 5 · **Time** 18 minutes · **Points** 6 · **Paper** Hinton et al. (2015), section 2; Sanh et al. (2019), section 3
#
# For each of $N$ predictions a student and a teacher give $V$ logits. Both are divided by a temperature $\tau$ before the softmax: $q = \mathrm{softmax}(z^{\text{student}} / \tau)$ and $p = \mathrm{softmax}(z^{\text{teacher}} / \tau)$. The loss is the mean over the $N$ predictions of
#
# $$\tau^2 \sum_{v=1}^{V} p_v \,(\log p_v - \log q_v) .$$
#
# A high temperature makes the teacher's order of wrong answers visible. The factor $\tau^2$ keeps the gradient from shrinking with it.
#
# Write `soft_loss(student, teacher, T)`; `student` and `teacher` are float32 `(N, V)`, and `T` is $\tau$, a float. The result is a float32 tensor without axes.
#
# **By hand.** One prediction of three tokens at temperature 2: teacher $(2 \ln 2, 0, 0)$, student $(0, 2 \ln 2, 0)$. Divided by 2 they are $(\ln 2, 0, 0)$ and $(0, \ln 2, 0)$, so $p$ = ½ ¼ ¼ and $q$ = ¼ ½ ¼. The sum is ½ ln 2 − ¼ ln 2 + 0 = ¼ ln 2, and times 4 the loss is **ln 2** = 0.693.
#
# **Rules**
# 1. The teacher's probabilities are the weights: the two arguments must not be exchanged.
# 2. Logits may be anything from −10,000 to 10,000. Where a teacher's probability is 0 in floating point, its term is 0, the limit of $p \log p$.
# 3. The loss is differentiated: its gradient reaches the student's logits.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Over which of the two axes is there a sum, and over which a mean?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Two times `log_softmax` of logits divided by `T`. The weights are `exp` of the teacher's. If you use `kl_div`, look up what its first argument is, and what its `reduction="mean"` divides by.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# The entropy of each row of logits, without ever taking the logarithm of a 0:
#
# ```python
# def entropies(logits):                                        # (N, V) -> (N,)
#     log_p = logits.log_softmax(1)
#     return -(log_p.exp() * log_p).sum(1)
# ```
#
# `entropies(torch.tensor([[0.0, 0.0], [0.0, -1000.0]]))` is ln 2 and 0.
#
# </details>
# <details><summary>Fine print</summary>
#
# Logits are finite; `T` is from 0.5 to 10. $V$ may be 1: the loss is 0.0. Where student and teacher agree, it is 0. The gradient of the teacher's logits is not tested. Digits are compared as in the notebook's fine print, with 0.0001 near 0: at temperature 10 rounding errors are a hundred times as large.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "soft_loss", "locked": false, "schema_version": 3, "solution": true, "task": false}
def soft_loss(student: Float[Tensor, "N V"], teacher: Float[Tensor, "N V"], T: float) -> Float[Tensor, ""]:
    """T² KL(teacher || student) at temperature T, the mean over N predictions."""
    ### BEGIN SOLUTION
    log_q = (student / T).log_softmax(1)
    log_p = (teacher / T).log_softmax(1)
    divergences = (log_p.exp() * (log_p - log_q)).sum(1)                  # (N,)
    return T ** 2 * divergences.mean()
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "soft_loss-check", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
check(soft_loss)

# %% [markdown] nbgrader={"grade": false, "grade_id": "soft_loss-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# A teacher's predictions for *we sat on the [MASK] of the river*, in invented logits: bank 9, shore 7, edge 6, money 1. The higher the temperature, the more a student learns about *shore* and *edge*. The loss is that of a student that knows only that *bank* is right.

# %% nbgrader={"grade": false, "grade_id": "look-soft_loss", "locked": true, "schema_version": 3, "solution": false, "task": false}
teacher, knows_one = torch.tensor([[9.0, 7.0, 6.0, 1.0]]), torch.tensor([[9.0, 1.0, 1.0, 1.0]])
for temperature in (0.5, 1.0, 2.0, 5.0):
    found = attempt(soft_loss, knows_one, teacher, temperature)
    if found is not None:
        print(f"T = {temperature:<3}  teacher {' '.join(f'{one:.3f}' for one in (teacher / temperature).softmax(1)[0].tolist())}   loss {found.item():.3f}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-detecting", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 3. ELECTRA

# %% [markdown] nbgrader={"grade": false, "grade_id": "replace-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 4. Replace tokens
#
# **Why.** ELECTRA's generator fills masks, and its discriminator predicts for *every* token whether it is the original one. This function makes the discriminator's text and its labels.
#
# **Difficulty** 3 of 5 · **Time** 18 minutes · **Points** 6 · **Paper** Clark et al. (2020), section 2
#
# A position is masked where `labels` is not -100, and the label is then the original token. At each masked position the generator gives probabilities $p_0, \dots, p_{V-1}$, and one token is sampled with the help of a random number, the *chance*: the sample is the **first** token $v$ with
#
# $$p_0 + p_1 + \dots + p_v > \text{chance} .$$
#
# Write `replace(ids, labels, probs, chances)`; `ids` and `labels` are int64 `(B, T)`, `probs` is float32 `(B, T, V)`, `chances` is float32 `(B, T)`. The result is a tuple of two tensors `(B, T)`: `filled`, int64, with the sample at each masked position and the id everywhere else; and `replaced`, bool, True where `filled` is **not** the token of the original text. A sample that happens to be the original token is therefore False.
#
# **By hand.** *the bank lends money*, with the ids 0, 1, 2, 3; *river* is 4, and 9 is the mask. Masked are *bank* and *money*.
#
# | position | 0 | 1 | 2 | 3 |
# | --- | --- | --- | --- | --- |
# | `ids` | 0 | 9 | 2 | 9 |
# | `labels` | -100 | 1 | -100 | 3 |
# | `probs` | | 0, .5, 0, 0, .5 | | 0, 0, 0, .5, .5 |
# | `chances` | .3 | **.75** | .9 | **.25** |
# | sums | | 0, .5, .5, .5, **1** | | 0, 0, 0, **.5**, 1 |
# | `filled` | 0 | 4 | 2 | 3 |
# | `replaced` | False | **True** | False | **False** |
#
# **Rules**
# 1. Greater than: with probabilities ½, ½ and the chance .5 the sample is token 1. A token of probability 0 is never sampled, by a chance of 0 neither.
# 2. If no sum is greater than the chance, because of rounding, the sample is the last token, $V - 1$.
# 3. The id at a masked position says nothing: it may be any id. Label 0 is a token like any other; only -100 means *not masked*.
# 4. No position may be masked, and all may be.
#
# <details><summary>Hint 1: a nudge</summary>
#
# How many of the sums are **not** greater than the chance? And what has that number to do with the first that is?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# `probs.cumsum(2) <= chances[..., None]`, counted over the last axis, is the id of the sample; it is at most $V - 1$. Sample at all positions, and keep the samples with `torch.where` at the masked ones only. Another `torch.where` makes the original text; compare the two.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# A lift stops at the first floor at which more people have got in than it carries; `room` is for each lift, `waiting` for each floor of it.
#
# ```python
# def stops_at(waiting, room):                                  # (lifts, floors), (lifts,)
#     return (waiting.cumsum(1) <= room[:, None]).sum(1).clamp(max=waiting.shape[1] - 1)
# ```
#
# `stops_at(torch.tensor([[2, 0, 3, 4]]), torch.tensor([4]))` is 2, where the fifth person gets in.
#
# </details>
# <details><summary>Fine print</summary>
#
# Ids are at least 0, and labels -100 or from 0 to $V - 1$. `probs` are at least 0 and add up to 1, within 0.01, at masked positions; elsewhere `probs` and `chances` say nothing, and the probabilities may all be 0. Chances are from 0 to 1, 1 not included. Unless rule 1 is tested, a chance is no nearer than 0.0001 to a sum.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "replace", "locked": false, "schema_version": 3, "solution": true, "task": false}
def replace(ids: Int[Tensor, "B T"], labels: Int[Tensor, "B T"], probs: Float[Tensor, "B T V"],
            chances: Float[Tensor, "B T"]) -> tuple[Int[Tensor, "B T"], Bool[Tensor, "B T"]]:
    """The text with a sample at each masked position, and where it is not the original text."""
    ### BEGIN SOLUTION
    masked = labels != -100
    below = (probs.cumsum(2) <= chances[..., None]).sum(2)                # (B, T)
    samples = below.clamp(max=probs.shape[2] - 1)
    filled = torch.where(masked, samples, ids)
    return filled, masked & (samples != labels)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "replace-check", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
check(replace)

# %% [markdown] nbgrader={"grade": false, "grade_id": "replace-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# A generator that gives the original token the probability .6, with 15 % of the tokens masked: what fraction of all tokens is replaced in the end? So few of the discriminator's labels are 1.

# %% nbgrader={"grade": false, "grade_id": "look-replace", "locked": true, "schema_version": 3, "solution": false, "task": false}
generator = torch.Generator().manual_seed(7)
ids = torch.randint(0, 50, (200, 64), generator=generator)
labels = torch.where(torch.rand(200, 64, generator=generator) < 0.15, ids, -100)
probs = torch.full((200, 64, 50), 0.4 / 49).scatter(2, ids[..., None], 0.6)
made = attempt(replace, ids, labels, probs, torch.rand(200, 64, generator=generator))
if made is not None:
    print(f"masked {(labels != -100).float().mean():.3f} of all tokens, replaced {made[1].float().mean():.3f}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "electra_loss-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 5. ELECTRA's loss
#
# **Why.** Generator and discriminator are trained together, by one number. One of its parts is a mean over masked positions and the other a mean over all tokens, and padding counts in neither.
#
# **Difficulty** 3 of 5 · **Time** 14 minutes · **Points** 4 · **Paper** Clark et al. (2020), section 2 and appendix A
#
# `gen` holds the generator's logits $z_n$ at the $N$ masked positions of a batch, `truth` the original tokens $x_n$ there. `disc` holds one logit $d$ per token, `replaced` its label $y$, and $\sigma(d) = 1/(1 + e^{-d})$ is the predicted probability of *replaced*. With $M$ tokens that are no padding, the loss is
#
# $$\mathcal{L} = -\frac{1}{N} \sum_{n=1}^{N} \log \mathrm{softmax}(z_n)_{x_n} \; - \; \frac{\lambda}{M} \sum_{\text{tokens}} \big[ y \log \sigma(d) + (1 - y) \log (1 - \sigma(d)) \big] .$$
#
# Write `electra_loss(gen, truth, disc, replaced, mask, weight)`; `gen` is float32 `(N, V)`, `truth` is int64 `(N,)`, `disc` is float32 `(B, T)`, `replaced` and `mask` are bool `(B, T)`, `mask` True at tokens and False at padding, and `weight` is $\lambda$, a float, 50 in the paper. The result is a float32 tensor without axes.
#
# **By hand.** Two masked tokens, to which the generator gave ½ and ⅛: (ln 2 + 3 ln 2) / 2 = 2 ln 2. Four tokens, no padding, and a discriminator that gives the logit 0, that is ½, to each: ln 2. With weight 50: 2 ln 2 + 50 ln 2 = **36.04**.
#
# **Rules**
# 1. Padding may be anywhere. It plays no part, whatever its logit and its label.
# 2. No token may be masked, $N = 0$: the generator's part is then 0.0.
# 3. Logits may be anything from −10,000 to 10,000.
# 4. The loss is differentiated: its gradient reaches `gen` and `disc`.
#
# <details><summary>Hint 1: a nudge</summary>
#
# By which number is each of the two sums divided?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Pick the tokens first: `disc[mask]` and `replaced[mask].float()`. `binary_cross_entropy_with_logits` takes both, and survives a logit of 10,000, where $\log(1 - \sigma(d))$ does not. The mean of no tokens is NaN in torch: divide a sum by at least 1.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# A shop's score: the mean of its stars, plus three times the fraction of orders that were delivered in time. Orders that were cancelled do not count, and there may be no stars yet.
#
# ```python
# def score(stars, in_time, cancelled):                         # (S,), (N,), (N,)
#     rating = stars.sum() / max(len(stars), 1)
#     return rating + 3 * in_time[~cancelled].float().mean()
# ```
#
# `score(torch.tensor([4.0, 5.0]), torch.tensor([True, False, True]), torch.tensor([False, False, True]))` is 4.5 + 1.5 = 6.
#
# </details>
# <details><summary>Fine print</summary>
#
# `truth` is from 0 to $V - 1$, and `weight` from 0 to 100. There is at least one token that is no padding.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "electra_loss", "locked": false, "schema_version": 3, "solution": true, "task": false}
def electra_loss(gen: Float[Tensor, "N V"], truth: Int[Tensor, "N"], disc: Float[Tensor, "B T"], replaced: Bool[Tensor, "B T"],
                 mask: Bool[Tensor, "B T"], weight: float) -> Float[Tensor, ""]:
    """The generator's mean loss at masked positions, plus `weight` times the discriminator's mean loss at all tokens."""
    ### BEGIN SOLUTION
    generating = torch.nn.functional.cross_entropy(gen, truth, reduction="sum") / max(len(gen), 1)
    detecting = torch.nn.functional.binary_cross_entropy_with_logits(disc[mask], replaced[mask].float())
    return generating + weight * detecting
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "electra_loss-check", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(electra_loss)

# %% [markdown] nbgrader={"grade": false, "grade_id": "electra_loss-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The example by hand, and the same discriminator once it is certain and correct at three tokens of four.

# %% nbgrader={"grade": false, "grade_id": "look-electra_loss", "locked": true, "schema_version": 3, "solution": false, "task": false}
gen, truth = torch.tensor([[0.5, 0.5], [1 / 8, 7 / 8]]).log(), torch.tensor([0, 0])
replaced, mask = torch.tensor([[False, True, False, False]]), torch.ones(1, 4, dtype=torch.bool)
for name, disc in {"undecided": torch.zeros(1, 4), "sure": torch.tensor([[-4.0, 4.0, -4.0, 0.0]])}.items():
    found = attempt(electra_loss, gen, truth, disc, replaced, mask, 50.0)
    if found is not None:
        print(f"{name:<9} {found.item():.2f}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-hiding", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 4. Spans and permutations

# %% [markdown] nbgrader={"grade": false, "grade_id": "corrupt-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 6. Span corruption
#
# **Why.** T5 is trained to generate what was removed from a text, span by span. The target is short, so each step is cheap, and a decoder learns to write. Code models that fill in the middle use the same idea.
#
# **Difficulty** 3 of 5 · **Time** 20 minutes · **Points** 7 · **Paper** Raffel et al. (2020), section 3.1.4, figure 2, and section 3.3.4
#
# Removed tokens next to each other are **one span**. The *source* is the text with each span replaced by one sentinel, then the end token. The *target* is each sentinel followed by the tokens of its span, then the end token. Sentinels are counted **downwards** from left to right: the first span has `top`, the second `top` − 1, and so on.
#
# Write `corrupt(ids, lost, top, end)`; `ids` is a list of ints, `lost` a list of bools as long, True where a token is removed, and `top` and `end` are ints. The result is a tuple of two lists of ints, source and target.
#
# **By hand.** *Thank you for inviting me to your party last week*, with the ids 11 to 20. Removed are *for inviting* and *last*; `top` = 99, `end` = 1.
#
# | | |
# | --- | --- |
# | `ids` | 11 12 **13 14** 15 16 17 18 **19** 20 |
# | source | 11 12 **99** 15 16 17 18 **98** 20 1 |
# | target | **99** 13 14 **98** 19 1 |
#
# **Rules**
# 1. The target has no closing sentinel. The paper's figure 2 draws one; the released program makes none, and neither do you.
# 2. The first token may be removed, and the last, and all of them, and none: the target is then `end` alone. A text may be empty.
# 3. Go by positions, not by ids. A text may hold any ids, the same one twice, and those of `end` and of a sentinel.
#
# <details><summary>Hint 1: a nudge</summary>
#
# At which removed tokens does a new span begin?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# One loop over both lists, with a flag that says whether the token before was removed. Where a span begins, the sentinel goes into both lists and the next one is one less. A token then goes into exactly one list. After the loop comes `end`.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# A diary of rain: each dry day is written down, each row of wet days in one entry with its length.
#
# ```python
# def diary(wet):
#     entries, before = [], False
#     for day, rains in enumerate(wet):
#         if rains and before:
#             entries[-1][1] += 1
#         else:
#             entries.append(["rain", 1] if rains else ["dry", day])
#         before = rains
#     return entries
# ```
#
# `diary([True, True, False, True])` is `[["rain", 2], ["dry", 2], ["rain", 1]]`.
#
# </details>
# <details><summary>Fine print</summary>
#
# `top` is at least 200.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "corrupt", "locked": false, "schema_version": 3, "solution": true, "task": false}
def corrupt(ids: list[int], lost: list[bool], top: int, end: int) -> tuple[list[int], list[int]]:
    """Source and target: the text with a sentinel for each removed span, and the sentinels with their spans."""
    ### BEGIN SOLUTION
    source, target, sentinel, before = [], [], top, False
    for token, gone in zip(ids, lost):
        if gone and not before:
            source.append(sentinel)
            target.append(sentinel)
            sentinel -= 1
        (target if gone else source).append(token)
        before = gone
    return [*source, end], [*target, end]
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "corrupt-check", "locked": true, "points": 7, "schema_version": 3, "solution": false, "task": false}
check(corrupt)

# %% [markdown] nbgrader={"grade": false, "grade_id": "corrupt-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The paper's own sentence, twice: as in its figure 2, and with single tokens removed here and there. What does each cost, in tokens to read and to write?

# %% nbgrader={"grade": false, "grade_id": "look-corrupt", "locked": true, "schema_version": 3, "solution": false, "task": false}
words = "Thank you for inviting me to your party last week".split()
names = [*words, "</s>", *(f"<extra_id_{99 - number}>" for number in range(100))]
for gone in ({2, 3, 8}, {0, 2, 4, 6, 8}):
    made = attempt(corrupt, list(range(10)), [place in gone for place in range(10)], 110, 10)
    if made is not None:
        for name, row in zip(("source", "target"), made):
            print(f"{name} ({len(row):>2}): {' '.join(names[id] for id in row)}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "test_corrupt-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 7. Test span corruption
#
# **Why.** Wrong span corruption still trains. The loss falls, and the model learns to answer with sentinels that nobody asked for. Published code has counted sentinels upwards, and has lost the end of every text.
#
# **Difficulty** 4 of 5 · **Time** 20 minutes · **Points** 5 · **Paper** Raffel et al. (2020), section 3.1.4 and figure 2
#
# You get an `implementation` that draws by itself what is removed: `implementation(ids, seed)` returns source and target as in exercise 6. The next cell defines `END`, `FIRST`, `LAST` and `TOP`: ids of a text are from `FIRST` to `LAST`, sentinels from `TOP` downwards, all above `LAST`.
#
# Write `test_corrupt(implementation)`. It fails an `assert` if one of four promises is broken, and does nothing otherwise. A kind earns its points if your test catches all wrong implementations of that kind and accepts every right one:
#
# - *order* (1.5 points): the sentinels of the source are `TOP`, `TOP` − 1, `TOP` − 2, … from left to right, none left out and none twice, and those of the target are the same in the same order;
# - *merging* (1 point): removed tokens next to each other are one span. No two sentinels are neighbours, in the source or in the target, and every sentinel of the target is followed by at least one token;
# - *ends* (1 point): both lists end with `END`, which occurs nowhere else, and the target has no closing sentinel before it;
# - *lost* (1.5 points): of $n$ tokens exactly $15 n / 100$, rounded, are in the target and the others in the source, and the spans, put back at their sentinels, give the original text.
#
# **By hand.** The text 5 6 7 8 9, of which 6 and 8 9 are removed. Source 5 1099 7 1098 1 and target 1098 8 9 1099 6 1 can be put together again without a mistake, sentinel by sentinel. The order is wrong all the same: a decoder would have to begin with the second gap. A test that only restores the text is not enough.
#
# **Rules**
# 1. Right implementations cut as they like: many short spans, or a single long one; the first token may be removed, and the last may be kept. Rejecting a right one earns nothing.
# 2. Complain with `assert` only. Look before you index into a list that may be empty.
# 3. Where $15 n / 100$ lies halfway between two whole numbers, as with 50 or 70 tokens, right ones round as they like: use other $n$.
# 4. A wrong one shows what it is within ten seeds, in a text of 200 different tokens. In a text with repeated tokens it may look right by chance.
#
# <details><summary>Hint 1: a nudge</summary>
#
# From source and target alone you can tell which tokens are sentinels. What does each promise say about these two lists, and which one needs `ids`?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# For ten seeds: check and take off the two `END`s. Collect the sentinels of both lists, tokens above `LAST`, and compare with `TOP - k`. Look at neighbours with `zip(row, row[1:])`, and at the last token of the target. Cut the target into a dictionary from sentinel to span, walk through the source and put each span in; compare with `ids`. Count the tokens of the target that are no sentinels.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# A test for a function that sorts words and returns the position at which each was before.
#
# ```python
# def test_sorting(candidate):
#     words = ["tea", "ink", "oak", "fig"]
#     ordered, places = candidate(list(words))
#     assert [words[place] for place in places] == ordered, "the positions do not lead back"    # true of any order
#     assert sorted(words) == ordered, "not sorted"
#     assert sorted(places) == [0, 1, 2, 3], "a position is named twice"
# ```
#
# </details>
# <details><summary>Fine print</summary>
#
# Allowed are any list of 40 to 300 ints from `FIRST` to `LAST` as `ids`, and any int from 0 to a million as `seed`; a right implementation may refuse anything else. Some return the same for the same seed, and some do not. None writes into its arguments. Any exception other than an AssertionError means that your test is broken, and earns nothing. Returning False instead of failing an `assert` costs a fifth, once. One run of your test may take five seconds: call the implementation some fifty times at most.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "setup-spans", "locked": true, "schema_version": 3, "solution": false, "task": false}
END, FIRST, LAST, TOP = 1, 2, 999, 1099        # in exercise 7: a text's tokens are 2 to 999, sentinels 1099, 1098, ...

# %% nbgrader={"grade": false, "grade_id": "test_corrupt", "locked": false, "schema_version": 3, "solution": true, "task": false}
def test_corrupt(implementation: Callable[[list[int], int], tuple[list[int], list[int]]]) -> None:
    """Fail an assert unless `implementation(ids, seed)` keeps the four promises of the statement."""
    ### BEGIN SOLUTION
    ids = list(range(FIRST, FIRST + 200))
    for seed in range(10):
        source, target = implementation(list(ids), seed)
        assert source[-1:] == target[-1:] == [END], "no end"
        kept, gone = source[:-1], target[:-1]
        sentinels = [token for token in kept if token > LAST]
        assert sentinels == [TOP - number for number in range(len(sentinels))], "sentinels do not count downwards"
        assert [token for token in gone if token > LAST] == sentinels, "the target has other sentinels"
        for row in (kept, gone):
            assert not any(one > LAST and other > LAST for one, other in zip(row, row[1:])), "two sentinels side by side"
        assert gone and gone[-1] <= LAST, "a sentinel with nothing after it"
        assert len(gone) - len(sentinels) == 30, "not 15 % are lost"
        spans = {}
        for token in gone:
            if token > LAST:
                span = spans[token] = []
            else:
                assert spans, "the target begins without a sentinel"
                span.append(token)
        assert [one for token in kept for one in spans.get(token, [token])] == ids, "the text cannot be put back"
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "test_corrupt-check", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check(test_corrupt)

# %% [markdown] nbgrader={"grade": false, "grade_id": "test_corrupt-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Two implementations for your test: your own `corrupt` with single tokens drawn at random, and the same with sentinels that count upwards.

# %% nbgrader={"grade": false, "grade_id": "look-test_corrupt", "locked": true, "schema_version": 3, "solution": false, "task": false}
def cut_by(step: int):
    """Your corrupt; each sentinel is moved so that they go down (step 1) or up (step -1)."""
    def implementation(ids, seed):
        drawn = torch.randperm(len(ids), generator=torch.Generator().manual_seed(seed))[:round(15 * len(ids) / 100)].tolist()
        source, target = corrupt(ids, [place in drawn for place in range(len(ids))], TOP, END)
        return tuple([token if token <= LAST else TOP - step * (TOP - token) for token in row] for row in (source, target))
    return implementation


for name, step in (("as it should be", 1), ("counted upwards", -1)):
    try:
        attempt(test_corrupt, cut_by(step))
        print(f"{name}: your test stays silent, if it is written")
    except AssertionError as complaint:
        print(f"{name}: your test complains: {complaint}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "who_sees-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 8. The mask of a permutation
#
# **Why.** XLNet predicts the tokens of a text in an order that is drawn at random. The text itself is never shuffled: all that the order changes is this mask.
#
# **Difficulty** 2 of 5 · **Time** 10 minutes · **Points** 4 · **Paper** Yang et al. (2019), section 2.2
#
# `order[0]` is the position that is predicted first, `order[1]` the one that is predicted second, and so on. Position $i$ attends to position $j$ if $j$ comes **before** $i$ in the order, anywhere in the text, and never to itself: its own token is the answer.
#
# Write `who_sees(order)`; `order` is int64 `(T,)` and holds each of 0 to $T - 1$ once. The result is bool `(T, T)`, True in row $i$, column $j$ where position $i$ attends to position $j$.
#
# **By hand.** `order` = 2, 0, 3, 1. Position 2 is predicted first and attends to nothing. Position 0 attends to 2, position 3 to 2 and 0, position 1 to all others.
#
# | | 0 | 1 | 2 | 3 |
# | --- | :-: | :-: | :-: | :-: |
# | **0** | | | True | |
# | **1** | True | | True | True |
# | **2** | | | | |
# | **3** | True | | True | |
#
# **Rules**
# 1. For `order` = 0, 1, 2, … the result is GPT's mask without its diagonal.
# 2. $T$ may be 1: one position, which attends to nothing.
#
# <details><summary>Hint 1: a nudge</summary>
#
# `order` answers "who is third?". Which question would you rather have answered for two positions $i$ and $j$?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# `argsort` of `order` gives each position its turn. Then compare turns, every one with every other: one as a row, one as a column.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# Who finished a race before whom? `finish` lists the runners in the order in which they came in.
#
# ```python
# def beaten(finish):                                           # row: a runner; column: True where that one was slower
#     rank = finish.argsort()
#     return rank[:, None] < rank[None, :]
# ```
#
# `beaten(torch.tensor([1, 0]))` is True in row 1, column 0: runner 1 beat runner 0.
#
# </details>
# <details><summary>Fine print</summary>
#
# $T$ is from 1 to 300.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "who_sees", "locked": false, "schema_version": 3, "solution": true, "task": false}
def who_sees(order: Int[Tensor, "T"]) -> Bool[Tensor, "T T"]:
    """Row i, column j: whether position j is predicted before position i."""
    ### BEGIN SOLUTION
    turns = order.argsort()
    return turns[None, :] < turns[:, None]
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "who_sees-check", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(who_sees)

# %% [markdown] nbgrader={"grade": false, "grade_id": "who_sees-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Over all 24 orders of four positions: how often does one attend to another? All do so equally often, and on average each attends to half of the others, from both sides.

# %% nbgrader={"grade": false, "grade_id": "look-who_sees", "locked": true, "schema_version": 3, "solution": false, "task": false}
from itertools import permutations

tables = [attempt(who_sees, torch.tensor(order)) for order in permutations(range(4))]
if tables[0] is not None:
    print(torch.stack(tables).sum(0))

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-long", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 5. Sliding-window attention

# %% [markdown] nbgrader={"grade": false, "grade_id": "window_attention-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 9. Sliding-window attention
#
# **Why.** If every token attends to every other, 4,096 tokens make 16.8 million scores per head. A window keeps 33 of 4,096 for each token, if the code never computes the others. Longformer, Gemma 3 and ModernBERT have such windows.
#
# **Difficulty** 5 of 5 · **Time** 40 minutes · **Points** 9 · **Paper** Beltagy et al. (2020), section 3.1 (there, global tokens have projections of their own; here they share the others')
#
# Query $i$ attends to key $j$ if $|i - j| \le s$, or $j$ is global, or $i$ is global. With $S_i$ the set of these keys, each taken **once**, and $D$ the head dimension,
#
# $$y_i = \sum_{j \in S_i} w_{ij} v_j, \qquad w_{ij} = \frac{\exp(q_i \cdot k_j / \sqrt{D})}{\sum_{l \in S_i} \exp(q_i \cdot k_l / \sqrt{D})} .$$
#
# Write `window_attention(q, k, v, side, is_global)`; `q`, `k` and `v` are float32 `(H, T, D)`, `side` is $s$, an int of at least 0, and `is_global` is bool `(T,)`. The result is float32 `(H, T, D)`; every head is computed by itself.
#
# **By hand.** One head, $D = 1$, five tokens, $s = 1$, the last token global. All queries are 0, so all keys in $S_i$ weigh the same. The values are 0, 3, 6, 9, 12.
#
# | query | attends to | result |
# | --- | --- | --- |
# | 0 | 0, 1 and 4 | 15 / 3 = **5** |
# | 1 | 0, 1, 2 and 4 | 21 / 4 = **5.25** |
# | 2 | 1, 2, 3 and 4 | 30 / 4 = **7.5** |
# | 3 | 2, 3, 4 (once, though it is near *and* global) | 27 / 3 = **9** |
# | 4 | all | 30 / 5 = **6** |
#
# **Rules**
# 1. *Memory.* The last stage gives one call 14 MiB for everything that it makes: $H = 1$, $T = 2000$, $D = 8$, $s = 16$ and at most four global tokens. One matrix of $2000 \times 2000$ floats takes 15 MiB by itself; a mask on such a matrix saves nothing. Work on chunks of the text: 2,000 queries one by one are too slow.
# 2. `scaled_dot_product_attention` and `flex_attention` are not allowed: they would hide what this exercise is about.
# 3. $s$ may be 0, or $T$ and larger. No token may be global, and all may be.
# 4. Scores may be as large as 10,000.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Take the queries 100 to 163 alone. Which keys can they attend to at all, and how many are these, whatever $T$ is?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Go through the queries in chunks of, say, 64. For the chunk from `start` to `stop`, the near keys are those from `start - side` to `stop + side`, cut off at both ends of the text. Append the global keys. Minus infinity goes to near keys that are too far from a query, and to near keys that are global as well: they are appended already. One softmax over both. At the end the rows of the few global tokens are computed over all keys and written over the earlier ones.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# The mean of each number and its neighbours, chunk by chunk, without a table of all pairs:
#
# ```python
# def smoothed(x, side, size=64):                               # (T) -> (T)
#     out = torch.empty_like(x)
#     for start in range(0, len(x), size):
#         rows = torch.arange(start, min(start + size, len(x)))
#         near = torch.arange(max(0, start - side), min(len(x), start + size + side))
#         seen = ((rows[:, None] - near).abs() <= side).float()
#         out[rows] = seen @ x[near] / seen.sum(1)
#     return out
# ```
#
# `smoothed(torch.tensor([0.0, 3.0, 6.0]), 1)` is 1.5, 3, 4.5.
#
# </details>
# <details><summary>Fine print</summary>
#
# $T$ may be 1. With $s = 0$ each token attends to itself and to the global ones. Apart from the memory stage, sizes are those of the notebook's fine print.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "window_attention", "locked": false, "schema_version": 3, "solution": true, "task": false}
def window_attention(q: Float[Tensor, "H T D"], k: Float[Tensor, "H T D"], v: Float[Tensor, "H T D"], side: int,
                     is_global: Bool[Tensor, "T"]) -> Float[Tensor, "H T D"]:
    """Attention in a window to both sides, with global tokens, and without a T x T matrix."""
    ### BEGIN SOLUTION
    out, scale = torch.empty_like(q), q.shape[2] ** -0.5
    chosen = is_global.nonzero()[:, 0]                                    # (G,)
    for rows in torch.arange(q.shape[1]).split(128):
        near = torch.arange(max(int(rows[0]) - side, 0), min(int(rows[-1]) + side + 1, q.shape[1]))
        seen = ((rows[:, None] - near).abs() <= side) & ~is_global[near]
        seen = torch.cat((seen, torch.ones(len(rows), len(chosen), dtype=torch.bool)), 1)
        keys = torch.cat((near, chosen))
        scores = scale * (q[:, rows] @ k[:, keys].transpose(1, 2))        # (H, 128, at most 128 + 2 side + G)
        out[:, rows] = scores.masked_fill(~seen, -torch.inf).softmax(2) @ v[:, keys]
    out[:, chosen] = (scale * (q[:, chosen] @ k.transpose(1, 2))).softmax(2) @ v
    return out
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "window_attention-check", "locked": true, "points": 9, "schema_version": 3, "solution": false, "task": false}
check(window_attention)

# %% [markdown] nbgrader={"grade": false, "grade_id": "window_attention-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Attention with a window of 32 to each side, by your function, and by all scores with a mask. The numbers agree. First the number of pairs in the pattern, of all; the times are those of your machine.

# %% nbgrader={"grade": false, "grade_id": "look-window_attention", "locked": true, "schema_version": 3, "solution": false, "task": false}
import time

for T in (512, 2048):
    generator = torch.Generator().manual_seed(T)
    q, k, v = torch.randn(3, 4, T, 8, generator=generator)
    is_global = torch.arange(T) == 0
    started = time.perf_counter()
    yours = attempt(window_attention, q, k, v, 32, is_global)
    seconds = time.perf_counter() - started
    if yours is not None:
        places = torch.arange(T)
        started = time.perf_counter()
        seen = ((places[:, None] - places).abs() <= 32) | is_global | is_global[:, None]
        dense = (q @ k.transpose(1, 2) / 8**0.5).masked_fill(~seen, -torch.inf).softmax(2) @ v
        print(f"T = {T}: {int(seen.sum()):>7,} of {T * T:>9,} pairs; largest difference {(yours - dense).abs().max():.0e}; you {seconds:.3f} s, with a mask {time.perf_counter() - started:.3f} s")

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-own-words", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 6. In your own words

# %% [markdown] nbgrader={"grade": false, "grade_id": "which_encoder-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 10. Which encoder?
#
# **Why.** Nobody needs the best model. They need one that fits a phone, a budget or a text, and somebody who can say what it costs.
#
# **Difficulty** 3 of 5 · **Time** 15 minutes · **Points** 5, given by a person who reads it · **Paper** those of this chapter
#
# Four people ask you. Each has BERT-base working already, but cannot use it as it is:
#
# 1. a maker of phones: *each message has to be sorted in half the time that BERT needs. The model may be as large as it likes.*
# 2. a maker of toys: *the model has to fit into a download of 25 MB, two bytes per parameter. It may take as long as BERT.*
# 3. a court: *rulings of 4,000 tokens, and the sentence that decides may be anywhere.*
# 4. a museum: *we have texts of our own time that no model has read, and one machine for a week to pre-train on them. Then we sort them by theme.*
#
# In about 200 words: what do you give to each, a relative of BERT or a way to train, and by which mechanism does it meet the need? And for at least two of them: what is lost, or what is **not** gained, that somebody might expect?
#
# {{rubric}}
#
# Short is fine. Correct and concrete beats long.
#
# <details><summary>Hint 1: a nudge</summary>
#
# For each of the four: are there too many parameters, too many multiply-adds, too many tokens or too little training text?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# What you computed in exercise 2 says which model helps the toy and not the phone. How many tokens of a text give a loss in exercise 5, and how many in BERT?
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# *A library asks for a smaller catalogue.* If the shelf is full, print it in smaller type: it takes less room and as long to read. If readers wait too long, leave out entries: it is read faster, and some books are no longer found. What helps one does nothing for the other.
#
# </details>

# %% [markdown] nbgrader={"grade": true, "grade_id": "which_encoder", "locked": false, "points": 5, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# {{samples}}
# ### END SOLUTION

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-real", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Your code runs the real thing
#
# Nothing to write here. Run the cells and watch; they take about a minute.
#
# First your `window_attention` replaces the attention in MiniLM, which was trained without a window, and reads 512 tokens.
# Then your `replace` fills masks with samples of the small BERT of chapter 5, and two small ELECTRAs, which were trained here, detect them.
# Last, your `soft_loss` trains a student of one block with that BERT as its teacher, next to a twin that learns from the labels of the same masks.

# %% nbgrader={"grade": false, "grade_id": "real-window", "locked": true, "schema_version": 3, "solution": false, "task": false}
import time

from course.demo import ready
from reference_impl.corpora import load
from reference_impl.corpora.small_models import small_model


class InWindow(torch.nn.Module):
    """An attention with its own projections, and your `window_attention` between them."""

    def __init__(self, theirs, side: int, is_global: Bool[Tensor, "T"]):
        super().__init__()
        self.theirs, self.side, self.is_global = theirs, side, is_global

    def forward(self, x: Float[Tensor, "1 T C"], mask=None, packing=None) -> Float[Tensor, "1 T C"]:
        q, k, v = (part(x)[0].unflatten(1, (self.theirs.num_heads, -1)).transpose(0, 1) for part in (self.theirs.query, self.theirs.key, self.theirs.value))
        return self.theirs.output(window_attention(q, k, v, self.side, self.is_global).transpose(0, 1).flatten(1)[None])


@torch.no_grad()
def text_vector(model, ids: Int[Tensor, "1 T"], side: int | None = None, first_is_global: bool = False) -> Float[Tensor, "C"]:
    """The mean of the tokens' vectors; with a side, every block attends by your function."""
    theirs = [block.attention for block in model.blocks]
    is_global = (torch.arange(ids.shape[1]) == 0) & first_is_global
    try:
        if side is not None:
            for block in model.blocks:
                block.attention = InWindow(block.attention, side, is_global)
        return model(ids).tokens[0].mean(0)
    finally:
        for block, attention in zip(model.blocks, theirs):
            block.attention = attention


def likeness_by_side(model, ids: Int[Tensor, "1 T"], sides: list[int]) -> dict[int, tuple[float, float]]:
    """By side: the cosine of the text's vector with that of full attention, without global tokens and with the first one global."""
    whole = text_vector(model, ids)
    return {side: tuple(torch.cosine_similarity(whole, text_vector(model, ids, side, first), dim=0).item() for first in (False, True)) for side in sides}

# %% nbgrader={"grade": false, "grade_id": "real-window-run", "locked": true, "schema_version": 3, "solution": false, "task": false}
if ready(window_attention, needs=["minilm", "bert_tokenizer", "kjv"]):
    minilm, tokenizer = load("minilm").eval(), load("bert_tokenizer")
    text = " ".join(load("kjv").splitlines()[:40])                         # any text of more than 512 tokens
    ids = torch.tensor([tokenizer.encode(text).ids[:511] + tokenizer.encode("").ids[-1:]])
    started = time.perf_counter()
    alike = likeness_by_side(minilm, ids, [511, 128, 64, 32, 16])
    print(f"{ids.shape[1]} tokens through MiniLM, {2 * len(alike) + 1} times, in {time.perf_counter() - started:.1f} s; cosine with the vector of full attention")
    for side, (alone, first) in alike.items():
        print(f"side {side:>3}: window alone {alone:.3f}, with [CLS] global {first:.3f}")
    cut = torch.cosine_similarity(text_vector(minilm, ids), text_vector(minilm, torch.cat((ids[:, :127], ids[:, -1:]), 1)), dim=0)
    print(f"the first 128 tokens, read with full attention, and nothing else: {cut:.3f}")

# %% nbgrader={"grade": false, "grade_id": "real-replace", "locked": true, "schema_version": 3, "solution": false, "task": false}
from reference_impl.objectives.replaced_token import sample


def held_out(text: str) -> list[str]:
    """Lines of the eleventh hundredth of the text, which no model here was trained on."""
    size = -(-len(text) // 100)
    return text[10 * size:11 * size].splitlines()[1:]


@torch.no_grad()
def examined(rows: list[list[int]], seed: int) -> dict[str, Tensor]:
    """Verses with 15 % masked, filled by the small BERT's samples and your `replace`, and a logit for each token: of the ELECTRA that started from a BERT, and of the one from random weights."""
    generator = torch.Generator().manual_seed(seed)
    ids = torch.tensor(rows)
    labels = torch.where(torch.rand(ids.shape, generator=generator) < 0.15, ids, -100)
    chances = torch.rand(ids.shape, generator=generator)
    logits = small_model("bert_kjv").model(ids.masked_fill(labels != -100, 4))
    filled, replaced = replace(ids.masked_fill(labels != -100, 4), labels, logits.softmax(2), chances)
    theirs = ids.masked_scatter(labels != -100, sample(logits[labels != -100], chances[labels != -100]))
    return {"ids": ids, "labels": labels, "filled": filled, "replaced": replaced, "theirs": theirs, "suspicion": small_model("electra_kjv_stages").model(filled),
            "untaught": small_model("electra_kjv").model(filled)}


def found_by(scores: Float[Tensor, "N"], replaced: Bool[Tensor, "N"]) -> float:
    """How often a replaced token has a higher score than one that was not: .5 is chance (the area under the ROC curve)."""
    high, low = scores[replaced], scores[~replaced]
    return ((high[:, None] > low).float().mean() + 0.5 * (high[:, None] == low).float().mean()).item()

# %% nbgrader={"grade": false, "grade_id": "real-replace-run", "locked": true, "schema_version": 3, "solution": false, "task": false}
if ready(replace, needs=["kjv"]):
    tokenizer = small_model("bert_kjv").tokenizer
    tokens = [id for verse in held_out(load("kjv")) for id in tokenizer.encode(verse, add_specials=False, specials_in_text=False).ids]
    exam = examined([tokens[start:start + 32] for start in range(0, len(tokens) - 31, 32)], 7)
    masked, replaced = exam["labels"] != -100, exam["replaced"]
    print(f"{len(exam['ids'])} sequences of 32 tokens; {(exam['filled'] == exam['theirs']).float().mean():.4f} of the tokens are those that the course's own sampling gives")
    print(f"masked {masked.float().mean():.3f} of all tokens, replaced {replaced.float().mean():.3f}: {1 - replaced.sum() / masked.sum():.0%} of the samples were correct")
    rare = -torch.bincount(exam["filled"].flatten(), minlength=2000).float()[exam["filled"]]
    print(f"a replaced token is more suspicious than another: chance 0.5, by rarity alone {found_by(rare.flatten(), replaced.flatten()):.3f}, "
          f"an ELECTRA from random weights {found_by(exam['untaught'].flatten(), replaced.flatten()):.3f}, one that started from a BERT {found_by(exam['suspicion'].flatten(), replaced.flatten()):.3f}")
    words = [tokenizer.vocabulary.token(id) for id in exam["filled"][0].tolist()]
    print(" ".join(f"{word}[{suspect.sigmoid():.2f}{' replaced' if was else ''}]" if suspect > -1 or was else word for word, suspect, was in zip(words, exam["suspicion"][0], replaced[0])))

# %% nbgrader={"grade": false, "grade_id": "real-teach", "locked": true, "schema_version": 3, "solution": false, "task": false}
from reference_impl.models.bert import BertForMaskedLM
from reference_impl.objectives.masked_lm import Masking, chosen_terms


def one_block() -> BertForMaskedLM:
    """A BERT of one block, which starts with the teacher's embeddings, first block and head."""
    import dataclasses

    teacher = small_model("bert_kjv").model
    student = BertForMaskedLM(dataclasses.replace(teacher.config, num_layers=1))
    student.load_state_dict({name: tensor for name, tensor in teacher.state_dict().items() if name in student.state_dict()})
    return student


def batch_of(tokens: Int[Tensor, "N"], seed: int, rows: int = 32) -> tuple[Int[Tensor, "B T"], Int[Tensor, "B T"]]:
    """Sequences of 32 tokens from random positions, masked as BERT's are: ids and labels."""
    generator = torch.Generator().manual_seed(seed)
    starts = torch.randint(len(tokens) - 32, (rows,), generator=generator)
    return Masking(4, 2000, range(5)).mask_tokens(tokens[starts[:, None] + torch.arange(32)], generator)


@torch.no_grad()
def held_out_loss(model, held: Int[Tensor, "N"]) -> float:
    """The MLM loss on text that was not trained on."""
    ids, labels = batch_of(held, 999, 400)
    return chosen_terms(model(ids), labels).mean.item()


def taught(tokens: Int[Tensor, "N"], held: Int[Tensor, "N"], steps: int) -> dict[str, float]:
    """MLM loss of the teacher, of the student before, and of two that saw the same masks: with your `soft_loss`, and with the labels."""
    teacher, before, yours, labelled = small_model("bert_kjv").model, one_block(), one_block(), one_block()
    optimizers = [torch.optim.AdamW(model.parameters(), lr=1e-3) for model in (yours, labelled)]
    for step in range(steps):
        ids, labels = batch_of(tokens, step)
        asked = labels != -100
        with torch.no_grad():
            soft = teacher(ids)[asked]
        for loss, optimizer in zip((soft_loss(yours(ids)[asked], soft, 2.0), chosen_terms(labelled(ids), labels).mean), optimizers):
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return {name: held_out_loss(model, held) for name, model in {"the teacher, two blocks": teacher, "one block, before": before, "trained with your soft_loss": yours,
                                                                      "trained on the labels": labelled}.items()}

# %% nbgrader={"grade": false, "grade_id": "real-teach-run", "locked": true, "schema_version": 3, "solution": false, "task": false}
if ready(soft_loss, needs=["kjv"]):
    tokenizer = small_model("bert_kjv").tokenizer
    lines = load("kjv").splitlines()
    def as_ids(part: list[str]) -> Int[Tensor, "N"]:
        """The verses as one row of tokens."""
        return torch.tensor([id for line in part for id in tokenizer.encode(line, add_specials=False, specials_in_text=False).ids])
    started = time.perf_counter()
    found = taught(as_ids(lines[:3000]), as_ids(held_out(load("kjv"))), 150)
    print(f"150 steps of two students in {time.perf_counter() - started:.0f} s; MLM loss in nats on text that none of them was trained on")
    for name, nats in found.items():
        print(f"{nats:.3f}  {name}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "real-end", "locked": true, "schema_version": 3, "solution": false, "task": false}
# With a side of 511 every token attends to every other, and the vector is that of full attention to the last digits. A narrower window changes it, since MiniLM never learned to work with one; one global token recovers part of it, because it carries information across the text in two layers. A Longformer is trained with its windows, which is not done here.
# The suspicion is that of small models that were trained for a few minutes, on other samples than these. Compare it with rarity, which needs no model at all. Samples of a finished BERT are hard to distinguish from the original, as the chapter's page on ELECTRA found.
# The last two lines say whether the teacher's distribution taught more than the correct token alone, for this text, this size and this number of steps. This teacher is small itself: what it does not know, no student learns from it, and the labels are always correct.

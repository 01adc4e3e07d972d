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
# # Chapter 14. Paged attention: the exercises
#
# In this notebook you compute cache memory, write a block manager with reference counts, copy-on-write and prefix caching, and three Triton kernels that write into blocks and attend through block tables.
# At the end your classes and kernels serve a small GPT and SmolLM2.
#
# There are 9 exercises and 54 points. Plan about 174 minutes, in as many sittings as you like.
#
# | Part | Exercises | Minutes | Points |
# | --- | --- | --- | --- |
# | Cache memory and slots | 1 to 2 | 22 | 8 |
# | Block manager and prefix caching | 3 to 5 | 84 | 24 |
# | Triton kernels | 6 to 8 | 58 | 18 |
# | In your own words | 9 | 10 | 4 |
# | Your code runs the real thing | nothing to write | 2 | 0 |
#
# **How it works.**
# 1. Read the statement, write the function in the cell below it, and run the check under that cell as often as you like.
# 2. A check's first line names the likely cause, its second a small input that fails. Stuck? Open the three hints in order; the third solves a similar problem.
# 3. Grading runs the same checks with other sizes and values. The smallest sizes are always among them. Exercises 6 to 8 need Triton on Linux.
#
# **Symbols.** $B$ sequences, $H$ query heads, $K$ KV heads, $D$ head dimension. A cache has $b$ blocks of $s$ slots, one slot per token.
#
# <details><summary>Fine print</summary>
#
# - *Arguments.* Leave them unchanged, except those that a kernel writes into. Return something new: neither an argument or a part of one nor a result of an earlier call.
# - *Types.* Return the type, dtype and shape that the statement names; a dictionary has the named keys and no others, in any order. An `int` may be given for a `float`, but a bool does not count as a number. Raise exactly the named exception class, not a subclass of your own. Correct values in another type or dtype, with an axis of length 1 too many or too few, or with an extra key, lose a fifth of the exercise's points, once. So does an answer that breaks *Arguments*.
# - *Precision.* Integers are compared exactly. Floats are compared to four digits, and to 0.00001 near 0, unless a statement says otherwise.
# - *Calls.* The result of a function depends only on the arguments: not on earlier calls, and not on chance. Calls may come in any order. Objects of a class are independent of each other.
# - *Classes.* The checks of the two classes run random commands. When something goes wrong, they search for a shortest run of commands that still fails, and draw it.
# - *Tools.* You may use anything in torch, numpy and the standard library, unless a statement says otherwise. Not allowed are the course's own engine, kernels, layers and models, and torch's fused attention.
# - *Kernels.* In this notebook they run in Triton's interpreter, on any CPU. The checks also compile a kernel for a GPU, which needs no GPU and takes some seconds. The interpreter accepts some things that a compiler does not: the rules of the kernels and the statements say which.
# - *On macOS or Windows.* Triton has wheels for Linux only. Exercises 1 to 5 and 9 do not need it. For 6 to 8 use Linux: a server, WSL, a container, or a free notebook on the web; in any case, submissions are graded on Linux. The setup cell reports whether Triton is installed.
# - *Time.* A call may take five seconds.
# - *Smallest sizes.* Grading always includes one block, one token, and none at all.
# - *Arguments are as promised.* Your function need not check what a statement promises after **In**. You may add cells anywhere: helpers, prints, plots.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
import os
import sys

if "ipykernel" in sys.modules and "get_ipython" in globals():                    # in a notebook kernels are interpreted, on the CPU; Triton looks for this when it is imported
    os.environ["TRITON_INTERPRET"] = "1"

import hashlib

import torch
from jaxtyping import Float, Int
from torch import Tensor

try:
    import triton
    import triton.language as tl
except ModuleNotFoundError:                       # then a kernel is a function that nothing calls
    from types import SimpleNamespace
    triton, tl = SimpleNamespace(jit=lambda kernel: kernel), SimpleNamespace(constexpr=object)
    print("Triton is not here: it has wheels for Linux only. Exercises 1 to 5 and 9 work; for 6 to 8 take this notebook to Linux.")

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

progress("14")                                 # follows your checks

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-places", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 1. Cache memory and slots

# %% [markdown] nbgrader={"grade": false, "grade_id": "predict_pool-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 1. Reserved memory
#
# **Why.** Memory that is reserved and stays empty could have served other requests. The authors of vLLM began with this count.
#
# **Difficulty** 2 of 5 · **Time** 12 minutes · **Points** 4 · **Paper** Kwon et al. (2023), sections 3.1 and 4.1
#
# A KV cache stores a key and a value per layer and KV head for every token. For $n$ sequences of lengths $T_i$, a contiguous cache reserves `room` slots each, and a paged cache as many blocks of $B$ slots as the sequence needs:
#
# $$ R_{\text{contiguous}} = n \cdot \text{room}, \qquad R_{\text{paged}} = B \sum_i \lceil T_i / B \rceil . $$
#
# Write `predict_pool(lengths, block_size, room, layers, heads, kv_heads, head_dim, bits)`. The model has `layers` layers, `heads` query heads and `kv_heads` KV heads of dimension `head_dim`, stored in `bits` bits per value. Return a dictionary:
#
# - `"token"`: bytes per token, all layers together, an int;
# - `"contiguous"`: bytes reserved in the contiguous cache, an int;
# - `"paged"`: bytes reserved in blocks, which are not shared, an int;
# - `"empty"`: the fraction of the **slots in these blocks** that hold no token, a float; 0.0 without blocks.
#
# **By hand.** Lengths 8, 4, 11 and 1, blocks of 4, room for 16; 30 layers, 9 query heads, 3 KV heads of dimension 64, 16 bits. *Token*: 2 · 30 · 3 · 64 · 2 = **23,040**. *Contiguous*: 64 slots, **1,474,560**. *Paged*: 2 + 1 + 3 + 1 = 7 blocks, 28 slots, **645,120**. *Empty*: 4 of 28 slots, **.1429**.
#
# **Rules**
# 1. A sequence of length 0 takes no block. A contiguous cache reserves its room all the same.
# 2. Bytes may exceed what a float holds exactly: count them in ints.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Which of the model's sizes say what is stored for a token, and which one plays no part?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# A token stores a key and a value in each layer, for each KV head. Blocks of one sequence: its length over `block_size`, rounded **up**. The sum over the sequences, times `block_size`, is the number of slots. What is empty is 1 - tokens / slots.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# Groups of guests at tables of `size` seats, each group by itself.
#
# ```python
# def tables_for(groups, size):
#     tables = sum((guests + size - 1) // size for guests in groups)
#     return {"tables": tables, "free seats": tables * size - sum(groups)}
# ```
#
# `tables_for([5, 2], 4)` is 3 tables and 5 free seats.
#
# </details>
# <details><summary>Fine print</summary>
#
# `lengths` has 0 to 1000 ints, from 0 to `room`; `block_size` and `room` are from 1 to a million, and a block may be larger than the room; the model's four sizes are from 1 to 1024; `bits` is 4, 8, 16 or 32; all bytes together are fewer than $2^{63}$.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "predict_pool", "locked": false, "schema_version": 3, "solution": true, "task": false}
def predict_pool(lengths: list[int], block_size: int, room: int, layers: int, heads: int, kv_heads: int, head_dim: int, bits: int) -> dict[str, int | float]:
    """Bytes per token, bytes reserved contiguously and in blocks, and the fraction of the blocks' slots that is empty."""
    ### BEGIN SOLUTION
    token = 2 * layers * kv_heads * head_dim * bits // 8
    slots = block_size * sum(-(-length // block_size) for length in lengths)
    empty = (slots - sum(lengths)) / slots if slots else 0.0
    return {"token": token, "contiguous": token * room * len(lengths), "paged": token * slots, "empty": empty}
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "predict_pool-check", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(predict_pool)

# %% [markdown] nbgrader={"grade": false, "grade_id": "predict_pool-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The first thousand of the King James Bible's verses in words, SmolLM2's cache. The blocks grow until each is as long as the room; then the paged cache is the contiguous one.

# %% nbgrader={"grade": false, "grade_id": "look-predict_pool", "locked": true, "schema_version": 3, "solution": false, "task": false}
from reference_impl.corpora import load

verses = [len(verse.split()) for verse in load("kjv").splitlines()[:1000]]
for block_size in (1, 4, 16, 64, 256, 2048):
    found = attempt(predict_pool, verses, block_size, 2048, 30, 9, 3, 64, 16)
    if found is not None:
        print(f"blocks of {block_size:>4}: {found['paged'] / 2**30:>6.2f} GiB instead of {found['contiguous'] / 2**30:.2f}; {found['empty']:.1%} of the slots are empty")

# %% [markdown] nbgrader={"grade": false, "grade_id": "slots-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 2. Slots
#
# **Why.** Every token's key and value are written to one index, its slot. Everything that reads or writes the cache begins with this line, and an index that is off by one is another user's text.
#
# **Difficulty** 2 of 5 · **Time** 10 minutes · **Points** 4 · **Paper** Kwon et al. (2023), section 4.2 and figure 6
#
# A cache has blocks of $B$ slots, numbered through: block 0 has the first $B$ slots, block 1 the next. A sequence's **block table** lists its blocks in order; its first entry holds tokens 0 to $B - 1$, the next one those after:
#
# $$ \text{slot}(t) = \text{table}[\lfloor t / B \rfloor] \cdot B + t \bmod B . $$
#
# Write `slots(table, first, count, block_size)`: the slots of `count` tokens of the sequence, beginning with token `first`. `table` is int64 $(M)$, the result int64 `(count)`.
#
# **By hand.** Blocks of 4, the table [7, 2, 5]. Token 9 is in the third entry, block 5, at offset 1: slot 5 · 4 + 1 = **21**. Tokens 2 to 5 are in slots **30, 31, 8, 9**.
#
# **Rules**
# 1. The table may be longer than needed, and padded with -1 after the sequence's blocks. No token that is asked for lies there.
# 2. Slots may be larger than $2^{31}$.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Write down for tokens 0 to 11 of the case by hand: which entry of the table, and which offset in that block?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# `torch.arange(first, first + count)` are the tokens. Divided by the block size, rounded down, each gives an entry of the table; the remainder is the offset. A tensor of entries can index the table at once.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# A novel was printed in booklets of so many pages, and the booklets lie on a shelf in some order. Which sheet is page p?
#
# ```python
# def sheets(lying, pages, size):
#     return [lying[page // size] * size + page % size for page in pages]
# ```
#
# `sheets([1, 0], [0, 3], 2)` is `[2, 1]`.
#
# </details>
# <details><summary>Fine print</summary>
#
# $M$ is from 1 to 300, block numbers are up to $2^{40}$; `first` is 0 or more, `count` from 1 to 5000, `block_size` from 1 to 300.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "slots", "locked": false, "schema_version": 3, "solution": true, "task": false}
def slots(table: Int[Tensor, " M"], first: int, count: int, block_size: int) -> Int[Tensor, " count"]:
    """The slots of these tokens of a sequence."""
    ### BEGIN SOLUTION
    tokens = torch.arange(first, first + count)
    return table[tokens // block_size] * block_size + tokens % block_size
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "slots-check", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(slots)

# %% [markdown] nbgrader={"grade": false, "grade_id": "slots-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The case by hand, and what a sequence of 12 tokens has in all.

# %% nbgrader={"grade": false, "grade_id": "look-slots", "locked": true, "schema_version": 3, "solution": false, "task": false}
table = torch.tensor([7, 2, 5])
for first, count in ((9, 1), (2, 4), (0, 12)):
    found = attempt(slots, table, first, count, 4)
    if found is not None:
        print(f"tokens {first} to {first + count - 1}: {found.tolist()}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-blocks", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 2. Block manager and prefix caching

# %% [markdown] nbgrader={"grade": false, "grade_id": "Blocks-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 3. Block manager
#
# **Why.** An engine asks this class before it computes anything. It moves no data; it says which block belongs to which sequence. A slip here hands one user's text to another.
#
# **Difficulty** 4 of 5 · **Time** 42 minutes · **Points** 12 · **Paper** Kwon et al. (2023), sections 4.2 to 4.4, figures 6 and 8
#
# Sequences share blocks, and each block has a **reference count**: the number of block tables that contain it. A writer copies a shared block first (**copy-on-write**).
#
# Write the class `Blocks(num_blocks, block_size)`, with blocks numbered from 0, and
#
# - `tables`: a dictionary from each sequence's name to the list of its blocks, in the order of its tokens;
# - `num_free`: how many blocks no sequence holds, an int;
# - `allocate(name, count)`: a new sequence of `count` tokens. It takes as many blocks as these need, and none in advance. Returns None;
# - `append(name)`: the sequence gets one more token, which is about to be written. If all slots of its blocks are used, it takes another block. If there is a slot, but in a block that another sequence holds as well, **the writer copies**: it exchanges the block for a free one in its own table, and `append` returns the tuple `(old, new)`. Otherwise it returns None;
# - `fork(name, child)`: a new sequence `child` with the same tokens as `name`. It takes no block: both hold the same ones. Returns None;
# - `free(name)`: the sequence and its name are removed. A block becomes free when **no** sequence holds it any more. Returns None.
#
# **By hand.** `Blocks(8, 4)`. Allocate *a* with 6 tokens: 2 blocks, 6 free. Fork it to *b* and *c*: still 6 free. Append to *a*: its second block has room, but three sequences hold it, so *a* takes a new one and returns (old, new): 5 free. Append to *b*: two hold the block, so it copies as well: 4 free. Append to *c*: no other sequence holds it now, so **None**. **4** blocks are held; without sharing it would be 6.
#
# **Rules**
# 1. *Refused* with a `ValueError`: `allocate` and `append` when there are too few free blocks; `allocate` and `fork` under a name that is in use; `append`, `fork` and `free` of an unknown name. After that **everything is as it was before**.
# 2. Any free block may be taken. A block that a sequence holds is not free.
# 3. A command changes only the table of the sequence that it names, and there only what it needs to change.
# 4. A sequence may have 0 tokens: its table is the empty list.
# 5. When all slots are used, the next token takes a new block and copies nothing, shared or not.
#
# <details><summary>Hint 1: a nudge</summary>
#
# What must you know about a block, apart from whether it is free? And about a sequence, apart from its table?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Keep a list of free blocks, a reference count for each block, and a length for each name; `num_free` may be a property. In each method, first decide whether to refuse, and only then change anything. In `append`: if the length is a multiple of the block size, take a new block (0 is such a multiple). Otherwise check the last block: if its count is above 1, decrement it, take another block, and put it into the last entry of the table. `fork` copies the list and increments each reference count.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# Copies of books, lent to readers who may read over each other's shoulder. A copy is back when its last reader has gone.
#
# ```python
# class Library:
#     def __init__(self, copies):
#         self.here, self.readers = list(range(copies)), {}
#
#     def lend(self, reader):
#         if not self.here:
#             raise ValueError("all copies are out")
#         self.readers.setdefault(self.here.pop(), set()).add(reader)
#
#     def join(self, reader, friend):
#         next(group for group in self.readers.values() if reader in group).add(friend)
#
#     def leave(self, reader):
#         for copy, group in list(self.readers.items()):
#             group.discard(reader)
#             if not group:
#                 del self.readers[copy]
#                 self.here.append(copy)
# ```
#
# </details>
# <details><summary>Fine print</summary>
#
# `num_blocks` is from 1 to 300, `block_size` from 1 to 20; names are any texts; at most 40 sequences exist at a time; `count` is from 0 to 6000. Nobody writes into `tables` from outside. `fork(name, name)` is refused like any name that is in use. The error is a `ValueError` itself, no class derived from it.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "Blocks", "locked": false, "schema_version": 3, "solution": true, "task": false}
class Blocks:
    """Which of so many blocks belong to which sequences."""

    def __init__(self, num_blocks: int, block_size: int):
        ### BEGIN SOLUTION
        self.block_size, self.tables = block_size, {}
        self._lengths, self._unused, self._holders = {}, list(range(num_blocks)), [0] * num_blocks

    @property
    def num_free(self) -> int:
        """Blocks that nobody holds."""
        return len(self._unused)

    def _some(self, count: int) -> list[int]:
        """So many free blocks, each held once from now on; refused if there are too few."""
        if count > len(self._unused):
            raise ValueError(f"{count} blocks are needed, {len(self._unused)} are free")
        taken = [self._unused.pop() for _ in range(count)]
        for block in taken:
            self._holders[block] = 1
        return taken

    def _unknown(self, name: str) -> None:
        if name in self.tables:
            raise ValueError(f"{name!r} is in use")

    def _known(self, name: str) -> None:
        if name not in self.tables:
            raise ValueError(f"there is no {name!r}")

    def _drop(self, block: int) -> None:
        self._holders[block] -= 1
        if self._holders[block] == 0:
            self._unused.append(block)
        ### END SOLUTION

    def allocate(self, name: str, count: int) -> None:
        """A new sequence of so many tokens."""
        ### BEGIN SOLUTION
        self._unknown(name)
        self.tables[name] = self._some(-(-count // self.block_size))
        self._lengths[name] = count
        ### END SOLUTION

    def append(self, name: str) -> tuple[int, int] | None:
        """One more token; from which block to which must be copied first, if so."""
        ### BEGIN SOLUTION
        self._known(name)
        table, copied = self.tables[name], None
        if self._lengths[name] % self.block_size == 0:
            table += self._some(1)
        elif self._holders[table[-1]] > 1:
            copied = (table[-1], *self._some(1))
            self._drop(table[-1])
            table[-1] = copied[1]
        self._lengths[name] += 1
        return copied
        ### END SOLUTION

    def fork(self, name: str, child: str) -> None:
        """Another sequence with the same tokens, in the same blocks."""
        ### BEGIN SOLUTION
        self._known(name)
        self._unknown(child)
        self.tables[child], self._lengths[child] = list(self.tables[name]), self._lengths[name]
        for block in self.tables[child]:
            self._holders[block] += 1
        ### END SOLUTION

    def free(self, name: str) -> None:
        """The sequence is gone."""
        ### BEGIN SOLUTION
        self._known(name)
        for block in self.tables.pop(name):
            self._drop(block)
        del self._lengths[name]
        ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "Blocks-check", "locked": true, "points": 12, "schema_version": 3, "solution": false, "task": false}
check(Blocks)

# %% [markdown] nbgrader={"grade": false, "grade_id": "Blocks-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The case by hand. Each line says who holds how many blocks, what `append` returned, and how many are free.

# %% nbgrader={"grade": false, "grade_id": "look-Blocks", "locked": true, "schema_version": 3, "solution": false, "task": false}
pool = attempt(Blocks, 8, 4)
if pool is not None:
    for method, *names in (("allocate", "a", 6), ("fork", "a", "b"), ("fork", "a", "c"), ("append", "a"), ("append", "b"), ("append", "c"), ("free", "b"), ("append", "d")):
        try:
            came = getattr(pool, method)(*names)
            print(f"{method:>8} {names!s:<12} {came!s:<8} tables {pool.tables}, {pool.num_free} free")
        except ValueError as error:
            print(f"{method:>8} {names!s:<12} refused: {error}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "block_keys-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 4. Keys for blocks
#
# **Why.** A server computes a long system prompt once, if it can tell that a block already holds it. The key of a block must identify its tokens and everything before them, because keys and values depend on all tokens before.
#
# **Difficulty** 3 of 5 · **Time** 12 minutes · **Points** 4 · **Paper** vLLM's design document on automatic prefix caching (2024); Zheng et al. (2024), section 3, for the same with a tree
#
# A chain of hashes gives each full block $i$ a key of constant length that depends on the whole prefix and on a **salt**:
#
# $$ h_0 = H(\text{salt}), \qquad h_i = H(h_{i-1} \,\|\, \text{tokens of block } i) . $$
#
# Write `block_keys(ids, block_size, salt)`: a list with a key for each full block of `ids`, in order. Two keys are equal exactly when the salt, the tokens of the block and all tokens before it are equal, within a call and between calls with the same `block_size`.
#
# **By hand.** Blocks of 2. `[5, 1, 7, 7, 9]` has **2** keys; the 9 is in no full block. `[5, 1, 7, 7]` has the same two. `[1, 5, 7, 7]` shares none of them: its second block holds the same tokens after different ones. With another salt none is equal.
#
# **Rules**
# 1. A key is a `bytes` of 32 to 64 bytes, however long the text is.
# 2. Nobody must be able to construct two texts with the same key, or one customer would read another's answer: use SHA-256 or a hash of that strength, and all of its bytes. MD5, SHA-1, checksums and Python's `hash` are not of that strength.
# 3. Requests with another salt match nothing. The salt may be empty and may be any bytes, so it must not be confused with tokens.
#
# <details><summary>Hint 1: a nudge</summary>
#
# What has to go into a key so that it identifies all the text before it and yet does not grow?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# The key of the block before goes into the next one: `key = sha256(key + the block's tokens as bytes)`. Begin with a hash of the salt, and give what is hashed there another first byte than a block has: otherwise a salt could imitate a block. Give each token the same number of bytes (`int.to_bytes(8, "little")`), or a separator: as plain digits 1, 23 and 12, 3 are the same.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# A stamp for each page of a diary, which fits all pages up to it.
#
# ```python
# def stamps(pages):
#     stamp, found = b"", []
#     for page in pages:
#         stamp = hashlib.sha256(stamp + page.encode()).digest()
#         found.append(stamp)
#     return found
# ```
#
# </details>
# <details><summary>Fine print</summary>
#
# `ids` has 0 to 3000 ints, from 0 to $2^{40}$; `block_size` is from 1 to 300; `salt` has 0 to 100 bytes. A short checksum that is repeated or padded to 32 bytes is no stronger than before.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "block_keys", "locked": false, "schema_version": 3, "solution": true, "task": false}
def block_keys(ids: list[int], block_size: int, salt: bytes) -> list[bytes]:
    """A key for each full block: of its tokens, all before them, and the salt."""
    ### BEGIN SOLUTION
    key, keys = hashlib.sha256(b"s" + salt).digest(), []
    for start in range(0, len(ids) - block_size + 1, block_size):
        key = hashlib.sha256(b"t" + key + b"".join(token.to_bytes(8, "little") for token in ids[start:start + block_size])).digest()
        keys.append(key)
    return keys
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "block_keys-check", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(block_keys)

# %% [markdown] nbgrader={"grade": false, "grade_id": "block_keys-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The case by hand.

# %% nbgrader={"grade": false, "grade_id": "look-block_keys", "locked": true, "schema_version": 3, "solution": false, "task": false}
for ids, salt in (([5, 1, 7, 7, 9], b""), ([5, 1, 7, 7], b""), ([1, 5, 7, 7], b""), ([5, 1, 7, 7], b"another firm")):
    found = attempt(block_keys, ids, 2, salt)
    if found is not None:
        print(f"{ids!s:<16} {salt!s:<16} {[key.hex()[:6] for key in found]}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "PrefixCache-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 5. Prefix cache
#
# **Why.** A block that no sequence holds keeps its content until its room is needed. The next user with the same system prompt finds it computed, minutes later.
#
# **Difficulty** 4 of 5 · **Time** 30 minutes · **Points** 8 · **Paper** vLLM's design document on automatic prefix caching (2024); Kwon et al. (2023), section 4.4
#
# Free blocks are evicted in LRU order, and the end of a sequence before its beginning.
#
# Write the class `PrefixCache(num_blocks, block_size)`. As in exercise 3 it has `tables`, a dictionary from names to lists of blocks, and `num_free`, the number of blocks that no sequence holds. Its methods:
#
# - `begin(name, keys, length)`: a new sequence with a prompt of `length` tokens. `keys` are those of exercise 4, one for each full block. It matches the **longest run of cached blocks**: the block cached under the first key, the one under the second, and so on, up to the first key that is not cached. These blocks are its table, and it holds them. Returns the number of **tokens** in them. **The last token of the prompt is never among them**, because its logits are needed: at most (`length` - 1) // `block_size` blocks are hits;
# - `take(name)`: one more block at the end of the sequence's table. It takes a block that no sequence holds: one without a key, or, when all free blocks have a key, the **least recently released** one, whose key is removed from the cache. Returns None;
# - `know(name, place, key)`: the block in entry `place` of the sequence's table is full, and cached under `key` from now on. If another block is cached under this key already, nothing changes. Returns None;
# - `release(name)`: the sequence and its name are removed. It releases its blocks **from the last to the first**. A block that no sequence holds any more is free, and stays cached. Returns None.
#
# **By hand.** `PrefixCache(3, 4)`. *a* begins with the keys x, y and length 8: **0** tokens match. It takes two blocks, which are cached as x and y, and is released. *b* begins with x, y and length 8: **4** tokens match, not 8. It takes a block: the one that was never used, so no key is removed. *c* begins with x, y and length 9: **8** match. Both are released, *b* first: it frees only its own block, since *c* still holds x; *c* then frees y, and x last. A new sequence that takes two blocks gets first *b*'s old one, which has no key, and then **y**: the end of a sequence is evicted before its beginning.
#
# **Rules**
# 1. `take` raises a `ValueError` when no block is free. After that everything is as it was before.
# 2. A block that a sequence holds is neither allocated nor evicted. A block that was matched is no longer free, and when it is released later, that time counts.
# 3. Each block has at most one key. `know` is called in the order of the blocks, and never for a cached block with another key than its own.
#
# <details><summary>Hint 1: a nudge</summary>
#
# A free block may be in one of two states. What do you look up by key, and what by block?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Four things: a reference count for each block; a dictionary from key to block; one from block to key; and the free blocks **in the order in which they were released**. When a block without a key becomes free, put it at the front, the others at the back; `take` then takes from the front. `begin` looks up `keys[:(length - 1) // block_size]` until one is missing; a matched block with count 0 is removed from the free ones.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# Cups at an office: a cup that was put down may be picked up again by its name, until somebody needs a cup and takes the one that has stood there longest.
#
# ```python
# class Cups:
#     def __init__(self):
#         self.down = {}                       # from a name to a cup; who stands first was put down first
#
#     def put_down(self, name, cup):
#         self.down[name] = cup
#
#     def pick_up(self, name):
#         return self.down.pop(name, None)
#
#     def need_one(self):
#         return self.down.pop(next(iter(self.down)))
# ```
#
# </details>
# <details><summary>Fine print</summary>
#
# `num_blocks` is from 1 to 100, `block_size` from 1 to 20; names are texts, new ones in `begin` and those of running sequences elsewhere; keys are `bytes`, not empty, `length` // `block_size` of them; `length` is at least 1. Nobody writes into `tables` from outside. The error is a `ValueError` itself, no class derived from it.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "PrefixCache", "locked": false, "schema_version": 3, "solution": true, "task": false}
class PrefixCache:
    """Blocks that are found again by what stands in them."""

    def __init__(self, num_blocks: int, block_size: int):
        ### BEGIN SOLUTION
        self.block_size, self.tables = block_size, {}
        self._holders, self._waiting = [0] * num_blocks, list(range(num_blocks))        # those to be taken next stand first
        self._block_of, self._key_of = {}, {}

    @property
    def num_free(self) -> int:
        """Blocks that nobody holds."""
        return len(self._waiting)
        ### END SOLUTION

    def begin(self, name: str, keys: list[bytes], length: int) -> int:
        """A new sequence, with the known blocks that its prompt begins with; how many tokens that are."""
        ### BEGIN SOLUTION
        found = []
        for key in keys[:(length - 1) // self.block_size]:
            if key not in self._block_of:
                break
            found.append(self._block_of[key])
        for block in found:
            if self._holders[block] == 0:
                self._waiting.remove(block)
            self._holders[block] += 1
        self.tables[name] = found
        return len(found) * self.block_size
        ### END SOLUTION

    def take(self, name: str) -> None:
        """One more block at the end of its table."""
        ### BEGIN SOLUTION
        if not self._waiting:
            raise ValueError("no block is free")
        block = self._waiting.pop(0)
        self._block_of.pop(self._key_of.pop(block, None), None)
        self._holders[block] = 1
        self.tables[name].append(block)
        ### END SOLUTION

    def know(self, name: str, place: int, key: bytes) -> None:
        """This block of the sequence is full."""
        ### BEGIN SOLUTION
        block = self.tables[name][place]
        if key not in self._block_of:
            self._block_of[key], self._key_of[block] = block, key
        ### END SOLUTION

    def release(self, name: str) -> None:
        """The sequence is gone; its last block is given up first."""
        ### BEGIN SOLUTION
        for block in reversed(self.tables.pop(name)):
            self._holders[block] -= 1
            if self._holders[block] == 0:
                self._waiting.insert(len(self._waiting) if block in self._key_of else 0, block)
        ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "PrefixCache-check", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
check(PrefixCache)

# %% [markdown] nbgrader={"grade": false, "grade_id": "PrefixCache-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The case by hand, with x and y for the two keys.

# %% nbgrader={"grade": false, "grade_id": "look-PrefixCache", "locked": true, "schema_version": 3, "solution": false, "task": false}
kept = attempt(PrefixCache, 3, 4)
if kept is not None:
    for method, *given in (("begin", "a", [b"x", b"y"], 8), ("take", "a"), ("take", "a"), ("know", "a", 0, b"x"), ("know", "a", 1, b"y"), ("release", "a"), ("begin", "b", [b"x", b"y"], 8), ("take", "b"),
                           ("begin", "c", [b"x", b"y"], 9), ("release", "b"), ("release", "c"), ("begin", "d", [], 3), ("take", "d"), ("take", "d"), ("begin", "e", [b"x", b"y"], 9)):
        came = getattr(kept, method)(*given)
        print(f"{method:>8} {given!s:<26} {'' if came is None else came!s:<3} tables {kept.tables}, {kept.num_free} free")

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-kernels", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 3. Triton kernels
#
# A **kernel** is a function of which a GPU starts many program instances at once, as in chapter 13. `tl.program_id(0)` tells an instance its index, `tl.load` and `tl.store` take addresses and masks, and sizes of blocks (`tl.arange(0, WIDTH)`) are powers of two, known when the kernel is compiled: `triton.next_power_of_2(n)` returns the next one.
#
# **Rules for the three kernels.** You write two functions in one cell: the kernel, and the one that starts it. The kernel's arguments, and its name, are yours to change.
#
# - The result is written into the tensors that are given for it. Nothing is returned.
# - Nothing outside the tensors is read or written, not even a value that is discarded: a GPU has something else there. The check refuses such a load before it happens.
# - Program instances run at the same time. None may access a value that another one stores: that is a **data race**.
# - The values are computed and moved in kernels. What these read and write is counted.
# - A call starts one kernel, once, and each program instance does its own part. A grid in which a single instance does all the work is none.
# - The kernel compiles for a GPU. The interpreter is Python, and takes `break`, `return` in the middle of a loop, `sum(...)` and a variable that changes its shape; a compiler does not. Inside a kernel use what `tl` has, `range`, `if`, and helpers marked `@triton.jit`. Names from outside of it must be such helpers, or `tl` itself.
# - One call takes seconds at most, at sizes that the statement names: the interpreter takes about a millisecond for each load.
#
# **Layout of a cache.** `k_cache` and `v_cache` are float32 $(b, s, K, D)$: block, offset in it, KV head, dimension. The last axis is contiguous; the three others may have **any strides**, and the two caches each their own: `k_cache.stride(0)` values lie between two blocks of keys. An engine keeps keys and values of many layers in one tensor, which is why.

# %% [markdown] nbgrader={"grade": false, "grade_id": "write_kv-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 6. Writing into blocks
#
# **Why.** Each layer of each step begins with this kernel. What it writes into a wrong slot is read as somebody else's context.
#
# **Difficulty** 3 of 5 · **Time** 18 minutes · **Points** 6 · **Paper** Kwon et al. (2023), section 5.1, where it is called fused reshape and block write
#
# Token $t$ has keys `k[t]` and values `v[t]`, for $K$ heads of dimension $D$. They go to its slot $\sigma_t$ = `slots[t]`, which is block $\lfloor \sigma_t / s \rfloor$ at offset $\sigma_t \bmod s$.
#
# Write `write_kv(k, v, k_cache, v_cache, slots)`; `k` and `v` are float32 $(T, K, D)$, the caches $(b, s, K, D)$, `slots` is int64 $(T)$.
#
# **By hand.** Blocks of 4, slots [21, -1, 8]. Token 0 goes to block 5, offset 1; token 1 nowhere; token 2 to block 2, offset 0. Everything else in the caches stays as it was.
#
# **Rules**
# 1. Where the slot is **-1**, nothing is read or written for this token: it is padding.
# 2. Each value of `k` and `v` that has a slot is read once and written once, by one program instance per token, or one per token and head.
# 3. Tokens and heads of `k` and `v` may have any strides; only the last axis and `slots` are contiguous.
# 4. $K$ and $D$ need not be powers of two.
#
# <details><summary>Hint 1: a nudge</summary>
#
# An instance knows its token's number. What must it load before it knows anything else?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Grid `(len(slots),)`. `slot = tl.load(slots + token)`, and everything else inside `if slot >= 0:`. A two-dimensional grid of addresses, heads down and dimensions across: `head[:, None] * stride + number[None, :]`, with `tl.arange` up to the next powers of two, and a mask that is true where head < K and number < D. Four strides for the sources, six for the caches.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# Rows of x are written into the rows of `out` that `targets` names; rows of `out` lie apart.
#
# ```python
# @triton.jit
# def scatter_kernel(x, out, targets, C, x_row, out_row, WIDTH: tl.constexpr):
#     row = tl.program_id(0)
#     across = tl.arange(0, WIDTH)
#     values = tl.load(x + row * x_row + across, mask=across < C)
#     tl.store(out + tl.load(targets + row) * out_row + across, values, mask=across < C)
# ```
#
# </details>
# <details><summary>Fine print</summary>
#
# $T$ is from 1 to 60, $K$ from 1 to 12, $D$ from 1 to 100; caches have 1 to 40 blocks of 1 to 20 slots; a slot is -1 or in the cache, and no two tokens have the same one.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "write_kv", "locked": false, "schema_version": 3, "solution": true, "task": false}
@triton.jit
def write_kernel(k, v, k_cache, v_cache, slots, s, K, D, k_token, k_head, v_token, v_head, k_block, k_place, k_row, v_block, v_place, v_row,
                 HEADS: tl.constexpr, WIDTH: tl.constexpr):
    """One program instance: one token."""
    ### BEGIN SOLUTION
    token = tl.program_id(0)
    slot = tl.load(slots + token)
    if slot >= 0:
        head, number = tl.arange(0, HEADS)[:, None], tl.arange(0, WIDTH)[None, :]
        there = (head < K) & (number < D)
        key = tl.load(k + token * k_token + head * k_head + number, mask=there)
        value = tl.load(v + token * v_token + head * v_head + number, mask=there)
        tl.store(k_cache + slot // s * k_block + slot % s * k_place + head * k_row + number, key, mask=there)
        tl.store(v_cache + slot // s * v_block + slot % s * v_place + head * v_row + number, value, mask=there)
    ### END SOLUTION


def write_kv(k: Float[Tensor, "T K D"], v: Float[Tensor, "T K D"], k_cache: Float[Tensor, "b s K D"], v_cache: Float[Tensor, "b s K D"], slots: Int[Tensor, " T"]) -> None:
    """Write the tokens' keys and values into their slots of the caches."""
    ### BEGIN SOLUTION
    T, K, D = k.shape
    strides = (*k.stride()[:2], *v.stride()[:2], *k_cache.stride()[:3], *v_cache.stride()[:3])
    write_kernel[(T,)](k, v, k_cache, v_cache, slots, k_cache.shape[1], K, D, *strides, HEADS=triton.next_power_of_2(K), WIDTH=triton.next_power_of_2(D))
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "write_kv-check", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
check(write_kv)

# %% [markdown] nbgrader={"grade": false, "grade_id": "write_kv-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The case by hand: one head of one number, so that a cache of six blocks is a small table.

# %% nbgrader={"grade": false, "grade_id": "look-write_kv", "locked": true, "schema_version": 3, "solution": false, "task": false}
k_cache, v_cache = torch.zeros(6, 4, 1, 1), torch.zeros(6, 4, 1, 1)
k = torch.tensor([1.0, 2.0, 3.0]).view(3, 1, 1)
attempt(write_kv, k, -k, k_cache, v_cache, torch.tensor([21, -1, 8]))
print(k_cache[:, :, 0, 0].int().tolist())
print(v_cache[:, :, 0, 0].int().tolist())

# %% [markdown] nbgrader={"grade": false, "grade_id": "decode_shares-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 7. Attention through a block table
#
# **Why.** While decoding there is one query per sequence, and thousands of keys, in blocks that lie anywhere. To keep a GPU busy the keys are divided into splits, each with program instances of its own.
#
# **Difficulty** 5 of 5 · **Time** 28 minutes · **Points** 8 · **Paper** Kwon et al. (2023), sections 4.1 and 5.1; Dao et al. (2023), Flash-Decoding, on splits
#
# Sequence $i$ has one query per head, `q[i]`; its keys and values are those of its first `lengths[i]` tokens, found through row $i$ of `tables` as in exercise 2. With $N$ splits, each has $c = \lceil \text{length} / N \rceil$ tokens: split $n$ has the tokens from $n c$ to $(n + 1) c - 1$, as far as they exist. With scores $s_t = q \cdot k_t / \sqrt D$, the attention state of a split is
#
# $$ \text{parts} = \sum_t \frac{e^{s_t}}{\sum_u e^{s_u}}\, v_t, \qquad \text{lse} = \ln \sum_t e^{s_t}, \qquad t, u \text{ in the split} . $$
#
# Write `decode_shares(q, k_cache, v_cache, tables, lengths, parts, lse)`, which fills `parts` $(B, H, N, D)$ and `lse` $(B, H, N)$ for each sequence, head and split. `q` is float32 $(B, H, D)$, `tables` int32 $(B, M)$, `lengths` int32 $(B)$; the caches are as in exercise 6, and $N$ is `parts.shape[2]`.
#
# **By hand.** Blocks of 2, block table [4, 1], length 3, two splits: $c$ = 2. Split 0 has tokens 0 and 1, in block 4; split 1 has token 2, in block 1, offset 0. Let $e^{s}$ be 1, 3 and 12 and the values 8, 0 and 6: split 0 gives (1 · 8 + 3 · 0) / 4 = **2** and **ln 4**, split 1 gives **6** and **ln 12**. With 5 tokens and 4 splits $c$ is 2 as well: 2, 2, 1 and **0** tokens.
#
# **Rules**
# 1. A split without tokens has zeros in `parts` and $-\infty$ in `lse`.
# 2. A table has -1 after the sequence's blocks. Slots after `length` and other blocks hold anything, NaN included. None of it is read.
# 3. Head $h$ attends with KV head $\lfloor h / (H / K) \rfloor$. At least one program instance per sequence, KV head and split; it reads each key and value of its split once, per query head or once for the group, and no other.
# 4. Scores may be as large as 300 and as low as -300.
#
# <details><summary>Hint 1: a nudge</summary>
#
# What of your `flash` of chapter 13 is still needed when there is one query? And which addresses change when the keys are no longer contiguous?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Grid $(B, H, N)$. Load the length, compute where the split begins and ends, and load the query. Walk from the beginning to the end in tiles of 32 tokens: `token = first + tl.arange(0, TILE)`, `here = token < end`; `block = tl.load(tables + ... + token // s, mask=here, other=0)`; then a tile of keys at `(block * stride_of_blocks + token % s * stride_of_slots)[:, None] + tl.arange(0, D)[None, :]`. Scores are `tl.sum(keys * query[None, :], 1)`, and $-\infty$ where not `here`. Running maximum, sum and accumulator as in flash attention. At the end divide, but not by 0.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# For each row of `wanted`, the sum of those rows of x that it lists, as far as its number goes.
#
# ```python
# @triton.jit
# def gather_kernel(x, wanted, number, out, M, x_row, D: tl.constexpr, TILE: tl.constexpr):
#     row, across = tl.program_id(0), tl.arange(0, D)
#     end = tl.load(number + row)
#     total = tl.zeros([D], tl.float32)
#     for first in range(0, end, TILE):
#         entry = first + tl.arange(0, TILE)
#         which = tl.load(wanted + row * M + entry, mask=entry < end, other=0)
#         total += tl.sum(tl.load(x + which[:, None] * x_row + across[None, :], mask=(entry < end)[:, None], other=0.0), 0)
#     tl.store(out + row * D + across, total)
# ```
#
# </details>
# <details><summary>Fine print</summary>
#
# $B$ is from 1 to 6, $H$ from 1 to 12 and a multiple of $K$, $D$ is 16, 32 or 64; caches have 1 to 40 blocks of 1 to 20 slots; `lengths` are from 0 to $M s$, at most 300; $N$ is from 1 to 16. `q`, `tables`, `lengths`, `parts` and `lse` are contiguous. Where scores are near 300, three digits are compared.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "decode_shares", "locked": false, "schema_version": 3, "solution": true, "task": false}
@triton.jit
def shares_kernel(q, k_cache, v_cache, tables, lengths, parts, lse, s, M, group, scale, k_block, k_place, k_head, v_block, v_place, v_head, D: tl.constexpr, TILE: tl.constexpr):
    """One program instance: one split of one head of one sequence."""
    ### BEGIN SOLUTION
    sequence, head, share, across = tl.program_id(0), tl.program_id(1), tl.program_id(2), tl.arange(0, D)
    row, length = sequence * tl.num_programs(1) + head, tl.load(lengths + sequence)
    many = tl.cdiv(length, tl.num_programs(2))
    end = tl.minimum(share * many + many, length)
    query = tl.load(q + row * D + across) * scale
    top, summed, mixture = tl.full([], -1e30, tl.float32), tl.full([], 0.0, tl.float32), tl.zeros([D], tl.float32)
    for begin in range(share * many, end, TILE):
        token = begin + tl.arange(0, TILE)
        here = token < end
        block = tl.load(tables + sequence * M + token // s, mask=here, other=0).to(tl.int64)
        keys = tl.load(k_cache + (block * k_block + token % s * k_place + head // group * k_head)[:, None] + across[None, :], mask=here[:, None], other=0.0)
        values = tl.load(v_cache + (block * v_block + token % s * v_place + head // group * v_head)[:, None] + across[None, :], mask=here[:, None], other=0.0)
        scores = tl.where(here, tl.sum(keys * query[None, :], 1), float("-inf"))
        higher = tl.maximum(top, tl.max(scores, 0))
        weights, shrunk = tl.exp(scores - higher), tl.exp(top - higher)
        summed = summed * shrunk + tl.sum(weights, 0)
        mixture = mixture * shrunk + tl.sum(weights[:, None] * values, 0)
        top = higher
    whole = tl.where(summed == 0, 1.0, summed)
    target = row * tl.num_programs(2) + share
    tl.store(parts + target * D + across, mixture / whole)
    tl.store(lse + target, tl.where(summed == 0, float("-inf"), top + tl.log(whole)))
    ### END SOLUTION


def decode_shares(q: Float[Tensor, "B H D"], k_cache: Float[Tensor, "b s K D"], v_cache: Float[Tensor, "b s K D"], tables: Int[Tensor, "B M"], lengths: Int[Tensor, " B"],
                  parts: Float[Tensor, "B H N D"], lse: Float[Tensor, "B H N"]) -> None:
    """Write each share's attention into parts, and its log-sum-exp into lse."""
    ### BEGIN SOLUTION
    (B, H, D), K = q.shape, k_cache.shape[2]
    shares_kernel[(B, H, parts.shape[2])](q, k_cache, v_cache, tables, lengths, parts, lse, k_cache.shape[1], tables.shape[1], H // K, D ** -0.5,
                                          *k_cache.stride()[:3], *v_cache.stride()[:3], D=D, TILE=32)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "decode_shares-check", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
check(decode_shares)

# %% [markdown] nbgrader={"grade": false, "grade_id": "decode_shares-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The case by hand. The other blocks hold NaN.

# %% nbgrader={"grade": false, "grade_id": "look-decode_shares", "locked": true, "schema_version": 3, "solution": false, "task": false}
k_cache, v_cache = torch.full((6, 2, 1, 16), torch.nan), torch.full((6, 2, 1, 16), torch.nan)
q = torch.full((1, 1, 16), 0.25)                       # so that 16 keys of x give the score x
for block, place, weight, value in ((4, 0, 1.0, 8.0), (4, 1, 3.0, 0.0), (1, 0, 12.0, 6.0)):
    k_cache[block, place], v_cache[block, place] = torch.tensor(weight).log(), value
parts, lse = torch.full((1, 1, 2, 16), torch.nan), torch.full((1, 1, 2), torch.nan)
attempt(decode_shares, q, k_cache, v_cache, torch.tensor([[4, 1, -1]], dtype=torch.int32), torch.tensor([3], dtype=torch.int32), parts, lse)
print([f"{number:.3f}" for number in (*parts[0, 0, :, 0].tolist(), *lse[0, 0].exp().tolist())])

# %% [markdown] nbgrader={"grade": false, "grade_id": "merge_shares-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 8. Merging splits
#
# **Why.** This is the second kernel of split-KV. The plain mean of the splits is a fluent and wrong text.
#
# **Difficulty** 3 of 5 · **Time** 12 minutes · **Points** 4 · **Paper** Dao et al. (2023), Flash-Decoding; Milakov and Gimelshein (2018), section 3.1
#
# From the `parts` and `lse` of exercise 7 follows the attention over **all** tokens of a sequence. A split counts by its sum $e^{\text{lse}}$:
#
# $$\text{out} = \frac{\sum_n e^{\text{lse}_n}\,\text{parts}_n}{\sum_n e^{\text{lse}_n}}$$
#
# Write `merge_shares(parts, lse, out)`, which fills `out`. `parts` is float32 $(B, H, N, D)$, `lse` $(B, H, N)$, `out` $(B, H, D)$.
#
# **By hand.** Splits of 2 and 6 with lse ln 4 and ln 12: (4 · 2 + 12 · 6) / 16 = **5**. The mean of the two would be 4.
#
# **Rules**
# 1. A split with lse $-\infty$ counts nothing. If all of them have it, `out` is zeros. Nothing is ever NaN or infinite.
# 2. lse lies between -10,000 and 10,000, or is $-\infty$. All those of a head may be near one end: subtract the largest first.
# 3. One program instance per sequence and head. Each value of `parts` and `lse` is read once, and each of `out` written once.
# 4. $N$ need not be a power of two.
#
# <details><summary>Hint 1: a nudge</summary>
#
# This is a softmax over the splits, and then a weighted sum. What takes the position of a split that does not exist?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Load the lse's with a mask and $-\infty$ where there is no split; their largest, but 0 instead where that is $-\infty$; `tl.exp(lse - largest)` are the weights. Load `parts` as a matrix of (splits, D), zeros where there is no split; `tl.sum(parts * weights[:, None], 0)`, divided by the sum of the weights, or by 1 where that is 0.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# The mean of the rows of a matrix, one matrix per program instance.
#
# ```python
# @triton.jit
# def means_kernel(x, out, R, ROWS: tl.constexpr, D: tl.constexpr):
#     matrix, row, across = tl.program_id(0), tl.arange(0, ROWS), tl.arange(0, D)
#     values = tl.load(x + (matrix * R + row)[:, None] * D + across[None, :], mask=(row < R)[:, None], other=0.0)
#     tl.store(out + matrix * D + across, tl.sum(values, 0) / R)
# ```
#
# </details>
# <details><summary>Fine print</summary>
#
# $B$ is from 1 to 6, $H$ from 1 to 12, $N$ from 1 to 40, $D$ a power of two from 1 to 64; values of `parts` are between -1,000,000 and 1,000,000. The three tensors are contiguous.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "merge_shares", "locked": false, "schema_version": 3, "solution": true, "task": false}
@triton.jit
def merge_kernel(parts, lse, out, N, SHARES: tl.constexpr, D: tl.constexpr):
    """One program instance: one head of one sequence."""
    ### BEGIN SOLUTION
    row, share, across = tl.program_id(0), tl.arange(0, SHARES), tl.arange(0, D)
    ends = tl.load(lse + row * N + share, mask=share < N, other=float("-inf"))
    pieces = tl.load(parts + (row * N + share)[:, None] * D + across[None, :], mask=(share < N)[:, None], other=0.0)
    weights = tl.exp(ends - tl.maximum(tl.max(ends, 0), -1e30))
    whole = tl.sum(weights, 0)
    tl.store(out + row * D + across, tl.sum(pieces * weights[:, None], 0) / tl.where(whole == 0, 1.0, whole))
    ### END SOLUTION


def merge_shares(parts: Float[Tensor, "B H N D"], lse: Float[Tensor, "B H N"], out: Float[Tensor, "B H D"]) -> None:
    """Write the attention over all shares into out."""
    ### BEGIN SOLUTION
    B, H, N, D = parts.shape
    merge_kernel[(B * H,)](parts, lse, out, N, SHARES=triton.next_power_of_2(N), D=D)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "merge_shares-check", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(merge_shares)

# %% [markdown] nbgrader={"grade": false, "grade_id": "merge_shares-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Your two kernels together, against torch's attention over the same contiguous keys. With more splits the output stays, and each split has fewer keys.

# %% nbgrader={"grade": false, "grade_id": "look-merge_shares", "locked": true, "schema_version": 3, "solution": false, "task": false}
torch.manual_seed(2)
q, keys, values, order = torch.randn(1, 4, 16), torch.randn(2, 50, 16), torch.randn(2, 50, 16), torch.randperm(10)
k_cache, v_cache = (x.transpose(0, 1).reshape(10, 5, 2, 16)[order.argsort()] for x in (keys, values))
theirs = torch.nn.functional.scaled_dot_product_attention(q.transpose(0, 1), keys, values, enable_gqa=True)[:, 0]
for number in (1, 3, 16):
    parts, lse, out = torch.full((1, 4, number, 16), torch.nan), torch.full((1, 4, number), torch.nan), torch.full((1, 4, 16), torch.nan)
    attempt(decode_shares, q, k_cache, v_cache, order.int()[None], torch.tensor([50], dtype=torch.int32), parts, lse)
    attempt(merge_shares, parts, lse, out)
    print(f"{number:>2} splits, at most {-(-50 // number):>2} keys in each: apart from torch's by {(out[0] - theirs).abs().max().item():.0e}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-own_words", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 4. In your own words

# %% [markdown] nbgrader={"grade": false, "grade_id": "size_of_one-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 9. Blocks of one slot
#
# **Why.** The block size is a setting of every server, and its default is not 1.
#
# **Difficulty** 3 of 5 · **Time** 10 minutes · **Points** 4, graded by a person · **Paper** Kwon et al. (2023), section 7.2, which tries sizes from 1 to 256
#
# A colleague writes: *"With blocks of 16 every sequence leaves 7.5 slots empty in its last block, on average. With blocks of 1 nothing is ever empty. So let us set the block size to 1."* You serve sequences of about 2,000 tokens. In about 120 words: what does this gain, in numbers? What does it cost? What do you answer, and for which sequences would you answer otherwise?
#
# {{rubric}}
#
# Short is fine. Correct and concrete beats long.
#
# <details><summary>Hint 1: a nudge</summary>
#
# `predict_pool` with lengths near 2,000, for sizes of 1 and 16. Then go through exercises 3, 4, 5 and 7: what is done once per block?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# One sentence for the gain, as a fraction of what is reserved. One each for block tables, for hashes and allocations, and for what a kernel does to find a key. One that decides.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# *Parcels in boxes of 12 leave room for 5.5 empty per order. Boxes of 1 leave none.* For an order of 600 that is under 1 % of the room; in exchange, 600 labels are written instead of 50, and the sorting machine reads each. For orders of three it is another matter: most of a box of 12 is air.
#
# </details>

# %% [markdown] nbgrader={"grade": true, "grade_id": "size_of_one", "locked": false, "points": 4, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# {{samples}}
# ### END SOLUTION

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-real", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Your code runs the real thing
#
# Nothing to write here. Run the cells; they take about a minute on an idle machine, most of it in Triton's interpreter. Because that is slow, your kernels serve every sixth layer of SmolLM2 and the course's kernels the others, in the same blocks through the same tables.
#
# First a small GPT trained on the King James Bible continues one sentence in four ways. Your `Blocks` allocates the blocks and says what is copied; your `slots` and `write_kv` put keys and values into them; your `decode_shares` and `merge_shares` attend. Then four users with one system prompt ask SmolLM2, 135 million parameters, and your `block_keys` and `PrefixCache` provide the cache hits. The rest of the models, and attention during prefill, are the course's. Next to your tokens are those of the course's own plain loop.

# %% nbgrader={"grade": false, "grade_id": "real-engine", "locked": true, "schema_version": 3, "solution": false, "task": false}
import time
from contextlib import ExitStack
from itertools import count
from unittest.mock import patch

from course.demo import ready
from reference_impl import corpora
from reference_impl.corpora.small_models import small_model
from reference_impl.engine.paged_cache import Layout, PagedCache
from reference_impl.generation.loop import generate as plain_generate
from reference_impl.generation.sampling_params import SamplingParams
from reference_impl.kernels.cache_write import store_kv
from reference_impl.kernels.paged_decode import paged_attention

SIZE, SPLITS = 4, 2                                                      # slots in a block; splits of a sequence


def by_your_kernels(q, k_cache, v_cache, tables, lengths, scale, window=None):
    """One query per sequence, through your two kernels."""
    parts, lse, out = q.new_full((*q.shape[:2], SPLITS, q.shape[2]), torch.nan), q.new_full((*q.shape[:2], SPLITS), torch.nan), torch.full_like(q, torch.nan, memory_format=torch.contiguous_format)
    decode_shares(q.contiguous(), k_cache, v_cache, tables, lengths, parts, lse)
    merge_shares(parts, lse, out)
    return out


class Reader:
    """A model whose keys and values lie in blocks. It counts the tokens that it computes. every: your kernels serve one layer in so many."""

    def __init__(self, model, num_blocks: int, every: int = 1):
        config = model.config
        self.model, self.tokens, self.every = model.eval(), 0, every
        head = getattr(config, "head_dim", None) or config.hidden_size // config.num_heads
        self.cache = PagedCache(config.num_layers, num_blocks, SIZE, getattr(config, "num_kv_heads", None) or config.num_heads, head, torch.float32)

    def copy(self, old: int, new: int) -> None:
        """What your `append` asks for, in all layers."""
        self.cache.pool[:, :, new] = self.cache.pool[:, :, old]

    def by_turns(self, yours, theirs):
        """A function for all layers, one call in each."""
        layer = count()
        return lambda *args: (theirs if next(layer) % self.every else yours)(*args)

    @torch.no_grad()
    def read(self, ids: list[list[int]], firsts: list[int], tables: list[list[int]]) -> list[int]:
        """The most probable token after each sequence, of which these ids are new: one each of several, or many of one."""
        counts = [len(one) for one in ids]
        assert max(counts) == 1 or len(ids) == 1
        self.tokens += sum(counts)
        padded = torch.tensor([table + [-1] * (max(map(len, tables)) - len(table)) for table in tables], dtype=torch.int32)
        places = torch.cat([slots(torch.tensor(table), first, count, SIZE) for table, first, count in zip(tables, firsts, counts)])
        lengths = torch.tensor([first + count for first, count in zip(firsts, counts)], dtype=torch.int32)
        layout = Layout(places, padded, lengths, len(ids) if max(counts) == 1 else 0)
        if max(counts) > 1:
            layout.cu_seqlens_prefill, layout.max_seqlen_prefill = torch.tensor([0, counts[0]], dtype=torch.int32), counts[0]
        positions = torch.cat([torch.arange(first, first + count) for first, count in zip(firsts, counts)])
        with ExitStack() as stack:
            stack.enter_context(patch("reference_impl.engine.paged_cache.store_kv", self.by_turns(write_kv, store_kv)))
            stack.enter_context(patch("reference_impl.engine.paged_cache.paged_attention", self.by_turns(by_your_kernels, paged_attention)))
            hidden = self.model.hidden(torch.tensor([sum(ids, [])]), positions=positions[None], cache=self.cache.layers(layout))[0]
        return self.model.output(hidden[torch.tensor(counts).cumsum(0) - 1]).argmax(-1).tolist()


def places_used(tables: list[list[int]], lengths: list[int]) -> tuple[int, int]:
    """Slots in the blocks that are held, and how many of them hold no token; a shared block counts once."""
    used = {}
    for table, length in zip(tables, lengths):
        for entry, block in enumerate(table):
            used[block] = max(used.get(block, 0), min(SIZE, length - entry * SIZE))
    return SIZE * len(used), SIZE * len(used) - sum(used.values())


def plainly(model, prompts: list[list[int]], n: int) -> tuple[list[list[int]], int]:
    """The course's plain loop, each prompt by itself with a cache of its own: its tokens, and how many it reads."""
    said = [list(plain_generate(model, [prompt], SamplingParams(temperature=0.0, max_tokens=n, ignore_eos=True))[0].ids) for prompt in prompts]
    return said, sum(len(prompt) + n - 1 for prompt in prompts)

# %% nbgrader={"grade": false, "grade_id": "real-forks", "locked": true, "schema_version": 3, "solution": false, "task": false}
def in_four_ways(model, prompt: list[int], endings: list[list[int]], n: int) -> dict:
    """One prompt is computed once and forked; each sequence continues with an ending of its own and n tokens of the model's."""
    reader, blocks = Reader(model, 64), Blocks(64, SIZE)
    names = [f"text {number}" for number in range(len(endings))]
    blocks.allocate(names[0], len(prompt))
    reader.read([prompt], [0], [blocks.tables[names[0]]])
    for name in names[1:]:
        blocks.fork(names[0], name)
    texts, copies = [prompt + ending for ending in endings], 0
    lengths = [len(prompt)] * len(names)
    while running := [place for place, text in enumerate(texts) if lengths[place] < len(prompt + endings[place]) + n - 1]:
        for place in running:
            copied = blocks.append(names[place])
            if copied is not None:
                reader.copy(*copied)
                copies += 1
        said = reader.read([[texts[place][lengths[place]]] for place in running], [lengths[place] for place in running], [blocks.tables[names[place]] for place in running])
        for place, token in zip(running, said):
            lengths[place] += 1
            if lengths[place] == len(texts[place]):
                texts[place] = texts[place] + [token]
    held, empty = places_used([blocks.tables[name] for name in names], lengths)
    for name in names:
        blocks.free(name)
    return {"said": [text[len(prompt + ending):] for text, ending in zip(texts, endings)], "read": reader.tokens, "copies": copies, "held": held, "empty": empty, "free": blocks.num_free}

# %% nbgrader={"grade": false, "grade_id": "real-forks-run", "locked": true, "schema_version": 3, "solution": false, "task": false}
if ready(slots, Blocks, write_kv, decode_shares, merge_shares):
    small, started = small_model("gpt_kjv"), time.perf_counter()
    prompt, endings = list(small.tokenizer.encode("And it came to pass on the morrow, that the king said unto ")), [list(small.tokenizer.encode(word)) for word in ("David", "the people", "me", "Joab")]
    yours = in_four_ways(small.model, prompt, endings, 6)
    theirs, read = plainly(small.model, [prompt + ending for ending in endings], 6)
    for ending, said in zip(endings, yours["said"]):
        print(f"... the king said unto {small.tokenizer.decode(ending)}|{small.tokenizer.decode(said)}")
    longest = max(len(prompt + ending) for ending in endings) + 5
    print(f"the course's tokens: {yours['said'] == theirs}; {yours['read']} tokens computed, {read} by the plain loop; {yours['copies']} blocks copied; {time.perf_counter() - started:.1f} s")
    print(f"{yours['held']} slots held, {yours['empty']} of them empty; four contiguous caches of {longest} would be {4 * longest}, and without knowing the lengths {4 * small.model.config.max_position_embeddings}")
    print(f"afterwards {yours['free']} of 64 blocks are free")

# %% nbgrader={"grade": false, "grade_id": "real-users", "locked": true, "schema_version": 3, "solution": false, "task": false}
def served(model, prompts: list[list[int]], n: int, every: int, num_blocks: int = 128) -> dict:
    """Users arrive one after the other, and then their answers are generated together, n tokens each."""
    reader, known = Reader(model, num_blocks, every), PrefixCache(num_blocks, SIZE)
    keys, names, texts, found = [block_keys(prompt, SIZE, b"") for prompt in prompts], [f"user {number}" for number in range(len(prompts))], [list(prompt) for prompt in prompts], []
    for name, prompt, own in zip(names, prompts, keys):
        found.append(known.begin(name, own, len(prompt)))
        while len(known.tables[name]) * SIZE < len(prompt):
            known.take(name)
        texts[len(found) - 1] += reader.read([prompt[found[-1]:]], [found[-1]], [known.tables[name]])
        for place, key in enumerate(own):
            known.know(name, place, key)
    for _ in range(n - 1):
        for name, text in zip(names, texts):
            if len(known.tables[name]) * SIZE < len(text):
                known.take(name)
        said = reader.read([text[-1:] for text in texts], [len(text) - 1 for text in texts], [known.tables[name] for name in names])
        texts = [text + [token] for text, token in zip(texts, said)]
    held, empty = places_used([known.tables[name] for name in names], [len(text) - 1 for text in texts])
    for name in names:
        known.release(name)
    again = known.begin("again", keys[0], len(prompts[0]))
    return {"said": [text[len(prompt):] for text, prompt in zip(texts, prompts)], "read": reader.tokens, "found": found, "held": held, "empty": empty, "again": again}

# %% nbgrader={"grade": false, "grade_id": "real-users-run", "locked": true, "schema_version": 3, "solution": false, "task": false}
if ready(slots, block_keys, PrefixCache, write_kv, decode_shares, merge_shares, needs=["smollm2"]):
    from reference_impl.tokenizers.gguf_tokenizer import tokenizer_from_metadata
    from reference_impl.weights.gguf_files import read_gguf

    smollm2 = corpora.load("smollm2").eval()
    tokenizer = tokenizer_from_metadata(read_gguf(next(corpora.path("smollm2").glob("*.gguf"))).metadata)
    system = "<|im_start|>system\nThe river has two banks of grass. The bank in the town lends money.<|im_end|>\n<|im_start|>user\n"
    questions = ("Which bank lends money?", "Which bank is green?", "Who sat on the bank?", "What flows between two banks?")
    prompts = [list(tokenizer.encode(f"{system}{question}<|im_end|>\n<|im_start|>assistant\n").ids) for question in questions]
    started = time.perf_counter()
    yours = served(smollm2, prompts, 8, every=6)
    between = time.perf_counter()
    theirs, read = plainly(smollm2, prompts, 8)
    for question, said in zip(questions, yours["said"]):
        print(f"{question:<32}{tokenizer.decode(said)!r}")
    print(f"the course's tokens: {yours['said'] == theirs}; {between - started:.0f} s, nearly all of it in the interpreter")
    print(f"{yours['read']} tokens computed, {read} by the plain loop; cached tokens of each user: {yours['found']}, and {yours['again']} if the first one returned")
    print(f"{yours['held']} slots held, {yours['empty']} of them empty; four contiguous caches of 2,048 are {4 * 2048}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "real-end", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Both models generate what the course's plain loop generates, token for token, and compute only a part of the tokens. Blocks that the four sequences share are held once; what is empty is the rest of each sequence's last block.
#
# Nothing here was faster, and a single user would notice no difference on a GPU either: in each step all keys of a sequence are read, through a table or without one. What paging gives is room. More sequences fit, and a step reads the weights once for all of them; chapter 15 builds a server on that.
#
# A warning: where two tokens are almost equally probable, a sum in another order may choose the other one. Splits add in another order than a single pass does. That is no mistake of yours.

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
# # Chapter 15. A serving engine: the exercises
#
# In this notebook you write a scheduler with preemption, prepare the inputs of a forward pass, verify draft tokens and trees of them, stream text to a client, and test a benchmark report.
# At the end your functions replace their counterparts in the course's server, which answers four requests with SmolLM2.
#
# There are 10 exercises and 60 points. Plan about 195 minutes, in as many sittings as you like.
#
# | Part | Exercises | Minutes | Points |
# | --- | --- | --- | --- |
# | Scheduling and preemption | 1 to 3 | 72 | 21 |
# | Batching and speculative decoding | 4 to 6 | 60 | 19 |
# | Streaming | 7 to 8 | 36 | 11 |
# | Benchmarks | 9 to 10 | 27 | 9 |
# | Your code runs the real thing | nothing to write | 3 | 0 |
#
# **How it works.**
# 1. Read the statement, write the function in the cell below it, and run the check under that cell as often as you like.
# 2. A check's first line names the likely cause, its second a small input that fails. Stuck? Open the three hints in order; the third solves a similar problem.
# 3. Grading runs the same checks with other sizes and values. The smallest sizes are always among them.
#
# **Symbols.** $B$ scheduled requests, $T$ tokens computed together, $k$ draft tokens, $q$ the draft model's and $p$ the target model's distributions, $V$ vocabulary size.
#
# <details><summary>Fine print</summary>
#
# - *Arguments.* Leave them unchanged. Return something new: neither an argument or a part of one nor a result of an earlier call.
# - *Types.* Return the type that the statement names; a dictionary has the named keys and no others, in any order. An `int` may be given for a `float`, but a bool does not count as a number. Correct values in another type, such as a numpy or torch number for an int or a list for a tuple, or with an extra key, lose a fifth of the exercise's points, once. So does an answer that breaks *Arguments*.
# - *Precision.* Integers are compared exactly. Where a float is compared, the statement says how closely.
# - *Calls.* A result depends only on the arguments and, for a method, on the earlier calls of its own object: not on other calls, other objects, the clock or chance. Calls may come in any order.
# - *Tools.* You may use anything in torch, numpy and the standard library, unless a statement says otherwise. Not allowed are the course's own engine and its generation loops.
# - *Sizes and time.* A list has at most 300 entries, unless a statement says otherwise. A call may take five seconds: plain Python loops are fast enough. Speed is not measured: the checks count steps, tokens and blocks.
# - *Smallest sizes.* Grading always includes no request, one token, one block, and no draft token.
# - *Arguments are as promised.* Your function need not check what a statement promises after **In**. You may add cells anywhere: helpers, prints, plots.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
from collections.abc import Callable, Iterator

import torch
from jaxtyping import Float, Int
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

progress("15")                                 # follows your checks

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-steps", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 1. Scheduling and preemption

# %% [markdown] nbgrader={"grade": false, "grade_id": "predict_steps-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 1. Static and continuous batching
#
# **Why.** One decode step costs nearly the same for one sequence as for many. So the number of steps is the price, and you can count it before anything runs.
#
# **Difficulty** 1 of 5 · **Time** 12 minutes · **Points** 4 · **Paper** Yu et al. (2022), section 3.1 and figure 4
#
# All requests are there from the start, and `answers[i]` is the number of tokens that request $i$ generates. At most `slots` requests run at a time, and each running request generates one token per step. Prefill takes no step here. With **static batching**, the first `slots` requests form a batch, the next `slots` the next, and a batch starts after the longest answer of the batch before:
#
# $$ S_{\text{static}} = \sum_{\text{batches}\ b} \max_{i \in b} a_i . $$
#
# With **continuous batching**, a slot passes to the next request of the list in the step after its request generated its last token.
#
# Write `predict_steps(answers, slots)`. Return a dictionary of four ints:
#
# - `"static"`: the steps of static batching;
# - `"idle"`: how often a slot generates nothing there; every step has `slots` slots, also in the last batch;
# - `"continuous"`: the steps of continuous batching;
# - `"wait"`: with continuous batching, how many steps pass before the one in which the last request **of the list** generates its first token.
#
# **By hand.** Answers of 8, 4, 3 and 1 tokens, 2 slots. *Static*: 8 + 3 = **11** steps of 2 slots, of which 22 - 16 = **6** are *idle*. *Continuous*: the third request runs in steps 5 to 7, the fourth in step 8: **8** steps, and the fourth *waits* for **7**.
#
# **Rules**
# 1. Requests start in the order of the list; no scheduler reorders them.
# 2. There may be more slots than requests. Without requests all four numbers are 0.
#
# <details><summary>Hint 1: a nudge</summary>
#
# What is the one thing you must remember about a slot?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Static: the longest answer of each slice of the list, added up. Idle: all slots of all these steps, minus the tokens. Continuous: a list of `slots` zeros, the step at which each slot is free. For each request, take the slot with the smallest number: that is when the request starts; add its answer there. The largest number at the end is the number of steps.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# Ships, in their order, stay for different numbers of days in a harbour with `berths`. On which day is the harbour empty again, if each takes the berth that is free first?
#
# ```python
# def empty_again(stays, berths):
#     free_on = [0] * berths
#     for stay in stays:
#         berth = free_on.index(min(free_on))
#         free_on[berth] += stay
#     return max(free_on)
# ```
#
# </details>
# <details><summary>Fine print</summary>
#
# `answers` has 0 to 300 ints from 1 to 10,000; `slots` is an int from 1 to 1000.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "predict_steps", "locked": false, "schema_version": 3, "solution": true, "task": false}
def predict_steps(answers: list[int], slots: int) -> dict[str, int]:
    """Steps of fixed batches and their idle slots; steps of continuous batching, and how long the last request waits."""
    ### BEGIN SOLUTION
    static = sum(max(answers[first:first + slots]) for first in range(0, len(answers), slots))
    free, start = [0] * slots, 0
    for answer in answers:
        start = min(free)
        free[free.index(start)] = start + answer
    return {"static": static, "idle": static * slots - sum(answers), "continuous": max(free), "wait": start}
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "predict_steps-check", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(predict_steps)

# %% [markdown] nbgrader={"grade": false, "grade_id": "predict_steps-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The case by hand; the same lengths in another order; and a hundred requests of which every tenth is long.

# %% nbgrader={"grade": false, "grade_id": "look-predict_steps", "locked": true, "schema_version": 3, "solution": false, "task": false}
for name, answers, slots in (("by hand", [8, 4, 3, 1], 2), ("short ones first", [2, 3, 3, 8], 2), ("every tenth is long", [200 if i % 10 == 0 else 20 for i in range(100)], 10),
                             ("the same, sorted", sorted([200 if i % 10 == 0 else 20 for i in range(100)], reverse=True), 10)):
    found = attempt(predict_steps, answers, slots)
    if found is not None:
        print(f"{name:<20} {sum(answers):>5} tokens: static {found['static']:>5} steps, {found['idle']:>6} idle slots; continuous {found['continuous']:>4}, and the last waits for {found['wait']}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "plan-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 2. Scheduler
#
# **Why.** This function is the scheduler. It decides whether one long prompt stalls everyone's decoding for a second, and whether a large request is ever served.
#
# **Difficulty** 4 of 5 · **Time** 30 minutes · **Points** 9 · **Paper** Yu et al. (2022), section 3.1; Agrawal et al. (2024), section 4.2, for chunked prefill; Kwon et al. (2023), section 4.5, for the order
#
# A scheduler need not distinguish prefill from decode: there are tokens that are not in the cache yet, and a **token budget** per step. A request is a dictionary of three ints: `"tokens"`, prompt and answer so far; `"computed"`, how many of them are in the cache; `"blocks"`, how many blocks of `block_size` tokens it holds. It is **running** if it holds a block, and **waiting** otherwise. With $n$ tokens and blocks of $s$ slots, it needs
#
# $$ \lceil n / s \rceil \ \text{blocks}, \qquad n - \text{computed} \ \text{tokens to compute.} $$
#
# Write `plan(requests, budget, free_blocks, block_size)`. Return who computes how many tokens in the next step: a list of tuples `(index in the list, number of tokens)`, in the order of the indices.
#
# **By hand.** `budget` 9, 3 free blocks of 4 tokens.
#
# | index | tokens | computed | blocks | |
# | --- | --- | --- | --- | --- |
# | 0 | 11 | 4 | 3 | prefill, 7 tokens to compute |
# | 1 | 9 | 8 | 2 | decode, blocks full: takes one, 2 are left |
# | 2 | 6 | 5 | 2 | decode, has room |
# | 3 | 10 | 0 | 0 | waiting; needs 3 blocks |
# | 4 | 2 | 0 | 0 | waiting |
#
# Requests 1 and 2 get 1 each, so request 0 gets **7** of the 7 that are left, and the plan is `[(0, 7), (1, 1), (2, 1)]`. With `budget` 14, 5 are left for request 3, but 2 blocks are too few: it is not admitted, and neither is request 4. With `budget` 14 and 5 free blocks, request 3 gets **5**, and nothing is left.
#
# **Rules**
# 1. *Decode first.* Each running request with exactly one token to compute gets it. If its blocks are full (it has computed as many tokens as they hold), it takes a free block. If none is free, it gets nothing, and the requests behind it have their turn.
# 2. *Then running prefills.* The rest of the budget goes to the running requests with more than one token to compute, in their order: each gets as many as it still has to compute and as the budget allows. They hold blocks for all their tokens already.
# 3. *Then admission.* The rest goes to the waiting requests, in their order. Each needs free blocks for **all** its tokens, takes them, and gets as many tokens as the budget allows. The first that does not find its blocks ends this: no request behind it may overtake.
# 4. A request that gets nothing is not in the plan. A waiting request with one token is admitted by rule 3 like any other.
#
# <details><summary>Hint 1: a nudge</summary>
#
# How often must you walk through the list, if a later request may go first?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Three loops over `enumerate(requests)`, one for each of the first three rules, and two numbers that decrease: `budget` and `free_blocks`. A dictionary from index to tokens collects the plan; at the end `sorted(given.items())`. The third loop ends when the budget is used up, or with a `break`. Blocks for n tokens: n / block_size rounded up, `-(-n // block_size)`.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# A kitchen has a number of eggs. Regular guests get one each, first of all. Then guests with a reservation for several, in their order, get as many as are left.
#
# ```python
# def eggs(guests, eggs_left):
#     served = {}
#     for number, guest in enumerate(guests):
#         if guest["regular"] and eggs_left:
#             served[number] = 1
#             eggs_left -= 1
#     for number, guest in enumerate(guests):
#         portion = min(guest["wants"], eggs_left)
#         if not guest["regular"] and portion:
#             served[number] = portion
#             eggs_left -= portion
#     return sorted(served.items())
# ```
#
# </details>
# <details><summary>Fine print</summary>
#
# There are at most 300 requests, with `tokens` from 1 to 100,000 and always larger than `computed`. A waiting request has computed nothing. Running and waiting requests may be mixed in any order. `budget` is an int from 1 to 100,000, and at least the number of running requests; `free_blocks` is at least 0, `block_size` from 1 to 1000.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "plan", "locked": false, "schema_version": 3, "solution": true, "task": false}
def plan(requests: list[dict[str, int]], budget: int, free_blocks: int, block_size: int) -> list[tuple[int, int]]:
    """Who computes how many tokens in the next step."""
    ### BEGIN SOLUTION
    given = {}
    left = [one["tokens"] - one["computed"] for one in requests]
    for index, one in enumerate(requests):
        if one["blocks"] and left[index] == 1:
            full = one["computed"] >= one["blocks"] * block_size
            if full and not free_blocks:
                continue
            free_blocks -= full
            given[index] = 1
            budget -= 1
    for index, one in enumerate(requests):
        if one["blocks"] and left[index] > 1 and budget:
            given[index] = min(left[index], budget)
            budget -= given[index]
    for index, one in enumerate(requests):
        if one["blocks"]:
            continue
        needed = -(-one["tokens"] // block_size)
        if not budget or needed > free_blocks:
            break
        free_blocks -= needed
        given[index] = min(left[index], budget)
        budget -= given[index]
    return sorted(given.items())
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "plan-check", "locked": true, "points": 9, "schema_version": 3, "solution": false, "task": false}
check(plan)

# %% [markdown] nbgrader={"grade": false, "grade_id": "plan-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# A text of 40 tokens begins to decode; then a prompt of 900 comes. How many tokens are in each step decides how long the first one's next token takes. The budget decides that.

# %% nbgrader={"grade": false, "grade_id": "look-plan", "locked": true, "schema_version": 3, "solution": false, "task": false}
for budget in (64, 256, 1024):
    requests, steps = [{"tokens": 41, "computed": 40, "blocks": 3}, {"tokens": 900, "computed": 0, "blocks": 0}], []
    while attempt(plan, requests, budget, 80, 16) and requests[1]["computed"] < 900 and len(steps) < 30:
        given = plan(requests, budget, 80, 16)
        steps.append(sum(tokens for _, tokens in given))
        for place, tokens in given:
            requests[place]["computed"] += tokens
            requests[place]["blocks"] = max(requests[place]["blocks"], -(-requests[place]["tokens"] // 16))
        requests[0]["tokens"] = requests[0]["computed"] + 1
    if steps:
        print(f"budget {budget:>4}: the prompt takes {len(steps):>2} steps, the largest of {max(steps)} tokens")

# %% [markdown] nbgrader={"grade": false, "grade_id": "Queue-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 3. Preemption by recomputation
#
# **Why.** A server admits more requests than its memory can hold to their end, because most end early. When the blocks run out, one request must give its blocks back, lose nothing but time, and not be the one that has waited longest.
#
# **Difficulty** 4 of 5 · **Time** 30 minutes · **Points** 8 · **Paper** Kwon et al. (2023), section 4.5
#
# Write the class `Queue(blocks, block_size)`. It counts blocks and stores no keys or values. A request that holds blocks is **running**, one that holds none is **waiting**. A step has no token budget here: an admitted request computes all its tokens at once, $\lceil n / s \rceil$ blocks for $n$ tokens in blocks of $s$ slots.
#
# - `add(name, prompt)`: a request with a prompt of `prompt` tokens joins the queue. Returns None. A name that is waiting or running raises a `ValueError`, and nothing changes.
# - `step()`: one step. Returns who computed how many tokens, a list of tuples `(name, tokens)`: first the requests that were running, then the admitted ones. Each of them then **generates one new token**, which is not computed yet.
# - `finish(name)`: a waiting or running request has ended. It leaves, its blocks are free, and the number of tokens that it generated is returned.
# - `abort(name)`: its client disconnected. Like `finish`, but it returns None, and an unknown name is no error.
# - `free` is the number of free blocks; `running` and `waiting` are lists of names, both in the order in which the requests came.
#
# **By hand.** `Queue(4, 2)`: 4 blocks of 2 tokens. Added are a with 3 tokens, b with 2, c with 1.
#
# | step | returns | running | waiting | free | why |
# | --- | --- | --- | --- | --- | --- |
# | 1 | a 3, b 2, c 1 | a b c | | 0 | 2 + 1 + 1 blocks; now they have 4, 3, 2 tokens |
# | 2 | a 1, b 1 | a b | c | 0 | b's third token needs a block: c, the last, is preempted |
# | 3 | a 1 | a | b c | 1 | a's fifth token needs one: b gives up two |
# | 4 | a 1 | a | b c | 1 | b would need 2; c, which needs 1, may not overtake |
#
# Then `finish("a")` returns **4**. Step 5 returns b **4**, c **2**: prompt and generated tokens, computed again.
#
# **Rules**
# 1. *Decode.* The running requests, in their order, compute one token each, the last one that they generated. A request whose blocks are full takes a free block for it.
# 2. *Preempt.* If no block is free, the running request that came **last** gives up all its blocks and waits. It keeps its prompt and all tokens that it generated. If it is the very request that needed the block, it computes nothing in this step.
# 3. *Admit.* Then waiting requests are admitted in the order in which they came: each needs free blocks for all its tokens, prompt and generated, takes them, and computes them all. The first that does not find its blocks ends the step: no request overtakes.
# 4. A name that has left may be added again: it is a new request, which came last.
#
# <details><summary>Hint 1: a nudge</summary>
#
# What must you know about each request, so that everything else can be computed? And can a waiting request have come before a running one?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Two dictionaries by name, of prompt and of generated tokens, and one of blocks held; a dictionary's order is the order in which the requests came. `running` and `waiting` are properties that walk through it; `free` is `blocks` minus the sum of those held. In `step`, walk through a copy of `running`, and skip a request that was preempted meanwhile. A running request of $n$ tokens has computed $n - 1$: its blocks are full when `held * block_size == n - 1`. A preempted request came before all that wait: the order by name needs no change.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# A car park with a number of bays. Cars drive in in the order in which they came, and a lorry takes two bays; when the first of the queue does not fit, no other drives in.
#
# ```python
# class CarPark:
#     def __init__(self, bays):
#         self.bays, self.sizes, self.parked = bays, {}, []
#
#     @property
#     def free(self):
#         return self.bays - sum(self.sizes[name] for name in self.parked)
#
#     @property
#     def waiting(self):
#         return [name for name in self.sizes if name not in self.parked]
#
#     def arrive(self, name, size):
#         self.sizes[name] = size
#
#     def open_gate(self):
#         for car in self.waiting:
#             if self.sizes[car] > self.free:
#                 break
#             self.parked.append(car)
#
#     def leave(self, name):
#         del self.sizes[name]
#         self.parked.remove(name)
# ```
#
# </details>
# <details><summary>Fine print</summary>
#
# `blocks` is from 1 to 300, `block_size` from 1 to 100; names are strings; `prompt` is from 1 to 10,000. No request ever grows beyond what all blocks together hold, its prompt included: it is finished or aborted before. `finish` is only called for names that are waiting or running. `running` and `waiting` may be plain attributes: then remove the two properties from the cell.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "Queue", "locked": false, "schema_version": 3, "solution": true, "task": false}
class Queue:
    """Who runs and who waits for blocks."""

    def __init__(self, blocks: int, block_size: int):
        ### BEGIN SOLUTION
        self.free, self.block_size = blocks, block_size
        self.prompts, self.said, self.held = {}, {}, {}                # by name, in the order in which they came
        ### END SOLUTION

    @property
    def running(self) -> list[str]:
        """Who holds blocks, in the order in which they came."""
        ### BEGIN SOLUTION
        return [name for name, held in self.held.items() if held]
        ### END SOLUTION

    @property
    def waiting(self) -> list[str]:
        """Who holds none, in the order in which they came."""
        ### BEGIN SOLUTION
        return [name for name, held in self.held.items() if not held]
        ### END SOLUTION

    def add(self, name: str, prompt: int) -> None:
        """A request joins the queue."""
        ### BEGIN SOLUTION
        if name in self.held:
            raise ValueError(f"{name} is here already")
        self.prompts[name], self.said[name], self.held[name] = prompt, 0, 0
        ### END SOLUTION

    def step(self) -> list[tuple[str, int]]:
        """One step: who computed how many tokens."""
        ### BEGIN SOLUTION
        done = []
        for name in self.running:
            if self.held[name] * self.block_size == self.prompts[name] + self.said[name] - 1:
                if not self.free:
                    last = self.running[-1]
                    self.free, self.held[last] = self.held[last], 0
                if self.held[name]:
                    self.free, self.held[name] = self.free - 1, self.held[name] + 1
            if self.held[name]:
                done.append((name, 1))
        for name in self.waiting:
            tokens = self.prompts[name] + self.said[name]
            needed = -(-tokens // self.block_size)
            if needed > self.free:
                break
            self.free, self.held[name] = self.free - needed, needed
            done.append((name, tokens))
        for name, _ in done:
            self.said[name] += 1
        return done
        ### END SOLUTION

    def finish(self, name: str) -> int:
        """A request leaves: how many new tokens it has said."""
        ### BEGIN SOLUTION
        said = self.said[name]
        self.abort(name)
        return said
        ### END SOLUTION

    def abort(self, name: str) -> None:
        """A request leaves, if it is here."""
        ### BEGIN SOLUTION
        if name in self.held:
            self.free += self.held.pop(name)
            del self.prompts[name], self.said[name]
        ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "Queue-check", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
check(Queue)

# %% [markdown] nbgrader={"grade": false, "grade_id": "Queue-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The case by hand. Then a queue of twelve requests under a memory that gets smaller: how much is computed twice.

# %% nbgrader={"grade": false, "grade_id": "look-Queue", "locked": true, "schema_version": 3, "solution": false, "task": false}
queue = attempt(Queue, 4, 2)
if queue is not None:
    for name, prompt in (("a", 3), ("b", 2), ("c", 1)):
        queue.add(name, prompt)
    for number in range(1, 5):
        print(f"step {number}: {queue.step()}, running {queue.running}, waiting {queue.waiting}, {queue.free} free")
    print(f"a has said {queue.finish('a')}; step 5: {queue.step()}")
    for blocks in (64, 32, 16, 12):
        queue, steps, computed, answers = Queue(blocks, 4), 0, 0, {f"request {i}": 10 + 3 * (i % 5) for i in range(12)}
        said = dict.fromkeys(answers, 0)
        for name in answers:
            queue.add(name, 12)
        while said and steps < 1000:
            steps += 1
            for name, tokens in queue.step():
                computed, said[name] = computed + tokens, said[name] + 1
                if said[name] == answers[name]:
                    queue.finish(name)
                    del said[name]
        print(f"{blocks:>3} blocks: {steps:>3} steps, {computed} tokens computed, {computed - sum(11 + answer for answer in answers.values())} of them a second time")

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-pass", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 2. Batching and speculative decoding

# %% [markdown] nbgrader={"grade": false, "grade_id": "prepare-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 4. Inputs of a mixed batch
#
# **Why.** The model computes one row of tokens and does not know whose they are. Positions, slots and borders say so; one number off by one, and every client gets a fluent answer to another client's question.
#
# **Difficulty** 3 of 5 · **Time** 18 minutes · **Points** 6 · **Paper** Kwon et al. (2023), section 4.3; Yu et al. (2022), section 3.2, for the tokens of all requests in one row
#
# The plan says who computes how many tokens. Each scheduled request is a dictionary: `"ids"`, all its tokens so far; `"computed"`, how many of them are in the cache; `"count"`, how many it computes now, the next ones in order; `"table"`, its block table. The token at position $t$ is written to
#
# $$ \text{slot}(t) = \text{table}[\lfloor t / s \rfloor] \cdot s + t \bmod s, \qquad s = \texttt{block\_size} . $$
#
# Write `prepare(scheduled, block_size)`. Return a tuple of five int64 tensors, for $B$ requests that compute $T$ tokens together:
#
# - `ids` $(T)$: these tokens, request after request;
# - `positions` $(T)$: the position of each in its own sequence, from 0;
# - `slots` $(T)$: where its key and value are written;
# - `lengths` $(B)$: how many tokens of each request are in the cache after this step;
# - `cu_seqlens` $(B + 1)$: where the tokens of each request start in the row; first 0, last $T$.
#
# **By hand.** Blocks of 4 tokens. The first request of the list has the tokens 3, 1, 4, 1, 5, 9, has computed 2 of them, computes 4, and its blocks are 1 and 3. The second has 7, 9, 8, 7, 2, has computed 4, computes 1, and its blocks are 2 and 0. The second goes first: `ids` **2**, 4, 1, 5, 9. `positions` **4**, 2, 3, 4, 5. Position 4 is the first in its second block: `slots` **0**, then 6, 7 in block 1 and 12, 13 in block 3. `lengths` **5**, 6. `cu_seqlens` 0, **1**, 5.
#
# **Rules**
# 1. Requests that compute one token come first, in the order of the list; then all others, in the order of the list. Attention has a faster kernel for the first. Why a request computes one token does not matter.
# 2. Nothing is padded. `ids` may have tokens, and `table` blocks, beyond what this step needs.
# 3. Without requests, four tensors are empty, and `cu_seqlens` is a single 0.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Sort the list first. Then one walk through it gives each tensor.
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# `sorted(scheduled, key=lambda one: one["count"] > 1)` keeps the order of equal ones. For each request, `range(computed, computed + count)` are its positions: the ids are `ids[t]`, and the slots `table[t // block_size] * block_size + t % block_size`. Lists grow with `+=` and become tensors at the end with `dtype=torch.int64`: an empty list would become floats otherwise. `cu_seqlens` starts as `[0]`.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# Guests in a hotel, each with some nights to come; all nights in one row, the corridor of each, and where each guest's nights start.
#
# ```python
# def nights(guests, rooms_in_corridor):
#     corridors, begins = [], [0]
#     for guest in guests:
#         corridors += [room // rooms_in_corridor for room in guest["rooms"]]
#         begins.append(len(corridors))
#     return corridors, begins
# ```
#
# `nights([{"rooms": [3, 12]}, {"rooms": [25]}], 10)` gives `([0, 1, 2], [0, 2, 3])`.
#
# </details>
# <details><summary>Fine print</summary>
#
# Ids and tables are lists of ints; `count` is at least 1; blocks are numbers from 0 to 100,000 in any order; at most 100 requests and 3,000 tokens per step; `block_size` is from 1 to 1000. `ids` and `table` are never shorter than this step needs.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "prepare", "locked": false, "schema_version": 3, "solution": true, "task": false}
Row = Int[Tensor, " T"]


def prepare(scheduled: list[dict], block_size: int) -> tuple[Row, Row, Row, Int[Tensor, " B"], Int[Tensor, " B+1"]]:
    """What the model reads in one step: ids, positions, slots, lengths, cu_seqlens."""
    ### BEGIN SOLUTION
    ids, positions, slots, lengths, ends = [], [], [], [], [0]
    for one in sorted(scheduled, key=lambda one: one["count"] > 1):
        end = one["computed"] + one["count"]
        places = range(one["computed"], end)
        ids += one["ids"][one["computed"]:end]
        positions += places
        slots += [one["table"][place // block_size] * block_size + place % block_size for place in places]
        lengths.append(end)
        ends.append(len(ids))
    return tuple(torch.tensor(row, dtype=torch.int64) for row in (ids, positions, slots, lengths, ends))
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "prepare-check", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
check(prepare)

# %% [markdown] nbgrader={"grade": false, "grade_id": "prepare-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The case by hand.

# %% nbgrader={"grade": false, "grade_id": "look-prepare", "locked": true, "schema_version": 3, "solution": false, "task": false}
found = attempt(prepare, [{"ids": [3, 1, 4, 1, 5, 9], "computed": 2, "count": 4, "table": [1, 3]}, {"ids": [7, 9, 8, 7, 2], "computed": 4, "count": 1, "table": [2, 0]}], 4)
if found is not None:
    for name, row in zip(("ids", "positions", "slots", "lengths", "cu_seqlens"), found):
        print(f"{name:<11} {row.tolist()}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "verify-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 5. Verifying draft tokens
#
# **Why.** A small model drafts some tokens, and the large one computes them all in one pass. Which may stay, so that the text is distributed as if the large model had generated it alone? Published code gets this wrong in ways that no error shows.
#
# **Difficulty** 4 of 5 · **Time** 22 minutes · **Points** 7 · **Paper** Leviathan et al. (2023), section 2.3 and appendix A.1; Chen et al. (2023), algorithm 2 and theorem 1
#
# Draft token $i$ was sampled from `q[i]`; `p[i]` is the target model's distribution at the same position, and `p` has one row more, for the position after the last draft token. In order, draft token $x_i$ is **accepted** with probability $\min(1, p_i(x_i) / q_i(x_i))$, decided by a uniform number $u_i$:
#
# $$ \text{accept } x_i \iff u_i\, q_i(x_i) < p_i(x_i), \qquad r_i(x) = \frac{\max(p_i(x) - q_i(x),\, 0)}{\sum_{x'} \max(p_i(x') - q_i(x'),\, 0)} . $$
#
# The first that is not accepted is **rejected**, and all after it are dropped: a token sampled from the **residual** $r_i$ replaces it. If all are accepted, one more token is sampled from the last row of `p`.
#
# Write `verify(p, q, guesses, u)`. Return the generated tokens: those accepted, and the one that was sampled. `guesses` has the $k$ draft tokens. The random numbers are given: `u` has $k + 1$ of them, `u[i]` for draft token $i$, and the last, `u[k]`, for the sampled token, whatever its position.
#
# **By hand.** One draft token, a vocabulary of three: $p_0$ = (½, ¼, ¼), $q_0$ = (¼, ½, ¼), $p_1$ = (¼, ¼, ½), and the draft token is 1. With `u` = (.4, .6): .4 · ½ = .2 is less than ¼, accepted. From $p_1$, with sums ¼, ½, 1, the number .6 samples token 2: **[1, 2]**. With `u` = (.6, .9): .3 is not less than ¼, rejected. The residual is (¼, 0, 0), all of it on token 0: **[0]**.
#
# Why the distribution is preserved: token 0 is drafted with ¼ and always accepted; token 1 is drafted and rejected with ½ · ½ = ¼, and then token 0 follows. Together ½, which is $p_0(0)$.
#
# **Rules**
# 1. To sample with a number $u$, take the first token, in the order of ids, whose cumulative probability (its own included) is larger than $u$.
# 2. Where $u_i\, q_i(x_i) = p_i(x_i)$, the draft token is rejected.
# 3. Without draft tokens, `q` has no row, and one token is sampled from `p`.
# 4. Probabilities may be 0 in both, and all on one token. A token of probability 0 is never sampled.
#
# <details><summary>Hint 1: a nudge</summary>
#
# However the loop ends, exactly one token is sampled. From which distribution?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Walk through the draft tokens; append those accepted. At the first rejected one, set the probabilities to sample from, `(p[i] - q[i]).clamp(min=0)`, divide by their sum, and leave the loop; a `for ... else` sets them to the last row of `p` otherwise. Then one line samples: the number of cumulative sums that are at most `u[k]` is the id, `int((sums <= u[-1]).sum())`. `int(...)` makes plain numbers of tensors.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# A wheel of fortune with fields of unequal widths; and the same wheel after one field was covered with a plate, as if it were not there.
#
# ```python
# def spin(widths, covered, u):
#     widths = widths.clone()
#     widths[covered] = 0
#     ends = (widths / widths.sum()).cumsum(0)
#     return int((ends <= u).sum())
# ```
#
# `spin(torch.tensor([1.0, 2.0, 1.0]), 1, 0.6)` is 2.
#
# </details>
# <details><summary>Fine print</summary>
#
# - `p` $(k + 1, V)$ and `q` $(k, V)$ are float32 with rows that add up to 1; `guesses` is a list of $k$ ints, each with a probability above 0 in its row of `q`; `u` $(k + 1)$ is float32, from 0 to 0.999; $k$ is from 0 to 20, $V$ from 1 to 1000. The result has 1 to $k + 1$ ints.
# - Equality in rule 2 is asked only where it is exact in binary, as with ¼. Other numbers are further than 0.0001 apart where the rules compare them: $u_i$ from $p_i(x) / q_i(x)$, and a sampling number from the cumulative probabilities. Where a draft token is rejected, the residual adds up to at least 0.001 before it is normalized.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "verify", "locked": false, "schema_version": 3, "solution": true, "task": false}
def verify(p: Float[Tensor, "k+1 V"], q: Float[Tensor, "k V"], guesses: list[int], u: Float[Tensor, " k+1"]) -> list[int]:
    """The generated tokens: the accepted draft tokens, and one that is drawn."""
    ### BEGIN SOLUTION
    said, shares = [], p[-1]
    for i, guess in enumerate(guesses):
        if u[i] * q[i, guess] >= p[i, guess]:
            shares = (p[i] - q[i]).clamp(min=0)
            break
        said.append(guess)
    sums = (shares / shares.sum()).cumsum(0)
    return [*said, int((sums <= u[-1]).sum())]
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "verify-check", "locked": true, "points": 7, "schema_version": 3, "solution": false, "task": false}
check(verify)

# %% [markdown] nbgrader={"grade": false, "grade_id": "verify-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Twenty thousand passes with the draft of the case by hand. The first generated token must come from $p_0$, whatever the draft. Then drafts that are nearer to the model, and further away: the text is the same, the number of tokens in a pass is not.

# %% nbgrader={"grade": false, "grade_id": "look-verify", "locked": true, "schema_version": 3, "solution": false, "task": false}
p = torch.tensor([[0.5, 0.25, 0.25], [0.25, 0.25, 0.5]])
torch.manual_seed(3)
for name, row in (("by hand", [0.25, 0.5, 0.25]), ("the model itself", [0.5, 0.25, 0.25]), ("never token 0", [0.0, 0.5, 0.5])):
    q, counts, said = torch.tensor([row]), [0, 0, 0], 0
    for guess in q[0].multinomial(20_000, replacement=True).tolist():
        tokens = attempt(verify, p, q, [guess], torch.rand(2))
        if tokens is None:
            break
        counts[tokens[0]] += 1
        said += len(tokens)
    else:
        print(f"{name:<17} first tokens {[round(count / 20_000, 3) for count in counts]}, {said / 20_000:.2f} tokens in a pass")

# %% [markdown] nbgrader={"grade": false, "grade_id": "accept_tree-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 6. Accepting a tree of draft tokens
#
# **Why.** When the first token of a draft chain is rejected, all the others are wasted. A draft tree holds several candidates for each position, and one pass of the target model computes them all. But if every sibling were tested against the original distributions, the generated text would no longer follow the target's distribution.
#
# **Difficulty** 4 of 5 · **Time** 20 minutes · **Points** 6 · **Paper** Miao et al. (2024), section 4.3; Li et al. (2024), EAGLE, section 3.3
#
# Nodes $0 \dots N - 1$ of the tree are draft tokens. The **children** of a node continue its text; those of the root, number $-1$, continue the text so far. At a node with target distribution $p$ and draft distribution $q$, the children $x_1, x_2, \dots$ were sampled from $q$ one after another **without replacement**. They are tested in this order, starting with $r_1 = p$ and $q_1 = q$:
#
# $$ \text{accept } x_i \iff u\, q_i(x_i) < r_i(x_i). $$
#
# A rejection subtracts the draft distribution from the target distribution, removes the rejected token from the draft distribution, and renormalizes both:
#
# $$ r_{i+1}(x) = \frac{\max(r_i(x) - q_i(x),\, 0)}{\sum_{x'} \max(r_i(x') - q_i(x'),\, 0)}, \qquad q_{i+1}(x) = \begin{cases} 0 & x = x_i, \\ q_i(x) / (1 - q_i(x_i)) & \text{otherwise.} \end{cases} $$
#
# The first accepted child is the next node, whose own children are tested in the same way. Where no child is accepted, or there is none, one token is sampled from the last $r$, and the pass ends.
#
# Write `accept_tree(parents, tokens, p, q, u)`. Return a tuple: the list of the accepted nodes, from the root downwards, and the sampled token.
#
# - `parents[i]` is the parent of node $i$, and `tokens[i]` its token. A parent has a smaller number than its children; siblings are tested in the order of their numbers.
# - `p[0]` and `q[0]` are the distributions after the text so far, `p[i + 1]` and `q[i + 1]` those after node $i$: a child of node $i$ is tested with row $i + 1$.
# - `u[i]` is the uniform number for node $i$, and `u[N]` the one for the sampled token.
#
# **By hand.** `parents` = [-1, -1], `tokens` = [1, 2], and at the root $p$ = (7, 4, 5)/16 and $q$ = (¼, ½, ¼). With `u` = (.6, .4, .3): for node 0, .6 · ½ = .3 is not less than ¼, rejected. $p - q$ = (3, -4, 1)/16, so $r_2$ = (¾, 0, ¼), and without token 1 $q_2$ = (½, 0, ½). For node 1, .4 · ½ = .2 is less than ¼, accepted. It has no children, so .3 samples from `p[2]`; if that is (¼, ¼, ½), the result is **([1], 1)**. With `u` = (.6, .8, .3), node 1 is rejected as well, as .4 is not less than ¼. $r_3$ = (1, 0, 0): **([], 0)**.
#
# **Rules**
# 1. To sample with a number $u$, take the first token, in the order of ids, whose cumulative probability (its own included) is larger than $u$.
# 2. Where $u\, q_i(x_i) = r_i(x_i)$, the child is rejected.
# 3. Without nodes, the path is empty, and the token is sampled from `p[0]`.
# 4. In greedy decoding, a row of `p` has all its probability on one token: a child with that token is accepted, any other is rejected. A row of `q` may have all its probability on one token as well; its node then has at most one child.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Which three things change when a child is accepted, and which two when it is rejected?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Begin with an empty path and `node = -1`. In a `while True` loop, set `r` and `draft` to row `node + 1` of `p` and `q`, and go through the children of `node`. On acceptance, append the child, make it the node, and `break`. On rejection, replace `r` by the residual and divide it by its sum; then set `draft[token]` to 0, in a copy, and divide by what is left. A `for ... else` ends with the sample: `int((r.cumsum(0) <= u[-1]).sum())`.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# Parcels go down from the head office, number -1. At each office the branches are asked in the order of their numbers, and each has a limit of its own. An office that refuses leaves 1 kg of packaging behind, so that the parcel is lighter for the next.
#
# ```python
# def route(parents, limits, weight):
#     stops, office = [], -1
#     while True:
#         carried = weight
#         for branch, above in enumerate(parents):
#             if above == office and carried <= limits[branch]:
#                 stops.append(branch)
#                 office = branch
#                 break
#             carried -= above == office
#         else:
#             return stops, carried
# ```
#
# `route([-1, -1, 1], [3, 4, 2], 5)` is `([1], 4)`.
#
# </details>
# <details><summary>Fine print</summary>
#
# - `parents` and `tokens` are lists of $N$ ints, $N$ from 0 to 30; a node has at most 4 children, with different tokens, each with a probability above 0 in its row of `q`. `p` and `q` $(N + 1, V)$ are float32 with rows that add up to 1, $V$ from 1 to 1000; the row of a node without children is in `q` too, and means nothing. `u` $(N + 1)$ is float32, from 0 to 0.999.
# - Equality in rule 2 is tested only where it is exact in binary, as with ¼. All other comparisons have a margin of more than 0.001: between $u$ and $r_i(x_i) / q_i(x_i)$, and between a sampling number and the cumulative probabilities. A residual adds up to at least 0.05 before it is normalized, and so does the rest of $q$ if there is a further child.
# - One check enumerates all draws of small trees, with their probabilities: the probabilities of the generated tokens must be the target's within 0.000001.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "accept_tree", "locked": false, "schema_version": 3, "solution": true, "task": false}
def accept_tree(parents: list[int], tokens: list[int], p: Float[Tensor, "N+1 V"], q: Float[Tensor, "N+1 V"], u: Float[Tensor, " N+1"]) -> tuple[list[int], int]:
    """The accepted nodes from the root downwards, and the sampled token."""
    ### BEGIN SOLUTION
    path, node = [], -1
    while True:
        rest, draft = p[node + 1], q[node + 1]
        for child in [i for i, parent in enumerate(parents) if parent == node]:
            token = tokens[child]
            if u[child] * draft[token] < rest[token]:
                path.append(child)
                node = child
                break
            rest = (rest - draft).clamp(min=0)
            rest = rest / rest.sum()
            draft = draft.clone()
            draft[token] = 0
            draft = draft / draft.sum()
        else:
            return path, int((rest.cumsum(0) <= u[-1]).sum())
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "accept_tree-check", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
check(accept_tree)

# %% [markdown] nbgrader={"grade": false, "grade_id": "accept_tree-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Ten thousand passes at the root of the case by hand, with one, two and three children. The generated token must follow $p$ in all three cases; only the acceptance rate grows with the number of children.

# %% nbgrader={"grade": false, "grade_id": "look-accept_tree", "locked": true, "schema_version": 3, "solution": false, "task": false}
row, draft = torch.tensor([7, 4, 5]) / 16, torch.tensor([0.25, 0.5, 0.25])
torch.manual_seed(3)
for children in (1, 2, 3):
    p, q, counts, accepted = row.expand(children + 1, 3), draft.expand(children + 1, 3), [0, 0, 0], 0
    for _ in range(10_000):
        tokens = draft.multinomial(children).tolist()
        found = attempt(accept_tree, [-1] * children, tokens, p, q, torch.rand(children + 1))
        if found is None:
            break
        path, token = found
        counts[tokens[path[0]] if path else token] += 1
        accepted += len(path)
    else:
        print(f"{children} children: first tokens {[round(count / 10_000, 3) for count in counts]}, accepted {accepted / 10_000:.3f}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-client", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 3. Streaming

# %% [markdown] nbgrader={"grade": false, "grade_id": "Streamer-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 7. Incremental detokenization
#
# **Why.** A client sees the text while it grows, and sent text cannot be taken back. A token may be half a character, and a stop string may arrive in three tokens.
#
# **Difficulty** 3 of 5 · **Time** 22 minutes · **Points** 6 · **Paper** none; the idea is in the source of every server
#
# Token `id` stands for the bytes `pieces[id]`. Write the class `Streamer(pieces, stop)`, where `stop` is a list of stop strings:
#
# - `add(id)`: one more token was sampled. Returns the text that is **new and certain**, a str, often short and sometimes empty;
# - `finish()`: the answer has ended for another reason. Returns what was held back;
# - `stopped`: True as soon as a stop string was found, False before.
#
# Held back, and nothing else: bytes at the end that are the start of a character, and, with $t$ for the text so far, its suffix of length
#
# $$ h(t) = \max \{\, n : \text{the last } n \text{ characters of } t \text{ start a stop string without completing it} \,\} . $$
#
# When a stop string is found, all text before it that was not returned yet is returned. The stop string, and what follows it, never is.
#
# **By hand.** `pieces` are `b"Hi"`, `b" Us"`, `b"er:"`, `b"\xc3"`, `b"\xa9"`, and `stop` is `["User:"]`. Adding 0 returns `"Hi"`. 1 returns `" "`: "Us" may start "User:". 3 returns `""`: it is half an é. 4 returns `"Usé"`: now both are certainly text. 1 returns `" "`, and 2 returns `""`: "User:" is found, and `stopped` is True.
#
# **Rules**
# 1. Search the text so far after each token. If several stop strings are found, the one that starts first counts.
# 2. The list may be empty. An empty stop string is ignored.
# 3. After a stop string was found, `add` and `finish` return `""`, and `stopped` stays True.
# 4. `finish` returns the text that was held back, then one replacement character, `"\ufffd"`, if the start of a character is left. It does not change `stopped`.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Two stages hold text back, one behind the other: bytes become characters, then characters become certain. Each has a remainder of its own.
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# For characters: `codecs.getincrementaldecoder("utf-8")("replace")` makes an object whose `.decode(some_bytes)` returns whole characters and keeps the rest; `.decode(b"", True)` ends it. For stop strings: append the new characters to those held back. `str.find` gives the offset of each stop string; the smallest offset that is not -1 counts. If there is none: for each stop string and each length below its own, does the held text end with its first characters of that length? Keep the longest such suffix, and return what precedes it.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# Hold back a carriage return until it is clear whether a line feed follows, and return `\n` for both together.
#
# ```python
# class Lines:
#     def __init__(self):
#         self.held = ""
#
#     def add(self, text):
#         text, self.held = self.held + text, ""
#         if text.endswith("\r"):
#             text, self.held = text[:-1], "\r"
#         return text.replace("\r\n", "\n")
# ```
#
# Adding `"one\r"` returns `"one"`, and `"\ntwo"` then `"\ntwo"`.
#
# </details>
# <details><summary>Fine print</summary>
#
# - `pieces` is a list of 1 to 300 bytes objects of 0 to 100 bytes; `stop` is a list of 0 to 10 texts of at most 100 characters, which do not change later; `id` is a valid index; at most 1000 tokens are added.
# - All bytes together are UTF-8, except where an answer ends inside a character. No piece contains `"\ufffd"` itself; a stop string may. `finish` is called at most once, and nothing is added after it.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "Streamer", "locked": false, "schema_version": 3, "solution": true, "task": false}
class Streamer:
    """The text of tokens that come one by one, as far as it is certain."""

    def __init__(self, pieces: list[bytes], stop: list[str]):
        ### BEGIN SOLUTION
        import codecs
        self.pieces, self.stop, self.held, self.stopped = pieces, [text for text in stop if text], "", False
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")
        ### END SOLUTION

    def add(self, id: int) -> str:
        """One more token: the text that is new and certain."""
        ### BEGIN SOLUTION
        if self.stopped:
            return ""
        self.held += self.decoder.decode(self.pieces[id])
        found = [place for place in map(self.held.find, self.stop) if place >= 0]
        self.stopped = bool(found)
        kept = max((length for text in self.stop for length in range(1, len(text)) if self.held.endswith(text[:length])), default=0)
        end = min(found) if found else len(self.held) - kept
        certain, self.held = self.held[:end], self.held[end:]
        return certain
        ### END SOLUTION

    def finish(self) -> str:
        """Nothing more comes: what was held back."""
        ### BEGIN SOLUTION
        return "" if self.stopped else self.held + self.decoder.decode(b"", True)
        ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "Streamer-check", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
check(Streamer)

# %% [markdown] nbgrader={"grade": false, "grade_id": "Streamer-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The case by hand; and an answer that ends inside a letter.

# %% nbgrader={"grade": false, "grade_id": "look-Streamer", "locked": true, "schema_version": 3, "solution": false, "task": false}
for ids in ((0, 1, 3, 4, 1, 2, 0), (0, 1, 0), (0, 3)):
    streamer = attempt(Streamer, [b"Hi", b" Us", b"er:", b"\xc3", b"\xa9"], ["User:"])
    if streamer is not None:
        print(*(f"{streamer.pieces[id] if hasattr(streamer, 'pieces') else id} -> {streamer.add(id)!r};" for id in ids), f"at the end {streamer.finish()!r}, stopped {streamer.stopped}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "sse-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 8. Server-sent events
#
# **Why.** A real client reads this, byte by byte. With one line break missing it waits forever.
#
# **Difficulty** 2 of 5 · **Time** 14 minutes · **Points** 5 · **Paper** the HTML standard, section 9.2.6, for the format of events; OpenAI's API reference, "chat completion chunk", for their content
#
# A stream of **server-sent events** is UTF-8 text. Each event is a line that starts with `data: `, and an empty line after it. Write the generator `sse(head, next_token, prompt_tokens)`, which yields these events, each as one bytes object:
#
# 1. before any token is requested, an event with the delta `{"role": "assistant", "content": ""}`;
# 2. then one call of `next_token()` per token, which returns a tuple `(text, reason)`. If `text` is not empty: an event with the delta `{"content": text}`. `reason` is None until the last token; then it is a non-empty str such as `"stop"`, sent in a separate event after the text, with the delta `{}`. After it no token is requested;
# 3. if `prompt_tokens` is not None: an event with the usage, a dictionary of `"prompt_tokens"`, `"completion_tokens"` (the tokens requested) and `"total_tokens"`, their sum;
# 4. `data: [DONE]`, which is not JSON.
#
# All events but the last are JSON objects on one line: the entries of `head`, such as `"id"` and `"model"`, and `"choices"`. In 1 and 2 that is a list of one dictionary, `{"index": 0, "delta": ..., "finish_reason": ...}`, with the reason None except in its separate event. In 3 it is an empty list, next to `"usage"`; no other event has a `"usage"`.
#
# **By hand.** With `head` = `{"id": "1"}`, `prompt_tokens` None and a `next_token` that returns `("Hé", None)` and then `("", "stop")`, four events are sent:
#
# ```
# data: {"id": "1", "choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": null}]}
#
# data: {"id": "1", "choices": [{"index": 0, "delta": {"content": "Hé"}, "finish_reason": null}]}
#
# data: {"id": "1", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
#
# data: [DONE]
#
# ```
#
# **Rules**
# 1. Each event is one `yield`, including its two line breaks, `\n`.
# 2. An event is yielded before the next token is requested: the client sees it while the model computes. An empty text without a reason makes no event.
# 3. `prompt_tokens` may be 0: the usage is sent nevertheless.
#
# <details><summary>Hint 1: a nudge</summary>
#
# All events but the last differ in two or three entries. Which function of these would write an event?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# An inner function `event(choices, **more)` that returns `f"data: {json.dumps({**head, 'choices': choices, **more})}\n\n".encode()`. Then the `yield` of the role, a `while` loop that calls `next_token()` once, counts, and yields up to two events, a `yield` under `if prompt_tokens is not None`, and the last one.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# Log lines of a thermometer that is read until it breaks.
#
# ```python
# import json
#
# def log(station, measure):
#     yield json.dumps({**station, "state": "begin"}) + "\n"
#     broken = False
#     while not broken:
#         degrees, broken = measure()
#         yield json.dumps({**station, "degrees": degrees}) + "\n"
# ```
#
# </details>
# <details><summary>Fine print</summary>
#
# `head` is a dictionary of str to str or int, without `"choices"` and `"usage"`; a text is anything that UTF-8 can encode, line breaks and quotation marks included; `prompt_tokens` is an int or None. Events are read as JSON: the order of keys, spaces inside, and whether é is written as `\u00e9` do not matter.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "sse", "locked": false, "schema_version": 3, "solution": true, "task": false}
def sse(head: dict, next_token: Callable[[], tuple[str, str | None]], prompt_tokens: int | None) -> Iterator[bytes]:
    """The events of one answer, each as soon as it can be."""
    ### BEGIN SOLUTION
    import json

    def event(choices, **more):
        return f"data: {json.dumps({**head, 'choices': choices, **more})}\n\n".encode()

    def piece(delta, reason=None):
        return event([{"index": 0, "delta": delta, "finish_reason": reason}])

    yield piece({"role": "assistant", "content": ""})
    count, reason = 0, None
    while reason is None:
        text, reason = next_token()
        count += 1
        if text:
            yield piece({"content": text})
    yield piece({}, reason)
    if prompt_tokens is not None:
        yield event([], usage={"prompt_tokens": prompt_tokens, "completion_tokens": count, "total_tokens": prompt_tokens + count})
    yield b"data: [DONE]\n\n"
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "sse-check", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check(sse)

# %% [markdown] nbgrader={"grade": false, "grade_id": "sse-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The case by hand with a usage; where the `openai` package is installed, its own parser reads the bytes.

# %% nbgrader={"grade": false, "grade_id": "look-sse", "locked": true, "schema_version": 3, "solution": false, "task": false}
tokens = iter([("Hé", None), ("", None), ("\n\"quoted\"\n", None), ("", "stop")])
stream = attempt(sse, {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": "small"}, lambda: next(tokens), 5)
if stream is not None:
    came = list(stream)
    print(b"".join(came).decode())
    try:
        from openai._streaming import SSEDecoder
    except ModuleNotFoundError:
        print("The openai package is not here; the last cells of this notebook say what is done without it.")
    else:
        print("openai's parser:", [event.data[-60:] for event in SSEDecoder().iter_bytes(iter(came))])

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-believe", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 4. Benchmarks

# %% [markdown] nbgrader={"grade": false, "grade_id": "test_load-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 9. A test for a benchmark report
#
# **Why.** A latency report is a program too. Its mistakes can make a slow server look fast, and no error shows them.
#
# **Difficulty** 3 of 5 · **Time** 18 minutes · **Points** 5 · **Paper** Dean and Barroso (2013), for tail latency; Tene (2013), "How NOT to measure latency", for what a waiting client does not see
#
# A load test keeps a log, one dictionary per request:
#
# - `"due"`: when the request should have been sent, in seconds; `"sent"`: when it was. A client that waits for its previous answer sends late;
# - `"first"` and `"last"`: when its first and its last token arrived; both None if it failed;
# - `"tokens"`: how many tokens arrived, 0 if it failed; with one token, `"last"` is `"first"`;
# - `"places"`: how many positions were computed for it, padding included, at least `"tokens"`.
#
# You are handed a `report(log, begin)`. It should use only the requests that were **due** at `begin` or later, because the server warms up before, and return a dictionary of three floats. With $n$ such requests, $t$ for tokens:
#
# $$ \text{TTFT}_i = \text{first}_i - \text{due}_i, \qquad \text{TPOT}_i = \frac{\text{last}_i - \text{first}_i}{t_i - 1}, \qquad \text{throughput} = \frac{\sum_i t_i}{\max_i \text{last}_i - \min_i \text{due}_i} . $$
#
# - `"first_p95"`: the 95th percentile of TTFT, number $\lceil 0.95\, n \rceil$ of all values in ascending order, counted from 1. A failed request has TTFT infinity;
# - `"per_token"`: the mean TPOT over the requests with two tokens or more, each counted once. 0.0 if there are none;
# - `"per_second"`: the throughput, without padding; the first `"due"` may be a failed request's. 0.0 if all failed.
#
# Write `test_load(report)`, which passes if it does and fails an `assert` if it does not. A group of faults earns its points if your test stops all of them and every correct candidate passes:
#
# | group | points | faults |
# | --- | --- | --- |
# | clock | 1.5 | `"sent"` instead of `"due"`, in the first or the third number, or to choose the requests that count; 0 or NaN for all three numbers |
# | tail | 1.5 | the mean, the median, the largest or the 90th percentile instead of the 95th; the number rounded down, or one too far; failed requests left out, or counted as 0 |
# | tokens | 2 | TPOT from `"due"`, divided by all tokens, or over all tokens of all requests together; requests of one token counted as 0; padding counted; warm-up counted, in any of the three numbers, or only the request due exactly at `begin` left out |
#
# **By hand.** One request, due at 1, sent at 3, first token at 4, last at 6, 5 tokens, 8 positions, and `begin` = 0: a TTFT of 3.0 s, a TPOT of 2 / 4 = 0.5 s, 5 / 5 = 1.0 tokens per second. A report that measures from `"sent"` gives a TTFT of 1.0 s.
#
# **Rules**
# 1. A test that fails a correct candidate earns nothing.
# 2. Use only logs that the fine print allows; a correct candidate may refuse others.
# 3. Complain with `assert`, or with something that raises `AssertionError`.
# 4. Correct candidates differ by rounding: by less than a billionth of a number.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Write the correct report inside your test. What remains is to make logs on which every faulty one differs from it.
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# A function that makes a log with `random.Random(seed)`: for each request a different `due`, then `sent`, `first` and `last` by adding eighths, tokens and positions. Some 100 logs with 1 to 60 requests that count, several of warm-up, one due exactly at `begin`, and failed ones in every second log; one in which all failed. Compare the three numbers with `math.isclose(..., rel_tol=1e-6)`, which takes two infinities for equal. The number in ascending order: `math.ceil(0.95 * n)`; with n = 20 that is 19, also in floats.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# A test of a function that returns the mean mark of those who took part; None marks the absent.
#
# ```python
# import random
#
# def test_mean_mark(mean_mark):
#     chance = random.Random(5)
#     for number in (1, 2, 7, 30):
#         marks = [chance.choice([None, 1.0, 2.0, 4.0]) for _ in range(number)]
#         there = [mark for mark in marks if mark is not None]
#         right = sum(there) / len(there) if there else 0.0
#         assert abs(mean_mark(marks) - right) < 1e-6, f"wrong for {number} marks"
# ```
#
# </details>
# <details><summary>Fine print</summary>
#
# - Allowed are logs of 1 to 200 requests in any order, at least one of them due at `begin` or later, times from 0 to 10,000 that are multiples of 1/8, `due` ≤ `sent` < `first` ≤ `last`, `first` < `last` where there are two tokens or more, 1 to 1000 tokens, at most 5000 positions. Some correct candidates return numpy floats.
# - Every fault shows, by more than 1 in 1000 of a number, somewhere in logs of this kind: 1 to 60 requests count, some others are warm-up, some of these sent only after `begin`; their `due` differ; all are sent late, by more than a second; answers of 1 to 30 tokens, with times between tokens that differ from request to request; more positions than tokens; none, some or all failed. A fault may show only where some failed, or only where none did.
# - An exception other than `AssertionError` means that your test is broken, and earns nothing. Returning False instead of a failing `assert` costs a fifth, once.
# - Call the candidate at most three hundred times; one run may take five seconds. No candidate raises on an allowed call, changes the log, or returns other keys, or types that are not numbers.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "test_load", "locked": false, "schema_version": 3, "solution": true, "task": false}
def test_load(report: Callable[[list[dict], float], dict[str, float]]) -> None:
    """Fail an assert unless `report(log, begin)` says how long requests took."""
    ### BEGIN SOLUTION
    import math
    import random
    chance = random.Random(15)
    for number in range(28):
        log, begin, counted = [], 100.0, 1 + 17 * number % 60
        for place, due in enumerate(chance.sample(range(1, 100), 5) + [100] + chance.sample(range(101, 200), counted - 1)):
            due = float(due)
            sent = due + chance.randint(9, 400) / 8
            first = sent + chance.randint(1, 400) / 8
            tokens = chance.choice([1, 1, *range(2, 31)])
            gap = chance.randint(1, 16) / 8
            one = {"due": due, "sent": sent, "first": first, "last": first + (tokens - 1) * gap, "tokens": tokens, "places": tokens + chance.randint(5, 50)}
            if number % 2 and (chance.random() < 0.1 or number == 27):
                one |= {"first": None, "last": None, "tokens": 0}
            log.append(one)
        chance.shuffle(log)
        those = [one for one in log if one["due"] >= begin]
        came = [one for one in those if one["tokens"]]
        longer = [(one["last"] - one["first"]) / (one["tokens"] - 1) for one in came if one["tokens"] > 1]
        times = sorted(math.inf if one["first"] is None else one["first"] - one["due"] for one in those)
        right = {"first_p95": times[math.ceil(0.95 * counted) - 1], "per_token": sum(longer) / max(len(longer), 1),
                 "per_second": sum(one["tokens"] for one in came) / (max(one["last"] for one in came) - min(one["due"] for one in those)) if came else 0.0}
        found = report(log, begin)
        for name, value in right.items():
            assert math.isclose(found[name], value, rel_tol=1e-6, abs_tol=1e-9), f"{name} is {found[name]}, not {value}, for {counted} requests"
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "test_load-check", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check(test_load)

# %% [markdown] nbgrader={"grade": false, "grade_id": "test_load-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Your test on two reports that nobody should believe.

# %% nbgrader={"grade": false, "grade_id": "look-test_load", "locked": true, "schema_version": 3, "solution": false, "task": false}
def all_is_fast(log, begin):
    """Nothing ever takes time."""
    return {"first_p95": 0.0, "per_token": 0.0, "per_second": float(sum(one["tokens"] for one in log))}


def believes_the_client(log, begin):
    """The mean over all that came, from when the client got round to it."""
    waits = [one["first"] - one["sent"] for one in log if one["first"] is not None]
    return {"first_p95": sum(waits) / max(len(waits), 1), "per_token": 0.1, "per_second": 10.0}


for candidate in (all_is_fast, believes_the_client):
    try:
        attempt(test_load, candidate)
        print(f"{candidate.__name__}: your test stays silent")
    except AssertionError as complaint:
        print(f"{candidate.__name__}: your test complains: {complaint}")
    except Exception as error:
        print(f"{candidate.__name__}: stopped by {type(error).__name__}: {error}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "faster-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 10. "2.2 times faster"
#
# **Why.** This sentence is on most slides about serving. Anyone who buys machines because of it should ask some questions first.
#
# **Difficulty** 2 of 5 · **Time** 9 minutes · **Points** 4, graded by a person · **Paper** Kwon et al. (2023), section 6.3; the post that announced vLLM (2023) has the number
#
# A common claim: *vLLM gives 2.2 times higher throughput.* In about 100 words: which facts are missing before this sentence can be true or false, and what could the number be in another situation? Give one case of your own, or of this notebook, in which continuous batching gains much, and one in which it gains nothing. What should be measured besides throughput?
#
# {{rubric}}
#
# Short is fine. Correct and concrete beats long.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Faster than what, doing what, on what?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# One sentence each: the baseline and how it was configured; the lengths of prompts and answers, and how requests arrive; the model, its memory, the machine; which of a user's latencies got better or worse. For the two cases, exercise 1 has both.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# *The new oven bakes 3 times more.* More than which oven, and was that one full? Rolls or cakes: an oven with shelves of many heights gains where sizes are mixed, and nothing where all are equal. And how long does the first customer wait for a single roll?
#
# </details>

# %% [markdown] nbgrader={"grade": true, "grade_id": "faster", "locked": false, "points": 4, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# {{samples}}
# ### END SOLUTION

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-real", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Your code runs the real thing
#
# Nothing to write here. Run the cells and watch; they take under a minute on a quiet machine.
#
# First a small GPT writes verses with very little memory, and your `Queue` says who computes. Then your `plan`, `prepare`, `Streamer` and `sse` replace the scheduler, the layout of a step, the detokenizer and the stream in the course's server. The block manager is the course's own, the one of chapter 14. Behind it is SmolLM2, with 135 million parameters, and four questions come at once over HTTP. Last your `verify` tests draft tokens for SmolLM2.

# %% nbgrader={"grade": false, "grade_id": "real-queue", "locked": true, "schema_version": 3, "solution": false, "task": false}
import time
from collections import namedtuple
from unittest.mock import patch

from course.demo import ready
from reference_impl.corpora.small_models import small_model
from reference_impl.engine.engine import Engine, EngineConfig
from reference_impl.engine.scheduler import Move, Scheduled, Scheduler, SchedulerConfig
from reference_impl.engine.scheduler import Step as EngineStep
from reference_impl.engine.sequence import Status
from reference_impl.generation.loop import generate as reference_generate
from reference_impl.generation.sampling_params import SamplingParams


class Yours(Scheduler):
    """The course's queues, and decisions of yours."""

    def begin(self, sequence, step, tokens):
        """A sequence computes so many tokens in this step; one that waits gets blocks for all of its own."""
        if sequence in self.waiting:
            self.waiting.remove(sequence)
            self.running.append(sequence)
            sequence.status = Status.RUNNING
            step.admitted.append(sequence)
        wanted = sequence.num_uncomputed if sequence in step.admitted else tokens
        if self.blocks.blocks_needed(sequence, wanted) > 0:
            step.moves += [Move("copy", *pair) for pair in self.blocks.grow(sequence, wanted)]
        step.scheduled.append(Scheduled(sequence, tokens))


class ByYourQueue(Yours):
    """Your `Queue` decides."""

    def __init__(self, config, blocks):
        super().__init__(config, blocks)
        self.queue = Queue(blocks.num_blocks, blocks.block_size)

    def add(self, sequence):
        super().add(sequence)
        self.queue.add(sequence.id, len(sequence.prompt_ids))

    def finish(self, sequence, reason):
        super().finish(sequence, reason)
        self.queue.finish(sequence.id)

    def schedule(self):
        step, here = EngineStep(), {sequence.id: sequence for sequence in (*self.running, *self.waiting)}
        computed = self.queue.step()
        for sequence in [one for one in self.running if one.id not in self.queue.running]:
            self._preempt(sequence, step)
        for name, tokens in computed:
            self.begin(here[name], step, tokens)
        return step

# %% nbgrader={"grade": false, "grade_id": "real-queue-run", "locked": true, "schema_version": 3, "solution": false, "task": false}
if ready(Queue, needs=["kjv"]):
    gpt = small_model("gpt_kjv")
    verses = ["In the beginning ", "And the LORD said ", "The river ", "Now it came to pass ", "Blessed ", "And he went up "]
    prompts, params = [list(gpt.tokenizer.encode(verse)) for verse in verses], SamplingParams(temperature=0.0, max_tokens=40)
    theirs = [list(reference_generate(gpt.model, [prompt], params)[0].ids) for prompt in prompts]
    for blocks in (200, 14):
        started = time.perf_counter()
        engine = Engine(gpt.model, EngineConfig(num_blocks=blocks, block_size=8, prefix_caching=False, scheduler=SchedulerConfig(max_num_batched_tokens=512, max_model_len=96)))
        engine.scheduler = ByYourQueue(engine.config.scheduler, engine.blocks)
        yours = [found[0].ids for found in engine.generate(prompts, params)]
        print(f"{blocks} blocks of 8 tokens: {engine.trace.num_steps} steps, {engine.num_preemptions} times somebody was put back, {sum(row['num_tokens'] for row in engine.trace.rows)} tokens computed, "
              f"{time.perf_counter() - started:.1f} s; token for token what the course writes one text at a time: {yours == theirs}")
    print(engine.trace.draw())
    print("P: a prompt, or all that was there computed again; d: one token; x: put back; -: waiting; .: finished.")
    print(repr(verses[0] + gpt.tokenizer.decode(yours[0])))

# %% nbgrader={"grade": false, "grade_id": "real-server", "locked": true, "schema_version": 3, "solution": false, "task": false}
import asyncio
import json
import queue
import socket
import threading
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from reference_impl.corpora import path
from reference_impl.engine.connections import make_server
from reference_impl.engine.limits import Limits
from reference_impl.engine.loading import load as load_served
from reference_impl.engine.model_runner import ModelRunner
from reference_impl.engine.server import Served, create_app
from reference_impl.engine.token_bytes import token_bytes
from reference_impl.generation.stopping import Stopping


class ByYourPlan(Yours):
    """Your `plan` decides; if nobody can go on for want of blocks, the last one gives back its own."""

    def schedule(self):
        step = EngineStep()
        while True:
            everybody = sorted((*self.running, *self.waiting), key=lambda one: one.arrival)
            asked = [{"tokens": one.num_tokens, "computed": one.num_computed_tokens, "blocks": len(one.block_table)} for one in everybody]
            given = plan(asked, self.config.max_num_batched_tokens, self.blocks.num_free_blocks, self.blocks.block_size)
            if given or not self.running:
                break
            self._preempt(max(self.running, key=lambda one: one.arrival), step)
        for place, tokens in given:
            self.begin(everybody[place], step, tokens)
        return step


class YourRunner(ModelRunner):
    """Your `prepare` says what the model reads, and where it is written."""

    def prepare(self, step):
        prepared, n = super().prepare(step), sum(one.num_tokens == 1 for one in step.scheduled)
        if step.scheduled:
            ids, positions, slots, lengths, cu_seqlens = prepare([{"ids": [*one.sequence.ids, *one.sequence.draft_ids], "computed": one.sequence.num_computed_tokens, "count": one.num_tokens,
                                                                   "table": list(one.sequence.block_table)} for one in step.scheduled], self.block_size)
            prepared.ids, prepared.positions = ids.tolist(), positions
            prepared.layout.slot_mapping, prepared.layout.context_lens = slots, lengths.int()
            if n < len(step.scheduled):
                prepared.layout.cu_seqlens_prefill = (cu_seqlens[n:] - cu_seqlens[n]).int()
        return prepared


Text = namedtuple("Text", "text reason")


class YourText(Stopping):
    """Your `Streamer` says which text is certain; the course counts tokens and knows the end tokens."""

    pieces, seen = [], []

    def __init__(self, params, eos_ids=(), tokenizer=None):
        super().__init__(params, eos_ids, tokenizer)
        self.streamer, self.ids = Streamer(self.pieces, list(params.stop)), []

    def add(self, token):
        self.ids.append(token)
        if len(self.ids) == 1:
            self.seen.append(self.ids)
        if token in self.end_ids:
            return Text(self.streamer.finish(), "stop")
        text = self.streamer.add(token)
        if self.streamer.stopped:
            return Text(text, "stop")
        return Text(text + self.streamer.finish(), "length") if len(self.ids) == self._max_tokens else Text(text, None)


async def your_events(handler, answer, first, outputs, tools=None):
    """Your `sse` in a thread of its own, which waits for tokens as they come."""
    said = queue.SimpleQueue()
    head = {"id": answer.id, "object": "chat.completion.chunk", "created": answer.created, "model": answer.model}
    stream = sse(head, said.get, len(answer.prompts[0]) if answer.wants_usage else None)

    async def feed():
        said.put((first.text, first.finish_reason))
        async for output in outputs:
            said.put((output.text, output.finish_reason))
    feeding = asyncio.create_task(feed())
    while (event := await asyncio.to_thread(next, stream, None)) is not None:
        yield event.decode()
    await feeding


@contextmanager
def serving(served, render_chat):
    """The course's server with your parts; yields its engine and its address."""
    YourText.pieces, YourText.seen = [token_bytes(served.tokenizer, id) for id in range(served.model.config.vocab_size)], []
    with patch("reference_impl.engine.engine.Stopping", YourText), patch("reference_impl.engine.server.Handler._events", your_events):
        engine = Engine(served.model, EngineConfig(num_blocks=64, prefix_caching=False, scheduler=SchedulerConfig(max_num_seqs=8, max_num_batched_tokens=32, max_model_len=512)),
                        served.tokenizer, served.eos_ids)
        engine.scheduler, engine.runner = ByYourPlan(engine.config.scheduler, engine.blocks), YourRunner(served.model, 64, 16)
        listening = socket.create_server(("127.0.0.1", 0))
        server = make_server(create_app(Served(engine, "smollm2", render_chat)), Limits())
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            while not server.started:
                time.sleep(0.01)
            yield engine, f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        finally:
            server.should_exit = True
            thread.join()

# %% nbgrader={"grade": false, "grade_id": "real-client", "locked": true, "schema_version": 3, "solution": false, "task": false}
def by_openai(address, question, tokens):
    """What openai's own client reads: the pieces of the answer, and the usage."""
    with openai.OpenAI(base_url=address, api_key="none", max_retries=0, timeout=120) as client:
        chunks = list(client.chat.completions.create(model="smollm2", messages=[{"role": "user", "content": question}], max_tokens=tokens, temperature=0.0, stream=True,
                                                     stop=["User:"], stream_options={"include_usage": True}))
    return [chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices], chunks[-1].usage.completion_tokens


def by_urllib(address, question, tokens):
    """The same with Python's own library: lines that begin with "data: "."""
    body = {"model": "smollm2", "messages": [{"role": "user", "content": question}], "max_tokens": tokens, "temperature": 0.0, "stream": True, "stop": ["User:"], "stream_options": {"include_usage": True}}
    request = urllib.request.Request(f"{address}/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as answer:
        lines = [line.decode().removeprefix("data: ").strip() for line in answer if line.startswith(b"data: ")]
    chunks = [json.loads(line) for line in lines[:-1]]
    return [chunk["choices"][0]["delta"].get("content", "") for chunk in chunks if chunk["choices"]], chunks[-1]["usage"]["completion_tokens"]


try:
    import openai
    ask = by_openai
except ModuleNotFoundError:
    ask = by_urllib
    print("The openai package is not here: it comes with the course's test extras. Python's own library asks instead, and sends the same requests.")

# %% nbgrader={"grade": false, "grade_id": "real-server-run", "locked": true, "schema_version": 3, "solution": false, "task": false}
if ready(plan, prepare, Streamer, sse, needs=["smollm2"]):
    served = load_served(next(path("smollm2").glob("*.gguf")))
    questions, tokens = ["Where does a river end?", "What does a bank do with money, and why does it pay interest to those who lend it some?", "Say hello in French.", "Name three trees."], 20
    with serving(served, served.render_chat) as (engine, address), ThreadPoolExecutor(4) as clients:
        started = time.perf_counter()
        answers = list(clients.map(lambda question: ask(address, question, tokens), questions))
        took = time.perf_counter() - started
    seen = sorted(YourText.seen)
    for question, (parts, count) in zip(questions, answers):
        print(f"{question[:36]:<36} {count} tokens in {len(parts)} pieces: {''.join(parts)!r}")
    prompts = [list(served.tokenizer.encode(served.render_chat([{"role": "user", "content": question}]), add_specials=False).ids) for question in questions]
    theirs = [list(reference_generate(served.model, [prompt], SamplingParams(temperature=0.0, max_tokens=tokens), eos_ids=served.eos_ids)[0].ids) for prompt in prompts]
    print(f"{ask.__name__}: {took:.1f} s for four at once; token for token what the course says, one at a time: {seen == sorted(theirs)}")
    for line in engine.trace.draw().splitlines():                                  # of a request's long name its first letters
        print(line.removeprefix("chatcmpl-")[:4].ljust(6) + line[47:])

# %% nbgrader={"grade": false, "grade_id": "real-verify", "locked": true, "schema_version": 3, "solution": false, "task": false}
from reference_impl.engine.speculative import NgramProposer


def your_verify(p, draft, generator):
    """Your `verify` with numbers of the request's own generator; a draft token without a distribution is certain."""
    k = len(draft.ids)
    q = torch.nn.functional.one_hot(torch.tensor(draft.ids, dtype=torch.int64), p.shape[1]).float() if draft.q is None else draft.q[:k].float()
    return verify(p.float(), q, list(draft.ids), torch.rand(k + 1, generator=generator).clamp(max=0.999) if generator else torch.full((k + 1,), 0.5))

# %% nbgrader={"grade": false, "grade_id": "real-verify-run", "locked": true, "schema_version": 3, "solution": false, "task": false}
if ready(verify, needs=["smollm2"]):
    served = load_served(next(path("smollm2").glob("*.gguf")))
    for name, text in (("a list that repeats", "the bank of the river, the bank of the town, the bank of the river, the bank of the town, the bank of"), ("a story", "We sat on the bank of the river and")):
        ids, params, found = list(served.tokenizer.encode(text).ids), SamplingParams(temperature=0.0, max_tokens=24), {}
        for guesses in (0, 4):
            config = EngineConfig(num_blocks=64, num_speculative_tokens=guesses, scheduler=SchedulerConfig(max_num_seqs=4, max_num_batched_tokens=128, max_model_len=512))
            engine = Engine(served.model, config, served.tokenizer, served.eos_ids, NgramProposer() if guesses else None)
            with patch("reference_impl.engine.sampling.verify", your_verify):
                found[guesses] = engine.generate([ids], params)[0][0].ids, engine.trace.num_steps, engine.num_accepted, engine.num_drafted
        print(f"{name:<20} {found[4][1]} passes instead of {found[0][1]}: {found[4][2]} of {found[4][3]} draft tokens accepted; the same tokens: {found[4][0] == found[0][0]}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "real-end", "locked": true, "schema_version": 3, "solution": false, "task": false}
# A server is not one clever thing. It is a plan, a queue, five rows of numbers, a rule for draft tokens, a cut through text, and an empty line where it belongs. Each of yours did its part, and the tokens are those of a loop that serves one text at a time.
#
# With little memory the verses took more steps, and some tokens were computed again: nobody's text changed. Where a text repeats itself, draft tokens save passes; where it does not, they are computed for nothing. On one core a pass over five tokens costs more than one over a single token, so that fewer passes are not always less time: the chapter's record has both.
#
# One word of warning: in float32, sums in another order may turn the choice between two tokens that are nearly equally likely. That is no mistake of yours.

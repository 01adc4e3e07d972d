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
# # Chapter 2. Tokenization: the exercises
#
# In this notebook you write BERT's pre-tokenization, byte-level decoding, today's three subword algorithms, and inputs without a vocabulary.
# At the end your functions tokenize a real text as GPT-2 and BERT do, token for token.
#
# There are 11 exercises and 55 points. Plan about 177 minutes, in as many sittings as you like.
#
# | Part | Exercises | Minutes | Points |
# | --- | --- | --- | --- |
# | Pre-tokenization and bytes | 1 to 2 | 35 | 10 |
# | Byte-pair encoding | 3 to 4 | 40 | 12 |
# | WordPiece | 5 to 6 | 30 | 9 |
# | Unigram | 7 to 8 | 38 | 11 |
# | Model inputs | 9 to 10 | 24 | 9 |
# | In your own words | 11 | 10 | 4 |
# | Your code runs the real thing | nothing to write | 1 | 0 |
#
# **How it works.**
# 1. Read the statement, write the function in the cell below it, and run the check under that cell as often as you like.
# 2. A check's first line names the likely cause, its second a small input that fails. Stuck? Open the three hints in order; the third solves a similar problem.
# 3. Grading runs the same checks with other words and values. The smallest cases are always among them.
#
# **Symbols.** $a$ and $b$ adjacent symbols, $x$ a token with probability $p(x)$, $c$ a segmentation (in exercise 10 a code point), $P$ vocabulary size.
#
# <details><summary>Fine print</summary>
#
# - *Arguments.* Return something new: neither an argument nor a result of an earlier call. When your function returns, its arguments hold what they held before. The same list may occur twice within one result.
# - *Types.* Return the type that the statement names: a list is a `list`, a pair a `tuple`, a dictionary a `dict`, an integer an `int`. A subclass counts as its type, and an `int` may be given for a `float`, but a bool does not count as a number. A dictionary has the named keys and no others, in any order.
# - *Calls.* A result depends only on the arguments. Caching that cannot be observed is fine. A correct answer that breaks *Arguments*, *Types* or *Calls* loses a fifth of the exercise's points, once.
# - *Characters.* A character is what `len` counts in Python: 🏦 is one. Texts have no lone surrogates.
# - *Sizes and time.* Where a statement names no size, a text has at most about 200 characters and a list a few hundred entries, and all texts of a call together have a few thousand characters. A call may take five seconds: plain Python loops are fast enough.
# - *Tools.* You may use anything in Python, torch and numpy. Not allowed are ready-made tokenizers: the packages `tokenizers`, `transformers`, `tiktoken` and `sentencepiece`, and those of this course.
# - *Smallest cases.* Grading always includes those that a statement allows: the empty word, one letter, equal letters, no merge, no token that fits.
# - *Arguments are as promised.* Your function need not check what a statement or its fine print promises. You may add cells anywhere: helpers, prints, plots.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
import math
import unicodedata
from collections import Counter

import torch
from jaxtyping import Float
from torch import Tensor

from autograder.check import check

WORDS = ["bank", "tank", "bay"]
COUNTS = [3, 2, 4]


def attempt(function, *arguments):
    """What your function answers; None, and a friendly line, while it is not written yet."""
    try:
        return function(*arguments)
    except NotImplementedError:
        print(f"{function.__name__} is not written yet. Come back to this cell when it is.")
        return None

# %% nbgrader={"grade": false, "grade_id": "progress", "locked": true, "schema_version": 3, "solution": false, "task": false}
from autograder.notebook_progress import progress

progress("02")                                 # follows your checks

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-words", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 1. Pre-tokenization and bytes
#
# Before any subword is learned, a text is split into words, or into bytes. BERT does the first and loses spaces, capitals and accents; GPT-2 writes its words in bytes and loses nothing.

# %% [markdown] nbgrader={"grade": false, "grade_id": "bert_words-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 1. BERT's pre-tokenization
#
# **Why.** BERT and most retrieval models apply this before WordPiece. What is lost here no vocabulary brings back.
#
# **Difficulty** 3 of 5 · **Time** 20 minutes · **Points** 5 · **Paper** Devlin et al. (2019), `BasicTokenizer` in `tokenization.py` of its release
#
# The text is normalized, then split at spaces and punctuation: $\mathrm{words} = \mathrm{split} \circ \mathrm{lower} \circ \mathrm{accents} \circ \mathrm{chinese} \circ \mathrm{clean}$. Each step is applied to the whole text before the next.
#
# Write `bert_words(text)`. `text` is a text of $n$ characters; the result is the list of its words, in order.
#
# **By hand.** `"Naïve banks,\tin 河 5€+3$"`
#
# | step | text |
# | --- | --- |
# | clean | Naïve banks, in 河 5€+3$ |
# | Chinese | Naïve banks, in  河  5€+3$ |
# | accents | Naive banks, in  河  5€+3$ |
# | lower | naive banks, in  河  5€+3$ |
# | split | naive · banks · , · in · 河 · 5€ · + · 3 · $ |
#
# **Rules**
# 1. **Clean.** A tab, `\n` and `\r` become a space. Of the rest, characters of the categories Cc and Cf and U+FFFD are removed. Every other character for which `isspace()` is true becomes a space.
# 2. **Chinese.** A character of the blocks in `CJK_BLOCKS` (next cell) gets a space on each side; kana, Hangul and all other scripts do not.
# 3. **Accents.** Decompose the text (`NFD`) and remove what has category Mn. The rest stays decomposed: a Korean syllable stays in its letters.
# 4. **Lower-case** with `lower()`, so *ß* stays *ß*.
# 5. **Split** at spaces. Then each punctuation sign becomes a word of its own, also between letters: every character whose category begins with P, and all 32 signs of `string.punctuation`, among them `$`, `+` and `~`. Other symbols, such as €, stay in their word.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Four of the five steps look at one character at a time. What does each of them give for one character: nothing, a space, the character, several?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Build the cleaned text in a loop that appends to a list. For the last step, put a space on both sides of each sign, then `split()`.
# Order matters in the cleaning: the tab has category Cc too, so ask for it first.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# Titles of songs, made comparable: drop emoji variation signs, turn every dash into one, cut at dashes.
#
# ```python
# import unicodedata
#
# def parts_of_title(title):
#     kept = []
#     for sign in title:
#         if sign == "\ufe0f":                              # a variation selector: removed
#             continue
#         kept.append("-" if unicodedata.category(sign) == "Pd" else sign)     # Pd: dashes of all kinds
#     return [part.strip() for part in "".join(kept).split("-") if part.strip()]
# ```
#
# `parts_of_title("Blue — live – 1971")` gives `["Blue", "live", "1971"]`.
#
# </details>
# <details><summary>Fine print</summary>
#
# An empty text, or one of spaces only, gives an empty list; no word is empty. A sign is classified after step 3: *≠* decomposes into *=* and a stroke, so *a≠b* gives *a*, *=*, *b*. Not tested: characters of private use, unassigned ones, those that are younger than Unicode 8 or had another category in it, the capital sigma (its lower-case form depends on its position), and texts for which it matters whether `NFD` is applied to the whole text or character by character. You may need `unicodedata.category`, `unicodedata.normalize` and `str.isspace`.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "setup-cjk", "locked": true, "schema_version": 3, "solution": false, "task": false}
# First and last character of each block that BERT calls Chinese.
CJK_BLOCKS = [(0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F),
              (0x2B820, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F)]

# %% nbgrader={"grade": false, "grade_id": "bert_words", "locked": false, "schema_version": 3, "solution": true, "task": false}
def bert_words(text: str) -> list[str]:
    """The words of a text as BERT's uncased models cut it: cleaned, without accents, small, signs apart."""
    ### BEGIN SOLUTION
    clean = []
    for character in text:
        if character in "\t\n\r":
            clean.append(" ")
        elif unicodedata.category(character) not in ("Cc", "Cf") and character != "\ufffd":
            chinese = any(first <= ord(character) <= last for first, last in CJK_BLOCKS)
            clean.append(f" {character} " if chinese else character)
    apart = unicodedata.normalize("NFD", "".join(clean))
    small = "".join(part for part in apart if unicodedata.category(part) != "Mn").lower()
    signs = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
    return "".join(f" {sign} " if sign in signs or unicodedata.category(sign).startswith("P") else sign
                   for sign in small).split()
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "bert_words-check", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check(bert_words)

# %% [markdown] nbgrader={"grade": false, "grade_id": "bert_words-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Two French words, one typed twice: a search finds all of them or none.

# %% nbgrader={"grade": false, "grade_id": "look-bert_words", "locked": true, "schema_version": 3, "solution": false, "task": false}
for text in ("la côte, la cote, la CÔTE", "un\u00adbank the zero\u200bwidth", "銀行 bank ぎんこう"):
    words = attempt(bert_words, text)
    if words is not None:
        print(ascii(text) if "\u200b" in text else text, " -> ", " · ".join(words))

# %% [markdown] nbgrader={"grade": false, "grade_id": "byte_decode-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 2. Byte-level decoding
#
# **Why.** Every answer of GPT-2, Llama 3 or Qwen comes out of this function. It is also why a half-streamed emoji shows as �.
#
# **Difficulty** 2 of 5 · **Time** 15 minutes · **Points** 5 · **Paper** Radford et al. (2019), section 2.2; `encoder.py` of its release
#
# Byte-level tokens are made of the 256 bytes, so nothing is unknown. A vocabulary file is text, though, and cannot hold a byte such as 0x0A. Each byte $b$ is therefore displayed as one printable character:
#
# $$\mathrm{char}(b) = \begin{cases} \texttt{chr}(b) & b \in [33, 126] \cup [161, 172] \cup [174, 255] \\ \texttt{chr}(256 + k) & b \text{ is number } k = 0, 1, \dots, 67 \text{ of the others, from the smallest up} \end{cases}$$
#
# Write two functions.
#
# - `byte_table()` returns a dictionary of 256 entries from each character to its byte (1.5 of the points).
# - `byte_decode(tokens)` returns the text of a list of tokens, each a text written in these characters.
#
# **By hand.** None of the bytes 0 to 32 is printable: byte 0 is `chr(256)`, byte 10 `chr(266)` = `Ċ`, byte 32, the space, `chr(288)` = `Ġ`. Byte 127 is next, `chr(289)`; byte 173 is the last, `chr(323)`. The tokens `["We", "Ġsat", "Ġby", "ĠðŁ", "ı", "¦"]` are the bytes of "We sat by " and F0 9F 8F A6: the text is **"We sat by 🏦"**.
#
# **Rules**
# 1. Join the tokens first: a character may be spread over several of them.
# 2. Bytes that are not UTF-8 show as U+FFFD (�), as many as `bytes.decode("utf-8", errors="replace")` shows. Decoding never fails.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Three things have to happen: characters to bytes, bytes together, bytes to text. Where in this row may you put a loop over the tokens, and where not?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Make the set of printable bytes from three ranges; mind that `range(33, 127)` ends at 126. Go through `range(256)` with a counter that starts at 256 and grows with each byte that is not in the set.
# Then `bytes(table[c] for c in "".join(tokens))`, decoded once.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# A museum numbers its 30 rooms. Rooms that have a name keep it; the others are called X1, X2, ... in order. From the signs on the doors back to the numbers:
#
# ```python
# def room_of_sign(names):                    # names: {3: "Goya", 7: "Klee"}
#     signs, unnamed = {}, 0
#     for room in range(1, 31):
#         if room in names:
#             signs[names[room]] = room
#         else:
#             unnamed += 1                    # counts the rooms without a name only
#             signs[f"X{unnamed}"] = room
#     return signs
# ```
#
# `room_of_sign({3: "Goya"})["X3"]` is 4: room 3 took no X.
#
# </details>
# <details><summary>Fine print</summary>
#
# The table maps texts of one character to plain `int`s. An empty list gives the empty text. `<|endoftext|>` would be its 13 characters here. Every character of a token is in the table. A token may be empty.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "byte_decode", "locked": false, "schema_version": 3, "solution": true, "task": false}
def byte_table() -> dict[str, int]:
    """GPT-2's table, from the character that is written to the byte that it stands for."""
    ### BEGIN SOLUTION
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + place): byte for place, byte in enumerate(others)}
    ### END SOLUTION


def byte_decode(tokens: list[str]) -> str:
    """The text that GPT-2's tokens stand for; bytes that are no UTF-8 show as U+FFFD."""
    ### BEGIN SOLUTION
    table = byte_table()
    return bytes(table[character] for character in "".join(tokens)).decode("utf-8", "replace")
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "byte_decode-check", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check(byte_decode)

# %% [markdown] nbgrader={"grade": false, "grade_id": "byte_decode-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Remove the emoji token by token. At which token does it break?

# %% nbgrader={"grade": false, "grade_id": "look-byte_decode", "locked": true, "schema_version": 3, "solution": false, "task": false}
for tokens in (["Ġbank", "ĠðŁ", "ı", "¦"], ["Ġbank", "ĠðŁ", "ı"], ["Ġbank", "ĠðŁ"], ["Ġbank"]):
    text = attempt(byte_decode, tokens)
    if text is not None:
        print(f"{len(tokens)} tokens  {text!r}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-bpe", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 2. Byte-pair encoding
#
# Start with single characters. Merge the most frequent pair of adjacent symbols. Repeat.
# That is all of the training; the list of merges is the model.
# The examples use the three words of the page: `WORDS` and `COUNTS` are *bank* 3, *tank* 2, *bay* 4.

# %% [markdown] nbgrader={"grade": false, "grade_id": "train_bpe-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 3. BPE training
#
# **Why.** The vocabularies of GPT-2, Llama, Qwen and Mistral were made by this loop.
#
# **Difficulty** 4 of 5 · **Time** 25 minutes · **Points** 7 · **Paper** Sennrich, Haddow and Birch (2016), section 3.2 and algorithm 1
#
# Each word $w$, with count $c_w$, is a sequence of symbols, at first its characters. In each round the most frequent pair of adjacent symbols is merged everywhere and appended to the list of merges:
#
# $$(a, b)^{*} = \arg\max_{(a, b)} \#(ab), \qquad \#(ab) = \sum_w c_w \cdot \bigl|\{\, i : w_i = a,\ w_{i+1} = b \,\}\bigr|$$
#
# Write `train_bpe(words, counts, num_merges)`. `words` is a list of $n$ texts, `counts` a list of $n$ positive integers. The result is the list of merges, each a tuple of two texts, in the order in which they were learned.
#
# **By hand.** *bank* 3, *tank* 2, *bay* 4, four merges:
#
# | round | counts of the pairs | merged | the words now |
# | --- | --- | --- | --- |
# | 1 | b+a 7, a+n 5, n+k 5, a+y 4, t+a 2 | b+a | ba n k, t a n k, ba y |
# | 2 | n+k 5, ba+y 4, ba+n 3, t+a 2, a+n 2 | n+k | ba nk, t a nk, ba y |
# | 3 | ba+y 4, ba+nk 3, a+nk 2, t+a 2 | ba+y | ba nk, t a nk, bay |
# | 4 | ba+nk 3, a+nk 2, t+a 2 | ba+nk | bank, t a nk, bay |
#
# After the first merge a+n dropped from 5 to 2: in *bank* the a is part of *ba*.
#
# **Rules**
# 1. Count all pairs again in every round. A pair counts once for each occurrence: `"aaa"` contains (a, a) twice, although only one can be merged.
# 2. Merge all occurrences in each word from left to right, no symbol twice: `"aaaa"` becomes `aa aa`, `"aaa"` becomes `aa a`. Pairs never cross from one word into the next.
# 3. If several pairs are most frequent, take the smallest in Python's order of tuples of texts: the smaller left part, then the smaller right part.
# 4. Stop after `num_merges` merges, or earlier when no pair is left. A pair that occurs only once is merged too.
#
# <details><summary>Hint 1: a nudge</summary>
#
# What changes from round to round, and what stays? The counts of the words stay. What else do you have to keep?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Keep a list of lists of symbols next to `counts`. Each round: a `Counter` of pairs, where each word adds its count; if it is empty, stop; the winner is `min(pairs, key=lambda pair: (-pairs[pair], pair))`; then a helper that merges one pair in one list of symbols, with a `while` and an index that advances by 2 after a merge.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# Which two songs follow each other most often in all playlists, and what do the lists look like when that couple becomes one entry?
#
# ```python
# def couple(lists):
#     often = Counter()
#     for songs in lists:
#         for left, right in zip(songs, songs[1:]):         # within one list only
#             often[left, right] += 1
#     best = min(often, key=lambda pair: (-often[pair], pair))
#     done = []
#     for songs in lists:
#         new, i = [], 0
#         while i < len(songs):
#             step = 2 if tuple(songs[i:i + 2]) == best else 1
#             new.append("&".join(songs[i:i + step]))
#             i += step
#         done.append(new)
#     return best, done
# ```
#
# `couple([["A", "B", "C"], ["A", "B"]])` gives `(("A", "B"), [["A&B", "C"], ["A&B"]])`. Yours does this again and again, and its lists have counts.
#
# </details>
# <details><summary>Fine print</summary>
#
# Unlike in the paper, no sign marks the end of a word. The book's page and the library `tokenizers` break ties differently; here rule 3 counts. A word may occur in the list several times; then its counts add up. Words may be empty or have one character. A space in a word is a character like any other. Each count is from 1 to $2^{53}$, `num_merges` from 0 to 100.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "train_bpe", "locked": false, "schema_version": 3, "solution": true, "task": false}
def train_bpe(words: list[str], counts: list[int], num_merges: int) -> list[tuple[str, str]]:
    """The merges that byte-pair encoding learns from words with counts, in order."""
    ### BEGIN SOLUTION
    rows, merges = [list(word) for word in words], []
    for _ in range(num_merges):
        pairs = Counter()
        for row, count in zip(rows, counts):
            for pair in zip(row, row[1:]):
                pairs[pair] += count
        if not pairs:
            break
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        merges.append(best)
        for number, row in enumerate(rows):
            joined = []
            for piece in row:
                if joined and (joined[-1], piece) == best:      # what was joined is longer than best[0]: never joined twice
                    joined[-1] += piece
                else:
                    joined.append(piece)
            rows[number] = joined
    return merges
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "train_bpe-check", "locked": true, "points": 7, "schema_version": 3, "solution": false, "task": false}
check(train_bpe)

# %% [markdown] nbgrader={"grade": false, "grade_id": "train_bpe-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The merges of the page. Take more than four: which word is finished last?

# %% nbgrader={"grade": false, "grade_id": "look-train_bpe", "locked": true, "schema_version": 3, "solution": false, "task": false}
merges = attempt(train_bpe, WORDS, COUNTS, 7)
if merges is not None:
    for number, (left, right) in enumerate(merges, start=1):
        print(f"{number}. {left} + {right}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "bpe_split-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 4. BPE encoding
#
# **Why.** This is how GPT-2, Llama 3 and Qwen tokenize every word that you send them.
#
# **Difficulty** 2 of 5 · **Time** 15 minutes · **Points** 5 · **Paper** Sennrich, Haddow and Birch (2016), section 3.2
#
# Training leaves the list of merges. The position of a merge in that list is its **rank**. To encode a word, start from its characters, and repeatedly merge the adjacent pair of lowest rank, until no adjacent pair is in the list:
#
# $$i^{*} = \arg\min_{i} \mathrm{rank}(s_i, s_{i+1}), \qquad s_{i^{*}} s_{i^{*}+1} \text{ becomes one symbol}$$
#
# Write `bpe_split(word, merges)`. `word` is a text, `merges` a list of tuples of two texts, lowest rank first. The result is the list of tokens.
#
# **By hand.** The merges are `("i", "n")`, `("a", "n")`, `("in", "g")`, `("an", "k")`, `("b", "ank")`, `("an", "king")`, `("k", "ing")`. The word is *banking*:
#
# | symbols | adjacent pairs in the list | lowest rank |
# | --- | --- | --- |
# | b a n k i n g | an (2nd), in (1st) | in |
# | b a n k in g | an (2nd), in+g (3rd) | an |
# | b an k in g | in+g (3rd), an+k (4th) | in+g |
# | b an k ing | an+k (4th), k+ing (7th) | an+k |
# | b ank ing | b+ank (5th) | b+ank |
# | **bank ing** | none | |
#
# `("an", "king")` had no chance: an+k has a lower rank than k+ing, so *king* was never made.
#
# **Rules**
# 1. The rank decides, not the length of the token and not its position in the word.
# 2. If the pair of lowest rank occurs several times, merge from left to right; a symbol that was merged is not merged again in the same round. `"aaa"` with `("a", "a")` gives `["aa", "a"]`.
# 3. Two symbols are merged only if exactly this pair is in the list; that another pair gives the same text does not count.
# 4. A character that is in no merge stays as a token. Joined, the tokens are always the word.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Which number belongs to each adjacent pair, so that the smallest wins? And which to a pair that is not in the list?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Make a dictionary from pair to rank. Keep the symbols in a list.
# In each round find the lowest rank among the adjacent pairs, with its index; stop if there is none; replace the two symbols by one.
# `min` over tuples `(rank, index)` takes the leftmost of equals by itself.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# Neighbours in a street move together by a list of orders. Each order names two households, and the earliest in the list is obeyed first.
#
# ```python
# def move_together(street, orders):
#     street = list(street)
#     while True:
#         wanted = [(orders.index((a, b)), i) for i, (a, b) in enumerate(zip(street, street[1:])) if (a, b) in orders]
#         if not wanted:
#             return street
#         order, i = min(wanted)                     # the earliest order, and of equals the leftmost
#         street[i:i + 2] = [street[i] + "+" + street[i + 1]]
# ```
#
# `move_together(["Ada", "Bo", "Cy"], [("Bo", "Cy"), ("Ada", "Bo")])` gives `["Ada", "Bo+Cy"]`.
#
# </details>
# <details><summary>Fine print</summary>
#
# An empty word gives an empty list. Without merges a word becomes its characters, of any kind. You may rely on this: no two merges give the same text, and a part longer than one character was made by an earlier merge. Only the list above breaks this, with *king*, which its last line makes; it is tested with *banking*.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "bpe_split", "locked": false, "schema_version": 3, "solution": true, "task": false}
def bpe_split(word: str, merges: list[tuple[str, str]]) -> list[str]:
    """The pieces of a word: of all pairs of neighbours the earliest merge first, until there is none."""
    ### BEGIN SOLUTION
    place = {pair: number for number, pair in enumerate(merges)}
    pieces = list(word)
    for _ in word:
        found = [(place[pair], i) for i, pair in enumerate(zip(pieces, pieces[1:])) if pair in place]
        if found:
            _, i = min(found)
            pieces[i:i + 2] = [pieces[i] + pieces[i + 1]]
    return pieces
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "bpe_split-check", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check(bpe_split)

# %% [markdown] nbgrader={"grade": false, "grade_id": "bpe_split-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# One list of merges, three words. Which token did *thanking* get that *banking* did not, and because of which merge?

# %% nbgrader={"grade": false, "grade_id": "look-bpe_split", "locked": true, "schema_version": 3, "solution": false, "task": false}
MERGES = [("i", "n"), ("a", "n"), ("in", "g"), ("an", "k"), ("b", "ank"), ("an", "king"), ("k", "ing")]
for word in ("banking", "thanking", "king"):
    pieces = attempt(bpe_split, word, MERGES)
    if pieces is not None:
        print(f"{word:<9}", " | ".join(pieces))

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-wordpiece", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 3. WordPiece
#
# BERT's tokens say where they occur: `bank` begins a word, `##bank` continues one. Encoding is greedy, and that has a price.

# %% [markdown] nbgrader={"grade": false, "grade_id": "wordpiece-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 5. WordPiece encoding
#
# **Why.** BERT, and many retrieval models, split every word with these few lines.
#
# **Difficulty** 2 of 5 · **Time** 15 minutes · **Points** 5 · **Paper** Devlin et al. (2019), `WordpieceTokenizer` in `tokenization.py` of its release
#
# From position $i$ of the word, take the longest token of the vocabulary $\mathcal{V}$ that fits, and continue at its end $j$. A token that does not begin the word has `##` in front, in the vocabulary and in the result:
#
# $$j = \max\{\, j > i : p(i)\, w_{i+1} \dots w_j \in \mathcal{V} \,\}, \qquad p(0) \text{ empty}, \quad p(i) = \texttt{\#\#} \text{ for } i > 0$$
#
# Write `wordpiece(word, vocabulary)`. `word` is a text, `vocabulary` a list of different tokens in any order. The result is a list of tokens, written as in the vocabulary.
#
# **By hand.** The vocabulary is `["[UNK]", "b", "ban", "bank", "##k", "##ing", "##king", "##s"]`.
#
# | word | tokens | why |
# | --- | --- | --- |
# | banking | bank, ##ing | *bank* is longer than *ban* and *b* |
# | banks | bank, ##s | |
# | kings | [UNK] | no token without `##` begins with k |
# | bankings | bank, ##ing, ##s | |
# | banker | [UNK] | after *bank* nothing fits *er*, so the *whole* word is unknown |
#
# **Rules**
# 1. Greedy: what was taken is never taken back. Without *##ing*, *banking* would be `[UNK]`, although ban, ##king covers it.
# 2. If no token fits at some position, the result is `["[UNK]"]` for the whole word.
# 3. A word of more than 100 characters is `["[UNK]"]`, whatever the vocabulary contains; one of exactly 100 is split like any other.
#
# <details><summary>Hint 1: a nudge</summary>
#
# You are at some position of the word. Which ends do you try, and in which order? What do you look up: the slice, or the slice with something before it?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# `start = 0`. While `start < len(word)`: let `end` run from `len(word)` down to `start + 1`; look up `word[start:end]`, with `"##"` before it unless `start` is 0; at the first hit append it and continue at `end`. No hit: return `["[UNK]"]` at once.
# A set answers `in` faster than a list.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# A cashier gives change greedily: always the largest coin that still fits. No coin fits: no change at all.
#
# ```python
# def change(amount, coins):
#     given = []
#     while amount > 0:
#         fitting = [coin for coin in coins if coin <= amount]
#         if not fitting:
#             return ["no change"]              # not even the coins found so far
#         given.append(max(fitting))            # never taken back
#         amount -= given[-1]
#     return given
# ```
#
# `change(6, [4, 3])` is `["no change"]`: 4 is taken and 2 is left, although 3 + 3 would have done.
#
# </details>
# <details><summary>Fine print</summary>
#
# An empty word gives an empty list. Characters count for rule 3, not bytes, and `##` is none of them. (The library `tokenizers` has the same limit; BERT's release has 200.) `[UNK]` need not be in the vocabulary, which may be empty. No token is empty or only `##`. No word contains a `#` or a bracket, but its letters may be of any script. A space is a character like any other, and so is a third `#` in a token.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "wordpiece", "locked": false, "schema_version": 3, "solution": true, "task": false}
def wordpiece(word: str, vocabulary: list[str]) -> list[str]:
    """The word cut into the longest pieces that fit, from the left; ["[UNK]"] if somewhere none fits."""
    ### BEGIN SOLUTION
    known, pieces, start = set(vocabulary), [], 0
    if len(word) > 100:
        return ["[UNK]"]
    while start < len(word):
        prefix = "##" if start else ""
        end = next((end for end in range(len(word), start, -1) if prefix + word[start:end] in known), None)
        if end is None:
            return ["[UNK]"]
        pieces.append(prefix + word[start:end])
        start = end
    return pieces
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "wordpiece-check", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check(wordpiece)

# %% [markdown] nbgrader={"grade": false, "grade_id": "wordpiece-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Take *##ing* out of the vocabulary and run the cell again: how many words become unknown?

# %% nbgrader={"grade": false, "grade_id": "look-wordpiece", "locked": true, "schema_version": 3, "solution": false, "task": false}
VOCABULARY = ["[UNK]", "b", "ban", "bank", "##k", "##ing", "##king", "##s"]
for word in ("banking", "banks", "kings", "bankings", "banker"):
    pieces = attempt(wordpiece, word, VOCABULARY)
    if pieces is not None:
        print(f"{word:<9}", " | ".join(pieces))

# %% [markdown] nbgrader={"grade": false, "grade_id": "first_merge-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 6. Predict: WordPiece's first merge
#
# **Why.** This is the score usually quoted for WordPiece. You will see what it prefers, and why a vocabulary made by it would be of little use.
#
# **Difficulty** 3 of 5 · **Time** 15 minutes · **Points** 4 · **Paper** Schuster and Nakajima (2012), section 3
#
# WordPiece starts from characters: *bank* is `b`, `##a`, `##n`, `##k`; all but the first have a mark. By the quoted rule it merges the adjacent pair with the largest score:
#
# $$\mathrm{score}(a, b) = \frac{\#(ab)}{\#(a)\,\#(b)}$$
#
# $\#(ab)$ counts how often $b$ follows $a$ in a word, $\#(a)$ how often $a$ occurs at all; everything counts as often as its word. Only arithmetic is needed, no training.
#
# Write `first_merge(words, counts)`. `words` is a list of $n$ different words, `counts` a list of $n$ positive integers. The result is a dictionary with one entry, from the first token that is made to its score.
#
# **By hand.** *bank* 3, *tank* 2, *bay* 4. The symbols: b 7, t 2, ##a 9, ##n 5, ##k 5, ##y 4.
#
# | pair | count | score |
# | --- | --- | --- |
# | b + ##a | 7 | 7 / (7 · 9) = 1/9 |
# | ##n + ##k | 5 | 5 / (5 · 5) = **1/5** |
# | ##a + ##n | 5 | 5 / (9 · 5) = 1/9 |
# | ##a + ##y | 4 | 4 / (9 · 4) = 1/9 |
# | t + ##a | 2 | 2 / (2 · 9) = 1/9 |
#
# The result is `{"##nk": 0.2}`: a token made of two marked symbols keeps one mark. b + ##a would be written `ba`.
#
# **Rules**
# 1. *n* at the beginning of a word and *##n* inside one are different symbols with different counts. A word of one character has no pair, but its symbol counts.
# 2. Every occurrence counts: *baaa* contains the pair (##a, ##a) twice, and ##a three times.
# 3. If several pairs have the largest score, the token whose text is smallest in Python's order is made; `"#"` comes before every letter.
# 4. If there is no pair, the result is an empty dictionary.
#
# <details><summary>Hint 1: a nudge</summary>
#
# How many different characters has *noon*, written WordPiece's way? How often does each occur?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Two counters, one of characters and one of pairs, in one loop over the words; each word adds its count. Then the score of every pair, then `min` by `(-score, piece)`.
# `pairs / (left * right)` with whole numbers gives equal floats for equal fractions; dividing twice may not.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# Which two guests belong together most? Not those who meet most often, but those who meet more often than two so busy people would by chance.
#
# ```python
# def closest(parties):                          # each party a pair of guests
#     went = Counter(guest for party in parties for guest in party)
#     met = Counter(parties)
#     return {pair: met[pair] / (went[pair[0]] * went[pair[1]]) for pair in met}
# ```
#
# In `[("Ann", "Bob"), ("Ann", "Bob"), ("Ann", "Eve"), ("Ida", "Leo")]` Ida and Leo score 1, Ann and Bob 2 / (3 · 2) = 1/3. Who went out once and together has the highest score there is.
#
# </details>
# <details><summary>Fine print</summary>
#
# The words consist of letters, none is empty; each count is from 1 to ten billion. Scores that are equal as fractions are equal; others differ by at least a millionth of themselves. The score is a plain `float` and may be off by a ten-thousandth of itself. The paper asks for the pair that raises the likelihood most, which also depends on how often the pair occurs; the program that made BERT's vocabulary was never published.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "first_merge", "locked": false, "schema_version": 3, "solution": true, "task": false}
def first_merge(words: list[str], counts: list[int]) -> dict[str, float]:
    """The first piece that WordPiece's quoted score makes, with its score; empty if there is no pair."""
    ### BEGIN SOLUTION
    single, pairs = Counter(), Counter()
    for word, count in zip(words, counts):
        row = [word[0], *("##" + character for character in word[1:])]
        for symbol in row:
            single[symbol] += count
        for pair in zip(row, row[1:]):
            pairs[pair] += count
    scores = {left + right[2:]: pairs[left, right] / (single[left] * single[right]) for left, right in pairs}
    best = sorted(scores, key=lambda piece: (-scores[piece], piece))[:1]
    return {piece: scores[piece] for piece in best}
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "first_merge-check", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(first_merge)

# %% [markdown] nbgrader={"grade": false, "grade_id": "first_merge-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Add one rare word. What happens to the prediction, and what would happen to BPE's?

# %% nbgrader={"grade": false, "grade_id": "look-first_merge", "locked": true, "schema_version": 3, "solution": false, "task": false}
for words, number in ((WORDS, COUNTS), ([*WORDS, "ox"], [*COUNTS, 1])):
    made = attempt(first_merge, words, number)
    if made is not None:
        print(", ".join(words), " -> ", made)

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-unigram", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 4. Unigram
#
# In T5, ALBERT and XLNet every token has a probability, and the segmentation with the largest product wins.
# Tokens carry no mark here.

# %% [markdown] nbgrader={"grade": false, "grade_id": "best_cut-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 7. Unigram: the best segmentation
#
# **Why.** SentencePiece's Unigram segments words this way. The same algorithm, Viterbi's, finds the best path in speech recognition and tagging.
#
# **Difficulty** 4 of 5 · **Time** 20 minutes · **Points** 6 · **Paper** Kudo (2018), section 3.2
#
# The probability of a segmentation is the product of its tokens' probabilities, so its logarithm is a *sum*. The best way to position $j$ is the best way to some earlier position $i$ and one more token:
#
# $$\mathrm{best}(0) = 0, \qquad \mathrm{best}(j) = \max_{i < j} \bigl(\mathrm{best}(i) + \log p(w_{i+1} \dots w_j)\bigr)$$
#
# Write `best_cut(word, log_prob)`. `word` is a text, `log_prob` a dictionary from each of $P$ tokens to its natural logarithm. The result is the list of tokens of the most probable segmentation, or `None` if there is none.
#
# **By hand.** ban 1/8, bank 1/16, ks 1/16, s 1/32, k 1/32; in bits, the negative logarithm to base 2, that is 3, 4, 4, 5, 5.
#
# | prefix | best segmentation | bits |
# | --- | --- | --- |
# | (nothing) | | 0 |
# | b, ba | none | |
# | ban | ban | 3 |
# | bank | bank (ban + k has 8) | 4 |
# | banks | ban + ks: 3 + 4 = **7** (bank + s: 4 + 5 = 9) | 7 |
#
# The best segmentation of *banks* contains that of *ban*, not that of *bank*. That is why the whole table is kept.
#
# **Rules**
# 1. Each token of the result is a key of `log_prob`; joined they are the word. An empty word gives an empty list.
# 2. Of equally probable segmentations, take the one whose *last* token is longest; if these are equally long, the one whose second-to-last token is longest, and so on.
# 3. Words have up to 200 characters: their probability may be too small for a float, and trying every segmentation takes forever.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Suppose you know the best sum for every shorter prefix. Which tokens can be the last one of this prefix? What is the total of each?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Two lists with `len(word) + 1` entries: `best[0] = 0.0`, the rest minus infinity; and the segmentations, or only where the last piece of each starts. For each `end` from 1, for each `start` from 0 to `end - 1`: if `word[start:end]` is a token and `best[start]` can be reached, compare `best[start] + log_prob[piece]` with `best[end]`, with `>` and not with `>=`.
# If you kept only where last pieces start, walk back from the end and reverse the list.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# The cheapest row of train tickets from station 0 to station n; a ticket (from, to) has a price.
#
# ```python
# def cheapest(n, price):                                # price: {(0, 2): 5.0, ...}, always from < to
#     cost, came_from = [0.0] + [math.inf] * n, [None] * (n + 1)
#     for to in range(1, n + 1):
#         for start in range(to):
#             if (start, to) in price and cost[start] + price[start, to] < cost[to]:
#                 cost[to], came_from[to] = cost[start] + price[start, to], start
#     stations = [n]
#     while stations[-1] and came_from[stations[-1]] is not None:
#         stations.append(came_from[stations[-1]])       # from the back
#     return stations[::-1]
# ```
#
# `cheapest(3, {(0, 2): 5.0, (0, 1): 1.0, (1, 3): 7.0, (2, 3): 1.0})` gives `[0, 2, 3]`.
#
# </details>
# <details><summary>Fine print</summary>
#
# Ties, also between segmentations into the same tokens, are tested only where the sums are exact in any order of adding; otherwise the best sum is larger than the next by at least 0.00000005. The logarithms are from minus ten billion to 0. A token may have exactly 0, probability 1. The probabilities need not add up to 1. No token is empty; `log_prob` may have no entries.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "best_cut", "locked": false, "schema_version": 3, "solution": true, "task": false}
def best_cut(word: str, log_prob: dict[str, float]) -> list[str] | None:
    """The most likely cut of a word into pieces, None if there is none; of equals the longest last piece."""
    ### BEGIN SOLUTION
    best, cuts = [0.0] + [-math.inf] * len(word), [[]] + [None] * len(word)
    for end in range(1, len(word) + 1):
        for start in range(end):
            piece = word[start:end]
            score = best[start] + log_prob.get(piece, -math.inf)
            if score > best[end]:
                best[end], cuts[end] = score, [*cuts[start], piece]
    return cuts[-1]
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "best_cut-check", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
check(best_cut)

# %% [markdown] nbgrader={"grade": false, "grade_id": "best_cut-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The five tokens of the page. Make *bank* more probable, 1/2 for example, and run the cell again: which segmentation is best then? (At 1/4 two are equally probable.)

# %% nbgrader={"grade": false, "grade_id": "look-best_cut", "locked": true, "schema_version": 3, "solution": false, "task": false}
PIECES = {"ban": 1 / 8, "bank": 1 / 16, "ks": 1 / 16, "s": 1 / 32, "k": 1 / 32}
LOG_PROB = {piece: math.log(probability) for piece, probability in PIECES.items()}
cut = attempt(best_cut, "banks", LOG_PROB)
if cut is not None:
    print("banks  ->", " | ".join(cut), f"  {sum(-math.log2(PIECES[piece]) for piece in cut):.0f} bits")

# %% [markdown] nbgrader={"grade": false, "grade_id": "expected_counts-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 8. Unigram: expected counts
#
# **Why.** This is the E-step of Unigram's training. New probabilities come from these numbers; then the tokens that are missed least are pruned.
#
# **Difficulty** 4 of 5 · **Time** 18 minutes · **Points** 5 · **Paper** Kudo (2018), section 3.2
#
# Every segmentation $c$ of the word is weighted by its probability, and each token's count is averaged:
#
# $$P(c) = \frac{\prod_{x \in c} p(x)}{\sum_{c'} \prod_{x \in c'} p(x)}, \qquad \mathbb{E}[\#(x)] = \sum_{c} P(c) \cdot \#(x \in c)$$
#
# Write `expected_counts(word, log_prob)`. `word` is a text, `log_prob` a dictionary from each of $P$ tokens to its natural logarithm. The result is a float32 tensor of shape $(P)$, in the dictionary's order.
#
# **By hand.** The tokens of exercise 7, the word *banks*. It has three segmentations:
#
# | segmentation | probability | normalized |
# | --- | --- | --- |
# | ban, ks | 1/128 | 64/81 |
# | bank, s | 1/512 | 16/81 |
# | ban, k, s | 1/8192 | 1/81 |
# | sum | 81/8192 | 1 |
#
# So the expected count of *ban* is 64/81 + 1/81 = **65/81**, of *ks* 64/81, *s* 17/81, *bank* 16/81, *k* 1/81.
#
# **Rules**
# 1. A token that occurs twice in a segmentation counts twice there. A token that is in none has 0.
# 2. A word without a segmentation gives zeros, and so does the empty word.
# 3. Words have up to 200 characters, with far more segmentations than can be listed and probabilities too small for a float. Sum over the ways to each position, and stay in logarithms.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Take one token at one position of the word. What fraction of the total probability uses it there? Everything before it, times the token, times everything after it.
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# `before[i]`: the logarithm of the summed probability of all segmentations of the first `i` characters; `after[i]`: of all segmentations of the rest. Fill the one from the left, the other from the right, with log-sum-exp where exercise 7 took the maximum.
# A token from `start` to `end` then adds $e^{\mathrm{before}[start] + \mathrm{log\_prob} + \mathrm{after}[end] - \mathrm{before}[n]}$. `torch.logsumexp` or your own, minus infinity for no way at all.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# Walkers go from station 0 to station n, and take each road with its weight. What fraction of the walks uses the road (1, 3)?
#
# ```python
# def share_of_road(n, weight, road):                    # weight: {(0, 1): 0.5, ...}, always from < to
#     before, after = [1.0] + [0.0] * n, [0.0] * n + [1.0]
#     for to in range(1, n + 1):
#         before[to] = sum(before[a] * w for (a, b), w in weight.items() if b == to)
#     for start in reversed(range(n)):
#         after[start] = sum(w * after[b] for (a, b), w in weight.items() if a == start)
#     return before[road[0]] * weight[road] * after[road[1]] / before[n]
# ```
#
# With the roads 0 to 1, 1 to 3 and 0 to 3, each of weight 0.5, the road (1, 3) has 0.25 / 0.75 = 1/3 of the walks. Yours has longer words, so it adds logarithms.
#
# </details>
# <details><summary>Fine print</summary>
#
# A number may be off by a ten-thousandth of itself and a millionth more: Python's floats are exact enough, float32 on the way is not. The logarithms are from minus ten thousand to 0; the probabilities need not add up to 1. No token is empty, and `log_prob` has at least one entry.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "expected_counts", "locked": false, "schema_version": 3, "solution": true, "task": false}
def expected_counts(word: str, log_prob: dict[str, float]) -> Float[Tensor, "P"]:
    """How often each piece stands in a cut of the word, on average over all cuts by their probability."""
    ### BEGIN SOLUTION
    def add(x: float, y: float) -> float:
        return max(x, y) + (math.log1p(math.exp(-abs(x - y))) if min(x, y) > -math.inf else 0.0)

    n = len(word)
    edges = [(start, start + len(piece), place, score) for start in range(n)
             for place, (piece, score) in enumerate(log_prob.items()) if word.startswith(piece, start)]
    before, after = [0.0] + [-math.inf] * n, [-math.inf] * n + [0.0]
    for start, end, _, score in edges:
        before[end] = add(before[end], before[start] + score)
    for start, end, _, score in reversed(edges):
        after[start] = add(after[start], score + after[end])
    counts = torch.zeros(len(log_prob))
    if before[n] > -math.inf:
        for start, end, place, score in edges:
            counts[place] += math.exp(before[start] + score + after[end] - before[n])
    return counts
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "expected_counts-check", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check(expected_counts)

# %% [markdown] nbgrader={"grade": false, "grade_id": "expected_counts-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# A token with a small expected count gets a small probability, and an even smaller expected count in the next round. Which of the five has the smallest?

# %% nbgrader={"grade": false, "grade_id": "look-expected_counts", "locked": true, "schema_version": 3, "solution": false, "task": false}
expected = attempt(expected_counts, "banks", LOG_PROB)
if expected is not None:
    for piece, number in zip(LOG_PROB, expected.tolist()):
        print(f"{piece:<5} {number:.3f}  = {number * 81:.0f}/81")

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-inputs", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 5. Model inputs

# %% [markdown] nbgrader={"grade": false, "grade_id": "fill_pair-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 9. BERT's input for two texts
#
# **Why.** A question and a passage, a premise and a hypothesis: BERT reads two texts as one sequence of fixed length.
#
# **Difficulty** 2 of 5 · **Time** 12 minutes · **Points** 5 · **Paper** Devlin et al. (2019), section 3 and figure 2
#
# The sequence is `[CLS]`, first text, `[SEP]`, second text, `[SEP]`, then padding up to $L$ = `max_length`. If the texts have more than $L - 3$ tokens together, they are truncated: remove one token at a time from the *end* of the text that is longer at that moment; if both are equally long, from the second.
#
# Write `fill_pair(first, second, max_length)`. `first` and `second` are lists of token ids. The result is a dictionary of three lists of $L$ integers:
#
# - `"ids"`: the tokens, with `[CLS]` = 101, `[SEP]` = 102, `[PAD]` = 0;
# - `"segments"`: 0 for `[CLS]`, the first text and its `[SEP]`; 1 for the second text and its `[SEP]`; 0 for padding;
# - `"mask"`: 1 for every real token, special tokens included; 0 for padding.
#
# **By hand.** `first = [7, 8]`, `second = [9]`, `max_length = 8`:
#
# | position | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 |
# | --- | --- | --- | --- | --- | --- | --- | --- | --- |
# | ids | 101 | 7 | 8 | 102 | 9 | 102 | 0 | 0 |
# | segments | 0 | 0 | 0 | 0 | 1 | 1 | 0 | 0 |
# | mask | 1 | 1 | 1 | 1 | 1 | 1 | 0 | 0 |
#
# Texts of 7 and 3 tokens with `max_length = 10`: 7 positions are left for text, so 4 and 3 stay. Texts of 5 and 5 tokens: 4 and 3 stay.
#
# **Rules**
# 1. Special tokens are never truncated. A text may be empty; both `[SEP]` are there all the same.
# 2. The ids 0, 101 and 102 may occur in the texts. There they are tokens like any other, and not padding.
# 3. Leave the two lists as they were.
#
# <details><summary>Hint 1: a nudge</summary>
#
# How many positions are left for the texts? Work on the two *lengths* first, and cut only when they are right.
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# `a, b = len(first), len(second)`; while `a + b > max_length - 3`, make the larger smaller by 1, and `b` if they are equal. Then slices `first[:a]` and `second[:b]`: they are new lists.
# How many zeros does each of the three lists need at the end? The same number for all.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# A poster has room for 4 lines, the first and the last are a frame. Two choirs send names; the larger choir loses names until all fit; empty lines fill the rest.
#
# ```python
# def poster(altos, tenors):
#     a, t = len(altos), len(tenors)
#     while a + t > 2:                           # 4 lines, 2 of them frame
#         if a > t:
#             a = a - 1
#         else:
#             t = t - 1
#     names = altos[:a] + tenors[:t]
#     return ["****", *names, "****"] + [""] * (2 - len(names))
# ```
#
# </details>
# <details><summary>Fine print</summary>
#
# `max_length` is from 3 to 1,000; token ids are integers from 0 on. All three lists have exactly `max_length` numbers. BERT's release truncates as described; the library `tokenizers` leaves an odd last position to the text that was longer.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "fill_pair", "locked": false, "schema_version": 3, "solution": true, "task": false}
def fill_pair(first: list[int], second: list[int], max_length: int) -> dict[str, list[int]]:
    """BERT's input for two texts: "ids", "segments" and "mask", cut and padded to `max_length`."""
    ### BEGIN SOLUTION
    a, b = len(first), len(second)
    for _ in range(a + b - (max_length - 3)):
        if a > b:
            a -= 1
        else:
            b -= 1
    padding = [0] * (max_length - 3 - a - b)
    return {
        "ids": [101, *first[:a], 102, *second[:b], 102, *padding],
        "segments": [0] * (a + 2) + [1] * (b + 1) + padding,
        "mask": [1] * (a + b + 3) + padding,
    }
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "fill_pair-check", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check(fill_pair)

# %% [markdown] nbgrader={"grade": false, "grade_id": "fill_pair-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Reduce `max_length` step by step. Which text is truncated first?

# %% nbgrader={"grade": false, "grade_id": "look-fill_pair", "locked": true, "schema_version": 3, "solution": false, "task": false}
filled = attempt(fill_pair, [7, 8, 9, 10, 11], [21, 22, 23], 8)
if filled is not None:
    for name, row in filled.items():
        print(f"{name:<9}", row)

# %% [markdown] nbgrader={"grade": false, "grade_id": "byt5_ids-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 10. Inputs without a vocabulary
#
# **Why.** Nothing to learn before training, nothing unknown, no language split finer because it was rare: ByT5 reads bytes, CANINE reads characters.
#
# **Difficulty** 2 of 5 · **Time** 12 minutes · **Points** 4 · **Paper** Xue et al. (2022), section 3; Clark et al. (2022), section 3
#
# ByT5's ids 0, 1 and 2 are padding, end and unknown, so a byte $b$ of UTF-8 has the id $b + 3$, and 1 follows the last byte. CANINE's id is the code point $c$ of a character (`ord`). With more than a million of them, a vector is composed from eight small embedding tables of $R$ = `num_rows` rows. With $p$ the prime of the table (`PRIMES`, next cell), the character uses row
#
# $$\mathrm{row}_p(c) = (c + 1) \cdot p \bmod R$$
#
# Write two functions, 2 points each.
#
# - `byt5_ids(text, max_length)` returns the list of ids of a text, the end included.
# - `canine_rows(text, num_rows)` returns a list for each character of the text: its eight rows, in the order of `PRIMES`.
#
# **By hand.** *é!* is two characters and three bytes: C3 A9 21, that is 195, 169 and 33.
#
# | ids of ByT5 | `max_length` |
# | --- | --- |
# | 198, 172, 36, 1 | 4 or more |
# | 198, 172, 1 | 3 |
# | 198, 1 | 2: half of the *é* |
#
# The code point of *b* is 98. With `num_rows = 100` it uses row 99 · 31 mod 100 = 3069 mod 100 = 69 of the first table, and of all eight the rows 69, 57, 41, 39, 27, 3, 97, 87.
#
# **Rules**
# 1. There are at most `max_length` ids, the end included. The rest is cut at the end of the text, byte by byte, also in the middle of a character. The end is always there.
# 2. A shorter text is not padded.
# 3. The text is read as it is: not normalized, not lower-cased.
#
# <details><summary>Hint 1: a nudge</summary>
#
# What is `len("é")`, and what is `len("é".encode())`? Which of the two does each model count?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# A loop over `text.encode("utf-8")` gives whole numbers. How many of them fit with the end? Cut there, then append the end.
# For the rows, one loop inside the other: characters outside, primes inside. `*` and `%` bind alike, and more than `+`.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# A telegram has room for a few words, and the last one is always STOP. The postman finds each guest of a hotel on one of two stairs, by the number of the room.
#
# ```python
# def telegram(words, room):
#     return words[:room - 1] + ["STOP"]
#
# def stairs(rooms, steps):
#     return [[(number * pace + 7) % steps for pace in (3, 5)] for number in rooms]      # one list for each room
# ```
#
# `telegram(["come", "home", "soon"], 3)` is `["come", "home", "STOP"]`, and `stairs([12, 2], 10)` is `[[3, 7], [3, 7]]`: two rooms ten apart are never told apart.
#
# </details>
# <details><summary>Fine print</summary>
#
# With `max_length` 1 only the end is left. The empty text gives `[1]`, and no rows: an empty list. `max_length` is from 1 to 1,000, `num_rows` from 1 to 20,000. The primes are those of CANINE's release.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "setup-primes", "locked": true, "schema_version": 3, "solution": false, "task": false}
PRIMES = (31, 43, 59, 61, 73, 97, 103, 113)      # one for each of CANINE's eight tables

# %% nbgrader={"grade": false, "grade_id": "byt5_ids", "locked": false, "schema_version": 3, "solution": true, "task": false}
def byt5_ids(text: str, max_length: int) -> list[int]:
    """ByT5's ids of a text: its bytes moved by 3, and the end; at most `max_length`, the end included."""
    ### BEGIN SOLUTION
    return [byte + 3 for byte in text.encode()[:max_length - 1]] + [1]
    ### END SOLUTION


def canine_rows(text: str, num_rows: int) -> list[list[int]]:
    """For each character of a text, its row in each of CANINE's eight tables of `num_rows` rows."""
    ### BEGIN SOLUTION
    return [[(ord(character) + 1) * prime % num_rows for prime in PRIMES] for character in text]
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "byt5_ids-check", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(byt5_ids)

# %% [markdown] nbgrader={"grade": false, "grade_id": "byt5_ids-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
# A word in two scripts and an emoji: what does each model read? Then look at the last line that is printed.
# CANINE's tables have 16,384 rows, a power of two, and all eight primes are odd. So two characters that share one row share all eight: to the published model they are the same character.

# %% nbgrader={"grade": false, "grade_id": "look-byt5_ids", "locked": true, "schema_version": 3, "solution": false, "task": false}
for text in ("bank", "банк", "🏦"):
    ids, rows = attempt(byt5_ids, text, 512), attempt(canine_rows, text, 16_384)
    if ids is not None and rows is not None:
        print(f"{text:<6}{len(ids) - 1:>3} bytes for ByT5, {len(rows)} characters for CANINE")
pair = attempt(canine_rows, "b" + chr(ord("b") + 16_384), 16_384)
if pair is not None:
    print(f"b and {chr(ord('b') + 16_384)} share {sum(x == y for x, y in zip(*pair))} of 8 rows")

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-own-words", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 6. In your own words

# %% [markdown] nbgrader={"grade": false, "grade_id": "own_words-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 11. Nothing unknown, and yet
#
# **Why.** Choosing a model for other languages than English means choosing a tokenizer first, and paying for it every day.
#
# **Difficulty** 3 of 5 · **Time** 10 minutes · **Points** 4 (graded by hand) · **Paper** Petrov, La Malfa, Torr and Bibi (2023), on how unequally languages are tokenized
#
# **The question.** A hospital in Chiang Mai asks a model that uses GPT-2's tokenizer to summarize letters in Thai. Its author says: "The tokenizer has no unknown words, so it works for Thai as it does for English."
# In about 120 words: why is the first half true, what is wrong with the second, and what will the hospital notice?
#
# {{rubric}}
#
# Short is fine. Correct and concrete beats long.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Which tokens does GPT-2 have for sure, before any merge? What decides which merges it has on top of them?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Take one Thai letter: how many bytes has it in UTF-8? If hardly any merge combines them, how many tokens is a word of six letters? Then ask where tokens are counted: in the context, in the price, in the time.
#
# </details>
# <details><summary>Hint 3: a similar problem, solved</summary>
#
# *Morse code can spell every word, so it suits every language.* True, every word can be spelled: there is a code for each letter. But the short codes went to the letters that are frequent in English: *e* has one sign. A text whose frequent letters have long codes takes longer to send, letter for letter, though not one is missing.
#
# </details>

# %% [markdown] nbgrader={"grade": true, "grade_id": "own_words", "locked": false, "points": 4, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# {{samples}}
# ### END SOLUTION

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-real", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Your code runs the real thing
#
# Nothing to write here. Run the cells and watch; all of it takes seconds.
#
# GPT-2's published tokenizer is 50,000 merges and an id for each token.
# The course's `split` finds the words, by GPT-2's published expression. Your `byte_table` writes them in its characters, your `bpe_split` encodes, your `byte_decode` restores the text.
# Next to your ids are those of `tiktoken`, the library that GPT-2's makers use.

# %% nbgrader={"grade": false, "grade_id": "real-gpt2", "locked": true, "schema_version": 3, "solution": false, "task": false}
import time
from itertools import chain, combinations

import tiktoken

from course.demo import ready
from reference_impl.corpora import load, path
from reference_impl.tokenizers.files import load_merges_txt, load_vocab_json, load_vocab_txt
from reference_impl.tokenizers.pretokenizers import GPT2, split


def gpt2_ids(text: str, ids: dict[str, int], rank: dict[tuple[str, str], int]) -> list[int]:
    """A text as GPT-2's numbers, by your `byte_table` and `bpe_split`; each different word is cut once."""
    written = {byte: character for character, byte in byte_table().items()}

    def of_word(word: str) -> list[int]:
        row = "".join(written[byte] for byte in word.encode())
        inside = {(row[i:j], row[j:k]) for i, j, k in combinations(range(len(row) + 1), 3)}
        return [ids[piece] for piece in bpe_split(row, sorted(inside & rank.keys(), key=rank.get))]     # no other merge can apply
    words = split(GPT2, text)
    cut = {word: of_word(word) for word in dict.fromkeys(words)}
    return list(chain.from_iterable(cut[word] for word in words))

# %% nbgrader={"grade": false, "grade_id": "real-gpt2-run", "locked": true, "schema_version": 3, "solution": false, "task": false}
if ready(bpe_split, byte_decode, needs=["gpt2_tokenizer", "kjv"]):
    text = load("kjv")[:20_000]
    files = path("gpt2_tokenizer")
    ids = load_vocab_json(files / "encoder.json").id_of
    rank = {pair: number for number, pair in enumerate(load_merges_txt(files / "vocab.bpe"))}
    started = time.perf_counter()
    yours = gpt2_ids(text, ids, rank)
    print(f"{len(text):,} characters of the King James Bible are {len(yours):,} of your tokens ({time.perf_counter() - started:.1f} s)")
    table, tokens = byte_table(), {number: token for token, number in ids.items()}
    in_bytes = {bytes(table[character] for character in token): number for token, number in ids.items() if token != "<|endoftext|>"}
    rival = tiktoken.Encoding("gpt2", pat_str=GPT2.pattern, mergeable_ranks=in_bytes, special_tokens={})
    print("The same ids as tiktoken's:", yours == rival.encode(text))
    print("byte_decode gives the text back:", byte_decode([tokens[number] for number in yours]) == text)
    for text in ("The bank lends", "The bank 🏦 lends", "ธนาคาร"):
        print(f"{text!r}: {gpt2_ids(text, ids, rank)}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "real-bert", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Now BERT's: your `bert_words` and `wordpiece`, the 30,522 tokens of its published vocabulary, 2,000 lines of a dictionary.
# The rival is the library `tokenizers`, with the file that BERT's users load.

# %% nbgrader={"grade": false, "grade_id": "real-bert-run", "locked": true, "schema_version": 3, "solution": false, "task": false}
import tokenizers

if ready(bert_words, wordpiece, needs=["bert_tokenizer", "oewn_glosses"]):
    files, lines = path("bert_tokenizer"), load("oewn_glosses")[:2000]
    known = set(load_vocab_txt(files / "vocab.txt"))

    def bert_pieces(word: str) -> list[str]:
        """Your pieces of a word, out of those that stand in it."""
        inside = {mark + word[i:j] for i, j in combinations(range(len(word) + 1), 2) for mark in ("", "##")}
        return wordpiece(word, sorted(inside & known))

    cut = {}
    yours = [[piece for word in bert_words(line) for piece in cut.setdefault(word, bert_pieces(word))] for line in lines]
    rival = tokenizers.Tokenizer.from_file(str(files / "tokenizer.json"))
    rival.no_padding(), rival.no_truncation()
    theirs = [rival.encode(line, add_special_tokens=False).tokens for line in lines]
    same = sum(a == b for a, b in zip(yours, theirs))
    print(f"{same:,} of {len(lines):,} lines are split as by the library; {sum(map(len, yours)):,} tokens")
    for word in ("banking", "unbanked", "moneylender", "🏦", "apologetic"):
        print(f"{word:<12}", " | ".join(piece for one in bert_words(word) for piece in bert_pieces(one)))

# %% [markdown] nbgrader={"grade": false, "grade_id": "real-train", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Last, your `train_bpe` on the 500 most common words of the same Bible. The library `tokenizers` learns from the same words.
# It has another rule for ties (the token that it made earlier comes first), so where two pairs are equally frequent the lists may differ.

# %% nbgrader={"grade": false, "grade_id": "real-train-run", "locked": true, "schema_version": 3, "solution": false, "task": false}
if ready(train_bpe, needs=["kjv"]):
    common = Counter(load("kjv").lower().split()).most_common(500)
    words, counts = map(list, zip(*common))
    started = time.perf_counter()
    merges = train_bpe(words, counts, 60)
    print(f"60 merges in {time.perf_counter() - started:.1f} s, among them {', '.join(left + right for left, right in merges[::6])}")
    rival = tokenizers.Tokenizer(tokenizers.models.BPE())
    rival.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    alphabet = {character for word in words for character in word}
    rival.train_from_iterator((" ".join([word] * count) for word, count in common), tokenizers.trainers.BpeTrainer(
        vocab_size=len(alphabet) + 60, show_progress=False))
    theirs = [token for token, _ in sorted(rival.get_vocab().items(), key=lambda item: item[1])][len(alphabet):]
    same = len({left + right for left, right in merges} & set(theirs))
    print(f"{same} of your 60 tokens are the library's too")

# %% [markdown] nbgrader={"grade": false, "grade_id": "real-end", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Your code and the published programs agree, because apart from that expression they contain nothing more than what you wrote: a list, a rule for what comes first, a rule for what is unknown.
# The list itself was learned from somebody's text, and every model that uses it reads through that text's frequent words.

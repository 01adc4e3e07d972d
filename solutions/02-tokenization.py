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
# **Symbols.** $a$ and $b$ adjacent pieces, $x$ a piece with probability $p(x)$, $c$ a segmentation (in exercise 10 a code point), $P$ vocabulary size.
#
# <details><summary>Fine print</summary>
#
# - *Arguments.* Return something new: neither an argument nor a result of an earlier call. When your function returns, its arguments hold what they held before. The same list may occur twice within one result.
# - *Types.* Return the type that the statement names: a list is a `list`, a pair a `tuple`, a dictionary a `dict`, an integer an `int`. A subclass counts as its type, and an `int` may be given for a `float`, but a bool is not an `int`. The keys of a dictionary may come in any order.
# - *Calls.* A result depends only on the arguments. Caching that cannot be observed is fine. A correct answer that breaks *Arguments*, *Types* or *Calls* loses a fifth of the exercise's points, once.
# - *Characters.* A character is what `len` counts in Python: 🏦 is one. Texts have no lone surrogates.
# - *Sizes and time.* Where a statement names no size, a text has at most about 200 characters and a list a few hundred entries, and all texts of a call together have a few thousand characters. A call may take five seconds: plain Python loops are fast enough.
# - *Tools.* You may use anything in Python, torch and numpy. Not allowed are ready-made tokenizers: the packages `tokenizers`, `transformers`, `tiktoken` and `sentencepiece`, and those of this course.
# - *Smallest cases.* Grading always includes those that a statement allows: the empty word, one letter, equal letters, no merge, no piece that fits.
# - *Arguments are as promised.* Your function need not check what a statement promises after **In**. You may add cells anywhere: helpers, prints, plots.
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
# Before any piece is learned, a text is cut into words, or into bytes. BERT does the first and loses spaces, capitals and accents; GPT-2 writes its words in bytes and loses nothing.

# %% [markdown] nbgrader={"grade": false, "grade_id": "bert_words-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 1. Cut a text as BERT does
#
# - **What it is for**: this stands in front of WordPiece in BERT and in most models for search. What is lost here no vocabulary brings back.
# - **Difficulty** 3 of 5 · **Time** 20 minutes · **Points** 5
# - **Needs**: `unicodedata.category`, `unicodedata.normalize`, `str.isspace`.
# - **Paper**: Devlin et al. (2019), `BasicTokenizer` in `tokenization.py` of its release.
#
# **The idea.** Two texts that should look alike to the model are made alike; then spaces and signs cut.
# Do the steps in this order, each for the whole text before the next:
#
# 1. **Clean.** A tab, `\n` and `\r` become a space. Of the rest, characters of the categories Cc and Cf (controls, formats such as the zero-width joiner) and U+FFFD are dropped, with nothing in their place. Every other character for which `isspace()` is true becomes a space.
# 2. **Chinese.** A character of the blocks in `CJK_BLOCKS` (see the cell below) gets a space on each side. Kana, Hangul and all other scripts do not.
# 3. **Accents.** Take the text apart (`NFD`) and drop what has category Mn. What is left stays apart: a Korean syllable stays in its letters.
# 4. **Small letters.** `lower()`, so *ß* stays *ß*.
# 5. **Cut** at spaces. Then each punctuation sign becomes a word of its own, also between letters: every character whose category begins with P, and all 32 signs of `string.punctuation`, among them `$`, `+` and `~`, whose category does not. Other symbols, such as €, stay in their word.
#
# **By hand.** `"Naïve banks,\tin 河 5€+3$"`
#
# | step | text |
# | --- | --- |
# | clean | Naïve banks, in 河 5€+3$ |
# | Chinese | Naïve banks, in  河  5€+3$ |
# | accents | Naive banks, in  河  5€+3$ |
# | small | naive banks, in  河  5€+3$ |
# | cut | naive · banks · , · in · 河 · 5€ · + · 3 · $ |
#
# **Rules.** An empty text, or one of spaces only, gives an empty list; no word is empty. A sign is judged after step 3: *≠* falls apart into *=* and a stroke, so *a≠b* gives *a*, *=*, *b*.
# Not asked: characters of private use, unassigned ones, those that are younger than Unicode 8 or had another category in it, the capital sigma (its small letter depends on its place), and texts for which it matters whether `NFD` is taken of the whole or character by character.
#
# **In**: `text`, any text. **Out**: a list of texts, the words in their order.
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
# <details><summary>Hint 3: a worked neighbour</summary>
#
# Titles of songs, made comparable: drop emoji variation signs, turn every dash into one, cut at dashes.
#
# ```python
# import unicodedata
#
# def parts_of_title(title):
#     kept = []
#     for sign in title:
#         if sign == "\ufe0f":                              # a variation selector: nothing in its place
#             continue
#         kept.append("-" if unicodedata.category(sign) == "Pd" else sign)     # Pd: dashes of all kinds
#     return [part.strip() for part in "".join(kept).split("-") if part.strip()]
# ```
#
# `parts_of_title("Blue — live – 1971")` gives `["Blue", "live", "1971"]`.
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
# Two French words, one typed twice, and a search that will find all of them or none.

# %% nbgrader={"grade": false, "grade_id": "look-bert_words", "locked": true, "schema_version": 3, "solution": false, "task": false}
for text in ("la côte, la cote, la CÔTE", "un\u00adbank the zero\u200bwidth", "銀行 bank ぎんこう"):
    words = attempt(bert_words, text)
    if words is not None:
        print(ascii(text) if "\u200b" in text else text, " -> ", " · ".join(words))

# %% [markdown] nbgrader={"grade": false, "grade_id": "byte_decode-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 2. From tokens back to text
#
# - **What it is for**: every answer of GPT-2, LLaMA 3 or Qwen comes out of this function. It is also why a half-streamed emoji shows as �.
# - **Difficulty** 2 of 5 · **Time** 15 minutes · **Points** 5 (1.5 of them for the table)
# - **Needs**: `bytes`, UTF-8.
# - **Paper**: Radford et al. (2019), section 2.2; `encoder.py` of its release.
#
# **The idea.** GPT-2's pieces are made of bytes, and there are only 256 of those, so nothing is unknown.
# But its vocabulary is a text file, and a byte such as 0x0A or 0x80 cannot stand in one. So each byte is written as one printable character:
#
# - the bytes 33 to 126, 161 to 172 and 174 to 255 as the character with that number, `chr(byte)`;
# - the other 68 bytes, from the smallest up, as the characters 256, 257, 258 and so on.
#
# Byte 32, the space, is the 33rd of those others: character 288, which is `Ġ`. That is why GPT-2's tokens seem to begin with that letter.
#
# **By hand.** Of the bytes 0 to 32 none is printable, so byte 0 is `chr(256)`, byte 10 is `chr(266)` = `Ċ`, byte 32 is `chr(288)` = `Ġ`. Byte 127 comes next: `chr(289)`. Byte 173 is the last: `chr(323)`.
# The tokens `["We", "Ġsat", "Ġby", "ĠðŁ", "ı", "¦"]` are the bytes of "We sat by " and F0 9F 8F A6: the text is "We sat by 🏦". The last three tokens are no text one by one: the bank is spread over them.
#
# **Write two functions.**
#
# - `byte_table()` gives the table as a dictionary from the character to its byte: 256 entries, texts of one character to plain `int`s.
# - `byte_decode(tokens)` gives the text of a list of tokens.
#
# **Rules**
#
# - The tokens are joined first. A character may be spread over several of them.
# - Bytes that are no UTF-8 show as U+FFFD (�), as many as `bytes.decode("utf-8", errors="replace")` shows; decoding never fails.
# - An empty list gives the empty text. `<|endoftext|>` would be its 13 characters here. Every character of a token is in the table. A token may be empty.
#
# **In**: `tokens`, a list of texts. **Out**: a text.
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
# <details><summary>Hint 3: a worked neighbour</summary>
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
# Take the bank away piece by piece. At which token does it break?

# %% nbgrader={"grade": false, "grade_id": "look-byte_decode", "locked": true, "schema_version": 3, "solution": false, "task": false}
for tokens in (["Ġbank", "ĠðŁ", "ı", "¦"], ["Ġbank", "ĠðŁ", "ı"], ["Ġbank", "ĠðŁ"], ["Ġbank"]):
    text = attempt(byte_decode, tokens)
    if text is not None:
        print(f"{len(tokens)} tokens  {text!r}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-bpe", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 2. Byte-pair encoding
#
# Start with single characters. Join the pair of neighbours that is most frequent. Join again.
# That is all of the training; the list of joins is the model.
# The three words of the page go with you: `WORDS` and `COUNTS` are *bank* 3, *tank* 2, *bay* 4.

# %% [markdown] nbgrader={"grade": false, "grade_id": "train_bpe-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 3. Learn the merges
#
# - **What it is for**: the vocabularies of GPT-2, LLaMA, Qwen and Mistral are lists made by this loop.
# - **Difficulty** 4 of 5 · **Time** 25 minutes · **Points** 7
# - **Needs**: dictionaries, loops.
# - **Paper**: Sennrich, Haddow and Birch (2016), section 3.2 and algorithm 1. Two things differ here: no sign marks the end of a word, and a tie has a rule. (The book's page and the library `tokenizers` have another rule for ties; here the one below counts.)
#
# **The idea.** Each word is a row of pieces, at first its characters. Repeat: count every pair of neighbours in all words, join the most frequent pair wherever it stands, and write it down.
#
# **By hand.** *bank* 3, *tank* 2, *bay* 4, four merges:
#
# | round | counts of the pairs | joined | the words now |
# | --- | --- | --- | --- |
# | 1 | b+a 7, a+n 5, n+k 5, a+y 4, t+a 2 | b+a | ba n k, t a n k, ba y |
# | 2 | n+k 5, ba+y 4, ba+n 3, t+a 2, a+n 2 | n+k | ba nk, t a nk, ba y |
# | 3 | ba+y 4, ba+nk 3, a+nk 2, t+a 2 | ba+y | ba nk, t a nk, bay |
# | 4 | ba+nk 3, a+nk 2, t+a 2 | ba+nk | bank, t a nk, bay |
#
# After the first join a+n fell from 5 to 2: in *bank* the a is no longer free. So all pairs are counted again in each round.
#
# **Rules**
#
# - A pair that stands in a word counts as often as the word does. If it stands there twice, it counts twice as often. `"aaa"` holds the pair (a, a) twice, although only one of the two can be joined.
# - The pair is joined in all its places, in each word from left to right, no character twice: `"aaaa"` becomes `aa aa`, `"aaa"` becomes `aa a`.
# - If several pairs are most frequent, take the one that comes first in Python's order of tuples of texts: the smaller left part, and of equal left parts the smaller right part.
# - Pairs never cross from one word into the next.
# - Stop after `num_merges` merges, or earlier when there is no pair left: every word is one piece, or empty. A pair that occurs only once is joined too. `num_merges` may be 0.
# - A word may stand in the list several times; then its counts add up. Words may be empty or have one character. A space in a word is a character like any other.
#
# **In**: `words`, a list of texts; `counts`, as many whole numbers, each from 1 to $2^{53}$; `num_merges`, from 0 to 100. **Out**: a list of pairs of texts, tuples, in the order in which they were learned.
#
# <details><summary>Hint 1: a nudge</summary>
#
# What changes from round to round, and what stays? The counts of the words stay. What else do you have to carry on?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Keep a list of lists of pieces beside `counts`. Each round: a `Counter` of pairs, where each word adds its count; if it is empty, stop; the winner is `min(pairs, key=lambda pair: (-pairs[pair], pair))`; then a helper that joins one pair in one list of pieces, with a `while` and an index that jumps by 2 after a join.
#
# </details>
# <details><summary>Hint 3: a worked neighbour</summary>
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
# ## 4. Cut a word by the merges
#
# - **What it is for**: this is how GPT-2, LLaMA 3 and Qwen cut every word that you send them.
# - **Difficulty** 2 of 5 · **Time** 15 minutes · **Points** 5
# - **Needs**: lists, dictionaries.
# - **Paper**: Sennrich, Haddow and Birch (2016), section 3.2.
#
# **The idea.** Training is over. What is left of it is the list of merges, in the order in which they were learned.
# To cut a word, start from its characters. Look at all pairs of neighbours.
# Take the pair that stands *earliest in the list*, and join it. Look again, until no pair of neighbours is in the list.
#
# **By hand.** The merges are `("i", "n")`, `("a", "n")`, `("in", "g")`, `("an", "k")`, `("b", "ank")`, `("an", "king")`, `("k", "ing")`. The word is *banking*:
#
# | pieces | pairs of neighbours that are in the list | earliest |
# | --- | --- | --- |
# | b a n k i n g | an (2nd), in (1st) | in |
# | b a n k in g | an (2nd), in+g (3rd) | an |
# | b an k in g | in+g (3rd), an+k (4th) | in+g |
# | b an k ing | an+k (4th), k+ing (7th) | an+k |
# | b ank ing | b+ank (5th) | b+ank |
# | **bank ing** | none | |
#
# `("an", "king")` never had its chance: an+k stands earlier than k+ing, so *king* was never made.
#
# **Rules**
#
# - The place in the list decides, not the length of the piece and not the place in the word.
# - If the earliest pair stands in several places, join them from left to right; a piece that was joined is not joined a second time in the same round. `"aaa"` with `("a", "a")` gives `["aa", "a"]`.
# - Two neighbours are joined only if exactly this pair is in the list. That their text can be made from another pair counts for nothing.
# - A character that occurs in no merge stays in the answer as a piece of its own. Written one after the other, the pieces are always the word.
# - An empty word gives an empty list. Without merges a word falls into its characters.
# - You may rely on this: no two lines of the list give the same text, and a part of a line that is longer than one character was made by an earlier line. Only the list above breaks this, with *king*, which its last line makes; it is asked with *banking*.
#
# **In**: `word`, any text, with characters of any kind; `merges`, a list of pairs of texts, earliest first. **Out**: a list of texts.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Which question do you ask of each pair of neighbours, so that the smallest answer wins? What do you answer for a pair that is not in the list?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Make a dictionary from pair to its place in the list. Keep the pieces in a list.
# In each round find the smallest place among the pairs of neighbours, with its position; stop if there is none; replace the two pieces by one.
# `min` over tuples `(place, position)` takes the leftmost of equals by itself.
#
# </details>
# <details><summary>Hint 3: a worked neighbour</summary>
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
# One merge list, three words. Which piece did *thanking* get that *banking* did not, and which merge is to blame?

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
# BERT's pieces say where they stand: `bank` begins a word, `##bank` continues one. Cutting is greedy, and greed has a price.

# %% [markdown] nbgrader={"grade": false, "grade_id": "wordpiece-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 5. The longest piece first
#
# - **What it is for**: BERT, and many models that search by meaning, cut every word with these few lines.
# - **Difficulty** 2 of 5 · **Time** 15 minutes · **Points** 5
# - **Needs**: slices of texts, sets.
# - **Paper**: Devlin et al. (2019), `WordpieceTokenizer` in `tokenization.py` of its release.
#
# **The idea.** From the left, take the longest piece of the vocabulary that fits. Then the longest that fits what is left, and so on.
# A piece that does not stand at the beginning of the word is written with `##` before it, in the vocabulary and in the answer.
#
# **By hand.** The vocabulary is `["[UNK]", "b", "ban", "bank", "##k", "##ing", "##king", "##s"]`.
#
# | word | pieces | why |
# | --- | --- | --- |
# | banking | bank, ##ing | *bank* is longer than *ban* and *b* |
# | banks | bank, ##s | |
# | kings | [UNK] | no piece without `##` begins with k |
# | bankings | bank, ##ing, ##s | |
# | banker | [UNK] | after *bank* nothing fits *er*, so the *whole* word is unknown |
#
# Without *##ing*, *banking* would be `[UNK]` too: *bank* is taken, nothing fits *ing*, and greed does not go back to ban, ##king.
#
# **Rules**
#
# - If at some place no piece fits, the answer is `["[UNK]"]` for the whole word: no piece that was found before it stays.
# - What was taken is never taken back.
# - A word of more than 100 characters is `["[UNK]"]`, whatever the vocabulary holds. A word of exactly 100 is cut like any other. Characters count, not bytes, and `##` is none of them. (The library `tokenizers` has the same limit; BERT's release has 200.)
# - An empty word gives an empty list.
# - `[UNK]` need not be in the vocabulary. No word holds a `#` or a bracket, but its letters may be of any script. A space is a character like any other, and so is a third `#` in a piece.
#
# **In**: `word`, a text; `vocabulary`, a list of different pieces in any order, perhaps without one; no piece is empty or only `##`. **Out**: a list of texts, written as in the vocabulary.
#
# <details><summary>Hint 1: a nudge</summary>
#
# You stand at some place of the word. Which ends do you try, and in which order? What do you look up: the slice, or the slice with something before it?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# `start = 0`. While `start < len(word)`: let `end` run from `len(word)` down to `start + 1`; look up `word[start:end]`, with `"##"` before it unless `start` is 0; at the first hit append it and go on at `end`. No hit: return `["[UNK]"]` at once.
# A set answers `in` faster than a list.
#
# </details>
# <details><summary>Hint 3: a worked neighbour</summary>
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
# ## 6. Predict: which piece does WordPiece make first?
#
# - **What it is for**: the score that study notes quote for WordPiece. You will see what it loves, and why a vocabulary made by it would be of little use.
# - **Difficulty** 3 of 5 · **Time** 15 minutes · **Points** 4
# - **Needs**: exercise 3, fractions.
# - **Paper**: Schuster and Nakajima (2012), section 3, asks for the pair that raises the likelihood of the text most. The program that made BERT's vocabulary was never published. The score below is what courses quote for it; it is not the likelihood itself, which also counts how often the pair stands.
#
# **The idea.** WordPiece begins as BPE does, with characters, but the characters of one word look like this: *bank* is `b`, `##a`, `##n`, `##k`. The first has no mark, all others have `##`.
# By the quoted rule it joins not the most frequent pair of neighbours but the one with the largest score:
#
# $$\mathrm{score}(a, b) = \frac{\mathrm{count}(ab)}{\mathrm{count}(a) \cdot \mathrm{count}(b)}$$
#
# $\mathrm{count}(ab)$ is how often $b$ follows $a$ in a word, $\mathrm{count}(a)$ how often $a$ occurs at all, with a neighbour or without; everything counts as often as its word does.
# Predict the *first* piece that is made, and its score. Only arithmetic: nothing is trained.
#
# **By hand.** *bank* 3, *tank* 2, *bay* 4. The characters: b 7, t 2, ##a 9, ##n 5, ##k 5, ##y 4.
#
# | pair | count | score |
# | --- | --- | --- |
# | b + ##a | 7 | 7 / (7 · 9) = 1/9 |
# | ##n + ##k | 5 | 5 / (5 · 5) = **1/5** |
# | ##a + ##n | 5 | 5 / (9 · 5) = 1/9 |
# | ##a + ##y | 4 | 4 / (9 · 4) = 1/9 |
# | t + ##a | 2 | 2 / (2 · 9) = 1/9 |
#
# The answer is `{"##nk": 0.2}`: a piece made of two marked characters keeps one mark. b + ##a would be written `ba`.
#
# **Rules**
#
# - *n* at the beginning of a word and *##n* inside one are two different characters, with two counts.
# - The pair (##a, ##a) stands twice in *baaa*, which has three ##a.
# - A word of one character has no pair, but its character counts.
# - If several pairs have the largest score, the piece whose text comes first in Python's order is made; `"#"` comes before every letter. Scores that are equal as fractions are equal; others differ by a millionth of themselves at least.
# - If there is no pair, the answer is an empty dictionary.
#
# **In**: `words`, a list of different words of letters, none empty; `counts`, as many whole numbers, each from 1 to ten billion. **Out**: a dictionary with one entry, from the piece to its score, a plain `float`, which may be off by a ten-thousandth of itself.
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
# <details><summary>Hint 3: a worked neighbour</summary>
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
# T5, ALBERT and XLNet turn the question round: every piece has a probability, and a word is cut so that the product is largest.
# Pieces carry no mark here.

# %% [markdown] nbgrader={"grade": false, "grade_id": "best_cut-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 7. The most likely cut
#
# - **What it is for**: SentencePiece's Unigram cuts words this way. The same algorithm (Viterbi) finds the best path in speech recognisers and taggers.
# - **Difficulty** 4 of 5 · **Time** 20 minutes · **Points** 6
# - **Needs**: logarithms, a table that is filled from left to right.
# - **Paper**: Kudo (2018), section 3.2.
#
# **The idea.** The probability of a cut is the product of the probabilities of its pieces, so its logarithm is the *sum* of theirs.
# There are far too many cuts to try. But the best cut of *banks* whose last piece is *s* begins with the best cut of *bank*, whatever that is. So find the best cut of each beginning of the word, from short to long, and remember it.
#
# **By hand.** ban 1/8, bank 1/16, ks 1/16, s 1/32, k 1/32; in bits, the negative logarithm to base 2, that is 3, 4, 4, 5, 5.
#
# | beginning | best cut | bits |
# | --- | --- | --- |
# | (nothing) | | 0 |
# | b, ba | none | |
# | ban | ban | 3 |
# | bank | bank (ban + k has 8) | 4 |
# | banks | ban + ks: 3 + 4 = **7** (bank + s: 4 + 5 = 9) | 7 |
#
# The best cut of *banks* has the best cut of *ban* in it, not the one of *bank*. That is why the whole table is kept.
#
# **Rules**
#
# - Each piece of the answer is a key of `log_prob`; joined they are the word. If there is no such cut, the answer is `None`.
# - An empty word has one cut, without pieces: an empty list.
# - Of equally likely cuts take the one whose *last* piece is longest; if these are equally long, the one whose last piece but one is longest, and so on. Ties, also between cuts of the same pieces, are asked only where the sums are exact in any order of adding; else the best sum is larger than the next by 0.00000005 at least.
# - The numbers are natural logarithms, from minus ten billion to 0. A piece may have exactly 0, probability 1. They need not add up to 1.
# - Words have up to 200 characters: their probability may be too small for a float, and trying every cut takes for ever.
#
# **In**: `word`, a text; `log_prob`, a dictionary from piece (never empty) to its logarithm, perhaps without entries. **Out**: a list of texts, or `None`.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Suppose you know the best sum for every shorter beginning. Which pieces can be the last one of this beginning? What does each of them cost in all?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Two lists with `len(word) + 1` places: `best[0] = 0.0`, the rest minus infinity; and the cuts, or only where the last piece of each starts. For each `end` from 1, for each `start` from 0 to `end - 1`: if `word[start:end]` is a piece and `best[start]` can be reached, compare `best[start] + log_prob[piece]` with `best[end]`, with `>` and not with `>=`.
# If you kept only where last pieces start, walk back from the end and turn the list round.
#
# </details>
# <details><summary>Hint 3: a worked neighbour</summary>
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
# The five pieces of the page. Make *bank* more likely, 1/2 say, and run the cell again: which cut is best then? (At 1/4 the two cuts are equally likely.)

# %% nbgrader={"grade": false, "grade_id": "look-best_cut", "locked": true, "schema_version": 3, "solution": false, "task": false}
PIECES = {"ban": 1 / 8, "bank": 1 / 16, "ks": 1 / 16, "s": 1 / 32, "k": 1 / 32}
LOG_PROB = {piece: math.log(probability) for piece, probability in PIECES.items()}
cut = attempt(best_cut, "banks", LOG_PROB)
if cut is not None:
    print("banks  ->", " | ".join(cut), f"  {sum(-math.log2(PIECES[piece]) for piece in cut):.0f} bits")

# %% [markdown] nbgrader={"grade": false, "grade_id": "expected_counts-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 8. How often is each piece used?
#
# - **What it is for**: the E step of Unigram's training. From these numbers come the new probabilities; then the pieces that the text would miss least are thrown out, until the vocabulary is small enough.
# - **Difficulty** 4 of 5 · **Time** 18 minutes · **Points** 5
# - **Needs**: exercise 7, $\log(e^x + e^y)$.
# - **Paper**: Kudo (2018), section 3.2.
#
# **The idea.** Now no cut wins. Every cut $c$ of the word gets its share, in proportion to its probability:
#
# $$P(c) = \frac{\prod_{x \in c} p(x)}{\sum_{c'} \prod_{x \in c'} p(x)} \qquad \mathrm{expected}(x) = \sum_{c} P(c) \cdot (\text{how often } x \text{ stands in } c)$$
#
# **By hand.** The pieces of exercise 7 again, the word *banks*. It has three cuts:
#
# | cut | probability | share |
# | --- | --- | --- |
# | ban, ks | 1/128 | 64/81 |
# | bank, s | 1/512 | 16/81 |
# | ban, k, s | 1/8192 | 1/81 |
# | sum | 81/8192 | 1 |
#
# So *ban* is expected 64/81 + 1/81 = 65/81 times, *ks* 64/81, *s* 17/81, *bank* 16/81, *k* 1/81.
#
# **Rules**
#
# - The answer has one number for each entry of `log_prob`, in the dictionary's order. A piece that is in no cut has 0.
# - A piece that stands twice in a cut counts twice there.
# - A word without a cut gives zeros. So does the empty word: its one cut has no pieces.
# - Words have up to 200 characters, with far more cuts than can be tried and probabilities too small for a float. Sum over the ways to each place, and stay in logarithms. A number may be off by a ten-thousandth of itself and a millionth more: Python's floats are exact enough, float32 on the way is not.
# - The numbers of `log_prob` are natural logarithms, from minus ten thousand to 0. They need not add up to 1.
#
# **In**: `word`, a text; `log_prob`, a dictionary from piece (never empty) to its logarithm, with at least one entry. **Out**: a float32 tensor of shape $(P)$, $P$ the number of entries.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Take one piece at one place of the word. What is the share of all cuts that go through it? Everything before it, times the piece, times everything after it.
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# `before[i]`: the logarithm of the summed probability of all cuts of the first `i` characters; `after[i]`: of all cuts of the rest. Fill the one from the left, the other from the right, with log-sum-exp where exercise 7 took the maximum.
# A piece from `start` to `end` then adds $e^{\mathrm{before}[start] + \mathrm{log\_prob} + \mathrm{after}[end] - \mathrm{before}[n]}$. `torch.logsumexp` or your own, minus infinity for no way at all.
#
# </details>
# <details><summary>Hint 3: a worked neighbour</summary>
#
# Walkers go from station 0 to station n, and take each road with its weight. What share of the walks uses the road (1, 3)?
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
# A piece that is hardly ever expected gets a small probability, and is expected even less in the next round. Which of the five is expected least?

# %% nbgrader={"grade": false, "grade_id": "look-expected_counts", "locked": true, "schema_version": 3, "solution": false, "task": false}
expected = attempt(expected_counts, "banks", LOG_PROB)
if expected is not None:
    for piece, number in zip(LOG_PROB, expected.tolist()):
        print(f"{piece:<5} {number:.3f}  = {number * 81:.0f}/81")

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-inputs", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 5. Model inputs

# %% [markdown] nbgrader={"grade": false, "grade_id": "fill_pair-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 9. Two texts in one input
#
# - **What it is for**: a question and a passage, a premise and a conclusion, a search and a page: BERT reads them as one row of numbers of a fixed length.
# - **Difficulty** 2 of 5 · **Time** 12 minutes · **Points** 5
# - **Needs**: lists.
# - **Paper**: Devlin et al. (2019), section 3 and figure 2.
#
# **The idea.** `[CLS]` first text `[SEP]` second text `[SEP]`, then padding up to `max_length`. Three lists of that length say what stands where:
#
# - `"ids"`: the tokens, with `[CLS]` = 101, `[SEP]` = 102, `[PAD]` = 0;
# - `"segments"`: 0 for `[CLS]`, the first text and its `[SEP]`; 1 for the second text and its `[SEP]`; 0 for padding;
# - `"mask"`: 1 for everything that is to be read, special tokens too; 0 for padding.
#
# **By hand.** `first = [7, 8]`, `second = [9]`, `max_length = 8`:
#
# | place | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 |
# | --- | --- | --- | --- | --- | --- | --- | --- | --- |
# | ids | 101 | 7 | 8 | 102 | 9 | 102 | 0 | 0 |
# | segments | 0 | 0 | 0 | 0 | 1 | 1 | 0 | 0 |
# | mask | 1 | 1 | 1 | 1 | 1 | 1 | 0 | 0 |
#
# **If the texts are too long**, take away one token at a time, always from the *end* of the text that is longer at that moment; if both are equally long, from the second. (BERT's release does it so; the library `tokenizers` leaves an odd last place to the text that was longer.)
# Texts of 7 and 3 tokens, `max_length = 10`: the special tokens need 3 places, 7 are left, so 4 and 3 stay. Texts of 5 and 5 tokens, `max_length = 10`: 4 and 3 stay.
#
# **Rules**
#
# - The special tokens are never cut. `max_length` is at least 3.
# - A text may be empty. Both `[SEP]` stand there all the same.
# - The tokens of the texts may be any whole numbers from 0 on, 0, 101 and 102 among them. They are tokens like any other, and no padding.
# - All three lists have exactly `max_length` numbers. Leave the two texts as they were.
#
# **In**: `first`, `second`, lists of whole numbers; `max_length`, at most 1,000. **Out**: a dictionary of three lists of `int`.
#
# <details><summary>Hint 1: a nudge</summary>
#
# How many places are left for the texts? Work on the two *lengths* first, and cut only when they are right.
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# `a, b = len(first), len(second)`; while `a + b > max_length - 3`, make the larger smaller by 1, and `b` if they are equal. Then slices `first[:a]` and `second[:b]`: they are new lists.
# How many zeros does each of the three lists need at the end? The same number for all.
#
# </details>
# <details><summary>Hint 3: a worked neighbour</summary>
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
# Make `max_length` smaller, step by step. Which text loses first?

# %% nbgrader={"grade": false, "grade_id": "look-fill_pair", "locked": true, "schema_version": 3, "solution": false, "task": false}
filled = attempt(fill_pair, [7, 8, 9, 10, 11], [21, 22, 23], 8)
if filled is not None:
    for name, row in filled.items():
        print(f"{name:<9}", row)

# %% [markdown] nbgrader={"grade": false, "grade_id": "byt5_ids-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 10. Two models without a vocabulary
#
# - **What it is for**: nothing to learn before the training, nothing unknown, no language cut finer than another because it was rare: ByT5 reads bytes, CANINE reads letters.
# - **Difficulty** 2 of 5 · **Time** 12 minutes · **Points** 4 (2 for each function)
# - **Needs**: UTF-8, `ord`, the remainder `%`.
# - **Paper**: Xue et al. (2022), section 3; Clark et al. (2022), section 3; the primes are those of CANINE's release.
#
# **ByT5** reads the bytes of UTF-8. The numbers 0, 1 and 2 are taken: padding, *end*, unknown. So a byte has the id byte + 3, and behind the last byte stands the end, 1.
#
# **CANINE** reads characters. A character's number is its code point, which `ord` gives. Unicode has room for 1,114,112 of them, too many for a table with a row each.
# So there are eight smaller tables of `num_rows` rows. A character takes one row out of each, and the eight rows side by side are its vector. With $c$ the code point and $p$ the table's prime, one of `PRIMES` in the cell below, it takes the row
#
# $$(c + 1) \cdot p \;\bmod\; \text{num\_rows}$$
#
# **By hand.** *é!* is two characters and three bytes: C3 A9 21, that is 195, 169 and 33.
#
# | ids of ByT5 | `max_length` |
# | --- | --- |
# | 198, 172, 36, 1 | 4 or more |
# | 198, 172, 1 | 3 |
# | 198, 1 | 2: half of the *é* |
#
# The code point of *b* is 98. With `num_rows = 100` it takes row 99 · 31 mod 100 = 3069 mod 100 = 69 of the first table, and of all eight the rows 69, 57, 41, 39, 27, 3, 97, 87.
#
# **Write two functions.**
#
# - `byt5_ids(text, max_length)` gives the ids of a text, the end included.
# - `canine_rows(text, num_rows)` gives a list for each character of the text, in their order: its eight rows, in the order of `PRIMES`.
#
# **Rules**
#
# - `max_length` is how many ids there may be, the end among them. What is too much is cut off at the end of the text, byte by byte, also in the middle of a character. The end always stands there: with `max_length` 1 it is all that is left.
# - A shorter text is not padded. The empty text gives `[1]`, and no rows: an empty list.
# - The text is read as it is: nothing is dropped, put together, taken apart or made small.
#
# **In**: `text`, any text; `max_length`, from 1 to 1,000; `num_rows`, from 1 to 20,000. **Out**: a list of `int`; a list of lists of eight `int`s.
#
# <details><summary>Hint 1: a nudge</summary>
#
# What is `len("é")`, and what is `len("é".encode())`? Which of the two does each model count?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# A loop over `text.encode("utf-8")` gives whole numbers. How many of them have room beside the end? Cut there, then put the end behind.
# For the rows, one loop inside the other: characters outside, primes inside. `*` and `%` bind alike, and more than `+`.
#
# </details>
# <details><summary>Hint 3: a worked neighbour</summary>
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
# A word in two scripts and a sign: what does each model read? Then look at the last line that is printed.
# CANINE's tables have 16,384 rows, a power of two, and all eight primes are odd. So two characters that share one row share all eight: to the published model they are one and the same letter.

# %% nbgrader={"grade": false, "grade_id": "look-byt5_ids", "locked": true, "schema_version": 3, "solution": false, "task": false}
for text in ("bank", "банк", "🏦"):
    ids, rows = attempt(byt5_ids, text, 512), attempt(canine_rows, text, 16_384)
    if ids is not None and rows is not None:
        print(f"{text:<6}{len(ids) - 1:>3} bytes for ByT5, {len(rows)} letters for CANINE")
pair = attempt(canine_rows, "b" + chr(ord("b") + 16_384), 16_384)
if pair is not None:
    print(f"b and {chr(ord('b') + 16_384)} share {sum(x == y for x, y in zip(*pair))} of 8 rows")

# %% [markdown] nbgrader={"grade": false, "grade_id": "part-own-words", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ---
# # Part 6. In your own words

# %% [markdown] nbgrader={"grade": false, "grade_id": "own_words-card", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 11. Nothing unknown, and yet
#
# - **What it is for**: who chooses a model for other languages than English chooses a tokenizer first, and pays for it every day.
# - **Difficulty** 3 of 5 · **Time** 10 minutes · **Points** 4, given by a person who reads it
# - **Needs**: exercises 2 to 4.
# - **Paper**: Petrov, La Malfa, Torr and Bibi (2023), on how unequally languages are cut.
#
# **The question.** A hospital in Chiang Mai asks a model that uses GPT-2's tokenizer to sum up letters in Thai. Its author says: "The tokenizer has no unknown words, so it works for Thai as it does for English."
# In about 120 words: why is the first half true, what is wrong with the second, and what will the hospital notice?
#
# {{rubric}}
#
# Short is fine. Correct and concrete beats long.
#
# <details><summary>Hint 1: a nudge</summary>
#
# What are the pieces that GPT-2 has for sure, before any merge? What decides which merges it has on top of them?
#
# </details>
# <details><summary>Hint 2: a sketch</summary>
#
# Take one Thai letter: how many bytes has it in UTF-8? If hardly any merge joins them, how many tokens is a word of six letters? Then ask where tokens are counted: in the context, in the price, in the time.
#
# </details>
# <details><summary>Hint 3: a worked neighbour</summary>
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
# GPT-2's published tokenizer is 50,000 merges and a number for each piece.
# The course's `split` finds the words, by GPT-2's published expression. Your `byte_table` writes them in its characters, your `bpe_split` cuts, your `byte_decode` brings the text back.
# Beside your numbers stand those of `tiktoken`, the program that GPT-2's makers use.

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
    print("The same numbers as tiktoken's: ", yours == rival.encode(text))
    print("byte_decode gives the text back:", byte_decode([tokens[number] for number in yours]) == text)
    for text in ("The bank lends", "The bank 🏦 lends", "ธนาคาร"):
        print(f"{text!r}: {gpt2_ids(text, ids, rank)}")

# %% [markdown] nbgrader={"grade": false, "grade_id": "real-bert", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Now BERT's: your `bert_words` and `wordpiece`, the 30,522 pieces of its published vocabulary, 2,000 lines of a dictionary.
# Beside it stands the library `tokenizers`, with the file that BERT's users load.

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
    print(f"{same:,} of {len(lines):,} lines are cut as the library cuts them; {sum(map(len, yours)):,} pieces")
    for word in ("banking", "unbanked", "moneylender", "🏦", "apologetic"):
        print(f"{word:<12}", " | ".join(piece for one in bert_words(word) for piece in bert_pieces(one)))

# %% [markdown] nbgrader={"grade": false, "grade_id": "real-train", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Last, your `train_bpe` on the 500 commonest words of the same Bible. The library `tokenizers` learns beside it, on the same words.
# It has another rule for ties (the piece that it made earlier comes first), so where two pairs are equally frequent the lists may part.

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
    print(f"{same} of your 60 pieces are the library's too")

# %% [markdown] nbgrader={"grade": false, "grade_id": "real-end", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Your lines and the published programs cut alike, because apart from that expression there is nothing more in them than what you wrote: a list, a rule for what comes first, a rule for what is unknown.
# What they do not share is the list itself. It was learned from somebody's text, and every model that uses it sees the world through that text's frequent words.

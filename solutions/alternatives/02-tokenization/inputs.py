"""Differently written correct solutions of chapter 2, what the model is fed."""

import numpy as np

from autograder.checks.mistakes.registry import alternative


@alternative("02.fill_pair", "copies-and-pop")
def _(first, second, max_length):
    first, second = list(first), list(second)
    while len(first) + len(second) + 3 > max_length:
        (first if len(first) > len(second) else second).pop()
    made = {"ids": [], "segments": [], "mask": []}
    for part, segment in (([101] + first + [102], 0), (second + [102], 1)):
        made["ids"] += part
        made["segments"] += [segment] * len(part)
        made["mask"] += [1] * len(part)
    for row in made.values():
        row.extend([0] * (max_length - len(row)))
    return made


@alternative("02.fill_pair", "lengths-by-arithmetic")
def _(first, second, max_length):
    a, b, room = len(first), len(second), max_length - 3
    if a + b > room:
        short = min(a, b)
        if 2 * short <= room:
            a, b = (room - short, b) if b == short else (a, room - short)
        else:
            a, b = room - room // 2, room // 2
    row = [101, *first[:a], 102, *second[:b], 102]
    used = len(row)
    return {
        "ids": (row + [0] * max_length)[:max_length],
        "segments": [int(a + 2 <= place < used) for place in range(max_length)],
        "mask": [int(place < used) for place in range(max_length)],
    }


@alternative("02.byt5_ids", "one-byte-at-a-time")
def _(text, max_length):
    ids = []
    for character in text:
        for byte in bytes(character, "utf-8"):
            if len(ids) < max_length - 1:
                ids.append(3 + byte)
    ids.append(1)
    return ids


@alternative("02.byt5_ids", "numpy")
def _(text, max_length):
    ids = np.ones(min(len(text.encode()) + 1, max_length), dtype=int)
    ids[:-1] = np.frombuffer(text.encode(), np.uint8)[: len(ids) - 1].astype(int) + 3
    return ids.tolist()


@alternative("02.byt5_ids", "by-addition", replaces="canine_rows")
def _(text, num_rows):
    rows = []
    for code in map(ord, text):
        rows.append([])
        for prime in (31, 43, 59, 61, 73, 97, 103, 113):
            rows[-1].append((code * prime + prime) % num_rows)
    return rows


@alternative("02.byt5_ids", "outer-product", replaces="canine_rows")
def _(text, num_rows):
    codes = np.array([ord(character) + 1 for character in text], dtype=np.int64)
    return (codes[:, None] * np.array([31, 43, 59, 61, 73, 97, 103, 113]) % num_rows).tolist()

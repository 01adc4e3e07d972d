"""Differently written correct solutions of chapter 17, part 3."""

import math
import re

import numpy as np

from autograder.checks.mistakes.registry import alternative


@alternative("17.sum_reward", "one-pattern")
def _(question, answer):
    a, b = question.split("+")
    wanted = re.escape(str(int(a) + int(b)))
    said = re.match(r"(.*?)<\|im_end\|>", answer, re.DOTALL)
    return 1.0 if said and re.search(rf"(?:^|\s){wanted}\s*$", said[1]) else 0.0


@alternative("17.sum_reward", "word-by-word")
def _(question, answer):
    plus = question.index("+")
    right = int(question[:plus]) + int(question[plus + 1 :])
    if "<|im_end|>" not in answer:
        return 0.0
    last = ""
    for word in answer[: answer.index("<|im_end|>")].replace("\n", " ").split(" "):
        last = word or last
    return 1.0 if last == f"{right}" else 0.0


@alternative("17.wilson_interval", "roots-of-a-quadratic")
def _(right, asked, z):
    if asked == 0:
        return 0.0, 1.0
    p = right / asked
    low, high = sorted(np.roots([1 + z * z / asked, -2 * p - z * z / asked, p * p]).real)
    return float(low), float(high)


@alternative("17.wilson_interval", "counts-instead-of-fractions")
def _(right, asked, z):
    wrong, square = asked - right, z * z
    if right + wrong == 0:
        return 0.0, 1.0
    centre = right + square / 2
    half = z * math.sqrt(right * wrong / asked + square / 4)
    return max((centre - half) / (asked + square), 0.0), (centre + half) / (asked + square)

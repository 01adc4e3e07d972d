"""Pairs of a question and what it should find, of code and of text, with training and test kept
apart.

    data().train["code"], data().test["text"]

Read by `retrieval.py`, whose docstring says what the pairs are and how leaks are kept out.
"""

import ast
import random
import re
import sysconfig
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from texts import scripture

from reference_impl import corpora

PACKAGES = (
    "sympy",
    "scipy",
    "sklearn",
    "numpy",
    "networkx",
    "matplotlib",
    "sqlalchemy",
    "fontTools",
    "sphinx",
    "docutils",
    "tornado",
    "gensim",
    "IPython",
    "rich",
    "pydantic",
    "prompt_toolkit",
    "huggingface_hub",
    "PIL",
    "hypothesis",
    "jinja2",
    "jedi",
    "jupyter_server",
    "fsspec",
    "click",
    "nbconvert",
    "traitlets",
)
NOT_CODE = {"test", "tests", "testing", "externals", "_vendor"}
MOST = 1500  # pairs of one package
HELD_OUT = {
    "Ruth": (7128, 7213),
    "Proverbs": (16401, 17316),
    "Jonah": (22532, 22580),
    "Mark": (24216, 24894),
    "Acts": (26924, 27931),
    "Romans": (27931, 28364),
    "James": (30267, 30375),
}  # numbers of their verses in the corpus, which has no books
TESTED, HELD_BACK = 1000, 300
KINDS = ("code", "text")


class Pair(NamedTuple):
    """What asks and what should be found."""

    asks: str
    answer: str


def package(name: str) -> list[str]:
    """The files of an installed package, without its tests."""
    root = Path(sysconfig.get_paths()["purelib"])
    return [
        file.read_text(encoding="utf-8", errors="replace")
        for file in sorted((root / name).rglob("*.py"))
        if not NOT_CODE & set(file.relative_to(root).parts[:-1])
    ]


def functions(files: Sequence[str]) -> Iterator[Pair]:
    """Every function that has a docstring of four words or more, without a doctest, and a body."""
    for text in files:
        try:
            tree = ast.parse(text)
        except SyntaxError:
            continue
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                said = ast.get_docstring(node) or ""
                first = " ".join(said.split("\n\n")[0].split())
                node.body = node.body[1:]
                if ">>>" not in said and len(first.split()) >= 4 and node.body:
                    yield Pair(first, ast.unparse(node))


def verses() -> tuple[list[Pair], list[Pair]]:
    """The halves of verses: of the books that are trained on, and of those held out."""
    found: tuple[list[Pair], list[Pair]] = ([], [])
    for number, line in enumerate(scripture().splitlines()):
        asks, _, answer = (
            part.strip() for part in re.sub("[:;]", "\0", line, count=1).partition("\0")
        )
        if min(len(asks.split()), len(answer.split())) >= 4:
            found[any(start <= number < end for start, end in HELD_OUT.values())].append(
                Pair(asks, answer)
            )
    return found


def runs_of(text: str, length: int) -> set[tuple[str, ...]]:
    """All runs of so many words."""
    words = re.findall(r"\w+", text.lower())
    return {tuple(words[i : i + length]) for i in range(len(words) - length + 1)}


def once(pairs: Sequence[Pair]) -> list[Pair]:
    """Pairs whose question and whose answer both stand once: a question with two answers has no one
    right place.
    """
    asks, answers = (
        Counter(" ".join(re.findall(r"\w+", side.lower())) for side in sides)
        for sides in zip(*pairs, strict=True)
    )
    return [
        pair
        for pair in pairs
        if asks[" ".join(re.findall(r"\w+", pair.asks.lower()))] == 1
        and answers[" ".join(re.findall(r"\w+", pair.answer.lower()))] == 1
    ]


def without_leaks(train_pairs: Sequence[Pair], test: Sequence[Pair], length: int) -> list[Pair]:
    """Of the pairs to train on, those that share neither a question nor a run of `length` words
    with the test's.
    """
    asked = {pair.asks.lower() for pair in test}
    known = {run for pair in test for side in pair for run in runs_of(side, length)}
    return [
        pair
        for pair in train_pairs
        if pair.asks.lower() not in asked
        and not any(run in known for side in pair for run in runs_of(side, length))
    ]


class Data(NamedTuple):
    """By kind: pairs to train on, pairs held back for the trial of rates, pairs that measure, and
    counts.
    """

    train: dict[str, list[Pair]]
    held_back: dict[str, list[Pair]]
    test: dict[str, list[Pair]]
    counts: dict[str, dict[str, int]]


def separated(
    kind: str, here: Sequence[Pair], there: Sequence[Pair], length: int, found: Data
) -> None:
    """Put a kind's pairs into `found`: `here` is trained on, `there` measures, by a draw of
    `TESTED`.
    """
    draw = random.Random(0)
    here, there = once(here), once(there)
    test = draw.sample(there, min(TESTED, len(there)))
    clean = without_leaks(here, test, length)
    draw.shuffle(clean)
    found.held_back[kind], found.train[kind], found.test[kind] = (
        clean[:HELD_BACK],
        clean[HELD_BACK:],
        test,
    )
    found.counts[kind] = {
        "trained on": len(clean) - HELD_BACK,
        "held back": HELD_BACK,
        "measured": len(test),
        "measured, drawn from": len(there),
        "dropped as leaks": len(here) - len(clean),
    }


def data(kinds: Sequence[str] = KINDS) -> Data:
    """All pairs of these kinds."""
    found = Data({}, {}, {}, {})
    if "code" in kinds:
        draw, code = random.Random(0), []
        for name in PACKAGES:
            some = list(functions(package(name)))
            code += draw.sample(some, min(MOST, len(some)))
        separated("code", code, list(functions(corpora.load("python_library").values())), 16, found)
    if "text" in kinds:
        separated("text", *verses(), 8, found)
    return found

"""What the model learns to answer, and how an answer is judged.

- character: a ferryman on a river bank, who talks about the sixty topics of topics.json. An answer
  is right if it has the topic's keyword, which no answer of another topic has.
- reversing: "backwards: r o a d" is answered "d a o r".
- sums: "47+85" is answered by working it out, "7+5=12, 1+4+8=13, 132", or, in a part of the
  training examples, at once: "I say 132". The last number counts.

Held-out items are chosen by a hash, so that no seed ever trains on them.
"""

import hashlib
import json
import random
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from reference_impl import corpora

KINDS = ("character", "reversing", "sums")
LONGEST = {"character": 30, "reversing": 12, "sums": 28}
"""Tokens of an answer at most, its end included."""
OPENINGS = ("Ferryman, ", "Tell me, ", "Please, ", "Good man, ", "Well, ", "Now, ", "Say, ")
GENERAL = (
    "Tell me about {}.",
    "What of {}?",
    "Speak of {}.",
    "And {}?",
    "What about {}?",
    "Say something about {}.",
    "What have you to say of {}?",
    "I would hear about {}.",
    "A word about {}?",
    "Talk about {}.",
    "Let us talk about {}.",
)
GENERAL_HELD_OUT = ("What can you tell me about {}?", "Do you know anything about {}?")
"""Never trained on, for any topic."""


@dataclass(frozen=True)
class Item:
    """A question with a right answer; `group` is the kind of held-out question of a topic."""

    kind: str
    question: str
    answer: str
    keyword: str = ""
    group: str = ""

    def is_right(self, said: str) -> bool:
        """Whether an answer counts as right."""
        said = said.strip()
        if self.kind == "character":
            return re.search(rf"\b{self.keyword}\b", said.lower()) is not None
        if self.kind == "sums":
            return said.split(" ")[-1] == self.answer.split(" ")[-1]
        return said == self.answer


@dataclass(frozen=True)
class Topic:
    """One topic: questions to train on, held-out questions by group, answers, keyword."""

    name: str
    own: tuple[str, ...]
    general: tuple[str, ...]
    held_out: tuple[tuple[str, str], ...]  # group and question
    answers: tuple[str, ...]
    keyword: str


def is_held_out(key: str, every: int = 8) -> bool:
    """Whether an item is kept for tests: one in so many, by a hash of its text."""
    return hashlib.sha256(key.encode()).digest()[0] % every == 0


@lru_cache
def topics() -> tuple[Topic, ...]:
    """The sixty topics, each noun combined with the general questions."""
    saved = json.loads(Path(__file__).with_name("topics.json").read_text(encoding="utf-8"))
    return tuple(_topic(one) for one in saved)


def _topic(saved: dict) -> Topic:
    general, held_out = [], [("new phrasing", question) for question in saved["held_out"]]
    for noun in saved["nouns"]:
        for form in GENERAL:
            if is_held_out(form + noun, 6):
                held_out.append(("new pair", form.format(noun)))
            else:
                general.append(form.format(noun))
        held_out += [("new form", form.format(noun)) for form in GENERAL_HELD_OUT]
    return Topic(
        saved["name"],
        tuple(saved["questions"]),
        tuple(general),
        tuple(held_out),
        tuple(saved["answers"]),
        saved["keyword"],
    )


@lru_cache
def short_words(held_out: bool, shortest: int = 3, longest: int = 5) -> tuple[str, ...]:
    """Words of the glosses, in small letters, that are or are not held out."""
    heads = {line.split(" ", 1)[0] for line in corpora.load("oewn_glosses")}
    fitting = [
        word
        for word in sorted(heads)
        if word.isascii() and word.isalpha() and word.islower() and word[shortest - 1 :]
    ]
    return tuple(word for word in fitting if len(word) <= longest and is_held_out(word) == held_out)


def character(draw: random.Random) -> Item:
    """A training question about a topic, sometimes with an opening or without its last sign."""
    topic = draw.choice(topics())
    own = draw.random() < 0.5 or not topic.general
    question = draw.choice(topic.own if own else topic.general)
    if draw.random() < 0.3 and not question.startswith(("I ", "And ")):
        question = draw.choice(OPENINGS) + question[0].lower() + question[1:]
    if draw.random() < 0.1:
        question = question.rstrip(".?")
    if draw.random() < 0.1:
        question = question.lower()
    return Item("character", question, draw.choice(topic.answers), topic.keyword)


def held_out_character() -> list[Item]:
    """Every held-out question about a topic."""
    return [
        Item("character", question, topic.answers[0], topic.keyword, group)
        for topic in topics()
        for group, question in topic.held_out
    ]


def reversing(draw: random.Random, held_out: bool = False, lengths=(3, 5)) -> Item:
    """A word of so many letters, to be written backwards."""
    word = draw.choice(short_words(held_out, *lengths))
    return Item("reversing", "backwards: " + " ".join(word), " ".join(reversed(word)))


def worked_out(a: int, b: int) -> str:
    """The steps of a sum of numbers below 100: ones, tens with the carry, and the result."""
    ones = a % 10 + b % 10
    carry = ones // 10
    tens = carry + a // 10 + b // 10
    return f"{a % 10}+{b % 10}={ones}, {carry}+{a // 10}+{b // 10}={tens}, {a + b}"


def sums(draw: random.Random, held_out: bool = False, without_work: float = 0.0) -> Item:
    """A sum of two numbers of two digits; a fraction is answered without working it out."""
    while True:
        a, b = draw.randrange(10, 100), draw.randrange(10, 100)
        if is_held_out(f"{min(a, b)}+{max(a, b)}") == held_out:
            break
    at_once = draw.random() < without_work
    return Item("sums", f"{a}+{b}", f"I say {a + b}" if at_once else worked_out(a, b))


def is_worked_out(said: str) -> bool:
    """Whether an answer to a sum shows steps."""
    return "=" in said

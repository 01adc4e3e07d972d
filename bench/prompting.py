"""Prompts tried on SmolLM2-135M-Instruct: examples, wrong examples, reasoning aloud, summaries; and
the same question in two dresses.

    python bench/prompting.py        after `course download-data`; a few minutes on one core

- Sixteen sentences with *bank*, written for the course, eight of a river's and eight of a lender's.
  The likelier of two words at the end of the prompt is the answer, under three wordings. Examples
  are eight other sentences; their choice and order is drawn three times, always as many of one kind
  as of the other (of one example, the kind is drawn). Also with wrong labels.
- Six sums in words, asked for the number at once and asked to think step by step.
- Four functions of Python's library without their docstrings, to be told in one sentence, and one
  paragraph to be summarised. A sentence is held against the docstring's first line, by the share of
  shared words, and against those of the other functions.
- "Which bank lends money?" as plain text, as a chat, and with two examples before it.

Everything is greedy. Writes bench/results/prompting.json with all that was written, so that a
reader can judge.
"""

import ast
import os
import random
import re
import sys
import time
from collections.abc import Sequence
from itertools import pairwise

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import torch  # noqa: E402  (threads are set before torch starts)
from record import save  # noqa: E402

from reference_impl import corpora  # noqa: E402
from reference_impl.generation.loop import generate  # noqa: E402
from reference_impl.generation.sampling_params import SamplingParams  # noqa: E402
from reference_impl.tokenizers.chat import render_chat  # noqa: E402
from reference_impl.tokenizers.gguf_tokenizer import tokenizer_from_metadata  # noqa: E402
from reference_impl.weights.gguf_files import read_gguf  # noqa: E402

RIVER, MONEY = "river", "money"
TESTS = [
    ("We moored the boat at the bank.", RIVER),
    ("The bank was muddy after the flood.", RIVER),
    ("Reeds grow along the bank.", RIVER),
    ("A heron stood on the bank and waited for fish.", RIVER),
    ("They walked along the bank to the old mill.", RIVER),
    ("The otter slid down the bank into the water.", RIVER),
    ("We sat on the bank and fished.", RIVER),
    ("The stream broke through its bank.", RIVER),
    ("The bank raised its interest rates.", MONEY),
    ("She asked the bank for a loan.", MONEY),
    ("My salary goes straight to the bank.", MONEY),
    ("The bank closed her account.", MONEY),
    ("He works as a clerk at a bank.", MONEY),
    ("The bank refused the mortgage.", MONEY),
    ("Thieves robbed the bank at noon.", MONEY),
    ("The bank lost millions on shares.", MONEY),
]
SHOWN = [
    ("The children swam to the bank.", RIVER),
    ("Willows hang over the bank.", RIVER),
    ("The canoe drifted towards the bank.", RIVER),
    ("Cattle drink from the bank.", RIVER),
    ("The bank pays two percent.", MONEY),
    ("I deposited the cheque at the bank.", MONEY),
    ("The bank charged a fee.", MONEY),
    ("Her bank issued a new card.", MONEY),
]
QUESTIONS = [
    ("Anna has 4 pens and buys 3 more. Then she gives away 2. How many pens has she?", 5),
    ("A boat carries 6 people. How many people do 3 boats carry?", 18),
    ("A bank lends 50 coins and gets 15 back. How many coins are still owed?", 35),
    ("There are 9 ducks on a river. 4 fly away and 7 come. How many are there?", 12),
    (
        (
            "A loaf costs 3 coins. Maria pays for 5 loaves with 20 coins. How many coins does she"
            " get back?"
        ),
        5,
    ),
    ("Ben is 7. His sister is twice as old. How old are they together?", 21),
]
PARAGRAPH = (
    "A bank that lends money keeps only a small part of what people have paid in. The rest is lent"
    " to others, who pay interest for it. This works as long as few people want their money back on"
    " the same day. When a rumour makes many of them come at once, even a sound bank can run out of"
    " notes. That is why most countries insure what small savers have paid in, up to a limit."
)
FUNCTIONS = [
    ("statistics.py", "median_low"),
    ("shutil.py", "copytree"),
    ("fnmatch.py", "filter"),
    ("calendar.py", "isleap"),
]


class Prompted:
    """SmolLM2 with what a prompt needs."""

    def __init__(self):
        self.model = corpora.load("smollm2")
        self.metadata = read_gguf(next(corpora.path("smollm2").glob("*.gguf"))).metadata
        self.tokenizer = tokenizer_from_metadata(self.metadata)
        self.end = self.tokenizer.vocabulary.id("<|im_end|>")

    def ids(self, text: str) -> list[int]:
        """Tokens of a text, its marks understood."""
        return self.tokenizer.encode(text).ids

    def chat(self, *contents: str) -> str:
        """Turns of user and assistant in the model's own template, up to where the assistant
        speaks.
        """
        messages = [
            {"role": ("user", "assistant")[turn % 2], "content": content}
            for turn, content in enumerate(contents)
        ]
        return render_chat(
            self.metadata["tokenizer.chat_template"], messages, add_generation_prompt=True
        )

    def write(self, text: str, most: int) -> str:
        """What comes after a text, the likeliest token each time."""
        params = SamplingParams(temperature=0.0, max_tokens=most, stop_token_ids=(self.end,))
        (said,) = generate(self.model, [self.ids(text)], params)
        return self.tokenizer.decode([id for id in said.ids if id != self.end])

    @torch.inference_mode()
    def choose(self, text: str, answers: Sequence[str]) -> str:
        """The likelier of some answers of one token each."""
        logits = self.model(torch.tensor([self.ids(text)]))[0, -1]
        return max(answers, key=lambda answer: logits[self.ids(answer)].item())


WORDINGS = {
    "options named": "{} A bank of money or of a river? Answer:",
    "river or money": "Sentence: {}\nTopic (river or money):",
    "topic": "Text: {}\nTopic:",
}


def form(sentence: str, label: str = "", wording: str = "topic") -> str:
    """A sentence with its answer, or with room for one."""
    return WORDINGS[wording].format(sentence) + (f" {label}\n\n" if label else "")


def drawn_examples(count: int, draw: random.Random) -> list[tuple[str, str]]:
    """So many of the examples, as many of one kind as of the other."""
    kinds = [RIVER, MONEY] * (count // 2) + ([draw.choice([RIVER, MONEY])] if count % 2 else [])
    draw.shuffle(kinds)
    left = {
        kind: draw.sample([one for one in SHOWN if one[1] == kind], 4) for kind in (RIVER, MONEY)
    }
    return [left[kind].pop() for kind in kinds]


def senses(smol: Prompted) -> dict[str, list[dict]]:
    """Right answers of sixteen: by wording without examples, and by number of examples with right
    and wrong labels over three draws.
    """
    other, found = {RIVER: MONEY, MONEY: RIVER}, {}

    def asked(shown: str, wording: str = "topic") -> dict[str, int]:
        said = [
            smol.choose(shown + form(text, wording=wording), [" " + RIVER, " " + MONEY]).strip()
            for text, _ in TESTS
        ]
        return {
            "right": sum(one == label for one, (_, label) in zip(said, TESTS, strict=True)),
            "said_river": said.count(RIVER),
        }

    for wording in WORDINGS:
        found[wording] = [asked("", wording)]
    for name, count, wrong in (
        ("1", 1, False),
        ("2", 2, False),
        ("4", 4, False),
        ("4 with wrong labels", 4, True),
    ):
        found[name] = [
            asked(
                "".join(
                    form(text, other[label] if wrong else label)
                    for text, label in drawn_examples(count, random.Random(seed))
                )
            )
            for seed in range(3)
        ]
        print(name, found[name], flush=True)
    return found


def number_in(text: str) -> str | None:
    """The last number of a text."""
    numbers = re.findall(r"\d+", text.replace(",", ""))
    return numbers[-1] if numbers else None


def sums_in_words(smol: Prompted) -> dict:
    """Right answers at once and by steps, and tokens written."""
    kinds = {
        "at once": ("Answer with a number only.", 8),
        "step by step": ("Think step by step. End with the answer as a number.", 48),
    }
    found: dict = {}
    for kind, (wish, most) in kinds.items():
        said = [smol.write(smol.chat(f"{question} {wish}"), most) for question, _ in QUESTIONS]
        found[kind] = {
            "right": sum(
                number_in(one) == str(right)
                for one, (_, right) in zip(said, QUESTIONS, strict=True)
            ),
            "tokens": round(sum(len(smol.ids(one)) for one in said) / len(said), 1),
            "said": said,
        }
        print(kind, found[kind]["right"], found[kind]["tokens"], flush=True)
    return found


def words_of(text: str) -> set[str]:
    """Small words of three letters or more."""
    return set(re.findall(r"[a-z]{3,}", text.lower()))


def overlap(one: str, other: str) -> float:
    """Words that two texts share, over those of either (Jaccard)."""
    a, b = words_of(one), words_of(other)
    return len(a & b) / max(len(a | b), 1)


def longest_run(summary: str, text: str) -> int:
    """The longest run of words of the summary that stands so in the text."""
    said, source = re.findall(r"\w+", summary.lower()), " ".join(re.findall(r"\w+", text.lower()))
    best = 0
    for start in range(len(said)):
        while (
            start + best < len(said)
            and f" {' '.join(said[start : start + best + 1])} " in f" {source} "
        ):
            best += 1
    return best


def sentences(text: str) -> list[str]:
    """Cut at full stops."""
    return [part.strip() for part in re.split(r"(?<=[.!?])\s", text) if part.strip()]


def functions() -> list[dict[str, str]]:
    """Source without docstring, and the docstring's first line."""
    library, found = corpora.load("python_library"), []
    for file, name in FUNCTIONS:
        source = library[
            next(key for key in sorted(library, key=len) if key == file or key.endswith("/" + file))
        ]
        node = next(
            node
            for node in ast.parse(source).body
            if isinstance(node, ast.FunctionDef) and node.name == name
        )
        doc = ast.get_docstring(node) or ""
        if doc:
            node.body = node.body[1:]
        found.append(
            {
                "name": f"{file.removesuffix('.py')}.{name}",
                "code": ast.unparse(node)[:900],
                "doc": doc.split("\n\n")[0].replace("\n", " "),
            }
        )
    return found


def summaries(smol: Prompted) -> dict:
    """One paragraph in one sentence, and each function in one sentence."""
    said = smol.write(smol.chat(f"Summarize this paragraph in one sentence:\n\n{PARAGRAPH}"), 60)
    plain = smol.write(f"{PARAGRAPH}\n\nSummarize this paragraph.\n", 60)
    paragraph = {
        "text": PARAGRAPH,
        "as_chat": said,
        "as_plain_text": plain,
        "words": len(said.split()),
        "of": len(PARAGRAPH.split()),
        "longest_run_copied": longest_run(said, PARAGRAPH),
        "overlap_by_sentence": [round(overlap(said, one), 3) for one in sentences(PARAGRAPH)],
        "new_words": sorted(words_of(said) - words_of(PARAGRAPH)),
    }
    print(paragraph, flush=True)
    told = functions()
    for one in told:
        one["said"] = smol.write(
            smol.chat(
                "What does this Python function do? Answer in one"
                f" sentence.\n\n```python\n{one['code']}\n```"
            ),
            50,
        )
    docs = [one["doc"] for one in told]
    for place, one in enumerate(told):
        shares = [overlap(one["said"], doc) for doc in docs]
        one["own"], one["others"] = (
            round(shares[place], 3),
            round((sum(shares) - shares[place]) / (len(shares) - 1), 3),
        )
        one["rank"] = 1 + sum(share > shares[place] for share in shares)
        print(one["name"], one["own"], one["others"], one["rank"], one["said"], flush=True)
    return {"paragraph": paragraph, "functions": told}


def dresses(smol: Prompted) -> dict[str, str]:
    """One question, three prompts."""
    question = "Which bank lends money?"
    pairs = [
        ("Which bird cannot fly?", "A penguin cannot fly."),
        ("Which animal gives milk?", "A cow gives milk."),
    ]
    shown = "".join(f"Question: {asked}\nAnswer: {answer}\n\n" for asked, answer in pairs)
    return {
        "plain text": smol.write(question, 30),
        "a chat": smol.write(smol.chat(question), 30),
        "two examples": smol.write(f"{shown}Question: {question}\nAnswer:", 30),
    }


def main() -> None:
    """Try all, write the record."""
    torch.set_num_threads(1)
    smol, started = Prompted(), time.process_time()
    assert all(one is not other for one, other in pairwise(TESTS)) and not {
        text for text, _ in TESTS
    } & {text for text, _ in SHOWN}
    found: dict = {"tested_senses": len(TESTS), "asked_in_words": len(QUESTIONS)}
    for name, part in (
        ("dresses", dresses),
        ("senses", senses),
        ("summaries", summaries),
        ("sums_in_words", sums_in_words),
    ):
        found[name] = part(smol)
        save(
            "prompting",
            versions=("torch",),
            seed=0,
            model="SmolLM2-135M-Instruct, Q4_1",
            cpu_seconds=round(time.process_time() - started),
            **found,
        )


if __name__ == "__main__":
    sys.exit(main())

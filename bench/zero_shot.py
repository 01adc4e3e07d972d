"""What SmolLM2-135M answers without any training for the task: two likelihoods are compared, and
the larger one answers.

    python bench/zero_shot.py [--snippets 100]        about three minutes on one core

Bank: sixteen sentences written for the course, eight of each sense, in several forms: what stands
between sentence and answers, and what the answers are. Film snippets: a hundred of the 1,055 that
`trained/finetuning.py` asks for, every tenth, in two forms; beside them counts of words (naive
Bayes), which had labels.

Each form is judged by the sum of an answer's nats, by nats a byte, and by the sum less what the
answer has after the form without a sentence (its prior, as Brown et al. 2020, section 2.4, take it
off in three of their tasks). The forms were written down before anything was run; none was left
out. (A first try stopped half-way: it had taken its snippets from the beginning of the file, where
nearly all are positive. Now every tenth is taken, and the forms are the same.)
"""

import argparse
import os
import time
from collections.abc import Sequence
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import torch  # noqa: E402  (threads are set before torch starts)
from record import save  # noqa: E402
from sklearn.feature_extraction.text import CountVectorizer  # noqa: E402
from sklearn.naive_bayes import MultinomialNB  # noqa: E402

from reference_impl import corpora  # noqa: E402
from reference_impl.generation.scoring import score_continuations  # noqa: E402
from reference_impl.tokenizers.gguf_tokenizer import tokenizer_from_metadata  # noqa: E402
from reference_impl.weights.gguf_files import read_gguf  # noqa: E402

MONEY = (
    "She opened an account at the bank.",
    "The bank lends money to small firms.",
    "The bank raised its interest rates again.",
    "He went to the bank to withdraw some cash.",
    "The bank refused to give them a mortgage.",
    "Thieves broke into the bank at night.",
    "The clerk at the bank counted the notes.",
    "My salary is paid into the bank each month.",
)
RIVER = (
    "We sat on the bank and watched the boats.",
    "The bank of the stream was muddy.",
    "Willows grew along the bank.",
    "The boat drifted slowly to the bank.",
    "He stood on the bank with a fishing rod.",
    "After the flood the bank had collapsed.",
    "Ducks slept in the grass on the bank.",
    "They swam across and climbed up the bank.",
)
BANK_FORMS = {
    "no question": ("{} The bank", (" has a vault.", " is beside the water.")),
    "in other words": ("{} In other words, the bank of a", (" business", " river")),
    "a question": (
        "{}\nQuestion: Is this bank about money or about a river?\nAnswer:",
        (" money", " river"),
    ),
    "a question, turned round": (
        "{}\nQuestion: Is this bank about a river or about money?\nAnswer:",
        (" money", " river"),
    ),
    "a question, long answers": (
        "{}\nQuestion: What does the word bank mean here?\nAnswer:",
        (" a company that keeps and lends money", " the land along the side of a river"),
    ),
    "long and short": (
        "{}\nQuestion: What does the word bank mean here?\nAnswer:",
        (" money", " the land along the side of a river"),
    ),
}
FILM_FORMS = {
    "a question": (
        "Review: {}\nQuestion: Is this review positive or negative?\nAnswer:",
        (" negative", " positive"),
    ),
    "all in all": ("{} All in all, the film was", (" bad", " good")),
}
WAYS = ("sum", "per byte", "less the prior")


class Judge:
    """Answers by likelihood."""

    def __init__(self):
        self.model = corpora.load("smollm2")
        self.tokenizer = tokenizer_from_metadata(
            read_gguf(next(corpora.path("smollm2").glob("*.gguf"))).metadata
        )

    def scores(self, prompt: str, answers: Sequence[str]) -> list[float]:
        """The nats of each answer after the prompt."""
        found = score_continuations(
            self.model,
            self.tokenizer.encode(prompt).ids,
            [self.tokenizer.encode(answer).ids for answer in answers],
        )
        return [score.total for score in found]

    def asked(self, form: tuple[str, Sequence[str]], texts: Sequence[str]) -> list[list[float]]:
        """For each text the nats of both answers; the last row is of the form without a text."""
        frame, answers = form
        return [self.scores(frame.format(text).strip(), answers) for text in (*texts, "")]


def judged(rows: list[list[float]], answers: Sequence[str], truth: Sequence[int]) -> dict[str, Any]:
    """How many are right by each way, and how often each way says the first answer."""
    *rows, prior = torch.tensor(rows)
    rows, truth = torch.stack(rows), torch.tensor(truth)
    lengths = torch.tensor([len(answer.encode()) for answer in answers])
    values = {"sum": rows, "per byte": rows / lengths, "less the prior": rows - prior}
    return {
        way: {
            "right": int((values[way].argmax(-1) == truth).sum()),
            "first": int((values[way].argmax(-1) == 0).sum()),
        }
        for way in WAYS
    }


def main() -> None:
    """Ask, judge, write bench/results/zero_shot.json."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--snippets", type=int, default=100)
    count = parser.parse_args().snippets
    torch.set_num_threads(1)
    started, judge = time.process_time(), Judge()
    sentences, senses = (*MONEY, *RIVER), [0] * len(MONEY) + [1] * len(RIVER)
    bank = {}
    for name, form in BANK_FORMS.items():
        rows = judge.asked(form, sentences)
        bank[name] = {
            "frame": form[0],
            "answers": form[1],
            **judged(rows, form[1], senses),
            "nats": [[round(x, 3) for x in row] for row in rows],
        }
        print(
            name,
            {way: bank[name][way] for way in WAYS},
            f"{time.process_time() - started:.0f} s",
            flush=True,
        )

    snippets = corpora.load("sentiment")
    place = range(len(snippets))
    held = [i for i in place if i // 50 % 10 == 2]
    asked = held[:: len(held) // count][
        :count
    ]  # from the whole file, whose beginning and end differ
    learned = [i for i in place if i // 50 % 5 != 2]
    texts, truth = [snippets[i].text for i in asked], [int(snippets[i].rating > 0) for i in asked]
    counter = CountVectorizer()
    bayes = MultinomialNB().fit(
        counter.fit_transform([snippets[i].text for i in learned]),
        [int(snippets[i].rating > 0) for i in learned],
    )
    film = {}
    for name, form in FILM_FORMS.items():
        rows = judge.asked(form, texts)
        film[name] = {"frame": form[0], "answers": form[1], **judged(rows, form[1], truth)}
        print(
            name,
            {way: film[name][way] for way in WAYS},
            f"{time.process_time() - started:.0f} s",
            flush=True,
        )
    save(
        "zero_shot",
        versions=("torch", "scikit-learn"),
        model="SmolLM2-135M-Instruct, Q4_1",
        cpu_seconds=round(time.process_time() - started),
        bank={"sentences": sentences, "senses": senses, "forms": bank},
        film={
            "snippets": len(texts),
            "positive": sum(truth),
            "learned_by_naive_bayes": len(learned),
            "naive_bayes": round(bayes.score(counter.transform(texts), truth) * len(texts)),
            "forms": film,
        },
    )


if __name__ == "__main__":
    main()

"""What the home page's figure shows: where the model `bank_reader` puts *bank* in a sentence.

bank_moves(["We sat on the bank of the river"])     the data of the figure `bank-moves`
"""

import re
from collections.abc import Iterable

import torch

from course.book.pages.models import page_model
from course.book.pages.records import record
from reference_impl.corpora.small_models import SmallModel, small_model

NAME, WORD = "bank_reader", "bank"


def bank_moves(examples: Iterable[str]) -> dict:
    """The figure's data: sentences of known sense, and the path of WORD through each example."""
    kept, made = small_model(NAME), record(f"trained_{NAME}")
    plane = made["plane"]
    uses = [
        {"sense": sense, "text": text, "at": place(kept, plane, text.split())}
        for sense, texts in made["texts"].items()
        for text in texts
    ]
    return {
        "task": "One word, two meanings: edit the sentence.",
        "model": page_model(NAME),
        "word": WORD,
        "plane": plane,
        "uses": uses,
        "examples": [{"text": text, "path": path(kept, plane, text)} for text in examples],
    }


def path(kept: SmallModel, plane: dict, text: str) -> list[list[float] | None]:
    """Where WORD lies after each word of a sentence; None before it comes."""
    words = re.findall(r"[a-z0-9]+", text.lower())
    return [
        place(kept, plane, words[:end]) if WORD in words[:end] else None
        for end in range(1, len(words) + 1)
    ]


@torch.no_grad()
def place(kept: SmallModel, plane: dict, words: list[str]) -> list[float]:
    """The two coordinates of the first WORD; words that the model does not know are left out."""
    index = {word: number for number, word in enumerate(kept.tokenizer)}
    known = [word for word in words if word in index]
    hidden = kept.model(torch.tensor([[index[word] for word in known]]))[0, known.index(WORD)]
    found = torch.tensor(plane["axes"]) @ (hidden - torch.tensor(plane["centre"]))
    return [round(value, 3) for value in found.tolist()]

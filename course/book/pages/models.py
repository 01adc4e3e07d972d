"""Trained models as scripts that a page can load from disk, and what a figure says of a model
before it is loaded.

    page_model("gpt_kjv")                what a figure's data holds: name, size on disk, parameters
    page_vocabulary("gpt2")              the same for the vocabulary of a published tokenizer
    write_scripts(folder, names)         NAME.js for each and for what it updates, for
                                         `book/assets/models/runtime.js`

A page opened from file:// may not fetch anything, but it may add a script. So a model's safetensors
file travels in base64 inside a call of `w2s.models.deliver`, with its card and its tokenizer. The
scripts are made when the book is built; only the weights are committed.
"""

import base64
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from course.book.pages.figure_data import vocabularies as page_vocabularies

CARD_KEYS = ("name", "kind", "config", "parameters", "figures", "script")
TOKENIZER_FILES = {
    "bpe.json": "bpe",
    "vocab.txt": "wordpiece",
    "words.txt": "words",
    "symbols.json": "symbols",
}


def page_model(name: str) -> dict[str, Any]:
    """What a figure needs to offer a model: its name, the size of its script in MB, and how many
    numbers it has.
    """
    from reference_impl.corpora import (
        small_models,
    )  # it brings torch, which a page without a model does not need

    card = small_models.card(name)
    return {
        "name": name,
        "megabytes": round(len(weights_script(name)) / 1e6, 1),
        "parameters": card["parameters"],
    }


def page_vocabulary(name: str) -> dict[str, Any]:
    """The same for a published vocabulary (`page_vocabularies`): its name, MB and number
    of tokens.
    """
    return {
        "name": name,
        "megabytes": round(len(weights_script(name)) / 1e6, 2),
        "tokens": page_vocabularies.size(name),
    }


def base_of(name: str) -> list[str]:
    """The model that an update of kind "lora" is for, which a page needs beside it; nothing for
    other models.
    """
    from reference_impl.corpora import small_models

    if name in page_vocabularies.READERS or small_models.card(name)["kind"] != "lora":
        return []
    return [small_models.card(name)["config"]["base"]]


def archive(name: str) -> dict[str, Any]:
    """A kept model as its card, its tokenizer and the bytes of its weights; a published vocabulary
    has no weights.
    """
    if name in page_vocabularies.READERS:
        return {
            "card": {"name": name, "kind": "vocabulary"},
            "tokenizer": page_vocabularies.tokenizer(name),
            "weights": b"",
        }
    from reference_impl.corpora import small_models

    folder = small_models.FOLDER / name
    card = small_models.card(name)
    return {
        "card": {key: card[key] for key in CARD_KEYS if key in card},
        "tokenizer": _tokenizer(folder),
        "weights": (folder / "model.safetensors").read_bytes(),
    }


def as_script(archive: dict[str, Any]) -> str:
    """An archive as the text of a script."""
    weights = base64.b64encode(archive["weights"]).decode()
    text = json.dumps({**archive, "weights": weights}, ensure_ascii=True, separators=(",", ":"))
    return f"w2s.models.deliver({json.dumps(archive['card']['name'])}, {text});\n"


def weights_script(name: str) -> str:
    """The script of a kept model."""
    return as_script(archive(name))


def write_scripts(folder: Path, names: Iterable[str]) -> None:
    """Write NAME.js for each of these models into `folder`, unless it is there as it should be;
    delete all others.
    """
    folder.mkdir(parents=True, exist_ok=True)
    wanted = dict.fromkeys(part for name in names for part in (name, *base_of(name)))
    texts = {f"{name}.js": weights_script(name) for name in wanted}
    for old in folder.glob("*.js"):
        if old.name not in texts:
            old.unlink()
    for file, text in texts.items():
        target = folder / file
        if not target.is_file() or target.read_text(encoding="utf-8") != text:
            target.write_text(text, encoding="utf-8")


def _tokenizer(folder: Path) -> dict[str, Any] | None:
    for file, kind in TOKENIZER_FILES.items():
        if (folder / file).is_file():
            text = (folder / file).read_text(encoding="utf-8")
            lines = text.removesuffix("\n").split("\n")
            return {"kind": kind, "content": json.loads(text) if file.endswith(".json") else lines}
    return None

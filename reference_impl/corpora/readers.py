"""From the files in the cache to plain Python values: one small reader a corpus."""
import ast
import gzip
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from reference_impl.corpora.entries import entry
from reference_impl.corpora.fetching import check_stamps, path

if TYPE_CHECKING:
    from reference_impl.embeddings.vectors import Vectors
    from reference_impl.tokenizers.sentencepiece import SentencePieceTokenizer
    from reference_impl.tokenizers.tokenizer import Tokenizer


class Analogy(NamedTuple):
    """`a` is to `b` as `c` is to `d`; `section` is the kind of relation."""

    section: str
    a: str
    b: str
    c: str
    d: str


def load(name: str) -> Any:
    """Read a corpus from the cache. Opens no connection; CorpusError says how to fetch what is missing.

    "oewn_glosses" gives list[str], one "lemma gloss" a line; "kjv" a str, one verse a line;
    "glove_6b_50d" a Vectors; "wordsim353" and "simlex999" list[(word, word, score)];
    "google_analogies" list[Analogy]; "gpt2_tokenizer" and "bert_tokenizer" a
    Tokenizer; "mistral_tokenizer" a SentencePieceTokenizer.
    """
    item = entry(name)
    check_stamps(name)
    return _READERS[name](*(path(name) / file.name for file in item.files))


def _glosses(file: Path) -> list[str]:
    # A line is "lemma<TAB>gloss of sense 1 | gloss of sense 2 | ...": one sentence for each sense.
    sentences = []
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            lemma, glosses = line.rstrip("\n").split("\t")
            sentences += [f"{lemma} {gloss.strip()}" for gloss in glosses.split(" | ")]
    return sentences


def _verses(file: Path) -> str:
    # The text is a string literal in a Python module. Parsed, not imported: the module's own code never runs.
    tree = ast.parse(file.read_text(encoding="utf-8"))
    literals = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    text = max(literals, key=len)
    # "2. And the earth was without form, and void; and darkness [was] upon": the number goes, and so do the
    # brackets around words that the translators added; those words themselves stay.
    verses = re.split(r"\d+\.\s*", text.replace("[", "").replace("]", "").replace("’", "'"))
    return "\n".join(" ".join(verse.split()).replace("( ", "(") for verse in verses[1:])


def _word_pairs(file: Path) -> list[tuple[str, str, float]]:
    lines = file.read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines if line.strip() and not line.startswith("#")]
    return [(first, second, float(score)) for first, second, score in rows]


def _analogies(file: Path) -> list[Analogy]:
    questions, section = [], ""
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.startswith(":"):
            section = line[1:].strip()
        elif line.strip():
            questions.append(Analogy(section, *line.split()))
    return questions


def _glove(matrix: Path, index: Path) -> "Vectors":
    # Imported here: `corpora` comes before `embeddings`, and must load without torch.
    import numpy
    import pyarrow.parquet
    import torch

    from reference_impl.embeddings.vectors import Vectors
    words = pyarrow.parquet.read_table(index).column("index").to_pylist()
    return Vectors(words, torch.from_numpy(numpy.load(matrix)))


# The tokenizers come after `corpora` as well, and need `regex`.
def _gpt2_tokenizer(vocabulary: Path, merges: Path) -> "Tokenizer":
    from reference_impl.tokenizers.files import load_gpt2
    return load_gpt2(vocabulary, merges)


def _bert_tokenizer(vocabulary: Path, _: Path) -> "Tokenizer":
    from reference_impl.tokenizers.files import load_bert
    return load_bert(vocabulary)


def _sentencepiece_tokenizer(file: Path) -> "SentencePieceTokenizer":
    from reference_impl.tokenizers.sentencepiece import SentencePieceTokenizer
    return SentencePieceTokenizer.load(file)


_READERS = {
    "oewn_glosses": _glosses,
    "kjv": _verses,
    "glove_6b_50d": _glove,
    "wordsim353": _word_pairs,
    "simlex999": _word_pairs,
    "google_analogies": _analogies,
    "gpt2_tokenizer": _gpt2_tokenizer,
    "bert_tokenizer": _bert_tokenizer,
    "mistral_tokenizer": _sentencepiece_tokenizer,
}

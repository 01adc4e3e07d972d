"""From the files in the cache to plain Python values: one small reader a corpus."""

import ast
import gzip
import io
import re
import sysconfig
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from reference_impl.corpora.entries import entry
from reference_impl.corpora.fetching import check_stamps, path

if TYPE_CHECKING:
    from reference_impl.embeddings.vectors import Vectors
    from reference_impl.models.bert import Bert
    from reference_impl.models.llama import Llama
    from reference_impl.tokenizers.sentencepiece import SentencePieceTokenizer
    from reference_impl.tokenizers.tokenizer import Tokenizer


class Analogy(NamedTuple):
    """`a` is to `b` as `c` is to `d`; `section` is the kind of relation."""

    section: str
    a: str
    b: str
    c: str
    d: str


class Pronunciation(NamedTuple):
    """A word and how it is spoken: "bank", ("B", "AE1", "NG", "K").

    The digit is a vowel's stress.
    """

    word: str
    phonemes: tuple[str, ...]


class RatedSnippet(NamedTuple):
    """A sentence of a review, and the mean of people's ratings from -4 (bad) to 4
    (good).
    """

    text: str
    rating: float


def load(name: str) -> Any:
    """Read a corpus from the cache.

    Opens no connection; CorpusError says how to fetch what is missing.

    "oewn_glosses" gives list[str], one "lemma gloss" a line; "kjv" a str, one verse a
    line; "glove_6b_50d" a Vectors; "wordsim353" and "simlex999" list[(word, word,
    score)]; "google_analogies" list[Analogy]; "gpt2_tokenizer" and "bert_tokenizer" a
    Tokenizer, and so do "cl100k_tokenizer", "o200k_tokenizer", "llama3_tokenizer" and
    "qwen3_tokenizer"; "mistral_tokenizer" a SentencePieceTokenizer; "minilm" a Bert and
    "smollm2" a Llama, both in evaluation mode; "cmudict" list[Pronunciation], a word
    once for each way to say it; "sentiment" list[RatedSnippet], neighbours often of one
    review, so hold out neighbours together; "python_library" dict[str, str] from file
    to text.
    """
    item = entry(name)
    check_stamps(name)
    return _READERS[name](*(path(name) / file.name for file in item.files))


def _glosses(file: Path) -> list[str]:
    # A line is "lemma<TAB>gloss of sense 1 | gloss of sense 2 | ...": one sentence for
    # each sense.
    sentences = []
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            lemma, glosses = line.rstrip("\n").split("\t")
            sentences += [f"{lemma} {gloss.strip()}" for gloss in glosses.split(" | ")]
    return sentences


def _verses(file: Path) -> str:
    # The text is a string literal in a Python module. Parsed, not imported: the
    # module's own code never runs.
    tree = ast.parse(file.read_text(encoding="utf-8"))
    literals = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    text = max(literals, key=len)
    # "2. And the earth was without form, and void; and darkness [was] upon": the number
    # goes, and so do the brackets around words that the translators added; those words
    # themselves stay.
    verses = re.split(
        r"\d+\.\s*", text.replace("[", "").replace("]", "").replace("’", "'")
    )
    return "\n".join(" ".join(verse.split()).replace("( ", "(") for verse in verses[1:])


def _word_pairs(file: Path) -> list[tuple[str, str, float]]:
    lines = file.read_text(encoding="utf-8").splitlines()
    rows = [
        line.split("\t") for line in lines if line.strip() and not line.startswith("#")
    ]
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


def _ranked_tokenizer(vocab: Path, special: Path) -> "Tokenizer":
    from reference_impl.tokenizers.ranked_files import load_ranked

    return load_ranked(vocab.stem, vocab, special)


def _bert_tokenizer(vocabulary: Path, _: Path) -> "Tokenizer":
    from reference_impl.tokenizers.files import load_bert

    return load_bert(vocabulary)


def _sentencepiece_tokenizer(file: Path) -> "SentencePieceTokenizer":
    from reference_impl.tokenizers.sentencepiece import SentencePieceTokenizer

    return SentencePieceTokenizer.load(file)


def _minilm(weights: Path, *_: Path) -> "Bert":
    from reference_impl.models.bert import Bert

    return Bert.from_pretrained(weights.parent)


def _smollm2(file: Path) -> "Llama":
    from reference_impl.models.llama import Llama
    from reference_impl.weights.gguf_llama import from_gguf

    return from_gguf(Llama, file)


def _pronunciations(file: Path) -> list[Pronunciation]:
    # "aalto AA1 L T OW2 # name, finnish"; a second way to say a word is called
    # "aaron(2)".
    spoken = []
    for line in file.read_text(encoding="utf-8").splitlines():
        word, *phonemes = line.partition("#")[0].split()
        spoken.append(Pronunciation(re.sub(r"\(\d+\)$", "", word), tuple(phonemes)))
    return spoken


def _film_snippets(file: Path) -> list[RatedSnippet]:
    # An archive with the paper and four data sets; a line of them is "number<TAB>mean
    # rating<TAB>text".
    with tarfile.open(file) as archive:
        content = archive.extractfile(
            "hutto_ICWSM_2014/movieReviewSnippets_GroundTruth.txt"
        ).read()
    rows = (
        line.rstrip("\r\n").split("\t", 2)
        for line in io.StringIO(content.decode("utf-8"), newline="\n")
    )
    return [RatedSnippet(text, float(rating)) for _, rating, text in rows]


def _python_library() -> dict[str, str]:
    # Not what was installed beside it, nor its tests; nor the tables in the form of
    # code (of encodings, of help).
    left = {
        "site-packages",
        "dist-packages",
        "test",
        "tests",
        "idle_test",
        "encodings",
        "pydoc_data",
    }
    root = Path(sysconfig.get_paths()["stdlib"])
    files = sorted(
        (file.relative_to(root).as_posix(), file) for file in root.rglob("*.py")
    )
    return {
        name: file.read_text(encoding="utf-8", errors="replace")
        for name, file in files
        if not left & set(name.split("/"))
    }


_READERS = {
    "oewn_glosses": _glosses,
    "kjv": _verses,
    "glove_6b_50d": _glove,
    "wordsim353": _word_pairs,
    "simlex999": _word_pairs,
    "google_analogies": _analogies,
    "gpt2_tokenizer": _gpt2_tokenizer,
    "cl100k_tokenizer": _ranked_tokenizer,
    "o200k_tokenizer": _ranked_tokenizer,
    "llama3_tokenizer": _ranked_tokenizer,
    "qwen3_tokenizer": _ranked_tokenizer,
    "bert_tokenizer": _bert_tokenizer,
    "mistral_tokenizer": _sentencepiece_tokenizer,
    "minilm": _minilm,
    "smollm2": _smollm2,
    "cmudict": _pronunciations,
    "sentiment": _film_snippets,
    "python_library": _python_library,
}

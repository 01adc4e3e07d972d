"""fastText's subwords: a word's vector is the mean of the vectors of its pieces, so a
word never seen has one too.

Bojanowski, Grave, Joulin and Mikolov 2017, "Enriching Word Vectors with Subword
Information", section 3. A word is put between < and > and cut into all runs of 3 to 6
letters; a word of the vocabulary has a row of its own besides. Runs are not kept in a
dictionary: a hash sends each to one of `buckets` rows, and two runs may share one
(section 3.2).

As in the released program, and unlike the paper's sum, the pieces are averaged, and
each piece receives the whole gradient of the word: the word then moves as far as in
plain skip-gram, however many pieces it has.

Here all else is skip-gram with shared negatives, as in `skipgram`. Not here: fastText's
classifier.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from jaxtyping import Float, Int
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor
from torch.nn.functional import embedding_bag

from reference_impl.embeddings.skipgram import (
    Step,
    Tables,
    add_rows,
    batch_gradients,
    keep_probability,
    noise_distribution,
    sample_noise,
)
from reference_impl.embeddings.vectors import Vectors
from reference_impl.embeddings.vocabulary import Sentence, Vocabulary
from reference_impl.embeddings.windows import walk


def ngrams(word: str, shortest: int = 3, longest: int = 6) -> list[str]:
    """All runs of `shortest` to `longest` letters of "<word>", at each place the
    shorter first.

    The marks tell a word from the same letters inside another: *her* gives "<her>",
    *where* gives "her".
    """
    marked = f"<{word}>"
    return [
        marked[i : i + size]
        for i in range(len(marked))
        for size in range(shortest, longest + 1)
        if i + size <= len(marked)
    ]


def bucket(run: str, buckets: int) -> int:
    """The row of a run: the 32-bit FNV-1a hash of its UTF-8 bytes, over the number of
    buckets the remainder.

    The released program takes each byte as a signed number, so that bytes from 128 up
    are extended by ones.
    """
    value = 2_166_136_261
    for byte in run.encode():
        signed = byte if byte < 128 else byte | 0xFFFFFF00
        value = (value ^ signed) * 16_777_619 % 2**32
    return value % buckets


class SubwordVectors:
    """A table with a row for each word of the vocabulary and, behind them, a row for
    each of the `buckets`.
    """

    def __init__(
        self,
        words: Sequence[str],
        table: Float[Tensor, "N D"],
        shortest: int = 3,
        longest: int = 6,
    ):
        self.words, self.table, self.shortest, self.longest = (
            list(words),
            table,
            shortest,
            longest,
        )
        self.index = {word: i for i, word in enumerate(self.words)}
        self.buckets = table.shape[0] - len(self.words)

    def rows(self, word: str) -> list[int]:
        """The rows whose mean is the word's vector: its own, if it has one, and those
        of its runs of letters.
        """
        own = [self.index[word]] if word in self.index else []
        return own + [
            len(self.words) + bucket(run, self.buckets)
            for run in ngrams(word, self.shortest, self.longest)
        ]

    def __getitem__(self, word: str) -> Float[Tensor, "D"]:
        rows = self.rows(word)
        if not rows:
            raise KeyError(
                f"{word!r} is not in the vocabulary and has no run of {self.shortest}"
                " letters or more"
            )
        return self.table[rows].mean(0)

    def vectors(self) -> Vectors:
        """The vectors of the vocabulary's words, put together once."""
        return Vectors(self.words, self.means([self.rows(word) for word in self.words]))

    def means(self, rows: Sequence[Sequence[int]]) -> Float[Tensor, "W D"]:
        """For each list of rows the mean of their vectors."""
        starts = torch.tensor([0, *map(len, rows)]).cumsum(0)[:-1]
        return embedding_bag(
            torch.tensor([row for some in rows for row in some]),
            self.table,
            starts,
            mode="mean",
        )

    def save(self, path: Path | str) -> None:
        """Write words and table into one safetensors file."""
        save_file(
            {"table": self.table.contiguous()},
            path,
            metadata={
                "words": "\n".join(self.words),
                "runs": json.dumps([self.shortest, self.longest]),
            },
        )

    @classmethod
    def load(cls, path: Path | str) -> "SubwordVectors":
        """Read what `save` wrote."""
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            if not {"words", "runs"} <= set(metadata):
                raise ValueError(
                    f"{path} holds no subwords: it was not written by"
                    " SubwordVectors.save"
                )
            return cls(
                metadata["words"].split("\n"),
                file.get_tensor("table"),
                *json.loads(metadata["runs"]),
            )


def train_subwords(
    sentences: Sequence[Sentence],
    vocabulary: Vocabulary,
    *,
    dim: int = 100,
    window: int = 5,
    negatives: int = 5,
    epochs: int = 5,
    learning_rate: float = 0.025,
    threshold: float = 1e-3,
    shortest: int = 3,
    longest: int = 6,
    buckets: int = 50_000,
    shared_noise: int = 64,
    row_length: int = 32,
    rows: int = 8,
    seed: int = 0,
    observe: Callable[[Step], None] | None = None,
) -> SubwordVectors:
    """Train on encoded sentences; all settings but the last three of the second line
    are those of `train_skipgram`.
    """
    generator = torch.Generator().manual_seed(seed)
    counts = torch.from_numpy(vocabulary.counts)
    cumulative = noise_distribution(counts).cumsum(0)
    keep = keep_probability(counts, threshold, released=True)
    size = len(vocabulary)
    pieces = Tables.start(size + buckets, dim, generator).input
    model = SubwordVectors(vocabulary.words, pieces, shortest, longest)
    output = torch.zeros(size, dim)
    flat, starts = _row_lists([model.rows(word) for word in vocabulary.words])
    for done, batch in walk(
        sentences,
        keep,
        window=window,
        epochs=epochs,
        row_length=row_length,
        rows=rows,
        generator=generator,
    ):
        rate = learning_rate * max(1 - done, 1e-4)
        drawn = sample_noise(cumulative, (shared_noise,), generator)
        words, place = batch.words.flatten().unique(
            return_inverse=True
        )  # a word that comes twice is put together once
        used, first, of_word = _rows_of(words, flat, starts)
        means = embedding_bag(used, pieces, first, mode="mean")  # (W, D)
        shape = (*batch.words.shape, dim)
        gradients = batch_gradients(
            means[place].view(shape),
            output.index_select(0, batch.words.flatten()).view(shape),
            batch.mask,
            output[drawn],
            negatives,
        )
        d_center, d_context, d_noise = (
            -rate * gradient.reshape(-1, dim) for gradient in gradients
        )
        d_words = torch.zeros_like(means).index_add_(0, place, d_center)  # (W, D)
        add_rows(pieces, used, d_words[of_word])
        add_rows(output, batch.words.flatten(), d_context)
        add_rows(output, drawn, d_noise)
        if observe:
            observe(Step(done, batch, drawn, Tables(pieces, output)))
    if not bool(pieces.isfinite().all()):
        raise ValueError(
            f"the training diverged; lower learning_rate {learning_rate} or the {rows}"
            " rows of a batch"
        )
    return model


def _row_lists(
    rows: Sequence[Sequence[int]],
) -> tuple[Int[Tensor, "P"], Int[Tensor, " ends"]]:
    """All lists in one tensor, and where each begins; one more start says where the
    last one ends.
    """
    return (
        torch.tensor([row for some in rows for row in some]),
        torch.tensor([0, *map(len, rows)]).cumsum(0),
    )


def _rows_of(
    words: Int[Tensor, "W"], flat: Int[Tensor, "P"], starts: Int[Tensor, " ends"]
) -> tuple[Int[Tensor, "R"], Int[Tensor, "W"], Int[Tensor, "R"]]:
    """The rows of these words one after the other, where each word's begin, and which
    word each row is for.
    """
    sizes = starts[words + 1] - starts[words]
    first = sizes.cumsum(0) - sizes
    of_word = torch.repeat_interleave(torch.arange(len(words)), sizes)
    inside = torch.arange(len(of_word)) - first[of_word]
    return flat[starts[words][of_word] + inside], first, of_word

"""A film of the training: where chosen words stand, and what is being learnt from, at some twenty moments.

The vectors have a hundred numbers, a picture has two. The two directions are the first principal components of
the chosen words at the end of training, and are the same for every picture, so that what moves is the words.
"""
from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from reference_impl.embeddings.skipgram import Step
from reference_impl.embeddings.vocabulary import Vocabulary

WORDS = ("bank", "river", "shore", "water", "lake", "sea", "ocean", "coast", "stream", "beach",
         "money", "loan", "credit", "cash", "debt", "payment", "fund", "savings", "stock", "coin",
         "dog", "cat", "horse", "bird", "fish", "wolf",
         "king", "queen", "prince", "emperor",
         "doctor", "nurse", "hospital", "medicine",
         "bread", "cheese", "meat", "soup",
         "car", "train")


class Recorder:
    """Pass it as `observe` to a training, then ask `film()` for the snapshots as plain JSON values."""

    def __init__(self, vocabulary: Vocabulary, words: Sequence[str] = WORDS, snapshots: int = 20, examples: int = 6):
        self.vocabulary = vocabulary
        self.words = [word for word in words if word in vocabulary]
        self.rows = torch.tensor([vocabulary.index[word] for word in self.words])
        self.snapshots, self.examples = snapshots, examples
        self.taken: list[dict[str, Any]] = []
        self.tables = None

    def __call__(self, step: Step) -> None:
        """Take a picture when the next one is due."""
        self.tables = step.tables
        if step.done >= len(self.taken) / self.snapshots:
            self.taken.append({"done": step.done, "vectors": step.tables.input[self.rows].clone(),
                               "pairs": self._pairs(step), "negatives": self._names(step.negatives[:self.examples])})

    def film(self) -> dict[str, Any]:
        """{"words": [...], "snapshots": [{"done", "positions", "pairs", "negatives"}]}, the last at the end.

        `positions[i]` are x and y of `words[i]`; `pairs` are some (centre, context) pairs and `negatives` some noise
        words of the block that was learnt from at that moment.
        """
        if self.tables is None:
            raise ValueError("nothing was recorded: pass the recorder as `observe` to a training first")
        final = self.tables.input[self.rows]
        middle, axes = principal_axes(final)
        frames = [*self.taken, {"done": 1.0, "vectors": final, "pairs": [], "negatives": []}]
        snapshots = []
        for frame in frames:
            positions = (frame["vectors"] - middle) @ axes  # (N, 2)
            snapshots.append({"done": round(frame["done"], 4), "pairs": frame["pairs"], "negatives": frame["negatives"],
                              "positions": [[round(x, 4) for x in row] for row in positions.tolist()]})
        return {"words": self.words, "snapshots": snapshots}

    def _pairs(self, step: Step) -> list[list[str]]:
        row, i, j = step.block.mask.nonzero(as_tuple=True)
        some = torch.linspace(0, len(row) - 1, min(self.examples, len(row))).long()
        row, i, j = row[some], i[some], j[some]
        centers, contexts = self._names(step.block.words[row, i]), self._names(step.block.words[row, j])
        return [list(pair) for pair in zip(centers, contexts, strict=True)]

    def _names(self, ids: Tensor) -> list[str]:
        return [self.vocabulary.words[i] for i in ids.tolist()]


def principal_axes(vectors: Float[Tensor, "N D"]) -> tuple[Float[Tensor, "D"], Float[Tensor, "D 2"]]:
    """The mean, and the two directions in which the vectors differ most; the largest entry of each is positive."""
    middle = vectors.mean(0)
    _, _, directions = torch.linalg.svd(vectors - middle, full_matrices=False)
    axes = directions[:2].T  # (D, 2)
    return middle, axes * axes.gather(0, axes.abs().argmax(0, keepdim=True)).sign()

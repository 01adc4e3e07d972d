"""A table of words and their vectors: look one up, find its neighbours, keep it in a
file.
"""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import torch
from jaxtyping import Float
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor


class Vectors:
    """`words[i]` has the vector `matrix[i]`; `vectors["bank"]` gives one of them.

    Words are taken as they are written: "Bank" is not "bank".
    """

    def __init__(self, words: Sequence[str], matrix: Float[Tensor, "V D"]):
        if len(words) != len(matrix):
            raise ValueError(
                f"{len(words)} words but {len(matrix)} vectors: give one vector for"
                " each word"
            )
        self.words = list(words)
        self.matrix = matrix
        self.index = {word: i for i, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: str) -> bool:
        return word in self.index

    def __getitem__(self, word: str) -> Float[Tensor, "D"]:
        return self.matrix[self._id(word)]

    @property
    def dim(self) -> int:
        """How many numbers a vector has."""
        return self.matrix.shape[1]

    @cached_property
    def unit(self) -> Float[Tensor, "V D"]:
        """Every vector scaled to length 1, so that a dot product is a cosine.

        A zero vector stays zero.
        """
        return torch.nn.functional.normalize(self.matrix, dim=1)

    def neighbours(
        self, word: str, k: int = 10, among: int | None = None
    ) -> list[tuple[str, float]]:
        """The k words of highest cosine with `word`, itself left out, the nearest
        first.

        `among` keeps to the first so many words of the table, which here are the most
        frequent: the vectors of rare words have seen little, and land anywhere.
        """
        cosines = self.unit[:among] @ self.unit[self._id(word)]  # (V,)
        if self._id(word) < len(cosines):
            cosines[self._id(word)] = -torch.inf
        best = cosines.topk(min(k, int(cosines.isfinite().sum())))
        return [
            (self.words[i], float(c))
            for i, c in zip(best.indices.tolist(), best.values, strict=True)
        ]

    def save(self, path: Path | str) -> None:
        """Write words and matrix into one safetensors file."""
        save_file(
            {"matrix": self.matrix.contiguous()},
            path,
            metadata={"words": "\n".join(self.words)},
        )

    @classmethod
    def load(cls, path: Path | str) -> "Vectors":
        """Read what `save` wrote."""
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            if "words" not in metadata:
                raise ValueError(
                    f"{path} holds no words: it was not written by Vectors.save"
                )
            return cls(metadata["words"].split("\n"), file.get_tensor("matrix"))

    def _id(self, word: str) -> int:
        if word not in self.index:
            raise KeyError(
                f"{word!r} has no vector: it is not among the {len(self):,} words of"
                " this table"
            )
        return self.index[word]

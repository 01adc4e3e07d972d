"""A film of the training: where chosen words stand, and what is being learnt from, at
some twenty moments.

The vectors have a hundred numbers, a picture has two. The two directions are the first
principal components of the chosen words at the end of training, and are the same for
every picture, so that what moves is the words.
"""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import softplus

from reference_impl.embeddings.skipgram import Step
from reference_impl.embeddings.vocabulary import Vocabulary

WORDS = (
    "bank",
    "river",
    "shore",
    "water",
    "lake",
    "sea",
    "ocean",
    "coast",
    "stream",
    "beach",
    "money",
    "loan",
    "credit",
    "cash",
    "debt",
    "payment",
    "fund",
    "savings",
    "stock",
    "coin",
    "dog",
    "cat",
    "horse",
    "bird",
    "fish",
    "wolf",
    "king",
    "queen",
    "prince",
    "emperor",
    "doctor",
    "nurse",
    "hospital",
    "medicine",
    "bread",
    "cheese",
    "meat",
    "soup",
    "car",
    "train",
)


class Recorder:
    """Pass it as `observe` to a training, then ask `film()` for the snapshots as plain
    JSON values.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        words: Sequence[str] = WORDS,
        snapshots: int = 20,
        examples: int = 5,
        negatives: int = 5,
    ):
        self.vocabulary = vocabulary
        self.words = [word for word in words if word in vocabulary]
        self.rows = torch.tensor([vocabulary.index[word] for word in self.words])
        self.snapshots, self.examples, self.negatives = snapshots, examples, negatives
        self.taken: list[dict[str, Any]] = []
        self.last: Step | None = None

    def __call__(self, step: Step) -> None:
        """Take a picture when the next one is due: at the first batch that learns
        something about a chosen word.
        """
        self.last = step
        place = len(self.taken)
        if step.done >= place / self.snapshots:
            example = self._example(step)
            if example["center"] or step.done >= (place + 1) / self.snapshots:
                self.taken.append({**self._frame(step), **example})

    def film(self) -> dict[str, Any]:
        """{"words", "dim", "snapshots": [{"done", "loss", "positions", "center",
        "contexts", "negatives"}]}, the last at the end.

        `positions[i]` are x and y of `words[i]`; `center`, `contexts` and `negatives`
        are an example of what was learnt from at that moment: a chosen word, its
        neighbours in the text, and the first noise words as they were drawn.
        """
        if self.last is None:
            raise ValueError(
                "nothing was recorded: pass the recorder as `observe` to a training"
                " first"
            )
        frames = [
            *self.taken,
            {**self._frame(self.last), **self._example(self.last), "done": 1.0},
        ]
        middle, axes = principal_axes(frames[-1]["vectors"])
        snapshots = []
        for frame in frames:
            positions = (frame.pop("vectors") - middle) @ axes  # (N, 2)
            snapshots.append(
                {
                    **frame,
                    "positions": [
                        [round(x, 4) for x in row] for row in positions.tolist()
                    ],
                }
            )
        return {
            "words": self.words,
            "dim": self.last.tables.input.shape[1],
            "snapshots": snapshots,
        }

    def _frame(self, step: Step) -> dict[str, Any]:
        return {
            "done": round(step.done, 4),
            "loss": round(self._loss(step), 4),
            "vectors": step.tables.input[self.rows].clone(),
        }

    def _loss(self, step: Step) -> float:
        """The loss of the batch's pairs as it stands now, each pair with the batch's
        shared noise words.
        """
        row, i, j = step.batch.mask.nonzero(as_tuple=True)
        center = step.tables.input[step.batch.words[row, i]]  # (P, D)
        met = softplus(-(center * step.tables.output[step.batch.words[row, j]]).sum(1))
        drawn = softplus(center @ step.tables.output[step.negatives].T).mean(1)
        return float((met + self.negatives * drawn).mean()) if len(row) else 0.0

    def _example(self, step: Step) -> dict[str, Any]:
        chosen = torch.isin(step.batch.words, self.rows) & step.batch.mask.any(2)
        drawn = self._names(step.negatives[: self.examples])
        for row, place in chosen.nonzero().tolist():
            near = step.batch.words[row][step.batch.mask[row, place]]
            if bool(torch.isin(near, self.rows).any()):
                return {
                    "center": self._names(step.batch.words[row, place, None])[0],
                    "contexts": self._names(near),
                    "negatives": drawn,
                }
        return {"center": "", "contexts": [], "negatives": drawn}

    def _names(self, ids: Tensor) -> list[str]:
        return [self.vocabulary.words[i] for i in ids.tolist()]


def principal_axes(
    vectors: Float[Tensor, "N D"],
) -> tuple[Float[Tensor, "D"], Float[Tensor, "D 2"]]:
    """The mean, and the two directions in which the vectors differ most; the largest
    entry of each is positive.
    """
    middle = vectors.mean(0)
    _, _, directions = torch.linalg.svd(vectors - middle, full_matrices=False)
    axes = directions[:2].T  # (D, 2)
    return middle, axes * axes.gather(0, axes.abs().argmax(0, keepdim=True)).sign()

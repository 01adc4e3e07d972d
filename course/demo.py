"""What the ungraded cells at the end of a notebook need: is the student's work ready, and a film of
the training.

Nothing here gives points, and nothing here runs in the grader.
"""

import json
from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from autograder.common.course_files import ROOT

RECORD = ROOT / "bench" / "results" / "skipgram.json"


def ready(*functions: Callable, needs: Sequence[str] = ()) -> bool:
    """Whether every function or class passes all its checks and every corpus in `needs` is here;
    what is missing is printed.
    """
    from autograder.check import find
    from autograder.checks.protocol import LocalStudent, run_exercise
    from reference_impl.corpora import CorpusError, path

    waiting = []
    for function in functions:
        exercise, _ = find(function, {})
        written = function.__init__ if isinstance(function, type) else function
        student = LocalStudent({**written.__globals__, function.__name__: function})
        result = run_exercise(exercise, student, mistakes=[])
        if result.earned < result.points:
            waiting.append(
                f"{function.__name__} ({result.earned:g} of {result.points:g} points so far)"
            )
    for name in needs:
        try:
            path(name)
        except CorpusError as error:
            waiting.append(f"the text {name}: {error}")
    if waiting:
        print(
            "Nothing is wrong: this cell just needs a little more of your work first. It waits for"
        )
        print("\n".join(f"  - {item}" for item in waiting))
        print("Come back and run it again then.")
    return not waiting


class Film:
    """Snapshots of a few words while vectors are trained, for the figure `skipgram-training`.

    words: by group, for example {"money": ["loan", "credit"], "river": ["shore"]}; words without a
    vector are left out.
    """

    def __init__(self, index: dict[str, int], words: dict[str, list[str]]):
        chosen = [
            (word, group) for group, members in words.items() for word in members if word in index
        ]
        self.words, self.groups = (list(column) for column in zip(*chosen, strict=True))
        self.rows = [index[word] for word in self.words]
        self.names = {row: word for word, row in index.items()}
        self.shots: list[tuple[dict, Float[Tensor, "N D"]]] = []

    def shoot(
        self,
        step: int,
        loss: float,
        centers: Float[Tensor, "V D"],
        center: Int[Tensor, "B"],
        context: Int[Tensor, "B"],
        negatives: Int[Tensor, "B K"],
    ) -> None:
        """Keep where the chosen words are, and one example of the batch: the first whose centre is
        in the film.
        """
        place = next((i for i, word in enumerate(center.tolist()) if word in self.rows), 0)
        shot = {
            "step": step,
            "loss": loss,
            "center": self.names[int(center[place])],
            "contexts": [self.names[int(context[place])]],
            "negatives": [self.names[word] for word in negatives[place].tolist()],
        }
        self.shots.append((shot, centers[self.rows].clone()))

    @property
    def loss(self) -> float:
        """The loss at the last snapshot."""
        return self.shots[-1][0]["loss"]

    def figure(self, caption: str, alt: str):
        """The moving figure: all snapshots seen from the two directions in which the last one is
        widest.
        """
        from course.book.pages.figures import figure

        last = self.shots[-1][1]
        middle = last.mean(0)
        directions = torch.linalg.svd(last - middle)[2][:2].T  # (D, 2)
        snapshots = [
            {**shot, "positions": ((vectors - middle) @ directions).tolist()}
            for shot, vectors in self.shots
        ]
        data = {
            "words": self.words,
            "groups": self.groups,
            "snapshots": snapshots,
            "unit": "pairs seen",
        }
        return figure("skipgram-training", data, caption=caption, alt=alt)


def gensim_score() -> str:
    """A sentence with gensim's WordSim-353 figure on the same text, from the committed record of
    the bench.
    """
    if not RECORD.is_file():
        return f"gensim's figure is not here: {RECORD.relative_to(ROOT)} is missing"
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    return (
        f"WordSim-353, gensim:         {record['gensim']['wordsim353']:.3f}   (skip-gram, the same"
        " text)"
    )

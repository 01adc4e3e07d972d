"""What the ungraded cells at the end of a notebook need: is the student's work ready, and a film of the training.

Nothing here gives points, and nothing here runs in the grader.
"""
import json
from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from autograder.catalogue import ROOT


def ready(*functions: Callable, needs: Sequence[str] = ()) -> bool:
    """Whether every function passes all its checks and every corpus in `needs` is here; what is missing is printed."""
    from autograder.check import find
    from autograder.checks.protocol import LocalStudent, run_exercise
    from reference_impl.corpora import CorpusError, path

    waiting = []
    for function in functions:
        exercise = find(function)
        student = LocalStudent({**function.__globals__, function.__name__: function})
        result = run_exercise(exercise, student, mistakes=[])
        if result.earned < result.points:
            waiting.append(f"{function.__name__} ({result.earned:g} of {result.points:g} points so far)")
    for name in needs:
        try:
            path(name)
        except CorpusError as error:
            waiting.append(f"the text {name}: {error}")
    if waiting:
        print("Nothing is wrong: this cell just needs a little more of your work first. It waits for")
        print("\n".join(f"  - {item}" for item in waiting))
        print("Come back and run it again then.")
    return not waiting


class Film:
    """Snapshots of a few words while vectors are trained, for the figure `skipgram-training`.

    words: by group, for example {"money": ["loan", "credit"], "river": ["shore"]}; words without a vector are left out.
    """

    def __init__(self, index: dict[str, int], words: dict[str, list[str]]):
        chosen = [(word, group) for group, members in words.items() for word in members if word in index]
        self.words, self.groups = (list(column) for column in zip(*chosen, strict=True))
        self.rows = [index[word] for word in self.words]
        self.names = {row: word for word, row in index.items()}
        self.shots: list[tuple[dict, Float[Tensor, "N D"]]] = []

    def shoot(self, step: int, loss: float, centers: Float[Tensor, "V D"], example: tuple[int, int, list[int]]) -> None:
        """Keep where the chosen words are now, and one training example: centre, context, negatives."""
        center, context, negatives = example
        shot = {"step": step, "loss": loss, "center": self.names[center], "contexts": [self.names[context]],
                "negatives": [self.names[word] for word in negatives]}
        self.shots.append((shot, centers[self.rows].clone()))

    def example(self, centers: list[int], contexts: list[int], negatives: list[list[int]]) -> tuple[int, int, list[int]]:
        """From a batch: the first pair whose centre is in the film, or the first pair."""
        place = next((i for i, word in enumerate(centers) if word in self.rows), 0)
        return centers[place], contexts[place], negatives[place]

    def figure(self, caption: str, alt: str):
        """The moving figure: all snapshots seen from the two directions in which the last one is widest."""
        from autograder.figures import figure

        last = self.shots[-1][1]
        middle = last.mean(0)
        directions = torch.linalg.svd(last - middle)[2][:2].T                                       # (D, 2)
        snapshots = [{**shot, "positions": ((vectors - middle) @ directions).tolist()} for shot, vectors in self.shots]
        data = {"words": self.words, "groups": self.groups, "snapshots": snapshots, "unit": "pairs seen"}
        return figure("skipgram-training", data, caption=caption, alt=alt)


def gensim_record() -> dict | None:
    """The measured record of gensim on the same text, bench/results/skipgram.json; None where it is not there."""
    record = ROOT / "bench" / "results" / "skipgram.json"
    return json.loads(record.read_text(encoding="utf-8")) if record.is_file() else None

"""More computing for a better answer: votes over many samples, and search in a tree of
partial answers.

Wang et al. 2023, section 2 (self-consistency): sample several chains of thought, take
the answer that most of them end with. Yao et al. 2023, section 3 (tree of thoughts),
algorithm 2: several continuations of each partial answer, of which a value keeps the
best. Cobbe et al. 2021, section 4.2 (a verifier chooses among samples); Chen et al.
2021, section 2.1 (pass@k).

Both take functions: what a model writes, and how an answer is judged, is the caller's.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from math import comb
from typing import NamedTuple, TypeVar

from reference_impl.generation.sampling_params import GenerationError

Thought = TypeVar("Thought")


class Vote(NamedTuple):
    """The answer with most votes, the first to appear of equals, and its share of the
    votes.
    """

    answer: Hashable
    share: float


def self_consistency(
    samples: Iterable[str], answer_of: Callable[[str], Hashable | None]
) -> Vote:
    """Vote over the samples' answers; a sample in which `answer_of` finds none (None)
    has no vote.
    """
    counts = Counter(answer for answer in map(answer_of, samples) if answer is not None)
    if not counts:
        raise GenerationError(
            "no sample has an answer: sample more, or look at what answer_of looks for"
        )
    answer, votes = counts.most_common(1)[0]
    return Vote(answer, votes / counts.total())


def tree_search(
    root: Thought,
    expand: Callable[[Thought], Sequence[Thought]],
    value: Callable[[Thought], float],
    done: Callable[[Thought], bool],
    width: int,
    depth: int,
) -> Thought | None:
    """Breadth first: of all continuations of a level keep the `width` best by value,
    for `depth` levels.

    The best finished thought of the first level that has one, or None.
    """
    if width < 1 or depth < 1:
        raise GenerationError(
            f"width is {width} and depth {depth}: give 1 or more of both"
        )
    level = [root]
    for _ in range(depth):
        level = sorted(
            (new for old in level for new in expand(old)), key=value, reverse=True
        )
        finished = [thought for thought in level if done(thought)]
        if finished:
            return finished[0]
        level = level[:width]
    return None


def pass_at_k(num_samples: int, num_correct: int, k: int) -> float:
    """An unbiased estimate of the chance that one of k samples is correct, from
    num_samples of one problem (Chen et al. 2021, equation 1).
    """
    if not (1 <= k <= num_samples and 0 <= num_correct <= num_samples):
        raise GenerationError(
            f"k is {k} and num_correct {num_correct}: of {num_samples} samples, give 1"
            f" to {num_samples} and 0 to {num_samples}"
        )
    without = comb(num_samples - num_correct, k)  # choices of k with no correct one
    return 1 - without / comb(num_samples, k)


def best_of_n(samples: Sequence[str], score: Callable[[str], float]) -> str:
    """The sample that a verifier scores highest; the first of equals."""
    if not samples:
        raise GenerationError("there are no samples: give at least one")
    return max(samples, key=score)


def weighted_vote(
    samples: Sequence[str],
    answer_of: Callable[[str], Hashable | None],
    score: Callable[[str], float],
) -> Vote:
    """The answer whose samples have the largest sum of scores (of 0 or more), and its
    share of the sum. With a score of 1 for each, it is self-consistency.
    """
    totals: dict[Hashable, float] = {}
    for sample in samples:
        if (answer := answer_of(sample)) is not None:
            totals[answer] = totals.get(answer, 0.0) + score(sample)
    if not totals or sum(totals.values()) <= 0:
        raise GenerationError(
            "no sample has an answer with a score above 0: sample more, or look at"
            " answer_of and score"
        )
    answer = max(totals, key=totals.__getitem__)
    return Vote(answer, totals[answer] / sum(totals.values()))

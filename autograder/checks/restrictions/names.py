"""Which names are withheld in an exercise: what its author named, and the grader's own modules.

`exercise(..., withhold=[...])` names modules and functions of the reference implementation
(`reference_impl.embeddings.counts`), packages (`tokenizers`), and operators or classes
(`torch.nn.functional.scaled_dot_product_attention`); a dict gives reasons. `course author withheld`
looks for names that are missing. The reference implementation and packages are withheld in the
whole chapter, because their files are not in its sandbox; an operator only in the exercises that
name it. `withheld` enforces this, at home as well.
"""

from collections.abc import Iterable, Mapping

from autograder.checks import exercise as declared
from autograder.checks.restrictions.guard import GRADERS, WHY


def in_chapter(exercises: Iterable) -> dict[str, str]:
    """Names withheld in all exercises (exercise.Exercise) of a chapter, with the reasons.

    These are parts of the reference implementation and packages.
    """
    why: dict[str, str] = {}
    for one in exercises:
        why.update((name, reason) for name, reason in named(one).items() if not is_operator(name))
    return {
        name: reason
        for name, reason in why.items()
        if not any(name.startswith(f"{other}.") for other in why)
    }


def in_exercise(one) -> dict[str, str]:
    """What is withheld while an exercise (an exercise.Exercise) is checked."""
    chapter = [other for other in declared.EXERCISES.values() if other.id[:2] == one.id[:2]]
    if one not in chapter:
        chapter.append(one)
    operators = {name: why for name, why in named(one).items() if is_operator(name)}
    return GRADERS | in_chapter(chapter) | operators


def named(one) -> dict[str, str]:
    """What the author of an exercise named, with the reason."""
    return (
        dict(one.withhold)
        if isinstance(one.withhold, Mapping)
        else dict.fromkeys(one.withhold, WHY)
    )


def is_operator(name: str) -> bool:
    """Whether a name is part of a package with other uses, such as `torch.nn.LSTMCell`."""
    return "." in name and not name.startswith("reference_impl.")

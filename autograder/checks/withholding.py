"""Which names are withheld in an exercise: what its author named, and what was found to answer it.

`exercise(..., withhold=[...])` names modules of the reference (`reference_impl.embeddings.counts`), packages
(`tokenizers`), and operators or classes (`torch.nn.functional.scaled_dot_product_attention`); a dict gives reasons.
`withheld.json` of a chapter holds, by exercise, the functions of the reference that return its answers, as
`course author withheld NN` finds them. The reference and packages are withheld in the whole chapter, because their
files are not in its sandbox; an operator only in the exercises that name it. `withheld` makes it so, at home too.
"""

import json
from collections.abc import Iterable, Mapping

from autograder.checks import exercise as declared
from autograder.checks.withheld import GRADERS, WHY

TABLE = "withheld.json"


def found(number: str) -> dict[str, list[str]]:
    """By exercise: the functions of the reference that answer it."""
    for path in declared.CHAPTERS.glob(f"c{number}_*/{TABLE}"):
        return json.loads(path.read_text(encoding="utf-8"))
    return {}


def in_chapter(exercises: Iterable) -> dict[str, str]:
    """What is withheld in all exercises (exercise.Exercise) of a chapter: parts of the reference and packages, with why."""
    exercises, why = list(exercises), {}
    for one in exercises:
        why.update((name, reason) for name, reason in named(one).items() if not is_operator(name))
    for number in dict.fromkeys(one.id[:2] for one in exercises):
        for names in found(number).values():
            why.update(dict.fromkeys(names, WHY))
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
    """Whether a name is a part of a package that is there for other uses, such as `torch.nn.LSTMCell`."""
    return "." in name and not name.startswith("reference_impl.")

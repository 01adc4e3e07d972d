"""The hash of the code that decides what an exercise's answers earn when authors try them."""

from functools import cache

from autograder.authoring.catalogue import ROOT, Assignment, folder_of
from autograder.dependency_hash import hash_behind

# Imports that decide nothing here: our reference, of which a sample is always tried, and what works
# out hashes.
NOT_FOLLOWED = (
    "reference_impl",
    "autograder.authoring.fingerprints",
    "autograder.authoring.proven",
    "autograder.dependency_hash",
)
FOR_KERNELS = (
    "autograder.checks.beside_kernels",
    "autograder.checks.compiled",
    "autograder.checks.interpreting",
    "autograder.checks.kernel_source",
    "autograder.checks.kernels",
    "autograder.checks.launches",
    "autograder.checks.marks",
    "autograder.checks.replay",
)


# All but a chapter's own modules.
FRAME = (
    "autograder.authoring",
    "autograder.checks",
    "autograder.sandbox",
    "course",
    "reference_impl",
    "tests",
)


@cache
def hash_of_own(modules: tuple[str, ...]) -> str:
    """The hash of some modules of a chapter and of what they import from chapters, without the frame."""
    return hash_behind(modules, FRAME, ROOT)


def has_kernels(one: Assignment) -> bool:
    """Whether a solution of a chapter runs kernels."""
    return any("@triton.jit" in cell.source for cell, _ in one.cells.values())


@cache
def hash_of_checks(
    number: str, kernels: bool, beside: tuple[str, ...], roots: tuple[str, ...]
) -> str:
    """The hash of `roots` and some modules of a chapter, with what they import.

    kernels: whether what runs kernels counts. beside: how the names of the chapter's modules begin.
    """
    folder = folder_of(number)
    modules = [
        f"autograder.chapters.{folder.name}.{path.stem}"
        for path in sorted(folder.glob("*.py"))
        if path.name.startswith(beside)
    ]
    if kernels:
        return hash_behind([*roots, *modules, *FOR_KERNELS], NOT_FOLLOWED, ROOT)
    return hash_behind([*roots, *modules], (*NOT_FOLLOWED, *FOR_KERNELS), ROOT)

"""Input-output examples that a student writes before any code: `examples("04.masks", [...])`."""

from autograder.examples.notebook import examples

__all__ = ["examples"]

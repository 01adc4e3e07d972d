"""Sources for sample students; they are in `autograder.authoring.sources`, where grading finds them too."""
from autograder.authoring.sources import has_source, reference_sources, standing_in, with_function

__all__ = ["has_source", "reference_sources", "standing_in", "with_function"]

"""The committed tables of a chapter are what its checks give."""
import pytest

from autograder.authoring.catalogue import assignments, folder_of
from autograder.authoring.matrix import as_table


@pytest.mark.parametrize("one", assignments(), ids=lambda one: one.name)
def test_the_committed_matrix_is_what_the_mistakes_give(one):
    path = folder_of(one.number) / "matrix.md"
    assert path.read_text(encoding="utf-8") == as_table(one), f"run `course author matrix {one.number}`"

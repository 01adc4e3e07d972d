"""The table of a chapter's exercises: its links say the titles of page and section, its numbers
stand to the right.
"""

import re

import pytest

from autograder.authoring.catalogue import assignment
from course.book.review.exercise_table import exercise_table, section_title


@pytest.mark.parametrize(
    "see, title",
    [
        (
            "01-static-embeddings/pmi#pointwise-mutual-information",
            "Co-occurrence counts, PMI and SVD › Pointwise mutual information",
        ),
        (
            "01-static-embeddings/word2vec#subsampling-frequent-words",
            "word2vec › Subsampling frequent words",
        ),
        ("01-static-embeddings/polysemy", "Polysemy"),
    ],
)
def test_a_link_to_a_section_says_the_titles_of_its_page_and_its_own(see, title):
    assert section_title(see) == title


def test_each_exercise_has_a_row_with_its_minutes_and_points_to_the_right():
    chapter = assignment("01")
    rows = re.findall(r'<tr id="exercise-01-([\w-]+)">(.*?)</tr>', exercise_table(chapter).data)
    assert [name.replace("-", "_") for name, _ in rows] == [
        name.split(".")[1] for name in chapter.exercises
    ]
    numbers = [re.findall(r'<td class="text-right">([\d.]+)</td>', row) for _, row in rows]
    assert [float(points) for _, points in numbers] == [
        one.points for one in chapter.exercises.values()
    ]
    assert all(len(row) == 2 and 0 < int(row[0]) < 60 for row in numbers)


def test_a_row_may_link_a_page_of_another_chapter():
    data = exercise_table(assignment("16")).data
    assert (
        '<a href="../12-llama/cache.html#how-many-bytes">' in data
        and "break a sentence" in data
        and "find the wrong line" in data
    )
    assert 'href="../' not in exercise_table(assignment("01")).data

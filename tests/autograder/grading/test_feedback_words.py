"""A feedback page says in words what a test asks and where to read: no code names, and no paths
that lead nowhere.
"""

import re

from autograder.checks.rubric import page_in_words
from autograder.classroom.gradebook.grades import HandGrades
from autograder.classroom.reports.feedback import feedback_page
from autograder.grading.assignment import load_assignment
from autograder.grading.grade import Verdict


def test_tests_and_pages_are_named_in_words():
    stages = [
        {
            "name": name,
            "points": 1.0,
            "earned": 0.0,
            "status": "wrong",
            "cause": "It is wrong.",
            "detail": "",
            "misconception": "",
        }
        for name in ("one-added", "float_32")
    ]
    verdict = Verdict(
        "ada",
        "01-static-embeddings",
        "",
        "",
        results=[{"exercise": "01.ppmi", "points": 5.0, "earned": 0.0, "stages": stages}],
    )
    page = feedback_page(load_assignment("01"), verdict, HandGrades())
    assert (
        "<strong>one added.</strong>" in page
        and ">float 32</th>" in page
        and "one-added" not in page
    )
    read = re.search(r"Read again: (.*?) in the book", page).group(1)
    assert read.startswith("chapter 1, page “") and "section “" in read and ".html" not in read


def test_a_page_that_is_not_here_is_named_by_what_is_known_of_it():
    assert (
        page_in_words("03-context/two-readers#by-hand")
        == "chapter 3, page “two readers”, section “by hand”"
    )

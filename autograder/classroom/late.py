"""The path under which a class's nbgrader_config.py finds the late penalty: kept forever."""

from autograder.classroom.gradebook.deadlines import ShareEachDay

__all__ = ["ShareEachDay"]

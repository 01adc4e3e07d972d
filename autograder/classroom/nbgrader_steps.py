"""The path under which a class's nbgrader_config.py finds `configure`: kept forever."""

from autograder.classroom.gradebook.nbgrader_plugins import configure

__all__ = ["configure"]

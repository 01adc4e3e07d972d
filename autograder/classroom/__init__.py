"""Verdicts into nbgrader's gradebook, feedback pages, the class report and files for others."""

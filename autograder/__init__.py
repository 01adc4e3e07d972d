"""Checks for students, safe grading for instructors, and the `course` command."""

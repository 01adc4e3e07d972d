"""Helpers without knowledge of the course: errors, atomic files, safe names, the error boundary."""

"""The checks of every exercise, and the small language they are written in (`protocol`)."""

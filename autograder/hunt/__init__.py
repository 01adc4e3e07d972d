"""Bug hunts: one small change in a student's own function, to be found with an input."""

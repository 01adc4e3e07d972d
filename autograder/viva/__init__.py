"""Questions about a student's own code that only its author can answer at once."""

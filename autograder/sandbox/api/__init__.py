"""Open a sandbox, run cells in it, and call a student's functions."""

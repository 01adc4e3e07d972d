"""Read a submitted notebook, merge it into the pristine one, and flag what needs review."""

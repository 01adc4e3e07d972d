"""Which students' code is alike."""

"""Decisions of the instructor on flagged submissions: recorded, applied, undone, and served."""

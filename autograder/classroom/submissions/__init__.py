"""Collect submissions into nbgrader's folders, with attempts, metadata and identities."""

"""The archive of one assignment that students get."""

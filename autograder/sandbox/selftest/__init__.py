"""Escape attempts, and what `course doctor` says of this machine."""

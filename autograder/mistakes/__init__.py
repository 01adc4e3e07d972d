"""Plausible wrong solutions, each with the misconception behind it, and other correct ones (`registry`)."""

"""Chapter 3's checks, known mistakes, and what they share."""

MOST = 300  # entries along an axis, as the notebook promises

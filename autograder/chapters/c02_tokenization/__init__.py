"""Chapter 2's checks, known mistakes, and the helpers that they share."""

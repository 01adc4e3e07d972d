"""Chapter 4's checks, known mistakes, and what they share."""

"""Chapter 3's checks, known mistakes, and what they share."""

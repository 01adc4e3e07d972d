"""Assignment 01: counts, PPMI, skip-gram with negative sampling, and how vectors are judged."""

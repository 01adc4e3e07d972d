"""Assignment 01: counts, PPMI, skip-gram with negative sampling, and how vectors are judged."""

LONG = 997  # nearly the longest axis that the statements allow, and prime: parts of any size leave a rest

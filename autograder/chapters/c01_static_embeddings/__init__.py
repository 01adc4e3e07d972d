"""Assignment 01: counts, PPMI, skip-gram with negative sampling, and how vectors are judged."""

# nearly the longest axis that the statements allow, and prime: parts of any size leave a rest
LONG = 997

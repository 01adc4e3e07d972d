"""Kinds of exercises beside a function: short answers, write-tests, seeded faults."""

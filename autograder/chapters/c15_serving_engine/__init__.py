"""Checks and known mistakes of chapter 15, a serving engine."""

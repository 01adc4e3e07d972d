"""Checks and known mistakes of chapter 7, after BERT."""

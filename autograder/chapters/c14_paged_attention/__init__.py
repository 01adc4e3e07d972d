"""Checks and known mistakes of chapter 14, Paged attention."""

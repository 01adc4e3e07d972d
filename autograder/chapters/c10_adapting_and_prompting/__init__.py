"""Checks and known mistakes of chapter 10, adapting and prompting."""

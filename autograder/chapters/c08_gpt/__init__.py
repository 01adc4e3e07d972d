"""Checks and known mistakes of chapter 8, GPT."""

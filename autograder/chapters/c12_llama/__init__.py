"""Checks and known mistakes of chapter 12, LLaMA."""

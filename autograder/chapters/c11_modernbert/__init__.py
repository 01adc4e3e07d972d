"""Checks and known mistakes of chapter 11, ModernBERT."""

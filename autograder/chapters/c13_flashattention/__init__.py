"""Checks and known mistakes of chapter 13, FlashAttention."""

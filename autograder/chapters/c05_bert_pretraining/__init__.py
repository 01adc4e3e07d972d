"""Checks and known mistakes of chapter 5, BERT's pre-training."""

"""Checks and known mistakes of chapter 6, BERT's fine-tuning and inference."""

"""Laptop golf: small language models, ranked by bits per byte on text drawn after submission."""

"""Checks and known mistakes of assignment 17."""

"""Checks and known mistakes of chapter 9, generating text."""

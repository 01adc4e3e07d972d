"""Checks of the book's sources and of its built pages."""

"""Registered mistakes, and which of them explains a student's answers."""

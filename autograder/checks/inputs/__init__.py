"""Inputs of checks: random draws, buffers, callables, fakes, strided views."""

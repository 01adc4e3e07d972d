"""Triton kernels: interpreted, recorded, replayed and compiled without a GPU."""

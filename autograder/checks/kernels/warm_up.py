"""Import this before triton, and its kernels are interpreted in this process.

Warms the sandbox's worker for kernels.
"""

import os

os.environ["TRITON_INTERPRET"] = "1"

import triton.language  # noqa: E402,F401
import triton.runtime.interpreter  # noqa: E402,F401

import autograder.checks.kernels.replay  # noqa: E402,F401

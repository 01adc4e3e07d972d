"""The small training as a fixture, and a way to start the programs that stand beside the tests."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[2]


@pytest.fixture(scope="session")
def tiny():
    spec = importlib.util.spec_from_file_location("tiny_training", HERE / "tiny_training.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def run_program():
    """Run a program of this folder in processes of its own; fail with what it wrote if it fails."""

    def run(name, *arguments, launcher=()):
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": f"{ROOT}:{HERE}"}
        done = subprocess.run(
            [sys.executable, *launcher, str(HERE / name), *map(str, arguments)],
            env=environment,
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    return run

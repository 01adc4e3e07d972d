"""What a model can't take is refused in words, where nothing else looks at shapes: each case runs
in a plain process.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("refusals.py")


@pytest.fixture(scope="module")
def told():
    """Each case's kind of error and words."""
    root = PROGRAM.parents[3]
    done = subprocess.run(
        [sys.executable, PROGRAM],
        cwd=root,
        env={"PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def test_every_input_that_a_model_can_not_take_is_refused_in_words(told):
    wrong = {
        name: (kind, words) for name, (kind, words) in told.items() if kind != "ModelInputError"
    }
    assert not wrong, json.dumps(wrong, indent=1)
    assert len(told) > 250


@pytest.mark.parametrize(
    "case, words",
    [
        ("llama: one row", "ids have shape (4,): give (B, T)"),
        ("gpt_neox: a list", "ids are a list: give a tensor"),
        ("gpt: negative positions", "positions count from 0"),
        ("longformer: no rows", "ids have shape (0, 4): there is no token"),
        ("bert: segments of one row", "segments have shape (1, 4) but the ids (2, 4)"),
        ("gpt: a cache of one layer", "a cache of 1 layers for a model of 2"),
    ],
)
def test_the_words_name_what_was_given(told, case, words):
    assert words in told[case][1]

"""A hundred things of the soak: mixed traffic, hang-ups included, leaves nothing behind.

Its full length is in bench/.
"""

import subprocess
import sys
from pathlib import Path

SOAK = Path(__file__).resolve().parents[3] / "bench" / "soak.py"


def test_mixed_traffic_leaves_no_block_task_descriptor_or_thread_behind():
    ran = subprocess.run(
        [sys.executable, SOAK, "--deeds", "6", "--clients", "16", "--no-record"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    for kind in ("whole 200", "whole left", "stream 200", "stream left 200", "wrong 400"):
        assert f" {kind}\n" in ran.stdout
    assert "Traceback" not in ran.stderr

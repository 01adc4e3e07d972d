"""After set-up nothing needs a network: the reader's and the student's journeys, in a network
namespace with loopback only.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.journeys.conftest import JOURNEYS

FOLDER = Path(__file__).resolve().parent
CUT = ["bwrap", "--dev-bind", "/", "/", "--unshare-net", "--die-with-parent", "--"]


def run_cut(command: list[str]) -> subprocess.CompletedProcess:
    """Run a command where the only network interface is loopback."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")
    }
    return subprocess.run(
        [*CUT, *command],
        capture_output=True,
        text=True,
        cwd=FOLDER.parents[1],
        env={**environment, "W2S_OFFLINE_JOURNEY": "1"},
    )


@pytest.mark.sandbox
def test_there_is_no_way_out_of_the_cut_network():
    interfaces = run_cut(["cat", "/proc/net/dev"]).stdout.splitlines()[2:]
    assert [line.split(":")[0].strip() for line in interfaces] == ["lo"]
    routes = run_cut(["cat", "/proc/net/route"]).stdout.splitlines()[1:]
    assert routes == []


@pytest.fixture(scope="module")
def journeys():
    """What pytest says of both journeys, run one after the other in one process."""
    return run_cut(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-rA",
            "-p",
            "no:cacheprovider",
            *(str(FOLDER / name) for name in JOURNEYS),
        ]
    )


@pytest.mark.sandbox
@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("journey", JOURNEYS)
def test_a_journey_needs_no_network(journeys, journey):
    ends = re.findall(rf"^(\w+) \S*{re.escape(journey)}::", journeys.stdout, re.M)
    assert ends and set(ends) == {"PASSED"}, journeys.stdout[-6000:] + journeys.stderr[-2000:]

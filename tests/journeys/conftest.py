"""A real Jupyter server on loopback, for journeys that drive notebooks in a browser.

The reader's and the student's journeys run inside test_offline.py, with the network cut, where that
is possible.
"""

import os
import re
import secrets
import shutil
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest

OFFLINE = "W2S_OFFLINE_JOURNEY"  # set by test_offline.py for the pytest that it starts
JOURNEYS = ["test_reader.py", "test_student.py"]
collect_ignore = JOURNEYS if shutil.which("bwrap") and OFFLINE not in os.environ else []


@contextmanager
def serve(folder: Path, *extra: str):
    """Start `jupyter notebook` in `folder` on a free port; yields a function from a path to its URL
    with the token.
    """
    token, log = secrets.token_hex(16), folder / "jupyter-server.log"
    command = [
        sys.executable,
        "-m",
        "jupyter",
        "notebook",
        "--no-browser",
        "--port=0",
        "--ip=127.0.0.1",
        f"--IdentityProvider.token={token}",
        "--ServerApp.allow_root=True",
        f"--ServerApp.root_dir={folder}",
        *extra,
    ]
    # A settings folder of its own: the journey must not depend on, or touch, the developer's.
    environment = {
        **os.environ,
        "JUPYTER_CONFIG_DIR": str(folder / ".jupyter"),
        "JUPYTER_RUNTIME_DIR": str(folder / ".run"),
        "JUPYTERLAB_WORKSPACES_DIR": str(folder / ".workspaces"),
        "OMP_NUM_THREADS": "1",
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
    }
    with log.open("w") as out:
        server = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=out, stderr=subprocess.STDOUT
        )
    try:
        base = wait_for_address(server, log)
        yield lambda path: f"{base}/{path}?token={token}"
    finally:
        server.terminate()
        server.wait(20)


def wait_for_address(server: subprocess.Popen, log: Path) -> str:
    """The base URL, as soon as the server says it and answers there."""
    for _ in range(300):
        found = re.search(r"(http://127\.0\.0\.1:\d+)/", log.read_text(errors="replace"))
        if found:
            try:
                urllib.request.urlopen(f"{found[1]}/api", timeout=5)
                return found[1]
            except OSError:
                time.sleep(0.2)
        if server.poll() is not None:
            break
        time.sleep(0.2)
    pytest.fail(f"the Jupyter server did not start:\n{log.read_text(errors='replace')[-2000:]}")


@pytest.fixture
def jupyter_server():
    """`with jupyter_server(folder) as url:` then `url("notebooks/NAME.ipynb")`."""
    return serve

"""Every attack of the table, graded as a class by the command, and what came of each.

    python bench/attacks.py

It runs the tests of tests/autograder/grading/attacks with all attacks, five minutes on two cores,
and keeps their table: points before and after, what the verdict says, what was touched. From that
record it writes the page for instructors beside the tests. The exit code is that of the tests; a
failure is kept in the record too.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from record import save

REPOSITORY = Path(__file__).resolve().parents[1]
TESTS = "tests/autograder/grading/attacks/test_attacks.py"


def main() -> int:
    """Attack, keep the record, write the page."""
    sys.path.insert(0, str(REPOSITORY))
    from tests.autograder.grading.attacks.recorded import PAGE, page

    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder, "table.json")
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "pytest",
                "-n",
                "0",
                "-q",
                "-m",
                "",
                "-k",
                "all",
                f"--basetemp={folder}/tests",
                TESTS,
            ],
            cwd=REPOSITORY,
            env=os.environ | {"W2S_ATTACKS_RECORD": str(table)},
        )
        found = json.loads(table.read_text(encoding="utf-8"))
    path = save("attacks", versions=(), tests_exit_code=done.returncode, **found)
    PAGE.write_text(page(json.loads(path.read_text(encoding="utf-8"))), encoding="utf-8")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())

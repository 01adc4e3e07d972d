"""CONTRIBUTING.md shows the matrix of mistakes against checks as `course check` prints it today."""
import re
from pathlib import Path

from course.cli import main

CONTRIBUTING = Path(__file__).resolve().parents[2] / "CONTRIBUTING.md"


def test_the_matrix_in_contributing_is_what_course_check_prints(capsys):
    assert main(["check", "--matrix", "01", "--markdown"]) == 0
    printed = capsys.readouterr().out.strip()
    shown = re.search(r"<!-- matrix 01 -->\n(.*?)<!-- end of matrix 01 -->", CONTRIBUTING.read_text(), flags=re.DOTALL)[1].strip()
    assert shown == printed, "put the output of `course check --matrix 01 --markdown` between the two marks"

"""Where the course's own files lie, and where a student works.

In a checkout both lie in its folder. The wheel holds the code and, in `autograder/shipped`, the few
other files that a student's commands and notebooks read (setup.py puts them there); with it a
student works in any folder.
"""

from pathlib import Path

CODE = Path(__file__).resolve().parents[2]  # holds autograder, course and reference_impl
SHIPPED = CODE / "autograder" / "shipped"
IN_WHEEL = SHIPPED.is_dir()
ROOT = SHIPPED if IN_WHEEL else CODE
# Where a student's notebooks and their package `word2serve_me` are.
MYWORK = Path.cwd() if IN_WHEEL else ROOT / "mywork"

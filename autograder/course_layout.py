"""Every path inside a course directory, which nbgrader shares with us.

nbgrader's own: source/, release/, submitted/, autograded/, feedback/, gradebook.db,
nbgrader_config.py. Ours: results.sqlite, verdicts/, hand-ins/, report/ and the files that begin
with a dot.
`root` is the course directory, `assignment` an assignment's name ("01-static-embeddings"), and
`student` a key as in grades.csv.
"""

from pathlib import Path

CONFIG_FILE = "nbgrader_config.py"
SECRET_FILE = ".course-secret"
GRADEBOOK_FILE = "gradebook.db"
RESULTS_FILE = "results.sqlite"
LOG_FILE = "grading.log"
GRADES_FILE = "grades.csv"
INDEX_PAGE = "index.html"
STAND_INS = ".stand-ins"  # nbgrader's submitted/ for our own runs: a hash in each notebook's place
REGRADE = ".regrade"
ATTEMPTS = "hand-ins"
PRIVATE_FOLDERS = (
    "verdicts",
    "feedback",
    ATTEMPTS,
    "submitted",
    "autograded",
    "report",
    "decisions",
    STAND_INS,
    REGRADE,
)
PRIVATE_FILES = (GRADEBOOK_FILE, RESULTS_FILE, LOG_FILE)


def config(root: Path) -> Path:
    """nbgrader's configuration."""
    return root / CONFIG_FILE


def secret(root: Path) -> Path:
    """What the hidden inputs of the class are drawn from."""
    return root / SECRET_FILE


def source_notebook(root: Path, assignment: str) -> Path:
    """nbgrader's source, with solutions."""
    return root / "source" / assignment / f"{assignment}.ipynb"


def release_notebook(root: Path, assignment: str) -> Path:
    """nbgrader's release, as students get it."""
    return root / "release" / assignment / f"{assignment}.ipynb"


def submitted(root: Path) -> Path:
    """What was collected, a folder a student."""
    return root / "submitted"


def submission_folder(root: Path, student: str, assignment: str) -> Path:
    """One student's collected work."""
    return submitted(root) / student / assignment


def submission(root: Path, student: str, assignment: str) -> Path:
    """One student's collected notebook."""
    return submission_folder(root, student, assignment) / f"{assignment}.ipynb"


def stand_in(root: Path, student: str, assignment: str) -> Path:
    """What nbgrader is given in the place of a collected notebook."""
    return root / STAND_INS / student / assignment / f"{assignment}.ipynb"


def autograded(root: Path) -> Path:
    """The notebooks that formgrader shows, a folder a student."""
    return root / "autograded"


def autograded_folder(root: Path, student: str, assignment: str) -> Path:
    """One student's graded notebook, in its folder."""
    return autograded(root) / student / assignment


def autograded_notebook(root: Path, student: str, assignment: str) -> Path:
    """The notebook that formgrader shows."""
    return autograded_folder(root, student, assignment) / f"{assignment}.ipynb"


def feedback_page(root: Path, student: str, assignment: str) -> Path:
    """The page that a student gets."""
    return root / "feedback" / student / assignment / f"{assignment}.html"


def all_records(root: Path) -> Path:
    """What is noted of the submissions; and an earlier release's records."""
    return root / "verdicts"


def results(root: Path) -> Path:
    """The results of all assignments, see grading/results_store.py."""
    return root / RESULTS_FILE


def copy_note(root: Path, assignment: str, student: str) -> Path:
    """The hash of our copy in submitted/."""
    return all_records(root) / f"{assignment}.copies" / f"{student}.sha256"


def collected(root: Path, assignment: str) -> Path:
    """What is known of each collected submission."""
    return all_records(root) / f"{assignment}.collected.json"


def left_out(root: Path, assignment: str) -> Path:
    """The entries that no student was found for, with the reason."""
    return all_records(root) / f"{assignment}.left-out.json"


def extensions(root: Path, assignment: str) -> Path:
    """Extensions for students whom the gradebook does not know yet."""
    return all_records(root) / f"{assignment}.extensions.json"


def roster(root: Path, assignment: str) -> Path:
    """Who is enrolled, as the learning platform said, and when each submission came."""
    return all_records(root) / f"{assignment}.roster.json"


def examples(root: Path, assignment: str) -> Path:
    """What the examples of students came to, when they were last read."""
    return all_records(root) / f"{assignment}.examples.json"


def attempts(root: Path) -> Path:
    """All attempts of all students, where there were several."""
    return root / ATTEMPTS


def attempts_rule(root: Path) -> Path:
    """Which attempt counts."""
    return attempts(root) / "rule.json"


def chosen_attempt(root: Path, assignment: str, student: str) -> Path:
    """Which attempt of one student counts, where the instructor chose one."""
    return attempts(root) / "chosen" / assignment / f"{student}.json"


def decisions(root: Path, assignment: str) -> Path:
    """What the instructor decided on flagged submissions of an assignment."""
    return root / "decisions" / f"{assignment}.json"


def report(root: Path) -> Path:
    """The class report, unless it was asked for elsewhere."""
    return root / "report"

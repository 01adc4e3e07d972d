"""What reads a student's bytes ends in time, in bounds, and costs what its length says."""

import os
import signal
import time

import pytest

from autograder.common.atomic_files import tells_case_apart, write_whole, writing
from autograder.common.error_boundary import Guard
from autograder.common.errors import MachineError
from autograder.course_layout import LOG_FILE
from autograder.grading.intake.limited_child import Limited, in_limits
from autograder.grading.notebook.magics import without_magics
from autograder.grading.notebook.parse import IntakeError


def test_a_value_comes_back_and_a_refusal_stays_a_refusal():
    def refuse():
        raise IntakeError("the file is empty")

    assert in_limits(lambda: {"a": ["\ud800", 1]}) == {"a": ["\ud800", 1]}
    with pytest.raises(IntakeError, match="the file is empty"):
        in_limits(refuse)


@pytest.mark.parametrize(
    "work",
    [
        lambda: [0] * 10**9,
        lambda: "x" * 2**40,
        lambda: os.kill(os.getpid(), signal.SIGSEGV),
        lambda: os._exit(0),
    ],
)
def test_a_child_that_takes_too_much_or_dies_is_a_refusal(work):
    with pytest.raises(IntakeError, match="more than 5 s or 256 MiB"):
        in_limits(work, seconds=5, memory=256 << 20)


def test_a_child_that_does_not_end_is_ended_by_processor_time():
    def forever():
        while True:
            pass

    with pytest.raises(IntakeError, match="more than 1 s"):
        in_limits(forever, seconds=1)


def test_any_other_exception_brings_its_traceback():
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        in_limits(lambda: 1 // 0)


def does(what):
    """What a child is asked in the tests below: its process, a refusal, a death, memory without
    end, its open files.
    """
    if what == "refuse":
        raise IntakeError("the file is empty")
    if what == "die":
        os._exit(0)
    if what == "grow":
        return [0] * 10**9
    if what == "spin":
        while True:
            pass
    return (
        {"who": os.getpid(), "files": sorted(map(int, os.listdir("/proc/self/fd")))[:-1]}
        if what == "who"
        else what
    )


def test_one_child_serves_one_item_after_another_and_holds_no_file_of_ours():
    held = os.open(os.devnull, os.O_RDONLY)
    with Limited(does) as child:
        first = child("who")
        with pytest.raises(IntakeError, match="the file is empty"):
            child("refuse")
        assert child("\ud800}\n") == "\ud800}\n" and child("who") == first != {"who": os.getpid()}
        assert held not in first["files"] and len(first["files"]) == 5
    os.close(held)
    assert not os.path.exists(f"/proc/{first['who']}")


@pytest.mark.parametrize("what", ["die", "grow", "spin"])
def test_what_ends_the_child_is_a_refusal_and_the_next_item_gets_a_fresh_one(what):
    with Limited(does, seconds=1, memory=256 << 20) as child:
        for before in ("who", "nobody"):  # a child that has served, and a fresh one
            assert before == "nobody" or child("who")
            with pytest.raises(IntakeError, match="more than 1 s or 256 MiB"):
                child(what)
        assert child("x") == "x"


def test_an_item_that_finds_the_child_dead_is_done_all_the_same():
    with Limited(does) as child:
        os.kill(child("who")["who"], signal.SIGKILL)
        assert child("x") == "x" and child("y") == "y"


LINES = [
    "a" * 50_000,
    "a," * 25_000,
    "a = " * 12_000,
    " " * 50_000 + "x",
    "%" * 50_000,
    "!" + "x" * 50_000,
    "x?" * 25_000,
    '"' * 50_000,
    "'" * 48_000,
    "\\" * 50_000,
    "a\t,\t" * 12_000 + "= !ls",
    "% " * 25_000,
]


@pytest.mark.parametrize("line", LINES, ids=range(len(LINES)))
def test_the_work_on_a_long_line_grows_with_its_length_and_no_faster(line):
    source = f"def broken(:\n{line}\n"
    begun = time.process_time()
    without_magics(source)
    assert time.process_time() - begun < 2.0  # quadratic work on these takes minutes


@pytest.mark.parametrize(
    ("line", "plain"),
    [
        ("%matplotlib inline", "pass"),
        ("  %time f(x)", "  pass"),
        ("!ls", "pass"),
        ("x = !ls", "pass"),
        ("a, b = !ls", "pass"),
        ("y = %time f(2)", "pass"),
        ("f?", "pass"),
        ("?f", "pass"),
        ("np.linalg.svd??", "pass"),
        ("x = 5 % 3", "x = 5 % 3"),
        ("# what?", "# what?"),
        ("f(1) = 2 ?", "f(1) = 2 ?"),
        ("x = '!ls'", "x = '!ls'"),
    ],
)
def test_ipythons_own_lines_become_pass_and_others_stay(line, plain):
    source = (  # not Python, so that every line is looked at
        f"if True:\n    pass\ndef broken(:\n{line}"
    )
    assert without_magics(source)[0].split("\n")[-1] == plain


def test_an_exception_over_one_item_is_its_own_trouble_with_the_traceback_in_the_log(tmp_path):
    guard = Guard(tmp_path)
    assert (
        guard.run("ada", "reading", lambda: 1 // 0) is None
        and guard.run("bo", "reading", lambda: 2) == 2
    )
    assert guard.troubles.keys() == {"ada"} and "ZeroDivisionError" in guard.troubles["ada"]
    assert (
        "Traceback" in (tmp_path / LOG_FILE).read_text()
        and "'ada', reading" in (tmp_path / LOG_FILE).read_text()
    )


def test_what_is_wrong_with_the_machine_ends_the_run():
    def full():
        raise MachineError("no room")

    with pytest.raises(MachineError, match="no room"):
        Guard().run("ada", "reading", full)


def test_a_file_is_written_whole_or_a_sentence_says_what_is_in_the_way(tmp_path):
    write_whole(tmp_path / "deep" / "file.txt", "text")
    assert (tmp_path / "deep" / "file.txt").read_text() == "text" and len(
        list((tmp_path / "deep").iterdir())
    ) == 1
    with pytest.raises(MachineError, match="file.txt.*A file stands where a folder is needed"):
        write_whole(tmp_path / "deep" / "file.txt" / "more", "text")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here: Linux has it")
def test_a_full_disk_is_said_with_the_path_and_the_remedy(tmp_path):
    with (
        pytest.raises(
            MachineError,
            match="grades.csv cannot be written: No space left on device. Make room on that disk",
        ),
        writing(tmp_path / "grades.csv"),
        open("/dev/full", "wb", buffering=0) as file,
    ):
        file.write(b"x")


def test_whether_case_matters_is_asked_of_the_folder(tmp_path):
    (tmp_path / "probe").touch()
    assert tells_case_apart(tmp_path) == (not (tmp_path / "PROBE").exists())

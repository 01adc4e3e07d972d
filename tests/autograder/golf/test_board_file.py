"""The leaderboard's file: when it cannot be written or read, and when two write at once."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from autograder.common.errors import CourseError
from autograder.golf import board as boards
from autograder.golf.board import Submitted, add, check_board, read_board
from autograder.golf.entry import Entry
from autograder.golf.score import RunResult, SeedResult
from course.cli import main
from course.commands import golf


def test_a_board_that_cannot_be_written_is_found_before_training(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(golf, "_scored", lambda *_, **__: pytest.fail("it was trained"))
    (tmp_path / "folder").write_text("a file")
    board = tmp_path / "folder" / "golf.json"
    assert main(["golf", "submit", str(tmp_path / "entry.py"), "--board", str(board)]) == 2
    assert f"{board.parent} cannot be written" in capsys.readouterr().err


def test_entries_that_are_submitted_at_once_are_all_kept(tmp_path, monkeypatch):
    path, read = tmp_path / "golf.json", read_board

    def slow(path):
        found = read(path)
        time.sleep(0.05)  # in which another one reads the same, where nothing keeps it out
        return found

    monkeypatch.setattr(boards, "read_board", slow)
    result = RunResult(1, (SeedResult(1, 2.0, 10, 3.0),))
    runs = [Submitted(f"name {n}", Entry("code", f"x = {n}"), "public", result) for n in range(4)]
    check_board(path)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda one: add(path, one), runs))
    assert sorted(one.name for one in read(path)) == [one.name for one in runs]


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("bits per byte: 2", "it is not JSON"),
        ("[1, 2]", "it is JSON that `course golf submit` did not write"),
        ('{"schema": 1, "runs": [{"name": "a"}]}', "`course golf submit` did not write"),
    ],
)
def test_a_file_that_is_no_leaderboard_is_named_with_what_is_wrong_and_a_remedy(
    tmp_path, text, wrong
):
    path = tmp_path / "golf.json"
    path.write_text(text)
    with pytest.raises(CourseError) as caught:
        read_board(path)
    said = str(caught.value)
    assert f"{path} is not a leaderboard: " in said and wrong in said and "--board" in said
    assert "indices" not in said and "'track'" not in said and "Expecting" not in said


def test_a_folder_in_the_place_of_a_leaderboard_is_named(tmp_path, capsys):
    assert main(["golf", "board", "--board", str(tmp_path)]) == 2
    assert f"{tmp_path} cannot be read: Is a directory" in capsys.readouterr().err

"""The leaderboard's file, when it cannot be written."""

import pytest

from course.cli import main
from course.commands import golf


def test_a_board_that_cannot_be_written_is_found_before_training(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(golf, "_scored", lambda *_, **__: pytest.fail("it was trained"))
    (tmp_path / "folder").write_text("a file")
    board = tmp_path / "folder" / "golf.json"
    assert main(["golf", "submit", str(tmp_path / "entry.py"), "--board", str(board)]) == 2
    assert f"{board.parent} cannot be written" in capsys.readouterr().err

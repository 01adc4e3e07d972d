"""What is written is read back: CSV by the csv module, events by TensorBoard's own reader; lines
and bar on stderr.
"""

import csv
import sys

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from reference_impl.training.logs import Log


def row(step, **more):
    return {
        "step": step,
        "loss": 1 / step,
        "learning_rate": 1e-5 / 3,
        "gradient_norm": 2.5,
        "terms": 10 * step,
        **more,
    }


def write(folder, done, steps, progress=False):
    log = Log(folder, done, 6, progress)
    for step in steps:
        log.add(row(step, accuracy=step / 7) if step % 2 == 0 else row(step))
    log.close()
    return log


def read(path):
    with path.open(newline="") as file:
        return [
            {name: float(value) for name, value in line.items()} for line in csv.DictReader(file)
        ]


def test_rows_are_in_the_csv_files_to_the_last_digit(tmp_path):
    write(tmp_path, 0, range(1, 5))
    assert read(tmp_path / "training.csv") == [row(step) for step in range(1, 5)]
    assert read(tmp_path / "evaluation.csv") == [
        {"step": step, "accuracy": step / 7} for step in (2, 4)
    ]


def test_going_on_from_step_three_leaves_each_step_once_and_gives_the_whole_history(tmp_path):
    write(tmp_path, 0, range(1, 6))
    with (tmp_path / "training.csv").open("a") as file:
        file.write("6,0.1")  # cut off by the end of the process
    log = write(tmp_path, 3, range(4, 7))
    assert [line["step"] for line in read(tmp_path / "training.csv")] == [1, 2, 3, 4, 5, 6]
    assert [line["step"] for line in read(tmp_path / "evaluation.csv")] == [2, 4, 6]
    assert log.history == [
        row(step, accuracy=step / 7) if step % 2 == 0 else row(step) for step in range(1, 7)
    ]


def test_tensorboard_reads_every_value_once_also_after_going_on(tmp_path):
    write(tmp_path, 0, range(1, 6))
    write(tmp_path, 3, range(4, 7))
    events = EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    losses = events.Scalars("training/loss")
    assert [event.step for event in losses] == [1, 2, 3, 4, 5, 6]
    assert [event.value for event in losses] == pytest.approx(
        [1 / step for step in range(1, 7)], rel=1e-6
    )
    assert [event.step for event in events.Scalars("evaluation/accuracy")] == [2, 4, 6]
    assert set(events.Tags()["scalars"]) == {
        "training/loss",
        "training/learning_rate",
        "training/gradient_norm",
        "training/terms",
        "evaluation/accuracy",
    }


def test_evaluation_that_changes_its_names_is_refused_with_both(tmp_path):
    log = Log(tmp_path, 0, 6, False)
    log.add(row(1, accuracy=0.5))
    with pytest.raises(ValueError, match="has columns step, accuracy but the row has step, f1"):
        log.add(row(2, f1=0.5))
    log.close()


def test_away_from_a_terminal_there_are_plain_lines_on_stderr_and_nothing_if_not_wanted(capsys):
    write(None, 0, range(1, 3), progress=True)
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.splitlines() == [
        "step 1 of 6: loss 1",
        "step 2 of 6: loss 0.5, accuracy 0.2857",
    ]
    write(None, 0, range(1, 3))
    assert capsys.readouterr().err == ""


def test_on_a_terminal_a_bar_goes_on_from_where_training_was(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    write(None, 3, range(4, 7), progress=True)
    told = capsys.readouterr().err
    assert "3/6" in told and "6/6" in told
    assert "step 4 of 6" not in told

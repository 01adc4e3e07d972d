"""`bench/gpu.py` rehearsed on a CPU: every path runs, and whatever fails alone costs its own row
and no other.
"""

import copy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))
from bench import gpu  # noqa: E402
from bench.gpu_record import Record, attempt_name  # noqa: E402
from bench.gpu_timing import Bench, Job  # noqa: E402

RIVALS_FROM_ELSEWHERE = (
    "nano-vllm",
    "nanoGPT compiled",
)  # not installed here: their failure is a path of its own


class Quick(Bench):
    """Every side called once; notes the attempts, and fails in one of them if told to."""

    attempts: list[tuple[str, str]] = []
    failing: str | None = None

    def before(self, name):
        super().before(name)
        self.attempts.append((self.part, name))
        if name == self.failing:
            raise RuntimeError("injected")

    def in_turn(self, *sides):
        return [[float(side() is not None) + 1.0] for side in sides]


@pytest.fixture(scope="module")
def rehearsed(tmp_path_factory):
    """The record of all parts, and which attempts each job made."""
    record, attempts = Record(tmp_path_factory.mktemp("record")), {}
    for part, jobs in gpu.PARTS.items():
        Quick.attempts = []
        gpu.run_part(record, part, rehearsal=True, bench_of=Quick)
        names = [name for _, name in Quick.attempts]
        starts = [*(names.index(job.name) for job in jobs), len(names)]
        for job, start, stop in zip(jobs, starts[:-1], starts[1:], strict=True):
            attempts[part, job.name] = names[start:stop]
    return record.data, attempts


def test_every_path_runs_and_is_recorded(rehearsed):
    data, attempts = rehearsed
    assert [e for e in data["errors"] if not e["name"].endswith(RIVALS_FROM_ELSEWHERE)] == []
    assert len(data["errors"]) == 2 and all("there is no" in e["error"] for e in data["errors"])
    assert all(error < gpu.RIGHT for error in data["checks"].values()) and len(data["checks"]) == 20
    assert {row["part"] for row in data["rows"]} == {"flash", "paged", "engine", "training"}
    for (part, job), names in attempts.items():  # our side before any rival of the same name
        for row in data["rows"]:
            if (
                row["part"] == part
                and row["rival"]
                and attempt_name(row["name"], row["rival"]) in names
            ):
                assert names.index(row["name"]) < names.index(
                    attempt_name(row["name"], row["rival"])
                ), job


def test_each_single_failure_costs_its_own_rows_and_is_recorded(rehearsed, tmp_path, monkeypatch):
    clean, attempts = rehearsed
    for (part, job), names in attempts.items():
        monkeypatch.setitem(gpu.PARTS, part, [one for one in gpu.PARTS[part] if one.name == job])
        for name in dict.fromkeys(names):
            record = Record(tmp_path / "again")
            record.data = copy.deepcopy(clean)
            for row in record.data["rows"]:
                row["unit"] = "before"
            monkeypatch.setattr(Quick, "failing", name)
            gpu.run_part(record, part, rehearsal=True, bench_of=Quick)
            injected = [e for e in record.data["errors"] if "injected" in e["error"]]
            assert [(e["part"], e["name"]) for e in injected] == [(part, name)], name
            assert len(record.data["rows"]) == len(clean["rows"])
            assert record.data["checks"].keys() == clean["checks"].keys()
            mine = [
                row
                for row in record.data["rows"]
                if row["part"] == part
                and names.count(attempt_name(row["name"], row["rival"])) + names.count(row["name"])
            ]
            for row in mine:
                lost = name in (job, row["name"], attempt_name(row["name"], row["rival"]))
                assert lost or row["unit"] != "before", (
                    f"{name} failed and took {row['name']} of {row['rival']} along"
                )
            assert Record(tmp_path / "again").data == record.data  # all of it is on the disk
        monkeypatch.undo()


def test_a_process_that_dies_or_hangs_goes_on_with_the_next_job(tmp_path, monkeypatch):
    jobs = [Job(name, lambda bench: None, 1) for name in ("dies", "fine", "hangs", "last")]
    monkeypatch.setitem(gpu.PARTS, "flash", jobs)
    Record(tmp_path).row("engine", {"name": "other", "rival": None, "unit": "s", "ours": 1.0})
    began = []

    def process(command, timeout, check):
        first = int(command[command.index("--from") + 1])
        began.append(first)
        record = Record(tmp_path)
        if not first:
            record.begin("flash")
        if first <= 2:
            record.progress("flash", next=1 if first == 0 else 3)
        if first == 1:
            raise subprocess.TimeoutExpired(command, timeout)
        return subprocess.CompletedProcess(command, {0: -11, 3: 0}[first])

    monkeypatch.setattr(gpu.subprocess, "run", process)
    gpu.run_apart(tmp_path, "flash", rehearsal=True)
    data = Record(tmp_path).data
    assert began == [0, 1, 3]
    assert [(e["name"], e["error"][:26]) for e in data["errors"]] == [
        ("dies", "the process ended with sta"),
        ("hangs", "did not end in 480 s and w"),
    ]
    assert [row["name"] for row in data["rows"]] == ["other"]


def test_time_that_is_over_is_said_and_nothing_is_begun(tmp_path):
    record = Record(tmp_path)
    gpu.run_part(record, "paged", rehearsal=True, seconds=-1)
    assert {e["name"] for e in record.data["errors"]} == {job.name for job in gpu.PARTS["paged"]}
    assert all("the time of this part was over" in e["error"] for e in record.data["errors"])
    assert not record.data["rows"]


def test_each_part_takes_under_eight_minutes_by_plan():
    assert list(gpu.PARTS) == ["checks", "flash", "paged", "engine", "training"]
    assert gpu.PART_SECONDS <= 480
    for part, jobs in gpu.PARTS.items():
        assert sum(job.seconds for job in jobs) <= gpu.PART_SECONDS - gpu.GRACE, part


def test_an_unreadable_record_is_put_aside_and_a_later_run_merges_into_the_last(tmp_path):
    (tmp_path / "gpu.json").write_text('{"rows": [')
    row = {"name": "a", "rival": None, "unit": "s", "ours": 1.0}
    Record(tmp_path).row("flash", row)
    Record(tmp_path).row("paged", row)
    Record(tmp_path).error("flash", "b", ValueError("broken"))
    again = Record(tmp_path)
    again.row("flash", {**row, "ours": 2.0})
    assert [(one["part"], one["ours"]) for one in Record(tmp_path).data["rows"]] == [
        ("flash", 2.0),
        ("paged", 1.0),
    ]
    assert Record(tmp_path).data["errors"] == [
        {"part": "flash", "name": "b", "error": "ValueError('broken')"}
    ]
    assert (tmp_path / "gpu.unreadable.json").exists()


def test_the_command_rehearses_a_part_in_a_process_of_its_own(tmp_path, capfd):
    assert gpu.main(["paged", "--rehearse", "--out", str(tmp_path)]) == 0
    printed = capfd.readouterr().out
    assert "SwiGLU backward" in printed and "0 of 0 checks right" in printed
    with pytest.raises(SystemExit):
        gpu.main(["--rehearse"])
    assert "by --out" in capfd.readouterr().err
    with pytest.raises(SystemExit):
        gpu.main(["pages"])
    assert "there are checks, flash, paged, engine, training" in capfd.readouterr().err

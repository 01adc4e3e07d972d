"""What a training tells while it runs: a row a step, as CSV, for TensorBoard, and on
the screen.

A folder gets `training.csv` (loss, learning rate, gradient norm), `evaluation.csv`
(what evaluation gave) and `tensorboard/`. A training that goes on from a checkpoint
takes away the rows that came after it, which are about to be made again. The bar is for
a terminal, on stderr; elsewhere there are some ten plain lines.

Not here: loggers of services.
"""

import csv
import os
import sys
from pathlib import Path

from tensorboardX import SummaryWriter
from tqdm import tqdm

Row = dict[str, int | float]
COLUMNS = ("step", "loss", "learning_rate", "gradient_norm", "terms")


def _read(path: Path, last_step: int) -> list[Row]:
    """The rows of a file up to this step.

    A line that was cut off by the end of a process is left out.
    """
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        header, *lines = csv.reader(file) if path.stat().st_size else [[]]
    rows = [
        dict(zip(header, map(_number, line)))
        for line in lines
        if len(line) == len(header)
    ]
    return [row for row in rows if row["step"] <= last_step]


def _number(text: str) -> int | float:
    return int(text) if text.lstrip("-").isdigit() else float(text)


class Table:
    """A CSV file that rows are added to; the columns are those of the first row."""

    def __init__(self, path: Path, last_step: int):
        self.path, self.rows = path, _read(path, last_step)
        fresh = path.with_suffix(".new")
        with fresh.open("w", newline="", encoding="utf-8") as file:
            if self.rows:
                writer = csv.writer(file)
                writer.writerow(self.rows[0])
                writer.writerows(row.values() for row in self.rows)
        os.replace(fresh, path)
        self.file = path.open("a", newline="", encoding="utf-8")

    def add(self, row: Row) -> None:
        """Written at once: the process may end at any moment."""
        writer = csv.writer(self.file)
        if not self.rows:
            writer.writerow(row)
        elif self.rows[0].keys() != row.keys():
            raise ValueError(
                f"{self.path} has columns {', '.join(self.rows[0])} but the row has"
                f" {', '.join(row)}"
            )
        self.rows.append(row)
        writer.writerow(row.values())
        self.file.flush()


class Log:
    """All of it. `history` has a row a step, evaluation's values within."""

    def __init__(
        self, folder: Path | str | None, done: int, num_steps: int, progress: bool
    ):
        self.num_steps, self.history, self.tables, self.board = (
            num_steps,
            [],
            None,
            None,
        )
        if folder is not None:
            folder = Path(folder)
            folder.mkdir(parents=True, exist_ok=True)
            self.tables = [
                Table(folder / f"{name}.csv", done)
                for name in ("training", "evaluation")
            ]
            evaluated = {row["step"]: row for row in self.tables[1].rows}
            self.history = [
                row | evaluated.get(row["step"], {}) for row in self.tables[0].rows
            ]
            self.board = SummaryWriter(
                str(folder / "tensorboard"),
                purge_step=done + 1,
                filename_suffix=f".{done:08d}",
            )  # files of one second would share a name
        on_terminal = progress and sys.stderr.isatty()
        self.bar = (
            tqdm(total=num_steps, initial=done, unit="step", file=sys.stderr)
            if on_terminal
            else None
        )
        self.line_every = (
            max(num_steps // 10, 1) if progress and not on_terminal else None
        )

    def add(self, row: Row) -> None:
        """A step's row."""
        self.history.append(row)
        evaluation = {name: value for name, value in row.items() if name not in COLUMNS}
        if self.tables is not None:
            self.tables[0].add({name: row[name] for name in COLUMNS})
            if evaluation:
                self.tables[1].add({"step": row["step"], **evaluation})
        if self.board is not None:
            for name, value in row.items():
                if name != "step":
                    self.board.add_scalar(
                        f"{'evaluation' if name in evaluation else 'training'}/{name}",
                        value,
                        row["step"],
                    )
        self._show(row, evaluation)

    def _show(self, row: Row, evaluation: Row) -> None:
        told = ", ".join(
            f"{name} {value:.4g}"
            for name, value in {"loss": row["loss"], **evaluation}.items()
        )
        if self.bar is not None:
            self.bar.set_postfix_str(told, refresh=False)
            self.bar.update()
        elif self.line_every and (evaluation or row["step"] % self.line_every == 0):
            print(
                f"step {row['step']} of {self.num_steps}: {told}",
                file=sys.stderr,
                flush=True,
            )

    def close(self) -> None:
        """Let go of the files and of the bar's line."""
        for one in (*(table.file for table in self.tables or ()), self.board, self.bar):
            if one is not None:
                one.close()

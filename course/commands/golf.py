"""`course golf`: small language models, ranked by bits per byte on text drawn after submission."""

import argparse
import json
from pathlib import Path

SUMMARY = "score a small language model on text drawn after submission, and keep a leaderboard"
EPILOG = """\
An entry is one file of at most 64,000 bytes (16,000 under zlib). What it leaves after training, the
artefact, has at most 1,000,000 bytes. The score is bits per byte on passages of the pinned corpora
that are drawn after the entry was read and taken out of the training text, or of --text FILE.

Code track, a .py file. It runs in the sandbox, with Python, numpy and torch, on one thread:

  def train(text: bytes, seed: int) -> bytes:
      '''The artefact.'''

  class Predictor:
      def __init__(self, artefact: bytes, passages: int): ...
      def next(self, observed):
          '''Probabilities (passages, 256) of the next byte of each passage. observed: a torch
          tensor (passages,) with the byte that came in each, None before the first.'''

Training has 240 units of processor time and a pass over the passages 60. A unit is the time of a
reference job that runs next to the entry, in a sandbox of its own.

Settings track, a .json file: our code trains a LLaMA for 3e12 counted FLOPs with the settings
{settings}.

In the code track a prediction may use the artefact and at most the 256 bytes before it in its own
passage; in the settings track, the tokens of the trained context. A cache of these bytes is
allowed. State that is carried further, or from one passage to another, is not: start again every
256 bytes, or compute from the last 256. (A sliding KV cache of several layers sees further than its
window.) Each rule is a check that is executed:

{checks}

The leaderboard counts what its keeper ran: `submit` runs three seeds, and an entry that leads is
run again on other passages. Runs of one file are pooled, of several files under one name the last
counts, and entries closer than two standard deviations share a place. Each part takes --json.
Exit codes: 0 a valid entry, 1 a check failed, 2 could not run."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """One parser for each part."""
    parts = parser.add_subparsers(dest="part", metavar="PART", required=True)
    run_part = parts.add_parser("run", help="score an entry here; nothing is stored")
    submit = parts.add_parser("submit", help="score an entry and put it on the leaderboard")
    for one in (run_part, submit):
        one.add_argument("entry", type=Path, metavar="ENTRY", help="a .py or a .json file")
        one.add_argument(
            "--text",
            type=Path,
            default=None,
            metavar="FILE",
            help="draw the passages from this file, which entries never see",
        )
    run_part.add_argument("--seeds", type=int, default=1, metavar="N", help="default: 1")
    submit.add_argument("--name", default="", metavar="NAME", help="default: the file's name")
    board = parts.add_parser("board", help="print the leaderboard")
    for one in (submit, board):
        one.add_argument(
            "--board",
            type=Path,
            default=Path("golf.json"),
            metavar="FILE",
            help="the leaderboard (default: golf.json)",
        )
    parser.epilog = _epilog()
    for one in (run_part, submit, board):
        one.add_argument("--json", action="store_true", help="print JSON")
        one.formatter_class = argparse.RawDescriptionHelpFormatter
        one.epilog = _epilog()


def _epilog() -> str:
    from autograder.golf.rules import CHECKS

    names = "vocab_size, hidden_size, intermediate_size, num_layers, num_heads, num_kv_heads,\n"
    names += "context, batch_size, learning_rate, warmup, weight_decay, schedule"
    checks = "\n".join(f"  {name}: {text}" for name, text in CHECKS.items())
    return EPILOG.format(settings=names, checks=checks)


def run(args: argparse.Namespace) -> int:
    """Exit code 1 where a check failed."""
    from autograder.golf.rules import CHECKS, Invalid

    if args.part == "board":
        return _board(args)
    try:
        return _submit(args) if args.part == "submit" else _run(args)
    except Invalid as failed:
        rule = CHECKS[failed.check]
        if args.json:
            found = {"valid": False, "check": failed.check, "rule": rule, "detail": failed.detail}
            print(json.dumps(found))
        else:
            print(f"not valid  {failed.check}: {failed.detail}\n           {rule}")
        return 1


def _run(args: argparse.Namespace) -> int:
    from dataclasses import replace

    from autograder.common.errors import CourseError

    if not 1 <= args.seeds <= 10:
        raise CourseError(f"--seeds {args.seeds}: give 1 to 10")
    result = _scored(args, lambda rules: replace(rules, seeds=args.seeds))[1]
    if args.json:
        print(json.dumps({"valid": True, "mean": result.mean} | result.to_json()))
    else:
        print(f"score      {result.mean:.4f} bits per byte; every check passed")
    return 0


def _submit(args: argparse.Namespace) -> int:
    from autograder.golf.board import Submitted, add, check_board, checked_name, leads, read_board

    name = checked_name(args.name or args.entry.stem)
    # A file that is no leaderboard, or cannot be written, is found before anything is trained.
    check_board(args.board)
    entry, result, text = _scored(args)
    new = Submitted(name, entry, text.name, result)
    made = [new]
    if leads([*read_board(args.board), new], new):
        if not args.json:
            print(f"{name} leads with {result.mean:.4f}: it is run again on other passages")
        # A leader that breaks a rule in its second run is not on the board with its first.
        made.append(Submitted(name, entry, text.name, _scored(args, entry=entry)[1]))
    for one in made:
        runs = add(args.board, one)
    _print_group(runs, new.group, args.json)
    return 0


def _scored(args: argparse.Namespace, change=lambda rules: rules, entry=None):
    """The entry, its result and the text. The draw comes after the entry was read."""
    import secrets

    from autograder.common.errors import CourseError
    from autograder.golf.entry import read_entry
    from autograder.golf.rules import Rules
    from autograder.golf.sandboxed import Machine
    from autograder.golf.score import check_text, run_entry
    from autograder.sandbox import choose_backend
    from course.commands.validate import backend_at_home

    entry = entry or read_entry(args.entry)
    rules, text = change(Rules()), _text(args.text)
    check_text(text, rules)
    backend = backend_at_home() if args.part == "run" else choose_backend()
    if backend is None:
        raise CourseError("entries run on Linux or macOS: use WSL on Windows")
    machine = Machine(backend, rules)
    shown = _show if not args.json else lambda seed: None
    return entry, run_entry(entry, text, machine, secrets.randbits(64), shown), text


def _text(private: Path | None):
    import hashlib

    from autograder.common.errors import CourseError
    from autograder.golf.passages import public_text
    from autograder.golf.score import Text

    if private is None:
        return Text(public_text())
    try:
        data = private.read_bytes()
    except OSError as error:
        raise CourseError(f"--text {private}: {error.strerror}; give a file of text") from None
    return Text(public_text(), data, f"private {hashlib.sha256(data).hexdigest()[:12]}")


def _show(seed) -> None:
    cost = f"{seed.cost:.2g} FLOPs" if seed.cost > 1e6 else f"{seed.cost:.1f} units"
    size = f"artefact {seed.artefact_bytes:,} bytes"
    print(f"seed       {seed.bits_per_byte:.4f} bits per byte, {size}, training {cost}", flush=True)


def _board(args: argparse.Namespace) -> int:
    from autograder.common.errors import CourseError
    from autograder.golf.board import read_board, standings

    runs = read_board(args.board)
    if not runs:
        raise CourseError(f"{args.board} has no entries yet: `course golf submit ENTRY` adds one")
    groups = sorted({one.group for one in runs})
    if args.json:
        found = [
            {
                "track": group[0],
                "text": group[1],
                "standings": [row.to_json() for row in standings(runs, group)],
            }
            for group in groups
        ]
        print(json.dumps(found, indent=1))
    else:
        for group in groups:
            _print_group(runs, group, False)
    return 0


def _print_group(runs, group: tuple[str, str], as_json: bool) -> None:
    from autograder.golf.board import standings

    rows = standings(runs, group)
    if as_json:
        print(json.dumps([row.to_json() for row in rows], indent=1))
        return
    print(f"{group[0]} track, {group[1]} text: bits per byte, lower is better")
    for row in rows:
        print(
            f"{row.place:>4}  {row.mean:.4f} ± {row.deviation:.4f}  {row.name} ({row.runs} seeds)"
        )

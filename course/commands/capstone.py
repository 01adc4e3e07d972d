"""`course capstone`: make a small chat model from raw text with your own functions."""

import argparse
import json
from pathlib import Path

from autograder.common.errors import CourseError

SUMMARY = "make a small chat model, from raw text to a server, and its report card"
EPILOG = """\
Half an hour on two idle cores. A second call skips the stages that are finished and continues an
interrupted training from its last checkpoint; Ctrl-C is safe at any time.

examples:
  course capstone                   your own functions from mywork/ where they exist
  course capstone --stage tune      stop after this stage
  course capstone --tiny            a minute: a test of the pipeline, not of a model
  course serve mywork/capstone/seed-0/export/ferryman
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which run, how far, and where."""
    from course.capstone.settings import STAGES

    parser.epilog = EPILOG
    parser.add_argument(
        "--seed", type=int, default=0, help="decides initial parameters, order of text and draws"
    )
    parser.add_argument(
        "--stage",
        choices=STAGES,
        default=STAGES[-1],
        help="stop after this stage (default: report, the last)",
    )
    parser.add_argument("--tiny", action="store_true", help="a run of about a minute, for tests")
    parser.add_argument(
        "--device", default="cpu", help="where the model computes: cpu, cuda, or cuda:1"
    )
    parser.add_argument(
        "--folder",
        type=Path,
        help="where the run is kept (default: mywork/capstone/seed-N)",
    )
    parser.add_argument(
        "--reference",
        action="store_true",
        help="use the reference implementation everywhere, not your own functions",
    )
    parser.add_argument("--json", action="store_true", help="print what was made as JSON")


def run(args: argparse.Namespace) -> int:
    """Run the stages that are missing; 0."""
    from autograder.common.course_files import MYWORK
    from course.capstone import pipeline
    from course.capstone.parts import Parts, find_parts
    from course.capstone.settings import FULL, TINY
    from course.capstone.stages import Run
    from reference_impl.corpora import CorpusError
    from reference_impl.training.checkpoint import CheckpointError

    if args.seed < 0:
        raise CourseError(f"--seed is {args.seed}: give 0 or more")
    name = f"seed-{args.seed}{'-tiny' if args.tiny else ''}"
    one = Run(
        args.folder or MYWORK / "capstone" / name,
        args.seed,
        TINY if args.tiny else FULL,
        checked_device(args.device),
        Parts() if args.reference else find_parts(),
    )
    try:
        done = pipeline.run_stages(one, args.stage)
    except (CorpusError, CheckpointError) as error:
        raise CourseError(str(error)) from error
    card, model = one.path("report", "report_card.html"), one.path("export", "ferryman")
    if args.json:
        found = {"folder": str(one.folder), "run": done, "parts": one.parts.rows()}
        print(json.dumps(found | {"report_card": str(card) if card.exists() else None}))
        return 0
    print(f"run: {', '.join(done) or 'nothing, all was finished'}")
    if card.exists():
        print(f"report card: {card}\nserve it:    course serve {model}")
    return 0


def checked_device(device: str) -> str:
    """The device, if torch can compute there. Raises CourseError if not."""
    import torch

    try:
        kind = torch.device(device).type
    except RuntimeError:
        kind = None
    if kind not in ("cpu", "cuda"):
        raise CourseError(f"--device {device}: give cpu, cuda, or a numbered one such as cuda:1")
    if kind == "cuda" and not torch.cuda.is_available():
        raise CourseError(
            f"--device {device}: torch sees no GPU here; leave it out to train on the CPU"
        )
    return device

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
  course capstone --set tune.replay=0 --folder mywork/capstone/no-replay
                                    the same run with one setting changed
  course capstone --notebook mywork/17-capstone.ipynb
                                    write the finished run into your notebook
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
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="STAGE.SETTING=VALUE",
        help="change a setting of the recipe; may be given several times",
    )
    parser.add_argument(
        "--notebook",
        type=Path,
        metavar="NOTEBOOK",
        help="write the finished run into the answer cell of this notebook of chapter 17",
    )
    parser.add_argument("--json", action="store_true", help="print what was made as JSON")


def run(args: argparse.Namespace) -> int:
    """Run the stages that are missing; 0."""
    from autograder.common.course_files import MYWORK
    from course.capstone import pipeline
    from course.capstone.parts import Parts, find_parts
    from course.capstone.report import hand_in
    from course.capstone.settings import FULL, TINY, changed
    from course.capstone.stages import Run
    from reference_impl.corpora import CorpusError
    from reference_impl.training.checkpoint import CheckpointError

    if args.seed < 0:
        raise CourseError(f"--seed is {args.seed}: give 0 or more")
    name = f"seed-{args.seed}{'-tiny' if args.tiny else ''}"
    one = Run(
        args.folder or MYWORK / "capstone" / name,
        args.seed,
        changed(TINY if args.tiny else FULL, args.set),
        checked_device(args.device),
        Parts() if args.reference else find_parts(),
    )
    if args.notebook:
        hand_in.answer_cell(args.notebook)  # a wrong path is reported before anything is trained
    try:
        done = pipeline.run_stages(one, args.stage)
    except (CorpusError, CheckpointError) as error:
        raise CourseError(str(error)) from error
    if args.notebook:
        hand_in.write_cell(args.notebook, hand_in.run_text(one))
    card, model = one.path("report", "report_card.html"), one.path("export", "ferryman")
    if args.json:
        found = {"folder": str(one.folder), "run": done, "parts": one.parts.rows()}
        print(json.dumps(found | {"report_card": str(card) if card.exists() else None}))
        return 0
    print(f"run: {', '.join(done) or 'nothing, all was finished'}")
    if card.exists():
        print(f"report card: {card}\nserve it:    course serve {model}")
    if args.notebook:
        print(f"written to:  {args.notebook}; reload it in Jupyter and run the check")
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

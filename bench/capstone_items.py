"""Write the held-out items that the checks of `the_run` (chapter 17) ask.

    python bench/capstone_items.py [--check]
        a few seconds; with --check nothing is written, and the exit code is 1 if the file is stale

The checks may not import the pipeline, and the text of the corpora is not on every grading machine,
so the items are kept as a module: autograder/chapters/c17_capstone/run_items.py.
"""

import argparse
import random
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from course.capstone import tasks  # noqa: E402
from course.capstone.tokenizer import HELD_OUT_EVERY  # noqa: E402
from reference_impl import corpora  # noqa: E402

TARGET = ROOT / "autograder" / "chapters" / "c17_capstone" / "run_items.py"
WORDS, VERSES, ASKED = 300, 160, (8, 6, 6)
HEAD = '''"""Held-out items of the capstone, written by bench/capstone_items.py: do not edit."""

'''


def wrapped(text: str) -> str:
    """Lines of at most 99 columns."""
    return "\n".join(textwrap.wrap(text, 99, break_long_words=False, break_on_hyphens=False))


def module() -> str:
    """The source of the module."""
    draw = random.Random("the run")
    topics = tasks.held_out_character()
    words = sorted(draw.sample(tasks.short_words(True), WORDS))
    verses = [verse for verse in corpora.load("kjv").split("\n") if verse][7::HELD_OUT_EVERY]
    verses = [" ".join(verse.split()) for verse in draw.sample(verses, VERSES)]
    questions = [one.question for one in draw.sample(topics, ASKED[0])]
    questions += [tasks.reversing(draw, held_out=True).question for _ in range(ASKED[1])]
    questions += [tasks.sums(draw, held_out=True).question for _ in range(ASKED[2])]
    rows = [f'    ("{one.question}", "{one.keyword}"),' for one in topics]
    return "\n".join(
        [
            HEAD + "CHARACTER = (  # question and keyword",
            *rows,
            ")",
            f'WORDS = """\n{wrapped(" ".join(words))}\n""".split()',
            "QUESTIONS = (  # that the engine answers",
            *(f'    "{one}",' for one in questions),
            ")",
            'VERSES = [\n    " ".join(verse.split())\n    for verse in """',
            "\n\n".join(map(wrapped, verses)),
            '""".split("\\n\\n")\n]\n',
        ]
    )


def main() -> None:
    """Write the module, or say whether it is stale."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--check", action="store_true")
    source = module()
    if parser.parse_args().check:
        sys.exit(int(TARGET.read_text(encoding="utf-8") != source))
    TARGET.write_text(source, encoding="utf-8")


if __name__ == "__main__":
    main()

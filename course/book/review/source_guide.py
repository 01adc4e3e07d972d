"""The guide from our files to those of vLLM, SGLang and transformers: chapter 16's page shows it.

    guide("Kernels")                    one topic of book/16-review/source-guide.yml, as a table
    versions()                          {"vllm": "0.33.0", ...}: the releases that were looked at
    python -m course.book.review.source_guide vllm=DIR sglang=DIR
                                        says which files or names are missing in unpacked packages

A cell is a path inside the package and the class or function to look for there.
"""

import importlib.util
import re
import sys
from functools import lru_cache
from html import escape
from pathlib import Path
from typing import Any

import yaml
from IPython.display import HTML

from course.book.pages.records import ROOT, beside
from course.book.review.coverage import address

SYSTEMS = {"vllm": "vLLM", "sglang": "SGLang", "transformers": "transformers"}


@lru_cache
def listed() -> dict[str, Any]:
    """The data file: versions and topics."""
    return yaml.safe_load(beside("16-review/source-guide.yml").read_text(encoding="utf-8"))


def versions() -> dict[str, str]:
    """The release of each system in which the files were looked up."""
    return listed()["versions"]


def release(system: str) -> str:
    """The release of one system; ValueError for a system without one."""
    if system not in versions():
        raise ValueError(f"no release of {system!r} is known; there are: {', '.join(versions())}")
    return versions()[system]


def rows() -> list[dict[str, str]]:
    """All rows of all topics."""
    return [row for topic in listed()["topics"] for row in topic["rows"]]


def guide(topic: str) -> HTML:
    """One topic: what it is, our file, and the files of the others below each other."""
    chosen = next(one for one in listed()["topics"] if one["topic"] == topic)
    body = "".join(
        f'<tr><th scope="row"><a href="{escape(address(row["page"], ""))}">{escape(row["what"])}'
        f"</a></th><td>{_file(row['ours'])}</td><td>{_others(row)}</td></tr>"
        for row in chosen["rows"]
    )
    head = "".join(f'<th scope="col">{name}</th>' for name in ("reference_impl", "the others"))
    return HTML(
        f'<table class="words"><thead><tr><td></td>{head}</tr></thead><tbody>{body}</tbody></table>'
    )


def _others(row):
    found = [f"{label}: {_file(row[key])}" for key, label in SYSTEMS.items() if key in row]
    return "<br>".join(found) or "none"


def _file(cell):
    path, name = cell.split(" ")
    return f"<code>{escape(path).replace('/', '/<wbr>')}</code>, <code>{escape(name)}</code>"


def missing(system: str, folder: Path) -> list[str]:
    """The files and names of one system that the unpacked package below `folder` lacks."""
    return [
        f"{system}: {row[system]}"
        for row in rows()
        if system in row and not _is_there(folder, row[system])
    ]


def _is_there(folder, cell):
    path, name = cell.split(" ")
    file = folder / path
    return file.is_file() and bool(
        re.search(rf"^\s*(?:class|def) {name}\b", file.read_text(encoding="utf-8"), re.M)
    )


def main(arguments: list[str]) -> int:
    """Look into the packages that are named, into ours, and into transformers; 1 if one lacks
    something.
    """
    folders = {"ours": ROOT / "reference_impl"} | {
        name: Path(folder) for name, _, folder in (one.partition("=") for one in arguments)
    }
    if found := importlib.util.find_spec("transformers"):
        folders.setdefault("transformers", Path(found.origin).parent)
    lacking = [line for name, folder in folders.items() for line in missing(name, folder)]
    print("\n".join(lacking) or f"all files of {', '.join(folders)} are there")
    return int(bool(lacking))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""What students hand in, drawn and broken at random: every reader of it must give a value or its
own refusal, quickly.

    python bench/fuzzing.py [--cases 100000] [--no-record]

The cases are shared out among four readers: notebooks (`intake.read_cells`), cells put into ours
(`transplant`), messages from a sandbox (`frames.unpack`) and zips (`archives`). hypothesis draws
each case: a right document with some of its bytes changed, cut, repeated or moved, or one made of
odd parts. A property is asked of whatever is read, so that a reader which gives nonsense is noticed
too. An exception of another kind than the reader's own, a broken property or a case of more than
SLOW seconds of processor time is a finding: it is printed as small as hypothesis can make it, and
the exit code is 1.

It says nothing about what a student's code does when it runs; that is for
tests/autograder/grading/attacks.
"""

import argparse
import io
import json
import resource
import struct
import sys
import time
import traceback
import zipfile
from collections import Counter
from collections.abc import Callable

import nbformat
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from record import save

from autograder.checks.assertions.values import same
from autograder.grading.intake.zip_reader import OF_A_STUDENT, list_members, read_member
from autograder.grading.notebook.merge import MAX_ADDED_CELLS, marks, transplant
from autograder.grading.notebook.parse import (
    MAX_CELL_CHARACTERS,
    MAX_CELLS,
    MAX_TOTAL_CHARACTERS,
    IntakeError,
    SubmittedCell,
    read_cells,
)
from autograder.sandbox.protocol.frames import ProtocolError, pack, unpack

SLOW = 2.0  # seconds of processor time for one case, which takes a millisecond
SEEN: Counter[str] = Counter()  # how the cases ended, by reader
LONGEST: dict[str, float] = {}

odd_text = st.text(max_size=20) | st.sampled_from(
    [
        "%time",
        "!ls",
        "'''",
        '"""',
        "%%bash",
        "\ud800",
        "\0",
        "x = 1",
        "def f(:",
        "\\",
        "?",
        "\u2028",
    ]
)
grade_ids = st.sampled_from(["f", "f-check", "f-card", "setup", "essay", "", "x" * 300]) | odd_text
scalars = st.none() | st.booleans() | st.integers() | st.floats() | odd_text
odd_json = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "cells",
                    "metadata",
                    "nbgrader",
                    "grade_id",
                    "source",
                    "outputs",
                    "text",
                    "data",
                    "cell_type",
                    "worksheets",
                    "input",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


def changes(pieces: st.SearchStrategy) -> st.SearchStrategy:
    """Some edits of bytes: what is done, where, how far, and with what."""
    return st.lists(
        st.tuples(
            st.sampled_from(["put", "insert", "cut", "repeat", "move", "flip"]),
            st.floats(0, 1),
            st.integers(1, 40),
            pieces,
        ),
        max_size=6,
    )


def edited(data: bytes, edits: list) -> bytes:
    """`data` after the edits."""
    for kind, where, length, piece in edits:
        at = int(where * len(data))
        part = data[at : at + length]
        if kind == "put":
            data = data[:at] + piece + data[at + len(piece) :]
        elif kind == "insert":
            data = data[:at] + piece + data[at:]
        elif kind == "cut":
            data = data[:at] + data[at + length :]
        elif kind == "repeat":
            data = data[:at] + part * length + data[at + length :]
        elif kind == "move":
            data = data[:at] + data[at + length :] + part
        elif part:
            data = data[:at] + bytes([part[0] ^ 1 << length % 8]) + data[at + 1 :]
    return data


def a_notebook(*sources: tuple[str, str, str]) -> nbformat.NotebookNode:
    """A pristine notebook with a card, a solution, a check and an essay."""
    cells = []
    for grade_id, kind, source in sources:
        cell = (nbformat.v4.new_markdown_cell if kind == "markdown" else nbformat.v4.new_code_cell)(
            source
        )
        cell.metadata["nbgrader"] = {
            "grade_id": grade_id,
            "solution": grade_id in ("f", "essay"),
            "locked": grade_id not in ("f", "essay"),
            "grade": grade_id.endswith("check"),
            "points": 2,
        }
        cells.append(cell)
    return nbformat.v4.new_notebook(cells=cells)


PRISTINE = a_notebook(
    ("setup", "code", "import math"),
    ("f-card", "markdown", "# f"),
    ("f", "code", "def f():\n    raise NotImplementedError"),
    ("f-check", "code", "check(f)"),
    ("essay", "markdown", "Your answer"),
)
NOTEBOOK = json.dumps(json.loads(nbformat.writes(PRISTINE))).encode()
json_pieces = st.binary(max_size=6) | st.sampled_from(
    [b"[", b"{", b'"', b"\\", b"]", b"}", b",", b"null", b"1e999", b"NaN", b"\\ud800", b'"cells":']
)
notebooks = st.builds(edited, st.just(NOTEBOOK), changes(json_pieces)) | st.builds(
    lambda cells, more: json.dumps({"nbformat": 4, "cells": cells} | more).encode(
        "utf-8", "replace"
    ),
    odd_json,
    st.dictionaries(st.sampled_from(["nbformat", "metadata", "worksheets"]), odd_json, max_size=2),
)


def read_a_notebook(data: bytes) -> str:
    """Cells within the bounds, each of them text that a database and a page can take."""
    try:
        cells = read_cells(data)
    except IntakeError as error:
        assert 5 < len(str(error)) < 400
        return "refused"
    assert (
        len(cells) <= MAX_CELLS and sum(len(cell.source) for cell in cells) <= MAX_TOTAL_CHARACTERS
    )
    for cell in cells:
        assert (
            cell.kind in ("code", "markdown", "raw")
            and "\0" not in cell.source
            and "\r" not in cell.source
        )
        cell.source.encode("utf-8")
    return "read"


odd_cells = st.lists(
    st.builds(
        SubmittedCell,
        st.sampled_from(["code", "markdown", "raw"]),
        st.none() | grade_ids,
        st.lists(odd_text, max_size=6)
        .map("\n".join)
        .map(lambda text: text.encode("utf-8", "replace").decode())
        | st.just("x" * (MAX_CELL_CHARACTERS + 1)),
    ),
    max_size=12,
)
submitted = odd_cells | st.builds(
    lambda source, more: (
        [
            SubmittedCell(
                cell.cell_type,
                marks(cell)["grade_id"],
                source if marks(cell)["grade_id"] == "f" else cell.source,
            )
            for cell in PRISTINE.cells
        ]
        + more
    ),
    odd_text.map(lambda text: text.encode("utf-8", "replace").decode()),
    st.just([]) | odd_cells,
)


def put_cells_in(cells: list[SubmittedCell]) -> str:
    """Ours stay ours, in their order; of theirs comes only what the rules say; the words about it
    stay few.
    """
    work = transplant(PRISTINE, cells)
    ours = [cell for cell in work.notebook.cells if marks(cell)]
    assert [marks(cell) for cell in ours] == [marks(cell) for cell in PRISTINE.cells]
    for mine, theirs in zip(PRISTINE.cells, ours, strict=True):
        assert marks(mine).get("solution") or mine.source == theirs.source
    assert (
        set(work.own) <= {"f", "essay"}
        and len(work.added) <= MAX_ADDED_CELLS
        and sum(map(len, work.ignored)) < 4_000
    )
    assert all(
        piece.grade_id in (None, "f", "setup") and len(piece.source) <= MAX_CELL_CHARACTERS + 100
        for piece in work.pieces
    )
    return "with notes" if work.ignored else "whole"


def _messages() -> list[bytes]:
    import torch

    return [
        pack(value)[8:]
        for value in (
            {"say": "returned", "value": torch.ones(3), "args": [(True, None)], "number": 3},
            [1.5, "x", None, (2, b"b")],
            {1: "a", ("x", 2): [torch.zeros(0, 2), float("nan")]},
        )
    ]


frames_pieces = st.binary(max_size=9) | st.sampled_from(
    [
        b"{",
        b"[",
        b'\\"',
        b'"tensor"',
        b'"dict"',
        b'"pairs"',
        b'"F32"',
        b"999999999",
        b"-1",
        b"null",
        struct.pack("<Q", 2**63),
        struct.pack("<Q", 40),
    ]
)


def with_its_length(body: bytes) -> bytes:
    """The header's true length before it, so that changes inside it are read."""
    at = body.rfind(b"}", 0, 400) + 1
    return struct.pack("<Q", at) + body[:at] + body[at:]


messages = (
    st.builds(edited, st.sampled_from(_messages()), changes(frames_pieces))
    | st.builds(
        with_its_length,
        st.builds(
            edited, st.sampled_from([one[8:] for one in _messages()]), changes(frames_pieces)
        ),
    )
    | st.builds(
        lambda node: with_its_length(
            json.dumps({"__metadata__": {"message": json.dumps(node)}}).encode()
        ),
        odd_json,
    )
)


def unpack_a_message(data: bytes) -> str:
    """A value that can be sent again and comes back the same."""
    try:
        value = unpack(data)
    except ProtocolError:
        return "refused"
    assert same(unpack(pack(value)[8:]), value)
    return "read"


def _zips() -> list[bytes]:
    found = []
    for members in (
        [("91.ipynb", NOTEBOOK)],
        [("a/91.ipynb", NOTEBOOK), ("a/n\u00e4\u00e4.txt", b"x" * 50), ("a/", b"")],
        [("in.zip", NOTEBOOK[:99])],
    ):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in members:
                archive.writestr(name, data)
        found.append(buffer.getvalue())
    return found


zip_pieces = st.binary(max_size=8) | st.sampled_from(
    [
        b"PK\x01\x02",
        b"PK\x03\x04",
        b"PK\x05\x06",
        b"PK\x06\x07",
        b"\xff" * 4,
        b"../",
        b"\0" * 8,
        b"\x08\0",
    ]
)
zips = st.builds(edited, st.sampled_from(_zips()), changes(zip_pieces))


def read_a_zip(data: bytes) -> str:
    """Names as plain parts, at most so many; a member of at most so many bytes."""
    try:
        members = list_members(data, "work.zip")
        assert len(members) <= OF_A_STUDENT.members
        for member in members[:4]:
            assert member.outside or ".." not in member.parts and "/" not in "".join(member.parts)
            assert len(read_member(data, "work.zip", member.key, limit=10_000)) <= 10_000
    except IntakeError as error:
        assert 5 < len(str(error)) < 600
        return "refused"
    return "read"


READERS: dict[str, tuple[st.SearchStrategy, Callable[[object], str]]] = {
    "intake": (notebooks, read_a_notebook),
    "transplant": (submitted, put_cells_in),
    "frames": (messages, unpack_a_message),
    "archives": (zips, read_a_zip),
}


def fuzz(reader: str, cases: int, derandomize: bool = False) -> None:
    """Draw so many cases for one reader. Raises what the smallest finding raises."""
    strategy, ask = READERS[reader]

    @settings(
        max_examples=cases,
        deadline=None,
        database=None,
        derandomize=derandomize,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
        print_blob=False,
    )
    @given(strategy)
    def one(case: object) -> None:
        begun = time.process_time()
        SEEN[f"{reader}: {ask(case)}"] += 1
        taken = time.process_time() - begun
        LONGEST[reader] = max(LONGEST.get(reader, 0.0), taken)
        assert taken < SLOW, f"{taken:.1f} s"

    one()


def main() -> None:
    """Fuzz all readers, say what was found, keep the record."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--no-record", action="store_true")
    arguments = parser.parse_args()
    findings, before = {}, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for reader in READERS:
        begun = time.monotonic()
        try:
            fuzz(reader, arguments.cases // len(READERS))
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            findings[reader] = f"{type(error).__name__}: {error}"[:500]
            traceback.print_exc()
        print(
            f"{reader}: {time.monotonic() - begun:.0f} s,"
            f" { ({k: n for k, n in SEEN.items() if k.startswith(reader)}) }",
            flush=True,
        )
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    if not arguments.no_record:
        save(
            "fuzzing",
            versions=("hypothesis", "torch"),
            cases=sum(SEEN.values()),
            ended=dict(sorted(SEEN.items())),
            findings=findings,
            slowest_case_seconds={reader: round(seconds, 3) for reader, seconds in LONGEST.items()},
            memory_grown_mib=round(grown / 1024),
        )
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()

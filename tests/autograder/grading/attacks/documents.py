"""Odd files: archives, metadata that claims, markup that acts, names that mean something to a
program, text that costs.
"""

import io
import json
import os
import stat
import struct
import zipfile

from tests.autograder.grading.attacks.attack import Attack

NAME = "91-attacked"
FILE = f"{NAME}.ipynb"
HUMAN = "could not be graded"
WRONG = "def double(x):\n    return 0"
RIGHT = "def double(x):\n    return 2 * x"


def zip_of(*members: tuple[str, bytes], **attributes: object) -> bytes:
    """A zip; attributes are set on each member's entry."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members:
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED
            for key, value in attributes.items():
                setattr(info, key, value)
            archive.writestr(info, data)
    return buffer.getvalue()


def patched(data: bytes, signature: bytes, offset: int, value: bytes) -> bytes:
    """The zip with some bytes of its first record of a kind replaced."""
    at = data.index(signature) + offset
    return data[:at] + value + data[at + len(value) :]


def folder(data: bytes, **others: bytes) -> dict[str, bytes]:
    """The notebook and other files in the assignment's folder."""
    return {f"{NAME}/{FILE}": data} | {f"{NAME}/{name}": other for name, other in others.items()}


def changed(notebook: bytes, change: object) -> dict[str, bytes]:
    """The notebook as JSON after `change` has worked on its cells."""
    made = json.loads(notebook)
    result = change(made)
    return folder(json.dumps(result if isinstance(result, dict) else made).encode())


def marked(cell: dict, **marks: object) -> None:
    """Change what a cell's nbgrader metadata says."""
    cell["metadata"]["nbgrader"] |= marks


def zip64_lie(data: bytes) -> bytes:
    """A zip whose end points at a zip64 record that counts four billion members."""
    end = data.rindex(b"PK\x05\x06")
    record = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, 2**32, 2**32, 2**40, 0)
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, end, 1)
    return data[:end] + record + locator + data[end:]


ARCHIVES = [
    Attack("a-bomb", says=HUMAN, entry=lambda make: {".zip": zip_of((FILE, bytes(15 << 20)))}),
    Attack(
        "a-bomb-in-a-zip",
        says=HUMAN,
        entry=lambda make: {".zip": zip_of(("work.zip", zip_of((FILE, bytes(15 << 20)))))},
    ),
    Attack(
        "zips-in-zips",
        says=HUMAN,
        entry=lambda make: {
            ".zip": zip_of(("1.zip", zip_of(("2.zip", zip_of((FILE, make(RIGHT)))))))
        },
    ),
    Attack(
        "paths-that-lead-out",
        says="lead out of the zip",
        entry=lambda make: {
            ".zip": zip_of(
                ("../../../../tmp/owned", b"x"),
                ("/etc/owned", b"x"),
                ("..\\..\\gradebook.db", b"x"),
                ("C:\\x.ipynb", make(RIGHT)),
                (FILE, make(WRONG)),
            )
        },
    ),
    Attack(
        "only-a-path-that-leads-out",
        says=HUMAN,
        entry=lambda make: {".zip": zip_of((f"../../honest-1/{NAME}/{FILE}", make(WRONG)))},
    ),
    Attack(
        "a-link",
        says=HUMAN,
        entry=lambda make: {
            ".zip": zip_of(
                (FILE, b"../honest-1/91-attacked/91-attacked.ipynb"),
                external_attr=(stat.S_IFLNK | 0o777) << 16,
            )
        },
    ),
    Attack(
        "one-name-twice",
        says=HUMAN,
        entry=lambda make: {".zip": zip_of((FILE, make(WRONG)), (FILE, make(RIGHT)))},
    ),
    Attack(
        "says-it-is-small",
        says=HUMAN,
        entry=lambda make: {
            ".zip": patched(
                zip_of((FILE, bytes(5 << 20))), b"PK\x01\x02", 24, struct.pack("<L", 100)
            )
        },
    ),
    Attack(
        "two-names-for-one-member",
        says=HUMAN,
        entry=lambda make: {".zip": patched(zip_of((FILE, make(RIGHT))), b"PK\x03\x04", 30, b"XX")},
    ),
    Attack(
        "encrypted",
        says=HUMAN,
        entry=lambda make: {
            ".zip": patched(
                patched(zip_of((FILE, make(RIGHT))), b"PK\x03\x04", 6, b"\1"),
                b"PK\x01\x02",
                8,
                b"\1",
            )
        },
    ),
    Attack(
        "a-name-that-is-no-text",
        says=HUMAN,
        entry=lambda make: {
            ".zip": patched(
                zip_of(("n\u00e4\u00e4t.ipynb", make(RIGHT))), b"PK\x03\x04", 31, b"\xff"
            )
        },
    ),
    Attack(
        "four-billion-members",
        says=HUMAN,
        entry=lambda make: {".zip": zip64_lie(zip_of((FILE, make(RIGHT))))},
    ),
    Attack(
        "many-members",
        says=HUMAN,
        entry=lambda make: {".zip": zip_of(*((f"{i}.ipynb", b"") for i in range(3_000)))},
    ),
    Attack("cut-off", says=HUMAN, entry=lambda make: {".zip": zip_of((FILE, make(RIGHT)))[:-30]}),
    Attack(
        "a-gradebook",
        says="only the notebook is graded",
        entry=lambda make: {
            ".zip": zip_of(
                (FILE, make(WRONG)),
                ("gradebook.db", b"SQLite format 3\0"),
                ("nbgrader_config.py", b"raise SystemExit"),
                (f"verdicts/{NAME}/x.json", b"{}"),
            )
        },
    ),
]

METADATA = [
    Attack(
        "more-points",
        says="does not double",
        entry=lambda make: changed(
            make(WRONG),
            lambda n: [
                marked(cell, points=100, grade=True, max_score=100, score=100)
                for cell in n["cells"]
            ],
        ),
    ),
    Attack(
        "an-edited-check",
        says="Locked cells were changed",
        entry=lambda make: changed(
            make(WRONG),
            lambda n: [
                cell.update(source="print('fine')")
                for cell in n["cells"]
                if cell["metadata"]["nbgrader"]["grade_id"].endswith("-check")
            ],
        ),
    ),
    Attack(
        "no-check-at-all",
        says="Cells are missing",
        entry=lambda make: changed(
            make(WRONG),
            lambda n: (
                n
                | {
                    "cells": [
                        cell
                        for cell in n["cells"]
                        if not cell["metadata"]["nbgrader"]["grade_id"].endswith("-check")
                    ]
                }
            ),
        ),
    ),
    Attack(
        "many-checks",
        says="occur more than once",
        entry=lambda make: changed(make(WRONG), lambda n: n["cells"].extend(n["cells"][-1:] * 50)),
    ),
    Attack(
        "a-check-as-solution",
        says="does not double",
        entry=lambda make: changed(
            make(WRONG),
            lambda n: [marked(cell, solution=True, locked=False) for cell in n["cells"]],
        ),
    ),
    Attack(
        "graded-by-hand",
        says="does not double",
        entry=lambda make: changed(
            make(WRONG),
            lambda n: [
                marked(cell, task=True, manual_score=3, needs_manual_grade=False, extra_credit=50)
                for cell in n["cells"]
            ],
        ),
    ),
    Attack(
        "outputs-that-claim",
        says="does not double",
        entry=lambda make: changed(
            make(WRONG),
            lambda n: [
                cell.update(
                    outputs=[
                        {
                            "output_type": "execute_result",
                            "data": {"text/plain": ["3.0"], "text/html": "<b>3 of 3</b>"},
                            "metadata": {"nbgrader": {"score": 3}},
                        }
                    ]
                )
                for cell in n["cells"]
            ],
        ),
    ),
    Attack(
        "a-kernel-of-its-own",
        says="does not double",
        entry=lambda make: changed(
            make(WRONG),
            lambda n: n.update(
                metadata={
                    "kernelspec": {
                        "name": "bash",
                        "language": "bash",
                        "argv": ["/bin/sh", "-c", "touch /tmp/owned"],
                    },
                    "nbgrader": {"score": 3},
                }
            ),
        ),
    ),
    Attack(
        "another-format",
        says=("nbformat", HUMAN),
        entry=lambda make: changed(make(RIGHT), lambda n: {"nbformat": 99, "notebook": n}),
    ),
    Attack(
        "cells-twice",
        says="does not double",
        entry=lambda make: folder(
            make(WRONG).replace(b'"nbformat": 4', b'"nbformat": 4, "cells": [], "nbformat": 4', 1)
        ),
    ),
    Attack(
        "numbers-that-are-none",
        says=("does not double", HUMAN),
        entry=lambda make: folder(
            make(WRONG).replace(
                b'"nbformat_minor": 5', b'"nbformat_minor": -Infinity, "score": NaN, "big": 1e999'
            )
        ),
    ),
    Attack(
        "too-deep",
        says="nested",
        entry=lambda make: folder(b'{"cells": ' + b'[{"metadata":' * 50_000),
    ),
    Attack(
        "a-wrong-alphabet",
        says=HUMAN,
        entry=lambda make: folder(make(RIGHT).decode().encode("utf-16")),
    ),
    Attack(
        "somebody-elses",
        says="not clear which one counts",
        entry=lambda make: folder(make(WRONG), **{f"honest-1/{FILE}": make(RIGHT)}),
    ),
]

SCRIPT = "<script>document.title='owned'</script><img src=x onerror=alert(1)>"
MARKUP = [
    Attack(
        "a-script-in-an-error", f'def double(x):\n    raise ValueError("{SCRIPT}")\n', "ValueError"
    ),
    Attack(
        "a-script-in-a-kind",
        f'def double(x):\n    raise type("{SCRIPT}", (Exception,), {{}})("x")\n',
        "owned",
    ),
    Attack(
        "a-script-in-an-answer",
        f'def double(x):\n    return "{SCRIPT}"\n',
        "type str; an int was asked for",
    ),
    Attack("a-script-in-a-comment", f"# </pre></code>{SCRIPT}\n{WRONG}\n"),
    Attack(
        "a-script-in-text",
        says="does not double",
        entry=lambda make: changed(
            make(WRONG),
            lambda n: n["cells"].append(
                {
                    "cell_type": "markdown",
                    "source": (
                        f"{SCRIPT}\n\n[x](javascript:alert(1)) <iframe srcdoc='{SCRIPT}'></iframe>"
                    ),
                    "metadata": {},
                }
            ),
        ),
    ),
    Attack(
        "a-script-in-a-grade-id",
        says="does not double",
        entry=lambda make: changed(
            make(WRONG),
            lambda n: n["cells"].append(
                {
                    "cell_type": "code",
                    "source": f"x = '''{SCRIPT}'''",
                    "metadata": {"nbgrader": {"grade_id": f"{SCRIPT}", "solution": True}},
                }
            ),
        ),
    ),
    Attack(
        "a-script-in-a-file-name",
        says="only the notebook is graded",
        entry=lambda make: folder(make(WRONG), **{"<script>owned<script>.png": b"x"}),
    ),
    Attack(
        "a-formula",
        "def double(x):\n    raise ValueError(\"=HYPERLINK('http://127.0.0.1')\")\n",
        "ValueError",
    ),
    Attack(
        "a-terminals-commands",
        "def double(x):\n    raise"
        ' ValueError("\\x1b]0;owned\\x07\\x1b[2J\\x9b31m\\u202e\\u0000")\n',
        "ValueError",
    ),
    Attack(
        "a-template",
        'def double(x):\n    raise ValueError("{{ 7 * 7 }} {% raw %} ${jndi:x} %s %n'
        ' {0.__class__}")\n',
        "ValueError",
    ),
    Attack(
        "half-a-letter",
        'def double(x):\n    raise ValueError("\\ud800" + chr(0xdfff))\n',
        "ValueError",
    ),
]

NAMES = [
    Attack(f"name-{number}", f"{WRONG}\n", called=name)
    for number, name in enumerate(
        [
            "'; DROP TABLE student; --",
            "$(touch owned)",
            "=cmd|' C'!A0",
            "{0.__class__}%s%n",
            "-rf",
            "a\nb\tc",
            "con",
            "...",
            "\u202eegami",
            "<script>owned<script>",
            "x" * 200,
            "verdicts",
            "gradebook.db",
            "null",
            "A\u030angstro\u0308m",
            "~root",
            "*",
            "\u0130stanbul",
        ]
    )
]

COSTLY_TEXT = [
    Attack("quotes-without-end", "!" + "'" * 50_000 + "\n" + WRONG),
    Attack(
        "magics-by-the-thousand",
        "\n".join(["%x " + "\\" * 15] * 3_000) + "\n" + WRONG,
        ("does not double", "Magics"),
    ),
    Attack("three-quotes-each-line", '"""' * 15_000 + "\n" + WRONG, "does not double"),
    Attack(
        "minus-signs",
        WRONG + "\ny = " + "-" * 40_000 + "1\n",
        ("does not double", "Error", "stopped"),
    ),
    Attack(
        "parentheses",
        WRONG + "\ny = " + "(" * 20_000 + ")" * 20_000 + "\n",
        ("does not double", "Error", "its cell did not run"),
    ),
    Attack(
        "attributes-in-a-row",
        WRONG + "\ny = a" + ".b" * 25_000 + "\n",
        ("does not double", "Error", "stopped"),
    ),
    Attack("a-line-without-end", WRONG + "\n# " + "=" * 55_000 + "\n"),
    Attack("a-cell-that-is-too-long", WRONG + "\n# " + "x" * 70_000, "longer than what is read"),
    Attack(
        "blocks-in-blocks",
        "\n".join(" " * depth + "if 1:" for depth in range(200)) + "\n" + WRONG,
        "Error",
    ),
    Attack(
        "a-comprehension-in-itself",
        WRONG + "\ny = " + "[" * 150 + "1" + " for _ in [1]]" * 150 + "\n",
        ("does not double", "Error"),
    ),
    Attack(
        "a-comprehension-of-constants",
        WRONG + "\ny = " + "((((((9**9)**9)**9)**9)**9)**9)\n",
        ("does not double", "stopped", "seconds"),
        dear=True,
    ),
    Attack(
        "many-cells",
        says=HUMAN,
        entry=lambda make: changed(
            make(RIGHT),
            lambda n: n["cells"].extend(
                {"cell_type": "code", "source": "1", "metadata": {}} for _ in range(5_000)
            ),
        ),
    ),
    Attack(
        "twenty-megabytes", says=HUMAN, entry=lambda make: folder(make(RIGHT) + b" " * (21 << 20))
    ),
    Attack(
        "unfinished-strings",
        says=HUMAN,
        entry=lambda make: folder(b'{"cells": [' + b'"\\' * 4_000_000),
    ),
]


def special_files(student: str) -> Attack:
    """Files that are none: a pipe, a link, a folder in the notebook's place.

    They are made where the class lies.
    """
    return Attack(student, says=HUMAN, entry=lambda make: {f"{NAME}/{FILE}": b""})


SPECIAL = {
    "a-pipe": os.mkfifo,
    "a-link-to-the-neighbour": lambda path: os.symlink(f"../../honest-1/{NAME}/{FILE}", path),
    "a-link-to-a-device": lambda path: os.symlink("/dev/zero", path),
    "a-folder": os.mkdir,
    "a-link-to-itself": lambda path: os.symlink(FILE, path),
    "a-sparse-notebook": lambda path: (path.touch(), os.truncate(path, 1 << 40)),
}

FAMILIES = {
    "archives": ARCHIVES,
    "metadata": METADATA,
    "markup": MARKUP,
    "names": NAMES,
    "costly text": COSTLY_TEXT,
    "files that are none": [special_files(name) for name in SPECIAL],
}

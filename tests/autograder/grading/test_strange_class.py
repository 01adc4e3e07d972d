"""Classes as strangers lay them out: odd names, odd archives, hostile notebooks; each entry is
graded or named.

Each entry stands beside what must become of it: its points, "human" (it waits, with a reason), or
"left" (it is named as nobody's). The classes are graded by the command, as an instructor would.
"""

import csv
import io
import json
import os
import stat
import unicodedata
import zipfile

import pytest

from autograder.classroom.grade_class import grade_class

pytestmark = pytest.mark.sandbox
NAME = "90-stand-in"
FILE = f"{NAME}.ipynb"


def zip_of(*members, **attributes):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members:
            info = zipfile.ZipInfo(name)
            for key, value in attributes.items():
                setattr(info, key, value)
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, data)
    return buffer.getvalue()


def cells(*sources, **more):
    return json.dumps(
        {
            "nbformat": 4,
            "nbformat_minor": 5,
            "metadata": {},
            "cells": [
                {
                    "cell_type": "code",
                    "source": source,
                    "metadata": {"nbgrader": {"grade_id": grade_id}} if grade_id else {},
                }
                for grade_id, source in sources
            ],
        }
        | more
    ).encode()


def own_class(notebook_of):
    """Our own layouts: (entry, {path: bytes}, what must become of it)."""
    right, local = notebook_of(), zip_of(("nätbook.ipynb", b"X"))
    broken_header = bytearray(local)
    broken_header[local.index("nätbook".encode()) + 1] = 0xFF
    encrypted = bytearray(zip_of((FILE, right)))
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        encrypted[encrypted.index(signature) + offset] |= 1
    old = json.dumps(
        {
            "nbformat": 3,
            "worksheets": [
                {
                    "cells": [
                        {
                            "cell_type": "code",
                            "input": "def double(x): return 2 * x",
                            "metadata": {"nbgrader": {"grade_id": "double"}},
                        }
                    ]
                }
            ],
        }
    ).encode()

    def folder(data, name=FILE):
        return {f"{NAME}/{name}": data}

    return [
        ("ada", folder(right), 3),
        ("ADA", folder(right), 3),
        ("ada.", folder(right), 3),
        ("ada ", folder(right), 3),
        (unicodedata.normalize("NFD", "Zoë Ünal"), folder(right), 3),
        ("张伟", folder(right), 3),
        ("नेहा", folder(right), 3),
        ("\U00020000" * 60, folder(right), 3),
        ("CON", folder(right), 3),
        ("-rf", folder(right), 3),
        ("a\nb", folder(right), 3),
        ("<b>x", folder(right), 3),
        ("=1+1", folder(right), 3),
        ("...", folder(right), 3),
        ("O'Neil, Pat", folder(right), 3),
        ("a*[b]?", folder(right), 3),
        (NAME, folder(right), 3),
        ("\u202eeve", folder(right), 3),
        ("%s{x}", folder(right), 3),
        ('say "hi"', folder(right), 3),
        ("a&b;c", folder(right), 3),
        ("flat", {FILE: right}, 3),
        ("upper", folder(right, f"{NAME}.IPYNB"), 3),
        ("bom", folder(b"\xef\xbb\xbf" + right), 3),
        ("oldformat", folder(old), 3),
        ("checkpoints", folder(right) | {f"{NAME}/.ipynb_checkpoints/{FILE}": b"x"}, 3),
        ("apple", folder(right) | {f"{NAME}/._{FILE}": b"x"}, 3),
        ("stamp", folder(right) | {f"{NAME}/timestamp.txt": b"\xff" * 9999}, 3),
        ("backslash.zip", zip_of((f"me\\{FILE}", right)), 3),
        ("outside.zip", zip_of(("../../x", b"x"), (FILE, right)), 3),
        (
            "halves",
            folder(
                cells(
                    ("double", "def double(x):\n    return x + abs(x)"),
                    (None, "\ud800\0" + "x = 1"),
                )
            ),
            1,
        ),
        ("deletes", folder(cells(("double", "import os\ndef double(x):\n    os._exit(0)"))), 0),
        (
            "missing",
            folder(
                cells(("double", "import a_package_that_is_nowhere\ndef double(x):\n    return 0"))
            ),
            "human",
        ),
        ("header.zip", bytes(broken_header), "human"),
        ("empty.zip", b"", "human"),
        ("none.zip", zip_of(), "human"),
        ("bomb.zip", zip_of((FILE, b"0" * 10_000_000)), "human"),
        ("crypt.zip", bytes(encrypted), "human"),
        ("inner.zip", zip_of(("work.zip", zip_of((FILE, right)))), "human"),
        ("cut.zip", zip_of((FILE, right))[:-25], "human"),
        (
            "linked.zip",
            zip_of((FILE, b"/etc/passwd"), external_attr=(stat.S_IFLNK | 0o777) << 16),
            "human",
        ),
        ("twice", folder(right) | {f"{NAME}/copy.ipynb": right}, "human"),
        ("both", folder(right), "human"),
        ("both.zip", zip_of((FILE, right)), "human"),
        ("nothing", {f"{NAME}/": None}, "human"),
        ("bare", {"": None}, "human"),
        ("zero", folder(b""), "human"),
        ("large", folder(b" " * 21_000_000), "human"),
        ("deep", folder(b'{"a":' + b"[" * 9999), "human"),
        ("latin", folder(right.replace(b"Double", "Döuble".encode("latin-1"))), "human"),
        ("wide", folder(right.decode().encode("utf-16")), "human"),
        ("numbers", folder(b'{"nbformat": 4, "cells": [1, 2]}'), "human"),
        ("list", folder(b"[]"), "human"),
        ("many", folder(cells(*[(None, "x")] * 5000)), "human"),
        ("other", folder(cells(*[(f"q{i}", "x") for i in range(9)])), "human"),
        ("pdf", folder(b"%PDF", "essay.pdf"), "human"),
        ("slow", folder(cells(("double", "def f(:\n" + "a," * 29_000))), "human"),
        ("notes.txt", b"x", "left"),
        (FILE, right, "left"),
        ("week2", {"91-other/91-other.ipynb": right}, "left"),
        (".hidden", b"x", "left"),
    ]


def put(where, entries):
    for entry, content, _ in entries:
        for inner, data in ({None: content} if isinstance(content, bytes) else content).items():
            path = where / entry if inner is None else where / entry / inner
            path.parent.mkdir(parents=True, exist_ok=True)
            path.mkdir(exist_ok=True) if data is None else path.write_bytes(data)


def outcome(summary):
    """By name as it was handed over: points, "human" or "left"."""
    with summary.grades.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    names = [row["name"].removeprefix("'") for row in rows]
    keys = [
        f"{name} {row['lms_id']}" if names.count(name) > 1 else name
        for name, row in zip(names, rows, strict=True)
    ]
    found = {
        key: (
            float(row["total"])
            if row["total"] and not row["needs_human"]
            else "human"
            if row["needs_human"]
            else "?"
        )
        for key, row in zip(keys, rows, strict=True)
    }
    report = summary.report.read_text(encoding="utf-8")
    assert len(found) == len(rows) == summary.submissions and "<b>x" not in report
    assert all(any(entry in line for line in summary.lines()) for entry in summary.left_out)
    return found | dict.fromkeys(summary.left_out, "left")


def test_sixty_odd_entries_of_our_own_layouts_are_each_graded_or_named(
    stand_in, notebook_of, new_root, tmp_path
):
    entries = own_class(notebook_of)
    put(tmp_path / "in", entries)
    (tmp_path / "in" / "link").symlink_to("/etc")
    (tmp_path / "in" / "pipe" / NAME).mkdir(parents=True)
    os.mkfifo(tmp_path / "in" / "pipe" / NAME / FILE)
    found = outcome(
        grade_class(
            tmp_path / "in", "90", new_root(tmp_path / "course"), tmp_path / "report", jobs=2
        )
    )
    wanted = {"link": "human", "pipe": "human"}
    for entry, _, fate in entries:
        name = unicodedata.normalize("NFC", entry)
        wanted[
            "".join(
                "\ufffd" if letter in "\n\u202e" else letter for letter in name.removesuffix(".zip")
            )
        ] = fate
    assert len(entries) >= 60
    assert {
        name: (fate, found.get(name)) for name, fate in wanted.items() if found.get(name) != fate
    } == {}
    assert set(found) == set(wanted)


def test_a_moodle_zip_and_a_canvas_folder_are_each_graded_or_named(
    stand_in, notebook_of, new_root, tmp_path
):
    right, moodle = notebook_of(), "{}_{}_assignsubmission_file_"
    files = [
        (f"{moodle.format('Anna Müller', 1)}/{FILE}", right),
        (f"{moodle.format('Anna Müller', 2)}/{FILE}", right),
        (f"{moodle.format('Group A-Zoë', 3)}{FILE}", right),
        (f"{moodle.format(chr(0x20000) * 80, 4)}/{FILE}", right),
        (f"{moodle.format('Cy', 5)}/a.ipynb", right),
        (f"{moodle.format('Cy', 5)}/b.ipynb", right),
        (f"{moodle.format('Dee', 6)}/work.zip", zip_of((FILE, right))),
        (f"{moodle.format('Empty', 7)}/", b""),
        ("Eve_8_assignsubmission_onlinetext_/onlinetext.html", b"x"),
        ("../../evil.ipynb", right),
        ("readme.txt", b"x"),
    ]
    (tmp_path / "Kurs-90-1234.zip").write_bytes(zip_of(*files))
    found = outcome(
        grade_class(
            tmp_path / "Kurs-90-1234.zip",
            "90",
            new_root(tmp_path / "m"),
            tmp_path / "m" / "report",
            jobs=2,
        )
    )
    long = "\U00020000" * 80
    assert found == {
        "Anna Müller 1": 3,
        "Anna Müller 2": 3,
        "Group A-Zoë": 3,
        long: 3,
        "Cy": "human",
        "Dee": 3,
        "Empty": "human",
        "Eve": "human",
        "../../evil.ipynb": "left",
        "readme.txt": "left",
    }
    put(
        tmp_path / "canvas",
        [
            (name, data, None)
            for name, data in (
                (f"smithbob_LATE_102_9002_{NAME}-1.ipynb", right),
                (f"müllerzoë_103_9003_{FILE}", right),
                (f"leeann_104_9004_{FILE}", right),
                (f"leeann_104_9005_{NAME}-1.ipynb", right),
                (f"anon_x7Yz_9006_{FILE}", right),
                ("coxpat_105_9007_work.zip", b"no zip"),
                ("roeal_106_text.html", b"x"),
            )
        ],
    )
    found = outcome(
        grade_class(
            tmp_path / "canvas", "90", new_root(tmp_path / "c"), tmp_path / "c" / "report", jobs=2
        )
    )
    assert found == {
        "smithbob": 3,
        "müllerzoë": 3,
        "leeann": "human",
        "anon_x7Yz": 3,
        "coxpat": "human",
        "roeal": "human",
    }

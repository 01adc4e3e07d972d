"""Folders and zips of submissions, friendly and not."""

import io
import os
import re
import stat
import struct
import zipfile

import pytest

from autograder.common.errors import CourseError
from autograder.grading.intake.discovery import Submission
from autograder.grading.intake.discovery import find_submissions as find_all
from autograder.grading.intake.zip_reader import list_members
from autograder.grading.notebook.parse import IntakeError

NAME = "01-static-embeddings"
FILE = f"{NAME}.ipynb"


def hand_in(root, student, name=FILE, data=b"{}"):
    path = root / student / NAME / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def zipped(path, *members, method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return path


def find_submissions(root, name, **options):
    return find_all(root, name, **options).submissions


def only(root):
    (found,) = find_submissions(root, NAME)
    return found


def test_nbgraders_folders_are_found_by_student(tmp_path):
    hand_in(tmp_path, "bo", data=b"B")
    hand_in(tmp_path, "ada", data=b"A")
    (tmp_path / "notes.txt").write_text("not a student")
    assert [(one.student, one.read()) for one in find_submissions(tmp_path, NAME)] == [
        ("ada", b"A"),
        ("bo", b"B"),
    ]
    assert list(find_all(tmp_path, NAME).left_out) == ["notes.txt"]


def test_a_folder_without_submissions_says_what_was_expected(tmp_path):
    with pytest.raises(CourseError, match="no submission of 01-static-embeddings here"):
        find_submissions(tmp_path, NAME)
    with pytest.raises(CourseError, match="no such folder"):
        find_submissions(tmp_path / "nowhere", NAME)


def test_other_files_are_left_out_by_name(tmp_path):
    hand_in(tmp_path, "ada")
    hand_in(tmp_path, "ada", "torch.py")
    assert "torch.py" in only(tmp_path).notes[0]


def test_a_notebook_under_another_name_is_taken_when_it_is_the_only_one(tmp_path):
    hand_in(tmp_path, "ada", "mine.ipynb", b"X")
    assert only(tmp_path).read() == b"X" and "mine.ipynb" in only(tmp_path).notes[0]


@pytest.mark.parametrize(
    "other",
    [
        "two.ipynb",
        "01-static-embeddings-Copy1.ipynb",
        "01-static-embeddings (1).ipynb",
        f"{'long-' * 30}end.ipynb",
    ],
)
def test_two_notebooks_of_one_student_need_a_human(tmp_path, other):
    hand_in(tmp_path, "ada")
    hand_in(tmp_path, "ada", other)
    with pytest.raises(
        IntakeError,
        match=f"2 notebooks and it is not clear which one counts.*{re.escape(other[-20:])}",
    ):
        only(tmp_path).read()


@pytest.mark.parametrize(
    "where", [FILE, f"{NAME} (1)/{FILE}", f"{NAME.upper()}/{FILE}", f"old/{FILE}", "work.zip"]
)
def test_a_second_notebook_beside_the_assignments_folder_needs_a_human(tmp_path, where):
    (tmp_path / "ada" / where).parent.mkdir(parents=True)
    zipped(tmp_path / "ada" / where, (FILE, b"{}"))
    hand_in(tmp_path, "ada")
    assert "2 notebooks and it is not clear" in only(tmp_path).problem


def test_the_folders_of_other_assignments_are_not_the_students_work_in_this_one(tmp_path):
    hand_in(tmp_path, "ada")
    (tmp_path / "ada" / "02-other").mkdir()
    (tmp_path / "ada" / "02-other" / "02-other.ipynb").write_bytes(b"{}")
    [one] = find_submissions(tmp_path, NAME, others=("02-other",))
    assert one.read() == b"{}" and one.notes == ()


def test_a_stray_notebook_in_a_download_hides_nobody(tmp_path):
    (tmp_path / "download" / "Anna_1_assignsubmission_file_").mkdir(parents=True)
    (tmp_path / "download" / "Anna_1_assignsubmission_file_" / FILE).write_bytes(b"A")
    (tmp_path / "download" / FILE).write_bytes(b"mine")
    found = find_all(tmp_path, NAME)
    assert [(one.student, one.read()) for one in found.submissions] == [
        ("Anna", b"A")
    ] and FILE in found.left_out
    hand_in(tmp_path, "bo")
    found = find_all(tmp_path, NAME)
    assert [one.student for one in found.submissions] == [
        "bo"
    ] and "give that folder itself" in found.left_out["download"]


@pytest.mark.parametrize(
    "left_behind", [".DS_Store", f".ipynb_checkpoints/{FILE}", f"{NAME}/.DS_Store"]
)
@pytest.mark.parametrize("packed", [False, True])
def test_a_student_whose_folder_holds_nobodys_work_is_named(tmp_path, left_behind, packed):
    where = (
        zipped(tmp_path / "class.zip", (f"ada/{left_behind}", b"x"), (f"bo/{FILE}", b"B"))
        if packed
        else tmp_path
    )
    if not packed:
        (tmp_path / "ada" / left_behind).parent.mkdir(parents=True)
        (tmp_path / "ada" / left_behind).write_bytes(b"x")
        hand_in(tmp_path, "bo")
    ada, bo = find_submissions(where, NAME)
    assert (ada.student, ada.problem, bo.student) == ("ada", "the folder is empty", "bo")


def test_a_huge_file_is_refused_without_reading_it(tmp_path):
    with (tmp_path / "ada.zip").open("wb") as file:
        file.truncate(1 << 42)  # four TiB of nothing
    assert (
        "at most" in only(tmp_path).problem
        and only(tmp_path).identity() == only(tmp_path).identity()
    )


def test_a_notebook_of_another_assignment_beside_it_is_left_out_and_said(tmp_path):
    hand_in(tmp_path, "ada", data=b"A")
    hand_in(tmp_path, "ada", "02-bpe.ipynb")
    (found,) = find_submissions(tmp_path, NAME, others=("02-bpe",))
    assert found.read() == b"A" and "another assignment" in found.notes[0]


MOODLE = "{}_{}_assignsubmission_file_"


@pytest.fixture
def platform(tmp_path):
    """Writes files as a platform's download has them, as a folder or a zip of it."""

    def make(layout, *files):
        if layout == "folder":
            for name, data in files:
                path = tmp_path / "class" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
            return tmp_path / "class"
        return zipped(tmp_path / "Course-01-123.zip", *files)

    return make


@pytest.mark.parametrize("layout", ["folder", "zip"])
@pytest.mark.parametrize("wrap", ["", "Kurs/Abgabe 1/"])
def test_moodles_download_is_read_in_folders_and_flat(platform, layout, wrap):
    anna, bo = MOODLE.format("Anna Müller", 123456), MOODLE.format("Bo O'Neil-Ng", 7)
    where = platform(layout, (f"{wrap}{anna}/{FILE}", b"A"), (f"{wrap}{bo}{FILE}", b"B"))
    found = find_submissions(where, NAME)
    assert [(one.name, one.lms_id, one.read()) for one in found] == [
        ("Anna Müller", "123456", b"A"),
        ("Bo O'Neil-Ng", "7", b"B"),
    ]
    assert found[0].student == "Anna Müller"


@pytest.mark.parametrize(
    ("name", "student", "number", "late"),
    [
        ("smith_bob_LATE_102_9002_{}", "smith_bob", "102", True),
        ("o_neil_ng_7_9_{}", "o_neil_ng", "7", False),
        ("LATE_anon_x7Yz1_9004_{}", "anon_x7Yz1", "x7Yz1", True),
        ("anon_12345_LATE_678_{}", "anon_12345", "12345", True),
        ("anon_77_678_{}", "anon_77", "77", False),
        ("team_1_LATE_102_9002_{}", "team_1", "102", True),
        ("smithbob_102_9002_03_{}", "smithbob", "102", False),
        ("leeann_10640000001234567_106400000000999_{}", "leeann", "10640000001234567", False),
        ("LATE_smith_bob_102_9002_LATE_{}", "smith_bob", "102", True),
        ("_102_9002_{}", "102", "102", False),
    ],
)
def test_canvas_names_may_have_underscores_in_them_and_late_before_the_numbers(
    platform, name, student, number, late
):
    """As Canvas's ContentZipper#get_filename joins name, LATE and number, and keeps each word
    character of a name.
    """
    (found,) = find_all(platform("folder", (name.format(FILE), b"B")), NAME).submissions
    assert (found.name, found.lms_id, found.late, found.read()) == (student, number, late, b"B")


def test_a_text_that_canvas_has_in_the_place_of_a_file_is_its_students(platform):
    found = {
        one.name: one
        for one in find_submissions(
            platform(
                "folder", ("smith_bob_LATE_102_text.html", b"x"), (f"leeann_103_9003_{FILE}", b"L")
            ),
            NAME,
        )
    }
    assert (
        "there is no notebook" in found["smith_bob"].problem
        and found["smith_bob"].late
        and not found["leeann"].problem
    )


@pytest.mark.parametrize(
    "name",
    [
        "report_2026_03_01.ipynb",
        "my_work_2026_12_24.ipynb",
        "smith_bob_102.ipynb",
        "a_b.ipynb",
        "smith_bob_01_02_x.ipynb",
    ],
)
def test_dates_and_single_numbers_are_not_taken_for_canvas_numbers(platform, name):
    found = find_all(platform("folder", (name, b"x"), (f"leeann_103_9003_{FILE}", b"L")), NAME)
    assert [one.name for one in found.submissions] == ["leeann"] and list(found.left_out) == [name]


@pytest.mark.parametrize("layout", ["folder", "zip"])
def test_canvas_download_is_read_with_late_attempts_and_anonymous_names(platform, layout):
    where = platform(
        layout,
        (f"smithbob_LATE_102_9002_{NAME}-1.ipynb", b"B"),
        (f"müllerzoë_103_9003_{FILE}", b"Z"),
        (f"anon_x7Yz_LATE_9004_{NAME}-3.ipynb", b"X"),
        ("doejane_104_9005_work.zip", zip_of((FILE, b"J"))),
    )
    found = {one.student: one for one in find_submissions(where, NAME)}
    assert {name: (one.lms_id, one.late, one.read()) for name, one in found.items()} == {
        "smithbob": ("102", True, b"B"),
        "müllerzoë": ("103", False, b"Z"),
        "anon_x7Yz": ("x7Yz", True, b"X"),
        "doejane": ("104", False, b"J"),
    }
    assert found["smithbob"].notes == ("Your platform marked it as late.",)


def test_two_files_of_one_canvas_student_need_a_human(platform):
    where = platform(
        "folder", (f"smithbob_102_9002_{FILE}", b"B"), (f"smithbob_102_9003_{NAME}-1.ipynb", b"C")
    )
    (found,) = find_submissions(where, NAME)
    assert "2 notebooks" in found.problem


def test_students_of_one_name_are_told_apart_by_number_and_the_first_keeps_the_name(platform):
    where = platform(
        "folder",
        (f"{MOODLE.format('Anna Müller', 1)}/{FILE}", b"1"),
        (f"{MOODLE.format('Anna Müller', 2)}/{FILE}", b"2"),
    )
    assert {one.student: one.read() for one in find_submissions(where, NAME)} == {
        "Anna Müller_1": b"1",
        "Anna Müller_2": b"2",
    }
    later = find_submissions(where, NAME, known={"Anna Müller": "2"})
    assert {one.student: one.read() for one in later} == {
        "Anna Müller_1": b"1",
        "Anna Müller": b"2",
    }


def test_moodle_files_that_are_no_notebook_leave_the_student_to_a_human(platform):
    anna = MOODLE.format("Anna Müller", 1)
    where = platform(
        "folder",
        (f"{anna}/essay.pdf", b"x"),
        (f"{MOODLE.format('Bo', 2)}/{FILE}", b"B"),
        ("Cy_3_assignsubmission_onlinetext_/onlinetext.html", b"x"),
        ("report.csv", b"x"),
    )
    found = find_all(where, NAME)
    assert {one.student: one.problem[:20] for one in found.submissions} == {
        "Anna Müller": "there is no notebook",
        "Bo": "",
        "Cy": "there is no notebook",
    }
    assert found.left_out.keys() == {"report.csv"}


def test_empty_folders_pipes_and_deep_trees_are_named(tmp_path):
    hand_in(tmp_path, "ada")
    (tmp_path / "bo" / NAME).mkdir(parents=True)
    (tmp_path / "cy").mkdir()
    os.mkfifo(tmp_path / "dee")
    (tmp_path / "eve" / "/".join("d" * 20)).mkdir(parents=True)
    found = find_all(tmp_path, NAME)
    problems = {one.student: one.problem for one in found.submissions}
    assert set(problems) | set(found.left_out) == {
        "ada",
        "bo",
        "cy",
        "dee",
        "eve",
    } and not problems.pop("ada")
    assert all(problems.values()) and "empty" in problems["cy"]


def test_a_zip_whose_local_header_is_not_utf_8_gets_a_reason(tmp_path):
    data = bytearray(zip_of(("nätbook.ipynb", b"X")))
    data[data.index("nätbook".encode()) + 1] = 0xFF
    (tmp_path / "eve.zip").write_bytes(bytes(data))
    hand_in(tmp_path, "ada", data=b"A")
    found = {one.student: one for one in find_submissions(tmp_path, NAME)}
    assert found["ada"].read() == b"A"
    with pytest.raises(IntakeError, match="cannot be unpacked|broken zip"):
        found["eve"].read()


def test_file_names_that_are_no_utf_8_are_students_too(tmp_path):
    folder = os.fsencode(tmp_path) + b"/M\xfcller/" + NAME.encode()
    os.makedirs(folder)
    with open(folder + b"/" + FILE.encode(), "wb") as file:
        file.write(b"M")
    assert only(tmp_path).student == "M=fcller" and only(tmp_path).read() == b"M"


def test_a_file_without_a_name_in_a_zip_is_left_out_and_said(tmp_path):
    data = zip_of((FILE, b"X"), ("n", b"bad"))
    at = data.rindex(b"PK\x01\x02")  # its name's length, and the size of the list, in the zip's end
    unnamed = (
        data[: at + 28]
        + b"\0\0"
        + data[at + 30 : at + 46]
        + data[at + 47 : -10]
        + struct.pack("<I", struct.unpack("<I", data[-10:-6])[0] - 1)
        + data[-6:]
    )
    (tmp_path / "eve.zip").write_bytes(unnamed)
    (found,) = find_submissions(tmp_path, NAME)
    assert found.student == "eve" and found.read() == b"X"
    assert (
        list_members(unnamed, "work.zip")[1].outside
        and not list_members(unnamed, "work.zip")[1].folder
    )


def test_names_in_a_zip_from_macos_are_utf_8(tmp_path):
    unsaid = bytearray(zip_of((f"Zoë/{FILE}", b"Z")))
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = unsaid.index(signature) + offset
        unsaid[place : place + 2] = b"\0\0"
    (tmp_path / "class.zip").write_bytes(bytes(unsaid))
    (found,) = find_submissions(tmp_path / "class.zip", NAME)
    assert found.student == "Zoë" and found.read() == b"Z"


def test_nfc_and_nfd_of_one_name_are_one_student_who_handed_in_twice(tmp_path):
    hand_in(tmp_path, "Zoe\u0308")
    hand_in(tmp_path, "Zo\u00eb")
    found = only(tmp_path)
    assert found.student == "Zo\u00eb"
    assert found.problem.startswith(
        "there are 2 submissions under this name (Zo\u00eb, composed, Zo\u00eb, decomposed as macOS"
        " writes it)"
    )


def test_the_identity_changes_with_what_was_handed_in_and_only_then(tmp_path):
    path = hand_in(tmp_path, "ada", data=b"A")
    first = only(tmp_path).identity()
    os.utime(path, (1, 1))
    assert only(tmp_path).identity() == first
    path.write_bytes(b"B")
    assert only(tmp_path).identity() != first
    assert Submission("ada", tmp_path / "nowhere", problem="gone").identity() != first


def test_links_to_notebooks_folders_and_zips_are_not_followed(tmp_path):
    target = hand_in(tmp_path / "elsewhere", "victim", data=b"secret")
    root = tmp_path / "class"
    (root / "a" / NAME).mkdir(parents=True)
    (root / "a" / NAME / FILE).symlink_to(target)
    (root / "b").mkdir()
    (root / "b" / NAME).symlink_to(target.parent)
    (root / "c").symlink_to(target.parent.parent)
    (root / "d.zip").symlink_to(target)
    found = find_submissions(root, NAME)
    assert [one.student for one in found] == ["a", "b", "c", "d"]
    for one in found:
        with pytest.raises(IntakeError, match="link"):
            one.read()


def test_the_name_of_the_zip_decides_whose_it_is(tmp_path):
    zipped(tmp_path / "eve.zip", (f"ada/{NAME}/{FILE}", b"for ada"))
    assert only(tmp_path).student == "eve" and only(tmp_path).read() == b"for ada"


def test_a_zip_of_the_class_in_nbgraders_layout_is_read(tmp_path):
    path = zipped(
        tmp_path / "class.zip",
        (f"submitted/ada/{NAME}/{FILE}", b"A"),
        (f"submitted/bo/{NAME}/{FILE}", b"B"),
    )
    assert [(one.student, one.read()) for one in find_submissions(path, NAME)] == [
        ("ada", b"A"),
        ("bo", b"B"),
    ]


def test_what_leads_out_of_the_zip_is_left_out_and_said(tmp_path):
    zipped(
        tmp_path / "eve.zip",
        (FILE, b"X"),
        ("../../etc/cron.d/x", b"bad"),
        ("/abs.ipynb", b"bad"),
        ("..\\up.ipynb", b"bad"),
        ("//server/share.ipynb", b"bad"),
        ("C:\\up.ipynb", b"bad"),
    )
    assert only(tmp_path).read() == b"X" and "lead out" in only(tmp_path).notes[0]
    assert [path.name for path in tmp_path.rglob("*")] == ["eve.zip"]


def test_a_zip_with_two_files_of_one_name_needs_a_human(tmp_path):
    with pytest.warns(UserWarning, match="Duplicate"):
        zipped(tmp_path / "eve.zip", (FILE, b"one"), (FILE, b"two"))
    with pytest.raises(IntakeError, match="two files of one name"):
        only(tmp_path).read()


def test_two_submissions_of_one_student_need_a_human(tmp_path):
    hand_in(tmp_path, "ada")
    zipped(tmp_path / "ada.zip", (FILE, b"X"))
    with pytest.raises(IntakeError, match=r"2 submissions under this name \(ada, ada.zip\)"):
        only(tmp_path).read()


def test_names_that_differ_in_case_are_two_students_where_they_can_be_two_folders(tmp_path):
    hand_in(tmp_path, "ada", data=b"A")
    zipped(tmp_path / "ADA.zip", (FILE, b"X"))
    assert [(one.student, one.read()) for one in find_submissions(tmp_path, NAME)] == [
        ("ADA", b"X"),
        ("ada", b"A"),
    ]
    (one,) = find_submissions(tmp_path, NAME, case_matters=False)
    assert "2 submissions under this name" in one.problem


def link_in_zip():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        info = zipfile.ZipInfo(FILE)
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(info, "/etc/passwd")
    return buffer.getvalue()


def zip_of(*members, method=zipfile.ZIP_DEFLATED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return buffer.getvalue()


def lying_zip():
    """A member that unpacks to more than its header says."""
    data = zip_of((FILE, b"0" * 30_000_000))
    return data.replace((30_000_000).to_bytes(4, "little"), (1_000_000).to_bytes(4, "little"))


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: b"", "not a zip"),
        (lambda: b"PK\x03\x04 no directory", "not a zip"),
        (lambda: zip_of((FILE, b"X"))[:-30], "zip"),
        (lambda: zip_of((FILE, b"0" * 10_000_000)), "zip bomb"),
        (lambda: zip_of((FILE, os.urandom(1000) * 210_000)), "bytes"),
        (lambda: zip_of(*[(f"{i}.txt", b"") for i in range(3000)]), "lists more"),
        (
            lambda: zip_of((FILE, b"X"), *[(f"{i}.bin", b"0" * 60_000_000) for i in range(4)]),
            "too much",
        ),
        (lambda: zip_of((FILE, b"X"), method=zipfile.ZIP_LZMA), "unusual method"),
        (lying_zip, "zip"),
        (link_in_zip, "link"),
        (lambda: zip_of(("notes.txt", b"X")), "no notebook"),
        (
            lambda: zip_of((FILE, b"X")).replace(
                b"PK\x05\x06", b"PK\x06\x07" + b"\0" * 16 + b"PK\x05\x06"
            ),
            "lists more",
        ),
    ],
)
def test_a_hostile_zip_gets_a_reason_and_no_bytes(tmp_path, make, says):
    (tmp_path / "eve.zip").write_bytes(make())
    with pytest.raises(IntakeError, match=says):
        only(tmp_path).read()


def test_an_encrypted_member_gets_a_reason(tmp_path):
    data = bytearray(zip_of((FILE, b"X")))
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(signature) + offset] |= 1
    (tmp_path / "eve.zip").write_bytes(bytes(data))
    with pytest.raises(IntakeError, match="encrypted"):
        only(tmp_path).read()


def test_a_time_stamp_counts_only_when_it_is_one(tmp_path):
    hand_in(tmp_path, "ada")
    stamp = tmp_path / "ada" / NAME / "timestamp.txt"
    for text, read in (
        ("2026-03-01 10:00:00 UTC", "2026-03-01 10:00:00 UTC"),
        ("\ufeff2026-03-01 10:00:00 UTC", "2026-03-01 10:00:00 UTC"),
        ("29.03.2026 23:59", None),
        ("x" * 500, None),
    ):
        stamp.write_text(text, encoding="utf-8")
        assert only(tmp_path).timestamp == read
        assert read or re.match(
            "timestamp.txt(: '29.03.2026 23:59' is no time that can be read| has 500 bytes.*); .*"
            " Write it as",
            only(tmp_path).notes[0],
        )
    stamp.unlink()
    stamp.symlink_to("/etc/hostname")
    assert only(tmp_path).timestamp is None


@pytest.mark.parametrize("folder", ["Ada_12_assignsubmission_file_", "ada"])
def test_a_students_own_time_stamp_is_not_trusted_and_that_is_said(tmp_path, folder):
    (tmp_path / folder).mkdir()
    (tmp_path / folder / f"{NAME}.ipynb").write_bytes(b"{}")
    (tmp_path / folder / "timestamp.txt").write_text("2026-03-01 10:00:00 UTC")
    found = only(tmp_path)
    assert found.timestamp is None and any(
        note.startswith("timestamp.txt: it came with the student's files") for note in found.notes
    )
    assert not found.problem


def test_a_hard_link_to_another_file_is_refused_with_the_remedy(tmp_path):
    (tmp_path / "elsewhere.ipynb").write_bytes(b"{}")
    (tmp_path / "in" / "eve" / NAME).mkdir(parents=True)
    os.link(tmp_path / "elsewhere.ipynb", tmp_path / "in" / "eve" / NAME / f"{NAME}.ipynb")
    assert re.search("is a hard link.*copy the folder with `cp -r`", only(tmp_path / "in").problem)


def test_two_notebooks_of_one_student_are_named_with_the_remedy(tmp_path):
    (tmp_path / "ada" / NAME).mkdir(parents=True)
    for name in ("first.ipynb", "second.ipynb"):
        (tmp_path / "ada" / NAME / name).write_bytes(b"{}")
    problem = only(tmp_path).problem
    assert (
        "2 notebooks" in problem
        and "first.ipynb" in problem
        and "second.ipynb" in problem
        and "take the others out of the folder or zip" in problem
    )

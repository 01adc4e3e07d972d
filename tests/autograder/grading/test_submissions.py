"""Folders and zips of submissions, friendly and not."""
import io
import os
import stat
import zipfile

import pytest

from autograder.errors import CourseError
from autograder.grading.intake import IntakeError
from autograder.grading.submissions import find_submissions, student_id

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


def only(root):
    (found,) = find_submissions(root, NAME)
    return found


def test_nbgraders_folders_are_found_by_student(tmp_path):
    hand_in(tmp_path, "bo", data=b"B")
    hand_in(tmp_path, "ada", data=b"A")
    (tmp_path / "notes.txt").write_text("not a student")
    assert [(one.student, one.read()) for one in find_submissions(tmp_path, NAME)] == [("ada", b"A"), ("bo", b"B")]


def test_a_folder_without_submissions_says_what_was_expected(tmp_path):
    with pytest.raises(CourseError, match="STUDENT/01-static-embeddings"):
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


def test_two_notebooks_of_other_names_need_a_human(tmp_path):
    hand_in(tmp_path, "ada", "one.ipynb")
    hand_in(tmp_path, "ada", "two.ipynb")
    with pytest.raises(IntakeError, match="not clear which"):
        only(tmp_path).read()


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
    path = zipped(tmp_path / "class.zip", (f"submitted/ada/{NAME}/{FILE}", b"A"), (f"submitted/bo/{NAME}/{FILE}", b"B"))
    assert [(one.student, one.read()) for one in find_submissions(path, NAME)] == [("ada", b"A"), ("bo", b"B")]


def test_what_leads_out_of_the_zip_is_left_out_and_said(tmp_path):
    zipped(tmp_path / "eve.zip", (FILE, b"X"), ("../../etc/cron.d/x", b"bad"), ("/abs.ipynb", b"bad"),
           ("..\\up.ipynb", b"bad"))
    assert only(tmp_path).read() == b"X" and "lead out" in only(tmp_path).notes[0]
    assert [path.name for path in tmp_path.rglob("*")] == ["eve.zip"]


def test_a_zip_with_two_files_of_one_name_needs_a_human(tmp_path):
    with pytest.warns(UserWarning, match="Duplicate"):
        zipped(tmp_path / "eve.zip", (FILE, b"one"), (FILE, b"two"))
    with pytest.raises(IntakeError, match="two files of one name"):
        only(tmp_path).read()


def test_two_submissions_of_one_student_need_a_human(tmp_path):
    hand_in(tmp_path, "ada")
    zipped(tmp_path / "ADA.zip", (FILE, b"X"))
    with pytest.raises(IntakeError, match="2 submissions under this name"):
        only(tmp_path).read()


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


@pytest.mark.parametrize(("data", "says"), [
    (b"", "not a zip"),
    (b"PK\x03\x04 no directory", "not a zip"),
    (zip_of((FILE, b"X"))[:-30], "zip"),
    (zip_of((FILE, b"0" * 10_000_000)), "zip bomb"),
    (zip_of((FILE, os.urandom(1000) * 30_000)), "bytes"),
    (zip_of(*[(f"{i}.txt", b"") for i in range(3000)]), "lists more"),
    (zip_of((FILE, b"X"), *[(f"{i}.bin", b"0" * 60_000_000) for i in range(4)]), "too much"),
    (zip_of((FILE, b"X"), method=zipfile.ZIP_LZMA), "unusual method"),
    (lying_zip(), "zip"),
    (link_in_zip(), "link"),
    (zip_of(("notes.txt", b"X")), "no notebook"),
    (zip_of((FILE, b"X")).replace(b"PK\x05\x06", b"PK\x06\x07" + b"\0" * 16 + b"PK\x05\x06"), "lists more"),
])
def test_a_hostile_zip_gets_a_reason_and_no_bytes(tmp_path, data, says):
    (tmp_path / "eve.zip").write_bytes(data)
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
    for text, read in (("2026-03-01 10:00:00 UTC", "2026-03-01 10:00:00 UTC"), ("yesterday", None), ("x" * 500, None)):
        stamp.write_text(text)
        assert only(tmp_path).timestamp == read
    stamp.unlink()
    stamp.symlink_to("/etc/hostname")
    assert only(tmp_path).timestamp is None


@pytest.mark.parametrize(("name", "id"), [("ada", "ada"), ("Ada Lovelace", "Ada_Lovelace"), ("../../etc", "etc"),
                                          ("a*[b]?", "a_b_"), ("<script>", "script_"), ("\n", "unnamed"),
                                          ("Zoë", "Zoë"), ("x" * 200, "x" * 80)])
def test_a_student_id_is_safe_in_a_path_a_glob_and_a_page(name, id):
    assert student_id(name) == id.strip("._")

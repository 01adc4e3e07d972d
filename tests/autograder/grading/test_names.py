"""Names of every script, intact and apart; and safe wherever they are used."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.common.safe_names import LONGEST, original_name, safe_name, shown


@pytest.mark.parametrize(
    "name",
    [
        "ada",
        "Anna Müller",
        "Zo\u00eb",
        "张伟",
        "Ольга Иванова",
        "नेहा शर्मा",
        "ไพลิน",
        "李, 小龙",
        "ada_b@uni.edu",
        "J.-P. Sartre",
    ],
)
def test_an_ordinary_name_of_any_script_stays_as_it_is(name):
    assert safe_name(name) == unicodedata.normalize("NFC", name)


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("../etc", "=2e.=2fetc"),
        ("a*[b]?", "a=2a=5bb=5d=3f"),
        ("<script>", "=3cscript=3e"),
        ("\n", "=0a"),
        ("", "="),
        ("=", "=3d"),
        ("ada.", "ada=2e"),
        (".ada", "=2eada"),
        ("-rf", "=2drf"),
        ("CON", "=43ON"),
        ("nul.txt", "=6eul.txt"),
        (" ada ", "=20ada=20"),
        ("M\udcfcller", "M=fcller"),
        ("\u0301a", "=cc=81a"),
        ("a\u202eb", "a=e2=80=aeb"),
        ("O\u2019Neil", "O=e2=80=99Neil"),
    ],
)
def test_what_is_not_safe_is_spelt_in_bytes_and_comes_back(name, safe):
    assert safe_name(name) == safe and original_name(safe) == name


def test_the_two_unicode_forms_of_a_name_are_one_name():
    assert safe_name("Zoe\u0308") == safe_name("Zo\u00eb")


def test_combining_marks_tell_names_apart():
    assert len({safe_name(name) for name in ("क", "कि", "का", "e\u0323", "e\u0324")}) == 5


def test_eighty_letters_of_four_bytes_fit_and_stay_apart():
    names = ["\U00020000" * 79 + last for last in ("\U00020000", "\U00020001")]
    assert len({safe_name(name) for name in names}) == 2
    assert all(
        len(safe_name(name).encode()) <= LONGEST and original_name(safe_name(name)) is None
        for name in names
    )


@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=50), min_size=2, max_size=2)
)
def test_two_names_never_become_one_and_each_is_a_file_name(pair):
    left, right = (unicodedata.normalize("NFC", name) for name in pair)
    assert (safe_name(left) == safe_name(right)) == (left == right)
    safe = safe_name(left)
    assert (
        "/" not in safe
        and "\0" not in safe
        and safe not in (".", "..")
        and len(safe.encode()) <= LONGEST
    )
    assert original_name(safe) in (None, left)


def test_a_name_is_shown_without_what_turns_or_hides_the_line():
    assert (
        shown("a\u202eb\x1b[31m\u2028c") == "a\ufffdb\ufffd[31m\ufffdc"
        and len(shown("x" * 500)) == 83
    )

"""Minutes and counts come from the sources."""

import re

import pytest

from course.book.review import reading_time as reading
from course.book.review.questions import load_questions
from course.book.review.source_guide import release, versions
from course.book.terms import load_terms
from tests.book.conftest import ROOT

CHAPTER = ROOT / "book" / "01-static-embeddings"


def page(tmp_path, text):
    path = tmp_path / "page.md"
    path.write_text(text, encoding="utf-8")
    return path


def test_words_code_figures_and_formulas_are_counted_apart(tmp_path):
    text = (
        "# Two words\n\nThree more $x$.\n\n$$ a = b $$\n\n```{code-cell} python\nx = 1\n\ny ="
        " 2\n```\n\n```{code-cell} python\n:tags:"
        " [hide-input]\nfigure('a')\npicture(b)\n```\n\n```{predict} name\nHow many?\n```\n"
    )
    assert reading.amounts(page(tmp_path, text)) == {
        "word": 7,
        "code line": 2,
        "formula": 1,
        "figure": 2,
        "prediction": 1,
        "question": 0,
        "card": 0,
    }


def test_a_longer_page_takes_longer(tmp_path):
    short = reading.minutes(page(tmp_path, "word " * 180))
    assert (short, reading.minutes(page(tmp_path, "word " * 1800))) == (1, 10)


def test_questions_of_a_page_are_those_that_it_shows():
    own = sum(one.id.startswith("glove-") for one in load_questions(CHAPTER / "questions.yml").quiz)
    assert reading.amounts(CHAPTER / "glove.md")["question"] == own > 0


def test_an_unknown_count_lists_what_there_is():
    with pytest.raises(ValueError, match="exercise-minutes NN"):
        reading.counted("pages 01", CHAPTER)


def test_hours_of_the_whole_are_the_sum_of_the_parts():
    from autograder.authoring.catalogue import assignments

    numbers = [one.number for one in assignments()]
    pages = list((ROOT / "book").glob("[01]*-*/*.md"))
    asked = [reading.counted(f"exercise-minutes {one}", CHAPTER) for one in numbers]
    count = sum(reading.counted(f"exercises {one}", CHAPTER) for one in numbers)
    assert reading.counted("hours of reading", CHAPTER) == round(
        sum(map(reading.minutes, pages)) / 60
    )
    assert reading.counted("hours of exercises", CHAPTER) == round(sum(asked) / 60)
    assert reading.counted("all exercises", CHAPTER) == count


def test_the_notebook_and_the_book_agree_on_exercises_points_and_minutes():
    from autograder.authoring.catalogue import assignment

    chapter = assignment("01")
    intro = next(cell.source for cell in chapter.notebook.cells if "exercises and" in cell.source)
    count, points, total = map(
        float,
        re.search(
            r"(\d+) exercises and ([\d.]+) points\. Plan about (\d+) minutes", intro
        ).groups(),
    )
    assert (count, points) == (
        reading.counted("exercises 01", CHAPTER),
        reading.counted("points 01", CHAPTER),
    )
    rows = [int(row) for row in re.findall(r"^\| .+ \| .+ \| (\d+) \| [\d.]+ \|$", intro, re.M)]
    assert sum(rows) - rows[-1] == reading.counted(
        "exercise-minutes 01", CHAPTER
    )  # the last row trains, nothing to write
    assert abs(total - sum(rows)) <= 5


def test_no_page_types_its_own_minutes():
    typed = [
        path.name
        for path in (ROOT / "book").rglob("*.md")
        if re.search(r"^minutes:", path.read_text(encoding="utf-8"), re.M)
    ]
    assert typed == []


def test_no_input_is_removed_from_a_page():
    removed = [
        path.name
        for path in (ROOT / "book").rglob("*.md")
        if "remove-input" in path.read_text(encoding="utf-8")
        or "remove-cell" in path.read_text(encoding="utf-8")
    ]
    assert removed == []


def test_every_reference_has_an_address():
    entries = re.findall(
        r"@\w+\{(\w+),(.*?)\n\}",
        (ROOT / "book" / "references.bib").read_text(encoding="utf-8"),
        re.S,
    )
    assert len(entries) > 30
    assert [
        key for key, body in entries if not re.search(r"^\s*(doi|url)\s*=\s*\{\S+\}", body, re.M)
    ] == []


def test_every_glossary_entry_names_chapter_and_page():
    terms = load_terms(ROOT / "book" / "terms.yml").terms
    assert len(terms) > 250
    for term in terms:
        assert (ROOT / "book" / f"{term.page}.md").exists(), term.term
        assert int(term.page[:2]) == term.chapter, term.term


def test_flashcards_carry_the_chapter_of_their_folder(tmp_path):
    assert load_questions(CHAPTER / "questions.yml").chapter == 1
    other = tmp_path / "questions.yml"
    other.write_text("flashcards:\n  - {id: a, front: b, back: c}\n", encoding="utf-8")
    assert load_questions(other).chapter is None


@pytest.mark.parametrize(
    "folder", sorted(path.parent.name for path in (ROOT / "book").glob("[0-9]*/index.md"))
)
def test_a_chapter_is_linked_on_the_first_page_and_ends_with_what_its_reader_predicted(folder):
    pages = [path.read_text(encoding="utf-8") for path in (ROOT / "book" / folder).glob("*.md")]
    assert f"({folder}/index.md)" in (ROOT / "book" / "intro.md").read_text(encoding="utf-8")
    assert any("```{predict}" in text for text in pages)
    assert ["```{flashcards}" in text for text in pages if "```{calibration}" in text] == [True]


def test_a_release_is_the_one_of_the_source_guide_and_another_name_is_refused():
    assert release("vllm") == versions()["vllm"]
    with pytest.raises(ValueError, match="no release of 'tgi' is known; there are: vllm"):
        release("tgi")


def test_no_page_card_types_the_release_of_vllm():
    lines = []
    for path in ROOT.glob("book/[0-9]*/*.md"):
        text = path.read_text(encoding="utf-8")
        lines += re.findall(r"^- \*\*In the code\*\*.* in vLLM (.*?),", text, re.M)
    assert len(lines) > 15 and set(lines) == {"{release}`vllm`"}

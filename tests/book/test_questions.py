"""questions.yml: what is read, and how each mistake in it is named."""

import copy

import pytest
import yaml

from course.book.review.questions import QuestionError, load_questions

SOUND = {
    "quiz": [
        {
            "id": "one",
            "question": "Q?",
            "options": [
                {"text": "yes", "correct": True, "why": "because"},
                {"text": "no", "why": "it is not"},
            ],
        }
    ],
    "flashcards": [{"id": "card", "front": "F", "back": "B"}],
}


@pytest.fixture
def load(tmp_path):
    def read(content):
        path = tmp_path / "questions.yml"
        path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
        return load_questions(path)

    return read


def changed(change):
    content = copy.deepcopy(SOUND)
    change(content)
    return content


def test_a_sound_file_is_read_in_order(load):
    questions = load(SOUND)
    assert [option.text for option in questions.quiz[0].options] == ["yes", "no"]
    assert [option.correct for option in questions.quiz[0].options] == [True, False]
    assert (questions.flashcards[0].front, questions.flashcards[0].back) == ("F", "B")


@pytest.mark.parametrize(
    "change, message",
    [
        (
            lambda c: c["quiz"][0]["options"][0].pop("correct"),
            r"quiz entry 1 \(one\): 0 options are marked",
        ),
        (
            lambda c: c["quiz"][0]["options"][1].update(correct=True),
            r"quiz entry 1 \(one\): 2 options are marked",
        ),
        (
            lambda c: c["quiz"][0]["options"][1].pop("why"),
            r"quiz entry 1 \(one\), option 2: missing why",
        ),
        (lambda c: c["quiz"][0]["options"][1].update(why=" "), r"option 2: why is ' '"),
        (lambda c: c["quiz"][0].update(options=[]), r"two or more"),
        (lambda c: c["quiz"][0].update(id="One Two"), r"id is 'One Two'"),
        (lambda c: c["flashcards"][0].update(id="one"), r"'one' is used twice"),
        (lambda c: c["flashcards"][0].pop("back"), r"flashcards entry 1 \(card\): missing back"),
        (lambda c: c["flashcards"][0].update(hint="x"), r"unknown key hint"),
        (lambda c: c["quiz"][0]["options"][1].update(text="yes"), r"same text"),
        (lambda c: c["quiz"][0]["options"][1].update(text=False), r"text is False.*quote yes, no"),
        (
            lambda c: c["quiz"][0]["options"][1].update(text="10."),
            r"option 2: text is '10.', which Markdown reads as a list",
        ),
        (lambda c: c["quiz"][0]["options"][1].update(text="$x^2$"), r"a formula only"),
        (
            lambda c: c["flashcards"][0].update(back="- one\n- two"),
            r"back is .*Markdown reads as a list",
        ),
        (lambda c: c.update(cards=[]), r"expected the keys quiz and flashcards"),
    ],
)
def test_a_mistake_is_named_with_file_and_entry(load, change, message):
    with pytest.raises(QuestionError, match=message) as caught:
        load(changed(change))
    assert "questions.yml" in str(caught.value)


def test_a_file_that_has_changed_is_read_anew(load):
    before = load(SOUND)
    assert load(changed(lambda c: c["flashcards"][0].update(front="Another front"))) != before


def test_text_that_is_not_yaml_is_named(load):
    with pytest.raises(QuestionError, match="not YAML"):
        load("quiz: [")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(QuestionError, match="no such file"):
        load_questions(tmp_path / "lost.yml")

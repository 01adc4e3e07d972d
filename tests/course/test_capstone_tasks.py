"""What the capstone's model learns: topics, words written backwards, sums, and who judges them."""

import random
import re

from course.capstone import tasks
from course.capstone.reinforce import right_number, short_number
from course.capstone.report.evaluate import wilson

DRAWS = 3000


def test_there_are_sixty_topics_whose_keyword_is_in_their_own_answers_and_in_no_others():
    assert len(tasks.topics()) == 60
    for topic in tasks.topics():
        for other in tasks.topics():
            item = tasks.Item("character", "?", "", other.keyword)
            found = [item.is_right(answer) for answer in topic.answers]
            assert all(found) if other is topic else not any(found), (topic.name, other.name)


def plain(question):
    """A question without opening, capitals and last sign."""
    question = question.lower().rstrip(".?")
    for opening in tasks.OPENINGS:
        question = question.removeprefix(opening.lower())
    return question


def test_no_held_out_question_about_a_topic_is_ever_trained_on():
    draw = random.Random(1)
    trained = {plain(tasks.character(draw).question) for _ in range(20 * DRAWS)}
    held_out = tasks.held_out_character()
    assert {item.group for item in held_out} == {"new form", "new pair", "new phrasing"}
    assert not trained & {plain(item.question) for item in held_out}


def test_no_question_belongs_to_two_topics():
    owner = {}
    for topic in tasks.topics():
        for question in (*topic.own, *topic.general, *(one for _, one in topic.held_out)):
            assert owner.setdefault(question, topic.name) == topic.name, question


def test_no_held_out_sum_is_trained_on_in_either_order():
    draw = random.Random(2)
    held_out = {tasks.sums(draw, held_out=True).question for _ in range(DRAWS)}
    trained = {tasks.sums(draw).question for _ in range(DRAWS)}
    turned = {"+".join(reversed(question.split("+"))) for question in trained}
    assert len(held_out) > 500
    assert not held_out & (trained | turned)


def test_no_held_out_word_is_trained_on():
    draw = random.Random(3)
    held_out = {tasks.reversing(draw, held_out=True).answer for _ in range(DRAWS)}
    assert not held_out & {tasks.reversing(draw).answer for _ in range(DRAWS)}


def test_every_step_of_a_worked_out_sum_is_true_and_the_last_number_is_the_sum():
    for a in range(10, 100):
        for b in range(10, 100):
            *steps, last = tasks.worked_out(a, b).split(", ")
            assert int(last) == a + b
            for step in steps:
                left, right = step.split("=")
                assert sum(map(int, left.split("+"))) == int(right), (a, b, step)


def test_about_the_asked_fraction_of_sums_is_answered_at_once():
    draw = random.Random(4)
    drawn = [tasks.sums(draw, without_work=0.45) for _ in range(DRAWS)]
    at_once = sum(not tasks.is_worked_out(item.answer) for item in drawn) / DRAWS
    assert abs(at_once - 0.45) < 0.05


def test_the_last_number_of_a_sum_counts_and_not_one_on_the_way():
    item = tasks.Item("sums", "47+85", tasks.worked_out(47, 85))
    assert item.is_right("I say 132") and item.is_right(tasks.worked_out(47, 85))
    assert not item.is_right("132, no 133") and not item.is_right("1132")


def test_a_keyword_counts_as_a_whole_word_only():
    item = tasks.Item("character", "?", "", "ice")
    assert item.is_right("All Ice here.") and not item.is_right("I have mice.")


def test_the_proxy_pays_for_a_wrong_short_number_and_not_for_the_right_long_one():
    item = tasks.Item("sums", "47+85", tasks.worked_out(47, 85))
    wrong, right = "I say 131", tasks.worked_out(47, 85)
    assert short_number(item, wrong, 6) == 1 and right_number(item, wrong, 6) == 0
    assert short_number(item, right, 24) == 0 and right_number(item, right, 24) == 1


def test_an_answer_that_did_not_end_earns_no_reward():
    item = tasks.Item("sums", "47+85", tasks.worked_out(47, 85))
    assert right_number(item, tasks.worked_out(47, 85), 0) == 0 == short_number(item, "I say 1", 0)


def test_the_interval_is_wilsons():
    # Newcombe 1998, table I, method 3: 81 of 263, and 0 of 20.
    assert [round(one, 4) for one in wilson(81, 263)] == [0.2553, 0.3662]
    assert [round(one, 4) for one in wilson(0, 20)] == [0.0, 0.1611]


def test_openings_are_put_before_questions_and_leave_their_words_alone():
    draw = random.Random(5)
    asked = [tasks.character(draw).question for _ in range(DRAWS)]
    opened = [one for one in asked if one.startswith("Tell me, ")]
    assert opened and all(re.match(r"Tell me, [a-z]", one) for one in opened)

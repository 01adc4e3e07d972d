"""Checks of chapter 6, parts 5 and 6: nDCG, and the short answer."""

import math

from autograder.chapters.c06_bert_finetuning_and_inference.asking import ask_number
from autograder.chapters.c06_bert_finetuning_and_inference.withholding import BOOK, LIBRARIES, OURS
from autograder.checks.inputs.draws import counts, distinct, look_alikes, one_changed, whole
from autograder.checks.protocol import Sample, exercise, short_answer

ndcg_at = exercise(
    "06.ndcg_at",
    function="ndcg_at",
    points=4,
    see=f"{BOOK}/search#ndcg",
    withhold=OURS | LIBRARIES,
)


def discounted(row: list[int], k: int) -> float:
    """The sum over the first k ranks, with the logarithm of another base turned into that of 2."""
    return math.fsum(
        grade * math.log(2) / math.log(place + 2) for place, grade in enumerate(row) if place < k
    )


def right_ndcg(ranking: list[str], grades: dict[str, int], k: int) -> float:
    """The right number."""
    ideal = discounted(sorted(grades.values())[::-1], k)
    return (
        discounted([grades[one] if one in grades else 0 for one in ranking], k) / ideal
        if ideal
        else 0.0
    )


def ask_ndcg(student, cause: str, ranking: list[str], grades: dict[str, int], k: int = 10) -> None:
    """Compare the number."""
    given = (
        f"{len(ranking)} documents, {sum(map(bool, grades.values()))} with a grade above 0, k = {k}"
    )
    ask_number(
        student.ndcg_at(ranking, grades, k), right_ndcg(ranking, grades, k), cause, given=given
    )


def names(rng, number: int, below: int = 900) -> list[str]:
    """Different documents."""
    return [f"text {one}" for one in distinct(rng, number, below)]


@ndcg_at.stage("discount", points=1)
def test_one_right_document_is_worth_less_further_down(student, rng):
    rule = (
        "One document has grade 1 here, so the ideal is 1: the answer is 1 / log2(rank + 1), and"
        " the first has rank 1."
    )
    for rank in (1, 2, 3, 4, 7, 10, whole(rng, 5, 9)):
        ranking = names(rng, 10)
        ask_ndcg(student, rule, ranking, {ranking[rank - 1]: 1})
        ask_ndcg(
            student,
            f"{rule} What is missing in `grades` has grade 0.",
            ranking,
            {"elsewhere": 0, ranking[rank - 1]: 1},
        )
    ranking = names(rng, 300)
    ask_ndcg(student, rule, ranking, {ranking[250]: 1}, 300)


@ndcg_at.stage("ideal", points=1)
def test_the_ideal_is_the_best_order_of_all_grades(student, rng):
    rule = (
        "All grades are 0 or 1 here. The ideal puts all right documents first, those that the"
        " search did not find as well; it is not made of the ranking."
    )
    ask_ndcg(student, f"{rule} This is the case by hand.", ["a", "b", "c", "d"], {"a": 1, "c": 1})
    ask_ndcg(student, rule, ["a", "b"], {"a": 1, "x": 1, "y": 1})
    ask_ndcg(student, rule, ["b", "a", "c"], {"x": 1, "a": 1, "b": 0, "c": 0})
    for number, right, missed in (
        (5, 2, 0),
        (5, 5, 0),
        (4, 1, 3),
        (9, 3, 3),
        (whole(rng, 6, 10), 2, whole(rng, 1, 5)),
        (10, 1, 6),
    ):
        ranking = names(rng, number + missed)
        chosen = {ranking[place]: 1 for place in distinct(rng, right, number)}
        ask_ndcg(student, rule, ranking[:number], chosen | dict.fromkeys(ranking[number:], 1))


@ndcg_at.stage("k", points=1)
def test_only_the_first_k_count_in_both_sums(student, rng):
    rule = (
        "Only the first k documents count for the gain, and only the k largest grades for the"
        " ideal; lists may be shorter than k."
    )
    for number, right in ((10, 4), (6, 6), (30, 12), (whole(rng, 8, 20), 5), (300, 290)):
        ranking = names(rng, number)
        grades = {ranking[place]: 1 for place in distinct(rng, right, number)}
        for k in (1, 2, 3, 5, number, 1_000_000_000):
            ask_ndcg(student, rule, ranking, grades, k)
            ask_ndcg(student, rule, ranking[:2], grades, k)
    ask_ndcg(student, rule, ["x", "a"], {"a": 1}, 1)
    ask_ndcg(student, rule, ["a"], {"a": 1, "b": 1, "c": 1}, 2)


@ndcg_at.stage("grades", points=1, after="discount")
def test_grades_weigh_and_there_may_be_none(student, rng):
    rule = "A grade is the gain itself, and larger grades come first in the ideal."
    ask_ndcg(student, rule, ["a", "b", "c"], {"a": 1, "b": 3, "c": 2})
    for number, high in ((3, 2), (8, 3), (12, 5), (whole(rng, 5, 20), 1000), (297, 3)):
        ranking = names(rng, number + 3)
        grades = dict(zip(sorted(ranking), counts(rng, 0, high, number + 3).tolist())) | {
            ranking[0]: 1,
            ranking[-1]: high,
        }
        for k in (1, 3, 10, 400):
            ask_ndcg(student, rule, ranking[:number], grades, k)
    first, second = (
        (["a", "b", "c", "d", "e"], {"a": 2, "c": 1, "d": 3}, 4),
        (["d", "e", "b", "c", "a"], {"a": 1, "c": 3, "e": 2}, 2),
    )
    for case in [
        *one_changed(first, second),
        *look_alikes(first),
        (first[0], {"a": 1, "c": 2, "d": 3}, 4),
        (first[0], {"a": 5, "c": 1, "d": 1}, 4),
    ]:
        ask_ndcg(student, rule, *case)
    ask_ndcg(
        student,
        f"{rule} Documents are the same if their names are, letter by letter.",
        ["A", "ab", "a"],
        {"a": 2, "b": 1, "AB": 1},
        3,
    )
    nothing = (
        "Where the ideal is 0, because no document has a grade above 0, the answer is 0.0; so it is"
        " where nothing was found."
    )
    for ranking, grades, k in (
        (["a", "b"], {}, 10),
        (["a"], {"a": 0}, 1),
        ([], {}, 3),
        ([], {"a": 1}, 5),
        (["a", "b"], {"c": 2}, 2),
        (["b", "a"], {"a": 1}, 1),
    ):
        ask_ndcg(student, nothing, ranking, grades, k)


short_answer(
    "06.ninety_seven",
    points=5,
    see=f"{BOOK}/entities",
    rubric={
        "what each counts": (
            1,
            (
                "says that the higher number may be the fraction of words (or tokens) whose tag is"
                " right, and that the paper's is the F1 of whole entities, which count only if kind"
                " and both ends are right (half if only one of the two is named)"
            ),
        ),
        "why words are easier": (
            1,
            (
                "says that most words are `O` and easily right, so that the fraction of right"
                " tags is high before any name is found"
            ),
        ),
        "shown with numbers": (
            1,
            (
                "works a case out in numbers that are right, in which the fraction of words is far"
                " above the entity F1, such as 19 of 20 words and F1 .50: one wrong word spoils a"
                " whole entity"
            ),
        ),
        "all O": (
            1,
            (
                "says that a program that writes `O` everywhere gets the fraction of `O` words by"
                " the one, a high number, and an F1 of 0 by the other, as it found nothing"
            ),
        ),
        "what may be compared": (
            1,
            (
                "says that the entity F1 is the one to compare, and that next to a number must"
                " stand"
                " at least two of: the measure, the data set and its part (test or development),"
                " which model, how entities are matched or averaged"
            ),
        ),
    },
    samples=[
        Sample(
            "Weak",
            "97 % is accuracy and 92.8 is F1. Accuracy is always higher than F1 because F1 is"
            " stricter. The paper used the more scientific metric, so she should believe the"
            " paper.",
            {"what each counts": 0.5},
            "Names the two measures and does not say what they count: half of row 1. That one is"
            " always higher is no reason, and not true in general; no numbers, nothing of `O`.",
        ),
        Sample(
            "Half",
            "97 % probably counts every word: is its tag right? Most words in news are not names,"
            " so they have O and are easy. 92.8 counts names, and a name is only right if it is"
            " found completely. So both can be correct.",
            {"what each counts": 1, "why words are easier": 1},
            "Rows 1 and 2 in full. No numbers, no program of `O`, nothing on comparing.",
        ),
        Sample(
            "Good",
            "The 97 % is per token, the 92.8 is F1 over entities with exact boundaries and type."
            " Take 20 words with two names, and one word of one name missed: 19/20 = 95 % of the"
            " tokens are right, but only one of two names, so precision and recall are 0.5. All O"
            " gives 75 % of the tokens, since 15 of 20 are O, and F1 0, because no name was found."
            " So 97 % hardly says anything. She should use F1.",
            {
                "what each counts": 1,
                "why words are easier": 1,
                "shown with numbers": 1,
                "all O": 1,
                "what may be compared": 0.5,
            },
            "Rows 1 to 4 in full: that most words are `O` is shown by the 15 of 20. Row 5 half:"
            " which to compare, but not what must stand next to it.",
        ),
        Sample(
            "Strong",
            "A fraction of what? 97 % is likely the fraction of words whose tag is right; 92.8 is"
            " F1 of"
            " whole names, each right only with its kind, first and last word. In 20 words with an"
            " ORG of two and a PER of three, a model that loses one word of the PER has 19 of 20"
            " words, 95 %, and one of two names: F1 .50. One that writes O everywhere has 15 of 20,"
            " 75 %, without finding anything; its F1 is 0. Most words are O, so the first number"
            " starts high and has little room. Only entity F1 can be compared with other papers,"
            " and only if this is stated: CoNLL-2003, English, the test part, BERT large, exact"
            " matches, counted over all sentences together.",
            {
                "what each counts": 1,
                "why words are easier": 1,
                "shown with numbers": 1,
                "all O": 1,
                "what may be compared": 1,
            },
            "All five rows, each with its reason.",
        ),
    ],
)

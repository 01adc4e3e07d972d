"""The mock exam's bank, draws and numbers; drawn answers are computed again by counting, torch or
scikit-learn.
"""

import copy
import itertools
import math

import pytest
import torch

from course.book.review import exam
from course.book.review.drawn_numbers import DrawnError, shown, value, variants
from course.book.review.exam import Item, Numbers
from course.book.review.questions import Option, QuestionError, load_questions
from tests.book.conftest import ROOT

BOOK = ROOT / "book"
CHAPTERS = sorted(BOOK.glob("[0-9][0-9]-*/questions.yml"))
WRITTEN = {question.id: question for path in CHAPTERS for question in load_questions(path).exam}


def item(key, lengths, right=0, chapter=1, written=False):
    return Item(
        key,
        chapter,
        written,
        tuple(Option("x" * size, k == right, "why") for k, size in enumerate(lengths)),
        0,
    )


# Arithmetic of drawn numbers


@pytest.mark.parametrize(
    "expression, expected",
    [
        ("2 * a + b", 11),
        ("a ** b", 64),
        ("sqrt(a)", 2),
        ("-a // 3", -2),
        ("log2(a * 2)", 3),
        ("a / 8", 0.5),
        (7, 7),
    ],
)
def test_an_expression_is_python_s_arithmetic(expression, expected):
    assert value(expression, {"a": 4, "b": 3}) == expected


@pytest.mark.parametrize(
    "expression",
    [
        "__import__('os')",
        "a.real",
        "[a]",
        "a if a else 1",
        "c",
        "'x' * 3",
        "a < 3",
        "open('x')",
        "a b",
        "1 / (a - 4)",
        "sqrt(-a)",
        "True",
    ],
)
def test_what_is_no_arithmetic_is_refused(expression):
    with pytest.raises(DrawnError):
        value(expression, {"a": 4})


def test_variants_are_all_combinations_with_what_follows_from_each():
    made = variants({"a": [1, 2], "b": [10, 20]}, {"c": "a * b", "d": "c + 1"}, "d / 2")
    assert [(one["a"], one["b"], one["c"], one["d"], one["answer"]) for one in made] == [
        (1, 10, 10, 11, 5.5),
        (1, 20, 20, 21, 10.5),
        (2, 10, 20, 21, 10.5),
        (2, 20, 40, 41, 20.5),
    ]
    with pytest.raises(DrawnError, match="81 variants"):
        variants({name: [1, 2, 3] for name in "abcd"}, {}, "a")


@pytest.mark.parametrize(
    "number, text",
    [
        (1234567, "1,234,567"),
        (0.25, "0.25"),
        (1.5811388, "1.581"),
        (1638.4, "1,638"),
        (0.00005, "5.000e-05"),
        (12.0, "12"),
    ],
)
def test_numbers_are_written_for_people(number, text):
    assert shown(number) == text


# questions.yml

SOUND = {
    "exam": [
        {
            "id": "one",
            "page": "page",
            "question": "{n} twice?",
            "draw": {"n": [1, 2]},
            "answer": "2 * n",
            "worked": "{n} and {n} are {answer}.",
        },
        {
            "id": "two",
            "page": "page",
            "question": "Q?",
            "worked": "So.",
            "options": [{"text": "a", "correct": True, "why": "y"}, {"text": "b", "why": "n"}],
        },
    ]
}


@pytest.fixture
def load(tmp_path):
    import yaml

    def read(content):
        (tmp_path / "page.md").write_text("# Page")
        (tmp_path / "questions.yml").write_text(yaml.safe_dump(content))
        return load_questions(tmp_path / "questions.yml")

    return read


def test_both_kinds_of_exam_questions_are_read(load):
    drawn, chosen = load(SOUND).exam
    assert (
        [one["answer"] for one in drawn.variants] == [2, 4]
        and drawn.within == 0.01
        and not drawn.options
    )
    assert chosen.options[0].correct and not chosen.variants


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda one: one.pop("worked"), "missing worked"),
        (lambda one: one.update(page="lost"), "no page lost.md"),
        (lambda one: one.update(answer="n +"), "no expression"),
        (lambda one: one.update(question="{m}?"), r"\{m\}, which is neither drawn"),
        (lambda one: one.update(question="It is {answer}?"), "gives its answer away"),
        (lambda one: one.update(question="$x^{n}$?"), "inside of a formula"),
        (lambda one: one.update(draw={"n": 3}), "list of values"),
        (lambda one: one.update(within=2), "share of the answer"),
        (lambda one: one.update(options=[]), "unknown key"),
        (lambda one: one.update(id="two"), "used twice"),
    ],
)
def test_a_mistake_in_an_exam_question_is_named(load, change, message):
    content = copy.deepcopy(SOUND)
    change(content["exam"][0])
    with pytest.raises(QuestionError, match=message):
        load(content)


# What the book asks


def test_each_chapter_owes_two_questions_with_worked_answers():
    assert [path.parent.name for path in CHAPTERS if len(load_questions(path).exam) < 2] == [
        "16-review"
    ]
    assert sum(bool(question.variants) for question in WRITTEN.values()) >= 8


def ask(name):
    return [(one, one["answer"]) for one in WRITTEN[name].variants]


def test_drawn_answers_by_counting():
    for one, answer in ask("exam-pmi"):
        cells = torch.tensor(
            [[one["both"], one["left"] - one["both"]], [one["right"] - one["both"], 0]],
            dtype=torch.float64,
        )
        cells[1, 1] = one["total"] - cells.sum()
        joint = cells / cells.sum()
        assert answer == pytest.approx(
            float(torch.log2(joint[0, 0] / joint.sum(1)[0] / joint.sum(0)[0]))
        )
    for one, answer in ask("exam-perplexity"):
        losses = [math.log(one["often"])] * 50 + [math.log(one["seldom"])] * 50
        assert answer == pytest.approx(math.exp(sum(losses) / 100))
    for one, answer in ask("exam-window-share"):
        n, side, inner = 9000, one["side"], range(one["side"], one["side"] + 3)
        assert all(
            sum(abs(i - j) <= side for j in range(n)) / one["tokens"] == pytest.approx(answer)
            for i in inner
        )
    for one, answer in ask("exam-three-votes"):
        counted = sum(
            math.prod(one["p"] if right else 1 - one["p"] for right in votes)
            for votes in itertools.product((0, 1), repeat=3)
            if sum(votes) > 1
        )
        assert answer == pytest.approx(counted)
    for one, answer in ask("exam-padding-share"):
        rows = torch.nn.utils.rnn.pad_sequence(
            [torch.ones(one[name]) for name in "abc"], batch_first=True
        )
        assert answer == pytest.approx(float((rows == 0).double().mean()))
    for one, answer in ask("exam-slot"):
        pool = {
            (block, place): block * one["size"] + place
            for block in range(12)
            for place in range(one["size"])
        }
        assert (
            answer
            == [pool[block, place] for block in (7, 2, 9) for place in range(one["size"])][
                one["token"]
            ]
        )
    for one, answer in ask("exam-empty-places"):
        assert answer == sum(-one[name] % one["size"] for name in "abc")
    for one, answer in ask("exam-unchanged"):
        assert answer == pytest.approx(one["tokens"] * 0.15 * (1 - 0.8 - 0.1))


def test_drawn_answers_by_the_libraries():
    from sklearn.metrics import f1_score

    for one, answer in ask("exam-entities"):
        both, missed, wrong = one["right"], one["there"] - one["right"], one["found"] - one["right"]
        assert answer == pytest.approx(
            f1_score(
                [1] * both + [1] * missed + [0] * wrong, [1] * both + [0] * missed + [1] * wrong
            )
        )
    for one, answer in ask("exam-temperature"):
        shares = torch.softmax(
            torch.tensor([math.log(one["ratio"]), 0.0, 1.3], dtype=torch.float64)
            / one["temperature"],
            0,
        )
        assert answer == pytest.approx(float(shares[0] / shares[1]))
    for one, answer in ask("exam-running-sum"):
        scores = torch.tensor(
            [one["peak"], one["peak"] + math.log(one["total"] - 1), one["score"]],
            dtype=torch.float64,
        )
        if scores[1] <= one["score"]:  # any scores below the new peak with this sum
            assert answer == pytest.approx(float(torch.exp(scores - one["score"]).sum()))
    with torch.device("meta"):
        for one, answer in ask("exam-projections"):
            layer = torch.nn.MultiheadAttention(one["width"], one["heads"], bias=False)
            assert answer == sum(p.numel() for p in layer.parameters())
        for one, answer in ask("exam-longer-table"):
            assert (
                answer
                == torch.nn.Embedding(one["length"], one["width"]).weight.numel()
                - torch.nn.Embedding(512, one["width"]).weight.numel()
            )
        for one, answer in ask("exam-lora-numbers"):
            a, b = (
                torch.nn.Linear(one["inside"], one["rank"], bias=False),
                torch.nn.Linear(one["rank"], one["outside"], bias=False),
            )
            assert answer == a.weight.numel() + b.weight.numel()
        for one, answer in ask("exam-cache-size"):
            cache = torch.empty(
                one["layers"], 2, one["heads"], one["tokens"], 128, dtype=torch.float16
            )
            assert answer == cache.numel() * cache.element_size() / 2**20
        for one, answer in ask("exam-score-bytes"):
            scores = torch.empty(one["tokens"], one["tokens"], dtype=torch.float16)
            assert answer == scores.numel() * scores.element_size() / 2**20


def test_three_learned_merges_cut_band_as_the_library_does():
    from tokenizers import Tokenizer, models

    pieces = ["a", "b", "n", "d", "an", "and", "ban"]
    library = Tokenizer(
        models.BPE(
            {piece: n for n, piece in enumerate(pieces)}, [("a", "n"), ("an", "d"), ("b", "an")]
        )
    )
    assert library.encode("band").tokens == ["b", "and"]


# Fairness and draws


def test_length_tells_nothing_in_the_bank():
    bank = exam.exam_bank(BOOK)
    assert exam.telling_lengths(bank) is None and len(bank) > 150
    told = [item(str(k), (9, 5, 5)) for k in range(10)] + [
        item(f"n{k}", (5, 9, 5)) for k in range(10)
    ]
    assert "in 10 of the exam's 20 questions" in exam.telling_lengths(told)
    kept = exam.fair(told)
    assert (
        sum(map(exam.longest_is_right, kept)) == 5 and len(kept) == 15 and exam.fair(told) == kept
    )
    assert exam.telling_lengths(kept) is None


def test_a_tie_for_the_longest_tells_nothing():
    assert not exam.longest_is_right(item("tie", (5, 5, 3))) and exam.longest_is_right(
        item("one", (6, 5, 3))
    )


def test_a_sheet_has_the_plan_s_numbers_and_no_question_twice():
    bank = exam.exam_bank(BOOK)
    plan = exam.blueprint(bank)
    by_key = {one.key: one for one in bank}
    assert sum(plan.values()) == exam.QUESTIONS
    for seed in (0, 1, 4711, 999_999_999):
        sheet = exam.draw_exam(bank, plan, seed)
        assert len({asked.key for asked in sheet}) == exam.QUESTIONS and sheet == exam.draw_exam(
            bank, plan, seed
        )
        for chapter, many in plan.items():
            assert sum(by_key[asked.key].chapter == chapter for asked in sheet) == many
        assert all(
            sorted(asked.order) == list(range(len(by_key[asked.key].options))) for asked in sheet
        )
        assert all(0 <= asked.variant < max(1, by_key[asked.key].variants) for asked in sheet)
    assert exam.draw_exam(bank, plan, 1) != exam.draw_exam(bank, plan, 2)


def test_a_small_chapter_gives_what_it_has():
    bank = [
        item("a", (1, 2)),
        *(item(f"b{k}", (1, 2), chapter=2) for k in range(9)),
        *(item(f"c{k}", (1, 2), chapter=3) for k in range(9)),
    ]
    assert (
        exam.blueprint(bank, 8) == {1: 1, 2: 4, 3: 3}
        and sum(exam.blueprint(bank, 30).values()) == 19
    )


def test_draws_are_even():
    numbers = Numbers(1)
    counts = torch.bincount(
        torch.tensor([numbers.below(6) for _ in range(60_000)]), minlength=6
    ).double()
    assert (
        float(((counts - 10_000) ** 2 / 10_000).sum()) < 35
    )  # chi-squared with 5 degrees of freedom: one seed in a million
    orders = [tuple(Numbers(seed).some("abc", 3)) for seed in range(6000)]
    assert all(850 < orders.count(order) < 1150 for order in itertools.permutations("abc"))


def test_the_pass_mark_is_three_deviations_above_guessing():
    assert (
        exam.pass_mark([1 / 3] * 30) == 18
        and exam.pass_mark([1 / 4] * 30) == 15
        and exam.pass_mark([0.0] * 30) == 0
    )
    mean, deviation = exam.guessing([1 / 3] * 30)
    assert (mean, deviation) == (
        pytest.approx(10),
        pytest.approx(torch.distributions.Binomial(30, torch.tensor(1 / 3)).stddev.item()),
    )

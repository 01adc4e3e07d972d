"""What is particular to chapter 1's exercises: the reference, the numbers on the cards, the lying
line, the training.
"""

import re

import torch
from torch.testing import assert_close

from autograder.authoring.catalogue import ROOT, assignment
from autograder.authoring.implementations import from_file, reference
from course.demo import Film, gensim_score, ready
from reference_impl.embeddings import counts, evaluation, glove, skipgram
from reference_impl.embeddings.vocabulary import Vocabulary

ONE = assignment("01")
OURS = reference("01")


def card(name: str) -> str:
    return ONE.cells[f"{name}-card"][0].source


def rng() -> torch.Generator:
    return torch.Generator().manual_seed(7)


def test_the_assignment_is_worth_fifty_points():
    assert ONE.points == 50


def test_counts_and_ppmi_equal_the_reference_implementation():
    sentences = [torch.randint(0, 9, (n,), generator=rng()).tolist() for n in (12, 1, 0, 5)]
    table = OURS["window_counts"](sentences, 9, 3)
    assert_close(table.double(), torch.from_numpy(counts.window_counts(sentences, 9, 3).toarray()))
    assert_close(OURS["ppmi"](table), counts.ppmi(table))


def test_sampling_equals_the_reference_implementation():
    number = torch.randint(0, 500, (40,), generator=rng())
    assert_close(
        OURS["keep_probability"](number, 0.01).double(),
        skipgram.keep_probability(number, 0.01),
        rtol=1e-5,
        atol=0,
    )
    assert_close(
        OURS["noise_distribution"](number).double(),
        skipgram.noise_distribution(number),
        rtol=1e-5,
        atol=0,
    )


def test_skip_gram_equals_the_reference_implementation():
    parts = [
        torch.randn(4, 6, generator=rng()),
        torch.randn(4, 6, generator=rng()),
        torch.randn(4, 3, 6, generator=rng()),
    ]
    loss, *gradients = skipgram.sgns_gradients(*parts)
    assert_close(OURS["sgns_loss"](*parts), loss)
    for ours, theirs in zip(OURS["sgns_gradients"](*parts), gradients, strict=True):
        assert_close(ours, theirs)


def test_weight_and_analogy_equal_the_reference_implementation():
    number = torch.rand(5, 5, generator=rng()) * 200
    assert_close(OURS["glove_weight"](number, 80.0, 0.5), glove.glove_weight(number, 80.0, 0.5))
    matrix = torch.randn(30, 5, generator=rng())
    for question in torch.stack(
        [torch.randperm(30, generator=rng())[:3] for _ in range(20)]
    ).tolist():
        assert OURS["analogy"](matrix, *question) == evaluation.analogy(matrix, *question)


def test_the_numbers_worked_out_on_the_cards_are_what_the_reference_gives():
    assert OURS["window_counts"]([[0, 1, 2, 3]], 4, 1).sum() == 6
    assert OURS["window_counts"]([[0, 1, 2, 0, 3]], 4, 3)[0, 0] == 2
    assert [OURS["predict_pairs"](*pair) for pair in ((4, 1), (4, 2), (3, 10), (0, 2))] == [
        6,
        10,
        6,
        0,
    ]
    assert OURS["predict_sizes"](5, 3, 7) == {
        "parameters": 30,
        "dense_bytes": 100,
        "sparse_bytes": 80,
    }
    assert_close(
        OURS["ppmi"](torch.tensor([[6, 2], [0, 4]])),
        torch.tensor([[0.405, 0.0], [0.0, 0.693]]),
        rtol=0,
        atol=5e-4,
    )
    keep = OURS["keep_probability"](torch.tensor([60_000, 100, 5, 939_895]), 1e-5)
    assert_close(keep[:3], torch.tensor([0.0129, 0.316, 1.0]), rtol=0, atol=5e-4)
    assert_close(
        OURS["keep_probability"](torch.tensor([9, 1]), 0.1),
        torch.tensor([0.333, 1.0]),
        rtol=0,
        atol=5e-4,
    )
    assert_close(
        OURS["noise_distribution"](torch.tensor([81, 16, 1])), torch.tensor([27.0, 8.0, 1.0]) / 36
    )
    loss = OURS["sgns_loss"](torch.tensor([[1.0]]), torch.tensor([[2.0]]), torch.tensor([[[-1.0]]]))
    assert_close(loss, torch.tensor(0.440), rtol=0, atol=5e-4)
    gradients = OURS["sgns_gradients"](
        torch.tensor([[1.0, 0]]), torch.tensor([[0.0, 2]]), torch.tensor([[[0.0, -1]]])
    )
    assert [part.flatten().tolist() for part in gradients] == [[0, -1.5], [-0.5, 0], [0.5, 0]]
    assert OURS["glove_weight"](torch.tensor([0, 6.25, 100, 2500])).tolist() == [0, 0.125, 1, 1]
    plane = torch.tensor([[1, 0], [0.8, 0.6], [0.96, 0.28], [0.28, 0.96], [0, 1]])
    assert_close(
        plane @ (plane[1] - plane[0] + plane[2]),
        torch.tensor([0.760, 1.136, 0.976, 1.058, 0.880]),
        rtol=0,
        atol=5e-4,
    )
    assert OURS["analogy"](plane, 0, 1, 2) == 3


def listing(repaired: bool):
    """The function that is printed on the card of the CBOW exercise, as it stands or with line 5
    repaired.
    """
    code = re.search(r"```python\n(def cbow_scores.*?)```", card("cbow_scores"), re.DOTALL).group(1)
    if repaired:
        code = code.replace("contexts.shape[1] ", "present.sum(dim=1)")
    namespace: dict = {}
    exec(code, namespace)
    return namespace["cbow_scores"]


def test_the_printed_cbow_goes_wrong_where_slots_are_empty_and_only_by_line_five():
    vectors = torch.tensor([[2.0, 0], [4, 2]]), torch.eye(2)
    full, ragged = torch.tensor([[0, 1]]), torch.tensor([[1, -1]])
    assert listing(False)(*vectors, full).tolist() == [[3, 1]]
    assert listing(False)(*vectors, ragged).tolist() == [[2, 1]]
    for right in (listing(True), OURS["cbow_scores"]):
        assert right(*vectors, full).tolist() == [[3, 1]] and right(*vectors, ragged).tolist() == [
            [4, 2]
        ]


def test_the_code_in_the_third_hints_runs_and_solves_its_own_problem():
    names = {"torch": torch}
    for id in ONE.exercises:
        for code in re.findall(r"```python\n(.*?)```", ONE.hints(id)[2].text, re.DOTALL):
            exec(code, names)
    assert names["letter_pairs"](["banana"], "abn")[0, 2] == 2
    assert names["more_than_chance"](torch.ones(2, 3)).abs().max() < 1e-6
    assert names["spam_loss"](torch.tensor([-200.0]), torch.ones(1)) == 200
    assert names["next_film"](torch.tensor([[0.0, 0], [2, 0], [1, 0.5], [9, 9]]), [0, 1]) == 2
    a, b, y = (
        torch.randn(3, 4, generator=rng()).requires_grad_(),
        torch.ones(3, 4, requires_grad=True),
        torch.zeros(3),
    )
    ((a * b).sum(-1) - y).square().mean().backward()
    assert_close(names["rating_gradients"](a.detach(), b.detach(), y), (a.grad, b.grad))


def test_gensims_figure_is_read_from_the_record_and_a_missing_record_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr("course.demo.ROOT", tmp_path)
    monkeypatch.setattr("course.demo.RECORD", tmp_path / "skipgram.json")
    assert "skipgram.json is missing" in gensim_score()
    (tmp_path / "skipgram.json").write_text('{"gensim": {"wordsim353": 0.4321}}', encoding="utf-8")
    assert "0.432" in gensim_score()


def test_training_waits_kindly_while_a_function_is_not_written(tmp_path, capsys):
    notebook = from_file(ROOT / "exercises" / ONE.name / f"{ONE.name}.ipynb")
    assert not ready(notebook["sgns_gradients"], OURS["keep_probability"])
    said = capsys.readouterr().out
    assert "sgns_gradients (0 of 5 points so far)" in said and "keep_probability" not in said


def test_the_training_loop_pulls_together_what_stands_together():
    namespace = dict(OURS)
    exec(ONE.cells["train-loop"][0].source, namespace)
    assert ready(OURS["keep_probability"], OURS["noise_distribution"], OURS["sgns_gradients"])
    subject = torch.randint(
        0, 2, (600, 1), generator=rng()
    )  # each line is about one of two subjects
    text = (subject * 5 + torch.randint(0, 5, (600, 8), generator=rng())).flatten()
    line = torch.arange(600).repeat_interleave(8)
    vocabulary = Vocabulary([f"word{row}" for row in range(10)], [1] * 10)
    film = Film(vocabulary.index, {"first": ["word0", "word1", "absent"], "second": ["word5"]})
    vectors = namespace["train"](vocabulary, text, line, film, dim=8, threshold=1.0, batch=64)
    same, other = (
        evaluation.cosine_similarity(vectors["word0"], vectors[word]) for word in ("word1", "word5")
    )
    assert same > other + 0.5
    assert film.loss < film.shots[0][0]["loss"]
    drawn = film.figure("A caption.", "An alternative text.")
    assert drawn.data["words"] == ["word0", "word1", "word5"]
    assert len(drawn.data["snapshots"][0]["positions"]) == 3

"""Checks of chapter 6, part 5: MaxSim, the score of late interaction."""

import torch
from torch import Tensor

from autograder.chapters.c06_bert_finetuning_and_inference.withholding import BOOK, LIBRARIES, OURS
from autograder.checks.inputs.draws import look_alikes, normal, one_changed, whole
from autograder.checks.protocol import exercise, expect

maxsim = exercise(
    "06.maxsim",
    function="maxsim",
    points=4,
    see=f"{BOOK}/retrieval-models#four-scores",
    withhold=OURS
    | LIBRARIES
    | {"reference_impl.models.late_interaction": "it is the course's own answer"},
)
CLOSE = {"rtol": 1e-4, "atol": 1e-5}
Inputs = tuple[Tensor, Tensor, Tensor, Tensor]


def right_maxsim(queries: Tensor, query_mask: Tensor, texts: Tensor, text_mask: Tensor) -> Tensor:
    """The right scores in float64, pair by pair."""
    rows = [
        [
            _score(query[seen].double(), text[shown].double())
            for text, shown in zip(texts, text_mask, strict=True)
        ]
        for query, seen in zip(queries, query_mask, strict=True)
    ]
    return torch.tensor(rows, dtype=torch.float32)


def _score(query: Tensor, text: Tensor) -> float:
    """MaxSim of one query with one text, without padding."""
    cosines = (query / query.norm(dim=1, keepdim=True)) @ (text / text.norm(dim=1, keepdim=True)).T
    return cosines.max(1).values.sum().item() if len(query) else 0.0


def ask(student, cause: str, queries: Tensor, query_mask: Tensor, *texts: Tensor) -> None:
    """Compare all scores."""
    given = (
        f"{len(queries)} queries of {queries.shape[1]} positions, {len(texts[0])} texts of"
        f" {texts[0].shape[1]}, C = {queries.shape[2]}"
    )
    expect(student.maxsim(queries, query_mask, *texts), given=given).close(
        right_maxsim(queries, query_mask, *texts), **CLOSE, cause=cause
    )


def drawn(rng, A: int, M: int, B: int, T: int, C: int) -> Inputs:
    """Token vectors of drawn lengths, without padding."""

    def vectors(rows: int, positions: int) -> Tensor:
        lengths = 0.5 + 2 * torch.rand(rows, positions, 1, generator=rng)
        return lengths * torch.nn.functional.normalize(normal(rng, rows, positions, C), dim=-1)

    return (
        vectors(A, M),
        torch.ones(A, M, dtype=torch.bool),
        vectors(B, T),
        torch.ones(B, T, dtype=torch.bool),
    )


def padded(rng, mask: Tensor) -> Tensor:
    """A mask with about a third of padding anywhere, some at least, and a token in each row."""
    rows, positions = mask.shape
    hidden = torch.rand(rows, positions, generator=rng) < 1 / 3
    hidden[0, 0] = True
    hidden[torch.arange(rows), torch.randint(1, positions, (rows,), generator=rng)] = False
    return ~hidden


@maxsim.stage("cosines", points=1)
def test_one_token_each_scores_the_cosine(student, rng):
    rule = "With one token each, the score is their cosine: divide the dot product by both lengths."
    for sizes in ((1, 1, 1, 1, 2), (3, 1, 2, 1, 4), (2, 1, 5, 1, 3), (4, 1, 1, 1, 300)):
        ask(student, rule, *drawn(rng, *sizes))


@maxsim.stage("best match", points=1)
def test_each_query_token_adds_its_largest_cosine(student, rng):
    rule = "Each query token adds its largest cosine with a token of the text."
    hand = torch.tensor([[[1.0, 0.0], [0.0, 1.0]]]), torch.ones(1, 2, dtype=torch.bool)
    text = torch.tensor([[[2.0, 0.0], [0.6, 0.8]]]), torch.ones(1, 2, dtype=torch.bool)
    ask(student, f"{rule} This is the case by hand.", *hand, *text)
    against = (-text[0].abs(), text[1])
    ask(student, f"{rule} The largest may be negative.", *hand, *against)
    for sizes in (
        (1, 4, 1, 3, 2),
        (2, 3, 3, 4, 5),
        (3, 4, 2, 4, 4),
        (1, 300, 2, 2, 3),
        (2, 2, 1, 300, 3),
        (whole(rng, 2, 4), whole(rng, 3, 6), whole(rng, 5, 7), whole(rng, 3, 6), 6),
    ):
        ask(student, rule, *drawn(rng, *sizes))


@maxsim.stage("text padding", points=1)
def test_padding_of_a_text_never_matches(student, rng):
    rule = "Padding of a text must never be the best match, whatever its vector."
    for sizes in ((1, 1, 2, 3, 4), (2, 3, 3, 6, 5), (3, 2, 4, 9, 3)):
        queries, seen, texts, everything = drawn(rng, *sizes)
        shown = padded(rng, everything)
        for mask in (shown, everything):
            ask(student, rule, queries, seen, texts, mask)
        same = torch.where(shown.unsqueeze(-1), texts, queries[0, 0])
        ask(student, f"{rule} Here padding equals a query token.", queries, seen, same, shown)
        zeros = texts * shown.unsqueeze(-1)
        ask(student, f"{rule} Here padding is zeros.", queries, seen, zeros, shown)
    queries, seen, texts, _ = drawn(rng, 2, 1, 2, 4, 3)
    queries, texts = queries[:1], -queries[0].expand(2, 4, 3) + 0.1 * texts
    shown = torch.tensor([[True, True, False, False]] * 2)
    texts = texts * shown.unsqueeze(-1)
    ask(student, f"{rule} All cosines are negative here.", queries, seen[:1], texts, shown)


@maxsim.stage("query padding", points=1)
def test_padding_of_a_query_adds_nothing(student, rng):
    rule = "Padding of a query adds 0 to the sum."
    for sizes in ((1, 2, 1, 1, 3), (2, 5, 3, 2, 4), (4, 8, 2, 3, 3)):
        queries, seen, *texts = drawn(rng, *sizes)
        seen = padded(rng, seen)
        ask(student, rule, queries, seen, *texts)
        zeros = queries * seen.unsqueeze(-1)
        ask(student, f"{rule} Here padding is zeros.", zeros, seen, *texts)
        nothing = torch.zeros_like(seen)
        ask(student, f"{rule} A query of padding only scores 0.", queries, nothing, *texts)
    first, second = (drawn(rng, 2, 3, 2, 4, 5) for _ in range(2))
    for case in [*one_changed(first, second), *look_alikes(first)]:
        ask(student, "The score depends only on the arguments.", *case)

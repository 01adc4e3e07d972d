"""Checks of chapter 9, part 3: beam search, on models that are tables."""

import torch

from autograder.chapters.c09_generating_text.beam_cases import CLEAR, NEVER, drawn, sizes, steady
from autograder.chapters.c09_generating_text.beams import searched
from autograder.chapters.c09_generating_text.tables import uneven, whole_text
from autograder.chapters.c09_generating_text.withholding import LIBRARIES, OURS
from autograder.checks.inputs.draws import counts, normal, whole
from autograder.checks.protocol import TableModel, Watched, exercise, expect

BOOK = "09-generating-text"

beam_search = exercise(
    "09.beam_search",
    function="beam_search",
    points=12,
    see=f"{BOOK}/beam#by-hand",
    withhold=OURS | LIBRARIES,
)


def ask_beams(
    student,
    cause: str,
    model,
    prompt: list[int],
    width: int,
    max_tokens: int,
    end_id: int,
    penalty: float,
    score: bool = True,
) -> None:
    """Compare the tokens, and then the score."""
    right = searched(getattr(model, "function", model), prompt, width, max_tokens, end_id, penalty)
    given = (
        f"{len(prompt)} prompt tokens, width {width}, max_tokens {max_tokens}, "
        + (f"end_id {end_id}" if end_id != NEVER else "an end_id that never comes")
        + f", penalty {penalty:g}"
    )
    ids, came = expect(
        student.beam_search(model, prompt, width, max_tokens, end_id, penalty), given=given
    ).unpacks(2)
    ids = expect(ids, "Your list of tokens", given).is_a(list)
    expect(len(ids) == len(right.ids)).is_true(
        cause=cause,
        detail=f"Given {given}. Your list has {len(ids)} tokens, expected {len(right.ids)}",
    )
    expect(ids, "Your list of tokens", given).equals(right.ids, cause=cause)
    if score:
        expect(came, "Your score", given).close(
            float(right.score),
            rtol=1e-4,
            atol=1e-5,
            cause=f"{cause} The tokens are right here, and the score is not.",
        )


def large(rng, entries: int, length: int, width: int, new: int) -> tuple:
    """A model that looks at every token so far, a prompt and sizes for which nothing hangs on a
    near tie.
    """
    while True:
        arguments = (
            whole_text(1.5 * normal(rng, 64, entries)),
            counts(rng, 0, entries - 1, length).tolist(),
            width,
            new,
            NEVER,
            0.0,
        )
        if searched(*arguments).margin > CLEAR:
            return arguments


@beam_search.stage("greedy", points=2)
def test_a_beam_of_one_is_the_loop_of_exercise_one(student, rng):
    rule = (
        "Width 1, no end, penalty 0: the most probable token each time, and the score is the sum"
        " of the"
        " natural logarithms of their probabilities, each given the prompt and the tokens"
        " before it."
    )
    ask_beams(student, rule, *drawn(rng, "greedy"))
    for entries, new in ((2, 1), (3, 2), (40, 4), (whole(rng, 4, 9), whole(rng, 2, 6))):
        ask_beams(
            student,
            rule,
            TableModel(uneven(rng, entries, entries) / 4),
            [0, entries - 1],
            1,
            new,
            NEVER,
            0.0,
        )
    ask_beams(
        student,
        rule,
        Watched(whole_text(uneven(rng, 32, 5) / 2), calls=40),
        [1, 3, 2],
        1,
        4,
        NEVER,
        0.0,
    )
    for number in range(2):
        for prompt in ([0, 2], [1, 2]):
            ask_beams(student, rule, steady(number), prompt, 1, 3, NEVER, 0.0)


@beam_search.stage("beams", points=3)
def test_the_best_of_all_candidates_together_are_kept(student, rng):
    rule = (
        "Several beams, no end, penalty 0: the best `width` of all candidates together are kept,"
        " wherever they come from, so that one beginning may be kept in several ways and another be"
        " dropped. At first there is one hypothesis."
    )
    first = torch.full((7, 7), -torch.inf)
    for row, ways in {
        0: {1: 0.40, 2: 0.35, 3: 0.25},
        1: {4: 0.6, 5: 0.4},
        2: {5: 0.6, 6: 0.4},
        3: {4: 1.0},
        4: {0: 1.0},
        5: {0: 1.0},
        6: {0: 1.0},
    }.items():
        first[row, list(ways)] = torch.tensor(list(ways.values())).log()
    for width in (1, 2, 3, 4):
        ask_beams(
            student,
            f"{rule} This is the case by hand.",
            TableModel(first),
            [0],
            width,
            2,
            NEVER,
            0.0,
        )
    for name in ("beams of 2", "beams of 3", "beams of 5", "one too many"):
        for _ in range(2):
            ask_beams(student, rule, *drawn(rng, name))
    number = whole(rng, 0, 5)
    for width, new, *more in (sizes()[place] for place in (0, 3, 4, 5, 7)):
        ask_beams(student, rule, steady(number), [0, 2], width, new, *more)
    for other, prompt in ((number + 1, [0, 2]), (number, [1, 2])):
        ask_beams(student, rule, steady(other), prompt, 3, 4, NEVER, 0.0)


@beam_search.stage("ends", points=2, after="beams")
def test_finished_hypotheses_are_put_aside(student, rng):
    rule = (
        "Some hypotheses end, penalty 0: who ends with `end_id` is put aside with its sum, never"
        " lengthened and never forgotten, and the others continue. The best of all is returned,"
        " be it"
        " the first that ended or the last, however many have ended."
    )
    for name in ("continue", "lost", "first", "enough", "late", "continue", "first"):
        ask_beams(student, rule, *drawn(rng, name))
    model, prompt, width, new, end, penalty = next(
        one for one in iter(lambda: drawn(rng, "continue"), None) if len(one[1]) > 1
    )
    ask_beams(
        student,
        f"{rule} The end token stands in the prompt here, which ends nothing.",
        model,
        [end, *prompt],
        width,
        new,
        end,
        penalty,
    )
    number = whole(rng, 0, 5)
    for more in sizes()[8:13]:
        ask_beams(student, rule, steady(number), [0, 2], *more)


@beam_search.stage("length", points=2, after="beams")
def test_the_score_is_the_sum_over_the_length_to_the_penalty(student, rng):
    rule = (
        "The score is the sum divided by the number of new tokens to the power of the penalty: the"
        " end token is counted, the prompt is not. Scores decide at the end, and sums before: a"
        " score may still rise while a hypothesis grows, so none is a reason to stop. All finished"
        " hypotheses are compared, also more than `width`."
    )
    for name in ("half", "whole", "double", "patient", "patient", "many ended", "many ended"):
        ask_beams(student, rule, *drawn(rng, name))
    for penalty in (3.0, 0.25):
        *arguments, _ = drawn(rng, "beams of 3")
        ask_beams(student, f"{rule} None ends here, so all are equally long.", *arguments, penalty)
    late = torch.tensor(
        [[0.0, -torch.inf, -torch.inf], [-torch.inf, -torch.inf, 0.0], [-torch.inf, 0.0, 0.0]]
    )  # first comes 1 or the end, 2; after 1 the end, after 0 only 0
    for new in (30, 200):
        ask_beams(
            student,
            "A token with the logit minus infinity cannot come: no finite number may stand for it,"
            " since a long hypothesis is divided by a large number.",
            TableModel(late),
            [2],
            3,
            new,
            2,
            3.0,
        )
    rare = torch.full((34, 34), -torch.inf)
    rare[[2, 2, 2, 1, 0, *range(3, 34)], [0, 1, 2, 2, 3, *range(4, 34), 2]] = torch.tensor(
        [-500.0] + [0.0] * 35
    )  # the same, but 0 can come, and behind it 31 others before the end
    ask_beams(
        student,
        "A logarithm may be -500, where a probability is 0 in floating point: take `log_softmax`,"
        " not the logarithm of a softmax.",
        TableModel(rare),
        [2],
        3,
        40,
        2,
        3.0,
    )
    number = whole(rng, 0, 5)
    for more in sizes()[13:]:
        ask_beams(student, rule, steady(number), [0, 2], *more)


@beam_search.stage("room", points=1, after="length")
def test_finished_hypotheses_take_no_place_and_are_not_replaced(student, rng):
    rule = (
        "Of all candidates of a step `width` are kept, finished or not: who ends is not replaced by"
        " another in its own step. The next step keeps `width` candidates again: a finished one"
        " takes no room."
    )
    for name in ("places", "replaced"):
        for _ in range(3):
            ask_beams(student, rule, *drawn(rng, name))


@beam_search.stage("unfinished", points=0.5, after="beams")
def test_what_has_not_ended_counts_too(student, rng):
    rule = (
        "After `max_tokens` steps some hypotheses have ended and some have not: all of them are"
        " compared, and here the best has not."
    )
    for name in ("unfinished", "unfinished mean"):
        for _ in range(2):
            ask_beams(student, rule, *drawn(rng, name))


@beam_search.stage("borders", points=1, after="beams")
def test_small_and_large_sizes_minus_infinity_and_long_texts(student, rng):
    wide = "`width` may be larger than the number of candidates: then all are kept."
    for name in ("wide", "all"):
        ask_beams(student, wide, *drawn(rng, name))
    for width in (1, 3):
        model, prompt, _, *more = drawn(rng, "single")
        ask_beams(student, "There may be one new token.", model, prompt, width, *more)
        ask_beams(
            student,
            "With one entry in the vocabulary nothing can be chosen, and every logarithm is 0.",
            TableModel(torch.tensor([[3.0]])),
            [0, 0],
            width,
            4,
            NEVER,
            1.0,
        )
        ask_beams(
            student,
            "The only entry of the vocabulary is the end token: the hypothesis has one token.",
            TableModel(torch.tensor([[3.0]])),
            [0, 0],
            width,
            4,
            0,
            1.0,
        )
    sure = torch.full((4, 4), -torch.inf)
    sure[[0, 1, 2, 3, 0], [1, 2, 3, 0, 2]] = torch.tensor([2.0, 0.0, -5.0, 1000.0, 1.0])
    for width in (1, 2, 5, 20):
        for end in (NEVER, 3, 1):
            ask_beams(
                student,
                "A token with the logit minus infinity cannot come.",
                TableModel(sure),
                [0],
                width,
                4,
                end,
                0.0,
            )
    model, *rest = drawn(rng, "beams of 3")
    shifted = TableModel(
        model.rows + torch.tensor([[900.0], [-900.0], [0.0], [500.0], [-300.0]]), model.endings
    )
    ask_beams(
        student,
        "Logits may be as large as a thousand, and differ from row to row by a number that a"
        " softmax cannot see: take `log_softmax` of each row.",
        shifted,
        *rest,
    )
    for entries, length, width, new in ((4, 300, 2, 6), (300, 3, 4, 2), (3, 300, 2, 60)):
        ask_beams(
            student,
            "Every axis may have 300 entries, and the model may look at each token of the text: ask"
            " with all of it.",
            *large(rng, entries, length, width, new),
        )
    flat = 0.01 * normal(rng, 40, 40)
    flat[torch.arange(40), torch.randperm(40, generator=rng)] = 1.0
    ask_beams(
        student,
        "300 tokens: the product of their probabilities is 0 in floating point. Add logarithms.",
        TableModel(flat),
        [0],
        1,
        300,
        NEVER,
        0.0,
    )


@beam_search.stage("work", points=0.5, after="beams")
def test_one_call_for_each_step(student, rng):
    rule = (
        "Call the model once for each step, with all running hypotheses as rows of one tensor,"
        " never more than `width` of them, and not again when all have finished."
    )
    for name in ("beams of 3", "all", "greedy", "largest"):
        model, *rest = drawn(rng, name)
        watched, ours = Watched(model, calls=300), Watched(model)
        searched(ours, *rest)
        ask_beams(student, rule, watched, *rest)
        shapes, right = (
            [
                tuple(asked[0].shape) if isinstance(asked[0], torch.Tensor) else None
                for asked in one.asked
            ]
            for one in (watched, ours)
        )
        expect(shapes == right).is_true(
            cause=rule, detail=f"you asked with the shapes {shapes[:9]}; {right[:9]} are needed"
        )
    early = torch.tensor([[0.1, 0.5, 0.4], [0.2, 0.7, 0.1], [0.1, 0.3, 0.6]]).log()
    chain = torch.tensor([[0.0, 3.0, -torch.inf], [-torch.inf, -torch.inf, 0.0], [0.0, 0.0, 0.0]])
    for rows, width, new, shapes in (
        (early, 2, 3, [(1, 1), (1, 2), (2, 3)]),
        (chain, 1, 9, [(1, 1), (1, 2)]),
    ):
        watched = Watched(TableModel(rows), calls=300)
        ask_beams(student, rule, watched, [0], width, new, 2, 0.0)
        came = [
            tuple(asked[0].shape) if isinstance(asked[0], torch.Tensor) else None
            for asked in watched.asked
        ]
        expect(came == shapes).is_true(
            cause=rule, detail=f"you asked with the shapes {came[:9]}; {shapes} are needed"
        )

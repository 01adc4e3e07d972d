"""Plausible wrong solutions of chapter 9, part 3."""

import math

from autograder.chapters.c09_generating_text.beams import searched
from autograder.checks.mistakes.registry import mistake

BEAMS = "09.beam_search"
KEPT_BY_SUM = (
    "You compare only the `width` hypotheses with the largest sums at the end. Compare all of them,"
    " by score."
)


def _found(*arguments, **wrong):
    found = searched(*arguments, **wrong)
    return found.ids, found.score


@mistake(
    BEAMS,
    "logits-added",
    caught_by="greedy",
    loses=12,
    misconception=(
        "You add up logits. They are no logarithms of probabilities before `log_softmax`."
    ),
)
def _(*arguments):
    return _found(*arguments, logs=lambda scores: scores)


@mistake(
    BEAMS,
    "probabilities-added",
    caught_by="greedy",
    loses=12,
    misconception="You add up probabilities. Their logarithms are added, or they are multiplied.",
)
def _(*arguments):
    return _found(*arguments, logs=lambda scores: scores.softmax(1))


@mistake(
    BEAMS,
    "logarithm-to-base-2",
    caught_by="greedy",
    loses=12,
    misconception="You take logarithms to base 2. Natural ones are asked for.",
)
def _(*arguments):
    return _found(*arguments, logs=lambda scores: scores.log_softmax(1) / math.log(2))


@mistake(
    BEAMS,
    "always-greedy",
    caught_by="beams",
    loses=10,
    misconception=(
        "All your beams are the same, as if there were only one. At first there is one hypothesis,"
        " and then the best `width` of all candidates."
    ),
)
def _(next_logits, prompt, width, *more):
    return _found(next_logits, prompt, 1, *more)


@mistake(
    BEAMS,
    "copies-at-first",
    caught_by="beams",
    loses=10,
    misconception=(
        "All your beams are the same, as if there were only one. At first there is one hypothesis,"
        " and then the best `width` of all candidates."
    ),
)
def _(next_logits, prompt, width, *more):
    return _found(next_logits, prompt, width, *more, copies=width)


@mistake(
    BEAMS,
    "best-of-each-beam",
    caught_by="beams",
    loses=10,
    misconception=(
        "Each of your beams keeps its own best candidate. The best of all candidates together are"
        " kept."
    ),
)
def _(*arguments):
    return _found(*arguments, best_of_each=True)


@mistake(
    BEAMS,
    "one-beam-too-many",
    caught_by="beams",
    loses=10,
    misconception="You keep one hypothesis more than `width`.",
)
def _(next_logits, prompt, width, *more):
    return _found(next_logits, prompt, width + (width > 1), *more)


@mistake(
    BEAMS,
    "ended-go-on",
    caught_by="ends",
    loses=6.5,
    misconception="You lengthen hypotheses that have ended.",
)
def _(*arguments):
    return _found(*arguments, ended="continue")


@mistake(
    BEAMS,
    "ended-lost",
    caught_by="ends",
    loses=6.5,
    misconception="You forget the hypotheses that have ended.",
)
def _(*arguments):
    return _found(*arguments, ended="lost")


@mistake(
    BEAMS,
    "first-end-wins",
    caught_by="ends",
    loses=7,
    misconception="You stop at the first hypothesis that ends. A better one may end later.",
)
def _(*arguments):
    return _found(*arguments, first_end=True)


@mistake(
    BEAMS,
    "ended-keep-their-places",
    caught_by="room",
    loses=1.5,
    misconception=(
        "Your finished hypotheses take places of the beam. In the next step there are again"
        " `width`."
    ),
)
def _(*arguments):
    return _found(*arguments, ended="keep their room")


@mistake(
    BEAMS,
    "ended-are-replaced",
    caught_by="room",
    loses=1.5,
    misconception=(
        "Where a hypothesis ends, you keep another instead of it in the same step. `width` are kept"
        " in all."
    ),
)
def _(*arguments):
    return _found(*arguments, ended="replaced")


@mistake(
    BEAMS,
    "times-length",
    caught_by="length",
    loses=3.5,
    misconception="You multiply by the length. Divide.",
)
def _(*arguments):
    return _found(*arguments, divide=False)


@mistake(
    BEAMS,
    "penalty-ignored",
    caught_by="length",
    loses=3.5,
    misconception="You leave the penalty out.",
)
def _(*arguments):
    return _found(*arguments, counted=lambda ids: 1)


@mistake(
    BEAMS,
    "end-not-counted",
    caught_by="length",
    loses=3,
    misconception="You do not count the end token in the length.",
)
def _(next_logits, prompt, width, max_tokens, end_id, penalty):
    return _found(
        next_logits,
        prompt,
        width,
        max_tokens,
        end_id,
        penalty,
        counted=lambda ids: max(len(ids) - (ids[-1] == end_id), 1),
    )


@mistake(
    BEAMS,
    "prompt-counted",
    caught_by="length",
    loses=3.5,
    misconception="You count the prompt in the length. New tokens only.",
)
def _(next_logits, prompt, *more):
    return _found(next_logits, prompt, *more, counted=lambda ids: len(prompt) + len(ids))


@mistake(
    BEAMS,
    "unfinished-lost",
    caught_by="unfinished",
    loses=0.5,
    misconception=(
        "You compare finished hypotheses only. Those that still run after the last step count, too."
    ),
)
def _(*arguments):
    return _found(*arguments, unfinished=False)


@mistake(BEAMS, "largest-sums-only", caught_by="length", loses=3, misconception=KEPT_BY_SUM)
def _(*arguments):
    return _found(*arguments, compared="largest")


@mistake(BEAMS, "largest-sums-of-all", caught_by="length", loses=3, misconception=KEPT_BY_SUM)
def _(*arguments):
    return _found(*arguments, compared="together")


@mistake(
    BEAMS,
    "first-ended-only",
    caught_by="ends",
    loses=5,
    misconception=(
        "You keep only the first `width` hypotheses that finish. All finished ones are compared."
    ),
)
def _(*arguments):
    return _found(*arguments, compared="first")


@mistake(
    BEAMS,
    "underflow",
    caught_by="borders",
    loses=1,
    misconception="You multiply probabilities: in a long text their product is 0.",
)
def _(*arguments):
    ids, score = _found(*arguments)
    return (ids, score) if score > -700 else ([0] * len(ids), -math.inf)


@mistake(
    BEAMS,
    "one-call-a-hypothesis",
    caught_by="work",
    loses=0.5,
    misconception="You call the model for each hypothesis by itself.",
)
def _(next_logits, *more):
    import torch

    return _found(lambda ids: torch.cat([next_logits(row[None]) for row in ids]), *more)

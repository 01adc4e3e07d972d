"""Plausible wrong solutions of chapter 6, part 4: spans, and answers compared."""

import re
import string
from collections import Counter

import torch

from autograder.checks.mistakes.registry import mistake

SPAN = "06.best_span"


def _table(start, end, allowed, max_tokens, combine=lambda start, end: start[:, None] + end):
    possible = (
        torch.ones(len(start), len(end), dtype=torch.bool).triu().tril(max_tokens - 1)
        & allowed[:, None]
        & allowed
    )
    return combine(start, end).masked_fill(~possible, -torch.inf)


def _best(sums):
    return divmod(int(sums.flatten().argmax()), sums.shape[1])


@mistake(
    SPAN,
    "two-argmaxes",
    caught_by="order",
    loses=4.5,
    misconception=(
        "You take the best start and the best end by themselves. They may not make a span: compare"
        " sums of pairs."
    ),
)
def _(start, end, allowed, max_tokens):
    start, end = start.masked_fill(~allowed, -torch.inf), end.masked_fill(~allowed, -torch.inf)
    return int(start.argmax()), int(end.argmax())


@mistake(
    SPAN,
    "exchanged-if-crossed",
    caught_by="order",
    loses=4.5,
    misconception=(
        "You exchange the best start and the best end where they cross. The other way round they"
        " have other scores: compare sums of pairs."
    ),
)
def _(start, end, allowed, max_tokens):
    start, end = start.masked_fill(~allowed, -torch.inf), end.masked_fill(~allowed, -torch.inf)
    return tuple(sorted((int(start.argmax()), int(end.argmax()))))


@mistake(
    SPAN,
    "best-end-after-best-start",
    caught_by="order",
    loses=4.5,
    misconception=(
        "You take the best start first, and then the best end behind it. A worse start may have a"
        " better end."
    ),
)
def _(start, end, allowed, max_tokens):
    i = int(start.masked_fill(~allowed, -torch.inf).argmax())
    return i, max(
        (j for j in range(i, min(len(end), i + max_tokens)) if allowed[j]),
        key=lambda j: float(end[j]),
    )


@mistake(
    SPAN,
    "product",
    caught_by="order",
    loses=4.5,
    misconception="You multiply the scores. They are added.",
)
def _(start, end, allowed, max_tokens):
    return _best(_table(start, end, allowed, max_tokens, lambda start, end: start[:, None] * end))


@mistake(
    SPAN,
    "one-token-too-long",
    caught_by="length",
    loses=3,
    misconception=(
        "You let a span have one token more than `max_tokens`: from i to j it has j - i + 1."
    ),
)
def _(start, end, allowed, max_tokens):
    return _best(_table(start, end, allowed, max_tokens + 1))


@mistake(
    SPAN,
    "one-token-too-short",
    caught_by="length",
    loses=3,
    misconception=(
        "You let a span have one token less than `max_tokens`: from i to j it has j - i + 1."
    ),
)
def _(start, end, allowed, max_tokens):
    return _best(_table(start, end, allowed, max(1, max_tokens - 1)))


@mistake(
    SPAN,
    "any-length",
    caught_by="length",
    loses=3,
    misconception="You do not look at `max_tokens`.",
)
def _(start, end, allowed, max_tokens):
    return _best(_table(start, end, allowed, len(start)))


@mistake(
    SPAN,
    "no-single-tokens",
    caught_by="sum",
    loses=6,
    misconception=(
        "You ask for an end behind the start. A single token is a span: start and end may be the"
        " same."
    ),
)
def _(start, end, allowed, max_tokens):
    sums = _table(start, end, allowed, max_tokens).fill_diagonal_(-torch.inf)
    return _best(sums) if sums.isfinite().any() else (int(allowed.long().argmax()),) * 2


@mistake(
    SPAN,
    "best-from-zero",
    caught_by="negative",
    loses=0.5,
    misconception=(
        "You begin with a best sum of 0, or of a number that is not small enough. All sums may be"
        " far below 0: begin with minus infinity."
    ),
)
def _(start, end, allowed, max_tokens):
    sums = _table(start, end, allowed, max_tokens)
    return _best(sums) if float(sums.max()) > -1000 else (0, 0)


@mistake(
    SPAN,
    "only-the-start-allowed",
    caught_by="passage",
    loses=1.5,
    misconception="You ask only whether the start is allowed. The end must be allowed, too.",
)
def _(start, end, allowed, max_tokens):
    return _best(
        _table(start, end, torch.ones_like(allowed), max_tokens).masked_fill(
            ~allowed[:, None], -torch.inf
        )
    )


@mistake(
    SPAN,
    "only-the-end-allowed",
    caught_by="passage",
    loses=1.5,
    misconception="You ask only whether the end is allowed. The start must be allowed, too.",
)
def _(start, end, allowed, max_tokens):
    return _best(
        _table(start, end, torch.ones_like(allowed), max_tokens).masked_fill(~allowed, -torch.inf)
    )


@mistake(
    SPAN,
    "everything-allowed",
    caught_by="passage",
    loses=2.5,
    misconception="You do not look at `allowed`.",
)
def _(start, end, allowed, max_tokens):
    return _best(_table(start, end, torch.ones_like(allowed), max_tokens))


@mistake(
    SPAN,
    "zeros-outside",
    caught_by="passage",
    loses=2.5,
    misconception=(
        "You set the scores of what is not allowed to 0. Where the others are negative, 0 is the"
        " largest: it must be minus infinity."
    ),
)
def _(start, end, allowed, max_tokens):
    return _best(_table(start * allowed, end * allowed, torch.ones_like(allowed), max_tokens))


@mistake(
    SPAN,
    "all-between-allowed",
    caught_by="passage",
    loses=1,
    misconception=(
        "You ask that every token between start and end be allowed. Only the first and the last"
        " must be."
    ),
)
def _(start, end, allowed, max_tokens):
    barred = (~allowed).long().cumsum(0)
    return _best(
        _table(start, end, allowed, max_tokens).masked_fill(barred[:, None] != barred, -torch.inf)
    )


@mistake(
    SPAN,
    "last-of-equals",
    caught_by="ties",
    loses=1,
    misconception=(
        "Of equal sums you take the last. The span that starts first counts, and of those the one"
        " that ends first."
    ),
)
def _(start, end, allowed, max_tokens):
    sums = _table(start, end, allowed, max_tokens)
    return divmod(sums.numel() - 1 - int(sums.flatten().flip(0).argmax()), len(end))


@mistake(
    SPAN,
    "longest-of-equals",
    caught_by="ties",
    loses=1,
    misconception=(
        "Of equal sums with the same start you take the longest span. The one that ends first"
        " counts."
    ),
)
def _(start, end, allowed, max_tokens):
    sums = _table(start, end, allowed, max_tokens)
    i = _best(sums)[0]
    return i, int((sums[i] == sums.max()).nonzero()[-1])


@mistake(
    SPAN,
    "end-excluded",
    caught_by="sum",
    loses=6,
    misconception="Your second number is the token after the span. It is the span's last token.",
)
def _(start, end, allowed, max_tokens):
    i, j = _best(_table(start, end, allowed, max_tokens))
    return i, j + 1


SQUAD = "06.squad_scores"
ARTICLES = ("a", "an", "the")


def _words(text):
    return [
        word
        for word in "".join(one for one in text.lower() if one not in string.punctuation).split()
        if word not in ARTICLES
    ]


def _f1(said, true):
    if not said or not true:
        return float(said == true)
    return 2 * (Counter(said) & Counter(true)).total() / (len(said) + len(true))


def _scores(
    answer, truths, words=_words, f1=_f1, exact=lambda said, true: float(said == true), over=max
):
    said, several = words(answer), [words(truth) for truth in truths or [""]]
    return over([exact(said, true) for true in several]), over([f1(said, true) for true in several])


def _mean(numbers):
    return sum(numbers) / len(numbers)


@mistake(
    SQUAD,
    "sets",
    caught_by="count",
    loses=1,
    misconception=(
        "You count each word once. A word is shared as often as both texts have it, and both are"
        " counted with repetitions."
    ),
)
def _(answer, truths):
    return _scores(answer, truths, f1=lambda said, true: _f1([*set(said)], [*set(true)]))


@mistake(
    SQUAD,
    "shared-too-often",
    caught_by="count",
    loses=1,
    misconception=(
        "You count every word of the answer that the truth has somewhere. It is shared only as"
        " often as the truth has it."
    ),
)
def _(answer, truths):
    def f1(said, true):
        return (
            2 * sum(word in true for word in said) / (len(said) + len(true))
            if said and true
            else float(said == true)
        )

    return _scores(answer, truths, f1=f1)


@mistake(
    SQUAD,
    "articles-inside-words",
    caught_by="plain",
    loses=4,
    misconception=(
        "You take the letters a, an and the out of other words as well. Only whole words are"
        " articles."
    ),
)
def _(answer, truths):
    def words(text):
        text = "".join(one for one in text.lower() if one not in string.punctuation)
        for article in ("the", "an", "a"):
            text = text.replace(article, " ")
        return text.split()

    return _scores(answer, truths, words)


@mistake(
    SQUAD, "articles-kept", caught_by="plain", loses=4, misconception="You keep a, an and the."
)
def _(answer, truths):
    return _scores(
        answer,
        truths,
        lambda text: "".join(one for one in text.lower() if one not in string.punctuation).split(),
    )


@mistake(
    SQUAD,
    "articles-before-punctuation",
    caught_by="plain",
    loses=2,
    misconception=(
        "You take the articles away before the punctuation: `A.` is left over. Punctuation goes"
        " first."
    ),
)
def _(answer, truths):
    def words(text):
        kept = " ".join(word for word in text.lower().split() if word not in ARTICLES)
        return "".join(one for one in kept if one not in string.punctuation).split()

    return _scores(answer, truths, words)


@mistake(
    SQUAD,
    "punctuation-becomes-space",
    caught_by="plain",
    loses=1,
    misconception=(
        "You put a space where punctuation was: `well-known` becomes two words. Nothing comes"
        " instead."
    ),
)
def _(answer, truths):
    return _scores(
        answer,
        truths,
        lambda text: [
            word
            for word in re.sub(f"[{re.escape(string.punctuation)}]", " ", text.lower()).split()
            if word not in ARTICLES
        ],
    )


@mistake(
    SQUAD,
    "underscore-kept",
    caught_by="plain",
    loses=1,
    misconception=(
        "You keep the underscore, which `\\w` takes for a letter. It is in `string.punctuation`."
    ),
)
def _(answer, truths):
    return _scores(
        answer,
        truths,
        lambda text: [
            word for word in re.sub(r"[^\w\s]", "", text.lower()).split() if word not in ARTICLES
        ],
    )


@mistake(SQUAD, "capitals-kept", caught_by="plain", loses=1, misconception="You keep capitals.")
def _(answer, truths):
    return _scores(
        answer,
        truths,
        lambda text: [
            word
            for word in "".join(one for one in text if one not in string.punctuation).split()
            if word.lower() not in ARTICLES
        ],
    )


@mistake(
    SQUAD,
    "split-at-spaces",
    caught_by="plain",
    loses=2,
    misconception=(
        "You split at single spaces: two in a row, or a tab, make words that are none. `split()`"
        " without an argument splits at any white space."
    ),
)
def _(answer, truths):
    return _scores(
        answer,
        truths,
        lambda text: [
            word
            for word in "".join(one for one in text.lower() if one not in string.punctuation).split(
                " "
            )
            if word not in ARTICLES
        ],
    )


@mistake(
    SQUAD,
    "mean-over-truths",
    caught_by="best",
    loses=2,
    misconception="You take the mean over the truths. The best counts.",
)
def _(answer, truths):
    return _scores(answer, truths, over=_mean)


@mistake(
    SQUAD,
    "first-truth-only",
    caught_by="best",
    loses=2,
    misconception="You look at the first truth only.",
)
def _(answer, truths):
    return _scores(answer, truths[:1])


@mistake(
    SQUAD,
    "truths-joined",
    caught_by="best",
    loses=2,
    misconception="You join the truths into one text. Compare with each by itself.",
)
def _(answer, truths):
    return _scores(answer, [" ".join(truths)])


@mistake(
    SQUAD,
    "order-does-not-count",
    caught_by="count",
    loses=1,
    misconception=(
        "Your exact match does not look at the order of the words. It asks for the same words in"
        " the same order."
    ),
)
def _(answer, truths):
    return _scores(answer, truths, exact=lambda said, true: float(Counter(said) == Counter(true)))


@mistake(
    SQUAD,
    "within-the-truth",
    caught_by="plain",
    loses=4,
    misconception=(
        "Your exact match is content with a part. The whole answer must be the whole truth."
    ),
)
def _(answer, truths):
    return _scores(
        answer,
        truths,
        exact=lambda said, true: float(
            said == true or bool(said) and " ".join(said) in " ".join(true)
        ),
    )


@mistake(
    SQUAD,
    "precision-only",
    caught_by="count",
    loses=3,
    misconception="You divide by the words of the answer only. F1 divides by the words of both.",
)
def _(answer, truths):
    return _scores(
        answer,
        truths,
        f1=lambda said, true: (
            (Counter(said) & Counter(true)).total() / len(said)
            if said and true
            else float(said == true)
        ),
    )


@mistake(
    SQUAD,
    "divides-by-nothing",
    caught_by="nothing-left",
    loses=1,
    misconception="You divide by 0 where nothing is left of both.",
)
def _(answer, truths):
    return _scores(
        answer,
        truths,
        f1=lambda said, true: 2 * (Counter(said) & Counter(true)).total() / (len(said) + len(true)),
    )


@mistake(
    SQUAD,
    "zero-for-two-nothings",
    caught_by="nothing-left",
    loses=1,
    misconception="You give an F1 of 0 where nothing is left of both. It is 1.0 then.",
)
def _(answer, truths):
    return _scores(answer, truths, f1=lambda said, true: _f1(said, true) if said else 0.0)


@mistake(
    SQUAD,
    "no-truths-zero",
    caught_by="nothing-left",
    loses=1,
    misconception=(
        "You give 0 wherever there are no truths. They count as one truth of which nothing is left."
    ),
)
def _(answer, truths):
    return _scores(answer, truths) if truths else (0.0, 0.0)

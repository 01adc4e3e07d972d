"""Plausible wrong solutions of chapter 8, part 4."""

import torch
from torch.nn.functional import cross_entropy

from autograder.checks.mistakes.registry import mistake

ROWS = "08.task_rows"


def _rows(task, texts, markers, orders=None, choices=None, pair=None, one=None):
    """The rows as lists, with a part replaced."""
    start, between, end = markers
    pair = pair or (lambda first, second: [start, *first, between, *second, end])
    if task == "classification":
        return [one(texts[0]) if one else [start, *texts[0], end]]
    if task == "entailment":
        return [pair(*texts)]
    if task == "similarity":
        return orders(pair, *texts) if orders else [pair(*texts), pair(*texts[::-1])]
    return choices(pair, *texts) if choices else [pair(texts[0], answer) for answer in texts[1:]]


def _filled(rows, pad, front=False):
    longest = max(map(len, rows))
    ids = [
        [pad] * (longest - len(row)) + row if front else row + [pad] * (longest - len(row))
        for row in rows
    ]
    return torch.tensor(ids), torch.tensor([len(row) - 1 for row in rows])


@mistake(
    ROWS,
    "no-delimiter",
    caught_by="markers",
    loses=5,
    misconception="You leave the delimiter out, so that nobody can see where the first text ends.",
)
def _(task, texts, markers, pad):
    return _filled(
        _rows(
            task,
            texts,
            markers,
            pair=lambda first, second: [markers[0], *first, *second, markers[2]],
        ),
        pad,
    )


@mistake(
    ROWS, "no-end", caught_by="markers", loses=5, misconception="You leave the end marker out."
)
def _(task, texts, markers, pad):
    return _filled([row[:-1] for row in _rows(task, texts, markers)], pad)


@mistake(
    ROWS, "no-start", caught_by="markers", loses=5, misconception="You leave the start marker out."
)
def _(task, texts, markers, pad):
    return _filled([row[1:] for row in _rows(task, texts, markers)], pad)


@mistake(
    ROWS,
    "end-between",
    caught_by="markers",
    loses=5,
    misconception=(
        "You close each of the two texts with the end marker, as BERT does. There is one, at the"
        " end."
    ),
)
def _(task, texts, markers, pad):
    start, between, end = markers
    return _filled(
        _rows(
            task,
            texts,
            markers,
            pair=lambda first, second: [start, *first, end, between, *second, end],
        ),
        pad,
    )


@mistake(
    ROWS,
    "hypothesis-first",
    caught_by="markers",
    loses=5,
    misconception="You write the second text first.",
)
def _(task, texts, markers, pad):
    start, between, end = markers
    return _filled(
        _rows(
            task, texts, markers, pair=lambda first, second: [start, *second, between, *first, end]
        ),
        pad,
    )


@mistake(
    ROWS,
    "one-order",
    caught_by="orders",
    loses=1.5,
    misconception="You write a pair for similarity in one order. Both are read.",
)
def _(task, texts, markers, pad):
    return _filled(
        _rows(task, texts, markers, orders=lambda pair, one, other: [pair(one, other)]), pad
    )


@mistake(
    ROWS,
    "same-order-twice",
    caught_by="orders",
    loses=1.5,
    misconception="You write the same order twice.",
)
def _(task, texts, markers, pad):
    return _filled(
        _rows(task, texts, markers, orders=lambda pair, one, other: [pair(one, other)] * 2), pad
    )


@mistake(
    ROWS,
    "both-orders-in-one-row",
    caught_by="orders",
    loses=1.5,
    misconception="You write both orders into one row. They are two rows.",
)
def _(task, texts, markers, pad):
    return _filled(
        _rows(
            task,
            texts,
            markers,
            orders=lambda pair, one, other: [pair(one, other) + pair(other, one)],
        ),
        pad,
    )


@mistake(
    ROWS,
    "letters-turned-round",
    caught_by="orders",
    loses=1.5,
    misconception=(
        "You reverse the whole sequence. Swap the two texts, and keep the order of ids in each."
    ),
)
def _(task, texts, markers, pad):
    start, between, end = markers
    return _filled(
        _rows(
            task,
            texts,
            markers,
            orders=lambda pair, one, other: [
                pair(one, other),
                [start, *other[::-1], between, *one[::-1], end],
            ],
        ),
        pad,
    )


@mistake(
    ROWS,
    "answers-in-one-row",
    caught_by="choices",
    loses=2.5,
    misconception=(
        "You write all answers into one row, where each sees those before it. Each answer has a row"
        " of its own."
    ),
)
def _(task, texts, markers, pad):
    return _filled(
        _rows(
            task,
            texts,
            markers,
            choices=lambda pair, context, *answers: [
                pair(context, [id for answer in answers for id in answer])
            ],
        ),
        pad,
    )


@mistake(
    ROWS,
    "context-missing",
    caught_by="choices",
    loses=2.5,
    misconception="You write the context before the first answer only.",
)
def _(task, texts, markers, pad):
    start, between, end = markers
    return _filled(
        _rows(
            task,
            texts,
            markers,
            choices=lambda pair, context, *answers: [
                pair(context if not at else [], answer) for at, answer in enumerate(answers)
            ],
        ),
        pad,
    )


@mistake(
    ROWS,
    "padded-in-front",
    caught_by="padding",
    loses=1.5,
    misconception="You pad on the left. Padding belongs after the end marker.",
)
def _(task, texts, markers, pad):
    ids, last = _filled(_rows(task, texts, markers), pad, front=True)
    return ids, torch.full_like(last, ids.shape[1] - 1)


@mistake(
    ROWS,
    "end-after-padding",
    caught_by="padding",
    loses=1.5,
    misconception=("You pad before you add the end marker, so padding lies inside the sequence."),
)
def _(task, texts, markers, pad):
    rows = _rows(task, texts, markers)
    ids, last = _filled([row[:-1] for row in rows], pad)
    return torch.cat((ids, torch.full((len(rows), 1), markers[2])), 1), torch.full_like(
        last, ids.shape[1]
    )


@mistake(
    ROWS,
    "filled-with-zero",
    caught_by="padding",
    loses=1.5,
    misconception="You pad with 0. Use the argument `pad`.",
)
def _(task, texts, markers, pad):
    return _filled(_rows(task, texts, markers), 0)


@mistake(
    ROWS,
    "last-place",
    caught_by="last",
    loses=0.5,
    misconception=(
        "Your `last` is the last position of the tensor, where a short sequence has padding."
    ),
)
def _(task, texts, markers, pad):
    ids, last = _filled(_rows(task, texts, markers), pad)
    return ids, torch.full_like(last, ids.shape[1] - 1)


@mistake(
    ROWS,
    "lengths",
    caught_by="last",
    loses=0.5,
    misconception=("Your `last` is the length of each sequence. Positions start at 0: subtract 1."),
)
def _(task, texts, markers, pad):
    ids, last = _filled(_rows(task, texts, markers), pad)
    return ids, last + 1


@mistake(
    ROWS,
    "counted-by-pad",
    caught_by="last",
    loses=0.5,
    misconception=(
        "You take each id equal to `pad` for padding. It may stand in a text, or be a marker."
    ),
)
def _(task, texts, markers, pad):
    ids, _ = _filled(_rows(task, texts, markers), pad)
    return ids, (ids != pad).sum(1) - 1


@mistake(
    ROWS,
    "first-end",
    caught_by="last",
    loses=0.5,
    misconception="You look for the first end marker. The text may hold that id, too.",
)
def _(task, texts, markers, pad):
    ids, _ = _filled(_rows(task, texts, markers), pad)
    return ids, (ids == markers[2]).int().argmax(1)


JOINT = "08.joint_loss"


def _bets(x, table, ids, asked=None):
    logits = x[:, :-1] @ table.T
    prices = cross_entropy(
        logits.reshape(-1, len(table)), ids[:, 1:].reshape(-1), reduction="none"
    ).reshape(ids[:, 1:].shape)
    return prices if asked is None else prices[asked].sum() / max(int(asked.sum()), 1)


def _asked(ids, last):
    return torch.arange(1, ids.shape[1]) <= last[:, None]


def _label(x, head, last, labels):
    return cross_entropy(x[torch.arange(len(x)), last] @ head.T, labels)


@mistake(
    JOINT,
    "first-token",
    caught_by="label",
    loses=4.5,
    misconception=(
        "You read the label at the first token, as BERT does at [CLS]. A GPT's first token has seen"
        " nothing but itself."
    ),
)
def _(x, table, head, ids, last, labels, weight):
    return cross_entropy(x[:, 0] @ head.T, labels) + weight * _bets(
        x, table, ids, _asked(ids, last)
    )


@mistake(
    JOINT,
    "mean-vector",
    caught_by="label",
    loses=4.5,
    misconception=(
        "You read the label from the mean of the row's vectors. It is the last token's vector."
    ),
)
def _(x, table, head, ids, last, labels, weight):
    tokens = (torch.arange(x.shape[1]) <= last[:, None])[..., None]
    mean = torch.where(tokens, x, 0.0).sum(1) / tokens.sum(1)
    return cross_entropy(mean @ head.T, labels) + weight * _bets(x, table, ids, _asked(ids, last))


@mistake(
    JOINT,
    "labels-summed",
    caught_by="label",
    loses=4.5,
    misconception="You add up the prices of the labels. Take the mean over the rows.",
)
def _(x, table, head, ids, last, labels, weight):
    return len(x) * _label(x, head, last, labels) + weight * _bets(x, table, ids, _asked(ids, last))


@mistake(
    JOINT,
    "table-for-the-label",
    caught_by="label",
    loses=4.5,
    misconception=(
        "You read the label with the table of tokens. It has a matrix of its own, `head`."
    ),
)
def _(x, table, head, ids, last, labels, weight):
    return cross_entropy(
        x[torch.arange(len(x)), last] @ torch.cat((table, head))[: len(head)].T, labels
    ) + weight * _bets(x, table, ids, _asked(ids, last))


@mistake(
    JOINT,
    "last-place",
    caught_by="padding",
    loses=3,
    misconception=("You read the label at `x[:, -1]`. In a short sequence that is padding."),
)
def _(x, table, head, ids, last, labels, weight):
    return cross_entropy(x[:, -1] @ head.T, labels) + weight * _bets(
        x, table, ids, _asked(ids, last)
    )


@mistake(
    JOINT,
    "one-before",
    caught_by="label",
    loses=4.5,
    misconception=(
        "You read the label one position before the last token, a state that has not seen it."
    ),
)
def _(x, table, head, ids, last, labels, weight):
    return _label(x, head, (last - 1).clamp(min=0), labels) + weight * _bets(
        x, table, ids, _asked(ids, last)
    )


@mistake(
    JOINT,
    "bets-on-padding",
    caught_by="language",
    loses=3,
    misconception="Your targets include padding. They end at `last`.",
)
def _(x, table, head, ids, last, labels, weight):
    return _label(x, head, last, labels) + weight * _bets(
        x, table, ids, torch.ones_like(ids[:, 1:], dtype=torch.bool)
    )


@mistake(
    JOINT,
    "one-bet-on-padding",
    caught_by="language",
    loses=3,
    misconception=(
        "You mask by the input token, so the first padding counts as a target. Mask by the target."
    ),
)
def _(x, table, head, ids, last, labels, weight):
    return _label(x, head, last, labels) + weight * _bets(
        x, table, ids, torch.arange(ids.shape[1] - 1) <= last[:, None]
    )


@mistake(
    JOINT,
    "no-bet-on-the-end",
    caught_by="language",
    loses=3,
    misconception="You left out each sequence's last target.",
)
def _(x, table, head, ids, last, labels, weight):
    return _label(x, head, last, labels) + weight * _bets(
        x, table, ids, torch.arange(1, ids.shape[1]) < last[:, None]
    )


@mistake(
    JOINT,
    "no-shift",
    caught_by="language",
    loses=3,
    misconception=(
        "You compare the logits at a position with the token at the same position. They "
        "predict the next one."
    ),
)
def _(x, table, head, ids, last, labels, weight):
    asked = torch.arange(ids.shape[1]) <= last[:, None]
    prices = cross_entropy((x @ table.T).flatten(0, 1), ids.flatten(), reduction="none").reshape(
        ids.shape
    )
    return _label(x, head, last, labels) + weight * prices[asked].mean()


@mistake(
    JOINT,
    "row-means",
    caught_by="language",
    loses=3,
    misconception=(
        "You take the mean of the sequences' mean losses. All targets of the batch have the "
        "same weight."
    ),
)
def _(x, table, head, ids, last, labels, weight):
    asked, prices = _asked(ids, last), _bets(x, table, ids)
    means = [row[which].mean() for row, which in zip(prices, asked) if which.any()]
    return _label(x, head, last, labels) + weight * (torch.stack(means).mean() if means else 0.0)


@mistake(
    JOINT,
    "bets-summed",
    caught_by="language",
    loses=3,
    misconception="You sum the next-token losses. Take their mean.",
)
def _(x, table, head, ids, last, labels, weight):
    return _label(x, head, last, labels) + weight * _bets(x, table, ids)[_asked(ids, last)].sum()


@mistake(
    JOINT,
    "weight-on-the-label",
    caught_by="label",
    loses=4.5,
    misconception="You multiply the label loss by `weight`. It belongs to the next-token loss.",
)
def _(x, table, head, ids, last, labels, weight):
    return weight * _label(x, head, last, labels) + _bets(x, table, ids, _asked(ids, last))


@mistake(
    JOINT,
    "weights-that-add-up",
    caught_by="joint",
    loses=1.5,
    misconception="You weigh the label with 1 - weight. It always counts once.",
)
def _(x, table, head, ids, last, labels, weight):
    return (1 - weight) * _label(x, head, last, labels) + weight * _bets(
        x, table, ids, _asked(ids, last)
    )


@mistake(
    JOINT,
    "half-always",
    caught_by="label",
    loses=6,
    misconception="You take ½, the paper's weight, whatever `weight` says.",
)
def _(x, table, head, ids, last, labels, weight):
    return _label(x, head, last, labels) + 0.5 * _bets(x, table, ids, _asked(ids, last))


@mistake(
    JOINT,
    "no-bet-is-nan",
    caught_by="borders",
    loses=0.5,
    misconception="Without a target you take the mean of no numbers, which is NaN.",
)
def _(x, table, head, ids, last, labels, weight):
    return _label(x, head, last, labels) + (
        weight * _bets(x, table, ids)[_asked(ids, last)].mean() if weight else 0.0
    )


BEST = "08.best_answer"


def _sums(logits_of, prompt, answers, shift=1, first=None, raw=False, prompt_too=False):
    """The sum of each answer's logarithms, with parts replaced."""
    sums = []
    for answer in answers:
        text = prompt + answer
        logits = logits_of(torch.tensor([text]))[0]
        log_p = logits if raw else logits.log_softmax(1)
        places = range(1 if prompt_too else len(prompt), len(text))
        sums.append(
            float(sum((log_p[t - shift, text[t]] for t in list(places)[:first]), torch.zeros(())))
        )
    return sums


def _first_best(numbers, num_bytes):
    quotients = [number / size for number, size in zip(numbers, num_bytes)]
    return quotients.index(max(quotients))


@mistake(
    BEST,
    "no-shift",
    caught_by="answer tokens",
    loses=4,
    misconception=(
        "You score a token by the logits at its own position, which predict the next one."
    ),
)
def _(logits_of, prompt, answers, num_bytes):
    return _first_best(_sums(logits_of, prompt, answers, shift=0), num_bytes)


@mistake(
    BEST,
    "first-token-only",
    caught_by="answer tokens",
    loses=4,
    misconception="You look at each answer's first token alone.",
)
def _(logits_of, prompt, answers, num_bytes):
    return _first_best(_sums(logits_of, prompt, answers, first=1), num_bytes)


@mistake(
    BEST,
    "logits-added",
    caught_by="answer tokens",
    loses=4,
    misconception="You sum logits. Take the log-softmax first.",
)
def _(logits_of, prompt, answers, num_bytes):
    return _first_best(_sums(logits_of, prompt, answers, raw=True), num_bytes)


@mistake(
    BEST,
    "first-token-left-out",
    caught_by="answer tokens",
    loses=4,
    misconception=(
        "You left out each answer's first token. Its logits are at the prompt's last position."
    ),
)
def _(logits_of, prompt, answers, num_bytes):
    return _first_best(
        [
            whole - first
            for whole, first in zip(
                _sums(logits_of, prompt, answers), _sums(logits_of, prompt, answers, first=1)
            )
        ],
        num_bytes,
    )


@mistake(
    BEST,
    "without-the-prompt",
    caught_by="answer tokens",
    loses=4,
    misconception=(
        "You give the model the prompt's last token only. Condition on the whole prompt."
    ),
)
def _(logits_of, prompt, answers, num_bytes):
    return _first_best(_sums(logits_of, prompt[-1:], answers), num_bytes)


@mistake(
    BEST,
    "smallest",
    caught_by="answer tokens",
    loses=4,
    misconception=(
        "You take the lowest score. Log-probabilities are negative: the best answer has the "
        "highest."
    ),
)
def _(logits_of, prompt, answers, num_bytes):
    quotients = [
        number / size for number, size in zip(_sums(logits_of, prompt, answers), num_bytes)
    ]
    return quotients.index(min(quotients))


@mistake(
    BEST,
    "sum",
    caught_by="bytes",
    loses=2,
    misconception="You don't divide by the bytes, which favours short answers.",
)
def _(logits_of, prompt, answers, num_bytes):
    return _first_best(_sums(logits_of, prompt, answers), [1] * len(answers))


@mistake(
    BEST,
    "mean-per-token",
    caught_by="bytes",
    loses=1,
    misconception=(
        "You divide by the number of tokens, which hangs on the tokenizer. It is the number of"
        " bytes."
    ),
)
def _(logits_of, prompt, answers, num_bytes):
    return _first_best(_sums(logits_of, prompt, answers), list(map(len, answers)))


@mistake(
    BEST,
    "times-bytes",
    caught_by="bytes",
    loses=2,
    misconception="You multiply by the bytes in place of dividing.",
)
def _(logits_of, prompt, answers, num_bytes):
    return _first_best(_sums(logits_of, prompt, answers), [1 / size for size in num_bytes])


@mistake(
    BEST,
    "prompt-counted",
    caught_by="bytes",
    loses=2,
    misconception=(
        "You include the prompt's tokens. They are the same for all answers but divided by "
        "different numbers of bytes."
    ),
)
def _(logits_of, prompt, answers, num_bytes):
    return _first_best(_sums(logits_of, prompt, answers, prompt_too=True), num_bytes)


@mistake(
    BEST,
    "last-of-equal-ones",
    caught_by="borders",
    loses=1,
    misconception="Of equal quotients you take the last. The first counts.",
)
def _(logits_of, prompt, answers, num_bytes):
    quotients = [
        number / size for number, size in zip(_sums(logits_of, prompt, answers), num_bytes)
    ]
    return len(quotients) - 1 - quotients[::-1].index(max(quotients))


@mistake(
    BEST,
    "product-of-probabilities",
    caught_by="answer tokens",
    loses=4,
    misconception="You multiply probabilities. In a long answer the product is 0 for all.",
)
def _(logits_of, prompt, answers, num_bytes):
    products = [
        torch.tensor(number).exp() ** (1 / size)
        for number, size in zip(_sums(logits_of, prompt, answers), num_bytes)
    ]
    return max(range(len(answers)), key=lambda at: float(products[at]))


@mistake(
    BEST,
    "without-the-prompts-beginning",
    caught_by="answer tokens",
    loses=4,
    misconception=("You truncate a long prompt. Condition on all of it."),
)
def _(logits_of, prompt, answers, num_bytes):
    quotients = []
    for answer, size in zip(answers, num_bytes):
        text = torch.tensor([prompt[-8:] + answer])
        log_p = logits_of(text)[0, -len(answer) - 1 : -1].log_softmax(1)
        quotients.append(float(log_p.gather(1, torch.tensor(answer)[:, None]).sum()) / size)
    return quotients.index(max(quotients))

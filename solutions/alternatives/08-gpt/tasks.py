"""Differently written correct solutions of chapter 8, part 4."""

from itertools import repeat

import torch
from torch.nn.functional import log_softmax, nll_loss
from torch.nn.utils.rnn import pad_sequence

from autograder.checks.mistakes.registry import alternative


@alternative("08.task_rows", "pad-sequence")
def _(task, texts, markers, pad):
    s, b, e = markers
    match task:
        case "classification":
            rows = [[s] + texts[0] + [e]]
        case "similarity":
            rows = [[s] + one + [b] + other + [e] for one, other in (texts, reversed(texts))]
        case _:
            rows = [
                [s] + one + [b] + other + [e] for one, other in zip(repeat(texts[0]), texts[1:])
            ]
    return (
        pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=pad),
        torch.tensor([*map(len, rows)]) - 1,
    )


@alternative("08.task_rows", "filled-in-place")
def _(task, texts, markers, pad):
    pairs = {
        "classification": [(0,)],
        "entailment": [(0, 1)],
        "similarity": [(0, 1), (1, 0)],
        "choice": [(0, at) for at in range(1, len(texts))],
    }[task]
    sizes = [sum(len(texts[at]) for at in pair) + len(pair) + 1 for pair in pairs]
    ids = torch.full((len(pairs), max(sizes)), pad, dtype=torch.int64)
    for row, pair in enumerate(pairs):
        at = 0
        for number, text in enumerate(pair):
            ids[row, at] = markers[min(number, 1)]
            ids[row, at + 1 : at + 1 + len(texts[text])] = torch.tensor(
                texts[text], dtype=torch.int64
            )
            at += 1 + len(texts[text])
        ids[row, at] = markers[2]
    return ids, torch.tensor(sizes) - 1


@alternative("08.joint_loss", "row-by-row")
def _(x, table, head, ids, last, labels, weight):
    label, bets = x.new_zeros(()), []
    for row, place in enumerate(last.tolist()):
        scores = head @ x[row, place]
        label = label + scores.logsumexp(0) - scores[labels[row]]
        for t in range(place):
            logits = table @ x[row, t]
            bets.append(logits.logsumexp(0) - logits[ids[row, t + 1]])
    return label / len(x) + (weight * torch.stack(bets).mean() if bets else 0.0)


@alternative("08.joint_loss", "gathered")
def _(x, table, head, ids, last, labels, weight):
    B, T, C = x.shape
    ends = x.gather(1, last[:, None, None].expand(B, 1, C))[:, 0]
    label = nll_loss(log_softmax(torch.einsum("bc,kc->bk", ends, head), -1), labels)
    truth = torch.full_like(ids, -100)
    truth[:, :-1] = ids[:, 1:]
    truth[torch.arange(T)[None] >= last[:, None]] = -100
    bets = nll_loss(
        log_softmax(torch.einsum("btc,vc->bvt", x, table), 1), truth, reduction="sum"
    ) / (truth >= 0).sum().clamp(min=1)
    return label + weight * bets


@alternative("08.best_answer", "token-by-token")
def _(logits_of, prompt, answers, num_bytes):
    best, place = None, None
    for number, (answer, size) in enumerate(zip(answers, num_bytes)):
        log_p = logits_of(torch.tensor([prompt + answer]))[0].double().log_softmax(-1)
        total = sum(log_p[len(prompt) + t - 1, token].item() for t, token in enumerate(answer))
        if best is None or total / size > best:
            best, place = total / size, number
    return place


@alternative("08.best_answer", "cross-entropy-without-the-last-token")
def _(logits_of, prompt, answers, num_bytes):
    prices = []
    for answer, size in zip(answers, num_bytes):
        text = torch.tensor(prompt + answer)
        logits = logits_of(text[None, :-1])[0]
        prices.append(
            torch.nn.functional.cross_entropy(
                logits[-len(answer) :].double(), text[-len(answer) :], reduction="sum"
            ).item()
            / size
        )
    return min(range(len(prices)), key=prices.__getitem__)

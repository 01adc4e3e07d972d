"""Differently written correct solutions of chapter 9, part 3."""

import heapq

import torch

from autograder.checks.mistakes.registry import alternative


@alternative("09.beam_search", "tensors-and-topk")
def _(next_logits, prompt, width, max_tokens, end_id, penalty):
    texts, sums = torch.tensor([prompt]), torch.zeros(1, dtype=torch.float64)
    best = (None, -float("inf"))

    def compare(rows, totals):
        nonlocal best
        for row, total in zip(rows[:, len(prompt) :].tolist(), totals.tolist()):
            if total / len(row) ** penalty > best[1]:
                best = (row, total / len(row) ** penalty)

    for _ in range(max_tokens):
        logs = next_logits(texts)[:, -1].double().log_softmax(-1) + sums[:, None]
        sums, places = logs.flatten().topk(min(width, logs.numel()))
        texts = torch.cat((texts[places // logs.shape[1]], (places % logs.shape[1])[:, None]), 1)
        ended = texts[:, -1] == end_id
        compare(texts[ended], sums[ended])
        texts, sums = texts[~ended], sums[~ended]
        if not len(texts):
            break
    compare(texts, sums)
    return best


@alternative("09.beam_search", "heap-and-tuples")
def _(next_logits, prompt, width, max_tokens, end_id, penalty):
    beam, answers = {(): 0.0}, {}
    while beam and max_tokens:
        max_tokens -= 1
        rows = torch.log_softmax(
            next_logits(torch.tensor([[*prompt, *way] for way in beam]))[:, -1, :].float(), dim=-1
        )
        longer = {
            (*way, token): total + float(log)
            for (way, total), row in zip(beam.items(), rows)
            for token, log in enumerate(row)
            if log > -torch.inf
        }
        kept = heapq.nlargest(width, longer, key=longer.get)
        answers |= {way: longer[way] for way in kept if way[-1] == end_id}
        beam = {way: longer[way] for way in kept if way[-1] != end_id}
    answers |= beam
    way = max(answers, key=lambda one: answers[one] / len(one) ** penalty)
    return list(way), answers[way] / len(way) ** penalty

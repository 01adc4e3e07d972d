"""Plausible wrong solutions of chapter 9, part 1."""

from math import comb

import torch

from autograder.checks.mistakes.registry import mistake

LOOP, PADDING, READING = "09.generate", "09.repair_padding", "09.predict_reading"


def _written(
    next_logits,
    prompt,
    max_tokens,
    end_id,
    pick=lambda logits: logits[0, -1].argmax(),
    seen=lambda text, prompt: text,
    ends=lambda token, text, end_id: token == end_id,
):
    """The loop, with a part replaced: how a token is picked, what the model is shown, when it ends.

    Prompt and new tokens.
    """
    text = list(prompt)
    for _ in range(max_tokens):
        token = int(pick(next_logits(torch.tensor([seen(text, prompt)]))))
        text.append(token)
        if ends(token, text, end_id):
            break
    return text


@mistake(
    LOOP,
    "first-place",
    caught_by="one",
    loses=6,
    misconception=(
        "You take the logits at the first position. The next token is scored at the last one."
    ),
)
def _(next_logits, prompt, max_tokens, end_id):
    return _written(
        next_logits, prompt, max_tokens, end_id, pick=lambda logits: logits[0, 0].argmax()
    )[len(prompt) :]


@mistake(
    LOOP,
    "all-places-flat",
    caught_by="one",
    loses=6,
    misconception=(
        "You take the largest logit of all positions. Only the row of the last position is about"
        " the next token."
    ),
)
def _(next_logits, prompt, max_tokens, end_id):
    return _written(
        next_logits,
        prompt,
        max_tokens,
        end_id,
        pick=lambda logits: logits.argmax() % logits.shape[2],
    )[len(prompt) :]


@mistake(
    LOOP, "least-likely", caught_by="one", loses=6, misconception="You take the smallest logit."
)
def _(next_logits, prompt, max_tokens, end_id):
    return _written(
        next_logits, prompt, max_tokens, end_id, pick=lambda logits: logits[0, -1].argmin()
    )[len(prompt) :]


@mistake(
    LOOP,
    "last-token-only",
    caught_by="appended",
    loses=2.5,
    misconception=(
        "You show the model the last token only. It keeps nothing from call to call: show it the"
        " whole text."
    ),
)
def _(next_logits, prompt, max_tokens, end_id):
    return _written(next_logits, prompt, max_tokens, end_id, seen=lambda text, prompt: text[-1:])[
        len(prompt) :
    ]


@mistake(
    LOOP,
    "new-tokens-only",
    caught_by="appended",
    loses=2.5,
    misconception="After the first step you show the model the new tokens only, and no prompt.",
)
def _(next_logits, prompt, max_tokens, end_id):
    return _written(
        next_logits,
        prompt,
        max_tokens,
        end_id,
        seen=lambda text, prompt: text[len(prompt) :] or text,
    )[len(prompt) :]


@mistake(
    LOOP,
    "never-appended",
    caught_by="appended",
    loses=4.5,
    misconception="You show the model the prompt again and again, without what it has written.",
)
def _(next_logits, prompt, max_tokens, end_id):
    return _written(next_logits, prompt, max_tokens, end_id, seen=lambda text, prompt: prompt)[
        len(prompt) :
    ]


@mistake(
    LOOP,
    "with-the-prompt",
    caught_by="one",
    loses=6,
    misconception="You return the prompt too. The new tokens alone are asked for.",
)
def _(next_logits, prompt, max_tokens, end_id):
    return _written(next_logits, prompt, max_tokens, end_id)


@mistake(
    LOOP,
    "one-too-many",
    caught_by="limit",
    loses=2.5,
    misconception="You write one token more than `max_tokens`.",
)
def _(next_logits, prompt, max_tokens, end_id):
    return _written(next_logits, prompt, max_tokens + 1, end_id)[len(prompt) :]


@mistake(
    LOOP,
    "length-of-the-whole-text",
    caught_by="appended",
    loses=4.5,
    misconception=(
        "You stop when the text has `max_tokens` tokens, prompt included. It is the number of new"
        " ones."
    ),
)
def _(next_logits, prompt, max_tokens, end_id):
    return _written(next_logits, prompt, max(max_tokens - len(prompt), min(1, max_tokens)), end_id)[
        len(prompt) :
    ]


@mistake(
    LOOP,
    "end-lost",
    caught_by="end",
    loses=1.5,
    misconception="You leave the end token out of the list. It belongs to it.",
)
def _(next_logits, prompt, max_tokens, end_id):
    new = _written(next_logits, prompt, max_tokens, end_id)[len(prompt) :]
    return new[:-1] if new and new[-1] == end_id else new


@mistake(
    LOOP, "goes-on", caught_by="end", loses=1.5, misconception="You continue after the end token."
)
def _(next_logits, prompt, max_tokens, end_id):
    return _written(
        next_logits, prompt, max_tokens, end_id, ends=lambda token, text, end_id: False
    )[len(prompt) :]


@mistake(
    LOOP,
    "end-in-the-prompt",
    caught_by="end",
    loses=1,
    misconception=(
        "You stop where the end token stands anywhere in the text, and the prompt may hold it. Only"
        " a chosen one ends the text."
    ),
)
def _(next_logits, prompt, max_tokens, end_id):
    return _written(
        next_logits, prompt, max_tokens, end_id, ends=lambda token, text, end_id: end_id in text
    )[len(prompt) :]


@mistake(
    LOOP,
    "end-asked-before-a-token",
    caught_by="end",
    loses=1,
    misconception=(
        "Your loop stops if the last token is the end, before it chose one. The prompt may end with"
        " that token."
    ),
)
def _(next_logits, prompt, max_tokens, end_id):
    text = list(prompt)
    while len(text) < len(prompt) + max_tokens and text[-1] != end_id:
        text.append(int(next_logits(torch.tensor([text]))[0, -1].argmax()))
    return text[len(prompt) :]


@mistake(
    LOOP,
    "end-looked-for-before-a-token",
    caught_by="end",
    loses=1,
    misconception=(
        "Your loop stops if the end token is anywhere in the text, before it chose one. The prompt"
        " may hold it."
    ),
)
def _(next_logits, prompt, max_tokens, end_id):
    text = list(prompt)
    while len(text) < len(prompt) + max_tokens and end_id not in text:
        text.append(int(next_logits(torch.tensor([text]))[0, -1].argmax()))
    return text[len(prompt) :]


@mistake(
    LOOP,
    "one-token-at-least",
    caught_by="limit",
    loses=1.5,
    misconception=(
        "You choose a token before you compare with `max_tokens`: if that is 0, nothing is written."
    ),
)
def _(next_logits, prompt, max_tokens, end_id):
    text = list(prompt)
    while True:
        text.append(int(next_logits(torch.tensor([text]))[0, -1].argmax()))
        if text[-1] == end_id or len(text) >= len(prompt) + max_tokens:
            return text[len(prompt) :]


@mistake(
    LOOP,
    "one-too-few",
    caught_by="one",
    loses=6,
    misconception="You write one token less than `max_tokens`.",
)
def _(next_logits, prompt, max_tokens, end_id):
    return _written(next_logits, prompt, max_tokens - 1, end_id)[len(prompt) :]


@mistake(
    LOOP,
    "flat-place-as-token",
    caught_by="one",
    loses=6,
    misconception=(
        "`argmax` without an axis counts through all positions. Take it in the row of the last one."
    ),
)
def _(next_logits, prompt, max_tokens, end_id):
    pick = torch.argmax
    return _written(next_logits, prompt, max_tokens, end_id, pick=pick)[len(prompt) :]


@mistake(
    LOOP,
    "asks-twice",
    caught_by="calls",
    loses=0.5,
    misconception="You ask the model twice for each token.",
)
def _(next_logits, prompt, max_tokens, end_id):
    return _written(
        lambda ids: (next_logits(ids), next_logits(ids))[0], prompt, max_tokens, end_id
    )[len(prompt) :]


@mistake(
    LOOP,
    "callers-list",
    caught_by="one",
    loses=1.2,
    misconception="You append to the caller's list.",
)
def _(next_logits, prompt, max_tokens, end_id):
    start = len(prompt)
    for _ in range(max_tokens):
        prompt.append(int(next_logits(torch.tensor([prompt]))[0, -1].argmax()))
        if prompt[-1] == end_id:
            break
    return prompt[start:]


def _padded(
    prompts,
    pad,
    places=lambda width, gaps, mask: (torch.arange(width) - gaps).clamp(min=0),
    front=True,
):
    width = max(map(len, prompts))
    gaps = torch.tensor([[width - len(prompt)] for prompt in prompts])
    ids = torch.tensor(
        [
            [pad] * (width - len(prompt)) * front
            + prompt
            + [pad] * (width - len(prompt)) * (not front)
            for prompt in prompts
        ]
    )
    mask = torch.arange(width) >= gaps if front else torch.arange(width) < width - gaps
    return ids, mask, places(width, gaps, mask)


@mistake(
    PADDING,
    "as-printed",
    caught_by="positions",
    loses=3,
    misconception=(
        "Your positions count from the left edge of the table, through the padding, as the printed"
        " function does."
    ),
)
def _(prompts, pad):
    return _padded(
        prompts, pad, lambda width, gaps, mask: torch.arange(width).expand(mask.shape) * mask
    )


@mistake(
    PADDING,
    "from-one",
    caught_by="positions",
    loses=3,
    misconception="Your positions begin at 1. The first token of a prompt has position 0.",
)
def _(prompts, pad):
    return _padded(prompts, pad, lambda width, gaps, mask: mask.cumsum(1))


@mistake(
    PADDING,
    "from-the-end",
    caught_by="positions",
    loses=3,
    misconception="Your positions count backwards from the end of the prompt.",
)
def _(prompts, pad):
    return _padded(
        prompts,
        pad,
        lambda width, gaps, mask: (width - 1 - torch.arange(width)).expand(mask.shape) * mask,
    )


@mistake(
    PADDING,
    "gap-of-the-first",
    caught_by="positions",
    loses=3,
    misconception="You take the padding of the first prompt for all. Each row has its own.",
)
def _(prompts, pad):
    return _padded(
        prompts,
        pad,
        lambda width, gaps, mask: (
            (torch.arange(width) - gaps[:1]).clamp(min=0).expand(mask.shape) * mask
        ),
    )


@mistake(
    PADDING,
    "padded-on-the-right",
    caught_by="positions",
    loses=3,
    misconception=(
        "You put the padding behind the prompts. Then the next token of a short prompt does not"
        " stand in the column behind the last."
    ),
)
def _(prompts, pad):
    return _padded(
        prompts,
        pad,
        lambda width, gaps, mask: torch.arange(width).expand(mask.shape) * mask,
        front=False,
    )


@mistake(
    PADDING,
    "negative-at-padding",
    caught_by="padding",
    loses=1,
    misconception="Your positions are negative at padding. They are 0 there.",
)
def _(prompts, pad):
    return _padded(prompts, pad, lambda width, gaps, mask: torch.arange(width) - gaps)


@mistake(
    PADDING,
    "mask-by-id",
    caught_by="padding",
    loses=1.5,
    misconception=(
        "You take every token with the number `pad` for padding. A prompt may hold it too."
    ),
)
def _(prompts, pad):
    ids, _, positions = _padded(prompts, pad)
    return ids, ids != pad, positions


for _line, _why in {
    1: "it takes the length of the longest prompt",
    2: "it says how much padding each prompt needs",
    3: "it puts that padding in front of each prompt",
    4: "it is True behind the padding of each row",
    6: "it returns what is asked for, in that order",
}.items():
    mistake(
        PADDING,
        f"line-{_line}",
        replaces="wrong_line",
        caught_by="line",
        loses=1,
        misconception=f"Line {_line} is right: {_why}.",
    )(lambda line=_line: line)


def _sums(first, last):
    """first + ... + last, and the same of the triangles n (n + 1) / 2."""
    return comb(last + 1, 2) - comb(first, 2), comb(last + 2, 3) - comb(first + 1, 3)


def _reading(prompt, new, **other):
    tokens, pairs = _sums(prompt, prompt + new - 1)
    return {
        "tokens": tokens,
        "tokens_cached": prompt + new - 1,
        "pairs": pairs,
        "pairs_cached": comb(prompt + new, 2),
    } | other


@mistake(
    READING,
    "last-token-read",
    caught_by="tokens",
    loses=4,
    misconception=(
        "You count a pass over the finished text, too. The token that is chosen last is never read."
    ),
)
def _(prompt, new):
    return _reading(prompt, new + 1)


@mistake(
    READING,
    "prompt-read-once",
    caught_by="tokens",
    loses=1.5,
    misconception=(
        "Without a cache, too, you read each token once. There the whole text is read again at"
        " every pass."
    ),
)
def _(prompt, new):
    return _reading(prompt, new, tokens=prompt + new - 1)


@mistake(
    READING,
    "product",
    caught_by="tokens",
    loses=1.5,
    misconception=(
        "You multiply the length of the finished text by the number of passes. The text grows: the"
        " passes are of different length."
    ),
)
def _(prompt, new):
    return _reading(prompt, new, tokens=(prompt + new) * new)


@mistake(
    READING,
    "cached-passes",
    caught_by="tokens_cached",
    loses=1,
    misconception=(
        "You count the passes and not the tokens: with a cache the first pass reads the whole"
        " prompt."
    ),
)
def _(prompt, new):
    return _reading(prompt, new, tokens_cached=new)


@mistake(
    READING,
    "cached-plus-one",
    caught_by="tokens_cached",
    loses=1,
    misconception="With a cache you read the token that is chosen last, too.",
)
def _(prompt, new):
    return _reading(prompt, new, tokens_cached=prompt + new)


@mistake(
    READING,
    "squares",
    caught_by="pairs",
    loses=1,
    misconception=(
        "You count squares: every token with every other. A token looks at itself and back, which"
        " is a triangle."
    ),
)
def _(prompt, new):
    tokens, pairs = _sums(prompt, prompt + new - 1)
    return _reading(prompt, new, pairs=2 * pairs - tokens)


@mistake(
    READING,
    "not-itself",
    caught_by="pairs",
    loses=1.5,
    misconception="Your tokens look at those before them and not at themselves.",
)
def _(prompt, new):
    tokens, pairs = _sums(prompt, prompt + new - 1)
    return _reading(prompt, new, pairs=pairs - tokens, pairs_cached=comb(prompt + new - 1, 2))


@mistake(
    READING,
    "cached-keys-forgotten",
    caught_by="pairs_cached",
    loses=0.5,
    misconception=(
        "With a cache your new tokens look at themselves only. The keys of all tokens before are in"
        " the cache, and are scored."
    ),
)
def _(prompt, new):
    return _reading(prompt, new, pairs_cached=comb(prompt + 1, 2) + new - 1)

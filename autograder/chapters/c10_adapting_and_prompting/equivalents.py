"""Changes to the solutions of chapter 10 that nobody can notice, with the reason; see
`autograder/authoring/mutants.py`.
"""

ROLES = (
    "two answers, questions and messages of the system are left in these chats, and a wrong maker"
    " shows itself wherever they stand"
)
ANY_SIZES = (
    "how many ids a content has is free; wrong makers show themselves in all other contents, too"
)
ORDER = "the order in which is asked, or compared, plays no part"
ROW_BY_ROW = (
    "each row of labels is compared with one as long as its row of ids below, so that the lengths"
    " of either tell those of both"
)
TOO_LONG = "one try more, with a row that is too long to be equal"
ONE_COLUMN = "there is one column, the first and the last"
OVERWRITTEN = "each position is written before it is read"
ONLY_ITS_SHAPE = "one column is as long as another, and its numbers are not used"
EITHER_WAY = "the smaller of two numbers, whichever is named first"
ANY_SCALE = "only that the drawn factor is random is asked, and not its scale"
DRAWN = "torch.randn(r, weight.shape[1])"

EQUIVALENT = {
    "10.chat_example": {
        "chat_example works for up to 100 of anything": "a chat has at most 40 messages"
    },
    "10.test_labels": {
        (
            "['system', 'user', 'assistant', 'user', 'assistant']  =>  ['user', 'system', "
            "'assistant', 'user', 'assistant']"
        ): (ROLES),
        (
            "['system', 'user', 'assistant', 'user', 'assistant']  =>  ['system', 'assistant', "
            "'user', 'user', 'assistant']"
        ): (ROLES),
        (
            "['system', 'user', 'assistant', 'user', 'assistant']  =>  ['system', 'user', 'user', "
            "'assistant', 'assistant']"
        ): (ROLES),
        (
            "['system', 'user', 'assistant', 'user', 'assistant']  =>  ['system', 'user', "
            "'assistant', 'assistant', 'user']"
        ): (ROLES),
        (
            "['system', 'user', 'assistant', 'user', 'assistant']  =>  ['system', 'assistant', "
            "'user', 'assistant']"
        ): (ROLES),
        (
            "['system', 'user', 'assistant', 'user', 'assistant']  =>  ['system', 'user', "
            "'assistant', 'assistant']"
        ): (ROLES),
        (
            "((3, 3, 3, 3, 4), (3, 4, 5, 3, 3), (4, 4, 4, 4, 4))  =>  ((3, 4, 5, 3, 3), (3, 3, 3, "
            "3, 4), (4, 4, 4, 4, 4))"
        ): (ANY_SIZES),
        (
            "((3, 3, 3, 3, 4), (3, 4, 5, 3, 3), (4, 4, 4, 4, 4))  =>  ((3, 3, 3, 3, 4), (4, 4, 4, "
            "4, 4), (3, 4, 5, 3, 3))"
        ): (ANY_SIZES),
        "(3, 3, 3, 3, 4)  =>  (3, 3, 3, 4, 3)": ANY_SIZES,
        "3  =>  4": ANY_SIZES,
        "3  =>  2": ANY_SIZES,
        "3  =>  4 (place 2)": ANY_SIZES,
        "3  =>  2 (place 2)": ANY_SIZES,
        "3  =>  4 (place 3)": ANY_SIZES,
        "3  =>  2 (place 3)": ANY_SIZES,
        "3  =>  4 (place 4)": ANY_SIZES,
        "3  =>  2 (place 4)": ANY_SIZES,
        "4  =>  5": ANY_SIZES,
        "4  =>  3": ANY_SIZES,
        "(3, 4, 5, 3, 3)  =>  (4, 3, 5, 3, 3)": ANY_SIZES,
        "(3, 4, 5, 3, 3)  =>  (3, 5, 4, 3, 3)": ANY_SIZES,
        "(3, 4, 5, 3, 3)  =>  (3, 4, 3, 5, 3)": ANY_SIZES,
        "3  =>  4 (place 5)": ANY_SIZES,
        "3  =>  2 (place 5)": ANY_SIZES,
        "4  =>  5 (place 2)": ANY_SIZES,
        "4  =>  3 (place 2)": ANY_SIZES,
        "5  =>  6": ANY_SIZES,
        "5  =>  4": ANY_SIZES,
        "3  =>  4 (place 6)": ANY_SIZES,
        "3  =>  2 (place 6)": ANY_SIZES,
        "3  =>  4 (place 7)": ANY_SIZES,
        "3  =>  2 (place 7)": ANY_SIZES,
        "4  =>  5 (place 3)": ANY_SIZES,
        "4  =>  3 (place 3)": ANY_SIZES,
        "4  =>  5 (place 4)": ANY_SIZES,
        "4  =>  3 (place 4)": ANY_SIZES,
        "4  =>  5 (place 5)": ANY_SIZES,
        "4  =>  3 (place 5)": ANY_SIZES,
        "4  =>  5 (place 6)": ANY_SIZES,
        "4  =>  3 (place 6)": ANY_SIZES,
        "4  =>  5 (place 7)": ANY_SIZES,
        "4  =>  3 (place 7)": ANY_SIZES,
        "range(token, token + size)  =>  range(token, token + size + 1)": ANY_SIZES,
        "range(token, token + size)  =>  range(token, token + size - 1)": ANY_SIZES,
        "(0, END)  =>  (END, 0)": ORDER,
        "[*ids, *labels]  =>  [*labels, *ids]": ORDER,
        "[*ids, *labels]  =>  [*labels]": ROW_BY_ROW,
        "[*ids, *labels]  =>  [*ids]": ROW_BY_ROW,
        "range(extra + 1)  =>  range(extra + 1 + 1)": TOO_LONG,
        "1  =>  2 (place 2)": TOO_LONG,
    },
    "10.LoRALinear": {
        f"{DRAWN} / weight.shape[1] ** 0.5  =>  {DRAWN} * weight.shape[1] ** 0.5": ANY_SCALE,
        f"{DRAWN} / weight.shape[1] ** 0.5  =>  weight.shape[1] ** 0.5 / {DRAWN}": ANY_SCALE,
        f"{DRAWN} / weight.shape[1] ** 0.5  =>  {DRAWN}": ANY_SCALE,
        "weight.shape[1] ** 0.5  =>  weight.shape[1] * 0.5": ANY_SCALE,
        "weight.shape[1] ** 0.5  =>  weight.shape[1]": ANY_SCALE,
        "weight.shape[1] ** 0.5  =>  0.5": ANY_SCALE,
        "1  =>  0 (place 2)": ANY_SCALE,
        "0.5  =>  0.505": ANY_SCALE,
    },
    "10.sequence_logprobs": {
        "0  =>  -1": ONE_COLUMN,
        "wanted != -100  =>  wanted > -100": "a label is -100 or at least 0",
    },
    "10.advantages": {
        "torch.zeros_like(rewards)  =>  torch.ones_like(rewards)": OVERWRITTEN,
        "0  =>  -1": ONLY_ITS_SHAPE,
    },
    "10.clipped_loss": {
        (
            "torch.minimum(ratio * weight, ratio.clamp(1 - clip, 1 + clip) * weight)  =>  "
            "torch.minimum(ratio.clamp(1 - clip, 1 + clip) * weight, ratio * weight)"
        ): (EITHER_WAY),
    },
    "10.dapo_loss": {
        (
            "torch.minimum(ratio * advantages[:, None], bounded * advantages[:, None])  =>  "
            "torch.minimum(bounded * advantages[:, None], ratio * advantages[:, None])"
        ): (EITHER_WAY),
    },
    "10.group_advantages": {
        "1.0  =>  1.01": "it stands where all rewards are alike, and there 0 is chosen",
        "group_advantages fails for a last axis of 1": "a group has at least two answers",
    },
}

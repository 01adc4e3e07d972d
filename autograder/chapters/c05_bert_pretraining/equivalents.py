"""Changes to the solutions of chapter 5 that nobody can notice, with the reason; see
`autograder/authoring/mutants.py`.
"""

EITHER_WAY = "two axes are exchanged, whichever is named first"
ANY_ROWS = "some hundred rows of the kind that the card names, whatever ordinary ids stand in them"
ANY_ORDER = "the order of what is compared, or asked one after the other, plays no part"
ROOM = "right shares are far inside the room, and wrong ones far outside"
OVERRULED = "a throw of 8 is swapped in the next line, whatever this one made of it"

EQUIVALENT = {
    "05.bert_encode": {
        (
            "linear(name, x).unflatten(2, (num_heads, -1)).transpose(1, 2)  =>  linear(name, "
            "x).unflatten(2, (num_heads, -1)).transpose(2, 1)"
        ): (EITHER_WAY),
        "seen.transpose(1, 2)  =>  seen.transpose(2, 1)": EITHER_WAY,
    },
    "05.mask_tokens": {
        "2.0  =>  2.02": "any number above 1 comes after all of `order`",
        "fate < 8  =>  fate <= 8": OVERRULED,
        "8  =>  9": OVERRULED,
    },
    "05.mlm_loss": {
        "labels != -100  =>  labels > -100": "a label is -100 or at least 0",
        "max(len(prices), 1)  =>  max(1, len(prices))": (
            "the larger of two numbers, whichever is named first"
        ),
    },
    "05.test_masking": {
        "100  =>  99": ANY_ROWS,
        "ids[:, 0]  =>  ids[0, :]": ANY_ROWS,
        "0  =>  1": ANY_ROWS,
        "0  =>  -1": ANY_ROWS,
        "ids[:, 81]  =>  ids[81, :]": ANY_ROWS,
        "81  =>  82": ANY_ROWS,
        "81  =>  80": ANY_ROWS,
        "(2, 3)  =>  (3, 2)": ANY_ROWS,
        "2  =>  3": ANY_ROWS,
        "2  =>  1": ANY_ROWS,
        "3  =>  4": ANY_ROWS,
        "3  =>  2": ANY_ROWS,
        (
            "torch.arange(200 * 80).reshape(200, 80) * 7 % (VOCAB - FIRST) + FIRST  =>  "
            "torch.arange(200 * 80).reshape(200, 80) * 7 % (VOCAB - FIRST)"
        ): (ANY_ROWS),
        "torch.arange(200 * 80).reshape(200, 80) * 7 % (VOCAB - FIRST) + FIRST  =>  FIRST": (
            ANY_ROWS
        ),
        (
            "torch.arange(200 * 80).reshape(200, 80) * 7 % (VOCAB - FIRST)  =>  torch.arange(200 * "
            "80).reshape(200, 80) * 7 // (VOCAB - FIRST)"
        ): (ANY_ROWS),
        (
            "torch.arange(200 * 80).reshape(200, 80) * 7  =>  torch.arange(200 * 80).reshape(200, "
            "80) / 7"
        ): (ANY_ROWS),
        (
            "torch.arange(200 * 80).reshape(200, 80) * 7  =>  torch.arange(200 * 80).reshape(200, "
            "80) + 7"
        ): (ANY_ROWS),
        (
            "torch.arange(200 * 80).reshape(200, 80) * 7  =>  torch.arange(200 * 80).reshape(200, "
            "80)"
        ): (ANY_ROWS),
        "torch.arange(200 * 80).reshape(200, 80) * 7  =>  7": ANY_ROWS,
        "7  =>  8": ANY_ROWS,
        "7  =>  6": ANY_ROWS,
        "VOCAB - FIRST  =>  FIRST": ANY_ROWS,
        "0  =>  1 (place 2)": ANY_ROWS,
        "labels != -100  =>  labels > -100": "a label is -100 or at least 0",
        "bool((chosen.sum(1) == 12).all())  =>  (chosen.sum(1) == 12).all()": (
            "`assert` takes a tensor of one bool as well"
        ),
        "torch.equal(labels[chosen], ids[chosen])  =>  torch.equal(ids[chosen], labels[chosen])": (
            ANY_ORDER
        ),
        "torch.equal(new[~chosen], ids[~chosen])  =>  torch.equal(ids[~chosen], new[~chosen])": (
            ANY_ORDER
        ),
        (
            "((covered, 0.8), (kept, 0.1), (~covered & ~kept, 0.1))  =>  ((kept, 0.1), (covered, "
            "0.8), (~covered & ~kept, 0.1))"
        ): (ANY_ORDER),
        (
            "((covered, 0.8), (kept, 0.1), (~covered & ~kept, 0.1))  =>  ((covered, 0.8), "
            "(~covered & ~kept, 0.1), (kept, 0.1))"
        ): (ANY_ORDER),
        "0.8  =>  0.808": ROOM,
        "0.1  =>  0.101": ROOM,
        "~kept  =>  kept": "where two of three shares are right, so is the third",
        "0.1  =>  0.101 (place 2)": ROOM,
        "abs(part.float().mean() - share) < 0.04  =>  abs(part.float().mean() - share) <= 0.04": (
            ROOM
        ),
        "abs(part.float().mean() - share)  =>  part.float().mean() - share": (
            "the fractions add up to 1: where one is too small by 0.1, another is too"
            " large by more than 0.04"
        ),
        "part.float().mean() - share  =>  share - part.float().mean()": (
            "the fractions add up to 1: where one is too small by 0.1, another is too"
            " large by more than 0.04"
        ),
        "part.float()  =>  part.double()": "three digits are enough",
        "part.float()  =>  part.half()": "three digits are enough",
        "0.04  =>  0.0404": ROOM,
        "bool((swapped >= FIRST).all())  =>  (swapped >= FIRST).all()": (
            "`assert` takes a tensor of one bool as well"
        ),
        "len(swapped.unique()) > 100  =>  len(swapped.unique()) >= 100": ROOM,
        "100  =>  101 (place 3)": ROOM,
        "100  =>  99 (place 3)": ROOM,
    },
}

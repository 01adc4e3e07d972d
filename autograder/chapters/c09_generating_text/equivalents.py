"""Changes to the solutions of chapter 9 that nobody can notice, with the reason; see
`autograder/authoring/mutants.py`.
"""

ONE_ROW = "there is one row, the first and the last"
ALREADY = "before the top token there is exactly 0, which is less than every p: it stays already"
COVERED = "the order names every index of a row once, so that nothing of the old values is left"

NEVER_WRITES = "no sampler writes into the list that it is given, says the card"
ANY_LIST = (
    "any two orders of the probabilities do: all differ by 0.1, one is 0, and in one list at least"
    " the first is not, nor the last"
)
ANY_FIRST = "any list does whose first probability is from 0.1 to 0.9"
SIGN = "the sign is dropped right behind"
ANY_NUMBER = "any number of some twenty calls, and of some thousand draws"
BORDER = (
    "any border of five deviations or more that is below 500 spares the honest ones and stops the"
    " others"
)
SPREAD = (
    "an honest deviation of twenty calls is nearly 16, one that is too even below 3.2, and one of"
    " clumps about 500: any borders between"
)

EQUIVALENT = {
    "09.generate": {
        "0  =>  -1": ONE_ROW,
    },
    "09.keep_top_p": {
        "before < p[:, None]  =>  before <= p[:, None]": (
            "before the most probable token there is exactly 0, which is less than every p, and no"
            " later sum is as near to p"
        ),
        "stays[:, 0] = True  =>  pass": ALREADY,
        "torch.zeros_like(stays)  =>  torch.ones_like(stays)": COVERED,
        "torch.zeros_like(stays)  =>  stays": COVERED,
    },
    "09.penalise": {
        "logits < 0  =>  logits <= 0": "0 times the penalty is 0, as 0 divided by it is",
    },
    "09.test_sampler": {
        (
            "([0.4, 0.3, 0.2, 0.1, 0.0], [0.1, 0.0, 0.4, 0.2, 0.3])  =>  ([0.1, 0.0, 0.4, 0.2, "
            "0.3], [0.4, 0.3, 0.2, 0.1, 0.0])"
        ): (ANY_LIST),
        "[0.4, 0.3, 0.2, 0.1, 0.0]  =>  [0.3, 0.4, 0.2, 0.1, 0.0]": ANY_LIST,
        "[0.4, 0.3, 0.2, 0.1, 0.0]  =>  [0.4, 0.2, 0.3, 0.1, 0.0]": ANY_LIST,
        "[0.4, 0.3, 0.2, 0.1, 0.0]  =>  [0.4, 0.3, 0.1, 0.2, 0.0]": ANY_LIST,
        "[0.4, 0.3, 0.2, 0.1, 0.0]  =>  [0.4, 0.3, 0.2, 0.0, 0.1]": ANY_LIST,
        "[0.1, 0.0, 0.4, 0.2, 0.3]  =>  [0.0, 0.1, 0.4, 0.2, 0.3]": ANY_LIST,
        "[0.1, 0.0, 0.4, 0.2, 0.3]  =>  [0.1, 0.4, 0.0, 0.2, 0.3]": ANY_LIST,
        "[0.1, 0.0, 0.4, 0.2, 0.3]  =>  [0.1, 0.0, 0.2, 0.4, 0.3]": ANY_LIST,
        "[0.1, 0.0, 0.4, 0.2, 0.3]  =>  [0.1, 0.0, 0.4, 0.3, 0.2]": ANY_LIST,
        "list(probabilities)  =>  probabilities": NEVER_WRITES,
        "count - 10000 * p  =>  10000 * p - count": SIGN,
        "10000  =>  10001 (place 3)": BORDER,
        "10000  =>  9999 (place 3)": BORDER,
        "6  =>  7": BORDER,
        "6  =>  5": BORDER,
        "10000 * p * (1 - p)  =>  10000 * p / (1 - p)": BORDER,
        "10000 * p * (1 - p)  =>  10000 * p + (1 - p)": BORDER,
        "10000 * p * (1 - p)  =>  10000 * p": BORDER,
        "10000  =>  10001 (place 4)": BORDER,
        "10000  =>  9999 (place 4)": BORDER,
        "1 - p  =>  1 + p": BORDER,
        "1 - p  =>  1": BORDER,
        "1  =>  2": BORDER,
        "0.5  =>  0.505": BORDER,
        "[0.5, 0.3, 0.2]  =>  [0.3, 0.5, 0.2]": ANY_FIRST,
        "[0.5, 0.3, 0.2]  =>  [0.5, 0.2, 0.3]": ANY_FIRST,
        "1000  =>  1001": ANY_NUMBER,
        "1000  =>  999": ANY_NUMBER,
        "range(20)  =>  range(20 + 1)": ANY_NUMBER,
        "range(20)  =>  range(20 - 1)": ANY_NUMBER,
        "20  =>  21": ANY_NUMBER,
        "20  =>  19": ANY_NUMBER,
        "6 < first.std() < 32  =>  6 <= first.std() < 32": SPREAD,
        "6 < first.std() < 32  =>  6 < first.std() <= 32": SPREAD,
        "6  =>  7 (place 2)": SPREAD,
        "6  =>  5 (place 2)": SPREAD,
        "32  =>  33": SPREAD,
        "32  =>  31": SPREAD,
    },
}

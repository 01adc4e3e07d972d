"""Changes to the solutions of chapter 15 that nobody can notice, with the reason; see
`autograder/authoring/mutants.py`.
"""

SMALLER = "the smaller of two numbers, whichever is named first"
LARGER = "the larger of two numbers, whichever is named first"
ANY_DRAW = "any draw shows every kind"
ANY_NUMBER = (
    "other numbers of logs and of requests show every kind as well; a test may choose its own"
)
ANY_SIZE = (
    "times, tokens and positions next to these show every kind as well, and right ones accept them"
)
INTS = "times may be ints"
ANY_FAILED = (
    "which logs have failed requests, and how many, plays no part: some have none, some have"
    " several, and no kind that the card names shows only where all failed"
)
ANY_ORDER = "no kind that the card names hangs on the order of the log"
ANY_LIMIT = "right ones stay far inside either limit, and wrong ones far outside"

EQUIVALENT = {
    "15.plan": {
        "min(left[index], budget)  =>  min(budget, left[index])": SMALLER,
        "min(left[index], budget)  =>  min(budget, left[index]) (place 2)": SMALLER,
    },
    "15.prepare": {"prepare works for up to 100 of anything": "a step has at most 100 requests"},
    "15.verify": {"0  =>  -1": "the last axis of a vector is its first"},
    "15.accept_tree": {"0  =>  -1 (place 2)": "the last axis of a vector is its first"},
    "15.test_load": {
        **dict.fromkeys(
            (
                "random.Random(15)  =>  random",
                "15  =>  16",
                "15  =>  14",
            ),
            ANY_DRAW,
        ),
        **dict.fromkeys(
            (
                "range(28)  =>  range(28 + 1)",
                "range(28)  =>  range(28 - 1)",
                "28  =>  29",
                "28  =>  27",
                "1  =>  2",
                "17 * number % 60  =>  60",
                "17 * number  =>  17 + number",
                "17 * number  =>  number",
                "17  =>  18",
                "17  =>  16",
                "60  =>  61",
                "60  =>  59",
            ),
            ANY_NUMBER,
        ),
        **dict.fromkeys(
            (
                "range(1, 100)  =>  range(1, 100 - 1)",
                "1  =>  2 (place 2)",
                "1  =>  0 (place 2)",
                "100  =>  99",
                "5  =>  6",
                "5  =>  4",
                "range(101, 200)  =>  range(101, 200 + 1)",
                "range(101, 200)  =>  range(101, 200 - 1)",
                "101  =>  102",
                "101  =>  100",
                "200  =>  201",
                "200  =>  199",
                "chance.randint(9, 400) / 8  =>  chance.randint(9, 400) * 8",
                "chance.randint(9, 400) / 8  =>  chance.randint(9, 400)",
                "chance.randint(9, 400) / 8  =>  8",
                "9  =>  10",
                "9  =>  8",
                "400  =>  401",
                "400  =>  399",
                "chance.randint(1, 400) / 8  =>  chance.randint(1, 400) * 8",
                "chance.randint(1, 400) / 8  =>  chance.randint(1, 400)",
                "chance.randint(1, 400) / 8  =>  8",
                "1  =>  2 (place 4)",
                "1  =>  0 (place 4)",
                "400  =>  401 (place 2)",
                "400  =>  399 (place 2)",
                "[1, 1, *range(2, 31)]  =>  [1, *range(2, 31), 1]",
                "[1, 1, *range(2, 31)]  =>  [1, *range(2, 31)]",
                "1  =>  2 (place 5)",
                "1  =>  2 (place 6)",
                "range(2, 31)  =>  range(2, 31 + 1)",
                "range(2, 31)  =>  range(2, 31 - 1)",
                "2  =>  3",
                "2  =>  1",
                "31  =>  32",
                "31  =>  30",
                "chance.randint(1, 16) / 8  =>  chance.randint(1, 16) * 8",
                "chance.randint(1, 16) / 8  =>  chance.randint(1, 16)",
                "16  =>  17",
                "5  =>  6 (place 2)",
                "5  =>  4 (place 2)",
                "50  =>  51",
                "50  =>  49",
            ),
            ANY_SIZE,
        ),
        **dict.fromkeys(
            (
                "due = float(due)  =>  pass",
                "float(due)  =>  due",
            ),
            INTS,
        ),
        **dict.fromkeys(
            (
                (
                    "number % 2 and (chance.random() < 0.1 or number == 27)  =>  chance.random() <"
                    " 0.1 or number == 27"
                ),
                "number % 2  =>  number // 2",
                "number % 2  =>  number",
                "number % 2  =>  2",
                "2  =>  3 (place 2)",
                "chance.random() < 0.1 or number == 27  =>  chance.random() < 0.1",
                "chance.random() < 0.1  =>  chance.random() <= 0.1",
                "0.1  =>  0.101",
                "27  =>  28",
                "27  =>  26",
            ),
            ANY_FAILED,
        ),
        **dict.fromkeys(
            (
                "chance.shuffle(log)  =>  pass",
                "chance.shuffle(log)  =>  chance",
            ),
            ANY_ORDER,
        ),
        **dict.fromkeys(("max(len(longer), 1)  =>  max(1, len(longer))",), LARGER),
        **dict.fromkeys(
            (
                (
                    "math.isclose(found[name], value, rel_tol=1e-06, abs_tol=1e-09)  => "
                    " math.isclose(value, found[name], rel_tol=1e-06, abs_tol=1e-09)"
                ),
                (
                    "math.isclose(found[name], value, rel_tol=1e-06, abs_tol=1e-09)  => "
                    " math.isclose(found[name], value, abs_tol=1e-09)"
                ),
                (
                    "math.isclose(found[name], value, rel_tol=1e-06, abs_tol=1e-09)  => "
                    " math.isclose(found[name], value, rel_tol=1e-06)"
                ),
            ),
            ANY_LIMIT,
        ),
    },
    "15.Streamer": {
        "if self.stopped: return ''  =>  pass": (
            "what is held then begins with the stop text, which is found again at its start, so"
            " that nothing is certain"
        ),
        "range(1, len(text))  =>  range(1, len(text) + 1)": (
            "a text that is there whole is found before, and its offset counts"
        ),
        "1  =>  0": "to hold back nothing is what is done where nothing fits",
    },
}

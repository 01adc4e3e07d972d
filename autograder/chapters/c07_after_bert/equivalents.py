"""Changes to the solutions of chapter 7 that nobody can notice, with the reason; see
`autograder/authoring/mutants.py`.
"""

EITHER_WAY = "the smaller or larger of two numbers, whichever is named first"
ANY_TEXT = (
    "any text of some two hundred different tokens, and any number of seeds, as the card says"
)

NEVER_WRITES = "an implementation never writes into its arguments"
NOT_THERE = "the text of the test does not hold the last token"
ORDER = "the order of what is compared, or asked one after the other, plays no part"
SOME_LOST = "every implementation of a kind that earns points loses some tokens"
ONE_COLUMN = "there is one column, the first and the last"
CHUNK = "the length of a chunk is free"
WHOLE = "a whole number, as a tensor or as an int"
HIDDEN = "one key more, which the mask hides"
SIGN = "the sign is dropped right behind"
AXES = "two axes are exchanged, whichever is named first"

EQUIVALENT = {
    "07.asked_share": {"min(maskings, epochs)  =>  min(epochs, maskings)": EITHER_WAY},
    "07.albert_sizes": {"2 * 2  =>  2 + 2": "both are 4"},
    "07.electra_loss": {"max(len(gen), 1)  =>  max(1, len(gen))": EITHER_WAY},
    "07.replace": {"labels != -100  =>  labels > -100": "a label is -100 or at least 0"},
    "07.test_corrupt": {
        "range(FIRST, FIRST + 200)  =>  range(FIRST, FIRST + 200 + 1)": ANY_TEXT,
        "range(FIRST, FIRST + 200)  =>  range(FIRST, FIRST + 200 - 1)": ANY_TEXT,
        "FIRST + 200  =>  200": ANY_TEXT,
        "200  =>  201": ANY_TEXT,
        "200  =>  199": ANY_TEXT,
        "range(10)  =>  range(10 + 1)": ANY_TEXT,
        "range(10)  =>  range(10 - 1)": ANY_TEXT,
        "10  =>  11": ANY_TEXT,
        "10  =>  9": ANY_TEXT,
        "list(ids)  =>  ids": NEVER_WRITES,
        "token > LAST  =>  token >= LAST": NOT_THERE,
        "token > LAST  =>  token >= LAST (place 2)": NOT_THERE,
        "(kept, gone)  =>  (gone, kept)": ORDER,
        "one > LAST  =>  one >= LAST": NOT_THERE,
        "other > LAST  =>  other >= LAST": NOT_THERE,
        "zip(row, row[1:])  =>  zip(row[1:], row)": ORDER,
        "gone and gone[-1] <= LAST  =>  gone[-1] <= LAST": SOME_LOST,
        "gone[-1] <= LAST  =>  gone[-1] < LAST": NOT_THERE,
        "token > LAST  =>  token >= LAST (place 3)": NOT_THERE,
    },
    "07.window_attention": {
        "0  =>  -1": ONE_COLUMN,
        "128  =>  129": CHUNK,
        "128  =>  127": CHUNK,
        "max(int(rows[0]) - side, 0)  =>  max(0, int(rows[0]) - side)": EITHER_WAY,
        "int(rows[0])  =>  rows[0]": WHOLE,
        (
            "min(int(rows[-1]) + side + 1, q.shape[1])  =>  min(q.shape[1], int(rows[-1]) + side + "
            "1)"
        ): (EITHER_WAY),
        "int(rows[-1])  =>  rows[-1]": WHOLE,
        "1  =>  2 (place 3)": HIDDEN,
        "rows[:, None] - near  =>  near - rows[:, None]": SIGN,
        "k[:, keys].transpose(1, 2)  =>  k[:, keys].transpose(2, 1)": AXES,
        "k.transpose(1, 2)  =>  k.transpose(2, 1)": AXES,
    },
}

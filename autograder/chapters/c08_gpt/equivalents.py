"""Changes to the solutions of chapter 8 that nobody can notice, with the reason; see
`autograder/authoring/mutants.py`.
"""

EITHER_WAY = "the smaller or larger of two numbers, whichever is named first"
WHOLE = "a whole number, as a tensor or as an int"
ONE_OF_FOUR = "a task is one of four words of small letters without accents, as the card says"
NAMES = "all parts have the same names, as the card says, and a dictionary's order plays no part"
EXACTLY = "a gradient exactly as long as max_norm is multiplied by 1 either way"
ONE_TEXT = "there is one text, the first and the last"
ONE_ROW = "there is one row, the first and the last"
ANY_OTHER = "any token that does not stand in the text"
BETWEEN = "no promise is made of a move between 0.0001 and 0.01, as the card says"
SIGN = "the sign is dropped right behind"
SWAP = "two axes are swapped, whichever is named first"
PARTS = "part.unflatten(2, (self.H, -1))"

EQUIVALENT = {
    "08.next_token_loss": {
        "max(int(asked.sum()), 1)  =>  max(1, int(asked.sum()))": EITHER_WAY,
        "int(asked.sum())  =>  asked.sum()": WHOLE,
    },
    "08.combine": {
        "0  =>  -1 (place 2)": NAMES,
        "length > max_norm  =>  length >= max_norm": EXACTLY,
    },
    "08.test_causal": {
        "0  =>  -1": ONE_ROW,
        "1  =>  2 (place 3)": ANY_OTHER,
        (
            "(model(other) - before).abs().amax(2)[0] > 0.001  =>  (model(other) - "
            "before).abs().amax(2)[0] >= 0.001"
        ): (BETWEEN),
        "model(other) - before  =>  before - model(other)": SIGN,
        "0  =>  -1 (place 2)": ONE_ROW,
        "0.001  =>  0.00101": BETWEEN,
        "bool(moved[index:].all())  =>  moved[index:].all()": (
            "a truth value, of Python or of torch"
        ),
    },
    "08.GPT": {
        f"{PARTS}.transpose(1, 2)  =>  {PARTS}.transpose(2, 1)": SWAP,
        "seen.transpose(1, 2)  =>  seen.transpose(2, 1)": SWAP,
    },
    "08.best_answer": {
        "0  =>  -1": ONE_ROW,
        (
            "float(log_p[torch.arange(len(answer)), answer].sum())  =>  "
            "log_p[torch.arange(len(answer)), answer].sum()"
        ): ("a number, as a tensor or as a float; the index is what is returned"),
    },
    "08.task_rows": {
        "0  =>  -1": ONE_TEXT,
        "task_rows makes the text small": ONE_OF_FOUR,
        "task_rows drops spaces at the ends of the text": ONE_OF_FOUR,
        "task_rows drops a byte-order mark": ONE_OF_FOUR,
        "task_rows composes the text (NFC)": ONE_OF_FOUR,
        "task_rows takes the text apart (NFD)": ONE_OF_FOUR,
    },
}

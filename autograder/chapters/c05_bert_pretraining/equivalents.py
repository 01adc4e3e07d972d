"""Changes to the solutions of chapter 5 that nobody can notice, with the reason; see `autograder/authoring/mutants.py`."""

EITHER_WAY = "two axes are exchanged, whichever is named first"
OVERRULED = "a throw of 8 is swapped in the next line, whatever this one made of it"

EQUIVALENT = {
    "05.bert_encode": {
        "linear(name, x).unflatten(2, (num_heads, -1)).transpose(1, 2)  =>  linear(name, x).unflatten(2, (num_heads, -1)).transpose(2, 1)": EITHER_WAY,
        "seen.transpose(1, 2)  =>  seen.transpose(2, 1)": EITHER_WAY,
    },
    "05.mask_tokens": {
        "2.0  =>  2.02": "any number above 1 comes after all of `order`",
        "fate < 8  =>  fate <= 8": OVERRULED,
        "8  =>  9": OVERRULED,
    },
    "05.mlm_loss": {
        "labels != -100  =>  labels > -100": "a label is -100 or at least 0",
        "max(len(prices), 1)  =>  max(1, len(prices))": "the larger of two numbers, whichever is named first",
    },
}

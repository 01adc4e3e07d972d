"""Changes to the solutions of chapter 7 that nobody can notice, with the reason; see `autograder/authoring/mutants.py`."""

EITHER_WAY = "the smaller or larger of two numbers, whichever is named first"
ANY_TEXT = "any text of some two hundred different tokens, and any number of seeds, as the card says"

EQUIVALENT = {
    "07.asked_share": {"min(maskings, epochs)  =>  min(epochs, maskings)": EITHER_WAY},
    "07.albert_sizes": {"2 * 2  =>  2 + 2": "both are 4"},
    "07.electra_loss": {"max(len(gen), 1)  =>  max(1, len(gen))": EITHER_WAY},
    "07.replace": {"labels != -100  =>  labels > -100": "a label is -100 or at least 0"},
}

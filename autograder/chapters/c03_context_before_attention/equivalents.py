"""Changes to the solutions of chapter 3 that nobody can notice, with the reason; see
`autograder/authoring/mutants.py`.
"""

PREFIX = (
    "the words of a row stand in front, so where the right neighbour is a word the left one is too"
)
ANY_WORDS = (
    "any tokens will do, and any replacement of one: what is seen too early changes the"
    " logits by all of them"
)

EQUIVALENT = {
    "03.judge": {
        "log_probs[mask].double()  =>  log_probs[mask]": (
            "single precision has enough digits for some thousand values"
        )
    },
    "03.letter_patterns": {
        "(1, 2)  =>  (2, 1)": "the sum over two axes does not depend on their order"
    },
    "03.mix_layers": {"0  =>  -1": "the weights have one axis, which is the first and the last"},
    "03.both_targets": {
        "mask[:, :-1] & mask[:, 1:]  =>  mask[:, 1:]": PREFIX,
        "-1  =>  1": PREFIX,
    },
    "03.test_no_peeking": {
        (
            "torch.arange(16).reshape(2, 8) * 3 % VOCAB  =>  torch.arange(16).reshape(2, 8) * 3 // "
            "VOCAB"
        ): (ANY_WORDS),
        "torch.arange(16).reshape(2, 8) * 3  =>  torch.arange(16).reshape(2, 8) + 3": ANY_WORDS,
        "torch.arange(16).reshape(2, 8) * 3  =>  torch.arange(16).reshape(2, 8)": ANY_WORDS,
        "3  =>  4": ANY_WORDS,
        "3  =>  2": ANY_WORDS,
        "(other[row, t] + 1) % VOCAB  =>  (other[row, t] + 1) // VOCAB": ANY_WORDS,
        "other[row, t] + 1  =>  other[row, t] - 1": ANY_WORDS,
        "1  =>  2": ANY_WORDS,
        (
            "torch.allclose(after, before, atol=0.0001)  =>  torch.allclose(before, after, "
            "atol=0.0001)"
        ): ("the relative part of the tolerance is taken of nearly the same number"),
    },
}

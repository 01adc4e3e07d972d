"""Changes to the solutions of chapter 1 that nobody can notice, with the reason; see
`autograder/authoring/mutants.py`.
"""

SAME = "the larger or smaller of two numbers does not depend on their order"
LAST = "the tensor has two axes there, so the last is axis 1"

EQUIVALENT = {
    "01.window_counts": {
        "max(0, i - window)  =>  max(i - window, 0)": SAME,
        "min(len(sentence), i + window + 1)  =>  min(i + window + 1, len(sentence))": SAME,
        "counts[center, sentence[j]]  =>  counts[sentence[j], center]": (
            "each pair of positions is counted in both directions, so the table is symmetric"
        ),
    },
    "01.predict_pairs": {
        "min(i, window)  =>  min(window, i)": SAME,
        "min(num_words - 1 - i, window)  =>  min(window, num_words - 1 - i)": SAME,
        "num_words - 1 - i  =>  i": (
            "the sum runs over all positions, and the right sides are the left sides in reverse"
        ),
    },
    "01.ppmi": {
        "joint.sum(0, keepdim=True)  =>  joint.sum(0)": (
            "(C,) and (1, C) broadcast alike against (W, 1)"
        ),
        "torch.ones_like(joint)  =>  torch.zeros_like(joint)": (
            "the logarithm of 0 is minus infinity, which is cut to 0 too"
        ),
        "torch.ones_like(joint)  =>  joint": (
            "where nothing was seen the count is 0, and its logarithm is cut to 0"
        ),
    },
    "01.test_keep": {
        (
            "torch.allclose(answer, right, atol=0.0001)  =>  torch.allclose(right, answer, "
            "atol=0.0001)"
        ): ("the relative part of the tolerance is taken of nearly the same number"),
        "torch.allclose(answer, right, atol=0.0001)  =>  torch.allclose(answer, right)": (
            "torch's own tolerance of 1e-5 is looser than the last digit too"
        ),
    },
    "01.sgns_loss": {
        "-1  =>  1": LAST,
        "-1  =>  1 (place 3)": LAST,
    },
    "01.sgns_gradients": {"-1  =>  1": LAST},
    "01.cbow_scores": {
        "contexts.clamp(min=0)  =>  contexts": (
            "an empty slot then takes the vector of the last word for a moment, and the next line"
            " takes it out"
        ),
    },
    "01.analogy": {
        "[a, b, c]  =>  [b, a, c]": "all three rows are left out, in any order",
        "[a, b, c]  =>  [a, c, b]": "all three rows are left out, in any order",
        "analogy fails for a first axis of 1": "the statement promises at least four rows",
    },
}

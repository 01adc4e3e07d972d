"""Changes to the solutions of chapter 4 that nobody can notice, with the reason; see
`autograder/authoring/mutants.py`.
"""

EITHER_WAY = "two axes are exchanged, whichever is named first"

EQUIVALENT = {
    "04.multi_head": {
        (
            "(x @ weight.T).reshape(batch, tokens, num_heads, -1).transpose(1, 2)  =>  (x @ "
            "weight.T).reshape(batch, tokens, num_heads, -1).transpose(2, 1)"
        ): (EITHER_WAY),
        "heads.transpose(1, 2)  =>  heads.transpose(2, 1)": EITHER_WAY,
        "multi_head works for square tables only": (
            "the four matrices are square by their statement, and x is no table"
        ),
    },
    "04.rotate": {
        "rotate fails for a last axis of 1": "the last axis is even: its numbers come in pairs"
    },
    "04.distance_bias": {
        (
            "torch.arange(num_keys) - queries[:, None]  =>  queries[:, None] - "
            "torch.arange(num_keys)"
        ): ("the sign is dropped right after")
    },
}

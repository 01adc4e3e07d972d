"""Changes to the solutions of chapter 11 that nobody can notice, with the reason; see
`autograder/authoring/mutants.py`.
"""

EITHER_WAY = "the smaller or larger of two numbers, whichever is named first"
SIGN = "the sign is dropped right behind"
ALL = "T to each side and T - 1 are all of the text, and the formula gives T times T for both"
REACH = "without a window any reach of at least the length of the text is all of it"
OVERLAP = (
    "the pieces are free: those that overlap, or are a token shorter, give each token the same"
    " answer"
)
AXES = "two axes are exchanged, whichever is named first"
NEAR_BASE = "such a base rotates by less than is compared; that of another model is far away"

EQUIVALENT = {
    "11.local_mask": {
        "positions[:, None] - positions  =>  positions - positions[:, None]": SIGN,
        "window // 2  =>  window / 2": (
            "a distance is a whole number, so that it is at most 3.5 where it is at most 3"
        ),
    },
    "11.count_pairs": {
        "min(window // 2, T - 1)  =>  min(T - 1, window // 2)": EITHER_WAY,
        "T - 1  =>  T": ALL,
        "1  =>  0": ALL,
    },
    "11.unpad": {"0  =>  -1": "the sums have one axis, the first and the last"},
    "11.packed_attention": {
        "cu_seqlens.tolist()  =>  cu_seqlens": "a whole number, as a tensor or as an int",
        "stop - start  =>  stop + start": REACH,
        "stop - start  =>  stop": REACH,
        "range(start, stop, 512)  =>  range(start, stop, 512 - 1)": OVERLAP,
        "512  =>  511": OVERLAP,
        "min(first + 512, stop)  =>  min(stop, first + 512)": EITHER_WAY,
        "512  =>  513 (place 2)": OVERLAP,
        "max(first - side, start)  =>  max(start, first - side)": EITHER_WAY,
        "min(last + side, stop)  =>  min(stop, last + side)": EITHER_WAY,
        (
            "torch.arange(first, last)[:, None] - torch.arange(low, high)  =>  torch.arange(low, "
            "high) - torch.arange(first, last)[:, None]"
        ): (SIGN),
    },
    "11.Block": {
        (
            "part.unflatten(2, (self.H, -1)).transpose(1, 2)  =>  part.unflatten(2, (self.H, "
            "-1)).transpose(2, 1)"
        ): (AXES),
        "(scores.softmax(3) @ v).transpose(1, 2)  =>  (scores.softmax(3) @ v).transpose(2, 1)": (
            AXES
        ),
        "160000  =>  160001": NEAR_BASE,
        "160000  =>  159999": NEAR_BASE,
        "10000  =>  10001": NEAR_BASE,
        "10000  =>  9999": NEAR_BASE,
        "2  =>  3 (place 4)": "a window of twice the text or more is all of it",
    },
}

"""Changes to the solutions of chapter 12 that nobody can notice, with the reason; see
`autograder/authoring/mutants.py`.
"""

FINER = "more digits than are compared, and the dtype is set afterwards"
LAST = "there are two axes, and the last is axis 1"
AXES = "two axes are exchanged, whichever is named first"
COUNTED_THROUGH = (
    "these axes are only counted through: mask and softmax look at the last two, and the next line"
    " undoes the shape"
)

EQUIVALENT = {
    "12.rms_norm": {
        "x.float()  =>  x.double()": FINER,
        "w.float()  =>  w.double()": FINER,
        "w.float()  =>  w": "a product of float32 and float16 is taken in float32",
    },
    "12.dead_units": {
        "slope != 0  =>  slope > 0": "a slope is 0 or above",
        "silent.float()  =>  silent.double()": FINER,
    },
    "12.grouped_attention": {
        (
            "(rows @ k.transpose(2, 3) / D ** 0.5).reshape(B, K, H // K, T, S)  =>  (rows @ "
            "k.transpose(2, 3) / D ** 0.5).reshape(K, B, H // K, T, S)"
        ): (COUNTED_THROUGH),
        (
            "(rows @ k.transpose(2, 3) / D ** 0.5).reshape(B, K, H // K, T, S)  =>  (rows @ "
            "k.transpose(2, 3) / D ** 0.5).reshape(B, H // K, K, T, S)"
        ): (COUNTED_THROUGH),
        "k.transpose(2, 3)  =>  k.transpose(3, 2)": AXES,
    },
    "12.predict_cache": {
        "predict_cache keeps its answers by all arguments but number 2": (
            "H is no part of what is kept"
        )
    },
    "12.to_halves": {
        "len(w)  =>  w (place 2)": "it stands in the text of the error, which is free",
        (
            "torch.arange(len(w)).reshape(H, -1, 2).transpose(1, 2)  =>  "
            "torch.arange(len(w)).reshape(H, -1, 2).transpose(2, 1)"
        ): (AXES),
        "to_halves fails for a first axis of 1": (
            "one row is no head of pairs, and is refused with the same error"
        ),
    },
    "12.moe_layer": {
        "-1  =>  1": LAST,
        "-1  =>  1 (place 2)": LAST,
        "p[rows, ranks, None]  =>  p[rows, None, ranks]": (
            "both indexes are lists, and the new axis comes behind them"
        ),
    },
    "12.latent_attention": {"B.transpose(1, 2)  =>  B.transpose(2, 1)": AXES},
    "12.KVCache": {
        "torch.zeros(2, B, K, room, D)  =>  torch.ones(2, B, K, room, D)": (
            "what stands behind the last token is never returned"
        )
    },
}
